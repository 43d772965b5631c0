# SPDX-License-Identifier: BSD-2-Clause
"""What tests of a build of meson's need, and no more, as targets for ninja.

needed.py FOLDER [--no-suite SUITE]...     prints them, of all tests but those of these suites
"""
import json
import os
import sys
from pathlib import Path

from tree import TOP


def introspect(folder, what):
    return json.loads((Path(folder) / f"meson-info/intro-{what}.json").read_text(encoding="utf-8"))


def in_suite(test, suite):
    return any(name.split(":")[-1] == suite for name in test["suite"])


def targets(folder, tests):
    needed = {target for test in tests for target in test["depends"]}
    return [os.path.relpath(file, Path(folder).resolve()) for target in introspect(folder, "targets")
            if target["id"] in needed for file in target["filename"]]


def roots(folder, tests):
    """By name of a test, the files and folders of the project that it runs and is built from."""
    made_from = {}
    for target in introspect(folder, "targets"):
        place = Path(target["defined_in"]).parent
        # Meson does not tell what nvcc compiles. What loads a library needs all of it.
        made_from[target["id"]] = [place] if place in (TOP / "gst", TOP / "libgpuvision") else [
            source for part in target["target_sources"] for source in part.get("sources", [])]
    found = {}
    for test in tests:
        paths = test["cmd"] + [path for target in test["depends"] for path in made_from.get(target, [])]
        inside = [Path(os.path.realpath(path)) for path in paths if os.path.isabs(path)]
        found[test["name"]] = sorted(path.relative_to(TOP).as_posix() + "/" * path.is_dir()
                                     for path in inside if TOP in path.parents)
    return found


def tests_without(folder, words):
    """All but those of the suites in [--no-suite SUITE]..."""
    without = words[1::2]
    if any(word != "--no-suite" for word in words[::2]) or len(words) % 2:
        sys.exit("words behind the folder are not --no-suite SUITE")
    return [test for test in introspect(folder, "tests")
            if not any(in_suite(test, suite) for suite in without)]


def main(folder, *words):
    print("\n".join(targets(folder, tests_without(folder, words))))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
