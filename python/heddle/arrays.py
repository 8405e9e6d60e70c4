"""Views of arrays of any library, and arrays in the caller's library.

`view` reads the address, element type, shape and strides of an array: a NumPy array, a PyTorch tensor, or any object
with DLPack, ``__cuda_array_interface__``, ``__array_interface__`` or the buffer protocol. `empty_like` makes an array
of the caller's own library. Neither imports a library that the caller has not imported (except NumPy).

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ctypes
import operator
import sys
from typing import NamedTuple

from . import dtypes
from ._dlpack import read_capsule
from ._numpy_storage import is_freed
from ._refusals import REFUSALS
from ._torch_storage import exceeds_storage
from ._values import refusal, short, short_text, whole
from .errors import BadInput, Error, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Device(NamedTuple):
    """Where an array lies."""

    #: ``"cpu"`` or ``"cuda"``.
    kind: str
    #: The ordinal of a GPU; None if the array does not say it.
    ordinal: int | None = None

    def __str__(self) -> str:
        return self.kind if self.ordinal is None else f"{self.kind}:{self.ordinal}"


CPU = Device("cpu")


class ArrayView(NamedTuple):
    """The memory of an array, and its owner. Frozen.

    NumPy converts a view on the CPU without a copy; PyTorch, CuPy, JAX and Numba convert one on a GPU.
    """

    #: The address of the first element; 0 if there are no elements.
    address: int
    #: heddle's name of the element type, such as ``"f32"``.
    dtype: str
    #: Extents, in elements.
    shape: tuple[int, ...]
    #: Strides, in elements; None if the array is dense in the order of C.
    strides: tuple[int, ...] | None
    #: Where the memory is.
    device: Device
    #: Whether the memory must not be written.
    readonly: bool
    #: What keeps the memory alive.
    owner: Any

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def is_dense(self) -> bool:
        """Whether the elements are contiguous, in the order of C."""
        return self.strides is None or self.size <= 1 or _is_dense(self.shape, self.strides)

    @property
    def row_stride(self) -> int:
        """The number of elements from one row to the next, if leading dimensions are collapsed; 0 if dense.

        Raises:
            BadInput: the array has no single row stride, or the elements of a row are not contiguous.
        """
        if self.strides is None or self.is_dense:
            return 0
        shape, strides = self.shape, self.strides
        if shape[-1] > 1 and strides[-1] != 1:
            raise BadInput(
                f"expected rows of contiguous elements, found strides {strides} for shape {shape}: "
                "make the array contiguous, or bind its transpose"
            )
        stride = rows = 0
        for extent, step in zip(reversed(shape[:-1]), reversed(strides[:-1])):
            if extent == 1:
                continue
            if not rows:
                stride, rows = step, extent
            elif step != stride * rows:
                raise BadInput(
                    f"expected one stride for all rows, found strides {strides} for shape {shape}: "
                    "make the array contiguous"
                )
            else:
                rows *= extent
        if rows and stride < shape[-1]:
            raise BadInput(f"expected rows that do not overlap, found strides {strides} for shape {shape}")
        return stride

    def _interface(self) -> dict[str, Any]:
        name = dtypes.NUMPY_NAMES[self.dtype]
        kind = {"f": "f", "b": "b", "i": "i"}[name[0]]
        size = dtypes.SIZES[self.dtype]
        if self.dtype == "bf16":
            raise AttributeError("the array interfaces have no bfloat16")
        strides = None if self.strides is None else tuple(stride * size for stride in self.strides)
        return {
            "version": 3,
            "typestr": f"|{kind}1" if size == 1 else f"<{kind}{size}",
            "data": (self.address, self.readonly),
            "shape": self.shape,
            "strides": strides,
        }

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self.device.kind != "cpu":
            raise AttributeError("the array is in the memory of a GPU")
        return self._interface()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device.kind != "cuda":
            raise AttributeError("the array is in the memory of the host")
        return self._interface()


def _is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent == 0:
            return True
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


# ----------------------------------------------------------------------------------------------------------------------
# Reading arrays
# ----------------------------------------------------------------------------------------------------------------------


def view(array: Any, *, writable: bool = False, stream: int = 0) -> ArrayView:
    """A view of an array of any library. Nothing is copied, except a scalar of NumPy.

    Args:
        array: a NumPy array, a PyTorch tensor (also one that needs a gradient), a JAX or CuPy array, or any object with
            DLPack, ``__cuda_array_interface__``, ``__array_interface__`` or the buffer protocol.
        writable: the array will be written.
        stream: the CUDA stream on which a GPU array will be used, as a handle. DLPack orders earlier work of the other
            library before it. With PyTorch and ``__cuda_array_interface__``, the caller orders the streams.

    Raises:
        BadInput: `array` is none of these, or refuses to describe its memory; it is read-only, or a copy as a scalar of
            NumPy is, although `writable` is set; or its element type, device or layout is not supported.
    """
    try:
        if isinstance(array, ArrayView):
            result = array
        else:
            result = _read(array, stream)
            if not result.address and result.size:
                raise BadInput(f"expected memory for all elements, found none of {result.size}")
            if result.address % dtypes.SIZES[result.dtype]:
                raise BadInput(f"expected aligned elements, found address {result.address:#x} for {result.dtype}")
    except Error:
        raise
    except REFUSALS as error:  # any library's array may refuse
        raise BadInput(
            f"expected an array whose memory can be read, found {type(array).__name__}, which raises {refusal(error)}"
        ) from error
    if writable and result.readonly:
        if _is_numpy_scalar(array):
            raise BadInput(
                f"expected an array that can be written, found a scalar of NumPy ({type(array).__name__}), which has no "
                "memory of its own: use an array, numpy.array(scalar)"
            )
        raise BadInput("expected an array that can be written, found a read-only one")
    return result


def _is_numpy_scalar(array: Any) -> bool:
    loaded = sys.modules.get("numpy")
    return loaded is not None and isinstance(array, loaded.generic)


def _read(array: Any, stream: int) -> ArrayView:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _read_torch(torch, array)
    loaded = sys.modules.get("numpy")
    if loaded is not None and isinstance(array, loaded.ndarray):
        return _read_numpy(array, array)
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(array, jax.Array):
        tracer = getattr(getattr(jax, "core", None), "Tracer", None)
        if tracer is not None and isinstance(array, tracer):
            raise BadInput(
                "expected an array with values, found a tracer of JAX: heddle does not support jax.jit, jax.grad and "
                "jax.vmap; call it with concrete arrays, outside of functions that JAX transforms"
            )
        return _read_jax(array)
    if hasattr(array, "__cuda_array_interface__"):
        return _read_cuda_interface(array)
    if hasattr(array, "__dlpack__"):
        return _read_dlpack(array, stream)
    if not hasattr(array, "__array_interface__"):
        try:
            memoryview(array)
        except TypeError as error:
            raise BadInput(
                "expected an array (NumPy, PyTorch, CuPy, JAX, or an object with DLPack, __cuda_array_interface__ or "
                f"the buffer protocol), found {type(array).__name__}"
            ) from error
    import numpy

    found = numpy.asarray(array)
    # A view of a buffer keeps the buffer exported, so that its owner can neither free nor move the memory.
    seen = _read_numpy(found, array if isinstance(array, numpy.ndarray) else found)
    return seen._replace(readonly=True) if _may_be_copy(found) else seen


def _may_be_copy(found: Any) -> bool:
    """Whether the memory is NumPy's own, as that of a copy of a scalar is: what is written there, the caller never sees."""
    while isinstance(found.base, type(found)):
        found = found.base
    return bool(found.flags.owndata)


def _read_torch(torch: Any, array: Any) -> ArrayView:
    if array.layout is not torch.strided:
        raise BadInput(f"expected a dense tensor, found layout {array.layout}: call to_dense()")
    if array.is_conj() or array.is_neg():
        raise BadInput("expected a plain tensor, found a lazy conjugate or negation: call resolve_conj().resolve_neg()")
    place = array.device
    if place.type == "cpu":
        device = CPU
    elif place.type == "cuda":
        device = Device("cuda", place.index)
    else:
        raise BadInput(f"expected a tensor in the memory of the CPU or of a CUDA GPU, found device {place}")
    try:
        address = array.data_ptr()
        exceeds = exceeds_storage(array)
    except RuntimeError as error:
        raise BadInput(f"expected a tensor with memory of its own, found {type(array).__name__}: {error}") from error
    if exceeds:
        raise BadInput(
            f"expected memory for all elements, found a storage of {array.untyped_storage().nbytes()} bytes, which is "
            "too small, as after untyped_storage().resize_()"
        )
    return ArrayView(
        address, dtypes.dtype_name(array.dtype), tuple(array.shape), tuple(array.stride()), device, False, array
    )


def _read_numpy(array: Any, owner: Any) -> ArrayView:
    masked = sys.modules.get("numpy.ma")
    if masked is not None and masked.is_masked(owner):
        raise BadInput("expected an array with all elements, found masked ones: call filled(value)")
    name = dtypes.dtype_name(array.dtype)
    if is_freed(array):
        raise BadInput("expected memory for all elements, found a view of an array that was resized: make another view")
    strides = None
    if not array.flags.c_contiguous:
        size = array.itemsize
        if any(stride % size for stride in array.strides) or not array.flags.aligned:
            raise BadInput(f"expected aligned elements, found strides of {array.strides} bytes for {array.dtype}")
        strides = tuple(stride // size for stride in array.strides)
    elif not array.flags.aligned:
        raise BadInput(f"expected aligned elements, found address {array.ctypes.data:#x} for {array.dtype}")
    address = array.ctypes.data if array.size else 0
    return ArrayView(address, name, array.shape, strides, CPU, not array.flags.writeable, owner)


def _read_jax(array: Any) -> ArrayView:
    devices = list(array.devices())
    if len(devices) != 1:
        raise BadInput(f"expected an array on one device, found one on {len(devices)}")
    device = CPU if devices[0].platform == "cpu" else Device("cuda", getattr(devices[0], "local_hardware_id", 0))
    array.block_until_ready()
    name = dtypes.dtype_name(array.dtype)
    return ArrayView(array.unsafe_buffer_pointer(), name, tuple(array.shape), None, device, True, array)


def _read_cuda_interface(array: Any) -> ArrayView:
    interface = array.__cuda_array_interface__
    address, readonly = interface["data"]
    text = interface["typestr"]
    if text[0] == ">" or len(text) != 3:
        raise BadInput(f"dtype: expected one of {', '.join(dtypes.NAMES)}, found '{short_text(text)}'")
    name = dtypes.dtype_name(_numpy_name(text))
    shape, strides = tuple(map(operator.index, interface["shape"])), interface.get("strides")
    if strides is not None:
        size, apart = dtypes.SIZES[name], tuple(map(operator.index, strides))
        if len(apart) != len(shape) or any(stride % size for stride in apart):
            raise BadInput(f"expected a stride of whole elements for each axis, found strides of {apart} bytes for {name}")
        strides = tuple(stride // size for stride in apart)
    ordinal = None
    if hasattr(array, "__dlpack_device__"):
        ordinal = int(array.__dlpack_device__()[1])
    device = Device("cuda", ordinal)
    return ArrayView(int(address or 0), name, shape, strides, device, bool(readonly), array)


def _numpy_name(typestr: str) -> str:
    kinds = {"f": "float", "i": "int", "b": "bool", "u": "uint", "c": "complex", "V": "void"}
    kind = kinds.get(typestr[1], typestr[1])
    return kind if kind == "bool" else f"{kind}{8 * int(typestr[2:])}"


def _read_dlpack(array: Any, stream: int) -> ArrayView:
    kind, ordinal = array.__dlpack_device__()
    if kind in (1, 3):  # the host's memory, or pinned memory of the host
        device, arguments = CPU, {}
    elif kind in (2, 13):  # memory of a GPU, or managed memory
        # 1 is the default stream, in the numbering of DLPack.
        device, arguments = Device("cuda", int(ordinal)), {"stream": stream or 1}
    else:
        raise BadInput(f"expected memory of the CPU or of a CUDA GPU, found DLPack's device type {int(kind)}")
    try:
        capsule = array.__dlpack__(max_version=(1, 0), **arguments)
    except TypeError:  # an exporter older than DLPack 1.0
        capsule = array.__dlpack__(**arguments)
    except (BufferError, RuntimeError) as error:
        raise BadInput(f"expected an array that DLPack can export, found {type(array).__name__}: {error}") from error
    address, name, shape, strides, readonly, taken = read_capsule(capsule)
    return ArrayView(address, name, shape, strides, device, readonly, (array, taken))


# ----------------------------------------------------------------------------------------------------------------------
# Making arrays
# ----------------------------------------------------------------------------------------------------------------------


def library_of(array: Any) -> str:
    """The library whose arrays a caller of `array` expects: numpy, torch, cupy or jax.

    An array of any other library counts as numpy if it is on the CPU, else as cupy or torch, whichever is imported.

    Raises:
        BadInput: `array` is no array.
        Unavailable: the array is on a GPU, and neither CuPy nor PyTorch is imported.
    """
    for name in ("torch", "numpy", "cupy", "jax"):
        module = sys.modules.get(name)
        kind = getattr(module, {"torch": "Tensor", "jax": "Array"}.get(name, "ndarray"), None)
        if kind is not None and isinstance(array, kind):
            return name
    if view(array).device.kind == "cpu":
        return "numpy"
    for name in ("cupy", "torch"):
        if name in sys.modules:
            return name
    raise Unavailable(f"no library for an array on a GPU of type {type(array).__name__}: import cupy or torch first")


def empty_like(array: Any, shape: Sequence[int] | None = None, dtype: str | None = None) -> Any:
    """An uninitialized array of the library of `array`, dense, on its device.

    Args:
        array: an array of any library.
        shape: extents in elements; None: those of `array`.
        dtype: heddle's name of the element type; None: that of `array`.

    Returns:
        A NumPy, PyTorch, CuPy or JAX array. `fresh_view` gives its memory; JAX allows writes only before it has used
        the array.

    Raises:
        Unavailable: bf16 in NumPy without ml_dtypes; or see `library_of`.
    """
    source = view(array)
    name = source.dtype if dtype is None else dtypes.dtype_name(dtype)
    extents = source.shape if shape is None else _extents(shape, dtypes.SIZES[name])
    library = library_of(array)
    if library == "torch":
        torch = sys.modules["torch"]
        device = array.device if isinstance(array, torch.Tensor) else str(source.device)
        return torch.empty(extents, dtype=getattr(torch, dtypes.NUMPY_NAMES[name]), device=device)
    if library == "cupy":
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(source.device.ordinal):
            return cupy.empty(extents, dtype=dtypes.numpy_dtype(name))
    if library == "jax":
        jax = sys.modules["jax"]
        made = jax.device_put(jax.numpy.empty(extents, dtypes.NUMPY_NAMES[name]), list(array.devices())[0])
        if str(made.dtype) != dtypes.NUMPY_NAMES[name]:
            raise BadInput(f"dtype: JAX makes {made.dtype} of {name}; set the option jax_enable_x64")
        return made
    import numpy

    return numpy.empty(extents, dtypes.numpy_dtype(name))


def _extents(shape: Any, element_bytes: int) -> tuple[int, ...]:
    """The extents of a new array.

    Raises:
        BadInput: they are no integers of at least 0, too many, or too large.
    """
    try:
        extents = tuple(map(operator.index, shape))
    except REFUSALS:  # any library's object may refuse
        extents = (-1,)
    if any(extent < 0 for extent in extents) or len(extents) > 64:
        raise BadInput(f"shape: expected at most 64 integers of at least 0, found {short(shape)}")
    size = element_bytes
    for extent in extents:
        size *= max(extent, 1)
    if size >> 63:
        raise BadInput(f"shape: expected an array of less than 2^63 bytes, found {short(shape)}")
    return extents


def fresh_view(array: Any) -> ArrayView:
    """A view for writing of an array that `empty_like` has just made (JAX calls its arrays read-only)."""
    return view(array)._replace(readonly=False)


def to_library(source: ArrayView, library: str) -> Any:
    """An array of a library over the memory of a view. Nothing is copied.

    Args:
        source: a view, whose owner the new array keeps alive.
        library: numpy, torch, cupy or jax, which must be imported.

    Raises:
        BadInput: NumPy for an array on a GPU, or the view has no memory, as that of an inactive member of a result.
        Unavailable: bf16 in NumPy without ml_dtypes, or the library is not imported.
    """
    if not isinstance(library, str):
        raise BadInput(f"library: expected numpy, torch, cupy or jax, found {short(library)}")
    source = view(source)
    if not source.address and source.size:
        raise BadInput(f"expected memory for all elements, found none of {source.size}, as in an inactive member")
    if library == "numpy":
        return _to_numpy(source)
    module = sys.modules.get(library) if library in ("torch", "cupy", "jax") else None
    if module is None:
        raise Unavailable(f"the library '{short_text(library)}' is not imported")
    # The array interfaces have no bfloat16: 16-bit integers carry its bits.
    plain = source._replace(dtype="i16") if source.dtype == "bf16" else source
    if library == "torch":
        if source.device.kind == "cpu":
            made = module.from_numpy(_to_numpy(plain))
        else:
            made = module.as_tensor(_Memory(plain), device=str(source.device))
        return made.view(module.bfloat16) if source.dtype == "bf16" else made
    made = module.asarray(_Memory(plain)) if library == "cupy" else module.numpy.asarray(_Memory(plain))
    return made.view(dtypes.numpy_dtype("bf16")) if source.dtype == "bf16" else made


class _Memory:
    """The buffer of a view, for libraries that take a view itself for a tuple."""

    def __init__(self, source: ArrayView) -> None:
        self.owner = source.owner
        name = "__array_interface__" if source.device.kind == "cpu" else "__cuda_array_interface__"
        setattr(self, name, source._interface())


def _to_numpy(source: ArrayView) -> Any:
    import numpy

    if source.device.kind != "cpu":
        raise BadInput(f"expected memory of the CPU for NumPy, found {source.device}")
    if source.size == 0:
        return numpy.empty(source.shape, dtypes.numpy_dtype(source.dtype))
    if source.dtype == "bf16":
        return numpy.asarray(_Memory(source._replace(dtype="i16"))).view(dtypes.numpy_dtype("bf16"))
    return numpy.asarray(_Memory(source))


# ----------------------------------------------------------------------------------------------------------------------
# Streams
# ----------------------------------------------------------------------------------------------------------------------


def stream_handle(stream: Any) -> int:
    """The handle of a CUDA stream: an integer, None (the default stream), or a stream object of PyTorch
    (``cuda_stream``), CuPy (``ptr``), or any library with ``__cuda_stream__``.

    Raises:
        BadInput: `stream` is none of these.
    """
    if stream is None:
        return 0
    handle = whole(stream)
    refused, cause = "", None
    if handle is None:
        try:
            handle = _handle_in(stream)
        except REFUSALS as error:  # any library's stream may refuse
            refused, cause = f", which raises {refusal(error)}", error
    if handle is None:
        raise BadInput(f"stream: expected a CUDA stream or its handle, found {type(stream).__name__}{refused}") from cause
    if handle >> 64:
        raise BadInput(f"stream: expected a handle from 0 to 2^64 - 1, found {short(handle)}")
    return handle


def _handle_in(stream: Any) -> int | None:
    """The handle in a stream object; None if the object is of another kind."""
    if isinstance(stream, ctypes.c_void_p):
        return stream.value or 0
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        _, handle = protocol() if callable(protocol) else protocol
        return int(handle)
    for name in ("cuda_stream", "ptr"):
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    return None
