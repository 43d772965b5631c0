// SPDX-License-Identifier: BSD-2-Clause
// Matching on CUDA: plans the kernels of this folder as one launch list.
#include "core/match.hpp"

#include <algorithm>

#include "cuda/match/choose.cuh"
#include "cuda/match/compare.cuh"
#include "cuda/match/draw.cuh"
#include "cuda/run/operator.cuh"

namespace gpv::cuda {
namespace {

using namespace match;

class CudaMatch final : public CudaOperator<CudaMatch, Match, gpv_match_params> {
  public:
    explicit CudaMatch(const std::shared_ptr<Context> &context) : CudaOperator(context, "match") {
        load<Norms, Compare, Choose, Write, Draw>();
    }
    ~CudaMatch() override { finish(); }

    void prepare(std::int64_t queries, std::int64_t trains, Memory memory) override {
        const BufferView block{.memory = memory};
        plan_ahead(MatchRun{
            .query = {block, queries},
            .train = {block, trains},
            .found = {},
            .nearest = block,
            .pairs = BufferView{.memory = memory,
                                .size = static_cast<std::int64_t>(sizeof(MatchPair)) * queries},
            .result = {}});
        plan_ahead(OutlineDrawing{.dst = {.format = Format::gray8, .memory = Memory::cuda}});
    }

    bool run(Stream stream, const MatchRun &run) override {
        return start("gpv_match_run", stream, run);
    }

    void draw(Stream stream, const OutlineDrawing &drawing) override {
        if (drawing.dst.memory == Memory::host && !is_captured(stream))
            return draw_outline(drawing);
        start("gpv_draw_outline", stream, drawing);
    }

    MatchResult result() const override { return *report_.get(); }

    void declare(MatchRun &run) {
        declare("query", run.query);
        declare("train", run.train);
        pointer(run.found);
        output("nearest", run.nearest,
               Items{.bytes = sizeof(Nearest),
                     .capacity = run.query.count,
                     .count = &report_->queries});
        output("pairs", run.pairs,
               Items{.bytes = sizeof(MatchPair), .capacity = run.room(), .count = &report_->count});
        pointer(run.result);
    }

    void record(const MatchRun &run) {
        const std::int64_t queries = planned(run.query.count), trains = planned(run.train.count);
        Set query = set_of(run.query, run.found);
        Set train = set_of(run.train, std::nullopt);
        auto *query_norms = allocate<std::int32_t>(queries);
        auto *train_norms = allocate<std::int32_t>(trains);
        const Parts there = allocate_parts(queries, trains), back = allocate_parts(trains, queries);
        const unsigned chooses = std::max(blocks(queries, choose_threads), 1u);
        const Chosen chosen{.nearest = allocate<Nearest>(queries),
                            .bits = allocate<unsigned>(chooses * (choose_threads / 32)),
                            .counts = allocate<int>(chooses)};

        if (queries > 0 && trains > 0) {
            add<Norms>(dim3(static_cast<unsigned>(std::max(queries, trains)) / Norms::at_once, 2),
                       {.sets = {query, train}, .norms = {query_norms, train_norms}});
            query.norms = query_norms;
            train.norms = train_norms;
            add_compare(query, train, there);
            if (params_.mutual)
                add_compare(train, query, back);
        }
        add<Choose>(dim3(chooses), {.query = query,
                                    .train = train,
                                    .there = there,
                                    .back = back,
                                    .ratio = params_.ratio,
                                    .mutual = params_.mutual != 0,
                                    .chosen = chosen,
                                    .nearest = data_of<Nearest>(run.nearest)});
        add<Write>(dim3(chooses), {.query = query,
                                   .chosen = chosen,
                                   .room = static_cast<int>(run.room()),
                                   .pairs = data_of<MatchPair>(run.pairs),
                                   .report = captured() ? nullptr : report_.get(),
                                   .result = data_of<MatchResult>(run.result)});
    }

    void declare(OutlineDrawing &drawing) {
        continue_last_run();
        output("dst", drawing.dst);
        value(drawing.outline);
        value(drawing.color);
    }

    void record(const OutlineDrawing &drawing) {
        add<Draw>(dim3(4 * device_.multiprocessors()), draw_job(drawing));
    }

  private:
    static std::int64_t planned(std::int64_t count) {
        return static_cast<std::int64_t>(round_up(count, granule));
    }

    void declare(const char *name, MatchSet &set) {
        value(set.count);
        if (set.count > 0)
            input(name, set.view, {.bytes = match_length, .capacity = set.count});
    }
    static Set set_of(const MatchSet &set, const std::optional<BufferView> &found) {
        return {.descriptors = set.view.data,
                .norms = nullptr,
                .room = static_cast<int>(set.count),
                .found = data_of<const SiftResult>(found)};
    }

    /// So that all multiprocessors have as many blocks as they are to have, if there are as many.
    Parts allocate_parts(std::int64_t queries, std::int64_t trains) {
        const std::int64_t at_once = std::int64_t{device_.multiprocessors()} * compare_blocks;
        const std::int64_t tiles = std::max<std::int64_t>(queries / Compare::queries, 1);
        const std::int64_t groups = std::max<std::int64_t>(trains / Compare::group, 1);
        const std::int64_t wanted = std::clamp<std::int64_t>(at_once / tiles, 1, groups);
        const std::int64_t each = (groups + wanted - 1) / wanted;
        // As many for fewer queries, which have more parts.
        auto *nearest = allocate<Nearest>(std::max(queries, at_once * Compare::queries));
        return {.nearest = nearest,
                .pitch = queries,
                .size = static_cast<int>(each) * Compare::group,
                .of_count = static_cast<int>((groups + each - 1) / each)};
    }

    void add_compare(const Set &query, const Set &train, const Parts &parts) {
        const dim3 grid(static_cast<unsigned>(parts.pitch) / Compare::queries,
                        static_cast<unsigned>(parts.of_count));
        add<Compare>(grid, {.query = query,
                            .train = train,
                            .part = parts.size,
                            .parts = parts.nearest,
                            .pitch = parts.pitch});
    }

    Pinned<MatchResult> report_;
};

} // namespace

std::unique_ptr<Match> make_match(std::shared_ptr<Context> context) {
    return std::make_unique<CudaMatch>(context);
}

} // namespace gpv::cuda
