# SPDX-License-Identifier: BSD-2-Clause
"""How many frames a second examples/archive makes of an archive, by workers and by GPUs, on this machine; and
what else a shard costs.

archive_rate.py --json FILE [--frames N] [--shards N] [--workers N...] [--videos V...] [--places cpu gpu]
                [--repeat N]
    makes clips of 1080p, and runs archive.py with Ray over them; in meson devenv, by a Python that has Ray
"""
import argparse
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tree import TOP

PROGRAM = TOP / "examples/archive/archive.py"
RECIPE = "count-objects"


def make_clip(path, frames, pattern):
    subprocess.run(shlex.split(
        f"gst-launch-1.0 -q videotestsrc num-buffers={frames} pattern={pattern} ! video/x-raw,format=I420,"
        "width=1920,height=1080,framerate=30/1 ! openh264enc ! h264parse ! mp4mux ! filesink "
        f"location={path}"), check=True, stderr=subprocess.DEVNULL)


def make_clips(folder, frames, shards):
    """Of a few patterns, so that making them does not take longer than the measurements."""
    patterns = ["ball", "smpte", "circular", "spokes"]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda pattern: make_clip(folder / f"{pattern}.mp4", frames, pattern), patterns))
    for i in range(len(patterns), shards):
        shutil.copy(folder / f"{patterns[i % len(patterns)]}.mp4", folder / f"{i:03}.mp4")


def gpus():
    """As CUDA_VISIBLE_DEVICES has them."""
    there = subprocess.run(["nvidia-smi", "-L"], text=True, capture_output=True).stdout if \
        shutil.which("nvidia-smi") else ""
    return [str(i) for i in range(len(re.findall(r"^GPU", there, re.M)))]


def rate(clips, video, workers, devices):
    """Frames a second of a whole run, from the first worker's start to the last one's end."""
    options = ["--gpus", str(max(len(devices) / workers, 0.01))] if devices else ["--gpus", "0"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, PROGRAM, "run", clips, "--recipe", RECIPE, "--video", video, "--workers",
             str(workers), *options, "--out", Path(folder) / "out"], text=True, capture_output=True,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ",".join(devices)})
        if done.returncode:
            sys.exit(f"{done.stdout}{done.stderr}{done.args} failed")
        backends = {json.loads(line)["backend"]
                    for line in (Path(folder) / "out/manifest.jsonl").read_text().splitlines()}
    if backends != {"cuda" if devices else "cpu"}:
        sys.exit(f"{done.args} ran on {backends}")
    return float(re.findall(r"([\d.]+) frames/s", done.stderr)[-1])


# ---- what else a shard costs ----

APPEND = """
import sys, time
sys.path.insert(0, sys.argv[1])
from store import Store
store, begin = Store(sys.argv[2]), time.monotonic()
for i in range(int(sys.argv[3])):
    store.append({"shard": f"{i}.mp4", "why": "as long as a row is, " * 30})
print(time.monotonic() - begin)
"""


def archive(*args):
    """Seconds, and what it says."""
    begin = time.monotonic()
    done = subprocess.run([sys.executable, PROGRAM, *args], text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}{done.args} failed")
    return time.monotonic() - begin, done.stdout


def append_s(out, processes, rows):
    """Seconds that a row takes while so many processes write some."""
    running = [subprocess.Popen([sys.executable, "-c", APPEND, PROGRAM.parent, out, str(rows)],
                                stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return max(float(one.communicate()[0]) for one in running) / (processes * rows)


def costs(repeat):
    """In ms, of clips of one frame, in turn."""
    files, cut, worked, processes, rows_each = 5000, 200, 20, 8, 50
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clip = folder / "clip.mp4"
        make_clip(clip, 1, "ball")
        for clips, count in ("one", 1), ("some", cut), ("many", files):
            (folder / clips).mkdir()
            for i in range(count):
                os.link(clip, folder / clips / f"{i}.mp4")

        def plan(clips, turn, *more):
            out = folder / f"{clips}{turn}{len(more)}"
            return archive("plan", folder / clips, "--recipe", RECIPE, "--video", "none", "--out", out, *more)[0], out

        for turn in range(repeat):
            begin_s, _ = plan("one", turn)
            whole_s, _ = plan("many", turn)
            split_s, out = plan("some", turn, "--split", "60")
            process_s, said = archive("work", out, *map(str, range(worked)))
            shards_s = [json.loads(line)["seconds"] for line in said.splitlines()[1:]]
            for what, seconds in (
                    ("plan, each file", (whole_s - begin_s) / files),
                    ("plan --split, each file", (split_s - begin_s) / cut),
                    ("work, the process and its first shard", process_s - sum(shards_s)),
                    ("work, each further shard", statistics.median(shards_s)),
                    (f"a row of the manifest, {processes} processes", append_s(out, processes, rows_each))):
                found.setdefault(what, []).append(1000 * seconds)
    return [{"name": what, "image": "clips of one frame", "ms_each":
             [statistics.median(times), min(times), max(times)]} for what, times in found.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", required=True)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--shards", type=int, default=32)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--videos", nargs="+", default=["mjpeg", "none"])
    parser.add_argument("--places", nargs="+", default=["cpu", "gpu"])
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    there = gpus()
    places = [("on the CPU", [])] if "cpu" in args.places else []
    if "gpu" in args.places:
        places += [("on 1 GPU" if count == 1 else f"on {count} GPUs", there[:count])
                   for count in (1, 2, 4, 8) if count <= len(there)]
    rows = costs(args.repeat)
    print(*rows, sep="\n", flush=True)
    with tempfile.TemporaryDirectory() as name:
        clips = Path(name)
        make_clips(clips, args.frames, args.shards)
        for video in args.videos:
            for place, devices in places:
                fewest = None
                for workers in args.workers:
                    if workers % max(len(devices), 1):
                        continue
                    rates = [rate(clips, video, workers, devices) for _ in range(args.repeat)]
                    fewest = fewest or statistics.median(rates)
                    rows.append({"name": f"{RECIPE}, --video {video}, {place}", "workers": workers,
                                 "image": f"{args.shards} clips of {args.frames} frames of 1920x1080",
                                 "frames_per_s": [statistics.median(rates), min(rates), max(rates)],
                                 "fewest_workers": fewest})
                    print(rows[-1], flush=True)
                    # As far as it has come, should the time be up.
                    Path(args.json).write_text(json.dumps({"benchmarks": rows}), encoding="utf-8")


main()
