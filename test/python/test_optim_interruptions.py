"""An exception of a signal handler finds parameters and state either before or after what it interrupts.

The exceptions are raised at every line in turn, as in test_interruptions.py.
"""

import copy

import pytest

torch = pytest.importorskip("torch")

import heddle.optim  # noqa: E402
from heddle.optim import _average  # noqa: E402
from test_interruptions import Timeout, interrupted, lines_in  # noqa: E402

NAMES = ("SGDScheduleFree", "AdamWScheduleFree")


@pytest.fixture(autouse=True)
def gradient_mode():
    yield
    torch.set_grad_enabled(True)  # an exception may have left PyTorch's own no_grad() before it had set it back


def values(tensors):
    return [tensor.detach().clone() for tensor in tensors]


def are_equal(left, right):
    return all(torch.equal(one, other) for one, other in zip(left, right))


def averaged(name):
    """An optimizer in training after some steps, its parameters, and their values in both modes.

    A parameter may have another element type than its state, gaps, no step, or be a tensor of inference mode.
    """
    with torch.inference_mode():
        inference = torch.nn.Parameter(torch.ones(3), requires_grad=False)
    params = [torch.nn.Parameter(tensor) for tensor in (
        torch.ones(5), torch.ones(4, dtype=torch.bfloat16), torch.ones(6, 4)[::2], torch.ones(2))]
    params.append(inference)
    optimizer = getattr(heddle.optim, name)([{"params": params[:2]}, {"params": params[2:]}], lr=0.25,
                                            state_dtype=torch.float32)
    for _ in range(3):
        for param in params[:3]:
            param.grad = torch.ones_like(param)
        with torch.inference_mode():
            inference.grad = torch.ones(3)
        optimizer.step()
    training = values(params)
    optimizer.eval()
    evaluation = values(params)
    optimizer.train()
    return optimizer, params, (training, evaluation)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("to_training", (False, True))
def test_a_change_of_the_mode_is_done_or_not_done(name, to_training):
    optimizer, params, modes = averaged(name)
    moved = [one.ne(other).any() for one, other in zip(*modes)]
    assert [bool(each) for each in moved] == [True, True, True, False, True]
    there, back = (optimizer.train, optimizer.eval) if to_training else (optimizer.eval, optimizer.train)
    back()
    lines = lines_in(there)
    seen = set()
    for line in range(1, lines + 1):
        back()
        before = values(params)
        there()
        after = values(params)
        back()
        _, error = interrupted(there, line)
        assert type(error) is Timeout
        is_there = all(group["train_mode"] == to_training for group in optimizer.param_groups)
        assert is_there or all(group["train_mode"] != to_training for group in optimizer.param_groups)
        assert are_equal(params, after if is_there else before), line
        seen.add(is_there)
        there()
        assert are_equal(params, after)
    assert seen == {False, True}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("later", (1, 2, 3))
@pytest.mark.parametrize("finish", ("eval", "train"))
def test_a_change_of_the_mode_that_is_interrupted_twice(name, first, later, finish, monkeypatch):
    """Nothing moves twice: a later call moves the rest, or moves back what has moved."""
    at_once = _average._at_once

    def interrupt():
        calls = iter(range(100))

        def call(*arguments):
            if next(calls) in (first, first + later):
                raise Timeout
            at_once(*arguments)

        monkeypatch.setattr(_average, "_at_once", call)
        with pytest.raises(Timeout):
            optimizer.eval()
        monkeypatch.setattr(_average, "_at_once", at_once)

    optimizer, params, (training, evaluation) = averaged(name)
    interrupt()
    if later == 1:
        assert bool(optimizer._moved) == (first > 0)
    if optimizer._moved:
        with pytest.raises(RuntimeError, match="was interrupted; call train"):
            optimizer.step()
    getattr(optimizer, finish)()
    for found, value in zip(params, evaluation if finish == "eval" else training):
        assert torch.allclose(found, value, rtol=1e-2 if found.dtype == torch.bfloat16 else 1e-6)
    assert not optimizer._moved


def stepped(count):
    """An optimizer after some steps, and its parameters: one is stepped as it is, two are stepped in copies."""
    params = [torch.nn.Parameter(torch.ones(shape)[:, 0]) for shape in ((3, 2), (5, 1), (4, 3))]
    params[1] = torch.nn.Parameter(torch.ones(5))
    for param in params:
        param.grad = torch.linspace(1, 2, len(param))
    optimizer = heddle.optim.AdamW(params, lr=0.25)
    for _ in range(count):
        optimizer.step()
    return optimizer, params


@pytest.mark.parametrize("count", (0, 2))
def test_a_step_through_copies_is_done_or_not_done(count):
    """Parameters, moments and step counters are all before or all after the step, and the next step continues from there."""
    reference, params = stepped(count)
    expected = [values(params)]
    for _ in range(2):
        reference.step()
        expected.append(values(params))
    lines = lines_in(stepped(count)[0].step)
    seen = set()
    for line in range(max(1, lines - 200), lines + 1):  # the first lines of a first step make programs
        optimizer, params = stepped(count)
        versions = [param._version for param in params]
        _, error = interrupted(optimizer.step, line)
        if error is None and line > lines - 20:
            break  # this step has a few lines less than the one that was counted
        assert type(error) is Timeout
        done = are_equal(params, expected[1])
        assert done or are_equal(params, expected[0]), line
        assert not done or all(param._version > version for param, version in zip(params, versions)), line
        optimizer.step()
        assert are_equal(params, expected[1 + done]), line
        seen.add(done)
    assert seen == {False, True}


STORAGES = ({}, {"state_dtype": torch.float32}, {"master": "f32", "state_dtype": torch.float32}, {"master": "split"})


def trained(steps, options):
    torch.manual_seed(steps)
    params = [torch.nn.Parameter(torch.randn(5).bfloat16()) for _ in range(2)]
    optimizer = heddle.optim.AdamW(params, lr=0.125 * steps, **options)
    for _ in range(steps):
        for param in params:
            param.grad = torch.randn_like(param)
        optimizer.step()
    return optimizer, params


def contents(optimizer, params):
    """All that a load may write."""
    states = [(key, value.tolist()) for param in params for key, value in sorted(optimizer.state[param].items())]
    return [param.tolist() for param in params], states, optimizer.param_groups[0]["lr"]


@pytest.mark.parametrize("options", STORAGES, ids=str)
@pytest.mark.parametrize("name", ("load_state_dict", "load_masters"))
def test_a_load_is_done_or_not_done(name, options):
    source, _ = trained(2, options)
    state_dict, values = source.state_dict(), [torch.arange(5.0) / 3, torch.arange(5.0) / 7]

    def load(optimizer):
        if name == "load_masters":
            heddle.optim.load_masters(optimizer, values)
        else:
            optimizer.load_state_dict(copy.deepcopy(state_dict))  # which torch does not copy

    optimizer, params = trained(1, options)
    before = contents(optimizer, params)
    load(optimizer)
    after = contents(optimizer, params)
    assert before != after
    lines, seen = lines_in(lambda: load(trained(1, options)[0])), set()
    start = lines_in(lambda: trained(1, options))
    for line in range(1, lines - start + 1):
        optimizer, params = trained(1, options)
        _, error = interrupted(lambda: load(optimizer), line)
        if error is None and line > lines - start - 20:
            break
        assert type(error) is Timeout
        found = contents(optimizer, params)
        assert found in (before, after), line
        seen.add(found == after)
        load(optimizer)
        assert contents(optimizer, params) == after
        optimizer.step()
    assert seen == {False, True}
