#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds an object in a scene, which are two pictures: matches the keypoints of both, looks for the
homography that most of the matches agree with, and draws where it takes the edges of the object."""
import ctypes as c
import sys

from common import RGB8, Context, buffer_of, gpv, read_picture, to_rgb, wrap, write_picture
from sift import LENGTH, Keypoint, SiftParams, SiftResult

FEATURES = 4000  # of a picture, the strongest
LEAST_INLIERS = 15  # of false pairs alone up to 9 agree by chance, of thousands more
LINE_WIDTH = 5  # pixels
ORANGE = 0xff4000  # 0xRRGGBB
NOT_FOUND = 2  # exit status
USAGE = ("usage: match.py OBJECT SCENE OUT.ppm (binary PGM or PPM of 8 bits; exits with 2, and writes "
         "nothing, if the object is not found)")


class MatchParams(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("ratio", c.c_float), ("mutual", c.c_uint32),
                ("reserved", c.c_uint32)]


class Pair(c.Structure):
    _fields_ = [("query", c.c_int32), ("train", c.c_int32), ("distance", c.c_int32),
                ("second", c.c_int32)]


class MatchResult(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("count", c.c_int32), ("dropped", c.c_int32),
                ("queries", c.c_int32)]


class Homography(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("found", c.c_uint32), ("matrix", c.c_double * 9),
                ("error", c.c_double), ("inliers", c.c_int32), ("iterations", c.c_int32)]


def describe(context, operator, image):
    """The keypoints, their descriptors, and how many of both there are."""
    keypoints, descriptors = (Keypoint * FEATURES)(), (c.c_uint8 * LENGTH * FEATURES)()
    result = SiftResult()
    gpv.gpv_sift_result_init(c.byref(result), c.sizeof(result))
    context.check(gpv.gpv_sift_run(operator, None, c.byref(image), None,
                                   c.byref(buffer_of(keypoints)), 0,
                                   c.byref(buffer_of(descriptors)), None))
    context.check(gpv.gpv_sift_wait(operator, c.byref(result)))
    return keypoints, descriptors, result.count


def find_pairs(context, operator, query, query_count, train, train_count):
    """(index, index) of descriptors that match."""
    pairs, result = (Pair * FEATURES)(), MatchResult()
    gpv.gpv_match_result_init(c.byref(result), c.sizeof(result))
    context.check(gpv.gpv_match_run(operator, None, c.byref(buffer_of(query)), query_count, None,
                                    c.byref(buffer_of(train)), train_count, None,
                                    c.byref(buffer_of(pairs)), None))
    context.check(gpv.gpv_match_wait(operator, c.byref(result)))
    return [(pair.query, pair.train) for pair in pairs[:result.count]]


def places(keypoints, indices):
    """x and y of each, one behind the other."""
    return (c.c_float * (2 * len(indices)))(*(number for i in indices
                                              for number in (keypoints[i].x, keypoints[i].y)))


def find(object_image, scene_image):
    """How many keypoints and matches there are, the homography, and what computed them."""
    sift_params, match_params, homography = SiftParams(), MatchParams(), Homography()
    gpv.gpv_sift_params_init(c.byref(sift_params), c.sizeof(sift_params))
    gpv.gpv_match_params_init(c.byref(match_params), c.sizeof(match_params))
    gpv.gpv_homography_init(c.byref(homography), c.sizeof(homography))
    sift_params.max_features = FEATURES
    with Context() as context:
        sift = context.create("sift", sift_params)
        match = context.create("match", match_params)
        queries, query, query_count = describe(context, sift, object_image)
        trains, train, train_count = describe(context, sift, scene_image)
        pairs = find_pairs(context, match, query, query_count, train, train_count)
        context.check(gpv.gpv_homography_find(
            context.handle, None, places(queries, [i for i, _ in pairs]),
            places(trains, [j for _, j in pairs]), len(pairs), None, c.byref(homography)))
        return (query_count, train_count, len(pairs)), homography, context.device_name()


def find_corners(m, width, height):
    """Where the corner pixels of the object are in the scene. None if one would be behind the camera:
    then the homography is not that of a picture that is seen."""
    corners = []
    for x, y in (0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1):
        w = m[6] * x + m[7] * y + m[8]
        if w <= 0:
            return None
        corners.append(((m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w))
    return corners


def draw(colors, width, height, corners):
    """The outline, in orange."""
    points = (c.c_float * 8)(*(number for corner in corners for number in corner))
    params = MatchParams()
    gpv.gpv_match_params_init(c.byref(params), c.sizeof(params))
    with Context() as context:
        context.check(gpv.gpv_match_draw(context.create("match", params), None,
                                         c.byref(wrap(colors, RGB8, width, height)), points, 4,
                                         c.c_float(LINE_WIDTH), ORANGE))


def read(path):
    """(pixels, format, width, height), and a view of them."""
    picture = read_picture(path)
    try:
        return picture, wrap(*picture)
    except ValueError as error:
        sys.exit(f"{path}: {error}")


def main():
    if len(sys.argv) != 4:
        sys.exit(f"match.py: {USAGE}")
    _, object_path, scene_path, target = sys.argv
    (_, _, object_width, object_height), object_image = read(object_path)
    (pixels, fmt, width, height), scene_image = read(scene_path)
    try:
        counts, homography, device = find(object_image, scene_image)
    except RuntimeError as error:
        sys.exit(f"{scene_path}: {error}")
    print("  object    scene  matches  inliers")
    print("%8d %8d %8d %8d" % (*counts, homography.inliers))
    corners = None
    if homography.inliers >= LEAST_INLIERS:
        corners = find_corners(homography.matrix, object_width, object_height)
    if corners:
        print("homography")
        for i in 0, 3, 6:
            print("%12.5g %12.5g %12.5g" % tuple(homography.matrix[i:i + 3]))
        print("      corner        x        y")
        for name, corner in zip(("top left", "top right", "bottom right", "bottom left"), corners):
            print("%12s %8.2f %8.2f" % (name, *corner))
        colors = to_rgb(pixels, fmt)
        draw(colors, width, height, corners)
        write_picture(target, colors, RGB8, width, height)
    print(f"{width} x {height} pixels, {'found' if corners else 'not found'}, on {device}")
    return 0 if corners else NOT_FOUND


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        sys.exit(str(error))
