"""The optimizers that PyTorch does not have, against their formulas in NumPy."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import numpy  # noqa: E402

import heddle.optim  # noqa: E402


def lion(t, p, g, state, lr=1e-4, betas=(0.9, 0.99), weight_decay=0):
    mean = state.setdefault("exp_avg", numpy.zeros_like(p))
    p = p * (1 - lr * weight_decay) - lr * numpy.sign(betas[0] * mean + (1 - betas[0]) * g)
    state["exp_avg"] = betas[1] * mean + (1 - betas[1]) * g
    return p


#: The formula of one step, and options of the class.
FORMULAS = {
    "Lion": (lion, [{}, dict(lr=0.01, betas=(0.75, 0.875)), dict(lr=0.01, weight_decay=0.5)]),
}
CASES = [
    pytest.param(name, options, id=f"{name}-{k}") for name, (_, each) in FORMULAS.items() for k, options in enumerate(each)
]


def expected(name, params, options, gradients, maximize=False):
    """The parameters and states after a step with each entry of `gradients`, in double."""
    arrays = [param.detach().double().cpu().numpy() for param in params]
    states = [{} for _ in arrays]
    for t, grads in enumerate(gradients, 1):
        for k, grad in enumerate(grads):
            if grad is not None:
                grad = grad.double().cpu().numpy() * (-1 if maximize else 1)
                arrays[k] = FORMULAS[name][0](t, arrays[k], grad, states[k], **options)
    return arrays, states


def random_gradients(params, steps):
    found = []
    for step in range(steps):
        support.set_gradients(params, step=step, skip=(1,) if step % 3 == 1 else ())
        found.append([None if param.grad is None else param.grad.clone() for param in params])
    return found


def step_with(optimizer, params, gradients):
    for grads in gradients:
        for param, grad in zip(params, grads):
            param.grad = None if grad is None else grad.clone()
        optimizer.step()


@pytest.mark.parametrize("device", support.devices())
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("name, options", CASES)
def test_formula(name, options, dtype, maximize, device):
    params = support.parameters(device, dtype)
    gradients = random_gradients(params, 30)
    arrays, states = expected(name, params, options, gradients, maximize)
    optimizer = getattr(heddle.optim, name)(params, maximize=maximize, **options)
    step_with(optimizer, params, gradients)
    for param, array, state in zip(params, arrays, states):
        close = dict(support.tolerance(dtype, 30), check_dtype=False)
        torch.testing.assert_close(param.detach().cpu(), torch.from_numpy(numpy.asarray(array)), **close)
        assert set(optimizer.state[param]) - {"step"} == set(state)
        for key, value in state.items():
            torch.testing.assert_close(optimizer.state[param][key].cpu(), torch.from_numpy(numpy.asarray(value)), **close)


@pytest.mark.parametrize("name", FORMULAS)
def test_groups_and_loaded_state(name):
    """Groups with other rates, and a run that continues from a loaded state, take one launch with the same bits."""
    whole, parts = support.parameters(), support.parameters()
    gradients = random_gradients(support.parameters(), 8)

    def make(params):
        return getattr(heddle.optim, name)([{"params": params[:3], "lr": 0.25}, {"params": params[3:], "lr": 0.125}])

    first = make(whole)
    step_with(first, whole, gradients)
    second = make(parts)
    step_with(second, parts, gradients[:4])
    third = make(parts)
    third.load_state_dict(second.state_dict())
    step_with(third, parts, gradients[4:])
    for one, other in zip(whole, parts):
        assert torch.equal(one, other)
    for k, options in enumerate(({"lr": 0.25}, {"lr": 0.125})):
        place = slice(0, 3) if k == 0 else slice(3, None)
        arrays, _ = expected(name, support.parameters()[place], options, [grads[place] for grads in gradients])
        for param, array in zip(whole[place], arrays):
            torch.testing.assert_close(param.detach(), torch.from_numpy(numpy.asarray(array)).float(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FORMULAS)
def test_mistakes(name):
    make = getattr(heddle.optim, name)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        make(support.parameters(), lr=-1)
    with pytest.raises(ValueError, match="Invalid weight_decay value: -1"):
        make(support.parameters(), weight_decay=-1)
