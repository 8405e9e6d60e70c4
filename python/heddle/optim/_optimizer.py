"""The class of all optimizers, and `optimizer_class`, which makes one of a `Spec`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import operator
import os
import threading
import weakref
from typing import NamedTuple

import numpy

from .. import _fast
from .._values import number, real, short
from ..errors import BadInput
from . import _average, _begun, _capture, _loading, _norm, _programs, _storage, _stored_tensors
from ._arguments import bind
from ._checks import check_scaling
from ._groups import check_groups, params_of
from ._hyperparameters import check_readable, number_of, read
from ._members import Member, check_storage_of, member_name
from ._part import Part
from ._spec import Spec
from ._tail import Tail
from ._tensors import Stale
from ._torch import can_step, is_distributed, local, making_tensors, torch
from ._tracking import Changes, States

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from torch.optim import Optimizer as TorchOptimizer  # type: ignore[import-not-found, unused-ignore]
else:
    TorchOptimizer = torch.optim.Optimizer

_hooks: Any = importlib.import_module("torch.optim.optimizer")


class _Seen(NamedTuple):
    """A parameter group as of the last step."""

    params: Any
    copy: tuple[Any, ...]
    #: The entries that heddle reads.
    values: tuple[Any, ...]
    #: Whether an entry may change in place, such as a list: it is never the same as that of the last step.
    may_change: bool

    def are_same(self, values: tuple[Any, ...]) -> bool:
        """Whether the values of the group have not changed."""
        if not self.may_change and _fast.same(values, self.values):
            return True
        return _same_values(values, self.values)


def _seen(group: Mapping[str, Any], params: tuple[Any, ...], values: tuple[Any, ...]) -> _Seen:
    return _Seen(group["params"], params, values, any(isinstance(value, _CHANGING) for value in values))


#: All optimizers. A forked child replaces their locks, which a thread of the parent may hold.
_optimizers: weakref.WeakSet[Optimizer] = weakref.WeakSet()


def _unlock() -> None:
    for optimizer in tuple(_optimizers):
        optimizer._lock = threading.RLock()


os.register_at_fork(after_in_child=_unlock)


class Optimizer(TorchOptimizer):  # type: ignore[misc, unused-ignore]  # without PyTorch, the base is Any
    """The base class of heddle's optimizers: a `torch.optim.Optimizer` whose step is one launch for each device.

    Subclasses come from `optimizer_class`. Parameter groups, state and hooks are those of PyTorch's optimizers, and the
    state has the same keys, shapes and element types, so that `state_dict` and `load_state_dict` exchange state with
    them. Step counters are on the device of their parameter, as with ``fused=True`` or ``capturable=True``.

    A step compiles nothing unless an option such as ``amsgrad`` changes, a second group or an element type is added, or a
    hyperparameter that was 0 in all groups (``weight_decay``, ``momentum``, ``dampening``) no longer is. Only such a step,
    and one whose tables need more memory, may wait for the steps before it.
    """

    #: The description of the optimizer.
    spec: Spec
    #: The state of each parameter.
    state: Any

    # torch.amp.GradScaler then sets grad_scale and found_inf before a step instead of unscaling gradients.
    _step_supports_amp_scaling = True

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        spec = self.spec
        given = bind(spec.name, _signature(spec), self, *args, **kwargs)
        given.apply_defaults()
        values = {name: given.arguments[name] for name in spec.defaults}
        for name, (key, _) in spec.parts.items():
            read(values, name, spec.parts)  # as many numbers as the program has
            values[key] = tuple(_scalar(value) for value in values[key])
        if spec.stores:
            values.update(_storage.options_of(values))
        self._check_group(values)
        self._reset()
        self._max_norm: float | None = None
        self._tail = Tail()
        self.grad_norm: Any = None
        kept = {name: value for name, value in values.items() if name not in spec.added or value != spec.defaults[name]}
        super().__init__(given.arguments["params"], {**kept, **spec.fixed, **_average.entries(spec)})
        self._check_storage()

    def _reset(self) -> None:
        """Forgets everything that was derived from groups and state."""
        if "_lock" not in self.__dict__:
            # Steps of several threads take turns: one must not free state that another one reads.
            self._lock = threading.RLock()
            _optimizers.add(self)
        self._parts: dict[bool, list[Part]] = {}
        self._seen: list[_Seen] = []
        #: Parameters without gradient that no program can update.
        self._skipped: list[Any] = []
        self._group_changes = 0
        self._getter: Callable[[Mapping[str, Any]], tuple[Any, ...]] | None = None
        #: Entries that torch's optimizer does not have, and that no group has so far.
        self._absent: Sequence[str] = ()
        self._hidden: dict[Any, dict[str, Any]] = {}
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
        """
        super().add_param_group(param_group)
        try:
            self._check_group(self.param_groups[-1])
            if self.spec.stores:
                check_storage_of(self.param_groups[-1], len(self.param_groups) - 1)
        except Exception:
            del self.param_groups[-1]
            raise
        self._parts = {}

    def _check_storage(self) -> None:
        if self.spec.stores:
            _storage.check(self.param_groups, averages=self.spec.average is not None)

    def _check_group(self, group: Mapping[str, Any]) -> None:
        spec = self.spec
        if spec.stores:
            _storage.options_of(group)
        for name, default in spec.defaults.items():
            if (isinstance(default, bool) and name in spec.options) or name in spec.ignored:
                _truth(group.get(name, default) if name in spec.added else group[name], name)
        for name in spec.checked:
            value = read(group, name, spec.parts)
            key, index = spec.parts.get(name, (name, None))
            spoken = key if index is None else f"{key}[{index}]"
            if isinstance(value, torch.Tensor):
                if "capturable" in spec.defaults and group.get("foreach") and not group.get("capturable"):
                    raise ValueError(
                        f"{spoken} as a Tensor is not supported for capturable=False and foreach=True"
                    )
                if value.numel() != 1:
                    raise ValueError(f"Tensor {spoken} must be 1-element")
                check_readable(spoken, value)
                read_value = value
            else:
                # A number of any library may refuse to be compared. A bool is a number, as in PyTorch.
                read_value = float(value) if isinstance(value, bool) else real(value)
                if read_value is None and isinstance(value, int):
                    number(value, spoken)  # beyond the range of double precision
                if read_value is None:
                    raise TypeError(f"{spoken}: expected a number, found {short(value)}")
            if index is not None:
                if not 0.0 <= read_value < 1.0:
                    raise ValueError(f"Invalid {_singular(key)} parameter at index {index}: {value}")
            elif not 0.0 <= read_value or (name == "momentum" and read_value == math.inf):
                raise ValueError(f"Invalid {_SPOKEN.get(name, f'{name} value')}: {value}")
        for name in _unchecked(spec):
            value = number_of(group, name, spec)
            if isinstance(value, torch.Tensor):
                check_readable(name, value)
            else:
                number(value, name)
        for key in {key for key, _ in spec.parts.values()}:
            if len({isinstance(value, torch.Tensor) for value in group[key]}) > 1:
                raise ValueError(f"{key} must be either both floats or both Tensors")
        problem = spec.check and spec.check(group)
        if problem:
            raise BadInput(problem)
        # The authors' class of Adan takes both, and has `foreach=True` by default.
        if group.get("fused") and group.get("foreach") and not spec.defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        if group.get("fused") and group.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")

    def state_dict(self) -> dict[str, Any]:
        """The state, as `torch.optim.Optimizer.state_dict` returns it, in plain dictionaries.

        A momentum buffer and an average are not there as long as all steps that would set them have been skipped.
        """
        found: dict[str, Any] = super().state_dict()
        state = found.get("state")
        if isinstance(state, dict):
            found["state"] = {
                key: dict(value) if isinstance(value, dict) else value for key, value in state.items()
            }
            params = (param for group in self.param_groups for param in group["params"])
            places: dict[Any, int] = {}
            for place, param in enumerate(params):
                places.setdefault(param, place)
            _begun.leave_out(self, found["state"], places)
        return found

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if isinstance(self.state, States):
            state["state"] = _plain(self.state)
            _begun.leave_out(self, state["state"], {param: param for param in self.state})
        state["_max_norm"], state["_tail"] = self._max_norm, self._tail
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        captured, before = getattr(self, "_captured", []), getattr(self, "state", None)
        hidden = getattr(self, "_hidden", {})
        self._reset()
        self._captured = captured
        self._max_norm = getattr(self, "_max_norm", None)
        self._tail = getattr(self, "_tail", Tail())
        self.grad_norm = getattr(self, "grad_norm", None)
        super().__setstate__(state)
        self._add_tail(self._tail)
        for group in self.param_groups:
            for name, value in self.spec.defaults.items():
                if name not in self.spec.added:
                    group.setdefault(name, value)
            group.update(self.spec.fixed)  # state of torch.optim.Adam that AdamW loads
            for name, value in _average.entries(self.spec).items():
                group.setdefault(name, value)
        if captured and before is not None:
            _loading.keep_tensors(self.state, before)
            _begun.restart(self, before, hidden)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads state, as `torch.optim.Optimizer.load_state_dict` does; single values keep their precision.

        The arguments of storage, such as `state_dtype`, stay those of this optimizer, and the state is converted. Loaded
        float32 parameters (``master_param``) replace those of this optimizer.

        Raises:
            BadInput: the groups or the state are those of another class, or exact parameters do not fit. Nothing is written.
        """
        with self._lock, making_tensors():
            _loading.load(self, state_dict, super().load_state_dict)

    def push_hyperparameters(self) -> None:
        """Passes the hyperparameters of the groups, and `clip_grad_norm`, to the steps that the caller has captured.

        Call it before a replay of the captured graph, on the stream of the replay, after a scheduler or the caller has
        changed a group. Steps that are not captured read the groups themselves.
        """
        with self._lock, making_tensors():
            for part in self._captured:
                part.hyperparameters.update(self.param_groups, part.current_stream())
                if self._max_norm is not None and part.clips:
                    part.set_max_norm(self._max_norm)

    def _add_tail(self, tail: Tail) -> None:
        """Makes the program do what `chain` adds."""
        self._tail, self.spec = tail, tail.extend(type(self).spec)
        self._parts = {}

    @property
    def clip_grad_norm(self) -> float | None:
        """The largest norm of all gradients, from `heddle.optim.chain`; None: gradients are not clipped.

        Setting another number takes effect in the next step, and compiles nothing.
        """
        return self._max_norm

    @clip_grad_norm.setter
    def clip_grad_norm(self, value: float | None) -> None:
        number = None if value is None else real(value)
        if value is not None and not (number is not None and number >= 0):
            raise BadInput(f"clip_grad_norm: expected a number of at least 0 or None, found {short(value)}")
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
            BadInput: a parameter, gradient or state has changed its shape, element type or device. Nothing is written.
            RuntimeError: a gradient is sparse.
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
        returned = type(self)._closure_and_step(*args, **kwargs)
        self._optimizer_step_code()
        for hook in itertools.chain(after.values(), _hooks._global_optimizer_post_hooks.values()):
            hook(self, args, kwargs)
        return returned

    def _closure_and_step(self, closure: Callable[[], Any] | None = None) -> Any:
        if self.spec.average is not None:
            _average.check_training(self)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
            if self.spec.average is not None:
                _average.check_training(self)  # the closure may have called eval()
        # The first function is a constant for torch.compile. Without torch.compile, `_step` would take 2 us.
        if _is_traced() or _compiler() is not None:
            _step(self)
        else:
            _run(self)
        return self.grad_norm if closure is None else loss

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
                    changed = [part for part in parts if part.gather(self.param_groups)]
                    break
                except Stale:
                    self._parts = {}
            else:
                raise BadInput("params: the order of elements in memory changes during a step")
            if changed and (len(parts) > 1 or parts[0].sum is not None):
                for part in changed:
                    if not part.is_idle:
                        part.prepare()
            for part in parts:
                part.update_hyperparameters(self.param_groups, self._group_changes)
        busy = [part for part in parts if not part.is_idle]
        for part in busy:
            part.copy_in()
        if not busy:
            self.state.changes.keep()
        if is_scaled:
            for part in busy:
                part.set_scaling(scale, found_inf)
        if self._max_norm is not None:
            self.grad_norm = _norm.clip(parts, busy, self._max_norm)
            return
        for part in busy:
            part.replay()

    def _undo_changes(self) -> None:
        """After an error, makes the state what it was before the step."""
        self._getter = None  # the next step checks the groups again
        if type(self.state) is States:
            self.state.changes.undo()

    def _current_parts(self, is_scaled: bool) -> list[Part]:
        if self._retired:
            self._retired = []
        self._forget_old_parts()
        parts = self._parts.get(is_scaled)
        if parts is None:
            parts = self._parts[is_scaled] = self._make_parts(is_scaled)
        return parts

    def _forget_old_parts(self) -> None:
        """Forgets the parts if groups or state are not those that they were made for."""
        if not self._groups_are_as_before() or type(self.state) is not States:
            self._parts = {}

    def _groups_are_as_before(self) -> bool:
        """Compares the groups with those of the last step; False if the parts must be made again."""
        groups, seen, getter = self.param_groups, self._seen, self._getter
        if getter is None or not isinstance(groups, list) or len(groups) != len(seen):
            return False
        if self._skipped and any(param.grad is not None or can_step(param) for param in self._skipped):
            return False
        changes = self._group_changes
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
                seen[place] = _seen(group, last.copy, values)
        if changes == self._group_changes:
            return True
        return not any(self._needs_other(part) for parts in self._parts.values() for part in parts)

    def _needs_other(self, part: Part) -> bool:
        """Whether the options of the groups of a part are not covered by its program."""
        first, *others = part.group_places
        switches = self._switches(first)
        if any(self._switches(place) != switches for place in others):
            return True
        new, old = dict(self._options_of(part.group_places)), dict(part.form.options)
        optional = set(self.spec.optional)
        return any(new[name] != old[name] and (name not in optional or new[name]) for name in new)

    def _switches(self, place: int) -> tuple[Any, ...]:
        """The options of a group that choose its part."""
        group, spec = self.param_groups[place], self.spec
        entries = {**spec.defaults, **spec.fixed}
        switches = {name: _is_on(read(group, name, spec.parts), name, spec) for name in spec.switches}
        options = (
            (_truth(group.get(name, entries[name]), name) and switches.get(spec.needs.get(name, ""), True))
            if isinstance(entries.get(name), bool)
            else _plain_option(group.get(name, entries.get(name)), name)
            for name in spec.options
        )
        return (*options, *switches.values())

    def _options_of(self, places: Sequence[int]) -> tuple[tuple[str, Any], ...]:
        """The options of the program of a part with these groups."""
        spec = self.spec
        options: dict[str, Any] = dict(zip((*spec.options, *spec.switches), self._switches(places[0])))
        for name in spec.optional:
            needed = spec.needs.get(name)
            options[name] = any(
                _is_not_zero(number_of(self.param_groups[place], name, spec), name) for place in places
            ) and (needed is None or options.get(needed, True))
            if self._counts_steps and name in spec.counted and (needed is None or options.get(needed, True)):
                options[name] |= not options[spec.counted[name]]
        return tuple(options.items())

    def _make_parts(self, is_scaled: bool, *, captured: bool = False) -> list[Part]:
        groups, spec = self.param_groups, self.spec
        check_groups(groups, spec)
        self._absent = [name for name in spec.added if not any(name in group for group in groups)]
        keys = [name for name in (*spec.defaults, *spec.fixed) if name not in spec.ignored and name not in self._absent]
        # The first key twice: itemgetter makes no tuple of one value. A rule may have no hyperparameter and no option.
        getter = operator.itemgetter(*keys, *keys[:1]) if keys else _nothing
        seen = [_seen(group, params_of(group, place), getter(group)) for place, group in enumerate(groups)]
        self._check_storage()
        if is_scaled and spec.counted and not self._counts_steps:
            self._counts_steps = True
            self._parts = {}  # they do not count
        if type(self.state) is not States:
            if not isinstance(self.state, dict):
                raise BadInput(f"state: expected a dictionary, found {type(self.state).__name__}")
            self.state = States(self.state, Changes())
        buckets: dict[Any, list[Member]] = {}
        skipped: list[Any] = []
        for place, group in enumerate(groups):
            if group.get("differentiable"):
                _check_differentiable(group["params"], spec.name)
            switches = self._switches(place)
            for index, param in enumerate(group["params"]):
                name = member_name(group, index, place)
                if param.grad is None and not can_step(param):
                    skipped.append(param)
                    continue
                key = (local(param).device, _reduction(param), switches)
                buckets.setdefault(key, []).append(Member(param, place, name))
        for device, _, _ in buckets:
            if device.type not in ("cpu", "cuda") or torch.version.hip:
                raise BadInput(f"params: expected tensors on a CPU or an NVIDIA GPU, found {device}")
        clip = ""
        if self._max_norm is not None:
            clip = "norm" if len(buckets) == 1 and next(iter(buckets))[1] is None else "sum"
        self._getter, self._seen, self._skipped = getter, seen, skipped
        parts = [
            Part(
                spec,
                members,
                self._options_of(sorted({member.group for member in members})),
                scaled=is_scaled,
                clip=clip,
                states=self.state,
                hidden=self._hidden,
                defaults=self.defaults,
                reduction=key[1],
                captured=captured,
                first_blocks=lambda: _stored_tensors.first_blocks(groups),
            )
            for key, members in buckets.items()
        ]
        _check_reductions(spec.name, parts)
        return parts


_profiler: Any = torch.autograd.profiler

#: How PyTorch's errors call an entry.
_SPOKEN = {"lr": "learning rate", "eps": "epsilon value"}


def _unchecked(spec: Spec) -> list[str]:
    """Hyperparameters that may have any value, but must be numbers."""
    known = {*spec.options, *spec.ignored, *spec.checked, *(key for key, _ in spec.parts.values())}
    return [
        name
        for name, default in spec.defaults.items()
        if name not in known and (type(default) in (int, float) or (default is None and name in spec.optional))
    ]


def _singular(key: str) -> str:
    return key.removesuffix("s")


def _plain(states: States) -> Any:
    import collections

    return collections.defaultdict(dict, states.plain())


def _nothing(group: Mapping[str, Any]) -> tuple[Any, ...]:
    return ()


def _is_not_zero(value: Any, name: str) -> bool:
    # The value of a tensor on a device is not read.
    return (isinstance(value, torch.Tensor) and value.device.type != "cpu") or number(value, name) != 0


def _is_on(value: Any, name: str, spec: Spec) -> bool:
    """Whether a hyperparameter that is a switch is on."""
    if not spec.switches_need_positive or (isinstance(value, torch.Tensor) and value.device.type != "cpu"):
        return _is_not_zero(value, name)
    return number(value, name) > 0


def _truth(value: Any, name: str) -> bool:
    """An option that is true or false."""
    try:
        return bool(value)
    except Exception:  # such as an array of several elements
        raise TypeError(f"{name}: expected True or False, found {short(value)}") from None


#: Types of values that may change in place.
_CHANGING = (list, torch.Tensor, numpy.ndarray)


def _same_values(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    for new, old in zip(left, right):
        if isinstance(new, _CHANGING) or (new is not old and (isinstance(old, _CHANGING) or _differ(new, old))):
            return False
    return True


def _plain_option(value: Any, name: str) -> Any:
    """An option that is a plain Python value."""
    if name in _storage.DEFAULTS:
        return _storage.option(name, value)
    if not isinstance(value, (bool, str, int, float, type(None))):
        raise TypeError(f"{name}: expected a bool, a string, a number or None, found {short(value)}")
    return value


def _differ(new: Any, old: Any) -> bool:
    try:
        return bool(new != old)
    except Exception:  # the value is read, and its error names it
        return True


def _reduction(param: Any) -> Any:
    """Over which dimensions of its mesh a parameter is sharded: the norm of gradients is summed over them."""
    return _norm.reduction(param) if is_distributed(param) else None


def _check_reductions(name: str, parts: Sequence[Part]) -> None:
    """Refuses a rule that reduces over tensors of which its launch sees a part only."""
    for part in parts:
        is_split = part.reduction is not None and part.reduction.is_split()
        axes = _programs.reduced_axes(part.spec, part.form) if is_split or len(parts) > 1 else set()
        if is_split and axes:
            raise BadInput(
                f"params: heddle.optim.{name} reduces over whole tensors, such as to their norms, and does not support "
                "parameters that are sharded over several processes; use a rule that has no such reduction, or parameters "
                "that are replicated"
            )
        if "list" in axes and len(parts) > 1:
            raise BadInput(
                f"{name}: expected one launch for all parameters, found {len(parts)}: parameters are on several devices, or "
                "groups have different options. A reduction over all tensors would cover one of them: make an optimizer "
                "for each"
            )


def _check_differentiable(params: Sequence[Any], name: str) -> None:
    for param in params:
        if not param.is_leaf or (param.grad is not None and param.grad.requires_grad):
            raise NotImplementedError(
                f"heddle.optim.{name}: differentiable=True works for leaves whose gradients need no gradient; "
                "use torch.optim to differentiate through a step"
            )


def _run(optimizer: Optimizer) -> None:
    if _is_inference_mode():
        with making_tensors():  # of this step, for later ones outside of the mode
            return _run(optimizer)
    # As torch.no_grad(), which takes longer than the rest of a step whose bindings are known.
    is_enabled = torch.is_grad_enabled()
    set_grad_enabled = torch._C._set_grad_enabled
    set_grad_enabled(False)
    try:
        with optimizer._lock:
            try:
                optimizer._run()
            except BaseException:
                optimizer._undo_changes()
                raise
    finally:
        set_grad_enabled(is_enabled)


_is_inference_mode: Any = torch.is_inference_mode_enabled
# A graph that torch.compile makes ends before the step, and another one starts after it.
_step: Any = torch._disable_dynamo(_run)
_is_traced: Any = torch.compiler.is_dynamo_compiling
#: The function of torch.compile that this thread calls for each new frame; None: there is none.
_compiler: Any = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", lambda: False)


def _signature(spec: Spec) -> inspect.Signature:
    """The signature of the constructor."""
    if spec not in _signatures:
        kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(name, kind) for name in ("self", "params")]
        for name, default in spec.defaults.items():
            if name == spec.keyword_only:
                kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, kind, default=default))
        _signatures[spec] = inspect.Signature(parameters)
    return _signatures[spec]


_signatures: weakref.WeakKeyDictionary[Spec, inspect.Signature] = weakref.WeakKeyDictionary()


def optimizer_class(spec: Spec) -> type[Optimizer]:
    """A class of optimizers with the signature, the parameter groups and the state that `spec` describes."""

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
        Optimizer.__init__(self, *args, **kwargs)

    __init__.__signature__ = _signature(spec)  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{spec.name}.__init__"
    attributes = {"__init__": __init__, "__doc__": spec.doc, "__module__": "heddle.optim", "spec": spec}
    if spec.average is not None:
        attributes.update(_average.METHODS)
    return type(spec.name, (Optimizer,), attributes)


def _scalar(value: Any) -> Any:
    is_tensor = isinstance(value, torch.Tensor) and value.layout is torch.strided and not value.is_nested
    return value.reshape(()) if is_tensor and value.ndim and value.numel() == 1 else value
