"""The parameters and gradients of a part: those that are bound as they are, and copies of the others.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import numpy

from .. import _fast
from .._refusals import REFUSALS
from ..errors import BadInput
from ._checks import check_gradient, check_memory, check_param
from ._overlap import elements_overlap, overlapping_pair
from ._torch import copy_into, empty_in_order, is_dense, is_distributed, local, local_gradient, same_order, torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..graph import Graph
    from ._members import Members


class Stale(Exception):
    """The order of a parameter's elements in memory has changed: the part has to be made again."""


class Tensors:
    """The parameters and gradients of a part.

    Parameters that can be bound as they are, with their gradients, are *plain*: one call reads the addresses of all. The
    others are *special*: they have no elements, or the step reads and writes copies.

    Args:
        optimizer: the name of the optimizer, for messages.
        members: the parameters.
        graph: the graph, whose lists `param` and `grad` are bound.

    Attributes:
        params, grads: the addresses of both lists.
    """

    def __init__(self, optimizer: str, members: Members, graph: Graph) -> None:
        self._optimizer, self._members = optimizer, members.all
        self.params = members.new_addresses(graph, "param")
        self.grads = members.new_addresses(graph, "grad")
        #: Tensors that are copied before the step, and after it.
        self._copied_in: list[tuple[Any, Any]] = []
        self._written_back: list[tuple[Any, Any]] = []
        #: Whether the copies have the values of this step.
        self._are_copied = False
        self._sort_out()

    def _sort_out(self) -> None:
        """Finds the parameters that can be bound as they are."""
        self._is_distributed = any(is_distributed(member.param) for member in self._members)
        self._recorded = [
            (tuple(shard.shape), shard.dtype, shard.device)
            for shard in (local(member.param) for member in self._members)
        ]
        self._plain: list[int] = []
        #: The other members, which are read one by one.
        self.special: list[int] = []
        #: The copies in which parameters are stepped whose elements do not fill a range of memory.
        self.shadows: dict[int, Any] = {}
        #: The addresses of parameters with shadows.
        self._shadowed: list[int] = []
        self._copies: dict[int, Any] = {}
        self._strides: dict[int, Any] = {}
        #: The members whose gradient is in memory that the step writes: the step reads a copy.
        self.aliased: set[int] = set()
        #: The members with elements that share memory. They cannot be stepped.
        self._overlapping: set[int] = set()
        for place, member in enumerate(self._members):
            shard = local(member.param)
            check_memory(member.named(), shard, written=True)
            # Gradients of complex parameters are often lazy conjugates, which have to be copied.
            if shard.numel() and is_dense(shard) and not shard.is_complex():
                self._plain.append(place)
            else:
                self.special.append(place)
                self._strides[place] = shard.stride()
                if shard.numel() and not is_dense(shard):
                    if elements_overlap(shard):
                        self._overlapping.add(place)
                    self.shadows[place] = empty_in_order(shard, shard.dtype)
        self._read_layouts()

    def _read_layouts(self) -> None:
        self._plain_params = tuple(self._members[place].param for place in self._plain)
        is_all = len(self._plain) == len(self._members)
        self._plain_places: Any = slice(None) if is_all else numpy.array(self._plain, numpy.intp)
        tensors = [local(param) for param in self._plain_params]
        self._api = _fast.exchange_api(torch.Tensor)
        try:
            self._layouts = _fast.layouts(tensors, self._api)
        except REFUSALS as error:  # such as a subclass of torch.Tensor without memory of its own
            kinds = sorted({type(tensor).__name__ for tensor in tensors})
            raise BadInput(f"params: expected tensors with memory, found one of {', '.join(kinds)}: {error}") from error
        self._param_bytes = bytearray(8 * len(tensors))
        self._grad_bytes = bytearray(8 * len(tensors))
        self._param_values = numpy.frombuffer(self._param_bytes, numpy.int64)
        self._grad_values = numpy.frombuffer(self._grad_bytes, numpy.int64)

    def _demote(self, places: Sequence[int]) -> None:
        """Makes plain parameters special: their gradients need a copy."""
        moved = set(places)
        self._strides.update((place, local(self._members[place].param).stride()) for place in moved)
        self._plain = [place for place in self._plain if place not in moved]
        self.special = sorted({*self.special, *moved})
        self._read_layouts()

    def read(self) -> tuple[int, int]:
        """Reads the addresses of plain parameters and gradients: how many have changed, or minus how many do not fit."""
        if self._is_distributed:
            params = [local(param) for param in self._plain_params]
            grads = [local_gradient(param) for param in self._plain_params]
            moved = _fast.addresses(params, self._api, self._param_bytes, self._layouts)
            return moved, _fast.addresses(grads, self._api, self._grad_bytes, self._layouts)
        return _fast.pairs(self._plain_params, self._api, self._param_bytes, self._grad_bytes, self._layouts)

    def copy_unfit(self) -> None:
        """From now on, copies the gradients of plain parameters that cannot be bound as they are."""
        self._demote(self._unfit_gradients())

    def copy_aliased(self, places: set[int]) -> None:
        """From now on, copies these gradients, which are in memory that the step writes."""
        self.aliased |= places
        self._demote([place for place in self._plain if place in places])

    def update(self, has_moved: bool, has_changed: bool) -> tuple[bool, bool, Any]:
        """Writes new addresses to the lists.

        Args:
            has_moved, has_changed: whether plain parameters or gradients have other addresses.

        Returns:
            Whether any parameter has, whether any gradient has, and which members have a gradient.
        """
        params, grads = self.params.values, self.grads.values
        if has_moved:
            params[self._plain_places] = self._param_values
        if has_changed:
            grads[self._plain_places] = self._grad_values
        active = grads != 0
        if self.special:
            self._are_copied = False
            self._copied_in, self._written_back = [], []
            for place in self.special:
                param, grad, active[place] = self._read_special(place)
                has_moved |= param != params[place]
                has_changed |= grad != grads[place]
                params[place], grads[place] = param, grad
        return has_moved, has_changed, active

    def check_overlaps(self, active: Any, has_changed: bool) -> None:
        """Checks parameters that are stepped in copies, if something has changed, or if they have moved."""
        if self.shadows and (has_changed or self._shadows_have_moved()):
            self._check_shadowed(active)

    def _shadows_have_moved(self) -> bool:
        """Whether a parameter that is stepped in a copy has other memory than at the last check."""
        found = [local(self._members[place].param).data_ptr() for place in self.shadows]
        before, self._shadowed = self._shadowed, found
        return found != before

    def _check_shadowed(self, active: Any) -> None:
        """Checks parameters that are stepped in copies: the core, which binds the copies, cannot see an overlap."""
        members = [member for member, is_active in zip(self._members, active) if is_active]
        pair = overlapping_pair([local(member.param) for member in members])
        if pair:
            first, second = sorted(pair)
            raise BadInput(
                f"{members[second].named()}: expected memory of its own, because it is written, found an "
                f"overlap with {members[first].named()}"
            )

    def _read_special(self, place: int) -> tuple[int, int, bool]:
        """The addresses of a parameter and its gradient, and whether it has one. Both may be copies."""
        member = self._members[place]
        shard, grad = local(member.param), local_gradient(member.param)
        shadow = self.shadows.get(place)
        check_param(member, shard, self._recorded[place])
        if self._strides[place] != shard.stride():
            raise Stale  # state and copies are in the order of the parameter
        if grad is None:
            return 0, 0, False
        check_gradient(self._optimizer, member, shard, grad)
        if shard.numel() == 0:
            return 0, 0, True
        target = shard
        if shadow is not None:
            if place in self._overlapping:
                raise BadInput(
                    f"{member.named()}: expected elements with memory of their own, because a step writes them, "
                    f"found shape {tuple(shard.shape)} with strides {shard.stride()}, as from expand(); make the "
                    "parameter of a clone()"
                )
            self._copied_in.append((shadow, shard))
            self._written_back.append((shard, shadow))
            target = shadow
        if grad.dtype != shard.dtype or not same_order(grad, target) or place in self.aliased:
            if place not in self._copies:
                self._copies[place] = empty_in_order(target, shard.dtype)
            copied = self._copies[place]
            self._copied_in.append((copied, grad))
            grad = copied
        return target.data_ptr(), grad.data_ptr(), True

    def check_params(self) -> None:
        """Names a parameter that has changed; if there is none, the part has to be made again."""
        for place, member in enumerate(self._members):
            check_param(member, local(member.param), self._recorded[place])
        raise Stale

    def _unfit_gradients(self) -> list[int]:
        """The plain parameters whose gradients cannot be bound as they are."""
        unfit = []
        for place in self._plain:
            member = self._members[place]
            shard, grad = local(member.param), local_gradient(member.param)
            if grad is None:
                continue
            check_gradient(self._optimizer, member, shard, grad)
            if grad.dtype != shard.dtype or not same_order(grad, shard):
                unfit.append(place)
        if not unfit:
            self._check_gradient_memory()
            raise Stale
        return unfit

    def _check_gradient_memory(self) -> None:
        """Refuses a gradient that fits but has no address, such as a subclass of torch.Tensor that wraps other tensors."""
        for place in self._plain:
            member = self._members[place]
            grad = local_gradient(member.param)
            if grad is None:
                continue
            refused: Exception | None
            try:
                _fast.layouts([grad], self._api)
                refused = None if grad.data_ptr() else BufferError("its address is null")
            except REFUSALS as error:  # the subclass or the exchange of tensors refuses
                refused = error
            if refused is not None:
                raise BadInput(
                    f"{member.named('gradient of ')}: expected a tensor with memory of its own, found one of "
                    f"{type(grad).__name__}, which has none; assign a plain tensor"
                ) from refused

    def copy_in(self) -> None:
        """Copies the tensors that the program cannot read as they are."""
        for copied, tensor in self._copied_in:
            copied.copy_(tensor)
        self._are_copied = True

    def write_back(self) -> None:
        """Copies the results to the parameters that were stepped in copies. If it is interrupted, it can be called again."""
        if not self._are_copied:
            return
        for param, shadow in self._written_back:
            copy_into(param, shadow)
        self._are_copied = False
        # The next step reads these tensors again; gradients must not be kept until then.
        self._copied_in, self._written_back = [], []
