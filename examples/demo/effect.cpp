// SPDX-License-Identifier: BSD-2-Clause
#include "effect.hpp"

#include <stdexcept>

namespace {

template <typename Visit>
void visit_elements(GstElement *bin, Visit visit) {
    Owned<GstIterator, gst_iterator_free> elements(gst_bin_iterate_recurse(GST_BIN(bin)));
    gst_iterator_foreach(
        elements.get(),
        [](const GValue *item, gpointer data) {
            (*static_cast<Visit *>(data))(GST_ELEMENT(g_value_get_object(item)));
        },
        &visit);
}

// The element of gpuvision in a bin, or nothing.
Element find_filter(GstElement *bin) {
    const GType type = g_type_from_name("GstGpuVisionFilter");
    Element filter;
    visit_elements(bin, [&](GstElement *element) {
        if (type != 0 && g_type_is_a(G_OBJECT_TYPE(element), type))
            filter.reset(GST_ELEMENT(gst_object_ref(element)));
    });
    return filter;
}

// What GLib warns of. A property keeps its value where the new one is out of range, and parsing
// goes on.
class ObjectWarnings {
  public:
    ObjectWarnings()
        : handler_(g_log_set_handler(
              domain, static_cast<GLogLevelFlags>(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING), keep,
              this)) {}
    ~ObjectWarnings() { g_log_remove_handler(domain, handler_); }
    ObjectWarnings(const ObjectWarnings &) = delete;
    ObjectWarnings &operator=(const ObjectWarnings &) = delete;

    const std::string &text() const { return text_; }

  private:
    static constexpr const char *domain = "GLib-GObject";

    static void keep(const gchar *, GLogLevelFlags, const gchar *message, gpointer self) {
        static_cast<ObjectWarnings *>(self)->text_ = message;
    }

    std::string text_;
    guint handler_;
};

// The blurb, which has the range, of the property that a warning names.
std::string describe_property(GstElement *bin, const std::string &warning) {
    std::string description;
    visit_elements(bin, [&](GstElement *element) {
        guint count = 0;
        Owned<GParamSpec *, g_free> specs(
            g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count));
        for (guint i = 0; i < count; ++i) {
            const std::string name = specs.get()[i]->name;
            if (warning.find("property '" + name + "'") != std::string::npos)
                description = "\n  " + name + ": " + g_param_spec_get_blurb(specs.get()[i]);
        }
    });
    return description;
}

// Makes a bin of a description such as "videoconvert ! gpuerode radius=3".
Element parse_effect(const std::string &description) {
    if (description.find_first_not_of(" \t\n") == std::string::npos)
        throw std::runtime_error("--effect is empty");
    const ObjectWarnings warnings;
    GError *error = nullptr;
    GstElement *bin = gst_parse_bin_from_description_full(description.c_str(), TRUE, nullptr,
                                                          GST_PARSE_FLAG_FATAL_ERRORS, &error);
    Element effect(bin ? GST_ELEMENT(gst_object_ref_sink(bin)) : nullptr);
    if (Error failed(error); failed)
        throw std::runtime_error(
            "--effect: " + std::string(failed->message) +
            (g_error_matches(error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT)
                 ? "; run ./dev demo, or this inside 'meson devenv -C build'"
                 : ""));
    if (!warnings.text().empty())
        throw std::runtime_error("--effect: " + warnings.text() +
                                 describe_property(effect.get(), warnings.text()));
    return effect;
}

} // namespace

Effect::Effect(const std::string &description)
    : description_(description), bin_(parse_effect(description)), filter_(find_filter(bin_.get())) {
    if (!filter_)
        throw std::runtime_error("there is no element of gpuvision in --effect \"" + description +
                                 "\"");
}

std::string Effect::element() const {
    return GST_OBJECT_NAME(gst_element_get_factory(filter_.get()));
}

std::string Effect::reference() const {
    gchar *taken = nullptr;
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(filter_.get()), "reference"))
        g_object_get(filter_.get(), "reference", &taken, nullptr);
    const Text owned(taken);
    return taken ? taken : "";
}

std::string Effect::stem() const {
    return element() + (reference().empty() ? "" : "-reference");
}

Stats Effect::stats() const {
    GstStructure *taken = nullptr;
    g_object_get(filter_.get(), "stats", &taken, nullptr);
    const Owned<GstStructure, gst_structure_free> stats(taken);
    const auto text = [&](const char *field) {
        const gchar *value = gst_structure_get_string(stats.get(), field);
        return std::string(value ? value : "unknown");
    };
    gdouble mean = 0;
    gst_structure_get_double(stats.get(), "time-us-mean", &mean);
    return {text("backend"), text("device"), mean > 0 ? 1e6 / mean : 0};
}
