"""Checks the values of eps of each iteration, the argument `anneal`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math

from .._values import plain
from ..errors import BadInput
from ._inputs import PerProblem, refuse_derivative
from ._scalars import ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._inputs import Problems, Vectors


def check_epsilons(problems: Problems, given: Vectors, eps: float | PerProblem, compute: str) -> None:
    """Refuses values that are not positive or too large, and vectors that end above eps. Nothing waits for a GPU.

    Args:
        problems: the costs.
        given: the values, one vector for each problem or one for all.
        eps: the last eps.
        compute: the compute type.

    Raises:
        BadInput: a value on the host is wrong, or needs a gradient.
    """
    library = problems.library
    last: Any = eps
    if isinstance(eps, PerProblem):
        last = library.host(eps.array) if library.place.target == "cpu" else None
    for place, (argument, array) in enumerate(zip(given.given, given.arrays)):
        refuse_derivative("anneal" if given.shared else f"anneal[{place}]", argument)
        values = library.on_host(argument, array)
        if values is None:
            continue
        for row, vector in enumerate(values if values.ndim == 2 else [values]):
            index = place + row
            name = "anneal" if given.shared else f"anneal[{index}]"
            _check(name, vector, ranges("eps", compute)[-1].most)
            bound = last
            if isinstance(eps, PerProblem) and last is not None:
                if not last.size:
                    continue
                bound = float(last.min() if given.shared else last[index])
            if bound is not None and vector[-1] > bound:
                raise BadInput(
                    f"{name}: expected a last value of at most eps, {plain(bound)}, because later iterations use it, "
                    f"found {plain(float(vector[-1]))}"
                )


def _check(name: str, vector: Any, most: float) -> None:
    import numpy

    if not vector.size:
        raise BadInput(f"{name}: expected at least one value of eps, found none")
    wrong = numpy.flatnonzero(~(numpy.isfinite(vector) & (vector > 0)))
    if wrong.size:
        place = int(wrong[0])
        raise BadInput(f"{name}: expected positive numbers, found {plain(float(vector[place]))} at {place}")
    place = int(vector.argmax())
    if vector[place] > most:
        raise BadInput(
            f"{name}: expected numbers of at most 2^{math.frexp(most)[1] - 1}, found {plain(float(vector[place]))} at {place}"
        )
