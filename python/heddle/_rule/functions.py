"""The functions that a rule may call. Those of numbers also take plain numbers, and return plain numbers then.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import builtins
import functools
from typing import Protocol, TypeVar, overload

from .. import _FUNCTIONS
from .._values import short
from . import tracing
from .integers import bits as bits
from .integers import extent as extent
from .integers import from_bits as from_bits
from .integers import index as index
from .integers import integer as integer
from .nodes import Level, calls_checked, fail
from .ops import OF_PLAIN_INTEGERS, OPS
from .reductions import all as all
from .reductions import amax as amax
from .reductions import amin as amin
from .reductions import any as any
from .reductions import argmax as argmax
from .reductions import argmin as argmin
from .reductions import mean as mean
from .reductions import norm as norm
from .reductions import sum as sum
from .signature import PerTensor, Range, RangedNumber, RangedTuple, read_number
from .values import Value, arithmetic, as_float, choose, describe, is_integer, is_number, numeric_node, power, trace_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: A plain number or a value of a rule.
Number = TypeVar("Number", float, Value)
#: The same, where an integer stays one.
NumberOrInteger = TypeVar("NumberOrInteger", int, float, Value)


class Binary(Protocol):
    """A function of two numbers."""

    @overload
    def __call__(self, a: float, b: float) -> float: ...
    @overload
    def __call__(self, a: Value, b: Value | float) -> Value: ...
    @overload
    def __call__(self, a: float, b: Value) -> Value: ...


class BinaryOfIntegers(Protocol):
    """A function of two numbers whose value of integers is an integer."""

    @overload
    def __call__(self, a: int, b: int) -> int: ...
    @overload
    def __call__(self, a: float, b: float) -> float: ...
    @overload
    def __call__(self, a: Value, b: Value | float) -> Value: ...
    @overload
    def __call__(self, a: float, b: Value) -> Value: ...


def _expect_numbers(function: str, *operands: object) -> None:
    for operand in operands:
        if isinstance(operand, Value) and operand._node.is_flag:
            fail(
                f"heddle.{function}: expected a number, found {describe(operand)}: use heddle.where(condition, a, b)"
            )
        if not isinstance(operand, Value) and not is_number(operand):
            fail(f"heddle.{function}: expected a number or a value of a rule, found {short(operand)}")
        if isinstance(operand, int):
            as_float(operand)


def _apply(op: str, *operands: Any) -> Any:
    _expect_numbers(op, *operands)
    if trace_of(*operands) is not None:
        return arithmetic(op, *operands)
    if op in OF_PLAIN_INTEGERS and builtins.all(map(is_integer, operands)):
        return OF_PLAIN_INTEGERS[op](*map(int, operands))
    return OPS[op].evaluate(*operands)


def _binary(function: Callable[[Any, Any], Any]) -> Binary:
    """A function of two numbers, typed."""
    typed: Binary = _two_arguments(function)
    return typed


def _binary_of_integers(function: Callable[[Any, Any], Any]) -> BinaryOfIntegers:
    """A function of two numbers that keeps integers, typed."""
    typed: BinaryOfIntegers = _two_arguments(function)
    return typed


def _two_arguments(function: Callable[[Any, Any], Any]) -> Any:

    @functools.wraps(function)
    def call(a: Any, b: Any) -> Any:
        return function(a, b)

    return call


# ----------------------------------------------------------------------------------------------------------------------
# Functions of one number
# ----------------------------------------------------------------------------------------------------------------------


def sign(x: Number) -> Number:
    """-1 or 1 for a negative or positive number; zeros, of either sign, and NaN stay as they are."""
    value: Number = _apply("sign", x)
    return value


def abs(x: NumberOrInteger) -> NumberOrInteger:
    """The magnitude; Python's ``abs`` is the same. That of an integer is an integer."""
    value: NumberOrInteger = _apply("abs", x)
    return value


def floor(x: Number) -> Number:
    """The largest whole number that is at most x."""
    value: Number = _apply("floor", x)
    return value


def ceil(x: Number) -> Number:
    """The smallest whole number that is at least x."""
    value: Number = _apply("ceil", x)
    return value


def trunc(x: Number) -> Number:
    """The whole part of x: rounded towards 0."""
    value: Number = _apply("trunc", x)
    return value


def round(x: Number) -> Number:
    """The nearest whole number; of two, the even one, as Python's ``round``."""
    value: Number = _apply("round", x)
    return value


def round_away(x: Number) -> Number:
    """The nearest whole number; of two, the one away from 0, as ``round`` of C."""
    value: Number = _apply("round_away", x)
    return value


def sqrt(x: Number) -> Number:
    """The square root, correctly rounded; NaN for a negative number."""
    value: Number = _apply("sqrt", x)
    return value


def rsqrt(x: Number) -> Number:
    """1 / sqrt(x), within 2 ulp."""
    value: Number = _apply("rsqrt", x)
    return value


def exp(x: Number) -> Number:
    """e to the power x."""
    value: Number = _apply("exp", x)
    return value


def exp2(x: Number) -> Number:
    """2 to the power x."""
    value: Number = _apply("exp2", x)
    return value


def expm1(x: Number) -> Number:
    """exp(x) - 1, also accurate for small x."""
    value: Number = _apply("expm1", x)
    return value


def log(x: Number) -> Number:
    """The natural logarithm; -inf for 0, NaN for a negative number."""
    value: Number = _apply("log", x)
    return value


def log2(x: Number) -> Number:
    """The logarithm to the base 2."""
    value: Number = _apply("log2", x)
    return value


def log10(x: Number) -> Number:
    """The logarithm to the base 10."""
    value: Number = _apply("log10", x)
    return value


def log1p(x: Number) -> Number:
    """log(1 + x), also accurate for small x."""
    value: Number = _apply("log1p", x)
    return value


def tanh(x: Number) -> Number:
    """The hyperbolic tangent."""
    value: Number = _apply("tanh", x)
    return value


def sin(x: Number) -> Number:
    """The sine of x in radians."""
    value: Number = _apply("sin", x)
    return value


def cos(x: Number) -> Number:
    """The cosine of x in radians."""
    value: Number = _apply("cos", x)
    return value


def tan(x: Number) -> Number:
    """The tangent of x in radians."""
    value: Number = _apply("tan", x)
    return value


def atan(x: Number) -> Number:
    """The angle in radians whose tangent is x."""
    value: Number = _apply("atan", x)
    return value


def erf(x: Number) -> Number:
    """The error function."""
    value: Number = _apply("erf", x)
    return value


# ----------------------------------------------------------------------------------------------------------------------
# Functions of several numbers
# ----------------------------------------------------------------------------------------------------------------------


@_binary
def pow(a: Any, b: Any) -> Any:
    """a to the power b, as ``a ** b``.

    The exponents 0.5, 1, 2 and 3 give a square root and products. Other whole numbers, and `step` plus or minus a whole
    number, give powers by repeated squaring.
    """
    _expect_numbers("pow", a, b)
    return _apply("pow", a, b) if trace_of(a, b) is None else power(a, b)


@_binary_of_integers
def maximum(a: Any, b: Any) -> Any:
    """The larger number; NaN if either is NaN. That of integers is an integer."""
    return _apply("maximum", a, b)


@_binary_of_integers
def minimum(a: Any, b: Any) -> Any:
    """The smaller number; NaN if either is NaN. That of integers is an integer."""
    return _apply("minimum", a, b)


@_binary_of_integers
def fmax(a: Any, b: Any) -> Any:
    """The larger number; if one is NaN, the other. That of integers is an integer."""
    return _apply("fmax", a, b)


@_binary_of_integers
def fmin(a: Any, b: Any) -> Any:
    """The smaller number; if one is NaN, the other. That of integers is an integer."""
    return _apply("fmin", a, b)


@_binary
def copysign(a: Any, b: Any) -> Any:
    """The magnitude of a with the sign of b."""
    return _apply("copysign", a, b)


@_binary
def fmod(a: Any, b: Any) -> Any:
    """The remainder of a / b, exact, with the sign of a, as ``math.fmod``; NaN if b is 0 or a is infinite."""
    return _apply("fmod", a, b)


@_binary
def atan2(a: Any, b: Any) -> Any:
    """The angle in radians of the point with the coordinates b and a, from -pi to pi."""
    return _apply("atan2", a, b)


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""
    return _apply("fma", a, b, c)


# ----------------------------------------------------------------------------------------------------------------------
# Conditions
# ----------------------------------------------------------------------------------------------------------------------


@overload
def isnan(x: float) -> bool: ...
@overload
def isnan(x: Value) -> Value: ...
def isnan(x: Any) -> Any:
    """Whether x is NaN."""
    return _apply("isnan", x)


@overload
def isinf(x: float) -> bool: ...
@overload
def isinf(x: Value) -> Value: ...
def isinf(x: Any) -> Any:
    """Whether x is infinite."""
    return _apply("isinf", x)


@overload
def isfinite(x: float) -> bool: ...
@overload
def isfinite(x: Value) -> Value: ...
def isfinite(x: Any) -> Any:
    """Whether x is neither infinite nor NaN."""
    return _apply("isfinite", x)


@overload
def where(condition: bool, a: Number, b: Number) -> Number: ...
@overload
def where(condition: Value, a: Value | float, b: Value | float) -> Value: ...
def where(condition: Any, a: Any, b: Any) -> Any:
    """a if the condition holds, else b. Both are computed; the value that is not taken has no effect.

    If one is an integer of the rule and the other an integer, too, so is the value.

    Args:
        condition: a comparison, or several joined by ``&``, ``|``, ``^`` and ``~``; or a plain bool.
        a, b: numbers or values of the rule.
    """
    if isinstance(condition, bool):
        return a if condition else b
    if not isinstance(condition, Value):
        fail(f"heddle.where: expected a condition, such as a comparison, found {short(condition)}")
    _expect_numbers("where", a, b)
    return choose(condition, a, b)


# ----------------------------------------------------------------------------------------------------------------------
# Levels
# ----------------------------------------------------------------------------------------------------------------------


def step() -> Value:
    """The number of steps of this tensor, with this one: 1 in its first step.

    The program gets a list ``step``, one float32 per tensor, which starts at 0 and which every step increments.
    """
    trace = tracing.current()
    if trace is None:
        fail("heddle.step() is the step counter of a rule: call it in a function with the decorator heddle.rule")
    return Value(trace, trace.leaf("step", None, Level.MEMBER))


def per_tensor(initial: float = 0.0) -> Any:
    """The default of a state that has one value for each tensor, such as a step size.

        def rule(p, g, size=heddle.per_tensor(1e-3), *, grow=1.2):
            ...

    The state is one float32 for each tensor, computed in double. Its new value may depend on the elements only through
    `sum`, `mean`, `norm`, `amax`, `amin`, `any` or `all`.

    Args:
        initial: its value before the first step.
    """
    if tracing.current() is not None:
        fail("heddle.per_tensor is the default of a parameter of a rule, such as 'size=heddle.per_tensor(1e-3)'")
    if not is_number(initial):
        fail(f"heddle.per_tensor: expected a number, found {short(initial)}")
    return PerTensor(as_float(initial))


@overload
def hyper(
    default: float,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> float: ...
@overload
def hyper(
    default: tuple[float, ...],
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> tuple[float, ...]: ...
def hyper(
    default: Any,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Any:
    """The default of a hyperparameter with a range. Another value is an error.

        def rule(p, g, m, *, lr=heddle.hyper(1e-3, least=0), betas=heddle.hyper((0.9, 0.99), least=0, below=1)):
            ...

    The range is checked when a program or an optimizer is made, when a group is added, and in the first step after an
    entry of a group has changed; not that of a tensor on a GPU, which is not read.

    Args:
        default: a number, or a tuple of numbers, each of which has the range.
        least, most: the smallest and the largest value.
        above, below: numbers that all values are above or below.

    Returns:
        The default, a number or a tuple.
    """
    if tracing.current() is not None:
        fail("heddle.hyper is the default of a parameter of a rule, such as 'lr=heddle.hyper(1e-3, least=0)'")
    number = read_number(default)
    if number is None:
        fail(f"heddle.hyper: expected a finite number or a tuple of them, found {short(default)}")
    bounds = {"least": least, "most": most, "above": above, "below": below}
    for name, bound in bounds.items():
        if bound is not None and not (is_number(bound) and bound == bound):
            fail(f"heddle.hyper: expected a number for {name}, found {short(bound)}")
    allowed = Range(*(None if bound is None else as_float(bound) for bound in bounds.values()))
    if allowed == Range():
        fail("heddle.hyper: expected at least one of least, most, above and below, found none")
    for each in number if isinstance(number, tuple) else (number,):
        if not allowed.has(each):
            fail(f"heddle.hyper: expected a default of {allowed}, found {short(default)}")
    made: Any = RangedTuple(number) if isinstance(number, tuple) else RangedNumber(number)
    made.range = allowed
    return made


def element(x: Number) -> Number:
    """The value rounded to the type in which elements are computed: float32, or float64 if parameters are float64.

    Arithmetic with it is arithmetic of elements. Without it, arithmetic of hyperparameters and of values of a tensor is
    in double, before elements are visited. A plain number is returned as it is; an integer stays one.
    """
    if not isinstance(x, Value):
        if not is_number(x):
            fail(f"heddle.element: expected a number or a value of a rule, found {short(x)}")
        return x
    node = numeric_node(x._trace, x)
    if node.level == Level.ELEMENT:
        return x
    return Value(x._trace, x._trace.node("element", (node,), kind=node.kind, level=Level.ELEMENT))


for _name in _FUNCTIONS.split():
    globals()[_name] = calls_checked(_name, globals()[_name])
