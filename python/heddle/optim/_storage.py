"""How an optimizer stores parameters and state: the arguments `state_dtype`, `rounding`, `master` and `seed`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._values import short, whole
from ..dtypes import dtype_name
from ..errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._spec import Family

#: The entries of a parameter group and their defaults. A group has them only if it was given another value.
DEFAULTS: dict[str, Any] = {"state_dtype": None, "rounding": "nearest", "master": None, "seed": 0}

MEANINGS = {
    "state_dtype": "the element type of state that is as large as the parameter, such as ``torch.bfloat16``; None: that "
    "of the parameter.",
    "rounding": "``'stochastic'`` rounds parameters and state of 16 bits up or down at random, so that the mean error is "
    "0; ``'nearest'``, the default, rounds to the nearest number.",
    "master": "``'split'`` keeps the lower halves of exact float32 parameters, whose upper halves are bfloat16 "
    "parameters; ``'f32'`` keeps float32 numbers of which parameters of 16 bits are copies; None: parameters are all "
    "there is.",
    "seed": "chooses the random numbers of ``rounding='stochastic'``.",
}

#: The lists of a program that have exact parameters, or their lower halves; the list of the first block of the random
#: numbers of each tensor; and the scalar argument.
MASTER, LOW, FIRST_BLOCK, SEED = "master_param", "param_low", "first_block", "seed"
#: The element types of lists whose type is not that of the other state.
TYPES = {MASTER: "f32", LOW: "i16"}

#: The hidden entries that say that a state has had such a list. A step does not make the list again.
HAD = {key: f"had_{key}" for key in TYPES}

_SHORT = ("f16", "bf16")
_DTYPES = ("f64", "f32", "f16", "bf16")
_SHORT_TYPES = {"float16", "bfloat16"}


def option(name: str, value: Any) -> Any:
    """The value of an entry as a plain Python value.

    Raises:
        BadInput: the entry has no such value.
    """
    if name == "seed":
        seed = whole(value)
        if seed is None or not 0 <= seed < 2**53:
            raise BadInput(f"seed: expected a whole number of at least 0 and below 2**53, found {short(value)}")
        return seed
    if name == "rounding":
        if not isinstance(value, str) or value not in ("nearest", "stochastic"):
            raise BadInput(f"rounding: expected 'nearest' or 'stochastic', found {short(value)}")
        return value
    if value is None:
        return None
    if name == "master" and isinstance(value, str) and value == "split":
        return value
    expected = "'f32', 'split' or None" if name == "master" else f"one of {', '.join(_DTYPES)} or None"
    try:
        dtype = dtype_name(value)
    except BadInput:
        dtype = ""
    if dtype not in (("f32",) if name == "master" else _DTYPES):
        raise BadInput(f"{name}: expected {expected}, found {short(value)}")
    return dtype


def options_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a group, as plain Python values."""
    return {name: option(name, group.get(name, default)) for name, default in DEFAULTS.items()}


def check(groups: Sequence[Mapping[str, Any]], *, averages: bool = False) -> None:
    """Refuses entries that contradict each other, or all parameters.

    Args:
        groups: the parameter groups.
        averages: the parameters of evaluation are an average, which replaces the parameters.

    Raises:
        BadInput: there is no list for which an entry has a meaning.
    """
    if all(options_of(group) == DEFAULTS for group in groups):
        return
    types = {str(param.dtype).removeprefix("torch.") for group in groups for param in group["params"]}
    found = f"found parameters of {', '.join(sorted(types))}"
    for place, group in enumerate(groups):
        options = options_of(group)
        where = f"parameter group {place}: " if len(groups) > 1 else ""
        if options["master"] and averages:
            raise BadInput(
                f"{where}master={options['master']!r}: train() and eval() replace the parameters, which cannot be copies; leave "
                "'master' out"
            )
        if options["master"] == "split" and ("bfloat16" not in types or "float16" in types):
            raise BadInput(f"{where}master='split': expected parameters of bfloat16, and none of float16, {found}")
        if options["master"] == "f32" and not types & _SHORT_TYPES:
            raise BadInput(f"{where}master='f32': expected parameters of bfloat16 or float16, {found}")
        is_short = options["state_dtype"] in _SHORT
        if options["state_dtype"] is None or not options["master"]:
            is_short |= bool(types & _SHORT_TYPES)
        if options["rounding"] == "stochastic" and not is_short:
            raise BadInput(
                f"{where}rounding='stochastic': expected parameters or state of bfloat16 or float16, {found}, "
                f"state_dtype={options['state_dtype']!r} and master={options['master']!r}"
            )


def settings(families: Sequence[Family], options: Mapping[str, Any]) -> dict[str, str]:
    """The options of a standard program. Those that have no meaning for these families are left out."""
    chosen = {}
    types = {family.param for family in families}
    master = options.get("master")
    if (master == "split" and "bf16" in types) or (master == "f32" and types & set(_SHORT)):
        chosen["master"] = master
    is_rounded = any(family.state in _SHORT or (family.param in _SHORT and not master) for family in families)
    if options.get("rounding") == "stochastic" and is_rounded:
        chosen["rounding"] = "stochastic"
    return chosen
