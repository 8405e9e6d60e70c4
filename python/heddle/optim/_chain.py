"""Compositions of optimizers with what comes before them.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from ..errors import BadInput
from ._optimizer import Optimizer


def chain(*, clip_grad_norm: float | None = None, optimizer: Optimizer) -> Optimizer:
    """Makes an optimizer clip gradients by their global norm before each step, in the same program.

        optimizer = heddle.optim.chain(clip_grad_norm=1.0, optimizer=heddle.optim.AdamW(model.parameters()))
        norm = optimizer.step()

    The norm is that of all gradients of the optimizer, also over several devices and process groups, as
    `torch.nn.utils.clip_grad_norm_` computes it. Gradients themselves are not changed. After unscaling by a GradScaler,
    the norm is that of the unscaled gradients.

    Args:
        clip_grad_norm: the largest norm; None turns clipping off. ``optimizer.clip_grad_norm`` can be set later, and
            compiles nothing.
        optimizer: an optimizer of heddle.

    Returns:
        `optimizer` itself. ``optimizer.step()`` returns the norm before clipping, a tensor of one float64 on the device,
        without waiting; with a closure it returns the loss, and ``optimizer.grad_norm`` is the norm.

    Raises:
        BadInput: `optimizer` is no optimizer of heddle, or the norm is negative.
    """
    if not isinstance(optimizer, Optimizer):
        raise BadInput(
            f"optimizer: expected an optimizer of heddle.optim, found {type(optimizer).__module__}."
            f"{type(optimizer).__qualname__}"
        )
    optimizer.clip_grad_norm = clip_grad_norm
    return optimizer
