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
 * @param stem   of the struct: "erode" of gpv_erode_params
 * @param index  0 for the first field
 * @param field  written up to size bytes
 * @param size   sizeof(gpv_field)
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT where there is no such struct or no further field, which
 *         ends a loop: then nothing is written
 * Reentrant.
 */
GPV_API GPV_NODISCARD gpv_status gpv_params_describe(const char *stem, int32_t index,
                                                     gpv_field *field, uint32_t size);

GPV_END

#endif
