#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds the bright components of a picture, lists them, and draws each in a colour of its own with
a box round it."""
import argparse
import ctypes as c
import sys

from common import (RGB8, TOO_SMALL, Context, buffer_of, gpv, read_picture, whole_number, wrap,
                    write_picture)

COLORS = 2
MAX_PIXELS = 1 << 30


class CclParams(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("mode", c.c_uint32), ("connectivity", c.c_int32),
                ("threshold", c.c_int32), ("foreground", c.c_int32), ("invert", c.c_uint32),
                ("min_area", c.c_int32), ("max_area", c.c_int32), ("output", c.c_uint32),
                ("reserved", c.c_uint32)]


class Component(c.Structure):
    _fields_ = [("left", c.c_int32), ("top", c.c_int32), ("right", c.c_int32),
                ("bottom", c.c_int32), ("area", c.c_int32), ("reserved", c.c_int32),
                ("sum_x", c.c_int64), ("sum_y", c.c_int64)]


class CclResult(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("count", c.c_int32), ("components", c.c_int32),
                ("reserved", c.c_uint32)]


def ccl(pixels, fmt, width, height, threshold, min_area):
    """The colours as RGB, the components in the order of their labels, and what computed them."""
    params, result = CclParams(), CclResult()
    gpv.gpv_ccl_params_init(c.byref(params), c.sizeof(params))
    gpv.gpv_ccl_result_init(c.byref(result), c.sizeof(result))
    params.threshold, params.min_area, params.output = threshold, min_area, COLORS
    image, colors = wrap(pixels, fmt, width, height), bytearray(3 * width * height)
    target = wrap(colors, RGB8, width, height)
    with Context() as context:
        operator = context.create("ccl", params)
        result.count, status = 256, TOO_SMALL
        while status == TOO_SMALL:  # with as many records as there are components
            components = (Component * result.count)()
            context.check(gpv.gpv_ccl_run(operator, None, c.byref(image), c.byref(target),
                                          c.byref(buffer_of(components)), 0, None))
            status = gpv.gpv_ccl_wait(operator, c.byref(result))
        context.check(status)
        return colors, components[:result.count], context.device_name()


def draw_box(colors, width, height, box):
    """White lines just outside the box, so that they hide nothing of the component."""
    def draw(x, y):
        if 0 <= x < width and 0 <= y < height:
            at = 3 * (y * width + x)
            colors[at:at + 3] = b"\xff\xff\xff"
    for x in range(box.left - 1, box.right + 1):
        draw(x, box.top - 1)
        draw(x, box.bottom)
    for y in range(box.top, box.bottom):
        draw(box.left - 1, y)
        draw(box.right, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("threshold", type=whole_number(255),
                        help="0 to 255: luma from which on a pixel counts")
    parser.add_argument("min_area", type=whole_number(MAX_PIXELS), metavar="min-area",
                        help="components of fewer pixels are dropped")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target", help="PPM")
    args = parser.parse_args()
    pixels, fmt, width, height = read_picture(args.source)
    try:
        colors, components, device = ccl(pixels, fmt, width, height, args.threshold, args.min_area)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"{args.source}: {error}")
    print("label     area      x      y  width height  centroid")
    for label, found in enumerate(components, 1):
        print(f"{label:5} {found.area:8} {found.left:6} {found.top:6} "
              f"{found.right - found.left:6} {found.bottom - found.top:6}  "
              f"{found.sum_x / found.area:.2f} {found.sum_y / found.area:.2f}")
        draw_box(colors, width, height, found)
    write_picture(args.target, colors, RGB8, width, height)
    print(f"{width} x {height} pixels, {len(components)} components, on {device}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
