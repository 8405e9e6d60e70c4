"""Several optimizers that are stepped together: `ChainedOptimizer`, which `chain` makes of a list.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections

from .._turns import holding
from ..errors import BadInput
from . import _average, _chained_state, _membership, _saving
from ._chained_groups import ChainedGroups, refusal
from ._members import member_name
from ._merged import MergedStates
from ._naming import named_owners, naming, place_name, prefix
from ._optimizer import Optimizer
from ._tail import Tail
from ._torch import making_tensors, torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


#: Its methods, without those of heddle's class of one optimizer.
_torchs: Any = torch.optim.Optimizer


class ChainedOptimizer(Optimizer):
    """Several optimizers of heddle with parameters of their own, stepped together: one launch for each device.

    `heddle.optim.chain` makes it of a list of optimizers. It is a `torch.optim.Optimizer`: its ``param_groups`` are
    those of all optimizers, in their order, and the same dictionaries. So a scheduler may change the groups of the
    chain, or those of one optimizer. Its ``state`` has the state of all, and ``state_dict()`` numbers the parameters of
    all groups.

    The optimizers keep their groups and state, and cannot be stepped alone as long as the chain exists. When it is gone,
    they are as they were before. Give another group to one of them: ``chained.optimizers[0].add_param_group(...)``. The
    next step of the chain includes it.
    """

    _joins = True

    #: The optimizers.
    optimizers: tuple[Optimizer, ...]

    def __init__(self, optimizers: Sequence[Optimizer]) -> None:
        self.optimizers = tuple(optimizers)
        self._check_members()
        self._reset()
        self._max_norm, self.grad_norm = None, None
        self.defaults = _common([each.defaults for each in optimizers])
        _torchs.__setstate__(self, {})  # hooks, as in a copy
        self._add_tail(Tail())

    @property
    def _owners(self) -> tuple[Optimizer, ...]:
        return self.optimizers

    @property
    def param_groups(self) -> list[dict[str, Any]]:  # type: ignore[override, unused-ignore]
        """The groups of all optimizers. They may be changed, but the list may not."""
        return ChainedGroups(self)

    @param_groups.setter
    def param_groups(self, groups: Any) -> None:
        raise refusal(self, "param_groups")

    @property
    def state(self) -> Any:
        """The state of each parameter of all optimizers."""
        return MergedStates(self.optimizers)

    @state.setter
    def state(self, values: Mapping[Any, Any]) -> None:
        for each in self.optimizers:
            params = [param for group in each.param_groups for param in group["params"]]
            each.state = collections.defaultdict(dict, {param: values[param] for param in params if param in values})

    # ------------------------------------------------------------------------------------------------------------------
    # Groups and state
    # ------------------------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Raises `BadInput`: a group belongs to one of the optimizers. Call `add_param_group` of that one."""
        raise refusal(self, "add_param_group")

    def _check_members(self) -> None:
        """Refuses a parameter that two of the optimizers have."""
        seen: dict[int, int] = {}
        for owner, (each, start) in enumerate(named_owners(self)):
            for place, group in enumerate(each.param_groups):
                for index, param in enumerate(group["params"]):
                    first = seen.setdefault(id(param), owner)
                    if first != owner:
                        raise BadInput(
                            f"{start}parameter {member_name(group, index, place)}: expected it in one optimizer, found it in "
                            f"{place_name(self, first)}, too: leave it out of one of them"
                        )

    def state_dict(self) -> dict[str, Any]:
        """The state of all optimizers, as one `torch.optim.Optimizer` with all groups returns it."""
        return _saving.plain_state(self, _torchs.state_dict(self))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the state of all optimizers, from `state_dict` of a chain of the same optimizers.

        Load what an optimizer has saved alone into this one: ``chained.optimizers[0].load_state_dict(...)``.

        Raises:
            BadInput: the groups or the state of one of the optimizers do not fit. Nothing is written.
        """
        for each in (self, *self.optimizers):
            each._refuse_in_step("load_state_dict")
            each._chain_of()  # which a load of an optimizer would leave if it is gone
        locks = (each._lock for each in (self, *self.optimizers))
        with making_tensors():
            holding(locks, lambda: _chained_state.load(self, state_dict))

    def __getstate__(self) -> dict[str, Any]:
        return {"optimizers": self.optimizers, "_max_norm": self._max_norm, "_tail": self._tail}

    def __setstate__(self, state: dict[str, Any]) -> None:
        ChainedOptimizer.__init__(self, state["optimizers"])
        self._max_norm = state["_max_norm"]
        self._add_tail(state["_tail"])

    # ------------------------------------------------------------------------------------------------------------------
    # The step
    # ------------------------------------------------------------------------------------------------------------------

    def _add_tail(self, tail: Tail) -> None:
        """Makes the programs of all optimizers do what `chain` adds. From now on, they are in this chain only."""
        self._tail = tail
        for each in self.optimizers:
            _membership.enter(each, self)

    def _share_locks(self) -> None:
        for each in self.optimizers:
            if _membership.chain_of(each) is self:
                each._lock, each._stepping = self._lock, self._stepping

    def _check_training(self) -> None:
        for place, each in enumerate(self.optimizers):
            if each._chain_of() is not self:
                raise BadInput(
                    f"step: expected {place_name(self, place)} in this chain, found it in a later one: step that one, or call "
                    "heddle.optim.chain again"
                )
            if each.spec.average is not None:
                with naming(prefix(self, place)):
                    _average.check_training(each, prefix(self, place))

    def train(self) -> None:
        """Makes the parameters of schedule-free optimizers those of training. Those of the others stay.

        Raises:
            BadInput: as for `eval`.
        """
        _average.switch(self, to_training=True)

    def eval(self) -> None:
        """Makes the parameters of schedule-free optimizers the average. Those of the others stay.

        Raises:
            BadInput: a parameter or its average does not fit; or the call is within a step. No parameter has moved.
        """
        _average.switch(self, to_training=False)

    def _run(self) -> None:
        super()._run()
        for each in self.optimizers:
            vars(each)["_opt_called"] = True  # schedulers of PyTorch warn if their optimizer was not stepped

    def _compare_groups(self) -> bool:
        are_same = all([each._compare_groups() for each in self.optimizers])
        self._group_changes = sum(each._group_changes for each in self.optimizers)
        return are_same


def _common(all_defaults: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The entries that all optimizers have, as the first one has them."""
    first, *others = all_defaults
    return {name: value for name, value in first.items() if all(name in other for other in others)}
