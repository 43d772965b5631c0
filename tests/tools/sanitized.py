# SPDX-License-Identifier: BSD-2-Clause
"""Sees to it that no test is missing from a build with sanitizers unnoticed.

sanitized.py BUILD SANITIZED-BUILD     every test of BUILD is one of SANITIZED-BUILD, but those listed here
"""
import sys
from fnmatch import fnmatchcase

from needed import in_suite, introspect

SUITES = {
    "cuda": "needs a GPU",
    "cuda-brief": "needs a GPU; compute-sanitizer is for these",
    "headers": "compiles",
    "abi": "compiles",
    "house": "reads sources",
    "docs": "reads pages, and compiles what is on them",
}
TESTS = {
    "*-time": "how long contents take says nothing there",
    "bindings-cpp-page": "compiles what is on a page",
    "bindings-go": "a sanitized library cannot be loaded into a program that is not",
    "bindings-python*": "as bindings-go",
    "bindings-rust": "as bindings-go",
    "cuda-*": "CUDAMemory on an emulated driver, which is loaded before any other library",
    "docs-pipelines": "gst-launch-1.0 is not sanitized",
    "endurance-cycles-leaks": "GStreamer's leaks tracer; the sanitizers look for the same",
    "examples-appsink": "gst-launch-1.0, too",
    "examples-demo": "gst-launch-1.0, too",
    "examples-installed": "installs, and runs a plain Python",
    "examples-tour": "as bindings-go",
    "examples-watch": "as bindings-go",
    "valgrind-*": "the sanitizers look for the same",
}


def left_out(test):
    return (any(in_suite(test, suite) for suite in SUITES) or
            any(fnmatchcase(test["name"], pattern) for pattern in TESTS))


def main(plain, sanitized):
    there = {test["name"] for test in introspect(sanitized, "tests")}
    tests = introspect(plain, "tests")
    missing = [test["name"] for test in tests if test["name"] not in there and not left_out(test)]
    for name in missing:
        print(f"{sanitized} lacks the test {name}, and {__file__} does not say why")
    print(f"{sum(test['name'] in there for test in tests)} of {len(tests)} tests are in {sanitized}, "
          f"{len(missing)} are missing without a reason")
    sys.exit(bool(missing))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
