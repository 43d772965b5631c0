/* SPDX-License-Identifier: BSD-2-Clause */
/* A plugin with a camera that is always there and shows a ball. */
#include <gst/gst.h>

typedef struct {
    GstDevice parent;
} TestCamera;
typedef struct {
    GstDeviceClass parent;
} TestCameraClass;
typedef struct {
    GstDeviceProvider parent;
} TestCameras;
typedef struct {
    GstDeviceProviderClass parent;
} TestCamerasClass;

GType test_camera_get_type(void);
GType test_cameras_get_type(void);
G_DEFINE_TYPE(TestCamera, test_camera, GST_TYPE_DEVICE)
G_DEFINE_TYPE(TestCameras, test_cameras, GST_TYPE_DEVICE_PROVIDER)

static GstElement *create_element(GstDevice *device, const gchar *name) {
    GstElement *bin = gst_parse_bin_from_description(
        "videotestsrc is-live=true pattern=ball ! "
        "video/x-raw,format=YUY2,width=320,height=240,framerate=30/1",
        TRUE, NULL);
    (void)device;
    if (bin && name)
        gst_object_set_name(GST_OBJECT(bin), name);
    return bin;
}

static GList *probe(GstDeviceProvider *provider) {
    GstCaps *caps = gst_caps_new_empty_simple("video/x-raw");
    GstDevice *camera = g_object_new(test_camera_get_type(), "display-name", "Test camera",
                                     "device-class", "Video/Source", "caps", caps, NULL);
    (void)provider;
    gst_caps_unref(caps);
    return g_list_append(NULL, camera);
}

static void test_camera_init(TestCamera *camera) {
    (void)camera;
}

static void test_camera_class_init(TestCameraClass *klass) {
    GST_DEVICE_CLASS(klass)->create_element = create_element;
}

static void test_cameras_init(TestCameras *cameras) {
    (void)cameras;
}

static void test_cameras_class_init(TestCamerasClass *klass) {
    GST_DEVICE_PROVIDER_CLASS(klass)->probe = probe;
    gst_device_provider_class_set_static_metadata(GST_DEVICE_PROVIDER_CLASS(klass), "Test cameras",
                                                  "Source/Video", "One camera, for tests",
                                                  "gpuvision");
}

static gboolean init(GstPlugin *plugin) {
    return gst_device_provider_register(plugin, "testcameras", GST_RANK_PRIMARY,
                                        test_cameras_get_type());
}

#define PACKAGE "gpuvision"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, testcamera, "A camera for tests", init, "0",
                  "BSD", "gpuvision", "gpuvision")
