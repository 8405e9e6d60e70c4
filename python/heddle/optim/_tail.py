"""What `heddle.optim.chain` adds to the program of an optimizer, beside clipping by the norm.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import NamedTuple

from .. import inspection
from .._values import boolean, listed, real, short
from ..errors import BadInput
from . import _rewrite
from ._spec import Family

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._spec import Spec

#: The entries of a schedule that are numbers.
_SCHEDULE = ("warmup", "start", "steps", "end", "gamma", "decay")


#: Those of which 0 makes no schedule.
_POSITIVE = ("steps", "gamma", "decay")


class Tail(NamedTuple):
    """The arguments of `chain` that are part of the program."""

    accumulation: float = 1.0
    clip_value: float | None = None
    ema: float = 0.0
    zero_grad: bool = False
    #: The options of the library, such as "schedule=cosine".
    schedule: tuple[str, ...] = ()
    #: Whether a step with a gradient that is not finite is skipped.
    check_finite: bool = False

    def options(self) -> list[str]:
        """The options of the optimizer's program."""
        options = list(self.schedule)
        if self.ema:
            options.append(f"ema={self.ema!r}")
        if self.zero_grad:
            options.append("zero_grad=true")
        return options

    def extend(self, spec: Spec) -> Spec:
        """The optimizer with these options."""
        added = self._replace(check_finite=False)  # which is of the form of a program, not of its optimizer
        return spec if added == Tail() else spec._extended(added)

    def extension(self, spec: Spec) -> Spec:
        """Creates the description of the optimizer with these options."""
        options = self.options()

        def program(families: Sequence[Family], groups: bool, values: Mapping[str, Any]) -> str:
            text = spec.program(families, groups, values)
            if options and "\n" in text:
                raise BadInput(
                    f"{spec.name}: expected an optimizer of the library for ema, zero_grad or schedule, found a traced rule: "
                    "write them into the rule"
                )
            return ",".join([text, *options]) if options else text

        return dataclasses.replace(
            spec,
            program=program,
            accumulation=self.accumulation,
            clip_value=self.clip_value,
            zeroes=self.zero_grad,
            averages=self._replace(ema=0.0).extend(spec).program if self.ema else None,
            hidden={**spec.hidden, **({_rewrite.AVERAGED: _rewrite.AVERAGE} if self.ema else {})},
            shown=("step",) if self.schedule else (),  # a schedule continues in copies and from checkpoints
        )


def tail(
    accumulation: Any,
    clip_value: Any,
    ema: Any,
    zero_grad: Any,
    schedule: Mapping[str, Any] | str | None,
    check_finite: Any,
) -> Tail:
    """Checks the arguments of `chain`."""
    count = _number(
        "accumulation", accumulation, "a whole number of at least 1", lambda value: value >= 1 and value % 1 == 0
    )
    value = None
    if clip_value is not None:
        value = _number("clip_grad_value", clip_value, "a number of at least 0 or None", lambda value: value >= 0)
        value = None if value == math.inf else value  # limits nothing
    decay = 0.0
    if ema is not None:
        decay = _number("ema", ema, "a decay above 0 and below 1 or None", lambda value: 0 < value < 1)
    zeroes, checks = boolean(zero_grad, "zero_grad"), boolean(check_finite, "check_finite")
    return Tail(count, value, decay, zeroes, _schedule(schedule), checks)


def check(spec: Spec, options: Mapping[str, Any], added: Tail) -> None:
    """Refuses what the program of an optimizer does not take, which the first step would find otherwise.

    Args:
        spec: the optimizer, without `added`.
        options: the options of its program.
        added: what `chain` adds.

    Raises:
        BadInput: entries of the schedule contradict each other, or the optimizer has no place for what is added.
    """
    if not added.options():
        return
    program = added.extend(spec).program([Family("f32", "f32", "f32")], False, options)
    try:
        inspection.emit(program, "foreach")
    except BadInput as error:
        raise BadInput(_as_argument(str(error))) from None


def _as_argument(message: str) -> str:
    """A message of the library about options of a program as one about the argument `schedule`."""
    found = re.fullmatch(r"program '.*', column \d+: (.*schedule.*)", message, re.S)
    if not found:
        return message
    text = re.sub(r"option 'schedule' of '\w+' expects", "expected", found[1])
    text = re.sub(r"option 'schedule' does", "it does", text)
    text = re.sub(r"(?:option )?'schedule=(\w+)'", r"'\1'", text)
    text = re.sub(r"(?:option )?'schedule_(\w+)'", r"the entry '\1'", text)
    return f"schedule: {text}"


def _number(name: str, value: Any, expected: str, is_right: Any) -> float:
    number = real(value)
    if isinstance(value, bool) or number is None or not is_right(number):
        raise BadInput(f"{name}: expected {expected}, found {short(value)}")
    return float(number)


def _schedule(schedule: Mapping[str, Any] | str | None) -> tuple[str, ...]:
    if schedule is None:
        return ()
    entries = {"kind": schedule} if isinstance(schedule, str) else schedule
    if not hasattr(entries, "keys") or not isinstance(entries.get("kind"), str):
        raise BadInput(
            "schedule: expected the name of a schedule, or a dictionary such as {'kind': 'cosine', 'steps': 1000}, "
            f"found {short(schedule)}"
        )
    options = [f"schedule={entries['kind']}"]
    for name, value in entries.items():
        if name == "kind":
            continue
        where = f"schedule['{name}']"
        if name not in _SCHEDULE:
            raise BadInput(f"schedule: expected the entries kind, {', '.join(_SCHEDULE)}, found {listed([repr(name)])}")
        if name in _POSITIVE:  # the library takes 0 for an entry that is not given
            number = _number(where, value, "a finite number above 0", lambda value: 0 < value < math.inf)
        else:
            number = _number(where, value, "a finite number of at least 0", lambda value: 0 <= value < math.inf)
        options.append(f"schedule_{name}={number!r}")
    return tuple(options)
