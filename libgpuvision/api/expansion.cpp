// SPDX-License-Identifier: BSD-2-Clause
#include "core/expansion.hpp"

#include <iterator>

#include "api/graphcut.hpp"
#include "api/params.hpp"

struct gpv_expansion {
    std::shared_ptr<gpv::Context> context;
    std::unique_ptr<gpv::Expansion> core;

    // State of the last run.
    bool has_run = false; ///< and it did not fail
    int width = 1;
    int count = 0;
};

namespace gpv {
namespace {

constexpr std::uint32_t first_result_size = 32; // for ever

static_assert(sizeof(ExpansionResult) == sizeof(gpv_expansion_result) &&
              offsetof(ExpansionResult, refused) == offsetof(gpv_expansion_result, refused) &&
              alignof(ExpansionResult) == 8);

constexpr const char *cost_names[] = {"costs[0]",  "costs[1]",  "costs[2]",  "costs[3]",
                                      "costs[4]",  "costs[5]",  "costs[6]",  "costs[7]",
                                      "costs[8]",  "costs[9]",  "costs[10]", "costs[11]",
                                      "costs[12]", "costs[13]", "costs[14]", "costs[15]"};
static_assert(std::size(cost_names) == max_labels);

void require_count(int count) {
    require_range("count", count, min_labels, max_labels);
}

/// Reads the images of a run.
ExpansionRun read_run(const gpv_expansion &op, const gpv_image *const *costs, std::int32_t count,
                      const gpv_image *links, const gpv_image *labels) {
    require_count(count);
    require_not_null(costs, "costs");
    ExpansionRun run{.costs = {}, .count = count, .links = read_links(*op.context, links)};
    const auto read_like = [&](const gpv_image *image, const char *name, Format format) {
        const Image like = read_image(image, name);
        require_format(like, name, like.format == format, format_info(format).name);
        require_like(*op.context, run.links, like, name, "links");
        return like;
    };
    for (int i = 0; i < count; i++)
        run.costs[i] = read_like(costs[i], cost_names[i], Format::label32);
    run.labels = read_like(labels, "labels", Format::gray8);
    return run;
}

/// An output of a run must not overlap any other input or output.
void require_disjoint(const ExpansionRun &run) {
    const auto require = [&](const Image &image, const char *name) {
        if (&image != &run.labels && overlap(image, run.labels))
            throw_overlap("labels", name);
        if (run.result && overlap(image, view_of(run.result, image)))
            throw_overlap("result", name);
    };
    for (int i = 0; i < run.count; i++)
        require(run.costs[i], cost_names[i]);
    require(run.links, "links");
    require(run.labels, "labels");
}

/// Throws Error if the last finished run found a value out of range.
void require_no_fault(const gpv_expansion &op) {
    const GraphcutFault fault = op.has_run ? op.core->fault() : GraphcutFault{};
    if (fault.pixel < 0)
        return;
    if (fault.plane < op.count)
        throw_fault(fault, op.width, cost_names[fault.plane], -max_cost, max_cost);
    throw_link_fault(fault, op.width, fault.plane - op.count);
}

} // namespace
} // namespace gpv

void gpv_expansion_params_init(gpv_expansion_params *params, uint32_t size) {
    gpv::write_struct(params, size,
                      gpv::default_params<gpv_expansion_params>(gpv::expansion_fields));
}

void gpv_expansion_result_init(gpv_expansion_result *result, uint32_t size) {
    gpv::write_struct(result, size, gpv_expansion_result{});
}

gpv_status gpv_expansion_create(gpv_context *context, const gpv_expansion_params *params,
                                gpv_expansion **out) {
    return gpv::create(context, out, [&](gpv_expansion &op) {
        const gpv_expansion_params first = gpv::read_params(params, gpv::expansion_fields);
        op.core = op.context->functions().make_expansion(op.context);
        op.core->set_params(first);
    });
}

void gpv_expansion_destroy(gpv_expansion **op) {
    gpv::destroy(op);
}

gpv_status gpv_expansion_set_params(gpv_expansion *op, const gpv_expansion_params *params) {
    return gpv::guard_object(
        op, [&] { op->core->set_params(gpv::read_params(params, gpv::expansion_fields)); });
}

gpv_status gpv_expansion_prepare(gpv_expansion *op, const gpv_image *links, int32_t count) {
    return gpv::guard_object(op, [&] {
        gpv::require_count(count);
        op->core->prepare(gpv::read_links(*op->context, links, true), count);
    });
}

gpv_status gpv_expansion_run(gpv_expansion *op, gpv_stream stream, const gpv_image *const *costs,
                             int32_t count, const gpv_image *links, const gpv_image *labels,
                             const gpv_buffer *result) {
    return gpv::guard_object(op, [&] {
        gpv::ExpansionRun run = gpv::read_run(*op, costs, count, links, labels);
        if (result)
            run.result = gpv::read_result_buffer<gpv::ExpansionResult>(*op->context, result,
                                                                       "gpv_expansion_wait");
        gpv::require_disjoint(run);
        gpv::start_run(*op, [&] {
            if (!op->core->run(stream, run))
                return false;
            op->width = run.links.width;
            op->count = count;
            return true;
        });
    });
}

gpv_status gpv_expansion_query(gpv_expansion *op) {
    return gpv::query_run(op, gpv::require_no_fault);
}

gpv_status gpv_expansion_wait(gpv_expansion *op, gpv_expansion_result *result) {
    return gpv::wait_for_run(op, result, gpv::first_result_size, gpv::require_no_fault);
}
