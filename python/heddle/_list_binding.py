"""Lists of a graph that are bound by addresses.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ctypes
from array import array as packed

from . import _library, dtypes
from ._refusals import REFUSALS
from ._values import counted, listed, short, short_text
from .errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._held import Held
    from .graph import Graph


class ListBinding:
    """A list of a graph that is bound by addresses, from `Graph.list_binding`.

    The addresses are in an array of C that is rewritten in place. Binding the same addresses again costs a comparison.
    The caller keeps the memory alive until the last replay that uses it has finished.

        grads = graph.list_binding("grad", shapes)
        ...
        grads.bind([grad.data_ptr() for grad in gradients])     # every step

    Attributes:
        addresses: a ctypes array of unsigned 64-bit integers, one for each member. A caller may write it, and call
            `bind` without arguments.
    """

    __slots__ = (
        "addresses",
        "_bound",
        "_count",
        "_dtype",
        "_encoded",
        "_extents",
        "_function",
        "_graph",
        "_identity",
        "_name",
        "_ranks",
        "_strides",
    )

    def __init__(
        self,
        graph: Graph,
        name: str,
        shapes: Sequence[Sequence[int]],
        *,
        dtype: str | None = None,
        strides: Sequence[int] | None = None,
    ) -> None:
        lib = _library.library()
        if graph.closed:
            raise BadInput("the graph is closed")
        info = graph.executable.arguments.get(name) if isinstance(name, str) else None
        self._function = lib.heddle_bind_list_strided
        if info is None:
            info = graph.executable.results.get(name) if isinstance(name, str) else None
            self._function = lib.heddle_bind_result_strided
        if info is None:
            of = graph.executable
            raise BadInput(
                f"list '{short_text(name)}': the program has no such list or result; its lists are "
                f"{listed(each for each, info in of.arguments.items() if info.is_list)}, its results {listed(of.results)}"
            )
        self._graph, self._name, self._encoded = graph, name, graph._names[name]
        self._dtype = dtypes.CODES[info.dtype if dtype is None else dtypes.dtype_name(dtype)]
        self._bound: bytes | None = None
        self._identity = object()
        try:
            self._count = count = len(shapes)
            ranks = [len(shape) for shape in shapes]
            # Unlike ctypes, array.array refuses an integer that has too many bits.
            flat = packed("q", [extent for shape in shapes for extent in shape])
            steps = None if strides is None else packed("q", iter(strides))
            if steps is not None and len(steps) != count:
                raise TypeError
            self._ranks = (ctypes.c_int * count)(*ranks)
            self._extents = (ctypes.c_int64 * len(flat))(*flat)
            self._strides = None if steps is None else (ctypes.c_int64 * count)(*steps)
        except REFUSALS as error:  # the caller's objects may refuse
            raise BadInput(
                f"'{name}': expected one sequence of integers below 2^63 and one stride for each member, found shapes "
                f"{short(shapes)} and strides {short(strides)}"
            ) from error
        least = min((*flat, *(steps or ())), default=0)
        if least < 0:
            raise BadInput(
                f"'{name}': expected extents and strides of at least 0, found {least} in shapes {short(shapes)} and "
                f"strides {short(strides)}"
            )
        self.addresses = (ctypes.c_uint64 * count)()

    def bind(self, addresses: Sequence[int] | None = None) -> bool:
        """Binds the list to memory at these addresses, from the next `Graph.prepare` or `Graph.replay` on.

        Args:
            addresses: the address of each member, in the target's memory; 0 if the member is inactive or has no
                elements. None: those in `addresses`.

        Returns:
            Whether the addresses differ from those bound before.

        Raises:
            BadInput: another number of addresses, or an address that is no integer.
        """
        return self._bind(addresses, None)

    def _bind(self, addresses: Sequence[int] | None, bound: tuple[list[Any], Held] | None) -> bool:
        """As `bind`. `bound` are the arrays at the addresses, if the graph keeps them."""
        if addresses is not None:
            try:
                # Unlike ctypes, array.array refuses an integer that has too many bits.
                self.addresses[:] = packed("Q", iter(addresses))  # type: ignore[call-overload]
            except REFUSALS as error:  # the caller's objects may refuse
                raise BadInput(
                    f"'{self._name}': expected {counted(self._count, 'address', 'addresses')}, one integer below 2^64 "
                    f"for each member, found {short(addresses)}"
                ) from error
        graph = self._graph
        new = bytes(self.addresses)
        with graph._turn():
            if new == self._bound and graph._bindings.get(self._name) is self._identity:
                return False
            self._bound = None
            graph._begin_binding(self._name, bound)
            status = self._function(
                graph._handle,
                self._encoded,
                self._dtype,
                self._count,
                self.addresses,
                self._ranks,
                self._extents,
                self._strides,
            )
            if status:
                graph._check_binding(self._name, status)
            self._bound = new
            graph._hold(self._name, bound, self._identity)
        return True
