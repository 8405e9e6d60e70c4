"""Compares the results of a run with the reference interpreter, for ``python -m heddle run --check``.

The rules are those of `heddle run --check` (tools/heddle/RunCheck.cpp). Each element has a range: its values in all
evaluations whose operations are within their documented accuracy. In loops, ranges grow without limit, so some
evaluations with random errors say how far an element moves.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import math

import numpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._reference import Reference

#: The relative error of one unit in the last place, and the smallest normal number; integers have none.
_UNITS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
_NORMALS = {"f64": 2.0**-1022, "f32": 2.0**-126, "f16": 2.0**-14, "bf16": 2.0**-126}

#: If both ends of a range are at most so many units from the exact value, the range suffices.
_TIGHT = 256
#: Errors below this share of the values grow in proportion to the errors of operations.
_LINEAR = 1 / 64
#: Numbers of iterations that differ by more than this share, and by more than 2, say nothing about other runs.
_MANY_ITERATIONS = 1 / 8
#: A panel loop on a GPU uses the hardware's base-2 exponential and sums about shifts.
_PANEL_FACTOR = 8


@dataclasses.dataclass
class ResultCheck:
    """The comparison of one result."""

    name: str
    unit: float  #: 0 for integers
    is_of_tensors: bool
    is_fill: bool  #: whether the program sets all elements to a constant
    elements: int = 0
    outside: int = 0  #: elements outside of their range
    unknown: int = 0  #: elements that may be anything
    not_numbers: int = 0  #: elements that are NaN as expected
    largest_share: float = 0.0  #: of a range; above 1, the element is outside
    error_squares: float = 0.0
    value_squares: float = 0.0
    wrong: str = ""  #: the first element outside
    lowest: float = math.inf  #: of the exact values
    highest: float = -math.inf

    @property
    def checked(self) -> int:
        return self.elements - self.unknown - self.not_numbers

    @property
    def is_constant(self) -> bool:
        """Whether vectors or matrices have one number throughout, which most errors do not change."""
        return self.is_of_tensors and self.elements > 1 and not self.lowest < self.highest

    @property
    def is_empty(self) -> bool:
        """Whether there is no element that could be compared."""
        return self.elements == 0

    @property
    def is_checked(self) -> bool:
        says = self.is_fill or not self.is_constant
        return self.is_empty or (says and self.checked * 10 >= self.elements)

    def holds(self, allow_unchecked: bool) -> bool:
        return self.outside == 0 and (self.is_checked or allow_unchecked)

    def verdict(self, allow_unchecked: bool) -> str:
        if self.is_empty:
            return "empty"
        return "passed" if self.holds(allow_unchecked) else "FAILED" if self.is_checked else "UNCHECKED"

    @property
    def rms_error(self) -> float:
        """In units in the last place of the RMS value; of integers, itself."""
        unit = self.unit * math.sqrt(self.value_squares) if self.unit else math.sqrt(self.elements)
        return math.sqrt(self.error_squares) / unit if self.error_squares else 0.0

    def notes(self) -> list[str]:
        """Facts that a table does not show."""
        lines = []
        of_all = f"of {self.elements:,} {'element' if self.elements == 1 else 'elements'}"
        if self.outside:
            lines.append(f"{self.outside:,} {of_all} outside of the range; {self.wrong}")
        if self.not_numbers:
            lines.append(f"{self.not_numbers:,} {of_all} NaN, as expected")
        if self.unknown:
            lines.append(f"{self.unknown:,} {of_all} may be anything, because rounding decides")
        if not self.checked and self.elements:
            lines.append("no element could be checked (--allow-unchecked accepts this)")
        elif not self.is_checked:
            why = "all elements are equal" if self.is_constant else f"only {self.checked:,} {of_all} could be checked"
            lines.append(f"{why}, so the check says little (--allow-unchecked accepts this)")
        return [f"'{self.name}': {line}" for line in lines]


def compare_nothing(checks: Sequence[ResultCheck]) -> bool:
    """Whether all vectors and matrices are empty, or all results if the program returns no vectors and matrices."""
    of_tensors = any(check.is_of_tensors for check in checks)
    return all(check.is_empty or check.is_of_tensors != of_tensors for check in checks)


class _Allowance:
    """The values that the elements of one member of a result may have."""

    def __init__(self, evaluations: Sequence[Reference], index: int, member: int, dtype: str, in_panels: bool) -> None:
        self.exact, self.low, self.high = evaluations[0].result(index, member)
        self.unit = _UNITS.get(dtype, 0.0)
        if in_panels:
            self.low = self.exact - _PANEL_FACTOR * (self.exact - self.low)
            self.high = self.exact + _PANEL_FACTOR * (self.high - self.exact)
        self.spread: Any = None
        if len(evaluations) > 1:
            self.spread = numpy.zeros(self.exact.size)
            for evaluation in evaluations[1:]:
                self._include(evaluation.result(index, member)[0])
            finite = self.spread[numpy.isfinite(self.spread)]
            # The largest error of one element in a few evaluations is random; the RMS of all doubles it.
            self.spread += math.sqrt(float(numpy.sum(finite**2)) / max(1, self.exact.size))
        finite = self.exact[numpy.isfinite(self.exact)]
        self.scale = math.sqrt(float(numpy.mean(finite**2))) if finite.size else 0.0
        self.ulp = self.unit * numpy.maximum(numpy.abs(self.exact), _NORMALS.get(dtype, 0.0))

    def _include(self, perturbed: Any) -> None:
        if perturbed.size != self.exact.size:
            return
        error = numpy.abs(perturbed - self.exact)
        same = (perturbed == self.exact) | (numpy.isnan(perturbed) & numpy.isnan(self.exact))
        error = numpy.where(same, 0.0, numpy.where(numpy.isnan(error), math.inf, error))
        self.spread = numpy.maximum(self.spread, error)

    def chaotic(self) -> Any:
        """The elements whose errors grew until they do not bound others."""
        if self.spread is None:
            return numpy.zeros(self.exact.size, bool)
        size = numpy.abs(self.exact)
        if self.unit:
            return self.spread > _LINEAR * numpy.fmax(size, self.scale)
        return self.spread > numpy.fmax(2.0, _MANY_ITERATIONS * size)

    def anything(self) -> Any:
        """The elements whose range is every number."""
        return numpy.isinf(self.low) & numpy.isinf(self.high) & (self.low < self.high)

    def range(self) -> tuple[Any, Any]:
        low, high = self.low, self.high
        if self.spread is None:
            return low, high
        is_tight = numpy.maximum(self.exact - low, high - self.exact) <= _TIGHT * self.ulp
        distance = self.spread + self.ulp
        near_low = numpy.fmax(low, self.exact - distance)
        near_high = numpy.fmin(high, self.exact + distance)
        # An element that is NaN, and is so in all evaluations, must be NaN.
        lost = numpy.isnan(self.exact)
        near_low = numpy.where(lost, numpy.where(distance == 0, self.exact, low), near_low)
        near_high = numpy.where(lost, numpy.where(distance == 0, self.exact, high), near_high)
        keep = is_tight | (low == high)
        return numpy.where(keep, low, near_low), numpy.where(keep, high, near_high)

    def may_be(self, found: Any, member_is_chaotic: bool) -> Any:
        """The elements for which rounding decides whether they are as found."""
        if self.spread is None:
            return numpy.zeros(self.exact.size, bool)
        faithful = self.anything() | ((self.low <= found) & (found <= self.high))
        other = numpy.full(self.exact.size, self.unit == 0) | ~numpy.isfinite(found)
        return faithful & (self.chaotic() | (other & member_is_chaotic))


def _compare(allowance: _Allowance, is_chaotic: bool, found: Any, member: int, check: ResultCheck) -> None:
    exact, (low, high) = allowance.exact, allowance.range()
    check.elements += exact.size
    numbers = exact[~numpy.isnan(exact)]
    if numbers.size:
        check.lowest, check.highest = min(check.lowest, numbers.min()), max(check.highest, numbers.max())
    lost = numpy.isnan(found) & numpy.isnan(exact)
    anything = numpy.isinf(low) & numpy.isinf(high) & (low < high) & ~lost
    finite = numpy.isfinite(exact) & numpy.isfinite(found) & ~lost & ~anything
    check.error_squares += float(numpy.sum((found - exact)[finite] ** 2))
    check.value_squares += float(numpy.sum(exact[finite] ** 2))
    inside = (low <= found) & (found <= high)
    left = ~lost & ~anything & (found != exact)
    undecided = left & ~inside & allowance.may_be(found, is_chaotic)
    check.not_numbers += int(lost.sum())
    check.unknown += int(anything.sum() + undecided.sum())
    left &= ~undecided
    end = numpy.where(found < exact, exact - low, high - exact)
    share = numpy.where(end > 0, numpy.abs(found - exact) / end, math.inf)
    share = numpy.where(numpy.isnan(share), math.inf, share)
    share = numpy.where(inside, share, numpy.maximum(share, 1.001))
    if not left.any():
        return
    check.largest_share = max(check.largest_share, float(share[left].max()))
    outside = numpy.flatnonzero(left & (share > 1))
    if outside.size and not check.outside:
        k = outside[0]
        check.wrong = (
            f"the first is element {k} of member {member}: {found[k]:.9g}, "
            f"expected {exact[k]:.9g} ({low[k]:.9g} to {high[k]:.9g})"
        )
    check.outside += outside.size


def _nodes(nodes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*nodes, *(inner for node in nodes for inner in _nodes(node.get("body", {}).get("nodes", ())))]


def _perturbations(longest: int) -> tuple[int, float]:
    """The number of perturbed evaluations, each of which holds a copy of all lists, and the errors in units."""
    for limit, count, ulps in ((1 << 16, 16, 1.0), (1 << 20, 8, 2.0), (1 << 23, 4, 4.0)):
        if longest < limit:
            return count, ulps
    return 2, 8.0


def check_results(
    plan: dict[str, Any],
    on_cpu: bool,
    longest: int,
    evaluate: Callable[[int | None, float], Reference],
    results: Sequence[tuple[str, str, bool, bool, Sequence[Any]]],
) -> list[ResultCheck]:
    """The comparison of each result.

    Args:
        plan: the plan of the program.
        longest: the number of elements of the longest list argument.
        evaluate: evaluates all steps, with a seed and the errors of operations in units, or exactly.
        results: the name, the element type, whether it is a list of tensors, whether the program sets it to a
            constant, and the elements of each member.
    """
    nodes = _nodes(plan["nodes"])
    in_panels = not on_cpu and any("panel" in node for node in nodes)
    evaluations = [evaluate(None, 0.0)]
    if any(node["kind"] == "while" for node in nodes):
        count, ulps = _perturbations(longest)
        evaluations += [evaluate(seed, ulps * (4 if in_panels else 1)) for seed in range(count)]
    with numpy.errstate(all="ignore"):
        allowances = [
            [_Allowance(evaluations, index, member, dtype, in_panels) for member in range(len(members))]
            for index, (_, dtype, _, _, members) in enumerate(results)
        ]
        # The members in whose loops errors grow; a scalar concerns all.
        chaotic = {k for each in allowances for k, allowance in enumerate(each) if allowance.chaotic().any()}
        checks = []
        for (name, dtype, is_of_tensors, is_fill, members), allowed in zip(results, allowances):
            check = ResultCheck(name, _UNITS.get(dtype, 0.0), is_of_tensors, is_fill)
            for member, (found, allowance) in enumerate(zip(members, allowed)):
                is_chaotic = member in chaotic if len(members) > 1 else bool(chaotic)
                _compare(allowance, is_chaotic, found, member, check)
            checks.append(check)
    return checks
