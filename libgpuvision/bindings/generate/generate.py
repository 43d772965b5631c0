# SPDX-License-Identifier: BSD-2-Clause
"""Makes what repeats the public headers: lists of them and of their functions, the low levels of the bindings,
their parameters, and the layout that a compiler confirms. Without --update it compares, and fails where a
file is not what it would make.

usage: generate.py [--update] SOURCE-FOLDER
"""
import difflib
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests/abi"))
import go  # noqa: E402
import interface  # noqa: E402
import layout  # noqa: E402
import public  # noqa: E402
import python  # noqa: E402
import rust  # noqa: E402
from words import COMMAND, Headers  # noqa: E402

LAYOUT = "tests/abi/layout.c"
BINDINGS = "libgpuvision/bindings"
MADE = {
    "include/gpuvision/gpuvision.h": interface.everything,
    "libgpuvision/libgpuvision.map": interface.exports,
    "libgpuvision/core/stems.hpp": interface.stems,
    "docs/doxygen.md": interface.reference,
    LAYOUT: layout.source,
    f"{BINDINGS}/python/gpuvision/_abi.py": python.abi,
    f"{BINDINGS}/python/gpuvision/_params.py": python.params,
    f"{BINDINGS}/rust/src/sys.rs": rust.sys,
    f"{BINDINGS}/rust/src/types.rs": rust.types,
    f"{BINDINGS}/go/types.go": go.types,
}


def main():
    top = Path(*[argument for argument in sys.argv[1:] if argument != "--update"])
    include = top / "include"
    unknown = public.unknown(include)
    if unknown:
        sys.exit(f"tests/abi/public.py does not understand how the headers declare {', '.join(unknown)}")
    headers = Headers(include)
    paths = {name: top / name for name in MADE}
    before = {name: path.read_text(encoding="utf-8") if path.exists() else "" for name, path in paths.items()}
    after = {name: "".join(make(headers)) for name, make in MADE.items()}
    broken = layout.broken(before[LAYOUT], after[LAYOUT])
    if broken:
        sys.exit(f"Programs rely on these lines of {LAYOUT}, and the headers contradict them:\n" +
                 "\n".join(broken) + "\nThose that no release has are to be removed by hand first.")
    if "--update" in sys.argv:
        for name, text in after.items():
            paths[name].write_text(text, encoding="utf-8")
        return
    differing = [name for name in MADE if after[name] != before[name]]
    for name in differing:
        texts = (text.splitlines(True) for text in (before[name], after[name]))
        sys.stdout.writelines(difflib.unified_diff(*texts, name, f"{name}, made of the headers"))
    if differing:
        sys.exit(f"\nIntended? {COMMAND}")
    print(f"{len(MADE)} files are what the headers say")


main()
