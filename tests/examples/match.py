# SPDX-License-Identifier: BSD-2-Clause
"""Every match example finds an object where it is, draws the outline that it lists, finds none where
there is none, says the same as the others, and refuses bad input.

usage: match.py EXAMPLE... (a program, or a Python file)
"""
import math
import os
import random
import sys
import tempfile

from common import ON_GPU, assert_said, check_bad_files, netpbm, run

MARK = (255, 64, 0)
OBJECT, SCENE = (120, 90), (240, 200)  # width, height
HALF_WIDTH = 2.5
# Turned by degrees about the middle of the scene, larger, and seen aslant: where it moves to, and the
# two numbers of the last row. The last one is partly outside.
VIEWS = ((30, 1.2, 0, 0, 0, 0), (-70, 1.4, 8, -5, 0.0012, 0.0006), (160, 0.8, -20, 15, -0.001, 0.0015),
         (20, 1.5, 70, 40, 0, 0))
HIDDEN = {"CUDA_VISIBLE_DEVICES": ""}  # a GPU takes a while to wake: one picture is enough for it


def squares(width, height, seed):
    """Of many sizes and levels, the large ones first."""
    numbers, pixels = random.Random(seed), bytearray([128]) * (width * height)
    count = width * height // 60
    for i in range(count):
        side, level = 3 + 27 * (count - i) // count, numbers.randrange(256)
        left, top = numbers.randrange(-side, width), numbers.randrange(-side, height)
        first, last = max(left, 0), min(left + side, width)
        for y in range(max(top, 0), min(top + side, height)):
            pixels[y * width + first:y * width + last] = bytes([level]) * (last - first)
    return bytes(pixels)


def product(a, b):
    return [sum(a[3 * r + k] * b[3 * k + c] for k in range(3)) for r in range(3) for c in range(3)]


def inverse(m):
    """But for a factor, which no place depends on."""
    a, b, c, d, e, f, g, h, i = m
    return [e * i - f * h, c * h - b * i, b * f - c * e, f * g - d * i, a * i - c * g, c * d - a * f,
            d * h - e * g, b * g - a * h, a * e - b * d]


def place(m, x, y):
    u, v, w = (m[r] * x + m[r + 1] * y + m[r + 2] for r in (0, 3, 6))
    return u / w, v / w


def homography(degrees, scale, dx, dy, p, q):
    """From the object to the scene."""
    x, y = scale * math.cos(math.radians(degrees)), scale * math.sin(math.radians(degrees))
    to_middle = [1, 0, -(OBJECT[0] - 1) / 2, 0, 1, -(OBJECT[1] - 1) / 2, 0, 0, 1]
    from_middle = [1, 0, (SCENE[0] - 1) / 2 + dx, 0, 1, (SCENE[1] - 1) / 2 + dy, 0, 0, 1]
    return product(from_middle, product([x, -y, 0, y, x, 0, p, q, 1], to_middle))


def corners_of(m, size=OBJECT):
    right, bottom = size[0] - 1, size[1] - 1
    return [place(m, x, y) for x, y in ((0, 0), (right, 0), (right, bottom), (0, bottom))]


def view(thing, m):
    """A scene in which it is, between its pixels by the four around."""
    pixels, back = bytearray(squares(*SCENE, 2)), inverse(m)
    width, height = OBJECT
    for i in range(len(pixels)):
        x, y = place(back, i % SCENE[0], i // SCENE[0])
        if 0 <= x < width - 1 and 0 <= y < height - 1:
            u, v = int(x), int(y)
            a, b, c, d = (thing[(v + j) * width + u + k] for j in (0, 1) for k in (0, 1))
            upper, lower = a + (b - a) * (x - u), c + (d - c) * (x - u)
            pixels[i] = round(upper + (lower - upper) * (y - v))
    return bytes(pixels)


def write(path, size, pixels):
    with open(path, "wb") as file:
        file.write(netpbm(*size, pixels))


def searched(example, folder, thing, scene, **variables):
    """The exit status, what is printed, and the picture if there is one. Each is (size, pixels)."""
    source, path, target = (os.path.join(folder, name) for name in ("object", "scene", "out"))
    write(source, *thing)
    write(path, *scene)
    result = run(example, source, path, target, **variables)
    assert result.returncode in (0, 2) and not result.stderr, result.stderr
    picture = None
    if os.path.exists(target):
        with open(target, "rb") as file:
            picture = file.read()
        os.remove(target)
    return result.returncode, result.stdout, picture


def table(printed):
    """The four counts, the matrix and the corners."""
    lines = printed.splitlines()
    assert len(lines) == 11, printed
    assert lines[0].split() == ["object", "scene", "matches", "inliers"], printed
    assert lines[2] == "homography" and lines[6].split() == ["corner", "x", "y"], printed
    matrix = [float(number) for line in lines[3:6] for number in line.split()]
    names = [line[:-18].strip() for line in lines[7:11]]
    assert names == ["top left", "top right", "bottom right", "bottom left"], printed
    corners = [tuple(map(float, line[-18:].split())) for line in lines[7:11]]
    return [int(number) for number in lines[1].split()], matrix, corners


def distance(p, a, b):
    """From a point to a line from a to b."""
    length = math.dist(a, b) ** 2
    t = max(0, min(1, sum((p[i] - a[i]) * (b[i] - a[i]) for i in (0, 1)) / length))
    return math.dist(p, [a[i] + t * (b[i] - a[i]) for i in (0, 1)])


def check_outline(got, scene, corners):
    """What is near to the lines is painted, what is not is as it was."""
    width, height = SCENE
    header = b"P6\n%d %d\n255\n" % SCENE
    assert got.startswith(header) and len(got) == len(header) + 3 * width * height
    got = got[len(header):]
    edges = list(zip(corners, corners[1:] + corners[:1]))
    for i, level in enumerate(scene):
        x, y, rgb = i % width, i // width, tuple(got[3 * i:3 * i + 3])
        away = min(distance((x, y), *edge) for edge in edges)
        if away < HALF_WIDTH - 0.05:  # corners are printed with two places
            assert rgb == MARK, f"{x} {y}, {away:.2f} from the outline, is {rgb}"
        elif away > HALF_WIDTH + 0.05:
            assert rgb == (level,) * 3, f"{x} {y}, {away:.2f} from the outline, is {rgb}"
        else:
            assert rgb in (MARK, (level,) * 3), f"{x} {y} is {rgb}"


def check_views(example, folder):
    thing, said = squares(*OBJECT, 1), []
    for number, parameters in enumerate(VIEWS[:1] if ON_GPU else VIEWS):
        m = homography(*parameters)
        scene = view(thing, m)
        status, printed, picture = searched(example, folder, (OBJECT, thing), (SCENE, scene),
                                            **({} if number == 0 else HIDDEN))
        assert status == 0, f"{parameters}: {printed}"
        *rows, last = printed.splitlines()
        assert last.startswith("240 x 200 pixels, found, on "), last
        counts, matrix, corners = table("\n".join(rows))
        assert min(counts[:2]) >= counts[2] >= counts[3] >= 10 and counts[0] >= 100, printed
        for corner, want, listed in zip(corners, corners_of(m), corners_of(matrix)):
            assert math.dist(corner, want) < 1, f"{parameters}: {want}, not {printed}"
            assert math.dist(corner, listed) < 0.05, f"not by this matrix: {printed}"
        check_outline(picture, scene, corners)
        said.append((rows, picture))
    if ON_GPU:
        return said
    grey = [bytes(level for level in pixels for _ in range(3)) for pixels in (thing, scene)]
    _, printed, picture = searched(example, folder, (OBJECT, grey[0]), (SCENE, grey[1]), **HIDDEN)
    assert (printed.splitlines()[:-1], picture) == said[-1], "grey pictures in colours differ"
    return said


def check_none(example, folder):
    """Another object, one colour, and pictures that are too small for a keypoint."""
    said, scene = [], view(squares(*OBJECT, 1), homography(*VIEWS[0]))
    for thing in ((OBJECT, squares(*OBJECT, 3)), (OBJECT, bytes([7]) * (OBJECT[0] * OBJECT[1])),
                  ((1, 1), b"\x09"), ((3, 40), squares(3, 40, 1))):
        for pair in (thing, (SCENE, scene)), ((SCENE, scene), thing):
            status, printed, picture = searched(example, folder, *pair, **HIDDEN)
            head, counts, last = printed.splitlines()
            assert status == 2 and picture is None, printed
            assert head.split() == ["object", "scene", "matches", "inliers"], printed
            assert int(counts.split()[3]) < 10, printed
            assert last.startswith("%d x %d pixels, not found, on " % pair[1][0]), last
            said.append(counts)
    return said


def check_usage(example, folder):
    for number in 0, 1, 2, 4:
        result = run(example, *["argument"] * number)
        assert result.returncode == 1, f"exit {result.returncode}, as if there were no object"
        assert_said(result, "usage", "match", "exits with 2")


def main():
    said = []
    for example in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            said.append([check_views(example, folder)])
            if not ON_GPU:
                said[-1].append(check_none(example, folder))
                check_usage(example, folder)
        with tempfile.TemporaryDirectory() as folder:
            good = os.path.join(folder, "good")
            write(good, (4, 3), bytes(12))
            check_bad_files(example, folder, [good])
            check_bad_files(example, folder, [], [good])
        print(f"{os.path.basename(example)}: ok")
    assert all(each == said[0] for each in said), "the examples differ"


main()
