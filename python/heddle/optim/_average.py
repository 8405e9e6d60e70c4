"""Optimizers whose parameters of evaluation are an average: the methods `train` and `eval`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import itertools
from typing import NamedTuple

from .._refusals import REFUSALS
from .._turns import holding
from .._values import number
from ..errors import BadInput
from ._checks import check_large, check_memory, check_state
from ._groups import check_entries, check_groups, check_list, params_of, state_of
from ._hyperparameters import read
from ._naming import named_owners, naming
from ._torch import NAMES, local, real_dtype, torch
from ._tracking import peek

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ._optimizer import Optimizer
    from ._spec import Spec

#: The entry of a parameter group that says whether its parameters are those of training.
_MODE = "train_mode"


def entries(spec: Spec) -> dict[str, bool]:
    """The entries of every parameter group that `train` and `eval` need."""
    return {} if spec.average is None else {_MODE: True}


def check_training(optimizer: Optimizer, start: str = "") -> None:
    """Refuses a step of the parameters of evaluation; `start` is the `_naming.prefix` of the optimizer."""
    try:
        is_training = all(group[_MODE] for group in optimizer.param_groups)
    except REFUSALS:  # groups that the caller has damaged
        check_list(optimizer.param_groups)
        check_entries(optimizer.param_groups, (_MODE,))
        raise
    if is_training and not optimizer._moved:
        return
    found = "some of each, because train() or eval() was interrupted" if optimizer._moved else "the parameters of evaluation"
    raise RuntimeError(
        f"{start or f'heddle.optim.{optimizer.spec.name}: '}expected the parameters of training, found {found}; call train() before the "
        "forward pass"
    )


def switch(optimizer: Any, *, to_training: bool) -> None:
    """Moves each parameter of a schedule-free optimizer, or of those of a chain, along the line between the average and the
    state.

    Everything is checked before the first parameter moves: half of them moved would be neither of the two. For the same
    reason, an exception of a signal handler reaches the caller after the last parameter has moved. If there is another
    one until then, the next call moves the parameters that are left.
    """
    is_enabled = torch.is_grad_enabled()
    try:  # in place of no_grad(): an exception of a signal handler may come within it
        torch._C._set_grad_enabled(False)
        owners = optimizer._owners
        for each in owners:
            each._refuse_in_step("train and eval")
        holding((each._lock for each in owners), lambda: _switch_all(optimizer, to_training))
    finally:
        torch._C._set_grad_enabled(is_enabled)


def _switch_all(optimizer: Any, to_training: bool) -> None:
    moves = []
    for each, start in named_owners(optimizer):
        if each.spec.average is None:
            continue
        with naming(start):
            check_groups(each.param_groups, each.spec)
            check_entries(each.param_groups, (_MODE,))
            places = range(len(each.param_groups))
            moves.append((each, [move for place in places for move in _moves(each, place, to_training)]))
    try:
        for each, own in moves:
            _finish(each, own, to_training)
    except BaseException:
        for each, own in moves:
            # The exception may also come after the last move, when the record of the moves is empty again.
            if any(group[_MODE] != to_training for group in each.param_groups):
                _finish(each, own, to_training)
        raise


class _Move(NamedTuple):
    """A parameter that has been stepped, its state, and how far the parameter moves to it."""

    param: Any
    base: Any
    weight: float


def _finish(optimizer: Any, moves: Sequence[_Move], to_training: bool) -> None:
    """Moves the parameters that have not been moved yet. Each one moves together with the record of it."""
    moved = optimizer._moved
    for param, base, weight in moves:
        if id(param) in moved and moved[id(param)][1] == to_training:
            continue
        value = local(param)
        entry = {id(param): (param, to_training)}
        with torch.inference_mode(value.is_inference()), torch.no_grad():
            if value.dtype == base.dtype:
                write = map(torch.Tensor.lerp_, [value], [base], [weight])
            else:
                write = map(torch.Tensor.copy_, [value], [value.to(base.dtype).lerp_(base, weight)])
            _at_once(write, map(dict.update, [moved], [entry]))
    modes = map(dict.update, optimizer.param_groups, itertools.repeat({_MODE: to_training}))
    _at_once(modes, map(dict.clear, [moved]))


def _at_once(*calls: Iterator[Any]) -> None:
    """Makes the calls of functions of C. Python runs no signal handler in between."""
    collections.deque(itertools.chain(*calls), maxlen=0)


def _moves(optimizer: Any, place: int, to_training: bool) -> Iterator[_Move]:
    """The moves of the parameters of a group that are not in the mode."""
    key, name = optimizer.spec.average
    group = optimizer.param_groups[place]
    params = params_of(group, place)
    modes = [optimizer._moved.get(id(param), (param, group[_MODE]))[1] for param in params]
    if all(mode == to_training for mode in modes):
        return
    share = number(read(group, name, optimizer.spec.parts), name)
    if not 0 < share <= 1:
        raise BadInput(f"{name}: expected a number above 0 and at most 1 in group {place}, found {share}")
    for index, (param, mode) in enumerate(zip(params, modes)):
        if mode == to_training:
            continue
        state = state_of(optimizer.state, param)
        base, what = peek(state, key), f"parameter {index} of group {place}"
        if base is None or _counts_no_step(state, what):
            continue
        _check_moved(what, param)
        _check_base(f"state '{key}' of {what}", base, param)
        yield _Move(param, local(base), 1 - share if to_training else 1 - 1 / share)


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
    """Makes the parameters those of training. Only then a step is allowed; an optimizer starts so.

    Raises:
        BadInput: a parameter or its average does not fit; or the call is within a step.
    """
    switch(self, to_training=True)


def evaluate(self: Any) -> None:
    """Makes the parameters the average, for evaluation and for checkpoints.

    Raises:
        BadInput: as for `train`.
    """
    switch(self, to_training=False)


evaluate.__name__ = evaluate.__qualname__ = "eval"
METHODS = {"train": train, "eval": evaluate}
