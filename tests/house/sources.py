# SPDX-License-Identifier: BSD-2-Clause
"""Every source says its licence, and the library neither ends the program nor prints."""
import re
import sys
from pathlib import Path

LICENCE = "SPDX-License-Identifier: BSD-2-Clause"
FOLDERS = ["include", "libgpuvision", "gst", "examples", "tests"]
SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".py", ".in", ".map"}
FORBIDDEN = re.compile(r"\b(_?_?exit|quick_exit|_Exit|abort|terminate|assert|v?f?printf|f?puts|putchar"
                       r"|perror|raise|signal|setenv|putenv|setlocale|srand|rand)\s*\("
                       r"|\bstd::(cout|cerr|clog)\b|\bthread_local\b")


def code_of(text):
    """text without comments and literals."""
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", " ", text, flags=re.S)


def forbidden(text):
    return [match.group() for match in FORBIDDEN.finditer(code_of(text))]


assert forbidden("std::abort();") and forbidden('printf("x");') and forbidden("std::cerr << 1;")
assert not forbidden('// exit()\n"abort()" snprintf(a); static_assert(1);')

top = Path(sys.argv[1])
sources = [path for folder in FOLDERS for path in sorted((top / folder).rglob("*"))
           if path.suffix in SUFFIXES or path.name == "meson.build"] + [top / "meson.build"]
faults = []
for path in sources:
    name = path.relative_to(top).as_posix()
    text = path.read_text()
    if LICENCE not in "\n".join(text.split("\n")[:3]):
        faults.append(f"{name} does not say '{LICENCE}' at its top")
    if name.startswith("libgpuvision/") and path.suffix not in (".map", ".in") and "meson" not in name:
        faults += [f"{name} uses {what}" for what in forbidden(text)]
print("\n".join(faults) or f"{len(sources)} sources, no fault")
sys.exit(bool(faults) or len(sources) < 2)
