"""Optimizers for PyTorch: drop-in replacements of those of ``torch.optim``, with one launch for each step.

    import heddle.optim

    optimizer = heddle.optim.AdamW(model.parameters(), lr=1e-3)     # as torch.optim.AdamW

The classes have the signatures and defaults of PyTorch's, and exchange state with them through ``state_dict``.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import sys

from ._chain import chain
from ._chained import ChainedOptimizer
from ._masters import float32_state_dict, load_masters, masters
from ._optimizer import Optimizer, optimizer_class
from ._spec import Family, Spec
from ._table import SPECS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Type checkers do not see these: `__init__.pyi`, which tools/python_stubs.py writes, is for them.
_CLASSES = {name: optimizer_class(spec) for name, spec in SPECS.items()}
globals().update(_CLASSES)

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
    *_CLASSES,
]


#: Modules that are imported when they are first used; the last two are those of PyTorch.
_MODULES = ("functional", "lr_scheduler", "swa_utils")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"heddle.optim.{name}")
    hint = ""
    if name[:1].isupper():
        hint = f"; it has {', '.join(_CLASSES)}. Write another optimizer as a rule: heddle.rule"
        if hasattr(sys.modules["torch"].optim, name):
            hint += f", or use torch.optim.{name}"
    raise AttributeError(f"module 'heddle.optim' has no attribute '{name}'{hint}")
