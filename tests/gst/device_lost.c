/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The elements in a CUDA context that something else has poisoned: the next frame is an error that
 * says so, and so is every later one, and every start; nothing hangs, and all can be stopped. Check
 * gives each of the tests a process of its own, which ends where it hangs.
 */
#include "cuda_frames.h"
#include "lose.h"

#include <cuda_runtime_api.h>

enum { max_seconds = 10 };

/* As another user of the context would. */
static void poison(GstCudaContext *context) {
    fail_unless(gst_cuda_context_push(context));
    fail_unless_equals_int(lose_device(NULL, 0), cudaSuccess);
    fail_unless_equals_int(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    gst_cuda_context_pop(NULL);
}

/* Of each element, in system memory and in CUDAMemory. */
TEST(test_lost, 2 * element_count) {
    const gboolean cuda = __i__ % 2;
    const GstVideoInfo info = make_info("NV12", 64, 48);
    g_autoptr(CudaContext) context = new_context();
    g_auto(Pair) pair = cuda_pair_new(&elements[__i__ / 2], context);
    GstBuffer *noise = random_frame(&info);
    g_autoptr(GstBuffer) frame = cuda ? uploaded(&info, noise, context) : noise;
    cuda_pair_begin(&pair, &info, cuda);
    for (guint i = 0; i < 2; i++)
        gst_buffer_unref(push_and_pull(pair.h, gst_buffer_ref(frame)));
    poison(context);
    for (guint i = 0; i < 3; i++) {
        fail_unless_equals_int(gst_harness_push(pair.h, gst_buffer_ref(frame)), GST_FLOW_ERROR);
        fail_unless_equals_int(gst_harness_buffers_in_queue(pair.h), 0);
        assert_error(pair.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED, "CUDA device lost");
    }
    reach(pair.h->element, GST_STATE_NULL);
    if (gst_element_set_state(pair.h->element, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE) {
        cuda_pair_begin(&pair, &info, cuda);
        fail_unless(gst_harness_push(pair.h, gst_buffer_ref(frame)) != GST_FLOW_OK);
    }
    fail_unless_equals_int(gst_harness_buffers_in_queue(pair.h), 0);
    reach(pair.h->element, GST_STATE_NULL);
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    test_seconds = max_seconds;
    return run_where_a_device_is(NULL);
}
