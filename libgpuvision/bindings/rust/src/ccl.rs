// SPDX-License-Identifier: BSD-2-Clause
//! Connected-component labelling. See gpuvision/ccl.h.

use std::ptr;

use crate::buffer::{self, Buffer, Records};
use crate::context::{Context, Stream};
use crate::convert::{pointer, to_i32};
use crate::error::{Error, Result, Status};
use crate::image::{self, Image, ImageMut, ImageSpec};
use crate::operator::Operator;
use crate::sys;

pub use crate::types::{CclMode, CclOutput, CclParams, Component};

/// What a run has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CclResult {
    /// Components that were not dropped, however many records fit.
    pub count: i32,
    /// Records written.
    pub components: i32,
}

result!(CclResult, gpv_ccl_result, gpv_ccl_result_init, {count, components});

/// Where [`Ccl::enqueue`] writes what is no image. Each is optional.
#[derive(Clone, Copy, Debug, Default)]
pub struct CclBuffers {
    /// Receives [`Component`]s in the order of their labels; in host or CUDA memory.
    pub components: Option<Buffer>,
    /// Bytes from one record to the next, a multiple of 8, up to 4096; 0 = without gaps.
    pub component_stride: u32,
    /// Receives the count as an i32, in the memory in which the backend computes.
    pub count: Option<Buffer>,
}

/// Records that there is room for at first.
const FIRST_ROOM: usize = 1024;

/// Labels of the components of a picture, their count, and area, box and centroid of each.
///
/// src: a picture, see [`Format`](crate::Format). dst: same size and memory, in a format that
/// [`CclOutput`] allows.
#[derive(Debug)]
pub struct Ccl {
    op: Operator<sys::gpv_ccl>,
    room: usize,
}

impl Ccl {
    /// Creates an operator.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a parameter out of its range, `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn new(context: &Context, params: &CclParams) -> Result<Ccl> {
        let raw = params.to_raw();
        // SAFETY: the context is alive, and the parameters during the call.
        let create = |context, out| unsafe { sys::gpv_ccl_create(context, &raw, out) };
        let op = Operator::new(context, sys::gpv_ccl_destroy, create)?;
        Ok(Ccl { op, room: FIRST_ROOM })
    }

    /// Changes the parameters of the runs that follow. On failure the old ones stay.
    ///
    /// # Errors
    /// As [`Ccl::new`].
    pub fn set_params(&mut self, params: &CclParams) -> Result<()> {
        let raw = params.to_raw();
        // SAFETY: the handle is alive, and the parameters during the call.
        self.op.call(|op| unsafe { sys::gpv_ccl_set_params(op, &raw) })
    }

    /// Allocates all that runs on such images need with the parameters in force, where they are
    /// asked for so many records in host memory. Without it the first run of its kind does.
    ///
    /// # Errors
    /// As [`Ccl::run`].
    pub fn prepare(
        &mut self,
        src: &ImageSpec,
        dst: Option<&ImageSpec>,
        components: usize,
    ) -> Result<()> {
        let (src, dst) = (src.raw(), dst.copied().map(ImageSpec::raw));
        let (dst, components) = (pointer(&dst), to_i32(components));
        // SAFETY: the handle is alive, and the views during the call.
        self.op.call(|op| unsafe { sys::gpv_ccl_prepare(op, &src, dst, components) })
    }

    /// Labels src, waits, and returns all components in the order of their labels, from 1 on. There
    /// is room for 1024 of them, or as many as this operator has seen; a picture with more is
    /// labelled twice.
    ///
    /// # Errors
    /// `TOO_SMALL` if there are more than 65535 and dst has labels of 16 bits, which has been
    /// written all the same; `INVALID_ARGUMENT`, `UNSUPPORTED`: nothing has been written;
    /// `OUT_OF_MEMORY`, `DEVICE`, `DEVICE_LOST`.
    pub fn run(&mut self, src: &Image, dst: Option<&mut ImageMut>) -> Result<Vec<Component>> {
        let dst = image::optional_mut(dst);
        loop {
            let records = Records::with_room(self.room)?;
            let (outcome, found) = self.run_raw(src, dst, records.raw());
            let count = usize::try_from(found.count).unwrap_or(0);
            let no_room = |error: &Error| error.status == Status::TOO_SMALL && count > self.room;
            match outcome {
                Err(error) if no_room(&error) => self.room = count,
                Err(error) => return Err(error),
                // SAFETY: the run is over, and has written so many.
                Ok(()) => return Ok(unsafe { records.take(found.components) }),
            }
        }
    }

    /// Labels src without measuring the components, waits, and returns their number.
    ///
    /// # Errors
    /// As [`Ccl::run`].
    pub fn label(&mut self, src: &Image, dst: &mut ImageMut) -> Result<usize> {
        let (outcome, found) = self.run_raw(src, dst.raw(), ptr::null());
        outcome.map(|()| found.count as usize)
    }

    /// Counts the components, and does nothing else.
    ///
    /// # Errors
    /// As [`Ccl::run`].
    pub fn count(&mut self, src: &Image) -> Result<usize> {
        let (outcome, found) = self.run_raw(src, ptr::null(), ptr::null());
        outcome.map(|()| found.count as usize)
    }

    fn run_raw(
        &mut self,
        src: &Image,
        dst: *const sys::gpv_image,
        components: *const sys::gpv_buffer,
    ) -> (Result<()>, CclResult) {
        let mut result = CclResult::blank();
        // SAFETY: the handle is alive, and what the views describe until the run has been waited
        // for.
        let outcome = self.op.run(
            |op| unsafe {
                let stream = Stream::DEFAULT.raw();
                sys::gpv_ccl_run(op, stream, src.raw(), dst, components, 0, ptr::null())
            },
            |op| unsafe { sys::gpv_ccl_wait(op, &mut result) },
        );
        (outcome, CclResult::from_raw(result))
    }

    /// Enqueues a run on a stream. With images in CUDA memory it waits for nothing, unless records
    /// go to host memory, and, after [`Ccl::prepare`] or a run of the same kind, allocates nothing.
    ///
    /// # Safety
    /// The buffers are as large as they say. Until the run is over all memory has to live, nothing
    /// writes to src, and nothing else uses the rest. It is over when [`Ccl::wait`] has returned
    /// `Ok` or `TOO_SMALL`, [`Ccl::query`] `Ok(true)`, or the operator is dropped; for CUDA memory
    /// also when the stream is past it. A captured run begins whenever its graph is launched:
    /// gpuvision/ccl.h says what it needs.
    ///
    /// # Errors
    /// As [`Ccl::run`].
    pub unsafe fn enqueue(
        &mut self,
        stream: Stream,
        src: &Image,
        dst: Option<&mut ImageMut>,
        buffers: &CclBuffers,
    ) -> Result<()> {
        let dst = image::optional_mut(dst);
        let components = buffer::optional(&buffers.components);
        let count = buffer::optional(&buffers.count);
        let stride = buffers.component_stride;
        // SAFETY: the handle is alive; the rest is the caller's.
        self.op.call(|op| unsafe {
            sys::gpv_ccl_run(op, stream.raw(), src.raw(), dst, components, stride, count)
        })
    }

    /// Whether the last run has finished, without waiting.
    ///
    /// # Errors
    /// As [`Ccl::wait`].
    pub fn query(&mut self) -> Result<bool> {
        self.op.query(sys::gpv_ccl_query)
    }

    /// Waits until the last run has finished, and says what it has found; zeros if there was none.
    ///
    /// # Errors
    /// `TOO_SMALL` if there are more components than records, or than labels of 16 bits: what fits
    /// has been written, and [`Ccl::found`] says how many there are. Otherwise that of the run.
    pub fn wait(&mut self) -> Result<CclResult> {
        let mut result = CclResult::blank();
        // SAFETY: the handle is alive, and the result is of its kind.
        self.op.call(|op| unsafe { sys::gpv_ccl_wait(op, &mut result) })?;
        Ok(CclResult::from_raw(result))
    }

    /// As [`Ccl::wait`], but it is no error if there was too little room.
    ///
    /// # Errors
    /// That of the run.
    pub fn found(&mut self) -> Result<CclResult> {
        let mut result = CclResult::blank();
        // SAFETY: as above.
        let outcome = self.op.call(|op| unsafe { sys::gpv_ccl_wait(op, &mut result) });
        match outcome {
            Err(error) if error.status != Status::TOO_SMALL => Err(error),
            _ => Ok(CclResult::from_raw(result)),
        }
    }
}
