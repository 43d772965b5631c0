// SPDX-License-Identifier: BSD-2-Clause
#include "suite.hpp"

#include <algorithm>

namespace suite {

const Operator *it = nullptr;

Session::Session() : context(open_context(&keep)) {
    keep.fill = 0xA5;
    ck_assert_int_eq(it->calls.create(context, nullptr, &op), GPV_OK);
    ck_assert_ptr_nonnull(op);
}

Session::~Session() {
    it->calls.destroy(&op);
    ck_assert_ptr_null(op);
    gpv_context_destroy(&context);
    ck_assert_int_eq(keep.live, 0);
}

void Session::set(const Run &run) {
    expect(it->calls.set_params(op, run.params.data()), GPV_OK, "");
}

Bytes Session::succeed(const Arguments &arguments) {
    set(arguments.run);
    expect(run(arguments), GPV_OK, "");
    return wait();
}

Bytes Session::wait() {
    Bytes result(it->calls.result_bytes, 0xC5);
    if (!result.empty())
        std::memcpy(result.data(), &it->calls.result_bytes, sizeof it->calls.result_bytes);
    expect(it->calls.query(op), GPV_OK, "");
    expect(it->calls.wait(op, result.empty() ? nullptr : result.data()), GPV_OK, "");
    expect(it->calls.wait(op, nullptr), GPV_OK, "");
    return result;
}

void Session::expect_nothing_found() {
    Bytes nothing(it->calls.result_bytes);
    if (!nothing.empty())
        it->calls.init_result(nothing.data(), it->calls.result_bytes);
    ck_assert(wait() == nothing);
}

Memory::Memory(const Run &run, layout how, unsigned seed) : arguments(run) {
    for (int i = 0; i < ports(); i++) {
        if (!run.gives(i))
            continue;
        if (it->ports[i].is_image()) {
            pictures[i] = picture_new(run.formats[i], run.width, run.height, how);
            arguments.images[i] = pictures[i].view;
            continue;
        }
        // A gap of odd bytes is none of a buffer's, whose records are aligned.
        const layout of_buffer = how == PADDED ? TIGHT : how;
        pictures[i] = picture_new(GPV_FORMAT_GRAY8, static_cast<int>(run.bytes[i]), 1, of_buffer);
        arguments.buffers[i].data = pictures[i].view.data[0];
    }
    it->fill(arguments, seed);
}

Memory::~Memory() {
    for (picture &each : pictures)
        picture_free(&each);
}

void Memory::clear() {
    for (int i = 0; i < ports(); i++)
        for (int k = 0; it->ports[i].output && k < GPV_MAX_PLANES; k++)
            if (pictures[i].size[k])
                std::memset(pictures[i].block[k], CANARY, pictures[i].size[k]);
}

bool Memory::untouched() const {
    for (int i = 0; i < ports(); i++)
        for (int k = 0; it->ports[i].output && k < GPV_MAX_PLANES; k++) {
            const auto *block = static_cast<const unsigned char *>(pictures[i].block[k]);
            if (!::untouched(block, block + pictures[i].size[k]))
                return false;
        }
    return true;
}

static const unsigned char *buffer_bytes(const Memory &memory, int port) {
    return static_cast<const unsigned char *>(memory.arguments.buffers[port].data);
}

bool Memory::intact(const Bytes &result) const {
    const Run &run = arguments.run;
    for (int i = 0; i < ports(); i++) {
        const Port &port = it->ports[i];
        if (!run.gives(i))
            continue;
        if (!picture_intact(&pictures[i]))
            return false;
        if (port.is_image() || !port.output)
            continue;
        const std::uint64_t stride = run.stride[i] ? run.stride[i] : port.record;
        std::uint64_t end = it->written(run, i, result.data());
        if (port.all_written)
            end = std::max(end, it->least(run, i));
        for (std::uint64_t k = 0; k < run.bytes[i]; k++)
            if ((k >= end || (stride && k % stride >= port.record)) &&
                buffer_bytes(*this, i)[k] != 0xC5)
                return false;
    }
    return true;
}

bool same(int port, const Memory &a, const Memory &b, const Bytes &result) {
    if (!a.arguments.run.gives(port))
        return true;
    if (it->ports[port].is_image() || !it->ports[port].output)
        return picture_equal(&a.pictures[port], &b.pictures[port]);
    return std::memcmp(buffer_bytes(a, port), buffer_bytes(b, port),
                       it->written(a.arguments.run, port, result.data())) == 0;
}

void expect_same(const Memory &got, const Memory &want, const Bytes &result,
                 const std::string &text) {
    for (int i = 0; i < ports(); i++)
        ck_assert_msg(same(i, got, want, result), "%s, %s, %dx%d", it->ports[i].name, text.c_str(),
                      want.arguments.run.width, want.arguments.run.height);
}

Run sized(const Run &run, int width, int height) {
    return operators::sized(*it, run, width, height);
}

Run variant_of(int i, int width, int height) {
    return sized(it->variant(i), width, height);
}

Arguments forbidden(const Run &run) {
    constexpr std::size_t apart = 1 << 21;
    auto *memory = static_cast<unsigned char *>(forbidden_memory(max_ports * apart));
    Arguments arguments(run);
    for (int i = 0; i < ports(); i++) {
        arguments.buffers[i].data = memory + i * apart;
        for (int k = 0; k < GPV_MAX_PLANES; k++) {
            arguments.images[i].data[k] = memory + i * apart + (std::size_t(k) << 18);
            arguments.images[i].stride[k] = 4096;
        }
    }
    return arguments;
}

std::size_t extent(const Run &run, int port) {
    gpv_image image;
    if (!it->ports[port].is_image())
        return run.bytes[port];
    return static_cast<std::size_t>(
        gpv_image_wrap(&image, sizeof image, run.formats[port], run.width, run.height, nullptr, 0));
}

Arguments tight(const Run &run, const std::array<unsigned char *, max_ports> &places) {
    Arguments arguments(run);
    for (int i = 0; i < ports(); i++) {
        arguments.buffers[i].data = places[i];
        if (it->ports[i].is_image())
            gpv_image_wrap(&arguments.images[i], sizeof arguments.images[i], run.formats[i],
                           run.width, run.height, places[i], 0);
    }
    return arguments;
}

Run with_format(Run run, int port, gpv_format format) {
    run.formats[port] = format;
    for (int i = 1; i < ports() && port == 0; i++)
        if (it->ports[i].is_image() && it->formats(run, i).as_src)
            run.formats[i] = format;
    if (it->ports[port].is_image() && it->formats(run, port).as_src)
        run.formats[0] = format;
    return run;
}

std::vector<Run> runs_of(int port) {
    std::vector<Run> runs;
    for (int k = 0; k < it->examples; k++) {
        const Run example = it->example(k);
        const Formats own = it->formats(example, port);
        for (const gpv_format format :
             own.taken.empty() ? it->formats(example, 0).taken : own.taken)
            runs.push_back(with_format(example, port, format));
    }
    return runs;
}

int run_all(int argc, char **argv, const char *name, const std::vector<const TTest *> &tests) {
    const auto &all = operators::all();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Operator *each) {
        return argc == 2 && std::string(each->stem) == argv[1];
    });
    if (found == all.end())
        return 2;
    it = *found;
    return run_tests(name, nullptr, nullptr, tests.data(), tests.size());
}

} // namespace suite
