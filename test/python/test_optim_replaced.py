"""A step uses the tensors that are there when it launches, whatever functions of the caller it has called before.

Such functions are ``__float__`` of a hyperparameter, and ``__del__`` of an object that Python collects as garbage.
"""

import gc
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle.optim  # noqa: E402
from heddle import BadInput, _fast  # noqa: E402


class Rate:
    """A learning rate that does something when it is read for the first time."""

    def __init__(self, action):
        self.action = action

    def __float__(self):
        action, self.action = self.action, lambda: None
        action()
        return 0.5


def stepped(count=1, rate=0.5):
    params = [torch.nn.Parameter(torch.ones(5)) for _ in range(count)]
    optimizer = heddle.optim.SGD(params, lr=rate, momentum=0.5)
    for param in params:
        param.grad = torch.ones(5)
    optimizer.step()
    optimizer.step()
    return optimizer, params


def at_first(optimizer, action):
    optimizer.param_groups[0]["lr"] = Rate(action)


def test_a_rate_that_replaces_the_parameter():
    optimizer, (param,) = stepped()
    old = param.data
    before = old.clone()
    at_first(optimizer, lambda: setattr(param, "data", torch.ones(5)))
    optimizer.step()
    assert torch.equal(old, before) and torch.equal(param.data, torch.full((5,), 1 - 0.5 * 1.75))


def test_a_rate_that_replaces_the_gradient():
    optimizer, (param,) = stepped()
    before = param.detach().clone()
    at_first(optimizer, lambda: setattr(param, "grad", None))
    optimizer.step()
    assert torch.equal(param, before)


def test_a_rate_that_clears_the_state():
    optimizer, (param,) = stepped()
    old = optimizer.state[param]["momentum_buffer"]
    before = old.clone()
    at_first(optimizer, optimizer.state.clear)
    optimizer.step()
    assert torch.equal(old, before)
    assert torch.equal(optimizer.state[param]["momentum_buffer"], torch.ones(5))


def test_an_initial_value_that_replaces_the_parameter():
    """State is made of the rate of Rprop, after the addresses were read for the first time."""
    param = torch.nn.Parameter(torch.ones(5))
    param.grad = torch.ones(5)
    optimizer = heddle.optim.Rprop([param], lr=0.25)
    rate = optimizer.param_groups[0]["lr"] = Rate(lambda: None)
    reads: list[int] = []
    for last in range(1, 6):
        optimizer.state.clear()
        reads.clear()
        old = param.data
        before = old.clone()

        def count():
            reads.append(1)
            rate.action = count
            if len(reads) == last:
                param.data = torch.ones(5)

        rate.action = count
        optimizer.param_groups[0]["weight"] = last  # the group has changed
        optimizer.step()
        if len(reads) >= last:
            assert torch.equal(old, before)


@pytest.mark.parametrize("key", ["param", "grad", "momentum_buffer"])
def test_a_rate_that_frees_memory(key):
    optimizer, (param,) = stepped()
    tensor = {"param": param, "grad": param.grad}.get(key, optimizer.state[param]["momentum_buffer"])
    at_first(optimizer, lambda: tensor.untyped_storage().resize_(0))
    with pytest.raises(BadInput, match="expected elements in memory"):
        optimizer.step()


class Garbage:
    """Garbage that does something when Python collects it."""

    def __init__(self, action):
        self.action, self.cycle = action, self

    def __del__(self):
        self.action()


@pytest.fixture
def threshold():
    before, is_enabled = gc.get_threshold(), gc.isenabled()
    gc.collect()
    gc.freeze()  # a collection of all objects of PyTorch takes long
    yield
    gc.unfreeze()
    gc.set_threshold(*before)
    (gc.enable if is_enabled else gc.disable)()


@pytest.mark.parametrize("has_changed", [False, True])
@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("key", ["param", "grad", "state"])
def test_garbage(key, clip, has_changed, threshold):
    """A collection at each allocation of a step in turn: nothing is written to memory that was replaced before."""
    optimizer, params = stepped(2)
    if clip:
        optimizer = heddle.optim.chain(clip_grad_norm=1e9, optimizer=optimizer)
    kept, collected = [], 0

    def action():
        nonlocal collected
        collected += 1
        for param in params:
            if key == "param":
                kept.append((param.data, param.detach().clone()))
                param.data = torch.ones(5)
            elif key == "grad":
                kept.append((param.data, param.detach().clone()))
                param.grad = None
            elif "momentum_buffer" in optimizer.state[param]:
                buffer = optimizer.state[param]["momentum_buffer"]
                kept.append((buffer, buffer.clone()))
        if key == "state":
            optimizer.state.clear()

    for allocations in range(1, 60):
        gc.disable()
        gc.collect()
        for param in params:
            param.grad = torch.ones(5)
        optimizer.step()
        if has_changed:
            for param in params:
                param.grad = torch.ones(5)
        kept.clear()
        collected = 0
        Garbage(action)
        gc.set_threshold(allocations)
        gc.enable()
        optimizer.step()
        during = collected
        gc.disable()
        gc.collect()
        if during:
            assert all(torch.equal(tensor, before) for tensor, before in kept), allocations
    assert not gc.garbage


def test_launches_after_a_collection():
    before = _fast.collections()
    gc.collect()
    assert _fast.collections() > before and _fast.launch(0, 0, 0, before) is None
