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

Errors are exceptions with the text of the library: `Error` and its subclasses `BadInput`, `Unavailable` and `Failed`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import importlib

from .errors import BadInput, Error, Failed, Unavailable
from .executable import BufferInfo, Executable, compile, load_plan
from .graph import Graph, ListBinding, Memory
from .inspection import doctor, emit, explain, statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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

# Submodules that are imported when first used.
_SUBMODULES = ("arrays", "dtypes", "ot")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._library import version

        return version()
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'heddle' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES, "__version__"])
