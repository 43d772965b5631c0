# SPDX-License-Identifier: BSD-2-Clause
"""The Python package gpuvision: the layout of its structs, and each of its operators on the CPU.

usage: python.py LAYOUT-FILE PAGE README BUILD-FOLDER
"""
import copy
import ctypes as c
import gc
import importlib.util
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
import typing
import unittest
import weakref
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "libgpuvision/bindings/python"
sys.path.insert(0, str(PACKAGE))
try:
    import numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import gpuvision as gpv  # noqa: E402
import page  # noqa: E402
from gpuvision import _abi, _library  # noqa: E402
from gpuvision.arrays import buffer_view, image_of, span  # noqa: E402
from gpuvision.operators import Call  # noqa: E402

LAYOUT, PAGE, README, BUILD = sys.argv[1:]
# Views are made of zeros, and the version is asked for before there is a recorder.
NOT_CALLED = {"gpv_image_wrap", "gpv_image_init", "gpv_buffer_init", "gpv_api_version"}
called = set()


class Recorder:
    """The library, and which of its functions are called."""

    def __init__(self, library):
        self.real = library

    def __getattr__(self, name):
        called.add(name)
        return getattr(self.real, name)


the_library = Recorder(_library.lib())
_library.lib = lambda: the_library


def tearDownModule():
    missing = set(_abi.FUNCTIONS) - called - NOT_CALLED
    assert not missing, f"no test here calls {sorted(missing)}"


class Layout(unittest.TestCase):
    """What ctypes makes of the structs is what the C compiler has confirmed."""

    def setUp(self):
        text = Path(LAYOUT).read_text()
        self.structs = dict(re.findall(r"^STRUCT\((\w+), (\d+)\);", text, re.M))
        places = re.findall(r"^FIELD\((\w+, \w+), (\d+), (\d+)\);", text, re.M)
        self.fields = {name: (int(offset), int(size)) for name, offset, size in places}

    def test_structs(self):
        structs, fields = {}, {}
        for struct in vars(_abi).values():
            if isinstance(struct, type) and issubclass(struct, c.Structure):
                name = struct.__doc__
                structs[name] = str(c.sizeof(struct))
                for field, _ in struct._fields_:
                    at = getattr(struct, field)
                    fields[f"{name}, {field}"] = at.offset, at.size
        self.assertEqual(structs, self.structs)
        self.assertEqual(fields, self.fields)

    def test_records(self):
        for dtype, name in ((gpv.KEYPOINT, "gpv_sift_keypoint"), (gpv.COMPONENT, "gpv_ccl_component"),
                            (gpv.PAIR, "gpv_match_pair"), (gpv.NEAREST, "gpv_match_nearest")):
            self.assertEqual(str(dtype.itemsize), self.structs[name])
            for field in dtype.names:
                self.assertEqual(dtype.fields[field][1], self.fields[f"{name}, {field}"][0])

    def test_fields(self):
        """The library describes every field of a struct of parameters, as ctypes sees it, and names the values
        of the enumerations as the headers do."""
        kinds = {gpv.FieldKind.INT32: c.c_int32, gpv.FieldKind.UINT64: c.c_uint64, gpv.FieldKind.FLOAT: c.c_float}
        without_enum = {"connectivity": {"4": 4, "8": 8}, "log_level": {"default": 0}}
        others = {"struct_size", "reserved", "log", "alloc", "free", "user"}
        for struct in vars(_abi).values():
            if not (isinstance(struct, type) and struct.__name__.endswith("Params")):
                continue
            stem = struct.__doc__[len("gpv_"):-len("_params")]
            fields = gpv.fields(stem)
            self.assertEqual([field.name for field in fields],
                             [name for name, _ in struct._fields_ if name not in others])
            for field in fields:
                if field.kind == gpv.FieldKind.CHOICE:
                    name = field.name.title().replace("_", "")
                    enum = getattr(_abi, stem.title() + name, None) or getattr(_abi, name, ())
                    names = {one.name.lower().replace("_", "-"): one.value for one in enum}
                    self.assertEqual({one.name: one.value for one in field.choices},
                                     names | without_enum.get(field.name, {}))
                else:
                    self.assertIs(kinds.get(field.kind, c.c_uint32), dict(struct._fields_)[field.name])
            keywords = getattr(gpv._params, struct.__name__, None)
            if keywords:
                flags = {name for name, kind in typing.get_type_hints(keywords).items() if kind is bool}
                self.assertEqual({field.name for field in fields if field.kind == gpv.FieldKind.BOOL}, flags)
        with self.assertRaisesRegex(ValueError, "erosion"):
            gpv.fields("erosion")
        self.assertEqual(gpv.fields("erode")[0].choices[1], ("dilate", "Maximum under the element", 1))

    def test_a_kind_of_a_newer_library(self):
        def describe(stem, index, raw, size):
            status = self.describe(stem, index, raw, size)
            if raw.name == b"radius":
                raw.kind = 99
            return status

        self.describe, before = the_library.gpv_params_describe, gpv.fields("erode")
        with mock.patch.object(the_library, "gpv_params_describe", describe, create=True):
            self.assertEqual(gpv.fields("erode"), [field for field in before if field.name != "radius"])
            self.assertNotIn("radius: ", gpv.Erode.__doc__)
            self.assertIn("radius_y: ", gpv.Erode.__doc__)
        self.assertEqual(gpv.fields("erode"), before)

    def test_help(self):
        for operator in (gpv.Erode, gpv.Ccl, gpv.Kmeans, gpv.Sift, gpv.Match, gpv.Graphcut, gpv.Segment):
            for field in gpv.fields(operator._stem):
                self.assertRegex(operator.__doc__, rf"\n    {field.name}_?: ")
        self.assertIn("    radius: 0 to 255 pixels; default 1. Half size", gpv.Erode.__doc__)
        self.assertIn("    metric: l2, l1; default l2. Distance", gpv.Kmeans.__doc__)
        self.assertIn("    warm_start: False or True; default False. Whether", gpv.Kmeans.__doc__)
        self.assertIn("    seed: 0 to 18446744073709551615; default 0. Seed", gpv.Kmeans.__doc__)
        with mock.patch.object(_library, "lib", side_effect=gpv.LibraryNotFound):
            self.assertNotIn("radius", gpv.Erode.__doc__)


def view_of(picture, device=0):
    image = image_of(picture)
    return image.view("src", [span(plane, 0) for plane in image.planes], device)


def squares():
    """Two squares, of 4 x 4 and 8 x 8."""
    picture = numpy.zeros((24, 32), numpy.uint8)
    picture[2:6, 3:7] = 200
    picture[10:18, 20:28] = 100
    return picture


def noise(*shape, seed=1):
    return numpy.random.default_rng(seed).integers(0, 256, shape, numpy.uint8)


def blobs():
    """Smooth spots at random places: many keypoints."""
    y, x = numpy.mgrid[:160, :200]
    random = numpy.random.default_rng(7)
    picture = numpy.full((160, 200), 20.0)
    for at_x, at_y, size in zip(random.uniform(10, 190, 40), random.uniform(10, 150, 40),
                                random.uniform(2, 6, 40)):
        picture += 120 * numpy.exp(-((x - at_x)**2 + (y - at_y)**2) / (2 * size * size))
    return picture.clip(0, 255).astype(numpy.uint8)


class OnCpu(unittest.TestCase):
    def setUp(self):
        self.context = gpv.Context("cpu")
        self.addCleanup(self.context.close)


class Operators(OnCpu):
    def test_erode(self):
        spot = numpy.zeros((5, 7), numpy.uint8)
        spot[2, 3] = 9
        dilated = gpv.Erode(self.context, operation="dilate", shape="cross")(spot)
        self.assertEqual(numpy.argwhere(dilated == 9).tolist(),
                         [[1, 3], [2, 2], [2, 3], [2, 4], [3, 3]])
        erode = gpv.Erode(self.context)
        self.assertTrue((erode(dilated) == 0).all())
        self.assertIs(erode(spot, spot), spot)
        self.assertTrue((spot == 0).all())
        erode.set(operation=gpv.ErodeOperation.DILATE, radius=2)
        self.assertEqual(erode.params["radius"], 2)
        self.assertIs(erode.params["operation"], gpv.ErodeOperation.DILATE)

    def test_a_refused_parameter_changes_nothing(self):
        erode = gpv.Erode(self.context, radius=2)
        before = erode.params
        with self.assertRaisesRegex(gpv.InvalidArgument, "radius is 256, must be 0..255"):
            erode.set(radius=256, iterations=3)
        self.assertEqual(erode.params, before)
        picture = noise(20, 20)
        self.assertTrue((erode(picture) == gpv.Erode(self.context, radius=2)(picture)).all())

    def test_ccl(self):
        found = gpv.Ccl(self.context)(squares())
        self.assertEqual(found.count, 2)
        boxes = [[r[name] for name in ("left", "top", "right", "bottom", "area")]
                 for r in found.records]
        self.assertEqual(boxes, [[3, 2, 7, 6, 16], [20, 10, 28, 18, 64]])
        self.assertEqual(found.centroids.tolist(), [[4.5, 3.5], [23.5, 13.5]])
        self.assertEqual(found.image.dtype, numpy.int32)
        self.assertTrue(((found.image > 0) == (squares() > 0)).all())
        self.assertIsNone(gpv.Ccl(self.context)(squares(), dst=False).image)
        self.assertEqual(gpv.Ccl(self.context, output="colors")(squares()).image.shape, (24, 32, 3))
        masked = gpv.Ccl(self.context, output="mask", min_area=17)(squares())
        self.assertEqual((masked.count, int((masked.image == 255).sum())), (1, 64))

    def test_ccl_with_more_components_than_room(self):
        dots = numpy.zeros((40, 40), numpy.uint8)
        dots[::2, ::2] = 1
        found = gpv.Ccl(self.context)(dots, room=3)
        self.assertEqual((found.count, len(found.records), found.image.max()), (400, 400, 400))
        wide = numpy.zeros((600, 600), numpy.uint8)
        wide[::2, ::2] = 1
        with self.assertRaises(gpv.TooSmall):  # labels of 16 bits, whatever the records
            gpv.Ccl(self.context)(wide, dst=numpy.zeros(wide.shape, numpy.uint16))
        ccl, records = gpv.Ccl(self.context), numpy.zeros(3, gpv.COMPONENT)
        ccl.run(dots, components=records)
        with self.assertRaises(gpv.TooSmall) as raised:
            ccl.wait()
        self.assertEqual((raised.exception.result.count, raised.exception.status),
                         (400, gpv.Status.ERR_TOO_SMALL))
        self.assertEqual(records["left"].tolist(), [0, 2, 4])

    def test_kmeans(self):
        picture = numpy.zeros((10, 20, 3), numpy.uint8)
        picture[:, :5] = 255, 0, 10
        found = gpv.Kmeans(self.context, clusters=2)(picture)
        red = int(found.colors[1][0] == 255)
        self.assertEqual(found.colors.tolist()[red], [255, 0, 10])
        self.assertEqual(found.counts[red], 50)
        self.assertEqual((found.clusters, found.converged, found.inertia), (2, True, 0))
        self.assertTrue(((found.labels == red) == (picture[..., 0] == 255)).all())
        self.assertTrue((found.image == picture).all())
        self.assertEqual(gpv.kmeans_color(0, found.centroids[red]), 0xff000a)

        kmeans = gpv.Kmeans(self.context, clusters=2, init="given")
        kmeans.set_centroids([[250, 0, 0], [0, 0, 0]])
        self.assertEqual(kmeans(picture, dst=False).counts.tolist(), [50, 150])
        with self.assertRaisesRegex(gpv.InvalidArgument, "256"):
            kmeans.set_centroids([[256, 0, 0], [0, 0, 0]])
        with self.assertRaisesRegex(ValueError, "shape"):
            kmeans.set_centroids([1, 2, 3])

    def test_sift(self):
        y, x = numpy.mgrid[:80, :80]
        spot = (255 * numpy.exp(-((x - 41)**2 + (y - 37)**2) / 50)).astype(numpy.uint8)
        found = gpv.Sift(self.context)(spot)
        self.assertLess(numpy.abs(found.points[0] - [41, 37]).max(), 0.1)
        self.assertEqual(found.descriptors.shape, (len(found.keypoints), 128))
        self.assertEqual(found.descriptors.dtype, numpy.uint8)

        sift = gpv.Sift(self.context, max_features=10, descriptor_type="f32")
        strongest = sift(blobs())
        self.assertEqual(len(strongest.keypoints), 10)
        self.assertGreater(strongest.dropped, 0)
        lengths = numpy.linalg.norm(strongest.descriptors, axis=1)
        self.assertTrue(numpy.allclose(lengths, 1, atol=1e-5))
        again = sift.describe(blobs(), strongest.keypoints)
        self.assertEqual(again.shape, (10, 128))
        self.assertIsNone(sift(blobs(), descriptors=False).descriptors)
        drawn = numpy.zeros((160, 200, 3), numpy.uint8)
        sift.draw(drawn, "points", 0x102030)
        self.assertEqual({tuple(pixel) for pixel in drawn.reshape(-1, 3).tolist()},
                         {(0, 0, 0), (0x10, 0x20, 0x30)})
        mask = numpy.zeros((160, 200), numpy.uint8)
        mask[:, :50] = 1
        self.assertLessEqual(gpv.Sift(self.context)(blobs(), mask).points[:, 0].max(), 49.5)

    def test_sift_makes_room_for_all(self):
        sift = gpv.Sift(self.context)
        want = sift(blobs())
        with mock.patch("gpuvision.sift._ROOM", 7):
            found = sift(blobs())
        self.assertGreater(len(want.keypoints), 7)
        self.assertEqual(found.dropped, 0)
        self.assertTrue((found.keypoints == want.keypoints).all())
        self.assertTrue((found.descriptors == want.descriptors).all())

    def test_match(self):
        sift, match = gpv.Sift(self.context), gpv.Match(self.context)
        found = sift(blobs())
        pairs = match(found.descriptors, found.descriptors)
        self.assertGreater(len(pairs), 10)
        self.assertTrue((pairs["query"] == pairs["train"]).all() and (pairs["distance"] == 0).all())
        nearest = numpy.zeros(len(found.descriptors), gpv.NEAREST)
        match.run(found.descriptors, found.descriptors, nearest=nearest)
        self.assertEqual(match.wait().queries, len(found.descriptors))
        self.assertTrue((nearest["distance"][:, 0] == 0).all())
        self.assertEqual(len(match(found.descriptors[:0], found.descriptors)), 0)
        with self.assertRaisesRegex(ValueError, r"\(count, 128\)"):
            match(found.descriptors[:, :64], found.descriptors)
        drawn = numpy.zeros((20, 30), numpy.uint8)
        match.draw(drawn, [(2, 2), (20, 2), (20, 12)], width=1, color=0xffffff)
        self.assertEqual(drawn[2, 2:21].tolist(), [255] * 19)

    def test_homography(self):
        random = numpy.random.default_rng(3)
        source = random.uniform(0, 500, (60, 2))
        target = source + [30, -12]
        target[:20] = random.uniform(0, 500, (20, 2))
        found = gpv.find_homography(self.context, source, target, threshold=1)
        self.assertTrue(numpy.allclose(found.matrix, [[1, 0, 30], [0, 1, -12], [0, 0, 1]], atol=1e-3))
        self.assertEqual(found.inliers.tolist(), [False] * 20 + [True] * 40)
        self.assertTrue(numpy.allclose(found.transform([[1, 2]]), [[31, -10]], atol=1e-3))
        self.assertIsNone(gpv.find_homography(self.context, source[:3], target[:3]).matrix)
        with self.assertRaisesRegex(gpv.InvalidArgument, "threshold"):
            gpv.find_homography(self.context, source, target, threshold=-1)

    def test_graphcut(self):
        # Two pixels, one held by the source and one by the sink, and a border that costs 3.
        terminals = numpy.array([[10, -10]], numpy.int32)
        links = numpy.zeros((4, 1, 2), numpy.int32)
        links[0, 0, 0], links[2, 0, 1] = 3, 7
        graphcut = gpv.Graphcut(self.context, certificate=True)
        found = graphcut(terminals, links)
        self.assertEqual((found.flow, found.cut, found.area, found.optimal), (3, 3, 1, True))
        self.assertEqual(found.mask.tolist(), [[255, 0]])
        self.assertIsNone(gpv.Graphcut(self.context)(terminals, links).cut)
        links[0, 0, 0] = -1
        with self.assertRaisesRegex(gpv.InvalidArgument, r"plane 0 of links is -1 at \(0, 0\)"):
            graphcut(terminals, links)
        with self.assertRaisesRegex(ValueError, r"\(4 or 8, height, width\)"):
            graphcut(terminals, links[:3])

    def test_expansion(self):
        # Four pixels in a row, of which the second would have another label, but for a dear border.
        costs = numpy.array([[[0, 5, 0, 9]], [[4, 3, 9, 9]], [[9, 9, 9, 1]]], numpy.int32)
        links = numpy.full((4, 1, 4), -1, numpy.int32)
        links[0] = 4
        links[1:2] = 0
        expansion = gpv.Expansion(self.context)
        expansion.prepare(links, len(costs))
        found = expansion(costs, links)
        self.assertEqual(found.labels.tolist(), [[0, 0, 0, 2]])
        self.assertEqual((found.start_energy, found.energy, found.moves, found.converged), (16, 10, 1, True))
        costs[1, 0, 2] = 1 << 29
        with self.assertRaisesRegex(gpv.InvalidArgument, r"costs\[1\] is 536870912 at \(2, 0\)"):
            expansion(costs, links)
        with self.assertRaisesRegex(gpv.InvalidArgument, "count is 1, must be 2..16"):
            expansion(costs[:1], links)
        with self.assertRaisesRegex(gpv.InvalidArgument, r"costs\[1\] is 3x1, must be as links, 4x1"):
            expansion([costs[0], costs[1, :, 1:]], links)

    def test_segment(self):
        picture = squares()
        wanted = numpy.where(picture > 0, 255, 0).astype(numpy.uint8)
        seeds = wanted.copy()
        seeds[0, 0] = 2  # probably background
        found = gpv.Segment(self.context)(picture, seeds=seeds, dst=True)
        self.assertTrue((found.mask == wanted).all())
        self.assertEqual(found.area, 80)
        self.assertTrue((found.image[wanted == 255] == picture[wanted == 255]).all())
        segment = gpv.Segment(self.context, output="cutout", lambda_=0.5, warm_start="adapt")
        self.assertEqual(segment.params["lambda_"], 0.5)
        found = segment(picture, rect=(18, 8, 12, 12), dst=True)
        self.assertEqual(found.image.shape, (24, 32, 4))
        self.assertEqual(found.area, 64)
        self.assertTrue(segment.learned())
        segment.forget()
        self.assertFalse(segment.learned())
        with self.assertRaisesRegex(gpv.InvalidArgument, "rect"):
            segment(picture, rect=(0, 0, 33, 3))

    def test_query_and_set(self):
        for kind, params in ((gpv.Erode, {"radius": 2}), (gpv.Ccl, {"connectivity": 4}),
                             (gpv.Kmeans, {"clusters": 3}), (gpv.Sift, {"octaves": 2}),
                             (gpv.Match, {"mutual": 0}), (gpv.Segment, {"iterations": 2}),
                             (gpv.Graphcut, {"max_time_us": 5}), (gpv.Expansion, {"cycles": 2})):
            with kind(self.context) as operator:
                before = operator.params
                operator.set(**params)
                self.assertEqual(operator.params, {**before, **params})
                self.assertEqual(kind(self.context, **params).params, operator.params)
                self.assertIs(operator.query(), True)
                operator.wait()

    def test_prepare(self):
        picture, labels = noise(30, 40, 3), numpy.zeros((30, 40), numpy.uint8)
        gpv.Erode(self.context).prepare(picture)
        gpv.Ccl(self.context).prepare(picture, numpy.zeros((30, 40), numpy.int32), 10)
        gpv.Kmeans(self.context).prepare(picture, labels, picture)
        gpv.Sift(self.context).prepare(picture, labels, 100)
        gpv.Match(self.context).prepare(query_count=100, train_count=200)
        gpv.Segment(self.context).prepare(picture, seeds=labels, mask=labels, dst=picture)
        gpv.Graphcut(self.context).prepare(numpy.zeros((8, 30, 40), numpy.int32))
        with self.assertRaisesRegex(gpv.Unsupported, "GRAYF32"):
            gpv.Erode(self.context).prepare(numpy.zeros((30, 40), numpy.float32))


class Pictures(OnCpu):
    """What arrays become, and what is refused."""

    #: Of 4 x 2 pixels, whose left half has one colour and the right half another: capital letters are
    #: samples of the left one, and . of none.
    LAYOUTS = (
        (("rgb8", (2, 4, 3), "RGBRGBrgbrgb" * 2),
         ("argb8", (2, 4, 4), ".RGB.RGB.rgb.rgb" * 2),
         ("abgr8", (2, 4, 4), ".BGR.BGR.bgr.bgr" * 2),
         ("xrgb8", (2, 4, 4), ".RGB.RGB.rgb.rgb" * 2),
         ("xbgr8", (2, 4, 4), ".BGR.BGR.bgr.bgr" * 2),
         ("rgbp8", (3, 2, 4), "RRrrRRrrGGggGGggBBbbBBbb")),
        (("nv12", (3, 4), "YYyyYYyyUVuv"),
         ("nv21", (3, 4), "YYyyYYyyVUvu"),
         ("yuy2", (2, 4, 2), "YUYVyuyv" * 2),
         ("uyvy", (2, 4, 2), "UYVYuyvy" * 2),
         ("y444", (3, 2, 4), "YYyyYYyyUUuuUUuuVVvvVVvv"),
         ("p016", (3, 4), "YYyyYYyyUVuv")),
        (("gray8", (2, 4), "YYyyYYyy"),
         ("gray16", (2, 4), "YYyyYYyy")))

    def setUp(self):
        super().setUp()
        self.erode = gpv.Erode(self.context, radius=1)

    def test_strides(self):
        """Through a view, as through a copy without gaps."""
        big, out = noise(40, 60), noise(40, 60, seed=2)
        before, part = out.copy(), big[3:20, 7:41]
        self.erode(part, out[5:22, 1:35])
        self.assertTrue((out[5:22, 1:35] == self.erode(part.copy())).all())
        before[5:22, 1:35] = out[5:22, 1:35]
        self.assertTrue((out == before).all(), "written beside the view")
        rgb = noise(30, 50, 3)
        self.assertTrue((self.erode(rgb[2:20, 5:30]) ==
                         self.erode(rgb[2:20, 5:30].copy())).all())
        one = noise(1, 9)
        self.assertTrue((self.erode(one[::-1]) == self.erode(one)).all(), "one row has no direction")

    def test_types(self):
        wide = (noise(9, 11).astype(numpy.uint16) << 8) + noise(9, 11, seed=2)
        self.assertEqual(self.erode(wide).dtype, numpy.uint16)
        channel = noise(9, 11, 1)
        self.assertTrue((self.erode(channel)[..., 0] == self.erode(channel[..., 0])).all())
        bgr = gpv.Image(noise(9, 11, 3), "bgr8")
        self.assertIs(self.erode(bgr).format, gpv.Format.BGR8)
        self.assertTrue((self.erode(bgr).planes[0] == self.erode(bgr.planes[0])).all())
        self.assertIs(gpv.Image(noise(9, 11, 4)).format, gpv.Format.RGBA8)

    def test_yuv(self):
        whole = noise(18, 8)
        nv12 = gpv.Image(whole, "nv12", color_matrix="bt709", color_range="full")
        self.assertEqual((nv12.width, nv12.height), (8, 12))
        view = view_of(nv12)
        self.assertEqual(view.data[1] - view.data[0], 12 * 8)
        self.assertEqual((view.color_matrix, view.color_range), (2, 2))
        eroded = self.erode(nv12)
        self.assertTrue((eroded.planes[0] == self.erode(whole[:12])).all())
        self.assertTrue((eroded.planes[1] == whole[12:]).all(), "chroma is copied")
        i420 = gpv.Image(whole, "i420")
        self.assertEqual([plane.shape for plane in i420.planes], [(12, 8), (6, 4), (6, 4)])
        self.assertTrue((self.erode(i420).planes[2] == whole[15:].reshape(6, 4)).all())
        odd = gpv.Image([noise(5, 7), noise(3, 4, 2)], "nv12")
        self.assertTrue((self.erode(odd).planes[0] == self.erode(odd.planes[0])).all())
        for shape in (17, 8), (18, 7):
            with self.assertRaisesRegex(ValueError, "pass the planes"):
                gpv.Image(noise(*shape), "nv12")
        with self.assertRaisesRegex(ValueError, "3 rows of 12 bytes: YUY2 of 5 x 3"):
            self.erode(gpv.Image(noise(3, 5, 2), "yuy2"))

    def test_layouts(self):
        """What is of one group has the same pixels."""
        levels = dict(zip("RGBrgbYUVyuv.", (200, 40, 90, 20, 180, 120, 150, 100, 170, 60, 140, 110, 7)))
        kmeans = gpv.Kmeans(self.context, clusters=2)
        for group in self.LAYOUTS:
            same = []
            for name, shape, letters in group:
                samples = numpy.array([levels[letter] for letter in letters], numpy.uint8).reshape(shape)
                if name in ("p016", "gray16"):
                    samples = samples * numpy.uint16(256 if name == "p016" else 257)
                picture = gpv.Image(samples, name)
                self.assertEqual((picture.width, picture.height), (4, 2), name)
                found = kmeans(picture)
                self.assertEqual(found.inertia, 0, name)
                for plane, want in zip(found.image.planes, picture.planes):
                    self.assertTrue((plane == want).all(), name)
                same.append((found.labels.tolist(), found.centroids.tolist()))
                self.assertEqual(same[-1], same[0], name)

    def test_refused(self):
        good = noise(8, 8)
        readonly = noise(8, 8)
        readonly.flags.writeable = False
        for picture, why in ((good[:, ::2], "contiguous"), (good[::-1], "contiguous"),
                             (good.T[:4], "contiguous"), (noise(8, 8, 3).transpose(1, 0, 2), "contiguous"),
                             (noise(8, 8, 2), "no picture"), (noise(8), "no picture"),
                             (good.astype(float), "float64")):
            with self.assertRaisesRegex(ValueError, why):
                self.erode(picture)
        with self.assertRaisesRegex(ValueError, "dst is read-only"):
            self.erode(good, readonly)
        for picture in [good], 3, None:
            with self.assertRaises(TypeError):
                self.erode(picture)
        with self.assertRaisesRegex(ValueError, "NV12 has 2 planes, here are 1"):
            gpv.Image([good], "nv12")
        wide = good.astype(">u2")
        for picture, fmt, why in ((noise(12, 10)[:, :8], "i420", "gaps between its rows"),
                                  (noise(8), "gray8", r"shape \(8,\)"), (noise(3, 8, 1), "nv12", "3 \\* height"),
                                  ([], None, "one plane at least"), (wide, "gray16", "byte order"),
                                  ([good, noise(8)], "nv12", r"shape \(8,\)")):
            with self.assertRaisesRegex(ValueError, why):
                gpv.Image(picture, fmt)
        with self.assertRaisesRegex(TypeError, "mask"):
            self.erode(numpy.ma.masked_array(good))
        with self.assertRaisesRegex(ValueError, "room is 0, must be 1 or more"):
            gpv.Ccl(self.context)(good, room=0)
        with self.assertRaisesRegex(ValueError, "plane 1 of src has the shape"):
            self.erode(gpv.Image([good, noise(3, 8)], "nv12"))
        with self.assertRaisesRegex(ValueError, "RGB8 is of uint8"):
            gpv.Image(noise(8, 8, 3).astype(numpy.int32), "rgb8")
        with self.assertRaisesRegex(ValueError, "plane 0 of src"):
            self.erode(gpv.Image(noise(8, 8, 4), "rgb8"))
        with self.assertRaisesRegex(ValueError, "no Format: none, gray8"):
            gpv.Image(good, "gray")
        with self.assertRaisesRegex(gpv.InvalidArgument, "src->width is 0, must be 1..32767"):
            self.erode(numpy.zeros((8, 0), numpy.uint8))
        with self.assertRaisesRegex(gpv.InvalidArgument, "dst"):
            self.erode(good, noise(8, 9))
        with self.assertRaisesRegex(gpv.InvalidArgument, "overlap"):
            self.erode(good[:6], good[2:])

    def test_buffers(self):
        records = numpy.zeros((5, 6), numpy.float32)
        view = buffer_view("keypoints", span(records))
        self.assertEqual((view.data, view.size), (records.ctypes.data, 120))
        for bad in records[:, :4], records[::2]:
            with self.assertRaisesRegex(ValueError, "keypoints has gaps"):
                buffer_view("keypoints", span(bad))
        self.assertEqual(buffer_view("query", span(numpy.empty((0, 128), numpy.uint8))).size, 0)

    def test_buffers_of_other_types(self):
        """What NumPy makes of numbers is of 8 bytes: they would be read as two of 4."""
        picture = noise(20, 20, 3)
        kmeans, ccl = gpv.Kmeans(self.context, clusters=4), gpv.Ccl(self.context)
        sift = gpv.Sift(self.context)
        records = numpy.zeros(9, gpv.KEYPOINT)
        for call, why in (
                (lambda: kmeans.run(picture, centroids=numpy.zeros((4, 3))), "centroids .*float64, must be of float32"),
                (lambda: kmeans.run(picture, counts=numpy.zeros(4, int)), "counts .*int64, must be of int32"),
                (lambda: ccl.run(picture, components=numpy.zeros((9, 5))), "components .*float64, must be of records of 40"),
                (lambda: ccl.run(picture, count=numpy.zeros(1)), "count .*must be of int32"),
                (lambda: sift.run(picture, keypoints=records.astype(gpv.KEYPOINT.newbyteorder())),
                 "keypoints .*must be of records of 24"),
                (lambda: sift.run(picture, keypoints=records, descriptors=numpy.zeros((9, 128), "f4")),
                 "descriptors .*float32, must be of uint8"),
                (lambda: sift.describe(picture, numpy.zeros((10, 6))), "keypoints .*float64"),
                (lambda: gpv.Match(self.context)(numpy.zeros((3, 128)), noise(3, 128)),
                 "query .*float64, must be of uint8")):
            with self.assertRaisesRegex(TypeError, why):
                call()
        with self.assertRaisesRegex(ValueError, "1 bytes more than 3 records"):
            sift.describe(picture, numpy.zeros(73, numpy.uint8))
        self.assertEqual(sift.describe(picture, records[:0]).shape, (0, 128))
        centroids = numpy.zeros((4, 3), numpy.float32)
        kmeans.run(picture, centroids=centroids)
        kmeans.wait()
        self.assertTrue(centroids.any())


class OfCuda:
    """What an array in CUDA memory shows of itself, at an address that nobody looks at."""

    def __init__(self, stream=None, strides=None, pointer=1 << 20):
        self.shape, self.dtype = (16, 32), numpy.dtype(numpy.uint8)
        self.__cuda_array_interface__ = {"shape": self.shape, "typestr": "|u1", "version": 3,
                                         "data": (pointer, False), "strides": strides,
                                         "stream": stream}


class OfDlpack:
    """One that has DLPack alone."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.streams = array, array.shape, array.dtype, []

    def __dlpack_device__(self):
        return 2, 3  # CUDA, and which

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__()


class DeviceArrays(OnCpu):
    """Their protocols; on a GPU they are tested by python_cuda.py."""

    def test_cuda_array_interface(self):
        view = view_of(OfCuda(strides=(64, 1)), device=5)
        self.assertEqual((view.memory, view.device, view.data[0], view.stride[0]),
                         (gpv.Memory.CUDA, 5, 1 << 20, 64))
        self.assertEqual(view_of(OfCuda()).stride[0], 32)
        self.assertEqual([span(OfCuda(stream)).stream for stream in (None, 1, 2, 99)],
                         [None, 0, 2, 99])
        erode = gpv.Erode(self.context)
        with self.assertRaisesRegex(gpv.Unsupported, "src"):
            erode(OfCuda(), OfCuda(pointer=1 << 21))
        with self.assertRaisesRegex(TypeError, "pass the arrays for the results"):
            erode(OfCuda())
        with self.assertRaisesRegex(ValueError, "different memory"):
            view_of(gpv.Image([OfCuda(), noise(8, 32)], "nv12"))

    def test_dlpack(self):
        array = OfDlpack(noise(40, 60)[3:20, 7:41])
        self.assertIsNone(span(array), "it has to know the stream")
        found = span(array, 0)
        self.assertEqual((found.pointer, found.shape, found.strides, found.device),
                         (array.array.ctypes.data, (17, 34), (60, 1), 3))
        span(array, 77)
        self.assertEqual(array.streams, [1, 77], "1 is the default stream of that protocol")
        wide = OfDlpack(noise(6, 4).astype(numpy.int32))
        self.assertEqual(span(wide, 0).strides, (16, 4))
        view = view_of(array)
        self.assertEqual((view.memory, view.device, view.width, view.height), (1, 3, 34, 17))

    def test_frames_of_a_decoder(self):
        """As PyNvVideoCodec has them: DLPack without slices, and planes without a dtype."""
        class Frame:
            def __init__(self, array, device, dtype):
                self.array, self.device, self.shape, self.dtype = array, device, array.shape, dtype

            def __dlpack_device__(self):
                return self.device

            def __dlpack__(self, stream=0):
                return self.array.__dlpack__()

        class Plane:
            def __init__(self, shape, pointer, typestr="|u1"):
                self.shape = shape
                self.__cuda_array_interface__ = {
                    "version": 3, "shape": shape, "strides": [64 * shape[2], shape[2], 1],
                    "typestr": typestr, "stream": 1, "data": (pointer, False), "gpuIdx": 0}

        pixels = noise(18, 70)[:, 3:67]
        nv12 = gpv.Image(Frame(pixels, (2, 3), "|u1"), "nv12")
        view = view_of(gpv.Image(pixels, "nv12"))
        planes = [span(plane, 0) for plane in nv12.planes]
        self.assertEqual([span(plane) for plane in nv12.planes], [None, None])
        found = nv12.view("src", planes)
        self.assertEqual((found.memory, found.device, found.width, found.height),
                         (gpv.Memory.CUDA, 3, 64, 12))
        self.assertEqual([*found.data][:2] + [*found.stride][:2], [*view.data][:2] + [*view.stride][:2])
        erode = gpv.Erode(self.context)
        with self.assertRaisesRegex(gpv.Unsupported, "src"):
            erode(nv12, nv12)
        with self.assertRaisesRegex(TypeError, r"makes no arrays like a .*\.Frame: pass the arrays"):
            erode(nv12)
        in_host = gpv.Image(Frame(pixels, (1, 0), "|u1"), "nv12")
        want = erode(gpv.Image(pixels, "nv12"))
        for got in erode(in_host), erode(in_host, want.empty()):
            for mine, plane in zip(got.planes, want.planes):
                self.assertTrue((mine == plane).all())
        self.assertTrue((erode(Frame(noise(4, 6, 3), (1, 0), "|u1")) == erode(noise(4, 6, 3))).all())
        deep = gpv.Image(Frame(pixels.astype(numpy.uint16), (1, 0), "<u2"), "p016")
        self.assertEqual([plane.dtype for plane in deep.planes], ["uint16", "uint16"])
        with self.assertRaisesRegex(ValueError, "is of uint8, this array of uint16"):
            gpv.Image(deep.planes[0], "gray8")

        listed = gpv.Image([Plane([12, 64, 1], 1 << 20), Plane([6, 32, 2], 1 << 21)], "nv12")
        found = listed.view("src", [span(plane) for plane in listed.planes])
        self.assertEqual([*found.data][:2] + [*found.stride][:2], [1 << 20, 1 << 21, 64, 128])
        self.assertEqual(image_of(Plane([12, 64, 1], 1 << 20)).format, gpv.Format.GRAY8)
        with self.assertRaisesRegex(TypeError, "components is an array of uint16"):
            gpv.Ccl(self.context).run(noise(4, 4), components=Plane([1, 20, 1], 1 << 20, "<u2"))

    def test_what_is_kept(self):
        """Until a run is over its arrays live, but for those in CUDA memory that streams give back."""
        calls = []
        self.context.call_all = lambda listed: calls.append(listed) or 0
        erode = gpv.Erode.__new__(gpv.Erode)
        erode.context, erode._handle, erode._kept = self.context, c.c_void_p(8), []
        erode._lock = threading.RLock()

        def enqueue(make):
            arrays = [make(), make()]
            alive = weakref.ref(arrays[0])
            erode._enqueue(Call(self.context, None, *arrays), "run")
            return alive

        class InHost(OfDlpack):
            def __dlpack_device__(self):
                return 1, 0
        in_host, unordered = enqueue(lambda: InHost(noise(4, 4))), enqueue(OfCuda)
        ordered = [enqueue(lambda: OfCuda(7)) for _ in range(3)]
        gc.collect()
        self.assertTrue(unordered(), "another run has taken its array away")
        self.assertEqual([alive() is not None for alive in ordered], [False, False, True])
        self.assertEqual(len(erode._kept), 3)
        erode._wait()
        gc.collect()
        self.assertEqual((erode._kept, unordered(), ordered[2](), in_host()), ([], None, None, None))

        last = enqueue(OfCuda)
        del self.context.call_all
        with self.context._lock, mock.patch("gpuvision._library.lib"):
            erode.close()  # while a thread is inside
            gc.collect()
            self.assertTrue(last(), "it is freed later than its arrays")
        self.context._orphans.clear()

    def test_a_failed_run_is_kept(self):
        def fail(listed):
            raise error
        erode = gpv.Erode(self.context)
        with mock.patch.object(self.context, "call_all", fail):
            for error, kept in ((gpv.InvalidArgument(-1), 0), (gpv.Unsupported(-2), 0),
                                (gpv.DeviceError(-5), 1), (KeyboardInterrupt(), 2)):
                with self.assertRaises(type(error)):
                    erode.run(noise(4, 4), noise(4, 4))
                self.assertEqual(len(erode._kept), kept)
        erode.wait()
        self.assertEqual(erode._kept, [])

    def test_dlpack_in_host_memory(self):
        class Host(OfDlpack):
            def __dlpack_device__(self):
                return 1, 0
        picture = noise(9, 11)
        erode = gpv.Erode(self.context)
        self.assertTrue((erode(Host(picture)) == erode(picture)).all())

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_torch_in_host_memory(self):
        import torch
        picture, erode = noise(40, 60, 3), gpv.Erode(self.context)
        want, tensor = erode(picture), torch.from_numpy(picture.copy())
        got = erode(tensor)
        self.assertIsInstance(got, torch.Tensor)
        self.assertTrue((got.numpy() == want).all())
        self.assertIs(erode(tensor, tensor), tensor)
        back = torch.from_dlpack(want)
        self.assertTrue(torch.equal(back, tensor))
        self.assertEqual(back.data_ptr(), want.ctypes.data)

    def test_streams(self):
        class Pointer:
            ptr = 40

        class Protocol:
            def __cuda_stream__(self):
                return 0, 50
        calls, erode = [], gpv.Erode(self.context)
        self.context.call_all = lambda listed: calls.extend(
            (name.split("_")[-1], *arguments[1:3]) for name, arguments in listed)
        for stream, arrays, want in (
                (None, [OfCuda(7), OfCuda(7)], [("run", 7)]),
                (None, [OfCuda(), OfCuda(9)], [("run", 9)]),
                (None, [OfCuda(), OfCuda()], [("run", 0)]),
                (None, [OfCuda(7), OfCuda(9)], [("follow", 7, 9), ("run", 7), ("follow", 9, 7)]),
                (Pointer(), [OfCuda(7), OfCuda(7)], [("follow", 40, 7), ("run", 40), ("follow", 7, 40)]),
                (Protocol(), [OfCuda()], [("run", 50)]), (60, [], [("run", 60)])):
            calls.clear()
            erode._enqueue(Call(self.context, stream, *arrays), "run")
            self.assertEqual([call[:3 if call[0] == "follow" else 2] for call in calls], want)
        del self.context.call_all
        with self.assertRaisesRegex(TypeError, "__cuda_stream__"):
            gpv.Erode(self.context)(noise(4, 4), stream="7")


class Contexts(unittest.TestCase):
    def test_names(self):
        with gpv.Context("cpu") as context:
            self.assertIs(context.backend, gpv.Backend.CPU)
            self.assertIn("CPU", context.device_name)
            self.assertIn(context.device_name, repr(context))
            context.sync()
            context.follow(0, 0)
        self.assertIn("closed", repr(context))
        self.assertRegex(gpv.version_string(), r"^\d+\.\d+\.\d+ .*\(cpu")
        self.assertTrue(gpv.backend_available("cpu"))

    def test_closed(self):
        context = gpv.Context("cpu")
        first, second = gpv.Erode(context), gpv.Erode(context)
        with first:
            pass
        with self.assertRaisesRegex(ValueError, "the Erode is closed"):
            first(noise(4, 4))
        context.close()
        context.close()
        for call in lambda: second(noise(4, 4)), second.wait, lambda: second.set(radius=1):
            with self.assertRaisesRegex(ValueError, "the Erode is closed"):
                call()
        with self.assertRaisesRegex(ValueError, "the context is closed"):
            gpv.Erode(context)

    def test_garbage(self):
        context = gpv.Context("cpu")
        for _ in range(10):
            gpv.Kmeans(context)(noise(20, 20))
        erode = gpv.Erode(context)
        with context._lock:  # a thread is inside
            del erode
            gc.collect()
            self.assertEqual(len(context._orphans), 1)
        context.sync()
        self.assertEqual((len(context._orphans), len(context.operators)), (0, 0))

    def test_log(self):
        lines = []
        with gpv.Context("cpu", log=lambda level, text: lines.append((level, text)),
                         log_level="debug") as context:
            with self.assertRaises(gpv.InvalidArgument):
                gpv.Erode(context, radius=-1)
        self.assertTrue(any(level is gpv.LogLevel.ERROR and "radius" in text
                            for level, text in lines), lines)

    def test_log_that_calls_back(self):
        said = []

        def log(level, text):
            try:
                context.sync()
            except RuntimeError as error:
                said.append(str(error))
        with gpv.Context("cpu", log=log) as context:
            with self.assertRaises(gpv.InvalidArgument):
                gpv.Erode(context, radius=-1)
        self.assertEqual(said, ["a log callback must not call back into its context"])

    def test_errors_travel(self):
        with gpv.Context("cpu") as context, self.assertRaises(gpv.InvalidArgument) as raised:
            gpv.Erode(context, radius=-1)
        for error in copy.copy(raised.exception), pickle.loads(pickle.dumps(raised.exception)):
            self.assertEqual((type(error), str(error), error.status),
                             (gpv.InvalidArgument, str(raised.exception),
                              gpv.Status.ERR_INVALID_ARGUMENT))

    def test_no_device(self):
        with self.assertRaises((gpv.NoDevice, gpv.Unsupported, gpv.InvalidArgument)) as raised:
            gpv.Context("cuda", device=4096)
        self.assertGreater(len(str(raised.exception)), 20)
        with self.assertRaisesRegex(ValueError, "no Backend: auto, cpu, cuda"):
            gpv.Context("gpu")
        with self.assertRaisesRegex(gpv.InvalidArgument, r"params->threads is -1, must be 0\.\."):
            gpv.Context("cpu", threads=-1)
        with mock.patch("sys.unraisablehook") as hook:
            with self.assertRaises(TypeError):
                gpv.Context(color=1)
            gc.collect()
        hook.assert_not_called()

    def test_threads(self):
        picture = noise(200, 300)
        wrong = []
        with gpv.Context("cpu") as shared:
            want = gpv.Erode(shared, radius=3)(picture)

            def work(context):
                erode = gpv.Erode(context, radius=3)
                for _ in range(20):
                    if not (erode(picture) == want).all():
                        wrong.append(context)
            self.in_threads(work, [shared, shared, gpv.Context("cpu"), gpv.Context("cpu")])
        self.assertEqual(wrong, [])

    def in_threads(self, work, arguments):
        def guarded(argument):
            try:
                work(argument)
            except BaseException as error:  # of a thread nobody would hear
                failures.append(error)
        failures = []
        threads = [threading.Thread(target=guarded, args=[argument]) for argument in arguments]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_one_operator_in_threads(self):
        """Each call finds what is in its own picture."""
        def work(count):
            dots = numpy.zeros((60, 60), numpy.uint8)
            dots.flat[:2 * count:2] = 1
            for _ in range(200):
                found = ccl(dots, dst=False)
                if (found.count, len(found.records)) != (count, count):
                    wrong.append((found.count, count))
        wrong = []
        with gpv.Context("cpu") as context:
            ccl = gpv.Ccl(context)
            self.in_threads(work, [1, 7, 20, 28])
        self.assertEqual(wrong, [])

    def test_parameters(self):
        with gpv.Context("cpu") as context:
            for params, kind, why in (
                    ({"size": 1}, TypeError, "no parameter 'size': operation, shape, radius"),
                    ({"struct_size": 4}, TypeError, "no parameter"),
                    ({"radius": 2**32 + 1}, ValueError, "radius is 4294967297"),
                    ({"radius": numpy.int64(2**32 + 3)}, ValueError, "radius is 4294967299"),
                    ({"radius": "1"}, TypeError, "radius is '1'"),
                    ({"radius": 1.5}, TypeError, "radius is 1.5, must be a whole number"),
                    ({"shape": gpv.ErodeOperation.OPEN}, TypeError, "is no ErodeShape"),
                    ({"shape": "disc"}, ValueError, "'disc' is no ErodeShape: rect, cross, ellipse"),
                    ({"shape": 7}, ValueError, "7 is not a valid ErodeShape")):
                with self.assertRaisesRegex(kind, why):
                    gpv.Erode(context, **params)
            self.assertIn("radius=3", repr(gpv.Erode(context, radius=3)))
            self.assertIn("ratio=0.8,", repr(gpv.Match(context)))
            self.assertEqual(gpv.Erode(context, radius=numpy.int64(3)).params["radius"], 3)

    def test_numbers_that_do_not_fit(self):
        big, picture, descriptors = 2**32 + 5, noise(8, 8), noise(3, 128)
        with gpv.Context("cpu") as context:
            sift, match = gpv.Sift(context), gpv.Match(context)
            for call in (lambda: gpv.Ccl(context).prepare(picture, None, big),
                         lambda: sift.prepare(picture, None, big),
                         lambda: match.prepare(big, 1), lambda: match.prepare(1, big),
                         lambda: match.draw(picture, [(1, 1), (2, 2)], color=1 << 32),
                         lambda: sift.draw(picture, color=-1),
                         lambda: gpv.Segment(context)(picture, rect=(big, 0, 1, 1)),
                         lambda: gpv.Context("cpu", device=big),
                         lambda: gpv.kmeans_color(7, [1, 2, 3])):
                with self.assertRaises(ValueError):
                    call()
            with self.assertRaisesRegex(TypeError, "color is .*, must be a whole number"):
                match.draw(picture, [(1, 1), (2, 2)], color=(255, 0, 0))
            self.assertEqual(len(match(descriptors, descriptors)), 3)
            self.assertEqual(gpv.kmeans_color(color_space="lab", centroid=[0, 128, 128]), 0)
            with self.assertRaisesRegex(ValueError, "3 numbers, not 2"):
                gpv.kmeans_color("rgb", [1, 2])


class Library(unittest.TestCase):
    def check(self, name, why):
        code = "import gpuvision\ntry:\n    gpuvision.Context()\nexcept OSError as e:\n    print(e)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(PACKAGE),
                                   "GPUVISION_LIBRARY": name})
        self.assertIn(why, done.stdout, done.stderr)

    def test_not_found(self):
        self.check("libnowhere.so", "libnowhere.so not found: install it")

    def test_another(self):
        self.check("libm.so.6", "libm.so.6 is no libgpuvision")


class Documentation(unittest.TestCase):
    @unittest.skipUnless(shutil.which("meson"), "there is no meson")
    def test_devenv(self):
        done = subprocess.run(["meson", "devenv", "-C", BUILD, sys.executable, "-c", "import gpuvision"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_blocks(self):
        programs = page.blocks(PAGE, "python") + page.blocks(README, "python")
        for number, (line, text) in enumerate(programs):
            with self.subTest(line=line):
                done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                                      env={**os.environ, "PYTHONPATH": str(PACKAGE)})
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                if number == 0:
                    page.check_said(line, done.stdout)


unittest.main(argv=sys.argv[:1])
