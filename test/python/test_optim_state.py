"""State dictionaries, copies, pickles, hooks and closures of the optimizers."""

import copy
import gc
import importlib
import io
import os
import pickle
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402

DEVICES = pytest.mark.parametrize("device", support.devices())
NAMES = pytest.mark.parametrize("name", support.NAMES)
TORCH_NAMES = pytest.mark.parametrize("name", support.TORCH_NAMES)
OPTIONS = {
    "SGD": dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.01),
    "Adam": dict(lr=0.1, amsgrad=True),
    "AdamW": dict(lr=0.1),
    "Adagrad": dict(lr=0.1, lr_decay=0.1, initial_accumulator_value=0.25),
    "RMSprop": dict(lr=0.01, momentum=0.9, centered=True),
    "Adadelta": dict(lr=0.5, weight_decay=0.01),
    "Adamax": dict(lr=0.1),
    "ASGD": dict(lr=0.1, lambd=0.01, t0=2),
    "NAdam": dict(lr=0.1, momentum_decay=0.1),
    "RAdam": dict(lr=0.1, betas=(0.9, 0.99)),
    "Rprop": dict(lr=0.1, etas=(0.25, 1.5)),
}


def saved(state_dict):
    file = io.BytesIO()
    torch.save(state_dict, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@DEVICES
@TORCH_NAMES
@pytest.mark.parametrize("keyword", [False, True])
def test_state_moves_to_torch_and_back(name, keyword, device):
    """After three steps each optimizer continues with the state of the other, from a file."""
    params = support.parameters(device)
    ours, theirs, others = support.pair(name, params, **OPTIONS[name])
    support.run(ours, theirs, params, others, 3)
    left, right = saved(ours.state_dict()), saved(theirs.state_dict())
    assert left["param_groups"][0].keys() == right["param_groups"][0].keys()
    # New optimizers over the same parameters.
    ours = support.heddle_class(name)(params)
    theirs = getattr(torch.optim, name)(others, foreach=False)
    for optimizer, state in ((ours, right), (theirs, left)):
        optimizer.load_state_dict(state_dict=state) if keyword else optimizer.load_state_dict(state)
    support.run(ours, theirs, params, others, 4, 3)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


@DEVICES
@pytest.mark.parametrize("first,second", [("Adam", "AdamW"), ("AdamW", "Adam")])
def test_state_of_another_class(first, second, device):
    """AdamW decays the parameters also with the groups of Adam, as torch's does; Adam takes the groups as they are."""
    params = support.parameters(device)
    others = support.copies(params)
    source = getattr(torch.optim, first)(params, lr=0.1, weight_decay=0.5)
    support.set_gradients(params)
    source.step()
    for param, other in zip(params, others):
        other.data.copy_(param.detach())
    ours = support.heddle_class(second)(params)
    theirs = getattr(torch.optim, second)(others, foreach=False)
    for optimizer in (ours, theirs):
        optimizer.load_state_dict(copy.deepcopy(source.state_dict()))
    assert ours.param_groups[0]["decoupled_weight_decay"] is theirs.param_groups[0]["decoupled_weight_decay"] is True
    support.run(ours, theirs, params, others, 4, 1)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


@DEVICES
@TORCH_NAMES
def test_state_is_loaded_in_the_middle_of_a_run(name, device):
    """The optimizer that loads has stepped already: what was bound is bound again."""
    params = support.parameters(device)
    ours, theirs, others = support.pair(name, params, **OPTIONS[name])
    support.run(ours, theirs, params, others, 2)
    ours_before, theirs_before = copy.deepcopy(ours.state_dict()), copy.deepcopy(theirs.state_dict())
    support.run(ours, theirs, params, others, 3, 2)
    ours.load_state_dict(ours_before)
    theirs.load_state_dict(theirs_before)
    support.run(ours, theirs, params, others, 3, 5)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


@DEVICES
@NAMES
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize("fused", [None, True])
def test_loaded_state_has_the_types_that_torch_gives_it(name, dtype, fused, device):
    """`load_state_dict` converts state to the type of its parameter; what is assigned to `state` keeps its type."""
    if dtype.is_complex and fused:
        pytest.skip("torch's fused steps have no complex parameters")
    shapes = [(3, 4), (), (2,)]
    params = support.parameters(device, torch.float32, shapes)
    options = dict(OPTIONS[name], fused=fused)
    filled = getattr(torch.optim, name)(params, **options)
    support.set_gradients(params)
    filled.step()
    saved = filled.state_dict()
    for state in saved["state"].values():
        for key, value in state.items():
            if key != "step" and dtype.is_complex:
                state[key] = value.to(dtype)
    loaded = [support.parameters(device, dtype, shapes) for _ in range(2)]
    optimizers = [support.heddle_class(name)(loaded[0], **options), getattr(torch.optim, name)(loaded[1], **options)]
    for optimizer in optimizers:
        optimizer.load_state_dict(copy.deepcopy(saved))
    support.assert_same_state(*optimizers, rtol=0, atol=0)
    support.set_gradients(*loaded)
    for optimizer in optimizers:
        optimizer.step()
    support.assert_same_state(*optimizers, **support.tolerance(dtype))
    support.assert_same_params(*loaded, **support.tolerance(dtype))


@DEVICES
def test_state_dict_is_plain(device):
    params = support.parameters(device)
    optimizer = heddle.optim.AdamW(params)
    support.set_gradients(params)
    optimizer.step()
    state = optimizer.state_dict()["state"]
    assert type(state) is dict and {type(each) for each in state.values()} == {dict}
    assert all(type(tensor) is torch.Tensor for each in state.values() for tensor in each.values())


@DEVICES
def test_step_counters_are_on_the_device_and_count_each_parameter(device):
    params = support.parameters(device)
    optimizer = heddle.optim.AdamW(params)
    support.set_gradients(params, skip=(1,))
    optimizer.step()
    support.set_gradients(params)
    optimizer.step()
    steps = [optimizer.state[param]["step"] for param in params]
    assert [float(step) for step in steps] == [2, 1, 2, 2, 2, 2, 2]
    assert {(step.device.type, step.dtype, step.shape) for step in steps} == {(device, torch.float32, ())}


@DEVICES
@NAMES
def test_state_that_the_user_replaces(name, device):
    """Offloading libraries assign other tensors; a reset clears the state. Both take effect in the next step."""
    params = support.parameters(device)
    ours, theirs, others = support.pair(name, params, **OPTIONS[name])
    support.run(ours, theirs, params, others, 2)
    key = "momentum_buffer" if name == "SGD" else "exp_avg"
    for optimizer, each in ((ours, params), (theirs, others)):
        for param in each:
            for entry, value in optimizer.state[param].items():
                optimizer.state[param][entry] = value.to("cpu", copy=True).to(value.device)
        optimizer.state[each[0]][key] = torch.ones_like(each[0])
        optimizer.state[each[1]] = {}
    support.run(ours, theirs, params, others, 2, 2)
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))
    for optimizer in (ours, theirs):
        optimizer.state.clear()
    support.run(ours, theirs, params, others, 2, 4)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


@NAMES
def test_one_counter_for_all(name):
    """A state whose step counters are one tensor, as some libraries write it."""
    params = support.parameters()
    ours, theirs, others = support.pair(name, params, **OPTIONS[name])
    support.run(ours, theirs, params, others, 2)
    shared = torch.tensor(2.0)
    for param in params:
        if "step" in ours.state[param]:
            ours.state[param]["step"] = shared
    support.run(ours, theirs, params, others, 1, 2)
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


@DEVICES
@NAMES
@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_copies(name, how, device):
    """A copy has parameters and state of its own, and continues as the original does."""
    params = support.parameters(device)
    ours, theirs, others = support.pair(name, params, **OPTIONS[name])
    support.run(ours, theirs, params, others, 3)
    other = copy.deepcopy(ours) if how == "deepcopy" else pickle.loads(pickle.dumps(ours))
    assert type(other) is type(ours)
    copied = other.param_groups[0]["params"]
    assert not {id(param) for param in copied} & {id(param) for param in params}
    support.run(ours, other, params, copied, 3, 3)
    support.assert_same_params(params, copied, rtol=0, atol=0)
    support.assert_same_state(ours, other, rtol=0, atol=0)


def test_a_copy_clips_as_the_original():
    optimizer = heddle.optim.chain(clip_grad_norm=0.5, optimizer=heddle.optim.AdamW(support.parameters()))
    assert copy.deepcopy(optimizer).clip_grad_norm == 0.5
    assert pickle.loads(pickle.dumps(optimizer)).clip_grad_norm == 0.5


@NAMES
def test_hooks(name):
    params = support.parameters()
    optimizer = support.heddle_class(name)(params, lr=0.1)
    support.set_gradients(params)
    calls = []
    optimizer.register_step_pre_hook(lambda self, args, kwargs: calls.append(("pre", self, len(args), kwargs)))
    optimizer.register_step_post_hook(lambda self, args, kwargs: calls.append(("post", self, len(args), kwargs)))
    module = importlib.import_module("torch.optim.optimizer")
    handles = [
        module.register_optimizer_step_pre_hook(lambda self, args, kwargs: calls.append(("all-pre", self))),
        module.register_optimizer_step_post_hook(lambda self, args, kwargs: calls.append(("all-post", self))),
    ]
    try:
        optimizer.step()
    finally:
        for handle in handles:
            handle.remove()
    assert [call[0] for call in calls] == ["all-pre", "pre", "post", "all-post"]
    assert all(call[1] is optimizer for call in calls)
    assert calls[1][2:] == (1, {})


def test_a_pre_hook_replaces_the_arguments():
    params = support.parameters()
    optimizer = heddle.optim.SGD(params, lr=0.1)
    support.set_gradients(params)
    optimizer.register_step_pre_hook(lambda self, args, kwargs: ((self, lambda: 5.0), {}))
    assert optimizer.step() == 5.0


@pytest.mark.parametrize("returned", [((lambda: 5.0,), {}), ((), {}), (None, {}), ((None,), None)])
def test_a_pre_hook_that_forgets_the_optimizer(returned):
    params = support.parameters()
    before = [param.detach().clone() for param in params]
    optimizer = heddle.optim.SGD(params, lr=0.1)
    support.set_gradients(params)
    optimizer.register_step_pre_hook(lambda self, args, kwargs: returned)
    with pytest.raises(RuntimeError, match="expected a pre-hook that returns .* with the optimizer as the first of args, found"):
        optimizer.step()
    assert all(torch.equal(*pair) for pair in zip(params, before))


def test_hooks_of_state_dicts():
    params = support.parameters()
    optimizer = heddle.optim.AdamW(params)
    support.set_gradients(params)
    optimizer.step()
    optimizer.register_state_dict_post_hook(lambda self, state: {**state, "extra": 1})
    seen = []
    optimizer.register_load_state_dict_pre_hook(lambda self, state: seen.append(state["extra"]))
    optimizer.register_load_state_dict_post_hook(lambda self: seen.append("after"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == [1, "after"]


@NAMES
def test_closure(name):
    """The closure computes gradients, with gradients enabled, and its value is returned, as Lightning expects."""
    params = support.parameters()
    ours, theirs, others = support.pair(name, params, lr=0.1)
    for optimizer, each in ((ours, params), (theirs, others)):
        for _ in range(3):
            def closure():
                optimizer.zero_grad()
                loss = sum((param * param).sum() for param in each)
                loss.backward()
                return loss

            before = float(sum((param.detach() ** 2).sum() for param in each))
            with torch.no_grad():
                assert float(optimizer.step(closure)) == pytest.approx(before, rel=1e-6)
            assert float(optimizer.step(closure=closure).detach()) < before
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


def test_profiler_sees_the_step():
    params = support.parameters()
    optimizer = heddle.optim.AdamW(params)
    support.set_gradients(params)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        optimizer.step()
    assert "Optimizer.step#AdamW.step" in {event.key for event in profile.key_averages()}


@NAMES
def test_the_state_is_one_object_from_the_beginning(name):
    """Wrappers copy the attributes of a new optimizer, or keep its state."""
    params = support.parameters("cpu")
    optimizer = support.heddle_class(name)(params, lr=0.1)
    attributes, state = dict(vars(optimizer)), optimizer.state
    support.set_gradients(params)
    optimizer.step()
    assert optimizer.state is state and attributes["state"] is state
    assert state[params[0]] or name == "SGD"


@DEVICES
def test_subclass_and_repr(device):
    class Mine(heddle.optim.AdamW):
        pass

    params = support.parameters(device)
    optimizer = Mine(params, lr=0.5)
    support.set_gradients(params)
    optimizer.step()
    assert "lr: 0.5" in repr(optimizer) and isinstance(optimizer, torch.optim.Optimizer)


@DEVICES
@pytest.mark.parametrize("clip", [None, 1.0])
def test_a_dropped_optimizer_frees_everything(device, clip):
    """Without garbage collection: a cycle of references would keep parameters and state on the device."""
    import weakref

    params = support.parameters(device)
    groups = [dict(params=params[:3], amsgrad=True), dict(params=params[3:5]), dict(params=params[5:], lr=0.2)]
    optimizer = heddle.optim.chain(clip_grad_norm=clip, optimizer=heddle.optim.Adam(groups))
    for step in range(2):
        support.set_gradients(params, step=step)
        optimizer.step()
    parts = optimizer._parts[False]
    dead = [weakref.ref(part.graph) for part in parts] + [weakref.ref(param) for param in params]
    gc.disable()
    try:
        del optimizer, parts, params, groups
        assert all(each() is None for each in dead)
    finally:
        gc.enable()


@DEVICES
def test_under_torch_compile(device, monkeypatch):
    """The rest of a training step is compiled; the step of the optimizer is a break between graphs."""
    model = torch.nn.Linear(4, 4).to(device)
    other = copy.deepcopy(model)
    ours = heddle.optim.AdamW(model.parameters(), lr=0.1)
    theirs = torch.optim.AdamW(other.parameters(), lr=0.1, foreach=False)

    def train(model, optimizer, x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    run, compilers = type(ours)._run, []

    def recorded(self):
        compilers.append(torch._C._dynamo.eval_frame.get_eval_frame_callback())
        return run(self)

    monkeypatch.setattr(heddle.optim.AdamW, "_run", recorded)
    compiled = torch.compile(train, backend="eager")
    for step in range(3):
        x = torch.full((2, 4), step + 1.0, device=device)
        torch.testing.assert_close(compiled(model, ours, x), train(other, theirs, x))
    assert compilers == [None] * 3  # torch compiles no function of heddle
    support.assert_same_params(list(model.parameters()), list(other.parameters()), **support.tolerance(torch.float32))


@DEVICES
@NAMES
def test_distributed_checkpoint(name, device, tmp_path):
    """torch.distributed.checkpoint initializes, saves and loads the state."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict

    def make():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)).to(device)
        return model, support.heddle_class(name)(model.parameters(), **OPTIONS[name])

    model, optimizer = make()
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(2, 4, device=device)).sum().backward()
        optimizer.step()
    state = get_optimizer_state_dict(model, optimizer)
    dcp.save({"optimizer": state}, checkpoint_id=tmp_path / "point", no_dist=True)
    fresh, loaded = make()
    fresh.load_state_dict(model.state_dict())
    target = get_optimizer_state_dict(fresh, loaded)
    dcp.load({"optimizer": target}, checkpoint_id=tmp_path / "point", no_dist=True)
    set_optimizer_state_dict(fresh, loaded, target)
    support.assert_same_state(optimizer, loaded, rtol=0, atol=0)
    for each, stepped in ((model, optimizer), (fresh, loaded)):
        stepped.zero_grad()
        each(torch.ones(2, 4, device=device)).sum().backward()
        stepped.step()
    support.assert_same_params(list(model.parameters()), list(fresh.parameters()), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("name, key", [("NovoGrad", "exp_avg_sq"), ("SGDScheduleFree", "weight_sum"), ("NAdam", "mu_product")])
def test_single_values_keep_their_precision(name, key, dtype):
    """PyTorch rounds all loaded state but the step counter to the type of the parameters."""
    params, others = (support.parameters(dtype=dtype) for _ in range(2))
    first, second = (support.heddle_class(name)(each, lr=0.01) for each in (params, others))
    for step in range(3):
        support.set_gradients(params, others, step)
        first.step()
    with torch.no_grad():
        for param, other in zip(params, others):
            other.copy_(param)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for param, other in zip(params, others):
        assert second.state[other][key].dtype == torch.float32
        assert torch.equal(first.state[param][key], second.state[other][key])
    support.set_gradients(params, others, 3)
    first.step()
    second.step()
    assert all(map(torch.equal, params, others))
    assert all(torch.equal(first.state[a][key], second.state[b][key]) for a, b in zip(params, others))


def test_threads_take_turns():
    """Steps, and loads of state, of one optimizer on several threads: none reads state that another one has freed."""
    script = """
import os, sys, threading, torch, heddle.optim
sys.setswitchinterval(1e-6)
for name in ("AdamW", "LAMB", "SGDScheduleFree"):
    for _ in range(10):
        params = [torch.nn.Parameter(torch.ones(shape)) for shape in ((3, 4), (), (0,), (700,))]
        for param in params:
            param.grad = torch.ones_like(param)
        optimizer = getattr(heddle.optim, name)(params)
        together = threading.Barrier(4)

        def step():
            together.wait()
            for _ in range(50):
                optimizer.step()

        threads = [threading.Thread(target=step) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert optimizer.state[params[0]]["step"] == 200, optimizer.state[params[0]]["step"]
        states = optimizer.state_dict()

        def load():
            together.wait()
            for _ in range(50):
                optimizer.load_state_dict(states)

        threads = [threading.Thread(target=each) for each in (step, step, step, load)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    optimizer._lock.acquire()  # as another thread of the parent, which is in a step
    child = []
    def fork():
        child.append(os.fork())
        if not child[0]:
            optimizer.step()
            os._exit(0)
    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    assert os.waitpid(child[0], 0)[1] == 0
    optimizer._lock.release()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
