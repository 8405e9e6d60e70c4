"""The version counters of tensors of torch, by which autograd notices changes in place.

heddle writes the memory of tensors, which torch does not see. So heddle counts its writes as torch's operations do.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import sys

from . import _fast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def mark_changed(tensors: Sequence[Any]) -> None:
    """Counts a change in place for autograd, which otherwise would not notice that a tensor it has saved has changed.

    Args:
        tensors: a list or tuple of tensors and None.
    """
    if tensors:
        torch = sys.modules["torch"]
        _count(_fast.count_changes(tensors, _fast.exchange_api(torch.Tensor)))


def mark_gradients_changed(params: Sequence[Any]) -> None:
    """As `mark_changed`, for the gradients of parameters.

    Args:
        params: a list or tuple of tensors.
    """
    if params:
        torch = sys.modules["torch"]
        _count(_fast.count_gradient_changes(params, _fast.exchange_api(torch.Tensor)))


def _count(left: list[Any]) -> None:
    """Counts a change of the tensors whose counters were not found in memory, by torch's function."""
    if not left:
        return
    torch = sys.modules["torch"]
    try:
        torch.autograd.graph.increment_version(left)
    except (AttributeError, TypeError):  # an older PyTorch takes one tensor
        for tensor in left:
            torch._C._increment_version(tensor)


def mark_array_changed(array: Any) -> None:
    """As `mark_changed`, for an array of any library: only PyTorch counts changes."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        mark_changed((array,))
