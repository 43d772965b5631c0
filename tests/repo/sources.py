# SPDX-License-Identifier: BSD-2-Clause
"""The library neither ends the program nor prints, and keeps no state of the thread or process; and
what kernels compute with has no arrays of constants at namespace scope, of which nvcc makes nothing,
without a word, where a function that is constexpr reads them on the device."""
import re
import sys
from pathlib import Path

SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh"}
FORBIDDEN = re.compile(r"\b(_?_?exit|quick_exit|_Exit|abort|terminate|assert|v?f?printf|f?puts|putchar"
                       r"|perror|raise|signal|setenv|putenv|setlocale|srand|rand)\s*\("
                       r"|\bstd::(cout|cerr|clog)\b|\bthread_local\b")
# In files that kernels are made of.
HOST_ARRAY = re.compile(r"^(?:inline |static )*constexpr [\w:<> ]+?\b(\w+)\[[^\]]*\]\s*=", re.M)


def code_of(text):
    """text without comments and literals."""
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", " ", text, flags=re.S)


def forbidden(text):
    return [match.group() for match in FORBIDDEN.finditer(code_of(text))]


assert forbidden("std::abort();") and forbidden('printf("x");') and forbidden("std::cerr << 1;")
assert not forbidden('// exit()\n"abort()" snprintf(a); static_assert(1);')

def host_arrays(text):
    return HOST_ARRAY.findall(code_of(text))


assert host_arrays("inline constexpr float series[] = {1, 2};") == ["series"]
assert not host_arrays("constexpr int f() {\n    constexpr int a[] = {1};\n}\nconstexpr int b = 1;")

top = Path(sys.argv[1])
sources = [path for path in sorted((top / "libgpuvision").rglob("*")) if path.suffix in SUFFIXES]
kernel_code = [path for path in sources if path.suffix == ".cuh" or path.match("core/*.hpp")]
assert len(kernel_code) > 40, "this test has gone blind"
faults = [f"{path.relative_to(top)} uses {what}"
          for path in sources for what in forbidden(path.read_text())]
faults += [f"{path.relative_to(top)} has the array {name} at namespace scope: put it in a function"
           for path in sources for name in host_arrays(path.read_text())
           if path in kernel_code]
print("\n".join(faults) or f"{len(sources)} sources, no fault")
sys.exit(bool(faults) or len(sources) < 2)
