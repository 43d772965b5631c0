// SPDX-License-Identifier: BSD-2-Clause
// Parameters at their ends and beyond, what may not be NULL, and structs of all ages.
#include "suite.hpp"

#include <charconv>
#include <cmath>
#include <limits>

using namespace suite;
using operators::Field;

namespace {

/// Bits of a field.
std::uint32_t bits_of(const Field &field, double value) {
    if (field.type == Field::Type::f32) {
        const auto number = static_cast<float>(value);
        std::uint32_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        return bits;
    }
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
}

std::string text_of(const Field &field, double value) {
    char text[32];
    const auto end =
        field.type == Field::Type::f32
            ? std::to_chars(text, text + sizeof text, static_cast<float>(value))
            : std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(value));
    return {text, end.ptr};
}

bool is_legal(const Field &field, double value) {
    if (value >= field.low && value <= field.high)
        return true;
    for (const double choice : field.choices)
        if (value == choice)
            return true;
    return false;
}

/// At the ends, beside them, and far beyond.
std::vector<double> values_of(const Field &field) {
    using Floats = std::numeric_limits<float>;
    constexpr float infinity = Floats::infinity(), nan = Floats::quiet_NaN();
    const auto low = static_cast<float>(field.low), high = static_cast<float>(field.high);
    std::vector<double> values = {field.low, field.high};
    const auto add = [&](std::initializer_list<double> more) { values.insert(values.end(), more); };
    if (field.type == Field::Type::u64)
        return {};
    if (field.type == Field::Type::u32) {
        add({field.high + 1, 0x80000000u, UINT32_MAX});
    } else if (field.type == Field::Type::f32) {
        add({std::nextafter(low, high), std::nextafter(low, -infinity)});
        add({std::nextafter(high, infinity), Floats::max(), -Floats::max(), -0.0, -1});
        add({infinity, -infinity, nan, -nan});
    } else {
        add({field.low - 1, field.high + 1, INT32_MIN, INT32_MAX});
        for (const double choice : field.choices)
            add({choice - 1, choice, choice + 1});
        std::erase_if(values, [](double value) { return value < INT32_MIN || value > INT32_MAX; });
    }
    return values;
}

/// Both create and set_params must say the same.
void expect_params(Session &session, const void *params, gpv_status wanted,
                   const std::string &text) {
    void *other = &session;
    const gpv_status status = it->calls.create(session.context, params, &other);
    ck_assert_int_eq(status == GPV_OK, other != nullptr);
    session.expect(status, wanted, text);
    it->calls.destroy(&other);
    session.keep.text[0] = 0;
    session.expect(it->calls.set_params(session.op, params), wanted, text);
}

} // namespace

START_TEST(init_writes_every_default) {
    std::array<unsigned char, 64> params;
    params.fill(0xC5);
    it->calls.init_params(params.data(), it->calls.params_bytes);
    std::uint32_t size = 0, known = sizeof size;
    std::memcpy(&size, params.data(), sizeof size);
    ck_assert_uint_eq(size, it->calls.params_bytes);
    for (const Field &field : it->fields) {
        std::uint64_t standard = bits_of(field, field.standard), is = 0;
        const std::size_t bytes = field.type == Field::Type::u64 ? 8 : 4;
        std::memcpy(&is, params.data() + field.offset, bytes);
        ck_assert_msg(is == standard, "%s is not %g", field.name, field.standard);
        known += bytes;
    }
    ck_assert_uint_eq(known, size); // no field is missing here
    expect_init_within(size, it->calls.init_params);
    if (!it->calls.init_result)
        return;
    Bytes result(it->calls.result_bytes, 0xC5), nothing(it->calls.result_bytes);
    it->calls.init_result(result.data(), it->calls.result_bytes);
    std::memcpy(nothing.data(), &it->calls.result_bytes, sizeof size);
    ck_assert(result == nothing);
    expect_init_within(it->calls.result_bytes, it->calls.init_result);
}
END_TEST

/// What the library says of a parameter is what the suites know of it.
START_TEST(parameters_are_described) {
    std::int32_t index = 0;
    for (const Field &field : it->fields) {
        gpv_field described;
        if (std::string(field.name) == "reserved")
            continue;
        ck_assert_int_eq(gpv_params_describe(it->stem, index++, &described, sizeof described),
                         GPV_OK);
        ck_assert_uint_eq(described.struct_size, sizeof described);
        ck_assert_str_eq(described.name, field.name);
        ck_assert_uint_eq(described.offset, field.offset);
        ck_assert_uint_eq(bits_of(field, described.initial), bits_of(field, field.standard));
        ck_assert(is_legal(field, described.low) && is_legal(field, described.high));
        if (field.type == Field::Type::u64) // every value is legal
            ck_assert(described.low == 0 && described.high == 0);
        else
            ck_assert(described.low <= field.low && described.high >= field.high);
        ck_assert(*described.text && described.unit);
        ck_assert_int_eq(described.kind == GPV_FIELD_KIND_FLOAT, field.type == Field::Type::f32);
        ck_assert_int_eq(described.kind == GPV_FIELD_KIND_UINT64, field.type == Field::Type::u64);
        ck_assert_int_eq(described.kind == GPV_FIELD_KIND_CHOICE, described.choice_count > 0);
        for (std::uint32_t i = 0; i < described.choice_count; i++)
            ck_assert(is_legal(field, described.choices[i].value) && *described.choices[i].name &&
                      *described.choices[i].text);
        if (described.choice_count) // all of them
            ck_assert_uint_eq(described.choice_count,
                              field.high - field.low + 1 + field.choices.size());
    }
    gpv_field none;
    ck_assert_int_eq(gpv_params_describe(it->stem, index, &none, sizeof none), INVALID);
}
END_TEST

START_TEST(parameters_at_and_beyond_their_ends) {
    Session session;
    for (const Field &field : it->fields) {
        Run run = it->example(0);
        const auto put = [&](std::size_t at, std::uint32_t bits) {
            std::memcpy(run.params.data() + field.offset + at, &bits, sizeof bits);
        };
        if (field.type == Field::Type::u64) { // each half by itself
            put(0, UINT32_MAX);
            expect_params(session, run.params.data(), GPV_OK, "");
            put(0, 0);
            put(4, UINT32_MAX);
            expect_params(session, run.params.data(), GPV_OK, "");
        }
        for (const double value : values_of(field)) {
            const std::string range =
                field.legal ? field.legal
                            : text_of(field, field.low) + ".." + text_of(field, field.high);
            put(0, bits_of(field, value));
            expect_params(session, run.params.data(), is_legal(field, value) ? GPV_OK : INVALID,
                          std::string("params->") + field.name + " is " + text_of(field, value) +
                              ", must be " + range);
        }
    }
}
END_TEST

START_TEST(null_arguments) {
    Session session;
    const operators::Calls &calls = it->calls;
    const Arguments good = forbidden(it->example(0));
    Bytes result(calls.result_bytes, 0xC5);
    const Bytes before = result;
    void *none = nullptr, *other = &session;
    ck_assert_int_eq(calls.create(nullptr, nullptr, &other), INVALID);
    ck_assert_ptr_null(other);
    ck_assert_int_eq(calls.create(nullptr, nullptr, nullptr), INVALID);
    session.expect(calls.create(session.context, nullptr, nullptr), INVALID, "out|NULL");
    ck_assert_int_eq(calls.set_params(nullptr, nullptr), INVALID);
    ck_assert_int_eq(it->prepare(nullptr, good), INVALID);
    ck_assert_int_eq(it->run(nullptr, nullptr, good), INVALID);
    ck_assert_int_eq(calls.query(nullptr), INVALID);
    ck_assert_int_eq(calls.wait(nullptr, result.data()), INVALID);
    ck_assert(result == before);
    for (const auto further : it->further_calls)
        ck_assert_int_eq(further(nullptr), INVALID);
    for (int i = 0; i < ports(); i++) {
        const Port &port = it->ports[i];
        Arguments without = good;
        without.given[i] = false;
        if (!port.optional || port.needed)
            session.expect(session.run(without), INVALID, std::string(port.name) + "|NULL");
        if (port.prepared_as)
            session.expect(it->prepare(session.op, without), port.optional ? GPV_OK : INVALID,
                           std::string(port.prepared_as) + "|NULL");
    }
    calls.destroy(nullptr);
    calls.destroy(&none);
    session.expect_nothing_found();
}
END_TEST

// ------------------------------------------------------------------------------------------ ages

namespace {

/// Whose struct is put where it may not be read beyond its end.
struct Aged {
    Session *session;
    Memory *memory;
    int port;
    Bytes result;
};
Aged aged;

void expect_params_at(const void *place, gpv_status wanted, const char *text) {
    expect_params(*aged.session, place, wanted, text);
}

/// What lies in a result before is not looked at, and fields of the future become 0.
void expect_result_at(const void *place, gpv_status wanted, const char *text) {
    auto *result = static_cast<unsigned char *>(const_cast<void *>(place));
    std::uint32_t size, after;
    std::memcpy(&size, result, sizeof size);
    const gpv_status status = it->calls.wait(aged.session->op, result);
    std::memcpy(&after, result, sizeof after);
    ck_assert_uint_eq(after, size);
    aged.session->expect(status, wanted == INVALID ? INVALID : GPV_OK, text);
    const std::uint32_t known = it->calls.result_bytes;
    const Bytes zeros(known);
    const Bytes &want = wanted == INVALID ? zeros : aged.result;
    ck_assert_mem_eq(result + sizeof size, want.data() + sizeof size, known - sizeof size);
    for (std::uint32_t i = known; i < size && wanted != INVALID; i++)
        ck_assert_uint_eq(result[i], 0);
}

void init_port(void *place, std::uint32_t size) {
    const Arguments &arguments = aged.memory->arguments;
    if (it->ports[aged.port].is_image())
        std::memcpy(place, &arguments.images[aged.port], size);
    else
        std::memcpy(place, &arguments.buffers[aged.port], size);
}

Arguments arguments_with(const void *place) {
    aged.memory->clear();
    Arguments arguments = aged.memory->arguments;
    arguments.placed[aged.port] = place;
    return arguments;
}

void expect_run_at(const void *place, gpv_status wanted, const char *text) {
    aged.session->expect(aged.session->run(arguments_with(place)), wanted, text);
    ck_assert(wanted == GPV_OK || aged.memory->untouched());
}

void expect_prepare_at(const void *place, gpv_status wanted, const char *text) {
    aged.session->expect(it->prepare(aged.session->op, arguments_with(place)), wanted, text);
}

} // namespace

START_TEST(params_of_all_ages) {
    Session session;
    aged.session = &session;
    expect_struct_sizes("params", it->first_bytes.params, it->calls.params_bytes,
                        it->calls.init_params, expect_params_at);
}
END_TEST

START_TEST(structs_of_all_ages) {
    Session session;
    Memory memory(it->example(0));
    aged = {&session, &memory, 0, session.succeed(memory.arguments)};
    if (it->calls.init_result)
        expect_struct_sizes("result", it->first_bytes.result, it->calls.result_bytes,
                            it->calls.init_result, expect_result_at);
    for (aged.port = 0; aged.port < ports(); aged.port++) {
        const Port &port = it->ports[aged.port];
        const std::uint32_t size = port.is_image() ? sizeof(gpv_image) : sizeof(gpv_buffer);
        const std::uint32_t first = port.is_image() ? 160 : 32; // for ever
        expect_struct_sizes(port.name, first, size, init_port, expect_run_at);
        if (port.prepared_as)
            expect_struct_sizes(port.prepared_as, first, size, init_port, expect_prepare_at);
    }
}
END_TEST

int main(int argc, char **argv) {
    // What draws and describes has the parameters of the operator that finds.
    if (argc == 2 && std::strchr(argv[1], '-'))
        return run_all(argc, argv, "contract", {null_arguments, structs_of_all_ages});
    return run_all(argc, argv, "contract",
                   {init_writes_every_default, parameters_are_described,
                    parameters_at_and_beyond_their_ends, params_of_all_ages, null_arguments,
                    structs_of_all_ages});
}
