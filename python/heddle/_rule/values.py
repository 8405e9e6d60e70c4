"""The values that a rule computes with while it is traced.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import functools
import math
import numbers

from .._values import short
from ..errors import BadInput
from .nodes import Kind, Level, Node, Trace, fail, user_line
from .ops import OPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

#: A rule tests nothing while it is traced.
_NO_TRUTH = (
    "Python cannot test {what} while the rule is traced: 'if', 'and', 'or', 'not', 'min', 'max' and chained "
    "comparisons need its value. Use heddle.where(condition, a, b), '&', '|', '~', heddle.minimum or heddle.maximum"
)
_SCALAR = "a rule computes with one element at a time"
_DECLARE = ". A parameter with a bool, a string or None as its default is an option, which Python can test"


class _NoAttribute(BadInput, AttributeError):
    """A value has no such attribute."""


class Value:
    """A scalar of a rule: one element of a list, one value for each tensor, or a hyperparameter.

    Values support ``+ - * / **``, ``abs``, comparisons, and ``& | ^ ~`` of comparisons, also with plain numbers. Integers,
    such as `heddle.index`, also support ``// % << >> & | ^ ~`` with integers. The functions of heddle take values, such as
    `heddle.sqrt` and `heddle.where`. Python cannot test a value (``if``, ``and``), convert it to a number or pass it to
    NumPy: each is a `BadInput` that points at the line.
    """

    __slots__ = ("_trace", "_node")

    def __init__(self, trace: Trace, node: Node) -> None:
        self._trace = trace
        self._node = node

    def __copy__(self) -> Value:
        return self  # values do not change

    def __deepcopy__(self, _: Any) -> Value:
        return self

    def __add__(self, other: Value | float) -> Value:
        return arithmetic("add", self, other)

    def __radd__(self, other: float) -> Value:
        return arithmetic("add", other, self)

    def __sub__(self, other: Value | float) -> Value:
        return arithmetic("sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return arithmetic("sub", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return arithmetic("mul", self, other)

    def __rmul__(self, other: float) -> Value:
        return arithmetic("mul", other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return arithmetic("div", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return arithmetic("div", other, self)

    def __pow__(self, other: Value | float) -> Value:
        return power(self, other)

    def __rpow__(self, other: float) -> Value:
        return power(other, self)

    def __neg__(self) -> Value:
        return integers("sub", 0, self) if self._node.is_integer else arithmetic("neg", self)

    def __pos__(self) -> Value:
        numeric_node(self._trace, self)
        return self

    def __abs__(self) -> Value:
        return arithmetic("abs", self)

    def __lt__(self, other: Value | float) -> Value:
        return arithmetic("lt", self, other)

    def __le__(self, other: Value | float) -> Value:
        return arithmetic("le", self, other)

    def __gt__(self, other: Value | float) -> Value:
        return arithmetic("gt", self, other)

    def __ge__(self, other: Value | float) -> Value:
        return arithmetic("ge", self, other)

    def __eq__(self, other: Value | float) -> Value:  # type: ignore[override]
        return arithmetic("eq", self, other)

    def __ne__(self, other: Value | float) -> Value:  # type: ignore[override]
        return arithmetic("ne", self, other)

    __hash__ = object.__hash__

    def __and__(self, other: Value | bool) -> Value:
        return logic("and", self, other)

    def __rand__(self, other: bool) -> Value:
        return logic("and", other, self)

    def __or__(self, other: Value | bool) -> Value:
        return logic("or", self, other)

    def __ror__(self, other: bool) -> Value:
        return logic("or", other, self)

    def __xor__(self, other: Value | bool) -> Value:
        return logic("xor", self, other)

    def __rxor__(self, other: bool) -> Value:
        return logic("xor", other, self)

    def __invert__(self) -> Value:
        return logic("xor", self, -1 if self._node.is_integer else True)

    def __floordiv__(self, other: Value | int) -> Value:
        return floor_divide(self, other)

    def __rfloordiv__(self, other: int) -> Value:
        return floor_divide(other, self)

    def __mod__(self, other: Value | int) -> Value:
        return floor_remainder(self, other)

    def __rmod__(self, other: int) -> Value:
        return floor_remainder(other, self)

    def __divmod__(self, other: Value | int) -> tuple[Value, Value]:
        return floor_divide(self, other), floor_remainder(self, other)

    def __rdivmod__(self, other: int) -> tuple[Value, Value]:
        return floor_divide(other, self), floor_remainder(other, self)

    def __lshift__(self, other: Value | int) -> Value:
        return shift("<<", self, other)

    def __rlshift__(self, other: int) -> Value:
        return shift("<<", other, self)

    def __rshift__(self, other: Value | int) -> Value:
        return shift(">>", self, other)

    def __rrshift__(self, other: int) -> Value:
        return shift(">>", other, self)

    # --- Python asks for a value that is not known while the rule is traced -------------------------------------------

    def __bool__(self) -> bool:
        declare = _DECLARE if self._node.level == Level.HYPER else ""
        fail(_NO_TRUTH.format(what=describe(self)) + declare)

    def __float__(self) -> float:
        self._refuse("float() and the functions of Python's math take numbers")

    def __int__(self) -> int:
        self._refuse("int() takes a number")

    def __index__(self) -> int:
        self._refuse("range() and indices take whole numbers")

    def __complex__(self) -> complex:
        self._refuse("complex() takes a number")

    def __round__(self, digits: int | None = None) -> NoReturn:
        self._refuse("round() takes a number", "use heddle.round")

    def __floor__(self) -> NoReturn:
        self._refuse("math.floor takes a number")

    def __ceil__(self) -> NoReturn:
        self._refuse("math.ceil takes a number")

    def __trunc__(self) -> NoReturn:
        self._refuse("math.trunc takes a number")

    def __len__(self) -> int:
        self._refuse("len() takes a sequence", _SCALAR)

    def __iter__(self) -> NoReturn:
        self._refuse("a loop and an assignment to several names need a sequence", _SCALAR)

    def __contains__(self, other: object) -> bool:
        self._refuse("'in' takes a sequence", _SCALAR)

    def __getitem__(self, index: object) -> NoReturn:
        self._refuse("an index takes a sequence", _SCALAR)

    def __matmul__(self, other: object) -> NoReturn:
        self._refuse("there is no operation '@'", _SCALAR)

    __rmatmul__ = __matmul__

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        hint = f"write heddle.{name}(x)" if name in OPS else "a value of a rule is a scalar, see docs/rule.md"
        raise _NoAttribute(f"{user_line()}: {describe(self)} has no attribute '{name}': {hint}")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Value:
        # NumPy's scalars on the left of an operator come here.
        if method == "__call__" and len(inputs) == 2 and not options and ufunc.__name__ in _UFUNCS:
            if all(isinstance(each, Value) or is_number(each) for each in inputs):
                return _UFUNCS[ufunc.__name__](*inputs)
        name = ufunc.__name__
        self._refuse(f"numpy.{name} takes arrays", f"use heddle.{name}" if name in OPS else "see docs/rule.md")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> NoReturn:
        self._refuse(f"numpy.{function.__name__} takes arrays")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._refuse("NumPy takes arrays and numbers")

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> NoReturn:
        name = getattr(function, "__name__", "a function")
        fail(f"torch.{name} takes tensors, found a value of a rule, which is a scalar: use the functions of heddle")

    def _refuse(self, why: str, remedy: str = "use the functions of heddle") -> NoReturn:
        fail(f"{why}, found {describe(self)}: {remedy}")

    def __repr__(self) -> str:
        return f"<heddle.Value: {describe(self)}>"




def describe(value: Value) -> str:
    """A value in words, for messages."""
    node = value._node
    if node.op == "hyper":
        return f"the hyperparameter '{node.payload}'"
    if node.op == "list":
        return f"'{node.payload}'"
    if node.op == "step":
        return "heddle.step()"
    if node.op == "index":
        return "heddle.index()"
    if node.counts_elements:
        return "heddle.extent()"
    noun = {Kind.NUMBER: "a value", Kind.INTEGER: "an integer", Kind.FLAG: "a condition"}[node.kind]
    over = {
        Level.CONSTANT: "",
        Level.HYPER: " of hyperparameters",
        Level.LIST: " of the whole list",
        Level.MEMBER: " of each tensor",
        Level.ELEMENT: " of each element",
    }[node.level]
    return f"{noun}{over}"


def is_number(value: object) -> bool:
    """Whether `value` is a plain number: Python's or NumPy's, and no bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_integer(value: object) -> bool:
    """Whether `value` is an integer: a traced one, or a plain one of Python or NumPy, and no bool."""
    if isinstance(value, Value):
        return value._node.is_integer
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def are_integers(*values: object) -> bool:
    """Whether all values are integers, and one is traced."""
    return all(map(is_integer, values)) and any(isinstance(value, Value) for value in values)


def trace_of(*values: object) -> Trace | None:
    """The trace of the first traced value, or None if all are plain."""
    for value in values:
        if isinstance(value, Value):
            return value._trace
    return None


def number_node(trace: Trace, value: object) -> Node:
    """The node of a number: a traced value, an integer as a number, or a constant."""
    node = numeric_node(trace, value)
    return trace.node("number", (node,)) if node.is_integer else node


def numeric_node(trace: Trace, value: object) -> Node:
    """The node of a number or of a traced integer; plain integers are numbers."""
    if isinstance(value, Value):
        if value._node.is_flag:
            fail(f"expected a number, found {describe(value)}: use heddle.where(condition, a, b)")
        return _own(trace, value)
    if not is_number(value):
        plain = isinstance(value, (bool, str, type(None)))
        found = repr(value) if plain else f"an object of type {type(value).__name__}"
        fail(f"expected a number or a value of the rule, found {found}")
    return trace.constant(as_float(value))


def integer_node(trace: Trace, value: object) -> Node:
    """The node of an integer: a traced value, or a constant."""
    if isinstance(value, Value):
        return _own(trace, value)
    assert isinstance(value, numbers.Integral)
    number = int(value)
    if not -(2**63) <= number < 2**63:
        fail(f"expected an integer of 64 bits, from -2**63 to 2**63 - 1, found {short(value)}")
    return trace.whole(number)


def flag_node(trace: Trace, value: object) -> Node:
    """The node of a condition that is a traced value."""
    if not isinstance(value, Value):
        fail(f"expected a condition, such as a comparison, found {short(value)}")
    if not value._node.is_flag:
        fail(f"expected a condition, such as a comparison, found {describe(value)}: compare it with a number")
    return _own(trace, value)


def _own(trace: Trace, value: Value) -> Node:
    if value._trace is not trace:
        fail(f"{describe(value)} belongs to another run of a rule: a value must not be kept between runs")
    return value._node


def as_float(value: Any) -> float:
    """A plain number in double precision."""
    found = in_double(value)
    if found is None:
        fail(f"expected a number in the range of double precision, found {short(value)}")
    return found


def in_double(value: Any) -> float | None:
    """A plain number in double precision; None if it is finite and beyond the range."""
    try:
        found = float(value)
    except OverflowError:
        return None
    return None if math.isinf(found) and value != found else found


def arithmetic(op: str, *operands: object) -> Value:
    """The value of an operation of numbers; at least one operand is traced."""
    if OPS[op].of_integers and are_integers(*operands):
        return integers(op, *operands)
    trace = trace_of(*operands)
    assert trace is not None
    nodes = tuple(number_node(trace, operand) for operand in operands)
    if op == "pow":
        return power(*operands)
    node = trace.node(op, nodes, kind=Kind.FLAG if OPS[op].gives_flag else Kind.NUMBER)
    if op in ("add", "sub"):
        _note_whole(node)
    return Value(trace, node)


def integers(op: str, *operands: object) -> Value:
    """The value of an operation of integers; at least one operand is traced."""
    trace = trace_of(*operands)
    assert trace is not None
    nodes = tuple(integer_node(trace, operand) for operand in operands)
    compares = OPS[op].gives_flag and not OPS[op].takes_flags
    return Value(trace, trace.node(op, nodes, kind=Kind.FLAG if compares else Kind.INTEGER))


def _expect_integers(symbol: str, remedy: str, *operands: object) -> None:
    for operand in operands:
        if not is_integer(operand):
            found = describe(operand) if isinstance(operand, Value) else short(operand)
            fail(f"'{symbol}' takes integers, found {found}: {remedy}")


def _expect_divisor(symbol: str, divisor: object) -> None:
    if not isinstance(divisor, Value) and divisor == 0:
        fail(f"'{symbol}': expected a divisor other than 0, found 0")


def floor_divide(left: object, right: object) -> Value:
    """The quotient of integers, rounded down, as in Python."""
    _expect_integers("//", "write heddle.floor(x / y), or heddle.integer(x) // y", left, right)
    _expect_divisor("//", right)
    quotient = integers("quotient", left, right)
    return choose(_is_inexact(integers("remainder", left, right), right), quotient - 1, quotient)


def floor_remainder(left: object, right: object) -> Value:
    """The remainder of integers with the sign of the second, as in Python."""
    _expect_integers("%", "write x - y * heddle.floor(x / y), or heddle.integer(x) % y", left, right)
    _expect_divisor("%", right)
    remainder = integers("remainder", left, right)
    return choose(_is_inexact(remainder, right), integers("add", remainder, right), remainder)


def _is_inexact(remainder: Value, divisor: object) -> Value:
    """Whether rounding towards 0 has not rounded down. A remainder has the sign of the number that was divided."""
    if not isinstance(divisor, Value):
        return remainder < 0 if divisor > 0 else remainder > 0  # type: ignore[operator]
    return logic("and", remainder != 0, integers("xor", remainder, divisor) < 0)


def shift(symbol: str, left: object, right: object) -> Value:
    """The integer with its bits moved; ``>>`` keeps the sign."""
    _expect_integers(symbol, "shifts move the bits of integers; use heddle.integer or heddle.bits", left, right)
    if not isinstance(right, Value) and right < 0:  # type: ignore[operator]
        fail(f"'{symbol}': expected a number of bits of at least 0, found {short(right)}")
    return integers("shl" if symbol == "<<" else "shr", left, right)


def choose(condition: Value, a: object, b: object) -> Value:
    """a if the condition holds, else b. The value of integers, one of which is traced, is an integer."""
    trace = condition._trace
    as_node, kind = (integer_node, Kind.INTEGER) if are_integers(a, b) else (number_node, Kind.NUMBER)
    nodes = flag_node(trace, condition), as_node(trace, a), as_node(trace, b)
    return Value(trace, trace.node("select", nodes, kind=kind))


def _note_whole(node: Node) -> None:
    """Notes that the node is the step counter plus a whole constant, so that powers of it are integer powers."""
    left, right = node.operands
    if node.op == "add" and left.op == "constant":
        left, right = right, left
    if left.whole is not None and right.op == "constant":
        number = right.payload
        assert isinstance(number, float)
        if number.is_integer() and abs(number) < 2**20:
            node.whole = left.whole + (int(number) if node.op == "add" else -int(number))


def logic(op: str, left: object, right: object) -> Value:
    """The value of an operation of flags, one of which may be a plain bool, or of integers."""
    if any(isinstance(each, Value) and each._node.is_integer for each in (left, right)):
        symbol = {"and": "&", "or": "|", "xor": "^"}[op]
        _expect_integers(symbol, "use heddle.integer, heddle.bits or a comparison", left, right)
        return integers(op, left, right)
    trace = trace_of(left, right)
    assert trace is not None
    nodes = []
    for each in (left, right):
        if isinstance(each, bool):
            nodes.append(trace.leaf("true" if each else "false", None, Level.CONSTANT, Kind.FLAG))
        else:
            nodes.append(flag_node(trace, each))
    return Value(trace, trace.node(op, tuple(nodes), kind=Kind.FLAG))


def power(base: object, exponent: object) -> Value:
    """``base ** exponent``; at least one of them is traced."""
    trace = trace_of(base, exponent)
    assert trace is not None
    x, y = number_node(trace, base), number_node(trace, exponent)
    if y.whole is not None:
        return Value(trace, trace.node("powi", (x, y)))
    if y.op != "constant":
        return Value(trace, trace.node("pow", (x, y)))
    number = y.payload
    assert isinstance(number, float)
    value = Value(trace, x)
    if number == 0.5:
        return arithmetic("sqrt", value)
    if number == 1:
        return value
    if number == 2:
        return value * value
    if number == 3:
        return value * value * value
    if number.is_integer() and abs(number) < 2**31:
        return Value(trace, trace.node("powi", (x,), int(number)))
    return Value(trace, trace.node("pow", (x, y)))


#: The functions of NumPy that an operator with one of NumPy's scalars on its left calls.
_UFUNCS: dict[str, Callable[[Any, Any], Value]] = {
    **{
        name: functools.partial(arithmetic, op)
        for name, op in (
            ("add", "add"),
            ("subtract", "sub"),
            ("multiply", "mul"),
            ("divide", "div"),
            ("true_divide", "div"),
            ("power", "pow"),
            ("less", "lt"),
            ("less_equal", "le"),
            ("greater", "gt"),
            ("greater_equal", "ge"),
            ("equal", "eq"),
            ("not_equal", "ne"),
        )
    },
    "floor_divide": floor_divide,
    "remainder": floor_remainder,
    "left_shift": functools.partial(shift, "<<"),
    "right_shift": functools.partial(shift, ">>"),
    "bitwise_and": functools.partial(logic, "and"),
    "bitwise_or": functools.partial(logic, "or"),
    "bitwise_xor": functools.partial(logic, "xor"),
}
