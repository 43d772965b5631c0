/* SPDX-License-Identifier: BSD-2-Clause */
/* What the Go code needs of C beyond the library: views that lie in C memory, and pointers that Go
   knows as numbers only. A stream or an address of a device may be a number that Go's runtime does
   not take for a pointer, so neither ever is an unsafe.Pointer. */
#ifndef GPUVISION_GO_BINDING_H
#define GPUVISION_GO_BINDING_H

#include <gpuvision/gpuvision.h>
#include <stdlib.h>

/* The views of one call. */
typedef struct gpv_go_views {
    gpv_image image[GPV_EXPANSION_MAX_LABELS + 2];
    gpv_buffer buffer[6];
} gpv_go_views;

static inline void gpv_go_image(gpv_image *image, gpv_format format, gpv_memory memory,
                                int32_t device, int32_t width, int32_t height,
                                gpv_color_matrix matrix, gpv_color_range range) {
    gpv_image_init(image, sizeof *image);
    image->format = format;
    image->memory = memory;
    image->device = device;
    image->width = width;
    image->height = height;
    image->color_matrix = matrix;
    image->color_range = range;
}

/* data is of a type without pointers, so that cgo does not search the object that it lies in. */
static inline void gpv_go_plane(gpv_image *image, int32_t plane, uint8_t *data, int64_t stride) {
    image->data[plane] = data;
    image->stride[plane] = stride;
}

static inline void gpv_go_device_plane(gpv_image *image, int32_t plane, uintptr_t data,
                                       int64_t stride) {
    image->data[plane] = (void *)data;
    image->stride[plane] = stride;
}

static inline void gpv_go_buffer(gpv_buffer *buffer, uint8_t *data, uint64_t size) {
    gpv_buffer_init(buffer, sizeof *buffer);
    buffer->memory = GPV_MEMORY_HOST;
    buffer->data = data;
    buffer->size = size;
}

static inline void gpv_go_device_buffer(gpv_buffer *buffer, uintptr_t data, uint64_t size,
                                        int32_t device) {
    gpv_buffer_init(buffer, sizeof *buffer);
    buffer->memory = GPV_MEMORY_CUDA;
    buffer->device = device;
    buffer->data = (void *)data;
    buffer->size = size;
}

/* Where gpv_image_wrap() puts the planes; returns what it does. */
static inline int64_t gpv_go_layout(gpv_format format, int32_t width, int32_t height,
                                    int64_t stride, int64_t *offsets, int64_t *strides) {
    const uintptr_t start = 4096; /* any address: nothing is read or written there */
    gpv_image image;
    int64_t bytes =
        gpv_image_wrap(&image, sizeof image, format, width, height, (void *)start, stride);
    for (int32_t i = 0; bytes > 0 && i < gpv_format_planes(format); ++i) {
        offsets[i] = (int64_t)((uintptr_t)image.data[i] - start);
        strides[i] = image.stride[i];
    }
    return bytes;
}

#endif
