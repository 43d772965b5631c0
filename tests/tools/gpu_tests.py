# SPDX-License-Identifier: BSD-2-Clause
"""Runs what computes on a GPU while there is time, and records each result at once.

gpu_tests.py FOLDER GPU SECONDS STAGE... [-- NAME...]

FOLDER    where Meson builds: what the tests need is built, which counts as well
GPU       results go to docs/results/GPU.json
SECONDS   then what still runs is cut off. Nothing begins that took longer than what is left; the next call
          goes on
STAGE     test:      the tests of the suites gpu, cuda and cuda-brief, and those called -cuda, in their short form;
                     not those of the suites full and time
          sanitize:  suite cuda-brief by each tool of compute-sanitizer, suite api by memcheck; racecheck in the
                     short form
          soak:      the suite soak for long, and the others as a whole
NAME      only tests of these names, and of these suites

A test of the elements has a record for each GStreamer.

First what has failed, was cut off or never ran, then what has passed on other sources, what takes longest
first, so that all lanes end together. What has passed on today's sources is left out, until all has: then
the oldest first. Tests run side by side, each with a share of the processor; then those that are not parallel
for Meson, one at a time on each GPU; then the tools of compute-sanitizer, beside which all else takes three
times as long, a few side by side on each GPU. CUDA_VISIBLE_DEVICES says which GPUs.

Exits with 0 if nothing is left, and nothing has failed; with 2 for a NAME that is none.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from closure import Sources
from needed import digests, in_suite, introspect, targets
from results import RESULTS, keep, kind, load, load_or_begin, load_tests, machine

TOOLS = {"racecheck": "racecheck", "memcheck": "memcheck --leak-check full", "initcheck": "initcheck",
         "synccheck": "synccheck"}
STRICT = "--error-exitcode 1 --require-cuda-init no --target-processes all"
LONG = (("GPV_TEST_FULL", "1"),)
SHORT = (("GPV_TEST_SHORT", "1"), ("GPV_TEST_TURN", os.environ.get("GPV_TEST_TURN", "0")))
ON_GPU = (("GPV_TEST_GPU", "1"),)  # what needs none is left out
RACECHECK = (("GPV_TEST_RACECHECK", "1"),)  # what two threads launch is left out: it loses track of that
HAVE_SHORT = ("parity", "gst", "simt")  # suites
# Without what says how much tests do.
OUTER = {name: value for name, value in os.environ.items()
         if name not in ("GPV_TEST_FULL", "GPV_TEST_ROUNDS", "GPV_TEST_SHORT", "GPV_TEST_TURN")}
CORES_OF_A_TEST = 2
SANITIZERS = 3  # side by side on a GPU
FIRST_PORT, PORTS = 49152, 100  # by which each reaches its program: with those of another it hangs now and then
MIB_OF_A_TEST = 12000  # of the GPU's memory, where images are as large as they can be
UNKNOWN_S = 20  # of what nothing is known about
OLDEST_GSTREAMER = "1.22"


@dataclass
class Item:
    name: str   # of its record: the test's, behind the tool that watches it, "long", "whole" or a GStreamer
    test: dict
    lane: str   # shared: side by side; alone: one at a time; sanitizer: a few
    tool: str = ""  # of compute-sanitizer, and its options
    environment: tuple = ()
    seconds: float = 0  # that it is expected to take; 0 is unknown
    rank: tuple = ()


def on_gpu(test):
    return any(in_suite(test, suite) for suite in ("gpu", "gpus", "cuda", "cuda-brief")) or \
        test["name"].endswith("-cuda")


def items(tests, stages):
    for test in tests:
        name, lane = test["name"], "shared" if test["is_parallel"] else "alone"
        whole = "soak" in stages
        # A test of the API launches kernels in two threads: the other tools lose track of a launch
        # there, or hang. And they crash, or hang, in programs that fork. Under racecheck each launch takes
        # tens of milliseconds.
        for tool, options in TOOLS.items():
            # The suite threads is of the CPU.
            if not (in_suite(test, "cuda-brief") or
                    tool == "memcheck" and in_suite(test, "api") and not in_suite(test, "threads")):
                continue
            item = Item(f"{tool} {name}", test, "sanitizer", options, (("CK_FORK", "no"),))
            if tool == "racecheck":
                item.environment += RACECHECK
                if whole:
                    yield replace(item, name=f"whole {item.name}")
                item.environment += SHORT
            if "sanitize" in stages:
                yield item
        if "test" in stages and on_gpu(test) and not any(in_suite(test, suite) for suite in ("full", "time")):
            has_short = any(in_suite(test, suite) for suite in HAVE_SHORT)
            yield Item(name, test, lane, environment=ON_GPU + SHORT * has_short)
        if whole and in_suite(test, "soak"):
            yield Item(f"long {name}", test, "alone", environment=LONG)
        elif whole and on_gpu(test):
            yield Item(f"whole {name}", test, lane)


def on_gstreamer(folder, found):
    """Of the elements' tests each version has records of its own; those without one are of the oldest."""
    version = next((one["version"] for one in introspect(folder, "dependencies") if one["name"] == "gstreamer-1.0"),
                   OLDEST_GSTREAMER)
    version = ".".join(version.split(".")[:2])
    for item in found:
        if version != OLDEST_GSTREAMER and in_suite(item.test, "gst"):
            item.name = f"GStreamer-{version} {item.name}"
        yield item


def chosen(found, names):
    """Those of these names, tests or suites."""
    for name in names:
        if not any(name in (item.name, item.test["name"]) or in_suite(item.test, name) for item in found):
            print(f"no test of these stages, and no suite, is called {name}", file=sys.stderr)
            sys.exit(2)
    return [item for item in found if not names or item.test["name"] in names or item.name in names or
            any(in_suite(item.test, name) for name in names)]


class Queue:
    """What is left, and how that went which has run."""

    def __init__(self, folder, gpu, seconds, stages, names, devices):
        self.folder, self.gpu = Path(folder), gpu
        self.begin, self.end = time.monotonic(), time.monotonic() + seconds
        self.lock, self.counts = Lock(), Counter()
        subprocess.run(["ninja", "-C", folder, "build.ninja"], check=True)  # if Meson has changed
        tests = [test for test in introspect(folder, "tests")
                 if devices > 1 or not in_suite(test, "gpus")]
        found = chosen(list(on_gstreamer(folder, items(tests, stages))), names)
        self.sources = digests(Sources(), folder, [item.test for item in found])
        self.records = load_or_begin(gpu)["tests"]
        self.facts = machine()

        known = [load(path.name).get("tests", {}) for path in sorted(RESULTS.glob("*.json"))]
        for item in found:
            record = self.records.get(item.name)
            item.seconds = next((run["seconds"] for tests in [self.records, *known]
                                 if (run := tests.get(item.name)) and self.tells(run, item)), 0)
            item.rank = self.rank(item, record)
        left = [item for item in found if item.rank[0] < 3]
        if not any(item.rank[0] < 2 for item in left):
            print("all have passed with today's sources on this GPU, or were skipped: once more, the oldest first")
            left = found
        self.left = sorted(left, key=lambda item: (*item.rank, -(item.seconds or UNKNOWN_S)))
        subprocess.run(["ninja", "-C", folder, *targets(folder, [item.test for item in left])], check=True)

    def rank(self, item, record):
        if not record or kind(record["result"]) == "failed":
            return 0, ""
        if record["source"] != self.sources[item.test["name"]]:
            return 1, ""
        return (2, "") if kind(record["result"]) == "skipped" else (3, record["date"])

    def tells(self, run, item):
        """Whether it says how long a test takes. Of one that was cut off other sources may be faster."""
        return run.get("seconds") and (run["result"] != "INTERRUPT" or
                                       run["source"] == self.sources[item.test["name"]])

    def needed(self, lane):
        return sum(item.seconds or UNKNOWN_S for item in self.left if item.lane == lane)

    def take(self, lane, end):
        with self.lock:
            for item in self.left:
                if item.lane == lane and max(item.seconds, 1) <= min(end, self.end) - time.monotonic():
                    self.left.remove(item)
                    return item
        return None

    def run(self, item, at, devices):
        """at: which of those that run side by side, each with ports of its own."""
        base = item.name.replace(" ", "-")
        watched = []
        if item.tool:
            watched = ["--timeout-multiplier", "8", "--wrapper",
                       f"compute-sanitizer --tool {item.tool} {STRICT} --port {FIRST_PORT + PORTS * at}"]
        # Meson adds the name of the wrapper.
        log = self.folder / f"meson-logs/gpu-{base}{'-compute-sanitizer' * bool(item.tool)}.json"
        log.unlink(missing_ok=True)
        begin = time.monotonic()
        with open(self.folder / f"gpu-{base}.log", "w", encoding="utf-8") as output:
            meson = subprocess.Popen(
                ["meson", "test", "-C", self.folder, "--no-rebuild", "--print-errorlogs", "--num-processes", "1",
                 "--logbase", f"gpu-{base}", *watched, item.test["name"]],
                env={**OUTER, "CUDA_VISIBLE_DEVICES": devices, **dict(item.environment)},
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            while meson.poll() is None:
                try:
                    meson.wait(max(0, min(0.5, self.end - time.monotonic())))
                except subprocess.TimeoutExpired:
                    if time.monotonic() >= self.end:
                        self.cut_off(meson)
        self.note(item, log, time.monotonic() - begin, devices)

    @staticmethod
    def cut_off(meson):
        meson.send_signal(signal.SIGINT)
        try:
            meson.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(meson.pid, signal.SIGKILL)
            meson.wait()

    def note(self, item, log, took, devices):
        found = [result for _, result, *_ in load_tests(log)]  # FAIL, of a Meson that wrote none
        result = found[0] if found else "FAIL"
        if time.monotonic() >= self.end and kind(result) == "failed":
            result = "INTERRUPT"
        with self.lock:
            self.counts[kind(result) if result != "INTERRUPT" else "cut off"] += 1
            # One that was cut off, or skipped on a machine that lacks something, says nothing about it; but
            # other sources may have failed only for that.
            record = {"result": result, "seconds": round(took, 1), "source": self.sources[item.test["name"]]}
            before = self.records.get(item.name, {"result": "SKIP"})
            if result not in ("SKIP", "INTERRUPT") or before["result"] in ("SKIP", "INTERRUPT") or \
                    kind(before["result"]) == "failed" and before["source"] != record["source"]:
                keep(self.gpu, {item.name: record}, self.facts)
            print(f"{time.monotonic() - self.begin:4.0f} s: {item.name}: {result} in {took:.0f} s, "
                  f"GPU {devices}; {len(self.left)} left", flush=True)
            if kind(result) == "failed" and result != "INTERRUPT":
                lines = (self.folder / f"gpu-{item.name.replace(' ', '-')}.log").read_text(
                    encoding="utf-8", errors="replace").splitlines()
                print(*("    " + line for line in lines[-25:]), sep="\n", flush=True)


def gpus():
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen:
        return chosen.split(",")
    listed = subprocess.run(["nvidia-smi", "-L"], check=True, text=True, capture_output=True).stdout
    return [str(number) for number in range(sum(line.startswith("GPU ")
                                                for line in listed.splitlines()))]


def memory():
    """MiB of the smallest GPU."""
    listed = subprocess.run(["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"],
                            check=True, text=True, capture_output=True).stdout
    return min(map(int, re.findall(r"^\d+$", listed, re.M)), default=0)


def shares(count):
    """Of the processor's cores, so that what runs side by side takes as long as alone."""
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // count)
    return [cores[at * share:(at + 1) * share] or cores for at in range(count)]


def serve(queue, lanes, end):
    """Until nothing is left of lanes, each (its name, its GPU), or nothing more fits."""
    def work(at, lane, device, cores, all_devices):
        os.sched_setaffinity(0, cores)  # of this thread, and what it starts
        while item := queue.take(lane, end):
            queue.run(item, at, all_devices if in_suite(item.test, "gpus") else device)

    devices = ",".join(dict.fromkeys(device for _, device in lanes))
    with ThreadPoolExecutor(len(lanes)) as pool:
        served = [pool.submit(work, at, *lane, cores, devices)
                  for at, (lane, cores) in enumerate(zip(lanes, shares(len(lanes))))]
        try:
            for lane in served:
                lane.result()
        except BaseException:
            queue.end = 0  # what runs is cut off, and the others take no more
            raise


def main():
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    if at < 4:
        sys.exit(__doc__)
    folder, gpu, seconds, *stages = words[:at]
    devices = gpus()
    queue = Queue(folder, gpu, float(seconds), stages, words[at + 1:], len(devices))
    each = max(2, min(len(os.sched_getaffinity(0)) // CORES_OF_A_TEST // len(devices), memory() // MIB_OF_A_TEST))
    lanes = [("shared", device) for device in devices for _ in range(each)]
    alone = [("alone", device) for device in devices]
    # Those that need the machine have their time, unless that is more than half of it.
    kept = min(queue.needed("alone") / len(devices), (queue.end - time.monotonic()) / 2)
    serve(queue, lanes, queue.end - kept)
    serve(queue, alone, queue.end)
    serve(queue, lanes, queue.end)  # in what time they did not need
    serve(queue, [("sanitizer", device) for device in devices for _ in range(min(each, SANITIZERS))], queue.end)
    count = queue.counts
    print(f"{sum(count.values())} have run: {count['passed']} passed, {count['failed']} failed, "
          f"{count['skipped']} skipped, {count['cut off']} cut off; {len(queue.left)} are left")
    if queue.left:
        print("The same command goes on with" if count else "There is not as much time as these took; give more --seconds:",
              ", ".join(item.name for item in queue.left))
    sys.exit(1 if count["failed"] or count["cut off"] or queue.left else 0)


if __name__ == "__main__":
    main()
