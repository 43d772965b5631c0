# SPDX-License-Identifier: BSD-2-Clause
"""Arrows point down only: who may include what."""
import re
import sys
from pathlib import Path

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
    "libgpuvision/api": {"gpuvision", "api", "core"},
    "libgpuvision/core": {"core"},
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


def kind_of(name):
    # <gst/...> is the framework; "gst..." and "../gst/..." are our elements.
    return next((kind for kind, pattern in KINDS.items() if re.match(pattern, name)), None)


def rule_of(path):
    folders = [folder for folder in MAY if path.startswith(folder + "/")]
    return MAY[max(folders, key=len)] if folders else None


def faults_of(path, text):
    allowed = rule_of(path)
    if allowed is None:
        return [f"{path}: no rule for this folder in tests/house/layers.py"]
    return [f"{path} includes {name}, which is above it or beside it ({kind_of(name)})"
            for name in re.findall(r"^\s*#\s*include\s*[<\"](.*?)[>\"]", text, re.M)
            if kind_of(name) and kind_of(name) not in allowed]


for path, name in (("libgpuvision/core/x.cpp", "api/guard.hpp"), ("libgpuvision/cpu/x.cpp", "cuda/x.hpp"),
                   ("libgpuvision/core/x.cpp", "gpuvision/types.h"), ("gst/x.cpp", "core/image.hpp"),
                   ("libgpuvision/api/x.cpp", "cuda_runtime.h"), ("include/x.h", "cuda.h"),
                   ("libgpuvision/api/x.cpp", "cub/cub.cuh"), ("tests/api/x.c", "core/image.hpp"),
                   ("examples/x.c", "../libgpuvision/core/image.hpp"), ("tests/api/x.c", "gstgpuerode.h")):
    assert faults_of(path, f"#include <{name}>\n"), f"{path} may include {name}: this test has gone blind"

top = Path(sys.argv[1])
sources = [path for folder in {f.split("/")[0] for f in MAY} for path in (top / folder).rglob("*")
           if path.suffix in (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh")]
faults = [fault for path in sorted(sources)
          for fault in faults_of(path.relative_to(top).as_posix(), path.read_text())]
print("\n".join(faults) or f"{len(sources)} sources include only what they may")
sys.exit(bool(faults) or not sources)
