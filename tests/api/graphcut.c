/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

FIXTURE(graphcut)

static gpv_graphcut_params certified(void) {
    gpv_graphcut_params params = defaults();
    params.certificate = 1;
    return params;
}

static gpv_status run_views(const gpv_image *terminals, const gpv_image *links,
                            const gpv_image *mask) {
    return gpv_graphcut_run(op, NULL, terminals, links, mask, NULL);
}

static gpv_graphcut_result blank(void) {
    gpv_graphcut_result result;
    gpv_graphcut_result_init(&result, sizeof result);
    return result;
}

/* Of the last run. Every call has to say the same of it. */
static gpv_graphcut_result found(gpv_status wanted) {
    gpv_graphcut_result result;
    memset(&result, 0xC5, sizeof result);
    result.struct_size = sizeof result;
    ck_assert_int_eq(gpv_graphcut_wait(op, &result), wanted);
    ck_assert_int_eq(gpv_graphcut_wait(op, NULL), wanted);
    ck_assert_int_eq(gpv_graphcut_query(op), wanted);
    ck_assert_uint_eq(result.struct_size, sizeof result);
    ck_assert_uint_eq(result.reserved, 0);
    return result;
}

static void expect_found(int64_t flow, int64_t cut, int64_t area) {
    const gpv_graphcut_result result = found(GPV_OK);
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

static graph graph_new(gpv_format format, int width, int height, layout how) {
    graph g;
    int i, y;
    g.terminals = picture_new(GPV_FORMAT_LABEL32, width, height, how);
    g.links = picture_new(format, width, height, how);
    g.mask = picture_new(GPV_FORMAT_GRAY8, width, height, how);
    for (y = 0; y < height; y++) {
        const size_t row = 4 * (size_t)width;
        memset((char *)g.terminals.view.data[0] + y * g.terminals.view.stride[0], 0, row);
        for (i = 0; i < gpv_format_planes(format); i++)
            memset((char *)g.links.view.data[i] + y * g.links.view.stride[i], 0, row);
    }
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
static unsigned char *mask_at(const graph *g, int x, int y) {
    return (unsigned char *)g->mask.view.data[0] + y * g->mask.view.stride[0] + x;
}

/* To the neighbour of a plane. */
static void step(int plane, int planes, int *dx, int *dy) {
    static const int ring[8][2] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                   {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    *dx = ring[plane * 8 / planes][0];
    *dy = ring[plane * 8 / planes][1];
}

static bool inside(const graph *g, int x, int y) {
    return x >= 0 && x < g->links.view.width && y >= 0 && y < g->links.view.height;
}

/* With random capacities up to that, terminals of up to twice as much. Many are 0, and many cuts
 * are equally good. */
static void graph_fill(const graph *g, unsigned seed, unsigned maximum) {
    const int planes = gpv_format_planes(g->links.view.format);
    int x, y, i;
    for (y = 0; y < g->links.view.height; y++)
        for (x = 0; x < g->links.view.width; x++)
            for (i = -1; i < planes; i++) {
                unsigned value;
                seed = seed * 1664525u + 1013904223u;
                value = (seed >> 16) % (maximum + 1);
                if (i < 0)
                    *terminal(g, x, y) = 2 * ((int32_t)value - (int32_t)maximum / 2);
                else
                    *arc(g, i, x, y) = seed >> 8 & 1 ? (int32_t)value : 0;
            }
}

/* Written in text. */
static graph graph_of(gpv_format format, int width, int height, const char *terminals,
                      const char *const *links) {
    graph g;
    g.terminals = picture_of_plane(GPV_FORMAT_LABEL32, width, height, terminals);
    g.links = picture_of(format, width, height, links);
    g.mask = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    return g;
}

static gpv_status run_into(gpv_graphcut *which, const graph *g, const gpv_buffer *result) {
    return gpv_graphcut_run(which, NULL, &g->terminals.view, &g->links.view, &g->mask.view, result);
}

static void run(const graph *g) {
    ck_assert_msg(run_into(op, g, NULL) == GPV_OK, "%s", gpv_context_error(context));
}

/* What the definition says a cut costs; side: whether a pixel is on that of the source. */
static int64_t capacity(const graph *g, bool (*side)(const void *cut, int x, int y),
                        const void *cut) {
    const int planes = gpv_format_planes(g->links.view.format);
    int64_t sum = 0;
    int x, y, i, dx, dy;
    for (y = 0; y < g->links.view.height; y++)
        for (x = 0; x < g->links.view.width; x++) {
            const int32_t t = *terminal(g, x, y);
            const bool source = side(cut, x, y);
            sum += source ? (t < 0 ? -(int64_t)t : 0) : (t > 0 ? t : 0);
            for (i = 0; i < planes && source; i++) {
                step(i, planes, &dx, &dy);
                if (inside(g, x + dx, y + dy) && !side(cut, x + dx, y + dy))
                    sum += *arc(g, i, x, y);
            }
        }
    return sum;
}

static bool side_of_mask(const void *cut, int x, int y) {
    return *mask_at(cut, x, y) == 255;
}

static int64_t area_of(const graph *g) {
    int64_t area = 0;
    int x, y;
    for (y = 0; y < g->mask.view.height; y++)
        for (x = 0; x < g->mask.view.width; x++) {
            ck_assert(*mask_at(g, x, y) == 255 || *mask_at(g, x, y) == 0);
            area += *mask_at(g, x, y) == 255;
        }
    return area;
}

/* -------------------------------------------------------- planes of links */

/* Of an image that has four, the others may be anything. */
START_TEST(further_planes_are_not_looked_at) {
    graph g = graph_new(GPV_FORMAT_CAP32X4, 5, 3, TIGHT);
    int i;
    for (i = 4; i < 8; i++) {
        g.links.view.data[i] = g.mask.view.data[0];
        g.links.view.stride[i] = -1;
    }
    run(&g);
    expect_found(0, -1, 15);
    graph_free(&g);
}
END_TEST

/* Which are only read. */
START_TEST(planes_of_links_may_share_memory) {
    graph g = graph_of(GPV_FORMAT_CAP32X4, 3, 1, "9 0 -9",
                       (const char *const[]){"5 2 7", "0 0 0", "0 0 0", "0 0 0"});
    gpv_image links = g.links.view;
    int i;
    for (i = 1; i < 4; i++)
        links.data[i] = links.data[0];
    ck_assert_int_eq(run_views(&g.terminals.view, &links, &g.mask.view), GPV_OK);
    expect_found(2, -1, 2);
    /* that of terminals, too: 9 and 3 to the east, -9 to no neighbour */
    links = g.links.view;
    links.data[0] = g.terminals.view.data[0];
    *terminal(&g, 1, 0) = 3;
    ck_assert_int_eq(run_views(&g.terminals.view, &links, &g.mask.view), GPV_OK);
    expect_found(3, -1, 2);
    graph_free(&g);
}
END_TEST

/* -------------------------------------------------------- values out of range */

/* What is said of the last run, which found such a value. */
static void expect_refused(const graph *g, const gpv_graphcut_result *buffer, const char *text) {
    gpv_graphcut_result result = blank(), want = blank();
    picture untouched =
        picture_new(GPV_FORMAT_GRAY8, g->mask.view.width, g->mask.view.height, TIGHT);
    want.refused = 1;
    expect_error(context, &keep, gpv_graphcut_wait(op, &result), INVALID, text);
    ck_assert_mem_eq(&result, &want, sizeof want);
    ck_assert_mem_eq(buffer, &want, sizeof want);
    keep.text[0] = 0;
    expect_error(context, &keep, gpv_graphcut_query(op), INVALID, text);
    keep.text[0] = 0;
    expect_error(context, &keep, gpv_graphcut_wait(op, NULL), INVALID, text);
    ck_assert(picture_equal(&g->mask, &untouched)); /* as picture_new() left it */
    picture_free(&untouched);
}

static void run_refused(const graph *g, const char *text) {
    gpv_graphcut_result buffer;
    const gpv_buffer result = buffer_of(&buffer, sizeof buffer);
    memset(&buffer, 0xC5, sizeof buffer);
    memset(g->mask.view.data[0], 0xC5, g->mask.size[0]);
    ck_assert_int_eq(run_into(op, g, &result), GPV_OK);
    expect_refused(g, &buffer, text);
}

START_TEST(values_out_of_range_are_refused) {
    static const int32_t links[] = {-1, GPV_GRAPHCUT_MAX_LINK + 1, INT32_MIN, INT32_MAX};
    static const int32_t terminals[] = {GPV_GRAPHCUT_MAX_TERMINAL + 1,
                                        -GPV_GRAPHCUT_MAX_TERMINAL - 1, INT32_MIN, INT32_MAX};
    int certificate, planes, plane, x, y, tried = 0;
    size_t i;
    for (certificate = 0; certificate < 2; certificate++)
        for (planes = 4; planes <= 8; planes += 4) {
            graph g = graph_new(planes == 4 ? GPV_FORMAT_CAP32X4 : GPV_FORMAT_CAP32X8, 5, 3, TIGHT);
            graph_fill(&g, 5, 100);
            set(certificate ? certified() : defaults());
            for (plane = -1; plane < planes; plane++)
                for (y = 0; y < 3; y++)
                    for (x = 0; x < 5; x++) {
                        int32_t *value = plane < 0 ? terminal(&g, x, y) : arc(&g, plane, x, y);
                        const int32_t before = *value;
                        int dx = 0, dy = 0;
                        if (plane >= 0)
                            step(plane, planes, &dx, &dy);
                        for (i = 0; i < 4; i++) {
                            char text[128];
                            *value = plane < 0 ? terminals[i] : links[i];
                            if (!inside(&g, x + dx, y + dy)) { /* not looked at */
                                run(&g);
                                ck_assert_uint_eq(found(GPV_OK).optimal, 1);
                                continue;
                            }
                            if (plane < 0)
                                snprintf(
                                    text, sizeof text,
                                    "terminals is %d at (%d, %d), must be -1073741824..1073741824",
                                    *value, x, y);
                            else
                                snprintf(text, sizeof text,
                                         "plane %d of links is %d at (%d, %d), must be 0..67108863",
                                         plane, *value, x, y);
                            run_refused(&g, text);
                            tried++;
                        }
                        *value = before;
                    }
            /* nothing is left of it */
            run(&g);
            ck_assert_uint_eq(found(GPV_OK).optimal, 1);
            graph_free(&g);
        }
    ck_assert_int_eq(tried, 2 * 4 * (2 * 15 + 44 + 76)); /* 5x3: 44 arcs, and 32 more */
}
END_TEST

/* In raster order, and of one pixel terminals before the planes. */
START_TEST(the_first_value_is_named) {
    graph g = graph_new(GPV_FORMAT_CAP32X8, 300, 40, TIGHT);
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

START_TEST(the_ends_of_the_ranges) {
    graph g = graph_new(GPV_FORMAT_CAP32X4, 2, 1, TIGHT);
    set(certified());
    *terminal(&g, 0, 0) = GPV_GRAPHCUT_MAX_TERMINAL;
    *terminal(&g, 1, 0) = -GPV_GRAPHCUT_MAX_TERMINAL;
    *arc(&g, 0, 0, 0) = GPV_GRAPHCUT_MAX_LINK;
    *arc(&g, 2, 1, 0) = GPV_GRAPHCUT_MAX_LINK;
    run(&g);
    expect_found(GPV_GRAPHCUT_MAX_LINK, GPV_GRAPHCUT_MAX_LINK, 1);
    graph_free(&g);
}
END_TEST

/* What leads out of the picture may be anything. */
START_TEST(arcs_out_of_the_picture_do_not_count) {
    static const int sizes[][2] = {{1, 1}, {1, 6}, {6, 1}, {5, 4}, {70, 3}};
    static const int32_t values[] = {-1, INT32_MIN, INT32_MAX, GPV_GRAPHCUT_MAX_LINK, 0};
    size_t s, v;
    int planes, x, y, i, dx, dy;
    set(certified());
    for (s = 0; s < COUNT(sizes); s++)
        for (planes = 4; planes <= 8; planes += 4) {
            graph g = graph_new(planes == 4 ? GPV_FORMAT_CAP32X4 : GPV_FORMAT_CAP32X8, sizes[s][0],
                                sizes[s][1], TIGHT);
            picture want = picture_new(GPV_FORMAT_GRAY8, sizes[s][0], sizes[s][1], TIGHT);
            gpv_graphcut_result first = blank();
            graph_fill(&g, 11, 50);
            for (v = 0; v < COUNT(values); v++) {
                gpv_graphcut_result result;
                for (y = 0; y < sizes[s][1]; y++)
                    for (x = 0; x < sizes[s][0]; x++)
                        for (i = 0; i < planes; i++) {
                            step(i, planes, &dx, &dy);
                            if (!inside(&g, x + dx, y + dy))
                                *arc(&g, i, x, y) = values[v];
                        }
                run(&g);
                result = found(GPV_OK);
                if (v == 0) {
                    first = result;
                    memcpy(want.view.data[0], g.mask.view.data[0], g.mask.size[0]);
                }
                ck_assert_mem_eq(&result, &first, sizeof first);
                ck_assert(picture_equal(&g.mask, &want));
            }
            graph_free(&g);
            picture_free(&want);
        }
}
END_TEST

static gpv_format format_of(int i) {
    return i % 2 ? GPV_FORMAT_CAP32X8 : GPV_FORMAT_CAP32X4;
}

/* What was refused for its arguments does not count, but for a value it has begun. */
START_TEST(a_refused_value_is_a_run) {
    graph g = graph_new(GPV_FORMAT_CAP32X4, 3, 1, TIGHT);
    gpv_image bad = g.links.view;
    bad.width = 0;
    *terminal(&g, 0, 0) = 5;
    *terminal(&g, 1, 0) = -4;
    *arc(&g, 0, 0, 0) = -3;
    run(&g);
    ck_assert_uint_eq(found(INVALID).refused, 1);
    expect_text(gpv_context_error(context), "plane 0 of links is -3 at (0, 0)");
    ck_assert_int_eq(run_views(&g.terminals.view, &bad, &g.mask.view), INVALID);
    ck_assert_uint_eq(found(INVALID).refused, 1);
    expect_text(gpv_context_error(context), "plane 0 of links is -3 at (0, 0)");
    *arc(&g, 0, 0, 0) = 9;
    run(&g);
    expect_found(4, -1, 3);
    graph_free(&g);
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

static void expect_cut(gpv_format format, int width, int height, const char *terminals,
                       const char *const *links, int64_t flow, const char *mask) {
    graph g = graph_of(format, width, height, terminals, links);
    picture want = picture_of_plane(GPV_FORMAT_GRAY8, width, height, mask);
    int64_t area;
    set(certified());
    run(&g);
    area = area_of(&g);
    expect_found(flow, flow, area);
    expect_picture(&g.mask, &want);
    picture_free(&g.terminals);
    picture_free(&g.links);
}

/* Of one row, with what leads to the east and to the west; and of one column. */
static void expect_row(int width, const char *terminals, const char *east, const char *west,
                       int64_t flow, const char *mask) {
    static const char zeros[] = "0 0 0 0 0";
    const char *const none = zeros + sizeof zeros - 2 * width;
    const char *const across[] = {east, none, west, none}, *const down[] = {none, east, none, west};
    expect_cut(GPV_FORMAT_CAP32X4, width, 1, terminals, across, flow, mask);
    expect_cut(GPV_FORMAT_CAP32X4, 1, width, terminals, down, flow, mask);
}

/* Nothing can flow; and what cannot reach the sink belongs to the source. */
START_TEST(one_pixel) {
    static const char *const arcs[] = {"1", "2", "3", "4"};
    expect_cut(GPV_FORMAT_CAP32X4, 1, 1, "5", arcs, 0, "#");
    expect_cut(GPV_FORMAT_CAP32X4, 1, 1, "0", arcs, 0, "#");
    expect_cut(GPV_FORMAT_CAP32X4, 1, 1, "-5", arcs, 0, ".");
    expect_cut(GPV_FORMAT_CAP32X4, 1, 1, "1073741824", arcs, 0, "#");
    expect_cut(GPV_FORMAT_CAP32X4, 1, 1, "-1073741824", arcs, 0, ".");
}
END_TEST

START_TEST(rows) {
    /* the narrowest place */
    expect_row(4, "9 0 0 -9", "5 2 7 0", "0 0 0 0", 2, "##..");
    expect_row(4, "9 0 0 -9", "2 5 7 0", "0 0 0 0", 2, "#...");
    expect_row(4, "9 0 0 -9", "5 7 2 0", "0 0 0 0", 2, "###.");
    /* of equal ones the last */
    expect_row(4, "9 0 0 -9", "2 2 2 0", "0 0 0 0", 2, "###.");
    expect_row(5, "9 0 0 0 -9", "2 3 2 4 0", "0 0 0 0 0", 2, "###..");
    /* what the source gives, or the sink takes, is less */
    expect_row(4, "1 0 0 -9", "5 2 7 0", "0 0 0 0", 1, "....");
    expect_row(4, "9 0 0 -1", "5 2 7 0", "0 0 0 0", 1, "####");
    expect_row(4, "2 0 0 -2", "2 2 2 0", "0 0 0 0", 2, "####");
    /* capacities back do not count, nor those from the sink's side */
    expect_row(4, "9 0 0 -9", "5 2 7 0", "8 8 8 8", 2, "##..");
    expect_row(4, "-9 0 0 9", "8 8 8 8", "0 5 2 7", 2, "..##");
    /* two ways */
    expect_row(5, "-9 0 9 0 -9", "9 9 3 1 0", "0 2 4 9 9", 3, ".###.");
    /* nothing leads to the sink */
    expect_row(4, "9 0 0 -9", "0 0 0 0", "8 8 8 8", 0, "###.");
    expect_row(4, "7 0 9 1", "5 5 5 5", "5 5 5 5", 0, "####");
    expect_row(4, "-7 -1 -9 -1", "5 5 5 5", "5 5 5 5", 0, "....");
}
END_TEST

/* One arc alone, in each direction. */
START_TEST(directions) {
    int planes, plane, back;
    set(certified());
    for (planes = 4; planes <= 8; planes += 4)
        for (plane = 0; plane < planes; plane++)
            for (back = 0; back < 2; back++) {
                graph g =
                    graph_new(planes == 4 ? GPV_FORMAT_CAP32X4 : GPV_FORMAT_CAP32X8, 3, 3, TIGHT);
                int dx, dy, other;
                step(plane, planes, &dx, &dy);
                /* to the neighbour, or from it */
                *terminal(&g, 1, 1) = back ? -90 : 90;
                *terminal(&g, 1 + dx, 1 + dy) = back ? 90 : -90;
                *arc(&g, plane, 1, 1) = back ? 70 : plane + 1;
                for (other = 0; other < planes && back; other++) {
                    int ox, oy;
                    step(other, planes, &ox, &oy);
                    if (ox == -dx && oy == -dy)
                        *arc(&g, other, 1 + dx, 1 + dy) = plane + 1;
                }
                run(&g);
                expect_found(plane + 1, plane + 1, 8);
                ck_assert_uint_eq(*mask_at(&g, 1, 1), back ? 0 : 255);
                ck_assert_uint_eq(*mask_at(&g, 1 + dx, 1 + dy), back ? 255 : 0);
                graph_free(&g);
            }
}
END_TEST

/* A picture in two levels with two wrong pixels, cleaned as Greig, Porteous and Seheult did: what a
 * pixel says counts 3, a border between two neighbours 1. */
START_TEST(a_noisy_picture) {
    static const char *const ones[] = {
        "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"};
    /* each wrong pixel has 4 neighbours of the other kind; the border is 5 long */
    expect_cut(GPV_FORMAT_CAP32X4, 6, 5,
               " 3  3  3 -3 -3 -3 "
               " 3  3  3 -3 -3 -3 "
               " 3 -3  3 -3  3 -3 "
               " 3  3  3 -3 -3 -3 "
               " 3  3  3 -3 -3 -3 ",
               ones, 3 + 3 + 5,
               "###... "
               "###... "
               "###... "
               "###... "
               "###... ");
    /* a corner has 2: it stays */
    expect_cut(GPV_FORMAT_CAP32X4, 6, 5,
               "-3  3  3 -3 -3 -3 "
               " 3  3  3 -3 -3 -3 "
               " 3  3  3 -3 -3 -3 "
               " 3  3  3 -3 -3 -3 "
               " 3  3  3 -3 -3  3 ",
               ones, 2 + 2 + 5,
               ".##... "
               "###... "
               "###... "
               "###... "
               "###..# ");
}
END_TEST

/* Round a ring of 8 neighbours the diagonals count, too. */
START_TEST(a_dot) {
    static const char *const links[] = {
        "0 0 0 0 1 0 0 0 0",  "0 0 0 0 2 0 0 0 0",  "0 0 0 0 4 0 0 0 0",  "0 0 0 0 8 0 0 0 0",
        "0 0 0 0 16 0 0 0 0", "0 0 0 0 32 0 0 0 0", "0 0 0 0 64 0 0 0 0", "0 0 0 0 128 0 0 0 0"};
    expect_cut(GPV_FORMAT_CAP32X8, 3, 3, "-999 -999 -999 -999 900 -999 -999 -999 -999", links, 255,
               "... .#. ...");
    /* without the strongest two */
    expect_cut(GPV_FORMAT_CAP32X8, 3, 3, "-999 0 0 -999 900 -999 -999 -999 -999", links, 63,
               ".## .#. ...");
    expect_cut(GPV_FORMAT_CAP32X8, 3, 3, "-999 -999 -999 -999 254 -999 -999 -999 -999", links, 254,
               "... ... ...");
}
END_TEST

START_TEST(certificate_and_defaults) {
    graph g = graph_of(GPV_FORMAT_CAP32X4, 3, 1, "9 0 -9",
                       (const char *const[]){"5 2 7", "0 0 0", "0 0 0", "0 0 0"});
    gpv_graphcut_params params = certified();
    set(params);
    run(&g);
    expect_found(2, 2, 2);
    ck_assert_int_eq(gpv_graphcut_set_params(op, NULL), GPV_OK);
    run(&g);
    expect_found(2, -1, 2);
    set(params);
    /* refused ones leave those in force as they are */
    params = defaults();
    params.reserved = 1;
    ck_assert_int_eq(gpv_graphcut_set_params(op, &params), INVALID);
    run(&g);
    expect_found(2, 2, 2);
    graph_free(&g);
}
END_TEST

/* Of a cut of a small graph: a bit for each pixel. */
typedef struct bits {
    unsigned bits;
    int width;
} bits;
static bool side_of_bits(const void *cut, int x, int y) {
    const bits *b = cut;
    return b->bits >> (y * b->width + x) & 1;
}

/* Of those that cost least the largest side of the source holds all others. */
START_TEST(every_cut_of_small_graphs) {
    static const int sizes[][2] = {{3, 3}, {2, 4}, {9, 1}, {1, 8}, {2, 2}};
    int i, shared = 0;
    set(certified());
    for (i = 0; i < 200; i++) {
        const int width = sizes[i % 5][0], height = sizes[i % 5][1];
        graph g = graph_new(format_of(i / 5), width, height, TIGHT);
        bits cut = {0, 0};
        unsigned best = 0;
        int64_t minimum = INT64_MAX, area = 0;
        int x, y;
        cut.width = width;
        graph_fill(&g, (unsigned)i, i % 3 ? 6 : 2);
        for (cut.bits = 0; cut.bits >> width * height == 0; cut.bits++) {
            const int64_t cost = capacity(&g, side_of_bits, &cut);
            shared += cost == minimum;
            if (cost < minimum)
                best = 0;
            if (cost <= minimum) {
                minimum = cost;
                best |= cut.bits;
            }
        }
        run(&g);
        for (y = 0; y < height; y++)
            for (x = 0; x < width; x++) {
                cut.bits = best;
                ck_assert_int_eq(*mask_at(&g, x, y), side_of_bits(&cut, x, y) ? 255 : 0);
                area += side_of_bits(&cut, x, y);
            }
        expect_found(minimum, minimum, area);
        graph_free(&g);
    }
    ck_assert_int_gt(shared, 200); /* ties are common */
}
END_TEST

/* Two columns between which as much flows as can. */
START_TEST(flow_beyond_32_bits) {
    enum { HEIGHT = 700 };
    graph g = graph_new(GPV_FORMAT_CAP32X8, 2, HEIGHT, TIGHT);
    const int64_t arcs = 3 * HEIGHT - 2, flow = arcs * GPV_GRAPHCUT_MAX_LINK;
    int y;
    set(certified());
    for (y = 0; y < HEIGHT; y++) {
        *terminal(&g, 0, y) = GPV_GRAPHCUT_MAX_TERMINAL;
        *terminal(&g, 1, y) = -GPV_GRAPHCUT_MAX_TERMINAL;
        *arc(&g, 0, 0, y) = *arc(&g, 1, 0, y) = *arc(&g, 7, 0, y) = GPV_GRAPHCUT_MAX_LINK;
    }
    run(&g);
    ck_assert_int_gt(flow, INT64_C(1) << 37);
    expect_found(flow, flow, HEIGHT);
    graph_free(&g);
}
END_TEST

/* Eight neighbours into one, as much as there can be. */
START_TEST(the_max_into_one_pixel) {
    graph g = graph_new(GPV_FORMAT_CAP32X8, 3, 3, TIGHT);
    int plane;
    set(certified());
    for (plane = 0; plane < 8; plane++) {
        int dx, dy;
        step(plane, 8, &dx, &dy);
        *terminal(&g, 1 + dx, 1 + dy) = GPV_GRAPHCUT_MAX_TERMINAL;
        *arc(&g, (plane + 4) % 8, 1 + dx, 1 + dy) = GPV_GRAPHCUT_MAX_LINK;
        *arc(&g, plane, 1, 1) = GPV_GRAPHCUT_MAX_LINK;
    }
    *terminal(&g, 1, 1) = -GPV_GRAPHCUT_MAX_TERMINAL;
    run(&g);
    expect_found(8 * (int64_t)GPV_GRAPHCUT_MAX_LINK, 8 * (int64_t)GPV_GRAPHCUT_MAX_LINK, 8);
    ck_assert_uint_eq(*mask_at(&g, 1, 1), 0);
    *terminal(&g, 1, 1) = -GPV_GRAPHCUT_MAX_LINK;
    run(&g);
    expect_found(GPV_GRAPHCUT_MAX_LINK, GPV_GRAPHCUT_MAX_LINK, 9);
    graph_free(&g);
}
END_TEST

/* One that comes too early leaves a cut that costs no less than the best; one that is never reached
 * changes nothing. */
START_TEST(max_time_us) {
    enum { WIDTH = 400, HEIGHT = 300 };
    graph g = graph_new(GPV_FORMAT_CAP32X8, WIDTH, HEIGHT, TIGHT);
    picture want = picture_new(GPV_FORMAT_GRAY8, WIDTH, HEIGHT, TIGHT);
    gpv_graphcut_params params = certified();
    gpv_graphcut_result best, early;
    graph_fill(&g, 9, 1000);
    set(params);
    run(&g);
    best = found(GPV_OK);
    ck_assert_uint_eq(best.optimal, 1);
    ck_assert_int_eq(best.cut, best.flow);
    ck_assert_int_eq(best.cut, capacity(&g, side_of_mask, &g));
    ck_assert_int_eq(best.area, area_of(&g));
    memcpy(want.view.data[0], g.mask.view.data[0], want.size[0]);

    params.max_time_us = INT32_MAX;
    set(params);
    memset(g.mask.view.data[0], 0xC5, g.mask.size[0]);
    run(&g);
    early = found(GPV_OK);
    ck_assert_mem_eq(&early, &best, sizeof best);
    ck_assert(picture_equal(&g.mask, &want));

    params.max_time_us = 1;
    set(params);
    memset(g.mask.view.data[0], 0xC5, g.mask.size[0]);
    run(&g);
    early = found(GPV_OK);
    ck_assert_uint_eq(early.optimal, 0);
    ck_assert_uint_eq(early.refused, 0);
    ck_assert_int_ge(early.flow, 0);
    ck_assert_int_le(early.flow, best.flow);
    ck_assert_int_ge(early.cut, best.cut);
    ck_assert_int_eq(early.cut, capacity(&g, side_of_mask, &g));
    ck_assert_int_eq(early.area, area_of(&g));
    /* the next run has as much time as it wants */
    params.max_time_us = 0;
    set(params);
    run(&g);
    ck_assert(picture_equal(&g.mask, &want));
    graph_free(&g);
    picture_free(&want);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {further_planes_are_not_looked_at,
                                  planes_of_links_may_share_memory,
                                  values_out_of_range_are_refused,
                                  the_first_value_is_named,
                                  the_ends_of_the_ranges,
                                  arcs_out_of_the_picture_do_not_count,
                                  a_refused_value_is_a_run,
                                  one_pixel,
                                  rows,
                                  directions,
                                  a_noisy_picture,
                                  a_dot,
                                  certificate_and_defaults,
                                  every_cut_of_small_graphs,
                                  flow_beyond_32_bits,
                                  the_max_into_one_pixel,
                                  max_time_us};
    return run_tests("graphcut", setup, teardown, tests, COUNT(tests));
}
