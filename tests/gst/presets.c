/* SPDX-License-Identifier: BSD-2-Clause */
/* The presets in gst/presets, and what docs/pipelines.md says that they stand for. */
#include "elements.h"

static const gchar *const comment_key = "_meta/comment";

/* Empty, if the element has no presets. */
static GKeyFile *open_file(GstElement *element) {
    GKeyFile *file = g_key_file_new();
    g_autofree gchar *path =
        g_strdup_printf(GPV_TEST_PRESETS "/%s.prs", G_OBJECT_TYPE_NAME(element));
    g_autofree gchar *name = NULL;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return file;
    fail_unless(g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL), "%s", path);
    name = g_key_file_get_string(file, "_presets_", "element-name", NULL);
    fail_unless_equals_string(name, G_OBJECT_TYPE_NAME(element));
    fail_unless(g_key_file_remove_group(file, "_presets_", NULL));
    return file;
}

/* What a key of a preset says, as a value of the property that it names. */
static GValue value_of(GKeyFile *file, const gchar *preset, const gchar *key, GObject *element) {
    GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), key);
    g_autofree gchar *text = g_key_file_get_string(file, preset, key, NULL);
    GValue value = G_VALUE_INIT;
    fail_unless(spec != NULL, "%s: there is no property %s", preset, key);
    g_value_init(&value, spec->value_type);
    fail_unless(gst_value_deserialize(&value, text), "%s: %s=%s", preset, key, text);
    fail_unless(!g_param_value_validate(spec, &value), "%s: %s=%s is out of range", preset, key,
                text);
    fail_unless(spec->flags & G_PARAM_WRITABLE && spec->flags & GST_PARAM_MUTABLE_PLAYING,
                "%s: %s cannot be set at any time", preset, key);
    return value;
}

static void assert_loaded(GObject *element, GKeyFile *file, const gchar *preset) {
    g_auto(GStrv) keys = g_key_file_get_keys(file, preset, NULL, NULL);
    for (gchar **key = keys; *key; key++) {
        GValue wanted, got = G_VALUE_INIT;
        if (g_str_equal(*key, comment_key))
            continue;
        wanted = value_of(file, preset, *key, element);
        g_value_init(&got, G_VALUE_TYPE(&wanted));
        g_object_get_property(element, *key, &got);
        fail_unless(gst_value_compare(&got, &wanted) == GST_VALUE_EQUAL, "%s does not set %s",
                    preset, *key);
        g_value_unset(&got);
        g_value_unset(&wanted);
    }
}

static gchar *keys_of(GKeyFile *file, const gchar *preset) {
    gchar **keys = g_key_file_get_keys(file, preset, NULL, NULL);
    gchar *joined = g_strjoinv(" ", keys);
    g_strfreev(keys);
    return joined;
}

/* GStreamer finds the presets of the file, and no others, with what they are for. Each sets all
   that it names, and as all name the same, leaves nothing behind of the one before. */
TEST(test_loaded, element_count) {
    g_autoptr(GstElement) element = element_new(elements[__i__].name, "cpu");
    g_autoptr(GKeyFile) file = open_file(element);
    gsize n = 0;
    g_auto(GStrv) groups = g_key_file_get_groups(file, &n);
    g_auto(GStrv) names = gst_preset_get_preset_names(GST_PRESET(element));
    g_autofree gchar *keys = groups[0] ? keys_of(file, groups[0]) : NULL;
    fail_unless(n == 0 || n >= 3, "%u presets", (guint)n);
    fail_unless_equals_int(names ? g_strv_length(names) : 0, n);
    for (gchar **group = groups; *group; group++) {
        g_autofree gchar *comment = NULL, *own = keys_of(file, *group);
        fail_unless(g_strv_contains((const gchar *const *)names, *group), "%s", *group);
        fail_unless(gst_preset_get_meta(GST_PRESET(element), *group, "comment", &comment), "%s",
                    *group);
        fail_unless(strlen(comment) > 10, "%s: %s", *group, comment);
        fail_unless_equals_string(own, keys);
        fail_unless(gst_preset_load_preset(GST_PRESET(element), *group));
        assert_loaded(G_OBJECT(element), file, *group);
    }
}

/* What follows the name of the preset in a row of the table: | `preset` | `these words` | ... */
static gchar *documented(const gchar *page, const gchar *element, const gchar *preset) {
    g_autofree gchar *head = g_strdup_printf("\n| `%s @preset=%s` | `", element, preset);
    const gchar *row = strstr(page, head);
    gchar *words;
    fail_unless(row != NULL, "there is no row %s", head + 1);
    row += strlen(head);
    words = g_strndup(row, strcspn(row, "`"));
    return words;
}

/* The table of docs/pipelines.md has them all, with properties that do the same, and no others. */
TEST(test_documented, element_count) {
    g_autoptr(GstElement) loaded = element_new(elements[__i__].name, "cpu");
    g_autoptr(GKeyFile) file = open_file(loaded);
    g_auto(GStrv) groups = g_key_file_get_groups(file, NULL);
    g_autofree gchar *page = NULL;
    g_autofree gchar *head = g_strdup_printf("\n| `%s @preset=", elements[__i__].name);
    guint rows = 0;
    fail_unless(g_file_get_contents(GPV_TEST_PIPELINES, &page, NULL, NULL));
    for (const gchar *row = page; (row = strstr(row, head)); row++)
        rows++;
    fail_unless_equals_int(rows, g_strv_length(groups));
    for (gchar **group = groups; *group; group++) {
        g_autofree gchar *words = documented(page, elements[__i__].name, *group);
        GError *error = NULL;
        g_autoptr(GstElement) set = gst_parse_launch(words, &error);
        fail_unless(error == NULL, "%s: %s", words, error ? error->message : "");
        fail_unless(G_OBJECT_TYPE(set) == G_OBJECT_TYPE(loaded), "%s", words);
        assert_loaded(G_OBJECT(set), file, *group);
    }
}

MAIN(run_tests(NULL))
