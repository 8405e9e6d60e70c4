"""Mistakes in rules are heddle.BadInput, and point at the user's line."""

import copy
import cProfile
import fractions
import math
import pathlib
import re
import sys

import numpy
import pytest

import heddle

HERE = pathlib.Path(__file__)


def line_of(mark):
    """The line of this file that ends with a comment."""
    return next(k for k, line in enumerate(HERE.read_text().splitlines(), 1) if line.rstrip().endswith("# " + mark))


def message_of(function):
    with pytest.raises(heddle.BadInput) as caught:
        heddle.rule(function).mlir()
    assert isinstance(caught.value, ValueError)
    assert type(caught.value).__module__ == "heddle.errors"  # a public name, which the traceback shows
    return str(caught.value)


def test_a_test_of_an_element_points_at_its_line():
    def rule(p, g, *, lr=0.1):
        q = p - lr * g
        if q > 0:  # the test
            q = 2 * q
        return q

    message = message_of(rule)
    assert message.startswith(f"{HERE}:{line_of('the test')}: Python cannot test a condition of each element")
    assert "heddle.where" in message and "option" not in message


def test_a_test_of_a_hyperparameter_says_to_declare_an_option():
    def rule(p, g, *, lr=0.1, wd=0.0):
        if wd:  # the decay
            p = p * (1 - lr * wd)
        return p - lr * g

    message = message_of(rule)
    assert message.startswith(f"{HERE}:{line_of('the decay')}: Python cannot test the hyperparameter 'wd'")
    assert "default is an option" in message


def test_functions_that_do_not_return_values_are_refused():
    async def waits(p, g, *, lr=0.1):  # waits
        return p - lr * g

    def yields(p, g, *, lr=0.1):  # yields
        yield p - lr * g

    async def both(p, g, *, lr=0.1):  # both
        yield p - lr * g

    for function, found in (
        (waits, "an async function"), (yields, "a generator, which has 'yield'"), (both, "an async generator"),
    ):
        with pytest.raises(heddle.BadInput) as caught:
            heddle.rule(function)
        name = function.__name__
        assert str(caught.value) == (
            f"{HERE}:{line_of(name)}: rule '{name}': expected a plain function that returns the new values, found {found}"
        )


def test_state_of_one_value_for_each_tensor():
    def rule(p, g, size=heddle.per_tensor(0.1), *, lr=0.1):
        return p - lr * g, size * g  # of each element

    message = message_of(rule)
    assert message == (f"{HERE}:{line_of('of each element')}: rule 'rule': expected one value for each tensor as the new "
                       "value of 'size', found a value of each element: use heddle.sum, mean, norm, amax or amin")

    def inside(p, g, *, lr=0.1):
        return p - heddle.per_tensor(lr) * g  # inside

    assert message_of(inside).startswith(f"{HERE}:{line_of('inside')}: heddle.per_tensor is the default of a parameter")

    def first(p, g=heddle.per_tensor(0.1)):
        return p

    for function, expected in (
        (first, r"expected the parameter and its gradient without defaults, found heddle.per_tensor\(0.1\) for 'g'"),
    ):
        with pytest.raises(heddle.BadInput, match=expected):
            heddle.rule(function)
    with pytest.raises(heddle.BadInput, match="heddle.per_tensor: expected a number, found 'a'"):
        heddle.per_tensor("a")

    def keyword(p, g, *, size=heddle.per_tensor(0.1)):
        return p

    with pytest.raises(heddle.BadInput, match="default of 'size' a finite number .*found heddle.per_tensor"):
        heddle.rule(keyword)


def test_the_number_of_results_points_at_the_return():
    def rule(p, g, m, *, lr=0.1):
        m = 0.9 * m + g

        def helper():
            return 1

        helper()
        return p - lr * m  # the return

    message = message_of(rule)
    assert message == (f"{HERE}:{line_of('the return')}: rule 'rule': expected 2 values, the new p and m in this "
                       "order, found 1 value; arguments between the gradient and '*' are state, those after '*' "
                       "hyperparameters")


def test_under_a_profiler():
    """A profiler keeps running, and errors point at the last return."""

    def rule(p, g, m):
        if m is None:
            return p
        return p - g  # the last return

    profiler = cProfile.Profile()
    profiler.enable()
    try:
        before = sys.getprofile()
        message = message_of(rule)
        assert sys.getprofile() is before
        assert "arith.subf" in heddle.rule(lambda p, g: p - g).mlir()
    finally:
        profiler.disable()
    assert message.startswith(f"{HERE}:{line_of('the last return')}: rule 'rule': expected 2 values")
    assert sys.getprofile() is None


def test_a_helper_of_the_user_is_the_users_line():
    def scale(x):
        return math.sqrt(x)  # the helper

    def rule(p, g, *, lr=0.1):
        return p - scale(g)

    assert message_of(rule).startswith(f"{HERE}:{line_of('the helper')}: float() and the functions of Python's math")


def test_an_unknown_function():
    def rule(p, g, *, lr=0.1):
        return p - lr * heddle.gelu(g)  # the unknown

    message = message_of(rule)
    assert message.startswith(f"{HERE}:{line_of('the unknown')}: there is no function heddle.gelu")
    assert "maximum" in message
    with pytest.raises(AttributeError, match="no attribute 'gelu'"):
        heddle.gelu


def test_other_exceptions_are_those_of_the_user():
    def rule(p, g):
        return {}["missing"] * p

    with pytest.raises(KeyError):
        heddle.rule(rule).mlir()


# Each expression, on line 3 of its file, and a part of the message.
EXPRESSIONS = {
    "p if g > 0 else g": "cannot test a condition of each element",
    "p if lr > 0 else g": "cannot test a condition of hyperparameters.*is an option",
    "p if heddle.norm(g) > 1 else g": "cannot test a condition of each tensor",
    "p if heddle.norm(g, 'list') > 1 else g": "cannot test a condition of the whole list",
    "p if heddle.step() == 1 else g": "cannot test a condition of each tensor",
    "p and g": "cannot test 'p'",
    "not p": "cannot test 'p'",
    "min(p, g)": "heddle.minimum",
    "0 < p < 1": "chained comparisons",
    "math.sqrt(g)": "functions of Python's math take numbers, found 'g'",
    "float(g)": "take numbers",
    "int(g)": "takes a number",
    "complex(g)": "takes a number",
    "math.floor(g)": "takes a number",
    "math.ceil(g)": "takes a number",
    "math.trunc(g)": "takes a number",
    "round(g)": "use heddle.round",
    "numpy.sqrt(g)": "numpy.sqrt takes arrays, found 'g': use heddle.sqrt",
    "numpy.where(g > 0, p, g)": "numpy.where takes arrays",
    "numpy.array(g)": "NumPy takes arrays",
    "numpy.linalg.norm(g)": "takes arrays",
    "numpy.mean(g)": "numpy.mean takes arrays",
    "numpy.vectorize(abs)(g)": "arrays",
    "max([p, g])": "heddle.maximum",
    "sorted([p, g])": "cannot test",
    "g in (p,)": "cannot test",
    "any([p > 0])": "cannot test",
    "numpy.ones(2) * g": "numpy.multiply takes arrays",
    "g * True": "expected a number or a value of the rule, found True",
    "g + None": "found None",
    "g + 'a'": "found 'a'",
    "g + [1]": "an object of type list",
    "g + (p > 0)": "expected a number, found a condition of each element: use heddle.where",
    "-(p > 0)": "expected a number, found a condition",
    "+(p > 0)": "expected a number, found a condition",
    "10**400 * p": "range of double precision",
    "p & 1": "expected a condition, such as a comparison, found 'p'",
    "(p > 0) & 1": "expected a condition, such as a comparison, found 1",
    "~p": "expected a condition",
    "p // 2": "'//' takes integers, found 'p': write heddle.floor.*or heddle.integer",
    "2 // p": "'//' takes integers, found 'p': write heddle.floor",
    "heddle.index() // 2.0": "'//' takes integers, found 2.0: write heddle.floor",
    "heddle.index() // 0": "'//': expected a divisor other than 0, found 0",
    "heddle.index() % 0": "'%': expected a divisor other than 0, found 0",
    "p % 2": "'%' takes integers, found 'p': write x - y . heddle.floor",
    "divmod(p, 2)": "heddle.floor",
    "numpy.float32(2) % p": "'%' takes integers, found ",
    "p @ g": "no operation '@'",
    "p << 1": "'<<' takes integers, found 'p': shifts",
    "2 >> p": "'>>' takes integers, found 'p': shifts",
    "heddle.index() << -1": "'<<': expected a number of bits of at least 0, found -1",
    "heddle.index() << 1.0": "'<<' takes integers, found 1.0",
    "heddle.index() & 1.0": "'&' takes integers, found 1.0: use heddle.integer",
    "heddle.index() & (p > 0)": "'&' takes integers, found a condition of each element",
    "True | heddle.index()": "'|' takes integers, found True",
    "heddle.index() + 2**63": "expected an integer of 64 bits, .*found 9223372036854775808",
    "p if heddle.index() else g": "cannot test heddle.index()",
    "p if heddle.extent() > 2 else g": "cannot test a condition of each tensor",
    "p if heddle.argmax(g) else g": "cannot test an integer of each tensor",
    "range(heddle.extent())": "whole numbers, found heddle.extent()",
    "heddle.index(0)": r"heddle.index: expected no arguments, found more",
    "heddle.extent(over='rows')": "heddle.extent: expected over='tensor' or over='list', found over='rows'",
    "heddle.argmax(lr)": "heddle.argmax: expected a value of each element, found the hyperparameter 'lr'",
    "heddle.argmin(heddle.extent())": "heddle.argmin: expected a value of each element, found heddle.extent()",
    "heddle.argmax(g > 0)": "expected a number, found a condition",
    "heddle.argmax(g, over='list')": r"heddle.argmax: expected the arguments \(x\), found another argument 'over'$",
    "heddle.norm(heddle.extent())": "heddle.norm: expected a value of each element, found heddle.extent()",
    "heddle.any(heddle.index())": "expected a condition",
    "heddle.where(heddle.index(), p, g)": "expected a condition, such as a comparison, found heddle.index()",
    "heddle.integer(p > 0)": "expected a number, found a condition",
    "heddle.integer('1')": "heddle.integer: expected a number or a value of a rule, found '1'",
    "heddle.bits(p, 16)": "heddle.bits: expected width=32 or width=64, found width=16",
    "heddle.bits(None)": "heddle.bits: expected a number or a value of a rule, found None",
    "heddle.from_bits(p)": "heddle.from_bits: expected an integer, found 'p': use heddle.integer or heddle.bits",
    "heddle.from_bits(1.0)": "heddle.from_bits: expected an integer, found 1.0",
    "heddle.from_bits(heddle.index(), width='a')": "heddle.from_bits: expected width=32 or width=64, found width='a'",
    "heddle.index() == (p > 0)": "expected a number, found a condition",
    "p[0]": "one element at a time",
    "len(p)": "one element at a time",
    "list(p)": "one element at a time",
    "1 in p": "one element at a time",
    "p.sqrt()": "'p' has no attribute 'sqrt': write heddle.sqrt",
    "p.grad": "'p' has no attribute 'grad'",
    "range(g)": "whole numbers",
    "heddle.sqrt('a')": "heddle.sqrt: expected a number or a value of a rule, found 'a'",
    "heddle.sqrt(p > 0)": "expected a number, found a condition",
    "heddle.where(g, p, g)": "expected a condition, such as a comparison, found 'g'",
    "heddle.where(1, p, g)": "heddle.where: expected a condition, such as a comparison, found 1",
    "heddle.where(p > 0, p > 1, g)": "expected a number, found a condition",
    "heddle.norm(lr)": "heddle.norm: expected a value of each element, found the hyperparameter 'lr'",
    "heddle.norm(lr, over='list')": "of each element or tensor, found the hyperparameter 'lr'",
    "heddle.norm(heddle.norm(g))": "heddle.norm: expected a value of each element, found a value of each tensor",
    "heddle.sum(g, over='all')": "expected over='tensor' or over='list', found over='all'",
    "heddle.sum(1.0)": "heddle.sum: expected a value of a rule, found 1.0",
    "heddle.any(g)": "expected a condition",
    "heddle.sqrt()": r"heddle.sqrt: expected the arguments \(x\), found none for 'x'$",
    "heddle.sqrt(p, g)": r"heddle.sqrt: expected the arguments \(x\), found more$",
    "heddle.sqrt(p, x=g)": r"heddle.sqrt: expected the arguments \(x\), found several values for 'x'$",
    "heddle.sqrt(y=p)": r"heddle.sqrt: expected the arguments \(x\), found none for 'x'$",
    "heddle.where(p > 0, g)": r"heddle.where: expected the arguments \(condition, a, b\), found none for 'b'$",
    "heddle.where(p > 0, None, g)": "heddle.where: expected a number or a value of a rule, found None",
    "heddle.maximum(p)": r"heddle.maximum: expected the arguments \(a, b\), found none for 'b'$",
    "heddle.maximum(p, None)": "heddle.maximum: expected a number or a value of a rule, found None",
    "heddle.pow(p, 'a')": "heddle.pow: expected a number or a value of a rule, found 'a'",
    "heddle.fma(p, g)": r"heddle.fma: expected the arguments \(a, b, c\), found none for 'c'$",
    "heddle.norm(g, axis=0)": r"heddle.norm: expected the arguments \(x, over\), found another argument 'axis'",
    "heddle.step(p)": r"heddle.step: expected no arguments, found more$",
    "heddle.hyper(1.0, least=0)": "heddle.hyper is the default of a parameter",
    "p(1)": "a value of a rule is a number of one element, found another use: 'Value' object is not callable",
    "f'{p:.2f}'": "a number of one element, found another use: .*__format__",
    "pow(p, 2, 3)": "a number of one element, found another use|is not supported",
    "[*map(p, [1])]": "a number of one element, found another use",
    "'%d' % p": "whole numbers|int|another use",
    "heddle.sum(g > 0)": "expected a number, found a condition",
    "heddle.element(True)": "heddle.element: expected a number",
    "p > g": "expected a number as the new value of 'p', found a condition of each element",
    "None": "expected a number as the new value of 'p', found None",
    "'a'": "expected a number as the new value of 'p', found 'a'",
    "(p, g)": "expected 1 value, the new p, found 2 values",
    "p": "expected a new value, found only the old ones",
    "()": "expected 1 value, the new p, found 0 values",
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression, tmp_path):
    path = tmp_path / "users_rule.py"
    path.write_text(f"def rule(p, g, *, lr=0.1):\n    one = 1\n    return {expression}\n")
    names = {"heddle": heddle, "math": math, "numpy": numpy}
    exec(compile(path.read_text(), str(path), "exec"), names)
    message = message_of(names["rule"])
    assert message.startswith(f"{path}:3: ") and re.search(EXPRESSIONS[expression], message), message


def test_torch_functions():
    torch = pytest.importorskip("torch")

    def rule(p, g):
        return p - torch.sqrt(g)  # torch

    message = message_of(rule)
    assert message.startswith(f"{HERE}:{line_of('torch')}: torch.sqrt takes tensors")

    def other(p, g):
        return p - torch.norm(g)  # a function in Python

    message = message_of(other)
    assert message.startswith(f"{HERE}:{line_of('a function in Python')}: torch.norm takes tensors")


SIGNATURES = {
    "p": "at least two positional parameters",
    "p, *g": "parameters with names, found",
    "p, g, **rest": "parameters with names, found",
    "p, g=0": "without defaults",
    "p, g, m=None": "the value of the state 'm' before the first step, found None.*follow a",
    "p, g, lr=True": "the value of the state 'lr' before the first step",
    "p, g, param": "'param' is the name of another list",
    "p, g, step": "'step' is the name of another list",
    "p, g, *, step=1": "the name 'step' has a meaning",
    "p, g, *, dtype='f32'": "the name 'dtype' has a meaning",
    "p, g, *, lr": "expected a default of 'lr'",
    "p, g, *, lr=[1]": r"as the default of 'lr'.*found \[1\]",
    "p, g, *, lr=float('inf')": "finite number",
    "p, g, *, betas=(0.9, None)": "tuple of numbers",
    "p, g, b_0, *, b=(0.9, 0.99)": "two arguments of the program have the name 'b_0'",
    "p, g, *, b=(0.9, 0.99), b_0=1.0": "two arguments of the program have the name 'b_0'",
    "p, g, *, b_1=1.0, b=(0.9, 0.99)": "two arguments of the program have the name 'b_1'",
    **{
        f"p, g, *, {name}=1.0": f"the name '{name}' has a meaning"
        for name in ("seed", "name", "param_names", "foreach", "fused", "capturable", "differentiable")
    },
    **{f"p, g, {name}": f"'{name}' is the name of another list" for name in ("seed", "master_param", "ema", "norm")},
    "p, g, *, größe=1.0": "ASCII",
}


@pytest.mark.parametrize("parameters", SIGNATURES)
def test_signatures(parameters, tmp_path):
    path = tmp_path / "users_rule.py"
    path.write_text(f"import heddle\n\n@heddle.rule\ndef rule({parameters}):\n    return p\n")
    with pytest.raises(heddle.BadInput, match=SIGNATURES[parameters]) as caught:
        exec(compile(path.read_text(), str(path), "exec"), {})
    assert str(caught.value).startswith(f"{path}:4: rule 'rule': ")


@heddle.rule
def scaled(p, g, *, lr=0.1, betas=(0.9, 0.99), mode="plain", limit=None):
    g = g if limit is None else heddle.minimum(g, limit)
    return p - lr * (heddle.sign(g) if mode == "sign" else g) * betas[0]


@pytest.mark.parametrize(("settings", "message"), [
    ({"lr": None}, "scaled: expected a finite number for the hyperparameter 'lr', found None"),
    ({"lr": 10**400}, "expected a finite number"),
    ({"lr": True}, "hyperparameter 'lr', found True"),
    ({"lr": float("nan")}, "finite"),
    ({"lr": (1, 2)}, "expected a finite number"),
    ({"betas": 0.9}, "expected a tuple of 2 finite numbers for the hyperparameter 'betas', found 0.9"),
    ({"betas": (1, 2, 3)}, "expected a tuple of 2"),
    ({"mode": ["plain"]}, "for the option 'mode', found an object of type list"),
    ({"limit": float("nan")}, "for the option 'limit', found nan"),
    ({"momentum": 1},
     "there is no argument 'momentum'. The arguments are dtype, state, groups, lr, betas, mode, limit"),
    ({"dtype": "i32"}, "dtype: expected one or several of f64, f32, f16, bf16"),
    ({"dtype": "f32/f32"}, "dtype: expected one or several"),
    ({"dtype": "float"}, "dtype: expected one of"),
    ({"state": "i8"}, "state: expected param"),
])
def test_arguments(settings, message):
    with pytest.raises(heddle.BadInput) as caught:
        scaled.mlir(**settings)
    assert message in str(caught.value)


def test_names_of_families():
    @heddle.rule
    def rule(p, g, m, *, m_f32=0.1):
        return p - m_f32 * g, m + g

    assert "%m_f32: tensor<f64>" in rule.mlir()
    with pytest.raises(heddle.BadInput, match="rule: two arguments of the program have the name 'm_f32'"):
        rule.mlir(dtype="f32/bf16")


def test_a_rule_is_a_function():
    with pytest.raises(heddle.BadInput, match="expected a function, found an object of type int"):
        heddle.rule(1)


def test_functions_outside_of_rules():
    with pytest.raises(heddle.BadInput, match=re.escape(f"{HERE}:{line_of('no rule')}: heddle.step()")):
        heddle.step()  # no rule
    with pytest.raises(heddle.BadInput, match=re.escape(f"{HERE}:{line_of('no index')}: heddle.index() is the position")):
        heddle.index()  # no index
    with pytest.raises(heddle.BadInput, match=re.escape(f"{HERE}:{line_of('no extent')}: heddle.extent() is the number")):
        heddle.extent()  # no extent


def test_a_copy_of_a_value_is_the_value():
    def copies(p, g):
        return copy.deepcopy([p])[0] - copy.copy(g)

    def plain(p, g):
        return p - g

    texts = [heddle.rule(rule).mlir().replace("copies", "plain") for rule in (copies, plain)]
    assert texts[0] == texts[1]


def test_a_value_belongs_to_one_run():
    kept = []

    def first(p, g):
        kept.append(g)
        return p - g

    def second(p, g):
        return p - kept[0]

    heddle.rule(first).mlir()
    assert "belongs to another run" in message_of(second)


def test_nothing_is_kept_of_a_run_with_a_mistake():
    fails = [True]

    @heddle.rule
    def rule(p, g, *, lr=0.1):
        return p - lr * (math.sqrt(g) if fails[0] else heddle.step() * g)

    with pytest.raises(heddle.BadInput):
        rule.mlir()
    with pytest.raises(heddle.BadInput, match="outside|call it in a function"):
        heddle.step()
    fails[0] = False
    assert "%step: " in rule.mlir()


def test_a_decorator_with_parentheses():
    with pytest.raises(heddle.BadInput) as caught:
        @heddle.rule()  # parentheses
        def descend(p, g, *, lr=0.1):
            return p - lr * g

    assert isinstance(caught.value, TypeError)
    assert str(caught.value).startswith(f"{HERE}:{line_of('parentheses')}: heddle.rule: expected the arguments (function)")
    assert str(caught.value).endswith("stands without parentheses: '@heddle.rule'")


def test_exceptions_of_the_users_own_calls_stay_theirs():
    def scale(x):
        return x

    def rule(p, g):
        return p - scale(g, 2)

    with pytest.raises(TypeError, match=r"scale\(\) takes 1 positional argument") as caught:
        heddle.rule(rule).mlir()
    assert not isinstance(caught.value, heddle.BadInput)


# --- ranges of hyperparameters ----------------------------------------------------------------------------------------


@heddle.rule
def ranged(p, g, m, *, lr=heddle.hyper(0.1, least=0), betas=heddle.hyper((0.9, 0.99), least=0, below=1),
           eps=heddle.hyper(1e-8, above=0, most=1)):
    return p - lr * g / (m + eps), betas[0] * m + betas[1] * g


@pytest.mark.parametrize("settings, message", [
    ({"lr": -0.1}, "ranged: expected lr of at least 0, found -0.1"),
    ({"betas": (0.9, 1.0)}, r"ranged: expected betas of at least 0 and below 1, found \(0.9, 1.0\)"),
    ({"betas": (-0.5, 0.5)}, "ranged: expected betas of at least 0 and below 1"),
    ({"eps": 0}, "ranged: expected eps of at most 1 and above 0, found 0"),
    ({"eps": 1.5}, "ranged: expected eps of at most 1 and above 0, found 1.5"),
    ({"lr": float("nan")}, "expected a finite number"),
])
def test_values_out_of_range(settings, message):
    with pytest.raises(heddle.BadInput, match=message):
        ranged.mlir(**settings)


def test_values_in_range():
    text = ranged.mlir(lr=0, betas=(0, 0.5), eps=1)
    assert text.count("foreach.default") == 4 and ranged.mlir() != text
    assert ranged.function(1.0, 2.0, 3.0) == (pytest.approx(1 - 0.1 * 2 / (3 + 1e-8)), pytest.approx(0.9 * 3 + 0.99 * 2))


@pytest.mark.parametrize("make, message", [
    (lambda: heddle.hyper(-1.0, least=0), "expected a default of at least 0, found -1.0"),
    (lambda: heddle.hyper(0.0, least=1e6), "expected a default of at least 1000000, found 0.0"),
    (lambda: heddle.hyper((0.9, 1.0), below=1), r"expected a default of below 1, found \(0.9, 1.0\)"),
    (lambda: heddle.hyper(0.1), "expected at least one of least, most, above and below, found none"),
    (lambda: heddle.hyper("a", least=0), "expected a finite number or a tuple of them, found 'a'"),
    (lambda: heddle.hyper(0.1, least="a"), "expected a number for least, found 'a'"),
    (lambda: heddle.hyper(0.1, most=float("nan")), "expected a number for most, found nan"),
    (lambda: heddle.hyper(0.1, 0), r"expected the arguments \(default, least, most, above, below\), found more$"),
])
def test_wrong_ranges(make, message):
    with pytest.raises(heddle.BadInput, match=rf"{re.escape(str(HERE))}:\d+: heddle.hyper: {message}"):
        make()


@pytest.mark.parametrize("value", [10**400, -(10**400), fractions.Fraction(10**400, 3), numpy.longdouble("1e400")], ids=lambda each: type(each).__name__)
def test_numbers_beyond_double_precision(value):
    """As a new value, and as an operand: the error has the place in the rule."""
    if isinstance(value, numpy.longdouble) and numpy.isinf(value):
        pytest.skip("long double is double here")

    def new_param(p, g):
        return value

    def new_state(p, g, m):
        return p - g, value

    def operand(p, g):
        return heddle.where(p > value, p, g)

    for function, name in ((new_param, "p"), (new_state, "m"), (operand, None)):
        with pytest.raises(heddle.BadInput) as caught:
            heddle.rule(function).mlir()
        line = function.__code__.co_firstlineno + (name is None)
        text = str(caught.value)
        assert "test_rule_errors.py:" in text and "expected a number in the range of double precision" in text, line
        assert name is None or f"as the new value of '{name}', found" in text


@pytest.mark.parametrize("entry, value, spoken", (("lr", True, "lr"), ("betas", (0.9, False), r"betas\[1\]")))
def test_a_bool_is_no_number_also_in_a_group_that_has_changed(entry, value, spoken):
    torch = pytest.importorskip("torch")
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    optimizer = ranged([param])
    optimizer.step()
    before = param.detach().clone()
    optimizer.param_groups[0][entry] = value
    with pytest.raises(heddle.BadInput, match=f"ranged: expected a number for the hyperparameter '{spoken}', found"):
        optimizer.step()
    assert torch.equal(param, before)
