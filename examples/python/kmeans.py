#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reduces a picture to a few colours, and lists them."""
import argparse

import gpuvision as gpv
from common import read_picture, run, size_of, whole_number, write_picture

MAX_CLUSTERS = 256


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clusters", type=whole_number(MAX_CLUSTERS), help="2 to 256; 0 chooses")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target")
    args = parser.parse_args()
    picture = read_picture(args.source)
    with gpv.Context() as context:
        found = gpv.Kmeans(context, clusters=args.clusters)(picture, labels=False)
        device = context.device_name
    print("cluster  colour    pixels    share")
    for number, (color, count) in enumerate(zip(found.colors, found.counts)):
        share = 100 * count / (picture.shape[0] * picture.shape[1])
        print(f"{number:7}  #{color.tobytes().hex()} {count:8}  {share:5.1f} %")
    write_picture(args.target, found.image)
    print(f"{size_of(picture)}, {found.clusters} clusters after {found.iterations} iterations, "
          f"on {device}")


if __name__ == "__main__":
    run(main)
