# SPDX-License-Identifier: BSD-2-Clause
"""What all operators have in common."""
from __future__ import annotations

import ctypes as c
import threading
from enum import IntEnum
from typing import Any, ClassVar, Iterable, Optional, Sequence, TypeVar

from . import _abi, _library
from ._abi import Status
from ._errors import Error, InvalidArgument, TooSmall, Unsupported
from .arrays import (Array, Image, Picture, buffer_view, check_elements, enum_value, image_of,
                     integer, on_device, span)
from .context import Context, as_stream
from .fields import Described

Self = TypeVar("Self", bound="Operator")


def planes_of(pictures: Iterable[Optional[Picture]]) -> list[Array]:
    """All arrays of pictures and of other arrays; None is none."""
    return [plane for picture in pictures if picture is not None
            for plane in (picture.planes if isinstance(picture, Image) else [picture])]


def in_host_memory(*pictures: Optional[Picture]) -> bool:
    """Whether any array is in host memory."""
    return not all(map(on_device, planes_of(pictures)))


class Call:
    """Views of the arrays of one call, and the stream that it goes to: the one that is asked for,
    else that of the first array that has one, else CUDA's default stream."""

    def __init__(self, context: Context, stream: Any, *pictures: Optional[Picture]):
        self.device = context.device
        planes = planes_of(pictures)
        spans = [span(plane) for plane in planes]
        leaders = dict.fromkeys(part.stream for part in spans if part)
        leaders.pop(None, None)
        self.stream = as_stream(stream) if stream is not None else next(iter(leaders), 0)
        #: streams that it comes after, and that come after it
        self.others = [leader for leader in leaders if leader != self.stream]
        #: of each array; their owners have to live until it is over
        self.spans: dict[int, Any] = {id(plane): part or span(plane, self.stream)
                                      for plane, part in zip(planes, spans)}
        #: of memory in CUDA that is given back in the order of a stream, enqueued is enough
        self.in_order = all(part.stream is not None for part in self.spans.values())

    def _view(self, picture: Picture, name: str, written: bool = False) -> Any:
        image = image_of(picture)
        return image.view(name, [self.spans[id(plane)] for plane in image.planes], self.device, written)

    def image(self, picture: Optional[Picture], name: str, written: bool = False) -> Any:
        """A pointer to a gpv_image, or None."""
        return None if picture is None else c.byref(self._view(picture, name, written))

    def images(self, pictures: Sequence[Picture], name: str) -> Any:
        """Pointers to gpv_image that are read."""
        views = [c.pointer(self._view(picture, f"{name}[{i}]")) for i, picture in enumerate(pictures)]
        return (c.POINTER(_abi.Image) * len(views))(*views)

    def buffer(self, array: Optional[Array], name: str, dtype: Any, written: bool = True) -> Any:
        """A pointer to a gpv_buffer of numbers or records of a type, or None."""
        if array is None:
            return None
        check_elements(name, array, dtype)
        return c.byref(buffer_view(name, self.spans[id(array)], self.device, written))


class Struct:
    """Fields of a struct of parameters, by name."""

    def __init__(self, kind: type[c.Structure]):
        self.value, self.enums = _library.initialized(kind), _abi.CHOICES[kind]
        self.types = {field[0]: field[1] for field in kind._fields_
                      if field[0] != "struct_size" and not field[0].startswith("reserved")}

    def assign(self, params: dict[str, Any]) -> None:
        """Keywords of Python have a _ behind them."""
        for name, value in params.items():
            field = name.rstrip("_")
            if field not in self.types:
                raise TypeError(f"there is no parameter {name!r}: {', '.join(self.types)}")
            if field in self.enums:
                value = enum_value(self.enums[field], value)
            if self.types[field] is not c.c_float:
                value = integer(name, value, self.types[field])
            try:
                setattr(self.value, field, value)
            except TypeError as error:
                raise TypeError(f"{name} is {value!r}: {error}") from None

    def read(self) -> dict[str, Any]:
        """All of them."""
        kind = self.enums
        values = ((name, getattr(self.value, name)) for name in self.types)
        return {"lambda_" if name == "lambda" else name: kind[name](value) if name in kind else value
                for name, value in values}


class Operator:
    """Made in a context, with parameters by keyword; those that are not given have the library's
    defaults. A with statement closes it; so does the end of its life, or of its context's.

    Calling an operator makes the arrays for its results, like the source's: of the same library
    and in the same memory. Pictures in CUDA memory are enqueued, and nobody waits for them; numbers
    and what is in host memory are there when the call returns.

    run() takes arrays for the results, enqueues and returns: wait() says what was found. Until then
    what is in host memory may not be there yet, and all its arrays are kept. After the first run of a
    kind, or after prepare(), run() allocates nothing and, with all arrays in CUDA memory, waits for
    nothing: it may be captured in a CUDA graph. As long as the graph is used, its arrays and the
    operator have to live, and the operator may run or prepare nothing that needs more memory.

    Any thread may use an operator. Another thread's run does not come between a call of the operator
    and its results, but may between run() and wait().

    stream  CuPy's, PyTorch's, a number, or one with __cuda_stream__. Without it a run goes to the
            current stream of the library whose array comes first. Where an array's library works on
            another stream than the run's, the run comes after what it has enqueued there by now, and
            what it enqueues there later comes after the run.
    """

    _stem: ClassVar[str]
    _Params: ClassVar[type[c.Structure]]
    _Result: ClassVar[Optional[type[c.Structure]]] = None
    _handle = c.c_void_p()  # of what has not been made

    def __init_subclass__(cls) -> None:
        cls.__doc__ = Described(cls.__doc__, cls._stem)  # type: ignore[assignment]

    def __init__(self, context: Context, params: dict[str, Any]):
        self.context = context
        self._lock = threading.RLock()
        self._kept: list[Call] = []  # that may not be over
        self._handle = c.c_void_p()
        self._params = self._struct(params)
        context.call(f"gpv_{self._stem}_create", context._handle, c.byref(self._params.value),
                     c.byref(self._handle))
        context.operators.add(self)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._handle:  # not of one whose creation has failed
            self.close()

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value.name.lower()!r}" if isinstance(value, IntEnum) else
                           f"{name}={value:.7g}" for name, value in self.params.items())
        return f"gpuvision.{type(self).__name__}({values})"

    def _struct(self, params: dict[str, Any], before: Optional[Struct] = None) -> Struct:
        struct = Struct(self._Params)
        if before:
            c.memmove(c.byref(struct.value), c.byref(before.value), c.sizeof(struct.value))
        struct.assign(params)
        return struct

    @property
    def params(self) -> dict[str, Any]:
        """The parameters in force."""
        return self._params.read()

    def _set(self, params: dict[str, Any]) -> None:
        with self._lock:
            struct = self._struct(params, self._params)
            self._call("set_params", c.byref(struct.value))
            self._params = struct

    def close(self) -> None:
        """Waits for the last run, and frees. A second time does nothing."""
        with self._lock:
            handle, self._handle = self._handle, c.c_void_p()
            kept, self._kept = self._kept, []
            if handle:
                destroy = getattr(_library.lib(), f"gpv_{self._stem}_destroy")
                self.context.release(destroy, handle, kept)

    def query(self) -> bool:
        """Whether the last run has finished, without waiting. Raises what wait() would."""
        with self._lock:
            done = self._call("query") != Status.NOT_READY
            if done:
                self._kept = []
        return done

    def _call(self, name: str, *arguments: Any) -> int:
        with self._lock:
            if not self._handle:
                raise ValueError(f"the {type(self).__name__} is closed")
            return self.context.call(f"gpv_{self._stem}_{name}", self._handle, *arguments)

    def _prepare(self, pictures: dict[str, Optional[Picture]], **numbers: int) -> None:
        call = Call(self.context, None, *pictures.values())
        self._call("prepare", *(call.image(picture, name) for name, picture in pictures.items()),
                   *(integer(name, number) for name, number in numbers.items()))

    def _enqueue(self, call: Call, name: str, *arguments: Any) -> None:
        """gpv_<stem>_<name>, or a function of that whole name, on the stream of a call, between what
        other streams do before and after. Its memory is kept until it is over. That of earlier ones
        is, too, unless all of it is given back in the order of streams."""
        with self._lock:
            if not self._handle:
                raise ValueError(f"the {type(self).__name__} is closed")
            context = self.context._handle
            before = [earlier for earlier in self._kept if not earlier.in_order]
            self._kept.append(call)
            try:
                self.context.call_all([
                    *(("gpv_stream_follow", (context, call.stream, other))
                      for other in call.others),
                    (name if name.startswith("gpv_") else f"gpv_{self._stem}_{name}",
                     (self._handle, call.stream, *arguments)),
                    *(("gpv_stream_follow", (context, other, call.stream))
                      for other in call.others)])
            except (InvalidArgument, Unsupported):  # it has not begun
                self._kept.remove(call)
                raise
            self._kept = [*before, call]

    def _wait(self) -> Any:
        """gpv_<stem>_wait: the struct that it fills. An exception that it raises has it as its
        result."""
        with self._lock:
            result = None if self._Result is None else _library.initialized(self._Result)
            try:
                self._call("wait", *([] if result is None else [c.byref(result)]))
            except Error as error:
                error.result = result
                if isinstance(error, (InvalidArgument, TooSmall)):  # of a run that is over
                    self._kept = []
                raise
            self._kept = []
            return result
