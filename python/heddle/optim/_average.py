"""Optimizers whose parameters of evaluation are an average: the methods `train` and `eval`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from ._hyperparameters import read
from ._torch import local, torch
from ._tracking import peek

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    key, name = optimizer.spec.average
    with torch.no_grad():
        for group in optimizer.param_groups:
            if group[_MODE] == to_training:
                continue
            share = float(read(group, name, optimizer.spec.parts))
            weight = 1 - share if to_training else 1 - 1 / share
            for param in group["params"]:
                base = peek(optimizer.state.get(param, {}), key)
                if base is None:
                    continue
                value, base = local(param), local(base)
                value.copy_(value.to(base.dtype).lerp_(base, weight) if value.dtype != base.dtype else value.lerp(base, weight))
            group[_MODE] = to_training


def train(self: Any) -> None:
    """Makes the parameters those of training. Only then a step is allowed; an optimizer starts so."""
    _switch(self, to_training=True)


def evaluate(self: Any) -> None:
    """Makes the parameters the average, for evaluation and for checkpoints."""
    _switch(self, to_training=False)


evaluate.__name__ = evaluate.__qualname__ = "eval"
METHODS = {"train": train, "eval": evaluate}
