/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the elements share. */
#ifndef TESTS_GST_HELPERS_H
#define TESTS_GST_HELPERS_H

#include <gpuvision/gpuvision.h>
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include <glib/gstdio.h>
#include <string.h>

/* Asks in another process, because one that has touched CUDA cannot fork children that use it. */
gboolean have_cuda_device(void);

/* Without the messages on the bus of its element, which hold it. */
void harness_free(GstHarness *h);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstHarness, harness_free)

/* ---- leaks ---- */

void assert_nothing_lives(void);

/*
 * GStreamer's type finders, and what they make when they are loaded, live as long as the process.
 * The tracer's list of them is not freed: it gives up references that it does not have.
 */
void load_type_finders(void);

/* ---- frames ---- */

/* Those that CUDAMemory may have, and then five more. What comes behind the usual ones differs in
   where its samples are, which takes no large frame to see. */
extern const gchar *const formats[25];
enum { usual_formats = 8 };

extern const gint sizes[7][2];

GstVideoInfo make_info(const gchar *format, gint width, gint height);

/* Odd strides and offsets, described by GstVideoMeta. */
GstVideoInfo padded(const GstVideoInfo *info);
GstBuffer *buffer_of_size(gsize size);
GstBuffer *random_frame(const GstVideoInfo *info);
GstBuffer *random_padded_frame(const GstVideoInfo *info);

/* Bytes of a row of a plane, and rows. */
void plane_size(const GstVideoInfo *info, guint plane, gsize *bytes, gsize *rows);
void assert_same(const GstVideoInfo *info, GstBuffer *got, GstBuffer *expected);
void assert_same_of(const gchar *whose, const GstVideoInfo *info, GstBuffer *got,
                    GstBuffer *expected);

typedef struct {
    gint width, height;
    guint8 *pixels;
} Plane;

Plane plane_new(gint width, gint height);
void plane_free(Plane *plane);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Plane, plane_free)

/* The first component of a frame. */
Plane plane_of(const GstVideoInfo *info, GstBuffer *buffer);

/* What a pixel is: 0xRRGGBB, or in formats that are not RGB the level of the first component; the
   others are noise. */
typedef guint32 (*Painter)(gint x, gint y, gconstpointer user);
GstBuffer *painted_frame(const GstVideoInfo *info, Painter color, gconstpointer user);

/* ---- the library ---- */

gpv_buffer buffer_for(gpointer data, gsize size);
gpv_image plane_view(const Plane *plane);

/* ---- pictures in files ---- */

typedef struct {
    gchar *folder, *path;
} File;
File file_new(const gchar *name);
void file_free(File *file);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(File, file_free)

/* Of one byte a pixel, or three that are equal. */
void write_picture(const File *file, const Plane *plane, gint channels);

/* ---- frames of others ---- */

/* Both may be in CUDAMemory, which is copied when it is mapped. */
void copy_mapped(const GstVideoInfo *info, GstBuffer *from, GstBuffer *to);
typedef struct {
    guint x, y;
    gint width, height;
} Crop;

GstBuffer *add_crop(GstBuffer *frame, const Crop *crop);
GstCaps *cuda_caps(const GstVideoInfo *info);

/* Of CUDAMemory, as a source is offered it. */
GstBufferPool *offered_pool(GstHarness *h, const GstVideoInfo *info, guint *size);

/* ---- pipelines ---- */

/* Takes the element, which starts with the properties that it has. */
GstHarness *harness_with(GstElement *element);
const gchar *test_backend(void);

GstElement *element_new(const gchar *name, const gchar *backend);
void set_info(GstHarness *h, const GstVideoInfo *info);
void set_output(GstHarness *h, const gchar *output);
/* What an error on the bus says. */
gchar *error_on(GstBus *bus, GQuark domain, gint code);
void assert_error(GstBus *bus, GQuark domain, gint code, const gchar *words);
void assert_warning(GstBus *bus, GQuark domain, gint code, const gchar *words);

/* But that an element takes long, on a machine that is busy. */
void assert_nothing_more(GstBus *bus);
GstBus *add_bus(GstElement *element);
void drop_bus(GstElement *element, GstBus *bus);

/*
 * Takes the frame. One that is refused fails at once, with what the element says of it, where
 * gst_harness_push_and_pull() waits for a minute. That remains where memory is measured, because
 * this makes a bus for each frame.
 */
GstBuffer *push_and_pull(GstHarness *h, GstBuffer *frame);

/* Likewise, once the frame's caps are there; and through elements that are made for it. */
GstBuffer *push_of(GstHarness *h, const GstVideoInfo *info, GstBuffer *frame);
GstBuffer *push_through(const gchar *elements, const GstVideoInfo *info, GstBuffer *frame);

/* Takes the caps and the buffer. */
void assert_buffer_refused(GstHarness *h, GstCaps *caps, GstBuffer *buffer);

GstElement *launch(const gchar *description);
void reach(GstElement *pipeline, GstState state);
void wait_for_eos(GstElement *pipeline);
/* Of the frame that the element called sink has got. */
GstClockTime preroll_time(GstElement *pipeline);

/* ---- caps ---- */

void assert_output_caps(GstHarness *h, const GstVideoInfo *expected);

guint reconfigure_events(GstHarness *h);
/* Which the harness keeps. */
void drop_events(GstHarness *h);

/* ---- properties ---- */

/* Absolute values, one a second. */
void control(GstElement *element, const gchar *property, const gdouble *values, guint n);

/* For g_log_set_handler(). */
void keep_warning(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer text);

/* ---- results ---- */

const GstStructure *results_of(GstBuffer *buffer, const gchar *name);
gint int_field(const GstStructure *results, const gchar *name);
gdouble double_field(const GstStructure *results, const gchar *name);
/* Of arrays. */
guint size_of(const GstStructure *results, const gchar *name);
gint int_at(const GstStructure *results, const gchar *name, guint index);
const GstStructure *structure_at(const GstStructure *results, const gchar *name, guint index);
void assert_time(const GstStructure *results, const gchar *name, GstClockTime expected);

/* ---- tests ---- */

typedef struct Test {
    const gchar *part;
    void (*add)(TCase *tcase);
    struct Test *next;
} Test;
void add_test(Test *test);

/* A test of a part of the program, or of one without parts, NULL; so often, with __i__ from 0 on.
 */
#define PART_TEST(of_part, name, count)                                                            \
    static void name##_body(gint __i__);                                                           \
    GST_START_TEST(name) {                                                                         \
        name##_body(__i__);                                                                        \
    }                                                                                              \
    GST_END_TEST                                                                                   \
    static void name##_add_to(TCase *tcase) {                                                      \
        tcase_add_loop_test(tcase, name, 0, (gint)(count));                                        \
    }                                                                                              \
    __attribute__((constructor)) static void name##_add(void) {                                    \
        static Test test = {of_part, name##_add_to, NULL};                                         \
        add_test(&test);                                                                           \
    }                                                                                              \
    static void name##_body(G_GNUC_UNUSED gint __i__)

#define TEST(name, count) PART_TEST(NULL, name, count)

/* Runs the tests that way. */
#define MAIN(run)                                                                                  \
    int main(int argc, char **argv) {                                                              \
        gst_check_init(&argc, &argv);                                                              \
        return run;                                                                                \
    }

/* How many of so many formats a test has: all, with GPV_TEST_SHORT the first three. */
int some_of(gsize count);

/* With GPV_TEST_FULL, usually, and with GPV_TEST_SHORT; or as often as GPV_TEST_ROUNDS, at least 1,
   says. */
guint rounds(guint full, guint usual, guint few);

/* What main() returns to skip the test. */
int not_run(const gchar *reason);

/* What main() returns once the tests of a part have run. */
int run_tests(const gchar *part);
extern gdouble test_seconds; /* that one of them may take */

/* Likewise; skips where there is no device. */
int run_where_a_device_is(const gchar *part);

/* Likewise, where the test is for CUDA. */
int run_on_backend(const gchar *part);

/* Likewise where no clip can be decoded on it. */
int run_behind_a_decoder(const gchar *part);

/* Of GStreamer 1.22 or later. */
gboolean have_element(const gchar *name);

/* As run_on_backend(), where these elements are; NULL ends them. */
int run_with(const gchar *part, ...) G_GNUC_NULL_TERMINATED;

/* Likewise, where the pictures that the tests write can be decoded. */
int run_with_pictures(const gchar *part);

/* What an element counts, which has to compute there. */
GstStructure *stats_of(GstElement *element, const gchar *backend);
guint64 stat_of(GstElement *element, const gchar *backend, const gchar *name);

/* Of this process. */
guint thread_count(void);

#endif
