"""Names of element types: heddle's (``f32``), and those of NumPy, PyTorch and other libraries.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib

from ._refusals import REFUSALS
from ._values import short, short_text
from .errors import BadInput, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy

#: heddle's names, in the order of heddle_dtype in heddle.h.
NAMES = ("f64", "f32", "f16", "bf16", "i1", "i8", "i16", "i32", "i64")
#: The value of heddle_dtype for each name.
CODES = {name: code for code, name in enumerate(NAMES)}
#: Bytes of an element.
SIZES = dict(zip(NAMES, (8, 4, 2, 2, 1, 1, 2, 4, 8)))
#: NumPy's names, which JAX, CuPy and PyTorch share.
NUMPY_NAMES = dict(
    zip(NAMES, ("float64", "float32", "float16", "bfloat16", "bool", "int8", "int16", "int32", "int64"))
)

_FROM_NUMPY = {numpy_name: name for name, numpy_name in NUMPY_NAMES.items()}
_known: dict[Any, str] = {name: name for name in NAMES}


class UnknownDType(BadInput):
    """An element type that heddle does not have; `found` is its name."""

    found = ""


def dtype_name(dtype: Any) -> str:
    """heddle's name of an element type.

    Args:
        dtype: heddle's own name, or an element type of NumPy, PyTorch, CuPy, JAX or ml_dtypes, or NumPy's name.

    Raises:
        BadInput: heddle has no such type (complex numbers, unsigned integers, another byte order).
    """
    try:
        return _known[dtype]
    except (KeyError, TypeError):  # an unknown type, or an object that cannot be hashed
        name = _find(dtype)
    except REFUSALS as error:  # any library's object may refuse
        raise _unknown(type(dtype).__name__) from error
    with contextlib.suppress(*REFUSALS):
        _known[dtype] = name
    return name


def _find(dtype: Any) -> str:
    try:
        spelled = str(dtype)
    except REFUSALS:  # any library's object may refuse
        spelled = type(dtype).__name__
    text = spelled.removeprefix("torch.")
    # NumPy takes None for float64.
    if dtype is not None and not isinstance(dtype, str) and not spelled.startswith("torch."):
        import numpy

        try:
            known = numpy.dtype(dtype)
            text = known.name if known.isnative else f"{known.name} in another byte order"
        except REFUSALS:  # no element type
            pass
    if text not in _FROM_NUMPY:
        raise _unknown(text, short(dtype) if isinstance(dtype, str) else "")
    return _FROM_NUMPY[text]


def _unknown(text: str, found: str = "") -> UnknownDType:
    name = short_text(text)
    error = UnknownDType(
        f"dtype: expected one of {', '.join(NAMES)}, or its name in NumPy or PyTorch, found {found or name}"
    )
    error.found = name
    return error


def numpy_dtype(name: str) -> numpy.dtype[Any]:
    """NumPy's element type for one of heddle's names. ``bf16`` needs the package ml_dtypes.

    Raises:
        BadInput: there is no such name.
        Unavailable: ``bf16`` without ml_dtypes.
    """
    import numpy

    name = dtype_name(name)
    if name != "bf16":
        return numpy.dtype(NUMPY_NAMES[name])
    try:
        import ml_dtypes
    except ImportError:
        raise Unavailable("bf16 in NumPy needs the package ml_dtypes: pip install ml_dtypes") from None
    bfloat16: numpy.dtype[Any] = numpy.dtype(ml_dtypes.bfloat16)
    return bfloat16
