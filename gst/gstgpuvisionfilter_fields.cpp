/* SPDX-License-Identifier: BSD-2-Clause */
/* Properties that are members of an element, made from the tables of the library or like these. */
#include <cstring>
#include <string>

#include "gstgpuvisionfilter_private.h"

using namespace gpu_vision_filter;

namespace {

/* Where a property has its value. */
struct Member {
    gpv_field field;
    goffset offset; /* in the element */
    bool is_output; /* the output of the base class, not a member */
};

GQuark member_quark() {
    return g_quark_from_static_string("gpuvision-member");
}

const Member *member_of(GParamSpec *spec) {
    return static_cast<const Member *>(g_param_spec_get_qdata(spec, member_quark()));
}

gsize size_of(const gpv_field &field) {
    return field.kind == GPV_FIELD_KIND_UINT64 ? sizeof(guint64) : sizeof(gint32);
}

/* ---- texts ---- */

/* The names of fields become those of properties; GRAY16_LE stays. */
std::string with_hyphens(std::string text) {
    for (gsize i = 1; i + 1 < text.size(); i++)
        if (text[i] == '_' && g_ascii_islower(text[i - 1]) && g_ascii_islower(text[i + 1]))
            text[i] = '-';
    return text;
}

/* "Color space" of color_space. */
std::string nick_of(const gpv_field &field) {
    std::string nick = field.name;
    for (char &c : nick)
        c = c == '_' ? ' ' : c;
    nick[0] = g_ascii_toupper(nick[0]);
    return nick;
}

/* "GstGpuKmeansColorSpace" of color_space. */
std::string type_name_of(GObjectClass *klass, const gpv_field &field) {
    std::string name = G_OBJECT_CLASS_NAME(klass);
    bool begins = true;
    for (const char *c = field.name; *c; c++) {
        if (*c != '_')
            name += begins ? g_ascii_toupper(*c) : *c;
        begins = *c == '_';
    }
    return name;
}

std::string text_of(gdouble number) {
    gchar text[G_ASCII_DTOSTR_BUF_SIZE];
    return g_ascii_formatd(text, sizeof text, number < 1e7 ? "%.7g" : "%.0f", number);
}

/* A colour is one of all numbers. */
bool is_whole(const gpv_field &field) {
    return field.kind == GPV_FIELD_KIND_UINT64 ||
           (field.kind == GPV_FIELD_KIND_UINT32 && field.high == G_MAXUINT32);
}

std::string range_of(const gpv_field &field) {
    if (field.kind == GPV_FIELD_KIND_BOOL || field.kind == GPV_FIELD_KIND_CHOICE || is_whole(field))
        return "";
    const std::string ends = text_of(field.low) + " to " + text_of(field.high) + ".";
    return *field.unit ? std::string(" In ") + field.unit + ", " + ends : " " + ends;
}

std::string default_of(const gpv_field &field) {
    for (guint i = 0; i < field.choice_count; i++)
        if (field.choices[i].value == field.initial)
            return field.choices[i].name;
    if (field.kind == GPV_FIELD_KIND_BOOL)
        return field.initial != 0 ? "true" : "false";
    if (field.kind != GPV_FIELD_KIND_UINT32 || !is_whole(field))
        return text_of(field.initial);
    gchar text[16];
    g_snprintf(text, sizeof text, "0x%08x", static_cast<guint>(field.initial));
    return text;
}

std::string blurb_of(const gpv_field &field) {
    return with_hyphens(field.text) + range_of(field) + " Default " + default_of(field) + ".";
}

/* ---- installing ---- */

/* GObject keeps the values. */
GType register_choices(GObjectClass *klass, const gpv_field &field) {
    auto *values = g_new0(GEnumValue, field.choice_count + 1);
    for (guint i = 0; i < field.choice_count; i++)
        values[i] = {field.choices[i].value, field.choices[i].text, field.choices[i].name};
    return register_enum(g_intern_string(type_name_of(klass, field).c_str()), values);
}

GParamSpec *new_spec(GObjectClass *klass, const gpv_field &field) {
    constexpr auto flags = static_cast<GParamFlags>(GST_GPU_VISION_PARAM_LIVE &
                                                    ~(G_PARAM_STATIC_NICK | G_PARAM_STATIC_BLURB));
    const gchar *name = g_intern_string(with_hyphens(field.name).c_str());
    const std::string nick_text = nick_of(field), blurb_text = blurb_of(field);
    const gchar *nick = nick_text.c_str(), *blurb = blurb_text.c_str();
    const gdouble low = field.low, high = field.high, initial = field.initial;
    switch (field.kind) {
    case GPV_FIELD_KIND_INT32:
        return g_param_spec_int(name, nick, blurb, static_cast<gint>(low), static_cast<gint>(high),
                                static_cast<gint>(initial), flags);
    case GPV_FIELD_KIND_UINT32:
        return g_param_spec_uint(name, nick, blurb, static_cast<guint>(low),
                                 static_cast<guint>(high), static_cast<guint>(initial), flags);
    case GPV_FIELD_KIND_UINT64:
        return g_param_spec_uint64(name, nick, blurb, 0, G_MAXUINT64, static_cast<guint64>(initial),
                                   flags);
    case GPV_FIELD_KIND_FLOAT:
        return g_param_spec_float(name, nick, blurb, static_cast<gfloat>(low),
                                  static_cast<gfloat>(high), static_cast<gfloat>(initial), flags);
    case GPV_FIELD_KIND_BOOL:
        return g_param_spec_boolean(name, nick, blurb, initial != 0, flags);
    default:
        return g_param_spec_enum(name, nick, blurb, register_choices(klass, field),
                                 static_cast<gint>(initial), flags);
    }
}

void set_member(GObject *object, guint, const GValue *value, GParamSpec *spec) {
    gst_gpu_vision_filter_set_field(GST_GPU_VISION_FILTER(object), value, spec);
}

void get_member(GObject *object, guint, GValue *value, GParamSpec *spec) {
    gst_gpu_vision_filter_get_field(GST_GPU_VISION_FILTER(object), value, spec);
}

/* A class does not inherit what sets and gets. */
void install(GstGpuVisionFilterClass *klass, const Member &member) {
    auto *object = G_OBJECT_CLASS(klass);
    object->set_property = object->set_property ? object->set_property : set_member;
    object->get_property = object->get_property ? object->get_property : get_member;
    GParamSpec *spec = new_spec(object, member.field);
    g_param_spec_set_qdata_full(spec, member_quark(), new Member(member),
                                [](gpointer data) { delete static_cast<Member *>(data); });
    g_object_class_install_property(object, ++klass->n_properties, spec);
}

/* ---- values ---- */

union Number {
    gint32 i;
    guint32 u;
    guint64 l;
    gfloat f;
};

Number number_of(const gpv_field &field, const GValue *value) {
    switch (field.kind) {
    case GPV_FIELD_KIND_INT32:
        return {.i = g_value_get_int(value)};
    case GPV_FIELD_KIND_UINT32:
        return {.u = g_value_get_uint(value)};
    case GPV_FIELD_KIND_UINT64:
        return {.l = g_value_get_uint64(value)};
    case GPV_FIELD_KIND_FLOAT:
        return {.f = g_value_get_float(value)};
    case GPV_FIELD_KIND_BOOL:
        return {.u = g_value_get_boolean(value) ? 1U : 0U};
    default:
        return {.i = g_value_get_enum(value)};
    }
}

void set_number(const gpv_field &field, GValue *value, const Number &number) {
    switch (field.kind) {
    case GPV_FIELD_KIND_INT32:
        return g_value_set_int(value, number.i);
    case GPV_FIELD_KIND_UINT32:
        return g_value_set_uint(value, number.u);
    case GPV_FIELD_KIND_UINT64:
        return g_value_set_uint64(value, number.l);
    case GPV_FIELD_KIND_FLOAT:
        return g_value_set_float(value, number.f);
    case GPV_FIELD_KIND_BOOL:
        return g_value_set_boolean(value, number.u != 0);
    default:
        return g_value_set_enum(value, number.i);
    }
}

} // namespace

void gst_gpu_vision_filter_class_install_string(GstGpuVisionFilterClass *klass, const gchar *name,
                                                const gchar *nick, const gchar *blurb) {
    g_object_class_install_property(
        G_OBJECT_CLASS(klass), ++klass->n_properties,
        g_param_spec_string(name, nick, blurb, nullptr, GST_GPU_VISION_PARAM_LIVE));
}

void gst_gpu_vision_filter_class_install_params(GstGpuVisionFilterClass *klass, const gchar *stem,
                                                goffset offset, gsize size,
                                                gboolean (*adapt)(gpv_field *field)) {
    gpv_field field;
    for (gint i = 0; gpv_params_describe(stem, i, &field, sizeof field) == GPV_OK; i++)
        if (field.kind <= GPV_FIELD_KIND_CHOICE && field.offset + size_of(field) <= size &&
            (!adapt || adapt(&field)))
            install(klass, {field, offset + field.offset, false});
}

void gst_gpu_vision_filter_class_install_fields(GstGpuVisionFilterClass *klass, goffset offset,
                                                const gpv_field *fields, guint n_fields) {
    for (guint i = 0; i < n_fields; i++)
        install(klass, {fields[i], offset + fields[i].offset, false});
}

void gst_gpu_vision_filter_class_install_output(GstGpuVisionFilterClass *klass,
                                                const gpv_field *field) {
    install(klass, {*field, 0, true});
}

void gst_gpu_vision_filter_init_fields(GstGpuVisionFilter *self) {
    guint count = 0;
    GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(self), &count);
    for (guint i = 0; i < count; i++)
        if (const Member *member = member_of(specs[i]); member && !member->is_output) {
            const Number number =
                number_of(member->field, g_param_spec_get_default_value(specs[i]));
            std::memcpy(G_STRUCT_MEMBER_P(self, member->offset), &number, size_of(member->field));
        }
    g_free(specs);
}

gboolean gst_gpu_vision_filter_set_field(GstGpuVisionFilter *self, const GValue *value,
                                         GParamSpec *spec) {
    const Member *member = member_of(spec);
    if (!member)
        return FALSE;
    const Number number = number_of(member->field, value);
    if (member->is_output) {
        gst_gpu_vision_filter_set_output(self, number.u);
        return TRUE;
    }
    GST_OBJECT_LOCK(self);
    std::memcpy(G_STRUCT_MEMBER_P(self, member->offset), &number, size_of(member->field));
    GST_OBJECT_UNLOCK(self);
    return TRUE;
}

gboolean gst_gpu_vision_filter_get_field(GstGpuVisionFilter *self, GValue *value,
                                         GParamSpec *spec) {
    const Member *member = member_of(spec);
    if (!member)
        return FALSE;
    Number number = {};
    if (member->is_output) {
        number.u = gst_gpu_vision_filter_get_output(self);
    } else {
        GST_OBJECT_LOCK(self);
        std::memcpy(&number, G_STRUCT_MEMBER_P(self, member->offset), size_of(member->field));
        GST_OBJECT_UNLOCK(self);
    }
    set_number(member->field, value, number);
    return TRUE;
}
