"""Entries of state that no step has set yet, such as a momentum buffer after a first step that a GradScaler has skipped.

A rule may treat the step that sets an entry first in another way: a momentum buffer becomes the undamped gradient, and an
average becomes the parameter. Only the device knows whether a step was skipped. So the program counts, beside such an
entry, the steps that have set it: hidden state of one value for each parameter (`Spec.hidden`). The host reads the counts
only where state leaves the optimizer, in state dictionaries, copies and pickles. They lack an entry whose count is 0, as
in PyTorch, and have no counts. The other way round, an entry that is there has been set, and one that is missing has not.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from . import _rewrite
from ._torch import local, torch
from ._tracking import peek

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._optimizer import Optimizer


def count(state: Any, key: str) -> Any:
    """The count in a dictionary, a tensor of one element, or None."""
    value = peek(state, key)
    is_one = isinstance(value, torch.Tensor) and value.numel() == 1
    return local(value).detach() if is_one else None


def _counted(optimizer: Optimizer) -> dict[str, str]:
    """The counts and their entries, with those of an average that `chain` has added before, and no longer does."""
    entries = dict(optimizer.spec.hidden)
    if any(_rewrite.AVERAGED in each for each in optimizer._hidden.values()):
        entries[_rewrite.AVERAGED] = _rewrite.AVERAGE
    return entries


def _not_begun(optimizer: Optimizer) -> list[tuple[Any, str]]:
    """The parameters and their entries that no step has set. This waits for the device if a program counts."""
    entries: dict[Any, list[tuple[Any, str]]] = {}
    counts: dict[Any, list[Any]] = {}
    for key, entry in _counted(optimizer).items():
        for param, state in dict.items(optimizer.state):
            if not isinstance(state, dict) or peek(state, entry) is None:
                continue
            value = count(optimizer._hidden.get(param, {}), key)
            if value is None:
                value = count(state, key)
            if value is not None:
                counts.setdefault(value.device, []).append(value.reshape(()).to(torch.float32))
                entries.setdefault(value.device, []).append((param, entry))
    return [
        place
        for device, values in counts.items()
        for place, value in zip(entries[device], torch.stack(values).tolist())
        if value == 0
    ]


def leave_out(optimizer: Optimizer, states: dict[Any, Any], keys: Mapping[Any, Any]) -> None:
    """Removes the entries that no step has set from plain dictionaries.

    Args:
        optimizer: the optimizer.
        states: the dictionaries, which are changed. An entry that is not the optimizer's own stays.
        keys: the key of each parameter in `states`.
    """
    if not _counted(optimizer) or not isinstance(optimizer.state, dict):
        return
    for param, entry in _not_begun(optimizer):
        state = states.get(keys.get(param))
        if isinstance(state, dict) and state.get(entry) is peek(optimizer.state[param], entry):
            del state[entry]
            if not state:  # PyTorch has no state of such a parameter
                del states[keys[param]]


def restart(optimizer: Optimizer, before: Mapping[Any, Any], hidden: Mapping[Any, dict[str, Any]]) -> None:
    """Takes over the counts of captured steps after a load: an entry that was not loaded has not been set.

    Args:
        optimizer: the optimizer, with the loaded state.
        before: the state before, whose tensors captured steps use.
        hidden: the hidden state before.
    """
    with torch.no_grad():
        for param, known in before.items():
            for key, entry in optimizer.spec.hidden.items():
                is_set = peek(optimizer.state.get(param, {}), entry) is not None
                if (value := count(hidden.get(param, {}), key)) is not None:
                    value.fill_(float(is_set))
                    optimizer._hidden.setdefault(param, {})[key] = value
                if not is_set and isinstance(old := peek(known, entry), torch.Tensor):
                    optimizer.state[param][entry] = old.zero_()
