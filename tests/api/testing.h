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

#ifdef __cplusplus
extern "C" {
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define INVALID GPV_ERR_INVALID_ARGUMENT
#define UNSUPPORTED GPV_ERR_UNSUPPORTED

/* User data of the three callbacks. */
typedef struct books {
    int lines[GPV_LOG_LEVEL_DEBUG + 1]; /* logged, by level */
    char text[1024];                    /* the last one */
    int allocations;                    /* asked for */
    int live;                           /* not yet given back */
    int fail_at;       /* the allocation that gets NULL, counted from 1; 0 = none */
    int fill;          /* what fresh memory holds */
    gpv_stream stream; /* of the last allocation */
} books;

/* Parameters of a CPU context whose log goes to keep. */
gpv_context_params logging_params(books *keep);
/* A CPU context that logs to keep and allocates from it. */
gpv_context *open_context(books *keep);
/* Fails unless text holds every part of parts, which are separated by '|'. */
void expect_text(const char *text, const char *parts);
/* Fails unless status is as wanted and the text of context, which was logged as well, has all
 * parts, if that is not GPV_OK. */
void expect_status(gpv_context *context, const books *keep, gpv_status status, gpv_status wanted,
                   const char *parts);

/* What memory holds that nobody may write. */
enum { CANARY = 0xC5 };
bool untouched(const void *from, const void *to);

/* Of a count that is to be 0..2^20: those that are refused, and the text behind its name. */
enum { BAD_COUNTS = 4 };
typedef struct bad_count {
    int32_t count;
    const char *text;
} bad_count;
extern const bad_count bad_counts[BAD_COUNTS];
const char *named(const char *name, const char *text);

/* Memory that must not be touched at all. */
void *forbidden_memory(size_t bytes);

typedef enum layout {
    TIGHT,      /* rows without a gap, each plane in a block of its own size */
    PADDED,     /* rows with an odd gap, canaries in it and around the plane */
    WALL_RIGHT, /* each row ends at a page that must not be touched */
    WALL_LEFT,  /* each row begins behind such a page */
    LAYOUTS
} layout;

/* An image of host memory. */
typedef struct picture {
    gpv_image view;
    layout how;
    size_t span[GPV_MAX_PLANES]; /* of the pages of a walled row */
    void *block[GPV_MAX_PLANES];
    size_t size[GPV_MAX_PLANES];
} picture;

picture picture_new(gpv_format format, int width, int height, layout how);
void picture_free(picture *p);
/* With noise, the same for the same seed. */
void picture_fill(picture *p, unsigned seed);
bool picture_equal(const picture *a, const picture *b);
/* Whether every byte outside the rows is as picture_new() left it. */
bool picture_intact(const picture *p);

const char *format_name(gpv_format format);

/* A TIGHT picture whose planes are written in text, with '|' between them: samples as numbers or
 * '.' (0), '?' (128) and '#' (255), blank-separated or not. */
picture picture_of(gpv_format format, int width, int height, const char *text);
/* Fails where a TIGHT picture is another one than that. It ends both. */
void expect_picture(picture *got, picture *want);

/* Of the images that are to be refused. */
enum { IMAGE_W = 64, IMAGE_H = 48 };
/* A legal GRAY8 image whose pixels nobody may touch, in 2 MiB. */
gpv_image forbidden_image(void *memory);
gpv_buffer buffer_of(void *data, size_t size);
/* init_x(), as gpv_x_init() is, but of any place. */
#define INIT(x)                                                                                    \
    static void init_##x(void *place, uint32_t size) {                                             \
        gpv_##x##_init(place, size);                                                               \
    }
/* Fails where init, told that a struct is shorter or longer than it is, writes a byte behind it, or
 * something else than that size, its defaults, and 0 in fields of the future. */
void expect_init_within(uint32_t known, void (*init)(void *place, uint32_t size));
/* Puts a struct of an age from before the first to far in the future where no byte behind it can
 * be read, and lets expect compare what the library says of it. init writes the defaults. */
void expect_struct_sizes(const char *name, uint32_t first, uint32_t known,
                         void (*init)(void *place, uint32_t size),
                         void (*expect)(const void *place, gpv_status wanted, const char *text));
/* A context that keeps books, and what calls on it have to say. */
#define CONTEXT                                                                                    \
    static books keep;                                                                             \
    static gpv_context *context;                                                                   \
    static inline void succeed(gpv_status status) {                                                \
        expect_status(context, &keep, status, GPV_OK, "");                                         \
    }                                                                                              \
    static inline void refused(gpv_status status, const char *parts) {                             \
        expect_status(context, &keep, status, INVALID, parts);                                     \
    }

/* Of a test of one operator: such a context, the operator, and its parameters. */
#define FIXTURE(stem)                                                                              \
    CONTEXT                                                                                        \
    static gpv_##stem *op;                                                                         \
    static void setup(void) {                                                                      \
        context = open_context(&keep);                                                             \
        keep.fill = 0xA5;                                                                          \
        ck_assert_int_eq(gpv_##stem##_create(context, NULL, &op), GPV_OK);                         \
        ck_assert_ptr_nonnull(op);                                                                 \
    }                                                                                              \
    static void teardown(void) {                                                                   \
        gpv_##stem##_destroy(&op);                                                                 \
        ck_assert_ptr_null(op);                                                                    \
        gpv_context_destroy(&context);                                                             \
        ck_assert_int_eq(keep.live, 0);                                                            \
    }                                                                                              \
    static inline gpv_##stem##_params defaults(void) {                                             \
        gpv_##stem##_params params;                                                                \
        gpv_##stem##_params_init(&params, sizeof params);                                          \
        return params;                                                                             \
    }                                                                                              \
    static inline void set(gpv_##stem##_params params) {                                           \
        succeed(gpv_##stem##_set_params(op, &params));                                             \
    }

/* What wait says of the last run, as the result of an operator of, and that it is nothing. */
#define RESULT(stem, of)                                                                           \
    static inline gpv_##of##_result waited_for(void) {                                             \
        gpv_##of##_result result;                                                                  \
        memset(&result, 0xC5, sizeof result);                                                      \
        result.struct_size = sizeof result;                                                        \
        ck_assert_int_eq(gpv_##stem##_query(op), GPV_OK);                                          \
        ck_assert_int_eq(gpv_##stem##_wait(op, &result), GPV_OK);                                  \
        ck_assert_uint_eq(result.struct_size, sizeof result);                                      \
        return result;                                                                             \
    }                                                                                              \
    static inline void expect_nothing_found(void) {                                                \
        static const gpv_##of##_result nothing = {.struct_size = sizeof nothing};                  \
        const gpv_##of##_result result = waited_for();                                             \
        ck_assert_mem_eq(&result, &nothing, sizeof nothing);                                       \
    }

/* Each in a process of its own, between the two, which may be NULL. */
int run_tests(const char *name, void (*setup)(void), void (*teardown)(void),
              const TTest *const *tests, size_t count);
/* A program of tests that are run so. */
#define RUN_TESTS(name, setup, teardown, ...)                                                      \
    int main(void) {                                                                               \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return run_tests(name, setup, teardown, tests, COUNT(tests));                              \
    }

#ifdef __cplusplus
}
#endif

#endif
