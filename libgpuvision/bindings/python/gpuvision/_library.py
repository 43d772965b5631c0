# SPDX-License-Identifier: BSD-2-Clause
"""Finds libgpuvision, and gives its functions their types."""
from __future__ import annotations

import ctypes as c
import functools
import os
from typing import Any

from . import _abi

API_VERSION = (_abi.API_VERSION_MAJOR, _abi.API_VERSION_MINOR)  # of the headers that _abi is made of


class LibraryNotFound(OSError):
    """There is no libgpuvision, or one that does not suit this package."""


@functools.cache
def lib() -> c.CDLL:
    """libgpuvision, with the types of its functions: the file that GPUVISION_LIBRARY names, else
    the one that the system finds."""
    name = os.environ.get("GPUVISION_LIBRARY") or f"libgpuvision.so.{API_VERSION[0]}"
    try:
        found = c.CDLL(name)
    except OSError as error:
        raise LibraryNotFound(
            f"{name} not found: install it, run inside meson devenv -C build, or name it in "
            f"GPUVISION_LIBRARY ({error})") from None
    try:
        found.gpv_api_version.restype = c.c_uint32
        version = found.gpv_api_version()
        major, minor = version >> 16, version >> 8 & 255
        if major != API_VERSION[0] or minor < API_VERSION[1]:
            raise LibraryNotFound(f"{name} has API {major}.{minor}, this package needs "
                                  f"{API_VERSION[0]}.{API_VERSION[1]}")
        for function, (result, *arguments) in _abi.FUNCTIONS.items():
            declared = getattr(found, function)
            declared.restype, declared.argtypes = result, arguments
    except AttributeError as error:
        raise LibraryNotFound(f"{name} is no libgpuvision: {error}") from None
    return found


def initialized(struct: type[c.Structure]) -> Any:
    """A struct with the defaults of the library."""
    value = struct()
    getattr(lib(), _abi.INITIALIZERS[struct])(value, c.sizeof(value))
    return value
