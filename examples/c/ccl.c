/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the bright components of a picture, lists them, and draws each in a colour of its own with
   a box round it. Build: cc ccl.c $(pkg-config --cflags --libs gpuvision) */
#include "common.h"

/* White lines just outside the box, so that they hide nothing of the component. */
static void draw_box(const gpv_image *image, const gpv_ccl_component *c) {
    uint8_t *pixels = image->data[0];
    for (int32_t y = c->top - 1; y <= c->bottom; ++y) {
        int32_t step = y == c->top - 1 || y == c->bottom ? 1 : c->right - c->left + 1;
        for (int32_t x = c->left - 1; x <= c->right; x += step)
            for (int i = 0; i < 3; ++i)
                if (x >= 0 && x < image->width && y >= 0 && y < image->height)
                    pixels[y * image->stride[0] + 3 * x + i] = 255;
    }
}

static void list(const gpv_ccl_component *components, int32_t count) {
    printf("label     area      x      y  width height  centroid\n");
    for (int32_t i = 0; i < count; ++i) {
        const gpv_ccl_component *c = &components[i];
        printf("%5d %8d %6d %6d %6d %6d  %.2f %.2f\n", (int)i + 1, (int)c->area, (int)c->left,
               (int)c->top, (int)(c->right - c->left), (int)(c->bottom - c->top),
               (double)c->sum_x / c->area, (double)c->sum_y / c->area);
    }
}

/* The colours, and the components in the order of their labels. Where there are more of them than
   records it runs again, with as many as that. */
static gpv_ccl_component *label(gpv_ccl *ccl, const gpv_image *image, const gpv_image *colors,
                                const gpv_context *context, int32_t *count) {
    gpv_buffer records;
    gpv_ccl_result result;
    gpv_status status;
    gpv_buffer_init(&records, sizeof records);
    gpv_ccl_result_init(&result, sizeof result);
    result.count = 256;
    do {
        records.size = (uint64_t)result.count * sizeof(gpv_ccl_component);
        records.data = realloc(records.data, (size_t)records.size);
        if (!records.data)
            die("components", "more than there is memory for");
        status = gpv_ccl_run(ccl, NULL, image, colors, &records, 0, NULL);
        if (status == GPV_OK)
            status = gpv_ccl_wait(ccl, &result);
    } while (status == GPV_ERR_TOO_SMALL);
    if (status != GPV_OK)
        die(gpv_status_string(status), gpv_context_error(context));
    *count = result.count;
    return records.data;
}

int main(int argc, char **argv) {
    program = "ccl";
    if (argc != 5)
        die("usage", "ccl THRESHOLD MIN-AREA IN.pgm|IN.ppm OUT.ppm");
    gpv_ccl_params params;
    gpv_ccl_params_init(&params, sizeof params);
    params.threshold = parse("threshold", argv[1], 255);
    params.min_area = parse("min-area", argv[2], GPV_MAX_PIXELS);
    params.output = GPV_CCL_OUTPUT_COLORS;
    gpv_image image, colors;
    load(argv[3], &image);
    allocate(&colors, GPV_FORMAT_RGB8, image.width, image.height);

    gpv_context *context = create_context();
    gpv_ccl *ccl = NULL;
    gpv_status status = gpv_ccl_create(context, &params, &ccl);
    if (status != GPV_OK)
        die(gpv_status_string(status), gpv_context_error(context));
    int32_t count = 0;
    gpv_ccl_component *components = label(ccl, &image, &colors, context, &count);

    list(components, count);
    for (int32_t i = 0; i < count; ++i)
        draw_box(&colors, &components[i]);
    save(argv[4], &colors);
    printf("%d x %d pixels, %d components, on %s\n", (int)image.width, (int)image.height,
           (int)count, gpv_context_device_name(context));
    gpv_ccl_destroy(&ccl);
    gpv_context_destroy(&context);
    free(components);
    free(colors.data[0]);
    free(image.data[0]);
    return 0;
}
