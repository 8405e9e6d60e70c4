"""The functions of rules that reduce a value over each tensor, or over all tensors.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._values import short
from .integers import count
from .nodes import Kind, Level, Node, Reduction, Trace, expect_over, fail
from .values import Value, describe, flag_node, numeric_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


def _reduce(
    name: str,
    x: Any,
    over: object,
    reduction: str,
    *,
    of_flags: bool = False,
    of: str = "value",
    kind: Kind = Kind.NUMBER,
) -> tuple[Trace, Node]:
    expect_over(name, over)
    if not isinstance(x, Value):
        fail(f"heddle.{name}: expected a value of a rule, found {short(x)}")
    trace = x._trace
    node = flag_node(trace, x) if of_flags else numeric_node(trace, x)
    least = Level.MEMBER if over == "list" else Level.ELEMENT
    if node.level < least:
        expected = "of each element" if over == "tensor" else "of each element or tensor"
        fail(f"heddle.{name}: expected a value {expected}, found {describe(x)}")
    level = Level.LIST if over == "list" else Level.MEMBER
    payload = Reduction(reduction, over == "list", of)
    return trace, trace.node("reduce", (node,), payload, kind=Kind.FLAG if of_flags else kind, level=level)


def sum(x: Value, over: Literal["tensor", "list"] = "tensor") -> Value:
    """The sum of a value over the elements of each tensor, or over the whole list; in double; 0 of no elements.

    Args:
        x: a value of each element. Over the list, also a value of each tensor.
        over: ``"tensor"``, or ``"list"``: all tensors of the optimizer, of every element type.
    """
    return Value(*_reduce("sum", x, over, "add"))


def norm(x: Value, over: Literal["tensor", "list"] = "tensor") -> Value:
    """The Euclidean norm, sqrt(sum(x * x)), with squares and sum in double; 0 of no elements, NaN if a value is NaN.

    Args:
        x, over: as for `sum`.
    """
    trace, node = _reduce("norm", x, over, "add", of="square")
    return Value(trace, trace.node("sqrt", (node,)))


def mean(x: Value, over: Literal["tensor", "list"] = "tensor") -> Value:
    """The mean, in double; NaN of no elements.

    Args:
        x, over: as for `sum`.
    """
    if over != "list":
        return Value(*_reduce("mean", x, over, "mean"))
    trace, total = _reduce("mean", x, over, "add")
    (operand,) = total.operands
    counted = None if operand.level == Level.ELEMENT else operand  # tensors, if x is a value of each
    return Value(trace, total) / Value(trace, count(trace, over_list=True, of=counted))


def amax(x: Value, over: Literal["tensor", "list"] = "tensor") -> Value:
    """The largest value; -inf of no elements, NaN if a value is NaN.

    Args:
        x, over: as for `sum`.
    """
    return Value(*_reduce("amax", x, over, "max"))


def amin(x: Value, over: Literal["tensor", "list"] = "tensor") -> Value:
    """The smallest value; inf of no elements, NaN if a value is NaN.

    Args:
        x, over: as for `sum`.
    """
    return Value(*_reduce("amin", x, over, "min"))


def argmax(x: Value) -> Value:
    """The position in the tensor, as of `index`, of the largest value: the first one of several; an integer.

    The first NaN is larger than all numbers. Of no elements it is -1.

    Args:
        x: a value of each element.
    """
    return Value(*_reduce("argmax", x, "tensor", "argmax", kind=Kind.INTEGER))


def argmin(x: Value) -> Value:
    """The position in the tensor, as of `index`, of the smallest value: the first one of several; an integer.

    The first NaN is smaller than all numbers. Of no elements it is -1.

    Args:
        x: a value of each element.
    """
    return Value(*_reduce("argmin", x, "tensor", "argmin", kind=Kind.INTEGER))


def any(x: Value, over: Literal["tensor", "list"] = "tensor") -> Value:
    """Whether a condition holds for some element.

    Args:
        x: a condition of each element. Over the list, also a condition of each tensor.
        over: as for `sum`.
    """
    return Value(*_reduce("any", x, over, "any", of_flags=True))


def all(x: Value, over: Literal["tensor", "list"] = "tensor") -> Value:
    """Whether a condition holds for every element.

    Args:
        x, over: as for `any`.
    """
    return Value(*_reduce("all", x, over, "all", of_flags=True))
