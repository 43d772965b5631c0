// SPDX-License-Identifier: BSD-2-Clause
// Shows the elements at work: each beside the clip, then all at once; of each a video and a picture
// of four moments, and at the end a table. Or in a window.
#include "show.hpp"

#include <gst/pbutils/pbutils.h>

#include <cstdio>
#include <exception>

namespace {

using Effects = std::vector<std::string>;

// What is shown one after the other.
std::vector<Effects> tour(const Options &options) {
    if (options.window || options.effects.size() == 1)
        return {options.effects};
    std::vector<Effects> shows;
    for (const std::string &effect : options.effects)
        shows.push_back({effect});
    if (!options.find.empty())
        shows.push_back({options.find});
    shows.push_back(options.effects);
    return shows;
}

} // namespace

int main(int argc, char **argv) {
    try {
        const Options options = parse_options(argc, argv);
        gst_pb_utils_init();
        std::vector<Row> rows;
        std::string suffix;
        std::vector<std::unique_ptr<Show>> shows; // what is wrong with one is said before any runs
        for (const Effects &effects : tour(options))
            shows.push_back(std::make_unique<Show>(options, effects));
        for (std::unique_ptr<Show> &show : shows) {
            show->run();
            show->report();
            for (const Row &row : show->rows())
                rows.push_back(row);
            suffix = show->suffix();
            show.reset();
            if (is_interrupted())
                break;
        }
        print_table(rows);
        if (!suffix.empty())
            std::printf("files: of each ELEMENT.%s and ELEMENT.png, in %s\n", suffix.c_str(),
                        absolute(options.out).get());
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "\ngpuvision-demo: %s\n", error.what());
        return 1;
    }
}
