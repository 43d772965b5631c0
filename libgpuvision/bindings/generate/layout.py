# SPDX-License-Identifier: BSD-2-Clause
"""tests/abi/layout.c: what programs out there were compiled with, for a C compiler to confirm."""
import re

import public
from words import NOT_BY_HAND

COUNTERS = {"GPV_API_VERSION", "GPV_API_VERSION_MINOR", "GPV_API_VERSION_PATCH"}  # they are there to grow
LINE = re.compile(r"(SCALAR|STRUCT|FIELD|VALUE)\(\w+, .*;")
HEAD = f"""/* SPDX-License-Identifier: BSD-2-Clause */
/* {NOT_BY_HAND} */
/*
 * The layout and the values that programs out there were compiled with, on
 * 64-bit machines. A line that a release has never changes, but for the size
 * of a struct, which grows, and what is reserved.
 */
#include <gpuvision/gpuvision.h>

#define SCALAR(type, size, sign)                                                                   \\
    _Static_assert(sizeof(type) == (size) && ((type)-1 < 0) == (sign), #type)
#define STRUCT(type, size) _Static_assert(sizeof(type) == (size), #type)
#define FIELD(type, field, offset, size)                                                           \\
    _Static_assert(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (size),      \\
                   #type "." #field)
/* Cast, since two floats make no constant expression. */
#define VALUE(name, value) _Static_assert((long long)(name) == (long long)(value), #name)

enum {{ UNSIGNED = 0, SIGNED = 1 }};

"""
TAIL = """
VALUE(GPV_API_VERSION,
      (GPV_API_VERSION_MAJOR << 16) + (GPV_API_VERSION_MINOR << 8) + GPV_API_VERSION_PATCH);
"""


def source(headers):
    lines = []
    for it in public.scalars(headers.include):
        sign = "UNSIGNED" if it.type.base.startswith("u") else "SIGNED"
        lines.append(f"SCALAR({it.name}, {public.NUMBERS[it.type.base]}, {sign});\n")
    for struct, (size, fields) in headers.places.items():
        lines.append(f"\nSTRUCT({struct}, {size});\n")
        lines += [f"FIELD({struct}, {name}, {at}, {bytes_});\n" for name, (at, bytes_) in fields.items()]
    lines.append("\n")
    for it in public.constants(headers.include):
        if it.name not in COUNTERS:
            lines.append(f"VALUE({it.name}, {int(it.value)});\n")
    return HEAD + "".join(lines) + TAIL


def broken(before, after):
    """Lines of before that a program relies on, and after has not."""
    sizes = {name: int(size) for name, size in re.findall(r"^STRUCT\((\w+), (\d+)\);$", after, re.M)}

    def stays(line):
        struct = re.fullmatch(r"STRUCT\((\w+), (\d+)\);", line)
        if struct:
            return sizes.get(struct[1], 0) >= int(struct[2])
        return ", reserved" in line or line in kept
    kept = set(after.splitlines())
    return [line for line in before.splitlines() if LINE.fullmatch(line) and not stays(line)]
