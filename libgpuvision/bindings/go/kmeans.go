// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

/*
#include "binding.h"

static gpv_status gpv_go_kmeans_run(gpv_kmeans *op, uintptr_t stream, const gpv_image *src,
                                    const gpv_image *labels, const gpv_image *dst,
                                    const gpv_buffer *centroids, const gpv_buffer *counts,
                                    const gpv_buffer *result) {
    return gpv_kmeans_run(op, (gpv_stream)stream, src, labels, dst, centroids, counts, result);
}
*/
import "C"

// KmeansMaxClusters is the largest number of clusters.
const KmeansMaxClusters = C.GPV_KMEANS_MAX_CLUSTERS

// Centroid is the middle of a cluster, 0..255 in each direction of a [KmeansColorSpace].
type Centroid [3]float32

// Color is the colour, 0xRRGGBB, that stands for a centroid in a recoloured image.
func (s KmeansColorSpace) Color(centroid Centroid) uint32 {
	return uint32(C.gpv_kmeans_color(C.gpv_kmeans_color_space(s), (*C.float)(&centroid[0])))
}

// KmeansResult is what a run has found.
type KmeansResult struct {
	Clusters   int     // as in the parameters, or as chosen: 1 if the image has one colour
	Iterations int     // updates of the centroids
	Empty      int     // clusters without a pixel
	Converged  bool    // the tolerance has ended the iteration
	Inertia    float64 // sum over all pixels of the squared distance to their centroid

	Centroids []Centroid // of each cluster, in ColorSpace; of Run only
	Counts    []int32    // pixels of each cluster; of Run only
}

// Kmeans is colour segmentation by k-means. See gpuvision/kmeans.h.
type Kmeans struct {
	*object[*C.gpv_kmeans]
}

// NewKmeans creates an operator; nil means all defaults.
func NewKmeans(context *Context, params *KmeansParams) (*Kmeans, error) {
	return newOperator[Kmeans](context, func(op **C.gpv_kmeans) C.gpv_status {
		return C.gpv_kmeans_create(context.handle, params.c(), op)
	}, func(op **C.gpv_kmeans) { C.gpv_kmeans_destroy(op) })
}

// SetParams changes the parameters of the runs that follow; nil means all defaults. On failure the
// old ones stay.
func (k *Kmeans) SetParams(params *KmeansParams) error {
	return k.call(func() C.gpv_status {
		return C.gpv_kmeans_set_params(k.handle, params.c())
	})
}

// SetCentroids sets the initial centroids of runs with KmeansInitGiven: 2..256, and runs need as many
// as there are clusters. They are copied.
func (k *Kmeans) SetCentroids(centroids []Centroid) error {
	var first *C.float
	if len(centroids) > 0 {
		first = (*C.float)(&centroids[0][0])
	}
	return k.call(func() C.gpv_status {
		return C.gpv_kmeans_set_centroids(k.handle, first, clamp(len(centroids)))
	})
}

// Prepare allocates all that a run on such images needs, so that the run allocates nothing. Of
// images, pixels are not looked at. labels and dst may be nil.
func (k *Kmeans) Prepare(src, labels, dst *Image) error {
	return k.submit(func(v *views, _ C.uintptr_t) C.gpv_status {
		return C.gpv_kmeans_prepare(k.handle, v.shape(src), v.shape(labels), v.shape(dst))
	})
}

func (k *Kmeans) wait(result *KmeansResult) C.gpv_status {
	var c C.gpv_kmeans_result
	C.gpv_kmeans_result_init(&c, C.sizeof_gpv_kmeans_result)
	status := C.gpv_kmeans_wait(k.handle, &c)
	*result = KmeansResult{
		Clusters:   int(c.clusters),
		Iterations: int(c.iterations),
		Empty:      int(c.empty),
		Converged:  c.converged != 0,
		Inertia:    float64(c.inertia),
	}
	return status
}

// Run finds the clusters of src, and waits. Clusters are numbered from 0.
//
// src: a picture, see [Format].
//
// labels: receives the number of each pixel's cluster. GRAY8, NV12 or I420 (Y; chroma is 128), same
// size and memory as src; may be nil.
//
// dst: receives the colour of each pixel's cluster. Format, size and memory of src; may be src; may
// be nil.
func (k *Kmeans) Run(src, labels, dst *Image) (result KmeansResult, err error) {
	centroids := make([]Centroid, KmeansMaxClusters)
	counts := make([]int32, KmeansMaxClusters)
	err = k.run(func(v *views, stream C.uintptr_t) C.gpv_status {
		status := C.gpv_go_kmeans_run(k.handle, stream, v.image(src), v.image(labels), v.image(dst),
			v.buffer(bytesOf(centroids)), v.buffer(bytesOf(counts)), nil)
		if status == C.GPV_OK {
			status = k.wait(&result)
		}
		return status
	})
	result.Centroids = centroids[:result.Clusters]
	result.Counts = counts[:result.Clusters]
	return result, err
}

// KmeansBuffers are the outputs of [Kmeans.Enqueue] that are not images. Each may be the zero
// value. Centroids and Counts have room for Clusters, or MaxClusters where Clusters is 0.
type KmeansBuffers struct {
	Centroids DeviceBuffer // 3 floats for each cluster
	Counts    DeviceBuffer // an int32 for each cluster
	Result    DeviceBuffer // a gpv_kmeans_result, aligned to 8
}

// Enqueue is as Run, for CUDA memory, and does not wait.
func (k *Kmeans) Enqueue(src, labels, dst *Image, buffers KmeansBuffers) error {
	err := requireDevice(argument{"src", src}, argument{"labels", labels}, argument{"dst", dst},
		argument{"centroids", buffers.Centroids}, argument{"counts", buffers.Counts},
		argument{"result", buffers.Result})
	if err != nil {
		return err
	}
	return k.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return C.gpv_go_kmeans_run(k.handle, stream, v.image(src), v.image(labels), v.image(dst),
			v.device(buffers.Centroids), v.device(buffers.Counts), v.device(buffers.Result))
	})
}

// Query says whether the last run has finished, without waiting; true if there was none.
func (k *Kmeans) Query() (bool, error) {
	return k.query(func() C.gpv_status { return C.gpv_kmeans_query(k.handle) })
}

// Wait waits until the last run has finished, and says what it has found, but for centroids and
// counts.
func (k *Kmeans) Wait() (result KmeansResult, err error) {
	err = k.call(func() C.gpv_status { return k.wait(&result) })
	return result, err
}
