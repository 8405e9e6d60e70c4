"""Mistakes in the values of arguments, which the program finds: their messages, with the first wrong value.

A solve that succeeds reads no value for them.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._values import plain
from ..errors import BadInput
from ._inputs import PerProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._problem import Problem
    from ._result import OTResult

#: What each bit of the program's status says about an argument.
_BAD_INPUT = {
    1: "a: expected finite weights that are not negative",
    2: "b: expected finite weights that are not negative",
    4: "a and b: expected equal sums (or a relaxed marginal, or normalize=True and sums that are not 0)",
    8: "eps: expected a number from 2^-126 to 2^100, or from 2^-1022 to 2^1000 in float64 (eps0 likewise, and a decay "
    "between 0 and 1)",
    16: "rho_a, rho_b: expected positive numbers, of at least 2^-126 in float32",
    32: "omega: expected a number between 0 and 2",
}
_SIDES = {1: 0, 2: 1}
_SUMS = 4
_NUMBERS = (
    "M: expected costs that are not NaN or -inf, also divided by the strength of the regularization, and initial "
    "potentials that are not NaN"
)
_LOG_KERNEL = "M: expected a log kernel that is not NaN or +inf, and initial potentials that are not NaN"
#: Costs are searched in blocks of rows with at most this many elements, so that little memory is needed.
_BLOCK = 1 << 22


def raise_bad_input(result: OTResult) -> None:
    """Raises `BadInput` if the status of a problem shows a mistake in an argument."""
    bits = result._on_host("status").reshape(-1)
    if not (bits & 127).any():
        return
    index = int((bits & 127).nonzero()[0][0])
    problem = result._problem
    where = "" if problem.problems.form == "single" else f"problem {index}: "
    word = int(bits[index])
    for bit, text in _BAD_INPUT.items():
        if word & bit:
            raise BadInput(result._named(where + text + _found_weights(problem, index, bit)))
    text = _NUMBERS if problem.options.get("matrix", "cost") == "cost" else _LOG_KERNEL
    raise BadInput(result._named(where + text + _found_cost(problem, index)))


def sums_of(problem: Problem, index: int) -> tuple[float, float] | None:
    """The sums of the weights of both sides; None if they changed since the solve."""
    weights = _weights(problem, index)
    return None if weights is None else (float(weights[0].sum()), float(weights[1].sum()))


def _is_unchanged(problem: Problem) -> bool:
    try:
        problem.check_unchanged()
    except BadInput:  # such as weights that were freed
        return False
    return True


def _weights(problem: Problem, index: int) -> list[Any] | None:
    """The weights of both sides of a problem, as float64 arrays of NumPy; None if they changed since the solve."""
    import numpy

    if not _is_unchanged(problem):
        return None
    weights = []
    for side in (problem.a, problem.b):
        values = problem.problems.library.host(side.of(index)).astype(numpy.float64)
        weights.append(numpy.exp(values) if problem.options.get("weights") == "log" else values)
    return weights


def _found_weights(problem: Problem, index: int, bit: int) -> str:
    """The weights of a problem that are wrong, for a message."""
    import numpy

    weights = _weights(problem, index)
    if weights is None:
        return ""
    if bit == _SUMS:
        first, second = (float(each.sum()) for each in weights)
        return f", found {first!r} and {second!r}"
    if bit in _SIDES:
        values = weights[_SIDES[bit]]
        places = numpy.flatnonzero(~(numpy.isfinite(values) & (values >= 0)))
        return f", found {plain(float(values[places[0]]))} at {places[0]}" if len(places) else ""
    return ""


def _found_cost(problem: Problem, index: int) -> str:
    """The first wrong entry of a matrix, for a message; empty if all are right, or it changed since the solve."""
    import numpy

    if not _is_unchanged(problem):
        return ""
    problems = problem.problems
    library, matrix = problems.library, problems.matrix(index)
    divisor, infinite = 1.0, numpy.inf
    if problem.options.get("matrix", "cost") == "cost":
        eps = problem.scalars["eps"]
        divisor = float(library.host(eps.array)[index]) if isinstance(eps, PerProblem) else eps
        infinite = -numpy.inf
    dtype = numpy.float64 if problem.compute == "f64" else numpy.float32
    rows, columns = matrix.shape
    step = max(1, _BLOCK // max(1, columns))
    for first in range(0, rows, step):
        block = library.host(library.dense(matrix[first : first + step], problem.compute))
        with numpy.errstate(all="ignore"):
            scaled = block / dtype(divisor)
        wrong = numpy.flatnonzero(numpy.isnan(scaled) | (scaled == infinite))
        if wrong.size:
            row, column = divmod(int(wrong[0]), columns)
            value = float(block[row, column])
            row += first
            if problems.is_turned:
                row, column = column, row
            return f", found {plain(value)} in row {row}, column {column}"
    return ""
