# SPDX-License-Identifier: BSD-2-Clause
"""Every function of the public headers is called in each of these folders.

usage: coverage.py INCLUDE-FOLDER FOLDER...
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "abi"))
import public  # noqa: E402

SUFFIXES = {".hpp", ".rs", ".go", ".h"}
DECLARATIONS = {"sys.rs"}

include, *folders = sys.argv[1:]
functions, faults = public.functions(include), []
for folder in map(Path, folders):
    sources = [path for path in folder.rglob("*")
               if path.suffix in SUFFIXES and path.name not in DECLARATIONS]
    words = {word for path in sources for word in re.findall(r"\bgpv_\w+", path.read_text())}
    faults += [f"{folder.name} does not call {name}()" for name in functions if name not in words]
print("\n".join(faults) or f"{len(functions)} functions, {len(folders)} bindings")
sys.exit(bool(faults) or not functions)
