#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Erodes a picture: gpuvision from Python, with nothing but the standard library."""
import argparse
import ctypes as c
import re
import sys

GRAY8, RGB8 = 1, 4


class Image(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("format", c.c_uint32), ("memory", c.c_uint32),
                ("device", c.c_int32), ("width", c.c_int32), ("height", c.c_int32),
                ("color_matrix", c.c_uint32), ("color_range", c.c_uint32),
                ("data", c.c_void_p * 8), ("stride", c.c_int64 * 8)]


class ErodeParams(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("operation", c.c_uint32), ("shape", c.c_uint32),
                ("radius_x", c.c_int32), ("radius_y", c.c_int32), ("iterations", c.c_int32),
                ("threshold", c.c_int32), ("border", c.c_uint32), ("planes", c.c_uint32),
                ("reserved", c.c_uint32)]


try:
    gpv = c.CDLL("libgpuvision.so.1")
except OSError:
    sys.exit("libgpuvision.so.1 not found: install it, or run inside meson devenv -C build")
gpv.gpv_image_wrap.restype = c.c_int64
gpv.gpv_image_wrap.argtypes = [c.POINTER(Image), c.c_uint32, c.c_uint32, c.c_int32, c.c_int32,
                               c.c_void_p, c.c_int64]
for text in gpv.gpv_status_string, gpv.gpv_context_error, gpv.gpv_context_device_name:
    text.restype = c.c_char_p


def erode(pixels, fmt, width, height, radius):
    """Erodes a bytearray in place with a (2 radius + 1) x (2 radius + 1) square."""
    context, op = c.c_void_p(), c.c_void_p()

    def check(status):
        if status != 0:
            why = gpv.gpv_context_error(context) if context else b"no context"
            raise RuntimeError(f"{gpv.gpv_status_string(status).decode()}: {why.decode()}")

    image, params = Image(), ErodeParams()
    data = (c.c_uint8 * len(pixels)).from_buffer(pixels)
    size = gpv.gpv_image_wrap(image, c.sizeof(image), fmt, width, height, c.addressof(data), 0)
    if size != len(pixels):
        raise ValueError(f"{width} x {height} pixels do not fill {len(pixels)} bytes")
    try:
        check(gpv.gpv_context_create(None, c.byref(context)))
        gpv.gpv_erode_params_init(c.byref(params), c.sizeof(params))
        params.radius_x = radius
        check(gpv.gpv_erode_create(context, c.byref(params), c.byref(op)))
        check(gpv.gpv_erode_run(op, None, c.byref(image), c.byref(image)))
        check(gpv.gpv_erode_wait(op))
        return gpv.gpv_context_device_name(context).decode()
    finally:
        gpv.gpv_erode_destroy(c.byref(op))
        gpv.gpv_context_destroy(c.byref(context))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("radius", type=int, help="0 to 255 pixels")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target")
    args = parser.parse_args()
    with open(args.source, "rb") as file:
        picture = file.read()
    header = re.match(rb"P([56])\s(\d+)\s(\d+)\s255\s", picture)
    if not header:
        sys.exit(f"{args.source}: not a binary PGM or PPM of 8 bits without comments")
    width, height = int(header[2]), int(header[3])
    pixels = bytearray(picture[header.end():])
    try:
        device = erode(pixels, RGB8 if header[1] == b"6" else GRAY8, width, height, args.radius)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"{args.source}: {error}")
    with open(args.target, "wb") as file:
        file.write(header[0] + pixels)
    print(f"{width} x {height} pixels, radius {args.radius}, on {device}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
