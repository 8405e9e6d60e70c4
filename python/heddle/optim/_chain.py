"""Compositions of optimizers with what comes before them, and with each other.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from typing import overload

from .._values import short
from ..errors import BadInput
from ._chained import ChainedOptimizer
from ._optimizer import Optimizer, limit_of
from ._options import options_of
from ._tail import check, tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeVar

    AnyOptimizer = TypeVar("AnyOptimizer", bound=Optimizer)


@overload
def chain(
    *,
    check_finite: bool = False,
    accumulation: int = 1,
    clip_grad_norm: float | None = None,
    clip_grad_value: float | None = None,
    ema: float | None = None,
    zero_grad: bool = False,
    schedule: Mapping[str, Any] | str | None = None,
    optimizer: AnyOptimizer,
) -> AnyOptimizer: ...


@overload
def chain(
    *,
    check_finite: bool = False,
    accumulation: int = 1,
    clip_grad_norm: float | None = None,
    clip_grad_value: float | None = None,
    ema: float | None = None,
    zero_grad: bool = False,
    schedule: Mapping[str, Any] | str | None = None,
    optimizer: Sequence[Optimizer],
) -> ChainedOptimizer: ...


def chain(
    *,
    check_finite: bool = False,
    accumulation: int = 1,
    clip_grad_norm: float | None = None,
    clip_grad_value: float | None = None,
    ema: float | None = None,
    zero_grad: bool = False,
    schedule: Mapping[str, Any] | str | None = None,
    optimizer: Optimizer | Sequence[Optimizer],
) -> Optimizer:
    """Makes an optimizer do what surrounds its update in a training step, in the same program.

        optimizer = heddle.optim.chain(
            clip_grad_norm=1.0, ema=0.999, zero_grad=True, schedule={"kind": "cosine", "steps": 10000, "warmup": 100},
            optimizer=heddle.optim.AdamW(model.parameters()))
        norm = optimizer.step()

    It steps several optimizers together, with one norm, one scale and one decision to skip:

        optimizer = heddle.optim.chain(
            clip_grad_norm=1.0,
            optimizer=[heddle.optim.SGD(matrices, lr=0.02, momentum=0.95), heddle.optim.AdamW(others)])

    The order is: `check_finite`, unscaling by a GradScaler, `accumulation`, `clip_grad_norm` or `clip_grad_value`, the
    step, `ema`, `zero_grad`. A step that is skipped changes gradients only, and those if `zero_grad` is set.

    The norm is that of all gradients of the optimizer, also over several devices and process groups, as
    `torch.nn.utils.clip_grad_norm_` computes it. Gradients themselves are not changed, unless `zero_grad` is set. After
    unscaling by a GradScaler, the norm is that of the unscaled gradients.

    Args:
        check_finite: the step is skipped if some gradient is not finite, of any of the optimizers and processes. The
            device decides, so the host does not wait, and the norm is then not finite. A GradScaler skips such a step
            without it.
        accumulation: gradients are sums over this many backward passes, and are divided by it; a whole number.
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
        optimizer: an optimizer of heddle; or a list of several, of which each has parameters of its own. What
            `chain` adds holds for all, also in place of what an earlier call has added to one of them.

    Returns:
        `optimizer` itself, or a `ChainedOptimizer` of the list. With `clip_grad_norm`, ``optimizer.step()`` returns the
        norm before clipping, a tensor of one float64 on the device, without waiting; with a closure it returns the
        loss, and ``optimizer.grad_norm`` is the norm. Keep a `ChainedOptimizer`: when it is gone, its optimizers are as
        they were before.

    Raises:
        BadInput: `optimizer` is no optimizer of heddle, is one of a chain of several, or has no place for an argument;
            two optimizers have the same parameter; an argument has a wrong value; entries of a schedule contradict each
            other; or both ways to clip are given.
    """
    optimizers = _members(optimizer)
    if clip_grad_norm is not None and clip_grad_value is not None:
        raise BadInput("clip_grad_value: expected None beside clip_grad_norm, found both: give one of them")
    limit = limit_of(clip_grad_norm)
    added = tail(accumulation, clip_grad_value, ema, zero_grad, schedule, check_finite)
    for each in optimizers:
        check(type(each).spec, dict(options_of(each, each.param_groups[:1])), added)
    made = optimizer if isinstance(optimizer, Optimizer) else ChainedOptimizer(optimizers)
    made.clip_grad_norm = limit
    made._add_tail(added)
    return made


def _members(optimizer: Any) -> list[Optimizer]:
    """The optimizers that are stepped together."""
    if isinstance(optimizer, Optimizer):
        optimizer._refuse_in_chain("optimizer")
        return list(optimizer._owners)
    is_list = isinstance(optimizer, (list, tuple))
    given = {"optimizer": optimizer}
    if is_list:
        given = {f"optimizers[{place}]": each for place, each in enumerate(optimizer)}
    for name, each in given.items():
        if not isinstance(each, Optimizer):
            raise BadInput(
                f"{name}: expected an optimizer of heddle.optim{'' if is_list else ' or a list of them'}, found "
                f"{type(each).__module__}.{type(each).__qualname__}"
            )
    if not given:
        raise BadInput(f"optimizer: expected an optimizer of heddle.optim or a list of them, found {short(optimizer)}")
    # A chain in the list stands for its optimizers.
    members = [member for each in given.values() for member in each._owners]
    for place, each in enumerate(members):
        if any(each is other for other in members[:place]):
            raise BadInput(f"optimizer: expected each optimizer once, found {type(each).__name__} twice: leave one out")
    return members
