# SPDX-License-Identifier: BSD-2-Clause
"""The Python package gpuvision on arrays in CUDA memory: those of CuPy, PyTorch and, through DLPack,
JAX; and frames that PyNvVideoCodec decodes of GPV_TEST_CLIP. What it finds there is what it finds on the CPU;
nothing is copied, and streams are respected.

Skips where there is no GPU, or no CuPy or PyTorch.
"""
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "libgpuvision/bindings/python"))
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
try:
    import cupy
    import numpy
    import torch
    if not cupy.cuda.is_available():
        raise ImportError("there is no CUDA device")
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
try:
    import jax.numpy
except ImportError as error:
    jax = None
    print(f"JAX is left out: {error}")
try:
    import PyNvVideoCodec
except (ImportError, RuntimeError) as error:  # there is no such package, or no decoder
    PyNvVideoCodec = None
    print(f"PyNvVideoCodec is left out: {error}")
import gpuvision as gpv  # noqa: E402

# Begins to write when so many clocks of the GPU are over.
late_copy = cupy.RawKernel(r"""extern "C" __global__
void late_copy(const unsigned char *from, unsigned char *to, int count, long long ticks) {
    const long long start = clock64();
    while (clock64() - start < ticks) {}
    for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}""", "late_copy")
A_WHILE = 200_000_000  # 0.1 s


def photograph():
    """A smooth picture in colour with edges, of 240 x 320."""
    y, x = numpy.mgrid[:240, :320]
    random = numpy.random.default_rng(7)
    picture = numpy.zeros((240, 320, 3))
    for _ in range(60):
        at_x, at_y, size = random.uniform(0, 320), random.uniform(0, 240), random.uniform(3, 30)
        color, inside = random.uniform(-90, 90, 3), (x - at_x)**2 + (y - at_y)**2 < size * size
        picture += color * inside[..., None]
        picture += color * numpy.exp(-((x - at_x)**2 + (y - at_y)**2) / (size * size))[..., None]
    return (128 + picture).clip(0, 255).astype(numpy.uint8)


def host(array):
    return array.cpu().numpy() if isinstance(array, torch.Tensor) else cupy.asnumpy(array)


LIBRARIES = {"CuPy": cupy.asarray, "PyTorch": lambda array: torch.from_numpy(array.copy()).cuda()}


class OnCuda(unittest.TestCase):
    def setUp(self):
        self.cpu, self.cuda = gpv.Context("cpu"), gpv.Context("cuda")
        self.addCleanup(self.cpu.close)
        self.addCleanup(self.cuda.close)
        self.color = photograph()
        self.gray = numpy.ascontiguousarray(self.color[..., 1])

    def each(self, check):
        """check(to_device) for each library."""
        for name, to_device in LIBRARIES.items():
            with self.subTest(name):
                check(to_device)

    def assert_equal(self, got, want):
        self.assertTrue((host(got) == want).all())

    def assert_like(self, got, source):
        """Of the same library, in the memory of the same device."""
        self.assertIs(type(got), type(source))
        self.assertEqual(str(got.device), str(source.device))


class Results(OnCuda):
    def test_erode(self):
        params = {"radius": 3, "shape": "ellipse"}
        want = gpv.Erode(self.cpu, **params)(self.color)

        def check(to_device):
            erode, src = gpv.Erode(self.cuda, **params), to_device(self.color)
            got = erode(src)
            self.assert_like(got, src)
            self.assert_equal(got, want)
            dst = to_device(numpy.zeros_like(self.color))
            self.assertIs(erode(src, dst), dst)
            self.assert_equal(dst, want)
            self.assertIs(erode(src, src), src)
            self.assert_equal(src, want)
            wide = to_device(numpy.zeros((240, 400, 3), numpy.uint8))
            wide[:, 40:360] = to_device(self.color)
            self.assert_equal(erode(wide[:, 40:360], wide[:, 40:360]), want)
            with self.assertRaisesRegex(gpv.Unsupported, "src"):
                gpv.Erode(self.cpu)(src)
        self.each(check)

    def test_nv12(self):
        rows = numpy.ascontiguousarray(self.gray[:, :256])
        want = gpv.Erode(self.cpu)(gpv.Image(rows, "nv12"))

        def check(to_device):
            got = gpv.Erode(self.cuda)(gpv.Image(to_device(rows), "nv12"))
            for mine, plane in zip(got.planes, want.planes):
                self.assert_equal(mine, plane)
        self.each(check)

    def test_ccl(self):
        want = gpv.Ccl(self.cpu, threshold=128)(self.gray)

        def check(to_device):
            ccl, src = gpv.Ccl(self.cuda, threshold=128), to_device(self.gray)
            got = ccl(src)
            self.assert_like(got.image, src)
            self.assert_equal(got.image, want.image)
            self.assertTrue((got.records == want.records).all())
            records = to_device(numpy.zeros((want.count, 10), numpy.int32))
            count = to_device(numpy.zeros(1, numpy.int32))
            ccl.run(src, components=records, count=count)
            self.assertEqual(ccl.wait().count, want.count)
            self.assertTrue((host(records).view(gpv.COMPONENT)[:, 0] == want.records).all())
            self.assert_equal(count, want.count)
        self.each(check)

    def test_kmeans(self):
        want = gpv.Kmeans(self.cpu, clusters=5)(self.color)

        def check(to_device):
            kmeans, src = gpv.Kmeans(self.cuda, clusters=5), to_device(self.color)
            got = kmeans(src)
            self.assert_like(got.labels, src)
            self.assert_equal(got.labels, want.labels)
            self.assert_equal(got.image, want.image)
            self.assertTrue((got.centroids == want.centroids).all())
            self.assertEqual((got.iterations, got.inertia), (want.iterations, want.inertia))
            centroids = to_device(numpy.zeros((5, 3), numpy.float32))
            kmeans.run(src, centroids=centroids)
            kmeans.wait()
            self.assert_equal(centroids, want.centroids)
        self.each(check)

    def test_sift_and_match(self):
        sift_on_cpu = gpv.Sift(self.cpu)
        want = sift_on_cpu(self.color)
        pairs = gpv.Match(self.cpu)(want.descriptors[::2].copy(), want.descriptors)
        self.assertGreater(len(pairs), 20)

        def check(to_device):
            sift, match, src = gpv.Sift(self.cuda), gpv.Match(self.cuda), to_device(self.color)
            got = sift(src)
            self.assertTrue((got.keypoints == want.keypoints).all())
            self.assertTrue((got.descriptors == want.descriptors).all())
            room = len(want.keypoints) + 50
            keypoints = to_device(numpy.zeros((room, 6), numpy.float32))
            descriptors = to_device(numpy.zeros((room, 128), numpy.uint8))
            found, matched = (to_device(numpy.zeros(4, numpy.int32)) for _ in range(2))
            records = to_device(numpy.zeros((room, 4), numpy.int32))
            # All on the device, and one wait at the end.
            sift.run(src, keypoints=keypoints, descriptors=descriptors, result=found)
            match.run(to_device(want.descriptors[::2].copy()), descriptors, pairs=records,
                      result=matched)
            self.assertEqual(match.wait().count, len(pairs))
            self.assert_equal(found[1], len(want.keypoints))
            self.assertTrue((host(records)[:len(pairs)].copy().view(gpv.PAIR)[:, 0] == pairs).all())
            again = sift.describe(src, keypoints[:len(want.keypoints)])
            self.assert_like(again, src)
            self.assertEqual(tuple(again.shape), (len(want.keypoints), 128))
            sift.run(src, keypoints=keypoints)
            drawn, alike = to_device(self.color), self.color.copy()
            sift.draw(drawn)
            sift_on_cpu(self.color)
            sift_on_cpu.draw(alike)
            self.assert_equal(drawn, alike)
        self.each(check)

    def test_segment_and_graphcut(self):
        want = gpv.Segment(self.cpu, iterations=2, certificate=True)(
            self.color, rect=(40, 30, 240, 180), dst=True)
        random = numpy.random.default_rng(5)
        terminals = random.integers(-100, 100, (60, 70), numpy.int32)
        links = random.integers(0, 50, (8, 60, 70), numpy.int32)
        cut = gpv.Graphcut(self.cpu, certificate=True)(terminals, links)

        def check(to_device):
            src = to_device(self.color)
            got = gpv.Segment(self.cuda, iterations=2, certificate=True)(
                src, rect=(40, 30, 240, 180), dst=True)
            self.assert_like(got.mask, src)
            self.assert_equal(got.mask, want.mask)
            self.assert_equal(got.image, want.image)
            self.assertEqual((got.flow, got.cut, got.area), (want.flow, want.cut, want.area))
            mine = gpv.Graphcut(self.cuda, certificate=True)(to_device(terminals), to_device(links))
            self.assert_equal(mine.mask, cut.mask)
            self.assertEqual((mine.flow, mine.cut), (cut.flow, cut.flow))
        self.each(check)

    def test_host_memory(self):
        want = gpv.Kmeans(self.cpu, clusters=3)(self.color)
        got = gpv.Kmeans(self.cuda, clusters=3)(self.color)
        self.assertTrue((got.image == want.image).all())
        tensor = torch.from_numpy(self.color)
        eroded = gpv.Erode(self.cuda)(tensor, torch.empty_like(tensor))
        self.assertTrue((eroded.numpy() == gpv.Erode(self.cpu)(self.color)).all())

    @unittest.skipUnless(jax, "JAX is not installed")
    def test_jax(self):
        src = jax.numpy.asarray(self.color)
        dst = cupy.empty_like(cupy.asarray(self.color))
        erode = gpv.Erode(self.cuda)
        self.assert_equal(erode(src, dst), gpv.Erode(self.cpu)(self.color))
        with self.assertRaisesRegex(TypeError, "pass the arrays for the results"):
            erode(src)

    def test_current_context(self):
        torch.zeros(1).cuda()
        with gpv.Context("cuda", device="current") as context:
            src = LIBRARIES["PyTorch"](self.color)
            self.assert_equal(gpv.Erode(context)(src), gpv.Erode(self.cpu)(self.color))


@unittest.skipUnless(PyNvVideoCodec, "PyNvVideoCodec is not installed, or finds no decoder")
@unittest.skipUnless(os.environ.get("GPV_TEST_CLIP"), "GPV_TEST_CLIP names no video")
class Decoder(OnCuda):
    """Frames of PyNvVideoCodec, beside what the CPU makes of them. A frame is looked at before the next one
    is decoded."""

    def decoded(self, count=4, **options):
        """(frame, the same pixels in host memory)"""
        decoder = PyNvVideoCodec.SimpleDecoder(os.environ["GPV_TEST_CLIP"], **options)
        for number in range(count):
            frame = decoder[number]
            yield frame, torch.from_dlpack(frame).cpu().numpy().copy()

    def test_nothing_is_copied(self):
        for frame, pixels in self.decoded(1):
            address = frame.GetPtrToPlane(0)
            self.assertEqual(torch.from_dlpack(frame).data_ptr(), address)
            image = gpv.Image(frame, "nv12")
            view = image.view("src", [gpv.arrays.span(plane, 0) for plane in image.planes])
            self.assertEqual((view.memory, view.data[0], view.data[1]),
                             (gpv.Memory.CUDA, address, address + view.stride[0] * view.height))
            planes = gpv.Image(frame.cuda(), "nv12")
            listed = planes.view("src", [gpv.arrays.span(plane) for plane in planes.planes])
            self.assertEqual([*listed.data][:2] + [*listed.stride][:2], [*view.data][:2] + [*view.stride][:2])
            self.assertEqual((view.width, 3 * view.height), (pixels.shape[1], 2 * pixels.shape[0]))

    def test_nv12(self):
        params = {"threshold": 128, "min_area": 20}
        on_cpu, on_cuda = ([gpv.Ccl(context, **params), gpv.Sift(context, max_features=300),
                            gpv.Erode(context, radius=3)] for context in (self.cpu, self.cuda))
        for frame, pixels in self.decoded():
            want = gpv.Image(pixels, "nv12")
            for got in gpv.Image(frame, "nv12"), gpv.Image(frame.cuda(), "nv12"):
                self.assertTrue((on_cuda[0](got, dst=False).records ==
                                 on_cpu[0](want, dst=False).records).all())
                self.assertTrue((on_cuda[1](got, descriptors=False).keypoints ==
                                 on_cpu[1](want, descriptors=False).keypoints).all())
            eroded = on_cpu[2](want)
            tensor = torch.from_dlpack(frame)
            result = on_cuda[2](gpv.Image(tensor, "nv12"))
            for mine, plane in zip(result.planes, eroded.planes):
                self.assert_like(mine, tensor)
                self.assert_equal(mine, plane)
            image = gpv.Image(frame, "nv12")
            on_cuda[2].run(image, image)
            on_cuda[2].wait()
            self.assert_equal(tensor, numpy.concatenate([*eroded.planes]))

    def test_rgb(self):
        kmeans = [gpv.Kmeans(context, clusters=4) for context in (self.cpu, self.cuda)]
        for frame, pixels in self.decoded(2, output_color_type=PyNvVideoCodec.OutputColorType.RGB):
            self.assertEqual(pixels.shape[2:], (3,))
            want, labels = kmeans[0](pixels), cupy.empty(pixels.shape[:2], cupy.uint8)
            kmeans[1].run(frame, labels=labels)
            kmeans[1].wait()
            self.assert_equal(labels, want.labels)
            self.assert_equal(kmeans[1](torch.from_dlpack(frame)).image, want.image)


class Memory(OnCuda):
    def test_nothing_is_copied(self):
        """The views have the addresses of the arrays."""

        def check(to_device):
            array = to_device(self.color)
            view = gpv.Image(array).view("src", [gpv.arrays.span(array)])
            address = array.data_ptr() if isinstance(array, torch.Tensor) else array.data.ptr
            self.assertEqual((view.memory, view.data[0]), (gpv.Memory.CUDA, address))
        self.each(check)

    def test_a_run_allocates_nothing(self):
        """CUDA's free memory, and CuPy's pool, are as before."""
        src, dst = cupy.asarray(self.color), cupy.empty_like(cupy.asarray(self.color))
        labels = cupy.empty(self.gray.shape, cupy.uint8)
        erode, kmeans = gpv.Erode(self.cuda), gpv.Kmeans(self.cuda)
        erode.prepare(src)
        kmeans.prepare(src, labels, dst)

        def run():
            erode.run(src, dst)
            kmeans.run(src, labels=labels, dst=dst)
        run()
        kmeans.wait()
        pool = cupy.get_default_memory_pool()
        before = cupy.cuda.runtime.memGetInfo()[0], pool.used_bytes(), pool.total_bytes()
        for _ in range(50):
            run()
        kmeans.wait()
        self.assertEqual((cupy.cuda.runtime.memGetInfo()[0], pool.used_bytes(),
                          pool.total_bytes()), before)


    def test_host_results_of_two_runs(self):
        """A run on the device alone does not lose what the one before has to write to the host."""
        ccl, src = gpv.Ccl(self.cuda, threshold=128), cupy.asarray(self.gray)
        want = gpv.Ccl(self.cpu, threshold=128)(self.gray)
        for _ in range(20):
            records = numpy.zeros(want.count, gpv.COMPONENT)
            ccl.run(src, components=records)
            del records
            ccl.run(src)
            self.assertEqual(ccl.wait().count, want.count)
        records = numpy.zeros(want.count, gpv.COMPONENT)
        ccl.run(src, components=records)
        ccl.run(src)
        ccl.wait()
        self.assertTrue((records == want.records).all())


class Streams(OnCuda):
    def late(self, stream):
        """An array that becomes the picture on a stream, when a while is over."""
        source, target = cupy.asarray(self.color), cupy.zeros_like(cupy.asarray(self.color))
        cupy.cuda.Device().synchronize()
        with stream:
            late_copy((1,), (1024,), (source, target, source.size, cupy.int64(A_WHILE)))
        return target, source

    def test_current_stream_of_cupy(self):
        erode, want = gpv.Erode(self.cuda), gpv.Erode(self.cpu)(self.color)
        erode(cupy.asarray(self.color))  # the first run allocates
        with cupy.cuda.Stream(non_blocking=True) as stream:
            src, _ = self.late(stream)
            got = erode(src)
            self.assertFalse(erode.query(), "the call has waited for the device")
            self.assert_equal(got, want)

    def test_current_stream_of_torch(self):
        erode, want = gpv.Erode(self.cuda), gpv.Erode(self.cpu)(self.color)
        src = torch.from_numpy(self.color).cuda()
        late = torch.zeros_like(src)
        erode(src)
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(A_WHILE)
            late.copy_(src)
            got = erode(late)
            self.assertFalse(erode.query(), "the call has waited for the device")
            self.assert_equal(got, want)

    def test_another_stream_waits_for_that_of_the_array(self):
        erode, want = gpv.Erode(self.cuda), gpv.Erode(self.cpu)(self.color)
        mine, theirs = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
        dst = cupy.zeros_like(cupy.asarray(self.color))
        erode(cupy.asarray(self.color), dst)

        def run():
            dst.fill(0)
            cupy.cuda.Device().synchronize()
            src, _ = self.late(theirs)
            with theirs:
                erode.run(src, dst, stream=mine)
                src.fill(0)  # comes after the run
            mine.synchronize()
            return (host(dst) == want).all()
        self.assertTrue(run())
        # Without the order the picture is not there yet: the test above can fail.
        call_all = self.cuda.call_all
        with mock.patch.object(self.cuda, "call_all", lambda calls: call_all(
                [call for call in calls if call[0] != "gpv_stream_follow"])):
            self.assertFalse(run())

    def test_graph(self):
        """A capture refuses whoever allocates, copies from the host or waits."""
        src, dst = cupy.asarray(self.color), cupy.zeros_like(cupy.asarray(self.color))
        want = gpv.Erode(self.cpu, radius=4)(self.color)
        erode = gpv.Erode(self.cuda, radius=4)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            erode.run(src, dst)
            erode.wait()
            dst.fill(0)
            stream.begin_capture()
            erode.run(src, dst)
            graph = stream.end_capture()
            graph.launch(stream)
            stream.synchronize()
            self.assert_equal(dst, want)


if __name__ == "__main__":
    unittest.main(verbosity=2)
