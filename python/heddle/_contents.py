"""The contents of lists for ``python -m heddle run``: kinds of numbers, and arrays of a file of ``numpy.savez``.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import zipfile

from . import dtypes
from ._values import counted, listed, short_text
from .errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy

    from ._shapes import Shape
    from .executable import BufferInfo, Executable

    Array = numpy.ndarray[Any, Any]

#: The kinds of ``--fill``.
KINDS = ("normal", "uniform", "weights", "log_weights", "spd", "distances", "constant")


def _rows(shape: Shape) -> tuple[int, int]:
    return math.prod(shape[:-1]), shape[-1] if shape else 1


class Filling:
    """Numbers of one kind, times a factor."""

    def __init__(self, kind: str, factor: float) -> None:
        self.kind, self.factor = kind, factor

    @property
    def is_random(self) -> bool:
        return self.kind != "constant"

    def check(self, info: BufferInfo, shapes: list[Shape]) -> None:
        """Checks that a list with members of these shapes can have the contents.

        Raises:
            BadInput: numbers for a list of integers, or a kind of matrices for other members.
        """
        if self.is_random and not info.dtype.startswith(("f", "bf")):
            raise BadInput(
                f"option '--fill': expected a list of floating-point numbers, found '{info.name}' of {info.dtype}"
            )
        if self.kind not in ("spd", "distances"):
            return
        for member, shape in enumerate(shapes):
            where = f"option '--fill', list '{info.name}', member {member}"
            if info.rank != 2:
                raise BadInput(f"{where}: expected a list of matrices, found one of rank {info.rank}")
            rows, columns = _rows(shape)
            if self.kind == "spd" and rows != columns:
                raise BadInput(f"{where}: expected a square matrix, found {rows} x {columns}")

    def draw(self, generator: numpy.random.Generator, shape: Shape) -> Array:
        """The numbers of a member, in double precision."""
        import numpy

        count = max(1, math.prod(shape))
        if self.kind == "constant":
            return numpy.full(shape, self.factor)
        if self.kind == "normal":
            return generator.standard_normal(shape) * self.factor
        if self.kind == "uniform":
            return generator.random(shape) * self.factor
        if self.kind == "distances":
            rows, columns = _rows(shape)
            points, others = generator.random((rows, 1, 2)), generator.random((1, columns, 2))
            return numpy.asarray((numpy.square(points - others).sum(axis=2) * self.factor).reshape(shape))
        if self.kind == "spd":
            # A diagonal matrix and a symmetric one, whose norm is about 0.6.
            size = shape[-1]
            upper = numpy.triu(generator.random((size, size)) - 0.5, 1) / math.sqrt(max(1, size))
            diagonal = numpy.diag(1.5 + 8.5 * generator.random(size))
            return numpy.asarray(((upper + upper.T + diagonal) * self.factor).reshape(shape))
        drawn = 0.5 + generator.random(shape)
        weights = numpy.asarray(drawn / (drawn.sum() if drawn.size else count) * self.factor)
        return weights if self.kind == "weights" else numpy.asarray(numpy.log(weights))


class Data:
    """The arrays of a data file: members of lists, and scalars."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Array]] = {}
        self.scalars: dict[str, float] = {}
        #: The shapes of the members of the given list of the highest rank.
        self.shapes: list[Shape] = []


def read_data(path: str, executable: Executable) -> Data:
    """The arrays of the file `path`, which `numpy.savez` wrote, for the arguments of a program.

    An array ``NAME.0``, ``NAME.1``, ... is a member of the list ``NAME``. An array ``NAME`` is its only member, all
    members of a list of rank 0, or a scalar.

    Raises:
        BadInput: the file cannot be read, or an array does not fit the arguments.
    """
    import numpy

    def fault(text: str) -> BadInput:
        return BadInput(f"data file '{short_text(path)}': {text}")

    name = arrays = None
    try:
        loaded = numpy.load(path, allow_pickle=False)
        if not isinstance(loaded, numpy.ndarray):
            arrays = {}
            with loaded as file:
                for name in file.files:
                    arrays[name] = file[name]
    except OSError as error:
        raise fault(error.strerror or str(error)) from None
    except MemoryError as error:
        where = "" if name is None else f"array '{short_text(name)}': "
        raise fault(f"{where}expected an array that fits into memory, found another one: {error}") from None
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile):
        raise fault("expected a file of numpy.savez (.npz) without Python objects, found another one") from None
    if arrays is None:
        raise fault("expected a file of numpy.savez (.npz), found one array: use numpy.savez(FILE, NAME=array)")
    data, members = Data(), _Members(executable, fault)
    for name, array in arrays.items():
        members.add(name, array, data)
    members.finish(data)
    return data


class _Members:
    """Arrays by list and member, while they are read."""

    def __init__(self, executable: Executable, fault: Any) -> None:
        self.arguments, self.fault = executable.arguments, fault
        self.arrays: dict[str, dict[int, Array]] = {}

    def add(self, name: str, array: Array, data: Data) -> None:
        whole = name
        base, dot, place = name.rpartition(".")
        member = 0
        if name not in self.arguments and dot and place.isdecimal() and place == str(int(place)):
            name, member, isnumbered = base, int(place), True
        else:
            isnumbered = False
        info = self.arguments.get(name)
        if info is None:
            raise self.fault(
                f"the program has no argument for the array '{short_text(whole)}'\nArguments: {listed(self.arguments)}. "
                "An array has the name of a scalar, of a list with one member, or LIST.0, LIST.1, ..."
            )
        if info.is_list:
            self._add_member(info, member, array, isnumbered)
        elif isnumbered or array.shape or array.dtype.kind not in "fiub":
            raise self.fault(
                f"array '{whole}': expected one number, shape (), for the scalar argument, found {array.dtype} of shape "
                f"{array.shape}"
            )
        else:
            self._check_integers(whole, array)
            data.scalars[name] = float(array)

    def _check_integers(self, name: str, array: Array) -> None:
        """Checks that double precision holds the integers: scalars and the reference interpreter need it."""
        import numpy

        if array.dtype.kind not in "iu":
            return
        flat = array.ravel()
        for place in numpy.flatnonzero((flat > 2**53) | (flat < -(2**53))):
            value = int(flat[place])
            if int(float(value)) != value:
                where = f" as element {place}" if array.shape else ""
                raise self.fault(
                    f"array '{name}': expected integers that double precision can hold, found {value}{where}"
                )

    def _add_member(self, info: BufferInfo, member: int, array: Array, isnumbered: bool) -> None:
        own = self.arrays.setdefault(info.name, {})
        self._check_integers(f"{info.name}.{member}" if isnumbered else info.name, array)
        array = self._converted(info, array)
        if info.rank == 0 and not isnumbered and array.ndim == 1:
            if own:
                raise self.fault(f"list '{info.name}': expected one array for member 0, found two")
            own.update(enumerate(array.reshape(-1, 1)))
            return
        if info.rank == 0 and array.shape:
            wanted = "one value, shape ()" if isnumbered else "one value for each member, shape (members,)"
            raise self.fault(
                f"array '{info.name}': expected {wanted}, as list '{info.name}' is of rank 0, found shape {array.shape}"
            )
        if member in own:
            raise self.fault(f"list '{info.name}': expected one array for member {member}, found two")
        own[member] = array

    def _converted(self, info: BufferInfo, array: Array) -> Array:
        """The array in the element type of the list. Files have no bf16: they hold its two bytes, or float32."""
        wanted = dtypes.numpy_dtype(info.dtype)
        if info.dtype == "bf16" and array.dtype.kind == "V" and array.dtype.itemsize == 2:
            return array.view(wanted)
        if array.dtype != wanted and not (info.dtype == "bf16" and array.dtype == "float32"):
            hint = "store bf16 as float32, or as bfloat16 of ml_dtypes" if info.dtype == "bf16" else "use array.astype"
            raise self.fault(
                f"list '{info.name}': expected arrays of {info.dtype}, found one of {array.dtype}: {hint}"
            )
        return array.astype(wanted)

    def finish(self, data: Data) -> None:
        """Checks that no member is missing, and gives members the ranks of their lists."""
        if not self.arrays:
            raise self.fault("expected arrays for the lists of the program, found none")
        first = next(iter(self.arrays))
        for name, own in self.arrays.items():
            missing = next((member for member in range(len(own)) if member not in own), None)
            if missing is not None:
                raise self.fault(
                    f"list '{name}': expected arrays for members 0 to {max(own)}, found no '{name}.{missing}'"
                )
            if len(own) != len(self.arrays[first]):
                raise self.fault(
                    f"list '{name}': expected {counted(len(self.arrays[first]), 'member')}, as in list '{first}', "
                    f"found {len(own)}"
                )
            rank = self.arguments[name].rank
            data.lists[name] = [
                own[member].reshape({0: (), 1: (-1,), 2: _rows(own[member].shape)}[rank]) for member in range(len(own))
            ]
        leading = max(data.lists, key=lambda name: self.arguments[name].rank)
        data.shapes = [member.shape for member in data.lists[leading]]
