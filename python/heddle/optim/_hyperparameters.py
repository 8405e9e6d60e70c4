"""The hyperparameters of a part: from the parameter groups to the arguments of its program.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._refusals import REFUSALS
from .._values import is_freed, number, short
from ..errors import BadInput
from ._checks import check_memory
from ._torch import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._share import Share
    from ._spec import Spec


#: Collections whose entries have no places, or are no numbers.
_WITHOUT_ORDER = (dict, set, frozenset, str, bytes)


def read(group: Mapping[str, Any], name: str, parts: Mapping[str, tuple[str, int]]) -> Any:
    """The value of a hyperparameter in a group."""
    key, index = parts.get(name, (name, None))
    value = group[key]
    if index is None:
        return value
    if type(value) is not tuple:
        _check_parts(key, value)
    count = sum(entry == key for entry, _ in parts.values())
    try:
        found = None if isinstance(value, _WITHOUT_ORDER) else len(value)
    except REFUSALS:  # any library's object may refuse
        found = None
    if found != count:
        raise BadInput(f"{key}: expected {count} numbers, found {short(value)}")
    return value[index]


def _check_parts(key: str, value: Any) -> None:
    """Refuses several numbers in one tensor or array whose memory was freed."""
    if isinstance(value, torch.Tensor):
        check_memory(key, value)
    elif is_freed(value):
        raise BadInput(f"{key}: expected elements in memory, found {short(value)}: it is a view of a resized array")


def number_of(group: Mapping[str, Any], name: str, spec: Spec) -> Any:
    """The value of a hyperparameter in a group; 0 for None if that is the default."""
    value = read(group, name, spec.parts)
    return 0.0 if value is None and spec.defaults.get(name, 0) is None else value


class Hyperparameters:
    """The hyperparameters of a share of a part.

    With one group they are scalars of the program: changing one costs nothing on the device. With several, there is one
    table on the device, with a row for each group. A tensor on the device is copied into the table in every step.

    Args:
        share: the share; its lists of hyperparameters are bound here.
        table: use the table for one group as well, so that a captured step reads it.
    """

    def __init__(self, share: Share, *, table: bool) -> None:
        # Not the share itself: a cycle of references would keep parameters alive until the next garbage collection.
        self._graph, self._device, self._used = share.graph, share.device, share.group_places
        self._bound, self._group_of = share.lists_of_hyperparameters, share.group_of
        self._spec, self._ending = share.spec, share.ending
        scalars = share.hyperparameter_names(lists=False)
        self._lists = share.hyperparameter_names(lists=True)
        self._names = scalars + self._lists
        self._values: list[list[Any]] = []
        self._table: Any = None
        #: Whether a value is a tensor, which may change in place.
        self.has_tensors = False
        if self._lists or table:
            self._make_table()

    def _make_table(self) -> None:
        shape = (len(self._used), len(self._names))
        self._table = torch.zeros(shape, dtype=torch.float64, device=self._device)
        self._values = []
        for column, name in enumerate(self._names):
            if name in self._lists:
                bound = self._bound[name]
                rows = [self._used.index(group) for group in self._group_of]
                bound.values[:] = [self._table.data_ptr() + 8 * (shape[1] * row + column) for row in rows]
                bound.bind()
            else:
                self._graph.bind_scalar(name + self._ending, self._table[0, column])

    def _check_value(self, name: str, value: Any) -> None:
        """Asks the optimizer about a number; that of a tensor on a device is not read."""
        problem = self._spec.check_value(name, value) if self._spec.check_value and type(value) in (float, bool) else None
        if problem:
            raise BadInput(problem)

    def update(self, groups: Sequence[dict[str, Any]], stream: int) -> None:
        """Passes the values of the groups to the program, for all steps from the next one on."""
        values = []
        on_device = self.has_tensors = False
        for place in self._used:
            for name in self._spec.only_initial:
                if name not in self._spec.of_constructor:  # a parameter may begin with it in any step
                    _number(name, number_of(groups[place], name, self._spec))
            row = []
            for name in self._names:
                value = number_of(groups[place], name, self._spec)
                if type(value) is not float:
                    if type(value) is bool:
                        self._check_value(name, value)
                    self.has_tensors |= isinstance(value, torch.Tensor)
                    value = _number(name, value)
                    on_device |= isinstance(value, torch.Tensor)
                if self._spec.check_value:
                    self._check_value(name, value)
                row.append(value)
            values.append(row)
        if on_device and self._table is None:
            self._make_table()
        if on_device:
            self._write(values)
        elif values != self._values:
            if self._table is not None:
                self._write(values)
            else:
                before = self._values[0] if self._values else [None] * len(self._names)
                for name, old, new in zip(self._names, before, values[0]):
                    if new != old:
                        self._graph.set_scalar(name + self._ending, new, stream)
        self._values = values

    def _write(self, values: list[list[Any]]) -> None:
        """Writes the table, without waiting for the device."""
        changed = []
        for row, line in enumerate(values):
            for column, value in enumerate(line):
                if isinstance(value, torch.Tensor):
                    self._table[row, column].copy_(value.detach().reshape(()))
                elif not self._values or not _same(self._values[row][column], value):
                    changed.append((row, column, value))
        if len(changed) <= 4:
            for row, column, value in changed:
                self._table[row, column].fill_(value)
            return
        # One copy. The allocator of pinned memory keeps it until the copy has run.
        new = torch.tensor(
            [[0.0 if isinstance(value, torch.Tensor) else value for value in line] for line in values],
            dtype=torch.float64,
            device="cpu",
        )
        tensors = [
            (row, column) for row, line in enumerate(values) for column, value in enumerate(line)
            if isinstance(value, torch.Tensor)
        ]
        kept = [self._table[place].clone() for place in tensors]
        self._table.copy_(new if self._table.device.type == "cpu" else new.pin_memory(), non_blocking=True)
        for place, value in zip(tensors, kept):
            self._table[place].copy_(value)


def _same(old: Any, new: float) -> bool:
    return type(old) is float and old == new


def check_readable(name: str, value: Any) -> None:
    """Refuses a tensor that is no real number, or is in no memory."""
    _check_real(name, value)
    check_memory(name, value)


def _check_real(name: str, value: Any) -> None:
    if value.numel() != 1:
        raise BadInput(f"{name}: expected a number or a tensor of one element, found shape {tuple(value.shape)}")
    if value.is_complex() or value.layout is not torch.strided or value.device.type == "meta":
        raise BadInput(
            f"{name}: expected a dense tensor of a real number, found dtype {value.dtype} and layout {value.layout} on "
            f"{value.device}"
        )


def _number(name: str, value: Any) -> Any:
    """A number, or a tensor on a device."""
    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu":
            check_readable(name, value)
            return value
        _check_real(name, value)
        if is_freed(value):  # the other reasons to have no memory raise an error in the read
            check_memory(name, value)
        try:
            return float(value.item())
        except RuntimeError:
            check_memory(name, value)
            raise
    return number(value, name)
