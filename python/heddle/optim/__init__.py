"""Optimizers for PyTorch: drop-in replacements of those of ``torch.optim``, with one launch for each step.

    import heddle.optim

    optimizer = heddle.optim.AdamW(model.parameters(), lr=1e-3)     # as torch.optim.AdamW

The classes have the signatures and defaults of PyTorch's, and exchange state with them through ``state_dict``.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from ._chain import chain
from ._optimizer import Optimizer, optimizer_class
from ._spec import Family, Spec
from ._table import SPECS

SGD = optimizer_class(SPECS["SGD"])
Adam = optimizer_class(SPECS["Adam"])
AdamW = optimizer_class(SPECS["AdamW"])

__all__ = ["SGD", "Adam", "AdamW", "Family", "Optimizer", "Spec", "chain", "optimizer_class"]
