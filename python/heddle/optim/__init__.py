"""Optimizers for PyTorch: drop-in replacements of torch.optim, one fused launch per step.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
