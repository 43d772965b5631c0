# SPDX-License-Identifier: BSD-2-Clause
"""What the parameters are, as the library says it. See gpuvision/fields.h."""
from __future__ import annotations

import ctypes as c
import keyword
import textwrap
from typing import NamedTuple, Optional

from . import _abi, _library
from ._abi import FieldKind
from ._library import LibraryNotFound


class Choice(NamedTuple):
    """One value of a parameter of kind CHOICE."""
    name: str
    text: str  #: what it means
    value: int


class Field(NamedTuple):
    """A parameter."""
    name: str
    kind: FieldKind
    low: float  #: least value; of UINT64, of which every value is legal, 0
    high: float  #: greatest value; of UINT64 0
    initial: float  #: default
    unit: str  #: in the plural; "" = none
    text: str  #: what it does, and what between low and high is not legal
    choices: list[Choice]  #: of kind CHOICE; else none


def fields(stem: str) -> list[Field]:
    """The parameters of an operator, such as "erode", of "homography" or of "context", in the order
    of their struct; but for those of a kind that is newer than this package."""
    found: list[Field] = []
    index, raw = 0, _abi.Field()
    while _library.lib().gpv_params_describe(stem.encode(), index, raw, c.sizeof(raw)) == 0:
        index += 1
        if raw.kind in list(FieldKind):
            choices = [Choice(one.name.decode(), one.text.decode(), one.value)
                       for one in raw.choices[:raw.choice_count]]
            found.append(Field(raw.name.decode(), FieldKind(raw.kind), raw.low, raw.high, raw.initial,
                               raw.unit.decode(), raw.text.decode(), choices))
    if not index:
        raise ValueError(f"there are no parameters of {stem!r}")
    return found


def _line(field: Field) -> str:
    """"radius: 0 to 255 pixels, default 1. Half size of..."."""
    initial = f"{field.initial:.7g}"
    if field.choices:
        initial = next(one.name for one in field.choices if one.value == field.initial)
        values = ", ".join(one.name for one in field.choices)
    elif field.kind == FieldKind.BOOL:
        values, initial = "False or True", str(bool(field.initial))
    elif field.kind == FieldKind.UINT64:
        values = "0 to 18446744073709551615"
    else:
        values = f"{field.low:.10g} to {field.high:.10g} {field.unit}".rstrip()
    name = f"{field.name}_" if keyword.iskeyword(field.name) else field.name
    return textwrap.fill(f"{name}: {values}; default {initial}. {field.text}", 100,
                         initial_indent="    ", subsequent_indent="        ")


class Described:
    """The __doc__ of a class: its own, and behind it the parameters, which the library knows."""

    def __init__(self, text: Optional[str], stem: str):
        self.text, self.stem = text or "", stem

    def __get__(self, instance: object, owner: object = None) -> str:
        try:
            lines = [_line(field) for field in fields(self.stem)]
        except LibraryNotFound:
            return self.text
        return "\n\n".join([self.text.rstrip(), "    Parameters:", *lines])
