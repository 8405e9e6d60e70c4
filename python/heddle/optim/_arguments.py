"""Signatures and docstrings of the functions of `heddle.optim.functional`. Needs no PyTorch.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._spec import Spec


def arguments_of(spec: Spec) -> inspect.Signature:
    """The signature of the function of an optimizer."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    plural = {"step": "state_steps", "momentum_buffer": "momentum_buffer_list"}
    names = ["params", "grads" if "step" in (spec.functional or ()) else "d_p_list"]
    names += [plural.get(key, f"{key}s") for key in spec.functional or ()]
    parameters = [inspect.Parameter(each, kind) for each in names]
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
    parameters += [inspect.Parameter(key, kind, default=default) for key, default in optional.items()]
    for key in spec.defaults:
        if key in optional or key in spec.ignored:
            continue
        parts = [part for part, (entry, _) in spec.parts.items() if entry == key]
        parameters += [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in parts or [key]]
    return inspect.Signature(parameters)


def docstring(spec: Spec) -> str:
    """The docstring of the function of an optimizer."""
    return (
        f"One step of `heddle.optim.{spec.name}` over lists of tensors, in place.\n\n"
        f"The arguments are those of ``torch.optim.functional.{spec.name.lower()}``. Step counters may be on any device; "
        "those on the device of\ntheir parameter in float32 are not copied. Gradients that are None are skipped.\n\n"
        "Raises:\n    BadInput: the tensors do not fit each other. Nothing is written."
    )
