"""The functions of `_fast` in Python, for a checkout without a build and for Pythons without a stable ABI.

They read the attributes of torch's tensors. The contract is in `_fast`; test/python/test_fast.py compares both.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ctypes
import operator
import struct

from ._garbage import uncollected
from ._refusals import REFUSALS
from ._torch_storage import exceeds_storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# DLDataTypeCode and bits by the end of the name of an element type.
_DTYPES = {
    "bool": (6, 8),
    "int8": (0, 8),
    "int16": (0, 16),
    "int32": (0, 32),
    "int64": (0, 64),
    "uint8": (1, 8),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "uint64": (1, 64),
    "float16": (2, 16),
    "float32": (2, 32),
    "float64": (2, 64),
    "bfloat16": (4, 16),
    "complex32": (5, 32),
    "complex64": (5, 64),
    "complex128": (5, 128),
}

_NOTHING = struct.pack("<q", -1)  # the layout of None


def _address(tensor: Any) -> int:
    """The address of the first element.

    Raises:
        BufferError: the elements are not those in the memory of the tensor.
    """
    address = int(tensor.data_ptr())
    if tensor.numel() and (not address or (hasattr(tensor, "untyped_storage") and exceeds_storage(tensor))):
        raise BufferError("elements of the tensor have no memory")
    if hasattr(tensor, "is_conj") and (tensor.is_conj() or tensor.is_neg()):
        raise BufferError(
            "the tensor is a lazy conjugate or negation: call resolve_conj() or resolve_neg()"
        )
    return address


def _layout(tensor: Any) -> bytes:
    """Words of 64 bits: the device; element type and rank; the extents; the strides."""
    kind, ordinal = tensor.__dlpack_device__()
    name = str(tensor.dtype).rpartition(".")[2]
    if name not in _DTYPES:
        raise BufferError(f"dtype: expected one of {', '.join(_DTYPES)}, found {tensor.dtype}")
    code, bits = _DTYPES[name]
    _address(tensor)  # the error of a tensor without memory
    shape = tuple(tensor.shape)
    count = tensor.numel()
    strides = tuple(stride if extent > 1 and count else 0 for extent, stride in zip(shape, tensor.stride()))
    words = (int(kind) | ordinal << 32, code | bits << 8 | 1 << 16 | len(shape) << 32, *shape, *strides)
    return struct.pack(f"<{len(words)}q", *words)


def _checked(tensors: Any, name: str) -> Any:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}: expected a list or tuple, found {type(tensors).__name__}")
    return tensors


_READERS = ("attributes", "dlpack", "torch", "memory")


def exchange_api(tensor_type: type, fastest: str = "memory", /) -> int:
    if fastest not in _READERS:
        raise ValueError(f"fastest: expected 'attributes', 'dlpack', 'torch' or 'memory', found {fastest!r}")
    return 0


def reader(api: int, /) -> str:
    return _READERS[0]


def layouts(tensors: Any, api: int, /) -> bytes:
    return b"".join(_NOTHING if tensor is None else _layout(tensor) for tensor in _checked(tensors, "tensors"))


def _split(expected: Any, count: int) -> list[bytes]:
    """The layout of each tensor."""
    if not isinstance(expected, bytes):
        raise TypeError(f"expected: expected bytes or None, found {type(expected).__name__}")
    parts, place = [], 0
    for _ in range(count):
        if len(expected) < place + 8:
            break
        if expected[place : place + 8] == _NOTHING:
            size = 8
        elif len(expected) < place + 16:
            break
        else:
            size = 16 + 16 * (struct.unpack_from("<q", expected, place + 8)[0] >> 32)
        parts.append(expected[place : place + size])
        place += size
    if len(parts) < count or place != len(expected):
        raise ValueError(f"expected: expected the layouts of {count} tensors, found other layouts")
    return parts


def _expect_bytes(out: bytearray, count: int) -> None:
    if len(out) != 8 * count:
        raise ValueError(f"out: expected {8 * count} bytes, 8 for each tensor, found {len(out)}")


def _read(tensors: Iterable[Any], count: int, out: Any, expected: Any) -> int:
    if not isinstance(out, bytearray):
        raise TypeError(f"out: expected a bytearray, found {type(out).__name__}")
    _expect_bytes(out, count)
    known = None if expected is None else _split(expected, count)
    found = []
    for place, tensor in enumerate(tensors):
        if tensor is None:
            found.append(0)
        else:
            found.append(_address(tensor) if known is None else _fitting(tensor, known[place]))
    if len(found) != count:
        raise IndexError("tensors: the list changed while it was read")
    _expect_bytes(out, count)
    format = f"<{count}q"
    changed = sum(address != before for address, before in zip(found, struct.unpack(format, out)))
    out[:] = struct.pack(format, *found)
    misfits = found.count(-1)
    return -misfits if misfits else changed


def _fitting(tensor: Any, expected: bytes) -> int:
    try:
        return _address(tensor) if _layout(tensor) == expected else -1
    except REFUSALS:  # such as a sparse tensor
        return -1


def addresses(tensors: Any, api: int, out: bytearray, expected: bytes | None = None, /) -> int:
    return _read(_checked(tensors, "tensors"), len(tensors), out, expected)


def gradients(params: Any, api: int, out: bytearray, expected: bytes | None = None, /) -> int:
    _checked(params, "params")
    return _read((None if param is None else param.grad for param in params), len(params), out, expected)


def pairs(params: Any, api: int, out: Any, out_of_gradients: Any, expected: Any, /) -> tuple[int, int]:
    return addresses(params, api, out, expected), gradients(params, api, out_of_gradients, expected)


def count_changes(tensors: Any, api: int, /) -> Any:
    return [tensor for tensor in _checked(tensors, "tensors") if tensor is not None]


def count_gradient_changes(params: Any, api: int, /) -> Any:
    return count_changes([param if param is None else param.grad for param in _checked(params, "params")], api)


def same(left: Any, right: Any, /) -> bool:
    _checked(left, "left")
    return len(left) == len(_checked(right, "right")) and all(map(operator.is_, left, right))


def stream(api: int, device: int, /) -> int:
    raise ValueError("api: expected the result of exchange_api for a type that has a table, found 0")


_count = 0


def count_collection(phase: str, info: Any, /) -> None:
    global _count
    _count += 1


def collections() -> int:
    return _count


_REPLAY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def launch(function: int, graph: int, stream: int, expected: int, /) -> int | None:
    replay = _REPLAY(function)
    with uncollected():  # the call allocates, which may start a collection
        return replay(graph, stream) if expected == _count else None
