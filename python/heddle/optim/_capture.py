"""A step inside of a CUDA graph that the caller captures.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from ._torch import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_making() -> bool:
    return False


def is_capturing() -> bool:
    """Whether the current stream of PyTorch is being captured."""
    return False


def prepared(optimizer: Any, is_scaled: bool) -> Any:
    raise NotImplementedError
