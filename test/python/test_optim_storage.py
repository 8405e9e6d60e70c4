"""The arguments `state_dtype`, `rounding`, `master` and `seed` of heddle.optim, on the cpu target."""

import copy
import io

import pytest

torch = pytest.importorskip("torch")

import heddle.optim  # noqa: E402
from heddle import BadInput  # noqa: E402

SHAPES = ((33, 7), (5,), (4099,), ())


def parameters(dtype=torch.bfloat16, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator).to(torch.bfloat16).to(dtype)) for shape in SHAPES]


def set_gradients(params, step):
    generator = torch.Generator().manual_seed(1000 + step)
    for param in params:
        param.grad = torch.randn(param.shape, generator=generator).to(torch.bfloat16).to(param.dtype)


def run(optimizer, params, steps, first=0):
    for step in range(first, first + steps):
        set_gradients(params, step)
        optimizer.step()


def same(left, right):
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("master", ["split", "f32", torch.float32])
@pytest.mark.parametrize("name", ["AdamW", "SGD", "Lion", "LAMB", "NAdam"])
def test_masters_have_the_bits_of_float32(name, master):
    options = {"momentum": 0.9} if name == "SGD" else {}
    exact, params = parameters(torch.float32), parameters()
    plain = getattr(heddle.optim, name)(exact, **options)
    other = getattr(heddle.optim, name)(params, master=master, state_dtype=torch.float32, **options)
    run(plain, exact, 100)
    run(other, params, 100)
    assert same(exact, heddle.optim.masters(other))
    for one, two in zip(exact, params):
        assert torch.all((one - two.float()).abs() <= one.abs() * 2.0**-8)
        for key, value in plain.state[one].items():
            assert torch.equal(value, other.state[two][key])
    key = "param_low" if master == "split" else "master_param"
    kind = torch.int16 if master == "split" else torch.float32
    assert all(other.state[param][key].dtype == kind for param in params)


def test_a_pruning_mask_writes_zeros():
    """A zero with the lower half of the earlier number is at most a denormal, not NaN."""
    params = parameters()
    optimizer = heddle.optim.SGD(params, lr=0.5, master="split")
    run(optimizer, params, 3)
    lows = [optimizer.state[param]["param_low"] for param in params]
    assert all((low < 0).any() and (low > 0).any() for low in lows[:3])
    with torch.no_grad():
        for param in params:
            param.copy_(torch.where(torch.arange(param.numel()).view(param.shape) % 3 == 0, -0.0, 0.0))
    for exact, low in zip(heddle.optim.masters(optimizer), lows):
        assert (exact.abs() < 5e-41).all() and torch.equal(exact != 0, low > 0)
    set_gradients(params, 3)
    optimizer.step()
    for param, exact in zip(params, heddle.optim.masters(optimizer)):
        assert torch.equal(exact, -0.5 * param.grad.float())


def test_state_of_16_bits():
    params = parameters(torch.float32)
    optimizer = heddle.optim.AdamW(params, state_dtype=torch.bfloat16, rounding="stochastic", seed=5)
    run(optimizer, params, 3)
    assert all(optimizer.state[param]["exp_avg_sq"].dtype == torch.bfloat16 for param in params)
    assert all(optimizer.state[param]["step"].dtype == torch.float32 for param in params)
    close = parameters(torch.float32)
    run(torch.optim.AdamW(close), close, 3)
    for one, two in zip(params, close):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-4)


def steps_of(groups, seed=1, steps=5, **options):
    optimizer = heddle.optim.AdamW(groups, rounding="stochastic", seed=seed, **options)
    params = [param for group in optimizer.param_groups for param in group["params"]]
    run(optimizer, params, steps)
    return [param.detach().clone() for param in params]


def test_random_numbers_follow_from_the_parameter():
    """They are the same in every run, in one group or in several, and with other seeds they differ."""
    expected = steps_of(parameters())
    assert same(expected, steps_of(parameters()))
    assert not same(expected, steps_of(parameters(), seed=2))
    params = parameters()
    assert same(expected, steps_of([{"params": params[:2], "amsgrad": False}, {"params": params[2:], "eps": 1e-8}]))
    params = parameters()
    wide = torch.nn.Parameter(torch.zeros(3))
    assert same(expected, steps_of([{"params": params}, {"params": [wide]}])[:4])


def test_all_element_types_are_in_one_launch():
    params = [*parameters(), *parameters(torch.float32, 1)]
    optimizer = heddle.optim.AdamW(params, master="split", state_dtype="f32")
    run(optimizer, params, 2)
    assert [len(parts) for parts in optimizer._parts.values()] == [1]
    exact = [*parameters(torch.float32), *parameters(torch.float32, 1)]
    run(heddle.optim.AdamW(exact), exact, 2)
    assert same(exact, heddle.optim.masters(optimizer))


def test_a_saved_run_continues_with_the_same_bits():
    for options in ({"rounding": "stochastic", "seed": 3}, {"master": "split", "state_dtype": "f32"}, {"master": "f32"}):
        for name in ("AdamW", "SGD"):
            make = getattr(heddle.optim, name)
            extra = {"momentum": 0.9} if name == "SGD" else {}
            params = parameters()
            first = make(params, **extra, **options)
            run(first, params, 3)
            file = io.BytesIO()
            torch.save([first.state_dict(), params], file)
            file.seek(0)
            state, again = torch.load(file, weights_only=False)
            second = make(again, **extra, **options)
            second.load_state_dict(state)
            run(first, params, 3, first=3)
            run(second, again, 3, first=3)
            assert same(params, again), (name, options)
            assert same(heddle.optim.masters(first), heddle.optim.masters(second))


def test_state_moves_to_torch_and_back():
    params = parameters()
    ours = heddle.optim.AdamW(params, master="split", state_dtype="f32")
    run(ours, params, 4)
    state = heddle.optim.float32_state_dict(ours)
    assert all(set(each) == {"step", "exp_avg", "exp_avg_sq"} for each in state["state"].values())
    assert not {"master", "rounding", "state_dtype", "seed"} & set(state["param_groups"][0])
    exact = [torch.nn.Parameter(master) for master in heddle.optim.masters(ours)]
    theirs = torch.optim.AdamW(exact)
    theirs.load_state_dict(copy.deepcopy(state))
    run(theirs, exact, 2, first=4)
    run(ours, params, 2, first=4)
    for one, two in zip(exact, heddle.optim.masters(ours)):
        torch.testing.assert_close(one.detach(), two, rtol=1e-6, atol=1e-7)
    back = parameters(seed=9)
    third = heddle.optim.AdamW(back, master="split", state_dtype="f32")
    third.load_state_dict(copy.deepcopy(theirs.state_dict()))
    heddle.optim.load_masters(third, exact)
    assert third.param_groups[0]["master"] == "split"
    assert same([param.detach() for param in exact], heddle.optim.masters(third))
    run(theirs, exact, 2, first=6)
    run(third, back, 2, first=6)
    for one, two in zip(exact, heddle.optim.masters(third)):
        torch.testing.assert_close(one.detach(), two, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("saved", ["split", "f32"])
@pytest.mark.parametrize("loading", ["split", "f32", None])
def test_masters_change_their_form(saved, loading):
    params = parameters()
    first = heddle.optim.AdamW(params, master=saved, state_dtype="f32")
    run(first, params, 3)
    others = parameters(torch.bfloat16 if loading else torch.float32)
    with torch.no_grad():
        for one, two in zip(others, params):
            one.copy_(two)
    second = heddle.optim.AdamW(others, master=loading, state_dtype="f32")
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    assert same(heddle.optim.masters(first), heddle.optim.masters(second))
    run(first, params, 2, first=3)
    run(second, others, 2, first=3)
    assert same(heddle.optim.masters(first), heddle.optim.masters(second))


def test_scaled_and_skipped_steps():
    params = parameters(torch.float16)
    optimizer = heddle.optim.AdamW(params, master="f32", state_dtype="f32", lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    loss = sum((param.float() ** 2).sum() for param in params)
    scaler.scale(loss).backward()
    before = [param.detach().clone() for param in params]
    scaler.step(optimizer)
    scaler.update()
    assert not same(before, params)
    for split in ("split",):
        halves = parameters()
        other = heddle.optim.AdamW(halves, master=split, state_dtype="f32")
        run(other, halves, 1)
        kept = [each.clone() for each in heddle.optim.masters(other)]
        for param in halves:
            param.grad = torch.full_like(param, float("inf"))
        other.grad_scale, other.found_inf = torch.tensor(1.0), torch.tensor(1.0)
        other.step()
        assert same(kept, heddle.optim.masters(other))


@pytest.mark.parametrize("options, dtype, message", [
    ({"master": "split"}, torch.float32, "master='split': expected parameters of bfloat16"),
    ({"master": "split"}, torch.float16, "master='split': expected parameters of bfloat16, and none of float16"),
    ({"master": "f32"}, torch.float32, "master='f32': expected parameters of bfloat16 or float16"),
    ({"master": "half"}, torch.bfloat16, "master: expected 'f32', 'split' or None, found 'half'"),
    ({"rounding": "stochastic"}, torch.float32, "rounding='stochastic': expected parameters or state"),
    ({"rounding": "stochastic", "master": "split", "state_dtype": "f32"}, torch.bfloat16, "rounding='stochastic'"),
    ({"rounding": "up"}, torch.bfloat16, "rounding: expected 'nearest' or 'stochastic', found 'up'"),
    ({"state_dtype": "i8"}, torch.bfloat16, "state_dtype: expected one of f64, f32, f16, bf16 or None"),
    ({"seed": -1}, torch.bfloat16, "seed: expected a whole number"),
    ({"seed": 1.5}, torch.bfloat16, "seed: expected a whole number"),
])
def test_contradictions(options, dtype, message):
    with pytest.raises(BadInput, match=message.replace("(", r"\(")):
        heddle.optim.AdamW(parameters(dtype), **options)


@pytest.mark.parametrize("options", [{"master": "f32"}, {"master": "split"}, {"rounding": "stochastic"}], ids=str)
def test_a_group_that_contradicts_its_parameters_is_not_added(options):
    params = parameters(torch.float32)
    optimizer = heddle.optim.AdamW(params)
    group = {"params": [torch.nn.Parameter(torch.ones(2))], **options}
    with pytest.raises(BadInput, match="parameter group 1: "):
        optimizer.add_param_group(group)
    assert len(optimizer.param_groups) == 1
    run(optimizer, params, 1)
    # The types of all groups count, in whichever order the constructor adds them.
    others = [{"params": parameters(torch.float32), **options}, {"params": parameters(torch.bfloat16)}]
    heddle.optim.AdamW(others)


def test_averages_have_no_masters():
    with pytest.raises(BadInput, match="leave 'master' out"):
        heddle.optim.AdamWScheduleFree(parameters(), master="f32")
    params = parameters()
    optimizer = heddle.optim.AdamWScheduleFree(params, rounding="stochastic")
    run(optimizer, params, 2)


def test_wrong_masters():
    params = parameters()
    optimizer = heddle.optim.AdamW(params, master="split")
    before = [param.detach().clone() for param in params]
    with pytest.raises(BadInput, match="values: expected 4 tensors, one for each parameter, found 1"):
        heddle.optim.load_masters(optimizer, [torch.zeros(3)])
    with pytest.raises(BadInput, match=r"values\[1\]: expected a tensor of shape \(5,\), found shape \(6,\)"):
        heddle.optim.load_masters(optimizer, [torch.zeros(33, 7), torch.zeros(6), torch.zeros(4099), torch.zeros(())])
    assert same(before, params)


@pytest.mark.parametrize(
    "value, message",
    [
        (torch.zeros(5).to_sparse(), r"values\[1\]: expected a dense tensor, found torch.sparse_coo"),
        (torch.zeros(5, device="meta"), r"values\[1\]: expected a tensor with data, found one on the device meta"),
        (torch.zeros(5, dtype=torch.complex64), r"values\[1\]: expected real numbers, found torch.complex64"),
    ],
)
def test_masters_without_numbers_write_nothing(value, message):
    params = parameters()
    optimizer = heddle.optim.AdamW(params, master="split")
    before = [param.detach().clone() for param in params]
    values = [torch.zeros_like(param, dtype=torch.float32) for param in params]
    values[1] = value
    with pytest.raises(BadInput, match=message):
        heddle.optim.load_masters(optimizer, values)
    assert same(before, params)


def test_masters_may_be_other_parameters():
    params = [torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.ones(3))]
    heddle.optim.load_masters(heddle.optim.AdamW(params), params[::-1])
    assert params[0].tolist() == [1, 1, 1] and params[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("options", [{"master": "split"}, {"master": "f32"}, {}])
def test_hooks_of_a_load_do_not_round_state(options):
    options = {"state_dtype": torch.float32, **options}
    params = parameters()
    optimizer = heddle.optim.AdamW(params, **options)
    run(optimizer, params, 3)
    saved = copy.deepcopy(optimizer.state_dict())
    others = [torch.nn.Parameter(param.detach().clone()) for param in params]
    loaded = heddle.optim.AdamW(others, **options)
    loaded.register_load_state_dict_pre_hook(lambda optimizer, state: None)
    seen = []
    loaded.register_load_state_dict_post_hook(lambda each: seen.append(each.state[others[0]]["exp_avg"].dtype))
    loaded.load_state_dict(saved)
    assert seen == [torch.float32]
    assert len(loaded._optimizer_load_state_dict_pre_hooks) == len(loaded._optimizer_load_state_dict_post_hooks) == 1
    run(optimizer, params, 2, 3)
    run(loaded, others, 2, 3)
    assert same(heddle.optim.masters(optimizer), heddle.optim.masters(loaded))


def test_a_hook_may_change_loaded_state():
    params = parameters()
    optimizer = heddle.optim.AdamW(params, state_dtype=torch.float32)
    run(optimizer, params, 1)
    optimizer.register_load_state_dict_post_hook(lambda each: each.state[params[0]]["exp_avg"].zero_())
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert not optimizer.state[params[0]]["exp_avg"].any()


@pytest.mark.parametrize(
    "master, value, message",
    [
        ("f32", torch.zeros(7), r"state 'master_param' of parameter 0 of group 0: expected a tensor of shape \(33, 7\), found"),
        ("split", torch.zeros((), dtype=torch.int16), r"state 'param_low' of parameter 0 of group 0: expected a tensor of shape"),
        ("split", torch.zeros(33, 7), r"state 'param_low' of parameter 0 of group 0: expected a tensor of torch.int16"),
    ],
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_loaded_masters_that_do_not_fit_write_nothing(master, value, message, dtype):
    params = parameters()
    optimizer = heddle.optim.AdamW(params, master=master)
    run(optimizer, params, 1)
    saved = copy.deepcopy(optimizer.state_dict())
    saved["state"][0]["master_param" if master == "f32" else "param_low"] = value
    others = parameters(dtype, seed=1)
    loaded = heddle.optim.AdamW(others, **({"master": master} if dtype == torch.bfloat16 else {}))
    before = [param.detach().clone() for param in others]
    with pytest.raises(BadInput, match=message):
        loaded.load_state_dict(saved)
    assert same(before, others) and not loaded.state


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.int16])
def test_loaded_masters_of_integers(dtype):
    params = parameters()
    optimizer = heddle.optim.AdamW(params, master="f32")
    run(optimizer, params, 1)
    saved = copy.deepcopy(optimizer.state_dict())
    saved["state"][1]["master_param"] = saved["state"][1]["master_param"].to(dtype)
    before = heddle.optim.masters(optimizer)
    with pytest.raises(BadInput, match="state 'master_param' of parameter 1 of group 0: expected a tensor of torch.float32.* found"):
        optimizer.load_state_dict(saved)
    assert same(before, heddle.optim.masters(optimizer))


@pytest.mark.parametrize("master, key", [("f32", "master_param"), ("split", "param_low")])
@pytest.mark.parametrize("name", ["AdamW", "SGD", "Lion", "Prodigy"])
@pytest.mark.parametrize("how", ["steps", "load", "copy"])
@pytest.mark.parametrize("many", [True, False])
def test_masters_that_are_lost(master, key, name, how, many):
    """The state of a parameter that has had one is refused without it, in a step and in a load; nothing is written."""
    options = {"master": master, "state_dtype": torch.float32, **({"momentum": 0.9} if name == "SGD" else {})}
    params = parameters()[: None if many else 1]
    optimizer = getattr(heddle.optim, name)(params, **options)
    run(optimizer, params, 3)
    whole = copy.deepcopy(optimizer.state_dict())
    if how == "load":
        optimizer.load_state_dict(copy.deepcopy(whole))
    elif how == "copy":
        optimizer = copy.deepcopy(optimizer)
        params = optimizer.param_groups[0]["params"]
        set_gradients(params, 3)
    optimizer.state[params[0]].pop(key)
    before = [param.detach().clone() for param in params]
    for _ in range(2):
        with pytest.raises(BadInput, match=f"^state '{key}' of parameter 0 of group 0: expected a tensor of shape .*load_masters"):
            optimizer.step()
    assert same(before, params)
    lacking = optimizer.state_dict()
    assert key not in lacking["state"][0]
    other = getattr(heddle.optim, name)(parameters()[: len(params)], **options)
    with pytest.raises(BadInput, match=rf"^state_dict\['state'\]\[0\]\['{key}'\]: expected a tensor of .*found none beside"):
        other.load_state_dict(lacking)
    assert not other.state
    optimizer.state[params[0]].clear()
    run(optimizer, params, 1)
    optimizer.load_state_dict(whole)
    run(optimizer, params, 1)


@pytest.mark.parametrize("master, key", [("f32", "master_param"), ("split", "param_low")])
def test_state_without_masters_is_loaded(master, key):
    """That of PyTorch, or of an optimizer without them: also after it was saved again before a step, or after a step of some."""
    params = parameters()
    theirs = torch.optim.AdamW(params)
    run(theirs, params, 2)
    ours = heddle.optim.AdamW(params, master=master)
    ours.load_state_dict(copy.deepcopy(theirs.state_dict()))
    with torch.no_grad():
        params[2].mul_(2)  # the model may be loaded after the state
    saved = copy.deepcopy(ours.state_dict())
    assert all(key in state for state in saved["state"].values()) and not any(key in each for each in ours.state.values())
    set_gradients(params[:1], 2)
    params[1].grad = params[2].grad = params[3].grad = None
    ours.step()
    assert [key in ours.state[param] for param in params] == [True, False, False, False]
    for state in (saved, copy.deepcopy(ours.state_dict())):
        others = [torch.nn.Parameter(param.detach().clone()) for param in params]
        again = heddle.optim.AdamW(others, master=master)
        again.load_state_dict(state)
        run(again, others, 1)
        assert all(key in again.state[param] for param in others)
    run(ours, params, 1, 3)


def test_state_of_torch_without_step_counter():
    """PyTorch's SGD keeps no step counter; one that random rounding needs must not make the first step of a buffer."""
    param = torch.nn.Parameter(torch.zeros(3))
    theirs = torch.optim.SGD([param], lr=1.0, momentum=0.5, dampening=0.5)
    param.grad = torch.ones(3)
    theirs.step()
    other = torch.nn.Parameter(param.detach().clone())
    ours = heddle.optim.SGD(
        [other], lr=1.0, momentum=0.5, dampening=0.5, state_dtype=torch.bfloat16, rounding="stochastic"
    )
    ours.load_state_dict(copy.deepcopy(theirs.state_dict()))
    param.grad, other.grad = torch.full((3,), 3.0), torch.full((3,), 3.0)
    theirs.step()
    ours.step()
    assert torch.equal(param, other)


def test_masters_of_complex_parameters():
    param = torch.nn.Parameter(torch.tensor([1 + 2j]))
    optimizer = heddle.optim.AdamW([param])
    for call in (heddle.optim.masters, lambda optimizer: heddle.optim.load_masters(optimizer, [torch.zeros(1)])):
        with pytest.raises(BadInput, match="optimizer: expected real parameters, found torch.complex64 in group 0"):
            call(optimizer)
    assert param.item() == 1 + 2j
