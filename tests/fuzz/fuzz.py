# SPDX-License-Identifier: BSD-2-Clause
"""Runs a libFuzzer target on its seeds and beyond: fuzz.py TARGET CORPUS.

GPV_FUZZ_SECONDS (60) says for how long, or GPV_FUZZ_RUNS how many runs it makes; what is found
stays in the working directory. A run that computes for over a second aborts by itself
(bounded.cpp); -timeout ends one that waits.
"""
import os
import subprocess
import sys
import tempfile

target, corpus = sys.argv[1:]
runs = os.environ.get("GPV_FUZZ_RUNS")
length = f"-runs={runs}" if runs else f"-max_total_time={os.environ.get('GPV_FUZZ_SECONDS', '60')}"
with tempfile.TemporaryDirectory() as found:
    sys.exit(subprocess.run([target, "-timeout=10", "-rss_limit_mb=4096", "-detect_leaks=1",
                             "-print_final_stats=1", length, found, corpus]).returncode)
