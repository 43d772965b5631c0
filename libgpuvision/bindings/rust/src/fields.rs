// SPDX-License-Identifier: BSD-2-Clause
//! What the parameters are, as the library says it. See gpuvision/fields.h.

use std::ffi::{CStr, CString};
use std::mem::{self, MaybeUninit};
use std::os::raw::c_char;
use std::slice;

use crate::convert::to_i32;
use crate::sys;

enumeration! {
    /// What a parameter is.
    FieldKind {
        /// An i32.
        Int32 = GPV_FIELD_KIND_INT32,
        /// A u32.
        Uint32 = GPV_FIELD_KIND_UINT32,
        /// A u64, of which every value is legal.
        Uint64 = GPV_FIELD_KIND_UINT64,
        /// An f32.
        Float = GPV_FIELD_KIND_FLOAT,
        /// A bool.
        Bool = GPV_FIELD_KIND_BOOL,
        /// One of [`Field::choices`].
        Choice = GPV_FIELD_KIND_CHOICE,
    }
}

/// One value of a parameter of [`FieldKind::Choice`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// In lower case.
    pub name: &'static str,
    /// What it means.
    pub text: &'static str,
    /// What the parameter holds.
    pub value: i32,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// As in C.
    pub name: &'static str,
    /// What it is.
    pub kind: FieldKind,
    /// Least value; of [`FieldKind::Uint64`], of which every value is legal, 0.
    pub low: f64,
    /// Greatest value; of [`FieldKind::Uint64`] 0.
    pub high: f64,
    /// Default.
    pub initial: f64,
    /// In the plural; empty where there is none.
    pub unit: &'static str,
    /// What it does, and what between low and high is not legal.
    pub text: &'static str,
    /// Of [`FieldKind::Choice`]; else none.
    pub choices: Vec<Choice>,
}

/// # Safety
/// It is a text of the library that stays.
unsafe fn text(text: *const c_char) -> &'static str {
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_str().expect("the library speaks UTF-8")
}

/// The parameters of an operator, such as "erode", of "homography" or of "context", in the order of
/// their struct; none where there is no such struct.
pub fn fields(stem: &str) -> Vec<Field> {
    let mut found = Vec::new();
    let stem = match CString::new(stem) {
        Ok(stem) => stem,
        Err(_) => return found,
    };
    loop {
        let mut raw = MaybeUninit::<sys::gpv_field>::uninit();
        let size = mem::size_of::<sys::gpv_field>() as u32;
        let index = to_i32(found.len());
        // SAFETY: it writes as many bytes as it is told.
        let status =
            unsafe { sys::gpv_params_describe(stem.as_ptr(), index, raw.as_mut_ptr(), size) };
        if status != sys::GPV_OK {
            return found;
        }
        // SAFETY: it has been written, and its texts and choices are static.
        unsafe {
            let raw = raw.assume_init();
            let choices = match raw.choice_count {
                0 => &[],
                count => slice::from_raw_parts(raw.choices, count as usize),
            };
            found.push(Field {
                name: text(raw.name),
                kind: crate::convert::Field::from_raw(raw.kind),
                low: raw.low,
                high: raw.high,
                initial: raw.initial,
                unit: text(raw.unit),
                text: text(raw.text),
                choices: choices
                    .iter()
                    .map(|one| Choice {
                        name: text(one.name),
                        text: text(one.text),
                        value: one.value,
                    })
                    .collect(),
            });
        }
    }
}
