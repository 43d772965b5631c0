/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

FIXTURE(expansion)
RESULT(expansion, expansion)

/* Labels of a row of pixels. */
typedef struct row {
    picture costs[3], links, labels;
} row;

/* Costs and links are numbers in text. */
static row row_of(int width, const char *const *costs, const char *links) {
    row r;
    for (int i = 0; i < 3; i++)
        r.costs[i] = picture_of(GPV_FORMAT_LABEL32, width, 1, costs[i]);
    r.links = picture_of(GPV_FORMAT_CAP32X4, width, 1, links);
    r.labels = picture_new(GPV_FORMAT_GRAY8, width, 1, TIGHT);
    return r;
}

static void row_free(row *r) {
    for (int i = 0; i < 3; i++)
        picture_free(&r->costs[i]);
    picture_free(&r->links);
    picture_free(&r->labels);
}

static gpv_status run(const row *r, int32_t count) {
    const gpv_image *costs[GPV_EXPANSION_MAX_LABELS];
    for (int i = 0; i < GPV_EXPANSION_MAX_LABELS; i++)
        costs[i] = &r->costs[i % 3].view;
    return gpv_expansion_run(op, NULL, costs, count, &r->links.view, &r->labels.view, NULL);
}

static void expect_found(const row *r, const char *labels, int64_t start_energy, int64_t energy,
                         uint32_t converged) {
    const gpv_expansion_result result = waited_for();
    ck_assert_int_eq(result.start_energy, start_energy);
    ck_assert_int_eq(result.energy, energy);
    ck_assert_int_eq(result.moves, 1);
    ck_assert_uint_eq(result.converged, converged);
    const char *found = r->labels.view.data[0];
    for (int x = 0; x < r->labels.view.width; x++)
        ck_assert_int_eq(found[x], labels[x] - '0');
}

/* The second of four pixels would have another label, but for dear borders. Of links those to the
   east count; where there is no neighbour, and in the other half, they may be anything. */
static const char *const costs[] = {"0 5 0 9", "4 3 9 9", "9 9 9 1"};
#define LINKS "4 4 4 -1 | -1 -1 -1 -1 | -1 -1 -1 -1 | -1 -1 -1 -1"

START_TEST(a_label_gives_way) {
    row r = row_of(4, costs, LINKS);
    succeed(run(&r, 3));
    expect_found(&r, "0002", 16, 10, 1);
    row_free(&r);
}
END_TEST

/* It is over before all others have had their turn after the move that changes something. */
START_TEST(one_cycle) {
    static const char *const turned[] = {"4 3 9 9", "0 5 0 9", "9 9 9 1"};
    gpv_expansion_params params = defaults();
    row r = row_of(4, turned, LINKS);
    params.cycles = 1;
    set(params);
    succeed(run(&r, 3));
    expect_found(&r, "1112", 16, 10, 0);
    params.cycles = 2;
    set(params);
    succeed(run(&r, 3));
    expect_found(&r, "1112", 16, 10, 1);
    row_free(&r);
}
END_TEST

START_TEST(numbers_of_labels) {
    row r = row_of(4, costs, LINKS);
    static const int32_t bad[] = {INT32_MIN, -1, 0, 1, 17, INT32_MAX};
    for (size_t i = 0; i < COUNT(bad); i++) {
        char text[64];
        snprintf(text, sizeof text, "count is %d, must be 2..16", bad[i]);
        expect_status(context, &keep, run(&r, bad[i]), INVALID, text);
        expect_status(context, &keep, gpv_expansion_prepare(op, &r.links.view, bad[i]), INVALID,
                      text);
    }
    expect_status(context, &keep,
                  gpv_expansion_run(op, NULL, NULL, 2, &r.links.view, &r.labels.view, NULL),
                  INVALID, "costs is NULL");
    succeed(run(&r, 16)); /* of which several share memory */
    expect_found(&r, "0002", 16, 10, 1);
    row_free(&r);
}
END_TEST

START_TEST(values_at_and_beyond_their_ends) {
    static const int32_t end = GPV_EXPANSION_MAX_COST;
    row r = row_of(4, costs, LINKS);
    int32_t *const cost = (int32_t *)r.costs[1].view.data[0] + 2;
    int32_t *const link = (int32_t *)r.links.view.data[0] + 1;
    const int32_t legal[] = {-end, end};
    for (size_t i = 0; i < COUNT(legal); i++) {
        *cost = legal[i];
        *link = i ? GPV_GRAPHCUT_MAX_LINK : 0;
        succeed(run(&r, 3));
        succeed(gpv_expansion_wait(op, NULL));
    }
    *cost = end + 1;
    *link = -1; /* comes first */
    succeed(run(&r, 3));
    gpv_expansion_result result;
    result.struct_size = sizeof result;
    expect_status(context, &keep, gpv_expansion_wait(op, &result), INVALID,
                  "plane 0 of links is -1 at (1, 0), must be 0..67108863");
    ck_assert_uint_eq(result.refused, 1);
    keep.text[0] = 0;
    expect_status(context, &keep, gpv_expansion_query(op), INVALID, "plane 0 of links");
    *link = 4;
    succeed(run(&r, 3));
    expect_status(context, &keep, gpv_expansion_wait(op, NULL), INVALID,
                  "costs[1] is 268435457 at (2, 0), must be -268435456..268435456");
    row_free(&r);
}
END_TEST

RUN_TESTS("expansion", setup, teardown, a_label_gives_way, one_cycle, numbers_of_labels,
          values_at_and_beyond_their_ends)
