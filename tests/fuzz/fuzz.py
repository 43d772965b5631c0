# SPDX-License-Identifier: BSD-2-Clause
"""Runs a libFuzzer target on its seeds and beyond: fuzz.py TARGET CORPUS.

GPV_FUZZ_SECONDS (60) says for how long, or GPV_FUZZ_RUNS how many runs it makes, which as many
processes as there are cores share, each on its own but for the first, whose library has them all.
One that fails ends the others. The last line is the record: how many runs they made, and what the
slowest took. What is found stays in the working directory. A run that computes for over a second
aborts by itself (bounded.cpp); -timeout ends one that waits.
"""
import collections
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading

SKIPPED = 77
MIN_LINES, MAX_LINES = 12, 2000
target, corpus = sys.argv[1:]
runs = int(os.environ.get("GPV_FUZZ_RUNS") or 0)
cores = sorted(os.sched_getaffinity(0)) if runs else [0]
length = (f"-runs={-(-runs // len(cores))}" if runs else
          f"-max_total_time={os.environ.get('GPV_FUZZ_SECONDS', '60')}")
# -entropic would take as long as many a run; a large quarantine, memory in each process.
options = ["-timeout=10", "-rss_limit_mb=4096", "-detect_leaks=1", "-entropic=0",
           "-print_final_stats=1", "-error_exitcode=1", length]
environment = dict(os.environ)
environment["ASAN_OPTIONS"] = "quarantine_size_mb=32:" + os.environ.get("ASAN_OPTIONS", "")
ended = queue.SimpleQueue()


class Fuzzer(threading.Thread):
    """A process and what it says, which the first says at once."""

    def __init__(self, number, found):
        super().__init__()
        self.first = number == 0
        self.lines = collections.deque(maxlen=MAX_LINES)
        self.process = subprocess.Popen([target, *options, found, corpus], env=environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace")
        if not self.first:
            os.sched_setaffinity(self.process.pid, {cores[number]})

    def run(self):
        for line in self.process.stdout:
            self.lines.append(line)
            if self.first:
                print(line, end="", flush=True)
        self.process.wait()
        ended.put(self)

    def report(self):
        if not self.first:
            count = MAX_LINES if self.process.returncode else MIN_LINES
            print("".join(list(self.lines)[-count:]), flush=True)

    def number(self, pattern):
        """0 where it has not said it."""
        found = re.findall(pattern, "".join(self.lines), re.MULTILINE)
        return float(found[-1]) if found else 0


def finish(fuzzers):
    """0, or the status of the first that failed."""
    for _ in fuzzers:
        fuzzer = ended.get()
        fuzzer.report()
        if fuzzer.process.returncode:
            return fuzzer.process.returncode
    made = sum(int(f.number(r"^stat::number_of_executed_units:\s*(\d+)")) for f in fuzzers)
    slowest = max(f.number(r"^slowest run: ([\d.]+) s") for f in fuzzers)
    print(f"fuzz-{os.path.basename(corpus)}: {made} runs in {len(fuzzers)} processes, "
          f"the slowest {slowest:.3f} s of computing", flush=True)
    return made < max(runs, 1)


fuzzers = []
with tempfile.TemporaryDirectory() as folder:
    found = os.path.join(folder, "found")
    os.mkdir(found)
    try:
        for number in range(len(cores)):
            fuzzers.append(Fuzzer(number, found))
            fuzzers[-1].start()
        status = finish(fuzzers)
    finally:
        for fuzzer in fuzzers:
            fuzzer.process.kill()
            fuzzer.join()
sys.exit(status if status == SKIPPED else status != 0)
