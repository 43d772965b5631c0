// SPDX-License-Identifier: BSD-2-Clause
// Raw bits to one use of scale-invariant features, under the same promises as erode.cpp.
#include "fuzz.hpp"

#include <cmath>
#include <optional>
#include <tuple>

namespace {

using Bytes = std::vector<std::vector<std::uint8_t>>;

constexpr std::int32_t record_bytes = sizeof(gpv_sift_keypoint);

int read_larger(Input &in) {
    const int value = in.raw<std::uint16_t>();
    return 1 + value % (value < 0xC000 ? 64 : 128);
}

Fields read_size(Input &in) {
    Fields fields = read_fields(in);
    if (in.once_in(64)) {
        fields.width = read_larger(in);
        fields.height = read_larger(in);
    }
    return fields;
}

gpv_sift_params read_params(Input &in) {
    gpv_sift_params params;
    gpv_sift_params_init(&params, sizeof params);
    if (in.once_in(16)) {
        params = in.raw<gpv_sift_params>();
        if (params.struct_size > sizeof params) // there is no more to read
            params.struct_size = sizeof params;
        return params;
    }
    params.max_features = in.once_in(4) ? in.below(20) : 0;
    params.octaves = in.below(4);
    params.octave_layers = in.once_in(4) ? in.below(10) : 1 + in.below(4);
    params.contrast_threshold = in.once_in(16) ? in.raw<float>() : in.below(20) / 200.0f;
    params.edge_threshold = in.once_in(16) ? in.raw<float>() : 1.0f + in.below(20);
    params.sigma = in.once_in(16) ? in.raw<float>() : 0.5f + in.below(20) / 10.0f;
    params.upsample = !in.flag();
    params.upright = in.once_in(4);
    params.root_sift = in.once_in(4);
    params.descriptor_type = in.below(2);
    return params;
}

/// What would take longer than it is worth. Illegal numbers stay.
void bound(gpv_sift_params &params, const Fields &fields) {
    if (std::int64_t{fields.width} * fields.height <= 72 * 40)
        return;
    limit("sift", "octave_layers", params.octave_layers, 2);
    limit("sift", "sigma", params.sigma, 1.6f);
    if (params.contrast_threshold >= 0) // flat ones have extrema
        params.contrast_threshold = std::max(params.contrast_threshold, 0.02f);
}

std::size_t descriptor_bytes(const gpv_sift_params &params) {
    return GPV_SIFT_DESCRIPTOR_LENGTH *
           (params.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_F32 ? sizeof(float) : 1);
}

/// Of a stride that may be none: where there is nothing to say, as of the least one.
std::int64_t stride_of(std::uint32_t stride) {
    return stride < record_bytes ? record_bytes : std::int64_t{stride};
}

std::int64_t capacity(std::size_t bytes, std::uint32_t stride) {
    return (static_cast<std::int64_t>(bytes) + stride_of(stride) - record_bytes) /
           stride_of(stride);
}

std::uint32_t read_stride(Input &in) {
    return in.once_in(8)   ? in.raw<std::uint16_t>()
           : in.once_in(2) ? record_bytes + 4 * in.below(9)
                           : 0;
}

gpv_sift_keypoint read_record(const Flat &flat, std::uint32_t stride, std::int64_t i) {
    gpv_sift_keypoint k;
    std::memcpy(&k, static_cast<const std::uint8_t *>(flat.view.data) + i * stride_of(stride),
                sizeof k);
    return k;
}

/// All that a run writes.
struct Outputs {
    Flat *keypoints;
    std::uint32_t stride;
    Flat *descriptors, *result;

    gpv_status run(gpv_sift *op, const Picture &src, const Picture *mask) const {
        const auto view = [](const auto *output) { return output ? &output->view : nullptr; };
        return gpv_sift_run(op, nullptr, &src.view, view(mask), view(keypoints), stride,
                            view(descriptors), view(result));
    }
    Bytes bytes() const {
        Bytes all;
        for (const Flat *flat : {keypoints, descriptors, result})
            if (flat)
                all.push_back(flat->block);
        return all;
    }
};

bool canaries(const std::uint8_t *from, const std::uint8_t *to) {
    return std::all_of(from, to, [](std::uint8_t byte) { return byte == Flat::canary; });
}

/// Whether the bytes behind so many are as they were, and those in front of the buffer.
bool intact_behind(const Flat &flat, std::size_t bytes) {
    const auto *data = static_cast<const std::uint8_t *>(flat.view.data);
    const std::uint8_t *block = flat.block.data();
    return canaries(block, data) && canaries(data + bytes, block + flat.block.size());
}

/// Each descriptor has length 1, or is 0.
void check_descriptor(const std::uint8_t *numbers, const gpv_sift_params &params) {
    double squares = 0;
    for (int i = 0; i < GPV_SIFT_DESCRIPTOR_LENGTH; i++) {
        float number = numbers[i] / 512.0f;
        if (params.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_F32)
            std::memcpy(&number, numbers + 4 * i, sizeof number);
        REQUIRE(number >= 0 && number <= 1.00001f);
        squares += double{number} * number;
    }
    if (params.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_F32)
        REQUIRE(squares == 0 || std::abs(squares - 1) < 1e-4);
    else // a number that is cut off, and rounding
        REQUIRE(squares < 1.13);
}

std::int32_t octave_of(const gpv_sift_keypoint &k) {
    return (k.octave + 1) & 255;
}

void check_keypoint(const gpv_sift_keypoint &k, const gpv_sift_params &p, const gpv_image &src,
                    const Picture *mask) {
    REQUIRE(k.x > 2 && k.x < src.width - 2 && k.y > 2 && k.y < src.height - 2);
    REQUIRE(k.sigma > p.sigma * 0.49f && k.sigma < std::max(src.width, src.height));
    REQUIRE(k.angle >= 0 && k.angle < 360 && (!p.upright || k.angle == 0));
    REQUIRE(k.response > 0 && k.response < 1);
    REQUIRE(k.response * p.octave_layers >= p.contrast_threshold * 0.99999f);
    const int octave = octave_of(k) - (p.upsample ? 0 : 1), layer = k.octave >> 8 & 255;
    REQUIRE(octave >= 0 && octave < (p.octaves ? p.octaves : 16));
    REQUIRE(layer >= 1 && layer <= p.octave_layers && k.octave >= 0 && k.octave < 1 << 24);
    if (mask)
        REQUIRE(mask->row(0, std::lround(k.y))[std::lround(k.x)] != 0);
}

/// Of the pixel of the octave. A doubled picture begins a quarter of a pixel before its first.
long pixel_of(const gpv_sift_keypoint &k, float coordinate, bool upsample) {
    return std::lround((coordinate + (upsample ? 0.25f : 0)) / std::ldexp(0.5f, octave_of(k)));
}

/// Which keypoint comes first.
bool before(const gpv_sift_keypoint &a, const gpv_sift_keypoint &b, bool upsample) {
    if (a.response != b.response)
        return a.response > b.response;
    const auto place = [&](const gpv_sift_keypoint &k) {
        return std::tuple(octave_of(k), k.octave >> 8 & 255, pixel_of(k, k.y, upsample),
                          pixel_of(k, k.x, upsample), k.angle);
    };
    return place(a) < place(b);
}

void check_found(const gpv_sift_result &found, const Outputs &o, const gpv_sift_params &p) {
    REQUIRE(found.struct_size == sizeof found && found.reserved == 0);
    REQUIRE(found.count >= 0 && found.dropped >= 0);
    std::int64_t room = p.max_features ? p.max_features : INT32_MAX;
    if (o.keypoints)
        room = std::min(room, capacity(o.keypoints->view.size, o.stride));
    REQUIRE(found.count <= room && (found.dropped == 0 || found.count == room));
}

void check_result(const Outputs &o, const gpv_sift_params &p, const gpv_image &src,
                  const Picture *mask, const gpv_sift_result &found) {
    if (o.result) {
        REQUIRE(std::memcmp(o.result->view.data, &found, sizeof found) == 0);
        REQUIRE(intact_behind(*o.result, sizeof found));
    }
    if (!o.keypoints)
        return;
    std::optional<gpv_sift_keypoint> last;
    const std::int64_t stride = stride_of(o.stride);
    const auto *records = static_cast<const std::uint8_t *>(o.keypoints->view.data);
    for (std::int32_t i = 0; i < found.count; i++) {
        const gpv_sift_keypoint k = read_record(*o.keypoints, o.stride, i);
        check_keypoint(k, p, src, mask);
        REQUIRE(!last || before(*last, k, p.upsample));
        REQUIRE(i + 1 == found.count ||
                canaries(records + i * stride + record_bytes, records + (i + 1) * stride));
        last = k;
    }
    const std::int64_t used = found.count ? (found.count - 1) * stride + record_bytes : 0;
    REQUIRE(intact_behind(*o.keypoints, used));
    if (!o.descriptors)
        return;
    const auto *numbers = static_cast<const std::uint8_t *>(o.descriptors->view.data);
    for (std::int32_t i = 0; i < found.count; i++)
        check_descriptor(numbers + i * descriptor_bytes(p), p);
    REQUIRE(intact_behind(*o.descriptors, found.count * descriptor_bytes(p)));
}

/// What a call says of itself, and what of the one before.
gpv_status check_status(gpv_context *context, gpv_sift *op, gpv_status status,
                        gpv_sift_result &found) {
    REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    REQUIRE(status == GPV_OK || gpv_context_error(context)[0]);
    gpv_sift_result_init(&found, sizeof found);
    const gpv_status waited = gpv_sift_wait(op, &found);
    REQUIRE(waited == GPV_OK || waited == GPV_ERR_TOO_SMALL);
    REQUIRE(gpv_sift_query(op) == waited);
    REQUIRE(waited == GPV_OK || (found.count == 0 && found.dropped > 65536));
    return waited;
}

/// Whether there is a result with its keypoints and descriptors.
bool run(gpv_context *context, gpv_sift *op, const gpv_sift_params &params, const Picture &src,
         const Picture *mask, const Outputs &outputs, Budget &budget, gpv_sift_result &found) {
    const Bytes before_src = src.bytes(), before = outputs.bytes();
    const Bytes before_mask = mask ? mask->bytes() : Bytes{};
    const gpv_status status = outputs.run(op, src, mask);
    const gpv_status waited = check_status(context, op, status, found);
    REQUIRE(src.bytes() == before_src && (!mask || mask->bytes() == before_mask));
    if (status == GPV_ERR_INVALID_ARGUMENT || status == GPV_ERR_UNSUPPORTED)
        REQUIRE(outputs.bytes() == before);
    if (status != GPV_OK) {
        REQUIRE(waited == GPV_OK && found.count == 0 && found.dropped == 0);
        return false;
    }
    REQUIRE(src.legal && (!mask || mask->legal));
    if (waited != GPV_OK) {
        REQUIRE(!outputs.keypoints || intact_behind(*outputs.keypoints, 0));
        return false;
    }
    check_found(found, outputs, params);
    check_result(outputs, params, src.view, mask, found);

    budget.fail_at = 0;
    const Bytes once = outputs.bytes();
    gpv_sift_result again;
    gpv_sift_result_init(&again, sizeof again);
    REQUIRE(outputs.run(op, src, mask) == GPV_OK && outputs.bytes() == once);
    REQUIRE(gpv_sift_wait(op, &again) == GPV_OK);
    REQUIRE(std::memcmp(&found, &again, sizeof found) == 0);
    return outputs.keypoints && outputs.descriptors;
}

/// Those that were found are described as they were, but at the ends of a layer, where rounding may
/// choose the next.
void describe_found(gpv_sift *op, const gpv_sift_params &params, const Picture &src,
                    const Outputs &o, const gpv_sift_result &found) {
    const Bytes before = o.bytes();
    const std::size_t bytes = descriptor_bytes(params);
    auto *numbers = static_cast<std::uint8_t *>(o.descriptors->view.data);
    const std::vector<std::uint8_t> once(numbers, numbers + found.count * bytes);
    std::memset(numbers, 0x3C, once.size());
    REQUIRE(gpv_sift_describe(op, nullptr, &src.view, &o.keypoints->view, o.stride, found.count,
                              &o.descriptors->view) == GPV_OK);
    for (std::int32_t i = 0; i < found.count; i++) {
        const int place = read_record(*o.keypoints, o.stride, i).octave >> 16 & 255;
        if (place == 0 || place == 255)
            std::memcpy(numbers + i * bytes, &once[i * bytes], bytes);
    }
    REQUIRE(o.bytes() == before);
}

/// Any bits, or such as a keypoint may have.
void fill_records(Input &in, const Flat &flat, std::uint32_t stride, const Fields &fields) {
    for (std::int64_t i = 0; i < capacity(flat.view.size, stride); i++) {
        gpv_sift_keypoint k = in.once_in(4) ? in.raw<gpv_sift_keypoint>() : gpv_sift_keypoint{};
        if (k.sigma == 0) {
            k.x = static_cast<float>(in.below(256)) * static_cast<float>(fields.width) / 255;
            k.y = static_cast<float>(in.below(256)) * static_cast<float>(fields.height) / 255;
            k.sigma = static_cast<float>(in.below(64)) / 8;
            k.angle = static_cast<float>(in.raw<std::int16_t>()) / 16;
        }
        if (in.once_in(8)) {
            const auto any = in.raw<float>();
            (in.flag() ? k.sigma : k.angle) = any;
        }
        std::memcpy(static_cast<std::uint8_t *>(flat.view.data) + i * stride_of(stride), &k,
                    sizeof k);
    }
}

bool describable(const gpv_sift_keypoint &k, const gpv_image &src) {
    return std::isfinite(k.x) && std::isfinite(k.y) && std::isfinite(k.sigma) &&
           std::isfinite(k.angle) && k.sigma > 0 && k.x >= -0.5f && k.y >= -0.5f &&
           k.x <= static_cast<float>(src.width) - 0.5f &&
           k.y <= static_cast<float>(src.height) - 0.5f;
}

void describe_given(Input &in, gpv_context *context, gpv_sift *op, const gpv_sift_params &params,
                    const Picture &src, const Fields &fields) {
    const std::uint32_t stride = read_stride(in);
    const std::int64_t records = 1 + in.below(6);
    Flat keypoints(in, (records - 1) * (stride_of(stride) % 4096) + record_bytes + in.below(4));
    fill_records(in, keypoints, stride, fields);
    const std::int32_t count = in.once_in(8) ? in.raw<std::int32_t>() : in.below(7);
    const std::size_t bytes = descriptor_bytes(params);
    Flat descriptors(in, in.once_in(8) ? in.raw<std::uint16_t>() % 4096
                                       : std::clamp(count, 1, 6) * bytes);
    const auto before = descriptors.block, records_before = keypoints.block;
    const auto describe = [&] {
        return gpv_sift_describe(op, nullptr, &src.view, &keypoints.view, stride, count,
                                 &descriptors.view);
    };
    const gpv_status status = describe();
    REQUIRE(keypoints.block == records_before);
    if (status != GPV_OK) {
        REQUIRE(status >= GPV_ERR_OUT_OF_MEMORY && gpv_context_error(context)[0]);
        REQUIRE(descriptors.block == before);
        return;
    }
    gpv_sift_result found;
    REQUIRE(check_status(context, op, status, found) == GPV_OK);
    REQUIRE(found.count == count && found.dropped == 0);
    REQUIRE(intact_behind(descriptors, count * bytes));
    for (std::int32_t i = 0; i < count; i++) {
        const auto *numbers = static_cast<const std::uint8_t *>(descriptors.view.data) + i * bytes;
        check_descriptor(numbers, params);
        REQUIRE(describable(read_record(keypoints, stride, i), src.view) ||
                std::all_of(numbers, numbers + bytes, [](std::uint8_t byte) { return byte == 0; }));
    }
    const auto once = descriptors.block;
    REQUIRE(describe() == GPV_OK && descriptors.block == once);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    Input in(data, size);
    Budget budget;
    gpv_context *context = open_context(budget);
    gpv_sift *op = nullptr;
    const Fields fields = read_size(in);
    gpv_sift_params params = read_params(in);
    bound(params, fields);
    gpv_status status = gpv_sift_create(context, &params, &op);
    REQUIRE(status == GPV_OK || status == GPV_ERR_INVALID_ARGUMENT);
    if (status != GPV_OK) {
        REQUIRE(!op && gpv_sift_create(context, nullptr, &op) == GPV_OK);
        gpv_sift_params_init(&params, sizeof params);
    }

    const Picture src(in, fields);
    std::unique_ptr<Picture> mask;
    if (in.once_in(4))
        mask = std::make_unique<Picture>(
            in, in.once_in(16) ? read_fields(in)
                               : Fields{GPV_FORMAT_GRAY8, fields.width, fields.height});
    const std::uint32_t stride = read_stride(in);
    const auto keypoints = read_flat(in, in.raw<std::uint16_t>() % 8192);
    std::int64_t room = keypoints ? capacity(keypoints->view.size, stride) : 1;
    if (params.max_features)
        room = std::min<std::int64_t>(room, params.max_features);
    const auto descriptors =
        read_flat(in, in.once_in(8) ? in.raw<std::uint16_t>() % 4096
                                    : std::max<std::int64_t>(room, 1) * descriptor_bytes(params));
    const auto result = read_flat(in, sizeof(gpv_sift_result) + in.below(8));
    if (keypoints && descriptors && in.once_in(16))
        descriptors->view.data = keypoints->view.data;
    if (result && in.once_in(16))
        result->view.data = src.view.data[0];
    if (in.once_in(8))
        budget.fail_at = 1 + in.below(8);
    if (in.once_in(4)) {
        status = gpv_sift_prepare(op, &src.view, mask ? &mask->view : nullptr, in.below(100));
        REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    }

    const auto usable = [](const Picture *p) { return !p || p->backed || !p->legal; };
    if (usable(&src) && usable(mask.get())) {
        const Outputs outputs = {keypoints.get(), stride, descriptors.get(), result.get()};
        gpv_sift_result found;
        if (run(context, op, params, src, mask.get(), outputs, budget, found))
            describe_found(op, params, src, outputs, found);
        describe_given(in, context, op, params, src, fields);
    }
    gpv_sift_destroy(&op);
    gpv_context_destroy(&context);
    REQUIRE(budget.live == 0);
    return 0;
}
