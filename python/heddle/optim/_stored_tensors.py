"""Tensors of 16 bits in which an optimizer stores parameters, and the places of their random numbers.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from . import _storage
from ._torch import is_distributed, local, real_numel, torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

#: A block has random numbers for this many elements.
_BLOCK = 8


def first_blocks(groups: Sequence[Mapping[str, Any]]) -> dict[Any, int]:
    """The first block of the random numbers of each parameter.

    All elements of all parameters, in the order of the groups, have a number; blocks are of 8 of them. So the random
    numbers of an element do not depend on how parameters are divided into launches, devices and processes, if shards
    start at multiples of 8 elements.
    """
    blocks: dict[Any, int] = {}
    count = 0
    for group in groups:
        for param in group["params"]:
            if param in blocks:
                continue
            blocks[param] = count + _offset(param) // _BLOCK
            count += -(-real_numel(param) // _BLOCK)
    return blocks


def _offset(param: Any) -> int:
    """The number of elements before the local shard of a DTensor that is sharded along its first dimension."""
    if not is_distributed(param):
        return 0
    from torch.distributed.tensor._utils import (  # type: ignore[import-not-found, unused-ignore]
        compute_local_shape_and_global_offset,
    )

    _, offset = compute_local_shape_and_global_offset(param.shape, param.device_mesh, param.placements)
    first = int(offset[0]) if len(offset) else 0
    row = real_numel(local(param)) // max(1, local(param).shape[0]) if local(param).ndim else 0
    return first * row


def list_dtype(key: str, state: Any) -> Any:
    """PyTorch's element type of a list that is as large as the parameter."""
    if key == _storage.LOW:
        return torch.int16
    return torch.float32 if key == _storage.MASTER else state


def joined(param: Any, low: Any) -> Any:
    """The float32 numbers whose upper halves are `param` and whose lower halves are `low`."""
    high = param.detach().to(torch.float32).view(torch.int32)
    low = low.to(torch.int32)
    # No float has an upper half of 0 and a negative lower half: somebody has set the parameter to 0 since.
    low = torch.where(high << 1 == 0, low.clamp(min=0), low)
    return (high + low).view(torch.float32)


def split(master: Any) -> tuple[Any, Any]:
    """The upper halves of float32 numbers, in bfloat16, and the lower halves, as the program makes them."""
    bits = master.view(torch.int32)
    is_nan = torch.isnan(master)
    high = ((bits + 0x8000) >> 16 << 16).view(torch.float32)
    low = torch.where(is_nan, torch.zeros_like(bits), bits).to(torch.int16)
    return torch.where(is_nan, master, high).to(torch.bfloat16), low
