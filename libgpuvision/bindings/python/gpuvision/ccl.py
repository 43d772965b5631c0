# SPDX-License-Identifier: BSD-2-Clause
"""Connected-component labelling. See gpuvision/ccl.h."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy

from . import _abi
from ._abi import CclOutput
from ._errors import TooSmall
from ._params import CclParams
from .arrays import Array, Picture, empty_like, image_of
from .context import Context
from .operators import Call, Operator

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Record of a component: left, top, right and bottom (one behind the last), area, sum_x, sum_y.
COMPONENT = numpy.dtype(_abi.CclComponent)


@dataclass(eq=False)
class Components:
    """What Ccl finds."""
    count: int  #: components that were not dropped
    records: numpy.ndarray  #: (count,) of COMPONENT, in the order of their labels, from 1 on
    image: Optional[Picture]  #: as params["output"] says, where one was made

    @property
    def centroids(self) -> numpy.ndarray:
        """(count, 2) of float64: x and y, from the centre of the first pixel."""
        sums = numpy.stack([self.records["sum_x"], self.records["sum_y"]], 1)
        return sums / self.records["area"][:, None]


@dataclass
class Counts:
    """What Ccl.wait() says."""
    count: int  #: components that were not dropped, however many records fit
    components: int  #: records written


class Ccl(Operator):
    """Labels of the components of a picture, their count, and area, box and centroid of each."""

    _stem, _Params, _Result = "ccl", _abi.CclParams, _abi.CclResult

    def __init__(self, context: Context, **params: Unpack[CclParams]):
        super().__init__(context, dict(params))

    def set(self, **params: Unpack[CclParams]) -> None:
        """Changes parameters of the runs that follow; those that are not given stay."""
        self._set(dict(params))

    def __call__(self, src: Picture, *, dst: Union[Picture, bool] = True, room: int = 1024,
                 stream: Any = None) -> Components:
        """All components of src. Waits.

        dst   receives the picture; True = a new array: (height, width) of int32 for labels and of
              uint8 for a mask, (height, width, 3) of uint8 for colours, in RGB; False = none
        room  records at first; a picture with more components is labelled twice
        """
        if room < 1:
            raise ValueError(f"room is {room}, must be 1 or more")
        with self._lock:
            image = self._new(src) if dst is True else dst if dst is not False else None
            records = numpy.zeros(room, COMPONENT)
            self.run(src, dst=image, components=records, stream=stream)
            try:
                found = self.wait()
            except TooSmall as error:
                if error.result.count <= room:
                    raise  # it is labels of 16 bits that have none
                records = numpy.zeros(error.result.count, COMPONENT)
                self.run(src, dst=image, components=records, stream=stream)
                found = self.wait()
        return Components(found.count, records[:found.components], image)

    def _new(self, src: Picture) -> Array:
        image, output = image_of(src), self.params["output"]
        shape = (image.height, image.width, *([3] if output == CclOutput.COLORS else []))
        return empty_like(image.planes[0], shape, "int32" if output == CclOutput.LABELS else "uint8")

    def prepare(self, src: Picture, dst: Optional[Picture] = None, components: int = 0) -> None:
        """Allocates all that runs on such pictures need, with so many records in host memory."""
        self._prepare({"src": src, "dst": dst}, components=components)

    def run(self, src: Picture, *, dst: Optional[Picture] = None, components: Optional[Array] = None,
            count: Optional[Array] = None, stream: Any = None) -> None:
        """Enqueues the labelling of src. Each result is optional; without any, they are counted.

        src         a picture
        dst         same size and memory. Labels: LABEL32, GRAY16, P016, or as a mask; a mask:
                    GRAY8, NV12 or I420; colours: a picture
        components  receives records of COMPONENT, 40 bytes each; host or CUDA memory
        count       receives one int32, in the memory in which the backend computes
        """
        call = Call(self.context, stream, src, dst, components, count)
        self._enqueue(call, "run", call.image(src, "src"), call.image(dst, "dst", written=True),
                      call.buffer(components, "components", COMPONENT), 0,
                      call.buffer(count, "count", "int32"))

    def wait(self) -> Counts:
        """Waits until the last run has finished. Raises TooSmall, with a result, where there are
        more components than records, or than labels of 16 bits."""
        result = self._wait()
        return Counts(result.count, result.components)
