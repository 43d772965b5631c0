#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds the keypoints of a picture, lists them, and draws each as a circle with its orientation."""
import argparse

import gpuvision as gpv
from common import read_picture, run, size_of, to_rgb, whole_number, write_picture

MAX_FEATURES = 1000000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=whole_number(MAX_FEATURES),
                        help="so many of the strongest; 0 = all")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target", help="PPM")
    args = parser.parse_args()
    picture = read_picture(args.source)
    colors = to_rgb(picture)
    with gpv.Context() as context:
        sift = gpv.Sift(context, max_features=args.features)
        keypoints = sift(picture, descriptors=False).keypoints
        sift.draw(colors, "rich", 0xff4000)
        device = context.device_name
    print("       x        y   sigma  angle  response")
    for k in keypoints:
        print(f"{k['x']:8.2f} {k['y']:8.2f} {k['sigma']:7.2f} {k['angle']:6.1f} {k['response']:9.4f}")
    write_picture(args.target, colors)
    print(f"{size_of(picture)}, {len(keypoints)} keypoints, on {device}")


if __name__ == "__main__":
    run(main)
