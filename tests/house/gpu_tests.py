# SPDX-License-Identifier: BSD-2-Clause
"""tests/tools/gpu_tests.py runs what it should, side by side, and goes on where it stopped. It has a
project of Meson's, and a nvidia-smi, of its own."""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

tool = Path(sys.argv[1]) / "tests/tools/gpu_tests.py"
sys.path.insert(0, str(tool.parent))
from results import joined, load_tests, short, source_hash

PROJECT = """\
project('tests')
sh = find_program('sh')
foreach name, what : {
  'good': 'test "$CUDA_VISIBLE_DEVICES" = 0 || test "$CUDA_VISIBLE_DEVICES" = 1',
  'bad': 'exit 1',
  'without': 'exit 77',
  'quick': 'exit 0',
  'endless': 'sleep 60',
}
  test(name, sh, args: ['-c', what], suite: 'cuda')
endforeach
test('soak', sh, args: ['-c', 'exit 1'], suite: ['cuda', 'soak'])
test('other', sh, args: ['-c', 'exit 1'], suite: 'parity')
"""


def run(top, earlier, seconds, status):
    """Runs the tool; gives the results and the seconds of each test, as results.py records them."""
    log = top / "reliability.json"
    log.unlink(missing_ok=True)
    record = top / "record.json"
    record.write_text(json.dumps({"tests": {"reliability": earlier}}))
    begin = time.monotonic()
    done = subprocess.run([sys.executable, tool, top / "build", record, str(seconds), log], text=True,
                          env={**os.environ, "PATH": f"{top}:{os.environ['PATH']}"},
                          capture_output=True)
    took = time.monotonic() - begin
    print(textwrap.indent(done.stdout + done.stderr, "    "))
    assert done.returncode == status, f"exit status {done.returncode}, not {status}"
    assert took < seconds + 5, f"{took:.1f} s, and not {seconds}"
    tests = load_tests(log) if log.exists() else []
    results = {name: result for name, result, *_ in tests}
    return {"source": source_hash(), "results": results,
            "seconds": {name: seconds for name, *_, seconds in tests}}, done.stdout


with tempfile.TemporaryDirectory() as folder:
    top = Path(folder)
    smi = top / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'GPU 0: one'; echo 'GPU 1: another'\n")
    smi.chmod(0o755)
    (top / "meson.build").write_text(PROJECT)
    subprocess.run(["meson", "setup", top / "build", top], check=True, stdout=subprocess.DEVNULL)

    first, _ = run(top, {}, 6, 1)
    want = {"good": "OK", "bad": "FAIL", "without": "SKIP", "quick": "OK", "endless": "INTERRUPT"}
    found = {short(name): result for name, result in first["results"].items()}
    assert found == want, found
    assert all(seconds >= 0 for seconds in first["seconds"].values())

    # What has passed is left out, and what was cut off begins.
    again, said = run(top, first, 4, 1)
    assert {short(name) for name in again["results"]} == {"bad", "without", "endless"}
    both = joined(first, again)
    assert both["results"] == first["results"] and both["seconds"].keys() == first["seconds"].keys()

    # When all have passed, all begin anew, but nothing for which there is no time.
    passed = {name: "OK" for name in first["results"]}
    anew, said = run(top, {**first, "results": passed, "seconds": {name: 60 for name in passed}}, 4, 1)
    assert not anew["results"] and "there was no time for" in said

    # What other sources have passed does not count.
    other, _ = run(top, {**first, "source": "other", "results": passed}, 6, 1)
    assert other["results"] == first["results"]
    assert joined({**first, "source": "other"}, again) == again
