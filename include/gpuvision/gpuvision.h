/* SPDX-License-Identifier: BSD-2-Clause */
/* Code generated from include/gpuvision by meson compile -C build interface-update. DO NOT EDIT. */
#ifndef GPUVISION_H
#define GPUVISION_H

/**
 * @file
 * Everything.
 */

#include <gpuvision/ccl.h>
#include <gpuvision/context.h>
#include <gpuvision/draw.h>
#include <gpuvision/erode.h>
#include <gpuvision/expansion.h>
#include <gpuvision/fields.h>
#include <gpuvision/graphcut.h>
#include <gpuvision/homography.h>
#include <gpuvision/kmeans.h>
#include <gpuvision/match.h>
#include <gpuvision/segment.h>
#include <gpuvision/sift.h>
#include <gpuvision/types.h>
#include <gpuvision/version.h>

#endif
