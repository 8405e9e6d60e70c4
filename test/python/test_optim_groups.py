"""Parameter groups, hyperparameters, gradients that are None, and schedulers."""

import copy
import inspect
import os
import re
import sys
import warnings

import numpy
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from heddle.optim import _programs  # noqa: E402

@pytest.fixture(autouse=True)
def keep_executables(monkeypatch):
    """So that a new one is one more."""
    monkeypatch.setattr(_programs, "EXECUTABLES", 10**6)


DEVICES = pytest.mark.parametrize("device", support.devices())
NAMES = pytest.mark.parametrize("name", support.NAMES)


def executables():
    """The number of programs that optimizers have compiled; on the cpu target no counter of the library has it."""
    return len(_programs._executables)


def grouped(params, name):
    first, second = params[::2], params[1::2]
    options = [dict(lr=0.05, weight_decay=0.1), dict(lr=0.01)]
    if name == "SGD":
        options[0]["momentum"] = options[1]["momentum"] = 0.9
    else:
        options[1]["betas"] = (0.8, 0.9)
    return [dict(params=first, **options[0]), dict(params=second, **options[1])]


def both(name, params, others, **options):
    ours = support.heddle_class(name)(grouped(params, name), **options)
    theirs = getattr(torch.optim, name)(grouped(others, name), foreach=False, **options)
    return ours, theirs


def parts(optimizer):
    return [part for each in optimizer._parts.values() for part in each]


@DEVICES
@NAMES
def test_groups_are_one_launch(name, device):
    params = support.parameters(device)
    others = support.copies(params)
    ours, theirs = both(name, params, others)
    support.run(ours, theirs, params, others, 5)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))
    assert len(parts(ours)) == 1


@DEVICES
@NAMES
def test_element_types_are_one_launch(name, device):
    params = support.parameters(device, torch.float32) + support.parameters(device, torch.float64, seed=1)
    params[2:4] = support.parameters(device, torch.bfloat16, seed=2)[2:4]
    others = [torch.nn.Parameter(each.detach().double().clone()) for each in params]
    ours = support.heddle_class(name)(params, lr=0.1)
    theirs = getattr(torch.optim, name)(others, lr=0.1, foreach=False)
    support.set_gradients(params)
    for param, other in zip(params, others):
        other.grad = param.grad.double()
    ours.step()
    theirs.step()
    for param, other in zip(params, others):
        torch.testing.assert_close(param, other.to(param.dtype))
        for value in ours.state[param].values():
            assert value.dtype == param.dtype or value.shape == ()
    assert len(parts(ours)) == 1


@DEVICES
def test_groups_with_other_options(device):
    """amsgrad and momentum decide about state: groups are stepped in two launches."""
    for name, option, values in (("Adam", "amsgrad", (True, False)), ("SGD", "momentum", (0.9, 0))):
        params = support.parameters(device)
        others = support.copies(params)
        split = [[dict(params=each[:3], **{option: values[0]}), dict(params=each[3:], **{option: values[1]})]
                 for each in (params, others)]
        ours = support.heddle_class(name)(split[0], lr=0.1)
        theirs = getattr(torch.optim, name)(split[1], lr=0.1, foreach=False)
        support.run(ours, theirs, params, others, 4)
        support.assert_same_params(params, others, **support.tolerance(torch.float32))
        support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))
        assert len(parts(ours)) == 2


@DEVICES
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("name, option, value", [
    ("SGD", "maximize", True), ("SGD", "nesterov", True), ("SGD", "momentum", 0), ("Adam", "maximize", True),
    ("Adam", "decoupled_weight_decay", True), ("AdamW", "maximize", True),
])
def test_an_option_that_changes_in_one_group(name, option, value, place, device):
    """The groups are one launch before, and two launches afterwards."""
    params = support.parameters(device)
    others = support.copies(params)
    ours, theirs = both(name, params, others)
    support.run(ours, theirs, params, others, 2)
    assert len(parts(ours)) == 1
    for optimizer in (ours, theirs):
        optimizer.param_groups[place][option] = value
    support.run(ours, theirs, params, others, 3, 2)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    assert len(parts(ours)) == 2


@DEVICES
def test_a_momentum_that_becomes_zero_with_nesterov(device):
    """Without momentum there is nothing to look ahead with: torch ignores the option."""
    params = support.parameters(device)
    ours, theirs, others = support.pair("SGD", params, lr=0.1, momentum=0.9, nesterov=True)
    for step, momentum in enumerate((0.9, 0, 0.5)):
        for optimizer in (ours, theirs):
            optimizer.param_groups[0]["momentum"] = momentum
        support.run(ours, theirs, params, others, 1, step)
        support.assert_same_params(params, others, **support.tolerance(torch.float32))


@DEVICES
def test_a_group_without_momentum_beside_nesterov(device):
    """torch checks the arguments of the constructor only."""
    params = support.parameters(device)
    others = support.copies(params)
    optimizers = []
    for cls, own in ((heddle.optim.SGD, params), (torch.optim.SGD, others)):
        groups = [{"params": own[:2], "momentum": 0.0}, {"params": own[2:3]}]
        optimizers.append(cls(groups, lr=0.1, momentum=0.9, nesterov=True))
        optimizers[-1].add_param_group({"params": own[3:], "momentum": 0})
        with pytest.raises(ValueError, match="Nesterov momentum requires a momentum"):
            cls(own, lr=0.1, nesterov=True)
    support.run(*optimizers, params, others, 3)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


@DEVICES
@NAMES
def test_add_param_group(name, device):
    params = support.parameters(device)
    others = support.copies(params)
    ours = support.heddle_class(name)(params[:3], lr=0.1)
    theirs = getattr(torch.optim, name)(others[:3], lr=0.1, foreach=False)
    support.run(ours, theirs, params, others, 3)
    ours.add_param_group(dict(params=params[3:], lr=0.02))
    theirs.add_param_group(dict(params=others[3:], lr=0.02))
    support.run(ours, theirs, params, others, 3, 3)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


def test_add_param_group_refuses_bad_values():
    params = support.parameters()
    optimizer = heddle.optim.AdamW(params[:3])
    with pytest.raises(ValueError, match="Invalid beta parameter at index 1: 1.5"):
        optimizer.add_param_group(dict(params=params[3:], betas=(0.5, 1.5)))
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("wrong", [{"lr": "x"}, {"lr": -1}, {"foreach": True, "fused": True}, {"betas": (0.9,)}])
def test_a_refused_group_is_not_added(wrong):
    params = support.parameters()
    optimizer = heddle.optim.AdamW(params[:3])
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        optimizer.add_param_group(dict(params=params[3:], **wrong))
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("betas", [(0.5,), (0.5, 0.5, 0.5), 0.5, None])
def test_entries_of_another_number_of_values(betas):
    message = f"^{re.escape(f'betas: expected 2 numbers, found {betas!r}')}$"
    params = support.parameters()
    with pytest.raises(heddle.BadInput, match=message):
        heddle.optim.AdamW(params, betas=betas)
    optimizer = heddle.optim.AdamW(params[:3])
    with pytest.raises(heddle.BadInput, match=message):
        optimizer.add_param_group(dict(params=params[3:], betas=betas))
    support.set_gradients(params)
    optimizer.step()
    before = [param.detach().clone() for param in params]
    optimizer.param_groups[0]["betas"] = betas
    with pytest.raises(heddle.BadInput, match=message):
        optimizer.step()
    assert all(torch.equal(old, param) for old, param in zip(before, params))


def test_named_parameters():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    optimizer = heddle.optim.AdamW(model.named_parameters())
    assert optimizer.param_groups[0]["param_names"][0] == "0.weight"
    assert optimizer.state_dict()["param_groups"][0]["param_names"][0] == "0.weight"
    model(torch.ones(3)).sum().backward()
    optimizer.step()
    model[1].weight.data = torch.zeros(5, 4)
    model[1].weight.grad = torch.zeros(5, 4)
    with pytest.raises(heddle.BadInput, match=r"parameter '1.weight': expected shape \(2, 4\).*found \(5, 4\)"):
        optimizer.step()


@DEVICES
@NAMES
def test_gradients_that_are_none(name, device):
    """A parameter without gradient is skipped at any step: state is created at its first gradient, as in torch."""
    options = dict(lr=0.1, **({"momentum": 0.9, "dampening": 0.4} if name == "SGD" else {"amsgrad": True}))
    params = support.parameters(device)
    ours, theirs, others = support.pair(name, params, **options)
    skipped = [(0, 1, 2, 3, 4, 5, 6), (1, 4), (), (0, 1, 2), (1,), (), (6,)]
    for step in range(len(skipped)):
        support.run(ours, theirs, params, others, 1, step, lambda step: skipped[step])
        support.assert_same_params(params, others, **support.tolerance(torch.float32))
        support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


@DEVICES
@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad(device, set_to_none):
    params = support.parameters(device)
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    for step in range(4):
        for each, optimizer in ((params, ours), (others, theirs)):
            optimizer.zero_grad(set_to_none=set_to_none)
            sum((param * (step + 1) * param).sum() for param in each).backward()
            optimizer.step()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    if set_to_none:
        ours.zero_grad()
        assert all(param.grad is None for param in params)


@pytest.mark.parametrize("copied", [False, True])
def test_gradients_are_not_kept_alive(copied):
    """Also not those that a step has to copy."""
    import gc
    import weakref

    params = support.parameters()
    if copied:
        params = [torch.nn.Parameter(torch.randn(4, 6)[:, 1:3]), torch.nn.Parameter(torch.randn(4, 6).t())]
    optimizer = heddle.optim.AdamW(params)
    support.set_gradients(params)
    optimizer.step()
    gradients = [weakref.ref(param.grad) for param in params]
    optimizer.zero_grad()
    gc.collect()
    assert all(each() is None for each in gradients)


SCHEDULERS = {
    "StepLR": lambda module, optimizer: module.StepLR(optimizer, 2),
    "MultiStepLR": lambda module, optimizer: module.MultiStepLR(optimizer, [2, 4]),
    "ExponentialLR": lambda module, optimizer: module.ExponentialLR(optimizer, 0.9),
    "ConstantLR": lambda module, optimizer: module.ConstantLR(optimizer, 0.3, 3),
    "LinearLR": lambda module, optimizer: module.LinearLR(optimizer, 0.1, total_iters=4),
    "PolynomialLR": lambda module, optimizer: module.PolynomialLR(optimizer, 6, 2.0),
    "LambdaLR": lambda module, optimizer: module.LambdaLR(optimizer, lambda step: 1 / (step + 1)),
    "MultiplicativeLR": lambda module, optimizer: module.MultiplicativeLR(optimizer, lambda step: 0.9),
    "CosineAnnealingLR": lambda module, optimizer: module.CosineAnnealingLR(optimizer, 6),
    "CosineAnnealingWarmRestarts": lambda module, optimizer: module.CosineAnnealingWarmRestarts(optimizer, 3),
    "CyclicLR": lambda module, optimizer: module.CyclicLR(optimizer, 0.01, 0.1, 2),
    "OneCycleLR": lambda module, optimizer: module.OneCycleLR(optimizer, 0.1, total_steps=8),
    "ReduceLROnPlateau": lambda module, optimizer: module.ReduceLROnPlateau(optimizer, patience=0),
    "SequentialLR": lambda module, optimizer: module.SequentialLR(
        optimizer, [module.ConstantLR(optimizer, 0.1, 2), module.ExponentialLR(optimizer, 0.9)], [2]
    ),
    "ChainedScheduler": lambda module, optimizer: module.ChainedScheduler(
        [module.ConstantLR(optimizer, 0.1, 2), module.ExponentialLR(optimizer, 0.9)]
    ),
}


def test_every_scheduler_is_tested():
    module = torch.optim.lr_scheduler
    known = {name for name in module.__all__ if isinstance(getattr(module, name), type)}
    # SWALR is in torch.optim.swa_utils; LRScheduler is the base class.
    assert known - {"LRScheduler"} <= set(SCHEDULERS)


@DEVICES
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_schedulers(scheduler, device):
    """Every scheduler writes hyperparameters into the groups; no step compiles anything."""
    params = support.parameters(device)
    others = support.copies(params)
    ours, theirs = both("AdamW", params, others)
    support.run(ours, theirs, params, others, 1)
    before = (executables(), support.compilations())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schedules = [SCHEDULERS[scheduler](torch.optim.lr_scheduler, each) for each in (ours, theirs)]
        for step in range(1, 7):
            support.run(ours, theirs, params, others, 1, step)
            for schedule in schedules:
                schedule.step(*([1.0] if scheduler == "ReduceLROnPlateau" else []))
    assert ours.param_groups[0]["lr"] == theirs.param_groups[0]["lr"]
    assert (executables(), support.compilations()) == before
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


@DEVICES
def test_hyperparameters_never_compile(device):
    """Betas above 0.5, lr and eps never do. An option, such as a first weight decay, does once."""
    params = support.parameters(device)
    ours, theirs, others = support.pair("AdamW", params, lr=0.1, weight_decay=0.0)
    support.run(ours, theirs, params, others, 1)
    before = executables()
    changes = [("betas", (0.51, 0.6)), ("eps", 0.1), ("lr", 0.3), ("lr", 1), ("lr", torch.tensor(0.2))]
    for step, (name, value) in enumerate(changes, 1):
        for optimizer in (ours, theirs):
            optimizer.param_groups[0][name] = value
        support.run(ours, theirs, params, others, 1, step)
    assert executables() == before
    for step, decay in enumerate((0.1, 0.2, 0.0, 0.3), 6):
        for optimizer in (ours, theirs):
            optimizer.param_groups[0]["weight_decay"] = decay
        support.run(ours, theirs, params, others, 1, step)
    assert executables() <= before + 1
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


def test_a_first_beta_of_at_most_a_half_compiles_once():
    """torch.lerp rounds in another way then. The program for it serves all betas."""
    params = support.parameters()
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    schedulers = [
        torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=12, base_momentum=0.3, max_momentum=0.9)
        for optimizer in (ours, theirs)
    ]
    before, seen = None, set()
    for step in range(12):
        support.run(ours, theirs, params, others, 1, step)
        before = executables() if before is None else before
        seen.add(executables() - before)
        for scheduler in schedulers:
            scheduler.step()
    assert seen == {0, 1} and ours._parts[False][0].form.options.count(("beta1", True)) == 1
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


def test_hyperparameters_that_change_in_place():
    params = support.parameters()
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    for optimizer in (ours, theirs):
        optimizer.param_groups[0]["betas"] = [0.9, 0.999]
    for step in range(3):
        support.run(ours, theirs, params, others, 1, step)
        for optimizer in (ours, theirs):
            optimizer.param_groups[0]["betas"][0] -= 0.2
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


@DEVICES
def test_amsgrad_turned_on_later(device):
    params = support.parameters(device)
    optimizer = heddle.optim.Adam(params)
    support.set_gradients(params)
    optimizer.step()
    optimizer.param_groups[0]["amsgrad"] = True
    optimizer.step()
    assert all("max_exp_avg_sq" in optimizer.state[param] for param in params)


@DEVICES
def test_learning_rate_as_tensor(device):
    """A tensor on the device is read in every step, also after a change in place."""
    rate = torch.tensor(0.1, dtype=torch.float64, device=device)
    params = support.parameters(device, torch.float64)
    others = support.copies(params)
    ours = heddle.optim.AdamW(params, lr=rate)
    theirs = torch.optim.AdamW(others, lr=rate, foreach=False)
    for step in range(4):
        support.run(ours, theirs, params, others, 1, step)
        rate.mul_(0.5)
    support.assert_same_params(params, others, **support.tolerance(torch.float64))
    ours.param_groups[0]["lr"] = theirs.param_groups[0]["lr"] = 0.01
    support.run(ours, theirs, params, others, 1, 9)
    support.assert_same_params(params, others, **support.tolerance(torch.float64))


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
@pytest.mark.parametrize("options", [
    dict(lr=torch.tensor(0.1)),
    dict(betas=(torch.tensor(0.8), torch.tensor(0.9))),
    dict(lr=torch.tensor([0.1, 0.2])),
], ids=str)
@pytest.mark.parametrize("settings", [
    {}, dict(foreach=False), dict(foreach=True), dict(foreach=True, capturable=True),
], ids=str)
def test_tensors_are_refused_where_torch_refuses_them(name, options, settings):
    def error(owner):
        try:
            getattr(owner, name)([torch.nn.Parameter(torch.ones(2))], **options, **settings)
        except Exception as error:
            return type(error), str(error)

    assert error(heddle.optim) == error(torch.optim)


@DEVICES
@NAMES
def test_numbers_of_numpy(name, device):
    """Scalars of NumPy are numbers, as options of the constructor and in groups that change later."""
    options = dict(lr=numpy.float32(0.5), weight_decay=numpy.float64(0.25))
    options.update({"momentum": numpy.float16(0.5)} if name == "SGD" else {"eps": numpy.float32(0.125)})
    params = support.parameters(device)
    ours, theirs, others = support.pair(name, params, **options)
    heddle.optim.chain(clip_grad_norm=numpy.float32(2), optimizer=ours)
    assert ours.clip_grad_norm == 2.0
    for step in range(3):
        support.set_gradients(params, others, step)
        torch.nn.utils.clip_grad_norm_(others, 2.0, foreach=False)
        ours.step()
        theirs.step()
        ours.param_groups[0]["lr"] = theirs.param_groups[0]["lr"] = numpy.float64(0.25)
        ours.clip_grad_norm = numpy.int64(2)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    for bad in ("1", True, -1.0, float("nan"), numpy.ones(2), [1.0], 1j):
        with pytest.raises(heddle.BadInput, match="^clip_grad_norm: expected a number of at least 0 or None"):
            ours.clip_grad_norm = bad


@NAMES
@pytest.mark.parametrize("place", ["set_default_device", "device", "set_default_dtype"])
def test_defaults_of_torch(name, place):
    """Neither a default device nor a default type for new tensors changes a step."""
    def run(params):
        groups = [dict(params=params[::2], lr=0.1), dict(params=params[1::2])]
        optimizer = support.heddle_class(name)(groups, lr=0.05)
        for step in range(3):
            for param in params:
                param.grad = torch.ones_like(param)
            if step == 1:
                heddle.optim.chain(clip_grad_norm=1.0, optimizer=optimizer)
            if step == 2:
                optimizer.grad_scale = torch.tensor(2.0, device="cpu", dtype=torch.float32)
            optimizer.step()
        return optimizer

    params = [torch.nn.Parameter(torch.randn(3, device="cpu", dtype=torch.float32)) for _ in range(4)]
    others = support.copies(params)
    run(others)
    if place == "device":
        with torch.device("meta"):
            ours = run(params)
    else:
        before = None if place == "set_default_device" else torch.get_default_dtype()
        getattr(torch, place)("meta" if before is None else torch.float64)
        try:
            ours = run(params)
        finally:
            getattr(torch, place)(before)
    support.assert_same_params(params, others, rtol=0, atol=0)
    for state in ours.state.values():
        for key, value in state.items():
            # As with fused=True, whatever the default type is.
            assert value.dtype == torch.float32 and value.device.type == "cpu", key


@DEVICES
def test_replaced_parameters(device):
    """A group may get another list of parameters, or another parameter in its list, between steps."""
    params = support.parameters(device)
    optimizer = heddle.optim.SGD(params[:3], lr=1.0)
    support.set_gradients(params)
    optimizer.step()
    before = [param.detach().clone() for param in params]
    optimizer.param_groups[0]["params"] = params[3:]
    optimizer.step()
    optimizer.param_groups[0]["params"][0] = params[0]
    optimizer.step()
    changes = [1, 0, 0, 1, 2, 2, 2]
    for param, old, count in zip(params, before, changes):
        torch.testing.assert_close(param.detach(), old - count * param.grad)


def test_replaced_parameters_between_scaled_steps():
    """Steps with and without a GradScaler have launches of their own; both follow the groups."""
    params = support.parameters()
    optimizer = heddle.optim.SGD(params[:3], lr=1.0)
    support.set_gradients(params)
    before = [param.detach().clone() for param in params]
    one = torch.ones(())
    for scaled, chosen in ((False, params[:3]), (True, params[3:]), (False, params[3:]), (True, params[:3])):
        optimizer.param_groups[0]["params"] = chosen
        optimizer.grad_scale = one if scaled else None
        optimizer.step()
    for param, old in zip(params, before):
        torch.testing.assert_close(param.detach(), old - 2 * param.grad)


@NAMES
def test_parameters_of_lazy_modules(name):
    """They have no shape before the first forward pass; the optimizer may step without them."""
    def run(owner):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LazyLinear(2))
        optimizer = getattr(owner, name)(model.parameters(), lr=0.1)
        model[0].weight.grad = torch.ones(3, 4)
        optimizer.step()
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(2, 4)).square().sum().backward()
            optimizer.step()
        return list(model.parameters())

    support.assert_same_params(run(heddle.optim), run(torch.optim), **support.tolerance(torch.float32))


def test_clipping_that_is_turned_off():
    """No step returns a norm of an earlier one."""
    params = support.parameters()
    optimizer = heddle.optim.chain(clip_grad_norm=1.0, optimizer=heddle.optim.SGD(params))
    support.set_gradients(params)
    assert optimizer.step() > 0 and optimizer.grad_norm > 0
    optimizer.clip_grad_norm = 2.0
    assert optimizer.grad_norm > 0
    optimizer.clip_grad_norm = None
    assert optimizer.grad_norm is None and optimizer.step() is None


def test_no_parameters():
    optimizer = heddle.optim.chain(clip_grad_norm=1.0, optimizer=heddle.optim.AdamW([dict(params=[])]))
    assert float(optimizer.step()) == 0
    optimizer.add_param_group(dict(params=support.parameters()))
    assert float(optimizer.step()) == 0


@NAMES
def test_unknown_arguments(name):
    """The message has the name of the optimizer or function, and its arguments."""
    make, function = support.heddle_class(name), getattr(heddle.optim.functional, name.lower())
    unexpected = rf"^{name}\(\) got an unexpected keyword argument 'rate'; its arguments are params, lr"
    with pytest.raises(TypeError, match=unexpected):
        make([torch.nn.Parameter(torch.ones(2))], rate=1)
    missing = rf"^{name.lower()}\(\) missing a required argument: '.*'; its arguments are params"
    with pytest.raises(TypeError, match=missing):
        function([], [])


class Refusing:
    """Raises an exception when it is tested, compared or converted."""

    def _refuse(self, *arguments):
        raise NotImplementedError("not today")

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __float__ = __len__ = __repr__ = _refuse
    __hash__ = object.__hash__


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("wrong", ["fast", None, Refusing(), object()])
def test_values_that_are_no_numbers_are_named(name, wrong):
    """When the optimizer is made, when a group is added, and in a step."""
    def made(**settings):
        param = torch.nn.Parameter(torch.ones(3))
        param.grad = torch.ones(3)
        return getattr(heddle.optim, name)([{"params": [param], **settings}])

    numbers = {"lr", "weight_decay", *(["momentum"] if name == "SGD" else ["eps", "betas"])}
    for key in numbers:
        with pytest.raises((heddle.BadInput, TypeError), match=f"^{key}"):
            made(**{key: wrong})
        optimizer = made()
        optimizer.step()
        optimizer.param_groups[0][key] = wrong
        param = optimizer.param_groups[0]["params"][0]
        before = param.detach().clone()
        with pytest.raises((heddle.BadInput, TypeError), match=f"^{key}|^beta1"):
            optimizer.step()
        assert torch.equal(param, before)


@pytest.mark.parametrize("wrong", [Refusing(), numpy.ones(2), torch.ones(2)])
def test_an_ignored_option_that_cannot_be_tested_is_named(wrong):
    """The option says whether a parameter may need a gradient of its step."""
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    optimizer = heddle.optim.SGD([param])
    optimizer.param_groups[0]["differentiable"] = wrong
    with pytest.raises(TypeError, match="^differentiable: expected True or False"):
        optimizer.step()


@pytest.mark.parametrize("name", ("float8_e4m3fn", "float8_e5m2", "uint16", "bfloat16"))
def test_a_learning_rate_of_any_real_type(name):
    if not hasattr(torch, name):
        pytest.skip(f"this PyTorch has no {name}")
    params = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    for param, lr in zip(params, (torch.tensor(2.0).to(getattr(torch, name)), 2.0)):
        param.grad = torch.ones(3)
        heddle.optim.SGD([param], lr=lr).step()
    assert torch.equal(*params)
    if name.startswith("float8"):
        with pytest.raises(ValueError, match="Invalid learning rate: "):
            heddle.optim.SGD([params[0]], lr=torch.tensor(-2.0).to(getattr(torch, name)))


@pytest.mark.parametrize("wrong", [Refusing(), numpy.ones(2), "no", "", 2, 0.5, None, [True]])
def test_options_that_are_neither_true_nor_false_are_named(wrong):
    flags = (("SGD", "nesterov"), ("SGD", "maximize"), ("AdamW", "amsgrad"), ("AdamW", "cautious"), ("ADOPT", "clip"),
             ("AdaBelief", "rectify"), ("Prodigy", "safeguard_warmup"))
    for name, option in flags:
        param = torch.nn.Parameter(torch.ones(3))
        param.grad = torch.ones(3)
        with pytest.raises(TypeError, match=f"^{option}: expected True or False"):
            getattr(heddle.optim, name)([param], **{option: wrong})
        optimizer = getattr(heddle.optim, name)([param])
        optimizer.step()
        optimizer.param_groups[0][option] = wrong
        with pytest.raises(TypeError, match=f"^{option}: expected True or False"):
            optimizer.step()


@pytest.mark.parametrize("value", [True, False, 1, 0, numpy.bool_(True), numpy.bool_(False), numpy.int64(1), torch.tensor(True)],
                         ids=repr)
def test_options_that_are_true_or_false(value):
    params = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    for param in params:
        param.grad = torch.ones(3)
    heddle.optim.AdamW(params[:1], maximize=value).step()
    torch.optim.AdamW(params[1:], maximize=bool(value)).step()
    torch.testing.assert_close(*params)


def test_parameters_that_the_caller_replaced_by_something_else():
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    optimizer = heddle.optim.AdamW([param])
    optimizer.step()
    for wrong in ("ab", 5, [1.0], [None], [numpy.ones(3)], None):
        optimizer.param_groups[0]["params"] = wrong
        with pytest.raises(heddle.BadInput, match="^params: expected a list of tensors in group 0, found"):
            optimizer.step()
    optimizer.param_groups[0]["params"] = [param]
    optimizer.step()


def test_options_of_a_rule_are_plain_values():
    @heddle.rule
    def descend(p, g, *, lr=0.1, mode="plain", limit=None):
        return p - lr * (heddle.sign(g) if mode == "sign" else g if limit is None else heddle.minimum(g, limit))

    def made(**settings):
        param = torch.nn.Parameter(torch.ones(3))
        param.grad = torch.ones(3)
        return descend([param], **settings)

    for wrong in (numpy.ones(2), ["sign"], {}, Refusing(), torch.ones(3)):
        for name in ("mode", "limit"):
            with pytest.raises(heddle.BadInput, match=f"descend: expected .* for the option '{name}'"):
                made(**{name: wrong})
            optimizer = made()
            optimizer.step()
            optimizer.param_groups[0][name] = wrong
            with pytest.raises(TypeError, match=f"^{name}: expected a bool, a string, a number or None, found"):
                optimizer.step()


def test_parameters_and_state_of_strange_kinds():
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    optimizer = heddle.optim.Adam([param])
    optimizer.step()
    quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(1)])
    for key in ("exp_avg", "step"):
        kept = optimizer.state[param][key]
        for wrong, kind in ((quantized, "quantized"), (nested, "nested")):
            optimizer.state[param][key] = wrong
            with pytest.raises(heddle.BadInput, match=f"state '{key}' of parameter 0 of group 0: .* found a {kind} one"):
                optimizer.step()
        optimizer.state[param][key] = kept
    param.data = torch._efficientzerotensor((3,))
    with pytest.raises(heddle.BadInput, match="parameter 0 of group 0: expected elements in memory"):
        optimizer.step()


def test_functions_refuse_what_is_no_list():
    from heddle.optim.functional import sgd

    rest = dict(momentum=0, dampening=0, lr=0.1, weight_decay=0, nesterov=False, maximize=False)
    for wrong in (numpy.ones(2), torch.ones(2), "ab", None, Refusing()):
        with pytest.raises(TypeError, match="^sgd: params: expected a list of tensors, found"):
            sgd(wrong, [torch.ones(2)], [None], **rest)
    with pytest.raises(heddle.BadInput, match=r"^sgd: params\[0\]: expected a dense tensor"):
        sgd([torch.ones(2, 2).to_sparse_csr()], [torch.ones(2, 2)], [None], **rest)


def test_groups_and_state_that_the_caller_damaged():
    def damaged(change):
        param = torch.nn.Parameter(torch.ones(3))
        param.grad = torch.ones(3)
        optimizer = heddle.optim.AdamW([param])
        optimizer.step()
        change(optimizer, param)
        before = param.detach().clone()
        with pytest.raises(heddle.BadInput) as caught:
            optimizer.step()
        assert torch.equal(param, before)
        return str(caught.value)

    for change, message in (
        (lambda each, param: each.param_groups[0].pop("lr"), "param_groups[0]: expected an entry 'lr', found none beside"),
        (lambda each, param: each.param_groups[0].pop("params"), "param_groups[0]: expected an entry 'params'"),
        (lambda each, param: each.param_groups.append({}), "param_groups[1]: expected an entry 'params', found none"),
        (lambda each, param: each.param_groups.append(None), "param_groups: expected a list of dictionaries, found"),
        (lambda each, param: setattr(each, "param_groups", None), "param_groups: expected a list of dictionaries"),
        (lambda each, param: setattr(each, "state", None), "state: expected a dictionary, found NoneType"),
        (lambda each, param: each.state.update({param: [1]}), "state: expected a dictionary for each parameter, found list"),
        (
            lambda each, param: each.state[param].update(exp_avg=None),
            "state 'exp_avg' of parameter 0 of group 0: expected a tensor of shape (3,), found none beside 'exp_avg_sq', 'step'",
        ),
        (
            lambda each, param: each.state[param].update(step=None),
            "state 'step' of parameter 0 of group 0: expected one value, found none beside",
        ),
    ):
        assert damaged(change).startswith(message)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_the_initial_sum_of_adagrad_is_that_of_the_constructor(dtype):
    """PyTorch ignores the entry of a group, also of one that is added, loaded, changed or copied."""
    entry = "initial_accumulator_value"
    if "full_like" not in inspect.getsource(torch.optim.Adagrad._init_group):
        pytest.skip("this PyTorch makes no state of Adagrad in a step")

    def sums(module):
        made = [torch.nn.Parameter(torch.ones(2, dtype=dtype)) for _ in range(3)]
        groups = [{"params": made[:1]}, {"params": made[1:2], entry: 0.5}]
        optimizer = module.Adagrad(groups, foreach=False, **{entry: 0.25})
        optimizer.add_param_group({"params": made[2:], entry: 0.75})
        entries = [group[entry] for group in optimizer.param_groups]
        optimizer.param_groups[0][entry] = 1.0
        saved = optimizer.state_dict()
        saved["state"] = {}
        saved["param_groups"][1][entry] = 0.125
        for step in range(4):
            if step == 1:
                optimizer.load_state_dict(saved)
            if step == 2:
                optimizer.state.clear()
            if step == 3:
                optimizer = copy.deepcopy(optimizer)
                optimizer.state.clear()
            params = [param for group in optimizer.param_groups for param in group["params"]]
            for param in params:
                param.grad = torch.full((2,), 0.5, dtype=dtype)
            optimizer.step()
            yield entries, [optimizer.state[param]["sum"].tolist() for param in params], [param.tolist() for param in params]

    for ours, theirs in zip(sums(heddle.optim), sums(torch.optim)):
        assert ours == theirs
