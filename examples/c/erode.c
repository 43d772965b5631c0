/* SPDX-License-Identifier: BSD-2-Clause */
/* Erodes a picture: gpuvision from C. Build: cc erode.c $(pkg-config --cflags --libs gpuvision) */
#include "common.h"

int main(int argc, char **argv) {
    program = "erode";
    if (argc != 4)
        die("usage", "erode RADIUS IN.pgm|IN.ppm OUT");
    int32_t radius = parse("radius", argv[1], 255);
    gpv_image image;
    load(argv[2], &image);

    gpv_context *context = create_context();
    gpv_erode_params params;
    gpv_erode_params_init(&params, sizeof params);
    params.radius = radius;
    gpv_erode *erode = NULL;
    gpv_status status = gpv_erode_create(context, &params, &erode);
    if (status == GPV_OK)
        status = gpv_erode_run(erode, NULL, &image, &image); /* dst may be src */
    if (status == GPV_OK)
        status = gpv_erode_wait(erode);
    if (status != GPV_OK)
        die(gpv_status_string(status), gpv_context_error(context));

    save(argv[3], &image);
    printf("%d x %d pixels, radius %d, on %s\n", (int)image.width, (int)image.height, (int)radius,
           gpv_context_device_name(context));
    gpv_erode_destroy(&erode);
    gpv_context_destroy(&context);
    free(image.data[0]);
    return 0;
}
