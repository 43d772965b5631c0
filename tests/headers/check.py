# SPDX-License-Identifier: BSD-2-Clause
"""Compiles each public header alone and twice over, as every C and C++ that we promise; and all private headers
together, CUDA's with the emulation's toolkit, so that no name has two definitions."""
import re
import shutil
import subprocess
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

C = ["gnu89", "c99", "c11", "c17"]
CXX = ["gnu++98", "c++11", "c++14", "c++17", "c++20"]
COMPILERS = {"gcc": ("c", C), "g++": ("c++", CXX), "clang": ("c", C), "clang++": ("c++", CXX)}
FLAGS = ["-c", "-o", "/dev/null", "-Wall", "-Wextra", "-pedantic", "-Werror"]
MAY_INCLUDE = re.compile(r"stddef\.h|stdint\.h|gpuvision/\w+\.h")

top = Path(sys.argv[1])
include = top / "include"
private = sorted(path.relative_to(top / "libgpuvision").as_posix()
                 for path in (top / "libgpuvision").rglob("*") if path.suffix in (".hpp", ".cuh")
                 and "bindings" not in path.parts)
headers = sorted(path.relative_to(include).as_posix() for path in include.rglob("*.h"))
faults = []


def compile_text(compiler, standard, text):
    language = COMPILERS[compiler][0]
    return subprocess.run([compiler, *FLAGS, f"-std={standard}", f"-I{include}", "-x", language, "-"],
                          input=text, text=True, capture_output=True)


def check(job):
    compiler, standard, header = job
    twice = f"#include <{header}>\n" * 2 + "typedef int unit_is_not_empty;\n"
    done = compile_text(compiler, standard, twice)
    if done.returncode:
        faults.append(f"<{header}> with {compiler} -std={standard}:\n{done.stderr}")


def check_together(compiler, text):
    folders = [f"-I{top / folder}" for folder in ("include", "libgpuvision", "tests/simt", "tests/simt/toolkit")]
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", *folders, "-x", "c++", "-"],
                          input=text, text=True, capture_output=True)
    return done.stderr if done.returncode else ""


if not headers:
    faults.append(f"no header in {include}")
for header in headers:
    for name in re.findall(r"^\s*#\s*include\s*[<\"](.*?)[>\"]", (include / header).read_text(), re.M):
        if not MAY_INCLUDE.fullmatch(name):
            faults.append(f"<{header}> includes {name}; <stddef.h>, <stdint.h> and <gpuvision/...> only")
umbrella = (include / "gpuvision/gpuvision.h").read_text()
indirect = {"gpuvision/gpuvision.h", "gpuvision/export.h"}
faults += [f"<gpuvision/gpuvision.h> lacks <{header}>" for header in headers
           if f"<{header}>" not in umbrella and header not in indirect]

found = [name for name in COMPILERS if shutil.which(name)]
for name in sorted(COMPILERS.keys() - found):
    print(f"skipped: {name} is not installed")
if not found:
    print("neither gcc nor clang is installed: nothing can be compiled")
    sys.exit(77)
for name in found: # the flags must be able to find a fault
    if compile_text(name, COMPILERS[name][1][0], "static int unused;\n").returncode == 0:
        faults.append(f"{name} {' '.join(FLAGS)} accepts a warning")

jobs = [(name, standard, header) for name in found for standard in COMPILERS[name][1]
        for header in headers]
with ThreadPool() as pool:
    pool.map(check, jobs)

together = "".join(f'#include "{name}"\n' for name in private)
for name in [name for name in found if COMPILERS[name][0] == "c++"][:1]: # the language is the same for all
    if fault := check_together(name, together):
        faults.append(f"the headers of libgpuvision in one file, with {name}:\n{fault}")
    if not check_together(name, together + "namespace gpv { struct Point2d { int x; }; }\n"):
        faults.append(f"{name} accepts two definitions of a name")
print("\n".join(faults) or f"{len(headers)} public headers, {len(jobs)} compilations with {', '.join(found)}; "
      f"{len(private)} private ones together")
sys.exit(bool(faults))
