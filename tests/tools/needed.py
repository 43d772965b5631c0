# SPDX-License-Identifier: BSD-2-Clause
"""Which tests of a build of meson's are to run, and what they need.

needed.py names|targets FOLDER [--suite SUITE]... [--no-suite SUITE]... [--share SUITE:N/M]... [--default]

names      the tests, a line each; targets: what ninja has to build for them
--suite    only tests of these suites
--no-suite none of these
--share    of the tests of this suite about one in M alone, which are others with each N modulo M
--default  for targets: those, too, that build_by_default has not left out
"""
import argparse
import json
import os
import re
import sys
from pathlib import Path
from zlib import crc32

from tree import TOP


def introspect(folder, what):
    return json.loads((Path(folder) / f"meson-info/intro-{what}.json").read_text(encoding="utf-8"))


def in_suite(test, suite):
    return any(name.split(":")[-1] == suite for name in test["suite"])


def targets(folder, tests, default=False):
    needed = {target for test in tests for target in test["depends"]}
    return [os.path.relpath(file, Path(folder).resolve()) for target in introspect(folder, "targets")
            if target["id"] in needed or default and target["build_by_default"] for file in target["filename"]]


def roots(folder, tests):
    """By name of a test, the files and folders of the project that it runs and is built from."""
    made_from = {}
    for target in introspect(folder, "targets"):
        place = Path(target["defined_in"]).parent
        if place in (TOP / "gst", TOP / "libgpuvision"):
            # Meson does not tell what nvcc compiles. What loads a library needs all of it, but not its bindings.
            sources = [path for path in place.iterdir() if path.name != "bindings"]
        else:
            sources = [source for part in target["target_sources"] for source in part.get("sources", [])]
        made_from[target["id"]] = sources
    found = {}
    for test in tests:
        paths = test["cmd"] + [path for target in test["depends"] for path in made_from.get(target, [])]
        inside = [Path(os.path.realpath(path)) for path in paths if os.path.isabs(path)]
        found[test["name"]] = sorted(path.relative_to(TOP).as_posix() + "/" * path.is_dir()
                                     for path in inside if TOP in path.parents)
    return found


def given(test, compilers):
    """Its words and variables, but for paths and words of compilers, which are others on each machine."""
    words = test["cmd"][1:] + [f"{name}={value}" for name, value in sorted(test["env"].items())]
    return "\0".join(word for word in words if "/" not in word and word not in compilers)


def digests(sources, folder, tests):
    """By name of a test, a hash of what it is made of, and of what it is given."""
    made_from = roots(folder, tests)
    compilers = {word for target in introspect(folder, "targets") for part in target["target_sources"]
                 if part.get("language") in ("c", "cpp") for word in part["compiler"]}
    return {test["name"]: sources.digest(made_from[test["name"]], begin=given(test, compilers)) for test in tests}


def add_choice(parser):
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--no-suite", action="append", default=[])
    parser.add_argument("--share", action="append", default=[])
    parser.add_argument("--default", action="store_true")


def waiting(tests, choice):
    """The names of those whose turn it is not. By the name alone, so that no other test changes it."""
    names = set()
    for suite, turn, shares in (re.fullmatch(r"([\w-]+):(\d+)/(\d+)", share).groups() for share in choice.share):
        names |= {test["name"] for test in tests if in_suite(test, suite)
                  and (crc32(test["name"].encode()) + int(turn)) % int(shares)}
    return names


def choose(folder, choice):
    tests = introspect(folder, "tests")
    out = waiting(tests, choice)
    found = [test for test in tests if test["name"] not in out
             and (not choice.suite or any(in_suite(test, suite) for suite in choice.suite))
             and not any(in_suite(test, suite) for suite in choice.no_suite)]
    if not found:
        sys.exit(f"there is no such test in {folder}")
    return found


def arguments(usage, *what):
    """What is to be done, in which folder, with which tests."""
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("what", choices=what)
    parser.add_argument("folder")
    add_choice(parser)
    return parser.parse_args()


def main():
    choice = arguments(__doc__, "names", "targets")
    tests = choose(choice.folder, choice)
    found = [test["name"] for test in tests] if choice.what == "names" else \
        targets(choice.folder, tests, choice.default)
    if found:
        print("\n".join(found))


if __name__ == "__main__":
    main()
