// SPDX-License-Identifier: BSD-2-Clause
// Each operator described once, for the suites over all of them: its calls, parameters, what it
// reads and writes, the formats that it takes, and runs that find something.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <gpuvision/gpuvision.h>

#include "common/formats.hpp"

namespace operators {

inline constexpr int max_ports = 6;

/// A field of a parameter struct.
struct Field {
    enum class Type { i32, u32, u64, f32 };
    const char *name;
    std::size_t offset;
    Type type;
    double standard, low, high;
    std::vector<double> choices = {}; ///< where not all from low to high are legal
    const char *legal = nullptr;      ///< what the error text says then
    double high_of_bytes = 0;         ///< of a first image of 8 bits; 0 = as ever
};

template <class T>
inline constexpr Field::Type type_of = std::is_same_v<T, float>           ? Field::Type::f32
                                       : std::is_same_v<T, std::uint64_t> ? Field::Type::u64
                                       : std::is_same_v<T, std::uint32_t> ? Field::Type::u32
                                                                          : Field::Type::i32;

/// The first three of a Field.
#define FIELD_OF(params, name)                                                                     \
#    name, offsetof(params, name), operators::type_of < decltype(params::name)>

/// What a run reads or writes.
struct Port {
    const char *name; ///< in error texts
    bool output = false;
    bool optional = false;
    std::uint32_t alignment = 0;       ///< of a buffer; 0 = it is an image
    int in_place = -1;                 ///< the input that it may be
    const char *prepared_as = nullptr; ///< name of the argument of prepare; NULL = it has none
    bool all_written = false; ///< what a run needs of a buffer may be written beyond its records
    std::uint32_t record = 0; ///< bytes of one, where records may have gaps between them
    bool on_device = false;   ///< has to be where the backend computes
    int counted_at = -1;      ///< where the result has the number of its records, without it 0
    int result_at = -1;       ///< receives what wait says, from that byte on
    bool needed = false;      ///< by another one that is given

    bool is_image() const { return alignment == 0; }
};

/// The formats of a port.
struct Formats {
    std::vector<gpv_format> taken; ///< no other, if there are any
    const char *text = "";         ///< what the error text of others says
    bool as_src = false;           ///< also, that of the first port
};

/// What a run is asked for.
struct Run {
    alignas(8) std::array<unsigned char, 64> params{};
    int width = 64, height = 48;
    std::array<gpv_format, max_ports> formats{};   ///< of images; NONE = it is not given
    std::array<std::uint64_t, max_ports> bytes{};  ///< of buffers; 0 = it is not given
    std::array<std::uint32_t, max_ports> stride{}; ///< of records; 0 = without gaps
    std::int32_t number = 0;                       ///< a further argument

    template <class Params>
    Params &as() {
        static_assert(sizeof(Params) <= sizeof params);
        return *reinterpret_cast<Params *>(params.data());
    }
    template <class Params>
    const Params &as() const {
        return *reinterpret_cast<const Params *>(params.data());
    }
    bool gives(int port) const { return formats[port] != GPV_FORMAT_NONE || bytes[port] != 0; }
};

/// The arguments of a run.
struct Arguments {
    explicit Arguments(const Run &run);

    /// What the call gets.
    const gpv_image *image(int port) const {
        return placed[port]  ? static_cast<const gpv_image *>(placed[port])
               : given[port] ? &images[port]
                             : nullptr;
    }
    const gpv_buffer *buffer(int port) const {
        return placed[port]  ? static_cast<const gpv_buffer *>(placed[port])
               : given[port] ? &buffers[port]
                             : nullptr;
    }

    Run run;
    std::array<gpv_image, max_ports> images;
    std::array<gpv_buffer, max_ports> buffers;
    std::array<bool, max_ports> given{};
    std::array<const void *, max_ports> placed{}; ///< instead of the view here
};

/// The calls that all operators have.
struct Calls {
    std::uint32_t params_bytes, result_bytes; ///< 0 = wait gives no result
    void (*init_params)(void *, std::uint32_t);
    void (*init_result)(void *, std::uint32_t);
    gpv_status (*create)(gpv_context *, const void *params, void **op);
    void (*destroy)(void **op);
    gpv_status (*set_params)(void *op, const void *params);
    gpv_status (*query)(void *op);
    gpv_status (*wait)(void *op, void *result);
};

template <class Op, class Params>
struct Types {
    using Operator = Op;
    using Parameters = Params;
};
template <class Op, class Params>
Types<Op, Params> types_of(gpv_status (*create)(gpv_context *, const Params *, Op **));
template <class Result>
Result result_of(void (*init)(Result *, std::uint32_t));

/// Of the functions of the interface. Without init_result wait has no result.
template <auto init_params, auto create, auto destroy, auto set_params, auto query, auto wait,
          auto... init_result>
Calls calls() {
    using Op = typename decltype(types_of(create))::Operator;
    using Params = typename decltype(types_of(create))::Parameters;
    const auto init = [](void *params, std::uint32_t size) {
        init_params(static_cast<Params *>(params), size);
    };
    Calls result = {
        sizeof(Params),
        0,
        init,
        nullptr,
        [](gpv_context *context, const void *params, void **op) {
            Op *made = op ? static_cast<Op *>(*op) : nullptr;
            const gpv_status status =
                create(context, static_cast<const Params *>(params), op ? &made : nullptr);
            if (op)
                *op = made;
            return status;
        },
        [](void **op) {
            Op *object = op ? static_cast<Op *>(*op) : nullptr;
            destroy(op ? &object : nullptr);
            if (op)
                *op = object;
        },
        [](void *op, const void *params) {
            return set_params(static_cast<Op *>(op), static_cast<const Params *>(params));
        },
        [](void *op) { return query(static_cast<Op *>(op)); },
        nullptr};
    if constexpr (sizeof...(init_result) == 0) {
        result.wait = [](void *op, void *) { return wait(static_cast<Op *>(op)); };
    } else {
        using Result = std::common_type_t<decltype(result_of(init_result))...>;
        result.result_bytes = sizeof(Result);
        result.init_result = [](void *place, std::uint32_t size) {
            (init_result(static_cast<Result *>(place), size), ...);
        };
        result.wait = [](void *op, void *place) {
            return wait(static_cast<Op *>(op), static_cast<Result *>(place));
        };
    }
    return result;
}

/// Of structs in their first release: numbers, which never change.
struct FirstBytes {
    std::uint32_t params, result;
};

struct Operator {
    const char *stem;
    FirstBytes first_bytes;
    Calls calls;
    std::vector<Field> fields;
    std::vector<Port> ports;
    bool has_scratch = true; ///< whether a run on the CPU needs memory of its own
    int size_of = 0;         ///< the image that others are as large as
    int examples = 1;        ///< runs whose parameters differ in the formats that they take
    Run (*example)(int);
    int variants = 0; ///< that reach every path of the CPU backend
    Run (*variant)(int) =
        nullptr; ///< of any number from 0: one of the variants, maybe in another format
    void (*warm)(Run &, int i) = nullptr; ///< makes a run depend on the one before
    void (*fit)(Run &) = nullptr;         ///< to its size, where buffers follow from that
    Formats (*formats)(const Run &, int port) = nullptr;
    std::uint64_t (*least)(const Run &, int port) = nullptr; ///< bytes of a buffer
    /// Writes what is read.
    void (*fill)(const Arguments &, unsigned seed);
    gpv_status (*prepare)(void *op, const Arguments &);
    gpv_status (*run)(void *op, gpv_stream stream, const Arguments &);
    /// Bytes of a buffer that a run with such a result has written.
    std::uint64_t (*written)(const Run &, int port, const void *result) = nullptr;
    std::int64_t (*found)(const void *result) = nullptr; ///< of whatever it looks for
    /// Of an operator that may be NULL.
    std::vector<gpv_status (*)(void *op)> further_calls = {};
    const Operator *beside = nullptr; ///< another one of the same stem
};

/// The run in another size.
Run sized(const Operator &op, Run run, int width, int height);

/// Memory for all that a run is given, each port in a block of its own, of canaries, and what it
/// reads.
struct Memory {
    /// gap: bytes between the rows of a first plane.
    Memory(const Operator &op, const Run &run, unsigned seed, std::int64_t gap = 0);

    Arguments arguments;
    std::array<std::vector<std::uint64_t>, max_ports> blocks;
};

/// Of every stem, each followed by what draws and describes beside its runs.
const std::vector<const Operator *> &all();

// ------------------------------------------------------------------------------- for descriptions

/// A buffer that receives the result.
inline Port result_port(std::uint32_t alignment) {
    return {.name = "result",
            .output = true,
            .optional = true,
            .alignment = alignment,
            .on_device = true,
            .result_at = 0};
}

/// With default parameters.
template <class Params>
Run run_of(void (*init)(Params *, std::uint32_t)) {
    Run run;
    init(&run.as<Params>(), sizeof(Params));
    return run;
}

template <class Op>
Op *as(void *op) {
    return static_cast<Op *>(op);
}

/// Of a mask, or of labels.
const std::vector<gpv_format> &mask_formats();

template <class T>
T *row(const gpv_image &image, int plane, std::int64_t y) {
    return reinterpret_cast<T *>(static_cast<unsigned char *>(image.data[plane]) +
                                 y * image.stride[plane]);
}

/// From the first of so many records to the last, which needs no padding behind it. stride: 0 = no
/// gaps.
std::uint64_t bytes_of_records(std::uint64_t count, std::uint32_t record, std::uint32_t stride);

std::uint32_t next_random(std::uint32_t &state);
void fill_with_noise(const gpv_image &image, unsigned seed);
/// The first port is a picture, and all that is read.
void fill_source(const Arguments &arguments, unsigned seed);

#define DECLARE(stem) extern const Operator stem;
STEMS(DECLARE) // of the list in the top meson.build
#undef DECLARE
extern const Operator sift_describe, sift_draw, match_draw;

} // namespace operators
