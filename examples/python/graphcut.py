#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cuts the object in the middle of a picture out of its background, by minimum cuts of a graph as
Boykov and Jolly (2001) set it up. What the colours of both are is learned in iterations. The graph
is made here; segment.py leaves that to gpv.Segment, as the element gpugraphcut does."""
import argparse
import math
import time

import numpy

import gpuvision as gpv
from common import read_picture, run, size_of, whole_number, write_picture

MAX_ITERATIONS = 8
UNIT = 100          # that stands for 1 of the energy
SMOOTHNESS = 25     # energy of a border between two pixels of the same colour
CERTAIN = 1 << 20   # what no border outweighs
STEPS = (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)


def here(array, dx, dy):
    """The pixels of which the neighbour at (dx, dy) is in the picture."""
    height, width = array.shape[:2]
    return array[max(0, -dy):height - max(0, dy), max(0, -dx):width - max(0, dx)]


def differences(colors, dx, dy):
    """Of each pixel that has a neighbour there: the squared distance of their colours."""
    return ((here(colors, dx, dy) - here(colors, -dx, -dy))**2).sum(2)


def links_of(picture):
    """(8, height, width) of int32. A border costs less where the picture has an edge, and more if it
    is longer."""
    colors = numpy.atleast_3d(picture).astype(int)
    forward = [differences(colors, *step) for step in STEPS[:4]]
    total, pairs = (sum(map(measure, forward)) for measure in (numpy.sum, numpy.size))
    usual = max(int(total), 1) / max(pairs, 1)
    links = numpy.zeros((len(STEPS), *picture.shape[:2]), numpy.int32)
    for plane, step in zip(links, STEPS):
        length = math.sqrt(abs(step[0]) + abs(step[1]))
        values, which = numpy.unique(differences(colors, *step), return_inverse=True)
        capacity = [int(UNIT * SMOOTHNESS * math.exp(-value / (2 * usual)) / length)
                    for value in values.tolist()]
        where = here(plane, *step)
        where[...] = numpy.array(capacity, numpy.int32)[which].reshape(where.shape)
    return links


def terminals_of(bins, mask, certain):
    """(height, width) of int32: how much likelier a colour is in the object than in the background,
    by the pixels that are taken for either. What is certain is background."""
    objects, backgrounds = (numpy.bincount(bins[side], minlength=512).tolist()
                            for side in (mask > 0, mask == 0))
    all_objects, all_backgrounds = sum(objects) + 1, sum(backgrounds) + 1
    likelier = [int(UNIT * math.log(((a + 1) / all_objects) / ((b + 1) / all_backgrounds)))
                for a, b in zip(objects, backgrounds)]
    return numpy.where(certain, -CERTAIN, numpy.array(likelier)[bins]).astype(numpy.int32)


def start(picture, margin):
    """The bin of each pixel's colour, and whether a pixel is background for certain."""
    bins = sum((numpy.atleast_3d(picture)[..., k] >> 5).astype(int) << 3 * k
               for k in range(numpy.atleast_3d(picture).shape[2]))
    height, width = bins.shape
    mx, my = 1 + width * margin // 100, 1 + height * margin // 100
    certain = numpy.ones(bins.shape, bool)
    certain[my:max(my, height - my), mx:max(mx, width - mx)] = False
    return bins, certain


def cut_out(picture, margin):
    """The mask, (flow, cut, area, milliseconds) of each iteration, and what computed them."""
    bins, certain = start(picture, margin)
    mask, iterations = numpy.where(certain, 0, 255).astype(numpy.uint8), []
    with gpv.Context() as context:
        graphcut = gpv.Graphcut(context, certificate=True)
        graphcut.prepare(numpy.zeros((len(STEPS), *bins.shape), numpy.int32))
        links = links_of(picture)
        while len(iterations) < MAX_ITERATIONS:
            before, terminals = mask.copy(), terminals_of(bins, mask, certain)
            begin = time.perf_counter()
            found = graphcut(terminals, links, mask)
            iterations.append((found.flow, found.cut, found.area, 1000 * (time.perf_counter() - begin)))
            if (mask == before).all():
                break
        return mask, iterations, context.device_name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("margin", type=whole_number(50),
                        help="per cent of each side that are background for certain, such as 8")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target", help="the same, with the background darkened")
    args = parser.parse_args()
    picture = read_picture(args.source)
    mask, iterations, device = cut_out(picture, args.margin)
    print("iteration         flow          cut     area  milliseconds")
    for number, (flow, cut, area, milliseconds) in enumerate(iterations, 1):
        print(f"{number:9} {flow:12} {cut:12} {area:8} {milliseconds:13.2f}")
    picture[mask == 0] //= 4
    write_picture(args.target, picture)
    print(f"{size_of(picture)}, {iterations[-1][2]} of the object, on {device}")


if __name__ == "__main__":
    run(main)
