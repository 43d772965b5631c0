/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The elements on a CUDA device whose memory is nearly full: they process the frame, or say on the
 * bus what is missing, and work again as soon as there is memory. Whatever is left, there is a
 * frame for which it is too little.
 */
#include "cuda_frames.h"

#include <cuda_runtime_api.h>

enum { mebibyte = 1 << 20 };

/* The last one, for elements that need little else, is larger than what is left. */
static const struct {
    const gchar *format;
    gint width, height;
} frames[] = {{"NV12", 1920, 1080}, {"NV12", 3840, 2160}, {"RGBA", 8192, 8448}};
static const gsize left_mebibytes[] = {16, 64, 256};

/* ---- memory that others have ---- */

static gsize unused_memory(void) {
    gsize unused = 0, total = 0;
    fail_unless_equals_int(cudaMemGetInfo(&unused, &total), cudaSuccess);
    return unused;
}

/* Takes all but so much, in the context, as far as blocks of a mebibyte can. */
static GPtrArray *take_memory(GstCudaContext *context, gsize left) {
    GPtrArray *blocks = g_ptr_array_new();
    fail_unless(gst_cuda_context_push(context));
    for (gsize size = (gsize)4096 * mebibyte; size >= mebibyte; size /= 2)
        while (unused_memory() >= left + size) {
            gpointer block = NULL;
            if (cudaMalloc(&block, size) != cudaSuccess)
                break;
            g_ptr_array_add(blocks, block);
        }
    cudaGetLastError(); /* of the block that was too large */
    gst_cuda_context_pop(NULL);
    return blocks;
}

static void give_memory_back(GstCudaContext *context, GPtrArray *blocks) {
    fail_unless(gst_cuda_context_push(context));
    for (guint i = 0; i < blocks->len; i++)
        fail_unless_equals_int(cudaFree(g_ptr_array_index(blocks, i)), cudaSuccess);
    gst_cuda_context_pop(NULL);
    g_ptr_array_unref(blocks);
}

/* ---- an element ---- */

/* From NULL to a frame and back. Returns what came out, in system memory, or NULL. */
static GstBuffer *run_one(Pair *pair, GstBuffer *frame) {
    const GstVideoInfo info = pair->info;
    g_autoptr(GstBuffer) out = NULL;
    GstBuffer *result = NULL;
    if (gst_element_set_state(pair->h->element, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE) {
        cuda_pair_begin(pair, &info, gst_is_cuda_memory(gst_buffer_peek_memory(frame, 0)));
        if (gst_harness_push(pair->h, gst_buffer_ref(frame)) == GST_FLOW_OK)
            out = gst_harness_pull(pair->h);
    }
    if (out)
        result = pair->fetch ? pair->fetch(&info, out) : gst_buffer_ref(out);
    gst_clear_buffer(&out); /* its pool is the element's */
    reach(pair->h->element, GST_STATE_NULL);
    return result;
}

/* Returns the text of the one error on the bus. In system memory it is the library that has too
   little; in CUDAMemory it may be the pool of frames. */
static gchar *resource_error(const Pair *pair, gboolean cuda) {
    const gint code = GST_RESOURCE_ERROR_NO_SPACE_LEFT;
    gchar *text = error_on(pair->bus, GST_RESOURCE_ERROR, code);
    fail_unless(cuda || strstr(text, gpv_status_string(GPV_ERR_OUT_OF_MEMORY)), "%s", text);
    return text;
}

/* Returns whether there was too little. */
static gboolean check_nearly_full(Pair *pair, GstBuffer *frame, GstCudaContext *context,
                                  GstBuffer *expected, gsize left) {
    const gboolean cuda = gst_is_cuda_memory(gst_buffer_peek_memory(frame, 0));
    GPtrArray *blocks = take_memory(context, left * mebibyte);
    g_autoptr(GstBuffer) got = run_one(pair, frame), again = NULL;
    g_autofree gchar *text = got ? g_strdup("enough") : resource_error(pair, cuda);
    give_memory_back(context, blocks);
    g_print("%s, %dx%d in %s, %" G_GSIZE_FORMAT " MiB left: %s\n", pair->element->name,
            pair->info.width, pair->info.height, cuda ? "CUDAMemory" : "system memory", left, text);
    if (got)
        assert_same(&pair->info, got, expected);
    gst_bus_set_flushing(pair->bus, TRUE);
    gst_bus_set_flushing(pair->bus, FALSE);

    again = run_one(pair, frame);
    fail_unless(gst_bus_pop_filtered(pair->bus, GST_MESSAGE_ERROR) == NULL);
    fail_unless(again != NULL, "it does not work again");
    assert_same(&pair->info, again, expected);
    return got == NULL;
}

/* Of each element, in system memory and in CUDAMemory; with GPV_TEST_SHORT, in one of them. */
TEST(test_nearly_full, 2 * element_count) {
    const Element *element = &elements[__i__ / 2];
    g_autoptr(CudaContext) context = new_context();
    gboolean failed[G_N_ELEMENTS(left_mebibytes)] = {FALSE};
    if (g_getenv("GPV_TEST_SHORT") && (__i__ % 4 == 1 || __i__ % 4 == 2))
        return;
    for (guint f = 0; f < G_N_ELEMENTS(frames); f++) {
        const GstVideoInfo info = make_info(frames[f].format, frames[f].width, frames[f].height);
        g_auto(Pair) pair = cuda_pair_new(element, context);
        GstBuffer *noise = random_frame(&info);
        g_autoptr(GstBuffer) frame = __i__ % 2 ? uploaded(&info, noise, context) : noise;
        g_autoptr(GstBuffer) expected = NULL;
        if (f == G_N_ELEMENTS(frames) - 1 && failed[G_N_ELEMENTS(left_mebibytes) - 1])
            break;
        pair.info = info;
        reach(pair.h->element, GST_STATE_NULL);
        expected = run_one(&pair, frame);
        fail_unless(expected != NULL);
        for (guint i = 0; i < G_N_ELEMENTS(left_mebibytes); i++)
            failed[i] |= check_nearly_full(&pair, frame, context, expected, left_mebibytes[i]);
    }
    for (guint i = 0; i < G_N_ELEMENTS(left_mebibytes); i++)
        fail_unless(failed[i], "%s: %" G_GSIZE_FORMAT " MiB are enough", element->name,
                    left_mebibytes[i]);
}

MAIN(run_where_a_device_is(NULL))
