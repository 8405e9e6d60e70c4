"""Gradients of the value for PyTorch, by the envelope theorem.

At the solution, the dual problem has a maximum over the potentials. So the derivative of its value with respect to the
costs and weights is its partial derivative at fixed potentials (Danskin 1967; for entropic transport: Feydy et al. 2019,
proposition 2):

    d value / d M = P
    d value / d a = the derivative of the dual by a, with f of the soft transform, which also exists where a is 0

If both sums must match, the potentials are determined up to f + c, g - c, and so are the gradients by a and b. The
constant is chosen so that sum a f = sum b g.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import sys

from ..errors import Unavailable
from ._inputs import PerProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._problem import Problem
    from ._result import OTResult

torch: Any = sys.modules["torch"]


class _Value(torch.autograd.Function):  # type: ignore[misc]
    """The value, as a function of the tensors that need a gradient."""

    @staticmethod
    def forward(ctx: Any, result: OTResult, *inputs: Any) -> Any:
        ctx.result = result
        return result._plain_value().clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        result: OTResult = ctx.result
        gradients = _gradients(result, grad)
        if torch.is_grad_enabled():  # create_graph
            gradients = [
                None if gradient is None else _WithoutGradient.apply("the gradient of OTResult.value", gradient, *result._inputs)
                for gradient in gradients
            ]
        return (None, *gradients)


class _WithoutGradient(torch.autograd.Function):  # type: ignore[misc]
    """A tensor through which no gradient is computed: asking for one is an error."""

    @staticmethod
    def forward(ctx: Any, name: str, tensor: Any, *inputs: Any) -> Any:
        ctx.name = name
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        raise Unavailable(
            f"{ctx.name} has no gradient: only OTResult.value has one, of first order. Use detach(), or solve with "
            "grad='detach', if none is needed"
        )


def value(result: OTResult) -> Any:
    """The value with its gradient, whatever the mode is now: the solve has recorded one."""
    with torch.enable_grad():
        return _Value.apply(result, *result._inputs)


def without_gradient(name: str, found: Any, inputs: Sequence[Any]) -> Any:
    """A result, through which asking for a gradient by the inputs is an error."""
    if isinstance(found, list):
        return [without_gradient(name, member, inputs) for member in found]
    with torch.enable_grad():  # as for the value
        return _WithoutGradient.apply(f"OTResult.{name}", found, *inputs)


def _gradients(result: OTResult, grad: Any) -> list[Any]:
    """The gradients by the tensors that need one, in the order of `OTResult._inputs`."""
    problem = result._problem
    problem.check_unchanged()
    problems, single = problem.problems, problem.problems.form == "single"
    # One entry for each problem.
    steps = [grad] if single else list(grad)
    found: dict[int, Any] = {}

    def add(index: int, tensor: Any, gradients: list[Any], batched: bool) -> None:
        made = (torch.stack(gradients) if gradients else torch.zeros_like(tensor)) if batched else gradients[0]
        made = made.reshape(tensor.shape).to(tensor.dtype)
        found[index] = found[index] + made if index in found else made

    position = {id(tensor): index for index, tensor in enumerate(result._inputs)}
    if any(id(tensor) in position for tensor in problems.given):
        result._output("plan")
        block = result._unchanged("plan")
        factors = [_number(problem, "eps", index) for index in range(problems.count)]
        plans = []
        for index, step in enumerate(steps):
            plan = block.of(index)
            if problems.by_columns != problems.is_turned:
                plan = plan.T
            is_cost = problem.options.get("matrix", "cost") == "cost"
            plans.append(step * plan if is_cost else -factors[index] * step * plan)
        if problems.form == "list":
            for tensor, gradient in zip(problems.given, plans):
                if id(tensor) in position:
                    add(position[id(tensor)], tensor, [gradient], batched=False)
        else:
            add(position[id(problems.given[0])], problems.given[0], plans, batched=not single)

    sides = [problem.a, problem.b]
    if any(id(tensor) in position for side in sides for tensor in side.given):
        pairs = [_weight_gradients(result, index) for index in range(problems.count)]
        for axis, side in enumerate(sides):
            gradients = [step * pair[axis] for step, pair in zip(steps, pairs)]
            if not side.shared and not side.is_stacked:
                for tensor, gradient in zip(side.given, gradients):
                    if id(tensor) in position:
                        add(position[id(tensor)], tensor, [gradient], batched=False)
            elif side.given and id(side.given[0]) in position:
                tensor = side.given[0]
                if side.shared:
                    gradients = [sum(gradients[1:], gradients[0])] if gradients else [torch.zeros_like(tensor)]
                add(position[id(tensor)], tensor, gradients, batched=not side.shared)
    return [found.get(index) for index in range(len(result._inputs))]


def _number(problem: Problem, name: str, index: int) -> Any:
    """A scalar argument of one problem; None if it is not given."""
    given = problem.scalars.get(name)
    return given.array[index] if isinstance(given, PerProblem) else given


def _weight_gradients(result: OTResult, index: int) -> list[Any]:
    """The derivatives of the value of one problem by its weights a and b."""
    problem = result._problem
    options = problem.options
    result._output("transform_a")
    eps = _number(problem, "eps", index)
    rhos = [_number(problem, "rho_a", index), _number(problem, "rho_b", index)]
    is_entropy = options.get("regularizer", "kl") == "entropy"
    # The weights as the formulas use them, and as the caller gave them.
    given = [problem.a.of(index), problem.b.of(index)]
    weights = [side.exp() if options.get("weights") == "log" else side for side in given]
    sums = [side.sum() for side in weights]
    if "normalize" in options:
        weights = [side / mass for side, mass in zip(weights, sums)]
    masses = [side.sum() for side in weights]

    gradients = []
    for axis, name in enumerate(("transform_a", "transform_b")):
        f = result._results[name].of(index)
        if is_entropy:
            f = f + eps * weights[axis].log()
        gradients.append(_side(f, eps, rhos[axis], None if is_entropy else masses[1 - axis]))
    if rhos[0] is None and rhos[1] is None:
        if is_entropy:  # the value contains eps sum P, and sum P = sum a = sum b
            gradients = [gradient + eps / 2 for gradient in gradients]
        shares = [_dot(side, gradient) / mass for side, gradient, mass in zip(weights, gradients, masses)]
        half = (shares[1] - shares[0]) / 2
        gradients = [gradients[0] + half, gradients[1] - half]
    for axis, weight in enumerate(weights):
        if "normalize" in options:
            gradients[axis] = (gradients[axis] - _dot(weight, gradients[axis])) / sums[axis]
        if options.get("weights") == "log":
            gradients[axis] = _product(given[axis].exp(), gradients[axis])
    return gradients


def _side(f: Any, eps: Any, rho: Any, mass: Any) -> Any:
    """The derivative of the dual by the weights of a side, with f of the soft transform.

    `rho` is None if the sums must match; `mass` is the mass of the other side with the regularizer KL, else None.
    """
    if rho is not None and math.isinf(float(rho)):
        rho = None
    # The mass of a row of the plan over its weight.
    ratio = 1.0 if rho is None else torch.exp(-f / (rho + eps))
    gain = f if rho is None else -rho * torch.expm1(-f / (rho + eps))
    return gain if mass is None else gain - eps * (ratio - mass)


def _product(weight: Any, x: Any) -> Any:
    """weight x, and 0 where the weight is 0, even if x is infinite."""
    return torch.where(weight == 0, torch.zeros_like(weight), weight * x)


def _dot(weight: Any, x: Any) -> Any:
    return _product(weight, x).sum()
