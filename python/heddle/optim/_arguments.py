"""The signatures of optimizers and of their functions in `heddle.optim.functional`. Needs no PyTorch.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import inspect

from ._table import MEANINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._spec import Spec


def _gradients(spec: Spec) -> str:
    return "grads" if "step" in (spec.functional or ()) else "d_p_list"


def _lists(spec: Spec) -> dict[str, str]:
    """The argument of each state."""
    plural = {"step": "state_steps", "momentum_buffer": "momentum_buffer_list", "sum": "state_sums"}
    return {key: plural.get(key, f"{key}s") for key in spec.functional or ()}


def _defaults_of_adam(spec: Spec) -> dict[str, Any]:
    """The arguments with a default, as PyTorch's functions for SGD, Adam and AdamW have them."""
    optional: dict[str, Any] = {}
    if "step" not in (spec.functional or ()):
        optional["has_sparse_grad"] = False
    for key in ("foreach", "capturable", "differentiable", "fused"):
        if key in spec.defaults and (key != "differentiable" or "capturable" in spec.defaults):
            optional[key] = spec.defaults[key]
    optional.update(grad_scale=None, found_inf=None)
    if "capturable" in spec.defaults:
        optional["has_complex"] = False
    if "decoupled_weight_decay" in spec.defaults:
        optional["decoupled_weight_decay"] = False
    return optional


def arguments_of(spec: Spec) -> inspect.Signature:
    """The arguments of PyTorch's function: lists of tensors, what PyTorch has by position, hyperparameters by name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in ("params", _gradients(spec), *_lists(spec).values())]
    optional = dict(_defaults_of_adam(spec) if spec.function_defaults is None else spec.function_defaults)
    parameters += [inspect.Parameter(key, kind, default=default) for key, default in optional.items()]
    for key in spec.defaults:
        # An option that is a number chooses the initial value of state, which the caller gives.
        if key in optional or key in spec.ignored or (key in spec.options and not isinstance(spec.defaults[key], bool)):
            continue
        parts = [part for part, (entry, _) in spec.parts.items() if entry == key]
        parameters += [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in parts or [key]]
    return inspect.Signature(parameters)


def bind(name: str, signature: inspect.Signature, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
    """The arguments of a call; an error has the name of the function, and the arguments that it has."""
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as error:
        known = ", ".join(each for each in signature.parameters if each != "self")
        raise TypeError(f"{name}() {error}; its arguments are {known}") from None


#: The meaning of arguments that only the functions have.
_MEANINGS = {
    "has_sparse_grad": "must be False: sparse gradients are not supported.",
    "grad_scale": "a tensor of one element by which gradients were multiplied, or None; they are divided by it.",
    "found_inf": "a tensor of one element, or None; the step is skipped unless it is 0.",
    "has_complex": "not used: complex tensors are found by their types.",
    "beta1": "the decay rate of the mean of gradients.",
    "beta2": "the decay rate of the mean of their squares.",
}


def docstring(spec: Spec) -> str:
    """The docstring."""
    meanings = {
        "params": "the parameters.",
        _gradients(spec): "their gradients; parameters whose gradient is None are skipped.",
    }
    for key, name in _lists(spec).items():
        if key == "step":
            meanings[name] = (
                "the number of steps of each parameter, one value each, on any device; those on the device of\n"
                "        their parameter in float32 are not copied."
            )
            continue
        flag = spec.unneeded.get(key)
        may_be_empty = f"; may be empty if `{flag}` is false or 0" if flag else ""
        may_be_none = "; None, in a list, before the first step" if flag and key == "momentum_buffer" else ""
        meanings[name] = f"the state `{key}` of each parameter, as large as the parameter{may_be_none}{may_be_empty}."
    lines = [
        f"One step of `heddle.optim.{spec.name}` over lists of tensors, in place, in one launch.",
        "",
        f"The arguments are those of ``torch.optim.functional.{spec.name.lower()}``.",
        "",
        "Args:",
    ]
    for name in arguments_of(spec).parameters:
        lines.append(f"    {name}: {meanings.get(name) or _MEANINGS.get(name) or MEANINGS[name]}")
    lines += ["", "Raises:", "    BadInput: the tensors do not fit each other. Nothing is written.", ""]
    return "\n".join(lines)
