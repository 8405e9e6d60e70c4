#!/usr/bin/env python3
"""Checks heddle.ot on a GPU with PyTorch, and measures the wall time of its solves.

    test/bench/python_ot.py [--check] [--quick] [--json FILE]

--check only runs the checks: results against a solver in double precision in NumPy, streams, gradients, batches, views,
and that a second solve compiles and creates nothing. Needs a GPU and PyTorch; measures POT if it is installed.

Times are wall-clock times between two synchronizations, medians of 15. "replay" is the device time of the same program
on the same tensors, bound once (heddle.Graph.measure, the replay of the C interface). "host" is the time until `solve`
returns, without waiting for the device.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("test/python", "python"):
    sys.path.insert(0, str(ROOT / folder))
if (ROOT / "lib" / "libheddle.so").exists():
    os.environ.setdefault("HEDDLE_LIBRARY", str(ROOT / "lib"))

import numpy  # noqa: E402

import heddle  # noqa: E402
import heddle.ot  # noqa: E402

EPS, ITERATIONS = 0.05, 100
COUNTERS = ("compilations", "graph_instantiations", "module_loads", "allocations")

# --- checks -----------------------------------------------------------------------------------------------------------


def problem(n, m, seed=0):
    generator = numpy.random.default_rng(seed)
    M, a, b = generator.random((n, m)), generator.random(n) + 0.1, generator.random(m) + 0.1
    return M, a / a.sum(), b / b.sum()


def plan_of(M, a, b, eps, rho=None, iterations=150):
    """The transport plan by plain iterations in double precision; f and g are relative to a b^T."""
    f, g, log_a, log_b = numpy.zeros(len(a)), numpy.zeros(len(b)), numpy.log(a), numpy.log(b)
    tau = 1 if rho is None else rho / (rho + eps)

    def log_sum_exp(x, axis):
        most = x.max(axis, keepdims=True)
        return numpy.log(numpy.exp(x - most).sum(axis)) + most.squeeze(axis)

    for _ in range(iterations):
        f = -tau * log_sum_exp(g + log_b - M / eps, 1)
        g = -tau * log_sum_exp((f + log_a)[:, None] - M / eps, 0)
    return numpy.exp((f + log_a)[:, None] + g + log_b - M / eps)


def near(found, expected, tolerance, what):
    found = found.detach().double().cpu().numpy() if hasattr(found, "detach") else numpy.asarray(found)
    error = abs(found - expected).max() / abs(expected).max() if expected.size else 0.0
    assert found.shape == expected.shape and error <= tolerance, f"{what}: {error:.2e} > {tolerance:g}"


def check(torch):
    device = torch.device("cuda", torch.cuda.current_device())

    def on_gpu(arrays, dtype=torch.float64):
        return [torch.from_numpy(array).to(device, dtype) for array in arrays]

    def done(text):
        torch.cuda.synchronize()
        print(f"ok {text}", flush=True)

    for n, m in ((1, 1), (1, 7), (7, 1), (33, 65), (300, 200), (700, 900)):
        arrays = problem(n, m, n)
        for rho in (None, 1.0):
            expected = plan_of(*arrays, 0.2, rho)
            for dtype, tolerance in ((torch.float64, 1e-7), (torch.float32, 1e-3)):
                result = heddle.ot.solve(*on_gpu(arrays, dtype), 0.2, unbalanced=rho, max_iter=5000)
                near(result.plan, expected, tolerance, f"plan {n}x{m} {dtype} {rho}")
                near(result.marginal_b, expected.sum(0), tolerance, "marginal_b")
                assert result.plan.device == device and result.status is heddle.ot.Status.CONVERGED
        for half in (torch.float16, torch.bfloat16):
            M, a, b = on_gpu(arrays, half)[:1] + on_gpu(arrays[1:])
            result = heddle.ot.solve(M, a, b, 0.2, max_iter=5000)
            near(result.plan, plan_of(M.double().cpu().numpy(), *arrays[1:], 0.2), 1e-3, f"plan {n}x{m} {half}")
    done("sizes and types, against double precision")

    arrays = problem(100, 80)
    M, a, b = on_gpu(arrays)
    expected = plan_of(*arrays, 0.2)
    large = torch.full((150, 120), float("nan"), device=device, dtype=torch.float64)
    large[20:120, 10:90] = M
    for view in (large[20:120, 10:90], M.T.contiguous().T, M.flip(0).flip(0), M[:, :]):
        near(heddle.ot.solve(view, a, b, 0.2).plan, expected, 1e-7, "view")
    done("views")

    parts = [problem(n, m, n) for n, m in ((5, 8), (170, 30), (1, 6), (64, 64))]
    lists = [list(tensors) for tensors in zip(*(on_gpu(part) for part in parts))]
    result = heddle.ot.solve(*lists, 0.2, tol=1e-10)
    for part, plan in zip(parts, result.plan):
        near(plan, plan_of(*part, 0.2), 1e-7, "ragged batch")
    stack = torch.stack([M, 2 * M, M + 1])
    batch = heddle.ot.sinkhorn(stack, a, b, eps=torch.tensor([0.2, 0.4, 0.2], device=device), tol=1e-11, limit=5000)
    for plan in batch.plan:
        near(plan, expected, 1e-6, "batch")
    done("batches")

    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = []
    for round in range(20):
        for index, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                scaled = (index + 1) * M  # the solve must wait for this
                results.append((index, heddle.ot.solve(scaled, a, b, 0.2 * (index + 1))))
                results.append((index, heddle.ot.solve(scaled + 0, a, b, 0.2 * (index + 1)).plan))
    torch.cuda.synchronize()
    for index, result in results:
        near(result if isinstance(result, torch.Tensor) else result.plan, expected, 1e-7, f"stream {index}")
    done("three streams, results that are asked for late")

    for ask in (lambda result: result.plan, lambda result: result.product(large_points), lambda result: result.n_iter):
        large_points = torch.ones(80, 2, device=device, dtype=torch.float64)
        with torch.cuda.stream(streams[0]):
            torch.cuda._sleep(200_000_000)  # a tenth of a second
            result = heddle.ot.solve(M + 0, a, b, 0.2)
        found = ask(result)  # on the default stream, which has nothing to wait for but the solve
        if isinstance(found, int):
            assert 0 < found < 1000, found
        else:
            near(found, expected if found.shape == M.shape else expected @ numpy.ones((80, 2)), 1e-7, "another stream")
    done("results that are asked for on another stream")

    M.requires_grad_()
    result = heddle.ot.solve(M, a, b, 0.2)
    result.value.backward()
    near(M.grad, expected, 1e-7, "gradient")
    M = M.detach()
    small = [tensor.requires_grad_() for tensor in on_gpu(problem(5, 4))]
    assert torch.autograd.gradcheck(
        lambda M, a, b: heddle.ot.solve(M, a, b, 0.3, unbalanced=1.0, tol=1e-13, max_iter=5000).value, small, atol=1e-6)
    done("gradients")

    bad = on_gpu(arrays)
    bad[1][3] = -1
    assert heddle.ot.solve(*bad, 0.2).status is heddle.ot.Status.BAD_INPUT
    bad = on_gpu(arrays)
    bad[0][3, 3] = float("nan")
    assert heddle.ot.solve(*bad, 0.2).status is heddle.ot.Status.NOT_FINITE
    try:
        heddle.ot.solve(M, a.cpu(), b, 0.2)
    except heddle.BadInput as error:
        assert "a: expected memory of cuda" in str(error), error
    else:
        raise AssertionError("weights on the CPU were accepted")
    done("status and errors")

    def everything(seed):
        result = heddle.ot.solve(*on_gpu(problem(90, 70, seed)), 0.2)
        return result.value, result.plan, result.argmax, result.status

    everything(0)
    torch.cuda.synchronize()
    before = heddle.statistics()
    for seed in range(1, 5):
        everything(seed)
    after = heddle.statistics()
    changed = {name: after[name] - before[name] for name in COUNTERS if after[name] != before[name]}
    assert not changed, f"later solves of the same shapes created {changed}"
    done("later solves compile, load, instantiate and allocate nothing")

    if torch.cuda.device_count() > 1:
        other = [tensor.to("cuda:1") for tensor in (M, a, b)]
        result = heddle.ot.solve(*other, 0.2)
        assert result.plan.device == torch.device("cuda:1")
        near(result.plan, expected, 1e-7, "second GPU")
        done("a second GPU")
    heddle.ot.clear_cache()
    done("the cache is cleared")


# --- times ------------------------------------------------------------------------------------------------------------


def median(action, synchronize, count=15):
    """Milliseconds: the wall time, and the time until `action` returns."""
    action()
    action()
    walls, hosts = [], []
    for _ in range(count):
        synchronize()
        start = time.perf_counter()
        kept = action()
        hosts.append(time.perf_counter() - start)
        synchronize()
        walls.append(time.perf_counter() - start)
        del kept
    return 1e3 * statistics.median(walls), 1e3 * statistics.median(hosts)


def replay_time(M, a, b, order):
    """Milliseconds of device time of the same program, bound once."""
    program = f"sinkhorn:order={order},norm=l2,dtype={heddle.dtypes.dtype_name(M.dtype)}"
    graph = heddle.compile(program, target="cuda").graph()
    members = [list(array) if array.dim() > rank else [array] for array, rank in ((M, 2), (a, 1), (b, 1))]
    for name, list_ in zip(("C", "a", "b"), members):
        graph.bind_list(name, list_)
    for name, value in (("eps", EPS), ("tol", -1), ("limit", ITERATIONS)):
        graph.set_scalar(name, value)
    seconds = graph.measure(5, 5)
    graph.synchronize()
    graph.close()
    return 1e3 * seconds


def measure(torch, quick):
    rows = []
    generator = torch.Generator("cuda").manual_seed(0)
    shapes = [(1000, 1000), (2500, 2500), (5001, 6001), (64, 256, 256)]
    try:
        import ot as pot
    except ImportError:
        pot = None
    for shape in shapes[:2] if quick else shapes:
        M = torch.rand(shape, device="cuda", generator=generator)
        *batch, n, m = shape
        a = torch.full((*batch, n), 1 / n, device="cuda")
        b = torch.full((*batch, m), 1 / m, device="cuda")
        row = {"shape": "x".join(map(str, shape))}

        def solve():
            return heddle.ot.solve(M, a, b, EPS, max_iter=ITERATIONS, tol=-1.0)

        row["first_ms"], _ = first(solve, torch)
        row["solve_ms"], row["host_ms"] = median(solve, torch.cuda.synchronize)
        row["replay_ms"] = replay_time(M, a, b, "v")
        row["solve_value_plan_ms"], _ = median(lambda: (lambda r: (r.value, r.plan))(solve()), torch.cuda.synchronize)
        before = heddle.statistics()
        solve().plan
        after = heddle.statistics()
        row["created_by_a_later_solve"] = sum(after[name] - before[name] for name in COUNTERS)
        if pot is not None and not quick:

            def peer():
                if batch:
                    return pot.batch.solve_batch(M, EPS, a, b, max_iter=ITERATIONS, tol=0.0, grad="detach")
                import warnings

                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return pot.solve(M, a, b, EPS, max_iter=ITERATIONS, tol=0.0, grad="detach")

            try:
                row["pot_ms"], _ = median(peer, torch.cuda.synchronize, 5)
            except Exception as error:  # POT may lack memory, or a backend
                row["pot_ms"] = None
                print(f"POT: {type(error).__name__}: {error}", file=sys.stderr)
        rows.append(row)
        print({name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}, flush=True)
    tiny = torch.rand(64, 64, device="cuda")
    weights = torch.full((64,), 1 / 64, device="cuda")
    wall, host = median(lambda: heddle.ot.solve(tiny, weights, weights, 1.0, max_iter=1, tol=-1.0),
                        torch.cuda.synchronize, 200)
    row = {"shape": "64x64, one iteration", "solve_ms": wall, "host_ms": host}
    print(f"host time of a solve: {1e3 * host:.1f} us, wall time {1e3 * wall:.1f} us (64x64, one iteration)")
    return [*rows, row]


def first(solve, torch):
    start = time.perf_counter()
    result = solve()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start), result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only run the checks")
    parser.add_argument("--quick", action="store_true", help="smaller problems, without POT")
    parser.add_argument("--json", help="write the times to this file")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("needs PyTorch")
        return 77
    if not torch.cuda.is_available():
        print("needs a GPU")
        return 77
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, heddle {heddle.__version__}", flush=True)
    check(torch)
    if not options.check:
        rows = measure(torch, options.quick)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
