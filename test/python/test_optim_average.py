"""Optimizers whose parameters of evaluation are an average: train() and eval()."""

import copy
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle.optim  # noqa: E402

NAMES = ("SGDScheduleFree", "AdamWScheduleFree")


def make(name, params, **options):
    return getattr(heddle.optim, name)(params, **{"lr": 0.5, **options})


def step(optimizer, params, number=0):
    support.set_gradients(params, step=number)
    optimizer.step()


@pytest.mark.parametrize("device", support.devices())
def test_average_of_a_constant_gradient(device):
    """The base sequence is z_t = p - lr g t, and its average after t steps is p - lr g (t + 1) / 2."""
    start = torch.arange(1.0, 6.0, dtype=torch.float64, device=device)
    param = torch.nn.Parameter(start.clone())
    optimizer = make("SGDScheduleFree", [param], lr=0.25, momentum=0.75)
    for t in range(1, 101):
        param.grad = torch.full_like(param, 2.0)
        optimizer.step()
        average, base = start - 0.5 * (t + 1) / 2, start - 0.5 * t
        torch.testing.assert_close(optimizer.state[param]["z"], base, rtol=1e-12, atol=1e-12)
        optimizer.eval()
        torch.testing.assert_close(param.detach(), average, rtol=1e-6, atol=1e-6)
        optimizer.train()
        torch.testing.assert_close(param.detach(), 0.75 * average + 0.25 * base, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_modes(name):
    params = support.parameters()
    optimizer = make(name, params)
    optimizer.eval()
    assert all(torch.equal(*pair) for pair in zip(params, support.parameters()))  # before the first step
    with pytest.raises(RuntimeError, match=rf"{name}: expected the parameters of training.* call train\(\)"):
        optimizer.step()
    assert not any(optimizer.state.values())
    optimizer.train()
    step(optimizer, params)
    trained = [param.detach().clone() for param in params]
    optimizer.train()
    assert all(map(torch.equal, params, trained))
    optimizer.eval()
    evaluated = [param.detach().clone() for param in params]
    optimizer.eval()
    assert all(map(torch.equal, params, evaluated))
    support.set_gradients(params, step=1)
    with pytest.raises(RuntimeError, match="parameters of evaluation"):
        optimizer.step()
    assert all(map(torch.equal, params, evaluated))
    optimizer.train()
    support.assert_same_params(params, trained, rtol=1e-5, atol=1e-6)
    step(optimizer, params, 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_skipped_first_step_moves_nothing(name):
    """GradScaler skips steps until its scale fits. Until the first real step, the state is no point to average."""
    start = torch.tensor([5.0, -3.0])
    param = torch.nn.Parameter(start.clone())
    optimizer = make(name, [param])
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones(()))
    param.grad = torch.tensor([float("inf"), 1.0])
    scaler.step(optimizer)
    scaler.update()
    for switch in (optimizer.eval, optimizer.train):
        switch()
        assert torch.equal(param.detach(), start)
    param.grad = torch.ones(2) * scaler.get_scale()
    scaler.step(optimizer)
    wanted = torch.nn.Parameter(start.clone())
    other = make(name, [wanted])
    wanted.grad = torch.ones(2)
    other.step()
    assert torch.equal(param, wanted)


@pytest.mark.parametrize("name", NAMES)
def test_a_closure_that_evaluates(name):
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = make(name, [param])

    def closure():
        optimizer.eval()
        param.grad = torch.ones(3)
        return param.sum()

    with pytest.raises(RuntimeError, match="parameters of evaluation"):
        optimizer.step(closure)
    assert torch.equal(param.detach(), torch.ones(3))


@pytest.mark.parametrize("name", NAMES)
def test_checkpoint_in_eval_mode(name):
    """A checkpoint has the averaged parameters, and the mode; training continues from it with the same bits."""
    params = support.parameters()
    optimizer = make(name, params, warmup_steps=3)
    for number in range(3):
        step(optimizer, params, number)
    optimizer.eval()
    loaded = support.copies(params)
    other = make(name, loaded)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for each, tensors in ((optimizer, params), (other, loaded)):
        with pytest.raises(RuntimeError):
            each.step()
        each.train()
        for number in range(3, 6):
            step(each, tensors, number)
        each.eval()
    assert all(map(torch.equal, params, loaded))


@pytest.mark.parametrize("name", NAMES)
def test_parameters_of_16_bits(name):
    params = support.parameters(dtype=torch.bfloat16)
    exact = support.parameters(dtype=torch.float64)
    both = [make(name, params, lr=0.01), make(name, exact, lr=0.01)]
    for number in range(5):
        support.set_gradients(params, exact, number)
        for optimizer in both:
            optimizer.step()
    for optimizer in both:
        optimizer.eval()
    support.assert_same_params(params, exact, rtol=0.05, atol=0.05, check_dtype=False)


@pytest.mark.parametrize("name", NAMES)
def test_convergence(name):
    """A least-squares problem: the average is nearer to its solution than what trains."""
    torch.manual_seed(0)
    data, wanted = torch.randn(512, 8, dtype=torch.float64), torch.randn(8, dtype=torch.float64)
    noisy = data @ wanted + torch.randn(512, dtype=torch.float64)
    best = torch.linalg.lstsq(data, noisy[:, None]).solution[:, 0]
    param = torch.nn.Parameter(torch.zeros(8, dtype=torch.float64))
    optimizer = make(name, [param], lr=0.05)
    for number in range(2000):
        rows = slice(8 * (number % 64), 8 * (number % 64) + 8)
        optimizer.zero_grad()
        ((data[rows] @ param - noisy[rows]) ** 2).mean().backward()
        optimizer.step()
    trained = (param.detach() - best).norm()
    optimizer.eval()
    averaged = (param.detach() - best).norm()
    assert averaged < 0.1 and averaged < trained, (averaged, trained)


def test_mistakes():
    with pytest.raises(ValueError, match="Momentum must be between 0 and 1 exclusive: 0"):
        make("SGDScheduleFree", support.parameters(), momentum=0)
    with pytest.raises(ValueError, match="Invalid beta parameter at index 0: 0"):
        make("AdamWScheduleFree", support.parameters(), betas=(0.0, 0.9))
    assert not hasattr(heddle.optim.SGD(support.parameters()), "eval")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_single_values_are_restored_without_a_larger_parameter(dtype):
    """The sum of weights of a model of parameters without dimensions is not rounded to their type."""
    params = support.parameters(dtype=dtype, shapes=((), ()))
    loaded = support.copies(params)
    optimizer, other = (make("SGDScheduleFree", each, lr=1e-5) for each in (params, loaded))
    for number in range(3):
        step(optimizer, params, number)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert float(other.state[loaded[0]]["weight_sum"]) == float(optimizer.state[params[0]]["weight_sum"]) > 0
    loaded[0].data.copy_(params[0])
    loaded[1].data.copy_(params[1])
    for number in range(3, 6):
        step(optimizer, params, number)
        step(other, loaded, number)
    assert all(map(torch.equal, params, loaded))
    support.assert_same_state(optimizer, other, rtol=0, atol=0)


@pytest.mark.parametrize("method", ["train", "eval"])
def test_a_refused_switch_writes_nothing(method):
    params = support.parameters()
    optimizer = make("SGDScheduleFree", params)
    for number in range(2):
        step(optimizer, params, number)
    if method == "train":
        optimizer.eval()
    before = [param.detach().clone() for param in params]
    state = optimizer.state[params[-1]]
    good = state["z"]
    for value, found in ((torch.zeros(7), r"\(7,\)"), (1.0, "float"), (good.to_sparse(), "sparse")):
        state["z"] = value
        with pytest.raises(heddle.errors.BadInput, match=f"state 'z' of parameter {len(params) - 1} of group 0: expected .*{found}"):
            getattr(optimizer, method)()
        assert all(map(torch.equal, params, before))
    state["z"] = good
    optimizer.param_groups[0]["momentum"] = 0
    with pytest.raises(heddle.errors.BadInput, match="momentum: expected a number above 0"):
        getattr(optimizer, method)()
    assert all(map(torch.equal, params, before))
    optimizer.param_groups[0]["momentum"] = 0.9
    getattr(optimizer, method)()
    assert not torch.equal(params[-1], before[-1])
