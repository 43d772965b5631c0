/* SPDX-License-Identifier: BSD-2-Clause */
/* The symbols of gstgpuvisioncuda.cpp in a build without gstreamer-cuda. */
#include "gstgpuvisioncuda.h"

struct GstGpuVisionCuda::State {};

GstGpuVisionCuda::GstGpuVisionCuda(GstElement *) {}

GstGpuVisionCuda::~GstGpuVisionCuda() = default;

void GstGpuVisionCuda::set_context(GstContext *, gint) {}

bool GstGpuVisionCuda::answer(GstQuery *) {
    return false;
}

bool GstGpuVisionCuda::open(gint) {
    return false;
}

void GstGpuVisionCuda::close() {}

bool GstGpuVisionCuda::is_open() const {
    return false;
}

bool GstGpuVisionCuda::push() {
    return false;
}

void GstGpuVisionCuda::pop() {}

GstBufferPool *GstGpuVisionCuda::new_pool() {
    return nullptr;
}

bool GstGpuVisionCuda::shares(GstBufferPool *) const {
    return false;
}

void GstGpuVisionCuda::configure(GstStructure *) {}

bool GstGpuVisionCuda::holds(GstBuffer *) const {
    return false;
}

bool GstGpuVisionCuda::can_adopt(GstBuffer *, gint) const {
    return false;
}

bool GstGpuVisionCuda::adopt(GstBuffer *) {
    return false;
}

GstGpuVisionPlace GstGpuVisionCuda::place() const {
    return {};
}

gpv_stream GstGpuVisionCuda::stream() const {
    return nullptr;
}

GstGpuVisionCuda::Queue GstGpuVisionCuda::queue(GstBuffer *, GstBuffer *) {
    return {nullptr, nullptr, true};
}

bool GstGpuVisionCuda::copy(const GstGpuVisionFrame &, const GstGpuVisionFrame &, gpv_stream) {
    return false;
}
