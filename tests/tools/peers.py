# SPDX-License-Identifier: BSD-2-Clause
"""Times erosion on a GPU beside CuPy's, and beside OpenCV's on the CPU.

meson devenv -C BUILD -w . python3 tests/tools/peers.py [--json FILE]

It needs CuPy and NumPy, and takes OpenCV if it is there. The rows are those of the
benchmarks in tests/parity.
"""
import argparse
import contextlib
import ctypes as c
import json
import os
import sys
import time
from pathlib import Path

SIZES = (1920, 1080), (7350, 5700)
RADII = 1, 3, 6, 12, 25
ROUNDS = 51
ENOUGH = 0.1  # seconds of one candidate
TOO_SLOW = 2  # seconds a call


def not_run(reason):
    print(f"not run: {reason}")
    sys.exit()


try:
    import cupy
    import cupyx.scipy.ndimage as ndimage
    import numpy
except ImportError as error:
    not_run(error)
try:
    import cv2
except ImportError as error:
    cv2 = None
    print(f"OpenCV is left out: {error}")
if not cupy.cuda.is_available():
    not_run("CuPy finds no CUDA device")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/python"))
from erode import GRAY8, ErodeParams, Image, gpv  # noqa: E402

GPV_BACKEND_CUDA, GPV_MEMORY_CUDA = 2, 1
CUDA_ERRORS = cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError


class Erode:
    """An operator of gpuvision, on the stream that CuPy uses."""

    def __init__(self):
        self.context, self.op, self.params = c.c_void_p(), c.c_void_p(), ErodeParams()
        self.check(gpv.gpv_context_create(None, c.byref(self.context)))
        if gpv.gpv_context_backend(self.context) != GPV_BACKEND_CUDA:
            sys.exit("gpuvision computes on the CPU here")
        gpv.gpv_erode_params_init(c.byref(self.params), c.sizeof(self.params))
        self.check(gpv.gpv_erode_create(self.context, None, c.byref(self.op)))

    def check(self, status):
        if status != 0:
            sys.exit(f"gpuvision: {gpv.gpv_context_error(self.context).decode()}")

    def prepare(self, radius, threshold, like):
        self.params.radius_x, self.params.threshold = radius, threshold
        self.check(gpv.gpv_erode_set_params(self.op, c.byref(self.params)))
        self.check(gpv.gpv_erode_prepare(self.op, c.byref(like)))

    def __call__(self, src, dst):
        stream = c.c_void_p(cupy.cuda.get_current_stream().ptr)
        self.check(gpv.gpv_erode_run(self.op, stream, c.byref(src), c.byref(dst)))


def view(array):
    image = Image()
    height, width = array.shape
    gpv.gpv_image_wrap(image, c.sizeof(image), GRAY8, width, height, array.data.ptr, 0)
    image.memory = GPV_MEMORY_CUDA
    return image


def quartiles(samples):
    return [round(1e6 * float(numpy.quantile(samples, part)), 3) for part in (0.5, 0.25, 0.75)]


class OnDevice:
    """So many calls of what enqueues the i-th, as a graph where they can be captured."""

    def __init__(self, name, enqueue, calls):
        self.name, self.enqueue, self.samples, self.graph = name, enqueue, [], None
        enqueue(0)  # compiles
        self.calls = 1
        self.seconds = self.run()
        self.calls = max(3, min(calls, int(ENOUGH / self.seconds)))
        stream, graph, captured = cupy.cuda.get_current_stream(), None, 0
        stream.begin_capture()
        with contextlib.suppress(*CUDA_ERRORS):
            for i in range(self.calls):
                enqueue(i)
                captured += 1
        with contextlib.suppress(*CUDA_ERRORS):
            graph = stream.end_capture()
        if captured == self.calls:
            self.graph = graph
        self.name += ", graph" if self.graph else ", stream"

    def run(self):
        """Seconds a call."""
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        if self.graph:
            self.graph.launch()
        else:
            for i in range(self.calls):
                self.enqueue(i)
        stop.record()
        stop.synchronize()
        return cupy.cuda.get_elapsed_time(start, stop) / 1000 / self.calls


def time_in_turn(candidates):
    for candidate in candidates:
        candidate.run()  # warms up
    for _ in range(ROUNDS):
        for candidate in candidates:
            if len(candidate.samples) < 5 or sum(candidate.samples) * candidate.calls < ENOUGH:
                candidate.samples.append(candidate.run())


def time_on_host(call):
    samples = []
    for _ in range(ROUNDS + 1):
        begin = time.perf_counter()
        call()
        samples.append(time.perf_counter() - begin)
        if len(samples) > 6 and sum(samples) > ENOUGH * 5:
            break
    return quartiles(samples[1:])


class Images:
    """The same image again and again, used in turn so that none is in the cache."""

    def __init__(self, pixels):
        self.host = pixels
        self.count = max(3, 100_000_000 // pixels.size + 1)
        self.src = [cupy.asarray(pixels) for _ in range(self.count)]
        self.dst = [cupy.empty_like(self.src[0]) for _ in range(self.count)]
        self.views = [(view(src), view(dst)) for src, dst in zip(self.src, self.dst)]

    def calls(self):
        return max(self.count, 6 if self.host.size > 8_000_000 else 40)


def require_equal(name, got, expected):
    if not numpy.array_equal(got, expected):
        sys.exit(f"{name} differs in {numpy.count_nonzero(got != expected)} pixels")


def cupy_peers(images, radius, binary):
    """(name, what runs it from one array to another, arrays to) of CuPy."""
    size = (2 * radius + 1,) * 2

    def erode(function, **arguments):
        return lambda src, dst: function(src, output=dst, **arguments)

    peers = [("minimum_filter", erode(ndimage.minimum_filter, size=size, mode="nearest"))]
    if binary:
        on_bool = erode(ndimage.binary_erosion, structure=size, border_value=1)
        peers.append(("binary_erosion",
                      lambda src, dst: on_bool(src.view(bool), dst.view(bool))))
    else:
        peers.append(("grey_erosion", erode(ndimage.grey_erosion, size=size, mode="nearest")))
    return peers


def compare(ours, images, radius, binary):
    """The rows of one operation, image and radius."""
    height, width = images.host.shape
    row = {"name": f"{'binary' if binary else 'grey'} n={radius}", "image": f"{width}x{height}",
           "threads": 0}
    ours.prepare(radius, 1 if binary else 0, images.views[0][0])
    ours(*images.views[0])
    expected = cupy.asnumpy(images.dst[0]) // (255 if binary else 1)

    def enqueue_ours(i):
        ours(*images.views[i % images.count])

    def enqueue_copy(i):
        src, dst = images.src[i % images.count], images.dst[i % images.count]
        dst.data.copy_from_device_async(src.data, src.nbytes)

    candidates = [OnDevice("ours", enqueue_ours, images.calls()),
                  OnDevice("copy", enqueue_copy, images.calls())]
    for name, run in cupy_peers(images, radius, binary):
        def enqueue(i, run=run):
            run(images.src[i % images.count], images.dst[i % images.count])

        peer = OnDevice(f"CuPy {cupy.__version__} {name}", enqueue, images.calls())
        enqueue_copy(0)  # so that the result is the peer's own
        enqueue(0)
        require_equal(peer.name, cupy.asnumpy(images.dst[0]), expected)
        if peer.seconds > TOO_SLOW:
            print(f"{peer.name}, {row['name']}: left out, {peer.seconds:.1f} s a call")
        else:
            candidates.append(peer)
    time_in_turn(candidates)
    times = [quartiles(candidate.samples) for candidate in candidates]
    row |= {"ours_us": times[0], "copy_us": times[1][0]}
    peers = [(peer.name, us) for peer, us in zip(candidates[2:], times[2:])]
    if cv2 and not binary:
        peers.append(time_opencv(images, radius, expected))
    return [{**row, "peer": name, "peer_us": us} for name, us in peers] or [row]


def time_opencv(images, radius, expected):
    """(name, times) with the number of threads that suits it best; always the same two images."""
    element = numpy.ones((2 * radius + 1,) * 2, numpy.uint8)
    src, dst = images.host, numpy.zeros_like(images.host)
    cores = len(os.sched_getaffinity(0))
    times = []
    for threads in sorted({1, 2, 4, 8, cores // 2, cores}):
        if not 0 < threads <= cores:
            continue
        cv2.setNumThreads(threads)
        dst[:] = 0
        cv2.erode(src, element, dst=dst)
        require_equal("OpenCV", dst, expected)
        times.append((time_on_host(lambda: cv2.erode(src, element, dst=dst)), threads))
    best, threads = min(times)
    return f"OpenCV {cv2.__version__}, {threads} thread{'s' * (threads > 1)}", best


def show(row):
    peer = f", {row['peer']} {row['peer_us'][0]:.2f} us" if "peer" in row else ""
    print(f"{row['name']:14} {row['image']:12} {row['ours_us'][0]:8.2f} us, copy "
          f"{row['copy_us']:.2f} us{peer}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    args = parser.parse_args()
    rows, ours, random = [], Erode(), numpy.random.default_rng(20260101)
    with cupy.cuda.Stream(non_blocking=True):
        for width, height in SIZES:
            noise = random.integers(0, 256, (height, width), numpy.uint8)
            # Where one pixel in a thousand is black, few reach their result early.
            mask = (random.random((height, width)) >= 0.001).astype(numpy.uint8)
            for binary, pixels in (False, noise), (True, mask):
                images = Images(pixels)
                for radius in RADII:
                    for row in compare(ours, images, radius, binary):
                        show(row)
                        rows.append(row)
    if args.json:
        Path(args.json).write_text(json.dumps({"benchmarks": rows}, indent=1) + "\n")


main()
