/* SPDX-License-Identifier: BSD-2-Clause */
/* Erodes a picture: gpuvision from C. Build: cc erode.c $(pkg-config --cflags --libs gpuvision) */
#include <gpuvision/gpuvision.h>

#include <stdio.h>
#include <stdlib.h>

static void die(const char *what, const char *why) {
    fprintf(stderr, "erode: %s: %s\n", what, why);
    exit(1);
}

/* Says why there is no context; once there is one, it keeps the text of an error. */
static void log_line(void *context, gpv_log_level level, const char *message) {
    (void)level;
    if (!*(gpv_context **)context)
        fprintf(stderr, "erode: %s\n", message);
}

static int32_t parse_radius(const char *text) {
    char *end = NULL;
    long radius = strtol(text, &end, 10);
    if (end == text || *end != '\0' || radius < 0 || radius > 255) {
        fprintf(stderr, "erode: radius is '%s', must be a whole number from 0 to 255\n", text);
        exit(1);
    }
    return (int32_t)radius;
}

/* Reads an 8-bit binary PGM or PPM; draws discs of growing radius where path is NULL. */
static void load(const char *path, gpv_image *image) {
    char type = '5';
    int width = 160, height = 120, most = 255;
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (path && !file)
        die(path, "cannot be opened");
    if (file && (fscanf(file, "P%c %d %d %d", &type, &width, &height, &most) != 4 ||
                 (type != '5' && type != '6') || most != 255 || fgetc(file) == EOF))
        die(path, "not a binary PGM or PPM of 8 bits without comments");

    gpv_format format = type == '6' ? GPV_FORMAT_RGB8 : GPV_FORMAT_GRAY8;
    int64_t size = gpv_image_wrap(image, sizeof *image, format, width, height, NULL, 0);
    uint8_t *pixels = size > 0 ? malloc((size_t)size) : NULL;
    if (!pixels)
        die("width x height", "illegal, or more than there is memory for");
    gpv_image_wrap(image, sizeof *image, format, width, height, pixels, 0);
    if (file && fread(pixels, 1, (size_t)size, file) != (size_t)size)
        die(path, "ends before its last pixel");
    if (file)
        fclose(file);
    for (int i = 0; !file && i < width * height; ++i) {
        int dx = i % width % 40 - 20, dy = i / width % 40 - 20, r = 4 + i % width / 40 * 4;
        pixels[i] = dx * dx + dy * dy <= r * r ? 230 : 30;
    }
}

static void save(const char *path, const gpv_image *image) {
    FILE *file = fopen(path, "wb");
    size_t size = (size_t)(image->stride[0] * image->height);
    if (!file)
        die(path, "cannot be written");
    fprintf(file, "P%c\n%d %d\n255\n", image->format == GPV_FORMAT_RGB8 ? '6' : '5',
            (int)image->width, (int)image->height);
    size_t written = fwrite(image->data[0], 1, size, file);
    if (fclose(file) != 0 || written != size)
        die(path, "could not be written to its end");
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 4)
        die("usage", "erode RADIUS [IN.pgm|IN.ppm] OUT");
    int32_t radius = parse_radius(argv[1]);
    gpv_image image;
    load(argc == 4 ? argv[2] : NULL, &image);

    gpv_context_params context_params;
    gpv_context_params_init(&context_params, sizeof context_params);
    gpv_context *context = NULL;
    context_params.log = log_line;
    context_params.user = &context;
    gpv_status status = gpv_context_create(&context_params, &context);
    if (status != GPV_OK)
        die("context", gpv_status_string(status));

    gpv_erode_params params;
    gpv_erode_params_init(&params, sizeof params);
    params.radius_x = radius;
    gpv_erode *erode = NULL;
    status = gpv_erode_create(context, &params, &erode);
    if (status == GPV_OK)
        status = gpv_erode_run(erode, NULL, &image, &image); /* dst may be src */
    if (status == GPV_OK)
        status = gpv_erode_wait(erode);
    if (status != GPV_OK)
        die(gpv_status_string(status), gpv_context_error(context));

    save(argv[argc - 1], &image);
    printf("%d x %d pixels, radius %d, on %s\n", (int)image.width, (int)image.height, (int)radius,
           gpv_context_device_name(context));
    gpv_erode_destroy(&erode);
    gpv_context_destroy(&context);
    free(image.data[0]);
    return 0;
}
