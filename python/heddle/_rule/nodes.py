"""The graph that a trace records: nodes, their levels, and the lines of the user that made them.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import enum
import functools
import inspect
import sys
from typing import NamedTuple

from .._values import short
from ..errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

    from .signature import Signature

#: Packages whose functions are not the user's.
_LIBRARIES = frozenset(("heddle", "numpy", "torch", "jax", "cupy", "scipy", "functools"))


def is_library(frame: FrameType) -> bool:
    """Whether a function is not the user's."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _LIBRARIES


def user_line() -> str:
    """``FILE:LINE`` of the innermost function that is part of no library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_library(frame):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def fail(message: str) -> NoReturn:
    """Raises a `BadInput` that points at the user's line."""
    raise BadInput(f"{user_line()}: {message}")


class WrongCall(BadInput, TypeError):
    """A function was called with arguments that it does not have."""


#: How `inspect` describes wrong arguments, and the same as something that was found.
_WRONG_ARGUMENTS = (
    ("got an unexpected keyword argument", "another argument"),
    ("missing a required argument:", "none for"),
    ("missing a required keyword-only argument:", "none for"),
    ("multiple values for argument", "several values for"),
    ("too many positional arguments", "more"),
)


def _described(error: TypeError) -> str:
    """What was wrong with the arguments of a call."""
    text = str(error)
    for theirs, ours in _WRONG_ARGUMENTS:
        if text.startswith(theirs):
            return ours + text[len(theirs) :]
    return f"other arguments: {text}"


def calls_checked(name: str, function: Callable[..., Any], remedy: str = "") -> Callable[..., Any]:
    """A function whose message about wrong arguments has its name, those that it takes, and the user's line."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            known = ", ".join(signature.parameters)
            expected = f"the arguments ({known})" if known else "no arguments"
            raise WrongCall(
                f"{user_line()}: heddle.{name}: expected {expected}, found {_described(error)}{remedy}"
            ) from None
        return function(*args, **kwargs)

    return call


#: Operations that every body computes for itself.
CONSTANTS = ("constant", "whole", "true", "false")


def expect_over(function: str, over: object) -> None:
    """Refuses an argument ``over`` of a reduction."""
    if not isinstance(over, str) or over not in ("tensor", "list"):
        fail(f"heddle.{function}: expected over='tensor' or over='list', found over={short(over)}")


class Level(enum.IntEnum):
    """The things over which a value varies; a value has the highest level of its operands."""

    CONSTANT = 0
    #: A hyperparameter: the user sets it between steps.
    HYPER = 1
    #: One value for the list, such as a norm of all gradients.
    LIST = 2
    #: One value for each tensor, such as the step counter.
    MEMBER = 3
    #: One value for each element.
    ELEMENT = 4


class Kind(enum.Enum):
    """What a value is."""

    #: A float: double, or of the type of elements.
    NUMBER = "number"
    #: 64 bits, signed.
    INTEGER = "integer"
    #: True or false.
    FLAG = "condition"

    def dtype(self, of_numbers: str) -> str:
        """The type of a value in a body whose numbers have the type `of_numbers`."""
        return {Kind.NUMBER: of_numbers, Kind.INTEGER: "i64", Kind.FLAG: "i1"}[self]


class Reduction(NamedTuple):
    """The attribute of a node that reduces its operand."""

    #: The kind in MLIR: add, mean, max, min, any, all, argmax, argmin. The last two have a position as their value.
    kind: str
    #: Over the whole list, or over each tensor.
    over_list: bool
    #: What is reduced: the operand as a ``value``, its ``square`` in double, or ``one``, which counts.
    of: str = "value"

    @property
    def has_position(self) -> bool:
        """Whether the value is the position of an extreme value."""
        return self.kind in ("argmax", "argmin")


class Node:
    """One value of a trace.

    Attributes:
        op: a key of `ops.OPS`; ``constant``, ``whole`` (an integer), ``true``, ``false``, ``list``, ``hyper``, ``step``
            or ``index`` (the position of the element) for a leaf; ``select``, ``powi`` (to a whole power), ``element``
            (a value as an element) or ``reduce``; a key of `body.CONVERSIONS`.
        operands: the nodes that it needs.
        payload: the number of a constant, the name of a list or hyperparameter, the exponent of ``powi`` if that is a
            constant, or the `Reduction`.
        index: the position in the trace: operands have a smaller one.
        kind: whether the value is a number, an integer or a condition.
        level: the level, if hyperparameters have one value for all members.
        stage: the longest chain of reductions that the value needs.
        whole: the value is the step counter plus this constant; None: it is something else.
        is_free: the value follows, exactly, from the number of elements of the tensor. A body over elements computes
            it without any reduction.
        hint: the name of the user's variable, or None.
    """

    __slots__ = ("op", "operands", "payload", "index", "kind", "level", "stage", "whole", "is_free", "hint")

    def __init__(
        self,
        op: str,
        operands: tuple[Node, ...],
        payload: float | str | int | Reduction | None,
        index: int,
        kind: Kind,
        level: Level,
    ) -> None:
        self.op = op
        self.operands = operands
        self.payload = payload
        self.index = index
        self.kind = kind
        self.level = level
        self.stage: int = max((node.stage for node in operands), default=0) + (op == "reduce")
        self.whole: int | None = 0 if op == "step" else None
        self.is_free: bool = self.counts_elements or (
            op != "reduce"
            and any(node.is_free for node in operands)
            and all(node.is_free or node.op in CONSTANTS for node in operands)
            and all(node.kind != Kind.NUMBER for node in operands)
        )
        self.hint: str | None = None

    @property
    def is_leaf(self) -> bool:
        return not self.operands

    @property
    def is_flag(self) -> bool:
        return self.kind == Kind.FLAG

    @property
    def is_integer(self) -> bool:
        return self.kind == Kind.INTEGER

    @property
    def reduction(self) -> Reduction:
        assert isinstance(self.payload, Reduction)
        return self.payload

    @property
    def counts_elements(self) -> bool:
        """Whether the value is the number of elements of each tensor."""
        return self.op == "reduce" and self.reduction.of == "one" and not self.reduction.over_list


class Trace:
    """The nodes of one run of a rule's function, with equal nodes recorded once.

    Attributes:
        signature: the parameters of the rule.
        outputs: the new parameter and the new states.
    """

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.nodes: list[Node] = []
        self.outputs: list[Node] = []
        self._known: dict[object, Node] = {}

    @property
    def uses_step(self) -> bool:
        return any(node.op == "step" for node in self.nodes)

    def sees_tensors(self) -> bool:
        """Whether a value depends on more of a tensor than one element: on a reduction, an extent or a position."""
        return any(node.op in ("reduce", "index") for node in self.nodes)

    def leaf(
        self, op: str, payload: float | str | int | None, level: Level, kind: Kind = Kind.NUMBER
    ) -> Node:
        """The node of a constant, a list, a hyperparameter, the step counter or a position."""
        # 0.0 and -0.0 are equal in Python.
        key = (op, payload, repr(payload))
        return self._known.get(key) or self._add(key, op, (), payload, kind, level)

    def constant(self, number: float) -> Node:
        return self.leaf("constant", float(number), Level.CONSTANT)

    def whole(self, number: int) -> Node:
        """An integer constant, of at most 64 bits."""
        return self.leaf("whole", int(number), Level.CONSTANT, Kind.INTEGER)

    def node(
        self,
        op: str,
        operands: tuple[Node, ...],
        payload: int | Reduction | None = None,
        *,
        kind: Kind = Kind.NUMBER,
        level: Level | None = None,
    ) -> Node:
        """The node of an operation; its level is the highest of its operands if none is given."""
        key = (op, payload, *(node.index for node in operands))
        if level is None:
            level = max(node.level for node in operands)
        return self._known.get(key) or self._add(key, op, operands, payload, kind, level)

    def _add(
        self,
        key: object,
        op: str,
        operands: tuple[Node, ...],
        payload: float | str | int | Reduction | None,
        kind: Kind,
        level: Level,
    ) -> Node:
        node = Node(op, operands, payload, len(self.nodes), kind, level)
        self.nodes.append(node)
        self._known[key] = node
        return node
