# SPDX-License-Identifier: BSD-2-Clause
"""Runs the tests that need a GPU, one at a time on each GPU, while there is time.

gpu_tests.py FOLDER RECORD SECONDS LOG

FOLDER    where Meson builds: what the tests need is built
RECORD    a file of docs/results. Tests that have passed in its section "reliability" with today's
          sources are left out, until all have; what was cut off, is not there, or took long, begins
SECONDS   then what still runs is cut off; nothing begins that took longer than what is left
LOG       gets what Meson logs of each test, for results.py record
"""
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from needed import in_suite, introspect, targets
from results import kind, short, source_hash


class Queue:
    """The tests that are left, and what is known of those that ended."""

    def __init__(self, folder, record, seconds, log):
        self.folder, self.log = Path(folder), Path(log)
        self.begin, self.end = time.monotonic(), time.monotonic() + seconds
        self.lock = threading.Lock()
        self.ended, self.failed = 0, 0
        self.tests = {test["name"]: test for test in introspect(folder, "tests")
                      if in_suite(test, "cuda") and not in_suite(test, "soak")}
        earlier = self.earlier(record)
        results = {short(name): result for name, result in earlier["results"].items()}
        self.took = {short(name): took for name, took in earlier["seconds"].items()
                     if results.get(short(name)) != "INTERRUPT"}
        left = [name for name in self.tests if kind(results.get(name)) != "passed"]
        if all(kind(results.get(name)) == "skipped" for name in left):
            left = self.tests
        self.left = sorted(left, key=lambda name: (results.get(name) != "INTERRUPT",
                                                   -self.took.get(name, math.inf)))

    @staticmethod
    def earlier(record):
        sections = json.loads(Path(record).read_text())["tests"] if Path(record).exists() else {}
        section = sections.get("reliability", {})
        nothing = {"results": {}, "seconds": {}}
        return {**nothing, **section} if section.get("source") == source_hash() else nothing

    def build(self):
        files = targets(self.folder, [self.tests[name] for name in self.left])
        subprocess.run(["ninja", "-C", self.folder, *files], check=True)

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
                env={**os.environ, "CUDA_VISIBLE_DEVICES": str(gpu)}, stdout=output,
                stderr=subprocess.STDOUT)
            try:
                meson.wait(max(0, self.remaining()))
            except subprocess.TimeoutExpired:
                meson.send_signal(signal.SIGINT)
                meson.wait()
        self.note(name, log, time.monotonic() - begin, gpu)

    def note(self, name, log, took, gpu):
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        results = [json.loads(line)["result"] for line in text.splitlines()]
        with self.lock:
            with open(self.log, "a", encoding="utf-8") as logs:
                logs.write(text or json.dumps({"name": name, "result": "FAIL"}) + "\n")
            self.ended += 1
            if not results or any(kind(result) == "failed" for result in results):
                self.failed += 1
            print(f"{time.monotonic() - self.begin:4.0f} s: {name}: "
                  f"{', '.join(results) or 'Meson has logged nothing'} in {took:.0f} s, GPU {gpu}; "
                  f"{len(self.left)} left", flush=True)


def cores_of(gpu, gpus):
    """A share of the processor for each GPU, so that its tests take as long as alone."""
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // gpus)
    return cores[gpu * share:(gpu + 1) * share] or cores


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    folder, record, seconds, log = sys.argv[1:]
    listed = subprocess.run([shutil.which("nvidia-smi") or "nvidia-smi", "-L"], check=True, text=True,
                            capture_output=True).stdout
    gpus = sum(line.startswith("GPU ") for line in listed.splitlines())
    queue = Queue(folder, record, float(seconds), log)
    queue.build()

    def serve(gpu, cores):
        os.sched_setaffinity(0, cores)  # of this thread, and what it starts
        while name := queue.take():
            queue.run(name, gpu)

    streams = [threading.Thread(target=serve, args=(gpu, cores_of(gpu, gpus)))
               for gpu in range(gpus)]
    for stream in streams:
        stream.start()
    for stream in streams:
        stream.join()
    print(f"{queue.ended} of {queue.ended + len(queue.left)} tests ended, {queue.failed} of them badly")
    if queue.left:
        print(f"there was no time for {', '.join(queue.left)}; the same command goes on with them")
    sys.exit(1 if queue.failed or not queue.ended else 0)


main()
