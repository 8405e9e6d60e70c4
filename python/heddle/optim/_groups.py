"""Checks of parameter groups and state, which a caller may have replaced or damaged.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._values import listed, short
from ..errors import BadInput
from ._torch import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._spec import Spec


def check_list(groups: Any) -> None:
    """Refuses groups that are no list of dictionaries."""
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise BadInput(f"param_groups: expected a list of dictionaries, found {short(groups)}")


def check_entries(groups: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """Refuses groups that lack an entry."""
    for place, group in enumerate(groups):
        for name in names:
            if name not in group:
                found = listed(map(repr, group))
                raise BadInput(f"param_groups[{place}]: expected an entry '{name}', found none beside {found}")


def check_groups(groups: Any, spec: Spec) -> None:
    """Refuses groups that the caller has damaged, and adds entries that groups of other optimizers lack."""
    check_list(groups)
    entries = {**spec.defaults, **spec.fixed}
    numbers = [name for name in entries if name not in spec.options and name not in spec.ignored]
    check_entries(groups, ("params", *numbers))
    for group in groups:
        for name, value in entries.items():
            if name not in spec.added or any(name in other for other in groups):
                group.setdefault(name, value)


def params_of(group: Mapping[str, Any], place: int) -> tuple[Any, ...]:
    """The parameters of a group, which the caller may have replaced."""
    params = group["params"]
    if not isinstance(params, (list, tuple)) or not all(isinstance(param, torch.Tensor) for param in params):
        raise BadInput(f"params: expected a list of tensors in group {place}, found {short(params)}")
    return tuple(params)


def pairs_of(groups: Any) -> list[tuple[int, dict[str, Any], Any, str]]:
    """All parameters in the order of the groups: the place of the group, the group, the parameter and its name."""
    check_list(groups)
    check_entries(groups, ("params",))
    return [
        (place, group, param, f"parameter {index} of group {place}")
        for place, group in enumerate(groups)
        for index, param in enumerate(params_of(group, place))
    ]


def state_of(states: Any, param: Any) -> Any:
    """The state of a parameter, empty if it has none; reading it counts as no change."""
    if not isinstance(states, dict):
        raise BadInput(f"state: expected a dictionary, found {type(states).__name__}")
    state = dict.get(states, param)
    if state is None and param not in states:
        return {}
    if not isinstance(state, dict):
        raise BadInput(f"state: expected a dictionary for each parameter, found {type(state).__name__}")
    return state
