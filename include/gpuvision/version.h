/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_VERSION_H
#define GPUVISION_VERSION_H

/**
 * @file
 * Version of the interface, which is not the release number.
 *
 * MAJOR is the SONAME: it changes only when an existing program would stop
 * working. MINOR counts additions. PATCH counts fixes. meson.build reads these
 * three lines to name the library.
 */
#define GPV_API_VERSION_MAJOR 1 /**< the SONAME */
#define GPV_API_VERSION_MINOR 1 /**< counts additions */
#define GPV_API_VERSION_PATCH 0 /**< counts fixes */

/** One number that grows with the version: 0xMMmmpp. */
#define GPV_API_VERSION                                                                            \
    ((GPV_API_VERSION_MAJOR << 16) | (GPV_API_VERSION_MINOR << 8) | GPV_API_VERSION_PATCH)

#endif
