# SPDX-License-Identifier: BSD-2-Clause
"""Every algorithm with a public header has a file in each place of the stem table, and what it may have it has
whole, under a name that the build knows."""
import re
import sys
from pathlib import Path

TABLE = [
    "include/gpuvision/{}.h",
    "libgpuvision/api/{}.cpp",
    "libgpuvision/core/{}.hpp",
    "libgpuvision/core/{}_fields.cpp",
    "libgpuvision/cpu/{}.cpp",
    "libgpuvision/cuda/{0}/{0}.cu",
    "gst/gstgpu{}.cpp",
    "tests/common/{}.cpp",
    "tests/parity/{}.cpp",
    "libgpuvision/bindings/python/gpuvision/{}.py",
    "libgpuvision/bindings/rust/src/{}.rs",
    "libgpuvision/bindings/go/{}.go",
    "docs/algorithms/{}.md",
    "docs/elements/gpu{}.md",
]
# What an algorithm may have: all of a row, or nothing. The build takes those that are there.
OPTIONAL = [
    ["libgpuvision/cuda/{}/tuning.hpp"],
    ["tests/api/{}.c"],
    ["tests/gst/gpu{}.c"],
    ["tests/fuzz/{}.cpp", "tests/fuzz/corpus/{}"],
    ["examples/c/{}.c", "examples/python/{}.py", "tests/examples/{}.py"],
]
# Headers of no stem. draw: functions of sift and match. fields: the parameters of all. homography: one
# function, which both backends leave to the CPU, in api/ and core/ alone.
OTHERS = {"context", "draw", "export", "fields", "gpuvision", "homography", "types", "version"}
# What a language does not allow: a keyword.
RENAMED = {"libgpuvision/bindings/rust/src/match.rs": "libgpuvision/bindings/rust/src/matching.rs"}
# Holes that are known: path -> reason. A line leaves with the commit that fills its hole.
MISSING = {}

top = Path(sys.argv[1])
faults = []
build = (top / "meson.build").read_text()
stems, elements = (re.findall(r"'(\w+)'", re.search(rf"^{name} = \[(.*?)\]", build, re.M)[1])
                   for name in ("stems", "elements"))
places = [RENAMED.get(row.format(stem), row.format(stem)) for stem in stems for row in TABLE
          if stem in elements or "gpu{}" not in row]
public = {path.stem for path in (top / "include/gpuvision").glob("*.h")}

faults += [f"include/gpuvision/{name}.h is no stem of this test" for name in public - OTHERS - {*stems}]
without = {stem: [] for stem in stems}
for stem, row in ((stem, row) for stem in stems for row in OPTIONAL if stem in elements or "gpu{}" not in row[0]):
    paths = [part.format(stem) for part in row]
    if any((top / path).exists() for path in paths):
        places += paths
    else:
        without[stem].append(paths[0])
for path in places:
    if (top / path).exists() and path in MISSING:
        faults.append(f"{path} is there: take it out of MISSING in tests/repo/stems.py")
    if not (top / path).exists() and path not in MISSING:
        faults.append(f"{path} is missing")
faults += [f"{path} in MISSING belongs to no stem with a header" for path in MISSING
           if path not in places]

build += "".join(path.read_text() for folder in ("examples", "tests") for path in (top / folder).rglob("meson.build"))
for folder, _, name in (part.rpartition("/") for row in OPTIONAL for part in row if part.endswith((".c", ".cpp"))):
    named = re.compile(name.format(r"(\w+)").replace(".", r"\."))
    faults += [f"{folder}/{path.name} is of no stem, and no meson.build names it"
               for path in (top / folder).iterdir() if (match := named.fullmatch(path.name))
               and match[1] not in stems and not re.search(rf"'{path.stem}[.']", build)]

tested = "".join(path.read_text() for folder in ("api", "common") for path in (top / "tests" / folder).glob("*.c*"))
for header in sorted((top / "include/gpuvision").glob("*.h")):
    for name in re.findall(r"^GPV_API[^;(]*?\b(\w+)\(", header.read_text(), re.M):
        if not re.search(rf"\b{name}\b", tested):
            faults.append(f"{name}() of {header.name} is called by no test in tests/api or tests/common")

for path, reason in MISSING.items():
    print(f"not yet: {path}: {reason}")
for stem, paths in without.items():
    if paths:
        print(f"{stem} does without {', '.join(paths)}")
print("\n".join(faults) or f"{' '.join(stems)}: {len(places) - len(MISSING)} files in place")
sys.exit(bool(faults) or not stems)
