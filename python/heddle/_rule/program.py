"""Prints the program of a trace as foreach IR.

The program has the form of the standard programs (docs/rule.md): for each family of element types its lists, then the
hyperparameters; maps over hyperparameters, over tensors and over elements, and reductions, stage by stage.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import BadInput
from .body import Body, Names, Operand, Type, literal
from .nodes import CONSTANTS, Kind, Level, Node, Trace
from .places import ElementStages, Needs, Places
from .signature import GRAD, PARAM, STEP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Family(NamedTuple):
    """The element types of the lists of one family, as in `heddle.optim`."""

    param: str
    grad: str
    state: str

    @property
    def compute(self) -> str:
        """The type in which elements are computed."""
        return "f64" if self.param == "f64" else "f32"


class _Lists:
    """One family of a program: its lists, and the stages in which it stores outputs."""

    def __init__(self, family: Family, suffix: str, places: Places) -> None:
        self.family = family
        self.suffix = suffix
        trace = places.trace
        signature = trace.signature
        #: The nodes of the parameter, the gradient and the states.
        self.nodes = [trace.leaf("list", name, Level.ELEMENT) for name in (signature.param, signature.grad)]
        self.nodes += [trace.leaf("list", state.name, state.level) for state in signature.states]
        self.types = [Type("list", family.param), Type("list", family.grad)]
        self.types += [
            Type("each", "f32") if state.per_tensor else Type("list", family.state) for state in signature.states
        ]
        #: The list that each output replaces, and its type.
        self.replaced = [self.nodes[0], *self.nodes[2:]]
        self.replaced_types = [self.types[0], *self.types[2:]]
        exact = [type.dtype == family.compute for type in self.replaced_types]
        self.stages = ElementStages(places, self.replaced, exact)
        #: The arguments and results of the program.
        self.arguments: list[Operand] = []
        self.outputs: dict[int, Operand] = {}
        self.step: Operand | None = None
        self.step1: Operand | None = None


class _Program:
    def __init__(
        self, trace: Trace, families: Sequence[Family], groups: bool, defaults: Mapping[str, float]
    ) -> None:
        self._trace = trace
        self._groups = groups
        self._defaults = defaults
        self._places = Places(trace, groups)
        suffixes = [""] if len(families) == 1 else [f"_{family.param}" for family in families]
        self._families = [_Lists(family, suffix, self._places) for family, suffix in zip(families, suffixes)]
        self._names = Names()
        self._arguments: list[str] = []
        self._lines: list[str] = []
        # The value of a node outside of bodies, for each family, or for all (None).
        self._values: dict[tuple[_Lists | None, Node], Operand] = {}

    # --- the function -------------------------------------------------------------------------------------------------

    def text(self) -> str:
        results = self._declare()
        for stage in range(self._places.last + 1):
            self._print_stage(stage)
        returned = [self._result(family, k) for family, k in results]
        types = ", ".join(str(operand.type) for operand in returned)
        signature = f"func.func @{self._trace.signature.name}(\n    " + ",\n    ".join(self._arguments)
        lines = [f"{signature}) -> ({types}) {{", *self._lines]
        lines += [f"  return {', '.join(operand.name for operand in returned)} : {types}", "}"]
        return _with_aliases("\n".join(lines) + "\n")

    def _declare(self) -> list[tuple[_Lists, int | None]]:
        """Prints the arguments; returns the family and position of each result, None for the step counter."""
        results: list[tuple[_Lists, int | None]] = []
        states = self._trace.signature.states
        for lists in self._families:
            for k, (node, type) in enumerate(zip(lists.nodes, lists.types)):
                name = (PARAM, GRAD)[k] if k < 2 else states[k - 2].name
                attributes = []
                if k != 1:
                    attributes.append(f"foreach.donate = {len(results)} : i64")
                    results.append((lists, max(0, k - 1)))
                if k >= 2:
                    initial = literal(states[k - 2].initial, type.dtype)
                    attributes.append(f"foreach.initial = {initial} : {type.dtype}")
                operand = self._declare_argument(name + lists.suffix, type, attributes, str(node.payload))
                lists.arguments.append(operand)
                self._values[lists, node] = operand
            if self._trace.uses_step:
                attributes = [f"foreach.donate = {len(results)} : i64", "foreach.initial = 0.0 : f32"]
                lists.step = self._declare_argument(STEP + lists.suffix, Type("each", "f32"), attributes, STEP)
                results.append((lists, None))
        for each in self._families if self._groups else [None]:
            for name, default in self._defaults.items():
                type = Type("each" if each else "scalar", "f64")
                attribute = "initial" if each else "default"
                attributes = [f"foreach.{attribute} = {literal(default, 'f64')} : f64"]
                suffix = each.suffix if each else ""
                operand = self._declare_argument(name + suffix, type, attributes, name)
                self._values[each, self._trace.leaf("hyper", name, Level.HYPER)] = operand
        return results

    def _declare_argument(self, name: str, type: Type, attributes: list[str], hint: str) -> Operand:
        operand = Operand(self._names.unique(name), type, hint)
        if operand.name != f"%{name}":
            raise BadInput(
                f"{self._trace.signature.name}: two arguments of the program have the name '{name}', which ends in the "
                "name of an element type: use another name"
            )
        described = f" {{{', '.join(attributes)}}}" if attributes else ""
        self._arguments.append(f"{operand.name}: {type}{described}")
        return operand

    def _result(self, lists: _Lists, position: int | None) -> Operand:
        if position is None:
            assert lists.step1 is not None
            return lists.step1
        return lists.outputs[position]

    # --- stages -------------------------------------------------------------------------------------------------------

    def _print_stage(self, stage: int) -> None:
        hyper: list[_Lists | None] = [*self._families] if self._groups else [None]
        for lists in hyper:
            self._print_scalars((Level.HYPER, stage), lists)
        self._print_scalars((Level.LIST, stage), None)
        for lists in self._families:
            self._print_scalars((Level.MEMBER, stage), lists)
        for lists in self._families:
            self._print_outputs(stage, lists)
        if stage == self._places.last:
            for lists in self._families:
                self._print_member_outputs(lists)
        for node in self._places.reductions:
            if node.operands[0].stage == stage:
                self._print_reduction(node)

    def _operand(self, node: Node, lists: _Lists | None) -> Operand:
        return self._values.get((lists, node)) or self._values[None, node]

    def _new(self, hint: str, type: Type, suffix: str) -> Operand:
        return Operand(self._names.unique(hint + suffix), type, hint)

    def _read(self, body: Body, needs: Needs, lists: _Lists | None) -> None:
        for node in needs.read:
            body.read(node, self._operand(node, lists))

    def _print_scalars(self, place: tuple[Level, int], lists: _Lists | None) -> None:
        """Prints the map over hyperparameters, over values of the list, or over those of the tensors."""
        level, stage = place
        results = self._places.results(place)
        step = self._places.step
        increments = place == (Level.MEMBER, 0) and step is not None
        if not results and not increments:
            return
        needs = Needs(results, step, self._places.inside(place))
        body = Body("f64", step)
        operands, yielded = [], []
        if increments:
            assert lists is not None and lists.step is not None and step is not None
            counter = body.increment(lists.step)
            lists.step1 = self._new("step1", Type("each", "f32"), lists.suffix)
            self._values[lists, step] = lists.step1
            operands.append(lists.step1)
            yielded.append((counter, "f32"))
            if any(step in (node.operands[:1] if node.op == "powi" else node.operands) for node in needs.computed):
                body.number_of_step()
            needs.read = [node for node in needs.read if node is not step]
        self._read(body, needs, lists)
        body.computed(needs.computed)
        kind = "scalar" if lists is None else "each"
        for node in results:
            in_double = level != Level.MEMBER or self._places.shared[node]
            dtype = node.kind.dtype("f64" if in_double or lists is None else lists.family.compute)
            hint = body.value(node)[1:]
            suffix = lists.suffix if lists else ""
            operand = self._values[lists, node] = self._new(hint, Type(kind, dtype), suffix)
            operands.append(operand)
            yielded.append((body.value(node), node.kind.dtype("f64")))
        self._print_map(body, operands, yielded)

    def _print_map(self, body: Body, results: list[Operand], yielded: list[tuple[str, str]]) -> None:
        names = ", ".join(operand.name for operand in results)
        self._lines += body.text(f"{names} = foreach.map", [operand.type for operand in results], yielded)

    def _print_outputs(self, stage: int, lists: _Lists) -> None:
        """Prints the map over elements that stores the outputs of this stage."""
        outputs = self._trace.outputs
        positions = []
        for k, output in enumerate(outputs):
            if output is lists.replaced[k]:
                lists.outputs[k] = self._values[lists, output]
            elif lists.replaced_types[k].kind == "each":
                continue
            elif lists.stages.stage[k] == stage:
                positions.append(k)
        if not positions:
            return
        needs = Needs((outputs[k] for k in positions), self._places.step, lists.stages.inside(stage, reduces=False))
        body = Body(lists.family.compute, self._places.step)
        self._read(body, needs, lists)
        self._span(body, needs, lists)
        words = {outputs[k]: f"{lists.replaced[k].payload}1" for k in reversed(positions)}
        body.computed(needs.computed, words.get)
        names = (PARAM, *(state.name for state in self._trace.signature.states))
        for k in positions:
            new = self._new(f"{names[k]}1", lists.replaced_types[k], lists.suffix)
            lists.outputs[k] = new._replace(hint=words[outputs[k]])
            if k in lists.stages.early:
                self._values[lists, outputs[k]] = lists.outputs[k]
        yielded = [(body.value(outputs[k]), lists.family.compute) for k in positions]
        self._print_map(body, [lists.outputs[k] for k in positions], yielded)

    def _print_member_outputs(self, lists: _Lists) -> None:
        """Prints the maps over tensors that store state with one value for each."""
        for k, output in enumerate(self._trace.outputs):
            type = lists.replaced_types[k]
            if type.kind != "each" or k in lists.outputs:
                continue
            body = Body("f64", self._places.step)
            if output.op not in CONSTANTS:
                body.read(output, self._operand(output, lists))
            if not any(operand.type.kind == "each" for operand in body.operands()):
                body.bind(lists.arguments[k + 1], "f64")  # the operands determine the domain
            value = body.value(output)
            lists.outputs[k] = self._new(f"{lists.replaced[k].payload}1", type, lists.suffix)
            self._print_map(body, [lists.outputs[k]], [(value, "f64")])

    @staticmethod
    def _span(body: Body, needs: Needs, lists: _Lists) -> None:
        """Binds the parameters if a body over elements reads no list: its operands determine the domain."""
        if not any(node.level == Level.ELEMENT for node in needs.read):
            body.bind(lists.arguments[0], lists.family.compute)

    def _print_reduction(self, node: Node) -> None:
        """Prints one reduction for each family, and the combination of the families."""
        reduction = node.reduction
        of_elements = self._places.levels[node.operands[0]] == Level.ELEMENT
        dtype = "f64" if reduction.has_position else node.kind.dtype("f64")
        kind = "scalar" if reduction.over_list else "each"
        types = [Type(kind, dtype), *([Type(kind, "i64")] if reduction.has_position else [])]
        word = "count" if reduction.of == "one" else {"add": "sum"}.get(reduction.kind, reduction.kind)
        axis = "list" if reduction.over_list else "member"
        parts = []
        for lists in self._families:
            body = Body(lists.family.compute if of_elements else "f64", self._places.step)
            value = self._reduced(body, node, lists, of_elements)
            hints = ["extreme", node.hint or word] if reduction.has_position else [node.hint or word]
            results = [self._new(hint, type, lists.suffix) for hint, type in zip(hints, types)]
            names = ", ".join(result.name for result in results)
            self._lines += body.text(f"{names} = foreach.reduce {reduction.kind} along {axis}", types, [(value, dtype)])
            parts.append(results[-1])
            if not reduction.over_list:
                self._values[lists, node] = results[-1]
        if reduction.over_list:
            self._values[None, node] = self._combine(parts, reduction.kind, node.hint or word)

    def _reduced(self, body: Body, node: Node, lists: _Lists, of_elements: bool) -> str:
        """The value of one element that a reduction combines, in double."""
        operand, of = node.operands[0], node.reduction.of
        if of == "one":
            if of_elements:
                body.bind(lists.arguments[0], body.dtype)
            else:
                body.bind(self._operand(operand, lists), operand.kind.dtype(body.dtype))
            return body.constant("1", "i64", "one")
        if of_elements:
            inside = lists.stages.inside(operand.stage, reduces=True)
            needs = Needs([operand], self._places.step, inside)
            if operand in needs.read and operand.kind == Kind.NUMBER:
                value = body.bind(self._operand(operand, lists), "f64")
            else:
                self._read(body, needs, lists)
                self._span(body, needs, lists)
                body.computed(needs.computed)
                value = body.value(operand)
                if body.dtype != "f64" and operand.kind == Kind.NUMBER:
                    value = body.emit("wide", f"arith.extf {value}", f"{body.dtype} to f64")
        else:
            body.read(operand, self._operand(operand, lists))
            value = body.value(operand)
        if operand.is_integer:
            value = body.emit("number", f"arith.sitofp {value}", "i64 to f64")
        if of == "square":
            value = body.emit("square", f"arith.mulf {value}, {value}", "f64")
        return value

    def _combine(self, parts: list[Operand], kind: str, hint: str) -> Operand:
        """The combination of the reductions of all families."""
        if len(parts) == 1:
            return parts[0]
        dtype = parts[0].type.dtype
        addition = "addi" if dtype == "i64" else "addf"
        operation = {"add": addition, "max": "maximumf", "min": "minimumf", "any": "ori", "all": "andi"}[kind]
        body = Body(dtype, None)
        values = [body.bind(part, dtype) for part in parts]
        total = values[0]
        for value in values[1:]:
            total = body.emit("total", f"arith.{operation} {total}, {value}", dtype)
        result = self._new(f"{hint}_all", parts[0].type, "")
        self._print_map(body, [result], [(total, dtype)])
        return result._replace(hint=hint)


def _with_aliases(text: str) -> str:
    """The text with the definitions of its aliases, and without types in their names if they are not needed."""
    lines = []
    for kind in ("list", "each"):
        dtypes = [dtype for dtype in ("f64", "f32", "f16", "bf16", "i64", "i1") if f"!{kind}_{dtype}" in text]
        for dtype in dtypes:
            alias = f"!{kind}_{dtype}"
            if len(dtypes) == 1:
                text = text.replace(alias, f"!{kind}")
                alias = f"!{kind}"
            extent = "?x" if kind == "list" else ""
            lines.append(f"{alias} = !foreach.list<tensor<{extent}{dtype}>>\n")
    return "".join(lines) + text


def print_program(
    trace: Trace, families: Sequence[Family], groups: bool, defaults: Mapping[str, float]
) -> str:
    """The text of the module of a trace.

    Args:
        trace: from `tracing.record`.
        families: the element types of each family.
        groups: whether hyperparameters have one value for each tensor.
        defaults: the default of each hyperparameter that is an argument of the program.
    """
    return _Program(trace, families, groups, defaults).text()
