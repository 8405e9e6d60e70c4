"""Numbers of a solve at the ends of their ranges: for one problem, and one value for each problem of a batch."""

import math

import numpy
import ot_reference as reference
import pytest

import heddle
import heddle.ot
from heddle.ot import _inputs, _libraries, _scalars

INF, NAN = math.inf, math.nan
M, A, B = reference.problem(4, 6)
TYPES = pytest.mark.parametrize("dtype, low, high", [("f4", -126, 100), ("f8", -1022, 1000)])


def solve(dtype, name, value, **options):
    """One problem, and batches whose second problem has the value: a list, and an array."""
    options = {"eps": 0.5, "limit": 50, **options}
    yield "", lambda: heddle.ot.sinkhorn(M.astype(dtype), A, B, **{**options, name: value})
    batch = numpy.stack([M, M]).astype(dtype)
    for make in (list, numpy.array):
        yield r"\[1\]", lambda: heddle.ot.sinkhorn(batch, A, B, **{**options, name: make([0.5, value])})


def refused(dtype, name, value, message, **options):
    for where, call in solve(dtype, name, value, **options):
        with pytest.raises(heddle.BadInput, match=f"^{name}{where}: expected {message}, found "):
            call()


@TYPES
def test_eps(dtype, low, high):
    wider = r" \(compute='f64' has a wider range\)" if dtype == "f4" else ""
    for value in (2.0**low / 2, math.nextafter(2.0**high, INF), 2.0**high * 2, 1.7e308 if dtype == "f8" else 3.4e38):
        for name, options in (("eps", {}), ("eps0", {"anneal": "geometric"})):
            refused(dtype, name, value, rf"a number from 2\^{low} to 2\^{high}{wider}", **options)
    for value in (0, -1.0, NAN, INF):
        refused(dtype, "eps", value, "a finite positive number")
        refused(dtype, "eps0", value, "a finite positive number", anneal="geometric")
    for make in (list, numpy.array):
        with pytest.raises(heddle.BadInput, match=rf"^anneal: expected numbers of at most 2\^{high}, found .* at 1$"):
            heddle.ot.sinkhorn(M.astype(dtype), eps=0.5, anneal=make([1.0, 2.0**high * 2, 0.5]))
        found = heddle.ot.sinkhorn(M.astype(dtype), eps=0.5, anneal=make([1.0, 2.0**high, 0.5]))
        assert math.isfinite(found.value)


@TYPES
@pytest.mark.parametrize("options", [
    {}, {"convention": "geomloss", "regularizer": "entropy"}, {"convention": "ott", "rho_a": 1.0, "rho_b": 1e30},
    {"matrix": "log_kernel", "normalize": True},
])
def test_the_ends_of_eps(dtype, low, high, options):
    """With a larger eps, the value was NaN. The plan is that of independent points."""
    tiny = numpy.finfo(dtype).tiny
    for mass in (1.0, 1000.0):
        weights = numpy.array([tiny, 1.0, 0.0, 1.0]) * (mass / 2), numpy.array([1.0, tiny, 1.0, 1.0, 0.0, 1.0]) * (mass / 4)
        found = heddle.ot.sinkhorn(M.astype(dtype), *weights, eps=2.0**high, limit=200, **options)
        for each in (found.value, found.dual, found.value_linear, found.plan, found.marginal_a):
            assert numpy.isfinite(each).all()
        if "rho_a" not in options and "matrix" not in options:
            numpy.testing.assert_allclose(found.plan, numpy.outer(*weights) / mass, rtol=1e-5, atol=1e-30)
    if not options:
        found = heddle.ot.sinkhorn(M.astype(dtype), eps=2.0**low, limit=5, tol=-1)
        assert numpy.isfinite(found.value) and numpy.isfinite(found.plan).all()


@TYPES
def test_prices(dtype, low, high):
    for name in ("rho_a", "rho_b"):
        for value in (0, -1.0, NAN, -INF):
            refused(dtype, name, value, "a positive number, or None")
        small = (2.0**low / 2, 1e-40, 5e-324) if dtype == "f4" else ()
        for value in small:
            refused(dtype, name, value, r"a positive number of at least 2\^-126, or None")
        for value in (2.0**low, 1e-30, 1e30, 1e300, INF, *(() if small else (5e-324,))) if name == "rho_a" else ():
            for where, call in solve(dtype, name, value):
                assert numpy.isfinite(call().value).all(), (value, where)
        with pytest.raises(heddle.BadInput, match="^unbalanced: expected a positive number of at least 2.-126, or None"):
            heddle.ot.solve(M.astype("f4"), reg=0.5, unbalanced=1e-40)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_other_numbers(dtype):
    for value in (0, 2, -1, NAN):
        refused(dtype, "omega", value, "a number between 0 and 2")
    for value in (0, 1, -1, NAN):
        refused(dtype, "decay", value, "a number between 0 and 1", anneal="geometric")
    refused(dtype, "tol", NAN, "a number")
    # They underflow in float32, where they are not used: the program computes with them in float64.
    for name, values in (("omega", (1e-50, 2 - 1e-12)), ("decay", (1e-50, 1 - 1e-12)), ("tol", (1e-50, 1e300, -1, INF, -INF))):
        for value in values if dtype == "f4" else ():
            *_, (_, call) = solve(dtype, name, value, anneal="geometric", omega=0.9)
            assert numpy.isfinite(call().value).all(), (name, value)


def test_vectors_of_other_libraries():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    batch = torch.from_numpy(numpy.stack([M, M]).astype("f4"))
    for name, value in (("rho_a", 1e-40), ("eps", 3.4e38), ("eps", 1e-40)):
        vector = torch.tensor([0.5, value], dtype=torch.float64)
        with pytest.raises(heddle.BadInput, match=rf"^{name}\[1\]: expected a .*number .*2\^-126.*, found"):
            heddle.ot.sinkhorn(batch, A, B, **{name: vector})
    assert torch.isfinite(heddle.ot.sinkhorn(batch, A, B, rho_a=torch.tensor([0.5, 2.0**-126])).value).all()


def test_vectors_on_a_gpu(monkeypatch):
    """Their check would wait: a value out of range becomes NaN, of which the program reports a status."""
    problems = _inputs.Problems(numpy.stack([M] * 4).astype("f4"), None)
    problems.library.place = _libraries.Place("cuda", 0, 0)
    scalars = _scalars.Scalars(problems, "f32")
    given = numpy.array([1e-40, 0.5, 3.4e38, NAN])
    scalars.add("rho_a", given)
    scalars.add("eps", given)
    numpy.testing.assert_array_equal(scalars.values["rho_a"].array, [NAN, 0.5, 3.4e38, NAN])
    numpy.testing.assert_array_equal(scalars.values["eps"].array, [NAN, 0.5, NAN, NAN])
    assert given[0] == 1e-40 and scalars.values["eps"].array.ctypes.data == scalars.values["eps"].members.addresses[0]
    # As the program sees it.
    everything = (_scalars.Range(-INF, INF, "a number"),)
    monkeypatch.setattr(_scalars, "ranges", lambda name, compute: everything)
    monkeypatch.setattr(_libraries.Library, "on_host", lambda self, given, array: None)
    batch = numpy.stack([M, M]).astype("f4")
    for name, message in (("rho_a", "rho_a, rho_b: expected positive numbers, of at least 2.-126 in float32"),
                          ("rho_b", "rho_a, rho_b: expected positive numbers, of at least 2.-126 in float32"),
                          ("eps", "eps: expected a number from 2.-126 to 2.100, or from 2.-1022 to 2.1000 in float64")):
        with pytest.raises(heddle.BadInput, match=f"^problem 1: {message}"):
            heddle.ot.sinkhorn(batch, A, B, **{name: numpy.array([0.5, NAN])})
