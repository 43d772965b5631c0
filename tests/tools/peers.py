# SPDX-License-Identifier: BSD-2-Clause
"""Times an algorithm on a GPU beside CuPy's and PyTorch's, and beside OpenCV's on the CPU.

meson devenv -C BUILD -w . python3 tests/tools/peers.py erode|ccl|kmeans|match|sift [--json FILE]

It needs CuPy and NumPy, and takes OpenCV and PyTorch if they are there. The rows are those of the
benchmarks in tests/parity.
"""
import argparse
import contextlib
import copy
import functools
import json
import os
import sys
import time
from pathlib import Path

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

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "libgpuvision/bindings/python"))
import gpuvision as gpv  # noqa: E402

CUPY = f"CuPy {cupy.__version__}"


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
        # Of CUDA, or of CuPy, which captures no copy to the host.
        with contextlib.suppress(RuntimeError):
            for i in range(self.calls):
                enqueue(i)
                captured += 1
        with contextlib.suppress(RuntimeError):
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


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def time_on_host(call, minimum=6, enough=ENOUGH * 5):
    """After a call to warm up: so many at least, until they took so many seconds, at most ROUNDS."""
    samples = []
    for _ in range(ROUNDS + 1):
        samples.append(seconds_of(call))
        if len(samples) > minimum and sum(samples) > enough:
            break
    return quartiles(samples[1:])


def cold_count(size):
    """How many things of so many bytes to use in turn, so that none is in the cache."""
    return max(3, 200_000_000 // size + 1)


class Images:
    """The same image again and again."""

    def __init__(self, pixels, result, traffic=None):
        self.host, shape = pixels, pixels.shape[:2]
        labelled = numpy.dtype(result).itemsize * shape[0] * shape[1]
        self.copied = (traffic or pixels.nbytes + labelled) // 2
        self.count = cold_count(2 * self.copied)
        self.src = [cupy.asarray(pixels) for _ in range(self.count)]
        self.dst = [cupy.zeros(shape, result) for _ in range(self.count)]
        self.ours = list(zip(self.src, self.dst))

    def calls(self):
        return max(self.count, 6 if self.host.size > 8_000_000 else 40)

    def size(self):
        return f"{self.host.shape[1]}x{self.host.shape[0]}"


class Copy:
    """On the device, of as many bytes as make the traffic of reading src and writing dst."""

    def __init__(self, images):
        self.pairs = [[cupy.zeros(images.copied, numpy.uint8) for _ in "ab"]
                      for _ in range(cold_count(2 * images.copied))]

    def __call__(self, i):
        src, dst = self.pairs[i % len(self.pairs)]
        dst.data.copy_from_device_async(src.data, src.nbytes)


class Kernels:
    """Of our own, which CuPy compiles."""

    def __init__(self, code, **how):
        self.kernel = functools.cache(cupy.RawModule(code=code, **how).get_function)

    def launch(self, kernel, pixels, *args, each=1):
        """With so many pixels for each thread."""
        args = tuple(numpy.int32(arg) if isinstance(arg, int) else arg for arg in args)
        self.kernel(kernel)((-(-pixels // (256 * each)),), (256,), args)


def require(name, same):
    if not same:
        sys.exit(f"the result of {name} is another")


def time_opencv(name, call, same):
    """(name, times) with the number of threads that suits it best, by a few calls with each; always the
    same two images."""
    cores = len(os.sched_getaffinity(0))
    times = []
    for threads in sorted({1, 2, 4, 8, cores // 2, cores}):
        if 0 < threads <= cores:
            cv2.setNumThreads(threads)
            times.append((time_on_host(call, 3, ENOUGH / 2), threads))
    threads = min(times)[1]
    cv2.setNumThreads(threads)
    require(f"OpenCV's {name}", same(call()))
    return f"OpenCV {cv2.__version__} {name}, {threads} thread{'s' * (threads > 1)}", time_on_host(call)


def compare(row, ours, images, peers, same, host_peers, time_on=time_opencv):
    """The rows of one operation and image. ours(src, dst) and a peer(src, dst) take arrays;
    same(array) tells whether the result is ours; a host peer gives an array."""
    def enqueue_ours(i):
        ours(*images.ours[i % images.count])

    candidates = [OnDevice("ours", enqueue_ours, images.calls()),
                  OnDevice("copy", Copy(images), images.calls())]
    for name, run in peers:
        def enqueue(i, run=run):
            run(images.src[i % images.count], images.dst[i % images.count])

        peer = OnDevice(name, enqueue, images.calls())
        images.dst[0].fill(0)  # so that the result is the peer's own
        enqueue(0)
        require(peer.name, same(cupy.asnumpy(images.dst[0])))
        if peer.seconds > TOO_SLOW:
            print(f"{peer.name}, {row['name']}: left out, {peer.seconds:.1f} s a call")
        else:
            candidates.append(peer)
    time_in_turn(candidates)
    times = [quartiles(candidate.samples) for candidate in candidates]
    row = {**row, "threads": 0, "ours_us": times[0], "copy_us": times[1][0]}
    timed = [(peer.name, us) for peer, us in zip(candidates[2:], times[2:])]
    if cv2:
        timed += [time_on(name, call, same) for name, call in host_peers]
    return [{**row, "peer": name, "peer_us": us} for name, us in timed] or [row]


# ---- erosion ----

def cupy_erosions(radius, binary):
    """(name, what runs it from one array to another) of CuPy."""
    size = (2 * radius + 1,) * 2

    def erode(function, **arguments):
        return lambda src, dst: function(src, output=dst, **arguments)

    peers = [(f"{CUPY} minimum_filter", erode(ndimage.minimum_filter, size=size, mode="nearest"))]
    if binary:
        on_bool = erode(ndimage.binary_erosion, structure=size, border_value=1)
        peers.append((f"{CUPY} binary_erosion",
                      lambda src, dst: on_bool(src.view(bool), dst.view(bool))))
    else:
        peers.append((f"{CUPY} grey_erosion",
                      erode(ndimage.grey_erosion, size=size, mode="nearest")))
    return peers


def erosion(op, images, radius, binary):
    op.set(radius=radius, threshold=1 if binary else 0)
    op.prepare(images.src[0])
    op.run(*images.ours[0])
    expected = cupy.asnumpy(images.dst[0]) // (255 if binary else 1)
    src, dst = images.host, numpy.zeros_like(images.host)
    element = numpy.ones((2 * radius + 1,) * 2, numpy.uint8)
    row = {"name": f"{'binary' if binary else 'grey'} n={radius}", "image": images.size()}
    return compare(row, op.run, images, cupy_erosions(radius, binary),
                   lambda result: numpy.array_equal(result, expected),
                   [] if binary else [("erode", lambda: cv2.erode(src, element, dst=dst))])


def erosions(context):
    op, random = gpv.Erode(context), numpy.random.default_rng(20260101)
    for width, height in (1920, 1080), (7350, 5700):
        noise = random.integers(0, 256, (height, width), numpy.uint8)
        # Where one pixel in a thousand is black, few reach their result early.
        mask = (random.random((height, width)) >= 0.001).astype(numpy.uint8)
        for binary, pixels in (False, noise), (True, mask):
            images = Images(pixels, numpy.uint8)
            for radius in 1, 3, 6, 12, 25:
                yield from erosion(op, images, radius, binary)


# ---- labelling ----

def hashed(z):
    z = z + numpy.uint64(0x9e3779b97f4a7c15)
    z = (z ^ z >> numpy.uint64(30)) * numpy.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ z >> numpy.uint64(27)) * numpy.uint64(0x94d049bb133111eb)
    return (z ^ z >> numpy.uint64(31)) >> numpy.uint64(32)


def granular(width, height, grain, percent):
    """As in tests/parity/ccl.cpp."""
    y, x = numpy.ogrid[:height, :width]
    cell = (y // grain * -(-width // grain) + x // grain).astype(numpy.uint64)
    seed = ((7 if grain == 1 else 77) + percent) * 1000003
    below = int(percent / 100 * 4294967295)
    return (hashed(cell + numpy.uint64(seed)) < below).astype(numpy.uint8) * numpy.uint8(255)


def dots(width, height):
    y, x = numpy.ogrid[:height, :width]
    return ((x % 2 == 0) & (y % 2 == 0)).astype(numpy.uint8) * numpy.uint8(255)


def spiral(width, height):
    """As in tests/parity/ccl.cpp."""
    image = numpy.zeros((height, width), numpy.uint8)
    left, top, right, bottom, inlet = 0, 0, width - 1, height - 1, 0
    while left <= right and top <= bottom:
        image[top, max(0, left - inlet):right + 1] = 255
        image[top:bottom + 1, right] = 255
        if bottom - top < 2 or right - left < 2:
            break
        image[bottom, left:right + 1] = 255
        image[top + 2:bottom + 1, left] = 255
        left, top, right, bottom, inlet = left + 2, top + 2, right - 2, bottom - 2, 2
    return image


def discs(width, height):
    """As in tests/parity/ccl.cpp."""
    y, x = numpy.ogrid[:height, :width]
    radius = 8 + (hashed((y // 64 * 65536 + x // 64).astype(numpy.uint64)) % 40).astype(int)
    inside = (x % 64 - 32) ** 2 + (y % 64 - 32) ** 2 <= radius ** 2
    return inside.astype(numpy.uint8) * numpy.uint8(255)


def same_components(labels, expected):
    """Whether they are the same but for the values of labels. Those expected have no gaps."""
    values = numpy.zeros(expected.max() + 1, labels.dtype)
    values[expected] = labels
    return (values[0] == 0 and len(numpy.unique(values)) == len(values) and
            numpy.array_equal(values[expected], labels))


def labelling(op, images, name, statistics):
    """OpenCV has a function for either; CuPy labels alone."""
    records = cupy.zeros((images.host.size + 3) // 4 * gpv.COMPONENT.itemsize, numpy.uint8)

    def ours(src, dst):
        op.run(src, dst=dst, components=records if statistics else None)

    op.prepare(*images.ours[0])
    ours(*images.ours[0])
    expected = cupy.asnumpy(images.dst[0])
    structure = numpy.ones((3, 3), bool)
    peers = [(f"{CUPY} label",
              lambda src, dst: ndimage.label(src, structure=structure, output=dst))]
    on_host = [("connectedComponents", lambda: cv2.connectedComponents(images.host)[1])]
    if statistics:
        peers = []
        on_host = [("WithStats", lambda: cv2.connectedComponentsWithStats(images.host)[1])]
    row = {"name": "labels and statistics" if statistics else "labels",
           "image": f"{images.size()} {name}"}
    return compare(row, ours, images, peers, lambda result: same_components(result, expected),
                   on_host)


def labellings(context):
    op = gpv.Ccl(context)
    contents = [(1920, 1080, grain, percent) for grain, percent in
                ((1, 10), (1, 50), (1, 90), (4, 50), (16, 50))]
    contents += [(*size, grain, 50) for size in ((640, 480), (3840, 2160), (8192, 8192))
                 for grain in (1, 16)]
    named = [(f"noise {percent} %" if grain == 1 else f"granular {grain}",
              granular(width, height, grain, percent)) for width, height, grain, percent in contents]
    for name, pixels in [*named, ("dots", dots(1920, 1080))]:
        images = Images(pixels, numpy.int32)
        for statistics in False, True:
            yield from labelling(op, images, name, statistics)
    yield from paper_table(context)


# ---- the table of the paper that labelling starts from ----

FOREGROUND = 255
# Plainly after its description; see docs/algorithms/ccl.md. A label is the index of a pixel of the
# component plus one, 0 is background; the pixel at a label's index is its parent.
PAPER = r"""
extern "C" __global__ void start(const unsigned char *image, int *labels, int foreground,
                                 int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels)
        labels[i] = image[i] == foreground ? i + 1 : 0;
}

// Every parent is a root here.
extern "C" __global__ void hook(int *labels, int *changed, int width, int height) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int own = i < width * height ? labels[i] : 0;
    if (own == 0)
        return;
    const int x = i % width, y = i / width;
    int least = own;
    for (int near_y = max(y - 1, 0); near_y <= min(y + 1, height - 1); near_y++)
        for (int near_x = max(x - 1, 0); near_x <= min(x + 1, width - 1); near_x++) {
            const int label = labels[near_y * width + near_x];
            if (label != 0)
                least = min(least, label);
        }
    if (least < own) {
        atomicMin(&labels[own - 1], least);
        *changed = 1;
    }
}

extern "C" __global__ void compress(int *labels, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int label = i < pixels ? labels[i] : 0;
    if (label == 0)
        return;
    for (int parent; (parent = labels[label - 1]) != label;)
        label = parent;
    labels[i] = label;
}

extern "C" __global__ void count_by_atomics(const int *labels, int *count, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels && labels[i] == i + 1)
        atomicAdd(count, 1);
}

extern "C" __global__ void count_in_registers(const int *labels, int *count, int pixels) {
    int roots = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x)
        roots += labels[i] == i + 1;
    for (int lanes = 16; lanes > 0; lanes /= 2)
        roots += __shfl_down_sync(0xffffffff, roots, lanes);
    if (threadIdx.x % 32 == 0)
        atomicAdd(count, roots);
}
"""


class PaperShape(Kernels):
    def __init__(self):
        super().__init__(PAPER)
        self.changed = cupy.zeros(1, numpy.int32)

    def start(self, src, labels):
        self.launch("start", src.size, src, labels, FOREGROUND, src.size)

    def round(self, labels):
        height, width = labels.shape
        self.launch("hook", labels.size, labels, self.changed, width, height)
        self.launch("compress", labels.size, labels, labels.size)

    def label(self, src, labels):
        """How many rounds it took. The last changed nothing; it depends on the order of threads."""
        self.start(src, labels)
        rounds, changed = 0, True
        while changed:
            self.changed.data.memset_async(0, self.changed.nbytes)
            self.round(labels)
            rounds, changed = rounds + 1, bool(self.changed.get()[0])
        return rounds

    def label_in(self, rounds, src, labels):
        """Without asking whether they are enough."""
        self.start(src, labels)
        for _ in range(rounds):
            self.round(labels)

    def count(self, kernel, labels, count, each=1):
        count.data.memset_async(0, count.nbytes)
        self.launch(kernel, labels.size, labels, count, labels.size, each=each)


class Labelled(Images):
    """Images for ours; for peers the labels that the paper's shape gives them, and a count."""

    def __init__(self, pixels, paper):
        super().__init__(pixels, numpy.int32, traffic=pixels.size)
        self.labels, self.dst = self.dst, [cupy.zeros(1, numpy.int32) for _ in self.src]
        for src, labels in zip(self.src, self.labels):
            paper.label(src, labels)
        self.images, self.src = self.src, self.labels


def paper_labels(op, paper, pixels, name):
    images = Images(pixels, numpy.int32)

    def ours(src, dst):
        op.run(src, dst=dst)

    op.prepare(*images.ours[0])
    ours(*images.ours[0])
    expected = cupy.asnumpy(images.dst[0])
    rounds = max(paper.label(src, dst) for src, dst in zip(images.src, images.dst))
    peers = [("iterated minimum", paper.label),
             (f"iterated minimum, {rounds} rounds",
              lambda src, dst: paper.label_in(rounds, src, dst))]
    return compare({"name": "paper's table: labels", "image": f"{images.size()} {name}"}, ours,
                   images, peers, lambda result: same_components(result, expected),
                   [("connectedComponents", lambda: cv2.connectedComponents(pixels)[1])])


def paper_count(op, paper, pixels, name):
    """Ours of the image, without labels; the paper's of labels that are there."""
    images, found = Labelled(pixels, paper), cupy.zeros(1, numpy.int32)

    def ours(src, _):
        op.run(src, count=found)

    op.prepare(images.ours[0][0])
    ours(*images.ours[0])
    expected = cupy.asnumpy(found)
    peers = [("count by atomics",
              lambda src, dst: paper.count("count_by_atomics", src, dst)),
             ("count in registers",
              lambda src, dst: paper.count("count_in_registers", src, dst, each=16))]
    return compare({"name": "paper's table: count", "image": f"{images.size()} {name}"}, ours,
                   images, peers, lambda result: numpy.array_equal(result, expected), [])


def paper_table(context):
    """Of the bitmaps in tests/parity/ccl.cpp."""
    op, paper = gpv.Ccl(context, foreground=FOREGROUND), PaperShape()
    for name, pixels in (("granular 4", granular(1024, 768, 4, 50)),
                         ("noise 50 %", granular(1280, 1024, 1, 50)),
                         ("spiral", spiral(1600, 1200)),
                         ("discs", discs(2048, 1536))):
        yield from paper_labels(op, paper, pixels, name)
        yield from paper_count(op, paper, pixels, name)


# ---- segmentation ----

ITERATIONS, MAX_ITERATIONS = 20, 1000  # given, and where they go on until labels repeat


def between(corners, level, x, y):
    """Values at the corners of cells of side 2^level, at columns x and rows y: smooth between them."""
    def weight(at):
        t = (at & (1 << level) - 1) << 8 >> level
        return t * t * (768 - 2 * t) >> 16

    u, v, right, below = weight(x), weight(y)[:, None], x >> level, y >> level
    along = corners[:, right] * (256 - u) + corners[:, right + 1] * u
    return along[below] * (256 - v) + along[below + 1] * v >> 16


def fields(level, width, height):
    """Three that are random at the corners of cells of side 2^level, -512..511, and smooth between
    them."""
    x, y = (numpy.arange(side, dtype=numpy.int32) for side in (width, height))
    row, column = numpy.ogrid[:(height - 1 >> level) + 2, :(width - 1 >> level) + 2]
    corners = hashed((level << 48 | row << 24 | column).astype(numpy.uint64))
    for shift in 0, 10, 20:
        at = (corners >> numpy.uint64(shift) & numpy.uint64(1023)).astype(numpy.int32)
        yield between(at, level, x, y) - 512


def photo(width, height):
    """As in tests/parity/kmeans.cpp."""
    sums = numpy.zeros((3, height, width), numpy.int32)
    for level in range(3, 10):
        for plane, field in zip(sums, fields(level, width, height)):
            plane += field * (1 << level - 3)
    light, warm, green = ((plane / divisor).astype(numpy.int32)  # towards 0
                          for plane, divisor in zip(sums, (330, 600, 1000)))
    y, x = numpy.ogrid[:height, :width]
    pixel = ~(y << 24 | x).astype(numpy.uint64)
    noise, more = hashed(pixel), hashed(pixel ^ numpy.uint64(1 << 60))
    coins = numpy.array([bin(bits).count("1") - 8 for bits in range(1 << 16)], numpy.int32)
    channels = (light + warm + coins[noise & numpy.uint64(0xffff)],
                light + green + coins[noise >> numpy.uint64(16)],
                light - warm + coins[more & numpy.uint64(0xffff)])
    return numpy.clip(118 + numpy.stack(channels, axis=-1), 0, 255).astype(numpy.uint8)


def spread_colors(op, pixels, clusters):
    """The centroids that a benchmark of tests/parity/kmeans.cpp starts from."""
    rows, columns = (numpy.arange(count) * side // count
                     for count, side in zip((90, 160), pixels.shape))
    small = cupy.asarray(numpy.ascontiguousarray(pixels[numpy.ix_(rows, columns)]))
    centroids = cupy.zeros((clusters, 3), numpy.float32)
    op.set(clusters=clusters, init="plusplus", max_iterations=0)
    op.run(small, centroids=centroids)
    return cupy.asnumpy(centroids)


def segment(op, src, labels):
    op.run(src, labels=labels)


def labels_of(op, images, start, **params):
    """Those of the first image, from these centroids, as segment() gives them from now on."""
    op.set(clusters=len(start), init="given", **params)
    op.set_centroids(start)
    op.prepare(*images.ours[0])
    segment(op, *images.ours[0])
    return cupy.asnumpy(images.dst[0])


def sums_of(pixels, labels):
    """Of the colours of each cluster, and how many pixels it has; exact."""
    numbers = labels.ravel()
    sums = [numpy.bincount(numbers, weights=channel) for channel in pixels.reshape(-1, 3).T]
    return numpy.stack(sums, axis=-1), numpy.bincount(numbers)[:, None]


def spread_of(pixels, labels):
    """Squared distances of all pixels from the mean of their cluster."""
    sums, counts = sums_of(pixels, labels)
    return numpy.square(pixels, dtype=float).sum() - (sums ** 2 / numpy.maximum(counts, 1)).sum()


# Plainly after the paper's description; see docs/algorithms/kmeans.md. The distance is Manhattan,
# added up in our order, and sums are integers: labels have to be ours.
LLOYD = r"""
extern "C" __global__ void assign(const unsigned char *image, const float *centroids,
                                  unsigned char *labels, int clusters, int pixels) {
    __shared__ float4 shared[256];
    for (int j = threadIdx.x; j < clusters; j += blockDim.x)
        shared[j] = make_float4(centroids[3 * j], centroids[3 * j + 1], centroids[3 * j + 2], 0);
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels)
        return;
    const float r = image[3 * i], g = image[3 * i + 1], b = image[3 * i + 2];
    float least = 1000; // more than any
    int nearest = 0;
    for (int j = 0; j < clusters; j++) {
        const float4 c = shared[j];
        const float distance = fabsf(r - c.x) + fabsf(g - c.y) + fabsf(b - c.z);
        if (distance < least) {
            least = distance;
            nearest = j;
        }
    }
    labels[i] = nearest;
}

// sums has a row for R, G, B and the number of pixels. It and finished are 0 before and after. A
// cluster without a pixel keeps its centroid.
extern "C" __global__ void update(const unsigned char *image, const unsigned char *labels,
                                  float *centroids, unsigned *sums, unsigned *finished, int *moved,
                                  int clusters, int pixels) {
    __shared__ unsigned of_block[4 * 256];
    __shared__ bool is_last;
    for (int j = threadIdx.x; j < 4 * clusters; j += blockDim.x)
        of_block[j] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x) {
        const int cluster = labels[i];
        for (int channel = 0; channel < 3; channel++)
            atomicAdd(&of_block[channel * clusters + cluster], image[3 * i + channel]);
        atomicAdd(&of_block[3 * clusters + cluster], 1);
    }
    __syncthreads();
    for (int j = threadIdx.x; j < 4 * clusters; j += blockDim.x)
        if (of_block[j] != 0)
            atomicAdd(&sums[j], of_block[j]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        is_last = atomicAdd(finished, 1) == gridDim.x - 1;
    __syncthreads();
    if (!is_last)
        return;
    for (int j = threadIdx.x; j < clusters; j += blockDim.x) {
        const unsigned count = atomicExch(&sums[3 * clusters + j], 0);
        for (int channel = 0; channel < 3 && count != 0; channel++) {
            const double sum = atomicExch(&sums[channel * clusters + j], 0);
            const float mean = (float)(sum / count);
            if (mean != centroids[3 * j + channel])
                *moved = 1;
            centroids[3 * j + channel] = mean;
        }
    }
    if (threadIdx.x == 0)
        *finished = 0;
}
"""


class PaperLloyd(Kernels):
    """Of start, the centroids that it begins with. Each thread of update has so many pixels."""

    def __init__(self, start, each):
        super().__init__(LLOYD, options=("--fmad=false",))
        self.start, self.each, self.clusters = cupy.asarray(start), each, len(start)
        self.centroids = cupy.empty_like(self.start)
        self.sums = cupy.zeros(4 * self.clusters, numpy.uint32)
        self.finished, self.moved = cupy.zeros(1, numpy.uint32), cupy.zeros(1, numpy.int32)

    def assign(self, src, labels, centroids):
        self.launch("assign", labels.size, src, centroids, labels, self.clusters, labels.size)

    def update(self, src, labels, centroids):
        self.launch("update", labels.size, src, labels, centroids, self.sums, self.finished,
                    self.moved, self.clusters, labels.size, each=self.each)

    def begin(self, src, labels):
        self.centroids.data.copy_from_device_async(self.start.data, self.start.nbytes)
        self.assign(src, labels, self.centroids)

    def iterate(self, src, labels):
        self.update(src, labels, self.centroids)
        self.assign(src, labels, self.centroids)

    def label(self, src, labels):
        """How many iterations it took until the last moved nothing, or the most."""
        self.begin(src, labels)
        iterations, moved = 0, True
        while moved and iterations < MAX_ITERATIONS:
            self.moved.data.memset_async(0, self.moved.nbytes)
            self.iterate(src, labels)
            iterations, moved = iterations + 1, bool(self.moved.get()[0])
        return iterations

    def label_in(self, iterations, src, labels):
        """Without asking whether they are enough."""
        self.begin(src, labels)
        for _ in range(iterations):
            self.iterate(src, labels)


def paper_lloyd(images, start):
    """With as many pixels for each thread of update as suit it best."""
    def seconds(lloyd):
        timed = OnDevice("", lambda _: lloyd.label_in(ITERATIONS, images.src[0], images.dst[0]), 3)
        return min(timed.run() for _ in range(3))

    return min((PaperLloyd(start, each) for each in (1, 4, 16, 64)), key=seconds)


def stream_of(torch):
    """So that what CuPy times and captures is where PyTorch works."""
    return torch.cuda.stream(torch.cuda.ExternalStream(cupy.cuda.get_current_stream().ptr))


class TorchLloyd:
    """Of start, in matrices: the nearest centroid is that of the least entry in a row of
    (R, G, B, 1) times (-2 centroids, their squares)."""

    DISTANCES = 1 << 23  # at a time, so that they stay in the cache
    COPIES = 64  # of the sums, so that few additions meet

    def __init__(self, torch, start, pixels):
        self.torch, clusters = torch, len(start)
        with stream_of(self.torch):
            self.start = torch.tensor(start, device="cuda")
            self.points = self.start.new_ones(pixels, 4)
            self.values = self.points.int()
            self.copies = clusters * (torch.arange(pixels, device="cuda") % self.COPIES)
            self.labels, self.places = (torch.empty_like(self.copies) for _ in "ab")
            self.sums = self.values.new_empty(self.COPIES * clusters, 4)
            self.distances = self.points.new_empty(min(pixels, self.DISTANCES // clusters),
                                                   clusters)

    def assign(self, centroids):
        squares = (centroids ** 2).sum(1, keepdim=True)
        weights = self.torch.cat((-2 * centroids, squares), 1).T
        parts = (array.split(len(self.distances)) for array in (self.points, self.labels))
        for points, labels in zip(*parts):
            distances = self.distances[:len(points)]
            self.torch.mm(points, weights, out=distances)
            self.torch.argmin(distances, 1, out=labels)

    def update(self, centroids):
        self.torch.add(self.labels, self.copies, out=self.places)
        self.sums.zero_().index_add_(0, self.places, self.values)
        sums = self.sums.view(self.COPIES, -1, 4).sum(0)
        means = (sums[:, :3].double() / sums[:, 3:]).float()
        return self.torch.where(sums[:, 3:] > 0, means, centroids)

    def __call__(self, src, dst):
        with stream_of(self.torch):
            pixels = self.torch.as_tensor(src, device="cuda").view(-1, 3)
            for array in self.points, self.values:
                array[:, :3] = pixels
            centroids = self.start
            self.assign(centroids)
            for _ in range(ITERATIONS):
                centroids = self.update(centroids)
                self.assign(centroids)
            self.torch.as_tensor(dst, device="cuda").view(-1).copy_(self.labels)


@functools.cache
def find_torch():
    """PyTorch, without TF32, whose labels would be others; or None."""
    try:
        import torch
    except (ImportError, OSError) as error:
        print(f"PyTorch is left out: {error}")
        return None
    if not torch.cuda.is_available():
        print("PyTorch is left out: it finds no CUDA device")
        return None
    torch.set_float32_matmul_precision("highest")
    return torch


def torch_lloyds(images, start):
    torch, pixels = find_torch(), images.dst[0].size
    return [(f"PyTorch {torch.__version__} mm, argmin, index_add",
             TorchLloyd(torch, start, pixels))] if torch else []


def opencv_lloyds(images, start, first):
    """From the first labels. 4K takes it too long."""
    points = images.host.reshape(-1, 3).astype(numpy.float32)
    first = first.reshape(-1, 1).astype(numpy.int32)

    def kmeans():
        until = cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, ITERATIONS, 0
        return cv2.kmeans(points, len(start), first.copy(), until, 1,
                          cv2.KMEANS_USE_INITIAL_LABELS)[1]

    return [("kmeans", kmeans)] if images.host.size < 8_000_000 else []


def time_slow_opencv(name, call, same):
    """As time_opencv(), of what gains by every core, and may take seconds: few calls."""
    cores = len(os.sched_getaffinity(0))
    cv2.setNumThreads(cores)
    require(f"OpenCV's {name}", same(call()))
    samples = []
    while len(samples) < 3 and sum(samples) < TOO_SLOW:
        samples.append(seconds_of(call))
    return f"OpenCV {cv2.__version__} {name}, {cores} threads", quartiles(samples)


def by_manhattan(op, images, start):
    expected = labels_of(op, images, start, metric="l1", max_iterations=ITERATIONS)
    lloyd = paper_lloyd(images, start)
    return compare({"name": f"labels in L1 k={len(start)}", "image": f"photo {images.size()}"},
                   functools.partial(segment, op), images,
                   [("paper's kernels", functools.partial(lloyd.label_in, ITERATIONS))],
                   lambda labels: numpy.array_equal(labels, expected), [])


def by_euclid(op, images, start):
    """Rounding differs, so that a pixel as near to two centroids may get the other's label. OpenCV's
    sums are rounded too, and its labels are one update older."""
    first = labels_of(op, images, start, metric="l2", max_iterations=0)
    minimum = spread_of(images.host, labels_of(op, images, start, metric="l2",
                                               max_iterations=ITERATIONS))

    def near(tolerance, labels):
        return abs(spread_of(images.host, labels) / minimum - 1) <= tolerance

    return compare({"name": f"labels k={len(start)}", "image": f"photo {images.size()}"},
                   functools.partial(segment, op), images, torch_lloyds(images, start),
                   functools.partial(near, 1e-4), opencv_lloyds(images, start, first),
                   lambda name, call, _: time_slow_opencv(name, call,
                                                          functools.partial(near, 0.02)))


def to_the_end(op, images, start):
    """The paper's table, as in tests/parity/kmeans.cpp. Apart, assignment and update repeat what they
    do in the last iteration."""
    expected = labels_of(op, images, start, metric="l1", max_iterations=MAX_ITERATIONS,
                         tolerance=0)
    iterations, lloyd = op.wait().iterations, paper_lloyd(images, start)
    require("the paper's loop", lloyd.label(images.src[0], images.dst[0]) == iterations)
    labels, centroids = images.dst[0].copy(), lloyd.centroids.copy()

    def assignments(src, dst):
        for _ in range(iterations + 1):
            lloyd.assign(src, dst, centroids)

    def updates(src, dst):
        for _ in range(iterations):
            lloyd.update(src, labels, dst)

    row = {"name": f"paper's table: k={len(start)}, {iterations} iterations",
           "image": f"photo {images.size()}"}
    ours = functools.partial(segment, op)
    yield from compare(row, ours, images,
                       [("paper's kernels", lloyd.label),
                        (f"paper's kernels, {iterations} iterations",
                         functools.partial(lloyd.label_in, iterations)),
                        ("paper's kernels: assignment", assignments)],
                       lambda result: numpy.array_equal(result, expected), [])
    sums, counts = sums_of(images.host, expected)
    averaged = copy.copy(images)
    averaged.dst = [cupy.zeros(start.shape, numpy.float32) for _ in images.dst]
    yield from compare(row, ours, averaged, [("paper's kernels: update", updates)],
                       lambda result: numpy.array_equal(result,
                                                        (sums / counts).astype(numpy.float32)), [])


def segmentations(context):
    op = gpv.Kmeans(context, tolerance=-1)
    for width, height, clusters in ((1920, 1080, (4, 8, 16, 64, 128, 255)),
                                    (3840, 2160, (8, 64, 255))):
        images = Images(photo(width, height), numpy.uint8)
        for k in clusters:
            start = spread_colors(op, images.host, k)
            yield from by_manhattan(op, images, start)
            yield from by_euclid(op, images, start)
    images = Images(photo(640, 480), numpy.uint8)
    for k in 4, 8, 16, 32, 64, 128, 255:
        yield from to_the_end(op, images, spread_colors(op, images.host, k))


# ---- features ----

LENGTH = 128  # of a descriptor
FEATURES = 65536  # that there is room for, as in tests/parity/sift.cpp


def hashes_of(seed, x, y):
    """Of all columns x and rows y."""
    z = (y[:, None] << 20) + x + seed * 1000003
    return hashed(z.astype(numpy.uint64)).astype(numpy.int64)


def oval(bits, size, x256, y256):
    """Light of a leaning oval in some of the cells of side 2^size, whose bits are random. Places are
    in 256ths of a pixel."""
    cell, right, below = 1 << size, x256 >> 8 + size, y256 >> 8 + size

    def part(random, shift):  # -1..1
        return (((random >> shift & 255) - 128) / 128.0)[below][:, right]

    more = hashed(bits.astype(numpy.uint64)).astype(numpy.int64)
    dx = (x256 / 256.0 - (right << size)) / cell - 0.5 - 0.15 * part(bits, 3)
    dy = (y256 / 256.0 - (below << size))[:, None] / cell - 0.5 - 0.15 * part(bits, 11)
    u, v = dx + 0.5 * part(more, 0) * dy, dy * (1.3 + 0.5 * part(more, 8))
    inside = cell * (0.22 + 0.06 * part(more, 16) - numpy.sqrt(u * u + v * v)) + 0.5
    light = (numpy.clip(inside, 0, 1) * 70 * part(bits, 19)).astype(numpy.int32)
    there = bits % (16 if size > 3 else 64) <= 2
    return light * there[below][:, right]


def photograph(width, height):
    """As in tests/parity/sift.hpp."""
    x256, y256 = ((2 * numpy.arange(side) + 1) * full * 128 // side
                  for side, full in ((width, 1920), (height, 1080)))
    x, y = x256 >> 8, y256 >> 8

    def corners(seed, level):
        return hashes_of(seed, *(numpy.arange((int(last[-1]) >> level) + 2) for last in (x, y)))

    light = sum((between((corners(256 | level, level) & 1023).astype(numpy.int32) - 512, level,
                         x.astype(numpy.int32), y.astype(numpy.int32)) << level - 4)
                for level in range(4, 10))
    level = 118 + (light / 260).astype(numpy.int32)  # towards 0
    for size in range(3, 9):
        level += oval(corners(size, size), size, x256, y256)
    coins = numpy.array([bin(bits).count("1") - 8 for bits in range(1 << 16)], numpy.int32)
    noise = hashes_of(2, numpy.arange(width), numpy.arange(height))
    return numpy.clip(level + coins[noise & 0xffff], 0, 255).astype(numpy.uint8)


def share_found(theirs, ours):
    """How many of theirs, places and sigmas, ours have too: to half a pixel, and 2^0.15 in sigma."""
    found, ours = 0, cupy.asarray(ours)
    for some in numpy.array_split(theirs, len(theirs) // 1000 + 1):
        some = cupy.asarray(some)[:, None]
        x, y = (some[..., i] - ours[:, i] for i in (0, 1))
        sigma = cupy.log2(some[..., 2] / ours[:, 2])
        near = (abs(x) < 0.5) & (abs(y) < 0.5) & (abs(sigma) < 0.15)
        found += int(near.any(1).sum())
    return found / len(theirs)


def detection(op, images):
    """OpenCV always doubles the picture, and as ours does. So nearly all that it finds is ours."""
    keypoints = cupy.zeros((FEATURES, gpv.KEYPOINT.itemsize // 4), numpy.float32)
    descriptors = cupy.zeros((FEATURES, LENGTH), numpy.uint8)
    sift = cv2.SIFT_create(0, 3, 0.04, 10, 1.6, cv2.CV_8U)

    def ours(src, _):
        op.run(src, keypoints=keypoints, descriptors=descriptors)

    def opencv():
        return sift.detectAndCompute(images.host, None)[0]

    def same(theirs):
        theirs = numpy.array([(*k.pt, k.size / 2) for k in theirs], numpy.float32)
        return abs(len(theirs) / count - 1) < 0.03 and share_found(theirs, expected) > 0.98

    op.prepare(images.src[0])
    ours(*images.ours[0])
    count = op.wait().count
    expected = cupy.asnumpy(keypoints)[:count, :3]
    row = {"name": f"up1, {count} keypoints", "image": f"photo {images.size()}"}
    return compare(row, ours, images, [], None, [(f"SIFT, {len(opencv())} keypoints", opencv)],
                   lambda name, call, _: time_opencv(name, call, same))


def detections(context):
    if not cv2:
        not_run("there is nothing to compare with")
    op = gpv.Sift(context)
    for size in (640, 480), (1280, 960), (1920, 1080), (3840, 2160):
        yield from detection(op, Images(photograph(*size), numpy.uint8))


# ---- matching ----


class Sets:
    """Queries again and again, in the place of Images, and what they are compared with."""

    def __init__(self, query, train):
        self.query, self.train, self.device_train = query, train, cupy.asarray(train)
        self.copied = (query.nbytes + train.nbytes) // 2
        self.count = min(cold_count(query.nbytes), 40)
        self.src = [cupy.asarray(query) for _ in range(self.count)]
        self.dst = [cupy.zeros((len(query), 4), numpy.int32) for _ in range(self.count)]
        self.ours = list(zip(self.src, self.dst))

    def calls(self):
        return self.count

    def size(self):
        return f"{len(self.query)} x {len(self.train)}"


def descriptors_of(queries, trains):
    """As of a picture, and of one that shows much of it."""
    lots = numpy.random.default_rng(7)

    def some(count):
        numbers = lots.random((count, LENGTH)) ** 3
        numbers *= 512 / numpy.sqrt((numbers ** 2).sum(1, keepdims=True))
        return numpy.minimum(numbers, 255).astype(numpy.uint8)

    query, train = some(queries), some(trains)
    partners = numpy.flatnonzero(numpy.arange(min(queries, trains)) % 5 >= 2)
    changed = query[partners] + lots.integers(-8, 9, (len(partners), LENGTH))
    train[partners] = numpy.clip(changed, 0, 255)
    return query, train


def torch_nearest(sets):
    """Distances by products on tensor cores, of bytes less 128, which have the same; in floats, too."""
    torch = find_torch()
    if not torch:
        return []

    def of_bytes(array):
        return (torch.as_tensor(array, device="cuda").int() - 128).to(torch.int8)

    def of_floats(array):
        return torch.as_tensor(array, device="cuda").float()

    def lengths(rows):
        return (rows.int() ** 2).sum(1, keepdim=True, dtype=torch.int32)

    def finder(take, product):
        with stream_of(torch):
            train = take(sets.device_train)
            trains = lengths(train).T

        def run(src, dst):
            with stream_of(torch):
                query = take(src)
                distances = lengths(query) + trains - 2 * product(query, train.T)
                minimum = torch.topk(distances, 2, largest=False)
                out = torch.as_tensor(dst, device="cuda")
                out[:, :2], out[:, 2:] = minimum.indices, minimum.values
        return run

    name = f"PyTorch {torch.__version__}"
    return [(f"{name} _int_mm, topk", finder(of_bytes, torch._int_mm)),
            (f"{name} mm, topk", finder(of_floats, torch.mm))]


def two_nearest(op, sets):
    def ours(query, nearest):
        op.run(query, sets.device_train, nearest=nearest)

    def same(nearest):  # of equal distances they may have others
        return numpy.array_equal(nearest[:, 2:], expected[:, 2:])

    def opencv():
        pairs = matcher.knnMatch(floats[0], floats[1], 2)
        return numpy.array([[m.trainIdx for m in pair] + [round(m.distance ** 2) for m in pair]
                            for pair in pairs])

    def near(nearest):  # a root in single precision has been squared
        return numpy.allclose(nearest[:, 2:], expected[:, 2:], rtol=1e-6, atol=1)

    matcher = cv2 and cv2.BFMatcher(cv2.NORM_L2)
    floats = [part.astype(numpy.float32) for part in (sets.query, sets.train)]
    op.set(ratio=0, mutual=0)
    op.prepare(len(sets.query), len(sets.train), "cuda")
    ours(*sets.ours[0])
    op.wait()
    expected = cupy.asnumpy(sets.dst[0])
    row = {"name": "two nearest", "image": sets.size()}
    return compare(row, ours, sets, torch_nearest(sets), same,
                   [("BFMatcher, with lists in Python", opencv)],
                   lambda name, call, _: time_slow_opencv(name, call, near))


def matchings(context):
    op = gpv.Match(context)
    for queries, trains in (2000, 2000), (10000, 10000):
        yield from two_nearest(op, Sets(*descriptors_of(queries, trains)))


def show(row):
    peer = f", {row['peer']} {row['peer_us'][0]:.2f} us" if "peer" in row else ""
    print(f"{row['name']:22} {row['image']:24} {row['ours_us'][0]:8.2f} us, copy "
          f"{row['copy_us']:.2f} us{peer}", flush=True)


def main():
    algorithms = {"erode": erosions, "ccl": labellings, "kmeans": segmentations,
                  "match": matchings, "sift": detections}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stem", choices=algorithms)
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    args = parser.parse_args()
    rows = []
    with gpv.Context() as context, cupy.cuda.Stream(non_blocking=True):
        if context.backend != gpv.Backend.CUDA:
            sys.exit("gpuvision computes on the CPU here")
        for row in algorithms[args.stem](context):
            show(row)
            rows.append(row)
    if args.json:
        Path(args.json).write_text(json.dumps({"benchmarks": rows}, indent=1) + "\n")


main()
