"""Optimal transport: POT's `solve` family over heddle's program `sinkhorn`.

    import heddle.ot, numpy

    M = numpy.random.default_rng(0).random((300, 200))
    result = heddle.ot.solve(M, reg=0.05)       # uniform weights
    result.value, result.plan, result.potentials, result.status

`solve` and `solve_batch` have the names and the arguments of POT, which GeomLoss shares, and its result without
`lazy_plan`, `sparse_plan` and `citation`. `sinkhorn` has the options of the program. All take arrays of any library (`heddle.arrays.view`) and return arrays of the caller's
library. docs/ot.md is the guide, with tables for users of POT, OTT and GeomLoss.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from ._cache import clear_cache
from ._result import NotSolved, OTResult, Status
from ._sinkhorn import sinkhorn
from ._solve import solve, solve_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["NotSolved", "OTResult", "Status", "clear_cache", "sinkhorn", "solve", "solve_batch"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker refuses names that do not exist

    def __getattr__(name: str) -> NoReturn:
        hint = "" if name.startswith("_") else f"; it has {', '.join(__all__)}. docs/ot.md maps the names of POT"
        raise AttributeError(f"module 'heddle.ot' has no attribute '{name}'{hint}")
