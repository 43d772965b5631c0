# SPDX-License-Identifier: BSD-2-Clause
"""Every ccl example lists and draws what a flood fill finds, and refuses bad input. The flood fill
is compared with scipy.ndimage.label where that is installed.

usage: ccl.py EXAMPLE... (a program, or a Python file)
"""
import os
import random
import sys
import tempfile

from common import ON_GPU, check_bad_files, check_refused, netpbm, result_of

try:
    import numpy
    import scipy.ndimage
except ImportError as error:
    numpy, why_not_scipy = None, str(error)


def luma(pixels, channels):
    if channels == 1:
        return list(pixels)
    return [(77 * r + 150 * g + 29 * b + 128) >> 8
            for r, g, b in zip(pixels[0::3], pixels[1::3], pixels[2::3])]


def flood(width, height, foreground):
    """Lists of the pixels (x, y) of each component, in the order of their first pixels."""
    left = {(x, y) for y in range(height) for x in range(width) if foreground[y * width + x]}
    components = []
    for start in [(x, y) for y in range(height) for x in range(width)]:
        if start not in left:
            continue
        left.remove(start)
        found = [start]
        for x, y in found: # grows while it is walked through
            near = {(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)} & left
            left -= near
            found += near
        components.append(found)
    return components


def compare_with_scipy(width, height, foreground, components):
    want, count = scipy.ndimage.label(numpy.reshape(foreground, (height, width)), numpy.ones((3, 3)))
    got = numpy.zeros((height, width), int)
    for label, pixels in enumerate(components, 1):
        for x, y in pixels:
            got[y, x] = label
    assert count == len(components) and (got == want).all(), f"{width}x{height}: scipy differs"


def color(label):
    """Hues that lie far apart: steps of the golden ratio round a circle of six ramps."""
    ramp, at = divmod((label * 2654435769 % 2**32 >> 16) * 1536 >> 16, 256)
    up, down = 40 + at * 215 // 255, 255 - at * 215 // 255
    return [(255, up, 40), (down, 255, 40), (40, 255, up), (40, down, 255), (up, 40, 255),
            (255, 40, down)][ramp]


def drawn(width, height, components):
    """The picture, and the table."""
    picture = bytearray(3 * width * height)

    def draw(x, y, rgb):
        if 0 <= x < width and 0 <= y < height:
            at = 3 * (y * width + x)
            picture[at:at + 3] = bytes(rgb)
    for label, pixels in enumerate(components, 1):
        for x, y in pixels:
            draw(x, y, color(label))
    rows = []
    for label, pixels in enumerate(components, 1):
        columns, lines, area = [x for x, _ in pixels], [y for _, y in pixels], len(pixels)
        left, right, top, bottom = min(columns), max(columns), min(lines), max(lines)
        for x in range(left - 1, right + 2):
            for y in range(top - 1, bottom + 2):
                if x in (left - 1, right + 1) or y in (top - 1, bottom + 1):
                    draw(x, y, (255, 255, 255))
        rows.append([str(label), str(area), str(left), str(top), str(right - left + 1),
                     str(bottom - top + 1), f"{sum(columns) / area:.2f}", f"{sum(lines) / area:.2f}"])
    return picture, rows


def table(printed):
    """The rows between the head and the last line, and the components that the latter counts."""
    head, *rows, last = printed.splitlines()
    assert head.split() == ["label", "area", "x", "y", "width", "height", "centroid"], head
    return [row.split() for row in rows], int(last.split()[4])


def check_picture(example, folder, width, height, pixels, threshold, min_area):
    channels = len(pixels) // (width * height)
    foreground = [value >= threshold for value in luma(pixels, channels)]
    components = flood(width, height, foreground)
    if numpy:
        compare_with_scipy(width, height, foreground, components)
    components = [pixels for pixels in components if len(pixels) >= min_area]
    # A GPU, where there is one, takes a while to wake: one size is enough for it.
    hidden = {} if (width, height) == (31, 17) else {"CUDA_VISIBLE_DEVICES": ""}
    if hidden and ON_GPU:
        return
    got, printed = result_of(example, folder, netpbm(width, height, pixels), threshold, min_area,
                             **hidden)
    what = f"{width}x{height}x{channels} threshold {threshold} min-area {min_area}"
    picture, rows = drawn(width, height, components)
    assert table(printed) == (rows, len(components)), f"{what}: {printed}"
    assert got == netpbm(width, height, picture), f"the picture of {what} differs"


def main():
    for example in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            for width, height in (1, 1), (1, 7), (13, 1), (31, 17), (64, 3):
                for channels in 1, 3:
                    pixels = random.Random(f"{width} {height}").randbytes(width * height * channels)
                    for threshold, min_area in (0, 0), (100, 0), (160, 3), (255, 1):
                        check_picture(example, folder, width, height, pixels, threshold, min_area)
            # More components than the examples expect.
            dots = bytes(255 * (x % 2 == 0 and y % 2 == 0) for y in range(39) for x in range(41))
            check_picture(example, folder, 41, 39, dots, 255, 0)

            good = netpbm(4, 3, bytes(12))
            for name, args in ("threshold", ("{}", 0)), ("min-area", (1, "{}")):
                for bad in 2**32, -2, "abc", "3x", "":
                    check_refused(example, folder, good, [str(arg).format(bad) for arg in args], name,
                                  str(bad), "255" if name == "threshold" else "1073741824")
        with tempfile.TemporaryDirectory() as folder:
            check_bad_files(example, folder, [1, 0])
        print(f"{os.path.basename(example)}: ok")
    if not numpy:
        print(f"skipped: comparison with scipy.ndimage.label: {why_not_scipy}")


main()
