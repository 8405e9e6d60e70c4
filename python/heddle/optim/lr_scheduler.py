"""The module `torch.optim.lr_scheduler` itself, for programs that say ``import heddle.optim as optim``.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys

import torch.optim.lr_scheduler  # type: ignore[import-not-found, unused-ignore]
from torch.optim.lr_scheduler import *  # type: ignore[import-not-found, unused-ignore] # noqa: F403  # for type checkers

sys.modules[__name__] = torch.optim.lr_scheduler
