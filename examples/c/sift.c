/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the keypoints of a picture, lists them, and draws each as a circle with its orientation.
   Build: cc sift.c $(pkg-config --cflags --libs gpuvision) */
#include "common.h"

static void list(const gpv_sift_keypoint *keypoints, int32_t count) {
    printf("       x        y   sigma  angle  response\n");
    for (int32_t i = 0; i < count; ++i)
        printf("%8.2f %8.2f %7.2f %6.1f %9.4f\n", keypoints[i].x, keypoints[i].y,
               keypoints[i].sigma, keypoints[i].angle, keypoints[i].response);
}

/* The keypoints, the strongest first. Where there are more of them than records it runs again, with
   as many as that. */
static gpv_sift_keypoint *find(gpv_sift *sift, const gpv_image *image, const gpv_context *context,
                               int32_t *count) {
    gpv_buffer records;
    gpv_sift_result result;
    int32_t room = 1024;
    gpv_buffer_init(&records, sizeof records);
    gpv_sift_result_init(&result, sizeof result);
    for (;; room = result.count + result.dropped) {
        records.size = (uint64_t)room * sizeof(gpv_sift_keypoint);
        records.data = realloc(records.data, (size_t)records.size);
        if (!records.data)
            die("keypoints", "more than there is memory for");
        gpv_status status = gpv_sift_run(sift, NULL, image, NULL, &records, 0, NULL, NULL);
        if (status == GPV_OK)
            status = gpv_sift_wait(sift, &result);
        if (status != GPV_OK)
            die(gpv_status_string(status), gpv_context_error(context));
        *count = result.count;
        if (result.dropped == 0 || result.count < room)
            return records.data;
    }
}

int main(int argc, char **argv) {
    program = "sift";
    if (argc != 4)
        die("usage", "sift FEATURES IN.pgm|IN.ppm OUT.ppm (FEATURES: the strongest; 0 = all)");
    gpv_sift_params params;
    gpv_sift_params_init(&params, sizeof params);
    params.max_features = parse("features", argv[1], 1000000);
    gpv_image image, colors;
    load(argv[2], &image);
    to_rgb(&image, &colors);

    gpv_context *context = create_context();
    gpv_sift *sift = NULL;
    gpv_status status = gpv_sift_create(context, &params, &sift);
    if (status != GPV_OK)
        die(gpv_status_string(status), gpv_context_error(context));
    int32_t count = 0;
    gpv_sift_keypoint *keypoints = find(sift, &image, context, &count);

    status = gpv_draw_keypoints(sift, NULL, &colors, GPV_DRAW_STYLE_RICH, 0xff4000);
    if (status == GPV_OK)
        status = gpv_sift_wait(sift, NULL);
    if (status != GPV_OK)
        die(gpv_status_string(status), gpv_context_error(context));
    list(keypoints, count);
    save(argv[3], &colors);
    printf("%d x %d pixels, %d keypoints, on %s\n", (int)image.width, (int)image.height, (int)count,
           gpv_context_device_name(context));
    gpv_sift_destroy(&sift);
    gpv_context_destroy(&context);
    free(keypoints);
    free(colors.data[0]);
    free(image.data[0]);
    return 0;
}
