# SPDX-License-Identifier: BSD-2-Clause
"""Python: _abi.py, the interface as ctypes sees it, and _params.py, the keywords of operators."""
import re
import textwrap
from keyword import iskeyword

import public
from words import NOT_BY_HAND, Comments, camel, choice_name, comment, is_flag, prefix_of, reserved, stem_of

WIDTH = 110
NUMBERS = {"int32_t": "c.c_int32", "uint32_t": "c.c_uint32", "int64_t": "c.c_int64", "uint64_t": "c.c_uint64",
           "uint8_t": "c.c_uint8", "float": "c.c_float", "double": "c.c_double"}
TOP = f'''# SPDX-License-Identifier: BSD-2-Clause
# {NOT_BY_HAND}
'''


class Words(Comments):
    true, false = "True", "False"

    def value(self, choice, name):
        return f'"{name.lower()}"'

    def constant(self, macro):
        return str(macro.value) if isinstance(macro.value, int) else f"{macro.value:g}".replace("e+0", "e")

    def type(self, name):
        return camel(stem_of(name))

    def function(self, name):
        stem, _, method = name.partition("_")
        return "find_homography()" if name == "homography_find" else f"{camel(stem)}.{method}()"


def ctype(headers, it):
    """What ctypes calls a type."""
    if it.length:
        length = it.length if it.length.isdigit() else it.length.removeprefix("GPV_")
        return f"{ctype(headers, public.Type(it.base, it.pointers))} * {length}"
    if it.pointers:
        inner = public.Type(it.base, it.pointers[:-1])
        if it.base == "char" and len(it.pointers) == 1:
            return "c.c_char_p"
        if (it.base == "void" or it.base in headers.handles) and len(it.pointers) == 1:
            return "c.c_void_p"
        return f"c.POINTER({ctype(headers, inner)})"
    if it.base in headers.scalars:
        return ctype(headers, headers.scalars[it.base].type)
    return "None" if it.base == "void" else NUMBERS.get(it.base) or camel(stem_of(it.base))


def listed(head, items, tail, indent):
    """A list of Python, in lines that are as long as may be."""
    text, line = "", head
    for at, item in enumerate(items):
        item += ", " if at + 1 < len(items) else tail
        if len(line + item.rstrip()) > WIDTH:
            text, line = f"{text}{line.rstrip()}\n", " " * indent
        line += item
    return f"{text}{line}\n"


def quoted(text):
    """A docstring in a class."""
    paragraphs = [textwrap.fill(paragraph, WIDTH - 4, initial_indent="    ", subsequent_indent="    ",
                                break_on_hyphens=False) for paragraph in f'"""{text}'.split("\n\n")]
    return "\n\n".join(paragraphs) + ('\n    """\n' if len(paragraphs) > 1 else '"""\n')


def class_of(headers, name, kind, text):
    return f"\n\nclass {name}({kind}):\n{quoted(text)}"


def choices(headers, words):
    for it in headers.choices.values():
        yield class_of(headers, choice_name(it), "IntEnum", words.words(it.text))
        for value in it.values:
            yield comment(words.words(value.text), "    #:", WIDTH)
            yield f"    {value.name.removeprefix(prefix_of(it))} = {value.value}\n"


def structs(headers):
    for it in headers.structs:
        yield class_of(headers, camel(stem_of(it.name)), "c.Structure", it.name)
        yield "    _fields_ = [\n"
        yield from (f'        ("{field.name}", {ctype(headers, field.type)}),\n' for field in it.fields)
        yield "    ]\n"


def tables(headers):
    yield "\n\n#: Functions that write the defaults of a struct.\n"
    yield "INITIALIZERS: dict[type[c.Structure], str] = {\n"
    names = {it.name for it in headers.functions}
    yield from (f'    {camel(stem_of(it.name))}: "{it.name}_init",\n' for it in headers.structs
                if f"{it.name}_init" in names)
    yield "}\n\n#: Enumerations of the fields of a struct that name their values.\n"
    yield "CHOICES: dict[type[c.Structure], dict[str, type[IntEnum]]] = {\n"
    for it in headers.params:
        named = [f'"{field.name}": {choice_name(headers.choices[field.type.base])}' for field in it.fields
                 if field.type.base in headers.choices]
        yield listed(f"    {camel(stem_of(it.name))}: {{", named or [""], "},", 8)
    yield "}\n\n#: (type of the result, types of the arguments) of every function.\n"
    yield "FUNCTIONS: dict[str, tuple[Any, ...]] = {\n"
    for it in headers.functions:
        types = [ctype(headers, one) for one in (it.result, *(argument.type for argument in it.arguments))]
        yield listed(f'    "{it.name}": (', types, ",)," if len(types) == 1 else "),", 8)
    yield "}\n"


def abi(headers):
    yield f'''{TOP}"""The C interface, as ctypes sees it: constants, structs and functions.

Names and numbers are those of include/gpuvision, which says what each of them means.
"""
from __future__ import annotations

import ctypes as c
from enum import IntEnum
from typing import Any

'''
    yield from (f"{it.name.removeprefix('GPV_')} = {it.value}\n" for it in headers.macros)
    yield from choices(headers, Words(headers))
    yield "\n\n"
    for it in headers.callbacks:
        types = [ctype(headers, one) for one in (it.result, *(argument.type for argument in it.arguments))]
        yield listed(f"{camel(stem_of(it.name))} = c.CFUNCTYPE(", types, ")", 4)
    yield from structs(headers)
    yield from tables(headers)


def keyword(headers, field):
    if field.type.base in headers.choices:
        return f"Union[{choice_name(headers.choices[field.type.base])}, str]"
    if is_flag(field):
        return "bool"
    return "float" if field.type.base in ("float", "double") else "int"


def params(headers):
    words = Words(headers)
    yield f'''{TOP}"""Parameters of operators: what each takes by keyword."""
from __future__ import annotations

from typing import TypedDict, Union

'''
    choices = sorted(map(choice_name, headers.params_choices))
    yield listed("from ._abi import (", choices, ")", 18) + "\n"
    names = sorted([*choices, *(camel(stem_of(it.name)) for it in headers.params)])
    yield listed("__all__ = [", [f'"{name}"' for name in names], "]", 11)
    for it in headers.params:
        name = camel(stem_of(it.name))
        text = words.of_params(it, "").replace("Parameters.", f"Parameters of {name.removesuffix('Params')}.")
        text = re.sub(r"\.(?=\s|$)", ", all optional.", text, count=1)
        yield class_of(headers, name, "TypedDict, total=False", text)
        for field in it.fields:
            if not reserved(field):
                yield comment(words.sentence(*words.of_field(it, field)), "    #:", WIDTH)
                yield f"    {field.name}{'_' * iskeyword(field.name)}: {keyword(headers, field)}\n"
