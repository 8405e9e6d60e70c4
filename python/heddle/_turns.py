"""The locks by which calls of several threads on one object take turns.

They are reentrant locks, because these know the thread that holds them: a signal handler, or ``__del__`` of an object in
garbage, may call the object whose call it interrupts, and would wait for that call forever.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn


def is_interrupted(lock: Any) -> bool:
    """Whether this thread holds the lock, so that the caller runs within another call of this thread."""
    return bool(lock._is_owned())


def interrupted(what: str) -> BadInput:
    """The error of a call that `is_interrupted`."""
    return BadInput(
        f"{what}: expected a call after the one before has returned, found one within it, as from a signal handler or "
        "__del__: let these set a flag, and make the call later"
    )


def is_held(lock: Any) -> bool:
    """Whether any thread holds the lock. Before Python 3.14, only the text of a reentrant lock says so."""
    return isinstance(lock, LeftLocked) or not repr(lock).startswith("<unlocked ")


def holding(locks: Iterable[Any], call: Callable[[], Any]) -> Any:
    """Makes a call while it holds all locks.

    Each one is held by a `with` of its own: an exception of a signal handler within a context manager of Python could leave
    a lock held. All calls take them in the same order.
    """
    waiting = sorted(set(locks), key=id)

    def take(place: int) -> Any:
        if place == len(waiting):
            return call()
        with waiting[place]:
            return take(place + 1)

    return take(0)


class LeftLocked:
    """The lock, in a forked child, of an object that another thread of the parent was using."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __enter__(self) -> NoReturn:
        raise BadInput(self._message)

    def __exit__(self, *_: object) -> None: ...

    def _is_owned(self) -> bool:
        return False
