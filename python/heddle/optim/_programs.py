"""Programs and executables of optimizers, each made once in a process.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import os
import re
import threading
from typing import NamedTuple

from .. import executable as _executable
from .. import inspection
from . import _rewrite
from ._spec import Family, Spec, suffixes
from ._torch import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Form(NamedTuple):
    """The form of a program."""

    #: The element types of each family.
    families: tuple[Family, ...]
    #: Whether hyperparameters have one value for each member.
    groups: bool
    #: The options and their values.
    options: tuple[tuple[str, Any], ...]
    #: Whether gradients are divided by `grad_scale`, and steps skipped, as a GradScaler wants.
    scaled: bool = False
    #: How gradients are clipped: "" (not at all), "norm" (by their norm), or "sum" (by a given sum of squares).
    clip: str = ""


_lock = threading.RLock()
#: Executables that are kept for later optimizers.
EXECUTABLES = 256
_executables: collections.OrderedDict[tuple[str, str], _executable.Executable] = collections.OrderedDict()


def _unlock() -> None:
    # Another thread of the parent may hold the lock.
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_unlock)


def text(spec: Spec, form: Form) -> str:
    """The program of an optimizer: the text of a module, or a standard program with options."""
    with _lock:
        if form not in spec._texts:
            program = spec.program(form.families, form.groups, dict(form.options))
            if form.clip or form.scaled or spec.accumulation != 1 or spec.clip_value is not None or spec.averages:
                module = program if "\n" in program else inspection.emit(program, "foreach")
                endings = suffixes(form.families)
                if spec.averages:
                    without = spec.averages(form.families, form.groups, dict(form.options))
                    module = _rewrite.count_averages(module, inspection.emit(without, "foreach"), endings)
                if spec.clip_value is not None:
                    module = _rewrite.clip_value(module, form.families, endings, spec.clip_value)
                if form.clip:
                    module = _rewrite.clip(module, form.families, endings, given=form.clip == "sum")
                if spec.accumulation != 1:
                    module = _rewrite.average(module, form.families, endings, spec.accumulation)
                if form.scaled:
                    module = _rewrite.scale(module, form.families, endings)
                program = module
            spec._texts[form] = program
        return spec._texts[form]


def reduced_axes(spec: Spec, form: Form) -> set[str]:
    """What the rule of an optimizer reduces over: "member" (a tensor), "list" (all tensors), rows or columns."""
    module = text(spec, form._replace(scaled=False, clip=""))
    if "\n" not in module:
        module = inspection.emit(module, "foreach")
    return set(re.findall(r"foreach\.reduce \w+ along (\w+)", module))


def executable(program: str, device: Any) -> _executable.Executable:
    """The executable of a program for a device of PyTorch."""
    key = program, str(device)
    with _lock:
        made = _executables.pop(key, None)
        if made is None:
            if device.type == "cpu":
                made = _executable.compile(program, target="cpu")
            else:
                with torch.cuda.device(device):
                    torch.cuda.current_stream(device)  # creates the context
                    made = _executable.compile(program, target="cuda")
        _executables[key] = made  # the last one
        while len(_executables) > EXECUTABLES:
            _executables.popitem(last=False)
        return made


def sum_of_squares(families: tuple[Family, ...], scaled: bool, accumulation: float) -> str:
    """The program that adds the squares of all gradients."""
    endings = suffixes(families)
    module = _rewrite.sum_of_squares(families, endings)
    if accumulation != 1:
        module = _rewrite.average(module, families, endings, accumulation)
    return _rewrite.scale(module, families, endings) if scaled else module
