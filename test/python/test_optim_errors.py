"""A step that fails: the optimizer, its state and the parameters are as before, and a later step continues."""

import os
import subprocess
import sys
import textwrap

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402


def snapshot(optimizer, params):
    """What a failed step must not change: the keys, tensors and values of state, and the parameters."""
    state = {
        param: {key: (value, value.clone() if isinstance(value, torch.Tensor) else value) for key, value in dict(entries).items()}
        for param, entries in dict(optimizer.state).items()
    }
    return state, [param.detach().clone() for param in params]


def assert_unchanged(optimizer, params, before):
    state, values = before
    found = dict(optimizer.state)
    assert found.keys() == state.keys()
    for param, entries in state.items():
        assert list(dict(found[param])) == list(entries)
        for key, (tensor, value) in entries.items():
            assert found[param][key] is tensor
            assert torch.equal(tensor, value) if isinstance(tensor, torch.Tensor) else tensor == value
    assert all(map(torch.equal, params, values))


def fails(optimizer, params, error=heddle.BadInput, match="."):
    before = snapshot(optimizer, params)
    with pytest.raises(error, match=match):
        optimizer.step()
    assert_unchanged(optimizer, params, before)


def wrong_state(params, optimizer):
    params[2].grad = torch.ones_like(params[2])
    optimizer.state[params[2]] = {key: torch.zeros(5) for key in ("momentum_buffer", "exp_avg", "exp_avg_sq", "step")}
    return lambda: optimizer.state.pop(params[2])


def sparse_gradient(params, optimizer):
    params[2].grad = torch.ones_like(params[2]).to_sparse()

    def mend():
        params[2].grad = torch.ones_like(params[2])

    return mend


def overlap(params, optimizer):
    """The core finds it, when the state has been created and bound."""
    kept = params[2].data
    params[2].data = params[1].data[:3]
    params[2].grad = torch.ones_like(params[2])

    def mend():
        params[2].data = kept

    return mend


def wrong_number(params, optimizer):
    params[2].grad = torch.ones_like(params[2])
    kept = optimizer.param_groups[-1]["weight_decay"]
    optimizer.param_groups[-1]["weight_decay"] = "much"

    def mend():
        optimizer.param_groups[-1]["weight_decay"] = kept

    return mend


@pytest.mark.parametrize("name", support.NAMES)
@pytest.mark.parametrize("damage", [wrong_state, sparse_gradient, overlap, wrong_number])
@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("form", ["one launch", "two launches", "clipped", "two launches, clipped"])
def test_a_step_that_fails_changes_nothing(name, damage, steps, form):
    params = support.parameters(shapes=[(4, 3), (3,), (3,)])
    others = support.copies(params)
    options = {"momentum": 0.9, "dampening": 0.5} if name == "SGD" else {}

    def made(params):
        groups = [{"params": params[:1], "maximize": "two" in form}, {"params": params[1:]}]
        optimizer = support.heddle_class(name)(groups, lr=0.1, **options)
        return heddle.optim.chain(clip_grad_norm=1.0, optimizer=optimizer) if "clipped" in form else optimizer

    ours, theirs = made(params), made(others)
    for step in range(steps):
        support.set_gradients(params, others, step, skip=(2,))
        ours.step()
        theirs.step()
    support.set_gradients(params, others, steps, skip=(2,))
    mend = damage(params, ours)
    for _ in range(2):
        fails(ours, params, (heddle.BadInput, RuntimeError, TypeError))
    mend()
    params[2].grad = torch.ones_like(params[2])
    others[2].grad = torch.ones_like(others[2])
    for step in range(2):
        ours.step()
        theirs.step()
    assert all(map(torch.equal, params, others))
    support.assert_same_state(ours, theirs, rtol=0, atol=0)


def test_state_that_was_converted_before_an_error():
    """State of another type is converted only by a step that runs."""
    params = support.parameters(shapes=[(4,), (3,)])
    optimizer = heddle.optim.Adam([{"params": params[:1]}, {"params": params[1:], "amsgrad": True}], lr=0.1)
    support.set_gradients(params)
    optimizer.step()
    optimizer.state[params[0]]["exp_avg"] = optimizer.state[params[0]]["exp_avg"].double()
    optimizer.state[params[0]]["step"] = 1
    optimizer.state[params[1]]["exp_avg"] = torch.zeros(4)
    fails(optimizer, params, match="state 'exp_avg' of parameter 0 of group 1: expected a tensor of shape")


def test_hidden_state_of_a_step_that_failed():
    """The first step with momentum after a failed one is a first step: the buffer is the gradient."""
    params = support.parameters(shapes=[(4,), (3,)])
    ours, theirs, others = support.pair("SGD", params, lr=0.1, momentum=0.9, dampening=0.5)
    support.set_gradients(params, others)
    good = params[1].data
    params[1].data = params[0].data[:3]
    for _ in range(2):
        fails(ours, params, match="expected memory of its own")
    params[1].data = good
    support.run(ours, theirs, params, others, 3)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


def test_a_step_without_gradients_leaves_nothing_to_undo():
    params = support.parameters(shapes=[(4,), (3,)])
    optimizer = heddle.optim.Adam(params, lr=0.1)
    optimizer.step()
    optimizer.state[params[0]] = {"exp_avg": torch.zeros(5), "exp_avg_sq": torch.zeros(5), "step": torch.zeros(())}
    support.set_gradients(params)
    fails(optimizer, params, match="expected a tensor of shape")


@pytest.mark.parametrize("is_warm", [False, True])
def test_transforms(is_warm):
    """A transform sees no change of a parameter. PyTorch refuses a step there, too."""
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    optimizer = heddle.optim.AdamW([param])
    if is_warm:
        optimizer.step()
    before = param.detach().clone()

    def loss(x):
        optimizer.step()
        return x.sum()

    for transform in (torch.func.grad, torch.func.vmap):
        with pytest.raises(heddle.BadInput, match="^step: expected a call outside of the transforms of torch.func"):
            transform(loss)(torch.ones(2))
    assert torch.equal(param, before)
    optimizer.step()
    assert not torch.equal(param, before)


def test_arguments_of_step():
    optimizer = heddle.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=1)
    for arguments, named in (((None, 3), {}), ((), {"closures": None})):
        with pytest.raises(TypeError, match=r"^Optimizer\.step\(\) "):
            optimizer.step(*arguments, **named)


def test_a_step_in_another_thread_during_a_fork():
    """The child gets an error that names the optimizer, as does its child. Other optimizers work."""
    code = """
        import os, threading, torch, heddle.optim
        made = []
        for _ in range(2):
            param = torch.nn.Parameter(torch.ones(3)); param.grad = torch.ones(3)
            made.append(heddle.optim.SGD([param], lr=0.5)); made[-1].step()
        used, unused = made
        using, forked = threading.Event(), threading.Event()
        def use():
            with used._parts[False][0].graph._lock:
                using.set(); forked.wait()
        thread = threading.Thread(target=use); thread.start(); using.wait()
        def attempt():
            for optimizer in made:
                try:
                    optimizer.step(); print("stepped", flush=True)
                except heddle.BadInput as error:
                    print(error, flush=True)
        if not os.fork():
            attempt()
            if not os.fork():
                attempt()
                os._exit(0)
            os.wait(); os._exit(0)
        os.wait(); forked.set(); thread.join()
        attempt()
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    lines = result.stdout.splitlines()
    assert len(lines) == 6, result.stdout + result.stderr
    refused = "optimizer: another thread was in its step when this process was forked"
    assert all(line.startswith(refused) for line in lines[:4:2]) and lines[1::2] == ["stepped"] * 3 and lines[4] == "stepped"


def test_the_shape_of_the_gradient_of_an_empty_parameter():
    param = torch.nn.Parameter(torch.ones(0))
    param.grad = torch.ones(0)
    optimizer = heddle.optim.SGD([param])
    optimizer.step()
    param.grad.data = torch.ones(7)
    with pytest.raises(heddle.BadInput, match=r"^gradient of parameter 0 of group 0: expected shape \(0,\) on cpu, found \(7,\)"):
        optimizer.step()


def test_a_rate_that_is_a_parameter():
    """It is read before it changes."""
    rate = torch.nn.Parameter(torch.tensor(0.5))
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = heddle.optim.SGD([rate, param], lr=rate)
    rate.grad, param.grad = torch.tensor(0.5), torch.ones(3)
    optimizer.step()
    assert rate.item() == 0.25 and torch.equal(param, torch.full((3,), 0.5))
    optimizer.step()
    assert rate.item() == 0.125 and torch.equal(param, torch.full((3,), 0.25))


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("make", ("to_sparse", "to_sparse_csr", "to_sparse_csc", "to_mkldnn"))
def test_parameters_of_other_layouts(make):
    """The layout is named, not its lack of memory."""
    if make == "to_mkldnn" and not torch.backends.mkldnn.is_available():
        pytest.skip("PyTorch has no mkldnn")
    params = [torch.nn.Parameter(torch.ones(3, 3)), torch.nn.Parameter(getattr(torch.eye(3), make)())]
    for param in params:
        param.grad = param.detach().clone()
    with pytest.raises(heddle.BadInput, match=rf"^parameter 1 of group 0: expected a dense tensor, found layout {params[1].layout}"):
        heddle.optim.SGD(params, lr=0.1).step()
    assert (params[0] == 1).all()


def test_a_first_step_while_python_ends():
    """An error, because PyTorch 2.15 would abort when it frees new tensors."""
    code = """
        import torch, heddle.optim
        def optimizer():
            param = torch.nn.Parameter(torch.ones(3))
            param.grad = torch.ones(3)
            return heddle.optim.AdamW([param])
        earlier = optimizer()
        earlier.step()
        class Late:
            def __init__(self):
                self.optimizer = optimizer()
            def __del__(self):
                self.optimizer.step()
        late = Late()
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0 and "PyTorch can make no tensors then" in result.stderr, result.stderr
