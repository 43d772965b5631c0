/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

static books keep;
static gpv_context *context;
static gpv_graphcut *op;

static void setup(void) {
    context = open_context(&keep);
    keep.fill = 0xA5;
    ck_assert_int_eq(gpv_graphcut_create(context, NULL, &op), GPV_OK);
    ck_assert_ptr_nonnull(op);
}

static void teardown(void) {
    gpv_graphcut_destroy(&op);
    ck_assert_ptr_null(op);
    gpv_context_destroy(&context);
    ck_assert_int_eq(keep.live, 0);
}

static gpv_graphcut_params defaults(void) {
    gpv_graphcut_params params;
    gpv_graphcut_params_init(&params, sizeof params);
    return params;
}

static gpv_graphcut_params certified(void) {
    gpv_graphcut_params params = defaults();
    params.certificate = 1;
    return params;
}

static void set(gpv_graphcut_params params) {
    ck_assert_msg(gpv_graphcut_set_params(op, &params) == GPV_OK, "%s", gpv_context_error(context));
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

/* Before a run, and after one that failed. */
static void expect_nothing_found(void) {
    const gpv_graphcut_result zeros = blank(), result = found(GPV_OK);
    ck_assert_mem_eq(&result, &zeros, sizeof zeros);
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

/* ------------------------------------------------------------------- structs */

static void init_params(void *place, uint32_t size) {
    gpv_graphcut_params_init(place, size);
}

static void init_result(void *place, uint32_t size) {
    gpv_graphcut_result_init(place, size);
}

START_TEST(init_writes_every_default) {
    gpv_graphcut_params params;
    gpv_graphcut_result result;
    memset(&params, 0xC5, sizeof params);
    gpv_graphcut_params_init(&params, sizeof params);
    ck_assert_uint_eq(params.struct_size, sizeof params);
    ck_assert_uint_eq(params.certificate, 0);
    ck_assert_int_eq(params.max_time_us, 0);
    ck_assert_uint_eq(params.reserved, 0);
    memset(&result, 0xC5, sizeof result);
    gpv_graphcut_result_init(&result, sizeof result);
    ck_assert_uint_eq(result.struct_size, sizeof result);
    ck_assert_uint_eq(result.optimal, 0);
    ck_assert_int_eq(result.flow, 0);
    ck_assert_int_eq(result.cut, 0);
    ck_assert_int_eq(result.area, 0);
    ck_assert_uint_eq(result.refused, 0);
    ck_assert_uint_eq(result.reserved, 0);
    expect_init_within(sizeof params, init_params);
    expect_init_within(sizeof result, init_result);
}
END_TEST

/* Both create and set_params must say the same. */
static void expect_params(const gpv_graphcut_params *params, gpv_status wanted, const char *text) {
    gpv_graphcut *other = (gpv_graphcut *)&keep;
    const gpv_status status = gpv_graphcut_create(context, params, &other);
    ck_assert_int_eq(status == GPV_OK, other != NULL);
    expect_status(context, &keep, status, wanted, text);
    gpv_graphcut_destroy(&other);
    keep.text[0] = 0;
    expect_status(context, &keep, gpv_graphcut_set_params(op, params), wanted, text);
}

static void expect_params_at(const void *place, gpv_status wanted, const char *text) {
    expect_params(place, wanted, text);
}

/* What lies in a result before is not looked at, and fields of the future become 0. */
static void expect_result_at(const void *place, gpv_status wanted, const char *text) {
    gpv_graphcut_result *result = (gpv_graphcut_result *)place;
    const uint32_t size = result->struct_size;
    const gpv_status status = gpv_graphcut_wait(op, result);
    uint32_t i;
    ck_assert_uint_eq(result->struct_size, size);
    if (wanted == INVALID) {
        expect_error(context, &keep, status, INVALID, text);
        ck_assert_int_eq(result->area, 0);
        return;
    }
    ck_assert_int_eq(status, GPV_OK);
    ck_assert_int_eq(result->area, 63);
    for (i = sizeof *result; i < size; i++)
        ck_assert_uint_eq(((const unsigned char *)place)[i], 0);
}

START_TEST(struct_sizes) {
    graph g = graph_new(GPV_FORMAT_CAP32X4, 9, 7, TIGHT);
    run(&g);
    expect_struct_sizes("params", sizeof(gpv_graphcut_params), init_params, expect_params_at);
    expect_struct_sizes("result", sizeof(gpv_graphcut_result), init_result, expect_result_at);
    graph_free(&g);
}
END_TEST

#define PARAM(field, value) offsetof(gpv_graphcut_params, field), (uint32_t)(value)

START_TEST(params_ranges) {
    static const struct {
        size_t offset;
        uint32_t value;
        const char *text; /* NULL = legal */
    } cases[] = {
        {PARAM(certificate, 1), NULL},
        {PARAM(certificate, 2), "params->certificate|is 2|0..1"},
        {PARAM(certificate, UINT32_MAX), "params->certificate|4294967295|0..1"},
        {PARAM(max_time_us, 1), NULL},
        {PARAM(max_time_us, INT32_MAX), NULL},
        {PARAM(max_time_us, -1), "params->max_time_us|-1|0..2147483647"},
        {PARAM(max_time_us, INT32_MIN), "params->max_time_us|-2147483648|0..2147483647"},
        {PARAM(reserved, 1), "params->reserved|is 1|0..0"},
        {PARAM(reserved, 0x80000000u), "params->reserved|2147483648|0..0"},
    };
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        gpv_graphcut_params params = defaults();
        memcpy((char *)&params + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        expect_params(&params, cases[i].text ? INVALID : GPV_OK, cases[i].text);
    }
}
END_TEST

/* Formats, in the order of the arguments. */
enum { TERMINALS, LINKS, MASK, IMAGES };
static const char *const names[IMAGES] = {"terminals", "links", "mask"};

/* Legal images whose samples nobody may touch. */
static void forbidden_images(gpv_image images[IMAGES]) {
    static const gpv_format formats[IMAGES] = {GPV_FORMAT_LABEL32, GPV_FORMAT_CAP32X8,
                                               GPV_FORMAT_GRAY8};
    unsigned char *memory = forbidden_memory(IMAGES << 21);
    int i;
    for (i = 0; i < IMAGES; i++) {
        images[i] = forbidden_image(memory + (i << 21));
        images[i].format = formats[i];
    }
}

static gpv_status run_images(const gpv_image images[IMAGES]) {
    return run_views(&images[TERMINALS], &images[LINKS], &images[MASK]);
}

START_TEST(null_arguments) {
    gpv_image good[IMAGES];
    gpv_graphcut_result result;
    gpv_graphcut *none = NULL;
    gpv_graphcut *other = (gpv_graphcut *)&keep;
    int i;
    forbidden_images(good);
    memset(&result, 0xC5, sizeof result);
    ck_assert_int_eq(gpv_graphcut_create(NULL, NULL, &other), INVALID);
    ck_assert_ptr_null(other);
    ck_assert_int_eq(gpv_graphcut_create(NULL, NULL, NULL), INVALID);
    expect_error(context, &keep, gpv_graphcut_create(context, NULL, NULL), INVALID, "out|NULL");
    ck_assert_int_eq(gpv_graphcut_set_params(NULL, NULL), INVALID);
    ck_assert_int_eq(gpv_graphcut_prepare(NULL, &good[LINKS]), INVALID);
    ck_assert_int_eq(
        gpv_graphcut_run(NULL, NULL, &good[TERMINALS], &good[LINKS], &good[MASK], NULL), INVALID);
    ck_assert_int_eq(gpv_graphcut_query(NULL), INVALID);
    ck_assert_int_eq(gpv_graphcut_wait(NULL, &result), INVALID);
    ck_assert_uint_eq(result.struct_size, 0xC5C5C5C5u);
    expect_error(context, &keep, gpv_graphcut_prepare(op, NULL), INVALID, "links|NULL");
    for (i = 0; i < IMAGES; i++) {
        const gpv_image *given[IMAGES] = {&good[TERMINALS], &good[LINKS], &good[MASK]};
        char text[32];
        given[i] = NULL;
        snprintf(text, sizeof text, "%s|NULL", names[i]);
        expect_error(context, &keep, run_views(given[TERMINALS], given[LINKS], given[MASK]),
                     INVALID, text);
    }
    gpv_graphcut_destroy(NULL);
    gpv_graphcut_destroy(&none);
    expect_nothing_found();
}
END_TEST

/* -------------------------------------------------------------------- images */

/* What an argument's format may be. */
static bool is_format_of(int which, gpv_format format) {
    switch (which) {
    case TERMINALS:
        return format == GPV_FORMAT_LABEL32;
    case LINKS:
        return format == GPV_FORMAT_CAP32X4 || format == GPV_FORMAT_CAP32X8;
    default:
        return format == GPV_FORMAT_GRAY8;
    }
}

/* The faults of pictures; those of a format come first, and have their own test. */
START_TEST(bad_images_are_refused_untouched) {
    gpv_image good[IMAGES];
    int which;
    forbidden_images(good);
    for (which = 0; which < IMAGES; which++) {
        gpv_image images[IMAGES];
        bool shape;
        memcpy(images, good, sizeof images);
        images[which].format = GPV_FORMAT_GRAY8;
        shape = spoil_image(&images[which], _i);
        if (images[which].memory == GPV_MEMORY_CUDA)
            images[which].format = good[which].format;
        else if (shape && images[which].format > GPV_FORMAT_GRAY8 &&
                 images[which].format <= GPV_FORMAT_CAP32X8 && images[which].width == IMAGE_W)
            continue; /* a format */
        expect_image_error(context, &keep, run_images(images), names[which], _i);
        if (which != LINKS)
            continue;
        if (shape)
            expect_image_error(context, &keep, gpv_graphcut_prepare(op, &images[LINKS]), "links",
                               _i);
        else { /* data and stride are not looked at */
            images[LINKS].format = GPV_FORMAT_CAP32X8;
            ck_assert_int_eq(gpv_graphcut_prepare(op, &images[LINKS]), GPV_OK);
        }
    }
    expect_nothing_found();
}
END_TEST

START_TEST(each_image_has_its_formats) {
    static const char *const texts[IMAGES] = {"LABEL32", "CAP32X4 or CAP32X8", "GRAY8"};
    gpv_image good[IMAGES];
    int which, legal = 0;
    forbidden_images(good);
    for (which = 0; which < IMAGES; which++) {
        gpv_image images[IMAGES];
        gpv_format format;
        memcpy(images, good, sizeof images);
        for (format = 1; format <= GPV_FORMAT_CAP32X8; format++) {
            char text[128];
            images[which].format = format;
            if (is_format_of(which, format)) {
                legal++;
                if (which == LINKS)
                    ck_assert_int_eq(gpv_graphcut_prepare(op, &images[LINKS]), GPV_OK);
                continue;
            }
            snprintf(text, sizeof text, "%s->format is %s, must be|%s", names[which],
                     format_name(format), texts[which]);
            expect_error(context, &keep, run_images(images), UNSUPPORTED, text);
            if (which == LINKS)
                expect_error(context, &keep, gpv_graphcut_prepare(op, &images[LINKS]), UNSUPPORTED,
                             text);
        }
    }
    ck_assert_int_eq(legal, 4);
}
END_TEST

START_TEST(images_are_as_large_as_links) {
    static const struct {
        int32_t width, height;
        const char *text;
    } cases[] = {{IMAGE_W - 1, IMAGE_H, " is 63x48, must be as links, 64x48"},
                 {IMAGE_W + 1, IMAGE_H, " is 65x48, must be as links, 64x48"},
                 {IMAGE_W, IMAGE_H - 1, " is 64x47, must be as links, 64x48"},
                 {IMAGE_W, IMAGE_H + 1, " is 64x49, must be as links, 64x48"}};
    gpv_image good[IMAGES];
    size_t i;
    int which;
    forbidden_images(good);
    for (i = 0; i < COUNT(cases); i++)
        for (which = 0; which < IMAGES; which++) {
            gpv_image images[IMAGES];
            char text[64];
            if (which == LINKS)
                continue;
            memcpy(images, good, sizeof images);
            images[which].width = cases[i].width;
            images[which].height = cases[i].height;
            snprintf(text, sizeof text, "%s%s", names[which], cases[i].text);
            expect_error(context, &keep, run_images(images), INVALID, text);
        }
}
END_TEST

/* Of LABEL32 and capacities. */
static void expect_plane_faults(const gpv_image good[IMAGES], int which, int plane) {
    const int64_t strides[] = {0, -256, 255, 257, 258, 4095, INT64_MIN, INT64_MAX};
    gpv_image images[IMAGES];
    char text[96];
    size_t i;
    int offset;
    memcpy(images, good, sizeof images);
    images[which].data[plane] = NULL;
    snprintf(text, sizeof text, "%s->data[%d]|NULL", names[which], plane);
    expect_error(context, &keep, run_images(images), INVALID, text);
    snprintf(text, sizeof text, "%s->data[%d]|%s->stride[%d]|4 bytes", names[which], plane,
             names[which], plane);
    for (offset = 1; offset < 4; offset++) {
        images[which].data[plane] = (char *)good[which].data[plane] + offset;
        expect_error(context, &keep, run_images(images), INVALID, text);
    }
    images[which].data[plane] = good[which].data[plane];
    for (i = 0; i < COUNT(strides); i++) {
        const bool in_range = strides[i] >= 256 && strides[i] < INT64_MAX;
        images[which].stride[plane] = strides[i];
        if (!in_range)
            snprintf(text, sizeof text, "%s->stride[%d] is %lld,|256..1099511627776", names[which],
                     plane, (long long)strides[i]);
        else
            snprintf(text, sizeof text, "%s->stride[%d]|4 bytes", names[which], plane);
        expect_error(context, &keep, run_images(images), INVALID, text);
    }
}

START_TEST(every_plane_is_looked_at) {
    gpv_image images[IMAGES];
    int i;
    forbidden_images(images);
    expect_plane_faults(images, TERMINALS, 0);
    for (i = 0; i < 8; i++)
        expect_plane_faults(images, LINKS, i);
    images[LINKS].format = GPV_FORMAT_CAP32X4;
    for (i = 0; i < 4; i++)
        expect_plane_faults(images, LINKS, i);
}
END_TEST

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

static void init_forbidden_as(int which, void *place, uint32_t size) {
    gpv_image images[IMAGES];
    ck_assert_uint_eq(size, sizeof *images);
    forbidden_images(images);
    memcpy(place, &images[which], sizeof *images);
}
static void init_terminals(void *place, uint32_t size) {
    init_forbidden_as(TERMINALS, place, size);
}
static void init_links(void *place, uint32_t size) {
    init_forbidden_as(LINKS, place, size);
}
static void init_mask(void *place, uint32_t size) {
    init_forbidden_as(MASK, place, size);
}

/* Images that are good are not run on: nobody may touch them. What is wrong is something else. */
static void expect_image_at(int which, const void *place, gpv_status wanted, const char *text) {
    gpv_image images[IMAGES];
    const gpv_image *given[IMAGES] = {&images[TERMINALS], &images[LINKS], &images[MASK]};
    gpv_buffer none = buffer_of(NULL, 40);
    forbidden_images(images);
    given[which] = place;
    expect_error(context, &keep,
                 gpv_graphcut_run(op, NULL, given[TERMINALS], given[LINKS], given[MASK], &none),
                 wanted == GPV_OK ? INVALID : wanted,
                 wanted == GPV_OK ? "result->data|NULL" : text);
}
static void expect_terminals_at(const void *place, gpv_status wanted, const char *text) {
    expect_image_at(TERMINALS, place, wanted, text);
}
static void expect_links_at(const void *place, gpv_status wanted, const char *text) {
    expect_image_at(LINKS, place, wanted, text);
    expect_status(context, &keep, gpv_graphcut_prepare(op, place), wanted, text);
}
static void expect_mask_at(const void *place, gpv_status wanted, const char *text) {
    expect_image_at(MASK, place, wanted, text);
}

START_TEST(image_struct_size) {
    expect_struct_sizes("terminals", sizeof(gpv_image), init_terminals, expect_terminals_at);
    expect_struct_sizes("links", sizeof(gpv_image), init_links, expect_links_at);
    expect_struct_sizes("mask", sizeof(gpv_image), init_mask, expect_mask_at);
}
END_TEST

/* Every position of the mask to terminals, or to a plane of links, inside one parent. */
static void expect_overlaps(int which, int plane) {
    enum { PITCH = 64, ROWS = 24, WIDTH = 4, HEIGHT = 3, LEFT = 20, TOP = 6 };
    static int32_t aligned[PITCH * ROWS / 4];
    unsigned char *parent = (unsigned char *)aligned, before[PITCH * ROWS];
    graph g = graph_new(GPV_FORMAT_CAP32X8, WIDTH, HEIGHT, TIGHT);
    gpv_image *other = which == TERMINALS ? &g.terminals.view : &g.links.view;
    void *const own = g.mask.view.data[0], *const others = other->data[plane];
    char text[64];
    int dx, dy, ran = 0, refused = 0;
    memset(before, 1, sizeof before);
    snprintf(text, sizeof text, "mask overlaps %s", names[which]);
    other->data[plane] = parent + TOP * PITCH + LEFT;
    other->stride[plane] = g.mask.view.stride[0] = PITCH;
    for (dy = -HEIGHT - 1; dy <= HEIGHT + 1; dy++)
        for (dx = -WIDTH - 2; dx <= 4 * WIDTH + 2; dx++) {
            unsigned char *to = parent + (TOP + dy) * PITCH + LEFT + dx;
            gpv_status status;
            int x, y;
            memset(parent, 1, sizeof before);
            g.mask.view.data[0] = to;
            status = run_into(op, &g, NULL);
            if (abs(dy) < HEIGHT && dx > -WIDTH && dx < 4 * WIDTH) {
                expect_error(context, &keep, status, INVALID, text);
                ck_assert_mem_eq(parent, before, sizeof before);
                refused++;
                continue;
            }
            ck_assert_int_eq(status, GPV_OK);
            for (y = 0; y < HEIGHT; y++)
                for (x = 0; x < WIDTH; x++) {
                    ck_assert_uint_eq(to[y * PITCH + x], 255);
                    to[y * PITCH + x] = 1;
                }
            ck_assert_mem_eq(parent, before, sizeof before);
            ran++;
        }
    ck_assert_int_eq(refused, (2 * HEIGHT - 1) * (5 * WIDTH - 1));
    ck_assert_int_eq(ran, (2 * HEIGHT + 3) * (5 * WIDTH + 5) - refused);
    g.mask.view.data[0] = own;
    other->data[plane] = others;
    graph_free(&g);
}

START_TEST(mask_overlaps_nothing) {
    int i;
    expect_overlaps(TERMINALS, 0);
    for (i = 0; i < 8; i++)
        expect_overlaps(LINKS, i);
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

/* ------------------------------------------------------------------- buffers */

START_TEST(bad_buffers_are_refused_untouched) {
    gpv_image images[IMAGES];
    gpv_buffer bad;
    forbidden_images(images);
    bad = spoiled_buffer(buffer_of(forbidden_memory(4096), 4096), _i);
    expect_buffer_error(
        context, &keep,
        gpv_graphcut_run(op, NULL, &images[TERMINALS], &images[LINKS], &images[MASK], &bad),
        "result", _i);
    expect_nothing_found();
}
END_TEST

static gpv_status run_with_result(const gpv_image images[IMAGES], void *data, size_t size) {
    const gpv_buffer result = buffer_of(data, size);
    return gpv_graphcut_run(op, NULL, &images[TERMINALS], &images[LINKS], &images[MASK], &result);
}

START_TEST(size_and_place_of_the_result) {
    gpv_image images[IMAGES];
    unsigned char *memory = forbidden_memory(4096);
    gpv_buffer longer[2];
    int i;
    forbidden_images(images);
    expect_error(context, &keep, run_with_result(images, memory, 39), INVALID,
                 "result->size|39|40..70368744177664");
    for (i = 1; i < 8; i++)
        expect_error(context, &keep, run_with_result(images, memory + i, 1024), INVALID,
                     "result->data|8 bytes");
    memset(longer, 0, sizeof longer);
    longer[0] = buffer_of(memory, 40);
    longer[0].struct_size = sizeof longer;
    longer[1].reserved = 1;
    expect_error(
        context, &keep,
        gpv_graphcut_run(op, NULL, &images[TERMINALS], &images[LINKS], &images[MASK], longer),
        UNSUPPORTED, "result|newer|44");
}
END_TEST

/* From the first byte of a plane to its last, the gaps between rows too. */
START_TEST(the_result_overlaps_nothing) {
    static const int planes[IMAGES] = {1, 8, 1};
    gpv_image images[IMAGES];
    int which, plane;
    forbidden_images(images);
    for (which = 0; which < IMAGES; which++)
        for (plane = 0; plane < planes[which]; plane++) {
            unsigned char *from = images[which].data[plane];
            unsigned char *const places[] = {from - 32, from, from + 2048,
                                             from + 47 * 4096 + (which == MASK ? 56 : 248)};
            char text[64];
            size_t i;
            snprintf(text, sizeof text, "result overlaps %s", names[which]);
            for (i = 0; i < COUNT(places); i++)
                expect_error(context, &keep, run_with_result(images, places[i], 40), INVALID, text);
        }
}
END_TEST

/* It ends at memory that must not be touched, and begins behind a plane. */
START_TEST(the_result_fills_its_buffer) {
    static int64_t room[6]; /* a mask of 8x1 behind which the result begins */
    picture wall = picture_new(GPV_FORMAT_GRAY8, sizeof(gpv_graphcut_result), 1, WALL_RIGHT);
    graph g = graph_new(GPV_FORMAT_CAP32X4, 8, 1, TIGHT);
    const gpv_buffer at_wall = buffer_of(wall.view.data[0], sizeof(gpv_graphcut_result));
    const gpv_buffer larger = buffer_of(room + 1, sizeof room - 8);
    gpv_graphcut_result result;
    gpv_image mask = g.mask.view;
    set(certified());
    *terminal(&g, 3, 0) = 20;
    *terminal(&g, 4, 0) = -30;
    *arc(&g, 0, 3, 0) = 7;
    ck_assert_int_eq(run_into(op, &g, &at_wall), GPV_OK);
    result = found(GPV_OK);
    ck_assert_int_eq(result.cut, 7);
    ck_assert_mem_eq(wall.view.data[0], &result, sizeof result);
    memset(room, 0xC5, sizeof room);
    mask.data[0] = room;
    ck_assert_int_eq(gpv_graphcut_run(op, NULL, &g.terminals.view, &g.links.view, &mask, &larger),
                     GPV_OK);
    ck_assert_mem_eq(room + 1, &result, sizeof result);
    ck_assert_mem_eq(room, "\377\377\377\377\0\377\377\377", 8);
    graph_free(&g);
    picture_free(&wall);
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

/* ------------------------------------------------------- memory of the caller */

static gpv_format format_of(int i) {
    return i % 2 ? GPV_FORMAT_CAP32X8 : GPV_FORMAT_CAP32X4;
}

/* Neither the place of an image nor what scratch held before may change a bit. */
START_TEST(same_bytes_in_every_memory) {
    size_t s;
    int i, how;
    set(certified());
    for (s = 0; s < COUNT(picture_sizes); s++)
        for (i = 0; i < 8; i++) {
            graph g[LAYOUTS];
            gpv_graphcut_result result[LAYOUTS];
            graph before = graph_new(format_of(i), picture_sizes[s][0], picture_sizes[s][1], TIGHT);
            graph_fill(&before, (unsigned)i, 20);
            for (how = 0; how < LAYOUTS; how++) {
                g[how] =
                    graph_new(format_of(i), picture_sizes[s][0], picture_sizes[s][1], (layout)how);
                graph_fill(&g[how], (unsigned)i, 20);
                keep.fill ^= 0xFF;
                run(&g[how]);
                result[how] = found(GPV_OK);
                ck_assert_msg(picture_equal(&g[how].mask, &g[TIGHT].mask), "%dx%d, layout %d",
                              picture_sizes[s][0], picture_sizes[s][1], how);
                ck_assert_mem_eq(&result[how], &result[TIGHT], sizeof *result);
                ck_assert_int_eq(result[how].area, area_of(&g[how]));
                ck_assert(picture_equal(&g[how].terminals, &before.terminals));
                ck_assert(picture_equal(&g[how].links, &before.links));
                ck_assert(picture_intact(&g[how].terminals) && picture_intact(&g[how].links) &&
                          picture_intact(&g[how].mask));
            }
            for (how = 0; how < LAYOUTS; how++)
                graph_free(&g[how]);
            graph_free(&before);
        }
}
END_TEST

/* ------------------------------------------------------------------ allocator */

START_TEST(every_allocation_may_fail) {
    int v;
    for (v = 0; v < 8; v++) {
        const gpv_graphcut_params params = v / 2 % 2 ? certified() : defaults();
        graph g = graph_new(format_of(v), 41, 13, TIGHT);
        picture want = picture_new(GPV_FORMAT_GRAY8, 41, 13, TIGHT);
        gpv_graphcut_result room, wanted;
        const gpv_buffer result = buffer_of(&room, sizeof room);
        int needed, failures = 0;
        gpv_graphcut *fresh = NULL;
        graph_fill(&g, (unsigned)v, 30);
        keep.allocations = 0;
        ck_assert_int_eq(gpv_graphcut_create(context, &params, &fresh), GPV_OK);
        ck_assert_int_eq(run_into(fresh, &g, &result), GPV_OK);
        needed = keep.allocations;
        ck_assert_int_gt(needed, 0);
        wanted = room;
        memcpy(want.view.data[0], g.mask.view.data[0], want.size[0]);
        gpv_graphcut_destroy(&fresh);
        for (keep.fail_at = 1;; keep.fail_at++) {
            gpv_graphcut_result none = blank();
            gpv_status status;
            const int live = keep.live;
            keep.allocations = 0;
            ck_assert_int_eq(gpv_graphcut_create(context, &params, &fresh), GPV_OK);
            status =
                v / 4 ? gpv_graphcut_prepare(fresh, &g.links.view) : run_into(fresh, &g, &result);
            if (status != GPV_OK) {
                expect_error(context, &keep, status, GPV_ERR_OUT_OF_MEMORY, "bytes");
                ck_assert_int_eq(gpv_graphcut_wait(fresh, &none), GPV_OK);
                ck_assert_int_eq(none.area, 0);
                failures++;
            }
            ck_assert_int_eq(status == GPV_OK, keep.allocations < keep.fail_at);
            /* the next call is right */
            memset(&room, 0xC5, sizeof room);
            memset(g.mask.view.data[0], 0xC5, g.mask.size[0]);
            ck_assert_int_eq(run_into(fresh, &g, &result), GPV_OK);
            ck_assert(picture_equal(&want, &g.mask));
            ck_assert_mem_eq(&room, &wanted, sizeof room);
            gpv_graphcut_destroy(&fresh);
            ck_assert_int_eq(keep.live, live);
            if (status == GPV_OK)
                break;
        }
        ck_assert_int_ge(failures, needed);
        keep.fail_at = 0;
        graph_free(&g);
        picture_free(&want);
    }
}
END_TEST

/* Whatever the values, parameters that are prepared for among them. */
START_TEST(nothing_is_allocated_after_prepare) {
    int v, i;
    for (v = 0; v < 8; v++) {
        gpv_graphcut_params params = v / 2 % 2 ? certified() : defaults();
        graph g = graph_new(format_of(v), 53, 31, TIGHT);
        gpv_image shape = g.links.view;
        gpv_graphcut *fresh = NULL;
        int before = keep.allocations;
        params.max_time_us = v / 4 ? 1000 : 0;
        for (i = 0; i < 8; i++) { /* neither of them is read */
            shape.data[i] = NULL;
            shape.stride[i] = 0;
        }
        ck_assert_int_eq(gpv_graphcut_create(context, &params, &fresh), GPV_OK);
        ck_assert_int_eq(gpv_graphcut_prepare(fresh, &shape), GPV_OK);
        ck_assert_int_gt(keep.allocations, before);
        before = keep.allocations;
        for (i = 0; i < 10; i++) {
            graph_fill(&g, (unsigned)i, 1u << 3 * i);
            ck_assert_int_eq(run_into(fresh, &g, NULL), GPV_OK);
        }
        ck_assert_int_eq(gpv_graphcut_wait(fresh, NULL), GPV_OK);
        *arc(&g, 0, 0, 0) = -1; /* nor by one that is refused */
        ck_assert_int_eq(run_into(fresh, &g, NULL), GPV_OK);
        ck_assert_int_eq(gpv_graphcut_wait(fresh, NULL), INVALID);
        ck_assert_msg(keep.allocations == before, "variant %d", v);
        gpv_graphcut_destroy(&fresh);
        graph_free(&g);
    }
}
END_TEST

START_TEST(second_run_allocates_nothing) {
    graph g = graph_new(GPV_FORMAT_CAP32X8, 53, 31, TIGHT);
    gpv_stream stream = &keep;
    int before, i;
    for (i = 0; i < 2; i++) {
        graph_fill(&g, (unsigned)i, 90);
        before = keep.allocations;
        ck_assert_int_eq(
            gpv_graphcut_run(op, stream, &g.terminals.view, &g.links.view, &g.mask.view, NULL),
            GPV_OK);
        ck_assert_ptr_eq(keep.stream, stream);
        ck_assert_int_eq(keep.allocations > before, i == 0);
    }
    graph_free(&g);
}
END_TEST

/* ------------------------------------------------------------------- lifetime */

START_TEST(the_context_may_go_first) {
    graph g = graph_new(GPV_FORMAT_CAP32X4, 9, 9, TIGHT);
    gpv_context_destroy(&context);
    ck_assert_ptr_null(context);
    ck_assert_int_eq(run_into(op, &g, NULL), GPV_OK);
    ck_assert_int_eq(run_views(NULL, NULL, NULL), INVALID);
    expect_found(0, -1, 81);
    gpv_graphcut_destroy(&op);
    ck_assert_int_eq(keep.live, 0);
    graph_free(&g);
}
END_TEST

START_TEST(wait_and_query) {
    graph g = graph_new(GPV_FORMAT_CAP32X4, 3, 1, TIGHT);
    gpv_image bad = g.links.view;
    gpv_graphcut_result result = blank();
    bad.width = 0;
    expect_nothing_found(); /* has not run */
    ck_assert_int_eq(run_views(&g.terminals.view, &bad, &g.mask.view), INVALID);
    expect_nothing_found();
    *terminal(&g, 0, 0) = 5;
    *terminal(&g, 1, 0) = -4;
    *arc(&g, 0, 0, 0) = 3;
    run(&g);
    expect_found(3, -1, 2);
    /* what was refused for its arguments does not count */
    ck_assert_int_eq(run_views(&g.terminals.view, &bad, &g.mask.view), INVALID);
    expect_found(3, -1, 2);
    ck_assert_int_eq(gpv_stream_sync(context, NULL), GPV_OK);
    *arc(&g, 0, 0, 0) = -3;
    run(&g);
    ck_assert_uint_eq(found(INVALID).refused, 1);
    expect_text(gpv_context_error(context), "plane 0 of links is -3 at (0, 0)");
    ck_assert_int_eq(run_views(&g.terminals.view, &bad, &g.mask.view), INVALID);
    ck_assert_uint_eq(found(INVALID).refused, 1);
    expect_text(gpv_context_error(context), "plane 0 of links is -3 at (0, 0)");
    /* a size that is illegal comes first */
    result.struct_size = 39;
    result.area = 7;
    expect_error(context, &keep, gpv_graphcut_wait(op, &result), INVALID,
                 "result->struct_size|39|40..4096");
    ck_assert_int_eq(result.area, 7);
    *arc(&g, 0, 0, 0) = 9;
    run(&g);
    expect_found(4, -1, 3);
    graph_free(&g);
}
END_TEST

/* One that runs out of memory leaves no result, and nobody asks for that of the one before. */
START_TEST(a_run_that_fails_leaves_no_result) {
    graph small = graph_new(GPV_FORMAT_CAP32X4, 3, 1, TIGHT);
    graph large = graph_new(GPV_FORMAT_CAP32X8, 200, 100, TIGHT);
    run(&small);
    expect_found(0, -1, 3);
    keep.fail_at = keep.allocations + 1;
    ck_assert_int_eq(run_into(op, &large, NULL), GPV_ERR_OUT_OF_MEMORY);
    expect_nothing_found();
    run(&large);
    expect_found(0, -1, 20000);
    graph_free(&small);
    graph_free(&large);
}
END_TEST

enum { GRAPHS = 40 };

/* A run of many variants on a context of its own; gives a hash of the results, 0 if a call failed.
 * Check takes no assertion from another thread. */
static void *own_context(void *hash) {
    gpv_context *mine = NULL;
    gpv_graphcut *my_op = NULL;
    uint64_t sum = 0;
    int i, failed = gpv_context_create(NULL, &mine) || gpv_graphcut_create(mine, NULL, &my_op);
    for (i = 0; i < GRAPHS && !failed; i++) {
        const gpv_graphcut_params params = i / 2 % 2 ? certified() : defaults();
        graph g = graph_new(format_of(i), 97, 61, TIGHT);
        gpv_graphcut_result result = blank();
        graph_fill(&g, (unsigned)i, 40);
        failed = gpv_graphcut_set_params(my_op, &params) || run_into(my_op, &g, NULL) ||
                 gpv_graphcut_wait(my_op, &result);
        sum = picture_hash(&g.mask, sum) + (uint64_t)(result.flow + result.cut + result.area);
        graph_free(&g);
    }
    gpv_graphcut_destroy(&my_op);
    gpv_context_destroy(&mine);
    *(uint64_t *)hash = failed ? 0 : sum;
    return NULL;
}

START_TEST(contexts_do_not_interfere) {
    expect_same_in_threads(own_context);
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
    Suite *suite = suite_create("graphcut");
    TCase *group = tcase_create("graphcut");
    tcase_add_checked_fixture(group, setup, teardown);
    tcase_set_timeout(group, 60);
    tcase_add_test(group, init_writes_every_default);
    tcase_add_test(group, struct_sizes);
    tcase_add_test(group, params_ranges);
    tcase_add_test(group, null_arguments);
    tcase_add_loop_test(group, bad_images_are_refused_untouched, 0, image_faults);
    tcase_add_test(group, each_image_has_its_formats);
    tcase_add_test(group, images_are_as_large_as_links);
    tcase_add_test(group, every_plane_is_looked_at);
    tcase_add_test(group, further_planes_are_not_looked_at);
    tcase_add_test(group, image_struct_size);
    tcase_add_test(group, mask_overlaps_nothing);
    tcase_add_test(group, planes_of_links_may_share_memory);
    tcase_add_loop_test(group, bad_buffers_are_refused_untouched, 0, buffer_faults);
    tcase_add_test(group, size_and_place_of_the_result);
    tcase_add_test(group, the_result_overlaps_nothing);
    tcase_add_test(group, the_result_fills_its_buffer);
    tcase_add_test(group, values_out_of_range_are_refused);
    tcase_add_test(group, the_first_value_is_named);
    tcase_add_test(group, the_ends_of_the_ranges);
    tcase_add_test(group, arcs_out_of_the_picture_do_not_count);
    tcase_add_test(group, same_bytes_in_every_memory);
    tcase_add_test(group, every_allocation_may_fail);
    tcase_add_test(group, nothing_is_allocated_after_prepare);
    tcase_add_test(group, second_run_allocates_nothing);
    tcase_add_test(group, the_context_may_go_first);
    tcase_add_test(group, wait_and_query);
    tcase_add_test(group, a_run_that_fails_leaves_no_result);
    tcase_add_test(group, contexts_do_not_interfere);
    tcase_add_test(group, one_pixel);
    tcase_add_test(group, rows);
    tcase_add_test(group, directions);
    tcase_add_test(group, a_noisy_picture);
    tcase_add_test(group, a_dot);
    tcase_add_test(group, certificate_and_defaults);
    tcase_add_test(group, every_cut_of_small_graphs);
    tcase_add_test(group, flow_beyond_32_bits);
    tcase_add_test(group, the_max_into_one_pixel);
    tcase_add_test(group, max_time_us);
    suite_add_tcase(suite, group);
    return run_suite(suite);
}
