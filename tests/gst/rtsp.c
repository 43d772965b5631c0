/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A camera that drops and comes back: a server of RTSP on this machine, a process of its own, that
 * is killed five times, and shows another scene after each return. The application goes on as one
 * would: it stops and restarts the source, and leaves all behind it as it is. Each element is
 * compared with the library, in every byte and every field; after a return with an operator that
 * has seen nothing, so that what was learned of the scene before has to be gone.
 *
 *     gst-rtsp                      the test
 *     gst-rtsp camera PORT SCENE    the camera; prints its port, which is another one if PORT is 0
 */
#include "chains.h"
#include "clip.h"

#include <gst/rtsp-server/rtsp-server.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { drops = 5, frames_of_a_scene = 5 };

/* ---- the camera ---- */

static const gchar *const scenes[] = {"smpte",    "ball foreground-color=0xff4080ff",
                                      "circular", "zone-plate kx2=20 ky2=20 kt=1",
                                      "colors",   "ball foreground-color=0xffffe010"};
G_STATIC_ASSERT(G_N_ELEMENTS(scenes) == drops + 1);

static int run_camera(const gchar *port, guint scene) {
    GstRTSPServer *server = gst_rtsp_server_new();
    GstRTSPMountPoints *mounts = gst_rtsp_server_get_mount_points(server);
    GstRTSPMediaFactory *factory = gst_rtsp_media_factory_new();
    gchar *text = g_strdup_printf("videotestsrc is-live=true pattern=%s ! "
                                  "video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! "
                                  "jpegenc ! rtpjpegpay name=pay0",
                                  scenes[scene]);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
    gst_rtsp_media_factory_set_launch(factory, text);
    gst_rtsp_mount_points_add_factory(mounts, "/camera", factory);
    gst_rtsp_server_set_address(server, "127.0.0.1");
    gst_rtsp_server_set_service(server, port);
    if (gst_rtsp_server_attach(server, NULL) == 0)
        return 1;
    g_print("%d\n", gst_rtsp_server_get_bound_port(server));
    g_main_loop_run(g_main_loop_new(NULL, FALSE));
    return 0;
}

typedef struct {
    GPid process;
    gint port;
} Camera;

static void camera_come(Camera *camera, guint scene) {
    g_autofree gchar *port = g_strdup_printf("%d", camera->port),
                     *number = g_strdup_printf("%u", scene);
    gchar *args[] = {(gchar *)"/proc/self/exe", (gchar *)"camera", port, number, NULL};
    gchar line[16] = "";
    gint output = -1;
    ssize_t size;
    fail_unless(g_spawn_async_with_pipes(NULL, args, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                                         &camera->process, NULL, &output, NULL, NULL));
    size = read(output, line, sizeof line - 1);
    camera->port = size > 0 ? atoi(line) : 0;
    fail_unless(camera->port > 0, "the camera does not start");
    close(output);
}

/* Without a word, as if its power were cut. */
static void camera_drop(Camera *camera) {
    fail_unless(kill(camera->process, SIGKILL) == 0);
    waitpid(camera->process, NULL, 0);
    g_spawn_close_pid(camera->process);
}

/* ---- the application ---- */

typedef struct {
    Camera camera;
    GstElement *pipeline, *source, *first; /* of the elements */
    ChainWatch *chain;
    gint ended;  /* atomic: the source has */
    gint frames; /* of all scenes that have come out of the last one, atomic */
} Viewer;

/* The end of the source is not the end of what is behind it. */
static GstPadProbeReturn keep_end(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                  gpointer user) {
    Viewer *viewer = user;
    if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(probe)) != GST_EVENT_EOS)
        return GST_PAD_PROBE_OK;
    g_atomic_int_set(&viewer->ended, TRUE);
    return GST_PAD_PROBE_DROP;
}

static GstPadProbeReturn count_frame(G_GNUC_UNUSED GstPad *pad,
                                     G_GNUC_UNUSED GstPadProbeInfo *probe, gpointer user) {
    Viewer *viewer = user;
    g_atomic_int_inc(&viewer->frames);
    return GST_PAD_PROBE_OK;
}

static void source_start(Viewer *viewer) {
    g_autofree gchar *text =
        g_strdup_printf("rtspsrc location=rtsp://127.0.0.1:%d/camera protocols=tcp "
                        "latency=0 ! rtpjpegdepay ! jpegdec ! videoconvert ! "
                        "capsfilter name=last caps=video/x-raw,format=NV12",
                        viewer->camera.port);
    GError *error = NULL;
    g_autoptr(GstElement) last = NULL;
    g_autoptr(GstPad) pad = NULL;
    viewer->source = gst_parse_bin_from_description(text, FALSE, &error);
    fail_unless(error == NULL, "%s", error ? error->message : "");
    last = gst_bin_get_by_name(GST_BIN(viewer->source), "last");
    pad = gst_element_get_static_pad(last, "src");
    gst_element_add_pad(viewer->source, gst_ghost_pad_new("src", pad));
    g_atomic_int_set(&viewer->ended, FALSE);
    probe_pad(viewer->source, "src", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, keep_end, viewer);
    gst_bin_add(GST_BIN(viewer->pipeline), viewer->source);
    fail_unless(gst_element_link(viewer->source, viewer->first));
    fail_unless(gst_element_sync_state_with_parent(viewer->source));
}

static void source_stop(Viewer *viewer) {
    gst_element_set_locked_state(viewer->source, TRUE);
    gst_element_set_state(viewer->source, GST_STATE_NULL);
    gst_element_unlink(viewer->source, viewer->first);
    gst_bin_remove(GST_BIN(viewer->pipeline), viewer->source);
}

/* Whether it does within 10 ms, or says that it fails. No element behind it may say so. */
static gboolean source_ends(Viewer *viewer) {
    g_autoptr(GstBus) bus = gst_element_get_bus(viewer->pipeline);
    GstMessage *message =
        gst_bus_timed_pop_filtered(bus, 10 * GST_MSECOND, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
    if (message) {
        fail_unless(
            GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR &&
                gst_object_has_as_ancestor(GST_MESSAGE_SRC(message), GST_OBJECT(viewer->source)),
            "%s of %s", GST_MESSAGE_TYPE_NAME(message), GST_MESSAGE_SRC_NAME(message));
        g_atomic_int_set(&viewer->ended, TRUE);
        gst_message_unref(message);
    }
    return g_atomic_int_get(&viewer->ended);
}

enum { patience = 6000 }; /* times 10 ms */

static void wait_for_the_end(Viewer *viewer) {
    for (guint i = 0; !source_ends(viewer); i++)
        fail_unless(i < patience, "the source does not end within a minute");
}

static void wait_for_frames(Viewer *viewer, gint frames) {
    for (guint i = 0; g_atomic_int_get(&viewer->frames) < frames; i++) {
        fail_if(source_ends(viewer), "the source has ended");
        fail_unless(i < patience, "%d frames within a minute", viewer->frames);
    }
}

/* ---- the test ---- */

static void see_scene(Viewer *viewer, guint scene) {
    camera_come(&viewer->camera, scene);
    source_start(viewer);
    wait_for_frames(viewer, viewer->frames + frames_of_a_scene);
    camera_drop(&viewer->camera);
    wait_for_the_end(viewer);
    source_stop(viewer);
    assert_watched(viewer->chain, (guint)viewer->frames);
    fail_unless_equals_uint64(stat_of(viewer->first, test_backend(), "frames"),
                              (guint64)viewer->frames);
}

TEST(test_drops, 1) {
    static const ChainLook look = {"rich", "none", "overlay", TRUE};
    g_autofree gchar *chain = chain_text(&look, test_backend(), "");
    g_autofree gchar *text =
        g_strdup_printf("%s ! fakesink name=sink sync=false async=false", chain);
    Viewer viewer = {.pipeline = launch(text)};
    g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(viewer.pipeline), "sink");
    viewer.first = gst_bin_get_by_name(GST_BIN(viewer.pipeline), elements[0].name);
    viewer.chain = chain_watch_new(viewer.pipeline);
    probe_pad(sink, "sink", GST_PAD_PROBE_TYPE_BUFFER, count_frame, &viewer);
    gst_element_set_state(viewer.pipeline, GST_STATE_PLAYING);
    see_scene(&viewer, 0);
    source_start(&viewer); /* while the camera is away */
    wait_for_the_end(&viewer);
    source_stop(&viewer);
    for (guint scene = 1; scene <= drops; scene++) {
        chain_watch_restart(viewer.chain);
        see_scene(&viewer, scene);
    }
    assert_something_was_found(viewer.chain);
    g_print("%d frames of %d scenes\n", viewer.frames, drops + 1);
    reach(viewer.pipeline, GST_STATE_NULL);
    chain_watch_free(viewer.chain);
    gst_object_unref(viewer.first);
    gst_object_unref(viewer.pipeline);
    gst_task_cleanup_all(); /* else the thread of a task may outlive its element
                               for a moment */
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    if (argc == 4 && g_str_equal(argv[1], "camera"))
        return run_camera(argv[2], (guint)atoi(argv[3]));
    return run_with(NULL, "rtspsrc", "rtpjpegpay", "rtpjpegdepay", "jpegenc", "jpegdec",
                    "videoconvert", "videotestsrc", NULL);
}
