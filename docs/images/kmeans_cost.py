#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draws kmeans-cost.svg, what a run of k-means costs on a GPU: kmeans_cost.py [--check]

The figures are those of docs/results/nvidia-h200.json. With --check nothing is written; it fails if
the picture is not that of the figures.
"""
import json
import math
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PICTURE = HERE / "kmeans-cost.svg"
FIGURES = HERE.parent / "results/nvidia-h200.json"
# Of the images of tests/parity/kmeans.cpp at 1920x1080, which counts the photograph's; noise draws
# each pixel from 2^24 colours, of which so many occur on average.
HD = 1920 * 1080
COLORS = {"1k colours": 1000, "10k colours": 10000, "100k colours": 100000, "photo": 579849,
          "noise": round(2 ** 24 * (1 - math.exp(-HD / 2 ** 24)))}
SHADES = {2: "#1b6ca8", 8: "#2a9d5c", 64: "#d08c1d", 255: "#c0392b"}
SIZES = {"640x480": "#1b6ca8", "1280x720": "#2a9d5c", "1920x1080": "#d08c1d",
         "3840x2160": "#c0392b", "7680x4320": "#7d3c98"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 330, 300, 52, 62, 34, 44
MIN_US, MAX_US = 50, 2000  # µs


def times(run):
    """(image, size, k) -> µs."""
    found = {}
    for row in run["rows"]:
        k = re.fullmatch(r"labels and colours k=(\d+)", row["name"])
        image = re.fullmatch(r"(.+) (\d+x\d+)", row["image"])
        if k and image:
            found[image[1], image[2], int(k[1])] = row["ours_us"][0]
    return found


class Panel:
    """Logarithmic axes; x from least to most."""

    def __init__(self, index, title, label, least, most, marks):
        self.left = index * WIDTH + LEFT
        self.inner = WIDTH - LEFT - RIGHT
        self.least, self.most = least, most
        self.names = []  # (y, x, name, colour) behind the curves
        self.parts = [text(self.left, 18, title, weight="bold"),
                      text(self.left + self.inner / 2, HEIGHT - 8, label, anchor="middle")]
        for us in (50, 100, 200, 500, 1000, 2000):
            self.parts += [line(self.left, self.y(us), self.left + self.inner, self.y(us)),
                           text(self.left - 6, self.y(us) + 4, str(us), anchor="end")]
        for value, name in marks:
            self.parts += [line(self.x(value), TOP, self.x(value), HEIGHT - BOTTOM),
                           text(self.x(value), HEIGHT - BOTTOM + 16, name, anchor="middle")]

    def x(self, value):
        return self.left + self.inner * math.log(value / self.least) / math.log(
            self.most / self.least)

    @staticmethod
    def y(us):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(us / MIN_US) / math.log(
            MAX_US / MIN_US)

    def curve(self, name, color, points):
        places = [(self.x(x), self.y(us)) for x, us in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" '
                          'stroke-width="2"/>')
        self.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{color}"/>'
                       for x, y in places]
        self.names.append((places[-1][1] + 4, places[-1][0] + 6, name, color))

    def finished(self):
        """All parts; names that would meet give way."""
        lowest = HEIGHT
        for y, x, name, color in sorted(self.names, reverse=True):
            lowest = min(y, lowest - 12)
            self.parts.append(text(x, lowest, name, color=color))
        return self.parts


def line(x1, y1, x2, y2):
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#ddd"/>'


def text(x, y, content, anchor="start", color="#222", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" '
            f'font-weight="{weight}">{content}</text>')


def drawn(run):
    found = times(run)
    pixels = {size: math.prod(map(int, size.split("x"))) for size in SIZES}
    panels = [
        Panel(0, "µs over pixels, a photograph", "Mpixel", 3e5, 3.4e7,
              [(3e5, "0.3"), (1e6, "1"), (3e6, "3"), (1e7, "10"), (3.3e7, "33")]),
        Panel(1, "µs over clusters, a photograph", "k", 2, 256,
              [(k, str(k)) for k in (2, 8, 32, 128)]),
        Panel(2, "µs over distinct colours, 1920x1080", "colours", 1e3, 2.2e6,
              [(1e3, "1000"), (1e4, "10 000"), (1e5, "100 000"), (1e6, "10⁶")])]
    for k, color in SHADES.items():
        panels[0].curve(f"k = {k}", color, [(pixels[size], found["photo", size, k])
                                            for size in SIZES])
        panels[2].curve(f"k = {k}", color, [(count, found[image, "1920x1080", k])
                                            for image, count in COLORS.items()])
    for size, color in SIZES.items():
        panels[1].curve(size, color, [(k, us) for (image, of, k), us in found.items()
                                      if image == "photo" and of == size])
    parts = [part for panel in panels for part in panel.finished()]
    size = f"{3 * WIDTH} {HEIGHT + 16}"
    source = f"{run['gpu']}, {run['date']}; 20 iterations, labels and colours"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" '
        'font-size="12">', f'<rect width="{3 * WIDTH}" height="{HEIGHT + 16}" fill="white"/>',
        *parts, text(3 * WIDTH - 6, HEIGHT + 10, source, anchor="end", color="#777"), "</svg>"]) + "\n"


def main():
    picture = drawn(json.loads(FIGURES.read_text(encoding="utf-8"))["benchmarks"]["kmeans"])
    if "--check" not in sys.argv:
        PICTURE.write_text(picture, encoding="utf-8")
    elif PICTURE.read_text(encoding="utf-8") != picture:
        sys.exit(f"{PICTURE.name} is not that of {FIGURES.name}: run {Path(__file__).name}")


main()
