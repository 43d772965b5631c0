// SPDX-License-Identifier: BSD-2-Clause
// Where the frames go: into a file, or to a window.
#pragma once

#include <string>
#include <vector>

struct Output {
    std::string suffix;      // of the file, or "" for a window
    std::string description; // for gst_parse_launch()
};

Output file_output();
// Throws where no window can be opened.
Output window_output();

// A folder for files, made with its parents where they are missing. Those that were made here, and
// are still empty at the end, are removed.
class Folder {
  public:
    // Throws if the folder cannot be made.
    explicit Folder(const std::string &path);
    ~Folder();
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;

  private:
    void make(const std::string &path);
    std::vector<std::string> made_; // the outermost first
};

// Whether there is a place for a window, as far as the environment tells.
bool has_display();
