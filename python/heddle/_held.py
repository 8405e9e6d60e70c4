"""Memory of the caller that is used after the call that was given it: whether it is still there.

A reference to an array keeps its memory alive only as long as the array keeps it. ``untyped_storage().resize_()`` and
``tensor.data = other`` free the memory of a tensor of torch, and ``resize(..., refcheck=False)`` that of an array of
NumPy, whatever refers to them. Buffers need no check: an exported one cannot be resized.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import sys
import weakref

from . import _fast
from .errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any


def memory_of(array: Any) -> Any:
    """Facts about an array that change if its memory is freed or replaced; None if that cannot be.

    They are the address, the element type, the shape, the strides, and the extent of the memory that owns the elements.
    No element is read, and no device is waited for.
    """
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        size = array.untyped_storage().nbytes()
        return array.data_ptr(), array.dtype, tuple(array.shape), tuple(array.stride()), array.device, size
    if numpy is not None and isinstance(array, numpy.ndarray):
        owner = _owner(numpy, array)
        begin = owner.__array_interface__["data"][0]
        address = begin if owner is array else array.__array_interface__["data"][0]
        return address, array.dtype, array.shape, array.strides, begin, owner.nbytes
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(array, jax.Array):
        return bool(array.is_deleted())
    if hasattr(array, "__cuda_array_interface__"):
        interface = array.__cuda_array_interface__
        return interface["data"][0], interface["typestr"], tuple(interface["shape"]), interface.get("strides")
    return None


class Held:
    """Arrays that are read again later, as they are now. It keeps them alive.

    Args:
        arrays: objects of any kind, with the name of each for messages. Only arrays of libraries can lose their memory.
    """

    def __init__(self, arrays: Iterable[tuple[str, Any]]) -> None:
        known: dict[int, tuple[str, Any]] = {}
        for name, array in arrays:
            known.setdefault(id(array), (name, array))
        self._kept = [(name, array, memory_of(array), _writes(array)) for name, array in known.values()]

    def changed(self) -> str | None:
        """The name of an array that has other memory than before, or was written in place; None if there is none.

        Only PyTorch counts writes, except to tensors made in inference mode.
        """
        for name, array, memory, writes in self._kept:
            try:
                if memory_of(array) == memory and _writes(array) == writes:
                    continue
            except MemoryError:
                raise
            except Exception:  # the memory has gone, says the array's library
                pass
            return name
        return None


def _writes(array: Any) -> int:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor) or array.is_inference():
        return 0
    return int(array._version)


def _owner(numpy: Any, array: Any) -> Any:
    """The array whose memory an array of NumPy is a view of."""
    while isinstance(array.base, numpy.ndarray):
        array = array.base
    return array


def pin(array: Any) -> Any:
    """An object; while it lives, the memory of an array of NumPy is not freed. None for other arrays.

    NumPy does not resize an array to which there is a weak reference, even with ``refcheck=False``.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(array, numpy.ndarray):
        return None
    return weakref.ref(_owner(numpy, array))


class BoundTensors:
    """Tensors of torch that are bound under one name. A check of all takes some nanoseconds for each.

    Args:
        members: tensors.
        name_of: the name of a member, by its place in `members`, for messages.
    """

    def __init__(self, members: Sequence[Any], name_of: Callable[[int], str]) -> None:
        self._tensors, self._name_of = tuple(members), name_of
        self._api = _fast.exchange_api(sys.modules["torch"].Tensor)
        self._layouts = _fast.layouts(self._tensors, self._api)
        self._found = bytearray(8 * len(self._tensors))
        _fast.addresses(self._tensors, self._api, self._found, self._layouts)
        self._bound = bytes(self._found)

    def check(self) -> None:
        """Raises `BadInput` if a tensor has other memory than when it was bound. One thread at a time."""
        if not _fast.addresses(self._tensors, self._api, self._found, self._layouts):
            return
        found, self._found[:] = bytes(self._found), self._bound
        place = next(k for k in range(len(self._tensors)) if found[8 * k : 8 * k + 8] != self._bound[8 * k : 8 * k + 8])
        raise BadInput(
            f"{self._name_of(place)}: expected the memory that was bound, found a tensor with another address, layout "
            "or size of its storage, as after untyped_storage().resize_() or tensor.data = other: bind it again"
        )


def bound_tensors(arrays: Sequence[Any], name_of: Callable[[int], str]) -> BoundTensors | None:
    """The tensors of torch among bound arrays; None if there are none.

    Args:
        arrays: the arrays.
        name_of: the name of an array, by its place in `arrays`, for messages.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    places = [place for place, array in enumerate(arrays) if isinstance(array, torch.Tensor)]
    if not places:
        return None
    return BoundTensors([arrays[place] for place in places], lambda index: name_of(places[index]))
