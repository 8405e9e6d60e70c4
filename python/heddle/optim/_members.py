"""The parameters of a part, in the order of its program, and the lists whose members belong to them.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from typing import NamedTuple

import numpy

from ..errors import BadInput
from . import _storage
from ._spec import Family, suffixes
from ._torch import NAMES, local, real_dtype, real_numel, torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..graph import Graph
    from ._tracking import States


class Member(NamedTuple):
    """A parameter of a part."""

    param: Any
    #: The place of its group among the groups of the optimizer, or of the chain.
    group: int
    #: Its name among the parameters of its optimizer.
    name: str
    #: What messages about its optimizer start with.
    prefix: str = ""

    def named(self, what: str = "") -> str:
        """The parameter in messages, or `what` belongs to it, such as "gradient of "."""
        return f"{self.prefix}{what}parameter {self.name}"


class Addresses:
    """The addresses of the members of a list, over all families that have it."""

    def __init__(self, graph: Graph, name: str, endings: Sequence[str], counts: Sequence[int], shapes: Any) -> None:
        self.values = numpy.zeros(sum(counts), numpy.int64)
        self._bindings = []
        start = 0
        for ending, count in zip(endings, counts):
            # A family may lack a list, such as the lower halves of its parameters.
            if name + ending in graph.executable.arguments:
                binding = graph.list_binding(name + ending, shapes[start : start + count])
                view = numpy.ctypeslib.as_array(binding.addresses).view(numpy.int64)
                self._bindings.append((binding, view, slice(start, start + count)))
            start += count

    def bind(self) -> None:
        for binding, view, members in self._bindings:
            view[:] = self.values[members]
            binding.bind()


class Members:
    """The parameters of a part, or of one of its shares, on one device.

    Args:
        all: the parameters, those of each family together.
        families: the element types of each family.
        endings: what the names of the lists of each family end in.
        counts: the number of parameters of each family.

    Attributes:
        device: their device.
        family_of: the family of each parameter.
        ending_of: what the names of the lists of the family of each parameter end in.
    """

    def __init__(
        self, all: Sequence[Member], families: Sequence[Family], endings: Sequence[str], counts: Sequence[int]
    ) -> None:
        self.device = local(all[0].param).device
        self.all, self.families, self.endings = list(all), tuple(families), list(endings)
        self._counts = list(counts)
        self.family_of = [family for family, count in zip(self.families, self._counts) for _ in range(count)]
        self.ending_of = [ending for ending, count in zip(self.endings, self._counts) for _ in range(count)]

    @staticmethod
    def sorted(
        members: Sequence[Member], states: States, state_dtype: str | None = None, ending: str = ""
    ) -> Members:
        """Parameters sorted by element type. Otherwise they keep their order.

        Args:
            members: the parameters, on one device.
            states: the state of all parameters.
            state_dtype: the element type of the state; None: that of each parameter.
            ending: what the names of all lists end in.
        """
        families = _families(members, states, state_dtype)
        order = list(families)
        types = [order.index(real_dtype(member.param.dtype)) for member in members]
        return Members(
            [member for _, member in sorted(zip(types, members), key=lambda each: each[0])],
            tuple(families.values()),
            [own + ending for own in suffixes(tuple(families.values()))],
            [types.count(place) for place in range(len(order))],
        )

    @staticmethod
    def joined(parts: Sequence[Members]) -> Members:
        """The parameters of all, in this order."""
        if len(parts) == 1:
            return parts[0]
        return Members(
            [member for part in parts for member in part.all],
            [family for part in parts for family in part.families],
            [ending for part in parts for ending in part.endings],
            [count for part in parts for count in part._counts],
        )

    def __len__(self) -> int:
        return len(self.all)

    def by_family(self) -> Iterator[tuple[str, list[Member]]]:
        """The ending of each family, and its parameters."""
        start = 0
        for ending, count in zip(self.endings, self._counts):
            yield ending, self.all[start : start + count]
            start += count

    def new_addresses(self, graph: Graph, name: str, rank: int = 1) -> Addresses:
        """The addresses of a list whose members belong to these."""
        shapes = [(real_numel(local(member.param)),) if rank else () for member in self.all]
        return Addresses(graph, name, self.endings, self._counts, shapes)

    def set_inactive(self, graph: Graph, name: str, active: Any) -> None:
        """Marks the members of a list that are not active."""
        start = 0
        for ending, count in zip(self.endings, self._counts):
            graph.set_inactive(name + ending, (~active[start : start + count]).tobytes())
            start += count


def _families(members: Sequence[Member], states: States, state_dtype: str | None) -> dict[Any, Family]:
    """The family of each element type of the parameters, in the order of their first use."""
    families: dict[Any, Family] = {}
    for member in members:
        dtype = real_dtype(member.param.dtype)
        if dtype not in NAMES:
            raise BadInput(
                f"{member.named()}: expected dtype float64, float32, float16, bfloat16 or complex, found "
                f"{member.param.dtype}"
            )
        if dtype not in families:
            state = state_dtype or NAMES[_state_dtype(dtype, members, states)]
            families[dtype] = Family(NAMES[dtype], NAMES[dtype], state)
        check_complex(member.param, member.named(), families[dtype].state)
    return families


def check_complex(param: Any, what: str, state: str) -> None:
    """Refuses state of another width than the parts of complex numbers: a real tensor, with one part for two."""
    own = NAMES.get(real_dtype(param.dtype))
    if param.is_complex() and state != own:
        raise BadInput(
            f"{what}: expected state of the type of its parts, {own}, because it is {param.dtype}, found "
            f"'state_dtype' or state of {state}; put complex parameters into an optimizer of their own, without "
            "'state_dtype'"
        )


def check_storage_of(group: dict[str, Any], place: int) -> None:
    """Refuses complex parameters in a group whose arguments of storage need real ones.

    Args:
        group: the group.
        place: its place among the groups of the optimizer.
    """
    options = _storage.options_of(group)
    for index, param in enumerate(group["params"]):
        if not param.is_complex():
            continue
        name = member_name(group, index, place)
        if options["state_dtype"] is not None:
            check_complex(param, f"parameter {name}", options["state_dtype"])
        if options["master"] is not None:
            raise BadInput(
                f"parameter {name}: expected a real parameter for master={options['master']!r}, found {param.dtype}; put "
                "complex parameters into a group without 'master'"
            )


def member_name(group: dict[str, Any], index: int, place: int) -> str:
    """The name of a parameter in messages."""
    names = group.get("param_names", ())
    return repr(names[index]) if index < len(names) else f"{index} of group {place}"


def _state_dtype(dtype: Any, members: Sequence[Member], states: States) -> Any:
    """The element type of the state of the parameters of one type: theirs, unless there is state of another type."""
    for member in members:
        if member.param.dtype == dtype and member.param.ndim and member.param in states:
            for key, value in dict.items(states.tracked(member.param)):
                if (
                    key not in _storage.TYPES
                    and isinstance(value, torch.Tensor)
                    and not value.is_nested
                    and value.shape == member.param.shape
                    and value.dtype in NAMES
                    and value.dtype != dtype
                ):
                    return value.dtype
    return dtype
