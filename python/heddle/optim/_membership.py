"""Which chain of several optimizers steps an optimizer: the latest one that exists.

An optimizer knows its chains by weak references only, because a chain that nobody keeps must not step it. When the latest
chain is gone, the optimizer is as it was before that chain. This happens in the next call that depends on it, not when the
chain is freed: that may be within any other call.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._chained import ChainedOptimizer
    from ._optimizer import Optimizer


def chain_of(optimizer: Optimizer) -> ChainedOptimizer | None:
    """The chain that steps an optimizer; None: there is none."""
    for reference in reversed(optimizer._chains):
        if (chain := reference()) is not None:
            return chain
    return None


def enter(optimizer: Optimizer, chain: ChainedOptimizer) -> None:
    """From now on, a chain steps the optimizer, and what `chain` has added to it before does not hold."""
    if not optimizer._chains:
        optimizer._alone = optimizer._tail, optimizer._max_norm
    _adopt(optimizer, chain)
    earlier = [each for each in optimizer._chains if each() not in (None, chain)]
    optimizer._chains = (*earlier, weakref.ref(chain))


def leave_gone(optimizer: Optimizer) -> None:
    """Makes the optimizer what it was before the chains that are gone: part of an earlier one, or alone.

    Averages that a chain has added stay in the state, as after a call of `chain` without `ema`.
    """
    if not optimizer._chains or optimizer._chains[-1]() is not None:
        return
    with optimizer._lock:
        chain = chain_of(optimizer)
        if chain is not None:
            _adopt(optimizer, chain)
        elif optimizer._chains:  # another thread may have been first
            tail, limit = optimizer._alone
            optimizer._add_tail(tail)
            optimizer._max_norm = limit
        # At last: after an exception of a signal handler, the next call starts again.
        optimizer._chains = tuple(each for each in optimizer._chains if each() is not None)


def _adopt(optimizer: Optimizer, chain: ChainedOptimizer) -> None:
    captured = optimizer._captured
    if captured is not chain._captured:  # their graphs may use what parts keep
        chain._captured += [part for part in captured if part not in chain._captured]
    optimizer._captured = chain._captured
    optimizer._add_tail(chain._tail)
    optimizer._max_norm = optimizer.grad_norm = None
    optimizer._lock, optimizer._stepping = chain._lock, chain._stepping
    chain._parts = {}
