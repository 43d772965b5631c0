#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs every gst-launch-1.0 command of README.md and docs/. A GLib critical aborts a command.

A command is a line of a fenced code block, with its continuation lines. A
block after the comment

    <!-- not run: needs a camera -->

is printed and not run. One after

    <!-- needs cudaupload -->

is run where that element is, and, as it gives CUDAMemory, where ours take that. Every page in docs/elements must have a command
that runs.
"""
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
NEEDS = re.compile(r"<!--\s*needs\s+(\S+)\s*-->")


def why_not(element):
    there = subprocess.run(["gst-inspect-1.0", "--exists", element], check=False).returncode == 0
    if not there:
        return f"there is no {element}"
    ours = subprocess.run(["gst-inspect-1.0", "gpuerode"], check=True, capture_output=True, text=True)
    return None if "memory:CUDAMemory" in ours.stdout else "gpuvision is built without CUDAMemory"


def blocks(text):
    """Yields (reason not to run or None, lines) of each fenced block."""
    reason, lines, inside = None, [], False
    for line in text.splitlines():
        if FENCE.match(line):
            if inside:
                yield reason, lines
                reason = None
            inside, lines = not inside, []
        elif inside:
            lines.append(line)
        elif match := NOT_RUN.search(line):
            reason = match.group(1)
        elif match := NEEDS.search(line):
            reason = why_not(match.group(1))
        elif line.strip():
            reason = None
    if inside:
        raise SystemExit("a fenced block is not closed")


def commands(lines):
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    for line in joined.splitlines():
        line = re.sub(r"^\s*\$\s+", "", line).strip()
        if re.search(r"\bgst-launch-1\.0\b", line) and not line.startswith("#"):
            yield line


def run(command):
    """Returns None, or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(["sh", "-c", command], cwd=folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True,
                                   env={**os.environ, "G_DEBUG": "fatal-criticals"})
        try:
            output, _ = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"still runs after {TIMEOUT_S} s"
    return None if process.returncode == 0 else f"exit {process.returncode}\n{output}"


def check_page(page):
    """Returns (commands run, failures) of one page."""
    name = page.relative_to(ROOT)
    ran = failed = 0
    for reason, lines in blocks(page.read_text(encoding="utf-8")):
        for command in commands(lines):
            if reason:
                print(f"{name}: not run ({reason}): {command}")
                continue
            ran += 1
            failure = run(command)
            print(f"{name}: {'FAILED' if failure else 'ok'}: {command}", flush=True)
            if failure:
                failed += 1
                print(failure)
    if ran == 0 and page.parent == ROOT / "docs" / "elements":
        failed += 1
        print(f"{name}: FAILED: no command that runs")
    return ran, failed


def main():
    pages = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
             if page.exists()]
    results = [check_page(page) for page in pages]
    ran, failed = (sum(column) for column in zip(*results)) if results else (0, 0)
    print(f"{len(pages)} pages, {ran} commands run, {failed} failures")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
