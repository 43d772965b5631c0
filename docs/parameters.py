#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the tables of parameters, from what the library says of them: gpv_params_describe().

Each struct of parameters has one table in abi.md or a page of algorithms/, between the comments

    <!-- made by ./dev docs: erode -->
    <!-- /made -->

which name the struct as gpv_params_describe() does.

usage: parameters.py [--check] FOLDER

FOLDER is docs. --check writes nothing, and prints what would change.
"""
import argparse
import re
import sys
from pathlib import Path

import tables

sys.path.append(str(Path(__file__).resolve().parents[1] / "libgpuvision/bindings/python"))
try:
    from gpuvision import FieldKind, _abi, fields
except ImportError as missing:
    print(f"skipped: {missing}: install python3-numpy")
    sys.exit(77)

STEMS = sorted(match[1] for match in (re.fullmatch(r"gpv_(\w+)_params_init", name)
                                      for name in _abi.INITIALIZERS.values()) if match)


def text_of(sentence):
    """What is a name in C stands in backquotes; what Markdown would take for its own is escaped."""
    return re.sub(r"\b([a-z]+_\w+(?:\(\))?)|[\\`*_<|]",
                  lambda found: f"`{found[1]}`" if found[1] else f"\\{found[0]}", sentence)


def range_of(field):
    if field.kind == FieldKind.CHOICE:
        return ""
    if field.kind == FieldKind.BOOL:
        return "0, 1"
    if field.kind == FieldKind.UINT64:
        return "any"
    return f"{field.low:.10g} … {field.high:.10g} {field.unit}".rstrip()


def row(field):
    names = {one.value: one.name for one in field.choices}
    initial = names.get(field.initial) or tables.number(field.initial)
    meaning = [text_of(field.text), *(f"`{one.name}`: {text_of(one.text)}" for one in field.choices)]
    return [f"`{field.name}`", field.kind.name.lower(), range_of(field), f"`{initial}`", "<br>".join(meaning)]


def parameters(stem):
    return tables.table(["parameter", "type", "range", "default", "meaning"], map(row, fields(stem)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; print what would change")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()

    pages = [args.folder / "abi.md", *sorted((args.folder / "algorithms").glob("*.md"))]
    there = sorted(stem for page in pages for stem in tables.blocks(page.read_text(encoding="utf-8")))
    if there != STEMS:
        sys.exit(f"there are tables of {', '.join(there)}, and parameters of {', '.join(STEMS)}")
    faults = [line for page in pages for line in tables.remake(page, parameters, args.check)]
    print("\n".join(faults) or f"{len(STEMS)} tables")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
