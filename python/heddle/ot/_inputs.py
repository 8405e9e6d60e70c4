"""Reads the arguments of a solve: one problem, a batch as an array, or a list of problems.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import numbers

from .. import arrays, dtypes
from .._held import Held, replaced
from .._refusals import REFUSALS
from .._values import as_float, is_freed, plain, short
from ..errors import BadInput
from ._arguments import is_word
from ._cache import Members
from ._libraries import INTEGERS, Library, check_numbers, has_tangent, hides_changes, needs_gradient, numbers_in, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any


def number(name: str, value: Any, good: Callable[[float], bool], expected: str) -> float:
    """An argument that is a number.

    Raises:
        BadInput: it is not, or not `good`.
    """
    try:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError  # Python would read the text
        is_refused = _needs_derivative(value)
        converted = 0.0 if is_refused else as_float(value)
    except OverflowError as error:
        raise BadInput(f"{name}: expected {expected}, found {short(value)}") from error
    except REFUSALS as error:  # any library's number may refuse
        found = short(value) if is_freed(value) else type(value).__name__
        raise BadInput(f"{name}: expected {expected}, found {found}") from error
    if is_refused:
        raise BadInput(f"{name}: expected a number, found {_DERIVATIVE}")
    if not good(converted):
        raise BadInput(f"{name}: expected {expected}, found {plain(converted)}")
    return converted


_DERIVATIVE = "a tensor that needs a gradient or has a tangent: only M, a and b have gradients; detach() it"


def _needs_derivative(value: Any) -> bool:
    return needs_gradient(value) or has_tangent(value)


def refuse_derivative(name: str, values: Any) -> None:
    """Refuses an array of scalars whose derivatives would be dropped."""
    if _needs_derivative(values):
        raise BadInput(f"{name}: expected numbers, found {_DERIVATIVE}")


def row_stride(shape: Sequence[int], strides: Sequence[int] | None) -> int | None:
    """The row stride of a matrix; 0 if it is dense, None if its rows are not contiguous or overlap."""
    if strides is None or shape[0] * shape[1] == 0:
        return 0
    rows, columns = shape
    if columns > 1 and strides[1] != 1:
        return None
    if rows == 1 or strides[0] == columns:
        return 0
    return strides[0] if strides[0] > columns else None


def held(arrays: Iterable[tuple[str, Any]], views: Iterable[arrays.ArrayView]) -> Held:
    """A record of arrays, each with its name, some of which may be there twice, and of the views of some of them."""
    found: dict[int, tuple[str, Any]] = {}
    for name, array in arrays:
        found.setdefault(id(array), (name, array))
    names = [name for name, _ in found.values()]
    known = {id(seen.owner): seen for seen in views}
    return Held([array for _, array in found.values()], names.__getitem__, views=[known.get(each) for each in found])


def check_memory(records: Iterable[Held]) -> None:
    """Refuses arguments whose memory has changed since they were read, which functions of later arguments can do."""
    for record in records:
        name = record.changed()
        if name is not None:
            raise replaced(name)


class Problems:
    """The costs of all problems, as they are bound, and the form in which the caller gave them.

    Attributes:
        form: ``"single"`` (a matrix), ``"batch"`` (an array of rank 3) or ``"list"``.
        dtype: heddle's name of the element type.
        library: the caller's library.
        shapes: rows and columns of each problem.
        extents: rows and columns of the problems of a batch, even if there are none.
        is_turned: whether the caller gave the transposes of the matrices (``layout="column"``).
        by_columns: whether the matrices are bound as their transposes (option ``layout=column``).
        members: the matrices, as they are bound.
        given: the arrays of the caller.
        views: what is bound.
        held: the record of both.
    """

    def __init__(self, M: Any, layout: str | None) -> None:
        self.given: list[Any]
        self.library: Library
        if isinstance(M, (list, tuple)) and not isinstance(M, arrays.ArrayView):
            self.form = "list"
            self.given = list(M)
            if not M or isinstance(M[0], (list, tuple, numbers.Real)):
                self._read_nested(M)
        else:
            self.form, self.given = "single", [M]
        views = [self._of_floats(self._view(array, index), index) for index, array in enumerate(self.given)]
        if self.form == "single" and len(views[0].shape) == 3:
            self.form = "batch"
        rank = 3 if self.form == "batch" else 2
        for index, seen in enumerate(views):
            if len(seen.shape) != rank:
                raise BadInput(
                    f"{self.name_of(index)}: expected a matrix{' or an array of rank 3' if self.form != 'list' else ''}, "
                    f"found shape {seen.shape}"
                )
        dtype = views[0].dtype if views else "f64"
        for index, seen in enumerate(views):
            if seen.dtype != dtype:
                raise BadInput(f"{self.name_of(index)}: expected dtype {dtype}, as in M[0], found {seen.dtype}")
        self.dtype = dtype
        if layout is not None and not is_word(layout, ("row", "column")):
            raise BadInput(f"layout: expected None, 'row' or 'column', found {short(layout)}")
        self.is_turned = layout == "column"
        self._bind(views)

    def _read_nested(self, M: Sequence[Any]) -> None:
        """Numbers in nested lists are one matrix; an empty list is a batch without problems."""
        if M:
            try:
                check_numbers(M, "M")
                self.given = [numbers_in(M)]
            except BadInput:
                raise
            except REFUSALS as error:  # such as rows of different lengths
                raise BadInput(f"M: expected an array or a list of arrays, found {short(M)}") from error
            self.form = "single"

    def name_of(self, index: int) -> str:
        """How messages call the costs of a problem."""
        return f"M[{index}]" if self.form == "list" else "M"

    def matrix(self, index: int) -> Any:
        """The costs of one problem, as an array of the caller's library, in the layout in which they were given."""
        if self.form == "batch":
            return self.library.own(self.given[0], "M")[index]
        return self.library.own(self.given[index], self.name_of(index))

    def _view(self, array: Any, index: int) -> arrays.ArrayView:
        if index:
            return self.library.view(array, self.name_of(index))
        seen = view_of(array, self.name_of(index))
        self.library = Library(array, seen)
        return self.library.view(array, self.name_of(index)) if self.library.place.stream else seen

    def _of_floats(self, seen: arrays.ArrayView, index: int) -> arrays.ArrayView:
        """The costs; a float64 copy of them if they are integers, and a copy if their changes cannot be noticed."""
        if seen.dtype not in INTEGERS:
            if not hides_changes(self.given[index]):
                return seen
            self.given[index] = self.given[index].clone()
            return self.library.view(self.given[index], self.name_of(index))
        self.given[index] = self.library.dense(self.library.own(self.given[index], self.name_of(index)), "f64")
        return self.library.view(self.given[index], self.name_of(index))

    @property
    def count(self) -> int:
        """The number of problems."""
        return len(self.shapes)

    def _bind(self, views: list[arrays.ArrayView]) -> None:
        if not views:
            import numpy

            self.library = Library(numpy.empty(0), arrays.view(numpy.empty(0)))
        matrices = self._matrices(views)
        self.by_columns = self.is_turned
        strides = [row_stride(matrix.shape, matrix.strides) for matrix in matrices]
        if None in strides:
            turned = [_transposed(matrix) for matrix in matrices]
            others = [row_stride(matrix.shape, matrix.strides) for matrix in turned]
            if None not in others:
                self.by_columns, matrices, strides = not self.by_columns, turned, others
            else:
                views = self._copies()
                matrices, strides = self._matrices(views), []
        bound = tuple(matrix.shape for matrix in matrices)
        self.shapes: tuple[tuple[int, int], ...] = tuple(
            (shape[1], shape[0]) if self.by_columns else (shape[0], shape[1]) for shape in bound
        )
        rows, columns = self.shapes[0] if self.shapes else views[0].shape[1:] if views else (0, 0)
        self.extents = (columns, rows) if self.by_columns and not self.shapes else (rows, columns)
        known = tuple(stride or 0 for stride in strides)
        self.members = Members(self.dtype, [matrix.address for matrix in matrices], bound, known if any(known) else None)
        self.views = views  # they keep the memory alive, as DLPack needs it
        named = [(self.name_of(index), array) for index, array in enumerate(self.given)]
        self.held = held([*named, *(("M", seen.owner) for seen in views)], views)

    def _copies(self) -> list[arrays.ArrayView]:
        """Views of dense copies of the matrices."""
        library = self.library
        copies = [
            library.dense(library.own(array, self.name_of(index)), self.dtype) for index, array in enumerate(self.given)
        ]
        return [library.view(copy, "M") for copy in copies]

    def _matrices(self, views: list[arrays.ArrayView]) -> list[arrays.ArrayView]:
        return _members(views[0]) if self.form == "batch" else list(views)


def _transposed(matrix: arrays.ArrayView) -> arrays.ArrayView:
    rows, columns = matrix.shape
    step, next_step = matrix.strides if matrix.strides is not None else (columns, 1)
    return matrix._replace(shape=(columns, rows), strides=(next_step, step))


def _members(batch: arrays.ArrayView) -> list[arrays.ArrayView]:
    """The arrays of a batch: one for each index of the first axis."""
    count, *extents = batch.shape
    size = 1
    for extent in extents:
        size *= extent
    step = size if batch.strides is None else batch.strides[0]
    inner = None if batch.strides is None else tuple(batch.strides[1:])
    bytes_apart = step * dtypes.SIZES[batch.dtype]
    return [
        batch._replace(address=batch.address + index * bytes_apart, shape=tuple(extents), strides=inner)
        for index in range(count)
    ]


class Vectors:
    """One vector for each problem: weights, potentials, coordinates.

    Attributes:
        members: the vectors, as they are bound.
        arrays: dense arrays of the caller's library that hold them.
        given: the arrays of the caller.
        views: what is bound.
        held: the record of all of them.
        shared: whether one vector is used for all problems.
        is_stacked: whether one array of rank 2 has all vectors.
    """

    def __init__(
        self,
        problems: Problems,
        given: Any,
        name: str,
        sizes: Sequence[int] | None,
        dtype: str,
        *,
        weights: bool = False,
    ) -> None:
        """Reads an argument.

        Args:
            problems: the costs.
            given: an array; for a batch or a list, one vector for all problems, or one for each.
            name: the name of the argument, for messages.
            sizes: the number of elements of each vector; None: any.
            dtype: the element type that is bound; arrays of others are converted.
            weights: whether numbers on the host must be in the range of that type.

        Raises:
            BadInput: the shapes do not fit, the array is on another device, or a weight is out of range.
        """
        library, count = problems.library, problems.count
        self.given: list[Any] = [given]
        shared = problems.form == "single"
        self.is_stacked = False
        if not shared and isinstance(given, (list, tuple)) and not _is_numbers(given):
            parts = [self._dense(library, part, f"{name}[{index}]", dtype, weights) for index, part in enumerate(given)]
            self.given = [part if hides_changes(each) else each for each, (part, _) in zip(given, parts)]
            if len(parts) != count:
                raise BadInput(f"{name}: expected {count} arrays, one for each problem, found {len(parts)}")
            self.arrays = [part for part, _ in parts]
            views = read = [seen for _, seen in parts]
        else:
            array, seen = self._dense(library, given, name, dtype, weights)
            self.arrays = [array]
            if hides_changes(given):
                self.given = [array]
            shared = shared or len(seen.shape) == 1
            if len(seen.shape) != (1 if shared else 2) or (not shared and seen.shape[0] != count):
                wanted = "a vector" if shared else f"a vector, or {count} vectors (an array of rank 2)"
                raise BadInput(f"{name}: expected {wanted}, found shape {seen.shape}")
            self.is_stacked = not shared
            views, read = [seen] * count if shared else _members(seen), [seen]
        for index, seen in enumerate(views):
            if len(seen.shape) != 1 or (sizes is not None and seen.shape[0] != sizes[index]):
                wanted = "a vector" if sizes is None else f"{sizes[index]} elements, as M has"
                where = name if shared else f"{name}[{index}]"
                raise BadInput(f"{where}: expected {wanted}, found shape {seen.shape}")
        self.shared = shared
        self.members = Members(dtype, [seen.address for seen in views], tuple(seen.shape for seen in views))
        self.views = views
        names = [name] if len(self.given) == 1 else [f"{name}[{index}]" for index in range(len(self.given))]
        kept = ((name, each) for each in (*self.arrays, *(seen.owner for seen in views)))
        self.held = held([*zip(names, self.given), *kept], read)

    def of(self, index: int) -> Any:
        """The vector of one problem, as an array of the caller's library."""
        if self.shared:
            return self.arrays[0]
        return self.arrays[0][index] if self.is_stacked else self.arrays[index]

    @staticmethod
    def _dense(
        library: Library, given: Any, name: str, dtype: str, weights: bool = False
    ) -> tuple[Any, arrays.ArrayView]:
        array = library.own(given, name)
        seen = library.view(array, name)
        if weights and dtype == "f32" and seen.dtype in ("f64", "f32"):
            host = library.on_host(given, array)
            if host is not None:
                _check_range(name, host)
        if seen.dtype != dtype or not seen.is_dense:
            array = library.dense(array, dtype)
            seen = library.view(array, name)
        elif hides_changes(given):
            array = library.joined([array], dtype).reshape(seen.shape)
            seen = library.view(array, name)
        return array, seen


def _check_range(name: str, weights: Any) -> None:
    """Refuses weights that become infinite in float32, vectors of which nothing is left, and sums that are infinite."""
    import numpy

    with numpy.errstate(all="ignore"):
        rounded = weights.astype(numpy.float32)
    lost = numpy.isinf(rounded) & numpy.isfinite(weights)
    if not lost.any() and weights.ndim:
        lost = (weights > 0) & ~rounded.any(axis=-1, keepdims=True)
    if weights.ndim and not lost.any():
        sums = weights.sum(axis=-1, dtype=numpy.float64)
        large = sums[numpy.isfinite(sums) & (sums > numpy.finfo(numpy.float32).max)]
        if large.size:
            raise BadInput(
                f"{name}: expected weights whose sum is in the range of float32, found the sum {plain(float(large[0]))}: "
                "multiply the weights by a number, or choose compute='f64'"
            )
    if lost.any():
        place = numpy.argwhere(lost)[0].tolist()
        raise BadInput(
            f"{name}: expected weights in the range of float32, found {plain(float(weights[tuple(place)]))} at "
            f"{', '.join(map(str, place))}: multiply the weights by a number, or choose compute='f64'"
        )


_NO_LIMITS = (-math.inf, math.inf)


class PerProblem:
    """A scalar argument with one float64 value for each problem.

    Args:
        problems: the costs.
        given: the values.
        name: the name of the argument, for messages.
        limits: the least and the largest value. Others on a GPU become NaN, of which the program reports a status: their
            check would wait.

    Attributes:
        array: a copy of the values, in the caller's library.
        members: the values, as they are bound.
    """

    def __init__(
        self, problems: Problems, given: Any, name: str, limits: tuple[float, float] = _NO_LIMITS
    ) -> None:
        refuse_derivative(name, given)
        self.array, seen = Vectors._dense(problems.library, given, name, "f64")
        if seen.shape != (problems.count,):
            raise BadInput(
                f"{name}: expected a number, or {problems.count} values, one for each problem, found shape {seen.shape}"
            )
        if problems.library.place.target != "cpu" and limits != _NO_LIMITS:
            self.array = problems.library.within(self.array, *limits)
        # Results that are asked for later read them again.
        self.array = problems.library.joined([self.array], "f64")
        begin = problems.library.address(self.array)
        self.members = Members("f64", [begin + 8 * index for index in range(problems.count)], ((),) * problems.count)


def _is_numbers(given: Sequence[Any]) -> bool:
    return not given or isinstance(given[0], numbers.Real)


class Uniform(Vectors):
    """Equal weights of sum 1 for each problem (or their logarithms)."""

    def __init__(self, problems: Problems, sizes: Sequence[int], dtype: str, log: bool) -> None:
        library = problems.library
        self.given = []
        self.shared = self.is_stacked = False
        made: dict[int, Any] = {}
        for size in sizes:
            if size not in made:
                share = 1 / max(size, 1)
                made[size] = library.full(size, dtype, math.log(share) if log else share)
        self.views = [library.view(made[size], "weights") for size in sizes]
        self.arrays = [made[size] for size in sizes]
        self.held = held((), ())
        self.members = Members(dtype, [seen.address for seen in self.views], tuple((size,) for size in sizes))


class Block:
    """A result of all problems in one new array.

    Attributes:
        members: the members of the result, as they are bound.
    """

    def __init__(
        self,
        problems: Problems,
        dtype: str,
        shapes: Sequence[tuple[int, ...]],
        *,
        empty: tuple[int, ...],
        start: Sequence[Any] | None = None,
    ) -> None:
        """Allocates the result.

        Args:
            problems: the costs.
            dtype: the element type.
            shapes: the extents of each member.
            empty: the extents of a member if there is none.
            start: arrays with the first elements of the members in order; None: not initialized.
        """
        library = problems.library
        self._form, self._shapes = problems.form, tuple(shapes)
        self._member = self._shapes[0] if self._shapes else empty
        # Members of a list start at 256 bytes, so that the GPU reads them 16 bytes at a time.
        unit = 256 // dtypes.SIZES[dtype] if self._form == "list" and start is None else 1
        self._starts, end = [], 0
        for shape in self._shapes:
            size = 1
            for extent in shape:
                size *= extent
            self._starts.append(end)
            end += size if not shape else -(-size // unit) * unit
        self.flat = library.empty(end, dtype) if start is None else library.joined(start, dtype)
        base, size = library.address(self.flat), dtypes.SIZES[dtype]
        self.members = Members(dtype, [base + size * first for first in self._starts], self._shapes)

    def of(self, index: int) -> Any:
        """The result of one problem."""
        shape = self._shapes[index]
        size = 1
        for extent in shape:
            size *= extent
        first = self._starts[index]
        return self.flat[first : first + size].reshape(shape)

    def value(self, turned: bool = False) -> Any:
        """The result in the form in which the problems were given; `turned`: with the last two axes exchanged.

        Scalars of a list of problems are one vector.
        """
        if self._form == "list" and self._member:
            members = [self.of(index) for index in range(len(self._shapes))]
            return [member.T for member in members] if turned else members
        if self._form == "single":
            made = self.flat.reshape(self._member)
            return made.T if turned else made
        made = self.flat.reshape((len(self._shapes), *self._member))
        return made.swapaxes(1, 2) if turned else made
