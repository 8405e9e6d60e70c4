"""The few operations on arrays that a solve needs, in the library of the caller's costs.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import math
import numbers
import sys
from typing import NamedTuple

from .. import arrays, dtypes
from .._refusals import REFUSALS
from .._values import is_freed, short
from ..errors import BadInput, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

#: The element types of costs; the solve converts integers.
FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = ("i8", "i16", "i32", "i64")


def refused_dtype(argument: str, found: str) -> BadInput:
    """The error that an argument has no numbers."""
    return BadInput(f"{argument}: expected dtype {', '.join((*FLOATS, *INTEGERS))}, found {found}")


def view_of(array: Any, argument: str, stream: int = 0) -> arrays.ArrayView:
    """A view of an argument.

    Raises:
        BadInput: `array` is no array of numbers, or has a tangent.
    """
    _refuse_tangent(array, argument)
    try:
        seen = arrays.view(array, stream=stream)
    except dtypes.UnknownDType as error:
        raise refused_dtype(argument, error.found) from error.__cause__
    except Error as error:
        raise type(error)(f"{argument}: {error}") from error.__cause__
    if seen.dtype not in FLOATS and seen.dtype not in INTEGERS:
        raise refused_dtype(argument, seen.dtype)
    return seen


def hides_changes(array: Any) -> bool:
    """Whether an array is a tensor of PyTorch's inference mode: PyTorch does not count changes in place."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor) and bool(array.is_inference())


def has_tangent(value: Any) -> bool:
    """Whether a tensor of PyTorch has a tangent, the derivative of the forward mode (`torch.autograd.forward_ad`)."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return False
    return torch.autograd.forward_ad.unpack_dual(value).tangent is not None


def needs_gradient(value: Any) -> bool:
    """Whether a tensor of PyTorch needs a gradient, and PyTorch records operations."""
    if not getattr(value, "requires_grad", False):
        return False
    torch: Any = sys.modules.get("torch")
    return torch is None or bool(torch.is_grad_enabled())


def _refuse_tangent(array: Any, argument: str) -> None:
    if has_tangent(array):
        raise BadInput(
            f"{argument}: expected a tensor without a tangent: forward-mode derivatives are not supported; use backward(), "
            "or detach() it"
        )


def check_numbers(sequence: Any, argument: str) -> None:
    """Refuses tensors of PyTorch in nested sequences whose derivatives NumPy would drop, or that are in freed memory.

    Raises:
        BadInput: there is one.
    """
    torch: Any = sys.modules.get("torch")
    for tensor in () if torch is None else _tensors_in(sequence, torch):
        _refuse_tangent(tensor, argument)
        if needs_gradient(tensor):
            raise BadInput(
                f"{argument}: expected numbers, found a tensor that needs a gradient in a sequence, where it would be a "
                "number: give one tensor, torch.stack(sequence), or detach() it"
            )
        if is_freed(tensor):
            raise BadInput(f"{argument}: expected numbers, found {short(tensor)}")


def _tensors_in(sequence: Any, torch: Any) -> Iterator[Any]:
    """The tensors in nested sequences."""
    kinds = set(map(type, sequence))  # mostly float alone
    if any(issubclass(kind, (list, tuple, torch.Tensor)) for kind in kinds):
        for each in sequence:
            if isinstance(each, (list, tuple)):
                yield from _tensors_in(each, torch)
            elif isinstance(each, torch.Tensor):
                yield each


def numbers_in(sequence: Any) -> Any:
    """A float64 array of NumPy with the numbers of nested sequences.

    Raises:
        TypeError: an element is no real number. NumPy would read text, and None as NaN.
        ValueError: the sequences have different lengths.
    """
    import numpy

    found = numpy.asarray(sequence)
    is_number = found.dtype.kind in "biuf"
    if found.dtype.kind == "O":  # such as fractions, or integers of more than 64 bits
        is_number = not any(each is None or isinstance(each, (str, bytes)) for each in found.flat)
    if not is_number:
        raise TypeError(f"expected real numbers, found {found.dtype}")
    return found.astype(numpy.float64)


class Place(NamedTuple):
    """Where a solve runs. Two solves in one place are ordered, so they may use the same graph."""

    #: ``"cpu"`` or ``"cuda"``: the target.
    target: str
    #: The ordinal of the GPU; None on the cpu target.
    ordinal: int | None
    #: The handle of the CUDA stream; 0 on the cpu target.
    stream: int


def _is_numpy(array: Any) -> bool:
    """Whether an object is an array of NumPy, and not only one that NumPy can read."""
    import numpy

    return isinstance(array, numpy.ndarray)


class Library:
    """The caller's library: numpy, torch, cupy or jax, on the device of one of its arrays.

    Attributes:
        name: the name of the library.
        place: the device, and the library's current stream there.
    """

    def __init__(self, like: Any, seen: arrays.ArrayView) -> None:
        self.name = arrays.library_of(like)
        self._device = seen.device
        torch = sys.modules.get("torch")
        is_tensor = torch is not None and isinstance(like, torch.Tensor)
        self._torch_device = like.device if is_tensor else str(seen.device)
        ordinal = seen.device.ordinal
        self._stream: Any = None
        if seen.device.kind == "cpu":
            self.place = Place("cpu", None, 0)
            return
        if ordinal is None:
            if self.name == "torch":
                ordinal = int(sys.modules["torch"].cuda.current_device())
            elif self.name == "cupy":
                ordinal = int(like.device.id)
        self._device = arrays.Device("cuda", ordinal or 0)
        stream = 0
        if self.name in ("torch", "cupy"):
            self._stream = self._current_stream()
            stream = self._handle(self._stream)
        self.place = Place("cuda", ordinal or 0, stream)

    def _current_stream(self) -> Any:
        """The current stream of PyTorch or CuPy on this GPU."""
        module, ordinal = sys.modules[self.name], self._device.ordinal
        if self.name == "torch":
            return module.cuda.current_stream(ordinal)
        with module.cuda.Device(ordinal):
            return module.cuda.get_current_stream()

    def _handle(self, stream: Any) -> int:
        return int(stream.cuda_stream if self.name == "torch" else stream.ptr)

    def _wait(self, stream: Any, earlier: Any) -> None:
        """Lets a stream wait for the work that another stream has now."""
        if self.name == "torch":
            stream.wait_stream(earlier)
            return
        with sys.modules["cupy"].cuda.Device(self._device.ordinal):
            stream.wait_event(earlier.record())

    def _other_stream(self) -> Any:
        """The library's current stream; None if it is that of the solve, or there are no streams."""
        if self._stream is None:
            return None
        current = self._current_stream()
        return None if self._handle(current) == self.place.stream else current

    def join(self) -> None:
        """Lets the library's current stream wait for that of the solve."""
        current = self._other_stream()
        if current is not None:
            self._wait(current, self._stream)

    @contextlib.contextmanager
    def in_order(self) -> Iterator[None]:
        """Work on the stream of the solve that uses, and makes, arrays of the library's current stream."""
        current = self._other_stream()
        if current is not None:
            self._wait(self._stream, current)
        yield
        if current is not None:
            self._wait(current, self._stream)

    @property
    def must_wait(self) -> bool:
        """Whether the library would use results on other streams than that of the solve."""
        return self.name == "jax" and self.place.target == "cuda"

    def records_gradients(self) -> bool:
        """Whether the library records the operations of this thread for gradients."""
        return self.name == "torch" and bool(sys.modules["torch"].is_grad_enabled())

    def view(self, array: Any, argument: str) -> arrays.ArrayView:
        """A view of an argument, which must be on this device.

        Raises:
            BadInput: `array` is no array, or on another device.
        """
        seen = view_of(array, argument, self.place.stream)
        expected = self._device
        if seen.device.kind != expected.kind or seen.device.ordinal not in (None, expected.ordinal):
            raise BadInput(f"{argument}: expected memory of {expected}, as M has, found {seen.device}")
        return seen

    def own(self, array: Any, argument: str) -> Any:
        """`array` as an array of this library, without a copy if it is an array; a sequence of numbers is copied."""
        if isinstance(array, (list, tuple, numbers.Real)):
            try:
                if not isinstance(array, numbers.Real):
                    check_numbers(array, argument)
                return self.asarray(numbers_in(array))
            except BadInput:
                raise
            except REFUSALS as error:  # such as a list of text
                raise BadInput(f"{argument}: expected an array, found {short(array)}") from error
        seen = self.view(array, argument)
        if arrays.library_of(array) == self.name and (self.name != "numpy" or _is_numpy(array)):
            return array.detach() if self.name == "torch" and array.requires_grad else array
        if self.name == "numpy":
            return arrays.to_library(seen, "numpy")
        return arrays.to_library(seen, self.name)

    def asarray(self, host: Any) -> Any:
        """A copy of a NumPy array in this library, on this device."""
        if self.name == "numpy":
            return host
        module = sys.modules[self.name]
        if self.name == "torch":
            return module.tensor(host, device=self._torch_device)
        if self.name == "cupy":
            with module.cuda.Device(self._device.ordinal):
                return module.asarray(host)
        return module.numpy.asarray(host)

    def dense(self, array: Any, dtype: str) -> Any:
        """An own array with an element type, dense in the order of C; a copy only if it must be."""
        if self.name == "torch":
            return array.to(getattr(sys.modules["torch"], dtypes.NUMPY_NAMES[dtype])).contiguous()
        if self.name == "jax":
            return array.astype(dtypes.NUMPY_NAMES[dtype])
        module = sys.modules[self.name]
        return module.ascontiguousarray(array, dtype=dtypes.numpy_dtype(dtype))

    def empty(self, count: int, dtype: str) -> Any:
        """An uninitialized vector."""
        if self.name == "numpy":
            import numpy

            return numpy.empty(count, dtypes.numpy_dtype(dtype))
        module = sys.modules[self.name]
        if self.name == "torch":
            with module.inference_mode(False):  # so that PyTorch counts changes
                return module.empty(count, dtype=getattr(module, dtypes.NUMPY_NAMES[dtype]), device=self._torch_device)
        if self.name == "cupy":
            with module.cuda.Device(self._device.ordinal):
                return module.empty(count, dtypes.numpy_dtype(dtype))
        made = module.numpy.empty((count,), dtypes.NUMPY_NAMES[dtype])
        if str(made.dtype) != dtypes.NUMPY_NAMES[dtype]:
            raise BadInput(f"M: JAX makes {made.dtype} of {dtype}; set the option jax_enable_x64")
        if self._device.kind == "cuda":
            made = module.device_put(made, module.devices("gpu")[self._device.ordinal or 0])
        return made

    def address(self, vector: Any) -> int:
        """The address of a vector that `empty` or `joined` has made."""
        if self.name == "torch":
            return int(vector.data_ptr())
        if self.name == "numpy":
            return int(vector.ctypes.data)
        return int(vector.data.ptr if self.name == "cupy" else vector.unsafe_buffer_pointer())

    def full(self, count: int, dtype: str, value: float) -> Any:
        """A vector with equal elements."""
        if self.name == "jax":
            return sys.modules["jax"].numpy.full((count,), value, dtypes.NUMPY_NAMES[dtype])
        made = self.empty(count, dtype)
        made[...] = value
        return made

    def joined(self, parts: Sequence[Any], dtype: str) -> Any:
        """A new vector of the elements of all arrays in order."""
        flat = [self.dense(part, dtype).reshape(-1) for part in parts]
        if self.name == "torch":
            torch = sys.modules["torch"]
            if not flat:
                return self.empty(0, dtype)
            with torch.inference_mode(False), torch.no_grad():
                return torch.cat(flat)
        module = sys.modules["jax"].numpy if self.name == "jax" else sys.modules[self.name]
        return module.concatenate(flat) if flat else self.empty(0, dtype)

    def within(self, array: Any, least: float, most: float) -> Any:
        """An own array of floating-point numbers, with NaN in the place of those that are not in a range."""
        module = sys.modules["jax"].numpy if self.name == "jax" else sys.modules[self.name]
        return module.where((array >= least) & (array <= most), array, math.nan)

    def stacked(self, scalars: Sequence[Any]) -> Any:
        """A vector of arrays of one element."""
        module = sys.modules["jax"].numpy if self.name == "jax" else sys.modules[self.name]
        return module.stack(list(scalars))

    def on_host(self, given: Any, array: Any) -> Any:
        """The numbers of an argument as an array of NumPy; None if they are on a GPU.

        Args:
            given: the argument.
            array: the argument as an own array.
        """
        if isinstance(given, (list, tuple, numbers.Real)):
            return numbers_in(given)
        return self.host(array) if self.place.target == "cpu" else None

    def host(self, array: Any) -> Any:
        """A NumPy copy of an own array, after waiting for its stream."""
        import numpy

        if self.name == "torch":
            return array.detach().cpu().numpy()
        return array.get() if self.name == "cupy" else numpy.asarray(array)
