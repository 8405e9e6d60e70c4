"""Compositions of optimizers with what comes before them.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from ..errors import BadInput
from ._optimizer import Optimizer
from ._options import options_of
from ._tail import check, tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    AnyOptimizer = TypeVar("AnyOptimizer", bound=Optimizer)


def chain(
    *,
    accumulation: float = 1,
    clip_grad_norm: float | None = None,
    clip_grad_value: float | None = None,
    ema: float | None = None,
    zero_grad: bool = False,
    schedule: Mapping[str, Any] | str | None = None,
    optimizer: AnyOptimizer,
) -> AnyOptimizer:
    """Makes an optimizer do what surrounds its update in a training step, in the same program.

        optimizer = heddle.optim.chain(
            clip_grad_norm=1.0, ema=0.999, zero_grad=True, schedule={"kind": "cosine", "steps": 10000, "warmup": 100},
            optimizer=heddle.optim.AdamW(model.parameters()))
        norm = optimizer.step()

    The order is: unscaling by a GradScaler, `accumulation`, `clip_grad_norm` or `clip_grad_value`, the step, `ema`,
    `zero_grad`. A step that a GradScaler skips changes gradients only, and those if `zero_grad` is set.

    The norm is that of all gradients of the optimizer, also over several devices and process groups, as
    `torch.nn.utils.clip_grad_norm_` computes it. Gradients themselves are not changed, unless `zero_grad` is set. After
    unscaling by a GradScaler, the norm is that of the unscaled gradients.

    Args:
        accumulation: gradients are sums over this many backward passes, and are divided by it; at least 1, and finite.
        clip_grad_norm: the largest norm; None turns clipping off. ``optimizer.clip_grad_norm`` can be set later, and
            compiles nothing.
        clip_grad_value: the largest magnitude of an element of a gradient, as `torch.nn.utils.clip_grad_value_` limits it;
            infinity limits nothing.
        ema: the decay of an exponential moving average of the parameters, ``optimizer.state[param]["ema"]``, above 0 and
            below 1; None: there is none. It has the values of `torch.optim.swa_utils.AveragedModel`: the parameter after
            the first step that averages it, also if there were steps before. Parameters that a step skips are not
            averaged in it.
        zero_grad: the step sets gradients to zero after their last use, as ``zero_grad(set_to_none=False)``.
        schedule: the learning rate follows the step counter on the device, and ``lr`` of a group is its largest value:
            the name of a schedule, or a dictionary with its name, ``kind``, and the numbers ``warmup``, ``start``,
            ``steps``, ``end``, ``gamma`` and ``decay``, of which ``steps``, ``gamma`` and ``decay`` are above 0.
            docs/tail.md has the formulas.
        optimizer: an optimizer of heddle.

    Returns:
        `optimizer` itself. With `clip_grad_norm`, ``optimizer.step()`` returns the norm before clipping, a tensor of one
        float64 on the device, without waiting; with a closure it returns the loss, and ``optimizer.grad_norm`` is the norm.

    Raises:
        BadInput: `optimizer` is no optimizer of heddle, or has no place for an argument; an argument has a wrong value;
            entries of a schedule contradict each other; or both ways to clip are given.
    """
    if not isinstance(optimizer, Optimizer):
        raise BadInput(
            f"optimizer: expected an optimizer of heddle.optim, found {type(optimizer).__module__}."
            f"{type(optimizer).__qualname__}"
        )
    if clip_grad_norm is not None and clip_grad_value is not None:
        raise BadInput("clip_grad_value: expected None beside clip_grad_norm, found both: give one of them")
    added = tail(accumulation, clip_grad_value, ema, zero_grad, schedule)
    check(type(optimizer).spec, dict(options_of(optimizer, [0])), added)
    optimizer.clip_grad_norm = clip_grad_norm
    optimizer._add_tail(added)
    return optimizer
