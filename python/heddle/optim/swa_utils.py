"""The module `torch.optim.swa_utils` itself, for programs that say ``import heddle.optim as optim``.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys

import torch.optim.swa_utils  # type: ignore[import-not-found, unused-ignore]
from torch.optim.swa_utils import *  # type: ignore[import-not-found, unused-ignore] # noqa: F403  # for type checkers

sys.modules[__name__] = torch.optim.swa_utils
