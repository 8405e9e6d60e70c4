"""Numbers among arguments: Python's, NumPy's, and those of every type that converts itself.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def whole(value: Any) -> int | None:
    """The value of an integer of any library; None for a bool, a float and other objects."""
    if isinstance(value, bool) or getattr(value, "shape", ()) != ():
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def real(value: Any) -> float | None:
    """The value of a number of any library, or of a tensor without axes; None for a bool, text and other objects."""
    if isinstance(value, (bool, str, bytes, bytearray)) or getattr(value, "shape", ()) != ():
        return None
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
