"""The first value of an average and of a momentum buffer: also on earlier state, after skipped steps, in copies and loads.

The reference is PyTorch's `AveragedModel`, one for each parameter, over parameters that the formula in NumPy steps, or
PyTorch's optimizer where there is none. It does not see skipped steps.
"""

import copy
import inspect
import os
import pickle
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import numpy  # noqa: E402
from optim_formulas import FORMULAS, SUMS  # noqa: E402

import heddle.optim  # noqa: E402
from heddle.optim._table import SPECS  # noqa: E402

DECAY = 0.75
SHAPES = ((3, 4), (), (0,), (50,))
DEVICES = pytest.mark.parametrize("device", support.devices())
RULES = pytest.mark.parametrize("name", SPECS)
#: The rules whose momentum buffer starts with the undamped gradient.
DAMPED = ("SGD", "LARS")
OPTIONS = {name: dict(lr=0.05, momentum=0.5, dampening=0.25) for name in DAMPED}


class Holder(torch.nn.Module):
    def __init__(self, value):
        super().__init__()
        self.param = torch.nn.Parameter(value)


class Reference:
    """Steps of all parameters, each with an average; both start with the first gradient of a parameter."""

    def __init__(self, name, params, options):
        self.name, self.options = name, options
        self.models = [Holder(param.detach().clone().cpu().double()) for param in params]
        self.averages = [None] * len(params)
        self.states, self.steps = [{} for _ in params], [0] * len(params)
        self.optimizer = None
        if name not in FORMULAS:
            self.optimizer = getattr(torch.optim, name)([model.param for model in self.models], foreach=False, **options)

    def step(self, grads, averages):
        grads = [None if grad is None else grad.detach().cpu().double() for grad in grads]
        if self.optimizer is None:
            self._formula([None if grad is None else grad.numpy() for grad in grads])
        else:
            for model, grad in zip(self.models, grads):
                model.param.grad = grad
            self.optimizer.step()
        for place, (model, grad) in enumerate(zip(self.models, grads)):
            if averages and grad is not None:
                if self.averages[place] is None:
                    self.averages[place] = torch.optim.swa_utils.AveragedModel(
                        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(DECAY))
                self.averages[place].update_parameters(model)

    def _formula(self, grads):
        formula, _ = FORMULAS[self.name]
        arrays = [model.param.detach().numpy() for model in self.models]
        extra = {}
        if "whole" in inspect.signature(formula).parameters:
            squares = sum(numpy.sum(grad**2) for grad in grads if grad is not None)
            extra["whole"] = lambda: numpy.sqrt(squares)
        if self.name in SUMS:
            stepped = [place for place, grad in enumerate(grads) if grad is not None]
            extra["sums"] = sum(
                SUMS[self.name](arrays[place], grads[place], self.states[place], **self.options) for place in stepped)
        for place, (array, grad) in enumerate(zip(arrays, grads)):
            if grad is not None:
                self.steps[place] += 1
                new = formula(self.steps[place], array, grad, self.states[place], **self.options, **extra)
                with torch.no_grad():
                    self.models[place].param.copy_(torch.from_numpy(numpy.asarray(new)))


class Run:
    """An optimizer of heddle and its reference, which take the same steps."""

    def __init__(self, name, device="cpu", dtype=torch.float64, **options):
        self.name, self.options = name, {**OPTIONS.get(name, {}), **options}
        self.params = support.parameters(device, dtype, SHAPES)
        self.reference = Reference(name, self.params, self.options)
        self.optimizer = self.make(self.params)
        self.averages = False
        self.count = 0

    def make(self, params):
        return getattr(heddle.optim, self.name)(params, **self.options)

    def average(self):
        heddle.optim.chain(ema=DECAY, optimizer=self.optimizer)
        self.averages = True

    def step(self, count=1, *, without=(), skips=False, scaled=False):
        for _ in range(count):
            self.count += 1
            support.set_gradients(self.params, step=self.count, skip=without)
            device = self.params[0].device
            if skips or scaled:
                self.optimizer.grad_scale = torch.tensor(2.0, device=device)
                self.optimizer.found_inf = torch.tensor(float(skips), device=device)
            grads = [None if param.grad is None else param.grad.clone() for param in self.params]
            if skips or scaled:
                for param in self.params:
                    if param.grad is not None:
                        param.grad *= 2
            self.optimizer.step()
            self.optimizer.grad_scale = self.optimizer.found_inf = None
            if not skips:
                self.reference.step(grads, self.averages)

    def copy(self, how):
        """Goes on with a copy of the optimizer, or with one that loads its state."""
        if how == "same":
            return
        if how == "state_dict":
            params = support.copies(self.params)
            other = self.make(params)
            if self.averages:
                heddle.optim.chain(ema=DECAY, optimizer=other)
            other.load_state_dict(pickle.loads(pickle.dumps(self.optimizer.state_dict())))
            self.optimizer = other
        else:
            self.optimizer = {"deepcopy": copy.deepcopy, "pickle": lambda each: pickle.loads(pickle.dumps(each))}[how](
                self.optimizer)
        self.params = [param for group in self.optimizer.param_groups for param in group["params"]]

    def check(self):
        close = dict(rtol=2e-5, atol=2e-6)
        for param, model, average in zip(self.params, self.reference.models, self.reference.averages):
            torch.testing.assert_close(param.detach().cpu().double(), model.param.detach(), **close)
            found = self.optimizer.state.get(param, {}).get("ema")
            if average is not None:
                torch.testing.assert_close(found.cpu().double(), average.module.param.detach(), **close)
        assert [average is not None for average in self.reference.averages] == [
            "ema" in self.optimizer.state_dict()["state"].get(place, {}) for place in range(len(self.params))]


COPIES = pytest.mark.parametrize("how", ["same", "deepcopy", "pickle", "state_dict"])


@DEVICES
@RULES
def test_an_average_of_state_that_is_there(name, device):
    run = Run(name, device)
    run.step(3, without=(1,))
    run.average()
    run.step(1, without=(0,))
    run.check()
    run.step(3)
    run.check()


@DEVICES
@RULES
@pytest.mark.parametrize("how", ["deepcopy", "pickle", "state_dict"])
def test_an_average_of_loaded_state(name, how, device):
    run = Run(name, device)
    run.step(3)
    run.copy(how)
    run.average()
    run.step()
    run.check()
    run.copy(how)  # with an average
    run.step(2)
    run.check()


@RULES
def test_state_without_an_average_that_is_loaded_where_there_is_one(name):
    """The average starts again."""
    run = Run(name)
    run.step(2)
    state = copy.deepcopy(run.optimizer.state_dict())
    other = Run(name)
    other.average()
    other.step(3)
    other.optimizer.load_state_dict(state)
    with torch.no_grad():
        for param, value in zip(other.params, run.params):
            param.copy_(value)
    run.optimizer, run.params, run.averages = other.optimizer, other.params, True
    run.step(3)
    run.check()


@pytest.mark.parametrize("name", support.TORCH_NAMES)
def test_an_average_of_state_of_torch(name):
    params = support.parameters(dtype=torch.float64)
    ours, theirs, others = support.pair(name, params, **OPTIONS.get(name, {}))
    support.run(ours, theirs, params, others, 2)
    ours = support.heddle_class(name)(params, **OPTIONS.get(name, {}))
    heddle.optim.chain(ema=DECAY, optimizer=ours)
    ours.load_state_dict(theirs.state_dict())
    support.run(ours, theirs, params, others, 1, first=2)
    for param in params:
        assert torch.equal(ours.state[param]["ema"], param)
    before = [param.detach().clone() for param in params]
    support.run(ours, theirs, params, others, 1, first=3)
    for param, old in zip(params, before):
        torch.testing.assert_close(ours.state[param]["ema"], old.lerp(param.detach(), 1 - DECAY))


@DEVICES
@RULES
def test_parameters_that_are_added_later(name, device):
    run = Run(name, device)
    late = run.params[3:]
    run.optimizer = run.make(run.params[:3])
    run.average()
    run.step(3, without=(1, 3))
    run.check()
    run.optimizer.add_param_group({"params": late})
    run.step(1)
    run.check()
    run.step(2, without=(0,))
    run.check()


@DEVICES
@RULES
@COPIES
def test_a_first_step_that_is_skipped(name, how, device):
    run = Run(name, device)
    run.average()
    run.step(skips=True)
    run.check()
    run.copy(how)
    run.step(skips=True, without=(1,))
    run.copy(how)
    run.step(1, scaled=True, without=(0,))
    run.check()
    run.copy(how)
    run.step(2)
    run.step(skips=True)
    run.step(1, scaled=True)
    run.check()


@DEVICES
@RULES
@COPIES
def test_a_first_average_that_is_skipped(name, how, device):
    """There is state, but no average yet."""
    run = Run(name, device)
    run.step(2)
    run.average()
    run.step(skips=True)
    run.check()
    run.copy(how)
    run.step(2)
    run.check()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("storage", [{}, {"state_dtype": torch.float32}, {"rounding": "stochastic"}, {"master": "f32"}])
def test_averages_of_stored_parameters(dtype, storage):
    """Two element types in one launch; the first average is the parameter, rounded as the average is stored."""
    params = [*support.parameters(dtype=dtype), *support.parameters(seed=1)]
    optimizer = heddle.optim.AdamW(params, lr=0.1, **storage)
    support.set_gradients(params)
    optimizer.step()
    heddle.optim.chain(ema=DECAY, optimizer=optimizer)
    for skips in (1.0, 0.0):
        optimizer.grad_scale, optimizer.found_inf = torch.tensor(1.0), torch.tensor(skips)
        optimizer.step()
    for param, exact in zip(params, heddle.optim.masters(optimizer)):
        found = optimizer.state[param]["ema"].float()
        torch.testing.assert_close(found, exact, rtol=2 * torch.finfo(dtype).eps, atol=1e-6)


# ----------------------------------------------------------------------------------------------------------------------
# Momentum buffers
# ----------------------------------------------------------------------------------------------------------------------


@DEVICES
@COPIES
@pytest.mark.parametrize("name", DAMPED)
@pytest.mark.parametrize("averages", [False, True])
def test_a_buffer_starts_undamped(name, averages, how, device):
    run = Run(name, device)
    if averages:
        run.average()
    run.step(skips=True)
    if not averages:
        assert run.optimizer.state_dict()["state"] == {}
    run.copy(how)
    run.step(skips=True, without=(0,))
    run.copy(how)
    run.step(2, scaled=True)
    run.check()


@COPIES
@pytest.mark.parametrize("name", DAMPED)
def test_dampening_after_a_skipped_step(name, how):
    """The program did not need to know the first step until then."""
    run = Run(name, dampening=0)
    run.step(skips=True)
    run.copy(how)
    run.optimizer.param_groups[0]["dampening"] = run.reference.options["dampening"] = 0.25
    run.step(2)
    run.check()


@pytest.mark.parametrize("name", DAMPED)
def test_skipped_and_other_steps_take_turns(name):
    """A step without a scaler starts the buffer of a parameter whose first step with one was skipped, and the reverse."""
    run = Run(name, dampening=0)
    run.step(without=(0, 1))
    run.step(skips=True, without=(1,))
    run.step(without=(1,))
    run.optimizer.param_groups[0]["dampening"] = run.reference.options["dampening"] = 0.25
    run.step(skips=True)
    run.step(scaled=True)
    run.step()
    run.check()


@pytest.mark.parametrize("name", DAMPED)
def test_momentum_that_is_turned_on_later(name):
    """An average has counted steps, but there is no buffer yet."""
    run = Run(name, momentum=0, dampening=0)
    run.average()
    run.step(2)
    run.optimizer.param_groups[0].update(momentum=0.5, dampening=0.25)
    run.reference.options.update(momentum=0.5, dampening=0.25)
    run.reference.steps = [0] * len(run.params)  # the formulas use the number of steps for the buffer alone
    run.step(2)
    run.check()


@pytest.mark.parametrize("how", ["same", "deepcopy", "pickle", "state_dict"])
@pytest.mark.parametrize("name", DAMPED)
@pytest.mark.parametrize("master", ["split", "f32"])
@pytest.mark.parametrize("averages", [False, True])
def test_exact_parameters_that_are_loaded(name, master, how, averages):
    """`load_masters` before the first step sets state, but no buffer and no average."""
    values = [param.detach().bfloat16().float() for param in support.parameters(shapes=SHAPES)]
    run = Run(name, dtype=torch.bfloat16, master=master, state_dtype=torch.float32)
    options = {key: value for key, value in run.options.items() if key not in ("master", "state_dtype")}
    run.reference = Reference(name, values, options)
    if averages:
        run.average()
    run.step(skips=True)
    heddle.optim.load_masters(run.optimizer, values)
    run.copy(how)
    # The parameters and averages behind those of 16 bits.
    run.step(3)
    for found, model in zip(heddle.optim.masters(run.optimizer), run.reference.models):
        torch.testing.assert_close(found.double(), model.param.detach(), rtol=2e-5, atol=2e-6)
    for param, average in zip(run.params, run.reference.averages):
        if average is not None:
            torch.testing.assert_close(
                run.optimizer.state[param]["ema"].double(), average.module.param.detach(), rtol=3e-2, atol=1e-2)


def test_torch_goes_on_after_a_skipped_step():
    """PyTorch's optimizer finds no buffer in the state dictionary, and starts one."""
    params = support.parameters(dtype=torch.float64)
    ours, theirs, others = support.pair("SGD", params, **OPTIONS["SGD"])
    support.set_gradients(params)
    ours.found_inf, ours.grad_scale = torch.tensor(1.0), torch.tensor(1.0)
    ours.step()
    ours.found_inf = ours.grad_scale = None
    theirs.load_state_dict(ours.state_dict())
    assert not theirs.state
    support.run(ours, theirs, params, others, 3)
    support.assert_same_params(params, others, rtol=1e-12, atol=1e-12)
    support.assert_same_state(ours, theirs, rtol=1e-12, atol=1e-12)


@COPIES
@pytest.mark.parametrize("name", DAMPED)
def test_a_schedule_keeps_its_counter(name, how):
    """The counter of a schedule is state that is seen; the buffer without a value is left out beside it."""
    run = Run(name)
    schedule = {"kind": "constant"}
    heddle.optim.chain(schedule=schedule, optimizer=run.optimizer)
    run.step(skips=True)
    made = run.make
    run.make = lambda params: heddle.optim.chain(schedule=schedule, optimizer=made(params))
    assert set(run.optimizer.state_dict()["state"][0]) == {"step"}
    run.copy(how)
    heddle.optim.chain(optimizer=run.optimizer)  # the counter is hidden again
    run.step(2)
    run.check()


def test_a_reset_of_the_state_starts_again():
    run = Run("SGD")
    run.average()
    run.step(2)
    run.optimizer.state.clear()
    run.reference.states, run.reference.steps = [{} for _ in run.params], [0] * len(run.params)
    run.reference.averages = [None] * len(run.params)
    run.step(2)
    run.check()


def test_state_of_another_optimizer_is_reported():
    """An entry that is missing until it is set does not hide that the others are not those of the optimizer."""
    run = Run("LARS")
    run.average()
    run.optimizer.state[run.params[0]]["exp_avg"] = torch.ones(3, 4)
    with pytest.warns(UserWarning, match="found only 'exp_avg', as in the state of another optimizer; 1 parameter of"):
        run.step(2)
    run.check()


def test_entries_of_a_hook_stay():
    """A hook of the state dictionary may add a buffer."""
    run = Run("SGD")
    run.step(skips=True)
    buffer = torch.ones(3, 4)

    def add(optimizer, found):
        found["state"][0] = {"momentum_buffer": buffer}

    run.optimizer.register_state_dict_post_hook(add)
    assert run.optimizer.state_dict()["state"] == {0: {"momentum_buffer": buffer}}


@pytest.mark.parametrize("name", ["AdamW", "SGD"])
def test_a_captured_step_starts_again_after_a_load(name):
    """The step keeps its tensors: a load of state without an average and without a buffer resets their counts."""
    run = Run(name)
    run.average()
    run.step(2)
    run.optimizer._captured = parts = run.optimizer._parts[False]
    state = run.optimizer.state_dict()
    state["state"] = {
        place: {key: value for key, value in each.items() if key not in ("ema", "momentum_buffer")}
        for place, each in state["state"].items()
    }
    run.optimizer.load_state_dict(copy.deepcopy(state))
    assert not any("ema" in each for each in run.optimizer.state_dict()["state"].values())
    if name == "SGD":
        run.reference.states, run.reference.steps = [{} for _ in run.params], [0] * len(run.params)
    run.reference.averages = [None] * len(run.params)
    for step in (7, 8):
        grads = [param.grad.clone() for param in run.params]  # the step is bound to these
        support.set_gradients(run.params, step=step)
        for param, grad in zip(run.params, grads):
            param.grad = grad
        for part in parts:
            part.gather(run.optimizer.param_groups)
            part.replay()
        run.reference.step(grads, True)
    run.check()
