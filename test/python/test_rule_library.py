"""AdamW and SGD as rules are the programs of the library: in bytes, launches, source and bits."""

import json
import pathlib
import sys

import numpy
import pytest

import heddle

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rule_runs import arrays, run  # noqa: E402


# The variables have the names of the library, so that even the source is the same text.
@heddle.rule
def adamw(param, grad, exp_avg, exp_avg_sq, *, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=1e-2):
    rate, t = heddle.element(lr), heddle.step()
    one_minus_beta1 = 1 - beta1
    one_minus_beta2 = 1 - beta2
    beta1_t = beta1**t
    one_minus_beta1_t = 1 - beta1_t
    beta2_t = beta2**t
    one_minus_beta2_t = 1 - beta2_t
    param_factor = 1 - rate * weight_decay
    product_1 = param * param_factor
    exp_avg_change = one_minus_beta1 * (grad - exp_avg)
    exp_avg = exp_avg + exp_avg_change
    exp_avg_sq = exp_avg_sq * beta2 + one_minus_beta2 * grad * grad
    step_size = rate / one_minus_beta1_t
    denom = heddle.sqrt(exp_avg_sq) / heddle.sqrt(one_minus_beta2_t) + eps
    param_change = step_size * (exp_avg / denom)
    return product_1 - param_change, exp_avg, exp_avg_sq


@heddle.rule
def sgd(param, grad, momentum_buffer, *, lr=1e-3, momentum=0.9):
    kept = momentum_buffer * momentum
    momentum_buffer = kept + grad
    param_change = lr * momentum_buffer
    return param - param_change, momentum_buffer


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


def test_adamw_by_the_builder_as_a_rule_and_as_text():
    """The text is written by hand; its values have other names."""
    text = (ROOT / "examples/adamw/adamw.mlir").read_text()
    programs = ["adamw", adamw.mlir(), text]
    explained = [heddle.explain(program, json=True) for program in programs]
    params, gradients = {"param": arrays(1)}, [{"grad": arrays(seed, scale=3.0)} for seed in range(2, 9)]
    found = [run(heddle.compile(program, target="cpu"), params, gradients) for program in programs]
    for other, lists in zip(explained[1:], found[1:]):
        for key in ("launches", "sweeps", "bytes_per_element", "bytes_per_element_unfused"):
            assert other[key] == explained[0][key], key
        for name in ("param", "exp_avg", "exp_avg_sq", "step"):
            assert [one.tobytes() for one in lists[name]] == [one.tobytes() for one in found[0][name]], name
    assert (found[0]["param"][0] != params["param"][0]).any()


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
