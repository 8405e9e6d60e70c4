"""Optimizers whose parameters of evaluation are an average: the methods `train` and `eval`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._values import number
from ..errors import BadInput
from ._checks import check_state
from ._hyperparameters import read
from ._torch import local, torch
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
    if not all(group[_MODE] for group in optimizer.param_groups):
        raise RuntimeError(
            f"heddle.optim.{optimizer.spec.name}: expected the parameters of training, found the parameters of evaluation; call "
            "train() before the forward pass"
        )


def _switch(optimizer: Any, *, to_training: bool) -> None:
    """Moves each parameter along the line between the average and the state."""
    with optimizer._lock, torch.no_grad():
        moves = [
            (value, base, 1 - share if to_training else 1 - 1 / share)
            for place, group in enumerate(optimizer.param_groups)
            if group[_MODE] != to_training
            for value, base, share in _moved(optimizer, place)
        ]
        # Everything fits: nothing was written so far.
        for value, base, weight in moves:
            value.copy_(value.to(base.dtype).lerp_(base, weight) if value.dtype != base.dtype else value.lerp(base, weight))
        for group in optimizer.param_groups:
            group[_MODE] = to_training


def _moved(optimizer: Any, place: int) -> Iterator[tuple[Any, Any, float]]:
    """The parameters of a group that have been stepped, their state, and the share of the average."""
    key, name = optimizer.spec.average
    group = optimizer.param_groups[place]
    share = number(read(group, name, optimizer.spec.parts), name)
    if not 0 < share <= 1:
        raise BadInput(f"{name}: expected a number above 0 and at most 1 in group {place}, found {share}")
    for index, param in enumerate(group["params"]):
        base = peek(optimizer.state.get(param, {}), key)
        if base is None or _counts_no_step(optimizer.state[param]):
            continue
        what = f"state '{key}' of parameter {index} of group {place}"
        if not isinstance(base, torch.Tensor) or base.shape != param.shape or base.device != param.device:
            found = f"{tuple(base.shape)} on {base.device}" if isinstance(base, torch.Tensor) else type(base).__name__
            raise BadInput(f"{what}: expected a tensor of shape {tuple(param.shape)} on {param.device}, found {found}")
        check_state(what, local(base))
        yield local(param), local(base), share


def _counts_no_step(state: Any) -> bool:
    """Whether every step of a parameter was skipped, as GradScaler does: then its state has no values yet."""
    step = local(peek(state, "step"))
    if isinstance(step, torch.Tensor):
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
