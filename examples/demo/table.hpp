// SPDX-License-Identifier: BSD-2-Clause
// The summary: a row for each element that was shown.
#pragma once

#include "effect.hpp"

#include <string>
#include <vector>

struct Row {
    std::string name;
    Stats stats;     // of the element, or with a rate of 0
    double pipeline; // frames/s, with all that is around the element
    std::string found;
};

void print_table(const std::vector<Row> &rows);
