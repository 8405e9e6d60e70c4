"""The reference interpreter of the library, which evaluates a program in double precision before any pass.

Its functions are those of codegen/compiler/heddle_reference.h, which are for heddle's own tools: this interface may
change with every version.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p

from . import _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy

    from ._shapes import Shape


class _Elements(ctypes.Structure):
    """heddle_reference_elements."""

    _fields_ = [
        ("elements", POINTER(c_double)),
        ("low", POINTER(c_double)),
        ("high", POINTER(c_double)),
        ("count", c_size_t),
    ]


_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "heddle_reference_create": (c_int, (c_char_p, POINTER(c_void_p))),
    "heddle_reference_free": (None, (c_void_p,)),
    "heddle_reference_is_fill": (c_int, (c_void_p, c_size_t, POINTER(c_int))),
    "heddle_reference_set_list": (c_int, (c_void_p, c_char_p, c_size_t, c_void_p, c_void_p)),
    "heddle_reference_member": (POINTER(c_double), (c_void_p, c_char_p, c_size_t)),
    "heddle_reference_set_scalar": (c_int, (c_void_p, c_char_p, c_double)),
    "heddle_reference_step": (c_int, (c_void_p,)),
    "heddle_reference_perturbed_step": (c_int, (c_void_p, c_uint64, c_double)),
    "heddle_reference_result": (c_int, (c_void_p, c_size_t, c_size_t, POINTER(_Elements))),
}


class Reference:
    """A program in the interpreter.

    Raises:
        BadInput: the library does not accept the program.
    """

    def __init__(self, program: str) -> None:
        self._functions = _library.library()
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._functions, name)
            function.restype, function.argtypes = result, arguments
        self._handle = c_void_p()
        _library.check(self._functions.heddle_reference_create(_library.encode(program, "program"), self._handle))

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._functions.heddle_reference_free(self._handle)

    def is_fill(self, index: int) -> bool:
        """Whether the program sets all elements of a list result to a constant."""
        fill = c_int()
        _library.check(self._functions.heddle_reference_is_fill(self._handle, index, fill))
        return bool(fill.value)

    def set_scalar(self, name: str, value: float) -> None:
        _library.check(self._functions.heddle_reference_set_scalar(self._handle, name.encode(), value))

    def set_list(self, name: str, shapes: list[Shape]) -> None:
        """Makes the members of a list, filled with zeros."""
        ranks = (c_int * len(shapes))(*(len(shape) for shape in shapes))
        extents = [extent for shape in shapes for extent in shape]
        found = (c_int64 * len(extents))(*extents)
        _library.check(
            self._functions.heddle_reference_set_list(self._handle, name.encode(), len(shapes), ranks, found)
        )

    def write(self, name: str, member: int, values: numpy.ndarray[Any, Any]) -> None:
        """Writes the elements of a member."""
        import numpy

        if values.size:
            place = self._functions.heddle_reference_member(self._handle, name.encode(), member)
            numpy.ctypeslib.as_array(place, (values.size,))[:] = values.astype(numpy.float64).ravel()

    def step(self, seed: int | None = None, ulps: float = 0.0) -> None:
        """Evaluates a step; with `seed`, one with random errors of `ulps` units in the last place in all operations."""
        if seed is None:
            status = self._functions.heddle_reference_step(self._handle)
        else:
            status = self._functions.heddle_reference_perturbed_step(self._handle, seed, ulps)
        _library.check(status)

    def result(self, index: int, member: int) -> tuple[Any, Any, Any]:
        """The elements of a member of a result, and the ends of their ranges."""
        import numpy

        found = _Elements()
        _library.check(self._functions.heddle_reference_result(self._handle, index, member, found))
        if not found.count:
            return (numpy.zeros(0),) * 3
        shape = (found.count,)
        elements, low, high = (
            numpy.ctypeslib.as_array(each, shape).copy() for each in (found.elements, found.low, found.high)
        )
        return elements, low, high

