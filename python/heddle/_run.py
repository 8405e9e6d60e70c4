"""Runs steps of a program on random data or on given arrays, for ``python -m heddle run``.

Everything goes through the C interface, so a run needs no library but NumPy, also on a GPU.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import hashlib
import math
import statistics
import time

from . import dtypes
from ._contents import Data, read_data
from ._memory import Memory
from ._reference import Reference
from ._shapes import argument_shapes
from ._values import counted, listed, short_text
from .errors import BadInput, Error
from .executable import BufferInfo, Executable, compile
from .graph import Graph
from .inspection import explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy

    from ._contents import Array, Filling
    from ._shapes import Shape

_ALIGNMENT = 256  # of a member, in bytes


class _List:
    """A list in memory of the target, and its contents at the start.

    These are given arrays, numbers of a kind, values about 0, equal weights, or one value.
    """

    def __init__(self, executable: Executable, info: BufferInfo, shapes: list[Shape], origin: str) -> None:
        self.info, self.shapes = info, shapes
        self.offsets: list[int] = []
        size = 0
        for member, shape in enumerate(shapes):
            self.offsets.append(size)
            size += -(-math.prod(shape) * dtypes.SIZES[info.dtype] // _ALIGNMENT) * _ALIGNMENT
            if size > 1 << 48:
                raise BadInput(
                    f"{origin}[{member}]: expected lists of at most 2^48 bytes, found {size} bytes in list "
                    f"'{info.name}' up to this member: use smaller shapes"
                )
        try:
            self.memory = Memory(executable, size)
        except Error as error:
            raise type(error)(
                f"list '{info.name}' of {counted(len(shapes), 'member')} from {origin}: {error}"
            ) from None
        self.deviation: float | None = None
        self.value = 0.0
        self.has_weights = False  # with a sum of `value` over each member
        self.given: list[Array] | None = None
        self.filling: Filling | None = None
        #: Whether a step reads what the step before left in the list: not if that is a constant, as of gradients after
        #: their last use.
        self.is_carried = info.donated

    @property
    def is_new_in_each_step(self) -> bool:
        """Whether the list is filled before every step: an input of random numbers, or one that a step replaces."""
        if self.info.donated:
            return not self.is_carried
        israndom = self.deviation is not None if self.filling is None else self.filling.is_random
        return israndom and self.given is None

    def bind(self, graph: Graph) -> None:
        binding = graph.list_binding(self.info.name, self.shapes)
        binding.bind([self.memory.address + offset for offset in self.offsets])

    def contents(self, generator: numpy.random.Generator) -> Iterator[numpy.ndarray[Any, Any]]:
        """The elements of each member, as they are stored."""
        import numpy

        kind = dtypes.numpy_dtype(self.info.dtype)
        for member, shape in enumerate(self.shapes):
            if self.given is not None:
                values = self.given[member]
            elif self.filling is not None:
                values = self.filling.draw(generator, shape).astype(kind)
            elif self.deviation is None:
                share = max(1, math.prod(shape)) if self.has_weights else 1
                values = numpy.full(shape, self.value / share, kind)
            else:
                values = (generator.standard_normal(shape, numpy.float32) * self.deviation).astype(kind)
            yield values

    def fill(self, generator: numpy.random.Generator) -> None:
        for values, offset in zip(self.contents(generator), self.offsets):
            self.memory.write(values, offset)

    def read(self) -> list[numpy.ndarray[Any, Any]]:
        import numpy

        members = []
        for shape, offset in zip(self.shapes, self.offsets):
            values = numpy.empty(shape, dtypes.numpy_dtype(self.info.dtype))
            self.memory.read(values, offset)
            members.append(values)
        return members


def _choose_contents(executable: Executable, lists: dict[str, _List], fills: set[str]) -> None:
    """Parameters are small, inputs have a standard deviation of 1, and state starts with its initial value or at 0."""
    initial = executable.initial_values()
    seen = False
    for name, entry in lists.items():
        info = entry.info
        entry.is_carried = info.donated and (name in initial or name not in fills)
        if name in initial:
            entry.value = initial[name]
            # Vectors that start at 1 and are only read are weights; problems of transport need equal masses.
            entry.has_weights = entry.value == 1 and info.rank == 1 and not info.donated
        elif not info.dtype.startswith(("f", "bf")):
            entry.value = float(info.dtype == "i1" and not entry.is_carried)
        elif info.rank == 0:
            entry.value = float(not entry.is_carried)
        elif not entry.is_carried:
            entry.deviation = 1.0
        elif initial or not seen:
            entry.deviation = 0.02
        seen = seen or (entry.is_carried and info.rank > 0)


def _choose_given(
    executable: Executable, lists: dict[str, _List], data: Data | None, file: str | None, fill: dict[str, Filling]
) -> None:
    """Gives lists the arrays of a data file, and the numbers that were chosen for them."""
    for name, filling in fill.items():
        if name not in lists:
            raise BadInput(
                f"option '--fill': the program has no list argument '{name}'\nList arguments: {listed(lists)}."
            )
        if data is not None and name in data.lists:
            raise BadInput(f"list '{name}' is in the data file '{file}' and in '--fill': give it once")
        filling.check(lists[name].info, lists[name].shapes)
        lists[name].filling = filling
    if data is None:
        return
    initial = executable.initial_values()
    for name, entry in lists.items():
        if name in data.lists:
            entry.given = data.lists[name]
        elif entry.filling is None and name not in initial:
            raise BadInput(
                f"data file '{file}': expected arrays for list '{name}', which has no initial value, found none: add "
                f"'{name}.0' and so on, or choose numbers with --fill {name}=normal"
            )


def _set_scalars(executable: Executable, graph: Graph, given: dict[str, float]) -> dict[str, float]:
    """Returns the values of all scalars."""
    scalars = {name: info for name, info in executable.arguments.items() if not info.is_list}
    for name in given:
        if name not in scalars:
            raise BadInput(
                f"option '--set': the program has no scalar argument '{name}'\n"
                f"Scalar arguments: {', '.join(scalars) or 'none'}."
            )
    values = {}
    for name, info in scalars.items():
        # Values that make most programs compute something: a factor of 1, a flag that is set, a loop of few iterations.
        fallback = 1.0 if info.dtype.startswith(("f", "bf")) or info.dtype == "i1" else 8.0
        values[name] = given.get(name, fallback if info.default is None else info.default)
        if name in given or info.default is None:
            graph.set_scalar(name, values[name])
    return values


def _evaluate(
    program: str,
    lists: dict[str, _List],
    scalars: dict[str, float],
    steps: int,
    seed: int,
    perturbation: int | None,
    ulps: float,
) -> Reference:
    """The same steps on the same data in the reference interpreter."""
    import numpy

    reference = Reference(program)
    for name, value in scalars.items():
        reference.set_scalar(name, value)
    for name, entry in lists.items():
        reference.set_list(name, entry.shapes)
    for step in range(steps):
        for number, (name, entry) in enumerate(lists.items()):
            if step == 0 or entry.is_new_in_each_step:
                for member, values in enumerate(entry.contents(numpy.random.default_rng([seed, step, number]))):
                    reference.write(name, member, values)
        reference.step(perturbation, ulps)
    return reference


def _summarize(name: str, dtype: str, members: list[numpy.ndarray[Any, Any]]) -> dict[str, Any]:
    import numpy

    digest = hashlib.blake2b(digest_size=8)
    for member in members:
        digest.update(member.tobytes())
    values = [member.astype(numpy.float64).ravel() for member in members]
    summary: dict[str, Any] = {
        "name": name,
        "dtype": dtype,
        "members": len(members),
        "elements": sum(member.size for member in members),
        "checksum": digest.hexdigest(),
        "not_numbers": sum(int(numpy.isnan(member).sum()) for member in values),
    }
    if summary["elements"] <= 4:
        summary["values"] = [float(value) for member in values for value in member]
    return summary


def run(
    program: str,
    shapes: list[Shape],
    *,
    origin: str,
    target: str | None,
    steps: int,
    seed: int,
    scalars: dict[str, float],
    data: str | None = None,
    fill: dict[str, Filling] | None = None,
    check: bool = False,
) -> dict[str, Any]:
    """Runs steps of a program, and reports times and the checksum of each result. Messages name `origin`.

    Args:
        data: a file of `numpy.savez` with arrays for arguments; their shapes replace `shapes`.
        fill: the contents of lists, by name.
        check: compare the results with the reference interpreter; the entry ``checks`` has a `ResultCheck` of each,
            and ``nan_scalars`` the names of the scalars that are NaN.

    Returns:
        A dictionary: target, arch, members, parameters (elements of the given shapes), steps, seed, launches and sweeps
        per step, bytes_per_element, compile_ms, step_us, and results with name, dtype, members, elements, checksum and
        not_numbers (the number of NaN), and values for at most 4 elements.

    Raises:
        BadInput, Unavailable, Failed: as for `heddle.compile` and `Graph.replay`.
    """
    import numpy

    begin = time.perf_counter()
    executable = compile(program, target=target)
    compile_seconds = time.perf_counter() - begin
    graph = executable.graph()
    given = None if data is None else read_data(data, executable)
    if given is not None:
        twice = next((name for name in given.scalars if name in scalars), None)
        if twice is not None:
            raise BadInput(f"scalar '{twice}' is set by '--set' and by the data file '{data}': give it once")
        scalars, shapes = {**scalars, **given.scalars}, given.shapes
    scalars = _set_scalars(executable, graph, scalars)
    by_name = argument_shapes(executable.plan, shapes)
    if given is not None:
        by_name.update({name: [member.shape for member in members] for name, members in given.lists.items()})
    lists = {name: _List(executable, executable.arguments[name], members, origin) for name, members in by_name.items()}
    reference = Reference(program)
    fills = {name for index, name in enumerate(executable.results) if reference.is_fill(index)}
    _choose_contents(executable, lists, fills)
    _choose_given(executable, lists, given, data, fill or {})
    for number, entry in enumerate(lists.values()):
        entry.fill(numpy.random.default_rng([seed, 0, number]))
    try:
        for entry in lists.values():
            entry.bind(graph)
        graph.prepare()
    except BadInput as error:
        # The shapes of arrays contradict each other.
        raise (error if given is None else BadInput(f"data file '{short_text(data)}': {error}")) from None
    results = dict(lists)
    for name, info in executable.results.items():
        if info.is_list and name not in lists:
            results[name] = _List(executable, info, [seen.shape for seen in graph.result_views(name)], origin)
            results[name].bind(graph)
    graph.prepare()

    times = []
    for step in range(steps):
        for number, entry in enumerate(lists.values()):
            if step > 0 and entry.is_new_in_each_step:
                entry.fill(numpy.random.default_rng([seed, step, number]))
        begin = time.perf_counter()
        graph.replay()
        graph.synchronize()
        times.append(time.perf_counter() - begin)
    summaries, found = [], []
    for name, info in executable.results.items():
        if info.is_list:
            members = results[name].read()
        else:
            members = [numpy.array([graph.read_scalar(name)])]
        summaries.append(_summarize(name, info.dtype, members))
        if check:
            values = [member.astype(numpy.float64).ravel() for member in members]
            found.append((name, info.dtype, info.is_list and info.rank > 0, name in fills, values))
    explained = explain(program, shapes=shapes, json=True, arch=None if executable.arch == "cpu" else executable.arch)
    # Measuring replays the program, which changes its state, so it comes last.
    seconds = statistics.median(times) if executable.target == "cpu" else graph.measure()
    report = {
        "program": program if "\n" not in program else "standard input",
        "target": executable.target,
        "arch": executable.arch,
        "members": len(shapes),
        "parameters": sum(math.prod(shape) for shape in shapes),
        "steps": steps,
        "seed": seed,
        "launches": explained["launches"],
        "sweeps": explained["sweeps"],
        "bytes_per_element": explained["bytes_per_element"],
        "compile_ms": compile_seconds * 1e3,
        "step_us": seconds * 1e6,
        "results": summaries,
    }
    if check:
        report["nan_scalars"] = [name for name, value in scalars.items() if math.isnan(value)]
        from ._check import check_results

        def evaluate(perturbation: int | None, ulps: float) -> Reference:
            return _evaluate(program, lists, scalars, steps, seed, perturbation, ulps)

        longest = max((sum(map(math.prod, entry.shapes)) for entry in lists.values()), default=0)
        report["checks"] = check_results(executable.plan, executable.target == "cpu", longest, evaluate, found)
    return report
