"""`heddle.optim.chain` of several optimizers against PyTorch's optimizers, stepped one after another."""

import copy
import gc
import math
import os
import warnings
import weakref

import pytest

import optim_support as support

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from heddle.optim import _programs  # noqa: E402
from optim_chains import MEMBERS, SHAPES, STEPS, Pair, assert_same_bytes, made, parts  # noqa: E402

optim = heddle.optim
DEVICES = pytest.mark.parametrize("device", support.devices())


@DEVICES
@pytest.mark.parametrize("limit", [None, 0.5, 1e6])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", MEMBERS)
def test_the_same_as_optimizers_one_after_another(name, dtype, limit, device):
    pair = Pair(*MEMBERS[name], device=device, dtype=dtype, **({} if limit is None else {"clip_grad_norm": limit}))
    pair.run()
    pair.compare()
    assert len(parts(pair.chain)) == 1


@DEVICES
def test_one_program_and_one_launch(device):
    """As many launches as one optimizer has; the norm reads all gradients in one sweep."""
    def program(part):
        return _programs.text(part.spec, part.form, [(share.spec, share.form) for share in part.shares[1:]])

    for added in ({}, {"clip_grad_norm": 1.0}):
        pair = Pair(*MEMBERS["three"], device=device, **added)
        pair.run(2)
        support.set_gradients(pair.params)  # tensors are new: a rebinding
        pair.chain.step()
        before = heddle.statistics()
        pair.chain.step()
        after = heddle.statistics()
        assert {name: after[name] - before[name] for name in before if after[name] != before[name]} == {"replays": 1}
        alone = support.heddle_class("AdamW")(support.parameters(device))
        optim.chain(optimizer=alone, **added)
        support.set_gradients(alone.param_groups[0]["params"])
        alone.step()
        found, wanted = (heddle.explain(program(parts(each)[0]), arch="sm_90", json=True) for each in (pair.chain, alone))
        assert found["launches"] == wanted["launches"]
        assert found["sweeps"] == wanted["sweeps"] == (2 if added else 1)


@DEVICES
def test_element_types_within_one_optimizer(device):
    """The norm is that of all gradients, as PyTorch's of copies in double precision."""
    lists = [support.parameters(device, dtype, SHAPES, seed=place)
             for place, dtype in enumerate((torch.float32, torch.bfloat16, torch.float64, torch.float32))]
    others = [[torch.nn.Parameter(param.detach().double().clone()) for param in params] for params in lists]
    chained = optim.chain(clip_grad_norm=2.0, optimizer=[
        optim.AdamW([p for params in lists[:3] for p in params], lr=0.1), optim.SGD(lists[3], lr=0.1)])
    theirs = [torch.optim.AdamW([p for params in others[:3] for p in params], lr=0.1), torch.optim.SGD(others[3], lr=0.1)]
    support.set_gradients([p for params in lists for p in params])
    for params, copied in zip(lists, others):
        for param, other in zip(params, copied):
            other.grad = param.grad.double().clone()
    wanted = torch.nn.utils.clip_grad_norm_([p for params in others for p in params], 2.0)
    torch.testing.assert_close(chained.step(), wanted)
    for each in theirs:
        each.step()
    for params, copied in zip(lists, others):
        for param, other in zip(params, copied):
            torch.testing.assert_close(param, other.to(param.dtype))
            for value in chained.state[param].values():
                assert value.dtype == param.dtype or value.shape == ()
    assert len(parts(chained)) == 1


@DEVICES
def test_groups_with_different_options_are_one_launch(device):
    params = support.parameters(device, torch.float64, SHAPES)
    more = support.parameters(device, torch.float64, SHAPES, seed=1)
    others, more_others = support.copies(params), support.copies(more)

    def groups(given):
        return [dict(params=given[:2], lr=0.2, amsgrad=True), dict(params=[]), dict(params=given[2:4]),
                dict(params=given[4:], lr=0.05, weight_decay=0.0)]

    chained = optim.chain(clip_grad_norm=1.0, optimizer=(optim.Adam(groups(params), lr=0.1), optim.SGD(more, lr=0.1)))
    theirs = torch.optim.Adam(groups(others), lr=0.1), torch.optim.SGD(more_others, lr=0.1)
    assert [group["lr"] for group in chained.param_groups] == [0.2, 0.1, 0.1, 0.05, 0.1]
    for step in range(STEPS):
        support.set_gradients(params + more, others + more_others, step)
        if step == 3:
            for group in (chained.param_groups[2], theirs[0].param_groups[2]):
                group["lr"], group["weight_decay"] = 0.3, 0.5
        if step == 5:
            for group in (chained.param_groups[4], theirs[1].param_groups[0]):
                group["momentum"] = 0.9
        chained.step()
        torch.nn.utils.clip_grad_norm_(others + more_others, 1.0)
        for each in theirs:
            each.step()
    support.assert_same_params(params + more, others + more_others, **support.tolerance(torch.float64))
    assert len(parts(chained)) == 1


@DEVICES
@pytest.mark.parametrize("limit", [None, 0.5])
def test_missing_gradients(limit, device):
    """Of some parameters, of all of one optimizer, and of all."""
    pair = Pair(*MEMBERS["sgd-adamw"], device=device, **({} if limit is None else {"clip_grad_norm": limit}))
    first = len(MEMBERS["sgd-adamw"][0][2])
    everything = range(len(pair.params))
    for place, skip in enumerate([range(first), (), (1, first + 2), range(first, len(everything)), (), range(first)]):
        pair.run(2, 2 * place, skip)
    before = [param.detach().clone() for param in pair.params]
    for param in pair.params:
        param.grad = None
    norm = pair.chain.step()
    assert norm is None if limit is None else norm.item() == 0
    support.assert_same_params(pair.params, before, rtol=0, atol=0)
    pair.run(2, 12)
    pair.compare(14)


@DEVICES
def test_groups_that_are_added_later(device):
    """To an optimizer of the chain; the chain itself does not know which one gets it."""
    pair = Pair(("SGD", dict(lr=0.1, momentum=0.9), SHAPES), ("AdamW", dict(lr=0.1), ((0,),)), device=device,
                clip_grad_norm=1.0)
    pair.run(2)
    new = support.parameters(device, torch.float64, SHAPES, seed=7)
    others = support.copies(new)
    with pytest.raises(heddle.BadInput, match=r"^add_param_group: .* found a chain with optimizers\[0\] \(SGD\), optimizers\[1\] \(AdamW\)"):
        pair.chain.add_param_group(dict(params=new))
    pair.chain.optimizers[1].add_param_group(dict(params=new, lr=0.2))
    pair.theirs[1].add_param_group(dict(params=others, lr=0.2))
    assert [group["lr"] for group in pair.chain.param_groups] == [0.1, 0.1, 0.2]
    pair.params += new
    pair.others += others
    pair.run(4, 2)
    pair.compare()
    assert len(parts(pair.chain)) == 1


def test_no_parameters():
    members = [optim.SGD([dict(params=[])]), optim.AdamW([dict(params=[])])]
    chained = optim.chain(clip_grad_norm=1.0, optimizer=members)
    assert chained.step().item() == 0 and chained.state_dict()["state"] == {} and len(chained.state) == 0
    param = torch.nn.Parameter(torch.ones(3))
    members[1].add_param_group(dict(params=[param]))
    param.grad = torch.full((3,), 2.0)
    torch.testing.assert_close(chained.step().item(), math.sqrt(12))


@DEVICES
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("limit", [None, 0.5])
def test_a_skipped_step_keeps_every_byte(limit, place, device):
    """An infinite gradient of one optimizer skips the step of all."""
    clip = {} if limit is None else {"clip_grad_norm": limit}
    pair = Pair(*MEMBERS["three"], device=device, ema=0.9, zero_grad=True, **clip)
    scalers = [torch.amp.GradScaler(device, init_scale=256.0, growth_interval=3) for _ in range(2)]
    for step in range(STEPS):
        support.set_gradients(pair.params, pair.others, step)
        for scaler in scalers:
            scaler.scale(torch.ones((), device=device))
        for param in (*pair.params, *pair.others):
            param.grad *= scalers[0].get_scale()
        is_skipped = step in (0, 4)
        if is_skipped:
            for params in (pair.params, pair.others):
                params[place].grad.view(-1)[-1] = math.inf
        before = [param.detach().clone() for param in pair.params]
        state = copy.deepcopy(pair.chain.state_dict()["state"])
        scalers[0].step(pair.chain)
        scalers[0].update()
        for each in pair.theirs:
            scalers[1].unscale_(each)
        torch.nn.utils.clip_grad_norm_(pair.others, limit or math.inf, error_if_nonfinite=False)
        if not is_skipped:
            for each in pair.theirs:
                each.step()
        scalers[1].update(scalers[0].get_scale())
        assert all((param.grad == 0).all() for param in pair.params)
        if is_skipped:
            support.assert_same_params(pair.params, before, rtol=0, atol=0)
            found = pair.chain.state_dict()["state"]
            for number, entries in state.items():
                assert all(torch.equal(found[number][key], value) for key, value in entries.items())
    support.assert_same_params(pair.params, pair.others, **support.tolerance(torch.float64))


@DEVICES
def test_the_tail_is_that_of_all(device):
    """Sums of gradients, clipping by value, averages, zeros, and a schedule that a second one does not repeat."""
    pair = Pair(*MEMBERS["sgd-adamw"], device=device, accumulation=2, clip_grad_value=0.25, ema=0.75, zero_grad=True,
                schedule={"kind": "exponential", "gamma": 0.5})
    averages = [None] * len(pair.others)
    schedulers = [torch.optim.lr_scheduler.ExponentialLR(each, 0.5) for each in pair.theirs]
    for step in range(4):
        support.set_gradients(pair.params, pair.others, step)
        pair.chain.step()
        assert all((param.grad == 0).all() for param in pair.params)
        for param in pair.others:
            param.grad.div_(2).clamp_(-0.25, 0.25)
        for each in (*pair.theirs, *schedulers):
            each.step()
        averages = [param.detach().clone() if average is None else average.lerp(param.detach(), 0.25)
                    for average, param in zip(averages, pair.others)]
    support.assert_same_params(pair.params, pair.others, **support.tolerance(torch.float64))
    for param, average in zip(pair.params, averages):
        torch.testing.assert_close(pair.chain.state[param]["ema"], average)


def test_an_average_that_is_added_later():
    pair = Pair(*MEMBERS["sgd-adamw"])
    pair.run(2)
    again = optim.chain(ema=0.5, optimizer=pair.chain)
    assert again is pair.chain
    pair.run(1, 2)
    first = [param.detach().clone() for param in pair.params]
    support.assert_same_params([pair.chain.state[param]["ema"] for param in pair.params], first, rtol=0, atol=0)
    pair.run(1, 3)
    for param, old in zip(pair.params, first):
        torch.testing.assert_close(pair.chain.state[param]["ema"], (param.detach() + old) / 2)


@pytest.mark.parametrize("of_chain", [True, False])
def test_schedulers(of_chain):
    """A scheduler changes the groups of the chain, or those of one optimizer. Neither compiles, or warns."""
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    rates = [torch.optim.lr_scheduler.ExponentialLR(each, 0.5) for each in pair.theirs]
    ours = [pair.chain] if of_chain else pair.members
    mine = [torch.optim.lr_scheduler.ExponentialLR(each, 0.5) for each in ours]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(4):
            pair.run(1, step)
            for each in (*rates, *mine):
                each.step()
    pair.compare()
    assert [group["lr"] for group in pair.chain.param_groups] == [0.1 / 16, 0.01 / 16]
    cycle = torch.optim.lr_scheduler.OneCycleLR
    with pytest.raises(ValueError, match="momentum"):  # SGD has `momentum`, AdamW has `betas`
        cycle(pair.chain, 0.1, 10)
    cycle(pair.chain, 0.1, 10, cycle_momentum=False)


def test_closures_hooks_and_the_norm():
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    calls = []
    pair.chain.register_step_pre_hook(lambda optimizer, args, kwargs: calls.append("before"))
    pair.chain.register_step_post_hook(lambda optimizer, args, kwargs: calls.append("after"))

    def closure():
        calls.append("closure")
        assert torch.is_grad_enabled()
        support.set_gradients(pair.params)
        return 7

    assert pair.chain.step(closure) == 7
    assert calls == ["before", "closure", "after"]
    norm = math.sqrt(sum(param.grad.square().sum().item() for param in pair.params))
    torch.testing.assert_close(pair.chain.grad_norm.item(), norm)
    compilations = support.compilations()
    pair.chain.clip_grad_norm = 2.0
    torch.testing.assert_close(pair.chain.step().item(), norm)
    pair.chain.zero_grad()
    assert all(param.grad is None for param in pair.params) and support.compilations() == compilations
    assert isinstance(pair.chain, torch.optim.Optimizer) and "Parameter Group 1" in repr(pair.chain)


# ----------------------------------------------------------------------------------------------------------------------
# Kinds of optimizers
# ----------------------------------------------------------------------------------------------------------------------


@heddle.rule
def sign_of_mean(p, g, m=0.0, *, lr=0.1, beta=0.9):
    m = beta * m + (1 - beta) * g
    return p - lr * heddle.sign(m), m


@DEVICES
def test_rules_and_optimizers_of_the_library(device):
    """A rule has the same steps alone, with clipped gradients."""
    lists = [support.parameters(device, torch.float64, SHAPES, seed=place) for place in range(3)]
    others = [support.copies(params) for params in lists]

    def groups(params):
        return [dict(params=params[:2]), dict(params=params[2:], lr=0.2)]

    chained = optim.chain(clip_grad_norm=0.5, optimizer=[sign_of_mean(groups(lists[0])), optim.Lion(lists[1], lr=0.1),
                                                         sign_of_mean(lists[2], beta=0.5)])
    alone = [sign_of_mean(groups(others[0])), optim.Lion(others[1], lr=0.1), sign_of_mean(others[2], beta=0.5)]
    flat, other = ([param for params in each for param in params] for each in (lists, others))
    for step in range(STEPS):
        support.set_gradients(flat, other, step)
        torch.testing.assert_close(chained.step(), torch.nn.utils.clip_grad_norm_(other, 0.5))
        for each in alone:
            each.step()
    support.assert_same_params(flat, other, **support.tolerance(torch.float64))
    assert len(parts(chained)) == 1


@DEVICES
def test_storage_has_the_same_bits_as_alone(device):
    """Random numbers follow from the seed and the places within an optimizer."""
    def make(params):
        half = [param for param in params if param.dtype == torch.bfloat16]
        rest = [param for param in params if param.dtype != torch.bfloat16]
        return [optim.AdamW(half[:3], lr=0.1, rounding="stochastic", seed=3),
                optim.SGD(half[3:], lr=0.1, momentum=0.9, master="split", state_dtype=torch.float32),
                optim.AdamW(rest, lr=0.1, state_dtype=torch.bfloat16, rounding="stochastic")]

    params = support.parameters(device, torch.bfloat16, SHAPES[:2] * 3) + support.parameters(device, None, SHAPES)
    others = support.copies(params)
    chained, alone = optim.chain(optimizer=make(params)), make(others)
    for step in range(4):
        support.set_gradients(params, others, step)
        for each in (chained, *alone):
            each.step()
    support.assert_same_params(params, others, rtol=0, atol=0)
    exact = [value for each in alone for value in optim.masters(each)]
    support.assert_same_params(optim.masters(chained), exact, rtol=0, atol=0)
    optim.load_masters(chained, [value + 1 for value in exact])
    found, kept = optim.masters(chained), optim.masters(chained.optimizers[1])
    assert len(kept) == 3 and all(torch.equal(value, wanted + 1) for value, wanted in zip(found[3:6], exact[3:6]))
    assert all(torch.equal(value, wanted) for value, wanted in zip(found[3:6], kept))
    found = optim.float32_state_dict(chained)["state"]
    assert {value.dtype for state in found.values() for value in state.values()} == {torch.float32}
    assert len(parts(chained)) == 1


@pytest.mark.parametrize("name, options", [("LAMB", {}), ("Prodigy", {}), ("LARS", dict(lr=0.1, momentum=0.9)),
                                           ("SGD", dict(lr=0.1, momentum=0.9, cautious=True))])
def test_reductions_are_those_of_one_optimizer(name, options):
    """Such as the norm by which LAMB clips: that of its own gradients."""
    params = support.parameters(dtype=torch.float64, shapes=SHAPES)
    more = support.parameters(dtype=torch.float64, shapes=SHAPES, seed=1)
    others, more_others = support.copies(params), support.copies(more)
    chained = optim.chain(optimizer=[optim.AdamW(more), support.heddle_class(name)(params, **options)])
    alone = [optim.AdamW(more_others), support.heddle_class(name)(others, **options)]
    for step in range(4):
        support.set_gradients(params + more, others + more_others, step)
        for each in (chained, *alone):
            each.step()
    support.assert_same_params(params + more, others + more_others, **support.tolerance(torch.float64))
    if name in ("LAMB", "Prodigy"):
        more = support.parameters(dtype=torch.float64, shapes=((2,),), seed=2)
        chained.optimizers[1].add_param_group(dict(params=more, maximize=True) if name == "LAMB" else
                                              dict(params=more, weight_decay=0.5, decouple=False))
        support.set_gradients(params + more)
        with pytest.raises(heddle.BadInput, match=rf"^optimizers\[1\] \({name}\): expected one launch for all parameters, found 2"):
            chained.step()


def test_schedule_free_optimizers():
    params, more = support.parameters(shapes=SHAPES), support.parameters(shapes=SHAPES, seed=1)
    others = support.copies(params)
    chained = optim.chain(optimizer=[optim.SGDScheduleFree(params, lr=0.1), optim.AdamW(more)])
    alone = optim.SGDScheduleFree(others, lr=0.1)
    for step in range(3):
        support.set_gradients(params + more, others, step)
        chained.step()
        alone.step()
    chained.eval()
    alone.eval()
    support.assert_same_params(params, others, rtol=1e-6, atol=1e-6)
    with pytest.raises(RuntimeError, match=r"^optimizers\[0\] \(SGDScheduleFree\): expected the parameters of training"):
        chained.step()
    chained.train()
    chained.step()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_two_devices():
    """A launch for each device, with the norm of all gradients."""
    pair = Pair(("SGD", dict(lr=0.1), SHAPES), ("AdamW", dict(lr=0.1), SHAPES), clip_grad_norm=0.5)
    on_gpu = [torch.nn.Parameter(param.detach().cuda()) for param in pair.params[len(SHAPES):]]
    chained = optim.chain(clip_grad_norm=0.5, optimizer=[optim.SGD(pair.params[:len(SHAPES)], lr=0.1),
                                                         optim.AdamW(on_gpu, lr=0.1)])
    pair.params[len(SHAPES):] = on_gpu
    pair.chain = chained
    for step in range(3):
        support.set_gradients(pair.params, pair.others, step)
        norm = chained.step()
        torch.testing.assert_close(norm.cpu(), torch.nn.utils.clip_grad_norm_(pair.others, 0.5))
        for each in pair.theirs:
            each.step()
    support.assert_same_params(pair.params, pair.others, **support.tolerance(torch.float64))
    assert len(parts(chained)) == 2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_captured_step():
    """Replays read the learning rates of both optimizers, and state that is loaded later."""
    lists = [support.parameters("cuda", None, SHAPES), support.parameters("cuda", None, SHAPES, seed=1)]
    others = [support.copies(params) for params in lists]
    ours, theirs = made(lists), made(others)
    support.set_gradients([*lists[0], *lists[1]], [*others[0], *others[1]])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ours.step()
    for step in range(4):
        if step == 2:
            for each in (ours, theirs):
                each.param_groups[0]["lr"], each.param_groups[1]["lr"] = 0.3, 0.2
            ours.optimizers[1].push_hyperparameters()
        if step == 3:
            ours.load_state_dict(ours.state_dict())
        graph.replay()
        theirs.step()
    assert_same_bytes(ours, theirs)


# ----------------------------------------------------------------------------------------------------------------------
# Errors
# ----------------------------------------------------------------------------------------------------------------------


def test_a_parameter_in_two_optimizers():
    model = torch.nn.Linear(3, 2)
    named = dict(model.named_parameters())
    first = optim.SGD([("weight", named["weight"])])
    second = optim.AdamW([("weight", named["weight"]), ("bias", named["bias"])])
    message = (r"^optimizers\[1\] \(AdamW\): parameter 'weight': expected it in one optimizer, found it in optimizers\[0\] "
               r"\(SGD\), too: leave it out of one of them$")
    with pytest.raises(heddle.BadInput, match=message):
        optim.chain(clip_grad_norm=1.0, optimizer=[first, second])
    second = optim.AdamW([("bias", named["bias"])])
    chained = optim.chain(optimizer=[first, second])
    with pytest.raises(heddle.BadInput, match=message):
        second.add_param_group(dict(params=[("weight", named["weight"])]))
    assert len(chained.param_groups) == 2
    second.param_groups[0]["params"].append(named["weight"])
    model(torch.ones(1, 3)).sum().backward()
    with pytest.raises(heddle.BadInput, match=r"^optimizers\[1\] \(AdamW\): parameter .*: expected it in one optimizer"):
        chained.step()


def test_parameters_that_share_memory():
    memory = torch.zeros(4)
    params = [torch.nn.Parameter(memory[:3]), torch.nn.Parameter(memory[2:])]
    chained = optim.chain(optimizer=[optim.SGD(params[:1]), optim.AdamW(params[1:])])
    support.set_gradients(params)
    with pytest.raises(heddle.BadInput, match=r"optimizers\[[01]\] \((SGD|AdamW)\): parameter 0 of group 0"):
        chained.step()
    assert not memory.any()


@pytest.mark.parametrize("given, message", [
    ([], r"^optimizer: expected an optimizer of heddle.optim or a list of them, found \[\]$"),
    (3, "^optimizer: expected an optimizer of heddle.optim or a list of them, found builtins.int$"),
    (["sgd", 3], r"^optimizers\[1\]: expected an optimizer of heddle.optim, found builtins.int$"),
    (["sgd", "torch"], r"^optimizers\[1\]: expected an optimizer of heddle.optim, found torch.optim.sgd.SGD$"),
    (["sgd", "same"], "^optimizer: expected each optimizer once, found SGD twice"),
])
def test_what_is_no_list_of_optimizers(given, message):
    sgd = optim.SGD([torch.nn.Parameter(torch.ones(2))])
    known = {"sgd": sgd, "same": sgd, "torch": torch.optim.SGD([torch.nn.Parameter(torch.ones(2))])}
    given = [known.get(each, each) for each in given] if isinstance(given, list) else given
    with pytest.raises(heddle.BadInput, match=message):
        optim.chain(optimizer=given)


@pytest.mark.parametrize("added, message", [
    (dict(ema=0.5), "found a traced rule: write them into the rule"),
    (dict(clip_grad_norm=-1.0), "^clip_grad_norm: expected a number of at least 0"),
    (dict(schedule="cosine"), "^schedule: 'cosine' needs the entry 'steps'"),
])
def test_a_refused_chain_changes_no_optimizer(added, message):
    lists = [support.parameters(shapes=SHAPES), support.parameters(shapes=SHAPES, seed=1)]
    members = [optim.chain(clip_grad_norm=0.5, optimizer=optim.SGD(lists[0])), sign_of_mean(lists[1])]
    specs = [each.spec for each in members]
    with pytest.raises(heddle.BadInput, match=message):
        optim.chain(optimizer=members, **added)
    assert [each.spec for each in members] == specs and members[0].clip_grad_norm == 0.5
    support.set_gradients(lists[0])
    assert members[0].step() is not None


def test_optimizers_of_a_chain_are_not_stepped_alone():
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    pair.run(1)
    message = (r"expected an optimizer that is in no chain, found optimizers\[1\] of a chain of 2 optimizers: use the "
               "optimizer that heddle.optim.chain has returned$")
    with pytest.raises(heddle.BadInput, match=f"^step: {message}"):
        pair.members[1].step()
    with pytest.raises(heddle.BadInput, match=f"^clip_grad_norm: {message}"):
        pair.members[1].clip_grad_norm = 1.0
    with pytest.raises(heddle.BadInput, match=f"^optimizer: {message}"):
        optim.chain(ema=0.5, optimizer=pair.members[1])
    with pair.chain._stepping, pytest.raises(heddle.BadInput, match="^add_param_group within step"):
        pair.members[1].add_param_group(dict(params=support.parameters()))
    old, pair.chain = pair.chain, optim.chain(clip_grad_norm=1.0, optimizer=pair.members)
    pair.run(2, 1)
    pair.compare()
    with pytest.raises(heddle.BadInput, match=r"^step: expected optimizers\[0\] \(SGD\) in this chain, found it in a later one"):
        old.step()
    flat = optim.chain(optimizer=[pair.chain, optim.Lion(support.parameters())])
    assert [type(each) for each in flat.optimizers] == [optim.SGD, optim.AdamW, optim.Lion]
    del old, flat, pair.chain
    pair.members[0].step()  # the chain is gone


def test_a_failed_step_changes_nothing():
    """A wrong gradient of the second optimizer; the first one has created its state before it was found."""
    pair = Pair(*MEMBERS["sgd-adamw"])
    support.set_gradients(pair.params)
    pair.chain.state[pair.params[-2]]["exp_avg"] = torch.zeros(77)
    pair.chain.state[pair.params[-2]]["exp_avg_sq"] = torch.zeros(77)
    pair.chain.state[pair.params[-2]]["step"] = torch.zeros(())
    before = [param.detach().clone() for param in pair.params]
    with pytest.raises(heddle.BadInput, match=r"^optimizers\[1\] \(AdamW\): state 'exp_avg' of parameter 3 of group 0: expected a tensor of shape"):
        pair.chain.step()
    support.assert_same_params(pair.params, before, rtol=0, atol=0)
    assert all(not pair.chain.state.get(param) for param in pair.params if param is not pair.params[-2])
    pair.chain.state[pair.params[-2]] = {}
    pair.run(1)
    pair.compare()


def test_a_chain_is_freed_with_its_parameters():
    gc.collect()
    gc.disable()
    try:
        pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
        pair.run(2)
        gone = [weakref.ref(each) for each in (pair.chain, *pair.members, *pair.params)]
        gone += [weakref.ref(part.graph) for part in parts(pair.chain)]
        del pair
        assert [each() for each in gone] == [None] * len(gone)
    finally:
        gc.enable()


def test_the_text_of_the_program_is_written_once():
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    pair.run(1)
    specs = [each.spec for each in pair.members]
    counts = [len(spec._texts) for spec in specs]
    other = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    other.run(1)
    assert [each.spec for each in other.members] == specs and [len(spec._texts) for spec in specs] == counts


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_forked_child_steps_the_chain():
    """Its locks are new, and those of the chain are still those of its optimizers. Its step is that of the parent."""
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    pair.run(1)
    reads, writes = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a process with several threads
        child = os.fork()
    if child == 0:
        code = 1
        try:  # PyTorch's optimizers cannot step here if the parent has used CUDA
            assert all(each._lock is pair.chain._lock for each in pair.members)
            support.set_gradients(pair.params, pair.others, 1)
            pair.chain.step()
            os.write(writes, _bytes(pair.params))
            code = 0
        finally:
            os._exit(code)
    os.close(writes)
    with open(reads, "rb") as file:
        found = file.read()
    assert os.waitpid(child, 0)[1] == 0
    pair.run(1, 1)
    assert found == _bytes(pair.params)


def _bytes(params):
    return b"".join(param.detach().numpy().tobytes() for param in params)


def test_a_refused_step_leaves_no_scale():
    """GradScaler leaves `found_inf` behind an error: a later step of the optimizer would be skipped."""
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    pair.run(1)
    member = pair.members[0]
    member.grad_scale, member.found_inf = torch.ones(()), torch.ones(())
    with pytest.raises(heddle.BadInput, match="in no chain"):
        member.step()
    assert not hasattr(member, "grad_scale") and not hasattr(member, "found_inf")


def test_a_chain_without_its_optimizers_runs_no_closure():
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    pair.run(1)
    later, calls = optim.chain(optimizer=pair.members), []
    with pytest.raises(heddle.BadInput, match="in a later one"):
        pair.chain.step(lambda: calls.append(1))
    assert not calls and later
