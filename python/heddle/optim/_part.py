"""A part of an optimizer: the parameters of one device and one set of options, or of several optimizers of a chain,
stepped by one launch.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import weakref

import numpy

from .. import _fast
from .._garbage import uncollected
from ..dtypes import SIZES
from ..errors import BadInput, Error
from . import _programs, _rewrite, _storage
from ._members import Members
from ._naming import naming
from ._norm import Totals
from ._overlap import Range, aliased_gradients, with_names
from ._tensors import Stale, Tensors
from ._torch import local, local_gradient, mark_changed, mark_gradients_changed, real_numel, torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ..graph import Graph
    from ._members import Addresses
    from ._optimizer import Optimizer
    from ._share import Share


class Part:
    """The parameters of one device, bound to one graph: one share, or several of the optimizers of a chain.

    `gather` reads what has changed since the last step, checks it and binds it; no state changes. `replay` steps.

    Args:
        shares: the parameters by optimizer and options. All optimizers have the same arguments of `chain`.
        owner: the optimizer, or the chain, whose groups the shares number.
        reduction: over which dimensions of a mesh the norm of gradients is summed; None: parameters are not sharded.
        captured: the step is captured into a CUDA graph of the caller.
    """

    def __init__(
        self, shares: Sequence[Share], *, owner: Optimizer, reduction: Any = None, captured: bool = False
    ) -> None:
        self.shares, self.reduction = tuple(shares), reduction
        #: A weak reference: the owner keeps the part.
        self.owner = weakref.ref(owner)
        self.spec, self.form = shares[0].spec, shares[0].form
        self._members = Members.joined([share.members for share in shares])
        self.device, self.families, self.endings = self._members.device, self._members.families, self._members.endings
        program = _programs.text(self.spec, self.form, [(share.spec, share.form) for share in shares[1:]])
        executable = _programs.executable(program, self.device)
        self.graph = executable.graph(device=None if self.device.type == "cpu" else self.device.index)
        self._tensors = Tensors(self.spec.name if len(shares) == 1 else "chain", self._members, self.graph)
        first = 0
        for share in shares:
            share.bind(self.graph, self._tensors, first, self.current_stream(), captured=captured)
            first += len(share)
        self._changes = shares[0].states.changes
        self._seen_changes = self._seen_group_changes = -1
        self._set_active(numpy.zeros(len(self._members), bool))
        self._is_bound = False
        self._groups: Sequence[dict[str, Any]] = ()
        self._kept: list[Any] = []
        #: `_fast.collections` before the addresses were read.
        self.collections = -1
        self._scaling: Any = None
        self._last_stream = 0
        self.norm: Any = None
        #: The sum of squares and the flag of all gradients, if the program takes them.
        self.totals: Any = None
        self._max_norm: Any = None
        self._seen_max_norm: float | None = None
        self._own_totals: Totals | None = None
        if self.form.scaled:
            self._scaling = torch.tensor([1.0, 0.0], dtype=torch.float32, device=self.device)
            self.bind_scale(self.graph)
            self.graph.bind_scalar(_rewrite.FOUND_INF, self._scaling[1])
        if self.form.clip:
            self._max_norm = torch.zeros((), dtype=torch.float64, device=self.device)
            self.graph.bind_scalar(_rewrite.MAX_NORM, self._max_norm)
            self.norm = torch.zeros((), dtype=torch.float64, device=self.device)
            self.graph.bind_result(_rewrite.NORM, [self.norm])
        if self.form.takes_totals:
            self.totals = torch.zeros(2, dtype=torch.float64, device=self.device)
            if self.form.clip:
                self.graph.bind_scalar(_rewrite.SUM, self.totals[0])
            if self.form.check:
                self.graph.bind_scalar(_rewrite.NOT_FINITE, self.totals[1])

    def new_addresses(self, graph: Graph, name: str, rank: int = 1) -> Addresses:
        """The addresses of a list whose members belong to those of the part."""
        return self._members.new_addresses(graph, name, rank)

    def set_inactive(self, graph: Graph, name: str, active: Any) -> None:
        """Marks the members of a list that are not active."""
        self._members.set_inactive(graph, name, active)

    # ------------------------------------------------------------------------------------------------------------------
    # Bindings
    # ------------------------------------------------------------------------------------------------------------------

    def gather(self, groups: Sequence[dict[str, Any]], *, is_again: bool = False) -> bool:
        """Reads the addresses of parameters and gradients, checks them, and binds those that changed.

        Args:
            groups: the parameter groups, whose values may be initial values of state.
            is_again: whether this is the second time in a step.

        Returns:
            Whether a binding changed, so that `prepare` has work to do.

        Raises:
            BadInput: a parameter or gradient has changed its shape, element type or device.
        """
        self._groups = groups
        self.collections = _fast.collections()
        moved, changed = self._tensors.read()
        for share in self.shares:
            if share.state.has_moved():
                self._seen_changes = -1
        if (
            moved
            or changed
            or not self._is_bound
            or self._tensors.special
            or self._seen_changes != self._changes.count
        ):
            return self._gather_changes(moved, changed, is_again)
        return False

    def _gather_changes(self, moved: int, changed: int, is_again: bool) -> bool:
        is_bound, self._is_bound = self._is_bound, False
        tensors = self._tensors
        if moved < 0:
            tensors.check_params()
        if changed < 0:
            tensors.copy_unfit()
            return self.gather(self._groups, is_again=is_again)
        has_moved, has_changed, active = tensors.update(not is_bound or moved > 0, not is_bound or changed > 0)
        rebind_active = not is_bound or active.tobytes() != self._active.tobytes()
        tensors.check_overlaps(active, has_moved or rebind_active)
        changes, has_read_state = self._changes.count, False
        if rebind_active or self._seen_changes != changes:
            for share in self.shares:
                with naming(share.prefix):
                    share.state.read(active[share.places], self._groups)
            for share in self.shares:
                share.state.bind()
            has_changed = has_read_state = True
        if has_moved:
            tensors.params.bind()
        if has_changed:
            tensors.grads.bind()
        if rebind_active:
            self.set_inactive(self.graph, "param", active)
            self._set_active(active)
        self._seen_changes = changes
        self._is_bound = True
        if has_read_state and not is_again:
            # What this has read and freed, such as initial values and earlier state, may have called functions of the
            # caller, which may replace tensors.
            return self.gather(self._groups, is_again=True) or True
        return has_moved or has_changed

    def prepare(self) -> None:
        """Checks the bindings, and updates the graph. Raises an error before anything runs."""
        try:
            self.graph.prepare(self.current_stream())
        except BadInput as error:
            self._separate(error)
            return self.prepare()
        if self.totals is not None:
            self.own_totals.prepare(self)

    def _separate(self, error: BadInput) -> None:
        """Binds copies of gradients in memory that the step writes; if there are none, raises `error` with names."""
        found = aliased_gradients(self._memory()) - self._tensors.aliased
        if not found:
            raise BadInput(with_names(str(error), self._names())) from None
        self._is_bound = False
        self._tensors.copy_aliased(found)
        self.gather(self._groups)

    def _memory(self) -> Iterator[Range]:
        """The memory of parameters, gradients and state that is bound."""
        tensors = self._tensors
        for share, own, place in self._places():
            if not self._active[place]:
                continue
            family = self._members.family_of[place]
            count = real_numel(local(self._members.all[place].param))
            lists = [(tensors.params, place, count, family.param, None), (tensors.grads, place, count, family.grad, place)]
            for each, bound in zip(share.state.lists, share.state.bound):
                if share.state.has(each, own):
                    dtype = _storage.TYPES.get(each.key, family.state) if each.rank else "f32"
                    lists.append((bound, own, count if each.rank else 1, dtype, None))
            for addresses, index, size, dtype, gradient in lists:
                begin = int(addresses.values[index])
                yield Range(begin, begin + size * SIZES[dtype], gradient)

    def _places(self) -> Iterator[tuple[Share, int, int]]:
        """The share of each member, its place there, and its place in the part."""
        for share in self.shares:
            for own in range(len(share)):
                yield share, own, share.places.start + own

    def _names(self) -> dict[str, list[str]]:
        """The name of each member of each list, for messages."""
        names = {}
        for share in self.shares:
            spoken = {"param": "", "grad": "gradient of "}
            spoken.update((each.key, f"state '{each.key}' of ") for each in share.state.lists)
            for ending, members in share.members.by_family():
                for key, what in spoken.items():
                    names[key + ending] = [member.named(what) for member in members]
        return names

    def keep(self) -> None:
        """Keeps all bound tensors alive: a captured graph may use them at any time."""
        for share, own, place in self._places():
            param = self._members.all[place].param
            grad = local_gradient(param)
            self._kept += [local(param).detach(), None if grad is None else grad.detach()]
            for state in (share.state.of(own), share.state.hidden_of(own)):
                self._kept += [local(value) for value in state.values() if isinstance(value, torch.Tensor)]

    def _set_active(self, active: Any) -> None:
        self._active = active
        self._stepped = tuple(self._members.all[int(place)].param for place in numpy.flatnonzero(active))
        #: The number of parameters without gradient.
        self.idle_members = len(active) - int(numpy.count_nonzero(active))
        #: Whether no parameter has a gradient.
        self.is_idle = self.idle_members == len(active)

    def bound_gradients(self) -> tuple[Any, Any]:
        """The addresses of all gradients, and which of them are there."""
        return self._tensors.grads.values, self._active

    # ------------------------------------------------------------------------------------------------------------------
    # The step
    # ------------------------------------------------------------------------------------------------------------------

    def update_hyperparameters(self, groups: Sequence[dict[str, Any]], changes: int) -> None:
        """Passes the hyperparameters to the program if the groups have changed, or if some are tensors."""
        for share in self.shares:
            if changes != self._seen_group_changes or share.hyperparameters.has_tensors:
                with naming(share.prefix):
                    share.hyperparameters.update(groups, self.current_stream())
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
                # The cpu target reads the memory of the host without waiting for a stream.
                self._scaling[place].copy_(value.reshape(()), non_blocking=self.device.type != "cpu")

    def bind_scale(self, graph: Graph) -> None:
        graph.bind_scalar(_rewrite.GRAD_SCALE, self._scaling[0])

    def set_max_norm(self, value: float | None) -> None:
        if value is not None and value != self._seen_max_norm:
            self._max_norm.fill_(value)
            self._seen_max_norm = value

    @property
    def own_totals(self) -> Totals:
        """The program that computes the totals of the gradients of this part."""
        if self._own_totals is None:
            self._own_totals = Totals(self)
        return self._own_totals

    @property
    def clips(self) -> bool:
        return self._max_norm is not None

    def copy_in(self) -> None:
        """Copies the tensors that the program cannot read as they are."""
        self._tensors.copy_in()

    def replay(self) -> None:
        self._last_stream = self.current_stream()
        try:
            try:
                if not self.graph._replay_unless_collected(self._last_stream, self.collections):
                    self.launch_again(lambda: self.graph.replay(self._last_stream))
            except BadInput as error:
                self._separate(error)
                self.copy_in()
                return self.replay()
            self._changes.keep()
            self._tensors.write_back()
            if self.spec.zeroes and self._tensors.special:
                self._zero_gradients()
            self._count_changes()  # the device works meanwhile
        except (Error, Stale):  # nothing was launched
            raise
        except BaseException:  # such as that of a signal handler: the launch may have written state
            self._finish_interrupted()
            raise

    def _finish_interrupted(self) -> None:
        """Does what follows the launch. If nothing was launched, no element changes."""
        self._changes.keep()
        self._tensors.write_back()
        self._count_changes()

    def launch_again(self, launch: Callable[[], None]) -> None:
        """Reads the addresses and launches, without a collection of garbage in between."""
        try:
            with uncollected():
                self.gather(self._groups)
                self.copy_in()
                launch()
        except Stale:
            raise BadInput("params: the order of elements in memory changes during a step") from None

    def _count_changes(self) -> None:
        """Counts for autograd what the step has written, except for the state of the optimizer itself."""
        mark_changed(self._stepped)
        if self.spec.zeroes and not self._tensors.special:  # otherwise, PyTorch has counted that they were set to zero
            mark_gradients_changed(self._stepped)
        if self.spec.averages is not None:
            for share in self.shares:
                mark_changed(share.state.shared_averages())

    def _zero_gradients(self) -> None:
        """Sets gradients to zero of which the program may have a copy."""
        for param in self._stepped:
            local_gradient(param).detach().zero_()

    def __del__(self) -> None:
        # The last step may still use the tables of the graph.
        try:
            if self.device.type != "cpu" and not self.graph.closed:
                self.graph.synchronize(self._last_stream)
        except (Error, AttributeError):  # the part was not finished, or this is a forked child, which cannot use the graph
            pass
