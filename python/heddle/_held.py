"""Memory of the caller that is used after the call that was given it: whether it is still there.

A reference to an array keeps its memory alive only as long as the array keeps it. ``untyped_storage().resize_()`` and
``tensor.data = other`` free the memory of a tensor of torch, and ``resize(..., refcheck=False)`` that of an array of
NumPy, whatever refers to them. Buffers need no check: an exported one cannot be resized.

`Held` is the record of such arrays, for graphs (what is bound) and for results of heddle.ot (what they read later).

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import operator
import sys
import weakref

from . import _fast
from ._numpy_storage import is_array, is_freed, owner_of
from ._refusals import REFUSALS
from .errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .arrays import ArrayView


class Held:
    """Arrays that are used again later, as they are now. It keeps them alive.

    A check of tensors of torch takes some nanoseconds for each. Other arrays cost a microsecond each, unless `bound`.

    Args:
        arrays: objects of any kind. Only arrays of libraries can lose their memory.
        name_of: the name of an array, by its place in `arrays`, for messages.
        bound: whether steps of a graph use the arrays. Then a write is no change, and arrays of NumPy cannot be resized
            as long as this lives, so that they need no check. Only tensors of torch are checked.
        views: what is used of the arrays, where it has been read before. Functions of other arrays, such as
            ``__dlpack__``, may have replaced the memory since.

    Raises:
        BadInput: an array has no memory, or other memory than its view.
    """

    def __init__(
        self,
        arrays: Sequence[Any],
        name_of: Callable[[int], str],
        *,
        bound: bool = False,
        views: Sequence[ArrayView | None] = (),
    ) -> None:
        torch = sys.modules.get("torch")
        self._name_of = name_of
        tensors, self._places, self._others, self._kept = [], [], [], []
        for place, array in enumerate(arrays):
            if torch is not None and isinstance(array, torch.Tensor):
                tensors.append(array)
                self._places.append(place)
            elif bound:
                self._kept.append((array, _pin(array)))
            else:
                memory = _memory_of(array)
                self._kept.append(array) if memory is None else self._others.append((place, array, memory))
        self._tensors = tuple(tensors)
        if tensors:
            self._api = _fast.exchange_api(torch.Tensor)  # type: ignore[union-attr]  # there are tensors
            self._layouts = self._read_layouts()
            self._addresses = bytearray(8 * len(tensors))
            _fast.addresses(self._tensors, self._api, self._addresses, self._layouts)
        for place, (array, seen) in enumerate(zip(arrays, views)):
            if seen is not None and seen.size and not _has_memory_of(array, seen):
                raise replaced(name_of(place))
        self._writes = None if bound else _writes(self._tensors)

    def _read_layouts(self) -> bytes:
        try:
            return _fast.layouts(self._tensors, self._api)
        except REFUSALS:  # a tensor without memory
            for place, tensor in zip(self._places, self._tensors):
                try:
                    _fast.layouts((tensor,), self._api)
                except REFUSALS as error:
                    raise replaced(self._name_of(place)) from error
            raise

    @property
    def tensors(self) -> tuple[Any, ...]:
        """Those of the arrays that are tensors of torch."""
        return self._tensors

    @property
    def can_change(self) -> bool:
        """Whether `changed` has something to check."""
        return bool(self._tensors or self._others)

    def changed(self) -> str | None:
        """The name of an array that has other memory than before, or was written in place; None if there is none.

        No element is read, and no device is waited for. Only PyTorch counts writes, except to tensors made in inference
        mode. A change of the layout, or of the size of the memory, is one of the memory.
        """
        if self._tensors:
            found = bytearray(self._addresses)  # not kept, so that calls of several threads need no lock
            if _fast.addresses(self._tensors, self._api, found, self._layouts):
                starts = range(0, len(found), 8)
                return self._name_of_first(found[each : each + 8] != self._addresses[each : each + 8] for each in starts)
            if self._writes is not None and self._writes != (writes := _writes(self._tensors)):
                return self._name_of_first(map(operator.ne, writes, self._writes))
        for place, array, memory in self._others:
            if _memory_of(array) != memory:
                return self._name_of(place)
        return None

    def _name_of_first(self, changes: Iterable[bool]) -> str:
        """The name of the first tensor that has changed."""
        return self._name_of(next(place for place, changed in zip(self._places, changes) if changed))


def replaced(name: str) -> BadInput:
    """The error of an array that a function of another one has changed."""
    return BadInput(
        f"{name}: expected an array that stays as it is while others are read, found that its memory was resized, replaced "
        "or written by a function of another argument, such as its __dlpack__ or __index__"
    )


def _has_memory_of(array: Any, seen: ArrayView) -> bool:
    """Whether an array of NumPy or a tensor of torch has the memory of its view. Others cannot be asked for theirs."""
    if is_array(array):
        return not is_freed(array) and bool(array.__array_interface__["data"][0] == seen.address)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor):
        return True
    return bool(array.data_ptr() == seen.address) and tuple(array.shape) == seen.shape


def _writes(tensors: Sequence[Any]) -> list[int]:
    """How often each tensor was written."""
    return [0 if tensor.is_inference() else tensor._version for tensor in tensors]


def _pin(array: Any) -> Any:
    """An object; while it lives, the memory of an array of NumPy is not freed. None for other arrays.

    NumPy does not resize an array to which there is a weak reference, even with ``refcheck=False``.
    """
    return weakref.ref(owner_of(array)) if is_array(array) else None


def _memory_of(array: Any) -> Any:
    """Facts about an array of another library than PyTorch that change if its memory is freed or replaced.

    None if that cannot be. They are the address, the element type, the shape, the strides, and the extent of the memory
    that owns the elements.
    """
    jax = sys.modules.get("jax")
    if is_array(array):
        owner = owner_of(array)
        begin = owner.__array_interface__["data"][0]
        address = begin if owner is array else array.__array_interface__["data"][0]
        return address, array.dtype, array.shape, array.strides, begin, owner.nbytes
    if jax is not None and isinstance(array, jax.Array):
        return bool(array.is_deleted())
    try:
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is not None:
            return interface["data"][0], interface["typestr"], tuple(interface["shape"]), interface.get("strides")
    except REFUSALS:  # the memory has gone, says the array's library
        return False
    return None
