"""Loads state dictionaries and copies: checks before PyTorch's own load, and what it leaves to be done.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
from typing import NamedTuple

from ..errors import BadInput
from . import _average, _begun, _masters
from ._loaded import check_form, check_states, check_values
from ._origin import check_origin
from ._tail import Tail
from ._torch import copy_into, is_distributed, torch
from ._tracking import peek

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ._optimizer import Optimizer


def load(optimizer: Optimizer, state_dict: dict[str, Any], of_torch: Callable[[dict[str, Any]], None]) -> None:
    """Loads a state dictionary with PyTorch's method, `of_torch`.

    An exception of a signal handler reaches the caller when the state is that before, or when all of it is loaded.

    Raises:
        BadInput: the state does not fit. Nothing is written.
    """
    check_form(state_dict)
    entries = _masters.stored_entries(optimizer.param_groups)
    given: list[Any] = []
    state = optimizer.state

    def check(_: Any, loaded: dict[str, Any]) -> None:
        given.append(loaded)  # what the caller's hooks have made of it
        check_form(loaded)
        _check(optimizer, loaded)

    def restore(_: Any) -> None:
        _restore(optimizer, entries, given[-1])

    # After the caller's hooks before the load, and before those after it.
    before = optimizer.register_load_state_dict_pre_hook(check)
    after = optimizer.register_load_state_dict_post_hook(restore, prepend=True)
    try:
        of_torch(state_dict)
    except BaseException:
        if optimizer.state is not state:
            restore(optimizer)
        raise
    finally:
        before.remove()
        after.remove()


def _check(optimizer: Optimizer, loaded: Mapping[str, Any]) -> None:
    """Refuses state that does not fit."""
    check_origin(optimizer, loaded)
    check_values(optimizer, loaded)
    check_states(optimizer, loaded)
    if optimizer.spec.stores:
        _masters.check_loaded(optimizer, loaded)


def _restore(optimizer: Optimizer, entries: Sequence[Mapping[str, Any]], loaded: Mapping[str, Any]) -> None:
    """Completes a load; `entries` are those of storage of each group before it."""
    _restore_values(optimizer, loaded)
    if optimizer.spec.stores:
        _masters.restore(optimizer, entries, loaded)


class Converted(NamedTuple):
    """A state dictionary that fits an optimizer, and has not been loaded."""

    optimizer: Optimizer
    loaded: Mapping[str, Any]
    #: What PyTorch has made of it for the optimizer.
    attributes: dict[str, Any]
    entries: Sequence[Mapping[str, Any]]

    def set(self) -> None:
        """Loads it. After an exception, another call loads all of it."""
        # Entries are replaced in what is set: another call needs those of PyTorch again.
        states = {key: dict(state) if isinstance(state, dict) else state for key, state in self.attributes["state"].items()}
        self.optimizer.__setstate__({**self.attributes, "state": collections.defaultdict(dict, states)})
        _restore(self.optimizer, self.entries, self.loaded)


def convert(optimizer: Optimizer, loaded: dict[str, Any]) -> Converted:
    """Does everything of a load that can fail. It calls the hooks of the optimizer.

    Raises:
        BadInput: the state does not fit.
    """
    _check(optimizer, loaded)
    found, expected = ([len(group["params"]) for group in groups] for groups in (loaded["param_groups"], optimizer.param_groups))
    if found != expected:
        raise BadInput(
            f"state_dict: expected parameter groups of {type(optimizer).__name__} with {expected} parameters, found {found}"
        )
    made: list[dict[str, Any]] = []
    # PyTorch copies and converts everything, and passes the result to this method at its end.
    vars(optimizer)["__setstate__"] = made.append
    try:
        torch.optim.Optimizer.load_state_dict(optimizer, loaded)
    finally:
        del vars(optimizer)["__setstate__"]
    return Converted(optimizer, loaded, made[0], _masters.stored_entries(optimizer.param_groups))


def set_attributes(optimizer: Optimizer, state: dict[str, Any], of_torch: Callable[[dict[str, Any]], None]) -> None:
    """Sets the attributes of a copy, or those that a state dictionary has, with PyTorch's method, `of_torch`."""
    captured, before = getattr(optimizer, "_captured", []), getattr(optimizer, "state", None)
    hidden = getattr(optimizer, "_hidden", {})
    optimizer._reset()
    optimizer._captured = captured
    optimizer._max_norm = getattr(optimizer, "_max_norm", None)
    optimizer._tail = getattr(optimizer, "_tail", Tail())
    optimizer.grad_norm = getattr(optimizer, "grad_norm", None)
    try:
        of_torch(state)
        _complete(optimizer)
    except BaseException:  # that of a signal handler
        if getattr(optimizer, "state", None) is not before:
            _complete(optimizer)
        raise
    if captured and before is not None:
        _keep_tensors(optimizer.state, before)
        _begun.restart(optimizer, before, hidden)


def _complete(optimizer: Optimizer) -> None:
    """Makes of PyTorch's attributes those of this class."""
    optimizer._add_tail(optimizer._tail)
    spec = optimizer.spec
    for group in optimizer.param_groups:
        for name, value in spec.defaults.items():
            if name not in spec.added:
                group.setdefault(name, value)
        group.update(spec.fixed)  # state of torch.optim.Adam that AdamW loads
        for name, value in _average.entries(spec).items():
            group.setdefault(name, value)
    _masters.remember(optimizer)


def _keep_tensors(state: Mapping[Any, Any], before: Mapping[Any, Any]) -> None:
    """Copies loaded state into the tensors that captured steps use."""
    with torch.no_grad():
        for param, entries in state.items():
            known = before.get(param, {})
            for key, value in entries.items():
                old = known.get(key)
                is_other = isinstance(old, torch.Tensor) and old is not value
                if is_other and isinstance(value, torch.Tensor) and old.shape == value.shape:
                    copy_into(old, value)
                    entries[key] = old


def _restore_values(optimizer: Optimizer, loaded: Mapping[str, Any]) -> None:
    """Undoes that PyTorch has rounded values such as a sum of weights to the type of their parameter, of maybe 16 bits.

    What a hook has changed is kept.
    """
    places = [place for group in loaded["param_groups"] for place in group["params"]]
    params = [param for group in optimizer.param_groups for param in group["params"]]
    states = [loaded["state"].get(place) for place in places]
    states = [state if isinstance(state, dict) else {} for state in states]
    # A parameter without dimensions does not tell which state is as large as it is. If there are no others, all is
    # restored, and the next step converts what is as large as the parameter. A captured step uses what there is.
    tells = any(param.ndim and state for param, state in zip(params, states))
    keys = {
        key
        for param, state in zip(params, states) if param.ndim or not (tells or optimizer._captured)
        for key, value in state.items() if isinstance(value, torch.Tensor) and value.ndim == 0
    }
    with torch.no_grad():
        for param, state in zip(params, states):
            for key in keys & state.keys():
                value = state[key]
                found = peek(optimizer.state.get(param, {}), key)
                if not _is_rounded(param, value, found):
                    continue
                if found.dtype == value.dtype:  # a captured step uses the tensor
                    copy_into(found, value)
                else:
                    optimizer.state[param][key] = value.detach().to(device=found.device, copy=True)


def _is_rounded(param: Any, value: Any, found: Any) -> bool:
    tensors = all(isinstance(each, torch.Tensor) and not is_distributed(each) for each in (value, found))
    return (
        tensors
        and value.ndim == 0
        and value.is_floating_point()
        and param.is_floating_point()
        and value.dtype != param.dtype
        and found.shape == value.shape
        and torch.equal(found.to(param.dtype).cpu(), value.to(param.dtype).cpu())
    )
