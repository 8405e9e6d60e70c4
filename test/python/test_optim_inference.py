"""Steps inside of torch.inference_mode(): what the optimizer keeps are normal tensors, which later steps may change."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
import heddle.optim.functional  # noqa: E402

DEVICES = pytest.mark.parametrize("device", support.devices())


def kept_tensors(optimizer):
    """All tensors that an optimizer has, but the parameters and gradients."""
    found, seen, work = [], set(), [vars(optimizer)]
    skipped = {id(param) for group in optimizer.param_groups for param in group["params"]}
    while work:
        each = work.pop()
        if id(each) in seen or id(each) in skipped:
            continue
        seen.add(id(each))
        if isinstance(each, torch.Tensor):
            found.append(each)
        elif isinstance(each, dict):
            work += each.values()
        elif isinstance(each, (list, tuple, set)):
            work += each
        elif type(each).__module__.startswith("heddle.optim"):
            work.append(getattr(each, "__dict__", {}))
    return found


@DEVICES
@pytest.mark.parametrize("name", support.TORCH_NAMES)
@pytest.mark.parametrize("layout", ["dense", "strided gradients", "strided parameters"])
@pytest.mark.parametrize("first", [True, False])
def test_steps_in_inference_mode(name, layout, first, device):
    """The same bits as steps outside of it, in any order."""
    def made():
        base = torch.linspace(-1, 1, 24, device=device).reshape(4, 6)
        param = torch.nn.Parameter(base.clone()[:, ::2] if "parameters" in layout else base[:, ::2].contiguous())
        groups = [{"params": [param]}, {"params": [torch.nn.Parameter(torch.ones(2, device=device))], "lr": 0.2}]
        optimizer = heddle.optim.chain(clip_grad_norm=1.0, optimizer=support.heddle_class(name)(groups, lr=0.1))
        return [param, groups[1]["params"][0]], optimizer

    (params, optimizer), (others, other) = made(), made()
    for step in range(4):
        for param in (*params, *others):
            base = torch.linspace(step - 1.5, 1, 2 * param.numel(), device=device)
            grad = base.reshape(*param.shape[:-1], -1)[..., ::2]
            param.grad = grad if layout == "strided gradients" else grad.contiguous()
        with torch.inference_mode((step % 2 == 0) == first):
            norm = optimizer.step()
            assert not torch.is_grad_enabled() or not torch.is_inference_mode_enabled()
        other.step()
        assert not norm.is_inference()
        assert not any(tensor.is_inference() for tensor in kept_tensors(optimizer))
    assert all(map(torch.equal, params, others))
    for param in params:
        for value in optimizer.state[param].values():
            value.add_(0)


@DEVICES
def test_gradients_and_tensors_of_inference_mode(device):
    """Gradients, learning rates and scales may be inference tensors."""
    params = support.parameters(device)
    others = support.copies(params)
    ours, other = heddle.optim.AdamW(params, lr=0.1), heddle.optim.AdamW(others, lr=0.1)
    for step in range(3):
        with torch.inference_mode(step != 1):
            support.set_gradients(params, step=step)
            ours.param_groups[0]["lr"] = torch.tensor(0.1)
            ours.grad_scale, ours.found_inf = torch.ones((), device=device), torch.zeros((), device=device)
            ours.step()
        support.set_gradients(others, step=step)
        other.step()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    assert not any(value.is_inference() for state in ours.state.values() for value in state.values())


def test_parameters_of_inference_mode():
    """Their elements may be strided: the copy back is allowed outside of the mode as well."""
    with torch.inference_mode():
        param = torch.nn.Parameter(torch.ones(4, 6)[:, ::2], requires_grad=False)
        param.grad = torch.ones(4, 3)
    optimizer = heddle.optim.SGD([param], lr=0.5)
    optimizer.step()
    with torch.inference_mode():
        optimizer.step()
    assert (param == 0).all()


@pytest.mark.parametrize("master", ["f32", "split"])
def test_masters_and_loaded_state(master):
    params = support.parameters(dtype=torch.bfloat16)
    support.set_gradients(params)
    with torch.inference_mode():
        optimizer = heddle.optim.AdamW(params, master=master, state_dtype=torch.float32)
        optimizer.step()
        exact = heddle.optim.masters(optimizer)
        heddle.optim.load_masters(optimizer, exact)
        saved = optimizer.state_dict()
        saved["state"] = {place: {key: value if key == "param_low" else value.double() for key, value in state.items()}
                          for place, state in saved["state"].items()}
        optimizer.load_state_dict(saved)
    optimizer.step()
    assert not any(tensor.is_inference() for tensor in (*exact, *kept_tensors(optimizer)))


def test_functions():
    params = [torch.ones(4), torch.ones(2, 6)[:, ::2]]
    grads = [torch.ones(4), torch.ones(3, 2).t()]
    buffers = [None, None]
    rest = dict(momentum=0.9, dampening=0, lr=0.5, weight_decay=0, nesterov=False, maximize=False)
    for inside in (True, False, True):
        with torch.inference_mode(inside):
            heddle.optim.functional.sgd(params, grads, buffers, **rest)
    assert not any(buffer.is_inference() for buffer in buffers)
    assert all((param + 1.805 < 1e-6).all() for param in params)
