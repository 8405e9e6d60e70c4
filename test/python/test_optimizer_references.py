"""Standard optimizers against formulas in NumPy, in every executor: the interpreter, the cpu target (fused and not), and the
executed CUDA source. 100 steps with zeros, denormals, huge and non-finite gradients, for every pair of options."""

import itertools
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import heddle

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = pathlib.Path(heddle.doctor()["library"]["path"]).parents[1] / "bin" / "heddle_run_everywhere"
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from optimizer_references import REFERENCES  # noqa: E402

pytestmark = pytest.mark.skipif(not RUNNER.exists(), reason="needs a build of heddle_run_everywhere")

STEPS = 100
SIZES = (7, 0, 1, 33)
FLAGS = {"maximize": [False, True]}


def pairs(options):
    """Choices of options that have every pair of values of two options."""
    names = list(options)
    missing = {frozenset(each) for a, b in itertools.combinations(names, 2)
               for each in itertools.product(((a, x) for x in options[a]), ((b, x) for x in options[b]))}
    while missing:
        def covers(values):
            return sum(pair <= set(zip(names, values)) for pair in missing)

        best = max(itertools.product(*options.values()), key=covers)
        missing = {pair for pair in missing if not pair <= set(zip(names, best))}
        yield dict(zip(names, best))


CASES = [
    pytest.param(name, options, id=f"{name}-{k}")
    for name, (_, _, known) in REFERENCES.items()
    for k, options in enumerate(pairs({**known, **FLAGS}))
]


def text_of(name, options, dtype):
    words = [f"{key}={str(value).lower()}" for key, value in options.items()]
    return heddle.emit(f"{name}:" + ",".join([*words, f"dtype={dtype}"]), "foreach")


def arguments_of(text):
    """The lists of a program with their attributes, and the names of the lists that its results replace."""
    head = re.search(r"func\.func @\w+\((.*?)\) -> ", text, re.S)[1]
    found = dict(re.findall(r"%(\w+): (?:![\w.<>?]+|tensor<\w+>)((?: \{[^}]*\})?)", head))
    numbers = {name: dict(re.findall(r"foreach\.(\w+) = (\S+) :", each)) for name, each in found.items()}
    donated = sorted((int(each["donate"]), name) for name, each in numbers.items() if "donate" in each)
    return numbers, [name for _, name in donated]


def gradients(dtype, special):
    """The gradients of all steps, each one array for each tensor."""
    rng = np.random.default_rng(5)
    tiny, huge = (1e-40, 1e30) if dtype == np.float32 else (1e-310, 1e200)
    for step in range(STEPS):
        members = [rng.standard_normal(size).astype(dtype) for size in SIZES]
        if special:
            row = members[-1]
            row[:9] = [0, -0.0, tiny, -tiny, huge, -huge, 0 if step % 2 else 1, 1 if step % 7 else huge, row[8]]
            if step >= 30:
                row[9:13] = [np.inf, -np.inf, np.nan, row[12] if step % 5 else np.inf]
        yield members


def as_json(array):
    return [float(x) if np.isfinite(x) else str(float(x)) for x in array.ravel()]


def run(tmp_path, text, first, grads):
    """The results of every executor and step."""
    def listed(arrays):
        return [[list(array.shape), as_json(array)] for array in arrays]

    steps = [{"lists": {"grad": listed(members)}, "scalars": {}} for members in grads]
    steps[0]["lists"].update({name: listed(arrays) for name, arrays in first["lists"].items()})
    steps[0]["scalars"] = first["scalars"]
    path = tmp_path / "program.mlir"
    path.write_text(text)
    done = subprocess.run([RUNNER, path], input=json.dumps({"steps": steps}), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return json.loads(done.stdout)


def steps_of(name, options, dtype, params, grads):
    """The arrays of each tensor after each step of the formula."""
    formula, states, _ = REFERENCES[name]
    o = {"decoupled": False, "amsgrad": False, **options}
    members = []
    for param in params:
        x = {"param": param.copy()}
        for state, initial in states.items():
            initial = float(np.float32(o[initial])) if initial == "lr" and state == "eta" else o.get(initial, initial)
            x[state] = initial if state in ("eta", "mu", "mu_product") else np.full_like(param, initial)
        members.append(x)
    for t, step in enumerate(grads, 1):
        for x, g in zip(members, step):
            formula(x, -g if o["maximize"] else g, t, o)
            x["step"] = t
        yield members


def check(name, options, dtype, special, tmp_path):
    kind = {"f32": np.float32, "f64": np.float64}[dtype]
    text = text_of(name, options, dtype)
    lists, donated = arguments_of(text)
    params = [np.random.default_rng(3).standard_normal(size).astype(kind) for size in SIZES]
    grads = list(gradients(kind, special))
    first = {"lists": {"param": params}, "scalars": {}}
    for each, attributes in lists.items():
        if "default" in attributes:
            first["scalars"][each] = float(attributes["default"])
        elif "initial" in attributes:
            is_one = each in ("step", "eta", "mu", "mu_product")
            value = float(attributes["initial"])
            first["lists"][each] = [np.full(() if is_one else p.shape, value, kind) for p in params]
    results = run(tmp_path, text, first, grads)
    assert {"interpreter", "cpu", "cpu, not fused"} < set(results), "the CUDA source did not run"
    if dtype == "f32" and special:
        del results["interpreter"]  # it computes in double, which overflows later
    with np.errstate(all="ignore"):
        for step, members in enumerate(steps_of(name, options, kind, params, grads)):
            for executor, found in results.items():
                tolerance = 3e-4 if dtype == "f32" else 1e-11
                if executor == "interpreter" and name == "nadam":
                    tolerance = 1e-5  # the interpreter does not round inside of a map
                for list_name, values in zip(donated, found[step], strict=True):
                    for x, value in zip(members, values, strict=True):
                        wanted, value = np.float64(x[list_name]).ravel(), np.float64(value)
                        np.testing.assert_allclose(
                            value, wanted, rtol=tolerance, atol=tolerance * 0.1, equal_nan=True,
                            err_msg=f"{executor}, step {step + 1}, {list_name}")


@pytest.mark.parametrize("name, options", CASES)
def test_special_gradients(name, options, tmp_path):
    check(name, options, "f64", True, tmp_path)


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("special", [False, True])
def test_single_precision(name, special, tmp_path):
    options = {key: values[-1] for key, values in {**REFERENCES[name][2], **FLAGS}.items()}
    check(name, options, "f32", special, tmp_path)


def test_every_pair_of_options_is_there():
    chosen = list(pairs({"a": [0, 1], "b": [0, 1], "c": [0, 1, 2]}))
    for a, b in ("ab", "ac", "bc"):
        assert len({(each[a], each[b]) for each in chosen}) == (4 if b == "b" else 6)
