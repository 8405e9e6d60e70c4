"""The norm of all gradients, and steps with clipped gradients.

If one launch covers all gradients, the program itself reduces and clips them. Otherwise (several devices or sets of
options, or sharded parameters) each part adds the squares of its gradients, the sums are added, over the process groups
as well, and the steps take the total from the device. The host waits only if parameters are on a GPU and on the CPU.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

import numpy

from ..errors import BadInput
from . import _programs, _rewrite
from ._torch import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._part import Part


class Reduction(NamedTuple):
    """The dimensions of a mesh over which sums of local shards are added."""

    mesh: Any
    dimensions: tuple[int, ...]

    def is_split(self) -> bool:
        """Whether several processes have shards."""
        return any(self.mesh.size(dimension) > 1 for dimension in self.dimensions)

    def add(self, value: Any) -> None:
        distributed: Any = importlib.import_module("torch.distributed")
        for dimension in self.dimensions:
            distributed.all_reduce(value, group=self.mesh.get_group(dimension))


def reduction(param: Any) -> Reduction:
    """Over which dimensions of its mesh a DTensor is sharded.

    Placements of FSDP2 with tensor parallelism may be sharded although their ``is_shard()`` is False.
    """
    if any(placement.is_partial() for placement in param.placements):
        raise BadInput(f"params: expected parameters that are sharded or replicated, found {param.placements}")
    dimensions = tuple(place for place, placement in enumerate(param.placements) if not placement.is_replicate())
    return Reduction(param.device_mesh, dimensions)


class SumOfSquares:
    """The sum of the squares of the gradients of a part: `value`, a float64 on the device."""

    def __init__(self, part: Part) -> None:
        program = _programs.sum_of_squares(part.families, part.endings, part.form.scaled, part.spec.accumulation)
        device = None if part.device.type == "cpu" else part.device.index
        self._graph = _programs.executable(program, part.device).graph(device=device)
        self._grads = part.new_addresses(self._graph, "grad")
        self._bound: tuple[Any, Any] | None = None
        self.value = torch.zeros((), dtype=torch.float64, device=part.device)
        self._graph.bind_result(_rewrite.SUM, [self.value])
        if part.form.scaled:
            part.bind_scaling(self._graph)

    def prepare(self, part: Part) -> None:
        """Binds the gradients that the part has bound."""
        grads, active = part.bound_gradients()
        if self._bound is None or not numpy.array_equal(self._bound[0], grads):
            self._grads.values[:] = grads
            self._grads.bind()
        if self._bound is None or not numpy.array_equal(self._bound[1], active):
            part.set_inactive(self._graph, "grad", active)
        self._bound = (grads.copy(), active.copy())
        self._graph.prepare(part.current_stream())

    def compute(self, part: Part) -> None:
        """Adds the squares of the gradients of the part."""
        stream = part.current_stream()

        def launch() -> None:
            self.prepare(part)
            self._graph.replay(stream)

        if not self._graph._replay_unless_collected(stream, part.collections):
            part.launch_again(launch)

    def synchronize(self, stream: int) -> None:
        self._graph.synchronize(stream)


def clip(parts: Sequence[Part], busy: Sequence[Part], max_norm: float) -> Any:
    """Steps with gradients of at most this norm; returns their norm before, on the device."""
    if not parts:
        return torch.zeros((), dtype=torch.float64, device="cpu")
    if len(parts) == 1 and parts[0].sum is None:
        part = parts[0]
        if not busy:
            return torch.zeros((), dtype=torch.float64, device=part.device)
        part.set_max_norm(max_norm)
        part.replay()
        return part.norm.clone()
    sums: dict[Any, Any] = {}
    home = parts[0].device
    for part in parts:
        if part.is_idle:
            value = torch.zeros((), dtype=torch.float64, device=home)
        else:
            part.sum_of_squares.compute(part)
            # The addition below must not read the host's copy before it is complete.
            value = part.sum_of_squares.value.to(home, non_blocking=home.type != "cpu")
        sums[part.reduction] = sums[part.reduction] + value if part.reduction in sums else value.clone()
    for each, value in sums.items():
        if each is not None:
            each.add(value)
    total: Any = sum(sums.values())
    for part in busy:
        part.sum.copy_(total, non_blocking=part.device.type != "cpu")
        part.set_max_norm(max_norm)
        part.replay()
    return total.sqrt()
