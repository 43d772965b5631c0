# SPDX-License-Identifier: BSD-2-Clause
"""What the examples share: arguments, pictures in files, and errors in one line."""
import argparse
import os
import re
import sys

import numpy

import gpuvision as gpv

MAX_SIDE = 32767  # pixels
sources = []  # the pictures that have been read


def whole_number(maximum):
    """A type of argparse."""
    def parse(text):
        if not re.fullmatch(r"[0-9]+", text) or int(text) > maximum:
            raise argparse.ArgumentTypeError(f"'{text}' must be a whole number from 0 to {maximum}")
        return int(text)
    return parse


def read_picture(path):
    """(height, width) or (height, width, 3) of uint8, from a binary PGM or PPM."""
    try:
        with open(path, "rb") as file:
            data = bytearray(file.read())
    except OSError as error:
        sys.exit(f"{path}: cannot be opened: {error.strerror}")
    header = re.match(rb"P([56])\s+(\d+)\s+(\d+)\s+255\s", data)
    if not header:
        sys.exit(f"{path}: not a binary PGM or PPM of 8 bits without comments")
    width, height = int(header[2]), int(header[3])
    if not 0 < min(width, height) <= max(width, height) <= MAX_SIDE:
        sys.exit(f"{path}: a picture of {width} x {height} pixels is not possible")
    shape = (height, width, 3) if header[1] == b"6" else (height, width)
    count = width * height * (3 if header[1] == b"6" else 1)
    if len(data) - header.end() < count:
        sys.exit(f"{path}: ends before its last pixel")
    sources.append(path)
    return numpy.frombuffer(data, numpy.uint8, count, header.end()).reshape(shape)


def write_picture(path, picture):
    """As PGM or PPM, by its shape."""
    height, width = picture.shape[:2]
    if os.path.exists(path) and any(os.path.samefile(path, source) for source in sources):
        sys.exit(f"{path}: is the picture that was read; name another file for the result")
    with open(path, "wb") as file:
        file.write(b"P%d\n%d %d\n255\n" % (5 if picture.ndim == 2 else 6, width, height))
        file.write(picture.tobytes())


def to_rgb(picture):
    """A copy with three channels."""
    return numpy.stack([picture] * 3, 2) if picture.ndim == 2 else picture.copy()


def size_of(picture):
    return f"{picture.shape[1]} x {picture.shape[0]} pixels"


def run(main, path=None):
    """main(), whose errors end the program with one line; with the path of the picture where it is
    the library that refuses it."""
    try:
        return main()
    except OSError as error:
        sys.exit(str(error))
    except (gpv.Error, ValueError) as error:
        sys.exit(f"{path or sys.argv[-2]}: {error}")
