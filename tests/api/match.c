/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <float.h>
#include <math.h>

enum {
    LENGTH = GPV_SIFT_DESCRIPTOR_LENGTH,
    MAX_COUNT = GPV_MATCH_MAX_DESCRIPTORS,
    FARTHEST = 8323200, /* two descriptors */
    ROOM = 12
};

FIXTURE(match)

static gpv_match_params with(float ratio, uint32_t mutual) {
    gpv_match_params params = defaults();
    params.ratio = ratio;
    params.mutual = mutual;
    return params;
}

RESULT(match, match)

/* Of a run, with canaries behind what it has written. */
static struct {
    gpv_match_nearest nearest[ROOM];
    gpv_match_pair pairs[ROOM];
} got;

/* Of sets of that many, with room for so many pairs; of empty ones no byte is read. */
static gpv_match_result run(const unsigned char *query, int query_count,
                            const gpv_sift_result *found, const unsigned char *train,
                            int train_count, size_t room_bytes) {
    const gpv_buffer queries = buffer_of((void *)query, (size_t)query_count * LENGTH);
    const gpv_buffer trains = buffer_of((void *)train, (size_t)train_count * LENGTH);
    const gpv_buffer counted = buffer_of((void *)found, sizeof *found);
    const gpv_buffer nearest = buffer_of(got.nearest, (size_t)query_count * sizeof *got.nearest);
    const gpv_buffer pairs = buffer_of(got.pairs, room_bytes);
    memset(&got, CANARY, sizeof got);
    succeed(gpv_match_run(op, NULL, query_count ? &queries : NULL, query_count,
                          found ? &counted : NULL, train_count ? &trains : NULL, train_count,
                          &nearest, &pairs, NULL));
    return waited_for();
}

/* Descriptors whose first numbers are those of the text, and the others 0: distances are (a - b)^2.
 * Gives how many. */
static int put(unsigned char *set, const char *text) {
    int count = 0;
    for (; *text; text += strspn(text, " ")) {
        memset(set + count * LENGTH, 0, LENGTH);
        set[count++ * LENGTH] = (unsigned char)strtoul(text, (char **)&text, 10);
    }
    return count;
}

/* A descriptor so far, squared, from one of zeros. */
static void put_at(unsigned char *descriptor, int squared) {
    int k = 0;
    memset(descriptor, 0, LENGTH);
    while (squared > 0) {
        int root = (int)sqrt((double)squared);
        root = root > 255 ? 255 : root;
        ck_assert_int_lt(k, LENGTH);
        descriptor[k++] = (unsigned char)root;
        squared -= root * root;
    }
}

/* ------------------------------------------------------------------------- counts */

START_TEST(counts_out_of_range) {
    unsigned char *memory = forbidden_memory(1 << 20);
    const gpv_buffer some = buffer_of(memory, 4096);
    const gpv_buffer huge = buffer_of(memory, (size_t)1 << 46);
    const gpv_buffer out = buffer_of(memory + 8192, 4096);
    for (size_t i = 0; i < BAD_COUNTS; i++) {
        const int32_t count = bad_counts[i].count;
        const char *text = named("query_count", bad_counts[i].text);
        refused(gpv_match_run(op, NULL, &huge, count, NULL, &some, 1, &out, NULL, NULL), text);
        refused(gpv_match_run(op, NULL, NULL, count, NULL, NULL, 0, NULL, NULL, NULL), text);
        refused(gpv_match_prepare(op, count, 1, GPV_MEMORY_HOST), text);
        text = named("train_count", bad_counts[i].text);
        refused(gpv_match_run(op, NULL, &some, 1, NULL, &huge, count, &out, NULL, NULL), text);
        refused(gpv_match_run(op, NULL, NULL, 0, NULL, NULL, count, NULL, NULL, NULL), text);
        refused(gpv_match_prepare(op, 1, count, GPV_MEMORY_HOST), text);
    }
    expect_nothing_found();
}
END_TEST

START_TEST(prepare_takes_host_memory) {
    succeed(gpv_match_prepare(op, 0, 0, GPV_MEMORY_HOST));
    succeed(gpv_match_prepare(op, MAX_COUNT, MAX_COUNT, GPV_MEMORY_HOST));
    expect_status(context, &keep, gpv_match_prepare(op, 1, 1, GPV_MEMORY_CUDA), UNSUPPORTED,
                  "memory|CUDA");
    refused(gpv_match_prepare(op, 1, 1, 2), "memory is 2,|0..1");
    refused(gpv_match_prepare(op, 1, 1, UINT32_MAX), "memory is 4294967295,|0..1");
    expect_nothing_found();
}
END_TEST

/* Sets as large as they may be; the last descriptor is the one that counts. */
START_TEST(as_many_as_there_may_be) {
    static const gpv_match_pair want[] = {{MAX_COUNT - 1, 0, 4, INT32_MAX},
                                          {0, MAX_COUNT - 1, 4, FARTHEST}};
    const size_t bytes = (size_t)MAX_COUNT * LENGTH;
    unsigned char *many = calloc(MAX_COUNT, LENGTH), one[LENGTH];
    const gpv_buffer set = buffer_of(many, bytes), single = buffer_of(one, sizeof one);
    const gpv_buffer out = buffer_of(got.pairs, sizeof *got.pairs);
    ck_assert_ptr_nonnull(many);
    memset(one, 255, sizeof one);
    memset(many + bytes - LENGTH, 255, LENGTH);
    many[bytes - 1] = 253;
    memset(&got, CANARY, sizeof got);
    succeed(gpv_match_run(op, NULL, &set, MAX_COUNT, NULL, &single, 1, NULL, &out, NULL));
    ck_assert_int_eq(waited_for().queries, MAX_COUNT);
    ck_assert_int_eq(waited_for().count, 1);
    ck_assert_int_eq(waited_for().dropped, 0);
    ck_assert_mem_eq(got.pairs, &want[0], sizeof *want);
    succeed(gpv_match_run(op, NULL, &single, 1, NULL, &set, MAX_COUNT, NULL, &out, NULL));
    ck_assert_mem_eq(got.pairs, &want[1], sizeof *want);
    ck_assert(untouched(got.pairs + 1, got.pairs + 2));
    free(many);
}
END_TEST

/* ------------------------------------------------------------------------ results */

/* Of two descriptors so far, squared, from the query: is the nearer one a match? */
START_TEST(the_ratio) {
    const float usual = 0.8f; /* a little more than 8/10 */
    const struct {
        float ratio;
        int nearest, second;
        bool match;
    } cases[] = {
        {usual, 64, 100, true},
        {usual, 65, 100, false},
        {nextafterf(usual, 0), 64, 100, false},
        {usual, 4480000, 7000000, true},
        {usual, 4480001, 7000000, false},
        {0.5f, 25, 100, false}, /* not nearer than half as far */
        {0.5f, 24, 100, true},
        {1, 7000000, 7000000, false},
        {1, 7000000, 7000001, true},
        {1, 0, 1, true},
        {nextafterf(1, 0), 6999999, 7000000, true},
        {FLT_TRUE_MIN, 0, 1, true}, /* whose square is no float */
        {FLT_MIN, 1, FARTHEST, false},
        {0, 5, 5, true},
        {-0.0f, FARTHEST, FARTHEST, true},
    };
    unsigned char query[LENGTH] = {0}, train[2 * LENGTH];
    for (size_t i = 0; i < COUNT(cases); i++) {
        put_at(train, cases[i].nearest);
        put_at(train + LENGTH, cases[i].second);
        set(with(cases[i].ratio, 0));
        ck_assert_msg(run(query, 1, NULL, train, 2, sizeof got.pairs).count == cases[i].match,
                      "ratio %.9g of %d, %d", cases[i].ratio, cases[i].nearest, cases[i].second);
        ck_assert_int_eq(got.nearest[0].distance[0], cases[i].nearest);
        ck_assert_int_eq(got.nearest[0].distance[1], cases[i].second);
    }
}
END_TEST

/* Both are sets of numbers; of each match the query, the other, and the distances. */
static const struct {
    float ratio;
    uint32_t mutual;
    int32_t found; /* of the queries */
    const char *query, *train, *nearest, *pairs;
} sets[] = {
    /* of equal ones the first */
    {0, 0, 3, "4 4 10", "20 5 3 5 4 3 4 12 8", "4 0 6 0  4 0 6 0  7 4 8 4",
     "0 4 0 0  1 4 0 0  2 7 4 4"},
    {0, 1, 3, "4 4 10", "20 5 3 5 4 3 4 12 8", "4 0 6 0  4 0 6 0  7 4 8 4", "0 4 0 0  2 7 4 4"},
    {0, 1, 3, "9 9 9", "9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9", "0 0 1 0  0 0 1 0  0 0 1 0",
     "0 0 0 0"},
    /* 12 is nearest to 11, but 11's nearest is 10; and 31's is 30, which has none nearer */
    {0.8f, 0, 4, "10 12 30 90", "31 11 80", "1 1 0 441  1 1 0 361  0 1 1 361  2 100 0 3481",
     "0 1 1 441  1 1 1 361  2 0 1 361  3 2 100 3481"},
    {0.8f, 1, 4, "10 12 30 90", "31 11 80", "1 1 0 441  1 1 0 361  0 1 1 361  2 100 0 3481",
     "0 1 1 441  2 0 1 361  3 2 100 3481"},
    /* one that has no match for its ratio, 21, is still the nearest to another's match, 22 */
    {0.8f, 1, 4, "21 23 30 90", "20 22 80", "0 1 1 1  1 1 0 9  1 64 0 100  2 100 1 4624",
     "3 2 100 4624"},
    /* one alone has no second, which is as far as can be */
    {0.8f, 0, 2, "7 200", "10", "0 9 -1 2147483647  0 36100 -1 2147483647",
     "0 0 9 2147483647  1 0 36100 2147483647"},
    {0.8f, 1, 2, "7 200", "10", "0 9 -1 2147483647  0 36100 -1 2147483647", "0 0 9 2147483647"},
    /* those that were not found match nobody */
    {0, 1, 2, "20 11", "10", "0 100 -1 2147483647  0 1 -1 2147483647", "1 0 1 2147483647"},
    {0, 1, 1, "20 11", "10", "0 100 -1 2147483647", "0 0 100 2147483647"},
    {0, 1, 1000, "20 11", "10", "0 100 -1 2147483647  0 1 -1 2147483647", "1 0 1 2147483647"},
    {0, 1, 0, "20 11", "10", "", ""},
    {0, 1, INT32_MIN, "20 11", "10", "", ""},
    /* of an empty set */
    {0, 1, 2, "20 11", "", "-1 2147483647 -1 2147483647  -1 2147483647 -1 2147483647", ""},
    {0, 1, 0, "", "20 11", "", ""},
    {0, 1, 0, "", "", "", ""},
};

/* Of numbers in a text, the place of which says what they are. Gives how many records. */
static int expect_records(const char *text, const void *records, const int *places) {
    const int32_t *numbers = records;
    int count = 0;
    for (; *text; text += strspn(text, " "), count++)
        ck_assert_int_eq(numbers[count / 4 * 4 + places[count % 4]],
                         (int32_t)strtol(text, (char **)&text, 10));
    return count / 4;
}

START_TEST(small_sets) {
    static const int of_nearest[] = {0, 2, 1, 3}, of_pairs[] = {0, 1, 2, 3};
    static unsigned char query[ROOM * LENGTH], train[20 * LENGTH];
    for (size_t i = 0; i < COUNT(sets); i++) {
        const int queries = put(query, sets[i].query), trains = put(train, sets[i].train);
        const gpv_sift_result found = {.struct_size = sizeof found, .count = sets[i].found};
        gpv_match_result result;
        int nearest, pairs;
        set(with(sets[i].ratio, sets[i].mutual));
        result = run(query, queries, &found, train, trains, sizeof got.pairs);
        nearest = expect_records(sets[i].nearest, got.nearest, of_nearest);
        pairs = expect_records(sets[i].pairs, got.pairs, of_pairs);
        ck_assert_int_eq(result.queries, nearest);
        ck_assert_int_eq(result.count, pairs);
        ck_assert_int_eq(result.dropped, 0);
        ck_assert(untouched(got.nearest + nearest, got.nearest + ROOM));
        ck_assert(untouched(got.pairs + pairs, got.pairs + ROOM));
    }
}
END_TEST

/* Of an empty set no byte is read or overlapped, whatever the buffers are. */
START_TEST(empty_sets) {
    static unsigned char some[3 * LENGTH];
    const gpv_buffer none = {0}, few = buffer_of(some, sizeof some);
    ck_assert_int_eq(gpv_match_run(op, NULL, &none, 0, NULL, &few, 3, NULL, NULL, NULL), GPV_OK);
    ck_assert_int_eq(gpv_match_run(op, NULL, &few, 3, NULL, &none, 0, NULL, NULL, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().queries, 3);
    ck_assert_int_eq(gpv_match_run(op, NULL, &few, 0, NULL, &few, 0, NULL, &few, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().queries, 0);
}
END_TEST

/* A part of a record is none. */
START_TEST(no_more_than_there_is_room_for) {
    static unsigned char all[ROOM * LENGTH];
    const int count = put(all, "0 20 40 60 80 100 120 140 160 180 200");
    set(with(0, 1));
    for (int room = 1; room < ROOM; room++) {
        const size_t bytes = (size_t)room * sizeof *got.pairs + (room % 2 ? 15 : 0);
        const gpv_match_result result = run(all, count, NULL, all, count, bytes);
        ck_assert_int_eq(result.count, room);
        ck_assert_int_eq(result.dropped, count - room);
        ck_assert_int_eq(got.pairs[room - 1].query, room - 1);
        ck_assert(untouched(got.pairs + room, got.pairs + ROOM));
    }
}
END_TEST

RUN_TESTS("match", setup, teardown, counts_out_of_range, prepare_takes_host_memory,
          as_many_as_there_may_be, the_ratio, small_sets, empty_sets,
          no_more_than_there_is_room_for)
