// SPDX-License-Identifier: BSD-2-Clause
//! A failed call.

use std::ffi::CStr;
use std::fmt;

use crate::sys;

/// Outcome of a call: negative is an error. Keeps a number that this binding does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status(pub i32);

impl Status {
    /// Success.
    pub const OK: Status = Status(sys::GPV_OK);
    /// Not an error: the work still runs.
    pub const NOT_READY: Status = Status(sys::GPV_NOT_READY);
    /// The text names parameter, value and legal range.
    pub const INVALID_ARGUMENT: Status = Status(sys::GPV_ERR_INVALID_ARGUMENT);
    /// Legal, but not offered by this backend or this release.
    pub const UNSUPPORTED: Status = Status(sys::GPV_ERR_UNSUPPORTED);
    /// Host or device memory.
    pub const OUT_OF_MEMORY: Status = Status(sys::GPV_ERR_OUT_OF_MEMORY);
    /// No usable CUDA device or driver.
    pub const NO_DEVICE: Status = Status(sys::GPV_ERR_NO_DEVICE);
    /// CUDA reported an error.
    pub const DEVICE: Status = Status(sys::GPV_ERR_DEVICE);
    /// An output is too small.
    pub const TOO_SMALL: Status = Status(sys::GPV_ERR_TOO_SMALL);
    /// The CUDA context is poisoned: drop the [`Context`](crate::Context) and start anew.
    pub const DEVICE_LOST: Status = Status(sys::GPV_ERR_DEVICE_LOST);
    /// A fault of the library: please report it.
    pub const INTERNAL: Status = Status(sys::GPV_ERR_INTERNAL);
}

impl fmt::Display for Status {
    /// In words, as the library has them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the text is static, and there is one for every number.
        let words = unsafe { CStr::from_ptr(sys::gpv_status_string(self.0)) };
        f.write_str(&words.to_string_lossy())
    }
}

/// Why a call failed. Shown as "status in words: text", or one of both where the other adds nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of failure it is.
    pub status: Status,
    /// The library's text; may be empty.
    pub message: String,
}

impl Error {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Error {
        Error { status, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.status.to_string();
        if self.message.starts_with(&words) {
            return f.write_str(&self.message);
        }
        if self.message.is_empty() {
            return f.write_str(&words);
        }
        write!(f, "{words}: {}", self.message)
    }
}

impl std::error::Error for Error {}

/// What a call gives.
pub type Result<T> = std::result::Result<T, Error>;
