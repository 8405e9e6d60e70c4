"""The optimizers of the library: one `Spec` each.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import math

from .._values import number, real, short
from ..errors import BadInput
from . import _storage
from ._flags import flag
from ._known import holds, is_on_device, known
from ._spec import Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ._spec import Family


def standard(
    name: str,
    rename: Mapping[str, str] | None = None,
    numbers: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> Callable[[Sequence[Family], bool, Mapping[str, Any]], str]:
    """The function `program` of a standard program.

    Args:
        name: the name of the program.
        rename: options of the program whose entry in the parameter groups has another name.
        numbers: options whose value is part of the program, such as a power.
        flags: options that are true or false, beside `FLAGS`.
    """

    def program(families: Sequence[Family], groups: bool, options: Mapping[str, Any]) -> str:
        states = {family.state for family in families}
        if all(family.state == family.param for family in families):
            states = {"param"}
        if any(family.grad != family.param for family in families) or len(states) != 1:
            raise BadInput(
                f"{name}: expected gradients of the type of their parameters, and state of the parameters' type or of "
                f"one type for all, found {', '.join(map(str, families))}"
            )
        settings = {"dtype": "/".join(family.param for family in families), "state": states.pop()}
        settings["groups"] = str(groups).lower()
        settings.update(_storage.settings(families, options))
        for option, value in options.items():
            if option in _storage.DEFAULTS:
                continue
            if option in numbers:
                settings[option] = repr(number(value, option))
                continue
            # A hyperparameter only has to be other than 0 here: its value is an argument of the program. The value is
            # one that every check of the library accepts.
            is_number = option not in FLAGS and option not in flags
            settings[(rename or {}).get(option, option)] = (
                ("0.5" if value else "0") if is_number else str(bool(value)).lower()
            )
        return f"{name}:" + ",".join(f"{key}={value}" for key, value in settings.items())

    return program


#: Options of several optimizers that are true or false; the others are hyperparameters that may be left out.
FLAGS = ("amsgrad", "maximize", "nesterov", "decoupled_weight_decay", "centered", "cautious")

_BETAS = {"beta1": ("betas", 0), "beta2": ("betas", 1)}
_ADAM: dict[str, Any] = {
    "options": ("amsgrad", "maximize", "decoupled_weight_decay", "cautious"),
    "optional": ("weight_decay",),
    "parts": _BETAS,
    "low": ("beta1",),
    "checked": ("lr", "eps", "beta1", "beta2", "weight_decay"),
    "program": standard("adam", {"decoupled_weight_decay": "decoupled"}),
}


def _cautious(group: Mapping[str, Any]) -> str | None:
    if flag(group.get("cautious", False), "cautious") and not holds(group["momentum"], lambda value: value > 0):
        found = short(group["momentum"])
        return f"cautious: expected False beside momentum={found}, found True: it requires a momentum above 0"
    return None


def _average(group: Mapping[str, Any]) -> str | None:
    """The parameters of evaluation divide by the share of the average. Powers are part of the program."""
    for name in ("r", "weight_lr_power"):
        if not isinstance(group[name], (int, float)) or not math.isfinite(number(group[name], name)):
            return f"{name}: expected a finite number, found {short(group[name])}"
    if "momentum" in group and not holds(group["momentum"], lambda value: 0 < value < 1):
        return f"Momentum must be between 0 and 1 exclusive: {group['momentum']}"
    if "betas" in group and not holds(group["betas"][0], lambda value: value > 0):
        return f"Invalid beta parameter at index 0: {group['betas'][0]}, expected a number above 0"
    return None


_SCHEDULE_FREE = {
    "warmup_steps": "the number of steps in which the learning rate grows from 0.",
    "r": "the power of the number of steps in the weights of the average.",
    "weight_lr_power": "the power of the largest learning rate so far in the weights of the average.",
}


def _nesterov(group: Mapping[str, Any]) -> str | None:
    """As `torch.optim.SGD`: a group may have a momentum of 0, which turns both off."""
    if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
        return (
            "Nesterov momentum requires a momentum and zero dampening, found "
            f"momentum={group['momentum']}, dampening={group['dampening']}"
        )
    return None


def _sgd(group: Mapping[str, Any]) -> str | None:
    if not holds(group["dampening"], lambda value: not math.isnan(value)):
        return f"dampening: expected a number other than NaN, found {short(group['dampening'])}"
    return _cautious(group)


def _start(group: Mapping[str, Any]) -> str | None:
    if not holds(group["t0"], lambda value: not math.isnan(value)):
        return f"t0: expected a number of steps, which may be infinite, found {short(group['t0'])}"
    return None


def _decays(group: Mapping[str, Any]) -> str | None:
    """`adabelief_pytorch` ignores the first without the second."""
    if flag(group["fixed_decay"], "fixed_decay") and not flag(group["weight_decouple"], "weight_decouple"):
        return "fixed_decay: expected False beside weight_decouple=False, found True: only a decoupled decay can be fixed"
    return None


def _damped(groups: Sequence[Mapping[str, Any]]) -> str | None:
    """A momentum of 0 turns both off, as after a change of the group."""
    for place, group in enumerate(groups):
        is_on = flag(group["nesterov"], "nesterov") and known(group["momentum"]) not in (0, None)
        if is_on and (known(group["dampening"]) not in (0, None) or is_on_device(group["dampening"])):
            return (
                f"param_groups[{place}]: expected a dampening of 0 beside nesterov=True, found "
                f"momentum={short(group['momentum'])}, dampening={short(group['dampening'])}"
            )
    return None


def _estimate(group: Mapping[str, Any]) -> str | None:
    """As `prodigyopt` and as its formulas need it."""
    if not holds(group["d0"], lambda value: value > 0):
        return f"Invalid d0 value: {group['d0']}, expected a number above 0"
    if not holds(group["growth_rate"], lambda value: value >= 1):
        return f"Invalid growth_rate value: {group['growth_rate']}, expected a number of at least 1"
    if not holds(group["beta3"], lambda value: 0 < value < 1):
        return f"Invalid beta3 value: {group['beta3']}, expected a number between 0 and 1, or None"
    return None


def _rates(groups: Sequence[Mapping[str, Any]]) -> str | None:
    """The estimate is one for all groups, so `prodigyopt` refuses different rates, too. A group of rate 0 stands still."""
    rates = {rate for group in groups if (rate := known(group["lr"]))}
    if len(rates) > 1:
        found = ", ".join(map(str, sorted(rates)))
        return f"lr: expected one value for all parameter groups, or 0 for some, found {found}"
    return None


def _warmups(group: Mapping[str, Any]) -> str | None:
    for name in ("alpha_warmup", "beta3_warmup"):
        value = group[name]
        if isinstance(value, (int, float)) and not 0 <= value < math.inf:
            return f"{name}: expected a number of steps, 0 or more, or None, found {short(value)}"
    return None


def _lars(group: Mapping[str, Any]) -> str | None:
    if not holds(group["dampening"], math.isfinite):
        return f"dampening: expected a finite number, found {short(group['dampening'])}"
    return _cautious(group)


def _rho(group: Mapping[str, Any]) -> str | None:
    return None if group["rho"] <= 1 else f"Invalid rho value: {group['rho']}"


def _etas(group: Mapping[str, Any]) -> str | None:
    for name in ("etas", "step_sizes"):
        for value in group[name]:
            if real(value) is None and not hasattr(value, "numel"):
                raise TypeError(f"{name}: expected numbers, found {short(value)}")
    less, more = group["etas"]
    if not 0 < less < 1 < more:
        return f"Invalid eta values: {less}, {more}"
    least, most = group["step_sizes"]
    if not 0 <= least <= most:
        return f"step_sizes: expected the smallest, at least 0, and then the largest step size, found {least}, {most}"
    return None


#: The meaning of the arguments that several optimizers have.
MEANINGS = {
    "params": "parameters, pairs of names and parameters, or dictionaries with the parameters and options of a group.",
    "lr": "the learning rate: a number, or a tensor of one element, which is read in every step.",
    "betas": "the decay rates of the means of gradients and of their squares.",
    "eps": "added to the denominator.",
    "alpha": "the decay rate of the mean of squared gradients.",
    "lr_decay": "the decay of the learning rate: the rate of step t is lr / (1 + (t - 1) * lr_decay).",
    "initial_accumulator_value": "the sum of squared gradients before the first step, of all groups: the entry of a group "
    "is without effect.",
    "centered": "whether to divide by an estimate of the variance of gradients.",
    "momentum": "the factor of the momentum buffer; 0 leaves the buffer out.",
    "dampening": "the fraction of a gradient that is not added to the momentum buffer.",
    "weight_decay": "the weight decay.",
    "nesterov": "whether to use Nesterov momentum.",
    "amsgrad": "whether to divide by the largest mean of squares so far.",
    "cautious": "whether to step only where the momentum agrees with the gradient, and further there (Liang et al., 2024).",
    "maximize": "whether to maximize the objective.",
    "decoupled_weight_decay": "whether to apply the decay to the parameters, as AdamW does, not to the gradients.",
    "foreach": "accepted for compatibility; without effect.",
    "capturable": "accepted for compatibility; without effect: every step can be captured.",
    "differentiable": "accepted for leaf parameters, if no gradient of a gradient is needed.",
    "fused": "accepted for compatibility; without effect: every step is fused.",
    **_storage.MEANINGS,
}


_RAISES = (
    "Raises:",
    "    ValueError: a value is out of range; an option of storage does not fit the parameters; `params` is empty, or has a",
    "        parameter twice or no leaf. Most are `heddle.BadInput`, a subclass.",
    "    TypeError: an argument does not exist or is missing; a number has another type; `params` has other objects than",
    "        tensors.",
)


def _docstring(spec: Spec) -> str:
    """The summary of the spec, the arguments, and the errors."""
    lines = [spec.doc, "", "Args:"]
    for name in ("params", *spec.defaults):
        meaning = spec.meanings.get(name) or MEANINGS.get(name, "a hyperparameter of the rule.")
        lines.append(f"    {name}: {meaning}")
    return "\n".join([*lines, "", *_RAISES, ""])


def _complete(spec: Spec) -> Spec:
    """The spec with the arguments that all optimizers of the library have, and the docstring."""
    stores = dataclasses.replace(
        spec,
        defaults={**spec.defaults, **_storage.DEFAULTS},
        keyword_only=spec.keyword_only or next(iter(_storage.DEFAULTS)),
        options=(*spec.options, *_storage.DEFAULTS),
        added=(*spec.added, *_storage.DEFAULTS),
        stores=True,
    )
    return dataclasses.replace(stores, doc=_docstring(stores))


SPECS: dict[str, Spec] = {
    spec.name: _complete(spec)
    for spec in (
        Spec(
            "SGD",
            dict(lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False, foreach=None,
                 differentiable=False, fused=None, cautious=False),
            standard("sgd"),
            keyword_only="maximize",
            options=("nesterov", "maximize", "cautious"),
            optional=("weight_decay", "dampening"),
            switches=("momentum",),
            needs={"dampening": "momentum", "nesterov": "momentum", "cautious": "momentum"},
            hidden={"step": "momentum_buffer"},
            counted={"dampening": "nesterov"},
            checked=("lr", "momentum", "weight_decay"),
            check_arguments=_nesterov,
            check_step=_sgd,
            check_groups=_damped,
            functional=("momentum_buffer",),
            positional=("has_sparse_grad", "foreach", "fused", "grad_scale", "found_inf"),
            unneeded={"momentum_buffer": "momentum"},
            added=("cautious",),
            large=("momentum_buffer",),
            doc="Gradient descent, with plain or Nesterov momentum; the formulas are those of `torch.optim.SGD`.",
        ),
        Spec(
            "Adam",
            dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False, cautious=False),
            keyword_only="foreach",
            functional=("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"),
            positional=("foreach", "capturable", "differentiable", "fused", "grad_scale", "found_inf", "has_complex",
                        "decoupled_weight_decay"),
            unneeded={"max_exp_avg_sq": "amsgrad"},
            added=("cautious",),
            large=("exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
            doc="Adam (Kingma and Ba, 2015), AMSGrad (Reddi et al., 2018); the formulas are those of `torch.optim.Adam`.",
            **_ADAM,
        ),
        Spec(
            "AdamW",
            dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None, cautious=False),
            fixed={"decoupled_weight_decay": True},
            keyword_only="maximize",
            functional=("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"),
            positional=("foreach", "capturable", "differentiable", "fused", "grad_scale", "found_inf", "has_complex"),
            unneeded={"max_exp_avg_sq": "amsgrad"},
            added=("cautious",),
            large=("exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
            doc="Adam with decoupled weight decay (Loshchilov and Hutter, 2019); the formulas are those of "
            "`torch.optim.AdamW`.",
            **_ADAM,
        ),
        Spec(
            "Adagrad",
            dict(lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None,
                 maximize=False, differentiable=False, fused=None),
            standard("adagrad"),
            keyword_only="maximize",
            options=("maximize",),
            initial={"sum": "initial_accumulator_value"},
            of_constructor=("initial_accumulator_value",),
            only_initial=("initial_accumulator_value",),
            optional=("lr_decay", "weight_decay"),
            checked=("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"),
            functional=("sum", "step"),
            positional=("fused", "grad_scale", "found_inf", "has_sparse_grad", "foreach", "differentiable", "has_complex"),
            large=("sum",),
            doc="Adagrad (Duchi et al., 2011); the formulas are those of `torch.optim.Adagrad`.",
        ),
        Spec(
            "RMSprop",
            dict(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False, cautious=False),
            standard("rmsprop"),
            keyword_only="cautious",
            options=("centered", "maximize", "cautious"),
            optional=("weight_decay",),
            switches=("momentum",),
            switches_need_positive=True,
            needs={"cautious": "momentum"},
            check_step=_cautious,
            checked=("lr", "eps", "momentum", "weight_decay", "alpha"),
            functional=("square_avg", "grad_avg", "momentum_buffer", "step"),
            positional=("foreach", "maximize", "differentiable", "capturable", "has_complex"),
            unneeded={"grad_avg": "centered", "momentum_buffer": "momentum"},
            added=("cautious",),
            large=("square_avg", "grad_avg", "momentum_buffer"),
            doc="RMSprop (Hinton, 2012); the formulas are those of `torch.optim.RMSprop`.",
        ),
        Spec(
            "Adadelta",
            dict(lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, capturable=False, maximize=False,
                 differentiable=False),
            standard("adadelta"),
            keyword_only="capturable",
            options=("maximize",),
            optional=("weight_decay",),
            checked=("lr", "rho", "eps", "weight_decay"),
            check=_rho,
            functional=("square_avg", "acc_delta", "step"),
            positional=("capturable", "foreach", "differentiable", "has_complex"),
            meanings={"rho": "the decay rate of the means of squares."},
            large=("square_avg", "acc_delta"),
            doc="Adadelta (Zeiler, 2012); the formulas are those of `torch.optim.Adadelta`.",
        ),
        Spec(
            "Adamax",
            dict(lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False, cautious=False),
            standard("adamax"),
            keyword_only="maximize",
            options=("maximize", "cautious"),
            optional=("weight_decay",),
            added=("cautious",),
            parts=_BETAS,
            low=("beta1",),
            checked=("lr", "eps", "beta1", "beta2", "weight_decay"),
            functional=("exp_avg", "exp_inf", "step"),
            positional=("foreach", "maximize", "differentiable", "capturable", "has_complex"),
            large=("exp_avg", "exp_inf"),
            doc="Adamax (Kingma and Ba, 2015); the formulas are those of `torch.optim.Adamax`.",
        ),
        Spec(
            "ASGD",
            dict(lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False),
            standard("asgd"),
            options=("maximize",),
            optional=("weight_decay",),
            initial={"eta": "lr"},
            checked=("lr", "lambd", "alpha", "weight_decay"),
            check_step=_start,
            functional=("ax", "mu", "eta", "step"),
            positional=("foreach", "maximize", "differentiable", "capturable", "has_complex"),
            meanings={
                "lambd": "the decay of the parameters and of the rate.",
                "alpha": "the power of the decay of the rate.",
                "t0": "the number of steps before averaging starts.",
            },
            large=("ax",),
            single=("mu", "eta"),
            doc="Gradient descent with an average of the parameters, the state `ax` (Polyak and Juditsky, 1992); the "
            "formulas are those of `torch.optim.ASGD`.",
        ),
        Spec(
            "NAdam",
            dict(lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, foreach=None, maximize=False, capturable=False, differentiable=False,
                 cautious=False),
            standard("nadam", {"decoupled_weight_decay": "decoupled"}),
            keyword_only="foreach",
            options=("maximize", "decoupled_weight_decay", "cautious"),
            optional=("weight_decay",),
            added=("cautious",),
            parts=_BETAS,
            low=("beta1",),
            checked=("lr", "eps", "beta1", "beta2", "weight_decay", "momentum_decay"),
            functional=("exp_avg", "exp_avg_sq", "mu_product", "step"),
            positional=("decoupled_weight_decay", "foreach", "capturable", "differentiable", "has_complex", "maximize"),
            meanings={"momentum_decay": "the rate at which the momentum grows."},
            large=("exp_avg", "exp_avg_sq"),
            single=("mu_product",),
            doc="Adam with Nesterov momentum (Dozat, 2016); the formulas are those of `torch.optim.NAdam`.",
        ),
        Spec(
            "RAdam",
            dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, foreach=None,
                 maximize=False, capturable=False, differentiable=False, cautious=False),
            standard("radam", {"decoupled_weight_decay": "decoupled"}),
            keyword_only="foreach",
            options=("maximize", "decoupled_weight_decay", "cautious"),
            optional=("weight_decay",),
            added=("cautious",),
            parts=_BETAS,
            low=("beta1",),
            checked=("lr", "eps", "beta1", "beta2", "weight_decay"),
            functional=("exp_avg", "exp_avg_sq", "step"),
            positional=("decoupled_weight_decay", "foreach", "differentiable", "capturable", "has_complex", "maximize"),
            large=("exp_avg", "exp_avg_sq"),
            doc="Adam with a rectified variance (Liu et al., 2020); the formulas are those of `torch.optim.RAdam`.",
        ),
        Spec(
            "Rprop",
            dict(lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), capturable=False, foreach=None, maximize=False,
                 differentiable=False),
            standard("rprop"),
            keyword_only="capturable",
            options=("maximize",),
            parts={"etaminus": ("etas", 0), "etaplus": ("etas", 1), "step_size_min": ("step_sizes", 0),
                   "step_size_max": ("step_sizes", 1)},
            initial={"step_size": "lr"},
            only_initial=("lr",),
            checked=("lr",),
            check=_etas,
            functional=("prev", "step_size", "step"),
            positional=("foreach", "capturable", "maximize", "differentiable", "has_complex"),
            meanings={
                "lr": "the step size before the first step.",
                "etas": "the factors of a step size whose gradient changes its sign, and of one whose gradient does not.",
                "step_sizes": "the smallest and the largest step size.",
            },
            large=("prev", "step_size"),
            doc="Rprop (Riedmiller and Braun, 1993): steps by the signs of gradients; the formulas are those of "
            "`torch.optim.Rprop`.",
        ),
        Spec(
            "SparseAdam",
            dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False),
            standard("sparse_adam"),
            options=("maximize",),
            parts=_BETAS,
            checked=("lr", "eps", "beta1", "beta2"),
            functional=("exp_avg", "exp_avg_sq", "step"),
            takes_counts=True,
            large=("exp_avg", "exp_avg_sq"),
            doc="Adam that leaves elements whose gradient is 0 as they are, with their state; the formulas are those of "
            "`torch.optim.SparseAdam`, which takes sparse gradients. This class takes dense ones.",
        ),
        Spec(
            "Lion",
            dict(lr=1e-4, betas=(0.9, 0.99), weight_decay=0, maximize=False, cautious=False),
            standard("lion"),
            keyword_only="maximize",
            options=("maximize", "cautious"),
            optional=("weight_decay",),
            parts=_BETAS,
            checked=("lr", "beta1", "beta2", "weight_decay"),
            added=("cautious",),
            functional=("exp_avg",),
            large=("exp_avg",),
            doc="Lion (Chen et al., 2023): steps by the sign of an interpolated mean of gradients.",
        ),
        Spec(
            "AdaBelief",
            dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-16, weight_decay=0, amsgrad=False, weight_decouple=True,
                 fixed_decay=False, rectify=True, degenerated_to_sgd=True, maximize=False, cautious=False),
            standard("adabelief", flags=("weight_decouple", "fixed_decay", "rectify", "degenerated_to_sgd")),
            keyword_only="maximize",
            options=("amsgrad", "weight_decouple", "fixed_decay", "rectify", "degenerated_to_sgd", "maximize", "cautious"),
            optional=("weight_decay",),
            parts=_BETAS,
            checked=("lr", "eps", "beta1", "beta2", "weight_decay"),
            check_step=_decays,
            meanings={
                "betas": "the decay rates of the mean of gradients and of their variance.",
                "eps": "added to the variance and to the denominator.",
                "amsgrad": "whether to divide by the largest variance so far; a rectified step ignores it.",
                "weight_decouple": "whether to apply the decay to the parameters, not to the gradients.",
                "fixed_decay": "whether the decay, which must be decoupled, is not multiplied by the learning rate.",
                "rectify": "whether to rectify the variance, as RAdam does.",
                "degenerated_to_sgd": "whether a rectified optimizer steps while there is no variance yet.",
            },
            unneeded={"max_exp_avg_var": "amsgrad"},
            large=("exp_avg", "exp_avg_var", "max_exp_avg_var"),
            doc="AdaBelief (Zhuang et al., 2020): divides by the distance of the gradients from their mean; the formulas "
            "are those of the package `adabelief_pytorch`.",
        ),
        Spec(
            "Adan",
            dict(lr=1e-3, betas=(0.98, 0.92, 0.99), eps=1e-8, weight_decay=0.0, max_grad_norm=0.0, no_prox=False,
                 foreach=True, fused=False, maximize=False, cautious=False),
            standard("adan", flags=("no_prox",)),
            keyword_only="maximize",
            options=("no_prox", "maximize", "cautious"),
            optional=("weight_decay", "max_grad_norm"),
            parts={**_BETAS, "beta3": ("betas", 2)},
            checked=("lr", "eps", "beta1", "beta2", "beta3", "weight_decay", "max_grad_norm"),
            checked_in_steps=("max_grad_norm",),
            meanings={
                "betas": "the decay rates of the means of gradients, of their differences and of squares.",
                "max_grad_norm": "the largest norm of all gradients; 0 leaves the clipping out.",
                "no_prox": "whether the weight decay comes before the step, as in AdamW.",
            },
            large=("exp_avg", "exp_avg_sq", "exp_avg_diff", "neg_pre_grad"),
            doc="Adan (Xie et al., 2022): Nesterov momentum from the change of gradients; the formulas are those of the "
            "authors' class, with a step counter for each parameter.",
        ),
        Spec(
            "Yogi",
            dict(lr=1e-2, betas=(0.9, 0.999), eps=1e-3, initial_accumulator=1e-6, weight_decay=0, maximize=False,
                 cautious=False),
            standard("yogi"),
            keyword_only="maximize",
            options=("maximize", "cautious"),
            initial={"exp_avg": "initial_accumulator", "exp_avg_sq": "initial_accumulator"},
            only_initial=("initial_accumulator",),
            optional=("weight_decay",),
            parts=_BETAS,
            checked=("lr", "eps", "beta1", "beta2", "weight_decay", "initial_accumulator"),
            checked_in_steps=("initial_accumulator",),
            meanings={"initial_accumulator": "both moments before the first step."},
            large=("exp_avg", "exp_avg_sq"),
            doc="Yogi (Zaheer et al., 2018): Adam with a second moment that grows slowly; the formulas are those of "
            "`torch_optimizer.Yogi`.",
        ),
        Spec(
            "ADOPT",
            dict(lr=1e-3, betas=(0.9, 0.9999), eps=1e-6, clip=True, weight_decay=0.0, decouple=False, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, cautious=False),
            standard("adopt", flags=("clip", "decouple")),
            keyword_only="foreach",
            options=("clip", "decouple", "maximize", "cautious"),
            optional=("weight_decay",),
            parts=_BETAS,
            low=("beta1",),
            checked=("lr", "eps", "beta1", "beta2", "weight_decay"),
            meanings={
                "eps": "the smallest denominator.",
                "clip": "whether to clip scaled gradients at the fourth root of the number of steps before.",
                "decouple": "whether to apply the decay to the parameters, not to the gradients.",
            },
            large=("exp_avg", "exp_avg_sq"),
            doc="ADOPT (Taniguchi et al., 2024): Adam that scales a gradient by the gradients before it; the formulas are "
            "those of the authors' class. The first step only stores squares.",
        ),
        Spec(
            "AdEMAMix",
            dict(lr=1e-3, betas=(0.9, 0.999, 0.9999), alpha=2.0, beta3_warmup=None, alpha_warmup=None, eps=1e-8,
                 weight_decay=0, maximize=False, cautious=False),
            standard("ademamix"),
            keyword_only="maximize",
            options=("maximize", "cautious"),
            optional=("weight_decay", "beta3_warmup", "alpha_warmup"),
            parts={**_BETAS, "beta3": ("betas", 2)},
            checked=("lr", "eps", "alpha", "beta1", "beta2", "beta3", "weight_decay"),
            checked_in_steps=("alpha",),
            check_step=_warmups,
            meanings={
                "betas": "the decay rates of the fast mean of gradients, of the mean of squares, and of the slow mean.",
                "alpha": "the weight of the slow mean.",
                "beta3_warmup": "the number of steps in which the decay rate of the slow mean grows from the first rate.",
                "alpha_warmup": "the number of steps in which `alpha` grows from 0.",
            },
            large=("exp_avg_fast", "exp_avg_slow", "exp_avg_sq"),
            doc="AdEMAMix (Pagliardini et al., 2024): Adam with a second, slower mean of gradients; the formulas are those "
            "of the authors' class.",
        ),
        Spec(
            "LaProp",
            dict(lr=4e-4, betas=(0.9, 0.999), eps=1e-15, weight_decay=0, amsgrad=False, centered=False, maximize=False,
                 cautious=False),
            standard("laprop"),
            keyword_only="maximize",
            options=("amsgrad", "centered", "maximize", "cautious"),
            optional=("weight_decay",),
            parts=_BETAS,
            checked=("lr", "eps", "beta1", "beta2", "weight_decay"),
            meanings={
                "weight_decay": "the weight decay, which is not multiplied by the learning rate.",
                "centered": "whether to divide by an estimate of the variance of gradients, after 10 steps.",
            },
            unneeded={"exp_mean_avg_beta2": "centered", "max_exp_avg_sq": "amsgrad"},
            large=("exp_avg", "exp_avg_sq", "exp_mean_avg_beta2", "max_exp_avg_sq"),
            single=("exp_avg_lr_1",),
            doc="LaProp (Ziyin et al., 2020): momentum of gradients that are scaled already; the formulas are those of the "
            "authors' class.",
        ),
        Spec(
            "LARS",
            dict(lr=0.1, momentum=0.9, dampening=0, weight_decay=0, nesterov=False, trust_coefficient=1e-3, eps=1e-8,
                 clip=False, maximize=False, cautious=False),
            standard("lars", flags=("clip",)),
            keyword_only="maximize",
            options=("nesterov", "clip", "maximize", "cautious"),
            optional=("weight_decay", "dampening"),
            switches=("momentum",),
            needs={"dampening": "momentum", "nesterov": "momentum", "cautious": "momentum"},
            hidden={"step": "momentum_buffer"},
            counted={"dampening": "nesterov"},
            checked=("lr", "momentum", "weight_decay", "trust_coefficient", "eps"),
            checked_in_steps=("trust_coefficient",),
            check_arguments=_nesterov,
            check_step=_lars,
            check_groups=_damped,
            meanings={
                "trust_coefficient": "the ratio of the norms of a step and of its parameter.",
                "eps": "added to the norm of the gradient.",
                "clip": "whether a step is never longer than without LARS (LARC).",
            },
            large=("momentum_buffer",),
            doc="LARS (You et al., 2017): momentum with a learning rate for each tensor; the formulas are those of APEX's "
            "`LARC` around `torch.optim.SGD`.",
        ),
        Spec(
            "NovoGrad",
            dict(lr=1e-3, betas=(0.95, 0.98), eps=1e-8, weight_decay=0, grad_averaging=False, amsgrad=False,
                 maximize=False, cautious=False),
            standard("novograd", flags=("grad_averaging",)),
            keyword_only="maximize",
            options=("grad_averaging", "amsgrad", "maximize", "cautious"),
            optional=("weight_decay",),
            parts=_BETAS,
            checked=("lr", "eps", "beta1", "beta2", "weight_decay"),
            meanings={
                "betas": "the decay rates of the sum of scaled gradients and of the mean of squared norms.",
                "grad_averaging": "whether to take a mean of scaled gradients, not a sum.",
                "amsgrad": "whether to divide by the largest mean of squared norms so far.",
            },
            unneeded={"max_exp_avg_sq": "amsgrad"},
            large=("exp_avg",),
            single=("exp_avg_sq", "max_exp_avg_sq"),
            doc="NovoGrad (Ginsburg et al., 2019): one second moment for each tensor; the formulas are those of NeMo's "
            "`Novograd`.",
        ),
        Spec(
            "LAMB",
            dict(lr=1e-3, bias_correction=True, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, adam_w_mode=True,
                 grad_averaging=True, max_grad_norm=1.0, use_nvlamb=False, maximize=False, cautious=False),
            standard("lamb", flags=("bias_correction", "adam_w_mode", "grad_averaging", "use_nvlamb")),
            keyword_only="maximize",
            options=("bias_correction", "adam_w_mode", "grad_averaging", "use_nvlamb", "maximize", "cautious"),
            optional=("weight_decay", "max_grad_norm"),
            parts=_BETAS,
            checked=("lr", "eps", "beta1", "beta2", "weight_decay", "max_grad_norm"),
            checked_in_steps=("max_grad_norm",),
            meanings={
                "bias_correction": "whether to correct the bias of both means.",
                "adam_w_mode": "whether to add the decay to the update, not to the gradients.",
                "grad_averaging": "whether to take a mean of gradients, not a sum.",
                "max_grad_norm": "the largest norm of all gradients; 0 leaves the clipping out.",
                "use_nvlamb": "whether tensors without weight decay have a rate of their own, too.",
            },
            large=("exp_avg", "exp_avg_sq"),
            doc="LAMB (You et al., 2019): Adam with a learning rate for each tensor; the formulas are those of APEX's "
            "`FusedLAMB`, with a step counter for each parameter.",
        ),
        Spec(
            "Prodigy",
            dict(lr=1.0, betas=(0.9, 0.999), beta3=None, eps=1e-8, weight_decay=0, decouple=True,
                 use_bias_correction=False, safeguard_warmup=False, d0=1e-6, d_coef=1.0, growth_rate=float("inf"),
                 maximize=False, cautious=False),
            standard("prodigy", flags=("decouple", "use_bias_correction", "safeguard_warmup")),
            keyword_only="maximize",
            options=("decouple", "use_bias_correction", "safeguard_warmup", "maximize", "cautious"),
            optional=("weight_decay", "beta3", "growth_rate"),
            parts=_BETAS,
            initial={"d": "d0", "d_max": "d0"},
            checked=("lr", "eps", "beta1", "beta2", "weight_decay", "d_coef"),
            checked_in_steps=("d_coef",),
            check_step=_estimate,
            check_groups=_rates,
            meanings={
                "lr": "the factor of the estimated learning rate; a schedule may change it.",
                "beta3": "the decay rate of the sums of the estimate; None: the root of the second entry of `betas`.",
                "eps": "added to the denominator, times the estimate.",
                "decouple": "whether to apply the decay to the parameters, not to the gradients.",
                "use_bias_correction": "whether to correct the bias of both means.",
                "safeguard_warmup": "whether to keep the learning rate out of the sum of gradients, for a warm-up.",
                "d0": "the estimate before the first step.",
                "d_coef": "the factor of the estimate.",
                "growth_rate": "the largest factor by which a step increases the estimate.",
            },
            large=("s", "p0", "exp_avg", "exp_avg_sq"),
            single=("d", "d_max", "d_numerator"),
            doc="Prodigy (Mishchenko and Defazio, 2023): Adam that estimates its learning rate, the state `d`, from all "
            "tensors; the formulas are those of the package `prodigyopt`, with a copy of the estimate for each parameter.",
        ),
        Spec(
            "AdamWScheduleFree",
            dict(lr=0.0025, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, warmup_steps=0, r=0.0, weight_lr_power=2.0,
                 foreach=True, maximize=False),
            standard("adamw_schedule_free", numbers=("r", "weight_lr_power")),
            keyword_only="maximize",
            options=("r", "weight_lr_power", "maximize"),
            optional=("weight_decay", "warmup_steps"),
            parts=_BETAS,
            checked=("lr", "eps", "beta1", "beta2", "weight_decay", "warmup_steps"),
            checked_in_steps=("warmup_steps",),
            check_step=_average,
            average=("z", "beta1"),
            meanings={"betas": "the share of the average in the parameters, and the decay rate of the mean of squares.",
                      **_SCHEDULE_FREE},
            large=("exp_avg_sq", "z"),
            single=("lr_max", "weight_sum"),
            doc="Schedule-free AdamW (Defazio et al., 2024); the formulas are those of the package `schedulefree`. Call "
            "`train()` before training and `eval()` before evaluation.",
        ),
        Spec(
            "SGDScheduleFree",
            dict(lr=1.0, momentum=0.9, weight_decay=0, warmup_steps=0, r=0.0, weight_lr_power=2.0, foreach=True,
                 maximize=False),
            standard("sgd_schedule_free", numbers=("r", "weight_lr_power")),
            keyword_only="maximize",
            options=("r", "weight_lr_power", "maximize"),
            optional=("weight_decay", "warmup_steps"),
            checked=("lr", "momentum", "weight_decay", "warmup_steps"),
            checked_in_steps=("warmup_steps",),
            check_step=_average,
            average=("z", "momentum"),
            meanings={"momentum": "the share of the average in the parameters.", **_SCHEDULE_FREE},
            large=("z",),
            single=("lr_max", "weight_sum"),
            doc="Schedule-free gradient descent (Defazio et al., 2024); the formulas are those of the package "
            "`schedulefree`. Call `train()` before training and `eval()` before evaluation.",
        ),
    )
}
