"""`sinkhorn`: the program with every option.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import sys

from .._refusals import REFUSALS
from .._values import boolean, real, short, whole
from ..errors import BadInput
from ._annealing import check_epsilons
from ._arguments import check_order, is_word, names_checked
from ._inputs import Block, Problems, Uniform, Vectors, check_memory
from ._mistakes import raise_bad_input
from ._problem import OUTPUTS, Problem
from ._result import OTResult
from ._scalars import Scalars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal


@names_checked
def sinkhorn(
    M: Any,
    a: Any = None,
    b: Any = None,
    *,
    eps: Any = 0.05,
    rho_a: Any = None,
    rho_b: Any = None,
    omega: Any = 1.0,
    anneal: Any = None,
    eps0: Any = 1.0,
    decay: Any = 0.5,
    tol: Any = 1e-4,
    limit: int = 1000,
    matrix: Literal["cost", "log_kernel"] = "cost",
    layout: Literal["row", "column"] | None = None,
    weights: Literal["plain", "log"] = "plain",
    normalize: bool = False,
    regularizer: Literal["kl", "entropy"] = "kl",
    order: Literal["u", "v"] = "u",
    norm: Literal["l1", "l2", "max"] = "l1",
    convention: Literal["scaling", "ott", "geomloss"] = "scaling",
    init: Any = None,
    outputs: Sequence[str] = (),
    history: int = 0,
    compute: Literal["f64", "f32"] | None = None,
    grad: Literal["envelope", "detach"] = "envelope",
) -> OTResult:
    """Solves entropic optimal transport, for one problem or many in one launch.

    The transport plan P minimizes  sum P C + eps KL(P | a b^T)  where its row sums are a and its column sums are b.
    docs/sinkhorn.md has the formulas; the algorithm is Sinkhorn's in the log domain (Cuturi 2013), with relaxed
    marginals as in Chizat et al. 2016.

    Args:
        M: costs, n x m; a batch: an array B x n x m, or a list of matrices of any sizes. float64, float32, float16 or
            bfloat16. +inf forbids a pair. Rows may have a stride; a matrix stored by columns is read in place; others
            are copied.
        a, b: weights, n and m; for a batch also B x n, or a list of vectors. None: uniform, 1 / n and 1 / m. Zeros are
            allowed. They are converted to the compute type.
        eps: strength of the entropy, in units of the cost: 2^-126 to 2^100 if the arithmetic is in float32, 2^-1022 to
            2^1000 in float64.
        rho_a, rho_b: weights of the KL penalties on the marginals, rho_a KL(P 1 | a) and rho_b KL(P^T 1 | b), in units
            of the cost. None: the sums must match. One of them: semi-relaxed. In float32 at least 2^-126.
        omega: step size of an update, between 0 and 2; above 1 over-relaxes.
        anneal: None; ``"geometric"``, eps of iteration t is max(eps, eps0 decay^t); or a vector of values of eps,
            positive and one for each iteration, whose last entry is at most `eps` (for a batch also one vector for each
            problem). Values on a GPU are not checked, because this would wait for it. None is larger than the largest
            `eps`.
        eps0, decay: for geometric annealing, without effect otherwise. `eps0` has the range of `eps`, and `decay` is
            between 0 and 1.
        tol: a problem stops when its error is at most `tol`; negative: every problem runs `limit` iterations.
        limit: the largest number of iterations.
        matrix: ``"log_kernel"``: `M` is -C / eps.
        layout: None or ``"row"``: `M` is n x m. ``"column"``: `M` is the transpose, m x n. Results do not depend on it.
        weights: ``"log"``: `a` and `b` are logarithms of weights.
        normalize: divide the weights by their sum.
        regularizer: ``"kl"``, eps KL(P | a b^T), or ``"entropy"``, eps sum P (log P - 1).
        order: the potentials that are updated first, u of rows or v of columns.
        norm: the norm of the error over the side that is updated first.
        convention: the meaning of potentials: ``"scaling"``, P = exp(u + v - C / eps); ``"ott"``,
            P = exp((f + g - C) / eps); ``"geomloss"``, P = a b exp((f + g - C) / eps).
        init: a pair of initial potentials of that convention, shaped as a and b; they are not changed. None: 0.
        outputs: results to compute in the same launch: ``"plan"``, ``"cost"``, ``"dual"``, ``"marginals"``,
            ``"argmax"``. Others are computed when the result is asked for them.
        history: record the errors of this many iterations. Memory for all of them is allocated, also beyond `limit`.
        compute: the type of arithmetic, weights and results. None: float64 for float64 costs, else float32.
        grad: ``"envelope"``: `OTResult.value` has a gradient if PyTorch's `M`, `a` or `b` needs one. ``"detach"``: none.

        `eps`, `rho_a`, `rho_b`, `omega`, `eps0`, `decay` and `tol` may be vectors with one value for each problem of a
        batch. Of a value out of range on a GPU, `OTResult.status` is ``BAD_INPUT``.

    Returns:
        The result. On a GPU, the call returns before the solve has finished.

    Raises:
        BadInput: shapes that do not fit, an option out of its range, a type or device that does not fit; weights in
            float64, as numbers of Python or on the CPU, that a solve in float32 cannot hold; a tensor with a tangent of
            the forward mode; weights that need a gradient, if `M` is no tensor of PyTorch. On the CPU also weights that are
            negative or NaN or whose sums differ, NaN or -inf in `M`, and NaN in `init`; on a GPU, nothing waits for the
            solve, and `OTResult.status` reports these.
        TypeError: an argument does not exist, is missing, or is given by position after `b`.
        Unavailable: no GPU, driver or NVRTC.
    """
    check_order(M, b)
    problems = Problems(M, layout)
    if compute is None:
        compute = "f64" if problems.dtype == "f64" else "f32"
    options = _options(
        weights=(weights, ("plain", "log")),
        matrix=(matrix, ("cost", "log_kernel")),
        regularizer=(regularizer, ("kl", "entropy")),
        convention=(convention, ("scaling", "ott", "geomloss")),
    )
    if not is_word(compute, ("f64", "f32")):
        raise BadInput(f"compute: expected 'f64', 'f32' or None, found {short(compute)}")
    if normalize := boolean(normalize, "normalize"):
        options["normalize"] = "true"
    loop = _options(order=(order, ("u", "v")), norm=(norm, ("l1", "l2", "max")))
    if not is_word(grad, ("envelope", "detach")):
        raise BadInput(f"grad: expected 'envelope' or 'detach', found {short(grad)}")

    scalars = Scalars(problems, compute)
    scalars.add("eps", eps)
    for name, rho in (("rho_a", rho_a), ("rho_b", rho_b)):
        if rho is not None:
            scalars.add(name, rho)
            options[name] = "1"
    shared = list(scalars.values)
    # With omega=1, it is checked and not used.
    relaxed = real(omega) != 1
    (scalars if relaxed else Scalars(problems, compute)).add("omega", omega)
    if relaxed:
        loop["omega"] = "1.5"
    lists, epsilons = {}, None
    if isinstance(anneal, str):
        if anneal != "geometric":
            raise BadInput(f"anneal: expected None, 'geometric' or an array, found {short(anneal)}")
        loop["anneal"] = anneal
    elif anneal is not None:
        epsilons = Vectors(problems, anneal, "anneal", None, "f64")
        lists["epsilons"] = epsilons.members
        loop["anneal"] = "list"
    # Without geometric annealing, they are checked and not used.
    geometric = scalars if loop.get("anneal") == "geometric" else Scalars(problems, compute)
    geometric.add("eps0", eps0)
    geometric.add("decay", decay)
    if "anneal" in loop and matrix != "cost":
        raise BadInput("anneal: expected None with matrix='log_kernel', which contains one eps")
    scalars.add("tol", tol)
    values = scalars.finish()
    if epsilons is not None:
        check_epsilons(problems, epsilons, values["eps"], compute)
    iterations = whole(limit)
    if iterations is None or not 0 <= iterations < 1 << 31:
        raise BadInput(f"limit: expected a number of iterations from 0 to {(1 << 31) - 1}, found {short(limit)}")
    limit = iterations

    sides: list[Vectors] = []
    for name, given, axis in (("a", a, 0), ("b", b, 1)):
        sizes = [shape[axis] for shape in problems.shapes]
        if given is None:
            sides.append(Uniform(problems, sizes, compute, weights == "log"))
        else:
            sides.append(Vectors(problems, given, name, sizes, compute, weights=weights == "plain"))
    if grad == "envelope" and problems.library.name != "torch":
        _check_gradients(sides)
    if rho_a is None and rho_b is None and not normalize:
        _check_sides(problems, (a, b))
    problem = Problem(problems, sides[0], sides[1], options, {name: values[name] for name in shared}, compute)

    results = {
        "error": problem.block("", compute),
        "iterations": problem.block("", "i32"),
        "converged": problem.block("", "i1"),
        "status": problem.block("", "i32"),
    }
    starts = _starts(problems, init, compute)
    for name, axes, start in zip(problem.potential_names, "nm", starts):
        results[name] = problem.block(axes, compute, start=start)
    if init is not None:
        loop["init"] = "given"
    eager = _chosen(outputs)
    results.update(problem.blocks(eager))
    recorded = whole(history)
    if recorded is None or not 0 <= recorded < 1 << 31:
        raise BadInput(f"history: expected a number of iterations from 0 to {(1 << 31) - 1}, found {short(history)}")
    history = recorded
    if history:
        unknown = problems.library.full(history * problems.count, compute, math.nan)
        shapes = [(history,)] * problems.count
        results["errors"] = Block(problems, compute, shapes, empty=(history,), start=[unknown])
        eager.append("history")
    loop["outputs"] = "/".join(["potentials", *eager])

    records = [*problem.held, *([] if epsilons is None else [epsilons.held])]
    problem.run(loop, lists, results, {**values, "limit": float(limit)}, lambda: check_memory(records))
    result = OTResult(problem, results, values["tol"], limit, grad, (norm, order))
    if problems.library.place.target == "cpu":
        raise_bad_input(result)
    return result


def _options(**given: tuple[Any, tuple[str, ...]]) -> dict[str, str]:
    """The options that differ from their default, which is the first word."""
    chosen = {}
    for name, (value, words) in given.items():
        if not is_word(value, words):
            raise BadInput(f"{name}: expected {' or '.join(map(repr, words))}, found {short(value)}")
        if value != words[0]:
            chosen[name] = str(value)
    return chosen


def _chosen(outputs: Any) -> list[str]:
    """The names of outputs in the order of the program.

    Raises:
        BadInput: some are no names of outputs, or are twice there.
    """
    given, cause = None, None
    try:
        given = None if isinstance(outputs, str) else list(outputs)
    except REFUSALS as error:  # no sequence
        cause = error
    public = [output for output in OUTPUTS if output != "transforms"]
    if given is None or not all(is_word(each, public) for each in given) or len(set(given)) != len(given):
        expected = "some of 'plan', 'cost', 'dual', 'marginals', 'argmax'"
        raise BadInput(f"outputs: expected {expected}, found {short(outputs)}") from cause
    return [output for output in public if output in given]


def _check_gradients(sides: Sequence[Vectors]) -> None:
    """Refuses weights that need a gradient with costs of another library than PyTorch: the value would have none."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.is_grad_enabled():
        return
    for name, side in zip("ab", sides):
        if any(getattr(array, "requires_grad", False) for array in side.given):
            raise BadInput(
                f"{name}: expected weights that need no gradient, because M is no tensor of PyTorch, found a tensor that "
                "needs one: make M a tensor, or detach() the weights"
            )


def _check_sides(problems: Problems, given: tuple[Any, Any]) -> None:
    """Refuses a matrix without rows or without columns whose other side has uniform weights: their sum is 1, not 0."""
    for index, shape in enumerate(problems.shapes):
        for axis, words in enumerate(("row", "column")):
            if shape[axis] == 0 and shape[1 - axis] > 0 and given[1 - axis] is None:
                raise BadInput(
                    f"{problems.name_of(index)}: expected at least one {words}, found {shape[0]} rows and {shape[1]} "
                    "columns, whose uniform weights have no equal sums"
                )


def _refuse_nan(name: str, values: Any) -> None:
    """Refuses initial potentials on the host that are NaN; None: they are on a GPU."""
    import numpy

    if values is None:
        return
    places: Any = numpy.argwhere(values != values)
    if len(places):
        at = ", ".join(map(str, places[0].tolist()))
        raise BadInput(f"{name}: expected initial potentials that are not NaN, found nan at {at}")


def _starts(problems: Problems, init: Any, compute: str) -> list[list[Any] | None]:
    """Copies of the initial potentials, in the order of the problems."""
    if init is None:
        return [None, None]
    if not isinstance(init, (list, tuple)) or len(init) != 2:
        found = f"{len(init)} elements" if isinstance(init, (list, tuple)) else type(init).__name__
        raise BadInput(f"init: expected a pair of initial potentials, found {found}")
    starts: list[list[Any] | None] = []
    records = []
    for axis, given in enumerate(init):
        sizes = [shape[axis] for shape in problems.shapes]
        name = f"init[{axis}]"
        read = Vectors(problems, given, name, sizes, compute)
        records.append(read.held)
        for index, (part, array) in enumerate(zip(read.given, read.arrays)):
            where = f"{name}[{index}]" if len(read.arrays) > 1 else name
            _refuse_nan(where, problems.library.on_host(part, array))
        starts.append(read.arrays * (problems.count if read.shared and problems.form != "single" else 1))
    check_memory(records)
    return starts
