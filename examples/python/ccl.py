#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds the bright components of a picture, lists them, and draws each in a colour of its own with
a box round it."""
import argparse

import gpuvision as gpv
from common import read_picture, run, size_of, whole_number, write_picture

MAX_PIXELS = 1 << 30


def draw_box(colors, left, top, right, bottom):
    """White lines just outside the box, so that they hide nothing of the component."""
    height, width = colors.shape[:2]
    columns = slice(max(left - 1, 0), right + 1)
    rows = slice(max(top - 1, 0), bottom + 1)
    for y in top - 1, bottom:
        if 0 <= y < height:
            colors[y, columns] = 255
    for x in left - 1, right:
        if 0 <= x < width:
            colors[rows, x] = 255


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("threshold", type=whole_number(255),
                        help="0 to 255: luma from which on a pixel counts")
    parser.add_argument("min_area", type=whole_number(MAX_PIXELS), metavar="min-area",
                        help="components of fewer pixels are dropped")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target", help="PPM")
    args = parser.parse_args()
    picture = read_picture(args.source)
    with gpv.Context() as context:
        ccl = gpv.Ccl(context, threshold=args.threshold, min_area=args.min_area, output="colors")
        found, device = ccl(picture), context.device_name
    print("label     area      x      y  width height  centroid")
    for label, (box, (x, y)) in enumerate(zip(found.records, found.centroids), 1):
        left, top, right, bottom, area = (int(box[name]) for name in
                                          ("left", "top", "right", "bottom", "area"))
        print(f"{label:5} {area:8} {left:6} {top:6} {right - left:6} {bottom - top:6}  "
              f"{x:.2f} {y:.2f}")
        draw_box(found.image, left, top, right, bottom)
    write_picture(args.target, found.image)
    print(f"{size_of(picture)}, {found.count} components, on {device}")


if __name__ == "__main__":
    run(main)
