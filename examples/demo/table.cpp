// SPDX-License-Identifier: BSD-2-Clause
#include "table.hpp"

#include <cstdio>
#include <set>

void print_table(const std::vector<Row> &rows) {
    std::set<std::string> devices;
    std::printf("\n%-18s %-8s %9s %9s  %s\n", "element", "backend", "frames/s", "pipeline",
                "what it found");
    for (const Row &row : rows) {
        const Text rate(g_strdup_printf("%.0f", row.stats.rate));
        std::printf("%-18s %-8s %9s %9.0f  %s\n", row.name.c_str(), row.stats.backend.c_str(),
                    row.stats.rate > 0 ? rate.get() : "-", row.pipeline, row.found.c_str());
        devices.insert(row.stats.backend + " is " + row.stats.device);
    }
    std::printf("\nframes/s are of the element alone, pipeline of all with what is around it");
    for (const std::string &device : devices)
        std::printf("; %s", device.c_str());
    std::printf("\n");
}
