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

/// None where its kind is newer than this binding.
///
/// # Safety
/// The library has written it, so its texts and choices are static.
unsafe fn field(raw: &sys::gpv_field) -> Option<Field> {
    let kind = FieldKind::known(raw.kind)?;
    // SAFETY: as above.
    unsafe {
        let choices = match raw.choice_count {
            0 => &[],
            count => slice::from_raw_parts(raw.choices, count as usize),
        };
        Some(Field {
            name: text(raw.name),
            kind,
            low: raw.low,
            high: raw.high,
            initial: raw.initial,
            unit: text(raw.unit),
            text: text(raw.text),
            choices: choices
                .iter()
                .map(|one| Choice { name: text(one.name), text: text(one.text), value: one.value })
                .collect(),
        })
    }
}

/// What the library has at an index.
fn described(stem: &CStr, index: usize) -> Option<sys::gpv_field> {
    let mut raw = MaybeUninit::<sys::gpv_field>::uninit();
    let size = mem::size_of::<sys::gpv_field>() as u32;
    // SAFETY: it writes as many bytes as it is told, and all of them where it succeeds.
    unsafe {
        let status = sys::gpv_params_describe(stem.as_ptr(), to_i32(index), raw.as_mut_ptr(), size);
        (status == sys::GPV_OK).then(|| raw.assume_init())
    }
}

/// The parameters of an operator, such as "erode", of "homography" or of "context", in the order of
/// their struct, but for those of a kind that is newer than this binding; none where there is no
/// such struct.
pub fn fields(stem: &str) -> Vec<Field> {
    let stem = match CString::new(stem) {
        Ok(stem) => stem,
        Err(_) => return Vec::new(),
    };
    let all = (0..).map_while(|index| described(&stem, index));
    // SAFETY: the library has written each.
    all.filter_map(|raw| unsafe { field(&raw) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_a_newer_library_is_left_out() {
        let stem = CString::new("erode").unwrap();
        let mut raw = described(&stem, 0).unwrap();
        // SAFETY: the library has written it.
        unsafe {
            assert_eq!(field(&raw).unwrap().name, "operation");
            raw.kind = u32::MAX;
            assert_eq!(field(&raw), None);
        }
    }
}
