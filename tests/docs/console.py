# SPDX-License-Identifier: BSD-2-Clause
"""Every command of a page's console blocks, a line that begins with $, succeeds and prints what follows it.
… is anything, and so is the name of what computes, at the end of a line.

usage: console.py BUILD-FOLDER PAGE...
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import markdown


def runs(block):
    """(line, command, what is printed)"""
    for run in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.M):
        yield block.line + block.text.count("\n", 0, run.start()), run[1], run[2]


def anywhere(text):
    return re.sub(r"\bon \S.*\)$", "on …", text, flags=re.M)


build, *pages = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "build").symlink_to(Path(build).resolve())
    for name in ("examples", "tests"):
        Path(folder, name).symlink_to(markdown.TOP / name)
    for page in pages:
        count = 0
        for block in markdown.blocks(page):
            for line, command, wanted in runs(block) if block.language == "console" else ():
                count += 1
                done = subprocess.run(["sh", "-ec", command], cwd=folder, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                if done.returncode:
                    sys.exit(f"{block.page}:{line}: exit status {done.returncode}:\n{done.stdout}")
                markdown.check_printed(f"{block.page}:{line}", anywhere(wanted), done.stdout)
        assert count, f"{page} has no block of console"
        print(f"{page}: {count} commands")
