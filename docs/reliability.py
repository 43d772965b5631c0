# SPDX-License-Identifier: BSD-2-Clause
"""Makes the tables of docs/reliability.md from docs/reliability.toml; of cases, those that five algorithms have.

usage: reliability.py [--check BUILD-FOLDER]

--check writes nothing. It fails where a table is old, and where a test, suite or function of the data is not there. A
build may lack what a test needs: the Meson files of the tests then have to spell its name, in parts.
"""
import json
import re
import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).resolve().parent
TESTS = DOCS.parent / "tests"
PAGE = DOCS / "reliability.md"
DATA = tomllib.loads((DOCS / "reliability.toml").read_text(encoding="utf-8"))
BLOCK = re.compile(r"(<!-- made by \./dev docs: (\w+) -->\n).*?(<!-- /made -->)", re.S)
STEMS = ["erode", "ccl", "kmeans", "sift", "match", "graphcut", "segment"]
RUNS = {"test": "`./dev test`", "full": "`--full`", "gpu": "on a GPU"}


def commands(row, run):
    return [words if words.startswith("./dev") else f"meson test {words}" for words in row[run].split("; ")] \
        if run in row else []


def table(name):
    head, rows = ["", *STEMS], [[what, *(str(row.get(stem, "–")).partition(": ")[0] for stem in STEMS)]
                                for what, row in DATA[name].items() if len(row.keys() & set(STEMS)) > 4]
    if name == "matrix":
        head, rows = ["#", "what", "figure", *RUNS.values()], [
            [number, row["what"], row["figure"], *("<br>".join(f"`{words}`" for words in commands(row, run))
                                                   for run in RUNS)] for number, row in DATA[name].items()]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *rows])


def faults(build):
    tests = json.loads((build / "meson-info/intro-tests.json").read_text(encoding="utf-8"))
    there = {test["name"] for test in tests} | {suite.split(":")[-1] for test in tests for suite in test["suite"]}
    meson = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("meson.build"))
    spelled = re.compile("(" + "|".join(set(re.findall(r"'([\w-]+)'", meson))) + ")+")
    for number, row in DATA["matrix"].items():
        named = {word for run in RUNS for words in commands(row, run) if words.startswith("meson")
                 for word in words.split()[2:] if word != "--suite"}
        yield from (f"row {number}: there is no test or suite {word}" for word in sorted(named - there)
                    if not spelled.fullmatch(word))
    for what, row in [*DATA["cpu"].items(), *DATA["cuda"].items()]:
        for stem in (stem for stem in STEMS if stem in row):
            functions = row["in"] if isinstance(row["in"], str) else row["in"][stem]
            program = (TESTS / f"parity/{stem}.cpp").read_text(encoding="utf-8")
            yield from (f"{what}: {stem}.cpp has no {name}()" for name in functions.split()
                        if not re.search(rf"\b{name}\(", program))


text = PAGE.read_text(encoding="utf-8")
made = BLOCK.sub(lambda block: block[1] + table(block[2]) + block[3], text)
if sys.argv[1:2] != ["--check"]:
    PAGE.write_text(made, encoding="utf-8")
else:
    old = [] if made == text else [f"{PAGE.name} is not that of its data; mend with: ./dev docs"]
    sys.exit("\n".join([*faults(Path(sys.argv[2])), *old]) or 0)
