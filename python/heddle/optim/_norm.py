"""Steps that depend on all gradients: on their norm, which clips them, or on whether all are finite.

If one launch covers all gradients, the program itself reduces them. Otherwise (several devices or sets of options, or
sharded parameters) each part adds the squares of its gradients, and looks for some that are not finite. The sums are
added, over the process groups as well, and the steps take the totals from the device. The host waits only if parameters
are on a GPU and on the CPU.

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


class Totals:
    """Of the gradients of a part: `value`, two float64 on the device.

    They are the sum of the squares, and whether some gradient is not finite: 0 or 1. What no step takes is 0.
    """

    def __init__(self, part: Part) -> None:
        form = part.form
        program = _programs.totals(part.families, part.endings, form, part.spec.accumulation)
        device = None if part.device.type == "cpu" else part.device.index
        self._graph = _programs.executable(program, part.device).graph(device=device)
        self._grads = part.new_addresses(self._graph, "grad")
        self._bound: tuple[Any, Any] | None = None
        self.value = torch.zeros(2, dtype=torch.float64, device=part.device)
        if form.clip:
            self._graph.bind_result(_rewrite.SUM, [self.value[0]])
        if form.check:
            self._graph.bind_result(_rewrite.NOT_FINITE_NUMBER, [self.value[1]])
        if form.clip and form.scaled:
            part.bind_scale(self._graph)

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
        """Reduces the gradients of the part."""
        stream = part.current_stream()

        def launch() -> None:
            self.prepare(part)
            self._graph.replay(stream)

        if not self._graph._replay_unless_collected(stream, part.collections):
            part.launch_again(launch)

    def synchronize(self, stream: int) -> None:
        self._graph.synchronize(stream)


def step(parts: Sequence[Part], busy: Sequence[Part], max_norm: float | None) -> Any:
    """Steps with gradients of at most this norm; returns their norm before, on the device. None: it clips nothing."""
    is_one = len(parts) == 1 and parts[0].totals is None
    if is_one or not parts:
        for part in busy:
            part.set_max_norm(max_norm)
            part.replay()
        if max_norm is None:
            return None
        device = parts[0].device if parts else "cpu"
        return parts[0].norm.clone() if busy else torch.zeros((), dtype=torch.float64, device=device)
    sums: dict[Any, Any] = {}
    home = parts[0].device
    for part in parts:
        if part.is_idle:
            value = torch.zeros(2, dtype=torch.float64, device=home)
        else:
            part.own_totals.compute(part)
            # The addition below must not read the host's copy before it is complete.
            value = part.own_totals.value.to(home, non_blocking=home.type != "cpu")
        sums[part.reduction] = sums[part.reduction] + value if part.reduction in sums else value.clone()
    for each, value in sums.items():
        if each is not None:
            each.add(value)
    total: Any = sum(sums.values())
    for part in busy:
        part.totals.copy_(total, non_blocking=part.device.type != "cpu")
        part.set_max_norm(max_norm)
        part.replay()
    return None if max_norm is None else total[0].sqrt()
