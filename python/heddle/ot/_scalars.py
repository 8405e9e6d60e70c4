"""The scalar arguments of a solve, their ranges, and their values for each problem.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

from .._values import has_axes, plain
from ..errors import BadInput
from ._inputs import PerProblem, Problems, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Range(NamedTuple):
    """The numbers that an argument may be."""

    least: float
    most: float
    #: What it is called in messages.
    words: str

    def has(self, value: Any) -> Any:
        """Whether a number, or each element of an array, is in the range."""
        return (value >= self.least) & (value <= self.most)


_TINY, _HUGE = 5e-324, sys.float_info.max
_POSITIVE = Range(_TINY, _HUGE, "a finite positive number")
_PENALTY = Range(_TINY, math.inf, "a positive number, or None")

# Of a smaller eps or penalty weight, the compute type has no inverse. With a larger eps, its products with logarithms of
# weights and with sums of weights are infinite, and the value is NaN.
_EXPONENTS = {"f64": (-1022, 1000), "f32": (-126, 100)}


def ranges(name: str, compute: str) -> tuple[Range, ...]:
    """The ranges of an argument, from wide to narrow, for a compute type."""
    low, high = _EXPONENTS[compute]
    if name in ("eps", "eps0"):
        remedy = "" if compute == "f64" else " (compute='f64' has a wider range)"
        return _POSITIVE, Range(2.0**low, 2.0**high, f"a number from 2^{low} to 2^{high}{remedy}")
    if name in ("rho_a", "rho_b"):
        if compute == "f64":
            return (_PENALTY,)
        return _PENALTY, Range(2.0**low, math.inf, f"a positive number of at least 2^{low}, or None")
    if name == "omega":
        return (Range(_TINY, math.nextafter(2, 0), "a number between 0 and 2"),)
    if name == "decay":
        return (Range(_TINY, math.nextafter(1, 0), "a number between 0 and 1"),)
    return (Range(-math.inf, math.inf, "a number"),)


class Scalars:
    """Scalar arguments: numbers, or, if one of them is a vector, vectors with one value for each problem.

    Attributes:
        values: the arguments, by name.
    """

    def __init__(self, problems: Problems, compute: str) -> None:
        self._problems, self._compute = problems, compute
        self.values: dict[str, float | PerProblem] = {}

    def add(self, name: str, value: Any) -> None:
        """Reads an argument.

        Numbers out of range in a vector on a GPU become NaN, of which the program reports a status: nothing waits.

        Raises:
            BadInput: it is no number, or out of range.
        """
        if not is_vector(value):
            self.values[name] = self._number(name, value)
            return
        allowed = ranges(name, self._compute)
        if isinstance(value, (list, tuple)):
            value = [self._number(f"{name}[{index}]", entry, name) for index, entry in enumerate(value)]
        if self._problems.form == "single":
            raise BadInput(f"{name}: expected {allowed[0].words}, found one value for each problem, but M is one problem")
        made = PerProblem(self._problems, value, name, (allowed[-1].least, allowed[-1].most))
        host = self._problems.library.on_host(value, made.array)
        for each in allowed if host is not None else ():
            wrong = ~each.has(host)
            if wrong.any():
                place = int(wrong.nonzero()[0][0])
                raise BadInput(f"{name}[{place}]: expected {each.words}, found {plain(float(host[place]))}")
        self.values[name] = made

    def _number(self, where: str, value: Any, name: str = "") -> float:
        first, *others = ranges(name or where, self._compute)
        found = number(where, value, first.has, first.words)
        for each in others:
            if not each.has(found):
                raise BadInput(f"{where}: expected {each.words}, found {plain(found)}")
        return found

    def finish(self) -> dict[str, float | PerProblem]:
        """All arguments; if one is a vector, all are."""
        if any(isinstance(value, PerProblem) for value in self.values.values()):
            for name, value in self.values.items():
                if not isinstance(value, PerProblem):
                    self.values[name] = PerProblem(self._problems, [value] * self._problems.count, name)
        return self.values


def is_vector(value: Any) -> bool:
    """Whether an argument has one value for each problem."""
    return isinstance(value, (list, tuple)) or has_axes(value)
