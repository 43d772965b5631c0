# SPDX-License-Identifier: BSD-2-Clause
"""What names every header, function or algorithm: gpuvision.h, the exported symbols, the start of the reference,
and the tables of the library."""
import re
import sys

import public
from words import NOT_BY_HAND, camel, stem_of

NODE = re.compile(r"^[\w.]+ \{\n  global:\n(.*?)(?=^  local:|^\})", re.M | re.S)
FIRST = ["types.h", "context.h"]  # what all others need


def names_of(headers):
    """But of that which the others include."""
    names = {path.name for path in headers.include.glob("gpuvision/*.h")} - {"export.h"}
    return FIRST + sorted(names.difference(FIRST))


def everything(headers):
    """include/gpuvision/gpuvision.h"""
    yield f"""/* SPDX-License-Identifier: BSD-2-Clause */
/* {NOT_BY_HAND} */
#ifndef GPUVISION_H
#define GPUVISION_H

/**
 * @file
 * Everything.
 */

"""
    for name in sorted(names_of(headers)):
        if name != "gpuvision.h":
            yield f"#include <gpuvision/{name}>\n"
    yield "\n#endif\n"


def exports(headers):
    """libgpuvision/libgpuvision.map: functions that no older node has, in the newest one, which is the last."""
    before = (headers.include.parent / "libgpuvision/libgpuvision.map").read_text(encoding="utf-8")
    *older, newest = NODE.finditer(before)
    if len(older) + 1 != before.count("{"):
        sys.exit("libgpuvision.map has a node that is not 'NAME {', '  global:', functions, and maybe '  local:'")
    names = set(public.functions(headers.include)).difference(*(re.findall(r"gpv_\w+", it[1]) for it in older))
    yield before[:newest.start(1)]
    yield from (f"    {name};\n" for name in sorted(names))
    yield before[newest.end(1):]


def reference(headers):
    """docs/doxygen.md"""
    yield f"""# The C interface of gpuvision

<!-- {NOT_BY_HAND} -->

What all headers have in common, and how a program begins, is in <a href="../docs/abi.html">the C
interface</a> and <a href="../docs/guide.html">from your own program</a>.

"""
    for name in names_of(headers):
        text = (headers.include / "gpuvision" / name).read_text(encoding="utf-8")
        sentence = re.search(r"@file\n(.*?)\.\s", text, re.S)
        if not sentence:
            sys.exit(f"{name} has no sentence behind @file")
        yield f"- @ref {name} : {' '.join(sentence[1].replace(' * ', ' ').split())}\n"
    yield '\n<a href="../index.html">All of the documentation</a>\n'


def stems(headers):
    """libgpuvision/core/stems.hpp: what is made in a context is an algorithm."""
    names = sorted(stem_of(name) for name in headers.handles if name != "gpv_context")
    rows = "".join(f" \\\n    X({name}, {camel(name)})" for name in names)
    yield f"""// SPDX-License-Identifier: BSD-2-Clause
// {NOT_BY_HAND}
#pragma once

/// X(erode, Erode) of each algorithm.
// clang-format off
#define GPV_STEMS(X){rows}
// clang-format on
"""
