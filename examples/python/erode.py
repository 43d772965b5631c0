#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Erodes a picture."""
import argparse

import gpuvision as gpv
from common import read_picture, run, size_of, whole_number, write_picture


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("radius", type=whole_number(255), help="0 to 255 pixels")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target")
    args = parser.parse_args()
    picture = read_picture(args.source)
    with gpv.Context() as context:
        erode = gpv.Erode(context, radius=args.radius)
        write_picture(args.target, erode(picture))
        print(f"{size_of(picture)}, radius {args.radius}, on {context.device_name}")


if __name__ == "__main__":
    run(main)
