// SPDX-License-Identifier: BSD-2-Clause
// Where the frames go: into a file, or to a window.
#pragma once

#include <string>

struct Output {
    std::string suffix;      // of the file, or "" for a window
    std::string description; // for gst_parse_launch()
};

Output file_output();
// Throws where no window can be opened.
Output window_output();

// Whether there is a place for a window, as far as the environment tells.
bool has_display();
