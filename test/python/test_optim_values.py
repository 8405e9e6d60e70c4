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
           ("SGD", "dampening", "nan"), ("ASGD", "t0", "nan"), ("RMSprop", "momentum", "inf")}
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


@pytest.mark.parametrize("name, option", CASES)
@pytest.mark.parametrize("records", [True, False])
def test_tensors_that_need_a_gradient(name, option, records):
    """A step takes the value, as PyTorch does where it takes tensors."""
    params = []
    for value in (0.3, torch.tensor(0.3, requires_grad=True)):
        param = torch.nn.Parameter(torch.ones(3))
        param.grad = torch.full((3,), 0.7)
        with torch.set_grad_enabled(records):
            optimizer = getattr(heddle.optim, name)([param], **{option: value})
            optimizer.step()
            optimizer.step()
        params.append(param.detach())
    torch.testing.assert_close(*params)


@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("begins", [(0, 0), (0, 1), (3, 0), (2, 3)])
def test_a_rate_of_rprop_that_changes(begins, as_tensor):
    """The rate of its first step is the step size of a parameter. Later ones change nothing, also of a group added later."""
    params = [torch.nn.Parameter(torch.linspace(-1, 1, 5)) for _ in range(3)]
    others = support.copies(params)
    given = params[:2], others[:2]
    ours, theirs = heddle.optim.Rprop(given[0], lr=0.1), torch.optim.Rprop(given[1], lr=0.1, foreach=False)
    for step, rate in enumerate((0.1, 0.02, 0.5, 0.3, 0.9)):
        for optimizer, own in ((ours, params), (theirs, others)):
            if step == 2:
                optimizer.add_param_group({"params": own[2:], "lr": 0.7})
            optimizer.param_groups[0]["lr"] = torch.tensor(rate) if as_tensor and optimizer is ours else rate
        support.set_gradients(params, others, step, [place for place in (0, 1) if step < begins[place]])
        ours.step()
        theirs.step()
    support.assert_same_params(params, others)
    support.assert_same_state(ours, theirs)


@pytest.mark.parametrize("wrong, found", [
    ("x", "a number, found 'x'"), (None, "a number, found NoneType"), ([0.1], "a number, found list"),
    (torch.ones(2), r"a number or a tensor of one element, found shape \(2,\)"),
    (torch.tensor(1j), "a dense tensor of a real number, found dtype torch.complex64"),
])
@pytest.mark.parametrize("begun", [1, 2])
def test_a_wrong_rate_of_rprop_in_later_steps(begun, wrong, found):
    """It is an error before a parameter begins with it."""
    params = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    optimizer = heddle.optim.Rprop(params, lr=0.1)
    support.set_gradients(params, skip=range(begun, 2))
    optimizer.step()
    before = [param.detach().clone() for param in params]
    optimizer.param_groups[0]["lr"] = wrong
    support.set_gradients(params)
    with pytest.raises(heddle.BadInput, match=f"^lr: expected {found}"):
        optimizer.step()
    assert all(map(torch.equal, params, before))


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


def fresh(**options):
    return {"params": [torch.nn.Parameter(torch.ones(3))], **options}


def test_rates_of_the_groups_of_prodigy():
    """There is one estimate for all groups, so their rates are equal, or 0, as `prodigyopt` expects."""
    message = "lr: expected one value for all parameter groups, or 0 for some, found 0.5, 1.0"
    with pytest.raises(heddle.BadInput, match=message):
        heddle.optim.Prodigy([fresh(), fresh(lr=0.5)])
    optimizer = heddle.optim.Prodigy([fresh(), fresh(lr=0.0), fresh(lr=1)])
    with pytest.raises(heddle.BadInput, match=message):
        optimizer.add_param_group(fresh(lr=0.5))
    assert len(optimizer.param_groups) == 3
    for group in optimizer.param_groups:
        for param in group["params"]:
            param.grad = torch.ones(3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(2):
        optimizer.step()
        scheduler.step()


def graded(**options):
    group = fresh(**options)
    group["params"][0].grad = torch.ones(3)
    return group


def refuses_steps(optimizer, message):
    """Every step, not only the first one after the change; none changes anything."""
    before = [param.detach().clone() for group in optimizer.param_groups for param in group["params"]]
    for _ in range(2):
        with pytest.raises(heddle.BadInput, match=message):
            optimizer.step()
    assert all(map(torch.equal, before, (param for group in optimizer.param_groups for param in group["params"])))


@pytest.mark.parametrize("rates", [(1.0, 0.5), (torch.tensor(1.0), torch.tensor(0.5)), (numpy.float32(1), numpy.float32(0.5))])
@pytest.mark.parametrize("is_chain", [False, True])
def test_rates_of_prodigy_that_become_different(rates, is_chain):
    """They are found in every step, not only in the constructor."""
    optimizer = heddle.optim.Prodigy([graded(), graded(), graded(lr=0)])
    if is_chain:
        optimizer = heddle.optim.chain(optimizer=[heddle.optim.SGD([graded()]), optimizer])
    optimizer.step()
    optimizer.step()
    groups = optimizer.param_groups[-3:]
    for group, rate in zip(groups, rates):
        group["lr"] = rate
    start = r"^optimizers\[1\] \(Prodigy\): " if is_chain else "^"
    refuses_steps(optimizer, f"{start}lr: expected one value for all parameter groups, or 0 for some, found 0.5, 1.0$")
    groups[1]["lr"] = rates[0]
    optimizer.step()


@pytest.mark.parametrize("name", ["SGD", "LARS"])
def test_a_dampening_that_is_set_beside_nesterov(name):
    optimizer = support.heddle_class(name)([graded(), graded()], momentum=0.9, nesterov=True)
    for _ in range(2):
        optimizer.step()
        optimizer.param_groups[1]["dampening"] = 0.25
        refuses_steps(optimizer, r"^param_groups\[1\]: expected a dampening of 0 beside nesterov=True, found momentum=0.9, "
                                 r"dampening=0.25$")
        optimizer.param_groups[1]["dampening"] = 0
    optimizer.param_groups[1].update(momentum=0, dampening=0.25)  # which has no effect
    optimizer.step()


CHANGES = [
    ("SGD", {}, {"cautious": True}, "cautious: expected False beside momentum=0, found True: it requires a momentum"),
    ("SGD", {"momentum": 0.9, "cautious": True}, {"momentum": 0.0}, "cautious: expected False beside momentum=0.0"),
    ("SGD", {"momentum": 0.9}, {"dampening": NAN}, "dampening: expected a number other than NaN, found nan"),
    ("RMSprop", {"momentum": 0.9, "cautious": True}, {"momentum": torch.tensor(-0.5)}, "cautious: expected False"),
    ("ASGD", {}, {"t0": NAN}, "t0: expected a number of steps, which may be infinite, found nan"),
    ("ASGD", {}, {"t0": torch.tensor(NAN)}, "t0: expected a number of steps, which may be infinite, found"),
    ("AdaBelief", {}, {"fixed_decay": True, "weight_decouple": False}, "fixed_decay: expected False beside weight_"),
    ("Adan", {"max_grad_norm": 1.0}, {"max_grad_norm": NAN}, "Invalid max_grad_norm value: nan"),
    ("LAMB", {}, {"max_grad_norm": -1}, "Invalid max_grad_norm value: -1"),
    ("AdEMAMix", {}, {"alpha": NAN}, "Invalid alpha value: nan"),
    ("AdEMAMix", {}, {"alpha_warmup": -1}, "alpha_warmup: expected a number of steps, 0 or more, or None, found -1"),
    ("LARS", {}, {"dampening": INF}, "dampening: expected a finite number, found inf"),
    ("LARS", {"momentum": 0}, {"cautious": True}, "cautious: expected False beside momentum=0"),
    ("LARS", {}, {"trust_coefficient": NAN}, "Invalid trust_coefficient value: nan"),
    ("Yogi", {}, {"initial_accumulator": NAN}, "Invalid initial_accumulator value: nan"),
    ("Prodigy", {}, {"d0": 0}, "Invalid d0 value: 0, expected a number above 0"),
    ("Prodigy", {}, {"d0": numpy.float32(NAN)}, "Invalid d0 value: nan"),
    ("Prodigy", {}, {"d_coef": -1}, "Invalid d_coef value: -1"),
    ("Prodigy", {}, {"growth_rate": 0.5}, "Invalid growth_rate value: 0.5, expected a number of at least 1"),
    ("Prodigy", {}, {"beta3": 1.0}, "Invalid beta3 value: 1.0, expected a number between 0 and 1, or None"),
    ("SGDScheduleFree", {}, {"momentum": 1.0}, "Momentum must be between 0 and 1 exclusive: 1.0"),
    ("SGDScheduleFree", {}, {"r": INF}, "r: expected a finite number, found inf"),
    ("AdamWScheduleFree", {}, {"betas": (0.0, 0.9)}, "Invalid beta parameter at index 0: 0.0, expected a number"),
    ("AdamWScheduleFree", {}, {"betas": None}, "betas: expected 2 numbers, found None"),
    ("AdamWScheduleFree", {}, {"warmup_steps": NAN}, "Invalid warmup_steps value: nan"),
]


@pytest.mark.parametrize("name, options, changes, message", CHANGES, ids=str)
@pytest.mark.parametrize("begun", [0, 2])
@pytest.mark.parametrize("is_chain", [False, True])
def test_entries_that_become_wrong(name, options, changes, message, begun, is_chain):
    """A step refuses what the constructor refuses, if PyTorch's class does not know it."""
    made = support.heddle_class(name)([graded(), graded()], **options)
    optimizer = heddle.optim.chain(optimizer=[heddle.optim.SGD([graded()]), made]) if is_chain else made
    for _ in range(begun):
        optimizer.step()
    group = made.param_groups[1]
    before = {key: group[key] for key in changes if key in group}
    group.update(changes)
    start = rf"optimizers\[1\] \({name}\): " if is_chain else ""
    refuses_steps(optimizer, rf"^{start}(param_groups\[1\]: )?{message}")
    for key in changes:
        group.pop(key)
    group.update(before)
    optimizer.step()


@pytest.mark.parametrize("name, changes", [
    ("AdamW", {"lr": -1.0, "eps": NAN}), ("SGD", {"momentum": -1.0, "lr": NAN}), ("Adadelta", {"rho": 2.0}),
    ("Rprop", {"etas": (2.0, 3.0)}), ("Prodigy", {"lr": -1.0}), ("Lion", {"lr": -1.0, "weight_decay": NAN}),
])
def test_numbers_that_a_step_takes_as_pytorch_does(name, changes):
    optimizer = support.heddle_class(name)([graded()])
    optimizer.step()
    optimizer.param_groups[0].update(changes)
    optimizer.step()


@pytest.mark.parametrize("name, options, message", [
    ("AdEMAMix", {"alpha_warmup": -1}, "alpha_warmup: expected a number of steps, 0 or more, or None, found -1"),
    ("AdEMAMix", {"alpha_warmup": NAN}, "alpha_warmup: expected a number of steps"),
    ("AdEMAMix", {"beta3_warmup": INF}, "beta3_warmup: expected a number of steps"),
    ("LARS", {"dampening": NAN}, "dampening: expected a finite number, found nan"),
    ("LARS", {"dampening": -INF}, "dampening: expected a finite number, found -inf"),
    ("SGD", {"dampening": NAN, "momentum": 0.9}, "^dampening: expected a number other than NaN, found nan"),
    ("SGD", {"cautious": True}, "^cautious: expected False beside momentum=0, found True: it requires a momentum above 0"),
    ("RMSprop", {"cautious": True}, "^cautious: expected False beside momentum=0, found True"),
    ("ASGD", {"t0": NAN}, "^t0: expected a number of steps, which may be infinite, found nan"),
    ("Rprop", {"step_sizes": (NAN, 1)}, "^step_sizes: expected the smallest, .* found nan, 1"),
    ("Rprop", {"step_sizes": (5, 1)}, "^step_sizes: expected the smallest, .* found 5, 1"),
    ("Rprop", {"step_sizes": (-1, 1)}, "^step_sizes: expected the smallest, .* found -1, 1"),
    ("AdaBelief", {"fixed_decay": True, "weight_decouple": False}, "^fixed_decay: expected False beside weight_decouple=False"),
])
def test_values_out_of_range(name, options, message):
    with pytest.raises(heddle.BadInput, match=message):
        support.heddle_class(name)([fresh()], **options)
    optimizer = support.heddle_class(name)([fresh()])
    with pytest.raises(heddle.BadInput, match=message):
        optimizer.add_param_group(fresh(**options))
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("name", ["SGD", "LARS"])
def test_nesterov_needs_a_momentum_in_the_constructor_only(name):
    """As in PyTorch: a group may have a momentum of 0."""
    with pytest.raises(heddle.BadInput, match="requires a momentum and zero dampening, found momentum=0, dampening=0"):
        support.heddle_class(name)([fresh()], momentum=0, nesterov=True)
    optimizer = support.heddle_class(name)([fresh()], momentum=0)
    optimizer.add_param_group(fresh(nesterov=True))
    assert len(optimizer.param_groups) == 2


@pytest.mark.parametrize("warmup", [None, 0, 5, 2.5])
def test_warmups_of_ademamix(warmup):
    heddle.optim.AdEMAMix([fresh()], alpha_warmup=warmup, beta3_warmup=warmup)
