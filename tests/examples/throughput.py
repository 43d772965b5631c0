# SPDX-License-Identifier: BSD-2-Clause
"""sift-throughput finds the same in every way, says which pictures are broken, and refuses bad input.

usage: throughput.py PROGRAM
"""
import os
import random
import re
import sys
import tempfile

from common import assert_said, netpbm, run


def textured(seed, width, height):
    """Squares of random light, so that there is something to find."""
    light = random.Random(seed)
    cells = [light.randrange(256) for _ in range(64 * 64)]
    return bytes(cells[y // 7 * 64 + x // 7] for y in range(height) for x in range(width))


def check_folder(program, folder):
    for i in range(9):
        width, height = 100 + 20 * i, 160 - 10 * i
        with open(os.path.join(folder, f"{i}.pgm"), "wb") as file:
            file.write(netpbm(width, height, textured(i, width, height)))
    with open(os.path.join(folder, "broken.png"), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\nno more than that")
    os.mkdir(os.path.join(folder, "inside"))
    result = run(program, "--rounds", 2, "--threads", 3, folder)
    assert result.returncode == 0, result.stderr
    skipped = [line for line in result.stderr.splitlines() if line.startswith("skipped: ")]
    assert len(skipped) == 1 and "broken.png" in skipped[0], result.stderr
    assert "9 pictures" in result.stdout and "3 threads" in result.stdout, result.stdout
    for way in ("CPU, 3 threads, pictures in memory", "decoding alone, once",
                "CPU, 3 threads, with decoding"):
        rate = re.search(rf"^{way} +([\d.]+)", result.stdout, re.M)
        assert rate and float(rate[1]) > 0, f"{way}: {result.stdout}"
    keypoints = re.search(r"^(\d+) keypoints, the same in every way that brings them to the host$", result.stdout, re.M)
    assert keypoints and int(keypoints[1]) > 9 * 20, result.stdout
    few = run(program, "--rounds", 1, "--features", 10, folder)
    assert "90 keypoints, the same" in few.stdout, few.stdout


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        assert_said(run(program, os.path.join(folder, "missing")), "missing is no folder")
        assert_said(run(program, folder), "no picture that can be decoded")
        check_folder(program, folder)
    assert_said(run(program), "usage")
    assert_said(run(program, "--rounds", "0", "."), "--rounds", "1 to 1000")
    assert_said(run(program, "--threads", "many", "."), "--threads", "whole number")
    assert_said(run(program, ".", "--features"), "--features needs a number")
    assert_said(run(program, ".", "again"), "usage")
    print("the same in every way, and what is broken is named")


if __name__ == "__main__":
    main()
