"""The options of parameter groups, which choose the program of a part.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._values import number, short
from . import _storage
from ._flags import flag
from ._hyperparameters import number_of, read
from ._naming import naming
from ._torch import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._optimizer import Optimizer
    from ._share import Share
    from ._spec import Spec


def switches_of(group: Mapping[str, Any], spec: Spec) -> tuple[Any, ...]:
    """The options of a group that choose its part."""
    entries = {**spec.defaults, **spec.fixed}
    switches = {name: _is_on(read(group, name, spec.parts), name, spec) for name in spec.switches}
    options = (
        (flag(group.get(name, entries[name]), name) and switches.get(spec.needs.get(name, ""), True))
        if isinstance(entries.get(name), bool)
        else _plain_option(group.get(name, entries.get(name)), name)
        for name in spec.options
    )
    return (*options, *switches.values())


def options_of(optimizer: Optimizer, groups: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """The options of the program of a share with these groups of an optimizer."""
    spec = optimizer.spec
    options: dict[str, Any] = dict(zip((*spec.options, *spec.switches), switches_of(groups[0], spec)))
    for name in spec.optional:
        needed = spec.needs.get(name)
        options[name] = any(
            _is_not_zero(number_of(group, name, spec), name) for group in groups
        ) and (needed is None or options.get(needed, True))
        if optimizer._counts_steps and name in spec.counted and (needed is None or options.get(needed, True)):
            options[name] |= not options[spec.counted[name]]
    for name in spec.low:
        if any(_is_low(number_of(group, name, spec), name) for group in groups):
            options[name] = True
    return tuple(options.items())


def need_other_program(optimizer: Optimizer, share: Share) -> bool:
    """Whether the options of the groups of a share are not covered by its program.

    Args:
        optimizer: the optimizer of the part, or the chain.
        share: the share.
    """
    groups, owner, spec = optimizer.param_groups, optimizer._owners[share.owner], share.spec
    own = [groups[place] for place in share.group_places]
    with naming(share.prefix):
        switches = switches_of(own[0], spec)
        if any(switches_of(group, spec) != switches for group in own[1:]):
            return True
        new, old = dict(options_of(owner, own)), dict(share.form.options)
    optional = {*spec.optional, *spec.low}
    return any(new[name] != old.get(name, False) and (name not in optional or new[name]) for name in new)


def _is_not_zero(value: Any, name: str) -> bool:
    # The value of a tensor on a device is not read.
    return (isinstance(value, torch.Tensor) and value.device.type != "cpu") or number(value, name) != 0


def _is_low(value: Any, name: str) -> bool:
    # The value of a tensor on a device is not read.
    return (isinstance(value, torch.Tensor) and value.device.type != "cpu") or number(value, name) <= 0.5


def _is_on(value: Any, name: str, spec: Spec) -> bool:
    """Whether a hyperparameter that is a switch is on."""
    if not spec.switches_need_positive or (isinstance(value, torch.Tensor) and value.device.type != "cpu"):
        return _is_not_zero(value, name)
    return number(value, name) > 0


def _plain_option(value: Any, name: str) -> Any:
    """An option that is a plain Python value."""
    if name in _storage.DEFAULTS:
        return _storage.option(name, value)
    if not isinstance(value, (bool, str, int, float, type(None))):
        raise TypeError(f"{name}: expected a bool, a string, a number or None, found {short(value)}")
    return value
