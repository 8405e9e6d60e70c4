"""Integers and booleans of NumPy and PyTorch, and arrays without axes, are taken where those of Python are."""

import numpy
import pytest

import heddle
from heddle import BadInput, ot
from heddle._values import whole

INTEGERS = [numpy.int64(5), numpy.uint8(5), numpy.array(5), numpy.array(5, "i4")]
BOOLEANS = [numpy.True_, numpy.array(True)]
NO_INTEGERS = [numpy.True_, numpy.array(True), numpy.float64(5), numpy.array([5]), numpy.array([5, 6]), 5.0, True, "5", None]
NO_BOOLEANS = [numpy.array([True]), numpy.array([True, False]), numpy.int64(1), 1, 1.0, "yes", None]


def torch_or_skip():
    return pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")


def stepped(**options):
    """The elements of a parameter after a step with stochastic rounding."""
    torch = torch_or_skip()
    param = torch.nn.Parameter(torch.ones(1000, dtype=torch.bfloat16))
    param.grad = torch.full_like(param, 1e-3)
    optimizer = heddle.optim.SGD([param], lr=0.5, rounding="stochastic", **options)
    optimizer.step()
    return param.tolist(), optimizer


@pytest.mark.parametrize("value", INTEGERS, ids=repr)
def test_seeds(value):
    torch = torch_or_skip()
    expected = stepped(seed=5)[0]
    assert stepped(seed=value)[0] == expected != stepped(seed=6)[0]
    assert stepped(seed=torch.tensor(5))[0] == expected
    optimizer = stepped(seed=value)[1]
    assert type(optimizer.param_groups[0]["seed"]) is int  # as torch.load(weights_only=True) needs
    optimizer.param_groups[0]["seed"] = value
    optimizer.step()


@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
def test_wrong_seeds(value):
    torch = torch_or_skip()
    for each in (value, torch.tensor(True), torch.tensor(5.0), torch.tensor([5, 6])):
        with pytest.raises(BadInput, match="^seed: expected a whole number"):
            stepped(seed=each)


@pytest.mark.parametrize("value", BOOLEANS, ids=repr)
def test_switches_of_chains(value):
    torch = torch_or_skip()
    for each in (value, torch.tensor(True)):
        param = torch.nn.Parameter(torch.ones(3))
        param.grad = torch.ones(3)
        heddle.optim.chain(zero_grad=each, optimizer=heddle.optim.SGD([param], lr=0.5)).step()
        assert param.tolist() == [0.5] * 3 and param.grad.tolist() == [0] * 3


@pytest.mark.parametrize("value", NO_BOOLEANS, ids=repr)
def test_wrong_switches_of_chains(value):
    torch = torch_or_skip()
    cut = torch.ones(1000, dtype=torch.bool)
    last = cut[-1]
    cut.untyped_storage().resize_(8)
    for each in (value, torch.tensor([True, False]), last):
        optimizer = heddle.optim.SGD([torch.nn.Parameter(torch.ones(3))])
        with pytest.raises(BadInput, match="^zero_grad: expected True or False, found "):
            heddle.optim.chain(zero_grad=each, optimizer=optimizer)


@pytest.mark.parametrize("value", BOOLEANS, ids=repr)
def test_switches_of_transport(value):
    costs, a, b = numpy.eye(3), numpy.full(3, 2.0), numpy.full(3, 5.0)
    expected = ot.sinkhorn(costs, a, b, normalize=True)
    for solved in (ot.sinkhorn(costs, a, b, normalize=value), ot.solve(costs, a, b, reg=0.05, normalize=value)):
        assert solved.plan.sum() == pytest.approx(expected.plan.sum())


@pytest.mark.parametrize("value", NO_BOOLEANS, ids=repr)
def test_wrong_switches_of_transport(value):
    with pytest.raises(BadInput, match="^normalize: expected True or False, found "):
        ot.sinkhorn(numpy.eye(3), normalize=value)


def test_switches_and_widths_of_rules():
    @heddle.rule
    def sgd(param, grad, *, lr=0.5):
        return param - lr * grad

    assert sgd.mlir(groups=numpy.True_) == sgd.mlir(groups=True)
    with pytest.raises(BadInput, match="^groups: expected True or False, found array"):
        sgd.mlir(groups=numpy.array([True]))

    def widened(width):
        @heddle.rule
        def rule(param, grad):
            return param - grad * heddle.from_bits(heddle.bits(grad, width=width), width=width)

        return rule.mlir()

    assert widened(numpy.int64(32)) == widened(32)


def test_integers_beyond_the_end_of_a_storage():
    torch = torch_or_skip()
    base = torch.ones(100_000, dtype=torch.int64)
    last = base[-1]
    base.untyped_storage().resize_(8)
    assert whole(last) is None
