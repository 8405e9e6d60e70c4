"""Prints the body of one map or reduction.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from .nodes import CONSTANTS, Kind, Node
from .ops import CONVERSIONS, OPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Type(NamedTuple):
    """The type of a value outside of bodies."""

    #: ``list`` (tensors of elements), ``each`` (one value for each tensor) or ``scalar``.
    kind: str
    dtype: str

    def __str__(self) -> str:
        return f"tensor<{self.dtype}>" if self.kind == "scalar" else f"!{self.kind}_{self.dtype}"


class Operand(NamedTuple):
    """A value outside of bodies: an argument of the function, or a result of a map or reduction."""

    name: str
    type: Type
    #: A word for it in bodies.
    hint: str


class Names:
    """Names that are unique in one scope."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._last: dict[str, int] = {}

    def unique(self, hint: str) -> str:
        name = hint
        while name in self._used:
            self._last[hint] = self._last.get(hint, 0) + 1
            name = f"{hint}_{self._last[hint]}"
        self._used.add(name)
        return f"%{name}"


def literal(number: float, dtype: str) -> str:
    """A number as MLIR reads it, rounded to the type."""
    if dtype in ("f32", "bf16", "f16"):
        number = _round(number, dtype)
    if not math.isfinite(number):
        bits = {
            "f64": struct.pack(">d", number),
            "f32": struct.pack(">f", number),
            "f16": struct.pack(">e", number),
            "bf16": struct.pack(">f", number)[:2],
        }[dtype]
        return f"0x{bits.hex().upper()}"
    mantissa, _, exponent = repr(float(number)).partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent}" if exponent else mantissa


def _round(number: float, dtype: str) -> float:
    if dtype == "bf16" or not math.isfinite(number):
        return number
    form = "<f" if dtype == "f32" else "<e"
    try:
        value: float = struct.unpack(form, struct.pack(form, number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    return value


class Body:
    """The text of one body, and the operands that it binds.

    Args:
        dtype: the type in which numbers are computed: f64 or f32.
        step: the node of the step counter, or None.
    """

    def __init__(self, dtype: str, step: Node | None) -> None:
        self.dtype = dtype
        self.lines: list[str] = []
        self._names = Names()
        self._bound: dict[tuple[str, str], tuple[Operand, str]] = {}
        self._values: dict[Node, str] = {}
        self._constants: dict[tuple[str, str], str] = {}
        self._step = step
        self._counter = ""  # the step counter, in f32
        self._whole: dict[int, str] = {}

    # --- operands -----------------------------------------------------------------------------------------------------

    def bind(self, operand: Operand, dtype: str) -> str:
        """The argument of the region for an operand, converted to a type."""
        key = operand.name, dtype
        if key not in self._bound:
            self._bound[key] = operand, self._names.unique(operand.hint)
        return self._bound[key][1]

    def read(self, node: Node, operand: Operand) -> None:
        """Makes a node of another map, or a list, known to this body."""
        if node is self._step:
            self._counter = self.bind(operand, "f32")
            self._values[node] = self._counter if self.dtype == "f32" else self.bind(operand, self.dtype)
        else:
            self._values[node] = self.bind(operand, node.kind.dtype(self.dtype))

    def operands(self) -> list[Operand]:
        """The values outside that this body has bound."""
        return [operand for operand, _ in self._bound.values()]

    def inputs(self) -> str:
        """The bound operands as text: lists, then values of tensors, then scalars."""
        order = {"list": 0, "each": 1, "scalar": 2}
        bound = sorted(self._bound.items(), key=lambda item: order[item[1][0].type.kind])
        text = ""
        for k, ((_, dtype), (operand, argument)) in enumerate(bound):
            conversion = "" if dtype == operand.type.dtype else f" as {dtype}"
            text += f"{argument} = {operand.name}{conversion}"
            last = k + 1 == len(bound)
            if last or bound[k + 1][1][0].type != operand.type:
                text += f" : {operand.type}"
            text += "" if last else ", "
        return text

    # --- values -------------------------------------------------------------------------------------------------------

    def emit(self, word: str, operation: str, dtype: str) -> str:
        """Appends one operation; returns its value."""
        name = self._names.unique(word)
        self.lines.append(f"{name} = {operation} : {dtype}")
        return name

    def constant(self, text: str, dtype: str, word: str = "c") -> str:
        if (text, dtype) not in self._constants:
            operation = f"arith.constant {text}"
            if dtype == "i1":
                name = self._names.unique(text)
                self.lines.append(f"{name} = {operation}")
            else:
                name = self.emit(word, operation, dtype)
            self._constants[text, dtype] = name
        return self._constants[text, dtype]

    def number(self, value: float) -> str:
        words = {0.0: "zero", 1.0: "one", 2.0: "two", 0.5: "half", -1.0: "minus_one"}
        return self.constant(literal(value, self.dtype), self.dtype, words.get(value, "c"))

    def value(self, node: Node) -> str:
        """The value of a node that this body has read or computed, or of a constant."""
        if node.op == "constant":
            assert isinstance(node.payload, float)
            return self.number(node.payload)
        if node.op == "whole":
            return self.constant(str(node.payload), "i64", "n")
        if node.op in ("true", "false"):
            return self.constant(node.op, "i1")
        return self._values[node]

    def increment(self, step: Operand) -> str:
        """Computes the step counter from the one before this step; returns it in f32."""
        before = self.bind(step, "f32")
        one = self.constant("1.0", "f32", "tick")
        self._counter = self.emit("step1", f"arith.addf {before}, {one}", "f32")
        return self._counter

    def number_of_step(self) -> None:
        """Makes the incremented step counter a number of this body."""
        assert self._step is not None
        value = self._counter
        if self.dtype != "f32":
            value = self.emit("steps", f"arith.extf {value}", f"f32 to {self.dtype}")
        self._values[self._step] = value

    def compute(self, node: Node, hint: str | None = None) -> None:
        """Appends the operation of a node, whose operands are known."""
        if node.op in CONSTANTS:
            return
        if node.op == "element":
            self._values[node] = self.value(node.operands[0])
            return
        hint = hint or node.hint
        if node.op == "select":
            operands = ", ".join(map(self.value, node.operands))
            self._values[node] = self.emit(hint or "chosen", f"arith.select {operands}", node.kind.dtype(self.dtype))
        elif node.op == "powi":
            self._values[node] = self._integer_power(node, hint or "power")
        elif node.op == "index":
            self._values[node] = self.emit(hint or "index", "foreach.index member", "i64")
        elif node.counts_elements:
            self._values[node] = self.emit(hint or "extent", "foreach.extent member", "i64")
        elif node.op in CONVERSIONS:
            self._values[node] = self._convert(node, hint)
        else:
            op, kind = OPS[node.op], node.operands[0].kind
            operands = ", ".join(map(self.value, node.operands))
            mlir = op.of_integers if kind == Kind.INTEGER else op.mlir
            self._values[node] = self.emit(hint or op.word, f"{mlir} {operands}", kind.dtype(self.dtype))

    def _convert(self, node: Node, hint: str | None) -> str:
        conversion, operand = CONVERSIONS[node.op], node.operands[0]
        steps = conversion.f64 if self.dtype == "f64" else conversion.f32
        value, dtype = self.value(operand), operand.kind.dtype(self.dtype)
        for position, (operation, to) in enumerate(steps, 1):
            word = hint or conversion.word if position == len(steps) else "part"
            value = self.emit(word, f"{operation} {value}", f"{dtype} to {to}")
            dtype = to
        return value

    def _integer_power(self, node: Node, hint: str) -> str:
        if len(node.operands) == 2:
            exponent = self._steps_plus(node.operands[1].whole or 0)
        else:
            exponent = self.constant(str(node.payload), "i32", "exponent")
        return self.emit(hint, f"math.fpowi {self.value(node.operands[0])}, {exponent}", f"{self.dtype}, i32")

    def _steps_plus(self, offset: int) -> str:
        """The step counter plus a constant, as an integer."""
        if 0 not in self._whole:
            self._whole[0] = self.emit("t", f"arith.fptosi {self._counter}", "f32 to i32")
        if offset not in self._whole:
            constant = self.constant(str(offset), "i32", "offset")
            self._whole[offset] = self.emit("t", f"arith.addi {self._whole[0]}, {constant}", "i32")
        return self._whole[offset]

    def computed(self, nodes: Sequence[Node], hint: Callable[[Node], str | None] = lambda node: None) -> None:
        for node in nodes:
            self.compute(node, hint(node))

    def text(self, head: str, results: Sequence[Type], yielded: Sequence[tuple[str, str]]) -> list[str]:
        """The lines of the operation: `head` is its text up to the operands; `yielded` has values and types."""
        types = ", ".join(map(str, results))
        if len(results) != 1:
            types = f"({types})"
        values, dtypes = (", ".join(part) for part in zip(*yielded))
        lines = [f"  {head} ({self.inputs()}) -> {types} {{"]
        lines += [f"    {line}" for line in (*self.lines, f"foreach.yield {values} : {dtypes}")]
        return [*lines, "  }"]
