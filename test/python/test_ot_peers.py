"""Rows of the tables of docs/ot.md for OTT and GeomLoss, where they are installed (pip install ott-jax geomloss)."""

import numpy
import ot_reference as reference
import pytest

import heddle.ot


@pytest.fixture
def ott():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    pytest.importorskip("ott", reason="OTT is not installed (pip install ott-jax)")
    jax.config.update("jax_enable_x64", True)

    def solve(M, a, b, eps, tau_a=1.0, tau_b=1.0, **options):
        from ott.geometry import geometry
        from ott.problems.linear import linear_problem
        from ott.solvers.linear import sinkhorn

        M, a, b = (jax.numpy.asarray(array) for array in (M, a, b))
        problem = linear_problem.LinearProblem(geometry.Geometry(M, epsilon=eps), a, b, tau_a=tau_a, tau_b=tau_b)
        return sinkhorn.Sinkhorn(**options)(problem)

    return solve


def near(found, expected, tolerance=1e-8):
    numpy.testing.assert_allclose(numpy.asarray(found), numpy.asarray(expected), atol=tolerance, rtol=tolerance)


def test_ott_balanced(ott):
    M, a, b = reference.problem(25, 40)
    theirs = ott(M, a, b, 0.1, threshold=1e-11, max_iterations=5000)
    ours = heddle.ot.sinkhorn(M, a, b, eps=0.1, convention="ott", order="v", tol=1e-12, limit=5000)
    near(ours.plan, theirs.matrix)
    near(ours.value, theirs.reg_ot_cost)
    near(ours.value, theirs.kl_reg_cost)
    near(ours.value_linear, theirs.primal_cost)
    entropic = heddle.ot.solve(M, a, b, 0.1, reg_type="entropy")
    near(entropic.value, theirs.ent_reg_cost)
    near(entropic.value, theirs.dual_cost)


def test_ott_has_the_same_iterates(ott):
    M, a, b = reference.problem(25, 40)
    for count in (20, 10):
        theirs = ott(M, a, b, 0.1, threshold=-1, min_iterations=count, max_iterations=count)
        ours = heddle.ot.sinkhorn(M, a, b, eps=0.1, convention="ott", order="v", tol=-1, limit=count)
        near(ours.potential_a, theirs.f, 1e-12)
        near(ours.potential_b, theirs.g, 1e-12)
    # Its error is ours, one iteration later.
    ours = heddle.ot.sinkhorn(M, a, b, eps=0.1, convention="ott", order="v", tol=-1, limit=11, history=11)
    near(ours.errors[10], theirs.errors[0], 1e-12)


@pytest.mark.parametrize("tau_a,tau_b", [(0.8, 0.9), (0.8, 1.0), (1.0, 0.5)])
def test_ott_unbalanced(ott, tau_a, tau_b):
    """OTT's updates are those of the entropy, with rho = eps tau / (1 - tau)."""
    M, a, b = reference.problem(25, 40)
    b, eps = 1.5 * b, 0.1
    theirs = ott(M, a, b, eps, tau_a, tau_b, threshold=1e-12, max_iterations=5000)
    rho_a, rho_b = (None if tau == 1 else eps * tau / (1 - tau) for tau in (tau_a, tau_b))
    ours = heddle.ot.sinkhorn(M, a, b, eps=eps, rho_a=rho_a, rho_b=rho_b, regularizer="entropy", convention="ott",
                              tol=1e-13, limit=5000)
    near(ours.plan, theirs.matrix)
    near(ours.potential_a, theirs.f)
    near(ours.potential_b, theirs.g)
    near(ours.value_linear, theirs.primal_cost)


@pytest.mark.parametrize("mass,unbalanced", [(1.0, None), (1.0, 1.0), (1.5, 0.3)])
def test_geomloss(mass, unbalanced):
    """GeomLoss's loop with annealing is a few 1e-5 from the solution; its value is closer."""
    pytest.importorskip("geomloss", reason="GeomLoss is not installed (pip install geomloss)")
    geomloss = pytest.importorskip("geomloss.ot", reason="GeomLoss is older than 0.3")
    M, a, b = reference.problem(25, 40)
    b = mass * b
    theirs = geomloss.solve(M, a=a, b=b, reg=0.1, unbalanced=unbalanced, max_iter=3000)
    ours = heddle.ot.solve(M, a, b, reg=0.1, unbalanced=unbalanced, convention="geomloss", tol=1e-12)
    near(ours.plan, theirs.plan, 1e-4)
    near(ours.value, theirs.value, 1e-4)
    near(ours.marginal_a, theirs.marginal_a, 1e-4)
    f, g = theirs.potential_a, theirs.potential_b
    # If both sums must match, potentials are determined up to a constant.
    shift = (f - ours.potential_a).mean() if unbalanced is None else 0
    near(ours.potential_a + shift, f, 2e-4)
    near(ours.potential_b - shift, g, 2e-4)


def test_jax_arrays():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    M, a, b = reference.problem(12, 9)
    result = heddle.ot.solve(jax.numpy.asarray(M), jax.numpy.asarray(a), None, 0.2)
    expected = reference.plan_of(M, a, numpy.full(9, 1 / 9), 0.2)
    for name in ("plan", "potential_a", "value", "marginal_b", "error"):
        assert isinstance(getattr(result, name), jax.Array), name
    near(result.plan, expected)
    batch = heddle.ot.solve([jax.numpy.asarray(M), jax.numpy.asarray(M[:5].copy())], reg=0.2, tol=1e-9)
    assert batch.plan[1].shape == (5, 9) and isinstance(batch.plan[0], jax.Array)
    M, a = jax.numpy.asarray(M), jax.numpy.asarray(a)
    near(heddle.ot.solve(M, a, None, 0.2, potentials_init=result.potentials).plan, expected)
