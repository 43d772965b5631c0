# SPDX-License-Identifier: BSD-2-Clause
"""tests/tools/closure.py finds what a program is made of: of what was built, every file that a compiler has
read, and every file that has a symbol which another one of the library, or a test, asks for. And its hash
changes with what a program does, not with comments."""
import re
import sys
from pathlib import Path

top, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(top / "tests/tools"))
from closure import C_FAMILY, UNCOUNTED, Sources, c_tokens, line_tokens, meaning
from objects import missing_program, read_by_compilers, symbols

assert c_tokens("f(a, // b\n  'x');") == c_tokens("/* c */ f(a,'x');") != c_tokens("f(a, 'y');")
assert c_tokens('x = "/*" R"(//)" 1\'000;') != c_tokens('x = "/*" R"()" 1\'000;')
assert c_tokens("#define A b\nc") != c_tokens("#define A b c") and c_tokens("a\nb") == c_tokens("a b")
assert c_tokens("a - -b") != c_tokens("a--b")
assert line_tokens('"""What."""\ndef f(a,\n      b):  # c\n\n    """d"""\n    return a\n') == \
    line_tokens('def f(a, b):\n    # e\n    return a')
assert line_tokens("if a:\n    b\nc\n") != line_tokens("if a:\n    b\n    c\n")
assert line_tokens("a = '#'\n") != line_tokens("a = ''\n") and line_tokens("a = '''b'''") != line_tokens("a = ''''''")
assert meaning("a.md", b"a\n```sh\nb\n```\n<!-- c -->\nd\n") == meaning("a.md", b"```sh\nb\n```\n\nA.\n<!-- c -->\n") != \
    meaning("a.md", b"a\n```sh\nx\n```\n<!-- c -->\nd\n")

sources = Sources(top)
erode = sources.closure(["tests/parity/erode.cpp"])
assert {"libgpuvision/cuda/erode/erode.cu", "libgpuvision/api/erode.cpp", "libgpuvision/core/context.cpp",
        "libgpuvision/cpu/device.cpp", "libgpuvision/cuda/device.cu", "tests/parity/parity.hpp"} <= erode
assert not [name for name in erode if "kmeans" in name or "stubs" in name], erode

if missing_program():
    print(f"not compared with a build: there is no {missing_program()}")
    sys.exit(77)


def compiled():
    """(object, files of the project that its compiler has read, the source first), of what is built."""
    for path, paths in read_by_compilers(build):
        names = [name.relative_to(top).as_posix() for name in paths if top in name.parents]
        names = [name for name in names if name in sources.names]
        # Not what the emulation's programs are made of: its sources stand in the build folder.
        if names and paths[0] == top / names[0] and Path(names[0]).suffix in C_FAMILY:
            yield path, names


built = dict(compiled())
source = {path: names[0] for path, names in built.items()}
library = [path for path in built if source[path].startswith("libgpuvision/")]
if not library:
    print("not compared with a build: nothing of the library is built here")
    sys.exit(77)
faults = set()
for path, names in built.items():
    closed = sources.closure([names[0]])
    faults |= {f"{names[0]}: closure() has not {name}, which the compiler has read" for name in names
               if name not in closed | UNCOUNTED and not name.startswith(("include/", "tests/simt/toolkit/"))}
kinds = symbols(built)
owner = {name: source[path] for path in library for name, kind in kinds.get(path, {}).items()
         if kind in tuple("TDBR")}
# The table of a backend, beside its device, names every operator: a program is made of those whose header it has.
TABLED = re.compile(r"libgpuvision/(?:cpu|cuda)/device\.\w+ _ZN3gpv(?:3cpu|4cuda)\d+make_[a-z]+E")
for path, has in kinds.items():
    closed = sources.closure([source[path]])
    faults |= {f"{source[path]}: closure() has not {owner[name]}, which has {name}" for name, kind in has.items()
               if kind == "U" and name in owner and owner[name] not in closed and
               not owner[name].endswith("/stubs.cpp") and not TABLED.match(f"{source[path]} {name}")}
print("\n".join(sorted(faults)) or f"{len(built)} objects, {len(library)} of the library: no fault")
sys.exit(bool(faults))
