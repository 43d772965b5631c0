/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts the object in the middle of a picture out of its background, by minimum cuts of a graph as
   Boykov and Jolly (2001) set it up. What the colours of both are is learned in iterations. The
   graph is made here, for gpv_graphcut; segment.c leaves that to gpv_segment, as the element
   gpugraphcut does. Build: cc graphcut.c $(pkg-config --cflags --libs gpuvision) -lm */
#include "common.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum {
    MAX_ITERATIONS = 8,
    UNIT = 100,        /* that stands for 1 of the energy */
    SMOOTHNESS = 25,   /* energy of a border between two pixels of the same colour */
    CERTAIN = 1 << 20, /* what no border outweighs */
    BINS = 512         /* of colours: 8 levels a channel */
};

static const int steps[8][2] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};

static int channels_of(const gpv_image *image) {
    return image->format == GPV_FORMAT_RGB8 ? 3 : 1;
}

static const uint8_t *color_at(const gpv_image *image, int32_t x, int32_t y) {
    return (const uint8_t *)image->data[0] + y * image->stride[0] + x * channels_of(image);
}

/* -1 where a pixel has no neighbour. */
static int difference(const gpv_image *image, int32_t x, int32_t y, const int step[2]) {
    int sum = 0;
    int32_t u = x + step[0], v = y + step[1];
    if (u < 0 || u >= image->width || v < 0 || v >= image->height)
        return -1;
    const uint8_t *a = color_at(image, x, y), *b = color_at(image, u, v);
    for (int i = 0; i < channels_of(image); ++i)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/* Squared, between two neighbours. */
static double usual_difference(const gpv_image *image) {
    int64_t total = 0, pairs = 0;
    for (int plane = 0; plane < 4; ++plane)
        for (int32_t y = 0; y < image->height; ++y)
            for (int32_t x = 0; x < image->width; ++x) {
                int d = difference(image, x, y, steps[plane]);
                total += d > 0 ? d : 0;
                pairs += d >= 0;
            }
    return (double)(total ? total : 1) / (double)(pairs ? pairs : 1);
}

/* A border costs less where the picture has an edge, and more if it is longer. */
static void fill_links(const gpv_image *image, gpv_image *links) {
    double usual = usual_difference(image);
    for (int plane = 0; plane < 8; ++plane) {
        int32_t *to = links->data[plane]; /* rows lie without a gap */
        double length = sqrt(abs(steps[plane][0]) + abs(steps[plane][1]));
        for (int32_t y = 0; y < image->height; ++y)
            for (int32_t x = 0; x < image->width; ++x) {
                int d = difference(image, x, y, steps[plane]);
                *to++ = d < 0 ? 0 : (int32_t)(UNIT * SMOOTHNESS * exp(-d / (2 * usual)) / length);
            }
    }
}

static int bin_of(const gpv_image *image, int32_t x, int32_t y) {
    const uint8_t *color = color_at(image, x, y);
    int bin = 0;
    for (int i = 0; i < channels_of(image); ++i)
        bin += (color[i] >> 5) << 3 * i;
    return bin;
}

/* Within the margins, of at least a pixel. */
static int is_certain(const gpv_image *image, int32_t x, int32_t y, int32_t percent) {
    int32_t mx = 1 + image->width * percent / 100, my = 1 + image->height * percent / 100;
    return x < mx || x >= image->width - mx || y < my || y >= image->height - my;
}

/* How much likelier a colour is in the object than in the background, by the pixels that are taken
   for either. What is certain is background. */
static void fill_terminals(const gpv_image *image, const gpv_image *mask, int32_t percent,
                           gpv_image *terminals) {
    const uint8_t *side = mask->data[0];
    int32_t *to = terminals->data[0];
    int64_t counts[2][BINS] = {{0}}, all[2] = {1, 1}; /* of the background, of the object */
    for (int32_t y = 0; y < image->height; ++y)
        for (int32_t x = 0; x < image->width; ++x, ++side) {
            counts[*side != 0][bin_of(image, x, y)]++;
            all[*side != 0]++;
        }
    for (int32_t y = 0; y < image->height; ++y)
        for (int32_t x = 0; x < image->width; ++x) {
            int bin = bin_of(image, x, y);
            double object = (double)(counts[1][bin] + 1) / (double)all[1];
            double background = (double)(counts[0][bin] + 1) / (double)all[0];
            *to++ = is_certain(image, x, y, percent) ? -CERTAIN
                                                     : (int32_t)(UNIT * log(object / background));
        }
}

static double milliseconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* Until the mask does not change any more; gives the number of pixels of the object. */
static int64_t solve(gpv_context *context, const gpv_image *image, int32_t percent,
                     gpv_image *mask) {
    gpv_image terminals, links;
    allocate(&terminals, GPV_FORMAT_LABEL32, image->width, image->height);
    allocate(&links, GPV_FORMAT_CAP32X8, image->width, image->height);
    fill_links(image, &links);
    size_t pixels = (size_t)image->width * (size_t)image->height;
    uint8_t *before = malloc(pixels);
    if (!before)
        die("width x height", "more than there is memory for");

    gpv_graphcut *graphcut = NULL;
    gpv_graphcut_params params;
    gpv_graphcut_result result;
    gpv_graphcut_params_init(&params, sizeof params);
    gpv_graphcut_result_init(&result, sizeof result);
    params.certificate = 1; /* result.cut, which proves that no cut costs less */
    gpv_status status = gpv_graphcut_create(context, &params, &graphcut);
    printf("iteration         flow          cut     area  milliseconds\n");
    for (int iteration = 1; iteration <= MAX_ITERATIONS && status == GPV_OK; ++iteration) {
        memcpy(before, mask->data[0], pixels);
        fill_terminals(image, mask, percent, &terminals);
        double start = milliseconds();
        status = gpv_graphcut_run(graphcut, NULL, &terminals, &links, mask, NULL);
        if (status == GPV_OK)
            status = gpv_graphcut_wait(graphcut, &result);
        if (status != GPV_OK)
            break;
        printf("%9d %12lld %12lld %8lld %13.2f\n", iteration, (long long)result.flow,
               (long long)result.cut, (long long)result.area, milliseconds() - start);
        if (memcmp(before, mask->data[0], pixels) == 0)
            break;
    }
    if (status != GPV_OK)
        die(gpv_status_string(status), gpv_context_error(context));
    gpv_graphcut_destroy(&graphcut);
    free(before);
    free(links.data[0]);
    free(terminals.data[0]);
    return result.area;
}

int main(int argc, char **argv) {
    program = "graphcut";
    if (argc != 4)
        die("usage", "graphcut MARGIN IN.pgm|IN.ppm OUT (MARGIN: per cent of each side that are "
                     "background for certain, such as 8)");
    int32_t percent = parse("margin", argv[1], 50);
    gpv_image image, mask;
    load(argv[2], &image);
    allocate(&mask, GPV_FORMAT_GRAY8, image.width, image.height);
    uint8_t *side = mask.data[0], *level = image.data[0];
    for (int32_t y = 0; y < image.height; ++y)
        for (int32_t x = 0; x < image.width; ++x)
            *side++ = is_certain(&image, x, y, percent) ? 0 : 255;

    gpv_context *context = create_context();
    int64_t area = solve(context, &image, percent, &mask);
    int64_t samples = image.stride[0] * image.height;
    for (int64_t i = 0; i < samples; ++i) /* the background darkens */
        if (!((uint8_t *)mask.data[0])[i / channels_of(&image)])
            level[i] /= 4;
    save(argv[3], &image);
    printf("%d x %d pixels, %lld of the object, on %s\n", (int)image.width, (int)image.height,
           (long long)area, gpv_context_device_name(context));
    gpv_context_destroy(&context);
    free(mask.data[0]);
    free(image.data[0]);
    return 0;
}
