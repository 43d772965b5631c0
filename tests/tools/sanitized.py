# SPDX-License-Identifier: BSD-2-Clause
"""Sees to it that no test is missing from a build with sanitizers unnoticed.

sanitized.py BUILD SANITIZED-BUILD [OPTION of needed.py]...
    every test of BUILD is run in SANITIZED-BUILD, with these options, but for what is listed here
"""
import argparse
from fnmatch import fnmatchcase

from needed import add_choice, choose, in_suite, introspect, waiting

NEED_A_GPU = {"cuda", "cuda-brief"}  # compute-sanitizer runs the latter
SUITES = {  # that may be left out
    "headers": "compiles",
    "abi": "compiles",
    "repo": "reads sources",
    "docs": "reads pages, and compiles what is on them",
    "seeds": "the fuzzers, which have sanitizers, begin with these",
    "full": "of a short run; ./dev test --full has it",
}
TESTS = {
    "*-time": "how long contents take says nothing there",
    "bindings-cpp-page": "compiles what is on a page",
    "bindings-go": "a sanitized library cannot be loaded into a program that is not",
    "bindings-python*": "as bindings-go",
    "bindings-rust": "as bindings-go",
    "cuda-*-simt": "CUDAMemory, whose emulated driver is loaded before any other library",
    "cuda-second-device": "needs two GPUs",
    "docs-pipelines": "gst-launch-1.0 is not sanitized",
    "endurance-cycles-leaks": "GStreamer's leaks tracer; the sanitizers look for the same",
    "examples-appsink": "saves time; chain and live run the same elements",
    "examples-archive*": "as bindings-go",
    "examples-demo": "plays videos by many plugins, which are not sanitized",
    "examples-expansion": "as bindings-go",
    "examples-installed": "installs, and runs a plain Python",
    "examples-tour": "as bindings-go",
    "examples-watch": "as bindings-go",
    "latency*": "as rate",
    "rate*": "says nothing there; other tests run the elements",
    "valgrind-*": "valgrind, without sanitizers",
}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("plain")
    parser.add_argument("sanitized")
    add_choice(parser)
    choice = parser.parse_args()
    there = {test["name"] for test in choose(choice.sanitized, choice)}
    suites = NEED_A_GPU | SUITES.keys() & set(choice.no_suite)
    tests = introspect(choice.plain, "tests")
    others = waiting(introspect(choice.sanitized, "tests"), choice)
    missing = [test["name"] for test in tests if test["name"] not in there | others
               and not any(in_suite(test, suite) for suite in suites)
               and not any(fnmatchcase(test["name"], pattern) for pattern in TESTS)]
    for name in missing:
        print(f"{name} is not run in {choice.sanitized}, and {__file__} does not say why")
    if others:
        print(f"left to other commits: {', '.join(sorted(others))}")
    print(f"{sum(test['name'] in there for test in tests)} of {len(tests)} tests are run in "
          f"{choice.sanitized}, {len(missing)} are missing without a reason")
    return bool(missing)


if __name__ == "__main__":
    raise SystemExit(main())
