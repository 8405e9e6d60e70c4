"""`heddle.optim.chain` against PyTorch's own steps, one after another."""

import copy
import math
import pickle

import pytest

import heddle

torch = pytest.importorskip("torch")
optim = pytest.importorskip("heddle.optim")

STEPS = 12


def make_models():
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 1))
    return model, copy.deepcopy(model)


def losses(model, scale=1.0, count=STEPS):
    """The losses of all steps, on data that both models see."""
    generator = torch.Generator().manual_seed(5)
    for _ in range(count):
        inputs = torch.randn(16, 5, generator=generator)
        yield scale * (model(inputs) ** 2).sum()


def assert_same(ours, theirs, tolerance=2e-5):
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * 0.1)


PAIRS = {
    "AdamW": (lambda p, **k: optim.AdamW(p, lr=1e-2, **k), lambda p, **k: torch.optim.AdamW(p, lr=1e-2, **k)),
    "SGD": (lambda p: optim.SGD(p, lr=1e-3, momentum=0.9), lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("clip", [None, "norm", "value"])
def test_chain_is_the_same_steps(name, clip):
    ours, theirs = make_models()
    average = torch.optim.swa_utils.AveragedModel(
        theirs, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    clips = {"norm": {"clip_grad_norm": 0.5}, "value": {"clip_grad_value": 0.05}, None: {}}[clip]
    first, second = (make(model.parameters()) for make, model in zip(PAIRS[name], (ours, theirs)))
    optimizer = optim.chain(accumulation=4, ema=0.9, zero_grad=True, optimizer=first, **clips)
    for number, (a, b) in enumerate(zip(losses(ours, count=4 * STEPS), losses(theirs, count=4 * STEPS))):
        a.backward()
        b.backward()
        if number % 4 != 3:
            continue
        for param in theirs.parameters():
            param.grad /= 4
        norm = None
        if clip == "norm":
            norm = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        elif clip == "value":
            torch.nn.utils.clip_grad_value_(theirs.parameters(), 0.05)
        found = optimizer.step()
        second.step()
        second.zero_grad(set_to_none=False)
        average.update_parameters(theirs)
        if norm is not None:
            torch.testing.assert_close(found.float(), norm)
        assert all((param.grad == 0).all() for param in ours.parameters())
    assert_same(ours, theirs)
    for param, wanted in zip(ours.parameters(), average.module.parameters(), strict=True):
        torch.testing.assert_close(optimizer.state[param]["ema"], wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("accumulation", [1, 2])
def test_grad_scaler_skips_the_step(accumulation):
    ours, theirs = make_models()
    average = torch.optim.swa_utils.AveragedModel(
        theirs, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer = optim.chain(accumulation=accumulation, clip_grad_norm=0.5, ema=0.9, zero_grad=True,
                            optimizer=optim.AdamW(ours.parameters(), lr=1e-2))
    reference = torch.optim.AdamW(theirs.parameters(), lr=1e-2)
    scalers = [torch.amp.GradScaler("cpu", init_scale=256, growth_interval=3) for _ in range(2)]
    for step, (a, b) in enumerate(zip(losses(ours), losses(theirs))):
        for scaler, loss in zip(scalers, (a, b)):
            scaler.scale(loss).backward()
        if step in (2, 7):
            for model in (ours, theirs):
                next(model.parameters()).grad.view(-1)[3] = float("inf")
        before = [param.detach().clone() for param in ours.parameters()]
        state = [{key: value.clone() for key, value in optimizer.state[param].items()} for param in ours.parameters()]
        scalers[0].step(optimizer)
        scalers[0].update()
        scalers[1].unscale_(reference)
        for param in theirs.parameters():
            param.grad /= accumulation
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        scalers[1].step(reference)
        scalers[1].update()
        reference.zero_grad(set_to_none=False)
        assert scalers[0].get_scale() == scalers[1].get_scale()
        assert all((param.grad == 0).all() for param in ours.parameters())
        if step in (2, 7):
            for param, old, kept in zip(ours.parameters(), before, state):
                assert torch.equal(param, old)
                assert all(torch.equal(optimizer.state[param][key], value) for key, value in kept.items())
        else:
            average.update_parameters(theirs)
    assert_same(ours, theirs)
    for param, wanted in zip(ours.parameters(), average.module.parameters(), strict=True):
        torch.testing.assert_close(optimizer.state[param]["ema"], wanted, rtol=2e-5, atol=2e-6)


RATE = torch.optim.lr_scheduler
SCHEDULES = [
    ({"kind": "cosine", "steps": STEPS, "end": 0.1}, lambda o: RATE.CosineAnnealingLR(o, STEPS, eta_min=1e-3)),
    ({"kind": "exponential", "gamma": 0.8}, lambda o: RATE.ExponentialLR(o, 0.8)),
    ({"kind": "step", "steps": 3, "gamma": 0.5}, lambda o: RATE.StepLR(o, 3, 0.5)),
    ({"kind": "one_cycle", "steps": STEPS, "warmup": 0.3 * STEPS, "start": 0.04, "end": 4e-6},
     lambda o: RATE.OneCycleLR(o, 1e-2, STEPS, cycle_momentum=False)),
    ({"kind": "constant", "warmup": 4, "start": 0.25}, lambda o: RATE.LinearLR(o, 0.25, 1.0, 4)),
]


@pytest.mark.parametrize("place", range(len(SCHEDULES)))
def test_schedule_is_that_of_torch(place):
    schedule, make = SCHEDULES[place]
    ours, theirs = make_models()
    optimizer = optim.chain(schedule=schedule, optimizer=optim.AdamW(ours.parameters(), lr=1e-2))
    reference = torch.optim.AdamW(theirs.parameters(), lr=1e-2)
    scheduler = make(reference)
    for a, b in zip(losses(ours), losses(theirs)):
        for loss, step in ((a, optimizer), (b, reference)):
            step.zero_grad()
            loss.backward()
            step.step()
        scheduler.step()
    assert_same(ours, theirs)


def test_groups_have_learning_rates_and_masks_of_their_own():
    ours, theirs = make_models()

    def groups(model):
        return [{"params": [p for p in model.parameters() if p.ndim > 1], "lr": 2e-2},
                {"params": [p for p in model.parameters() if p.ndim == 1], "weight_decay": 0.0}]

    optimizer = optim.chain(clip_grad_norm=0.5, ema=0.9, schedule={"kind": "exponential", "gamma": 0.9},
                            optimizer=optim.AdamW(groups(ours), lr=1e-2, weight_decay=0.1))
    reference = torch.optim.AdamW(groups(theirs), lr=1e-2, weight_decay=0.1)
    scheduler = RATE.ExponentialLR(reference, 0.9)
    for a, b in zip(losses(ours), losses(theirs)):
        for loss, step in ((a, optimizer), (b, reference)):
            step.zero_grad()
            loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        optimizer.step()
        reference.step()
        scheduler.step()
    assert_same(ours, theirs)


def test_zero_grad_of_a_gradient_in_another_order():
    ours, _ = make_models()
    optimizer = optim.chain(zero_grad=True, optimizer=optim.SGD(ours.parameters(), lr=1e-2))
    weight = ours[0].weight
    for param in ours.parameters():
        param.grad = torch.ones_like(param)
    weight.grad = torch.ones(5, 7).t()
    before = weight.detach().clone()
    optimizer.step()
    torch.testing.assert_close(weight.detach(), before - 1e-2)
    assert all((param.grad == 0).all() for param in ours.parameters())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_keep_the_tail(copied):
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = copied(optim.chain(ema=0.5, zero_grad=True, optimizer=optim.SGD([param], lr=1.0)))
    param = optimizer.param_groups[0]["params"][0]
    for wanted in (0.0, -0.5):
        param.grad = torch.ones(3)
        optimizer.step()
        assert (param.grad == 0).all()
        torch.testing.assert_close(optimizer.state[param]["ema"], torch.full((3,), wanted))


@pytest.mark.parametrize("arguments, message", [
    (dict(accumulation=0), "^accumulation: expected a whole number of at least 1, found 0"),
    (dict(accumulation=2.5), "^accumulation: expected a whole number of at least 1, found 2.5"),
    (dict(accumulation=math.inf), "^accumulation: expected a whole number of at least 1, found inf"),
    (dict(accumulation=math.nan), "^accumulation: expected a whole number of at least 1, found nan"),
    (dict(clip_grad_value=-1), "clip_grad_value: expected a number of at least 0"),
    (dict(clip_grad_norm=1, clip_grad_value=1), "clip_grad_value: expected None beside clip_grad_norm"),
    (dict(ema=1), "ema: expected a decay above 0 and below 1"),
    (dict(zero_grad=1), "zero_grad: expected True or False"),
    (dict(schedule=3), "schedule: expected the name of a schedule"),
    (dict(schedule={"kind": "cosine", "length": 3}), "schedule: expected the entries kind"),
    (dict(schedule={"kind": "cosine", "steps": -3}), r"schedule\['steps'\]: expected a finite number above 0, found -3"),
    (dict(schedule={"kind": "cosine", "steps": 0}), r"schedule\['steps'\]: expected a finite number above 0, found 0"),
    (dict(schedule={"kind": "cosine", "steps": math.inf}), r"schedule\['steps'\]: expected a finite number above 0"),
    (dict(schedule={"kind": "cosine", "steps": 9, "end": math.inf}), r"schedule\['end'\]: expected a finite number of at"),
])
def test_errors_name_the_argument(arguments, message):
    param = torch.nn.Parameter(torch.ones(3))
    with pytest.raises(heddle.errors.BadInput, match=message):
        optim.chain(optimizer=optim.SGD([param]), **arguments)


@pytest.mark.parametrize("name, gradient", [
    ("clip_grad_norm", [3.0, -1e10, 0.0]), ("clip_grad_value", [3.0, -1e30, math.inf]),
])
def test_infinite_limits_clip_nothing(name, gradient):
    params = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    for param in params:
        param.grad = torch.tensor(gradient)
    optim.chain(optimizer=optim.SGD(params[:1], lr=0.5), **{name: math.inf}).step()
    torch.optim.SGD(params[1:], lr=0.5).step()
    assert torch.equal(*params)


@pytest.mark.parametrize("name, schedule, message", [
    ("SGD", "cosine", "^schedule: 'cosine' needs the entry 'steps'$"),
    ("SGD", {"kind": "cos", "steps": 10}, "^schedule: expected one of none, constant, linear, cosine, step, .*, found 'cos'$"),
    ("AdamW", {"kind": "cosine", "steps": 10, "gamma": 0.5}, "^schedule: the entry 'gamma' does nothing with 'cosine'"),
    ("AdamW", {"kind": "one_cycle", "steps": 5, "warmup": 5}, "^schedule: the entry 'steps' of 'one_cycle' expects a whole number of 6 or more"),
    ("ASGD", {"kind": "cosine", "steps": 10}, "^schedule: it does nothing in 'asgd': 'alpha' and 'lambd' are its schedule"),
    ("SGDScheduleFree", {"kind": "cosine", "steps": 10}, "^schedule: .*no place in a schedule-free optimizer"),
])
def test_entries_that_contradict_each_other_are_found_at_once(name, schedule, message):
    optimizer = getattr(optim, name)([torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))], state_dtype="f32")
    spec = optimizer.spec
    with pytest.raises(heddle.errors.BadInput, match=message):
        optim.chain(clip_grad_norm=1.0, schedule=schedule, optimizer=optimizer)
    assert optimizer.clip_grad_norm is None and optimizer.spec is spec


@heddle.rule
def descent(p, g, *, lr=0.1):
    return p - lr * g


@pytest.mark.parametrize("added", [{"ema": 0.5}, {"zero_grad": True}, {"schedule": "constant"}])
def test_rules_have_no_place_for_what_their_program_would_do(added):
    optimizer = descent([torch.nn.Parameter(torch.ones(3))])
    with pytest.raises(heddle.errors.BadInput, match="found a traced rule: write them into the rule"):
        optim.chain(optimizer=optimizer, **added)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("name", ["SGD", "LARS"])
@pytest.mark.parametrize("how", ["deepcopy", "pickle", "state_dict"])
def test_schedules_continue_in_copies(name, momentum, how):
    """Also those of optimizers whose formula does not use the step counter."""

    def make(param):
        made = getattr(optim, name)([param], lr=1.0, momentum=momentum)
        return optim.chain(schedule={"kind": "exponential", "gamma": 0.5}, optimizer=made)

    def step(optimizer):
        (param,) = optimizer.param_groups[0]["params"]
        param.grad = torch.ones(2)
        optimizer.step()
        return param.detach().clone()

    first = make(torch.nn.Parameter(torch.ones(2)))
    for _ in range(3):
        last = step(first)
    if how == "state_dict":
        second = make(torch.nn.Parameter(last))
        second.load_state_dict(copy.deepcopy(first.state_dict()))
    else:
        second = copy.deepcopy(first) if how == "deepcopy" else pickle.loads(pickle.dumps(first))
    assert torch.equal(step(first), step(second))


def step_both(step, *pairs):
    """Steps optimizers whose parameters have the same gradients."""
    for params, optimizer in pairs:
        for param in params:
            param.grad = torch.full_like(param, 0.5 + step)
        optimizer.step()


@pytest.mark.parametrize("how", ["chain", "load"])
def test_a_schedule_that_is_added_later_continues_a_counter_of_a_rule(how):
    """It counts all steps of the parameter, also those before it."""
    def made():
        params = [torch.nn.Parameter(torch.ones(4)), torch.nn.Parameter(torch.ones(2).to(torch.bfloat16))]
        return params, optim.Prodigy(params, d0=1e-2, state_dtype="f32")

    (params, ours), (others, theirs) = made(), made()
    schedule = {"kind": "exponential", "gamma": 0.5}
    for step in range(6):
        if step == 3 and how == "load":
            saved, ours = ours.state_dict(), optim.Prodigy(params, d0=1e-2, state_dtype="f32")
        if step == 3:
            ours = optim.chain(schedule=schedule, optimizer=ours)
        if step == 3 and how == "load":
            ours.load_state_dict(saved)
        if step >= 3:
            theirs.param_groups[0]["lr"] = 0.5**step
        step_both(step, (params, ours), (others, theirs))
    for param, other in zip(params, others):
        torch.testing.assert_close(param, other)
        state, wanted = ours.state[param], theirs.state[other]
        assert state["step"] == state["step_1"] == 6
        for key, value in wanted.items():
            torch.testing.assert_close(state[key], value)


def test_a_schedule_that_is_added_later_counts_one_step_where_there_is_state():
    param = torch.nn.Parameter(torch.zeros(1))
    optimizer = optim.SGD([param], lr=1.0, momentum=0.5)
    param.grad = torch.ones(1)
    optimizer.step()
    optim.chain(schedule={"kind": "exponential", "gamma": 0.5}, optimizer=optimizer)
    optimizer.step()
    assert param.item() == -1 - 0.5 * 1.5


@pytest.mark.parametrize("dtypes", [("float32", "bfloat16"), ("bfloat16", "float32", "float64")])
@pytest.mark.parametrize("added", [{}, {"ema": 0.5, "zero_grad": True}])
def test_a_schedule_of_a_rule_with_a_counter_of_its_own(dtypes, added):
    """Prodigy counts the steps that have changed something, a schedule all."""
    def made():
        params = [torch.nn.Parameter(torch.ones(4).to(getattr(torch, dtype))) for dtype in dtypes]
        return params, optim.Prodigy(params, d0=1e-2, state_dtype="f32")

    (params, ours), (others, theirs) = made(), made()
    ours = optim.chain(schedule={"kind": "cosine", "steps": 10}, optimizer=ours, **added)
    for step in range(4):
        theirs.param_groups[0]["lr"] = 0.5 * (1 + math.cos(math.pi * step / 10))
        step_both(step, (params, ours), (others, theirs))
    for param, other in zip(params, others):
        torch.testing.assert_close(param, other)
        assert ours.state[param]["step_1"] == 4
    copied = made()[1]
    copied = optim.chain(schedule={"kind": "cosine", "steps": 10}, optimizer=copied, **added)
    copied.load_state_dict(ours.state_dict())
    assert all(state["step_1"] == 4 for state in copied.state.values())


@pytest.mark.parametrize("begun", [0, 2])
def test_random_numbers_of_a_rule_with_a_counter_of_its_own(begun):
    """Of several element types, and also if they are turned on later."""
    params = [torch.nn.Parameter(torch.ones(4).to(dtype)) for dtype in (torch.float32, torch.bfloat16)]
    optimizer = optim.Prodigy(params, d0=1e-2, state_dtype="bf16", rounding="nearest" if begun else "stochastic")
    for step in range(4):
        if step == begun:
            optimizer.param_groups[0]["rounding"] = "stochastic"
        for param in params:
            param.grad = torch.ones_like(param)
        optimizer.step()
    assert all(state["step"] == state["step_1"] == 4 for state in optimizer.state.values())


def test_an_average_beside_counters_of_some_element_types():
    """Elements of bfloat16 that are rounded at random need a step counter, those of float64 do not."""
    params = [torch.nn.Parameter(torch.ones(4).to(dtype)) for dtype in (torch.bfloat16, torch.float64)]
    optimizer = optim.chain(ema=0.5, optimizer=optim.SGD(params, lr=0.25, state_dtype="f32", rounding="stochastic"))
    for _ in range(2):
        for param in params:
            param.grad = torch.ones_like(param)
        optimizer.step()
    for param in params:
        assert torch.equal(param, torch.full_like(param, 0.5))
        assert torch.equal(optimizer.state[param]["ema"].double(), torch.full((4,), 0.625, dtype=torch.float64))
