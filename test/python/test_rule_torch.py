"""Rules as optimizers of PyTorch, on the cpu target."""

import copy
import inspect
import math
import pathlib
import pickle
import sys

import numpy
import pytest

torch = pytest.importorskip("torch")

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from heddle.optim import _programs as programs  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))


@heddle.rule
def adamw(p, g, exp_avg, exp_avg_sq, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
    beta1, beta2 = betas
    t = heddle.step()
    rate = heddle.element(lr)
    exp_avg1 = exp_avg + (1 - beta1) * (g - exp_avg)
    exp_avg_sq1 = exp_avg_sq * beta2 + (1 - beta2) * g * g
    denom = heddle.sqrt(exp_avg_sq1) / heddle.sqrt(1 - beta2**t) + eps
    p = p * (1 - rate * weight_decay)
    return p - rate / (1 - beta1**t) * (exp_avg1 / denom), exp_avg1, exp_avg_sq1


@heddle.rule
def lion(p, g, m, *, lr=1e-4, b1=0.9, b2=0.99, wd=0.0, signed=True):
    """Lion, with an option."""
    u = b1 * m + (1 - b1) * g
    if signed:
        u = heddle.sign(u)
    return p * (1 - lr * wd) - lr * u, b2 * m + (1 - b2) * g


@heddle.rule
def adagrad(p, g, total=0.1, *, lr=1e-2):
    total = total + g * g
    return p - lr * g / heddle.sqrt(total), total


# The names of this module, by which rules are pickled.
sys.modules.setdefault(__name__, type(sys)(__name__)).__dict__.update(adamw=adamw, lion=lion)


def model(dtype=torch.float32):
    torch.manual_seed(0)
    layers = torch.nn.Linear(10, 20), torch.nn.Tanh(), torch.nn.Linear(20, 3)
    return torch.nn.Sequential(*layers).to(dtype)


def train(net, optimizer, steps=8, seed=1, scheduler=None):
    torch.manual_seed(seed)
    for _ in range(steps):
        data = torch.randn(8, 10, dtype=next(net.parameters()).dtype)
        optimizer.zero_grad()
        net(data).square().mean().backward()
        optimizer.step()
        if scheduler:
            scheduler.step()


def same(one, other):
    return all(torch.equal(left, right) for left, right in zip(one.parameters(), other.parameters()))


def test_a_rule_is_an_optimizer_class():
    net = model()
    optimizer = lion(net.parameters(), lr=0.1)
    assert isinstance(optimizer, torch.optim.Optimizer) and isinstance(optimizer, lion)
    assert not isinstance(optimizer, adamw) and not isinstance(torch.optim.SGD(net.parameters()), lion)
    assert type(optimizer).__name__ == "lion" and "lr: 0.1" in repr(optimizer)
    assert optimizer.defaults["lr"] == 0.1 and optimizer.defaults["signed"] is True
    assert type(optimizer).__doc__ == "Lion, with an option."
    before = copy.deepcopy(net)
    train(net, optimizer)
    assert not same(net, before)


def test_the_bits_are_those_of_the_library():
    """With a schedule that changes the learning rate and the betas, and one group with other values."""
    nets = model(), model()
    optimizers = []
    for net, make in zip(nets, (adamw, heddle.optim.AdamW)):
        optimizer = make([{"params": net[0].parameters()}, {"params": net[2].parameters(), "eps": 1e-6}], lr=1e-2)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=20)
        train(net, optimizer, scheduler=scheduler)
        optimizers.append(optimizer)
    assert same(*nets)
    ours, theirs = (optimizer.state_dict()["state"] for optimizer in optimizers)
    for key, state in theirs.items():
        assert ours[key].keys() == state.keys() == {"step", "exp_avg", "exp_avg_sq"}
        assert all(torch.equal(ours[key][name], state[name]) for name in state)


def test_lion_against_its_formula_in_double():
    net = model(torch.float64)
    params = [param.detach().clone() for param in net.parameters()]
    moments = [torch.zeros_like(param) for param in params]
    optimizer = lion(net.parameters(), lr=0.01, wd=0.1)
    for seed in range(5):
        train(net, optimizer, steps=1, seed=seed)
        for param, moment, own in zip(params, moments, net.parameters()):
            update = torch.sign(0.9 * moment + 0.1 * own.grad)
            param.mul_(1 - 0.01 * 0.1).sub_(0.01 * update)
            moment.mul_(0.99).add_(0.01 * own.grad)
    for param, own in zip(params, net.parameters()):
        torch.testing.assert_close(own.detach(), param, rtol=1e-13, atol=1e-13)


def test_groups_with_other_options():
    nets = model(), model()
    first = lion([{"params": nets[0][0].parameters()}, {"params": nets[0][2].parameters(), "signed": False, "lr": 0.5}],
                 lr=0.01)
    parts = lion(nets[1][0].parameters(), lr=0.01), lion(nets[1][2].parameters(), lr=0.5, signed=False)
    torch.manual_seed(3)
    for _ in range(3):
        data = torch.randn(4, 10)
        for net in nets:
            net.zero_grad()
            net(data).square().mean().backward()
        first.step()
        for part in parts:
            part.step()
    assert same(*nets)


def test_options_keep_their_values():
    """Strings, numbers and None reach the rule as they are; bools may be any truth value, as in torch."""

    @heddle.rule
    def rule(p, g, *, lr=1.0, mode="plain", limit=None, twice=False):
        if mode == "sign":
            g = heddle.sign(g)
        if limit is not None:
            g = heddle.minimum(g, limit)
        return p - lr * (2 * g if twice else g)

    def stepped(**options):
        param = torch.nn.Parameter(torch.zeros(2))
        param.grad = torch.tensor([-3.0, 5.0])
        rule([param], **options).step()
        return param.tolist()

    assert stepped() == [3, -5] and stepped(mode="plain") == [3, -5] and stepped(mode="sign") == [1, -1]
    assert stepped(limit=0.25) == [3, -0.25] and stepped(limit=0) == [3, 0] and stepped(twice=1) == [6, -10]
    params = [torch.nn.Parameter(torch.zeros(2)) for _ in range(3)]
    for param in params:
        param.grad = torch.tensor([-3.0, 5.0])
    optimizer = rule([{"params": params[:1]}, {"params": params[1:2], "mode": "sign"},
                      {"params": params[2:], "limit": 0.5}])
    optimizer.step()
    assert [param.tolist() for param in params] == [[3, -5], [1, -1], [3, -0.5]]


def test_norms_of_the_list_need_one_launch():
    @heddle.rule
    def rule(p, g, *, lr=1.0, signed=False):
        return p - lr * (heddle.sign(g) if signed else g) / heddle.norm(g, over="list")

    params = [torch.nn.Parameter(torch.zeros(2)) for _ in range(2)]
    for param in params:
        param.grad = torch.tensor([3.0, 4.0])
    groups = [{"params": params[:1], "signed": True}, {"params": params[1:]}]
    optimizer = rule(groups)
    for _ in range(2):
        with pytest.raises(heddle.BadInput, match="rule: expected one launch for all parameters, found 2"):
            optimizer.step()
    assert not any(param.any() for param in params)
    optimizer.param_groups[0]["signed"] = False
    optimizer.step()
    for param in params:
        torch.testing.assert_close(param.detach(), torch.tensor([-3.0, -4.0]) / 50**0.5)


def test_sharded_parameters_have_no_norms():
    """A stand-in for a DTensor: tests of heddle.optim use two processes."""

    class Placement:
        def __init__(self, sharded):
            self.sharded = sharded

        def is_replicate(self):
            return not self.sharded

    @heddle.rule
    def rule(p, g, *, lr=1.0):
        return p - lr * g / heddle.norm(g)

    @heddle.rule
    def by_position(p, g, *, lr=1.0):
        return p - lr * g * heddle.index()

    @heddle.rule
    def by_extent(p, g, *, lr=1.0):
        return p - lr * g / heddle.extent()

    from heddle._rule.optimizer import make_spec

    param = torch.nn.Parameter(torch.zeros(2))
    for placements, refused in (([], False), ([Placement(False)], False), ([Placement(False), Placement(True)], True)):
        param.placements = placements
        for each, fails in ((rule, refused), (by_position, refused), (by_extent, refused), (lion, False)):
            problem = make_spec(each).check({"params": [param], **make_spec(each).defaults})
            assert ("not sharded" in problem and "heddle.optim.chain(" in problem) if fails else problem is None


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_integers_beside_clipping(dtype):
    @heddle.rule
    def rule(p, g, place=heddle.per_tensor()):
        largest = heddle.index() == heddle.argmax(g)
        return p - heddle.where(largest, g / heddle.sqrt(heddle.extent()), 0), heddle.argmax(g)

    params = [torch.nn.Parameter(torch.zeros(size, dtype=dtype)) for size in (4, 9)]
    for param in params:
        param.grad = torch.arange(param.numel(), dtype=dtype)
    optimizer = heddle.optim.chain(clip_grad_norm=1.0, accumulation=2, optimizer=rule(params))
    norm = optimizer.step()
    torch.testing.assert_close(norm.item(), ((14 + 204) / 4) ** 0.5, rtol=1e-3, atol=0)
    for param, place in zip(params, (3, 8)):
        assert optimizer.state[param]["place"] == place and not param[:place].any()
        expected = -place / 2 / norm.item() / param.numel() ** 0.5
        torch.testing.assert_close(param[place].item(), expected, rtol=1e-2 if dtype.itemsize == 2 else 1e-5, atol=0)


def test_positions_are_those_in_memory():
    @heddle.rule
    def rule(p, g):
        return p + heddle.where(heddle.index() < heddle.extent() // 2, g, 0)

    for form in (torch.contiguous_format, torch.channels_last):
        param = torch.nn.Parameter(torch.zeros(2, 3, 4, 5).to(memory_format=form))
        param.grad = torch.ones_like(param)
        rule([param]).step()
        expected = torch.cat([torch.ones(60), torch.zeros(60)])
        assert torch.equal(param.detach().as_strided((120,), (1,)), expected)


def test_the_initial_state():
    param = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    optimizer = adagrad([param])
    param.grad = torch.full((3,), 2.0, dtype=torch.float64)
    optimizer.step()
    torch.testing.assert_close(optimizer.state[param]["total"], torch.full((3,), 4.1, dtype=torch.float64))
    torch.testing.assert_close(param.detach(), torch.full((3,), 1 - 0.02 / 4.1**0.5, dtype=torch.float64))


def test_state_is_exchanged_with_torch():
    net, other = model(), model()
    optimizer = adamw(net.parameters(), lr=1e-2)
    train(net, optimizer)
    other.load_state_dict(net.state_dict())
    theirs = torch.optim.AdamW(other.parameters(), lr=1e-2)
    theirs.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    train(net, optimizer, seed=5)
    train(other, theirs, seed=5)
    for one, two in zip(net.parameters(), other.parameters()):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies(copier):
    net = model()
    optimizer = adamw(net.parameters(), lr=1e-2)
    train(net, optimizer)
    other, twin = copier((net, optimizer))
    assert isinstance(twin, adamw) and type(twin) is type(optimizer)
    train(net, optimizer, seed=7)
    train(other, twin, seed=7)
    assert same(net, other)


def test_clipping():
    """heddle.optim clips the gradients of a rule in the same program."""
    nets = model(), model()
    ours = heddle.optim.chain(clip_grad_norm=0.1, optimizer=adamw(nets[0].parameters(), lr=1e-2))
    theirs = heddle.optim.chain(clip_grad_norm=0.1, optimizer=heddle.optim.AdamW(nets[1].parameters(), lr=1e-2))
    train(nets[0], ours)
    train(nets[1], theirs)
    assert same(*nets)


@heddle.rule
def lamb(p, g, m, v, *, lr=1e-2, b1=0.9, b2=0.999, eps=1e-6, wd=0.01):
    t = heddle.step()
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g * g
    u = m / (1 - b1**t) / (heddle.sqrt(v / (1 - b2**t)) + eps) + wd * p
    weight, update = heddle.norm(p), heddle.norm(u)
    return p - lr * heddle.where((weight > 0) & (update > 0), weight / update, 1.0) * u, m, v


def test_clipping_of_a_rule_with_norms():
    nets = model(torch.float64), model(torch.float64)
    ours = heddle.optim.chain(clip_grad_norm=0.1, optimizer=lamb(nets[0].parameters()))
    theirs = lamb(nets[1].parameters())
    torch.manual_seed(4)
    for _ in range(5):
        data = torch.randn(8, 10, dtype=torch.float64)
        for net, optimizer in zip(nets, (ours, theirs)):
            optimizer.zero_grad()
            net(data).square().sum().backward()
            if optimizer is theirs:
                norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
                assert norm > 0.1
            optimizer.step()
    for one, other in zip(nets[0].parameters(), nets[1].parameters()):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("rule", [adamw, lamb, lion])
def test_unscaled_gradients(rule):
    """GradScaler gives scaled gradients; a step with an infinite one is skipped, and not counted."""
    nets = model(), model()
    plain, scaled = rule(nets[0].parameters(), lr=1e-2), rule(nets[1].parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=100)
    torch.manual_seed(4)
    for step in range(5):
        data = torch.randn(8, 10)
        for net, optimizer in zip(nets, (plain, scaled)):
            if step == 2 and optimizer is plain:
                continue
            optimizer.zero_grad()
            loss = net(data).square().mean()
            if optimizer is plain:
                loss.backward()
                optimizer.step()
                continue
            scaler.scale(loss).backward()
            if step == 2:
                net[0].weight.grad[0, 0] = float("inf")
            scaler.step(optimizer)
            scaler.update()
    assert same(*nets)
    counts = [state["step"].item() for state in scaled.state.values() if "step" in state]
    assert all(count == 4 for count in counts)


@heddle.rule
def growing(p, g, m, size=heddle.per_tensor(0.1), *, b=0.9, grow=1.2):
    m = b * m + (1 - b) * g
    new = heddle.where(heddle.norm(m) > 0.05, size / grow, size * grow)
    return p - size * m, m, new


@pytest.mark.parametrize("clip", [None, 1e9])
@pytest.mark.parametrize("scaled", [False, True])
def test_state_with_one_value_for_each_tensor(clip, scaled):
    """In groups, without gradients, changed by the user, loaded, skipped by a scaler, and with clipping."""
    params = [torch.nn.Parameter(torch.randn(shape)) for shape in ((3, 4), (5,), (40, 30), ())]
    values = [param.detach().double() for param in params]
    moments, sizes = [torch.zeros_like(value) for value in values], [numpy.float32(0.1)] * 4
    groups = [{"params": params[:2]}, {"params": params[2:], "grow": 1.5}]
    optimizer = heddle.optim.chain(clip_grad_norm=clip, optimizer=growing(groups))
    grow = [1.2, 1.2, 1.5, 1.5]
    torch.manual_seed(0)
    for step in range(8):
        if step == 3:
            for place, param in enumerate(params):
                optimizer.state[param]["size"].fill_(0.3)
                sizes[place] = numpy.float32(0.3)
        if step == 4:
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        if step == 5:
            optimizer.param_groups[0]["grow"], grow[:2] = 1.1, [1.1, 1.1]
        skipped = scaled and step == 6
        if scaled:
            optimizer.grad_scale, optimizer.found_inf = torch.tensor(2.0), torch.tensor(float(skipped))
        for place, param in enumerate(params):
            param.grad = None
            if (step + place) % 4 == 1:
                continue
            param.grad = torch.randn_like(param) * 0.3**place
            if skipped:
                continue
            grad = param.grad.double() / (2 if scaled else 1)
            moments[place] = 0.9 * moments[place] + 0.1 * grad
            old, factor = float(sizes[place]), grow[place]
            values[place] = values[place] - old * moments[place]
            sizes[place] = numpy.float32(old / factor if moments[place].norm() > 0.05 else old * factor)
        optimizer.step()
    for param, value, moment, size in zip(params, values, moments, sizes):
        state = optimizer.state[param]
        assert set(state) == {"size", "m"} and state["size"].shape == () and state["size"].dtype == torch.float32
        torch.testing.assert_close(param.detach().double(), value, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(state["m"].double(), moment, rtol=1e-5, atol=1e-6)
        assert abs(state["size"].item() - size) < 1e-6 * size
    copied = copy.deepcopy(optimizer)
    assert all(copied.state[new]["size"] == optimizer.state[old]["size"]
               for new, old in zip(copied.state, optimizer.state))


def test_no_learning_rate_compiles():
    """A new value in every step, of a rule that computes with it in double, is another value of a scalar."""
    @heddle.rule
    def rule(p, g, m, *, lr=1e-3, b=0.9):
        m = b * m + (1 - b) * g
        return p - lr / (1 - b ** heddle.step()) * m, m

    param = torch.nn.Parameter(torch.ones(5))
    optimizer = rule([param])
    traces = 0
    for step in range(6):
        param.grad = torch.ones(5)
        optimizer.param_groups[0].update(lr=0.1 / (step + 1), b=0.9 - step / 100)
        optimizer.step()
        made = len(programs._executables), len(optimizer.spec._texts)
        assert not step or made == traces
        traces = made


def test_arguments():
    param = torch.nn.Parameter(torch.ones(3))
    for settings in ({"momentum": 1}, {"lr": 1, "dtype": "f32"}):
        unexpected = r"lion\(\) got an unexpected .* '(momentum|dtype)'; its arguments are params, lr"
        with pytest.raises(TypeError, match=unexpected):
            lion([param], **settings)
    for make, name, found in (
        (lion, "lr", "0.1"), (lion, "lr", None), (lion, "wd", torch.ones(2)), (lion, "b1", (0.9, 0.9)),
        (adamw, "betas", (0.9,)), (adamw, "betas", (0.9, "0.9")),
    ):
        expected = f"({name}: expected (a number|a number or a tensor of one element|2 numbers)|expected (a number|2 numbers) for the hyperparameter '{name}'), found"
        with pytest.raises(ValueError, match=expected):
            make([param], **{name: found})
        with pytest.raises(ValueError, match=expected):
            make([param]).add_param_group({"params": [torch.nn.Parameter(torch.ones(2))], name: found})
    for good in (1, numpy.float32(0.5), torch.tensor(0.5), torch.tensor([0.5])):
        lion([param], lr=good)


@heddle.rule
def plain(p, g):
    return p - 0.5 * g


def test_a_rule_without_hyperparameters():
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    optimizer = plain([param])
    for expected in (0.5, 0.0):
        optimizer.step()
        assert torch.equal(param, torch.full((3,), expected))
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
    optimizer.param_groups[1]["params"][0].grad = torch.ones(2)
    optimizer.step()
    assert torch.equal(optimizer.param_groups[1]["params"][0], torch.full((2,), 0.5))


def test_loaded_state_without_an_entry():
    """The state of another rule. Nothing starts at 0 unnoticed."""
    def stepped(rule, **settings):
        param = torch.nn.Parameter(torch.ones(3))
        param.grad = torch.ones(3)
        optimizer = rule([("weight", param)], **settings)
        optimizer.step()
        return optimizer, param

    theirs, _ = stepped(adamw)
    for missing in ("exp_avg", "exp_avg_sq", "step"):
        ours, param = stepped(adamw)
        loaded = theirs.state_dict()
        del loaded["state"][0][missing]
        ours.load_state_dict(loaded)
        before = param.detach().clone()
        with pytest.raises(heddle.BadInput, match=f"state '{missing}' of parameter 'weight': expected .*, found none beside"):
            ours.step()
        assert torch.equal(param, before)
    ours, _ = stepped(lion)
    loaded = theirs.state_dict()
    loaded["param_groups"] = ours.state_dict()["param_groups"]
    ours.load_state_dict(loaded)
    with pytest.warns(UserWarning, match="state of parameter 'weight': expected 'm', found only .*'exp_avg'.* 1 parameter "):
        ours.step()


@heddle.rule
def ranged(p, g, *, lr=heddle.hyper(0.1, least=0), betas=heddle.hyper((0.9, 0.99), least=0, below=1)):
    return p - lr * betas[0] * g


def test_ranges_of_groups():
    param = torch.nn.Parameter(torch.ones(3))
    for settings, message in (({"lr": -1}, "ranged: expected lr of at least 0, found -1"),
                              ({"lr": torch.tensor(-1.0)}, "ranged: expected lr of at least 0"),
                              ({"betas": (0.9, 1.0)}, r"ranged: expected betas\[1\] of at least 0 and below 1, found 1")):
        for make in (lambda: ranged([param], **settings), lambda: ranged([{"params": [param], **settings}])):
            with pytest.raises(heddle.BadInput, match=message):
                make()
    optimizer = ranged([param], lr=0, betas=(0, 0.5))
    with pytest.raises(heddle.BadInput, match=r"ranged: expected betas\[1\] of"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))], "betas": (0.9, 2)})
    assert len(optimizer.param_groups) == 1


@heddle.rule
def scaled(p, g, m, *, lr=0.1, betas=(0.9, 0.99)):
    m = betas[0] * m + g
    return p - lr * betas[1] * m, m


class Scaled(scaled):
    """A subclass of a rule's optimizer, by the name of the rule."""

    steps = 0

    def step(self, *args, **kwargs):
        self.steps += 1
        return super().step(*args, **kwargs)


@pytest.mark.parametrize("copier", [lambda each: each, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_rule_is_the_base_of_a_class(copier):
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = heddle.optim.chain(clip_grad_norm=1e9, optimizer=Scaled([param], lr=0.5))
    param.grad = torch.ones(3)
    optimizer.step()
    optimizer = copier(optimizer)
    param = optimizer.param_groups[0]["params"][0]
    param.grad = torch.ones(3)
    optimizer.step()
    assert type(optimizer) is Scaled and optimizer.steps > 0
    torch.testing.assert_close(param, torch.full((3,), 1 - 0.5 * 0.99 * (1 + 1.9)))
    assert isinstance(optimizer, scaled) and issubclass(Scaled, scaled) and issubclass(Scaled, scaled.optimizer_class)
    assert not issubclass(Scaled, ranged) and not issubclass(heddle.optim.SGD, scaled) and not isinstance(3, scaled)
    assert not hasattr(Scaled, "__orig_bases__") or Scaled.__orig_bases__ == (scaled,)


def test_signatures_are_those_of_the_optimizer():
    for rule in (scaled, ranged):
        arguments = "(params, lr=0.1, *, betas=(0.9, 0.99))"
        assert str(inspect.signature(rule)) == str(inspect.signature(rule.optimizer_class)) == arguments
    assert str(inspect.signature(scaled.function)).startswith("(p, g, m, *, lr=0.1")


NOT_FINITE = [math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("value", [*NOT_FINITE, numpy.float32("nan"), torch.tensor(math.inf)])
def test_hyperparameters_are_finite(value):
    """As Rule.compile, an optimizer takes finite numbers only."""
    param = torch.nn.Parameter(torch.ones(3))
    for settings, name in (({"lr": value}, "lr"), ({"betas": (value, value)}, r"betas\[0\]")):
        for make in (lambda: scaled([param], **settings), lambda: scaled([{"params": [param], **settings}])):
            with pytest.raises(heddle.BadInput, match=f"scaled: expected a finite number for the hyperparameter '{name}', found"):
                make()


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("value", [*NOT_FINITE, torch.tensor(math.nan)])
def test_changed_hyperparameters_are_checked_before_the_step(value, groups):
    params = [torch.nn.Parameter(torch.ones(3)) for _ in range(groups)]
    optimizer = scaled([{"params": [param]} for param in params])
    for param in params:
        param.grad = torch.ones(3)

    def refused(name, wrong):
        group, state = optimizer.param_groups[-1], [dict(optimizer.state[param]) for param in params]
        before, good = [param.clone() for param in params], group[name]
        group[name] = wrong
        for _ in range(2):
            with pytest.raises(heddle.BadInput, match=f"scaled: expected a finite number for the hyperparameter '{name}"):
                optimizer.step()
        group[name] = good
        assert all(map(torch.equal, params, before)) and state == [dict(optimizer.state[param]) for param in params]

    refused("lr", value)  # before the first step, which makes the state
    optimizer.step()
    refused("lr", value)
    refused("betas", (0.9, float(value)))
    before = [param.clone() for param in params]
    optimizer.step()
    assert all((param < old).all() for param, old in zip(params, before))


def test_changed_hyperparameters_stay_in_their_range():
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = ranged([param], lr=0.5)
    param.grad = torch.ones(3)
    optimizer.step()
    before = param.clone()
    optimizer.param_groups[0]["lr"] = -1.0
    with pytest.raises(heddle.BadInput, match="ranged: expected lr of at least 0, found -1"):
        optimizer.step()
    assert torch.equal(param, before)


def test_calls_with_wrong_arguments():
    param = torch.nn.Parameter(torch.ones(3))
    for call in (lambda: ranged(), lambda: ranged([param], 1, (0.9, 0.9)), lambda: ranged([param], speed=2)):
        with pytest.raises(TypeError, match=r"^ranged\(\) .*; its arguments are params, lr, betas$"):
            call()


@pytest.mark.parametrize("name", ["max_norm", "norm", "grad_scale", "found_inf"])
def test_names_that_optimizers_set(name):
    """The value of such a hyperparameter would be that of the optimizer."""
    rule = heddle.rule(eval(f"lambda p, g, *, {name}=1.0: p - {name} * g"))
    with pytest.raises(heddle.BadInput, match=f"the name '{name}' has a meaning for every optimizer: use another"):
        rule([torch.nn.Parameter(torch.ones(2))])


def test_the_learning_rate_by_position():
    """As for torch.optim, if it is the first hyperparameter."""

    @heddle.rule
    def first(p, g, *, lr=0.1, wd=0.0):
        return p - lr * (g + wd * p)

    @heddle.rule
    def alone(p, g, *, lr=0.1):
        return p - lr * g

    @heddle.rule
    def second(p, g, *, wd=0.0, lr=0.1):
        return p - lr * (g + wd * p)

    for rule in (first, alone):
        assert rule([torch.nn.Parameter(torch.ones(3))], 0.5).param_groups[0]["lr"] == 0.5
    for rule, arguments in ((first, (0.5, 0.1)), (alone, (0.5, 0.1)), (second, (0.5,))):
        with pytest.raises(TypeError, match="too many positional arguments"):
            rule([torch.nn.Parameter(torch.ones(3))], *arguments)
