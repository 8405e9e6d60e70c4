"""AdamW and SGD as rules are the programs of the library: in bytes, launches, source and bits."""

import json
import pathlib
import sys

import numpy
import pytest

import heddle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rule_runs import arrays, run  # noqa: E402


# The variables have the names of the library, so that even the source is the same text.
@heddle.rule
def adamw(param, grad, exp_avg, exp_avg_sq, *, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=1e-2):
    w1 = 1 - beta1
    w2 = 1 - beta2
    t = heddle.step()
    beta1_t = beta1**t
    bc1 = 1 - beta1_t
    beta2_t = beta2**t
    bc2 = 1 - beta2_t
    root = heddle.sqrt(bc2)
    rate = heddle.element(lr)
    shrink = rate * weight_decay
    decay = 1 - shrink
    decayed = param * decay
    gap = grad - exp_avg
    move = w1 * gap
    exp_avg1 = exp_avg + move
    kept = exp_avg_sq * beta2
    weighted = w2 * grad
    square = weighted * grad
    exp_avg_sq1 = kept + square
    deviation = heddle.sqrt(exp_avg_sq1)
    corrected = deviation / root
    denom = corrected + eps
    step_size = rate / bc1
    ratio = exp_avg1 / denom
    change = step_size * ratio
    return decayed - change, exp_avg1, exp_avg_sq1


@heddle.rule
def sgd(param, grad, momentum_buffer, *, lr=1e-3, momentum=0.9):
    kept = momentum_buffer * momentum
    momentum_buffer = kept + grad
    change = lr * momentum_buffer
    return param - change, momentum_buffer


@heddle.rule
def clip(p, g, *, lr=1e-3, max_norm=1.0):
    norm = heddle.norm(g, over="list")
    return p - lr * (g * heddle.minimum(max_norm / (norm + 1e-6), 1))


FORMS = ["", "groups=true", "dtype=f32/bf16", "dtype=f32/bf16/f16,groups=true", "dtype=bf16", "dtype=f64",
         "dtype=bf16,state=f32", "dtype=f32,state=bf16"]


def settings_of(form):
    settings = dict(part.split("=") for part in form.split(",") if part)
    return {name: value == "true" if name == "groups" else value for name, value in settings.items()}


def pairs(form):
    settings = settings_of(form)
    options = f"lr=0.01,{form}".rstrip(",")
    yield adamw, f"adamw:{options}", {"lr": 0.01, **settings}
    yield sgd, f"sgd:momentum=0.9,{options}", {"lr": 0.01, **settings}


@pytest.mark.parametrize("form", FORMS)
def test_bits_bytes_and_launches(form):
    dtypes = settings_of(form).get("dtype", "f32").split("/")
    suffixes = [""] if len(dtypes) == 1 else [f"_{dtype}" for dtype in dtypes]
    params = {f"param{suffix}": arrays(1, dtype) for suffix, dtype in zip(suffixes, dtypes)}
    gradients = [{f"grad{suffix}": arrays(seed, dtype, scale=3.0) for suffix, dtype in zip(suffixes, dtypes)}
                 for seed in range(2, 9)]
    for rule, standard, settings in pairs(form):
        explained, expected = rule.explain(json=True, **settings), heddle.explain(standard, json=True)
        for key in ("launches", "sweeps", "bytes_per_element", "bytes_per_element_unfused"):
            assert explained[key] == expected[key], (standard, key)
        found = run(rule.compile(target="cpu", **settings), params, gradients)
        wanted = run(heddle.compile(standard, target="cpu"), params, gradients)
        assert found.keys() == wanted.keys()
        for name in wanted:
            for one, other in zip(found[name], wanted[name]):
                assert one.tobytes() == other.tobytes(), (standard, name)
        changed = found["param" + suffixes[0]][0] != params["param" + suffixes[0]][0]
        assert changed.any()


@pytest.mark.parametrize("form", FORMS)
def test_the_source_is_the_same_text(form):
    settings = settings_of(form)
    options = f":{form}" if form else ""
    assert adamw.emit("cuda", **settings) == heddle.emit(f"adamw{options}", "cuda")
    assert json.loads(adamw.emit("plan", **settings)) == json.loads(heddle.emit(f"adamw{options}", "plan"))


def test_written_as_in_a_textbook_the_traffic_is_the_same():
    """Without heddle.element, lr * weight_decay and lr / bc1 are in double: as accurate, other bits."""

    @heddle.rule
    def plain(p, g, m, v, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        beta1, beta2 = betas
        t = heddle.step()
        p = p * (1 - lr * weight_decay)
        m = m + (1 - beta1) * (g - m)
        v = v * beta2 + (1 - beta2) * g * g
        denom = heddle.sqrt(v) / heddle.sqrt(1 - beta2**t) + eps
        return p - lr / (1 - beta1**t) * (m / denom), m, v

    explained, expected = plain.explain(json=True), heddle.explain("adamw", json=True)
    for key in ("launches", "sweeps", "bytes_per_element"):
        assert explained[key] == expected[key]
    params, gradients = {"param": arrays(1)}, [{"grad": arrays(seed)} for seed in range(2, 9)]
    found = run(plain.compile(target="cpu"), params, gradients)
    wanted = run(heddle.compile("adamw", target="cpu"), params, gradients)
    for one, other in zip(found["param"], wanted["param"]):
        numpy.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
    assert all((one == other).all() for one, other in zip(found["m"], wanted["exp_avg"]))


def test_clipping_is_that_of_the_library():
    explained = clip.explain(json=True)
    expected = heddle.explain("clip_by_global_norm+sgd", json=True)
    for key in ("launches", "bytes_per_element"):
        assert explained[key] == expected[key]
    for dtype in ("f32", "f64", "bf16"):
        params, gradients = {"param": arrays(1, dtype)}, [{"grad": arrays(seed, dtype)} for seed in (2, 3)]
        found = run(clip.compile(target="cpu", dtype=dtype), params, gradients)
        standard = f"clip_by_global_norm:dtype={dtype}+sgd:dtype={dtype}"
        wanted = run(heddle.compile(standard, target="cpu"), params, gradients)
        for one, other in zip(found["param"], wanted["param"]):
            if dtype != "bf16":
                assert one.tobytes() == other.tobytes()
            else:  # the composition rounds clipped gradients to bf16
                numpy.testing.assert_allclose(one.astype("f4"), other.astype("f4"), rtol=2**-7, atol=1e-6)
