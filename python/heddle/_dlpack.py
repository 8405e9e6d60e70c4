"""Reads the capsules of DLPack.

The structs are those of dlpack.h. A capsule frees its tensor when Python frees the capsule, so whoever reads one keeps
it while the memory is in use.

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


def read_capsule(capsule: Any) -> tuple[int, str, tuple[int, ...], tuple[int, ...] | None, bool]:
    """The address, element type, shape, strides (None: dense) and read-only flag of a tensor in a capsule.

    Raises:
        BadInput: the object is no unused capsule, or the element type is not supported.
    """
    readonly = False
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_get_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise BadInput(f"expected DLPack of version 1, found version {versioned.major}.{versioned.minor}")
        readonly = bool(versioned.flags & _NOT_WRITABLE)
        tensor = versioned.tensor
    elif _is_valid(capsule, b"dltensor"):
        tensor = _Tensor.from_address(_get_pointer(capsule, b"dltensor"))
    else:
        raise BadInput("expected an unused capsule of DLPack, found another object")
    name = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if name is None:
        code = _CODES.get(tensor.code, f"type {tensor.code} of ")
        raise BadInput(
            f"dtype: expected one of {', '.join(_DTYPES.values())}, found {code}{tensor.bits}"
            + (f" in vectors of {tensor.lanes}" if tensor.lanes != 1 else "")
        )
    shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.ndim and tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset if tensor.data else 0
    return address, name, shape, strides, readonly
