"""Graphs: executables bound to arrays, which replay a step.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
import time
import weakref

from . import _cuda, _fast, _library, arrays, dtypes
from ._garbage import uncollected
from ._held import Held
from ._list_binding import ListBinding
from ._refusals import REFUSALS
from ._torch_versions import mark_changed
from ._turns import LeftLocked, interrupted, is_held, is_interrupted
from ._values import integer, listed, number, refusal, short, short_text, whole
from .errors import BadInput, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    from .executable import BufferInfo, Executable


_INT_MAX = (1 << 31) - 1


def _free(free: Any, lock: Any, process: int, handle: ctypes.c_void_p) -> None:
    """Frees a graph when no other thread uses it. A lock that a thread held during a fork stays locked in the child.

    The handle becomes null under the lock: other threads may still use the graph, also while the interpreter ends.
    """
    deadline = time.monotonic() + (60 if os.getpid() == process else 0)
    while is_held(lock):
        if time.monotonic() >= deadline:
            return
        time.sleep(0.001)
    # An exception of a signal handler may come after any call of Python. `with` lets none come before it can release.
    with lock:
        address, handle.value = handle.value, None
        if address:
            free(address)  # if interrupted before this, the graph is lost, but not used again


class _HalfBound:
    """Takes the place of the record of arrays from before they are bound until the graph keeps them.

    If an exception of a signal handler comes between, it is not known which arrays are bound. Then this keeps both alive,
    and every use asks to bind again.
    """

    def __init__(self, name: str, *kept: Any) -> None:
        self._name, self._kept = name, kept

    def changed(self) -> NoReturn:
        raise BadInput(f"'{self._name}': expected a complete binding, found one that was interrupted: bind it again")


_IN_USE = (
    "graph: another thread was using it when this process was forked, so it may be half changed; create another one in the "
    "child"
)


#: All graphs. A forked child replaces the locks that were held.
_graphs: weakref.WeakSet[Graph] = weakref.WeakSet()


def _refuse_graphs_in_use() -> None:
    # The thread that holds the lock does not exist in the child.
    for graph in tuple(_graphs):
        if is_held(graph._lock):
            graph._lock = LeftLocked(_IN_USE)


os.register_at_fork(after_in_child=_refuse_graphs_in_use)


class Graph:
    """An executable bound to arrays, from `Executable.graph`. A replay runs one step.

    On a GPU, calls return before the device has finished, and are ordered on their stream. `stream` is None or 0 (the
    default stream), the handle of a CUDA stream, or a stream object of PyTorch, CuPy or cuda.core. The caller orders
    the calls of one graph: by one stream, or by events. The cpu target ignores streams and has finished when a call
    returns.

    Calls of several threads take turns; a call from a signal handler or ``__del__`` that interrupts another call of the
    same thread raises `BadInput`. The graph keeps the arrays of `bind_list`, `bind_result` and `bind_scalar`
    alive until the name is bound again. Buffers and arrays of NumPy cannot be resized before; tensors of PyTorch whose
    memory was freed or replaced (``untyped_storage().resize_()``, ``tensor.data = other``) raise `BadInput` in
    `prepare`, `replay` and `measure`, and where their name is read. The graph does not keep memory alive that is bound
    by address. Wait for the stream before a graph is freed.

    Autograd counts each replay as a change in place of the bound tensors of PyTorch that it writes: the results, and the
    arguments that are updated in place, with their inactive members. It does not see a write to memory that is bound by
    address, or as an array of another library.

    Attributes:
        executable: the executable.
        device: where the arrays must be: ``Device("cpu")``, or ``Device("cuda", ordinal)``.
    """

    def __init__(self, executable: Executable, *, device: int | None = None) -> None:
        lib = _library.library()
        self.executable = executable
        handle = ctypes.c_void_p()
        if executable.target == "cpu":
            if device is not None:
                raise BadInput(f"device: expected None for the cpu target, found {short(device)}")
            self.device = arrays.CPU
            place: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        else:
            if device is not None:
                ordinal = whole(device)
                if ordinal is None:
                    raise BadInput(f"device: expected the ordinal of a GPU, found {short(device)}")
                device = ordinal
            place = contextlib.nullcontext() if device is None else _cuda.on_device(device)
        # What frees it is registered first, because an exception of a signal handler may come when it has been created.
        self._handle = handle  # null when the graph is freed
        self._lock: Any = threading.RLock()
        #: Names that were bound since the last `prepare` or `replay`.
        self._rebound: set[str] = set()
        self._free = functools.partial(_free, lib.heddle_graph_free, self._lock, os.getpid(), handle)
        self._finalizer = weakref.finalize(self, self._free)
        _graphs.add(self)
        self._finalizer.atexit = False  # a daemon thread may use the graph until the process ends
        with place:
            _library.check(lib.heddle_graph_create(executable._handle, handle))
            if executable.target != "cpu":
                self.device = arrays.Device("cuda", _cuda.current_device() if device is None else device)
        self._names = {name: name.encode() for name in (*executable.arguments, *executable.results)}
        # The bound arrays of the caller by name, with what keeps their memory alive.
        self._bound: dict[str, tuple[list[Any], Held]] = {}
        # Those whose memory can go nevertheless.
        self._checked: dict[str, Held | _HalfBound] = {}
        #: The tensors of PyTorch among them that a replay writes.
        self._written: tuple[Any, ...] = ()
        # The binding of each list: an object in place of the ListBinding, which has the graph.
        self._bindings: dict[str, object] = {}
        self._replay = lib.heddle_replay
        self._address_of_replay = ctypes.cast(lib.heddle_replay, ctypes.c_void_p).value or 0
        self._set_scalar = lib.heddle_set_scalar

    # ------------------------------------------------------------------------------------------------------------------
    # Binding arrays
    # ------------------------------------------------------------------------------------------------------------------

    def bind_list(self, name: str, members: Sequence[Any]) -> None:
        """Binds a list argument to one array for each member, from the next `prepare` or `replay` on.

        Args:
            name: the name of the argument.
            members: a sequence of arrays of any library (`heddle.arrays.view`), all of the element type of the argument;
                one array alone stands in a list, too. The members of a list of rank 2 may have a row stride; others must
                be dense in the order of C.

        Raises:
            BadInput: the graph has no such list; `members` is one array; an array has another element type or device, is
                read-only (or a scalar of NumPy) although the program writes it, or is not dense. The binding is unchanged.
        """
        info = self._info(name, "argument", self.executable.arguments)
        self._bind_arrays(info, "argument", members, writable=info.donated)

    def bind_result(self, name: str, members: Sequence[Any] | None) -> None:
        """Binds a result to the caller's memory, as `bind_list` does; a scalar has one member.

        A result that replaces a donated argument has that argument's memory: bind the argument.

        Args:
            name: the name of the result.
            members: arrays that can be written, or None: the graph's own memory is used again.

        Raises:
            BadInput: as for `bind_list`.
        """
        info = self._info(name, "result", self.executable.results)
        if members is None:
            with self._turn():
                bind, dtype = _library.library().heddle_bind_result, dtypes.CODES[info.dtype]
                self._begin_binding(name, None)
                self._check_binding(name, bind(self._handle, self._names[name], dtype, 0, None, None, None))
                self._hold(name, None)
            return
        self._bind_arrays(info, "result", members, writable=True)

    def bind_scalar(self, name: str, array: Any) -> None:
        """Binds a scalar argument to an array of one element in the target's memory, which every replay reads.

        Args:
            name: the name of the argument.
            array: an array of one element, or None: the graph's own value is used again.

        Raises:
            BadInput: the graph has no such scalar; or the array has another size, element type or device.
        """
        info = self._info(name, "argument", self.executable.arguments)
        seen = bound = None
        if array is not None:
            seen = self._view(array, f"argument '{name}'", writable=info.donated)
            if seen.size != 1:
                raise BadInput(f"argument '{name}': expected an array of one element, found shape {seen.shape}")
            bound = [array], Held([seen.owner], lambda _: f"argument '{name}'", bound=True, views=[seen])
        with self._turn():
            code = dtypes.CODES[info.dtype if seen is None else seen.dtype]
            address = None if seen is None else seen.address
            self._begin_binding(name, bound)
            status = _library.library().heddle_bind_scalar(self._handle, self._names[name], code, address)
            self._check_binding(name, status)
            self._hold(name, bound)

    def list_binding(
        self,
        name: str,
        shapes: Sequence[Sequence[int]],
        *,
        dtype: str | None = None,
        strides: Sequence[int] | None = None,
    ) -> ListBinding:
        """Prepares to bind a list argument or a result by addresses, which is the fastest way to bind it again.

        Args:
            name: the name of a list argument or a result.
            shapes: the extents of each member, in elements.
            dtype: the element type of the members, by heddle's name; None: that of the program.
            strides: the row stride of each member in elements, 0 if dense; None: all are dense.

        Raises:
            BadInput: the graph is closed or has no such list, or a shape or stride is no integer of at least 0.
        """
        return ListBinding(self, name, shapes, dtype=dtype, strides=strides)

    def set_inactive(self, name: str, mask: Sequence[bool] | bytes | None) -> None:
        """Marks members of a list as inactive, for example parameters without a gradient in this step.

        The step skips an inactive member in every list with the same members: parameter, state and step counter keep
        their values. Its addresses may be 0.

        Args:
            name: the name of a list argument.
            mask: True for each inactive member; None: all are active. If the list is bound, the mask has as many
                members, so bind first.

        Raises:
            BadInput: the graph has no such list, or the list is bound to another number of members. If it is bound
                later, `prepare` and `replay` report the difference.
        """
        try:
            if isinstance(mask, str):
                raise TypeError
            flags = b"" if mask is None else bytes(mask) if isinstance(mask, bytes) else bytes(map(bool, mask))
        except REFUSALS as error:  # such as an array of several elements, which has no truth value
            raise BadInput(f"'{name}': expected a sequence of booleans, found {short(mask)}") from error
        with self._turn():
            self._check(
                _library.library().heddle_set_inactive(
                    self._handle, self._encoded(name), len(flags), flags if flags else None
                )
            )

    # ------------------------------------------------------------------------------------------------------------------
    # Scalars and steps
    # ------------------------------------------------------------------------------------------------------------------

    def set_scalar(self, name: str, value: float, stream: Any = 0) -> None:
        """Sets the graph's own value of a scalar argument for all later replays on `stream`, and for no earlier one.

        Never compiles, prepares or waits.

        Raises:
            BadInput: the graph has no such scalar; or the caller captures the stream.
        """
        if type(stream) is not int or stream >> 64:
            stream = arrays.stream_handle(stream)
        encoded = self._encoded(name)
        if type(value) is not float:
            value = number(value, f"argument '{name}'")  # ctypes would read a tensor in freed memory
        with self._turn():
            status = self._set_scalar(self._handle, encoded, value, stream)
            if status:
                self._check(status)

    def prepare(self, stream: Any = 0) -> None:
        """Checks the bound arrays, allocates memory, and updates tables and the CUDA graph.

        `replay` does this if a binding has changed. Call it before a capture, or to get errors and costs early.

        Raises:
            BadInput: the arrays do not fit each other; an argument is not bound.
            Failed: an allocation or a call of the driver has failed.
        """
        stream = arrays.stream_handle(stream)
        with self._turn():
            self._check_memory()
            self._check(_library.library().heddle_prepare(self._handle, stream))
            self._rebound.clear()

    def replay(self, stream: Any = 0) -> None:
        """Submits one step: one graph launch.

        While the caller captures the stream, the kernels of the step are added to the capture.

        Raises:
            BadInput, Failed: as for `prepare`. No array has been written.
        """
        if type(stream) is not int or stream >> 64:
            stream = arrays.stream_handle(stream)
        with self._turn():
            status = self._launch(self._check_memory, stream) if self._checked else self._replay(self._handle, stream)
            if status:
                self._check(status)
            if self._written:
                mark_changed(self._written)
            if self._rebound:
                self._rebound.clear()

    def _replay_checked(self, check: Callable[[], None], stream: int) -> None:
        """As `replay`, of memory that is bound by address. `check` raises an error if it has been freed or replaced."""
        with self._turn():
            status = self._launch(check, stream)
            if status:
                self._check(status)
            if self._rebound:
                self._rebound.clear()

    def _launch(self, check: Callable[[], None], stream: int) -> int:
        """The status of a launch right after a check. Objects in garbage may free memory in their ``__del__``."""
        collections = _fast.collections()
        check()
        status = _fast.launch(self._address_of_replay, self._handle.value or 0, stream, collections)
        if status is None:
            with uncollected():
                check()
                status = self._replay(self._handle, stream)
        return status

    def _replay_unless_collected(self, stream: int, collections: int) -> bool:
        """As `replay`, unless Python has collected garbage since `_fast.collections` returned `collections`.

        Objects in garbage may replace the memory of tensors that are bound by address, in their ``__del__``.

        Returns:
            Whether the step was submitted.
        """
        with self._turn():
            if self._checked:
                self._check_memory()
            status = _fast.launch(self._address_of_replay, self._handle.value or 0, stream, collections)
            if status:
                self._check(status)
            if self._rebound and status is not None:
                self._rebound.clear()
        return status is not None

    def synchronize(self, stream: Any = 0) -> None:
        """Waits for a stream."""
        stream = arrays.stream_handle(stream)
        with self._turn():
            self._check(_library.library().heddle_synchronize(self._handle, stream))

    def measure(self, replays: int = 20, samples: int = 9) -> float:
        """The device time of one replay in seconds: the median of `samples` runs of `replays` replays back to back.

        The state changes as in any replay.
        """
        seconds = ctypes.c_double()
        replays, samples = integer(replays, "replays", 1, _INT_MAX), integer(samples, "samples", 1, _INT_MAX)
        with self._turn():
            self._check_memory()
            self._check(_library.library().heddle_measure(self._handle, replays, samples, seconds))
            mark_changed(self._written)
            self._rebound.clear()
        return seconds.value

    # ------------------------------------------------------------------------------------------------------------------
    # Results
    # ------------------------------------------------------------------------------------------------------------------

    def read_scalar(self, name: str, stream: Any = 0) -> float:
        """The value of a scalar argument or result, after waiting for `stream`.

        Raises:
            BadInput: the graph has no such scalar, the memory of a bound tensor was freed or replaced, or the scalar was
                bound again since the last `prepare` or `replay`: the graph reads it from the next one on.
        """
        value = ctypes.c_double()
        stream = arrays.stream_handle(stream)
        with self._turn():
            self._check_memory_of(name)
            if isinstance(name, str) and name in self._rebound:
                raise BadInput(f"'{name}': expected prepare() or replay() after it was bound again, found none")
            self._check(_library.library().heddle_read_scalar(self._handle, self._encoded(name), value, stream))
        return value.value

    def result(self, name: str) -> list[Any]:
        """The members of a result, after `prepare` or `replay`.

        Returns:
            The arrays that `bind_list` or `bind_result` bound, if they did. Otherwise (the graph's own memory, or memory
            that is bound by address) NumPy copies on the cpu target, and views on a GPU, as from `result_views`;
            `heddle.arrays.to_library` makes arrays of them.

        Raises:
            BadInput: the graph has no such result, its bindings have changed since the last `prepare` or `replay`, the
                memory of a bound tensor was freed or replaced, or a member that no array of the caller holds is inactive.
        """
        self._info(name, "result", self.executable.results)
        views = self.result_views(name)
        bound = self._bound.get(name)
        if bound is not None:
            return list(bound[0])
        for member, seen in enumerate(views):
            if not seen.address and seen.size:
                raise BadInput(
                    f"result '{name}', member {member}: expected an active member, found an inactive one (set_inactive), "
                    "which has no memory; result_views describes all members"
                )
        if self.device.kind != "cpu":
            return list(views)
        return [arrays.to_library(seen, "numpy").copy() for seen in views]

    def result_views(self, name: str) -> list[arrays.ArrayView]:
        """The memory of each member of a result, after `prepare` or `replay`.

        Addresses in the graph's own memory are valid until a binding changes. The address of an inactive or empty
        member is 0. A member in the caller's memory has the row stride with which it was bound.

        Raises:
            BadInput: as for `result`, except for inactive members.
        """
        lib = _library.library()
        info = self._info(name, "result", self.executable.results)
        encoded, count = self._names[name], ctypes.c_size_t()
        address, rank, extents = ctypes.c_void_p(), ctypes.c_int(), (ctypes.c_int64 * 2)()
        stride = ctypes.c_int64()
        views = []
        with self._turn():
            self._check_memory_of(name)
            self._check(lib.heddle_result_members(self._handle, encoded, count))
            for member in range(count.value):
                self._check(lib.heddle_result_member(self._handle, encoded, member, address, rank, extents, stride))
                shape = tuple(extents[: rank.value])
                is_strided = len(shape) == 2 and stride.value != shape[1]
                views.append(
                    arrays.ArrayView(
                        address.value or 0,
                        info.dtype,
                        shape,
                        (stride.value, 1) if is_strided else None,
                        self.device,
                        False,
                        self,
                    )
                )
        return views

    # ------------------------------------------------------------------------------------------------------------------
    # The end
    # ------------------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Frees the graph now. Wait for the stream first. Later calls raise `BadInput`."""
        self._turn()  # not within another call, for which the finalizer would wait
        self._finalizer()
        if self._handle:  # the finalizer was interrupted, and runs only once
            self._free()
        self._bound, self._checked, self._written = {}, {}, ()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return not self._handle

    def __repr__(self) -> str:
        return f"<heddle.Graph of {self.executable!r} on {self.device}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Graph cannot be copied or pickled: create another one from its executable")

    # ------------------------------------------------------------------------------------------------------------------

    def _turn(self) -> Any:
        """The lock of the graph, for ``with``, which lets no signal handler run between its lock and its block."""
        lock = self._lock
        if is_interrupted(lock):
            raise interrupted("graph")
        return lock

    def _check(self, status: int) -> None:
        if status:
            raise BadInput("the graph is closed") if not self._handle else _library.error_of(status)

    def _check_memory(self) -> None:
        """Refuses bound arrays whose memory has been freed or replaced."""
        for held in self._checked.values():
            name = held.changed()
            if name is not None:
                raise _changed(name)

    def _check_memory_of(self, name: str) -> None:
        """Refuses arrays that are bound to a name, and whose memory has been freed or replaced."""
        held = self._checked.get(name) if isinstance(name, str) else None  # other objects may have no hash
        changed = None if held is None else held.changed()
        if changed is not None:
            raise _changed(changed)

    def _begin_binding(self, name: str, bound: tuple[list[Any], Held] | None) -> None:
        """To be called before the library binds a name. `_hold` ends it."""
        before = self._bound.get(name)
        if bound is not None or before is not None:
            self._checked[name] = _HalfBound(name, before, bound)

    def _check_binding(self, name: str, status: int) -> None:
        """If the library has refused to bind a name, keeps the arrays before, and raises the error."""
        if status:
            before = self._bound.get(name)
            self._checked.pop(name, None)
            if before is not None and before[1].can_change:
                self._checked[name] = before[1]
            self._check(status)

    def _hold(self, name: str, bound: tuple[list[Any], Held] | None, binding: object = None) -> None:
        """Keeps the arrays of a name instead of those before; None: it has none, or the caller keeps them.

        `binding` stands for the ListBinding that bound them.
        """
        before = self._bound.pop(name, None)
        self._bindings[name] = binding
        self._rebound.add(name)  # until the next step, the library reads scalars from the memory before
        if bound is not None:
            self._bound[name] = bound
        if before is not bound and self._is_written(name):
            self._written = tuple(
                tensor for each, (_, held) in self._bound.items() if self._is_written(each) for tensor in held.tensors
            )
        # Last, because an interrupted binding is marked there.
        if bound is not None and bound[1].can_change:
            self._checked[name] = bound[1]
        else:
            self._checked.pop(name, None)

    def _is_written(self, name: str) -> bool:
        """Whether a step writes what is bound to a name."""
        info = self.executable.arguments.get(name)
        return info is None or info.donated

    def _encoded(self, name: str) -> bytes:
        known = self._names.get(name) if isinstance(name, str) else None  # other objects may have no hash
        return known or _library.encode(name, "name")

    def _info(self, name: str, role: str, infos: dict[str, BufferInfo]) -> BufferInfo:
        found = infos.get(name) if isinstance(name, str) else None  # other objects may have no hash
        if found is None:
            raise BadInput(f"{role} '{short_text(name)}': the program has no such {role}; it has {listed(infos)}")
        return found

    def _view(self, array: Any, where: str, writable: bool) -> arrays.ArrayView:
        try:
            seen = arrays.view(array, writable=writable)
        except Error as error:
            raise type(error)(f"{where}: {error}") from error.__cause__
        expected = self.device
        if seen.device.kind != expected.kind or (
            seen.device.ordinal is not None and seen.device.ordinal != expected.ordinal
        ):
            raise BadInput(f"{where}: expected memory of {expected}, found {seen.device}")
        return seen

    def _bind_arrays(self, info: BufferInfo, role: str, members: Sequence[Any], *, writable: bool) -> None:
        name = info.name
        given, views, strides = _listed(members, f"{role} '{name}'"), [], []
        for member, array in enumerate(given):
            where = f"{role} '{name}', member {member}"
            seen = self._view(array, where, writable)
            if seen.dtype != info.dtype:
                raise BadInput(f"{where}: expected dtype {info.dtype}, found {seen.dtype}")
            if info.rank == 2:
                try:
                    strides.append(seen.row_stride)
                except BadInput as error:
                    raise BadInput(f"{where}: {error}") from error.__cause__
            elif not seen.is_dense:
                raise BadInput(
                    f"{where}: expected a dense array in the order of C, found strides {seen.strides} for shape "
                    f"{seen.shape}: make it contiguous"
                )
            views.append(seen)
        binding = ListBinding(self, name, [seen.shape for seen in views], strides=strides if any(strides) else None)
        owners = [seen.owner for seen in views]
        held = Held(owners, lambda member: f"{role} '{name}', member {member}", bound=True, views=views)
        binding._bind([seen.address for seen in views], (given, held))


def _changed(name: str) -> BadInput:
    return BadInput(
        f"{name}: expected the memory that was bound, found a tensor with another address, layout or size of its storage, "
        "as after untyped_storage().resize_() or tensor.data = other: bind it again"
    )


#: What an array has, and a sequence of arrays has not.
_ARRAYS = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")


def _listed(members: Any, where: str) -> list[Any]:
    """The members of a list, which may come from an iterator.

    Raises:
        BadInput: `members` is one array, no sequence, or refuses to be read.
    """
    refused, cause = "", None
    try:
        # The parts of an array may be copies, as the scalars of a vector of NumPy are.
        if hasattr(members, "__iter__") and any(hasattr(members, name) for name in _ARRAYS):
            raise BadInput(
                f"{where}: expected a sequence with one array for each member, found one {type(members).__name__}: put "
                "it in a list, [array]"
            )
        if not isinstance(members, (str, bytes)) and hasattr(members, "__iter__"):
            return list(members)
    except BadInput:
        raise
    except REFUSALS as error:  # any library's object may refuse
        refused, cause = f", which raises {refusal(error)}", error
    raise BadInput(f"{where}: expected a sequence of arrays, found {type(members).__name__}{refused}") from cause
