# SPDX-License-Identifier: BSD-2-Clause
"""What the public headers declare, read from their text."""
import re
from pathlib import Path

# Not part of the contract: how names are exported.
PLUMBING = {"GPV_API", "GPV_NODISCARD", "GPV_BEGIN", "GPV_END"}


def text(include):
    headers = sorted(Path(include).rglob("*.h"))
    return re.sub(r"/\*.*?\*/", "", "\n".join(h.read_text() for h in headers), flags=re.S)


def prototypes(include):
    """Every exported function, without the semicolon."""
    return re.findall(r"^GPV_API\s+(?:GPV_NODISCARD\s+)?([^;]*)", text(include), re.M)


def functions(include):
    return sorted(re.search(r"(\w+)\s*\(", p).group(1) for p in prototypes(include))


def structs(include):
    """{struct: [field, ...]} of all that are not opaque."""
    return {name: re.findall(r"(\w+)\s*(?:\[\w+\])?\s*;", body) for body, name in
            re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text(include), re.S)}


def scalars(include):
    """Names for numbers: typedef uint32_t gpv_format."""
    return re.findall(r"^typedef u?int\d+_t (\w+);", text(include), re.M)


def constants(include):
    """Enumerators, and macros that have a value."""
    enums = [name for body in re.findall(r"\benum\s*\{(.*?)\}", text(include), re.S)
             for name in re.findall(r"(GPV_\w+)\s*=", body)]
    macros = re.findall(r"^\s*#\s*define\s+(GPV_\w+)[ \t]+[\\\w(]", text(include), re.M)
    return enums + [name for name in macros if name not in PLUMBING]
