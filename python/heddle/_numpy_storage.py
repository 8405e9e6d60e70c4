"""The memory of arrays of NumPy, without importing NumPy.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_array(value: Any) -> bool:
    """Whether an object is an array of NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def owner_of(array: Any) -> Any:
    """The array whose memory an array is a view of."""
    while is_array(array.base):
        array = array.base
    return array


def is_freed(array: Any) -> bool:
    """Whether elements of a view lie outside of the array that owns them, as after ``resize(..., refcheck=False)``."""
    owner = owner_of(array)
    if owner is array or not owner.flags.owndata or not array.size:
        return False
    reaches = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides)]
    begin = array.__array_interface__["data"][0]
    first = begin + sum(min(reach, 0) for reach in reaches)
    last = begin + sum(max(reach, 0) for reach in reaches) + array.itemsize
    start = owner.__array_interface__["data"][0]
    return bool(first < start or last > start + owner.nbytes)
