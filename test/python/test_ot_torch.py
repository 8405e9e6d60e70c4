"""heddle.ot with PyTorch on the cpu target: tensors, gradients, and POT's solvers as a peer."""

import subprocess
import sys

import numpy
import ot_reference as reference
import pytest

import heddle
import heddle.ot

torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/dev setup --torch)")

INF = float("inf")


def problem(n, m, seed=0, dtype=torch.float64):
    return tuple(torch.from_numpy(array).to(dtype) for array in reference.problem(n, m, seed))


def test_tensors_in_and_out():
    M, a, b = problem(20, 30)
    expected = reference.plan_of(M.numpy(), a.numpy(), b.numpy(), 0.2)
    for dtype, tolerance in ((torch.float64, 1e-7), (torch.float32, 1e-4)):
        result = heddle.ot.solve(M.to(dtype), a, b, 0.2)
        for name in ("plan", "potential_a", "marginal_b", "value", "value_linear", "error", "argmax", "status_bits"):
            assert isinstance(getattr(result, name), torch.Tensor), name
        assert result.plan.dtype == dtype and result.value.shape == () and not result.value.requires_grad
        numpy.testing.assert_allclose(result.plan, expected, atol=tolerance * expected.max())
    half = heddle.ot.solve(M.bfloat16(), a, b, 0.2)
    rounded = reference.plan_of(M.bfloat16().double().numpy(), a, b, 0.2)
    assert half.plan.dtype == torch.float32
    numpy.testing.assert_allclose(half.plan, rounded, atol=1e-4 * rounded.max())
    turned = heddle.ot.solve(M.T.contiguous().T, a, b, 0.2)
    assert turned.plan.stride() == (1, 20)
    numpy.testing.assert_allclose(turned.plan, expected, atol=1e-9)
    batch = heddle.ot.solve_batch(torch.stack([M, M + 1]), 0.2, a, b, 1000, 1e-9, "auto", 1, 1e-3, "entropy")
    assert batch.plan.shape == (2, 20, 30) and batch.status == [heddle.ot.Status.CONVERGED] * 2
    with pytest.raises(heddle.BadInput, match="^M: expected a tensor in the memory of the CPU or of a CUDA GPU"):
        heddle.ot.solve(M.to("meta"), reg=0.1)


def test_modes_of_torch():
    """Inference mode, autocast, no_grad and a default device change nothing."""
    M, a, b = problem(6, 5)
    expected = heddle.ot.solve(M, a, b, 0.3)
    with torch.inference_mode():
        inner = [tensor.clone() for tensor in (M, a, b)]
        result = heddle.ot.solve(*inner, 0.3)
        assert torch.equal(result.plan, expected.plan) and torch.equal(result.value, expected.value)
    assert torch.equal(heddle.ot.solve(*inner, 0.3).plan, expected.plan)
    with torch.no_grad():
        assert not heddle.ot.solve(M.clone().requires_grad_(), a, b, 0.3).value.requires_grad
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(heddle.ot.solve(M, a, b, 0.3).plan, expected.plan)
    with torch.device("meta"):
        costs = M.clone().requires_grad_()
        result = heddle.ot.solve(costs, a.tolist(), b.tolist(), 0.3)
        result.value.backward()
        assert torch.equal(result.plan, expected.plan) and torch.allclose(costs.grad, expected.plan)
        assert heddle.ot.solve(M, reg=0.3).plan.device.type == "cpu"


CASES = [
    {},
    {"reg_type": "entropy"},
    {"unbalanced": 0.7},
    {"unbalanced": (0.7, INF)},
    {"unbalanced": (INF, 1.3)},
    {"unbalanced": (0.7, 1.3), "reg_type": "entropy"},
    {"unbalanced": (INF, 1.3), "reg_type": "entropy"},
    {"normalize": True},
    {"normalize": True, "unbalanced": 0.7},
    {"order": "u", "convention": "ott"},
    {"convention": "geomloss", "omega": 1.2},
]


def value_of(M, a, b, eps=0.3, **options):
    return heddle.ot.solve(M, a, b, eps, tol=1e-13, max_iter=10000, **options).value


@pytest.mark.parametrize("options", CASES, ids=str)
def test_gradcheck(options):
    generator = torch.Generator().manual_seed(3)
    M = torch.rand(5, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    x = torch.randn(5, dtype=torch.float64, generator=generator, requires_grad=True)
    y = torch.randn(4, dtype=torch.float64, generator=generator, requires_grad=True)
    scale = torch.tensor(1.4, dtype=torch.float64, requires_grad=True)
    free = "unbalanced" in options or "normalize" in options

    def value(M, x, y, scale):
        # The weights of a balanced problem have equal sums; the sum itself may vary.
        a, b = (x.exp(), y.exp()) if free else (scale * x.softmax(0), scale * y.softmax(0))
        return scale * value_of(M, a, b, **options)

    assert torch.autograd.gradcheck(value, (M, x, y, scale), atol=1e-6)


def test_gradcheck_of_batches_and_lists():
    generator = torch.Generator().manual_seed(5)
    M = torch.rand(3, 4, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    a = torch.rand(3, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    shared = torch.rand(5, dtype=torch.float64, generator=generator, requires_grad=True)
    eps = torch.tensor([0.3, 0.5, 0.8], dtype=torch.float64)
    rho = torch.tensor([1.0, 2.0, INF], dtype=torch.float64)

    def solve(M, a, b):
        return heddle.ot.sinkhorn(M, a, b, eps=eps, rho_a=rho, rho_b=1.5, tol=1e-13, limit=5000).value

    assert torch.autograd.gradcheck(solve, (M, a, shared), atol=1e-6)
    assert torch.autograd.gradcheck(lambda M, a, b: value_of(M, a, b, unbalanced=1.0), (M.transpose(1, 2), shared, a),
                                    atol=1e-6)
    parts = [torch.rand(n, m, dtype=torch.float64, generator=generator, requires_grad=True) for n, m in ((3, 2), (2, 5))]
    weights = [torch.rand(n, dtype=torch.float64, generator=generator, requires_grad=True) for n in (3, 2)]

    def of_lists(M0, M1, a0, a1):
        return value_of([M0, M1], [a0, a1], None, unbalanced=1.0)

    assert torch.autograd.gradcheck(of_lists, (*parts, *weights), atol=1e-6)
    column = torch.rand(5, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(lambda M: value_of(M, None, None, layout="column"), (column,), atol=1e-6)
    kernel = (-column.detach() / 0.3).requires_grad_()
    assert torch.autograd.gradcheck(lambda L: value_of(L, None, None, matrix="log_kernel"), (kernel,), atol=1e-6)
    logs = torch.randn(4, dtype=torch.float64, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x: value_of(column.detach(), None, x.log_softmax(0), weights="log"), (logs,), atol=1e-6)


def test_the_gradient_is_the_plan_and_the_potentials():
    M, a, b = problem(12, 9, seed=2)
    a, b = a.requires_grad_(), b.requires_grad_()
    M = M.requires_grad_()
    result = heddle.ot.solve(M, a, b, 0.3, tol=1e-12, convention="geomloss")
    dM, da, db = torch.autograd.grad(3 * result.value, (M, a, b))
    torch.testing.assert_close(dM, 3 * result.plan.detach())
    f, g = (potential.detach() for potential in result.potentials)
    torch.testing.assert_close(da - da.mean(), 3 * (f - f.mean()), atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(db - db.mean(), 3 * (g - g.mean()), atol=1e-9, rtol=1e-9)
    torch.testing.assert_close((a * da).sum(), (b * db).sum())


def test_the_gradient_for_an_infinite_price():
    tensors = [tensor.requires_grad_() for tensor in problem(6, 5, seed=2)]
    values = [heddle.ot.sinkhorn(*tensors, eps=0.3, rho_a=rho, rho_b=0.5, tol=1e-13, limit=5000).value
              for rho in (None, INF)]
    found, expected = (torch.autograd.grad(value, tensors) for value in values)
    torch.testing.assert_close(found, expected)


def test_the_gradient_by_a_weight_of_zero():
    M, a, b = problem(6, 5, seed=2)
    a[2] = 0
    a = (a / a.sum()).requires_grad_()
    value = value_of(M, a, b)
    slope, = torch.autograd.grad(value, a)
    # A one-sided difference, with the weight taken from another point.
    step = torch.zeros(6, dtype=torch.float64)
    step[2], step[0] = 1e-6, -1e-6
    with torch.no_grad():
        difference = (value_of(M, a + step, b) - value) / 1e-6
    torch.testing.assert_close(difference, slope[2] - slope[0], atol=1e-4, rtol=1e-4)


def test_gradients_in_single_precision():
    M, a, b = problem(40, 30, dtype=torch.float32)
    M.requires_grad_()
    result = heddle.ot.solve(M, a, b, 0.2)
    result.value.backward()
    assert M.grad.dtype == torch.float32
    torch.testing.assert_close(M.grad, result.plan.detach())


def test_what_has_no_gradient():
    M, a, b = problem(5, 4)
    M.requires_grad_()
    result = heddle.ot.solve(M, a, b, 0.3)
    for name in ("plan", "value_linear", "potential_a", "potential_b", "marginal_a", "marginal_b", "dual"):
        with pytest.raises(heddle.Unavailable, match=f"^OTResult.{name} has no gradient: only OTResult.value has one"):
            getattr(result, name).sum().backward()
    for name in ("product", "projection"):
        with pytest.raises(heddle.Unavailable, match=f"^OTResult.{name} has no gradient"):
            getattr(result, name)(torch.ones(4, 2)).sum().backward()
        # Nor by the points.
        points = torch.ones(4, 2, requires_grad=True)
        for costs, given in ((M.detach(), points), ([M.detach()], [points])):
            moved = getattr(heddle.ot.solve(costs, a, b, 0.3), name)(given)
            with pytest.raises(heddle.Unavailable, match=f"^OTResult.{name} has no gradient"):
                sum(moved).sum().backward()
        assert not getattr(heddle.ot.solve(M, a, b, 0.3, grad="detach"), name)(points).requires_grad
        with torch.no_grad():
            assert not getattr(result, name)(points).requires_grad
    with pytest.raises(heddle.Unavailable, match="^OTResult.potential_b has no gradient"):
        result.potentials[1].sum().backward()
    first, = torch.autograd.grad(result.value, M, create_graph=True)
    torch.testing.assert_close(first.detach(), result.plan.detach())
    with pytest.raises(heddle.Unavailable, match="the gradient of OTResult.value has no gradient"):
        first.sum().backward()
    detached = heddle.ot.solve(M, a, b, 0.3, grad="detach")
    assert not detached.value.requires_grad and not detached.plan.requires_grad
    with pytest.raises(heddle.BadInput, match="^reg: expected a number, found a tensor that needs a gradient"):
        heddle.ot.solve(M, a, b, torch.tensor(0.3, requires_grad=True))
    with torch.no_grad():
        assert not heddle.ot.solve(M, a, b, 0.3).value.requires_grad


def test_forward_mode_derivatives_are_refused():
    """They would be dropped, and a derivative of 0 be found."""
    M, a, b = problem(4, 3)
    forward = torch.autograd.forward_ad
    refused = "expected a tensor without a tangent: forward-mode derivatives are not supported"
    with forward.dual_level():
        dual = [forward.make_dual(each, torch.ones_like(each)) for each in (M, a, b)]
        with pytest.raises(heddle.BadInput, match=f"^M: {refused}"):
            heddle.ot.solve(dual[0], a, b, 0.3)
        with pytest.raises(heddle.BadInput, match=f"^a: {refused}"):
            heddle.ot.solve(M, dual[1], b, 0.3)
        with pytest.raises(heddle.BadInput, match=f"^b: {refused}"):
            heddle.ot.solve(M.numpy(), a, dual[2], 0.3)
        with pytest.raises(heddle.BadInput, match=rf"^M\[1\]: {refused}"):
            heddle.ot.solve_batch([M, dual[0]], 0.3)
        with pytest.raises(heddle.BadInput, match=rf"^potentials_init\[0\]: {refused}"):
            heddle.ot.solve(M, a, b, 0.3, potentials_init=(dual[1], b))
        with pytest.raises(heddle.BadInput, match="^reg: expected a number, found .* has a tangent"):
            heddle.ot.solve(M, a, b, dual[1][0])
        result = heddle.ot.solve(M, a, b, 0.3)
        with pytest.raises(heddle.BadInput, match=f"^points: {refused}"):
            result.product(dual[0].T.contiguous())
        assert heddle.ot.solve(dual[0].detach(), a, b, 0.3).status is heddle.ot.Status.CONVERGED
        assert heddle.ot.solve(torch.ones(4, 3, dtype=torch.int64), a, b, 0.3).status is heddle.ot.Status.CONVERGED
    with pytest.raises(heddle.BadInput, match="^M: expected a tensor"):
        torch.func.jvp(lambda costs: heddle.ot.solve(costs, a, b, 0.3).value, (M,), (M,))


def test_tensors_in_the_place_of_numbers():
    """A derivative in a sequence would be dropped, and a tensor without memory be read."""
    M = problem(4, 6)[0].numpy()
    costs = [M, torch.from_numpy(M)]
    expected = heddle.ot.sinkhorn(M, eps=0.5).value

    def calls(x, one):
        nested = [[x] * 6 for _ in range(4)]
        yield "M", lambda costs: heddle.ot.sinkhorn(nested)
        yield "a", lambda costs: heddle.ot.sinkhorn(costs, [x] + [0.25] * 3)
        yield "b", lambda costs: heddle.ot.sinkhorn(costs, None, (0.15,) * 5 + (x,))
        yield "anneal", lambda costs: heddle.ot.sinkhorn(costs, anneal=[one, x, 0.05])
        yield r"init\[1\]", lambda costs: heddle.ot.sinkhorn(costs, init=([0.0] * 4, [x] * 6))
        yield "points", lambda costs: heddle.ot.sinkhorn(costs).product([[x]] * 6)

    forward = torch.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(torch.tensor(0.25), torch.tensor(1.0))
        for name, call in calls(dual, 1.0):
            for each in costs:
                with pytest.raises(heddle.BadInput, match=f"^{name}: expected a tensor without a tangent: forward-mode"):
                    call(each)
        plain = torch.tensor(0.25)
        for _, call in calls(plain, plain):
            call(costs[0])
    needed = torch.tensor(0.25, requires_grad=True)
    for name, call in calls(needed, 1.0):
        for each in costs:
            with pytest.raises(heddle.BadInput, match=f"^{name}: expected numbers, found a tensor that needs a gradient in"):
                call(each)
    with torch.no_grad():
        for _, call in calls(needed, 1.0):
            call(costs[0])
    base = torch.full((1000,), 0.25)
    last = base[-1]
    base.untyped_storage().resize_(8)
    message = r"expected .*number.*, found a tensor of shape \(\) and .* memory"
    for name, call in (*calls(last, 1.0), ("eps", lambda costs: heddle.ot.sinkhorn(costs, eps=last)),
                       (r"eps\[1\]", lambda costs: heddle.ot.sinkhorn(numpy.stack([M, M]), eps=[1.0, last]))):
        for each in costs:
            with pytest.raises(heddle.BadInput, match=f"^{name}: {message}"):
                call(each)
    assert heddle.ot.sinkhorn(M, eps=torch.tensor(0.5)).value == expected


def test_gradients_need_costs_of_torch():
    M, a, b = problem(4, 3)
    weights = a.clone().requires_grad_()
    with pytest.raises(heddle.BadInput, match="^a: expected weights that need no gradient, because M is no tensor"):
        heddle.ot.solve(M.numpy(), weights, b, 0.3)
    with pytest.raises(heddle.BadInput, match="^b: expected weights that need no gradient, because M is no tensor"):
        heddle.ot.solve_batch([M.numpy().T] * 2, 0.3, b, [a, weights])
    expected = heddle.ot.solve(M.numpy(), a.numpy(), b.numpy(), 0.3).value
    assert heddle.ot.solve(M.numpy(), weights, b, 0.3, grad="detach").value == expected
    with torch.no_grad():
        assert heddle.ot.solve(M.numpy(), weights, b, 0.3).value == expected
    with pytest.raises(heddle.BadInput, match="^eps: expected numbers, found a tensor that needs a gradient"):
        heddle.ot.sinkhorn([M, M], a, b, eps=torch.tensor([0.3, 0.2], requires_grad=True))


@pytest.mark.parametrize("name, value, others", [
    ("eps", 0.3, {}), ("rho_a", 0.5, {}), ("rho_b", 0.5, {"rho_a": 1.0}), ("omega", 1.2, {}), ("tol", 1e-3, {}),
    ("eps0", 2.0, {"anneal": "geometric"}), ("decay", 0.7, {"anneal": "geometric"}), ("anneal", [1.0, 0.05], {}),
])
def test_scalars_that_need_a_gradient(name, value, others):
    """Without gradients, a solve takes the value, as PyTorch's operations do."""
    M, a, b = problem(4, 3)
    given = torch.tensor(value, dtype=torch.float64, requires_grad=True)
    with pytest.raises(heddle.BadInput, match=f"^{name}: expected (a number|numbers), found a tensor that needs a gradient"):
        heddle.ot.sinkhorn(M, a, b, **{name: given}, **others)
    with torch.no_grad():
        found = heddle.ot.sinkhorn(M, a, b, **{name: given}, **others)
    assert found.value == heddle.ot.sinkhorn(M, a, b, **{name: value}, **others).value
    if name in ("eps", "rho_a", "rho_b"):
        with torch.no_grad():
            batch = heddle.ot.sinkhorn([M, M], [a, a], [b, b], **{name: given.expand(2)}, **others)
        assert batch.value.tolist() == [found.value] * 2


def test_the_mode_of_the_solve_decides_about_gradients():
    """As with an operation of PyTorch: when a result is read makes no difference."""
    M, a, b = problem(5, 4)
    M.requires_grad_()
    with torch.no_grad():
        result = heddle.ot.solve(M, a, b, 0.3)
    for each in (result.value, result.plan, result.value_linear, result.potential_a, result.product(torch.ones(4, 2))):
        assert not each.requires_grad
    with torch.inference_mode():
        inferred = heddle.ot.solve(M, a, b, 0.3)
    assert not inferred.value.requires_grad

    result = heddle.ot.solve(M, a, b, 0.3)
    with torch.no_grad():
        value, plan, moved = result.value, result.plan, result.product(torch.ones(4, 2))
    assert value.requires_grad and plan.requires_grad and not moved.requires_grad
    value.backward()
    torch.testing.assert_close(M.grad, plan.detach())
    with torch.inference_mode():
        torch.testing.assert_close(result.value, value)


def test_tensors_that_changed_since_the_solve():
    M, a, b = problem(5, 4)
    result = heddle.ot.solve(M, a, b, 0.3)
    result.value
    M += 1
    assert result.value is not None, "known results need no costs"
    with pytest.raises(heddle.BadInput, match="expected the values of the solve, found an array that was changed"):
        result.plan


def test_importing_heddle_ot_imports_no_torch():
    code = ("import sys, heddle, heddle.ot, numpy; heddle.ot.solve(numpy.ones((2, 2)), reg=1).value; "
            "assert 'torch' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)


# ----------------------------------------------------------------------------------------------------------------------
# POT: each row of the table in docs/ot.md
# ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pot():
    return pytest.importorskip("ot", reason="needs POT: tools/dev setup --torch")


def near(found, expected, tolerance=1e-7):
    numpy.testing.assert_allclose(numpy.asarray(found), numpy.asarray(expected), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("n,m", [(1, 6), (25, 40), (61, 3)])
@pytest.mark.parametrize("reg_type", ["KL", "entropy"])
def test_pot_balanced(pot, n, m, reg_type):
    M, a, b = reference.problem(n, m, seed=n)
    ours = heddle.ot.solve(M, a, b, 0.1, reg_type=reg_type)
    theirs = pot.solve(M, a, b, 0.1, reg_type=reg_type)
    near(ours.value, theirs.value)
    near(ours.value_linear, theirs.value_linear)
    near(ours.plan, theirs.plan)
    near(ours.potential_a, theirs.potential_a)
    near(ours.potential_b, theirs.potential_b)
    near(ours.marginals[0], theirs.marginals[0])
    near(ours.marginals[1], theirs.marginals[1])


def test_pot_has_the_same_iterates(pot):
    """After the same number of iterations, before convergence: POT's loop counts from 0 and checks every tenth."""
    M, a, b = reference.problem(25, 40)
    for count in (1, 2, 7):
        ours = heddle.ot.solve(M, a, b, 0.05, max_iter=count, tol=-1.0)
        _, log = pot.bregman.sinkhorn_log(a, b, M, 0.05, numItermax=count, stopThr=0, log=True, warn=False)
        near(ours.potential_a, log["log_u"], 1e-12)
        near(ours.potential_b, log["log_v"], 1e-12)
    # Its error is ours, one iteration earlier.
    ours = heddle.ot.solve(M, a, b, 0.05, max_iter=12, tol=-1.0, history=12)
    _, log = pot.bregman.sinkhorn_log(a, b, M, 0.05, numItermax=12, stopThr=0, log=True, warn=False)
    near(ours.errors[[1, 11]], log["err"], 1e-12)


@pytest.mark.parametrize("unbalanced", [1.0, (0.5, 2.0), (INF, 1.0), (1.0, INF)])
def test_pot_unbalanced(pot, unbalanced):
    M, a, b = reference.problem(25, 40, mass=1.0)
    b = b * 1.5
    reg = 0.1
    ours = heddle.ot.solve(M, a, b, reg, unbalanced=unbalanced, tol=1e-11, max_iter=10000)
    theirs = pot.solve(M, a, b, reg, unbalanced=unbalanced, tol=1e-13, max_iter=10000)
    near(ours.plan, theirs.plan)
    near(ours.value_linear, theirs.value_linear)
    # POT's potentials are relative to a b^T.
    u, v = theirs.potentials
    near(ours.potential_a - numpy.log(a) + (ours.potential_b - numpy.log(b)).mean(), u + v.mean())
    # POT's value leaves the masses of KL out: KL(p | q) = sum p log(p / q) - p + q.
    rho_a, rho_b = (unbalanced, unbalanced) if isinstance(unbalanced, float) else unbalanced
    plan = theirs.plan
    masses = reg * (a.sum() * b.sum() - plan.sum())
    masses += 0 if rho_a == INF else rho_a * (a.sum() - plan.sum())
    masses += 0 if rho_b == INF else rho_b * (b.sum() - plan.sum())
    near(ours.value, theirs.value + masses)


def test_pot_unbalanced_entropy(pot):
    M, a, b = reference.problem(6, 5)
    ours = heddle.ot.solve(M, a, b, 0.5, unbalanced=1.0, reg_type="entropy", tol=1e-11, max_iter=10000)
    theirs = pot.solve(M, a, b, 0.5, unbalanced=1.0, reg_type="entropy")
    near(ours.value, theirs.value, 1e-5)
    near(ours.plan, theirs.plan, 1e-3)
    a, b = 3 * a, 2 * b
    for unbalanced in (0.7, (0.7, 0.3)):
        ours = heddle.ot.solve(M, a, b, 0.5, unbalanced=unbalanced, reg_type="entropy", tol=1e-11, max_iter=10000)
        theirs = pot.solve(M, a, b, 0.5, unbalanced=unbalanced, reg_type="entropy", tol=1e-12, max_iter=10000)
        near(ours.value, theirs.value, 1e-5)


@pytest.mark.parametrize("reg_type", ["entropy", "kl"])
def test_pot_batches(pot, reg_type):
    parts = [reference.problem(10, 14, seed=seed) for seed in range(4)]
    M, a, b = (numpy.stack(arrays) for arrays in zip(*parts))
    ours = heddle.ot.solve_batch(M, 0.2, a, b, tol=1e-11, reg_type=reg_type)
    theirs = pot.batch.solve_batch(M, 0.2, a, b, tol=1e-12, max_iter=5000, reg_type=reg_type)
    near(ours.plan, theirs.plan)
    near(ours.value, theirs.value)
    near(ours.value_linear, theirs.value_linear)


def test_pot_gradients(pot):
    tensors = [tensor.requires_grad_() for tensor in problem(8, 6)]
    for reg_type in ("KL", "entropy"):
        ours = heddle.ot.solve(*tensors, 0.3, reg_type=reg_type)
        theirs = pot.solve(*tensors, 0.3, reg_type=reg_type, grad="envelope")
        found = torch.autograd.grad(ours.value, tensors)
        expected = torch.autograd.grad(theirs.value, tensors)
        near(found[0], expected[0])
        # POT's gradients by weights are those of the entropy, for both.
        entropic = heddle.ot.solve(*tensors, 0.3, reg_type="entropy")
        for ours, theirs in zip(torch.autograd.grad(entropic.value, tensors[1:]), expected[1:]):
            near(ours - ours.mean(), theirs)


def test_older_functions_of_pot(pot):
    M, a, b = reference.problem(25, 40)
    ours = heddle.ot.solve(M, a, b, 0.1)
    near(ours.plan, pot.sinkhorn(a, b, M, 0.1, stopThr=1e-12))
    near(ours.value_linear, pot.sinkhorn2(a, b, M, 0.1, stopThr=1e-12))
    relaxed = heddle.ot.solve(M, a, 2 * b, 0.1, unbalanced=0.5, tol=1e-11)
    near(relaxed.plan, pot.unbalanced.sinkhorn_unbalanced(a, 2 * b, M, 0.1, 0.5, stopThr=1e-12, numItermax=5000))
