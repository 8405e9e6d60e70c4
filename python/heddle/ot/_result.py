"""The result of a solve.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import enum
import math

from .._held import Held
from ..errors import BadInput, Failed
from ._inputs import Block, PerProblem
from ._mistakes import raise_bad_input, sums_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from ._problem import Problem


class Status(enum.Enum):
    """How the solve of one problem ended (docs/sinkhorn.md, "When a problem stops")."""

    #: The error is at most `tol`.
    CONVERGED = "converged"
    #: `limit` iterations have run, and the error is larger than `tol`.
    LIMIT = "limit"
    #: A point whose weight must be matched has no allowed pair with a point of positive weight, or initial potentials are
    #: infinite.
    INFEASIBLE = "infeasible"
    #: NaN or -inf in `M`, or NaN in the initial potentials or in values of eps.
    NOT_FINITE = "not finite"
    #: Weights that are negative or NaN, weights whose sums differ, or an option out of its range.
    BAD_INPUT = "bad input"


class NotSolved(Failed):
    """A problem did not converge; see `OTResult.check`."""


#: What has the place of attributes of results of POT and OTT (docs/ot.md).
_ELSEWHERE = {
    "lazy_plan": "use product(points), which multiplies by the plan without storing it, or plan",
    "sparse_plan": "use product(points), which multiplies by the plan without storing it, or plan",
    "apply": "use product(points), which multiplies by the plan without storing it",
    "matrix": "use plan",
    "f": 'use potential_a, with convention="ott"',
    "g": 'use potential_b, with convention="ott"',
    "reg_ot_cost": "use value, if both sums must match",
    "kl_reg_cost": "use value, if both sums must match",
    "ent_reg_cost": 'use value with regularizer="entropy", if both sums must match',
    "dual_cost": 'use value with regularizer="entropy", if both sums must match',
    "primal_cost": "use value_linear",
    "value_quad": "there is no quadratic term; use value or value_linear",
    "n_iters": "use n_iter",
    "log": "use status, n_iter and error, or errors with history=N",
    "citation": "docs/sinkhorn.md names the papers",
}


class OTResult:
    """The result of `solve`, `solve_batch` or `sinkhorn`.

    Attributes are computed when asked for, on the device, from the costs and the potentials, without another solve.
    They are arrays of the library of `M`, in the compute type (float32 for float16 and bfloat16 costs). The costs and
    weights must not change before that; a tensor of PyTorch that was changed in place, as PyTorch counts it, raises
    `BadInput`, and so does an array of NumPy or PyTorch whose memory was resized or replaced. Tensors of
    ``torch.inference_mode()``, whose changes PyTorch does not count, are copied by the solve.

    For a batch, every attribute has a leading axis of the problems; for a list of problems, it is a list of arrays, and
    scalars are one vector.

    With PyTorch, if `M`, `a` or `b` needs a gradient, `value` has one (envelope theorem), unless the solve was under
    ``torch.no_grad()``. All other attributes raise an exception in ``backward``; use ``detach()``.

    Raises:
        BadInput: costs, weights or potentials have changed when an attribute is computed.
        Unavailable: in ``backward``, of other attributes than `value`, and of a second derivative.
        AttributeError: an attribute does not exist; the message names the one that other libraries' results have.
    """

    def __init__(
        self,
        problem: Problem,
        results: dict[str, Block],
        tol: float | PerProblem,
        limit: int,
        grad: str,
        measure: tuple[str, str],
    ) -> None:
        self._problem, self._results = problem, dict(results)
        self._tol, self._limit = tol, limit
        #: The norm of the error, and the potentials that are updated first: u of rows, or v of columns.
        self._measure = measure
        #: A message with the arguments' names in the function that was called.
        self._named: Callable[[str], str] = str
        self._values: dict[str, Any] = {}
        self._host: dict[str, Any] = {}
        #: The results of which the caller has views.
        self._shared: dict[str, Held] = {}
        self._inputs: list[Any] = []
        self._is_envelope = grad == "envelope"
        if self._is_envelope and problem.problems.library.records_gradients():
            given = [*problem.problems.given, *problem.a.given, *problem.b.given]
            self._inputs = [array for array in given if getattr(array, "requires_grad", False)]

    def __reduce__(self) -> NoReturn:
        # It refers to memory by address.
        raise TypeError("an OTResult cannot be copied or pickled: copy the attributes that you need, such as value")

    # ------------------------------------------------------------------------------------------------------------------
    # Values
    # ------------------------------------------------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The value of the regularized problem, from its dual at the potentials: a scalar for each problem.

        ``reg_type="KL"``:  sum P M + reg KL(P | a b^T) + unbalanced KL(P 1 | a) + unbalanced KL(P^T 1 | b), with
        KL(p | q) = sum p log(p / q) - p + q. ``"entropy"``: reg sum P log P if both sums must match (as POT), and
        reg sum P (log P - 1) if a marginal is relaxed. At convergence, the dual has this value; before, its error is
        quadratic in the error of the potentials.
        """
        if self._inputs:
            from . import _autograd

            return _autograd.value(self)
        return self._plain_value()

    @property
    def value_linear(self) -> Any:
        """sum P M, without the regularization; a forbidden pair contributes 0: a scalar for each problem."""
        return self._get("value_linear", "cost")

    @property
    def dual(self) -> Any:
        """The value of the dual problem at the potentials, as docs/sinkhorn.md defines it: a scalar for each problem."""
        return self._get("dual")

    def _plain_value(self) -> Any:
        dual = self._output("dual")
        options = self._problem.options
        if options.get("regularizer", "kl") == "kl" or "rho_a" in options or "rho_b" in options:
            return dual
        if "entropic" not in self._values:
            self._output("marginal_a")
            block, problems = self._unchanged("marginal_a"), self._problem.problems
            masses = [block.of(index).sum() for index in range(problems.count)]
            given = self._problem.scalars["eps"]
            mass = masses[0] if problems.form == "single" else problems.library.stacked(masses) if masses else dual
            eps = problems.library.dense(given.array, self._problem.compute) if isinstance(given, PerProblem) else given
            self._values["entropic"] = dual + eps * mass
        return self._values["entropic"]

    # ------------------------------------------------------------------------------------------------------------------
    # The transport plan and the potentials
    # ------------------------------------------------------------------------------------------------------------------

    @property
    def potentials(self) -> tuple[Any, Any]:
        """The potentials of rows (n) and columns (m), in the convention of the solve."""
        return self.potential_a, self.potential_b

    @property
    def potential_a(self) -> Any:
        """The potentials of the rows: n."""
        return self._get("potential_a", self._problem.potential_names[0])

    @property
    def potential_b(self) -> Any:
        """The potentials of the columns: m."""
        return self._get("potential_b", self._problem.potential_names[1])

    @property
    def plan(self) -> Any:
        """The transport plan: n x m. With `M` stored by columns, so is the plan."""
        return self._get("plan")

    @property
    def marginals(self) -> tuple[Any, Any]:
        """The row sums (n) and column sums (m) of the transport plan."""
        return self.marginal_a, self.marginal_b

    @property
    def marginal_a(self) -> Any:
        """The row sums of the transport plan: n."""
        return self._get("marginal_a")

    @property
    def marginal_b(self) -> Any:
        """The column sums of the transport plan: m."""
        return self._get("marginal_b")

    @property
    def argmax(self) -> Any:
        """For each row, the column with the largest entry of the plan, the first of several: n 64-bit integers.

        0 in a row without an allowed pair.
        """
        return self._output("argmax")

    def product(self, points: Any) -> Any:
        """The product of the plan with points, P X: n x d.

        Args:
            points: X, one row for each column of `M`, with 1 to 64 coordinates: m x d. For a batch also one array for
                each problem, B x m x d or a list.

        Raises:
            BadInput: another number of points or coordinates, another device, or no real numbers; or costs, weights or
                potentials have changed since the solve.
        """
        return self._transport(points, "product")

    def projection(self, points: Any) -> Any:
        """The barycentric projection of points: the mean of X under each row of the plan, n x d; 0 in a row without mass.

        Args:
            points: as for `product`.

        Raises:
            BadInput: another number of points or coordinates, another device, or no real numbers; or costs, weights or
                potentials have changed since the solve.
        """
        return self._transport(points, "projection")

    def _transport(self, points: Any, output: str) -> Any:
        from ._points import transport

        problem = self._problem
        self._check_unchanged()
        potentials = {name: self._results[name] for name in problem.potential_names}
        found = transport(problem, potentials, points, output, self._check_unchanged)
        if self._library.records_gradients():
            inputs = self._inputs
            if self._is_envelope:
                given = points if isinstance(points, (list, tuple)) else [points]
                inputs = [*inputs, *(each for each in given if getattr(each, "requires_grad", False))]
            if inputs:
                from . import _autograd

                return _autograd.without_gradient(output, found, inputs)
        return found

    # ------------------------------------------------------------------------------------------------------------------
    # The solve
    # ------------------------------------------------------------------------------------------------------------------

    @property
    def error(self) -> Any:
        """The error that was compared with `tol`: a scalar for each problem, on the device."""
        return self._output("error")

    @property
    def errors(self) -> Any:
        """The error of each iteration, up to the length `history`; NaN for those that did not run. None without."""
        return self._output("errors") if "errors" in self._results else None

    @property
    def n_iter(self) -> Any:
        """The number of iterations: an integer, or a NumPy vector for several problems. Waits for the solve."""
        found = self._on_host("iterations")
        return int(found) if found.ndim == 0 else found

    @property
    def converged(self) -> Any:
        """Whether the error is at most `tol`: a boolean, or a NumPy vector for several problems. Waits for the solve."""
        found = self._on_host("converged")
        return bool(found) if found.ndim == 0 else found

    @property
    def status(self) -> Any:
        """How the solve ended: a `Status`, or a list of them for several problems. Waits for the solve."""
        bits = self._on_host("status")
        if bits.ndim == 0:
            return _status(int(bits), bool(self._on_host("converged")))
        return [_status(int(word), bool(done)) for word, done in zip(bits, self._on_host("converged"))]

    @property
    def status_bits(self) -> Any:
        """The program's status, an int32 for each problem on the device, as docs/sinkhorn.md defines it."""
        return self._output("status")

    def check(self) -> OTResult:
        """Raises an exception unless every problem converged. Waits for the solve.

        Returns:
            The result itself.

        Raises:
            BadInput: a mistake in an argument, which the solve has found.
            NotSolved: a problem reached the limit, or is infeasible.
        """
        raise_bad_input(self)
        single = self._problem.problems.form == "single"
        found = [self.status] if single else self.status
        for index, status in enumerate(found):
            if status is not Status.CONVERGED:
                self._refuse(status, "" if single else f"problem {index}: ", index)
        return self

    def _refuse(self, status: Status, where: str, index: int) -> NoReturn:
        if status is Status.INFEASIBLE:
            raise NotSolved(
                f"{where}infeasible: a point with weight has no allowed pair with a point of positive weight (or initial "
                "potentials are infinite)"
            )
        error = float(self._on_host("error").reshape(-1)[index])
        tol = self._tol
        wanted = tol if not isinstance(tol, PerProblem) else float(self._library.host(tol.array)[index])
        raise NotSolved(
            f"{where}reached the limit of {self._limit} iterations with error {error:.3g}, tol is {wanted:.3g}: "
            + (self._unequal_sums(wanted, index) or "raise the limit (max_iter), tol or eps (reg), or use annealing")
        )

    def _unequal_sums(self, wanted: float, index: int) -> str:
        """A remedy if the sums of the weights differ so much that no potentials have an error of `wanted`."""
        options = self._problem.options
        if "rho_a" in options or "rho_b" in options or "normalize" in options:
            return ""
        sums = sums_of(self._problem, index)
        if sums is None:
            return ""
        first, second = sums
        norm, order = self._measure
        points = self._problem.problems.shapes[index][order == "v"]
        # The errors of the points of a side add up to the difference, if the sums of the other side match.
        least = abs(first - second) / {"l1": 1.0, "l2": math.sqrt(points), "max": points}[norm]
        if not least > wanted:
            return ""
        return (
            f"the sums of a and b are {first!r} and {second!r}, so that the error cannot be less than {least:.3g}: use "
            "normalize=True, or weights of equal sums, in the precision of M"
        )

    # ------------------------------------------------------------------------------------------------------------------

    @property
    def _library(self) -> Any:
        return self._problem.problems.library

    def _get(self, attribute: str, name: str = "") -> Any:
        """The result of an attribute; if a gradient is asked through it, an exception follows.

        Args:
            attribute: the name of the attribute, for messages.
            name: that of the result in the program; empty: the same.
        """
        found = self._output(name or attribute)
        if self._inputs:
            from . import _autograd

            return _autograd.without_gradient(attribute, found, self._inputs)
        return found

    def _output(self, name: str) -> Any:
        """A result of the program."""
        if name not in self._results:
            self._compute(name)
        self._library.join()
        if name not in self._values:
            block = self._results[name]
            self._values[name] = self._problem.value_of(name, block)
            self._shared[name] = Held([block.flat], lambda _: name)
        found = self._values[name]
        # A NumPy scalar instead of an array without axes.
        return found[()] if self._library.name == "numpy" and getattr(found, "ndim", 1) == 0 else found

    def _compute(self, name: str) -> None:
        """Computes an output of the given potentials, with others that the same visit of the costs can compute."""
        problem = self._problem
        if name in ("plan", "argmax"):
            outputs = [name]
        elif name.startswith("transform"):
            outputs = ["transforms"]
        else:
            outputs = ["cost", "dual", "marginals"]
        made = problem.blocks(outputs)
        problem.run(
            {"iterate": "false", "init": "given", "outputs": "/".join(outputs)},
            {potential: self._results[potential].members for potential in problem.potential_names},
            made,
            problem.scalars,
            self._check_unchanged,
        )
        for result, block in made.items():
            if result not in self._results:
                self._results[result] = block

    def _check_unchanged(self) -> None:
        """Refuses costs, weights and potentials that were changed since the solve."""
        self._problem.check_unchanged()
        for name in self._problem.potential_names:
            self._unchanged(name)

    def _unchanged(self, name: str) -> Block:
        """A result of which another one is computed. The caller may have a view of it.

        Raises:
            BadInput: it was written in place, as PyTorch counts it, or its memory was freed or replaced.
        """
        shared = self._shared.get(name)
        if shared is not None and shared.changed() is not None:
            raise BadInput(
                f"result: expected '{name}' of the solve, found that it was changed in place, or its memory resized, since "
                "then: change a copy of it"
            )
        return self._results[name]

    def _on_host(self, name: str) -> Any:
        if name not in self._host:
            self._library.join()
            self._host[name] = self._library.host(self._problem.value_of(name, self._unchanged(name)))
        return self._host[name]

    if not TYPE_CHECKING:  # a type checker refuses names that do not exist

        def __getattr__(self, name: str) -> NoReturn:
            hint = _ELSEWHERE.get(name, "")
            raise AttributeError(
                f"'OTResult' object has no attribute '{name}'" + (hint and f": {hint}"), name=name, obj=self
            )

    def __repr__(self) -> str:
        problems = self._problem.problems
        sizes = ", ".join(f"{rows}x{columns}" for rows, columns in problems.shapes[:4])
        more = ", ..." if problems.count > 4 else ""
        return f"<heddle.ot.OTResult of {problems.count} problem{'s' * (problems.count != 1)} ({sizes}{more})>"


def _status(bits: int, converged: bool) -> Status:
    if bits & 63:
        return Status.BAD_INPUT
    if bits & 64:
        return Status.NOT_FINITE
    if bits & 128:
        return Status.INFEASIBLE
    return Status.CONVERGED if converged else Status.LIMIT
