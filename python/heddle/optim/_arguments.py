"""The signatures of optimizers and of their functions in `heddle.optim.functional`. Needs no PyTorch.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import inspect
import weakref

from ._table import MEANINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._spec import Spec


def _gradients(spec: Spec) -> str:
    return "d_p_list" if spec.name == "SGD" else "grads"


def _lists(spec: Spec) -> dict[str, str]:
    """The argument of each state."""
    plural = {"step": "state_steps", "momentum_buffer": "momentum_buffer_list", "sum": "state_sums"}
    return {key: plural.get(key, f"{key}s") for key in spec.functional or ()}


#: Arguments by position that only the functions have.
_DEFAULTS: dict[str, Any] = {"has_sparse_grad": False, "has_complex": False, "grad_scale": None, "found_inf": None}


def function_name(spec: Spec) -> str:
    """The name of the function of an optimizer, which is torch's."""
    return {"SparseAdam": "sparse_adam"}.get(spec.name, spec.name.lower())


def is_torchs(spec: Spec) -> bool:
    """Whether PyTorch has the class, and the function."""
    return bool(spec.positional) or spec.takes_counts


def arguments_of(spec: Spec) -> inspect.Signature:
    """The arguments of PyTorch's function: lists of tensors, what PyTorch has by position, hyperparameters by name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in ("params", _gradients(spec), *_lists(spec).values())]
    for key in spec.positional:
        parameters.append(inspect.Parameter(key, kind, default={**_DEFAULTS, **spec.defaults}[key]))
    for key in spec.defaults:
        if key in spec.positional or key in spec.ignored or key in spec.only_initial or key in spec.added:
            continue
        parts = [part for part, (entry, _) in spec.parts.items() if entry == key]
        for index, each in enumerate(parts or [key]):
            # Functions that PyTorch has, too, have no defaults.
            value = spec.defaults[key][index] if parts else spec.defaults[key]
            default = inspect.Parameter.empty if is_torchs(spec) else value
            parameters.append(inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=default))
    return inspect.Signature(parameters)


_signatures: weakref.WeakKeyDictionary[Spec, inspect.Signature] = weakref.WeakKeyDictionary()


def signature_of(spec: Spec) -> inspect.Signature:
    """The signature of the constructor of an optimizer."""
    if spec not in _signatures:
        kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(name, kind) for name in ("self", "params")]
        for name, default in spec.defaults.items():
            if name == spec.keyword_only:
                kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, kind, default=default))
        _signatures[spec] = inspect.Signature(parameters)
    return _signatures[spec]


def bind(name: str, signature: inspect.Signature, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
    """The arguments of a call; an error has the name of the function, and the arguments that it has."""
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as error:
        known = ", ".join(each for each in signature.parameters if each != "self")
        raise TypeError(f"{name}() {error}; its arguments are {known}") from error


#: The meaning of arguments that only the functions have.
_MEANINGS = {
    "has_sparse_grad": "must be False: sparse gradients are not supported.",
    "grad_scale": "a tensor of one element by which gradients were multiplied, or None; they are divided by it.",
    "found_inf": "a tensor of one element, or None; the step is skipped unless it is 0.",
    "has_complex": "not used: complex tensors are found by their types.",
    "beta1": "the decay rate of the mean of gradients.",
    "beta2": "the decay rate of the mean of their squares.",
    "etaminus": "the factor of a step size whose gradient changes its sign.",
    "etaplus": "the factor of a step size whose gradient does not.",
    "step_size_min": "the smallest step size.",
    "step_size_max": "the largest step size.",
}


def docstring(spec: Spec) -> str:
    """The docstring."""
    meanings = {
        "params": "the parameters.",
        _gradients(spec): "their gradients; parameters whose gradient is None are skipped.",
    }
    for key, name in _lists(spec).items():
        if key == "step" and spec.takes_counts:
            meanings[name] = (
                "the number of this step of each parameter, 1 in the first: an integer or a tensor of one element. The\n"
                "        function only reads it, as PyTorch's does: count before the call."
            )
            continue
        if key == "step":
            meanings[name] = (
                "the number of steps of each parameter, one value each, on any device; those on the device of\n"
                "        their parameter in float32 are not copied."
            )
            continue
        flag = spec.unneeded.get(key)
        may_be_empty = f"; may be empty if `{flag}` is false or 0" if flag else ""
        may_be_none = "; None, in a list, before the first step" if flag and key == "momentum_buffer" else ""
        size = "one value each" if key in spec.single else "as large as the parameter"
        meanings[name] = f"the state `{key}` of each parameter, {size}{may_be_none}{may_be_empty}."
    lines = [f"One step of `heddle.optim.{spec.name}` over lists of tensors, in place, in one launch.", ""]
    if is_torchs(spec):
        lines += [f"The arguments are those of ``torch.optim.functional.{function_name(spec)}``.", ""]
    if spec.name == "SparseAdam":
        lines += ["Gradients are dense: elements whose gradient is 0 stay as they are, with their state.", ""]
    lines.append("Args:")
    for name in arguments_of(spec).parameters:
        known = {**MEANINGS, **_MEANINGS, **spec.meanings, **meanings}
        lines.append(f"    {name}: {known[name]}")
    lines += [
        "",
        "Raises:",
        "    BadInput: the tensors do not fit each other, or a gradient is sparse. Nothing is written.",
        "    TypeError: an argument is missing or does not exist.",
        "",
    ]
    return "\n".join(lines)
