#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reduces a picture to a few colours by k-means, and smooths their regions: each pixel gets one of the
colours, which costs more the further it is from the pixel's own, as borders do but along edges."""
import argparse

import numpy

import gpuvision as gpv
from common import read_picture, run, size_of, to_rgb, whole_number, write_picture

MAX_LABELS, MAX_SMOOTHNESS = 16, 100
STEPS = (1, 0), (1, 1), (0, 1), (-1, 1)  # to the neighbours E, SE, S and SW


def costs_of(pixels, centroids):
    """(clusters, height, width): squared distances of colours."""
    costs = [((pixels - colour) ** 2).sum(2) for colour in centroids.astype(float)]
    return numpy.rint(costs).astype(numpy.int32)


def links_of(pixels, weight):
    """(8, height, width): weight where neighbours look alike, less across an edge. Of the planes the
    first half counts."""
    height, width = pixels.shape[:2]
    padded = numpy.pad(pixels, ((0, 1), (1, 1), (0, 0)), "edge")
    differences = numpy.stack([((padded[dy:dy + height, 1 + dx:1 + dx + width] - pixels) ** 2).sum(2)
                               for dx, dy in STEPS])
    lengths = numpy.array([(dx * dx + dy * dy) ** 0.5 for dx, dy in STEPS])[:, None, None]
    alike = numpy.exp(-differences / max(2 * differences.mean(), 1))
    return numpy.tile(numpy.rint(weight * alike / lengths).astype(numpy.int32), (2, 1, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clusters", type=whole_number(MAX_LABELS), help="2 to 16")
    parser.add_argument("smoothness", type=whole_number(MAX_SMOOTHNESS), help="0 to 100: of borders, "
                        "in what a pixel's own colour costs in the mean")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target")
    args = parser.parse_args()
    picture = to_rgb(read_picture(args.source))
    pixels = picture.astype(float)
    with gpv.Context() as context:
        clusters = gpv.Kmeans(context, clusters=args.clusters)(picture)
        costs = costs_of(pixels, clusters.centroids)
        links = links_of(pixels, args.smoothness * costs.min(0).mean())
        found = gpv.Expansion(context)(costs, links)
        device = context.device_name
    write_picture(args.target, clusters.colors[found.labels])
    changed = numpy.count_nonzero(found.labels != costs.argmin(0))
    print(f"energy {found.start_energy} -> {found.energy} by {found.moves} moves, "
          f"{'which no other one lowers' if found.converged else 'after which others may lower it'}")
    print(f"{size_of(picture)}, {changed} in another colour than by k-means, on {device}")


if __name__ == "__main__":
    run(main)
