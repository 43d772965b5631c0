/* SPDX-License-Identifier: BSD-2-Clause */
/* Eight threads, each with a context and operators of its own, make calls of every kind, each in an
 * order of its own. Whatever comes out, pixels, records, statuses and texts, is what comes out when
 * one of them runs after the other. So it is of large images on one thread of oneTBB and on four,
 * with nothing beside it that could order what they do. With the word cuda: on the GPU, each on a
 * stream of its own. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuvision/gpuvision.h>

#ifdef HAVE_CUDA
#    include <cuda_runtime_api.h>
#endif

enum {
    THREADS = 8,
    CALLS = 1000,
    LARGE_EVERY = 160,
    LARGE_ROUNDS = 3,
    RECORDS = 200,
    CLUSTERS = 16,
    SKIPPED = 77
};

enum { MAX_KINDS = 80 };

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define INVALID GPV_ERR_INVALID_ARGUMENT

static void require(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* User data of a context's callbacks. */
typedef struct books {
    int lines[GPV_LOG_LEVEL_DEBUG + 1]; /* logged, by level */
    char text[1024];                    /* the last one */
    int live;                           /* allocations that are not yet given back */
} books;

static void keep_line(void *user, gpv_log_level level, const char *message) {
    books *keep = user;
    keep->lines[level]++;
    snprintf(keep->text, sizeof keep->text, "%s", message);
}

static void *give(void *user, gpv_memory memory, uint64_t size, gpv_stream stream) {
    void *block = NULL;
    (void)memory, (void)stream;
    if (posix_memalign(&block, 256, size))
        return NULL;
    ((books *)user)->live++;
    return block;
}

static void take_back(void *user, gpv_memory memory, void *block, gpv_stream stream) {
    (void)memory, (void)stream;
    ((books *)user)->live--;
    free(block);
}

typedef struct worker {
    gpv_backend backend;
    gpv_stream stream;
    void (*make)(struct worker *); /* calls */
    int threads;                   /* of a loop of the library */
    uint64_t random;
    books keep;
    gpv_context *context;
    gpv_erode *erode;
    gpv_ccl *ccl;
    gpv_graphcut *graphcut;
    gpv_kmeans *kmeans;
    gpv_match *match;
    gpv_segment *segment;
    gpv_sift *sift;
    uint64_t sum;             /* of all that the call has given */
    uint64_t sums[MAX_KINDS]; /* and those of its kind */
    int calls[MAX_KINDS];
    bool only_large;
    int large;          /* images */
    char failure[2048]; /* "" if there was none */
} worker;

/* ---------------------------------------------------------------- what is drawn, and noted */

static unsigned below(worker *w, unsigned limit) {
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((w->random >> 32) % limit);
}

static int between(worker *w, int low, int high) {
    return low + (int)below(w, (unsigned)(high - low + 1));
}

static float number(worker *w, float maximum) {
    return maximum * (float)below(w, 1 << 16) / (1 << 16);
}

static void note(worker *w, const void *bytes, size_t count) {
    size_t i;
    for (i = 0; i < count; i++)
        w->sum = (w->sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

static void note_text(worker *w, const char *text) {
    note(w, text, strlen(text));
}

typedef struct size {
    int width, height;
} size;

/* Now and then worth several threads. */
static size any_size(worker *w) {
    static const size sizes[] = {{1, 1}, {7, 1}, {5, 33}, {33, 6}, {61, 45}, {97, 61}};
    static const size large = {641, 413};
    if (!w->only_large && below(w, LARGE_EVERY))
        return sizes[below(w, COUNT(sizes))];
    w->large++;
    return large;
}

/* Of those that every operator takes. */
static gpv_format any_format(worker *w) {
    static const gpv_format formats[] = {GPV_FORMAT_GRAY8, GPV_FORMAT_RGB8,  GPV_FORMAT_BGR8,
                                         GPV_FORMAT_RGBA8, GPV_FORMAT_BGRA8, GPV_FORMAT_RGBX8,
                                         GPV_FORMAT_BGRX8, GPV_FORMAT_NV12,  GPV_FORMAT_I420};
    return formats[below(w, COUNT(formats))];
}

static gpv_buffer buffer_of(void *data, size_t size) {
    gpv_buffer buffer;
    gpv_buffer_init(&buffer, sizeof buffer);
    buffer.data = data;
    buffer.size = size;
    return buffer;
}

typedef struct picture {
    gpv_image view;
    size_t bytes;
} picture;

/* With gaps between its rows or without. */
static picture blank(worker *w, gpv_format format, size s) {
    picture p;
    int64_t stride = 0, bytes;
    void *block = NULL;
    if (below(w, 2)) {
        require(gpv_format_plane(format, 0, s.width, s.height, &stride, NULL) == GPV_OK, "a plane");
        stride += 12;
    }
    bytes = gpv_image_wrap(&p.view, sizeof p.view, format, s.width, s.height, NULL, stride);
    require(bytes > 0 && (block = malloc((size_t)bytes)), "memory of a picture");
    gpv_image_wrap(&p.view, sizeof p.view, format, s.width, s.height, block, stride);
    p.bytes = (size_t)bytes;
    memset(block, 0xC5, p.bytes);
    return p;
}

static void picture_free(picture *p) {
    free(p->view.data[0]);
}

static picture noise(worker *w, gpv_format format, size s) {
    picture p = blank(w, format, s);
    uint32_t seed = below(w, 1 << 30);
    size_t i;
    for (i = 0; i < p.bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        ((unsigned char *)p.view.data[0])[i] = (unsigned char)(seed >> 24);
    }
    return p;
}

/* Of 32 bits, from low to high. */
static picture numbers(worker *w, gpv_format format, size s, int low, int high) {
    picture p = blank(w, format, s);
    size_t i;
    for (i = 0; i < p.bytes / sizeof(int32_t); i++)
        ((int32_t *)p.view.data[0])[i] = between(w, low, high);
    return p;
}

/* It ends it. */
static void note_picture(worker *w, picture *p) {
    note(w, p->view.data[0], p->bytes);
    picture_free(p);
}

/* ---------------------------------------------------------------- parameters */

static gpv_erode_params any_erode(worker *w) {
    gpv_erode_params params;
    gpv_erode_params_init(&params, sizeof params);
    params.operation = below(w, 7);
    params.shape = below(w, 3);
    params.radius = between(w, 0, 9);
    params.radius_y = between(w, -1, 9);
    params.iterations = between(w, 1, 2);
    params.threshold = below(w, 2) ? 0 : between(w, 1, 255);
    params.border = below(w, 2);
    return params;
}

static gpv_ccl_params any_ccl(worker *w) {
    gpv_ccl_params params;
    gpv_ccl_params_init(&params, sizeof params);
    params.mode = below(w, 2);
    params.connectivity = below(w, 2) ? 8 : 4;
    params.threshold = between(w, 0, 255);
    params.invert = below(w, 2);
    params.min_area = between(w, 0, 3);
    params.output = below(w, 3);
    return params;
}

static gpv_graphcut_params any_graphcut(worker *w) {
    gpv_graphcut_params params;
    gpv_graphcut_params_init(&params, sizeof params);
    params.certificate = below(w, 2);
    return params;
}

static gpv_kmeans_params any_kmeans(worker *w) {
    gpv_kmeans_params params;
    gpv_kmeans_params_init(&params, sizeof params);
    params.clusters = below(w, 5) ? between(w, 2, CLUSTERS) : 0;
    params.max_clusters = 4;
    params.max_iterations = between(w, 0, 6);
    params.metric = below(w, 2);
    params.init = below(w, 3);
    params.color_space = below(w, 2);
    params.seed = below(w, 100);
    params.warm_start = below(w, 2);
    return params;
}

static gpv_match_params any_match(worker *w) {
    gpv_match_params params;
    gpv_match_params_init(&params, sizeof params);
    params.ratio = number(w, 1);
    params.mutual = below(w, 2);
    return params;
}

static gpv_segment_params any_segment(worker *w) {
    gpv_segment_params params;
    gpv_segment_params_init(&params, sizeof params);
    params.model = below(w, 3);
    params.warm_start = below(w, 3);
    params.connectivity = below(w, 2) ? 8 : 4;
    params.iterations = between(w, 1, 2);
    params.certificate = below(w, 2);
    return params;
}

static gpv_sift_params any_sift(worker *w) {
    gpv_sift_params params;
    gpv_sift_params_init(&params, sizeof params);
    params.max_features = between(w, 0, RECORDS);
    params.octave_layers = between(w, 1, 4);
    params.upsample = below(w, 4) == 0;
    params.upright = below(w, 2);
    params.root_sift = below(w, 2);
    params.descriptor_type = below(w, 2);
    return params;
}

/* ---------------------------------------------------------------- of every operator */

/* Whether a call has been refused, with a text that is logged, too. */
static gpv_status refused(worker *w, gpv_status status) {
    const char *text = gpv_context_error(w->context);
    note_text(w, text);
    return status == INVALID && *text && strcmp(text, w->keep.text) == 0 ? GPV_OK : INVALID;
}

typedef gpv_status call(worker *w);

/* Of a run, what it enqueued, too. */
static gpv_status finished(worker *w, gpv_status status, call *query, call *wait) {
    if (status == GPV_OK && below(w, 2))
        status = query(w);
    return status == GPV_OK ? wait(w) : status;
}

/* Behind the name: arguments that no run takes. */
#define OPERATOR(stem, ...)                                                                        \
    static gpv_status stem##_create(worker *w) {                                                   \
        const gpv_##stem##_params params = any_##stem(w);                                          \
        gpv_##stem##_destroy(&w->stem);                                                            \
        return gpv_##stem##_create(w->context, below(w, 4) ? &params : NULL, &w->stem);            \
    }                                                                                              \
    static gpv_status stem##_set_params(worker *w) {                                               \
        const gpv_##stem##_params params = any_##stem(w);                                          \
        return gpv_##stem##_set_params(w->stem, &params);                                          \
    }                                                                                              \
    static gpv_status stem##_refuse_params(worker *w) {                                            \
        gpv_##stem##_params params = any_##stem(w);                                                \
        params.struct_size = below(w, 4);                                                          \
        return refused(w, gpv_##stem##_set_params(w->stem, &params));                              \
    }                                                                                              \
    static gpv_status stem##_refuse_run(worker *w) {                                               \
        return refused(w, gpv_##stem##_run(w->stem, w->stream, __VA_ARGS__));                      \
    }                                                                                              \
    static gpv_status stem##_query(worker *w) {                                                    \
        gpv_status status;                                                                         \
        do                                                                                         \
            status = gpv_##stem##_query(w->stem);                                                  \
        while (status == GPV_NOT_READY);                                                           \
        return status;                                                                             \
    }

#define WAIT(stem, results)                                                                        \
    static gpv_status stem##_wait(worker *w) {                                                     \
        results##_result result;                                                                   \
        gpv_status status;                                                                         \
        results##_result_init(&result, sizeof result);                                             \
        status = gpv_##stem##_wait(w->stem, &result);                                              \
        note(w, &result, sizeof result);                                                           \
        return status;                                                                             \
    }

OPERATOR(erode, NULL, NULL)
OPERATOR(ccl, NULL, NULL, NULL, 0, NULL)
OPERATOR(graphcut, NULL, NULL, NULL, NULL)
OPERATOR(kmeans, NULL, NULL, NULL, NULL, NULL, NULL)
OPERATOR(match, NULL, -1, NULL, NULL, 0, NULL, NULL, NULL)
OPERATOR(segment, NULL, NULL, NULL, NULL, NULL, NULL)
OPERATOR(sift, NULL, NULL, NULL, 0, NULL, NULL)

WAIT(ccl, gpv_ccl)
WAIT(graphcut, gpv_graphcut)
WAIT(kmeans, gpv_kmeans)
WAIT(match, gpv_match)
WAIT(segment, gpv_graphcut)
WAIT(sift, gpv_sift)

static gpv_status erode_wait(worker *w) {
    return gpv_erode_wait(w->erode);
}

/* ---------------------------------------------------------------- prepare */

static gpv_status erode_prepare(worker *w) {
    picture like = blank(w, any_format(w), any_size(w));
    const gpv_status status = gpv_erode_prepare(w->erode, &like.view);
    picture_free(&like);
    return status;
}

static gpv_status ccl_prepare(worker *w) {
    picture src = blank(w, any_format(w), any_size(w));
    const gpv_status status = gpv_ccl_prepare(w->ccl, &src.view, NULL, RECORDS);
    picture_free(&src);
    return status;
}

static gpv_format any_links(worker *w) {
    return below(w, 2) ? GPV_FORMAT_CAP32X4 : GPV_FORMAT_CAP32X8;
}

static gpv_status graphcut_prepare(worker *w) {
    picture links = blank(w, any_links(w), any_size(w));
    const gpv_status status = gpv_graphcut_prepare(w->graphcut, &links.view);
    picture_free(&links);
    return status;
}

static gpv_status kmeans_prepare(worker *w) {
    picture src = blank(w, any_format(w), any_size(w));
    const gpv_status status = gpv_kmeans_prepare(w->kmeans, &src.view, NULL, &src.view);
    picture_free(&src);
    return status;
}

static gpv_status match_prepare(worker *w) {
    const int queries = between(w, 0, RECORDS), train = between(w, 0, RECORDS);
    return gpv_match_prepare(w->match, queries, train, GPV_MEMORY_HOST);
}

static gpv_status segment_prepare(worker *w) {
    picture src = blank(w, any_format(w), any_size(w));
    const gpv_status status = gpv_segment_prepare(w->segment, &src.view, NULL, NULL, &src.view);
    picture_free(&src);
    return status;
}

static gpv_status sift_prepare(worker *w) {
    picture src = blank(w, any_format(w), any_size(w));
    const gpv_status status = gpv_sift_prepare(w->sift, &src.view, NULL, RECORDS);
    picture_free(&src);
    return status;
}

/* ---------------------------------------------------------------- run, and what else computes */

static gpv_status erode_run(worker *w) {
    const size s = any_size(w);
    const gpv_format format = any_format(w);
    picture src = noise(w, format, s), dst = blank(w, format, s);
    gpv_status status = gpv_erode_run(w->erode, w->stream, &src.view, &dst.view);
    status = finished(w, status, erode_query, erode_wait);
    note_picture(w, &dst);
    picture_free(&src);
    return status;
}

static gpv_status ccl_run(worker *w) {
    static const gpv_format outputs[] = {GPV_FORMAT_LABEL32, GPV_FORMAT_I420, GPV_FORMAT_RGB8};
    const gpv_ccl_params params = any_ccl(w);
    const size s = any_size(w);
    picture src = noise(w, any_format(w), s), dst = blank(w, outputs[params.output], s);
    gpv_ccl_component records[RECORDS];
    const gpv_buffer components = buffer_of(records, sizeof records);
    gpv_status status = gpv_ccl_set_params(w->ccl, &params);
    memset(records, 0, sizeof records);
    if (status == GPV_OK)
        status = gpv_ccl_run(w->ccl, w->stream, &src.view, &dst.view, &components, 0, NULL);
    status = finished(w, status, ccl_query, ccl_wait);
    note(w, records, sizeof records);
    note_picture(w, &dst);
    picture_free(&src);
    return status;
}

static gpv_status graphcut_run(worker *w) {
    const size s = any_size(w);
    picture terminals = numbers(w, GPV_FORMAT_LABEL32, s, -40, 40);
    picture links = numbers(w, any_links(w), s, 0, 40), mask = blank(w, GPV_FORMAT_GRAY8, s);
    gpv_status status =
        gpv_graphcut_run(w->graphcut, w->stream, &terminals.view, &links.view, &mask.view, NULL);
    status = finished(w, status, graphcut_query, graphcut_wait);
    note_picture(w, &mask);
    picture_free(&terminals);
    picture_free(&links);
    return status;
}

static gpv_status kmeans_run(worker *w) {
    const size s = any_size(w);
    const gpv_format format = any_format(w);
    picture src = noise(w, format, s), dst = blank(w, format, s);
    picture labels = blank(w, GPV_FORMAT_GRAY8, s);
    float room[3 * CLUSTERS] = {0};
    int32_t pixels[CLUSTERS] = {0};
    const gpv_buffer centroids = buffer_of(room, sizeof room);
    const gpv_buffer counts = buffer_of(pixels, sizeof pixels);
    gpv_status status = gpv_kmeans_run(w->kmeans, w->stream, &src.view, &labels.view, &dst.view,
                                       &centroids, &counts, NULL);
    status = finished(w, status, kmeans_query, kmeans_wait);
    note(w, room, sizeof room);
    note(w, pixels, sizeof pixels);
    note_picture(w, &labels);
    note_picture(w, &dst);
    picture_free(&src);
    return status;
}

static gpv_status kmeans_run_from(worker *w) {
    gpv_kmeans_params params = any_kmeans(w);
    float centroids[3 * CLUSTERS];
    gpv_status status;
    int i;
    params.clusters = between(w, 2, CLUSTERS);
    params.init = GPV_KMEANS_INIT_GIVEN;
    for (i = 0; i < 3 * params.clusters; i++)
        centroids[i] = number(w, 255);
    status = gpv_kmeans_set_centroids(w->kmeans, centroids, params.clusters);
    if (status == GPV_OK)
        status = gpv_kmeans_set_params(w->kmeans, &params);
    return status == GPV_OK ? kmeans_run(w) : status;
}

static gpv_status kmeans_color(worker *w) {
    const float centroid[3] = {number(w, 255), number(w, 255), number(w, 255)};
    const uint32_t color = gpv_kmeans_color(below(w, 2), centroid);
    note(w, &color, sizeof color);
    return GPV_OK;
}

static void fill_words(worker *w, uint32_t *words, size_t count) {
    while (count--)
        *words++ = below(w, 1u << 31) * 2 + below(w, 2);
}

static gpv_status match_run(worker *w) {
    enum { WORDS = RECORDS * GPV_SIFT_DESCRIPTOR_LENGTH / 4 };
    uint32_t of_query[WORDS], of_train[WORDS];
    gpv_match_nearest both[RECORDS];
    gpv_match_pair matches[RECORDS];
    const gpv_buffer query = buffer_of(of_query, sizeof of_query);
    const gpv_buffer train = buffer_of(of_train, sizeof of_train);
    const gpv_buffer nearest = buffer_of(both, sizeof both);
    const gpv_buffer pairs = buffer_of(matches, sizeof matches);
    const int queries = between(w, 0, RECORDS), trained = between(w, 0, RECORDS);
    gpv_status status;
    fill_words(w, of_query, WORDS);
    fill_words(w, of_train, WORDS);
    memset(both, 0, sizeof both);
    memset(matches, 0, sizeof matches);
    status = gpv_match_run(w->match, w->stream, &query, queries, NULL, &train, trained, &nearest,
                           &pairs, NULL);
    status = finished(w, status, match_query, match_wait);
    note(w, both, sizeof both);
    note(w, matches, sizeof matches);
    return status;
}

static gpv_status match_draw(worker *w) {
    picture dst = noise(w, any_format(w), any_size(w));
    float points[2 * 8];
    gpv_status status;
    size_t i;
    for (i = 0; i < COUNT(points); i++)
        points[i] = number(w, 100);
    status = gpv_draw_outline(w->match, w->stream, &dst.view, points, between(w, 2, 8),
                              1 + number(w, 9), below(w, 0xffffff));
    note_picture(w, &dst);
    return status;
}

static gpv_status homography_find(worker *w) {
    enum { PAIRS = 40 };
    float from[2 * PAIRS], to[2 * PAIRS];
    uint8_t inliers[PAIRS] = {0};
    gpv_homography_params params;
    gpv_homography found;
    gpv_status status;
    int i;
    gpv_homography_params_init(&params, sizeof params);
    gpv_homography_init(&found, sizeof found);
    params.max_iterations = 100;
    params.seed = below(w, 1000);
    for (i = 0; i < 2 * PAIRS; i++) {
        from[i] = number(w, 640);
        to[i] = from[i] + (i % 10 ? 17 : number(w, 99));
    }
    status =
        gpv_homography_find(w->context, &params, from, to, between(w, 0, PAIRS), inliers, &found);
    note(w, inliers, sizeof inliers);
    note(w, &found, sizeof found);
    return status;
}

static gpv_status segment_run(worker *w) {
    const size s = any_size(w);
    const gpv_format format = any_format(w);
    const gpv_rect rect = {0, 0, (s.width + 1) / 2, (s.height + 2) / 3};
    picture src = noise(w, format, s), dst = blank(w, format, s);
    picture seeds = noise(w, GPV_FORMAT_GRAY8, s), mask = blank(w, GPV_FORMAT_GRAY8, s);
    gpv_status status =
        gpv_segment_run(w->segment, w->stream, &src.view, below(w, 4) ? &seeds.view : NULL,
                        below(w, 2) ? &rect : NULL, &mask.view, &dst.view, NULL);
    status = finished(w, status, segment_query, segment_wait);
    note_picture(w, &mask);
    note_picture(w, &dst);
    picture_free(&src);
    picture_free(&seeds);
    return status;
}

static gpv_status segment_forget(worker *w) {
    return gpv_segment_forget(w->segment);
}

/* Of either type. */
typedef float descriptor[GPV_SIFT_DESCRIPTOR_LENGTH];

static gpv_status sift_run(worker *w) {
    const size s = any_size(w);
    picture src = noise(w, any_format(w), s), mask = noise(w, GPV_FORMAT_GRAY8, s);
    gpv_sift_keypoint found[RECORDS];
    descriptor of_found[RECORDS];
    const gpv_buffer keypoints = buffer_of(found, sizeof found);
    const gpv_buffer descriptors = buffer_of(of_found, sizeof of_found);
    gpv_status status;
    memset(found, 0, sizeof found);
    memset(of_found, 0, sizeof of_found);
    status = gpv_sift_run(w->sift, w->stream, &src.view, below(w, 2) ? &mask.view : NULL,
                          &keypoints, 0, &descriptors, NULL);
    status = finished(w, status, sift_query, sift_wait);
    note(w, found, sizeof found);
    note(w, of_found, sizeof of_found);
    picture_free(&src);
    picture_free(&mask);
    return status;
}

static gpv_status sift_describe(worker *w) {
    const size s = any_size(w);
    picture src = noise(w, any_format(w), s);
    gpv_sift_keypoint given[RECORDS];
    descriptor of_given[RECORDS];
    const gpv_buffer keypoints = buffer_of(given, sizeof given);
    const gpv_buffer descriptors = buffer_of(of_given, sizeof of_given);
    gpv_status status;
    int i;
    memset(given, 0, sizeof given);
    memset(of_given, 0, sizeof of_given);
    for (i = 0; i < RECORDS; i++) {
        given[i].x = number(w, (float)s.width);
        given[i].y = number(w, (float)s.height);
        given[i].sigma = 1 + number(w, 4);
        given[i].angle = number(w, 360);
    }
    status = gpv_sift_describe(w->sift, w->stream, &src.view, &keypoints, 0, between(w, 0, RECORDS),
                               &descriptors);
    status = finished(w, status, sift_query, sift_wait);
    note(w, of_given, sizeof of_given);
    picture_free(&src);
    return status;
}

static gpv_status sift_draw(worker *w) {
    picture dst = noise(w, any_format(w), any_size(w));
    const gpv_status status =
        gpv_draw_keypoints(w->sift, w->stream, &dst.view, below(w, 2), below(w, 0xffffff));
    const gpv_status drawn = finished(w, status, sift_query, sift_wait);
    note_picture(w, &dst);
    return drawn;
}

/* ---------------------------------------------------------------- contexts */

static void close_context(worker *w) {
    gpv_erode_destroy(&w->erode);
    gpv_ccl_destroy(&w->ccl);
    gpv_graphcut_destroy(&w->graphcut);
    gpv_kmeans_destroy(&w->kmeans);
    gpv_match_destroy(&w->match);
    gpv_segment_destroy(&w->segment);
    gpv_sift_destroy(&w->sift);
    gpv_context_destroy(&w->context);
}

static gpv_context_params logging_params(worker *w) {
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = w->backend;
    params.log_level = GPV_LOG_LEVEL_DEBUG;
    params.log = keep_line;
    params.user = &w->keep;
    return params;
}

static gpv_status context_create(worker *w) {
    gpv_context_params params = logging_params(w);
    gpv_status status;
    note(w, w->keep.lines, sizeof w->keep.lines);
    note_text(w, w->keep.text);
    close_context(w);
    if (w->keep.live)
        return GPV_ERR_OUT_OF_MEMORY;
    memset(&w->keep, 0, sizeof w->keep);
    if (w->backend == GPV_BACKEND_CPU && below(w, 2)) {
        params.alloc = give;
        params.free = take_back;
    }
    status = gpv_context_create(&params, &w->context);
    return status || erode_create(w) || ccl_create(w) || graphcut_create(w) || kmeans_create(w) ||
                   match_create(w) || segment_create(w) || sift_create(w)
               ? GPV_ERR_INTERNAL
               : GPV_OK;
}

static gpv_status context_refuse(worker *w) {
    gpv_context_params params = logging_params(w);
    gpv_context *none = NULL;
    params.backend = between(w, 3, 9);
    if (gpv_context_create(&params, &none) != INVALID || none)
        return INVALID;
    note_text(w, w->keep.text);
    return GPV_OK;
}

static gpv_status context_error(worker *w) {
    note_text(w, gpv_context_error(w->context));
    note_text(w, gpv_status_string(between(w, -9, 2)));
    return gpv_context_backend(w->context) == w->backend && *gpv_context_device_name(w->context)
               ? GPV_OK
               : INVALID;
}

static gpv_status stream_sync(worker *w) {
    return gpv_stream_sync(w->context, w->stream);
}

static gpv_status version(worker *w) {
    const uint32_t api = gpv_api_version();
    const int available = gpv_backend_available(below(w, 4));
    note(w, &api, sizeof api);
    note(w, &available, sizeof available);
    note_text(w, gpv_version_string());
    return GPV_OK;
}

/* ---------------------------------------------------------------- the threads */

#define KIND(name)                                                                                 \
    { #name, name }
#define KINDS_OF(stem)                                                                             \
    KIND(stem##_create), KIND(stem##_set_params), KIND(stem##_refuse_params),                      \
        KIND(stem##_refuse_run), KIND(stem##_prepare), KIND(stem##_run), KIND(stem##_query),       \
        KIND(stem##_wait)

static const struct {
    const char *name;
    call *call;
} kinds[] = {
    KIND(context_create),  KINDS_OF(erode),     KINDS_OF(ccl),     KINDS_OF(graphcut),
    KINDS_OF(kmeans),      KINDS_OF(match),     KINDS_OF(segment), KINDS_OF(sift),
    KIND(kmeans_run_from), KIND(kmeans_color),  KIND(match_draw),  KIND(homography_find),
    KIND(segment_forget),  KIND(sift_describe), KIND(sift_draw),   KIND(context_refuse),
    KIND(context_error),   KIND(stream_sync),   KIND(version),
};
enum { CONTEXT_CREATE = 0, KINDS = COUNT(kinds) };

/* Whether w is to go on. */
static bool make_call(worker *w, size_t kind) {
    gpv_status status;
    w->sum = w->sums[kind];
    status = kinds[kind].call(w);
    note(w, &status, sizeof status);
    w->sums[kind] = w->sum;
    w->calls[kind]++;
    /* Records for which there is no room. */
    if (status == GPV_OK || status == GPV_ERR_TOO_SMALL)
        return true;
    snprintf(w->failure, sizeof w->failure, "%s: status %d, \"%s\"", kinds[kind].name, status,
             w->context ? gpv_context_error(w->context) : w->keep.text);
    return false;
}

static void make_calls(worker *w) {
    const int count = getenv("GPV_TEST_FULL")    ? 10 * CALLS
                      : getenv("GPV_TEST_SHORT") ? CALLS / 4
                                                 : CALLS;
    int i;
    for (i = 0; i < count && make_call(w, i ? below(w, KINDS) : CONTEXT_CREATE); i++)
        continue;
}

static void make_large_calls(worker *w) {
    int i;
    w->only_large = true;
    for (i = 0; i < LARGE_ROUNDS * (int)KINDS && make_call(w, (size_t)i % KINDS); i++)
        continue;
}

static void work_in_arena(void *data) {
    worker *w = data;
#ifdef HAVE_CUDA
    cudaStream_t stream = NULL;
    if (w->backend == GPV_BACKEND_CUDA)
        require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess,
                "a stream");
    w->stream = stream;
#endif
    w->make(w);
    close_context(w);
    if (w->keep.live)
        snprintf(w->failure, sizeof w->failure, "%d allocations are left", w->keep.live);
#ifdef HAVE_CUDA
    if (stream)
        require(cudaStreamDestroy(stream) == cudaSuccess, "a stream");
#endif
}

/* arena.cpp. */
void run_on_threads(int threads, void (*run)(void *), void *user);

static void work(worker *w) {
    run_on_threads(w->threads, work_in_arena, w);
}

static pthread_barrier_t start;

static void *work_with_others(void *w) {
    pthread_barrier_wait(&start);
    work(w);
    return NULL;
}

static void work_together(worker *workers) {
    pthread_t threads[THREADS];
    int i;
    require(pthread_barrier_init(&start, NULL, THREADS) == 0, "a barrier");
    for (i = 0; i < THREADS; i++)
        require(pthread_create(&threads[i], NULL, work_with_others, &workers[i]) == 0, "a thread");
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
}

/* The number of kinds of calls that gave something else. */
static int differences(const char *which, const worker *got, const worker *want) {
    int wrong = (*want->failure != 0) + (*got->failure != 0);
    size_t k;
    if (wrong)
        printf("%s: \"%s\", \"%s\"\n", which, got->failure, want->failure);
    for (k = 0; k < KINDS; k++)
        if (got->calls[k] != want->calls[k] || got->sums[k] != want->sums[k]) {
            printf("%s: %s does not give the same\n", which, kinds[k].name);
            wrong++;
        }
    return wrong;
}

static int compare_threads_of_loops(gpv_backend backend) {
    static worker one, four;
    int wrong;
    one.backend = backend;
    one.make = make_large_calls;
    four = one;
    one.threads = 1;
    four.threads = 4;
    work(&one);
    work(&four);
    wrong = differences("on 4 threads", &four, &one);
    printf("%d large images on 1 and 4 threads: %d kinds of calls differ\n", four.large, wrong);
    return wrong;
}

int main(int argc, char **argv) {
    static worker alone[THREADS], together[THREADS];
    const bool cuda = argc == 2 && strcmp(argv[1], "cuda") == 0;
    const gpv_backend backend = cuda ? GPV_BACKEND_CUDA : GPV_BACKEND_CPU;
    int i, calls = 0, large = 0, wrong;
    size_t k;
    if (cuda && !gpv_backend_available(GPV_BACKEND_CUDA)) {
        printf("no CUDA device\n");
        return SKIPPED;
    }
    wrong = compare_threads_of_loops(backend);
    for (i = 0; i < THREADS; i++) {
        alone[i].backend = backend;
        alone[i].make = make_calls;
        /* Threads that loops share order what their callers do: half of them share none. */
        alone[i].threads = i % 2 ? 4 : 1;
        alone[i].random = (uint64_t)i;
        together[i] = alone[i];
        work(&alone[i]);
    }
    work_together(together);
    for (i = 0; i < THREADS; i++) {
        char which[32];
        snprintf(which, sizeof which, "thread %d of %d", i, THREADS);
        wrong += differences(which, &together[i], &alone[i]);
        large += together[i].large;
    }
    for (k = 0; k < KINDS; k++) {
        int of_kind = 0;
        for (i = 0; i < THREADS; i++)
            of_kind += together[i].calls[k];
        if (!of_kind) {
            printf("%s was not called\n", kinds[k].name);
            wrong++;
        }
        calls += of_kind;
    }
    printf("%d threads, %d calls of %d kinds, %d with large images: %d differ from those of one "
           "thread after the other\n",
           THREADS, calls, KINDS, large, wrong);
    return wrong != 0;
}
