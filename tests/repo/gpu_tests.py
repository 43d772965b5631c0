# SPDX-License-Identifier: BSD-2-Clause
"""tests/tools/gpu_tests.py runs what it should, side by side or alone, in which order, records it, and goes
on where it stopped, as tests/tools/full.py does; and tests/tools/results.py says in which order benchmarks go.
It has a project of Meson's, a nvidia-smi and a compute-sanitizer of its own."""
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

tools = Path(sys.argv[1]) / "tests/tools"
sys.path.insert(0, str(tools))
import full
import gpu_tests
import needed
import results

for program in "meson", "ninja":
    if not shutil.which(program):
        print(f"not run: there is no {program}")
        sys.exit(77)

PROJECT = """\
project('tests')
sh = find_program('sh')
made = {}
foreach name : ['needed', 'other']
  made += {name: custom_target(name, output: name, command: [sh, '-c', 'echo > @OUTPUT@'],
    build_by_default: name == 'needed')}
endforeach
foreach name, what : {
  'good': ['gpu', 'test "$CUDA_VISIBLE_DEVICES" = 0 || test "$CUDA_VISIBLE_DEVICES" = 1'],
  'all': ['gpus', 'test "$CUDA_VISIBLE_DEVICES" = 0,1'],
  'bad': ['cuda', 'echo why; exit 1'],
  'without': ['cuda', 'exit 77'],
  'builds-cuda': ['parity', 'test -f needed && echo "short $GPV_TEST_SHORT turn $GPV_TEST_TURN" >>forms'],
  'endless': ['cuda', 'exec sleep 300'],
  'brief': ['cuda-brief', 'true'],
  'interface': ['api', 'test "$CK_FORK" = no'],
  'races': [['api', 'threads'], 'exit 1'],
  'soaked': ['soak', 'test "$GPV_TEST_FULL" = 1'],
  'looks-everywhere': ['repo', 'true'],
}
  test(name, sh, args: ['-c', what[1]], suite: what[0], workdir: meson.current_build_dir(),
    depends: made['needed'], timeout: 0)
endforeach
test('single', sh, args: ['-c', 'true'], suite: 'cuda', is_parallel: false)
test('other', sh, args: ['-c', 'exit 1'], suite: 'parity', depends: made['other'])
"""
SANITIZER = """\
#!/bin/sh
echo "$2" >>"$(dirname "$0")/tools"
while test "${1#--}" != "$1"; do test "$1" != --port || echo "$2" >>"$(dirname "$0")/ports"; shift 2; done
sleep 0.3
exec "$@"
"""
PATCHED = "import sys, pathlib, results; results.RESULTS = pathlib.Path(sys.argv.pop(1)); " \
    "import gpu_tests; gpu_tests.main()"


def passed(seconds, day="2020-01-02"):
    return {"result": "OK", "seconds": seconds, "date": day, "source": None, "machine": 0}


with tempfile.TemporaryDirectory() as folder:
    top = Path(folder)
    for name, text in {"nvidia-smi": "#!/bin/sh\necho 'GPU 0: one'; echo 'GPU 1: another'\n",
                       "compute-sanitizer": SANITIZER}.items():
        (top / name).write_text(text)
        (top / name).chmod(0o755)
    os.environ["PATH"] = f"{top}:{os.environ['PATH']}"
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    os.environ["GPV_TEST_TURN"] = "7"
    (top / "meson.build").write_text(PROJECT)
    subprocess.run(["meson", "setup", top / "build", top], check=True, stdout=subprocess.DEVNULL)

    def run(seconds, *words):
        """Exit status, what it says, and the records by name."""
        begin = time.monotonic()
        done = subprocess.run([sys.executable, "-c", PATCHED, top / "records", top / "build", "one",
                               str(seconds), *words], text=True, capture_output=True, cwd=tools)
        print(textwrap.indent(done.stdout + done.stderr, "    "))
        assert time.monotonic() - begin < seconds + 25, f"{time.monotonic() - begin:.0f} s, where {seconds} were given"
        path = top / "records/one.json"
        return done.returncode, done.stdout + done.stderr, json.loads(path.read_text())["tests"] if path.exists() else {}

    status, said, records = run(30, "test", "--", "good", "nothing")
    assert status == 2 and "called nothing" in said and not (top / "build/needed").exists(), said

    # It goes on, on a slow machine more than once.
    expected = {"good": "OK", "all": "OK", "bad": "FAIL", "without": "SKIP", "builds-cuda": "OK", "brief": "OK",
                "endless": "INTERRUPT", "single": "OK", "memcheck interface": "OK", "racecheck brief": "OK",
                "memcheck brief": "OK", "initcheck brief": "OK", "synccheck brief": "OK"}
    for _ in range(8):
        status, said, records = run(10, "test", "sanitize")
        assert status == 1
        found = {name: run["result"] for name, run in records.items()}
        if found == expected:
            break
    assert found == expected, found
    assert not (top / "build/other").exists(), "no more is built than the tests need"
    ports = sorted({int(port) for port in (top / "ports").read_text().split()})
    assert len(ports) > 1 and all(b - a >= 10 for a, b in zip(ports, ports[1:])), ports
    assert {*(top / "tools").read_text().split()} == {"initcheck", "memcheck", "racecheck", "synccheck"}

    # ./dev test --full goes on with what has not passed on today's sources, also where it was killed.
    tree = full.Sources()  # to read it takes a second
    results.RESULTS, full.Sources = top / "full", lambda: tree
    everything, (log, _) = SimpleNamespace(share=[], suite=[], no_suite=[]), full.paths(top / "build")
    assert "good" in full.left(top / "build", everything)[0]
    log.write_text(''.join(f'{{"name": "tests:x / {name}", "result": "{result}", "duration": 3}}\n' for name, result in
                           {"good": "OK", "bad": "FAIL", "without": "SKIP", "looks-everywhere": "OK"}.items()) + '{"na')
    names, count = full.left(top / "build", everything)
    assert count == len(names) + 1 and "good" not in names and not log.exists(), names
    for change in {"source": "another"}, {"machine": {}}:
        good = full.load_or_begin("full")["tests"]["build good"]
        results.keep("full", {"build good": {**good, **change}}, change.get("machine", full.here()))
        assert "good" in full.left(top / "build", everything)[0], change
        results.keep("full", {"build good": good}, full.here())
    log.write_text('{"name": "tests:x / bad", "result": "OK"}\n')
    subprocess.run(["meson", "configure", top / "build", "-Dwerror=true"], check=True)
    full.keep_passed(top / "build")
    assert {"good", "bad"} <= {*full.left(top / "build", everything)[0]}, "the build is another"

    # Of this tree: whoever includes a header is made of it, and of another test's header nobody is.
    class Edited(type(tree)):
        def meaning(self, name):
            return super().meaning(name) + b"edited" * (name == "tests/parity/parity.hpp")

    built = sys.argv[2]
    tests = [test for test in needed.introspect(built, "tests") if test["name"] in
             ("erode", "erode-simt", "erode-simt-no-pairs", "unit-erode", "gpuerode", "bindings-cpp")]
    before, full.Sources = full.todays(built, tests), Edited
    changed = {name for name, digest in full.todays(built, tests).items() if digest != before[name]}
    assert changed == {test["name"] for test in tests} & {"erode", "erode-simt", "erode-simt-no-pairs"}, changed

    # Another word or variable is another test; another place on this machine is not.
    name = tests[0]["name"]
    as_it_is, elsewhere, another = (needed.digests(tree, built, [{**tests[0], "env": variables}])[name]
                                    for variables in (tests[0]["env"], {"A": "/b"}, {"A": "b"}))
    assert as_it_is == elsewhere != another

    # By name, and by suite; what is for long, or as a whole, has a record of its own.
    assert {*(top / "build/forms").read_text().splitlines()} == {"short 1 turn 7"}
    status, said, records = run(30, "soak", "--", "soaked", "builds-cuda")
    assert status == 0 and records["long soaked"]["result"] == "OK" and "soaked" not in records
    assert records["whole builds-cuda"]["result"] == "OK" and (top / "build/forms").read_text().endswith("short  turn \n")
    status, said, records = run(30, "test", "--", "gpu")
    assert status == 0 and "good: OK" in said and "builds" not in said and "1 have run" in said, said

    # ./dev test builds by default what no other suite than full needs. In 18 turns every test runs with each of the
    # instruction sets, and what takes turns with what nvcc compiles, every third time, runs there.
    assert [needed.targets(top / "build", [], default) for default in (False, True)] == [[], ["needed"]]
    tests = [{"name": str(at), "suite": ["tests:gst"] + ["tests:share"] * (at % 2)} for at in range(40)]
    dev_test = (tools / "dev/test.sh").read_text(encoding="utf-8")
    third, of_sets, turns = (int(re.search(pattern, dev_test)[1]) for pattern in (
        r"third=\$\(\(GPV_TEST_TURN / (\d+)\)\)/3\n", r"-v\$\(\(3 \+ GPV_TEST_TURN % (\d+)\)\)",
        r"turns:\$\(\(GPV_TEST_TURN / (\d+)\)\)/3"))
    waiting = [needed.waiting(tests, SimpleNamespace(share=[f"share:{turn}/3", f"gst:{turn // third}/3"]))
               for turn in range(18)]
    assert all(waiting) and not any(set.intersection(*waiting[of_set::of_sets]) for of_set in range(of_sets))
    waiting = [needed.waiting(tests, SimpleNamespace(share=[f"gst:{turn // turns}/3"])) for turn in range(0, 18, 3)]
    assert all(waiting) and not set.intersection(*waiting)

    # Order: what failed or never ran, then what is old, then what was skipped; what takes long before the rest.
    results.RESULTS = gpu_tests.RESULTS = top / "records"

    def left(**tests):
        results.write("one", {"benchmarks": {}, "machines": [{}], "tests": tests})
        return [item.name for item in gpu_tests.Queue(top / "build", "one", 20, ["test"], [], 2).left]

    names = ["good", "all", "bad", "without", "builds-cuda", "endless", "brief", "single"]
    today = {name: passed(seconds) for seconds, name in enumerate(names, 1)}
    assert left(**today)[0] == "single" and len(left(**today)) == 8, "when all have passed, all begin anew"
    assert left(**{**today, "bad": {**passed(1), "source": "another"},
                   "brief": {**passed(2, "2020-01-01"), "source": "another"},
                   "good": {**passed(1), "result": "FAIL"}, "without": {**passed(1), "result": "SKIP"},
                   "all": {**passed(5), "source": "another"}}) == ["good", "all", "brief", "bad", "without"]
    # On one GPU, what needs two is no test; and what was skipped leaves a record that it passed.
    queue = gpu_tests.Queue(top / "build", "one", 20, ["test"], ["gpus", "good"][1:], 1)
    assert [item.name for item in queue.left] == ["good"]
    queue.records = {"good": passed(1)}
    log = top / "skipped.json"
    log.write_text('{"name": "good", "result": "SKIP"}')
    queue.note(queue.left[0], log, 1, "0")
    assert results.load_or_begin("one")["tests"]["good"]["result"] == "FAIL"

    # Nothing begins for which there is no time.
    left(**{name: {**passed(60), "source": "another"} for name in names})
    queue = gpu_tests.Queue(top / "build", "one", 20, ["test"], [], 2)
    assert queue.take("shared", queue.end) is None and len(queue.left) == 8

    # Of benchmarks, too, the most stale come first.
    results.write("one", {"tests": {}, "machines": [], "benchmarks": {stem: {
        "rows": [], "date": day, "source": results.source_of(results.Sources(), "one", stem) if day else "old"}
        for stem, day in {"erode": "2020-01-02", "ccl": "2020-01-01", "sift": ""}.items()}})
    with contextlib.redirect_stdout(io.StringIO()) as said:
        results.order("one", "erode", "ccl", "kmeans", "sift")
    assert said.getvalue() == "kmeans sift ccl erode\n"
