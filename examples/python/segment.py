#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Divides a picture into foreground and background by a minimum cut, as the element gpugraphcut
does. Of the background only the light stays, and half of that."""
import argparse
import re

import gpuvision as gpv
from common import read_picture, run, size_of, whole_number, write_picture

MAX_ITERATIONS = 100


def parse_rect(text):
    """A type of argparse."""
    if not re.fullmatch(r"[0-9]+(,[0-9]+){3}", text) or max(map(int, text.split(","))) >= 2**31:
        raise argparse.ArgumentTypeError(f"'{text}' must be X,Y,WIDTH,HEIGHT")
    return tuple(map(int, text.split(",")))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     usage="%(prog)s [option ...] iterations source target")
    parser.add_argument("--seeds", help="PGM: 0 is background, 1 or 255 foreground, 2 probably "
                        "background, 3 probably foreground, 128 unknown")
    parser.add_argument("--rect", type=parse_rect, help="X,Y,WIDTH,HEIGHT: outside is background")
    parser.add_argument("--mask", action="store_true", help="write the mask, not the picture")
    parser.add_argument("iterations", type=whole_number(MAX_ITERATIONS), help="1 to 100")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target")
    args = parser.parse_args()
    picture = read_picture(args.source)
    seeds = read_picture(args.seeds) if args.seeds else None
    with gpv.Context() as context:
        # The certificate is found.cut, which proves that no cut costs less.
        segment = gpv.Segment(context, iterations=args.iterations, certificate=True)
        found = segment(picture, seeds=seeds, rect=args.rect, mask=args.mask, dst=not args.mask)
        device = context.device_name
    print("        flow          cut     area  optimal")
    print(f"{found.flow:12} {found.cut:12} {found.area:8}  {'yes' if found.optimal else 'no'}")
    write_picture(args.target, found.mask if args.mask else found.image)
    print(f"{size_of(picture)}, {found.area} of the foreground, on {device}")


if __name__ == "__main__":
    run(main)
