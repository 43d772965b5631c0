# SPDX-License-Identifier: BSD-2-Clause
"""Sees to it that no test is missing from a build with sanitizers unnoticed.

sanitized.py BUILD SANITIZED-BUILD [--no-suite SUITE]...
    every test of BUILD is run in SANITIZED-BUILD, where these suites are not, but for what is listed here
"""
import sys
from fnmatch import fnmatchcase

from needed import in_suite, introspect, tests_without

NEED_A_GPU = {"cuda", "cuda-brief"}  # compute-sanitizer runs the latter
SUITES = {  # that may be left out
    "headers": "compiles",
    "abi": "compiles",
    "house": "reads sources",
    "docs": "reads pages, and compiles what is on them",
    "seeds": "the fuzzers, which have sanitizers, begin with these",
    "long": "of a short run; ./dev test --full has it",
}
TESTS = {
    "*-time": "how long contents take says nothing there",
    "bindings-cpp-page": "compiles what is on a page",
    "bindings-go": "a sanitized library cannot be loaded into a program that is not",
    "bindings-python*": "as bindings-go",
    "bindings-rust": "as bindings-go",
    "cuda-*-simt": "CUDAMemory, whose emulated driver is loaded before any other library",
    "cuda-second-device": "needs two GPUs",
    "cuda-stock-elements": "needs a GPU",
    "docs-pipelines": "gst-launch-1.0 is not sanitized",
    "endurance-cycles-leaks": "GStreamer's leaks tracer; the sanitizers look for the same",
    "examples-appsink": "saves time; chain and live run the same elements",
    "examples-archive*": "as bindings-go",
    "examples-demo": "plays videos by many plugins, which are not sanitized",
    "examples-installed": "installs, and runs a plain Python",
    "examples-tour": "as bindings-go",
    "examples-watch": "as bindings-go",
    "valgrind-*": "valgrind, without sanitizers",
}


def main(plain, sanitized, *words):
    there = {test["name"] for test in tests_without(sanitized, words)}
    suites = NEED_A_GPU | SUITES.keys() & set(words)
    tests = introspect(plain, "tests")
    missing = [test["name"] for test in tests if test["name"] not in there
               and not any(in_suite(test, suite) for suite in suites)
               and not any(fnmatchcase(test["name"], pattern) for pattern in TESTS)]
    for name in missing:
        print(f"{name} is not run in {sanitized}, and {__file__} does not say why")
    print(f"{sum(test['name'] in there for test in tests)} of {len(tests)} tests are run in {sanitized}, "
          f"{len(missing)} are missing without a reason")
    sys.exit(bool(missing))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
