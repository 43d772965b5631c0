// SPDX-License-Identifier: BSD-2-Clause
#include "core/erode.hpp"

#include "api/image.hpp"
#include "api/params.hpp"

struct gpv_erode {
    std::shared_ptr<gpv::Context> context;
    gpv_erode_params params{};
    std::unique_ptr<gpv::Erode> core;
};

namespace gpv {
namespace {

void require_supported(const Context &context, const Image &image, const char *name) {
    require_picture(context, image, name, "morphology");
}

void require_threshold(const gpv_erode_params &params, const Image &image) {
    require_range("params->threshold", params.threshold, 0, max_luma(image.format));
}

void require_same_shape(const Image &src, const Image &dst) {
    if (src.format != dst.format || src.width != dst.width || src.height != dst.height)
        throw Error(Status::invalid_argument,
                    std::string("dst is ") + std::to_string(dst.width) + "x" +
                        std::to_string(dst.height) + " " + format_info(dst.format).name +
                        ", must be as src, " + std::to_string(src.width) + "x" +
                        std::to_string(src.height) + " " + format_info(src.format).name);
    if (src.memory != dst.memory)
        throw Error(Status::invalid_argument,
                    "dst->memory differs from src->memory; both must be in the same memory");
    if (!same_pixels(src, dst) && overlap(src, dst))
        throw Error(Status::invalid_argument,
                    "dst overlaps src; it must be src itself or share no byte with it");
    if (planes_overlap(dst))
        throw Error(Status::invalid_argument, "two planes of dst overlap");
}

} // namespace
} // namespace gpv

void gpv_erode_params_init(gpv_erode_params *params, uint32_t size) {
    gpv::write_struct(params, size, gpv::default_params<gpv_erode_params>(gpv::erode_fields));
}

gpv_status gpv_erode_create(gpv_context *context, const gpv_erode_params *params, gpv_erode **out) {
    return gpv::create(context, out, [&](gpv_erode &op) {
        op.params = gpv::read_params(params, gpv::erode_fields);
        op.core = op.context->functions().make_erode(op.context);
        op.core->set_params(op.params);
    });
}

void gpv_erode_destroy(gpv_erode **op) {
    gpv::destroy(op);
}

gpv_status gpv_erode_set_params(gpv_erode *op, const gpv_erode_params *params) {
    return gpv::guard_object(op, [&] {
        const gpv_erode_params fresh = gpv::read_params(params, gpv::erode_fields);
        op->core->set_params(fresh);
        op->params = fresh;
    });
}

gpv_status gpv_erode_prepare(gpv_erode *op, const gpv_image *like) {
    return gpv::guard_object(op, [&] {
        const gpv::Image image = gpv::read_image(like, "like", true);
        gpv::require_supported(*op->context, image, "like");
        gpv::require_threshold(op->params, image);
        op->core->prepare(image);
    });
}

gpv_status gpv_erode_run(gpv_erode *op, gpv_stream stream, const gpv_image *src,
                         const gpv_image *dst) {
    return gpv::guard_object(op, [&] {
        const gpv::Image from = gpv::read_image(src, "src");
        const gpv::Image to = gpv::read_image(dst, "dst");
        gpv::require_supported(*op->context, from, "src");
        gpv::require_supported(*op->context, to, "dst");
        gpv::require_same_shape(from, to);
        gpv::require_threshold(op->params, from);
        op->core->run(stream, from, to);
    });
}

gpv_status gpv_erode_query(gpv_erode *op) {
    return gpv::query_run(op);
}

gpv_status gpv_erode_wait(gpv_erode *op) {
    return gpv::guard_object(op, [&] { op->core->wait(); });
}
