"""Names of arguments: messages for those that do not exist, with the name that was probably meant.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import difflib
import functools
import inspect

from .._refusals import REFUSALS
from .._values import refusal
from ..errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

#: Names of one argument in `sinkhorn`, in `solve`, and in the functions of POT, OTT and GeomLoss.
_SYNONYMS = (
    ("eps", "reg", "epsilon", "blur"),
    ("rho_a", "rho_b", "unbalanced", "reg_m", "tau_a", "tau_b", "reach", "rho"),
    ("tol", "stopThr", "threshold"),
    ("limit", "max_iter", "numItermax", "max_iterations", "n_iter", "numIter", "iterations"),
    ("init", "potentials_init", "warmstart"),
    ("regularizer", "reg_type"),
    ("M", "C", "cost", "cost_matrix"),
    ("omega", "momentum"),
    ("anneal", "epsilon_scheduler"),
)


def is_word(value: object, words: Iterable[str]) -> bool:
    """Whether a value is one of these words. Objects of other types are not compared: arrays have no truth value."""
    return isinstance(value, str) and value in words


def check_names(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises a TypeError if an argument has none of the known names."""
    known = list(known)
    for name in given:
        if name in known:
            continue
        same = [
            other for group in _SYNONYMS if _folded(name) in map(_folded, group) for other in group if other in known
        ]
        folded = {_folded(each): each for each in known}
        near = difflib.get_close_matches(_folded(name), folded, 1, 0.75)
        meant = same or [folded[each] for each in near]
        hint = f"; did you mean {' and '.join(map(repr, meant))}?" if meant else "."
        raise TypeError(f"{function}() has no argument '{name}'{hint} Its arguments are {', '.join(known)}")


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def names_checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose message about an unknown argument has the names that exist."""
    parameters = inspect.signature(function).parameters
    known = tuple(parameters)
    by_place = [name for name, each in parameters.items() if each.kind == each.POSITIONAL_OR_KEYWORD]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not kwargs.keys() <= set(known):
            check_names(function.__name__, kwargs, known)
        if len(args) > len(by_place):
            raise TypeError(
                f"{function.__name__}() takes {', '.join(by_place)} by position and all others by name, found {len(args)} "
                f"arguments by position{_order(args[0], args[2])}"
            )
        return function(*args, **kwargs)

    return checked


def unreadable(name: str, array: Any, error: Exception) -> BadInput:
    """The error of an array that refuses to be read."""
    return BadInput(
        f"{name}: expected an array whose memory can be read, found {type(array).__name__}, which raises {refusal(error)}"
    )


def _rank(name: str, array: Any) -> int:
    """The number of axes of an array or of nested lists, at most 2; 0 if it has none that are known."""
    if isinstance(array, (list, tuple)):
        return min(1 + _rank(name, array[0]), 2) if array else 1
    try:
        return min(len(array.shape), 2)
    except (AttributeError, TypeError):  # no array, which another message says
        return 0
    except REFUSALS as error:  # any library's array may refuse
        raise unreadable(name, array, error) from error


def _order(M: Any, b: Any) -> str:
    """A hint for a call in the order of POT's ``sinkhorn(a, b, M, reg)``."""
    if _rank("M", M) == 1 and _rank("b", b) == 2:
        return ": the order is M, a, b, not a, b, M as in ot.sinkhorn of POT"
    return ""


def check_order(M: Any, b: Any) -> None:
    """Raises `BadInput` if costs and weights are in the order of POT's ``sinkhorn(a, b, M, reg)``."""
    if hint := _order(M, b):
        raise BadInput(f"M: expected costs, found a vector of weights, and costs as b{hint}")

