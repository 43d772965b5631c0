/* SPDX-License-Identifier: BSD-2-Clause */
/* Code generated from include/gpuvision by meson compile -C build interface-update. DO NOT EDIT. */
/*
 * The layout and the values that programs out there were compiled with, on
 * 64-bit machines. A line that a release has never changes, but for the size
 * of a struct, which grows, and what is reserved.
 */
#include <gpuvision/gpuvision.h>

#define SCALAR(type, size, sign)                                                                   \
    _Static_assert(sizeof(type) == (size) && ((type)-1 < 0) == (sign), #type)
#define STRUCT(type, size) _Static_assert(sizeof(type) == (size), #type)
#define FIELD(type, field, offset, size)                                                           \
    _Static_assert(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (size),      \
                   #type "." #field)
/* Cast, since two floats make no constant expression. */
#define VALUE(name, value) _Static_assert((long long)(name) == (long long)(value), #name)

enum { UNSIGNED = 0, SIGNED = 1 };

SCALAR(gpv_status, 4, SIGNED);
SCALAR(gpv_backend, 4, UNSIGNED);
SCALAR(gpv_memory, 4, UNSIGNED);
SCALAR(gpv_format, 4, UNSIGNED);
SCALAR(gpv_color_matrix, 4, UNSIGNED);
SCALAR(gpv_color_range, 4, UNSIGNED);
SCALAR(gpv_field_kind, 4, UNSIGNED);
SCALAR(gpv_log_level, 4, UNSIGNED);
SCALAR(gpv_ccl_mode, 4, UNSIGNED);
SCALAR(gpv_ccl_output, 4, UNSIGNED);
SCALAR(gpv_sift_descriptor_type, 4, UNSIGNED);
SCALAR(gpv_draw_style, 4, UNSIGNED);
SCALAR(gpv_erode_operation, 4, UNSIGNED);
SCALAR(gpv_erode_shape, 4, UNSIGNED);
SCALAR(gpv_erode_border, 4, UNSIGNED);
SCALAR(gpv_erode_planes, 4, UNSIGNED);
SCALAR(gpv_kmeans_metric, 4, UNSIGNED);
SCALAR(gpv_kmeans_init_method, 4, UNSIGNED);
SCALAR(gpv_kmeans_color_space, 4, UNSIGNED);
SCALAR(gpv_segment_model, 4, UNSIGNED);
SCALAR(gpv_segment_warm_start, 4, UNSIGNED);
SCALAR(gpv_segment_output, 4, UNSIGNED);
SCALAR(gpv_segment_edge, 4, UNSIGNED);

STRUCT(gpv_image, 160);
FIELD(gpv_image, struct_size, 0, 4);
FIELD(gpv_image, format, 4, 4);
FIELD(gpv_image, memory, 8, 4);
FIELD(gpv_image, device, 12, 4);
FIELD(gpv_image, width, 16, 4);
FIELD(gpv_image, height, 20, 4);
FIELD(gpv_image, color_matrix, 24, 4);
FIELD(gpv_image, color_range, 28, 4);
FIELD(gpv_image, data, 32, 64);
FIELD(gpv_image, stride, 96, 64);

STRUCT(gpv_rect, 16);
FIELD(gpv_rect, x, 0, 4);
FIELD(gpv_rect, y, 4, 4);
FIELD(gpv_rect, width, 8, 4);
FIELD(gpv_rect, height, 12, 4);

STRUCT(gpv_buffer, 32);
FIELD(gpv_buffer, struct_size, 0, 4);
FIELD(gpv_buffer, memory, 4, 4);
FIELD(gpv_buffer, device, 8, 4);
FIELD(gpv_buffer, reserved, 12, 4);
FIELD(gpv_buffer, data, 16, 8);
FIELD(gpv_buffer, size, 24, 8);

STRUCT(gpv_choice, 24);
FIELD(gpv_choice, name, 0, 8);
FIELD(gpv_choice, text, 8, 8);
FIELD(gpv_choice, value, 16, 4);
FIELD(gpv_choice, reserved, 20, 4);

STRUCT(gpv_field, 72);
FIELD(gpv_field, struct_size, 0, 4);
FIELD(gpv_field, kind, 4, 4);
FIELD(gpv_field, offset, 8, 4);
FIELD(gpv_field, choice_count, 12, 4);
FIELD(gpv_field, low, 16, 8);
FIELD(gpv_field, high, 24, 8);
FIELD(gpv_field, initial, 32, 8);
FIELD(gpv_field, name, 40, 8);
FIELD(gpv_field, unit, 48, 8);
FIELD(gpv_field, text, 56, 8);
FIELD(gpv_field, choices, 64, 8);

STRUCT(gpv_context_params, 56);
FIELD(gpv_context_params, struct_size, 0, 4);
FIELD(gpv_context_params, backend, 4, 4);
FIELD(gpv_context_params, device, 8, 4);
FIELD(gpv_context_params, log_level, 12, 4);
FIELD(gpv_context_params, log, 16, 8);
FIELD(gpv_context_params, alloc, 24, 8);
FIELD(gpv_context_params, free, 32, 8);
FIELD(gpv_context_params, user, 40, 8);
FIELD(gpv_context_params, threads, 48, 4);
FIELD(gpv_context_params, reserved, 52, 4);

STRUCT(gpv_ccl_params, 40);
FIELD(gpv_ccl_params, struct_size, 0, 4);
FIELD(gpv_ccl_params, mode, 4, 4);
FIELD(gpv_ccl_params, connectivity, 8, 4);
FIELD(gpv_ccl_params, threshold, 12, 4);
FIELD(gpv_ccl_params, foreground, 16, 4);
FIELD(gpv_ccl_params, invert, 20, 4);
FIELD(gpv_ccl_params, min_area, 24, 4);
FIELD(gpv_ccl_params, max_area, 28, 4);
FIELD(gpv_ccl_params, output, 32, 4);
FIELD(gpv_ccl_params, reserved, 36, 4);

STRUCT(gpv_ccl_component, 40);
FIELD(gpv_ccl_component, left, 0, 4);
FIELD(gpv_ccl_component, top, 4, 4);
FIELD(gpv_ccl_component, right, 8, 4);
FIELD(gpv_ccl_component, bottom, 12, 4);
FIELD(gpv_ccl_component, area, 16, 4);
FIELD(gpv_ccl_component, reserved, 20, 4);
FIELD(gpv_ccl_component, sum_x, 24, 8);
FIELD(gpv_ccl_component, sum_y, 32, 8);

STRUCT(gpv_ccl_result, 16);
FIELD(gpv_ccl_result, struct_size, 0, 4);
FIELD(gpv_ccl_result, count, 4, 4);
FIELD(gpv_ccl_result, components, 8, 4);
FIELD(gpv_ccl_result, reserved, 12, 4);

STRUCT(gpv_sift_params, 48);
FIELD(gpv_sift_params, struct_size, 0, 4);
FIELD(gpv_sift_params, max_features, 4, 4);
FIELD(gpv_sift_params, octaves, 8, 4);
FIELD(gpv_sift_params, octave_layers, 12, 4);
FIELD(gpv_sift_params, contrast_threshold, 16, 4);
FIELD(gpv_sift_params, edge_threshold, 20, 4);
FIELD(gpv_sift_params, sigma, 24, 4);
FIELD(gpv_sift_params, upsample, 28, 4);
FIELD(gpv_sift_params, upright, 32, 4);
FIELD(gpv_sift_params, root_sift, 36, 4);
FIELD(gpv_sift_params, descriptor_type, 40, 4);
FIELD(gpv_sift_params, reserved, 44, 4);

STRUCT(gpv_sift_keypoint, 24);
FIELD(gpv_sift_keypoint, x, 0, 4);
FIELD(gpv_sift_keypoint, y, 4, 4);
FIELD(gpv_sift_keypoint, sigma, 8, 4);
FIELD(gpv_sift_keypoint, angle, 12, 4);
FIELD(gpv_sift_keypoint, response, 16, 4);
FIELD(gpv_sift_keypoint, octave, 20, 4);

STRUCT(gpv_sift_result, 16);
FIELD(gpv_sift_result, struct_size, 0, 4);
FIELD(gpv_sift_result, count, 4, 4);
FIELD(gpv_sift_result, dropped, 8, 4);
FIELD(gpv_sift_result, reserved, 12, 4);

STRUCT(gpv_match_params, 16);
FIELD(gpv_match_params, struct_size, 0, 4);
FIELD(gpv_match_params, ratio, 4, 4);
FIELD(gpv_match_params, mutual, 8, 4);
FIELD(gpv_match_params, reserved, 12, 4);

STRUCT(gpv_match_nearest, 16);
FIELD(gpv_match_nearest, index, 0, 8);
FIELD(gpv_match_nearest, distance, 8, 8);

STRUCT(gpv_match_pair, 16);
FIELD(gpv_match_pair, query, 0, 4);
FIELD(gpv_match_pair, train, 4, 4);
FIELD(gpv_match_pair, distance, 8, 4);
FIELD(gpv_match_pair, second, 12, 4);

STRUCT(gpv_match_result, 16);
FIELD(gpv_match_result, struct_size, 0, 4);
FIELD(gpv_match_result, count, 4, 4);
FIELD(gpv_match_result, dropped, 8, 4);
FIELD(gpv_match_result, queries, 12, 4);

STRUCT(gpv_erode_params, 40);
FIELD(gpv_erode_params, struct_size, 0, 4);
FIELD(gpv_erode_params, operation, 4, 4);
FIELD(gpv_erode_params, shape, 8, 4);
FIELD(gpv_erode_params, radius, 12, 4);
FIELD(gpv_erode_params, radius_y, 16, 4);
FIELD(gpv_erode_params, iterations, 20, 4);
FIELD(gpv_erode_params, threshold, 24, 4);
FIELD(gpv_erode_params, border, 28, 4);
FIELD(gpv_erode_params, planes, 32, 4);
FIELD(gpv_erode_params, reserved, 36, 4);

STRUCT(gpv_graphcut_params, 16);
FIELD(gpv_graphcut_params, struct_size, 0, 4);
FIELD(gpv_graphcut_params, certificate, 4, 4);
FIELD(gpv_graphcut_params, max_time_us, 8, 4);
FIELD(gpv_graphcut_params, reuse, 12, 4);

STRUCT(gpv_graphcut_result, 40);
FIELD(gpv_graphcut_result, struct_size, 0, 4);
FIELD(gpv_graphcut_result, optimal, 4, 4);
FIELD(gpv_graphcut_result, flow, 8, 8);
FIELD(gpv_graphcut_result, cut, 16, 8);
FIELD(gpv_graphcut_result, area, 24, 8);
FIELD(gpv_graphcut_result, refused, 32, 4);
FIELD(gpv_graphcut_result, reserved, 36, 4);

STRUCT(gpv_expansion_params, 8);
FIELD(gpv_expansion_params, struct_size, 0, 4);
FIELD(gpv_expansion_params, cycles, 4, 4);

STRUCT(gpv_expansion_result, 32);
FIELD(gpv_expansion_result, struct_size, 0, 4);
FIELD(gpv_expansion_result, converged, 4, 4);
FIELD(gpv_expansion_result, start_energy, 8, 8);
FIELD(gpv_expansion_result, energy, 16, 8);
FIELD(gpv_expansion_result, moves, 24, 4);
FIELD(gpv_expansion_result, refused, 28, 4);

STRUCT(gpv_homography_params, 24);
FIELD(gpv_homography_params, struct_size, 0, 4);
FIELD(gpv_homography_params, threshold, 4, 4);
FIELD(gpv_homography_params, confidence, 8, 4);
FIELD(gpv_homography_params, max_iterations, 12, 4);
FIELD(gpv_homography_params, seed, 16, 4);
FIELD(gpv_homography_params, reserved, 20, 4);

STRUCT(gpv_homography, 96);
FIELD(gpv_homography, struct_size, 0, 4);
FIELD(gpv_homography, found, 4, 4);
FIELD(gpv_homography, matrix, 8, 72);
FIELD(gpv_homography, error, 80, 8);
FIELD(gpv_homography, inliers, 88, 4);
FIELD(gpv_homography, iterations, 92, 4);

STRUCT(gpv_kmeans_params, 48);
FIELD(gpv_kmeans_params, struct_size, 0, 4);
FIELD(gpv_kmeans_params, clusters, 4, 4);
FIELD(gpv_kmeans_params, max_clusters, 8, 4);
FIELD(gpv_kmeans_params, max_iterations, 12, 4);
FIELD(gpv_kmeans_params, tolerance, 16, 4);
FIELD(gpv_kmeans_params, metric, 20, 4);
FIELD(gpv_kmeans_params, init, 24, 4);
FIELD(gpv_kmeans_params, color_space, 28, 4);
FIELD(gpv_kmeans_params, seed, 32, 8);
FIELD(gpv_kmeans_params, warm_start, 40, 4);
FIELD(gpv_kmeans_params, reserved, 44, 4);

STRUCT(gpv_kmeans_result, 32);
FIELD(gpv_kmeans_result, struct_size, 0, 4);
FIELD(gpv_kmeans_result, clusters, 4, 4);
FIELD(gpv_kmeans_result, iterations, 8, 4);
FIELD(gpv_kmeans_result, empty, 12, 4);
FIELD(gpv_kmeans_result, converged, 16, 4);
FIELD(gpv_kmeans_result, reserved, 20, 4);
FIELD(gpv_kmeans_result, inertia, 24, 8);

STRUCT(gpv_segment_params, 48);
FIELD(gpv_segment_params, struct_size, 0, 4);
FIELD(gpv_segment_params, model, 4, 4);
FIELD(gpv_segment_params, warm_start, 8, 4);
FIELD(gpv_segment_params, connectivity, 12, 4);
FIELD(gpv_segment_params, iterations, 16, 4);
FIELD(gpv_segment_params, lambda, 20, 4);
FIELD(gpv_segment_params, sigma, 24, 4);
FIELD(gpv_segment_params, output, 28, 4);
FIELD(gpv_segment_params, certificate, 32, 4);
FIELD(gpv_segment_params, max_time_us, 36, 4);
FIELD(gpv_segment_params, static_scene, 40, 4);
FIELD(gpv_segment_params, edge, 44, 4);

VALUE(GPV_OK, 0);
VALUE(GPV_NOT_READY, 1);
VALUE(GPV_ERR_INVALID_ARGUMENT, -1);
VALUE(GPV_ERR_UNSUPPORTED, -2);
VALUE(GPV_ERR_OUT_OF_MEMORY, -3);
VALUE(GPV_ERR_NO_DEVICE, -4);
VALUE(GPV_ERR_DEVICE, -5);
VALUE(GPV_ERR_TOO_SMALL, -6);
VALUE(GPV_ERR_DEVICE_LOST, -7);
VALUE(GPV_ERR_INTERNAL, -99);
VALUE(GPV_BACKEND_AUTO, 0);
VALUE(GPV_BACKEND_CPU, 1);
VALUE(GPV_BACKEND_CUDA, 2);
VALUE(GPV_MEMORY_HOST, 0);
VALUE(GPV_MEMORY_CUDA, 1);
VALUE(GPV_FORMAT_NONE, 0);
VALUE(GPV_FORMAT_GRAY8, 1);
VALUE(GPV_FORMAT_GRAY16, 2);
VALUE(GPV_FORMAT_GRAYF32, 3);
VALUE(GPV_FORMAT_RGB8, 4);
VALUE(GPV_FORMAT_BGR8, 5);
VALUE(GPV_FORMAT_RGBA8, 6);
VALUE(GPV_FORMAT_BGRA8, 7);
VALUE(GPV_FORMAT_RGBX8, 8);
VALUE(GPV_FORMAT_BGRX8, 9);
VALUE(GPV_FORMAT_NV12, 10);
VALUE(GPV_FORMAT_I420, 11);
VALUE(GPV_FORMAT_P016, 12);
VALUE(GPV_FORMAT_LABEL32, 13);
VALUE(GPV_FORMAT_CAP32X4, 14);
VALUE(GPV_FORMAT_CAP32X8, 15);
VALUE(GPV_FORMAT_NV21, 16);
VALUE(GPV_FORMAT_YUY2, 17);
VALUE(GPV_FORMAT_UYVY, 18);
VALUE(GPV_FORMAT_Y444, 19);
VALUE(GPV_FORMAT_ARGB8, 20);
VALUE(GPV_FORMAT_ABGR8, 21);
VALUE(GPV_FORMAT_XRGB8, 22);
VALUE(GPV_FORMAT_XBGR8, 23);
VALUE(GPV_FORMAT_RGBP8, 24);
VALUE(GPV_COLOR_MATRIX_AUTO, 0);
VALUE(GPV_COLOR_MATRIX_BT601, 1);
VALUE(GPV_COLOR_MATRIX_BT709, 2);
VALUE(GPV_COLOR_MATRIX_BT2020, 3);
VALUE(GPV_COLOR_RANGE_AUTO, 0);
VALUE(GPV_COLOR_RANGE_LIMITED, 1);
VALUE(GPV_COLOR_RANGE_FULL, 2);
VALUE(GPV_MAX_PLANES, 8);
VALUE(GPV_MAX_SIDE, 32767);
VALUE(GPV_MAX_PIXELS, 1073741824);
VALUE(GPV_FIELD_KIND_INT32, 0);
VALUE(GPV_FIELD_KIND_UINT32, 1);
VALUE(GPV_FIELD_KIND_UINT64, 2);
VALUE(GPV_FIELD_KIND_FLOAT, 3);
VALUE(GPV_FIELD_KIND_BOOL, 4);
VALUE(GPV_FIELD_KIND_CHOICE, 5);
VALUE(GPV_DEVICE_CURRENT, -1);
VALUE(GPV_LOG_LEVEL_ERROR, 1);
VALUE(GPV_LOG_LEVEL_WARNING, 2);
VALUE(GPV_LOG_LEVEL_INFO, 3);
VALUE(GPV_LOG_LEVEL_DEBUG, 4);
VALUE(GPV_CCL_MODE_BINARY, 0);
VALUE(GPV_CCL_MODE_EQUAL_VALUE, 1);
VALUE(GPV_CCL_OUTPUT_LABELS, 0);
VALUE(GPV_CCL_OUTPUT_MASK, 1);
VALUE(GPV_CCL_OUTPUT_COLORS, 2);
VALUE(GPV_SIFT_DESCRIPTOR_LENGTH, 128);
VALUE(GPV_SIFT_MAX_KEYPOINTS, 1048576);
VALUE(GPV_SIFT_DESCRIPTOR_TYPE_U8, 0);
VALUE(GPV_SIFT_DESCRIPTOR_TYPE_F32, 1);
VALUE(GPV_MATCH_MAX_DESCRIPTORS, 1048576);
VALUE(GPV_DRAW_STYLE_POINTS, 0);
VALUE(GPV_DRAW_STYLE_RICH, 1);
VALUE(GPV_ERODE_OPERATION_ERODE, 0);
VALUE(GPV_ERODE_OPERATION_DILATE, 1);
VALUE(GPV_ERODE_OPERATION_OPEN, 2);
VALUE(GPV_ERODE_OPERATION_CLOSE, 3);
VALUE(GPV_ERODE_OPERATION_GRADIENT, 4);
VALUE(GPV_ERODE_OPERATION_TOPHAT, 5);
VALUE(GPV_ERODE_OPERATION_BLACKHAT, 6);
VALUE(GPV_ERODE_SHAPE_RECT, 0);
VALUE(GPV_ERODE_SHAPE_CROSS, 1);
VALUE(GPV_ERODE_SHAPE_ELLIPSE, 2);
VALUE(GPV_ERODE_BORDER_IGNORE, 0);
VALUE(GPV_ERODE_BORDER_BACKGROUND, 1);
VALUE(GPV_ERODE_PLANES_AUTO, 0);
VALUE(GPV_ERODE_PLANES_LUMA, 1);
VALUE(GPV_ERODE_PLANES_ALL, 2);
VALUE(GPV_GRAPHCUT_MAX_TERMINAL, 1073741824);
VALUE(GPV_GRAPHCUT_MAX_LINK, 67108863);
VALUE(GPV_EXPANSION_MAX_LABELS, 16);
VALUE(GPV_EXPANSION_MAX_CYCLES, 10);
VALUE(GPV_EXPANSION_MAX_COST, 268435456);
VALUE(GPV_KMEANS_MAX_CLUSTERS, 256);
VALUE(GPV_KMEANS_METRIC_L2, 0);
VALUE(GPV_KMEANS_METRIC_L1, 1);
VALUE(GPV_KMEANS_INIT_PLUSPLUS, 0);
VALUE(GPV_KMEANS_INIT_RANDOM, 1);
VALUE(GPV_KMEANS_INIT_GRID, 2);
VALUE(GPV_KMEANS_INIT_GIVEN, 3);
VALUE(GPV_KMEANS_COLOR_SPACE_RGB, 0);
VALUE(GPV_KMEANS_COLOR_SPACE_LAB, 1);
VALUE(GPV_SEGMENT_MODEL_GMM, 0);
VALUE(GPV_SEGMENT_MODEL_HISTOGRAM, 1);
VALUE(GPV_SEGMENT_MODEL_MEANS, 2);
VALUE(GPV_SEGMENT_WARM_START_NONE, 0);
VALUE(GPV_SEGMENT_WARM_START_ADAPT, 1);
VALUE(GPV_SEGMENT_WARM_START_REUSE, 2);
VALUE(GPV_SEGMENT_OUTPUT_OVERLAY, 0);
VALUE(GPV_SEGMENT_OUTPUT_CUTOUT, 1);
VALUE(GPV_SEGMENT_EDGE_HARD, 0);
VALUE(GPV_SEGMENT_EDGE_SOFT, 1);
VALUE(GPV_SEGMENT_SEED_BACKGROUND, 0);
VALUE(GPV_SEGMENT_SEED_FOREGROUND, 1);
VALUE(GPV_SEGMENT_SEED_PROBABLY_BACKGROUND, 2);
VALUE(GPV_SEGMENT_SEED_PROBABLY_FOREGROUND, 3);
VALUE(GPV_SEGMENT_SEED_UNKNOWN, 128);
VALUE(GPV_SEGMENT_SEED_WHITE, 255);
VALUE(GPV_SEGMENT_UNIT, 1000);
VALUE(GPV_SEGMENT_MAX_ITERATIONS, 100);
VALUE(GPV_SEGMENT_MAX_WEIGHT, 1000000);
VALUE(GPV_API_VERSION_MAJOR, 1);

VALUE(GPV_API_VERSION,
      (GPV_API_VERSION_MAJOR << 16) + (GPV_API_VERSION_MINOR << 8) + GPV_API_VERSION_PATCH);
