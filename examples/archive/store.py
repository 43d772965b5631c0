# SPDX-License-Identifier: BSD-2-Clause
"""The folder that an archive's results are in: settings, plan, manifest, and the results.

    archive.json     what is done to every shard
    shards.jsonl     the plan: a line for each shard
    manifest.jsonl   a row for each shard that is done, or whose input is bad
    partial/         what is being written; empty when nothing is
    results/         a video and lines of JSON for each shard

Many processes on many hosts use one such folder, on a file system that they share. What keeps them apart
are locks on bytes of the manifest, far behind its end, which the kernel takes back from a process that has
died: POSIX locks, which NFS has, too, from version 4.1 on.
"""
import fcntl
import hashlib
import json
import os
import re
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path

# Of a shard; the manifest has the first two.
DONE, BAD_INPUT, TRY_AGAIN = "done", "bad input", "try again"
APPENDING, CLAIMS = 1 << 61, 1 << 62  # where the locks are: for rows, and for shards
WAIT_S = 0.1
NAME, BLOCK = re.compile(rb'\{"shard": ("(?:[^"\\]|\\.)*")'), 1 << 24


@dataclass(frozen=True, slots=True)
class Shard:
    """A file, or what lies between two moments of it."""
    name: str  # of its results, below the folder of results
    source: str
    bytes: int  # of the whole source
    modified: int  # ns since 1970
    begin: int | None = None  # ns, a key frame; None is the begin of the file
    end: int | None = None  # ns, the first moment behind the shard; None is the end of the file


class Refused(Exception):
    """What was asked for cannot be, in words for the user."""


def shards_in(lines):
    """As they come."""
    for line in lines:
        try:
            yield Shard(**json.loads(line))
        except (TypeError, ValueError):
            raise Refused(f"'{line.strip()}' is no line of a plan") from None


def digest(shard):
    return hashlib.sha256(shard.name.encode()).digest()[:8]


def claim_at(shard):
    return CLAIMS + (int.from_bytes(digest(shard), "big") >> 3)


def sync(path):
    """Until the disk has it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(path, text):
    """The file has the old text or the new one, never a part."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        part.write_text(text, encoding="utf-8")
        sync(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync(path.parent)


class Store:
    def __init__(self, top):
        self.top = Path(top).absolute()
        self.partial, self.results = self.top / "partial", self.top / "results"
        self.plan = self.top / "shards.jsonl"
        self.where, self.read = {}, 0  # what has been seen of the manifest
        try:
            self.settings = json.loads((self.top / "archive.json").read_text(encoding="utf-8"))
            # One handle alone: closing any other of this process would give the locks back.
            self.manifest = os.open(self.top / "manifest.jsonl", os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        except FileNotFoundError:
            raise Refused(f"{top}: no archive has been planned there") from None
        except (OSError, ValueError) as error:
            raise Refused(f"{top}: {error}") from None

    @classmethod
    def make(cls, top, settings):
        """The one that is there, if it does the same to every shard; else a new one."""
        path = Path(top)
        try:
            path.mkdir(parents=True, exist_ok=True)
            there = sorted(entry.name for entry in path.iterdir())
            if not there:
                replace(path / "archive.json", json.dumps(settings, indent=2) + "\n")
            for name in ("partial", "results") if not there or "archive.json" in there else ():
                (path / name).mkdir(exist_ok=True)
        except OSError as error:
            raise Refused(f"--out {top}: {error.strerror}") from None
        if there and "archive.json" not in there:
            raise Refused(f"--out {top}: it has files that are not of an archive, such as {there[0]}; "
                          "give a new or an empty folder")
        store = cls(top)
        for key, value in settings.items():
            if store.settings.get(key) != value:
                raise Refused(f"--out {top}: its results were made with the {key} {store.settings.get(key)!r}, "
                              f"and not with {value!r}; give another folder")
        return store

    # ---- the plan ----

    def write_plan(self, shards):
        try:
            replace(self.plan, "".join(json.dumps(asdict(shard)) + "\n" for shard in shards))
        except OSError as error:
            raise Refused(f"{self.plan}: {error.strerror}") from None

    def shards(self):
        try:
            with open(self.plan, encoding="utf-8") as lines:
                yield from shards_in(lines)
        except FileNotFoundError:
            raise Refused(f"{self.top}: no archive has been planned there") from None

    def picked(self, indices, every=None):
        """The shards of some lines of the plan, from 0; or of one, and of each so many lines further on."""
        wanted, count = dict.fromkeys(indices), 0
        with open(self.plan, encoding="utf-8") as lines:
            for index, line in enumerate(lines):
                count = index + 1
                if index in wanted or every and index > indices[0] and (index - indices[0]) % every == 0:
                    wanted[index] = next(shards_in([line]))
                elif not every and index > max(indices):
                    break
        for index, shard in wanted.items():
            if not shard:
                raise Refused(f"shard {index}: the plan in {self.plan} has {count}, from 0")
        return list(wanted.values())

    # ---- results ----

    def finals(self, shard):
        """What a shard's results are called, by kind; without a video where none is written."""
        kinds = {"video": self.settings["suffix"], "messages": "jsonl"}
        return {kind: self.results / f"{shard.name}.{suffix}" for kind, suffix in kinds.items() if suffix}

    def part(self, shard, kind):
        """What this process writes a result to. Containers share names of hosts and numbers of processes."""
        name = f"{digest(shard).hex()}-{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(4)}"
        return self.partial / f"{name}.{kind}"

    def sweep(self, shard):
        """Removes what this process, and killed ones before it, have left of a claimed shard."""
        for path in self.partial.glob(f"{digest(shard).hex()}-*"):
            path.unlink(missing_ok=True)

    # ---- the manifest ----

    def lock(self, at, how):
        fcntl.lockf(self.manifest, how, 1, at)

    def claim(self, shard, patience_s):
        """Whether the shard is this process's alone from now on, until it releases it or ends; waits that
        long for another one to do so."""
        at, until = claim_at(shard), time.monotonic() + patience_s
        while True:
            try:
                self.lock(at, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except (BlockingIOError, PermissionError):
                if time.monotonic() >= until:
                    return False
                time.sleep(WAIT_S)

    def release(self, shard):
        self.lock(claim_at(shard), fcntl.LOCK_UN)

    def look(self):
        """Reads what has been appended since. A host that lost power may have left a part of a row."""
        size = os.fstat(self.manifest).st_size
        rest = b""
        while self.read + len(rest) < size:
            block = rest + os.pread(self.manifest, BLOCK, self.read + len(rest))
            *lines, rest = block.split(b"\n")
            for line in lines:
                name = NAME.match(line)
                if name and line.endswith(b"}"):
                    self.where[json.loads(name[1])] = self.read, len(line)
                self.read += len(line) + 1

    def row_of(self, shard):
        """None unless this shard, of the source as it is, has one. The last one counts: a source may have been
        replaced."""
        self.look()
        row = self.row(shard.name)
        return row if row and is_of(row, shard) else None

    def row(self, name):
        """The last one of that name that has been seen, of whatever source."""
        at, length = self.where.get(name, (0, 0))
        try:
            return json.loads(os.pread(self.manifest, length, at))
        except ValueError:
            return None

    def append(self, row):
        """On the disk when this returns."""
        self.lock(APPENDING, fcntl.LOCK_EX)
        try:
            size = os.fstat(self.manifest).st_size
            torn = size and os.pread(self.manifest, 1, size - 1) != b"\n"
            line = b"\n" * bool(torn) + json.dumps(row).encode() + b"\n"
            if os.write(self.manifest, line) != len(line):
                raise OSError(f"{self.top / 'manifest.jsonl'}: a row was not written as a whole")
            os.fsync(self.manifest)
        finally:
            self.lock(APPENDING, fcntl.LOCK_UN)


def is_of(row, shard):
    return all(row[key] == getattr(shard, key) for key in ("bytes", "modified", "begin", "end"))
