/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The element against a flood fill of each frame, and its behaviour in
 * pipelines, in system memory, on the backend GPV_TEST_BACKEND, or on the CPU.
 * With GST_TRACERS=leaks every test also fails on objects that are alive after
 * it.
 */
#include "helpers.h"

/* ---- flood fill ---- */

typedef struct {
    const gchar *mode, *connectivity;
    gboolean invert;
    gint threshold, foreground, min_area, max_area;
} Params;

static const Params defaults = {"binary", "8", FALSE, -1, -1, 0, 0};

typedef struct {
    gint area, left, top, right, bottom; /* right and bottom are inside */
    gint64 sum_x, sum_y;
} Component;

typedef struct {
    gint width, height;
    gint *labels;       /* 0: background */
    GArray *components; /* of Component; that of label 1 is the first */
} Labelling;

static void labelling_free(Labelling *found) {
    g_free(found->labels);
    g_array_unref(found->components);
}

static gboolean in_foreground(const Params *params, gint value) {
    gboolean inside;
    if (params->foreground >= 0)
        inside = value == params->foreground;
    else if (params->threshold >= 0)
        inside = value >= params->threshold;
    else
        inside = value >= 128 || g_str_equal(params->mode, "equal-value");
    return params->invert ? !inside : inside;
}

static void add_pixel(Component *component, gint x, gint y) {
    component->area++;
    component->left = MIN(component->left, x);
    component->top = MIN(component->top, y);
    component->right = MAX(component->right, x);
    component->bottom = MAX(component->bottom, y);
    component->sum_x += x;
    component->sum_y += y;
}

/*
 * Marks all that belongs to the pixel at start with number, where labels were unset. open is
 * an empty array, and is left as one.
 */
static Component fill(const Plane *plane, const Params *params, gint *labels, gint unset,
                      gint start, gint number, GArray *open) {
    const gboolean diagonal = g_str_equal(params->connectivity, "8");
    const gboolean equal = g_str_equal(params->mode, "equal-value");
    Component component = {0, plane->width, plane->height, 0, 0, 0, 0};
    labels[start] = number;
    g_array_append_val(open, start);
    while (open->len > 0) {
        const gint at = g_array_index(open, gint, open->len - 1);
        const gint x = at % plane->width, y = at / plane->width;
        g_array_set_size(open, open->len - 1);
        add_pixel(&component, x, y);
        for (gint i = 0; i < 9; i++) {
            const gint dx = i % 3 - 1, dy = i / 3 - 1, next = at + dy * plane->width + dx;
            if ((dx != 0 && dy != 0 && !diagonal) || x + dx < 0 || x + dx >= plane->width ||
                y + dy < 0 || y + dy >= plane->height || labels[next] != unset)
                continue;
            if (equal && plane->pixels[next] != plane->pixels[at])
                continue;
            labels[next] = number;
            g_array_append_val(open, next);
        }
    }
    return component;
}

static Labelling label(const Plane *plane, const Params *params) {
    enum { unset = -1, dropped = -2 };
    const gint pixels = plane->width * plane->height;
    Labelling found = {plane->width, plane->height, g_new(gint, pixels),
                       g_array_new(FALSE, FALSE, sizeof(Component))};
    GArray *open = g_array_new(FALSE, FALSE, sizeof(gint));
    for (gint i = 0; i < pixels; i++)
        found.labels[i] = in_foreground(params, plane->pixels[i]) ? unset : 0;
    for (gint i = 0; i < pixels; i++) {
        const gint number = (gint)found.components->len + 1;
        Component component;
        if (found.labels[i] != unset)
            continue;
        component = fill(plane, params, found.labels, unset, i, number, open);
        if (component.area >= params->min_area &&
            (params->max_area == 0 || component.area <= params->max_area))
            g_array_append_val(found.components, component);
        else
            fill(plane, params, found.labels, number, i, dropped, open);
    }
    for (gint i = 0; i < pixels; i++)
        found.labels[i] = MAX(found.labels[i], 0);
    g_array_unref(open);
    return found;
}

static Labelling label_frame(GstBuffer *buffer, const GstVideoInfo *info, const Params *params) {
    GstVideoFrame frame;
    Labelling found;
    Plane plane;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_READ));
    plane = luma(&frame);
    gst_video_frame_unmap(&frame);
    found = label(&plane, params);
    g_free(plane.pixels);
    return found;
}

/* ---- pixels of the output ---- */

static const gchar *const outputs[] = {"colorize", "mask", "labels", "none"};

/* What the caps of the output are to be. */
static GstVideoInfo output_info(const GstVideoInfo *in, const gchar *output) {
    const gchar *format = g_str_equal(output, "mask")     ? "GRAY8"
                          : g_str_equal(output, "labels") ? "GRAY16_LE"
                                                          : GST_VIDEO_INFO_NAME(in);
    return make_info(format, in->width, in->height);
}

static guint32 pixel_of(const GstVideoFrame *frame, gint x, gint y) {
    const guint8 *row = (const guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, 0) +
                        (gsize)y * (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0); /* Y of YUV */
    const gint size = GST_VIDEO_FRAME_COMP_PSTRIDE(frame, 0);
    guint32 value = 0;
    memcpy(&value, row + x * size, (gsize)size);
    return value;
}

/* Each pixel is scale times its label, or at most that. */
static void assert_values(const GstVideoFrame *frame, const Labelling *found, gint64 scale,
                          gint64 maximum) {
    for (gint i = 0; i < found->width * found->height; i++) {
        const gint x = i % found->width, y = i / found->width;
        const gint64 expected = MIN(found->labels[i] * scale, maximum), got = pixel_of(frame, x, y);
        if (got != expected)
            fail("%d,%d is %" G_GINT64_FORMAT ", should be %" G_GINT64_FORMAT, x, y, got, expected);
    }
}

/* One colour for each label, and another for the background. */
static void assert_colors(const GstVideoFrame *frame, const Labelling *found) {
    guint32 *colors = g_new0(guint32, found->components->len + 1);
    gboolean *seen = g_new0(gboolean, found->components->len + 1);
    for (gint i = 0; i < found->width * found->height; i++) {
        const gint number = found->labels[i];
        const guint32 color = pixel_of(frame, i % found->width, i / found->width);
        if (!seen[number])
            colors[number] = color;
        seen[number] = TRUE;
        if (color != colors[number])
            fail("label %d is %x, and was %x", number, color, colors[number]);
    }
    for (guint i = 1; i <= found->components->len && seen[0]; i++)
        if (colors[i] == colors[0])
            fail("component %u has the colour of the background", i);
    fail_if(found->components->len > 1 && colors[1] == colors[2]);
    g_free(colors);
    g_free(seen);
}

/* before: a deep copy of what came in, as with output=none that shares the memory of what goes out.
 */
static void assert_pixels(GstBuffer *before, GstBuffer *out, const GstVideoInfo *info,
                          const gchar *output, const Labelling *found) {
    const GstVideoInfo out_info = output_info(info, output);
    GstVideoFrame frame;
    if (g_str_equal(output, "none")) {
        assert_same(info, out, before);
        return;
    }
    fail_unless(gst_video_frame_map(&frame, &out_info, out, GST_MAP_READ));
    if (g_str_equal(output, "mask"))
        assert_values(&frame, found, 255, 255);
    else if (g_str_equal(output, "labels"))
        assert_values(&frame, found, 1, 65535);
    else
        assert_colors(&frame, found);
    gst_video_frame_unmap(&frame);
}

/* ---- results ---- */

static const GValue *components_of(const GstStructure *results) {
    const GValue *components = gst_structure_get_value(results, "components");
    fail_unless(components != NULL && GST_VALUE_HOLDS_ARRAY(components));
    return components;
}

static const GstStructure *component_at(const GstStructure *results, guint index) {
    const GValue *components = components_of(results);
    fail_unless(index < gst_value_array_get_size(components));
    return gst_value_get_structure(gst_value_array_get_value(components, index));
}

static void assert_described(const GstStructure *got, const Component *expected, gint number) {
    fail_unless(gst_structure_has_name(got, "component"));
    fail_unless_equals_int(int_field(got, "label"), number);
    fail_unless_equals_int(int_field(got, "area"), expected->area);
    fail_unless_equals_int(int_field(got, "x"), expected->left);
    fail_unless_equals_int(int_field(got, "y"), expected->top);
    fail_unless_equals_int(int_field(got, "width"), expected->right - expected->left + 1);
    fail_unless_equals_int(int_field(got, "height"), expected->bottom - expected->top + 1);
    fail_unless_equals_float(double_field(got, "cx"), (gdouble)expected->sum_x / expected->area);
    fail_unless_equals_float(double_field(got, "cy"), (gdouble)expected->sum_y / expected->area);
}

/* most: those that are described. */
static void assert_results(const GstStructure *results, const Labelling *found, guint maximum) {
    const guint described = MIN(maximum, found->components->len);
    fail_unless(gst_structure_has_name(results, "gpuccl"));
    fail_unless_equals_int(int_field(results, "count"), (gint)found->components->len);
    fail_unless_equals_int(gst_value_array_get_size(components_of(results)), described);
    for (guint i = 0; i < described; i++)
        assert_described(component_at(results, i), &g_array_index(found->components, Component, i),
                         (gint)i + 1);
}

static void assert_regions(GstBuffer *buffer, const Labelling *found, guint maximum) {
    gpointer state = NULL;
    guint regions = 0;
    for (;;) {
        const GstVideoRegionOfInterestMeta *region =
            (GstVideoRegionOfInterestMeta *)gst_buffer_iterate_meta_filtered(
                buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
        const Component *expected;
        if (!region)
            break;
        fail_unless(regions < found->components->len);
        expected = &g_array_index(found->components, Component, regions);
        fail_unless(region->roi_type == g_quark_from_string("component"));
        fail_unless_equals_int(region->id, (gint)regions + 1);
        fail_unless_equals_int(region->x, expected->left);
        fail_unless_equals_int(region->y, expected->top);
        fail_unless_equals_int(region->w, expected->right - expected->left + 1);
        fail_unless_equals_int(region->h, expected->bottom - expected->top + 1);
        regions++;
    }
    fail_unless_equals_int(regions, MIN(maximum, found->components->len));
}

/* ---- frames ---- */

enum { all_components = 65535, usual_components = 256 };

static GstHarness *harness_new(void) {
    return harness_with(element_new("gpuccl", test_backend()));
}

static void set_params(GstElement *element, const Params *params) {
    gst_util_set_object_arg(G_OBJECT(element), "mode", params->mode);
    gst_util_set_object_arg(G_OBJECT(element), "connectivity", params->connectivity);
    g_object_set(element, "invert", params->invert, "threshold", params->threshold, "foreground",
                 params->foreground, "min-area", params->min_area, "max-area", params->max_area,
                 NULL);
}

/* Pushes a frame and compares what comes out. Takes the buffer. */
static void check_frame(GstHarness *h, const GstVideoInfo *info, GstBuffer *in, const gchar *output,
                        const Params *params, guint maximum) {
    const GstVideoInfo out_info = output_info(info, output);
    Labelling found = label_frame(in, info, params);
    GstBuffer *before = gst_buffer_copy_deep(in), *out;
    fail_unless_equals_int(gst_harness_push(h, gst_buffer_ref(in)), GST_FLOW_OK);
    out = gst_harness_pull(h);
    fail_unless(out != in);
    assert_output_caps(h, &out_info);
    assert_pixels(before, out, info, output, &found);
    assert_same(info, in, before);
    assert_results(results_of(out, "gpuccl"), &found, maximum);
    assert_regions(out, &found, maximum);
    labelling_free(&found);
    gst_buffer_unref(before);
    gst_buffer_unref(in);
    gst_buffer_unref(out);
}

/* Of four values of each byte, so that components of equal value have some size. */
static GstBuffer *coarse_frame(const GstVideoInfo *info) {
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, info->size, NULL);
    GstMapInfo map;
    fail_unless(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
    for (gsize i = 0; i < map.size; i++)
        map.data[i] = (guint8)(g_random_int_range(0, 4) * 64);
    gst_buffer_unmap(buffer, &map);
    GST_BUFFER_PTS(buffer) = 0;
    GST_BUFFER_DURATION(buffer) = GST_SECOND / 25;
    return buffer;
}

/* ---- pixels ---- */

/* Every format, size and output, with the buffer's own layout and with a padded one. */
GST_START_TEST(test_formats) {
    enum { few = 20 }; /* described: to compare all would take most of the time */
    GstHarness *h = harness_new();
    g_object_set(h->element, "max-components", few, NULL);
    for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
        GstVideoInfo info = make_info(formats[__i__], sizes[s][0], sizes[s][1]);
        set_info(h, &info);
        for (guint o = 0; o < G_N_ELEMENTS(outputs); o++) {
            set_output(h, outputs[o]);
            check_frame(h, &info, random_frame(&info), outputs[o], &defaults, few);
            check_frame(h, &info, random_padded_frame(&info), outputs[o], &defaults, few);
        }
    }
    gst_harness_teardown(h);
}
GST_END_TEST

/* Every value of every property reaches the library. */
GST_START_TEST(test_parameters) {
    static const gchar *const modes[] = {"binary", "equal-value"};
    static const gchar *const connectivities[] = {"8", "4"};
    static const gchar *const some_formats[] = {"NV12", "RGBA", "GRAY8"};
    static const gint values[] = {-1, 0, 1, 64, 128, 255};
    static const gint areas[][2] = {{0, 0}, {3, 0}, {0, 4}, {2, 3}, {5, 4}};
    GstHarness *h = harness_new();
    const gchar *output = outputs[__i__];
    g_object_set(h->element, "max-components", all_components, NULL);
    set_output(h, output);
    for (guint i = 0; i < 24; i++) {
        GstVideoInfo info = make_info(some_formats[i % 3], 19, 13);
        Params params = defaults;
        params.mode = modes[i / 3 % 2];
        params.connectivity = connectivities[i / 6 % 2];
        params.invert = i / 12 % 2;
        set_info(h, &info);
        for (guint v = 0; v < 2 * G_N_ELEMENTS(values); v++) {
            params.threshold = values[v / 2];
            params.foreground = v % 2 ? values[v / 2] : -1;
            params.min_area = areas[v % G_N_ELEMENTS(areas)][0];
            params.max_area = areas[v % G_N_ELEMENTS(areas)][1];
            set_params(h->element, &params);
            check_frame(h, &info, coarse_frame(&info), output, &params, all_components);
        }
    }
    gst_harness_teardown(h);
}
GST_END_TEST

/* A pool that downstream offers is used with its padding. */
GST_START_TEST(test_downstream_pool) {
    const gchar *output = outputs[__i__];
    GstVideoInfo info = make_info("NV12", 33, 21), out_info = output_info(&info, output);
    GstHarness *h = harness_new();
    guint offers = 0;
    GstBuffer *in = random_frame(&info), *before = gst_buffer_copy_deep(in), *out;
    Labelling found = label_frame(in, &info, &defaults);
    set_output(h, output);
    gst_pad_add_probe(h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_padded_pool, &offers,
                      NULL);
    set_info(h, &info);
    fail_unless_equals_int(gst_harness_push(h, gst_buffer_ref(in)), GST_FLOW_OK);
    out = gst_harness_pull(h);
    fail_unless(offers > 0);
    if (!g_str_equal(output, "none")) {
        fail_unless(gst_buffer_get_video_meta(out) != NULL);
        fail_unless(gst_buffer_get_video_meta(out)->offset[0] > 0);
        fail_unless(gst_buffer_get_video_meta(out)->format == GST_VIDEO_INFO_FORMAT(&out_info));
    }
    assert_pixels(before, out, &info, output, &found);
    labelling_free(&found);
    gst_buffer_unref(before);
    gst_buffer_unref(in);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

/* With output=none the buffer goes on if nobody else holds it, and its memory in any case. */
GST_START_TEST(test_none_copies_nothing) {
    GstVideoInfo info = make_info("I420", 64, 48);
    GstHarness *h = harness_new();
    set_output(h, "none");
    set_info(h, &info);
    for (guint held = 0; held < 2; held++) {
        GstBuffer *in = random_padded_frame(&info), *out;
        GstMemory *memory = gst_buffer_peek_memory(in, 0);
        const GstBuffer *same = in;
        if (held)
            gst_buffer_ref(in);
        out = push_and_pull(h, in);
        fail_unless((out == same) == !held);
        fail_unless(gst_buffer_peek_memory(out, 0) == memory);
        fail_unless(gst_buffer_get_custom_meta(out, "gpuccl") != NULL);
        if (held) {
            fail_unless(gst_buffer_get_custom_meta(in, "gpuccl") == NULL);
            gst_buffer_unref(in);
        }
        gst_buffer_unref(out);
    }
    gst_harness_teardown(h);
}
GST_END_TEST

/* With output=none upstream fills the buffers of downstream, or its own: any pool would be wrong.
 */
GST_START_TEST(test_none_passes_allocation_on) {
    GstVideoInfo info = make_info("NV12", 33, 21);
    GstCaps *caps = gst_video_info_to_caps(&info);
    for (guint offering = 0; offering < 2; offering++) {
        GstHarness *h = harness_new();
        GstQuery *query = gst_query_new_allocation(caps, TRUE);
        guint offers = 0;
        if (offering)
            gst_pad_add_probe(h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_padded_pool,
                              &offers, NULL);
        set_output(h, "none");
        set_info(h, &info);
        gst_pad_peer_query(h->srcpad, query);
        fail_unless((gst_query_get_n_allocation_pools(query) > 0) == (gboolean)offering);
        fail_unless(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL) ==
                    (gboolean)offering);
        gst_query_unref(query);
        gst_harness_teardown(h);
    }
    gst_caps_unref(caps);
}
GST_END_TEST

/* A buffer that is smaller than its caps say, for every output. */
GST_START_TEST(test_short_buffer) {
    GstVideoInfo info = make_info("I420", 64, 48);
    GstHarness *h = harness_new();
    set_output(h, outputs[__i__]);
    assert_buffer_refused(h, gst_video_info_to_caps(&info), buffer_of_size(info.size - 1));
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_buffer_metadata_is_kept) {
    GstHarness *h = harness_new();
    set_output(h, outputs[__i__]);
    check_metadata_is_kept(h);
}
GST_END_TEST

/* ---- results ---- */

static const gchar picture[][17] = {
    "##......#......#", //
    "##.....#......#.", //
    "......#.....##..", //
    "................", //
    ".####....####...", //
    ".#..#....#..#...", //
    ".#..#....#.##...", //
    ".####.......#..#",
};

static GstBuffer *drawn_frame(const GstVideoInfo *info) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (guint y = 0; y < G_N_ELEMENTS(picture); y++)
        for (guint x = 0; x < sizeof picture[0] - 1; x++)
            *((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, 0) +
              y * (guint)GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x) =
                picture[y][x] == '#' ? 200 : 20;
    gst_video_frame_unmap(&frame);
    return buffer;
}

#define DRAWN make_info("GRAY8", sizeof picture[0] - 1, G_N_ELEMENTS(picture))

/* By eye. */
static const Component drawn[] = {
    {4, 0, 0, 1, 1, 2, 2},    {3, 6, 0, 8, 2, 21, 3},     {4, 12, 0, 15, 2, 54, 5},
    {12, 1, 4, 4, 7, 30, 66}, {10, 9, 4, 12, 7, 107, 51}, {1, 15, 7, 15, 7, 15, 7},
};

static GstBuffer *push_drawn(GstHarness *h) {
    GstVideoInfo info = DRAWN;
    set_info(h, &info);
    return push_and_pull(h, drawn_frame(&info));
}

GST_START_TEST(test_known_picture) {
    GstHarness *h = harness_new();
    GstBuffer *out = push_drawn(h), *copy = gst_buffer_copy(out);
    Labelling found = {16, 8, NULL, g_array_new(FALSE, FALSE, sizeof(Component))};
    g_array_append_vals(found.components, drawn, G_N_ELEMENTS(drawn));
    assert_results(results_of(out, "gpuccl"), &found, usual_components);
    assert_results(results_of(copy, "gpuccl"), &found, usual_components);
    assert_regions(out, &found, usual_components);
    labelling_free(&found);
    gst_buffer_unref(copy);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

/* The first of them are described, and all are counted. */
GST_START_TEST(test_max_components) {
    static const guint maximum[] = {0, 1, 3, 5, 6, 7, 65535};
    GstVideoInfo info = DRAWN;
    GstHarness *h = harness_new();
    set_info(h, &info);
    for (guint o = 0; o < G_N_ELEMENTS(outputs); o++) {
        set_output(h, outputs[o]);
        for (guint i = 0; i < G_N_ELEMENTS(maximum); i++) {
            g_object_set(h->element, "max-components", maximum[i], NULL);
            check_frame(h, &info, drawn_frame(&info), outputs[o], &defaults, maximum[i]);
        }
    }
    gst_harness_teardown(h);
}
GST_END_TEST

static gint count_with(const gchar *properties) {
    gchar *text = g_strdup_printf("gpuccl %s", properties);
    GstHarness *h = gst_harness_new_parse(text);
    GstBuffer *out = push_drawn(h);
    const gint count = int_field(results_of(out, "gpuccl"), "count");
    gst_buffer_unref(out);
    gst_harness_teardown(h);
    g_free(text);
    return count;
}

/* As one types them; the counts are by eye. */
GST_START_TEST(test_counts) {
    static const struct {
        const gchar *properties;
        gint count;
    } expected[] = {
        {"", 6},
        {"connectivity=4", 10},
        {"threshold=201", 0},
        {"threshold=20", 1},
        {"foreground=200", 6},
        {"foreground=20", 2},
        {"invert=true", 2},
        {"invert=true connectivity=4", 2},
        {"mode=equal-value", 8},
        {"mode=equal-value threshold=128", 6},
        {"min-area=4", 4},
        {"min-area=4 max-area=10", 3},
        {"max-area=1", 1},
        {"min-area=13", 0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(expected); i++)
        fail_unless(count_with(expected[i].properties) == expected[i].count, "\"%s\": %d, not %d",
                    expected[i].properties, count_with(expected[i].properties), expected[i].count);
}
GST_END_TEST

/* One pixel in every square of four: as many components as there can be. */
static GstBuffer *dots(const GstVideoInfo *info) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (gint y = 0; y < info->height; y++)
        for (gint x = 0; x < info->width; x++)
            *((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, 0) +
              y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x) = x % 2 || y % 2 ? 0 : 255;
    gst_video_frame_unmap(&frame);
    return buffer;
}

/* 16-bit labels number 65535 components. With one more they are refused, and nothing else is. */
GST_START_TEST(test_max_labels) {
    GstVideoInfo fits = make_info("GRAY8", 2 * 257, 2 * 255), more = make_info("GRAY8", 512, 512);
    GstHarness *h = harness_new();
    GstBus *bus = add_bus(h->element);
    for (guint attach = 0; attach < 2; attach++) {
        g_object_set(h->element, "attach-meta", attach, NULL);
        set_output(h, "labels");
        set_info(h, &fits);
        gst_buffer_unref(push_and_pull(h, dots(&fits)));
        set_info(h, &more);
        fail_unless_equals_int(gst_harness_push(h, dots(&more)), GST_FLOW_ERROR);
        assert_error(bus, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "raise min-area");
    }
    for (guint o = 0; o < G_N_ELEMENTS(outputs); o++) {
        const GstStructure *results;
        GstBuffer *out;
        if (g_str_equal(outputs[o], "labels"))
            continue;
        set_output(h, outputs[o]);
        out = push_and_pull(h, dots(&more));
        results = results_of(out, "gpuccl");
        fail_unless_equals_int(int_field(results, "count"), 65536);
        fail_unless_equals_int(gst_value_array_get_size(components_of(results)), 256);
        gst_buffer_unref(out);
    }
    g_object_set(h->element, "min-area", 2, NULL);
    set_output(h, "labels");
    gst_buffer_unref(push_and_pull(h, dots(&more)));
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) == NULL);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_message) {
    GstVideoInfo info = DRAWN;
    GstHarness *h = gst_harness_new_parse("gpuccl post-messages=true attach-meta=false");
    GstBuffer *in = drawn_frame(&info), *out;
    Labelling found = label_frame(in, &info, &defaults);
    GstMessage *message;
    set_info(h, &info);
    message = message_of(h, in, &out);
    assert_results(gst_message_get_structure(message), &found, usual_components);
    fail_unless(gst_buffer_get_custom_meta(out, "gpuccl") == NULL);
    assert_regions(out, &found, 0);
    labelling_free(&found);
    gst_message_unref(message);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

/* The pixels are the same where nobody wants the results. */
GST_START_TEST(test_no_results_unless_wanted) {
    const gchar *output = outputs[__i__];
    GstVideoInfo info = make_info("RGB", 65, 31);
    GstHarness *h = harness_new();
    GstBus *bus = add_bus(h->element);
    GstBuffer *in = random_frame(&info), *before = gst_buffer_copy_deep(in), *out;
    Labelling found = label_frame(in, &info, &defaults);
    g_object_set(h->element, "attach-meta", FALSE, NULL);
    set_output(h, output);
    set_info(h, &info);
    out = push_and_pull(h, gst_buffer_ref(in));
    assert_pixels(before, out, &info, output, &found);
    gst_buffer_unref(before);
    fail_unless(gst_buffer_get_custom_meta(out, "gpuccl") == NULL);
    assert_regions(out, &found, 0);
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT) == NULL);
    labelling_free(&found);
    gst_buffer_unref(in);
    gst_buffer_unref(out);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Boxes, areas and centroids are those of the frame that they are on. */
GST_START_TEST(test_results_are_scaled) {
    GstHarness *h = gst_harness_new_parse(
        "gpuccl ! videoscale ! capsfilter caps=video/x-raw,width=48,height=16");
    GstBuffer *out = push_drawn(h);
    const GstStructure *results = results_of(out, "gpuccl"), *third = component_at(results, 2);
    GstVideoRegionOfInterestMeta *region = gst_buffer_get_video_region_of_interest_meta_id(out, 3);
    fail_unless_equals_int(int_field(results, "count"), 6);
    fail_unless_equals_int(int_field(third, "label"), 3);
    fail_unless_equals_int(int_field(third, "x"), 3 * 12);
    fail_unless_equals_int(int_field(third, "y"), 0);
    fail_unless_equals_int(int_field(third, "width"), 3 * 4);
    fail_unless_equals_int(int_field(third, "height"), 2 * 3);
    fail_unless_equals_int(int_field(third, "area"), 6 * 4);
    fail_unless_equals_float(double_field(third, "cx"), 3 * (54 / 4.0 + 0.5) - 0.5);
    fail_unless_equals_float(double_field(third, "cy"), 2 * (5 / 4.0 + 0.5) - 0.5);
    fail_unless(region != NULL);
    fail_unless_equals_int(region->x, 3 * 12);
    fail_unless_equals_int(region->w, 3 * 4);
    fail_unless_equals_int(region->h, 2 * 3);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- caps ---- */

GST_START_TEST(test_renegotiation) {
    GstHarness *h = harness_new();
    for (guint i = 0; i < 60; i++) {
        const gchar *output = outputs[i / 2 % G_N_ELEMENTS(outputs)];
        GstVideoInfo info = make_info(formats[(i * 5) % G_N_ELEMENTS(formats)],
                                      1 + (gint)(i * 37 % 90), 1 + (gint)(i * 53 % 70));
        set_output(h, output);
        set_info(h, &info);
        check_frame(h, &info, random_padded_frame(&info), output, &defaults, usual_components);
    }
    fail_unless_equals_int(gst_harness_buffers_received(h), 60);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Between two frames: the next one is what the property says, in every pair of outputs. */
GST_START_TEST(test_output_while_playing) {
    GstVideoInfo info = make_info(formats[__i__], 21, 17);
    GstHarness *h = harness_new();
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(outputs) * G_N_ELEMENTS(outputs); i++) {
        const gchar *const pair[] = {outputs[i % G_N_ELEMENTS(outputs)],
                                     outputs[i / G_N_ELEMENTS(outputs)]};
        for (guint o = 0; o < 2; o++) {
            set_output(h, pair[o]);
            check_frame(h, &info, random_padded_frame(&info), pair[o], &defaults, usual_components);
        }
    }
    gst_harness_teardown(h);
}
GST_END_TEST

/* The frame of the time gets it, not the one after. An enum is controlled by the part of its list
   that is left behind. */
GST_START_TEST(test_controlled_output) {
    GstVideoInfo info = make_info("NV12", 40, 30);
    GstHarness *h = harness_new();
    GstControlSource *source = gst_interpolation_control_source_new();
    GstTimedValueControlSource *points = GST_TIMED_VALUE_CONTROL_SOURCE(source);
    g_object_set(source, "mode", GST_INTERPOLATION_MODE_NONE, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(outputs); i++)
        gst_timed_value_control_source_set(points, i * GST_SECOND,
                                           (i + 0.1) / (G_N_ELEMENTS(outputs) - 1));
    gst_object_add_control_binding(
        GST_OBJECT(h->element),
        gst_direct_control_binding_new(GST_OBJECT(h->element), "output", source));
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(outputs); i++) {
        GstBuffer *in = random_frame(&info);
        GST_BUFFER_PTS(in) = i * GST_SECOND;
        check_frame(h, &info, in, outputs[i], &defaults, usual_components);
    }
    gst_object_unref(source);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_output_asks_upstream) {
    check_output_asks_upstream(harness_new(), outputs, G_N_ELEMENTS(outputs));
}
GST_END_TEST

GST_START_TEST(test_output_refused) {
    check_output_refused(harness_new(), "labels", "none");
}
GST_END_TEST

/* What upstream is told depends on what downstream takes, and on the output. */
GST_START_TEST(test_caps_queries) {
    GstHarness *h = gst_harness_new("gpuccl");
    gst_harness_set_sink_caps_str(h, "video/x-raw,format={GRAY16_LE,RGB},width=64");
    assert_takes(h->element, "sink", "video/x-raw,format=RGB,width=64", TRUE);
    assert_takes(h->element, "sink", "video/x-raw,format=NV12,width=64", FALSE);
    assert_takes(h->element, "sink", "video/x-raw,format=RGB,width=65", FALSE);
    set_output(h, "labels");
    assert_takes(h->element, "sink", "video/x-raw,format=NV12,width=64,colorimetry=bt709", TRUE);
    assert_takes(h->element, "sink", "video/x-raw,format=GRAY8,width=64", TRUE);
    assert_takes(h->element, "sink", "video/x-raw,format=GRAY16_LE,width=64", FALSE);
    assert_takes(h->element, "sink", "video/x-raw,format=GRAY8,width=65", FALSE);
    set_output(h, "mask");
    assert_takes(h->element, "sink", "video/x-raw", FALSE);
    gst_harness_set_src_caps_str(h, "video/x-raw,format=NV12,width=64,height=8,framerate=1/1,"
                                    "colorimetry=bt709");
    set_output(h, "labels");
    assert_takes(h->element, "src", "video/x-raw,format=GRAY16_LE,height=8,colorimetry=1:4:0:0",
                 TRUE);
    assert_takes(h->element, "src", "video/x-raw,format=NV12", FALSE);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_templates) {
    static const TemplateCaps expected[] = {
        {"src", "video/x-raw,format=GRAY16_LE", TRUE},
        {"src", "video/x-raw,format=P016_LE", FALSE},
        {"src", "video/x-raw(memory:CUDAMemory),format=P016_LE", TRUE},
        {"src", "video/x-raw(memory:CUDAMemory),format=NV12", TRUE},
        {"src", "video/x-raw(memory:CUDAMemory),format=GRAY8", FALSE},
        {"src", "video/x-raw(memory:CUDAMemory),format=GRAY16_LE", FALSE},
        {"sink", "video/x-raw,format=GRAY16_LE", FALSE},
        {"sink", "video/x-raw(memory:CUDAMemory),format=P016_LE", FALSE},
    };
    check_templates("gpuccl", expected, G_N_ELEMENTS(expected));
}
GST_END_TEST

GST_START_TEST(test_caps_refused) {
    static const gchar *const refused[][2] = {
        {"video/x-raw,format=P010_10LE,width=64,height=48,framerate=25/1", "videoconvert"},
        {"video/x-raw,format=GRAY16_LE,width=64,height=48,framerate=25/1", "GRAY16_LE"},
        {"video/x-raw,format=NV12,width=64,height=48,framerate=25/1,interlace-mode=interleaved",
         "deinterlace"},
        {"video/x-raw(memory:CUDAMemory),format=P016_LE,width=64,height=48,framerate=25/1",
         "cudadownload and videoconvert"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++)
        check_refusal("gpuccl", refused[i][0], refused[i][1]);
}
GST_END_TEST

/* ---- life of a stream ---- */

GST_START_TEST(test_flush) {
    const gchar *output = outputs[__i__];
    GstVideoInfo info = make_info("RGBA", 31, 9);
    GstHarness *h = harness_new();
    set_output(h, output);
    set_info(h, &info);
    for (guint i = 0; i < 20; i++) {
        check_frame(h, &info, random_frame(&info), output, &defaults, usual_components);
        flush(h, random_frame(&info));
    }
    fail_unless(gst_harness_push_event(h, gst_event_new_eos()));
    fail_unless_equals_int(gst_harness_push(h, random_frame(&info)), GST_FLOW_EOS);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_seek) {
    check_seeks(__i__ ? "gpuccl output=none" : "gpuccl");
}
GST_END_TEST

GST_START_TEST(test_cycles) {
    check_restarts(__i__ ? "gpuccl output=labels" : "gpuccl");
}
GST_END_TEST

static gpointer change_properties(gpointer element) {
    GRand *random = g_rand_new_with_seed(7);
    for (guint i = 0; i < 2000; i++) {
        g_object_set(element, "threshold", g_rand_int_range(random, -1, 256), "invert",
                     g_rand_boolean(random), "foreground",
                     g_rand_boolean(random) ? -1 : g_rand_int_range(random, 0, 256), "mode",
                     g_rand_int_range(random, 0, 2), "connectivity", g_rand_boolean(random) ? 8 : 4,
                     "min-area", g_rand_int_range(random, 0, 50), "max-area",
                     g_rand_int_range(random, 0, 5000), "max-components",
                     g_rand_int_range(random, 0, 500), "output", g_rand_int_range(random, 0, 4),
                     "attach-meta", g_rand_boolean(random), "post-messages", g_rand_boolean(random),
                     NULL);
        g_usleep(100);
    }
    g_rand_free(random);
    return NULL;
}

GST_START_TEST(test_properties_while_playing) {
    check_changes_while_playing("gpuccl", change_properties);
}
GST_END_TEST

/* ---- properties ---- */

GST_START_TEST(test_int_properties) {
    static const IntProperty expected[] = {{"threshold", -1, 255, -1},
                                           {"foreground", -1, 255, -1},
                                           {"min-area", 0, GPV_MAX_PIXELS, 0},
                                           {"max-area", 0, GPV_MAX_PIXELS, 0},
                                           {"max-components", 0, 65535, 256}};
    check_int_properties("gpuccl", expected, G_N_ELEMENTS(expected));
}
GST_END_TEST

GST_START_TEST(test_property_flags) {
    check_property_flags("gpuccl");
}
GST_END_TEST

GST_START_TEST(test_enum_defaults) {
    GstElement *element = gst_check_setup_element("gpuccl");
    gint mode = -1, connectivity = -1, output = -1;
    gboolean invert = TRUE;
    g_object_get(element, "mode", &mode, "connectivity", &connectivity, "output", &output, "invert",
                 &invert, NULL);
    fail_unless_equals_int(mode, 0);
    fail_unless_equals_int(connectivity, 8);
    fail_unless_equals_int(output, 0);
    fail_unless_equals_int(invert, FALSE);
    gst_check_teardown_element(element);
}
GST_END_TEST

GST_START_TEST(test_factory) {
    check_factory("gpuccl", "Filter/Analyzer/Video/Hardware");
}
GST_END_TEST

static Suite *gpuccl_suite(void) {
    Suite *suite = suite_create("gpuccl");
    TCase *tcase = add_case(suite, "pixels");
    tcase_add_loop_test(tcase, test_formats, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_loop_test(tcase, test_parameters, 0, G_N_ELEMENTS(outputs));
    tcase_add_loop_test(tcase, test_downstream_pool, 0, G_N_ELEMENTS(outputs));
    tcase_add_test(tcase, test_none_copies_nothing);
    tcase_add_test(tcase, test_none_passes_allocation_on);
    tcase_add_loop_test(tcase, test_short_buffer, 0, G_N_ELEMENTS(outputs));
    tcase_add_loop_test(tcase, test_buffer_metadata_is_kept, 0, G_N_ELEMENTS(outputs));
    tcase = add_case(suite, "results");
    tcase_add_test(tcase, test_known_picture);
    tcase_add_test(tcase, test_max_components);
    tcase_add_test(tcase, test_counts);
    tcase_add_test(tcase, test_max_labels);
    tcase_add_test(tcase, test_message);
    tcase_add_loop_test(tcase, test_no_results_unless_wanted, 0, G_N_ELEMENTS(outputs));
    tcase_add_test(tcase, test_results_are_scaled);
    tcase = add_case(suite, "caps");
    tcase_add_test(tcase, test_renegotiation);
    tcase_add_loop_test(tcase, test_output_while_playing, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_test(tcase, test_controlled_output);
    tcase_add_test(tcase, test_output_asks_upstream);
    tcase_add_test(tcase, test_output_refused);
    tcase_add_test(tcase, test_caps_queries);
    tcase_add_test(tcase, test_templates);
    tcase_add_test(tcase, test_caps_refused);
    tcase = add_case(suite, "stream");
    tcase_add_loop_test(tcase, test_flush, 0, G_N_ELEMENTS(outputs));
    tcase_add_loop_test(tcase, test_seek, 0, 2);
    tcase_add_loop_test(tcase, test_cycles, 0, 2);
    tcase_add_test(tcase, test_properties_while_playing);
    tcase = add_case(suite, "properties");
    tcase_add_test(tcase, test_int_properties);
    tcase_add_test(tcase, test_property_flags);
    tcase_add_test(tcase, test_enum_defaults);
    tcase_add_test(tcase, test_factory);
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    return run_on_backend(gpuccl_suite, "gpuccl", __FILE__);
}
