# SPDX-License-Identifier: BSD-2-Clause
"""Erosion, and the rest of morphology with flat structuring elements. See gpuvision/erode.h."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from . import _abi
from ._params import ErodeParams
from .arrays import Image, Picture, image_of
from .context import Context
from .operators import Call, Operator, in_host_memory

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Erode(Operator):
    """Minimum under a structuring element; maximum, and what is made of both, by operation."""

    _stem, _Params = "erode", _abi.ErodeParams

    def __init__(self, context: Context, **params: Unpack[ErodeParams]):
        super().__init__(context, dict(params))

    def set(self, **params: Unpack[ErodeParams]) -> None:
        """Changes parameters of the runs that follow; those that are not given stay."""
        self._set(dict(params))

    def __call__(self, src: Picture, dst: Optional[Picture] = None, *, stream: Any = None) -> Picture:
        """The result: dst, or a new picture like src. dst may be src."""
        if dst is None:
            dst = image_of(src).empty()
            if not isinstance(src, Image):
                dst, = dst.planes
        with self._lock:
            self.run(src, dst, stream=stream)
            if in_host_memory(dst):
                self.wait()
        return dst

    def prepare(self, like: Picture) -> None:
        """Allocates all that a run on such a picture needs."""
        self._prepare({"like": like})

    def run(self, src: Picture, dst: Picture, *, stream: Any = None) -> None:
        """Enqueues the operation from src to dst, a picture of the same format and size, which may be
        src."""
        call = Call(self.context, stream, src, dst)
        self._enqueue(call, "run", call.image(src, "src"), call.image(dst, "dst", written=True))

    def wait(self) -> None:
        """Waits until the last run has finished; raises its error."""
        self._wait()
