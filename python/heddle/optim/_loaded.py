"""Checks of a state dictionary before anything of it is loaded.

PyTorch converts loaded state to the type of its parameter. So it would turn integers and bools into floating-point
numbers, and drop imaginary parts, and a step would find nothing wrong with the result.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from collections.abc import Mapping

from .._refusals import REFUSALS
from .._values import listed, number, plain, real, short
from ..errors import BadInput
from . import _rewrite
from ._checks import check_memory, check_own_memory, check_single, kind_error
from ._hyperparameters import check_readable, read
from ._members import member_name
from ._torch import is_distributed, is_freed, lacks_memory, local, torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._optimizer import Optimizer

#: The entries of every state dictionary.
_ENTRIES = frozenset(("state", "param_groups"))
#: The step counter, the only state whose values are read.
_STEP = "step"


def check_form(loaded: Any) -> None:
    """Refuses what is no state dictionary.

    Raises:
        BadInput: `loaded` or a part of it is of another kind than in a state dictionary, or an entry is missing.
    """
    if not isinstance(loaded, Mapping):
        raise BadInput(
            f"state_dict: expected a dictionary with 'state' and 'param_groups', as state_dict() returns it, found "
            f"{short(loaded)}"
        )
    if not _ENTRIES <= loaded.keys():
        inner = [key for key, value in loaded.items() if isinstance(value, Mapping) and _ENTRIES <= value.keys()]
        hint = f"; load its entry {inner[0]!r}" if inner else ""
        raise BadInput(
            f"state_dict: expected the entries 'state' and 'param_groups', found {listed(map(repr, loaded))}{hint}"
        )
    states, groups = loaded["state"], loaded["param_groups"]
    if not isinstance(states, Mapping):
        raise BadInput(f"state_dict['state']: expected a dictionary, found {short(states)}")
    if not isinstance(groups, (list, tuple)):
        raise BadInput(f"state_dict['param_groups']: expected a list of dictionaries, found {short(groups)}")
    for place, group in enumerate(groups):
        where = f"state_dict['param_groups'][{place}]"
        if not isinstance(group, Mapping):
            raise BadInput(f"{where}: expected a dictionary, found {short(group)}")
        if not isinstance(group.get("params"), (list, tuple)):
            found = short(group["params"]) if "params" in group else f"none beside {listed(map(repr, group))}"
            raise BadInput(f"{where}: expected an entry 'params' with a list, found {found}")
        for index, key in enumerate(group["params"]):
            if not _is_key(key):
                raise BadInput(f"{where}['params'][{index}]: expected a key of the state, such as a number, found {short(key)}")
        names = group.get("param_names", ())
        if not isinstance(names, (list, tuple)):
            raise BadInput(f"{where}['param_names']: expected a list of names, found {short(names)}")


def _is_key(value: Any) -> bool:
    """Whether a dictionary can have a value as a key."""
    try:
        hash(value)
    except REFUSALS:  # such as a list, or an object of the caller
        return False
    return True


def states_of(optimizer: Optimizer, loaded: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any, Mapping[str, Any]]]:
    """The name of each parameter in messages, its key, the parameter, and its loaded state.

    Parameters beyond the shorter one of two lists are left out: PyTorch refuses lists of different lengths.

    Raises:
        BadInput: the state of a parameter is no dictionary.
    """
    for place, (own, group) in enumerate(zip(optimizer.param_groups, loaded["param_groups"])):
        for index, (param, key) in enumerate(zip(own["params"], group["params"])):
            if key not in loaded["state"]:
                continue
            name, state = member_name(own, index, place), loaded["state"][key]
            if not isinstance(state, Mapping):
                raise BadInput(f"state of parameter {name}: expected a dictionary, found {short(state)}")
            yield name, key, param, state


def check_states(optimizer: Optimizer, loaded: Mapping[str, Any]) -> None:
    """Refuses state that does not fit its parameter, and counters that count no steps.

    A tensor may have another shape, be no dense one, be in no memory, or have another kind of numbers.

    Entries that are not those of the optimizer may have any type.

    Raises:
        BadInput: the message names the parameter and the entry.
    """
    spec = optimizer.spec
    large = {*spec.large, *([_rewrite.AVERAGE] if spec.averages is not None else [])}
    counters: list[tuple[str, Any]] = []
    for name, place, param, state in states_of(optimizer, loaded):
        for key, value in state.items():
            what = f"state '{key}' of parameter {name}"
            # Tensors of fake modes have no memory either, but PyTorch does not read it.
            if isinstance(value, torch.Tensor) and is_freed(local(value)):
                check_memory(what, local(value))
            if value is None:
                continue
            if isinstance(value, torch.Tensor) and value.device.type == "meta" != param.device.type:
                raise BadInput(
                    f"{_where(place, key)}: expected a tensor with data, found one on the device meta; load data first"
                )
            if key in large:
                _check_shape(place, key, value, param)
                _check_large(what, value, param.dtype)
            elif key in spec.single or key == _STEP:
                _check_single(what, value)
                _check_one(place, key, value)
            if key == _STEP:
                counters.append((what, value))
    _check_counters(counters)


def _where(place: Any, key: Any) -> str:
    """An entry of the state dictionary in messages."""
    return f"state_dict['state'][{place!r}][{key!r}]"


def _check_shape(place: Any, key: Any, value: Any, param: Any) -> None:
    """Refuses what is no dense tensor of the shape of its parameter, with elements of its own."""
    if not isinstance(value, torch.Tensor):
        raise BadInput(f"{_where(place, key)}: expected a tensor of shape {tuple(param.shape)}, found {short(value)}")
    _check_dense(place, key, value)
    if value.shape != param.shape:
        raise BadInput(
            f"{_where(place, key)}: expected a tensor of shape {tuple(param.shape)}, found shape {tuple(value.shape)}; load "
            "the state of an optimizer whose parameters have the same shapes, in the same order"
        )
    if is_distributed(value) != is_distributed(param):
        raise BadInput(
            f"{_where(place, key)}: expected a tensor that is distributed as its parameter is; load the state of sharded "
            "parameters with torch.distributed.checkpoint.state_dict.set_optimizer_state_dict"
        )
    found, shard = local(value), local(param)
    if found.shape != shard.shape:
        raise BadInput(
            f"{_where(place, key)}: expected a shard of shape {tuple(shard.shape)}, found {tuple(found.shape)}; "
            "distribute it as its parameter is"
        )
    check_own_memory(_where(place, key), found, "load a clone()")


def _check_one(place: Any, key: Any, value: Any) -> None:
    """Refuses a tensor that is no dense one of one element."""
    if isinstance(value, torch.Tensor):
        _check_dense(place, key, value)
        if value.numel() != 1:
            raise BadInput(f"{_where(place, key)}: expected one value, found shape {tuple(value.shape)}")


def _check_dense(place: Any, key: Any, value: Any) -> None:
    if value.is_nested or value.is_quantized or value.layout is not torch.strided:
        kind = "a nested one" if value.is_nested else "a quantized one" if value.is_quantized else f"layout {value.layout}"
        raise BadInput(
            f"{_where(place, key)}: expected a dense tensor, found {kind}; make one of to_dense() or dequantize()"
        )


def check_values(optimizer: Optimizer, loaded: Mapping[str, Any]) -> None:
    """Refuses entries of groups that are no numbers. As in PyTorch, numbers may be out of their range.

    Raises:
        BadInput: the message names the group and the entry.
    """
    spec = optimizer.spec
    known = {*spec.parts, *spec.checked}
    known |= {name for name, default in spec.defaults.items() if type(default) in (int, float) or name in spec.optional}
    names = [name for name in known if name not in {*spec.options, *spec.ignored, *spec.of_constructor}]
    for place, group in enumerate(loaded["param_groups"]):
        for name in names:
            key, index = spec.parts.get(name, (name, None))
            value = group.get(key)
            if key not in group or (value is None and spec.defaults.get(name, 0) is None):
                continue
            where = f"state_dict['param_groups'][{place}]['{key}']"
            if index is not None:
                parts = {other: (where, at) for other, (own, at) in spec.parts.items() if own == key}
                value, where = read({where: value}, name, parts), f"{where}[{index}]"
            if isinstance(value, torch.Tensor):
                check_readable(where, value)
            else:
                number(value, where)


def _check_large(what: str, value: Any, dtype: Any) -> None:
    if not (dtype.is_floating_point or dtype.is_complex):
        return  # the step refuses it
    is_number = value.dtype.is_floating_point or value.dtype.is_complex
    if not is_number or value.dtype.is_complex != dtype.is_complex:
        raise kind_error(what, dtype, value.dtype)


def _check_single(what: str, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        check_single(what, value)
    elif real(value) is None:
        raise BadInput(f"{what}: expected a number, found {short(value)}")


def _check_counters(counters: list[tuple[str, Any]]) -> None:
    """Refuses counters that are no whole numbers of at least 0. It waits once for each device."""
    found: list[tuple[str, float]] = []
    on_device: dict[Any, list[tuple[str, Any]]] = {}
    for what, value in counters:
        if not isinstance(value, torch.Tensor):
            found.append((what, float(value)))
            continue
        shard = local(value).detach()
        if shard.numel() == 1 and _has_values(shard):  # the step refuses others
            on_device.setdefault(shard.device, []).append((what, shard.reshape(()).to(torch.float64)))
    for entries in on_device.values():
        values = torch.stack([value for _, value in entries]).tolist()
        found += [(what, value) for (what, _), value in zip(entries, values)]
    for what, number in found:
        if not (number >= 0 and number.is_integer()):  # infinity is no integer
            raise BadInput(f"{what}: expected a whole number of at least 0, the steps so far, found {plain(number)}")


def _has_values(tensor: Any) -> bool:
    return tensor.layout is torch.strided and tensor.device.type != "meta" and not lacks_memory(tensor)
