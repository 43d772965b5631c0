/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <math.h>

FIXTURE(kmeans)

RESULT(kmeans, kmeans)

/* Whose start lies in the image, so that results can be foretold. */
static gpv_kmeans_params grid_of(int32_t clusters) {
    gpv_kmeans_params params = defaults();
    params.clusters = clusters;
    params.init = GPV_KMEANS_INIT_GRID;
    return params;
}

static void give(const float *centroids, int32_t count) {
    succeed(gpv_kmeans_set_centroids(op, centroids, count));
}

static gpv_status run_views(const gpv_image *src, const gpv_image *labels, const gpv_image *dst) {
    return gpv_kmeans_run(op, NULL, src, labels, dst, NULL, NULL, NULL);
}

/* --------------------------------------------------------- given centroids */

START_TEST(their_number_is_given_with_the_centroids) {
    static const char text[] = "params->init|GPV_KMEANS_INIT_GIVEN|params->clusters is 0";
    gpv_kmeans_params params = grid_of(0);
    gpv_kmeans *other = op;
    set(params);
    params.init = GPV_KMEANS_INIT_GIVEN;
    refused(gpv_kmeans_set_params(op, &params), text);
    refused(gpv_kmeans_create(context, &params, &other), text);
    ck_assert_ptr_null(other);
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
    char text[64];
    size_t i;
    int at;
    for (i = 0; i < COUNT(cases); i++)
        for (at = 0; at < 3 * GPV_KMEANS_MAX_CLUSTERS; at += at < 6 ? 1 : 761) {
            gpv_status status;
            centroids[at] = cases[i].value;
            status = gpv_kmeans_set_centroids(op, centroids, GPV_KMEANS_MAX_CLUSTERS);
            snprintf(text, sizeof text, "centroids[%d]%s|0..255", at,
                     cases[i].text ? cases[i].text : "");
            expect_status(context, &keep, status, cases[i].text ? INVALID : GPV_OK, text);
            centroids[at] = 0;
        }
    refused(gpv_kmeans_set_centroids(op, NULL, 2), "centroids|NULL");
    for (i = 0; i < COUNT(counts); i++) {
        snprintf(text, sizeof text, "count is %d|2..256", counts[i]);
        refused(gpv_kmeans_set_centroids(op, centroids, counts[i]), text);
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
    refused(run_views(&src, NULL, &dst),
            "params->init|GPV_KMEANS_INIT_GIVEN|clusters is 4|gpv_kmeans_set_centroids()|given 0");
    give(three, 3);
    refused(run_views(&src, NULL, &dst), "clusters is 4|given 3");
    params.clusters = 2;
    set(params);
    refused(run_views(&src, NULL, &dst), "clusters is 2|given 3");
    ck_assert_int_eq(gpv_kmeans_set_centroids(op, three, 257), INVALID); /* those before stay */
    refused(run_views(&src, NULL, &dst), "clusters is 2|given 3");
    ck_assert_int_eq(gpv_kmeans_prepare(op, &src, NULL, &dst), GPV_OK);
    expect_nothing_found();
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

enum { ROOM = GPV_KMEANS_MAX_CLUSTERS };

/* What a run may write but for images. */
static struct {
    float centroids[3 * ROOM];
    int32_t counts[ROOM];
    gpv_kmeans_result result;
} out;

/* What a run has found, but for its images: clusters, iterations, empty ones, whether it converged,
 * and inertia | counts | centroids, of grey ones a number each. want may leave out the end. */
static void expect_found(const char *want) {
    const gpv_kmeans_result found = waited_for();
    bool grey = true;
    char text[8192];
    int i, used;
    ck_assert_mem_eq(&found, &out.result, sizeof found);
    used = snprintf(text, sizeof text, "%d %d %d %u %g |", found.clusters, found.iterations,
                    found.empty, found.converged, found.inertia);
    for (i = 0; i < found.clusters; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, " %d", out.counts[i]);
        grey = grey && out.centroids[3 * i] == out.centroids[3 * i + 1] &&
               out.centroids[3 * i] == out.centroids[3 * i + 2];
    }
    used += snprintf(text + used, sizeof text - (size_t)used, " |");
    for (i = 0; i < 3 * found.clusters; i += grey ? 3 : 1)
        used += snprintf(text + used, sizeof text - (size_t)used, " %g", out.centroids[i]);
    ck_assert_msg(strncmp(text, want, strlen(want)) == 0 && strchr(" ", text[strlen(want)]),
                  "\"%s\", not \"%s\"", text, want);
}

static void expect_planes(gpv_format format, int width, const char *source, const char *labels,
                          const char *recolored, const char *found) {
    const gpv_buffer centroids = buffer_of(out.centroids, sizeof out.centroids);
    const gpv_buffer counts = buffer_of(out.counts, sizeof out.counts);
    const gpv_buffer result = buffer_of(&out.result, sizeof out.result);
    picture src = picture_of(format, width, 1, source);
    picture want_labels = picture_of(GPV_FORMAT_GRAY8, width, 1, labels);
    picture want_dst = picture_of(format, width, 1, recolored);
    picture numbers = picture_new(GPV_FORMAT_GRAY8, width, 1, TIGHT);
    picture dst = picture_new(format, width, 1, TIGHT);
    memset(&out, CANARY, sizeof out);
    succeed(gpv_kmeans_run(op, NULL, &src.view, &numbers.view, &dst.view, &centroids, &counts,
                           &result));
    expect_picture(&numbers, &want_labels);
    expect_picture(&dst, &want_dst);
    expect_found(found);
    picture_free(&src);
}

static void expect_row(const char *source, const char *labels, const char *recolored,
                       const char *found) {
    int width = 1;
    for (const char *c = source; *c; c++)
        width += *c == ' ';
    expect_planes(GPV_FORMAT_GRAY8, width, source, labels, recolored, found);
}

static void set_given(int32_t clusters, int32_t max_iterations, const float *greys) {
    float centroids[3 * ROOM];
    gpv_kmeans_params params = defaults();
    for (int i = 0; i < 3 * clusters; i++)
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
    {NULL, 256, 20, "9", "0", "9", "256 1 255 1 0"},
};

START_TEST(small_rows) {
    for (size_t i = 0; i < COUNT(rows); i++) {
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
    expect_planes(GPV_FORMAT_RGB8, 1, source, "0", "0 0 0", "2 0 1 0 108 | 1 0 | 0 0 0 6 6 17");
    params.metric = GPV_KMEANS_METRIC_L1; /* which inertia does not know */
    set(params);
    expect_planes(GPV_FORMAT_RGB8, 1, source, "1", "6 6 17", "2 0 1 0 121 | 0 1 | 0 0 0 6 6 17");
}
END_TEST

#define LEFT "10 10 200 200"
#define RIGHT "200 200 10 10"
#define UP "2 1 0 1 0 | 2 2 | 10 200"
#define DOWN "2 1 0 1 0 | 2 2 | 200 10"
enum { RGB = GPV_KMEANS_COLOR_SPACE_RGB };

/* Runs of one operator, one after the other. */
static const struct {
    uint32_t warm_start;
    int32_t clusters, max_clusters;
    gpv_kmeans_color_space space;
    const char *source, *labels, *recolored, *found;
} frames[] = {
    /* chosen numbers of clusters; one colour is one cluster */
    {0, 0, 4, RGB, "10 12 100 102 200 202", "0 0 1 1 2 2", "11 11 101 101 201 201",
     "3 2 0 1 18 | 2 2 2 | 11 101 201"},
    {0, 0, 4, RGB, "0 0 255", "0 0 1", "0 0 255", "2 1 0 1 0 | 2 1 | 0 255"},
    {0, 0, 2, RGB, "10 12 100 102 200 202", "0 0 0 0 1 1", "56 56 56 56 201 201",
     "2 2 0 1 24318 | 4 2 | 56 201"},
    {0, 0, 2, RGB, "7 7 7 7 7", "0 0 0 0 0", "7 7 7 7 7", "1 1 0 1 0 | 5 | 7"},
    /* a warm start keeps numbers; the run before may have been a cold one */
    {0, 2, 16, RGB, LEFT, "0 0 1 1", LEFT, UP},
    {1, 2, 16, RGB, RIGHT, "1 1 0 0", RIGHT, UP},
    {1, 2, 7, RGB, RIGHT, "1 1 0 0", RIGHT, UP}, /* which is not read */
    {0, 2, 16, RGB, RIGHT, "0 0 1 1", RIGHT, DOWN},
    {1, 2, 16, RGB, LEFT, "1 1 0 0", LEFT, DOWN},
    /* but after a fit that is much worse than the best one since it began */
    {0, 2, 16, RGB, "90 110 190 210", "0 0 1 1", "100 100 200 200", "2 2 0 1 1200 | 2 2 | 100 200"},
    {1, 2, 16, RGB, "95 105 195 205", "0 0 1 1", "100 100 200 200", "2 1 0 1 300 | 2 2 | 100 200"},
    {1, 2, 16, RGB, "92 108 192 208", "0 0 1 1", "100 100 200 200", "2 1 0 1 768 | 2 2 | 100 200"},
    {1, 2, 16, RGB, RIGHT, "0 0 1 1", RIGHT, DOWN},
    /* or for another number of clusters, or another space */
    {1, 3, 16, RGB, "1 2 3", "0 1 2", "1 2 3", "3 1 0 1 0 | 1 1 1 | 1 2 3"},
    {1, 2, 16, RGB, LEFT, "0 0 1 1", LEFT, UP},
    {1, 2, 16, GPV_KMEANS_COLOR_SPACE_LAB, "255 255 0 0", "0 0 1 1", "255 255 0 0",
     "2 1 0 1 0 | 2 2 | 255 128 128 0 128 128"},
    /* and the chosen number, until it may be another */
    {1, 0, 4, RGB, "10 12 100 102 200 202", "0 0 1 1 2 2", "11 11 101 101 201 201",
     "3 2 0 1 18 | 2 2 2 | 11 101 201"},
    {1, 0, 4, RGB, "11 201 201", "0 2 2", "11 201 201", "3 1 1 1 0 | 1 0 2 | 11 101 201"},
    {1, 0, 5, RGB, "10 12 100 102 200 202", "0 0 1 1 2 2", "11 11 101 101 201 201",
     "3 2 0 1 18 | 2 2 2 | 11 101 201"},
    {1, 0, 4, RGB, "11 201 201", "0 1 1", "11 201 201", "2 1 0 1 0 | 1 2 | 11 201"},
};

START_TEST(one_run_after_the_other) {
    for (size_t i = 0; i < COUNT(frames); i++) {
        gpv_kmeans_params params = grid_of(frames[i].clusters);
        params.max_clusters = frames[i].max_clusters;
        params.color_space = frames[i].space;
        params.warm_start = frames[i].warm_start;
        set(params);
        expect_row(frames[i].source, frames[i].labels, frames[i].recolored, frames[i].found);
    }
}
END_TEST

/* What is refused is no run; given centroids come before those of the run before once. */
START_TEST(what_a_warm_start_goes_on_from) {
    static const float given[] = {200, 10}, turned[] = {10, 10, 10, 200, 200, 200};
    gpv_kmeans_params params = grid_of(2);
    gpv_image bad;
    gpv_image_init(&bad, sizeof bad);
    params.warm_start = 1;
    set(params);
    expect_row(LEFT, "0 0 1 1", LEFT, UP);
    ck_assert_int_eq(run_views(&bad, NULL, NULL), INVALID);
    params.metric = GPV_KMEANS_METRIC_L1;
    params.init = GPV_KMEANS_INIT_RANDOM;
    params.seed = 5;
    set(params);
    expect_row(RIGHT, "1 1 0 0", RIGHT, UP);
    set(grid_of(3));
    expect_row("1 2 3", "0 1 2", "1 2 3", "3 1 0 1 0 | 1 1 1 | 1 2 3");
    set_given(2, 20, given);
    params = defaults();
    params.clusters = 2;
    params.init = GPV_KMEANS_INIT_GIVEN;
    params.warm_start = 1;
    set(params);
    expect_row(LEFT, "1 1 0 0", LEFT, DOWN);
    give(turned, 2);
    expect_row(LEFT, "1 1 0 0", LEFT, DOWN);
    params.warm_start = 0;
    set(params);
    expect_row(LEFT, "0 0 1 1", LEFT, UP);
}
END_TEST

/* tests/parity/kmeans.cpp has every format, in RGB and in Lab. */
START_TEST(pictures_have_colours) {
    set(grid_of(2));
    expect_planes(GPV_FORMAT_BGRA8, 4, "255 0 0 1  0 0 255 2  255 0 0 3  250 0 0 4", "1 0 1 1",
                  "253 0 0 1  0 0 255 2  253 0 0 3  253 0 0 4",
                  "2 2 0 1 16.6667 | 1 3 | 255 0 0 0 0 253.333");
    /* two colours, about 179 0 0 and 255 179 178, in one site */
    expect_planes(GPV_FORMAT_I420, 2, "16 235 | 90 | 240", "0 1", "62 189 | 109 | 184",
                  "2 1 0 1 0 | 1 1 | 179 0 0 255 179 178");
}
END_TEST

START_TEST(the_matrix_goes_with_the_height) {
    const gpv_buffer centroids = buffer_of(out.centroids, sizeof out.centroids);
    set(grid_of(2));
    for (int height = 719; height <= 720; height++) {
        picture src = picture_new(GPV_FORMAT_NV12, 2, height, TIGHT);
        float wanted[3];
        memset(src.view.data[0], 81, src.size[0]);
        memset(src.view.data[1], 150, src.size[1]);
        src.view.color_matrix = height < 720 ? GPV_COLOR_MATRIX_BT601 : GPV_COLOR_MATRIX_BT709;
        succeed(gpv_kmeans_run(op, NULL, &src.view, NULL, NULL, &centroids, NULL, NULL));
        memcpy(wanted, out.centroids, sizeof wanted);
        src.view.color_matrix = GPV_COLOR_MATRIX_AUTO;
        succeed(gpv_kmeans_run(op, NULL, &src.view, NULL, NULL, &centroids, NULL, NULL));
        ck_assert_mem_eq(out.centroids, wanted, sizeof wanted);
        picture_free(&src);
    }
}
END_TEST

/* Beyond what centroids are, and by eye; tests/parity/kmeans.cpp has the others. */
START_TEST(colors_of_centroids) {
    static const struct {
        gpv_kmeans_color_space space;
        float centroid[3];
        uint32_t color;
    } cases[] = {
        {RGB, {0.49f, 0.5f, 254.5f}, 0x0001FF},
        {RGB, {-1, 256, 1e30f}, 0x00FFFF},
        {RGB, {-INFINITY, INFINITY, NAN}, 0x00FF00},
        {UINT32_MAX, {1, 2, 3}, 0x010203},
        {GPV_KMEANS_COLOR_SPACE_LAB, {0, 128, 128}, 0x000000},
        {GPV_KMEANS_COLOR_SPACE_LAB, {300, 128, 128}, 0xFFFFFF},
        {GPV_KMEANS_COLOR_SPACE_LAB, {127.5f, 128, 128}, 0x777777},             /* L* = 50 */
        {GPV_KMEANS_COLOR_SPACE_LAB, {135.765f, 208.092f, 195.203f}, 0xFF0000}, /* red */
        {GPV_KMEANS_COLOR_SPACE_LAB, {255, 255, 255}, 0xFF4600}, /* which no colour has */
    };
    ck_assert_uint_eq(gpv_kmeans_color(RGB, NULL), 0);
    ck_assert_uint_eq(gpv_kmeans_color(GPV_KMEANS_COLOR_SPACE_LAB, NULL), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const uint32_t color = gpv_kmeans_color(cases[i].space, cases[i].centroid);
        ck_assert_msg(color == cases[i].color, "case %zu: %06X", i, color);
    }
}
END_TEST

RUN_TESTS("kmeans", setup, teardown, their_number_is_given_with_the_centroids, centroids_ranges,
          as_many_centroids_as_clusters, small_rows, the_iteration_ends, metrics,
          one_run_after_the_other, what_a_warm_start_goes_on_from, pictures_have_colours,
          the_matrix_goes_with_the_height, colors_of_centroids)
