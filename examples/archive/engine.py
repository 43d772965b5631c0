# SPDX-License-Identifier: BSD-2-Clause
"""Ray as the engine: it says where and when a shard is done, and brings back how it went."""
import json
import os
import signal
import sys
import time
from collections import deque
from pathlib import Path

from store import DONE, TRY_AGAIN, Refused

ARCHIVE = Path(__file__).with_name("archive.py")
# What a process is given to do where shards are short: not more, and towards the end not less. It takes
# seconds to begin with a GPU.
BATCH_S, LEAST_S = 30, 5
AHEAD = 2  # tasks that Ray has been given, for each that it can run at once
PAUSE_S = 1  # before another attempt, times the attempts before
TICK_S, LINE_S = 0.5, 10  # how often progress is drawn in a terminal, and written elsewhere
KILLED = -int(signal.SIGKILL)


def attempt(top, indices, stall_s):
    """Does shards on a node of the cluster, in one process. Returns (exit status, output, the last line of
    errors, node)."""
    import ctypes
    import subprocess

    import ray

    def die_with_parent():  # which Ray kills when the driver is gone
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    done = subprocess.run([sys.executable, str(ARCHIVE), "work", str(top), *map(str, indices), "--stall",
                           str(stall_s)], text=True, capture_output=True, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
    errors = done.stderr.strip().splitlines()
    return done.returncode, done.stdout, errors[-1] if errors else "", ray.get_runtime_context().get_node_id()


class Progress:
    def __init__(self, total, before, output):
        self.total, self.before, self.output = total, before, output
        self.done = self.bad = self.given_up = self.frames = 0
        self.begin = time.monotonic()
        self.next = self.begin + (0 if output.isatty() else LINE_S)

    def seconds(self):
        return time.monotonic() - self.begin

    def line(self):
        done = self.before + self.done
        left, seconds = self.total - done - self.bad - self.given_up, self.seconds()
        ended = self.done + self.bad + self.given_up
        minutes, rest = divmod(round(seconds / ended * left), 60) if ended else (0, 0)
        eta = f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if ended else "?"
        return (f"{done}/{self.total} shards, {self.frames / seconds:.1f} frames/s, ETA {eta}, "
                f"{self.bad} bad, {self.given_up} failed")

    def draw(self):
        if time.monotonic() < self.next:
            return
        in_place = self.output.isatty()
        self.next = time.monotonic() + (TICK_S if in_place else LINE_S)
        print(f"\r\033[K{self.line()}" if in_place else self.line(), end="" if in_place else "\n",
              file=self.output, flush=True)

    def say(self, line):
        """Above the progress."""
        print(f"\r\033[K{line}" if self.output.isatty() else line, file=self.output, flush=True)

    def end(self):
        self.say(self.line())


class Job:
    """A shard that is not done yet."""

    def __init__(self, index, shard):
        self.index, self.shard = index, shard
        self.attempts, self.nodes, self.not_before = 0, set(), 0


class Engine:
    def __init__(self, top, jobs, options, progress):
        import ray
        self.ray, self.top, self.options, self.progress = ray, top, options, progress
        self.waiting, self.later, self.running = deque(jobs), [], {}
        self.seconds = self.ended = 0  # of the shards that were done
        self.resources = self.per_worker()
        self.task = ray.remote(max_calls=0)(attempt)  # its process may do another one: the GPU is a child's

    def per_worker(self):
        """A GPU for each worker where there is one, else processors."""
        there = self.ray.cluster_resources()
        if there.get("GPU") and self.options.gpus:
            return {"num_gpus": self.options.gpus, "num_cpus": 0}
        return {"num_cpus": self.options.cpus}

    def slots(self):
        there = self.ray.cluster_resources()
        kind, each = ("GPU", self.resources["num_gpus"]) if "num_gpus" in self.resources else \
            ("CPU", self.resources["num_cpus"])
        return max(int(there.get(kind, 0) / each), 1)

    # ---- giving work ----

    def batch(self, slots):
        """What one process does: enough not to be all beginnings, little enough for everybody to have some.
        A shard that has failed goes alone."""
        a_second = self.ended / max(self.seconds, 1e-3)
        size = min(BATCH_S * a_second, max(LEAST_S * a_second, len(self.waiting) / (AHEAD * slots)))
        jobs = [self.waiting.popleft()]
        while len(jobs) < size and not jobs[0].attempts and self.waiting and not self.waiting[0].attempts:
            jobs.append(self.waiting.popleft())
        return jobs

    def elsewhere(self, job):
        """Where a shard that has failed goes: to a node that it was not on, if there is one."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
        nodes = [node["NodeID"] for node in self.ray.nodes() if node["Alive"]]
        other = [node for node in nodes if node not in job.nodes]
        if not job.nodes or not other:
            return {}
        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(other[job.attempts % len(other)], soft=True)}

    def fill(self):
        now, slots = time.monotonic(), self.slots()
        self.waiting.extendleft(job for job in self.later if job.not_before <= now)
        self.later = [job for job in self.later if job.not_before > now]
        while self.waiting and len(self.running) < (self.options.workers or AHEAD * slots):
            jobs = self.batch(self.options.workers or slots)
            reference = self.task.options(max_retries=0, **self.resources, **self.elsewhere(jobs[0])).remote(
                self.top, [job.index for job in jobs], self.options.stall)
            self.running[reference] = jobs

    # ---- how it went ----

    def outcome(self, reference):
        """As attempt() has it."""
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            return KILLED, "", f"{type(error).__name__}: its process or its node was lost", None

    def take(self, job, row):
        if row["status"] == DONE:
            self.progress.done += 1
            self.progress.frames += row["frames"]
            self.seconds += row["seconds"]
            self.ended += 1
        else:
            self.progress.bad += 1
            self.progress.say(f"bad input: {job.shard.source}: {row['why']}")

    def fail(self, job, node, why):
        job.attempts += 1
        job.nodes |= {node} - {None}
        if job.attempts < self.options.attempts:
            job.not_before = time.monotonic() + PAUSE_S * job.attempts
            self.later.append(job)
        else:
            self.progress.given_up += 1
            self.progress.say(f"failed, after {job.attempts} attempts: {job.shard.name}: {why}")

    def end(self, reference):
        jobs = self.running.pop(reference)
        code, output, error, node = self.outcome(reference)
        rows, blamed = rows_of(output), False
        why = f"killed by {signal.Signals(-code).name}" if node and code < 0 else error or f"exit status {code}"
        for job in jobs:
            row = rows.get(job.shard.name)
            if row and row["status"] != TRY_AGAIN:
                self.take(job, row)
            elif row:
                self.fail(job, node, row["why"])
                blamed = True
            elif not blamed:  # the process ended while it did this one, as far as anybody knows
                self.fail(job, node, why)
                blamed = node is not None
            else:
                self.waiting.append(job)

    def run(self):
        while self.waiting or self.later or self.running:
            self.fill()
            if self.running:
                ended, _ = self.ray.wait(list(self.running), timeout=TICK_S)
                for reference in ended:
                    self.end(reference)
            else:
                time.sleep(TICK_S)
            self.progress.draw()


def rows_of(output):
    """By shard. A process that was killed may have left a part of one."""
    rows = {}
    for line in output.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        rows[row["shard"]] = row
    return rows


def connect(address):
    # Ray reports usage to its makers unless it is told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as missing:
        raise Refused(f"{missing}: install it with pip install ray, see docs/archive.md; or use Slurm, "
                      "Kubernetes or GNU parallel") from None
    try:
        # "local" is a cluster of this machine alone, that ends with this process.
        ray.init(address=address or os.environ.get("RAY_ADDRESS", "local"), log_to_driver=False,
                 logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise Refused(f"--address {address}: {error}") from None
    return ray


def run(store, shards, todo, options):
    """Does what is to do; the manifest says how it went."""
    ray = connect(options.address)
    progress = Progress(len(shards), len(shards) - len(todo), sys.stderr)
    engine = Engine(store.top, [Job(index, shards[index]) for index in todo], options, progress)
    try:
        engine.run()
    finally:
        progress.end()
        ray.shutdown()
