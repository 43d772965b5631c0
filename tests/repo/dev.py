# SPDX-License-Identifier: BSD-2-Clause
"""./dev demo answers what needs no build before there is one; and every command of ./dev help has a file of its
own in tests/tools/dev, which finds what it sources, and refuses words that it does not know.

usage: dev.py SOURCE BUILD
"""
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(sys.argv[1]).resolve()
WITHOUT_DISPLAY = {**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""}


def dev(*words):
    """Exit status, and what is said; nothing has been run for it."""
    result = subprocess.run([TOP / "dev", *words], text=True, timeout=10, env=WITHOUT_DISPLAY,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert "\n+ " not in "\n" + result.stdout, f"{words}: {result.stdout}"
    return result.returncode, result.stdout


for words, returned, said in ((["--help"], 0, "./dev demo ["), (["x.mp4", "-h"], 0, "./dev demo ["),
                              (["--frames", "x"], 1, "whole number"), (["-n"], 1, "needs a value"),
                              (["nofile.mp4"], 1, "there is no file nofile.mp4"), (["/"], 1, "a folder"),
                              (["a", "b"], 1, "one file"), (["--effect=nonsense"], 1, "nonsense"),
                              (["--nonsense"], 1, "no option"), (["--window"], 1, "no display")):
    result = dev("demo", *words)
    assert result[0] == returned and said in result[1], f"{words}: {result}"

status, usage = dev("help")
commands = re.findall(r"^\./dev (\w+)", usage, re.M)
assert status == 0 and len(commands) > 5, usage
pieces = TOP / "tests/tools/dev"
for command in commands:
    assert (pieces / f"{command}.sh").exists(), f"there is no {pieces}/{command}.sh"
    status, said = dev(command, "--nonsense", "nonsense")
    assert status == 1 and re.match("dev: .*nonsense", said), f"{command}: {status} {said}"
    status, said = dev(command, "--help")
    assert status == 0 and said.startswith(f"./dev {command}") and said in usage, f"{command}: {status} {said}"
for word in "nonsense", "common":
    status, said = dev(word)
    assert status == 1 and said == f"{usage}dev: there is no command '{word}'\n", said
for piece in pieces.glob("*.sh"):
    subprocess.run(["bash", "-n", piece], check=True)
    for path in re.findall(r"^\. (.*)", piece.read_text(encoding="utf-8"), re.M):
        assert (TOP / path).exists(), f"{piece} sources {path}"
