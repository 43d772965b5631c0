# SPDX-License-Identifier: BSD-2-Clause
"""Ray as the engine: it says where and when a shard is done, and brings back how it went."""
import ctypes
import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path

from store import BAD_INPUT, DONE, TRY_AGAIN, Refused

ARCHIVE = Path(__file__).with_name("archive.py")
PAUSE_S, MAX_PAUSE_S = 1, 30  # before another attempt, of a shard or on a node, times those before; and at most
HOPELESS = 10  # failures in a row on each node, when no worker is there
ELSEWHERE_S = 60  # how long a shard that has failed waits for another node
BEGIN_S = 60  # how long a worker may take to begin, where another node has room
TICK_S, LINE_S = 0.5, 10  # how often progress is drawn in a terminal, and written elsewhere
CONNECT_S = 10
END_S = 60  # how long a process that has failed may take to end
ERROR_BYTES = 4096  # of the end of what a process says, for its last line


class Worker:
    """On a node of the cluster, with a GPU or processors to itself: a process that does one shard after the
    other. Another one takes its place only when its device or its memory is gone: with a GPU a process takes
    seconds to begin, and those of one host wait for each other."""

    def __init__(self, top, stall_s, with_gpu):
        self.command = [sys.executable, str(ARCHIVE), "work", str(top), "-", "--stall", str(stall_s)]
        self.variables = os.environ if with_gpu else {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        self.process = self.errors = None

    def begin(self):
        """The process, or raises what is wrong with this host."""
        libc, parent = ctypes.CDLL(None), os.getpid()

        def die_with_parent():  # which Ray kills when the driver is gone
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            if os.getppid() != parent:
                os.kill(os.getpid(), signal.SIGKILL)

        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            self.command, encoding="utf-8", errors="replace", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, env=self.variables, preexec_fn=die_with_parent)
        if not self.line_with("library"):
            code, error = self.end()
            raise OSError(error or f"the worker's process ended with status {code}")

    def end(self):
        """The exit status, and the last line of errors."""
        process, self.process = self.process, None
        try:
            process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_S)
        self.errors.seek(max(self.errors.seek(0, os.SEEK_END) - ERROR_BYTES, 0))
        errors = self.errors.read().decode(errors="replace").strip().splitlines()
        self.errors.close()
        return process.returncode, errors[-1] if errors else ""

    def line_with(self, key, value=None):
        """What the process says next that has the key, and the value; None where it ends, perhaps in the middle
        of a line. Plug-ins may say something else."""
        for line in self.process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict) and key in said and value in (None, said[key]):
                return said
        return None

    def answer(self, shard):
        try:
            print(json.dumps(shard), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            return None
        return self.line_with("shard", shard["name"])

    def do(self, shard):
        """Of what a line of the plan has: the row of the manifest, or else why there is none."""
        if self.process and self.process.poll() is not None:  # killed, between two shards
            self.end()
        if not self.process:
            self.begin()
        row = self.answer(shard)
        if row and row["status"] != TRY_AGAIN:
            return row, None
        if row and not row["ends"]:
            return None, row["why"]
        code, error = self.end()
        return None, row["why"] if row else (
            f"killed by {signal.Signals(-code).name}" if code < 0 else error or f"exit status {code}")


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

    def __init__(self, shard):
        self.shard = shard
        self.attempts, self.nodes = 0, set()  # and where they were
        self.not_before = self.anywhere_from = 0


def pause(failures):
    """In seconds, behind so many."""
    return min(PAUSE_S * failures, MAX_PAUSE_S)


class Hand:
    """A worker as the driver sees it."""

    def __init__(self, worker, node, resources):
        self.worker, self.node, self.resources = worker, node, resources
        self.is_there, self.job, self.asked_at = False, None, time.monotonic()


def seats(there, each):
    """How many workers there is room for. A share of a GPU is of one."""
    return int(there) * int(1 / each + 1e-6) if each < 1 else int(there / each)


class Engine:
    def __init__(self, store, jobs, options, progress):
        import ray
        self.ray, self.store, self.options, self.progress = ray, store, options, progress
        self.waiting, self.later = deque(jobs), []  # those that have failed are in front
        self.hands, self.asked = [], {}  # by what Ray has been asked for: to begin, or to do a job
        self.resources, self.rooms, self.looked_at = None, {}, 0  # of a worker; how many a node has room for
        # What went wrong on a node since something went well there, and how often a worker was late.
        self.failures, self.late = Counter(), Counter()
        self.paused = {}  # a node, until then
        self.why = ""  # the last failure

    # ---- workers ----

    def look(self):
        """Where there is room: for a GPU for each worker where there is one, else for processors."""
        if time.monotonic() - self.looked_at < TICK_S:
            return
        self.looked_at = time.monotonic()
        there = {node["NodeID"]: node["Resources"] for node in self.ray.nodes() if node["Alive"]}
        self.resources, self.rooms = None, {}
        for kind, key, each in ("GPU", "num_gpus", self.options.gpus), ("CPU", "num_cpus", self.options.cpus):
            counts = {node: seats(has.get(kind, 0), each) for node, has in there.items()} if each else {}
            rooms = {node: count for node, count in counts.items() if count}
            if rooms:
                self.resources, self.rooms = {"num_cpus": 0, key: each}, rooms
                return

    def is_paused(self, node):
        return self.paused.get(node, 0) > time.monotonic()

    def usable(self):
        """Nodes where a worker may begin now."""
        return {node for node in self.rooms if not self.is_paused(node)}

    def best(self, nodes):
        """Where the next worker begins."""
        free = self.free()
        return min(nodes, key=lambda node: (self.failures[node] + self.late[node], -free.get(node, 0)))

    def begin(self, node):
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
        worker = self.ray.remote(Worker).options(
            max_restarts=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
            **self.resources).remote(self.store.top, self.options.stall, "num_gpus" in self.resources)
        hand = Hand(worker, node, self.resources)
        self.hands.append(hand)
        self.asked[worker.begin.remote()] = hand

    def dismiss(self, hand):
        self.hands.remove(hand)
        self.asked = {reference: other for reference, other in self.asked.items() if other is not hand}
        self.ray.kill(hand.worker)  # also one that is dead: what is left of it could keep its GPU

    def free(self):
        """For how many more workers which nodes have room."""
        taken = Counter(hand.node for hand in self.hands)
        return {node: self.rooms[node] - taken[node] for node in self.usable() if self.rooms[node] > taken[node]}

    def dismiss_late(self):
        """A worker that does not begin, such as where others of the cluster take the room, if there is room
        elsewhere."""
        now = time.monotonic()
        for hand in self.hands:
            is_late = not hand.is_there and now - hand.asked_at > BEGIN_S * (1 + self.late[hand.node])
            if is_late and self.free().keys() - {hand.node}:
                self.dismiss(hand)
                self.late[hand.node] += 1
                self.paused[hand.node] = now + MAX_PAUSE_S
                return

    def wanted(self):
        """A node for a job that has failed wherever there are workers; or None."""
        now, manned, usable = time.monotonic(), {hand.node for hand in self.hands}, self.usable()
        for job in takewhile(lambda job: job.nodes, self.waiting):
            if now < job.anywhere_from and manned <= job.nodes and usable - job.nodes:
                return self.best(usable - job.nodes)
        return None

    def begin_workers(self):
        """As many as there is room for, and something to do."""
        for hand in [hand for hand in self.hands if not hand.job]:
            if hand.node not in self.rooms or hand.resources != self.resources:
                self.dismiss(hand)
        self.dismiss_late()
        jobs = len(self.waiting) + len(self.later) + sum(bool(hand.job) for hand in self.hands)
        maximum = self.options.workers or math.inf
        wanted = self.wanted()
        idle = [hand for hand in self.hands if hand.is_there and not hand.job]
        if wanted and idle and len(self.hands) >= maximum:
            self.dismiss(idle[0])
        if wanted and len(self.hands) < maximum:
            self.begin(wanted)
        while len(self.hands) < min(maximum, jobs) and (free := self.free()):
            self.begin(self.best(free))

    # ---- giving work ----

    def pick(self, node):
        """A job for a worker there: one that has failed there only where there is no other node for it."""
        now, others = time.monotonic(), self.usable() | {hand.node for hand in self.hands if hand.is_there}
        for i, job in enumerate(self.waiting):
            if node not in job.nodes or others <= job.nodes or now >= job.anywhere_from:
                del self.waiting[i]
                return job
        return None

    def fill(self):
        now = time.monotonic()
        self.waiting.extendleft(job for job in self.later if job.not_before <= now)
        self.later = [job for job in self.later if job.not_before > now]
        self.look()
        ready = [hand for hand in self.hands if hand.is_there and not hand.job and hand.resources == self.resources]
        # One that keeps failing leaves the work to others, if there are some.
        well = any(hand.is_there and not self.is_paused(hand.node) for hand in self.hands)
        for hand in ready:
            if self.waiting and not (well and self.is_paused(hand.node)):
                hand.job = self.pick(hand.node)
                if hand.job:
                    self.asked[hand.worker.do.remote(asdict(hand.job.shard))] = hand
        self.begin_workers()
        self.progress.note = ("; no node has room for a worker" if not self.rooms else
                              "" if any(hand.is_there for hand in self.hands) else "; no worker at the moment")

    # ---- how it went ----

    def take(self, job, row):
        if row["status"] == DONE:
            self.progress.done += 1
            self.progress.frames += row["frames"]
        else:
            self.progress.bad += 1
            self.progress.say(f"bad input: {job.shard.source}: {row['why']}")

    def give_up(self, job, why):
        try:
            if self.store.claim(job.shard, 0):
                self.store.sweep(job.shard)
                self.store.release(job.shard)
        except OSError:  # the next worker that takes the shard does it
            pass
        self.progress.given_up += 1
        self.progress.say(f"failed, after {job.attempts} attempts: {job.shard.name}: {why}")

    def fail(self, job, node, why):
        job.attempts += 1
        job.nodes.add(node)
        if job.attempts < self.options.attempts:
            job.not_before = time.monotonic() + pause(job.attempts)
            job.anywhere_from = job.not_before + ELSEWHERE_S
            self.later.append(job)
        else:
            self.give_up(job, why)

    def went_well(self, node):
        self.failures[node] = self.late[node] = 0
        self.paused.pop(node, None)

    def went_wrong(self, node, why):
        """Once, of what failed together."""
        self.why = why
        if not self.is_paused(node):
            self.failures[node] += 1
            self.paused[node] = time.monotonic() + pause(self.failures[node])

    def settle(self, reference):
        """What Ray was asked for is there, or not to be had."""
        hand = self.asked.pop(reference)
        job, hand.job = hand.job, None
        try:
            answer = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            self.dismiss(hand)
            # A shard may have been done before.
            answer = job and self.store.row_of(job.shard), why_of(self.ray, error)
            self.went_wrong(hand.node, answer[1])
        else:
            if not job:
                hand.is_there = True
        if not job:
            return
        row, why = answer
        if row:
            self.went_well(hand.node)
            self.take(job, row)
        else:
            self.went_wrong(hand.node, why)
            self.fail(job, hand.node, why)

    def collect(self):
        """Waits until something has ended, for a while."""
        if not self.asked:
            time.sleep(TICK_S)
            return
        self.ray.wait(list(self.asked), timeout=TICK_S)
        ended, _ = self.ray.wait(list(self.asked), num_returns=len(self.asked), timeout=0)
        for reference in ended:
            if reference in self.asked:
                self.settle(reference)

    def is_hopeless(self):
        """Whether no worker can begin anywhere."""
        return not self.hands and self.rooms and all(self.failures[node] >= HOPELESS for node in self.rooms)

    def run(self):
        while self.waiting or self.later or any(hand.job for hand in self.hands):
            self.fill()
            self.collect()
            self.progress.draw()
            if self.is_hopeless():
                self.progress.say(f"no worker can begin: {self.why}")
                return


def why_of(ray, error):
    if isinstance(error, ray.exceptions.RayTaskError) or "creation task" in str(error):
        return str(error).strip().splitlines()[-1]
    return f"{type(error).__name__}: its worker or its node was lost"


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
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise Refused(f"--address {address}: {error}") from None
    return ray


def run(store, shards, by_status, options):
    """Does what is to do; the manifest says how it went. by_status has indices of shards."""
    ray = connect(options.address)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C, and not as Ray has it
    progress = Progress(len(shards), len(by_status[DONE]), len(by_status[BAD_INPUT]), sys.stderr)
    engine = Engine(store, [Job(shards[index]) for index in by_status[None]], options, progress)
    engine.look()
    if not engine.rooms:
        ray.shutdown()
        raise Refused(f"--cpus {options.cpus}: no node has so many processors")
    try:
        engine.run()
    finally:
        progress.end()
        ray.shutdown()
