"""The state of a part: the lists of its program, and the tensors of each parameter.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import re
import sys
import warnings
import weakref
from typing import NamedTuple

import numpy

from .. import _fast
from .._values import counted, listed, number
from ..errors import BadInput
from . import _begun, _rewrite, _storage, _stored_tensors
from ._checks import check_large, check_single, check_state
from ._hyperparameters import check_readable
from ._torch import DTYPES, empty_in_order, is_dense, is_distributed, local, same_order, torch
from ._tracking import Bound, MemberState, peek

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..graph import Graph
    from ._members import Members
    from ._spec import Spec
    from ._tensors import Tensors
    from ._tracking import States


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
    #: What the names of the lists of the families that have it end in.
    endings: tuple[str, ...]


class StateLists:
    """The state of a share of a part.

    Args:
        spec: the optimizer.
        members: the parameters.
        tensors: the parameters of the part, whose order in memory is that of their state.
        graph: the graph, whose lists of state are bound.
        states: the state of all parameters.
        hidden: the tensors of state that torch's optimizer does not have, by parameter.
        defaults: the entries that the constructor was given.
        first: the place of the first of these parameters among those of the part.
        ending: what the names of all arguments of the share end in.

    Attributes:
        lists: the lists of the program.
        bound: the addresses of each list.
    """

    def __init__(
        self,
        spec: Spec,
        members: Members,
        tensors: Tensors,
        graph: Graph,
        states: States,
        hidden: dict[Any, dict[str, Any]],
        defaults: Mapping[str, Any],
        first: int,
        ending: str,
    ) -> None:
        self._spec, self._members, self._tensors, self._defaults = spec, members, tensors, defaults
        self._first, self._ending = first, ending
        self._all, self._all_hidden = states, hidden
        self.lists = self._state_lists(graph.executable)
        keys = {each.key for each in self.lists}
        #: The counts that are hidden, and the entries that they count, if the program has them.
        self._counts = [
            (each.key, entry if entry in keys else None)
            for each in self.lists if not each.visible and (entry := spec.hidden.get(each.key))
        ]
        #: A second counter of a rule with a counter of its own, such as that of a schedule. It may be added later.
        self._second = {each.key for each in self.lists if each.rank == 0 and re.fullmatch(r"step_\d+", each.key)}
        self._has_visible = any(each.visible for each in self.lists)
        self.bound = [members.new_addresses(graph, each.key, each.rank) for each in self.lists]
        self._bound = Bound()
        states.changes.tensors.add(self._bound)
        self._api = _fast.exchange_api(torch.Tensor)

    def _state_lists(self, executable: Any) -> list[StateList]:
        initial = _initial_values(executable)
        found: dict[str, StateList] = {}
        for ending in self._members.endings:
            for name, info in executable.arguments.items():
                if not info.donated or not name.endswith(ending) or name in (f"param{ending}", f"grad{ending}"):
                    continue
                key = name.removesuffix(ending)
                known = found.get(key)
                # The step counter decides random numbers: it is state even if the formula does not use it.
                shows = key in self._spec.shown or (key == "step" and _storage.SEED + self._ending in executable.arguments)
                visible = shows or key not in self._spec.hidden
                endings = (*known.endings, ending) if known else (ending,)
                found[key] = StateList(key, info.rank, initial.get(name, 0.0), visible, endings)
        # The order of torch's optimizers: the step counter is first.
        return sorted(found.values(), key=lambda each: (each.rank, each.key != "step"))

    def has(self, each: StateList, place: int) -> bool:
        """Whether a member has a state."""
        return self._members.ending_of[place] in each.endings

    def has_moved(self) -> bool:
        """Whether bound state has other memory, as after ``state["exp_avg"].data = ...``."""
        if not self._all.changes.is_shared:
            return False
        tensors = self._bound.tensors
        return bool(tensors) and _fast.addresses(tensors, self._api, self._bytes, self._layouts) != 0

    def shared_averages(self) -> tuple[Any, ...]:
        """The averages of the parameters, if a caller may have one of them: then autograd or a solve may have it, too."""
        return self._bound.averages if self._all.changes.is_shared else ()

    def read(self, active: Any, groups: Sequence[dict[str, Any]]) -> None:
        """Reads the addresses of the state of all active members; creates what is missing.

        It reads by `peek`, so that the tensors do not count as shared.
        """
        places = [int(place) for place in numpy.flatnonzero(active)]
        keys = [each.key for each in self.lists if each.visible]
        self._remember(places)
        visible = [self.of(place) for place in places]
        hidden = [self.hidden_of(place) for place in places] if len(keys) < len(self.lists) else []
        for state, others in zip(visible, hidden):
            self._forget_counts(state, others)
        self._show_hidden(places, visible)
        self._check_complete(places, visible)
        converted = []
        for each in self.lists:
            for place, state in zip(places, visible if each.visible else hidden):
                value = peek(state, each.key) if self.has(each, place) else None
                if value is not None:
                    fitting = self._fitting(each, place, value)
                    if fitting is not value:
                        converted.append((state, each.key, fitting))
        # Everything fits: nothing was written so far.
        for state, key, fitting in converted:
            _keep(state, key, fitting)
        # All of it, or none if the memory does not suffice: a later step must find no part of it.
        created = []
        for each in self.lists:
            holders = visible if each.visible else hidden
            missing = [
                index
                for index, state in enumerate(holders)
                if self.has(each, places[index]) and peek(state, each.key) is None
            ]
            if missing:
                # An entry that is there has been set by a step.
                entry = self._spec.hidden.get(each.key)
                old = [entry is not None and peek(visible[index], entry) is not None for index in missing]
                new = self._create(each, [places[index] for index in missing], old, groups)
                if each.key in self._second:
                    _continue_counts(new, [peek(visible[index], "step") for index in missing])
                created += [(holders[index], each.key, tensor) for index, tensor in zip(missing, new)]
        for state, key, tensor in created:
            _keep(state, key, tensor)
        for each, bound in zip(self.lists, self.bound):
            here = [index for index, place in enumerate(places) if self.has(each, place)]
            holders = [(visible if each.visible else hidden)[index] for index in here]
            addresses = [local(peek(state, each.key)).data_ptr() for state in holders]
            if each.rank == 0 and len(set(addresses)) < len(addresses):
                addresses = _separated(each.key, holders, addresses)
            bound.values[[places[index] for index in here]] = addresses
        tensors = self._bound.tensors = tuple(
            local(peek(state, each.key))
            for each in self.lists
            for place, state in zip(places, visible if each.visible else hidden)
            if self.has(each, place)
        )
        self._bound.averages = tuple(
            peek(state, each.key)
            for each in self.lists
            if self._spec.averages is not None and each.key == _rewrite.AVERAGE
            for place, state in zip(places, visible)
            if self.has(each, place)
        )
        for each in self.lists:
            for place in places if each.key in _storage.TYPES else ():
                if self.has(each, place):
                    self.hidden_of(place)[_storage.HAD[each.key]] = True
        self._layouts = _fast.layouts(tensors, self._api)
        self._bytes = bytearray(8 * len(tensors))
        _fast.addresses(tensors, self._api, self._bytes, self._layouts)

    def _remember(self, places: Sequence[int]) -> None:
        """Records the state of these members: a step that fails leaves it as it was."""
        for states in (self._all, self._all_hidden):
            self._all.changes.remember(states)
            for place in places:
                state = dict.get(states, self._members.all[place].param)
                if isinstance(state, dict):
                    self._all.changes.remember(state)

    def bind(self) -> None:
        """Binds the addresses that were read."""
        for bound in self.bound:
            bound.bind()

    def _forget_counts(self, state: Any, others: dict[str, Any]) -> None:
        """Forgets how often an entry was set that is not there: the caller has reset the state, or no step had the entry."""
        for key, entry in self._counts:
            if entry is not None and peek(state, entry) is None:
                others.pop(key, None)
            elif key not in others and (known := _begun.count(state, key)) is not None:
                others[key] = known.clone()  # it was shown, such as for a schedule

    def _show_hidden(self, places: Sequence[int], states: Sequence[Any]) -> None:
        """Moves state that was hidden until an option such as a schedule made it visible."""
        for place, state in zip(places, states):
            others = self._all_hidden.get(self._members.all[place].param) or {}
            for each in self.lists:
                if each.visible and each.key in others:
                    value = others.pop(each.key)
                    if peek(state, each.key) is None:
                        _keep(state, each.key, value)

    def _check_complete(self, places: Sequence[int], states: Sequence[Any]) -> None:
        """Refuses state that lacks an entry beside others, such as that of another optimizer: torch does not create it."""
        # The lists of storage are made of the parameters if they are missing.
        counts, set_later = self._spec.hidden, {*self._spec.hidden.values()}
        added = {*_storage.TYPES, *counts, *self._second}
        own = [each.key for each in self.lists if each.visible and each.key not in added]
        keys = [key for key in self._spec.functional or own if key not in self._spec.unneeded]
        # An entry that is counted is missing until a step sets it.
        needed = [key for key in keys if key not in set_later]
        known = {*keys, *added, *set_later}
        lists = [each for each in self.lists if each.key in _storage.TYPES]
        others = []
        for place, state in zip(places, states):
            if lists:
                self._check_lists(lists, place, state)
            is_other = any(key not in known for key in dict.keys(state))
            if is_other and keys and not any(key in state for key in keys):
                others.append((self._members.all[place].named("state of "), state))
                continue
            absent = [key for key in needed if peek(state, key) is None]
            if absent and len(absent) < len(needed):
                member = self._members.all[place]
                large = any(each.rank for each in self.lists if each.key == absent[0])
                expected = f"a tensor of shape {tuple(member.param.shape)}" if large else "one value"
                what = member.named(f"state '{absent[0]}' of ")
                raise BadInput(
                    f"{what}: expected {expected}, found none beside "
                    f"{', '.join(repr(key) for key in needed if key not in absent)}; load the state of an optimizer with the "
                    "same entries, or clear the state of the parameter: its next step then creates all entries"
                )
        if others:
            what, state = others[0]
            warnings.warn(
                f"{what}: expected {listed(map(repr, keys))}, found only {listed(map(repr, state))}, "
                f"as in the state of another optimizer; {counted(len(others), 'parameter')} of this kind "
                f"{'starts' if len(others) == 1 else 'start'} with new state",
                stacklevel=2,
            )

    def _check_lists(self, lists: Sequence[StateList], place: int, state: Any) -> None:
        """Refuses state that has lost its exact parameters, or their lower halves, since an earlier step or load."""
        member = self._members.all[place]
        had = self._all_hidden.get(member.param) or {}
        for each in lists:
            if self.has(each, place) and _storage.HAD[each.key] in had and peek(state, each.key) is None:
                found = [key for key in (*self._spec.large, *self._spec.single, "step") if peek(state, key) is not None]
                if found:
                    what = member.named(f"state '{each.key}' of ")
                    raise BadInput(
                        f"{what}: expected a tensor of shape {tuple(member.param.shape)}, "
                        f"found none beside {listed(map(repr, found))}; set the parameters with load_masters, or clear the "
                        "state of the parameter: its next step then creates all entries"
                    )

    def _fitting(self, each: StateList, place: int, value: Any) -> Any:
        """The state itself, or a copy on the device, of the element type and in the order that the program needs."""
        member = self._members.all[place]
        shard = local(member.param)
        what = member.named(f"state '{each.key}' of ")
        if isinstance(value, torch.Tensor):
            check_state(what, local(value))
        if each.rank == 0:
            if isinstance(value, bool):
                raise BadInput(f"{what}: expected a number, found {value}")
            if isinstance(value, torch.Tensor):
                check_single(what, value)
                if value.numel() != 1:
                    raise BadInput(f"{what}: expected one value, found shape {tuple(value.shape)}")
                found = local(value).detach().resolve_neg()
                return found.to(device=self._members.device, dtype=torch.float32)
            return torch.tensor(number(value, what), dtype=torch.float32, device=self._members.device)
        if not isinstance(value, torch.Tensor) or value.shape != member.param.shape:
            found = tuple(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
            raise BadInput(f"{what}: expected a tensor of shape {tuple(member.param.shape)}, found {found}")
        if is_distributed(value) != is_distributed(member.param):
            raise BadInput(
                f"{what}: expected a tensor that is distributed as its parameter is; load the state of sharded "
                "parameters with torch.distributed.checkpoint.state_dict.set_optimizer_state_dict"
            )
        found, dtype = local(value), _stored_tensors.list_dtype(each.key, self._state_dtype(place))
        order = self._tensors.shadows.get(self._first + place, shard)
        if found.shape != shard.shape:
            raise BadInput(f"{what}: expected a shard of shape {tuple(shard.shape)}, found {tuple(found.shape)}")
        if found.device == self._members.device and found.dtype == dtype and is_dense(found) and same_order(found, order):
            return value
        check_large(what, found, dtype)
        if is_distributed(value):
            return value.to(device=self._members.device, dtype=dtype).contiguous()
        return empty_in_order(order, dtype).copy_(value)

    def _state_dtype(self, place: int) -> Any:
        family, dtype = self._members.family_of[place], self._members.all[place].param.dtype
        return dtype if family.state == family.param else DTYPES[family.state]

    def of(self, place: int) -> Any:
        """The state of a member."""
        # A rule without state leaves no empty entries, as torch's optimizers do.
        return self._all.tracked(self._members.all[place].param) if self._has_visible else {}

    def hidden_of(self, place: int) -> dict[str, Any]:
        """The state of a member that torch's optimizer does not have."""
        return self._all_hidden.setdefault(self._members.all[place].param, {})

    def _create(
        self, each: StateList, places: Sequence[int], old: Sequence[bool], groups: Sequence[dict[str, Any]]
    ) -> list[Any]:
        """New state of these members."""
        if sys.is_finalizing():
            # PyTorch 2.15 would abort when it frees such tensors.
            raise BadInput(
                "optimizer: expected the first step before Python shuts down, found it during the shutdown: the step "
                "makes the state, and PyTorch can make no tensors then"
            )
        if each.key == _storage.MASTER:
            for place in places:
                if self._members.all[place].param.is_complex():
                    raise BadInput(
                        f"{self._members.all[place].named()}: expected a real parameter for 'master', found "
                        f"{self._members.all[place].param.dtype}"
                    )
            with torch.no_grad():
                return [self._members.all[place].param.detach().to(torch.float32) for place in places]
        entry = self._spec.initial.get(each.key)
        values = [self._entries_of(place, groups, entry)[entry] if entry else each.initial for place in places]
        for value in values:
            if isinstance(value, torch.Tensor):
                check_readable(str(entry), value)
        values = [value if isinstance(value, torch.Tensor) else number(value, str(entry)) for value in values]
        if each.rank:
            return [self._filled(each.key, place, value, str(entry)) for place, value in zip(places, values)]
        on_host = [0.0 if isinstance(value, torch.Tensor) else value for value in values]
        # Views of one tensor.
        made = torch.tensor(
            [1.0 if was else value for was, value in zip(old, on_host)], dtype=torch.float32, device="cpu"
        ).to(self._members.device)
        for place, value in enumerate(values):
            if isinstance(value, torch.Tensor):
                made[place].copy_(value.detach().reshape(()))
        return list(made.unbind())

    def _entries_of(self, place: int, groups: Sequence[dict[str, Any]], entry: str) -> Mapping[str, Any]:
        """The entries that have the initial value of a member's state."""
        return self._defaults if entry in self._spec.of_constructor else groups[self._members.all[place].group]

    def _filled(self, key: str, place: int, value: Any, entry: str) -> Any:
        """New state as large as the parameter, whose elements have a value: a number, or a tensor of one element."""
        made = torch.empty_like(
            self._members.all[place].param.detach(),
            dtype=_stored_tensors.list_dtype(key, self._state_dtype(place)),
            memory_format=torch.preserve_format,
            requires_grad=False,
        )
        # The parts of a complex number are elements of their own.
        parts = torch.view_as_real(made) if made.is_complex() else made
        if isinstance(value, torch.Tensor):
            parts.fill_(value.detach().reshape(()))
        elif made.is_floating_point() and math.isfinite(value) and abs(value) > torch.finfo(made.dtype).max:
            raise BadInput(f"{entry}: expected a number that {made.dtype} can hold, found {value}")
        else:
            parts.fill_(value)
        return made


def _keep(state: Any, key: str, tensor: Any) -> None:
    """Sets state that is bound, so that the change need not be noticed."""
    if isinstance(state, MemberState):
        state.set_quietly(key, tensor)
    else:
        state[key] = tensor


def _continue_counts(new: Sequence[Any], counts: Sequence[Any]) -> None:
    """Makes second counters continue the first ones, of which some may be missing."""
    for value, count in zip(new, counts):
        if count is not None:
            value.copy_(local(count))


def _separated(key: str, holders: Sequence[Any], addresses: list[int]) -> list[int]:
    """Gives each member a value of its own, where several share one, such as one step counter for all."""
    seen: set[int] = set()
    for holder, address in zip(holders, addresses):
        if address in seen:
            _keep(holder, key, peek(holder, key).clone())
        seen.add(address)
    # A parameter that is twice in a group has one state: its earlier value is gone. The core refuses equal addresses.
    return [int(peek(holder, key).data_ptr()) for holder in holders]


def _initial_values(executable: Any) -> dict[str, float]:
    if executable not in _initial:
        _initial[executable] = executable.initial_values()
    return _initial[executable]


_initial: weakref.WeakKeyDictionary[Any, dict[str, float]] = weakref.WeakKeyDictionary()
