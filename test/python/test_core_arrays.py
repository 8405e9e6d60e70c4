"""Views of arrays of any library. The libraries that are not installed have stand-ins with the same protocols."""

import array
import ctypes
import gc
import sys
import types
import weakref

import numpy
import pytest

import heddle
from heddle import _dlpack, arrays, dtypes


def test_numpy():
    values = numpy.arange(12, dtype="f4").reshape(3, 4)
    seen = arrays.view(values)
    assert seen == arrays.ArrayView(values.ctypes.data, "f32", (3, 4), None, arrays.CPU, False, values)
    assert seen.is_dense and seen.size == 12 and seen.row_stride == 0
    part = arrays.view(values[:, 1:3])
    assert part.address == values.ctypes.data + 4 and part.strides == (4, 1) and part.row_stride == 4
    assert not part.is_dense and not arrays.view(values.T).is_dense
    assert arrays.view(values[:0]).address == 0
    assert arrays.view(numpy.float64(3.0)).shape == () and arrays.view(numpy.array(3)).dtype == "i64"
    assert arrays.view(seen) is seen
    with pytest.raises(AttributeError):
        seen.address = 0


@pytest.mark.parametrize("name", dtypes.NAMES)
def test_dtypes(name):
    if name == "bf16":
        pytest.importorskip("ml_dtypes")
    kind = dtypes.numpy_dtype(name)
    assert kind.itemsize == dtypes.SIZES[name]
    assert dtypes.dtype_name(kind) == dtypes.dtype_name(kind.type) == dtypes.dtype_name(kind.name) == name
    assert arrays.view(numpy.ones(3, kind)).dtype == name


@pytest.mark.parametrize("bad", ["float128", "c8", "u4", ">f4", "S3", numpy.uint8, object, 7, None, [], "torch.f4", "", " "])
def test_dtypes_that_do_not_exist(bad):
    with pytest.raises(heddle.BadInput, match="dtype: expected one of f64, f32.*, found .") as caught:
        dtypes.dtype_name(bad)
    if isinstance(bad, str):
        assert str(caught.value).endswith(f", found {bad!r}")


def test_masked_arrays():
    """The elements under a mask are no data."""
    data = numpy.array([1.0, 2.0], numpy.float32)
    with pytest.raises(heddle.BadInput, match="found masked ones: call filled"):
        arrays.view(numpy.ma.masked_array(data, [True, False]))
    assert arrays.view(numpy.ma.masked_array(data)).address == data.ctypes.data


def test_read_only_arrays():
    values = numpy.ones(3)
    values.setflags(write=False)
    assert arrays.view(values).readonly
    for readonly in (values, bytes(8), memoryview(bytes(8)).cast("d"), numpy.broadcast_to(numpy.ones(1), (3,))):
        if isinstance(readonly, bytes):
            continue
        with pytest.raises(heddle.BadInput, match="expected an array that can be written, found a read-only one"):
            arrays.view(readonly, writable=True)


def test_scalars_of_numpy():
    """A scalar can be read, but what is written to NumPy's copy of it is lost."""
    for scalar in (numpy.float32(1), numpy.float64(2), numpy.int64(3), numpy.bool_(True)):
        assert arrays.view(scalar).readonly
        kind = type(scalar).__name__
        with pytest.raises(heddle.BadInput, match=rf"found a scalar of NumPy \({kind}\), which has no memory of its own"):
            arrays.view(scalar, writable=True)
    assert not arrays.view(numpy.array(1.0)).readonly


def test_copies_cannot_be_written():
    """DLPack marks memory that is read-only (1), and memory that it has copied (2)."""

    class Exporter:
        def __init__(self, flags):
            self.flags, self.values = flags, numpy.ones(3)

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **arguments):
            capsule = self.values.__dlpack__(max_version=(1, 0))
            pointer = _dlpack._get_pointer(capsule, b"dltensor_versioned")
            _dlpack._Versioned.from_address(pointer).flags = self.flags
            return capsule

    assert [arrays.view(Exporter(flags)).readonly for flags in (0, 1, 2, 4)] == [False, True, True, False]


def test_buffers():
    values = array.array("d", [1, 2, 3])
    seen = arrays.view(values, writable=True)
    assert (seen.address, seen.dtype, seen.shape) == (values.buffer_info()[0], "f64", (3,))
    # The view keeps the buffer exported: its memory can neither move nor go.
    with pytest.raises(BufferError):
        values.extend([4] * 1000)
    del seen
    gc.collect()
    values.extend([4])
    raw = (ctypes.c_float * 4)()
    assert arrays.view(raw).address == ctypes.addressof(raw) and arrays.view(raw).dtype == "f32"


class WithInterface:
    def __init__(self, values, name="__array_interface__", **changes):
        self.values = values
        setattr(self, name, {**values.__array_interface__, **changes})


def test_array_interface():
    values = numpy.ones((2, 3), "i4")
    seen = arrays.view(WithInterface(values))
    assert (seen.address, seen.dtype, seen.shape) == (values.ctypes.data, "i32", (2, 3))


def test_cuda_array_interface():
    values = numpy.ones((2, 3), "f4")
    seen = arrays.view(WithInterface(values, "__cuda_array_interface__"))
    assert (seen.address, seen.dtype, seen.device) == (values.ctypes.data, "f32", arrays.Device("cuda"))
    seen = arrays.view(WithInterface(values, "__cuda_array_interface__", strides=(24, 4), shape=(1, 3)))
    assert seen.strides == (6, 1) and str(seen.device) == "cuda"
    assert seen.__cuda_array_interface__["strides"] == (24, 4)
    for name in (">f4", "<c8", "<u4", "|V2", "<f16"):
        with pytest.raises(heddle.BadInput, match="dtype"):
            arrays.view(WithInterface(values, "__cuda_array_interface__", typestr=name))
    with pytest.raises(heddle.BadInput, match="read-only"):
        arrays.view(WithInterface(values, "__cuda_array_interface__", data=(8, True)), writable=True)
    other = WithInterface(values, "__cuda_array_interface__")
    other.__dlpack_device__ = lambda: (2, 3)
    assert arrays.view(other).device == arrays.Device("cuda", 3)


class WithDLPack:
    """An array with nothing but DLPack, of version 1.0 or older."""

    def __init__(self, values, old=False, device=(1, 0)):
        self.values, self.old, self.device = values, old, device
        self.calls = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **arguments):
        self.calls.append(dict(arguments))
        if self.old and "max_version" in arguments:
            raise TypeError("unexpected argument")
        arguments.pop("stream", None)
        return self.values.__dlpack__(**arguments)


@pytest.mark.parametrize("old", [False, True])
def test_dlpack(old):
    values = numpy.arange(12, dtype="f8").reshape(3, 4)
    for part in (values, values[1:, :2], values[0, 0], numpy.ones(3, "i1"), numpy.ones((2, 0), "f2"),
                 numpy.array([True])):
        part = numpy.asarray(part)
        seen = arrays.view(WithDLPack(part, old), writable=True)
        assert (seen.dtype, seen.shape) == (dtypes.dtype_name(part.dtype), part.shape)
        if part.size:
            assert seen.address == part.ctypes.data
        expected = arrays.view(part)
        assert seen.is_dense == expected.is_dense and (seen.is_dense or seen.strides == expected.strides)


def test_dlpack_keeps_the_memory():
    values = numpy.ones(1000)
    alive = weakref.ref(values)
    seen = arrays.view(WithDLPack(values))
    del values
    gc.collect()
    assert alive() is not None
    del seen
    gc.collect()
    assert alive() is None


def test_dlpack_of_gpus_orders_the_stream():
    exporter = WithDLPack(numpy.ones(3), device=(2, 1))
    assert arrays.view(exporter).device == arrays.Device("cuda", 1)
    arrays.view(exporter, stream=77)
    assert [call["stream"] for call in exporter.calls] == [1, 77]
    with pytest.raises(heddle.BadInput, match="found DLPack's device type 10"):
        arrays.view(WithDLPack(numpy.ones(3), device=(10, 0)))


def test_dlpack_that_cannot_be_read():
    readonly = numpy.ones(3)
    readonly.setflags(write=False)
    assert arrays.view(WithDLPack(readonly)).readonly
    with pytest.raises(heddle.BadInput, match="expected an array that DLPack can export"):
        arrays.view(WithDLPack(numpy.ones(3, ">f8")))
    with pytest.raises(heddle.BadInput, match="dtype: expected one of .*, found uint8"):
        arrays.view(WithDLPack(numpy.ones(3, "u1")))
    with pytest.raises(heddle.BadInput, match="found complex64"):
        arrays.view(WithDLPack(numpy.ones(3, "c8")))
    broken = WithDLPack(numpy.ones(3))
    broken.__class__ = type("Broken", (WithDLPack,), {"__dlpack__": lambda self, **arguments: object()})
    with pytest.raises(heddle.BadInput, match="expected an unused capsule of DLPack"):
        arrays.view(broken)


class Stored:
    """An object that returns one capsule again and again."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **arguments):
        return self.capsule


@pytest.mark.parametrize("version", ({}, {"max_version": (1, 0)}), ids=("unversioned", "versioned"))
def test_a_capsule_is_taken_once(version):
    """Otherwise two would free the memory. It lives as long as its view."""
    values = numpy.arange(3.0)
    address, uses = values.__array_interface__["data"][0], sys.getrefcount(values)
    stored = Stored(values.__dlpack__(**version))
    seen = arrays.view(stored)
    assert "used_dltensor" in repr(stored.capsule)
    with pytest.raises(heddle.BadInput, match="expected an unused capsule of DLPack"):
        arrays.view(stored)
    del stored
    assert seen.address == address and sys.getrefcount(values) == uses + 1
    del seen
    assert sys.getrefcount(values) == uses
    # A tensor that cannot be read stays in its capsule, which frees it.
    integers = numpy.arange(3, dtype="u1")
    stored = Stored(integers.__dlpack__(**version))
    with pytest.raises(heddle.BadInput, match="found uint8"):
        arrays.view(stored)
    assert "used" not in repr(stored.capsule)
    del stored
    assert sys.getrefcount(integers) == uses


@pytest.mark.parametrize("rank", (-1, 65, 1 << 30, 1))
def test_dlpack_with_a_wrong_rank(rank):
    values = numpy.ones(3)
    capsule = values.__dlpack__()
    tensor = _dlpack._Tensor.from_address(_dlpack._get_pointer(capsule, b"dltensor"))
    shape, tensor.ndim = tensor.shape, rank
    if rank == 1:
        tensor.shape = type(tensor.shape)()
    found = "1 with no extents" if rank == 1 else f"{rank} with extents"
    with pytest.raises(heddle.BadInput, match=f"with 0 to 64 extents, found rank {found}$"):
        arrays.view(Stored(capsule))
    tensor.shape, tensor.ndim = shape, 1


@pytest.mark.parametrize("bad", [None, 3.0, [1.0], (1,), "text", {}, object()])
def test_objects_that_are_no_arrays(bad):
    with pytest.raises(heddle.BadInput, match=f"expected an array .*found {type(bad).__name__}"):
        arrays.view(bad)


def test_row_strides():
    cube = numpy.ones((4, 5, 6))
    for part, stride in [(cube, 0), (cube[:, :, :3], 6), (cube[0, :, :3], 6), (cube[:1, :, :3], 6), (cube[:, :1, :3], 30),
                         (cube[:1, :1, :3], 0), (cube[:, :, :1], 6), (cube[0, 0, :], 0), (cube[::2, :1, :], 60),
                         (cube[1:3, 4:, 2:], 30)]:
        assert arrays.view(part).row_stride == stride, part.shape
    for part in (cube[:, :, ::2], cube[:, :2, :3], cube.T, cube[0, 0, ::2], cube[:, ::-1, :3][0]):
        with pytest.raises(heddle.BadInput):
            arrays.view(part).row_stride


def test_empty_like(monkeypatch):
    values = numpy.ones((2, 3), "f4")
    made = arrays.empty_like(values)
    assert made.shape == (2, 3) and made.dtype == "f4" and made is not values
    made = arrays.empty_like(values, (4,), "i1")
    assert made.shape == (4,) and made.dtype == bool
    assert arrays.fresh_view(made).address == made.ctypes.data
    assert isinstance(arrays.empty_like(array.array("d", [1, 2])), numpy.ndarray)
    assert arrays.library_of(WithDLPack(values)) == arrays.library_of(values) == "numpy"
    for name in ("torch", "cupy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(heddle.Unavailable, match="import cupy or torch first"):
        arrays.library_of(WithInterface(values, "__cuda_array_interface__"))
    with pytest.raises(heddle.BadInput):
        arrays.library_of([1.0])


def test_to_library():
    values = numpy.arange(6, dtype="f4").reshape(2, 3)
    for part in (values, values[:, 1:], values[:, :0], values.T):
        made = arrays.to_library(arrays.view(part), "numpy")
        assert (made == part).all() and made.shape == part.shape
    made = arrays.to_library(arrays.view(values), "numpy")
    made[0, 0] = 7
    assert values[0, 0] == 7
    seen = arrays.view(numpy.ones(1000))
    assert (arrays.to_library(seen, "numpy") == 1).all()
    with pytest.raises(heddle.Unavailable, match="'nowhere' is not imported"):
        arrays.to_library(seen, "nowhere")
    with pytest.raises(heddle.BadInput, match="expected memory of the CPU for NumPy, found cuda:0"):
        arrays.to_library(seen._replace(device=arrays.Device("cuda", 0)), "numpy")
    with pytest.raises(AttributeError):
        seen.__cuda_array_interface__


class StandInLibrary(types.ModuleType):
    """A library of arrays "on a GPU": NumPy arrays over the memory that __cuda_array_interface__ names."""

    class ndarray:
        def __init__(self, values):
            self.values = values
            self.__cuda_array_interface__ = values.__array_interface__

        def __dlpack_device__(self):
            return (2, 1)

    def asarray(self, source):
        interface = WithInterface(numpy.empty(0), **source.__cuda_array_interface__)
        interface.owner = source
        return self.ndarray(numpy.asarray(interface))

    def empty(self, shape, dtype):
        return self.ndarray(numpy.empty(shape, dtype))


def test_arrays_on_gpus(monkeypatch):
    """The caller gets arrays of its own library back. The library is a stand-in for CuPy over host memory."""
    library = StandInLibrary("cupy")
    chosen = []
    library.cuda = types.SimpleNamespace(
        Device=lambda ordinal: chosen.append(ordinal) or __import__("contextlib").nullcontext())
    monkeypatch.setitem(sys.modules, "cupy", library)
    values = numpy.arange(6, dtype="f4").reshape(2, 3)
    array = library.ndarray(values)
    seen = arrays.view(array, writable=True)
    assert (seen.address, seen.device) == (values.ctypes.data, arrays.Device("cuda", 1))
    assert arrays.library_of(array) == "cupy"
    back = arrays.to_library(seen, "cupy")
    assert isinstance(back, library.ndarray) and (back.values == values).all()
    assert back.values.ctypes.data == values.ctypes.data
    made = arrays.empty_like(array, (4,), "i32")
    assert isinstance(made, library.ndarray) and made.values.dtype == "i4" and made.values.shape == (4,)
    assert chosen == [1]


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = numpy.array([1, 2.5, -3], ml_dtypes.bfloat16)
    seen = arrays.view(values)
    assert seen.dtype == "bf16" and (arrays.to_library(seen, "numpy") == values).all()
    graph = heddle.compile("sgd:dtype=bf16,lr=0.5", target="cpu").graph()
    graph.bind_list("param", [values])
    graph.bind_list("grad", [numpy.ones(3, ml_dtypes.bfloat16)])
    graph.replay()
    assert values.astype("f4").tolist() == [0.5, 2, -3.5]


def test_bfloat16_without_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(heddle.Unavailable, match="pip install ml_dtypes"):
        dtypes.numpy_dtype("bf16")


def test_streams():
    assert [arrays.stream_handle(stream) for stream in (None, 0, 77, ctypes.c_void_p(5), ctypes.c_void_p())] == [
        0, 0, 77, 5, 0]
    assert arrays.stream_handle(types.SimpleNamespace(cuda_stream=3)) == 3
    assert arrays.stream_handle(types.SimpleNamespace(ptr=4)) == 4
    assert arrays.stream_handle(types.SimpleNamespace(__cuda_stream__=lambda: (0, 6))) == 6
    with pytest.raises(heddle.BadInput, match="stream: expected a CUDA stream or its handle, found str"):
        arrays.stream_handle("fast")


@pytest.mark.parametrize("view", [
    lambda base: base[-2:], lambda base: base[-3::-1], lambda base: base.reshape(-1, 2)[-1:], lambda base: base[-1:][0, ...],
    lambda base: base.view("i4"), lambda base: base[-2:].view(numpy.matrix),
])
def test_views_of_arrays_that_were_resized(view):
    """NumPy has freed their memory."""
    base = numpy.zeros(1000)
    seen = view(base)
    assert arrays.view(seen).size == seen.size
    base.resize(1, refcheck=False)
    with pytest.raises(heddle.BadInput, match="^expected memory for all elements, found a view of an array that was resized"):
        arrays.view(seen)
    graph = heddle.compile("sgd", target="cpu").graph()
    with pytest.raises(heddle.BadInput, match="^argument 'lr': expected a number, found an array of shape .* without memory"):
        graph.set_scalar("lr", seen)


@pytest.mark.parametrize("view", [
    lambda base: base[::-1], lambda base: base.T, lambda base: numpy.broadcast_to(base, (2, 6)), lambda base: base[6:],
    lambda base: numpy.lib.stride_tricks.sliding_window_view(base, 3), lambda base: base.view("i4"),
    lambda base: numpy.diagonal(base.reshape(2, 3)), lambda base: numpy.ndarray((2,), "f8", base, 16),
])
def test_views_of_arrays_that_are_there(view):
    base = numpy.arange(6.0)
    from heddle import _numpy_storage

    for owner in (base, numpy.frombuffer(bytearray(base.tobytes()))):
        assert not _numpy_storage.is_freed(view(owner))
