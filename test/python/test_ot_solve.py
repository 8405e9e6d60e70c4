"""heddle.ot with NumPy on the cpu target, against an independent solver in double precision."""

import os
import threading

import numpy
import ot_reference as reference
import pytest

import heddle
import heddle.ot
from heddle.ot import Status

SIZES = [(1, 1), (1, 7), (7, 1), (2, 2), (30, 20), (33, 65), (128, 5)]
EVERY = [(rho_a, rho_b, entropy) for rho_a, rho_b in ((None, None), (1.0, None), (None, 0.5), (0.7, 2.0))
         for entropy in (False, True)]


def close(found, expected, tolerance):
    found, expected = numpy.asarray(found, dtype="f8"), numpy.asarray(expected, dtype="f8")
    assert found.shape == expected.shape
    numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * max(1e-3, numpy.abs(expected).max(
        initial=0)))


def unbalanced(rho_a, rho_b):
    return None if rho_a is rho_b is None else tuple(numpy.inf if rho is None else rho for rho in (rho_a, rho_b))


@pytest.mark.parametrize("n,m", SIZES)
@pytest.mark.parametrize("rho_a,rho_b,entropy", EVERY)
def test_everything_against_the_reference(n, m, rho_a, rho_b, entropy):
    eps = 0.2
    M, a, b = reference.problem(n, m, seed=n * 100 + m)
    result = heddle.ot.solve(M, a, b, eps, reg_type="entropy" if entropy else "KL", unbalanced=unbalanced(rho_a, rho_b),
                             tol=1e-13, max_iter=5000)
    plan = reference.plan_of(M, a, b, eps, rho_a, rho_b, entropy)
    close(result.plan, plan, 1e-9)
    close(result.value, reference.primal(M, a, b, plan, eps, rho_a, rho_b, entropy), 1e-9)
    close(result.value_linear, reference.value_linear(M, plan), 1e-9)
    close(result.marginal_a, plan.sum(1), 1e-9)
    close(result.marginal_b, plan.sum(0), 1e-9)
    assert (result.argmax == plan.argmax(1)).all()
    u, v = result.potentials
    close(numpy.exp(u[:, None] + v - M / eps), plan, 1e-9)
    assert result.marginals[0] is result.marginal_a and result.potential_a is u
    assert result.status is Status.CONVERGED and result.converged is True and type(result.n_iter) is int
    assert 0 < result.n_iter < 5000 and result.error <= 1e-13 and result.check() is result


@pytest.mark.parametrize("dtype,tolerance", [("f8", 1e-9), ("f4", 2e-5), ("f2", 2e-5)])
@pytest.mark.parametrize("rho_a,rho_b,entropy", EVERY[::3])
def test_types(dtype, tolerance, rho_a, rho_b, entropy):
    M, a, b = reference.problem(40, 25, seed=4)
    M = M.astype(dtype)
    result = heddle.ot.solve(M, a, b, 0.2, reg_type="entropy" if entropy else "KL", unbalanced=unbalanced(rho_a, rho_b))
    plan = reference.plan_of(M, a, b, 0.2, rho_a, rho_b, entropy)
    close(result.plan, plan, tolerance)
    close(result.value, reference.primal(M, a, b, plan, 0.2, rho_a, rho_b, entropy), tolerance)
    expected = "f8" if dtype == "f8" else "f4"
    assert result.plan.dtype == expected and result.potential_a.dtype == expected and result.value.dtype == expected


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    M, a, b = reference.problem(40, 25, seed=4)
    M = M.astype(ml_dtypes.bfloat16)
    result = heddle.ot.solve(M, a, b, 0.2)
    close(result.plan, reference.plan_of(M.astype("f8"), a, b, 0.2), 2e-5)


def test_uniform_weights():
    M, _, _ = reference.problem(12, 9)
    a, b = numpy.full(12, 1 / 12), numpy.full(9, 1 / 9)
    close(heddle.ot.solve(M, reg=0.2).plan, reference.plan_of(M, a, b, 0.2), 1e-8)
    logs = heddle.ot.sinkhorn(M, eps=0.2, weights="log", tol=1e-10)
    close(logs.plan, reference.plan_of(M, a, b, 0.2), 1e-8)


def test_sequences_of_numbers():
    result = heddle.ot.solve([[0.0, 1.0], [1.0, 0.0]], [0.5, 0.5], [0.5, 0.5], 1)
    # The example of POT's ot.sinkhorn.
    close(result.plan, [[0.36552929, 0.13447071], [0.13447071, 0.36552929]], 1e-7)
    batch = heddle.ot.solve([[[0, 1], [1, 0]]] * 2, (0.5, 0.5), (0.5, 0.5), 1)
    assert batch.plan.shape == (2, 2, 2) and (batch.plan == result.plan).all()
    one = numpy.float32(1)
    same = heddle.ot.solve([[0 * one, one], [one, 0 * one]], [one / 2, one / 2], [one / 2] * 2, one)
    assert (same.plan == result.plan).all()


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_costs_of_integers(dtype):
    """They are solved in float64, as one problem, a batch or a list, from any layout."""
    M = numpy.random.default_rng(1).integers(0, 9, (5, 7))
    expected = heddle.ot.solve(M.astype("f8"), reg=0.5)
    whole = M.astype(dtype)
    for given in (whole, numpy.asfortranarray(whole), numpy.repeat(whole, 2, 1)[:, ::2]):
        result = heddle.ot.solve(given, reg=0.5)
        close(result.plan, expected.plan, 1e-12)
        assert result.plan.dtype == numpy.float64 and result.n_iter == expected.n_iter
    batch = heddle.ot.solve([whole, whole[:3]], [numpy.ones(5, dtype), numpy.ones(3, dtype)], reg=0.5, normalize=True)
    close(batch.plan[0], expected.plan, 1e-9)


def test_scalars_of_numpy():
    M = numpy.random.default_rng(1).random((5, 7))
    options = dict(limit=5, history=3, omega=1.2, eps=0.5, rho_a=0.25, tol=0.0)
    expected = heddle.ot.sinkhorn(M, **options)
    for kind in (numpy.float32, numpy.float64, numpy.array):
        numbers = {name: (kind if isinstance(value, float) else numpy.int64)(value) for name, value in options.items()}
        result = heddle.ot.sinkhorn(M, **numbers)
        assert result.n_iter == 5 and result.errors.shape == (3,)
        close(result.plan, expected.plan, 1e-6)
    assert heddle.ot.solve(M, reg=0.1, max_iter=numpy.uint8(2)).n_iter == 2


@pytest.mark.parametrize("convention", ["scaling", "ott", "geomloss"])
@pytest.mark.parametrize("options", [{}, {"rho_a": 1.0}, {"regularizer": "entropy", "rho_b": 2.0}, {"normalize": True}])
def test_conventions_and_warm_starts(convention, options):
    M, a, b = reference.problem(20, 30, seed=3, mass=1.3)
    eps = 0.3
    result = heddle.ot.sinkhorn(M, a, b, eps=eps, convention=convention, tol=1e-12, **options)
    f, g = result.potentials
    p = {"scaling": lambda: numpy.exp(f[:, None] + g - M / eps),
         "ott": lambda: numpy.exp((f[:, None] + g - M) / eps),
         "geomloss": lambda: numpy.exp((f[:, None] + g - M) / eps) * numpy.outer(a, b)
         / (1.3 ** 2 if "normalize" in options else 1)}[convention]()
    close(p, result.plan, 1e-10)
    kept = f.copy(), g.copy()
    again = heddle.ot.sinkhorn(M, a, b, eps=eps, convention=convention, tol=1e-10, init=(f, g), **options)
    assert again.n_iter == 1 and again.status is Status.CONVERGED
    assert (f == kept[0]).all() and (g == kept[1]).all(), "the given potentials were changed"
    assert again.potential_a is not f
    none = heddle.ot.sinkhorn(M, a, b, eps=eps, convention=convention, limit=0, init=(f, g), **options)
    assert none.n_iter == 0 and none.status is Status.LIMIT and numpy.isinf(none.error)
    close(none.plan, result.plan, 1e-12)


def test_options_of_the_iteration():
    M, a, b = reference.problem(25, 35, seed=8)
    eps, plan = 0.05, reference.plan_of(*reference.problem(25, 35, seed=8), 0.05)
    iterations = {}
    for name, options in {
        "plain": {},
        "over-relaxed": {"omega": 1.4},
        "geometric": {"anneal": "geometric", "eps0": 1.0, "decay": 0.7},
        "list": {"anneal": numpy.array([1, 0.5, 0.2, 0.01])},
        "columns first": {"order": "v", "norm": "l2"},
        "max": {"norm": "max"},
        "in f64": {"compute": "f64"},
        "list and columns": {"anneal": [1.0, 0.05], "order": "v"},
    }.items():
        result = heddle.ot.sinkhorn(M, a, b, eps=eps, tol=1e-11, limit=5000, **options).check()
        close(result.plan, plan, 1e-8)
        iterations[name] = result.n_iter
    assert iterations["over-relaxed"] < iterations["plain"]
    kernel = heddle.ot.sinkhorn(-M / eps, a, b, eps=eps, matrix="log_kernel", tol=1e-11, limit=5000)
    close(kernel.plan, plan, 1e-8)
    close(kernel.value_linear, reference.value_linear(M, plan), 1e-8)
    logs = heddle.ot.sinkhorn(M, numpy.log(a), numpy.log(b), eps=eps, weights="log", tol=1e-11, limit=5000)
    close(logs.plan, plan, 1e-8)
    normalized = heddle.ot.sinkhorn(M, 3 * a, 5 * b, eps=eps, normalize=True, tol=1e-11, limit=5000)
    close(normalized.plan, plan, 1e-8)


def test_history_and_fixed_iterations():
    M, a, b = reference.problem(15, 15, seed=1)
    result = heddle.ot.sinkhorn(M, a, b, eps=0.1, tol=-1, limit=7, history=10)
    assert result.n_iter == 7 and result.status is Status.LIMIT
    assert (numpy.diff(result.errors[:7]) < 0).all() and numpy.isnan(result.errors[7:]).all()
    assert result.error == result.errors[6]
    assert heddle.ot.sinkhorn(M, a, b).errors is None


def test_results_in_the_launch_of_the_solve():
    M, a, b = reference.problem(15, 25, seed=1)
    lazy = heddle.ot.sinkhorn(M, a, b)
    eager = heddle.ot.sinkhorn(M, a, b, outputs=("plan", "cost", "dual", "marginals", "argmax"))
    before = heddle.statistics()["replays"]
    for name in ("plan", "value_linear", "value", "dual", "marginal_a", "marginal_b", "argmax"):
        assert getattr(eager, name) is not None
    assert heddle.statistics()["replays"] == before
    for name in ("plan", "value_linear", "value", "dual", "marginal_a", "marginal_b", "argmax"):
        close(getattr(eager, name), getattr(lazy, name), 1e-12)
    # The plan; cost, dual and marginals at once; and argmax.
    assert heddle.statistics()["replays"] == before + 3


def test_products_and_projections():
    parts = [reference.problem(n, m, seed=n) for n, m in ((5, 8), (17, 3), (4, 1))]
    M, a, b = (list(arrays) for arrays in zip(*parts))
    generator = numpy.random.default_rng(1)
    points = [generator.random((m, 3)) for _, m in (part[0].shape for part in parts)]
    for view, weights, mine in zip(M, zip(a, b), points):
        for layout in (view, numpy.asfortranarray(view)):
            result = heddle.ot.solve(layout, *weights, 0.2)
            close(result.product(mine), result.plan @ mine, 1e-12)
            close(result.projection(mine[:, 1:]), result.plan @ mine[:, 1:] / result.marginal_a[:, None], 1e-12)
    result = heddle.ot.solve(M, a, b, 0.2, tol=1e-9)
    for product, plan, mine in zip(result.product(points), result.plan, points):
        close(product, plan @ mine, 1e-12)
    stack, a, b = batch(3)
    result = heddle.ot.solve_batch(stack, 0.2, a, b, tol=1e-9)
    cloud = generator.random((3, 14, 2))
    close(result.product(cloud), result.plan @ cloud, 1e-12)
    close(result.projection(cloud[1]), result.plan @ cloud[1] / result.marginal_a[..., None], 1e-12)
    for wrong in (cloud[:2], cloud[:, :13], cloud[0, :, 0], generator.random((14, 65)), [cloud[0]]):
        with pytest.raises(heddle.BadInput, match="^points: expected"):
            result.product(wrong)


# ----------------------------------------------------------------------------------------------------------------------
# Batches
# ----------------------------------------------------------------------------------------------------------------------


def batch(count=6, n=10, m=14):
    parts = [reference.problem(n, m, seed=seed) for seed in range(count)]
    return tuple(numpy.stack(arrays) for arrays in zip(*parts))


def test_a_batch_as_an_array():
    M, a, b = batch()
    before = heddle.statistics()["replays"]
    result = heddle.ot.solve_batch(M, 0.2, a, b, tol=1e-11)
    assert heddle.statistics()["replays"] == before + 1
    plans = numpy.stack([reference.plan_of(*parts, 0.2) for parts in zip(M, a, b)])
    close(result.plan, plans, 1e-8)
    close(result.value, [reference.primal(*parts, plan, 0.2, entropy=True) for *parts, plan in zip(M, a, b, plans)], 1e-8)
    close(result.marginal_a, a, 1e-8)
    assert result.potential_b.shape == (6, 14) and result.argmax.shape == (6, 10)
    assert result.n_iter.shape == (6,) and result.status == [Status.CONVERGED] * 6 and result.converged.all()
    assert result.error.shape == (6,) and result.status_bits.tolist() == [0] * 6
    # The same weights for all, strided batches, and a batch of views of one matrix.
    shared = heddle.ot.solve_batch(M, 0.2, a[0], b[0], tol=1e-11)
    close(shared.plan[2], reference.plan_of(M[2], a[0], b[0], 0.2), 1e-8)
    uniform = heddle.ot.solve_batch(M[::2, 1:8, 2:], 0.2, tol=1e-11)
    close(uniform.plan[1], reference.plan_of(M[2, 1:8, 2:], numpy.full(7, 1 / 7), numpy.full(12, 1 / 12), 0.2), 1e-8)
    copies = heddle.ot.solve_batch(numpy.broadcast_to(M[0], M.shape), 0.2, a, b, tol=1e-11)
    close(copies.plan[3], reference.plan_of(M[0], a[3], b[3], 0.2), 1e-8)


def test_a_ragged_batch():
    parts = [reference.problem(n, m, seed=n) for n, m in ((5, 8), (17, 3), (1, 6), (4, 1), (33, 40))]
    M, a, b = (list(arrays) for arrays in zip(*parts))
    result = heddle.ot.solve(M, a, b, 0.2, tol=1e-11)
    for index, part in enumerate(parts):
        plan = reference.plan_of(*part, 0.2)
        close(result.plan[index], plan, 1e-8)
        close(result.potential_a[index].shape, plan.shape[:1], 0)
        close(result.marginals[1][index], plan.sum(0), 1e-8)
        close(result.value[index], reference.primal(*part, plan, 0.2), 1e-8)
    assert result.value.shape == (5,) and result.status == [Status.CONVERGED] * 5
    again = heddle.ot.solve(M, a, b, 0.2, tol=1e-9, potentials_init=result.potentials)
    assert again.n_iter.tolist() == [1] * 5
    uniform = heddle.ot.solve(M, reg=0.2, tol=1e-11)
    close(uniform.marginal_a[4], numpy.full(33, 1 / 33), 1e-9)
    entropic = heddle.ot.solve(M, a, b, 0.2, reg_type="entropy", tol=1e-11)
    plan = reference.plan_of(*parts[1], 0.2)
    close(entropic.value[1], reference.primal(*parts[1], plan, 0.2, entropy=True), 1e-8)


def test_one_value_for_each_problem():
    M, a, b = batch(3)
    eps, rho = [0.2, 0.5, 1.0], numpy.array([1.0, 2.0, numpy.inf])
    result = heddle.ot.sinkhorn(M, a, b, eps=eps, rho_a=rho, rho_b=1.5, tol=[1e-12, 1e-12, 1e-12], limit=3000)
    for index in range(3):
        rho_a = None if numpy.isinf(rho[index]) else rho[index]
        part = M[index], a[index], b[index]
        plan = reference.plan_of(*part, eps[index], rho_a, 1.5)
        close(result.plan[index], plan, 1e-8)
        close(result.value[index], reference.primal(*part, plan, eps[index], rho_a, 1.5), 1e-8)
    entropic = heddle.ot.solve_batch(M, eps, a, b, tol=1e-11)
    close(entropic.value[1], reference.primal(M[1], a[1], b[1], entropic.plan[1], 0.5, entropy=True), 1e-8)
    lists = heddle.ot.sinkhorn(M, a, b, eps=0.1, anneal=numpy.array([[1.0, 0.1], [0.1, 0.1], [2.0, 0.05]]), tol=1e-9)
    assert lists.converged.all()
    with pytest.raises(heddle.BadInput, match="eps: expected a number, or 3 values, one for each problem, found shape"):
        heddle.ot.sinkhorn(M, a, b, eps=[0.1, 0.2])
    with pytest.raises(heddle.BadInput, match=r"eps\[1\]: expected a finite positive number, found -1"):
        heddle.ot.sinkhorn(M, a, b, eps=[0.1, -1, 2])
    with pytest.raises(heddle.BadInput, match="one value for each problem, but M is one problem"):
        heddle.ot.sinkhorn(M[0], eps=[0.1])


def test_empty_problems_and_batches():
    nothing = heddle.ot.solve([], reg=0.1)
    assert nothing.plan == [] and nothing.status == [] and nothing.value.shape == (0,)
    empty = heddle.ot.solve_batch(numpy.zeros((0, 3, 4)), 0.1)
    assert empty.plan.shape == (0, 3, 4) and empty.value.shape == (0,) and empty.potentials[0].shape == (0, 3)
    for n, m in ((0, 0), (0, 3), (3, 0)):
        result = heddle.ot.solve(numpy.zeros((n, m)), reg=0.1, unbalanced=1.0)
        assert result.plan.shape == (n, m) and result.value_linear == 0
        assert result.potential_a.shape == (n,) and result.potential_b.shape == (m,)
    with pytest.raises(heddle.BadInput, match="^M: expected at least one row, found 0 rows and 3 columns"):
        heddle.ot.solve(numpy.zeros((0, 3)), reg=0.1)
    with pytest.raises(heddle.BadInput, match="a and b: expected equal sums"):
        heddle.ot.solve(numpy.zeros((0, 3)), numpy.zeros(0), numpy.ones(3), reg=0.1)
    assert heddle.ot.solve(numpy.zeros((0, 3)), numpy.zeros(0), numpy.zeros(3), reg=0.1).plan.shape == (0, 3)
    mixed = heddle.ot.solve([numpy.zeros((0, 3)), numpy.ones((2, 2))], reg=0.1, unbalanced=1.0)
    assert mixed.plan[0].shape == (0, 3) and mixed.plan[1].shape == (2, 2)


# ----------------------------------------------------------------------------------------------------------------------
# Memory
# ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_views(dtype):
    M, a, b = reference.problem(24, 36, seed=5, dtype=dtype)
    tolerance = 1e-8 if dtype == "f8" else 2e-5
    large = numpy.full((30, 50), numpy.nan, dtype)
    large[2:26, 3:39] = M
    turned = numpy.asfortranarray(M)
    part = numpy.full((50, 30), numpy.nan, dtype)
    part[3:39, 2:26] = M.T
    sparse = numpy.full((48, 72), numpy.nan, dtype)
    sparse[::2, ::2] = M
    plan = reference.plan_of(M, a, b, 0.2)
    for view in (M, large[2:26, 3:39], turned, part[3:39, 2:26].T, sparse[::2, ::2], M[::-1][::-1], memoryview(M),
                 M[::-1, ::-1]):
        flipped = view is not M and getattr(view, "strides", (1,))[0] < 0
        for order in ("u", "v"):
            result = heddle.ot.solve(view, a[::-1] if flipped else a, b[::-1] if flipped else b, 0.2, order=order)
            close(result.plan, plan[::-1, ::-1] if flipped else plan, tolerance)
            close(result.potential_a.shape, (24,), 0)
            assert (result.argmax == result.plan.argmax(1)).all()
    column = heddle.ot.sinkhorn(numpy.ascontiguousarray(M.T), a, b, eps=0.2, layout="column", tol=1e-6)
    close(column.plan, plan, 2e-5)
    assert column.plan.shape == (24, 36)
    weights = numpy.zeros((24, 2), dtype)
    weights[:, 1] = a
    close(heddle.ot.solve(M, weights[:, 1], b, 0.2).plan, plan, tolerance)


def test_columns_are_read_in_place():
    """A matrix stored by columns is not copied, and the plan is stored as it is."""
    M, a, b = reference.problem(24, 36, seed=5)
    turned = numpy.asfortranarray(M)
    result = heddle.ot.solve(turned, a, b, 0.2)
    assert result._problem.problems.members.addresses == [turned.ctypes.data]
    assert result.plan.flags.f_contiguous
    half = heddle.ot.solve(turned[:12], None, b, 0.2)
    assert half._problem.problems.members.addresses == [turned.ctypes.data] and half.plan.shape == (12, 36)


class Foreign:
    """An array of a library of its own."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries():
    M, a, b = reference.problem(10, 12)
    plan = reference.plan_of(M, a, b, 0.2)
    for make in (Foreign, memoryview):
        result = heddle.ot.solve(make(M), make(a), make(b), 0.2)
        assert type(result.plan) is numpy.ndarray
        close(result.plan, plan, 1e-8)


def test_zero_weights_and_forbidden_pairs():
    M, a, b = reference.problem(20, 15, seed=9)
    a[[2, 7]] = 0
    b[[0, 14]] = 0
    a, b = a / a.sum(), b / b.sum()
    M[3, 5] = M[8, 1] = numpy.inf
    M[2] = numpy.inf
    for rho_a, rho_b, entropy in EVERY:
        result = heddle.ot.solve(M, a, b, 0.2, reg_type="entropy" if entropy else "KL", tol=1e-13, max_iter=5000,
                                 unbalanced=unbalanced(rho_a, rho_b)).check()
        plan = reference.plan_of(M, a, b, 0.2, rho_a, rho_b, entropy)
        close(result.plan, plan, 1e-8)
        close(result.value, reference.primal(M, a, b, plan, 0.2, rho_a, rho_b, entropy), 1e-8)
        assert (result.plan[2] == 0).all() and result.plan[3, 5] == 0
        assert numpy.isneginf(result.potential_a[[2, 7]]).all() and result.argmax[2] == 0


def test_infeasible_problems():
    M, a, b = reference.problem(4, 4)
    M[1] = numpy.inf
    for order in ("u", "v"):
        result = heddle.ot.solve(M, a, b, 0.2, order=order, max_iter=50)
        assert result.status is Status.INFEASIBLE and result.converged is False and not numpy.isnan(result.plan).any()
        assert result.value == result.dual == numpy.inf
        with pytest.raises(heddle.ot.NotSolved, match="^infeasible: a point with weight has no allowed pair"):
            result.check()
    many = heddle.ot.solve([M, M[2:]], reg=0.2, tol=1e-9, max_iter=500)
    assert many.status == [Status.INFEASIBLE, Status.CONVERGED]
    assert numpy.isinf(many.value).tolist() == [True, False]
    for sides in ((1.0, numpy.inf), (numpy.inf, 1.0), None):
        for costs in (numpy.full((3, 2), numpy.inf), M if sides != (1.0, numpy.inf) else M.T):
            for reg_type in ("KL", "entropy"):
                result = heddle.ot.solve(costs, reg=0.2, unbalanced=sides, reg_type=reg_type, max_iter=50)
                assert result.status is Status.INFEASIBLE and result.value == numpy.inf, (sides, reg_type)
    with pytest.raises(heddle.ot.NotSolved, match="^problem 0: infeasible"):
        many.check()


# ----------------------------------------------------------------------------------------------------------------------
# Graphs that are used again
# ----------------------------------------------------------------------------------------------------------------------


def test_a_second_solve_creates_nothing():
    M, a, b = reference.problem(31, 29)
    heddle.ot.clear_cache()

    def solve(seed, eps, limit):
        M, a, b = reference.problem(31, 29, seed=seed)
        result = heddle.ot.solve(M, a, b, eps, max_iter=limit)
        result.value, result.plan, result.argmax
        return result

    first = solve(0, 0.2, 1000)
    entries = [id(entry) for free in heddle.ot._cache._cache.free.values() for entry in free]
    executables = len(heddle.ot._cache._cache.executables)
    plans = [first.plan.copy()]
    for seed in range(1, 4):
        result = solve(seed, 0.2 + seed / 10, 500 + seed)
        plans.append(reference.plan_of(*reference.problem(31, 29, seed=seed), 0.2 + seed / 10))
        close(result.plan, plans[-1], 1e-7)
        assert [id(entry) for free in heddle.ot._cache._cache.free.values() for entry in free] == entries
        assert len(heddle.ot._cache._cache.executables) == executables
    # A later solve does not change earlier results, nor results that are asked for later.
    assert (first.plan == plans[0]).all()
    close(first.marginal_a, reference.problem(31, 29)[1], 1e-7)


def test_results_that_are_asked_for_late():
    problems = [reference.problem(9, 11, seed=seed) for seed in range(5)]
    results = [heddle.ot.solve(*part, 0.3) for part in problems]
    for part, result in zip(problems, results):
        close(result.plan, reference.plan_of(*part, 0.3), 1e-7)


def test_the_cache_is_bounded(monkeypatch):
    from heddle.ot import _cache

    heddle.ot.clear_cache()
    monkeypatch.setattr(_cache, "GRAPHS", 3)
    monkeypatch.setattr(_cache, "EXECUTABLES", 2)
    for n in range(3, 3 + 2 * _cache.GRAPHS_PER_PROGRAM):
        M, a, b = reference.problem(n, n + 1, seed=n)
        for _ in range(2):
            close(heddle.ot.sinkhorn(M, a, b, eps=0.3, tol=1e-9).plan, reference.plan_of(M, a, b, 0.3), 1e-7)
    assert all(len(free) <= _cache.GRAPHS_PER_PROGRAM for free in _cache._cache.free.values())
    for norm in ("l1", "l2", "max"):
        heddle.ot.sinkhorn(M, a, b, norm=norm)
    assert sum(map(len, _cache._cache.free.values())) == 3 and len(_cache._cache.executables) == 2
    # Programs whose graphs are in use have none to free.
    monkeypatch.setattr(_cache, "GRAPHS", 1)
    used = list(_cache._cache.free)[0]
    extents = _cache._cache.free[used][0].extents
    with _cache.graph_for(*used, extents) as first, _cache.graph_for(*used, extents) as second:
        assert first is not second and not _cache._cache.free[used]
        for norm in ("l2", "max"):
            close(heddle.ot.sinkhorn(M, a, b, eps=0.3, tol=1e-9, norm=norm).plan, reference.plan_of(M, a, b, 0.3), 1e-7)
    assert sum(map(len, _cache._cache.free.values())) == 1
    heddle.ot.clear_cache()
    assert not _cache._cache.free and not _cache._cache.executables


def test_a_forked_child_solves():
    M, a, b = reference.problem(9, 11)
    expected = heddle.ot.solve(M, a, b, 0.3).plan
    child = os.fork()
    if not child:
        try:
            os._exit(0 if (heddle.ot.solve(M, a, b, 0.3).plan == expected).all() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (heddle.ot.solve(M, a, b, 0.3).plan == expected).all()


def test_threads():
    problems = [reference.problem(20 + k % 3, 30, seed=k) for k in range(12)]
    plans = [reference.plan_of(*part, 0.3) for part in problems]
    failures = []

    def work(offset):
        try:
            for k in range(24):
                index = (k + offset) % len(problems)
                result = heddle.ot.solve(*problems[index], 0.3)
                close(result.plan, plans[index], 1e-7)
                close(result.marginal_a, problems[index][1], 1e-7)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_list_of_matrices_with_lists_of_weights():
    """A list of matrices is no vector of weights, whatever form the weights have."""
    costs = [numpy.random.default_rng(k).random((3, 4)) for k in range(2)]
    weights = [[0.25] * 4, [0.1, 0.2, 0.3, 0.4]]
    expected = heddle.ot.sinkhorn(costs, None, [numpy.array(each) for each in weights], eps=0.5)
    for given in (weights, [tuple(each) for each in weights], numpy.array(weights)):
        found = heddle.ot.sinkhorn(costs, None, given, eps=0.5)
        for one, other in zip(found.plan, expected.plan):
            assert numpy.array_equal(one, other)
