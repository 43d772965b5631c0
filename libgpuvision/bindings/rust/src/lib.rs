// SPDX-License-Identifier: BSD-2-Clause
//! Classical vision on CUDA and the CPU: a binding of libgpuvision.
//!
//! ```
//! use gpuvision::{Context, Erode, ErodeParams, Format, Image, ImageMut};
//!
//! # fn main() -> gpuvision::Result<()> {
//! let context = Context::new(Default::default())?; // CUDA where it can be used, else the CPU
//! let mut erode = Erode::new(&context, &ErodeParams { radius: 2, ..Default::default() })?;
//!
//! let picture = vec![255u8; 640 * 480];
//! let mut eroded = vec![0u8; 640 * 480];
//! erode.run(
//!     &Image::new(Format::Gray8, 640, 480, &picture)?,
//!     &mut ImageMut::new(Format::Gray8, 640, 480, &mut eroded)?,
//! )?;
//! # assert_eq!(picture, eroded);
//! # Ok(())
//! # }
//! ```
//!
//! An operator is made from a [`Context`]; [`Image`] and [`ImageMut`] are views of the caller's
//! pixels. The `run` functions return when all that they write is written. What works on CUDA
//! memory and only enqueues is `unsafe`: the compiler cannot see how long the device uses the
//! memory. The headers of libgpuvision have the long story of every parameter; [`sys`] is its C
//! interface as it is.
//!
//! A context and its operators may be used from any thread: each call locks the context. Those of
//! different contexts do not wait for each other.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

#[macro_use]
mod convert;
mod buffer;
mod error;
mod operator;
mod types;

pub mod ccl;
pub mod context;
pub mod erode;
pub mod expansion;
pub mod fields;
pub mod graphcut;
pub mod image;
pub mod kmeans;
pub mod matching;
pub mod segment;
pub mod sift;
#[rustfmt::skip] // its signatures have rules of their own
pub mod sys;

pub use buffer::Buffer;
pub use ccl::Ccl;
pub use context::{Backend, Context, ContextParams, Device, LogLevel, Stream};
pub use erode::Erode;
pub use error::{Error, Result, Status};
pub use expansion::{Expansion, ExpansionResult};
pub use fields::{fields, Choice, Field, FieldKind};
pub use graphcut::{Graphcut, GraphcutResult};
pub use image::{ColorMatrix, ColorRange, Format, Image, ImageMut, ImageSpec, Sample};
pub use kmeans::Kmeans;
pub use matching::{find_homography, Homography, Match};
pub use segment::Segment;
pub use sift::{Descriptor, DrawStyle, Sift};
pub use types::*;
