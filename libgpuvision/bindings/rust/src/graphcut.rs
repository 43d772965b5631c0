// SPDX-License-Identifier: BSD-2-Clause
//! Exact minimum cuts of graphs that the caller makes, whose nodes are the pixels of an image. See
//! gpuvision/graphcut.h.

use std::ptr;

use crate::buffer::{self, Buffer};
use crate::context::{Context, Stream};
use crate::convert::initialized;
use crate::error::Result;
use crate::image::{Image, ImageMut, ImageSpec};
use crate::operator::Operator;
use crate::sys;

pub use crate::types::GraphcutParams;

/// Largest amount of a terminal's value.
pub const MAX_TERMINAL: i32 = sys::GPV_GRAPHCUT_MAX_TERMINAL;

/// Largest capacity between two pixels.
pub const MAX_LINK: i32 = sys::GPV_GRAPHCUT_MAX_LINK;

/// What a run has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphcutResult {
    /// No cut has less capacity; false: max_time_us came before that.
    pub optimal: bool,
    /// From the source to the sink: no cut has less capacity. If optimal, it is the capacity of the
    /// cut in mask.
    pub flow: i64,
    /// With certificate the capacity of the cut in mask, which equals flow if optimal.
    pub cut: Option<i64>,
    /// Pixels on the side of the source.
    pub area: i64,
}

impl GraphcutResult {
    pub(crate) fn blank() -> sys::gpv_graphcut_result {
        // SAFETY: the function belongs to the struct.
        unsafe { initialized(sys::gpv_graphcut_result_init) }
    }

    pub(crate) fn from_raw(raw: sys::gpv_graphcut_result) -> GraphcutResult {
        GraphcutResult {
            optimal: raw.optimal != 0,
            flow: raw.flow,
            cut: (raw.cut >= 0).then_some(raw.cut),
            area: raw.area,
        }
    }
}

/// Gives each pixel to the source or to the sink, so that the capacity from the source's side to the
/// sink's is minimal. Of all minimum cuts it is the one with the fewest pixels on the sink's side.
///
/// terminals: Label32, capacity from the source to the pixel minus capacity from the pixel to the
/// sink, -[`MAX_TERMINAL`]..[`MAX_TERMINAL`]. links: Cap32x4 or Cap32x8, capacity from the pixel to
/// each neighbour, 0..[`MAX_LINK`]; planes may share memory. mask: Gray8, receives 255 on the side
/// of the source, 0 on that of the sink. All of the same size and memory.
#[derive(Debug)]
pub struct Graphcut(Operator<sys::gpv_graphcut>);

impl Graphcut {
    /// Creates an operator.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a parameter out of its range, `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn new(context: &Context, params: &GraphcutParams) -> Result<Graphcut> {
        let raw = params.to_raw();
        // SAFETY: the context is alive, and the parameters during the call.
        let create = |context, out| unsafe { sys::gpv_graphcut_create(context, &raw, out) };
        Operator::new(context, sys::gpv_graphcut_destroy, create).map(Graphcut)
    }

    /// Changes the parameters of the runs that follow. On failure the old ones stay.
    ///
    /// # Errors
    /// As [`Graphcut::new`].
    pub fn set_params(&mut self, params: &GraphcutParams) -> Result<()> {
        let raw = params.to_raw();
        // SAFETY: the handle is alive, and the parameters during the call.
        self.0.call(|op| unsafe { sys::gpv_graphcut_set_params(op, &raw) })
    }

    /// Allocates all that a run with such links needs. Without it the first run of its kind does.
    ///
    /// # Errors
    /// As [`Graphcut::run`].
    pub fn prepare(&mut self, links: &ImageSpec) -> Result<()> {
        let links = links.raw();
        // SAFETY: the handle is alive, and the view during the call.
        self.0.call(|op| unsafe { sys::gpv_graphcut_prepare(op, &links) })
    }

    /// Finds a minimum cut, and waits.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, also for a value of terminals or links that is out of its range, and
    /// which; `UNSUPPORTED`: nothing has been written; `OUT_OF_MEMORY`, `DEVICE`, `DEVICE_LOST`.
    pub fn run(
        &mut self,
        terminals: &Image,
        links: &Image,
        mask: &mut ImageMut,
    ) -> Result<GraphcutResult> {
        let (terminals, links, mask) = (terminals.raw(), links.raw(), mask.raw());
        let mut result = GraphcutResult::blank();
        // SAFETY: the handle is alive, and the pixels until the run has been waited for.
        self.0.run(
            |op| unsafe {
                let stream = Stream::DEFAULT.raw();
                sys::gpv_graphcut_run(op, stream, terminals, links, mask, ptr::null())
            },
            |op| unsafe { sys::gpv_graphcut_wait(op, &mut result) },
        )?;
        Ok(GraphcutResult::from_raw(result))
    }

    /// Enqueues a run on a stream. With images in CUDA memory it waits for nothing and, after
    /// [`Graphcut::prepare`] or a run of the same kind, allocates nothing. result receives a
    /// [`sys::gpv_graphcut_result`], in the memory in which the backend computes.
    ///
    /// # Safety
    /// The buffer is as large as it says. Until the run is over all memory has to live, nothing
    /// writes to terminals and links, and nothing else uses the rest. It is over when
    /// [`Graphcut::wait`] has returned `Ok` or `INVALID_ARGUMENT`, [`Graphcut::query`] `Ok(true)`,
    /// or the operator is dropped; for CUDA memory also when the stream is past it. A captured run
    /// begins whenever its graph is launched: gpuvision/graphcut.h says what it needs.
    ///
    /// # Errors
    /// As [`Graphcut::run`], but that values are looked at later.
    pub unsafe fn enqueue(
        &mut self,
        stream: Stream,
        terminals: &Image,
        links: &Image,
        mask: &mut ImageMut,
        result: Option<Buffer>,
    ) -> Result<()> {
        let (terminals, links, mask) = (terminals.raw(), links.raw(), mask.raw());
        let result = buffer::optional(&result);
        // SAFETY: the handle is alive; the rest is the caller's.
        self.0.call(|op| unsafe {
            sys::gpv_graphcut_run(op, stream.raw(), terminals, links, mask, result)
        })
    }

    /// Whether the last run has finished, without waiting.
    ///
    /// # Errors
    /// As [`Graphcut::wait`].
    pub fn query(&mut self) -> Result<bool> {
        self.0.query(sys::gpv_graphcut_query)
    }

    /// Waits until the last run has finished, and says what it has found; zeros if there was none.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a value out of its range, and which. Otherwise that of the run.
    pub fn wait(&mut self) -> Result<GraphcutResult> {
        let mut result = GraphcutResult::blank();
        // SAFETY: the handle is alive, and the result is of its kind.
        self.0.call(|op| unsafe { sys::gpv_graphcut_wait(op, &mut result) })?;
        Ok(GraphcutResult::from_raw(result))
    }
}
