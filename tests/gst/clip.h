/* SPDX-License-Identifier: BSD-2-Clause */
/* Video for the tests: a camera that moves over a photograph, as frames and as a file. */
#ifndef TESTS_GST_CLIP_H
#define TESTS_GST_CLIP_H

#include "helpers.h"

enum { photograph_width = 160, photograph_height = 120 };

/* RGB without gaps. Pikolo Espresso Bar, by Rachel Michetti, CC0: docs/images/make.py cuts it to
   this size. */
GstBuffer *photograph(void);

/* The camera goes once round in 25 frames, and comes nearer and back meanwhile. */
GstBuffer *camera_frame(const GstVideoInfo *info, guint number);

/* A file that can be sought in: every frame is a picture of its own, 25 of them a second. */
void write_clip(const File *file, gint width, gint height, guint frames);

/* What main() returns where all of that is there, else 77. */
int run_with_clips(const gchar *part);

#endif
