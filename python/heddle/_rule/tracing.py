"""Runs the function of a rule once and records a trace.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextvars
import dis
import re
import sys

from .._values import short
from ..errors import BadInput
from .nodes import Level, Trace, is_library
from .signature import Signature
from .values import Value, describe, in_double, is_number, number_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

_current: contextvars.ContextVar[Trace | None] = contextvars.ContextVar("heddle_trace", default=None)


def current() -> Trace | None:
    """The trace that this thread records, or None."""
    return _current.get()


class _Return:
    """Where a function returned, and its variables then. If a profiler runs: its last return, without variables."""

    def __init__(self, function: Callable[..., Any]) -> None:
        returns = [line for line in _lines_of_returns(function.__code__) if line is not None]
        self.place = f"{function.__code__.co_filename}:{max(returns, default=0)}"
        self.variables: dict[str, object] = {}
        self._code = function.__code__

    def observe(self, frame: Any, event: str, argument: object) -> None:
        if event == "return" and frame.f_code is self._code:
            self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            self.variables = dict(frame.f_locals)


def _lines_of_returns(code: Any) -> Iterator[int | None]:
    line = None
    for instruction in dis.get_instructions(code):
        starts = instruction.starts_line
        line = starts if isinstance(starts, int) and not isinstance(starts, bool) else line
        line = getattr(instruction, "line_number", line)
        if instruction.opname.startswith("RETURN_"):
            yield line


def record(function: Callable[..., Any], signature: Signature, options: Mapping[str, object]) -> Trace:
    """The trace of a rule's function for these options.

    Raises:
        BadInput: a mistake in the function; the message starts with the file and line.
    """
    trace = Trace(signature)

    def argument(op: str, name: str, level: Level) -> Value:
        return Value(trace, trace.leaf(op, name, level))

    lists = [argument("list", name, Level.ELEMENT) for name in (signature.param, signature.grad)]
    lists += [argument("list", state.name, state.level) for state in signature.states]
    hypers = {
        name: tuple(argument("hyper", f"{name}_{k}", Level.HYPER) for k in range(len(default)))
        if isinstance(default, tuple)
        else argument("hyper", name, Level.HYPER)
        for name, default in signature.hypers.items()
    }
    returned = _Return(function)
    token = _current.set(trace)
    is_free = sys.getprofile() is None
    if is_free:
        sys.setprofile(returned.observe)
    try:
        result = function(*lists, **hypers, **options)
    except (AttributeError, TypeError) as error:
        if isinstance(error, BadInput):  # a class of its own, for callers that expect an error of Python
            raise BadInput(str(error)) from None
        (_explain_unknown if isinstance(error, AttributeError) else _explain_use)(error)
        raise
    finally:
        if is_free:
            sys.setprofile(None)
        _current.reset(token)
    _take_outputs(trace, result, returned)
    _check_changes(trace, returned)
    for name, value in returned.variables.items():
        if isinstance(value, Value) and value._trace is trace and name.isascii() and not value._node.is_leaf:
            value._node.hint = value._node.hint or name
    return trace


def _explain_use(error: BaseException) -> None:
    """Turns an error of Python about a value, such as a call of it, into one that points at the user's line."""
    if not re.search(r"\bValue\b", str(error)):
        return
    raise BadInput(
        f"{_users_place(error)}: a value of a rule is a number of one element, found another use: {error}. "
        "docs/rule.md has the operations and functions"
    ) from None


def _users_place(error: BaseException) -> str:
    """``FILE:LINE`` of the innermost function of an error that is part of no library."""
    frame, place = error.__traceback__, ""
    while frame:
        if not is_library(frame.tb_frame):
            place = f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}"
        frame = frame.tb_next
    return place


def _explain_unknown(error: BaseException) -> None:
    """Turns the error about a function that heddle does not have into one that points at the user's line."""
    found = re.fullmatch(r"module 'heddle' has no attribute '(\w+)'", str(error))
    if not found:
        return
    place = _users_place(error)
    from .. import _RULE

    functions = ", ".join(sorted(name for name in _RULE if name not in ("Rule", "Value", "rule")))
    raise BadInput(
        f"{place}: there is no function heddle.{found[1]}. The functions of rules are {functions}"
    ) from None


def _check_changes(trace: Trace, returned: _Return) -> None:
    signature = trace.signature
    names = (signature.param, *(state.name for state in signature.states))
    if all(node.op == "list" and node.payload == name for node, name in zip(trace.outputs, names)):
        raise BadInput(f"{returned.place}: rule '{signature.name}': expected a new value, found only the old ones")


def _take_outputs(trace: Trace, result: object, returned: _Return) -> None:
    signature = trace.signature
    names = (signature.param, *(state.name for state in signature.states))
    values = result if isinstance(result, (tuple, list)) else (result,)

    def refuse(message: str) -> None:
        raise BadInput(f"{returned.place}: {message}")

    if len(values) != len(names):
        wanted = f"the new {names[0]}"
        if len(names) > 1:
            wanted = f"the new {', '.join(names[:-1])} and {names[-1]} in this order"
        found = "None" if result is None else f"{len(values)} value{'s' * (len(values) != 1)}"
        refuse(
            f"rule '{signature.name}': expected {len(names)} value{'s' * (len(names) != 1)}, {wanted}, "
            f"found {found}"
            + ("; arguments between the gradient and '*' are state, those after '*' hyperparameters" if len(names) > 1 else "")
        )
    levels = (Level.ELEMENT, *(state.level for state in signature.states))
    for name, level, value in zip(names, levels, values):
        if isinstance(value, Value) and value._trace is trace and value._node.level > level:
            refuse(
                f"rule '{signature.name}': expected one value for each tensor as the new value of '{name}', found "
                f"{describe(value)}: use heddle.sum, mean, norm, amax or amin"
            )
        if isinstance(value, Value) and value._trace is trace and not value._node.is_flag:
            trace.outputs.append(number_node(trace, value))
        elif is_number(value) and (plain := in_double(value)) is not None:
            trace.outputs.append(trace.constant(plain))
        elif is_number(value):
            refuse(
                f"rule '{signature.name}': expected a number in the range of double precision as the new value of "
                f"'{name}', found {short(value)}"
            )
        else:
            found = describe(value) if isinstance(value, Value) else short(value)
            refuse(f"rule '{signature.name}': expected a number as the new value of '{name}', found {found}")
