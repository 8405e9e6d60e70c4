"""Dictionaries for the state of an optimizer that count their changes.

A step does not look up the state of every parameter, because its tensors are bound already. It compares one count
instead. Once a caller has read or set a tensor of the state, the caller can give it other memory, as in
``state["exp_avg"].data = ...``. From then on, steps also compare the addresses of the tensors. Copies and pickles of
these dictionaries are plain dictionaries.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import weakref

from ..errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Changes:
    """A count of changes, and the lists of tensors that are valid until the next change.

    Attributes:
        is_shared: whether a caller may have a tensor of the state.
        before: the dictionaries that this step changes, each with its entries before, until the step has run.
    """

    __slots__ = ("before", "count", "is_shared", "tensors")

    def __init__(self) -> None:
        self.count = 0
        self.is_shared = False
        self.tensors: weakref.WeakSet[Bound] = weakref.WeakSet()
        self.before: list[tuple[dict[Any, Any], dict[Any, Any]]] = []

    def add(self) -> None:
        """Counts a change. State that the caller replaces is not kept alive here."""
        self.is_shared = True
        self._forget_bound()

    def _forget_bound(self) -> None:
        self.count += 1
        for bound in self.tensors:
            bound.tensors = bound.averages = ()

    def remember(self, entries: dict[Any, Any]) -> None:
        """Records the entries of a dictionary that the step may change, in case it fails."""
        self.before.append((entries, dict(dict.items(entries))))  # which do not count as read

    def keep(self) -> None:
        """From here on, nothing is undone: a launch has used the state."""
        self.before.clear()

    def undo(self) -> None:
        """Gives the dictionaries that a failed step has changed their entries back."""
        before, self.before = self.before, []
        for entries, old in reversed(before):
            dict.clear(entries)
            dict.update(entries, old)
        if before:
            self._forget_bound()  # the step may have bound what it has created


class Bound:
    """The tensors of state that are bound to a program.

    Attributes:
        tensors: all of them.
        averages: those that are averages of the parameters.
    """

    def __init__(self) -> None:
        self.tensors: tuple[Any, ...] = ()
        self.averages: tuple[Any, ...] = ()


def _counting(name: str, base: type) -> Any:
    method = getattr(base, name)

    def counted(self: Any, *arguments: Any, **keywords: Any) -> Any:
        self.changes.add()
        return method(self, *arguments, **keywords)

    counted.__name__ = name
    counted.__doc__ = method.__doc__
    return counted


def _sharing(name: str) -> Any:
    method = getattr(dict, name)

    def shared(self: Any, *arguments: Any, **keywords: Any) -> Any:
        self.changes.is_shared = True
        return method(self, *arguments, **keywords)

    shared.__name__ = name
    shared.__doc__ = method.__doc__
    return shared


_MUTATORS = ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update")
# Python reads a dictionary without these methods, as in dict(state), only if it has the __iter__ of dict.
_READERS = ("__getitem__", "__iter__", "__or__", "__ror__", "copy", "get", "items", "values")


class MemberState(dict):  # type: ignore[type-arg]
    """The state of one parameter."""

    __slots__ = ("changes",)

    def __init__(self, values: dict[str, Any], changes: Changes) -> None:
        self.changes = changes
        dict.update(self, values)

    def set_quietly(self, key: str, value: Any) -> None:
        """Sets a value that the optimizer itself has already bound."""
        dict.__setitem__(self, key, value)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        import copy

        return copy.deepcopy(dict(self), memo)


class States(collections.defaultdict):  # type: ignore[type-arg]
    """The states of all parameters."""

    def __init__(self, values: dict[Any, Any], changes: Changes) -> None:
        super().__init__(None)
        self.changes = changes
        changes.is_shared |= bool(values)
        for key, value in values.items():
            tracked = MemberState(value, changes) if isinstance(value, dict) else value
            dict.__setitem__(self, key, tracked)

    def __missing__(self, key: Any) -> Any:
        value = MemberState({}, self.changes)
        dict.__setitem__(self, key, value)
        return value

    def count_with(self, changes: Changes) -> None:
        """From now on, changes are counted together with those of other states."""
        changes.is_shared |= self.changes.is_shared
        self.changes = changes
        for value in dict.values(self):
            if type(value) is MemberState:
                value.changes = changes

    def tracked(self, key: Any) -> MemberState:
        """The state of a parameter, which counts its changes from now on."""
        value = self[key]
        if not isinstance(value, dict):
            raise BadInput(f"state: expected a dictionary for each parameter, found {type(value).__name__}")
        if type(value) is not MemberState:
            value = MemberState(value, self.changes)
            dict.__setitem__(self, key, value)
        return value

    def __reduce__(self) -> Any:
        return _plain_states, (self.plain(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        import copy

        return copy.deepcopy(_plain_states(self.plain()), memo)

    def plain(self) -> dict[Any, Any]:
        """Plain dictionaries of the same values."""
        return {key: dict(value) if isinstance(value, dict) else value for key, value in self.items()}


def peek(state: dict[str, Any], key: str) -> Any:
    """A value of the state of one parameter, or None, for the optimizer itself: it does not count as shared."""
    return dict.get(state, key)


def _plain_states(values: dict[Any, Any]) -> Any:
    return collections.defaultdict(dict, values)


for _class, _base in ((MemberState, dict), (States, collections.defaultdict)):
    for _name in _MUTATORS:
        setattr(_class, _name, _counting(_name, _base))
for _name in _READERS:
    setattr(MemberState, _name, _sharing(_name))
