// SPDX-License-Identifier: BSD-2-Clause
#include "core/erode.hpp"

#include <cmath>
#include <cstdlib>

#include <check.h>

#include "run_group.hpp"

using gpv::ellipse_half_widths;

START_TEST(ellipses_are_those_of_opencv) {
    // Rows of getStructuringElement(MORPH_ELLIPSE): columns on either side of the middle.
    using Element = std::vector<int>;
    ck_assert(ellipse_half_widths(0, 0) == Element({0}));
    ck_assert(ellipse_half_widths(1, 1) == Element({0, 1, 0}));
    ck_assert(ellipse_half_widths(2, 2) == Element({0, 2, 2, 2, 0}));
    ck_assert(ellipse_half_widths(3, 3) == Element({0, 2, 3, 3, 3, 2, 0}));
    ck_assert(ellipse_half_widths(4, 4) == Element({0, 3, 3, 4, 4, 4, 3, 3, 0}));
    ck_assert(ellipse_half_widths(5, 5) == Element({0, 3, 4, 5, 5, 5, 5, 5, 4, 3, 0}));
    ck_assert(ellipse_half_widths(6, 2) == Element({0, 5, 6, 5, 0}));
    ck_assert(ellipse_half_widths(2, 4) == Element({0, 1, 2, 2, 2, 2, 2, 1, 0}));
    // A height of 1 leaves the centre, a width of 1 the column.
    ck_assert(ellipse_half_widths(9, 0) == Element({0}));
    ck_assert(ellipse_half_widths(0, 3) == Element({0, 0, 0, 0, 0, 0, 0}));
}
END_TEST

START_TEST(ellipses_are_symmetric_and_round) {
    for (int rx = 0; rx <= gpv::max_erode_radius; rx += 5)
        for (int ry = 1; ry <= gpv::max_erode_radius; ry += 7) {
            const std::vector<int> rows = ellipse_half_widths(rx, ry);
            ck_assert_uint_eq(rows.size(), 2u * ry + 1);
            ck_assert_int_eq(rows[0], 0);
            ck_assert_int_eq(rows[ry], rx);
            bool symmetric = true, shrinks = true, rounded = true;
            for (int dy = 1; dy <= ry; dy++) {
                const double exact = rx * std::sqrt(1.0 - double(dy) * dy / (double(ry) * ry));
                symmetric &= rows[ry - dy] == rows[ry + dy];
                shrinks &= rows[ry + dy] <= rows[ry + dy - 1];
                rounded &= std::abs(rows[ry + dy] - exact) <= 0.5 + 1e-9;
            }
            ck_assert_msg(symmetric && shrinks && rounded, "radii %d and %d", rx, ry);
        }
}
END_TEST

int main() {
    TCase *group = tcase_create("erode");
    tcase_add_test(group, ellipses_are_those_of_opencv);
    tcase_add_test(group, ellipses_are_symmetric_and_round);
    return run_group("erode", group);
}
