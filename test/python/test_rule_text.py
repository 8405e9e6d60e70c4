"""The text of rules: foreach IR, levels, options, names, constants, numbers, and the import."""

import copy
import math
import os
import pathlib
import pickle
import re
import subprocess
import sys

import numpy
import pytest

import heddle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rule_runs import arrays, run  # noqa: E402


@heddle.rule
def lion(p, g, m, *, lr=1e-4, b1=0.9, b2=0.99, wd=0.0):
    """Evolved sign momentum."""
    u = heddle.sign(b1 * m + (1 - b1) * g)
    return p * (1 - lr * wd) - lr * u, b2 * m + (1 - b2) * g


def maps(text):
    """The bodies of the maps and reductions: their result types and their operations with types."""
    found = []
    for head, body in re.findall(r"foreach\.(?:map|reduce)[^\n]* -> ([^{]+) \{\n(.*?)\n  \}", text, re.S):
        found.append((head, re.findall(r"= ([\w.]+)[^\n]* : (\w+)\n", body)))
    return found


def test_lion():
    text = lion.mlir()
    # Lists are donated to the results that replace them; hyperparameters are doubles with defaults.
    assert "func.func @lion(" in text
    assert "%param: !list {foreach.donate = 0 : i64}," in text
    assert "%grad: !list," in text
    assert "%m: !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32}," in text
    assert "%lr: tensor<f64> {foreach.default = 0.0001 : f64}," in text
    assert text.index("%lr:") < text.index("%b1:") < text.index("%b2:") < text.index("%wd:")
    assert "%step" not in text
    # One map over hyperparameters in double, one over elements in single precision.
    (first, scalars), (second, elements) = maps(text)
    assert first == "(tensor<f64>, tensor<f64>, tensor<f64>)" and second == "(!list, !list)"
    assert {dtype for _, dtype in scalars} == {"f64"} and {dtype for _, dtype in elements} == {"f32"}
    assert sorted(op for op, _ in scalars) == ["arith.constant", "arith.mulf", *["arith.subf"] * 3]
    assert sorted(op for op, _ in elements) == ["arith.addf"] * 2 + ["arith.mulf"] * 6 + ["arith.subf", "foreach.sign"]
    # Variables of the user name the values.
    assert "%u = foreach.sign" in text and "%p1 = arith.subf" in text and "%m1 = arith.addf" in text
    assert heddle.emit(text, "foreach") == lion.emit("foreach")
    assert list(lion.compile(target="cpu").arguments) == ["param", "grad", "m", "lr", "b1", "b2", "wd"]


def test_explain():
    text = lion.explain(shapes=[[1000, 1000]])
    assert "lion: 1 kernel, 1 sweep, 1 launch per step" in text and "20.0 B per element" in text
    assert lion.explain(json=True)["launches"] == 1


def test_the_rule_is_an_object_with_the_function_inside():
    executable = lion.compile(target="cpu")
    assert "of 'lion' for cpu" in repr(executable) and "of 'lion'" in repr(executable.graph())
    assert lion.name == "lion" and lion.__doc__ == "Evolved sign momentum." and repr(lion) == "<heddle.Rule lion>"
    assert lion.function.__name__ == "lion" and lion.__wrapped__ is lion.function
    assert isinstance(lion, heddle.Rule) and not isinstance(1, lion)


def test_a_rule_may_call_the_function_of_another():
    @heddle.rule
    def halved(p, g, m, *, lr=1e-4):
        new, m = lion.function(p, g, m, lr=lr, b1=0.9, b2=0.99, wd=0.0)
        return p + 0.5 * (new - p), m

    params, grads = {"param": arrays(1, "f64")}, [{"grad": arrays(2, "f64")}]
    whole = run(lion.compile(target="cpu", dtype="f64", lr=0.25), params, grads)["param"]
    half = run(halved.compile(target="cpu", dtype="f64", lr=0.25), params, grads)["param"]
    for before, one, other in zip(params["param"], whole, half):
        numpy.testing.assert_allclose(other - before, 0.5 * (one - before), atol=1e-15)


def test_equal_values_are_computed_once():
    @heddle.rule
    def rule(p, g, *, lr=0.1, b=0.9):
        return p - lr * (1 - b) * g - lr * (1 - b) * g * heddle.exp(g) / heddle.exp(g)

    text = rule.mlir()
    assert text.count("math.exp") == 1 and text.count("arith.subf %one, %b") == 1


def test_unused_values_are_not_computed():
    @heddle.rule
    def rule(p, g, *, lr=0.1, unused=0.5):
        heddle.norm(heddle.exp(g))
        return p - lr * g

    text = rule.mlir()
    assert "exp" not in text and "reduce" not in text and "%unused: tensor<f64>" in text
    found = run(rule.compile(target="cpu"), {"param": [numpy.ones(3, "f4")]}, [{"grad": [numpy.ones(3, "f4")]}])
    assert (found["param"][0] == numpy.float32(0.9)).all()


def test_levels():
    """Values of hyperparameters, tensors and the list are computed in double, in maps of their own."""

    @heddle.rule
    def rule(p, g, *, lr=0.1, b=0.9, most=1.0):
        share = 1 - b
        correction = 1 - b ** heddle.step()
        clip = heddle.minimum(most / heddle.norm(g, over="list"), 1)
        return p - lr * share / correction * clip * g

    bodies = maps(rule.mlir())
    assert [head for head, _ in bodies] == ["tensor<f64>", "(!each_f32, !each_f64)", "tensor<f64>", "tensor<f64>",
                                            "!each_f32", "!list"]
    assert all(dtype in ("f64", "i32", "f32") for _, body in bodies[:-1] for _, dtype in body)
    assert {dtype for _, dtype in bodies[-1][1]} == {"f32"}
    # With groups, hyperparameters have one value for each tensor.
    bodies = maps(rule.mlir(groups=True))
    assert [head for head, _ in bodies] == ["!each_f64", "(!each_f32, !each_f64)", "tensor<f64>", "tensor<f64>",
                                            "!each_f32", "!list"]


def test_element_computes_in_the_type_of_elements():
    @heddle.rule
    def rule(p, g, *, lr=0.1, wd=0.1):
        return p * (1 - heddle.element(lr) * wd) - lr * g

    (_, body), = maps(rule.mlir())
    assert body.count(("arith.mulf", "f32")) == 3
    assert {dtype for _, dtype in body} == {"f32"}
    (_, body), = maps(rule.mlir(dtype="f64"))
    assert {dtype for _, dtype in body} == {"f64"}


def test_options_choose_a_program():
    calls = []

    @heddle.rule
    def rule(p, g, *, lr=0.1, nesterov=False, mode="plain", limit=None):
        calls.append((nesterov, mode, limit))
        if nesterov:
            g = g * 2
        if mode == "sign":
            g = heddle.sign(g)
        if limit is not None:
            g = heddle.minimum(g, limit)
        return p - lr * g

    plain = rule.mlir()
    assert rule.mlir() == plain and len(calls) == 1  # traced once for each set of options
    assert "sign" in rule.mlir(mode="sign") and "2.0" in rule.mlir(nesterov=True)
    assert "0.25" in rule.mlir(limit=0.25) and "arith.constant 1.0" in rule.mlir(limit=1)
    assert calls == [(False, "plain", None), (False, "sign", None), (True, "plain", None), (False, "plain", 0.25),
                     (False, "plain", 1)]
    rule.mlir(limit=1.0)
    assert len(calls) == 6, "1 and 1.0 are different options"


def test_hyperparameters_set_defaults_and_compile_nothing():
    text = lion.mlir(lr=3, wd=1e-300, b1=numpy.float32(0.5))
    assert "foreach.default = 3.0 : f64" in text and "foreach.default = 1.0e-300 : f64" in text
    executable = lion.compile(target="cpu", lr=0.5)
    assert executable.arguments["lr"].default == 0.5
    params, grads = {"param": [numpy.zeros(3, "f4")]}, [{"grad": [numpy.ones(3, "f4")]}]
    assert (run(executable, params, grads)["param"][0] == -0.5).all()
    before = heddle.statistics()["compilations"]
    assert (run(executable, params, grads, {"lr": 0.25})["param"][0] == -0.25).all()
    assert heddle.statistics()["compilations"] == before


def test_tuples_of_hyperparameters():
    @heddle.rule
    def rule(p, g, *, betas=(0.5, 0.25)):
        first, second = betas
        return p - first * second * g

    text = rule.mlir(betas=(0.5, 2))
    assert "%betas_0: tensor<f64> {foreach.default = 0.5 : f64}" in text
    assert "%betas_1: tensor<f64> {foreach.default = 2.0 : f64}" in text


@pytest.mark.parametrize("number", [0.1, 1e-8, 1e300, 1e-300, 123456789.123, -0.0, 3, 2**70, math.inf, -math.inf,
                                    math.nan])
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_constants(number, dtype):
    """A constant has the nearest value of the type, in element bodies and as the initial value of state."""

    @heddle.rule
    def rule(p, g, m=number, *, lr=1.0):
        return m, heddle.where(g == 0, number, g)

    width = {"f64": "f8", "f32": "f4"}[dtype]
    params, grads = {"param": [numpy.ones(4, width)]}, [{"grad": [numpy.zeros(4, width)]}]
    found = run(rule.compile(target="cpu", dtype=dtype), params, grads)
    with numpy.errstate(over="ignore"):
        wanted = numpy.full(4, number, width)
    assert found["param"][0].tobytes() == wanted.tobytes() or math.isnan(number)
    assert found["m"][0].tobytes() == wanted.tobytes() or math.isnan(number)
    assert numpy.isnan(found["m"][0]).all() == math.isnan(number)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_initial_values_of_state_in_half_precision(dtype):
    @heddle.rule
    def rule(p, g, a=0.1, b=math.inf, c=-math.inf, d=math.nan, e=1e30):
        return p - g, a, b, c, d, e

    initial = rule.compile(target="cpu", dtype=dtype).initial_values()
    assert initial["a"] == pytest.approx(0.1, rel=2**-8)
    assert (initial["b"], initial["c"]) == (math.inf, -math.inf) and math.isnan(initial["d"])
    assert initial["e"] == (math.inf if dtype == "f16" else pytest.approx(1e30, rel=2**-8))


def test_numpy_scalars_and_fractions_are_numbers():
    from fractions import Fraction

    @heddle.rule
    def rule(p, g):
        half, two = numpy.float32(0.5), numpy.float64(2)
        return half * p + two * g + g / numpy.int64(4) - Fraction(1, 8) * g**two

    found = run(rule.compile(target="cpu", dtype="f64"), {"param": [numpy.ones(3)]}, [{"grad": [numpy.full(3, 2.0)]}])
    assert (found["param"][0] == 0.5 + 4 + 0.5 - 0.5).all()


def test_state_may_stay_swap_or_become_a_constant():
    @heddle.rule
    def rule(p, g, a, b=2.0, c=3.0, d=4.0, *, lr=0.5):
        return p, 7, c, b, d + lr * 0

    found = run(rule.compile(target="cpu", dtype="f32/bf16"), {"param_f32": arrays(1), "param_bf16": arrays(2, "bf16")},
                [{"grad_f32": arrays(3), "grad_bf16": arrays(4, "bf16")}] * 3)
    for dtype in ("f32", "bf16"):
        for param, before in zip(found[f"param_{dtype}"], arrays(1 if dtype == "f32" else 2, dtype)):
            assert (param == before).all()
        for name, value in (("a", 7), ("b", 3), ("c", 2), ("d", 4)):
            assert all((member == value).all() for member in found[f"{name}_{dtype}"]), name


def test_state_with_one_value_for_each_tensor():
    @heddle.rule
    def rule(p, g, a=heddle.per_tensor(2), b=heddle.per_tensor(), c=heddle.per_tensor(-1), d=heddle.per_tensor(3), *,
             lr=0.5):
        return p - lr * a * g, b, lr * 3, heddle.step() + a, d

    executable = rule.compile(target="cpu", dtype="bf16")
    infos = [executable.arguments[name] for name in "abcd"]
    assert all(info.is_list and info.donated and info.rank == 0 and info.dtype == "f32" for info in infos)
    assert {name: executable.initial_values()[name] for name in "abcd"} == {"a": 2, "b": 0, "c": -1, "d": 3}
    found = run(rule.compile(target="cpu"), {"param": arrays(1)}, [{"grad": arrays(seed)} for seed in (2, 3, 4)])
    for k, param in enumerate(arrays(1)):
        steps = [(arrays(seed)[k], size) for seed, size in ((2, 2.0), (3, 0.0), (4, 1.5))]
        expected = param - sum(0.5 * size * grad for grad, size in steps)
        numpy.testing.assert_allclose(found["param"][k], expected, rtol=1e-5, atol=1e-6)
        # a takes the value of b, which takes that of a hyperparameter; c is the number of steps plus a: 3 + 1.5.
        assert [float(found[name][k]) for name in "abcd"] == [1.5, 1.5, 4.5, 3]
    assert rule.explain(json=True)["launches"] == 1


def test_powers():
    @heddle.rule
    def rule(p, g, a, b, c, d, e):
        return p**2, p**3, p**5 + 0 * g, p**-2, abs(p) ** 0.5, abs(p) ** 1.5

    text = rule.mlir()
    assert text.count("math.fpowi") == 2 and text.count("math.powf") == 1 and "math.sqrt" in text
    params = {"param": arrays(1, "f64")}
    found = run(rule.compile(target="cpu", dtype="f64"), params, [{"grad": arrays(2, "f64")}])
    for k, p in enumerate(params["param"]):
        for name, wanted in (("param", p * p), ("a", p * p * p), ("e", abs(p) ** 1.5), ("d", numpy.sqrt(abs(p))),
                             ("b", p**5.0), ("c", p**-2.0)):
            numpy.testing.assert_allclose(found[name][k], wanted, rtol=1e-14)


def test_long_rules(length=1200):
    """Longer than Python's limit of nested calls."""

    @heddle.rule
    def rule(p, g, *, lr=0.5):
        for _ in range(length):
            p = p - lr * g
        return p

    found = run(rule.compile(target="cpu", dtype="f64"), {"param": [numpy.zeros(2)]}, [{"grad": [numpy.ones(2)]}])
    assert (found["param"][0] == -0.5 * length).all()


def test_early_stores():
    """State that a reduction needs is stored with it and read again, unless storing rounds or old state is needed."""

    @heddle.rule
    def scaled(p, g, m, *, lr=0.1):
        m = 0.9 * m + g
        return p - lr / heddle.norm(m) * m, m

    @heddle.rule
    def damped(p, g, m, *, lr=0.1):
        new = 0.9 * m + g
        return p - lr / heddle.norm(new) * (new - m), new

    # Two families, one of which stores early.
    params = {"param_f32": arrays(1), "param_bf16": arrays(2, "bf16")}
    grads = {"grad_f32": arrays(3), "grad_bf16": arrays(4, "bf16")}
    for rule in (scaled, damped):
        both = run(rule.compile(target="cpu", dtype="f32/bf16"), params, [grads] * 3)
        for dtype in ("f32", "bf16"):
            alone = run(rule.compile(target="cpu", dtype=dtype), {"param": params[f"param_{dtype}"]},
                        [{"grad": grads[f"grad_{dtype}"]}] * 3)
            for name in ("param", "m"):
                for one, other in zip(both[f"{name}_{dtype}"], alone[name]):
                    assert one.tobytes() == other.tobytes()

    assert scaled.explain(json=True)["bytes_per_element"] == 24  # g, m -> m; p, m -> p
    assert scaled.explain(json=True, dtype="bf16")["bytes_per_element"] == 14  # g, m; p, g, m -> p, m
    assert damped.explain(json=True)["bytes_per_element"] == 28
    for rule, factor in ((scaled, 0), (damped, 1)):
        for dtype in ("f64", "f32", "bf16"):
            params, grads = {"param": arrays(1, dtype)}, [arrays(2, dtype), arrays(3, dtype)]
            found = run(rule.compile(target="cpu", dtype=dtype), params, [{"grad": grad} for grad in grads])
            for k, param in enumerate(params["param"]):
                p, m = param.astype("f8"), numpy.zeros(param.shape)
                if not p.size:
                    continue
                for grad in grads:
                    new = 0.9 * m + grad[k].astype("f8")
                    p, m = p - 0.1 / numpy.linalg.norm(new.ravel()) * (new - factor * m), new
                tolerance = {"f64": 1e-13, "f32": 1e-6, "bf16": 2**-6}[dtype]
                numpy.testing.assert_allclose(found["param"][k].astype("f8"), p, rtol=tolerance, atol=tolerance)
                numpy.testing.assert_allclose(found["m"][k].astype("f8"), m, rtol=tolerance, atol=tolerance)


# --- functions of plain numbers ---------------------------------------------------------------------------------------


def test_functions_of_plain_numbers():
    assert heddle.sqrt(4) == 2 and type(heddle.sqrt(4)) is float
    assert math.isnan(heddle.sqrt(-1)) and heddle.log(0) == -math.inf and heddle.exp(1e4) == math.inf
    assert heddle.sign(-3) == -1 and heddle.sign(0) == 0 and math.isnan(heddle.sign(math.nan))
    assert heddle.maximum(1, 2) == 2 and math.isnan(heddle.maximum(1, math.nan)) and heddle.fmax(1, math.nan) == 1
    assert heddle.minimum(1, 2) == 1 and heddle.fmin(math.nan, 1) == 1 and heddle.copysign(3, -0.0) == -3
    assert heddle.pow(2, 10) == 1024 and heddle.pow(2, 0.5) == 2**0.5 and heddle.abs(-2) == 2
    assert heddle.where(True, 1, 2) == 1 and heddle.where(False, 1, 2) == 2
    assert heddle.isnan(math.nan) is True and heddle.isinf(1) is False and heddle.isfinite(1) is True
    assert heddle.element(0.1) == 0.1 and heddle.rsqrt(4) == 0.5 and heddle.rsqrt(0.0) == math.inf
    assert heddle.rsqrt(-0.0) == -math.inf
    assert heddle.fma(0.1, 10, -1) == 2.0**-54 and heddle.fma(1e308, 10, 0) == math.inf
    assert [heddle.round(x) for x in (0.5, 1.5, -2.5, 2.4)] == [0, 2, -2, 2]
    assert [heddle.round_away(x) for x in (0.5, 1.5, -2.5, 2.4)] == [1, 2, -3, 2]
    assert heddle.fmod(-7, 3) == -1 and math.isnan(heddle.fmod(1, 0)) and heddle.atan2(0.0, -1) == math.pi
    for name in "trunc tan atan log10 floor ceil exp2 expm1 log2 log1p tanh sin cos erf".split():
        expected = getattr(math, name)(1.25) if hasattr(math, name) else getattr(numpy, name)(1.25)
        assert getattr(heddle, name)(1.25) == pytest.approx(float(expected), rel=1e-15)


def test_every_function_is_traced_as_it_is_for_numbers():
    """Each function of numbers gives in a rule the value that it gives for plain numbers."""
    from heddle._rule.ops import NUMBERS

    arity = {"atan2": 2, "fmod": 2, "maximum": 2, "minimum": 2, "fmax": 2, "fmin": 2, "copysign": 2, "pow": 2, "fma": 3}
    names = [name for name in NUMBERS if name in heddle._FUNCTIONS.split()]
    assert set(NUMBERS) - set(names) == {"add", "sub", "mul", "div", "neg"}
    params, grads = arrays(1, "f64"), arrays(2, "f64")
    for name in names:
        function = getattr(heddle, name)

        @heddle.rule
        def rule(p, g):
            x = [abs(p) + 0.1, g, p][: arity.get(name, 1)]
            return function(*x)

        found = run(rule.compile(target="cpu", dtype="f64"), {"param": params}, [{"grad": grads}])["param"]
        for k, (param, grad) in enumerate(zip(params, grads)):
            for result, p, g in zip(found[k].ravel(), param.ravel(), grad.ravel()):
                numbers = [float(each) for each in (abs(p) + 0.1, g, p)][: arity.get(name, 1)]
                assert result == pytest.approx(function(*numbers), rel=4e-15, abs=1e-300), name


def test_rules_have_every_scalar_operation():
    """ScalarOps.def, without unsigned integers, the halves of a number, and random numbers (docs/rule.md)."""
    from heddle._rule.ops import CONVERSIONS, OPS

    path = pathlib.Path(__file__).parents[2] / "dialect" / "ScalarOps.def"
    if not path.exists():
        pytest.skip("needs a checkout")
    names = re.findall(r"^HEDDLE_SCALAR\(\w+::(\w+)Op,", path.read_text(), re.M)
    unsigned = {"MaxUI", "MinUI", "DivUI", "RemUI", "ShRUI", "UIToFP", "FPToUI"}
    narrow = {"ExtSI"}  # the bits of a number are extended as unsigned ones
    own = {"Select", "FPowI"}  # heddle.where, and powers of whole numbers
    halves = {"High", "Low", "Join"}
    used = {mlir.split()[0].split(".")[1] for op in OPS.values() for mlir in (op.mlir, op.of_integers) if mlir}
    used |= {operation.split(".")[1] for each in CONVERSIONS.values() for operation, _ in (*each.f32, *each.f64)}
    assert used == {name.lower() for name in set(names) - unsigned - narrow - own - halves - {"Random"}}


# --- the package ------------------------------------------------------------------------------------------------------


def test_rules_are_pickled_and_copied_by_name():
    assert copy.deepcopy(lion) is lion
    module = sys.modules.setdefault(lion.function.__module__, type(sys)("tests"))
    module.lion = lion
    assert pickle.loads(pickle.dumps(lion)) is lion


def test_the_import_stays_lazy():
    code = """
import sys, heddle
assert not [name for name in sys.modules if name.startswith("heddle._rule")], "imported too early"
assert "where" in dir(heddle) and "rule" in dir(heddle)
heddle.where(True, 1, 2)
assert "heddle._rule.functions" in sys.modules and "torch" not in sys.modules and "numpy" not in sys.modules
from heddle import Value, rule, sqrt
@rule
def f(p, g):
    return p - sqrt(abs(g))
f.mlir()
assert "torch" not in sys.modules and "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


TYPED = '''
import heddle
from heddle import Value

@heddle.rule
def lion(p: Value, g: Value, m: Value, *, lr: float = 1e-4, b: float = 0.9, nesterov: bool = False
         ) -> tuple[Value, Value]:
    u = heddle.sign(b * m + (1 - b) * g)
    root: Value = heddle.sqrt(1 - b ** heddle.step())
    two: float = heddle.sqrt(4.0) + heddle.maximum(1.0, 2.0)
    place: Value = heddle.index() % 2 + heddle.argmax(g) // heddle.extent() + (heddle.bits(g) >> 16) + heddle.integer(lr)
    plain: int = heddle.integer(2.5) + heddle.bits(1.0)
    chosen: Value = heddle.from_bits(place) + heddle.from_bits(plain) + heddle.where((g > 0) & (p != 0), 1.0, heddle.maximum(g, 0.5)) * abs(g)
    if nesterov:
        u = u * heddle.norm(u, over="list")
    return p * (1 - lr) - lr * u * root * two * chosen, m

rule: heddle.Rule = lion
text: str = lion.mlir(dtype="f32", lr=1.0)
cubin: bytes = lion.emit("cubin")
executable: heddle.Executable = lion.compile()
launches: int = lion.explain(json=True)["launches"]
heddle.norm(1.0)
heddle.sqrt("text")
lion.emit("cuda", 3)
'''


def test_types_of_a_users_rule(tmp_path):
    pytest.importorskip("mypy")
    program, package = tmp_path / "program.py", str(pathlib.Path(heddle.__file__).parents[1])
    program.write_text(TYPED)
    result = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir",
                             str(tmp_path / "cache"), str(program)], capture_output=True, text=True, timeout=600,
                            cwd=tmp_path, env={**os.environ, "MYPYPATH": package})
    errors = [line.split(": error:")[0] for line in result.stdout.splitlines() if ": error:" in line]
    assert errors == [f"program.py:{line}" for line in (23, 24, 25)], result.stdout + result.stderr
