"""Checks of plain values, and their sentences.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import numbers
import operator

from . import _numpy_storage, _torch_storage
from ._refusals import REFUSALS
from .errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


#: Numbers of Python, which refuse nothing.
_NUMBERS = (float, int, bool)


def short_text(text: Any) -> str:
    """A name for a message, without the middle of a long one."""
    name = text if isinstance(text, str) else short(text)
    return name if len(name) <= 200 else name[:130] + "…" + name[-69:]


def listed(names: Iterable[str]) -> str:
    """``a, b and 3 others``: the first twenty names."""
    first = [short_text(name) for name in names]
    rest = len(first) - 20
    return ", ".join(first[:20]) + (f" and {counted(rest, 'other')}" if rest > 0 else "") or "none"


def short(value: Any) -> str:
    """The spelling of a value for a message, without the middle of a long one."""
    try:
        missing = _without_memory(value, set())
    except REFUSALS:  # a collection that is nested too deeply, or that refuses to be read
        return type(value).__name__
    if missing is not None:
        kind = "an array" if _numpy_storage.is_array(missing) else "a tensor"
        if missing is value:
            return f"{kind} of shape {tuple(value.shape)} and dtype {value.dtype} without memory"
        return f"{type(value).__name__} with {kind} of shape {tuple(missing.shape)} without memory"
    try:
        text = repr(value)
    except ValueError:  # Python does not print an integer of more than 4300 digits
        text = f"an integer of {value.bit_length()} bits"
    except REFUSALS:
        text = type(value).__name__
    return short_text(" ".join(text.split()) if "\n" in text else text)


def _without_memory(value: Any, seen: set[int]) -> Any:
    """A tensor or array in a value, or the value itself, that would be printed from no memory; None: there is none."""
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        if id(value) in seen:  # a collection that contains itself
            return None
        seen.add(id(value))
        entries = (*value.keys(), *value.values()) if isinstance(value, dict) else tuple(value)
        found = (_without_memory(entry, seen) for entry in entries)
        return next((each for each in found if each is not None), None)
    return value if is_freed(value) else None


def is_freed(value: Any) -> bool:
    """Whether elements of a tensor of torch or of an array of NumPy are in freed memory; False for other objects."""
    if hasattr(type(value), "untyped_storage"):
        return _torch_storage.is_freed(value)
    return _numpy_storage.is_array(value) and _numpy_storage.is_freed(value)


def as_float(value: Any) -> float:
    """The value of a number of any library.

    Raises:
        TypeError: `value` is a tensor or an array in freed memory, which its library would read.
        Exception: `value` is no number.
    """
    if type(value) is not float and is_freed(value):
        raise TypeError(f"expected elements in memory, found {short(value)}")
    return float(value)


def refusal(error: Exception) -> str:
    """The exception of an object of the caller, for the message of ours."""
    try:
        text = str(error)
    except REFUSALS:
        text = ""
    return f"{type(error).__name__}: {short_text(text)}" if text else type(error).__name__


def plain(value: float) -> str:
    """The shortest spelling of a number that reads back as the same one: ``100``, ``0.1``."""
    number = float(value)
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else repr(number)


def has_axes(value: Any) -> bool:
    """Whether a value is an array with at least one axis."""
    if type(value) in _NUMBERS:
        return False
    try:
        return len(getattr(value, "shape", ())) > 0
    except REFUSALS:  # any library's object may refuse
        return False


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 array``, ``2 arrays``."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def is_boolean(value: Any) -> bool:
    """Whether a value is True or False, of Python or in an array without axes of any library."""
    if type(value) is bool:
        return True
    try:
        return str(getattr(value, "dtype", "")).endswith("bool") and not has_axes(value)
    except REFUSALS:  # any library's object may refuse
        return False


def boolean(value: Any, where: str) -> bool:
    """True or False, of Python or of any library.

    Raises:
        BadInput: `value` is neither.
    """
    try:
        if is_boolean(value) and not is_freed(value):
            return bool(value)
        cause = None
    except REFUSALS as error:  # such as a tensor of a transform of torch.func
        cause = error
    raise BadInput(f"{where}: expected True or False, found {short(value)}") from cause


def whole(value: Any) -> int | None:
    """The value of an integer of any library; None for a bool, a float and other objects."""
    if type(value) is int:
        return value
    if is_boolean(value) or has_axes(value):
        return None
    try:
        return None if is_freed(value) else operator.index(value)
    except REFUSALS:  # any library's number may refuse
        return None


def is_complex(value: Any) -> bool:
    """Whether a value is a complex number of any library, of which ``float`` would drop the imaginary part."""
    if isinstance(value, (int, float)):
        return False
    try:
        dtype = getattr(value, "dtype", None)
        is_array = getattr(dtype, "kind", "") == "c" or getattr(dtype, "is_complex", False) is True
        return is_array or (isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real))
    except REFUSALS:  # any library's object may refuse
        return False


def real(value: Any) -> float | None:
    """The value of a number of any library, or of a tensor without axes; None for a bool, text and other objects."""
    if type(value) is float:
        return value
    if isinstance(value, (bool, str, bytes, bytearray)) or has_axes(value) or is_complex(value):
        return None
    try:
        return as_float(value)
    except REFUSALS:
        return None


def number(value: Any, where: str) -> float:
    """A number in double precision.

    Raises:
        BadInput: `value` is no number, or an integer beyond the range of double precision.
    """
    if type(value) is float:
        return value
    try:
        if isinstance(value, (str, bytes)) or is_complex(value):
            raise TypeError
        return as_float(value)
    except OverflowError as error:
        raise BadInput(f"{where}: expected a number that double precision can hold, found {short(value)}") from error
    except REFUSALS as error:  # any library's number may refuse
        is_shown = isinstance(value, (str, bytes)) or is_complex(value) or is_freed(value)
        found = short(value) if is_shown else type(value).__name__
        raise BadInput(f"{where}: expected a number, found {found}") from error


def integer(value: Any, where: str, least: int, most: int) -> int:
    """An integer from `least` to `most`.

    Raises:
        BadInput: `value` is another one, or no integer.
    """
    result = whole(value)
    if result is None or not least <= result <= most:
        bound = f"{most}" if most < 1 << 20 else f"2^{(most + 1).bit_length() - 1} - 1"
        raise BadInput(f"{where}: expected an integer from {least} to {bound}, found {short(value)}")
    return result
