/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

INIT(context_params)
INIT(homography_params)

/* Those of no operator. count: fields but struct_size, pointers and what is reserved. */
static const struct {
    const char *stem;
    void (*init)(void *params, uint32_t size);
    uint32_t size;
    int32_t count;
} structs[] = {{"context", init_context_params, sizeof(gpv_context_params), 4},
               {"homography", init_homography_params, sizeof(gpv_homography_params), 4}};

static gpv_field described(const char *stem, int32_t index) {
    gpv_field field;
    ck_assert_int_eq(gpv_params_describe(stem, index, &field, sizeof field), GPV_OK);
    ck_assert_uint_eq(field.struct_size, sizeof field);
    return field;
}

static double value_of(const unsigned char *params, const gpv_field *field) {
    int32_t number;
    uint64_t seed;
    float real;
    if (field->kind == GPV_FIELD_KIND_UINT64)
        return (double)*(uint64_t *)memcpy(&seed, params + field->offset, sizeof seed);
    if (field->kind == GPV_FIELD_KIND_FLOAT)
        return *(float *)memcpy(&real, params + field->offset, sizeof real);
    return *(int32_t *)memcpy(&number, params + field->offset, sizeof number);
}

START_TEST(every_field_is_described) {
    for (size_t k = 0; k < COUNT(structs); k++) {
        unsigned char params[256];
        uint32_t end = sizeof(uint32_t);
        gpv_field none;
        structs[k].init(params, structs[k].size);
        for (int32_t i = 0; i < structs[k].count; i++) {
            const gpv_field field = described(structs[k].stem, i);
            const bool real = field.kind == GPV_FIELD_KIND_FLOAT;
            bool is_choice = false;
            ck_assert_uint_ge(field.offset, end);
            end = field.offset + (field.kind == GPV_FIELD_KIND_UINT64 ? 8 : 4);
            ck_assert_uint_le(end, structs[k].size);
            ck_assert(*field.name && field.unit && field.text[strlen(field.text) - 1] == '.');
            ck_assert(field.low <= field.initial && field.initial <= field.high);
            ck_assert(value_of(params, &field) == (real ? (float)field.initial : field.initial));
            for (uint32_t c = 0; c < field.choice_count; c++)
                is_choice = is_choice || field.choices[c].value == field.initial;
            ck_assert_int_eq(is_choice, field.kind == GPV_FIELD_KIND_CHOICE);
            ck_assert_int_eq(is_choice, field.choices != NULL);
        }
        ck_assert_int_eq(gpv_params_describe(structs[k].stem, structs[k].count, &none, sizeof none),
                         INVALID);
    }
}
END_TEST

/* In what contract.cpp, which has all of them, does not know. */
START_TEST(a_field_is_described_as_in_the_header) {
    const gpv_field radius = described("erode", 3), choice = described("ccl", 1);
    ck_assert_str_eq(radius.unit, "pixels");
    ck_assert_uint_eq(radius.kind, GPV_FIELD_KIND_INT32);
    ck_assert_str_eq(choice.choices[1].name, "4");
    ck_assert_int_eq(choice.choices[1].value, 4);
}
END_TEST

START_TEST(what_is_not_there_is_refused) {
    gpv_field field, before;
    memset(&field, CANARY, sizeof field);
    before = field;
    ck_assert_int_eq(gpv_params_describe("erode", -1, &field, sizeof field), INVALID);
    ck_assert_int_eq(gpv_params_describe("erode", INT32_MAX, &field, sizeof field), INVALID);
    ck_assert_int_eq(gpv_params_describe("erod", 0, &field, sizeof field), INVALID);
    ck_assert_int_eq(gpv_params_describe("", 0, &field, sizeof field), INVALID);
    ck_assert_int_eq(gpv_params_describe(NULL, 0, &field, sizeof field), INVALID);
    ck_assert_int_eq(gpv_params_describe("erode", 0, NULL, sizeof field), INVALID);
    ck_assert_int_eq(gpv_params_describe("erode", 0, &field, 0), INVALID);
    ck_assert_int_eq(gpv_params_describe("erode", 0, &field, sizeof field.struct_size - 1),
                     INVALID);
    ck_assert_mem_eq(&field, &before, sizeof field);
}
END_TEST

START_TEST(a_shorter_struct_is_written_in_part) {
    const uint32_t size = offsetof(gpv_field, name), least = sizeof(uint32_t);
    gpv_field field, before;
    memset(&field, CANARY, sizeof field);
    before = field;
    ck_assert_int_eq(gpv_params_describe("erode", 2, &field, size), GPV_OK);
    ck_assert_uint_eq(field.struct_size, size);
    ck_assert(field.high == 255);
    ck_assert_mem_eq((char *)&field + size, (char *)&before + size, sizeof field - size);
    field = before;
    ck_assert_int_eq(gpv_params_describe("erode", 2, &field, least), GPV_OK);
    ck_assert_uint_eq(field.struct_size, least);
    ck_assert_mem_eq((char *)&field + least, (char *)&before + least, sizeof field - least);
}
END_TEST

RUN_TESTS("fields", NULL, NULL, every_field_is_described, a_field_is_described_as_in_the_header,
          what_is_not_there_is_refused, a_shorter_struct_is_written_in_part)
