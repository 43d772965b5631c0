# SPDX-License-Identifier: BSD-2-Clause
"""Which suites see the faults of mutants.txt.

mutants.py FOLDER [--jobs N] [--only TEXT]... [--suite S]... [--seconds N] [--out FILE.json]
           [--beside OTHER.json] [-- MESON OPTIONS]

FOLDER     of copies of the tree with their builds, a sound one, and one for each job; kept for the next call
--jobs     faults at a time, else one for each core
--only     faults in whose line one of these is
--suite    only these suites
--seconds  then what still runs is cut off; the same command goes on with what is left
--out      the results, written after each fault, else FOLDER/mutants.json. What it has of the same fault, sources
           and tests is not run again
--beside   names those that the other run has killed, and this one has not

Each fault is put into a copy, built, and runs through the tests that reach it, in the short form, from
quick to slow: those of each suite until one fails twice. A test that fails without a fault is left out.

Exits with 1 if a fault has survived, does not build, or is left.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from needed import in_suite, introspect, targets
from tree import TOP, files

LIST = TOP / "tests/tools/mutants.txt"
OPTIONS = ["-Dcuda=disabled", "-Ddebug=false", "-Doptimization=1", "-Ddocs=disabled", "-Dexamples=disabled"]
SUITES = ["unit", "fuzz", "api", "parity", "simt", "gst-faults", "gst", "docs"]
# By the first of these folders that a path begins with.
REACH = {
    "libgpuvision/cuda/": {"simt", "gst-faults"},
    "libgpuvision/": set(SUITES),
    "gst/": {"unit", "fuzz", "gst-faults", "gst", "docs"},
}
# What decides of a result, but for these tools.
TRIED = ["meson.build", "meson_options.txt", "include", "libgpuvision", "gst", "tests"]
NO_SUITES = {"cuda", "cuda-brief", "gpus", "time", "full", "soak"}
NO_TESTS = re.compile("simt|rate.*|latency.*|valgrind-.*|docs-(?!elements).*")  # of no code of ours, or slow
# A test that is called after an algorithm runs no other, but for those that one is made of.
STEMS = re.compile("erode|ccl|kmeans|expansion|graphcut|segment|sift|match|homography")
FAMILY = {"expansion": "graphcut", "segment": "graphcut", "match": "sift", "homography": "sift"}
SHORT = {"GPV_TEST_SHORT": "1", "GPV_TEST_TURN": "0", "MALLOC_PERTURB_": "90"}
IN_CHILD = re.compile(r"[Rr]eceived signal (\d+)|Test (timeout) expired")  # of Check's


@dataclass(frozen=True)
class Fault:
    name: str  # unique in the list, by which results are kept
    line: str  # of the list
    path: str
    old: str
    new: str
    number: int  # of the line in its file

    def folder(self):
        return re.match(r"libgpuvision/\w+|\w+", self.path)[0]

    def __str__(self):
        return f"{self.name}  {self.path}:{self.number}  {self.old} -> {self.new}"


def read_list():
    """The faults, and what is wrong with those that are none."""
    found, wrong, names = [], [], set()
    for number, line in enumerate(LIST.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            continue
        name, path, old, new = line.split("\t") if line.count("\t") == 3 else ("", "", "", "")
        text = (TOP / path).read_text(encoding="utf-8") if path and (TOP / path).is_file() else ""
        if re.fullmatch("[a-z0-9-]+", name) and name not in names and old and new and text.count(old) == 1:
            found.append(Fault(name, line, path, old, new, text[:text.index(old)].count("\n") + 1))
            names.add(name)
        else:
            wrong.append(f"tests/tools/mutants.txt:{number}: no name of its own, path, text that stands once in "
                         f"that file, and new text, with tabs between them: {line}")
    return found, wrong


def digest_of_tree():
    """Of the sources and the tests, wherever they lie and whatever git knows of them."""
    digest = hashlib.sha256()
    for path in files(*TRIED, new=True):
        name = path.relative_to(TOP).as_posix()
        if not name.startswith("tests/tools/"):
            data = path.read_bytes()
            digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def family(name):
    stem = STEMS.search(name)
    return stem and FAMILY.get(stem[0], stem[0])


def suite_of(test):
    """The first of SUITES; None of what says nothing here."""
    if NO_TESTS.fullmatch(test["name"]) or any(in_suite(test, suite) for suite in NO_SUITES):
        return None
    return next((suite for suite in SUITES if suite == test["name"] or in_suite(test, suite)), None)


def reaches(test, fault):
    suites = next(suites for folder, suites in REACH.items() if fault.path.startswith(folder))
    return suite_of(test) in suites and (family(test["name"]) in (None, family(fault.path)) or
                                         not family(fault.path))


class OutOfTime(Exception):
    pass


class Copy:
    """Of the tree, with its build."""

    def __init__(self, top, number, end):
        self.top, self.build, self.end = top / f"{number:02}", top / f"{number:02}/build", end

    def call(self, words, limit=float("inf"), **options):
        """Exit status, or None at the limit, and output. Nothing that it has started is left."""
        left = min(limit, self.end - time.monotonic())
        with subprocess.Popen(words, text=True, errors="replace", start_new_session=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              **options) as process:
            try:
                output, _ = process.communicate(timeout=left if left < float("inf") else None)
                return process.returncode, output
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGTERM)  # Check ends its children, which are other groups
                time.sleep(1)
                os.killpg(process.pid, signal.SIGKILL)
        if time.monotonic() >= self.end:
            raise OutOfTime
        return None, ""

    def update(self):
        """Takes over what is other in the tree, or where a fault was left."""
        for path in files(new=True):
            copy = self.top / path.relative_to(TOP)
            if not copy.exists() or copy.read_bytes() != path.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)

    def take(self, other):
        """A build is full of paths, in ninja's tables and in programs, too. Those of copies are as long."""
        part = self.top.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(other.top, part, symlinks=True)
        for path in (part / "build").rglob("*"):
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            if os.fsencode(other.top) in data:
                times = path.stat()
                path.write_bytes(data.replace(os.fsencode(other.top), os.fsencode(self.top)))
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        part.rename(self.top)

    def ninja(self, tests, jobs):
        return self.call(["ninja", "-C", self.build, f"-j{jobs}", *targets(self.build, tests)])

    def fails(self, test, seconds=float("inf")):
        """How, or None. What does not fail again has not failed; seconds: that it takes without a fault."""
        libraries = [test["env"].get("LD_LIBRARY_PATH"), os.environ.get("LD_LIBRARY_PATH")]
        environment = {**SHORT, **os.environ, **test["env"],
                       "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}
        how = None
        for _ in range(2):
            status, output = self.call(test["cmd"], 30 + 5 * seconds, env=environment,
                                       cwd=test["workdir"] or self.build)
            if status in (0, 77):
                return "skipped" if status else None
            in_child = IN_CHILD.search(output)
            how = "timeout" if status is None else f"signal {-status}" if status < 0 else \
                "failed" if not in_child else in_child[2] or f"signal {in_child[1]}"
        return how

    def try_out(self, fault, suites, seconds):
        """{suite that reaches it: (test that fails, how) or None}, or what ninja says."""
        tests = sorted((test for test in introspect(self.build, "tests") if test["name"] in seconds
                        and suite_of(test) in suites and reaches(test, fault)),
                       key=lambda test: seconds[test["name"]])
        copy = self.top / fault.path
        text = copy.read_text(encoding="utf-8")
        copy.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
        try:
            status, output = self.ninja(tests, 2)
            if status != 0:
                return output[-3000:]
            killed = {suite_of(test): None for test in tests}
            for test in tests:
                if not killed[suite_of(test)]:
                    how = self.fails(test, seconds[test["name"]])
                    killed[suite_of(test)] = (test["name"], how) if how not in (None, "skipped") else None
            return killed
        finally:
            copy.write_text(text, encoding="utf-8")


def prepare(sound, options, jobs):
    """Builds the sound copy. The seconds of each test that passes there."""
    sound.update()
    if not (sound.build / "build.ninja").exists():
        status, output = sound.call(["meson", "setup", sound.build, sound.top, *OPTIONS, *options])
        if status != 0:
            sys.exit(output)
    tests = [test for test in introspect(sound.build, "tests") if suite_of(test)]
    status, output = sound.ninja(tests, jobs)
    if status != 0:
        sys.exit(output[-3000:])
    known = sound.top / "seconds.json"
    built = [sound.build / file for file in targets(sound.build, tests, default=True)]
    newest = max(file.stat().st_mtime for file in built if file.exists())
    if known.exists() and known.stat().st_mtime > newest:
        return json.loads(known.read_text(encoding="utf-8"))
    seconds = {}

    def measure(test):
        begin, how = time.monotonic(), sound.fails(test)
        if how is None:
            seconds[test["name"]] = round(time.monotonic() - begin, 2)
        elif how != "skipped":
            print(f"left out, as it fails without a fault: {test['name']}: {how}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(measure, tests))
    known.write_text(json.dumps(seconds), encoding="utf-8")
    return seconds


def killers(run):
    return [suite for suite in SUITES if run.get("suites", {}).get(suite)]


def report(faults, runs):
    """A table, and what has survived. Whether nothing has. runs: those that are whole"""
    told = [fault for fault in faults if "suites" in runs.get(fault.name, {})]
    survivors = [fault for fault in told if not killers(runs[fault.name])]
    wrong = [fault for fault in faults if "error" in runs.get(fault.name, {})]
    print("\nkilled, of those that reach".ljust(28), *(suite.rjust(10) for suite in SUITES + ["any"]))
    for folder in sorted({fault.folder() for fault in told}) + [""]:
        rows = [runs[fault.name] for fault in told if fault.folder().startswith(folder)]
        cells = [[suite in killers(run) for run in rows if suite in run["suites"]] for suite in SUITES]
        cells.append([bool(killers(run)) for run in rows])
        print((folder or "all").ljust(27), *(f"{sum(cell)}/{len(cell)}".rjust(10) for cell in cells))
    print(f"\n{len(survivors)} survived", *survivors, sep="\n    ")
    print(f"{len(wrong)} did not build", *wrong, sep="\n    ")
    left = len(faults) - len(told) - len(wrong)
    print(f"{left} are left" + ": the same command goes on with them" * bool(left))
    return not survivors and not wrong and not left


def arguments():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=lambda name: Path(name).resolve())
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--suite", action="append", choices=SUITES)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--beside", type=Path)
    return parser.parse_args(sys.argv[1:at]), sys.argv[at + 1:]


def main():
    begin, (choice, options) = time.monotonic(), arguments()
    faults, wrong = read_list()
    if wrong:
        sys.exit("\n".join(wrong))
    faults = [fault for fault in faults if not choice.only or any(text in fault.line for text in choice.only)]
    out, end = choice.out or choice.folder / "mutants.json", begin + choice.seconds
    sound = Copy(choice.folder, 0, end)
    try:
        seconds = prepare(sound, options, choice.jobs)
    except OutOfTime:
        sys.exit("the sound copy has not been built and measured yet: the same command goes on with that")
    runs = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    asked, digest = choice.suite or SUITES, digest_of_tree()

    def known(fault):
        """What this fault did with these sources and tests."""
        run = runs.get(fault.name, {})
        return run if run.get("line") == fault.line and run.get("digest") == digest else {}

    def suites_left(fault):
        return [suite for suite in asked if suite not in known(fault).get("asked", [])]

    # Those of headers first: much is made of them.
    left = sorted(filter(suites_left, faults), key=lambda fault: not fault.path.endswith(("hpp", "cuh")))
    lock, cores = threading.Lock(), sorted(os.sched_getaffinity(0))

    def note(fault, tried, found, took):
        with lock:
            before = known(fault)
            run = {"line": fault.line, "digest": digest, "asked": before.get("asked", []) + tried,
                   "seconds": round(took, 1)}
            runs[fault.name] = {**run, "error": found} if isinstance(found, str) else \
                {**run, "suites": {**before.get("suites", {}), **found}}
            part = out.with_suffix(".part")
            part.write_text(json.dumps(runs, indent=1), encoding="utf-8")
            part.replace(out)
            by = ", ".join(killers(runs[fault.name]))
            what = found if isinstance(found, str) else f"killed by: {by}" if by else "SURVIVED"
            print(f"{sum(not suites_left(fault) for fault in faults)} of {len(faults)}, "
                  f"{(time.monotonic() - begin) / 60:.1f} min: {fault}   {what}", flush=True)

    def serve(number):
        # Two cores, one of them a neighbour's, too: what runs in several threads does.
        os.sched_setaffinity(0, {cores[number % len(cores)], cores[(number + 1) % len(cores)]})
        copy = Copy(choice.folder, number + 1, end)
        if not copy.top.exists():
            copy.take(sound)
        copy.update()
        while True:
            with lock:
                if not left:
                    return
                fault = left.pop(0)
            started, tried = time.monotonic(), suites_left(fault)
            try:
                found = copy.try_out(fault, tried, seconds)
            except OutOfTime:
                return
            note(fault, tried, found, time.monotonic() - started)

    with ThreadPoolExecutor(choice.jobs) as pool:
        list(pool.map(serve, range(choice.jobs)))
    whole = {fault.name: runs[fault.name] for fault in faults if not suites_left(fault)}
    passed = report(faults, whole)
    if choice.beside:
        other = json.loads(choice.beside.read_text(encoding="utf-8"))
        lost = [fault for fault in faults if killers(other.get(fault.name, {}))
                and not killers(whole.get(fault.name, {}))]
        print(f"{len(lost)} killed in {choice.beside} alone", *lost, sep="\n    ")
    sys.exit(not passed)


if __name__ == "__main__":
    main()
