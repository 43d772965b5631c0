# SPDX-License-Identifier: BSD-2-Clause
"""An archive on clusters of Ray's of 1, 2 and 3 nodes, all on this machine: a worker is killed, a node is
removed, the driver is killed and runs again, and one clip is corrupt. However it went, the results are the
same bytes, and each shard has one row.

usage: archive_ray.py PROGRAM PYTHON-WITH-RAY     GPV_TEST_FULL=1 does everything with every number of nodes
"""
import argparse
import collections
import hashlib
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM, PYTHON = sys.argv[1:]
if not os.access(PYTHON, os.X_OK) or subprocess.run([PYTHON, "-c", "import ray"], capture_output=True).returncode:
    print("skipped: Ray is not in build/ray, where ./dev test puts it")
    sys.exit(77)
if os.path.abspath(sys.executable) != os.path.abspath(PYTHON):  # whose cluster is made here, too
    os.execv(PYTHON, [PYTHON, *sys.argv])
CLIPS, FRAMES, CORRUPT = 12, 20, 7
RECIPE = "gpukmeans clusters=3 ! gpuccl min-area=50 output=none"
# For the runs that are disturbed: the same bytes, but a second for each shard.
SLOW = "! identity sleep-time=50000"
BAD_INPUT = 65
TIMEOUT_S = 120


def make_clips(folder):
    folder.mkdir()
    for i in range(CLIPS):
        size = f"width={160 + 16 * i},height=120"
        subprocess.run(shlex.split(
            f"gst-launch-1.0 -q videotestsrc num-buffers={FRAMES} pattern=ball ! video/x-raw,{size} ! vp8enc "
            f"! webmmux ! filesink location={folder}/{i:02}.webm"), check=True)
    corrupt = folder / f"{CORRUPT:02}.webm"
    corrupt.write_bytes(corrupt.read_bytes()[:200])


class Run:
    """A driver, and the folder that it fills."""

    def __init__(self, clips, out, address):
        self.clips, self.out, self.address = clips, out, address
        self.said = ""

    def start(self):
        self.driver = subprocess.Popen(
            [PYTHON, PROGRAM, "run", self.clips, "--recipe", f"{RECIPE} {SLOW}", "--out", self.out,
             "--address", self.address], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self):
        self.said += self.driver.communicate(timeout=TIMEOUT_S)[0]
        assert self.driver.returncode == BAD_INPUT, (self.driver.returncode, self.said)

    def rows(self):
        path = self.out / "manifest.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def workers(self):
        """Process IDs of those that are writing."""
        return {int(path.stem.split("-")[-2]) for path in (self.out / "partial").glob("*.video")}

    def wait_for(self, what):
        until = time.monotonic() + TIMEOUT_S
        while not what():
            assert time.monotonic() < until and self.driver.poll() is None, self.said
            time.sleep(0.02)

    def digests(self):
        return {str(path.relative_to(self.out)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted((self.out / "results").rglob("*")) if path.is_file()}

    def check(self):
        """What holds however the run went."""
        rows = self.rows()
        counts = collections.Counter(row["shard"] for row in rows)
        assert counts == {f"{i:02}.webm": 1 for i in range(CLIPS)}, counts
        bad = [row["shard"] for row in rows if row["status"] != "done"]
        assert bad == [f"{CORRUPT:02}.webm"], bad
        assert self.said.count("bad input: ") == 1, self.said
        assert f"{CLIPS} shards: {CLIPS - 1} done, with {(CLIPS - 1) * FRAMES} frames; 1 of bad input; 0 to do" \
            in self.said, self.said
        assert not list((self.out / "partial").iterdir())
        until = time.monotonic() + 10
        while left := processes_of(self.out):
            assert time.monotonic() < until, f"{left} are left behind"
            time.sleep(0.1)
        digests = self.digests()
        assert len(digests) == 2 * (CLIPS - 1), digests
        for row in rows:
            if row["status"] == "done":
                assert set(row["sha256"].values()) <= set(digests.values()), row
        return digests


def processes_of(out):
    """That do shards of it."""
    wanted = f"\0work\0{out}\0".encode()
    return [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if wanted in read(path)]


def read(path):
    try:
        return path.read_bytes()
    except OSError:  # it has just ended
        return b""


def lives(pid):
    return os.path.exists(f"/proc/{pid}/cwd")


def undisturbed(run, _, __):
    run.start()
    run.end()


def kill_worker(run, _, __):
    run.start()
    run.wait_for(lambda: run.rows() and any(map(lives, run.workers())))
    worker = next(filter(lives, run.workers()))
    os.kill(worker, signal.SIGKILL)
    run.end()
    assert not lives(worker)


def remove_node(run, cluster, nodes):
    run.start()
    run.wait_for(lambda: len(run.workers()) == len(nodes))
    before = run.workers()
    cluster.remove_node(nodes.pop(), allow_graceful=False)
    run.wait_for(lambda: not all(map(lives, before)))
    assert len(run.rows()) < CLIPS, "the node was removed too late to try anything"
    run.end()


def kill_driver(run, _, __):
    run.start()
    run.wait_for(lambda: len(run.rows()) >= 2 and run.workers())
    run.driver.kill()
    run.said += run.driver.communicate()[0]
    done = {row["shard"] for row in run.rows()}
    assert len(done) < CLIPS, "the driver was killed too late to try anything"
    run.start()
    run.end()


ALL = {count: (undisturbed, kill_worker, kill_driver, remove_node) for count in (1, 2, 3)}
SOME = {1: (undisturbed,), 2: (kill_worker, remove_node), 3: (kill_driver,)}


def check_no_room(clips, folder, address):
    """What no node can do is refused."""
    done = subprocess.run([PYTHON, PROGRAM, "run", clips, "--recipe", RECIPE, "--out", folder / "no-room", "--cpus",
                           "1000", "--address", address], text=True, capture_output=True, timeout=TIMEOUT_S)
    assert done.returncode == 2 and "no node has so many processors" in done.stderr, done
    done = subprocess.run([PYTHON, PROGRAM, "run", clips, "--recipe", RECIPE, "--out", folder / "no-room",
                           "--address", "127.0.0.1:9"], text=True, capture_output=True, timeout=TIMEOUT_S)
    assert done.returncode == 2 and "--address 127.0.0.1:9: " in done.stderr, done


# ---- the engine alone, with workers that only say where they are ----

WORKERS = """
import engine, ray, time
from engine import Worker

class Nothing(Worker):
    def begin(self):
        pass

class Fails(Nothing):
    def do(self, shard):
        return None, "on purpose"

class Slow(Nothing):
    def do(self, shard):
        time.sleep(0.3)
        on = ray.get_runtime_context().get_node_id()
        return {"shard": shard["name"], "status": "done", "frames": 1, "on": on}, None
"""


def driver_of(folder, worker, count, workers=None):
    """With so many shards, of which none is there; and what it says."""
    import engine
    import workers as stubs
    from store import Shard, Store
    engine.Worker = getattr(stubs, worker)
    said = io.StringIO()
    store = Store.make(folder / worker, {"recipe": "none", "suffix": None})
    jobs = [engine.Job(Shard(f"{i}.webm", f"/{i}.webm", 1, 1)) for i in range(count)]
    options = argparse.Namespace(stall=60, attempts=2, workers=workers, cpus=1, gpus=1)
    return engine.Engine(store, jobs, options, engine.Progress(count, 0, 0, said)), jobs, said


def check_retries(folder, _):
    """A job that has failed goes to the other node, which has no worker yet, and is given up at last."""
    driver, jobs, said = driver_of(folder, "Fails", 1)
    driver.run()
    assert len(jobs[0].nodes) == 2 and jobs[0].attempts == 2, "it was tried on one node alone"
    assert "failed, after 2 attempts: 0.webm: on purpose" in said.getvalue(), said.getvalue()


def check_one_worker(folder, _):
    """One worker for two jobs, of which each has failed on another node."""
    driver, jobs, _ = driver_of(folder, "Slow", 2, workers=1)
    driver.look()
    for job, node in zip(jobs, driver.rooms):
        job.nodes.add(node)
        job.anywhere_from = time.monotonic() + 60
    begin_s = time.monotonic()
    driver.run()
    assert driver.progress.done == 2 and time.monotonic() - begin_s < 30


def check_no_beginning(folder, _):
    """Where no worker can begin the run ends and says why."""
    import engine
    maximum, engine.HOPELESS = engine.HOPELESS, 2
    driver, _, said = driver_of(folder, "Worker", 3)
    driver.store.top = folder / "nowhere"
    driver.run()
    engine.HOPELESS = maximum
    assert len(driver.waiting) == 3, "a worker that cannot begin has done something"
    why = f"OSError: archive.py: {folder}/nowhere: no archive has been planned there"
    assert said.getvalue() == f"no worker can begin: {why}\n", said.getvalue()


def check_room_taken(folder, _):
    """A worker for which a node has no room after all begins on another one."""
    import engine
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
    maximum, engine.BEGIN_S = engine.BEGIN_S, 2
    driver, _, _ = driver_of(folder, "Slow", 1)
    driver.look()
    first = driver.best(driver.free())
    other = ray.remote(engine.Worker).options(
        num_cpus=1, scheduling_strategy=NodeAffinitySchedulingStrategy(first, soft=False)).remote("", 1, False)
    ray.get(other.begin.remote())
    driver.run()
    ray.kill(other)
    engine.BEGIN_S = maximum
    assert driver.progress.done == 1 and driver.hands and all(hand.node != first for hand in driver.hands)


def check_gpu_joins(folder, cluster):
    """Where a host with a GPU joins it does the rest."""
    driver, _, _ = driver_of(folder, "Slow", 12)
    done, joined, take = [], [], driver.take

    def take_and_join(job, row):
        take(job, row)
        done.append(row["on"])
        if len(done) == 2:
            joined.append(cluster.add_node(num_cpus=0, num_gpus=1))

    driver.take = take_and_join
    driver.run()
    cluster.remove_node(joined[0])
    # What was begun elsewhere before is ended there.
    assert len(done) == driver.progress.done == 12 and done[4:] == [joined[0].node_id] * 8, (done, joined)


def check_engine(folder, cluster):
    import ray
    sys.path[:0] = os.environ["PYTHONPATH"].split(":")
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        for check in (check_retries, check_one_worker, check_no_beginning, check_room_taken,
                      check_gpu_joins):
            check(folder, cluster)
    finally:
        ray.shutdown()


def on_cluster(clips, folder, count, disturbances):
    """The results of a cluster of so many nodes, after each disturbance."""
    from ray.cluster_utils import Cluster
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes = [cluster.head_node, *(cluster.add_node(num_cpus=1) for _ in range(count - 1))]
    cluster.wait_for_nodes()
    results = []
    try:
        check_no_room(clips, folder, cluster.address)
        if count == 2:
            check_engine(folder, cluster)
        for disturb in disturbances:
            if disturb is remove_node and len(nodes) == 1:
                continue
            begin = time.monotonic()
            run = Run(clips, folder / f"{count}-{disturb.__name__}", cluster.address)
            disturb(run, cluster, nodes)
            results.append(run.check())
            print(f"{count} nodes, {disturb.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        cluster.shutdown()
    return results


def main():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_clips(folder / "clips")
        (folder / "workers.py").write_text(WORKERS)
        os.environ["PYTHONPATH"] = f"{Path(PROGRAM).parent}:{folder}"
        results = []
        for count, disturbances in (ALL if "GPV_TEST_FULL" in os.environ else SOME).items():
            results += on_cluster(folder / "clips", folder, count, disturbances)
        for result in results:
            assert result == results[0], sorted(result.items() ^ results[0].items())
        print(f"{len(results)} runs, {len(results[0])} files of each are the same")


main()
