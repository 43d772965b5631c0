/* SPDX-License-Identifier: BSD-2-Clause */
/* Erodes a white picture with one black pixel, and says how many are black then. */
#include <gpuvision/gpuvision.h>
#include <stdio.h>
#include <string.h>

static uint8_t pixels[480 * 640];

int main(void) {
    gpv_context *context = NULL;
    gpv_erode *erode = NULL;
    gpv_image image;
    gpv_erode_params params;
    int black = 0;

    memset(pixels, 255, sizeof pixels);
    pixels[240 * 640 + 320] = 0;
    gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, 640, 480, pixels, 0);
    gpv_erode_params_init(&params, sizeof params);
    params.radius = 3;
    if (gpv_context_create(NULL, &context) || gpv_erode_create(context, &params, &erode) ||
        gpv_erode_run(erode, NULL, &image, &image) || gpv_erode_wait(erode)) {
        fprintf(stderr, "%s\n", context ? gpv_context_error(context) : "no context");
        return 1;
    }
    for (size_t i = 0; i < sizeof pixels; ++i)
        black += pixels[i] == 0;
    printf("%d black pixels, by gpuvision %s\n", black, gpv_version_string());
    gpv_erode_destroy(&erode);
    gpv_context_destroy(&context);
    return 0;
}
