// SPDX-License-Identifier: BSD-2-Clause
//! Scale-invariant features: keypoints, and descriptors that find the same place again in another
//! picture. See gpuvision/sift.h.

use std::ptr;

use crate::buffer::{self, Buffer, Records};
use crate::context::{Context, Stream};
use crate::convert::{pointer, to_i32, Field};
use crate::error::Result;
use crate::image::{self, Image, ImageMut, ImageSpec};
use crate::operator::Operator;
use crate::sys;

pub use crate::types::{Keypoint, SiftDescriptorType, SiftParams};

/// Numbers in a descriptor: 4 x 4 cells of 8 directions.
pub const DESCRIPTOR_LENGTH: usize = sys::GPV_SIFT_DESCRIPTOR_LENGTH as usize;

/// Maximum number of keypoints of one description.
pub const MAX_KEYPOINTS: usize = sys::GPV_SIFT_MAX_KEYPOINTS as usize;

enumeration! {
    /// How [`Sift::draw`] marks a keypoint.
    DrawStyle {
        /// A cross of 5 x 5 pixels.
        Points = GPV_DRAW_STYLE_POINTS,
        /// A circle whose radius is the scale, with the orientation as a line from its middle.
        Rich = GPV_DRAW_STYLE_RICH,
    }
}

/// A descriptor of [`SiftDescriptorType::U8`].
#[repr(C, align(4))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor(pub [u8; DESCRIPTOR_LENGTH]);

/// Descriptors, in the order of their keypoints.
#[derive(Clone, Debug, PartialEq)]
pub enum Descriptors {
    /// Of [`SiftDescriptorType::U8`]. What [`Match`](crate::Match) takes.
    U8(Vec<Descriptor>),
    /// Of [`SiftDescriptorType::F32`].
    F32(Vec<[f32; DESCRIPTOR_LENGTH]>),
}

impl Descriptors {
    /// Those of [`SiftDescriptorType::U8`]; empty if they are of another type.
    pub fn as_u8(&self) -> &[Descriptor] {
        match self {
            Descriptors::U8(descriptors) => descriptors,
            Descriptors::F32(_) => &[],
        }
    }

    /// Those of [`SiftDescriptorType::F32`]; empty if they are of another type.
    pub fn as_f32(&self) -> &[[f32; DESCRIPTOR_LENGTH]] {
        match self {
            Descriptors::U8(_) => &[],
            Descriptors::F32(descriptors) => descriptors,
        }
    }
}

/// What [`Sift::run`] returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// In the order of falling response.
    pub keypoints: Vec<Keypoint>,
    /// One for each keypoint.
    pub descriptors: Descriptors,
    /// Keypoints beyond max_features, or beyond the room there was.
    pub dropped: i32,
}

/// What a run has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiftResult {
    /// Keypoints that are kept, and written where there is a buffer.
    pub count: i32,
    /// Keypoints beyond max_features, or beyond the room there was.
    pub dropped: i32,
}

result!(SiftResult, gpv_sift_result, gpv_sift_result_init, {count, dropped});

/// Where [`Sift::enqueue`] writes. Each is optional, but for keypoints where there are descriptors.
#[derive(Clone, Copy, Debug, Default)]
pub struct SiftBuffers {
    /// Receives [`Keypoint`]s; in host or CUDA memory.
    pub keypoints: Option<Buffer>,
    /// Bytes from one keypoint to the next, a multiple of 4, up to 4096; 0 = without gaps.
    pub keypoint_stride: u32,
    /// Receives [`DESCRIPTOR_LENGTH`] numbers for each keypoint, without gaps; in the memory of
    /// keypoints.
    pub descriptors: Option<Buffer>,
    /// Receives a [`sys::gpv_sift_result`], in the memory in which the backend computes.
    pub result: Option<Buffer>,
}

/// Room for descriptors of one of the types.
enum Room {
    U8(Records<Descriptor>),
    F32(Records<[f32; DESCRIPTOR_LENGTH]>),
}

impl Room {
    fn new(of: SiftDescriptorType, room: usize) -> Result<Room> {
        Ok(match of {
            SiftDescriptorType::U8 => Room::U8(Records::with_room(room)?),
            SiftDescriptorType::F32 => Room::F32(Records::with_room(room)?),
        })
    }

    fn raw(&self) -> *const sys::gpv_buffer {
        match self {
            Room::U8(records) => records.raw(),
            Room::F32(records) => records.raw(),
        }
    }

    /// # Safety
    /// As [`Records::take`].
    unsafe fn take(self, count: i32) -> Descriptors {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Room::U8(records) => Descriptors::U8(records.take(count)),
                Room::F32(records) => Descriptors::F32(records.take(count)),
            }
        }
    }
}

/// Finds, describes and draws keypoints.
///
/// src: a picture, see [`Format`](crate::Format); its luma counts. mask: Gray8, same size and memory;
/// keypoints whose nearest pixel is 0 in it do not count.
#[derive(Debug)]
pub struct Sift {
    op: Operator<sys::gpv_sift>,
    params: SiftParams,
}

impl Sift {
    /// Creates an operator.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a parameter out of its range, `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn new(context: &Context, params: &SiftParams) -> Result<Sift> {
        let raw = params.to_raw();
        // SAFETY: the context is alive, and the parameters during the call.
        let create = |context, out| unsafe { sys::gpv_sift_create(context, &raw, out) };
        let op = Operator::new(context, sys::gpv_sift_destroy, create)?;
        Ok(Sift { op, params: *params })
    }

    /// Changes the parameters of the runs that follow. On failure the old ones stay.
    ///
    /// # Errors
    /// As [`Sift::new`].
    pub fn set_params(&mut self, params: &SiftParams) -> Result<()> {
        let raw = params.to_raw();
        // SAFETY: the handle is alive, and the parameters during the call.
        self.op.call(|op| unsafe { sys::gpv_sift_set_params(op, &raw) })?;
        self.params = *params;
        Ok(())
    }

    /// Allocates all that runs and descriptions of such pictures need with the parameters in force,
    /// where they are asked for so many keypoints in host memory. Without it the first run of its
    /// kind does.
    ///
    /// # Errors
    /// As [`Sift::run`].
    pub fn prepare(
        &mut self,
        src: &ImageSpec,
        mask: Option<&ImageSpec>,
        keypoints: usize,
    ) -> Result<()> {
        let (src, mask) = (src.raw(), mask.copied().map(ImageSpec::raw));
        let (mask, keypoints) = (pointer(&mask), to_i32(keypoints));
        // SAFETY: the handle is alive, and the views during the call.
        self.op.call(|op| unsafe { sys::gpv_sift_prepare(op, &src, mask, keypoints) })
    }

    /// Finds the keypoints of src, at most so many as there is room for, describes them, and waits.
    ///
    /// # Errors
    /// `TOO_SMALL` if there are more extrema than an operator keeps, as a very low
    /// contrast_threshold gives them; `INVALID_ARGUMENT`, `UNSUPPORTED`, `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn run(&mut self, src: &Image, mask: Option<&Image>, room: usize) -> Result<Features> {
        let room = self.useful(room);
        let keypoints = Records::with_room(room)?;
        let descriptors = Room::new(self.params.descriptor_type, room)?;
        let found = self.run_raw(src, mask, keypoints.raw(), descriptors.raw())?;
        let count = if room > 0 { found.count } else { 0 };
        // SAFETY: the run is over, and has written so many of each.
        let (keypoints, descriptors) = unsafe { (keypoints.take(count), descriptors.take(count)) };
        Ok(Features { keypoints, descriptors, dropped: found.dropped })
    }

    /// As [`Sift::run`], without descriptors. Where there is no room the keypoints are only kept
    /// for [`Sift::draw`]: of those [`Sift::wait`] says the number.
    ///
    /// # Errors
    /// As [`Sift::run`].
    pub fn detect(
        &mut self,
        src: &Image,
        mask: Option<&Image>,
        room: usize,
    ) -> Result<Vec<Keypoint>> {
        let room = self.useful(room);
        let keypoints = Records::with_room(room)?;
        let found = self.run_raw(src, mask, keypoints.raw(), ptr::null())?;
        let count = if room > 0 { found.count } else { 0 };
        // SAFETY: the run is over, and has written so many.
        Ok(unsafe { keypoints.take(count) })
    }

    /// Of the room that is offered, what a run could fill.
    fn useful(&self, room: usize) -> usize {
        match usize::try_from(self.params.max_features) {
            Ok(maximum) if maximum > 0 => room.min(maximum),
            _ => room,
        }
    }

    fn run_raw(
        &mut self,
        src: &Image,
        mask: Option<&Image>,
        keypoints: *const sys::gpv_buffer,
        descriptors: *const sys::gpv_buffer,
    ) -> Result<SiftResult> {
        let mask = image::optional(mask);
        let mut result = SiftResult::blank();
        // SAFETY: the handle is alive, and what the views describe until the run has been waited
        // for.
        self.op.run(
            |op| unsafe {
                let stream = Stream::DEFAULT.raw();
                let none = ptr::null();
                sys::gpv_sift_run(op, stream, src.raw(), mask, keypoints, 0, descriptors, none)
            },
            |op| unsafe { sys::gpv_sift_wait(op, &mut result) },
        )?;
        Ok(SiftResult::from_raw(result))
    }

    /// Describes the given keypoints of src, whoever has found them, and waits: x, y, sigma and
    /// angle are read. Of one that lies outside the picture, or beyond its last layer, the
    /// descriptor is 0.
    ///
    /// # Errors
    /// As [`Sift::run`]. `INVALID_ARGUMENT` also for more than [`MAX_KEYPOINTS`] keypoints.
    pub fn describe(&mut self, src: &Image, keypoints: &[Keypoint]) -> Result<Descriptors> {
        let descriptors = Room::new(self.params.descriptor_type, keypoints.len())?;
        let to_descriptors = descriptors.raw();
        let (given, count) = (Buffer::of(keypoints), to_i32(keypoints.len()));
        // SAFETY: the handle is alive, and what the views describe until the run has been waited
        // for.
        self.op.run(
            |op| unsafe {
                let (stream, given) = (Stream::DEFAULT.raw(), given.raw());
                sys::gpv_sift_describe(op, stream, src.raw(), given, 0, count, to_descriptors)
            },
            |op| unsafe { sys::gpv_sift_wait(op, ptr::null_mut()) },
        )?;
        // SAFETY: the run is over, and has written one for each.
        Ok(unsafe { descriptors.take(count) })
    }

    /// Draws the keypoints that the last run has kept into a picture, be it src or another, and
    /// waits. There are none before the first run, after one that has failed, and after
    /// [`Sift::describe`] or [`Sift::prepare`].
    ///
    /// dst is of any size, in a format that src may have; color is 0xRRGGBB.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, `UNSUPPORTED`: nothing has been written; `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn draw(&mut self, dst: &mut ImageMut, style: DrawStyle, color: u32) -> Result<()> {
        let style = style.into_raw();
        // SAFETY: the handle is alive, and the pixels until the drawing has been waited for.
        self.op.run(
            |op| unsafe {
                sys::gpv_draw_keypoints(op, Stream::DEFAULT.raw(), dst.raw(), style, color)
            },
            |op| match unsafe { sys::gpv_sift_wait(op, ptr::null_mut()) } {
                sys::GPV_ERR_TOO_SMALL => sys::GPV_OK, // of the run before
                status => status,
            },
        )
    }

    /// Enqueues a run on a stream. With all in CUDA memory it waits for nothing and, after
    /// [`Sift::prepare`] or a run of the same kind, allocates nothing.
    ///
    /// # Safety
    /// The buffers are as large as they say. Until the run is over all memory has to live, nothing
    /// writes to src and mask, and nothing else uses the rest. It is over when [`Sift::wait`] has
    /// returned `Ok` or `TOO_SMALL`, [`Sift::query`] `Ok(true)`, or the operator is dropped; for
    /// CUDA memory also when the stream is past it. A captured run begins whenever its graph is
    /// launched: gpuvision/sift.h says what it needs.
    ///
    /// # Errors
    /// As [`Sift::run`].
    pub unsafe fn enqueue(
        &mut self,
        stream: Stream,
        src: &Image,
        mask: Option<&Image>,
        buffers: &SiftBuffers,
    ) -> Result<()> {
        let (src, mask) = (src.raw(), image::optional(mask));
        let keypoints = buffer::optional(&buffers.keypoints);
        let descriptors = buffer::optional(&buffers.descriptors);
        let result = buffer::optional(&buffers.result);
        let stride = buffers.keypoint_stride;
        // SAFETY: the handle is alive; the rest is the caller's.
        self.op.call(|op| unsafe {
            let stream = stream.raw();
            sys::gpv_sift_run(op, stream, src, mask, keypoints, stride, descriptors, result)
        })
    }

    /// Enqueues a description on a stream: of count [`Keypoint`]s, keypoint_stride bytes from one
    /// to the next (0 = without gaps). descriptors receives [`DESCRIPTOR_LENGTH`] numbers for each,
    /// without gaps, in the same memory.
    ///
    /// # Safety
    /// As [`Sift::enqueue`]; nothing writes to keypoints.
    ///
    /// # Errors
    /// As [`Sift::run`].
    pub unsafe fn enqueue_describe(
        &mut self,
        stream: Stream,
        src: &Image,
        keypoints: Buffer,
        keypoint_stride: u32,
        count: usize,
        descriptors: Buffer,
    ) -> Result<()> {
        let (stream, count) = (stream.raw(), to_i32(count));
        let (from, to, stride) = (keypoints.raw(), descriptors.raw(), keypoint_stride);
        // SAFETY: the handle is alive; the rest is the caller's.
        self.op.call(|op| unsafe {
            sys::gpv_sift_describe(op, stream, src.raw(), from, stride, count, to)
        })
    }

    /// Enqueues a drawing on a stream, behind the run; otherwise as [`Sift::draw`].
    ///
    /// # Safety
    /// As [`Sift::enqueue`], for dst, which overlaps no output of the run.
    ///
    /// # Errors
    /// As [`Sift::draw`].
    pub unsafe fn enqueue_draw(
        &mut self,
        stream: Stream,
        dst: &mut ImageMut,
        style: DrawStyle,
        color: u32,
    ) -> Result<()> {
        let style = style.into_raw();
        // SAFETY: the handle is alive; the rest is the caller's.
        self.op.call(|op| unsafe {
            sys::gpv_draw_keypoints(op, stream.raw(), dst.raw(), style, color)
        })
    }

    /// Whether the last run, description or drawing has finished, without waiting.
    ///
    /// # Errors
    /// As [`Sift::wait`].
    pub fn query(&mut self) -> Result<bool> {
        self.op.query(sys::gpv_sift_query)
    }

    /// Waits until the last run, description or drawing has finished, and says what the run has
    /// found; zeros if there was none.
    ///
    /// # Errors
    /// That of the run.
    pub fn wait(&mut self) -> Result<SiftResult> {
        let mut result = SiftResult::blank();
        // SAFETY: the handle is alive, and the result is of its kind.
        self.op.call(|op| unsafe { sys::gpv_sift_wait(op, &mut result) })?;
        Ok(SiftResult::from_raw(result))
    }
}
