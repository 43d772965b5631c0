/* SPDX-License-Identifier: BSD-2-Clause */
/* Divides a picture into foreground and background by a minimum cut, as the element gpugraphcut
   does. Of the background only the light stays, and half of that. Build: cc segment.c $(pkg-config
   --cflags --libs gpuvision) */
#include "common.h"

#include <string.h>

/* What the arguments say. */
struct options {
    const char *seeds, *rect; /* or NULL */
    int wants_mask;
    int used; /* arguments that have been read */
};

static void die_of_usage(void) {
    die("usage", "segment [--seeds SEEDS.pgm] [--rect X,Y,WIDTH,HEIGHT] [--mask] ITERATIONS "
                 "IN.pgm|IN.ppm OUT (SEEDS: 0 is background, 1 or 255 foreground, 2 probably "
                 "background, 3 probably foreground, 128 unknown; RECT: outside is background; "
                 "ITERATIONS: 1 to 100)");
}

static struct options read_options(int argc, char **argv) {
    struct options options = {NULL, NULL, 0, 1};
    for (; options.used < argc && strncmp(argv[options.used], "--", 2) == 0; ++options.used) {
        const char *name = argv[options.used];
        int has_value = options.used + 1 < argc;
        if (strcmp(name, "--mask") == 0)
            options.wants_mask = 1;
        else if (strcmp(name, "--seeds") == 0 && has_value)
            options.seeds = argv[++options.used];
        else if (strcmp(name, "--rect") == 0 && has_value)
            options.rect = argv[++options.used];
        else
            die_of_usage();
    }
    return options;
}

static gpv_rect parse_rect(const char *text) {
    int32_t sides[4];
    const char *rest = text;
    for (int i = 0; i < 4; ++i) {
        char *end = NULL;
        long value = strtol(rest, &end, 10);
        if (end == rest || *end != (i < 3 ? ',' : '\0') || value < 0 || value > INT32_MAX) {
            fprintf(stderr, "%s: rect is '%s', must be X,Y,WIDTH,HEIGHT\n", program, text);
            exit(1);
        }
        sides[i] = (int32_t)value;
        rest = end + 1;
    }
    return (gpv_rect){sides[0], sides[1], sides[2], sides[3]};
}

int main(int argc, char **argv) {
    program = "segment";
    struct options options = read_options(argc, argv);
    if (argc - options.used != 3)
        die_of_usage();
    gpv_segment_params params;
    gpv_segment_params_init(&params, sizeof params);
    params.iterations = parse("iterations", argv[options.used], GPV_SEGMENT_MAX_ITERATIONS);
    params.certificate = 1; /* result.cut, which proves that no cut costs less */
    gpv_rect rect = {0, 0, 0, 0};
    if (options.rect)
        rect = parse_rect(options.rect);
    gpv_image image, seeds, mask;
    load(argv[options.used + 1], &image);
    if (options.seeds)
        load(options.seeds, &seeds);
    if (options.wants_mask)
        allocate(&mask, GPV_FORMAT_GRAY8, image.width, image.height);

    gpv_context *context = create_context();
    gpv_graphcut_result result;
    gpv_graphcut_result_init(&result, sizeof result);
    gpv_segment *segment = NULL;
    gpv_status status = gpv_segment_create(context, &params, &segment);
    if (status == GPV_OK) /* dst may be src */
        status = gpv_segment_run(segment, NULL, &image, options.seeds ? &seeds : NULL,
                                 options.rect ? &rect : NULL, options.wants_mask ? &mask : NULL,
                                 options.wants_mask ? NULL : &image, NULL);
    if (status == GPV_OK)
        status = gpv_segment_wait(segment, &result);
    if (status != GPV_OK)
        die(gpv_status_string(status), gpv_context_error(context));

    printf("        flow          cut     area  optimal\n");
    printf("%12lld %12lld %8lld  %s\n", (long long)result.flow, (long long)result.cut,
           (long long)result.area, result.optimal ? "yes" : "no");
    save(argv[options.used + 2], options.wants_mask ? &mask : &image);
    printf("%d x %d pixels, %lld of the foreground, on %s\n", (int)image.width, (int)image.height,
           (long long)result.area, gpv_context_device_name(context));
    gpv_segment_destroy(&segment);
    gpv_context_destroy(&context);
    if (options.wants_mask)
        free(mask.data[0]);
    if (options.seeds)
        free(seeds.data[0]);
    free(image.data[0]);
    return 0;
}
