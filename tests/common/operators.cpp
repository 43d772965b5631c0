// SPDX-License-Identifier: BSD-2-Clause
#include "operators.hpp"

namespace operators {

Arguments::Arguments(const Run &asked) : run(asked) {
    for (int i = 0; i < max_ports; i++) {
        gpv_image_init(&images[i], sizeof images[i]);
        images[i].format = run.formats[i];
        images[i].width = run.width;
        images[i].height = run.height;
        gpv_buffer_init(&buffers[i], sizeof buffers[i]);
        buffers[i].size = run.bytes[i];
        given[i] = run.gives(i);
    }
}

Run sized(const Operator &op, Run run, int width, int height) {
    run.width = width;
    run.height = height;
    if (op.fit)
        op.fit(run);
    return run;
}

Memory::Memory(const Operator &op, const Run &run, unsigned seed, std::int64_t gap)
    : arguments(run) {
    for (int i = 0; i < static_cast<int>(op.ports.size()); i++) {
        gpv_image &image = arguments.images[i];
        std::int64_t stride = 0, bytes = static_cast<std::int64_t>(run.bytes[i]);
        const auto lay = [&](void *data) {
            return gpv_image_wrap(&image, sizeof image, run.formats[i], run.width, run.height, data,
                                  stride);
        };
        if (!run.gives(i))
            continue;
        if (op.ports[i].is_image()) {
            lay(nullptr);
            stride = image.stride[0] + gap;
            bytes = lay(nullptr);
        }
        blocks[i].assign(static_cast<std::size_t>(bytes + 7) / 8, 0xC5C5C5C5C5C5C5C5);
        arguments.buffers[i].data = blocks[i].data();
        if (op.ports[i].is_image())
            lay(blocks[i].data());
    }
    op.fill(arguments, seed);
}

const std::vector<const Operator *> &all() {
    static const std::vector<const Operator *> operators = [] {
        std::vector<const Operator *> result;
#define ADD(stem)                                                                                  \
    for (const Operator *it = &stem; it; it = it->beside)                                          \
        result.push_back(it);
        STEMS(ADD)
#undef ADD
        return result;
    }();
    return operators;
}

const std::vector<gpv_format> &mask_formats() {
    static const std::vector<gpv_format> formats = {GPV_FORMAT_GRAY8, GPV_FORMAT_NV12,
                                                    GPV_FORMAT_I420};
    return formats;
}

std::uint64_t bytes_of_records(std::uint64_t count, std::uint32_t record, std::uint32_t stride) {
    return count ? (count - 1) * (stride ? stride : record) + record : 0;
}

std::uint32_t next_random(std::uint32_t &state) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

void fill_with_noise(const gpv_image &image, unsigned seed) {
    std::uint32_t state = seed;
    for (int i = 0; i < gpv_format_planes(image.format); i++) {
        std::int64_t row_bytes = 0, rows = 0;
        if (gpv_format_plane(image.format, i, image.width, image.height, &row_bytes, &rows) != 0)
            return;
        for (std::int64_t y = 0; y < rows; y++)
            for (std::int64_t x = 0; x < row_bytes; x++)
                row<unsigned char>(image, i, y)[x] =
                    static_cast<unsigned char>(next_random(state) >> 16);
    }
}

void fill_source(const Arguments &arguments, unsigned seed) {
    fill_with_noise(arguments.images[0], seed);
}

} // namespace operators
