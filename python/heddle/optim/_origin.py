"""Refuses loaded state that another class of optimizers has saved.

A state dictionary does not name the class. But the entries of its groups and of its state do, in most cases. The entries
that all supported versions of PyTorch save are required. An entry of the caller, or one of a later version, is accepted
unless the groups look like those of another class.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from collections.abc import Mapping

from .._values import listed, real, short
from ..errors import BadInput
from . import _storage
from ._arguments import is_torchs
from ._spec import Spec
from ._table import SPECS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._optimizer import Optimizer

#: Entries that every class may have. Older versions of PyTorch do not save all of them.
_COMMON = frozenset(
    ("params", "param_names", "maximize", "foreach", "capturable", "differentiable", "fused", "cautious", *_storage.DEFAULTS)
)
#: Entries that PyTorch has added to a class in version 2.
_RECENT = frozenset(("decoupled_weight_decay",))


def _entries(spec: Spec) -> set[str]:
    """The entries of a group by which a class is told from others."""
    return {*spec.defaults, *spec.fixed} - _COMMON


def _required(spec: Spec) -> set[str]:
    """The entries that every group of the class has, from each version of PyTorch, or of the authors' package."""
    names = _entries(spec) - _RECENT
    if is_torchs(spec):
        return names
    numbers = {name for name in names if isinstance(spec.defaults.get(name), (int, float, tuple))}
    return {name for name in numbers if not isinstance(spec.defaults[name], bool)}


def _states(spec: Spec) -> set[str]:
    """The entries of a parameter's state, with all options."""
    return {*spec.large, *spec.single, "step"}


def _needed(spec: Spec) -> set[str]:
    """The entries that the state of every parameter has after a step."""
    own = _states(spec) if spec.functional is None else set(spec.functional)
    return own - {*spec.unneeded, *spec.hidden, *spec.hidden.values()}


def check_origin(optimizer: Optimizer, loaded: Mapping[str, Any]) -> None:
    """Refuses state whose groups or entries are those of another class, before anything is written.

    Adam and AdamW have the same entries, and take the state of each other, as in PyTorch.

    Raises:
        BadInput: the message names the entries that were expected and found.
    """
    spec = SPECS.get(type(optimizer).spec.name)
    if spec is not type(optimizer).spec:
        return  # a rule: its versions may have other entries
    groups = [set(map(str, group)) - _COMMON for group in loaded["param_groups"]]
    states = [set(map(str, state)) for state in loaded["state"].values() if isinstance(state, dict)]
    _check_groups(spec, groups, own={name for group in optimizer.param_groups for name in group})
    _check_states(spec, states)
    _check_options(spec, loaded)
    _check_complete(spec, loaded)


def _check_groups(spec: Spec, groups: list[set[str]], own: set[str]) -> None:
    # A caller may have given one of several groups further entries. Those of a class are in all of them.
    found, missing = set(groups[0]) if groups else set(), _required(spec)
    for group in groups:
        found &= group
        missing -= group
    if not found:
        return
    others = [other for other in SPECS.values() if other is not spec and _entries(other) - _RECENT <= found]
    foreign = {name for other in others for name in _entries(other) & found} - _entries(spec) - own
    if not missing and not foreign:
        return
    likely = max(others, key=lambda other: len(_entries(other) & found), default=None)
    raise BadInput(
        f"state_dict: expected groups of {spec.name}, with {_words(_required(spec))}, found groups "
        + (f"like those of {likely.name}, " if likely else "")
        + f"with {_words(found)}"
        + (f", without {_words(missing)}" if missing else "")
        + f". {_REMEDY}"
    )


def _check_states(spec: Spec, states: Iterable[set[str]]) -> None:
    own = _states(spec)
    others = {name for other in SPECS.values() for name in _states(other)} - own
    for found in states:
        missing = _needed(spec) - {"step"} - found
        if missing and found & others:
            raise BadInput(
                f"state_dict: expected the state of {spec.name}, with {_words(own - set(spec.unneeded))}, found state with "
                f"{_words(found)}. {_REMEDY}"
            )


def _check_options(spec: Spec, loaded: Mapping[str, Any]) -> None:
    """Refuses state that lacks the entry of an option that its group has. PyTorch does not create it, either.

    An entry that a step may skip (`Spec.hidden`) can be missing.
    """
    options = {key: option for key, option in spec.unneeded.items() if key not in spec.hidden.values()}
    others = _needed(spec)
    for group in loaded["param_groups"] if options else ():
        for place in group["params"]:
            state = loaded["state"].get(place)
            for key, option in options.items():
                is_missing = isinstance(state, dict) and key not in state and any(other in state for other in others)
                if is_missing and _is_on(group.get(option)):
                    raise BadInput(
                        f"state_dict: expected '{key}' in the state of parameter {place}, because its group has {option}="
                        f"{short(group[option])}, found {_words(map(str, state))}; load the state of an optimizer with the "
                        "same option"
                    )


def _check_complete(spec: Spec, loaded: Mapping[str, Any]) -> None:
    """Refuses state that lacks an entry beside others. The step would refuse it, when the state before is gone."""
    needed = _needed(spec)
    for place in (place for group in loaded["param_groups"] for place in group["params"]):
        state = loaded["state"].get(place)
        absent = [key for key in needed if state.get(key) is None] if isinstance(state, Mapping) else []
        if absent and len(absent) < len(needed):
            expected = "a tensor as large as its parameter" if min(absent) in spec.large else "one value"
            raise BadInput(
                f"state_dict['state'][{place!r}]['{min(absent)}']: expected {expected}, found none beside "
                f"{_words(needed - set(absent))}; load the state of an optimizer with the same entries, or leave out all "
                "state of the parameter: its next step then creates all entries"
            )


def _is_on(value: Any) -> bool:
    number = float(value) if isinstance(value, bool) else real(value)
    return number is not None and number > 0


_REMEDY = "Load it into an optimizer of the class that has saved it"


def _words(names: Iterable[str]) -> str:
    return listed(map(repr, sorted(names)))
