"""Optimizers whose parameters of evaluation are an average: the methods `train` and `eval`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._refusals import REFUSALS
from .._values import number
from ..errors import BadInput
from ._checks import check_large, check_memory, check_state
from ._groups import check_entries, check_groups, check_list, params_of, state_of
from ._hyperparameters import read
from ._torch import NAMES, copy_into, local, real_dtype, torch
from ._tracking import peek

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._optimizer import Optimizer
    from ._spec import Spec

#: The entry of a parameter group that says whether its parameters are those of training.
_MODE = "train_mode"


def entries(spec: Spec) -> dict[str, bool]:
    """The entries of every parameter group that `train` and `eval` need."""
    return {} if spec.average is None else {_MODE: True}


def check_training(optimizer: Optimizer) -> None:
    try:
        is_training = all(group[_MODE] for group in optimizer.param_groups)
    except REFUSALS:  # groups that the caller has damaged
        check_list(optimizer.param_groups)
        check_entries(optimizer.param_groups, (_MODE,))
        raise
    if not is_training:
        raise RuntimeError(
            f"heddle.optim.{optimizer.spec.name}: expected the parameters of training, found the parameters of evaluation; call "
            "train() before the forward pass"
        )


def _switch(optimizer: Any, *, to_training: bool) -> None:
    """Moves each parameter along the line between the average and the state.

    Everything is checked before the first parameter moves: half of them moved would be neither of the two.
    """
    with optimizer._lock, torch.no_grad():
        groups = optimizer.param_groups
        check_groups(groups, optimizer.spec)
        check_entries(groups, (_MODE,))
        moves = [
            (value, base, 1 - share if to_training else 1 - 1 / share)
            for place, group in enumerate(groups)
            if group[_MODE] != to_training
            for value, base, share in _moved(optimizer, place)
        ]
        for value, base, weight in moves:
            is_other = value.dtype != base.dtype
            copy_into(value, value.to(base.dtype).lerp_(base, weight) if is_other else value.lerp(base, weight))
        for group in groups:
            group[_MODE] = to_training


def _moved(optimizer: Any, place: int) -> Iterator[tuple[Any, Any, float]]:
    """The parameters of a group that have been stepped, their state, and the share of the average."""
    key, name = optimizer.spec.average
    group = optimizer.param_groups[place]
    share = number(read(group, name, optimizer.spec.parts), name)
    if not 0 < share <= 1:
        raise BadInput(f"{name}: expected a number above 0 and at most 1 in group {place}, found {share}")
    for index, param in enumerate(params_of(group, place)):
        state = state_of(optimizer.state, param)
        base, what = peek(state, key), f"parameter {index} of group {place}"
        if base is None or _counts_no_step(state, what):
            continue
        _check_moved(what, param)
        _check_base(f"state '{key}' of {what}", base, param)
        yield local(param), local(base), share


def _check_moved(what: str, param: Any) -> None:
    """Refuses a parameter that cannot be written, or is no real number."""
    shard = local(param)
    check_state(what, shard)
    check_memory(what, shard, written=True)
    if real_dtype(shard.dtype) not in NAMES:
        raise BadInput(f"{what}: expected dtype float64, float32, float16, bfloat16 or complex, found {shard.dtype}")
    check_large(what, shard, shard.dtype)


def _check_base(what: str, base: Any, param: Any) -> None:
    """Refuses state to which a parameter cannot be moved."""
    if not isinstance(base, torch.Tensor):
        found = type(base).__name__
        raise BadInput(f"{what}: expected a tensor of shape {tuple(param.shape)} on {param.device}, found {found}")
    shard = local(base)
    check_state(what, shard)
    for found, expected in ((base, param), (shard, local(param))):
        if found.shape != expected.shape or found.device != expected.device:
            raise BadInput(
                f"{what}: expected a tensor of shape {tuple(expected.shape)} on {expected.device}, found "
                f"{tuple(found.shape)} on {found.device}"
            )
    check_large(what, shard, param.dtype)


def _counts_no_step(state: Any, what: str) -> bool:
    """Whether every step of a parameter was skipped, as GradScaler does: then its state has no values yet."""
    step = local(peek(state, "step"))
    if isinstance(step, torch.Tensor):
        check_state(f"state 'step' of {what}", step)
        return step.numel() == 1 and not step.any()
    return isinstance(step, (int, float)) and step == 0


def train(self: Any) -> None:
    """Makes the parameters those of training. Only then a step is allowed; an optimizer starts so."""
    _switch(self, to_training=True)


def evaluate(self: Any) -> None:
    """Makes the parameters the average, for evaluation and for checkpoints."""
    _switch(self, to_training=False)


evaluate.__name__ = evaluate.__qualname__ = "eval"
METHODS = {"train": train, "eval": evaluate}
