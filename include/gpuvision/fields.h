/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_FIELDS_H
#define GPUVISION_FIELDS_H

/**
 * @file
 * What the structs of parameters have in them, as data: for programs that show parameters, read
 * them from text, or offer them in another language.
 */

#include <gpuvision/types.h>

GPV_BEGIN

/**
 * Describes a field, in the order of the struct. struct_size, pointers and what is reserved are
 * left out.
 *
 * @param stem   of the struct gpv_<stem>_params: "ccl", "context", "erode", "graphcut",
 *               "homography", "kmeans", "match", "segment" or "sift"
 * @param index  0 for the first field
 * @param field  written up to size bytes
 * @param size   sizeof(gpv_field)
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT where there is no further field, which ends a loop,
 *         where stem is another or NULL, index is negative, field is NULL, or size has no room for
 *         struct_size: then nothing is written
 * Since 1.1. Reentrant.
 */
GPV_API GPV_NODISCARD gpv_status gpv_params_describe(const char *stem, int32_t index,
                                                     gpv_field *field, uint32_t size);

GPV_END

#endif
