# SPDX-License-Identifier: BSD-2-Clause
"""How many frames a second examples/archive makes of an archive, by workers and by GPUs, on this machine; and
what else a shard costs.

archive_rate.py --json FILE [--videos V=FRAMES...] [--workers N...] [--places cpu gpu] [--seconds S]
                [--turns N] [--runs N] [--begin N...]
    makes clips of 1080p of that many frames, and has them done; in meson devenv, by a Python that has Ray;
    adds to what FILE has
"""
import argparse
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tree import TOP

PROGRAM = TOP / "examples/archive/archive.py"
RECIPE = "count-objects"
LOOP = 60  # frames of a clip that are encoded; then they come again
PLENTY = 200  # shards that a worker is given, of which it does those it has the time for
EACH = 8  # shards for each worker, where all are done
MIN_SHARDS = 5  # shards of each worker in a turn
WAIT_S = 120  # for the next row


def launch(text):
    subprocess.run(["gst-launch-1.0", "-q", *shlex.split(text)], check=True, stderr=subprocess.DEVNULL)


def make_clip(path, frames):
    """A ball that moves: one object in each frame."""
    loop = path.with_suffix(".loop")
    launch(f"videotestsrc num-buffers={min(frames, LOOP)} pattern=ball ! video/x-raw,format=I420,width=1920,"
           f"height=1080,framerate=30/1 ! openh264enc ! h264parse ! mp4mux ! filesink location={loop}")
    launch(f"concat name=all ! h264parse ! mp4mux ! filesink location={path} " +
           f"filesrc location={loop} ! qtdemux ! queue ! all. " * -(-frames // LOOP))
    loop.unlink()


def link(clip, folder, count):
    folder.mkdir()
    for i in range(count):
        os.link(clip, folder / f"{i:05}.mp4")


def gpus():
    """As CUDA_VISIBLE_DEVICES has them."""
    there = subprocess.run(["nvidia-smi", "-L"], text=True, capture_output=True).stdout if \
        shutil.which("nvidia-smi") else ""
    return [str(i) for i in range(len(re.findall(r"^GPU", there, re.M)))]


def archive(*args, devices=None):
    """Seconds, and what it says on both outputs."""
    begin = time.monotonic()
    seen = os.environ.get("CUDA_VISIBLE_DEVICES") if devices is None else ",".join(devices)
    done = subprocess.run([sys.executable, PROGRAM, *map(str, args)], text=True, capture_output=True, env={
        **os.environ, **({} if seen is None else {"CUDA_VISIBLE_DEVICES": seen})})
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}{done.args} failed")
    return time.monotonic() - begin, done.stdout, done.stderr


def planned(folder, clip, count, video):
    """The results' folder of a plan of so many shards."""
    link(clip, folder / "clips", count)
    archive("plan", folder / "clips", "--recipe", RECIPE, "--video", video, "--out", folder / "out")
    return folder / "out"


# ---- rates ----

class Rows:
    """Of a manifest, with the moments at which they have come."""

    def __init__(self, out):
        self.file = open(out / "manifest.jsonl", encoding="utf-8")
        self.found, self.rest = [], ""

    def look(self):
        *lines, self.rest = (self.rest + self.file.read()).split("\n")
        self.found += [(time.monotonic(), json.loads(line)) for line in lines]
        return self.found


def number(row):
    return int(Path(row["source"]).stem)


def rate_of(rows, workers):
    """Frames a second of all workers, each from the end of its first one of these shards to that of its last."""
    rate = 0
    for worker in range(workers):
        own = [(moment, row["frames"]) for moment, row in rows if number(row) % workers == worker]
        rate += sum(frames for _, frames in own[1:]) / (own[-1][0] - own[0][0])
    return rate


def next_rows(rows, min_s, minimum, workers, running):
    """Those that come from now on, for so many seconds, and until each worker has so many."""
    begin, of = time.monotonic(), len(rows.look())
    while True:
        new = rows.look()[of:]
        counts, seconds = Counter(number(row) % workers for _, row in new), time.monotonic() - begin
        if seconds >= min_s and len(counts) == workers and min(counts.values()) >= minimum:
            return new
        last = new[-1][0] if new else begin
        if time.monotonic() - last > WAIT_S or any(process.poll() is not None for process in running):
            sys.exit(f"after {counts} shards one has ended, or nothing more came for {WAIT_S} s: {running[0].args}")
        time.sleep(0.005)


def long_rates(clip, video, workers, devices, turn_s, turns):
    """Of workers that have begun and are not near the end; a turn after the other of the same processes."""
    with tempfile.TemporaryDirectory() as name, open(Path(name) / "errors", "w+", encoding="utf-8") as errors:
        out = planned(Path(name), clip, PLENTY * workers, video)
        running = [subprocess.Popen(
            [sys.executable, PROGRAM, "work", out, str(worker), "--every", str(workers)], stderr=errors,
            stdout=subprocess.DEVNULL, env={**os.environ, "CUDA_VISIBLE_DEVICES":
                                            devices[worker % len(devices)] if devices else ""})
            for worker in range(workers)]
        rows, found = Rows(out), []
        try:
            next_rows(rows, 0, 1, workers, running)
            for _ in range(turns):
                found.append(rate_of(next_rows(rows, turn_s, MIN_SHARDS, workers, running), workers))
        finally:
            for process in running:
                process.send_signal(signal.SIGTERM)
            for process in running:
                process.wait()
            errors.seek(0)
            sys.stderr.writelines(line for line in errors if "ended by SIGTERM" not in line)
    check_backend((row for _, row in rows.found), devices)
    return found


def check_backend(rows, devices):
    backends = {row["backend"] for row in rows}
    if backends != {"cuda" if devices else "cpu"}:
        sys.exit(f"it ran on {backends}")


def run_rate(clip, video, workers, devices):
    """Of a whole run, as it shows it: from when Ray is there to the end of the last worker."""
    each = max(len(devices) / workers, 0.01) if devices else 0
    with tempfile.TemporaryDirectory() as name:
        link(clip, Path(name) / "clips", EACH * workers)
        out = Path(name) / "out"
        _, _, said = archive("run", Path(name) / "clips", "--recipe", RECIPE, "--video", video, "--workers", workers,
                             "--gpus", each, "--out", out, devices=devices)
        check_backend(map(json.loads, (out / "manifest.jsonl").read_text().splitlines()), devices)
    return float(re.findall(r"([\d.]+) frames/s", said)[-1])


def middle(values):
    return [statistics.median(values), min(values), max(values)]


def rates(clip, video, frames, place, devices, args):
    """Rows of one place, by workers; at last one of a whole run."""
    counts = [count * max(len(devices), 1) for count in args.workers]
    found = {workers: long_rates(clip, video, workers, devices, args.seconds, args.turns) for workers in counts}
    maximum = counts[-1] if devices else min(counts[-1], len(os.sched_getaffinity(0)))  # Ray has no room for more
    fewest = statistics.median(found[counts[0]])
    whole = [run_rate(clip, video, maximum, devices) for _ in range(args.runs)]
    name, image = f"{RECIPE}, --video {video}, {place}", f"clips of {frames} frames of 1920x1080"
    rows = [(name, image, workers, values) for workers, values in found.items()]
    rows.append((f"{name}, archive.py run", f"{EACH * maximum} {image}", maximum, whole))
    return [{"name": name, "image": image, "workers": workers, "frames_per_s": middle(values),
             "fewest_workers": fewest} for name, image, workers, values in rows]


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


HAND_OUT = """
import argparse, os, sys, time
sys.path.insert(0, sys.argv[1])
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import engine, ray
from store import DONE, Store

class Idle(engine.Worker):
    def begin(self):
        pass

    def do(self, shard):
        return {"shard": shard["name"], "status": DONE, "frames": 1, "why": "as long as a row is, " * 30}, None

engine.Worker = Idle
ray.init(num_cpus=int(sys.argv[3]), include_dashboard=False, log_to_driver=False, logging_level="ERROR")
store = Store(sys.argv[2])
jobs = [engine.Job(shard) for shard in store.shards()]
options = argparse.Namespace(stall=60, attempts=1, workers=None, cpus=1, gpus=0)
progress = engine.Progress(len(jobs), 0, 0, open(os.devnull, "w"))
driver = engine.Engine(store, jobs, options, progress)
driver.look()
while sum(hand.is_there for hand in driver.hands) < int(sys.argv[3]):
    driver.begin_workers()
    driver.collect()
begin = time.monotonic()
driver.run()
print((time.monotonic() - begin) / len(jobs))
"""


def hand_out_s(out, workers):
    """Seconds that the driver takes for a shard, when so many workers do nothing."""
    done = subprocess.run([sys.executable, "-c", HAND_OUT, PROGRAM.parent, out, str(workers)], text=True,
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(PROGRAM.parent)})
    if done.returncode:
        sys.exit(f"{done.stderr}{done.args} failed")
    return float(done.stdout)


def append_s(out, processes, rows):
    """Seconds that a row takes while so many processes write some."""
    running = [subprocess.Popen([sys.executable, "-c", APPEND, PROGRAM.parent, out, str(rows)],
                                stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return max(float(one.communicate()[0]) for one in running) / (processes * rows)


def begin_s(folder, clip, processes):
    """Seconds until so many that begin at once have each done a shard of one frame."""
    folder.mkdir()
    out = planned(folder, clip, processes, "none")
    begin = time.monotonic()
    running = [subprocess.Popen([sys.executable, PROGRAM, "work", out, str(i)], stdout=subprocess.DEVNULL)
               for i in range(processes)]
    if any([process.wait() for process in running]):
        sys.exit(f"{running[0].args} failed")
    return time.monotonic() - begin


def costs(args):
    """In ms, of clips of one frame, in turn."""
    files, cut, worked, processes, rows_each, idle = 5000, 200, 20, 8, 50, 8
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clip = folder / "clip.mp4"
        make_clip(clip, 1)
        for clips, count in ("one", 1), ("some", cut), ("many", files):
            link(clip, folder / clips, count)

        def plan(clips, turn, *more):
            out = folder / f"{clips}{turn}{len(more)}"
            seconds, *_ = archive("plan", folder / clips, "--recipe", RECIPE, "--video", "none", "--out", out, *more)
            return seconds, out

        for turn in range(args.turns):
            plan_s, _ = plan("one", turn)
            whole_s, many = plan("many", turn)
            split_s, out = plan("some", turn, "--split", "60")
            _, said, _ = archive("work", out, *range(worked))
            shards_s = [json.loads(line)["seconds"] for line in said.splitlines()[1:]]
            taken = [("plan, each file", (whole_s - plan_s) / files),
                     ("plan --split, each file", (split_s - plan_s) / cut),
                     ("work, each further shard of a process", statistics.median(shards_s)),
                     (f"a row of the manifest, {processes} processes", append_s(out, processes, rows_each)),
                     (f"run, handing out a shard, {idle} workers that do nothing", hand_out_s(many, idle))]
            taken += [(f"work, the first shards of {count} processes begun at once, together" if count > 1 else
                       "work, a process and its first shard", begin_s(folder / f"{turn}-{count}", clip, count))
                      for count in args.begin]
            for what, seconds in taken:
                found.setdefault(what, []).append(1000 * seconds)
    return [{"name": what, "image": "clips of one frame", "ms_each": middle(times)} for what, times in found.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", required=True)
    parser.add_argument("--videos", nargs="*", default=["none=900", "mjpeg=300"])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8], help="on the CPU, or each GPU")
    parser.add_argument("--places", nargs="+", default=["cpu", "gpu"])
    parser.add_argument("--seconds", type=float, default=8, help="of a turn, at least")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--runs", type=int, default=3, help="of archive.py run, at the most workers")
    parser.add_argument("--begin", type=int, nargs="*", default=[1, 16],
                        help="processes that begin at once; none leaves out what else a shard costs")
    args = parser.parse_args()
    there = gpus()
    places = [("on the CPU", [])] if "cpu" in args.places else []
    if "gpu" in args.places:
        places += [("on 1 GPU" if count == 1 else f"on {count} GPUs", there[:count])
                   for count in (1, 2, 4, 8) if count <= len(there)]
    file = Path(args.json)
    rows = json.loads(file.read_text())["benchmarks"] if file.exists() else []
    for video, frames in (text.split("=") for text in args.videos):
        with tempfile.TemporaryDirectory() as name:
            clip = Path(name) / "clip.mp4"
            make_clip(clip, int(frames))
            for place, devices in places:
                rows += rates(clip, video, frames, place, devices, args)
                print(*rows[-len(args.workers) - 1:], sep="\n", flush=True)
                # As far as it has come, should the time be up.
                file.write_text(json.dumps({"benchmarks": rows}), encoding="utf-8")
    if args.begin:
        rows += costs(args)
        print(*rows[-len(args.begin) - 5:], sep="\n", flush=True)
    file.write_text(json.dumps({"benchmarks": rows}), encoding="utf-8")


main()
