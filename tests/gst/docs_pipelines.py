#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs every gst-launch-1.0 command of README.md and docs/. A GLib critical aborts a command.

A command is a line of a fenced code block, with its continuation lines. Those of a page run one after the
other in one folder, so that one may read what another has written. A block after the comment

    <!-- not run: needs a camera -->

is printed and not run. One after

    <!-- needs cudaupload -->

is run where these elements are, and, as they are for CUDAMemory, where ours take that. With GPV_TEST_SHORT
these are all, as the others run where there is no GPU, too. Every page in docs/elements must have a command
that runs, and without GPV_TEST_SHORT docs/pipelines.md 20 of them.

Of each command the exit status counts, and

- every file that it writes, by a sink or by >, is there, and pictures and videos can be decoded and are
  not of one colour throughout; every line of a .jsonl file is JSON;
- with -m and post-messages=true, messages of these elements are printed;
- what a comment <!-- prints count=(int)3 --> before the block says is printed.

usage: docs_pipelines.py [--keep FOLDER] [PAGE...]
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60
FENCE = re.compile(r"^\s*(```|~~~)")
NOT_RUN = re.compile(r"<!--\s*not run:\s*(.+?)\s*-->")
NEEDS = re.compile(r"<!--\s*needs\s+(.+?)\s*-->")
PRINTS = re.compile(r"<!--\s*prints\s+(.+?)\s*-->")
SHORT = "GPV_TEST_SHORT" in os.environ
USUAL = "needs no GPU" if SHORT else None  # why a block is not run
MIN_COMMANDS = {"docs/pipelines.md": 3 if SHORT else 20}
# A file that is written, with what a number in it is printed as.
WRITTEN = re.compile(r"\b\w*sink\s[^!]*?\blocation=([^\s;]+)|>\s*([\w.-]+)")
NUMBER = re.compile(r"%\d*d")
SHOWN = {".png", ".jpg", ".webm", ".mkv", ".avi", ".mp4"}
MESSAGES = re.compile(r"\b(gpu\w+)[^!]*\bpost-messages=true")


def why_not(elements):
    for element in elements.split():
        if subprocess.run(["gst-inspect-1.0", "--exists", element], check=False).returncode != 0:
            return f"there is no {element}"
    if not re.search(r"\b(cuda|nv)", elements):
        return USUAL
    ours = subprocess.run(["gst-inspect-1.0", "gpuerode"], check=True, capture_output=True, text=True)
    return None if "memory:CUDAMemory" in ours.stdout else "gpuvision is built without CUDAMemory"


def blocks(text):
    """Yields (reason not to run or None, what is printed, lines) of each fenced block."""
    reason, printed, lines, inside = USUAL, [], [], False
    for line in text.splitlines():
        if FENCE.match(line):
            if inside:
                yield reason, printed, lines
                reason, printed = USUAL, []
            inside, lines = not inside, []
        elif inside:
            lines.append(line)
        elif match := NOT_RUN.search(line):
            reason = match.group(1)
        elif match := NEEDS.search(line):
            reason = why_not(match.group(1))
        elif match := PRINTS.search(line):
            printed.append(match.group(1))
        elif line.strip():
            reason, printed = USUAL, []
    if inside:
        raise SystemExit("a fenced block is not closed")


def commands(lines):
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    for line in joined.splitlines():
        line = re.sub(r"^\s*\$\s+", "", line).strip()
        if re.search(r"\bgst-launch-1\.0\b", line) and not line.startswith("#"):
            yield line


def end_of(output):
    return "\n".join(line[:300] for line in output.splitlines()[-20:])


def execute(command, folder):
    """Returns (None or what went wrong, what is printed)."""
    process = subprocess.Popen(["sh", "-c", command], cwd=folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True,
                               env={**os.environ, "G_DEBUG": "fatal-criticals"})
    try:
        output, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"still runs after {TIMEOUT_S} s", ""
    failed = process.returncode != 0
    return f"exit {process.returncode}\n{end_of(output)}" if failed else None, output


def is_of_one_color(path):
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "raw")
        subprocess.run(["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "decodebin", "!",
                        "videoconvert", "!", "video/x-raw,format=ARGB64", "!", "filesink",
                        f"location={raw}"], check=True, timeout=TIMEOUT_S)
        pixels = raw.read_bytes()
    return pixels == pixels[:8] * (len(pixels) // 8)


def fault_of(path):
    """What is wrong with a file that was written, or None."""
    if not path.exists() or path.stat().st_size == 0:
        return f"{path.name} is not there, or empty"
    if path.suffix == ".jsonl":
        for line in path.read_text(encoding="utf-8").splitlines():
            json.loads(line)
    if path.suffix in SHOWN and is_of_one_color(path):
        return f"{path.name} has one colour"
    return None


def written_by(command):
    """The files, the first one of those that a number tells apart."""
    for match in WRITTEN.finditer(command):
        yield NUMBER.sub(lambda number: number.group() % 0, match.group(1) or match.group(2))


def run(command, printed, folder):
    """Returns None, or what went wrong."""
    paths = [Path(folder, name) for name in written_by(command)]
    for path in paths:
        path.unlink(missing_ok=True)
    failure, output = execute(command, folder)
    if failure:
        return failure
    try:
        faults = [fault for path in paths if (fault := fault_of(path))]
    except (subprocess.SubprocessError, ValueError) as error:
        faults = [str(error)]
    wanted = [*printed]
    if re.search(r"gst-launch-1\.0 -m\b", command) and not re.search(r"[|>]", command):
        wanted += [f"(element): {element}, " for element in MESSAGES.findall(command)]
    faults += [f"'{words}' is not printed" for words in wanted if words not in output]
    return "\n".join([*faults, end_of(output)]) if faults else None


def check_page(page, folder):
    """Returns (commands run, failures) of one page."""
    name = page.relative_to(ROOT)
    ran = failed = 0
    for reason, printed, lines in blocks(page.read_text(encoding="utf-8")):
        for command in commands(lines):
            if reason:
                print(f"{name}: not run ({reason}): {command}")
                continue
            ran += 1
            failure = run(command, printed, folder)
            print(f"{name}: {'FAILED' if failure else 'ok'}: {command}", flush=True)
            if failure:
                failed += 1
                print(failure)
    minimum = MIN_COMMANDS.get(str(name), int(page.parent == ROOT / "docs" / "elements"))
    if ran < minimum:
        failed += 1
        print(f"{name}: FAILED: {ran} commands ran, {minimum} must")
    return ran, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--keep", metavar="FOLDER", help="where the files go, to look at; else they go away")
    parser.add_argument("pages", nargs="*", type=Path, help="all, unless some are named")
    args = parser.parse_args()
    pages = [page.resolve() for page in args.pages] or \
        [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    results = []
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            results.append(check_page(page, args.keep or folder))
    ran, failed = (sum(column) for column in zip(*results))
    print(f"{len(pages)} pages, {ran} commands run, {failed} failures")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
