"""PyTorch, which heddle imports only here.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import importlib

from .._torch_storage import is_freed as is_freed
from .._torch_storage import lacks_memory as lacks_memory
from .._torch_versions import mark_changed as mark_changed
from .._torch_versions import mark_gradients_changed as mark_gradients_changed
from ..errors import MissingPackage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

try:
    #: Typed as Any, because the types of heddle are checked with and without PyTorch.
    torch: Any = importlib.import_module("torch")
except ImportError as error:
    raise MissingPackage(f"heddle.optim needs PyTorch: pip install torch ({error})") from None

#: heddle's names of the element types that a program can store.
NAMES: dict[Any, str] = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
}
DTYPES: dict[str, Any] = {name: dtype for dtype, name in NAMES.items()}
#: The element types of the real and imaginary parts.
_REAL: dict[Any, Any] = {
    torch.complex128: torch.float64,
    torch.complex64: torch.float32,
    torch.complex32: torch.float16,
}


def real_dtype(dtype: Any) -> Any:
    """The element type as which heddle sees a tensor: that of the parts of a complex number."""
    return _REAL.get(dtype, dtype)


def can_step(param: Any) -> bool:
    """Whether a program can update a parameter. Frozen parameters may have other types, such as quantized weights, and
    those of lazy modules have no shape before the first forward pass.
    """
    if isinstance(param, torch.nn.parameter.UninitializedTensorMixin):
        return False
    return real_dtype(param.dtype) in NAMES and param.device.type in ("cpu", "cuda")


def real_numel(tensor: Any) -> int:
    """The number of elements as which heddle sees a tensor: complex numbers have two."""
    return int(tensor.numel()) * (2 if tensor.dtype in _REAL else 1)


def local(tensor: Any) -> Any:
    """The part of a tensor that is in this process: the local shard of a DTensor, or the tensor itself."""
    if not is_distributed(tensor):
        return tensor
    shard = tensor._local_tensor
    return shard.wait() if hasattr(shard, "wait") else shard


_PLAIN = (torch.nn.Parameter, torch.Tensor)


def is_distributed(tensor: Any) -> bool:
    """Whether a tensor is a DTensor."""
    return type(tensor) not in _PLAIN and hasattr(tensor, "_local_tensor") and hasattr(tensor, "placements")


def local_gradient(param: Any) -> Any:
    """The part of the gradient of a parameter that is in this process; None if there is no gradient."""
    grad = param.grad
    if grad is None or not is_distributed(param):
        return grad
    if not is_distributed(grad):
        return grad
    if grad._spec is not param._spec and grad.placements != param.placements:
        grad = grad.redistribute(placements=param.placements)
    return local(grad)


def is_lazy(tensor: Any) -> bool:
    """Whether the elements of a tensor are not those in memory: a lazy conjugate or negation, or zeros without memory."""
    return bool(tensor.is_conj() or tensor.is_neg() or tensor._is_zerotensor())


def is_dense(tensor: Any) -> bool:
    """Whether the elements of a tensor fill a range of memory, in any order."""
    if is_lazy(tensor):
        return False
    return bool(tensor.is_contiguous() or torch.ops.aten.is_non_overlapping_and_dense(tensor))


def same_order(tensor: Any, other: Any) -> bool:
    """Whether the elements of two tensors of one shape have the same order in memory."""
    if is_lazy(tensor):
        return False
    if tensor.stride() == other.stride():
        return True
    strides = zip(tensor.shape, tensor.stride(), other.stride())
    return tensor.numel() == 0 or all(a == b for extent, a, b in strides if extent > 1)


def empty_in_order(tensor: Any, dtype: Any) -> Any:
    """A new tensor with the shape of `tensor`, dense, and with its elements in the same order in memory."""
    return torch.empty_like(tensor, dtype=dtype, memory_format=torch.preserve_format, requires_grad=False)


@contextlib.contextmanager
def making_tensors() -> Iterator[None]:
    """Makes normal tensors, without gradients, also inside ``torch.inference_mode()``.

    PyTorch refuses to change an inference tensor outside of that mode. What an optimizer keeps is changed later.
    """
    with torch.inference_mode(False), torch.no_grad():
        yield


def copy_into(tensor: Any, values: Any) -> None:
    """Copies values into a tensor of the caller, which may be an inference tensor."""
    if tensor.is_inference():
        with torch.inference_mode():
            tensor.copy_(values)
    else:
        tensor.copy_(values)
