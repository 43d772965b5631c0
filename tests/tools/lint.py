# SPDX-License-Identifier: BSD-2-Clause
"""What a machine can see of our manners. Prints every fault; exit status 1 if there is one."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

import mutants
from tree import TOP, files, git, untracked, version

CODE = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}
SUBJECT = re.compile(r"[\w.,/+*-]+: \S.*")
FORBIDDEN = {
    # Spelled in halves, so that this file does not find itself.
    "mark of unfinished work": re.compile("TO" r"DO|FIX" r"ME|XX" r"X\b|HA" r"CK\b|#if" r" 0\b"),
    "path of one machine": re.compile(r"(?<![\w.$}])/(home|root|Users|work|mnt)/\w"),
}
faults = []


def fault(where, what):
    faults.append(f"{where}: {what}")


def check_text(path, name):
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    lines = text.split("\n")
    if text and lines[-1]:
        fault(name, "does not end with a line end")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            fault(f"{name}:{number}", "white space at the end of the line")
        for what, pattern in FORBIDDEN.items():
            if pattern.search(line):
                fault(f"{name}:{number}", f"{what}: {line.strip()[:60]}")
    if (path.suffix in CODE | {".py", ".sh", ".map", ".rs", ".go"} or text.startswith("#!") or
            path.name in ("meson.build", "meson_options.txt")) and \
            not any("SPDX-License-Identifier: BSD-2-Clause" in line for line in lines[:3]):
        fault(name, "no 'SPDX-License-Identifier: BSD-2-Clause' in its first three lines")


def check_format(paths):
    version = subprocess.run(["clang-format", "--version"], text=True, capture_output=True).stdout \
        if shutil.which("clang-format") else "none"
    if " version 14." not in version:
        print("Layout is not checked: versions of clang-format differ in details, 14 decides, "
              f"here is: {version.strip()}")
        return
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", "--style=file", *paths],
                          text=True, capture_output=True)
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.M)))
    for path in wrong:
        fault(Path(path).relative_to(TOP), f"layout; mend with: clang-format -i {path}")
    if done.returncode != 0 and not wrong:
        fault("clang-format", done.stderr.strip())


def check_commits():
    log = git("log", "--no-merges", "-20", "--format=%h %s")
    if not log:
        print("no git history here: the subjects of commits are not checked")
        return
    for line in log.stdout.splitlines():
        commit, _, subject = line.partition(" ")
        if not SUBJECT.fullmatch(subject) and not subject.startswith("Revert "):
            fault(f"commit {commit}", f"subject is not 'area: what changed': {subject}")
        if len(subject) > 80:
            fault(f"commit {commit}", f"subject has {len(subject)} characters, more than 80")


def check_versions():
    packaged = re.match(r"gpuvision \((.*)\)", (TOP / "debian/changelog").read_text())[1]
    if packaged != version():
        fault("debian/changelog", f"is of {packaged}, meson.build of {version()}")


everything = files()
for file in everything:
    if "corpus" not in file.parts:  # seeds of the fuzzers are bytes
        check_text(file, file.relative_to(TOP))
check_format([file for file in everything if file.suffix in CODE])
check_commits()
check_versions()
faults += mutants.read_list()[1]
for new in untracked():
    print(f"not tracked by git, so not looked at: {new}")
print("\n".join(faults) or f"{len(everything)} files: no fault")
sys.exit(bool(faults))
