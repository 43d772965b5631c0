// SPDX-License-Identifier: BSD-2-Clause
// Code generated from include/gpuvision by meson compile -C build interface-update. DO NOT EDIT.
//! Parameters, their choices, and records, which the modules of the algorithms make public.

enumeration! {
    /// Which neighbouring pixels of the foreground belong together.
    CclMode {
        /// All of them.
        Binary = GPV_CCL_MODE_BINARY,
        /// Those of equal luma.
        EqualValue = GPV_CCL_MODE_EQUAL_VALUE,
    }
}

enumeration! {
    /// What dst of [`Ccl::run`](crate::Ccl::run) receives. Background is 0, black or neutral grey
    /// chroma.
    CclOutput {
        /// Labels: Label32, Gray16, or P016 (in Y; chroma is 32768); up to 255 Gray8, Nv12 or I420
        /// (in Y; chroma is 128).
        Labels = GPV_CCL_OUTPUT_LABELS,
        /// 255 in each component: Gray8, Nv12 or I420 (chroma is 128).
        Mask = GPV_CCL_OUTPUT_MASK,
        /// A picture, of colours that depend on the label alone; a fourth channel is 255.
        Colors = GPV_CCL_OUTPUT_COLORS,
    }
}

enumeration! {
    /// What a number of a descriptor is.
    SiftDescriptorType {
        /// U8: 512 times that of [`SiftDescriptorType::F32`], rounded, at most 255.
        U8 = GPV_SIFT_DESCRIPTOR_TYPE_U8,
        /// F32: a descriptor has length 1, or 0 where there is no gradient.
        F32 = GPV_SIFT_DESCRIPTOR_TYPE_F32,
    }
}

enumeration! {
    /// What is computed.
    ErodeOperation {
        /// Minimum under the element.
        Erode = GPV_ERODE_OPERATION_ERODE,
        /// Maximum under the element.
        Dilate = GPV_ERODE_OPERATION_DILATE,
        /// Erode, then dilate.
        Open = GPV_ERODE_OPERATION_OPEN,
        /// Dilate, then erode.
        Close = GPV_ERODE_OPERATION_CLOSE,
        /// Dilate - erode.
        Gradient = GPV_ERODE_OPERATION_GRADIENT,
        /// Source - open.
        TopHat = GPV_ERODE_OPERATION_TOPHAT,
        /// Close - source, not below 0.
        BlackHat = GPV_ERODE_OPERATION_BLACKHAT,
    }
}

enumeration! {
    /// Shape of the structuring element inside its (2 radius + 1) x (2 radius_y + 1) box.
    ErodeShape {
        /// The whole box.
        Rect = GPV_ERODE_SHAPE_RECT,
        /// Its middle row and middle column.
        Cross = GPV_ERODE_SHAPE_CROSS,
        /// The ellipse inscribed in it; of height 1: its centre alone.
        Ellipse = GPV_ERODE_SHAPE_ELLIPSE,
    }
}

enumeration! {
    /// What pixels outside the image count as.
    ErodeBorder {
        /// Nothing: only pixels inside take part.
        Ignore = GPV_ERODE_BORDER_IGNORE,
        /// 0: what touches the border erodes there.
        Background = GPV_ERODE_BORDER_BACKGROUND,
    }
}

enumeration! {
    /// Which planes and channels are processed; the others are copied.
    ErodePlanes {
        /// Grey, Y of YUV, every colour channel of RGB (not alpha).
        Auto = GPV_ERODE_PLANES_AUTO,
        /// Grey and Y of YUV; RGB has no luma plane: as [`ErodePlanes::Auto`].
        Luma = GPV_ERODE_PLANES_LUMA,
        /// Also U and V, with the same element on their own samples.
        All = GPV_ERODE_PLANES_ALL,
    }
}

enumeration! {
    /// How far a colour is from a centroid.
    KmeansMetric {
        /// Squared Euclidean distance.
        L2 = GPV_KMEANS_METRIC_L2,
        /// Manhattan distance. The centroid stays the mean, which does not minimize this cost: it
        /// need not fall in every iteration.
        L1 = GPV_KMEANS_METRIC_L1,
    }
}

enumeration! {
    /// The centroids that the first run starts from.
    KmeansInit {
        /// Colours drawn by squared distance to those drawn before.
        PlusPlus = GPV_KMEANS_INIT_PLUSPLUS,
        /// Different colours, drawn by how often they occur.
        Random = GPV_KMEANS_INIT_RANDOM,
        /// The colours of pixels spread evenly over the image.
        Grid = GPV_KMEANS_INIT_GRID,
        /// Those of [`Kmeans::set_centroids`](crate::Kmeans::set_centroids).
        Given = GPV_KMEANS_INIT_GIVEN,
    }
}

enumeration! {
    /// The colour space of distances and centroids.
    KmeansColorSpace {
        /// R, G, B, 0..255.
        Rgb = GPV_KMEANS_COLOR_SPACE_RGB,
        /// CIE L*a*b* of sRGB (D65), as bytes: 2.55 L*, a* + 128, b* + 128.
        Lab = GPV_KMEANS_COLOR_SPACE_LAB,
    }
}

enumeration! {
    /// What is learned of the colours of either side.
    SegmentModel {
        /// A mixture of five Gaussians with full covariance.
        Gmm = GPV_SEGMENT_MODEL_GMM,
        /// How frequent each of 16^3 colours is, smoothed.
        Histogram = GPV_SEGMENT_MODEL_HISTOGRAM,
        /// One mean colour.
        Means = GPV_SEGMENT_MODEL_MEANS,
    }
}

enumeration! {
    /// What a run does with the colours that the run before it has learned.
    SegmentWarmStart {
        /// Nothing: each run learns from its own seeds.
        None = GPV_SEGMENT_WARM_START_NONE,
        /// Starts from them, if there are any, and at the end learns from its own cut, unless the
        /// frame teaches nothing; begins anew where a scene does: for video.
        Adapt = GPV_SEGMENT_WARM_START_ADAPT,
        /// Uses them, if there are any, and learns nothing.
        Reuse = GPV_SEGMENT_WARM_START_REUSE,
    }
}

enumeration! {
    /// What dst of [`Segment::run`](crate::Segment::run) receives.
    SegmentOutput {
        /// The picture, its background grey and half as bright; format of src.
        Overlay = GPV_SEGMENT_OUTPUT_OVERLAY,
        /// The picture, its background transparent; Rgba8 or Bgra8. Alpha of the foreground is that
        /// of src, or 255 where there is none; with [`SegmentEdge::Soft`] at its border in part.
        Cutout = GPV_SEGMENT_OUTPUT_CUTOUT,
    }
}

enumeration! {
    /// What mask, and the alpha of a cutout, are at the border of the sides.
    SegmentEdge {
        /// A pixel is of one side or of the other.
        Hard = GPV_SEGMENT_EDGE_HARD,
        /// Within 4 pixels of the other side, a pixel that is not known is of the foreground in
        /// part, as its colour says.
        Soft = GPV_SEGMENT_EDGE_SOFT,
    }
}

parameters! {
    /// Parameters. `Default` has the library's.
    ///
    /// A pixel is foreground if its luma is >= threshold, or, with foreground >= 0, if its luma is
    /// foreground; with invert, if it is not. Luma is the sample of grey, Y of YUV, and (77 R + 150
    /// G + 29 B + 128) >> 8 of RGB.
    CclParams: gpv_ccl_params, gpv_ccl_params_init {
        /// Default [`CclMode::Binary`].
        mode: CclMode,
        /// 8 or 4 neighbours; default 8.
        connectivity: i32,
        /// 0..255 (16 bits: ..65535), 0 = every pixel; default 1.
        threshold: i32,
        /// 0..255 (16 bits: ..65535), -1 = threshold decides; default -1.
        foreground: i32,
        /// Default false.
        invert: bool,
        /// Components of fewer pixels are dropped, 0 = none; default 0.
        min_area: i32,
        /// Components of more pixels are dropped, 0 = none; default 0.
        max_area: i32,
        /// Default [`CclOutput::Labels`].
        output: CclOutput,
    }
}

parameters! {
    /// Parameters. `Default` has the library's.
    SiftParams: gpv_sift_params, gpv_sift_params_init {
        /// Of the keypoints those of the highest response are kept; 0 = as many as there is room
        /// for; 0..2147483647; default 0.
        max_features: i32,
        /// Maximum number of octaves, from the first; 0 = all that fit; 0..16; default 0.
        octaves: i32,
        /// Layers of an octave in which extrema are sought, 1..8; default 3.
        octave_layers: i32,
        /// Extrema of less contrast are dropped. It is divided by octave_layers, and a picture has
        /// contrast 1 from black to white; 0..1; default 0.04.
        contrast_threshold: f32,
        /// Extrema on edges are dropped: those whose ratio of principal curvatures is at least
        /// this; 1..1e6; default 10.
        edge_threshold: f32,
        /// Blur of the first layer of each octave, in pixels of the octave; 0.5..4; default 1.6.
        sigma: f32,
        /// Whether the first octave has twice the size of the picture, which finds smaller
        /// features; default true.
        upsample: bool,
        /// Whether every orientation is 0; default false.
        upright: bool,
        /// Whether descriptors are those of RootSIFT: the square roots of one whose sum is 1;
        /// default false.
        root_sift: bool,
        /// Default [`SiftDescriptorType::U8`].
        descriptor_type: SiftDescriptorType,
    }
}

parameters! {
    /// Parameters. `Default` has the library's.
    MatchParams: gpv_match_params, gpv_match_params_init {
        /// A query whose nearest is not nearer than this times the second nearest has no match; 0 =
        /// it has one anyhow; 0..1; default 0.8.
        ratio: f32,
        /// Whether a query is also to be the nearest one to its match; default true.
        mutual: bool,
    }
}

parameters! {
    /// Parameters. `Default` has the library's.
    ErodeParams: gpv_erode_params, gpv_erode_params_init {
        /// Default [`ErodeOperation::Erode`].
        operation: ErodeOperation,
        /// Default [`ErodeShape::Rect`].
        shape: ErodeShape,
        /// Pixels, 0..255, default 1.
        radius: i32,
        /// Pixels, 0..255, -1 = radius; default -1.
        radius_y: i32,
        /// How often each erosion and dilation repeats, 1..255, default 1.
        iterations: i32,
        /// 0 = grey morphology; 1..255 (16 bits: ..65535) = binary; default 0.
        threshold: i32,
        /// Default [`ErodeBorder::Ignore`].
        border: ErodeBorder,
        /// Grey morphology only; default [`ErodePlanes::Auto`].
        planes: ErodePlanes,
    }
}

parameters! {
    /// Parameters. `Default` has the library's.
    GraphcutParams: gpv_graphcut_params, gpv_graphcut_params_init {
        /// Whether a run adds up the capacity of its cut from what it was given, as the proof that
        /// the cut is minimal; default false.
        certificate: bool,
        /// Microseconds after which a run settles for the best cut that it has by then; it ends
        /// some time later, after the step that it is at and the choice of the cut. On CUDA they
        /// begin with the kernel; >= 0, 0 = none; default 0.
        max_time_us: i32,
        /// Whether a run keeps its flow, and the next one on a graph of that size and connectivity
        /// begins with as much of it as there is room for. What is found is the same; the time is
        /// less where few capacities have changed. Where runs take longer by it some do without, as
        /// their times say. For video, and for one graph with changing terminals; default false.
        reuse: bool,
    }
}

parameters! {
    /// Parameters. `Default` has the library's.
    ExpansionParams: gpv_expansion_params, gpv_expansion_params_init {
        /// How often each label has its move, at most: once none of them can lower the energy any
        /// more, a run is over; 1..[`MAX_CYCLES`](crate::expansion::MAX_CYCLES); default 3.
        cycles: i32,
    }
}

parameters! {
    /// Parameters of [`find_homography`](crate::find_homography). `Default` has the library's.
    HomographyParams: gpv_homography_params, gpv_homography_params_init {
        /// A pair fits if the place that is found for it is at most so far from its own, in the
        /// units of the points; > 0..1e6; default 3.
        threshold: f32,
        /// No more samples are tried once one without a false pair has been among them with this
        /// probability; 0..0.999999; default 0.999.
        confidence: f32,
        /// Samples at most; 1..1000000; default 10000.
        max_iterations: i32,
        /// Of the samples; any; default 0.
        seed: u32,
    }
}

parameters! {
    /// Parameters. `Default` has the library's.
    KmeansParams: gpv_kmeans_params, gpv_kmeans_params_init {
        /// 2..256; 0 = chosen automatically; default 8.
        clusters: i32,
        /// 2..256, limit of the automatic choice; default 16.
        max_clusters: i32,
        /// Updates of the centroids, 0..10000; default 20.
        max_iterations: i32,
        /// The iteration ends when no centroid has moved further, in grey levels; 0 = when labels
        /// repeat; below 0 = all iterations are run; -1e6..1e6; default 0.5.
        tolerance: f32,
        /// Default [`KmeansMetric::L2`].
        metric: KmeansMetric,
        /// [`KmeansInit::Given`]: not with clusters 0; default [`KmeansInit::PlusPlus`].
        init: KmeansInit,
        /// Default [`KmeansColorSpace::Rgb`].
        color_space: KmeansColorSpace,
        /// Of [`KmeansInit::PlusPlus`] and [`KmeansInit::Random`]; default 0.
        seed: u64,
        /// Whether a run starts from the centroids of the one before, if that had the same clusters
        /// (and max_clusters, where that is read) and color_space. Numbers of clusters are kept,
        /// and so is their number, until fewer than two clusters have pixels or the scene changes,
        /// as docs/algorithms/kmeans.md defines it: then the next run starts as init says. Default
        /// false.
        warm_start: bool,
    }
}

parameters! {
    /// Parameters. `Default` has the library's.
    SegmentParams: gpv_segment_params, gpv_segment_params_init {
        /// Default [`SegmentModel::Gmm`].
        model: SegmentModel,
        /// Default [`SegmentWarmStart::None`].
        warm_start: SegmentWarmStart,
        /// 4 or 8 neighbours; default 4.
        connectivity: i32,
        /// Of learning colours and cutting, each from the cut of the one before;
        /// 1..[`MAX_ITERATIONS`](crate::segment::MAX_ITERATIONS); default 5. One where a run begins
        /// with what has been learned, or adapts as the run before has, unless that has failed or
        /// been forgotten.
        iterations: i32,
        /// Weight of R, in lengths of border for each unit of log-likelihood (nat);
        /// 0..[`MAX_WEIGHT`](crate::segment::MAX_WEIGHT); 0: borders and seeds decide alone;
        /// default 0.01.
        lambda: f32,
        /// Euclidean distance, in R, G and B of 0..255, of the colours of two neighbours where the
        /// border between them is shorter by a factor of sqrt(e);
        /// 0..[`MAX_WEIGHT`](crate::segment::MAX_WEIGHT); 0 = root mean square of the picture;
        /// default 0.
        sigma: f32,
        /// Default [`SegmentOutput::Overlay`].
        output: SegmentOutput,
        /// As in [`GraphcutParams`]; default false.
        certificate: bool,
        /// Of each cut, as in [`GraphcutParams`]; default 0.
        max_time_us: i32,
        /// Whether frames show one scene, and the camera stands still. The first cut of a run
        /// begins with what the last run has left, as with reuse of [`GraphcutParams`], which
        /// changes nothing but the time; and sigma = 0 is measured once, where a picture has any
        /// difference, and holds for frames of that size and connectivity: until 0 is set here,
        /// until another model, [`Segment::forget`](crate::Segment::forget) or a run that fails,
        /// and where one with warm_start adapt gives up what it has learned. Runs in a graph do not
        /// see what is set and forgotten behind it. Default false.
        static_scene: bool,
        /// Of mask and of a cutout; an overlay and all that is learned go by the sides. Default
        /// [`SegmentEdge::Hard`].
        edge: SegmentEdge,
    }
}

/// A part of an image.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rect {
    /// Left column.
    pub x: i32,
    /// Upper row.
    pub y: i32,
    /// Columns.
    pub width: i32,
    /// Rows.
    pub height: i32,
}

/// What is known of one component. Coordinates count from the first pixel of the image; the
/// centroid is sum_x / area, sum_y / area, measured from the centre of that pixel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Component {
    /// First column.
    pub left: i32,
    /// First row.
    pub top: i32,
    /// One behind the last column: the width is right - left.
    pub right: i32,
    /// One behind the last row.
    pub bottom: i32,
    /// Pixels.
    pub area: i32,
    #[doc(hidden)]
    pub reserved: i32,
    /// Sum of the columns of all its pixels.
    pub sum_x: i64,
    /// Sum of the rows of all its pixels.
    pub sum_y: i64,
}

/// A keypoint. Coordinates count in pixels of the picture, from the centre of its first pixel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Keypoint {
    /// To the right.
    pub x: f32,
    /// Downwards.
    pub y: f32,
    /// Scale, pixels of the picture: half of what OpenCV calls its size.
    pub sigma: f32,
    /// Degrees, 0 <= angle < 360, clockwise from the right as one sees it.
    pub angle: f32,
    /// Contrast, as in the parameters but not multiplied by octave_layers.
    pub response: f32,
    /// As OpenCV: bits 0..7 the octave, 255 is the one of twice the size and 0 the one of the
    /// picture's; bits 8..15 the layer; bits 16..23 the place between layers, 128 in the middle.
    pub octave: i32,
}

/// The two descriptors of the other set that are nearest to one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nearest {
    /// Of the nearest and the second; -1 = there is none.
    pub index: [i32; 2],
    /// Squared, of the bytes; 2147483647 where there is none.
    pub distance: [i32; 2],
}

/// A match.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pair {
    /// Index of a descriptor among the queries.
    pub query: i32,
    /// And of its nearest in the other set.
    pub train: i32,
    /// Squared, of the bytes.
    pub distance: i32,
    /// Likewise to the second nearest; 2147483647 where there is none.
    pub second: i32,
}
