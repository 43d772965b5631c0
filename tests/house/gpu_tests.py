# SPDX-License-Identifier: BSD-2-Clause
"""tests/tools/gpu_tests.py runs what it should, side by side, and goes on where it stopped. It has a
project of Meson's, and a nvidia-smi, of its own."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

tools = Path(sys.argv[1]) / "tests/tools"
sys.path.insert(0, str(tools))
from gpu_tests import Queue
from results import joined, load_tests, short, stamp

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
    build_by_default: true)}
endforeach
foreach name, what : {
  'good': 'test "$CUDA_VISIBLE_DEVICES" = 0 || test "$CUDA_VISIBLE_DEVICES" = 1',
  'bad': 'exit 1',
  'without': 'exit 77',
  'builds': 'test -f needed',
  'endless': 'exec sleep 300',
}
  test(name, sh, args: ['-c', what], suite: 'cuda', workdir: meson.current_build_dir(),
    depends: made['needed'], timeout: 0)
endforeach
test('other', sh, args: ['-c', 'exit 1'], suite: 'parity', depends: made['other'])
"""


def by_name(values):
    return {short(name): value for name, value in values.items()}


def left(top, earlier, seconds):
    """The tests that are to run, in their order."""
    record = top / "record.json"
    record.write_text(json.dumps({"tests": {"reliability": earlier}}))
    return Queue(top / "build", record, seconds, top / "log").left


with tempfile.TemporaryDirectory() as folder:
    top = Path(folder)
    smi = top / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'GPU 0: one'; echo 'GPU 1: another'\n")
    smi.chmod(0o755)
    os.environ["PATH"] = f"{top}:{os.environ['PATH']}"
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    (top / "meson.build").write_text(PROJECT)
    subprocess.run(["meson", "setup", top / "build", top], check=True, stdout=subprocess.DEVNULL)

    log = top / "reliability.json"
    begin = time.monotonic()
    done = subprocess.run([sys.executable, tools / "gpu_tests.py", top / "build", top / "none", "12", log],
                          text=True, capture_output=True)
    took = time.monotonic() - begin
    print(textwrap.indent(done.stdout + done.stderr, "    "))
    assert done.returncode == 1, f"exit status {done.returncode}"
    assert took < 40, f"{took:.1f} s, where 12 were given"
    assert not (top / "build/other").exists(), "no more is built than the tests need"
    tests = load_tests(log)
    run = {**stamp(), "results": {name: result for name, result, *_ in tests},
           "seconds": {name: seconds for name, *_, seconds in tests}}
    names = {short(name): name for name in run["results"]}
    assert by_name(run["results"]) == {"good": "OK", "bad": "FAIL", "without": "SKIP", "builds": "OK",
                                       "endless": "INTERRUPT"}, run["results"]

    # What has passed is left out; what was cut off begins, or is last if it had most of the time.
    run["seconds"].update({names["endless"]: 9, names["bad"]: 1, names["without"]: 2})
    assert left(top, run, 20) == ["endless", "without", "bad"]
    assert left(top, run, 10) == ["without", "bad", "endless"]
    # When all have passed, all begin anew: first what takes long.
    passed = {**run, "results": dict.fromkeys(run["results"], "OK")}
    assert left(top, passed, 20)[0] == "endless" and len(left(top, passed, 20)) == 5
    # What has passed with other sources, or on another GPU, does not count.
    for other in {**passed, "source": "another"}, {**passed, "gpu": "another"}:
        assert len(left(top, other, 20)) == 5
        assert joined(other, run) == run

    # A record keeps what is not in the next run, and takes from that what is.
    again = {**run, "results": {"bad": "OK"}, "seconds": {"bad": 3}}
    assert by_name(joined(run, again)["results"]) == {**by_name(run["results"]), "bad": "OK"}
    assert by_name(joined(run, again)["seconds"]) == {**by_name(run["seconds"]), "bad": 3}

    # Nothing begins for which there is no time.
    (top / "record.json").write_text(json.dumps({"tests": {"reliability": {
        **passed, "seconds": dict.fromkeys(run["seconds"], 60)}}}))
    queue = Queue(top / "build", top / "record.json", 20, top / "log")
    assert queue.take() is None and len(queue.left) == 5
