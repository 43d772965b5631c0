/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

FIXTURE(graphcut)

static void set_certified(void) {
    gpv_graphcut_params params = defaults();
    params.certificate = 1;
    set(params);
}

/* Of the last run. Every call has to say the same of it. */
static gpv_graphcut_result found(gpv_status wanted, const char *text) {
    gpv_graphcut_result result;
    memset(&result, CANARY, sizeof result);
    result.struct_size = sizeof result;
    expect_status(context, &keep, gpv_graphcut_wait(op, &result), wanted, text);
    keep.text[0] = 0;
    expect_status(context, &keep, gpv_graphcut_wait(op, NULL), wanted, text);
    keep.text[0] = 0;
    expect_status(context, &keep, gpv_graphcut_query(op), wanted, text);
    ck_assert_uint_eq(result.struct_size, sizeof result);
    return result;
}

static void expect_found(int64_t flow, int64_t cut, int64_t area) {
    const gpv_graphcut_result result = found(GPV_OK, "");
    ck_assert_int_eq(result.flow, flow);
    ck_assert_int_eq(result.cut, cut);
    ck_assert_int_eq(result.area, area);
    ck_assert_uint_eq(result.optimal, 1);
    ck_assert_uint_eq(result.refused, 0);
}

/* -------------------------------------------------------------------- graphs */

typedef struct graph {
    picture terminals, links, mask;
} graph;

/* Of numbers in text, or of zeros. */
static graph graph_of(gpv_format format, int width, int height, const char *terminals,
                      const char *links) {
    graph g;
    g.mask = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    if (terminals) {
        g.terminals = picture_of(GPV_FORMAT_LABEL32, width, height, terminals);
        g.links = picture_of(format, width, height, links);
        return g;
    }
    g.terminals = picture_new(GPV_FORMAT_LABEL32, width, height, TIGHT);
    g.links = picture_new(format, width, height, TIGHT);
    memset(g.terminals.view.data[0], 0, g.terminals.size[0]);
    for (int i = 0; i < gpv_format_planes(format); i++)
        memset(g.links.view.data[i], 0, g.links.size[i]);
    return g;
}

static void graph_free(graph *g) {
    picture_free(&g->terminals);
    picture_free(&g->links);
    picture_free(&g->mask);
}

static int32_t *sample(const picture *p, int plane, int x, int y) {
    return (int32_t *)((char *)p->view.data[plane] + y * p->view.stride[plane]) + x;
}
static int32_t *terminal(const graph *g, int x, int y) {
    return sample(&g->terminals, 0, x, y);
}
static int32_t *arc(const graph *g, int plane, int x, int y) {
    return sample(&g->links, plane, x, y);
}
static gpv_status run(const graph *g, const gpv_buffer *result) {
    return gpv_graphcut_run(op, NULL, &g->terminals.view, &g->links.view, &g->mask.view, result);
}

/* -------------------------------------------------------- planes of links */

/* Which are only read. Of an image that has four, the others may be anything. */
START_TEST(planes_of_links_may_share_memory) {
    graph g = graph_of(GPV_FORMAT_CAP32X4, 3, 1, "9 0 -9", "5 2 7 | 0 0 0 | 0 0 0 | 0 0 0");
    gpv_image *const links = &g.links.view;
    for (int i = 1; i < 8; i++)
        links->data[i] = i < 4 ? links->data[0] : g.mask.view.data[0];
    links->stride[7] = -1;
    succeed(run(&g, NULL));
    expect_found(2, -1, 2);
    /* that of terminals, too: 9 and 3 to the east, -9 to no neighbour */
    links->data[0] = g.terminals.view.data[0];
    *terminal(&g, 1, 0) = 3;
    succeed(run(&g, NULL));
    expect_found(3, -1, 2);
    graph_free(&g);
}
END_TEST

/* -------------------------------------------------------- values out of range */

/* The run has found such a value, and written nothing else. */
static void run_refused(const graph *g, const char *text) {
    gpv_graphcut_result buffer, want, result;
    const gpv_buffer to = buffer_of(&buffer, sizeof buffer);
    memset(&buffer, CANARY, sizeof buffer);
    memset(g->mask.view.data[0], CANARY, g->mask.size[0]);
    gpv_graphcut_result_init(&want, sizeof want);
    want.refused = 1;
    succeed(run(g, &to));
    result = found(INVALID, text);
    ck_assert_mem_eq(&result, &want, sizeof want);
    ck_assert_mem_eq(&buffer, &want, sizeof want);
    ck_assert(untouched(g->mask.block[0], (char *)g->mask.block[0] + g->mask.size[0]));
}

/* In raster order, and of one pixel terminals before the planes. */
START_TEST(the_first_value_is_named) {
    graph g = graph_of(GPV_FORMAT_CAP32X8, 300, 40, NULL, NULL);
    *arc(&g, 7, 20, 39) = -7;
    run_refused(&g, "plane 7 of links is -7 at (20, 39), must be 0..67108863");
    *arc(&g, 2, 299, 20) = -6;
    run_refused(&g, "plane 2 of links is -6 at (299, 20), must be 0..67108863");
    *arc(&g, 6, 150, 20) = -5;
    run_refused(&g, "plane 6 of links is -5 at (150, 20), must be 0..67108863");
    *arc(&g, 1, 150, 20) = -4;
    run_refused(&g, "plane 1 of links is -4 at (150, 20), must be 0..67108863");
    *terminal(&g, 150, 20) = INT32_MIN;
    run_refused(&g, "terminals is -2147483648 at (150, 20), must be -1073741824..1073741824");
    *arc(&g, 0, 0, 0) = INT32_MAX;
    run_refused(&g, "plane 0 of links is 2147483647 at (0, 0), must be 0..67108863");
    graph_free(&g);
}
END_TEST

/* What was refused for its arguments does not count, but for a value it has begun. */
START_TEST(a_refused_value_is_a_run) {
    graph g = graph_of(GPV_FORMAT_CAP32X4, 3, 1, "5 -4 0", "9 0 0 | 0 0 0 | 0 0 0 | 0 0 0");
    succeed(run(&g, NULL));
    expect_found(4, -1, 3);
    *arc(&g, 0, 0, 0) = -3;
    run_refused(&g, "plane 0 of links is -3 at (0, 0)");
    g.links.view.width = 0;
    ck_assert_int_eq(run(&g, NULL), INVALID);
    ck_assert_uint_eq(found(INVALID, "plane 0 of links is -3 at (0, 0)").refused, 1);
    g.links.view.width = 3;
    *arc(&g, 0, 0, 0) = 9;
    succeed(run(&g, NULL));
    expect_found(4, -1, 3);
    graph_free(&g);
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

#define ONES "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
/* From the middle of 3x3 pixels to each neighbour twice as much as to the one before. */
#define OUT                                                                                        \
    "0 0 0 0 1 0 0 0 0 | 0 0 0 0 2 0 0 0 0 | 0 0 0 0 4 0 0 0 0 | 0 0 0 0 8 0 0 0 0 | "             \
    "0 0 0 0 16 0 0 0 0 | 0 0 0 0 32 0 0 0 0 | 0 0 0 0 64 0 0 0 0 | 0 0 0 0 128 0 0 0 0"

static const struct {
    gpv_format format;
    int width, height;
    const char *terminals, *links;
    int64_t flow;
    const char *mask;
} cuts[] = {
    /* nothing can flow; and what cannot reach the sink belongs to the source */
    {GPV_FORMAT_CAP32X4, 1, 1, "5", "1 | 2 | 3 | 4", 0, "#"},
    {GPV_FORMAT_CAP32X4, 1, 1, "0", "-1 | -2 | -3 | -4", 0, "#"},
    /* the ends of the ranges */
    {GPV_FORMAT_CAP32X4, 2, 1, "1073741824 -1073741824", "67108863 0 | 0 0 | 0 67108863 | 0 0",
     67108863, "#."},
    /* a picture in two levels with two wrong pixels, cleaned as Greig, Porteous and Seheult did:
     * what a pixel says counts 3, a border between two neighbours 1; the border is 5 long */
    {GPV_FORMAT_CAP32X4, 6, 5,
     " 3  3  3 -3 -3 -3 "
     " 3  3  3 -3 -3 -3 "
     " 3 -3  3 -3  3 -3 "
     " 3  3  3 -3 -3 -3 "
     " 3  3  3 -3 -3 -3 ",
     ONES "|" ONES "|" ONES "|" ONES, 3 + 3 + 5, "###... ###... ###... ###... ###..."},
    /* round a ring of 8 neighbours the diagonals count, too */
    {GPV_FORMAT_CAP32X8, 3, 3, "-999 -999 -999 -999 900 -999 -999 -999 -999", OUT, 255,
     "... .#. ..."},
    {GPV_FORMAT_CAP32X8, 3, 3, "-999 0 0 -999 900 -999 -999 -999 -999", OUT, 63, ".## .#. ..."},
};

static void expect_cut(gpv_format format, int width, int height, const char *terminals,
                       const char *links, int64_t flow, const char *mask) {
    graph g = graph_of(format, width, height, terminals, links);
    picture want = picture_of(GPV_FORMAT_GRAY8, width, height, mask);
    int64_t area = 0;
    for (; *mask; mask++)
        area += *mask == '#';
    set_certified();
    succeed(run(&g, NULL));
    expect_found(flow, flow, area);
    expect_picture(&g.mask, &want);
    picture_free(&g.terminals);
    picture_free(&g.links);
}

START_TEST(small_graphs) {
    for (size_t i = 0; i < COUNT(cuts); i++)
        expect_cut(cuts[i].format, cuts[i].width, cuts[i].height, cuts[i].terminals, cuts[i].links,
                   cuts[i].flow, cuts[i].mask);
}
END_TEST

/* Of one row, with what leads to the east and to the west; and of one column. */
static const struct {
    const char *terminals, *east, *west;
    int64_t flow;
    const char *mask;
} rows[] = {
    /* the narrowest place; of equal ones the last */
    {"9 0 0 -9", "5 2 7 0", "0 0 0 0", 2, "##.."},
    {"9 0 0 -9", "2 2 2 0", "0 0 0 0", 2, "###."},
    /* what the source gives, or the sink takes, is less */
    {"1 0 0 -9", "5 2 7 0", "0 0 0 0", 1, "...."},
    {"9 0 0 -1", "5 2 7 0", "0 0 0 0", 1, "####"},
    /* capacities back do not count, nor those from the sink's side */
    {"9 0 0 -9", "5 2 7 0", "8 8 8 8", 2, "##.."},
    {"-9 0 0 9", "8 8 8 8", "0 5 2 7", 2, "..##"},
    /* two ways */
    {"-9 0 9 0 -9", "9 9 3 1 0", "0 2 4 9 9", 3, ".###."},
    /* nothing leads to the sink */
    {"9 0 0 -9", "0 0 0 0", "8 8 8 8", 0, "###."},
};

START_TEST(rows_and_columns) {
    size_t i;
    for (i = 0; i < COUNT(rows); i++) {
        const int width = (int)strlen(rows[i].mask);
        const char *const none = width == 4 ? "0 0 0 0" : "0 0 0 0 0";
        char across[64], down[64];
        snprintf(across, sizeof across, "%s | %s | %s | %s", rows[i].east, none, rows[i].west,
                 none);
        snprintf(down, sizeof down, "%s | %s | %s | %s", none, rows[i].east, none, rows[i].west);
        expect_cut(GPV_FORMAT_CAP32X4, width, 1, rows[i].terminals, across, rows[i].flow,
                   rows[i].mask);
        expect_cut(GPV_FORMAT_CAP32X4, 1, width, rows[i].terminals, down, rows[i].flow,
                   rows[i].mask);
    }
}
END_TEST

/* Two columns between which as much flows as can. */
START_TEST(flow_beyond_32_bits) {
    enum { HEIGHT = 700 };
    const int64_t flow = (3 * HEIGHT - 2) * (int64_t)GPV_GRAPHCUT_MAX_LINK;
    graph g = graph_of(GPV_FORMAT_CAP32X8, 2, HEIGHT, NULL, NULL);
    set_certified();
    for (int y = 0; y < HEIGHT; y++) {
        *terminal(&g, 0, y) = GPV_GRAPHCUT_MAX_TERMINAL;
        *terminal(&g, 1, y) = -GPV_GRAPHCUT_MAX_TERMINAL;
        *arc(&g, 0, 0, y) = *arc(&g, 1, 0, y) = *arc(&g, 7, 0, y) = GPV_GRAPHCUT_MAX_LINK;
    }
    succeed(run(&g, NULL));
    expect_found(flow, flow, HEIGHT);
    graph_free(&g);
}
END_TEST

RUN_TESTS("graphcut", setup, teardown, planes_of_links_may_share_memory, the_first_value_is_named,
          a_refused_value_is_a_run, small_graphs, rows_and_columns, flow_beyond_32_bits)
