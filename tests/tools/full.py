# SPDX-License-Identifier: BSD-2-Clause
"""What ./dev test --full has still to run, and its record, docs/results/full.json.

full.py left FOLDER [OPTION of needed.py]...   the tests of a build that have not passed on today's sources, and on
                                               a machine like this; before what they need is built
full.py keep FOLDER                            records what has passed, by meson's log FOLDER/meson-logs/full.json

A test is made of all that may change its result, as tests and builds read more than closure.py sees: of the whole
tree, the build's options and dependencies, and the environment, but for other tests' programs and headers, for
pages, and for what builds and looks at the tree. Who looks at all of that runs always. Of a run that was killed,
left keeps what has passed.
"""
import hashlib
import json
import os
import re
import sys
from pathlib import Path, PurePosixPath

from closure import C_FAMILY, UNCOUNTED, Sources
from needed import arguments, choose, in_suite, introspect, roots
from results import first, keep, kind, load_or_begin, load_tests, machine

ALWAYS = ("abi", "docs", "docs-pipelines", "headers", "repo", "presets")  # suites and tests
UNREAD = ("docs/", "tests/docs/", "tests/repo/", "tests/tools/", ".ci/", "dev")
EMULATION = "tests/simt/"
ENVIRONMENT = r"GPV_|CK_|GST_CHECKS|[A-Z]+SAN_OPTIONS"


def paths(folder):
    """Of the log, and of what its tests are made of."""
    return Path(folder) / "meson-logs/full.json", Path(folder) / "meson-logs/full-sources.json"


def record_of(folder, test):
    return f"{Path(folder).resolve().name} {test}"


def here():
    """The machine: the CPU backend is compiled for several sets of instructions, and takes the best."""
    flags = first(r"^(?:flags|Features)\s*: (.*)", "/proc/cpuinfo") or ""
    return {**machine(), "instructions": hashlib.sha256(flags.encode()).hexdigest()[:8]}


def circumstances(folder):
    """What else decides what the tests of a build do."""
    return json.dumps([[(option["name"], option["value"]) for option in introspect(folder, "buildoptions")],
                       sorted((found["name"], found["version"]) for found in introspect(folder, "dependencies")),
                       sorted(item for item in os.environ.items() if re.match(ENVIRONMENT, item[0]))])


def of_each_test(sources, name):
    """Whether each test is made of a file; of others only those that lead to it."""
    path = PurePosixPath(name)
    if name.startswith(UNREAD) or path.suffix == ".md":
        return False
    if not name.startswith("tests/") or path.suffix not in C_FAMILY:
        return True
    if re.search(r"^int main\(", sources.text(name), re.M):
        return False
    return path.suffix in (".c", ".cpp") or name.startswith(EMULATION)


def todays(folder, tests):
    """By name, a hash of what each test is made of."""
    sources, made_from = Sources(), roots(folder, tests)
    base = {name for name in sources.names if of_each_test(sources, name)} | UNCOUNTED
    base |= sources.closure([name for name in base if PurePosixPath(name).suffix in C_FAMILY])
    parity = sorted(name for name in sources.names if re.fullmatch(r"tests/parity/[^/]+\.cpp", name))

    def digest(names, begin):
        whole = hashlib.sha256(begin.encode())
        for name in sorted(names & sources.names):
            whole.update(name.encode() + b"\0" + sources.meaning(name) + b"\0")
        return whole.hexdigest()[:16]

    common = digest(base, circumstances(folder))
    for test in tests:
        # Of kernels before sm_90 the program is made of another's objects, which Meson does not tell.
        if in_suite(test, "simt"):
            made_from[test["name"]] += parity
    return {test["name"]: digest(sources.closure(made_from[test["name"]]) - base, common) for test in tests
            if test["name"] not in ALWAYS and not any(in_suite(test, suite) for suite in ALWAYS)}


def keep_passed(folder):
    log, made_of = paths(folder)
    before = json.loads(made_of.read_text(encoding="utf-8")) if made_of.exists() else {}
    today = todays(folder, introspect(folder, "tests")) if before.pop("machine", None) == here() else {}
    passed = {}
    for name, result, _, seconds in load_tests(log):
        test = re.split("[ :]", name)[-1]  # of meson's "project:suite / name"
        # What has changed while it was built and run says nothing.
        if kind(result) == "passed" and test in before and before[test] == today.get(test):
            passed[record_of(folder, test)] = {"result": result, "seconds": seconds, "source": today[test]}
    if passed:
        keep("full", passed, here())


def left(folder, choice):
    log, made_of = paths(folder)
    if log.exists():
        keep_passed(folder)
        log.unlink()
    tests, data, machine_today = choose(folder, choice), load_or_begin("full"), here()
    today = todays(folder, tests)
    made_of.write_text(json.dumps({"machine": machine_today, **today}), encoding="utf-8")
    records = {name: run for name, run in data["tests"].items()
               if data["machines"][run["machine"]] == machine_today}
    names = [test["name"] for test in tests]
    return [name for name in names if name not in today or
            records.get(record_of(folder, name), {}).get("source") != today[name]], len(names)


def main():
    choice = arguments(__doc__, "left", "keep")
    if choice.what == "keep":
        keep_passed(choice.folder)
        return
    names, count = left(choice.folder, choice)
    print(f"{count - len(names)} of {count} tests of {choice.folder} have passed on today's sources, by "
          "docs/results/full.json", file=sys.stderr)
    if names:
        print("\n".join(names))


if __name__ == "__main__":
    main()
