"""Tensors of a step that share memory.

The core refuses memory that a step writes and that another member uses as well. Its errors name arguments of the
program; here they get the names of the parameters. A gradient may be in such memory, as in ``p.grad = p.detach()``: the
step then reads a copy of it.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class Range(NamedTuple):
    """The memory of one member of a list."""

    begin: int
    end: int
    #: The member, if it is a gradient, which is only read; None if the step writes it.
    gradient: int | None


def aliased_gradients(ranges: Iterable[Range]) -> set[int]:
    """The gradients in memory that the step writes."""
    found: set[int] = set()
    written = 0
    open_gradients: list[Range] = []
    for each in sorted(ranges, key=lambda each: each.begin):
        if each.begin == each.end:
            continue
        open_gradients = [other for other in open_gradients if other.end > each.begin]
        if each.gradient is None:
            found.update(other.gradient for other in open_gradients if other.gradient is not None)
            written = max(written, each.end)
        else:
            if each.begin < written:
                found.add(each.gradient)
            open_gradients.append(each)
    return found


def elements_overlap(tensor: Any) -> bool:
    """Whether two elements of a tensor are in the same memory, as those of ``tensor.expand(...)``."""
    if tensor.numel() < 2:
        return False
    axes = sorted((stride, extent) for stride, extent in zip(tensor.stride(), tensor.shape) if extent > 1)
    reach = 0
    for stride, extent in axes:
        if stride <= reach:
            break
        reach += stride * (extent - 1)
    else:
        return False
    if axes[0][0] == 0:
        return True
    places = numpy.zeros(1, numpy.int64)
    for stride, extent in axes:
        places = (places[:, None] + stride * numpy.arange(extent)).reshape(-1)
    return bool(numpy.unique(places).size < places.size)


_MEMBER = re.compile(r"(?:argument|result) '(\w+)', member (\d+)")


def with_names(message: str, names: Mapping[str, list[str]]) -> str:
    """A message of the core, with names of tensors instead of members of lists: {list: [name, ...]}."""

    def name(found: re.Match[str]) -> str:
        members, place = names.get(found[1], []), int(found[2])
        return members[place] if place < len(members) else found[0]

    return _MEMBER.sub(name, message)
