// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "gstreamer.hpp"

// Draws the regions of interest that an element has attached to an I420 frame.
void draw_boxes(GstBuffer *buffer, GstCaps *caps);
