// SPDX-License-Identifier: BSD-2-Clause
// Raw bits to one use of minimum cuts, under the same promises as erode.cpp.
#include "fuzz.hpp"

#include <optional>

namespace {

/// Nothing else bounds the time of a cut, and a run must end in a second.
constexpr std::int64_t max_pixels_without_limit = 10000;
constexpr std::int32_t longest_limit = 20000; ///< of what has more pixels

gpv_graphcut_params read_params(Input &in) {
    gpv_graphcut_params params;
    gpv_graphcut_params_init(&params, sizeof params);
    if (in.once_in(16)) {
        params = in.raw<gpv_graphcut_params>();
        if (params.struct_size > sizeof params) // there is no more to read
            params.struct_size = sizeof params;
        return params;
    }
    params.certificate = !in.flag();
    params.max_time_us = in.once_in(8) ? 1 + in.below(100) : 0;
    params.reuse = params.certificate; // nothing more is read, so that seeds mean what they did
    return params;
}

bool is_large(const Fields &fields) {
    return std::int64_t{fields.width} * fields.height > max_pixels_without_limit;
}

Fields read_size(Input &in) {
    Fields fields = read_fields(in);
    if (!in.once_in(16))
        fields.format = in.flag() ? GPV_FORMAT_CAP32X8 : GPV_FORMAT_CAP32X4;
    if (is_large(fields) && !in.once_in(8)) { // they take long
        fields.width = 1 + fields.width % 64;
        fields.height = 1 + fields.height % 64;
    }
    return fields;
}

/// An image as large as links, or any.
Picture read_beside(Input &in, gpv_format format, const Fields &links) {
    return {in, in.once_in(16) ? read_fields(in) : Fields{format, links.width, links.height}};
}

std::int32_t value_at(const Picture &p, int plane, int x, int y) {
    std::int32_t value;
    std::memcpy(&value, p.row(plane, y) + x * sizeof value, sizeof value);
    return value;
}

void set_value(Picture &p, int plane, int x, int y, std::int32_t value) {
    std::memcpy(p.row(plane, y) + x * sizeof value, &value, sizeof value);
}

/// The noise of a picture becomes capacities from least to most; and some values are any bits. What
/// is no int32 in memory of its own stays.
void fill(Input &in, Picture &p, bool terminals) {
    if (!p.legal || !p.backed || p.wild || sample_bytes(p.view.format) != 4)
        return;
    const std::int32_t end = terminals ? GPV_GRAPHCUT_MAX_TERMINAL : GPV_GRAPHCUT_MAX_LINK;
    const std::int32_t maximum = in.once_in(8) ? end : std::min(end, 1 << in.below(12));
    const int planes = gpv_format_planes(p.view.format);
    const std::uint32_t kept = in.below(4); // many are 0
    for (int i = 0; i < planes; i++)
        for (int y = 0; y < p.view.height; y++)
            for (int x = 0; x < p.view.width; x++) {
                const auto noise = static_cast<std::uint32_t>(value_at(p, i, x, y));
                const std::int64_t range = terminals ? std::int64_t{2} * maximum + 1 : maximum + 1;
                const auto value = static_cast<std::int32_t>(noise % range);
                set_value(p, i, x, y,
                          (noise >> 24 & 3) > kept ? 0 : value - (terminals ? maximum : 0));
            }
    for (int k = in.below(8); k > 0; k--) {
        const int i = in.below(planes), x = in.below(p.view.width), y = in.below(p.view.height);
        set_value(p, i, x, y, in.flag() ? in.raw<std::int32_t>() : end);
    }
}

/// The graph, the cut, and where a result goes to.
struct Run {
    const Picture &terminals, &links;
    Picture &mask;
    Flat *result;

    gpv_status enqueue(gpv_graphcut *op) const {
        return gpv_graphcut_run(op, nullptr, &terminals.view, &links.view, &mask.view,
                                result ? &result->view : nullptr);
    }
};

struct Step {
    int x, y;
};

Step step_of(int plane, int planes) {
    static constexpr Step around[] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                      {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    return around[plane * 8 / planes];
}

/// Plain sums over every arc of the picture: the capacity of the cut; none where a value is
/// illegal.
std::optional<std::int64_t> capacity(const Run &run) {
    const gpv_image &links = run.links.view;
    const int planes = gpv_format_planes(links.format);
    std::int64_t sum = 0;
    for (int y = 0; y < links.height; y++)
        for (int x = 0; x < links.width; x++) {
            const std::int64_t terminal = value_at(run.terminals, 0, x, y);
            if (std::abs(terminal) > GPV_GRAPHCUT_MAX_TERMINAL)
                return {};
            const bool source = run.mask.row(0, y)[x] == 255;
            sum += std::max<std::int64_t>(source ? -terminal : terminal, 0);
            for (int i = 0; i < planes; i++) {
                const int u = x + step_of(i, planes).x, v = y + step_of(i, planes).y;
                if (u < 0 || u >= links.width || v < 0 || v >= links.height)
                    continue;
                const std::int32_t link = value_at(run.links, i, x, y);
                if (link < 0 || link > GPV_GRAPHCUT_MAX_LINK)
                    return {};
                sum += source && run.mask.row(0, v)[u] == 0 ? link : 0;
            }
        }
    return sum;
}

void check_mask(const Run &run, const gpv_graphcut_result &found) {
    std::int64_t area = 0;
    for (int y = 0; y < run.mask.view.height; y++)
        for (int x = 0; x < run.mask.view.width; x++) {
            const std::uint8_t side = run.mask.row(0, y)[x];
            REQUIRE(side == 0 || side == 255);
            area += side == 255;
        }
    REQUIRE(found.area == area);
}

/// params is null if they are not those of the operator.
void check_found(const Run &run, const gpv_graphcut_params *params,
                 const gpv_graphcut_result &found, gpv_status waited) {
    const std::optional<std::int64_t> cut = capacity(run);
    REQUIRE((waited == GPV_OK) == cut.has_value() && found.refused == !cut.has_value());
    REQUIRE(found.struct_size == sizeof found && found.reserved == 0);
    if (run.result)
        REQUIRE(std::memcmp(run.result->view.data, &found, sizeof found) == 0);
    if (!cut) {
        REQUIRE(found.optimal == 0 && found.flow == 0 && found.cut == 0 && found.area == 0);
        return;
    }
    check_mask(run, found);
    REQUIRE(found.flow >= 0 && found.flow <= *cut && found.optimal <= 1);
    REQUIRE(found.optimal == 0 || found.flow == *cut); // which proves that both are right
    if (!params)
        return;
    REQUIRE(found.optimal == 1 || params->max_time_us > 0);
    REQUIRE(found.cut == (params->certificate || !found.optimal ? *cut : -1));
}

void solve(gpv_context *context, gpv_graphcut *op, const gpv_graphcut_params *params,
           const Run &run, Budget &budget) {
    const auto bytes = [&] {
        auto all = run.mask.bytes();
        if (run.result)
            all.push_back(run.result->block);
        return all;
    };
    const auto before = bytes(), terminals = run.terminals.bytes(), links = run.links.bytes();
    const gpv_status status = run.enqueue(op);
    REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    REQUIRE(status == GPV_OK || gpv_context_error(context)[0]);
    REQUIRE(run.terminals.bytes() == terminals && run.links.bytes() == links);
    gpv_graphcut_result found;
    gpv_graphcut_result_init(&found, sizeof found);
    const gpv_status waited = gpv_graphcut_wait(op, &found);
    REQUIRE(waited == GPV_OK || waited == GPV_ERR_INVALID_ARGUMENT);
    REQUIRE(gpv_graphcut_query(op) == waited);
    if (status != GPV_OK) {
        REQUIRE(bytes() == before && waited == GPV_OK && found.area == 0 && found.refused == 0);
        return;
    }
    REQUIRE(run.terminals.legal && run.links.legal && run.mask.legal);
    if (waited != GPV_OK)
        REQUIRE(gpv_context_error(context)[0] && run.mask.bytes()[0] == before[0]);
    check_found(run, params, found, waited);
    if (!found.optimal && !found.refused)
        return;

    budget.fail_at = 0;
    const auto once = bytes();
    gpv_graphcut_result again;
    gpv_graphcut_result_init(&again, sizeof again);
    REQUIRE(gpv_graphcut_set_params(op, nullptr) == GPV_OK && run.enqueue(op) == GPV_OK);
    REQUIRE(gpv_graphcut_wait(op, &again) == waited && run.mask.bytes()[0] == once[0]);
    REQUIRE(again.flow == found.flow && again.area == found.area);
    REQUIRE(again.cut == (found.refused ? 0 : -1));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    Input in(data, size);
    Budget budget;
    gpv_context *context = open_context(budget);
    gpv_graphcut *op = nullptr;
    gpv_graphcut_params params = read_params(in);
    gpv_status status = gpv_graphcut_create(context, &params, &op);
    REQUIRE(status == GPV_OK || status == GPV_ERR_INVALID_ARGUMENT);
    if (status != GPV_OK)
        REQUIRE(!op && gpv_graphcut_create(context, nullptr, &op) == GPV_OK);
    bool params_in_force = status == GPV_OK;

    const Fields fields = read_size(in);
    if (is_large(fields)) {
        if (!params_in_force) {
            gpv_graphcut_params_init(&params, sizeof params);
            params.certificate = 1;
        }
        if (params.max_time_us == 0 || params.max_time_us > longest_limit)
            params.max_time_us = longest_limit;
        REQUIRE(gpv_graphcut_set_params(op, &params) == GPV_OK);
        params_in_force = true;
    }
    Picture links(in, fields);
    Picture terminals = read_beside(in, GPV_FORMAT_LABEL32, fields);
    Picture mask = read_beside(in, GPV_FORMAT_GRAY8, fields);
    fill(in, links, false);
    fill(in, terminals, true);
    const auto result = read_flat(in, sizeof(gpv_graphcut_result) + in.below(8));
    if (in.once_in(16))
        mask.view.data[0] = in.flag() ? links.view.data[0] : terminals.view.data[0];
    if (result && in.once_in(16))
        result->view.data = (in.flag() ? mask : terminals).view.data[0];
    if (in.once_in(8))
        budget.fail_at = 1 + in.below(8);
    if (in.once_in(4)) {
        status = gpv_graphcut_prepare(op, &links.view);
        REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    }

    const auto usable = [](const Picture &p) { return p.backed || !p.legal; };
    if (usable(links) && usable(terminals) && usable(mask))
        solve(context, op, params_in_force ? &params : nullptr,
              {terminals, links, mask, result.get()}, budget);
    gpv_graphcut_destroy(&op);
    gpv_context_destroy(&context);
    REQUIRE(budget.live == 0);
    return 0;
}
