/* SPDX-License-Identifier: BSD-2-Clause */
/* All five elements in a row, and the library beside each of them. */
#ifndef TESTS_GST_CHAINS_H
#define TESTS_GST_CHAINS_H

#include "elements.h"

/* What the elements are set to, but for what chain_text() says. */
typedef struct {
    const gchar *overlay;    /* of gpusift */
    const gchar *components; /* output of gpuccl */
    const gchar *cut;        /* output of gpugraphcut */
    gboolean warm;           /* whether gpukmeans and gpugraphcut go on from the frame before */
} ChainLook;

/* Of gst-launch, with elements that have the names of their factories. */
gchar *chain_text(const ChainLook *look, const gchar *backend, const gchar *common);

/* A clip of frames for all five elements, in a pipeline that keeps what comes out. */
typedef struct {
    GstElement *pipeline;
    GstVideoInfo info;
    GPtrArray *out; /* buffers, as the sink gets them */
} Film;

/* On the CPU, or in CUDAMemory. */
Film film_new(const GstVideoInfo *info, gboolean cuda);

/* Each number has other frames. place() takes one in system memory and returns it elsewhere; NULL:
   it stays there. */
void film_load(Film *film, guint number, guint frames,
               GstBuffer *(*place)(const GstVideoInfo *info, GstBuffer *frame, gpointer user),
               gpointer user);

enum { film_count = 16 };

/*
 * What comes out of as many films at once is what comes out of each alone, in every byte and every
 * field. make() gives and loads one; fetch() copies a frame of it to system memory, NULL: it is
 * there.
 */
void check_films(guint frames,
                 Film (*make)(guint number, guint frames, gboolean alone, gpointer user),
                 GstBuffer *(*fetch)(const Film *film, guint number, GstBuffer *frame,
                                     gpointer user),
                 gpointer user);

/* What an element was given, and what comes out of it. One thread runs the whole chain. */
typedef struct {
    Model *model;
    GstBuffer *(*fetch)(const GstVideoInfo *info, GstBuffer *there); /* into system memory */
    GstVideoInfo in_info;
    GstBuffer *in; /* in system memory, or NULL */
    guint given, compared;
    gint maximum; /* greatest measure so far */
} Watch;

typedef struct {
    Watch stages[element_count]; /* by elements */
} ChainWatch;

GstVideoInfo info_of(GstPad *pad);
void probe_pad(GstElement *element, const gchar *name, GstPadProbeType type,
               GstPadProbeCallback callback, gpointer user);

/* Compares all that comes out of the elements of a bin. Frames are mapped, wherever they are; but
   where those of CUDAMemory may be I420, of which GStreamer 1.24 maps a plane wrongly, fetch. */
ChainWatch *chain_watch_new(GstElement *bin);
void chain_watch_fetch(ChainWatch *chain,
                       GstBuffer *(*fetch)(const GstVideoInfo *info, GstBuffer *there));

/* The elements have begun anew. */
void chain_watch_restart(ChainWatch *chain);

/* That each element was given so many frames, and each of them was compared. */
void assert_watched(const ChainWatch *chain, guint frames);

/* That there was something to find. */
void assert_something_was_found(const ChainWatch *chain);

/* Once nothing runs any more. */
void chain_watch_free(ChainWatch *chain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ChainWatch, chain_watch_free)

#endif
