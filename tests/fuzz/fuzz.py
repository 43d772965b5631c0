# SPDX-License-Identifier: BSD-2-Clause
"""Runs a libFuzzer target on its seeds and beyond: fuzz.py TARGET CORPUS.

GPV_FUZZ_SECONDS (60) says for how long; what is found stays in the working directory.
"""
import os
import subprocess
import sys
import tempfile

target, corpus = sys.argv[1:]
with tempfile.TemporaryDirectory() as found:
    sys.exit(subprocess.run([target, "-timeout=10", "-rss_limit_mb=4096", "-print_final_stats=1",
                             f"-max_total_time={os.environ.get('GPV_FUZZ_SECONDS', '60')}",
                             found, corpus]).returncode)
