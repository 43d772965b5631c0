/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <math.h>

static const gpv_format label_formats[] = {GPV_FORMAT_GRAY8, GPV_FORMAT_NV12, GPV_FORMAT_I420};

FIXTURE(kmeans)

/* Whose start lies in the image, so that results can be foretold. */
static gpv_kmeans_params grid_of(int32_t clusters) {
    gpv_kmeans_params params = defaults();
    params.clusters = clusters;
    params.init = GPV_KMEANS_INIT_GRID;
    return params;
}

static void give(const float *centroids, int32_t count) {
    ck_assert_msg(gpv_kmeans_set_centroids(op, centroids, count) == GPV_OK, "%s",
                  gpv_context_error(context));
}

static gpv_status run_views(const gpv_image *src, const gpv_image *labels, const gpv_image *dst) {
    return gpv_kmeans_run(op, NULL, src, labels, dst, NULL, NULL, NULL);
}

RESULT(kmeans)

/* --------------------------------------------------------- given centroids */

/* Both create and set_params must say the same. */
static void expect_params(const gpv_kmeans_params *params, gpv_status wanted, const char *text) {
    gpv_kmeans *other = (gpv_kmeans *)&keep;
    const gpv_status status = gpv_kmeans_create(context, params, &other);
    ck_assert_int_eq(status == GPV_OK, other != NULL);
    expect_status(context, &keep, status, wanted, text);
    gpv_kmeans_destroy(&other);
    keep.text[0] = 0;
    expect_status(context, &keep, gpv_kmeans_set_params(op, params), wanted, text);
}

START_TEST(their_number_is_given_with_the_centroids) {
    gpv_kmeans_params params = grid_of(0);
    expect_params(&params, GPV_OK, NULL);
    params.init = GPV_KMEANS_INIT_GIVEN;
    expect_params(&params, INVALID, "params->init|GPV_KMEANS_INIT_GIVEN|params->clusters is 0");
}
END_TEST

START_TEST(centroids_ranges) {
    static const struct {
        float value;
        const char *text; /* NULL = legal; the index comes in front */
    } cases[] = {
        {0.0f, NULL},       {-0.0f, NULL},        {255.0f, NULL},       {0.5f, NULL},
        {-0.5f, "|-0.5"},   {255.5f, "|255.5"},   {-1e-30f, "|-1e-30"}, {1e30f, "|1e+30"},
        {INFINITY, "|inf"}, {-INFINITY, "|-inf"}, {NAN, "|nan"},        {-NAN, "|nan"},
    };
    static const int32_t counts[] = {1, 0, -1, 257, INT32_MIN, INT32_MAX};
    float centroids[3 * GPV_KMEANS_MAX_CLUSTERS + 3] = {0};
    size_t i;
    int at;
    for (i = 0; i < COUNT(cases); i++)
        for (at = 0; at < 3 * GPV_KMEANS_MAX_CLUSTERS; at += at < 6 ? 1 : 761) {
            char text[64];
            gpv_status status;
            centroids[at] = cases[i].value;
            status = gpv_kmeans_set_centroids(op, centroids, GPV_KMEANS_MAX_CLUSTERS);
            snprintf(text, sizeof text, "centroids[%d]%s|0..255", at,
                     cases[i].text ? cases[i].text : "");
            if (cases[i].text)
                expect_error(context, &keep, status, INVALID, text);
            else
                ck_assert_int_eq(status, GPV_OK);
            centroids[at] = 0;
        }
    ck_assert_int_eq(gpv_kmeans_set_centroids(op, centroids, 2), GPV_OK);
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, NULL, 2), INVALID, "centroids|NULL");
    for (i = 0; i < COUNT(counts); i++) {
        char text[64];
        snprintf(text, sizeof text, "count is %d|2..256", counts[i]);
        expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, counts[i]), INVALID,
                     text);
    }
}
END_TEST

START_TEST(as_many_centroids_as_clusters) {
    static const float three[9] = {0, 0, 0, 100, 100, 100, 200, 200, 200};
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    const gpv_image dst = forbidden_image(memory + (1 << 21));
    gpv_kmeans_params params = defaults();
    params.init = GPV_KMEANS_INIT_GIVEN;
    params.clusters = 4;
    set(params);
    expect_error(
        context, &keep, run_views(&src, NULL, &dst), INVALID,
        "params->init|GPV_KMEANS_INIT_GIVEN|clusters is 4|gpv_kmeans_set_centroids()|given 0");
    give(three, 3);
    expect_error(context, &keep, run_views(&src, NULL, &dst), INVALID, "clusters is 4|given 3");
    params.clusters = 2;
    set(params);
    expect_error(context, &keep, run_views(&src, NULL, &dst), INVALID, "clusters is 2|given 3");
    ck_assert_int_eq(gpv_kmeans_set_centroids(op, three, 257), INVALID); /* those before stay */
    expect_error(context, &keep, run_views(&src, NULL, &dst), INVALID, "clusters is 2|given 3");
    ck_assert_int_eq(gpv_kmeans_prepare(op, &src, NULL, &dst), GPV_OK);
    expect_nothing_found();
}
END_TEST

static gpv_status label(const gpv_image *src, const gpv_image *labels) {
    return run_views(src, labels, NULL);
}

enum { ROOM = GPV_KMEANS_MAX_CLUSTERS };

/* What a run may write but for images. */
typedef struct tables {
    float centroids[3 * ROOM];
    int32_t counts[ROOM];
    gpv_kmeans_result result;
} tables;

static gpv_status run_all(gpv_kmeans *which, const picture *src, const picture *labels,
                          const picture *dst, tables *out) {
    const gpv_buffer centroids = buffer_of(out->centroids, sizeof out->centroids);
    const gpv_buffer counts = buffer_of(out->counts, sizeof out->counts);
    const gpv_buffer result = buffer_of(&out->result, sizeof out->result);
    memset(out, 0xC5, sizeof *out);
    return gpv_kmeans_run(which, NULL, &src->view, &labels->view, &dst->view, &centroids, &counts,
                          &result);
}

/* ------------------------------------------------- results worked out by hand */

/* Gives the text behind them, and behind the '|' that follows. */
static const char *expect_numbers(const char *what, const char *text, const double *got,
                                  int count) {
    int i;
    for (i = 0; i < count; i++) {
        char *end = NULL;
        const double wanted = strtod(text, &end);
        ck_assert_msg(end != text, "%s: more than are wanted", what);
        ck_assert_msg(fabs(got[i] - wanted) < 1e-4, "%s[%d] is %f, not %f", what, i, got[i],
                      wanted);
        text = end;
    }
    text += strspn(text, " ");
    ck_assert_msg(!*text || *text == '|', "%s: fewer than are wanted", what);
    return *text ? text + 1 : text;
}

static int numbers_in(const char *text) {
    int count = 0;
    for (; *text; text++)
        count += *text != ' ' && (text[1] == ' ' || !text[1]);
    return count;
}

/* What a run finds, but for its images: clusters, iterations, empty ones, whether it converged, and
 * inertia | counts | centroids, of grey ones a number each. What is left out is not compared. */
static void expect_found(const tables *out, const char *want) {
    const gpv_kmeans_result found = waited_for();
    const double result[] = {found.clusters, found.iterations, found.empty, found.converged,
                             found.inertia};
    const int k = found.clusters;
    double counts[ROOM], centroids[3 * ROOM], greys[ROOM];
    int i;
    ck_assert_mem_eq(&found, &out->result, sizeof found);
    for (i = 0; i < 3 * k; i++)
        centroids[i] = out->centroids[i];
    for (i = 0; i < k; i++) {
        counts[i] = out->counts[i];
        greys[i] = centroids[3 * i];
    }
    want = expect_numbers("result", want, result, COUNT(result));
    if (*want)
        want = expect_numbers("counts", want, counts, k);
    if (*want && numbers_in(want) == 3 * k) {
        expect_numbers("centroids", want, centroids, 3 * k);
    } else if (*want) {
        expect_numbers("greys", want, greys, k);
        for (i = 0; i < 3 * k; i++)
            ck_assert_double_eq(centroids[i], greys[i / 3]);
    }
}

static void expect_planes(gpv_format format, int width, int height, const char *source,
                          const char *labels, const char *recolored, const char *found) {
    picture src = picture_of(format, width, height, source);
    picture want_labels = picture_of(GPV_FORMAT_GRAY8, width, height, labels);
    picture want_dst = picture_of(format, width, height, recolored);
    picture numbers = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    picture dst = picture_new(format, width, height, TIGHT);
    tables out;
    ck_assert_msg(run_all(op, &src, &numbers, &dst, &out) == GPV_OK, "%s",
                  gpv_context_error(context));
    expect_picture(&numbers, &want_labels);
    expect_picture(&dst, &want_dst);
    expect_found(&out, found);
    picture_free(&src);
}

static void expect_row(const char *source, const char *labels, const char *recolored,
                       const char *found) {
    int width = 1;
    const char *c;
    for (c = source; *c; c++)
        width += *c == ' ';
    expect_planes(GPV_FORMAT_GRAY8, width, 1, source, labels, recolored, found);
}

static void set_given(int32_t clusters, int32_t max_iterations, const float *greys) {
    float centroids[3 * ROOM];
    gpv_kmeans_params params = defaults();
    int i;
    for (i = 0; i < 3 * clusters; i++)
        centroids[i] = greys[i / 3];
    params.clusters = clusters;
    params.max_iterations = max_iterations;
    params.init = GPV_KMEANS_INIT_GIVEN;
    set(params);
    give(centroids, clusters);
}

static const float far[] = {0, 250, 250}, one[] = {0, 0, 0}, middle[] = {50, 50},
                   around[] = {10, 0};

/* Of grey pixels. */
static const struct {
    const float *given; /* NULL = of a grid */
    int32_t clusters, max_iterations;
    const char *source, *labels, *recolored;
    const char *found;
} rows[] = {
    {NULL, 2, 20, "0 0 255 255", "0 0 1 1", "0 0 255 255", "2 1 0 1 0 | 2 2 | 0 255"},
    /* means are rounded half up */
    {NULL, 2, 20, "10 11 200 200", "0 0 1 1", "11 11 200 200", "2 2 0 1 1.5 | 2 2 | 10.5 200"},
    {NULL, 2, 20, "10 10 10 11 200 200 200 200", "0 0 0 0 1 1 1 1", "10 10 10 10 200 200 200 200",
     "2 1 0 1 2.25 | 4 4 | 10.25 200"},
    /* of equal distances that to the lowest number */
    {around, 2, 0, "5 4 6", "0 1 0", "10 0 10", "2 0 0 0 171 | 2 1 | 10 0"},
    /* a cluster without pixels starts again at the colour that is farthest from its centroid */
    {far, 3, 0, "0 0 0 100 200", "0 0 0 0 1", "0 0 0 0 250", "3 0 1 0 37500 | 4 1 0 | 0 250 250"},
    {far, 3, 1, "0 0 0 100 200", "0 0 0 2 1", "25 25 25 100 200",
     "3 1 0 0 5625 | 3 1 1 | 25 200 100"},
    {far, 3, 20, "0 0 0 100 200", "0 0 0 2 1", "0 0 0 100 200", "3 3 0 1 0 | 3 1 1 | 0 200 100"},
    /* of several ones the first alone; of equally far colours the least */
    {one, 3, 20, "0 100 200", "2 0 1", "0 100 200", "3 2 0 1 0 | 1 1 1 | 100 200 0"},
    {middle, 2, 20, "0 100", "1 0", "0 100", "2 3 0 1 0 | 1 1 | 100 0"},
    /* fewer colours than clusters */
    {NULL, 3, 20, "7 7 7 7 7", "0 0 0 0 0", "7 7 7 7 7", "3 1 2 1 0 | 5 0 0 | 7 7 7"},
    {NULL, 3, 20, "0 9", "0 1", "0 9", "3 1 1 1 0 | 1 1 0 | 0 9 9"},
    {NULL, 256, 20, "9", "0", "9", "256 1 255 1 0"},
};

START_TEST(small_rows) {
    size_t i;
    for (i = 0; i < COUNT(rows); i++) {
        if (rows[i].given)
            set_given(rows[i].clusters, rows[i].max_iterations, rows[i].given);
        else
            set(grid_of(rows[i].clusters));
        expect_row(rows[i].source, rows[i].labels, rows[i].recolored, rows[i].found);
    }
}
END_TEST

START_TEST(the_iteration_ends) {
    static const char source[] = "10 20 30 200 220", labels[] = "0 0 0 1 1";
    static const char means[] = "20 20 20 210 210";
    /* the centroids 20 and 200 move by 0 and 10 grey levels in each channel, and then no more */
    static const struct {
        float tolerance;
        int32_t max_iterations, iterations;
        uint32_t converged;
    } cases[] = {{0.5f, 20, 2, 1},   {0, 20, 2, 1},        {-0.0f, 20, 2, 1}, {17, 20, 2, 1},
                 {18, 20, 1, 1},     {1e6f, 1, 1, 1},      {0.5f, 1, 1, 0},   {0.5f, 2, 2, 1},
                 {-1e-30f, 7, 7, 0}, {-1, 10000, 10000, 0}};
    gpv_kmeans_params params = grid_of(2);
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        char found[64];
        snprintf(found, sizeof found, "2 %d 0 %u 1200 | 3 2 | 20 210", cases[i].iterations,
                 cases[i].converged);
        params.tolerance = cases[i].tolerance;
        params.max_iterations = cases[i].max_iterations;
        set(params);
        expect_row(source, labels, means, found);
    }
    params.max_iterations = 0;
    set(params);
    expect_row(source, labels, "20 20 20 200 200", "2 0 0 0 1800 | 3 2 | 20 200");
}
END_TEST

START_TEST(metrics) {
    static const float centroids[] = {0, 0, 0, 6, 6, 17};
    static const char source[] = "6 6 6";
    gpv_kmeans_params params = defaults();
    params.clusters = 2;
    params.init = GPV_KMEANS_INIT_GIVEN;
    params.max_iterations = 0;
    give(centroids, 2);
    set(params);
    expect_planes(GPV_FORMAT_RGB8, 1, 1, source, "0", "0 0 0", "2 0 1 0 108 | 1 0 | 0 0 0 6 6 17");
    params.metric = GPV_KMEANS_METRIC_L1; /* which inertia does not know */
    set(params);
    expect_planes(GPV_FORMAT_RGB8, 1, 1, source, "1", "6 6 17", "2 0 1 0 121 | 0 1 | 0 0 0 6 6 17");
}
END_TEST

START_TEST(chosen_number_of_clusters) {
    gpv_kmeans_params params = grid_of(0);
    static const char three[] = "3 2 0 1 18 | 2 2 2 | 11 101 201";
    static const char two[] = "2 1 0 1 0 | 2 1 | 0 255";
    params.max_clusters = 4;
    set(params);
    expect_row("10 12 100 102 200 202", "0 0 1 1 2 2", "11 11 101 101 201 201", three);
    expect_row("0 0 255", "0 0 1", "0 0 255", two);
    params.max_clusters = 2;
    set(params);
    expect_row("0 0 255", "0 0 1", "0 0 255", two);
    expect_row("10 12 100 102 200 202", "0 0 0 0 1 1", "56 56 56 56 201 201",
               "2 2 0 1 24318 | 4 2 | 56 201");
    /* one colour is one cluster */
    expect_row("7 7 7 7 7", "0 0 0 0 0", "7 7 7 7 7", "1 1 0 1 0 | 5 | 7");
}
END_TEST

START_TEST(a_warm_start) {
    static const char left[] = "10 10 200 200", right[] = "200 200 10 10";
    static const char lefts[] = "0 0 1 1", rights[] = "1 1 0 0";
    static const float given[] = {200, 10}, turned[] = {10, 10, 10, 200, 200, 200};
    static const char up[] = "2 1 0 1 0 | 2 2 | 10 200";
    static const char down[] = "2 1 0 1 0 | 2 2 | 200 10";
    gpv_kmeans_params params = grid_of(2);
    gpv_image bad;
    gpv_image_init(&bad, sizeof bad);
    params.warm_start = 1;
    set(params);
    expect_row(left, lefts, left, up); /* there is no run before */
    expect_row(right, rights, right, up);
    ck_assert_int_eq(run_views(&bad, NULL, NULL), INVALID); /* which is no run */
    params.metric = GPV_KMEANS_METRIC_L1;
    params.init = GPV_KMEANS_INIT_RANDOM;
    params.max_clusters = 7; /* is not read */
    params.seed = 5;
    set(params);
    expect_row(right, rights, right, up);
    params.init = GPV_KMEANS_INIT_GRID;
    params.warm_start = 0;
    set(params);
    expect_row(right, lefts, right, down);
    params.warm_start = 1; /* the run before may have been a cold one */
    set(params);
    expect_row(left, rights, left, down);
    params.clusters = 3;
    set(params);
    expect_row("1 2 3", "0 1 2", "1 2 3", "3 1 0 1 0 | 1 1 1 | 1 2 3");
    params.clusters = 2;
    set(params);
    expect_row(left, lefts, left, up);
    params.color_space = GPV_KMEANS_COLOR_SPACE_LAB;
    set(params);
    expect_row("255 255 0 0", lefts, "255 255 0 0", "2 1 0 1 0 | 2 2 | 255 128 128 0 128 128");
    set_given(2, 20, given);
    params = defaults();
    params.clusters = 2;
    params.init = GPV_KMEANS_INIT_GIVEN;
    params.warm_start = 1;
    set(params);
    expect_row(left, rights, left, down);
    give(turned, 2);
    expect_row(left, rights, left, down);
    params.warm_start = 0;
    set(params);
    expect_row(left, lefts, left, up);
}
END_TEST

START_TEST(a_warm_start_keeps_the_chosen_number) {
    gpv_kmeans_params params = grid_of(0);
    static const char two[] = "2 1 0 1 0 | 1 2 | 11 201";
    params.max_clusters = 4;
    params.warm_start = 1;
    set(params);
    expect_row("10 12 100 102 200 202", "0 0 1 1 2 2", "11 11 101 101 201 201",
               "3 2 0 1 18 | 2 2 2 | 11 101 201");
    expect_row("11 201 201", "0 2 2", "11 201 201", "3 1 1 1 0 | 1 0 2 | 11 101 201");
    params.max_clusters = 5;
    set(params);
    expect_row("11 201 201", "0 1 1", "11 201 201", two);
}
END_TEST

static const struct {
    gpv_kmeans_color_space space;
    gpv_format format;
    int width;
    const char *source, *labels, *recolored;
    const char *found;
} colours[] = {
    {GPV_KMEANS_COLOR_SPACE_RGB, GPV_FORMAT_RGB8, 4, "255 0 0  0 0 255  255 0 0  250 0 0",
     "1 0 1 1", "253 0 0  0 0 255  253 0 0  253 0 0",
     "2 2 0 1 16.666667 | 1 3 | 0 0 255 253.333333 0 0"},
    {GPV_KMEANS_COLOR_SPACE_RGB, GPV_FORMAT_BGRA8, 4, "255 0 0 1  0 0 255 2  255 0 0 3  250 0 0 4",
     "1 0 1 1", "253 0 0 1  0 0 255 2  253 0 0 3  253 0 0 4",
     "2 2 0 1 16.666667 | 1 3 | 255 0 0 0 0 253.333333"},
    {GPV_KMEANS_COLOR_SPACE_RGB, GPV_FORMAT_NV12, 4, "16 16 235 235 | 128 128 128 128", "0 0 1 1",
     "16 16 235 235 | 128 128 128 128", "2 1 0 1 0 | 2 2 | 0 255"},
    /* two colours, about 179 0 0 and 255 179 178, in one site */
    {GPV_KMEANS_COLOR_SPACE_RGB, GPV_FORMAT_I420, 2, "16 235 | 90 | 240", "0 1",
     "62 189 | 109 | 184", "2 1 0 1 0 | 1 1 | 179 0 0 255 179 178"},
    {GPV_KMEANS_COLOR_SPACE_LAB, GPV_FORMAT_GRAY8, 4, "0 0 255 255", "0 0 1 1", "0 0 255 255",
     "2 1 0 1 0 | 2 2 | 0 128 128 255 128 128"},
};

START_TEST(picture_formats_are_colours) {
    size_t i;
    for (i = 0; i < COUNT(colours); i++) {
        gpv_kmeans_params params = grid_of(2);
        params.color_space = colours[i].space;
        set(params);
        expect_planes(colours[i].format, colours[i].width, 1, colours[i].source, colours[i].labels,
                      colours[i].recolored, colours[i].found);
    }
}
END_TEST

START_TEST(formats_of_labels) {
    static const char *const planes[] = {"0 0 1 1 2", "0 0 1 1 2 | ??????",
                                         "0 0 1 1 2 | ??? | ???"};
    picture src = picture_of(GPV_FORMAT_GRAY8, 5, 1, "1 1 50 50 99");
    size_t i;
    set(grid_of(3));
    for (i = 0; i < COUNT(label_formats); i++) {
        picture want = picture_of(label_formats[i], 5, 1, planes[i]);
        picture labels = picture_new(label_formats[i], 5, 1, TIGHT);
        ck_assert_int_eq(label(&src.view, &labels.view), GPV_OK);
        expect_picture(&labels, &want);
    }
    picture_free(&src);
}
END_TEST

START_TEST(colors_of_centroids) {
    static const struct {
        gpv_kmeans_color_space space;
        float centroid[3];
        uint32_t color;
    } cases[] = {
        {GPV_KMEANS_COLOR_SPACE_RGB, {0, 128, 255}, 0x0080FF},
        {GPV_KMEANS_COLOR_SPACE_RGB, {0.49f, 0.5f, 254.5f}, 0x0001FF},
        {GPV_KMEANS_COLOR_SPACE_RGB, {254.49f, 16.49f, 16.5f}, 0xFE1011},
        {GPV_KMEANS_COLOR_SPACE_RGB, {-1, 256, 1e30f}, 0x00FFFF},
        {GPV_KMEANS_COLOR_SPACE_RGB, {-INFINITY, INFINITY, NAN}, 0x00FF00},
        {UINT32_MAX, {1, 2, 3}, 0x010203},
        {GPV_KMEANS_COLOR_SPACE_LAB, {0, 128, 128}, 0x000000},
        {GPV_KMEANS_COLOR_SPACE_LAB, {255, 128, 128}, 0xFFFFFF},
        {GPV_KMEANS_COLOR_SPACE_LAB, {300, 128, 128}, 0xFFFFFF},
        {GPV_KMEANS_COLOR_SPACE_LAB, {127.5f, 128, 128}, 0x777777},             /* L* = 50 */
        {GPV_KMEANS_COLOR_SPACE_LAB, {135.765f, 208.092f, 195.203f}, 0xFF0000}, /* red */
        {GPV_KMEANS_COLOR_SPACE_LAB, {223.709f, 41.817f, 211.179f}, 0x00FF00},  /* green */
        {GPV_KMEANS_COLOR_SPACE_LAB, {82.369f, 207.188f, 20.140f}, 0x0000FF},   /* blue */
        {GPV_KMEANS_COLOR_SPACE_LAB, {255, 255, 255}, 0xFF4600}, /* which no colour has */
    };
    size_t i;
    ck_assert_uint_eq(gpv_kmeans_color(GPV_KMEANS_COLOR_SPACE_RGB, NULL), 0);
    ck_assert_uint_eq(gpv_kmeans_color(GPV_KMEANS_COLOR_SPACE_LAB, NULL), 0);
    for (i = 0; i < COUNT(cases); i++) {
        const uint32_t color = gpv_kmeans_color(cases[i].space, cases[i].centroid);
        ck_assert_msg(color == cases[i].color, "case %zu: %06X", i, color);
    }
}
END_TEST

int main(void) {
    const TTest *const tests[] = {their_number_is_given_with_the_centroids,
                                  centroids_ranges,
                                  as_many_centroids_as_clusters,
                                  small_rows,
                                  the_iteration_ends,
                                  metrics,
                                  chosen_number_of_clusters,
                                  a_warm_start,
                                  a_warm_start_keeps_the_chosen_number,
                                  picture_formats_are_colours,
                                  formats_of_labels,
                                  colors_of_centroids};
    return run_tests("kmeans", setup, teardown, tests, COUNT(tests));
}
