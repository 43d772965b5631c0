# SPDX-License-Identifier: BSD-2-Clause
"""Test results in one line, and benchmark results in docs/results.

results.py summary LOG...                  one line over test logs of meson, later ones last
results.py steps LOG                       a line for each, with its seconds, and that line
results.py record NAME SECTION=FILE...     benchmarks into docs/results/NAME.json
results.py order NAME SECTION...           first those that no record of today's sources has, then the oldest
results.py tables                          remakes the tables in docs/benchmarks.md, docs/archive.md, docs/testing.md
                                           and README.md, docs/reliability.md and docs/images/kmeans-cost.svg
results.py check                           are tables and results of today's sources, and has
                                           every CUDA test passed on a GPU?

A record is of the sources that its program is made of, as closure.py has them: of a benchmark, or of a test,
which tests/tools/gpu_tests.py records.
"""
import datetime
import json
import os
import platform
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from closure import Sources
from needed import digests, in_suite, introspect
from tree import TOP

RESULTS = TOP / "docs/results"
PAGES = {TOP / "docs/benchmarks.md": {"results", "goals"}, TOP / "README.md": {"speed", "rates"},
         TOP / "docs/archive.md": {"results"}, TOP / "docs/testing.md": {"versions"}}
PENDING = RESULTS / "pending"  # a line is "test: why it has not passed on a GPU yet"
TABLE = re.compile(r"(<!-- (results|goals|speed|rates|versions):(\S+) -->\n).*?(<!-- /\2 -->)", re.S)


def load_tests(path):
    """(name, result, last line, seconds) of every test in a log of meson, one JSON object a line."""
    if not Path(path).exists():
        return [(f"{path} was not written", "FAIL", "", 0)]
    tests = []
    for line in Path(path).read_text(encoding="utf-8").split("\n"):
        try:
            test = json.loads(line or "null")
        except ValueError:  # of a meson that was killed
            test = {"name": f"{path} breaks off", "result": "FAIL"}
        if test:
            tests.append((test["name"], test["result"],
                          test.get("stdout", "").strip().rpartition("\n")[2],
                          round(test.get("duration", 0), 1)))
    return tests


def kind(result):
    return {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}.get(result, "failed")


def summary(*logs):
    # Of what has run again in the same build, the last time.
    tests = {(Path(log).parent, test[0]): (*test, log) for log in logs for test in load_tests(log)}.values()
    for name, result, last_line, _, log in tests:
        if kind(result) == "skipped":
            print(f"{result}: {name}: {last_line or 'no reason given'}")
        elif kind(result) == "failed":
            print(f"{result}: {name} ({log})")
    count = Counter(kind(test[1]) for test in tests)
    line = f"{count['passed']} passed, {count['failed']} failed"
    print(line + (f", {count['skipped']} skipped" if count["skipped"] else ""))
    return 1 if count["failed"] or not count["passed"] else 0


def steps(log):
    for name, result, _, seconds in load_tests(log):
        print(f"{kind(result)} {seconds:6.0f} s  {name.removeprefix('dev: ')}")
    return summary(log)


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
        "gstreamer": first(r"^(.*)$", ["pkg-config", "--modversion", "gstreamer-1.0"]),
        "driver": first(r"^(.*)$",
                        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]),
        "nvcc": first(r"release ([\d.]+)", ["nvcc", "--version"]),
    }
    return {name: value for name, value in facts.items() if value}


def load(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def made_from(name, section):
    """The files and folders of what measures a section."""
    if name == "archive":
        return ["tests/tools/archive_rate.py", "examples/archive/archive.py", "gst/"]
    if section in ("rate", "rate-devices"):
        return ["tests/gst/rate.c", "gst/"]
    if section == "latency":
        return ["tests/gst/latency.c", "gst/"]
    if section == "throughput":
        return ["examples/cpp/sift-throughput.cpp"]
    if section.endswith("-peers"):
        return ["tests/tools/peers.py", f"include/gpuvision/{section[:-6]}.h"]
    return [f"tests/parity/{section}.cpp"]


def source_of(sources, name, section):
    """The hash of what measures a section. On the CPU there is no CUDA."""
    return sources.digest(made_from(name, section), "libgpuvision/cuda/" if name == "cpu" else None)


def today():
    return datetime.date.today().isoformat()


def write(name, data):
    path = RESULTS / f"{name}.json"
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, indent=1, ensure_ascii=False)
    one_line = re.sub(r'\{\s*"(?:name|result)"[^{}]*\}', lambda row: json.dumps(json.loads(row[0])), text)
    part = path.with_suffix(".part")  # so that none is lost
    part.write_text(one_line + "\n", encoding="utf-8")
    part.replace(path)


def load_or_begin(name):
    return {"benchmarks": {}, "machines": [], "tests": {},
            **(load(f"{name}.json") if (RESULTS / f"{name}.json").exists() else {})}


def with_others(rows, before, source):
    """Rows of a run that may have left some out: those of today's sources stay, in their places."""
    kept = before["rows"] if before and before["source"] == source else []
    new = {(row["name"], row["image"]): row for row in rows}
    return [new.pop((row["name"], row["image"]), row) for row in kept] + list(new.values())


def record(name, *inputs):
    data, sources, facts = load_or_begin(name), Sources(), machine()
    for item in inputs:
        section, _, file = item.partition("=")
        rows = json.loads(Path(file).read_text(encoding="utf-8"))["benchmarks"]
        source = source_of(sources, name, section)
        if section == "latency":
            rows = with_others(rows, data["benchmarks"].get(section), source)
        data["benchmarks"][section] = {"date": today(), "source": source, **facts, "rows": rows}
    write(name, data)
    print(f"wrote docs/results/{name}.json")
    write_pages()


def order(name, *sections):
    sources, known = Sources(), load_or_begin(name)["benchmarks"]

    def age(section):
        run = known.get(section)
        return run["date"] if run and run["source"] == source_of(sources, name, section) else ""

    print(*sorted(sections, key=age))


def keep(name, tests, facts):
    """The records of tests by their names, each {"result", "seconds", "source"}, of a run on a machine."""
    data = load_or_begin(name)
    for test in data["tests"].values():
        test["machine"] = data["machines"][test["machine"]]
    data["tests"].update((test, {**run, "date": today(), "machine": facts}) for test, run in tests.items())
    data["tests"] = dict(sorted(data["tests"].items()))
    data["machines"] = []
    for test in data["tests"].values():
        if test["machine"] not in data["machines"]:
            data["machines"].append(test["machine"])
        test["machine"] = data["machines"].index(test["machine"])
    write(name, data)


# ---- tables ----

def us(value):
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def cpu_cells(row):
    median, low, high = row["ours_us"]
    peer = (f"{row['peer']}: {row['peer_us'][0]:.0f} | {row['peer_us'][0] / median:.2f}x"
            if "peer" in row else "– | –")
    return (f"{row['name']} | {row['image']} | {row['threads']} | {median:.0f} "
            f"({low:.0f}–{high:.0f}) | {peer} | {100 * row['copy_us'] / median:.0f}")


def gpu_cells(row):
    median, low, high = row["ours_us"]
    cells = (f"{row['name']} | {row['image']} | {us(median)} ({us(low)}–{us(high)}) | "
             f"{100 * row['copy_us'] / median:.0f}")
    if "peer" not in row:
        return cells + " | – | –"
    times = row["peer_us"][0] / median
    return f"{cells} | {row['peer']}: {us(row['peer_us'][0])} | {times:.{2 if times < 10 else 0}f}x"


def beyond_library(row):
    """µs a frame that elements take on top of the library's work."""
    return 1e6 / row["frames_per_s"][0] - row["library_us"]


def frames_cells(row):
    name = row["name"] if row["image"] in row["name"] else f"{row['name']}, {row['image']}"
    for why, text in ("not_run", "not run"), ("failed", "failed"):
        if why in row:
            return f"{name} | {text}: {row[why]} | – | – | – | – | –"
    median, low, high = row["frames_per_s"]
    without = row["without_element"][0]
    share = 100 * median / without
    latency = " | ".join(f"{value:.0f}" for value in row.get("latency_us", [])) or "– | –"
    beyond = (f"{row['library_us']:.1f} | {beyond_library(row):.0f}" if "library_us" in row
              else "– | –")
    return (f"{name} | {median:.0f} ({low:.0f}–{high:.0f}) | {without:.0f} | "
            f"{share:.{0 if share >= 10 else 2}f} % | {latency} | {beyond}")


def workers_cells(row):
    median, low, high = (f"{value:.0f}" for value in row["frames_per_s"])
    return (f"{row['name']} | {row['image']} | {row['workers']} | {median} ({low}–{high}) | "
            f"{row['frames_per_s'][0] / row['fewest_workers']:.2f}x")


def live_cells(row):
    cells = f"{row['name']} | {row['image']} | {row['live_s']:g}"
    for why, text in ("not_run", "not run"), ("failed", "failed"):
        if why in row:
            return f"{cells} | {text}: {row[why]} | – | – | – | – | –"
    times = " | ".join(f"{value / 1000:.2f}" for value in row["latency_us"])
    return f"{cells} | {times} | {row['pushed']} | {row['dropped_in_queue']} | {row['dropped_late']}"


def throughput_cells(key):
    def cells(row):
        digits = 1 if key == "pictures_per_s" or row[key][0] >= 10 else 3
        median, *quartiles = (f"{value:.{digits}f}" for value in row[key])
        spread = f" ({'–'.join(quartiles)})" if quartiles else ""
        return f"{row['name']} | {row['image']} | {median}{spread}"
    return cells


# Each kind of row has its table: where it ran, the columns, the cells. Some kinds are named by the key
# of their figures.
TABLES = {
    "gpu": ("", "operation | image | gpuvision, µs (quartiles) | % of the copy's rate | peer, µs | "
            "speed-up", "---|---|--:|--:|--:|--:", gpu_cells),
    "workers": ("", "archive | of | workers | frames/s (min–max) | beside the fewest workers",
                "---|---|--:|--:|--:", workers_cells),
    "frames": ("", "pipeline | frames/s (quartiles) | without the elements | share | µs of a frame | "
               "99th percentile | library alone, µs | beyond it, µs",
               "---|--:|--:|--:|--:|--:|--:|--:", frames_cells),
    "live_s": ("", "element | live video | seconds | median, ms | 99th percentile | maximum | frames | "
               "dropped: queue full | dropped: late", "---|---|--:|--:|--:|--:|--:|--:|--:", live_cells),
    "pictures_per_s": ("", "way | pictures | a second (quartiles)", "---|---|--:",
                       throughput_cells("pictures_per_s")),
    "ratio": ("", "of | pictures | ratio (quartiles)", "---|---|--:", throughput_cells("ratio")),
    "ms_each": ("", "stage | pictures | ms each", "---|---|--:", throughput_cells("ms_each")),
    "cpu": ("The same machine's CPU:", "operation | image | threads | gpuvision, µs (quartiles) | "
            "peer, µs | speed-up | % of memcpy's rate", "---|---|--:|--:|--:|--:|--:", cpu_cells),
}


def table_of(row):
    named = [kind_of_row for kind_of_row in TABLES if kind_of_row in row]
    if named:
        return named[0]
    if "threads" not in row:
        return "frames"
    return "cpu" if row["threads"] else "gpu"


def results(name):
    lines = []
    for section, run in sorted(load(name)["benchmarks"].items()):
        hardware = ", ".join(str(run[key]) for key in ("gpu", "cpu") if key in run)
        driver = f"driver {run['driver']}, CUDA {run.get('nvcc')}; " if "driver" in run else ""
        gstreamer = f"GStreamer {run['gstreamer']}; " if "gstreamer" in run else ""
        lines += [f"**{section}** on {hardware}, {run['cores']} cores; {driver}"
                  f"{gstreamer}{run.get('system', '')}; {run['compiler']}; {run['date']}, source "
                  f"{run['source']}.", ""]
        kinds = [table_of(row) for row in run["rows"]]
        for kind_of_row, (where, columns, layout, cells) in TABLES.items():
            if kind_of_row not in kinds:
                continue
            if where and "gpu" in kinds:
                lines += [where, ""]
            lines += [f"| {columns} |", f"|{layout}|"]
            lines += [f"| {cells(row)} |" for row in run["rows"] if table_of(row) == kind_of_row]
            lines.append("")
    return "\n".join(lines)


def goals(name):
    """What docs/results/goals asks of a machine's own rows, beside the row that is worst at it."""
    lines = ["| goal | the worst of its rows | |", "|---|--:|---|"]
    device = "cpu" if name == "cpu.json" else "gpu"
    for section, wanted in load(f"goals/{name}").items():
        run = load(name)["benchmarks"].get(section, {"rows": []})
        rows = [row for row in run["rows"] if table_of(row) in (device, "frames", "ratio") and
                "not_run" not in row]
        ours = {(row["name"], row["image"]): row["ours_us"][0] for row in rows if "ours_us" in row}
        measures = {
            "max_us": (max, " µs", lambda row: row["ours_us"][0]),
            "max_times_aligned": (max, "x", lambda row: row["ours_us"][0] /
                                   ours[row["name"], row["image"].split()[0]]),
            "max_times_labels": (max, "x", lambda row: row["ours_us"][0] /
                                  ours["labels", row["image"]]),
            "min_speed_up": (min, "x", lambda row: row["peer_us"][0] / row["ours_us"][0]),
            "min_frames_per_s": (min, " frames/s", lambda row: row["frames_per_s"][0]),
            "min_ratio": (min, "x", lambda row: row["ratio"][0]),
            "min_share": (min, "x", lambda row: row["frames_per_s"][0] /
                            row["without_element"][0]),
            "max_us_beyond": (max, " µs", beyond_library),
        }
        for goal in wanted:
            limit = next(key for key in measures if key in goal)
            worst, unit, measure = measures[limit]
            asked = [(f"{row['name']}, {row['image']}", row) for row in rows
                     if re.fullmatch(goal["rows"], f"{row['name']}, {row['image']}") and
                     row.get("peer", "").startswith(goal.get("peer", ""))]
            failed = [name for name, row in asked if "failed" in row]
            cells = "not measured | "
            if failed:
                cells = f"failed ({failed[0]}) | missed"
            elif asked:
                value, row = worst((measure(row), name) for name, row in asked)
                met = "met" if worst(value, goal[limit]) == goal[limit] else "missed"
                number = f"{value:.3f}" if limit == "min_ratio" else us(value)
                cells = f"{number}{unit} ({row}) | {met}"
            lines.append(f"| {goal['goal']} | {cells} |")
    return "\n".join(lines) + "\n"


def time(value):
    """Of µs, in two or three digits."""
    unit, value = ("ms", value / 1000) if value >= 1000 else ("µs", value)
    return f"{value:.{max(0, 2 - len(str(int(value))))}f} {unit}" if value < 100 else f"{value:.0f} {unit}"


def speed_cells(rows, name, no_peer="$"):
    """Ours, the fastest peer, and how many times as long that takes, of the rows with a name."""
    if name is None:  # not measured
        return "– | – | –"
    rows = [row for row in rows if re.fullmatch(name, f"{row['name']}, {row['image']}")]
    if not rows:
        sys.exit(f"docs/results/goals/speed.json: no row is called {name}")
    beside = [row for row in rows if "peer" in row and not re.match(no_peer, row["peer"])]
    if not beside:
        return f"{time(rows[0]['ours_us'][0])} | – | –"
    row = min(beside, key=lambda row: row["peer_us"][0])
    ours, peer = row["ours_us"][0], row["peer_us"][0]
    return f"{time(ours)} | {row['peer'].split(',')[0]}: {time(peer)} | {peer / ours:.1f}x"


def dates(name):
    days = sorted(run["date"] for run in load(name)["benchmarks"].values())
    return " to ".join(dict.fromkeys([days[0], days[-1]]))


def speed(name):
    """What docs/results/goals/speed.json asks for: of a GPU's own rows, and of a CPU's with one thread."""
    gpu = [row for run in load(name)["benchmarks"].values() for row in run["rows"]
           if table_of(row) == "gpu"]
    cpu = [row for run in load("cpu.json")["benchmarks"].values() for row in run["rows"]
           if row.get("threads") == 1]
    on_cpu = r"our CPU|.*\bthreads?\b"
    device = next(run["gpu"] for run in load(name)["benchmarks"].values())
    lines = [f"| | {device} | fastest peer on the GPU | | CPU, one thread | fastest peer, one thread | |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    for wanted in load("goals/speed.json"):
        cells = f"{speed_cells(gpu, wanted['gpu'], on_cpu)} | {speed_cells(cpu, wanted['cpu'])}"
        lines.append(f"| {wanted['algorithm']} | {cells} |")
    return "\n".join([*lines, "", f"Measured on {dates(name)}, on the CPU on {dates('cpu.json')}.", ""])


def rates(name):
    """Frames a second of each element, on frames of 1920x1080, by where the frames come from."""
    run = load(name)["benchmarks"]["rate"]
    found = {(row["name"], row["image"].split()[0]): row["frames_per_s"][0] for row in run["rows"]
             if "frames_per_s" in row}
    columns = {"in CUDAMemory": ("resident", "1920x1080"),
               "the clip, in CUDAMemory": ("resident frames of the clip", "clip"),
               "the clip, behind nvh264dec": ("behind nvh264dec", "clip"),
               "in system memory, on the GPU": ("from system memory", "1920x1080"),
               f"in system memory, on {run['cores']} cores": ("on the CPU", "1920x1080")}
    lines = [f"| frames/s | {' | '.join(columns)} |", "|---|" + "--:|" * len(columns)]
    for element in dict.fromkeys(of.split(",")[0] for of, _ in found):
        cells = [f"{found[element + ', ' + where, image]:.0f}" for where, image in columns.values()]
        lines.append(f"| {element} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def versions(name):
    """How the tests of the elements have ended on a GPU, by the GStreamer that they ran with."""
    data, counts, days = load(name), {}, {}
    for test, run in data["tests"].items():
        if test.startswith("GStreamer-"):
            version = data["machines"][run["machine"]]["gstreamer"]
            counts.setdefault(version, Counter())[kind(run["result"])] += 1
            days.setdefault(version, []).append(run["date"])
    lines = ["| GStreamer | passed | failed | skipped | on |", "|---|--:|--:|--:|---|"]
    for version, count in sorted(counts.items()):
        lines.append(f"| {version} | {count['passed']} | {count['failed']} | {count['skipped']} | {max(days[version])} |")
    return "\n".join(lines) + "\n"


def made(page):
    makers = {"results": results, "goals": goals, "speed": speed, "rates": rates, "versions": versions}
    text = page.read_text(encoding="utf-8")
    if {found[2] for found in TABLE.finditer(text)} != PAGES[page]:
        sys.exit(f"{page.relative_to(TOP)} has not the marks of its tables: {', '.join(PAGES[page])}")

    def fill(found):
        begin, what, name, end = found.groups()
        return begin + makers[what](name) + end
    return TABLE.sub(fill, text)


def write_pages():
    for page in PAGES:
        page.write_text(made(page), encoding="utf-8")
        print(f"wrote the tables of {page.relative_to(TOP)}")
    for script in "images/kmeans_cost.py", "reliability.py":
        subprocess.run([sys.executable, TOP / "docs" / script], check=True)


def tables():
    write_pages()
    return check()


# ---- checks ----

def todays_tests():
    """Of a build folder, or None where there is none, and its tests by name."""
    for folder in "build", "build-gpu":
        if (TOP / folder / "meson-info/intro-tests.json").exists():
            return TOP / folder, {test["name"]: test for test in introspect(TOP / folder, "tests")}
    return None, {}


def needs_gpu(test):
    return in_suite(test, "cuda") or test["name"].split("-")[-1] == "cuda"


def plain(name):
    """The test of a record, which may begin with how it ran: racecheck erode-cuda-brief."""
    return name.split(" ")[-1]


def unproven(tests):
    """(record, what is wrong) of those that are not pending, and have failed in the last run on any GPU, not only
    been cut off; and of CUDA tests that have passed on none."""
    pending = re.findall(r"^([^:\n]+): *\S", PENDING.read_text(), re.M) if PENDING.exists() else []
    passed, wrong = set(), {}
    for path in sorted(RESULTS.glob("*.json")):
        for name, run in load(path.name).get("tests", {}).items():
            if kind(run["result"]) == "passed":
                passed.add(re.sub(r"^(GStreamer-\S+ )?(whole )?", "", name))
            elif kind(run["result"]) == "failed" and run["result"] != "INTERRUPT" and plain(name) in tests:
                wrong[name] = f"has failed in {path.relative_to(TOP)}"
    for name, test in tests.items():
        if needs_gpu(test) and name not in passed:
            wrong.setdefault(name, "has not passed in docs/results")
    return [(name, what) for name, what in wrong.items() if name not in pending]


def stale():
    """(file, section or "N of its tests") of what ran on other sources than today's."""
    sources, (folder, tests) = Sources(), todays_tests()
    made_of = digests(sources, folder, tests.values()) if folder else {}
    for path in sorted(RESULTS.glob("*.json")):
        if path.stem == "full":  # full.py says what is left
            continue
        data = load(path.name)
        for name, run in data["benchmarks"].items():
            if run["source"] != source_of(sources, path.stem, name):
                yield path, name
        old = 0
        for name, run in data.get("tests", {}).items():
            old += plain(name) in made_of and run["source"] != made_of[plain(name)]
        if old:
            yield path, f"{old} of its {len(data['tests'])} tests"


def check():
    """Fails on a table that differs from its file, and on a CUDA test that nothing shows to pass;
    a result of older sources is only a warning."""
    failed, old = 0, {}
    for path, name in stale():
        old.setdefault(path, []).append(name)
    for path, names in old.items():
        print(f"STALE: {path.relative_to(TOP)}: {', '.join(names)} ran on other sources than today's")
    folder, tests = todays_tests()
    if not folder:
        print("no build folder here: neither whether every CUDA test has passed on a GPU is checked, "
              "nor with which sources")
    for name, wrong in unproven(tests):
        print(f"{name} {wrong}, and is not in {PENDING.relative_to(TOP)}; on a GPU host run: ./dev gpu")
        failed = 1
    for page in PAGES:
        if page.read_text(encoding="utf-8") != made(page):
            print(f"{page.relative_to(TOP)}: a table differs from docs/results; mend with: ./dev docs")
            failed = 1
    return failed


def main():
    commands = {"summary": summary, "steps": steps, "record": record, "order": order, "tables": tables, "check": check}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    sys.exit(commands[sys.argv[1]](*sys.argv[2:]))


if __name__ == "__main__":
    main()
