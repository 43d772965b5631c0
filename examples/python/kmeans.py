#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reduces a picture to a few colours, and lists them."""
import argparse
import ctypes as c
import sys

from common import Context, buffer_of, gpv, read_picture, whole_number, wrap, write_picture

RGB = 0
MAX_CLUSTERS = 256


class KmeansParams(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("clusters", c.c_int32), ("max_clusters", c.c_int32),
                ("max_iterations", c.c_int32), ("tolerance", c.c_float), ("metric", c.c_uint32),
                ("start", c.c_uint32), ("space", c.c_uint32), ("seed", c.c_uint64),
                ("warm_start", c.c_uint32), ("reserved", c.c_uint32)]


class KmeansResult(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("clusters", c.c_int32), ("iterations", c.c_int32),
                ("empty", c.c_int32), ("converged", c.c_uint32), ("reserved", c.c_uint32),
                ("inertia", c.c_double)]


gpv.gpv_kmeans_color.restype = c.c_uint32


def kmeans(pixels, fmt, width, height, clusters):
    """Recolours a bytearray in place. Gives (colour, pixels) of each cluster, how many iterations
    that took, and what computed them."""
    image, params, result = wrap(pixels, fmt, width, height), KmeansParams(), KmeansResult()
    centroids, counts = (c.c_float * 3 * MAX_CLUSTERS)(), (c.c_int32 * MAX_CLUSTERS)()
    gpv.gpv_kmeans_params_init(c.byref(params), c.sizeof(params))
    gpv.gpv_kmeans_result_init(c.byref(result), c.sizeof(result))
    params.clusters = clusters
    with Context() as context:
        operator = context.create("kmeans", params)
        context.check(gpv.gpv_kmeans_run(operator, None, c.byref(image), None, c.byref(image),
                                         c.byref(buffer_of(centroids)), c.byref(buffer_of(counts)),
                                         None))
        context.check(gpv.gpv_kmeans_wait(operator, c.byref(result)))
        found = [(gpv.gpv_kmeans_color(RGB, centroid), count)
                 for centroid, count in zip(centroids, counts)]
        return found[:result.clusters], result.iterations, context.device_name()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clusters", type=whole_number(MAX_CLUSTERS), help="2 to 256; 0 chooses")
    parser.add_argument("source", help="binary PGM or PPM of 8 bits")
    parser.add_argument("target")
    args = parser.parse_args()
    pixels, fmt, width, height = read_picture(args.source)
    try:
        clusters, iterations, device = kmeans(pixels, fmt, width, height, args.clusters)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"{args.source}: {error}")
    print("cluster  colour    pixels    share")
    for number, (color, count) in enumerate(clusters):
        print(f"{number:7}  #{color:06x} {count:8}  {100 * count / (width * height):5.1f} %")
    write_picture(args.target, pixels, fmt, width, height)
    print(f"{width} x {height} pixels, {len(clusters)} clusters after {iterations} iterations, "
          f"on {device}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
