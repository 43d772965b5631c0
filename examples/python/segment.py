#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Divides a picture into foreground and background by a minimum cut. Of the background only the
light stays, and half of that."""
import argparse
import ctypes as c
import re
import sys

from common import GRAY8, Context, gpv, read_picture, whole_number, wrap, write_picture

MAX_ROUNDS = 100


class Rect(c.Structure):
    _fields_ = [("x", c.c_int32), ("y", c.c_int32), ("width", c.c_int32), ("height", c.c_int32)]


class SegmentParams(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("model", c.c_uint32), ("fit", c.c_uint32),
                ("connectivity", c.c_int32), ("rounds", c.c_int32), ("lambda_", c.c_float),
                ("sigma", c.c_float), ("paint", c.c_uint32), ("certificate", c.c_uint32),
                ("time_limit", c.c_int32)]


class GraphcutResult(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("optimal", c.c_uint32), ("flow", c.c_int64),
                ("cut", c.c_int64), ("area", c.c_int64), ("refused", c.c_uint32),
                ("reserved", c.c_uint32)]


def segment(image, seeds, rect, mask, rounds):
    """Paints into the image, or into the mask if there is one. Gives the result, and what computed
    it."""
    params, result = SegmentParams(), GraphcutResult()
    gpv.gpv_segment_params_init(c.byref(params), c.sizeof(params))
    gpv.gpv_graphcut_result_init(c.byref(result), c.sizeof(result))
    params.rounds = rounds
    params.certificate = 1  # result.cut, which proves that no cut costs less

    def given(struct):
        return c.byref(struct) if struct else None
    with Context() as context:
        operator = context.create("segment", params)
        context.check(gpv.gpv_segment_run(operator, None, c.byref(image), given(seeds), given(rect),
                                          given(mask), None if mask else c.byref(image), None))
        context.check(gpv.gpv_segment_wait(operator, c.byref(result)))
        return result, context.device_name()


def parse_rect(text):
    """A type of argparse."""
    if not re.fullmatch(r"[0-9]+(,[0-9]+){3}", text) or max(map(int, text.split(","))) >= 2**31:
        raise argparse.ArgumentTypeError(f"'{text}' must be X,Y,WIDTH,HEIGHT")
    return Rect(*map(int, text.split(",")))


def read_seeds(path):
    try:
        return wrap(*read_picture(path))
    except ValueError as error:
        sys.exit(f"{path}: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     usage="%(prog)s [option ...] rounds source target")
    parser.add_argument("--seeds", help="PGM: 0 is background, 255 foreground, else unknown")
    parser.add_argument("--rect", type=parse_rect, help="X,Y,WIDTH,HEIGHT: outside is background")
    parser.add_argument("--mask", action="store_true", help="write the mask, not the picture")
    parser.add_argument("rounds", type=whole_number(MAX_ROUNDS), help="1 to 100")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target")
    args = parser.parse_args()
    pixels, fmt, width, height = read_picture(args.source)
    seeds = read_seeds(args.seeds) if args.seeds else None
    try:
        image = wrap(pixels, fmt, width, height)
        if args.mask:
            pixels, fmt = bytearray(width * height), GRAY8
        result, device = segment(image, seeds, args.rect,
                                 wrap(pixels, fmt, width, height) if args.mask else None,
                                 args.rounds)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"{args.source}: {error}")
    print("        flow          cut     area  optimal")
    print(f"{result.flow:12} {result.cut:12} {result.area:8}  {'yes' if result.optimal else 'no'}")
    write_picture(args.target, pixels, fmt, width, height)
    print(f"{width} x {height} pixels, {result.area} of the foreground, on {device}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
