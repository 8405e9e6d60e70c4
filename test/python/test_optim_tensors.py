"""Parameters of every kind: orders of memory, complex numbers, shards, devices; and errors that name the parameter."""

import os
import sys

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
    "Adam": dict(lr=0.1, amsgrad=True),
    "AdamW": dict(lr=0.1),
}


def in_every_order(device):
    """Parameters whose elements are in another order in memory, or in a part of a larger tensor."""
    def drawn(*shape):
        return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).to(device)

    return [
        torch.nn.Parameter(drawn(2, 3, 4, 5).to(memory_format=torch.channels_last)),
        torch.nn.Parameter(drawn(5, 4).t()),
        torch.nn.Parameter(drawn(10, 5, 2)[..., 0]),
        torch.nn.Parameter(drawn(4, 6)[1:3, 2:5]),
        torch.nn.Parameter(drawn(3, 4)),
    ]


@DEVICES
@NAMES
@pytest.mark.parametrize("gradients", ["contiguous", "preserved"])
def test_orders_of_memory(name, gradients, device):
    params = in_every_order(device)
    ours, theirs, others = support.pair(name, params, **OPTIONS[name])
    for step in range(4):
        support.set_gradients(params, others, step, skip=(2,) if step == 1 else ())
        if gradients == "preserved":
            for param in params:
                if param.grad is not None:
                    ordered = torch.empty_like(param, memory_format=torch.preserve_format)
                    param.grad = ordered.copy_(param.grad)
        ours.step()
        theirs.step()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))
    for param in params[:2]:
        for value in ours.state[param].values():
            assert value.shape == () or value.stride() == param.stride()


@DEVICES
def test_order_that_changes_later(device):
    """model.to(memory_format=torch.channels_last) between steps: the state follows."""
    params = support.parameters(device, shapes=[(2, 3, 4, 5), (4,)])
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    support.run(ours, theirs, params, others, 2)
    params[0].data = params[0].data.to(memory_format=torch.channels_last)
    support.run(ours, theirs, params, others, 2, 2)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


@DEVICES
def test_parameters_that_move(device):
    """param.data = another tensor: the step writes the new memory."""
    params = support.parameters(device)
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    support.run(ours, theirs, params, others, 2)
    for param in params:
        param.data = param.data.clone()
    support.run(ours, theirs, params, others, 2, 2)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


@DEVICES
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("offset", [0, 3])
@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("what", ["parameter", "gradient", "state"])
@pytest.mark.parametrize("left", [0, 4, 27])
def test_tensors_without_memory(left, what, steps, offset, stride, device):
    """The storage has too few bytes. The address is null only if it has none and the tensor has no offset."""
    if what == "state" and not steps:
        pytest.skip("the first step makes the state")

    def tensor():
        return torch.ones(offset + 8, device=device)[offset::stride]

    params = [torch.nn.Parameter(tensor()) for _ in range(2)]
    optimizer = heddle.optim.Adam(params, lr=0.1)
    for param in params:
        param.grad = tensor()
    for _ in range(steps):
        optimizer.step()
    if what == "state":
        optimizer.state[params[1]]["exp_avg"].data = tensor()
    before = params[0].detach().clone()
    freed = {"parameter": params[1], "gradient": params[1].grad}.get(what)
    freed = optimizer.state[params[1]]["exp_avg"] if freed is None else freed
    freed.untyped_storage().resize_(left)
    with pytest.raises(heddle.BadInput, match=f"{what}.*1 of group 0.*: expected elements in memory, found some or"):
        optimizer.step()
    assert torch.equal(params[0], before)


def test_gradients_that_are_wrapped():
    """The tensors of torch.func and of fake modes have the type of plain tensors, but no memory."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    param = torch.nn.Parameter(torch.ones(3))
    optimizer = heddle.optim.SGD([param], lr=0.1)

    def stepped(value):
        param.grad = value
        optimizer.step()
        return value.sum()

    def faked(value):
        with FakeTensorMode() as mode:
            stepped(mode.from_tensor(value))

    for call, value in ((torch.func.grad(stepped), torch.ones(3)), (torch.vmap(stepped), torch.ones(2, 3))):
        with pytest.raises(heddle.BadInput, match="^step: expected a call outside of the transforms of torch.func"):
            call(value)
        with pytest.raises(heddle.BadInput, match="gradient of parameter 0 of group 0: expected elements in memory"):
            optimizer.step()  # the gradient outlives its transform
    with pytest.raises(heddle.BadInput, match="gradient of parameter 0 of group 0: expected elements in memory"):
        faked(torch.ones(3))
    assert torch.equal(param, torch.ones(3))


def test_a_gradient_of_zeros_without_memory():
    params = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    ours, theirs, others = support.pair("SGD", params, lr=0.1, weight_decay=0.5)
    for each in (params, others):
        each[0].grad = torch.ones(3)
        each[1].grad = torch._efficientzerotensor((3,))
    ours.step()
    theirs.step()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


def test_state_that_cannot_be_read():
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = heddle.optim.Adam([param], lr=0.1)
    param.grad = torch.ones(3)
    optimizer.step()
    good = optimizer.state[param]["exp_avg"]
    for wrong in (torch.zeros(3, device="meta"), torch.zeros(3).to_sparse()):
        optimizer.state[param]["exp_avg"] = wrong
        with pytest.raises(heddle.BadInput, match="state 'exp_avg' of parameter 0 of group 0: expected a dense tensor"):
            optimizer.step()
    optimizer.state[param]["exp_avg"] = good
    count = optimizer.state[param]["step"]
    count.data = torch.tensor(-5.0)._neg_view()
    optimizer.step()
    assert float(optimizer.state[param]["step"]) == 6


@pytest.mark.parametrize("name", ["SGD", "Adam"])
@pytest.mark.parametrize("shape", [(0, 3), (2, 3)])
def test_a_parameter_that_is_twice_in_a_group(name, shape):
    """Also if it has no elements: its step counter is one value, which two members would write."""
    params = [torch.nn.Parameter(torch.ones(shape)), torch.nn.Parameter(torch.ones(4))]
    for param in params:
        param.grad = torch.ones_like(param)
    options = {"momentum": 0.9, "dampening": 0.5} if name == "SGD" else {}
    optimizer = support.heddle_class(name)(params, lr=0.1, **options)
    optimizer.step()
    optimizer.param_groups[0]["params"].append(params[0])
    for _ in range(2):
        with pytest.raises(heddle.BadInput, match="parameter 2 of group 0: expected memory of its own"):
            optimizer.step()


def test_strided_parameters_that_overlap():
    """Views whose elements alternate in memory are stepped; views that share elements are refused."""
    base = torch.ones(4, 6)
    params = [torch.nn.Parameter(base[:, start::2]) for start in (0, 1)]
    ours, theirs, others = support.pair("Adam", params, lr=0.1)
    for param, other in zip(params, others):
        param.grad, other.grad = torch.ones(4, 3), torch.ones(4, 3)
    ours.step()
    theirs.step()
    support.assert_same_params(params, others)
    for view in (base[:, ::2], base[:, 2::2], base[1], base[3:, 4]):
        pair = [torch.nn.Parameter(base[:, ::2]), torch.nn.Parameter(view)]
        for param in pair:
            param.grad = torch.ones_like(param)
        before = base.clone()
        with pytest.raises(heddle.BadInput, match="parameter 1 of group 0: .*overlap with parameter 0 of group 0"):
            heddle.optim.Adam(pair, lr=0.1).step()
        assert torch.equal(base, before)
    params[1].data = base[:, ::2]
    with pytest.raises(heddle.BadInput, match="overlap with parameter 0 of group 0"):
        ours.step()


def lazily_cloned(tensor):
    """Until one of them is written, the tensor shares its memory with the copy that this returns."""
    return torch._lazy_clone(tensor)


MOVES = {
    "data": lambda tensor: setattr(tensor, "data", tensor.data.clone()),
    "set": lambda tensor: tensor.set_(tensor.clone()),
    "storage": lambda tensor: tensor.untyped_storage().resize_(tensor.untyped_storage().nbytes() + 4096),
    "swap": lambda tensor: torch._C._swap_tensor_impl(tensor, tensor.clone()),
    "lazy clone": lazily_cloned,
}


@DEVICES
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("what", ["param", "grad", "exp_avg", "step"])
def test_memory_that_changes_below_a_tensor(what, move, device):
    """Every object of Python stays the same between steps, but the memory of some tensors is elsewhere."""
    if move == "lazy clone" and device != "cpu":
        pytest.skip("copies wait for the device, and both devices read tensors in the same way")
    params = support.parameters(device)
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    support.run(ours, theirs, params, others, 1)
    kept = []
    for step in range(3):
        for place, (param, other) in enumerate(zip(params, others)):
            if place % 2 or not param.numel():
                continue
            for each, optimizer in ((param, ours), (other, theirs)):
                tensor = {"param": each, "grad": each.grad}.get(what)
                tensor = optimizer.state[each][what] if tensor is None else tensor
                if what == "step" and each is other:
                    continue  # torch's counter is on the CPU
                with torch.no_grad():
                    copy = MOVES[move](tensor)
                if move == "lazy clone":
                    kept.append((copy, copy.clone()))
        ours.step()
        theirs.step()
        support.assert_same_params(params, others, **support.tolerance(torch.float32))
        support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))
    assert all(torch.equal(copy, before) for copy, before in kept)


@DEVICES
@NAMES
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=["c64", "c128"])
def test_complex(name, dtype, device):
    params = support.parameters(device, dtype) + support.parameters(device, torch.float32, shapes=[(3,)])
    ours, theirs, others = support.pair(name, params, **OPTIONS[name])
    support.run(ours, theirs, params, others, 4)
    tolerance = support.tolerance(torch.float32)
    support.assert_same_params(params, others, **tolerance)
    support.assert_same_state(ours, theirs, **tolerance)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=["c64", "c128"])
@pytest.mark.parametrize("options", [{"state_dtype": torch.bfloat16}, {"state_dtype": torch.float16}], ids=str)
def test_complex_parameters_with_state_of_another_width(dtype, options):
    """Such state would have half the elements that a step writes."""
    param = torch.nn.Parameter(torch.ones(100, dtype=dtype))
    with pytest.raises(heddle.BadInput, match="parameter 0 of group 0: expected state of the type of its parts"):
        heddle.optim.AdamW([param], **options)
    with pytest.raises(heddle.BadInput, match="parameter 'weight': expected state of the type of its parts"):
        heddle.optim.AdamW([("weight", param)], **options)
    optimizer = heddle.optim.AdamW([torch.nn.Parameter(torch.ones(3))])
    with pytest.raises(heddle.BadInput, match="parameter 0 of group 1: expected state of the type of its parts"):
        optimizer.add_param_group({"params": [param], **options})
    assert len(optimizer.param_groups) == 1
    optimizer.add_param_group({"params": [param]})
    optimizer.param_groups[1].update(options)
    param.grad = torch.ones_like(param)
    with pytest.raises(heddle.BadInput, match="parameter 0 of group 1: expected state of the type of its parts"):
        optimizer.step()
    assert torch.equal(param.detach(), torch.ones(100, dtype=dtype)) and not optimizer.state


@pytest.mark.parametrize("master", ["f32", "split"])
@pytest.mark.parametrize("dtype", [torch.complex32, torch.complex64], ids=str)
def test_complex_parameters_have_no_masters(master, dtype):
    """Refused when the optimizer is made, and when a group is added."""
    param, real = (torch.nn.Parameter(torch.zeros(3, dtype=each)) for each in (dtype, torch.bfloat16))
    with pytest.raises(heddle.BadInput, match="parameter 1 of group 0: expected a real parameter for master="):
        heddle.optim.AdamW([real, param], master=master)
    optimizer = heddle.optim.AdamW([real], master=master)
    with pytest.raises(heddle.BadInput, match="parameter 0 of group 1: expected a real parameter for master="):
        optimizer.add_param_group({"params": [param]})
    optimizer.add_param_group({"params": [param], "master": None})
    with pytest.raises(heddle.BadInput, match="expected real parameters, found torch.complex"):
        heddle.optim.masters(optimizer)


def test_real_state_of_16_bits_beside_complex_parameters():
    """The state of a real parameter decides the type of its family, which a complex parameter may share."""
    real, other = torch.nn.Parameter(torch.ones(4)), torch.nn.Parameter(torch.ones(100, dtype=torch.complex64))
    optimizer = heddle.optim.AdamW([real, other])
    optimizer.state[real] = {"step": torch.tensor(1.0), "exp_avg": torch.zeros(4, dtype=torch.bfloat16),
                             "exp_avg_sq": torch.zeros(4, dtype=torch.bfloat16)}
    real.grad, other.grad = torch.ones(4), torch.ones(100, dtype=torch.complex64)
    with pytest.raises(heddle.BadInput, match="parameter 1 of group 0: expected state of the type of its parts"):
        optimizer.step()


@DEVICES
def test_initial_state_of_complex_parameters(device):
    """Both parts of a complex number have the initial value of the state, as in PyTorch."""
    params = support.parameters(device, torch.complex64) + support.parameters(device, torch.float32, shapes=[(3,)])
    ours, theirs, others = support.pair("Adagrad", params, lr=0.1, initial_accumulator_value=0.3)
    support.run(ours, theirs, params, others, 3)
    tolerance = support.tolerance(torch.float32)
    support.assert_same_params(params, others, **tolerance)
    support.assert_same_state(ours, theirs, **tolerance)


@DEVICES
def test_lazy_conjugates(device):
    """Autograd returns conjugates whose memory has other numbers; a parameter may be one as well."""
    params = support.parameters(device, torch.complex64)
    params[0] = torch.nn.Parameter(params[0].detach().conj())
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    for step in range(3):
        support.set_gradients(params, others, step)
        for param, other in zip(params[::2], others[::2]):
            param.grad = param.grad.conj()
            other.grad = other.grad.conj().resolve_conj()
        ours.step()
        theirs.step()
    assert params[0].is_conj() and params[2].grad.is_conj()
    tolerance = support.tolerance(torch.float32)
    support.assert_same_params(params, others, **tolerance)
    support.assert_same_state(ours, theirs, **tolerance)


@DEVICES
def test_empty_parameters_count_steps(device):
    params = support.parameters(device, shapes=[(0,), (2, 0)])
    ours, theirs, others = support.pair("AdamW", params)
    support.run(ours, theirs, params, others, 3)
    support.assert_same_state(ours, theirs)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize("other", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
                                   torch.complex128, torch.int64, torch.bool], ids=str)
def test_gradients_of_another_type(name, dtype, other):
    """A gradient is converted if that is exact, as half of torch's optimizers do; the others refuse it."""
    param, same = (torch.nn.Parameter(torch.ones(3, dtype=dtype)) for _ in range(2))
    grad = torch.tensor([0.5, 1.5, -2.0]).to(other)
    if not hasattr(param, "grad_dtype"):
        pytest.skip("this PyTorch keeps gradients in the type of their parameter")
    param.grad_dtype = None
    param.grad, same.grad = grad, grad.to(dtype) if dtype.is_complex or not other.is_complex else None
    short, exact = (torch.float16, torch.bfloat16), {}
    exact = {torch.float32: short, torch.float64: (*short, torch.float32), torch.complex64: (*short, torch.float32)}
    optimizer = support.heddle_class(name)([param], lr=0.1)
    if other == dtype or other in exact.get(dtype, ()):
        optimizer.step()
        support.heddle_class(name)([same], lr=0.1).step()
        assert torch.equal(param, same)
        return
    expected = f"^gradient of parameter 0 of group 0: expected dtype {dtype}, found {other}; convert it"
    with pytest.raises(heddle.BadInput, match=expected):
        optimizer.step()
    assert (param == 1).all() and not optimizer.state


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64], ids=str)
@pytest.mark.parametrize("wrong", [torch.int64, torch.int16, torch.uint8, torch.bool, torch.float8_e4m3fn, "parts"], ids=str)
@pytest.mark.parametrize("steps", [0, 1])
def test_state_of_another_kind_of_numbers(dtype, wrong, steps):
    """PyTorch's steps fail as well. Integers, and real numbers for complex ones, would lose what they stand for."""
    if wrong == "parts":
        wrong = torch.float32 if dtype.is_complex else torch.complex64
    param = torch.nn.Parameter(torch.ones(4, dtype=dtype))
    optimizer = heddle.optim.Adam([param], lr=0.1)
    param.grad = torch.ones_like(param)
    for _ in range(steps):
        optimizer.step()
    state = {key: torch.zeros_like(param) for key in ("exp_avg", "exp_avg_sq")}
    optimizer.state[param].update({"step": torch.tensor(1.0), **state, "exp_avg": torch.zeros(4).to(wrong)})
    before = param.detach().clone()
    with pytest.raises(heddle.BadInput, match=f"state 'exp_avg' of parameter 0 of group 0: expected .*{dtype}.* found {wrong}"):
        optimizer.step()
    assert torch.equal(param, before)


@pytest.mark.parametrize("wrong", [torch.tensor(1j), torch.tensor(True), True, 1j, "1"], ids=str)
def test_single_values_of_another_kind(wrong):
    param = torch.nn.Parameter(torch.ones(4))
    optimizer = heddle.optim.Adam([param], lr=0.1)
    param.grad = torch.ones_like(param)
    optimizer.step()
    optimizer.state[param]["step"] = wrong
    with pytest.raises(heddle.BadInput, match="state 'step' of parameter 0 of group 0: expected a (real )?number, found"):
        optimizer.step()


def _small(size):
    return lambda value: torch.zeros(size, dtype=value.dtype)


def _set_data(make):
    def changed(value):
        value.data = make(value)
        return value

    return changed


#: State that has fewer bytes than a step writes, or other strides.
_DAMAGES = {
    "fewer elements": (_small(8), "expected a tensor of shape"),
    "no elements": (_small(0), "expected a tensor of shape"),
    "one element": (_small(()), "expected a tensor of shape"),
    "another shape": (_small((1024, 64)), "expected a tensor of shape"),
    "expanded": (lambda value: torch.zeros(1, dtype=value.dtype).expand(value.shape), r"memory of their own.* strides \(0, 0\)"),
    "expanded rows": (lambda value: torch.zeros(value.shape[1]).expand(value.shape), r"memory of their own.* strides \(0, 1\)"),
    "overlapping": (lambda value: torch.zeros(2048).as_strided(value.shape, (1, 1)), "memory of their own"),
    "narrower": (lambda value: value.half(), None),
    "wider": (lambda value: value.double(), None),
    "strided": (lambda value: torch.zeros(64, 2048)[:, ::2].copy_(value), None),
    "transposed": (lambda value: value.t().contiguous().t(), None),
}


@pytest.mark.parametrize("damage", _DAMAGES)
@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("how", ["assigned", "data", "loaded"])
@pytest.mark.parametrize("key", ["exp_avg_sq"])
def test_no_step_writes_beyond_its_state(damage, steps, how, key):
    """State that is too small is an error; state in another form is copied, and then has the values of the step."""
    change, message = _DAMAGES[damage]
    params = support.parameters(shapes=[(64, 1024), (5,)])
    others = support.copies(params)
    make = support.heddle_class("Adam")
    ours, theirs = make(params, lr=0.1, amsgrad=True), make(others, lr=0.1, amsgrad=True)
    for step in range(steps):
        support.set_gradients(params, others, step)
        ours.step()
        theirs.step()
    if not steps:
        for optimizer, param in ((ours, params[0]), (theirs, others[0])):
            zeros = {each: torch.zeros_like(param).detach() for each in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")}
            optimizer.state[param] = {"step": torch.zeros(()), **zeros}
    changed = _set_data(change)(ours.state[params[0]][key]) if how == "data" else change(ours.state[params[0]][key])
    if how == "loaded":
        saved = ours.state_dict()
        saved["state"][0] = {**saved["state"][0], key: changed}
        if message:
            with pytest.raises(heddle.BadInput, match=rf"^state_dict\['state'\]\[0\]\['{key}'\]: .*{message}"):
                ours.load_state_dict(saved)
            return
        ours.load_state_dict(saved)
    elif how == "assigned":
        ours.state[params[0]][key] = changed
    support.set_gradients(params, others, steps)
    before = [param.detach().clone() for param in params]
    if message:
        with pytest.raises(heddle.BadInput, match=f"state '{key}' of parameter 0 of group 0: .*{message}"):
            ours.step()
        assert all(map(torch.equal, params, before))
        return
    ours.step()
    theirs.step()
    for left, right in zip(params, others):
        torch.testing.assert_close(left, right, rtol=1e-2, atol=1e-2)
    found = ours.state[params[0]][key]
    assert found.shape == params[0].shape and found.untyped_storage().nbytes() >= found.element_size() * found.numel()


def test_state_in_float32_of_parameters_in_bfloat16():
    """State of another type, assigned by the user, keeps its type."""
    params = support.parameters(dtype=torch.bfloat16)
    optimizer = heddle.optim.AdamW(params)
    for param in params:
        optimizer.state[param] = {
            "step": torch.tensor(0.0), "exp_avg": torch.zeros_like(param, dtype=torch.float32),
            "exp_avg_sq": torch.zeros_like(param, dtype=torch.float32),
        }
    support.set_gradients(params)
    optimizer.step()
    for param in params:
        assert optimizer.state[param]["exp_avg"].dtype == torch.float32
        torch.testing.assert_close(optimizer.state[param]["exp_avg"], 0.1 * param.grad.float())


def test_several_devices():
    """One optimizer over the devices of this machine; without a second one, over one."""
    places = support.devices() if len(support.devices()) > 1 else ["cpu"]
    if torch.cuda.device_count() > 1:
        places = ["cpu", "cuda:0", "cuda:1"]
    params = [param for place in places for param in support.parameters(place)]
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    heddle.optim.chain(clip_grad_norm=1.0, optimizer=ours)
    for step in range(3):
        support.set_gradients(params, others, step)
        torch.nn.utils.clip_grad_norm_(others, 1.0, foreach=False)
        ours.step()
        theirs.step()
    support.assert_same_params(params, others, rtol=2e-5, atol=2e-6)
    assert len(ours._parts[False]) == len(places)


# ----------------------------------------------------------------------------------------------------------------------
# Errors: nothing is written
# ----------------------------------------------------------------------------------------------------------------------


def stepped(device="cpu"):
    params = support.parameters(device)
    optimizer = heddle.optim.AdamW([(f"layer{place}.weight", param) for place, param in enumerate(params)])
    support.set_gradients(params)
    optimizer.step()
    return params, optimizer


def assert_refused(params, optimizer, expected, error=heddle.BadInput):
    before = [param.detach().clone() for param in params]
    state = [value.clone() for param in params for value in optimizer.state[param].values()]
    with pytest.raises(error, match=expected):
        optimizer.step()
    assert all(torch.equal(old, param) for old, param in zip(before, params))
    new = [value for param in params for value in optimizer.state[param].values()]
    assert all(torch.equal(old, value) for old, value in zip(state, new))


@DEVICES
def test_parameter_of_another_shape(device):
    params, optimizer = stepped(device)
    params[3].data = torch.zeros(4, 4, device=device)
    params[3].grad = torch.zeros(4, 4, device=device)
    assert_refused(params, optimizer, r"parameter 'layer3.weight': expected shape \(2, 3, 4, 5\) .*found \(4, 4\)")


@DEVICES
def test_parameter_of_another_type(device):
    params, optimizer = stepped(device)
    params[3].data = params[3].data.double()
    params[3].grad = None
    assert_refused(params, optimizer, "parameter 'layer3.weight': expected dtype torch.float32 .*found torch.float64")


@pytest.mark.skipif(len(support.devices()) < 2, reason="needs a GPU")
def test_parameter_on_another_device():
    params, optimizer = stepped("cuda")
    params[3].grad = None
    params[3].data = params[3].data.cpu()
    assert_refused(params, optimizer, "parameter 'layer3.weight': expected device cuda:0 .*found cpu")


@DEVICES
def test_sparse_gradients(device):
    embedding = torch.nn.Embedding(4, 3, sparse=True).to(device)
    for optimizer in (heddle.optim.AdamW(embedding.named_parameters()), heddle.optim.SGD(embedding.parameters())):
        embedding(torch.tensor([1, 2], device=device)).sum().backward()
        assert_refused([embedding.weight], optimizer, "does not support sparse gradients", RuntimeError)
        assert_refused([embedding.weight], optimizer, "does not support sparse gradients", RuntimeError)


@DEVICES
def test_state_of_another_shape(device):
    params, optimizer = stepped(device)
    optimizer.state[params[3]]["exp_avg"] = torch.zeros(7, device=device)
    assert_refused(params, optimizer, r"state 'exp_avg' of parameter 'layer3.weight': expected a tensor of shape")
    optimizer.state[params[3]]["exp_avg"] = None
    with pytest.raises(heddle.BadInput, match="state 'exp_avg' of parameter 'layer3.weight': .*, found none beside"):
        optimizer.step()


@DEVICES
def test_state_without_one_of_its_entries(device):
    """State of another optimizer, such as RMSprop's, has a step counter, but no moments."""
    params, optimizer = stepped(device)
    entries = dict(optimizer.state[params[3]])
    del optimizer.state[params[3]]["exp_avg_sq"]
    assert_refused(params, optimizer, r"state 'exp_avg_sq' of parameter 'layer3.weight': expected a tensor of shape "
                   r"\(2, 3, 4, 5\), found none beside 'exp_avg', 'step'; load the state")
    optimizer.state[params[3]] = {key: value for key, value in entries.items() if key != "step"}
    assert_refused(params, optimizer, "'step' of parameter 'layer3.weight': expected one value, found none beside")
    optimizer.state[params[3]] = {"other": torch.zeros(7)}  # has no entry of the optimizer, which creates all
    with pytest.warns(UserWarning, match="'layer3.weight': expected .*'exp_avg', .*, found only 'other', as in the state"):
        optimizer.step()
    assert optimizer.state[params[3]]["step"].item() == 1


def test_state_is_created_whole_or_not_at_all(monkeypatch):
    """After memory ran out for a part of the state, a later step creates all of it."""
    from heddle.optim import _state_lists

    params = support.parameters()
    support.set_gradients(params)
    optimizer = heddle.optim.AdamW(params)
    create = _state_lists.StateLists._create

    def fails(part, each, *args):
        if each.key == "exp_avg_sq":
            raise torch.OutOfMemoryError("no memory")
        return create(part, each, *args)

    with monkeypatch.context() as patch:
        patch.setattr(_state_lists.StateLists, "_create", fails)
        with pytest.raises(torch.OutOfMemoryError):
            optimizer.step()
    assert not any(optimizer.state[param] for param in params)
    optimizer.step()
    assert all(optimizer.state[param]["step"].item() == 1 for param in params)


@DEVICES
def test_parameters_that_overlap(device):
    memory = torch.zeros(6, device=device)
    params = [torch.nn.Parameter(memory[:4]), torch.nn.Parameter(memory[2:])]
    support.set_gradients(params)
    optimizer = heddle.optim.SGD(params, lr=1.0)
    with pytest.raises(heddle.BadInput, match="overlap"):
        optimizer.step()
    assert not memory.any()


@DEVICES
def test_parameters_that_overlap_are_named(device):
    memory = torch.zeros(6, device=device)
    named = [("body", torch.nn.Parameter(memory[:4])), ("head", torch.nn.Parameter(memory[2:]))]
    double = [("wide", torch.nn.Parameter(torch.zeros(1, dtype=torch.float64, device=device)))]
    support.set_gradients([param for _, param in named + double])
    for given, first, second in (
        (named + double, "'body'", "'head'"),
        ([param for _, param in named], "0 of group 0", "1 of group 0"),
        ([dict(params=[param]) for _, param in named], "0 of group 0", "0 of group 1"),
    ):
        optimizer = heddle.optim.AdamW(given)
        for _ in range(2):
            expected = f"^parameter {second}: expected memory of its own, .* parameter {first}"
            with pytest.raises(heddle.BadInput, match=expected):
                optimizer.step()
    assert not memory.any()
    params = support.parameters(device, shapes=[(4,), (4,)])
    support.set_gradients(params)
    optimizer = heddle.optim.AdamW(params)
    optimizer.step()
    optimizer.state[params[1]]["exp_avg"] = params[0].detach()
    with pytest.raises(heddle.BadInput, match="^state 'exp_avg' of parameter 1 of group 0: .* parameter 0 of group 0"):
        optimizer.step()


@DEVICES
@NAMES
@pytest.mark.parametrize("shape,strides", [((5,), (0,)), ((3, 4), (4, 0)), ((3, 4), (1, 2)), ((2, 3, 2), (3, 1, 3))])
def test_elements_that_overlap(name, shape, strides, device):
    """torch.optim refuses them as well, in the middle of the step."""
    memory = torch.ones(24, device=device)
    params = [torch.nn.Parameter(torch.ones(2, device=device)), torch.nn.Parameter(memory.as_strided(shape, strides))]
    optimizer = support.heddle_class(name)([("first", params[0]), ("spread", params[1])])
    optimizer.step()  # without a gradient, nothing is written
    for param in params:
        param.grad = torch.ones_like(param)
    for _ in range(2):
        assert_refused(params, optimizer, "parameter 'spread': expected elements with memory of their own")
    params[1].data = params[1].detach().clone()
    optimizer.step()


@DEVICES
def test_strides_without_overlap(device):
    """Every element has its own memory, although no stride exceeds the reach of the other."""
    memory = torch.zeros(8, device=device)
    param = torch.nn.Parameter(memory.as_strided((2, 3), (3, 2)))
    param.grad = torch.ones(2, 3, device=device)
    heddle.optim.SGD([param], lr=1.0).step()
    assert memory.tolist() == [-1, 0, -1, -1, -1, -1, 0, -1]


@DEVICES
@NAMES
def test_gradients_in_the_memory_of_parameters(name, device):
    """p.grad = p.detach(), and gradients that are parts of other parameters: the step reads a copy."""
    params = support.parameters(device, shapes=[(3, 4), (4,), (5,), (2, 2)])
    params.append(torch.nn.Parameter(torch.randn(3, 4, device=device, dtype=torch.complex64)))
    ours, theirs, others = support.pair(name, params, **OPTIONS[name])
    for step in range(4):
        support.set_gradients(params, others, step)
        if step in (1, 2):
            for param, other in ((params[0], others[0]), (params[4], others[4])):
                param.grad, other.grad = param.detach(), other.detach().clone()
            params[1].grad = params[2].detach()[1:]
            others[1].grad = others[2].detach()[1:].clone()
        ours.step()
        theirs.step()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


def test_gradients_in_the_memory_of_parameters_clipped():
    """With two launches, and clipping."""
    params = support.parameters(shapes=[(3, 4), (4,)])
    others = support.copies(params)
    ours = heddle.optim.chain(clip_grad_norm=1.0, optimizer=heddle.optim.Adam(
        [dict(params=params[:1], amsgrad=True), dict(params=params[1:])], lr=0.1))
    theirs = torch.optim.Adam([dict(params=others[:1], amsgrad=True), dict(params=others[1:])], lr=0.1)
    for _ in range(3):
        for param, other in zip(params, others):
            param.grad, other.grad = param.detach(), other.detach().clone()
        expected = torch.nn.utils.clip_grad_norm_(others, 1.0)
        torch.testing.assert_close(ours.step().float(), expected)
        theirs.step()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


def test_types_that_no_program_stores():
    param = torch.nn.Parameter(torch.zeros(3).to(torch.float8_e4m3fn), requires_grad=False)
    optimizer = heddle.optim.SGD([param])
    optimizer.step()  # without a gradient, the parameter is skipped
    param.grad = torch.zeros(3).to(torch.float8_e4m3fn)
    with pytest.raises(heddle.BadInput, match="parameter 0 of group 0: expected dtype float64.*found torch.float8_e4m3fn"):
        optimizer.step()


def test_errors_of_several_launches_write_nothing():
    """A mistake in the second launch stops the first as well."""
    params = support.parameters()
    optimizer = heddle.optim.SGD([dict(params=params[:3], momentum=0.9), dict(params=params[3:])], lr=0.1)
    support.set_gradients(params)
    optimizer.step()
    params[3].data = torch.zeros(5)
    assert_refused(params, optimizer, "parameter 0 of group 1: expected shape")


@DEVICES
def test_autograd_notices_a_step(device):
    """A backward pass through the values before a step is an error, as in PyTorch, not a wrong gradient."""
    param, other = (torch.nn.Parameter(torch.ones(3, device=device)) for _ in range(2))
    optimizer = heddle.optim.SGD([param, other], lr=0.1)
    for step in range(2):
        square, versions = (param * param).sum(), (param._version, other._version)
        param.grad = torch.ones(3, device=device)
        optimizer.step()
        assert param._version > versions[0] and other._version == versions[1]
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            square.backward()


@DEVICES
def test_autograd_notices_a_step_of_a_function(device):
    param = torch.nn.Parameter(torch.ones(3, device=device))
    square = (param * param).sum()
    settings = dict(weight_decay=0, momentum=0, lr=0.1, dampening=0, nesterov=False, maximize=False)
    heddle.optim.functional.sgd([param], [torch.ones(3, device=device)], [None], **settings)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.backward()
