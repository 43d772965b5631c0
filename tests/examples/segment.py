# SPDX-License-Identifier: BSD-2-Clause
"""Every segment example finds the object, keeps to what it is told, proves that no cut costs less,
paints what the mask says, says the same as the others, and refuses bad input.

usage: segment.py EXAMPLE... (a program, or a Python file)
"""
import os
import random
import sys
import tempfile

from common import ON_GPU, assert_said, check_bad_files, check_refused, netpbm, result_of, run

WIDTH, HEIGHT = 96, 80
NEAR, FAR = (26, 38), (70, 42) # middles of two ellipses of the same colours
HIDDEN = {"CUDA_VISIBLE_DEVICES": ""} # a GPU takes a while to wake: one picture is enough for it


def inside(x, y, middle):
    return ((x - middle[0]) / 17) ** 2 + ((y - middle[1]) / 24) ** 2 < 1


def places():
    return [(x, y) for y in range(HEIGHT) for x in range(WIDTH)]


def scene(channels):
    """Two ellipses of two colours each, on a background that grows lighter, and noise."""
    noise = random.Random(channels)
    pixels = []
    for x, y in places():
        if inside(x, y, NEAR) or inside(x, y, FAR):
            color = (190, 120, 50) if (x // 6 + y // 6) % 2 else (180, 150, 60)
        else:
            color = (60 + x // 6, 80 + y // 6, 120)
        pixels += [max(0, min(255, round(noise.gauss(level, 12)))) for level in color[:channels]]
    return bytes(pixels)


def seeds():
    """A stroke in the near ellipse, another in the far one, which is background, and one below."""
    def seed(x, y):
        if abs(x - NEAR[0]) < 3 and abs(y - NEAR[1]) < 12:
            return 255
        return 0 if abs(x - FAR[0]) < 12 and abs(y - FAR[1]) < 18 or y > HEIGHT - 5 else 128
    return bytes(seed(x, y) for x, y in places())


def dimmed(source, mask):
    """The picture, its background grey and half as bright."""
    channels = len(source) // len(mask)
    pixels = bytearray(source)
    for i, side in enumerate(mask):
        if side:
            continue
        color = source[i * channels:(i + 1) * channels]
        grey = color[0] if channels == 1 else \
            (77 * color[0] + 150 * color[1] + 29 * color[2] + 128) // 256
        pixels[i * channels:(i + 1) * channels] = bytes([grey // 2]) * channels
    return bytes(pixels)


def cut_out(example, folder, source, width, height, iterations, *options, **variables):
    """The mask, and the flow."""
    picture = netpbm(width, height, source)
    got, printed = result_of(example, folder, picture, *options, "--mask", iterations, **variables)
    mask = got[-width * height:]
    assert got == netpbm(width, height, mask) and set(mask) <= {0, 255}, got[:20]
    head, row, last = printed.splitlines()
    assert head.split() == ["flow", "cut", "area", "optimal"], head
    flow, cut, area, optimal = row.split()
    assert flow == cut and optimal == "yes", f"not proved: {printed}"
    assert int(area) == sum(side != 0 for side in mask), printed
    assert last.startswith(f"{width} x {height} pixels, {area} of the foreground, on "), last
    painted, again = result_of(example, folder, picture, *options, iterations, **variables)
    assert again == printed, f"{again}, not {printed}"
    assert painted == netpbm(width, height, dimmed(source, mask)), "the picture differs"
    return mask, int(flow)


def check_found(mask, middles, what):
    """But for a few pixels, the mask is those ellipses."""
    want = [any(inside(x, y, middle) for middle in middles) for x, y in places()]
    wrong = sum((side != 0) != is_in for side, is_in in zip(mask, want))
    assert wrong * 100 < sum(want), f"{what}: {wrong} pixels are wrong"


def check_scene(example, folder, channels):
    """Gives what the other examples must say, too."""
    said = []

    def found(what, iterations, middles, *options, **variables):
        said.append(cut_out(example, folder, scene(channels), WIDTH, HEIGHT, iterations, *options,
                            **variables))
        check_found(said[-1][0], middles, f"{what} of {channels} channels, {iterations} iterations")
        return said[-1][0]
    with open(os.path.join(folder, "seeds"), "wb") as file:
        file.write(netpbm(WIDTH, HEIGHT, seeds()))
    told = "--seeds", os.path.join(folder, "seeds")
    found("nothing known", 1, (NEAR, FAR), **({} if channels == 3 else HIDDEN))
    if ON_GPU:
        return said
    found("nothing known", 3, (NEAR, FAR), **HIDDEN)
    mask = found("seeds", 1, (NEAR,), *told, **HIDDEN)
    assert all(seed == 128 or seed == side for seed, side in zip(seeds(), mask)), "seeds"
    # Of the far ellipse, and of the background, the rectangle shows a part.
    box = "--rect", f"4,8,{FAR[0] - 4},64"
    said.append(cut_out(example, folder, scene(channels), WIDTH, HEIGHT, 4, *box, *told, **HIDDEN))
    kept = [place for place, side in zip(places(), said[-1][0]) if side]
    assert kept and all(4 <= x < FAR[0] and 8 <= y < 72 for x, y in kept), "rect"
    assert all(side for side, seed in zip(said[-1][0], seeds()) if seed == 255), "seeds in a rect"
    box = "--rect", f"5,9,{WIDTH - 9},{HEIGHT - 16}"
    found("rect", 4, (NEAR, FAR), *box, **HIDDEN)
    return said


def check_small(example, folder):
    """One colour is background, or what is said of the only pixel, or of all others."""
    if ON_GPU:
        return
    for width, height in (1, 1), (1, 7), (13, 2):
        grey = bytes([9]) * width * height
        mask, flow = cut_out(example, folder, grey, width, height, 1, **HIDDEN)
        assert not any(mask) and flow == 0, (mask, flow)
        with open(os.path.join(folder, "seeds"), "wb") as file:
            file.write(netpbm(width, height, b"\xff" * (width * height - 1) + b"\3"))
        told = "--seeds", os.path.join(folder, "seeds")
        mask, flow = cut_out(example, folder, bytes(width * height * 3), width, height, 2, *told,
                             **HIDDEN)
        assert all(mask) and flow == 0, (mask, flow)


def check_bad_arguments(example, folder):
    if ON_GPU:
        return
    good = netpbm(4, 3, bytes(12))
    for bad in 101, 2**32, -2, "abc", "3x", "":
        check_refused(example, folder, good, [bad], "iterations", str(bad), "100")
    check_refused(example, folder, good, [0], "iterations is 0", "1..100")
    for bad in "", "1,1,2", "1,1,2,2,3", "1,1,2,x", "1;1;2;2", "0,0,-4,3", "0,0,2147483648,3":
        check_refused(example, folder, good, [f"--rect={bad}", 1] if example.endswith(".py") else
                      ["--rect", bad, 1], "rect", bad, "X,Y,WIDTH,HEIGHT")
    for bad, words in (("4,0,1,1", "rect->x is 4"), ("0,0,5,3", "rect->width is 5"),
                       ("1,1,1,0", "rect->height is 0")):
        check_refused(example, folder, good, ["--rect", bad, 1], words)
    path = os.path.join(folder, "seeds")
    for bad, words in ((netpbm(3, 4, bytes(12)), ["seeds is 3x4", "4x3"]),
                       (netpbm(4, 3, bytes(36)), ["seeds->format", "GRAY8"]),
                       (netpbm(4, 3, bytes(12)), ["seeds leave no pixel unknown"]),
                       (netpbm(4, 3, bytes(11)), [path]), (b"P2\n1 1\n255\n0\n", [path, "binary"])):
        with open(path, "wb") as file:
            file.write(bad)
        check_refused(example, folder, good, ["--seeds", path, 1], *words)
    os.remove(path)
    check_refused(example, folder, good, ["--seeds", path, 1], path)
    for bad in [], ["--nonsense", 1, "in", "out"], ["--seeds"], [1]:
        assert_said(run(example, *bad), "segment")


def main():
    said = []
    for example in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            said.append([check_scene(example, folder, channels) for channels in (1, 3)])
            check_small(example, folder)
            check_bad_arguments(example, folder)
        with tempfile.TemporaryDirectory() as folder:
            check_bad_files(example, folder, [1])
        print(f"{os.path.basename(example)}: ok")
    assert all(each == said[0] for each in said), "the examples differ"


main()
