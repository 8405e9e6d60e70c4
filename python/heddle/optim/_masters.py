"""Exact parameters behind those of 16 bits, and state in PyTorch's layout.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from collections.abc import Mapping

from .._values import listed, short
from ..errors import BadInput
from . import _storage, _stored_tensors
from ._checks import check_memory, check_state
from ._groups import pairs_of, state_of
from ._loaded import states_of
from ._naming import named_owners, naming
from ._overlap import elements_overlap
from ._torch import copy_into, is_distributed, lacks_memory, local, making_tensors, torch
from ._tracking import peek

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._optimizer import Optimizer


def masters(optimizer: Optimizer) -> list[Any]:
    """The parameters of an optimizer as float32 numbers, in the order of its groups.

    Those with ``master='split'`` or ``master='f32'`` are exact: the numbers that an optimizer of float32 parameters would
    have. The result has copies.

    Raises:
        BadInput: `optimizer` is no optimizer or its groups are damaged; a parameter is complex, or it or its state is in
            no memory or does not fit.
    """
    with making_tensors():
        return [_master(param, state) for _, param, state in _checked(optimizer)]


def _checked(optimizer: Optimizer) -> list[tuple[Any, Any, Any]]:
    """The group, parameter and state of each parameter, after everything that is read or written was checked."""
    _check_optimizer(optimizer)
    found = []
    for each, start in named_owners(optimizer):
        with naming(start):
            found += _checked_alone(each)
    return found


def _checked_alone(optimizer: Optimizer) -> list[tuple[Any, Any, Any]]:
    found = []
    for place, group, param, what in pairs_of(optimizer.param_groups):
        if param.is_complex():  # a float32 number would lose the imaginary part
            raise BadInput(f"optimizer: expected real parameters, found {param.dtype} in group {place}")
        check_memory(what, local(param))
        state = state_of(optimizer.state, param)
        for key in _storage.TYPES:
            value = peek(state, key)
            if value is not None:
                _check_list(f"state '{key}' of {what}", key, value, param)
                if value.device != param.device:
                    raise BadInput(f"state '{key}' of {what}: expected a tensor on {param.device}, found one on {value.device}")
        found.append((group, param, state))
    return found


def _check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise BadInput(f"optimizer: expected an optimizer of heddle, found {type(optimizer).__name__}")


def _check_list(what: str, key: str, value: Any, param: Any) -> None:
    """Refuses a tensor that is no list of exact parameters, or of their lower halves, beside a parameter."""
    if not isinstance(value, torch.Tensor) or value.shape != param.shape:
        found = f"shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else short(value)
        raise BadInput(f"{what}: expected a tensor of shape {tuple(param.shape)}, found {found}")
    if key == _storage.LOW and value.dtype != torch.int16:
        raise BadInput(f"{what}: expected a tensor of torch.int16, found {value.dtype}")
    if key == _storage.MASTER and not (value.is_floating_point() or value.is_complex()):
        raise BadInput(f"{what}: expected a tensor of torch.float32, or another width of it, found {value.dtype}")
    _check_numbers(what, value)


def _master(param: Any, state: dict[str, Any]) -> Any:
    low, master = (peek(state, key) for key in (_storage.LOW, _storage.MASTER))
    if low is not None:
        return _stored_tensors.joined(param, low)
    return (param if master is None else master).detach().to(torch.float32, copy=True)


def load_masters(optimizer: Optimizer, values: Sequence[Any]) -> None:
    """Sets the parameters of an optimizer to float32 numbers, such as those of a checkpoint in float32.

    Args:
        optimizer: an optimizer of heddle.
        values: a tensor for each parameter, in the order of the groups.

    Raises:
        BadInput: `optimizer` is no optimizer; `values` is no list; the number of tensors or a shape differs; a tensor is
            no dense one of real numbers in memory; or a parameter is complex or cannot be written. Nothing is written.
    """
    checked = _checked(optimizer)
    pairs = [(group, param) for group, param, _ in checked]
    try:
        count, values = len(values), list(values)
    except TypeError as error:  # such as None, or an iterator
        raise BadInput(f"values: expected a list of tensors, found {type(values).__name__}") from error
    if count != len(pairs):
        raise BadInput(f"values: expected {len(pairs)} tensors, one for each parameter, found {count}")
    for place, ((_, param), value) in enumerate(zip(pairs, values)):
        if not isinstance(value, torch.Tensor) or value.shape != param.shape:
            found = f"shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else short(value)
            raise BadInput(f"values[{place}]: expected a tensor of shape {tuple(param.shape)}, found {found}")
        _check_numbers(f"values[{place}]", value)
    for each, start in named_owners(optimizer):
        with naming(start):
            for _, _, param, what in pairs_of(each.param_groups):
                _check_written(what, local(param))
    own = {_memory(param) for _, param in pairs}
    with making_tensors():
        # A value may be another parameter, which is written before it is read.
        values = [value.clone() if _memory(value) in own else value for value in values]
        try:
            _set_masters(optimizer, pairs, values)
        except BaseException:  # that of a signal handler, which reaches the caller when all are set
            _set_masters(optimizer, pairs, values)
            raise


def _set_masters(optimizer: Optimizer, pairs: Sequence[tuple[Any, Any]], values: Sequence[Any]) -> None:
    for (group, param), value in zip(pairs, values):
        _set_master(group, param, optimizer.state[param], value)


def _memory(value: Any) -> tuple[Any, int]:
    return value.device, local(value).untyped_storage().data_ptr()


def _key(group: Mapping[str, Any], param: Any) -> str | None:
    """The list that a parameter needs beside it."""
    master = _storage.options_of(group)["master"]
    if master == "split" and param.dtype == torch.bfloat16:
        return _storage.LOW
    return _storage.MASTER if master == "f32" and param.dtype in (torch.bfloat16, torch.float16) else None


def _set_master(group: Mapping[str, Any], param: Any, state: Any, value: Any) -> None:
    """Sets a parameter, and the list beside it, to float32 numbers."""
    value = value.detach().to(device=param.device, dtype=torch.float32)
    key = _key(group, param)
    if key == _storage.LOW:
        high, low = _stored_tensors.split(value)
        copy_into(param, high)
        _set(state, key, low)
    else:
        copy_into(param, value)
        if key is not None:
            _set(state, key, value)


def _set(state: Any, key: str, value: Any) -> None:
    """Sets state; a tensor that a captured step uses keeps its memory."""
    known = peek(state, key)
    if isinstance(known, torch.Tensor) and known.dtype == value.dtype and known.shape == value.shape:
        copy_into(known, value)
    else:
        state[key] = value.clone()


def float32_state_dict(optimizer: Optimizer) -> dict[str, Any]:
    """The state of an optimizer in the layout of PyTorch's class with float32 parameters.

    State of 16 bits becomes float32; the lists of ``master`` and the arguments of storage are left out. PyTorch's
    optimizer of the same name loads the result beside the parameters of `masters`. `load_state_dict` of heddle takes it
    back: it rounds to the element types of the optimizer.

    Raises:
        BadInput: `optimizer` is no optimizer, or state of 16 bits is in no memory.
    """
    _check_optimizer(optimizer)
    found = optimizer.state_dict()
    for group in found["param_groups"]:
        for name in _storage.DEFAULTS:
            group.pop(name, None)
    found["state"] = {
        place: {
            key: _widened(f"state '{key}' of parameter {place}", value)
            for key, value in state.items()
            if key not in _storage.TYPES
        }
        for place, state in found["state"].items()
    }
    return found


def _widened(what: str, value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype not in (torch.bfloat16, torch.float16):
        return value
    check_memory(what, local(value))
    return value.to(torch.float32)


def stored_entries(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The entries of storage of each group, which loaded groups do not replace."""
    return [{name: group[name] for name in _storage.DEFAULTS if name in group} for group in groups]


def check_loaded(optimizer: Optimizer, loaded: Mapping[str, Any]) -> None:
    """Refuses loaded exact parameters that do not fit, before anything is written.

    Raises:
        BadInput: a tensor has another shape or element type, or its parameter is in no memory.
    """
    for name, _, param, state in states_of(optimizer, loaded):
        for key in _storage.TYPES:
            value = state.get(key)
            if value is not None:
                _check_list(f"state '{key}' of parameter {name}", key, value, param)
                check_memory(f"parameter {name}", local(param), written=True)
    _check_complete(optimizer, loaded)


def _check_complete(optimizer: Optimizer, loaded: Mapping[str, Any]) -> None:
    """Refuses state that lacks its exact parameters: the low bits would be lost.

    State that was saved without them, such as that of PyTorch, is accepted.
    """
    for own, group in zip(optimizer.param_groups, loaded["param_groups"]):
        states = [(place, param, loaded["state"].get(place)) for param, place in zip(own["params"], group["params"])]
        states = [each for each in states if isinstance(each[-1], Mapping)]
        if not (group.get("master") or any(_has_list(state) for _, _, state in states)):
            continue
        for place, param, state in states:
            if _has_list(state) or not _has_others(optimizer, state):
                continue
            key = _key(own, param)
            if key is not None:
                expected = "a tensor of torch.int16" if key == _storage.LOW else "a tensor of torch.float32"
                raise BadInput(
                    f"state_dict['state'][{place!r}]['{key}']: expected {expected} and shape {tuple(param.shape)}, found "
                    f"none beside {listed(map(repr, state))}, so the low bits of the parameter are lost; load the state as "
                    "it was saved, or that of float32_state_dict(optimizer), which has no such entries, and set the "
                    "parameters with load_masters"
                )


def _has_list(state: Mapping[str, Any]) -> bool:
    return state.get(_storage.LOW) is not None or state.get(_storage.MASTER) is not None


def _has_others(optimizer: Optimizer, state: Mapping[str, Any]) -> bool:
    """Whether a step has made the state."""
    spec = optimizer.spec
    return any(state.get(key) is not None for key in (*spec.large, *spec.single, "step"))


def remember(optimizer: Optimizer) -> None:
    """Records which state has exact parameters or their lower halves, after all state was replaced."""
    for param, state in dict.items(optimizer.state):
        for key, had in _storage.HAD.items():
            if isinstance(state, dict) and peek(state, key) is not None:
                optimizer._hidden.setdefault(param, {})[had] = True
            else:
                optimizer._hidden.get(param, {}).pop(had, None)


def complete(optimizer: Optimizer, states: Mapping[Any, Any], places: Mapping[Any, Any]) -> None:
    """Adds the lists that the next step would make to plain dictionaries, as after a load of PyTorch's state.

    Args:
        optimizer: the optimizer.
        states: the dictionaries, which are changed.
        places: the key of each parameter in `states`.
    """
    for group in optimizer.param_groups:
        if not group.get("master"):
            continue
        for param in group["params"]:
            state = states.get(places.get(param))
            if not isinstance(state, dict) or _has_list(state) or not _has_others(optimizer, state):
                continue
            key = _key(group, param)
            if key and _storage.HAD[key] not in optimizer._hidden.get(param, {}) and not lacks_memory(local(param)):
                value = param.detach()
                state[key] = torch.zeros_like(value, dtype=torch.int16) if key == _storage.LOW else value.to(torch.float32)


def _check_numbers(what: str, value: Any) -> None:
    """Refuses tensors that cannot be copied to real numbers."""
    if value.is_complex():
        raise BadInput(f"{what}: expected real numbers, found {value.dtype}")
    if value.layout is not torch.strided:
        raise BadInput(f"{what}: expected a dense tensor, found {value.layout}")
    if value.device.type == "meta":
        raise BadInput(f"{what}: expected a tensor with data, found one on the device meta")
    check_state(what, local(value))


def _check_written(what: str, param: Any) -> None:
    """Refuses a parameter that cannot be written."""
    check_state(what, param)
    check_memory(what, param, written=True)
    if elements_overlap(param):
        raise BadInput(
            f"{what}: expected elements with memory of their own, because they are written, found shape "
            f"{tuple(param.shape)} with strides {param.stride()}, as from expand(); make the parameter of a clone()"
        )


def restore(optimizer: Optimizer, entries: Sequence[Mapping[str, Any]], loaded: Mapping[str, Any]) -> None:
    """Completes a load: PyTorch has converted all state to the type of its parameter, and replaced the groups."""
    for group, own in zip(optimizer.param_groups, entries):
        for name in _storage.DEFAULTS:
            group.pop(name, None)
        group.update(own)
    places = [place for group in loaded["param_groups"] for place in group["params"]]
    pairs = [(group, param) for group in optimizer.param_groups for param in group["params"]]
    with making_tensors():
        for place, (group, param) in zip(places, pairs):
            raw = loaded["state"].get(place)
            if isinstance(raw, dict) and param in optimizer.state:
                _restore_state(group, param, optimizer.state[param], raw)
    remember(optimizer)


def _restore_state(group: Mapping[str, Any], param: Any, state: Any, raw: Mapping[str, Any]) -> None:
    low, master = raw.get(_storage.LOW), raw.get(_storage.MASTER)
    if _storage.options_of(group) != _storage.DEFAULTS:
        for key, value in raw.items():
            is_large = isinstance(value, torch.Tensor) and value.shape == param.shape and not is_distributed(value)
            if is_large and key not in _storage.TYPES:
                _set(state, key, value.to(param.device))
    for key in _storage.TYPES:
        if key != _key(group, param):
            state.pop(key, None)
    if master is not None:
        _set_master(group, param, state, master)
    elif low is not None and _key(group, param) == _storage.LOW:
        _set(state, _storage.LOW, low.to(device=param.device, dtype=torch.int16))
    elif low is not None and (_key(group, param) or param.dtype == torch.float32):
        _set_master(group, param, state, _stored_tensors.joined(param, low.to(param.device)))
