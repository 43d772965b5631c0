# SPDX-License-Identifier: BSD-2-Clause
"""Ray as the engine: it says where and when a shard is done, and brings back how it went."""
import json
import os
import signal
import socket
import sys
import time
from collections import deque
from pathlib import Path

from store import BAD_INPUT, DONE, TRY_AGAIN, Refused

ARCHIVE = Path(__file__).with_name("archive.py")
# What a process is given to do where shards are short: not more, and towards the end not less. It takes
# seconds to begin with a GPU.
BATCH_S, LEAST_S = 30, 5
AHEAD = 2  # tasks that Ray has been given, for each that it can run at once
PAUSE_S = 1  # before another attempt, times the attempts before
TICK_S, LINE_S = 0.5, 10  # how often progress is drawn in a terminal, and written elsewhere
CONNECT_S = 10
KILLED = -int(signal.SIGKILL)


def attempt(top, indices, stall_s, with_gpu):
    """Does shards on a node of the cluster, in one process. Returns (exit status, output, the last line of
    errors, node)."""
    import ctypes
    import subprocess

    import ray
    libc, parent = ctypes.CDLL(None), os.getpid()

    def die_with_parent():  # which Ray kills when the driver is gone
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    variables = os.environ if with_gpu else {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, str(ARCHIVE), "work", str(top), *map(str, indices), "--stall", str(stall_s)], text=True,
        capture_output=True, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent, env=variables)
    errors = done.stderr.strip().splitlines()
    return done.returncode, done.stdout, errors[-1] if errors else "", ray.get_runtime_context().get_node_id()


class Progress:
    def __init__(self, total, done, bad, output):
        self.total, self.done, self.bad, self.output = total, done, bad, output
        self.before = done + bad
        self.given_up = self.frames = 0
        self.note = ""
        self.begin = time.monotonic()
        self.next = self.begin + (0 if output.isatty() else LINE_S)

    def seconds(self):
        return time.monotonic() - self.begin

    def line(self):
        ended = self.done + self.bad + self.given_up - self.before
        left, seconds = self.total - self.before - ended, self.seconds()
        minutes, rest = divmod(round(seconds / ended * left), 60) if ended else (0, 0)
        eta = f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if ended else "?"
        return (f"{self.done}/{self.total} shards, {self.frames / seconds:.1f} frames/s, ETA {eta}, "
                f"{self.bad} bad, {self.given_up} failed{self.note}")

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
    def __init__(self, store, jobs, options, progress):
        import ray
        self.ray, self.store, self.options, self.progress = ray, store, options, progress
        self.waiting, self.later, self.running = deque(jobs), [], {}
        self.seconds = self.ended = 0  # of the shards that were done
        self.task = ray.remote(max_calls=0)(attempt)  # its process may do another one: the GPU is a child's

    def nodes(self):
        return [node for node in self.ray.nodes() if node["Alive"]]

    def slots(self):
        """(resources of a worker, how many there is room for): a GPU for each where there is one, else
        processors."""
        there = [node["Resources"] for node in self.nodes()]
        for kind, key, each in ("GPU", "num_gpus", self.options.gpus), ("CPU", "num_cpus", self.options.cpus):
            slots = sum(int(node.get(kind, 0) / each) for node in there) if each else 0
            if slots:
                return {"num_cpus": 0, key: each}, slots
        return None, 0

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
        other = [node["NodeID"] for node in self.nodes() if node["NodeID"] not in job.nodes] if job.nodes else []
        if not other:
            return {}
        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(other[job.attempts % len(other)], soft=True)}

    def fill(self):
        now = time.monotonic()
        resources, slots = self.slots()
        self.progress.note = "" if slots else "; no node has room for a worker"
        self.waiting.extendleft(job for job in self.later if job.not_before <= now)
        self.later = [job for job in self.later if job.not_before > now]
        while slots and self.waiting and len(self.running) < (self.options.workers or AHEAD * slots):
            jobs = self.batch(self.options.workers or slots)
            reference = self.task.options(max_retries=0, **resources, **self.elsewhere(jobs[0])).remote(
                self.store.top, [job.index for job in jobs], self.options.stall, "num_gpus" in resources)
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
            if self.store.claim(job.shard, 0):
                self.store.sweep(job.shard)
                self.store.release(job.shard)
            self.progress.given_up += 1
            self.progress.say(f"failed, after {job.attempts} attempts: {job.shard.name}: {why}")

    def end(self, reference):
        jobs = self.running.pop(reference)
        code, output, error, node = self.outcome(reference)
        rows, blamed = rows_of(output), False
        if node is None:  # the manifest knows how far it came
            rows = {job.shard.name: self.store.row_of(job.shard) for job in jobs}
        why = f"killed by {signal.Signals(-code).name}" if node and code < 0 else error or f"exit status {code}"
        for job in jobs:
            row = rows.get(job.shard.name)
            if row and row["status"] != TRY_AGAIN:
                self.take(job, row)
            elif row:
                self.fail(job, node, row["why"])
                blamed = True
            elif not blamed:  # the process ended while it did this one
                self.fail(job, node, why)
                blamed = True
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


def check_address(address):
    """Ray itself takes minutes to say that nobody is there."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        try:
            socket.create_connection((host, int(port)), timeout=CONNECT_S).close()
        except OSError as error:
            raise Refused(f"--address {address}: {error.strerror or error}") from None


def connect(address):
    # Ray reports usage to its makers unless it is told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as missing:
        raise Refused(f"{missing}: install it with pip install ray, see docs/archive.md; or use Slurm, "
                      "Kubernetes or GNU parallel") from None
    # "local" is a cluster of this machine alone, that ends with this process.
    address = address or os.environ.get("RAY_ADDRESS", "local")
    check_address(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise Refused(f"--address {address}: {error}") from None
    return ray


def run(store, shards, by_status, options):
    """Does what is to do; the manifest says how it went. by_status has indices of shards."""
    ray = connect(options.address)
    progress = Progress(len(shards), len(by_status[DONE]), len(by_status[BAD_INPUT]), sys.stderr)
    engine = Engine(store, [Job(index, shards[index]) for index in by_status[None]], options, progress)
    if not engine.slots()[1]:
        ray.shutdown()
        raise Refused(f"--cpus {options.cpus}: no node has so many processors")
    try:
        engine.run()
    finally:
        progress.end()
        ray.shutdown()
