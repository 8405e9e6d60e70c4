"""Steps as functions over lists of tensors, with the arguments of ``torch.optim.functional``.

    adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, *, amsgrad, beta1, ...)

There is one function for each class of `heddle.optim` that PyTorch has, too, and `lion`. It updates parameters and state in place, in one
launch.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import os
import threading

from .._values import real, short
from ..errors import BadInput
from ._arguments import arguments_of, bind, docstring, function_name
from ._checks import check_memory
from ._optimizer import Optimizer, optimizer_class
from ._spec import Spec
from ._table import SPECS
from ._torch import copy_into, local, making_tensors, mark_changed, torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class _Call:
    """Optimizers over the kinds of tensors of the latest calls. A call takes one, and lends it its tensors.

    Calls of several threads take turns. A call may call functions of the caller, such as ``__float__`` of a learning rate,
    which may call this again: then it takes another optimizer.
    """

    _LIMIT = 8

    def __init__(self, spec: Spec) -> None:
        self._class: Callable[[Any], Optimizer] = optimizer_class(spec)
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        # In a forked child, another thread of the parent may hold the lock, and may have changed an optimizer.
        self._optimizers: collections.OrderedDict[Any, Optimizer] = collections.OrderedDict()
        self._lock = threading.RLock()

    def __call__(
        self,
        params: Sequence[Any],
        grads: Sequence[Any],
        states: dict[str, Sequence[Any]],
        own: dict[str, Any],
        values: dict[str, Any],
        scaling: tuple[Any, Any],
    ) -> None:
        """Steps with the members of `states`, and adds new state to the lists of the caller, `own`."""
        with self._lock, making_tensors():
            key, optimizer = self._take(params)
            group = optimizer.param_groups[0]
            views = group["params"]
            group.update(values)
            try:
                for place, (view, param, grad) in enumerate(zip(views, params, grads)):
                    view.data, view.grad = param.detach(), grad
                    optimizer.state[view] = {
                        key: members[place] for key, members in states.items() if members[place] is not None
                    }
                optimizer.grad_scale, optimizer.found_inf = scaling
                Optimizer.step(optimizer)
                stepped = [place for place, grad in enumerate(grads) if grad is not None]
                unneeded = {key for key, option in optimizer.spec.unneeded.items() if not values[option]}
                written = [params, *(members for key, members in states.items() if key not in unneeded)]
                mark_changed([members[place] for members in written for place in stepped if members[place] is not None])
                for place, view in enumerate(views):
                    for name, members in states.items():
                        made = optimizer.state[view].get(name)
                        if made is not members[place]:
                            _give_back(own[name], place, members[place], made)
            finally:
                # Nothing of the caller is kept.
                optimizer.state.clear()
                optimizer._hidden.clear()
                optimizer.grad_scale = optimizer.found_inf = None
                for view in views:
                    view.grad = None
                    view.data = view.data.new_empty(0)
                self._keep(key, optimizer)

    def _take(self, params: Sequence[Any]) -> tuple[Any, Optimizer]:
        key = tuple((param.shape, param.dtype, param.device, param.stride()) for param in params)
        optimizer = self._optimizers.pop(key, None)
        if optimizer is None:
            optimizer = self._class([(f"params[{place}]", param.detach()) for place, param in enumerate(params)])
        return key, optimizer

    def _keep(self, key: Any, optimizer: Optimizer) -> None:
        self._optimizers[key] = optimizer
        if len(self._optimizers) > self._LIMIT:
            self._optimizers.popitem(last=False)


def _give_back(members: Any, place: int, given: Any, made: Any) -> None:
    """Passes state to the caller that was created in the step, or that the program needed in another form."""
    if given is not None and made is not None:
        copy_into(given, made)
    elif place < len(members) and members[place] is given:  # objects of the caller may have changed the list meanwhile
        members[place] = made


def _check_tensors(name: str, lists: dict[str, Sequence[Any]]) -> None:
    """Refuses what is no tensor. Only parameters and step counters may not be None."""
    for argument, members in lists.items():
        needed = argument in ("params", "state_steps")
        for place, member in enumerate(members):
            if isinstance(member, torch.Tensor) and (member.layout is not torch.strided or member.is_nested):
                raise BadInput(f"{name}: {argument}[{place}]: expected a dense tensor, found layout {member.layout}")
            if not isinstance(member, torch.Tensor) and (needed or member is not None):
                found = type(member).__name__
                raise BadInput(f"{name}: {argument}[{place}]: expected a tensor{'' if needed else ' or None'}, found {found}")


def _check_places(name: str, argument: str, members: Sequence[Any], grads: Sequence[Any]) -> None:
    """Refuses a tuple to which the step would add state."""
    for place, (member, grad) in enumerate(zip(members, grads)):
        if member is None and grad is not None and not isinstance(members, list):
            raise BadInput(
                f"{name}: {argument}: expected a list, so that the step can add the state of params[{place}], found "
                f"{type(members).__name__}"
            )


def _counters(name: str, argument: str, members: Sequence[Any]) -> list[Any]:
    """The step counters before this step, as the program has them, of the numbers of this step."""
    counters = []
    for place, member in enumerate(members):
        if isinstance(member, torch.Tensor) and member.numel() == 1:
            check_memory(f"{name}: {argument}[{place}]", local(member))
            counters.append(member.detach().to(torch.float32).reshape(()) - 1)
            continue
        count = real(member)
        if count is None or not count >= 1:
            raise BadInput(
                f"{name}: {argument}[{place}]: expected the number of the step, at least 1, or a tensor of one element, "
                f"found {short(member)}"
            )
        counters.append(torch.tensor(count - 1))
    return counters


def _function(spec: Spec) -> Callable[..., None]:
    """The function of an optimizer; its arguments are those of PyTorch's function of this name."""
    name = function_name(spec)
    states = tuple(spec.functional or ())
    call = _Call(spec)
    signature = arguments_of(spec)

    def function(*args: Any, **kwargs: Any) -> None:
        given = bind(name, signature, *args, **kwargs)
        given.apply_defaults()
        arguments = list(given.arguments.values())
        for argument, members in zip(signature.parameters, arguments[: 2 + len(states)]):
            if not isinstance(members, (list, tuple)):
                raise TypeError(f"{name}: {argument}: expected a list of tensors, found {type(members).__name__}")
        # Read once: objects of the caller, such as a learning rate, may change the lists when they are read.
        own = dict(zip(states, arguments[2 : 2 + len(states)]))
        arguments[: 2 + len(states)] = map(tuple, arguments[: 2 + len(states)])
        params, grads = arguments[0], arguments[1]
        lists = dict(zip(states, arguments[2 : 2 + len(states)]))
        values = {}
        for key, default in {**spec.defaults, **spec.fixed}.items():
            # A list of state may have the name of an entry.
            if any(part[0] == key for part in spec.parts.values()):
                parts = sorted((index, part) for part, (entry, index) in spec.parts.items() if entry == key)
                values[key] = tuple(given.arguments[part] for _, part in parts)
            elif key in given.arguments:
                values[key] = given.arguments[key]
            else:
                values[key] = default
        if given.arguments.get("has_sparse_grad"):
            raise RuntimeError(f"heddle.optim.functional.{name} does not support sparse gradients: use dense gradients")
        for key, members in list(lists.items()):
            if not members and key in spec.unneeded and not values[spec.unneeded[key]]:
                del lists[key]  # a list of state that the options do not need
            elif len(members) != len(params):
                raise BadInput(f"{name}: expected {len(params)} tensors of state '{key}', found {len(members)}")
        if len(grads) != len(params):
            raise BadInput(f"{name}: expected {len(params)} gradients, found {len(grads)}")
        if spec.takes_counts:
            place = 2 + states.index("step")
            arguments[place] = lists["step"] = _counters(name, list(signature.parameters)[place], arguments[place])
        _check_tensors(name, dict(zip(signature.parameters, arguments[: 2 + len(states)])))
        for place, (param, grad) in enumerate(zip(params, grads)):
            if grad is not None and (grad.shape != param.shape or grad.device != param.device or grad.dtype != param.dtype):
                raise BadInput(
                    f"{name}: gradient {place}: expected shape {tuple(param.shape)} and dtype {param.dtype} on "
                    f"{param.device}, found {tuple(grad.shape)} and {grad.dtype} on {grad.device}"
                )
        for argument, (key, members) in zip(list(signature.parameters)[2:], own.items()):
            if key not in spec.unneeded or values[spec.unneeded[key]]:
                _check_places(name, argument, members, grads)
        if params:
            call(params, grads, lists, own, values, (given.arguments.get("grad_scale"), given.arguments.get("found_inf")))

    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = docstring(spec)
    return function


#: The functions by name.
FUNCTIONS: dict[str, Callable[..., None]] = {
    function_name(spec): _function(spec) for spec in SPECS.values() if spec.functional is not None
}
__all__ = ["FUNCTIONS", *FUNCTIONS]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Callable[..., None]:
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"module 'heddle.optim.functional' has no attribute '{name}'")
