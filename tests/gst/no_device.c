/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where CUDA has no device to offer, for want of a driver or because CUDA_VISIBLE_DEVICES hides
 * all: the elements are there, the CPU computes, and nothing is warned of. Only who asks for CUDA
 * is refused.
 */
#include "elements.h"

static gint warnings; /* counted in any thread */

static void count_warning(GstDebugCategory *category, GstDebugLevel level, const gchar *file,
                          const gchar *function, gint line, G_GNUC_UNUSED GObject *object,
                          GstDebugMessage *message, G_GNUC_UNUSED gpointer user) {
    if (level > GST_LEVEL_WARNING)
        return;
    g_atomic_int_inc(&warnings);
    g_printerr("%s: %s:%d %s(): %s\n", gst_debug_category_get_name(category), file, line, function,
               gst_debug_message_get(message));
}

static void begin_counting(void) {
    g_atomic_int_set(&warnings, 0);
    gst_debug_remove_log_function(gst_debug_log_default);
    gst_debug_set_default_threshold(GST_LEVEL_WARNING);
    gst_debug_set_active(TRUE);
    gst_debug_add_log_function(count_warning, NULL, NULL);
}

TEST(test_cpu_computes, element_count) {
    g_autofree gchar *text = g_strdup_printf("videotestsrc num-buffers=2 ! "
                                             "video/x-raw,format=NV12,width=64,height=48 ! "
                                             "%s name=tested ! fakesink",
                                             elements[__i__].name);
    g_autoptr(GstElement) pipeline = NULL, tested = NULL;
    g_autoptr(GstBus) bus = NULL;
    begin_counting();
    pipeline = launch(text);
    reach(pipeline, GST_STATE_PLAYING);
    wait_for_eos(pipeline);
    bus = gst_element_get_bus(pipeline);
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == NULL);
    tested = gst_bin_get_by_name(GST_BIN(pipeline), "tested");
    fail_unless_equals_uint64(stat_of(tested, "cpu", "frames"), 2);
    reach(pipeline, GST_STATE_NULL);
    fail_unless_equals_int(g_atomic_int_get(&warnings), 0);
}

/* No part between colons says what another has said. */
static void assert_parts_differ(const gchar *text) {
    g_auto(GStrv) parts = g_strsplit(text, ": ", 0);
    for (guint i = 0; parts[i]; i++)
        for (guint j = i + 1; parts[j]; j++)
            fail_unless(!g_str_equal(parts[i], parts[j]), "said twice: %s", text);
}

TEST(test_cuda_is_refused, element_count) {
    g_autoptr(GstElement) element = element_new(elements[__i__].name, "cuda");
    g_autoptr(GstBus) bus = add_bus(element);
    g_autofree gchar *text = NULL;
    g_object_set(element, "cuda-device-id", 3, NULL);
    fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                           GST_STATE_CHANGE_FAILURE);
    text = error_on(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
    fail_unless(strstr(text, "backend=cuda cuda-device-id=3: ") != NULL, "%s", text);
    fail_unless(strstr(text, ": gst_gpu_vision_filter_start ()") != NULL, "not where it failed: %s",
                text);
    assert_parts_differ(strstr(text, "looked for"));
    reach(element, GST_STATE_NULL);
}

int main(int argc, char **argv) {
    g_setenv("CUDA_VISIBLE_DEVICES", "", TRUE);
    gst_check_init(&argc, &argv);
    return run_tests(NULL);
}
