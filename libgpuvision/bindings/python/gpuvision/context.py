# SPDX-License-Identifier: BSD-2-Clause
"""The context: which backend and device compute, and where log lines go."""
from __future__ import annotations

import contextlib
import ctypes as c
import threading
import weakref
from typing import Any, Callable, Iterator, Optional, Union

from . import _abi, _library
from ._abi import DEVICE_CURRENT, Backend, LogLevel
from ._errors import error_of
from .arrays import enum_value, integer

LogCallback = Callable[[LogLevel, str], None]


def backend_available(backend: Union[Backend, str]) -> bool:
    """Whether a backend is built in and, for CUDA, a driver and a device are there."""
    return bool(_library.lib().gpv_backend_available(enum_value(Backend, backend)))


def version_string() -> str:
    """Release, revision and backends of the library."""
    return _library.lib().gpv_version_string().decode()


def as_stream(stream: Any) -> int:
    """A CUDA stream as a number: CuPy's, PyTorch's, one with __cuda_stream__, or the number itself.
    0 is CUDA's default stream."""
    if isinstance(stream, int):
        return stream
    for name in ("ptr", "cuda_stream"):  # CuPy's, PyTorch's
        if isinstance(getattr(stream, name, None), int):
            return getattr(stream, name)
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    raise TypeError(f"a stream is a number, or of CuPy or PyTorch, or has __cuda_stream__; not a "
                    f"{type(stream).__name__}")


class Context:
    """What computes. Operators are made in it, and are closed with it.

    backend    "auto" (CUDA where it can be used, else the CPU), "cpu" or "cuda"
    device     CUDA ordinal, or "current": the CUDA context that is current on this thread
    log        called with each line, which must not call back into the context: RuntimeError
    log_level  of the lines that log gets; default: warnings and errors
    threads    that the CPU computes on at most; 0 = as many as oneTBB gives the calling thread

    Raises NoDevice where CUDA was asked for and cannot be had, Unsupported where the library was
    built without it.

    Any thread may use a context and its operators: each call waits until no other thread is inside.
    Contexts of their own let threads compute at the same time. A with statement closes it; so does
    the end of its life.
    """

    _handle = c.c_void_p()  # of what has not been made

    def __init__(self, backend: Union[Backend, str] = Backend.AUTO, device: Union[int, str] = 0,
                 log: Optional[LogCallback] = None, log_level: Union[LogLevel, str, None] = None,
                 threads: int = 0):
        self._lock = threading.Lock()
        self._inside = 0  # the thread that has the lock
        self._orphans: list[tuple[Any, c.c_void_p, Any]] = []
        self.operators: weakref.WeakSet[Any] = weakref.WeakSet()  #: that are made in it, and live
        library = _library.lib()
        self._handle = c.c_void_p()
        last_error = ""

        def take(_: Any, level: int, message: bytes) -> None:
            nonlocal last_error
            if level == LogLevel.ERROR:
                last_error = message.decode(errors="replace")
            if log:
                log(LogLevel(level), message.decode(errors="replace"))
        params = _library.initialized(_abi.ContextParams)
        params.backend = enum_value(Backend, backend)
        params.device = DEVICE_CURRENT if device == "current" else integer("device", device)
        params.threads = integer("threads", threads)
        params.log = self._log = _abi.LogFn(take)
        if log_level is not None:
            params.log_level = enum_value(LogLevel, log_level)
        status = library.gpv_context_create(c.byref(params), c.byref(self._handle))
        if status < 0:
            raise error_of(status, last_error)
        #: ordinal of CUDA memory whose library does not say it; with "current" it is taken to be 0
        self.device = max(params.device, 0)
        self.backend = Backend(library.gpv_context_backend(self._handle))  #: CPU or CUDA
        #: name of the processor or CUDA device
        self.device_name: str = library.gpv_context_device_name(self._handle).decode()

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gpuvision.Context on {self.device_name}>" if self._handle else \
            "<gpuvision.Context, closed>"

    def close(self) -> None:
        """Waits for what its operators do, closes them and frees what it has. A second time does
        nothing."""
        if self._handle:
            for operator in list(self.operators):
                operator.close()
            with self._alone():
                self._free_orphans()
                _library.lib().gpv_context_destroy(c.byref(self._handle))

    def sync(self, stream: Any = 0) -> None:
        """Waits until everything enqueued on stream has finished."""
        self.call("gpv_stream_sync", self._handle, as_stream(stream))

    def follow(self, stream: Any, leader: Any) -> None:
        """Lets what is enqueued on stream from now on begin after all that is enqueued on leader by
        now. Nobody waits."""
        self.call("gpv_stream_follow", self._handle, as_stream(stream), as_stream(leader))

    def call(self, function: str, *arguments: Any) -> int:
        """Calls a function of the C interface, by its name; gives its status, which is not
        negative."""
        return self.call_all([(function, arguments)])

    def call_all(self, calls: list[tuple[str, tuple[Any, ...]]]) -> int:
        """Several calls, between which no other thread is inside; gives the status of the last."""
        library, status = _library.lib(), 0
        with self._alone():
            if not self._handle:
                raise ValueError("the context is closed")
            self._free_orphans()
            for function, arguments in calls:
                status = getattr(library, function)(*arguments)
                if status < 0:
                    raise error_of(status, library.gpv_context_error(self._handle).decode())
        return status

    def release(self, destroy: Any, handle: c.c_void_p, kept: Any) -> None:
        """Frees an operator, now or, where a thread is inside, with the next call; what it has kept
        lives until then. Whoever collects garbage comes here, be it inside a call of the same
        thread."""
        if self._lock.acquire(blocking=False):
            try:
                destroy(c.byref(handle))
            finally:
                self._lock.release()
        else:
            self._orphans.append((destroy, handle, kept))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other thread is inside the library meanwhile."""
        if self._inside == threading.get_ident():
            raise RuntimeError("a log callback must not call back into its context")
        with self._lock:
            self._inside = threading.get_ident()
            try:
                yield
            finally:
                self._inside = 0

    def _free_orphans(self) -> None:
        while self._orphans:
            destroy, handle, _ = self._orphans.pop()
            destroy(c.byref(handle))
