"""`solve` and `solve_batch`, with the names of POT.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import re

from .._refusals import REFUSALS
from .._values import boolean, short, whole
from ..errors import BadInput
from ._arguments import is_word, names_checked, unreadable
from ._inputs import number
from ._sinkhorn import sinkhorn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from ._result import OTResult


@names_checked
def solve(
    M: Any,
    a: Any = None,
    b: Any = None,
    reg: Any = None,
    c: None = None,
    reg_type: str = "KL",
    unbalanced: Any = None,
    unbalanced_type: str = "KL",
    method: None = None,
    n_threads: int | str | None = 1,
    max_iter: int | None = None,
    plan_init: None = None,
    potentials_init: Any = None,
    tol: Any = None,
    verbose: bool = False,
    grad: Literal["envelope", "detach"] = "envelope",
    *,
    omega: Any = 1.0,
    anneal: Any = None,
    eps0: Any = 1.0,
    decay: Any = 0.5,
    matrix: Literal["cost", "log_kernel"] = "cost",
    layout: Literal["row", "column"] | None = None,
    weights: Literal["plain", "log"] = "plain",
    normalize: bool = False,
    order: Literal["u", "v"] | None = None,
    norm: Literal["l1", "l2", "max"] | None = None,
    convention: Literal["scaling", "ott", "geomloss"] = "scaling",
    outputs: Sequence[str] = (),
    history: int = 0,
    compute: Literal["f64", "f32"] | None = None,
) -> OTResult:
    """Solves entropic optimal transport, with the arguments of POT's ``ot.solve`` in the same order.

    Without `unbalanced`, iterations are those of POT's ``sinkhorn_log``: columns first, and the Euclidean norm of the
    error of the column sums. docs/ot.md lists what differs from POT.

    Args:
        M: costs, n x m; also a batch, as for `sinkhorn`.
        a, b: weights, n and m. None: uniform.
        reg: strength of the regularization, in units of the cost; positive, in the range of `eps` of `sinkhorn`.
        c: must be None: the reference measure is a b^T.
        reg_type: ``"KL"``, reg KL(P | a b^T), or ``"entropy"``, reg sum P log P (in any case).
        unbalanced: weight of the KL penalties on the marginals, which replace the constraints: a number, or a pair.
            Infinity or None: the sums must match.
        unbalanced_type: must be ``"KL"``.
        method, plan_init: must be None.
        n_threads: a positive integer, ``"max"`` or None; without effect. POT uses it for exact transport only. The
            environment variable HEDDLE_THREADS sets the number of threads on the CPU; the default is all cores.
        verbose: True or False; without effect: one launch does all iterations, and prints nothing. `history` records
            the errors that POT prints.
        max_iter: the largest number of iterations. None: 1000.
        potentials_init: a pair of initial potentials, in the convention of the result.
        tol: tolerance of the error. None: 1e-9, or 1e-6 if the arithmetic is in float32.
        grad: ``"envelope"``: `OTResult.value` has a gradient if PyTorch's `M`, `a` or `b` needs one. ``"detach"``: none.
        omega, anneal, eps0, decay, matrix, layout, weights, normalize, convention, outputs, history, compute: as for
            `sinkhorn`.
        order, norm: as for `sinkhorn`. None: ``"v"`` and ``"l2"`` without `unbalanced`, else ``"u"`` and ``"l1"``.

    Returns:
        The result. `OTResult.potentials` are logarithms of scalings, P = exp(u + v - M / reg), as POT returns them for
        balanced problems.

    Raises:
        BadInput: as for `sinkhorn`; also a method, regularization or penalty that is not supported, exact transport (`reg`
            is None or 0), and `n_threads` or `verbose` of another type.
        TypeError: an argument does not exist or is missing.
        Unavailable: as for `sinkhorn`.
    """
    for name, given, reason in (
        ("c", c, "the reference measure is a b^T"),
        ("method", method, "the algorithm is Sinkhorn's in the log domain"),
        ("plan_init", plan_init, "use potentials_init"),
    ):
        if given is not None:
            if isinstance(given, str) and given.lower() in ("kl", "entropy"):
                reason = f"give reg_type={short(given)} by its name"
            raise BadInput(f"{name}: expected None, found {short(given)}: {reason}")
    threads = whole(n_threads)
    is_word_for_all = n_threads is None or (isinstance(n_threads, str) and n_threads.lower() == "max")
    if not is_word_for_all and (threads is None or threads < 1):
        raise BadInput(f"n_threads: expected a positive integer, 'max' or None, found {short(n_threads)}")
    boolean(verbose, "verbose")
    if reg is None:
        raise BadInput(
            "reg: expected a finite positive number, found None: exact transport is not supported; a small reg with "
            'anneal="geometric" comes close'
        )
    regularizer = reg_type.lower() if isinstance(reg_type, str) else ""
    if regularizer not in ("kl", "entropy"):
        raise BadInput(f"reg_type: expected 'KL' or 'entropy', found {short(reg_type)}")
    if not isinstance(unbalanced_type, str) or unbalanced_type.lower() != "kl":
        raise BadInput(f"unbalanced_type: expected 'KL', found {short(unbalanced_type)}")
    rho_a, rho_b = _pair(unbalanced)
    is_balanced = rho_a is None and rho_b is None
    if order is None:
        order = "v" if is_balanced else "u"
    if norm is None:
        norm = "l2" if is_balanced else "l1"
    if tol is None:
        half = is_word(compute, ("f32",)) or not _is_double(M)
        tol = 1e-6 if half and not is_word(compute, ("f64",)) else 1e-9
    try:
        result = sinkhorn(
            M,
            a,
            b,
            eps=reg,
            rho_a=rho_a,
            rho_b=rho_b,
            omega=omega,
            anneal=anneal,
            eps0=eps0,
            decay=decay,
            tol=tol,
            limit=1000 if max_iter is None else max_iter,
            matrix=matrix,
            layout=layout,
            weights=weights,
            normalize=normalize,
            regularizer="entropy" if regularizer == "entropy" else "kl",
            order=order,
            norm=norm,
            convention=convention,
            init=potentials_init,
            outputs=outputs,
            history=history,
            compute=compute,
            grad=grad,
        )
    except BadInput as error:
        raise BadInput(_renamed(str(error))) from error.__cause__
    result._named = _renamed  # of a solve on a GPU, check() finds mistakes
    return result


@names_checked
def solve_batch(
    M: Any,
    reg: Any = None,
    a: Any = None,
    b: Any = None,
    max_iter: int | None = 1000,
    tol: Any = 1e-5,
    method: str = "auto",
    inner_iter: int = 1,
    inner_reg: float = 0.001,
    reg_type: str = "entropy",
    grad: Literal["envelope", "detach"] = "envelope",
    *,
    unbalanced: Any = None,
    unbalanced_type: str = "KL",
    potentials_init: Any = None,
    omega: Any = 1.0,
    anneal: Any = None,
    eps0: Any = 1.0,
    decay: Any = 0.5,
    matrix: Literal["cost", "log_kernel"] = "cost",
    layout: Literal["row", "column"] | None = None,
    weights: Literal["plain", "log"] = "plain",
    normalize: bool = False,
    order: Literal["u", "v"] | None = None,
    norm: Literal["l1", "l2", "max"] | None = None,
    convention: Literal["scaling", "ott", "geomloss"] = "scaling",
    outputs: Sequence[str] = (),
    history: int = 0,
    compute: Literal["f64", "f32"] | None = None,
) -> OTResult:
    """Solves a batch, with the arguments of POT's ``ot.batch.solve_batch``.

    Args:
        M: costs, B x n x m, or a list of matrices of any sizes.
        reg: strength of the regularization, in units of the cost; positive. Also one value for each problem.
        a, b: weights, B x n and B x m, or n and m for all problems. None: uniform.
        max_iter, tol: as for `solve`. The error is the Euclidean norm of the error of the column sums.
        method: ``"auto"``, ``"log_sinkhorn"`` or ``"sinkhorn"``: all are Sinkhorn's algorithm in the log domain.
        inner_iter, inner_reg: those of POT's method ``"proximal"``; without effect.
        reg_type, grad: as for `solve`; so are all others.

    Returns:
        The result, with a leading axis of the problems.

    Raises:
        BadInput: as for `solve`, and another `method`.
        TypeError, Unavailable: as for `solve`.
    """
    if not is_word(method, ("auto", "log_sinkhorn", "sinkhorn")):
        raise BadInput(f"method: expected 'auto', 'log_sinkhorn' or 'sinkhorn', found {short(method)}")
    return solve(
        M,
        a,
        b,
        reg,
        reg_type=reg_type,
        unbalanced=unbalanced,
        unbalanced_type=unbalanced_type,
        max_iter=max_iter,
        potentials_init=potentials_init,
        tol=tol,
        grad=grad,
        omega=omega,
        anneal=anneal,
        eps0=eps0,
        decay=decay,
        matrix=matrix,
        layout=layout,
        weights=weights,
        normalize=normalize,
        order=order,
        norm=norm,
        convention=convention,
        outputs=outputs,
        history=history,
        compute=compute,
    )


#: The arguments of `solve` by those of `sinkhorn`.
_NAMES = {
    "eps": "reg",
    "init": "potentials_init",
    "limit": "max_iter",
    "rho_a": "unbalanced",
    "rho_b": "unbalanced",
}


def _renamed(message: str) -> str:
    """A message of `sinkhorn` that names the argument of `solve`."""
    found = re.match(r"((?:problem \d+: )?)(\w+(?:, \w+)*)(.*)", message, re.S)
    if not found:
        return message
    where, names, text = found.groups()
    return where + ", ".join(dict.fromkeys(_NAMES.get(name, name) for name in names.split(", "))) + text


def _pair(unbalanced: Any) -> tuple[float | None, float | None]:
    """The weights of the KL penalties on both marginals; None where the sums must match."""
    if unbalanced is None:
        return None, None
    expected = "a positive number, a pair of them, or None"
    try:
        entries = list(unbalanced)
    except TypeError:  # a number of any library is no sequence
        entries = [unbalanced]
    except REFUSALS as error:  # any library's object may refuse
        raise BadInput(f"unbalanced: expected {expected}, found {type(unbalanced).__name__}") from error
    if len(entries) not in (1, 2):
        raise BadInput(f"unbalanced: expected {expected}, found {len(entries)} values")
    weights = [number("unbalanced", entry, lambda x: x > 0, expected) for entry in entries]
    rho_a, rho_b = (None if weight == math.inf else weight for weight in (weights[0], weights[-1]))
    return rho_a, rho_b


def _is_double(M: Any) -> bool:
    first = M[0] if isinstance(M, (list, tuple)) and M else M
    try:
        dtype = getattr(first, "dtype", None)
        text = "" if dtype is None else str(dtype)
    except REFUSALS as error:  # any library's array may refuse
        raise unreadable("M", first, error) from error
    return not text or text.endswith("float64") or re.match(r"(torch\.)?int", text) is not None
