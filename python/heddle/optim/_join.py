"""Joins the programs of several optimizers to one, which is fused as one program.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import re

from ._rewrite import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def ending(place: int) -> str:
    """What the names of the values of one of several programs end in."""
    return f"_{place}"


def join(texts: Sequence[str]) -> str:
    """One program that does what these programs do, each with its own arguments and results.

    Texts are in the form in which heddle prints a module. The names of the arguments of the program at a place get
    `ending` of the place: ``lr_0`` and ``grad_f32_1``.
    """
    modules = [Module(_with_ending(_without_aliases(text), ending(place))) for place, text in enumerate(texts)]
    joined = modules[0]
    joined.head += "".join("_" + module.head.rpartition("@")[2] for module in modules[1:])
    for module in modules[1:]:
        first = len(joined.results)
        joined.arguments += [
            argument._replace(attributes=_donated_from(first, argument.attributes)) for argument in module.arguments
        ]
        joined.body += module.body
        joined.results += module.results
        joined.types += module.types
    return joined.text()


def _donated_from(first: int, attributes: str) -> str:
    """The attributes of an argument whose program has its results from the place `first` on."""
    return re.sub(r"(foreach\.donate = )(\d+)", lambda found: f"{found[1]}{first + int(found[2])}", attributes)


def _without_aliases(text: str) -> str:
    """The text with the meaning of each type in place of its alias: two programs may have the same aliases."""
    lines = text.splitlines()
    aliases = dict(line[1:].split(" = ", 1) for line in lines if re.match(r"![\w$]+ = ", line))
    lines = [line for line in lines if not re.match(r"![\w$]+ = ", line)]
    return re.sub(r"!([\w$]+)\b(?!\.)", lambda found: aliases.get(found[1], found[0]), "\n".join(lines))


def _with_ending(text: str, end: str) -> str:
    """The text with other names of all values."""
    return re.sub(r"%([\w$.\-]+)", rf"%\1{end}", text)
