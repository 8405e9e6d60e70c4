"""A share of a part: the parameters that one optimizer steps with one set of options.

A part of an optimizer has one share. A part of a chain of several optimizers has one for each of them, and its program
does the steps of all.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import numpy

from . import _programs, _rewrite, _storage
from ._hyperparameters import Hyperparameters
from ._members import Members
from ._state_lists import StateLists
from ._torch import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..graph import Graph
    from ._members import Addresses, Member
    from ._spec import Spec
    from ._tensors import Tensors
    from ._tracking import States


class Share:
    """The parameters of a part that one optimizer steps with one set of options.

    Args:
        spec: the optimizer.
        members: the parameters, on one device.
        options: the options and their values.
        scaled, clip, check: as in `_programs.Form`.
        states: the state of all parameters of the optimizer.
        hidden: the tensors of state that torch's optimizer does not have, by parameter.
        defaults: the entries that the constructor of the optimizer was given.
        first_blocks: the function that returns the first block of the random numbers of each parameter.
        owner: the place of the optimizer in its chain, or 0.
        ending: what the names of its arguments end in.

    Attributes:
        prefix: what messages about its optimizer start with.
        group_places: the places of its groups among those of the optimizer, or of the chain.
        group_of: the place of the group of each parameter.
    """

    def __init__(
        self,
        spec: Spec,
        members: Sequence[Member],
        options: tuple[tuple[str, Any], ...],
        *,
        scaled: bool,
        clip: str,
        check: str,
        states: States,
        hidden: dict[Any, dict[str, Any]],
        defaults: Mapping[str, Any],
        first_blocks: Callable[[], dict[Any, int]],
        owner: int = 0,
        ending: str = "",
    ) -> None:
        self.spec, self.states, self.owner, self.ending = spec, states, owner, ending
        self._hidden, self._defaults = hidden, defaults
        self.prefix = members[0].prefix
        self._first_blocks = first_blocks
        self.members = Members.sorted(members, states, dict(options).get("state_dtype"), ending)
        self.group_places = sorted({member.group for member in members})
        self.group_of = numpy.array([member.group for member in self.members.all])
        self.form = _programs.Form(self.members.families, len(self.group_places) > 1, options, scaled, clip, check)

    def __len__(self) -> int:
        return len(self.members)

    def bind(self, graph: Graph, tensors: Tensors, first: int, stream: int, *, captured: bool) -> None:
        """Binds what the program needs beside parameters and gradients.

        Args:
            graph: the graph of the part.
            tensors: the parameters and gradients of the part.
            first: the place of the first parameter among those of the part.
            stream: the stream on which scalars are set.
            captured: the step is captured into a CUDA graph of the caller.
        """
        self.graph, self.device = graph, self.members.device
        #: The places of the parameters among those of the part.
        self.places = slice(first, first + len(self))
        self.state = StateLists(
            self.spec, self.members, tensors, graph, self.states, self._hidden, self._defaults, first, self.ending
        )
        self.lists_of_hyperparameters: dict[str, Addresses] = {
            name: self.members.new_addresses(graph, name, 0) for name in self.hyperparameter_names(lists=True)
        }
        if _storage.SEED + self.ending in graph.executable.arguments:
            self._bind_random_numbers(self._first_blocks(), dict(self.form.options)[_storage.SEED], stream)
        self.hyperparameters = Hyperparameters(self, table=captured)

    def hyperparameter_names(self, lists: bool) -> list[str]:
        """The arguments of the program that are hyperparameters, without endings: scalars, or lists."""
        ending = self.members.endings[0] if lists else self.ending
        added = (*_rewrite.SCALARS, _storage.SEED)
        known = {"param", "grad", _storage.FIRST_BLOCK, *(each.key for each in self.state.lists)}
        return [
            key
            for name, info in self.graph.executable.arguments.items()
            if info.is_list == lists and name.endswith(ending)
            and (key := name.removesuffix(ending)) not in known and (lists or key not in added)
        ]

    def _bind_random_numbers(self, blocks: dict[Any, int], seed: int, stream: int) -> None:
        params = [member.param for member in self.members.all]
        self._blocks = torch.tensor([blocks[param] for param in params], dtype=torch.int64, device=self.device)
        addresses = self.members.new_addresses(self.graph, _storage.FIRST_BLOCK, 0)
        addresses.values[:] = self._blocks.data_ptr() + 8 * numpy.arange(len(params))
        addresses.bind()
        self.graph.set_scalar(_storage.SEED + self.ending, seed, stream)
