/* SPDX-License-Identifier: BSD-2-Clause */
/* Reduces a picture to a few colours, and lists them. Build:
   cc kmeans.c $(pkg-config --cflags --libs gpuvision) */
#include "common.h"

/* What gpv_kmeans_run() says of the clusters. */
static float centroids[3 * GPV_KMEANS_MAX_CLUSTERS];
static int32_t counts[GPV_KMEANS_MAX_CLUSTERS];

static void list(int32_t clusters, int64_t pixels) {
    printf("cluster  colour    pixels    share\n");
    for (int32_t i = 0; i < clusters; ++i)
        printf("%7d  #%06x %8d  %5.1f %%\n", (int)i,
               (unsigned)gpv_kmeans_color(GPV_KMEANS_COLOR_SPACE_RGB, &centroids[3 * i]),
               (int)counts[i], 100.0 * counts[i] / (double)pixels);
}

int main(int argc, char **argv) {
    program = "kmeans";
    if (argc != 4)
        die("usage", "kmeans CLUSTERS IN.pgm|IN.ppm OUT (CLUSTERS: 2 to 256; 0 chooses)");
    gpv_kmeans_params params;
    gpv_kmeans_params_init(&params, sizeof params);
    params.clusters = parse("clusters", argv[1], GPV_KMEANS_MAX_CLUSTERS);
    gpv_image image;
    load(argv[2], &image);

    gpv_context *context = create_context();
    gpv_buffer colors = buffer_of(centroids, sizeof centroids);
    gpv_buffer pixels = buffer_of(counts, sizeof counts);
    gpv_kmeans_result result;
    gpv_kmeans_result_init(&result, sizeof result);
    gpv_kmeans *kmeans = NULL;
    gpv_status status = gpv_kmeans_create(context, &params, &kmeans);
    if (status == GPV_OK) /* dst may be src */
        status = gpv_kmeans_run(kmeans, NULL, &image, NULL, &image, &colors, &pixels, NULL);
    if (status == GPV_OK)
        status = gpv_kmeans_wait(kmeans, &result);
    if (status != GPV_OK)
        die(gpv_status_string(status), gpv_context_error(context));

    list(result.clusters, (int64_t)image.width * image.height);
    save(argv[3], &image);
    printf("%d x %d pixels, %d clusters after %d iterations, on %s\n", (int)image.width,
           (int)image.height, (int)result.clusters, (int)result.iterations,
           gpv_context_device_name(context));
    gpv_kmeans_destroy(&kmeans);
    gpv_context_destroy(&context);
    free(image.data[0]);
    return 0;
}
