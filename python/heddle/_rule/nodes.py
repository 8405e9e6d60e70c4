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


def calls_checked(name: str, function: Callable[..., Any], remedy: str = "") -> Callable[..., Any]:
    """A function whose message about wrong arguments has its name, those that it takes, and the user's line."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            known = ", ".join(signature.parameters)
            raise WrongCall(
                f"{user_line()}: heddle.{name}: expected the arguments ({known}), found another call: {error}{remedy}"
            ) from None
        return function(*args, **kwargs)

    return call


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


class Reduction(NamedTuple):
    """The attribute of a node that reduces its operand."""

    #: The kind in MLIR: add, max, min, any, all.
    kind: str
    #: Over the whole list, or over each tensor.
    over_list: bool
    #: What is reduced: the operand as a ``value``, its ``square`` in double, or ``one``, which counts.
    of: str = "value"


class Node:
    """One value of a trace.

    Attributes:
        op: a key of `ops.OPS`; ``constant``, ``true``, ``false``, ``list``, ``hyper`` or ``step`` for a leaf;
            ``select``, ``powi`` (to a whole power), ``element`` (a value as an element) or ``reduce``.
        operands: the nodes that it needs.
        payload: the number of a constant, the name of a list or hyperparameter, the exponent of ``powi`` if that is a
            constant, or the `Reduction`.
        index: the position in the trace: operands have a smaller one.
        is_flag: whether the value is true or false.
        level: the level, if hyperparameters have one value for all members.
        stage: the longest chain of reductions that the value needs.
        whole: the value is the step counter plus this constant; None: it is something else.
        hint: the name of the user's variable, or None.
    """

    __slots__ = ("op", "operands", "payload", "index", "is_flag", "level", "stage", "whole", "hint")

    def __init__(
        self,
        op: str,
        operands: tuple[Node, ...],
        payload: float | str | int | Reduction | None,
        index: int,
        is_flag: bool,
        level: Level,
    ) -> None:
        self.op = op
        self.operands = operands
        self.payload = payload
        self.index = index
        self.is_flag = is_flag
        self.level = level
        self.stage: int = max((node.stage for node in operands), default=0) + (op == "reduce")
        self.whole: int | None = 0 if op == "step" else None
        self.hint: str | None = None

    @property
    def is_leaf(self) -> bool:
        return not self.operands

    @property
    def reduction(self) -> Reduction:
        assert isinstance(self.payload, Reduction)
        return self.payload


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

    def reduces(self) -> bool:
        """Whether there is a reduction."""
        return any(node.op == "reduce" for node in self.nodes)

    def leaf(self, op: str, payload: float | str | None, level: Level) -> Node:
        """The node of a constant, a list, a hyperparameter or the step counter."""
        # 0.0 and -0.0 are equal in Python.
        key = (op, payload, repr(payload))
        return self._known.get(key) or self._add(key, op, (), payload, False, level)

    def constant(self, number: float) -> Node:
        return self.leaf("constant", float(number), Level.CONSTANT)

    def node(
        self,
        op: str,
        operands: tuple[Node, ...],
        payload: int | Reduction | None = None,
        *,
        is_flag: bool = False,
        level: Level | None = None,
    ) -> Node:
        """The node of an operation; its level is the highest of its operands if none is given."""
        key = (op, payload, *(node.index for node in operands))
        if level is None:
            level = max(node.level for node in operands)
        return self._known.get(key) or self._add(key, op, operands, payload, is_flag, level)

    def _add(
        self,
        key: object,
        op: str,
        operands: tuple[Node, ...],
        payload: float | str | int | Reduction | None,
        is_flag: bool,
        level: Level,
    ) -> Node:
        node = Node(op, operands, payload, len(self.nodes), is_flag, level)
        self.nodes.append(node)
        self._known[key] = node
        return node
