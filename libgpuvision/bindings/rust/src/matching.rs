// SPDX-License-Identifier: BSD-2-Clause
//! Which descriptors of one picture are like which of another, and the homography between the
//! places that match. See gpuvision/match.h.

use std::ptr;

use crate::buffer::{self, Buffer, Records};
use crate::context::{Context, Stream};
use crate::convert::{initialized, to_i32};
use crate::error::{Error, Result, Status};
use crate::image::ImageMut;
use crate::operator::Operator;
use crate::sift::Descriptor;
use crate::sys;

pub use crate::types::{HomographyParams, MatchParams, Nearest, Pair};

/// Descriptors in a set, at most.
pub const MAX_DESCRIPTORS: usize = sys::GPV_MATCH_MAX_DESCRIPTORS as usize;

/// What [`Match::run`] returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matches {
    /// In the order of the queries.
    pub pairs: Vec<Pair>,
    /// One for each query.
    pub nearest: Vec<Nearest>,
}

/// What a run has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchResult {
    /// Matches that are written, where there is a buffer.
    pub count: i32,
    /// Matches beyond the room there was.
    pub dropped: i32,
    /// Descriptors that were compared.
    pub queries: i32,
}

result!(MatchResult, gpv_match_result, gpv_match_result_init, {count, dropped, queries});

/// A set of descriptors for [`Match::enqueue`].
#[derive(Clone, Copy, Debug)]
pub struct DescriptorSet {
    /// [`Descriptor`]s without gaps; in host or CUDA memory.
    pub descriptors: Buffer,
    /// How many.
    pub count: usize,
}

/// Where [`Match::enqueue`] writes, and where it may read the number of queries. Each is optional.
#[derive(Clone, Copy, Debug, Default)]
pub struct MatchBuffers {
    /// Read: a [`sys::gpv_sift_result`], in the memory in which the backend computes, whose count
    /// is taken for that of the queries if it is less.
    pub found: Option<Buffer>,
    /// Receives a [`Nearest`] for each query; in host or CUDA memory.
    pub nearest: Option<Buffer>,
    /// Receives a [`Pair`] for each match, room for one at least; in host or CUDA memory.
    pub pairs: Option<Buffer>,
    /// Receives a [`sys::gpv_match_result`], in the memory in which the backend computes.
    pub result: Option<Buffer>,
}

/// Finds the descriptors of one set that are like those of another, by comparing all of them.
#[derive(Debug)]
pub struct Match(Operator<sys::gpv_match>);

impl Match {
    /// Creates an operator.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a parameter out of its range, `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn new(context: &Context, params: &MatchParams) -> Result<Match> {
        let raw = params.to_raw();
        // SAFETY: the context is alive, and the parameters during the call.
        let create = |context, out| unsafe { sys::gpv_match_create(context, &raw, out) };
        Operator::new(context, sys::gpv_match_destroy, create).map(Match)
    }

    /// Changes the parameters of the runs that follow. On failure the old ones stay.
    ///
    /// # Errors
    /// As [`Match::new`].
    pub fn set_params(&mut self, params: &MatchParams) -> Result<()> {
        let raw = params.to_raw();
        // SAFETY: the handle is alive, and the parameters during the call.
        self.0.call(|op| unsafe { sys::gpv_match_set_params(op, &raw) })
    }

    /// Allocates all that runs on sets of up to so many descriptors need with the parameters in
    /// force. on_device: all that these runs are given lies in CUDA memory; else some or all of it
    /// lies in host memory. Without it the first run of its kind allocates.
    ///
    /// # Errors
    /// As [`Match::run`].
    pub fn prepare(
        &mut self,
        query_count: usize,
        train_count: usize,
        on_device: bool,
    ) -> Result<()> {
        let memory = if on_device { sys::GPV_MEMORY_CUDA } else { sys::GPV_MEMORY_HOST };
        let (query_count, train_count) = (to_i32(query_count), to_i32(train_count));
        // SAFETY: the handle is alive.
        self.0.call(|op| unsafe { sys::gpv_match_prepare(op, query_count, train_count, memory) })
    }

    /// Compares each descriptor of query with all of train, and waits. A query matches its nearest
    /// if ratio and mutual allow it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for more than [`MAX_DESCRIPTORS`] in a set; `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn run(&mut self, query: &[Descriptor], train: &[Descriptor]) -> Result<Matches> {
        let nearest = Records::with_room(query.len())?;
        let pairs = Records::with_room(query.len())?;
        let (to_nearest, to_pairs) = (nearest.raw(), pairs.raw());
        let (query, queries) = (Buffer::of(query), to_i32(query.len()));
        let (train, trains) = (Buffer::of(train), to_i32(train.len()));
        let mut result = MatchResult::blank();
        // SAFETY: the handle is alive, and what the views describe until the run has been waited
        // for.
        self.0.run(
            |op| unsafe {
                sys::gpv_match_run(
                    op,
                    Stream::DEFAULT.raw(),
                    query.raw(),
                    queries,
                    ptr::null(),
                    train.raw(),
                    trains,
                    to_nearest,
                    to_pairs,
                    ptr::null(),
                )
            },
            |op| unsafe { sys::gpv_match_wait(op, &mut result) },
        )?;
        // SAFETY: the run is over, and has written so many of each.
        unsafe { Ok(Matches { pairs: pairs.take(result.count), nearest: nearest.take(queries) }) }
    }

    /// Draws a closed outline into a picture, and waits: lines from each of 2..64 points to the
    /// next, and from the last to the first; x and y in -131072..131072. It has nothing to do with
    /// the runs.
    ///
    /// dst: a picture, see [`Format`](crate::Format); width is 1..1000 pixels, color 0xRRGGBB.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, `UNSUPPORTED`: nothing has been written; `DEVICE`, `DEVICE_LOST`.
    pub fn draw(
        &mut self,
        dst: &mut ImageMut,
        points: &[[f32; 2]],
        width: f32,
        color: u32,
    ) -> Result<()> {
        let (first, count) = (points.as_ptr().cast(), to_i32(points.len()));
        // SAFETY: the handle is alive, and the pixels until the drawing has been waited for.
        self.0.run(
            |op| unsafe {
                let stream = Stream::DEFAULT.raw();
                sys::gpv_draw_outline(op, stream, dst.raw(), first, count, width, color)
            },
            |op| unsafe { sys::gpv_match_wait(op, ptr::null_mut()) },
        )
    }

    /// Enqueues a run on a stream. With all in CUDA memory it waits for nothing and, after
    /// [`Match::prepare`] or a run of the same kind, allocates nothing.
    ///
    /// # Safety
    /// The buffers are as large as they say. Until the run is over all memory has to live, nothing
    /// writes to what is read, and nothing else uses the rest. It is over when [`Match::wait`] has
    /// returned `Ok`, [`Match::query`] `Ok(true)`, or the operator is dropped; for CUDA memory also
    /// when the stream is past it. A captured run begins whenever its graph is launched:
    /// gpuvision/match.h says what it needs.
    ///
    /// # Errors
    /// As [`Match::run`]; `UNSUPPORTED` for memory of another device.
    pub unsafe fn enqueue(
        &mut self,
        stream: Stream,
        query: &DescriptorSet,
        train: &DescriptorSet,
        buffers: &MatchBuffers,
    ) -> Result<()> {
        // SAFETY: the handle is alive; the rest is the caller's.
        self.0.call(|op| unsafe {
            sys::gpv_match_run(
                op,
                stream.raw(),
                query.descriptors.raw(),
                to_i32(query.count),
                buffer::optional(&buffers.found),
                train.descriptors.raw(),
                to_i32(train.count),
                buffer::optional(&buffers.nearest),
                buffer::optional(&buffers.pairs),
                buffer::optional(&buffers.result),
            )
        })
    }

    /// Enqueues a drawing on a stream; otherwise as [`Match::draw`]. In host memory it is finished
    /// on return.
    ///
    /// # Safety
    /// As [`Match::enqueue`], for dst.
    ///
    /// # Errors
    /// As [`Match::draw`].
    pub unsafe fn enqueue_draw(
        &mut self,
        stream: Stream,
        dst: &mut ImageMut,
        points: &[[f32; 2]],
        width: f32,
        color: u32,
    ) -> Result<()> {
        let (first, count) = (points.as_ptr().cast(), to_i32(points.len()));
        // SAFETY: the handle is alive; the rest is the caller's.
        self.0.call(|op| unsafe {
            sys::gpv_draw_outline(op, stream.raw(), dst.raw(), first, count, width, color)
        })
    }

    /// Whether the last run or drawing has finished, without waiting.
    ///
    /// # Errors
    /// That of the run.
    pub fn query(&mut self) -> Result<bool> {
        self.0.query(sys::gpv_match_query)
    }

    /// Waits until the last run or drawing has finished, and says what the run has found; zeros if
    /// there was none.
    ///
    /// # Errors
    /// That of the run.
    pub fn wait(&mut self) -> Result<MatchResult> {
        let mut result = MatchResult::blank();
        // SAFETY: the handle is alive, and the result is of its kind.
        self.0.call(|op| unsafe { sys::gpv_match_wait(op, &mut result) })?;
        Ok(MatchResult::from_raw(result))
    }
}

/// A homography.
#[derive(Clone, Debug, PartialEq)]
pub struct Homography {
    /// Row by row, the last one 1: it takes (x, y, 1) to w (u, v, 1), where w has one sign for all
    /// pairs that fit.
    pub matrix: [f64; 9],
    /// Root of the mean squared distance of the pairs that fit.
    pub error: f64,
    /// Whether each pair fits.
    pub inliers: Vec<bool>,
    /// Samples that were tried.
    pub iterations: i32,
}

/// Finds the homography that takes most of the points of one picture to those of another that they
/// are matched with, although many may be matched wrongly (RANSAC). `None` if there is none: it has
/// at least 4 pairs that fit, which any 4 do, so ask for more, 15 or so.
///
/// Points are x and y. It is computed by the calling thread, on the CPU.
///
/// # Errors
/// `INVALID_ARGUMENT` for a parameter out of its range, a coordinate that is not finite, sets of
/// different size or of more than [`MAX_DESCRIPTORS`]; `OUT_OF_MEMORY`.
pub fn find_homography(
    context: &Context,
    params: &HomographyParams,
    from: &[[f32; 2]],
    to: &[[f32; 2]],
) -> Result<Option<Homography>> {
    if from.len() != to.len() {
        let message = format!("from has {} points, to has {}", from.len(), to.len());
        return Err(Error::new(Status::INVALID_ARGUMENT, message));
    }
    let raw = params.to_raw();
    // SAFETY: the function belongs to the struct.
    let mut found = unsafe { initialized(sys::gpv_homography_init) };
    let mut fits = vec![0; from.len()];
    let count = to_i32(from.len());
    let (from, to) = (from.as_ptr().cast(), to.as_ptr().cast());
    // SAFETY: the context is alive, and there are so many points and bytes.
    context.call(|context| unsafe {
        sys::gpv_homography_find(context, &raw, from, to, count, fits.as_mut_ptr(), &mut found)
    })?;
    Ok((found.found != 0).then(|| Homography {
        matrix: found.matrix,
        error: found.error,
        inliers: fits.iter().map(|&fit| fit != 0).collect(),
        iterations: found.iterations,
    }))
}
