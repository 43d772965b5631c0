// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "source.hpp"

#include <string>
#include <vector>

struct Options {
    Clip clip;
    Clip sift_clip; // of gpusift alone, if it has an input
    std::vector<std::string> effects = {"gpuerode radius=6 shape=ellipse",
                                        "gpuccl threshold=100 min-area=100", "gpukmeans clusters=6",
                                        "gpusift overlay=rich"};
    std::string find; // what is shown beside these, if it is anything
    std::string out = "out";
    int stall = 30; // seconds without a frame, then it is given up
    int frames = 0; // 0 = all of a file, some of a camera, what comes until a window is closed
    bool window = false;
};

// Of the command line. Throws if there is something wrong with it.
Options parse_options(int argc, char **argv);
