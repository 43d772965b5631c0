# SPDX-License-Identifier: BSD-2-Clause
"""What the parameters are, as the library says it. See gpuvision/fields.h."""
from __future__ import annotations

import ctypes as c
from typing import NamedTuple

from . import _abi, _library
from ._abi import FieldType


class Field(NamedTuple):
    """A parameter."""
    name: str
    type: FieldType
    low: float  #: least value
    high: float  #: greatest value
    initial: float  #: default
    unit: str  #: in the plural; "" = none
    text: str  #: what it does
    choices: dict[str, int]  #: names of its values, of type CHOICE


def fields(stem: str) -> list[Field]:
    """The parameters of an operator, such as "erode", of "homography" or of "context", in the order
    of their struct."""
    found: list[Field] = []
    raw = _abi.Field()
    while _library.lib().gpv_params_describe(stem.encode(), len(found), raw, c.sizeof(raw)) == 0:
        choices = {one.name.decode(): one.value for one in raw.choices[:raw.choice_count]}
        found.append(Field(raw.name.decode(), FieldType(raw.type), raw.low, raw.high, raw.initial,
                           raw.unit.decode(), raw.text.decode(), choices))
    if not found:
        raise ValueError(f"there are no parameters of {stem!r}")
    return found
