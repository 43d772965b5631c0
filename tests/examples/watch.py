# SPDX-License-Identifier: BSD-2-Clause
"""The statistics of a pipeline: rows, lines of JSON and a chart, of what is in the frames; and what is
wrong with a pipeline.

usage: watch.py PROGRAM
"""
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from xml.etree import ElementTree

FRAMES = 7
BALL = f"videotestsrc num-buffers={FRAMES} pattern=ball ! video/x-raw,width=320,height=240"
SVG = "{http://www.w3.org/2000/svg}"


def command(*args):
    return [sys.executable, sys.argv[1], *args]


def watch(*args):
    return subprocess.run(command(*args), capture_output=True, text=True, timeout=60)


def run(*args):
    result = watch(*args)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return result.stdout


def check_json(folder):
    """A line for each frame and element, with what is in the frame."""
    path = os.path.join(folder, "lines.jsonl")
    shown = run("--json", path, *f"{BALL} ! gpuerode radius=2 ! gpuccl name=counter output=none ! gpusift "
                f"! gpukmeans clusters=2 ! fakesink".split())
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    kinds = {"gpuerode0": "gpuerode", "counter": "gpuccl", "gpusift0": "gpusift", "gpukmeans0": "gpukmeans"}
    for name, kind in kinds.items():
        own = [line for line in lines if line["element"] == name]
        assert {line["type"] for line in own} == {kind}, own
        assert [line["timestamp"] for line in own] == [10**9 * i // 30 for i in range(FRAMES)], own
    assert len(lines) == FRAMES * len(kinds)
    for line in lines:
        if line["type"] == "gpuccl":
            component, = line["components"]
            assert line["count"] == component["label"] == 1 and 700 < component["area"] < 1300, line
        if line["type"] == "gpukmeans":
            assert len(line["centroids"]) == 2 and sum(line["counts"]) == 320 * 240, line
    rows = [row.split() for row in shown.splitlines()]
    assert [row[0] for row in rows] == ["element", *kinds], shown
    assert all(row[1] == str(FRAMES) and float(row[2]) > 0 and float(row[3]) > 0 for row in rows[1:]), shown
    assert rows[2][5:7] == ["count", "1"] and rows[2][7] == "█" * FRAMES, shown


def check_values():
    """What JSON cannot say is null, and regions of a frame are counted together."""
    sys.path.insert(0, os.path.dirname(sys.argv[1]))
    messages = importlib.import_module("messages")
    values = [float("nan"), float("-inf"), messages.Gst.CLOCK_TIME_NONE, 0.5, 2**64 - 2, True, "nan"]
    assert [messages.plain(value) for value in values] == [None, None, None, *values[3:]]
    result = watch("--json", "-", *f"{BALL} ! gpuccl output=none ! gpuccl name=inner roi=meta ! fakesink".split())
    lines = [line for line in map(json.loads, result.stdout.splitlines()) if line["element"] == "inner"]
    assert [line["regions"][0]["count"] for line in lines] == [1] * FRAMES, result.stdout
    assert re.search(r"inner +7 .* count 1 ", result.stderr), result.stderr


def check_output():
    """With - the lines are the standard output, and nothing else is."""
    result = watch("--json", "-", *f"{BALL} ! gpuccl ! fakesink".split())
    assert result.returncode == 0 and "gpuccl0" in result.stderr, result.stderr
    assert [json.loads(line)["count"] for line in result.stdout.splitlines()] == [1] * FRAMES


def curves(path):
    """Title and points of each panel of a chart."""
    root = ElementTree.parse(path).getroot()
    titles = [text.text for text in root.iter(SVG + "text") if ": " in text.text]
    return dict(zip(titles, (line.get("points").split() for line in root.iter(SVG + "polyline")),
                    strict=True))


def check_chart(folder):
    path = os.path.join(folder, "chart.svg")
    run("--chart", path, *f"{BALL} ! gpuerode ! gpuccl ! fakesink".split())
    panels = curves(path)
    assert list(panels) == ["gpuerode0: ms in the library", "gpuccl0: count",
                            "gpuccl0: ms in the library"], panels
    assert all(len(points) == FRAMES for points in panels.values()), panels
    heights = {point.split(",")[1] for point in panels["gpuccl0: count"]}
    assert len(heights) == 1, f"the count is 1 in every frame: {heights}"


def check_interrupt(folder):
    """Ctrl-C ends a pipeline that would go on, finishes its file, and draws the chart."""
    chart, raw = os.path.join(folder, "ended.svg"), os.path.join(folder, "raw")
    process = subprocess.Popen(command("--chart", chart, *"videotestsrc is-live=true ! gpuccl ! filesink".split(),
                                       f"location={raw}"), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 30
    while not (os.path.exists(raw) and os.path.getsize(raw) > 0) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 0 and "gpuccl0" in said, said
    assert len(curves(chart)["gpuccl0: count"]) > 1, said


def check_said(args, *words):
    result = watch(*args)
    assert result.returncode not in (0, None) and "Traceback" not in result.stderr, result
    for word in words:
        assert word in result.stderr, f"{word!r} is not in: {result.stderr}"


def check_errors(folder):
    check_said(["videotestsrc", "!", "nothing", "!", "fakesink"], 'no element "nothing"', "meson devenv")
    check_said(["videotestsrc"], "pipeline", "one element")
    check_said(["videotestsrc", "!", "fakesink"], "none of its elements is of gpuvision")
    check_said(["filesrc", "location=missing", "!", "decodebin", "!", "gpuccl", "!", "fakesink"],
               "filesrc0", "missing")
    check_said([*BALL.split(), "!", "gpugraphcut", "seed-source=rect", "!", "fakesink"], "gpugraphcut0", "rect")
    check_said(["--chart", "chart.png", "videotestsrc"], "--chart", "chart.png", ".svg")
    check_said(["--json", os.path.join(folder, "missing", "x"), *f"{BALL} ! gpuccl ! fakesink".split()],
               "No such file", "missing")


def main():
    missing = re.match(r".*: install python3-gi", watch("--help").stderr)
    if missing:
        print(f"skipped: {missing.group()}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        check_json(folder)
        check_output()
        check_values()
        check_chart(folder)
        check_interrupt(folder)
        check_errors(folder)
    print("ok")


main()
