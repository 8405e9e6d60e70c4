"""Programs and executables of optimizers, each made once in a process.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import os
import re
import threading
import weakref
from typing import NamedTuple

from .. import executable as _executable
from .. import inspection
from . import _join, _rewrite
from ._spec import KEPT, Family, Spec, suffixes
from ._torch import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
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
    #: Whether a step is skipped if a gradient is not finite: "" (it is not), "own", or "given" (by a given flag).
    check: str = ""

    def plain(self) -> Form:
        """The form of a step that depends on nothing but hyperparameters, gradients and state."""
        return Form(*self[:3])

    @property
    def takes_totals(self) -> bool:
        """Whether the program is given what is computed from all gradients, also those of other programs."""
        return self.clip == "sum" or self.check == "given"


_lock = threading.RLock()
#: Executables that are kept for later optimizers.
EXECUTABLES = 256
_executables: collections.OrderedDict[tuple[str, str], _executable.Executable] = collections.OrderedDict()


def _unlock() -> None:
    # Another thread of the parent may hold the lock.
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_unlock)


def text(spec: Spec, form: Form, others: Sequence[tuple[Spec, Form]] = ()) -> str:
    """The program of an optimizer: the text of a module, or a standard program with options.

    Args:
        spec: the optimizer.
        form: the form of its program.
        others: further optimizers whose steps the program does, with what `chain` adds to all of them.
    """
    with _lock:
        # Weak references, because an optimizer that refers to itself would be freed late.
        key = (form, *((other, weakref.ref(each)) for each, other in others))
        written = spec._texts.pop(key, None)
        if written is None:
            _forget_gone(spec._texts)
            written = _written(spec, form, others)
        spec._texts[key] = written  # the last one
        while len(spec._texts) > KEPT:
            del spec._texts[next(iter(spec._texts))]
        return written


def _forget_gone(texts: dict[Any, str]) -> None:
    """Forgets texts with the rules of further optimizers that are gone. The first one may live as long as the process."""
    for key in [key for key in texts if any(each() is None for _, each in key[1:])]:
        del texts[key]


def _written(spec: Spec, form: Form, others: Sequence[tuple[Spec, Form]]) -> str:
    if not others:
        program = spec.program(form.families, form.groups, dict(form.options))
        families, endings = form.families, suffixes(form.families)
        is_changed = form != form.plain() or spec.accumulation != 1 or spec.clip_value is not None or spec.averages
        if not (is_changed or (len(families) > 1 and _counts_twice(spec, form))):
            return program
        module = _module(spec, form, program)
    else:
        shares = [(spec, form), *others]
        module = _join.join(
            [_module(each, own, each.program(own.families, own.groups, dict(own.options))) for each, own in shares]
        )
        families = tuple(family for _, own in shares for family in own.families)
        endings = [
            own_ending + _join.ending(place)
            for place, (_, own) in enumerate(shares)
            for own_ending in suffixes(own.families)
        ]
    if spec.clip_value is not None:
        module = _rewrite.clip_value(module, families, endings, spec.clip_value)
    if form.clip:
        module = _rewrite.clip(module, families, endings, given=form.clip == "sum")
    if spec.accumulation != 1:
        module = _rewrite.average(module, families, endings, spec.accumulation)
    if form.scaled:
        module = _rewrite.scale(module, families, endings)
    if form.scaled or form.check:
        module = _rewrite.skip(module, families, endings, scaled=form.scaled, check=form.check)
    return module


def _module(spec: Spec, form: Form, program: str) -> str:
    """The text of the module of one optimizer, whose average starts by a count of its own."""
    module = program if "\n" in program else inspection.emit(program, "foreach")
    endings = suffixes(form.families)
    if spec.averages:
        without = spec.averages(form.families, form.groups, dict(form.options))
        module = _rewrite.count_averages(module, inspection.emit(without, "foreach"), endings)
    return _rewrite.name_families(module, endings) if _counts_twice(spec, form) else module


def _counts_twice(spec: Spec, form: Form) -> bool:
    """Whether a rule with a counter of its own gets a second one, of a schedule or of the random numbers."""
    return bool(spec.shown) or dict(form.options).get("rounding") == "stochastic"


def reduced_axes(spec: Spec, form: Form) -> set[str]:
    """What the rule of an optimizer reduces over: "member" (a tensor), "list" (all tensors), rows or columns."""
    module = text(spec, form.plain())
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


def totals(families: Sequence[Family], endings: Sequence[str], form: Form, accumulation: float) -> str:
    """The program that computes what programs of this form are given: the sum of squares, and the flag."""
    module = _rewrite.totals(families, endings)
    if form.clip:
        module = _rewrite.sum_of_squares(module, families, endings)
        if accumulation != 1:
            module = _rewrite.average(module, families, endings, accumulation)
        if form.scaled:
            module = _rewrite.scale(module, families, endings)
    return _rewrite.not_finite(module, families, endings) if form.check else module
