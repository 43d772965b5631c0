#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds an object in a scene, which are two pictures: matches the keypoints of both, looks for the
homography that most of the matches agree with, and draws where it takes the edges of the object."""
import sys

import gpuvision as gpv
from common import read_picture, run, size_of, to_rgb, write_picture

FEATURES = 4000  # of a picture, the strongest
MIN_INLIERS = 15  # of false pairs alone up to 9 agree by chance, of thousands more
LINE_WIDTH = 5  # pixels
ORANGE = 0xff4000  # 0xRRGGBB
NOT_FOUND = 2  # exit status
USAGE = ("usage: match.py OBJECT SCENE OUT.ppm (binary PGM or PPM of 8 bits; exits with 2, and writes "
         "nothing, if the object is not found)")


def corners_of(picture):
    height, width = picture.shape[:2]
    return [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]


def is_seen(homography, corners):
    """Whether no corner would be behind the camera: else it is not that of a picture that is seen."""
    a, b, c = homography.matrix[2]
    return all(a * x + b * y + c > 0 for x, y in corners)


def main():
    if len(sys.argv) != 4:
        sys.exit(f"match.py: {USAGE}")
    objects, scene = map(read_picture, sys.argv[1:3])
    with gpv.Context() as context:
        sift, match = gpv.Sift(context, max_features=FEATURES), gpv.Match(context)
        device, colors = context.device_name, to_rgb(scene)
        query = run(lambda: sift(objects), path=sys.argv[1])
        train = sift(scene)
        pairs = match(query.descriptors, train.descriptors)
        homography = gpv.find_homography(context, query.points[pairs["query"]],
                                         train.points[pairs["train"]])
        inliers, corners = int(homography.inliers.sum()), corners_of(objects)
        found = inliers >= MIN_INLIERS and is_seen(homography, corners)
        if found:
            places = homography.transform(corners)
            match.draw(colors, places, LINE_WIDTH, ORANGE)
    print("  object    scene  matches  inliers")
    print("%8d %8d %8d %8d" % (len(query.keypoints), len(train.keypoints), len(pairs), inliers))
    if found:
        print("homography")
        for row in homography.matrix:
            print("%12.5g %12.5g %12.5g" % tuple(row))
        print("      corner        x        y")
        for name, place in zip(("top left", "top right", "bottom right", "bottom left"), places):
            print("%12s %8.2f %8.2f" % (name, *place))
        write_picture(sys.argv[3], colors)
    print(f"{size_of(scene)}, {'found' if found else 'not found'}, on {device}")
    return 0 if found else NOT_FOUND


if __name__ == "__main__":
    sys.exit(run(main))
