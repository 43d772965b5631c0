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
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, 1), INVALID,
                 "count is 1|2..256");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, 0), INVALID,
                 "count is 0|2..256");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, -1), INVALID,
                 "count is -1|2..256");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, 257), INVALID,
                 "count is 257|2..256");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, INT32_MIN), INVALID,
                 "count is -2147483648|2..256");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, INT32_MAX), INVALID,
                 "count is 2147483647|2..256");
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

/* What a run finds, but for its images. */
typedef struct findings {
    int32_t clusters, iterations, empty;
    uint32_t converged;
    double inertia;
    const char *counts;
    const char *greys;   /* of centroids, which are grey */
    const char *colours; /* of centroids; where there is no text, nothing is compared */
} findings;

static void expect_numbers(const char *what, const char *text, const double *got, int count) {
    int i;
    for (i = 0; i < count; i++) {
        char *end = NULL;
        const double wanted = strtod(text, &end);
        ck_assert_msg(end != text, "%s: more than are wanted", what);
        ck_assert_msg(fabs(got[i] - wanted) < 1e-4, "%s[%d] is %f, not %f", what, i, got[i],
                      wanted);
        text = end;
    }
    ck_assert_msg(text[strspn(text, " ")] == 0, "%s: fewer than are wanted", what);
}

static void expect_found(const tables *out, findings want) {
    const gpv_kmeans_result found = waited_for();
    const int k = found.clusters;
    double counts[ROOM], centroids[3 * ROOM], greys[ROOM];
    int i;
    ck_assert_mem_eq(&found, &out->result, sizeof found);
    ck_assert_int_eq(found.clusters, want.clusters);
    ck_assert_int_eq(found.iterations, want.iterations);
    ck_assert_int_eq(found.empty, want.empty);
    ck_assert_uint_eq(found.converged, want.converged);
    ck_assert_double_eq_tol(found.inertia, want.inertia, 1e-4);
    for (i = 0; i < 3 * k; i++)
        centroids[i] = out->centroids[i];
    for (i = 0; i < k; i++) {
        counts[i] = out->counts[i];
        greys[i] = centroids[3 * i];
        ck_assert(!want.greys ||
                  (centroids[3 * i + 1] == greys[i] && centroids[3 * i + 2] == greys[i]));
    }
    if (want.counts)
        expect_numbers("counts", want.counts, counts, k);
    if (want.greys)
        expect_numbers("greys", want.greys, greys, k);
    if (want.colours)
        expect_numbers("colours", want.colours, centroids, 3 * k);
}

static void expect_planes(gpv_format format, int width, int height, const char *source,
                          const char *labels, const char *recolored, findings found) {
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
                       findings found) {
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

START_TEST(two_colours) {
    static const char both[] = "0 0 255 255 0 0 255 255";
    const findings exact = {2, 1, 0, 1, 0, "4 4", "0 255", NULL};
    set(grid_of(2));
    expect_planes(GPV_FORMAT_GRAY8, 4, 2, both, "0 0 1 1 0 0 1 1", both, exact);
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
        const findings found = {
            2, cases[i].iterations, 0, cases[i].converged, 1200, "3 2", "20 210", NULL};
        params.tolerance = cases[i].tolerance;
        params.max_iterations = cases[i].max_iterations;
        set(params);
        expect_row(source, labels, means, found);
    }
    params.max_iterations = 0;
    set(params);
    expect_row(source, labels, "20 20 20 200 200",
               (findings){2, 0, 0, 0, 1800, "3 2", "20 200", NULL});
}
END_TEST

START_TEST(means_are_rounded_half_up) {
    set(grid_of(2));
    expect_row("10 11 200 200", "0 0 1 1", "11 11 200 200",
               (findings){2, 2, 0, 1, 1.5, "2 2", "10.5 200", NULL});
    expect_row("10 10 10 11 200 200 200 200", "0 0 0 0 1 1 1 1", "10 10 10 10 200 200 200 200",
               (findings){2, 1, 0, 1, 2.25, "4 4", "10.25 200", NULL});
}
END_TEST

/* A cluster without pixels starts again at the colour that is farthest from its centroid. */
START_TEST(empty_clusters) {
    static const float far[] = {0, 250, 250}, one[] = {0, 0, 0}, middle[] = {50, 50};
    static const char source[] = "0 0 0 100 200";
    set_given(3, 0, far);
    expect_row(source, "0 0 0 0 1", "0 0 0 0 250",
               (findings){3, 0, 1, 0, 37500, "4 1 0", "0 250 250", NULL});
    set_given(3, 1, far);
    expect_row(source, "0 0 0 2 1", "25 25 25 100 200",
               (findings){3, 1, 0, 0, 5625, "3 1 1", "25 200 100", NULL});
    set_given(3, 20, far);
    expect_row(source, "0 0 0 2 1", source, (findings){3, 3, 0, 1, 0, "3 1 1", "0 200 100", NULL});
    /* of several ones the first alone */
    set_given(3, 20, one);
    expect_row("0 100 200", "2 0 1", "0 100 200",
               (findings){3, 2, 0, 1, 0, "1 1 1", "100 200 0", NULL});
    /* of equally far colours the least */
    set_given(2, 20, middle);
    expect_row("0 100", "1 0", "0 100", (findings){2, 3, 0, 1, 0, "1 1", "100 0", NULL});
}
END_TEST

START_TEST(fewer_colours_than_clusters) {
    gpv_kmeans_params params = grid_of(3);
    for (params.init = GPV_KMEANS_INIT_PLUSPLUS; params.init <= GPV_KMEANS_INIT_GRID;
         params.init++) {
        params.clusters = 3;
        set(params);
        expect_row("7 7 7 7 7", "0 0 0 0 0", "7 7 7 7 7",
                   (findings){3, 1, 2, 1, 0, "5 0 0", "7 7 7", NULL});
        expect_row("9", "0", "9", (findings){3, 1, 2, 1, 0, "1 0 0", "9 9 9", NULL});
        params.clusters = 256;
        set(params);
        expect_row("9", "0", "9", (findings){256, 1, 255, 1, 0, NULL, NULL, NULL});
    }
    set(grid_of(3));
    expect_row("0 9", "0 1", "0 9", (findings){3, 1, 1, 1, 0, "1 1 0", "0 9 9", NULL});
}
END_TEST

START_TEST(starts) {
    static const char square[] = "10 20 30 40";
    static const char tower[] = "0 9 0 9 0 9 0 9 0 9 0 9";
    const findings four = {4, 0, 0, 0, 0, "1 1 1 1", "10 20 30 40", NULL};
    unsigned char levels[256], same[256];
    gpv_kmeans_params params = grid_of(4);
    gpv_image src, dst;
    gpv_kmeans_result found;
    int i;
    params.max_iterations = 0;
    set(params);
    expect_planes(GPV_FORMAT_GRAY8, 2, 2, square, "0 1 2 3", square, four);
    /* three rows of one point: all of them to the right of the middle */
    params.clusters = 3;
    set(params);
    expect_planes(GPV_FORMAT_GRAY8, 2, 6, tower, "0 0 0 0 0 0 0 0 0 0 0 0",
                  "9 9 9 9 9 9 9 9 9 9 9 9",
                  (findings){3, 0, 2, 0, 6 * 3 * 81, "12 0 0", "9 9 9", NULL});
    /* both draw different colours as long as there are some */
    for (i = 0; i < 256; i++)
        levels[i] = (unsigned char)(7 * i);
    gpv_image_wrap(&src, sizeof src, GPV_FORMAT_GRAY8, 16, 16, levels, 0);
    gpv_image_wrap(&dst, sizeof dst, GPV_FORMAT_GRAY8, 16, 16, same, 0);
    params.clusters = 256;
    for (params.init = GPV_KMEANS_INIT_PLUSPLUS; params.init <= GPV_KMEANS_INIT_RANDOM;
         params.init++)
        for (params.seed = 0; params.seed < 20; params.seed++) {
            set(params);
            ck_assert_int_eq(run_views(&src, NULL, &dst), GPV_OK);
            ck_assert_mem_eq(levels, same, sizeof levels);
            found = waited_for();
            ck_assert_int_eq(found.empty, 0);
            ck_assert_double_eq(found.inertia, 0);
        }
}
END_TEST

START_TEST(metrics) {
    static const float centroids[] = {0, 0, 0, 6, 6, 17}, around[] = {10, 0};
    static const char source[] = "6 6 6";
    gpv_kmeans_params params = defaults();
    params.clusters = 2;
    params.init = GPV_KMEANS_INIT_GIVEN;
    params.max_iterations = 0;
    give(centroids, 2);
    set(params);
    expect_planes(GPV_FORMAT_RGB8, 1, 1, source, "0", "0 0 0",
                  (findings){2, 0, 1, 0, 108, "1 0", NULL, "0 0 0 6 6 17"});
    params.metric = GPV_KMEANS_METRIC_L1; /* which inertia does not know */
    set(params);
    expect_planes(GPV_FORMAT_RGB8, 1, 1, source, "1", "6 6 17",
                  (findings){2, 0, 1, 0, 121, "0 1", NULL, "0 0 0 6 6 17"});
    /* of equal distances that to the lowest number */
    set_given(2, 0, around);
    expect_row("5 4 6", "0 1 0", "10 0 10", (findings){2, 0, 0, 0, 3 * 57, "2 1", "10 0", NULL});
}
END_TEST

START_TEST(chosen_number_of_clusters) {
    gpv_kmeans_params params = grid_of(0);
    const findings three = {3, 2, 0, 1, 18, "2 2 2", "11 101 201", NULL};
    const findings two = {2, 1, 0, 1, 0, "2 1", "0 255", NULL};
    picture src = picture_of(GPV_FORMAT_GRAY8, 5, 1, "7 7 7 7 7");
    picture labels = picture_new(GPV_FORMAT_GRAY8, 5, 1, TIGHT);
    picture dst = picture_new(GPV_FORMAT_GRAY8, 5, 1, TIGHT);
    tables out;
    params.max_clusters = 4;
    set(params);
    expect_row("10 12 100 102 200 202", "0 0 1 1 2 2", "11 11 101 101 201 201", three);
    expect_row("0 0 255", "0 0 1", "0 0 255", two);
    params.max_clusters = 2;
    set(params);
    expect_row("0 0 255", "0 0 1", "0 0 255", two);
    expect_row("10 12 100 102 200 202", "0 0 0 0 1 1", "56 56 56 56 201 201",
               (findings){2, 2, 0, 1, 24318, "4 2", "56 201", NULL});
    for (params.init = GPV_KMEANS_INIT_PLUSPLUS; params.init <= GPV_KMEANS_INIT_GRID;
         params.init++) {
        gpv_kmeans_result found;
        set(params);
        ck_assert_int_eq(run_all(op, &src, &labels, &dst, &out), GPV_OK);
        found = waited_for();
        ck_assert_int_eq(found.clusters, 1);
        ck_assert_int_eq(found.empty, 0);
        ck_assert_double_eq(found.inertia, 0);
        ck_assert_mem_eq(&found, &out.result, sizeof found);
        ck_assert_int_eq(out.counts[0], 5);
        ck_assert_float_eq(out.centroids[0], 7);
        ck_assert_mem_eq(labels.view.data[0], "\0\0\0\0\0", 5);
        ck_assert(picture_equal(&dst, &src));
    }
    picture_free(&src);
    picture_free(&labels);
    picture_free(&dst);
}
END_TEST

START_TEST(a_warm_start) {
    static const char left[] = "10 10 200 200", right[] = "200 200 10 10";
    static const char lefts[] = "0 0 1 1", rights[] = "1 1 0 0";
    static const float given[] = {200, 10}, turned[] = {10, 10, 10, 200, 200, 200};
    const findings up = {2, 1, 0, 1, 0, "2 2", "10 200", NULL};
    const findings down = {2, 1, 0, 1, 0, "2 2", "200 10", NULL};
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
    expect_row("1 2 3", "0 1 2", "1 2 3", (findings){3, 1, 0, 1, 0, "1 1 1", "1 2 3", NULL});
    params.clusters = 2;
    set(params);
    expect_row(left, lefts, left, up);
    params.color_space = GPV_KMEANS_COLOR_SPACE_LAB;
    set(params);
    expect_row("255 255 0 0", lefts, "255 255 0 0",
               (findings){2, 1, 0, 1, 0, "2 2", NULL, "255 128 128 0 128 128"});
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
    const findings two = {2, 1, 0, 1, 0, "1 2", "11 201", NULL};
    params.max_clusters = 4;
    params.warm_start = 1;
    set(params);
    expect_row("10 12 100 102 200 202", "0 0 1 1 2 2", "11 11 101 101 201 201",
               (findings){3, 2, 0, 1, 18, "2 2 2", "11 101 201", NULL});
    expect_row("11 201 201", "0 2 2", "11 201 201",
               (findings){3, 1, 1, 1, 0, "1 0 2", "11 101 201", NULL});
    params.max_clusters = 5;
    set(params);
    expect_row("11 201 201", "0 1 1", "11 201 201", two);
}
END_TEST

START_TEST(picture_formats_are_colours) {
    static const char rgb[] = "255 0 0  0 0 255  255 0 0  250 0 0";
    static const char rgb_means[] = "253 0 0  0 0 255  253 0 0  253 0 0";
    static const char rgba[] = "255 0 0 1  0 0 255 2  255 0 0 3  250 0 0 4";
    static const char rgba_means[] = "253 0 0 1  0 0 255 2  253 0 0 3  253 0 0 4";
    static const char nv12[] = "16 16 235 235 | 128 128 128 128";
    static const char i420[] = "16 16 235 235 | 128 128 | 128 128";
    /* two colours, about 179 0 0 and 255 179 178, in one site */
    static const char site[] = "16 235 | 90 | 240";
    static const char mean_site[] = "62 189 | 109 | 184";
    const findings as_rgb = {2, 2, 0, 1, 50.0 / 3, "1 3", NULL, "0 0 255 253.333333 0 0"};
    const findings as_bgr = {2, 2, 0, 1, 50.0 / 3, "1 3", NULL, "255 0 0 0 0 253.333333"};
    const findings as_yuv = {2, 1, 0, 1, 0, "2 2", "0 255", NULL};
    static const char labels[] = "1 0 1 1", halves[] = "0 0 1 1";
    set(grid_of(2));
    expect_planes(GPV_FORMAT_RGB8, 4, 1, rgb, labels, rgb_means, as_rgb);
    expect_planes(GPV_FORMAT_BGR8, 4, 1, rgb, labels, rgb_means, as_bgr);
    expect_planes(GPV_FORMAT_RGBA8, 4, 1, rgba, labels, rgba_means, as_rgb);
    expect_planes(GPV_FORMAT_RGBX8, 4, 1, rgba, labels, rgba_means, as_rgb);
    expect_planes(GPV_FORMAT_BGRA8, 4, 1, rgba, labels, rgba_means, as_bgr);
    expect_planes(GPV_FORMAT_BGRX8, 4, 1, rgba, labels, rgba_means, as_bgr);
    expect_planes(GPV_FORMAT_NV12, 4, 1, nv12, halves, nv12, as_yuv);
    expect_planes(GPV_FORMAT_I420, 4, 1, i420, halves, i420, as_yuv);
    expect_planes(GPV_FORMAT_I420, 2, 1, site, "0 1", mean_site,
                  (findings){2, 1, 0, 1, 0, "1 1", NULL, "179 0 0 255 179 178"});
}
END_TEST

START_TEST(the_space_lab) {
    gpv_kmeans_params params = grid_of(2);
    params.color_space = GPV_KMEANS_COLOR_SPACE_LAB;
    set(params);
    expect_row("0 0 255 255", "0 0 1 1", "0 0 255 255",
               (findings){2, 1, 0, 1, 0, "2 2", NULL, "0 128 128 255 128 128"});
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
        {2, {1, 2, 3}, 0x010203},
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
                                  two_colours,
                                  the_iteration_ends,
                                  means_are_rounded_half_up,
                                  empty_clusters,
                                  fewer_colours_than_clusters,
                                  starts,
                                  metrics,
                                  chosen_number_of_clusters,
                                  a_warm_start,
                                  a_warm_start_keeps_the_chosen_number,
                                  picture_formats_are_colours,
                                  the_space_lab,
                                  formats_of_labels,
                                  colors_of_centroids};
    return run_tests("kmeans", setup, teardown, tests, COUNT(tests));
}
