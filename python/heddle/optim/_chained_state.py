"""Loads the state dictionary of several optimizers that are stepped together: one for all of them.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import contextlib

from ..errors import BadInput
from . import _loading
from ._loaded import check_form
from ._naming import named_owners, naming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._chained import ChainedOptimizer
    from ._optimizer import Optimizer


def load(chained: ChainedOptimizer, state_dict: dict[str, Any]) -> None:
    """Loads a state dictionary of all optimizers.

    An exception of a signal handler reaches the caller when the state is that before, or when all of it is loaded.

    Raises:
        BadInput: the groups or the state do not fit. Nothing is written.
    """
    check_form(state_dict)
    loaded = _hooked(chained, state_dict)
    check_form(loaded)
    own = _split(chained, loaded)
    with _without_hooks(chained.optimizers):
        converted = []
        for (each, start), part in zip(named_owners(chained), own):
            with naming(start):
                converted.append(_loading.convert(each, part))
        try:
            for every in converted:
                every.set()
        except BaseException:  # that of a signal handler: everything fits
            for every in converted:
                every.set()
            raise
    for hook in tuple(chained._optimizer_load_state_dict_post_hooks.values()):
        hook(chained)


@contextlib.contextmanager
def _without_hooks(optimizers: tuple[Optimizer, ...]) -> Iterator[None]:
    """Hides the hooks of the optimizers: a load calls those of the chain, once."""
    names = ("_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks")
    hooks = [(each, name, getattr(each, name)) for each in optimizers for name in names]
    try:
        for each, name, _ in hooks:
            setattr(each, name, collections.OrderedDict())
        yield
    finally:
        for each, name, before in hooks:
            setattr(each, name, before)


def _hooked(optimizer: Optimizer, state_dict: dict[str, Any]) -> dict[str, Any]:
    """A state dictionary after the hooks before a load, as PyTorch calls them."""
    loaded = dict(state_dict)
    for hook in tuple(optimizer._optimizer_load_state_dict_pre_hooks.values()):
        changed = hook(optimizer, loaded)
        loaded = loaded if changed is None else changed
    return loaded


def _split(chained: ChainedOptimizer, loaded: dict[str, Any]) -> list[dict[str, Any]]:
    """The state dictionary of each optimizer. Parameters keep their numbers."""
    groups, states = loaded["param_groups"], loaded["state"]
    counts = [len(each.param_groups) for each in chained.optimizers]
    if len(groups) != sum(counts):
        expected = ", ".join(f"{count} of {type(each).__name__}" for count, each in zip(counts, chained.optimizers))
        raise BadInput(
            f"state_dict: expected {sum(counts)} parameter groups ({expected}), found {len(groups)}: load the state of "
            "a chain of the same optimizers, or that of one optimizer into this one of `optimizers`"
        )
    known = {place for group in groups for place in group["params"]}
    # State of no parameter belongs to no optimizer: the first one keeps it.
    rest = {key: value for key, value in states.items() if key not in known}
    parts, first = [], 0
    for count in counts:
        own = groups[first : first + count]
        places = {place for group in own for place in group["params"]}
        state = {} if first else rest
        state.update((place, value) for place, value in states.items() if place in places)
        parts.append({**loaded, "state": state, "param_groups": own})
        first += count
    return parts
