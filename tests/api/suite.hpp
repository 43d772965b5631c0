// SPDX-License-Identifier: BSD-2-Clause
// What the suites over all operators share. A program tests the operator whose stem is its
// argument.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/operators.hpp"
#include "testing.h"

namespace suite {

using operators::Arguments;
using operators::Formats;
using operators::max_ports;
using operators::Operator;
using operators::Port;
using operators::Run;
using Bytes = std::vector<unsigned char>;

/// The operator that is tested.
extern const Operator *it;

inline int ports() {
    return static_cast<int>(it->ports.size());
}

/// A context that keeps books, and an operator with default parameters.
struct Session {
    Session();
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    void set(const Run &run);
    gpv_status run(const Arguments &arguments) { return it->run(op, nullptr, arguments); }
    /// A run with parameters of its own, which has to succeed, and what wait says.
    Bytes succeed(const Arguments &arguments);
    /// What query and wait say of the last run, which was not refused.
    Bytes wait();
    void expect(gpv_status status, gpv_status wanted, const std::string &text) {
        expect_status(context, &keep, status, wanted, text.c_str());
    }
    void expect_nothing_found();

    books keep;
    gpv_context *context;
    void *op = nullptr;
};

/// Memory for all that a run is given, with content. Outputs, and what is around, are canaries.
struct Memory {
    explicit Memory(const Run &run, layout how = TIGHT, unsigned seed = 7);
    ~Memory();
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    /// Outputs become canaries again. Of TIGHT ones.
    void clear();
    /// Whether all outputs are canaries.
    bool untouched() const;
    /// Whether no canary was written that is none of a run's with such a result.
    bool intact(const Bytes &result) const;

    Arguments arguments;
    std::array<picture, max_ports> pictures{};
};

/// Whether a run wrote the same in both, or an input is the same.
bool same(int port, const Memory &a, const Memory &b, const Bytes &result);

/// Fails where a run did not write the same in both.
void expect_same(const Memory &got, const Memory &want, const Bytes &result,
                 const std::string &text);

/// The run in another size.
Run sized(const Run &run, int width, int height);
Run variant_of(int i, int width, int height);

/// Whose samples and records nobody may touch.
Arguments forbidden(const Run &run);
/// Likewise, of images whose planes lie one behind the other, at those places.
Arguments tight(const Run &run, const std::array<unsigned char *, max_ports> &places);
/// Bytes from the first to the last one of a port of such a run.
std::size_t extent(const Run &run, int port);

/// The run with another format of a port, and of those that follow it.
Run with_format(Run run, int port, gpv_format format);
/// For each format that the port takes.
std::vector<Run> runs_of(int port);

int run_all(int argc, char **argv, const char *name, const std::vector<const TTest *> &tests);

} // namespace suite
