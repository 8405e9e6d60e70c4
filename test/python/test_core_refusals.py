"""Objects of the caller that raise exceptions of their own: every call of heddle answers with one of its exceptions."""

import gc
import weakref

import numpy
import pytest

import heddle
import heddle.ot
from heddle import arrays, dtypes


class Refusal(NotImplementedError):
    """What the objects below raise."""


def refuse(*arguments, **keywords):
    raise Refusal("not today")


def refusing(*names):
    """An object whose special methods of these names raise an exception."""
    return type("Refusing", (), dict.fromkeys(names, refuse))()


class Lazy:
    """An object that computes its attributes, such as a proxy of a library that is not loaded."""

    def __getattr__(self, name):
        raise Refusal(name)


SPECIAL = ("__iter__", "__len__", "__getitem__", "__float__", "__index__", "__int__", "__bool__", "__complex__",
           "__repr__", "__str__", "__array__", "__dlpack__", "__dlpack_device__", "__fspath__", "__cuda_stream__",
           "__call__", "__contains__", "__eq__", "__hash__", "__ne__", "__lt__", "__format__")
REFUSING = [Lazy(), refusing(*SPECIAL), *(refusing(name, "__repr__") for name in SPECIAL),
            refusing("__dlpack__", "__dlpack_device__"), refusing("__iter__", "__len__", "__float__")]


@pytest.fixture(scope="module")
def sgd():
    return heddle.compile("sgd:momentum=0.9", target="cpu")


@pytest.fixture(scope="module")
def rule():
    @heddle.rule
    def descend(p, g, *, lr=0.1, nesterov=False):
        return p - lr * g

    return descend


def calls(sgd, rule):
    """Every argument of every function, by the words with which its message begins."""
    graph, memory = sgd.graph(), heddle.Memory(sgd, 64)
    for name in ("param", "grad", "momentum_buffer"):
        graph.bind_list(name, [numpy.ones(3, "f4")])
    graph.prepare()
    binding, array = graph.list_binding("grad", [(3,)]), numpy.ones(3, "f4")
    M, a = numpy.ones((2, 2)), numpy.ones(2) / 2
    solve, sinkhorn = heddle.ot.solve, heddle.ot.sinkhorn
    result = solve(M, a, a, 1.0)
    yield from {
        "program": [heddle.compile, heddle.emit, heddle.explain],
        "target": [lambda bad: heddle.compile("sgd", target=bad)],
        "arch": [lambda bad: heddle.compile("sgd", arch=bad)],
        "plan": [heddle.load_plan],
        "stage": [sgd.emit],
        "shapes": [lambda bad: sgd.explain(shapes=bad), lambda bad: sgd.explain(shapes=[bad]),
                   lambda bad: sgd.explain(shapes=[[bad]])],
        "device": [lambda bad: sgd.graph(device=bad)],
        "argument '": [lambda bad: graph.bind_list(bad, [array]), lambda bad: graph.bind_scalar(bad, array)],
        "argument 'grad'": [lambda bad: graph.bind_list("grad", bad), lambda bad: graph.bind_list("grad", [bad])],
        "argument 'lr'": [lambda bad: graph.bind_scalar("lr", bad), lambda bad: graph.set_scalar("lr", bad)],
        "result 'param'": [lambda bad: graph.bind_result("param", bad), lambda bad: graph.bind_result("param", [bad])],
        "result '": [graph.result, graph.result_views, lambda bad: graph.bind_result(bad, [array])],
        "list '": [lambda bad: graph.list_binding(bad, [(3,)])],
        "'grad'": [lambda bad: graph.list_binding("grad", bad), lambda bad: graph.list_binding("grad", [bad]),
                   lambda bad: graph.list_binding("grad", [(bad,)]), binding.bind, lambda bad: binding.bind([bad]),
                   lambda bad: graph.list_binding("grad", [(3,)], strides=bad), lambda bad: graph.set_inactive("grad", bad),
                   lambda bad: graph.list_binding("grad", [(3,)], strides=[bad])],
        "dtype": [lambda bad: graph.list_binding("grad", [(3,)], dtype=bad), dtypes.dtype_name, dtypes.numpy_dtype,
                  lambda bad: rule.mlir(dtype=bad)],
        "state": [lambda bad: rule.mlir(state=bad)],
        "name": [lambda bad: graph.set_scalar(bad, 1), graph.read_scalar, lambda bad: graph.set_inactive(bad, None)],
        "stream": [graph.replay, graph.prepare, graph.synchronize, lambda bad: graph.set_scalar("lr", 1, bad)],
        "replays": [graph.measure],
        "nbytes": [lambda bad: heddle.Memory(sgd, bad)],
        "offset": [lambda bad: memory.write(array, bad)],
        "array: expected an array": [memory.write, memory.read],
        "expected an array": [arrays.view, arrays.library_of, arrays.empty_like],
        "M": [lambda bad: solve(bad, a, a, 1), lambda bad: solve([bad], reg=1), sinkhorn,
              lambda bad: solve([[bad]], reg=1)],
        "a": [lambda bad: solve(M, bad, a, 1), lambda bad: solve(M, [bad, 1], a, 1), lambda bad: sinkhorn(M, bad, a)],
        "reg": [lambda bad: solve(M, a, a, bad)],
        "reg_type": [lambda bad: solve(M, a, a, 1, reg_type=bad)],
        "unbalanced": [lambda bad: solve(M, a, a, 1, unbalanced=bad)],
        "max_iter": [lambda bad: solve(M, a, a, 1, max_iter=bad)],
        "tol": [lambda bad: solve(M, a, a, 1, tol=bad)],
        "eps": [lambda bad: sinkhorn(M, a, a, eps=bad)],
        "omega": [lambda bad: sinkhorn(M, a, a, omega=bad)],
        "anneal": [lambda bad: sinkhorn(M, a, a, anneal=bad)],
        "eps0": [lambda bad: sinkhorn(M, a, a, eps0=bad)],
        "decay": [lambda bad: sinkhorn(M, a, a, decay=bad)],
        "limit": [lambda bad: sinkhorn(M, a, a, limit=bad)],
        "layout": [lambda bad: sinkhorn(M, a, a, layout=bad)],
        "weights": [lambda bad: sinkhorn(M, a, a, weights=bad)],
        "order": [lambda bad: sinkhorn(M, a, a, order=bad)],
        "compute": [lambda bad: sinkhorn(M, a, a, compute=bad)],
        "normalize": [lambda bad: sinkhorn(M, a, a, normalize=bad)],
        "grad": [lambda bad: sinkhorn(M, a, a, grad=bad)],
        "init": [lambda bad: sinkhorn(M, a, a, init=bad), lambda bad: sinkhorn(M, a, a, init=(bad, a))],
        "outputs": [lambda bad: sinkhorn(M, a, a, outputs=bad), lambda bad: sinkhorn(M, a, a, outputs=[bad])],
        "history": [lambda bad: sinkhorn(M, a, a, history=bad)],
        "points": [result.product, result.projection],
        "descend": [lambda bad: rule.compile(target="cpu", lr=bad), lambda bad: rule.mlir(nesterov=bad)],
    }.items()


def test_every_refusal_names_the_argument(sgd, rule):
    wrong = []
    for words, functions in calls(sgd, rule):
        for index, function in enumerate(functions):
            for bad in REFUSING:
                what = [name for name in type(bad).__dict__ if name in SPECIAL] or type(bad).__name__
                try:
                    function(bad)
                    wrong.append((words, index, what[:3], "no error"))
                except (heddle.Error, TypeError) as error:
                    if not str(error).startswith(words):
                        wrong.append((words, index, what[:3], type(error).__name__, str(error)[:200]))
                except Exception as error:
                    wrong.append((words, index, what[:3], type(error).__name__, str(error)[:200]))
    assert not wrong, "\n".join(map(str, wrong))


def test_members_of_an_iterator_are_kept_alive(sgd):
    """The graph keeps the arrays that it has bound, however they were given."""
    graph, watched = sgd.graph(), []

    def made():
        for _ in range(2):
            array = numpy.ones(1000, "f4")
            watched.append(weakref.ref(array))
            yield array

    for name in ("param", "grad", "momentum_buffer"):
        graph.bind_list(name, made())
    gc.collect()
    assert len(watched) == 6 and all(reference() is not None for reference in watched)
    graph.replay()
    assert [(member < 1).all() for member in graph.result("param")] == [True, True]


def test_one_array_is_no_list(sgd):
    """The parts of an array may be copies, so that the step would write nothing that the caller sees."""
    graph, param = sgd.graph(), numpy.ones(3, "f4")
    for array in (param, param.reshape(1, 3), arrays.view(param), WithDLPack(param)):
        with pytest.raises(heddle.BadInput, match="argument 'param': expected a sequence with one array for each member, "
                                                  "found one .*: put it in a list"):
            graph.bind_list("param", array)
    for name in ("grad", "momentum_buffer"):
        graph.bind_list(name, [numpy.ones((), "f4")])
    with pytest.raises(heddle.BadInput, match=r"'param', member 0: expected an array that can be written, found a scalar of"):
        graph.bind_list("param", [numpy.float32(1)])
    graph.bind_list("grad", [numpy.float32(2)])  # only read
    param = numpy.ones((), "f4")
    graph.bind_list("param", [param])
    graph.replay()
    assert param < 1


class WithDLPack:
    """A vector with nothing but DLPack, and parts that are copies."""

    def __init__(self, values):
        self.values, self.__dlpack__, self.__dlpack_device__ = values, values.__dlpack__, values.__dlpack_device__

    def __iter__(self):
        return iter(self.values)


def test_an_iterator_that_fails_leaves_the_binding(sgd):
    graph, param = sgd.graph(), numpy.ones(3, "f4")

    def failing():
        yield numpy.ones(3, "f4")
        raise Refusal("no more")

    for name in ("param", "grad", "momentum_buffer"):
        graph.bind_list(name, [param if name == "param" else numpy.ones(3, "f4")])
        with pytest.raises(heddle.BadInput, match=f"argument '{name}': expected .* generator, which raises Refusal: no more"):
            graph.bind_list(name, failing())
    graph.replay()
    assert (param < 1).all()


@pytest.mark.parametrize("change, text", [
    ({"shape": ("3",)}, "raises TypeError"), ({"shape": (1.5,)}, "raises TypeError"), ({"shape": 3}, "raises TypeError"),
    ({"strides": (4, 4)}, "a stride of whole elements for each axis"), ({"strides": (6,)}, "stride of whole elements"),
    ({"typestr": "<f"}, "dtype: expected one of"), ({"typestr": ""}, "raises IndexError"), ({"data": 7}, "TypeError"),
    ({"data": ("x", False)}, "raises ValueError"), ({"strides": 4}, "raises TypeError"),
])
def test_descriptions_of_memory_on_gpus(change, text):
    class Described:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (256, False), "version": 3, **change}

    with pytest.raises(heddle.BadInput, match=text):
        arrays.view(Described())


def test_tensors_whose_storage_is_too_small(sgd):
    """``untyped_storage().resize_()`` frees memory below a tensor, whose address and shape stay."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    for bytes_left in (0, 4, 35):
        tensor, costs = torch.ones(10)[1:], torch.ones(3, 3)
        tensor.untyped_storage().resize_(bytes_left)
        costs.untyped_storage().resize_(bytes_left)
        with pytest.raises(heddle.BadInput, match=f"'grad', member 0: .* found a storage of {bytes_left} bytes"):
            sgd.graph().bind_list("grad", [tensor])
        with pytest.raises(heddle.BadInput, match=f"^M: .* found a storage of {bytes_left} bytes"):
            heddle.ot.solve(costs, reg=1.0)


def test_arrays_without_memory_are_refused():
    """Tensors of fake modes and zeros without memory have elements at address 0."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(2)
    M = numpy.ones((2, 2))
    for tensor in (fake, torch._efficientzerotensor((2,))):
        for call in (lambda: arrays.view(tensor), lambda: heddle.ot.solve(M, tensor, None, 1.0)):
            with pytest.raises(heddle.BadInput, match="memory"):
                call()


def test_buffers_are_points():
    """Objects that NumPy can read have no attributes of its arrays."""
    import ctypes

    result = heddle.ot.solve(numpy.ones((2, 2)), reg=1.0)
    points = (ctypes.c_double * 2 * 2)((1, 2), (3, 4))
    numpy.testing.assert_allclose(result.projection(points), result.projection(numpy.array([[1.0, 2], [3, 4]])))
    with pytest.raises(heddle.BadInput, match=r"^points: expected 2 points with 1 to 64 coordinates"):
        result.projection((ctypes.c_double * 2)(1, 2))


def test_new_arrays():
    like = numpy.ones(3)
    for shape in (-1, (-1,), (2.5,), "ab", None.__class__, (1,) * 65, [[1]]):
        with pytest.raises(heddle.BadInput, match="^shape: expected at most 64 integers of at least 0, found"):
            arrays.empty_like(like, shape)
    with pytest.raises(heddle.BadInput, match=r"^shape: expected an array of less than 2\^63 bytes"):
        arrays.empty_like(like, (1 << 32, 1 << 32))
    for wrong in (None, [1.0], "text", 3):
        with pytest.raises(heddle.BadInput, match="^expected an array"):
            arrays.to_library(wrong, "numpy")
        if not isinstance(wrong, str):
            with pytest.raises(heddle.BadInput, match="^library: expected numpy, torch, cupy or jax, found"):
                arrays.to_library(arrays.view(like), wrong)
    with pytest.raises(heddle.Unavailable, match="'os' is not imported"):
        arrays.to_library(arrays.view(like), "os")


def test_messages_about_arrays_are_one_line():
    with pytest.raises(heddle.BadInput) as caught:
        heddle.ot.solve(numpy.ones((2, 2)), None, None, 1.0, reg_type=numpy.ones((30, 30)))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize("call", [
    lambda huge: heddle.sqrt(huge), lambda huge: heddle.maximum(1, huge), lambda huge: heddle.pow(2, huge),
    lambda huge: heddle.per_tensor(huge), lambda huge: heddle.hyper(1.0, most=huge),
])
def test_integers_beyond_double_precision(call):
    with pytest.raises(heddle.BadInput, match=r"test_core_refusals.py:\d+: expected a number in the range of double"):
        call(10**400)


def test_memory_takes_dense_arrays(sgd):
    memory, array = heddle.Memory(sgd, 64), numpy.ones(8, "f4")
    for function in (memory.write, memory.read):
        with pytest.raises(heddle.BadInput, match=r"^array: expected a dense array in the order of C, found strides \(2,\)"):
            function(array[::2])


def test_tensors_that_are_not_aligned():
    torch = pytest.importorskip("torch")
    costs = torch.frombuffer(bytearray(161), dtype=torch.float64, offset=1).view(4, 5)
    with pytest.raises(heddle.BadInput, match="^M: expected aligned elements, found address 0x"):
        heddle.ot.solve(costs, reg=1)
