# SPDX-License-Identifier: BSD-2-Clause
"""Every erode example gives what the definition of erosion gives, and refuses bad input.

usage: erode.py EXAMPLE... (a program, or a Python file)
"""
import os
import random
import sys
import tempfile

from common import ON_GPU, check_bad_files, check_refused, netpbm, result_of


def eroded(width, height, channels, pixels, radius):
    """Minimum over the part of the square that lies inside the picture."""
    out = bytearray(len(pixels))
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                out[(y * width + x) * channels + c] = min(
                    pixels[(v * width + u) * channels + c]
                    for v in range(max(0, y - radius), min(height, y + radius + 1))
                    for u in range(max(0, x - radius), min(width, x + radius + 1)))
    return out


def check_picture(example, folder, width, height, channels, radius):
    pixels = random.Random(f"{width} {height} {radius}").randbytes(width * height * channels)
    # A GPU, where there is one, takes a while to wake: one size is enough for it.
    hidden = {} if (width, height) == (31, 17) else {"CUDA_VISIBLE_DEVICES": ""}
    if hidden and ON_GPU:
        return
    got, _ = result_of(example, folder, netpbm(width, height, pixels), radius, **hidden)
    want = netpbm(width, height, eroded(width, height, channels, pixels, radius))
    assert got == want, f"{width}x{height}x{channels} radius {radius} differs"


def main():
    for example in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            for width, height in (1, 1), (1, 7), (13, 1), (31, 17), (64, 3):
                for channels in 1, 3:
                    for radius in 0, 1, 3, 20:
                        check_picture(example, folder, width, height, channels, radius)
            good = netpbm(4, 3, bytes(12))
            check_refused(example, folder, good, [256], "radius", "256", "255")
            check_refused(example, folder, good, [2**32], "radius", str(2**32), "255")
            check_refused(example, folder, good, [-2], "radius", "-2")
            check_refused(example, folder, good, ["abc"], "radius", "abc")
            check_refused(example, folder, good, ["3x"], "radius", "3x")
            check_refused(example, folder, good, [""], "radius")
        with tempfile.TemporaryDirectory() as folder:
            check_bad_files(example, folder, [1])
        print(f"{os.path.basename(example)}: ok")


main()
