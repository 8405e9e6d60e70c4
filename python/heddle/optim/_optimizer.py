"""The class of all optimizers, and `optimizer_class`, which makes one of a `Spec`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import threading
import weakref

from .. import _fast
from .._turns import LeftLocked, interrupted, is_held, is_interrupted
from .._values import counted, real, short
from ..errors import BadInput
from . import _average, _capture, _loading, _membership, _norm, _saving, _storage
from ._arguments import bind, signature_of
from ._checks import check_scaling
from ._group_values import check_steps, check_values
from ._hyperparameters import read
from ._make_parts import make_parts
from ._members import check_storage_of
from ._naming import named_owners, naming
from ._options import need_other_program
from ._seen import Seen, see
from ._tail import Tail
from ._tensors import Stale
from ._torch import can_step, making_tensors, torch
from ._tracking import Changes, States

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from torch.optim import Optimizer as TorchOptimizer  # type: ignore[import-not-found, unused-ignore]

    from ._chained import ChainedOptimizer
    from ._part import Part
    from ._spec import Spec
else:
    TorchOptimizer = torch.optim.Optimizer

_hooks: Any = importlib.import_module("torch.optim.optimizer")

_IN_USE = (
    "optimizer: another thread was in its step when this process was forked, so its parameters and state may be "
    "half written; load both into another optimizer of the child"
)

#: All optimizers. A forked child replaces their locks, which a thread of the parent may hold.
_optimizers: weakref.WeakSet[Optimizer] = weakref.WeakSet()


def _unlock() -> None:
    for optimizer in tuple(_optimizers):
        parts = [part for parts in getattr(optimizer, "_parts", {}).values() for part in parts]
        is_in_use = isinstance(optimizer._lock, LeftLocked) or any(is_held(part.graph._lock) for part in parts)
        optimizer._lock = LeftLocked(_IN_USE) if is_in_use else threading.RLock()
        optimizer._stepping = threading.RLock()
    for optimizer in tuple(_optimizers):
        optimizer._share_locks()


os.register_at_fork(after_in_child=_unlock)


class Optimizer(TorchOptimizer):  # type: ignore[misc, unused-ignore]  # without PyTorch, the base is Any
    """The base class of heddle's optimizers: a `torch.optim.Optimizer` whose step is one launch for each device.

    Subclasses come from `optimizer_class`. Parameter groups, state and hooks are those of PyTorch's optimizers, and the
    state has the same keys, shapes and element types, so that `state_dict` and `load_state_dict` exchange state with
    them. Step counters are on the device of their parameter, as with ``fused=True`` or ``capturable=True``.

    A step compiles nothing unless an option such as ``amsgrad`` changes, a second group or an element type is added, a
    hyperparameter that was 0 in all groups (``weight_decay``, ``momentum``, ``dampening``) no longer is, or the first
    beta of a mean becomes at most 0.5. Only such a step, and one whose tables need more memory, may wait for the steps
    before it.
    """

    #: The description of the optimizer.
    spec: Spec
    #: The state of each parameter.
    state: Any

    # torch.amp.GradScaler then sets grad_scale and found_inf before a step instead of unscaling gradients.
    _step_supports_amp_scaling = True

    #: Whether PyTorch's constructor adds the groups: they are checked together after it.
    _is_constructing = False

    #: Whether groups with different options are stepped by one launch.
    _joins = False

    #: Weak references to the chains of several optimizers with this one. The last one that exists steps it.
    _chains: tuple[weakref.ref[ChainedOptimizer], ...] = ()
    #: What `chain` had added to this optimizer before the first of these: the tail, and the largest norm.
    _alone: tuple[Tail, float | None]

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        spec = self.spec
        given = bind(spec.name, signature_of(spec), self, *args, **kwargs)
        given.apply_defaults()
        values = {name: given.arguments[name] for name in spec.defaults}
        for name, (key, _) in spec.parts.items():
            read(values, name, spec.parts)  # as many numbers as the program has
            values[key] = tuple(_scalar(value) for value in values[key])
        if spec.stores:
            values.update(_storage.options_of(values))
        check_values(values, spec)
        if problem := spec.check_arguments and spec.check_arguments(values):
            raise BadInput(problem)
        self._reset()
        self._max_norm: float | None = None
        self._tail = Tail()
        self.grad_norm: Any = None
        kept = {name: value for name, value in values.items() if name not in spec.added or value != spec.defaults[name]}
        self._is_constructing = True
        try:
            super().__init__(given.arguments["params"], {**kept, **spec.fixed, **_average.entries(spec)})
        finally:
            del self._is_constructing
        self._check_groups()
        # Now, not in the first step: wrappers keep this object.
        self.state = States(self.state, Changes())

    def _reset(self) -> None:
        """Forgets everything that was derived from groups and state."""
        if "_lock" not in self.__dict__:
            # Steps of several threads take turns: one must not free state that another one reads.
            self._lock: Any = threading.RLock()
            #: Held besides in a step, in which a signal handler may not start another one or change groups and state.
            self._stepping = threading.RLock()
            _optimizers.add(self)
        self._parts: dict[bool, list[Part]] = {}
        self._seen: list[Seen] = []
        #: Parameters without gradient that no program can update.
        self._skipped: list[Any] = []
        self._group_changes = 0
        self._getter: Callable[[Mapping[str, Any]], tuple[Any, ...]] | None = None
        #: Entries that torch's optimizer does not have, and that no group has so far.
        self._absent: Sequence[str] = ()
        self._hidden: dict[Any, dict[str, Any]] = {}
        #: The parameters that an interrupted train() or eval() has moved, by id, and whether they are those of training.
        self._moved: dict[int, tuple[Any, bool]] = {}
        #: Whether programs count the steps of hidden state (`_begun`), because some step can be skipped.
        self._counts_steps = False
        self._captured: list[Part] = []
        self._retired: list[Any] = []

    # ------------------------------------------------------------------------------------------------------------------
    # Groups and state
    # ------------------------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group, as `torch.optim.Optimizer.add_param_group` does.

        The next step compiles a program if the group is the second one, or has a new element type or other options.

        Raises:
            ValueError: a value is out of range; the group does not fit the others or its parameters; another group has one
                of the parameters, or names where this one has none; or the call is within a step. Most are `BadInput`.
            TypeError: `param_group` is no dictionary, or has other objects than tensors.
            KeyError: it has no ``params``.
        """
        self._refuse_in_step("add_param_group")
        super().add_param_group(param_group)
        try:
            if chain := self._chain_of():
                chain._check_members()
            check_values(self.param_groups[-1], self.spec)
            if self.spec.stores:
                check_storage_of(self.param_groups[-1], len(self.param_groups) - 1)
            if not self._is_constructing:
                self._check_groups()
        except BaseException:
            del self.param_groups[-1]
            raise
        self._parts = {}

    @property
    def _owners(self) -> tuple[Optimizer, ...]:
        """The optimizers whose parameters a step of this one changes."""
        return (self,)

    def _chain_of(self) -> ChainedOptimizer | None:
        """The chain of several optimizers that steps this one."""
        if not self._chains:
            return None
        chain = self._chains[-1]()
        if chain is None:
            _membership.leave_gone(self)
            chain = _membership.chain_of(self)
        return chain

    def _refuse_in_chain(self, what: str) -> None:
        if chain := self._chain_of():
            raise BadInput(
                f"{what}: expected an optimizer that is in no chain, found optimizers[{chain.optimizers.index(self)}] "
                f"of a chain of {counted(len(chain.optimizers), 'optimizer')}: use the optimizer that "
                "heddle.optim.chain has returned"
            )

    def _share_locks(self) -> None:
        """Gives the optimizers of a chain its locks."""

    def _check_members(self) -> None:
        """Refuses the optimizers of a chain if they do not fit each other."""

    def _check_training(self) -> None:
        """Refuses a step of the parameters of evaluation."""
        if self.spec.average is not None:
            _average.check_training(self)

    def _check_groups(self) -> None:
        """Refuses groups that do not fit each other, or their parameters."""
        if self.spec.stores:
            _storage.check(self.param_groups, averages=self.spec.average is not None)
        self._check_together()

    def _check_together(self) -> None:
        """Refuses hyperparameters that have no meaning, or do not fit each other, also those that have changed."""
        check_steps(self.param_groups, self.spec)
        problem = self.spec.check_groups and self.spec.check_groups(self.param_groups)
        if problem:
            raise BadInput(problem)

    def state_dict(self) -> dict[str, Any]:
        """The state, as `torch.optim.Optimizer.state_dict` returns it, in plain dictionaries.

        A momentum buffer and an average are not there as long as all steps that would set them have been skipped.
        """
        return _saving.plain_state(self, super().state_dict())

    def __getstate__(self) -> dict[str, Any]:
        return _saving.plain_attributes(self, super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        _loading.set_attributes(self, state, super().__setstate__)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads state, as `torch.optim.Optimizer.load_state_dict` does; single values keep their precision.

        The arguments of storage, such as `state_dtype`, stay those of this optimizer, and the state is converted. Loaded
        float32 parameters (``master_param``) replace those of this optimizer.

        Raises:
            BadInput: `state_dict` is no state dictionary; its groups or state are those of another class, or lack an entry;
                an entry of a group is no number; a tensor of the state has another shape, shard or kind of numbers than
                its parameter, such as integers, has elements that share memory, or is in freed memory; a step counter
                is no whole number of at least 0; exact parameters do not fit or are missing; or the call is within a
                step. Nothing is written.
            ValueError: the numbers of groups or of their parameters differ.
        """
        self._refuse_in_step("load_state_dict")
        _membership.leave_gone(self)
        with self._lock, making_tensors():
            _loading.load(self, state_dict, super().load_state_dict)

    def push_hyperparameters(self) -> None:
        """Passes the hyperparameters of the groups, and `clip_grad_norm`, to the steps that the caller has captured.

        Call it before a replay of the captured graph, on the stream of the replay, after a scheduler or the caller has
        changed a group. Steps that are not captured read the groups themselves.
        """
        with self._lock, making_tensors():
            for part in self._captured:
                owner = part.owner()  # this optimizer, or a chain with it
                if owner is None:
                    continue
                for each, start in named_owners(owner):
                    with naming(start):
                        each._check_together()
                for share in part.shares:
                    share.hyperparameters.update(owner.param_groups, part.current_stream())
                if owner._max_norm is not None and part.clips:
                    part.set_max_norm(owner._max_norm)

    def _add_tail(self, tail: Tail) -> None:
        """Makes the program do what `chain` adds."""
        self._tail, self.spec = tail, tail.extend(type(self).spec)
        self._parts = {}

    @property
    def clip_grad_norm(self) -> float | None:
        """The largest norm of all gradients, from `heddle.optim.chain`; None: gradients are not clipped.

        Setting another number takes effect in the next step, and compiles nothing.

        Raises:
            BadInput: it is set to something else than None or a number of at least 0.
        """
        _membership.leave_gone(self)
        return self._max_norm

    @clip_grad_norm.setter
    def clip_grad_norm(self, value: float | None) -> None:
        self._refuse_in_chain("clip_grad_norm")
        number = limit_of(value)
        if (number is None) != (self._max_norm is None):
            self._parts = {}
            self.grad_norm = None
        self._max_norm = number

    # ------------------------------------------------------------------------------------------------------------------
    # The step
    # ------------------------------------------------------------------------------------------------------------------

    def step(self, *args: Any, **kwargs: Any) -> Any:
        """step(closure=None): performs a step.

        The step skips parameters whose gradient is None. Gradients are neither changed nor kept.

        Args:
            closure: computes the loss and its gradients; it is called once, before the step.

        Returns:
            What `closure` returns. Without a closure, and with `clip_grad_norm`: the norm of all gradients before
            clipping, a tensor of one float64 on the device; `grad_norm` has it in either case. Otherwise None.

        Raises:
            BadInput: a parameter, gradient or state has changed its shape, element type or device, or does not fit; a
                hyperparameter is no number or missing; groups or state are damaged; parameters share memory; or the call
                is within another step or a transform of ``torch.func``. Nothing is written.
            RuntimeError: a gradient is sparse; the parameters of a schedule-free optimizer are those of evaluation; or a
                hook before the step returns something else than arguments.
        """
        if _profiler._is_profiler_enabled:
            with _profiler.record_function(f"Optimizer.step#{type(self).__name__}.step"):
                return self._step_with_hooks((self, *args), kwargs)
        if (
            self._optimizer_step_pre_hooks
            or self._optimizer_step_post_hooks
            or _hooks._global_optimizer_pre_hooks
            or _hooks._global_optimizer_post_hooks
        ):
            return self._step_with_hooks((self, *args), kwargs)  # hooks see the arguments as they were given
        return self._closure_and_step(*args, **kwargs)

    # The class calls its hooks itself: PyTorch need not wrap `step`.
    step.hooked = True  # type: ignore[attr-defined]
    step.__signature__ = inspect.signature(lambda self, closure=None: None)  # type: ignore[attr-defined]

    def _step_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        for hook in itertools.chain(_hooks._global_optimizer_pre_hooks.values(), before.values()):
            result = hook(self, args, kwargs)
            if result is None:
                continue
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(
                    f"{type(self).__name__}.step: expected a pre-hook that returns None or (args, kwargs), found {result}"
                )
            args, kwargs = result
            is_whole = isinstance(args, (tuple, list)) and bool(args) and isinstance(args[0], Optimizer)
            if not is_whole or not isinstance(kwargs, dict):
                raise RuntimeError(
                    f"{type(self).__name__}.step: expected a pre-hook that returns (args, kwargs) with the optimizer as the "
                    f"first of args, found {short(result)}"
                )
        returned = type(self)._closure_and_step(*args, **kwargs)
        self._optimizer_step_code()
        for hook in itertools.chain(after.values(), _hooks._global_optimizer_post_hooks.values()):
            hook(self, args, kwargs)
        return returned

    def _closure_and_step(self, closure: Callable[[], Any] | None = None) -> Any:
        if self._chain_of() is not None:
            for name in ("grad_scale", "found_inf"):  # GradScaler leaves them behind an error
                vars(self).pop(name, None)
            self._refuse_in_chain("step")
        self._check_training()
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
            self._check_training()  # the closure may have called eval()
        # The first function is a constant for torch.compile. Without torch.compile, `_step` would take 2 us.
        if _is_traced() or _compiler() is not None:
            _step(self)
        else:
            _run(self)
        return self.grad_norm if closure is None else loss

    # A TypeError about its arguments names the function that was called.
    _closure_and_step.__qualname__ = "Optimizer.step"

    def _run(self) -> None:
        """The step itself."""
        scale, found_inf = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        is_scaled = scale is not None or found_inf is not None
        if is_scaled:
            check_scaling("grad_scale", scale)
            check_scaling("found_inf", found_inf)
        if _capture.is_capturing():
            parts = _capture.prepared(self, is_scaled)
            self._captured += parts
        else:
            for _ in range(2):
                parts = self._current_parts(is_scaled)
                try:
                    # Hyperparameters may be objects of the caller. So they are read before the addresses of tensors, which
                    # a function of such an object may replace.
                    groups = self.param_groups
                    for part in parts:
                        part.update_hyperparameters(groups, self._group_changes)
                    changed = [part for part in parts if part.gather(groups)]
                    break
                except Stale:
                    self._parts = {}
            else:
                raise BadInput("params: the order of elements in memory changes during a step")
            if changed and (len(parts) > 1 or parts[0].totals is not None):
                for part in changed:
                    if not part.is_idle:
                        part.prepare()
        busy = [part for part in parts if not part.is_idle]
        for part in busy:
            part.copy_in()
        if not busy:
            self._owners[0].state.changes.keep()
        if is_scaled:
            for part in busy:
                part.set_scaling(scale, found_inf)
        if self._max_norm is not None or self._tail.check_finite:
            self.grad_norm = _norm.step(parts, busy, self._max_norm)
            return
        for part in busy:
            part.replay()

    def _refuse_in_step(self, name: str) -> None:
        if is_interrupted(self._stepping):
            raise interrupted(f"{name} within step")

    def _undo_changes(self) -> None:
        """After an error, makes the state what it was before the step."""
        for each in self._owners:
            each._getter = None  # the next step checks the groups again
            if type(each.state) is States:
                each.state.changes.undo()

    def _current_parts(self, is_scaled: bool) -> list[Part]:
        if self._retired:
            self._retired = []
        self._forget_old_parts()
        parts = self._parts.get(is_scaled)
        if parts is None:
            parts = self._parts[is_scaled] = make_parts(self, is_scaled)
        return parts

    def _forget_old_parts(self) -> None:
        """Forgets the parts if groups or state are not those that they were made for."""
        if not self._groups_are_as_before():
            self._parts = {}
        for each in self._owners:
            if type(each.state) is not States:
                self._parts = {}

    def _groups_are_as_before(self) -> bool:
        """Compares the groups with those of the last step; False if the parts must be made again."""
        changes = self._group_changes
        if not self._compare_groups():
            return False
        if changes == self._group_changes:
            return True
        for each, start in named_owners(self):
            with naming(start):
                each._check_together()
        return not any(
            need_other_program(self, share) for parts in self._parts.values() for part in parts for share in part.shares
        )

    def _compare_groups(self) -> bool:
        """Counts the groups whose values have changed since the last step; False if they have other parameters."""
        groups, seen, getter = self.param_groups, self._seen, self._getter
        if getter is None or not isinstance(groups, list) or len(groups) != len(seen):
            return False
        if self._skipped and any(param.grad is not None or can_step(param) for param in self._skipped):
            return False
        for place, (group, last) in enumerate(zip(groups, seen)):
            if self._absent and any(name in group for name in self._absent):
                return False
            try:
                params, values = group["params"], getter(group)
            except (KeyError, TypeError):  # the parts are made again, which names the mistake
                return False
            if params is not last.params or not _fast.same(params, last.copy):
                return False
            if not last.are_same(values):
                self._group_changes += 1
                seen[place] = see(group, last.copy, values)
        return True


_profiler: Any = torch.autograd.profiler


def _run(optimizer: Optimizer) -> None:
    if _level_of_transforms() is not None:
        raise BadInput(
            "step: expected a call outside of the transforms of torch.func, such as grad and vmap, which see no change of a "
            "parameter, found one inside; compute gradients there, and step afterwards"
        )
    if _is_inference_mode():
        with making_tensors():  # of this step, for later ones outside of the mode
            return _run(optimizer)
    optimizer._refuse_in_step("step")
    # As torch.no_grad(), which takes longer than the rest of a step whose bindings are known.
    is_enabled = torch.is_grad_enabled()
    set_grad_enabled = torch._C._set_grad_enabled
    try:  # before the call: a signal handler may raise right after it
        set_grad_enabled(False)
        with optimizer._lock, optimizer._stepping:
            try:
                optimizer._run()
            except BaseException:
                optimizer._undo_changes()
                raise
    finally:
        set_grad_enabled(is_enabled)


_level_of_transforms: Any = getattr(torch._C._functorch, "maybe_current_level", lambda: None)
_is_inference_mode: Any = torch.is_inference_mode_enabled
# A graph that torch.compile makes ends before the step, and another one starts after it.
_step: Any = torch._disable_dynamo(_run)
_is_traced: Any = torch.compiler.is_dynamo_compiling
#: The function of torch.compile that this thread calls for each new frame; None: there is none.
_compiler: Any = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", lambda: False)


def optimizer_class(spec: Spec) -> type[Optimizer]:
    """A class of optimizers with the signature, the parameter groups and the state that `spec` describes."""

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
        Optimizer.__init__(self, *args, **kwargs)

    __init__.__signature__ = signature_of(spec)  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{spec.name}.__init__"
    attributes = {"__init__": __init__, "__doc__": spec.doc, "__module__": "heddle.optim", "spec": spec}
    if spec.average is not None:
        attributes.update(_average.METHODS)
    return type(spec.name, (Optimizer,), attributes)


def limit_of(value: Any) -> float | None:
    """The largest norm as a plain number; None: there is no limit."""
    number = None if value is None else real(value)
    if value is not None and not (number is not None and number >= 0):
        raise BadInput(f"clip_grad_norm: expected a number of at least 0 or None, found {short(value)}")
    return number


def _scalar(value: Any) -> Any:
    is_tensor = isinstance(value, torch.Tensor) and value.layout is torch.strided and not value.is_nested
    return value.reshape(()) if is_tensor and value.ndim and value.numel() == 1 else value
