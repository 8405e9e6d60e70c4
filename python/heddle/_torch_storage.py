"""The storage of tensors of torch: the memory in which their elements lie.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def exceeds_storage(tensor: Any) -> bool:
    """Whether elements of a tensor are beyond the end of its storage, as after ``untyped_storage().resize_(4)``.

    The address of such a tensor is null only if its storage has no bytes and its offset is 0.

    Raises:
        RuntimeError: the tensor has no storage, as tensors of `torch.func` and sparse ones.
    """
    count = tensor.numel()
    if not count:
        return False
    reach = 0
    if count > 1:  # a hyperparameter of one element is read in every step
        reach = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride()))
    end = (tensor.storage_offset() + reach + 1) * tensor.element_size()
    return bool(tensor.untyped_storage().nbytes() < end)


def lacks_memory(tensor: Any) -> bool:
    """Whether elements of a tensor are in no memory of this process.

    So it is after ``untyped_storage().resize_(0)``, and with the tensors of `torch.func` and of fake modes. PyTorch reads
    such a tensor at address 0, and the process ends.
    """
    try:
        if not tensor.numel() or tensor._is_zerotensor():
            return False
        return exceeds_storage(tensor) or bool(tensor.untyped_storage().device != tensor.device)
    except (RuntimeError, AttributeError, TypeError):  # no storage, or sizes that are no numbers, as of nested tensors
        return True


def is_freed(tensor: Any) -> bool:
    """Whether elements of a tensor are beyond the end of its storage; False for a tensor that has no storage."""
    try:
        return not tensor._is_zerotensor() and exceeds_storage(tensor)
    except (RuntimeError, AttributeError, TypeError):
        return False
