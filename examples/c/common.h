/* SPDX-License-Identifier: BSD-2-Clause */
/* What the examples share: messages, arguments, pictures in files, and a context. What not every
   one of them calls is inline, so that compilers do not warn. */
#include <gpuvision/gpuvision.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *program = ""; /* begins every message; main() sets it */

static void die(const char *what, const char *why) {
    fprintf(stderr, "%s: %s: %s\n", program, what, why);
    exit(1);
}

static inline int32_t parse(const char *name, const char *text, int32_t maximum) {
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 0 || value > maximum) {
        fprintf(stderr, "%s: %s is '%s', must be a whole number from 0 to %d\n", program, name,
                text, (int)maximum);
        exit(1);
    }
    return (int32_t)value;
}

/* An image in memory of its own, which is free()d through data[0]. */
static void allocate(gpv_image *image, gpv_format format, int32_t width, int32_t height) {
    int64_t size = gpv_image_wrap(image, sizeof *image, format, width, height, NULL, 0);
    void *pixels = size > 0 ? malloc((size_t)size) : NULL;
    if (!pixels)
        die("width x height", "illegal, or more than there is memory for");
    gpv_image_wrap(image, sizeof *image, format, width, height, pixels, 0);
}

/* The pictures that have been read, of which no example has more than two. */
static const char *sources[2];
static int source_count;

/* Reads an 8-bit binary PGM or PPM. */
static void load(const char *path, gpv_image *image) {
    char type;
    int width, height, maximum;
    FILE *file = fopen(path, "rb");
    if (!file)
        die(path, "cannot be opened");
    if (fscanf(file, "P%c %d %d %d", &type, &width, &height, &maximum) != 4 ||
        (type != '5' && type != '6') || maximum != 255 || fgetc(file) == EOF)
        die(path, "not a binary PGM or PPM of 8 bits without comments");
    allocate(image, type == '6' ? GPV_FORMAT_RGB8 : GPV_FORMAT_GRAY8, width, height);
    size_t size = (size_t)(image->stride[0] * height);
    if (fread(image->data[0], 1, size, file) != size)
        die(path, "ends before its last pixel");
    fclose(file);
    sources[source_count++] = path;
}

static int is_same_file(const char *a, const char *b) {
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

static void save(const char *path, const gpv_image *image) {
    for (int i = 0; i < source_count; ++i)
        if (is_same_file(sources[i], path))
            die(path, "is the picture that was read; name another file for the result");
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

/* A copy in colours, which has memory of its own. */
static inline void to_rgb(const gpv_image *image, gpv_image *colors) {
    allocate(colors, GPV_FORMAT_RGB8, image->width, image->height);
    const uint8_t *from = image->data[0];
    uint8_t *to = colors->data[0];
    int64_t samples = 3 * (int64_t)image->width * image->height;
    for (int64_t i = 0; i < samples; ++i)
        to[i] = from[image->format == GPV_FORMAT_RGB8 ? i : i / 3];
}

static inline gpv_buffer buffer_of(void *data, size_t size) {
    gpv_buffer buffer;
    gpv_buffer_init(&buffer, sizeof buffer);
    buffer.data = data;
    buffer.size = size;
    return buffer;
}

/* Says why there is no context; once there is one, it keeps the text of an error. */
static void log_line(void *context, gpv_log_level level, const char *message) {
    (void)level;
    if (!*(gpv_context **)context)
        fprintf(stderr, "%s: %s\n", program, message);
}

static gpv_context *create_context(void) {
    static gpv_context *context; /* log_line() looks at it as long as there is a context */
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.log = log_line;
    params.user = &context;
    gpv_status status = gpv_context_create(&params, &context);
    if (status != GPV_OK)
        die("context", gpv_status_string(status));
    return context;
}
