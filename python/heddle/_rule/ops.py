"""The scalar operations of rules: their names in MLIR, and their values for plain numbers.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Op(NamedTuple):
    """A scalar operation."""

    #: Its operation in MLIR, with the predicate of a comparison.
    mlir: str
    #: A word for its values, where the rule has no variable for them.
    word: str
    #: NumPy's function with the same value, or a function of numbers.
    of_numbers: str | Callable[..., Any]
    #: Whether its operands are flags.
    takes_flags: bool = False
    #: Whether its value is a flag.
    gives_flag: bool = False
    #: Its operation in MLIR for integers, if it has one.
    of_integers: str = ""

    def evaluate(self, *numbers: Any) -> Any:
        """The value for plain numbers, by the rules of IEEE 754: infinities and NaN, no exceptions."""
        import numpy

        function = getattr(numpy, self.of_numbers) if isinstance(self.of_numbers, str) else self.of_numbers
        with numpy.errstate(all="ignore"):
            value = function(*(numbers if self.takes_flags else map(numpy.float64, numbers)))
        return bool(value) if self.gives_flag else float(value)


def _sign(x: float) -> float:
    return 1.0 if x > 0 else -1.0 if x < 0 else x


def _rsqrt(x: float) -> float:
    """Of -0 it is -inf, as in PyTorch and on the devices."""
    import numpy

    value: float = 1 / numpy.sqrt(x)
    return value


def _round_away(x: float) -> float:
    import numpy

    whole: float = numpy.trunc(x)
    return whole + math.copysign(1, x) if abs(x - whole) >= 0.5 else whole


def _fma(a: float, b: float, c: float) -> float:
    """a * b + c, rounded once."""
    from fractions import Fraction

    if not all(map(math.isfinite, (a, b, c))) or a * b == 0:
        return a * b + c
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    try:
        return float(exact) if exact else a * b + c
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


#: Operations of numbers.
NUMBERS = {
    "add": Op("arith.addf", "sum", "add", of_integers="arith.addi"),
    "sub": Op("arith.subf", "difference", "subtract", of_integers="arith.subi"),
    "mul": Op("arith.mulf", "product", "multiply", of_integers="arith.muli"),
    "div": Op("arith.divf", "quotient", "divide"),
    "neg": Op("arith.negf", "negative", "negative"),
    "pow": Op("math.powf", "power", "power"),
    "maximum": Op("arith.maximumf", "largest", "maximum", of_integers="arith.maxsi"),
    "minimum": Op("arith.minimumf", "smallest", "minimum", of_integers="arith.minsi"),
    "fmax": Op("arith.maxnumf", "largest", "fmax", of_integers="arith.maxsi"),
    "fmin": Op("arith.minnumf", "smallest", "fmin", of_integers="arith.minsi"),
    "fma": Op("math.fma", "fma", _fma),
    "abs": Op("math.absf", "magnitude", "fabs", of_integers="math.absi"),
    "copysign": Op("math.copysign", "signed", "copysign"),
    "sign": Op("foreach.sign", "sign", _sign),
    "floor": Op("math.floor", "floor", "floor"),
    "ceil": Op("math.ceil", "ceil", "ceil"),
    "trunc": Op("math.trunc", "trunc", "trunc"),
    "round": Op("math.roundeven", "rounded", "rint"),
    "round_away": Op("math.round", "rounded", _round_away),
    "fmod": Op("arith.remf", "remainder", "fmod"),
    "sqrt": Op("math.sqrt", "root", "sqrt"),
    "rsqrt": Op("math.rsqrt", "rsqrt", _rsqrt),
    "exp": Op("math.exp", "exp", "exp"),
    "exp2": Op("math.exp2", "exp2", "exp2"),
    "expm1": Op("math.expm1", "expm1", "expm1"),
    "log": Op("math.log", "log", "log"),
    "log2": Op("math.log2", "log2", "log2"),
    "log10": Op("math.log10", "log10", "log10"),
    "log1p": Op("math.log1p", "log1p", "log1p"),
    "tanh": Op("math.tanh", "tanh", "tanh"),
    "sin": Op("math.sin", "sin", "sin"),
    "cos": Op("math.cos", "cos", "cos"),
    "tan": Op("math.tan", "tan", "tan"),
    "atan": Op("math.atan", "atan", "arctan"),
    "atan2": Op("math.atan2", "angle", "arctan2"),
    "erf": Op("math.erf", "erf", math.erf),
}

#: Operations whose values are flags.
FLAGS = {
    "isnan": Op("math.isnan", "is_nan", "isnan", gives_flag=True),
    "isinf": Op("math.isinf", "is_inf", "isinf", gives_flag=True),
    "isfinite": Op("math.isfinite", "is_finite", "isfinite", gives_flag=True),
    "lt": Op("arith.cmpf olt,", "less", "less", gives_flag=True, of_integers="arith.cmpi slt,"),
    "le": Op("arith.cmpf ole,", "at_most", "less_equal", gives_flag=True, of_integers="arith.cmpi sle,"),
    "gt": Op("arith.cmpf ogt,", "greater", "greater", gives_flag=True, of_integers="arith.cmpi sgt,"),
    "ge": Op("arith.cmpf oge,", "at_least", "greater_equal", gives_flag=True, of_integers="arith.cmpi sge,"),
    "eq": Op("arith.cmpf oeq,", "equal", "equal", gives_flag=True, of_integers="arith.cmpi eq,"),
    "ne": Op("arith.cmpf une,", "unequal", "not_equal", gives_flag=True, of_integers="arith.cmpi ne,"),
    "and": Op("arith.andi", "both", "logical_and", takes_flags=True, gives_flag=True, of_integers="arith.andi"),
    "or": Op("arith.ori", "either", "logical_or", takes_flags=True, gives_flag=True, of_integers="arith.ori"),
    "xor": Op("arith.xori", "one_of", "logical_xor", takes_flags=True, gives_flag=True, of_integers="arith.xori"),
}

#: Operations of integers alone. Those of plain integers are Python's own.
INTEGERS = {
    "quotient": Op("", "quotient", "", of_integers="arith.divsi"),
    "remainder": Op("", "remainder", "", of_integers="arith.remsi"),
    "shl": Op("", "shifted", "", of_integers="arith.shli"),
    "shr": Op("", "shifted", "", of_integers="arith.shrsi"),
}

OPS = {**NUMBERS, **FLAGS, **INTEGERS}

#: The functions whose values of integers are integers, for plain ones.
OF_PLAIN_INTEGERS: dict[str, Callable[..., int]] = {"maximum": max, "minimum": min, "fmax": max, "fmin": min, "abs": abs}


class Conversion(NamedTuple):
    """An operation between numbers and integers, as steps: each an operation and the type of its result."""

    #: A word for its values.
    word: str
    #: The steps in a body whose numbers are f32, and in one whose numbers are f64.
    f32: tuple[tuple[str, str], ...]
    f64: tuple[tuple[str, str], ...]


CONVERSIONS = {
    "number": Conversion("number", (("arith.sitofp", "f32"),), (("arith.sitofp", "f64"),)),
    "integer": Conversion("whole", (("arith.fptosi", "i64"),), (("arith.fptosi", "i64"),)),
    "bits32": Conversion(
        "bits",
        (("arith.bitcast", "i32"), ("arith.extui", "i64")),
        (("arith.truncf", "f32"), ("arith.bitcast", "i32"), ("arith.extui", "i64")),
    ),
    "bits64": Conversion(
        "bits", (("arith.extf", "f64"), ("arith.bitcast", "i64")), (("arith.bitcast", "i64"),)
    ),
    "float32": Conversion(
        "number",
        (("arith.trunci", "i32"), ("arith.bitcast", "f32")),
        (("arith.trunci", "i32"), ("arith.bitcast", "f32"), ("arith.extf", "f64")),
    ),
    "float64": Conversion(
        "number", (("arith.bitcast", "f64"), ("arith.truncf", "f32")), (("arith.bitcast", "f64"),)
    ),
}
