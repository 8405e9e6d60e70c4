"""The parameters of a rule: the parameter and its gradient, state, hyperparameters and options.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import inspect
import linecache
import math
from typing import NamedTuple, Union

from .._values import plain, short
from ..errors import BadInput
from .nodes import Level
from .values import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

#: The value of an option.
Option = Union[bool, str, float, None]

#: The names in the program of the first two parameters and of the step counter, as in the standard programs.
PARAM, GRAD, STEP = "param", "grad", "step"
#: Words that the methods of a rule and optimizers take for themselves.
_TAKEN = frozenset(
    "self params target arch dtype state groups shapes json stage name param_names seed foreach fused "
    "capturable differentiable".split()
)
#: Names of lists and scalars that heddle.optim adds to the program of a rule.
_TAKEN_BY_LISTS = frozenset("master_param param_low ema seed norm max_norm grad_scale found_inf".split())


class Range(NamedTuple):
    """The values that a hyperparameter may have, from `heddle.hyper`."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def has(self, value: float) -> bool:
        """Whether a number is in the range; NaN is in none."""
        return (
            value == value
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        words = {"least": "at least", "most": "at most", "above": "above", "below": "below"}
        given = zip(words.values(), self)
        return " and ".join(f"{word} {plain(bound)}" for word, bound in given if bound is not None)


class RangedNumber(float):
    """The default of a hyperparameter with a range: a plain number otherwise."""

    range: Range


class RangedTuple(tuple[float, ...]):
    """The default of a hyperparameter of several numbers, each of which has the range."""

    range: Range


class PerTensor:
    """The default of a state with one value for each tensor, from `heddle.per_tensor`."""

    def __init__(self, initial: float) -> None:
        self.initial = initial

    def __repr__(self) -> str:
        return f"heddle.per_tensor({plain(self.initial)})"


class State(NamedTuple):
    """A parameter after the first two: state of the optimizer."""

    name: str
    #: The value of its elements before the first step.
    initial: float
    #: Whether it has one value for each tensor, in float32, and not one for each element.
    per_tensor: bool = False

    @property
    def level(self) -> Level:
        """The level of its value."""
        return Level.MEMBER if self.per_tensor else Level.ELEMENT


class Signature(NamedTuple):
    """The parameters of a rule's function."""

    #: The name of the rule, and of its program.
    name: str
    #: The user's names of the parameter and the gradient.
    param: str
    grad: str
    states: tuple[State, ...]
    #: The default of each hyperparameter: a number, or a tuple of numbers.
    hypers: dict[str, float | tuple[float, ...]]
    #: The range of each hyperparameter that has one.
    ranges: dict[str, Range]
    #: The default of each option.
    options: dict[str, Option]
    #: The names of hyperparameters and options, in the order of the function.
    keywords: tuple[str, ...]

    def named(self) -> tuple[str, ...]:
        """The arguments of the rule's optimizer that are given by name: all but a learning rate that is the first one."""
        return self.keywords[1:] if self.keywords[:1] == ("lr",) else self.keywords

    def of_optimizer(self) -> inspect.Signature:
        """The arguments of the rule's optimizer."""
        defaults = {**self.hypers, **self.options}
        by_position, only = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        given = [
            inspect.Parameter(name, only if name in self.named() else by_position, default=defaults[name])
            for name in self.keywords
        ]
        return inspect.Signature([inspect.Parameter("params", by_position), *given])


def scalars_of(hypers: dict[str, float | tuple[float, ...]]) -> dict[str, float]:
    """The hyperparameters as arguments of a program: the entries of a tuple ``betas`` are ``betas_0``, ``betas_1``."""
    scalars = {}
    for name, value in hypers.items():
        if isinstance(value, tuple):
            scalars.update({f"{name}_{k}": number for k, number in enumerate(value)})
        else:
            scalars[name] = value
    return scalars


def line_of_definition(function: Callable[..., Any]) -> str:
    """``FILE:LINE`` of the ``def`` of a function; its code starts at its decorators."""
    code = function.__code__
    line = code.co_firstlineno
    for later in range(line, line + 50):
        if linecache.getline(code.co_filename, later).lstrip().startswith(("def ", "async def ")):
            line = later
            break
    return f"{code.co_filename}:{line}"


def read_number(value: object) -> float | tuple[float, ...] | None:
    """The value of a hyperparameter: a finite number, or a tuple of them; None if `value` is neither."""
    if isinstance(value, tuple) and value:
        numbers = [read_number(each) for each in value]
        whole = all(isinstance(number, float) for number in numbers)
        return tuple(numbers) if whole else None  # type: ignore[arg-type]
    if not is_number(value):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def read_signature(function: Callable[..., Any]) -> Signature:
    """The signature of a rule's function.

    Raises:
        BadInput: a parameter is none of those that docs/rule.md describes.
    """
    if not inspect.isfunction(function):
        raise BadInput(f"heddle.rule: expected a function, found an object of type {type(function).__name__}")
    reader = _Reader(function)
    for kind, is_kind in (
        ("an async function", inspect.iscoroutinefunction),
        ("an async generator", inspect.isasyncgenfunction),
        ("a generator, which has 'yield'", inspect.isgeneratorfunction),
    ):
        if is_kind(function):
            reader.refuse(f"expected a plain function that returns the new values, found {kind}")
    for parameter in inspect.signature(function).parameters.values():
        reader.read(parameter)
    return reader.finish()


class _Reader:
    """Sorts the parameters of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._lists: list[State] = []
        self._hypers: dict[str, float | tuple[float, ...]] = {}
        self._ranges: dict[str, Range] = {}
        self._options: dict[str, Option] = {}
        self._keywords: list[str] = []

    def refuse(self, message: str) -> NoReturn:
        raise BadInput(f"{line_of_definition(self._function)}: rule '{self._function.__name__}': {message}")

    def read(self, parameter: inspect.Parameter) -> None:
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            self.refuse(f"expected parameters with names, found '{parameter}'")
        if not (name.isascii() and name.isidentifier()):
            self.refuse(f"expected parameters with ASCII names, found '{name}'")
        if parameter.kind == parameter.KEYWORD_ONLY:
            self._read_keyword(name, parameter.default)
        else:
            self._read_list(name, parameter.default)

    def _read_list(self, name: str, default: object) -> None:
        initial, per_tensor = 0.0, isinstance(default, PerTensor)
        if default is not inspect.Parameter.empty:
            if len(self._lists) < 2:
                self.refuse(f"expected the parameter and its gradient without defaults, found {short(default)} for '{name}'")
            if isinstance(default, PerTensor):
                default = default.initial
            if not is_number(default):
                self.refuse(
                    f"expected a number, the value of the state '{name}' before the first step, found {short(default)}. "
                    "A state of one value for each tensor is heddle.per_tensor(number). Hyperparameters and options "
                    "follow a '*'"
                )
            try:
                initial = float(default)  # type: ignore[arg-type]
            except OverflowError:
                self.refuse(f"expected a number that double precision can hold, found {short(default)} for '{name}'")
        if len(self._lists) >= 2 and (name in (PARAM, GRAD, STEP) or name in _TAKEN_BY_LISTS):
            self.refuse(f"'{name}' is the name of another list of the program: use another name for this state")
        self._lists.append(State(name, initial, per_tensor))

    def _read_keyword(self, name: str, default: object) -> None:
        if name in _TAKEN or name in (PARAM, GRAD, STEP):
            self.refuse(f"the name '{name}' has a meaning for every rule: use another")
        if default is inspect.Parameter.empty:
            self.refuse(
                f"expected a default of '{name}': a number makes it a hyperparameter; a bool, a string or None an "
                "option"
            )
        self._keywords.append(name)
        if default is None or isinstance(default, (bool, str)):
            self._options[name] = default
            return
        number = read_number(default)
        if number is None:
            self.refuse(
                f"expected as the default of '{name}' a finite number or a tuple of numbers (a hyperparameter), or a "
                f"bool, a string or None (an option), found {short(default)}"
            )
        self._hypers[name] = number
        if isinstance(default, (RangedNumber, RangedTuple)):
            self._ranges[name] = default.range

    def finish(self) -> Signature:
        if len(self._lists) < 2:
            self.refuse("expected at least two positional parameters, the parameter and its gradient")
        param, grad, *states = self._lists
        names = [state.name for state in states]
        for hyper, default in self._hypers.items():
            names.extend(scalars_of({hyper: default}))
        for name in names:
            if names.count(name) > 1:
                self.refuse(f"two arguments of the program have the name '{name}': use another")
        name = self._function.__name__
        name = name if name.isidentifier() and name.isascii() else "rule"
        return Signature(
            name,
            param.name,
            grad.name,
            tuple(states),
            self._hypers,
            self._ranges,
            self._options,
            tuple(self._keywords),
        )
