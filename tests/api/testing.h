/* SPDX-License-Identifier: BSD-2-Clause */
/* What the API tests share: a context that keeps books, and images in hostile memory. */
#ifndef GPV_TESTING_H
#define GPV_TESTING_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuvision/gpuvision.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* User data of the three callbacks. */
typedef struct books {
    int lines[GPV_LOG_DEBUG + 1]; /* logged, by level */
    char text[1024];              /* the last one */
    int allocations;              /* asked for */
    int live;                     /* not yet given back */
    int fail_at;                  /* the allocation that gets NULL, counted from 1; 0 = none */
    int fill;                     /* what fresh memory holds */
    gpv_stream stream;            /* of the last allocation */
} books;

/* Parameters of a CPU context whose log goes to keep. */
gpv_context_params logging_params(books *keep);
/* A CPU context that logs to keep and allocates from it. */
gpv_context *open_context(books *keep);
/* Fails unless text holds every part of parts, which are separated by '|'. */
void expect_text(const char *text, const char *parts);
/* Fails unless status is as wanted and the text of context, which was logged as well, has all
 * parts. */
void expect_error(gpv_context *context, const books *keep, gpv_status status, gpv_status wanted,
                  const char *parts);

/* Memory that must not be touched at all. */
void *forbidden_memory(size_t bytes);

typedef enum layout {
    TIGHT,      /* rows without a gap, each plane in a block of its own size */
    PADDED,     /* rows with an odd gap, canaries in it and around the plane */
    WALL_RIGHT, /* each row ends at a page that must not be touched */
    WALL_LEFT,  /* each row begins behind such a page */
    LAYOUTS
} layout;

/* An image of host memory; GRAY8 and the like, up to 4096 bytes a row. */
typedef struct picture {
    gpv_image view;
    layout how;
    void *block[3];
    size_t size[3];
} picture;

picture picture_new(gpv_format format, int width, int height, layout how);
void picture_free(picture *p);
/* Calls visit for each row of each plane. */
void picture_fill(picture *p, unsigned seed);
bool picture_equal(const picture *a, const picture *b);
/* Whether every byte outside the rows is as picture_new() left it. */
bool picture_intact(const picture *p);

extern const gpv_format morph_formats[10];
const char *format_name(gpv_format format);

int run_suite(Suite *suite);

#endif
