# SPDX-License-Identifier: BSD-2-Clause
"""Every graphcut example cuts an object out where it is, proves that no cut costs less, says the
same as the others, and refuses bad input.

usage: graphcut.py EXAMPLE... (a program, or a Python file)
"""
import os
import random
import sys
import tempfile

from common import ON_GPU, check_bad_files, check_refused, netpbm, result_of

WIDTH, HEIGHT = 96, 80


def inside(x, y):
    """Of the object, an ellipse."""
    return ((x - 44) / 30) ** 2 + ((y - 38) / 24) ** 2 < 1


def scene(channels):
    """The object in two colours, on a background that grows lighter. In the noise many pixels look as
    if they were on the other side."""
    noise = random.Random(channels)
    pixels = []
    for y in range(HEIGHT):
        for x in range(WIDTH):
            if inside(x, y):
                color = (160, 110, 70) if (x // 6 + y // 6) % 2 else (150, 130, 70)
            else:
                color = (80 + x // 6, 90 + y // 6, 110)
            pixels += [max(0, min(255, round(noise.gauss(level, 18)))) for level in color[:channels]]
    return bytes(pixels)


def table(printed):
    """(flow, cut, area) of each iteration, and the area that the last line says."""
    head, *rows, last = printed.splitlines()
    assert head.split() == ["iteration", "flow", "cut", "area", "milliseconds"], head
    rows = [row.split() for row in rows]
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1)), printed
    assert all(float(row[4]) >= 0 for row in rows), printed
    return [tuple(map(int, row[1:4])) for row in rows], int(last.split()[4])


def kept(source, got, width, height):
    """Of each pixel, whether it is as before. The others have a quarter of their light."""
    channels = len(source) // (width * height)
    assert got.startswith(netpbm(width, height, source)[:-len(source)]), got[:20]
    got = got[-len(source):]
    mask = []
    for i in range(0, len(source), channels):
        before, after = source[i:i + channels], got[i:i + channels]
        dark = bytes(level // 4 for level in before)
        assert after in (before, dark), f"pixel {i // channels}: {tuple(before)} is {tuple(after)}"
        mask.append(after == before)
    return mask


def cut_out(example, folder, source, width, height, margin, **variables):
    got, printed = result_of(example, folder, netpbm(width, height, source), margin, **variables)
    rows, area = table(printed)
    assert rows and all(flow == cut for flow, cut, _ in rows), f"not proved: {printed}"
    mask = kept(source, got, width, height)
    assert sum(mask) == area == rows[-1][2], printed
    return mask, rows


def check_scene(example, folder, channels, margin):
    """Gives what the other examples must say, too."""
    # A GPU, where there is one, takes a while to wake: one picture is enough for it.
    hidden = {} if margin == 8 else {"CUDA_VISIBLE_DEVICES": ""}
    mask, rows = cut_out(example, folder, scene(channels), WIDTH, HEIGHT, margin, **hidden)
    want = [inside(x, y) for y in range(HEIGHT) for x in range(WIDTH)]
    wrong = sum(a != b for a, b in zip(mask, want))
    assert wrong * 100 < sum(want), f"{channels} channels, {margin} %: {wrong} pixels are wrong"
    assert 2 <= len(rows) <= 8 and (len(rows) == 8 or rows[-1][2] == rows[-2][2]), rows
    return mask, rows


def check_margins(example, folder):
    """What is certain is background, whatever its colour; of a small picture, all."""
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    for margin in 16, 20:
        mask, _ = cut_out(example, folder, scene(3), WIDTH, HEIGHT, margin, **hidden)
        mx, my = 1 + WIDTH * margin // 100, 1 + HEIGHT * margin // 100
        places = [(i % WIDTH, i // WIDTH) for i, side in enumerate(mask) if side]
        assert places and all(mx <= x < WIDTH - mx and my <= y < HEIGHT - my for x, y in places)
    for width, height, margin in (WIDTH, HEIGHT, 50), (1, 1, 0), (1, 7, 0), (13, 2, 0), (2, 2, 50):
        source = bytes(200 if i % 3 else 9 for i in range(width * height))
        mask, rows = cut_out(example, folder, source, width, height, margin, **hidden)
        assert not any(mask) and rows[-1] == (0, 0, 0), rows


def main():
    said = []
    for example in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            said.append([check_scene(example, folder, channels, margin)
                         for channels in (1, 3) for margin in ((8,) if ON_GPU else (0, 8))])
            if not ON_GPU:
                check_margins(example, folder)
            good = netpbm(4, 3, bytes(12))
            for bad in 51, 2**32, -2, "abc", "3x", "":
                check_refused(example, folder, good, [bad], "margin", str(bad), "50")
        with tempfile.TemporaryDirectory() as folder:
            check_bad_files(example, folder, [8])
        print(f"{os.path.basename(example)}: ok")
    assert all(each == said[0] for each in said), "the examples differ"


main()
