"""Integers of rules: positions, numbers of elements, positions of extremes, integer arithmetic, bits.

Each case is a rule, and a formula of NumPy in double or in integers of 64 bits. It runs on the cpu target, and where the
tests' runner is built, through the reference interpreter, without fusion and as executed CUDA source (see
test_programs.py).
"""

import json
import math
import pathlib
import subprocess
import sys

import numpy
import pytest

import heddle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rule_runs import arrays, run  # noqa: E402

RUNNER = pathlib.Path(heddle.doctor()["library"]["path"]).parents[1] / "bin" / "heddle_run_everywhere"
SHAPES = ((7, 5), (1,), (300,), (0,), (4, 3, 2), (1025,))
ALL = sum(math.prod(shape) for shape in SHAPES)


def whole(x):
    return numpy.trunc(8 * x).astype("i8")


def floor_quotient(a, b):
    """In Python's integers, with the results of heddle for a divisor of 0."""
    return numpy.array([x // y if y else -(x < 0) for x, y in zip(a.tolist(), b.tolist())], "i8")


def remainder(a, b):
    return numpy.array([x % y if y else x for x, y in zip(a.tolist(), b.tolist())], "i8")


def bits(x):
    return x.astype("f4").view("u4").astype("i8")


def at(p):
    return numpy.arange(p.size)


# Name: the new parameter of a rule with the parameter p and the gradient g; and of flat arrays p and g in double.
CASES = {
    "position": (lambda p, g: heddle.index(), lambda p, g: at(p)),
    "position in arithmetic": (lambda p, g: heddle.index() * g + p, lambda p, g: at(p) * g + p),
    "position as an integer": (lambda p, g: (3 * heddle.index() - 7) % 5 + p, lambda p, g: (3 * at(p) - 7) % 5 + p),
    "every third": (lambda p, g: heddle.where(heddle.index() % 3 == 0, g, p),
                    lambda p, g: numpy.where(at(p) % 3 == 0, g, p)),
    "extent": (lambda p, g: heddle.extent(), lambda p, g: p * 0 + p.size),
    "sum by the extent": (lambda p, g: p + g / heddle.extent(), lambda p, g: p + g / p.size),
    "last element": (lambda p, g: heddle.where(heddle.index() == heddle.extent() - 1, g, p),
                     lambda p, g: numpy.where(at(p) == p.size - 1, g, p)),
    "reversed position": (lambda p, g: heddle.extent() - 1 - heddle.index(), lambda p, g: p.size - 1 - at(p)),
    "first half": (lambda p, g: heddle.where(heddle.index() < heddle.extent() // 2, g, p),
                   lambda p, g: numpy.where(at(p) < p.size // 2, g, p)),
    "large tensors": (lambda p, g: heddle.where(heddle.extent() > 100, g, p), lambda p, g: g if p.size > 100 else p),
    "root of the extent": (lambda p, g: g / heddle.sqrt(heddle.extent()), lambda p, g: g / math.sqrt(max(p.size, 1))),
    "root of the extent as an element": (lambda p, g: g / heddle.sqrt(heddle.element(heddle.extent())),
                                         lambda p, g: g / math.sqrt(max(p.size, 1))),
    "root of a sum of the extent": (lambda p, g: g / heddle.sqrt(heddle.extent() + 3), lambda p, g: g / math.sqrt(p.size + 3)),
    "mean square": (lambda p, g: p - g * heddle.norm(g) / heddle.sqrt(heddle.extent()),
                    lambda p, g: p - g * math.sqrt(numpy.mean(g * g)) if g.size else p),
    "mean": (lambda p, g: p - heddle.mean(g), lambda p, g: p - g.mean() if g.size else p),
    "sum of positions": (lambda p, g: p + heddle.sum(heddle.index() * heddle.index()) / 1e6,
                         lambda p, g: p + (at(p) ** 2).sum() / 1e6),
    "largest integer": (lambda p, g: p + heddle.amax(heddle.integer(8 * g)), lambda p, g: p + whole(g).max() if g.size else p),
    "sum of the elements after half": (lambda p, g: p - heddle.sum(heddle.where(heddle.index() >= heddle.extent() // 2, g, 0)),
                                       lambda p, g: p - g[p.size // 2:].sum()),
    "argmax": (lambda p, g: p + heddle.argmax(g), lambda p, g: p + g.argmax() if g.size else p),
    "argmin": (lambda p, g: p + heddle.argmin(g), lambda p, g: p + g.argmin() if g.size else p),
    "argmax of equal values": (lambda p, g: heddle.argmax(heddle.sign(g)) + 0 * p,
                               lambda p, g: 0 * p + numpy.sign(g).argmax() if g.size else p),
    "argmax of integers": (lambda p, g: heddle.argmax(heddle.integer(8 * g)) + 0 * p,
                           lambda p, g: 0 * p + whole(g).argmax() if g.size else p),
    "argmax of positions": (lambda p, g: heddle.argmax(-heddle.index()) + 0 * p, lambda p, g: 0 * p),
    "only the largest": (lambda p, g: heddle.where(heddle.index() == heddle.argmax(abs(g)), p - g, p),
                         lambda p, g: numpy.where(at(p) == abs(g).argmax(), p - g, p) if g.size else p),
    "whole part": (lambda p, g: heddle.integer(8 * g), lambda p, g: whole(g)),
    "sum, difference, product": (
        lambda p, g: heddle.integer(8 * p) * heddle.integer(8 * g) + heddle.integer(8 * p) - 5 - heddle.integer(8 * g),
        lambda p, g: whole(p) * whole(g) + whole(p) - 5 - whole(g)),
    "quotients": (lambda p, g: heddle.integer(8 * p) // 3 + 100 * (heddle.integer(8 * p) // -3) + 1000 * (17 // (heddle.integer(8 * g) | 1)),
                  lambda p, g: whole(p) // 3 + 100 * (whole(p) // -3) + 1000 * (17 // (whole(g) | 1))),
    "quotient of integers": (lambda p, g: heddle.integer(8 * p) // heddle.integer(4 * g),
                             lambda p, g: floor_quotient(whole(p), whole(g / 2))),
    "remainders": (lambda p, g: heddle.integer(8 * p) % 3 + 100 * (heddle.integer(8 * p) % -3) + 1000 * (17 % (heddle.integer(8 * g) | 1)),
                   lambda p, g: whole(p) % 3 + 100 * (whole(p) % -3) + 1000 * (17 % (whole(g) | 1))),
    "remainder of integers": (lambda p, g: heddle.integer(8 * p) % heddle.integer(4 * g),
                              lambda p, g: remainder(whole(p), whole(g / 2))),
    "both of divmod": (lambda p, g: (lambda q, r: 10 * q + r)(*divmod(heddle.integer(8 * p), 7)),
                       lambda p, g: 10 * (whole(p) // 7) + whole(p) % 7),
    "shifts": (lambda p, g: (heddle.integer(8 * p) << 3) + (heddle.integer(8 * p) >> 1) + (1 << (heddle.index() % 5)),
               lambda p, g: whole(p) * 8 + numpy.floor_divide(whole(p), 2) + 2 ** (at(p) % 5)),
    "shifts beyond the width": (lambda p, g: (heddle.integer(8 * p) << 64) + (heddle.integer(8 * p) >> 80) + 0 * p,
                                lambda p, g: -(whole(p) < 0).astype("f8")),
    "bits of integers": (lambda p, g: (heddle.integer(8 * p) & 6) + 10 * (heddle.integer(8 * p) | 9) + 1000 * (heddle.integer(8 * p) ^ heddle.index()) + ~heddle.integer(8 * g),
                         lambda p, g: (whole(p) & 6) + 10 * (whole(p) | 9) + 1000 * (whole(p) ^ at(p)) - 1 - whole(g)),
    "signs of integers": (lambda p, g: abs(heddle.integer(8 * p)) + 100 * -heddle.integer(8 * g) + 0 * +heddle.index(),
                          lambda p, g: abs(whole(p)) - 100 * whole(g)),
    "extremes of integers": (
        lambda p, g: heddle.maximum(heddle.integer(8 * p), 2) + 100 * heddle.fmin(heddle.integer(8 * p), heddle.integer(8 * g)),
        lambda p, g: numpy.maximum(whole(p), 2) + 100 * numpy.minimum(whole(p), whole(g))),
    "comparisons of integers": (
        lambda p, g: (lambda a, b: sum((heddle.where(c, 10**k, 0) for k, c in enumerate((a < b, a <= b, a > b, a >= b, a == b, a != b))), 0 * p))(
            heddle.integer(2 * p), heddle.integer(2 * g)),
        lambda p, g: (lambda a, b: (a < b) * 1.0 + 10 * (a <= b) + 100 * (a > b) + 1000 * (a >= b) + 1e4 * (a == b) + 1e5 * (a != b))(
            whole(p / 4), whole(g / 4))),
    "chosen integers": (lambda p, g: heddle.where(g > 0, heddle.index(), 2) % 4, lambda p, g: numpy.where(g > 0, at(p), 2) % 4),
    "numbers of integers": (lambda p, g: heddle.integer(8 * p) / 16 + heddle.sqrt(heddle.index()) + heddle.index() ** 2 / 1e6,
                            lambda p, g: whole(p) / 16 + numpy.sqrt(at(p)) + at(p) ** 2 / 1e6),
    "numbers of NumPy": (lambda p, g: numpy.int64(5) // (heddle.index() + numpy.int32(1)) + (numpy.int64(6) & heddle.index()) + 0 * p,
                         lambda p, g: 5 // (at(p) + 1) + (6 & at(p))),
    "exponents from bits": (lambda p, g: ((heddle.bits(g) >> 23) & 255) - 127,
                            lambda p, g: ((bits(g) >> 23) & 255) - 127),
    "rounding to the upper half": (lambda p, g: heddle.from_bits(heddle.bits(g) >> 16 << 16),
                                   lambda p, g: (bits(g) >> 16 << 16).astype("u4").view("f4").astype("f8")),
    "root by bits": (lambda p, g: heddle.from_bits(0x5F3759DF - (heddle.bits(abs(g)) >> 1)),
                     lambda p, g: (0x5F3759DF - (bits(abs(g)) >> 1)).astype("u4").view("f4").astype("f8")),
    "bits of 64": (lambda p, g: heddle.from_bits(heddle.bits(g, 64) ^ (-(2**63)), width=64), lambda p, g: -g),
    "bits of the sign": (lambda p, g: heddle.bits(g, width=64) >> 63, lambda p, g: -numpy.signbit(g).astype("f8")),
    "upper bits have no influence": (lambda p, g: heddle.from_bits(heddle.bits(g) | (1 << 40)),
                                     lambda p, g: g.astype("f4").astype("f8")),
    "a hash of the position": (lambda p, g: ((heddle.index() * 2654435761 & 0xFFFFFFFF) >> 8) * 2.0**-24,
                               lambda p, g: ((at(p) * 2654435761 & 0xFFFFFFFF) >> 8) * 2.0**-24),
}


def inputs(dtype):
    params, grads = arrays(1, dtype, SHAPES), arrays(2, dtype, SHAPES)
    grads[0].ravel()[3] = 0.0
    return params, grads


def compare(name, dtype, found, about=""):
    """The new parameters of a case."""
    for one, param, grad in zip(found, *inputs(dtype), strict=True):
        wanted = CASES[name][1](param.ravel().astype("f8"), grad.ravel().astype("f8"))
        tolerance = 2.0**-50 if dtype == "f64" else 2.0**-21
        numpy.testing.assert_allclose(numpy.ravel(one).astype("f8"), numpy.broadcast_to(wanted, param.size), rtol=tolerance,
                                      atol=tolerance, err_msg=f"{name}\n{about}")


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("name", CASES)
def test_case(name, dtype):
    function, _ = CASES[name]
    rule = heddle.rule(lambda p, g: function(p, g))
    params, grads = inputs(dtype)
    compare(name, dtype, run(rule.compile(target="cpu", dtype=dtype), {"param": params}, [{"grad": grads}])["param"],
            rule.mlir(dtype=dtype))


def together(part):
    """A quarter of the cases in one rule, each as the new value of a state: the names, the states and the rule."""
    names = list(CASES)[part::4]
    states = [f"s{k}" for k in range(len(names))]
    scope = {"functions": [CASES[name][0] for name in names]}
    exec(f"def rule(p, g, {', '.join(states)}):\n    return (p, *(each(p, g) for each in functions))\n", scope)
    return names, states, heddle.rule(scope["rule"])


@pytest.mark.skipif(not RUNNER.exists(), reason="the tests' runner is not built")
@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("part", range(4))
def test_every_executor(part, dtype, tmp_path):
    names, states, rule = together(part)
    text = rule.mlir(dtype=dtype)
    (tmp_path / "rule.mlir").write_text(text)
    params, grads = inputs(dtype)
    members = {"param": params, "grad": grads, **{state: [0 * param for param in params] for state in states}}
    for executor, results in run_everywhere(tmp_path / "rule.mlir", members, {}).items():
        for name, values in zip(names, results[1:], strict=True):
            compare(name, dtype, values, executor)


def run_everywhere(path, members, scalars):
    """The results of one step for each executor of the tests' runner."""
    lists = {name: [[list(numpy.shape(each)), numpy.ravel(each).tolist()] for each in each_list]
             for name, each_list in members.items()}
    done = subprocess.run([RUNNER, path], input=json.dumps({"steps": [{"lists": lists, "scalars": scalars}]}),
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and not done.stderr, done.stderr
    found = json.loads(done.stdout)
    assert {"interpreter", "cpu", "cpu, not fused"} < set(found), "the CUDA source did not run"
    return {executor: steps[0] for executor, steps in found.items()}


@pytest.mark.skipif(not RUNNER.exists(), reason="the tests' runner is not built")
@pytest.mark.parametrize("groups", [False, True])
def test_lower_levels_in_every_executor(groups, tmp_path):
    (tmp_path / "rule.mlir").write_text(lower_levels.mlir(groups=groups))
    params, grads = inputs("f32")
    numbers = [numpy.zeros(())] * len(params)
    members = {"param": params, "grad": grads, "count": numbers, "size": numbers, "place": numbers, "step": numbers}
    if groups:
        members["lr"] = [numpy.array(2.75)] * len(params)
    for executor, results in run_everywhere(tmp_path / "rule.mlir", members, {} if groups else {"lr": 2.75}).items():
        for new, count, size, place, step, p, g in zip(*results, params, grads, strict=True):
            numpy.testing.assert_allclose(new, (p - p.size / ALL * g - 2).ravel(), rtol=1e-5, atol=1e-6, err_msg=executor)
            assert (count, size, step) == ([p.size], [2 * ALL + UPPER], [1]), executor
            assert place == [2 * g.argmax() + 1 if g.size else -1], executor


def test_whole_parts_of_special_numbers():
    """The nearest integer beyond 64 bits, 0 of NaN; for plain numbers, too."""
    special = numpy.array([0.0, -0.0, 0.9, -0.9, 2.5, -2.5, 1e10, -1e10, 2.0**62, 1e19, -1e19, 1e300, numpy.inf, -numpy.inf,
                           numpy.nan])
    wanted = [0, 0, 0, 0, 2, -2, 10**10, -(10**10), 2**62, 2**63 - 1, -(2**63), 2**63 - 1, 2**63 - 1, -(2**63), 0]

    @heddle.rule
    def halves(p, g, low):
        n = heddle.integer(g)
        return n >> 32, n & 0xFFFFFFFF

    found = run(halves.compile(target="cpu", dtype="f64"), {"param": [special.copy()]}, [{"grad": [special]}])
    exact = [int(high) * 2**32 + int(low) for high, low in zip(found["param"][0], found["low"][0])]
    assert exact == wanted
    assert [heddle.integer(float(x)) for x in special] == wanted


def test_extremes_with_nan_and_without_elements():
    @heddle.rule
    def rule(p, g, first=heddle.per_tensor(), last=heddle.per_tensor()):
        return p - g, heddle.argmax(g), heddle.argmin(g)

    members = [numpy.array(values, "f4") for values in ([1, numpy.nan, 5, numpy.nan], [], [numpy.inf, -numpy.inf, numpy.inf])]
    found = run(rule.compile(target="cpu"), {"param": [member.copy() for member in members]}, [{"grad": members}])
    assert [float(each) for each in found["first"]] == [1, -1, 0]
    assert [float(each) for each in found["last"]] == [1, -1, 1]


@heddle.rule
def lower_levels(p, g, count=heddle.per_tensor(), size=heddle.per_tensor(), place=heddle.per_tensor(), *, lr=2.75):
    every = heddle.integer(lr)
    share = heddle.extent() / heddle.extent(over="list")
    turns = heddle.integer(heddle.step()) % 2
    total = heddle.sum(heddle.extent(), over="list") - heddle.extent("list")
    upper = (heddle.bits(lr) >> 16) & 255
    return (p - share * g - every * turns + total, count + heddle.extent(), heddle.extent("list") * every + upper,
            heddle.argmax(g) * 2 + 1)


UPPER = int(numpy.float32(2.75).view("u4")) >> 16 & 255


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("dtype", ["f64", "f32/f64"])
def test_values_of_tensors_and_of_the_list(dtype, groups):
    """Integers of lower levels, with several families and with a value of each hyperparameter for each tensor."""
    families = [("", dtype, range(len(SHAPES)))]
    if "/" in dtype:
        families = [("_f32", "f32", range(3)), ("_f64", "f64", range(3, len(SHAPES)))]
    params = {f"param{suffix}": [arrays(1, kind, SHAPES)[k] for k in members] for suffix, kind, members in families}
    grads = {f"grad{suffix}": [arrays(2, kind, SHAPES)[k] for k in members] for suffix, kind, members in families}
    found = run(lower_levels.compile(target="cpu", dtype=dtype, groups=groups), params, [grads] * 3)
    for suffix, _, members in families:
        for k, member in enumerate(members):
            size = math.prod(SHAPES[member])
            p, g = (lists[k].astype("f8").ravel() for lists in (params[f"param{suffix}"], grads[f"grad{suffix}"]))
            for step in (1, 2, 3):
                p = p - size / ALL * g - 2 * (step % 2)
            numpy.testing.assert_allclose(found[f"param{suffix}"][k].ravel(), p, rtol=1e-5, atol=1e-6)
            assert found[f"count{suffix}"][k] == 3 * size and found[f"size{suffix}"][k] == 2 * ALL + UPPER
            assert found[f"place{suffix}"][k] == (2 * g.argmax() + 1 if size else -1)


def test_launches():
    """Elements have the number of elements without a reduction; values of tensors count them."""

    def launches(function):
        return heddle.rule(function).explain(json=True)["launches"]

    assert launches(lambda p, g: p - g / heddle.extent()) == 1
    assert launches(lambda p, g: heddle.where(heddle.index() < (heddle.extent() + 1) // 2, p - g, p)) == 1
    assert launches(lambda p, g: p - g / heddle.sqrt(heddle.element(heddle.extent()))) == 1
    counted = launches(lambda p, g: p - g / heddle.sqrt(heddle.extent()))
    assert counted > 1
    assert launches(lambda p, g: p - g * heddle.norm(g) / heddle.sqrt(heddle.extent())) == counted
    assert launches(lambda p, g: p - g * heddle.norm(g)) == counted
    assert launches(lambda p, g: heddle.where(heddle.index() == heddle.argmax(g), p - g * heddle.mean(g), p)) == counted


@pytest.mark.parametrize("integer", (int, numpy.int64))
def test_plain_integers_stay_integers(integer):
    """They are exact beyond 2^53, and take the operators of integers."""
    large = 2**60 + 1
    for function, expected in ((heddle.maximum, large), (heddle.fmax, large), (heddle.minimum, 3), (heddle.fmin, 3)):
        for arguments in ((integer(large), integer(3)), (integer(3), integer(large))):
            assert function(*arguments) == expected and type(function(*arguments)) is int
    assert heddle.abs(integer(-large)) == large and type(heddle.abs(integer(-1))) is int
    for found in (heddle.maximum(integer(3), 4.0), heddle.minimum(3.0, integer(4)), heddle.abs(-1.0)):
        assert type(found) is float
    for flag in (True, False):
        with pytest.raises(heddle.BadInput, match="expected a number or a value of a rule"):
            heddle.maximum(integer(3), flag)

    def shifted(p, g):
        return p - g * (heddle.maximum(heddle.integer(6.5), heddle.integer(4.2)) >> 1)

    assert "3.0" in heddle.rule(shifted).mlir()


def test_functions_of_plain_numbers():
    assert heddle.integer(-2.5) == -2 and type(heddle.integer(1.0)) is int and heddle.integer(7) == 7
    assert heddle.bits(1.0) == 0x3F800000 and heddle.bits(-0.0) == 2**31 and heddle.bits(1e300) == 0x7F800000
    assert heddle.bits(0.1) == int(numpy.float32(0.1).view("u4"))
    assert heddle.bits(-2.0, width=64) == int(numpy.float64(-2).view("i8"))
    assert heddle.from_bits(0x3F800000) == 1.0 and heddle.from_bits(0xC0000000 + 2**32) == -2.0
    for number in (0.1, -1e300, 5e-324, math.inf):
        assert heddle.from_bits(heddle.bits(number, 64), 64) == number
