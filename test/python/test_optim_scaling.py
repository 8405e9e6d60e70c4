"""Gradient scaling (torch.amp.GradScaler) and clipping by the global norm (heddle.optim.chain)."""

import os
import sys

import numpy
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402

DEVICES = pytest.mark.parametrize("device", support.devices())
NAMES = pytest.mark.parametrize("name", support.NAMES)
OPTIONS = {
    "SGD": dict(lr=0.1, momentum=0.9),
    "Adam": dict(lr=0.1, amsgrad=True, weight_decay=0.01),
    "AdamW": dict(lr=0.1),
}


@DEVICES
@pytest.mark.parametrize("name", support.TORCH_NAMES)
@pytest.mark.parametrize("unscale", [False, True], ids=["", "unscale"])
@pytest.mark.parametrize("clip", [None, 0.5], ids=["", "clip"])
def test_grad_scaler(name, unscale, clip, device):
    """Steps with an infinity or a NaN change neither parameters nor state, on both sides."""
    params = support.parameters(device)
    ours, theirs, others = support.pair(name, params, **OPTIONS.get(name, {"lr": 0.1}))
    if clip:
        heddle.optim.chain(clip_grad_norm=clip, optimizer=ours)
    scalers = [torch.amp.GradScaler(device, init_scale=2.0**10, growth_interval=3) for _ in range(2)]
    bad = {1: float("inf"), 4: float("nan")}
    for step in range(8):
        support.set_gradients(params, others, step, skip=(2,) if step == 6 else ())
        for each, optimizer, scaler in ((params, ours, scalers[0]), (others, theirs, scalers[1])):
            scaler.scale(torch.ones(1, device=device))
            for param in each:
                if param.grad is not None:
                    param.grad *= scaler.get_scale()
            if step in bad:
                each[3].grad.view(-1)[5] = bad[step]
            if unscale or (clip and optimizer is theirs):
                scaler.unscale_(optimizer)
            if clip and optimizer is theirs:
                torch.nn.utils.clip_grad_norm_(each, clip, foreach=False)
            scaler.step(optimizer)
            scaler.update()
        assert scalers[0].get_scale() == scalers[1].get_scale()
        assert not hasattr(ours, "grad_scale") and not hasattr(ours, "found_inf")
        if step in bad and step:
            for before, param in zip(kept, params):
                assert torch.equal(before, param)
        kept = [param.detach().clone() for param in params]
    support.assert_same_params(params, others, rtol=2e-5, atol=2e-6)
    # torch's loop creates no state in a step that is skipped; here no step is the first and skipped.
    support.assert_same_state(ours, theirs, rtol=2e-5, atol=2e-6)


def test_sixteen_bit_gradients_are_unscaled_in_float32():
    """A gradient below the range of float16 after unscaling still counts."""
    param = torch.nn.Parameter(torch.zeros(4, dtype=torch.float16))
    optimizer = heddle.optim.SGD([param], lr=2.0**20)
    param.grad = torch.full((4,), 1.0, dtype=torch.float16)
    optimizer.grad_scale, optimizer.found_inf = torch.tensor(2.0**30), torch.tensor(0.0)
    optimizer.step()
    torch.testing.assert_close(param.detach(), torch.full((4,), -(2.0**-10), dtype=torch.float16))


@DEVICES
@pytest.mark.parametrize("clip", [None, 0.5], ids=["", "clip"])
@pytest.mark.parametrize("scale", [0.0, -0.0, -2.0, float("nan"), float("inf"), float("-inf")], ids=str)
def test_a_scale_that_is_not_positive_and_finite_changes_nothing(scale, clip, device):
    """GradScaler looks for infinity in the scaled gradients, so it does not find that a scale of 0 makes them infinite."""
    params = support.parameters(device)
    optimizer = heddle.optim.AdamW(params, lr=0.1)
    heddle.optim.chain(clip_grad_norm=clip, ema=0.9, optimizer=optimizer)

    def step(scale):
        support.set_gradients(params, step=1)
        optimizer.grad_scale = torch.tensor(scale, device=device)
        optimizer.found_inf = torch.zeros((), device=device)
        optimizer.step()

    def everything():
        return [*params, *(value for param in params for value in optimizer.state[param].values())]

    step(4.0)
    before = [value.detach().clone() for value in everything()]
    step(scale)
    assert all(torch.equal(old, new) for old, new in zip(before, everything(), strict=True))
    step(4.0)
    assert not any(torch.equal(old, new) for old, new in zip(before, params) if new.numel())


@pytest.mark.parametrize("scale", [0, 0.0, -1.0, 2.0, float("nan"), float("inf"), True, "2"], ids=repr)
@pytest.mark.parametrize("how", ["alone", "chain", "function"])
def test_a_scale_on_the_host_is_refused_by_its_name(how, scale):
    """A tensor is not read on the host: its step may be skipped on the device."""
    params = support.parameters(shapes=((3,), (2, 2)))
    support.set_gradients(params)
    before = [param.detach().clone() for param in params]
    with pytest.raises(heddle.BadInput, match="^grad_scale: expected a tensor of one element or None, found "):
        if how == "function":
            heddle.optim.functional.sgd(params, [param.grad for param in params], [], weight_decay=0, momentum=0, lr=0.1,
                                        dampening=0, nesterov=False, maximize=False, grad_scale=scale)
        else:
            optimizers = [heddle.optim.AdamW(params[:1]), heddle.optim.SGD(params[1:])]
            optimizer = heddle.optim.chain(optimizer=optimizers) if how == "chain" else optimizers[0]
            optimizer.grad_scale = scale
            optimizer.step()
    support.assert_same_params(params, before, rtol=0, atol=0)


@DEVICES
@NAMES
def test_clip(name, device):
    params = support.parameters(device)
    ours, theirs, others = support.pair(name, params, **OPTIONS[name])
    ours = heddle.optim.chain(clip_grad_norm=1.0, optimizer=ours)
    for step, largest in enumerate((1.0, 1.0, 0.1, 1000.0)):
        ours.clip_grad_norm = largest
        support.set_gradients(params, others, step, skip=(1,) if step == 1 else ())
        before = [None if param.grad is None else param.grad.clone() for param in params]
        expected = torch.nn.utils.clip_grad_norm_(others, largest, foreach=False)
        norm = ours.step()
        theirs.step()
        assert norm.dtype == torch.float64 and norm.shape == () and norm.device.type == device
        torch.testing.assert_close(norm.float(), expected)
        assert all(old is None or torch.equal(old, param.grad) for old, param in zip(before, params))
    support.assert_same_params(params, others, rtol=2e-5, atol=2e-6)
    support.assert_same_state(ours, theirs, rtol=2e-5, atol=2e-6)


@DEVICES
def test_norms_are_kept(device):
    """A norm is not overwritten by the next step, and a closure's loss is returned."""
    params = support.parameters(device)
    optimizer = heddle.optim.chain(clip_grad_norm=1.0, optimizer=heddle.optim.AdamW(params))
    support.set_gradients(params)
    first = optimizer.step()
    value = float(first)
    for param in params:
        param.grad *= 2
    assert optimizer.step(lambda: 7.0) == 7.0
    assert float(first) == value and float(optimizer.grad_norm) == pytest.approx(2 * value)


@DEVICES
def test_clip_over_several_launches(device):
    """The norm is that of all gradients, also if options or element types need several launches."""
    params = support.parameters(device, torch.float64)
    others = support.copies(params)
    split = [[dict(params=each[:3], momentum=0.9), dict(params=each[3:], momentum=0)] for each in (params, others)]
    ours = heddle.optim.chain(clip_grad_norm=0.7, optimizer=heddle.optim.SGD(split[0], lr=0.1))
    theirs = torch.optim.SGD(split[1], lr=0.1, foreach=False)
    for step, skip in enumerate(((), (3, 4, 5, 6), (0, 1, 2), tuple(range(7)))):
        support.set_gradients(params, others, step, skip)
        expected = torch.nn.utils.clip_grad_norm_(others, 0.7, foreach=False)
        # Without gradients, torch's norm is on the CPU.
        torch.testing.assert_close(ours.step(), expected.double().to(device))
        theirs.step()
    support.assert_same_params(params, others, rtol=1e-12, atol=1e-12)


def test_clip_is_the_composition_of_the_library():
    """The rewritten program computes the same bits as clip_by_global_norm+adamw, in as many launches."""
    from heddle.optim import _programs

    params = support.parameters()
    optimizer = heddle.optim.chain(clip_grad_norm=0.5, optimizer=heddle.optim.AdamW(params, lr=0.1))
    arrays = [param.detach().numpy().copy() for param in params]
    graph = heddle.compile("clip_by_global_norm+adamw", target="cpu").graph()
    support.set_gradients(params)
    gradients = [param.grad.numpy() for param in params]
    state = {name: [numpy.zeros_like(array) for array in arrays] for name in ("exp_avg", "exp_avg_sq")}
    steps = [numpy.zeros((), "f4") for _ in arrays]
    for name, members in (("param", arrays), ("grad", gradients), *state.items(), ("step", steps)):
        graph.bind_list(name, members)
    graph.set_scalar("lr", 0.1)
    graph.set_scalar("max_norm", 0.5)
    for _ in range(3):
        graph.replay()
        optimizer.step()
    for param, array in zip(params, arrays):
        assert (param.detach().numpy() == array).all()
    program = _programs.text(optimizer.spec, optimizer._parts[False][0].form)
    ours, library = heddle.explain(program, json=True), heddle.explain("clip_by_global_norm+adamw", json=True)
    assert [ours[key] for key in ("launches", "bytes_per_element")] == [
        library[key] for key in ("launches", "bytes_per_element")
    ]


def test_chain_refuses():
    with pytest.raises(heddle.BadInput, match="optimizer: expected an optimizer of heddle.optim or a list of them, found torch"):
        heddle.optim.chain(clip_grad_norm=1.0, optimizer=torch.optim.AdamW(support.parameters()))
    with pytest.raises(heddle.BadInput, match="clip_grad_norm: expected a number of at least 0"):
        heddle.optim.chain(clip_grad_norm=-1.0, optimizer=heddle.optim.AdamW(support.parameters()))
