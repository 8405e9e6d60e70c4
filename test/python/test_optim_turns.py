"""Calls of a signal handler on an optimizer that interrupt its step: they are done or refused (see test_turns.py)."""

import pytest

torch = pytest.importorskip("torch")

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from test_interruptions import interrupted_by, lines_in  # noqa: E402
from test_turns import Handler  # noqa: E402


def made(name="SGD"):
    params = [torch.nn.Parameter(torch.zeros(size)) for size in (3, 4)]
    for param in params:
        param.grad = torch.ones_like(param)
    optimizer = getattr(heddle.optim, name)(params, lr=1.0)
    return params, optimizer


def steps_of(params):
    """How many steps of SGD the parameters have: the same for all."""
    values = {-value for param in params for value in param.tolist()}
    assert len(values) == 1
    return values.pop()


CALLS = {
    "step": lambda optimizer: optimizer.step(),
    "load_state_dict": lambda optimizer: optimizer.load_state_dict(optimizer.state_dict()),
    "add_param_group": lambda optimizer: optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]}),
    "state_dict": lambda optimizer: optimizer.state_dict(),
    "zero_grad": lambda optimizer: optimizer.zero_grad(set_to_none=False),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_within_a_step(name):
    params, optimizer = made()
    optimizer.step()
    lines = lines_in(optimizer.step)
    handler = Handler(lambda: CALLS[name](optimizer))
    for line in range(1, lines + 1):
        params, optimizer = made()
        optimizer.step()
        done = handler.done
        _, error = interrupted_by(handler, optimizer.step, line)
        assert error is None
        if name != "zero_grad":
            assert steps_of(params) == 2 + (name == "step") * (handler.done - done)
            optimizer.step()
            assert steps_of(params) == 3 + (name == "step") * (handler.done - done)
    if name in ("state_dict", "zero_grad"):
        assert not handler.refused
    else:
        assert handler.refused > 10


@pytest.mark.parametrize("mode", ("eval", "train"))
def test_a_change_of_the_mode_within_a_step(mode):
    _, optimizer = made("SGDScheduleFree")
    optimizer.step()
    with optimizer._stepping, pytest.raises(heddle.BadInput, match="^train and eval within step: expected a call after"):
        getattr(optimizer, mode)()


def test_hooks_and_closures_are_not_within_a_step():
    params, optimizer = made()

    def hook(*_):
        if len(optimizer.param_groups) == 1:
            optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]})

    optimizer.register_step_pre_hook(hook)

    def closure():
        optimizer.load_state_dict(optimizer.state_dict())
        return 0.0

    optimizer.step(closure)
    optimizer.step(closure)
    assert steps_of(params) == 2 and len(optimizer.param_groups) == 2
