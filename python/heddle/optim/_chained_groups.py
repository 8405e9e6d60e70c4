"""The parameter groups of several optimizers as one list.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import weakref

from ..errors import BadInput
from ._naming import place_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, SupportsIndex

    from ._chained import ChainedOptimizer


def refusal(chained: ChainedOptimizer | None, what: str) -> BadInput:
    """The error of a change that does not say which optimizer it is for."""
    found, call = "a chain that is gone", "an optimizer"
    if chained is not None:
        found = "a chain with " + ", ".join(place_name(chained, place) for place in range(len(chained.optimizers)))
        call = "one of these"
    return BadInput(
        f"{what}: expected one optimizer that the group is for, found {found}; call add_param_group of {call}"
    )


class ChainedGroups(list):  # type: ignore[type-arg]
    """The groups of all optimizers of a chain: the dictionaries themselves, in a list that does not change.

    PyTorch wants a list. A change of this one would reach no optimizer. Copies are plain lists.
    """

    __slots__ = ("_chained",)

    def __init__(self, chained: ChainedOptimizer) -> None:
        self._chained = weakref.ref(chained)  # whose parts keep such a list
        super().__init__(group for each in chained.optimizers for group in each.param_groups)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return list, (list(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        import copy

        return copy.deepcopy(list(self), memo)


def _refusing(name: str) -> Any:
    method = getattr(list, name)

    def refused(self: ChainedGroups, *_: Any, **__: Any) -> NoReturn:
        raise refusal(self._chained(), f"param_groups.{name}")

    refused.__name__, refused.__doc__ = name, method.__doc__
    return refused


for _name in (
    "__delitem__", "__iadd__", "__imul__", "__setitem__",
    "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort",
):
    setattr(ChainedGroups, _name, _refusing(_name))
