# SPDX-License-Identifier: BSD-2-Clause
"""Prints what the public headers lay down, as a C compiler sees it: a line for each struct (size,
alignment), field (offset, size), constant and function. Tests of bindings that repeat any of this
compare with it.

usage: layout.py INCLUDE-FOLDER CC...
"""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "abi"))
import public  # noqa: E402


def source(include):
    lines = ["#include <gpuvision/gpuvision.h>", "#include <stdio.h>", "int main(void) {"]

    def say(text, *values):
        arguments = "".join(f", {value}" for value in values)
        lines.append(f'    printf("{text}\\n"{arguments});')
    for name, fields in public.structs(include).items():
        say(f"struct {name} %zu %zu", f"sizeof({name})", f"_Alignof({name})")
        for field in fields:
            say(f"field {name}.{field} %zu %zu", f"offsetof({name}, {field})",
                f"sizeof((({name} *)0)->{field})")
    for name in public.constants(include):
        say(f"value {name} %.17g", f"(double)({name})")
    for name in public.functions(include):
        say(f"function {name}")
    return "\n".join([*lines, "    return 0;", "}", ""])


def main():
    include, *cc = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        program, code = Path(folder, "layout"), Path(folder, "layout.c")
        code.write_text(source(include))
        subprocess.run([*cc, "-std=c11", "-I", include, code, "-o", program], check=True)
        sys.stdout.write(subprocess.run([program], check=True, capture_output=True, text=True).stdout)


main()
