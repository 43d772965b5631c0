# SPDX-License-Identifier: BSD-2-Clause
"""Every sift example finds blobs where they are, draws what it lists, and refuses bad input.

usage: sift.py EXAMPLE... (a program, or a Python file)
"""
import math
import os
import sys
import tempfile

from common import ON_GPU, check_bad_files, check_refused, netpbm, result_of

BACKGROUND, MARK = 100, (255, 64, 0)
BLOBS = (30, 25, 3, 100), (80, 27, 5, -80), (33, 70, 2.5, -70), (90, 72, 4, 90)  # x, y, s, height
WIDTH, HEIGHT = 120, 96


def drawn(width, height, blobs, slope=0.4):
    """Round blobs on a slope, which gives them an orientation."""
    def level(x, y):
        return BACKGROUND + slope * (x - y / 2) + sum(
            a * math.exp(-((x - u) ** 2 + (y - v) ** 2) / (2 * s * s)) for u, v, s, a in blobs)
    return bytes(max(0, min(255, round(level(x, y)))) for y in range(height) for x in range(width))


def table(printed):
    """(x, y, sigma, angle, response) of each keypoint, and the number that the last line says."""
    head, *rows, last = printed.splitlines()
    assert head.split() == ["x", "y", "sigma", "angle", "response"], head
    return [tuple(map(float, row.split())) for row in rows], int(last.split()[4])


def nearest(value):
    return round(math.copysign(math.floor(abs(value) + 0.5), value))


def circles(width, height, rows):
    """The pixels that are drawn."""
    pixels = set()
    for x, y, sigma, angle, _ in rows:
        x, y, r = nearest(x), nearest(y), max(nearest(sigma), 1)
        arc = {(i, nearest(math.sqrt(r * r - i * i))) for i in range(r + 1)}
        arc = {(i, j) for i, j in arc if i <= j}
        pixels |= {(x + a * u, y + b * v) for i, j in arc for u, v in ((i, j), (j, i))
                   for a in (-1, 1) for b in (-1, 1)}
        u, v = (nearest(r * f(math.radians(angle))) for f in (math.cos, math.sin))
        steps = max(abs(u), abs(v))
        pixels |= {(x + nearest(u * i / steps), y + nearest(v * i / steps))
                   for i in range(steps + 1)}
    return {(x, y) for x, y in pixels if 0 <= x < width and 0 <= y < height}


def marked(got, width, height, gray):
    """The pixels that differ from the picture, which have one colour."""
    assert len(got) == 3 * width * height
    pixels = set()
    for i, level in enumerate(gray):
        rgb = tuple(got[3 * i:3 * i + 3])
        assert rgb in (MARK, (level,) * 3), f"pixel {i} is {rgb}"
        if rgb == MARK:
            pixels.add((i % width, i // width))
    return pixels


def check_blobs(example, folder, channels):
    gray = drawn(WIDTH, HEIGHT, BLOBS)
    source = netpbm(WIDTH, HEIGHT, bytes(level for level in gray for _ in range(channels)))
    got, printed = result_of(example, folder, source, 0)
    header = b"P6\n%d %d\n255\n" % (WIDTH, HEIGHT)
    assert got.startswith(header)
    rows, count = table(printed)
    assert count == len(rows), printed
    assert [row[4] for row in rows] == sorted((row[4] for row in rows), reverse=True), printed
    for x, y, s, _ in BLOBS:
        near = [row for row in rows if math.dist(row[:2], (x, y)) < 0.2]
        assert near, f"none at {x} {y}: {printed}"
        for row in near:
            assert abs(row[2] / (s / 2 ** (1 / 6)) - 1) < 0.15, f"sigma {row[2]} of {s}"
    # What is listed has two digits, so that it may be drawn a pixel beside; see that it is not.
    assert marked(got[len(header):], WIDTH, HEIGHT, gray) == circles(WIDTH, HEIGHT, rows), \
        "not drawn as listed"
    for limit in () if ON_GPU else (1, 3, len(rows), len(rows) + 1):
        _, printed = result_of(example, folder, source, limit, CUDA_VISIBLE_DEVICES="")
        assert table(printed)[0] == rows[:limit], f"{limit}: {printed}"
    return printed, got


def check_none(example, folder):
    for width, height in (1, 1), (1, 40), (5, 7), (31, 17):
        got, printed = result_of(example, folder, netpbm(width, height, bytes([9]) * width * height),
                                 0, CUDA_VISIBLE_DEVICES="")
        assert table(printed) == ([], 0), printed
        assert got == netpbm(width, height, bytes([9]) * 3 * width * height)


def check_many(example, folder):
    """More keypoints than the examples expect."""
    blobs = [(8 + 12 * i, 8 + 12 * j) for i in range(30) for j in range(20)]
    width, height = 12 * 30 + 4, 12 * 20 + 4
    pixels = bytes(round(60 + 150 * math.exp(-((x % 12 - 8) ** 2 + (y % 12 - 8) ** 2) / 8))
                   for y in range(height) for x in range(width))
    _, printed = result_of(example, folder, netpbm(width, height, pixels), 0,
                           CUDA_VISIBLE_DEVICES="")
    rows, count = table(printed)
    assert count == len(rows) > 1024, count
    places = {(round(row[0]), round(row[1])) for row in rows}
    assert places.issuperset(blobs[21:40]), "not all are found"


def main():
    outputs = []
    for example in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            gray, color = (check_blobs(example, folder, channels) for channels in (1, 3))
            assert gray == color, "a grey picture in colours has other keypoints"
            outputs.append(gray)
            if not ON_GPU:
                check_none(example, folder)
                check_many(example, folder)
            good = netpbm(4, 3, bytes(12))
            for bad in 1000001, 2**32, -2, "abc", "3x", "":
                check_refused(example, folder, good, [bad], "features", str(bad), "1000000")
        with tempfile.TemporaryDirectory() as folder:
            check_bad_files(example, folder, [4])
        print(f"{os.path.basename(example)}: ok")
    assert all(output == outputs[0] for output in outputs), "the examples differ"


main()
