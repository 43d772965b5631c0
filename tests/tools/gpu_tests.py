# SPDX-License-Identifier: BSD-2-Clause
"""Runs the tests that need a GPU, one at a time on each GPU, while there is time.

gpu_tests.py FOLDER RECORD SECONDS LOG

FOLDER    where Meson builds: what the tests need is built, which counts as well
RECORD    a file of docs/results. Tests that have passed in its section "reliability", on this GPU
          with today's sources, are left out, until all have
SECONDS   then what still runs is cut off, and begins the next time, unless it had most of them
          already; nothing begins that took longer than what is left
LOG       gets what Meson logs of each test, for results.py record

Exits with 0 if each test has run, and none has failed. CUDA_VISIBLE_DEVICES says which GPUs.
"""
import json
import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from needed import in_suite, introspect, targets
from results import goes_on, kind, load_tests, short, stamp


class Queue:
    """The tests that are left, and how those went that have run."""

    def __init__(self, folder, record, seconds, log):
        self.folder, self.log = Path(folder), Path(log)
        self.begin, self.end = time.monotonic(), time.monotonic() + seconds
        self.lock = Lock()
        self.ran, self.failed = 0, 0
        subprocess.run(["ninja", "-C", folder, "build.ninja"], check=True)  # if Meson has changed
        tests = {test["name"]: test for test in introspect(folder, "tests") if in_suite(test, "cuda")}

        earlier = self.earlier(record)
        results = {short(name): result for name, result in earlier["results"].items()}
        took = {short(name): took for name, took in earlier["seconds"].items()}
        self.took = {name: took[name] for name in took if results.get(name) != "INTERRUPT"}
        left = [name for name in tests if kind(results.get(name)) != "passed"]
        if all(kind(results.get(name)) == "skipped" for name in left):
            left = tests

        def rank(name):
            if results.get(name) == "INTERRUPT":
                return 0 if took.get(name, 0) < 0.8 * seconds else 2
            return 1
        self.left = sorted(left, key=lambda name: (rank(name), -took.get(name, math.inf)))
        subprocess.run(["ninja", "-C", folder, *targets(folder, [tests[name] for name in left])],
                       check=True)

    @staticmethod
    def earlier(record):
        sections = json.loads(Path(record).read_text())["tests"] if Path(record).exists() else {}
        section = sections.get("reliability", {})
        nothing = {"results": {}, "seconds": {}}
        return {**nothing, **section} if goes_on(section, stamp()) else nothing

    def remaining(self):
        return self.end - time.monotonic()

    def take(self):
        with self.lock:
            for name in self.left:
                if max(self.took.get(name, 0), 1) <= self.remaining():
                    self.left.remove(name)
                    return name
        return None

    def run(self, name, gpu):
        base = f"reliability-{name}"
        log = self.folder / f"meson-logs/{base}.json"
        log.unlink(missing_ok=True)
        begin = time.monotonic()
        with open(self.folder / f"{base}.log", "w", encoding="utf-8") as output:
            meson = subprocess.Popen(
                ["meson", "test", "-C", self.folder, "--no-rebuild", "--print-errorlogs",
                 "--num-processes", "1", "--logbase", base, name],
                env={**os.environ, "CUDA_VISIBLE_DEVICES": gpu}, stdout=output,
                stderr=subprocess.STDOUT)
            try:
                meson.wait(max(0, self.remaining()))
            except subprocess.TimeoutExpired:
                meson.send_signal(signal.SIGINT)
                meson.wait()
        self.note(name, log, time.monotonic() - begin, gpu)

    def note(self, name, log, took, gpu):
        if not log.exists() or not log.stat().st_size:  # of a Meson that went wrong itself
            log.write_text(json.dumps({"name": name, "result": "FAIL"}))
        with self.lock:
            with open(self.log, "a", encoding="utf-8") as logs:
                logs.write(log.read_text(encoding="utf-8").rstrip("\n") + "\n")
            results = [result for _, result, *_ in load_tests(log)]
            self.ran += 1
            self.failed += any(kind(result) == "failed" for result in results)
            print(f"{time.monotonic() - self.begin:4.0f} s: {name}: {', '.join(results)} "
                  f"in {took:.0f} s, GPU {gpu}; {len(self.left)} left", flush=True)


def gpus():
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen:
        return chosen.split(",")
    listed = subprocess.run(["nvidia-smi", "-L"], check=True, text=True, capture_output=True).stdout
    return [str(number) for number in range(sum(line.startswith("GPU ")
                                                for line in listed.splitlines()))]


def shares(count):
    """Of the processor's cores, for each GPU, so that its tests take as long as alone."""
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // count)
    return [cores[at * share:(at + 1) * share] or cores for at in range(count)]


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    folder, record, seconds, log = sys.argv[1:]
    devices = gpus()
    queue = Queue(folder, record, float(seconds), log)

    def serve(gpu, cores):
        os.sched_setaffinity(0, cores)  # of this thread, and what it starts
        while name := queue.take():
            queue.run(name, gpu)

    with ThreadPoolExecutor(len(devices)) as pool:
        served = [pool.submit(serve, *pair) for pair in zip(devices, shares(len(devices)))]
        try:
            for stream in served:
                stream.result()
        except BaseException:
            queue.end = 0  # the others take no more
            raise
    print(f"{queue.ran} tests have run, of which {queue.failed} failed or were cut off")
    if queue.left:
        print(f"There was no time for {', '.join(queue.left)}: the same command goes on with them.")
    sys.exit(1 if queue.failed or queue.left else 0)


if __name__ == "__main__":
    main()
