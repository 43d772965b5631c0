// SPDX-License-Identifier: BSD-2-Clause
//! Colour segmentation by k-means. See gpuvision/kmeans.h.

use std::ptr;

use crate::buffer::{self, Buffer, Records};
use crate::context::{Context, Stream};
use crate::convert::{pointer, to_i32, Field};
use crate::error::Result;
use crate::image::{self, Image, ImageMut, ImageSpec};
use crate::operator::Operator;
use crate::sys;

pub use crate::types::{KmeansColorSpace, KmeansInit, KmeansMetric, KmeansParams};

/// Largest number of clusters.
pub const MAX_CLUSTERS: usize = sys::GPV_KMEANS_MAX_CLUSTERS as usize;

/// What a run has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KmeansResult {
    /// As in the parameters, or as chosen: 1 if the image has one colour.
    pub clusters: i32,
    /// Updates of the centroids; where clusters was chosen, of that number.
    pub iterations: i32,
    /// Clusters without a pixel. There are some where the image has fewer colours than clusters, or
    /// where the iteration ended too early.
    pub empty: i32,
    /// The tolerance has ended the iteration.
    pub converged: bool,
    /// Sum over all pixels of the squared Euclidean distance to their centroid, whatever the
    /// metric; in color_space.
    pub inertia: f64,
}

result!(KmeansResult, gpv_kmeans_result, gpv_kmeans_result_init, {
    clusters, iterations, empty, converged, inertia
});

/// What [`Kmeans::run`] returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// Of each cluster, in color_space.
    pub centroids: Vec<[f32; 3]>,
    /// Pixels of each cluster.
    pub counts: Vec<i32>,
    /// How they were found.
    pub result: KmeansResult,
}

/// Where [`Kmeans::enqueue`] writes what is no image. Each is optional.
#[derive(Clone, Copy, Debug, Default)]
pub struct KmeansBuffers {
    /// Receives 3 f32 for each cluster: room for clusters, or max_clusters where clusters is 0; in
    /// host or CUDA memory.
    pub centroids: Option<Buffer>,
    /// Receives the pixels of each cluster as i32; otherwise as centroids.
    pub counts: Option<Buffer>,
    /// Receives a [`sys::gpv_kmeans_result`], in the memory in which the backend computes.
    pub result: Option<Buffer>,
}

/// The colour, 0xRRGGBB, that stands for a centroid in a recoloured image: rounded to bytes,
/// converted from Lab. Numbers outside 0..255 are taken as its ends.
pub fn color(color_space: KmeansColorSpace, centroid: &[f32; 3]) -> u32 {
    // SAFETY: it reads three numbers.
    unsafe { sys::gpv_kmeans_color(color_space.into_raw(), centroid.as_ptr()) }
}

/// Clusters of the colours of a picture: each pixel gets the number or the colour of its own.
///
/// src: a picture, see [`Format`](crate::Format). labels receive the number of each pixel's cluster,
/// from 0 on: Gray8, Nv12 or I420, same size and memory. dst receives the colour of each pixel's
/// cluster: format, size and memory of src.
#[derive(Debug)]
pub struct Kmeans(Operator<sys::gpv_kmeans>);

impl Kmeans {
    /// Creates an operator.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a parameter out of its range, `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn new(context: &Context, params: &KmeansParams) -> Result<Kmeans> {
        let raw = params.to_raw();
        // SAFETY: the context is alive, and the parameters during the call.
        let create = |context, out| unsafe { sys::gpv_kmeans_create(context, &raw, out) };
        Operator::new(context, sys::gpv_kmeans_destroy, create).map(Kmeans)
    }

    /// Changes the parameters of the runs that follow. On failure the old ones stay.
    ///
    /// # Errors
    /// As [`Kmeans::new`].
    pub fn set_params(&mut self, params: &KmeansParams) -> Result<()> {
        let raw = params.to_raw();
        // SAFETY: the handle is alive, and the parameters during the call.
        self.0.call(|op| unsafe { sys::gpv_kmeans_set_params(op, &raw) })
    }

    /// The initial centroids of runs with [`KmeansInit::Given`]: 2..256, in color_space, each
    /// number in 0..255; runs need as many as clusters.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`; then the old ones stay.
    pub fn set_centroids(&mut self, centroids: &[[f32; 3]]) -> Result<()> {
        let (first, count) = (centroids.as_ptr().cast(), to_i32(centroids.len()));
        // SAFETY: the handle is alive, and there are so many, which are copied.
        self.0.call(|op| unsafe { sys::gpv_kmeans_set_centroids(op, first, count) })
    }

    /// Allocates all that runs on such images need with the parameters in force. Without it the
    /// first run of its kind does.
    ///
    /// # Errors
    /// As [`Kmeans::run`].
    pub fn prepare(
        &mut self,
        src: &ImageSpec,
        labels: Option<&ImageSpec>,
        dst: Option<&ImageSpec>,
    ) -> Result<()> {
        let src = src.raw();
        let [labels, dst] = [labels, dst].map(|spec| spec.copied().map(ImageSpec::raw));
        let (labels, dst) = (pointer(&labels), pointer(&dst));
        // SAFETY: the handle is alive, and the views during the call.
        self.0.call(|op| unsafe { sys::gpv_kmeans_prepare(op, &src, labels, dst) })
    }

    /// Finds the clusters of src, and waits. Labels and dst are optional.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, `UNSUPPORTED`: nothing has been written; `OUT_OF_MEMORY`, `DEVICE`,
    /// `DEVICE_LOST`.
    pub fn run(
        &mut self,
        src: &Image,
        labels: Option<&mut ImageMut>,
        dst: Option<&mut ImageMut>,
    ) -> Result<Clusters> {
        self.run_raw(src.raw(), image::optional_mut(labels), image::optional_mut(dst))
    }

    /// As [`Kmeans::run`], with the image as src and dst.
    ///
    /// # Errors
    /// As [`Kmeans::run`].
    pub fn run_in_place(
        &mut self,
        image: &mut ImageMut,
        labels: Option<&mut ImageMut>,
    ) -> Result<Clusters> {
        self.run_raw(image.raw(), image::optional_mut(labels), image.raw())
    }

    fn run_raw(
        &mut self,
        src: *const sys::gpv_image,
        labels: *const sys::gpv_image,
        dst: *const sys::gpv_image,
    ) -> Result<Clusters> {
        let centroids = Records::with_room(MAX_CLUSTERS)?;
        let counts = Records::with_room(MAX_CLUSTERS)?;
        let (to_centroids, to_counts) = (centroids.raw(), counts.raw());
        let mut result = KmeansResult::blank();
        // SAFETY: the handle is alive, and what the views describe until the run has been waited
        // for.
        self.0.run(
            |op| unsafe {
                let stream = Stream::DEFAULT.raw();
                let none = ptr::null();
                sys::gpv_kmeans_run(op, stream, src, labels, dst, to_centroids, to_counts, none)
            },
            |op| unsafe { sys::gpv_kmeans_wait(op, &mut result) },
        )?;
        let result = KmeansResult::from_raw(result);
        // SAFETY: the run is over, and has written so many of each.
        let (centroids, counts) =
            unsafe { (centroids.take(result.clusters), counts.take(result.clusters)) };
        Ok(Clusters { centroids, counts, result })
    }

    /// Enqueues a run on a stream. With images in CUDA memory it waits for nothing, unless buffers
    /// are in host memory, and, after [`Kmeans::prepare`] or a run of the same kind, allocates
    /// nothing.
    ///
    /// # Safety
    /// The buffers are as large as they say. Until the run is over all memory has to live, nothing
    /// writes to src, and nothing else uses the rest. It is over when [`Kmeans::wait`] has returned
    /// `Ok`, [`Kmeans::query`] `Ok(true)`, or the operator is dropped; for CUDA memory also when
    /// the stream is past it. A captured run begins whenever its graph is launched:
    /// gpuvision/kmeans.h says what it needs.
    ///
    /// # Errors
    /// As [`Kmeans::run`].
    pub unsafe fn enqueue(
        &mut self,
        stream: Stream,
        src: &Image,
        labels: Option<&mut ImageMut>,
        dst: Option<&mut ImageMut>,
        buffers: &KmeansBuffers,
    ) -> Result<()> {
        let (labels, dst) = (image::optional_mut(labels), image::optional_mut(dst));
        // SAFETY: the caller's.
        unsafe { self.enqueue_raw(stream, src.raw(), labels, dst, buffers) }
    }

    /// As [`Kmeans::enqueue`], with the image as src and dst.
    ///
    /// # Safety
    /// As [`Kmeans::enqueue`], for dst.
    ///
    /// # Errors
    /// As [`Kmeans::run`].
    pub unsafe fn enqueue_in_place(
        &mut self,
        stream: Stream,
        image: &mut ImageMut,
        labels: Option<&mut ImageMut>,
        buffers: &KmeansBuffers,
    ) -> Result<()> {
        let labels = image::optional_mut(labels);
        // SAFETY: the caller's.
        unsafe { self.enqueue_raw(stream, image.raw(), labels, image.raw(), buffers) }
    }

    /// # Safety
    /// As [`Kmeans::enqueue`].
    unsafe fn enqueue_raw(
        &mut self,
        stream: Stream,
        src: *const sys::gpv_image,
        labels: *const sys::gpv_image,
        dst: *const sys::gpv_image,
        buffers: &KmeansBuffers,
    ) -> Result<()> {
        let centroids = buffer::optional(&buffers.centroids);
        let counts = buffer::optional(&buffers.counts);
        let result = buffer::optional(&buffers.result);
        // SAFETY: the handle is alive; the rest is the caller's.
        self.0.call(|op| unsafe {
            let stream = stream.raw();
            sys::gpv_kmeans_run(op, stream, src, labels, dst, centroids, counts, result)
        })
    }

    /// Whether the last run has finished, without waiting.
    ///
    /// # Errors
    /// That of the run.
    pub fn query(&mut self) -> Result<bool> {
        self.0.query(sys::gpv_kmeans_query)
    }

    /// Waits until the last run has finished, and says what it has found; zeros if there was none.
    ///
    /// # Errors
    /// That of the run.
    pub fn wait(&mut self) -> Result<KmeansResult> {
        let mut result = KmeansResult::blank();
        // SAFETY: the handle is alive, and the result is of its kind.
        self.0.call(|op| unsafe { sys::gpv_kmeans_wait(op, &mut result) })?;
        Ok(KmeansResult::from_raw(result))
    }
}
