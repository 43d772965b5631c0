// SPDX-License-Identifier: BSD-2-Clause
// When cuts begin with the flow of the last one, by made-up times. The compiler proves it.
#include "core/graphcut.hpp"

namespace gpv {
namespace {

constexpr Reuse by_choice = Reuse::by_choice;

/// How many of so many runs reuse flow, if that takes so long, and so long without; cuts are short
/// where they take longer than the limit.
constexpr int reusing(int runs, std::int64_t reused_ns, std::int64_t anew_ns,
                      std::int64_t limit_ns = INT64_MAX) {
    ReuseChoice choice{};
    int count = 0;
    for (int i = 0; i < runs; i++) {
        const bool reuses = choice.reuses(by_choice);
        const std::int64_t ns = reuses ? reused_ns : anew_ns;
        choice.note(reuses, ns <= limit_ns, ns < limit_ns ? ns : limit_ns);
        count += reuses;
    }
    return count;
}

constexpr ReuseChoice after(std::int64_t first_ns, int runs, std::int64_t ns) {
    ReuseChoice choice{};
    choice.note(false, true, first_ns);
    for (int i = 0; i < runs; i++)
        choice.note(choice.reuses(by_choice), true, ns);
    return choice;
}

static_assert(reusing(2, 1, 10) == 1, "the first one has nothing to begin with");
static_assert(reusing(1000, 1, 10) == 996, "where it is faster one in 320 measures what it saves");
static_assert(reusing(1000, 10, 10) == 969, "where it is no slower one in 33 does");
static_assert(reusing(1000, 11, 10) == 18, "where it is slower pauses grow to 64");
static_assert(reusing(1000, 9, 10, 5) == 999, "runs that are cut short go on from each other");
static_assert(reusing(1000, 4, 10, 5) == 999, "and if that ends, too: what is saved is not known");
static_assert(after(1000, 500, 10).anew_ns == 1000 && after(100, 500, 10).anew_ns == 10,
              "a slow first run is forgotten");
static_assert(!ReuseChoice{}.reuses(by_choice) && ReuseChoice{}.reuses(Reuse::always) &&
              !after(10, 0, 0).reuses(Reuse::none));
static_assert(ReuseChoice{.rest = 1}.keeps(by_choice) && !ReuseChoice{.rest = 2}.keeps(by_choice) &&
                  ReuseChoice{.rest = 2}.keeps(Reuse::always) && !ReuseChoice{}.keeps(Reuse::none),
              "flow is kept where the next run may begin with it");

} // namespace
} // namespace gpv
