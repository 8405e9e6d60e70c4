"""Numbers that are read without waiting for a device. Needs no PyTorch.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._values import real

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def is_on_device(value: Any) -> bool:
    """Whether a value is a tensor that is not on the CPU."""
    return hasattr(value, "numel") and value.device.type != "cpu"


def known(value: Any) -> float | None:
    """A number, also that of a tensor on the CPU; None for other tensors, which are not read, and other objects."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or (type(value) is int and value.bit_length() < 64):
        return float(value)
    if value is None or is_on_device(value):
        return None
    return real(value.detach() if hasattr(value, "detach") else value)


def holds(value: Any, condition: Callable[[float], bool]) -> bool:
    """Whether a condition holds for a number, or the number is not known."""
    number = known(value)
    return number is None or condition(number)
