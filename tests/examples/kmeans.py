# SPDX-License-Identifier: BSD-2-Clause
"""Every kmeans example lists and paints what the definition of k-means gives, and refuses bad input.

usage: kmeans.py EXAMPLE... (a program, or a Python file)
"""
import collections
import os
import random
import struct
import sys
import tempfile

from common import ON_GPU, check_bad_files, check_refused, netpbm, result_of

MAX_CLUSTERS, MAX_ITERATIONS, TOLERANCE = 16, 20, 0.5 # the defaults


def single(value):
    """Rounded to single precision, as every sum and product is."""
    return struct.unpack("f", struct.pack("f", value))[0]


def distance(a, b):
    x, y, z = (single(single(p - q) ** 2) for p, q in zip(a, b))
    return single(single(x + y) + z)


def random_number(i):
    """Of splitmix64 with the seed 0."""
    z = (i + 1) * 0x9e3779b97f4a7c15 % 2**64
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 % 2**64
    z = (z ^ z >> 27) * 0x94d049bb133111eb % 2**64
    return z ^ z >> 31


def drawn(colors, k):
    """k-means++: colours, in raster order of cubes of side 8, by their squared distance."""
    ordered = sorted(colors, key=lambda color: ([level // 8 for level in color], color))
    found = []
    for i in range(k):
        weights = [colors[color] * min((sum((p - q) ** 2 for p, q in zip(color, other))
                                        for other in found), default=1) for color in ordered]
        place = random_number(i) * sum(weights) >> 64
        for color, weight in zip(ordered, weights):
            place -= weight
            if place < 0:
                break
        found.append(color if sum(weights) else found[0])
    return found


def means(centroids, labels, colors):
    """The next centroids."""
    moved = []
    farthest = max(colors, key=lambda color: (distance(color, centroids[labels[color]]),
                                              [-level for level in color]))
    for i, centroid in enumerate(centroids):
        members = [color for color in colors if labels[color] == i]
        count = sum(colors[color] for color in members)
        if count:
            centroid = tuple(single(sum(color[c] * colors[color] for color in members) / count)
                             for c in range(3))
        elif farthest and distance(farthest, centroids[labels[farthest]]) > 0:
            centroid = farthest
        if not count:
            farthest = None # the first empty one alone is moved
        moved.append(centroid)
    return moved


def iterate(colors, centroids):
    """Centroids, the label of each colour, and how many updates that took."""
    iterations, done = 0, False
    while True:
        labels = {color: min(range(len(centroids)), key=lambda i: distance(color, centroids[i]))
                  for color in colors}
        if done or iterations == MAX_ITERATIONS:
            return centroids, labels, iterations
        before, centroids = centroids, means(centroids, labels, colors)
        iterations += 1
        done = max(map(distance, before, centroids)) <= TOLERANCE ** 2


def inertia(colors, centroids, labels):
    return sum(count * sum((p - q) ** 2 for p, q in zip(color, centroids[labels[color]]))
               for color, count in colors.items())


def clustered(colors, k):
    """Of the number that separates them best where k is 0."""
    if k:
        return iterate(colors, drawn(colors, k))
    if len(colors) == 1:
        return iterate(colors, list(colors))
    pixels, best = sum(colors.values()), None
    total = inertia(colors, *iterate(colors, drawn(colors, 1))[:2])
    for k in range(2, MAX_CLUSTERS + 1):
        found = iterate(colors, drawn(colors, k))
        within = inertia(colors, *found[:2])
        if within < 1e-6:
            return found
        separation = (total - within) * (pixels - k) / (within * (k - 1))
        if not best or separation > best[0]:
            best = separation, found
    return best[1]


def byte(level):
    return int(level + 0.5)


def expected(width, height, pixels, k):
    """The picture, the table and the iterations."""
    channels = len(pixels) // (width * height)
    image = [(p,) * 3 for p in pixels] if channels == 1 else list(zip(*[iter(pixels)] * 3))
    centroids, labels, iterations = clustered(collections.Counter(image), k)
    counts = collections.Counter(labels[color] for color in image)
    painted = [tuple(map(byte, centroid)) for centroid in centroids]
    rows = [[str(i), "#%02x%02x%02x" % color, str(counts[i]),
             f"{100 * counts[i] / len(image):.1f}", "%"] for i, color in enumerate(painted)]
    return netpbm(width, height, [level for color in image
                                  for level in painted[labels[color]][:channels]]), rows, iterations


def check_picture(example, folder, width, height, pixels, k, want):
    picture, rows, iterations = want
    # A GPU, where there is one, takes a while to wake: one size is enough for it.
    hidden = {} if (width, height) == (31, 17) else {"CUDA_VISIBLE_DEVICES": ""}
    if hidden and ON_GPU:
        return
    got, printed = result_of(example, folder, netpbm(width, height, pixels), k, **hidden)
    what = f"{width}x{height}x{len(pixels) // (width * height)} into {k}"
    head, *lines, last = printed.splitlines()
    assert head.split() == ["cluster", "colour", "pixels", "share"], head
    assert [line.split() for line in lines] == rows, f"{what}: {printed}, not {rows}"
    assert f", {len(rows)} clusters after {iterations} iterations, on " in last, f"{what}: {last}"
    assert got == picture, f"the picture of {what} differs"


def pictures():
    """(width, height, pixels, clusters)"""
    for width, height in (1, 1), (1, 7), (13, 1), (31, 17):
        for channels in 1, 3:
            pixels = random.Random(f"{width} {height}").randbytes(width * height * channels)
            for k in 2, 5, 256 if width * height < 31 else 9, 0:
                yield width, height, pixels, k
    # Three groups of colours, which are easily told apart, and one colour.
    noise = random.Random("groups")
    bases = (20, 200, 90), (200, 90, 10), (90, 10, 20)
    yield 16, 4, bytes(level + noise.randrange(12) for i in range(64) for level in bases[i % 3]), 0
    yield 16, 4, bytes([9]) * 64, 0


def main():
    wanted = [(picture, expected(*picture)) for picture in pictures()]
    assert len(wanted[-2][1][1]) == 3 and len(wanted[-1][1][1]) == 1, "chosen numbers"
    for example in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            for picture, want in wanted:
                check_picture(example, folder, *picture, want)
            good = netpbm(4, 3, bytes(12))
            for bad in 257, 2**32, -2, "abc", "3x", "":
                check_refused(example, folder, good, [bad], "clusters", str(bad), "256")
            check_refused(example, folder, good, [1], "clusters is 1", "2..256")
        with tempfile.TemporaryDirectory() as folder:
            check_bad_files(example, folder, [4])
        print(f"{os.path.basename(example)}: ok")


main()
