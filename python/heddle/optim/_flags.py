"""Options that are true or false.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._refusals import REFUSALS
from .._values import is_boolean, is_freed, short, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def flag(value: Any, name: str) -> bool:
    """An option that is True or False, of Python or of any library, or 0 or 1."""
    if type(value) is bool:
        return value
    try:
        if (is_boolean(value) and not is_freed(value)) or whole(value) in (0, 1):
            return bool(value)
        cause = None
    except REFUSALS as error:  # such as a tensor of a transform of torch.func
        cause = error
    raise TypeError(f"{name}: expected True or False, found {short(value)}") from cause


def truth(value: Any, name: str) -> bool:
    """An entry that is kept for torch's optimizer, of any type that is true or false."""
    if type(value) is bool:
        return value
    try:
        return bool(value)
    except REFUSALS as error:  # such as an array of several elements
        raise TypeError(f"{name}: expected True or False, found {short(value)}") from error
