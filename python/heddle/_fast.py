"""Reads the addresses of many tensors quickly: a step of an optimizer reads those of every parameter and gradient.

The functions are those of the extension ``_fast_native`` (python/native), or, without the extension, those of
`_fast_fallback`, which has the same contract and reads attributes. `NATIVE` says which, and `reader` how the extension
reads the tensors of a type.

    api = exchange_api(torch.Tensor)
    expected = layouts(params, api)                 # when the optimizer binds its tensors
    addresses_of_params = bytearray(8 * len(params))
    addresses_of_grads = bytearray(8 * len(params))
    ...
    changed, changed_grads = pairs(params, api, addresses_of_params, addresses_of_grads, expected)    # in every step
    if changed < 0 or changed_grads < 0:
        ...                                         # some tensor has another shape, element type, device or order
    elif changed or changed_grads:
        ...                                         # bind the new addresses

``out`` is a bytearray with 8 bytes per tensor, because its memory is writable without a copy everywhere:
``numpy.frombuffer(out, numpy.int64)`` and ``(ctypes.c_void_p * n).from_buffer(out)`` are views of it. It starts with
zeros. The functions read a tuple faster than a list.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import gc
import importlib.machinery
import importlib.util
import os

from . import _fast_fallback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

_NAME = "heddle._fast_native"


def _load() -> ModuleType:
    """The extension of the wheel, else that in the build folder of a checkout, else the fallback."""
    folder = os.path.dirname(os.path.abspath(__file__))
    checkout = os.path.dirname(os.path.dirname(folder))
    places = [folder]
    if os.path.isfile(os.path.join(checkout, "runtime", "heddle.h")):
        places.append(os.path.join(checkout, "build", "lib"))
    for place in places:
        path = os.path.join(place, "_fast_native.abi3.so")
        if not os.path.isfile(path):
            continue
        loader = importlib.machinery.ExtensionFileLoader(_NAME, path)
        spec = importlib.util.spec_from_file_location(_NAME, path, loader=loader)
        try:
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except ImportError:  # such as a free-threaded Python, which has no stable ABI
            continue
        return module
    return _fast_fallback


_module: Any = _load()

#: Whether the functions are those of the extension.
NATIVE = _module is not _fast_fallback


def exchange_api(tensor_type: type, fastest: str = "memory", /) -> int:
    """A number that stands for the way to read tensors of a type, for the other functions; valid in this process.

    It is 0 if the type has no ``__dlpack_c_exchange_api__`` of version 1 with the function that describes a tensor, and
    always in the fallback. With 0, the other functions read attributes as torch's tensors have them.

    Args:
        tensor_type: the type.
        fastest: the fastest way to use, one of the results of `reader`.

    Raises:
        ValueError: `fastest` is none of them.
    """
    return int(_module.exchange_api(tensor_type, fastest))


def reader(api: int, /) -> str:
    """The way in which a result of `exchange_api` reads tensors.

    Returns:
        ``"memory"``: from the memory of torch's tensors, 6 ns each; ``"torch"``: by torch's C functions, 20 ns;
        ``"dlpack"``: by the C exchange API of DLPack, 60 ns; ``"attributes"``: by attributes, a microsecond. Tensors
        that one way cannot read, such as tensors of subclasses, are read in the next slower one.
    """
    return str(_module.reader(api))


def layouts(tensors: Sequence[Any], api: int, /) -> bytes:
    """The layouts of tensors: device, element type, shape and strides, for `addresses` and `gradients`.

    The stride of a dimension with one element does not count; neither do the strides of a tensor without elements. For
    None the layout is one that no tensor has.

    Args:
        tensors: a list or tuple of tensors and None.
        api: the result of `exchange_api` for their type.

    Raises:
        TypeError: `tensors` is no list or tuple.
        BufferError: the elements of a tensor are not those in memory: it has none, or is a lazy conjugate or negation.
        Exception: that of the library of the tensors, if one has no memory that DLPack describes, such as a sparse one.
    """
    return bytes(_module.layouts(tensors, api))


def addresses(tensors: Sequence[Any], api: int, out: bytearray, expected: bytes | None = None, /) -> int:
    """Writes the address of the first element of each tensor to `out`, as int64.

    The address of None is 0, and None fits every layout. A tensor *misfits* if its layout is not the expected one, or
    if its elements are not those in memory (a sparse tensor, a lazy conjugate); its address is then written as -1.
    Without `expected`, no tensor misfits, and the errors are those of `layouts`.

    Args:
        tensors: a list or tuple of tensors and None.
        api: the result of `exchange_api` for their type.
        out: 8 bytes for each tensor; on entry, the addresses of the last call.
        expected: the result of `layouts` for as many tensors, in the same order.

    Returns:
        The number of addresses that differ from those in `out` on entry; or minus the number of tensors that misfit, if
        there are any.

    Raises:
        TypeError: `tensors` is no list or tuple, `out` is no bytearray, or `expected` is neither bytes nor None.
        ValueError: `out` or `expected` is not as long as `tensors`. Then `out` is unchanged.
    """
    return int(_module.addresses(tensors, api, out, expected))


def gradients(params: Sequence[Any], api: int, out: bytearray, expected: bytes | None = None, /) -> int:
    """As `addresses`, for the attribute ``grad`` of each of `params`.

    With ``expected = layouts(params, api)``, a gradient fits if its elements are in the same order in memory as those of
    its parameter.
    """
    return int(_module.gradients(params, api, out, expected))


def pairs(
    params: Sequence[Any], api: int, out: bytearray, out_of_gradients: bytearray, expected: bytes, /
) -> tuple[int, int]:
    """`addresses` and `gradients` of the same tensors and layouts, in less time than both.

    If it raises an error, `out` may be written.
    """
    moved, changed = _module.pairs(params, api, out, out_of_gradients, expected)
    return int(moved), int(changed)


def count_changes(tensors: Sequence[Any], api: int, /) -> list[Any]:
    """Increments the version counters of tensors of torch, so that autograd notices that they have changed in place.

    Args:
        tensors: a list or tuple of tensors and None.
        api: the result of `exchange_api` for their type.

    Returns:
        The tensors whose counters were not incremented, for torch's function: tensors of subclasses, tensors without a
        counter, and all tensors of a torch whose counters were not found.

    Raises:
        TypeError: `tensors` is no list or tuple.
    """
    left: list[Any] = _module.count_changes(tensors, api)
    return left


def count_gradient_changes(params: Sequence[Any], api: int, /) -> list[Any]:
    """As `count_changes`, for the attribute ``grad`` of each of `params`."""
    left: list[Any] = _module.count_gradient_changes(params, api)
    return left


def same(left: Sequence[Any], right: Sequence[Any], /) -> bool:
    """Whether two lists or tuples have the same objects in the same order.

    Raises:
        TypeError: an argument is no list or tuple.
    """
    return bool(_module.same(left, right))


def stream(api: int, device: int, /) -> int:
    """The stream of CUDA on which the library of the tensors works now, on GPU `device`; 0 is the default stream.

    Raises:
        ValueError: `api` is 0.
    """
    return int(_module.stream(api, device))


def collections() -> int:
    """A count that changes when Python collects garbage. A collection runs functions of any object."""
    return int(_module.collections())


def launch(function: int, graph: int, stream: int, expected: int, /) -> int | None:
    """Replays a graph, unless Python has collected garbage since its addresses were read.

    Args:
        function: the address of ``heddle_replay``.
        graph, stream: the handles, for that function.
        expected: the result of `collections` before the addresses were read.

    Returns:
        The status; None if nothing was launched. With the extension, no function of Python runs between the comparison
        and the launch.
    """
    status: int | None = _module.launch(function, graph, stream, expected)
    return status


gc.callbacks.append(_module.count_collection)

# The functions of the module itself, without a call in between.
_NAMES = (
    "exchange_api", "reader", "layouts", "addresses", "gradients", "pairs", "count_changes",
    "count_gradient_changes", "same", "stream", "collections", "launch",
)  # fmt: skip
globals().update({name: getattr(_module, name) for name in _NAMES})
