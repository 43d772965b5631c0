#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""All five algorithms on a picture: five.py PICTURE FOLDER writes what each makes of it."""
import sys
from pathlib import Path

import gpuvision as gpv
from common import read_picture, run, size_of, write_picture


def run_all(picture):
    """What there is to say, and {name: picture}."""
    height, width = picture.shape[:2]
    with gpv.Context() as context:
        lines = [f"{size_of(picture)}, on {context.device_name}"]

        eroded = gpv.Erode(context, shape="ellipse", radius=2)(picture)
        lines.append("erode     ellipse of radius 2")

        found = gpv.Ccl(context, threshold=128, min_area=16, output="colors")(picture)
        lines.append(f"ccl       {found.count} components")
        if found.count:
            largest = found.records[found.records["area"].argmax()]
            lines[-1] += (f", the largest has {largest['area']} pixels, from {largest['left']},"
                          f"{largest['top']} to {largest['right']},{largest['bottom']}")

        clusters = gpv.Kmeans(context, clusters=4)(picture)
        colors = " ".join(f"#{color.tobytes().hex()}" for color in clusters.colors)
        lines.append(f"kmeans    {clusters.clusters} clusters after {clusters.iterations} iterations: "
                     f"{colors}")

        sift, drawn = gpv.Sift(context, max_features=200), picture.copy()
        keypoints = sift(picture, descriptors=False).keypoints
        sift.draw(drawn, "rich", 0xff4000)
        lines.append(f"sift      {len(keypoints)} keypoints")
        if len(keypoints):
            lines[-1] += f", the strongest at {keypoints[0]['x']:.2f},{keypoints[0]['y']:.2f}"

        x, y = width // 8, height // 8
        foreground = gpv.Segment(context, certificate=True)(
            picture, rect=(x, y, width - 2 * x, height - 2 * y), mask=False, dst=True)
        lines.append(f"graphcut  {foreground.area} pixels of the foreground, flow {foreground.flow}, "
                     f"cut {foreground.cut}")
    return lines, {"erode": eroded, "ccl": found.image, "kmeans": clusters.image, "sift": drawn,
                   "graphcut": foreground.image}


def main():
    if len(sys.argv) != 3:
        print("usage: five PICTURE FOLDER", file=sys.stderr)
        return 2
    path, folder = sys.argv[1], Path(sys.argv[2])
    picture = read_picture(path)
    if Path(path).resolve().parent == folder.resolve():
        sys.exit(f"{path}: is in the folder for the results; name another folder")
    lines, pictures = run_all(picture)
    folder.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        write_picture(folder / f"{name}.{'pgm' if picture.ndim == 2 else 'ppm'}", picture)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
