"""heddle: programs over lists of tensors, compiled to a few fused kernels.

A program is an optimizer step over all parameters of a model, a solve of optimal transport, or a rule of your own.
heddle compiles it once. On a GPU, each step is one launch of a CUDA graph; on a CPU, it is vectorized code on all cores.

    import heddle, numpy

    param, grad = numpy.float32([1, 2, 3]), numpy.float32([1, 0, -2])
    graph = heddle.compile("sgd:lr=0.5", target="cpu").graph()
    graph.bind_list("param", [param])
    graph.bind_list("grad", [grad])
    graph.replay()                      # param is [0.5, 2, 4]

Arrays may come from NumPy, PyTorch, CuPy, JAX, or any library with DLPack, ``__cuda_array_interface__`` or the buffer
protocol. Importing heddle imports none of them.

`heddle.rule` makes an optimizer of a Python function of scalars (docs/rule.md).

Errors are exceptions with the text of the library: `Error` and its subclasses `BadInput`, `Unavailable` and `Failed`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .errors import BadInput, Error, Failed, MissingAttribute, MissingPackage, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import arrays as arrays
    from . import dtypes as dtypes
    from . import optim as optim
    from . import ot as ot
    from ._list_binding import ListBinding as ListBinding
    from ._memory import Memory as Memory
    from ._rule.functions import abs as abs
    from ._rule.functions import atan as atan
    from ._rule.functions import atan2 as atan2
    from ._rule.functions import ceil as ceil
    from ._rule.functions import copysign as copysign
    from ._rule.functions import cos as cos
    from ._rule.functions import element as element
    from ._rule.functions import erf as erf
    from ._rule.functions import exp as exp
    from ._rule.functions import exp2 as exp2
    from ._rule.functions import expm1 as expm1
    from ._rule.functions import floor as floor
    from ._rule.functions import fma as fma
    from ._rule.functions import fmax as fmax
    from ._rule.functions import fmin as fmin
    from ._rule.functions import fmod as fmod
    from ._rule.functions import hyper as hyper
    from ._rule.functions import isfinite as isfinite
    from ._rule.functions import isinf as isinf
    from ._rule.functions import isnan as isnan
    from ._rule.functions import log as log
    from ._rule.functions import log10 as log10
    from ._rule.functions import log1p as log1p
    from ._rule.functions import log2 as log2
    from ._rule.functions import maximum as maximum
    from ._rule.functions import minimum as minimum
    from ._rule.functions import per_tensor as per_tensor
    from ._rule.functions import pow as pow
    from ._rule.functions import round as round
    from ._rule.functions import round_away as round_away
    from ._rule.functions import rsqrt as rsqrt
    from ._rule.functions import sign as sign
    from ._rule.functions import sin as sin
    from ._rule.functions import sqrt as sqrt
    from ._rule.functions import step as step
    from ._rule.functions import tan as tan
    from ._rule.functions import tanh as tanh
    from ._rule.functions import trunc as trunc
    from ._rule.functions import where as where
    from ._rule.integers import bits as bits
    from ._rule.integers import extent as extent
    from ._rule.integers import from_bits as from_bits
    from ._rule.integers import index as index
    from ._rule.integers import integer as integer
    from ._rule.reductions import all as all
    from ._rule.reductions import amax as amax
    from ._rule.reductions import amin as amin
    from ._rule.reductions import any as any
    from ._rule.reductions import argmax as argmax
    from ._rule.reductions import argmin as argmin
    from ._rule.reductions import mean as mean
    from ._rule.reductions import norm as norm
    from ._rule.reductions import sum as sum
    from ._rule.rule import Rule as Rule
    from ._rule.rule import rule as rule
    from ._rule.values import Value as Value
    from .executable import BufferInfo as BufferInfo
    from .executable import Executable as Executable
    from .executable import compile as compile
    from .executable import load_plan as load_plan
    from .graph import Graph as Graph
    from .inspection import doctor as doctor
    from .inspection import emit as emit
    from .inspection import explain as explain
    from .inspection import statistics as statistics

    __version__: str

__all__ = [
    "BadInput",
    "BufferInfo",
    "Error",
    "Executable",
    "Failed",
    "Graph",
    "ListBinding",
    "Memory",
    "Unavailable",
    "compile",
    "doctor",
    "emit",
    "explain",
    "load_plan",
    "statistics",
]

# Everything but the errors is imported when it is first used: importing heddle reads two files, and no other module.

_SUBMODULES = ("arrays", "dtypes", "optim", "ot")
# Submodules whose names are here, too.
_OTHERS = ("executable", "graph", "inspection")

# Names of rules that the module _rule.functions defines, or imports.
_FUNCTIONS = (
    "abs all amax amin any argmax argmin atan atan2 bits ceil copysign cos element erf exp exp2 expm1 extent floor "
    "fma fmax fmin fmod from_bits hyper index integer isfinite isinf isnan log log10 log1p log2 maximum mean minimum "
    "norm per_tensor pow round round_away rsqrt sign sin sqrt step sum tan tanh trunc where"
)
_RULE = {name: "_rule.functions" for name in _FUNCTIONS.split()}
_RULE |= {"rule": "_rule.rule", "Rule": "_rule.rule", "Value": "_rule.values"}
_MODULES = {
    **_RULE,
    "BufferInfo": "executable",
    "Executable": "executable",
    "Graph": "graph",
    "ListBinding": "_list_binding",
    "Memory": "_memory",
    "compile": "executable",
    "doctor": "inspection",
    "emit": "inspection",
    "explain": "inspection",
    "load_plan": "executable",
    "statistics": "inspection",
}


if not TYPE_CHECKING:  # a type checker refuses names that do not exist

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from ._library import version

            return version()
        if name not in _MODULES and name not in _SUBMODULES and name not in _OTHERS:
            raise AttributeError(f"module 'heddle' has no attribute '{name}'")
        from importlib import import_module

        try:
            module = import_module(f"{__name__}.{_MODULES.get(name, name)}")
        except MissingPackage as error:
            raise MissingAttribute(str(error)) from None
        value = globals()[name] = getattr(module, name) if name in _MODULES else module
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES, *_RULE, "__version__"])
