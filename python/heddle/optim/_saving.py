"""What leaves an optimizer: the contents of its state dictionaries, copies and pickles, without what heddle adds.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections

from . import _begun, _masters
from ._tracking import States

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._optimizer import Optimizer


def plain_state(optimizer: Optimizer, found: dict[str, Any]) -> dict[str, Any]:
    """A state dictionary.

    Args:
        optimizer: the optimizer.
        found: the state dictionary from PyTorch's method. It is changed and returned.
    """
    state = found.get("state")
    if isinstance(state, dict):
        found["state"] = {key: dict(value) if isinstance(value, dict) else value for key, value in state.items()}
        params = (param for group in optimizer.param_groups for param in group["params"])
        places: dict[Any, int] = {}
        for place, param in enumerate(params):
            places.setdefault(param, place)
        for each in optimizer._owners:
            _begun.leave_out(each, found["state"], places)
            _masters.complete(each, found["state"], places)
    return found


def plain_attributes(optimizer: Optimizer, found: dict[str, Any]) -> dict[str, Any]:
    """The attributes of which a copy is made.

    Args:
        optimizer: the optimizer.
        found: the attributes from PyTorch's method. They are changed and returned.
    """
    if isinstance(optimizer.state, States):
        found["state"] = collections.defaultdict(dict, optimizer.state.plain())
        _begun.leave_out(optimizer, found["state"], {param: param for param in optimizer.state})
    # The copy of an optimizer of a chain is in no chain.
    is_alone = optimizer._chain_of() is None
    found["_tail"], found["_max_norm"] = (optimizer._tail, optimizer._max_norm) if is_alone else optimizer._alone
    return found
