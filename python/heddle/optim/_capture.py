"""A step inside of a CUDA graph that the caller captures.

Such a step has parts of its own, which are never bound again: a later step outside of the capture does not change what
the captured graph reads. Everything but the kernels happens outside of the capture, on another stream: state is created
once and not in each replay, and tables are copied once.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import ctypes
import warnings

from .. import _cuda
from ..errors import Failed
from ._make_parts import make_parts
from ._torch import local, torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._optimizer import Optimizer
    from ._part import Part

_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_streams: dict[Any, Any] = {}


def is_capturing() -> bool:
    """Whether the current stream of PyTorch is being captured."""
    return bool(torch.cuda.is_initialized()) and bool(torch._C._cuda_isCurrentStreamCapturing())


@contextlib.contextmanager
def _outside(devices: list[Any]) -> Iterator[None]:
    """Makes a stream current on each device that is not captured, and waits for it at the end."""
    exchange = _cuda.driver().cuThreadExchangeStreamCaptureMode
    mode = ctypes.c_int(_RELAXED)
    if code := exchange(ctypes.byref(mode)):
        raise Failed(f"cuThreadExchangeStreamCaptureMode failed with CUDA error {code}")
    try:
        with contextlib.ExitStack() as stack:
            for device in devices:
                if device not in _streams:
                    _streams[device] = torch.cuda.Stream(device)
                stack.enter_context(torch.cuda.stream(_streams[device]))
            yield
            for device in devices:
                _streams[device].synchronize()
    finally:
        exchange(ctypes.byref(mode))


def prepared(optimizer: Optimizer, is_scaled: bool) -> list[Part]:
    """Parts for one captured step: bound, with their hyperparameters in a table that replays read."""
    params = [param for group in optimizer.param_groups for param in group["params"]]
    devices = list(dict.fromkeys(local(param).device for param in params))
    with _outside([device for device in devices if device.type == "cuda"]):
        # To free a part waits for its stream, which may be the captured one.
        optimizer._retired.append(optimizer._parts)
        optimizer._forget_old_parts()
        parts = make_parts(optimizer, is_scaled, captured=True)
        for part in parts:
            part.update_hyperparameters(optimizer.param_groups, optimizer._group_changes)
            part.gather(optimizer.param_groups)
        missing = sum(part.idle_members for part in parts)
        if missing:
            warnings.warn(
                f"heddle.optim: {missing} of {len(params)} parameters have no gradient while the step is captured: "
                "replays of the captured graph will skip them",
                stacklevel=4,
            )
        for part in parts:
            part.set_max_norm(optimizer._max_norm)
            if not part.is_idle:
                part.prepare()
                part.keep()
    return parts
