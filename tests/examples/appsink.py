# SPDX-License-Identifier: BSD-2-Clause
"""The application with appsink prints what is in the frames, and what is wrong.

usage: appsink.py PROGRAM
"""
import re
import subprocess
import sys

BALL = "videotestsrc num-buffers=5 pattern=ball ! video/x-raw,width=320,height=240"


def appsink(*args):
    return subprocess.run([sys.argv[1], *args], capture_output=True, text=True, timeout=60)


def lines_of(*args):
    result = appsink(*args)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return result.stdout.splitlines()


def check_ball():
    """Of the default pipeline: one component in the middle of the first frame, which the box, the
    strongest keypoint and the foreground agree with."""
    lines = lines_of()
    assert len(lines) == 3, lines
    for number, line in enumerate(lines):
        assert line.startswith(f"0:00:00.{1000000000 * number // 30:09}"), line
    found = re.search(r"components 1 \[(\d+) pixels at 160\.0,120\.0\]  keypoints (\d+) \[strongest at "
                      r"(\S+),(\S+), sigma \S+, angle \d+\]  foreground (\d+) pixels  "
                      r"component 1: (\d+)x(\d+)\+(\d+)\+(\d+)$", lines[0])
    assert found, lines[0]
    area, keypoints, x, y, foreground, width, height, left, top = map(float, found.groups())
    assert keypoints >= 1 and abs(x - 160) < 1 and abs(y - 120) < 1, lines[0]
    assert width == height and abs(area - 3.1416 / 4 * width * height) < 0.06 * area, lines[0]
    # The component, and what is grey round it: half a pixel on each side.
    assert area <= foreground < 3.1416 / 4 * (width + 1) * (height + 1), lines[0]
    assert abs(left + (width - 1) / 2 - 160) < 0.6 and abs(top + (height - 1) / 2 - 120) < 0.6, lines[0]


def check_others():
    """A component that is too small, colours, and the scaled metadata."""
    line, *_ = lines_of(f"{BALL} ! gpuerode operation=close ! gpukmeans clusters=2 ! gpuccl min-area=5000 "
                        "output=none")
    assert re.fullmatch(r"0:00:00\.0+  close  clusters( #[0-9a-f]{6}){2}  components 0", line), line
    whole, half = (re.search(r"component 1: (\d+)x(\d+)", lines_of(f"{BALL} ! gpuccl output=none{scaled}")[0])
                   for scaled in ("", " ! videoscale ! video/x-raw,width=160,height=120"))
    assert [int(side) // 2 for side in whole.groups()] == list(map(int, half.groups())), (whole, half)
    assert lines_of(BALL)[0] == "0:00:00.000000000", "a frame without metadata has a time alone"


def check_errors():
    assert appsink("one", "two").returncode == 2
    for pipeline, *words in (("videotestsrc ! nothing", "pipeline", 'no element "nothing"'),
                             ("filesrc location=missing ! decodebin ! gpuccl", "filesrc0", "missing"),
                             ("videotestsrc ! gpugraphcut seed-source=rect", "gpugraphcut0", "rect")):
        result = appsink(pipeline)
        assert result.returncode == 1 and all(word in result.stderr for word in words), result


check_ball()
check_others()
check_errors()
print("ok")
