# SPDX-License-Identifier: BSD-2-Clause
"""Runs a libFuzzer target on its seeds and beyond: fuzz.py TARGET CORPUS.

GPV_FUZZ_SECONDS (60) says for how long, or GPV_FUZZ_RUNS how many runs it makes, which as many
processes as there are cores share, each on its own but for the first, whose library has them all.
What is found stays in the working directory. A run that computes for over a second aborts by itself
(bounded.cpp); -timeout ends one that waits.
"""
import os
import subprocess
import sys
import tempfile

target, corpus = sys.argv[1:]
runs = os.environ.get("GPV_FUZZ_RUNS")
cores = sorted(os.sched_getaffinity(0)) if runs else [0]
length = (f"-runs={-(-int(runs) // len(cores))}" if runs else
          f"-max_total_time={os.environ.get('GPV_FUZZ_SECONDS', '60')}")
# -entropic would take as long as many a run; a large quarantine, memory in each process.
options = ["-timeout=10", "-rss_limit_mb=4096", "-detect_leaks=1", "-entropic=0",
           "-print_final_stats=1", length]
environment = dict(os.environ)
environment["ASAN_OPTIONS"] = "quarantine_size_mb=32:" + os.environ.get("ASAN_OPTIONS", "")


def start(number, found):
    """The first process writes to the console, the others to files."""
    log = open(f"{found}.{number}.log", "w+b") if number else None
    process = subprocess.Popen([target, *options, found, corpus], env=environment, stdout=log,
                               stderr=subprocess.STDOUT if log else None)
    if number:
        os.sched_setaffinity(process.pid, {cores[number]})
    return process, log


failed = False
with tempfile.TemporaryDirectory() as folder:
    found = os.path.join(folder, "found")
    os.mkdir(found)
    for process, log in [start(number, found) for number in range(len(cores))]:
        process.wait()
        failed = failed or process.returncode != 0
        if log:
            log.seek(0)
            lines = log.read().decode(errors="replace").splitlines(keepends=True)
            print("".join(lines if process.returncode else lines[-12:]), flush=True)
sys.exit(failed)
