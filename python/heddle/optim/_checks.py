"""Checks of the tensors of a step: parameters, gradients and state.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._values import short
from ..errors import BadInput
from ._overlap import elements_overlap
from ._torch import NAMES, lacks_memory, local, real_dtype, torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._members import Member

#: Of a tensor with elements that are in no memory.
_NO_MEMORY = (
    "expected elements in memory, found some or all without, as after untyped_storage().resize_(), in torch.func or in "
    "a fake mode"
)


def check_memory(name: str, tensor: Any, *, written: bool = False) -> None:
    """Refuses a tensor with elements that are in no memory. Zeros without memory can be read, but not written."""
    if tensor.is_nested:
        raise BadInput(f"{name}: expected a dense tensor, found a nested one of layout {tensor.layout}")
    if tensor.layout is not torch.strided:
        raise BadInput(f"{name}: expected a dense tensor, found layout {tensor.layout}; make one of to_dense()")
    if lacks_memory(tensor) or (written and tensor._is_zerotensor()):
        raise BadInput(f"{name}: {_NO_MEMORY}")


def check_param(member: Member, shard: Any, recorded: tuple[Any, ...]) -> None:
    """Refuses a parameter whose shape, element type or device is not the one that was recorded."""
    names = ("shape", "dtype", "device")
    for name, found, expected in zip(names, (tuple(shard.shape), shard.dtype, shard.device), recorded):
        if found != expected:
            raise BadInput(
                f"{member.named()}: expected {name} {expected} as in earlier steps, found "
                f"{found}; create the optimizer after such a change, or load its state again"
            )
    check_memory(member.named(), shard, written=True)


def check_gradient(optimizer: str, member: Member, shard: Any, grad: Any) -> None:
    """Refuses a gradient that no copy would make fit its parameter."""
    if grad.layout is not torch.strided:
        raise RuntimeError(
            f"{member.prefix}heddle.optim.{optimizer} does not support sparse gradients: parameter {member.name} has a "
            f"gradient of layout {grad.layout}; use dense gradients, as in torch.nn.Embedding(sparse=False)"
        )
    if grad.shape != shard.shape or grad.device != shard.device:
        raise BadInput(
            f"{member.named('gradient of ')}: expected shape {tuple(shard.shape)} on {shard.device}, "
            f"found {tuple(grad.shape)} on {grad.device}"
        )
    if grad.dtype != shard.dtype and not _holds(shard.dtype, grad.dtype):
        raise BadInput(
            f"{member.named('gradient of ')}: expected dtype {shard.dtype}, found {grad.dtype}; convert it with "
            ".to(), which may round"
        )
    check_memory(member.named("gradient of "), grad)


def _holds(dtype: Any, other: Any) -> bool:
    """Whether an element type has all numbers of another one."""
    if real_dtype(other) not in NAMES or (other.is_complex and not dtype.is_complex):
        return False
    own, found = (torch.finfo(real_dtype(each)) for each in (dtype, other))
    return bool(found.eps >= own.eps and found.max <= own.max and found.smallest_normal >= own.smallest_normal)


def kind_error(what: str, expected: Any, found: Any) -> BadInput:
    """The error of state as large as its parameter in another kind of numbers."""
    return BadInput(f"{what}: expected dtype {expected}, or another width of it, found {found}; convert it with .to()")


def check_large(what: str, found: Any, dtype: Any) -> None:
    """Refuses state as large as its parameter in another kind of numbers, or whose elements share memory.

    State of another width of floating point is converted, as loaded state is.
    """
    is_other = real_dtype(found.dtype) not in NAMES or found.is_complex() != dtype.is_complex
    if found.dtype != dtype and (is_other or not (dtype.is_floating_point or dtype.is_complex)):
        raise kind_error(what, dtype, found.dtype)
    check_own_memory(what, found, "assign a clone()")


def check_own_memory(what: str, found: Any, remedy: str) -> None:
    """Refuses state whose elements share memory."""
    if elements_overlap(found):
        raise BadInput(
            f"{what}: expected elements with memory of their own, because a step writes them, found shape "
            f"{tuple(found.shape)} with strides {found.stride()}, as from expand(); {remedy}"
        )


def check_single(what: str, found: Any) -> None:
    """Refuses a value that is no real number."""
    if found.is_complex() or found.dtype == torch.bool:
        raise BadInput(f"{what}: expected a real number, found dtype {found.dtype}")


def check_state(what: str, found: Any) -> None:
    """Refuses state that is no dense tensor in memory."""
    if found.layout is not torch.strided or found.device.type == "meta":
        raise BadInput(f"{what}: expected a dense tensor, found layout {found.layout} on {found.device}")
    if found.is_quantized or found.is_nested:
        raise BadInput(f"{what}: expected a dense tensor, found a {'quantized' if found.is_quantized else 'nested'} one")
    check_memory(what, found)


def check_scaling(name: str, value: Any) -> None:
    """Refuses an attribute of `torch.amp.GradScaler` that is neither None nor a tensor of one real number in memory."""
    if value is None:
        return
    if not isinstance(value, torch.Tensor):
        raise BadInput(f"{name}: expected a tensor of one element or None, found {short(value)}")
    check_state(name, local(value))
    if value.numel() != 1:
        raise BadInput(f"{name}: expected a tensor of one element or None, found shape {tuple(value.shape)}")
    if value.is_complex():
        raise BadInput(f"{name}: expected a real number, found dtype {value.dtype}")
