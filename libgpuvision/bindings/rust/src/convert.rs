// SPDX-License-Identifier: BSD-2-Clause
//! Structs and enumerations of Rust from and to those of the C interface.

use std::mem::{self, MaybeUninit};
use std::ptr;

/// What one of the library's _init functions writes.
///
/// # Safety
/// T is a struct of the C interface, and init its function.
pub(crate) unsafe fn initialized<T: Copy>(init: unsafe extern "C" fn(*mut T, u32)) -> T {
    let mut value = MaybeUninit::zeroed();
    // SAFETY: it writes as many bytes as it is told, and zeros are a legal value of such a struct.
    unsafe {
        init(value.as_mut_ptr(), mem::size_of::<T>() as u32);
        value.assume_init()
    }
}

/// A length as the library takes it; what is more than that it refuses as it is.
pub(crate) fn to_i32(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

/// NULL where there is nothing.
pub(crate) fn pointer<T>(value: &Option<T>) -> *const T {
    value.as_ref().map_or(ptr::null(), |value| value)
}

/// Something that has another type in C.
pub(crate) trait Field {
    type Raw;
    fn from_raw(raw: Self::Raw) -> Self;
    fn into_raw(self) -> Self::Raw;
}

macro_rules! same_in_c {
    ($($number:ty),*) => {$(
        impl Field for $number {
            type Raw = $number;
            fn from_raw(raw: $number) -> $number {
                raw
            }
            fn into_raw(self) -> $number {
                self
            }
        }
    )*};
}

same_in_c!(i32, u32, i64, u64, f32, f64);

impl Field for bool {
    type Raw = u32;
    fn from_raw(raw: u32) -> bool {
        raw != 0
    }
    fn into_raw(self) -> u32 {
        self.into()
    }
}

/// An enum with the values of one in C.
macro_rules! enumeration {
    ($(#[$about:meta])* $name:ident {
        $($(#[$about_value:meta])* $value:ident = $raw:ident,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum $name {
            $($(#[$about_value])* $value = $crate::sys::$raw,)+
        }

        impl $name {
            /// None where it is newer than this binding.
            pub(crate) fn known(raw: u32) -> Option<$name> {
                match raw {
                    $($crate::sys::$raw => Some($name::$value),)+
                    _ => None,
                }
            }
        }

        impl $crate::convert::Field for $name {
            type Raw = u32;
            fn from_raw(raw: u32) -> $name {
                $name::known(raw).unwrap_or_else(|| {
                    panic!("{} {raw} is newer than this binding", stringify!($name))
                })
            }
            fn into_raw(self) -> u32 {
                self as u32
            }
        }
    };
}

/// Parameters, their defaults, and what the library takes.
macro_rules! parameters {
    ($(#[$about:meta])* $name:ident: $raw:ident, $init:ident {
        $($(#[$about_field:meta])* $field:ident: $kind:ty,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $($(#[$about_field])* pub $field: $kind,)+
        }

        impl $name {
            pub(crate) fn to_raw(self) -> $crate::sys::$raw {
                use $crate::convert::Field;
                // SAFETY: the function belongs to the struct.
                let mut raw = unsafe { $crate::convert::initialized($crate::sys::$init) };
                $(raw.$field = self.$field.into_raw();)+
                raw
            }
        }

        impl Default for $name {
            /// The library's.
            fn default() -> $name {
                use $crate::convert::Field;
                // SAFETY: as above.
                let raw = unsafe { $crate::convert::initialized($crate::sys::$init) };
                $name {
                    $($field: Field::from_raw(raw.$field),)+
                }
            }
        }
    };
}

/// A result, from what the library writes.
macro_rules! result {
    ($name:ident, $raw:ident, $init:ident, {$($field:ident),+}) => {
        impl $name {
            pub(crate) fn blank() -> $crate::sys::$raw {
                // SAFETY: the function belongs to the struct.
                unsafe { $crate::convert::initialized($crate::sys::$init) }
            }

            pub(crate) fn from_raw(raw: $crate::sys::$raw) -> $name {
                use $crate::convert::Field;
                $name {
                    $($field: Field::from_raw(raw.$field),)+
                }
            }
        }
    };
}
