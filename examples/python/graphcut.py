#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cuts the object in the middle of a picture out of its background, by minimum cuts of a graph as
Boykov and Jolly (2001) set it up. What the colours of both are is learned from round to round."""
import argparse
import ctypes as c
import math
import sys
import time
from array import array

from common import (GRAY8, RGB8, Context, gpv, read_picture, whole_number, wrap, write_picture)

LABEL32, CAP32X8 = 13, 15
ROUNDS = 8          # at most
UNIT = 100          # that stands for 1 of the energy
SMOOTHNESS = 25     # energy of a border between two pixels of the same colour
CERTAIN = 1 << 20   # what no border outweighs
STEPS = (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)


class GraphcutParams(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("certificate", c.c_uint32),
                ("time_limit", c.c_int32), ("reserved", c.c_uint32)]


class GraphcutResult(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("optimal", c.c_uint32), ("flow", c.c_int64),
                ("cut", c.c_int64), ("area", c.c_int64), ("refused", c.c_uint32),
                ("reserved", c.c_uint32)]


def neighbors(width, height, step):
    """(pixel, its neighbour) of all that have one."""
    dx, dy = step
    for y in range(max(0, -dy), height - max(0, dy)):
        for x in range(max(0, -dx), width - max(0, dx)):
            yield y * width + x, (y + dy) * width + x + dx


def links_of(colors, width, height):
    """A border costs less where the picture has an edge, and more if it is longer."""
    def difference(i, j):
        return sum((a - b) ** 2 for a, b in zip(colors[i], colors[j]))
    total = pairs = 0
    for step in STEPS[:4]:
        for i, j in neighbors(width, height, step):
            total, pairs = total + difference(i, j), pairs + 1
    usual = max(total, 1) / max(pairs, 1)
    links = array("i", bytes(4 * 8 * width * height))
    for plane, step in enumerate(STEPS):
        length = math.sqrt(abs(step[0]) + abs(step[1]))
        for i, j in neighbors(width, height, step):
            edge = math.exp(-difference(i, j) / (2 * usual))
            links[plane * width * height + i] = int(UNIT * SMOOTHNESS * edge / length)
    return bytearray(links)


def terminals_of(bins, mask, certain):
    """How much likelier a colour is in the object than in the background, by the pixels that are
    taken for either. What is certain is background."""
    of_object, of_background = [0] * 512, [0] * 512
    for color, side in zip(bins, mask):
        (of_object if side else of_background)[color] += 1
    objects, backgrounds = sum(of_object) + 1, sum(of_background) + 1
    terminals = array("i")
    for color, fixed in zip(bins, certain):
        likelier = ((of_object[color] + 1) / objects) / ((of_background[color] + 1) / backgrounds)
        terminals.append(-CERTAIN if fixed else int(UNIT * math.log(likelier)))
    return bytearray(terminals)


def graphcut(pixels, fmt, width, height, margin):
    """The mask, (flow, cut, area, milliseconds) of each round, and what computed them."""
    wrap(pixels, fmt, width, height)  # refuses what is no picture
    channels = 3 if fmt == RGB8 else 1
    colors = [tuple(pixels[i:i + channels]) for i in range(0, len(pixels), channels)]
    bins = [sum((level >> 5) << 3 * k for k, level in enumerate(color)) for color in colors]
    mx, my = 1 + width * margin // 100, 1 + height * margin // 100
    certain = [not (mx <= x < width - mx and my <= y < height - my)
               for y in range(height) for x in range(width)]
    mask, rounds = bytearray(0 if fixed else 255 for fixed in certain), []
    links = wrap(links_of(colors, width, height), CAP32X8, width, height)
    params, result = GraphcutParams(), GraphcutResult()
    gpv.gpv_graphcut_params_init(c.byref(params), c.sizeof(params))
    gpv.gpv_graphcut_result_init(c.byref(result), c.sizeof(result))
    params.certificate = 1
    with Context() as context:
        operator = context.create("graphcut", params)
        while len(rounds) < ROUNDS:
            before = bytes(mask)
            terminals = wrap(terminals_of(bins, mask, certain), LABEL32, width, height)
            start = time.perf_counter()
            context.check(gpv.gpv_graphcut_run(operator, None, c.byref(terminals), c.byref(links),
                                               c.byref(wrap(mask, GRAY8, width, height)), None))
            context.check(gpv.gpv_graphcut_wait(operator, c.byref(result)))
            rounds.append((result.flow, result.cut, result.area,
                           1000 * (time.perf_counter() - start)))
            if mask == before:
                break
        return mask, rounds, context.device_name()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("margin", type=whole_number(50),
                        help="per cent of each side that are background for certain, such as 8")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target", help="the same, with the background darkened")
    args = parser.parse_args()
    pixels, fmt, width, height = read_picture(args.source)
    try:
        mask, rounds, device = graphcut(pixels, fmt, width, height, args.margin)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"{args.source}: {error}")
    print("round         flow          cut     area  milliseconds")
    for number, (flow, cut, area, milliseconds) in enumerate(rounds, 1):
        print(f"{number:5} {flow:12} {cut:12} {area:8} {milliseconds:13.2f}")
    channels = 3 if fmt == RGB8 else 1
    for i, level in enumerate(pixels):
        if not mask[i // channels]:
            pixels[i] = level // 4
    write_picture(args.target, pixels, fmt, width, height)
    print(f"{width} x {height} pixels, {rounds[-1][2]} of the object, on {device}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
