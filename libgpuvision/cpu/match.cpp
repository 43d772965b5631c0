// SPDX-License-Identifier: BSD-2-Clause
// Matching: every query with every descriptor, some of each at a time, so that both stay in the
// cache. Sums of products of bytes are exact in floats: they stay below 2^24.
#include "core/match.hpp"

#include <algorithm>
#include <cstring>

#include "core/arena.hpp"
#include "core/sift.hpp"
#include "cpu/threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef GPV_CPU_MATCH_ONCE
#    define GPV_CPU_MATCH_ONCE
namespace gpv::cpu {
namespace {

constexpr int max_lanes = 16;
constexpr int band_queries = 256; ///< that a thread takes at a time, at most
constexpr int block_trains = 256; ///< whose floats stay in the cache meanwhile
constexpr int at_once = 4;        ///< queries

/// Some descriptors, one behind the other or as a list says.
struct Chosen {
    const std::uint8_t *first;
    const std::int32_t *list; ///< null = all

    const std::uint8_t *operator[](std::int64_t i) const {
        return first + match_length * (list ? list[i] : i);
    }
};

/// Of one thread.
struct Scratch {
    float *queries; ///< number by number of each
    float *trains;  ///< of as many as a vector has lanes, the first number of all, then the second
    float *norms;   ///< of the latter
    float *nearest; ///< the two least distances of each query and lane, without the query's norm
    std::int32_t *indices;

    explicit Scratch(Arena &arena) {
        queries = arena.allocate<float>(band_queries * match_length);
        trains = arena.allocate<float>(block_trains * match_length);
        norms = arena.allocate<float>(block_trains);
        nearest = arena.allocate<float>(band_queries * 2 * max_lanes);
        indices = arena.allocate<std::int32_t>(band_queries * 2 * max_lanes);
    }
};

/// The queries that are compared, and with what.
struct Band {
    Chosen queries;
    std::int64_t first;
    int count;
    const std::uint8_t *trains;
    std::int64_t train_count;
    Nearest *out; ///< of each query
};

inline int norm_of(const std::uint8_t *descriptor) {
    int sum = 0;
    for (int k = 0; k < match_length; k++)
        sum += descriptor[k] * descriptor[k];
    return sum;
}

} // namespace
} // namespace gpv::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, max_lanes>;
using Ints = hn::RebindToSigned<Floats>;
using Vector = hn::Vec<Floats>;

void take_queries(const Band &band, const Scratch &scratch) {
    const std::size_t lanes = hn::Lanes(Floats());
    const std::size_t padded = round_up(band.count, at_once);
    for (std::size_t q = 0; q < padded; q++) {
        float *to = scratch.queries + q * match_length;
        if (q >= static_cast<std::size_t>(band.count)) {
            std::fill_n(to, match_length, 0.0f);
            continue;
        }
        std::copy_n(band.queries[band.first + static_cast<std::int64_t>(q)], match_length, to);
    }
    std::fill_n(scratch.nearest, padded * 2 * lanes, std::numeric_limits<float>::infinity());
    std::fill_n(scratch.indices, padded * 2 * lanes, no_neighbour);
}

/// Those behind the last are farther than any.
void take_trains(const std::uint8_t *from, int count, const Scratch &scratch) {
    const int lanes = static_cast<int>(hn::Lanes(Floats()));
    for (int i = 0; i < block_trains; i++) {
        float *to = scratch.trains + i / lanes * lanes * match_length + i % lanes;
        scratch.norms[i] = std::numeric_limits<float>::infinity();
        if (i < count) {
            const std::uint8_t *descriptor = from + std::int64_t{i} * match_length;
            scratch.norms[i] = static_cast<float>(norm_of(descriptor));
            for (int k = 0; k < match_length; k++)
                to[k * lanes] = descriptor[k];
        } else {
            for (int k = 0; k < match_length; k++)
                to[k * lanes] = 0;
        }
    }
}

/// Keeps the two nearest of each lane. Indices only grow, so of equal distances the first stays.
HWY_INLINE void keep(const Scratch &scratch, std::size_t query, Vector distance,
                     std::int32_t first) {
    const Floats d;
    const Ints di;
    const std::size_t lanes = hn::Lanes(d);
    float *nearest = scratch.nearest + query * 2 * lanes;
    const Vector second = hn::Load(d, nearest + lanes);
    const auto better = hn::Lt(distance, second);
    if (HWY_LIKELY(hn::AllFalse(d, better)))
        return;
    std::int32_t *indices = scratch.indices + query * 2 * lanes;
    const Vector best = hn::Load(d, nearest);
    const auto best_index = hn::Load(di, indices), index = hn::Iota(di, first);
    const auto best_of_all = hn::Lt(distance, best);
    hn::Store(hn::IfThenElse(best_of_all, best, hn::Min(distance, second)), d, nearest + lanes);
    hn::Store(hn::IfThenElse(
                  hn::RebindMask(di, best_of_all), best_index,
                  hn::IfThenElse(hn::RebindMask(di, better), index, hn::Load(di, indices + lanes))),
              di, indices + lanes);
    hn::Store(hn::Min(distance, best), d, nearest);
    hn::Store(hn::IfThenElse(hn::RebindMask(di, best_of_all), index, best_index), di, indices);
}

/// Four queries with as many descriptors as two vectors have lanes.
HWY_INLINE void compare(const Scratch &scratch, std::size_t query, std::size_t train,
                        std::int32_t first) {
    const Floats d;
    const std::size_t lanes = hn::Lanes(d);
    const float *q = scratch.queries + query * match_length;
    const float *t = scratch.trains + train * match_length;
    const float *u = t + lanes * match_length;
    Vector a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (std::size_t k = 0; k < match_length; k++) {
        const Vector a = hn::Load(d, t + k * lanes), b = hn::Load(d, u + k * lanes);
        const Vector q0 = hn::Set(d, q[k]), q1 = hn::Set(d, q[k + match_length]),
                     q2 = hn::Set(d, q[k + 2 * match_length]),
                     q3 = hn::Set(d, q[k + 3 * match_length]);
        a0 = hn::MulAdd(q0, a, a0);
        b0 = hn::MulAdd(q0, b, b0);
        a1 = hn::MulAdd(q1, a, a1);
        b1 = hn::MulAdd(q1, b, b1);
        a2 = hn::MulAdd(q2, a, a2);
        b2 = hn::MulAdd(q2, b, b2);
        a3 = hn::MulAdd(q3, a, a3);
        b3 = hn::MulAdd(q3, b, b3);
    }
    const Vector a_norm = hn::Load(d, scratch.norms + train),
                 b_norm = hn::Load(d, scratch.norms + train + lanes), minus_two = hn::Set(d, -2.0f);
    const auto both = [&](std::size_t i, Vector a, Vector b) HWY_ATTR {
        keep(scratch, query + i, hn::MulAdd(minus_two, a, a_norm), first);
        keep(scratch, query + i, hn::MulAdd(minus_two, b, b_norm),
             first + static_cast<std::int32_t>(lanes));
    };
    both(0, a0, b0);
    both(1, a1, b1);
    both(2, a2, b2);
    both(3, a3, b3);
}

/// Over all lanes.
Nearest nearest_of(const Band &band, const Scratch &scratch, int query) {
    const std::size_t lanes = hn::Lanes(Floats());
    const int norm = norm_of(band.queries[band.first + query]);
    const float *distances = scratch.nearest + query * 2 * lanes;
    const std::int32_t *indices = scratch.indices + query * 2 * lanes;
    Nearest result;
    for (std::size_t i = 0; i < lanes; i++) {
        Nearest of_lane;
        for (int k = 0; k < 2; k++) {
            of_lane.index[k] = indices[k * lanes + i];
            if (of_lane.index[k] != no_neighbour)
                of_lane.distance[k] = norm + static_cast<std::int32_t>(distances[k * lanes + i]);
        }
        result.merge(of_lane);
    }
    return result;
}

void compare_band(const Band &band, const Scratch &scratch) {
    const std::size_t lanes = hn::Lanes(Floats());
    take_queries(band, scratch);
    for (std::int64_t first = 0; first < band.train_count; first += block_trains) {
        const auto count =
            static_cast<int>(std::min<std::int64_t>(block_trains, band.train_count - first));
        take_trains(band.trains + first * match_length, count, scratch);
        for (std::size_t t = 0; t < static_cast<std::size_t>(count); t += 2 * lanes)
            for (std::size_t q = 0; q < static_cast<std::size_t>(band.count); q += at_once)
                compare(scratch, q, t, static_cast<std::int32_t>(first + static_cast<int>(t)));
    }
    for (int q = 0; q < band.count; q++)
        band.out[band.first + q] = nearest_of(band, scratch, q);
}

} // namespace
} // namespace gpv::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu {
namespace {

HWY_EXPORT(compare_band);

constexpr std::size_t vector_alignment = 128;

/// What is kept while a run lasts.
struct Workspace {
    Nearest *nearest;         ///< of the queries
    std::int32_t *candidates; ///< queries that may have a match
    std::int32_t *partners;   ///< the nearest of each
    Nearest *back;            ///< of each partner, among the queries
    int workers;

    Workspace(Arena &arena, std::int64_t queries, int workers_) : workers(workers_) {
        nearest = arena.allocate<Nearest>(queries);
        candidates = arena.allocate<std::int32_t>(queries);
        partners = arena.allocate<std::int32_t>(queries);
        back = arena.allocate<Nearest>(queries);
        of_workers_ = arena.allocate<std::byte>(scratch_bytes() * workers);
    }
    Scratch of_worker(int worker) const {
        Arena arena(vector_alignment, of_workers_ + scratch_bytes() * worker);
        return Scratch(arena);
    }

  private:
    static std::size_t scratch_bytes() {
        Arena arena(vector_alignment);
        Scratch{arena};
        return arena.required();
    }

    std::byte *of_workers_;
};

class CpuMatch final : public Match {
  public:
    explicit CpuMatch(const std::shared_ptr<Context> &context) : scratch_(context) {}

    void set_params(const gpv_match_params &params) override { params_ = params; }

    void prepare(std::int64_t queries, std::int64_t, Memory) override {
        reserve(queries, workers(), nullptr);
    }

    bool run(Stream stream, const MatchRun &run) override {
        MatchSet query = run.query;
        if (run.found)
            query.count = std::clamp<std::int64_t>(
                reinterpret_cast<const SiftResult *>(run.found->data)->count, 0, query.count);
        // As many as prepare() has seen, for at most these.
        const int workers = this->workers();
        reserve(run.query.count, workers, stream);
        Arena arena(vector_alignment, scratch_.data());
        const Workspace work(arena, run.query.count, workers);

        compare(work, {bytes_of(query), nullptr}, query.count, run.train, work.nearest);
        const std::int64_t candidates = choose(work, query.count);
        // Of many queries with few descriptors each of the latter is compared only once.
        const bool all = candidates > run.train.count;
        if (params_.mutual)
            compare(work, {bytes_of(run.train), all ? nullptr : work.partners},
                    all ? run.train.count : candidates, query, work.back);
        found_ = {.struct_size = sizeof found_,
                  .count = 0,
                  .dropped = 0,
                  .queries = static_cast<std::int32_t>(query.count)};
        write_pairs(work, run, candidates, all);
        if (run.nearest)
            std::copy_n(work.nearest, query.count, reinterpret_cast<Nearest *>(run.nearest->data));
        if (run.result)
            std::memcpy(run.result->data, &found_, sizeof found_);
        return true;
    }

    void draw(Stream, const OutlineDrawing &drawing) override { draw_outline(drawing); }

    bool finished() override { return true; }
    void wait() override {}
    MatchResult result() const override { return found_; }

  private:
    int workers() const { return thread_count(scratch_.context().thread_limit()); }

    void reserve(std::int64_t queries, int workers, Stream stream) {
        Arena arena(vector_alignment);
        Workspace(arena, queries, workers);
        scratch_.reserve(arena.required(), stream);
    }

    static const std::uint8_t *bytes_of(const MatchSet &set) {
        return reinterpret_cast<const std::uint8_t *>(set.view.data);
    }

    /// The two nearest of each query in a set.
    static void compare(const Workspace &work, Chosen queries, std::int64_t count,
                        const MatchSet &trains, Nearest *out) {
        constexpr std::int64_t grain = 1 << 16; // pairs that make a thread worth its start
        const auto workers = static_cast<int>(
            std::clamp<std::int64_t>(count * trains.count / grain, 1, work.workers));
        const auto band = static_cast<int>(std::clamp<std::int64_t>(
            static_cast<std::int64_t>(round_up(count / workers + 1, at_once)), at_once,
            band_queries));
        parallel_bands(static_cast<int>(count), band, workers,
                       [&](int worker, int first, int last) {
                           HWY_DYNAMIC_DISPATCH(compare_band)
                           ({.queries = queries,
                             .first = first,
                             .count = last - first,
                             .trains = bytes_of(trains),
                             .train_count = trains.count,
                             .out = out},
                            work.of_worker(worker));
                       });
    }

    /// Those whose nearest stands out; returns how many.
    std::int64_t choose(const Workspace &work, std::int64_t queries) const {
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < queries; i++)
            if (passes_ratio_test(params_.ratio, work.nearest[i])) {
                work.candidates[count] = static_cast<std::int32_t>(i);
                work.partners[count++] = work.nearest[i].index[0];
            }
        return count;
    }

    void write_pairs(const Workspace &work, const MatchRun &run, std::int64_t candidates,
                     bool all) {
        auto *pairs = run.pairs ? reinterpret_cast<MatchPair *>(run.pairs->data) : nullptr;
        for (std::int64_t i = 0; i < candidates; i++) {
            const std::int32_t query = work.candidates[i];
            if (params_.mutual && work.back[all ? work.partners[i] : i].index[0] != query)
                continue;
            if (found_.count == run.room()) {
                found_.dropped++;
                continue;
            }
            const Nearest &nearest = work.nearest[query];
            if (pairs)
                pairs[found_.count] = {query, nearest.index[0], nearest.distance[0],
                                       nearest.distance[1]};
            found_.count++;
        }
    }

    gpv_match_params params_{};
    MatchResult found_{};
    Buffer scratch_;
};

} // namespace

std::unique_ptr<Match> make_match(std::shared_ptr<Context> context) {
    return std::make_unique<CpuMatch>(context);
}

} // namespace gpv::cpu
#endif
