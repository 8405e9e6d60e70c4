"""Checks of the values of parameter groups: those that are given, and those that have changed before a step.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math

from .._values import number, real, short
from ..errors import BadInput
from . import _storage
from ._flags import flag, truth
from ._hyperparameters import check_readable, number_of, read
from ._known import known
from ._torch import NAMES, torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._spec import Spec

#: How PyTorch's errors call an entry.
_SPOKEN = {"lr": "learning rate", "eps": "epsilon value"}


def check_values(group: Mapping[str, Any], spec: Spec) -> None:
    """Refuses values that the constructor of an optimizer refuses, with the errors of PyTorch."""
    if spec.stores:
        _storage.options_of(group)
    for name, default in spec.defaults.items():
        is_flag = isinstance(default, bool) and name in spec.options
        if is_flag or name in spec.ignored:
            (flag if is_flag else truth)(group.get(name, default) if name in spec.added else group[name], name)
    for name in spec.parts:
        read(group, name, spec.parts)  # as many numbers as the program has
    for name in spec.checked:
        value = read(group, name, spec.parts)
        key, index = spec.parts.get(name, (name, None))
        spoken = key if index is None else f"{key}[{index}]"
        if isinstance(value, torch.Tensor):
            if "capturable" in spec.defaults and group.get("foreach") and not group.get("capturable"):
                raise ValueError(
                    f"{spoken} as a Tensor is not supported for capturable=False and foreach=True"
                )
            if value.numel() != 1:
                raise ValueError(f"Tensor {spoken} must be 1-element")
            check_readable(spoken, value)
            is_small = value.is_floating_point() and value.dtype not in NAMES  # PyTorch does not compare float8
            read_value = value.to(torch.float32) if is_small else value
        else:
            # A number of any library may refuse to be compared. A bool is a number, as in PyTorch.
            read_value = float(value) if isinstance(value, bool) else real(value)
            if read_value is None and isinstance(value, int):
                number(value, spoken)  # beyond the range of double precision
            if read_value is None:
                raise TypeError(f"{spoken}: expected a number, found {short(value)}")
        if index is not None:
            if not 0.0 <= read_value < 1.0:
                raise ValueError(f"Invalid {_singular(key)} parameter at index {index}: {value}")
        else:
            _check_range(name, read_value, value)
    for name in _unchecked(spec):
        value = number_of(group, name, spec)
        if isinstance(value, torch.Tensor):
            check_readable(name, value)
        else:
            number(value, name)
    for key in {key for key, _ in spec.parts.values()}:
        if len({isinstance(value, torch.Tensor) for value in group[key]}) > 1:
            raise ValueError(f"{key} must be either both floats or both Tensors")
    for check in (spec.check_step, spec.check):
        if problem := check and check(group):
            raise BadInput(problem)
    # The authors' class of Adan takes both, and has `foreach=True` by default.
    if group.get("fused") and group.get("foreach") and not spec.defaults.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    if group.get("fused") and group.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")


def check_steps(groups: Sequence[Mapping[str, Any]], spec: Spec) -> None:
    """Refuses entries that no step has a meaning for, also those that have changed. It reads no tensor on a device."""
    if not (spec.checked_in_steps or spec.check_step):
        return
    for place, group in enumerate(groups):
        for name, (key, index) in spec.parts.items():
            if type(group[key]) is not tuple or len(group[key]) <= index:
                read(group, name, spec.parts)  # refuses an entry without this part, or in no memory
        try:
            for name in spec.checked_in_steps:
                if (number := known(group[name])) is not None:
                    _check_range(name, number, group[name])
            if problem := spec.check_step and spec.check_step(group):
                raise ValueError(problem)
        except ValueError as error:
            raise BadInput(f"param_groups[{place}]: {error}") from None


def _check_range(name: str, number: Any, value: Any) -> None:
    if not 0.0 <= number or (name == "momentum" and number == math.inf):
        raise ValueError(f"Invalid {_SPOKEN.get(name, f'{name} value')}: {value}")


def _unchecked(spec: Spec) -> list[str]:
    """Hyperparameters that may have any value, but must be numbers."""
    known = {*spec.options, *spec.ignored, *spec.checked, *(key for key, _ in spec.parts.values())}
    return [
        name
        for name, default in spec.defaults.items()
        if name not in known and (type(default) in (int, float) or (default is None and name in spec.optional))
    ]


def _singular(key: str) -> str:
    return key.removesuffix("s")
