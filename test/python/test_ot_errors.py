"""Mistakes in arguments of heddle.ot are exceptions that name the argument."""

import copy
import pickle
import sys
import types

import numpy
import ot_reference as reference
import pytest
from exporter import Exporter

import heddle
import heddle.ot
from heddle.ot import _mistakes

M, A, B = reference.problem(4, 6)


def changed(array, index, value):
    copy = array.copy()
    copy[index] = value
    return copy


@pytest.mark.parametrize("arguments,options,message", [
    ((3.5,), {}, "^M: expected an array .*, found float"),
    (("cost",), {}, "^M: expected an array .*, found str"),
    ((None,), {}, "^M: expected an array .*, found NoneType"),
    ((A,), {}, r"^M: expected a matrix or an array of rank 3, found shape \(4,\)"),
    ((M[None, None],), {}, "^M: expected a matrix or an array of rank 3"),
    (([M, A],), {}, r"^M\[1\]: expected a matrix, found shape \(4,\)"),
    (([M, M.astype("f4")],), {}, r"^M\[1\]: expected dtype f64, as in M\[0\], found f32"),
    ((M > 0.5,), {}, "^M: expected dtype f64, f32, f16, bf16, i8, i16, i32, i64, found i1$"),
    ((M.astype("c8"),), {}, "^M: expected dtype f64, f32, f16, bf16, i8, i16, i32, i64, found complex64$"),
    (([M, M.astype("u1")],), {}, r"^M\[1\]: expected dtype f64, f32, f16, bf16, i8, i16, i32, i64, found uint8$"),
    ((M[:0],), {}, "^M: expected at least one row, found 0 rows and 6 columns"),
    (([M, M[:, :0]],), {}, r"^M\[1\]: expected at least one column, found 4 rows and 0 columns"),
    (([[1, 2], [3]],), {}, "^M: expected an array or a list of arrays"),
    ((M, B), {}, r"^a: expected 4 elements, as M has, found shape \(6,\)"),
    ((M, A, A), {}, r"^b: expected 6 elements, as M has, found shape \(4,\)"),
    ((M, A[:, None]), {}, r"^a: expected a vector, found shape \(4, 1\)"),
    ((M, "abcd"), {}, "^a: expected an array"),
    ((M, A > 0), {}, "^a: expected dtype f64, f32, f16, bf16, i8, i16, i32, i64, found i1$"),
    ((M, A.astype("c16")), {}, "^a: expected dtype f64, f32, f16, bf16, i8, i16, i32, i64, found complex128$"),
    ((M, A, B, 0), {}, "^reg: expected a finite positive number, found 0"),
    ((M, A, B, -1.0), {}, "^reg: expected a finite positive number, found -1"),
    ((M, A, B, -1e6), {}, "^reg: expected a finite positive number, found -1000000$"),
    ((M, A, B, -1234567.5), {}, "^reg: expected a finite positive number, found -1234567.5$"),
    ((M, A, B, numpy.nan), {}, "^reg: expected a finite positive number, found nan"),
    ((M, A, B, numpy.inf), {}, "^reg: expected a finite positive number, found inf"),
    ((M, A, B, "small"), {}, "^reg: expected a finite positive number, found str"),
    ((M, A, B), {}, "^reg: expected a finite positive number, found None: exact transport is not supported; a small reg"),
    ((M, A, B, 1), {"reg_type": "L2"}, "^reg_type: expected 'KL' or 'entropy', found 'L2'"),
    ((M, A, B, 1), {"unbalanced": 1.0, "unbalanced_type": "TV"}, "^unbalanced_type: expected 'KL', found 'TV'"),
    ((M, A, B, 1), {"unbalanced": 0}, "^unbalanced: expected a positive number, a pair of them, or None, found 0"),
    ((M, A, B, 1), {"unbalanced": (1, -1)}, "^unbalanced: expected .*, found -1"),
    ((M, A, B, 1), {"unbalanced": (1, 2, 3)}, "^unbalanced: expected .*, found 3 values"),
    ((M, A, B, 1), {"unbalanced": "a"}, "^unbalanced: expected .*, found str"),
    ((M, A, B, [1.0]), {}, "^reg: expected a finite positive number, found one value for each problem, but M is one"),
    *(((M, A, B, 1), {"n_threads": value}, rf"^n_threads: expected a positive integer, 'max' or None, found {found}$")
      for value, found in ((0, 0), (-1, -1), (1.5, 1.5), ("two", "'two'"), (True, True), ([1], r"\[1\]"))),
    *(((M, A, B, 1), {"verbose": value}, f"^verbose: expected True or False, found {found}$")
      for value, found in (("yes", "'yes'"), (2, 2), (None, None))),
    ((M, A, B, 1), {"max_iter": -1}, "^max_iter: expected a number of iterations from 0 to 2147483647, found -1"),
    ((M, A, B, 1), {"max_iter": 2.5}, "^max_iter: expected a number of iterations"),
    ((M, A, B, 1), {"tol": numpy.nan}, "^tol: expected a number, found nan"),
    ((M, A, B, 1), {"c": M}, "^c: expected None"),
    ((M, A, B, 1, "KL"), {}, "^c: expected None, found 'KL': give reg_type='KL' by its name"),
    ((M, A, B, 1), {"plan_init": M}, "^plan_init: expected None"),
    ((M, A, B, 1), {"method": "greenkhorn"}, "^method: expected None"),
    ((M, A, B, 1), {"grad": "autodiff"}, "^grad: expected 'envelope' or 'detach', found 'autodiff'"),
    ((M, A, B, 1), {"potentials_init": A}, "^potentials_init: expected a pair of initial potentials, found ndarray"),
    ((M, A, B, 1), {"potentials_init": (A,)}, "^potentials_init: expected a pair of .*, found 1 elements"),
    ((M, A, B, 1), {"potentials_init": (B, B)}, r"^potentials_init\[0\]: expected 4 elements, as M has"),
    ((M, A, B, 1), {"omega": 2}, "^omega: expected a number between 0 and 2, found 2"),
    ((M, A, B, 1), {"anneal": "linear"}, "^anneal: expected None, 'geometric' or an array, found 'linear'"),
    ((M, A, B, 1), {"anneal": "geometric", "decay": 1}, "^decay: expected a number between 0 and 1, found 1"),
    ((M, A, B, 1), {"anneal": "geometric", "eps0": 0}, "^eps0: expected a finite positive number, found 0"),
    ((M, A, B, 1), {"anneal": M}, "^anneal: expected a vector"),
    ((M, A, B, 1), {"matrix": "log_kernel", "anneal": "geometric"}, "^anneal: expected None with matrix='log_kernel'"),
    ((M, A, B, 1), {"layout": "F"}, "^layout: expected None, 'row' or 'column', found 'F'"),
    ((M, A, B, 1), {"convention": "pot"}, "^convention: expected 'scaling' or 'ott' or 'geomloss', found 'pot'"),
    ((M, A, B, 1), {"weights": "square"}, "^weights: expected 'plain' or 'log', found 'square'"),
    ((M, A, B, 1), {"compute": "f16"}, "^compute: expected 'f64', 'f32' or None, found 'f16'"),
    ((M, A, B, 1), {"outputs": "plan"}, "^outputs: expected some of 'plan', 'cost'"),
    ((M, A, B, 1), {"outputs": ("plans",)}, "^outputs: expected some of 'plan', 'cost'"),
    ((M, A, B, 1), {"history": -1}, "^history: expected a number of iterations from 0 to .*, found -1"),
    # Mistakes in values: the cpu target reports them at once.
    ((M, changed(A, 1, -1), B, 1), {}, "^a: expected finite weights that are not negative, found -1 at 1$"),
    ((M, changed(A, 1, -1e6), B, 1), {}, "^a: expected finite weights that are not negative, found -1000000 at 1$"),
    ((M, changed(A, 1, numpy.nan), B, 1), {}, "^a: expected finite weights .*, found nan at 1$"),
    ((M, A, changed(B, 1, numpy.inf), 1), {}, "^b: expected finite weights .*, found inf at 1$"),
    ((M, 2 * A, B, 1), {}, r"^a and b: expected equal sums .*, found (2\.0|1\.9999999\d*) and (1\.0|0\.9999999\d*)$"),
    ((M, 0 * A, B, 1), {"normalize": True}, "^a and b: expected equal sums .*, found 0.0 and "),
    ((M, numpy.log(2 * A), numpy.log(B), 1), {"weights": "log"}, r"^a and b: .*, found (2\.0|1\.99)\d* and (1\.0|0\.99)"),
    ((M.astype("f4"), 3 * A, None, 1), {}, r"^a and b: expected equal sums .*, found (3\.0|2\.99)\d* and (1\.0|0\.99)"),
    (([M, M], [A, 2 * A], B, 1), {}, r"^problem 1: a and b: .*, found (2\.0|1\.99)\d* and (1\.0|0\.99)"),
    ((changed(M, (1, 2), numpy.nan), A, B, 1), {}, "^M: expected costs that are not NaN or -inf.*, found nan in row 1, column 2$"),
    ((changed(M, (1, 2), -numpy.inf), A, B, 1), {}, "^M: expected costs .*, found -inf in row 1, column 2$"),
    ((changed(changed(M, (3, 0), numpy.nan), (2, 5), numpy.nan), A, B, 1), {}, "^M: .*, found nan in row 2, column 5$"),
    ((changed(M, (1, 2), -1e300), A, B, 1e-200), {}, r"^M: .* divided by .*, found -1e\+300 in row 1, column 2$"),
    ((changed(M.astype("f4"), (0, 3), -numpy.inf), None, None, 1), {}, "^M: .*, found -inf in row 0, column 3$"),
    ((changed(M, (1, 2), numpy.nan).T, A, B, 1), {"layout": "column"}, "^M: .*, found nan in row 1, column 2$"),
    ((numpy.asfortranarray(changed(M, (1, 2), numpy.nan)), A, B, 1), {}, "^M: .*, found nan in row 1, column 2$"),
    ((changed(-M, (1, 2), numpy.inf), A, B, 1), {"matrix": "log_kernel"},
     r"^M: expected a log kernel that is not NaN or \+inf.*, found inf in row 1, column 2$"),
    ((numpy.stack([M, changed(M, (3, 4), numpy.nan)]), None, None, [1.0, 2.0]), {}, "^problem 1: M: .*, found nan in row 3, column 4$"),
    (([M, changed(M, (1, 2), -1e300)], None, None, [1.0, 1e-200]), {}, r"^problem 1: M: .*, found -1e\+300 in row 1, column 2$"),
    ((M, A, B, 1), {"potentials_init": (changed(A, 1, numpy.nan), B)}, r"^potentials_init\[0\]: expected initial potentials that are not NaN, found nan at 1$"),
    (([M, changed(M, (0, 0), numpy.nan)], None, None, 1), {}, "^problem 1: M: expected costs .*, found nan in row 0, column 0$"),
])
def test_mistakes(arguments, options, message):
    if len(arguments) < 4 and not message.startswith("^reg:"):
        options = {"reg": 1, **options}
    with pytest.raises(heddle.BadInput, match=message):
        heddle.ot.solve(*arguments, **options)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_wrong_cost_beyond_the_first_block(monkeypatch, rows):
    monkeypatch.setattr(_mistakes, "_BLOCK", rows * M.shape[1] + 1)
    with pytest.raises(heddle.BadInput, match="^M: .*, found nan in row 3, column 1$"):
        heddle.ot.solve(changed(M, (3, 1), numpy.nan), A, B, 1.0)


def test_a_solve_that_succeeds_searches_nothing(monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(_mistakes, "_found_cost", fail)
    heddle.ot.solve(M, A, B, 1.0).check()


def test_costs_that_were_written_after_a_solve_are_not_searched():
    """As on a GPU, where check() finds the mistake later."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    costs = torch.from_numpy(M.copy())
    result = heddle.ot.solve(costs, A, B, 1.0)
    result._host["status"] = numpy.array(64, "i4")
    with pytest.raises(heddle.BadInput, match="potentials that are not NaN$"):  # all of them are right
        result.check()
    costs[1, 2] = numpy.nan
    with pytest.raises(heddle.BadInput, match="potentials that are not NaN$"):
        result.check()


@pytest.mark.parametrize("bit, message", [(8, "reg: expected a number from"), (16, "unbalanced: expected positive numbers")])
def test_a_mistake_that_check_finds_has_the_names_of_solve(bit, message):
    for costs, where in ((M, ""), (M[None], "problem 0: ")):
        result = heddle.ot.solve(costs, None, None, 1.0)
        result._host["status"] = numpy.full(costs.shape[:-2], bit, "i4")
        with pytest.raises(heddle.BadInput, match=f"^{where}{message}"):
            result.check()


@pytest.mark.parametrize("value", [1, 4, numpy.int64(2), "max", None])
def test_numbers_of_threads_that_pot_takes(value):
    heddle.ot.solve(M, A, B, 1.0, n_threads=value, verbose=True).check()


def test_mistakes_in_batches():
    batch = numpy.stack([M] * 3)
    for arguments, message in (
        ((batch, 1.0, numpy.stack([A] * 2)), r"^a: expected a vector, or 3 vectors \(an array of rank 2\), found shape"),
        (([M] * 3, 1.0, [A] * 2), "^a: expected 3 arrays, one for each problem, found 2"),
        (([M, M[:2]], 1.0, [A, A]), r"^a\[1\]: expected 2 elements, as M has, found shape \(4,\)"),
        ((batch, [1.0, -1.0, 1.0]), r"^reg\[1\]: expected a finite positive number, found -1"),
        ((batch, [1.0, 2.0]), "^reg: expected a number, or 3 values"),
    ):
        with pytest.raises(heddle.BadInput, match=message):
            heddle.ot.solve_batch(*arguments)
    with pytest.raises(heddle.BadInput, match="^method: expected 'auto', 'log_sinkhorn' or 'sinkhorn', found 'proximal'"):
        heddle.ot.solve_batch(batch, 1.0, method="proximal")


@pytest.mark.parametrize("anneal", [None, "geometric", [1.0]])
def test_annealing_is_checked_even_without_use(anneal):
    for name, value, message in (
        ("eps0", "x", "^eps0: expected a finite positive number, found str"),
        ("eps0", 0, "^eps0: expected a finite positive number, found 0"),
        ("decay", 1, "^decay: expected a number between 0 and 1, found 1"),
    ):
        with pytest.raises(heddle.BadInput, match=message):
            heddle.ot.solve(M, A, B, 1.0, anneal=anneal, **{name: value})


def test_initial_potentials_that_are_nan():
    wrong = changed(A, 2, numpy.nan)
    for problems, init, message in (
        (M, (A.tolist(), B), None),
        (M, (wrong.tolist(), B), r"^potentials_init\[0\]: expected initial potentials that are not NaN, found nan at 2$"),
        ([M, M], ([A, wrong], B), r"^potentials_init\[0\]\[1\]: .*, found nan at 2$"),
        ([M, M], (A, numpy.stack([B, changed(B, 1, numpy.nan)])), r"^potentials_init\[1\]: .*, found nan at 1, 1$"),
    ):
        if message is None:
            assert heddle.ot.solve(problems, reg=1.0, potentials_init=init).converged
            continue
        with pytest.raises(heddle.BadInput, match=message):
            heddle.ot.solve(problems, reg=1.0, potentials_init=init)
    with pytest.raises(heddle.BadInput, match=r"^init\[1\]: .*, found nan at 0$"):
        heddle.ot.sinkhorn(M, init=(A, changed(B, 0, numpy.nan)))


@pytest.mark.parametrize("convention", ["scaling", "ott", "geomloss"])
def test_initial_potentials_that_are_infinite(convention):
    """As docs/sinkhorn.md says."""
    status = heddle.ot.Status
    zeros, infinity = numpy.zeros_like(B), numpy.full_like(B, numpy.inf)
    for start, expected in (
        (infinity, status.INFEASIBLE),
        (-infinity, status.INFEASIBLE),
        (changed(zeros, 1, numpy.inf), status.INFEASIBLE),
        (changed(zeros, 1, -numpy.inf), status.CONVERGED),
    ):
        rows = numpy.full_like(A, numpy.inf)  # not read
        for prices in ({}, {"rho_a": 1.0}, {"rho_b": 1.0}):
            found = heddle.ot.sinkhorn(M, A, B, eps=1.0, init=(rows, start), convention=convention, **prices)
            assert found.status is expected, (start, prices)
        if expected is status.INFEASIBLE:
            with pytest.raises(heddle.ot.NotSolved, match=r"^infeasible: .* \(or initial potentials are infinite\)$"):
                found.check()
        relaxed = heddle.ot.sinkhorn(M, A, B, eps=1.0, rho_a=1.0, rho_b=1.0, init=(rows, start), convention=convention)
        assert relaxed.status is status.CONVERGED


def test_arguments_that_solve_names_otherwise():
    for name in ("eps", "limit", "rho_a"):
        expected = rf"solve\(\) has no argument '{name}'; did you mean '\w+'\? Its arguments are M, a"
        with pytest.raises(TypeError, match=expected):
            heddle.ot.solve(M, A, B, 1, **{name: 1})


@pytest.mark.parametrize("as_lists", [False, True])
def test_arguments_in_the_order_of_pot(as_lists):
    """POT's older functions have the order a, b, M, reg."""
    a, b, costs = (array.tolist() if as_lists else array for array in (A, B, M))
    order = "the order is M, a, b, not a, b, M as in ot.sinkhorn of POT$"
    for function in (heddle.ot.sinkhorn, heddle.ot.solve):
        with pytest.raises(heddle.BadInput if function is heddle.ot.solve else TypeError, match=order):
            function(a, b, costs, 1.0)
    with pytest.raises(heddle.BadInput, match=order):
        heddle.ot.sinkhorn(a, b, costs, eps=1.0)
    with pytest.raises(TypeError, match=r"takes M, a, b by position and all others by name, found 4 arguments by position$"):
        heddle.ot.sinkhorn(costs, a, b, 1.0)


def test_functions_that_do_not_exist():
    with pytest.raises(AttributeError, match="'heddle.ot' has no attribute 'emd'; it has .* solve, solve_batch"):
        heddle.ot.emd
    assert not hasattr(heddle.ot, "_private")


@pytest.mark.parametrize("function,name,meant", [
    ("solve", "maxiter", "'max_iter'"),
    ("solve", "eps", "'reg'"),
    ("solve", "rho_a", "'unbalanced'"),
    ("solve", "stopThr", "'tol'"),
    ("solve", "potential_init", "'potentials_init'"),
    ("solve", "annealing", "'anneal'"),
    ("solve_batch", "numItermax", "'max_iter'"),
    ("sinkhorn", "reg", "'eps'"),
    ("sinkhorn", "maxiter", "'limit'"),
    ("sinkhorn", "unbalanced", "'rho_a' and 'rho_b'"),
    ("sinkhorn", "Tol", "'tol'"),
])
def test_names_that_other_libraries_use(function, name, meant):
    given = {} if function == "sinkhorn" else {"reg": 1}
    with pytest.raises(TypeError, match=f"has no argument '{name}'; did you mean {meant}"):
        getattr(heddle.ot, function)(M, **given, **{name: 1})
    with pytest.raises(TypeError, match="has no argument 'zzz'. Its arguments are M, (a, b|reg, a), "):
        getattr(heddle.ot, function)(M, **given, zzz=1)


def test_the_limit():
    result = heddle.ot.solve(M, A, B, 0.01, max_iter=3)
    assert result.status is heddle.ot.Status.LIMIT and result.n_iter == 3
    with pytest.raises(heddle.ot.NotSolved, match="^reached the limit of 3 iterations with error .*, tol is 1e-09: raise"):
        result.check()
    many = heddle.ot.sinkhorn(numpy.stack([M] * 2), A, B, eps=0.01, tol=[1.0, 1e-9], limit=3)
    with pytest.raises(heddle.ot.NotSolved, match="^problem 1: reached the limit of 3 iterations .*, tol is 1e-09"):
        many.check()
    assert many.converged.tolist() == [True, False]


@pytest.mark.parametrize("options", [{"norm": "l1"}, {"norm": "l2"}, {"norm": "max"}, {"order": "u", "norm": "max"}])
def test_sums_that_differ_by_more_than_tol(options):
    """Such as weights in float32 beside costs in float64: no number of iterations can make up for the difference."""
    a, b = A.astype("f4"), B.astype("f4")
    difference = difference_of(a, b)
    assert 0 < difference < 1e-6
    tol = difference / 12
    result = heddle.ot.solve(M, a, b, 1.0, tol=tol, max_iter=200, **options)
    assert result.status is heddle.ot.Status.LIMIT
    with pytest.raises(heddle.ot.NotSolved, match=r"reached the limit of 200 .*: the sums of a and b are [\d.]+ and [\d.]+, so "
                                                  r"that the error cannot be less than .*: use normalize=True") as caught:
        result.check()
    least = float(str(caught.value).partition("less than ")[2].partition(":")[0])
    assert tol < least <= 1.01 * float(result.error)
    heddle.ot.solve(M, a, b, 1.0, tol=tol, max_iter=200, normalize=True, **options).check()


def test_the_limit_is_the_reason_although_sums_differ():
    """With a tolerance that the difference allows, the remedy is another one; as with sides that are relaxed."""
    a, b = A.astype("f4"), B.astype("f4")
    for options in ({"tol": 1e-5}, {"tol": 1e-12, "normalize": True}, {"tol": 1e-12, "unbalanced": 1.0}):
        with pytest.raises(heddle.ot.NotSolved, match="raise the limit"):
            heddle.ot.solve(M, a, b, 0.01, max_iter=3, **options).check()
    batch = heddle.ot.solve([M, M.T.copy()], [A, b], [B, a], 1.0, tol=difference_of(a, b) / 10, max_iter=200)
    with pytest.raises(heddle.ot.NotSolved, match="^problem 1: .*the sums of a and b are"):
        batch.check()


def difference_of(a, b):
    return abs(a.astype("f8").sum() - b.astype("f8").sum())


@pytest.mark.parametrize("name, hint", [
    ("lazy_plan", "use product\\(points\\), which multiplies by the plan without storing it"),
    ("matrix", "use plan"), ("f", "use potential_a"), ("n_iters", "use n_iter"), ("primal_cost", "use value_linear"),
    ("nothing", ""),
])
def test_attributes_of_other_libraries(name, hint):
    result = heddle.ot.solve(M, A, B, 1.0)
    with pytest.raises(AttributeError, match=f"^'OTResult' object has no attribute '{name}'" + (hint and f": {hint}")):
        getattr(result, name)
    assert not hasattr(result, name)


def test_names_of_the_module():
    assert dir(heddle.ot) == sorted(heddle.ot.__all__)


def test_tracers_of_jax(monkeypatch):
    """Under jit, grad and vmap, JAX passes objects without values."""

    class Array:
        shape, dtype = (4, 6), "float64"

    class Tracer(Array):
        def devices(self):
            raise RuntimeError("Abstract tracer value encountered where concrete value is expected")

        __array__ = devices

    jax = types.ModuleType("jax")
    jax.Array, jax.core = Array, types.SimpleNamespace(Tracer=Tracer)
    monkeypatch.setitem(sys.modules, "jax", jax)
    expected = "expected an array with values, found a tracer of JAX: heddle does not support jax.jit, jax.grad and"
    for arguments, name in (((Tracer(), A, B), "M"), ((M, Tracer(), B), "a"), ((M, A, Tracer()), "b"), (([Tracer()],), r"M\[0\]")):
        with pytest.raises(heddle.BadInput, match=f"^{name}: {expected}"):
            heddle.ot.solve(*arguments, reg=1.0)
    with pytest.raises(heddle.BadInput, match=f"^{expected}"):
        heddle.arrays.view(Tracer())


def test_a_failed_solve_leaves_the_next_one_as_it_was():
    expected = heddle.ot.solve(M, A, B, 0.3).plan
    for _ in range(3):
        with pytest.raises(heddle.BadInput):
            heddle.ot.solve(changed(M, (0, 0), numpy.nan), A, B, 0.3)
        assert (heddle.ot.solve(M, A, B, 0.3).plan == expected).all()


def test_a_result_cannot_be_copied_or_pickled():
    result = heddle.ot.solve(numpy.ones((2, 3)), reg=0.5)
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            copied(result)


def test_a_step_size_of_one_that_needs_a_gradient():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    for omega in (1.0, 1.5):
        with pytest.raises(heddle.BadInput, match="^omega: expected a number, found a tensor that needs a gradient"):
            heddle.ot.sinkhorn(torch.from_numpy(M), omega=torch.tensor(omega, requires_grad=True))


def test_points_that_free_others():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    result = heddle.ot.sinkhorn([torch.from_numpy(M)] * 2)

    for transport in (result.product, result.projection):
        first = torch.ones(6, 2, dtype=torch.float64)
        with pytest.raises(heddle.BadInput, match="^points"):
            transport([first, Exporter(torch.ones_like(first), lambda: first.untyped_storage().resize_(0))])
