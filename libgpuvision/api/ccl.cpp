// SPDX-License-Identifier: BSD-2-Clause
#include "core/ccl.hpp"

#include "api/image.hpp"
#include "api/params.hpp"

struct gpv_ccl {
    std::shared_ptr<gpv::Context> context;
    gpv::CclParams params{};
    std::unique_ptr<gpv::Ccl> core;

    // State of the last run.
    bool has_run = false;
    std::int32_t max_label = 0; ///< that dst holds, 0 = any
    std::int64_t capacity = -1; ///< records, -1 = none asked for
};

namespace gpv {
namespace {

constexpr std::uint32_t first_result_size = 16; // for ever
constexpr std::uint32_t max_record_stride = 4096;

static_assert(sizeof(CclComponent) == sizeof(gpv_ccl_component) &&
              offsetof(CclComponent, sum_y) == offsetof(gpv_ccl_component, sum_y) &&
              alignof(CclComponent) == 8);

bool is_output(Format format, gpv_ccl_output output) {
    const bool bytes = format == Format::gray8 || format == Format::nv12 || format == Format::i420;
    switch (output) {
    case GPV_CCL_OUTPUT_LABELS:
        return bytes || format == Format::label32 || format == Format::gray16 ||
               format == Format::p016;
    case GPV_CCL_OUTPUT_MASK:
        return bytes;
    default:
        return is_picture(format);
    }
}

std::string formats_of(gpv_ccl_output output) {
    switch (output) {
    case GPV_CCL_OUTPUT_LABELS:
        return "GPV_CCL_OUTPUT_LABELS are LABEL32, GRAY16, P016, GRAY8, NV12 or I420";
    case GPV_CCL_OUTPUT_MASK:
        return "GPV_CCL_OUTPUT_MASK is GRAY8, NV12 or I420";
    default:
        return "GPV_CCL_OUTPUT_COLORS are any of " + picture_names();
    }
}

void require_source(const gpv_ccl &op, const Image &src) {
    require_picture(*op.context, src, "src", "labelling");
    const int maximum = max_luma(src.format);
    require_range("params->threshold", op.params.threshold, 0, maximum);
    require_range("params->foreground", op.params.foreground, -1, maximum);
}

void require_output(const gpv_ccl &op, const Image &src, const Image &dst) {
    if (!is_output(dst.format, op.params.output))
        throw Error(Status::unsupported, std::string("dst->format is ") +
                                             format_info(dst.format).name + ", but " +
                                             formats_of(op.params.output));
    require_like(*op.context, src, dst, "dst");
}

CclRecords read_records(const gpv_ccl &op, const gpv_buffer *components, std::uint32_t stride) {
    if (stride == 0)
        stride = sizeof(gpv_ccl_component);
    require_range("component_stride", stride, static_cast<std::uint32_t>(sizeof(gpv_ccl_component)),
                  max_record_stride);
    if (stride % alignof(CclComponent))
        throw Error(Status::invalid_argument,
                    "component_stride is " + std::to_string(stride) + ", must be a multiple of 8");
    const BufferView view =
        read_buffer(components, "components", sizeof(gpv_ccl_component), alignof(CclComponent));
    op.context->device().require_accessible(view.memory, view.device, "components");
    // The last record needs no padding behind it.
    const auto spare = static_cast<std::int64_t>(stride - sizeof(gpv_ccl_component));
    return {view, stride, (view.size + spare) / stride};
}

std::int32_t *read_count(const gpv_ccl &op, const gpv_buffer *count) {
    const BufferView view =
        read_buffer(count, "count", sizeof(std::int32_t), alignof(std::int32_t));
    op.context->device().require_accessible(view.memory, view.device, "count");
    if (view.memory != op.context->device().memory())
        throw Error(Status::invalid_argument,
                    "count->memory is GPV_MEMORY_HOST, but the backend is CUDA; gpv_ccl_wait() "
                    "gives the count to the host");
    return reinterpret_cast<std::int32_t *>(view.data);
}

/// An output of a run must not overlap any other input or output.
void require_disjoint(const CclRun &run) {
    if (run.dst && overlap(run.src, *run.dst))
        throw_overlap("dst", "src");
    if (run.dst && planes_overlap(*run.dst))
        throw Error(Status::invalid_argument, "two planes of dst overlap");
    const auto require_apart = [&](const BufferView &view, const char *name) {
        if (overlap(run.src, view))
            throw_overlap(name, "src");
        if (run.dst && overlap(*run.dst, view))
            throw_overlap(name, "dst");
    };
    if (run.components)
        require_apart(run.components->view, "components");
    if (!run.count)
        return;
    const BufferView count{run.src.memory, run.src.device, reinterpret_cast<std::byte *>(run.count),
                           sizeof *run.count};
    require_apart(count, "count");
    if (run.components && overlap(run.components->view, count))
        throw_overlap("count", "components");
}

/// Whether labels and records had room, which only the image's content shows. Does not throw: a
/// caller who wants the first few components gets this often, and throwing takes too long.
gpv_status check_room(const gpv_ccl &op, std::int32_t count) {
    std::string lack;
    if (op.max_label && count > op.max_label)
        lack = "but dst holds labels up to " + std::to_string(op.max_label);
    else if (op.capacity >= 0 && count > op.capacity)
        lack = "but components has room for " + std::to_string(op.capacity);
    if (lack.empty())
        return GPV_OK;
    op.context->fail(Status::too_small,
                     ("there are " + std::to_string(count) + " components, " + lack).c_str());
    return GPV_ERR_TOO_SMALL;
}

std::int32_t records_written(const gpv_ccl &op, std::int32_t count) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(op.capacity, 0, count));
}

} // namespace
} // namespace gpv

void gpv_ccl_params_init(gpv_ccl_params *params, uint32_t size) {
    gpv::write_struct(params, size, gpv::default_params<gpv_ccl_params>(gpv::ccl_fields));
}

void gpv_ccl_result_init(gpv_ccl_result *result, uint32_t size) {
    gpv::write_struct(result, size, gpv_ccl_result{});
}

gpv_status gpv_ccl_create(gpv_context *context, const gpv_ccl_params *params, gpv_ccl **out) {
    return gpv::create(context, out, [&](gpv_ccl &op) {
        op.params = {gpv::read_params(params, gpv::ccl_fields)};
        op.core = op.context->functions().make_ccl(op.context);
        op.core->set_params(op.params);
    });
}

void gpv_ccl_destroy(gpv_ccl **op) {
    gpv::destroy(op);
}

gpv_status gpv_ccl_set_params(gpv_ccl *op, const gpv_ccl_params *params) {
    return gpv::guard_object(op, [&] {
        const gpv::CclParams fresh = {gpv::read_params(params, gpv::ccl_fields)};
        op->core->set_params(fresh);
        op->params = fresh;
    });
}

gpv_status gpv_ccl_prepare(gpv_ccl *op, const gpv_image *src, const gpv_image *dst,
                           int32_t components) {
    return gpv::guard_object(op, [&] {
        const gpv::Image from = gpv::read_image(src, "src", true);
        gpv::require_source(*op, from);
        gpv::require_range("components", components, 0, INT32_MAX);
        std::optional<gpv::Image> to;
        if (dst) {
            to = gpv::read_image(dst, "dst", true);
            gpv::require_output(*op, from, *to);
        }
        op->core->prepare(from, to ? &*to : nullptr, components);
    });
}

gpv_status gpv_ccl_run(gpv_ccl *op, gpv_stream stream, const gpv_image *src, const gpv_image *dst,
                       const gpv_buffer *components, uint32_t component_stride,
                       const gpv_buffer *count) {
    return gpv::guard_object(op, [&] {
        gpv::CclRun run{.src = gpv::read_image(src, "src")};
        gpv::require_source(*op, run.src);
        if (dst) {
            run.dst = gpv::read_image(dst, "dst");
            gpv::require_output(*op, run.src, *run.dst);
        }
        if (components)
            run.components = gpv::read_records(*op, components, component_stride);
        if (count)
            run.count = gpv::read_count(*op, count);
        gpv::require_disjoint(run);
        gpv::start_run(*op, [&] {
            if (!op->core->run(stream, run))
                return false;
            const bool labels = run.dst && op->params.output == GPV_CCL_OUTPUT_LABELS;
            op->max_label = labels ? gpv::max_label(run.dst->shape(0).sample_bytes) : 0;
            op->capacity = run.components ? run.components->capacity : -1;
            return true;
        });
    });
}

gpv_status gpv_ccl_query(gpv_ccl *op) {
    bool finished = true;
    gpv_status room = GPV_OK;
    const gpv_status status = gpv::guard_object(op, [&] {
        finished = op->core->finished();
        if (finished && op->has_run)
            room = gpv::check_room(*op, op->core->count());
    });
    if (status != GPV_OK)
        return status;
    return finished ? room : static_cast<gpv_status>(GPV_NOT_READY);
}

gpv_status gpv_ccl_wait(gpv_ccl *op, gpv_ccl_result *result) {
    gpv_status room = GPV_OK;
    const gpv_status status = gpv::guard_object(op, [&] {
        if (result)
            gpv::require_range({"result", "struct_size"}, result->struct_size,
                               gpv::first_result_size, gpv::max_struct_size);
        op->core->wait();
        gpv_ccl_result found{};
        if (op->has_run) {
            found.count = op->core->count();
            found.components = gpv::records_written(*op, found.count);
        }
        if (result)
            gpv::write_struct(result, result->struct_size, found);
        room = gpv::check_room(*op, found.count);
    });
    return status == GPV_OK ? room : status;
}
