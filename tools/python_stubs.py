#!/usr/bin/env python3
"""Writes the types of the optimizers from their table, for type checkers and editors; `tools/dev docs` calls it.

    python_stubs.py PACKAGE OUT         writes OUT/__init__.pyi and OUT/functional.pyi, the stubs of PACKAGE/optim

heddle makes the classes of `heddle.optim` and the functions of `heddle.optim.functional` of its table when it is imported,
where no type checker sees them. As for the reference pages, only the table is imported, which needs nothing but Python.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import os
import sys
import textwrap
import types

import python_reference

WIDTH = 120
HEAD = '''# Written by tools/python_stubs.py from the table of optimizers, _table.py.
#
# Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
'''

PACKAGE = '''
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from torch import Tensor, dtype  # type: ignore[import-not-found, unused-ignore]

from . import functional as functional
from . import lr_scheduler as lr_scheduler
from . import swa_utils as swa_utils
from ._chain import chain as chain
from ._chained import ChainedOptimizer as ChainedOptimizer
from ._masters import float32_state_dict as float32_state_dict
from ._masters import load_masters as load_masters
from ._masters import masters as masters
from ._optimizer import Optimizer as Optimizer
from ._optimizer import optimizer_class as optimizer_class
from ._spec import Family as Family
from ._spec import Spec as Spec

_Params: TypeAlias = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]
#: A tensor has one element.
_Number: TypeAlias = float | Tensor
'''

FUNCTIONAL = '''
from collections.abc import Callable, Sequence
from typing import TypeAlias

from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

#: Members that a step skips, or that it makes, are None.
_Tensors: TypeAlias = Sequence[Tensor | None]
#: A tensor has one element.
_Number: TypeAlias = float | Tensor

FUNCTIONS: dict[str, Callable[..., None]]
'''

STORAGE = {"state_dtype": "dtype | str | None", "rounding": 'Literal["nearest", "stochastic"]', "master": "dtype | str | None",
           "seed": "int"}
FLAGS_OR_NONE = ("foreach", "fused")
OF_FUNCTIONS = {"has_sparse_grad": "bool", "has_complex": "bool", "grad_scale": "Tensor | None", "found_inf": "Tensor | None"}


def type_of(spec, name):
    """The type of an entry of a parameter group."""
    default = spec.defaults[name]
    if name in STORAGE:
        return STORAGE[name]
    if name in FLAGS_OR_NONE:
        return "bool | None"
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, tuple):
        return f"tuple[{', '.join(['_Number'] * len(default))}]"
    if name in spec.options:  # part of the program
        return "float"
    return "_Number | None" if default is None else "_Number"


def shown(default):
    """The spelling of a default."""
    return "..." if isinstance(default, float) and math.isinf(default) else repr(default).replace("'", '"')


def definition(name, parts, indent):
    """A function without a body, on one line if it fits."""
    space = " " * indent
    line = f"{space}def {name}({', '.join(parts)}) -> None: ..."
    if len(line) <= WIDTH:
        return line
    return f"{space}def {name}(\n" + "".join(f"{space}    {part},\n" for part in parts) + f"{space}) -> None: ..."


def summary(text, indent):
    """The first paragraph of a docstring."""
    space = " " * indent
    first = " ".join(text.partition("\n\n")[0].split())
    if len(first) <= WIDTH - indent - 6:
        return f'{space}"""{first}"""'
    return textwrap.fill(f'"""{first}', WIDTH, initial_indent=space, subsequent_indent=space) + f'\n{space}"""'


def optimizer(spec):
    """The class of an optimizer."""
    parts = ["self", "params: _Params"]
    for name, default in spec.defaults.items():
        parts += ["*"] if name == spec.keyword_only else []
        parts.append(f"{name}: {type_of(spec, name)} = {shown(default)}")
    lines = [f"class {spec.name}(Optimizer):", summary(spec.doc, 4), "", definition("__init__", parts, 4)]
    if spec.average is not None:
        lines += [definition(method, ["self"], 4) for method in ("train", "eval")]
    return "\n".join(lines)


def function(spec, arguments):
    """The function of an optimizer."""
    parameters = list(arguments.arguments_of(spec).parameters.values())
    lists = 2 + len(spec.functional)
    parts, keyword = [], False
    for place, each in enumerate(parameters):
        if each.kind is each.KEYWORD_ONLY and not keyword:
            parts, keyword = [*parts, "*"], True
        if place < lists:
            is_step = place > 1 and spec.functional[place - 2] == "step"
            kind = "Sequence[_Number]" if is_step and spec.takes_counts else "_Tensors"
            kind = "Sequence[Tensor]" if place == 0 or (is_step and not spec.takes_counts) else kind
        elif each.name in OF_FUNCTIONS:
            kind = OF_FUNCTIONS[each.name]
        else:
            kind = "_Number" if each.name in spec.parts else type_of(spec, each.name)
        parts.append(f"{each.name}: {kind}" + ("" if each.default is each.empty else f" = {shown(each.default)}"))
    return definition(arguments.function_name(spec), parts, 0)


def stubs(package):
    """The stubs of `heddle.optim` by the names of their files."""
    specs = python_reference.imported(package, "_table").SPECS.values()
    arguments = python_reference.imported(package, "_arguments")
    names = ["ChainedOptimizer", "Family", "Optimizer", "Spec", "chain", "float32_state_dict", "load_masters", "masters",
             "optimizer_class"]
    public = "".join(f'    "{name}",\n' for name in [*names, *(spec.name for spec in specs)])
    classes = "\n\n".join(map(optimizer, specs))
    of_functions = [spec for spec in specs if spec.functional is not None]
    named = "".join(f'    "{name}",\n' for name in ["FUNCTIONS", *map(arguments.function_name, of_functions)])
    functions = "\n".join(function(spec, arguments) for spec in of_functions)
    return {
        "__init__.pyi": f"{HEAD}{PACKAGE}\n__all__ = [\n{public}]\n\n{classes}\n",
        "functional.pyi": f"{HEAD}{FUNCTIONAL}\n__all__ = [\n{named}]\n\n{functions}\n",
    }


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: python_stubs.py PACKAGE OUT")
    root, out = sys.argv[1:]
    package = types.SimpleNamespace(path=os.path.join(os.path.abspath(root), "optim", "__init__.py"))
    os.makedirs(out, exist_ok=True)
    for name, text in stubs(package).items():
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
