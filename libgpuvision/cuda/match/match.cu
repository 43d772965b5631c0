// SPDX-License-Identifier: BSD-2-Clause
// Matching on CUDA: plans the kernels of this folder as one launch list.
#include "core/match.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/match/choose.cuh"
#include "cuda/match/compare.cuh"
#include "cuda/match/draw.cuh"
#include "cuda/run/operator.cuh"

namespace gpv::cuda {
namespace {

using namespace match;

class CudaMatch final : public CudaOperator<Match>, private Delivery {
  public:
    explicit CudaMatch(const std::shared_ptr<Context> &context) : CudaOperator(context) {
        load<Norms>();
        load<Compare>(Compare::shared_bytes);
        load<Choose>();
        load<Write>(Write::shared_bytes);
        load<Draw>();
        report_.reserve(sizeof(MatchResult));
        std::memset(report_.data(), 0, sizeof(MatchResult));
        device_.add(this);
    }

    ~CudaMatch() override {
        device_.remove(this);
        finish();
    }

    void set_params(const gpv_match_params &params) override { params_ = params; }

    void prepare(std::int64_t queries, std::int64_t trains, Memory memory) override {
        end_last_run();
        const BufferView block{.memory = memory};
        const MatchRun run{
            .query = {block, queries},
            .train = {block, trains},
            .found = {},
            .nearest = block,
            .pairs = BufferView{.memory = memory,
                                .size = static_cast<std::int64_t>(sizeof(MatchPair)) * queries},
            .result = {}};
        reserve_host(run);
        plan(nullptr, [&] { record_plan(run, own_report()); });
        graphs_.prepare(launches_);
    }

    bool run(Stream stream, const MatchRun &run) override {
        return start(
            "gpv_match_run", stream,
            [&](cudaStream_t s) {
                require_on_device(run);
                if (planned_bytes([&] { record_plan(run, nullptr); }) > scratch_.size())
                    refuse_capture("this run needs memory; call gpv_match_prepare() first");
                launches_.launch(s);
            },
            [&](cudaStream_t s) { enqueue(s, run); });
    }

    void draw(Stream stream, const OutlineDrawing &drawing) override {
        const bool host = drawing.dst.memory == Memory::host;
        start(
            "gpv_draw_outline", stream,
            [&](cudaStream_t s) {
                if (host)
                    refuse_capture("dst->memory is GPV_MEMORY_HOST; it has to be GPV_MEMORY_CUDA");
                add_draw(drawing);
                launches_.launch(s);
            },
            [&](cudaStream_t s) {
                if (host)
                    return draw_outline(drawing);
                completion_.follow(s);
                add_draw(drawing);
                graphs_.launch(launches_, s);
                completion_.record(s);
            });
    }

    MatchResult result() const override { return report(); }

  private:
    /// In host memory, to be completed.
    struct Pending {
        std::optional<BufferView> nearest, pairs;
    };

    const MatchResult &report() const {
        return *reinterpret_cast<const MatchResult *>(report_.data());
    }
    MatchResult *own_report() const { return reinterpret_cast<MatchResult *>(report_.data()); }
    static bool on_host(const std::optional<BufferView> &block) {
        return block && block->memory == Memory::host;
    }

    // ---- results --------------------------------------------------------------------

    void deliver_if_finished() override {
        if (completion_.finished())
            deliver_pending();
    }
    void deliver() override {
        CudaOperator::deliver();
        deliver_pending();
    }
    void forget() override {
        CudaOperator::forget();
        pending_ = {};
    }
    void deliver_pending() {
        if (pending_.nearest)
            std::memcpy(pending_.nearest->data, nearest_.data(),
                        sizeof(Nearest) * report().queries);
        if (pending_.pairs)
            std::memcpy(pending_.pairs->data, pairs_.data(), sizeof(MatchPair) * report().count);
        pending_ = {};
    }

    // ---- running --------------------------------------------------------------------

    static void require_on_device(const MatchRun &run) {
        const std::pair<bool, const char *> buffers[] = {{run.query.on_host(), "query"},
                                                         {run.train.on_host(), "train"},
                                                         {on_host(run.nearest), "nearest"},
                                                         {on_host(run.pairs), "pairs"}};
        for (const auto &[host, name] : buffers)
            if (host)
                refuse_capture(std::string(name) +
                               "->memory is GPV_MEMORY_HOST; it has to be GPV_MEMORY_CUDA");
    }

    void enqueue(cudaStream_t stream, const MatchRun &run) {
        const bool to_host = on_host(run.nearest) || on_host(run.pairs);
        if (run.query.on_host() || run.train.on_host() || to_host || pending_.nearest ||
            pending_.pairs) {
            end_last_run(); // it uses the same memory
            reserve_host(run);
        }
        completion_.follow(stream);
        plan(stream, [&] { record_plan(run, own_report()); });
        upload(run.query, query_, device_query_, stream);
        upload(run.train, train_, device_train_, stream);
        graphs_.launch(launches_, stream);
        completion_.record(stream);
        if (on_host(run.nearest))
            pending_.nearest = run.nearest;
        if (on_host(run.pairs))
            pending_.pairs = run.pairs;
    }

    static std::size_t bytes_of(const MatchSet &set) {
        return std::size_t{match_length} * set.count;
    }

    void reserve_host(const MatchRun &run) {
        if (run.query.on_host())
            query_.reserve(bytes_of(run.query));
        if (run.train.on_host())
            train_.reserve(bytes_of(run.train));
        if (on_host(run.nearest))
            nearest_.reserve(sizeof(Nearest) * run.query.count);
        if (on_host(run.pairs))
            pairs_.reserve(sizeof(MatchPair) * run.room());
    }

    static void upload(const MatchSet &set, PinnedBuffer &staged, std::byte *to,
                       cudaStream_t stream) {
        if (!set.on_host())
            return;
        std::memcpy(staged.data(), set.view.data, bytes_of(set));
        GPV_CUDA(
            runtime.memcpy_async(to, staged.data(), bytes_of(set), cudaMemcpyHostToDevice, stream));
    }

    // ---- planning -------------------------------------------------------------------

    /// Of one in host memory there is a copy.
    Set take_set(const MatchSet &set, std::byte *&copy, const std::optional<BufferView> &found) {
        if (set.on_host())
            copy = arena_.allocate<std::byte>(planned(set.count) * match_length);
        return {.descriptors = set.on_host() ? copy : set.view.data,
                .norms = nullptr,
                .room = static_cast<int>(set.count),
                .found = found ? reinterpret_cast<const SiftResult *>(found->data) : nullptr};
    }
    static std::int64_t planned(std::int64_t count) {
        return static_cast<std::int64_t>(round_up(count, granule));
    }

    /// So that all multiprocessors have as many blocks as they are to have, if there are as many.
    Parts allocate_parts(std::int64_t queries, std::int64_t trains) {
        const std::int64_t at_once = std::int64_t{device_.multiprocessors()} * compare_blocks;
        const std::int64_t tiles = std::max<std::int64_t>(queries / Compare::queries, 1);
        const std::int64_t groups = std::max<std::int64_t>(trains / Compare::group, 1);
        const std::int64_t wanted = std::clamp<std::int64_t>(at_once / tiles, 1, groups);
        const std::int64_t each = (groups + wanted - 1) / wanted;
        // As many for fewer queries, which have more parts.
        auto *nearest = arena_.allocate<Nearest>(std::max(queries, at_once * Compare::queries));
        return {.nearest = nearest,
                .pitch = queries,
                .size = static_cast<int>(each) * Compare::group,
                .of_count = static_cast<int>((groups + each - 1) / each)};
    }

    /// report: null in a captured run, which may be at any time.
    void record_plan(const MatchRun &run, MatchResult *report) {
        const std::int64_t queries = planned(run.query.count), trains = planned(run.train.count);
        Set query = take_set(run.query, device_query_, run.found);
        Set train = take_set(run.train, device_train_, std::nullopt);
        auto *query_norms = arena_.allocate<std::int32_t>(queries);
        auto *train_norms = arena_.allocate<std::int32_t>(trains);
        const Parts there = allocate_parts(queries, trains), back = allocate_parts(trains, queries);
        const unsigned chooses = std::max(blocks(static_cast<int>(queries), choose_threads), 1u);
        const Chosen chosen{.nearest = arena_.allocate<Nearest>(queries),
                            .bits = arena_.allocate<unsigned>(chooses * (choose_threads / 32)),
                            .counts = arena_.allocate<int>(chooses)};

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
                                    .nearest = output<Nearest>(run.nearest, nearest_)});
        add<Write>(
            dim3(chooses),
            {.query = query,
             .chosen = chosen,
             .room = static_cast<int>(run.room()),
             .pairs = output<MatchPair>(run.pairs, pairs_),
             .report = report,
             .result = run.result ? reinterpret_cast<MatchResult *>(run.result->data) : nullptr},
            Write::shared_bytes);
    }

    void add_draw(const OutlineDrawing &drawing) {
        launches_.clear();
        add<Draw>(dim3(blocks(drawing.dst.height, Draw::warps),
                       static_cast<unsigned>(drawing.outline.count)),
                  draw_job(drawing));
    }

    void add_compare(const Set &query, const Set &train, const Parts &parts) {
        const dim3 grid(static_cast<unsigned>(parts.pitch) / Compare::queries,
                        static_cast<unsigned>(parts.of_count));
        add<Compare>(grid,
                     {.query = query,
                      .train = train,
                      .part = parts.size,
                      .parts = parts.nearest,
                      .pitch = parts.pitch},
                     Compare::shared_bytes);
    }

    /// Where kernels write what the caller wants: into memory that the host sees, if it is to lie
    /// there.
    template <class T>
    static T *output(const std::optional<BufferView> &wanted, const PinnedBuffer &pinned) {
        if (!wanted)
            return nullptr;
        return reinterpret_cast<T *>(on_host(wanted) ? pinned.data() : wanted->data);
    }

    gpv_match_params params_{};
    PinnedBuffer report_;
    PinnedBuffer query_, train_;   ///< on their way to the device
    PinnedBuffer nearest_, pairs_; ///< that kernels write
    std::byte *device_query_ = nullptr, *device_train_ = nullptr;
    Pending pending_;
};

} // namespace

std::unique_ptr<Match> make_match(std::shared_ptr<Context> context) {
    return std::make_unique<CudaMatch>(context);
}

} // namespace gpv::cuda
