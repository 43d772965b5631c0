// SPDX-License-Identifier: BSD-2-Clause
// Images and buffers that are to be refused: the status and the text, which names them; nobody may
// touch their memory.
#include "suite.hpp"

#include <algorithm>
#include <cinttypes>

using namespace suite;

namespace {

/// The run is refused, and so is prepare if it looks at that.
void expect_refused(Session &session, const Arguments &arguments, int port, bool shape,
                    gpv_status wanted, const std::string &text) {
    const Port &of = it->ports[port];
    const auto named = [&](const char *name) {
        std::string result;
        for (std::size_t i = 0; i < text.size(); i++)
            result += text.compare(i, 2, "->") == 0 ? std::string(name) + "-" : text.substr(i, 1);
        return result;
    };
    session.expect(session.run(arguments), wanted, named(of.name));
    if (of.prepared_as)
        session.expect(it->prepare(session.op, arguments), shape ? wanted : GPV_OK,
                       named(of.prepared_as));
}

/// The ports that are images, or the others.
std::vector<int> ports_of(bool images) {
    std::vector<int> result;
    for (int i = 0; i < ports(); i++)
        if (it->ports[i].is_image() == images)
            result.push_back(i);
    return result;
}

template <class View>
struct Fault {
    gpv_status status;
    const char *text; ///< behind the name
    void (*spoil)(View &);
};

// Sizes of their structs are in contract.cpp.
#define SET(field, value) [](auto &view) { view.field = value; }
#define SET_TWO(field, value, other, of_other)                                                     \
    [](auto &view) { view.field = value, view.other = of_other; }

const Fault<gpv_image> wrong_images[] = {
    {INVALID, "->format is 0,", SET(format, GPV_FORMAT_NONE)},
    {INVALID, "->format is 25,", SET(format, GPV_FORMAT_RGBP8 + 1)},
    {INVALID, "->format is 4294967295,", SET(format, UINT32_MAX)},
    {UNSUPPORTED, "->memory|CUDA|CPU", SET(memory, GPV_MEMORY_CUDA)},
    {INVALID, "->memory is 2, must be 0..1", SET(memory, 2)},
    {INVALID, "->memory is 4294967295, must be 0..1", SET(memory, UINT32_MAX)},
    {INVALID, "->device is -1, must be 0..2147483647",
     SET_TWO(memory, GPV_MEMORY_CUDA, device, -1)},
    {INVALID, "->width is 0, must be 1..32767", SET(width, 0)},
    {INVALID, "->width is 32768, must be 1..32767", SET(width, 32768)},
    {INVALID, "->width is -2147483648, must be 1..32767", SET(width, INT32_MIN)},
    {INVALID, "->width is 2147483647, must be 1..32767", SET_TWO(width, INT32_MAX, height, 1)},
    {INVALID, "->width is 536870912, must be 1..32767", SET(width, 1 << 29)},
    {INVALID, "->height is 0, must be 1..32767", SET(height, 0)},
    {INVALID, "->height is 32768, must be 1..32767", SET(height, 32768)},
    {INVALID, "->height is -2147483648, must be 1..32767", SET(height, INT32_MIN)},
    {INVALID, "->height is 2147483647, must be 1..32767", SET_TWO(width, 1, height, INT32_MAX)},
    {INVALID, "->color_matrix is 4, must be 0..3", SET(color_matrix, 4)},
    {INVALID, "->color_matrix is 4294967295, must be 0..3", SET(color_matrix, UINT32_MAX)},
    {INVALID, "->color_range is 3, must be 0..2", SET(color_range, 3)},
    {INVALID, "->color_range is 4294967295, must be 0..2", SET(color_range, UINT32_MAX)},
};

const Fault<gpv_buffer> wrong_buffers[] = {
    {UNSUPPORTED, "->memory|CUDA|CPU", SET(memory, GPV_MEMORY_CUDA)},
    {INVALID, "->memory is 2, must be 0..1", SET(memory, 2)},
    {INVALID, "->memory is 4294967295, must be 0..1", SET(memory, UINT32_MAX)},
    {INVALID, "->device is -1, must be 0..2147483647",
     SET_TWO(memory, GPV_MEMORY_CUDA, device, -1)},
    {INVALID, "->reserved is 1, must be 0..0", SET(reserved, 1)},
    {INVALID, "->data is NULL", SET(data, nullptr)},
    {INVALID, "->size is 0, must be", SET(size, 0)},
    {INVALID, "->size is 18446744073709551615, must be|..70368744177664", SET(size, UINT64_MAX)},
    {INVALID, "->size is 70368744177665, must be|..70368744177664",
     SET(size, (std::uint64_t{1} << 46) + 1)},
    {INVALID, "->size is 9223372036854775808, must be", SET(size, std::uint64_t{1} << 63)},
};

} // namespace

START_TEST(faults_of_images) {
    Session session;
    for (const int port : ports_of(true))
        for (const Fault<gpv_image> &fault : wrong_images) {
            Arguments arguments = forbidden(it->example(0));
            fault.spoil(arguments.images[port]);
            expect_refused(session, arguments, port, true, fault.status, fault.text);
        }
    session.expect_nothing_found();
}
END_TEST

/// Of every format, and every plane; prepare looks at neither data nor stride.
START_TEST(faults_of_planes) {
    Session session;
    for (const int port : ports_of(true))
        for (const Run &run : runs_of(port))
            for (int plane = 0; plane < gpv_format_planes(run.formats[port]); plane++) {
                const Arguments good = forbidden(run);
                const auto expect = [&](void *data, std::int64_t stride, const std::string &text) {
                    Arguments bad = good;
                    bad.images[port].data[plane] = data;
                    bad.images[port].stride[plane] = stride;
                    expect_refused(session, bad, port, false, INVALID, text);
                };
                const std::string index = "[" + std::to_string(plane) + "]";
                auto *data = static_cast<unsigned char *>(good.images[port].data[plane]);
                std::int64_t row = 0;
                ck_assert_int_eq(gpv_format_plane(run.formats[port], plane, run.width, run.height,
                                                  &row, nullptr),
                                 GPV_OK);
                session.set(run);
                expect(nullptr, 4096, "->data" + index + " is NULL");
                for (const std::int64_t stride : {std::int64_t{0}, row - 1, -row, INT64_MIN,
                                                  INT64_MAX, (std::int64_t{1} << 40) + 4})
                    expect(data, stride,
                           "->stride" + index + " is " + std::to_string(stride) + ", must be " +
                               std::to_string(row) + "..1099511627776");
                const int sample = formats::sample_bytes(run.formats[port]);
                const std::string multiple = "->data" + index + "|->stride" + index + "|of " +
                                             std::to_string(sample) + " bytes";
                for (int offset = 1; offset < sample; offset++) {
                    expect(data + offset, 4096, multiple);
                    expect(data, 4096 + offset, multiple);
                }
            }
    session.expect_nothing_found();
}
END_TEST

START_TEST(formats_of_images) {
    Session session;
    const std::vector<int> images = ports_of(true);
    for (int k = 0; k < it->examples; k++)
        for (const int port : images)
            for (const gpv_format first : it->formats(it->example(k), 0).taken)
                for (gpv_format format = 1; format <= GPV_FORMAT_RGBP8; format++) {
                    Run run = with_format(it->example(k), 0, first);
                    run.formats[port] = format;
                    session.set(run);
                    const Formats legal = it->formats(run, port);
                    const bool taken =
                        legal.taken.empty() ||
                        std::count(legal.taken.begin(), legal.taken.end(), format) > 0;
                    std::string text = std::string("|") + format_name(format) + "|" + legal.text;
                    gpv_status wanted = taken ? GPV_OK : UNSUPPORTED;
                    if (taken && legal.as_src && port != 0 && format != run.formats[0]) {
                        wanted = INVALID;
                        text = std::string("|") + format_name(format) + "|src, |" +
                               format_name(run.formats[0]);
                    }
                    const Arguments arguments = forbidden(run);
                    if (wanted != GPV_OK)
                        session.expect(session.run(arguments), wanted, it->ports[port].name + text);
                    // The others follow the first.
                    if (it->ports[port].prepared_as && (port != 0 || wanted != GPV_OK))
                        session.expect(it->prepare(session.op, arguments), wanted,
                                       it->ports[port].prepared_as + text);
                }
}
END_TEST

/// Parameters that an image of 8 bits does not reach, by the run and by prepare.
START_TEST(parameters_beyond_the_format) {
    Session session;
    for (const operators::Field &field : it->fields) {
        const auto beyond = static_cast<std::int32_t>(field.high_of_bytes) + 1;
        if (field.high_of_bytes == 0)
            continue;
        for (Run run : runs_of(0)) {
            std::memcpy(run.params.data() + field.offset, &beyond, sizeof beyond);
            session.set(run);
            const Arguments arguments = forbidden(run);
            const std::string text =
                std::string("params->") + field.name + "|is " + std::to_string(beyond) + ",|" +
                std::to_string(static_cast<int>(field.low)) + ".." + std::to_string(beyond - 1);
            const bool wide = formats::sample_bytes(run.formats[0]) > 1;
            session.expect(it->prepare(session.op, arguments), wide ? GPV_OK : INVALID, text);
            if (!wide)
                session.expect(session.run(arguments), INVALID, text);
        }
    }
}
END_TEST

START_TEST(images_are_as_large_as_the_first) {
    static const int sizes[][2] = {{63, 48}, {65, 48}, {64, 47}, {64, 49}};
    Session session;
    for (const int port : ports_of(true))
        for (const auto &[width, height] : sizes) {
            if (port == it->size_of)
                continue;
            Arguments arguments = forbidden(it->example(0));
            arguments.images[port].width = width;
            arguments.images[port].height = height;
            const std::string size = std::to_string(width) + "x" + std::to_string(height);
            expect_refused(session, arguments, port, true, INVALID,
                           std::string(it->ports[port].name) + " is " + size + "|must be as " +
                               it->ports[it->size_of].name + ", 64x48");
        }
}
END_TEST

START_TEST(faults_of_buffers) {
    Session session;
    for (const int port : ports_of(false)) {
        for (const Fault<gpv_buffer> &fault : wrong_buffers)
            for (const bool alone : {false, true}) {
                Arguments arguments = forbidden(it->example(0));
                fault.spoil(arguments.buffers[port]);
                for (int i = 0; i < ports() && alone; i++)
                    arguments.given[i] = i == port || !it->ports[i].optional || it->ports[i].needed;
                expect_refused(session, arguments, port, false, fault.status, fault.text);
            }
        for (std::uint32_t offset = 1; offset < it->ports[port].alignment; offset++) {
            Arguments arguments = forbidden(it->example(0));
            arguments.buffers[port].data =
                static_cast<unsigned char *>(arguments.buffers[port].data) + offset;
            expect_refused(session, arguments, port, false, INVALID,
                           "->data must be a multiple of " +
                               std::to_string(it->ports[port].alignment) + " bytes");
        }
        for (int i = 0; i < it->variants; i++) {
            Arguments arguments = forbidden(it->variant(i));
            const std::uint64_t least = it->least(arguments.run, port);
            arguments.buffers[port].size = least - 1;
            session.set(arguments.run);
            if (arguments.given[port])
                session.expect(session.run(arguments), INVALID,
                               std::string(it->ports[port].name) + "->size is " +
                                   std::to_string(least - 1) + ", must be " +
                                   std::to_string(least) + "..70368744177664");
        }
        session.set(it->example(0));
    }
    session.expect_nothing_found();
}
END_TEST

START_TEST(strides_of_records) {
    Session session;
    for (const int port : ports_of(false)) {
        const std::uint32_t record = it->ports[port].record, unit = it->ports[port].alignment;
        if (!record)
            continue;
        for (const std::uint32_t stride :
             {1u, record - 1, record + 1, 4095u, 4096 + unit, UINT32_MAX}) {
            const bool in_range = stride >= record && stride <= 4096;
            Run run = it->example(0);
            run.stride[port] = stride;
            session.expect(session.run(forbidden(run)), INVALID,
                           "_stride|is " + std::to_string(stride) + ",|" +
                               (in_range ? "multiple of " + std::to_string(unit)
                                         : std::to_string(record) + "..4096"));
        }
    }
    session.expect_nothing_found();
}
END_TEST

// ------------------------------------------------------------------------------------- overlaps

namespace {

/// Whether the two may not share a byte. An input that the output may be is another matter.
bool are_apart(int a, int b) {
    return it->ports[a].output || it->ports[b].output;
}

std::string overlap_text(int a, int b) {
    return std::string(it->ports[std::max(a, b)].name) + " overlaps " +
           it->ports[std::min(a, b)].name;
}

/// With the last of the formats that each takes, which has the most planes.
Run planar() {
    Run run = it->example(0);
    for (const int port : ports_of(true))
        if (!it->formats(run, port).taken.empty())
            run = with_format(run, port, it->formats(run, port).taken.back());
    return run;
}

/// A plane of an image: where it lies in what a run is given, and how large it is.
struct Plane {
    Plane(const Run &run, int image, int index, std::int64_t stride)
        : port(image), plane(index), pitch(stride) {
        ck_assert_int_eq(
            gpv_format_plane(run.formats[port], plane, run.width, run.height, &row, &rows), GPV_OK);
    }
    void put(Arguments &arguments, unsigned char *data) const {
        arguments.images[port].data[plane] = data;
        arguments.images[port].stride[plane] = pitch;
    }
    std::int64_t extent() const { return (rows - 1) * pitch + row; }

    int port, plane;
    std::int64_t pitch, row = 0, rows = 0;
};

/// All positions to each other that a plane has which moves over another inside one parent. Where
/// their pitches differ, what lies between the rows is the plane's, too.
void expect_overlaps(Session &session, const Run &run, const Plane &own, const Plane &other) {
    constexpr std::int64_t pitch = 256, rows = 24, top = 8, left = 96;
    alignas(8) static unsigned char parent[pitch * rows], before[pitch * rows];
    unsigned char *const fixed = parent + top * pitch + left;
    Memory memory(run);
    const bool in_place = it->ports[own.port].in_place == other.port &&
                          run.formats[own.port] == run.formats[other.port] &&
                          gpv_format_planes(run.formats[own.port]) == 1 && own.pitch == other.pitch;
    const std::int64_t step = formats::sample_bytes(run.formats[own.port]);
    const Arguments as_made = memory.arguments;
    Arguments &arguments = memory.arguments;
    int ran = 0, refused = 0;
    other.put(arguments, fixed);
    for (std::int64_t dy = -own.rows - 1; dy <= other.rows + 1; dy++)
        for (std::int64_t dx = -own.row - 2 * step; dx <= other.row + 2 * step; dx += step) {
            unsigned char *const to = fixed + dy * pitch + dx;
            own.put(arguments, to);
            std::fill(std::begin(parent), std::end(parent), 1);
            it->fill(arguments, 3);
            std::copy(std::begin(parent), std::end(parent), before);
            const gpv_status status = session.run(arguments);
            const bool share =
                own.pitch == other.pitch
                    ? dy > -own.rows && dy < other.rows && dx > -own.row && dx < other.row
                    : to < fixed + other.extent() && fixed < to + own.extent();
            if (share && (dx || dy || !in_place)) {
                session.expect(status, INVALID, overlap_text(own.port, other.port));
                refused++;
            } else {
                session.expect(status, GPV_OK, "");
                const auto restore = [&](unsigned char *data, const Plane &plane) {
                    for (std::int64_t y = 0; y < plane.rows; y++, data += plane.pitch)
                        std::copy_n(before + (data - parent), plane.row, data);
                };
                restore(to, own);
                if (it->ports[other.port].output)
                    restore(fixed, other);
                ran++;
            }
            ck_assert_mem_eq(parent, before, sizeof parent);
        }
    ck_assert_int_gt(refused, 4 * own.rows);
    ck_assert_int_gt(ran, 4 * own.rows);
    arguments = as_made;
}

/// Each plane that is written, over each of the other images.
void expect_overlaps(Session &session, const Run &run, std::int64_t own, std::int64_t other) {
    session.set(run);
    for (const int port : ports_of(true))
        for (const int image : ports_of(true))
            for (int i = 0; i < gpv_format_planes(run.formats[port]); i++)
                for (int k = 0; k < gpv_format_planes(run.formats[image]); k++)
                    if (port != image && it->ports[port].output)
                        expect_overlaps(session, run, {run, port, i, own}, {run, image, k, other});
}

} // namespace

START_TEST(overlaps_inside_one_parent) {
    static const std::int64_t pitches[][2] = {{256, 256}, {192, 256}, {256, 192}};
    Session session;
    for (int k = 0; k < it->examples; k++)
        expect_overlaps(session, sized(it->example(k), 13, 5), 256, 256);
    for (const auto &[own, other] : pitches)
        expect_overlaps(session, sized(planar(), 13, 5), own, other);
}
END_TEST

/// One behind the other without a byte between them.
START_TEST(neighbours_do_not_overlap) {
    Session session;
    const Run run = it->example(0);
    Memory want(run);
    const Bytes result = session.succeed(want.arguments);
    std::size_t bytes = 0;
    for (int i = 0; i < ports(); i++)
        bytes += extent(run, i);
    std::vector<std::uint64_t> block(bytes / 8 + 1, 0xC5C5C5C5C5C5C5C5);
    std::array<unsigned char *, max_ports> places{};
    auto *place = reinterpret_cast<unsigned char *>(block.data());
    for (int i = 0; i < ports(); place += extent(run, i++))
        places[i] = place;
    const Arguments arguments = tight(run, places);
    it->fill(arguments, 7);
    ck_assert(session.succeed(arguments) == result);
    for (int i = 0; i < ports(); i++)
        ck_assert_mem_eq(places[i], want.pictures[i].block[0],
                         it->ports[i].is_image() ? want.pictures[i].size[0]
                         : it->ports[i].output   ? it->written(run, i, result.data())
                                                 : run.bytes[i]);
    ck_assert_mem_eq(place, "\xC5\xC5\xC5\xC5\xC5\xC5\xC5\xC5", block.size() * 8 - bytes);
}
END_TEST

/// The last bytes of one are the first of the other.
START_TEST(ends_overlap) {
    constexpr std::size_t apart = 1 << 20;
    auto *memory = static_cast<unsigned char *>(forbidden_memory((2 * max_ports + 1) * apart));
    Session session;
    const Run run = planar();
    int refused = 0;
    session.set(run);
    for (int a = 0; a < ports(); a++)
        for (int b = 0; b < a; b++)
            for (const bool behind : {false, true}) {
                std::array<unsigned char *, max_ports> places;
                for (int i = 0; i < max_ports; i++)
                    places[i] = memory + (2 * i + 1) * apart;
                const auto unit = [&](int port) {
                    return it->ports[port].is_image()
                               ? std::size_t(formats::sample_bytes(run.formats[port]))
                               : it->ports[port].alignment;
                };
                const std::size_t shared = std::max(unit(a), unit(b));
                places[a] = behind ? places[b] + extent(run, b) - shared
                                   : places[b] - extent(run, a) + shared;
                if (!are_apart(a, b))
                    continue;
                session.expect(session.run(tight(run, places)), INVALID, overlap_text(a, b));
                refused++;
            }
    ck_assert(refused > 0 || ports() == 1);
    session.expect_nothing_found();
}
END_TEST

START_TEST(planes_overlap) {
    Session session;
    const Run run = planar();
    const Arguments good = forbidden(run);
    session.set(run);
    for (const int port : ports_of(true)) {
        if (!it->ports[port].output)
            continue;
        const int planes = gpv_format_planes(run.formats[port]);
        for (int i = 0; i < planes; i++) {
            for (int k = 0; k < i; k++) {
                Arguments bad = good;
                bad.images[port].data[i] = bad.images[port].data[k];
                session.expect(session.run(bad), INVALID,
                               std::string("two planes of ") + it->ports[port].name + " overlap");
            }
            for (const int other : ports_of(true))
                for (int k = 0; other != port && k < gpv_format_planes(run.formats[other]); k++) {
                    Arguments bad = good;
                    bad.images[port].data[i] = bad.images[other].data[k];
                    session.expect(session.run(bad), INVALID, overlap_text(port, other));
                }
        }
        if (it->ports[port].in_place < 0)
            continue;
        const int src = it->ports[port].in_place;
        Arguments bad = good; // in place but for one plane
        bad.images[port] = good.images[src];
        bad.images[port].data[planes - 1] = good.images[port].data[planes - 1];
        session.expect(session.run(bad), INVALID, overlap_text(port, src));
        bad.images[port] = good.images[src]; // planes exchanged
        if (planes > 1) {
            std::swap(bad.images[port].data[planes - 1], bad.images[port].data[planes - 2]);
            session.expect(session.run(bad), INVALID, overlap_text(port, src));
        }
        bad.images[port] = good.images[src]; // another stride
        bad.images[port].stride[0]++;
        session.expect(session.run(bad), INVALID, overlap_text(port, src));
    }
    session.expect_nothing_found();
}
END_TEST

/// From the first byte of a plane to its last, the gaps between rows too, an image is the image's.
START_TEST(buffers_overlap_no_gap) {
    Session session;
    const Run run = planar();
    const Arguments good = forbidden(run);
    session.set(run);
    for (const int port : ports_of(false))
        for (const int image : ports_of(true))
            for (int plane = 0; plane < gpv_format_planes(run.formats[image]); plane++) {
                Arguments bad = good;
                if (!are_apart(port, image))
                    continue;
                bad.buffers[port].data =
                    static_cast<unsigned char *>(good.images[image].data[plane]) + 2048;
                bad.buffers[port].size = it->least(run, port);
                session.expect(session.run(bad), INVALID, overlap_text(port, image));
            }
}
END_TEST

int main(int argc, char **argv) {
    return run_all(argc, argv, "arguments",
                   {faults_of_images, faults_of_planes, formats_of_images,
                    parameters_beyond_the_format, images_are_as_large_as_the_first,
                    faults_of_buffers, strides_of_records, neighbours_do_not_overlap,
                    overlaps_inside_one_parent, ends_overlap, planes_overlap,
                    buffers_overlap_no_gap});
}
