"""Makes the parts of an optimizer: its parameters by device, options and sharding.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import operator

from ..errors import BadInput
from . import _norm, _programs, _stored_tensors
from ._groups import check_groups, params_of
from ._members import Member, member_name
from ._options import options_of, switches_of, truth
from ._part import Part
from ._seen import see
from ._torch import can_step, is_distributed, local, torch
from ._tracking import Changes, States

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._optimizer import Optimizer


def make_parts(optimizer: Optimizer, is_scaled: bool, *, captured: bool = False) -> list[Part]:
    """Checks the groups and makes their parts. The optimizer records what the parts were made for."""
    groups, spec = optimizer.param_groups, optimizer.spec
    check_groups(groups, spec)
    optimizer._absent = [name for name in spec.added if not any(name in group for group in groups)]
    keys = [name for name in (*spec.defaults, *spec.fixed) if name not in spec.ignored and name not in optimizer._absent]
    # The first key twice: itemgetter makes no tuple of one value. A rule may have no hyperparameter and no option.
    getter = operator.itemgetter(*keys, *keys[:1]) if keys else _nothing
    seen = [see(group, params_of(group, place), getter(group)) for place, group in enumerate(groups)]
    optimizer._check_groups()
    if is_scaled and spec.counted and not optimizer._counts_steps:
        optimizer._counts_steps = True
        optimizer._parts = {}  # they do not count
    if type(optimizer.state) is not States:
        if not isinstance(optimizer.state, dict):
            raise BadInput(f"state: expected a dictionary, found {type(optimizer.state).__name__}")
        optimizer.state = States(optimizer.state, Changes())
    buckets, skipped = _buckets(optimizer)
    clip = ""
    if optimizer._max_norm is not None:
        clip = "norm" if len(buckets) == 1 and next(iter(buckets))[1] is None else "sum"
    optimizer._getter, optimizer._seen, optimizer._skipped = getter, seen, skipped
    parts = [
        Part(
            spec,
            members,
            options_of(optimizer, sorted({member.group for member in members})),
            scaled=is_scaled,
            clip=clip,
            states=optimizer.state,
            hidden=optimizer._hidden,
            defaults=optimizer.defaults,
            reduction=key[1],
            captured=captured,
            first_blocks=lambda: _stored_tensors.first_blocks(groups),
        )
        for key, members in buckets.items()
    ]
    _check_reductions(spec.name, parts)
    return parts


def _buckets(optimizer: Optimizer) -> tuple[dict[Any, list[Member]], list[Any]]:
    """The parameters of each part, by device, sharding and options; and those that no program can update."""
    spec = optimizer.spec
    buckets: dict[Any, list[Member]] = {}
    skipped: list[Any] = []
    for place, group in enumerate(optimizer.param_groups):
        if truth(group.get("differentiable", False), "differentiable"):
            _check_differentiable(group["params"], spec.name)
        switches = switches_of(group, spec)
        for index, param in enumerate(group["params"]):
            name = member_name(group, index, place)
            if param.grad is None and not can_step(param):
                skipped.append(param)
                continue
            key = (local(param).device, _reduction(param), switches)
            buckets.setdefault(key, []).append(Member(param, place, name))
    for device, _, _ in buckets:
        if device.type not in ("cpu", "cuda") or torch.version.hip:
            raise BadInput(f"params: expected tensors on a CPU or an NVIDIA GPU, found {device}")
    return buckets, skipped


def _nothing(group: Mapping[str, Any]) -> tuple[Any, ...]:
    return ()


def _reduction(param: Any) -> Any:
    """Over which dimensions of its mesh a parameter is sharded: the norm of gradients is summed over them."""
    return _norm.reduction(param) if is_distributed(param) else None


def _check_reductions(name: str, parts: Sequence[Part]) -> None:
    """Refuses a rule that reduces over tensors of which its launch sees a part only."""
    for part in parts:
        is_split = part.reduction is not None and part.reduction.is_split()
        axes = _programs.reduced_axes(part.spec, part.form) if is_split or len(parts) > 1 else set()
        if is_split and axes:
            raise BadInput(
                f"params: heddle.optim.{name} reduces over whole tensors, such as to their norms, and does not support "
                "parameters that are sharded over several processes; use a rule that has no such reduction, or parameters "
                "that are replicated"
            )
        if "list" in axes and len(parts) > 1:
            raise BadInput(
                f"{name}: expected one launch for all parameters, found {len(parts)}: parameters are on several devices, or "
                "groups have different options. A reduction over all tensors would cover one of them: make an optimizer "
                "for each"
            )


def _check_differentiable(params: Sequence[Any], name: str) -> None:
    for param in params:
        if not param.is_leaf or (param.grad is not None and param.grad.requires_grad):
            raise NotImplementedError(
                f"heddle.optim.{name}: differentiable=True works for leaves whose gradients need no gradient; "
                "use torch.optim to differentiate through a step"
            )
