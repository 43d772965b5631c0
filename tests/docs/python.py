# SPDX-License-Identifier: BSD-2-Clause
"""Runs every block of Python of a page as a program. It prints what the block of text below it says, in which … is
anything.

usage: python.py PAGE...
"""
import subprocess
import sys

import markdown

count = 0
for page in sys.argv[1:]:
    blocks = markdown.blocks(page)
    for block, below in zip(blocks, blocks[1:]):
        if block.language != "python":
            continue
        assert below.language == "text", f"{below} does not say what {block} prints"
        done = subprocess.run([sys.executable, "-c", block.text], text=True, capture_output=True, timeout=60)
        if "No module named 'gi'" in done.stderr or "Namespace Gst not available" in done.stderr:
            print("skipped: install python3-gi and gir1.2-gstreamer-1.0, and use the system's Python")
            sys.exit(77)
        if done.returncode or done.stderr:
            sys.exit(f"{block}: exit status {done.returncode}:\n{done.stderr}")
        markdown.check_printed(block, below.text, done.stdout)
        count += 1
assert count, "no block of Python"
print(f"{count} programs")
