// SPDX-License-Identifier: BSD-2-Clause
// Raw bits to one use of matching, or of the search for a homography, under the same promises as
// erode.cpp. What is accepted equals a loop over all pairs.
#include "fuzz.hpp"

#include <climits>
#include <cmath>

namespace {

using Bytes = std::vector<std::vector<std::uint8_t>>;

constexpr std::int32_t no_distance = INT32_MAX;

gpv_match_params read_params(Input &in) {
    gpv_match_params params;
    gpv_match_params_init(&params, sizeof params);
    if (in.once_in(16)) {
        params = in.raw<gpv_match_params>();
        if (params.struct_size > sizeof params) // there is no more to read
            params.struct_size = sizeof params;
        return params;
    }
    params.ratio = in.once_in(8) ? in.raw<float>() : static_cast<float>(in.below(21)) / 20;
    params.mutual = in.once_in(32) ? in.raw<std::uint32_t>() : in.flag();
    return params;
}

std::int32_t read_count(Input &in) {
    return in.once_in(16) ? in.raw<std::int32_t>() : in.below(in.once_in(8) ? 200 : 40);
}

/// Few kinds of descriptors, so that many are near and many equally far.
void fill(Input &in, Flat &flat) {
    auto *data = static_cast<std::uint8_t *>(flat.view.data);
    const int kinds = 1 + in.below(8), changes = in.below(4);
    const bool black_and_white = in.once_in(4);
    std::uint32_t state = in.raw<std::uint16_t>();
    const auto next = [&] {
        state = state * 1664525u + 1013904223u;
        return state >> 16;
    };
    for (std::size_t i = 0; i < flat.view.size; i += GPV_SIFT_DESCRIPTOR_LENGTH) {
        const std::size_t end =
            std::min<std::size_t>(flat.view.size, i + GPV_SIFT_DESCRIPTOR_LENGTH);
        const std::uint32_t kind = next() % kinds;
        for (std::size_t k = i; k < end; k++) {
            const std::uint32_t bits =
                (kind + 1) * 2654435761u * static_cast<std::uint32_t>(k - i + 1);
            data[k] = static_cast<std::uint8_t>(black_and_white ? 0 - (bits >> 31) : bits >> 24);
        }
        for (int c = 0; c < changes; c++)
            data[i + next() % (end - i)] = static_cast<std::uint8_t>(next());
    }
}

/// With descriptors, as many as are said, or another number of bytes.
std::unique_ptr<Flat> read_set(Input &in, std::int32_t count) {
    if (in.once_in(32))
        return nullptr;
    const std::size_t promised =
        count > 0 && count <= 200 ? std::size_t(count) * GPV_SIFT_DESCRIPTOR_LENGTH : 1;
    auto flat =
        std::make_unique<Flat>(in, in.once_in(16) ? in.raw<std::uint16_t>() % 8192 : promised);
    fill(in, *flat);
    return flat;
}

/// What a run is given. Each buffer has its own memory, unless it is shared.
struct Call {
    std::unique_ptr<Flat> query, found, train, nearest, pairs, result;
    std::int32_t query_count = 0, train_count = 0;
    bool shared = false;

    explicit Call(Input &in) {
        query_count = read_count(in);
        train_count = read_count(in);
        query = read_set(in, query_count);
        train = read_set(in, train_count);
        if (in.once_in(4)) {
            found =
                std::make_unique<Flat>(in, sizeof(gpv_sift_result) + in.below(8) - in.once_in(8));
            gpv_sift_result counted{
                .struct_size = sizeof counted, .count = 0, .dropped = 0, .reserved = 0};
            counted.count = in.once_in(4) ? in.raw<std::int32_t>() : in.below(40);
            std::memcpy(found->view.data, &counted,
                        std::min<std::size_t>(found->view.size, sizeof counted));
        }
        const std::size_t records = query_count > 0 && query_count <= 200 ? query_count : 1;
        nearest = read_flat(in, records * sizeof(gpv_match_nearest) + in.below(4) - in.once_in(16));
        pairs = read_flat(in, in.below(static_cast<int>(records) + 2) * sizeof(gpv_match_pair) +
                                  in.below(16));
        result = read_flat(in, sizeof(gpv_match_result) + in.below(4) - in.once_in(16));
        if (in.once_in(16))
            share(in.below(6), in.below(6), in.below(64));
    }

    std::vector<Flat *> all() const {
        return {query.get(), found.get(), train.get(), nearest.get(), pairs.get(), result.get()};
    }
    /// Puts one into the memory of another.
    void share(int a, int b, std::size_t offset) {
        Flat *one = all()[a], *other = all()[b];
        if (a == b || !one || !other || other->view.size <= offset)
            return;
        one->view.data = static_cast<std::uint8_t *>(other->view.data) + offset;
        one->view.size = std::min<std::uint64_t>(one->view.size, other->view.size - offset);
        shared = true;
    }
    Bytes bytes() const {
        Bytes all_bytes;
        for (const Flat *flat : all())
            all_bytes.push_back(flat ? flat->block : std::vector<std::uint8_t>());
        return all_bytes;
    }
    gpv_status run(gpv_match *op) const {
        const auto view = [](const auto &flat) { return flat ? &flat->view : nullptr; };
        return gpv_match_run(op, nullptr, view(query), query_count, view(found), view(train),
                             train_count, view(nearest), view(pairs), view(result));
    }

    /// As many as there are to compare.
    std::int32_t queries() const {
        if (!found)
            return query_count;
        gpv_sift_result counted;
        std::memcpy(&counted, found->view.data, sizeof counted);
        return std::clamp(counted.count, 0, query_count);
    }
    /// Whether nothing is wrong with it.
    bool legal() const {
        const auto good = [](const auto &flat, std::size_t bytes) {
            return flat->view.memory == GPV_MEMORY_HOST && flat->view.reserved == 0 &&
                   flat->view.size >= bytes &&
                   reinterpret_cast<std::uintptr_t>(flat->view.data) % 4 == 0;
        };
        const auto count = [](std::int32_t n) { return n >= 0 && n <= GPV_MATCH_MAX_DESCRIPTORS; };
        const auto set = [&](const auto &flat, std::int32_t n) {
            return n == 0 || (flat && good(flat, std::size_t(n) * GPV_SIFT_DESCRIPTOR_LENGTH));
        };
        return count(query_count) && count(train_count) && set(query, query_count) &&
               set(train, train_count) && (!found || good(found, sizeof(gpv_sift_result))) &&
               (!nearest || query_count == 0 ||
                good(nearest, query_count * sizeof(gpv_match_nearest))) &&
               (!pairs || good(pairs, sizeof(gpv_match_pair))) &&
               (!result || good(result, sizeof(gpv_match_result)));
    }
};

const std::uint8_t *descriptor(const std::unique_ptr<Flat> &set, std::int32_t i) {
    return static_cast<const std::uint8_t *>(set->view.data) +
           std::size_t(i) * GPV_SIFT_DESCRIPTOR_LENGTH;
}

gpv_match_nearest nearest_of(const std::uint8_t *to, const std::unique_ptr<Flat> &set,
                             std::int32_t count) {
    gpv_match_nearest best = {{-1, -1}, {no_distance, no_distance}};
    for (std::int32_t i = 0; i < count; i++) {
        const std::uint8_t *other = descriptor(set, i);
        std::int32_t sum = 0;
        for (int k = 0; k < GPV_SIFT_DESCRIPTOR_LENGTH; k++)
            sum += (to[k] - other[k]) * (to[k] - other[k]);
        const int place = sum < best.distance[0] ? 0 : sum < best.distance[1] ? 1 : 2;
        if (place == 0) {
            best.index[1] = best.index[0];
            best.distance[1] = best.distance[0];
        }
        if (place < 2) {
            best.index[place] = i;
            best.distance[place] = sum;
        }
    }
    return best;
}

template <class T>
void put(const std::unique_ptr<Flat> &flat, std::int32_t i, const T &record) {
    if (flat)
        std::memcpy(static_cast<std::uint8_t *>(flat->view.data) + i * sizeof record, &record,
                    sizeof record);
}

/// Writes what a run is to write.
gpv_match_result reference(const gpv_match_params &params, const Call &call) {
    const std::int32_t queries = call.queries();
    const double ratio = params.ratio;
    gpv_match_result result{
        .struct_size = sizeof result, .count = 0, .dropped = 0, .queries = queries};
    const std::size_t room = call.pairs ? call.pairs->view.size / sizeof(gpv_match_pair) : SIZE_MAX;
    for (std::int32_t i = 0; i < queries; i++) {
        const gpv_match_nearest n =
            nearest_of(descriptor(call.query, i), call.train, call.train_count);
        put(call.nearest, i, n);
        if (n.index[0] < 0 ||
            (ratio != 0 && n.index[1] >= 0 && n.distance[0] >= ratio * ratio * n.distance[1]))
            continue;
        if (params.mutual &&
            nearest_of(descriptor(call.train, n.index[0]), call.query, queries).index[0] != i)
            continue;
        if (std::size_t(result.count) == room) {
            result.dropped++;
            continue;
        }
        put(call.pairs, result.count, gpv_match_pair{i, n.index[0], n.distance[0], n.distance[1]});
        result.count++;
    }
    put(call.result, 0, result);
    return result;
}

gpv_match_result waited_for(gpv_match *op) {
    gpv_match_result found;
    gpv_match_result_init(&found, sizeof found);
    REQUIRE(gpv_match_query(op) == GPV_OK && gpv_match_wait(op, &found) == GPV_OK);
    REQUIRE(found.struct_size == sizeof found);
    return found;
}

void run(gpv_context *context, gpv_match *op, const gpv_match_params &params, const Call &call,
         Budget &budget) {
    const bool may_fail = budget.fail_at > 0;
    const Bytes before = call.bytes();
    const gpv_status status = call.run(op);
    const gpv_match_result found = waited_for(op);
    if (status != GPV_OK) {
        REQUIRE(status < GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
        REQUIRE(gpv_context_error(context)[0] && call.bytes() == before);
        REQUIRE(found.count == 0 && found.dropped == 0 && found.queries == 0);
        REQUIRE(status == GPV_ERR_OUT_OF_MEMORY ? may_fail : call.shared || !call.legal());
        return;
    }
    if (call.shared) // by what is not looked at, or only read
        return;
    REQUIRE(call.legal());
    const Bytes once = call.bytes();
    for (const auto &flat : call.all())
        if (flat &&
            (flat == call.nearest.get() || flat == call.pairs.get() || flat == call.result.get()))
            std::fill(flat->block.begin(), flat->block.end(), Flat::canary);
    const gpv_match_result want = reference(params, call);
    REQUIRE(call.bytes() == once);
    REQUIRE(std::memcmp(&want, &found, sizeof found) == 0);

    budget.fail_at = 0;
    REQUIRE(call.run(op) == GPV_OK && call.bytes() == once);
    const gpv_match_result again = waited_for(op);
    REQUIRE(std::memcmp(&again, &found, sizeof found) == 0);
}

/// An outline of any bits, or of places in the picture and around it.
void draw(Input &in, gpv_context *context, gpv_match *op) {
    const Fields fields = read_fields(in);
    Picture dst(in, fields);
    const std::int32_t said = in.once_in(16) ? in.raw<std::int32_t>() : 2 + in.below(6);
    const std::int32_t count = std::clamp(said, 0, 64);
    std::vector<float> points(2 * count); // AddressSanitizer sees one too many
    for (float &point : points)
        point =
            in.once_in(8) ? in.raw<float>() : static_cast<float>(in.raw<std::int16_t>() % 512) / 4;
    const float width = in.once_in(8) ? in.raw<float>() : 1 + static_cast<float>(in.below(40)) / 4;
    const std::uint32_t color = in.once_in(16) ? in.raw<std::uint32_t>() : in.raw<std::uint16_t>();
    if (dst.legal && !dst.backed)
        return;
    const Bytes before = dst.bytes();
    const auto paint = [&] {
        return gpv_draw_outline(op, nullptr, &dst.view, points.data(), said, width, color);
    };
    const gpv_status status = paint();
    if (status != GPV_OK) {
        REQUIRE(status == GPV_ERR_INVALID_ARGUMENT || status == GPV_ERR_UNSUPPORTED);
        REQUIRE(gpv_context_error(context)[0] && dst.bytes() == before);
        return;
    }
    REQUIRE(dst.legal && said == count && count >= 2 && width >= 1 && width <= 1000);
    REQUIRE(color <= 0xffffff);
    const Bytes once = dst.bytes();
    const Channel luma = channels_of(dst.view.format)[0]; // or red
    for (int y = 0; y < dst.view.height; y++)
        for (int x = 0; x < dst.view.width; x++) { // no pixel that is far from every line
            double nearest = INFINITY;
            for (std::int32_t i = 0; i < count; i++) {
                const float *a = &points[2 * i], *b = &points[2 * ((i + 1) % count)];
                const double dx = double{b[0]} - a[0], dy = double{b[1]} - a[1];
                const double length = dx * dx + dy * dy;
                const double t =
                    length > 0 ? std::clamp(((x - a[0]) * dx + (y - a[1]) * dy) / length, 0.0, 1.0)
                               : 0;
                nearest = std::min(nearest, std::hypot(x - a[0] - t * dx, y - a[1] - t * dy));
            }
            const auto at = dst.place(luma, x, y) - dst.blocks[0].get();
            REQUIRE(nearest < width * 0.5 + 1 || once[0][at] == before[0][at]);
        }
    REQUIRE(paint() == GPV_OK && dst.bytes() == once);
}

void match(Input &in, gpv_context *context, Budget &budget) {
    gpv_match *op = nullptr;
    gpv_match_params params = read_params(in);
    gpv_status status = gpv_match_create(context, &params, &op);
    REQUIRE(status == GPV_OK || status == GPV_ERR_INVALID_ARGUMENT);
    if (status != GPV_OK) {
        REQUIRE(!op && gpv_match_create(context, nullptr, &op) == GPV_OK);
        REQUIRE(gpv_match_set_params(op, &params) == status);
        gpv_match_params_init(&params, sizeof params);
    }
    const Call call(in);
    if (in.once_in(8))
        budget.fail_at = 1 + in.below(4);
    if (in.once_in(4)) {
        const bool any = in.once_in(4);
        const auto queries = any ? in.raw<std::int32_t>() : in.below(200);
        const auto trains = any ? in.raw<std::int32_t>() : in.below(200);
        status =
            gpv_match_prepare(op, queries, trains,
                              in.once_in(8) ? in.raw<gpv_memory>() : gpv_memory{GPV_MEMORY_HOST});
        REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    }
    run(context, op, params, call, budget);
    if (in.once_in(4))
        draw(in, context, op);
    gpv_match_destroy(&op);
}

// ---- homographies -------------------------------------------------------------------

gpv_homography_params read_search(Input &in) {
    gpv_homography_params params;
    gpv_homography_params_init(&params, sizeof params);
    if (in.once_in(16)) {
        params = in.raw<gpv_homography_params>();
        if (params.struct_size > sizeof params)
            params.struct_size = sizeof params;
    } else {
        params.threshold =
            in.once_in(4) ? in.raw<float>() : static_cast<float>(1 + in.below(40)) / 4;
        params.confidence =
            in.once_in(4) ? in.raw<float>() : static_cast<float>(in.below(100)) / 100;
        params.max_iterations = in.once_in(16) ? in.raw<std::int32_t>() : 1 + in.below(100);
        params.seed = in.raw<std::uint16_t>();
    }
    limit("homography", "max_iterations", params.max_iterations, 200);
    return params;
}

/// As the header has it: what the library says of itself could be wrong in both.
bool legal(const gpv_homography_params &params) {
    return params.struct_size == sizeof params && params.threshold > 0 &&
           params.threshold <= 1e6f && params.confidence >= 0 && params.confidence <= 0.999999f &&
           params.max_iterations >= 1 && params.max_iterations <= 1'000'000 && params.reserved == 0;
}

/// Any bits; or places of whole numbers, of which most are where a homography takes them, or on a
/// line, or in one place.
void fill_points(Input &in, std::vector<float> &from, std::vector<float> &to) {
    const int kind = in.below(5);
    const auto slope = static_cast<float>(in.below(16) - 8) / 8,
               turn = static_cast<float>(in.below(16) - 8) / 8,
               far = static_cast<float>(in.below(16) - 8) / 2048;
    const float scale = in.once_in(8) ? in.raw<float>() : 1;
    std::uint32_t state = in.raw<std::uint16_t>();
    const auto next = [&](int limit) {
        state = state * 1664525u + 1013904223u;
        return static_cast<float>((state >> 16) % limit);
    };
    for (std::size_t i = 0; i < from.size(); i += 2) {
        const float x = kind == 1 ? 7 : next(256), y = kind == 1   ? 7
                                                       : kind == 2 ? 2 * x + 1
                                                                   : next(256);
        const bool wrong = next(16) < 4;
        const float w = 1 + far * x + far / 2 * y;
        from[i] = scale * x;
        from[i + 1] = scale * y;
        to[i] = scale * (wrong ? next(256) : (x + slope * y + 9) / w);
        to[i + 1] = scale * (wrong ? next(256) : (turn * x + y - 5) / w);
        if (kind == 0) {
            from[i] = in.raw<float>();
            from[i + 1] = in.raw<float>();
            to[i] = in.raw<float>();
            to[i + 1] = in.raw<float>();
        }
    }
}

void check_homography(const gpv_homography &found, const std::vector<std::uint8_t> &fits,
                      const gpv_homography_params &params) {
    gpv_homography nothing;
    gpv_homography_init(&nothing, sizeof nothing);
    nothing.struct_size = found.struct_size;
    const auto fitting = std::count(fits.begin(), fits.end(), 1);
    REQUIRE(fitting + std::count(fits.begin(), fits.end(), 0) == std::ptrdiff_t(fits.size()));
    REQUIRE(found.inliers == fitting);
    if (!found.found) {
        REQUIRE(std::memcmp(&found, &nothing, sizeof found) == 0);
        return;
    }
    REQUIRE(found.found == 1 && fitting >= 4 && found.matrix[8] == 1);
    REQUIRE(std::all_of(found.matrix, found.matrix + 9, [](double n) { return std::isfinite(n); }));
    REQUIRE(found.error >= 0 && found.error <= params.threshold * 1.000001);
    REQUIRE(found.iterations >= 1 && found.iterations <= params.max_iterations);
}

void search(Input &in, gpv_context *context) {
    gpv_homography_params params = read_search(in);
    const std::int32_t said = in.once_in(16) ? in.raw<std::int32_t>() : in.below(40);
    const std::int32_t count = std::clamp(said, 0, 40);
    std::vector<float> from(2 * count),
        to(2 * count); // exactly: AddressSanitizer sees one too many
    std::vector<std::uint8_t> fits(count, Flat::canary);
    fill_points(in, from, to);
    const auto size =
        in.once_in(8) ? in.raw<std::uint16_t>() % 4200u : unsigned{sizeof(gpv_homography)};
    std::vector<std::uint64_t> memory(4096 / 8, 0xC5C5C5C5C5C5C5C5u);
    auto *out = reinterpret_cast<gpv_homography *>(memory.data());
    out->struct_size = size;
    const bool with_fits = !in.once_in(8);
    const auto before = memory;
    const auto from_before = from, to_before = to;
    const auto bytes_of = [&] { return reinterpret_cast<const std::uint8_t *>(memory.data()); };
    const auto find = [&] {
        return gpv_homography_find(context, &params, from.data(), to.data(),
                                   said > 40 && said <= GPV_MATCH_MAX_DESCRIPTORS ? 40 : said,
                                   with_fits ? fits.data() : nullptr, out);
    };
    const gpv_status status = find();
    const auto finite = [](const std::vector<float> &points) {
        return std::all_of(points.begin(), points.end(), [](float p) { return std::isfinite(p); });
    };
    const auto same = [](const std::vector<float> &a, const std::vector<float> &b) {
        return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    REQUIRE(same(from, from_before) && same(to, to_before));
    const bool good = legal(params) && said >= 0 && said <= GPV_MATCH_MAX_DESCRIPTORS &&
                      size >= sizeof(gpv_homography) && size <= 4096 && finite(from) && finite(to);
    REQUIRE(status == (good ? GPV_OK : GPV_ERR_INVALID_ARGUMENT));
    if (!with_fits || !good)
        REQUIRE(std::all_of(fits.begin(), fits.end(),
                            [](std::uint8_t f) { return f == Flat::canary; }));
    if (!good) {
        REQUIRE(gpv_context_error(context)[0] && memory == before);
        return;
    }
    REQUIRE(out->struct_size == size);
    const std::size_t known = sizeof(gpv_homography);
    REQUIRE(
        std::all_of(bytes_of() + known, bytes_of() + size, [](std::uint8_t b) { return b == 0; }));
    REQUIRE(std::all_of(bytes_of() + size, bytes_of() + 4096,
                        [](std::uint8_t b) { return b == Flat::canary; }));
    if (with_fits)
        check_homography(*out, fits, params);
    const auto once = memory;
    const auto fits_once = fits;
    REQUIRE(find() == GPV_OK && memory == once && fits == fits_once);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    Input in(data, size);
    Budget budget;
    gpv_context *context = open_context(budget);
    if (in.once_in(3))
        search(in, context);
    else
        match(in, context, budget);
    gpv_context_destroy(&context);
    REQUIRE(budget.live == 0);
    return 0;
}
