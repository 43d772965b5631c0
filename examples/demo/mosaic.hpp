// SPDX-License-Identifier: BSD-2-Clause
// How tiles of one size make up a frame: in rows, from the top left.
#pragma once

struct Size {
    int width, height;
};

struct Mosaic {
    int tiles;

    int columns() const { return tiles <= 2 ? tiles : 3; }
    int rows() const { return (tiles + columns() - 1) / columns(); }
    int column(int tile) const { return tile % columns(); }
    int row(int tile) const { return tile / columns(); }
};
