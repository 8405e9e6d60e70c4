"""Executables and graphs that later solves use again.

A graph belongs to one program and one place (a device and a stream). A solve takes a graph out of the cache, binds its
arrays, replays it, and puts it back. Solves of one place are ordered by its stream, so a graph may be bound again while
its last replay still runs. No result is in memory of a graph: every solve binds new arrays of the caller's library. So
a graph is free when its replay has been submitted, whatever the caller does with the result.

A free graph that was last bound to the same extents is taken first. Otherwise a new one is created, up to
`GRAPHS_PER_PROGRAM`; then the one that was not used for longest is bound to the other extents.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import contextlib
import os
import threading
from typing import NamedTuple

from .. import _cuda
from .._turns import interrupted, is_interrupted
from ..executable import Executable
from ..executable import compile as compile_program
from ..graph import Graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .._list_binding import ListBinding
    from ._libraries import Place

#: Free graphs that the cache keeps for one program and place, and in all.
GRAPHS_PER_PROGRAM = 4
GRAPHS = 32
#: Executables that the cache keeps.
EXECUTABLES = 64


class Members(NamedTuple):
    """A list of arrays, by addresses."""

    #: heddle's name of the element type.
    dtype: str
    addresses: list[int]
    #: The extents of each member, in elements.
    shapes: tuple[tuple[int, ...], ...]
    #: The row stride of each member in elements, 0 if dense; None: all are dense.
    strides: tuple[int, ...] | None = None


class Entry:
    """A graph with its bindings and the scalars that were set last."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.extents: tuple[object, ...] = ()
        self._bindings: dict[str, ListBinding] = {}
        self._scalars: dict[str, float] = {}

    def replay(
        self,
        lists: dict[str, Members],
        extents: tuple[object, ...],
        scalars: dict[str, float],
        stream: int,
        check: Callable[[], None],
    ) -> None:
        """Binds the lists, sets the scalars and runs the program.

        Args:
            lists: the lists.
            extents: the shapes and strides of all lists.
            scalars: the scalars.
            stream: the handle of the stream.
            check: raises an error if memory of the caller has been freed or replaced. It is called right before the launch.
        """
        graph = self.graph
        if extents != self.extents:
            self._bindings.clear()
            self.extents = ()
            for name, members in lists.items():
                self._bindings[name] = graph.list_binding(
                    name, members.shapes, dtype=members.dtype, strides=members.strides
                )
            self.extents = extents
        for name, members in lists.items():
            self._bindings[name].bind(members.addresses)
        for name, value in scalars.items():
            if self._scalars.get(name) != value:
                graph.set_scalar(name, value, stream)
                self._scalars[name] = value
        graph._replay_checked(check, stream)


class _Cache:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.executables: collections.OrderedDict[tuple[str, str, int | None], Executable] = collections.OrderedDict()
        self.free: collections.OrderedDict[tuple[str, Place], list[Entry]] = collections.OrderedDict()


_cache = _Cache()


def _forget() -> None:
    # Graphs of a GPU do not work in a forked child, and another thread of the parent may hold the lock.
    global _cache
    _cache = _Cache()


os.register_at_fork(after_in_child=_forget)


def _current() -> _Cache:
    """The cache; for a solve in a signal handler that interrupts a change of the cache, an empty one."""
    return _Cache() if is_interrupted(_cache.lock) else _cache


def _executable(program: str, place: Place) -> Executable:
    cache, key = _current(), (program, place.target, place.ordinal)
    with cache.lock:
        found = cache.executables.get(key)
        if found is not None:
            cache.executables.move_to_end(key)
            return found
    with contextlib.nullcontext() if place.ordinal is None else _cuda.on_device(place.ordinal):
        made = compile_program(program, target=place.target)
    with cache.lock:
        cache.executables[key] = made
        while len(cache.executables) > EXECUTABLES:
            cache.executables.popitem(last=False)
    return made


@contextlib.contextmanager
def graph_for(program: str, place: Place, extents: tuple[object, ...]) -> Iterator[Entry]:
    """A graph of a program that no other solve uses inside of the ``with`` block.

    If the block raises, the graph is freed.
    """
    entry, key = None, (program, place)
    cache = _current()
    with cache.lock:
        entries = cache.free.get(key, [])
        for index in reversed(range(len(entries))):
            if entries[index].extents == extents:
                entry = entries.pop(index)
                break
        else:
            if len(entries) >= GRAPHS_PER_PROGRAM:
                entry = entries.pop(0)
    if entry is None:
        entry = Entry(_executable(program, place).graph(device=place.ordinal))
    try:
        yield entry
    except BaseException:
        _close([entry])
        raise
    if cache is not _cache:  # nobody uses it any more
        _close([entry])
        return
    evicted = []
    with cache.lock:
        cache.free.setdefault(key, []).append(entry)
        cache.free.move_to_end(key)
        if len(cache.free[key]) > GRAPHS_PER_PROGRAM:
            evicted.append(cache.free[key].pop(0))
        while sum(map(len, cache.free.values())) > GRAPHS:
            oldest = next(iter(cache.free))
            if cache.free[oldest]:
                evicted.append(cache.free[oldest].pop(0))
            if not cache.free[oldest]:  # other threads may use its graphs
                del cache.free[oldest]
    _close(evicted)


def _close(entries: list[Entry]) -> None:
    """Frees graphs, when the GPU has finished with them."""
    for entry in entries:
        ordinal = entry.graph.device.ordinal
        if ordinal is not None:
            with _cuda.on_device(ordinal):
                _cuda.driver().cuCtxSynchronize()
        entry.graph.close()


def clear_cache() -> None:
    """Frees the executables and graphs of earlier solves, and their memory. Waits for the GPU.

    Raises:
        BadInput: a signal handler calls this within a solve.
    """
    if is_interrupted(_cache.lock):
        raise interrupted("clear_cache")
    with _cache.lock:
        entries = [entry for entries in _cache.free.values() for entry in entries]
        _cache.free.clear()
        _cache.executables.clear()
    _close(entries)
