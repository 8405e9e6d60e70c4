"""Memory of an executable's target, for callers without an allocator of their own.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from . import _library, arrays, dtypes
from ._torch_versions import mark_array_changed
from ._values import integer
from .errors import BadInput, Error
from .executable import Executable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _dense_on_host(array: Any, writable: bool = False) -> arrays.ArrayView:
    try:
        seen = arrays.view(array, writable=writable)
    except Error as error:
        raise type(error)(f"array: {error}") from error.__cause__
    if seen.device.kind != "cpu":
        raise BadInput(f"array: expected a dense array on the CPU, found one on {seen.device}")
    if not seen.is_dense:
        raise BadInput(
            f"array: expected a dense array in the order of C, found strides {seen.strides} for shape {seen.shape}: make it "
            "contiguous"
        )
    return seen


class Memory:
    """Memory of an executable's target, for callers without an allocator of their own. Aligned to 256 bytes.

    Attributes:
        address: the address of the first byte.
        nbytes: the size in bytes.
    """

    def __init__(self, executable: Executable, nbytes: int) -> None:
        """Allocates memory, on the GPU whose CUDA context is current.

        Raises:
            BadInput: `executable` is none, or `nbytes` is negative or too large.
            Failed: there is not enough memory.
        """
        if not isinstance(executable, Executable):
            raise BadInput(f"executable: expected an Executable, from heddle.compile, found {type(executable).__name__}")
        lib = _library.library()
        nbytes = integer(nbytes, "nbytes", 0, (1 << 63) - 1)
        self._handle = _library.created(
            self, lib.heddle_memory_free, lambda handle: lib.heddle_memory_create(executable._handle, nbytes, handle)
        )
        self.address: int = lib.heddle_memory_address(self._handle) or 0
        self.nbytes = nbytes

    def write(self, array: Any, offset: int = 0) -> None:
        """Copies a dense array of the host to `offset`, in bytes. Waits for the device before and after the copy.

        Raises:
            BadInput: `array` is no dense array of the host, or does not fit into the memory behind `offset`.
        """
        seen = _dense_on_host(array)
        size = seen.size * dtypes.SIZES[seen.dtype]
        self._copy(_library.library().heddle_memory_write, seen, offset, size)

    def read(self, array: Any, offset: int = 0) -> None:
        """Copies from `offset`, in bytes, into a dense array of the host. Waits for the device before and after.

        Autograd counts it as a change in place of a tensor of PyTorch.

        Raises:
            BadInput: as for `write`; `array` cannot be written.
        """
        seen = _dense_on_host(array, writable=True)
        size = seen.size * dtypes.SIZES[seen.dtype]
        self._copy(_library.library().heddle_memory_read, seen, offset, size)
        mark_array_changed(seen.owner)

    def _copy(self, function: Any, seen: arrays.ArrayView, offset: int, size: int) -> None:
        offset = integer(offset, "offset", 0, (1 << 63) - 1)
        if size > self.nbytes - offset:
            raise BadInput(
                f"array: expected at most the {max(0, self.nbytes - offset)} bytes of the memory behind offset {offset}, "
                f"found {size}"
            )
        if size:
            _library.check(function(self._handle, offset, seen.address, size))
