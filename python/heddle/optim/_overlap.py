"""Tensors of a step that share memory.

The core refuses memory that a step writes and that another member uses as well. Its errors name arguments of the
program; here they get the names of the parameters. A gradient may be in such memory, as in ``p.grad = p.detach()``: the
step then reads a copy of it.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
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


def _bytes_of(tensor: Any) -> tuple[int, int]:
    """The first byte of a tensor, and the byte behind its last one."""
    begin = tensor.data_ptr()
    reach = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride()))
    return begin, begin + (reach + 1) * tensor.element_size()


def overlapping_pair(tensors: Sequence[Any]) -> tuple[int, int] | None:
    """The places of two tensors that share elements; None if no two do. Their elements may alternate in memory."""
    ranges = sorted((*_bytes_of(tensor), place) for place, tensor in enumerate(tensors) if tensor.numel())
    cluster: list[tuple[int, int, int]] = []
    end = 0
    for each in [*ranges, (1 << 64, 1 << 64, -1)]:
        if each[0] >= end:
            found = _shared_in(cluster, tensors) if len(cluster) > 1 else None
            if found:
                return found
            cluster = []
        cluster.append(each)
        end = max(end, each[1])
    return None


def _shared_in(cluster: Sequence[tuple[int, int, int]], tensors: Sequence[Any]) -> tuple[int, int] | None:
    """Marks the elements of tensors whose ranges overlap, in units that divide all elements and distances."""
    first = cluster[0][0]
    sizes = [tensors[place].element_size() for _, _, place in cluster]
    unit = math.gcd(*sizes, *(begin - first for begin, _, _ in cluster))
    marks = numpy.zeros((max(end for _, end, _ in cluster) - first) // unit, bool)
    owners: list[tuple[int, Any]] = []
    for begin, _, place in cluster:
        tensor = tensors[place]
        size = tensor.element_size() // unit
        own = numpy.lib.stride_tricks.as_strided(
            marks[(begin - first) // unit :], (*tensor.shape, size), (*(size * stride for stride in tensor.stride()), 1)
        )
        if own.any():
            for other, marked in owners:
                marks[:] = False
                marked[...] = True
                if own.any():
                    return other, place
        own[...] = True
        owners.append((place, own))
    return None


_MEMBER = re.compile(r"(?:argument|result) '(\w+)', member (\d+)")


def with_names(message: str, names: Mapping[str, list[str]]) -> str:
    """A message of the core, with names of tensors instead of members of lists: {list: [name, ...]}."""

    def name(found: re.Match[str]) -> str:
        members, place = names.get(found[1], []), int(found[2])
        return members[place] if place < len(members) else found[0]

    return _MEMBER.sub(name, message)
