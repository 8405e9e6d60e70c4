"""Reads the capsules of DLPack.

The structs are those of dlpack.h. Whoever takes a tensor from a capsule renames the capsule, so that nobody else takes
it, and calls the deleter of the tensor when its memory is no longer in use.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ctypes

from .errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


class _Unversioned(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


#: DLPACK_FLAG_BITMASK_READ_ONLY and DLPACK_FLAG_BITMASK_IS_COPIED: nobody would see what is written to a copy.
_NOT_WRITABLE = 1 | 2

#: heddle's names by (DLDataTypeCode, bits).
_DTYPES = {
    (2, 64): "f64",
    (2, 32): "f32",
    (2, 16): "f16",
    (4, 16): "bf16",
    (6, 8): "i1",
    (0, 8): "i8",
    (0, 16): "i16",
    (0, 32): "i32",
    (0, 64): "i64",
}
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
#: The names of a capsule before and after its tensor is taken. A capsule does not copy its name.
_VERSIONED, _UNVERSIONED = b"dltensor_versioned", b"dltensor"
_TAKEN = {_VERSIONED: b"used_dltensor_versioned", _UNVERSIONED: b"used_dltensor"}

_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_MAX_RANK = 64


class _Taken:
    """A tensor that was taken from a capsule. It is deleted with this object."""

    def __init__(self, capsule: Any, name: bytes, deleter: int | None) -> None:
        self._address: int | None = None
        self._deleter = _Deleter(deleter) if deleter else None
        address = _get_pointer(capsule, name)
        # If an exception of a signal handler comes in between, the tensor is not deleted twice, but never.
        _set_name(capsule, _TAKEN[name])
        self._address = address

    def __del__(self) -> None:
        if self._address is not None and self._deleter is not None:
            self._deleter(self._address)


def read_capsule(capsule: Any) -> tuple[int, str, tuple[int, ...], tuple[int, ...] | None, bool, object]:
    """Takes a tensor from a capsule, if it can be read.

    Returns:
        The address, element type, shape, strides (None: dense) and read-only flag of the tensor, and an object that
        keeps it.

    Raises:
        BadInput: the object is no unused capsule, or the tensor is not supported. Then it stays in the capsule.
    """
    readonly = False
    managed: _Versioned | _Unversioned
    if _is_valid(capsule, _VERSIONED):
        label, managed = _VERSIONED, _Versioned.from_address(_get_pointer(capsule, _VERSIONED))
        if managed.major != 1:
            raise BadInput(f"expected DLPack of version 1, found version {managed.major}.{managed.minor}")
        readonly = bool(managed.flags & _NOT_WRITABLE)
    elif _is_valid(capsule, _UNVERSIONED):
        label, managed = _UNVERSIONED, _Unversioned.from_address(_get_pointer(capsule, _UNVERSIONED))
    else:
        raise BadInput("expected an unused capsule of DLPack, found another object")
    tensor = managed.tensor
    name = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if name is None:
        code = _CODES.get(tensor.code, f"type {tensor.code} of ")
        raise BadInput(
            f"dtype: expected one of {', '.join(_DTYPES.values())}, found {code}{tensor.bits}"
            + (f" in vectors of {tensor.lanes}" if tensor.lanes != 1 else "")
        )
    if not 0 <= tensor.ndim <= _MAX_RANK or (tensor.ndim and not tensor.shape):
        extents = "extents" if tensor.shape else "no extents"
        raise BadInput(f"expected a tensor of DLPack with 0 to {_MAX_RANK} extents, found rank {tensor.ndim} with {extents}")
    shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.ndim and tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset if tensor.data else 0
    return address, name, shape, strides, readonly, _Taken(capsule, label, managed.deleter)
