// SPDX-License-Identifier: BSD-2-Clause
#include "options.hpp"

#include "output.hpp"

#include <stdexcept>

Options parse_options(int argc, char **argv) {
    Options options;
    gchar *effect = nullptr, *out = nullptr, *credit = nullptr;
    gchar *sift_clip = nullptr, *sift_credit = nullptr, *cut = nullptr, *find = nullptr;
    gchar **inputs = nullptr;
    gboolean window = FALSE;
    const GOptionEntry entries[] = {
        {"effect", 'e', 0, G_OPTION_ARG_FILENAME, &effect,
         "what to show, as for gst-launch-1.0; default: gpuerode, gpuccl, gpukmeans, gpusift, "
         "gpugraphcut",
         "ELEMENT"},
        {"frames", 'n', 0, G_OPTION_ARG_INT, &options.frames,
         "stop after so many; default: all of a file, 300 of a camera, and in a window until it is "
         "closed",
         "N"},
        {"window", 'w', 0, G_OPTION_ARG_NONE, &window,
         "show it in a window, and write nothing; the default of camera where there is a display",
         nullptr},
        {"stall", 's', 0, G_OPTION_ARG_INT, &options.stall,
         "give up after so many seconds without a frame; default: 30", "SECONDS"},
        {"out", 'o', 0, G_OPTION_ARG_FILENAME, &out, "folder for the results; default: out",
         "FOLDER"},
        {"credit", 0, 0, G_OPTION_ARG_FILENAME, &credit, "source and licence of the clip, to print",
         "TEXT"},
        {"cut", 0, 0, G_OPTION_ARG_FILENAME, &cut,
         "how gpugraphcut finds the object of the clip; default: gpugraphcut", "ELEMENT"},
        {"find", 0, 0, G_OPTION_ARG_FILENAME, &find,
         "how gpusift finds a picture, along the path of a camera; default: not shown", "ELEMENT"},
        {"sift-clip", 0, 0, G_OPTION_ARG_FILENAME, &sift_clip, "another clip for gpusift", "FILE"},
        {"sift-credit", 0, 0, G_OPTION_ARG_FILENAME, &sift_credit, "its source and licence",
         "TEXT"},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &inputs, nullptr,
         "[camera|FILE|URI|/dev/videoN]"},
        {}};
    Owned<GOptionContext, g_option_context_free> context(g_option_context_new(nullptr));
    g_option_context_add_main_entries(context.get(), entries, nullptr);
    g_option_context_add_group(context.get(), gst_init_get_option_group());
    GError *error = nullptr;
    const bool parsed = g_option_context_parse(context.get(), &argc, &argv, &error);
    Error failed(error);
    Text owned_effect(effect), owned_out(out), owned_credit(credit);
    Text owned_sift_clip(sift_clip), owned_sift_credit(sift_credit), owned_cut(cut),
        owned_find(find);
    Owned<gchar *, g_strfreev> owned_inputs(inputs);
    if (!parsed)
        throw std::runtime_error(failed->message);
    if (inputs && inputs[1])
        throw std::runtime_error("one file, URI or device at a time");
    if (options.frames < 0)
        throw std::runtime_error("--frames must be 0 (all) or more");
    if (options.stall < 1)
        throw std::runtime_error("--stall must be 1 or more");
    if (inputs)
        options.clip.input = inputs[0];
    options.effects.push_back(cut ? cut : "gpugraphcut");
    if (effect)
        options.effects = {effect};
    else if (find)
        options.find = find;
    options.window = window || (options.clip.input == "camera" && has_display());
    if (out)
        options.out = out;
    if (credit)
        options.clip.credit = credit;
    if (sift_clip)
        options.sift_clip = {sift_clip, sift_credit ? sift_credit : ""};
    return options;
}
