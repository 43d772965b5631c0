# SPDX-License-Identifier: BSD-2-Clause
"""The expansion example gives noisy halves one colour each, what k-means does where borders cost nothing,
and refuses bad input.

usage: expansion.py EXAMPLE
"""
import os
import random
import re
import sys
import tempfile

from common import check_bad_files, check_refused, netpbm, result_of

WIDTH, HEIGHT = 60, 40


def halves(channels):
    """A dark one and a light one, with so much noise that many pixels are nearer to the other."""
    noise = random.Random(channels)
    return bytes(max(0, min(255, round(noise.gauss(100 if x < WIDTH // 2 else 160, 35))))
                 for _ in range(HEIGHT) for x in range(WIDTH) for _ in range(channels))


def smoothed(example, folder, channels, smoothness):
    """Its colours, as numbers of three bytes, and what it says: energies, and pixels that have changed."""
    source = netpbm(WIDTH, HEIGHT, halves(channels))
    got, printed = result_of(example, folder, source, 2, smoothness)
    pixels = got[-3 * WIDTH * HEIGHT:]
    assert got == netpbm(WIDTH, HEIGHT, pixels), got[:20]
    said = re.fullmatch(r"energy (\d+) -> (\d+) by \d+ moves, which no other one lowers\n"
                        rf"{WIDTH} x {HEIGHT} pixels, (\d+) in another colour than by k-means, on .+\n", printed)
    assert said, printed
    return [pixels[i:i + 3] for i in range(0, len(pixels), 3)], *map(int, said.groups())


def main():
    example = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for channels in 1, 3:
            plain, start, energy, changed = smoothed(example, folder, channels, 0)
            assert start == energy and changed == 0, (start, energy, changed)
            colors, start, energy, changed = smoothed(example, folder, channels, 10)
            assert energy < start and changed == sum(a != b for a, b in zip(colors, plain)) > 0
            sides = [[colors[y * WIDTH + x] for y in range(HEIGHT) for x in range(WIDTH)
                      if (x < WIDTH // 2) == is_left and abs(x - WIDTH // 2) > 2] for is_left in (True, False)]
            most = [max(set(side), key=side.count) for side in sides]
            assert most[0] != most[1] and all(side.count(color) >= 0.99 * len(side)
                                              for side, color in zip(sides, most)), "a half has one colour"
        good = netpbm(4, 3, bytes(12))
        for bad in 17, -2, "abc":
            check_refused(example, folder, good, [bad, 1], "clusters", str(bad), "16")
        check_refused(example, folder, good, [1, 1], "clusters is 1")
        check_refused(example, folder, good, [2, 101], "smoothness", "101", "100")
    with tempfile.TemporaryDirectory() as folder:
        check_bad_files(example, folder, [2, 1])
    print(f"{os.path.basename(example)}: ok")


main()
