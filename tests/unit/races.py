# SPDX-License-Identifier: BSD-2-Clause
"""Fails unless ThreadSanitizer reports a race in a loop, and one between callers, and nothing else.

usage: races.py PROGRAM
"""
import re
import subprocess
import sys

REPORT = re.compile(r"ThreadSanitizer: data race.*?(?:write|read) of size 4 at (0x[0-9a-f]+)",
                    re.S | re.I)
failed = False
for counts in "in-loop", "between-callers", "none":
    done = subprocess.run([sys.argv[1], counts], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    counter = re.match("0x[0-9a-f]+", done.stdout)
    places = {int(place, 16) for place in REPORT.findall(done.stdout)}
    if counts == "none":
        good = "ThreadSanitizer" not in done.stdout and done.returncode == 0
    else:
        good = counter and places == {int(counter[0], 16)} and done.returncode != 0
    print(f"{counts}: {len(places)} places reported, exit status {done.returncode}")
    if not good:
        print(done.stdout)
        failed = True
sys.exit(failed)
