"""Published optimizers as rules, on the cpu target against their formulas in NumPy."""

import pathlib
import sys

import numpy
import pytest

import heddle
from heddle import dtypes

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rule_runs import SHAPES, arrays, bind, run  # noqa: E402

STEPS = 7


@heddle.rule
def momentum(p, g, m, *, lr=0.05, mu=0.9, nesterov=False):
    m = mu * m + g
    return p - lr * (g + mu * m if nesterov else m), m


@heddle.rule
def lion(p, g, m, *, lr=1e-2, b1=0.9, b2=0.99, wd=0.1):
    u = heddle.sign(b1 * m + (1 - b1) * g)
    return p * (1 - lr * wd) - lr * u, b2 * m + (1 - b2) * g


@heddle.rule
def adan(p, g, m, v, n, before, *, lr=1e-2, b1=0.98, b2=0.92, b3=0.99, eps=1e-8, wd=0.02):
    t = heddle.step()
    change = heddle.where(t == 1, 0.0, g - before)
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * change
    n = b3 * n + (1 - b3) * (g + b2 * change) ** 2
    root = heddle.sqrt(n / (1 - b3**t)) + eps
    update = (m / (1 - b1**t) + b2 * v / (1 - b2**t)) / root
    return (p - lr * update) / (1 + lr * wd), m, v, n, g


@heddle.rule
def lamb(p, g, m, v, *, lr=1e-2, betas=(0.9, 0.999), eps=1e-6, wd=0.01):
    b1, b2 = betas
    t = heddle.step()
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    u = m / (1 - b1**t) / (heddle.sqrt(v / (1 - b2**t)) + eps) + wd * p
    weight, update = heddle.norm(p), heddle.norm(u)
    trust = heddle.where((weight > 0) & (update > 0), weight / update, 1.0)
    return p - lr * trust * u, m, v


@heddle.rule
def adabelief(p, g, m, s, *, lr=1e-2, b1=0.9, b2=0.999, eps=1e-10):
    t = heddle.step()
    m = b1 * m + (1 - b1) * g
    s = b2 * s + (1 - b2) * (g - m) ** 2 + eps
    return p - lr * (m / (1 - b1**t)) / (heddle.sqrt(s / (1 - b2**t)) + eps), m, s


@heddle.rule
def adagrad(p, g, total=0.1, *, lr=1e-2, decay=0.01, eps=1e-10):
    total = total + g * g
    return p - lr / (1 + (heddle.step() - 1) * decay) * g / (heddle.sqrt(total) + eps), total


@heddle.rule
def rmsprop(p, g, v, mean, *, lr=1e-2, alpha=0.99, eps=1e-8, centered=True):
    v = alpha * v + (1 - alpha) * g * g
    mean = heddle.where(True, mean + (1 - alpha) * (g - mean), mean)
    spread = v - mean * mean if centered else v
    return p - lr * g / (heddle.sqrt(heddle.maximum(spread, 0)) + eps), v, mean


@heddle.rule
def nadam(p, g, m, v, *, lr=1e-2, b1=0.9, b2=0.999, eps=1e-8, skip=False):
    """Nesterov's Adam with a constant momentum; leaves out elements whose gradient is not finite."""
    t = heddle.step()
    good = heddle.isfinite(g) & (abs(g) < 1e10)
    g = heddle.where(good, g, 0.0)
    m1, v1 = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    ahead = b1 * m1 / (1 - b1 ** (t + 1)) + (1 - b1) * g / (1 - b1**t)
    p1 = p - lr * ahead / (heddle.sqrt(v1 / (1 - b2**t)) + eps)
    if skip:
        return heddle.where(good, p1, p), heddle.where(good, m1, m), heddle.where(good, v1, v)
    return p1, m1, v1


@heddle.rule
def clipped(p, g, m, *, lr=0.05, mu=0.9, most=1.0):
    g = g * heddle.minimum(most / (heddle.norm(g, over="list") + 1e-6), 1.0)
    m = mu * m + g
    return p - lr * m, m


@heddle.rule
def adaptive(p, g, m, size=heddle.per_tensor(0.01), count=heddle.per_tensor(), *, b=0.9, grow=1.1):
    """Momentum with a step size for each tensor, which grows while gradients agree with the momentum."""
    agrees = heddle.sum(g * m) >= 0
    new = heddle.where(agrees, size * grow, size / grow)
    m = b * m + (1 - b) * g
    return p - new * m, m, new, count + heddle.where(agrees, 1, 0)


# --- the formulas, in double, for one tensor --------------------------------------------------------------------------


def momentum_formula(p, g, state, t, members, lr=0.05, mu=0.9, nesterov=False):
    m = mu * state.get("m", 0) + g
    return p - lr * (g + mu * m if nesterov else m), {"m": m}


def lion_formula(p, g, state, t, members, lr=1e-2, b1=0.9, b2=0.99, wd=0.1):
    m = state.get("m", numpy.zeros_like(p))
    return p * (1 - lr * wd) - lr * numpy.sign(b1 * m + (1 - b1) * g), {"m": b2 * m + (1 - b2) * g}


def adan_formula(p, g, state, t, members, lr=1e-2, b1=0.98, b2=0.92, b3=0.99, eps=1e-8, wd=0.02):
    m, v, n = (state.get(name, 0) for name in "mvn")
    d = g - state["before"] if t > 1 else 0 * g
    m, v, n = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * d, b3 * n + (1 - b3) * (g + b2 * d) ** 2
    update = (m / (1 - b1**t) + b2 * v / (1 - b2**t)) / (numpy.sqrt(n / (1 - b3**t)) + eps)
    return (p - lr * update) / (1 + lr * wd), {"m": m, "v": v, "n": n, "before": g}


def lamb_formula(p, g, state, t, members, lr=1e-2, betas=(0.9, 0.999), eps=1e-6, wd=0.01):
    b1, b2 = betas
    m, v = b1 * state.get("m", 0) + (1 - b1) * g, b2 * state.get("v", 0) + (1 - b2) * g**2
    u = m / (1 - b1**t) / (numpy.sqrt(v / (1 - b2**t)) + eps) + wd * p
    weight, update = numpy.linalg.norm(p.ravel()), numpy.linalg.norm(u.ravel())
    return p - lr * (weight / update if weight > 0 and update > 0 else 1) * u, {"m": m, "v": v}


def adabelief_formula(p, g, state, t, members, lr=1e-2, b1=0.9, b2=0.999, eps=1e-10):
    m = b1 * state.get("m", 0) + (1 - b1) * g
    s = b2 * state.get("s", 0) + (1 - b2) * (g - m) ** 2 + eps
    return p - lr * (m / (1 - b1**t)) / (numpy.sqrt(s / (1 - b2**t)) + eps), {"m": m, "s": s}


def adagrad_formula(p, g, state, t, members, lr=1e-2, decay=0.01, eps=1e-10):
    total = state.get("total", 0.1) + g * g
    return p - lr / (1 + (t - 1) * decay) * g / (numpy.sqrt(total) + eps), {"total": total}


def rmsprop_formula(p, g, state, t, members, lr=1e-2, alpha=0.99, eps=1e-8, centered=True):
    v, mean = alpha * state.get("v", 0) + (1 - alpha) * g * g, alpha * state.get("mean", 0) + (1 - alpha) * g
    spread = numpy.maximum(v - mean**2, 0) if centered else v
    return p - lr * g / (numpy.sqrt(spread) + eps), {"v": v, "mean": mean}


def nadam_formula(p, g, state, t, members, lr=1e-2, b1=0.9, b2=0.999, eps=1e-8, skip=False):
    m, v = b1 * state.get("m", 0) + (1 - b1) * g, b2 * state.get("v", 0) + (1 - b2) * g * g
    ahead = b1 * m / (1 - b1 ** (t + 1)) + (1 - b1) * g / (1 - b1**t)
    return p - lr * ahead / (numpy.sqrt(v / (1 - b2**t)) + eps), {"m": m, "v": v}


def clipped_formula(p, g, state, t, members, lr=0.05, mu=0.9, most=1.0):
    norm = numpy.sqrt(sum(float((each * each).sum()) for each in members))
    m = mu * state.get("m", 0) + g * min(most / (norm + 1e-6), 1)
    return p - lr * m, {"m": m}


def adaptive_formula(p, g, state, t, members, b=0.9, grow=1.1):
    m, size = state.get("m", numpy.zeros_like(p)), float(state.get("size", numpy.float32(0.01)))
    agrees = (g * m).sum() >= 0
    new = size * grow if agrees else size / grow
    m = b * m + (1 - b) * g
    return p - new * m, {"m": m, "size": numpy.float32(new), "count": state.get("count", 0) + agrees}


#: The rule, its formula, the settings to test, launches per step, and bytes per element in f32.
CASES = {
    "momentum": (momentum, momentum_formula, {}, 1, 20),
    "nesterov": (momentum, momentum_formula, {"nesterov": True}, 1, 20),
    "lion": (lion, lion_formula, {}, 1, 20),
    "adan": (adan, adan_formula, {}, 1, 44),
    "lamb": (lamb, lamb_formula, {}, 3, 40),
    "adabelief": (adabelief, adabelief_formula, {}, 1, 28),
    "adagrad": (adagrad, adagrad_formula, {}, 1, 20),
    "rmsprop": (rmsprop, rmsprop_formula, {}, 1, 28),
    "not centered": (rmsprop, rmsprop_formula, {"centered": False}, 1, 28),
    "nadam": (nadam, nadam_formula, {}, 1, 28),
    "skipping": (nadam, nadam_formula, {"skip": True}, 1, 28),
    "clipped": (clipped, clipped_formula, {}, 3, 24),
    "adaptive": (adaptive, adaptive_formula, {}, 3, 28),
}


def expected(formula, params, gradients, settings):
    """The parameters and states of all members after all steps, in double."""
    params, states = [param.astype("f8") for param in params], [{} for _ in params]
    for t, step in enumerate(gradients, 1):
        grads = [grad.astype("f8") for grad in step]
        for k, grad in enumerate(grads):
            chosen = {name: value[k] if isinstance(value, list) else value for name, value in settings.items()}
            params[k], states[k] = formula(params[k], grad, states[k], t, grads, **chosen)
    return params, states


# Parameters move by about `lr` a step in every rule, and states are averages of gradients: errors are a few ulp of 1,
# and of the largest value. A sign of Lion could differ if a rounded sum has the other sign; the seeds have none.
TOLERANCES = {"f64": 1e-12, "f32": 3e-6}


def assert_near(found, wanted, dtype):
    tolerance = TOLERANCES[dtype]
    numpy.testing.assert_allclose(found.astype("f8"), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", CASES)
def test_formulas(name, dtype):
    rule, formula, settings, launches, size = CASES[name]
    params, gradients = arrays(1, dtype), [arrays(seed, dtype) for seed in range(2, 2 + STEPS)]
    found = run(rule.compile(target="cpu", dtype=dtype, **settings), {"param": params},
                [{"grad": step} for step in gradients])
    wanted, states = expected(formula, params, gradients, settings)
    for k, param in enumerate(wanted):
        assert_near(found["param"][k], param, dtype)
        for key, value in states[k].items():
            assert_near(found[key][k], value, dtype)
    if "step" in found:
        assert all(count == STEPS for count in found["step"])
    explained = rule.explain(json=True, dtype=dtype, **settings)
    assert explained["launches"] == launches
    assert explained["bytes_per_element"] == size * (2 if dtype == "f64" else 1)


@pytest.mark.parametrize("name", CASES)
def test_groups(name):
    """Every hyperparameter has one value for each tensor."""
    rule, formula, settings, launches, _ = CASES[name]
    executable = rule.compile(target="cpu", dtype="f64", groups=True, **settings)
    hypers = {info.name: executable.initial_values()[info.name] for info in executable.arguments.values()
              if info.rank == 0 and info.dtype == "f64"}
    values, chosen = {}, dict(settings)
    for info, default in hypers.items():
        numbers = [default * (1 - 0.01 * k) for k in range(len(SHAPES))]
        values[info] = [numpy.asarray(number) for number in numbers]
        key, _, place = info.partition("_")
        if place:
            chosen[key] = [(*pair[: int(place)], number, *pair[int(place) + 1 :])
                           for pair, number in zip(chosen.get(key, [(0.0, 0.0)] * len(SHAPES)), numbers)]
        else:
            chosen[info] = numbers
    params, gradients = arrays(1, "f64"), [arrays(seed, "f64") for seed in range(2, 2 + STEPS)]
    found = run(executable, {"param": params}, [{"grad": step} for step in gradients], values=values)
    wanted, states = expected(formula, params, gradients, chosen)
    for k, param in enumerate(wanted):
        assert_near(found["param"][k], param, "f64")
        for key, value in states[k].items():
            assert_near(found[key][k], value, "f64")
    assert rule.explain(json=True, groups=True, **settings)["launches"] == launches


@pytest.mark.parametrize("name", ["momentum", "adabelief", "lamb", "clipped", "adaptive"])
def test_families_and_rounded_state(name):
    """Two families: reductions over the list cover both. bf16 rounds each step to 8 bits."""
    rule, formula, settings, launches, _ = CASES[name]
    executable = rule.compile(target="cpu", dtype="f64/bf16", state="f32", **settings)
    params = {"param_f64": arrays(1, "f64"), "param_bf16": arrays(2, "bf16", SHAPES[:3])}
    gradients = [{"grad_f64": arrays(seed, "f64"), "grad_bf16": arrays(seed + 50, "bf16", SHAPES[:3])}
                 for seed in range(3, 6)]
    found = run(executable, params, gradients)
    together = [[*step["grad_f64"], *step["grad_bf16"]] for step in gradients]
    wanted, states = expected(formula, [*params["param_f64"], *params["param_bf16"]], together, settings)
    results = [*found["param_f64"], *found["param_bf16"]]
    for k, param in enumerate(wanted):
        is_double = k < len(SHAPES)
        tolerance = 1e-6 if is_double else 2**-7
        numpy.testing.assert_allclose(results[k].astype("f8"), param, rtol=tolerance, atol=tolerance)
        for key, value in states[k].items():
            suffix, member = ("_f64", k) if is_double else ("_bf16", k - len(SHAPES))
            assert found[key + suffix][member].dtype == "float32"
            if is_double:  # those of bf16 follow the rounded parameters in LAMB
                numpy.testing.assert_allclose(found[key + suffix][member], value, rtol=1e-5, atol=1e-6)
    assert rule.explain(json=True, dtype="f64/bf16", state="f32", **settings)["launches"] == launches


def test_not_a_number_in_norms():
    @heddle.rule
    def rule(p, g, *, lr=1.0):
        return p - lr * g / heddle.norm(g)

    params = [numpy.ones(3), numpy.ones(2), numpy.ones(0)]
    grads = [numpy.array([3, 4, numpy.nan]), numpy.array([3.0, 4]), numpy.ones(0)]
    found = run(rule.compile(target="cpu", dtype="f64"), {"param": params}, [{"grad": grads}])["param"]
    assert numpy.isnan(found[0]).all()
    numpy.testing.assert_allclose(found[1], [0.4, 0.2])


def test_reductions_of_tensors_and_lists():
    """Over tensors with elements and without, and over the list of values of tensors."""

    @heddle.rule
    def rule(p, g, a, b, c, d, e, f, h):
        norms = heddle.norm(g)
        largest = heddle.amax(norms, over="list")
        return (g / largest, heddle.sum(g), heddle.mean(g), heddle.norm(norms, over="list"),
                heddle.mean(norms, over="list"), heddle.where(heddle.any(g > 2.5), 1, 0),
                heddle.where(heddle.all(g < 2.5, over="list"), 1, 0), heddle.sum(heddle.step(), over="list"))

    # Broadcast values are read in the parameters' shape.
    shapes = ((5,), (3, 3), (0,), (40,))
    params, grads = arrays(1, "f64", shapes), arrays(2, "f64", shapes)
    for groups in (False, True):
        found = run(rule.compile(target="cpu", dtype="f64", groups=groups), {"param": params}, [{"grad": grads}])
        norms = [numpy.linalg.norm(grad.ravel()) for grad in grads]
        for k, grad in enumerate(grads):
            if not grad.size:
                continue
            wanted = {"a": grad.sum(), "b": grad.mean(), "c": numpy.linalg.norm(norms), "d": numpy.mean(norms),
                      "e": float((grad > 2.5).any()), "f": float(all((each < 2.5).all() for each in grads)), "h": 4}
            numpy.testing.assert_allclose(found["param"][k], grad / max(norms), rtol=1e-14)
            for key, value in wanted.items():
                numpy.testing.assert_allclose(found[key][k], numpy.full(grad.shape, value), rtol=1e-13)


def test_reductions_over_lists_of_two_families():
    @heddle.rule
    def rule(p, g, a, b, c, d, e, f):
        return (p - g, heddle.sum(g, over="list"), heddle.mean(g, "list"), heddle.amax(g, over="list"),
                heddle.amin(heddle.norm(g), "list"), heddle.where(heddle.any(g > 4, over="list"), 1, 0),
                heddle.where(heddle.all(g < 4, over="list"), 1, 0))

    executable = rule.compile(target="cpu", dtype="f64/f32", state="f64")
    for place in ("grad_f64", "grad_f32", None):
        params = {"param_f64": arrays(1, "f64"), "param_f32": arrays(2)}
        grads = {"grad_f64": arrays(3, "f64"), "grad_f32": arrays(4)}
        if place:
            grads[place][0][0, 0] = 5.0  # the largest is in one of the families
        found = run(executable, params, [grads])
        together = [grad.astype("f8") for family in grads.values() for grad in family]
        flat = numpy.concatenate([grad.ravel() for grad in together])
        wanted = {"a": flat.sum(), "b": flat.mean(), "c": flat.max(),
                  "d": min(numpy.linalg.norm(grad.ravel()) for grad in together),
                  "e": float(place is not None), "f": float(place is None)}
        for dtype in ("f64", "f32"):
            for key, value in wanted.items():
                for member in found[f"{key}_{dtype}"]:
                    # f32 elements round the value of the list to f32
                    numpy.testing.assert_allclose(member, value, rtol=1e-12 if dtype == "f64" else 1e-6, atol=1e-12)


def test_inactive_members_keep_their_values():
    """A member without a gradient in a step: parameter, state and step counter keep their values."""
    executable = lamb.compile(target="cpu")
    params = {"param": arrays(1)}
    graph, lists = bind(executable, params)
    graph.bind_list("grad", arrays(2))
    graph.set_inactive("param", [k == 2 for k in range(len(SHAPES))])
    graph.replay()
    graph.synchronize()
    assert [int(step) for step in lists["step"]] == [1, 1, 0, 1, 1, 1]
    assert (lists["param"][2] == params["param"][2]).all() and not lists["m"][2].any()
    assert (lists["param"][0] != params["param"][0]).all()


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_half_precision_computes_in_single(dtype):
    """One step from values that the type represents: the result is that of single precision, rounded once."""
    params, grads = arrays(1, dtype), arrays(2, dtype)
    half = run(momentum.compile(target="cpu", dtype=dtype), {"param": params}, [{"grad": grads}])
    single = run(momentum.compile(target="cpu"), {"param": [each.astype("f4") for each in params]},
                 [{"grad": [each.astype("f4") for each in grads]}])
    for one, other in zip(half["param"], single["param"]):
        assert (one == other.astype(dtypes.numpy_dtype(dtype))).all()


@pytest.mark.parametrize("name", ["adan", "lamb", "skipping", "adaptive"])
def test_kernels_compile(name):
    """NVRTC takes the source: flags of tensors and elements, powers, norms, half precision and groups."""
    if not heddle.doctor()["nvrtc"]["ok"]:
        pytest.skip("there is no NVRTC")
    rule, _, settings, _, _ = CASES[name]
    assert len(rule.emit("cubin", arch="sm_90", dtype="f32/bf16", groups=True, **settings)) > 1000
