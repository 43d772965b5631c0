# SPDX-License-Identifier: BSD-2-Clause
"""What the public headers declare, read from their text. What it does not understand ends the program."""
from __future__ import annotations

import functools
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# Not part of the contract: how names are exported.
PLUMBING = {"GPV_API", "GPV_NODISCARD", "GPV_BEGIN", "GPV_END", "GPV_BUILDING"}
NUMBERS = {"int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "uint8_t": 1, "float": 4, "double": 8}
POINTER = 8  # bytes, on 64-bit machines

COMMENT = r"/\*(?:(?!\*/).)*\*/"
DECLARATION = re.compile(rf"""
    (?P<comment>{COMMENT}\s*)?
    (?: typedef\s+struct\s+\w+\s*\{{(?P<fields>.*?)\}}\s*(?P<struct>\w+);
      | typedef\s+struct\s+\w+\s+(?P<handle>\w+);
      | typedef\s+(?P<returns>[^;(]+)\(\*(?P<callback>\w+)\)\((?P<takes>[^)]*)\);
      | typedef\s+(?P<scalar>[^;({{]+);(?:\s*enum\s*\{{(?P<values>.*?)\}};)?
      | GPV_API\s+(?:GPV_NODISCARD\s+)?(?P<function>[^;]*);
      | \#[ ]*define[ ]+(?P<macro>GPV_\w+)[ \t]+(?P<value>(?:\\\n|(?!/\*)[^\n])+)(?P<behind>{COMMENT})?
    ) | {COMMENT}""", re.S | re.X)
BEHIND = rf"(?:\s*(?P<comment>(?=/\*\*<){COMMENT}))?"
FIELD = re.compile(rf"\s*(?P<declared>[^;,/#{{}}]+);{BEHIND}", re.S)
VALUE = re.compile(rf"\s*(?P<name>GPV_\w+)\s*=\s*(?P<value>-?\w+)\s*(?:,|(?=/|\s*$)){BEHIND}", re.S)
DECLARED = re.compile(r"(?:const\s+)?\w+(?:\s*\*\s*(?:const\b)?)*\s*\b\w+(?:\[\w+\])?")
NUMBER = r"(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:e[+-]?\d+)?f?)"
# Without a division, which Python computes in another way than C.
EXPRESSION = re.compile(rf"(?:{NUMBER}(?!\w)|\bGPV_\w+|<<|[-+*|()\s])+")


@dataclass
class Type:
    """const float *x: base "float", pointers [True], since what it points to is const."""
    base: str
    pointers: list[bool] = field(default_factory=list)
    length: str = ""  # of an array


@dataclass
class Named:
    """A field, or an argument."""
    name: str
    type: Type
    text: str = ""  # of its comment


@dataclass
class Constant:
    name: str
    value: int | float
    text: str


@dataclass
class Struct:
    name: str
    text: str
    fields: list[Named]


@dataclass
class Scalar:
    """A name for a number or a pointer; with values it is a choice."""
    name: str
    text: str
    type: Type
    values: list[Constant]


@dataclass
class Handle:
    name: str
    text: str


@dataclass
class Function:
    name: str
    result: Type
    arguments: list[Named]


@dataclass
class Callback(Function):
    pass


def refuse(text):
    sys.exit(f"tests/abi/public.py does not understand: {' '.join(text.split())}")


def whole(pattern, text):
    """What pattern matches from one match to the next: all of text."""
    found, end = [], 0
    while text[end:].strip():
        it = pattern.match(text, end)
        if not it:
            refuse(text[end:])
        found.append(it)
        end = it.end()
    return found


def plain(comment):
    """Its text; an empty line between paragraphs."""
    text = re.sub(r"^/\*+<?|\*/\s*$", "", comment or "")
    paragraphs = re.sub(r"^[ \t]*\*?[ \t]*", "", text, flags=re.M).strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def named(declared, comment=""):
    """Of "const float *points" or "double matrix[9]"."""
    if not DECLARED.fullmatch(declared.strip()):
        refuse(declared)
    declared, _, length = declared.strip().partition("[")
    *words, name = re.findall(r"\w+|\*", declared)
    base, pointers, is_const = "", [], False
    for word in words:
        if word == "*":
            pointers.append(is_const)
        elif word != "const":
            base = word
        is_const = word == "const" or is_const and word != "*"
    return Named(name, Type(base, pointers, length.rstrip("]")), plain(comment))


def function_of(kind, head, arguments):
    it = named(head)
    return kind(it.name, it.type, [named(argument) for argument in arguments.split(",")
                                   if argument.strip() != "void"])


def evaluate(expression, known):
    """A constant expression, which Python computes as C does."""
    expression = expression.replace("\\\n", " ").strip()
    if not EXPRESSION.fullmatch(expression):
        refuse(expression)
    expression = re.sub(r"\b(\d+(?:\.\d*)?(?:e[+-]?\d+)?)f\b", r"\1", expression)
    return eval(re.sub(r"GPV_\w+", lambda name: str(known[name[0]]), expression), {})


def in_order(include):
    """Headers behind those that they include."""
    headers = {path.name: path.read_text(encoding="utf-8") for path in sorted(Path(include).rglob("*.h"))}
    ordered = {}

    def add(name):
        if name not in ordered:
            for other in re.findall(r"#include <gpuvision/(\w+\.h)>", headers[name]):
                add(other)
            ordered[name] = headers[name]
    for name in sorted(headers, key="gpuvision.h".__eq__):  # it may not name a new one yet
        add(name)
    return ordered


@functools.cache
def declarations(include):
    """{header: [declaration, ...]}"""
    known, found = {}, {}

    def constant(name, value, comment):
        known[name] = evaluate(value, known)
        return Constant(name, known[name], plain(comment))

    def declaration(it):
        comment = plain(it["comment"])
        if it["struct"]:
            fields = [named(one["declared"], one["comment"]) for one in whole(FIELD, it["fields"])]
            return Struct(it["struct"], comment, fields)
        if it["handle"]:
            return Handle(it["handle"], comment)
        if it["callback"]:
            return function_of(Callback, it["returns"] + it["callback"], it["takes"])
        if it["scalar"]:
            values = [constant(*one.groups()) for one in whole(VALUE, it["values"] or "")]
            scalar = named(it["scalar"])
            return Scalar(scalar.name, comment, scalar.type, values)
        if it["function"]:
            head, _, arguments = it["function"].rpartition(")")[0].partition("(")
            return function_of(Function, head, arguments)
        return constant(it["macro"], it["value"], it["behind"] or it["comment"])

    for header, text in in_order(include).items():
        matches = [it for it in DECLARATION.finditer(text) if it.lastgroup and it["macro"] not in PLUMBING]
        found[header] = [declaration(it) for it in matches if any(
            it[kind] for kind in ("struct", "handle", "callback", "scalar", "function", "macro"))]
    return found


def of_kind(include, kind):
    return [it for header in declarations(include).values() for it in header if type(it) is kind]


def text(include):
    return re.sub(COMMENT, "", "\n".join(in_order(include).values()), flags=re.S)


def prototypes(include):
    """Every exported function, without the semicolon."""
    return re.findall(r"^GPV_API\s+(?:GPV_NODISCARD\s+)?([^;]*)", text(include), re.M)


def functions(include):
    return sorted(it.name for it in of_kind(include, Function))


def structs(include):
    """{struct: [field, ...]} of all that are not opaque."""
    return {it.name: [one.name for one in it.fields] for it in of_kind(include, Struct)}


def scalars(include):
    """Names for numbers: typedef uint32_t gpv_format."""
    return [it for it in of_kind(include, Scalar) if not it.type.pointers]


def constants(include):
    """Values of choices, and macros that have a value."""
    return [value for header in declarations(include).values() for it in header
            for value in ([it] if isinstance(it, Constant) else getattr(it, "values", []))]


def places(include):
    """{struct: (size, {field: (offset, size)})}, as a C compiler lays them out on a 64-bit machine."""
    sizes = NUMBERS | {it.name: POINTER for it in of_kind(include, Callback)}
    for it in of_kind(include, Scalar):
        sizes[it.name] = POINTER if it.type.pointers else NUMBERS[it.type.base]
    known = {it.name: it.value for it in constants(include)}
    found = {}
    for struct in of_kind(include, Struct):
        end, widest, fields = 0, 1, {}
        for it in struct.fields:
            element = POINTER if it.type.pointers else sizes[it.type.base]
            size = element * int(known.get(it.type.length, it.type.length or 1))
            end += -end % element
            fields[it.name] = end, size
            end, widest = end + size, max(widest, element)
        found[struct.name] = end + -end % widest, fields
    return found


def unknown(include):
    """Names of ours in the headers that were not understood."""
    known = {it.name for header in declarations(include).values() for it in header}
    known |= {it.name for it in constants(include)} | PLUMBING
    return sorted(set(re.findall(r"\b(?:gpv|GPV)_\w+", text(include))) - known)
