"""Arrays of the caller whose memory is freed or resized while a graph has bound them."""

import array as packed
import gc
import threading

import numpy
import pytest
from exporter import Exporter

import heddle
import heddle._library
import heddle.ot
from heddle import _held, arrays
from heddle._turns import is_held

DOUBLE = """
!list = !foreach.list<tensor<?xf32>>
func.func @f(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %two = arith.constant 2.0 : f32
    %y = arith.mulf %x, %two : f32
    foreach.yield %y : f32
  }
  return %y : !list
}
"""


@pytest.fixture(scope="module")
def double():
    return heddle.compile(DOUBLE, target="cpu")


@pytest.fixture(scope="module")
def sgd():
    return heddle.compile("sgd:momentum=0.9,lr=0.25", target="cpu")


def buffer(kind, count=4):
    """A buffer of float32 ones that can be extended, and a view of it as heddle takes it."""
    if kind == "array":
        owner = packed.array("f", [1.0] * count)
        return owner, owner
    owner = bytearray(numpy.ones(count, "f4").tobytes())
    return owner, memoryview(owner).cast("f")


def extend(owner):
    owner.extend(bytes(4) if isinstance(owner, bytearray) else [1.0])


def refuses(owner):
    with pytest.raises(BufferError):
        extend(owner)
    if isinstance(owner, bytearray):
        with pytest.raises(BufferError):
            owner.clear()
    return True


@pytest.mark.parametrize("kind", ["array", "bytearray"])
def test_bound_buffers_are_exported(double, kind):
    graph = double.graph()
    first, given = buffer(kind)
    second, other = buffer(kind, 5)
    graph.bind_list("x", [given])
    del given
    assert refuses(first)
    graph.replay()
    assert graph.result("y")[0].tolist() == [2.0] * 4 and refuses(first)
    # A binding that fails keeps the one before, and does not keep its own arrays.
    with pytest.raises(heddle.BadInput, match="member 1: expected dtype f32, found f64"):
        graph.bind_list("x", [other, numpy.ones(3)])
    assert refuses(first)
    del other
    gc.collect()
    extend(second)
    graph.bind_list("x", [second if kind == "array" else memoryview(second).cast("f")])
    gc.collect()
    extend(first)
    assert refuses(second)
    graph.replay()
    assert refuses(second)
    graph.close()
    gc.collect()
    extend(second)


def test_a_binding_by_addresses_returns_buffers(double):
    graph = double.graph()
    owner, given = buffer("bytearray")
    graph.bind_list("x", [given])
    del given
    memory = numpy.ones(4, "f4")
    graph.list_binding("x", [(4,)]).bind([memory.ctypes.data])
    gc.collect()
    extend(owner)
    # The graph that goes returns them, too.
    owner, given = buffer("bytearray")
    graph.bind_list("x", [given])
    del given
    assert refuses(owner)
    del graph
    gc.collect()
    extend(owner)


def test_bound_buffers_of_results_and_scalars(double, sgd):
    graph = double.graph()
    owner, given = buffer("bytearray")
    graph.bind_list("x", [numpy.ones(4, "f4")])
    graph.bind_result("y", [given])
    del given
    graph.replay()
    assert refuses(owner) and numpy.frombuffer(owner, "f4").tolist() == [2.0] * 4
    graph.bind_result("y", None)
    gc.collect()
    extend(owner)
    graph, lr = sgd.graph(), packed.array("d", [0.5])
    graph.bind_scalar("lr", lr)
    assert refuses(lr)
    graph.bind_scalar("lr", None)
    gc.collect()
    extend(lr)


def test_bound_arrays_of_numpy_cannot_be_resized(double):
    graph = double.graph()
    array, base = numpy.ones(4, "f4"), numpy.ones(40, "f4")
    graph.bind_list("x", [array, base[2:6]])
    for bound in (array, base):
        with pytest.raises(ValueError, match="cannot resize"):
            bound.resize(100_000, refcheck=False)
    graph.replay()
    graph.bind_list("x", [numpy.ones(1, "f4")])
    gc.collect()
    for bound in (array, base):
        bound.resize(100_000, refcheck=False)


@pytest.mark.parametrize("bound", [True, False])
def test_a_record_of_arrays_of_several_libraries(bound):
    """Graphs and results of heddle.ot have the same record. Only for values that are read again, a write is a change."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    def make():
        given = [numpy.ones(4), torch.ones(3), [1.0, 2.0], memoryview(b"12"), torch.ones(2, dtype=torch.int32)]
        return given, _held.Held(given, lambda place: f"array {place}", bound=bound)

    given, held = make()
    assert held.can_change and held.changed() is None
    for place in (1, 4):
        given, held = make()
        given[place].mul_(2)
        assert held.changed() == (None if bound else f"array {place}")
        given[place].untyped_storage().resize_(4)
        assert [held.changed(), held.changed()] == [f"array {place}"] * 2, "a check does not change the record"
    given, held = make()
    if bound:
        with pytest.raises(ValueError, match="cannot resize"):
            given[0].resize(100_000, refcheck=False)
    else:
        given[0].resize(100_000, refcheck=False)
    assert held.changed() == (None if bound else "array 0")
    others = _held.Held([[1], memoryview(b"1")], lambda place: "", bound=bound)
    assert others.changed() is None and not others.can_change


def smaller(tensor):
    tensor.untyped_storage().resize_(4)


_replaced = []


def replaced(tensor):
    _replaced.append(tensor.data)  # so that other memory is not where this was
    tensor.data = tensor.new_zeros(3)


@pytest.mark.parametrize("change", [smaller, replaced])
@pytest.mark.parametrize("name", ["param", "grad", "momentum_buffer", "lr"])
def test_bound_tensors_whose_memory_has_gone(sgd, name, change):
    """Without a check, a step writes to memory that is not theirs."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    lists = {key: [numpy.ones(9, "f4"), torch.ones(9), torch.ones(9)] for key in ("param", "grad", "momentum_buffer")}
    lr = torch.tensor(0.5, dtype=torch.float64)
    graph = sgd.graph()
    for key, members in lists.items():
        graph.bind_list(key, members)
    graph.bind_scalar("lr", lr)
    graph.replay()
    change(lr) if name == "lr" else change(lists[name][2])
    before = [member.tolist() for member in lists["param"][:2]]
    where = "argument 'lr'" if name == "lr" else f"argument '{name}', member 2"
    for call in (graph.replay, graph.prepare, graph.replay, lambda: graph.measure(1, 1)):
        with pytest.raises(heddle.BadInput, match=f"^{where}: expected the memory that was bound, .*: bind it again$"):
            call()
    assert [member.tolist() for member in lists["param"][:2]] == before
    if name == "lr":
        graph.bind_scalar("lr", torch.tensor(0.5, dtype=torch.float64))
    else:
        lists[name][2] = torch.ones(9)
        graph.bind_list(name, lists[name])
    graph.replay()
    assert [member.tolist() for member in lists["param"][:2]] != before


@pytest.mark.parametrize("change", [smaller, replaced])
def test_reads_of_tensors_whose_memory_has_gone(double, sgd, change):
    """Without a check, the memory that is read belongs to others."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    graph, lr = sgd.graph(), torch.tensor(0.5, dtype=torch.float64)
    lists = {key: [torch.ones(9), torch.ones(9)] for key in ("param", "grad", "momentum_buffer")}
    for key, members in lists.items():
        graph.bind_list(key, members)
    graph.bind_scalar("lr", lr)
    graph.replay()
    assert graph.read_scalar("lr") == 0.5
    change(lists["grad"][1])
    assert graph.read_scalar("lr") == 0.5 and graph.result("param")[0] is lists["param"][0], "read without gradients"
    lr.untyped_storage().resize_(0) if change is smaller else change(lr)
    with pytest.raises(heddle.BadInput, match="^argument 'lr': expected the memory that was bound, .*: bind it again$"):
        graph.read_scalar("lr")
    change(lists["param"][1])
    for read in (graph.result, graph.result_views):
        with pytest.raises(heddle.BadInput, match="^argument 'param', member 1: expected the memory that was bound"):
            read("param")
    graph, result = double.graph(), torch.ones(4)
    graph.bind_list("x", [torch.ones(4)])
    graph.bind_result("y", [result])
    graph.replay()
    change(result)
    with pytest.raises(heddle.BadInput, match="^result 'y', member 0: expected the memory that was bound"):
        graph.result("y")


def emptied(tensor):
    tensor.untyped_storage().resize_(0)


def resized(array):
    array.resize(100_000, refcheck=False)


def longer(tensor):
    tensor.data = tensor.new_ones(5)


REPLACED = "expected an array that stays as it is while others are read"


@pytest.mark.parametrize("change", [emptied, smaller, replaced, longer, resized])
def test_members_that_read_others(sgd, change):
    """The memory of a member goes while another one is read. Nothing is written, and the binding is as before."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    graph, make = sgd.graph(), numpy.ones if change is resized else torch.ones
    dtype = "f4" if change is resized else torch.float32
    lists = {name: [torch.ones(4), torch.ones(4)] for name in ("param", "grad", "momentum_buffer")}
    for name, members in lists.items():
        graph.bind_list(name, members)
    changed, other = make(4, dtype=dtype), torch.ones(4)
    with pytest.raises(heddle.BadInput, match=f"^argument 'param', member 0: {REPLACED}"):
        graph.bind_list("param", [changed, Exporter(other, lambda: change(changed))])
    graph.replay()
    assert other.tolist() == [1] * 4 and lists["param"][0].tolist() == pytest.approx([0.525] * 4)
    view = make(40, dtype=dtype)[4:8]
    base = view.base if change is resized else view
    with pytest.raises(heddle.BadInput, match=f"^argument 'param', member 0: {REPLACED}"):
        graph.bind_list("param", [view, Exporter(other, lambda: change(base))])


@pytest.mark.parametrize("change", [emptied, smaller, replaced, longer, resized])
def test_costs_that_read_others(change):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    make, dtype = (numpy.ones, "f8") if change is resized else (torch.ones, torch.float64)
    changed, other = make((3, 3), dtype=dtype), torch.ones(3, 3, dtype=torch.float64)
    with pytest.raises(heddle.BadInput, match=rf"^M\[0\]: {REPLACED}"):
        heddle.ot.sinkhorn([changed, Exporter(other, lambda: change(changed))])
    changed, other = make(3, dtype=dtype) / 3, torch.ones(3, dtype=torch.float64) / 3
    with pytest.raises(heddle.BadInput, match=rf"^a\[0\]: {REPLACED}"):
        heddle.ot.sinkhorn([make((3, 3), dtype=dtype)] * 2, [changed, Exporter(other, lambda: change(changed))])


def test_tensors_that_are_no_longer_bound(double):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    graph, tensor = double.graph(), torch.ones(4)
    memory = numpy.ones(4, "f4")
    for bind in (lambda: graph.bind_list("x", [memory]),
                 lambda: graph.list_binding("x", [(4,)]).bind([memory.ctypes.data])):
        graph.bind_list("x", [tensor])
        bind()
        smaller(tensor)
        graph.replay()
        assert graph.result("y")[0].tolist() == [2.0] * 4
        tensor = torch.ones(4)


class Interleaved:
    """The lock of a graph; another thread runs a function as soon as the lock is free."""

    def __init__(self, lock, function):
        self.lock, self.function = lock, function
        self._is_owned = lock._is_owned

    def __enter__(self):
        self.lock.acquire()

    def __exit__(self, *_):
        self.lock.release()
        function, self.function = self.function, lambda: None
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()


def test_a_binding_of_another_thread_in_between(double):
    """The graph keeps the arrays that are bound, not those of the call that ends last."""
    graph = double.graph()
    first, second = numpy.ones(4, "f4"), numpy.full(4, 2, "f4")
    graph._lock = Interleaved(graph._lock, lambda: graph.bind_list("x", [second]))
    graph.bind_list("x", [first])
    graph.replay()
    assert graph._bound["x"][0][0] is second and graph.result("y")[0].tolist() == [4] * 4


def test_results_without_memory(sgd):
    """A member that is bound by address 0 because it is inactive."""
    graph, params = sgd.graph(), [numpy.ones(3, "f4"), numpy.ones(2, "f4")]
    for name in ("param", "grad", "momentum_buffer"):
        graph.list_binding(name, [(3,), (2,)]).bind([0, params[1].ctypes.data] if name == "param" else [0, 0])
    graph.set_inactive("param", [True, True])
    graph.prepare()
    with pytest.raises(heddle.BadInput, match=r"^result 'param', member 0: .* found an inactive one \(set_inactive\)"):
        graph.result("param")
    first, second = graph.result_views("param")
    assert first.address == 0 and first.shape == (3,)
    with pytest.raises(heddle.BadInput, match="^expected memory for all elements, found none of 3"):
        arrays.to_library(first, "numpy")


class Interrupted(Exception):
    """What a signal handler raises."""


@pytest.mark.parametrize("bind", ("bind_list", "bind_scalar"))
def test_a_binding_that_is_interrupted(double, bind, monkeypatch):
    """The library has the new memory and the graph does not keep it yet: no step uses it until it is bound again."""
    graph = double.graph() if bind == "bind_list" else heddle.compile("sgd", target="cpu").graph()
    name = "x" if bind == "bind_list" else "lr"
    make = (lambda: [numpy.ones(4, "f4")]) if bind == "bind_list" else (lambda: numpy.array(0.5))
    getattr(graph, bind)(name, make())

    def interrupted(*_):
        raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(type(graph), "_hold", interrupted)
        with pytest.raises(Interrupted):
            getattr(graph, bind)(name, make())
    for use in (graph.prepare, graph.replay, graph.measure):
        with pytest.raises(heddle.BadInput, match=f"^'{name}': expected a complete binding, found one that was interrupted"):
            use()
    getattr(graph, bind)(name, make())
    if bind == "bind_list":
        graph.replay()
        assert graph.result("y")[0].tolist() == [2.0] * 4


def test_a_binding_that_the_library_refuses_keeps_the_one_before(double):
    graph = double.graph()
    graph.bind_list("x", [numpy.ones(4, "f4")])
    with pytest.raises(heddle.BadInput):
        graph.bind_list("x", [numpy.ones(4, "f8")])
    graph.replay()
    assert graph.result("y")[0].tolist() == [2.0] * 4


def test_a_close_that_is_interrupted_can_be_repeated(double, monkeypatch):
    graph = double.graph()

    def interrupted(_):
        raise Interrupted

    taken, closed = threading.Event(), threading.Event()

    def use():
        with graph._lock:
            taken.set()
            closed.wait()

    thread = threading.Thread(target=use)
    thread.start()
    taken.wait()
    with monkeypatch.context() as patched:  # the finalizer waits
        patched.setattr("time.sleep", interrupted)
        with pytest.raises(Interrupted):
            graph.close()
    closed.set()
    thread.join()
    assert not graph.closed
    graph.close()
    assert graph.closed and not is_held(graph._lock)
    with pytest.raises(heddle.BadInput, match="closed"):
        graph.replay()


@pytest.mark.parametrize("function", ("heddle_compile", "heddle_graph_create", "heddle_memory_create"))
def test_what_is_created_is_freed_if_an_exception_follows_at_once(double, function, monkeypatch):
    """As of a signal handler, which Python may run between the call of the library and the next line."""
    lib = heddle._library.library()
    real, freed = getattr(lib, function), []
    name = {"heddle_compile": "heddle_executable_free", "heddle_graph_create": "heddle_graph_free"}.get(
        function, "heddle_memory_free")
    free = getattr(lib, name)

    def interrupted(*arguments):
        assert real(*arguments) == 0
        raise Interrupted

    def counted(handle):
        freed.append(handle)
        return free(handle)

    executable = double
    monkeypatch.setattr(lib, function, interrupted)
    monkeypatch.setattr(lib, name, counted)
    with pytest.raises(Interrupted):
        if function == "heddle_compile":
            heddle.compile("sgd", target="cpu")
        elif function == "heddle_graph_create":
            executable.graph()
        else:
            heddle.Memory(executable, 8)
    gc.collect()
    assert len(freed) == 1
