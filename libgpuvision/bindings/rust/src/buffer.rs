// SPDX-License-Identifier: BSD-2-Clause
//! Flat memory, for what is not an image.

use std::mem;
use std::os::raw::c_void;
use std::ptr;

use crate::convert::{initialized, to_i32};
use crate::error::{Error, Result, Status};
use crate::sys;

/// View of flat memory for the `enqueue` functions, which say what they read or write there.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    raw: sys::gpv_buffer,
}

// SAFETY: an address and a size: only unsafe functions use what is there.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// So many bytes of host memory.
    pub fn in_host(data: *mut c_void, bytes: usize) -> Buffer {
        // SAFETY: the function belongs to the struct.
        let mut raw = unsafe { initialized(sys::gpv_buffer_init) };
        raw.data = data;
        raw.size = bytes as u64;
        Buffer { raw }
    }

    /// So many bytes of memory of the CUDA device of this ordinal.
    pub fn on_device(data: *mut c_void, bytes: usize, device: u32) -> Buffer {
        let mut buffer = Buffer::in_host(data, bytes);
        buffer.raw.memory = sys::GPV_MEMORY_CUDA;
        buffer.raw.device = to_i32(device as usize);
        buffer
    }

    /// Records that the library only reads.
    pub(crate) fn of<T>(records: &[T]) -> Buffer {
        Buffer::in_host(records.as_ptr() as *mut c_void, mem::size_of_val(records))
    }

    pub(crate) fn raw(&self) -> *const sys::gpv_buffer {
        &self.raw
    }
}

/// NULL where there is none.
pub(crate) fn optional(buffer: &Option<Buffer>) -> *const sys::gpv_buffer {
    buffer.as_ref().map_or(ptr::null(), Buffer::raw)
}

/// Room for records that the library writes.
pub(crate) struct Records<T> {
    records: Vec<T>,
    buffer: Option<Buffer>,
}

impl<T: Copy> Records<T> {
    pub fn with_room(room: usize) -> Result<Records<T>> {
        let mut records: Vec<T> = Vec::new();
        if records.try_reserve_exact(room).is_err() {
            let message = format!("no memory for {room} records");
            return Err(Error::new(Status::OUT_OF_MEMORY, message));
        }
        let bytes = room * mem::size_of::<T>();
        let buffer = (room > 0).then(|| Buffer::in_host(records.as_mut_ptr().cast(), bytes));
        Ok(Records { records, buffer })
    }

    /// NULL if there is no room.
    pub fn raw(&self) -> *const sys::gpv_buffer {
        optional(&self.buffer)
    }

    /// Those that have been written, never more than there is room for.
    ///
    /// # Safety
    /// The library has written so many, and writes no more.
    pub unsafe fn take(mut self, count: i32) -> Vec<T> {
        let count = usize::try_from(count).unwrap_or(0).min(self.records.capacity());
        // SAFETY: they are initialised, as the caller says.
        unsafe { self.records.set_len(count) };
        self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_records_than_there_is_room_for() {
        for (count, expected) in [(-1, &[][..]), (2, &[1, 2]), (3, &[1, 2, 3]), (4, &[1, 2, 3])] {
            let mut records = Records::with_room(3).unwrap();
            assert_eq!(records.records.capacity(), 3);
            records.records.extend_from_slice(&[1, 2, 3]);
            // SAFETY: three have been written.
            assert_eq!(unsafe { records.take(count) }, expected);
        }
    }
}
