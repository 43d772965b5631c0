/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many frames in CUDAMemory through the element that is named: 2000, and 100000 with GPV_TEST_FULL.
 * Device memory stays as it is after the first 1000, and every 1000th result is that of the CPU.
 */
#include "helpers.h"
#include "scene.h"

#include <cuda_runtime_api.h>

#define WARM_UP 1000
#define CHECKED 1000
#define BUFFERS 7 /* shares no factor with CHECKED, so that each of them is checked */

static gsize device_memory_in_use(void) {
    gsize unused = 0, total = 0;
    fail_unless_equals_int(cudaMemGetInfo(&unused, &total), cudaSuccess);
    return total - unused;
}

/* ---- frames ---- */

static gchar *result(GstHarness *h, const GstVideoInfo *info, GstBuffer *frame) {
    g_autoptr(GstBuffer) out = push_and_pull(h, frame);
    gchar *sum = checksum(info, out);
    return sum;
}

/* Without what a frame takes over from the one before. */
static const struct {
    const gchar *name, *properties;
} soaked[] = {{"gpuerode", ""},
              {"gpuccl", ""},
              {"gpukmeans", "warm-start=false"},
              {"gpugraphcut", "warm-start=false"},
              {"gpusift", "overlay=rich"}};
static gsize tested_element; /* which main() was given */

static GstHarness *harness_on(const gchar *backend) {
    g_autofree gchar *text = g_strdup_printf("%s backend=%s %s", soaked[tested_element].name,
                                             backend, soaked[tested_element].properties);
    GstHarness *h = harness_with(launch(text));
    return h;
}

/* Noise; of gpugraphcut, which takes many times as long to cut noise, an object. */
static GstBuffer *soak_frame(const GstVideoInfo *info, guint number) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    if (g_str_equal(soaked[tested_element].name, "gpugraphcut")) {
        fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
        draw_object(&frame, number);
        gst_video_frame_unmap(&frame);
    }
    return buffer;
}

TEST(test_frames, 1) {
    const gchar *name = soaked[tested_element].name;
    const guint64 frames = WARM_UP + rounds(100000, 2000, 1000);
    GstVideoInfo info = make_info("NV12", 1920, 1080);
    g_autoptr(GstHarness) model = harness_on("cpu"), tested = harness_on("cuda");
    /* What draws into its frames offers the pool of downstream, and here there is none. */
    const gboolean draws = g_str_equal(name, "gpusift");
    GstHarness *giver = draws ? harness_with(launch("gpuerode backend=cuda")) : tested;
    GstBuffer *buffers[BUFFERS];
    GstBufferPool *pool;
    guint size;
    gchar *expected[BUFFERS];
    gsize before = 0, after;
    guint64 checked = 0;

    gst_harness_set_src_caps(model, gst_video_info_to_caps(&info));
    gst_harness_set_src_caps(tested, cuda_caps(&info));
    if (draws)
        gst_harness_set_src_caps(giver, cuda_caps(&info));
    pool = offered_pool(giver, &info, &size);
    fail_unless(gst_buffer_pool_set_active(pool, TRUE));
    for (guint i = 0; i < BUFFERS; i++) {
        GstBuffer *frame = soak_frame(&info, i);
        fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool, &buffers[i], NULL),
                               GST_FLOW_OK);
        copy_mapped(&info, frame, buffers[i]);
        expected[i] = result(model, &info, frame);
    }
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
    if (draws)
        harness_free(giver);
    for (guint64 i = 0; i < frames; i++) {
        GstBuffer *frame = gst_buffer_ref(buffers[i % BUFFERS]);
        if (i == WARM_UP)
            before = device_memory_in_use();
        if (i % CHECKED == 0) {
            gchar *sum = result(tested, &info, frame);
            fail_unless_equals_string(sum, expected[i % BUFFERS]);
            g_free(sum);
            checked++;
        } else {
            gst_buffer_unref(gst_harness_push_and_pull(tested, frame));
        }
    }
    after = device_memory_in_use();
    g_print("%s: %" G_GUINT64_FORMAT " frames, %" G_GUINT64_FORMAT
            " checked, device memory after the first %d: %+" G_GINT64_FORMAT " bytes\n",
            name, frames, checked, WARM_UP, (gint64)after - (gint64)before);
    fail_unless(after <= before);

    for (guint i = 0; i < BUFFERS; i++) {
        gst_buffer_unref(buffers[i]);
        g_free(expected[i]);
    }
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    test_seconds = 450;
    for (; argc == 2 && tested_element < G_N_ELEMENTS(soaked); tested_element++)
        if (g_str_equal(argv[1], soaked[tested_element].name))
            return run_where_a_device_is(NULL);
    g_printerr("%s takes the name of an element\n", argv[0]);
    return 2;
}
