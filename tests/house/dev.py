# SPDX-License-Identifier: BSD-2-Clause
"""./dev demo answers what needs no build before there is one.

usage: dev.py SOURCE BUILD
"""
import os
import subprocess
import sys
from pathlib import Path

WITHOUT_DISPLAY = {**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""}

for words, returned, said in ((["--help"], 0, "./dev demo ["), (["x.mp4", "-h"], 0, "./dev demo ["),
                              (["--frames", "x"], 1, "whole number"), (["-n"], 1, "needs a value"),
                              (["nofile.mp4"], 1, "there is no file nofile.mp4"), (["/"], 1, "a folder"),
                              (["a", "b"], 1, "one file"), (["--effect=nonsense"], 1, "nonsense"),
                              (["--nonsense"], 1, "no option"), (["--window"], 1, "no display")):
    result = subprocess.run([Path(sys.argv[1]).resolve() / "dev", "demo", *words], text=True, timeout=10, env=WITHOUT_DISPLAY,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode == returned and said in result.stdout, f"{words}: {result}"
    assert "\n+ " not in "\n" + result.stdout, f"{words}: {result.stdout}"
