"""Results of heddle.ot that are asked for after their inputs were freed, resized or changed."""

import array as packed
import fractions
import gc
import sys
import types

import numpy
import ot_reference as reference
import pytest
from exporter import Exporter

import heddle
import heddle.ot

LATE = ("value", "value_linear", "dual", "plan", "marginal_a", "argmax")


def torch_problem(n=40, m=30):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    # Copies, because the storage of an array of NumPy cannot be resized.
    return tuple(torch.from_numpy(array).clone() for array in reference.problem(n, m))


def freed(tensor):
    tensor.untyped_storage().resize_(0)


def shrunk(tensor):
    tensor.untyped_storage().resize_(tensor.untyped_storage().nbytes() - 8)


_replaced = []


def replaced(tensor):
    _replaced.append(tensor.data)  # so that a second clone is not where the first memory was
    tensor.data = tensor.data.clone()


def of_another_shape(tensor):
    tensor.data = tensor.data.new_zeros(3)


@pytest.mark.parametrize("change", [freed, shrunk, replaced, of_another_shape])
@pytest.mark.parametrize("name", ["M", "a", "b"])
def test_tensors_whose_memory_has_gone(name, change):
    given = dict(zip("Mab", torch_problem()))
    result = heddle.ot.solve(*given.values(), 0.1)
    cost = float(result.value_linear)
    change(given[name])
    message = f"^{name}: expected the values of the solve, found an array .* memory was resized or replaced: ask for"
    for late in ("plan", "argmax"):
        with pytest.raises(heddle.BadInput, match=message):
            getattr(result, late)
    for transport in (result.product, result.projection):
        with pytest.raises(heddle.BadInput, match=message):
            transport([[1.0, 2.0]] * 30)
    assert float(result.value_linear) == cost, "known results need no costs"
    assert result.check() is result and len(result.potential_a) == 40


@pytest.mark.parametrize("change", [freed, shrunk, replaced, of_another_shape])
@pytest.mark.parametrize("name", ["M", "a", "b"])
def test_backward_after_the_memory_has_gone(name, change):
    given = dict(zip("Mab", torch_problem()))
    given[name].requires_grad_(True)
    result = heddle.ot.solve(*given.values(), 0.1)
    value = result.value
    change(given[name])
    with pytest.raises(heddle.BadInput, match=f"^{name}: expected the values of the solve"):
        value.backward()
    assert given[name].grad is None


def test_lists_batches_and_one_value_for_each_problem():
    M, a, b = torch_problem(6, 5)
    torch = sys.modules["torch"]
    costs, weights = [M.clone(), M.clone() + 1], [a.clone(), a.clone()]
    result = heddle.ot.solve(costs, weights, b, 0.1)
    freed(costs[1])
    with pytest.raises(heddle.BadInput, match=r"^M\[1\]: expected the values"):
        result.plan
    result = heddle.ot.solve([M, M + 1], weights, b, 0.1)
    freed(weights[1])
    with pytest.raises(heddle.BadInput, match=r"^a\[1\]: expected the values"):
        result.plan
    # The values of scalar arguments are copies.
    batch = torch.stack([M, M + 1])
    for options in ({}, {"reg_type": "entropy"}, {"unbalanced": 1.0}):
        regs = torch.tensor([0.1, 0.2], dtype=torch.float64)
        result = heddle.ot.solve(batch, a, b, regs, **options)
        expected = heddle.ot.solve(batch, a, b, regs, **options).value
        regs.fill_(1e9)
        freed(regs)
        numpy.testing.assert_allclose(result.value, expected)
    tol = torch.tensor([1e-30, 1e-30], dtype=torch.float64)
    result = heddle.ot.solve(batch, a, b, 0.01, tol=tol, max_iter=2)
    freed(tol)
    with pytest.raises(heddle.ot.NotSolved, match="tol is 1e-30"):
        result.check()


def test_costs_and_weights_that_are_copied():
    """The solve reads copies, but the gradients belong to what the caller gave."""
    M, a, b = torch_problem()
    result = heddle.ot.solve(M, a.float(), b, 0.1)
    assert result.plan is not None
    every_second = M.repeat(1, 2)[::2, ::3]
    result = heddle.ot.solve(every_second, reg=0.1)
    freed(every_second)
    with pytest.raises(heddle.BadInput, match="^M: expected the values of the solve"):
        result.plan


@pytest.mark.parametrize("name", ["M", "a", "b"])
@pytest.mark.parametrize("size", [1, 100_000])
@pytest.mark.parametrize("view", [False, True])
def test_arrays_of_numpy_that_were_resized(name, size, view):
    given = {key: array.copy() for key, array in zip("Mab", reference.problem(40, 30))}
    base = given[name]
    if view:
        given[name] = base[...]
    result = heddle.ot.solve(*given.values(), 0.1)
    base.resize((size,), refcheck=False)
    for late in LATE:
        with pytest.raises(heddle.BadInput, match=f"^{name}: expected the values of the solve"):
            getattr(result, late)


def test_arrays_of_numpy_of_another_shape():
    M = numpy.random.default_rng(0).random((4, 6))
    result = heddle.ot.solve(M, reg=0.1)
    M.shape = 6, 4
    with pytest.raises(heddle.BadInput, match="^M: expected the values of the solve"):
        result.plan


@pytest.mark.parametrize("late,name", [("plan", "u"), ("argmax", "v"), ("value", "u")])
def test_potentials_that_were_changed(late, name):
    M, a, b = torch_problem()
    for change in (freed, lambda potential: potential.zero_()):
        result = heddle.ot.solve(M, a, b, 0.1)
        change(result.potential_a if name == "u" else result.potential_b)
        with pytest.raises(heddle.BadInput, match=f"^result: expected '{name}' of the solve, found that it was changed"):
            getattr(result, late)


def test_results_that_the_caller_has_not_seen_need_no_record(monkeypatch):
    """A record costs a microsecond for each array of a solve."""
    from heddle import _held

    made, make = [], _held.Held.__init__

    def count(self, *args, **options):
        made.append(args)
        make(self, *args, **options)

    monkeypatch.setattr(_held.Held, "__init__", count)
    M, a, b = torch_problem()
    result = heddle.ot.solve(M, a, b, 0.1)
    assert len(made) == 3 and result.converged and result.check() is result  # those of M, a and b
    assert len(made) == 3
    result.potential_a, result.potential_a
    assert len(made) == 4


def test_results_without_memory_that_check_reads():
    M, a, b = torch_problem()
    result = heddle.ot.sinkhorn([M, M], a, b, limit=2, tol=1e-9)
    freed(result.error)
    with pytest.raises(heddle.BadInput, match="^result: expected 'error' of the solve, found that it was changed"):
        result.check()


@pytest.mark.parametrize("name", ["a", "b"])
def test_checks_without_weights(name):
    given = dict(zip("Mab", torch_problem()))
    result = heddle.ot.solve(*given.values(), 0.01, max_iter=2)
    freed(given[name])
    with pytest.raises(heddle.ot.NotSolved, match="^reached the limit of 2 iterations"):
        result.check()
    assert not hasattr(result, "unchanged")


def test_results_that_gradients_need():
    M, a, b = torch_problem()
    M.requires_grad_(True)
    result = heddle.ot.solve(M, a, b, 0.1)
    value = result.value
    with sys.modules["torch"].no_grad():
        result.plan.mul_(2)
    with pytest.raises(heddle.BadInput, match="^result: expected 'plan' of the solve"):
        value.backward()
    entropic = heddle.ot.solve(M.detach(), a, b, 0.1, reg_type="entropy")
    entropic.marginal_a.zero_()
    with pytest.raises(heddle.BadInput, match="^result: expected 'marginal_a' of the solve"):
        entropic.value


def test_a_library_that_has_deleted_an_array(monkeypatch):
    """JAX deletes donated arrays; the memory of the others cannot change."""
    from heddle import _held

    class Array:
        deleted = False

        def is_deleted(self):
            return self.deleted

    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(Array=Array))
    array = Array()
    held = _held.Held([array, [1.0, 2.0], memoryview(b"12")], "Mab".__getitem__)
    assert held.changed() is None
    array.deleted = True
    assert held.changed() == "M"

    class OnGpu:
        address = 256

        @property
        def __cuda_array_interface__(self):
            if not self.address:
                raise RuntimeError("freed")
            return {"shape": (3,), "typestr": "<f4", "data": (self.address, False), "version": 3}

    array = OnGpu()
    held = _held.Held([array], "M".__getitem__)
    assert held.changed() is None
    for array.address in (512, 0):
        assert held.changed() == "M"


# ----------------------------------------------------------------------------------------------------------------------
# Buffers: they cannot be resized while a result may read them
# ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["memoryview", "array"])
def test_buffers_are_exported_while_a_result_lives(kind):
    M, a, b = reference.problem(6, 5)
    expected = heddle.ot.solve(M, a, b, 0.1)
    owners, given = [], []
    for values in (M, a, b):
        if kind == "memoryview":
            owners.append(bytearray(values.tobytes()))
            given.append(memoryview(owners[-1]).cast("B").cast("d", values.shape))
        else:
            owners.append(packed.array("d", values.ravel()))
            given.append(owners[-1] if values.ndim == 1 else memoryview(owners[-1]).cast("B").cast("d", values.shape))
    result = heddle.ot.solve(*given, 0.1)

    def extend(owner):
        owner.extend(bytes(8) if kind == "memoryview" else [0.0])

    # The result has a view of its own, so the buffer stays exported without that of the caller.
    for view in given:
        if isinstance(view, memoryview):
            view.release()
    del view, given
    gc.collect()
    for owner in owners:
        with pytest.raises(BufferError):
            extend(owner)
    for late in LATE:
        numpy.testing.assert_array_equal(getattr(result, late), getattr(expected, late))
    for owner in owners:
        with pytest.raises(BufferError):
            extend(owner)
    result.plan.sum()
    del result
    gc.collect()
    for owner in owners:
        extend(owner)
    # The cache keeps no buffer.
    assert heddle.ot.solve(M, a, b, 0.1).value == expected.value


def test_a_solve_that_fails_returns_its_buffers():
    owner = bytearray(numpy.ones((3, 3)).tobytes())
    with pytest.raises(heddle.BadInput, match="^a: expected 3 elements"):
        heddle.ot.solve(memoryview(owner).cast("B").cast("d", (3, 3)), [1.0], None, 0.1)
    gc.collect()
    owner.extend(b"1")


# ----------------------------------------------------------------------------------------------------------------------
# Values of arguments
# ----------------------------------------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("make", [list, tuple, numpy.array, "torch"])
@pytest.mark.parametrize("values,message", [
    ([1.0, NAN], "^anneal: expected positive numbers, found nan at 1"),
    ([INF, 0.1], "^anneal: expected positive numbers, found inf at 0"),
    ([-1.0, 0.1], "^anneal: expected positive numbers, found -1 at 0"),
    ([1.0, 0.0, 0.1], "^anneal: expected positive numbers, found 0 at 1"),
    ([0.1, 1.0], "^anneal: expected a last value of at most eps, 0.1, .*, found 1$"),
    ([], "^anneal: expected at least one value of eps, found none"),
])
def test_values_of_annealing(make, values, message):
    if make == "torch":
        make = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)").tensor
    M = numpy.ones((3, 4))
    with pytest.raises(heddle.BadInput, match=message):
        heddle.ot.sinkhorn(M, eps=0.1, anneal=make(values))


@pytest.mark.parametrize("anneal", [["1", "0.1"], [None, 0.1], ["a"], [1j], [[1.0], [2.0, 3.0]], [b"1"]])
def test_annealing_of_no_numbers(anneal):
    with pytest.raises(heddle.BadInput, match="^anneal: expected an array, found"):
        heddle.ot.sinkhorn(numpy.ones((3, 4)), anneal=anneal)


def test_values_of_annealing_in_batches():
    M = numpy.random.default_rng(0).random((2, 3, 4))
    def solve(anneal, eps=0.1):
        return heddle.ot.sinkhorn(M, eps=eps, anneal=anneal, tol=1e-9)

    for anneal in ([[1.0, 0.1], [NAN, 0.1]], numpy.array([[1, 0.1], [NAN, 0.1]])):
        with pytest.raises(heddle.BadInput, match=r"^anneal\[1\]: expected positive numbers, found nan at 0"):
            solve(anneal)
    with pytest.raises(heddle.BadInput, match=r"^anneal\[1\]: expected a last value of at most eps, 0.1, .* found 0.2"):
        solve([[1.0, 0.2], [1.0, 0.2]], [0.2, 0.1])
    with pytest.raises(heddle.BadInput, match="^anneal: expected a last value of at most eps, 0.1, .* found 0.2"):
        solve([1.0, 0.2], numpy.array([0.2, 0.1]))
    half = fractions.Fraction(1, 2)
    for anneal, eps in (([1, half, 0.1], 0.1), ([[2.0, 0.2], [1.0, 0.1]], [0.2, 0.1]), (numpy.array([1, 0.05], "f4"), 0.1)):
        numpy.testing.assert_allclose(solve(anneal, eps).plan, solve(None, eps).plan, atol=1e-7)
    assert heddle.ot.sinkhorn([], anneal=[0.05]).status == []


def test_numbers_in_sequences_are_no_text():
    for wrong in ([["1", "2"]], [[None, 1.0]], [[1j]]):
        with pytest.raises(heddle.BadInput, match="^M: expected an array or a list of arrays"):
            heddle.ot.solve(wrong, reg=1.0)
    for wrong in (["0.5", "0.5"], [None, 0.5]):
        with pytest.raises(heddle.BadInput, match="^a: expected an array"):
            heddle.ot.solve(numpy.ones((2, 2)), wrong, None, 1.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weight", [1e-50, 5e-324, 1e39, 1e308])
@pytest.mark.parametrize("make", [list, numpy.array])
def test_weights_that_float32_cannot_hold(weight, make):
    M = numpy.random.default_rng(0).random((3, 3))
    weights = make([weight] * 3)
    short = M.astype("f4")
    for arguments, where in (((short, weights, weights), "a"), ((short, [weight] * 3, weights), "a"),
                             ((short.astype("f2"), None, weights), "b")):
        for options in ({}, {"normalize": True}, {"rho_a": 1.0, "rho_b": 1.0}):
            with pytest.raises(heddle.BadInput, match=rf"^{where}: expected weights in the range of float32, found .* at 0"):
                heddle.ot.sinkhorn(*arguments, **options)
    rows = [numpy.full(3, 1 / 3), weights]
    with pytest.raises(heddle.BadInput, match=r"^b: expected weights in the range of float32, .* at 1, 0"):
        heddle.ot.sinkhorn(numpy.stack([short, short]), None, numpy.stack(rows))
    with pytest.raises(heddle.BadInput, match=r"^b\[1\]: expected weights in the range of float32, .* at 0"):
        heddle.ot.sinkhorn([short, short], None, rows)


@pytest.mark.filterwarnings("error")
def test_weights_of_which_some_are_tiny():
    """The tails of weights may become 0."""
    M = numpy.random.default_rng(0).random((3, 3)).astype("f4")
    tails = numpy.array([0.5, 0.5, 1e-60])
    found = heddle.ot.sinkhorn(M, tails, tails, eps=0.1)
    expected = heddle.ot.sinkhorn(M, numpy.array([0.5, 0.5, 0]), numpy.array([0.5, 0.5, 0]), eps=0.1)
    assert found.converged and (found.plan == expected.plan).all()
    logs = numpy.log(numpy.full(3, 1e-60))
    assert numpy.isfinite(heddle.ot.sinkhorn(M, logs, logs, weights="log", eps=0.1).potential_a).all()
    zeros = heddle.ot.sinkhorn(M, numpy.zeros(3), numpy.zeros(3), eps=0.1)
    assert zeros.value == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_weights_whose_sum_float32_cannot_hold(dtype):
    """Their sum was infinite, and the solve converged to NaN."""
    M = numpy.random.default_rng(0).random((30, 30)).astype("f4")
    large = numpy.full(30, 1e38, dtype)
    for options in ({}, {"normalize": True}):
        with pytest.raises(heddle.BadInput, match="^a: expected weights whose sum is in the range of float32, found the sum"):
            heddle.ot.sinkhorn(M, large, large, **options)
    found = heddle.ot.sinkhorn(M, large, large, compute="f64", normalize=True, eps=0.1)
    assert found.converged and found.value > 0


def test_prices_that_float32_cannot_hold():
    M = numpy.random.default_rng(0).random((3, 4))
    for rho in (1e-50, 1e-40):
        with pytest.raises(heddle.BadInput, match="^rho_a: expected a positive number of at least 2.-126, or None, found"):
            heddle.ot.sinkhorn(M.astype("f4"), rho_a=rho)
    for dtype, rho in (("f8", 1e-50), ("f4", 2.0**-126)):
        found = heddle.ot.sinkhorn(M.astype(dtype), eps=0.1, rho_a=rho, rho_b=rho)
        assert found.converged and numpy.isfinite(found.value)


def test_scalars_are_no_text():
    for name in ("eps", "rho_a", "tol", "omega"):
        with pytest.raises(heddle.BadInput, match=f"^{name}: expected .*number.*, found str"):
            heddle.ot.sinkhorn(numpy.ones((2, 2)), **{name: "0.5"})


@pytest.mark.parametrize("form", ["single", "batch", "list"])
@pytest.mark.parametrize("name", ["M", "a", "b"])
def test_changes_of_tensors_of_inference_mode(name, form):
    """PyTorch does not count them, so the solve has copies."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    given = dict(zip("Mab", torch_problem(4, 5)))
    if form == "batch":
        given = {key: torch.stack([tensor, tensor]) for key, tensor in given.items()}
    elif form == "list":
        given = {key: [tensor, tensor] for key, tensor in given.items()}
    expected = heddle.ot.solve(*given.values(), 0.1)
    with torch.inference_mode():
        copies = {
            key: [each.clone() for each in tensor] if form == "list" else tensor.clone() for key, tensor in given.items()
        }
        result = heddle.ot.solve(*copies.values(), 0.1)
        for tensor in copies[name] if form == "list" else [copies[name]]:
            tensor.mul_(3)
            tensor.untyped_storage().resize_(0)
        for late in ("value", "plan", "marginal_a"):
            found, wanted = getattr(result, late), getattr(expected, late)
            for one, other in zip(found, wanted) if form == "list" else [(found, wanted)]:
                assert torch.equal(one, other)


def test_changes_of_results_in_inference_mode():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")
    with torch.inference_mode():
        result = heddle.ot.solve(*(tensor.clone() for tensor in torch_problem(4, 5)), 0.1)
        result.potential_a.add_(1)
        with pytest.raises(heddle.BadInput, match="'u' of the solve, found that it was changed in place"):
            result.plan


class Index:
    def __init__(self, action):
        self.action = action

    def __index__(self):
        self.action()
        return 10


@pytest.mark.parametrize("change", [freed, replaced])
def test_arguments_that_free_an_earlier_one(change):
    """The addresses were read before the functions of later arguments run."""
    for name in ("M", "a"):
        for argument in ("b", "history", "init", *(["limit"] if name == "M" else [])):  # the limit is read before a
            M, a, b = torch_problem(4, 5)
            first = M if name == "M" else a
            copies = a.clone().numpy(), b.clone().numpy()
            given = {"b": b, argument: Index(lambda: change(first))}
            if argument == "b":
                given["b"] = Exporter(copies[1], lambda: change(first))
            elif argument == "init":
                given["init"] = (copies[0], Exporter(copies[1], lambda: change(first)))
            with pytest.raises(heddle.BadInput, match=f"^{name}: expected an array that stays as it is while others"):
                heddle.ot.sinkhorn(M, a, **given)


def test_an_index_that_resizes_the_costs():
    M = numpy.random.default_rng(0).random((30, 30))
    with pytest.raises(heddle.BadInput, match="^M: expected an array that stays as it is"):
        heddle.ot.sinkhorn(M, limit=Index(lambda: M.resize((2, 2), refcheck=False)))


def test_initial_potentials_that_replace_the_others():
    M, a, b = torch_problem(4, 5)
    start = torch_problem(4, 5)[1]
    given = (start, Exporter(b.numpy().copy(), lambda: replaced(start)))
    with pytest.raises(heddle.BadInput, match=r"^init\[0\]: expected an array that stays as it is"):
        heddle.ot.sinkhorn(M, a, b, init=given)
