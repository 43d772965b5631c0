#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Erodes a picture: gpuvision from Python, with nothing but the standard library."""
import argparse
import ctypes as c
import sys

from common import Context, gpv, read_picture, whole_number, wrap, write_picture


class ErodeParams(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("operation", c.c_uint32), ("shape", c.c_uint32),
                ("radius_x", c.c_int32), ("radius_y", c.c_int32), ("iterations", c.c_int32),
                ("threshold", c.c_int32), ("border", c.c_uint32), ("planes", c.c_uint32),
                ("reserved", c.c_uint32)]


def erode(pixels, fmt, width, height, radius):
    """Erodes a bytearray in place with a (2 radius + 1) x (2 radius + 1) square."""
    image, params = wrap(pixels, fmt, width, height), ErodeParams()
    gpv.gpv_erode_params_init(c.byref(params), c.sizeof(params))
    params.radius_x = radius
    with Context() as context:
        operator = context.create("erode", params)
        context.check(gpv.gpv_erode_run(operator, None, c.byref(image), c.byref(image)))
        context.check(gpv.gpv_erode_wait(operator))
        return context.device_name()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("radius", type=whole_number(255), help="0 to 255 pixels")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target")
    args = parser.parse_args()
    pixels, fmt, width, height = read_picture(args.source)
    try:
        device = erode(pixels, fmt, width, height, args.radius)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"{args.source}: {error}")
    write_picture(args.target, pixels, fmt, width, height)
    print(f"{width} x {height} pixels, radius {args.radius}, on {device}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
