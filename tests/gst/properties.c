/* SPDX-License-Identifier: BSD-2-Clause */
#include "properties.h"

#include <math.h>

/* What would take too long for a frame of a test, or is no value though it is in the range. */
static const struct {
    const gchar *name;
    gint minimum, maximum;
} limits[] = {{"radius", 0, 40},      {"radius-y", -1, 40},    {"iterations", 1, 3},
              {"clusters", 2, 32},    {"max-clusters", 2, 32}, {"max-iterations", 0, 50},
              {"octave-layers", 1, 8}};
static gint random_int(const GParamSpecInt *spec) {
    gint minimum = spec->minimum, maximum = spec->maximum;
    for (guint i = 0; i < G_N_ELEMENTS(limits); i++)
        if (g_str_equal(spec->parent_instance.name, limits[i].name)) {
            minimum = limits[i].minimum;
            maximum = limits[i].maximum;
        }
    return (gint)((gint64)minimum + (gint64)(g_random_double() * ((gdouble)maximum - minimum + 1)));
}

static gfloat random_float(const GParamSpecFloat *spec) {
    const gdouble part = pow(10, g_random_double_range(-6, 0));
    return (gfloat)(spec->minimum + part * ((gdouble)spec->maximum - spec->minimum));
}

static const gchar *random_text(const gchar *name, const gchar *picture) {
    static const gchar *const rects[] = {"4,4,20,20", "0,0,64,48", "-5,-5,30,90", "60,40,9,9"};
    if (g_str_equal(name, "rect"))
        return rects[g_random_int_range(0, G_N_ELEMENTS(rects))];
    return g_str_equal(name, "reference") && g_random_boolean() ? NULL : picture;
}

static void change_one(GstElement *element, GParamSpec *spec, const gchar *picture) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, spec->value_type);
    if (G_IS_PARAM_SPEC_INT(spec))
        g_value_set_int(&value, random_int(G_PARAM_SPEC_INT(spec)));
    else if (G_IS_PARAM_SPEC_UINT(spec))
        g_value_set_uint(&value, g_random_int());
    else if (G_IS_PARAM_SPEC_UINT64(spec))
        g_value_set_uint64(&value, g_random_int());
    else if (G_IS_PARAM_SPEC_FLOAT(spec))
        g_value_set_float(&value, random_float(G_PARAM_SPEC_FLOAT(spec)));
    else if (G_IS_PARAM_SPEC_BOOLEAN(spec))
        g_value_set_boolean(&value, g_random_boolean());
    else if (G_IS_PARAM_SPEC_STRING(spec))
        g_value_set_string(&value, random_text(spec->name, picture));
    else if (G_IS_PARAM_SPEC_ENUM(spec)) {
        const GEnumClass *klass = G_PARAM_SPEC_ENUM(spec)->enum_class;
        g_value_set_enum(&value, klass->values[g_random_int_range(0, (gint)klass->n_values)].value);
    } else
        fail("%s is of a type that is not changed here", spec->name);
    g_object_set_property(G_OBJECT(element), spec->name, &value);
    g_value_unset(&value);
}

Properties properties_new(const gchar *picture) {
    Properties properties = {picture, g_ptr_array_new(), g_ptr_array_new()};
    return properties;
}

void properties_free(Properties *properties) {
    g_ptr_array_unref(properties->elements);
    g_ptr_array_unref(properties->specs);
}

void add_properties(Properties *properties, GstElement *bin, const gchar *name) {
    GstElement *element = gst_bin_get_by_name(GST_BIN(bin), name);
    guint count = 0;
    GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
    for (guint i = 0; i < count; i++)
        if ((specs[i]->flags & GST_PARAM_MUTABLE_PLAYING) && (specs[i]->flags & G_PARAM_WRITABLE) &&
            g_str_has_prefix(g_type_name(specs[i]->owner_type), "GstGpu")) {
            g_ptr_array_add(properties->elements, element);
            g_ptr_array_add(properties->specs, specs[i]);
        }
    g_free(specs);
    gst_object_unref(element); /* the bin holds it */
}

void change_any(const Properties *properties) {
    const guint which = (guint)g_random_int_range(0, (gint)properties->specs->len);
    change_one(g_ptr_array_index(properties->elements, which),
               g_ptr_array_index(properties->specs, which), properties->picture);
}
