# SPDX-License-Identifier: BSD-2-Clause
"""Every function of the public headers is called, or handed over, by the binding in each of these
folders: not only by its tests, its declarations or its comments. And no Python program of the tree gives an
operator a parameter that no struct has: some of them run on a GPU alone.

usage: coverage.py INCLUDE-FOLDER FOLDER...
"""
import ast
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "abi"))
import public  # noqa: E402

SUFFIXES = {".hpp", ".rs", ".go", ".h"}
OTHER_FOLDERS = {"tests", "internal"}
PROGRAMS = ["docs", "examples", "tests"]
# What cgo compiles is a comment.
PREAMBLE = re.compile(r'^/\*((?:(?!\*/).)*)\*/\nimport "C"$', re.M | re.S)
NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\\n])'", re.S)


def names_in(text):
    return set(re.findall(r"\bgpv_\w+", NO_CODE.sub(" ", PREAMBLE.sub(r"\1", text))))


def is_binding(path):
    """Of a path below the folder of a binding."""
    return (path.suffix in SUFFIXES and path.name != "sys.rs" and not path.name.endswith("_test.go")
            and not OTHER_FOLDERS.intersection(path.parts))


def missing(functions, sources):
    return sorted(set(functions).difference(*map(names_in, sources)))


def parameters(text):
    """(operator, or set, and name) of what Python gives to operator.set() and gpv.<Operator>()."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in fields:
            yield from ((node.func.attr, keyword.arg.rstrip("_")) for keyword in node.keywords if keyword.arg)


include, *folders = sys.argv[1:]
functions = public.functions(include)
structs = public.structs(include)
fields = {name[4:-7].capitalize(): set(struct) for name, struct in structs.items()
          if name.endswith("_params") and name != "gpv_context_params"}
fields["set"] = set().union(*fields.values())

assert missing(functions, ["/* " + "();\n".join(functions) + "(); */"]) == functions
assert missing(functions, ["".join(f"/// {name}()\n" for name in functions)]) == functions
assert not missing(functions, ["(op);\n".join(functions)])
assert names_in("'\"' gpv_a(&b'x'); let c: &'a str = \"gpv_d() \\\" // \"; gpv_e") == {"gpv_a", "gpv_e"}
assert names_in('/* gpv_a() */\n\n/*\ngpv_b(); // gpv_c()\n*/\nimport "C"\n') == {"gpv_b"}
assert is_binding(Path("src/ccl.rs")) and not is_binding(Path("src/sys.rs"))
assert not any(map(is_binding, map(Path, ["tests/a.rs", "internal/cuda/cuda.go", "a_test.go", "a.md"])))

faults = []
for folder in map(Path, folders):
    sources = [path.read_text() for path in folder.rglob("*") if is_binding(path.relative_to(folder))]
    faults += [f"{folder.name} does not call {name}()" for name in missing(functions, sources)]
top = Path(__file__).resolve().parents[2]
given = [(path, *names) for folder in PROGRAMS for path in sorted((top / folder).rglob("*.py"))
         for names in parameters(path.read_text(encoding="utf-8"))]
assert len(given) > 50, "this test has gone blind"
faults += [f"{path.relative_to(top)} gives {operator} the parameter {name}, which its struct has not"
           for path, operator, name in given if name not in fields[operator]]
print("\n".join(faults) or f"{len(functions)} functions, {len(folders)} bindings, {len(given)} parameters given")
sys.exit(bool(faults) or not functions)
