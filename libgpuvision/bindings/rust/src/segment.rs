// SPDX-License-Identifier: BSD-2-Clause
//! Foreground and background of a picture, by an exact minimum cut, as the element gpugraphcut
//! does. See gpuvision/segment.h.

use std::ptr;

use crate::buffer::{self, Buffer};
use crate::context::{Context, Stream};
use crate::convert::pointer;
use crate::error::Result;
use crate::graphcut::GraphcutResult;
use crate::image::{self, Image, ImageMut, ImageSpec, Rect};
use crate::operator::Operator;
use crate::sys;

pub use crate::types::{SegmentModel, SegmentOutput, SegmentParams, SegmentWarmStart};

/// In seeds: known to be background.
pub const SEED_BACKGROUND: u8 = sys::GPV_SEGMENT_SEED_BACKGROUND as u8;

/// In seeds: known to be foreground.
pub const SEED_FOREGROUND: u8 = sys::GPV_SEGMENT_SEED_FOREGROUND as u8;

/// In seeds: not known; first learned from as background.
pub const SEED_PROBABLY_BACKGROUND: u8 = sys::GPV_SEGMENT_SEED_PROBABLY_BACKGROUND as u8;

/// In seeds: not known; first learned from as foreground.
pub const SEED_PROBABLY_FOREGROUND: u8 = sys::GPV_SEGMENT_SEED_PROBABLY_FOREGROUND as u8;

/// In seeds: nothing is known.
pub const SEED_UNKNOWN: u8 = sys::GPV_SEGMENT_SEED_UNKNOWN as u8;

/// In seeds: known to be foreground, as in a mask.
pub const SEED_WHITE: u8 = sys::GPV_SEGMENT_SEED_WHITE as u8;

/// Capacity between two pixels of one colour.
pub const UNIT: i32 = sys::GPV_SEGMENT_UNIT;

/// Largest number of iterations.
pub const MAX_ITERATIONS: i32 = sys::GPV_SEGMENT_MAX_ITERATIONS;

/// Largest lambda and sigma.
pub const MAX_WEIGHT: f32 = sys::GPV_SEGMENT_MAX_WEIGHT;

/// What is known of a picture. `Default`: nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Gray8, same size, of [`SEED_BACKGROUND`] and the other five: 0 background, 1 or 255
    /// foreground, 2 probably background, 3 probably foreground, 128 not known. Inside rect one
    /// pixel at least is not known. In the memory of src, or in host memory.
    pub seeds: Option<&'a Image<'a>>,
    /// What lies outside is background; within src, not empty.
    pub rect: Option<Rect>,
}

/// Divides pictures into foreground and background.
///
/// src: a picture, see [`Format`](crate::Format). mask: Gray8, Nv12 or I420, receives 255 in the
/// foreground, 0 in the background. dst receives what [`SegmentOutput`] says. All of the same size and
/// memory.
#[derive(Debug)]
pub struct Segment(Operator<sys::gpv_segment>);

impl Segment {
    /// Creates an operator.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a parameter out of its range, `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn new(context: &Context, params: &SegmentParams) -> Result<Segment> {
        let raw = params.to_raw();
        // SAFETY: the context is alive, and the parameters during the call.
        let create = |context, out| unsafe { sys::gpv_segment_create(context, &raw, out) };
        Operator::new(context, sys::gpv_segment_destroy, create).map(Segment)
    }

    /// Changes the parameters of the runs that follow. On failure the old ones stay. What has been
    /// learned is forgotten if model changes.
    ///
    /// # Errors
    /// As [`Segment::new`].
    pub fn set_params(&mut self, params: &SegmentParams) -> Result<()> {
        let raw = params.to_raw();
        // SAFETY: the handle is alive, and the parameters during the call.
        self.0.call(|op| unsafe { sys::gpv_segment_set_params(op, &raw) })
    }

    /// Forgets what has been learned: the next run learns from its seeds, as the first one did. For
    /// where a new scene begins.
    ///
    /// # Errors
    /// `DEVICE_LOST`.
    pub fn forget(&mut self) -> Result<()> {
        // SAFETY: the handle is alive.
        self.0.call(|op| unsafe { sys::gpv_segment_forget(op) })
    }

    /// Waits for the last run, and says whether the next one, unless its warm start is none, begins
    /// with what has been learned: if not, it learns from its seeds.
    ///
    /// # Errors
    /// That of the run.
    pub fn learned(&mut self) -> Result<bool> {
        let mut learned = 0;
        // SAFETY: the handle is alive.
        self.0.call(|op| unsafe { sys::gpv_segment_learned(op, &mut learned) })?;
        Ok(learned != 0)
    }

    /// Allocates all that a run on such images needs. Without it the first run of its kind does.
    ///
    /// # Errors
    /// As [`Segment::run`].
    pub fn prepare(
        &mut self,
        src: &ImageSpec,
        seeds: Option<&ImageSpec>,
        mask: Option<&ImageSpec>,
        dst: Option<&ImageSpec>,
    ) -> Result<()> {
        let src = src.raw();
        let [seeds, mask, dst] = [seeds, mask, dst].map(|spec| spec.copied().map(ImageSpec::raw));
        let (seeds, mask, dst) = (pointer(&seeds), pointer(&mask), pointer(&dst));
        // SAFETY: the handle is alive, and the views during the call.
        self.0.call(|op| unsafe { sys::gpv_segment_prepare(op, &src, seeds, mask, dst) })
    }

    /// Divides src into foreground and background, waits, and says what its last cut is, in
    /// [`UNIT`]s. Mask and dst are optional. If nothing is known, the colours are divided into two
    /// clusters, of which the one with more of the picture's edge is the background.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, `UNSUPPORTED`: nothing has been written; `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn run(
        &mut self,
        src: &Image,
        known: &Known,
        mask: Option<&mut ImageMut>,
        dst: Option<&mut ImageMut>,
    ) -> Result<GraphcutResult> {
        self.run_raw(src.raw(), known, image::optional_mut(mask), image::optional_mut(dst))
    }

    /// As [`Segment::run`], with the image as src and dst.
    ///
    /// # Errors
    /// As [`Segment::run`].
    pub fn run_in_place(
        &mut self,
        image: &mut ImageMut,
        known: &Known,
        mask: Option<&mut ImageMut>,
    ) -> Result<GraphcutResult> {
        self.run_raw(image.raw(), known, image::optional_mut(mask), image.raw())
    }

    fn run_raw(
        &mut self,
        src: *const sys::gpv_image,
        known: &Known,
        mask: *const sys::gpv_image,
        dst: *const sys::gpv_image,
    ) -> Result<GraphcutResult> {
        let (seeds, rect) = raw_known(known);
        let mut result = GraphcutResult::blank();
        // SAFETY: the handle is alive, and the pixels until the run has been waited for.
        self.0.run(
            |op| unsafe {
                let stream = Stream::DEFAULT.raw();
                sys::gpv_segment_run(op, stream, src, seeds, rect, mask, dst, ptr::null())
            },
            |op| unsafe { sys::gpv_segment_wait(op, &mut result) },
        )?;
        Ok(GraphcutResult::from_raw(result))
    }

    /// Enqueues a run on a stream. With images in CUDA memory it waits for nothing and, after
    /// [`Segment::prepare`] or a run of the same kind, allocates nothing. result receives a
    /// [`sys::gpv_graphcut_result`], in the memory in which the backend computes.
    ///
    /// # Safety
    /// The buffer is as large as it says. Until the run is over all memory has to live, nothing
    /// writes to src and seeds, and nothing else uses the rest. It is over when [`Segment::wait`]
    /// has returned `Ok`, [`Segment::query`] `Ok(true)`, or the operator is dropped; for CUDA
    /// memory also when the stream is past it. A captured run begins whenever its graph is
    /// launched: gpuvision/segment.h says what it needs.
    ///
    /// # Errors
    /// As [`Segment::run`].
    pub unsafe fn enqueue(
        &mut self,
        stream: Stream,
        src: &Image,
        known: &Known,
        mask: Option<&mut ImageMut>,
        dst: Option<&mut ImageMut>,
        result: Option<Buffer>,
    ) -> Result<()> {
        let (mask, dst) = (image::optional_mut(mask), image::optional_mut(dst));
        // SAFETY: the caller's.
        unsafe { self.enqueue_raw(stream, src.raw(), known, mask, dst, result) }
    }

    /// As [`Segment::enqueue`], with the image as src and dst.
    ///
    /// # Safety
    /// As [`Segment::enqueue`], for dst.
    ///
    /// # Errors
    /// As [`Segment::run`].
    pub unsafe fn enqueue_in_place(
        &mut self,
        stream: Stream,
        image: &mut ImageMut,
        known: &Known,
        mask: Option<&mut ImageMut>,
        result: Option<Buffer>,
    ) -> Result<()> {
        let mask = image::optional_mut(mask);
        // SAFETY: the caller's.
        unsafe { self.enqueue_raw(stream, image.raw(), known, mask, image.raw(), result) }
    }

    /// # Safety
    /// As [`Segment::enqueue`].
    unsafe fn enqueue_raw(
        &mut self,
        stream: Stream,
        src: *const sys::gpv_image,
        known: &Known,
        mask: *const sys::gpv_image,
        dst: *const sys::gpv_image,
        result: Option<Buffer>,
    ) -> Result<()> {
        let (seeds, rect) = raw_known(known);
        let result = buffer::optional(&result);
        // SAFETY: the handle is alive; the rest is the caller's.
        self.0.call(|op| unsafe {
            sys::gpv_segment_run(op, stream.raw(), src, seeds, rect, mask, dst, result)
        })
    }

    /// Whether the last run has finished, without waiting.
    ///
    /// # Errors
    /// That of the run.
    pub fn query(&mut self) -> Result<bool> {
        self.0.query(sys::gpv_segment_query)
    }

    /// Waits until the last run has finished, and says what its last cut is; zeros if there was
    /// none.
    ///
    /// # Errors
    /// That of the run.
    pub fn wait(&mut self) -> Result<GraphcutResult> {
        let mut result = GraphcutResult::blank();
        // SAFETY: the handle is alive, and the result is of its kind.
        self.0.call(|op| unsafe { sys::gpv_segment_wait(op, &mut result) })?;
        Ok(GraphcutResult::from_raw(result))
    }
}

/// Pointers into known, NULL for what is not.
fn raw_known(known: &Known) -> (*const sys::gpv_image, *const sys::gpv_rect) {
    (image::optional(known.seeds), pointer(&known.rect))
}
