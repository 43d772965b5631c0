// SPDX-License-Identifier: BSD-2-Clause
//! What all operators have in common.

use std::ptr;

use crate::context::Context;
use crate::error::{Error, Result, Status};
use crate::sys;

/// Frees an object of the C interface, and sets the handle to NULL.
type Destroy<T> = unsafe extern "C" fn(*mut *mut T);

/// An object that was made from a context. Each call locks the context.
#[derive(Debug)]
pub(crate) struct Operator<T> {
    context: Context,
    handle: *mut T,
    destroy: Destroy<T>,
}

// SAFETY: an object may move between threads, and the lock keeps two of them from being in it.
unsafe impl<T> Send for Operator<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Operator<T> {}

impl<T> Operator<T> {
    /// create is given the context, and where the handle goes.
    pub fn new(
        context: &Context,
        destroy: Destroy<T>,
        create: impl FnOnce(*mut sys::gpv_context, *mut *mut T) -> sys::gpv_status,
    ) -> Result<Operator<T>> {
        let mut handle = ptr::null_mut();
        context.call(|raw| create(raw, &mut handle))?;
        Ok(Operator { context: context.clone(), handle, destroy })
    }

    /// Calls a function on the handle.
    pub fn call(&self, function: impl FnOnce(*mut T) -> sys::gpv_status) -> Result<()> {
        let handle = self.handle()?;
        self.context.call(|_| function(handle))
    }

    /// Whether the last run has finished, by a _query function.
    pub fn query(&self, query: unsafe extern "C" fn(*mut T) -> sys::gpv_status) -> Result<bool> {
        let mut status = sys::GPV_OK;
        // SAFETY: the handle is alive.
        self.call(|handle| unsafe {
            status = query(handle);
            status
        })?;
        Ok(status != sys::GPV_NOT_READY)
    }

    /// Runs, and waits: nothing that run is given is used any more when this returns. That holds
    /// for a failure of either, too. Only where the device fails while one waits, nobody can tell
    /// whether a later call would still write to host memory: that ends the operator.
    pub fn run(
        &mut self,
        run: impl FnOnce(*mut T) -> sys::gpv_status,
        wait: impl FnOnce(*mut T) -> sys::gpv_status,
    ) -> Result<()> {
        let handle = self.handle()?;
        let lock = self.context.lock();
        let begun = lock.check(run(handle));
        let status = wait(handle);
        let finished = lock.check(status);
        let is_over = [sys::GPV_OK, sys::GPV_ERR_TOO_SMALL, sys::GPV_ERR_INVALID_ARGUMENT];
        if !is_over.contains(&status) {
            // SAFETY: the handle is alive.
            unsafe { (self.destroy)(&mut self.handle) };
        }
        begun.and(finished)
    }

    fn handle(&self) -> Result<*mut T> {
        if self.handle.is_null() {
            let message = "this operator has ended with an earlier failure of the device";
            return Err(Error::new(Status::DEVICE, message));
        }
        Ok(self.handle)
    }
}

impl<T> Drop for Operator<T> {
    fn drop(&mut self) {
        let _lock = self.context.lock();
        // SAFETY: the handle is alive, or NULL.
        unsafe { (self.destroy)(&mut self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Backend, ContextParams};

    unsafe extern "C" fn destroy(handle: *mut *mut u8) {
        // SAFETY: what create() below has made, or NULL.
        unsafe {
            if !(*handle).is_null() {
                drop(Box::from_raw(*handle));
                *handle = ptr::null_mut();
            }
        }
    }

    fn operator() -> Operator<u8> {
        let params = ContextParams { backend: Backend::Cpu, ..Default::default() };
        let create = |_, out: *mut *mut u8| {
            // SAFETY: out is where the handle goes.
            unsafe { *out = Box::into_raw(Box::new(0)) };
            sys::GPV_OK
        };
        Operator::new(&Context::new(params).unwrap(), destroy, create).unwrap()
    }

    #[test]
    fn a_failed_run_is_waited_for() {
        let mut op = operator();
        let mut waited = false;
        let outcome = op.run(
            |_| sys::GPV_ERR_OUT_OF_MEMORY,
            |_| {
                waited = true;
                sys::GPV_OK
            },
        );
        assert_eq!(outcome.unwrap_err().status, Status::OUT_OF_MEMORY);
        assert!(waited);
        op.call(|_| sys::GPV_OK).unwrap();
    }

    #[test]
    fn a_run_that_is_over_leaves_the_operator() {
        let mut op = operator();
        for status in [sys::GPV_ERR_TOO_SMALL, sys::GPV_ERR_INVALID_ARGUMENT] {
            let outcome = op.run(|_| sys::GPV_OK, |_| status);
            assert_eq!(outcome.unwrap_err().status, Status(status));
            op.call(|_| sys::GPV_OK).unwrap();
        }
    }

    #[test]
    fn a_failed_wait_ends_the_operator() {
        let mut op = operator();
        let outcome = op.run(|_| sys::GPV_OK, |_| sys::GPV_ERR_DEVICE);
        assert_eq!(outcome.unwrap_err().status, Status::DEVICE);
        assert!(op.handle.is_null());
        for outcome in [op.call(|_| unreachable!()), op.run(|_| unreachable!(), |_| sys::GPV_OK)] {
            assert!(outcome.unwrap_err().message.contains("has ended"));
        }
    }
}
