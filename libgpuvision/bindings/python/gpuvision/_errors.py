# SPDX-License-Identifier: BSD-2-Clause
"""A failed call is an exception, with the text of the library."""
from __future__ import annotations

from typing import Any

from . import _library
from ._abi import Status


class Error(RuntimeError):
    """A call of the library failed. The message is "status in words: text of the library", or one of
    both where the other adds nothing; that of an illegal argument names the parameter, its value and
    the legal range."""

    def __init__(self, status: int, text: str = ""):
        words = _library.lib().gpv_status_string(status).decode()
        super().__init__(text if text.startswith(words) else f"{words}: {text}" if text else words)
        self.status = Status(status) if status in set(Status) else status
        self._text = text
        self.result: Any = None  #: what was found all the same, where wait() has raised this

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self._text)


class InvalidArgument(Error, ValueError):
    """An argument or a parameter is illegal."""


class Unsupported(Error):
    """Legal, but not offered by this backend or this release."""


class OutOfMemory(Error, MemoryError):
    """There is no host or device memory left."""


class NoDevice(Error):
    """There is no usable CUDA device or driver."""


class DeviceError(Error):
    """CUDA reported an error."""


class TooSmall(Error):
    """An output has no room for what was found."""


class DeviceLost(DeviceError):
    """The CUDA context is poisoned: the process has to start anew."""


_CLASSES: dict[int, type[Error]] = {
    Status.ERR_INVALID_ARGUMENT: InvalidArgument, Status.ERR_UNSUPPORTED: Unsupported,
    Status.ERR_OUT_OF_MEMORY: OutOfMemory, Status.ERR_NO_DEVICE: NoDevice,
    Status.ERR_DEVICE: DeviceError, Status.ERR_TOO_SMALL: TooSmall,
    Status.ERR_DEVICE_LOST: DeviceLost}


def error_of(status: int, text: str = "") -> Error:
    """The exception for a negative status."""
    return _CLASSES.get(status, Error)(status, text)
