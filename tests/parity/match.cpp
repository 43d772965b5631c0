// SPDX-License-Identifier: BSD-2-Clause
// Matching beside its definition, which is a loop over all pairs; and beside OpenCV's.
#include "device.hpp"
#include "samples.hpp"

#include <numeric>
#include <optional>
#include <utility>

#ifdef HAVE_OPENCV_FEATURES
#    include <opencv2/core/utility.hpp>
#    include <opencv2/core/version.hpp>
#    include <opencv2/features2d.hpp>
#endif

namespace {

using namespace parity;

using Op = Handle<gpv_match_create, gpv_match_destroy>;

gpv_match_params default_params() {
    gpv_match_params params;
    gpv_match_params_init(&params, sizeof params);
    return params;
}

gpv_match_params with(float ratio, bool mutual) {
    gpv_match_params params = default_params();
    params.ratio = ratio;
    params.mutual = mutual;
    return params;
}

// ---- descriptors --------------------------------------------------------------------

constexpr int length = GPV_SIFT_DESCRIPTOR_LENGTH;

struct Set {
    std::vector<std::uint8_t> bytes;

    explicit Set(int count) : bytes(static_cast<std::size_t>(count) * length) {}
    int count() const { return static_cast<int>(bytes.size() / length); }
    std::uint8_t *operator[](int i) { return &bytes[static_cast<std::size_t>(i) * length]; }
    const std::uint8_t *operator[](int i) const {
        return &bytes[static_cast<std::size_t>(i) * length];
    }
};

/// f() is a number of a descriptor.
template <class F>
Set set_of(int count, F f) {
    Set set(count);
    std::generate(set.bytes.begin(), set.bytes.end(),
                  [&] { return static_cast<std::uint8_t>(f()); });
    return set;
}

/// Of random kinds: many distances are equal, or as large as they can be, or 0.
Set random_set(int count) {
    switch (random_int(0, 5)) {
    case 0:
        return set_of(count, [] { return random_int(0, 255); });
    case 1:
        return set_of(count, [] { return random_int(0, 1); });
    case 2:
        return set_of(count, [] { return random_int(0, 1) * 255; });
    case 3:
        return set_of(count, [] { return random_int(0, 100) == 0 ? 1 : 0; });
    case 4: { // few different ones
        const Set few = set_of(random_int(1, 5), [] { return random_int(0, 3); });
        Set set(count);
        for (int i = 0; i < count; i++)
            std::copy_n(few[random_int(0, few.count() - 1)], length, set[i]);
        return set;
    }
    default: { // all black, or all white
        const int value = random_int(0, 1) * 255;
        return set_of(count, [&] { return value; });
    }
    }
}

/// Some are those of another set, a little changed.
Set related_set(const Set &other, int count) {
    Set set = random_set(count);
    for (int i = 0; i < count && other.count() > 0; i++)
        if (random_int(0, 1)) {
            std::copy_n(other[random_int(0, other.count() - 1)], length, set[i]);
            for (int changes = random_int(0, 3); changes > 0; changes--)
                set[i][random_int(0, length - 1)] = static_cast<std::uint8_t>(random_int(0, 255));
        }
    return set;
}

/// As of a picture, and of another one that shows much of it: lengths of about 512, most numbers
/// small.
std::pair<Set, Set> pictures_of(int queries, int trains) {
    std::mt19937_64 engine(7);
    const auto make = [&](std::uint8_t *to) {
        double numbers[length], sum = 0;
        for (double &number : numbers) {
            const double unit = double(engine() >> 11) / double(1ull << 53);
            number = unit * unit * unit;
            sum += number * number;
        }
        for (int k = 0; k < length; k++)
            to[k] = static_cast<std::uint8_t>(std::min(512 * numbers[k] / std::sqrt(sum), 255.0));
    };
    Set a(queries), b(trains);
    for (int i = 0; i < queries; i++)
        make(a[i]);
    for (int i = 0; i < trains; i++) {
        if (i >= queries || i % 5 < 2) {
            make(b[i]);
            continue;
        }
        for (int k = 0; k < length; k++)
            b[i][k] = static_cast<std::uint8_t>(
                std::clamp(a[i][k] + static_cast<int>(engine() % 17) - 8, 0, 255));
    }
    return {a, b};
}

// ---- definition ---------------------------------------------------------------------

struct Matches {
    std::vector<gpv_match_nearest> nearest;
    std::vector<gpv_match_pair> pairs;
};

int distance_of(const std::uint8_t *a, const std::uint8_t *b) {
    int sum = 0;
    for (int k = 0; k < length; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

/// Of the first so many queries, all distances to the other set, in the order of the index.
std::vector<std::vector<int>> distances_of(const Set &query, int queries, const Set &train) {
    std::vector<std::vector<int>> result(static_cast<std::size_t>(queries));
    for (int i = 0; i < queries; i++)
        for (int j = 0; j < train.count(); j++)
            result[static_cast<std::size_t>(i)].push_back(distance_of(query[i], train[j]));
    return result;
}

Matches definition(const Set &query, int queries, const Set &train, const gpv_match_params &p) {
    const auto distances = distances_of(query, queries, train);
    Matches result;
    for (int i = 0; i < queries; i++) {
        const std::vector<int> &row = distances[static_cast<std::size_t>(i)];
        std::vector<int> order(row.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
            return row[static_cast<std::size_t>(a)] < row[static_cast<std::size_t>(b)];
        });
        gpv_match_nearest nearest = {{-1, -1}, {INT32_MAX, INT32_MAX}};
        for (std::size_t k = 0; k < 2 && k < order.size(); k++) {
            nearest.index[k] = order[k];
            nearest.distance[k] = row[static_cast<std::size_t>(order[k])];
        }
        result.nearest.push_back(nearest);
        if (order.empty())
            continue;
        const double share = double(p.ratio) * double(p.ratio);
        if (p.ratio > 0 && order.size() > 1 && nearest.distance[0] >= share * nearest.distance[1])
            continue;
        const auto nearer = [&](int other) { // to the same descriptor
            const int theirs =
                distances[static_cast<std::size_t>(other)][static_cast<std::size_t>(order[0])];
            return theirs < nearest.distance[0] || (theirs == nearest.distance[0] && other < i);
        };
        bool mutual = true;
        for (int other = 0; p.mutual && mutual && other < queries; other++)
            mutual = !nearer(other);
        if (mutual)
            result.pairs.push_back({i, order[0], nearest.distance[0], nearest.distance[1]});
    }
    return result;
}

// ---- runs ---------------------------------------------------------------------------

/// Bytes somewhere in a larger block, whose others are canaries; or just these, to the last byte of
/// the device's memory.
class Guarded {
  public:
    Guarded(std::size_t size, Place place)
        : place_(place),
          at_(place == Place::device_tight ? 0 : static_cast<std::size_t>(4 * random_int(1, 40))),
          size_(size), bytes_(at_ + size + (place == Place::device_tight ? 0 : 200), canary)
#ifdef HAVE_CUDA
          ,
          block_(place == Place::device_tight)
#endif
    {
    }
    std::uint8_t *data() {
        return bytes_.data() + at_;
    }
    std::size_t size() const {
        return size_;
    }
    std::vector<std::uint8_t> &bytes() {
        return bytes_;
    }

    /// Where it is to lie, with what is in it now.
    gpv_buffer send() {
        gpv_buffer view;
        gpv_buffer_init(&view, sizeof view);
        view.data = data();
        view.size = size_;
#ifdef HAVE_CUDA
        if (place_ != Place::host) {
            block_.upload(bytes_.data(), bytes_.size());
            view.memory = GPV_MEMORY_CUDA;
            view.data = block_.data() + at_;
        }
#endif
        return view;
    }
    void receive() {
#ifdef HAVE_CUDA
        if (place_ != Place::host && block_.data())
            block_.download(bytes_.data(), bytes_.size());
#endif
    }
    /// But for the first so many bytes.
    void expect_untouched(std::size_t written, const std::string &what) const {
        for (std::size_t i = 0; i < bytes_.size(); i++)
            if ((i < at_ || i >= at_ + written) && bytes_[i] != canary)
                fatal(what + ": a byte was written " + std::to_string(i - at_) +
                      " behind the first of the buffer");
    }

  private:
    static constexpr std::uint8_t canary = 0xC5;
    Place place_;
    std::size_t at_, size_;
    std::vector<std::uint8_t> bytes_;
#ifdef HAVE_CUDA
    DeviceBlock block_;
#endif
};

/// What a run is given, and what of it a caller wants.
struct Input {
    const Set &query, &train;
    std::optional<int> found;
    std::optional<int> room; ///< for pairs
    bool nearest = true, result = true;

    int queries() const { return found ? std::clamp(*found, 0, query.count()) : query.count(); }
};

class Operator {
  public:
    explicit Operator(gpv_backend backend = GPV_BACKEND_CPU, Place place = Place::host)
        : context_(backend), place_(place), computes_(backend == GPV_BACKEND_CPU ? Place::host
                                                      : place == Place::host     ? Place::device
                                                                                 : place) {}
    CountedContext &context() { return context_; }
    Place place() const { return place_; }
    operator gpv_match *() const { return op_; }

    void set(const gpv_match_params &p) {
        require(gpv_match_set_params(op_, &p), context_, "gpv_match_set_params");
    }
    void prepare(int queries, int trains) {
        require(gpv_match_prepare(op_, queries, trains,
                                  place_ == Place::host ? GPV_MEMORY_HOST : GPV_MEMORY_CUDA),
                context_, "gpv_match_prepare");
    }
    /// Where something lies: with images in host memory, now and then on the device.
    Place any_place() const {
        return place_ == Place::host && computes_ != Place::host && random_int(0, 3) == 0
                   ? computes_
                   : place_;
    }
    /// Where the backend computes.
    Place computes() const { return computes_; }

  private:
    CountedContext context_;
    Place place_, computes_;
    Op op_{context_};
};

/// The buffers of a run.
class Laid {
  public:
    Laid(const Operator &op, const Input &in)
        : query_(in.query.bytes.size(), op.any_place()),
          train_(in.train.bytes.size(), op.any_place()),
          found_(sizeof(gpv_sift_result), op.computes()),
          nearest_(sizeof(gpv_match_nearest) * static_cast<std::size_t>(in.query.count()),
                   op.any_place()),
          pairs_(sizeof(gpv_match_pair) * static_cast<std::size_t>(in.room.value_or(0)),
                 op.any_place()),
          result_(sizeof(gpv_match_result), op.computes()), in_(in) {
        std::copy(in.query.bytes.begin(), in.query.bytes.end(), query_.data());
        std::copy(in.train.bytes.begin(), in.train.bytes.end(), train_.data());
        const gpv_sift_result found = {sizeof found, in.found.value_or(0), 0, 0};
        std::memcpy(found_.data(), &found, sizeof found);
        Guarded *const all[] = {&query_, &train_, &found_, &nearest_, &pairs_, &result_};
        for (int i = 0; i < 6; i++)
            if (all[i]->size() > 0)
                views_[i] = all[i]->send();
    }
    gpv_status run(gpv_match *op, gpv_stream stream = nullptr) const {
        const auto view = [&](int i, bool wanted) { return wanted ? &views_[i] : nullptr; };
        const int queries = in_.query.count(), trains = in_.train.count();
        return gpv_match_run(op, stream, view(0, queries > 0), queries,
                             view(2, in_.found.has_value()), view(1, trains > 0), trains,
                             view(3, in_.nearest && queries > 0), view(4, in_.room.has_value()),
                             view(5, in_.result));
    }
    /// waited: what gpv_match_wait() said; null: it says nothing of this run.
    void expect(const Matches &want, const gpv_match_result *waited, const std::string &what) {
        const int room = in_.room.value_or(in_.query.count());
        const auto matches = static_cast<int>(want.pairs.size());
        const gpv_match_result result = {sizeof result, std::min(matches, room),
                                         std::max(matches - room, 0), in_.queries()};
        for (Guarded *part : {&query_, &train_, &found_, &nearest_, &pairs_, &result_})
            part->receive();
        if (waited)
            expect_same(*waited, result, what + ", waited for");
        expect_records(nearest_, want.nearest, in_.nearest ? want.nearest.size() : 0,
                       what + ", nearest");
        expect_records(pairs_, want.pairs, in_.room ? static_cast<std::size_t>(result.count) : 0,
                       what + ", pairs");
        if (in_.result) {
            gpv_match_result got;
            std::memcpy(&got, result_.data(), sizeof got);
            expect_same(got, result, what);
        }
        result_.expect_untouched(in_.result ? sizeof result : 0, what + ", result");
        parity::expect(
            std::equal(in_.query.bytes.begin(), in_.query.bytes.end(), query_.data()) &&
                std::equal(in_.train.bytes.begin(), in_.train.bytes.end(), train_.data()),
            what + ": what is only read stays");
    }
    /// What a run with that result has written.
    Matches written(const gpv_match_result &result) {
        Matches all;
        all.nearest.resize(static_cast<std::size_t>(result.queries));
        all.pairs.resize(static_cast<std::size_t>(result.count));
        std::memcpy(all.nearest.data(), nearest_.data(),
                    all.nearest.size() * sizeof all.nearest[0]);
        std::memcpy(all.pairs.data(), pairs_.data(), all.pairs.size() * sizeof all.pairs[0]);
        return all;
    }

  private:
    static void expect_same(const gpv_match_result &got, const gpv_match_result &want,
                            const std::string &what) {
        const auto text = [](const gpv_match_result &r) {
            return "size " + std::to_string(r.struct_size) + " count " + std::to_string(r.count) +
                   " dropped " + std::to_string(r.dropped) + " queries " +
                   std::to_string(r.queries);
        };
        if (std::memcmp(&got, &want, sizeof got) != 0)
            fatal(what + ": " + text(got) + ", want " + text(want));
    }
    template <class Record>
    static void expect_records(Guarded &got, const std::vector<Record> &want, std::size_t count,
                               const std::string &what) {
        static_assert(sizeof(Record) == 16);
        for (std::size_t i = 0; i < count; i++) {
            std::int32_t a[4], b[4];
            std::memcpy(a, got.data() + i * sizeof a, sizeof a);
            std::memcpy(b, &want[i], sizeof b);
            if (!std::equal(a, a + 4, b)) {
                const auto text = [](const std::int32_t *r) {
                    return std::to_string(r[0]) + " " + std::to_string(r[1]) + " " +
                           std::to_string(r[2]) + " " + std::to_string(r[3]);
                };
                fatal(what + ": record " + std::to_string(i) + " is " + text(a) + ", want " +
                      text(b));
            }
        }
        got.expect_untouched(count * sizeof(Record), what);
    }

    Guarded query_, train_, found_, nearest_, pairs_, result_;
    gpv_buffer views_[6];
    const Input in_;
};

std::string text_of(const Operator &op, const Input &in, const gpv_match_params &p) {
    const char *const places[] = {"host", "CUDA", "tight CUDA"};
    return std::to_string(in.query.count()) + " queries" +
           (in.found ? " (" + std::to_string(*in.found) + " found)" : "") + ", " +
           std::to_string(in.train.count()) + " others, ratio " + std::to_string(p.ratio) +
           (p.mutual ? ", mutual" : "") +
           (in.room ? ", room for " + std::to_string(*in.room) : "") + ", " +
           places[static_cast<int>(op.place())] + " memory";
}

void expect_matches(Operator &op, const Input &in, const gpv_match_params &p, const Matches &want) {
    const std::string what = text_of(op, in, p);
    op.set(p);
    Laid laid(op, in);
    require(laid.run(op), op.context(), what.c_str());
    gpv_match_result result;
    gpv_match_result_init(&result, sizeof result);
    require(gpv_match_wait(op, &result), op.context(), what.c_str());
    laid.expect(want, &result, what);
}

void expect_defined(Operator &op, const Input &in, const gpv_match_params &p) {
    expect_matches(op, in, p, definition(in.query, in.queries(), in.train, p));
}

// ---- checks -------------------------------------------------------------------------

/// Round those of vectors, tiles and groups.
int random_count(int largest) {
    static const std::vector<int> ends = {0,   1,   2,   3,   4,   5,   7,   8,  15,
                                          16,  17,  31,  32,  33,  63,  64,  65, 127,
                                          128, 129, 255, 256, 257, 511, 512, 513};
    if (random_int(0, 2) == 0)
        return std::min(random_of(ends), largest);
    return random_int(0, random_int(0, 1) ? std::min(largest, 20) : largest);
}

gpv_match_params random_params() {
    return with(random_of<float>({0, 0.5f, 0.8f, 0.9f, 1}), random_int(0, 1));
}

void compare_with_definition(Operator &op, int count, int largest) {
    for (int i = 0; i < count; i++) {
        const bool cramped = i == 0; // more matches than there is room for
        const Set train = random_set(cramped ? 40 : random_count(largest));
        const Set query = cramped || random_int(0, 1)
                              ? related_set(train, cramped ? 40 : random_count(largest))
                              : random_set(random_count(largest));
        Input in = {query, train, {}, {}};
        if (random_int(0, 3) == 0)
            in.found = random_int(-1, query.count() + 2);
        if (random_int(0, 4))
            in.room = random_int(0, 1) ? query.count() + random_int(1, 3)
                                       : random_int(1, query.count() + 1);
        if (cramped) {
            in.found.reset();
            in.room = 3;
        }
        in.nearest = random_int(0, 3) != 0;
        in.result = random_int(0, 3) != 0;
        expect_defined(op, in, cramped ? with(0, false) : random_params());
    }
    std::printf("definition: %d random cases equal\n", count);
}

/// As many queries and others as images have columns and rows.
void check_sizes(Operator &op, const Sizes &sizes) {
    for (const auto &[queries, trains] : sizes) {
        const Set train = random_set(trains), query = related_set(train, queries);
        expect_defined(op, {query, train, {}, queries}, random_params());
    }
    std::printf("sizes: %zu equal, %dx%d the last\n", sizes.size(), sizes.back()[0],
                sizes.back()[1]);
}

/// Distances on both sides of what the ratio asks for, to the last bit.
void check_ratio(Operator &op) {
    int count = 0;
    for (const float ratio : {0.25f, 0.5f, 0.7f, 0.75f, 0.8f, 1.0f})
        for (int i = 0; i < 40; i++) {
            Set query(1), train(2);
            // Single numbers, so that distances are their squares.
            const int second = random_int(1, 255);
            train[1][5] = static_cast<std::uint8_t>(second);
            train[0][9] = static_cast<std::uint8_t>(
                std::clamp(static_cast<int>(second * ratio) + random_int(-1, 1), 0, 255));
            expect_defined(op, {query, train, {}, 4}, with(ratio, false));
            count++;
        }
    std::printf("ratio: %d decided as defined\n", count);
}

/// Laws that need no definition, on sets too large for it.
void check_laws(Operator &op, int queries, int trains) {
    const auto [query, train] = pictures_of(queries, trains);
    const auto run = [&](const Set &a, const Set &b, const gpv_match_params &p) {
        op.set(p);
        Laid laid(op, {a, b, {}, {}, false, false});
        require(laid.run(op), op.context(), "gpv_match_run");
        gpv_match_result result;
        gpv_match_result_init(&result, sizeof result);
        require(gpv_match_wait(op, &result), op.context(), "gpv_match_wait");
        return result.count;
    };
    expect(run(query, query, with(0, true)) == queries, "a set matches itself");
    expect(run(query, train, with(0, false)) == queries, "everything has a nearest");
    expect(run(query, train, with(0, true)) == run(train, query, with(0, true)),
           "to be nearest to each other goes both ways");
    int before = 0;
    for (const float ratio : {0.2f, 0.5f, 0.8f, 0.95f}) {
        const int count = run(query, train, with(ratio, true));
        expect(count >= before && count <= run(query, train, with(ratio, false)),
               "matches become more with the ratio, and fewer if they are to be mutual");
        before = count;
    }
    std::printf("laws: %d and %d descriptors, %d matches\n", queries, trains, before);
}

/// The same bytes, run after run, and on any number of threads.
void check_repeats(Operator &op, int descriptors, int repeats) {
    const auto [query, train] = pictures_of(descriptors, descriptors);
    const gpv_match_params p = default_params();
    const Input in = {query, train, {}, descriptors};
    const Matches want = definition(query, descriptors, train, p);
    expect(want.pairs.size() > static_cast<std::size_t>(descriptors) / 3,
           "pictures of the same have matches");
    op.prepare(descriptors, descriptors);
    const int prepared = op.context().allocations();
    for (int i = 0; i < repeats; i++)
        expect_matches(op, in, p, want);
    expect(op.context().allocations() == prepared, "nothing is allocated after prepare");
    std::printf("repeats: %d equal, %zu matches of %d\n", repeats, want.pairs.size(), descriptors);
}

void check_threads() {
    const auto [query, train] = pictures_of(700, 900);
    const gpv_match_params p = default_params();
    const Matches want = definition(query, 700, train, p);
    for (const int threads : {1, 2, 3, 16})
        with_threads(threads, [&, &query = query, &train = train] {
            Operator op;
            op.prepare(700, 900);
            const int prepared = op.context().allocations();
            for (int i = 0; i < 10; i++)
                expect_matches(op, {query, train, {}, 700}, p, want);
            expect(op.context().allocations() == prepared,
                   "nothing is allocated after prepare, on any number of threads");
        });
    std::printf("threads: the same on 1, 2, 3 and 16\n");
}

// ---- outlines -----------------------------------------------------------------------

struct Polygon {
    std::vector<float> points; ///< x, y, one behind the other
    float width;

    int count() const { return static_cast<int>(points.size() / 2); }
    /// Of a pixel, from the nearest line.
    double distance(int x, int y) const {
        double minimum = 1e30;
        for (std::size_t i = 0; i < points.size(); i += 2) {
            const std::size_t j = (i + 2) % points.size();
            const double ax = points[i], ay = points[i + 1], dx = points[j] - ax,
                         dy = points[j + 1] - ay, length = dx * dx + dy * dy;
            const double along =
                length > 0 ? std::clamp(((x - ax) * dx + (y - ay) * dy) / length, 0.0, 1.0) : 0;
            minimum = std::min(minimum, std::hypot(x - ax - along * dx, y - ay - along * dy));
        }
        return minimum;
    }
};

/// Also with corners outside the picture, far outside, and two that are the same.
Polygon random_polygon(int width, int height) {
    Polygon polygon = {{}, random_of<float>({1, 1.5f, 2, 3, 8, 40})};
    const float beyond = random_of<float>({0, 0, 0.5f, 20});
    for (int i = random_int(2, random_int(0, 3) ? 5 : 64); i > 0; i--)
        for (const int side : {width, height})
            polygon.points.push_back(static_cast<float>(
                side * ((1 + 2 * beyond) * random_int(0, 10000) / 10000.0 - beyond)));
    if (random_int(0, 3) == 0)
        std::copy_n(polygon.points.begin(), 2, polygon.points.end() - 2);
    if (random_int(0, 3) == 0)
        for (float &point : polygon.points)
            point = std::round(point);
    return polygon;
}

void draw(gpv_match *op, const CountedContext &context, const gpv_image *dst,
          const Polygon &polygon, std::uint32_t color) {
    require(gpv_draw_outline(op, nullptr, dst, polygon.points.data(), polygon.count(),
                             polygon.width, color),
            context, "gpv_draw_outline");
}

/// A byte for each pixel, from a drawing of white on black.
std::vector<std::uint8_t> drawn_pixels(Operator &op, const Polygon &polygon, int width,
                                       int height) {
    GuardedImage image(GPV_FORMAT_GRAY8, width, height);
    image.each_row([](int, std::int64_t, std::uint8_t *row, std::int64_t bytes) {
        std::fill_n(row, bytes, 0);
    });
    draw(op, op.context(), image.view(), polygon, 0xffffff);
    expect(image.canaries_intact(), "nothing is drawn beside the picture");
    std::vector<std::uint8_t> pixels;
    for (int y = 0; y < height; y++)
        pixels.insert(pixels.end(), image.row(0, y), image.row(0, y) + width);
    return pixels;
}

/// What of a format a drawn pixel becomes; of YUV, its chroma site as well.
void paint_pixel(GuardedImage &image, int x, int y, const Rgb &color) {
    const Samples samples(image);
    const std::array<int, 4> bytes = samples.bytes_of(color);
    for (int c = 0; c < samples.channels(); c++)
        samples.set(c, x / samples.across(c), y / samples.down(c), samples.stored(c, bytes[c]));
}

void check_outlines(Operator &op, int count) {
    const std::uint32_t color = 0xe05a12;
    for (int i = 0; i < count; i++) {
        const int width = random_int(1, 150), height = random_int(1, 120);
        const Polygon polygon = random_polygon(width, height);
        const std::vector<std::uint8_t> pixels = drawn_pixels(op, polygon, width, height);
        const double reach = polygon.width / 2;
        const bool far = *std::max_element(polygon.points.begin(), polygon.points.end()) > 500;
        const double exact = far ? 0.05 : 0.002; // what single precision leaves undecided
        GuardedImage got = random_image(random_of(picture_formats), width, height);
        GuardedImage want(got.view()->format, width, height);
        want.set_color(got.view()->color_matrix, got.view()->color_range);
        want.copy_pixels_from(got);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                const double distance = polygon.distance(x, y);
                const bool drawn = pixels[std::size_t(y) * width + x] != 0;
                expect(drawn ? distance <= reach + exact : distance >= reach - exact,
                       "pixels are drawn that are at most half a width from a line");
                if (drawn)
                    paint_pixel(want, x, y, {0xe0, 0x5a, 0x12});
            }
        draw(op, op.context(), got.view(), polygon, color);
        expect_equal(got, want, "an outline");
    }
    std::printf("outlines: %d as defined\n", count);
}

#ifdef HAVE_OPENCV_FEATURES

constexpr const char *opencv_name = "OpenCV " CV_VERSION " BFMatcher";

cv::Mat matrix_of(const Set &set) {
    return {set.count(), length, CV_8U, const_cast<std::uint8_t *>(set.bytes.data())};
}

void check_opencv(Operator &op, int count, int largest) {
    const cv::BFMatcher matcher(cv::NORM_L2SQR);
    for (int i = 0; i < count; i++) {
        const Set train = random_set(random_int(2, largest));
        const Set query = related_set(train, random_int(1, largest));
        std::vector<std::vector<cv::DMatch>> theirs;
        matcher.knnMatch(matrix_of(query), matrix_of(train), theirs, 2);
        Laid laid(op, {query, train, {}, query.count()});
        op.set(with(0, false));
        require(laid.run(op), op.context(), "gpv_match_run");
        gpv_match_result result;
        gpv_match_result_init(&result, sizeof result);
        require(gpv_match_wait(op, &result), op.context(), "gpv_match_wait");
        const Matches ours = laid.written(result);
        // Theirs may be others, of the same distances.
        for (std::size_t q = 0; q < theirs.size(); q++)
            for (std::size_t k = 0; k < 2; k++)
                expect(theirs[q][k].distance == static_cast<float>(ours.nearest[q].distance[k]),
                       "distances are those of OpenCV");
    }
    std::printf("OpenCV %s: the same distances, %d random cases\n", CV_VERSION, count);
}

#endif

// ---- on CUDA ------------------------------------------------------------------------

#ifdef HAVE_CUDA

void check_captured(bool brief) {
    Operator op(GPV_BACKEND_CUDA, Place::device);
    const Streams streams;
    const auto [query, train] = pictures_of(brief ? 70 : 3000, brief ? 90 : 2500);
    const gpv_match_params p = default_params();
    const int queries = query.count();
    const Matches want = definition(query, queries, train, p);
    Laid laid(op, {query, train, {}, queries});
    const Enqueue run = [&](cudaStream_t stream, int) { return laid.run(op, stream) == GPV_OK; };
    expect(!streams.can_capture(run), "a run that needs memory cannot be captured");
    expect(std::strstr(gpv_context_error(op.context()), "gpv_match_prepare"), "the text says why");
    op.prepare(queries, train.count());
    expect(streams.run_captured(run, op.context()), "a run after prepare can be captured");
    laid.expect(want, nullptr, "captured");
    gpv_match_result result;
    gpv_match_result_init(&result, sizeof result);
    require(gpv_match_wait(op, &result), op.context(), "gpv_match_wait");
    expect(result.count == 0 && result.queries == 0, "a captured run does not count");

    // Nor does it change what a run has found that it comes behind.
    const cudaGraphExec_t graph = capture(run, 1, streams[0]);
    Set few(3);
    std::copy_n(query[0], few.bytes.size(), few[0]);
    Laid later(op, {few, train, {}, 3});
    require(later.run(op, streams[0]), op.context(), "gpv_match_run");
    require(cudaGraphLaunch(graph, streams[0]), "cudaGraphLaunch");
    require(cudaStreamSynchronize(streams[0]), "cudaStreamSynchronize");
    require(gpv_match_wait(op, &result), op.context(), "gpv_match_wait");
    later.expect(definition(few, 3, train, p), &result, "before a captured run");
    require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");

    Operator host(GPV_BACKEND_CUDA, Place::host);
    host.prepare(queries, train.count());
    Laid on_host(host, {query, train, {}, queries});
    expect(!streams.can_capture(
               [&](cudaStream_t stream, int) { return on_host.run(host, stream) == GPV_OK; }),
           "a run on host memory cannot be captured");
    std::printf("CUDA: captured in a graph, or refused\n");
}

/// Runs on two streams, before anybody waits: the second waits for the first, on the device.
void check_two_streams(bool brief) {
    const Streams streams;
    for (const Place place : {Place::device, Place::host}) {
        Operator op(GPV_BACKEND_CUDA, place);
        const auto [query, train] = pictures_of(brief ? 40 : 2000, brief ? 70 : 3000);
        const gpv_match_params p = default_params();
        const Input there = {query, train, {}, query.count()},
                    back = {train, query, {}, train.count()};
        Laid first(op, there), second(op, back);
        for (int i = 0; i < 3; i++) {
            require(first.run(op, streams[0]), op.context(), "gpv_match_run");
            require(second.run(op, streams[1]), op.context(), "gpv_match_run");
        }
        for (const int i : {0, 1})
            require(gpv_stream_sync(op.context(), streams[i]), op.context(), "gpv_stream_sync");
        first.expect(definition(query, query.count(), train, p), nullptr, "on two streams");
        second.expect(definition(train, train.count(), query, p), nullptr, "on two streams");
    }
    std::printf("CUDA: runs on two streams\n");
}

void check_outlines_beside_cpu(bool brief) {
    Operator gpu(GPV_BACKEND_CUDA, Place::device), cpu;
    const int count = brief ? 8 : 300, largest = brief ? 50 : 2000;
    for (int i = 0; i < count; i++) {
        GuardedImage got = random_image(picture_formats[static_cast<std::size_t>(i) % 9],
                                        random_int(1, largest), random_int(1, largest));
        const Polygon polygon = random_polygon(got.view()->width, got.view()->height);
        DeviceImage on_device(i % 2);
        on_device.upload(got);
        const std::vector<std::uint8_t> before = got.bytes();
        draw(cpu, cpu.context(), got.view(), polygon, 0x30c080);
        const std::vector<std::uint8_t> want = got.bytes();
        got.bytes() = before; // where they are
        draw(gpu, gpu.context(), got.view(), polygon, 0x30c080);
        expect(got.bytes() == want, "CUDA: an outline in host memory is that of the CPU backend");
        draw(gpu, gpu.context(), on_device.view(), polygon, 0x30c080);
        require(gpv_match_wait(gpu, nullptr), gpu.context(), "gpv_match_wait");
        on_device.download(got);
        expect(got.bytes() == want, "CUDA: an outline is that of the CPU backend");
    }
    const Streams streams;
    GuardedImage image = random_image(GPV_FORMAT_NV12, 60, 40);
    DeviceImage on_device;
    on_device.upload(image);
    const Polygon polygon = {{3, 3, 50, 8, 40, 35}, 3};
    const auto run = [&](const gpv_image *dst) {
        return [&gpu, &polygon, dst](cudaStream_t stream, int) {
            return gpv_draw_outline(gpu, stream, dst, polygon.points.data(), 3, 3, 0xff) == GPV_OK;
        };
    };
    expect(streams.run_captured(run(on_device.view()), gpu.context()), "an outline is captured");
    expect(!streams.can_capture(run(image.view())), "one in host memory cannot be captured");
    draw(cpu, cpu.context(), image.view(), polygon, 0xff);
    const std::vector<std::uint8_t> want = image.bytes();
    on_device.download(image);
    expect(image.bytes() == want, "CUDA: a captured outline is that of the CPU backend");
    std::printf("CUDA: %d outlines as the CPU backend's\n", count);
}

/// Sets that the definition takes long for.
void check_beside_cpu(const Sizes &sizes) {
    Operator gpu(GPV_BACKEND_CUDA, Place::device), cpu;
    for (const auto &[queries, trains] : sizes) {
        const auto [query, train] = pictures_of(queries, trains);
        const gpv_match_params p = random_params();
        const Input in = {query, train, {}, query.count()};
        cpu.set(p);
        Laid laid(cpu, in);
        require(laid.run(cpu), cpu.context(), "gpv_match_run");
        gpv_match_result result;
        gpv_match_result_init(&result, sizeof result);
        require(gpv_match_wait(cpu, &result), cpu.context(), "gpv_match_wait");
        expect_matches(gpu, in, p, laid.written(result));
    }
    std::printf("CUDA: as the CPU backend, %zu sizes, %dx%d the last\n", sizes.size(),
                sizes.back()[0], sizes.back()[1]);
}

void check_cuda(bool brief) {
    for (const Place place : {Place::device, Place::host, Place::device_tight}) {
        Operator op(GPV_BACKEND_CUDA, place);
        const char *const names[] = {"host", "CUDA", "tight CUDA"};
        std::printf("== %s, buffers in %s memory\n", op.context().device(),
                    names[static_cast<int>(place)]);
        compare_with_definition(op, brief ? 6 : scaled(400), brief ? 70 : 1500);
        if (place != Place::device_tight)
            check_repeats(op, brief ? 60 : 2000, brief ? 2 : 100);
    }
    Operator op(GPV_BACKEND_CUDA, Place::device);
    check_captured(brief);
    check_two_streams(brief);
    check_outlines_beside_cpu(brief);
    if (brief) { // more than one group of tiles, and of blocks that choose
        const auto [query, train] = pictures_of(33, 530);
        expect_defined(op, {query, train, {}, 40}, default_params());
        expect_defined(op, {train, query, {}, 600}, default_params());
        return;
    }
    for (const Sizes &sizes : {narrow_sizes(), small_squares, squares, large_squares})
        check_sizes(op, some_of(sizes));
    check_ratio(op);
    check_laws(op, 10000, 12000);
    Sizes large = {{20000, 20000}};
    while (large.size() < 20)
        large.push_back({random_int(1, 20000), random_int(1, 20000)});
    check_beside_cpu(large);
    check_beside_cpu(vast_squares);
}

#endif

// ---- benchmark ----------------------------------------------------------------------

constexpr std::pair<int, int> timed[] = {{500, 2000}, {2000, 2000}, {10000, 10000}};

std::string size_of(const Set &a, const Set &b) {
    return std::to_string(a.count()) + " x " + std::to_string(b.count());
}

double copy_time(const Set &a, const Set &b) {
    const std::size_t bytes = a.bytes.size() + b.bytes.size();
    std::vector<std::uint8_t> from(bytes), to(bytes);
    return time_in_turn({[&] { std::memcpy(to.data(), from.data(), bytes); }}, 15, 0)[0].median;
}

/// Into memory that is kept.
class HostRun {
  public:
    HostRun(gpv_backend backend, const Set &query, const Set &train, const gpv_match_params &p)
        : op_(backend), laid_(op_, {query, train, {}, query.count(), false, false}) {
        op_.set(p);
    }
    gpv_match_result run() {
        require(laid_.run(op_), op_.context(), "gpv_match_run");
        gpv_match_result result;
        gpv_match_result_init(&result, sizeof result);
        require(gpv_match_wait(op_, &result), op_.context(), "gpv_match_wait");
        return result;
    }

  private:
    Operator op_;
    Laid laid_;
};

void compare_on_cpu(Report &report, int queries, int trains) {
    const auto [query, train] = pictures_of(queries, trains);
    HostRun nearest(GPV_BACKEND_CPU, query, train, with(0, false)),
        matches(GPV_BACKEND_CPU, query, train, default_params());
    const double copy = copy_time(query, train);
    for (const int threads : {1, tbb::info::default_concurrency()}) {
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
        std::vector<std::function<void()>> candidates = {[&] { nearest.run(); },
                                                         [&] { matches.run(); }};
#ifdef HAVE_OPENCV_FEATURES
        cv::setNumThreads(threads);
        // In floats, as its own SIFT has them: with bytes it takes longer.
        const cv::BFMatcher matcher(cv::NORM_L2);
        cv::Mat query_floats, train_floats;
        matrix_of(query).convertTo(query_floats, CV_32F);
        matrix_of(train).convertTo(train_floats, CV_32F);
        std::vector<std::vector<cv::DMatch>> theirs;
        candidates.emplace_back([&] { matcher.knnMatch(query_floats, train_floats, theirs, 2); });
#endif
        const std::vector<Timing> times = time_in_turn(candidates, 3, 0.5);
        Report::Row row = {"two nearest", size_of(query, train), threads, times[0], "", {}, copy};
#ifdef HAVE_OPENCV_FEATURES
        row.peer = opencv_name;
        row.other = times[2];
#endif
        report.add(row);
        report.add(
            {"matches, ratio and mutual", size_of(query, train), threads, times[1], "", {}, copy});
    }
}

void benchmark_cpu(Report &report) {
    for (const auto &[queries, trains] : timed)
        compare_on_cpu(report, queries, trains);
}

#ifdef HAVE_CUDA

/// All in CUDA memory, so often that no set is in the cache when its turn comes.
void compare_on_gpu(Report &report, int queries, int trains) {
    const auto [query, train] = pictures_of(queries, trains);
    const Input in = {query, train, {}, queries, false, false};
    const ColdCopy copy((query.bytes.size() + train.bytes.size()) / 2);
    for (const bool mutual : {false, true}) {
        const gpv_match_params p = mutual ? default_params() : with(0, false);
        Operator op(GPV_BACKEND_CUDA, Place::device);
        op.set(p);
        std::vector<std::unique_ptr<Laid>> laid;
        const int cold = std::min(cold_count(query.bytes.size() + train.bytes.size()), 40);
        for (int i = 0; i < cold; i++)
            laid.push_back(std::make_unique<Laid>(op, in));
        op.prepare(queries, trains);
        HostRun cpu(GPV_BACKEND_CPU, query, train, p);
        const gpv_match_result want = cpu.run();
        require(laid[0]->run(op), op.context(), "gpv_match_run");
        gpv_match_result got;
        gpv_match_result_init(&got, sizeof got);
        require(gpv_match_wait(op, &got), op.context(), "gpv_match_wait");
        expect(got.count == want.count, "both backends have as many matches");
        const std::vector<Timing> times = time_on_device(
            {[&](cudaStream_t stream, int i) {
                 return laid[static_cast<std::size_t>(i) % laid.size()]->run(op, stream) == GPV_OK;
             },
             [&](cudaStream_t stream, int i) { return copy.enqueue(stream, i); }},
            cold);
        const Timing of_cpu = time_in_turn({[&] { cpu.run(); }}, 3, 0.3)[0];
        report.add(
            {mutual ? "matches, ratio and mutual" : "two nearest", size_of(query, train), 0,
             times[0],
             "our CPU backend, " + std::to_string(tbb::info::default_concurrency()) + " threads",
             of_cpu, times[1].median});
    }
}

void benchmark_gpu(Report &report) {
    for (const auto &[queries, trains] : timed)
        compare_on_gpu(report, queries, trains);
    compare_on_gpu(report, 100000, 100000);
}

#endif

// ---- the program --------------------------------------------------------------------

void check() {
    each_instruction_set([&](const char *name) {
        Operator op;
        std::printf("== %s\n", op.context().device());
        if (!std::strstr(op.context().device(), name))
            fatal(std::string("the library does not run on ") + name);
        compare_with_definition(op, scaled(60), 700);
    });
    Operator op;
    compare_with_definition(op, scaled(300), 700);
    for (const Sizes &sizes : {narrow_sizes(), small_squares, squares, large_squares})
        check_sizes(op, some_of(sizes));
    if (full_run())
        check_sizes(op, vast_squares);
    check_ratio(op);
    check_laws(op, 2000, 2500);
    check_repeats(op, 300, 100);
    check_threads();
    check_outlines(op, scaled(300));
#ifdef HAVE_OPENCV_FEATURES
    check_opencv(op, scaled(20), 60);
#else
    std::printf("OpenCV: not installed, not compared\n");
#endif
}

} // namespace

int main(int argc, char **argv) {
#ifdef HAVE_CUDA
    return run_program({"match", check, check_cuda, benchmark_cpu, benchmark_gpu}, argc, argv);
#else
    return run_program({"match", check, nullptr, benchmark_cpu, nullptr}, argc, argv);
#endif
}
