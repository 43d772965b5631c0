// SPDX-License-Identifier: BSD-2-Clause
//! More than two labels by alpha expansion. See gpuvision/expansion.h.

use std::ptr;

use crate::buffer::{self, Buffer};
use crate::context::{Context, Stream};
use crate::convert::initialized;
use crate::error::Result;
use crate::image::{Image, ImageMut, ImageSpec};
use crate::operator::Operator;
use crate::sys;

pub use crate::types::ExpansionParams;

/// Largest number of labels; the least is 2.
pub const MAX_LABELS: i32 = sys::GPV_EXPANSION_MAX_LABELS;

/// Largest number of cycles.
pub const MAX_CYCLES: i32 = sys::GPV_EXPANSION_MAX_CYCLES;

/// Largest amount of a label's cost.
pub const MAX_COST: i32 = sys::GPV_EXPANSION_MAX_COST;

/// What a run has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpansionResult {
    /// No expansion move lowers the energy.
    pub converged: bool,
    /// Of each pixel's cheapest label, which runs begin with.
    pub start_energy: i64,
    /// Of the labels found.
    pub energy: i64,
    /// That have lowered the energy.
    pub moves: i32,
}

/// Gives each pixel a label, of which each costs a pixel something, as does a link between neighbours
/// whose labels differ. It begins with the cheapest label of each pixel; then each label has its
/// turn, in which any pixels may take it, by an exact minimum cut.
///
/// costs: of each label a Label32 image, -[`MAX_COST`]..[`MAX_COST`]. links: Cap32x4 or Cap32x8, of
/// whose planes the first half counts. labels: Gray8, receives each pixel's label. All of the same
/// size and memory.
#[derive(Debug)]
pub struct Expansion(Operator<sys::gpv_expansion>);

impl Expansion {
    /// Creates an operator.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a parameter out of its range, `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn new(context: &Context, params: &ExpansionParams) -> Result<Expansion> {
        let raw = params.to_raw();
        // SAFETY: the context is alive, and the parameters during the call.
        let create = |context, out| unsafe { sys::gpv_expansion_create(context, &raw, out) };
        Operator::new(context, sys::gpv_expansion_destroy, create).map(Expansion)
    }

    /// Changes the parameters of the runs that follow. On failure the old ones stay.
    ///
    /// # Errors
    /// As [`Expansion::new`].
    pub fn set_params(&mut self, params: &ExpansionParams) -> Result<()> {
        let raw = params.to_raw();
        // SAFETY: the handle is alive, and the parameters during the call.
        self.0.call(|op| unsafe { sys::gpv_expansion_set_params(op, &raw) })
    }

    /// Allocates all that a run with such links and so many labels needs. Without it the first run
    /// of its kind does.
    ///
    /// # Errors
    /// As [`Expansion::run`].
    pub fn prepare(&mut self, links: &ImageSpec, count: i32) -> Result<()> {
        let links = links.raw();
        // SAFETY: the handle is alive, and the view during the call.
        self.0.call(|op| unsafe { sys::gpv_expansion_prepare(op, &links, count) })
    }

    /// Finds labels, and waits.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, also for a value of costs or links that is out of its range, and which;
    /// `UNSUPPORTED`: nothing has been written; `OUT_OF_MEMORY`, `DEVICE`, `DEVICE_LOST`.
    pub fn run(
        &mut self,
        costs: &[&Image],
        links: &Image,
        labels: &mut ImageMut,
    ) -> Result<ExpansionResult> {
        let costs = pointers(costs);
        let (links, labels) = (links.raw(), labels.raw());
        let mut result = blank();
        // SAFETY: the handle is alive, and the pixels until the run has been waited for.
        self.0.run(
            |op| unsafe {
                let stream = Stream::DEFAULT.raw();
                let (first, count) = (costs.as_ptr(), count_of(&costs));
                sys::gpv_expansion_run(op, stream, first, count, links, labels, ptr::null())
            },
            |op| unsafe { sys::gpv_expansion_wait(op, &mut result) },
        )?;
        Ok(from_raw(result))
    }

    /// Enqueues a run on a stream. With images in CUDA memory it waits for nothing and, after
    /// [`Expansion::prepare`] or a run of the same kind, allocates nothing. result receives a
    /// [`sys::gpv_expansion_result`], in the memory in which the backend computes.
    ///
    /// # Safety
    /// The buffer is as large as it says. Until the run is over all memory has to live, nothing
    /// writes to costs and links, and nothing else uses the rest. It is over when
    /// [`Expansion::wait`] has returned `Ok` or `INVALID_ARGUMENT`, [`Expansion::query`] `Ok(true)`,
    /// or the operator is dropped; for CUDA memory also when the stream is past it. A captured run
    /// begins whenever its graph is launched: gpuvision/graphcut.h says what it needs.
    ///
    /// # Errors
    /// As [`Expansion::run`], but that values are looked at later.
    pub unsafe fn enqueue(
        &mut self,
        stream: Stream,
        costs: &[&Image],
        links: &Image,
        labels: &mut ImageMut,
        result: Option<Buffer>,
    ) -> Result<()> {
        let costs = pointers(costs);
        let (links, labels) = (links.raw(), labels.raw());
        let result = buffer::optional(&result);
        // SAFETY: the handle is alive; the rest is the caller's.
        self.0.call(|op| unsafe {
            let (first, count) = (costs.as_ptr(), count_of(&costs));
            sys::gpv_expansion_run(op, stream.raw(), first, count, links, labels, result)
        })
    }

    /// Whether the last run has finished, without waiting.
    ///
    /// # Errors
    /// As [`Expansion::wait`].
    pub fn query(&mut self) -> Result<bool> {
        self.0.query(sys::gpv_expansion_query)
    }

    /// Waits until the last run has finished, and says what it has found; zeros if there was none.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a value out of its range, and which. Otherwise that of the run.
    pub fn wait(&mut self) -> Result<ExpansionResult> {
        let mut result = blank();
        // SAFETY: the handle is alive, and the result is of its kind.
        self.0.call(|op| unsafe { sys::gpv_expansion_wait(op, &mut result) })?;
        Ok(from_raw(result))
    }
}

fn pointers(images: &[&Image]) -> Vec<*const sys::gpv_image> {
    images.iter().map(|image| image.raw() as *const _).collect()
}

/// Of more than fit, as many as are refused.
fn count_of(images: &[*const sys::gpv_image]) -> i32 {
    i32::try_from(images.len()).unwrap_or(i32::MAX)
}

fn blank() -> sys::gpv_expansion_result {
    // SAFETY: the function belongs to the struct.
    unsafe { initialized(sys::gpv_expansion_result_init) }
}

fn from_raw(raw: sys::gpv_expansion_result) -> ExpansionResult {
    ExpansionResult {
        converged: raw.converged != 0,
        start_energy: raw.start_energy,
        energy: raw.energy,
        moves: raw.moves,
    }
}
