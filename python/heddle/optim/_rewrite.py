"""Rewrites the text of an optimizer's program: unscaled and clipped gradients, skipped steps, the start of an average.

The rewritten program is the same as if the rule had been written so, and is fused as one program. Text is rewritten in
the form in which MLIR prints a module: the arguments of the function on one line, one operation a line.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._spec import Family

#: The scalar arguments that the rewrites add.
GRAD_SCALE, FOUND_INF, MAX_NORM, SUM = "grad_scale", "found_inf", "max_norm", "sum_of_squares"
#: Whether some gradient is not finite: a scalar argument, 0 if all are, and the result that is passed to it.
NOT_FINITE, NOT_FINITE_NUMBER = "not_finite", "not_finite_number"
SCALARS = (GRAD_SCALE, FOUND_INF, MAX_NORM, SUM, NOT_FINITE)
#: The result that `clip` adds.
NORM = "norm"
#: The average of the parameters, and the list that `count_averages` adds.
AVERAGE, AVERAGED = "ema", "averaged"
#: One value for each tensor.
_EACH = "!foreach.list<tensor<f32>>"


class _Argument(NamedTuple):
    name: str
    type: str
    attributes: str

    def text(self) -> str:
        return f"%{self.name}: {self.type}{self.attributes}"


class Module:
    """The text of a module with one function, in parts."""

    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        heads = [index for index, line in enumerate(lines) if "func.func" in line]
        returns = [index for index, line in enumerate(lines) if re.match(r"\s*(func\.)?return\b", line)]
        if len(heads) != 1 or len(returns) != 1:
            raise BadInput("program: expected a module with one function, as heddle prints it")
        self.before, head = lines[: heads[0]], lines[heads[0]]
        self.body, last = lines[heads[0] + 1 : returns[0]], lines[returns[0]]
        self.after = lines[returns[0] + 1 :]
        found = re.match(r"\s*func\.func (?:public |private )?@[\w$.]+", head)
        if found is None or not head.rstrip().endswith("{"):
            raise BadInput(f"program: expected the arguments of a function on one line, found {head}")
        self.head = found.group()
        arguments, self.types = _signature(head[len(self.head) :].rstrip().removesuffix("{").rstrip())
        self.arguments = [_argument(part) for part in arguments]
        values = re.sub(r"\s*(?:func\.)?return\b", "", last, count=1).partition(" :")[0]
        self.results = [part.strip().lstrip("%") for part in values.split(",")] if values.strip() else []

    def text(self) -> str:
        arguments = ", ".join(argument.text() for argument in self.arguments)
        results = ""
        if self.types:
            results = " -> " + (self.types[0] if len(self.types) == 1 else f"({', '.join(self.types)})")
        last = "    return"
        if self.results:
            last += " " + ", ".join(f"%{value}" for value in self.results) + " : " + ", ".join(self.types)
        head = f"{self.head}({arguments}){results} {{"
        return "\n".join([*self.before, head, *self.body, last, *self.after]) + "\n"

    def replace_uses(self, values: dict[str, tuple[str, str]]) -> None:
        """Replaces operands of the operations: {value: (another value, its type)}."""
        self.body = [_replace_operands(line, values) for line in self.body]


def _split(text: str) -> list[str]:
    """Splits at the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "<({[":
            depth += 1
        elif letter in ">)}]" and text[place - 1 : place] != "-":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts


def _signature(text: str) -> tuple[list[str], list[str]]:
    """The arguments and the types of the results of '(...) -> ...'."""
    depth = end = 0
    for end, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            break
    results = text[end + 1 :].strip().removeprefix("->").strip()
    if results.startswith("("):
        results = results[1:-1]
    return _split(text[1:end]), _split(results)


def _argument(text: str) -> _Argument:
    name, _, rest = text.partition(":")
    type_, brace, attributes = rest.strip().partition(" {")
    return _Argument(name.strip().lstrip("%"), type_.strip(), brace + attributes)


def _replace_operands(line: str, values: dict[str, tuple[str, str]]) -> str:
    """Replaces the operands of a `foreach.map` or `foreach.reduce`: (%x = %value as f32, ... : type, ... : type)."""
    head = re.search(r"foreach\.(?:map|reduce)\b[^(]*\(", line)
    if head is None or not any(re.search(rf"= %{re.escape(value)}\b(?!\w)", line) for value in values):
        return line
    start = head.end()
    depth, end = 1, start
    while depth:
        depth += (line[end] == "(") - (line[end] == ")")
        end += 1
    operands: list[tuple[str, str]] = []
    waiting: list[str] = []
    for part in _split(line[start : end - 1]):
        operand, colon, type_ = part.partition(" : ")
        waiting.append(operand)
        if colon:
            operands += [(each, type_) for each in waiting]
            waiting = []
    written = []
    for operand, type_ in operands:
        name, _, value = operand.partition(" = ")
        found = re.match(r"%([\w$.\-]+)(.*)", value)
        if found and found.group(1) in values:
            other, type_ = values[found.group(1)]
            operand = f"{name} = %{other}{found.group(2)}"
        written.append(f"{operand} : {type_}")
    return line[:start] + ", ".join(written) + line[end - 1 :]


def _compute(dtype: str) -> str:
    return "f32" if dtype in ("f16", "bf16") else dtype


def _list(dtype: str) -> str:
    return f"!foreach.list<tensor<?x{dtype}>>"


def _grads(module: Module, families: Sequence[Family], endings: Sequence[str]) -> list[tuple[str, Family]]:
    names = {argument.name for argument in module.arguments}
    found = [(f"grad{ending}", family) for ending, family in zip(endings, families)]
    for name, _ in found:
        if name not in names:
            raise BadInput(f"program: expected an argument '{name}', found {', '.join(sorted(names))}")
    return found


def _element(type_: str, aliases: Sequence[str]) -> str:
    """The element type of a list."""
    for line in aliases:
        name, _, meaning = line.partition(" = ")
        if name.strip() == type_:
            type_ = meaning
    found = re.search(r"tensor<(?:\?x)*(\w+)>", type_)
    if found is None:
        raise BadInput(f"program: expected a list of tensors, found {type_}")
    return found.group(1)


def scale(text: str, families: Sequence[Family], endings: Sequence[str]) -> str:
    """Divides gradients by the scalar `grad_scale`. They have the compute type then: 16 bits may not hold them."""
    module = Module(text)
    first: list[str] = []
    values = {}
    for name, family in _grads(module, families, endings):
        compute = _compute(family.grad)
        values[name] = (f"unscaled_{name}", _list(compute))
        first += [
            f"    %unscaled_{name} = foreach.map (%scaled = %{name} as {compute} : {_list(family.grad)}, "
            f"%scale = %{GRAD_SCALE} as {compute} : tensor<f32>) -> {_list(compute)} {{",
            f"      %quotient = arith.divf %scaled, %scale : {compute}",
            f"      foreach.yield %quotient : {compute}",
            "    }",
        ]
    module.replace_uses(values)
    module.body = first + module.body
    module.arguments.append(_Argument(GRAD_SCALE, "tensor<f32>", " {foreach.default = 1.000000e+00 : f32}"))
    return module.text()


#: The reasons to skip a step: the operand of each, the lines that decide, and the values that are true then.
_BY_SCALER = (
    f"%found = %{FOUND_INF} as f32 : tensor<f32>, %scale = %{GRAD_SCALE} as f32 : tensor<f32>",
    [
        "      %zero = arith.constant 0.000000e+00 : f32",
        "      %largest = arith.constant 3.40282347e+38 : f32",
        "      %is_found = arith.cmpf une, %found, %zero : f32",
        "      %is_not_positive = arith.cmpf ule, %scale, %zero : f32",
        "      %is_infinite = arith.cmpf ugt, %scale, %largest : f32",
    ],
    ["%is_found", "%is_not_positive", "%is_infinite"],
)
_BY_OTHERS = (
    f"%not_finite = %{NOT_FINITE} : tensor<f64>",
    [
        "      %none = arith.constant 0.000000e+00 : f64",
        "      %is_not_finite = arith.cmpf une, %not_finite, %none : f64",
    ],
    ["%is_not_finite"],
)


def skip(text: str, families: Sequence[Family], endings: Sequence[str], *, scaled: bool, check: str) -> str:
    """Keeps every donated argument if the step is to be skipped. Gradients that become zero do so nevertheless.

    Args:
        scaled: skips if the scalar `found_inf` is not 0, or the scalar `grad_scale` is not positive and finite:
            GradScaler looks for infinity before the division.
        check: "own" skips if some gradient is not finite; "given" if the scalar `not_finite` is not 0, which may be
            that of other gradients, too.
    """
    module = Module(text)
    first: list[str] = []
    reasons = [_BY_SCALER] if scaled else []
    if check == "own":
        first = _not_finite(families, endings)
        flags = [f"%not_finite{ending}" for ending in endings]
        reasons.append((", ".join(f"{flag} = {flag}" for flag in flags) + " : tensor<i1>", [], flags))
    elif check == "given":
        reasons.append(_BY_OTHERS)
    operands = ", ".join(operand for operand, _, _ in reasons)
    lines, value = _any([flag for _, _, flags in reasons for flag in flags])
    first += [
        f"    %is_skipped = foreach.map ({operands}) -> tensor<i1> {{",
        *(line for _, decides, _ in reasons for line in decides),
        *lines,
        f"      foreach.yield {value} : i1",
        "    }",
    ]
    module.body = first + module.body
    gradients = {f"grad{ending}" for ending in endings}
    for argument in module.arguments:
        donated = re.search(r"foreach\.donate = (\d+)", argument.attributes)
        if donated is None or argument.name in gradients:
            continue
        place = int(donated.group(1))
        value, type_ = module.results[place], argument.type
        storage = _element(type_, module.before)
        compute = _compute(storage)
        kept = f"kept_{argument.name}"
        module.body += [
            f"    %{kept} = foreach.map (%new = %{value} as {compute}, %old = %{argument.name} as {compute} : {type_}, "
            f"%keeps = %is_skipped : tensor<i1>) -> {type_} {{",
            f"      %kept = arith.select %keeps, %old, %new : {compute}",
            f"      foreach.yield %kept : {compute}",
            "    }",
        ]
        module.results[place] = kept
    if scaled:
        module.arguments.append(_Argument(FOUND_INF, "tensor<f32>", " {foreach.default = 0.000000e+00 : f32}"))
    if check == "given":
        module.arguments.append(_Argument(NOT_FINITE, "tensor<f64>", " {foreach.default = 0.000000e+00 : f64}"))
    return module.text()


def _not_finite(families: Sequence[Family], endings: Sequence[str]) -> list[str]:
    """Whether some gradient of each family is not finite."""
    lines = []
    for family, ending in zip(families, endings):
        compute = _compute(family.grad)
        lines += [
            f"    %not_finite{ending} = foreach.reduce any along list (%grad = %grad{ending} as {compute} : "
            f"{_list(family.grad)}) -> tensor<i1> {{",
            f"      %is_finite = math.isfinite %grad : {compute}",
            "      %yes = arith.constant true",
            "      %is_not_finite = arith.xori %is_finite, %yes : i1",
            "      foreach.yield %is_not_finite : i1",
            "    }",
        ]
    return lines


def _any(flags: Sequence[str]) -> tuple[list[str], str]:
    """The lines of a body that decide whether one of some flags is true, and the name of the result."""
    lines, result = [], flags[0]
    for count, flag in enumerate(flags[1:]):
        lines.append(f"      %any{count} = arith.ori {result}, {flag} : i1")
        result = f"%any{count}"
    return lines, result


def _changed(
    text: str, families: Sequence[Family], endings: Sequence[str], word: str, body: Sequence[str], result: str
) -> str:
    """Changes each element `%grad` of the gradients, of the type TYPE, to the value `result` of `body`."""
    module = Module(text)
    first: list[str] = []
    values = {}
    for name, family in _grads(module, families, endings):
        compute = _compute(family.grad)
        values[name] = (f"{word}_{name}", _list(family.grad))
        first += [
            f"    %{word}_{name} = foreach.map (%grad = %{name} as {compute} : {_list(family.grad)}) -> "
            f"{_list(family.grad)} {{",
            *(f"      {line.replace('TYPE', compute)}" for line in body),
            f"      foreach.yield {result} : {compute}",
            "    }",
        ]
    module.replace_uses(values)
    module.body = first + module.body
    return module.text()


def count_averages(text: str, without: str, endings: Sequence[str]) -> str:
    """Makes the average start by a count of its own: the list `averaged`, how many steps have set the average.

    The library starts it with the step counter. A counter that the program has only for this is that count. But one that
    the formula uses may have counted steps before there was an average.

    Args:
        without: the program without the average.
    """
    module = Module(text)
    old = {argument.name for argument in Module(without).arguments}
    averages = [f"{AVERAGE}{ending}" for ending in endings]
    added = [argument for argument in module.arguments if argument.name not in {*old, *averages}]
    # A family may have a counter without its average, such as one that rounds at random, while another one has none.
    counts = {}
    for ending in endings:
        own = [argument for argument in added if re.fullmatch(rf"step{ending}(_\d+)?", argument.name)]
        if not own:
            _count_averages(module, ending)
        elif len(own) == 1:
            counts[own[0].name] = (f"{AVERAGED}{ending}", own[0].type)
    if len(counts) != len(added):
        names = ", ".join(argument.name for argument in added)
        raise BadInput(f"program: expected at most one step counter of the average for each family, found {names}")
    _rename(module, counts)
    return module.text()


def name_families(text: str, endings: Sequence[str]) -> str:
    """Names the lists of each family by its ending, also a second one of a name: ``step_f32_1`` becomes ``step_1_f32``."""
    module = Module(text)
    names = {}
    for argument in module.arguments:
        for ending in filter(None, endings):
            if found := re.fullmatch(rf"(.+){ending}(_\d+)", argument.name):
                names[argument.name] = (f"{found[1]}{found[2]}{ending}", argument.type)
    if not names:
        return text
    _rename(module, names)
    return module.text()


def _rename(module: Module, names: dict[str, tuple[str, str]]) -> None:
    """Gives arguments other names: {name: (new name, type)}."""
    module.arguments = [
        argument._replace(name=names.get(argument.name, (argument.name,))[0]) for argument in module.arguments
    ]
    module.replace_uses(names)


def _count_averages(module: Module, ending: str) -> None:
    """Adds the count to a program that has a step counter."""
    donated = {argument.name: re.search(r"foreach\.donate = (\d+)", argument.attributes) for argument in module.arguments}
    place = donated.get(f"{AVERAGE}{ending}")
    result = module.results[int(place.group(1))] if place else ""
    pattern = rf"\s*(?:%[\w$.\-]+, )*%{re.escape(result)}(?:, %[\w$.\-]+)* = foreach\.map \("
    first = next((place for place, line in enumerate(module.body) if re.match(pattern, line)), len(module.body))
    last = next((place for place in range(first, len(module.body)) if module.body[place].strip() == "}"), first)
    # The rule selects the average by whether this step is the first one.
    chosen = re.compile(rf"(\s*%{AVERAGE}1 = arith\.select )%[\w$.\-]+,(.*)")
    found = [place for place in range(first, last) if chosen.match(module.body[place])]
    if len(found) != 1:
        raise BadInput(f"program: expected one value that starts the average '{AVERAGE}{ending}', found {len(found)}")
    module.body[found[0]] = chosen.sub(r"\1%starts,\2", module.body[found[0]])
    head, arrow, types = module.body[first].rpartition(") -> ")
    each, flags = _EACH, "!foreach.list<tensor<i1>>"
    module.body[first] = f"{head}, %starts = %starts{ending} : {flags}{arrow}{types}"
    # The map reads the step counter as well: a tensor that a step skips keeps the lists of the maps that are connected.
    module.body[first:first] = [
        f"    %{AVERAGED}1{ending}, %starts{ending} = foreach.map (%{AVERAGED} = %{AVERAGED}{ending}, "
        f"%step = %step{ending} : {each}) -> ({each}, {flags}) {{",
        "      %none = arith.constant 0.000000e+00 : f32",
        "      %one = arith.constant 1.000000e+00 : f32",
        f"      %next = arith.addf %{AVERAGED}, %one : f32",
        f"      %is_new = arith.cmpf oeq, %{AVERAGED}, %none : f32",
        "      %counts = arith.cmpf oge, %step, %none : f32",
        "      %starts = arith.andi %is_new, %counts : i1",
        "      foreach.yield %next, %starts : f32, i1",
        "    }",
    ]
    attributes = f" {{foreach.donate = {len(module.results)} : i64, foreach.initial = 0.000000e+00 : f32}}"
    module.arguments.append(_Argument(f"{AVERAGED}{ending}", each, attributes))
    module.results.append(f"{AVERAGED}1{ending}")
    module.types.append(each)


def average(text: str, families: Sequence[Family], endings: Sequence[str], count: float) -> str:
    """Divides gradients by `count`."""
    body = [f"%count = arith.constant {count:.17e} : TYPE", "%mean = arith.divf %grad, %count : TYPE"]
    return _changed(text, families, endings, "mean", body, "%mean")


def clip_value(text: str, families: Sequence[Family], endings: Sequence[str], most: float) -> str:
    """Limits the magnitude of every element of the gradients (torch.nn.utils.clip_grad_value_)."""
    body = [
        f"%most = arith.constant {most:.17e} : TYPE",
        f"%least = arith.constant {-most:.17e} : TYPE",
        "%raised = arith.maximumf %grad, %least : TYPE",
        "%limited = arith.minimumf %raised, %most : TYPE",
    ]
    return _changed(text, families, endings, "limited", body, "%limited")


def _sums(families: Sequence[Family], endings: Sequence[str]) -> list[str]:
    lines = []
    for family, ending in zip(families, endings):
        lines += [
            f"    %clip_sum{ending} = foreach.reduce add along list (%grad = %grad{ending} as f64 : "
            f"{_list(family.grad)}) -> tensor<f64> {{",
            "      %square = arith.mulf %grad, %grad : f64",
            "      foreach.yield %square : f64",
            "    }",
        ]
    return lines


def _total(endings: Sequence[str]) -> tuple[list[str], str]:
    """The lines of a body that add the sums of all families, and the name of their total."""
    lines, total = [], f"%sum{endings[0]}"
    for count, ending in enumerate(endings[1:]):
        lines.append(f"      %total{count} = arith.addf {total}, %sum{ending} : f64")
        total = f"%total{count}"
    return lines, total


def clip(text: str, families: Sequence[Family], endings: Sequence[str], *, given: bool) -> str:
    """Scales gradients down so that their norm is at most the scalar `max_norm`; the norm is another result.

    The formula is that of the library's clip_by_global_norm (torch.nn.utils.clip_grad_norm_).

    Args:
        given: the sum of the squares is the scalar argument `sum_of_squares`, which may include other gradients.
    """
    module = Module(text)
    grads = _grads(module, families, endings)
    first: list[str] = []
    operands, total = f"%total = %{SUM}", "%total"
    lines: list[str] = []
    if not given:
        first = _sums(families, endings)
        operands = ", ".join(f"%sum{ending} = %clip_sum{ending}" for ending in endings)
        lines, total = _total(endings)
    first += [
        f"    %{NORM}, %clip_factor = foreach.map ({operands}, %max_norm = %{MAX_NORM} : tensor<f64>) "
        "-> (tensor<f64>, tensor<f64>) {",
        *lines,
        f"      %norm = math.sqrt {total} : f64",
        "      %tiny = arith.constant 9.9999999999999995E-7 : f64",
        "      %padded = arith.addf %norm, %tiny : f64",
        "      %ratio = arith.divf %max_norm, %padded : f64",
        "      %one = arith.constant 1.000000e+00 : f64",
        "      %clip = arith.minimumf %ratio, %one : f64",
        "      foreach.yield %norm, %clip : f64, f64",
        "    }",
    ]
    values = {}
    for name, family in grads:
        compute = _compute(family.grad)
        values[name] = (f"clipped_{name}", _list(family.grad))
        first += [
            f"    %clipped_{name} = foreach.map (%grad = %{name} as {compute} : {_list(family.grad)}, "
            f"%clip = %clip_factor as {compute} : tensor<f64>) -> {_list(family.grad)} {{",
            f"      %clipped = arith.mulf %grad, %clip : {compute}",
            f"      foreach.yield %clipped : {compute}",
            "    }",
        ]
    module.replace_uses(values)
    module.body = first + module.body
    if given:
        module.arguments.append(_Argument(SUM, "tensor<f64>", ""))
    module.arguments.append(_Argument(MAX_NORM, "tensor<f64>", " {foreach.default = 1.000000e+00 : f64}"))
    module.results.append(NORM)
    module.types.append("tensor<f64>")
    return module.text()


def totals(families: Sequence[Family], endings: Sequence[str]) -> str:
    """A program that reads all gradients, and has no results yet."""
    arguments = ", ".join(f"%grad{ending}: {_list(family.grad)}" for family, ending in zip(families, endings))
    return f"module {{\n  func.func @totals({arguments}) {{\n    return\n  }}\n}}\n"


def sum_of_squares(text: str, families: Sequence[Family], endings: Sequence[str]) -> str:
    """Adds the squares of all gradients, in double precision: the result `sum_of_squares`."""
    operands = ", ".join(f"%sum{ending} = %clip_sum{ending}" for ending in endings)
    lines, total = _total(endings)
    lines += ["      %none = arith.constant 0.000000e+00 : f64", f"      %all = arith.addf {total}, %none : f64"]
    operation = [
        f"    %{SUM} = foreach.map ({operands} : tensor<f64>) -> tensor<f64> {{",
        *lines,
        "      foreach.yield %all : f64",
        "    }",
    ]
    return _with_result(text, [*_sums(families, endings), *operation], SUM)


def not_finite(text: str, families: Sequence[Family], endings: Sequence[str]) -> str:
    """Finds gradients that are not finite: the result `not_finite`, 0 or 1."""
    flags = [f"%not_finite{ending}" for ending in endings]
    operands = ", ".join(f"%flag{ending} = {flag}" for ending, flag in zip(endings, flags))
    lines, value = _any([f"%flag{ending}" for ending in endings])
    operation = [
        f"    %{NOT_FINITE_NUMBER} = foreach.map ({operands} : tensor<i1>) -> tensor<f64> {{",
        *lines,
        "      %yes = arith.constant 1.000000e+00 : f64",
        "      %no = arith.constant 0.000000e+00 : f64",
        f"      %number = arith.select {value}, %yes, %no : f64",
        "      foreach.yield %number : f64",
        "    }",
    ]
    return _with_result(text, [*_not_finite(families, endings), *operation], NOT_FINITE_NUMBER)


def _with_result(text: str, lines: Sequence[str], name: str) -> str:
    """Adds lines, of which one has the result of this name, a number."""
    module = Module(text)
    module.body += lines
    module.results.append(name)
    module.types.append("tensor<f64>")
    return module.text()
