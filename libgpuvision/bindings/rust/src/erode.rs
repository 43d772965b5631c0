// SPDX-License-Identifier: BSD-2-Clause
//! Erosion, and the rest of morphology with flat structuring elements. See gpuvision/erode.h.

use crate::context::{Context, Stream};
use crate::error::Result;
use crate::image::{Image, ImageMut, ImageSpec};
use crate::operator::Operator;
use crate::sys;

pub use crate::types::{ErodeBorder, ErodeOperation, ErodeParams, ErodePlanes, ErodeShape};

/// Minimum under a structuring element, and what is made of it.
///
/// src and dst: pictures, see [`Format`](crate::Format); the same format, size and memory.
#[derive(Debug)]
pub struct Erode(Operator<sys::gpv_erode>);

impl Erode {
    /// Creates an operator.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a parameter out of its range, `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn new(context: &Context, params: &ErodeParams) -> Result<Erode> {
        let raw = params.to_raw();
        // SAFETY: the context is alive, and the parameters during the call.
        let create = |context, out| unsafe { sys::gpv_erode_create(context, &raw, out) };
        Operator::new(context, sys::gpv_erode_destroy, create).map(Erode)
    }

    /// Changes the parameters of the runs that follow. On failure the old ones stay.
    ///
    /// # Errors
    /// As [`Erode::new`].
    pub fn set_params(&mut self, params: &ErodeParams) -> Result<()> {
        let raw = params.to_raw();
        // SAFETY: the handle is alive, and the parameters during the call.
        self.0.call(|op| unsafe { sys::gpv_erode_set_params(op, &raw) })
    }

    /// Allocates all that a run on such an image needs with the parameters in force. Without it
    /// the first run does.
    ///
    /// # Errors
    /// As [`Erode::run`].
    pub fn prepare(&mut self, like: &ImageSpec) -> Result<()> {
        let like = like.raw();
        // SAFETY: the handle is alive, and the view during the call.
        self.0.call(|op| unsafe { sys::gpv_erode_prepare(op, &like) })
    }

    /// Runs the operation from src to dst, and waits for it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, `UNSUPPORTED`: nothing has been written; `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn run(&mut self, src: &Image, dst: &mut ImageMut) -> Result<()> {
        self.run_raw(src.raw(), dst.raw())
    }

    /// As [`Erode::run`], from an image to itself.
    ///
    /// # Errors
    /// As [`Erode::run`].
    pub fn run_in_place(&mut self, image: &mut ImageMut) -> Result<()> {
        self.run_raw(image.raw(), image.raw())
    }

    fn run_raw(&mut self, src: *const sys::gpv_image, dst: *const sys::gpv_image) -> Result<()> {
        // SAFETY: the handle is alive, and the pixels until the run has been waited for.
        self.0.run(
            |op| unsafe { sys::gpv_erode_run(op, Stream::DEFAULT.raw(), src, dst) },
            |op| unsafe { sys::gpv_erode_wait(op) },
        )
    }

    /// Enqueues a run on a stream. With images in CUDA memory it waits for nothing and, after
    /// [`Erode::prepare`] or a run of the same kind, allocates nothing.
    ///
    /// # Safety
    /// Until the run is over the images have to live, nothing writes to src, and nothing else uses
    /// dst. It is over when [`Erode::wait`] has returned `Ok`, [`Erode::query`] `Ok(true)`, or the
    /// operator is dropped; for images in CUDA memory also when the stream is past it. A captured
    /// run begins whenever its graph is launched: gpuvision/erode.h says what it needs.
    ///
    /// # Errors
    /// As [`Erode::run`].
    pub unsafe fn enqueue(
        &mut self,
        stream: Stream,
        src: &Image,
        dst: &mut ImageMut,
    ) -> Result<()> {
        // SAFETY: the handle is alive; the rest is the caller's.
        self.0.call(|op| unsafe { sys::gpv_erode_run(op, stream.raw(), src.raw(), dst.raw()) })
    }

    /// As [`Erode::enqueue`], from an image to itself.
    ///
    /// # Safety
    /// As [`Erode::enqueue`], for dst.
    ///
    /// # Errors
    /// As [`Erode::run`].
    pub unsafe fn enqueue_in_place(&mut self, stream: Stream, image: &mut ImageMut) -> Result<()> {
        let raw = image.raw();
        // SAFETY: as above.
        self.0.call(|op| unsafe { sys::gpv_erode_run(op, stream.raw(), raw, raw) })
    }

    /// Whether the last run has finished, without waiting.
    ///
    /// # Errors
    /// That of the run.
    pub fn query(&mut self) -> Result<bool> {
        self.0.query(sys::gpv_erode_query)
    }

    /// Waits until the last run has finished.
    ///
    /// # Errors
    /// That of the run.
    pub fn wait(&mut self) -> Result<()> {
        // SAFETY: the handle is alive.
        self.0.call(|op| unsafe { sys::gpv_erode_wait(op) })
    }
}
