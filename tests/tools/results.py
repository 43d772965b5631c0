# SPDX-License-Identifier: BSD-2-Clause
"""Test results in one line, and benchmark results in docs/results.

results.py summary LOG...                  one line over test logs of meson
results.py record NAME [STEM=FILE...] [LOG...]
                                           benchmarks and test logs into docs/results/NAME.json
results.py tables                          remakes the tables in docs/benchmarks.md
results.py check                           are tables and results of today's sources?
results.py source                          the hash of today's sources
"""
import datetime
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
RESULTS, PAGE = TOP / "docs/results", TOP / "docs/benchmarks.md"
TABLE = re.compile(r"(<!-- results:(\S+) -->\n).*?(<!-- /results -->)", re.S)


def source_hash():
    """Of everything that decides how fast or right the library and the elements are."""
    digest = hashlib.sha256()
    for folder in "libgpuvision", "gst":
        for path in sorted((TOP / folder).rglob("*")):
            if path.is_file():
                digest.update(str(path.relative_to(TOP)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def load_tests(path):
    """(name, result) of every test in a log of meson, which holds one JSON object a line."""
    if not Path(path).exists():
        return [(f"{path} was not written", "FAIL")]
    with open(path, encoding="utf-8") as file:
        return [(test["name"], test["result"]) for test in map(json.loads, file)]


def kind(result):
    return {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}.get(result, "failed")


def summary(*logs):
    tests = [(name, result, log) for log in logs for name, result in load_tests(log)]
    for name, result, log in tests:
        if kind(result) == "failed":
            print(f"{result}: {name} ({log})")
    count = Counter(kind(result) for _, result, _ in tests)
    line = f"{count['passed']} passed, {count['failed']} failed"
    print(line + (f", {count['skipped']} skipped" if count["skipped"] else ""))
    return 1 if count["failed"] or not count["passed"] else 0


def first(pattern, path_or_command):
    try:
        text = Path(path_or_command).read_text() if isinstance(path_or_command, str) else \
            subprocess.run(path_or_command, text=True, capture_output=True).stdout
    except OSError:
        return None
    found = re.search(pattern, text, re.M)
    return found and found[1].strip()


def machine():
    facts = {
        "cpu": first(r"^model name\s*: (.*)", "/proc/cpuinfo") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": first(r'^PRETTY_NAME="(.*)"', "/etc/os-release"),
        "compiler": first(r"^(.*)$", [os.environ.get("CXX", "c++"), "--version"]),
        "gpu": first(r"^(.*)$", ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]),
        "driver": first(r"^(.*)$",
                        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]),
        "nvcc": first(r"release ([\d.]+)", ["nvcc", "--version"]),
    }
    return {name: value for name, value in facts.items() if value}


def record(name, *inputs):
    path = RESULTS / f"{name}.json"
    data = json.loads(path.read_text()) if path.exists() else {"benchmarks": {}, "tests": {}}
    stamp = {"date": datetime.date.today().isoformat(), "source": source_hash(), **machine()}
    for item in inputs:
        stem, equals, file = item.partition("=")
        if equals:
            rows = json.loads(Path(file).read_text(encoding="utf-8"))["benchmarks"]
            data["benchmarks"][stem] = {**stamp, "rows": rows}
        else:
            data["tests"][Path(item).stem] = {**stamp, "results": dict(sorted(load_tests(item)))}
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, indent=1, ensure_ascii=False)
    one_line = re.sub(r'\{\s*"name"[^{}]*\}', lambda row: json.dumps(json.loads(row[0])), text)
    path.write_text(one_line + "\n", encoding="utf-8")
    print(f"wrote {path.relative_to(TOP)}")
    return tables()


def table(name):
    data = json.loads((RESULTS / name).read_text())
    lines = []
    for stem, run in sorted(data["benchmarks"].items()):
        hardware = ", ".join(str(run[key]) for key in ("gpu", "cpu") if key in run)
        lines += [f"**{stem}** on {hardware}, {run['cores']} cores; {run.get('system', '')}; "
                  f"{run['compiler']}; {run['date']}, source {run['source']}.", "",
                  "| operation | image | threads | gpuvision, µs (quartiles) | peer, µs | speed-up |"
                  " % of memcpy's rate |",
                  "|---|---|--:|--:|--:|--:|--:|"]
        for row in run["rows"]:
            median, low, high = row["ours_us"]
            peer = (f"{row['peer']}: {row['peer_us'][0]:.0f} | {row['peer_us'][0] / median:.2f}x"
                    if "peer" in row else "– | –")
            lines.append(f"| {row['name']} | {row['image']} | {row['threads']} | {median:.0f} "
                         f"({low:.0f}–{high:.0f}) | {peer} | {100 * row['copy_us'] / median:.0f} |")
        lines.append("")
    return "\n".join(lines)


def made_page():
    def fill(found):
        if not (RESULTS / found[2]).exists():
            return f"{found[1]}Not measured yet.\n{found[3]}"
        return f"{found[1]}{table(found[2])}{found[3]}"
    return TABLE.sub(fill, PAGE.read_text(encoding="utf-8"))


def tables():
    if not PAGE.exists():
        print(f"there is no {PAGE.relative_to(TOP)} to write tables into")
        return 0
    PAGE.write_text(made_page(), encoding="utf-8")
    print(f"wrote the tables of {PAGE.relative_to(TOP)}")
    return check()


def check():
    """Fails on a table that differs from its file; a result of older sources is only a warning."""
    for path in sorted(RESULTS.glob("*.json")):
        data = json.loads(path.read_text())
        for stem, run in sorted({**data["benchmarks"], **data["tests"]}.items()):
            if run["source"] != source_hash():
                print(f"STALE: {path.relative_to(TOP)}: {stem} ran on source {run['source']}, "
                      f"today's is {source_hash()}")
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") != made_page():
        print(f"{PAGE.relative_to(TOP)}: a table differs from docs/results; mend with: ./dev docs")
        return 1
    return 0


def main():
    commands = {"summary": summary, "record": record, "tables": tables, "check": check,
                "source": lambda: print(source_hash())}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    sys.exit(commands[sys.argv[1]](*sys.argv[2:]))


main()
