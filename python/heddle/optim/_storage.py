"""How an optimizer stores parameters and state: the arguments `state_dtype`, `rounding`, `master` and `seed`.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .._values import short
from ..dtypes import dtype_name
from ..errors import BadInput
from ._torch import DTYPES, is_distributed, local, real_numel, torch

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

#: A block has random numbers for this many elements.
_BLOCK = 8

_SHORT = ("f16", "bf16")
_SHORT_TYPES = {"float16", "bfloat16"}


def option(name: str, value: Any) -> Any:
    """The value of an entry as a plain Python value.

    Raises:
        BadInput: the entry has no such value.
    """
    if name == "seed":
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
            raise BadInput(f"seed: expected a whole number of at least 0 and below 2**53, found {short(value)}")
        return value
    if name == "rounding":
        if not isinstance(value, str) or value not in ("nearest", "stochastic"):
            raise BadInput(f"rounding: expected 'nearest' or 'stochastic', found {short(value)}")
        return value
    if value is None:
        return None
    if name == "master" and isinstance(value, str) and value == "split":
        return value
    expected = "'f32', 'split' or None" if name == "master" else f"one of {', '.join(DTYPES)} or None"
    try:
        dtype = dtype_name(value)
    except BadInput:
        dtype = ""
    if dtype not in (("f32",) if name == "master" else tuple(DTYPES)):
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
    types = {str(param.dtype).removeprefix("torch.") for group in groups for param in group["params"]}
    found = f"found parameters of {', '.join(sorted(types))}"
    for group in groups:
        options = options_of(group)
        if options["master"] and averages:
            raise BadInput(
                f"master={options['master']!r}: train() and eval() replace the parameters, which cannot be copies; leave "
                "'master' out"
            )
        if options["master"] == "split" and ("bfloat16" not in types or "float16" in types):
            raise BadInput(f"master='split': expected parameters of bfloat16, and none of float16, {found}")
        if options["master"] == "f32" and not types & _SHORT_TYPES:
            raise BadInput(f"master='f32': expected parameters of bfloat16 or float16, {found}")
        is_short = options["state_dtype"] in _SHORT
        if options["state_dtype"] is None or not options["master"]:
            is_short |= bool(types & _SHORT_TYPES)
        if options["rounding"] == "stochastic" and not is_short:
            raise BadInput(
                f"rounding='stochastic': expected parameters or state of bfloat16 or float16, {found}, "
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


def first_blocks(groups: Sequence[Mapping[str, Any]]) -> dict[Any, int]:
    """The first block of the random numbers of each parameter.

    All elements of all parameters, in the order of the groups, have a number; blocks are of 8 of them. So the random
    numbers of an element do not depend on how parameters are divided into launches, devices and processes, if shards
    start at multiples of 8 elements.
    """
    blocks: dict[Any, int] = {}
    count = 0
    for group in groups:
        for param in group["params"]:
            if param in blocks:
                continue
            blocks[param] = count + _offset(param) // _BLOCK
            count += -(-real_numel(param) // _BLOCK)
    return blocks


def _offset(param: Any) -> int:
    """The number of elements before the local shard of a DTensor that is sharded along its first dimension."""
    if not is_distributed(param):
        return 0
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    _, offset = compute_local_shape_and_global_offset(param.shape, param.device_mesh, param.placements)
    first = int(offset[0]) if len(offset) else 0
    row = real_numel(local(param)) // max(1, local(param).shape[0]) if local(param).ndim else 0
    return first * row


def list_dtype(key: str, state: Any) -> Any:
    """PyTorch's element type of a list that is as large as the parameter."""
    if key == LOW:
        return torch.int16
    return torch.float32 if key == MASTER else state


def joined(param: Any, low: Any) -> Any:
    """The float32 numbers whose upper halves are `param` and whose lower halves are `low`."""
    bits = param.detach().to(torch.float32).view(torch.int32) + low.to(torch.int32)
    return bits.view(torch.float32)


def split(master: Any) -> tuple[Any, Any]:
    """The upper halves of float32 numbers, in bfloat16, and the lower halves, as the program makes them."""
    bits = master.view(torch.int32)
    is_nan = torch.isnan(master)
    high = ((bits + 0x8000) >> 16 << 16).view(torch.float32)
    low = torch.where(is_nan, torch.zeros_like(bits), bits).to(torch.int16)
    return torch.where(is_nan, master, high).to(torch.bfloat16), low
