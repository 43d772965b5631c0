#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds the keypoints of a picture, lists them, and draws each as a circle with its orientation."""
import argparse
import ctypes as c
import sys

from common import (RGB8, Context, buffer_of, gpv, read_picture, to_rgb, whole_number, wrap,
                    write_picture)

LENGTH = 128  # of a descriptor
MOST_FEATURES = 1000000
RICH, ORANGE = 1, 0xff4000  # a gpv_sift_style, and 0xRRGGBB


class SiftParams(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("max_features", c.c_int32), ("octaves", c.c_int32),
                ("octave_layers", c.c_int32), ("contrast_threshold", c.c_float),
                ("edge_threshold", c.c_float), ("sigma", c.c_float), ("upsample", c.c_uint32),
                ("upright", c.c_uint32), ("root", c.c_uint32), ("type", c.c_uint32),
                ("reserved", c.c_uint32)]


class Keypoint(c.Structure):
    _fields_ = [("x", c.c_float), ("y", c.c_float), ("sigma", c.c_float), ("angle", c.c_float),
                ("response", c.c_float), ("octave", c.c_int32)]


class SiftResult(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("count", c.c_int32), ("dropped", c.c_int32),
                ("reserved", c.c_uint32)]


def sift(pixels, fmt, width, height, features, colors):
    """The keypoints, the strongest first, and what computed them. They are drawn into colors, the
    picture in RGB8."""
    image, params, result = wrap(pixels, fmt, width, height), SiftParams(), SiftResult()
    gpv.gpv_sift_params_init(c.byref(params), c.sizeof(params))
    gpv.gpv_sift_result_init(c.byref(result), c.sizeof(result))
    params.max_features = features
    with Context() as context:
        operator, room = context.create("sift", params), 1024
        while True:  # with as many records as there are keypoints
            keypoints = (Keypoint * room)()
            context.check(gpv.gpv_sift_run(operator, None, c.byref(image), None,
                                           c.byref(buffer_of(keypoints)), 0, None, None))
            context.check(gpv.gpv_sift_wait(operator, c.byref(result)))
            if result.dropped == 0 or result.count < room:
                break
            room = result.count + result.dropped
        context.check(gpv.gpv_sift_draw(operator, None, c.byref(wrap(colors, RGB8, width, height)),
                                        RICH, ORANGE))
        context.check(gpv.gpv_sift_wait(operator, None))
        return keypoints[:result.count], context.device_name()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=whole_number(MOST_FEATURES),
                        help="so many of the strongest; 0 = all")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target", help="PPM")
    args = parser.parse_args()
    pixels, fmt, width, height = read_picture(args.source)
    colors = to_rgb(pixels, fmt)
    try:
        keypoints, device = sift(pixels, fmt, width, height, args.features, colors)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"{args.source}: {error}")
    print("       x        y   sigma  angle  response")
    for k in keypoints:
        print(f"{k.x:8.2f} {k.y:8.2f} {k.sigma:7.2f} {k.angle:6.1f} {k.response:9.4f}")
    write_picture(args.target, colors, RGB8, width, height)
    print(f"{width} x {height} pixels, {len(keypoints)} keypoints, on {device}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
