// SPDX-License-Identifier: BSD-2-Clause
#include "api/graphcut.hpp"

#include <utility>

#include "api/params.hpp"

struct gpv_graphcut {
    std::shared_ptr<gpv::Context> context;
    std::unique_ptr<gpv::Graphcut> core;

    // State of the last run.
    bool has_run = false; ///< and it did not fail
    int width = 1;
};

namespace gpv {

void require_format(const Image &image, const char *name, bool legal, const char *formats) {
    if (!legal)
        throw Error(Status::unsupported, std::string(name) + "->format is " +
                                             format_info(image.format).name + ", must be " +
                                             formats);
}

Image read_links(const Context &context, const gpv_image *image, bool shape_only) {
    const Image links = read_image(image, "links", shape_only);
    require_format(links, "links",
                   links.format == Format::cap32x4 || links.format == Format::cap32x8,
                   "CAP32X4 or CAP32X8");
    context.device().require_accessible(links.memory, links.device, "links");
    return links;
}

void throw_fault(const GraphcutFault &fault, int width, const std::string &name, int low,
                 int high) {
    throw Error(Status::invalid_argument, name + " is " + std::to_string(fault.value) + " at (" +
                                              std::to_string(fault.pixel % width) + ", " +
                                              std::to_string(fault.pixel / width) + "), must be " +
                                              std::to_string(low) + ".." + std::to_string(high));
}

void throw_link_fault(const GraphcutFault &fault, int width, int plane) {
    throw_fault(fault, width, "plane " + std::to_string(plane) + " of links", 0, max_link);
}

namespace {

/// An output of a run must not overlap any other input or output.
void require_disjoint(const GraphcutRun &run) {
    const std::pair<const Image &, const char *> images[] = {
        {run.terminals, "terminals"}, {run.links, "links"}, {run.mask, "mask"}};
    for (const auto &[image, name] : images) {
        if (&image != &run.mask && overlap(image, run.mask))
            throw_overlap("mask", name);
        if (run.result && overlap(image, view_of(run.result, image)))
            throw_overlap("result", name);
    }
}

/// Throws Error if the last finished run found a value out of range.
void require_no_fault(const gpv_graphcut &op) {
    const GraphcutFault fault = op.has_run ? op.core->fault() : GraphcutFault{};
    if (fault.pixel < 0)
        return;
    if (fault.plane == 0)
        throw_fault(fault, op.width, "terminals", -max_terminal, max_terminal);
    throw_link_fault(fault, op.width, fault.plane - 1);
}

} // namespace
} // namespace gpv

void gpv_graphcut_params_init(gpv_graphcut_params *params, uint32_t size) {
    gpv::write_struct(params, size, gpv::default_params<gpv_graphcut_params>(gpv::graphcut_fields));
}

void gpv_graphcut_result_init(gpv_graphcut_result *result, uint32_t size) {
    gpv::write_struct(result, size, gpv_graphcut_result{});
}

gpv_status gpv_graphcut_create(gpv_context *context, const gpv_graphcut_params *params,
                               gpv_graphcut **out) {
    return gpv::create(context, out, [&](gpv_graphcut &op) {
        const gpv_graphcut_params first = gpv::read_params(params, gpv::graphcut_fields);
        op.core = op.context->functions().make_graphcut(op.context);
        op.core->set_params(first);
    });
}

void gpv_graphcut_destroy(gpv_graphcut **op) {
    gpv::destroy(op);
}

gpv_status gpv_graphcut_set_params(gpv_graphcut *op, const gpv_graphcut_params *params) {
    return gpv::guard_object(
        op, [&] { op->core->set_params(gpv::read_params(params, gpv::graphcut_fields)); });
}

gpv_status gpv_graphcut_prepare(gpv_graphcut *op, const gpv_image *links) {
    return gpv::guard_object(
        op, [&] { op->core->prepare(gpv::read_links(*op->context, links, true)); });
}

gpv_status gpv_graphcut_run(gpv_graphcut *op, gpv_stream stream, const gpv_image *terminals,
                            const gpv_image *links, const gpv_image *mask,
                            const gpv_buffer *result) {
    return gpv::guard_object(op, [&] {
        gpv::GraphcutRun run{.terminals = gpv::read_image(terminals, "terminals"),
                             .links = gpv::read_links(*op->context, links),
                             .mask = gpv::read_image(mask, "mask")};
        gpv::require_format(run.terminals, "terminals",
                            run.terminals.format == gpv::Format::label32, "LABEL32");
        gpv::require_like(*op->context, run.links, run.terminals, "terminals", "links");
        gpv::require_format(run.mask, "mask", run.mask.format == gpv::Format::gray8, "GRAY8");
        gpv::require_like(*op->context, run.links, run.mask, "mask", "links");
        if (result)
            run.result = gpv::read_result_buffer<gpv::GraphcutResult>(*op->context, result,
                                                                      "gpv_graphcut_wait");
        gpv::require_disjoint(run);
        gpv::start_run(*op, [&] {
            if (!op->core->run(stream, run))
                return false;
            op->width = run.links.width;
            return true;
        });
    });
}

gpv_status gpv_graphcut_query(gpv_graphcut *op) {
    return gpv::query_run(op, gpv::require_no_fault);
}

gpv_status gpv_graphcut_wait(gpv_graphcut *op, gpv_graphcut_result *result) {
    return gpv::wait_for_run(op, result, gpv::first_graphcut_result_size, gpv::require_no_fault);
}
