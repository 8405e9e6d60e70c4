"""`heddle.optim.chain(check_finite=True)`: a step with a gradient that is not finite changes nothing."""

import copy
import pickle

import pytest

import optim_support as support

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from heddle.optim import _programs  # noqa: E402
from optim_chains import SHAPES, parts  # noqa: E402

optim = heddle.optim
INF, NAN = float("inf"), float("nan")
DEVICES = pytest.mark.parametrize("device", support.devices())


@heddle.rule
def momentum(p, g, m=0.0, *, lr=0.1):
    m = 0.5 * m + g
    return p - lr * m, m


#: One optimizer, several in one launch, groups in several launches, and a rule.
KINDS = {
    "adamw": lambda params: optim.AdamW(params, lr=0.1),
    "sgd": lambda params: optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.5),
    "launches": lambda params: optim.Adam([{"params": params[:2]}, {"params": params[2:], "amsgrad": True}], lr=0.1),
    "list": lambda params: [optim.SGD(params[:2], lr=0.1, momentum=0.9, dampening=0.5),
                            optim.AdamW(params[2:4], lr=0.1), optim.Prodigy(params[4:])],
    "rule": lambda params: momentum(params),
}
CLIPS = {"": {}, "norm": {"clip_grad_norm": 0.5}, "value": {"clip_grad_value": 0.25}}


def state_of(optimizer):
    return optimizer.state_dict()["state"]


def assert_same_bytes(found, wanted):
    assert found.keys() == wanted.keys()
    for place, entries in wanted.items():
        assert found[place].keys() == entries.keys()
        for key, value in entries.items():
            assert value.dtype == found[place][key].dtype and torch.equal(value, found[place][key]), key


@DEVICES
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_with_a_gradient_that_is_not_finite_changes_nothing(kind, clip, dtype, device):
    """Also if it is the first one. The other steps are those of an optimizer without such gradients, bit by bit."""
    added = dict(CLIPS[clip], accumulation=2, **({} if kind == "rule" else {"ema": 0.5, "zero_grad": True}))
    params = support.parameters(device, getattr(torch, dtype), SHAPES)
    others = support.copies(params)
    ours = optim.chain(check_finite=True, optimizer=KINDS[kind](params), **added)
    theirs = optim.chain(optimizer=KINDS[kind](others), **added)
    wrong = {0: (0, NAN), 2: (-1, INF), 3: (1, -INF)}
    for step in range(6):
        support.set_gradients(params, others, step)
        before, state = [param.detach().clone() for param in params], copy.deepcopy(state_of(ours))
        if step not in wrong:
            norm, wanted = ours.step(), theirs.step()
            assert norm is wanted is None or torch.equal(norm, wanted)
            continue
        place, value = wrong[step]
        params[place].grad.view(-1)[-1] = value
        norm = ours.step()
        assert (norm is not None) == (clip == "norm") and (norm is None or not norm.isfinite())
        assert all(map(torch.equal, params, before))
        if step:  # the first one makes the state
            assert_same_bytes(state_of(ours), state)
        assert kind == "rule" or not any(param.grad.any() for param in params)
    assert all(map(torch.equal, params, others))
    assert_same_bytes(state_of(ours), state_of(theirs))


@DEVICES
def test_finite_gradients_whose_squares_are_not(device):
    params = support.parameters(device, torch.float64, SHAPES)
    optimizer = optim.chain(check_finite=True, optimizer=optim.SGD(params, lr=1e-200))
    before = [param.detach().clone() for param in params]
    for param in params:
        param.grad = torch.full_like(param, 1e200)
    optimizer.step()
    support.assert_same_params(params, [value - 1 for value in before])


def test_what_is_not_set_in_the_first_step_is_set_in_a_later_one():
    """The momentum buffer is not damped in the first step that is not skipped, and not in the state before it."""
    param = torch.nn.Parameter(torch.zeros(2))
    optimizer = optim.chain(check_finite=True, optimizer=optim.SGD([param], lr=1.0, momentum=0.5, dampening=0.75))
    param.grad = torch.tensor([1.0, NAN])
    optimizer.step()
    assert optimizer.state_dict()["state"] == {}
    param.grad = torch.ones(2)
    optimizer.step()
    assert param.tolist() == [-1, -1] and optimizer.state_dict()["state"][0]["momentum_buffer"].tolist() == [1, 1]


@pytest.mark.parametrize("kind", ["adamw", "launches", "list"])
def test_with_a_grad_scaler(kind):
    """A step is skipped by either, and scales are those of the scaler."""
    params = support.parameters(shapes=SHAPES)
    others = support.copies(params)
    ours = optim.chain(check_finite=True, clip_grad_norm=0.5, optimizer=KINDS[kind](params))
    theirs = optim.chain(clip_grad_norm=0.5, optimizer=KINDS[kind](others))
    scalers = [torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2) for _ in range(2)]
    for step in range(5):
        support.set_gradients(params, others, step)
        for scaler, optimizer, each in zip(scalers, (ours, theirs), (params, others)):
            scaler.scale(torch.ones(()))
            for param in each:
                param.grad *= scaler.get_scale()
            if step == 2:
                each[0].grad[0, 0] = INF
            scaler.step(optimizer)
            scaler.update()
        assert scalers[0].get_scale() == scalers[1].get_scale()
    support.set_gradients(params)
    params[-1].grad[0] = NAN
    ours.step()
    assert all(map(torch.equal, params, others))
    assert_same_bytes(state_of(ours), state_of(theirs))


@pytest.mark.parametrize("how", ["deepcopy", "pickle", "again"])
def test_copies_check_until_another_call(how):
    params = support.parameters(shapes=SHAPES)
    optimizer = optim.chain(check_finite=True, optimizer=optim.AdamW(params))
    if how == "again":
        optim.chain(optimizer=optimizer)
    else:
        optimizer = copy.deepcopy(optimizer) if how == "deepcopy" else pickle.loads(pickle.dumps(optimizer))
    params = optimizer.param_groups[0]["params"]
    support.set_gradients(params)
    params[0].grad[0, 0] = NAN
    optimizer.step()
    assert params[0].isfinite().all() == (how != "again")


def test_one_launch_that_moves_as_many_bytes_as_that_of_the_library():
    params = support.parameters(shapes=SHAPES)
    optimizer = optim.chain(check_finite=True, clip_grad_norm=0.5, optimizer=optim.AdamW(params))
    support.set_gradients(params)
    optimizer.step()
    (part,) = parts(optimizer)
    ours = heddle.explain(_programs.text(optimizer.spec, part.form), json=True)
    library = heddle.explain("check_finite+clip_by_global_norm+adamw", json=True)
    assert all(ours[key] == library[key] for key in ("launches", "bytes_per_element"))


def test_a_wrong_value():
    with pytest.raises(heddle.BadInput, match="^check_finite: expected True or False, found 'yes'"):
        optim.chain(check_finite="yes", optimizer=optim.AdamW([torch.nn.Parameter(torch.ones(1))]))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("kind", ["adamw", "launches", "list"])
def test_a_captured_step(kind):
    params = support.parameters("cuda", shapes=SHAPES)
    optimizer = optim.chain(check_finite=True, optimizer=KINDS[kind](params))
    support.set_gradients(params)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()
    for value in (1.0, NAN, 1.0):
        before = [param.detach().clone() for param in params]
        params[1].grad[0] = value
        graph.replay()
        assert all(torch.equal(old, param) == (value != 1) for old, param in zip(before, params) if param.numel())
