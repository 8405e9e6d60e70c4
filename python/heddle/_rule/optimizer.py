"""The optimizer of a rule for PyTorch.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import copyreg
import importlib
import math

from .. import inspection
from ..errors import BadInput
from .._refusals import REFUSALS
from .._values import number, plain, real, short
from .program import Family
from .signature import scalars_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .rule import Rule


def _optim() -> Any:
    """The package of optimizers, which needs PyTorch."""
    return importlib.import_module("heddle.optim")


#: Arguments that an optimizer sets itself: those of clipping and of GradScaler.
_SET_BY_OPTIMIZERS = ("max_norm", "norm", "grad_scale", "found_inf")


def make_spec(rule: Rule) -> Any:
    """The rule as an ``optim.Spec``.

    Raises:
        BadInput: a hyperparameter has the name of an argument that an optimizer sets itself.
    """
    signature = rule._signature
    for name in _SET_BY_OPTIMIZERS:
        if name in signature.keywords:
            raise BadInput(f"rule '{rule.name}': the name '{name}' has a meaning for every optimizer: use another")
    defaults = {name: signature.hypers.get(name, signature.options.get(name)) for name in signature.keywords}
    parts = {
        f"{name}_{k}": (name, k)
        for name, value in signature.hypers.items()
        if isinstance(value, tuple)
        for k in range(len(value))
    }

    def program(families: Sequence[Any], groups: bool, options: Mapping[str, Any]) -> str:
        values = {name: options[name] for name in signature.options}
        own = [Family(family.param, family.grad, family.state) for family in families]
        # In the form in which MLIR prints a module, which heddle.optim rewrites for clipping.
        return inspection.emit(rule._program(own, groups, values, scalars_of(signature.hypers)), "foreach")

    def check_value(name: str, value: float) -> str | None:
        key, index = parts.get(name, (name, None))
        spoken = key if index is None else f"{key}[{index}]"
        if isinstance(value, bool):
            return f"{rule.name}: expected a number for the hyperparameter '{spoken}', found {value}"
        if not math.isfinite(value):
            return f"{rule.name}: expected a finite number for the hyperparameter '{spoken}', found {value}"
        allowed = signature.ranges.get(key)
        if allowed and not allowed.has(value):
            return f"{rule.name}: expected {spoken} of {allowed}, found {plain(value)}"
        return None

    def check(group: Mapping[str, Any]) -> str | None:
        for name, default in signature.hypers.items():
            size, value = len(default) if isinstance(default, tuple) else 0, group[name]
            found = [value] if size == 0 else list(value) if isinstance(value, (list, tuple)) else []
            if len(found) != max(size, 1) or not all(map(_is_number, found)):
                expected = f"{size} numbers" if size else "a number"
                return f"{rule.name}: expected {expected} for the hyperparameter '{name}', found {short(value)}"
            for k, part in enumerate(found):
                problem = check_value(f"{name}_{k}" if size else name, number(part, name))
                if problem:
                    return problem
        trace = rule._trace({name: rule._option(name, group[name]) for name in signature.options})
        if trace.sees_tensors() and any(map(_is_sharded, group.get("params", ()))):
            return (
                f"{rule.name}: expected parameters that are not sharded, found a sharded DTensor: reductions such as "
                "heddle.norm, heddle.index and heddle.extent would be those of the shard of this process alone. Use "
                "parameters that every process has whole (DDP, or DTensors that are replicated), or a rule without these; "
                "heddle.optim.chain(clip_grad_norm=...) clips by the norm over all shards"
            )
        return None

    named = signature.named()
    return _optim().Spec(
        name=rule.name,
        defaults=defaults,
        program=program,
        keyword_only=named[0] if named else None,
        options=tuple(signature.options),
        parts=parts,
        large=tuple(state.name for state in signature.states if not state.per_tensor),
        single=tuple(state.name for state in signature.states if state.per_tensor),
        check=check,
        check_value=check_value,
        doc=rule.__doc__ or "",
    )


def _is_number(value: Any) -> bool:
    """Whether a hyperparameter may have this value: a number, or a tensor of one element on any device."""
    try:
        return real(value) is not None or bool(getattr(value, "numel", lambda: 0)() == 1)
    except REFUSALS:  # any library's object may refuse
        return False


def _is_sharded(param: Any) -> bool:
    """Whether a tensor is a DTensor of which this process has a part."""
    return any(not placement.is_replicate() for placement in getattr(param, "placements", ()))


def make_class(rule: Rule) -> Any:
    """The subclass of ``torch.optim.Optimizer`` of a rule."""
    made = _optim().optimizer_class(make_spec(rule))
    made.__module__ = rule.function.__module__
    made.__reduce__ = _reduce
    made._heddle_rule = rule
    return made


def _rebuild(rule: Rule) -> Any:
    """An optimizer of the rule without parameters; pickle then sets its state."""
    made = rule.optimizer_class
    return made.__new__(made)


def _reduce(optimizer: Any) -> Any:
    """For pickle and copy: the class has no name of its own, so it is found by the rule. A subclass has a name."""
    if type(optimizer) is not optimizer._heddle_rule.optimizer_class:
        return copyreg.__newobj__, (type(optimizer),), optimizer.__getstate__()  # type: ignore[attr-defined]
    state = optimizer.__getstate__()
    return _rebuild, (optimizer._heddle_rule,), state
