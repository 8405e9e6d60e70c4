"""Products of the transport plan with points, and barycentric projections.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .. import dtypes
from .._refusals import REFUSALS
from ..errors import BadInput
from ._cache import Members
from ._inputs import Block, check_memory, held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._problem import Problem

#: The largest number of coordinates (option `points` of the program).
MOST = 64


def transport(
    problem: Problem, potentials: dict[str, Block], points: Any, output: str, check_unchanged: Callable[[], None]
) -> Any:
    """P X, or P X divided by the row sums.

    Args:
        problem: the arguments of the solve.
        potentials: the potentials of the solution, by their names in the program.
        points: X, m x d; for a batch also B x m x d, or a list of arrays.
        output: ``"product"`` or ``"projection"``.
        check_unchanged: refuses arguments and potentials that were changed since the solve.

    Returns:
        Arrays n x d, in the form of the problems.
    """
    coordinates = _Coordinates(problem, points)
    problems, count = problem.problems, coordinates.count
    shapes = [(count, rows) for rows, _ in problems.shapes]
    block = Block(problems, problem.compute, shapes, empty=(count, problems.extents[0]))
    names = [f"{'product' if output == 'product' else 'y'}{d + 1}" for d in range(count)]
    size = dtypes.SIZES[problem.compute]
    sizes = tuple((rows,) for _, rows in shapes)
    lists = {name: block.members for name, block in potentials.items()}
    for d, name in enumerate(names):
        addresses = [first + size * d * rows for first, (rows,) in zip(block.members.addresses, sizes)]
        lists[name] = Members(problem.compute, addresses, sizes)
        lists[f"x{d + 1}"] = coordinates.members(d)

    def check() -> None:
        check_unchanged()
        check_memory([coordinates.held])

    options = {"iterate": "false", "init": "given", "outputs": output, "points": str(count)}
    problem.run(options, lists, {}, problem.scalars, check)
    return block.value(turned=True)


class _Coordinates:
    """The points as one dense vector for each coordinate.

    Attributes:
        count: the number of coordinates.
    """

    def __init__(self, problem: Problem, points: Any) -> None:
        problems = problem.problems
        library, self._dtype = problems.library, problem.compute
        columns = [shape[1] for shape in problems.shapes]
        if problems.form != "single" and isinstance(points, (list, tuple)):
            parts = [library.own(part, f"points[{index}]") for index, part in enumerate(points)]
            if len(parts) != problems.count:
                raise BadInput(f"points: expected {problems.count} arrays, one for each problem, found {len(parts)}")
        else:
            array = library.own(points, "points")
            shared = problems.form == "single" or len(array.shape) == 2
            parts = [array] * problems.count if shared else list(array)
            if not shared and len(parts) != problems.count:
                raise BadInput(f"points: expected {problems.count} sets of points, found shape {tuple(array.shape)}")
        first = tuple(parts[0].shape) if parts else (0, 1)
        self.count = first[1] if len(first) == 2 else 0
        for index, part in enumerate(parts):
            if tuple(part.shape) != (columns[index], self.count) or not 1 <= self.count <= MOST:
                raise BadInput(
                    f"points: expected {columns[index]} points with 1 to {MOST} coordinates, as M has columns, "
                    f"found shape {tuple(part.shape)}"
                )
        try:
            turned = {id(part): library.dense(part.T, self._dtype) for part in parts}
        except REFUSALS as error:  # such as a tensor that a function of another one has freed
            raise BadInput("points: expected arrays whose elements can be read, found one without its memory") from error
        self._arrays = [turned[id(part)] for part in parts]
        self._views = [library.view(array, "points") for array in self._arrays]
        # A vector is not copied, and a copy of a column may be the column itself.
        self.held = held([("points", array) for array in self._arrays], self._views)

    def members(self, d: int) -> Members:
        """Coordinate `d` of the points of all problems."""
        size = dtypes.SIZES[self._dtype]
        shapes = tuple((seen.shape[1],) for seen in self._views)
        addresses = [seen.address + size * d * columns for seen, (columns,) in zip(self._views, shapes)]
        return Members(self._dtype, addresses, shapes)
