# Written by tools/python_stubs.py from the table of optimizers, _table.py.
#
# Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from torch import Tensor, dtype  # type: ignore[import-not-found, unused-ignore]

from . import functional as functional
from . import lr_scheduler as lr_scheduler
from . import swa_utils as swa_utils
from ._chain import chain as chain
from ._chained import ChainedOptimizer as ChainedOptimizer
from ._masters import float32_state_dict as float32_state_dict
from ._masters import load_masters as load_masters
from ._masters import masters as masters
from ._optimizer import Optimizer as Optimizer
from ._optimizer import optimizer_class as optimizer_class
from ._spec import Family as Family
from ._spec import Spec as Spec

_Params: TypeAlias = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]
#: A tensor has one element.
_Number: TypeAlias = float | Tensor

__all__ = [
    "ChainedOptimizer",
    "Family",
    "Optimizer",
    "Spec",
    "chain",
    "float32_state_dict",
    "load_masters",
    "masters",
    "optimizer_class",
    "SGD",
    "Adam",
    "AdamW",
    "Adagrad",
    "RMSprop",
    "Adadelta",
    "Adamax",
    "ASGD",
    "NAdam",
    "RAdam",
    "Rprop",
    "SparseAdam",
    "Lion",
    "AdaBelief",
    "Adan",
    "Yogi",
    "ADOPT",
    "AdEMAMix",
    "LaProp",
    "LARS",
    "NovoGrad",
    "LAMB",
    "Prodigy",
    "AdamWScheduleFree",
    "SGDScheduleFree",
]

class SGD(Optimizer):
    """Gradient descent, with plain or Nesterov momentum; the formulas are those of `torch.optim.SGD`."""

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        momentum: _Number = 0,
        dampening: _Number = 0,
        weight_decay: _Number = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), AMSGrad (Reddi et al., 2018); the formulas are those of `torch.optim.Adam`."""

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 1e-08,
        weight_decay: _Number = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019); the formulas are those of `torch.optim.AdamW`."""

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 1e-08,
        weight_decay: _Number = 0.01,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class Adagrad(Optimizer):
    """Adagrad (Duchi et al., 2011); the formulas are those of `torch.optim.Adagrad`."""

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.01,
        lr_decay: _Number = 0,
        weight_decay: _Number = 0,
        initial_accumulator_value: _Number = 0,
        eps: _Number = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class RMSprop(Optimizer):
    """RMSprop (Hinton, 2012); the formulas are those of `torch.optim.RMSprop`."""

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.01,
        alpha: _Number = 0.99,
        eps: _Number = 1e-08,
        weight_decay: _Number = 0,
        momentum: _Number = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        *,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012); the formulas are those of `torch.optim.Adadelta`."""

    def __init__(
        self,
        params: _Params,
        lr: _Number = 1.0,
        rho: _Number = 0.9,
        eps: _Number = 1e-06,
        weight_decay: _Number = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class Adamax(Optimizer):
    """Adamax (Kingma and Ba, 2015); the formulas are those of `torch.optim.Adamax`."""

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.002,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 1e-08,
        weight_decay: _Number = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class ASGD(Optimizer):
    """Gradient descent with an average of the parameters, the state `ax` (Polyak and Juditsky, 1992); the formulas are
    those of `torch.optim.ASGD`.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.01,
        lambd: _Number = 0.0001,
        alpha: _Number = 0.75,
        t0: _Number = 1000000.0,
        weight_decay: _Number = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        *,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class NAdam(Optimizer):
    """Adam with Nesterov momentum (Dozat, 2016); the formulas are those of `torch.optim.NAdam`."""

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.002,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 1e-08,
        weight_decay: _Number = 0,
        momentum_decay: _Number = 0.004,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class RAdam(Optimizer):
    """Adam with a rectified variance (Liu et al., 2020); the formulas are those of `torch.optim.RAdam`."""

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 1e-08,
        weight_decay: _Number = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class Rprop(Optimizer):
    """Rprop (Riedmiller and Braun, 1993): steps by the signs of gradients; the formulas are those of
    `torch.optim.Rprop`.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.01,
        etas: tuple[_Number, _Number] = (0.5, 1.2),
        step_sizes: tuple[_Number, _Number] = (1e-06, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class SparseAdam(Optimizer):
    """Adam that leaves elements whose gradient is 0 as they are, with their state; the formulas are those of
    `torch.optim.SparseAdam`, which takes sparse gradients. This class takes dense ones.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 1e-08,
        maximize: bool = False,
        *,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class Lion(Optimizer):
    """Lion (Chen et al., 2023): steps by the sign of an interpolated mean of gradients."""

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.0001,
        betas: tuple[_Number, _Number] = (0.9, 0.99),
        weight_decay: _Number = 0,
        *,
        maximize: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class AdaBelief(Optimizer):
    """AdaBelief (Zhuang et al., 2020): divides by the distance of the gradients from their mean; the formulas are those
    of the package `adabelief_pytorch`.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 1e-16,
        weight_decay: _Number = 0,
        amsgrad: bool = False,
        weight_decouple: bool = True,
        fixed_decay: bool = False,
        rectify: bool = True,
        degenerated_to_sgd: bool = True,
        *,
        maximize: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class Adan(Optimizer):
    """Adan (Xie et al., 2022): Nesterov momentum from the change of gradients; the formulas are those of the authors'
    class, with a step counter for each parameter.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        betas: tuple[_Number, _Number, _Number] = (0.98, 0.92, 0.99),
        eps: _Number = 1e-08,
        weight_decay: _Number = 0.0,
        max_grad_norm: _Number = 0.0,
        no_prox: bool = False,
        foreach: bool | None = True,
        fused: bool | None = False,
        *,
        maximize: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class Yogi(Optimizer):
    """Yogi (Zaheer et al., 2018): Adam with a second moment that grows slowly; the formulas are those of
    `torch_optimizer.Yogi`.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.01,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 0.001,
        initial_accumulator: _Number = 1e-06,
        weight_decay: _Number = 0,
        *,
        maximize: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class ADOPT(Optimizer):
    """ADOPT (Taniguchi et al., 2024): Adam that scales a gradient by the gradients before it; the formulas are those of
    the authors' class. The first step only stores squares.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        betas: tuple[_Number, _Number] = (0.9, 0.9999),
        eps: _Number = 1e-06,
        clip: bool = True,
        weight_decay: _Number = 0.0,
        decouple: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class AdEMAMix(Optimizer):
    """AdEMAMix (Pagliardini et al., 2024): Adam with a second, slower mean of gradients; the formulas are those of the
    authors' class.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        betas: tuple[_Number, _Number, _Number] = (0.9, 0.999, 0.9999),
        alpha: _Number = 2.0,
        beta3_warmup: _Number | None = None,
        alpha_warmup: _Number | None = None,
        eps: _Number = 1e-08,
        weight_decay: _Number = 0,
        *,
        maximize: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class LaProp(Optimizer):
    """LaProp (Ziyin et al., 2020): momentum of gradients that are scaled already; the formulas are those of the
    authors' class.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.0004,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 1e-15,
        weight_decay: _Number = 0,
        amsgrad: bool = False,
        centered: bool = False,
        *,
        maximize: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class LARS(Optimizer):
    """LARS (You et al., 2017): momentum with a learning rate for each tensor; the formulas are those of APEX's `LARC`
    around `torch.optim.SGD`.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.1,
        momentum: _Number = 0.9,
        dampening: _Number = 0,
        weight_decay: _Number = 0,
        nesterov: bool = False,
        trust_coefficient: _Number = 0.001,
        eps: _Number = 1e-08,
        clip: bool = False,
        *,
        maximize: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class NovoGrad(Optimizer):
    """NovoGrad (Ginsburg et al., 2019): one second moment for each tensor; the formulas are those of NeMo's `Novograd`.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        betas: tuple[_Number, _Number] = (0.95, 0.98),
        eps: _Number = 1e-08,
        weight_decay: _Number = 0,
        grad_averaging: bool = False,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class LAMB(Optimizer):
    """LAMB (You et al., 2019): Adam with a learning rate for each tensor; the formulas are those of APEX's `FusedLAMB`,
    with a step counter for each parameter.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.001,
        bias_correction: bool = True,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 1e-06,
        weight_decay: _Number = 0.01,
        adam_w_mode: bool = True,
        grad_averaging: bool = True,
        max_grad_norm: _Number = 1.0,
        use_nvlamb: bool = False,
        *,
        maximize: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class Prodigy(Optimizer):
    """Prodigy (Mishchenko and Defazio, 2023): Adam that estimates its learning rate, the state `d`, from all tensors;
    the formulas are those of the package `prodigyopt`, with a copy of the estimate for each parameter.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 1.0,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        beta3: _Number | None = None,
        eps: _Number = 1e-08,
        weight_decay: _Number = 0,
        decouple: bool = True,
        use_bias_correction: bool = False,
        safeguard_warmup: bool = False,
        d0: _Number = 1e-06,
        d_coef: _Number = 1.0,
        growth_rate: _Number = ...,
        *,
        maximize: bool = False,
        cautious: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...

class AdamWScheduleFree(Optimizer):
    """Schedule-free AdamW (Defazio et al., 2024); the formulas are those of the package `schedulefree`. Call `train()`
    before training and `eval()` before evaluation.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 0.0025,
        betas: tuple[_Number, _Number] = (0.9, 0.999),
        eps: _Number = 1e-08,
        weight_decay: _Number = 0,
        warmup_steps: _Number = 0,
        r: float = 0.0,
        weight_lr_power: float = 2.0,
        foreach: bool | None = True,
        *,
        maximize: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...
    def train(self) -> None: ...
    def eval(self) -> None: ...

class SGDScheduleFree(Optimizer):
    """Schedule-free gradient descent (Defazio et al., 2024); the formulas are those of the package `schedulefree`. Call
    `train()` before training and `eval()` before evaluation.
    """

    def __init__(
        self,
        params: _Params,
        lr: _Number = 1.0,
        momentum: _Number = 0.9,
        weight_decay: _Number = 0,
        warmup_steps: _Number = 0,
        r: float = 0.0,
        weight_lr_power: float = 2.0,
        foreach: bool | None = True,
        *,
        maximize: bool = False,
        state_dtype: dtype | str | None = None,
        rounding: Literal["nearest", "stochastic"] = "nearest",
        master: dtype | str | None = None,
        seed: int = 0,
    ) -> None: ...
    def train(self) -> None: ...
    def eval(self) -> None: ...
