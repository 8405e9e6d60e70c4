"""The optimizers of the library: one `Spec` each.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses

from ..errors import BadInput
from ._spec import Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ._spec import Family


def standard(
    name: str, rename: Mapping[str, str] | None = None, numbers: Sequence[str] = ()
) -> Callable[[Sequence[Family], bool, Mapping[str, Any]], str]:
    """The function `program` of a standard program.

    Args:
        name: the name of the program.
        rename: options of the program whose entry in the parameter groups has another name.
        numbers: options whose value is part of the program, such as an initial value of state.
    """

    def program(families: Sequence[Family], groups: bool, options: Mapping[str, Any]) -> str:
        states = {"param" if family.state == family.param else family.state for family in families}
        if any(family.grad != family.param for family in families) or len(states) != 1:
            raise BadInput(
                f"{name}: expected gradients of the type of their parameters, and state of the parameters' type or of "
                f"one type for all, found {', '.join(map(str, families))}"
            )
        settings = {"dtype": "/".join(family.param for family in families), "state": states.pop()}
        settings["groups"] = str(groups).lower()
        for option, value in options.items():
            if option in numbers:
                settings[option] = repr(float(value))
                continue
            # A hyperparameter only has to be other than 0 here: its value is an argument of the program. The value is
            # one that every check of the library accepts.
            is_number = option not in FLAGS
            settings[(rename or {}).get(option, option)] = (
                ("0.5" if value else "0") if is_number else str(bool(value)).lower()
            )
        return f"{name}:" + ",".join(f"{key}={value}" for key, value in settings.items())

    return program


#: Options that are true or false; the others are hyperparameters that may be left out.
FLAGS = ("amsgrad", "maximize", "nesterov", "decoupled_weight_decay", "centered")

_ADAM: dict[str, Any] = {
    "options": ("amsgrad", "maximize", "decoupled_weight_decay"),
    "optional": ("weight_decay",),
    "parts": {"beta1": ("betas", 0), "beta2": ("betas", 1)},
    "checked": ("lr", "eps", "beta1", "beta2", "weight_decay"),
    "program": standard("adam", {"decoupled_weight_decay": "decoupled"}),
}


def _nesterov(group: Mapping[str, Any]) -> str | None:
    if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
        return "Nesterov momentum requires a momentum and zero dampening"
    return None


#: The meaning of the arguments that several optimizers have.
MEANINGS = {
    "params": "parameters, pairs of names and parameters, or dictionaries with the parameters and options of a group.",
    "lr": "the learning rate: a number, or a tensor of one element, which is read in every step.",
    "betas": "the decay rates of the means of gradients and of their squares.",
    "eps": "added to the denominator.",
    "alpha": "the decay rate of the mean of squared gradients.",
    "lr_decay": "the decay of the learning rate: the rate of step t is lr / (1 + (t - 1) * lr_decay).",
    "initial_accumulator_value": "the sum of squared gradients before the first step.",
    "centered": "whether to divide by an estimate of the variance of gradients.",
    "momentum": "the factor of the momentum buffer; 0 leaves the buffer out.",
    "dampening": "the fraction of a gradient that is not added to the momentum buffer.",
    "weight_decay": "the weight decay.",
    "nesterov": "whether to use Nesterov momentum.",
    "amsgrad": "whether to divide by the largest mean of squares so far.",
    "maximize": "whether to maximize the objective.",
    "decoupled_weight_decay": "whether to apply the decay to the parameters, as AdamW does, not to the gradients.",
    "foreach": "accepted for compatibility; without effect.",
    "capturable": "accepted for compatibility; without effect: every step can be captured.",
    "differentiable": "accepted for leaves whose gradients need no gradient.",
    "fused": "accepted for compatibility; without effect: every step is fused.",
}


def _docstring(spec: Spec) -> str:
    """The summary of the spec, the arguments, and the errors."""
    lines = [spec.doc, "", "Args:"]
    for name in ("params", *spec.defaults):
        lines.append(f"    {name}: {MEANINGS.get(name, 'a hyperparameter of the rule.')}")
    return "\n".join([*lines, "", "Raises:", "    ValueError: a value is out of range.", ""])


SPECS: dict[str, Spec] = {
    spec.name: dataclasses.replace(spec, doc=_docstring(spec))
    for spec in (
        Spec(
            "SGD",
            dict(lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False, foreach=None,
                 differentiable=False, fused=None),
            standard("sgd"),
            keyword_only="maximize",
            options=("nesterov", "maximize"),
            optional=("weight_decay", "dampening"),
            switches=("momentum",),
            needs={"dampening": "momentum", "nesterov": "momentum"},
            hidden=("step",),
            checked=("lr", "momentum", "weight_decay"),
            check=_nesterov,
            functional=("momentum_buffer",),
            unneeded={"momentum_buffer": "momentum"},
            created_later=("momentum_buffer",),
            doc="Gradient descent, with plain or Nesterov momentum; the formulas are those of `torch.optim.SGD`.",
        ),
        Spec(
            "Adam",
            dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False),
            keyword_only="foreach",
            functional=("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"),
            unneeded={"max_exp_avg_sq": "amsgrad"},
            created_later=("max_exp_avg_sq",),
            doc="Adam (Kingma and Ba, 2015), AMSGrad (Reddi et al., 2018); the formulas are those of `torch.optim.Adam`.",
            **_ADAM,
        ),
        Spec(
            "AdamW",
            dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None),
            fixed={"decoupled_weight_decay": True},
            keyword_only="maximize",
            functional=("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"),
            unneeded={"max_exp_avg_sq": "amsgrad"},
            created_later=("max_exp_avg_sq",),
            doc="Adam with decoupled weight decay (Loshchilov and Hutter, 2019); the formulas are those of "
            "`torch.optim.AdamW`.",
            **_ADAM,
        ),
        Spec(
            "Adagrad",
            dict(lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None,
                 maximize=False, differentiable=False, fused=None),
            standard("adagrad", numbers=("initial_accumulator_value",)),
            keyword_only="maximize",
            options=("maximize", "initial_accumulator_value"),
            optional=("lr_decay", "weight_decay"),
            checked=("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"),
            functional=("sum", "step"),
            function_defaults=dict(fused=None, grad_scale=None, found_inf=None, has_sparse_grad=False, foreach=None,
                                   differentiable=False, has_complex=False),
            doc="Adagrad (Duchi et al., 2011); the formulas are those of `torch.optim.Adagrad`.",
        ),
        Spec(
            "RMSprop",
            dict(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False),
            standard("rmsprop"),
            options=("centered", "maximize"),
            optional=("weight_decay",),
            switches=("momentum",),
            checked=("lr", "eps", "momentum", "weight_decay", "alpha"),
            functional=("square_avg", "grad_avg", "momentum_buffer", "step"),
            unneeded={"grad_avg": "centered", "momentum_buffer": "momentum"},
            function_defaults=dict(foreach=None, maximize=False, differentiable=False, capturable=False,
                                   has_complex=False),
            doc="RMSprop (Hinton, 2012); the formulas are those of `torch.optim.RMSprop`.",
        ),
        Spec(
            "Lion",
            dict(lr=1e-4, betas=(0.9, 0.99), weight_decay=0, maximize=False),
            standard("lion"),
            keyword_only="maximize",
            options=("maximize",),
            optional=("weight_decay",),
            parts={"beta1": ("betas", 0), "beta2": ("betas", 1)},
            checked=("lr", "beta1", "beta2", "weight_decay"),
            doc="Lion (Chen et al., 2023): steps by the sign of an interpolated mean of gradients.",
        ),
    )
}
