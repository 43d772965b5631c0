/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The five elements, each described once, and the library in the place of each: it is called,
 * through its C interface, on the very frames that the element is given, and what it makes of them
 * is what the element has to give, in every byte and every field of the results.
 */
#ifndef TESTS_GST_ELEMENTS_H
#define TESTS_GST_ELEMENTS_H

#include "helpers.h"

/* Of the frame that comes out: other ones, those that came, drawn into, or as they were. */
typedef enum { pixels_new, pixels_drawn, pixels_kept } Pixels;

typedef struct {
    const gchar *name;
    Pixels pixels;
    const gchar *format, *cuda_format; /* in system memory, in CUDAMemory; NULL: as it came */
} Output;

typedef struct {
    const gchar *name, *initial;    /* a text may be NULL */
    const gchar *minimum, *maximum; /* NULL: it is no number */
    const gchar *values;            /* some that tests take, with spaces between; NULL: none */
    gsize offset;                   /* of the library's parameter; 0: there is none */
} Property;

typedef struct Model Model;

typedef struct {
    const gchar *name, *klass;
    const gchar *choice; /* the property that says the output; NULL: there is one output */
    const Output *outputs;
    guint output_count;
    const Property *properties;
    guint property_count;
    const gchar *measure;         /* of the results, small where there is little to see */
    gint least;                   /* of the measure, where a photograph is seen */
    const gchar *other, *another; /* a property and a value that gives other results */
    gboolean learns;              /* a frame goes on from the one before */
    gboolean interlaced;          /* no pixel depends on its neighbours */
    gboolean slow;                /* frames of noise take long */
    void (*open)(Model *model);
    void (*close)(Model *model);
    void (*forget)(Model *model);
    GstStructure *(*run)(Model *model, const gpv_image *src, const gpv_image *dst,
                         const Output *output); /* dst: the frame itself where it is drawn into */
} Element;

enum { element_count = 5 };
extern const Element elements[element_count];

extern const Property base_properties[5]; /* that each element has */

const Element *element_called(const gchar *name);

/* Of the values of a property, with g_strfreev(). */
gchar **values_of(const Property *property);

/* ---- the library ---- */

struct Model {
    const Element *element;
    GObject *properties; /* of the element that it stands for, or another one */
    gpv_context *context;
    gpv_erode *erode;
    gpv_ccl *ccl;
    gpv_kmeans *kmeans;
    gpv_segment *segment;
    gpv_sift *sift;
    gpv_match *match;
    union {
        gpv_erode_params erode;
        gpv_ccl_params ccl;
        gpv_kmeans_params kmeans;
        gpv_segment_params segment;
        gpv_sift_params sift;
    } params;

    /* What gpugraphcut is told of a frame; NULL: nothing. Regions are seeds of every frame. */
    const gpv_image *seeds, *regions;
    const gpv_rect *rect;
    gboolean learned;

    /* What gpusift looks for; NULL: nothing. */
    const Plane *reference;
    gboolean impossible; /* to be seen, however many matches agree */
};

/* On the CPU. Keeps the element, whose properties it reads before every frame. */
Model *model_new(const Element *element, GstElement *properties);
void model_free(Model *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Model, model_free)
void model_forget(Model *model);
const Output *model_output(const Model *model);

/* In system memory, in the format of CUDAMemory if that is wanted. */
typedef struct {
    GstVideoInfo info;
    GstBuffer *image;
    GstStructure *results;
} Expected;

/* What the library makes of a frame in system memory, after those that it was given before. */
Expected model_expect(Model *model, const GstVideoInfo *info, GstBuffer *frame, gboolean cuda);
void expected_free(Expected *expected);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Expected, expected_free)

void assert_same_results(const GstStructure *got, const GstStructure *expected);

/* A message has what the metadata has, but for bytes, and times. */
void assert_posted(const GstStructure *posted, const GstStructure *expected);

/* Of a picture that a homography moves; the first is at the top left, and they go round
   clockwise. */
void corner_of(const gdouble *homography, gint width, gint height, guint corner, gdouble *to);

/* Of gpuccl: regions of interest are the components. */
void assert_regions(GstBuffer *frame, const GstStructure *results);

/* ---- an element and its model ---- */

typedef struct {
    const Element *element;
    GstHarness *h;
    GstBus *bus; /* of the element in the harness */
    Model *model;
    GstElement *beside; /* has the properties of the model */
    GstVideoInfo info;
    guint count; /* frames so far */
    /* Copies a frame to system memory; NULL: it is there. */
    GstBuffer *(*fetch)(const GstVideoInfo *info, GstBuffer *there);
} Pair;

/* On the backend of the test. */
Pair pair_new(const Element *element);
/* Takes the element, which is not in a harness yet. */
Pair pair_with(const Element *element, GstElement *tested);
void pair_free(Pair *pair);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Pair, pair_free)
void pair_set(Pair *pair, const gchar *property, const gchar *value);
void pair_set_output(Pair *pair, const Output *output);
void pair_set_info(Pair *pair, const GstVideoInfo *info);

/*
 * Pushes a frame, and compares what comes out. Takes the frame. What somebody else holds keeps its
 * pixels, and what nobody holds goes on. Returns what came out.
 */
GstBuffer *pair_push(Pair *pair, GstBuffer *frame, gboolean held);

/* Likewise, where the frame is elsewhere, too: that one is taken, and the other one kept. */
GstBuffer *pair_push_there(Pair *pair, GstBuffer *frame, GstBuffer *there, gboolean held);

/* Holds every second frame. Returns the measure of the results. */
gint pair_check(Pair *pair, GstBuffer *frame);

/* Places in a frame of whole_width and whole_height. */
enum { whole_width = 47, whole_height = 39, crop_count = 6 };
extern const Crop crops[crop_count];

/* What a crop of a frame leaves gives what the copy of it gives. Takes the frame that is there, as
   pair_push_there(). Returns whether it goes on as it is, and what is behind the element crops. */
gboolean pair_check_crop(Pair *pair, const GstVideoInfo *whole, GstBuffer *frame, GstBuffer *there,
                         const Crop *crop);

/* Each region gives what a frame of it would, alone, or anew after all others; the rest is as it
   came, or 0. Where two overlap, what is drawn is not looked at. Takes the frame that is there, as
   pair_push_there(). */
void pair_check_regions(Pair *pair, GstBuffer *frame, GstBuffer *there, const Crop *regions,
                        guint count, gboolean anew);

/* Of a frame whose results are wanted in the metadata, with which buffers are copied, on the bus,
   in both or in neither. Takes the frame. */
void pair_check_wanted(Pair *pair, GstBuffer *frame, gboolean attach, gboolean post);

/* A value that cannot be used before the first frame is one error, which says it and these words;
   NULL ends them. */
void pair_assert_refused(Pair *pair, const gchar *property, const gchar *value, gint code, ...);

/* Likewise of paths of what is no picture. */
void pair_check_bad_pictures(Pair *pair, const gchar *property);

/* ---- frames ---- */

/* Noise, and squares of all sizes: so that each element has something to find. */
GstBuffer *busy_frame(const GstVideoInfo *info, gboolean is_padded);

/* What a pixel is: of grey squares, of which every seed has others. */
guint8 squares(gint x, gint y, gint seed);

#endif
