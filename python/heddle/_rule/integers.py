"""The functions of rules whose values are integers, and `from_bits`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import struct
from typing import overload

from .._values import short, whole
from . import tracing
from .nodes import Kind, Level, Node, Reduction, Trace, expect_over, fail
from .values import Value, as_float, describe, is_integer, is_number, number_node, numeric_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


def _current(function: str, meaning: str) -> Trace:
    trace = tracing.current()
    if trace is None:
        fail(f"heddle.{function}() is {meaning} of a rule: call it in a function with the decorator heddle.rule")
    return trace


def index() -> Value:
    """The position of the element in its tensor, from 0: an integer.

    Elements are counted in the order in which memory has them. This is the order of rows in a contiguous tensor; in
    others, such as those with ``channels_last``, it is not. Positions cost no memory traffic.
    """
    trace = _current("index", "the position of the element")
    return Value(trace, trace.leaf("index", None, Level.ELEMENT, Kind.INTEGER))


def extent(over: Literal["tensor", "list"] = "tensor") -> Value:
    """The number of elements of the tensor, or of all tensors: an integer.

    Elements have the number for their tensor without a reduction, also in integer arithmetic and as a number: ``g /
    heddle.extent()`` adds no launch. Other values of tensors count the elements, as `sum` does; so does
    ``over="list"``.

    Args:
        over: ``"tensor"``, or ``"list"``: all tensors of the optimizer, of every element type.
    """
    expect_over("extent", over)
    trace = _current("extent", "the number of elements")
    return Value(trace, count(trace, over_list=over == "list"))


def count(trace: Trace, *, over_list: bool, of: Node | None = None) -> Node:
    """The node of the number of elements, or of the tensors if `of` is a value of each."""
    of = of or trace.leaf("list", trace.signature.param, Level.ELEMENT)
    level = Level.LIST if over_list else Level.MEMBER
    return trace.node("reduce", (of,), Reduction("add", over_list, "one"), kind=Kind.INTEGER, level=level)


def _expect(function: str, x: object) -> None:
    if not isinstance(x, Value) and not is_number(x):
        fail(f"heddle.{function}: expected a number or a value of a rule, found {short(x)}")


def _expect_width(function: str, width: object) -> int:
    bits = whole(width)
    if bits not in (32, 64):
        fail(f"heddle.{function}: expected width=32 or width=64, found width={short(width)}")
    return 64 if bits == 64 else 32


@overload
def integer(x: float) -> int: ...
@overload
def integer(x: Value) -> Value: ...
def integer(x: Any) -> Any:
    """The whole part of x as an integer of 64 bits: rounded towards 0.

    Beyond 64 bits it is the nearest integer, and 0 of NaN. Arithmetic of integers with integers is exact and wraps;
    with other numbers, and as a new value of the rule, an integer is rounded to the type of numbers.

    Args:
        x: a number or a value of the rule.
    """
    _expect("integer", x)
    if isinstance(x, Value):
        node = numeric_node(x._trace, x)
        return x if node.is_integer else Value(x._trace, x._trace.node("integer", (node,), kind=Kind.INTEGER))
    number = as_float(x)
    if math.isnan(number):
        return 0
    rounded = int(number) if math.isfinite(number) else int(math.copysign(2.0**64, number))
    return max(-(2**63), min(rounded, 2**63 - 1))


@overload
def bits(x: float, width: Literal[32, 64] = 32) -> int: ...
@overload
def bits(x: Value, width: Literal[32, 64] = 32) -> Value: ...
def bits(x: Any, width: Any = 32) -> Any:
    """The bits of x, rounded to float32, as an integer from 0 to 2**32 - 1; `from_bits` is the inverse.

    So ``heddle.bits(x) >> 16`` are the bits of the upper half, which is a bfloat16. With ``width=64``, x is a float64,
    and the integer is negative if the sign of x is. The bits of NaN differ between targets.

    Args:
        x: a number or a value of the rule.
        width: 32 or 64. The types of elements have no influence on the bits.
    """
    _expect("bits", x)
    width = _expect_width("bits", width)
    if isinstance(x, Value):
        return Value(x._trace, x._trace.node(f"bits{width}", (number_node(x._trace, x),), kind=Kind.INTEGER))
    number = as_float(x)
    if width == 32:
        try:
            packed = struct.pack("<f", number)
        except OverflowError:
            packed = struct.pack("<f", math.copysign(math.inf, number))
        return struct.unpack("<I", packed)[0]
    return struct.unpack("<q", struct.pack("<d", number))[0]


@overload
def from_bits(n: int, width: Literal[32, 64] = 32) -> float: ...
@overload
def from_bits(n: Value, width: Literal[32, 64] = 32) -> Value: ...
def from_bits(n: Any, width: Any = 32) -> Any:
    """The number with these bits: those of a float32, or of a float64 with ``width=64``.

    Of an integer with more bits than `width`, the upper ones have no influence.

    Args:
        n: an integer, such as one from `bits`.
        width: 32 or 64.
    """
    if not is_integer(n):
        found = describe(n) if isinstance(n, Value) else short(n)
        fail(f"heddle.from_bits: expected an integer, found {found}: use heddle.integer or heddle.bits")
    width = _expect_width("from_bits", width)
    if isinstance(n, Value):
        return Value(n._trace, n._trace.node(f"float{width}", (numeric_node(n._trace, n),)))
    packed = (int(n) % 2**width).to_bytes(width // 8, "little")
    return struct.unpack("<f" if width == 32 else "<d", packed)[0]
