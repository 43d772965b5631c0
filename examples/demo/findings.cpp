// SPDX-License-Identifier: BSD-2-Clause
#include "findings.hpp"

#include <algorithm>
#include <cstdarg>
#include <numeric>

namespace {

__attribute__((format(printf, 1, 2))) std::string print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const Text text(g_strdup_vprintf(format, arguments));
    va_end(arguments);
    return text.get();
}

// Numbers from left to right as marks of eight heights, each the mean of as many of them.
std::string plot(const std::vector<int> &numbers) {
    constexpr size_t max_marks = 60, heights = 8;
    const size_t marks = std::min(max_marks, numbers.size());
    const auto [minimum, maximum] = std::minmax_element(numbers.begin(), numbers.end());
    std::string text;
    for (size_t i = 0; i < marks; ++i) {
        const auto from = numbers.begin() + static_cast<long>(i * numbers.size() / marks);
        const auto to = numbers.begin() + static_cast<long>((i + 1) * numbers.size() / marks);
        const double mean = std::accumulate(from, to, 0.0) / static_cast<double>(to - from);
        const double place = (mean - *minimum) / std::max(1, *maximum - *minimum);
        text += "\xe2\x96";
        text += static_cast<char>(0x81 + static_cast<int>(place * (heights - 1) + 0.5));
    }
    return text;
}

// The numbers of an array in what an element has found, or none.
std::vector<int> numbers(const GstStructure *found, const char *name) {
    const GValue *array = gst_structure_get_value(found, name);
    std::vector<int> result(array && GST_VALUE_HOLDS_ARRAY(array) ? gst_value_array_get_size(array)
                                                                  : 0);
    for (size_t i = 0; i < result.size(); ++i)
        if (const GValue *number = gst_value_array_get_value(array, static_cast<guint>(i));
            G_VALUE_HOLDS_INT(number))
            result[i] = g_value_get_int(number);
    return result;
}

// The points of an array of structures with cx and cy, or none.
std::vector<Point> points(const GstStructure *found, const char *name) {
    const GValue *array = gst_structure_get_value(found, name);
    std::vector<Point> result(array ? gst_value_array_get_size(array) : 0);
    for (size_t i = 0; i < result.size(); ++i) {
        double x = 0, y = 0;
        gst_structure_get(
            gst_value_get_structure(gst_value_array_get_value(array, static_cast<guint>(i))), "cx",
            G_TYPE_DOUBLE, &x, "cy", G_TYPE_DOUBLE, &y, nullptr);
        result[i] = {x, y};
    }
    return result;
}

} // namespace

void Findings::keep(GstBuffer *buffer, GstCaps *caps, const Scene *scene) {
    GstVideoInfo frame;
    GstCustomMeta *meta = gst_buffer_get_custom_meta(buffer, element_.c_str());
    if (!meta || !gst_video_info_from_caps(&frame, caps))
        return;
    const GstStructure *found = gst_custom_meta_get_structure(meta);
    frame_pixels_ = frame.width * frame.height;
    for (const char *name : {"count", "area"})
        if (int count = 0; gst_structure_get_int(found, name, &count))
            counts_.push_back(count);
    colors_ = numbers(found, "centroids");
    pixels_ = numbers(found, "counts");
    if (gboolean here = FALSE; gst_structure_get_boolean(found, "found", &here))
        keep_sighting(here ? points(found, "corners") : std::vector<Point>(),
                      GST_BUFFER_PTS(buffer), frame, scene);
}

// Of frames that show as much of what has these corners.
Sightings &Findings::sightings(const std::array<Point, 4> &corners, const GstVideoInfo &frame) {
    const auto outside = [&](auto side) {
        return std::count_if(corners.begin(), corners.end(), side);
    };
    const auto maximum =
        std::max({outside([](Point p) { return p.real() < -0.5; }),
                  outside([](Point p) { return p.imag() < -0.5; }),
                  outside([&](Point p) { return p.real() > frame.width - 0.5; }),
                  outside([&](Point p) { return p.imag() > frame.height - 0.5; })});
    return maximum == 0 ? whole_ : maximum < 4 ? partial_ : absent_;
}

// Where the element has found its reference, if it has.
void Findings::keep_sighting(const std::vector<Point> &found, GstClockTime time,
                             const GstVideoInfo &frame, const Scene *scene) {
    if (!scene) {
        unknown_.add(!found.empty());
        return;
    }
    const std::array<Point, 4> corners = scene->corners(time, frame);
    sightings(corners, frame).add(!found.empty());
    for (size_t i = 0; i < std::min(found.size(), corners.size()); ++i)
        errors_.push_back(std::abs(found[i] - corners[i]));
}

std::string Findings::summary() const {
    const Sightings &seen = whole_.frames != 0 ? whole_ : unknown_;
    if (seen.frames != 0)
        return print("reference in %d of %d %s", seen.found, seen.frames, seen.kind) +
               (errors_.empty() ? "" : ", " + describe_corners());
    if (!pixels_.empty())
        return print("%zu colours: %s%s", pixels_.size(), describe_colors(2).c_str(),
                     pixels_.size() > 2 ? ", ..." : "");
    return counts_.empty() ? "-" : describe_counts();
}

std::string Findings::details() const {
    std::string lines;
    const auto [minimum, maximum] = std::minmax_element(counts_.begin(), counts_.end());
    if (!counts_.empty() && *minimum != *maximum)
        lines += "course    " + plot(counts_) + " from the first frame to the last\n";
    if (!pixels_.empty())
        lines += "colours   " + describe_colors(8) + " of the last frame\n";
    if (const std::string seen = describe_sightings(); !seen.empty())
        lines += "reference found in " + seen + "\n";
    return lines;
}

std::string Findings::describe_counts() const {
    const auto [minimum, maximum] = std::minmax_element(counts_.begin(), counts_.end());
    if (element_ == "gpugraphcut")
        return print("foreground %.2f to %.2f %%", 100.0 * *minimum / frame_pixels_,
                     100.0 * *maximum / frame_pixels_);
    const char *what = element_ == "gpusift" ? "keypoint" : "object";
    return *minimum == *maximum
               ? print("%d %s%s in every frame", *minimum, what, *minimum == 1 ? "" : "s")
               : print("%d to %d %ss", *minimum, *maximum, what);
}

// Each with its share of the pixels, the most frequent one first.
std::string Findings::describe_colors(size_t maximum) const {
    std::vector<size_t> order(pixels_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [this](size_t a, size_t b) { return pixels_[a] > pixels_[b]; });
    const double all = std::accumulate(pixels_.begin(), pixels_.end(), 0.0);
    std::string text;
    for (size_t i = 0; i < std::min(maximum, order.size()); ++i)
        text += print("%s#%06x %.2f %%", i == 0 ? "" : ", ",
                      static_cast<unsigned>(colors_[order[i]]), 100 * pixels_[order[i]] / all);
    return text;
}

std::string Findings::describe_sightings() const {
    std::string text;
    for (const Sightings *of : {&whole_, &partial_, &absent_, &unknown_})
        if (of->frames != 0)
            text +=
                print("%s%d of %d %s", text.empty() ? "" : ", ", of->found, of->frames, of->kind);
    return text;
}

// How far off they are in the median.
std::string Findings::describe_corners() const {
    std::vector<double> errors = errors_;
    const auto middle = errors.begin() + static_cast<long>(errors.size() / 2);
    std::nth_element(errors.begin(), middle, errors.end());
    return print("corners %.2f px off", *middle);
}
