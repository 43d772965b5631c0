// SPDX-License-Identifier: BSD-2-Clause
// Alpha expansion against its definition, in every byte of the labels, and the CUDA backend against
// the same. A move of the definition tries all choices where they are few; else it is a cut of
// graphs made by the book, which Boost's solver finds where it is installed. With --bench: times.
#include "graphcut.hpp"

using namespace parity;

namespace {

// ---- the definition -----------------------------------------------------------------

/// Costs of labels, and links, of which the back half of the directions is any number.
struct Problem {
    Instance links;
    std::vector<std::vector<std::int32_t>> costs;

    Problem(int width, int height, int directions, int count)
        : links(width, height, directions), costs(count, links.terminals) {}

    int count() const { return static_cast<int>(costs.size()); }
    std::size_t pixels() const { return links.pixels(); }
    /// f(p, q, what it costs that their labels differ) for all pairs of neighbours.
    template <class F>
    void each_pair(F f) const {
        for (int d = 0; d < links.directions / 2; d++)
            for (std::size_t p = 0; p < pixels(); p++)
                if (links.has(d, p))
                    f(p, links.next(d, p), links.links[d][p]);
    }
};

using Labels = std::vector<std::uint8_t>;

std::int64_t energy_of(const Problem &in, const Labels &labels) {
    std::int64_t sum = 0;
    for (std::size_t p = 0; p < in.pixels(); p++)
        sum += in.costs[labels[p]][p];
    in.each_pair([&](std::size_t p, std::size_t q, std::int32_t link) {
        sum += labels[p] != labels[q] ? link : 0;
    });
    return sum;
}

/// Of all choices, which pixels take a label, the one of least energy, and of these the one with
/// the fewest pixels that change.
Labels best_of_all_choices(const Problem &in, const Labels &labels, int label) {
    std::vector<std::size_t> others;
    for (std::size_t p = 0; p < in.pixels(); p++)
        if (labels[p] != label)
            others.push_back(p);
    Labels best = labels;
    std::int64_t least = energy_of(in, labels);
    int fewest = 0;
    for (unsigned choice = 1; choice < 1u << others.size(); choice++) {
        Labels tried = labels;
        for (std::size_t i = 0; i < others.size(); i++)
            if (choice >> i & 1)
                tried[others[i]] = static_cast<std::uint8_t>(label);
        const std::int64_t energy = energy_of(in, tried);
        const int changed = __builtin_popcount(choice);
        if (energy < least || (energy == least && changed < fewest)) {
            best = tried;
            least = energy;
            fewest = changed;
        }
    }
    return best;
}

/// The same by a cut: of each pair the four energies, for what each of the two keeps or takes, as
/// Kolmogorov and Zabih make a graph of any such four.
Labels best_by_cut(const Problem &in, const Labels &labels, int label) {
    Instance graph(in.links.width, in.links.height, in.links.directions);
    for (std::size_t p = 0; p < in.pixels(); p++)
        graph.terminals[p] = in.costs[label][p] - in.costs[labels[p]][p];
    for (int d = 0; d < graph.directions / 2; d++)
        for (std::size_t p = 0; p < in.pixels(); p++) {
            if (!graph.has(d, p))
                continue;
            const std::size_t q = graph.next(d, p);
            const auto energy = [&](bool p_takes, bool q_takes) {
                const int at_p = p_takes ? label : labels[p], at_q = q_takes ? label : labels[q];
                return at_p != at_q ? in.links.links[d][p] : 0;
            };
            graph.terminals[p] += energy(true, false) - energy(false, false);
            graph.terminals[q] += energy(true, true) - energy(true, false);
            graph.links[d][p] = energy(false, true) + energy(true, false) - energy(false, false) -
                                energy(true, true);
        }
#ifdef HAVE_BOOST
    const Cut cut = BoostCut(graph).run();
#else
    const Cut cut = definition(graph);
#endif
    Labels result = labels;
    for (std::size_t p = 0; p < in.pixels(); p++)
        if (cut.mask[p] == 0)
            result[p] = static_cast<std::uint8_t>(label);
    const std::vector<std::uint8_t> all_keep(in.pixels(), 255);
    expect(energy_of(in, result) - energy_of(in, labels) == cut.flow - capacity_of(graph, all_keep),
           "a move is as good as its cut");
    return result;
}

/// What has to be found.
struct Wanted {
    Labels labels;
    gpv_expansion_result result{};
};

using Move = Labels(const Problem &, const Labels &, int);

Wanted wanted(const Problem &in, int cycles, Move move) {
    Wanted want;
    for (std::size_t p = 0; p < in.pixels(); p++) {
        int cheapest = 0;
        for (int label = 1; label < in.count(); label++)
            if (in.costs[label][p] < in.costs[cheapest][p])
                cheapest = label;
        want.labels.push_back(static_cast<std::uint8_t>(cheapest));
    }
    gpv_expansion_result &result = want.result;
    result.struct_size = sizeof result;
    result.start_energy = energy_of(in, want.labels);
    int last = -1; // that has changed something
    for (int i = 0; i < cycles * in.count(); i++) {
        const Labels next = move(in, want.labels, i % in.count());
        if (next == want.labels)
            continue;
        expect(energy_of(in, next) < energy_of(in, want.labels),
               "a move that changes something lowers the energy");
        want.labels = next;
        last = i;
        result.moves++;
    }
    // After it all others have had their turn; or, where nothing was changed, all.
    result.converged = cycles * in.count() - 1 - last >= in.count() - (last >= 0);
    result.energy = energy_of(in, want.labels);
    return want;
}

// ---- runs ---------------------------------------------------------------------------

/// What a run reads and writes. Of links, all that is not to be looked at is any number.
struct Laid {
    std::vector<GuardedImage> costs;
    GuardedImage links, labels;

    explicit Laid(const Problem &in)
        : links(random_image(in.links.format(), in.links.width, in.links.height)),
          labels(random_image(GPV_FORMAT_GRAY8, in.links.width, in.links.height)) {
        for (int i = 0; i < in.count(); i++)
            costs.push_back(random_image(GPV_FORMAT_LABEL32, in.links.width, in.links.height));
        fill(in);
    }
    void fill(const Problem &in) {
        for (int i = 0; i < in.count(); i++)
            costs[i].each_row([&](int, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
                std::memcpy(row, &in.costs[i][in.links.at(0, static_cast<int>(y))], bytes);
            });
        links.each_row([&](int d, std::int64_t y, std::uint8_t *row, std::int64_t) {
            for (int x = 0; x < in.links.width; x++) {
                const std::size_t p = in.links.at(x, static_cast<int>(y));
                const bool counts = d < in.links.directions / 2 && in.links.has(d, p);
                const auto value =
                    counts ? in.links.links[d][p] : static_cast<std::int32_t>(random_engine()());
                std::memcpy(row + std::ptrdiff_t(x) * 4, &value, 4);
            }
        });
    }
    Labels found() const {
        Labels result;
        labels.each_row([&](int, std::int64_t, std::uint8_t *row, std::int64_t bytes) {
            result.insert(result.end(), row, row + bytes);
        });
        return result;
    }
};

using Op = Handle<gpv_expansion_create, gpv_expansion_destroy>;

#ifdef HAVE_CUDA
/// Images and a result in CUDA memory.
class OnDevice {
  public:
    OnDevice(const Laid &laid, bool tight) : links_(tight), labels_(tight) {
        for (std::size_t i = 0; i < laid.costs.size(); i++)
            costs_.push_back(std::make_unique<DeviceImage>(tight));
        upload(laid);
    }
    /// Another of the same kind.
    void upload(const Laid &laid) {
        for (std::size_t i = 0; i < laid.costs.size(); i++)
            costs_[i]->upload(laid.costs[i]);
        links_.upload(laid.links);
        labels_.upload(laid.labels);
        result_.resize(sizeof(gpv_expansion_result));
    }
    gpv_status run(gpv_expansion *op, cudaStream_t stream) const {
        std::vector<const gpv_image *> costs;
        for (const auto &image : costs_)
            costs.push_back(image->view());
        gpv_buffer result;
        gpv_buffer_init(&result, sizeof result);
        result.memory = GPV_MEMORY_CUDA;
        result.data = result_.data();
        result.size = sizeof(gpv_expansion_result);
        return gpv_expansion_run(op, stream, costs.data(), static_cast<int>(costs.size()),
                                 links_.view(), labels_.view(), &result);
    }
    gpv_expansion_result download(Laid &laid) const {
        labels_.download(laid.labels);
        gpv_expansion_result result;
        result_.download(&result, sizeof result);
        return result;
    }

  private:
    std::vector<std::unique_ptr<DeviceImage>> costs_;
    DeviceImage links_, labels_;
    DeviceBlock result_;
};
#endif

class Operator {
  public:
    explicit Operator(gpv_backend backend = GPV_BACKEND_CPU, Place place = Place::host)
        : context_(backend), place_(place) {}

    gpv_status run(Laid &laid, int cycles, gpv_expansion_result &result) {
        gpv_expansion_params params;
        gpv_expansion_params_init(&params, sizeof params);
        params.cycles = cycles;
        require(gpv_expansion_set_params(op_, &params), context_, "gpv_expansion_set_params");
        gpv_expansion_result_init(&result, sizeof result);
#ifdef HAVE_CUDA
        if (place_ != Place::host) {
            const OnDevice to(laid, place_ == Place::device_tight);
            require(to.run(op_, nullptr), context_, "gpv_expansion_run");
            const gpv_status status = gpv_expansion_wait(op_, &result);
            const gpv_expansion_result stored = to.download(laid);
            expect(std::memcmp(&stored, &result, sizeof result) == 0,
                   "what is found is in the buffer, too");
            return status;
        }
#endif
        std::vector<const gpv_image *> costs;
        for (const GuardedImage &image : laid.costs)
            costs.push_back(image.view());
        require(gpv_expansion_run(op_, nullptr, costs.data(), static_cast<int>(costs.size()),
                                  laid.links.view(), laid.labels.view(), nullptr),
                context_, "gpv_expansion_run");
        return gpv_expansion_wait(op_, &result);
    }
    const CountedContext &context() const {
        return context_;
    }
    std::string error() const {
        return gpv_context_error(context_);
    }

  private:
    CountedContext context_;
    [[maybe_unused]] Place place_; // without CUDA there is one
    const Op op_{context_};
};

std::string text_of(const gpv_expansion_result &r) {
    return "size " + std::to_string(r.struct_size) + " converged " + std::to_string(r.converged) +
           " energy " + std::to_string(r.start_energy) + " -> " + std::to_string(r.energy) +
           " moves " + std::to_string(r.moves) + " refused " + std::to_string(r.refused);
}

void expect_labels(Operator &op, const Problem &in, int cycles, const Wanted &want,
                   const std::string &name) {
    const std::string what =
        op.context().device() + (": " + name) + " " + size_name(in.links.width, in.links.height) +
        ", " + std::to_string(in.links.directions) + " neighbours, " + std::to_string(in.count()) +
        " labels, " + std::to_string(cycles) + " cycles";
    Laid laid(in);
    gpv_expansion_result result;
    if (op.run(laid, cycles, result) != GPV_OK)
        fatal(what + ": " + op.error());
    if (std::memcmp(&result, &want.result, sizeof result) != 0)
        fatal(what + ": " + text_of(result) + ", want " + text_of(want.result));
    if (laid.found() != want.labels)
        fatal(what + ": labels differ");
    expect(laid.labels.canaries_intact(), "nothing is written beside the labels");
}

// ---- cases --------------------------------------------------------------------------

/// Costs and links of few values, so that many choices are equally good; or of the largest.
Problem random_problem(int width, int height, int count) {
    Problem in(width, height, random_int(0, 1) ? 8 : 4, count);
    const bool extreme = random_int(0, 9) == 0;
    const int cost = extreme ? GPV_EXPANSION_MAX_COST : random_of<int>({2, 10, 1000}),
              link = extreme ? GPV_GRAPHCUT_MAX_LINK : random_of<int>({1, 4, 300});
    for (auto &plane : in.costs)
        for (std::int32_t &value : plane)
            value = extreme && random_int(0, 1) ? -cost : random_int(-cost, cost);
    in.links.each_link([&](int, int, int) {
        return random_int(0, 3) == 0 ? 0 : extreme ? link : random_int(0, link);
    });
    return in;
}

void compare_with_all_choices(Operator &op, int cases) {
    for (int i = 0; i < cases; i++) {
        const int width = random_int(1, 8);
        const Problem in = random_problem(width, random_int(1, 8 / width), random_int(2, 5));
        const int cycles = random_int(1, 4);
        const Wanted want = wanted(in, cycles, best_of_all_choices);
        expect(wanted(in, cycles, best_by_cut).labels == want.labels,
               "cuts are the best of all choices");
        expect_labels(op, in, cycles, want, "all choices");
    }
    std::printf("all choices: %d small cases equal\n", cases);
}

void compare_with_cuts(Operator &op, int cases, int largest) {
    for (int i = 0; i < cases; i++) {
        const Problem in =
            random_problem(random_int(1, largest), random_int(1, largest),
                           random_int(0, 4) ? random_int(2, 6) : GPV_EXPANSION_MAX_LABELS);
        const int cycles = random_int(1, 3);
        expect_labels(op, in, cycles, wanted(in, cycles, best_by_cut), "random");
    }
    std::printf("cuts: %d random cases up to %d equal\n", cases, largest);
}

/// Stripes of one label each, their costs noisy.
Problem noisy_stripes(int width, int height, int directions, int count) {
    Problem in(width, height, directions, count);
    for (int label = 0; label < count; label++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                const bool is_own = (x + y / 3) * count / (width + height / 3) == label;
                in.costs[label][in.links.at(x, y)] =
                    static_cast<std::int32_t>(pixel_hash(label, x, y) % 1000) + (is_own ? 0 : 400);
            }
    in.links.each_link([](int, int, int) { return 150; });
    return in;
}

/// More cycles give no more energy, and in the end no move lowers it.
void check_cycles(Operator &op, int width, int height, int count) {
    const Problem in = noisy_stripes(width, height, 8, count);
    std::int64_t least = INT64_MAX;
    for (int cycles = 1;; cycles++) {
        const Wanted want = wanted(in, cycles, best_by_cut);
        expect_labels(op, in, cycles, want, "stripes");
        expect(want.result.energy <= least, "the energy does not rise");
        least = want.result.energy;
        if (want.result.converged)
            break;
        expect(cycles < 6, "a few cycles suffice");
    }
    std::printf("cycles: the energy falls until no move can lower it\n");
}

/// The first illegal value is named, and nothing is written.
void check_faults(Operator &op, int cases) {
    for (int i = 0; i < cases; i++) {
        const Problem in = random_problem(random_int(2, 40), random_int(2, 40), random_int(2, 4));
        Laid laid(in);
        const int planes = in.count() + in.links.directions / 2;
        std::size_t first = in.pixels();
        std::string named;
        int of_first = planes;
        for (int k = random_int(1, 6); k > 0 || named.empty(); k--) {
            const int plane = random_int(0, planes - 1), direction = plane - in.count();
            const auto p =
                static_cast<std::size_t>(random_int(0, static_cast<int>(in.pixels()) - 1));
            const int x = static_cast<int>(p % in.links.width),
                      y = static_cast<int>(p / in.links.width);
            if ((direction >= 0 && !in.links.has(direction, p)) ||
                (p == first && plane == of_first))
                continue;
            const std::int32_t value =
                direction < 0 ? random_of<int>({INT32_MIN, -GPV_EXPANSION_MAX_COST - 1,
                                                GPV_EXPANSION_MAX_COST + 1})
                              : random_of<int>({-1, GPV_GRAPHCUT_MAX_LINK + 1, INT32_MAX});
            std::uint8_t *row =
                direction < 0 ? laid.costs[plane].row(0, y) : laid.links.row(direction, y);
            std::memcpy(row + std::ptrdiff_t(x) * 4, &value, 4);
            if (p > first || (p == first && plane > of_first))
                continue;
            first = p;
            of_first = plane;
            named = (direction < 0 ? "costs[" + std::to_string(plane) + "]"
                                   : "plane " + std::to_string(direction) + " of links") +
                    " is " + std::to_string(value) + " at (" + std::to_string(x) + ", " +
                    std::to_string(y) + "), must be ";
        }
        const std::vector<std::uint8_t> before = laid.labels.bytes();
        gpv_expansion_result result;
        expect(op.run(laid, 3, result) == GPV_ERR_INVALID_ARGUMENT, "a fault is found");
        const std::string error = op.error();
        if (error.find(named) == std::string::npos)
            fatal("the text is \"" + error + "\", and does not say: " + named);
        gpv_expansion_result refused{};
        refused.struct_size = sizeof refused;
        refused.refused = 1;
        expect(std::memcmp(&result, &refused, sizeof result) == 0 && laid.labels.bytes() == before,
               "a run that was refused has found and written nothing");
    }
    std::printf("faults: %d are named\n", cases);
}

/// Work for several threads.
void check_threads(Operator &op) {
    const Problem in = noisy_stripes(400, 350, 4, 3);
    const Wanted want = wanted(in, 1, best_by_cut);
    for (const int threads : {1, 3})
        with_threads(threads, [&] { expect_labels(op, in, 1, want, "threads"); });
    std::printf("threads: the same labels\n");
}

#ifdef HAVE_CUDA

/// A run that is part of the caller's graph finds what is there when the graph is launched.
void check_captured() {
    const PlainContext context(GPV_BACKEND_CUDA);
    const Op op(context);
    const Streams streams;
    Problem in = noisy_stripes(40, 24, 8, 2);
    Laid laid(in);
    OnDevice to(laid, false);
    const Enqueue enqueue = [&](cudaStream_t stream, int) { return to.run(op, stream) == GPV_OK; };
    expect(!streams.can_capture(enqueue), "a captured run that needs memory is refused");
    gpv_image on_device = *laid.links.view();
    on_device.memory = GPV_MEMORY_CUDA;
    require(gpv_expansion_prepare(op, &on_device, 2), context, "gpv_expansion_prepare");
    const cudaGraphExec_t graph = capture(enqueue, 1, streams[0]);
    expect(graph, "a prepared run can be captured");
    for (int i = 0; i < 2; i++) {
        const Wanted want = wanted(in, 3, best_by_cut);
        require(cudaGraphLaunch(graph, streams[0]), "cudaGraphLaunch");
        require(gpv_stream_sync(context, streams[0]), context, "gpv_stream_sync");
        const gpv_expansion_result result = to.download(laid);
        expect(std::memcmp(&result, &want.result, sizeof result) == 0 &&
                   laid.found() == want.labels,
               "a captured run finds the same");
        for (auto &plane : in.costs)
            std::reverse(plane.begin(), plane.end());
        laid.fill(in);
        to.upload(laid);
    }
    require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
    std::printf("CUDA: captured\n");
}

void check_cuda(bool brief) {
    for (const Place place : places({Place::device, Place::host, Place::device_tight})) {
        Operator op(GPV_BACKEND_CUDA, place);
        compare_with_all_choices(op, brief ? 2 : scaled(200));
        compare_with_cuts(op, brief ? 1 : scaled(100), brief ? 40 : 150);
        check_faults(op, brief ? 2 : scaled(100));
        if (!brief)
            check_cycles(op, 320, 240, 6);
    }
    check_captured();
}

#endif

// ---- times --------------------------------------------------------------------------

/// Where a backend computes.
struct Placed {
    std::vector<std::unique_ptr<PlacedImage>> costs;
    std::vector<const gpv_image *> views;
    PlacedImage links, labels;

    Placed(const Laid &laid, gpv_backend backend)
        : links(laid.links, backend), labels(laid.labels, backend) {
        for (const GuardedImage &image : laid.costs) {
            costs.push_back(std::make_unique<PlacedImage>(image, backend));
            views.push_back(costs.back()->view());
        }
    }
};

void benchmark(Report &report, gpv_backend backend) {
    const PlainContext context(backend);
    const Op op(context);
    for (const auto &[width, height] : Sizes{{640, 480}, {1920, 1080}})
        for (const int count : {4, 16}) {
            const Placed placed(Laid(noisy_stripes(width, height, 8, count)), backend);
            const auto run = [&] {
                require(gpv_expansion_run(op, nullptr, placed.views.data(), count,
                                          placed.links.view(), placed.labels.view(), nullptr),
                        context, "gpv_expansion_run");
                require(gpv_expansion_wait(op, nullptr), context, "gpv_expansion_wait");
            };
            report.add({std::to_string(count) + " labels, 3 cycles",
                        size_name(width, height),
                        0,
                        time_in_turn({run}, 3, 1)[0],
                        "",
                        {},
                        0});
        }
}

void benchmark_cpu(Report &report) {
    benchmark(report, GPV_BACKEND_CPU);
}

#ifdef HAVE_CUDA
void benchmark_gpu(Report &report) {
    benchmark(report, GPV_BACKEND_CUDA);
}
#endif

// ---- the program --------------------------------------------------------------------

void check() {
    Operator op;
    compare_with_all_choices(op, scaled(400));
    compare_with_cuts(op, scaled(150), 40);
    check_cycles(op, 97, 61, 5);
    check_faults(op, scaled(100));
    check_threads(op);
}

} // namespace

int main(int argc, char **argv) {
#ifdef HAVE_CUDA
    return run_program({"expansion", check, check_cuda, benchmark_cpu, benchmark_gpu}, argc, argv);
#else
    return run_program({"expansion", check, nullptr, benchmark_cpu, nullptr}, argc, argv);
#endif
}
