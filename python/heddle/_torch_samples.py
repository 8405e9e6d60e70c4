"""Tensors of torch with which the extension checks how it uses their memory (torch_words.h, torch_versions.h).

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import importlib

from . import _fast_fallback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def samples() -> list[tuple[Any, int, bytes, int]]:
    """Tuples of a tensor, the address of its storage, a layout, and the address that has to be read with this layout.

    The address is 0 for a tensor that must not be read from its memory. The first tensor has a gradient.
    """
    torch: Any = importlib.import_module("torch")
    with torch.inference_mode(False), torch.no_grad():
        return _samples(torch)


def _samples(torch: Any) -> list[tuple[Any, int, bytes, int]]:
    found = []

    def add(tensor: Any, expected: Any = None) -> None:
        """A tensor that can be read, or, with `expected`, one that does not have the layout of that tensor."""
        storage = 0 if tensor.layout is not torch.strided else tensor.untyped_storage()._cdata
        layout = _fast_fallback.layouts([tensor if expected is None else expected], 0)
        found.append((tensor, storage, layout, tensor.data_ptr() if expected is None else 0))

    def zeros(*shape: int, dtype: Any = torch.float32, **options: Any) -> Any:
        return torch.zeros(shape, dtype=dtype, **{"device": "cpu", **options})

    plain, number = zeros(2, 3), zeros(2, dtype=torch.complex64)
    param, other = torch.nn.Parameter(zeros(2, 3)), torch.nn.Parameter(zeros(4))
    param.grad, other.grad = zeros(2, 3), zeros(4)
    # Shapes, strides, offsets, element types and gradients.
    for tensor in (param, other, torch.nn.Parameter(zeros(5)), plain, plain.detach(), zeros(3, 2).T, zeros(), zeros(7)):
        add(tensor)
    for tensor in (zeros(9)[3:], zeros(4, 6)[1:, 2:4], zeros(3).unbind()[2], zeros(2, 3, 4), zeros(2, 3, 4, 5, 6)):
        add(tensor)
    add(zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last))
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128):
        add(zeros(3, 4, dtype=dtype)[1:])
    # Other layouts.
    for tensor in (zeros(3, 2), zeros(3, 2).T, zeros(6), zeros(2, 3, 1), zeros(2, 3, dtype=torch.int32), zeros(0, 3)):
        add(tensor, plain)
    add(zeros(2, 3, dtype=torch.float64), plain)
    add(zeros(2, 3, device="meta"), plain)
    add(zeros(2, 3).to_sparse(), plain)
    # Elements are beyond the end of the storage.
    for size in (20, 4, 0):
        small = zeros(2, 3)
        small.untyped_storage().resize_(size)
        add(small, plain)
    late = zeros(9)[3:]
    late.untyped_storage().resize_(35)
    add(late, zeros(6))
    # The elements are not those in memory, or are so for reading only.
    add(plain._neg_view(), plain)
    add(number.conj(), number)
    shared = zeros(2, 3)
    for tensor in (torch._lazy_clone(shared), shared):
        add(tensor, plain)
    # These are read in another way.
    for tensor in (zeros(1, 2, 1, 2, 1, 2), zeros(0, 3)):
        add(tensor, tensor)
    return found


def versions() -> list[tuple[Any, int]]:
    """Tuples of a tensor and the number of its version counter: tensors with the same number share one, 0 is none."""
    torch: Any = importlib.import_module("torch")
    found = []
    with torch.inference_mode(False), torch.no_grad():
        for number in (1, 2, 3):
            tensor = torch.zeros(2, 3, device="cpu")
            param = torch.nn.Parameter(tensor.clone())
            for _ in range(number):
                tensor.add_(1)
                param.mul_(2)
            # A view and a detached tensor share the counter of their base; `data` has its own.
            found += [(tensor, 3 * number), (tensor[1:], 3 * number), (tensor.detach(), 3 * number)]
            found += [(tensor.data, 3 * number + 1), (param, 3 * number + 2), (param.detach(), 3 * number + 2)]
    with torch.inference_mode():
        found.append((torch.zeros(2, 3, device="cpu"), 0))
    return found
