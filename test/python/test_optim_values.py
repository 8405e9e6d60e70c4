"""Values of hyperparameters at the edge: those that PyTorch refuses are errors, the others have PyTorch's results."""

import decimal
import fractions
import inspect
import os
import sys

import numpy
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402

INF, NAN = float("inf"), float("nan")
OPTIONS = {
    "SGD": "lr momentum dampening weight_decay",
    "Adam": "lr eps weight_decay",
    "AdamW": "lr eps weight_decay",
    "Adadelta": "lr rho eps weight_decay",
    "Adagrad": "lr lr_decay weight_decay initial_accumulator_value eps",
    "Adamax": "lr eps weight_decay",
    "ASGD": "lr lambd alpha t0 weight_decay",
    "NAdam": "lr eps weight_decay momentum_decay",
    "RAdam": "lr eps weight_decay",
    "RMSprop": "lr alpha eps weight_decay momentum",
    "Rprop": "lr",
}
CASES = [(name, option) for name, options in OPTIONS.items() for option in options.split()]
#: PyTorch's SGD compares with `<`, so it takes NaN. An infinite momentum makes every parameter NaN in the first steps.
REFUSED = {("SGD", "lr", "nan"), ("SGD", "momentum", "nan"), ("SGD", "weight_decay", "nan"), ("SGD", "momentum", "inf"),
           ("RMSprop", "momentum", "inf")}
#: Options that older versions of PyTorch do not check.
UNCHECKED = {("ASGD", option) for option in ("lambd", "alpha")
             if f"Invalid {option} value" not in inspect.getsource(torch.optim.ASGD.__init__)}


def outcome(module, name, option, value):
    """The parameter after a step; None if the constructor refuses the value; PyTorch's error in the step."""
    param = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
    rest = {"momentum": 0.5} if option == "dampening" else {}
    try:
        optimizer = getattr(module, name)([param], **{option: value}, **rest, **({} if module is heddle.optim else {"foreach": False}))
    except (ValueError, TypeError, heddle.BadInput):
        return None
    param.grad = torch.tensor([0.5, -1.0, 2.0])
    try:
        optimizer.step()
    except RuntimeError as error:
        assert isinstance(value, bool) and module is torch.optim
        return error
    return param.detach()


@pytest.mark.parametrize("name, option", CASES)
@pytest.mark.parametrize("value", [NAN, INF, -INF, -0.5, 0.0, -0.0, True, False], ids=str)
def test_special_values(name, option, value):
    if (name, option) in UNCHECKED and not value >= 0:
        assert outcome(heddle.optim, name, option, value) is None
        return
    ours, theirs = (outcome(module, name, option, value) for module in (heddle.optim, torch.optim))
    if (name, option, str(value)) in REFUSED:
        assert ours is None
        return
    assert (ours is None) == (theirs is None)
    if isinstance(theirs, RuntimeError):  # PyTorch multiplies no tensor of floats by a bool
        theirs = outcome(torch.optim, name, option, float(value))
    if ours is not None:
        torch.testing.assert_close(ours, theirs, equal_nan=True, **support.tolerance(torch.float32))


@pytest.mark.parametrize("name, option", CASES)
@pytest.mark.parametrize("wrong", [0.1 + 0j, numpy.complex64(0.1), numpy.array(0.1 + 0j), torch.tensor(0.1 + 0j), "0.1", {}, [0.1],
                                   10**400, fractions.Fraction(10**400)], ids=lambda each: f"{each!r:.20}")
def test_values_that_are_no_real_numbers(name, option, wrong):
    """In the constructor, and in a group that is added."""
    param = torch.nn.Parameter(torch.ones(3))
    make = support.heddle_class(name)
    with pytest.raises((heddle.BadInput, TypeError), match=f"^{option}: expected"):
        make([param], **{option: wrong})
    with pytest.raises((heddle.BadInput, TypeError), match=f"^{option}: expected"):
        make([torch.nn.Parameter(torch.ones(1))]).add_param_group({"params": [param], option: wrong})


def test_an_integer_beyond_double_precision():
    with pytest.raises(heddle.BadInput, match="^lr: expected a number that double precision can hold"):
        heddle.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=10**400)
    heddle.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=decimal.Decimal("0.1"))


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Lion", "Adan"])
def test_betas_without_order_or_of_another_length(name):
    param = torch.nn.Parameter(torch.ones(3))
    for wrong in ({0: 0.9, 1: 0.99}, {"a": 0.9, "b": 0.9}, {0.9, 0.99}, "12", b"12", (0.9,), [0.9] * 4, (), 0.9, None):
        with pytest.raises(heddle.BadInput, match="^betas: expected [23] numbers, found"):
            support.heddle_class(name)([param], betas=wrong)
    for wrong in ((True, 0.9, 0.9), (NAN, 0.9, 0.9), (0.9, INF, 0.9), (0.9, -0.1, 0.9)):
        with pytest.raises(ValueError, match="^Invalid beta parameter at index"):
            support.heddle_class(name)([param], betas=wrong[: 3 if name == "Adan" else 2])


def test_a_momentum_of_rmsprop_that_becomes_negative():
    """PyTorch takes it as 0; SGD takes it as it is."""
    for name in ("RMSprop", "SGD"):
        params = support.parameters()
        ours, theirs, others = support.pair(name, params, lr=0.01, momentum=0.5)
        for step, momentum in enumerate((0.5, -0.5, 0.5, 0.0)):
            for optimizer in (ours, theirs):
                optimizer.param_groups[0]["momentum"] = momentum
            support.run(ours, theirs, params, others, 2, 2 * step)
        support.assert_same_params(params, others, **support.tolerance(torch.float32))
