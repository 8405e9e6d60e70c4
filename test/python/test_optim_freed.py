"""Tensors without memory, and other tensors and objects that a caller has damaged, are errors in every call.

PyTorch reads a tensor at address 0 after ``untyped_storage().resize_(0)``, and the process ends.
"""

import copy
import os
import sys

import numpy
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle.optim.functional  # noqa: E402
from heddle import BadInput  # noqa: E402
from heddle._values import short  # noqa: E402

AVERAGES = pytest.mark.parametrize("name", ["SGDScheduleFree", "AdamWScheduleFree"])
MODES = pytest.mark.parametrize("mode", ["eval", "train"])


def freed(tensor):
    tensor.untyped_storage().resize_(0)
    return tensor


def parameter(count=3, dtype=torch.float32):
    param = torch.nn.Parameter(torch.ones(count, dtype=dtype))
    param.grad = torch.ones_like(param)
    return param


def stepped(name, params, **options):
    optimizer = getattr(heddle.optim, name)(params, **{"lr": 0.1, **options})
    optimizer.step()
    optimizer.step()
    return optimizer


def averaged(name, mode):
    """An optimizer of two parameters in the other mode."""
    params = [parameter(), parameter(4)]
    optimizer = stepped(name, params)
    if mode == "train":
        optimizer.eval()
    return optimizer, params


def refuses(optimizer, mode, message):
    """A refused change of the mode leaves the first parameter and the mode as they were."""
    is_training = mode != "train"
    groups = optimizer.param_groups
    params = (isinstance(groups, list) and groups[0]["params"]) or []
    before = [param.detach().clone() for param in params[:1] if isinstance(param, torch.Tensor)]
    with pytest.raises(BadInput, match=message):
        getattr(optimizer, mode)()
    assert all(map(torch.equal, params, before))
    assert not groups or groups[0].get("train_mode", is_training) == is_training


@AVERAGES
@MODES
@pytest.mark.parametrize("key", ["param", "z", "step"])
def test_the_mode_of_tensors_without_memory(name, mode, key):
    optimizer, params = averaged(name, mode)
    state = optimizer.state[params[1]]
    if key not in (*state, "param"):
        pytest.skip(f"{name} has no state '{key}'")
    freed(params[1] if key == "param" else state[key])
    what = "parameter" if key == "param" else f"state '{key}' of parameter"
    refuses(optimizer, mode, f"{what} [01] of group 0: expected elements in memory")  # counters share their memory


@AVERAGES
@MODES
@pytest.mark.parametrize("value, message", [
    (torch.ones(4, dtype=torch.int64), "expected dtype torch.float32, or another width of it, found torch.int64"),
    (torch.ones(4, dtype=torch.bool), "expected dtype torch.float32, or another width of it, found torch.bool"),
    (torch.ones(4, dtype=torch.complex64), "expected dtype torch.float32, or another width of it, found torch.complex64"),
    (torch.ones(5), r"expected a tensor of shape \(4,\) on cpu, found \(5,\) on cpu"),
    (torch.ones(4).to_sparse(), "expected a dense tensor, found layout torch.sparse_coo"),
    (torch.ones(4, device="meta"), "expected a dense tensor, found layout torch.strided on meta"),
    (torch.ones(1).expand(4), "expected elements with memory of their own"),
    (7, r"expected a tensor of shape \(4,\) on cpu, found int"),
], ids=["int64", "bool", "complex", "shape", "sparse", "meta", "expand", "int"])
def test_the_mode_of_wrong_state_changes_nothing(name, mode, value, message):
    optimizer, params = averaged(name, mode)
    optimizer.state[params[1]]["z"] = value
    refuses(optimizer, mode, f"state 'z' of parameter 1 of group 0: {message}")


@AVERAGES
@MODES
@pytest.mark.parametrize("value, message", [
    (torch.ones(1).expand(4), "expected elements with memory of their own"),
    (torch.ones(4, dtype=torch.float64), None),
], ids=["expand", "float64"])
def test_the_mode_of_other_parameters(name, mode, value, message):
    optimizer, params = averaged(name, mode)
    params[1].data = value
    if message:
        refuses(optimizer, mode, f"parameter 1 of group 0: {message}")
    else:
        getattr(optimizer, mode)()


def _without_mode(optimizer, params):
    del optimizer.param_groups[0]["train_mode"]


def _without_groups(optimizer, params):
    optimizer.param_groups = None


def _without_params(optimizer, params):
    optimizer.param_groups[0]["params"] = None


def _with_text(optimizer, params):
    optimizer.param_groups[0]["params"] = ["a"]


def _without_state(optimizer, params):
    optimizer.state = None


def _without_a_state(optimizer, params):
    optimizer.state[params[1]] = None


@AVERAGES
@pytest.mark.parametrize("damage, message", [
    (_without_mode, r"param_groups\[0\]: expected an entry 'train_mode', found none beside"),
    (_without_groups, "param_groups: expected a list of dictionaries, found None"),
    (_without_params, "params: expected a list of tensors in group 0, found None"),
    (_with_text, r"params: expected a list of tensors in group 0, found \['a'\]"),
    (_without_state, "state: expected a dictionary, found NoneType"),
    (_without_a_state, "state: expected a dictionary for each parameter, found NoneType"),
])
@pytest.mark.parametrize("call", ["eval", "step"])
def test_averages_of_damaged_groups(name, damage, message, call):
    optimizer, params = averaged(name, "eval")
    damage(optimizer, params)
    refuses(optimizer, call, message)


@pytest.mark.parametrize("master, key", [
    ("split", "param_low"), ("f32", "master_param"), ("split", "param"), ("f32", "param"), (None, "param"),
])
@pytest.mark.parametrize("values", [None, 2.0], ids=["masters", "load_masters"])
def test_masters_without_memory(master, key, values):
    params = [parameter(dtype=torch.bfloat16), parameter(4, dtype=torch.bfloat16)]
    optimizer = stepped("AdamW", params, master=master)
    freed(params[1] if key == "param" else optimizer.state[params[1]][key])
    before = params[0].detach().clone()
    what = "parameter" if key == "param" else f"state '{key}' of parameter"
    with pytest.raises(BadInput, match=f"{what} 1 of group 0: expected elements in memory"):
        if values is None:
            heddle.optim.masters(optimizer)
        else:
            heddle.optim.load_masters(optimizer, [torch.full_like(param, values) for param in (torch.ones(3), torch.ones(4))])
    assert torch.equal(params[0], before)


@pytest.mark.parametrize("value, message", [
    (torch.ones(9, dtype=torch.int16), r"expected a tensor of shape \(4,\), found shape \(9,\)"),
    (torch.ones(4), "expected a tensor of torch.int16, found torch.float32"),
])
def test_masters_of_wrong_lower_halves(value, message):
    params = [parameter(dtype=torch.bfloat16), parameter(4, dtype=torch.bfloat16)]
    optimizer = stepped("AdamW", params, master="split")
    before = params[0].detach().clone()
    optimizer.state[params[1]]["param_low"] = value
    for call in (heddle.optim.masters, lambda each: heddle.optim.load_masters(each, [torch.zeros(3), torch.zeros(4)])):
        with pytest.raises(BadInput, match=f"state 'param_low' of parameter 1 of group 0: {message}"):
            call(optimizer)
    assert torch.equal(params[0], before)


def test_loaded_masters_without_memory():
    params = [parameter(), parameter(4)]
    optimizer = heddle.optim.AdamW(params)
    with pytest.raises(BadInput, match=r"values\[1\]: expected elements in memory"):
        heddle.optim.load_masters(optimizer, [torch.zeros(3), freed(torch.zeros(4))])
    params[1].data = torch.ones(1).expand(4)
    with pytest.raises(BadInput, match="parameter 1 of group 0: expected elements with memory of their own"):
        heddle.optim.load_masters(optimizer, [torch.zeros(3), torch.zeros(4)])
    assert params[0].tolist() == [1, 1, 1]


def test_a_load_of_exact_parameters_without_memory():
    params = [parameter(dtype=torch.bfloat16), parameter(4, dtype=torch.bfloat16)]
    optimizer = stepped("AdamW", params, master="f32")
    saved = copy.deepcopy(optimizer.state_dict())
    optimizer.step()
    before = params[0].detach().clone()
    freed(params[1])
    with pytest.raises(BadInput, match="parameter 1 of group 0: expected elements in memory"):
        optimizer.load_state_dict(saved)
    assert torch.equal(params[0], before) and optimizer.state[params[0]]["step"].item() == 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_load_of_state_without_memory(dtype):
    params = [parameter(), parameter(4)]
    optimizer = stepped("AdamW", params)
    saved = copy.deepcopy(optimizer.state_dict())
    saved["state"][1]["exp_avg"] = freed(torch.ones(4, dtype=dtype))
    optimizer.step()
    with pytest.raises(BadInput, match="state 'exp_avg' of parameter 1 of group 0: expected elements in memory"):
        optimizer.load_state_dict(saved)
    assert optimizer.state[params[0]]["step"].item() == 3


def test_float32_state_without_memory():
    param = parameter(dtype=torch.bfloat16)
    optimizer = stepped("AdamW", [param])
    freed(optimizer.state[param]["exp_avg"])
    with pytest.raises(BadInput, match="state 'exp_avg' of parameter 0: expected elements in memory"):
        heddle.optim.float32_state_dict(optimizer)


def test_masters_of_other_objects():
    calls = (heddle.optim.masters, heddle.optim.float32_state_dict, lambda each: heddle.optim.load_masters(each, []))
    for call in calls:
        with pytest.raises(BadInput, match="optimizer: expected an optimizer of heddle, found NoneType"):
            call(None)
    optimizer = heddle.optim.AdamW([parameter()])
    for values, found in ((None, "NoneType"), (5, "int"), (iter([torch.ones(3)]), "list_iterator")):
        with pytest.raises(BadInput, match=f"values: expected a list of tensors, found {found}"):
            heddle.optim.load_masters(optimizer, values)
    with pytest.raises(BadInput, match=r"values\[0\]: expected a tensor of shape \(3,\), found None"):
        heddle.optim.load_masters(optimizer, [None])


@pytest.mark.parametrize("name", ["found_inf", "grad_scale"])
@pytest.mark.parametrize("value, message", [
    (1.0, "expected a tensor of one element or None, found 1.0"),
    (True, "expected a tensor of one element or None, found True"),
    ("x", "expected a tensor of one element or None, found 'x'"),
    (torch.ones(2), r"expected a tensor of one element or None, found shape \(2,\)"),
    (torch.tensor(1.0, device="meta"), "expected a dense tensor, found layout torch.strided on meta"),
    (torch.tensor(1j), "expected a real number, found dtype torch.complex64"),
    (freed(torch.tensor(1.0)), "expected elements in memory"),
], ids=["float", "bool", "text", "two", "meta", "complex", "freed"])
def test_wrong_scaling(name, value, message):
    param = parameter()
    optimizer = heddle.optim.AdamW([param], lr=0.1)
    optimizer.found_inf = torch.tensor(0.0)
    setattr(optimizer, name, value)
    with pytest.raises(BadInput, match=f"^{name}: {message}"):
        optimizer.step()
    assert param.tolist() == [1, 1, 1] and not optimizer.state
    optimizer.grad_scale, optimizer.found_inf = torch.tensor([[1.0]]), torch.tensor(0.0, dtype=torch.float64)
    optimizer.step()
    assert param.tolist() != [1, 1, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_hyperparameter_without_memory(dtype):
    with pytest.raises(BadInput, match="^lr: expected elements in memory"):
        heddle.optim.AdamW([parameter()], lr=freed(torch.ones((), dtype=dtype)))
    lr = torch.ones((), dtype=dtype)
    optimizer = stepped("AdamW", [parameter()], lr=lr)
    freed(lr)
    with pytest.raises(BadInput, match="^lr: expected elements in memory"):
        optimizer.step()


def cut(base, keep):
    """The last element of a tensor whose storage ends before it, or in it."""
    last = base[-1]
    base.untyped_storage().resize_(keep)
    return last


@pytest.mark.parametrize("keep", [8, 3, 4 * 100_000 - 1])
@pytest.mark.parametrize("name, message", [
    ("lr", "expected elements in memory, found some or all without"),
    ("weight_decay", "expected a number, found a tensor of shape .* without memory"),
])
def test_a_hyperparameter_whose_storage_was_cut(name, message, keep):
    """PyTorch reads it beyond the end of its storage."""
    base = torch.full((100_000,), 0.5)
    with pytest.raises(BadInput, match=f"^{name}: expected elements in memory"):
        heddle.optim.AdamW([parameter()], **{name: cut(base, keep)})
    base = torch.full((100_000,), 0.5)
    param = parameter()
    optimizer = stepped("AdamW", [param], **{name: base[-1]})
    before = param.tolist()
    cut(base, keep)
    with pytest.raises(BadInput, match=f"^{name}: {message}"):
        optimizer.step()
    assert param.tolist() == before
    optimizer.param_groups[0][name] = torch.tensor(0.5)
    optimizer.step()
    assert param.tolist() != before


@pytest.mark.parametrize("name, key", [
    ("AdamW", "betas"), ("AdamWScheduleFree", "betas"), ("Adan", "betas"), ("Rprop", "etas"),
])
@pytest.mark.parametrize("keep", [0, 4])
def test_several_hyperparameters_in_one_tensor_without_memory(name, key, keep):
    make = getattr(heddle.optim, name)

    def numbers():
        values = torch.tensor(make([parameter()]).param_groups[0][key])
        values.untyped_storage().resize_(keep)
        return values

    message = f"^{key}: expected elements in memory, found some or all without"
    with pytest.raises(BadInput, match=message):
        make([parameter()], **{key: numbers()})
    param = parameter()
    optimizer = stepped(name, [param])
    with pytest.raises(BadInput, match=message):
        optimizer.add_param_group({"params": [parameter()], key: numbers()})
    before = param.tolist()
    optimizer.param_groups[0][key] = numbers()
    with pytest.raises(BadInput, match=message):
        optimizer.step()
    if hasattr(optimizer, "eval"):
        with pytest.raises(BadInput, match=message):
            optimizer.eval()
    assert param.tolist() == before
    # Views that the constructor has made of a tensor.
    values = torch.tensor(make([parameter()]).param_groups[0][key])
    optimizer = stepped(name, [param], **{key: values})
    values.untyped_storage().resize_(keep)
    with pytest.raises(BadInput, match="expected elements in memory"):
        optimizer.step()


def test_several_hyperparameters_in_a_view_of_a_resized_array():
    """NumPy frees the memory of the array, whatever refers to it: the view reads memory of others."""
    def numbers():
        base = numpy.full(1000, 0.5)
        view = base[-2:]
        base.resize(2, refcheck=False)
        return view

    message = r"^betas: expected elements in memory, found an array of shape \(2,\) and dtype float64 without memory"
    with pytest.raises(BadInput, match=message):
        heddle.optim.AdamW([parameter()], betas=numbers())
    optimizer = stepped("AdamW", [parameter()])
    optimizer.param_groups[0]["betas"] = numbers()
    with pytest.raises(BadInput, match=message):
        optimizer.step()
    optimizer.param_groups[0]["betas"] = numpy.full(4, 0.5)[2:]
    optimizer.param_groups[0]["weight_decay"] = numbers()[1:]
    with pytest.raises(BadInput, match="^weight_decay: expected a number, found an array of shape .* without memory"):
        optimizer.step()


def test_nested_parameters():
    param = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged).requires_grad_()
    param.grad = param.detach().clone()
    with pytest.raises(BadInput, match="parameter 0 of group 0: expected a dense tensor, found a nested one of layout"):
        heddle.optim.SGD([param], lr=0.1).step()


class Wrapper(torch.Tensor):
    """A tensor without memory that computes with another one."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, strides=inner.stride())

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args = [each.inner if isinstance(each, Wrapper) else each for each in args]
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("steps", [0, 1])
def test_gradients_that_wrap_tensors(steps):
    params = [parameter(), parameter()]
    optimizer = heddle.optim.SGD(params, lr=0.1)
    for _ in range(steps):
        optimizer.step()
    params[1].grad = Wrapper(torch.ones(3))
    with pytest.raises(BadInput, match="gradient of parameter 1 of group 0: expected .* memory"):
        optimizer.step()
    params[1].grad = torch.ones(3)
    optimizer.step()


def test_messages_do_not_read_tensors_without_memory():
    tensor = freed(torch.ones(2))
    assert short(tensor) == "a tensor of shape (2,) and dtype torch.float32 without memory"
    for value in ([tensor], {"x": (1, [tensor])}, (tensor,)):
        assert short(value) == f"{type(value).__name__} with a tensor of shape (2,) without memory"
    loop = [1]
    loop.append(loop)
    assert short(loop) == "[1, [...]]" and short(None) == "None" and short([None]) == "[None]"
    deep = []
    for _ in range(100000):
        deep = [deep]
    assert short(deep) == "list"
    assert short(torch.ones(2)) == "tensor([1., 1.])" and short(torch._efficientzerotensor((2,))) == "tensor([0., 0.])"
    optimizer = heddle.optim.AdamW([parameter()])
    with pytest.raises(BadInput, match="clip_grad_norm: expected a number of at least 0 or None, found a tensor of shape"):
        heddle.optim.chain(clip_grad_norm=freed(torch.tensor(1.0)), optimizer=optimizer)


def test_counters_of_functions_without_memory():
    param, step = torch.ones(3), freed(torch.ones(()))
    with pytest.raises(BadInput, match=r"sparse_adam: state_steps\[0\]: expected elements in memory"):
        heddle.optim.functional.sparse_adam(
            [param], [torch.ones(3)], [torch.zeros(3)], [torch.zeros(3)], [step],
            lr=0.1, beta1=0.9, beta2=0.99, eps=1e-8, maximize=False,
        )
    assert param.tolist() == [1, 1, 1]
