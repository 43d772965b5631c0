// SPDX-License-Identifier: BSD-2-Clause
#include <gpuvision/fields.h>

#include <cstring>

#include "api/guard.hpp"
#include "core/ccl.hpp"
#include "core/context.hpp"
#include "core/erode.hpp"
#include "core/expansion.hpp"
#include "core/graphcut.hpp"
#include "core/homography.hpp"
#include "core/kmeans.hpp"
#include "core/match.hpp"
#include "core/segment.hpp"
#include "core/sift.hpp"
#include "core/stems.hpp"

namespace {

const gpv_field *find_field(const char *stem, std::int32_t index) {
#define FIELDS_OF(stem, Name) &gpv::stem##_fields,
    for (const gpv::Fields *fields :
         {&gpv::context_fields, &gpv::homography_fields, GPV_STEMS(FIELDS_OF)})
#undef FIELDS_OF
        if (std::strcmp(stem, fields->stem) == 0 && index >= 0 &&
            static_cast<std::size_t>(index) < fields->rows.size())
            return &fields->rows[static_cast<std::size_t>(index)];
    return nullptr;
}

} // namespace

gpv_status gpv_params_describe(const char *stem, int32_t index, gpv_field *field, uint32_t size) {
    if (!stem || !field || size < sizeof field->struct_size)
        return GPV_ERR_INVALID_ARGUMENT;
    const gpv_field *found = find_field(stem, index);
    if (!found)
        return GPV_ERR_INVALID_ARGUMENT;
    gpv::write_struct(field, size, *found);
    return GPV_OK;
}
