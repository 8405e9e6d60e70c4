"""The few calls of the CUDA driver that choose a GPU.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import ctypes
import os

from .errors import BadInput, Failed, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_driver: ctypes.CDLL | None = None


def driver() -> ctypes.CDLL:
    """The CUDA driver, which the library loads from the same path.

    Raises:
        Unavailable: there is none.
    """
    global _driver
    if _driver is None:
        path = os.environ.get("HEDDLE_CUDA_DRIVER") or "libcuda.so.1"
        try:
            opened = ctypes.CDLL(path)
        except OSError as error:
            raise Unavailable(f"no CUDA driver: {error}") from None
        _call(opened.cuInit, ctypes.c_uint(0))
        _driver = opened
    return _driver


def _call(function: ctypes._NamedFuncPointer, *arguments: object) -> None:
    if code := function(*arguments):
        raise Failed(f"{function.__name__} failed with CUDA error {code}")


def current_device() -> int:
    """The ordinal of the GPU whose context is current on this thread; 0 if there is none."""
    api = driver()
    context, device = ctypes.c_void_p(), ctypes.c_int()
    _call(api.cuCtxGetCurrent, ctypes.byref(context))
    if context:
        _call(api.cuCtxGetDevice, ctypes.byref(device))
    return device.value


@contextlib.contextmanager
def on_device(ordinal: int) -> Iterator[None]:
    """Makes the primary context of a GPU current on this thread.

    Raises:
        BadInput: there is no such GPU.
    """
    api = driver()
    count, device, context = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    _call(api.cuDeviceGetCount, ctypes.byref(count))
    if not 0 <= ordinal < count.value:
        raise BadInput(f"device: expected the ordinal of one of {count.value} GPUs, found {ordinal}")
    _call(api.cuDeviceGet, ctypes.byref(device), ordinal)
    _call(api.cuDevicePrimaryCtxRetain, ctypes.byref(context), device)
    try:
        _call(api.cuCtxPushCurrent_v2, context)
        try:
            yield
        finally:
            _call(api.cuCtxPopCurrent_v2, ctypes.byref(context))
    finally:
        _call(api.cuDevicePrimaryCtxRelease_v2, device)
