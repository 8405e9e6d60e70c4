"""A solve as programs: the lists, the scalars and the options that all programs about one solve share.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from ..errors import BadInput
from ._cache import Members, graph_for
from ._inputs import Block, PerProblem, Problems, Vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

#: The results of each output, with the axes of their members: n rows, m columns, or none.
OUTPUTS = {
    "plan": (("plan", "nm"),),
    "cost": (("cost", ""),),
    "dual": (("dual", ""),),
    "marginals": (("marginal_a", "n"), ("marginal_b", "m")),
    "transforms": (("transform_a", "n"), ("transform_b", "m")),
    "argmax": (("argmax", "n"),),
}


class Problem:
    """The arguments of a solve.

    Attributes:
        problems: the costs.
        a, b: the weights.
        options: the structural options of the program, by name.
        scalars: the scalar arguments: numbers, or one value for each problem.
        compute: heddle's name of the compute type, in which weights, potentials and results are.
    """

    def __init__(
        self,
        problems: Problems,
        a: Vectors,
        b: Vectors,
        options: dict[str, str],
        scalars: dict[str, float | PerProblem],
        compute: str,
    ) -> None:
        self.problems, self.a, self.b = problems, a, b
        self.options, self.scalars, self.compute = options, scalars, compute
        #: The arrays that are read later, too: those of the caller, and those that are bound.
        self.held = (problems.held, a.held, b.held)

    @property
    def potential_names(self) -> tuple[str, str]:
        """The names of the potentials in the program."""
        return ("u", "v") if self.options.get("convention", "scaling") == "scaling" else ("f", "g")

    def check_unchanged(self) -> None:
        """Refuses costs and weights that were written (as PyTorch counts it), or whose memory was freed or replaced."""
        for record in self.held:
            name = record.changed()
            if name is not None:
                raise BadInput(
                    f"{name}: expected the values of the solve, found an array that was changed in place since then, or "
                    "whose memory was resized or replaced: ask for the result before you change it, or solve with a copy"
                )

    def block(self, axes: str, dtype: str, *, start: Sequence[Any] | None = None) -> Block:
        """New memory for a result; `axes` names those of a member: n rows, m columns."""
        if self.problems.by_columns:
            axes = axes[::-1]

        def shape(rows: int, columns: int) -> tuple[int, ...]:
            return tuple({"n": rows, "m": columns}[axis] for axis in axes)

        shapes = [shape(*extents) for extents in self.problems.shapes]
        return Block(self.problems, dtype, shapes, empty=shape(*self.problems.extents), start=start)

    def blocks(self, outputs: Sequence[str]) -> dict[str, Block]:
        """New memory for the results of outputs, by the names of the program."""
        made = {}
        for output in outputs:
            for name, axes in OUTPUTS[output]:
                dtype = "i64" if output == "argmax" else self.compute
                made[name] = self.block(axes, dtype)
        return made

    def value_of(self, name: str, block: Block) -> Any:
        """A result as the caller gets it."""
        return block.value(turned=name == "plan" and self.problems.by_columns)

    def run(
        self,
        options: dict[str, str],
        lists: dict[str, Members],
        results: dict[str, Block],
        scalars: dict[str, float | PerProblem],
        check: Callable[[], None],
    ) -> None:
        """Runs the program `sinkhorn` with `self.options` and more options, right after `check`."""
        problems = self.problems
        grouped = any(isinstance(value, PerProblem) for value in scalars.values())
        text = {**self.options, **options, "dtype": problems.dtype, "compute": self.compute}
        if grouped:
            text["groups"] = "true"
        if problems.by_columns:
            text["layout"] = "column"
        program = "sinkhorn:" + ",".join(f"{name}={value}" for name, value in sorted(text.items()))
        log = "log_" if text.get("weights") == "log" else ""
        bound = {
            "C" if text.get("matrix", "cost") == "cost" else "L": problems.members,
            log + "a": self.a.members,
            log + "b": self.b.members,
            **lists,
            **{name: block.members for name, block in results.items()},
        }
        numbers = {}
        for name, value in scalars.items():
            if isinstance(value, PerProblem):
                bound[name] = value.members
            else:
                numbers[name] = value
        place = problems.library.place
        extents = tuple((members.dtype, members.shapes, members.strides) for members in bound.values())
        with graph_for(program, place, extents) as entry:
            if "eps" not in entry.graph.executable.arguments:  # a log kernel contains it
                bound.pop("eps", None)
                numbers.pop("eps", None)
            with problems.library.in_order():
                entry.replay(bound, extents, numbers, place.stream, check)
            if problems.library.must_wait:
                entry.graph.synchronize(place.stream)
