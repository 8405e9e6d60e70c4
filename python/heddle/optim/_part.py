"""A part of an optimizer: the parameters of one device and one set of options, stepped by one launch.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy

from .. import _fast
from .._values import counted, listed, number
from ..dtypes import SIZES
from ..errors import BadInput
from . import _programs, _rewrite
from ._hyperparameters import Hyperparameters
from ._norm import SumOfSquares
from ._overlap import Range, aliased_gradients, elements_overlap, overlapping_pair, with_names
from ._spec import Family, Spec, suffixes
from ._torch import (
    DTYPES,
    NAMES,
    empty_in_order,
    is_dense,
    is_distributed,
    lacks_memory,
    local,
    local_gradient,
    real_dtype,
    real_numel,
    same_order,
    torch,
)
from ._tracking import Bound, MemberState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..graph import Graph
    from ._tracking import States


#: Of a tensor with elements that are in no memory.
_NO_MEMORY = (
    "expected elements in memory, found some or all without, as after untyped_storage().resize_(), in torch.func or in "
    "a fake mode"
)


class Stale(Exception):
    """The order of a parameter's elements in memory has changed: the part has to be made again."""


class Member(NamedTuple):
    """A parameter of a part."""

    param: Any
    #: The place of its group among the groups of the optimizer.
    group: int
    #: Its name in messages.
    name: str


class StateList(NamedTuple):
    """A list of the program that is state of the optimizer."""

    #: Its name without the suffix of the family: the key in the state of a parameter.
    key: str
    #: 1 if it is as large as the parameter, 0 for one value.
    rank: int
    #: The initial value.
    initial: float
    #: Whether torch's optimizer has it as well.
    visible: bool


class Addresses:
    """The addresses of the members of a list, over all families."""

    def __init__(self, graph: Graph, name: str, endings: Sequence[str], counts: Sequence[int], shapes: Any) -> None:
        self.values = numpy.zeros(sum(counts), numpy.int64)
        self._bindings = []
        start = 0
        for ending, count in zip(endings, counts):
            binding = graph.list_binding(name + ending, shapes[start : start + count])
            view = numpy.ctypeslib.as_array(binding.addresses).view(numpy.int64)
            self._bindings.append((binding, view, slice(start, start + count)))
            start += count

    def bind(self) -> None:
        for binding, view, members in self._bindings:
            view[:] = self.values[members]
            binding.bind()


class Part:
    """The parameters of one device and one set of options, bound to one graph.

    `gather` reads what has changed since the last step, checks it and binds it; no state changes. `replay` steps.

    Args:
        spec: the optimizer.
        members: the parameters. They are sorted by element type, otherwise they keep their order.
        options: the options and their values.
        scaled, clip: as in `_programs.Form`.
        states: the state of all parameters.
        hidden: the tensors of state that torch's optimizer does not have, by parameter.
        captured: the step is captured into a CUDA graph of the caller.
    """

    def __init__(
        self,
        spec: Spec,
        members: Sequence[Member],
        options: tuple[tuple[str, Any], ...],
        *,
        scaled: bool,
        clip: str,
        states: States,
        hidden: dict[Any, dict[str, Any]],
        reduction: Any = None,
        captured: bool = False,
    ) -> None:
        self.reduction = reduction
        self.spec, self.states, self.hidden = spec, states, hidden
        self.device = local(members[0].param).device
        families = _families(members, states)
        order = list(families)
        self.members = sorted(members, key=lambda member: order.index(real_dtype(member.param.dtype)))
        self.families = tuple(families.values())
        self.endings = suffixes(self.families)
        types = [real_dtype(member.param.dtype) for member in self.members]
        counts = [types.count(dtype) for dtype in order]
        self.group_places = used = sorted({member.group for member in self.members})
        self.form = _programs.Form(self.families, len(used) > 1, options, scaled, clip)
        executable = _programs.executable(_programs.text(spec, self.form), self.device)
        self.graph = executable.graph(device=None if self.device.type == "cpu" else self.device.index)
        self._families_of = [family for family, count in zip(self.families, counts) for _ in range(count)]
        self._states = self._state_lists(executable)
        self._has_visible = any(each.visible for each in self._states)
        self._counts = counts
        self._make_bindings()
        self.hyperparameters = Hyperparameters(self, used, table=captured)
        self._bound = Bound()
        states.changes.tensors.add(self._bound)
        self._sort_out()
        self._seen_changes = self._seen_group_changes = -1
        self._set_active(numpy.zeros(len(self.members), bool))
        self._is_bound = False
        #: Tensors that are copied before the step, and after it.
        self._copied_in: list[tuple[Any, Any]] = []
        self._written_back: list[tuple[Any, Any]] = []
        self._kept: list[Any] = []
        self._scaling: Any = None
        self._last_stream = 0
        self.norm: Any = None
        self.sum: Any = None
        self._max_norm: Any = None
        self._seen_max_norm: float | None = None
        self._sum_of_squares: SumOfSquares | None = None
        if scaled:
            self._scaling = torch.tensor([1.0, 0.0], dtype=torch.float32, device=self.device)
            self.bind_scaling(self.graph)
        if clip:
            self._max_norm = torch.zeros((), dtype=torch.float64, device=self.device)
            self.graph.bind_scalar(_rewrite.MAX_NORM, self._max_norm)
            self.norm = torch.zeros((), dtype=torch.float64, device=self.device)
            self.graph.bind_result(_rewrite.NORM, [self.norm])
        if clip == "sum":
            self.sum = torch.zeros((), dtype=torch.float64, device=self.device)
            self.graph.bind_scalar(_rewrite.SUM, self.sum)

    # ------------------------------------------------------------------------------------------------------------------
    # The lists of the program
    # ------------------------------------------------------------------------------------------------------------------

    def _state_lists(self, executable: Any) -> list[StateList]:
        ending = self.endings[0]
        initial = _initial_values(executable)
        lists = []
        for name, info in executable.arguments.items():
            if info.donated and name.endswith(ending) and name != f"param{ending}":
                key = name.removesuffix(ending)
                value = initial.get(name, 0.0)
                lists.append(StateList(key, info.rank, value, key not in self.spec.hidden))
        # The order of torch's optimizers: the step counter is first.
        return sorted(lists, key=lambda each: each.rank)

    def _make_bindings(self) -> None:
        self._params = self.new_addresses(self.graph, "param")
        self._grads = self.new_addresses(self.graph, "grad")
        self._bound_states = [self.new_addresses(self.graph, each.key, each.rank) for each in self._states]
        self.lists_of_hyperparameters = {
            name: self.new_addresses(self.graph, name, 0) for name in self.hyperparameter_names(lists=True)
        }
        self.group_of = numpy.array([member.group for member in self.members])

    def new_addresses(self, graph: Graph, name: str, rank: int = 1) -> Addresses:
        """The addresses of a list whose members belong to those of the part."""
        shapes = [(real_numel(local(member.param)),) if rank else () for member in self.members]
        return Addresses(graph, name, self.endings, self._counts, shapes)

    def hyperparameter_names(self, lists: bool | int) -> list[str]:
        """The arguments of the program that are hyperparameters: scalars, or lists without suffix."""
        added = (_rewrite.GRAD_SCALE, _rewrite.FOUND_INF, _rewrite.MAX_NORM, _rewrite.SUM)
        known = {"param", "grad", *(each.key for each in self._states)}
        names = []
        for name, info in self.graph.executable.arguments.items():
            if info.is_list != bool(lists) or name in added:
                continue
            key = name
            if lists:
                if not name.endswith(self.endings[0]):
                    continue
                key = name.removesuffix(self.endings[0])
            if key not in known:
                names.append(key)
        return names

    # ------------------------------------------------------------------------------------------------------------------
    # Parameters and gradients
    # ------------------------------------------------------------------------------------------------------------------

    def _sort_out(self) -> None:
        """Finds the parameters that can be bound as they are: the *plain* ones. The others are read one by one."""
        self._is_distributed = any(is_distributed(member.param) for member in self.members)
        self._recorded = [
            (tuple(shard.shape), shard.dtype, shard.device)
            for shard in (local(member.param) for member in self.members)
        ]
        self._plain: list[int] = []
        self._special: list[int] = []
        self._shadows: dict[int, Any] = {}
        #: The addresses of parameters with shadows.
        self._shadowed: list[int] = []
        self._copies: dict[int, Any] = {}
        self._strides: dict[int, Any] = {}
        #: The members whose gradient is in memory that the step writes: the step reads a copy.
        self._aliased: set[int] = set()
        #: The members with elements that share memory. They cannot be stepped.
        self._overlapping: set[int] = set()
        for place, member in enumerate(self.members):
            shard = local(member.param)
            self._check_memory(f"parameter {member.name}", shard)
            # Gradients of complex parameters are often lazy conjugates, which have to be copied.
            if shard.numel() and is_dense(shard) and not shard.is_complex():
                self._plain.append(place)
            else:
                self._special.append(place)
                self._strides[place] = shard.stride()
                if shard.numel() and not is_dense(shard):
                    if elements_overlap(shard):
                        self._overlapping.add(place)
                    self._shadows[place] = empty_in_order(shard, shard.dtype)
        self._read_layouts()

    def _read_layouts(self) -> None:
        self._plain_params = tuple(self.members[place].param for place in self._plain)
        is_all = len(self._plain) == len(self.members)
        self._plain_places: Any = slice(None) if is_all else numpy.array(self._plain, numpy.intp)
        tensors = [local(param) for param in self._plain_params]
        self._api = _fast.exchange_api(torch.Tensor)
        try:
            self._layouts = _fast.layouts(tensors, self._api)
        except Exception as error:  # such as a subclass of torch.Tensor without memory of its own
            kinds = sorted({type(tensor).__name__ for tensor in tensors})
            raise BadInput(f"params: expected tensors with memory, found one of {', '.join(kinds)}: {error}") from None
        self._param_bytes = bytearray(8 * len(tensors))
        self._grad_bytes = bytearray(8 * len(tensors))
        self._param_values = numpy.frombuffer(self._param_bytes, numpy.int64)
        self._grad_values = numpy.frombuffer(self._grad_bytes, numpy.int64)

    def _demote(self, places: Sequence[int]) -> None:
        """Makes plain parameters special: their gradients need a copy."""
        moved = set(places)
        self._strides.update((place, local(self.members[place].param).stride()) for place in moved)
        self._plain = [place for place in self._plain if place not in moved]
        self._special = sorted({*self._special, *moved})
        self._read_layouts()

    def gather(self) -> bool:
        """Reads the addresses of parameters and gradients, checks them, and binds those that changed.

        Returns:
            Whether a binding changed, so that `prepare` has work to do.

        Raises:
            BadInput: a parameter or gradient has changed its shape, element type or device.
        """
        if self._is_distributed:
            params = [local(param) for param in self._plain_params]
            grads = [local_gradient(param) for param in self._plain_params]
            moved = _fast.addresses(params, self._api, self._param_bytes, self._layouts)
            changed = _fast.addresses(grads, self._api, self._grad_bytes, self._layouts)
        else:
            moved, changed = _fast.pairs(
                self._plain_params, self._api, self._param_bytes, self._grad_bytes, self._layouts
            )
        if self._state_has_moved():
            self._seen_changes = -1
        if moved or changed or not self._is_bound or self._special or self._seen_changes != self.states.changes.count:
            return self._gather_changes(moved, changed)
        return False

    def _state_has_moved(self) -> bool:
        """Whether bound state has other memory, as after ``state["exp_avg"].data = ...``."""
        tensors = self._bound.tensors
        return bool(tensors) and _fast.addresses(tensors, self._api, self._state_bytes, self._state_layouts) != 0

    def _gather_changes(self, moved: int, changed: int) -> bool:
        is_bound, self._is_bound = self._is_bound, False
        if moved < 0:
            self._check_params()
        if changed < 0:
            self._demote(self._unfit_gradients())
            return self.gather()
        params, grads = self._params.values, self._grads.values
        has_moved, has_changed = not is_bound or moved > 0, not is_bound or changed > 0
        if has_moved:
            params[self._plain_places] = self._param_values
        if has_changed:
            grads[self._plain_places] = self._grad_values
        active = grads != 0
        if self._special:
            self._copied_in, self._written_back = [], []
            for place in self._special:
                param, grad, active[place] = self._read_special(place)
                has_moved |= param != params[place]
                has_changed |= grad != grads[place]
                params[place], grads[place] = param, grad
        rebind_active = not is_bound or active.tobytes() != self._active.tobytes()
        if self._shadows and (has_moved or rebind_active or self._shadows_have_moved()):
            self._check_shadowed(active)
        if rebind_active or self._seen_changes != self.states.changes.count:
            self._read_states(active)
            for bound in self._bound_states:
                bound.bind()
            has_changed = True
        if has_moved:
            self._params.bind()
        if has_changed:
            self._grads.bind()
        if rebind_active:
            self.set_inactive(self.graph, "param", active)
            self._set_active(active)
        self._seen_changes = self.states.changes.count
        self._is_bound = True
        return has_moved or has_changed

    def _shadows_have_moved(self) -> bool:
        """Whether a parameter that is stepped in a copy has other memory than at the last check."""
        found = [local(self.members[place].param).data_ptr() for place in self._shadows]
        before, self._shadowed = self._shadowed, found
        return found != before

    def _check_shadowed(self, active: Any) -> None:
        """Checks parameters that are stepped in copies: the core, which binds the copies, cannot see an overlap."""
        members = [member for member, is_active in zip(self.members, active) if is_active]
        pair = overlapping_pair([local(member.param) for member in members])
        if pair:
            first, second = sorted(pair)
            raise BadInput(
                f"parameter {members[second].name}: expected memory of its own, because it is written, found an "
                f"overlap with parameter {members[first].name}"
            )

    def _read_special(self, place: int) -> tuple[int, int, bool]:
        """The addresses of a parameter and its gradient, and whether it has one. Both may be copies."""
        member = self.members[place]
        shard, grad = local(member.param), local_gradient(member.param)
        shadow = self._shadows.get(place)
        self._check_param(place, shard)
        if self._strides[place] != shard.stride():
            raise Stale  # state and copies are in the order of the parameter
        if grad is None:
            return 0, 0, False
        if shard.numel() == 0:
            return 0, 0, True
        self._check_gradient(member, shard, grad)
        target = shard
        if shadow is not None:
            if place in self._overlapping:
                raise BadInput(
                    f"parameter {member.name}: expected elements with memory of their own, because a step writes them, "
                    f"found shape {tuple(shard.shape)} with strides {shard.stride()}, as from expand(); make the "
                    "parameter of a clone()"
                )
            self._copied_in.append((shadow, shard))
            self._written_back.append((shard, shadow))
            target = shadow
        if grad.dtype != shard.dtype or not same_order(grad, target) or place in self._aliased:
            if place not in self._copies:
                self._copies[place] = empty_in_order(target, shard.dtype)
            copied = self._copies[place]
            self._copied_in.append((copied, grad))
            grad = copied
        return target.data_ptr(), grad.data_ptr(), True

    def _check_params(self) -> None:
        for place, member in enumerate(self.members):
            self._check_param(place, local(member.param))
        raise Stale

    def _check_param(self, place: int, shard: Any) -> None:
        names = ("shape", "dtype", "device")
        for name, found, expected in zip(names, (tuple(shard.shape), shard.dtype, shard.device), self._recorded[place]):
            if found != expected:
                raise BadInput(
                    f"parameter {self.members[place].name}: expected {name} {expected} as in earlier steps, found "
                    f"{found}; create the optimizer after such a change, or load its state again"
                )
        self._check_memory(f"parameter {self.members[place].name}", shard)

    @staticmethod
    def _check_memory(name: str, tensor: Any) -> None:
        if lacks_memory(tensor):
            raise BadInput(f"{name}: {_NO_MEMORY}")

    def _check_state(self, what: str, found: Any) -> None:
        if found.layout is not torch.strided or found.device.type == "meta":
            raise BadInput(f"{what}: expected a dense tensor, found layout {found.layout} on {found.device}")
        self._check_memory(what, found)

    def _check_gradient(self, member: Member, shard: Any, grad: Any) -> None:
        if grad.layout is not torch.strided:
            raise RuntimeError(
                f"heddle.optim.{self.spec.name} does not support sparse gradients: parameter {member.name} has a "
                f"gradient of layout {grad.layout}; use dense gradients, as in torch.nn.Embedding(sparse=False)"
            )
        if grad.shape != shard.shape or grad.device != shard.device:
            raise BadInput(
                f"gradient of parameter {member.name}: expected shape {tuple(shard.shape)} on {shard.device}, "
                f"found {tuple(grad.shape)} on {grad.device}"
            )
        if grad.dtype != shard.dtype and (grad.dtype.is_complex or real_dtype(grad.dtype) not in NAMES):
            raise BadInput(
                f"gradient of parameter {member.name}: expected dtype {shard.dtype}, found {grad.dtype}"
            )
        self._check_memory(f"gradient of parameter {member.name}", grad)

    def _unfit_gradients(self) -> list[int]:
        """The plain parameters whose gradients cannot be bound as they are."""
        unfit = []
        for place in self._plain:
            member = self.members[place]
            shard, grad = local(member.param), local_gradient(member.param)
            if grad is None:
                continue
            self._check_gradient(member, shard, grad)
            if grad.dtype != shard.dtype or not same_order(grad, shard):
                unfit.append(place)
        if not unfit:
            raise Stale
        return unfit

    # ------------------------------------------------------------------------------------------------------------------
    # State
    # ------------------------------------------------------------------------------------------------------------------

    def _read_states(self, active: Any) -> None:
        """Reads the addresses of the state of all active members; creates what is missing."""
        places = [int(place) for place in numpy.flatnonzero(active)]
        keys = [each.key for each in self._states if each.visible]
        visible = [self._state_of(self.members[place]) for place in places]
        hidden = [self._hidden_of(place) for place in places] if len(keys) < len(self._states) else []
        for state, others in zip(visible, hidden):
            if others and not any(key in state for key in keys):
                others.clear()  # the caller has reset the state
        self._check_complete(places, visible)
        converted = []
        for each in self._states:
            for place, state in zip(places, visible if each.visible else hidden):
                value = state.get(each.key)
                if value is not None:
                    fitting = self._fitting(each, place, value)
                    if fitting is not value:
                        converted.append((state, each.key, fitting))
        # Everything fits: nothing was written so far.
        for state, key, fitting in converted:
            _keep(state, key, fitting)
        # All of it, or none if the memory does not suffice: a later step must find no part of it.
        created = []
        for each in self._states:
            holders = visible if each.visible else hidden
            missing = [index for index, state in enumerate(holders) if state.get(each.key) is None]
            if missing:
                # Hidden state of an earlier step is 1 where there is other state.
                old = [not each.visible and any(key in visible[index] for key in keys) for index in missing]
                new = self._create(each, [places[index] for index in missing], old)
                created += [(holders[index], each.key, tensor) for index, tensor in zip(missing, new)]
        for state, key, tensor in created:
            _keep(state, key, tensor)
        for each, bound in zip(self._states, self._bound_states):
            holders = visible if each.visible else hidden
            addresses = [local(state[each.key]).data_ptr() for state in holders]
            if each.rank == 0 and len(set(addresses)) < len(addresses):
                addresses = _separated(each.key, holders, addresses)
            bound.values[places] = addresses
        tensors = self._bound.tensors = tuple(
            local(state[each.key]) for each in self._states for state in (visible if each.visible else hidden)
        )
        self._state_layouts = _fast.layouts(tensors, self._api)
        self._state_bytes = bytearray(8 * len(tensors))
        _fast.addresses(tensors, self._api, self._state_bytes, self._state_layouts)

    def _check_complete(self, places: Sequence[int], states: Sequence[Any]) -> None:
        """Refuses state that lacks an entry beside others, such as that of another optimizer: torch does not create it."""
        own = [each.key for each in self._states if each.visible]
        keys = [key for key in self.spec.functional or own if key not in self.spec.unneeded]
        others = []
        for place, state in zip(places, states):
            absent = [key for key in keys if key not in state]
            if absent and len(absent) == len(keys) and state:
                others.append((self.members[place].name, state))
            elif absent and len(absent) < len(keys):
                member = self.members[place]
                large = any(each.rank for each in self._states if each.key == absent[0])
                expected = f"a tensor of shape {tuple(member.param.shape)}" if large else "one value"
                raise BadInput(
                    f"state '{absent[0]}' of parameter {member.name}: expected {expected}, found none beside "
                    f"{', '.join(repr(key) for key in keys if key in state)}; load the state of an optimizer with the "
                    "same entries, or clear the state of the parameter: its next step then creates all entries"
                )
        if others:
            name, state = others[0]
            warnings.warn(
                f"state of parameter {name}: expected {listed(map(repr, keys))}, found only {listed(map(repr, state))}, "
                f"as in the state of another optimizer; {counted(len(others), 'parameter')} of this kind "
                f"{'starts' if len(others) == 1 else 'start'} with new state",
                stacklevel=2,
            )

    def _fitting(self, each: StateList, place: int, value: Any) -> Any:
        """The state itself, or a copy on the device, of the element type and in the order that the program needs."""
        member = self.members[place]
        shard = local(member.param)
        what = f"state '{each.key}' of parameter {member.name}"
        if each.rank == 0:
            if isinstance(value, torch.Tensor):
                if value.numel() != 1:
                    raise BadInput(f"{what}: expected one value, found shape {tuple(value.shape)}")
                self._check_state(what, local(value))
                found = local(value).detach().resolve_neg()
                return found.to(device=self.device, dtype=torch.float32)
            return torch.tensor(number(value, what), dtype=torch.float32, device=self.device)
        if not isinstance(value, torch.Tensor) or value.shape != member.param.shape:
            found = tuple(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
            raise BadInput(f"{what}: expected a tensor of shape {tuple(member.param.shape)}, found {found}")
        if is_distributed(value) != is_distributed(member.param):
            raise BadInput(
                f"{what}: expected a tensor that is distributed as its parameter is; load the state of sharded "
                "parameters with torch.distributed.checkpoint.state_dict.set_optimizer_state_dict"
            )
        found, dtype = local(value), self._state_dtype(place)
        self._check_state(what, found)
        order = self._shadows.get(place, shard)
        if found.shape != shard.shape:
            raise BadInput(f"{what}: expected a shard of shape {tuple(shard.shape)}, found {tuple(found.shape)}")
        if found.device == self.device and found.dtype == dtype and is_dense(found) and same_order(found, order):
            return value
        if is_distributed(value):
            return value.to(device=self.device, dtype=dtype).contiguous()
        return empty_in_order(order, dtype).copy_(value)

    def _state_dtype(self, place: int) -> Any:
        family, dtype = self._families_of[place], self.members[place].param.dtype
        return dtype if family.state == family.param else DTYPES[family.state]

    def _state_of(self, member: Member) -> Any:
        # A rule without state leaves no empty entries, as torch's optimizers do.
        return self.states.tracked(member.param) if self._has_visible else {}

    def _hidden_of(self, place: int) -> dict[str, Any]:
        return self.hidden.setdefault(self.members[place].param, {})

    def _create(self, each: StateList, places: Sequence[int], old: Sequence[bool]) -> list[Any]:
        """New state of these members."""
        if each.rank:
            made = []
            for place in places:
                param, dtype = self.members[place].param, self._state_dtype(place)
                made.append(
                    torch.full_like(
                        param.detach(),
                        each.initial,
                        dtype=dtype,
                        memory_format=torch.preserve_format,
                        requires_grad=False,
                    )
                )
            return made
        # Views of one tensor.
        values = torch.tensor(
            [1.0 if was else each.initial for was in old], dtype=torch.float32, device="cpu"
        ).to(self.device)
        return list(values.unbind())

    # ------------------------------------------------------------------------------------------------------------------
    # The step
    # ------------------------------------------------------------------------------------------------------------------

    def _set_active(self, active: Any) -> None:
        self._active = active
        #: The number of parameters without gradient.
        self.idle_members = len(active) - int(numpy.count_nonzero(active))
        #: Whether no parameter has a gradient.
        self.is_idle = self.idle_members == len(active)

    def update_hyperparameters(self, groups: Sequence[dict[str, Any]], changes: int) -> None:
        """Passes the hyperparameters to the program if the groups have changed, or if some are tensors."""
        if changes != self._seen_group_changes or self.hyperparameters.has_tensors:
            self.hyperparameters.update(groups, self.current_stream())
            self._seen_group_changes = changes

    def current_stream(self) -> int:
        """The stream on which PyTorch works on the device of this part."""
        if self.device.type == "cpu":
            return 0
        stream: int = torch._C._cuda_getCurrentRawStream(self.device.index)
        return stream

    def set_scaling(self, scale: Any, found_inf: Any) -> None:
        """Sets the scale by which gradients were multiplied, and whether one is not finite; None: 1, and no."""
        for place, (value, default) in enumerate(((scale, 1.0), (found_inf, 0.0))):
            if value is None:
                self._scaling[place].fill_(default)
            else:
                self._scaling[place].copy_(value.reshape(()), non_blocking=True)

    def bind_scaling(self, graph: Graph) -> None:
        graph.bind_scalar(_rewrite.GRAD_SCALE, self._scaling[0])
        graph.bind_scalar(_rewrite.FOUND_INF, self._scaling[1])

    def set_max_norm(self, value: float) -> None:
        if value != self._seen_max_norm:
            self._max_norm.fill_(value)
            self._seen_max_norm = value

    def set_inactive(self, graph: Graph, name: str, active: Any) -> None:
        """Marks the members of a list that are not active."""
        start = 0
        for ending, count in zip(self.endings, self._counts):
            graph.set_inactive(name + ending, (~active[start : start + count]).tobytes())
            start += count

    def bound_gradients(self) -> tuple[Any, Any]:
        """The addresses of all gradients, and which of them are there."""
        return self._grads.values, self._active

    @property
    def sum_of_squares(self) -> SumOfSquares:
        """The program that adds the squares of the gradients of this part."""
        if self._sum_of_squares is None:
            self._sum_of_squares = SumOfSquares(self)
        return self._sum_of_squares

    def prepare(self) -> None:
        """Checks the bindings, and updates the graph. Raises an error before anything runs."""
        try:
            self.graph.prepare(self.current_stream())
        except BadInput as error:
            self._separate(error)
            return self.prepare()
        if self.sum is not None:
            self.sum_of_squares.prepare(self)

    def _separate(self, error: BadInput) -> None:
        """Binds copies of gradients in memory that the step writes; if there are none, raises `error` with names."""
        found = aliased_gradients(self._memory()) - self._aliased
        if not found:
            raise BadInput(with_names(str(error), self._names())) from None
        self._aliased |= found
        self._is_bound = False
        self._demote([place for place in self._plain if place in found])
        self.gather()

    def _memory(self) -> Iterator[Range]:
        """The memory of parameters, gradients and state that is bound."""
        for place in map(int, numpy.flatnonzero(self._active)):
            family = self._families_of[place]
            count = real_numel(local(self.members[place].param))
            lists = [(self._params, count, family.param, None), (self._grads, count, family.grad, place)]
            for each, bound in zip(self._states, self._bound_states):
                lists.append((bound, count if each.rank else 1, family.state if each.rank else "f32", None))
            for addresses, size, dtype, gradient in lists:
                begin = int(addresses.values[place])
                yield Range(begin, begin + size * SIZES[dtype], gradient)

    def _names(self) -> dict[str, list[str]]:
        """The name of each member of each list, for messages."""
        spoken = {"param": "parameter", "grad": "gradient of parameter"}
        spoken.update((each.key, f"state '{each.key}' of parameter") for each in self._states)
        names, start = {}, 0
        for ending, count in zip(self.endings, self._counts):
            for key, word in spoken.items():
                names[key + ending] = [f"{word} {member.name}" for member in self.members[start : start + count]]
            start += count
        return names

    def keep(self) -> None:
        """Keeps all bound tensors alive: a captured graph may use them at any time."""
        for place, member in enumerate(self.members):
            grad = local_gradient(member.param)
            self._kept += [local(member.param).detach(), None if grad is None else grad.detach()]
            for state in (self._state_of(member), self._hidden_of(place)):
                self._kept += [local(value) for value in state.values() if isinstance(value, torch.Tensor)]

    @property
    def clips(self) -> bool:
        return self._max_norm is not None

    def copy_in(self) -> None:
        """Copies the tensors that the program cannot read as they are."""
        for copied, tensor in self._copied_in:
            copied.copy_(tensor)

    def replay(self) -> None:
        self._last_stream = self.current_stream()
        try:
            self.graph.replay(self._last_stream)
        except BadInput as error:
            self._separate(error)
            self.copy_in()
            return self.replay()
        for param, shadow in self._written_back:
            param.copy_(shadow)
        # The next step reads these tensors again; gradients must not be kept until then.
        self._copied_in, self._written_back = [], []

    def __del__(self) -> None:
        # The last step may still use the tables of the graph.
        try:
            if self.device.type != "cpu" and not self.graph.closed:
                self.graph.synchronize(self._last_stream)
        except Exception:  # the part was not finished, or this is a forked child, which cannot use the graph
            pass


def _keep(state: Any, key: str, tensor: Any) -> None:
    """Sets state that is bound, so that the change need not be noticed."""
    if isinstance(state, MemberState):
        state.set_quietly(key, tensor)
    else:
        state[key] = tensor


def _separated(key: str, holders: Sequence[Any], addresses: list[int]) -> list[int]:
    """Gives each member a value of its own, where several share one, such as one step counter for all."""
    seen: set[int] = set()
    for holder, address in zip(holders, addresses):
        if address in seen:
            _keep(holder, key, holder[key].clone())
        seen.add(address)
    # A parameter that is twice in a group has one state: its earlier value is gone. The core refuses equal addresses.
    return [int(holder[key].data_ptr()) for holder in holders]


def _families(members: Sequence[Member], states: States) -> dict[Any, Family]:
    """The family of each element type of the parameters, in the order of their first use."""
    families: dict[Any, Family] = {}
    for member in members:
        dtype = real_dtype(member.param.dtype)
        if dtype not in NAMES:
            raise BadInput(
                f"parameter {member.name}: expected dtype float64, float32, float16, bfloat16 or complex, found "
                f"{member.param.dtype}"
            )
        if dtype not in families:
            families[dtype] = Family(NAMES[dtype], NAMES[dtype], NAMES[_state_dtype(dtype, members, states)])
    return families


def _state_dtype(dtype: Any, members: Sequence[Member], states: States) -> Any:
    """The element type of the state of the parameters of one type: theirs, unless there is state of another type."""
    for member in members:
        if member.param.dtype == dtype and member.param.ndim and member.param in states:
            for value in states.tracked(member.param).values():
                if (
                    isinstance(value, torch.Tensor)
                    and value.shape == member.param.shape
                    and value.dtype in NAMES
                    and value.dtype != dtype
                ):
                    return value.dtype
    return dtype


def _initial_values(executable: Any) -> dict[str, float]:
    if executable not in _initial:
        _initial[executable] = executable.initial_values()
    return _initial[executable]


_initial: dict[Any, dict[str, float]] = {}
