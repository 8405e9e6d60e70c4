"""What a step compares a parameter group with: the entries that the last step has read.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from typing import NamedTuple

import numpy

from .. import _fast
from .._refusals import REFUSALS
from ._torch import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: Types of values that may change in place.
_CHANGING = (list, torch.Tensor, numpy.ndarray)


class Seen(NamedTuple):
    """A parameter group as of the last step."""

    params: Any
    copy: tuple[Any, ...]
    #: The entries that heddle reads.
    values: tuple[Any, ...]
    #: Whether an entry may change in place, such as a list: it is never the same as that of the last step.
    may_change: bool

    def are_same(self, values: tuple[Any, ...]) -> bool:
        """Whether the values of the group have not changed."""
        if not self.may_change and _fast.same(values, self.values):
            return True
        return _same_values(values, self.values)


def see(group: Mapping[str, Any], params: tuple[Any, ...], values: tuple[Any, ...]) -> Seen:
    return Seen(group["params"], params, values, any(isinstance(value, _CHANGING) for value in values))


def _same_values(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    for new, old in zip(left, right):
        if isinstance(new, _CHANGING) or (new is not old and (isinstance(old, _CHANGING) or _differ(new, old))):
            return False
    return True


def _differ(new: Any, old: Any) -> bool:
    try:
        return bool(new != old)
    except REFUSALS:  # the value is read, and its error names it
        return True
