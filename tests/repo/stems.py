# SPDX-License-Identifier: BSD-2-Clause
"""Every algorithm with a public header has a file in each place of the stem table."""
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
    "libgpuvision/cuda/{}/tuning.hpp",
    "gst/gstgpu{}.cpp",
    "tests/api/{}.c",
    "tests/common/{}.cpp",
    "tests/parity/{}.cpp",
    "tests/gst/gpu{}.c",
    "tests/fuzz/{}.cpp",
    "tests/fuzz/corpus/{}",
    "examples/c/{}.c",
    "examples/python/{}.py",
    "libgpuvision/bindings/python/gpuvision/{}.py",
    "libgpuvision/bindings/rust/src/{}.rs",
    "libgpuvision/bindings/go/{}.go",
    "docs/algorithms/{}.md",
    "docs/elements/gpu{}.md",
]
# Headers of no stem. draw: functions of sift and match. fields: the parameters of all. homography: one
# function, which both backends leave to the CPU, in api/ and core/ alone.
OTHERS = {"context", "draw", "export", "fields", "gpuvision", "homography", "types", "version"}
# What a language does not allow: a keyword.
RENAMED = {"libgpuvision/bindings/rust/src/match.rs": "libgpuvision/bindings/rust/src/matching.rs"}
# Holes that are known: path -> reason, and what an algorithm has no use for. A line leaves with the commit that fills
# its hole.
MISSING = {
    "tests/fuzz/expansion.cpp": "values out of range are drawn in its parity test, and the fuzzer of graphcut reaches the cuts",
    "tests/fuzz/corpus/expansion": "it has no target",
    "examples/c/expansion.c": "the one in Python makes costs of pictures, which C would do with more lines and no "
                              "other calls",
}

top = Path(sys.argv[1])
faults = []
build = (top / "meson.build").read_text()
stems, elements = (re.findall(r"'(\w+)'", re.search(rf"^{name} = \[(.*?)\]", build, re.M)[1])
                   for name in ("stems", "elements"))
places = [RENAMED.get(row.format(stem), row.format(stem)) for stem in stems for row in TABLE
          if stem in elements or "gpu{}" not in row]
public = {path.stem for path in (top / "include/gpuvision").glob("*.h")}

faults += [f"include/gpuvision/{name}.h is no stem of this test" for name in public - OTHERS - {*stems}]
for path in places:
    if (top / path).exists() and path in MISSING:
        faults.append(f"{path} is there: take it out of MISSING in tests/repo/stems.py")
    if not (top / path).exists() and path not in MISSING:
        faults.append(f"{path} is missing")
faults += [f"{path} in MISSING belongs to no stem with a header" for path in MISSING
           if path not in places]

tested = "".join(path.read_text() for folder in ("api", "common") for path in (top / "tests" / folder).glob("*.c*"))
for header in sorted((top / "include/gpuvision").glob("*.h")):
    for name in re.findall(r"^GPV_API[^;(]*?\b(\w+)\(", header.read_text(), re.M):
        if not re.search(rf"\b{name}\b", tested):
            faults.append(f"{name}() of {header.name} is called by no test in tests/api or tests/common")

for path, reason in MISSING.items():
    print(f"not there: {path}: {reason}")
print("\n".join(faults) or f"{' '.join(stems)}: {len(places) - len(MISSING)} files in place")
sys.exit(bool(faults) or not stems)
