/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <float.h>
#include <math.h>

enum {
    LENGTH = GPV_SIFT_DESCRIPTOR_LENGTH,
    MAX_COUNT = GPV_MATCH_MAX_DESCRIPTORS,
    FARTHEST = 8323200 /* two descriptors */
};

FIXTURE(match)

static gpv_match_params with(float ratio, uint32_t mutual) {
    gpv_match_params params = defaults();
    params.ratio = ratio;
    params.mutual = mutual;
    return params;
}

RESULT(match)

/* ------------------------------------------------------------ runs and their reference */

enum { NEAREST = 1, PAIRS = 2, RESULT = 4, ALL = 7 };
enum { ROOM = 700 };

/* What a run reads, and which outputs it is asked for. */
typedef struct job {
    const unsigned char *query, *train;
    int query_count, train_count;
    const gpv_sift_result *found; /* may be NULL */
    int outputs, room;            /* of pairs */
} job;

static job job_of(const void *query, int query_count, const void *train, int train_count) {
    job it = {query, train, query_count, train_count, NULL, ALL, ROOM};
    return it;
}

typedef struct outcome {
    gpv_match_nearest nearest[ROOM];
    gpv_match_pair pairs[ROOM];
    gpv_match_result result;
} outcome;

/* Large ones, which need not be on a stack. */
static outcome got, want;

static gpv_status run_into(gpv_match *which, const job *it, outcome *out) {
    const gpv_buffer query = buffer_of((void *)it->query, (size_t)it->query_count * LENGTH);
    const gpv_buffer train = buffer_of((void *)it->train, (size_t)it->train_count * LENGTH);
    const gpv_buffer found = buffer_of((void *)it->found, sizeof *it->found);
    const gpv_buffer nearest =
        buffer_of(out->nearest, (size_t)it->query_count * sizeof *out->nearest);
    const gpv_buffer pairs = buffer_of(out->pairs, (size_t)it->room * sizeof *out->pairs);
    const gpv_buffer result = buffer_of(&out->result, sizeof out->result);
    memset(out, CANARY, sizeof *out);
    return gpv_match_run(
        which, NULL, it->query_count ? &query : NULL, it->query_count, it->found ? &found : NULL,
        it->train_count ? &train : NULL, it->train_count, it->outputs & NEAREST ? &nearest : NULL,
        it->outputs & PAIRS ? &pairs : NULL, it->outputs & RESULT ? &result : NULL);
}

static int32_t distance_of(const unsigned char *a, const unsigned char *b) {
    int32_t sum = 0;
    int i;
    for (i = 0; i < LENGTH; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

static gpv_match_nearest nearest_of(const unsigned char *to, const unsigned char *set, int count) {
    gpv_match_nearest best = {{-1, -1}, {INT32_MAX, INT32_MAX}};
    int i;
    for (i = 0; i < count; i++) {
        const int32_t distance = distance_of(to, set + (size_t)i * LENGTH);
        const int place = distance < best.distance[0] ? 0 : 1;
        if (distance >= best.distance[1])
            continue;
        if (place == 0) {
            best.index[1] = best.index[0];
            best.distance[1] = best.distance[0];
        }
        best.index[place] = i;
        best.distance[place] = distance;
    }
    return best;
}

static bool matches(const job *it, int queries, gpv_match_params params, int query,
                    const gpv_match_nearest *nearest) {
    const double ratio = params.ratio;
    if (nearest->index[0] < 0)
        return false;
    if (ratio != 0 && nearest->index[1] >= 0 &&
        !(nearest->distance[0] < ratio * ratio * nearest->distance[1]))
        return false;
    if (!params.mutual)
        return true;
    return nearest_of(it->train + (size_t)nearest->index[0] * LENGTH, it->query, queries)
               .index[0] == query;
}

/* What a run is to write, all else being canaries; says how many matches there are. */
static gpv_match_result reference(const job *it, gpv_match_params params, outcome *out) {
    gpv_match_result result = {.struct_size = sizeof result, .queries = it->query_count};
    const int room = it->outputs & PAIRS ? it->room : it->query_count;
    int i;
    memset(out, CANARY, sizeof *out);
    if (it->found && it->found->count < result.queries)
        result.queries = it->found->count < 0 ? 0 : it->found->count;
    for (i = 0; i < result.queries; i++) {
        const gpv_match_nearest nearest =
            nearest_of(it->query + (size_t)i * LENGTH, it->train, it->train_count);
        if (it->outputs & NEAREST)
            out->nearest[i] = nearest;
        if (!matches(it, result.queries, params, i, &nearest))
            continue;
        if (result.count == room) {
            result.dropped++;
            continue;
        }
        if (it->outputs & PAIRS) {
            const gpv_match_pair pair = {i, nearest.index[0], nearest.distance[0],
                                         nearest.distance[1]};
            out->pairs[result.count] = pair;
        }
        result.count++;
    }
    if (it->outputs & RESULT)
        out->result = result;
    return result;
}

/* Of op, whose parameters these become. Not a byte beside may have been written. */
static gpv_match_result expect_reference(const job *it, gpv_match_params params) {
    const gpv_match_result expected = reference(it, params, &want);
    gpv_match_result result;
    set(params);
    ck_assert_msg(run_into(op, it, &got) == GPV_OK, "%s", gpv_context_error(context));
    result = waited_for();
    ck_assert_msg(
        memcmp(&got, &want, sizeof want) == 0 && memcmp(&result, &expected, sizeof expected) == 0,
        "%d queries, %d others, ratio %g, mutual %u, outputs %d, room %d", it->query_count,
        it->train_count, params.ratio, params.mutual, it->outputs, it->room);
    return result;
}

/* ------------------------------------------------------------------- descriptors */

/* Contents: noise; few kinds and small changes; black and white, which are farthest; ones that
 * differ in one number by little, so that many distances are equal; all the same. */
enum { CONTENTS = 5 };

static void fill(unsigned char *set, int count, int content, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 1, kind;
    int i, k;
    for (i = 0; i < count; i++, set += LENGTH) {
        kind = next(&state) % 23;
        for (k = 0; k < LENGTH; k++)
            switch (content) {
            case 0:
                set[k] = (unsigned char)next(&state);
                break;
            case 1:
                set[k] = (unsigned char)((kind + 1) * (uint32_t)(k + 3) * 37 % 256 / 2 +
                                         next(&state) % 9);
                break;
            case 2:
                set[k] = kind < 3 ? (kind == 1 ? 255 : 0) : (next(&state) & 1 ? 255 : 0);
                break;
            case 3:
                set[k] = k == 77 ? (unsigned char)(next(&state) % 16) : 9;
                break;
            default:
                set[k] = 200;
            }
    }
}

static unsigned char *descriptors(int count, int content, uint32_t seed) {
    unsigned char *memory = malloc((size_t)count * LENGTH + 1); /* not of 0 bytes */
    ck_assert_ptr_nonnull(memory);
    fill(memory, count, content, seed);
    return memory;
}

/* Descriptors whose first numbers are these, and the others 0: distances are (a - b)^2. */
static void put(unsigned char *set, const int *first, int count) {
    int i;
    memset(set, 0, (size_t)count * LENGTH);
    for (i = 0; i < count; i++)
        set[i * LENGTH] = (unsigned char)first[i];
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
    const gpv_buffer nearest = buffer_of(memory + 8192, 4096);
    const gpv_buffer pairs = buffer_of(memory + 16384, 4096);
    size_t i;
    for (i = 0; i < BAD_COUNTS; i++) {
        const int32_t count = bad_counts[i].count;
        const char *text = named("query_count", bad_counts[i].text);
        expect_error(context, &keep,
                     gpv_match_run(op, NULL, &huge, count, NULL, &some, 1, &nearest, &pairs, NULL),
                     INVALID, text);
        expect_error(context, &keep,
                     gpv_match_run(op, NULL, NULL, count, NULL, NULL, 0, NULL, NULL, NULL), INVALID,
                     text);
        expect_error(context, &keep, gpv_match_prepare(op, count, 1, GPV_MEMORY_HOST), INVALID,
                     text);
        text = named("train_count", bad_counts[i].text);
        expect_error(context, &keep,
                     gpv_match_run(op, NULL, &some, 1, NULL, &huge, count, &nearest, &pairs, NULL),
                     INVALID, text);
        expect_error(context, &keep,
                     gpv_match_run(op, NULL, NULL, 0, NULL, NULL, count, NULL, NULL, NULL), INVALID,
                     text);
        expect_error(context, &keep, gpv_match_prepare(op, 1, count, GPV_MEMORY_HOST), INVALID,
                     text);
    }
    expect_nothing_found();
}
END_TEST

START_TEST(prepare_takes_host_memory) {
    ck_assert_int_eq(gpv_match_prepare(op, 0, 0, GPV_MEMORY_HOST), GPV_OK);
    ck_assert_int_eq(gpv_match_prepare(op, MAX_COUNT, MAX_COUNT, GPV_MEMORY_HOST), GPV_OK);
    expect_error(context, &keep, gpv_match_prepare(op, 1, 1, GPV_MEMORY_CUDA), UNSUPPORTED,
                 "memory|CUDA");
    expect_error(context, &keep, gpv_match_prepare(op, 1, 1, 2), INVALID, "memory is 2,|0..1");
    expect_error(context, &keep, gpv_match_prepare(op, 1, 1, UINT32_MAX), INVALID,
                 "memory is 4294967295,|0..1");
    expect_nothing_found();
}
END_TEST

/* Sets as large as they may be; the last descriptor is the one that counts. */
START_TEST(as_many_as_there_may_be) {
    const size_t bytes = (size_t)MAX_COUNT * LENGTH;
    unsigned char *many = calloc(MAX_COUNT, LENGTH), one[LENGTH];
    gpv_match_pair pairs[2];
    const gpv_buffer set = buffer_of(many, bytes), single = buffer_of(one, sizeof one);
    const gpv_buffer out = buffer_of(pairs, sizeof pairs[0]);
    ck_assert_ptr_nonnull(many);
    memset(one, 255, sizeof one);
    memset(many + bytes - LENGTH, 255, LENGTH);
    many[bytes - 1] = 253;
    memset(pairs, CANARY, sizeof pairs);
    ck_assert_int_eq(gpv_match_run(op, NULL, &set, MAX_COUNT, NULL, &single, 1, NULL, &out, NULL),
                     GPV_OK);
    ck_assert_int_eq(waited_for().queries, MAX_COUNT);
    ck_assert_int_eq(waited_for().count, 1);
    ck_assert_int_eq(waited_for().dropped, 0);
    ck_assert_int_eq(pairs[0].query, MAX_COUNT - 1);
    ck_assert_int_eq(pairs[0].train, 0);
    ck_assert_int_eq(pairs[0].distance, 4);
    ck_assert_int_eq(pairs[0].second, INT32_MAX);
    ck_assert_int_eq(gpv_match_run(op, NULL, &single, 1, NULL, &set, MAX_COUNT, NULL, &out, NULL),
                     GPV_OK);
    ck_assert_int_eq(pairs[0].query, 0);
    ck_assert_int_eq(pairs[0].train, MAX_COUNT - 1);
    ck_assert_int_eq(pairs[0].distance, 4);
    ck_assert_int_eq(pairs[0].second, FARTHEST);
    ck_assert(untouched(pairs + 1, pairs + 2));
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
        {usual, 63, 100, true},
        {nextafterf(usual, 0), 64, 100, false},
        {nextafterf(usual, 0), 63, 100, true},
        {usual, 4480000, 7000000, true},
        {usual, 4480001, 7000000, false},
        {0.5f, 25, 100, false}, /* not nearer than half as far */
        {0.5f, 24, 100, true},
        {0.5f, 1750001, 7000004, false},
        {0.5f, 1750000, 7000004, true},
        {0.75f, 144, 256, false},
        {0.75f, 143, 256, true},
        {1, 5, 5, false},
        {1, 5, 6, true},
        {1, 7000000, 7000000, false},
        {1, 7000000, 7000001, true},
        {1, 0, 0, false},
        {1, 0, 1, true},
        {nextafterf(1, 0), 7000000, 7000000, false},
        {nextafterf(1, 0), 6999999, 7000000, true},
        {usual, 0, 0, false},
        {usual, 0, 1, true},
        {FLT_MIN, 0, 1, true},
        {FLT_MIN, 1, FARTHEST, false},
        {FLT_TRUE_MIN, 0, 1, true}, /* whose square is no float */
        {0, 5, 5, true},
        {0, 0, 0, true},
        {0, FARTHEST, FARTHEST, true},
        {-0.0f, 5, 5, true},
        {-0.0f, FARTHEST, FARTHEST, true},
    };
    unsigned char query[LENGTH] = {0}, train[2 * LENGTH];
    const job it = job_of(query, 1, train, 2);
    int order, mutual;
    size_t i;
    for (i = 0; i < COUNT(cases); i++)
        for (order = 0; order < 2; order++)
            for (mutual = 0; mutual < 2; mutual++) {
                const int first = order && cases[i].nearest != cases[i].second ? 1 : 0;
                put_at(train + first * LENGTH, cases[i].nearest);
                put_at(train + (1 - first) * LENGTH, cases[i].second);
                set(with(cases[i].ratio, (uint32_t)mutual));
                ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
                ck_assert_msg(got.result.count == cases[i].match, "ratio %.9g of %d, %d",
                              cases[i].ratio, cases[i].nearest, cases[i].second);
                ck_assert_int_eq(got.result.queries, 1);
                ck_assert_int_eq(got.nearest[0].index[0], first);
                ck_assert_int_eq(got.nearest[0].index[1], 1 - first);
                ck_assert_int_eq(got.nearest[0].distance[0], cases[i].nearest);
                ck_assert_int_eq(got.nearest[0].distance[1], cases[i].second);
                if (!cases[i].match) {
                    ck_assert(untouched(got.pairs, got.pairs + ROOM));
                    continue;
                }
                ck_assert_int_eq(got.pairs[0].query, 0);
                ck_assert_int_eq(got.pairs[0].train, first);
                ck_assert_int_eq(got.pairs[0].distance, cases[i].nearest);
                ck_assert_int_eq(got.pairs[0].second, cases[i].second);
            }
}
END_TEST

static void expect_nearest(int query, int first, int first_distance, int second,
                           int second_distance) {
    ck_assert_int_eq(got.nearest[query].index[0], first);
    ck_assert_int_eq(got.nearest[query].distance[0], first_distance);
    ck_assert_int_eq(got.nearest[query].index[1], second);
    ck_assert_int_eq(got.nearest[query].distance[1], second_distance);
}

static void expect_pair(int i, int query, int train, int distance, int second) {
    ck_assert_int_lt(i, got.result.count);
    ck_assert_int_eq(got.pairs[i].query, query);
    ck_assert_int_eq(got.pairs[i].train, train);
    ck_assert_int_eq(got.pairs[i].distance, distance);
    ck_assert_int_eq(got.pairs[i].second, second);
}

START_TEST(of_equal_ones_the_first) {
    static const int queries[] = {4, 4, 10}, trains[] = {20, 5, 3, 5, 4, 3, 4, 12, 8};
    unsigned char query[3 * LENGTH], train[9 * LENGTH];
    job it = job_of(query, 3, train, 9);
    put(query, queries, 3);
    put(train, trains, 9);
    set(with(0, 0));
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    expect_nearest(0, 4, 0, 6, 0);
    expect_nearest(1, 4, 0, 6, 0);
    expect_nearest(2, 7, 4, 8, 4);
    ck_assert_int_eq(got.result.count, 3);
    expect_pair(0, 0, 4, 0, 0);
    expect_pair(1, 1, 4, 0, 0);
    expect_pair(2, 2, 7, 4, 4);
    it.train_count = 4; /* 20, 5, 3, 5 */
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    expect_nearest(0, 1, 1, 2, 1);
    expect_nearest(2, 1, 25, 3, 25);
    /* of two queries that are as near as each other the first is the mutual one */
    it.train_count = 9;
    set(with(0, 1));
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    ck_assert_int_eq(got.result.count, 2);
    expect_pair(0, 0, 4, 0, 0);
    expect_pair(1, 2, 7, 4, 4);
}
END_TEST

/* More equal ones than a vector has lanes, or a block has descriptors. */
START_TEST(equal_ones_everywhere) {
    unsigned char *train = descriptors(ROOM, 4, 0), *query = descriptors(3, 4, 0);
    static const int places[] = {0, 1, 15, 16, 17, 31, 32, 255, 256, 257, 511, 512, 698};
    const job it = job_of(query, 3, train, ROOM);
    size_t i;
    int k;
    set(with(0, 1));
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    for (k = 0; k < 3; k++)
        expect_nearest(k, 0, 0, 1, 0);
    ck_assert_int_eq(got.result.count, 1);
    expect_pair(0, 0, 0, 0, 0);
    /* one is nearer than all others, which are equal; then there is another one like it */
    query[5]++;
    for (i = 0; i < COUNT(places); i++) {
        train[places[i] * LENGTH + 5]++;
        ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
        expect_nearest(0, places[i], 0, places[i] ? 0 : 1, 1);
        train[(ROOM - 1) * LENGTH + 5]++;
        ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
        expect_nearest(0, places[i], 0, ROOM - 1, 0);
        train[(ROOM - 1) * LENGTH + 5]--;
        train[places[i] * LENGTH + 5]--;
    }
    free(query);
    free(train);
}
END_TEST

START_TEST(mutual_or_not) {
    /* 12 is nearest to 11, but 11's nearest is 10; and 31's is 30, which has none nearer */
    static const int queries[] = {10, 12, 30, 90}, trains[] = {31, 11, 80};
    unsigned char query[4 * LENGTH], train[3 * LENGTH];
    const job it = job_of(query, 4, train, 3);
    put(query, queries, 4);
    put(train, trains, 3);
    set(with(0.8f, 0));
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    ck_assert_int_eq(got.result.count, 4);
    expect_pair(0, 0, 1, 1, 441);
    expect_pair(1, 1, 1, 1, 361);
    expect_pair(2, 2, 0, 1, 361);
    expect_pair(3, 3, 2, 100, 3481);
    set(with(0.8f, 1));
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    ck_assert_int_eq(got.result.count, 3);
    expect_pair(0, 0, 1, 1, 441);
    expect_pair(1, 2, 0, 1, 361);
    expect_pair(2, 3, 2, 100, 3481);
    ck_assert(untouched(got.pairs + 3, got.pairs + ROOM));
    expect_nearest(1, 1, 1, 0, 361); /* whoever matches */
    /* one that has no match for its ratio is still the nearest to another's match */
    query[0] = 21;
    query[LENGTH] = 23;
    train[0] = 20;
    train[LENGTH] = 22; /* 21 is between the two */
    set(with(0.8f, 1));
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    expect_nearest(0, 0, 1, 1, 1);
    expect_nearest(1, 1, 1, 0, 9);
    ck_assert_int_eq(got.result.count, 1); /* 90, for 22's nearest is 21 */
    expect_pair(0, 3, 2, 100, 4624);
}
END_TEST

START_TEST(one_descriptor_has_no_second) {
    static const int queries[] = {7, 200}, trains[] = {10};
    unsigned char query[2 * LENGTH], train[LENGTH];
    const job it = job_of(query, 2, train, 1);
    put(query, queries, 2);
    put(train, trains, 1);
    set(with(0.8f, 0));
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    ck_assert_int_eq(got.result.count, 2);
    expect_nearest(0, 0, 9, -1, INT32_MAX);
    expect_nearest(1, 0, 36100, -1, INT32_MAX);
    expect_pair(0, 0, 0, 9, INT32_MAX);
    expect_pair(1, 1, 0, 36100, INT32_MAX);
    set(with(0.8f, 1));
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    ck_assert_int_eq(got.result.count, 1);
    expect_pair(0, 0, 0, 9, INT32_MAX);
}
END_TEST

START_TEST(farthest_of_all) {
    unsigned char query[LENGTH] = {0}, train[2 * LENGTH];
    const job it = job_of(query, 1, train, 2);
    memset(train, 255, sizeof train);
    set(with(0, 1));
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    expect_nearest(0, 0, FARTHEST, 1, FARTHEST);
    train[LENGTH] = 254;
    ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
    expect_nearest(0, 1, FARTHEST - 65025 + 64516, 0, FARTHEST);
    expect_pair(0, 0, 1, FARTHEST - 65025 + 64516, FARTHEST);
}
END_TEST

START_TEST(empty_sets) {
    unsigned char some[3 * LENGTH];
    const gpv_buffer none = {0}, few = buffer_of(some, sizeof some);
    job it = job_of(some, 3, NULL, 0);
    int i, mutual;
    fill(some, 3, 0, 1);
    for (mutual = 0; mutual < 2; mutual++) {
        expect_reference(&it, with(0, (uint32_t)mutual));
        for (i = 0; i < 3; i++)
            expect_nearest(i, -1, INT32_MAX, -1, INT32_MAX);
        ck_assert_int_eq(got.result.count, 0);
        ck_assert_int_eq(got.result.queries, 3);
    }
    it = job_of(NULL, 0, some, 3);
    expect_reference(&it, with(0, 1));
    ck_assert_int_eq(got.result.queries, 0);
    it = job_of(NULL, 0, NULL, 0);
    expect_reference(&it, with(0, 1));
    /* whatever the buffers are */
    ck_assert_int_eq(gpv_match_run(op, NULL, &none, 0, NULL, &few, 3, NULL, NULL, NULL), GPV_OK);
    ck_assert_int_eq(gpv_match_run(op, NULL, &few, 3, NULL, &none, 0, NULL, NULL, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().queries, 3);
    /* of an empty set no byte is read or overlapped */
    it = job_of(NULL, 0, NULL, 0);
    ck_assert_int_eq(gpv_match_run(op, NULL, &few, 0, NULL, &few, 0, NULL, &few, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().queries, 0);
}
END_TEST

/* found holds fewer, as many, and more than query_count; where it is negative there are none. */
START_TEST(as_many_as_were_found) {
    static const int32_t counts[] = {0, 1, 2, 17, 39, 40, 41, 1000, INT32_MAX, -1, INT32_MIN};
    unsigned char *query = descriptors(40, 1, 5), *train = descriptors(50, 1, 6);
    job it = job_of(query, 40, train, 50);
    int outputs, mutual;
    size_t i;
    for (i = 0; i < COUNT(counts); i++)
        for (outputs = 0; outputs <= ALL; outputs++)
            for (mutual = 0; mutual < 2; mutual++) {
                const int32_t all = counts[i] < 0 ? 0 : counts[i] > 40 ? 40 : counts[i];
                const gpv_sift_result found = {.struct_size = sizeof found, .count = counts[i]};
                gpv_sift_result before = found;
                it.found = &found;
                it.outputs = outputs;
                ck_assert_int_eq(expect_reference(&it, with(0.9f, (uint32_t)mutual)).queries, all);
                ck_assert_mem_eq(&found, &before, sizeof before);
            }
    /* those that are not there match nobody */
    {
        static const int queries[] = {20, 11}, trains[] = {10};
        gpv_sift_result found = {.struct_size = sizeof found, .count = 2};
        it = job_of(query, 2, train, 1);
        it.found = &found;
        put(query, queries, 2);
        put(train, trains, 1);
        set(with(0, 1));
        ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
        ck_assert_int_eq(got.result.count, 1);
        expect_pair(0, 1, 0, 1, INT32_MAX);
        found.count = 1;
        ck_assert_int_eq(run_into(op, &it, &got), GPV_OK);
        ck_assert_int_eq(got.result.count, 1);
        expect_pair(0, 0, 0, 100, INT32_MAX);
    }
    free(query);
    free(train);
}
END_TEST

/* What lies behind the descriptors that were found is not read. */
START_TEST(descriptors_of_sift) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 96, 96, TIGHT);
    unsigned char numbers[200 * LENGTH];
    gpv_sift_keypoint places[200];
    gpv_sift_result counted;
    gpv_sift_params some;
    const gpv_buffer keypoints = buffer_of(places, sizeof places);
    const gpv_buffer set = buffer_of(numbers, sizeof numbers);
    const gpv_buffer found = buffer_of(&counted, sizeof counted);
    gpv_match_pair pairs[200];
    const gpv_buffer out = buffer_of(pairs, sizeof pairs);
    gpv_sift *sift = NULL;
    unsigned char *pixels = src.view.data[0];
    int x, y, i;
    picture_fill(&src, 3);
    for (y = 0; y < 96; y++) /* in blocks of 3x3 pixels */
        for (x = 0; x < 96; x++)
            pixels[y * 96 + x] = pixels[y / 3 * 3 * 96 + x / 3 * 3];
    memset(numbers, CANARY, sizeof numbers);
    gpv_sift_params_init(&some, sizeof some);
    some.max_features = 150;
    ck_assert_int_eq(gpv_sift_create(context, &some, &sift), GPV_OK);
    ck_assert_int_eq(gpv_sift_run(sift, NULL, &src.view, NULL, &keypoints, 0, &set, &found),
                     GPV_OK);
    ck_assert_int_eq(counted.count, 150);
    ck_assert_int_eq(
        gpv_match_run(op, NULL, &set, 200, &found, &set, counted.count, NULL, &out, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().queries, counted.count);
    ck_assert_int_gt(waited_for().count, 75);
    for (i = 0; i < waited_for().count; i++) {
        ck_assert_int_eq(pairs[i].query, pairs[i].train); /* with itself */
        ck_assert_int_eq(pairs[i].distance, 0);
    }
    gpv_sift_destroy(&sift);
    picture_free(&src);
}
END_TEST

/* Nothing is left behind the last record, whatever room there is. */
START_TEST(no_more_than_there_is_room_for) {
    unsigned char *query = descriptors(60, 1, 7), *train = descriptors(50, 1, 8);
    job it = job_of(query, 60, train, 50);
    const gpv_match_params params = with(0, 1);
    const gpv_match_result all = reference(&it, params, &want);
    const gpv_buffer set[] = {buffer_of(query, 60 * LENGTH), buffer_of(train, 50 * LENGTH)};
    gpv_buffer pairs = buffer_of(got.pairs, 3 * sizeof(gpv_match_pair) + 15);
    ck_assert_int_gt(all.count, 10);
    for (it.room = 1; it.room <= 62; it.room++) {
        const gpv_match_result result = expect_reference(&it, params);
        ck_assert_int_eq(result.count, it.room < all.count ? it.room : all.count);
        ck_assert_int_eq(result.count + result.dropped, all.count);
    }
    /* a part of a record is none */
    memset(&got, CANARY, sizeof got);
    ck_assert_int_eq(gpv_match_run(op, NULL, &set[0], 60, NULL, &set[1], 50, NULL, &pairs, NULL),
                     GPV_OK);
    ck_assert_int_eq(waited_for().count, 3);
    ck_assert_int_eq(waited_for().dropped, all.count - 3);
    ck_assert(untouched(got.pairs + 3, got.pairs + ROOM));
    /* without a buffer all of them are counted */
    it.outputs = 0;
    ck_assert_int_eq(expect_reference(&it, params).count, all.count);
    ck_assert_int_eq(waited_for().dropped, 0);
    free(query);
    free(train);
}
END_TEST

static void expect_reference_of(int content) {
    static const int counts[][2] = {{1, 1},     {1, 2},   {2, 1},    {3, 7},    {4, 16},
                                    {5, 17},    {16, 33}, {31, 255}, {64, 256}, {257, 64},
                                    {300, 257}, {7, 700}, {700, 7},  {513, 513}};
    static const float ratios[] = {0.8f, 0, 1, 0.97f};
    size_t i;
    int r, mutual, matched = 0;
    for (i = 0; i < COUNT(counts); i++) {
        unsigned char *query = descriptors(counts[i][0], content, 11 + (uint32_t)i);
        unsigned char *train = descriptors(counts[i][1], content, 31 + (uint32_t)i);
        job it = job_of(query, counts[i][0], train, counts[i][1]);
        int k;
        /* some of them are there on both sides, elsewhere */
        for (k = 0; k < counts[i][0]; k += 5)
            memcpy(query + k * LENGTH, train + (size_t)(k * 7 % counts[i][1]) * LENGTH, LENGTH);
        for (r = 0; r < (int)COUNT(ratios); r++)
            for (mutual = 0; mutual < 2; mutual++) {
                if (counts[i][0] * counts[i][1] > 100000 && (r + mutual) % 2)
                    continue; /* takes long */
                keep.fill ^= 0xFF;
                matched += expect_reference(&it, with(ratios[r], (uint32_t)mutual)).count;
            }
        free(query);
        free(train);
    }
    ck_assert_int_gt(matched, 100);
}

START_TEST(all_contents) {
    int content;
    for (content = 0; content < CONTENTS; content++)
        expect_reference_of(content);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {counts_out_of_range,
                                  prepare_takes_host_memory,
                                  as_many_as_there_may_be,
                                  the_ratio,
                                  of_equal_ones_the_first,
                                  equal_ones_everywhere,
                                  mutual_or_not,
                                  one_descriptor_has_no_second,
                                  farthest_of_all,
                                  empty_sets,
                                  as_many_as_were_found,
                                  descriptors_of_sift,
                                  no_more_than_there_is_room_for,
                                  all_contents};
    return run_tests("match", setup, teardown, tests, COUNT(tests));
}
