"""Decides where a program computes each node of a trace.

Values of hyperparameters, of the list and of each tensor are computed in double, in maps of their own; values of
elements are computed in the bodies that need them. A reduction divides a program into stages: the values of stage 1
need its result.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .nodes import CONSTANTS, Level, Node, Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def operands_of(node: Node, step: Node | None) -> tuple[Node, ...]:
    """The nodes that an operation reads. A power of the step counter reads the counter itself, as an integer.

    The number of elements of a tensor is not read from them.
    """
    if node.counts_elements:
        return ()
    if node.op == "powi" and len(node.operands) == 2:
        assert step is not None
        return node.operands[0], step
    return node.operands


class Needs:
    """The nodes that one body computes, and those that it reads from outside, each in the order of the trace."""

    def __init__(self, roots: Iterable[Node], step: Node | None, is_inside: Callable[[Node], bool]) -> None:
        computed, read = set(), set()
        work = list(roots)
        seen = set(work)
        while work:
            node = work.pop()
            if not is_inside(node):
                read.add(node)
                continue
            computed.add(node)
            for operand in operands_of(node, step):
                if operand not in seen:
                    seen.add(operand)
                    work.append(operand)
        self.computed = sorted(computed, key=lambda node: node.index)
        self.read = sorted(read, key=lambda node: node.index)


class Places:
    """The levels of all nodes of a trace, and the nodes that maps compute for other maps.

    Attributes:
        groups: whether hyperparameters have one value for each tensor.
        step: the node of the step counter, or None.
        reductions: the reductions that outputs need, in the order of the trace.
        last: the last stage.
    """

    def __init__(self, trace: Trace, groups: bool) -> None:
        self.trace = trace
        self.groups = groups
        self.step = next((node for node in trace.nodes if node.op == "step"), None)
        self.levels = self._infer_levels()
        self.reductions = self._find_reductions()
        self.last = max(node.stage for node in trace.outputs)
        #: For each node that a map over scalars computes for other bodies: whether one of these computes in double.
        self.shared: dict[Node, bool] = {}
        self._find_shared()

    def _infer_levels(self) -> dict[Node, Level]:
        levels: dict[Node, Level] = {}
        for node in self.trace.nodes:
            operands = {levels[operand] for operand in node.operands}
            if node.is_leaf or node.op in ("reduce", "element"):
                levels[node] = node.level
            elif self.groups and {Level.HYPER, Level.LIST} <= operands:
                levels[node] = max(Level.MEMBER, *operands)
            else:
                levels[node] = max(operands)
        return levels

    def _find_reductions(self) -> list[Node]:
        """All but the numbers of elements that bodies over elements alone need, which have them without a reduction."""
        reached = Needs(self.trace.outputs, self.step, lambda node: True).computed
        outside = set(self._outputs_of_tensors())
        for node in reversed(reached):
            if not self.in_element_body(node) or (node.is_free and node in outside):
                outside.update(operands_of(node, self.step))
        return [node for node in reached if node.op == "reduce" and not (node.counts_elements and node not in outside)]

    def _outputs_of_tensors(self) -> list[Node]:
        """The new values of state with one value for each tensor."""
        states = self.trace.signature.states
        return [node for state, node in zip(states, self.trace.outputs[1:]) if state.per_tensor]

    def place(self, node: Node) -> tuple[Level, int]:
        """The map over scalars that computes a node: its level and stage."""
        return self.levels[node], node.stage

    def is_scalar(self, node: Node) -> bool:
        """Whether a map over scalars computes the node."""
        return not node.is_leaf and node.op != "reduce" and self.levels[node] != Level.ELEMENT

    def in_element_body(self, node: Node) -> bool:
        return node.op in CONSTANTS or node.is_free or (self.levels[node] == Level.ELEMENT and node.op != "list")

    def inside(self, place: tuple[Level, int]) -> Callable[[Node], bool]:
        """Whether a map over scalars computes a node in its body."""
        return lambda node: node.op in CONSTANTS or (self.is_scalar(node) and self.place(node) == place)

    def _find_shared(self) -> None:
        roots = [*self.trace.outputs, *(node.operands[0] for node in self.reductions if node.reduction.of != "one")]
        for node in Needs(roots, self.step, self.in_element_body).read:
            self._share(node, False)
        for node in self._outputs_of_tensors():
            self._share(node, False)
        for reduction in self.reductions:
            if self.levels[reduction.operands[0]] != Level.ELEMENT:
                self._share(reduction.operands[0], True)
        # Maps that come later first: they may need values of earlier ones.
        for stage in range(self.last, -1, -1):
            for level in (Level.MEMBER, Level.LIST, Level.HYPER):
                for node in Needs(self.results((level, stage)), self.step, self.inside((level, stage))).read:
                    self._share(node, True)

    def _share(self, node: Node, in_double: bool) -> None:
        if self.is_scalar(node):
            self.shared[node] = self.shared.get(node, False) or in_double

    def results(self, place: tuple[Level, int]) -> list[Node]:
        """The nodes that the map over scalars at a place computes for other bodies."""
        found = [node for node in self.shared if self.place(node) == place]
        return sorted(found, key=lambda node: node.index)


class ElementStages:
    """The stage in which a family stores each output.

    An output of an early stage may be stored with the reduction that needs it, and read by later bodies. This saves
    them from computing it again, with all that it needs. It is correct if storing does not round, and if no later body
    needs the state that the output replaces. All other outputs are stored in the last stage.

    Attributes:
        stage: the stage of each output.
        early: the positions of the outputs that later bodies read.
    """

    def __init__(self, places: Places, lists: list[Node], exact: list[bool]) -> None:
        self._places = places
        self._lists = lists
        outputs = places.trace.outputs
        self._reduced = [
            node.operands[0]
            for node in places.reductions
            if places.levels[node.operands[0]] == Level.ELEMENT and node.reduction.of != "one"
        ]
        computed = Needs(self._reduced, places.step, places.in_element_body).computed
        self.early = {
            k
            for k, output in enumerate(outputs)
            if exact[k] and output.stage < places.last and output in computed and output.op not in CONSTANTS
        }
        while late := {k for k in self.early if self._is_needed_later(k)}:
            self.early -= late
        self.stage = [output.stage if k in self.early else places.last for k, output in enumerate(outputs)]

    def inside(self, stage: int, reduces: bool) -> Callable[[Node], bool]:
        """Whether a body of this stage computes a node, and does not read it."""
        outputs = self._places.trace.outputs
        stored = {outputs[k] for k in self.early if outputs[k].stage < stage + reduces}
        return lambda node: self._places.in_element_body(node) and node not in stored

    def _is_needed_later(self, position: int) -> bool:
        places, stored = self._places, self._places.trace.outputs[position].stage
        late = [output for k, output in enumerate(places.trace.outputs) if k not in self.early]
        roots = [(places.last, False, late)]
        roots += [(places.trace.outputs[k].stage, False, [places.trace.outputs[k]]) for k in self.early]
        roots += [(node.stage, True, [node]) for node in self._reduced]
        return any(
            self._lists[position] in Needs(nodes, places.step, self.inside(stage, reduces)).read
            for stage, reduces, nodes in roots
            if stage > stored
        )
