"""The tail of a training step, in every executor (the interpreter, the cpu target fused and not, the executed CUDA source),
against the same steps one after another in NumPy."""

import itertools
import json
import pathlib
import re
import subprocess

import numpy as np
import pytest

import heddle

RUNNER = pathlib.Path(heddle.doctor()["library"]["path"]).parents[1] / "bin" / "heddle_run_everywhere"
pytestmark = pytest.mark.skipif(not RUNNER.exists(), reason="needs a build of heddle_run_everywhere")

SIZES = (7, 0, 1, 2100, 33)
STEPS = 9
INFINITE = {2: np.inf, 3: np.nan, 6: -np.inf}  # the steps that are skipped, and the element that is the reason


# The steps, written from PyTorch's documentation.


def updated(scale, tracker, found, *, growth=2.0, backoff=0.5, interval=2000):
    if found:
        return np.float32(scale * backoff), 0
    if tracker + 1 < interval:
        return scale, tracker + 1
    grown = np.float32(np.float64(scale) * growth)
    return (grown if np.isfinite(grown) else scale), 0


def clipped(grads, most):
    total = np.sqrt(sum(float((np.float64(g) ** 2).sum()) for g in grads))
    return [g * g.dtype.type(min(most / (total + 1e-6), 1.0)) for g in grads], total


def adamw(x, g, t, lr):
    x["param"] = x["param"] * (1 - lr * 0.01)
    x["exp_avg"] = 0.9 * x["exp_avg"] + (1 - 0.9) * g
    x["exp_avg_sq"] = 0.999 * x["exp_avg_sq"] + (1 - 0.999) * g * g
    denom = np.sqrt(x["exp_avg_sq"] / (1 - 0.999**t)) + 1e-8
    x["param"] = x["param"] - lr * (x["exp_avg"] / (1 - 0.9**t)) / denom


def sgd(x, g, t, lr):
    x["momentum_buffer"] = 0.9 * x["momentum_buffer"] + g
    x["param"] = x["param"] - lr * x["momentum_buffer"]


RULES = {"adamw": (adamw, "adamw", ["exp_avg", "exp_avg_sq"]), "sgd": (sgd, "sgd:momentum=0.9", ["momentum_buffer"])}


class Tail:
    """A composition, and its steps one after another."""

    def __init__(self, rule, *, average=1, unscale=False, checks=False, clip=None, ema=0.0, zero=False, interval=2):
        self.formula, text, self.states = RULES[rule]
        self.average, self.unscale, self.checks, self.clip = average, unscale, checks, clip
        self.ema, self.zero, self.interval = ema, zero, interval
        self.counts = rule == "adamw" or ema != 0
        parts = []
        if average != 1:
            parts.append(f"average:count={average}")
        if unscale:
            parts.append(f"unscale:scale=1024,growth_interval={interval}")
        elif checks:
            parts.append("check_finite")
        if clip == "norm":
            parts.append("clip_by_global_norm:max_norm=0.5")
        elif clip == "value":
            parts.append("clip_by_value:max_value=0.25")
        options = ([f"ema={ema}"] if ema else []) + (["zero_grad=true"] if zero else [])
        if options:
            text += (":" if ":" not in text else ",") + ",".join(options)
        self.text = "+".join([*parts, text])

    def start(self, params):
        self.members = [{"param": p.copy(), "step": 0, **{s: np.zeros_like(p) for s in self.states}} for p in params]
        for x in self.members:
            if self.ema:
                x["ema"] = np.zeros_like(x["param"])
        self.scale, self.tracker = np.float32(1024), 0

    def step(self, grads):
        """Returns what the program returns: {result: its members}."""
        found, results = False, {}
        kind = grads[0].dtype.type
        if self.average != 1:
            grads = [g / kind(self.average) for g in grads]
        if self.unscale:
            grads = [g * (kind(1) / kind(self.scale)) for g in grads]
        if self.unscale or self.checks:
            found = not all(np.isfinite(g).all() for g in grads)
            results["found_inf"] = [float(found)]
        if self.unscale:
            self.scale, self.tracker = updated(self.scale, self.tracker, found, interval=self.interval)
            results["grad_scale"], results["growth_tracker"] = [float(self.scale)], [self.tracker]
        if self.clip == "norm":
            grads, norm = clipped(grads, 0.5)
            results["norm"] = [norm]
        elif self.clip == "value":
            grads = [np.clip(g, kind(-0.25), kind(0.25)) for g in grads]
        for x, g in zip(self.members, grads):
            if not found:
                x["step"] += 1
                self.formula(x, g, x["step"], 1e-3)
                if self.ema:
                    x["ema"] = x["param"] if x["step"] == 1 else x["ema"] + (x["param"] - x["ema"]) * (1 - self.ema)
        for name in self.members[0]:
            if name == "step" and not self.counts:
                continue
            results[name] = [x[name] for x in self.members]
        if self.zero:
            results["grad"] = [np.zeros_like(g) for g in grads]
        return results


def program(text, dtype="f32"):
    last = text.rpartition("+")[2]
    return heddle.emit(f"{text}{',' if ':' in last else ':'}dtype={dtype}", "foreach")


def signature(text):
    """The attributes of the arguments, and the names of the results."""
    head = re.search(r"func\.func @\w+\((.*?)\) -> ", text, re.S)[1]
    found = {}
    for name, kind, attributes in re.findall(r"%(\w+): (![\w.<>?]+|tensor<\w+>)((?: \{[^}]*\})?)", head):
        found[name] = {"kind": kind, **dict(re.findall(r"foreach\.(\w+) = (\S+) :", attributes))}
    results = re.findall(r"%(\w+)", re.search(r"^    return ([^\n:]*)", text, re.M)[1])
    for name, attributes in found.items():
        if "donate" in attributes:
            results[int(attributes["donate"])] = name
    return found, results


def as_json(array):
    return [float(x) if np.isfinite(x) else str(float(x)) for x in np.ravel(array)]


def run(tmp_path, text, params, grads, lists=None, scalars=None):
    """{executor: [{result: members} of each step]}."""
    arguments, names = signature(text)
    first = {"param": params}
    numbers = {}
    for name, attributes in arguments.items():
        if "default" in attributes:
            numbers[name] = float(attributes["default"])
        elif "initial" in attributes:
            initial = float(attributes["initial"])
            is_one = attributes["kind"].startswith("!each")
            first[name] = [np.full(() if is_one else p.shape, initial) for p in params]
    first.update(lists or {})
    numbers.update(scalars or {})
    listed = {name: [[list(np.shape(a)), as_json(a)] for a in arrays] for name, arrays in first.items()}
    steps = [{"lists": {"grad": [[list(g.shape), as_json(g)] for g in members]}, "scalars": {}} for members in grads]
    steps[0]["lists"].update({name: value for name, value in listed.items() if name in arguments})
    steps[0]["scalars"] = numbers
    path = tmp_path / "program.mlir"
    path.write_text(text)
    done = subprocess.run([RUNNER, path], input=json.dumps({"steps": steps}), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and not done.stderr, done.stderr
    found = json.loads(done.stdout)
    assert {"interpreter", "cpu", "cpu, not fused"} < set(found), "the CUDA source did not run"
    return {executor: [dict(zip(names, step, strict=True)) for step in steps] for executor, steps in found.items()}


def data(kind, special=True):
    rng = np.random.default_rng(7)
    params = [rng.standard_normal(size).astype(kind) for size in SIZES]
    grads = [[(100 * rng.standard_normal(size)).astype(kind) for size in SIZES] for _ in range(STEPS)]
    for step, value in (INFINITE.items() if special else ()):
        grads[step][3][1999] = value
    return params, grads


def check(tail, dtype, tmp_path, special=True):
    kind = {"f32": np.float32, "f64": np.float64}[dtype]
    params, grads = data(kind, special)
    found = run(tmp_path, program(tail.text, dtype), params, grads)
    tail.start(params)
    tolerance = 2e-4 if dtype == "f32" else 1e-11
    with np.errstate(all="ignore"):
        for step, members in enumerate(grads):
            for name, wanted in tail.step(members).items():
                for executor, results in found.items():
                    for value, one in zip(results[step][name], wanted, strict=True):
                        np.testing.assert_allclose(
                            np.float64(value), np.ravel(np.float64(one)), rtol=tolerance, atol=tolerance * 0.1,
                            equal_nan=True, err_msg=f"{executor}, step {step + 1}, {name}")
    return found


FULL = dict(average=4, unscale=True, clip="norm", ema=0.9, zero=True)
TAILS = [
    pytest.param(rule, dict(zip(("average", "unscale", "clip", "ema", "zero"), values)), id="-".join(map(str, (rule, *values))))
    for rule in RULES
    for values in itertools.product((1, 4), (False, True), (None, "norm", "value"), (0.0, 0.9), (False, True))
    # Every pair of values of two options.
    if sum(bool(value) and value != 1 for value in values) in (2, 5)
]


@pytest.mark.parametrize("rule, options", TAILS)
def test_tail_is_the_same_steps_one_after_another(rule, options, tmp_path):
    check(Tail(rule, **options), "f64", tmp_path, special=options["unscale"])


@pytest.mark.parametrize("options", [dict(average=4), dict(average=4, clip="value"), dict(average=4, zero=True, ema=0.9)], ids=str)
def test_a_check_passes_on_the_gradients_before_it(options, tmp_path):
    check(Tail("adamw", checks=True, **options), "f64", tmp_path)


@pytest.mark.parametrize("text", [
    "average:count=4+check_finite", "average:count=4+global_norm", "average:count=4+global_norm+check_finite",
    "check_finite+average:count=4+global_norm", "clip_by_value:max_value=2+check_finite",
    "clip_by_global_norm:max_norm=10+check_finite"])
def test_programs_that_only_read_gradients_do_not_hide_those_before_them(text, tmp_path):
    param, grad = np.zeros(4), np.float64([8, 8, 8, -8])
    results = run(tmp_path, program(f"{text}+sgd:lr=1", "f64"), [param], [[grad]])
    for executor, (step,) in results.items():
        np.testing.assert_allclose(step["param"][0], -grad / (8 / 5 if "norm=10" in text else 4), err_msg=executor)
        assert "grad" not in step


@pytest.mark.parametrize("text", ["average:count=4+check_finite", "average:count=4+global_norm+check_finite"])
def test_gradients_that_no_program_updates_by_are_results(text, tmp_path):
    grad = np.float64([8, np.inf, 8, -8])
    for executor, (step,) in run(tmp_path, program(text, "f64"), [], [[grad]]).items():
        np.testing.assert_array_equal(np.float64(step["grad"][0]), grad / 4, err_msg=executor)
        assert step["found_inf"] == [[1.0]], executor


def test_two_optimizers_are_one_launch(tmp_path):
    """SGD of one list and AdamW of another one, after a clip by the norm of both."""
    text = "clip_by_global_norm:max_norm=0.5+sgd:momentum=0.9,lists=muon+adamw"
    assert "2 sweeps, 3 launches per step" in heddle.explain(text, arch="sm_90")
    assert "1 sweep, 1 launch per step" in heddle.explain(text.partition("+")[2], arch="sm_90")
    params, grads = data(np.float64, special=False)
    other = [2 - p for p in params], [3 * g for g in grads[0]]
    found = run(tmp_path, program(text, "f64"), params, grads, {"param_muon": other[0], "grad_muon": other[1]})
    by_adamw, by_sgd = Tail("adamw"), Tail("sgd")
    by_adamw.start(params)
    by_sgd.start(other[0])
    for step, members in enumerate(grads):
        both, norm = clipped([*members, *other[1]], 0.5)
        wanted = by_adamw.step(both[: len(members)])
        wanted.update({f"{name}_muon": value for name, value in by_sgd.step(both[len(members) :]).items()}, norm=[norm])
        for executor, results in found.items():
            assert set(results[step]) == set(wanted), executor
            for name, values in wanted.items():
                for value, one in zip(results[step][name], values, strict=True):
                    np.testing.assert_allclose(np.ravel(value), np.ravel(one), rtol=1e-11, atol=1e-12,
                                               err_msg=f"{executor}, step {step + 1}, {name}")


def test_scalars_of_two_optimizers_have_the_names_of_their_lists():
    graph = heddle.compile("sgd:lr=0.5,lists=a+sgd:lr=0.25,lists=b", target="cpu").graph()
    lists = {name: np.ones(3, np.float32) for name in ("param_a", "grad_a", "param_b", "grad_b")}
    for name, array in lists.items():
        graph.bind_list(name, [array])
    graph.replay()
    assert (lists["param_a"] == 0.5).all() and (lists["param_b"] == 0.75).all()
    graph.set_scalar("lr_b", 0.5)
    graph.replay()
    assert (lists["param_a"] == 0).all() and (lists["param_b"] == 0.25).all()


@pytest.mark.parametrize("rule", RULES)
def test_single_precision(rule, tmp_path):
    check(Tail(rule, **FULL), "f32", tmp_path)


@pytest.mark.parametrize("text", [
    "unscale+clip_by_global_norm+adamw:ema=0.9,zero_grad=true,amsgrad=true",
    "check_finite+sgd:momentum=0.9,dampening=0.5,zero_grad=true",
    "unscale+adamw:schedule=cosine,schedule_steps=50,ema=0.9",
    "unscale+lamb", "unscale+lion:cautious=true", "average:count=2+check_finite+asgd",
])
def test_a_skipped_step_changes_no_byte(text, tmp_path):
    params, grads = data(np.float32)
    found = run(tmp_path, program(text), params, grads)
    arguments, _ = signature(program(text))
    kept = [name for name, each in arguments.items() if "donate" in each
            and name not in ("grad", "grad_scale", "growth_tracker")]
    assert {"param"} < set(kept)
    for executor, results in found.items():
        before = None
        for step, now in enumerate(results):
            assert now["found_inf"] == [[float(step in INFINITE)]], (executor, step)
            if step in INFINITE:
                assert all(now[name] == before[name] for name in kept), (executor, step)
            else:
                assert before is None or now["param"] != before["param"], (executor, step)
            if "zero_grad" in text:
                assert all(value == 0 for member in now["grad"] for value in member), (executor, step)
            before = now


BAD_SCALES = [0.0, -0.0, -2.0, float("nan"), float("inf"), 1e-46, 1e39]


@pytest.mark.parametrize("scale", BAD_SCALES)
def test_a_scale_that_no_gradient_has_is_refused(scale):
    graph = heddle.compile("unscale+sgd", target="cpu").graph()
    graph.set_scalar("grad_scale", 2.0)
    with pytest.raises(heddle.BadInput, match="argument 'grad_scale': expected a finite f32 above 0, found "):
        graph.set_scalar("grad_scale", scale)
    for name in ("param", "grad"):
        graph.bind_list(name, [np.ones(3, np.float32)])
    graph.replay()
    assert graph.read_scalar("grad_scale") == 2.0


@pytest.mark.parametrize("scale", [*BAD_SCALES, 1e-45])
def test_a_bound_scale_that_no_gradient_has_writes_nothing(scale):
    graph = heddle.compile("unscale+sgd:momentum=0.9,ema=0.9", target="cpu").graph()
    lists = {name: [np.full(9, value, np.float32)]
             for value, name in enumerate(("param", "grad", "momentum_buffer", "ema"), 1)}
    lists["step"] = [np.zeros((), np.float32)]
    for name, members in lists.items():
        graph.bind_list(name, members)
    with np.errstate(over="ignore"):
        graph.bind_scalar("grad_scale", np.array(scale, np.float32))
    before = {name: members[0].copy() for name, members in lists.items()}
    graph.replay()
    for name in set(lists) - {"grad"}:
        assert np.array_equal(lists[name][0], before[name]), name


def test_average_in_closed_form(tmp_path):
    """With a constant gradient, the parameter after step k is p - lr k g."""
    decay, lr, count = 0.8, 0.25, 9
    params = [np.linspace(-1, 1, 5)]
    grads = [[np.linspace(2, 3, 5)] for _ in range(count)]
    found = run(tmp_path, program(f"sgd:lr={lr},ema={decay}", "f64"), params, grads)
    steps = [params[0] - lr * k * grads[0][0] for k in range(1, count + 1)]
    wanted = decay ** (count - 1) * steps[0] + sum(
        (1 - decay) * decay ** (count - k) * steps[k - 1] for k in range(2, count + 1))
    for results in found.values():
        np.testing.assert_allclose(results[-1]["ema"][0], wanted, rtol=1e-13)


def test_families_are_checked_and_clipped_together(tmp_path):
    text = heddle.emit("unscale:scale=8,dtype=f32/bf16+clip_by_global_norm+sgd:momentum=0.9", "foreach")
    assert text.count("foreach.reduce any along list") == 2
    graph = heddle.compile("unscale:scale=8,dtype=f32/f64+clip_by_global_norm+sgd", target="cpu").graph()
    lists = {"param_f32": np.ones(3, np.float32), "grad_f32": np.ones(3, np.float32),
             "param_f64": np.ones(3), "grad_f64": np.array([1.0, np.inf, 1.0])}
    for name, array in lists.items():
        graph.bind_list(name, [array])
    graph.replay()
    assert (lists["param_f32"] == 1).all() and (lists["param_f64"] == 1).all()
    lists["grad_f64"][1] = 1
    graph.replay()
    assert (lists["param_f32"] < 1).all() and (lists["param_f64"] < 1).all()


# Learning rates.

SCHEDULES = {
    "constant": lambda s: 1,
    "linear,schedule_steps=6,schedule_end=0.1": lambda s: 1 + (0.1 - 1) * min(s, 6) / 6,
    "cosine,schedule_steps=6,schedule_end=0.1": lambda s: 0.1 + 0.45 * (1 + np.cos(np.pi * min(s, 6) / 6)),
    "exponential,schedule_gamma=0.8": lambda s: 0.8**s,
    "step,schedule_steps=3,schedule_gamma=0.5": lambda s: 0.5 ** (s // 3),
    "wsd,schedule_steps=4,schedule_decay=3,schedule_end=0.2": lambda s: 1 - 0.8 * min(max(s - 4, 0) / 3, 1),
}


def rates(text, count, tmp_path, groups=False):
    """The learning rates of the first steps: SGD with gradients of -1 adds them."""
    text = program(text, "f64")
    params, grads = [np.zeros(3), np.zeros(1)], [[-np.ones(3), -np.ones(1)]] * count
    found = run(tmp_path, text, params, grads, {"lr": [np.array(1.0), np.array(0.25)]} if groups else None)
    for results in found.values():
        totals = np.array([[step["param"][0][0], step["param"][1][0]] for step in results])
        yield np.diff(totals, axis=0, prepend=np.zeros((1, 2)))


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("warmup", [0, 4])
def test_schedule(name, warmup, tmp_path):
    def wanted(s):
        return 0.25 + 0.75 * s / warmup if s < warmup else SCHEDULES[name](s - warmup)

    more = f",schedule_warmup={warmup},schedule_start=0.25" if warmup else ""
    for found in rates(f"sgd:lr=1,schedule={name}{more}", 14, tmp_path):
        np.testing.assert_allclose(found[:, 0], [wanted(s) for s in range(14)], rtol=1e-6, atol=1e-7)


def test_schedule_of_groups(tmp_path):
    for found in rates("sgd:groups=true,schedule=exponential,schedule_gamma=0.5", 5, tmp_path, groups=True):
        np.testing.assert_allclose(found[:, 0], 0.5 ** np.arange(5), rtol=1e-6)
        np.testing.assert_allclose(found[:, 1], 0.25 * 0.5 ** np.arange(5), rtol=1e-6)


def test_a_skipped_step_does_not_move_the_schedule(tmp_path):
    text = program("check_finite+sgd:lr=1,schedule=exponential,schedule_gamma=0.5", "f64")
    grads = [[-np.ones(3)], [np.array([-1, np.inf, -1])], [-np.ones(3)]]
    for results in run(tmp_path, text, [np.zeros(3)], grads).values():
        np.testing.assert_allclose([step["param"][0][0] for step in results], [1, 1, 1.5], rtol=1e-6)


def torch_schedules(torch):
    rate = torch.optim.lr_scheduler
    return {
        "cosine,schedule_steps=12,schedule_end=0.1": lambda o: rate.CosineAnnealingLR(o, 12, eta_min=0.1),
        "exponential,schedule_gamma=0.9": lambda o: rate.ExponentialLR(o, 0.9),
        "step,schedule_steps=3,schedule_gamma=0.5": lambda o: rate.StepLR(o, 3, 0.5),
        "linear,schedule_steps=8,schedule_end=0.1": lambda o: rate.LinearLR(o, 1.0, 0.1, 8),
        "one_cycle,schedule_steps=12,schedule_warmup=3.6,schedule_start=0.04,schedule_end=4e-6":
            lambda o: rate.OneCycleLR(o, 1.0, 12, cycle_momentum=False),
        "cosine,schedule_steps=8,schedule_warmup=4,schedule_start=0.25": lambda o: rate.SequentialLR(
            o, [rate.LinearLR(o, 0.25, 1.0, 4), rate.CosineAnnealingLR(o, 8)], [4]),
    }


@pytest.mark.parametrize("place", range(6))
def test_schedules_are_those_of_torch(place, tmp_path):
    torch = pytest.importorskip("torch")
    name, make = list(torch_schedules(torch).items())[place]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make(optimizer)
    wanted = []
    for _ in range(12):
        wanted.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    for found in rates(f"sgd:lr=1,schedule={name}", 12, tmp_path):
        np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-6, atol=1e-7)


# Traffic and errors.


def test_full_tail_is_two_sweeps():
    text = heddle.explain("unscale+clip_by_global_norm+adamw:ema=0.999,zero_grad=true", arch="sm_90")
    # Gradient twice; parameter, two moments and average read and written; gradient written.
    assert "2 sweeps" in text and "44.0 B per element" in text
    assert "copies" not in text


@pytest.mark.parametrize("text, message", [
    ("unscale:scale=0", "option 'scale' of 'unscale' expects a positive number"),
    ("unscale:scale=-2", "option 'scale' of 'unscale' expects a positive number"),
    ("unscale:scale=nan", "option 'scale' of 'unscale' expects a finite number in the range of f64"),
    ("unscale:check=false", "option 'dynamic=true' of 'unscale' needs 'check=true'"),
    ("unscale:growth_factor=1", "option 'growth_factor' of 'unscale'"),
    ("unscale:backoff_factor=1", "option 'backoff_factor' of 'unscale'"),
    ("unscale:growth_interval=0", "option 'growth_interval' of 'unscale'"),
    ("unscale:dtype=f16+adamw", "option 'dtype' of 'unscale'"),
    ("unscale+check_finite+adamw", "leave one of these programs out"),
    ("adamw+adamw", "found 'adamw' and 'adamw': leave one of these programs out, or give it lists of its own"),
    ("sgd:lists=a+adamw:lists=a", "updates 'param_a', found 'sgd:lists=a' and 'adamw:lists=a'"),
    ("sgd:lists=scale+unscale", "write 'unscale' before 'sgd:lists=scale'"),
    ("clip_by_global_norm+unscale+adamw", "write 'unscale' before 'clip_by_global_norm'"),
    ("clip_by_global_norm:max_norm=-1", "option 'max_norm' of 'clip_by_global_norm' expects a finite number from 0"),
    ("adamw:zero_grad=true+sgd", "found 'adamw:zero_grad=true' and 'sgd': leave one of these programs out"),
    ("sgd+clip_by_global_norm", "write 'clip_by_global_norm' before 'sgd'"),
    ("sgd+check_finite", "write 'check_finite' before 'sgd'"),
    ("clip_by_value:dtype=f32/bf16+sgd:dtype=f32", "give all programs the same 'dtype'"),
    ("average:count=0", "option 'count' of 'average'"),
    ("clip_by_value:max_value=-1", "option 'max_value' of 'clip_by_value'"),
    ("adamw:ema=1", "option 'ema' of 'adamw' expects a number from 0 to below 1"),
    ("adamw:schedule=cosine", "option 'schedule=cosine' needs 'schedule_steps'"),
    ("adamw:schedule=wsd,schedule_steps=3", "option 'schedule=wsd' needs 'schedule_decay'"),
    ("adamw:schedule=step,schedule_steps=3", "option 'schedule=step' needs 'schedule_gamma'"),
    ("adamw:schedule_gamma=0.5", "option 'schedule_gamma' does nothing with 'schedule=none'"),
    ("adamw:schedule=cosine,schedule_steps=2.5", "expects a whole number of 1 or more, found 2.5"),
    ("unscale:dynamic=false,growth_factor=3+adamw", "option 'growth_factor' of 'unscale' does nothing with"),
    ("unscale:dynamic=false,growth_interval=3+adamw", "option 'growth_interval' of 'unscale' does nothing with"),
    ("adamw:schedule=constant,schedule_start=0.5", "without 'schedule_warmup'"),
    ("adamw:schedule=one_cycle,schedule_warmup=5,schedule_steps=5", "option 'schedule_steps' of 'schedule=one_cycle'"),
    ("rprop:schedule=constant", "option 'schedule' does nothing in 'rprop'"),
    ("sgd_schedule_free:schedule=constant", "option 'schedule' has no place"),
])
def test_errors_name_the_option(text, message):
    with pytest.raises(heddle.errors.BadInput, match=re.escape(message)):
        heddle.emit(text, "foreach")
