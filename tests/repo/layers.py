# SPDX-License-Identifier: BSD-2-Clause
"""Arrows point down only: who may include what, and, of the library's objects that are built, who may ask for
what another one has.

usage: layers.py SOURCE BUILD
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]).resolve() / "tests/tools"))
from objects import missing_program, parse_symbols, read_by_compilers, symbols

# What an include belongs to, by its spelling. What matches nothing is a
# standard or test library, or a neighbour in the same folder.
KINDS = {
    "gpuvision": r"gpuvision/",
    "api": r"api/",
    "core": r"core/",
    "cpu": r"cpu/",
    "cuda": r"cuda/(?!std)",
    "toolkit": r"cuda(_\w+)?\.h|cuda[A-Z]\w*\.h|cu[a-z]+/|thrust/|nvtx3/|cooperative_groups|device_\w+\.h",
    "threads and vectors": r"tbb/|oneapi/|hwy/",
    "gstreamer": r"gst/|glib|gio/|json-glib",
    "elements": r"(\.\./)*gst(/|gpu)",
    "climbing": r"(\.\./)+(?!gst/)",
}
MAY = { # the longest matching folder counts
    "include": {"gpuvision"},
    "libgpuvision/bindings": {"gpuvision"},
    "libgpuvision/api": {"gpuvision", "api", "core"},
    "libgpuvision/core": {"gpuvision", "core"}, # its types: that no function is called, calls_of() sees
    "libgpuvision/cpu": {"core", "cpu", "threads and vectors"},
    "libgpuvision/cuda": {"core", "cuda", "toolkit"},
    "gst": {"gpuvision", "gstreamer", "elements"},
    "examples": {"gpuvision", "gstreamer", "threads and vectors", "toolkit"},
    "tests": {"gpuvision", "gstreamer"},
    "tests/api": {"gpuvision", "threads and vectors", "toolkit"},
    "tests/bindings": {"gpuvision", "toolkit"},
    "tests/gst": {"gpuvision", "gstreamer", "toolkit"},
    "tests/parity": {"gpuvision", "threads and vectors", "toolkit"},
    "tests/unit": {"gpuvision", "api", "core", "cpu", "threads and vectors", "gstreamer", "elements"},
    "tests/simt": {"gpuvision", "core", "cuda", "toolkit"}, # the CUDA sources on the CPU
}
# What core asks a backend for, by its name: the table of core/backends.hpp.
BACKEND = {"core": "functions"}


def kind_of(name):
    # <gst/...> is the framework; "gst..." and "../gst/..." are our elements.
    return next((kind for kind, pattern in KINDS.items() if re.match(pattern, name)), None)


def rule_of(path):
    folders = [folder for folder in MAY if path.startswith(folder + "/")]
    return MAY[max(folders, key=len)] if folders else None


def faults_of(path, text):
    allowed = rule_of(path)
    if allowed is None:
        return [f"{path}: no rule for this folder in tests/repo/layers.py"]
    return [f"{path} includes {name}, which is above it or beside it ({kind_of(name)})"
            for name in re.findall(r"^\s*#\s*include\s*[<\"](.*?)[>\"]", text, re.M)
            if kind_of(name) and kind_of(name) not in allowed]


def calls_of(objects):
    """objects: (source, {symbol: kind}). Faults, and how many symbols are asked for across layers."""
    layer = {source: source.split("/")[1] for source, _ in objects}
    owners, faults, crossings = {}, set(), 0
    for source, kinds in objects:
        for name, kind in kinds.items():
            if "gpv" in name and (kind == "u" or kind.isupper() and kind != "U"):
                owners.setdefault(name, set()).add(source)
    for source, kinds in objects:
        for name in (name for name, kind in kinds.items() if kind == "U" and name in owners):
            layers = {layer[owner] for owner in owners[name]}
            crossings += layer[source] not in layers
            backend = re.match(r"_ZN3gpv(?:3cpu|4cuda)\d+(\w+?)E", name)
            if backend and re.fullmatch(BACKEND.get(layer[source], ""), backend[1]):
                continue
            if not layers & rule_of(source):
                faults.add(f"{source} asks for {name}, which {', '.join(sorted(owners[name]))} has: that is above it "
                           "or beside it")
    return sorted(faults), crossings


LIBRARY = re.compile(r"libgpuvision/(\w+/)+\w+\.(cpp|cu)$")


def compiled(top, build):
    """(source, {symbol: kind}) of the library's objects, with those of the kernels that the emulation has
    compiled, whose sources in the build folder include those of the library."""
    sources = {}
    for path, read in read_by_compilers(build):
        names = [name.relative_to(top).as_posix() for name in read if top in name.parents and build not in name.parents]
        if names and LIBRARY.match(names[0]) and (top / names[0]).exists():
            sources[path] = names[0]
    return [(sources[path], kinds) for path, kinds in symbols(list(sources)).items()]


for path, name in (("libgpuvision/core/x.cpp", "api/guard.hpp"), ("libgpuvision/cpu/x.cpp", "cuda/x.hpp"),
                   ("libgpuvision/cpu/x.cpp", "gpuvision/types.h"), ("gst/x.cpp", "core/image.hpp"),
                   ("libgpuvision/api/x.cpp", "cuda_runtime.h"), ("include/x.h", "cuda.h"),
                   ("libgpuvision/api/x.cpp", "cub/cub.cuh"), ("tests/api/x.c", "core/image.hpp"),
                   ("examples/c/x.c", "../libgpuvision/core/image.hpp"), ("tests/api/x.c", "gstgpuvisionmeta.h"),
                   ("libgpuvision/bindings/cpp/x.hpp", "core/image.hpp")):
    assert faults_of(path, f"#include <{name}>\n"), f"{path} may include {name}: this test has gone blind"

for asks, has, name, may in (("api", "core", "_ZN3gpv1xEv", True), ("core", "cpu", "_ZN3gpv3cpu9functionsE", True),
                             ("core", "cuda", "_ZN3gpv4cuda9functionsE", True), ("cpu", "core", "_ZN3gpv1xEv", True),
                             ("cuda", "core", "_ZN3gpv1xEv", True), ("cuda", "cuda", "_ZN3gpv4cuda1xEv", True),
                             ("api", "cuda", "_ZN3gpv4cuda9functionsE", False), ("cpu", "api", "gpv_x", False),
                             ("core", "cuda", "_ZN3gpv4cuda1xEv", False), ("core", "api", "gpv_x", False),
                             ("core", "cpu", "_ZN3gpv3cpu9make_erodeEv", False),
                             ("cpu", "cuda", "_ZN3gpv4cuda9functionsE", False),
                             ("cuda", "cpu", "_ZN3gpv3cpu12draw_outlineEv", False)):
    listed = parse_symbols(f"a.o: {name} U\nb.o: {name} T 0 1\n")
    found = calls_of([(f"libgpuvision/{asks}/a.cpp", listed[Path("a.o")]),
                      (f"libgpuvision/{has}/b.cpp", listed[Path("b.o")])])
    assert bool(found[0]) != may, f"{asks} asks {has} for {name}: this test has gone blind"

for path in "libgpuvision/cpu/match.cpp", "libgpuvision/cuda/device.cu", "libgpuvision/cuda/match/match.cu":
    assert LIBRARY.match(path), f"calls of {path} are not looked at"

top, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sources = [path for folder in {f.split("/")[0] for f in MAY} for path in (top / folder).rglob("*")
           if path.suffix in (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh")]
faults = [fault for path in sorted(sources)
          for fault in faults_of(path.relative_to(top).as_posix(), path.read_text())]
objects = [] if missing_program() else compiled(top, build)
wrong, crossings = calls_of(objects)
faults += wrong
print("\n".join(faults) or f"{len(sources)} sources include only what they may")
if objects:
    print(f"{len(objects)} objects of the library ask other layers for {crossings} symbols")
else:
    print("calls not looked at: " + (f"there is no {missing_program()}" if missing_program() else
                                     "nothing of the library is built here"))
sys.exit(bool(faults) or not sources)
