"""The values that a rule computes with while it is traced.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import numbers

from .._values import short
from ..errors import BadInput
from .nodes import Level, Node, Trace, fail, user_line
from .ops import OPS

TYPE_CHECKING = False
if TYPE_CHECKING:
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

    Values support ``+ - * / **``, ``abs``, comparisons, and ``& | ^ ~`` of comparisons, also with plain numbers. The
    functions of heddle take them, such as `heddle.sqrt` and `heddle.where`. Python cannot test a value (``if``,
    ``and``), convert it to a number or pass it to NumPy: each is a `BadInput` that points at the line.
    """

    __slots__ = ("_trace", "_node")

    def __init__(self, trace: Trace, node: Node) -> None:
        self._trace = trace
        self._node = node

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
        return arithmetic("neg", self)

    def __pos__(self) -> Value:
        number_node(self._trace, self)
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
        return logic("xor", self, True)

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

    def __floordiv__(self, other: object) -> NoReturn:
        self._refuse("there is no operation '//'", "write heddle.floor(x / y)")

    __rfloordiv__ = __floordiv__

    def __mod__(self, other: object) -> NoReturn:
        self._refuse("there is no operation '%'", "write x - y * heddle.floor(x / y)")

    __rmod__ = __mod__

    def __divmod__(self, other: object) -> NoReturn:
        self._refuse("there is no divmod()", "write heddle.floor(x / y)")

    __rdivmod__ = __divmod__

    def __matmul__(self, other: object) -> NoReturn:
        self._refuse("there is no operation '@'", _SCALAR)

    __rmatmul__ = __matmul__

    def __lshift__(self, other: object) -> NoReturn:
        self._refuse("there are no shifts of bits", "multiply by a power of 2")

    __rlshift__ = __rshift__ = __rrshift__ = __lshift__

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        hint = f"write heddle.{name}(x)" if name in OPS else "a value of a rule is a scalar, see docs/rule.md"
        raise _NoAttribute(f"{user_line()}: {describe(self)} has no attribute '{name}': {hint}")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Value:
        # NumPy's scalars on the left of an operator come here.
        if method == "__call__" and len(inputs) == 2 and not options and ufunc.__name__ in _UFUNCS:
            if all(isinstance(each, Value) or is_number(each) for each in inputs):
                return arithmetic(_UFUNCS[ufunc.__name__], *inputs)
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


_UFUNCS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "power": "pow",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
}


def describe(value: Value) -> str:
    """A value in words, for messages."""
    node = value._node
    if node.op == "hyper":
        return f"the hyperparameter '{node.payload}'"
    if node.op == "list":
        return f"'{node.payload}'"
    if node.op == "step":
        return "heddle.step()"
    noun = "condition" if node.is_flag else "value"
    over = {
        Level.CONSTANT: "",
        Level.HYPER: " of hyperparameters",
        Level.LIST: " of the whole list",
        Level.MEMBER: " of each tensor",
        Level.ELEMENT: " of each element",
    }[node.level]
    return f"a {noun}{over}"


def is_number(value: object) -> bool:
    """Whether `value` is a plain number: Python's or NumPy's, and no bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def trace_of(*values: object) -> Trace | None:
    """The trace of the first traced value, or None if all are plain."""
    for value in values:
        if isinstance(value, Value):
            return value._trace
    return None


def number_node(trace: Trace, value: object) -> Node:
    """The node of a number: a traced value, or a constant."""
    if isinstance(value, Value):
        if value._node.is_flag:
            fail(f"expected a number, found {describe(value)}: use heddle.where(condition, a, b)")
        return _own(trace, value)
    if not is_number(value):
        plain = isinstance(value, (bool, str, type(None)))
        found = repr(value) if plain else f"an object of type {type(value).__name__}"
        fail(f"expected a number or a value of the rule, found {found}")
    return trace.constant(as_float(value))


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
    try:
        return float(value)
    except OverflowError:
        fail("expected a number in the range of double precision, found a larger integer")


def arithmetic(op: str, *operands: object) -> Value:
    """The value of an operation of numbers; at least one operand is traced."""
    trace = trace_of(*operands)
    assert trace is not None
    nodes = tuple(number_node(trace, operand) for operand in operands)
    if op == "pow":
        return power(*operands)
    node = trace.node(op, nodes, is_flag=OPS[op].gives_flag)
    if op in ("add", "sub"):
        _note_whole(node)
    return Value(trace, node)


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
    """The value of an operation of flags; one operand may be a plain bool."""
    trace = trace_of(left, right)
    assert trace is not None
    nodes = []
    for each in (left, right):
        if isinstance(each, bool):
            nodes.append(trace.leaf("true" if each else "false", None, Level.CONSTANT))
            nodes[-1].is_flag = True
        else:
            nodes.append(flag_node(trace, each))
    return Value(trace, trace.node(op, tuple(nodes), is_flag=True))


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
