"""Makes the parts of an optimizer, or of a chain of several: the parameters by device, sharding and options.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import functools
import operator

from ..errors import BadInput
from . import _join, _norm, _programs, _stored_tensors
from ._flags import truth
from ._groups import check_groups, params_of
from ._members import Member, member_name
from ._naming import named_owners, naming
from ._options import options_of, switches_of
from ._part import Part
from ._seen import see
from ._share import Share
from ._torch import can_step, is_distributed, local, torch
from ._tracking import Changes, States

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._optimizer import Optimizer


def make_parts(optimizer: Optimizer, is_scaled: bool, *, captured: bool = False) -> list[Part]:
    """Checks the groups and makes their parts. The optimizers record what the parts were made for."""
    owners = optimizer._owners
    for each, start in named_owners(optimizer):
        with naming(start):
            _see_groups(each)
        if (is_scaled or optimizer._tail.check_finite) and each.spec.counted and not each._counts_steps:
            each._counts_steps = True
            optimizer._parts = {}  # they do not count
    optimizer._check_members()
    _track(optimizer)
    buckets = _buckets(optimizer)
    is_one = len(buckets) == 1 and next(iter(buckets))[1] is None
    clip = "" if optimizer._max_norm is None else "norm" if is_one else "sum"
    check = "" if not optimizer._tail.check_finite else "own" if is_one else "given"
    parts = []
    for key, found in buckets.items():
        shares = []
        for place, ((owner, _), members) in enumerate(found.items()):
            with naming(members[0].prefix):
                share = Share(
                    owners[owner].spec,
                    members,
                    options_of(owners[owner], _groups_of(optimizer, members)),
                    scaled=is_scaled,
                    clip=clip,
                    check=check,
                    states=owners[owner].state,
                    hidden=owners[owner]._hidden,
                    defaults=owners[owner].defaults,
                    first_blocks=functools.partial(_stored_tensors.first_blocks, owners[owner].param_groups),
                    owner=owner,
                    ending=_join.ending(place) if len(found) > 1 else "",
                )
            shares.append(share)
        parts.append(Part(shares, owner=optimizer, reduction=key[1], captured=captured))
    _check_reductions(parts)
    return parts


def _see_groups(optimizer: Optimizer) -> None:
    """Checks the groups of one optimizer, and records them."""
    groups, spec = optimizer.param_groups, optimizer.spec
    check_groups(groups, spec)
    optimizer._absent = [name for name in spec.added if not any(name in group for group in groups)]
    keys = [name for name in (*spec.defaults, *spec.fixed) if name not in spec.ignored and name not in optimizer._absent]
    # The first key twice: itemgetter makes no tuple of one value. A rule may have no hyperparameter and no option.
    getter = operator.itemgetter(*keys, *keys[:1]) if keys else _nothing
    seen = [see(group, params_of(group, place), getter(group)) for place, group in enumerate(groups)]
    optimizer._check_groups()
    optimizer._seen, optimizer._getter = seen, getter
    optimizer._skipped = [
        param for group in groups for param in group["params"] if param.grad is None and not can_step(param)
    ]


def _track(optimizer: Optimizer) -> None:
    """Makes the states of the optimizers of one program count their changes together."""
    optimizers = optimizer._owners
    for each, start in named_owners(optimizer):
        if type(each.state) is not States and not isinstance(each.state, dict):
            raise BadInput(f"{start}state: expected a dictionary, found {type(each.state).__name__}")
    first = optimizers[0].state
    changes = first.changes if type(first) is States else Changes()
    for each in optimizers:
        if type(each.state) is not States:
            each.state = States(each.state, changes)
        elif each.state.changes is not changes:
            each.state.count_with(changes)


def _groups_of(optimizer: Optimizer, members: Sequence[Member]) -> list[dict[str, Any]]:
    groups = optimizer.param_groups
    return [groups[place] for place in sorted({member.group for member in members})]


def _buckets(optimizer: Optimizer) -> dict[Any, dict[Any, list[Member]]]:
    """The parameters of each part and share.

    A part has the parameters of one device and sharding. It has one share for each optimizer of a chain and each set of
    options. Without a chain, each set of options has a part of its own.
    """
    buckets: dict[Any, dict[Any, list[Member]]] = {}
    first = 0
    for owner, (each, start) in enumerate(named_owners(optimizer)):
        skipped = set(map(id, each._skipped))
        for place, group in enumerate(each.param_groups):
            with naming(start):
                if truth(group.get("differentiable", False), "differentiable"):
                    _check_differentiable(group["params"], each.spec.name)
                switches = switches_of(group, each.spec)
                for index, param in enumerate(group["params"]):
                    name = member_name(group, index, place)
                    if id(param) in skipped:
                        continue
                    key = (local(param).device, _reduction(param), None if optimizer._joins else switches)
                    share = buckets.setdefault(key, {}).setdefault((owner, switches), [])
                    share.append(Member(param, first + place, name, start))
        first += len(each.param_groups)
    for device, _, _ in buckets:
        if device.type not in ("cpu", "cuda") or torch.version.hip:
            raise BadInput(f"params: expected tensors on a CPU or an NVIDIA GPU, found {device}")
    return buckets


def _nothing(group: Mapping[str, Any]) -> tuple[Any, ...]:
    return ()


def _reduction(param: Any) -> Any:
    """Over which dimensions of its mesh a parameter is sharded: the norm of gradients is summed over them."""
    return _norm.reduction(param) if is_distributed(param) else None


def _check_reductions(parts: Sequence[Part]) -> None:
    """Refuses a rule that reduces over tensors of which its launch sees a part only."""
    counts = collections.Counter(share.owner for part in parts for share in part.shares)
    for part in parts:
        is_split = part.reduction is not None and part.reduction.is_split()
        for share in part.shares:
            count, name = counts[share.owner], share.spec.name
            axes = _programs.reduced_axes(share.spec, share.form) if is_split or count > 1 else set()
            if is_split and axes:
                raise BadInput(
                    f"{share.prefix}params: heddle.optim.{name} reduces over whole tensors, such as to their norms, and does not support "
                    "parameters that are sharded over several processes; use a rule that has no such reduction, or "
                    "parameters that are replicated"
                )
            if "list" in axes and count > 1:
                raise BadInput(
                    f"{share.prefix or f'{name}: '}expected one launch for all parameters, found {count}: parameters are on several devices, or "
                    "groups have different options. A reduction over all tensors would cover one of them: make an "
                    "optimizer for each"
                )


def _check_differentiable(params: Sequence[Any], name: str) -> None:
    for param in params:
        if not param.is_leaf or (param.grad is not None and param.grad.requires_grad):
            raise NotImplementedError(
                f"heddle.optim.{name}: differentiable=True works for leaves whose gradients need no gradient; "
                "use torch.optim to differentiate through a step"
            )
