"""A launch uses memory that was there after the last collection of garbage before it.

Python may collect garbage at every allocation, and objects in garbage may replace memory in their ``__del__``. Each test
collects at every allocation of a call in turn.
"""

import gc

import numpy
import pytest

import heddle
import heddle.ot
from heddle import _fast, _fast_fallback

torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")


class Garbage:
    """Garbage that does something when Python collects it."""

    def __init__(self, action):
        self.action, self.cycle = action, self

    def __del__(self):
        self.action()


@pytest.fixture(params=["fast", "fallback"])
def reading(request, monkeypatch):
    """The functions that count collections and launch: those of the extension, if there is one, and the others."""
    if request.param == "fast" and not _fast.NATIVE:
        pytest.skip("the extension is not built")
    if request.param == "fallback":
        monkeypatch.setattr(_fast, "launch", _fast_fallback.launch)
        monkeypatch.setattr(_fast, "collections", _fast_fallback.collections)
        gc.callbacks.append(_fast_fallback.count_collection)
    threshold, is_enabled = gc.get_threshold(), gc.isenabled()
    gc.collect()
    gc.freeze()  # a collection of all objects of PyTorch takes long
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)
    (gc.enable if is_enabled else gc.disable)()
    if request.param == "fallback":
        gc.callbacks.remove(_fast_fallback.count_collection)


def collecting(call, action):
    """Calls with a collection at each of its allocations in turn, and yields what it returned or raised."""
    missed, allocations = 0, 0
    while missed < 3:
        allocations += 1
        collected = []
        gc.disable()
        gc.collect()
        prepared = call.prepare()
        Garbage(lambda: (collected.append(1), action(prepared)))
        gc.set_threshold(allocations)
        gc.enable()
        try:
            found = call(prepared)
        except heddle.BadInput as error:
            found = error
        finally:
            during = bool(collected)
            gc.disable()
        missed = 0 if during else missed + 1
        gc.collect()
        if during:
            yield allocations, prepared, found
    assert allocations > 20


def replaced(tensor):
    """Other memory of a tensor, and NaN in the memory before."""
    old = tensor.data
    tensor.data = torch.ones_like(old)
    old.fill_(float("nan"))


def freed(tensor):
    tensor.untyped_storage().resize_(0)


class Step:
    """A step of a graph with tensors. Its memory must not be written after it was replaced."""

    def __init__(self):
        self.graph = heddle.compile("sgd:lr=0.5", target="cpu").graph()

    def prepare(self):
        tensors = [torch.ones(3), torch.ones(3)]
        self.graph.bind_list("param", tensors[:1])
        self.graph.bind_list("grad", tensors[1:])
        self.graph.prepare()
        return tensors, [tensor.data for tensor in tensors]

    def __call__(self, prepared):
        self.graph.replay()


def test_steps_of_graphs(reading):
    outcomes = set()
    for _, (tensors, before), found in collecting(Step(), lambda prepared: [replaced(each) for each in prepared[0]]):
        outcomes.add(type(found))
        if found is None:  # the step was submitted before, and read and wrote what was bound
            assert before[0].isnan().all() and tensors[0].tolist() == [1] * 3
        else:
            assert str(found).startswith("argument '")
    assert heddle.BadInput in outcomes


def fits(call, place, found):
    """Whether a result is an error, or that of the memory before or after it was replaced."""
    if isinstance(found, heddle.BadInput):
        return True
    others = call.prepare()
    others[place].fill_(1)
    return any(torch.equal(found, call(given)) for given in (call.prepare(), others))


class Solve:
    def prepare(self):
        generator = numpy.random.default_rng(0)
        return [torch.tensor(generator.random((4, 4))), torch.full((4,), 0.25, dtype=torch.float64)]

    def __call__(self, given):
        return heddle.ot.sinkhorn(*given, normalize=True).potential_a


@pytest.mark.parametrize("place", [0, 1])
def test_solves(reading, place):
    call, outcomes = Solve(), set()
    for allocations, _, found in collecting(call, lambda given: replaced(given[place])):
        outcomes.add(type(found))
        assert fits(call, place, found), allocations
    assert heddle.BadInput in outcomes


class Later:
    """A result that is computed after the solve."""

    def __init__(self, read):
        self.read = read

    def prepare(self):
        costs, weights = Solve().prepare()
        points = torch.arange(4.0, dtype=torch.float64).reshape(4, 1)
        return [costs, weights, points, heddle.ot.sinkhorn(costs, weights)]

    def __call__(self, prepared):
        return self.read(prepared)


@pytest.mark.parametrize("read, place, change", [
    (lambda prepared: prepared[3].plan, 0, replaced),
    (lambda prepared: prepared[3].product(prepared[2]), 0, replaced),
    (lambda prepared: prepared[3].product(prepared[2]), 2, freed),
], ids=["plan", "product", "points"])
def test_later_results(reading, read, place, change):
    call = Later(read)
    for allocations, _, found in collecting(call, lambda prepared: change(prepared[place])):
        assert fits(call, place, found), allocations
