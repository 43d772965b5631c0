// SPDX-License-Identifier: BSD-2-Clause
//! The context: which backend and device compute, and where log lines go. See gpuvision/context.h.

use std::ffi::CStr;
use std::fmt;
use std::mem;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::convert::{initialized, to_i32, Field};
use crate::error::{Error, Result, Status};
use crate::sys;

enumeration! {
    /// What computes.
    Backend {
        /// CUDA where it can be used, else the CPU.
        Auto = GPV_BACKEND_AUTO,
        /// The CPU.
        Cpu = GPV_BACKEND_CPU,
        /// A CUDA device.
        Cuda = GPV_BACKEND_CUDA,
    }
}

impl Backend {
    /// Whether it is built in and, for CUDA, a driver and a device 0 are there.
    pub fn is_available(self) -> bool {
        // SAFETY: takes any number.
        unsafe { sys::gpv_backend_available(self.into_raw()) != 0 }
    }
}

enumeration! {
    /// How much is logged: a level includes those before it.
    LogLevel {
        /// What failed.
        Error = GPV_LOG_LEVEL_ERROR,
        /// What goes on otherwise than one might expect.
        Warning = GPV_LOG_LEVEL_WARNING,
        /// What happens.
        Info = GPV_LOG_LEVEL_INFO,
        /// What happens, in detail.
        Debug = GPV_LOG_LEVEL_DEBUG,
    }
}

/// Takes one line, without a line end, on the thread that is inside the library.
///
/// It must neither use the context nor use or drop an operator of it: the context is locked while
/// it runs, so that would wait forever. A panic ends there, and the library goes on.
pub type LogFn = Box<dyn FnMut(LogLevel, &str) + Send>;

/// Which CUDA device. The CPU backend does not look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device(i32);

impl Device {
    /// The one of this CUDA ordinal.
    pub fn ordinal(ordinal: u32) -> Device {
        Device(to_i32(ordinal as usize))
    }

    /// That of the CUDA context which is current on the thread that calls [`Context::new`].
    ///
    /// # Safety
    /// The CUDA context has to outlive the [`Context`] and all that is made from it.
    pub unsafe fn current() -> Device {
        Device(sys::GPV_DEVICE_CURRENT)
    }
}

impl Default for Device {
    /// The library's, that of ordinal 0.
    fn default() -> Device {
        ContextParams::default().device
    }
}

/// Parameters of a context. `Default` has the library's.
pub struct ContextParams {
    /// Default [`Backend::Auto`].
    pub backend: Backend,
    /// Default ordinal 0.
    pub device: Device,
    /// Default [`LogLevel::Warning`].
    pub log_level: LogLevel,
    /// Default `None`: silent.
    pub log: Option<LogFn>,
    /// That the CPU computes on at most, >= 0; 0 = as many as oneTBB gives the calling thread.
    /// Default 0.
    pub threads: i32,
}

impl Default for ContextParams {
    fn default() -> ContextParams {
        // SAFETY: the function belongs to the struct.
        let raw = unsafe { initialized(sys::gpv_context_params_init) };
        ContextParams {
            backend: Backend::from_raw(raw.backend),
            device: Device(raw.device),
            log_level: LogLevel::from_raw(raw.log_level),
            log: None,
            threads: raw.threads,
        }
    }
}

impl fmt::Debug for ContextParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextParams")
            .field("backend", &self.backend)
            .field("device", &self.device)
            .field("log_level", &self.log_level)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// A CUDA stream, the default one if not said otherwise. The CPU backend ignores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(sys::gpv_stream);

// SAFETY: a name for something that CUDA takes on any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// CUDA's default stream.
    pub const DEFAULT: Stream = Stream(ptr::null_mut());

    /// A cudaStream_t or CUstream.
    ///
    /// # Safety
    /// It is of the device of all contexts that it is used with, and lives as long as the value,
    /// its copies and the work enqueued on it.
    pub unsafe fn from_raw(stream: *mut c_void) -> Stream {
        Stream(stream)
    }

    pub(crate) fn raw(self) -> sys::gpv_stream {
        self.0
    }
}

impl Default for Stream {
    fn default() -> Stream {
        Stream::DEFAULT
    }
}

/// A backend on a device, from which operators are made. Clones are the same context; it lives as
/// long as one of them, or an operator made from it.
///
/// May be used from any thread. Each call locks the context, those of its operators included: they
/// wait for each other. For work at the same time on several threads, give each thread a context.
#[derive(Clone, Debug)]
pub struct Context(Arc<Mutex<Handle>>);

impl Context {
    /// Creates a context.
    ///
    /// # Errors
    /// [`Status::NO_DEVICE`] if CUDA was asked for and there is none, or another process has it for
    /// itself; [`Status::UNSUPPORTED`] if the library lacks the backend; `INVALID_ARGUMENT`,
    /// `OUT_OF_MEMORY`, `DEVICE`, `DEVICE_LOST`.
    pub fn new(params: ContextParams) -> Result<Context> {
        let logger = Logger { callback: params.log, last_error: String::new() };
        let mut handle =
            Handle { context: ptr::null_mut(), logger: Box::into_raw(Box::new(logger)) };
        // SAFETY: the function belongs to the struct.
        let mut raw = unsafe { initialized(sys::gpv_context_params_init) };
        raw.backend = params.backend.into_raw();
        raw.device = params.device.0;
        raw.log_level = params.log_level.into_raw();
        raw.log = Some(log);
        raw.user = handle.logger.cast();
        raw.threads = params.threads;
        // SAFETY: the logger lives as long as the context, which is part of the same handle.
        let status = Status(unsafe { sys::gpv_context_create(&raw, &mut handle.context) });
        if status != Status::OK {
            // SAFETY: the library is not running, so nothing else uses the logger.
            let message = unsafe { mem::take(&mut (*handle.logger).last_error) };
            return Err(Error::new(status, message));
        }
        Ok(Context(Arc::new(Mutex::new(handle))))
    }

    /// What computes: what [`Backend::Auto`] became.
    pub fn backend(&self) -> Backend {
        // SAFETY: the context is alive, and locked.
        Backend::from_raw(unsafe { sys::gpv_context_backend(self.lock().context) })
    }

    /// Name of the processor or CUDA device.
    pub fn device_name(&self) -> String {
        let lock = self.lock();
        // SAFETY: the context is alive, and the text as long as it.
        unsafe { text(sys::gpv_context_device_name(lock.context)) }
    }

    /// Waits until everything enqueued on the stream has finished. On the CPU everything has.
    ///
    /// # Errors
    /// `DEVICE`, `DEVICE_LOST`.
    pub fn stream_sync(&self, stream: Stream) -> Result<()> {
        // SAFETY: the context is alive, and so is the stream.
        self.call(|context| unsafe { sys::gpv_stream_sync(context, stream.raw()) })
    }

    /// Lets work that is enqueued on stream from now on begin after all that is enqueued on leader
    /// by now has finished. The host does not wait.
    ///
    /// # Errors
    /// `DEVICE`, `DEVICE_LOST`.
    pub fn stream_follow(&self, stream: Stream, leader: Stream) -> Result<()> {
        // SAFETY: the context is alive, and so are the streams.
        self.call(|context| unsafe { sys::gpv_stream_follow(context, stream.raw(), leader.raw()) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Handle> {
        // No panic leaves the library in the middle of a call.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with the context locked.
    pub(crate) fn call(
        &self,
        function: impl FnOnce(*mut sys::gpv_context) -> sys::gpv_status,
    ) -> Result<()> {
        let lock = self.lock();
        lock.check(function(lock.context))
    }
}

/// Owns the context, and what it logs to.
#[derive(Debug)]
pub(crate) struct Handle {
    context: *mut sys::gpv_context,
    logger: *mut Logger,
}

// SAFETY: a context may move between threads, and so may the callback of the logger.
unsafe impl Send for Handle {}

impl Handle {
    /// Makes an error of a negative status.
    pub fn check(&self, status: sys::gpv_status) -> Result<()> {
        if status >= 0 {
            return Ok(());
        }
        // SAFETY: the context is alive, and its text until the next call.
        let message = unsafe { text(sys::gpv_context_error(self.context)) };
        Err(Error::new(Status(status), message))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: all operators are gone, so nothing logs any more.
        unsafe {
            sys::gpv_context_destroy(&mut self.context);
            drop(Box::from_raw(self.logger));
        }
    }
}

struct Logger {
    callback: Option<LogFn>,
    last_error: String,
}

/// What the library calls; user is a Logger.
unsafe extern "C" fn log(user: *mut c_void, level: sys::gpv_log_level, message: *const c_char) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: only the thread that is inside the library uses the logger, and the text lives
        // during the call.
        let (logger, message) = unsafe { (&mut *user.cast::<Logger>(), text(message)) };
        if level == sys::GPV_LOG_LEVEL_ERROR {
            logger.last_error.clone_from(&message);
        }
        if let Some(callback) = &mut logger.callback {
            callback(LogLevel::from_raw(level), &message);
        }
    }));
    if let Err(panic) = outcome {
        mem::forget(panic); // dropping it might panic again
    }
}

/// # Safety
/// A text of the library, alive during this call.
unsafe fn text(words: *const c_char) -> String {
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

/// Release, revision and the backends built in, such as "0.1.0 5a4f0de (cpu, cuda)".
pub fn version() -> String {
    // SAFETY: the text is static.
    unsafe { text(sys::gpv_version_string()) }
}

/// Version of the interface of the library that runs: major, minor, patch.
pub fn api_version() -> (u32, u32, u32) {
    // SAFETY: takes nothing.
    let version = unsafe { sys::gpv_api_version() };
    (version >> 16, version >> 8 & 0xff, version & 0xff)
}
