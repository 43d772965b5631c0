// SPDX-License-Identifier: BSD-2-Clause
// Code generated from include/gpuvision by meson compile -C build interface-update. DO NOT EDIT.

package gpuvision

// #include "binding.h"
import "C"

import (
	"time"
	"unsafe"
)

// CclMode: which neighbouring pixels of the foreground belong together.
type CclMode uint32

// Values of [CclMode].
const (
	// CclModeBinary: all of them.
	CclModeBinary CclMode = C.GPV_CCL_MODE_BINARY
	// CclModeEqualValue: those of equal luma.
	CclModeEqualValue CclMode = C.GPV_CCL_MODE_EQUAL_VALUE
)

// CclOutput: what dst of [Ccl.Run] receives. Background is 0, black or neutral grey chroma.
type CclOutput uint32

// Values of [CclOutput].
const (
	// CclOutputLabels: labels: LABEL32, GRAY16, or P016 (in Y; chroma is 32768); up to 255 GRAY8,
	// NV12 or I420 (in Y; chroma is 128).
	CclOutputLabels CclOutput = C.GPV_CCL_OUTPUT_LABELS
	// CclOutputMask: 255 in each component: GRAY8, NV12 or I420 (chroma is 128).
	CclOutputMask CclOutput = C.GPV_CCL_OUTPUT_MASK
	// CclOutputColors: a picture, of colours that depend on the label alone; a fourth channel is
	// 255.
	CclOutputColors CclOutput = C.GPV_CCL_OUTPUT_COLORS
)

// SiftDescriptorType: what a number of a descriptor is.
type SiftDescriptorType uint32

// Values of [SiftDescriptorType].
const (
	// SiftDescriptorTypeU8: uint8: 512 times that of SiftDescriptorTypeF32, rounded, at most 255.
	SiftDescriptorTypeU8 SiftDescriptorType = C.GPV_SIFT_DESCRIPTOR_TYPE_U8
	// SiftDescriptorTypeF32: float32: a descriptor has length 1, or 0 where there is no gradient.
	SiftDescriptorTypeF32 SiftDescriptorType = C.GPV_SIFT_DESCRIPTOR_TYPE_F32
)

// ErodeOperation: what is computed.
type ErodeOperation uint32

// Values of [ErodeOperation].
const (
	// ErodeOperationErode: minimum under the element.
	ErodeOperationErode ErodeOperation = C.GPV_ERODE_OPERATION_ERODE
	// ErodeOperationDilate: maximum under the element.
	ErodeOperationDilate ErodeOperation = C.GPV_ERODE_OPERATION_DILATE
	// ErodeOperationOpen: erode, then dilate.
	ErodeOperationOpen ErodeOperation = C.GPV_ERODE_OPERATION_OPEN
	// ErodeOperationClose: dilate, then erode.
	ErodeOperationClose ErodeOperation = C.GPV_ERODE_OPERATION_CLOSE
	// ErodeOperationGradient: dilate - erode.
	ErodeOperationGradient ErodeOperation = C.GPV_ERODE_OPERATION_GRADIENT
	// ErodeOperationTopHat: source - open.
	ErodeOperationTopHat ErodeOperation = C.GPV_ERODE_OPERATION_TOPHAT
	// ErodeOperationBlackHat: close - source, not below 0.
	ErodeOperationBlackHat ErodeOperation = C.GPV_ERODE_OPERATION_BLACKHAT
)

// ErodeShape: shape of the structuring element inside its (2 radius + 1) x (2 RadiusY + 1) box.
type ErodeShape uint32

// Values of [ErodeShape].
const (
	// ErodeShapeRect: the whole box.
	ErodeShapeRect ErodeShape = C.GPV_ERODE_SHAPE_RECT
	// ErodeShapeCross: its middle row and middle column.
	ErodeShapeCross ErodeShape = C.GPV_ERODE_SHAPE_CROSS
	// ErodeShapeEllipse: the ellipse inscribed in it; of height 1: its centre alone.
	ErodeShapeEllipse ErodeShape = C.GPV_ERODE_SHAPE_ELLIPSE
)

// ErodeBorder: what pixels outside the image count as.
type ErodeBorder uint32

// Values of [ErodeBorder].
const (
	// ErodeBorderIgnore: nothing: only pixels inside take part.
	ErodeBorderIgnore ErodeBorder = C.GPV_ERODE_BORDER_IGNORE
	// ErodeBorderBackground: 0: what touches the border erodes there.
	ErodeBorderBackground ErodeBorder = C.GPV_ERODE_BORDER_BACKGROUND
)

// ErodePlanes: which planes and channels are processed; the others are copied.
type ErodePlanes uint32

// Values of [ErodePlanes].
const (
	// ErodePlanesAuto: grey, Y of YUV, every colour channel of RGB (not alpha).
	ErodePlanesAuto ErodePlanes = C.GPV_ERODE_PLANES_AUTO
	// ErodePlanesLuma: grey and Y of YUV; RGB has no luma plane: as ErodePlanesAuto.
	ErodePlanesLuma ErodePlanes = C.GPV_ERODE_PLANES_LUMA
	// ErodePlanesAll: also U and V, with the same element on their own samples.
	ErodePlanesAll ErodePlanes = C.GPV_ERODE_PLANES_ALL
)

// KmeansMetric: how far a colour is from a centroid.
type KmeansMetric uint32

// Values of [KmeansMetric].
const (
	// KmeansMetricL2: squared Euclidean distance.
	KmeansMetricL2 KmeansMetric = C.GPV_KMEANS_METRIC_L2
	// KmeansMetricL1: Manhattan distance. The centroid stays the mean, which does not minimize this
	// cost: it need not fall in every iteration.
	KmeansMetricL1 KmeansMetric = C.GPV_KMEANS_METRIC_L1
)

// KmeansInit: the centroids that the first run starts from.
type KmeansInit uint32

// Values of [KmeansInit].
const (
	// KmeansInitPlusPlus: colours drawn by squared distance to those drawn before.
	KmeansInitPlusPlus KmeansInit = C.GPV_KMEANS_INIT_PLUSPLUS
	// KmeansInitRandom: different colours, drawn by how often they occur.
	KmeansInitRandom KmeansInit = C.GPV_KMEANS_INIT_RANDOM
	// KmeansInitGrid: the colours of pixels spread evenly over the image.
	KmeansInitGrid KmeansInit = C.GPV_KMEANS_INIT_GRID
	// KmeansInitGiven: those of [Kmeans.SetCentroids].
	KmeansInitGiven KmeansInit = C.GPV_KMEANS_INIT_GIVEN
)

// KmeansColorSpace: the colour space of distances and centroids.
type KmeansColorSpace uint32

// Values of [KmeansColorSpace].
const (
	// KmeansColorSpaceRGB: R, G, B, 0..255.
	KmeansColorSpaceRGB KmeansColorSpace = C.GPV_KMEANS_COLOR_SPACE_RGB
	// KmeansColorSpaceLab: CIE L*a*b* of sRGB (D65), as bytes: 2.55 L*, a* + 128, b* + 128.
	KmeansColorSpaceLab KmeansColorSpace = C.GPV_KMEANS_COLOR_SPACE_LAB
)

// SegmentModel: what is learned of the colours of either side.
type SegmentModel uint32

// Values of [SegmentModel].
const (
	// SegmentModelGMM: a mixture of five Gaussians with full covariance.
	SegmentModelGMM SegmentModel = C.GPV_SEGMENT_MODEL_GMM
	// SegmentModelHistogram: how frequent each of 16^3 colours is, smoothed.
	SegmentModelHistogram SegmentModel = C.GPV_SEGMENT_MODEL_HISTOGRAM
	// SegmentModelMeans: one mean colour.
	SegmentModelMeans SegmentModel = C.GPV_SEGMENT_MODEL_MEANS
)

// SegmentWarmStart: what a run does with the colours that the run before it has learned.
type SegmentWarmStart uint32

// Values of [SegmentWarmStart].
const (
	// SegmentWarmStartNone: nothing: each run learns from its own seeds.
	SegmentWarmStartNone SegmentWarmStart = C.GPV_SEGMENT_WARM_START_NONE
	// SegmentWarmStartAdapt: starts from them, if there are any, and at the end learns from its own
	// cut, unless the frame teaches nothing; begins anew where a scene does: for video.
	SegmentWarmStartAdapt SegmentWarmStart = C.GPV_SEGMENT_WARM_START_ADAPT
	// SegmentWarmStartReuse: uses them, if there are any, and learns nothing.
	SegmentWarmStartReuse SegmentWarmStart = C.GPV_SEGMENT_WARM_START_REUSE
)

// SegmentOutput: what dst of [Segment.Run] receives.
type SegmentOutput uint32

// Values of [SegmentOutput].
const (
	// SegmentOutputOverlay: the picture, its background grey and half as bright; format of src.
	SegmentOutputOverlay SegmentOutput = C.GPV_SEGMENT_OUTPUT_OVERLAY
	// SegmentOutputCutout: the picture, its background transparent; RGBA8 or BGRA8. Alpha of the
	// foreground is that of src, or 255 where there is none; with SegmentEdgeSoft at its border in
	// part.
	SegmentOutputCutout SegmentOutput = C.GPV_SEGMENT_OUTPUT_CUTOUT
)

// SegmentEdge: what mask, and the alpha of a cutout, are at the border of the sides.
type SegmentEdge uint32

// Values of [SegmentEdge].
const (
	// SegmentEdgeHard: a pixel is of one side or of the other.
	SegmentEdgeHard SegmentEdge = C.GPV_SEGMENT_EDGE_HARD
	// SegmentEdgeSoft: within 4 pixels of the other side, a pixel that is not known is of the
	// foreground in part, as its colour says.
	SegmentEdgeSoft SegmentEdge = C.GPV_SEGMENT_EDGE_SOFT
)

// CclParams: parameters of [Ccl]. Start from [DefaultCclParams].
//
// A pixel is foreground if its luma is >= threshold, or, with foreground >= 0, if its luma is
// foreground; with invert, if it is not. Luma is the sample of grey, Y of YUV, and (77 R + 150 G +
// 29 B + 128) >> 8 of RGB.
type CclParams struct {
	// Mode: default CclModeBinary.
	Mode CclMode
	// Connectivity: 8 or 4 neighbours; default 8.
	Connectivity int
	// Threshold: 0..255 (16 bits: ..65535), 0 = every pixel; default 1.
	Threshold int
	// Foreground: 0..255 (16 bits: ..65535), -1 = threshold decides; default -1.
	Foreground int
	// Invert: default false.
	Invert bool
	// MinArea: components of fewer pixels are dropped, 0 = none; default 0.
	MinArea int
	// MaxArea: components of more pixels are dropped, 0 = none; default 0.
	MaxArea int
	// Output: default CclOutputLabels.
	Output CclOutput
}

func cclDefaults() (c C.gpv_ccl_params) {
	C.gpv_ccl_params_init(&c, C.sizeof_gpv_ccl_params)
	return c
}

// DefaultCclParams gives the library's defaults.
func DefaultCclParams() (p CclParams) {
	c := cclDefaults()
	p.Mode = CclMode(c.mode)
	p.Connectivity = int(c.connectivity)
	p.Threshold = int(c.threshold)
	p.Foreground = int(c.foreground)
	p.Invert = c.invert != 0
	p.MinArea = int(c.min_area)
	p.MaxArea = int(c.max_area)
	p.Output = CclOutput(c.output)
	return p
}

func (p *CclParams) c() *C.gpv_ccl_params {
	if p == nil {
		return nil
	}
	c := cclDefaults()
	c.mode = C.gpv_ccl_mode(p.Mode)
	c.connectivity = clamp(p.Connectivity)
	c.threshold = clamp(p.Threshold)
	c.foreground = clamp(p.Foreground)
	c.invert = flag(p.Invert)
	c.min_area = clamp(p.MinArea)
	c.max_area = clamp(p.MaxArea)
	c.output = C.gpv_ccl_output(p.Output)
	return &c
}

// SiftParams: parameters of [Sift]. Start from [DefaultSiftParams].
type SiftParams struct {
	// MaxFeatures: of the keypoints those of the highest response are kept; 0 = as many as there is
	// room for; 0..2147483647; default 0.
	MaxFeatures int
	// Octaves: maximum number of octaves, from the first; 0 = all that fit; 0..16; default 0.
	Octaves int
	// OctaveLayers: layers of an octave in which extrema are sought, 1..8; default 3.
	OctaveLayers int
	// ContrastThreshold: extrema of less contrast are dropped. It is divided by OctaveLayers, and a
	// picture has contrast 1 from black to white; 0..1; default 0.04.
	ContrastThreshold float32
	// EdgeThreshold: extrema on edges are dropped: those whose ratio of principal curvatures is at
	// least this; 1..1e6; default 10.
	EdgeThreshold float32
	// Sigma: blur of the first layer of each octave, in pixels of the octave; 0.5..4; default 1.6.
	Sigma float32
	// Upsample: whether the first octave has twice the size of the picture, which finds smaller
	// features; default true.
	Upsample bool
	// Upright: whether every orientation is 0; default false.
	Upright bool
	// RootSift: whether descriptors are those of RootSIFT: the square roots of one whose sum is 1;
	// default false.
	RootSift bool
	// DescriptorType: default SiftDescriptorTypeU8.
	DescriptorType SiftDescriptorType
}

func siftDefaults() (c C.gpv_sift_params) {
	C.gpv_sift_params_init(&c, C.sizeof_gpv_sift_params)
	return c
}

// DefaultSiftParams gives the library's defaults.
func DefaultSiftParams() (p SiftParams) {
	c := siftDefaults()
	p.MaxFeatures = int(c.max_features)
	p.Octaves = int(c.octaves)
	p.OctaveLayers = int(c.octave_layers)
	p.ContrastThreshold = float32(c.contrast_threshold)
	p.EdgeThreshold = float32(c.edge_threshold)
	p.Sigma = float32(c.sigma)
	p.Upsample = c.upsample != 0
	p.Upright = c.upright != 0
	p.RootSift = c.root_sift != 0
	p.DescriptorType = SiftDescriptorType(c.descriptor_type)
	return p
}

func (p *SiftParams) c() *C.gpv_sift_params {
	if p == nil {
		return nil
	}
	c := siftDefaults()
	c.max_features = clamp(p.MaxFeatures)
	c.octaves = clamp(p.Octaves)
	c.octave_layers = clamp(p.OctaveLayers)
	c.contrast_threshold = C.float(p.ContrastThreshold)
	c.edge_threshold = C.float(p.EdgeThreshold)
	c.sigma = C.float(p.Sigma)
	c.upsample = flag(p.Upsample)
	c.upright = flag(p.Upright)
	c.root_sift = flag(p.RootSift)
	c.descriptor_type = C.gpv_sift_descriptor_type(p.DescriptorType)
	return &c
}

// MatchParams: parameters of [Match]. Start from [DefaultMatchParams].
type MatchParams struct {
	// Ratio: a query whose nearest is not nearer than this times the second nearest has no match; 0
	// = it has one anyhow; 0..1; default 0.8.
	Ratio float32
	// Mutual: whether a query is also to be the nearest one to its match; default true.
	Mutual bool
}

func matchDefaults() (c C.gpv_match_params) {
	C.gpv_match_params_init(&c, C.sizeof_gpv_match_params)
	return c
}

// DefaultMatchParams gives the library's defaults.
func DefaultMatchParams() (p MatchParams) {
	c := matchDefaults()
	p.Ratio = float32(c.ratio)
	p.Mutual = c.mutual != 0
	return p
}

func (p *MatchParams) c() *C.gpv_match_params {
	if p == nil {
		return nil
	}
	c := matchDefaults()
	c.ratio = C.float(p.Ratio)
	c.mutual = flag(p.Mutual)
	return &c
}

// ErodeParams: parameters of [Erode]. Start from [DefaultErodeParams].
type ErodeParams struct {
	// Operation: default ErodeOperationErode.
	Operation ErodeOperation
	// Shape: default ErodeShapeRect.
	Shape ErodeShape
	// Radius: pixels, 0..255, default 1.
	Radius int
	// RadiusY: pixels, 0..255, -1 = radius; default -1.
	RadiusY int
	// Iterations: how often each erosion and dilation repeats, 1..255, default 1.
	Iterations int
	// Threshold: 0 = grey morphology; 1..255 (16 bits: ..65535) = binary; default 0.
	Threshold int
	// Border: default ErodeBorderIgnore.
	Border ErodeBorder
	// Planes: grey morphology only; default ErodePlanesAuto.
	Planes ErodePlanes
}

func erodeDefaults() (c C.gpv_erode_params) {
	C.gpv_erode_params_init(&c, C.sizeof_gpv_erode_params)
	return c
}

// DefaultErodeParams gives the library's defaults.
func DefaultErodeParams() (p ErodeParams) {
	c := erodeDefaults()
	p.Operation = ErodeOperation(c.operation)
	p.Shape = ErodeShape(c.shape)
	p.Radius = int(c.radius)
	p.RadiusY = int(c.radius_y)
	p.Iterations = int(c.iterations)
	p.Threshold = int(c.threshold)
	p.Border = ErodeBorder(c.border)
	p.Planes = ErodePlanes(c.planes)
	return p
}

func (p *ErodeParams) c() *C.gpv_erode_params {
	if p == nil {
		return nil
	}
	c := erodeDefaults()
	c.operation = C.gpv_erode_operation(p.Operation)
	c.shape = C.gpv_erode_shape(p.Shape)
	c.radius = clamp(p.Radius)
	c.radius_y = clamp(p.RadiusY)
	c.iterations = clamp(p.Iterations)
	c.threshold = clamp(p.Threshold)
	c.border = C.gpv_erode_border(p.Border)
	c.planes = C.gpv_erode_planes(p.Planes)
	return &c
}

// GraphcutParams: parameters of [Graphcut]. Start from [DefaultGraphcutParams].
type GraphcutParams struct {
	// Certificate: whether a run adds up the capacity of its cut from what it was given, as the
	// proof that the cut is minimal; default false.
	Certificate bool
	// MaxTime: time after which a run settles for the best cut that it has by then; it ends some
	// time later, after the step that it is at and the choice of the cut. On CUDA they begin with
	// the kernel; >= 0, 0 = none; default 0.
	MaxTime time.Duration
	// Reuse: whether a run keeps its flow, and the next one on a graph of that size and
	// connectivity begins with as much of it as there is room for. What is found is the same; the
	// time is less where few capacities have changed. Where runs take longer by it some do without,
	// as their times say. For video, and for one graph with changing terminals; default false.
	Reuse bool
}

func graphcutDefaults() (c C.gpv_graphcut_params) {
	C.gpv_graphcut_params_init(&c, C.sizeof_gpv_graphcut_params)
	return c
}

// DefaultGraphcutParams gives the library's defaults.
func DefaultGraphcutParams() (p GraphcutParams) {
	c := graphcutDefaults()
	p.Certificate = c.certificate != 0
	p.MaxTime = duration(c.max_time_us)
	p.Reuse = c.reuse != 0
	return p
}

func (p *GraphcutParams) c() *C.gpv_graphcut_params {
	if p == nil {
		return nil
	}
	c := graphcutDefaults()
	c.certificate = flag(p.Certificate)
	c.max_time_us = microseconds(p.MaxTime)
	c.reuse = flag(p.Reuse)
	return &c
}

// ExpansionParams: parameters of [Expansion]. Start from [DefaultExpansionParams].
type ExpansionParams struct {
	// Cycles: how often each label has its move, at most: once none of them can lower the energy
	// any more, a run is over; 1..ExpansionMaxCycles; default 3.
	Cycles int
}

func expansionDefaults() (c C.gpv_expansion_params) {
	C.gpv_expansion_params_init(&c, C.sizeof_gpv_expansion_params)
	return c
}

// DefaultExpansionParams gives the library's defaults.
func DefaultExpansionParams() (p ExpansionParams) {
	c := expansionDefaults()
	p.Cycles = int(c.cycles)
	return p
}

func (p *ExpansionParams) c() *C.gpv_expansion_params {
	if p == nil {
		return nil
	}
	c := expansionDefaults()
	c.cycles = clamp(p.Cycles)
	return &c
}

// HomographyParams: parameters of [Context.FindHomography]. Start from [DefaultHomographyParams].
type HomographyParams struct {
	// Threshold: a pair fits if the place that is found for it is at most so far from its own, in
	// the units of the points; > 0..1e6; default 3.
	Threshold float32
	// Confidence: no more samples are tried once one without a false pair has been among them with
	// this probability; 0..0.999999; default 0.999.
	Confidence float32
	// MaxIterations: samples at most; 1..1000000; default 10000.
	MaxIterations int
	// Seed: of the samples; any; default 0.
	Seed uint32
}

func homographyDefaults() (c C.gpv_homography_params) {
	C.gpv_homography_params_init(&c, C.sizeof_gpv_homography_params)
	return c
}

// DefaultHomographyParams gives the library's defaults.
func DefaultHomographyParams() (p HomographyParams) {
	c := homographyDefaults()
	p.Threshold = float32(c.threshold)
	p.Confidence = float32(c.confidence)
	p.MaxIterations = int(c.max_iterations)
	p.Seed = uint32(c.seed)
	return p
}

func (p *HomographyParams) c() *C.gpv_homography_params {
	if p == nil {
		return nil
	}
	c := homographyDefaults()
	c.threshold = C.float(p.Threshold)
	c.confidence = C.float(p.Confidence)
	c.max_iterations = clamp(p.MaxIterations)
	c.seed = C.uint32_t(p.Seed)
	return &c
}

// KmeansParams: parameters of [Kmeans]. Start from [DefaultKmeansParams].
type KmeansParams struct {
	// Clusters: 2..256; 0 = chosen automatically; default 8.
	Clusters int
	// MaxClusters: 2..256, limit of the automatic choice; default 16.
	MaxClusters int
	// MaxIterations: updates of the centroids, 0..10000; default 20.
	MaxIterations int
	// Tolerance: the iteration ends when no centroid has moved further, in grey levels; 0 = when
	// labels repeat; below 0 = all iterations are run; -1e6..1e6; default 0.5.
	Tolerance float32
	// Metric: default KmeansMetricL2.
	Metric KmeansMetric
	// Init: KmeansInitGiven: not with clusters 0; default KmeansInitPlusPlus.
	Init KmeansInit
	// ColorSpace: default KmeansColorSpaceRGB.
	ColorSpace KmeansColorSpace
	// Seed: of KmeansInitPlusPlus and KmeansInitRandom; default 0.
	Seed uint64
	// WarmStart: whether a run starts from the centroids of the one before, if that had the same
	// clusters (and MaxClusters, where that is read) and ColorSpace. Numbers of clusters are kept,
	// and so is their number, until fewer than two clusters have pixels or the scene changes, as
	// docs/algorithms/kmeans.md defines it: then the next run starts as init says. Default false.
	WarmStart bool
}

func kmeansDefaults() (c C.gpv_kmeans_params) {
	C.gpv_kmeans_params_init(&c, C.sizeof_gpv_kmeans_params)
	return c
}

// DefaultKmeansParams gives the library's defaults.
func DefaultKmeansParams() (p KmeansParams) {
	c := kmeansDefaults()
	p.Clusters = int(c.clusters)
	p.MaxClusters = int(c.max_clusters)
	p.MaxIterations = int(c.max_iterations)
	p.Tolerance = float32(c.tolerance)
	p.Metric = KmeansMetric(c.metric)
	p.Init = KmeansInit(c.init)
	p.ColorSpace = KmeansColorSpace(c.color_space)
	p.Seed = uint64(c.seed)
	p.WarmStart = c.warm_start != 0
	return p
}

func (p *KmeansParams) c() *C.gpv_kmeans_params {
	if p == nil {
		return nil
	}
	c := kmeansDefaults()
	c.clusters = clamp(p.Clusters)
	c.max_clusters = clamp(p.MaxClusters)
	c.max_iterations = clamp(p.MaxIterations)
	c.tolerance = C.float(p.Tolerance)
	c.metric = C.gpv_kmeans_metric(p.Metric)
	c.init = C.gpv_kmeans_init_method(p.Init)
	c.color_space = C.gpv_kmeans_color_space(p.ColorSpace)
	c.seed = C.uint64_t(p.Seed)
	c.warm_start = flag(p.WarmStart)
	return &c
}

// SegmentParams: parameters of [Segment]. Start from [DefaultSegmentParams].
type SegmentParams struct {
	// Model: default SegmentModelGMM.
	Model SegmentModel
	// WarmStart: default SegmentWarmStartNone.
	WarmStart SegmentWarmStart
	// Connectivity: 4 or 8 neighbours; default 4.
	Connectivity int
	// Iterations: of learning colours and cutting, each from the cut of the one before;
	// 1..SegmentMaxIterations; default 5. One where a run begins with what has been learned, or
	// adapts as the run before has, unless that has failed or been forgotten.
	Iterations int
	// Lambda: weight of R, in lengths of border for each unit of log-likelihood (nat);
	// 0..SegmentMaxWeight; 0: borders and seeds decide alone; default 0.01.
	Lambda float32
	// Sigma: Euclidean distance, in R, G and B of 0..255, of the colours of two neighbours where
	// the border between them is shorter by a factor of sqrt(e); 0..SegmentMaxWeight; 0 = root mean
	// square of the picture; default 0.
	Sigma float32
	// Output: default SegmentOutputOverlay.
	Output SegmentOutput
	// Certificate: as in [GraphcutParams]; default false.
	Certificate bool
	// MaxTime: of each cut, as in [GraphcutParams]; default 0.
	MaxTime time.Duration
	// StaticScene: whether frames show one scene, and the camera stands still. The first cut of a
	// run begins with what the last run has left, as with reuse of [GraphcutParams], which changes
	// nothing but the time; and sigma = 0 is measured once, where a picture has any difference, and
	// holds for frames of that size and connectivity: until 0 is set here, until another model,
	// [Segment.Forget] or a run that fails, and where one with WarmStart adapt gives up what it has
	// learned. Runs in a graph do not see what is set and forgotten behind it. Default false.
	StaticScene bool
	// Edge: of mask and of a cutout; an overlay and all that is learned go by the sides. Default
	// SegmentEdgeHard.
	Edge SegmentEdge
}

func segmentDefaults() (c C.gpv_segment_params) {
	C.gpv_segment_params_init(&c, C.sizeof_gpv_segment_params)
	return c
}

// DefaultSegmentParams gives the library's defaults.
func DefaultSegmentParams() (p SegmentParams) {
	c := segmentDefaults()
	p.Model = SegmentModel(c.model)
	p.WarmStart = SegmentWarmStart(c.warm_start)
	p.Connectivity = int(c.connectivity)
	p.Iterations = int(c.iterations)
	p.Lambda = float32(c.lambda)
	p.Sigma = float32(c.sigma)
	p.Output = SegmentOutput(c.output)
	p.Certificate = c.certificate != 0
	p.MaxTime = duration(c.max_time_us)
	p.StaticScene = c.static_scene != 0
	p.Edge = SegmentEdge(c.edge)
	return p
}

func (p *SegmentParams) c() *C.gpv_segment_params {
	if p == nil {
		return nil
	}
	c := segmentDefaults()
	c.model = C.gpv_segment_model(p.Model)
	c.warm_start = C.gpv_segment_warm_start(p.WarmStart)
	c.connectivity = clamp(p.Connectivity)
	c.iterations = clamp(p.Iterations)
	c.lambda = C.float(p.Lambda)
	c.sigma = C.float(p.Sigma)
	c.output = C.gpv_segment_output(p.Output)
	c.certificate = flag(p.Certificate)
	c.max_time_us = microseconds(p.MaxTime)
	c.static_scene = flag(p.StaticScene)
	c.edge = C.gpv_segment_edge(p.Edge)
	return &c
}

// Component: what is known of one component. Coordinates count from the first pixel of the image;
// the centroid is SumX / area, SumY / area, measured from the centre of that pixel. Laid out as in
// C.
type Component struct {
	// Left: first column.
	Left int32
	// Top: first row.
	Top int32
	// Right: one behind the last column: the width is right - left.
	Right int32
	// Bottom: one behind the last row.
	Bottom int32
	// Area: pixels.
	Area int32
	// Reserved.
	_ int32
	// SumX: sum of the columns of all its pixels.
	SumX int64
	// SumY: sum of the rows of all its pixels.
	SumY int64
}

// Does not compile where it is not as large as in C; no struct has a gap.
var _ = [1]struct{}{}[unsafe.Sizeof(Component{})-C.sizeof_gpv_ccl_component]

// Keypoint: a keypoint. Coordinates count in pixels of the picture, from the centre of its first
// pixel. Laid out as in C.
type Keypoint struct {
	// X: to the right.
	X float32
	// Y: downwards.
	Y float32
	// Sigma: scale, pixels of the picture: half of what OpenCV calls its size.
	Sigma float32
	// Angle: degrees, 0 <= angle < 360, clockwise from the right as one sees it.
	Angle float32
	// Response: contrast, as in the parameters but not multiplied by OctaveLayers.
	Response float32
	// Octave: as OpenCV: bits 0..7 the octave, 255 is the one of twice the size and 0 the one of
	// the picture's; bits 8..15 the layer; bits 16..23 the place between layers, 128 in the middle.
	Octave int32
}

// Does not compile where it is not as large as in C; no struct has a gap.
var _ = [1]struct{}{}[unsafe.Sizeof(Keypoint{})-C.sizeof_gpv_sift_keypoint]

// Nearest: the two descriptors of the other set that are nearest to one. Laid out as in C.
type Nearest struct {
	// Index: of the nearest and the second; -1 = there is none.
	Index [2]int32
	// Distance: squared, of the bytes; 2147483647 where there is none.
	Distance [2]int32
}

// Does not compile where it is not as large as in C; no struct has a gap.
var _ = [1]struct{}{}[unsafe.Sizeof(Nearest{})-C.sizeof_gpv_match_nearest]

// Pair: a match. Laid out as in C.
type Pair struct {
	// Query: index of a descriptor among the queries.
	Query int32
	// Train: and of its nearest in the other set.
	Train int32
	// Distance: squared, of the bytes.
	Distance int32
	// Second: likewise to the second nearest; 2147483647 where there is none.
	Second int32
}

// Does not compile where it is not as large as in C; no struct has a gap.
var _ = [1]struct{}{}[unsafe.Sizeof(Pair{})-C.sizeof_gpv_match_pair]
