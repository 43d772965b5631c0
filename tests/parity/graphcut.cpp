// SPDX-License-Identifier: BSD-2-Clause
// Minimum cuts against two references that share no code with the library (graphcut.hpp), in every
// byte of the mask, and the CUDA backend against the same. With --bench: times beside Boost and
// OpenCV.
#include <limits>

#include "graphcut.hpp"

#ifdef HAVE_OPENCV
#    include <opencv2/core.hpp>
#    include <opencv2/imgproc/detail/gcgraph.hpp>
#endif

using namespace parity;

namespace {

// ---- runs ---------------------------------------------------------------------------

gpv_graphcut_params default_params() {
    gpv_graphcut_params p;
    gpv_graphcut_params_init(&p, sizeof p);
    return p;
}

gpv_graphcut_params with_certificate(int max_time_us = 0) {
    gpv_graphcut_params p = default_params();
    p.certificate = 1;
    p.max_time_us = max_time_us;
    return p;
}

bool is_symmetric(const Instance &in) {
    for (int d = 0; d < in.directions / 2; d++)
        for (std::size_t p = 0; p < in.pixels(); p++)
            if (in.has(d, p) && in.links[d][p] != in.links[in.back(d)][in.next(d, p)])
                return false;
    return true;
}

std::int32_t any_int32() {
    return static_cast<std::int32_t>(random_engine()());
}

/// The planes as they share memory.
gpv_image shared(gpv_image links, Sharing sharing) {
    const int directions = gpv_format_planes(links.format);
    for (int d = 0; d < directions; d++) {
        auto *first = static_cast<std::uint8_t *>(links.data[d % (directions / 2)]);
        const auto &step = steps8[d % (directions / 2) * (8 / directions)];
        if (sharing == Sharing::all)
            links.data[d] = links.data[0];
        else if (sharing == Sharing::opposites && d >= directions / 2)
            links.data[d] = first - step[1] * links.stride[0] - step[0] * 4;
    }
    return links;
}

/// What a run reads and writes. Links that leave the image are any number.
struct Laid {
    GuardedImage terminals, links, mask;
    Sharing sharing;

    Laid(const Instance &in, bool anywhere, Sharing how = Sharing::none)
        : terminals(image(GPV_FORMAT_LABEL32, in, anywhere)),
          links(image(in.format(), in, anywhere)), mask(image(GPV_FORMAT_GRAY8, in, anywhere)),
          sharing(how) {
        terminals.each_row([&](int, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
            std::memcpy(row, &in.terminals[in.at(0, static_cast<int>(y))], bytes);
        });
        links.each_row([&](int d, std::int64_t y, std::uint8_t *row, std::int64_t) {
            for (int x = 0; x < in.width; x++) {
                const std::size_t p = in.at(x, static_cast<int>(y));
                int from = d;
                for (int other = 0; sharing == Sharing::all && other < in.directions; other++)
                    if (in.has(other, p))
                        from = other;
                const std::int32_t value = in.has(from, p) ? in.links[from][p] : any_int32();
                std::memcpy(row + std::ptrdiff_t(x) * 4, &value, 4);
            }
        });
    }
    /// The mask of an earlier run.
    void spoil() {
        mask.each_row([](int, std::int64_t, std::uint8_t *row, std::int64_t bytes) {
            std::memset(row, 0x5A, static_cast<std::size_t>(bytes));
        });
    }
    std::vector<std::uint8_t> found() const {
        std::vector<std::uint8_t> result;
        mask.each_row([&](int, std::int64_t, std::uint8_t *row, std::int64_t bytes) {
            result.insert(result.end(), row, row + bytes);
        });
        return result;
    }

  private:
    static GuardedImage image(gpv_format format, const Instance &in, bool anywhere) {
        if (!anywhere)
            return GuardedImage(format, in.width, in.height);
        return random_image(format, in.width, in.height);
    }
};

/// What the library says of a run.
struct Outcome {
    gpv_status status;
    std::string error;
    gpv_graphcut_result result;
    gpv_graphcut_result stored; ///< in the buffer
};

using Op = Handle<gpv_graphcut_create, gpv_graphcut_destroy>;

class Operator {
  public:
    explicit Operator(gpv_backend backend = GPV_BACKEND_CPU, Place place = Place::host,
                      std::uint64_t maximum = UINT64_MAX)
        : context_(backend, maximum), backend_(backend), place_(place) {}

    Outcome run(const gpv_graphcut_params &params, Laid &laid, bool store = true) {
        set(params);
        return again(laid, store);
    }
    /// store: whether there is a buffer for the result.
    Outcome again(Laid &laid, bool store = true) {
        Stored stored(runs_++);
        gpv_buffer buffer = stored.view(stored.bytes().data(), GPV_MEMORY_HOST);
        const gpv_image *terminals = laid.terminals.view(), *mask = laid.mask.view();
        gpv_image links = *laid.links.view();
#ifdef HAVE_CUDA
        if (backend_ == GPV_BACKEND_CUDA) {
            stored_.upload(stored.bytes().data(), stored.bytes().size());
            buffer = stored.view(stored_.data(), GPV_MEMORY_CUDA);
        }
        if (place_ != Place::host) {
            terminals_.upload(laid.terminals);
            links_.upload(laid.links);
            mask_.upload(laid.mask);
            terminals = terminals_.view();
            links = *links_.view();
            mask = mask_.view();
        }
#endif
        links = shared(links, laid.sharing);
        require(gpv_graphcut_run(op_, nullptr, terminals, &links, mask, store ? &buffer : nullptr),
                context_, "gpv_graphcut_run");
        Outcome outcome{};
        gpv_graphcut_result_init(&outcome.result, sizeof outcome.result);
        outcome.status = gpv_graphcut_wait(op_, &outcome.result);
        outcome.error = gpv_context_error(context_);
        expect(gpv_graphcut_query(op_) == outcome.status, "a query after the wait says the same");
#ifdef HAVE_CUDA
        if (backend_ == GPV_BACKEND_CUDA)
            stored_.download(stored.bytes().data(), stored.bytes().size());
        if (place_ != Place::host)
            mask_.download(laid.mask);
#endif
        expect(stored.canaries_intact(), "nothing is written beside the result");
        outcome.stored = store ? stored.result() : outcome.result;
        return outcome;
    }
    void prepare(const gpv_graphcut_params &params, gpv_image links) {
        links.memory = place_ == Place::host ? GPV_MEMORY_HOST : GPV_MEMORY_CUDA;
        set(params);
        require(gpv_graphcut_prepare(op_, &links), context_, "gpv_graphcut_prepare");
    }
    Place place() const {
        return place_;
    }
    const CountedContext &context() const {
        return context_;
    }
    gpv_graphcut *op() const {
        return op_;
    }

  private:
    void set(const gpv_graphcut_params &params) {
        require(gpv_graphcut_set_params(op_, &params), context_, "gpv_graphcut_set_params");
    }

    CountedContext context_;
    [[maybe_unused]] gpv_backend backend_; // without CUDA there is one
    Place place_;
    int runs_ = 0;
#ifdef HAVE_CUDA
    DeviceImage terminals_{place_ == Place::device_tight}, links_{place_ == Place::device_tight},
        mask_{place_ == Place::device_tight};
    DeviceBlock stored_;
#endif
    const Op op_{context_};
};

// ---- what has to be there -----------------------------------------------------------

/// Of a small one, every number.
std::string numbers_of(const Instance &in) {
    if (in.pixels() > 30)
        return "";
    std::string text = "\nterminals:";
    const auto add = [&](const std::vector<std::int32_t> &plane) {
        for (std::size_t p = 0; p < in.pixels(); p++)
            text += (p % in.width ? " " : "\n  ") + std::to_string(plane[p]);
    };
    add(in.terminals);
    for (int d = 0; d < in.directions; d++) {
        text += "\nlinks, plane " + std::to_string(d) + ":";
        add(in.links[d]);
    }
    return text;
}

std::string describe(const Operator &op, const Instance &in, const Laid &laid,
                     const std::string &name) {
    return op.context().device() + (": " + name) + " " + size_name(in.width, in.height) + ", " +
           std::to_string(in.directions) + " neighbours, terminals " +
           place_of(*laid.terminals.view()) + ", links " + place_of(*laid.links.view()) +
           ", mask " + place_of(*laid.mask.view()) + ", sharing " +
           std::to_string(static_cast<int>(laid.sharing));
}

void expect_outcome(const Outcome &got, gpv_status status, const gpv_graphcut_result &want,
                    const std::string &what) {
    if (got.status != status)
        fatal(what + ": gpv_graphcut_wait() gives " + std::to_string(got.status) + ": " +
              got.error);
    expect_result(got.result, want, what);
    expect_result(got.stored, want, what + ": in the buffer");
}

void expect_mask(const Laid &laid, const Instance &in, const Cut &want, const std::string &what) {
    const std::vector<std::uint8_t> found = laid.found();
    const auto at = std::mismatch(found.begin(), found.end(), want.mask.begin());
    if (at.first != found.end()) {
        const auto p = static_cast<std::size_t>(at.first - found.begin());
        fatal(what + ": mask is " + std::to_string(*at.first) + " at " +
              std::to_string(p % in.width) + "," + std::to_string(p / in.width) + ", want " +
              std::to_string(*at.second) + "; its capacity is " +
              std::to_string(capacity_of(in, found)) + ", the flow " + std::to_string(want.flow) +
              numbers_of(in));
    }
    if (!laid.mask.canaries_intact())
        fatal(what + ": bytes outside the mask were written");
}

/// One run, and everything that it has written.
void expect_cut(Operator &op, const gpv_graphcut_params &p, const Instance &in, Laid &laid,
                const Cut &want, const std::string &name) {
    const std::string what = describe(op, in, laid, name);
    const std::vector<std::uint8_t> terminals = laid.terminals.bytes(), links = laid.links.bytes();
    const Outcome got = op.run(p, laid, random_int(0, 3) != 0);
    if (got.status == GPV_OK)
        expect_mask(laid, in, want, what);
    expect_outcome(got, GPV_OK, result_of(want, p.certificate), what);
    expect(capacity_of(in, laid.found()) == want.flow, "flow is the capacity of the mask, " + what);
    if (laid.terminals.bytes() != terminals || laid.links.bytes() != links)
        fatal(what + ": what is only read was written");
}

Sharing random_sharing(const Operator &op, const Instance &in) {
    // Where memory ends with the image, nothing lies beside it.
    const bool room = op.place() != Place::device_tight;
    return room && random_int(0, 2) == 0 && is_symmetric(in) ? Sharing::opposites : Sharing::none;
}

void expect_cut(Operator &op, const Instance &in, const Cut &want, const std::string &name) {
    gpv_graphcut_params p = default_params();
    p.certificate = random_int(0, 9) > 0;
    Laid laid(in, true, random_sharing(op, in));
    expect_cut(op, p, in, laid, want, name);
}

// ---- random cases -------------------------------------------------------------------

int random_side(int largest) {
    static const std::vector<int> ends = {1, 2, 7, 13, 31, 32, 33, 63, 64, 65};
    if (random_int(0, 3) == 0)
        return std::min(random_of(ends), largest);
    return random_int(1, random_int(0, 1) ? std::min(largest, 12) : std::min(largest, 40));
}

Instance any_instance(int largest) {
    const int directions = random_int(0, 1) ? 8 : 4;
    return random_instance(random_side(largest), random_side(largest), directions);
}

/// One with illegal values at some places, of which the first is named.
void compare_faulty(Operator &op, const Instance &in, gpv_graphcut_params p = default_params()) {
    Laid laid(in, true);
    const int limit = GPV_GRAPHCUT_MAX_TERMINAL;
    std::size_t first = in.pixels() * 16;
    std::string named;
    for (int count = random_int(1, random_int(0, 1) ? 1 : 20); count > 0; count--) {
        const int plane = random_int(0, in.directions);
        const int x = random_int(0, in.width - 1), y = random_int(0, in.height - 1);
        if (plane > 0 && !in.has(plane - 1, x, y))
            continue;
        const std::size_t place = in.at(x, y) * 16 + static_cast<std::size_t>(plane);
        if (place == first)
            continue; // what is there now is named already
        const std::int32_t value =
            plane > 0 ? random_of<int>({-1, GPV_GRAPHCUT_MAX_LINK + 1, INT32_MIN, INT32_MAX})
                      : random_of<int>({limit + 1, -limit - 1, INT32_MIN, INT32_MAX});
        std::uint8_t *row = plane > 0 ? laid.links.row(plane - 1, y) : laid.terminals.row(0, y);
        std::memcpy(row + std::ptrdiff_t(x) * 4, &value, 4);
        if (place > first)
            continue;
        first = place;
        named = (plane > 0 ? "plane " + std::to_string(plane - 1) + " of links" : "terminals") +
                " is " + std::to_string(value) + " at (" + std::to_string(x) + ", " +
                std::to_string(y) + "), must be ";
    }
    if (named.empty())
        return;
    const std::string what = describe(op, in, laid, "a fault");
    const std::vector<std::uint8_t> terminals = laid.terminals.bytes(), links = laid.links.bytes(),
                                    mask = laid.mask.bytes();
    p.certificate = random_int(0, 9) > 0;
    const Outcome got = op.run(p, laid, random_int(0, 1));
    gpv_graphcut_result want{};
    want.struct_size = sizeof want;
    want.refused = 1;
    expect_outcome(got, GPV_ERR_INVALID_ARGUMENT, want, what);
    if (got.error.find(named) == std::string::npos)
        fatal(what + ": the text is \"" + got.error + "\", and does not say: " + named);
    if (laid.terminals.bytes() != terminals || laid.links.bytes() != links ||
        laid.mask.bytes() != mask)
        fatal(what + ": a run that was refused has written");
}

void compare_random(Operator &op, int largest) {
    Instance in = any_instance(largest);
    if (random_int(0, 19)) {
        expect_cut(op, in, definition(in), "random");
    } else {
        make_planes_equal(in);
        Laid laid(in, true, Sharing::all);
        expect_cut(op, with_certificate(), in, laid, definition(in), "random, one plane of links");
    }
}

/// Now and then one that is refused, after which the next has to be right.
void compare_with_definition(Operator &op, int count, int largest = 65) {
    for (int i = 0; i < count; i++) {
        compare_random(op, largest);
        if (i % 10 == 0)
            compare_faulty(op, any_instance(largest));
    }
    std::printf("definition: %d random cases equal, and faults\n", count);
}

/// The same graph with other capacities, here and there or everywhere.
void change(Instance &in) {
    const Instance other = random_instance(in.width, in.height, in.directions);
    const int percent = random_of<int>({0, 1, 10, 100});
    const bool terminals = random_int(0, 2), links = random_int(0, 2);
    for (std::size_t p = 0; p < in.pixels(); p++) {
        if (random_int(1, 100) > percent)
            continue;
        if (terminals)
            in.terminals[p] = other.terminals[p];
        for (int d = 0; links && d < in.directions; d++)
            in.links[d][p] = other.links[d][p];
    }
}

/// One after the other by an operator that reuses flow, and what may come between them.
void check_reuse(Operator &op, int sequences, int largest) {
    gpv_graphcut_params p = default_params();
    p.reuse = 1;
    for (int i = 0; i < sequences; i++) {
        Instance in = any_instance(largest);
        for (int step = 0; step < 6; step++) {
            Laid laid(in, true, random_sharing(op, in));
            p.certificate = random_int(0, 1);
            expect_cut(op, p, in, laid, definition(in), "reuses flow");
            switch (random_int(0, 9)) {
            case 0:
                compare_faulty(op, in, p);
                break;
            case 1:
                expect_cut(op, in, definition(in), "reuses nothing");
                break;
            case 2: {
                const Instance other = any_instance(largest);
                Laid of_other(other, true);
                expect_cut(op, p, other, of_other, definition(other), "another graph");
                break;
            }
            case 3: {
                gpv_graphcut_params limited = p;
                limited.max_time_us = 1;
                change(in);
                Laid changed(in, true);
                const gpv_graphcut_result found = op.run(limited, changed).result;
                const std::int64_t cut = capacity_of(in, changed.found());
                expect(found.flow <= definition(in).flow &&
                           (found.cut == cut || (found.optimal && found.flow == cut)),
                       "a run that is cut short says how good it is");
                break;
            }
            case 4: { // its memory may have to grow
                const Laid larger(Instance(2 * in.width + 40, in.height, in.directions), false);
                op.prepare(p, *larger.links.view());
            }
            }
            change(in);
        }
    }
    std::printf("reuse: %d sequences equal\n", sequences);
}

#ifdef HAVE_BOOST
/// The references agree with each other.
void compare_references(int count) {
    const auto compare = [](const Instance &in, const std::string &name) {
        const Cut a = definition(in), b = BoostCut(in).run();
        if (a.flow != b.flow || a.mask != b.mask || a.flow != capacity_of(in, a.mask))
            fatal("Boost and the definition differ: " + name + " " +
                  size_name(in.width, in.height) + ": flow " + std::to_string(b.flow) + " and " +
                  std::to_string(a.flow) + numbers_of(in));
        PushRelabel plain(in); // which benchmarks run
        plain.reset();
        expect(plain.flow() == a.flow, "push-relabel and the definition find the same flow");
    };
    for (int i = 0; i < count; i++)
        compare(any_instance(40), "random");
    for (const Drawn &drawn : drawn_instances())
        for (const int directions : {4, 8})
            compare(drawn.make(43, 37, directions), drawn.name);
    std::printf("%s: as the definition, %d random cases\n", boost_name().c_str(), count);
}
#endif

// ---- drawn instances ----------------------------------------------------------------

/// find: gives the cut that is wanted. sparse, and in the short run: every second family, by turns
/// with 4 and 8 neighbours.
void check_drawn(Operator &op, const Sizes &sizes,
                 const std::function<Cut(const Instance &)> &find = reference,
                 bool sparse = false) {
    int number = 0, count = 0;
    for (const auto &[width, height] : sizes)
        for (const Drawn &drawn : drawn_instances())
            for (const int directions : {4, 8}) {
                const int turn = number++ % 8;
                if ((sparse || short_run()) && turn != 0 && turn != 5)
                    continue;
                count++;
                const Instance in = drawn.make(width, height, directions);
                expect_cut(op, in, find(in), drawn.name);
            }
    std::printf("drawn: %d cases of %zu families at %zu sizes equal, %dx%d the last\n", count,
                drawn_instances().size(), sizes.size(), sizes.back()[0], sizes.back()[1]);
}

/// Families by turns, with 4 and 8 neighbours.
template <class F>
void each_drawn(const Sizes &sizes, F f) {
    const std::vector<Drawn> &families = drawn_instances();
    for (std::size_t i = 0; i < sizes.size(); i++) {
        const Drawn &drawn = families[i % families.size()];
        f(drawn.make(sizes[i][0], sizes[i][1], i % 2 ? 4 : 8), drawn.name);
    }
    std::printf("sizes: %zu equal, %dx%d the last\n", sizes.size(), sizes.back()[0],
                sizes.back()[1]);
}

void check_sizes(Operator &op, const Sizes &sizes) {
    each_drawn(sizes, [&](const Instance &in, const char *name) {
        expect_cut(op, in, reference(in), name);
    });
}

/// Easy scenes, as the reference is slow.
void check_scene_sizes(Operator &op, const Sizes &sizes) {
    int directions = 4;
    for (const auto &[width, height] : sizes) {
        const Named scene = scene_instance(width, height, weights[0], directions, 40);
        expect_cut(op, scene.instance, reference(scene.instance), scene.text());
        directions = 12 - directions;
    }
    std::printf("scenes of sizes: %zu equal, %dx%d the last\n", sizes.size(), sizes.back()[0],
                sizes.back()[1]);
}

/// Of seeds from one on; not each has strokes in a blob of every size.
void check_scenes(Operator &op, const Sizes &sizes, std::uint64_t seed = 1) {
    int count = 0;
    for (const auto &[width, height] : sizes)
        for (const Weight &weight : weights)
            for (const int directions : {4, 8}) {
                const Named scene = scene_instance(width, height, weight, directions, seed++);
                count++;
                const Cut want = reference(scene.instance);
                expect(want.area > 0 && want.area < std::int64_t{width} * height,
                       "a scene has blobs before a ground, " + scene.text());
                expect_cut(op, scene.instance, want, scene.text());
            }
    std::printf("scenes: %d equal, %dx%d the last\n", count, sizes.back()[0], sizes.back()[1]);
}

void check_files(Operator &op) {
    const auto files = instance_files();
    for (const auto &file : files) {
        const Named named = named_instance(file);
        expect_cut(op, named.instance, reference(named.instance), named.text());
    }
    std::printf("files: %zu equal%s\n", files.size(),
                files.empty() ? "; GPV_TEST_IMAGES can name a folder of .gci files" : "");
}

// ---- laws ---------------------------------------------------------------------------

/// Runs an instance, and gives what was found.
Cut cut_by(Operator &op, const Instance &in) {
    Laid laid(in, false);
    const Outcome got = op.run(with_certificate(), laid);
    const std::string what = describe(op, in, laid, "a law");
    if (got.status != GPV_OK)
        fatal(what + ": " + got.error);
    const Cut cut = {got.result.flow, got.result.area, laid.found()};
    expect_outcome(got, GPV_OK, result_of(cut, true), what);
    expect(capacity_of(in, cut.mask) == cut.flow && area_of(cut.mask) == cut.area,
           "flow and area are those of the mask, " + what);
    return cut;
}

/// The picture turned or mirrored.
Instance moved(const Instance &in, bool transpose, bool mirror_x, bool mirror_y,
               std::vector<std::size_t> &to) {
    Instance out(transpose ? in.height : in.width, transpose ? in.width : in.height, in.directions);
    to.resize(in.pixels());
    for (int y = 0; y < in.height; y++)
        for (int x = 0; x < in.width; x++) {
            int u = transpose ? y : x, v = transpose ? x : y;
            u = mirror_x ? out.width - 1 - u : u;
            v = mirror_y ? out.height - 1 - v : v;
            const std::size_t p = in.at(x, y);
            to[p] = out.at(u, v);
            out.terminals[to[p]] = in.terminals[p];
            for (int d = 0; d < in.directions; d++) {
                std::array<int, 2> step = in.step(d);
                if (transpose)
                    std::swap(step[0], step[1]);
                step[0] *= mirror_x ? -1 : 1;
                step[1] *= mirror_y ? -1 : 1;
                for (int k = 0; k < out.directions; k++)
                    if (out.step(k) == step)
                        out.links[k][to[p]] = in.links[d][p];
            }
        }
    return out;
}

/// Laws that hold of every instance.
void check_laws_of(Operator &op, const Instance &in) {
    const Cut cut = cut_by(op, in);
    for (int i = 1; i < 8; i++) {
        std::vector<std::size_t> to;
        const Cut other = cut_by(op, moved(in, i & 1, i & 2, i & 4, to));
        std::vector<std::uint8_t> back(to.size());
        for (std::size_t p = 0; p < to.size(); p++)
            back[p] = other.mask[to[p]];
        expect(other.flow == cut.flow && back == cut.mask, "a turned picture has a turned mask");
    }

    Instance other = in;
    const std::int32_t factor = random_int(2, 50);
    for (std::int32_t &terminal : other.terminals)
        terminal *= factor;
    other.each_link([&](int x, int y, int d) { return in.links[d][in.at(x, y)] * factor; });
    const Cut scaled = cut_by(op, other);
    expect(scaled.mask == cut.mask && scaled.flow == cut.flow * factor,
           "multiples have the same mask");

    // Source and sink change places, and every arc turns round.
    other = in;
    for (std::int32_t &terminal : other.terminals)
        terminal = -terminal;
    other.each_link([&](int x, int y, int d) {
        const std::size_t p = in.at(x, y);
        return in.links[in.back(d)][in.next(d, p)];
    });
    const Cut reversed = cut_by(op, other);
    expect(reversed.flow == cut.flow, "flow is the same the other way round");
    for (std::size_t p = 0; p < in.pixels(); p++)
        expect(reversed.mask[p] || cut.mask[p],
               "what reaches the sink is not reached by the source");

    // More, where the cut does not look, changes nothing.
    other = in;
    for (std::size_t p = 0; p < in.pixels(); p++) {
        if (cut.mask[p] ? in.terminals[p] >= 0 : in.terminals[p] <= 0)
            other.terminals[p] += (cut.mask[p] ? 1 : -1) * random_int(0, 1000);
        for (int d = 0; d < in.directions; d++)
            if (in.has(d, p) && cut.mask[p] <= cut.mask[in.next(d, p)])
                other.links[d][p] += random_int(0, 1000);
    }
    const Cut same = cut_by(op, other);
    expect(same.flow == cut.flow && same.mask == cut.mask,
           "capacity that the cut does not cross changes nothing");

    // More, anywhere: flow does not fall, nor rise by more than was added.
    other = in;
    const auto p = static_cast<std::size_t>(random_int(0, static_cast<int>(in.pixels()) - 1));
    const int d = random_int(0, in.directions - 1), more = random_int(1, 100);
    if (in.has(d, p))
        other.links[d][p] += more;
    else
        other.terminals[p] += other.terminals[p] < 0 ? -more : more;
    const std::int64_t rise = cut_by(op, other).flow - cut.flow;
    expect(rise >= 0 && rise <= more, "flow rises with capacities, and by no more");
}

void check_laws(Operator &op, int count, int largest) {
    for (int i = 0; i < count; i++) {
        Instance in(random_int(1, largest), random_int(1, largest), i % 2 ? 8 : 4);
        const int terminal = random_of<int>({3, 30, 3000}), link = random_of<int>({1, 10, 1000});
        const int percent = random_of<int>({5, 100});
        in.each_terminal([&](int, int) {
            return random_int(1, 100) <= percent ? random_int(-terminal, terminal) : 0;
        });
        in.each_link([&](int, int, int) { return random_int(0, link); });
        check_laws_of(op, in);
    }
    std::printf("laws: turned, multiplied, reversed and raised, %d instances up to %d\n", count,
                largest);
}

void check_repeats(Operator &op, int width, int height) {
    for (const int directions : {4, 8}) {
        const Named scene = scene_instance(width, height, weights[2], directions, 5);
        const Cut want = reference(scene.instance);
        Laid laid(scene.instance, true);
        for (int i = 0; i < shortened(100); i++) {
            laid.spoil();
            expect_cut(op, with_certificate(), scene.instance, laid, want, "repeats");
        }
    }
    std::printf("repeats: %d equal\n", shortened(100));
}

// ---- a limit of time ----------------------------------------------------------------

/// As many pixels as there can be, where there is not the memory for them.
void check_refused(gpv_backend backend) {
    Operator op(backend, Place::host, too_little);
    const Named small = scene_instance(97, 61, weights[0], 8, 1);
    const Cut want = reference(small.instance);
    const UntouchableImage terminals(GPV_FORMAT_LABEL32, GPV_MAX_SIDE, GPV_MAX_SIDE),
        mask(GPV_FORMAT_GRAY8, GPV_MAX_SIDE, GPV_MAX_SIDE);
    for (const gpv_format format : {GPV_FORMAT_CAP32X4, GPV_FORMAT_CAP32X8}) {
        const UntouchableImage links(format, GPV_MAX_SIDE, GPV_MAX_SIDE);
        expect_cut(op, small.instance, want, "before it is refused");
        expect_refused(op.context(), "prepare",
                       [&] { return gpv_graphcut_prepare(op.op(), links.view()); });
        expect_refused(op.context(), "run", [&] {
            return gpv_graphcut_run(op.op(), nullptr, terminals.view(), links.view(), mask.view(),
                                    nullptr);
        });
        expect_cut(op, small.instance, want, "after it was refused");
    }
    std::printf("refused: %dx%d in too little memory\n", GPV_MAX_SIDE, GPV_MAX_SIDE);
}

/// A run that is cut short has a cut, whose capacity it says, and a flow that is at most the
/// least. One that is not has the least.
void check_max_time(Operator &op, int width, int height) {
    int stopped = 0, runs = 0;
    for (const int directions : {4, 8}) {
        const Named scene = scene_instance(width, height, weights[2], directions, 3);
        const Instance &in = scene.instance;
        const Cut want = reference(in);
        constexpr int enough = 2000000000, most = -1; // most: three quarters of what it takes
        double took = 0;                              // microseconds, with enough of them
        for (const int given : {enough, 1, 2000, most}) {
            const int limit = given == most ? static_cast<int>(0.75 * took) : given;
            gpv_graphcut_params p = with_certificate(limit);
            p.certificate = given == enough || given == 1; // else the cut is what the choice says
            Laid laid(in, true);
            const std::string what =
                describe(op, in, laid, "at most " + std::to_string(limit) + " us");
            const auto begin = std::chrono::steady_clock::now();
            const Outcome got = op.run(p, laid);
            const std::chrono::duration<double, std::micro> time =
                std::chrono::steady_clock::now() - begin;
            if (given == enough)
                took = time.count();
            runs++;
            if (got.result.optimal) {
                expect_mask(laid, in, want, what);
                expect_outcome(got, GPV_OK, result_of(want, p.certificate), what);
                continue;
            }
            stopped++;
            expect(limit < enough, "half an hour suffices, " + what);
            const std::vector<std::uint8_t> mask = laid.found();
            expect(std::all_of(mask.begin(), mask.end(),
                               [](auto byte) { return byte == 0 || byte == 255; }) &&
                       laid.mask.canaries_intact(),
                   "a mask is 0 and 255, " + what);
            const gpv_graphcut_result so_far = {
                sizeof so_far, 0, got.result.flow, capacity_of(in, mask), area_of(mask), 0, 0};
            expect_outcome(got, GPV_OK, so_far, what);
            if (got.result.flow < 0 || got.result.flow > want.flow)
                fatal(what + ": flow is " + std::to_string(got.result.flow) + " of " +
                      std::to_string(want.flow));
            std::vector<std::uint8_t> signs;
            for (const std::int32_t terminal : in.terminals)
                signs.push_back(terminal < 0 ? 0 : 255);
            const std::int64_t by_signs = capacity_of(in, signs);
            expect(so_far.cut <= by_signs,
                   "the cut is no worse than the signs of terminals, " + what);
            expect(given != most || so_far.cut < by_signs / 8,
                   "the cut has become far better than the signs of terminals, " + what);
        }
    }
    expect(stopped > 0, "a microsecond is not enough");
    // The next one has as much time as it needs.
    const Named scene = scene_instance(width, height, weights[1], 8, 4);
    expect_cut(op, scene.instance, reference(scene.instance), "after a limit of time");
    std::printf("limit of time: %d of %d runs were stopped\n", stopped, runs);
}

/// What a microsecond does not suffice for is found within it by a run that begins with all of the
/// flow.
void check_flow_kept(Operator &op, int width, int height) {
    const Named scene = scene_instance(width, height, weights[2], 8, 3);
    const Cut want = reference(scene.instance);
    gpv_graphcut_params p = with_certificate();
    p.reuse = 1;
    for (const auto &[limit, optimal] : {std::pair{1, 0u}, {0, 1u}, {1, 1u}}) {
        p.max_time_us = limit;
        Laid laid(scene.instance, true);
        const gpv_graphcut_result found = op.run(p, laid).result;
        expect(found.optimal == optimal, "a run begins with the flow of the last one");
        expect(found.flow <= want.flow && found.cut == capacity_of(scene.instance, laid.found()),
               "its bound is one");
        if (optimal)
            expect_mask(laid, scene.instance, want, "with all of the flow");
    }
    std::printf("reuse: a run begins with the flow of the last one\n");
}

// ---- threads, memory ----------------------------------------------------------------

/// Instances that are worth several threads: the same on any number of them, and a run after
/// prepare allocates nothing.
void check_threads() {
    std::vector<Named> made;
    const auto draw = [&](const char *name, int directions) {
        made.push_back(drawn_instance(name, 461, 301, directions));
    };
    for (const int directions : {4, 8}) {
        for (const Weight &weight : {weights[0], weights[1]})
            made.push_back(scene_instance(503, 401, weight, directions, 8));
        draw("checkerboard", directions);
        draw("two far seeds", directions);
    }
    draw("far sides", 8);
    draw("vertical snake of sources", 4);
    const std::vector<Named> all = some_of(made);
    for (const Named &named : all) {
        const Cut want = reference(named.instance);
        for (const int threads : {1, 2, 3, 16})
            with_threads(threads, [&] {
                Operator op;
                Laid laid(named.instance, true);
                const gpv_graphcut_params p = with_certificate();
                op.prepare(p, *laid.links.view());
                const int prepared = op.context().allocations();
                expect_cut(op, p, named.instance, laid, want, named.text());
                expect(op.context().allocations() == prepared,
                       "nothing is allocated after prepare, " + named.text());
            });
    }
    std::printf("threads: %zu instances equal on 1, 2, 3 and 16, without an allocation\n",
                all.size());
}

// ---- copies -------------------------------------------------------------------------

template <class F>
GuardedImage image_of(gpv_format format, const Instance &in, F plane) {
    GuardedImage image(format, in.width, in.height);
    image.each_row([&](int p, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
        std::memcpy(row, &plane(p)[in.at(0, static_cast<int>(y))], bytes);
    });
    return image;
}

/// Copies of a small instance, with no links between them: each is cut as if it were alone. Those
/// that fill the largest image are refused while others have the device's memory.
void check_copies(gpv_backend backend, int directions, const Copies &copies,
                  Sharing sharing = Sharing::opposites) {
    const Named small = scene_instance(copies.width, copies.height, weights[0], directions, 9);
    const Instance &in = small.instance;
    const Cut want = reference(in);
    Operator op(backend, backend == GPV_BACKEND_CUDA ? Place::device : Place::host);
    const gpv_graphcut_params p = with_certificate();
    const std::string what = copies.text() + ", " + small.text();
    const auto expect_small = [&](const char *when) {
        Laid laid(in, false);
        expect_cut(op, p, in, laid, want, when);
    };
    expect_small("before copies");
    const int planes = sharing == Sharing::opposites ? directions / 2 : directions;
    const std::uint64_t bytes = op.context().allocated() + in.pixels() * (4 + 4 * planes + 1);
    if (!has_memory(backend, copies.count() * bytes, what))
        return;
    const GuardedImage before(GPV_FORMAT_GRAY8, in.width, in.height);
    const CopiedImage terminals(
        image_of(
            GPV_FORMAT_LABEL32, in, [&](int) -> auto & { return in.terminals; }),
        copies, 1, backend);
    const CopiedImage links(image_of(
                                in.format(), in, [&](int d) -> auto & { return in.links[d]; }),
                            copies, planes, backend);
    const CopiedImage mask(before, copies, 1, backend);
    const gpv_image shared_links = shared(*links.view(), sharing);
    const auto run = [&] {
        return gpv_graphcut_run(op.op(), nullptr, terminals.view(), &shared_links, mask.view(),
                                nullptr);
    };
#ifdef HAVE_CUDA
    if (backend == GPV_BACKEND_CUDA && shared_links.width == GPV_MAX_SIDE) {
        const NearlyFullDevice full;
        expect_refused(op.context(), what + ", run", run);
        expect_small("after copies were refused");
        mask.expect_copies_of(before, what + ", refused");
    }
#endif
    require(run(), op.context(), "gpv_graphcut_run");
    gpv_graphcut_result got;
    gpv_graphcut_result_init(&got, sizeof got);
    require(gpv_graphcut_wait(op.op(), &got), op.context(), "gpv_graphcut_wait");
    expect_result(
        got, result_of({copies.count() * want.flow, copies.count() * want.area, {}}, true), what);
    mask.expect_copies_of(image_of(
                              GPV_FORMAT_GRAY8, in, [&](int) -> auto & { return want.mask; }),
                          what);
    expect_small("after copies");
    std::printf("%s: equal in every pixel\n", what.c_str());
}

/// Sizes that the references, and the CPU backend, take long for.
void check_large_copies(gpv_backend backend) {
    check_copies(backend, 8, {9, 17, 455, 241});
    check_copies(backend, 4, {17, 9, 241, 455});
    check_copies(backend, 8, {8, 8, 1024, 1024});
    check_copies(backend, 4, {16, 16, 1024, 1024});
}

// ---- CUDA ---------------------------------------------------------------------------

#ifdef HAVE_CUDA

/// How much of it there is: brief is what the emulation does in a short time.
struct Extent {
    bool brief;

    Sizes drawn() const {
        if (kernels_alone()) // racecheck takes seconds for a search over many tiles
            return {{17, 15}};
        if (brief)
            return {{35, 34}};
        return {{1, 1}, {1, 97}, {97, 1}, {2, 2}, {33, 31}, {65, 64}, {127, 129}, {301, 211}};
    }
    int width() const { return brief ? 41 : 333; }
    int height() const { return brief ? 35 : 251; }
    Instance instance(int number, int directions) const {
        return scene_instance(width(), height(), weights[number % 3], directions,
                              static_cast<std::uint64_t>(number) + 20)
            .instance;
    }
};

/// Distances of hundreds of pixels, over several tiles, where pictures have to be small.
void check_long_ways(Operator &op) {
    for (const Named &named :
         {drawn_instance("maze of sources", 66, 35, 4), drawn_instance("lanes", 35, 66, 8)})
        expect_cut(op, named.instance, reference(named.instance), named.text());
    std::printf("CUDA: long ways equal\n");
}

void check_prepared(Place place, const Extent &extent) {
    Operator op(GPV_BACKEND_CUDA, place);
    for (const int directions : {4, 8}) {
        const Instance in = extent.instance(1, directions);
        const Cut want = reference(in);
        Laid laid(in, true);
        for (const bool certificate : {false, true}) {
            gpv_graphcut_params p = default_params();
            p.certificate = certificate;
            op.prepare(p, *laid.links.view());
            const int prepared = op.context().allocations();
            expect_cut(op, p, in, laid, want, "prepared");
            expect(op.context().allocations() == prepared,
                   "CUDA: nothing is allocated after prepare, " +
                       describe(op, in, laid, "prepared"));
        }
    }
    std::printf("CUDA: no scratch is allocated after prepare\n");
}

/// Images and a result in CUDA memory.
class OnDevice {
  public:
    explicit OnDevice(const Laid &laid) {
        upload(laid);
        stored_.upload(result_.bytes().data(), result_.bytes().size());
        buffer_ = result_.view(stored_.data(), GPV_MEMORY_CUDA);
    }
    /// Another of the same size.
    void upload(const Laid &laid) {
        terminals_.upload(laid.terminals);
        links_.upload(laid.links);
        mask_.upload(laid.mask);
    }
    gpv_status run(gpv_graphcut *op, cudaStream_t stream) const {
        return gpv_graphcut_run(op, stream, terminals_.view(), links_.view(), mask_.view(),
                                &buffer_);
    }
    const gpv_image *links() const { return links_.view(); }
    void expect_found(Laid &laid, const Instance &in, const Cut &want, bool certificate,
                      const std::string &what) {
        mask_.download(laid.mask);
        expect_mask(laid, in, want, what);
        expect_result(download(), result_of(want, certificate), what);
    }
    gpv_graphcut_result download() {
        stored_.download(result_.bytes().data(), result_.bytes().size());
        return result_.result();
    }
    void download(GuardedImage &mask) const { mask_.download(mask); }

  private:
    DeviceImage terminals_, links_, mask_;
    DeviceBlock stored_;
    Stored result_;
    gpv_buffer buffer_;
};

/// Runs that become part of the caller's graph, and runs on two streams.
class StreamChecks {
  public:
    explicit StreamChecks(const Extent &extent) : extent_(extent) {}

    void check_captured(int directions) {
        const Op op(context_);
        gpv_graphcut_params p = with_certificate();
        p.reuse = 1;
        require(gpv_graphcut_set_params(op, &p), context_, "gpv_graphcut_set_params");
        Instance in = extent_.instance(1, directions);
        Laid laid(in, false);
        OnDevice to(laid);
        const Enqueue enqueue = [&](cudaStream_t stream, int) {
            return to.run(op, stream) == GPV_OK;
        };
        expect(!streams_.can_capture(enqueue), "a captured run that needs memory is refused");
        require(gpv_graphcut_prepare(op, to.links()), context_, "gpv_graphcut_prepare");
        expect(!streams_.can_capture([&](cudaStream_t stream, int) {
            return gpv_graphcut_run(op, stream, laid.terminals.view(), laid.links.view(),
                                    laid.mask.view(), nullptr) == GPV_OK;
        }),
               "a captured run on host memory is refused");
        const cudaGraphExec_t graph = capture(enqueue, 1, streams_[0]);
        expect(graph, "a prepared run can be captured");
        const auto launch = [&] {
            require(cudaGraphLaunch(graph, streams_[0]), "cudaGraphLaunch");
            require(gpv_stream_sync(context_, streams_[0]), context_, "gpv_stream_sync");
        };
        for (int i = 1; i <= 3; i++) { // each time other values in the same place
            in = extent_.instance(i, directions);
            Laid next(in, false);
            to.upload(next);
            if (i == 3) { // one that is no graph's, and reuses flow, too
                require(to.run(op, streams_[0]), context_, "gpv_graphcut_run");
                require(gpv_graphcut_wait(op, nullptr), context_, "gpv_graphcut_wait");
            }
            launch();
            to.expect_found(next, in, reference(in), true, "CUDA, captured");
        }
        const std::int32_t illegal = -1;
        std::memcpy(laid.links.row(0, 3) + 4 * 5, &illegal, 4);
        to.upload(laid);
        launch();
        gpv_graphcut_result refused{};
        refused.struct_size = sizeof refused;
        refused.refused = 1;
        expect_result(to.download(), refused, "CUDA, captured, with a fault");
        const std::vector<std::uint8_t> before = laid.mask.bytes();
        to.download(laid.mask);
        expect(laid.mask.bytes() == before, "a captured run that is refused writes no mask");
        gpv_graphcut_result result;
        gpv_graphcut_result_init(&result, sizeof result);
        require(gpv_graphcut_wait(op, &result), context_, "gpv_graphcut_wait");
        expect(result.struct_size == sizeof result && result.refused == 0 && result.optimal == 1,
               "of a captured run the host has no result, but that of the one before");
        require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
        std::printf("CUDA: captured, %d neighbours\n", directions);
    }

    /// What is captured keeps the parameters that it was captured with.
    void check_captured_params() {
        const Instance in = extent_.instance(1, 4);
        const Cut want = reference(in);
        for (const std::uint32_t certificate : {0u, 1u}) {
            const Op op(context_);
            Laid laid(in, false);
            OnDevice to(laid);
            const auto set = [&](const gpv_graphcut_params &p) {
                require(gpv_graphcut_set_params(op, &p), context_, "gpv_graphcut_set_params");
            };
            gpv_graphcut_params p = default_params();
            p.certificate = certificate;
            set(p);
            require(gpv_graphcut_prepare(op, to.links()), context_, "gpv_graphcut_prepare");
            const cudaGraphExec_t graph =
                capture([&](cudaStream_t stream, int) { return to.run(op, stream) == GPV_OK; }, 1,
                        streams_[0]);
            expect(graph, "a prepared run can be captured");
            p.certificate = !certificate;
            p.max_time_us = 1;
            set(p);
            require(cudaGraphLaunch(graph, streams_[0]), "cudaGraphLaunch");
            require(gpv_stream_sync(context_, streams_[0]), context_, "gpv_stream_sync");
            to.expect_found(laid, in, want, certificate, "CUDA, captured before other parameters");
            require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
        }
        std::printf("CUDA: captured with its parameters\n");
    }

    /// One run after the other on two streams, before anybody waits.
    void check_two_streams() {
        const Op op(context_);
        std::vector<Instance> in;
        std::vector<Cut> want;
        for (int i = 0; i < 2; i++) {
            in.push_back(extent_.instance(i, i ? 4 : 8));
            want.push_back(reference(in.back()));
        }
        for (int round = 0; round < (extent_.brief ? 1 : 20); round++) {
            Laid laid[2] = {Laid(in[0], true), Laid(in[1], true)};
            OnDevice to[2] = {OnDevice(laid[0]), OnDevice(laid[1])};
            for (int i = 0; i < 2; i++)
                require(to[i].run(op, streams_[(i + round) % 2]), context_, "gpv_graphcut_run");
            expect_waited(op, want[1]);
            for (int i = 0; i < 2; i++) {
                require(gpv_stream_sync(context_, streams_[i]), context_, "gpv_stream_sync");
                to[i].expect_found(laid[i], in[i], want[i], false, "CUDA, two streams");
            }
            for (int i = 0; i < 2; i++) // in host memory
                require(gpv_graphcut_run(op, streams_[i], laid[i].terminals.view(),
                                         laid[i].links.view(), laid[i].mask.view(), nullptr),
                        context_, "gpv_graphcut_run");
            expect_waited(op, want[1]);
            for (int i = 0; i < 2; i++)
                expect_mask(laid[i], in[i], want[i], "CUDA, two streams, host memory");
        }
        std::printf("CUDA: two streams equal\n");
    }

    /// The mask of a run on host images is delivered, or not, as that run has ended, also when
    /// another one on device images has ended before the delivery.
    void check_host_then_device() {
        const Op op(context_);
        const Instance good = extent_.instance(1, 4);
        const Cut want = reference(good);
        Instance bad = good;
        bad.terminals[good.pixels() / 2] = std::numeric_limits<std::int32_t>::min();
        for (const bool host_is_bad : {true, false}) {
            Laid host(host_is_bad ? bad : good, true), device(host_is_bad ? good : bad, true);
            host.spoil();
            OnDevice there(device);
            require(gpv_graphcut_run(op, streams_[0], host.terminals.view(), host.links.view(),
                                     host.mask.view(), nullptr),
                    context_, "gpv_graphcut_run");
            require(there.run(op, streams_[1]), context_, "gpv_graphcut_run");
            for (int i = 0; i < 2; i++)
                require(cudaStreamSynchronize(streams_[i]), "cudaStreamSynchronize");
            gpv_graphcut_result result;
            gpv_graphcut_result_init(&result, sizeof result);
            const gpv_status status = gpv_graphcut_wait(op, &result);
            expect(status == (host_is_bad ? GPV_OK : GPV_ERR_INVALID_ARGUMENT),
                   "the status is that of the last run");
            expect(result.refused == !host_is_bad, "the result is that of the last run");
            if (!host_is_bad)
                expect_mask(host, good, want, "CUDA, a host run before a device run");
            else
                for (const std::uint8_t byte : host.found())
                    expect(byte == 0x5A, "the mask of a refused run stays as it was");
        }
        std::printf("CUDA: a host run before a device run\n");
    }

  private:
    void expect_waited(gpv_graphcut *op, const Cut &want) {
        gpv_graphcut_result result;
        gpv_graphcut_result_init(&result, sizeof result);
        require(gpv_graphcut_wait(op, &result), context_, "gpv_graphcut_wait");
        expect_result(result, result_of(want, false), "CUDA, the last of two runs");
        require(gpv_graphcut_query(op), context_, "gpv_graphcut_query");
    }

    const Extent extent_;
    const Streams streams_;
    const PlainContext context_{GPV_BACKEND_CUDA};
};

/// An operator each on two contexts, at the same time.
void check_two_contexts(const Extent &extent) {
    const Instance in[2] = {extent.instance(1, 4), extent.instance(2, 8)};
    const Cut want[2] = {reference(in[0]), reference(in[1])};
    Laid laid[2] = {Laid(in[0], true), Laid(in[1], true)};
    tbb::parallel_for(0, 2, [&](int i) {
        Operator op(GPV_BACKEND_CUDA, Place::device);
        for (int round = 0; round < (extent.brief ? 1 : 50); round++) {
            laid[i].spoil();
            const Outcome got = op.run(with_certificate(), laid[i]);
            expect_mask(laid[i], in[i], want[i], "CUDA, two contexts");
            expect_outcome(got, GPV_OK, result_of(want[i], true), "CUDA, two contexts");
        }
    });
    std::printf("CUDA: two contexts at once equal\n");
}

/// By the CPU backend, which the references prove on smaller ones.
Cut find_by_cpu(const Instance &in) {
    Operator cpu;
    return cut_by(cpu, in);
}

void check_beside_cpu(Operator &op, const Named &named) {
    const Cut want = find_by_cpu(named.instance);
    Laid laid(named.instance, true);
    expect_cut(op, with_certificate(), named.instance, laid, want, named.text());
}

/// Instances that only a GPU can do in time.
void check_on_gpu(Operator &op) {
    // Where a search has its tiles on 132 multiprocessors, as of an H200: of the first, a warp has
    // seven in registers; there are too many for that, and from about 9.7 million pixels on they
    // are in shared memory; of the last, a part is in the device's memory. Easy scenes, since the
    // CPU does them too.
    const std::vector<std::array<int, 3>> where_tiles_are = {
        {3001, 2999, 4}, {3001, 2999, 8}, {3400, 3000, 4}, {3400, 3000, 8}, {4096, 4096, 8}};
    int count = 0;
    for (const auto &[width, height] : Sizes{{640, 480}, {1280, 719}, {1919, 1079}, {1920, 1080}})
        for (const Weight &weight : weights)
            for (const int directions : {4, 8})
                if (count++ % 5 == 0 || !short_run())
                    check_beside_cpu(op, scene_instance(width, height, weight, directions, 30));
    for (const auto &[width, height, directions] : where_tiles_are)
        if (!short_run() || width != 3400 || directions == 4) // the other one is as 3001 x 2999
            check_beside_cpu(op, scene_instance(width, height, weights[0], directions, 31));
    for (const auto &file : instance_files())
        check_beside_cpu(op, named_instance(file));
    for (int i = 0; i < shortened(60); i++)
        check_beside_cpu(
            op, {"random", "",
                 random_instance(random_int(100, 400), random_int(100, 300), i % 2 ? 8 : 4)});
    check_drawn(op, {{1501, 33}, {31, 1203}, {401, 303}}, find_by_cpu);
    std::printf("CUDA: large instances equal\n");
}

/// What benchmarks run beside ours.
void check_plain(int count, int largest) {
    for (int i = 0; i < count; i++) {
        const Instance in = any_instance(largest);
        PlainCut plain(in.width, in.height, in.terminals, in.links);
        for (int run = 0; run < 2; run++) {
            plain.reset();
            expect(plain.flow() == definition(in).flow, "plain push-relabel finds the flow");
        }
    }
    std::printf("CUDA: plain push-relabel: as the definition, %d random cases\n", count);
}

/// As many pixels as there can be, where others have the device's memory.
void check_refused_by_device() {
    Operator op(GPV_BACKEND_CUDA, Place::device);
    const Named small = scene_instance(97, 61, weights[0], 8, 1);
    const Cut want = reference(small.instance);
    for (const gpv_format format : {GPV_FORMAT_CAP32X4, GPV_FORMAT_CAP32X8}) {
        const gpv_image links = largest_on_device(format);
        const NearlyFullDevice full;
        expect_cut(op, small.instance, want, "before it is refused");
        expect_refused(op.context(), "CUDA, prepare",
                       [&] { return gpv_graphcut_prepare(op.op(), &links); });
        expect_cut(op, small.instance, want, "after it was refused");
    }
    std::printf("CUDA: refused by the device's memory\n");
}

void check_cuda(bool brief) {
    const Extent extent = {brief};
    for (const Place place : places({Place::device, Place::host, Place::device_tight})) {
        const char *const names[] = {"host", "CUDA", "tight CUDA"};
        const char *const parts[] = {"host", "device", "tight"};
        if (!part.has(parts[static_cast<int>(place)]))
            continue;
        Operator op(GPV_BACKEND_CUDA, place);
        std::printf("== %s, images in %s memory\n", op.context().device(),
                    names[static_cast<int>(place)]);
        const int few = place == Place::device ? 16 : 6;
        compare_with_definition(op, brief ? shortened(few, 2) : scaled(400), brief ? 34 : 65);
        if (place == Place::device)
            check_drawn(op, extent.drawn(), reference, brief);
        else if (!brief)
            check_drawn(op, extent.drawn(), find_by_cpu);
        if (place != Place::device_tight && !kernels_alone()) {
            check_prepared(place, extent);
            check_reuse(op, brief ? shortened(4, 2) : scaled(60), brief ? 34 : 65);
        }
    }
    if (part.has("memory")) { // before others have memory of the device's
        if (!brief) {
            check_refused(GPV_BACKEND_CUDA);
            check_refused_by_device();
        }
        const int copies = brief ? 2 : short_run() ? 217 : 31;
        const int side = brief ? 37 : GPV_MAX_SIDE / copies;
        check_copies(GPV_BACKEND_CUDA, 4, {copies, copies, side, side}, Sharing::none);
        if (!brief && short_run()) // more bytes than 2^31
            check_copies(GPV_BACKEND_CUDA, 8, {100, 100, 82, 82});
        else
            check_copies(GPV_BACKEND_CUDA, 8, {copies, copies, side, side});
        if (!brief && !short_run())
            check_large_copies(GPV_BACKEND_CUDA);
    }
    if (!brief && part.has("sizes")) {
        Operator op(GPV_BACKEND_CUDA, Place::device);
        for (const Sizes &sizes : {narrow_sizes(), small_squares})
            each_drawn(some_of(sizes), [&](const Instance &in, const char *name) {
                check_beside_cpu(op, {name, "", in});
            });
        for (const auto &[width, height] : some_of(squares))
            check_beside_cpu(op, scene_instance(width, height, weights[0], 4, 40));
    }
    if (!part.has("runs"))
        return;
    Operator op(GPV_BACKEND_CUDA, Place::device);
    if (brief) {
        check_long_ways(op);
        // On the emulation, which has few multiprocessors, blocks have many tiles of these, and
        // searches have many windows.
        for (const int directions : {4, 8})
            check_beside_cpu(op, drawn_instance("two far seeds", 230, 200, directions));
    }
    StreamChecks(extent).check_captured(8);
    if (!kernels_alone())
        StreamChecks(extent).check_captured(4);
    check_max_time(op, brief ? 50 : shortened(1280, 4), brief ? 36 : shortened(720, 4));
    check_flow_kept(op, 60, 50);
    if (kernels_alone())
        return;
    StreamChecks(extent).check_captured_params();
    StreamChecks(extent).check_two_streams();
    StreamChecks(extent).check_host_then_device();
    if (!under_racecheck())
        check_two_contexts(extent);
    check_plain(brief ? shortened(8, 2) : scaled(100), brief ? 12 : 65);
    if (brief)
        return;
    check_laws(op, shortened(100), 40);
    check_repeats(op, 640, 480);
    check_on_gpu(op);
}

#endif

// ---- benchmark ----------------------------------------------------------------------

/// Of a copy that moves as many bytes as have to be read and written.
std::size_t copied(const Instance &in) {
    return in.pixels() * (4 + 4 * static_cast<std::size_t>(in.directions) + 1) / 2;
}

std::string work_of(const Named &named) {
    return (named.weight.empty() ? "" : named.weight + ", ") +
           std::to_string(named.instance.directions) + " neighbours";
}

std::string image_of(const Named &named) {
    return size_name(named.instance.width, named.instance.height) + " " + named.name;
}

#ifdef HAVE_OPENCV

constexpr const char *opencv_name = "OpenCV " CV_VERSION " GCGraph";

/// What grabCut() solves its graphs with, on integers.
class OpencvCut {
  public:
    explicit OpencvCut(const Instance &in)
        : graph_(static_cast<unsigned>(in.pixels()),
                 static_cast<unsigned>(in.pixels() * static_cast<std::size_t>(in.directions))) {
        for (std::size_t p = 0; p < in.pixels(); p++) {
            graph_.addVtx();
            graph_.addTermWeights(static_cast<int>(p), std::max(in.terminals[p], 0),
                                  std::max(-in.terminals[p], 0));
        }
        for (std::size_t p = 0; p < in.pixels(); p++)
            for (int d = 0; d < in.directions / 2; d++)
                if (in.has(d, p)) {
                    const std::size_t q = in.next(d, p);
                    graph_.addEdges(static_cast<int>(p), static_cast<int>(q), in.links[d][p],
                                    in.links[in.back(d)][q]);
                }
    }
    /// A graph serves one run: this makes another.
    void reset() { work_ = graph_; }
    std::int64_t flow() { return work_.maxFlow(); }

  private:
    using Graph = cv::detail::GCGraph<std::int64_t>;
    Graph graph_, work_;
};

#endif

/// Runs into memory that is kept.
class HostRun {
  public:
    HostRun(gpv_backend backend, const Instance &in) : context_(backend), laid_(in, false) {}
    std::int64_t flow() {
        require(gpv_graphcut_run(op_, nullptr, laid_.terminals.view(), laid_.links.view(),
                                 laid_.mask.view(), nullptr),
                context_, "gpv_graphcut_run");
        gpv_graphcut_result result;
        gpv_graphcut_result_init(&result, sizeof result);
        require(gpv_graphcut_wait(op_, &result), context_, "gpv_graphcut_wait");
        return result.flow;
    }
    Candidate on_threads(int threads) {
        return {"ours", [this, threads] {
                    tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                              static_cast<std::size_t>(threads));
                    return flow();
                }};
    }
    const Laid &laid() const { return laid_; }

  private:
    const PlainContext context_;
    Laid laid_;
    const Op op_{context_};
};

Timing time_copy(std::size_t bytes) {
    std::vector<std::uint8_t> from(bytes), to(bytes);
    return time_in_turn({[&] { std::memcpy(to.data(), from.data(), bytes); }}, 15, 0)[0];
}

void compare_on_cpu(Report &report, const Named &named, bool beside_plain = false) {
    const Instance &in = named.instance;
    const int all = tbb::info::default_concurrency();
    HostRun ours(GPV_BACKEND_CPU, in);
    const std::int64_t flow = ours.flow();
    expect(capacity_of(in, ours.laid().found()) == flow, "a mask to be timed is the least cut");
    std::vector<Candidate> candidates = {ours.on_threads(1), ours.on_threads(all)};
#ifdef HAVE_BOOST
    BoostCut boost(in);
    candidates.push_back({boost_name(), [&] { return boost.flow(); }});
#endif
#ifdef HAVE_OPENCV
    OpencvCut opencv(in);
    candidates.push_back({opencv_name, [&] { return opencv.flow(); }, [&] { opencv.reset(); }});
#endif
    if (beside_plain)
        candidates.push_back(plain_candidate(in));
    const std::vector<Timing> times = time_flows(candidates, flow);
    const double copy = time_copy(copied(in)).median;
    for (int i = 0; i < 2; i++) {
        const int threads = i ? all : 1;
        if (candidates.size() == 2)
            report.add({work_of(named), image_of(named), threads, times[i], "", {}, copy});
        for (std::size_t k = 2; k < candidates.size(); k++)
            report.add({work_of(named), image_of(named), threads, times[i],
                        candidates[k].name + (i ? ", 1 thread" : ""), times[k], copy});
    }
}

/// f(named) for each instance of the benchmarks, of which one is in memory at a time.
template <class F>
void each_to_time(bool large, F f) {
    for (const auto &[width, height] : Sizes{{640, 480}, {1920, 1080}, {3840, 2160}})
        for (const int directions : {4, 8})
            for (const Weight &weight : weights) {
                // Of what takes a CPU long, medium alone.
                const bool medium = &weight == &weights[1], huge = width > 3000;
                if (huge ? (large && medium) : (large || medium || directions == 4 || width < 1000))
                    f(scene_instance(width, height, weight, directions));
            }
    for (const auto &file : instance_files()) {
        const Named named = named_instance(file);
        if (large || named.instance.width < 3000)
            f(named);
    }
}

/// f(named) for graphs on which a GPU may well lose, as docs/algorithms/graphcut.md says: ways that
/// wind, few pixels with excess, flow that trickles. Small where time grows faster than the number
/// of pixels.
template <class F>
void each_unsuited(bool large, F f) {
    struct Unsuited {
        const char *name;
        int width, height;
    };
    for (const auto &[name, width, height] :
         std::initializer_list<Unsuited>{{"snake", 160, 120},
                                         {"maze", 640, 480},
                                         {"maze", 1920, 1080},
                                         {"two far seeds", 640, 480},
                                         {"two far seeds", 1920, 1080},
                                         {"trap", 640, 480},
                                         {"trap", 1920, 1080},
                                         {"lanes", 640, 480},
                                         {"one-way diagonals", 640, 480}})
        if (large || width < 1000)
            f(drawn_instance(name, width, height, 4));
}

/// Frames of a camera that stands still, with a model of the colours that does not change.
struct Frames {
    static constexpr int count = 4;
    std::string name, weight;
    std::vector<Instance> instances;
};

/// f(frames): nothing moves; an object does, with colours and edges of another scene; each pixel
/// has fresh noise.
template <class F>
void each_still_camera(int width, int height, F f) {
    for (const Weight &weight : {weights[1], weights[2]}) {
        const Instance still = scene_instance(width, height, weight, 4).instance;
        const Instance object = scene_instance(width, height, weight, 4, 2).instance;
        Frames same{"nothing moves", weight.name, {}}, moves{"an object moves", weight.name, {}},
            noise{"noise", weight.name, {}};
        for (int number = 0; number < Frames::count; number++) {
            Instance moved = still, noisy = still;
            const int radius = height / 10;
            const int left = width / 4 + number * width / 200, top = height / 3;
            const auto is_object = [&](std::size_t p) {
                const int x = static_cast<int>(p % width) - left,
                          y = static_cast<int>(p / width) - top;
                return x * x + y * y < radius * radius;
            };
            for (std::size_t p = 0; p < still.pixels(); p++)
                if (is_object(p))
                    moved.terminals[p] = object.terminals[p];
            moved.each_edge([&](int x, int y, int d) {
                const std::size_t p = still.at(x, y);
                return (is_object(p) ? object : still).links[d][p];
            });
            for (std::int32_t &terminal : noisy.terminals)
                terminal += random_int(-8, 8);
            noisy.each_edge([&](int x, int y, int d) {
                return std::max(0, still.links[d][still.at(x, y)] + random_int(-60, 60));
            });
            same.instances.push_back(still);
            moves.instances.push_back(std::move(moved));
            noise.instances.push_back(std::move(noisy));
        }
        for (const Frames *frames : {&same, &moves, &noise})
            f(*frames);
    }
}

/// A frame of each in turn, with reuse and without.
void compare_reuse_on_cpu(Report &report, const Frames &frames) {
    std::vector<std::unique_ptr<Laid>> laid;
    for (const Instance &in : frames.instances)
        laid.push_back(std::make_unique<Laid>(in, false));
    gpv_graphcut_params p = default_params();
    Operator without, with;
    require(gpv_graphcut_set_params(without.op(), &p), without.context(),
            "gpv_graphcut_set_params");
    p.reuse = 1;
    require(gpv_graphcut_set_params(with.op(), &p), with.context(), "gpv_graphcut_set_params");
    const auto all_by = [&](Operator &op) {
        std::int64_t sum = 0;
        for (const auto &frame : laid)
            sum += op.again(*frame, false).result.flow;
        return sum;
    };
    const std::vector<Timing> times =
        time_flows({{"", [&] { return all_by(with); }}, {"", [&] { return all_by(without); }}},
                   all_by(without));
    report.add(
        {frames.weight + ", reuse, 4 frames",
         size_name(frames.instances[0].width, frames.instances[0].height) + " " + frames.name,
         tbb::info::default_concurrency(), times[0], "ours without reuse", times[1],
         Frames::count * time_copy(copied(frames.instances[0])).median});
}

void benchmark_cpu(Report &report) {
    each_to_time(false, [&](const Named &named) { compare_on_cpu(report, named); });
    compare_on_cpu(report, paper_instance(), true);
    each_unsuited(false, [&](const Named &named) { compare_on_cpu(report, named); });
    each_still_camera(640, 480,
                      [&](const Frames &frames) { compare_reuse_on_cpu(report, frames); });
}

#ifdef HAVE_CUDA

/// What a row of a GPU is to have.
struct Wanted {
    bool certificate = false;
    bool plain = false; ///< beside plain push-relabel on either, too
    bool slow = false;  ///< it takes so long that few runs are timed, and a cache does not matter
};

/// An instance in CUDA memory, so often that none is in the cache when its turn comes.
class ColdRuns {
  public:
    ColdRuns(const Instance &in, const Wanted &wanted)
        : slow_(wanted.slow), laid_(in, false), copy_(copied(in)) {
        const gpv_graphcut_params p = wanted.certificate ? with_certificate() : default_params();
        const std::size_t bytes =
            laid_.terminals.bytes().size() + laid_.links.bytes().size() + laid_.mask.bytes().size();
        for (int i = 0; i < std::min(cold_count(bytes), slow_ ? 3 : 40); i++)
            to_.push_back(std::make_unique<OnDevice>(laid_));
        require(gpv_graphcut_set_params(op_, &p), context_, "gpv_graphcut_set_params");
        require(gpv_graphcut_prepare(op_, to_[0]->links()), context_, "gpv_graphcut_prepare");
    }
    void expect_found(const Instance &in, const Cut &want, bool certificate,
                      const std::string &what) {
        for (auto &to : to_) {
            require(to->run(op_, nullptr), context_, "gpv_graphcut_run");
            require(gpv_graphcut_wait(op_, nullptr), context_, "gpv_graphcut_wait");
            to->expect_found(laid_, in, want, certificate, what);
        }
    }
    /// Ours, and a copy that moves as much.
    std::vector<Timing> time() {
        return time_on_device(
            {[&](cudaStream_t stream, int i) {
                 return to_[static_cast<std::size_t>(i) % to_.size()]->run(op_, stream) == GPV_OK;
             },
             [&](cudaStream_t stream, int i) { return copy_.enqueue(stream, i); }},
            static_cast<int>(to_.size()), 51, slow_ ? 5 : 21);
    }

  private:
    const bool slow_;
    const PlainContext context_{GPV_BACKEND_CUDA};
    const Op op_{context_};
    Laid laid_;
    std::vector<std::unique_ptr<OnDevice>> to_;
    const ColdCopy copy_;
};

/// Images in CUDA memory; every mask is proven before.
void compare_on_gpu(Report &report, const Named &named, const Wanted &wanted = {}) {
    const Instance &in = named.instance;
    const int all = tbb::info::default_concurrency();
    HostRun cpu(GPV_BACKEND_CPU, in);
    const std::int64_t flow = cpu.flow();
    const std::vector<std::uint8_t> mask = cpu.laid().found();
    ColdRuns runs(in, wanted);
    runs.expect_found(in, {flow, area_of(mask), mask}, wanted.certificate,
                      "to be timed: " + named.text());
    const std::vector<Timing> times = runs.time();
    std::vector<Candidate> peers = {cpu.on_threads(all)};
    peers[0].name = "our CPU backend, " + std::to_string(all) + " threads";
    if (wanted.plain) {
        peers.push_back(plain_candidate(in));
        peers.push_back(plain_cuda_candidate(in));
    }
    const std::vector<Timing> peer_times = time_flows(peers, flow, beside_gpu);
    for (std::size_t i = 0; i < peers.size(); i++)
        report.add({work_of(named) + (wanted.certificate ? ", certificate" : ""), image_of(named),
                    0, times[0], peers[i].name, peer_times[i], times[1].median});
}

/// Frames in CUDA memory in turn, with reuse and without; every mask is proven to be the same.
void compare_reuse_on_gpu(Report &report, const Frames &frames) {
    const PlainContext context{GPV_BACKEND_CUDA};
    const Op with(context), without(context);
    gpv_graphcut_params p = default_params();
    p.reuse = 1;
    require(gpv_graphcut_set_params(with, &p), context, "gpv_graphcut_set_params");
    std::vector<std::unique_ptr<Laid>> laid;
    std::vector<std::unique_ptr<OnDevice>> to;
    for (const Instance &in : frames.instances) {
        laid.push_back(std::make_unique<Laid>(in, false));
        to.push_back(std::make_unique<OnDevice>(*laid.back()));
        std::vector<std::uint8_t> masks[2];
        for (const bool reuses : {false, true}) {
            require(to.back()->run(reuses ? with : without, nullptr), context, "gpv_graphcut_run");
            require(gpv_graphcut_wait(reuses ? with : without, nullptr), context,
                    "gpv_graphcut_wait");
            to.back()->download(laid.back()->mask);
            masks[reuses] = laid.back()->found();
        }
        expect(masks[0] == masks[1], "reuse changes no mask, " + frames.name);
    }
    const ColdCopy copy(copied(frames.instances[0]));
    const auto run_by = [&](const Op &op) -> Enqueue {
        return [&](cudaStream_t stream, int i) {
            return to[static_cast<std::size_t>(i) % to.size()]->run(op, stream) == GPV_OK;
        };
    };
    const std::vector<Timing> times =
        time_on_device({run_by(with), run_by(without),
                        [&](cudaStream_t stream, int i) { return copy.enqueue(stream, i); }},
                       4 * Frames::count, 51, 21);
    report.add(
        {frames.weight + ", reuse",
         size_name(frames.instances[0].width, frames.instances[0].height) + " " + frames.name, 0,
         times[0], "ours without reuse", times[1], times[2].median});
}

/// From host memory to host memory, one after the other.
void compare_from_host(Report &report, const Named &named) {
    HostRun gpu(GPV_BACKEND_CUDA, named.instance), cpu(GPV_BACKEND_CPU, named.instance);
    const std::int64_t flow = gpu.flow();
    expect(cpu.flow() == flow, "both backends find the same flow");
    const auto times =
        time_flows({{"ours", [&] { return gpu.flow(); }}, {"CPU", [&] { return cpu.flow(); }}},
                   flow, beside_gpu);
    report.add({"host to host, " + work_of(named), image_of(named), 0, times[0], "our CPU backend",
                times[1], time_copy(copied(named.instance)).median});
}

void benchmark_gpu(Report &report) {
    each_to_time(true, [&](const Named &named) { compare_on_gpu(report, named); });
    compare_on_gpu(report, paper_instance(), {.plain = true});
    compare_on_gpu(report, scene_instance(64, 48, weights[1], 4));
    each_unsuited(true, [&](const Named &named) { compare_on_gpu(report, named, {.slow = true}); });
    for (const int directions : {4, 8}) {
        const Named scene = scene_instance(1920, 1080, weights[1], directions);
        compare_on_gpu(report, scene, {.certificate = true});
        compare_from_host(report, scene);
    }
    each_still_camera(1920, 1080,
                      [&](const Frames &frames) { compare_reuse_on_gpu(report, frames); });
}

#endif

// ---- times of contents --------------------------------------------------------------

/// Where a backend computes.
struct Placed {
    PlacedImage terminals, links, mask;

    Placed(const Laid &laid, gpv_backend backend)
        : terminals(laid.terminals, backend), links(laid.links, backend), mask(laid.mask, backend) {
    }
};

void check_times(gpv_backend backend) {
    const int width = 256, height = 256;
    const CountedContext context(backend);
    const Op op(context);
    const auto set_limit = [&](int max_time_us) {
        const gpv_graphcut_params p = with_certificate(max_time_us);
        require(gpv_graphcut_set_params(op, &p), context, "gpv_graphcut_set_params");
    };
    for (const int directions : {4, 8}) {
        TimedCuts cuts(backend, set_limit);
        const auto add = [&](const std::string &name, const Instance &in) {
            const auto placed = std::make_shared<Placed>(Laid(in, false), backend);
            cuts.add(name, [&, placed] {
                require(gpv_graphcut_run(op, nullptr, placed->terminals.view(),
                                         placed->links.view(), placed->mask.view(), nullptr),
                        context, "gpv_graphcut_run");
                gpv_graphcut_result result;
                gpv_graphcut_result_init(&result, sizeof result);
                require(gpv_graphcut_wait(op, &result), context, "gpv_graphcut_wait");
                return result;
            });
        };
        for (const Drawn &drawn : drawn_instances())
            add(drawn.name, drawn.make(width, height, directions));
        for (const Weight &weight : weights)
            add(std::string("scene, ") + weight.name,
                scene_instance(width, height, weight, directions).instance);
        cuts.compare(size_name(width, height) + ", " + std::to_string(directions) + " neighbours");
    }
}

// ---- the program --------------------------------------------------------------------

void check() {
#ifdef HAVE_BOOST
    compare_references(scaled(500));
#else
    std::printf("Boost: not installed, not compared\n");
#endif
    each_instruction_set([&](const char *name) {
        Operator op;
        std::printf("== %s\n", op.context().device());
        if (!std::strstr(op.context().device(), name))
            fatal(std::string("the library does not run on ") + name);
        compare_with_definition(op, scaled(500));
    });
    Operator op;
    compare_with_definition(op, scaled(10000));
    check_drawn(
        op,
        {{1, 1}, {1, 97}, {97, 1}, {2, 2}, {33, 31}, {64, 65}, {127, 61}, {151, 149}, {5003, 1}});
    check_refused(GPV_BACKEND_CPU);
    check_laws(op, scaled(300), 25);
    check_repeats(op, 120, 90);
    check_reuse(op, scaled(300), 40);
    check_copies(GPV_BACKEND_CPU, 4, {3, 2, 97, 61});
#ifdef HAVE_BOOST // the definition takes long
    const bool large = true;
#else
    const bool large = full_run();
#endif
    check_scenes(op, large ? Sizes{{97, 61}, {320, 241}} : Sizes{{97, 61}});
    // Work for two threads, and more than one look at the clock.
    check_max_time(op, large ? 461 : 160, large ? 301 : 120);
    check_flow_kept(op, large ? 320 : 60, large ? 240 : 50);
    if (large) {
        check_threads();
        check_sizes(op, some_of(narrow_sizes()));
        check_sizes(op, some_of(small_squares));
        check_scene_sizes(op, {squares[0]});
    }
    if (full_run()) {
        for (const Sizes &sizes : {squares, large_squares})
            check_scene_sizes(op, sizes);
        check_drawn(op, {{701, 523}, {5000, 33}, {31, 4001}, {32767, 1}});
        check_scenes(op, {{1919, 1079}}, 9);
        check_large_copies(GPV_BACKEND_CPU);
    }
    check_files(op);
}

} // namespace

int main(int argc, char **argv) {
#ifdef HAVE_CUDA
    return run_program({"graphcut", check, check_cuda, benchmark_cpu, benchmark_gpu, check_times},
                       argc, argv);
#else
    return run_program({"graphcut", check, nullptr, benchmark_cpu, nullptr, check_times}, argc,
                       argv);
#endif
}
