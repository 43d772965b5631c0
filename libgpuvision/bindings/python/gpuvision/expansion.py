# SPDX-License-Identifier: BSD-2-Clause
"""More than two labels by alpha expansion. See gpuvision/expansion.h."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Sequence

import numpy

from . import _abi
from ._params import ExpansionParams
from .arrays import Array, Picture, empty_like
from .context import Context
from .graphcut import links_image
from .operators import Call, Operator

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: What runs can leave in CUDA memory: a gpv_expansion_result.
RESULT = numpy.dtype(_abi.ExpansionResult)


@dataclass
class ExpansionSummary:
    """What Expansion.wait() says."""
    converged: bool  #: no expansion move lowers the energy
    start_energy: int  #: of each pixel's cheapest label
    energy: int  #: of the labels found
    moves: int  #: that have lowered the energy


@dataclass(eq=False)
class Labelling(ExpansionSummary):
    """What Expansion finds."""
    labels: Picture  #: (height, width) of uint8: each pixel's label, from 0 on


class Expansion(Operator):
    """Labels for pixels, of which each costs a pixel something, as does a link between neighbours whose
    labels differ: found by the moves of alpha expansion."""

    _stem, _Params, _Result = "expansion", _abi.ExpansionParams, _abi.ExpansionResult

    def __init__(self, context: Context, **params: Unpack[ExpansionParams]):
        super().__init__(context, dict(params))

    def set(self, **params: Unpack[ExpansionParams]) -> None:
        """Changes parameters of the runs that follow; those that are not given stay."""
        self._set(dict(params))

    def __call__(self, costs: Sequence[Picture], links: Picture, labels: Optional[Picture] = None, *,
                 stream: Any = None) -> Labelling:
        """The labels. Waits. labels receives them; None = a new array."""
        links = links_image(links)
        if labels is None:
            labels = empty_like(links.planes[0], (links.height, links.width), "uint8")
        with self._lock:
            self.run(costs, links, labels, stream=stream)
            return Labelling(**vars(self.wait()), labels=labels)

    def prepare(self, links: Picture, count: int) -> None:
        """Allocates all that a run with such links and so many labels needs."""
        self._prepare({"links": links_image(links)}, count=count)

    def run(self, costs: Sequence[Picture], links: Picture, labels: Picture, *,
            result: Optional[Array] = None, stream: Any = None) -> None:
        """Enqueues the search for labels.

        costs   (2 to 16, height, width) of int32, or as many arrays: what each label costs each pixel,
                -2^28..2^28
        links   (4, height, width) of int32: what it costs that the label of the neighbour E or S differs;
                (8, ...): E, SE, S or SW; 0..2^26 - 1. The other half is not looked at
        labels  (height, width) of uint8
        result  receives a gpv_expansion_result, in the memory in which the backend computes
        """
        costs, links = list(costs), links_image(links)
        call = Call(self.context, stream, *costs, links, labels, result)
        self._enqueue(call, "run", call.images(costs, "costs"), len(costs), call.image(links, "links"),
                      call.image(labels, "labels", written=True), call.buffer(result, "result", RESULT))

    def wait(self) -> ExpansionSummary:
        """Waits until the last run has finished. Raises InvalidArgument, with the first value that
        is out of its range."""
        found = self._wait()
        return ExpansionSummary(bool(found.converged), found.start_energy, found.energy, found.moves)
