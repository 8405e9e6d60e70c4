"""Executables, graphs, bindings and memory of the Python package, on the cpu target."""

import gc
import json
import pathlib
import sys
import threading
import time
import weakref

import numpy
import pytest

import heddle

MATRIX_SUMS = """
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
func.func @sums(%x: !mats) -> !list {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  return %sum : !list
}
"""


@pytest.fixture(scope="module")
def sgd():
    return heddle.compile("sgd:momentum=0.9,lr=0.25", target="cpu")


@pytest.fixture(scope="module")
def sums():
    return heddle.compile(MATRIX_SUMS, target="cpu")


def arrays(*shapes, seed=0):
    generator = numpy.random.default_rng(seed)
    return [generator.standard_normal(shape).astype("f4") for shape in shapes]


def test_executables(sgd):
    assert list(sgd.arguments) == ["param", "grad", "momentum_buffer", "lr", "momentum"]
    assert list(sgd.results) == ["param", "momentum_buffer"]
    assert sgd.arguments["param"] == heddle.BufferInfo("param", "f32", True, 1, True, None)
    assert sgd.arguments["lr"] == heddle.BufferInfo("lr", "f64", False, 0, False, 0.25)
    assert (sgd.target, sgd.arch, sgd.program, sgd.log) == ("cpu", "cpu", "sgd:momentum=0.9,lr=0.25", "")
    assert sgd.plan["name"] == "sgd" and json.loads(sgd.plan_text()) == sgd.plan
    assert "func.func @sgd" in sgd.emit("foreach")
    assert "1 kernel" in sgd.explain()
    assert "sgd:momentum" in repr(sgd) and "cpu" in repr(sgd.graph())


def test_programs_are_paths_or_text(tmp_path):
    path = tmp_path / "rule.mlir"
    path.write_text(MATRIX_SUMS)
    for program in (path, str(path), MATRIX_SUMS):
        executable = heddle.compile(program, target="cpu")
        assert list(executable.arguments) == ["x"] and executable.emit("fused") == heddle.emit(path, "fused",
                                                                                              target="cpu")


def test_initial_values():
    initial = heddle.compile("adamw", target="cpu").initial_values()
    assert initial == {"exp_avg": 0, "exp_avg_sq": 0, "step": 0}
    assert heddle.compile("sinkhorn", target="cpu").initial_values() == {"a": 1, "b": 1}
    text = """
        !list = !foreach.list<tensor<?xf32>>
        !halves = !foreach.list<tensor<?xbf16>>
        func.func @f(%x: !list {foreach.donate = 0 : i64, foreach.initial = 0x7F800000 : f32}, %y: !list,
                     %z: !halves {foreach.initial = -2.5 : bf16},
                     %flag: !foreach.list<tensor<i1>> {foreach.initial = true},
                     %count: !foreach.list<tensor<i32>> {foreach.initial = -3 : i32}) -> !list {
          %p = foreach.map (%x = %x, %y = %y : !list) -> !list {
            %s = arith.addf %x, %y : f32
            foreach.yield %s : f32
          }
          return %p : !list
        }"""
    assert heddle.compile(text, target="cpu").initial_values() == {"x": float("inf"), "z": -2.5, "flag": 1, "count": -3}


def test_steps(sgd):
    params, grads = arrays((40, 30), (7,), seed=1), arrays((40, 30), (7,), seed=2)
    momenta = [numpy.zeros_like(param) for param in params]
    expected = [param.astype("f8") for param in params]
    moments = [numpy.zeros_like(param) for param in expected]
    graph = sgd.graph()
    graph.bind_list("param", params)
    graph.bind_list("grad", grads)
    graph.bind_list("momentum_buffer", momenta)
    for step in range(5):
        lr = 0.1 / (step + 1)
        graph.set_scalar("lr", lr)
        graph.replay()
        for param, grad, moment in zip(expected, grads, moments):
            moment *= 0.9
            moment += grad
            param -= lr * moment
        for found, wanted in zip(params + momenta, expected + moments):
            numpy.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)
    assert graph.read_scalar("lr") == 0.1 / 5
    results = graph.result("param")
    assert all(result is param for result, param in zip(results, params))
    assert [seen.address for seen in graph.result_views("param")] == [param.ctypes.data for param in params]
    assert graph.measure(2, 3) > 0


def test_scalars_may_be_numbers_of_any_kind(sgd):
    graph = sgd.graph()
    for name in ("param", "grad", "momentum_buffer"):
        graph.bind_list(name, [numpy.ones(3, "f4")])
    with pytest.raises(heddle.BadInput, match=r"'lr': expected prepare\(\) or replay\(\) first"):
        graph.read_scalar("lr")
    graph.prepare()
    for value in (1, 0.5, True, numpy.float32(0.25), numpy.int64(3), numpy.ones(())):
        graph.set_scalar("lr", value)
        assert graph.read_scalar("lr") == value


def test_bound_scalars(sgd):
    param, lr = numpy.zeros(3, "f4"), numpy.array([0.5])
    graph = sgd.graph()
    for name, array in (("param", param), ("grad", numpy.ones(3, "f4")), ("momentum_buffer", numpy.zeros(3, "f4"))):
        graph.bind_list(name, [array])
    graph.bind_scalar("lr", lr)
    graph.replay()
    assert (param == -0.5).all()
    lr[0] = 1
    graph.set_scalar("momentum", 0)
    graph.replay()
    assert (param == -1.5).all()
    graph.bind_scalar("lr", None)
    graph.set_scalar("lr", 2)
    graph.replay()
    assert (param == -3.5).all()


def test_inactive_members(sgd):
    params = [numpy.ones(3, "f4"), numpy.ones(2, "f4")]
    graph = sgd.graph()
    graph.bind_list("param", params)
    graph.bind_list("momentum_buffer", [numpy.zeros(3, "f4"), numpy.zeros(2, "f4")])
    grad = numpy.ones(2, "f4")
    graph.list_binding("grad", [(3,), (2,)]).bind([0, grad.ctypes.data])
    for mask in ([True, False], numpy.array([True, False]), b"\1\0", (1, 0)):
        graph.set_inactive("grad", mask)
        graph.replay()
    assert (params[0] == 1).all() and (params[1] < 0).all()


def test_results_in_the_memory_of_the_graph(sums):
    graph = sums.graph()
    matrices = arrays((5, 3), (2, 7), (4, 1))
    graph.bind_list("x", matrices)
    graph.replay()
    found = graph.result("sum")
    for result, matrix in zip(found, matrices):
        numpy.testing.assert_allclose(result, matrix.sum(1), rtol=1e-6)
    # They are copies: a new binding reuses the memory of the graph.
    kept = [result.copy() for result in found]
    graph.bind_list("x", arrays((50, 30)))
    graph.replay()
    assert all((result == copy).all() for result, copy in zip(found, kept))
    view, = graph.result_views("sum")
    assert view.shape == (50,) and view.dtype == "f32" and view.owner is graph
    assert (numpy.asarray(view) == graph.result("sum")[0]).all()


def test_results_in_the_memory_of_the_caller(sums):
    graph = sums.graph()
    matrix, sum = arrays((5, 3))[0], numpy.zeros(5, "f4")
    graph.bind_list("x", [matrix])
    graph.bind_result("sum", [sum])
    graph.replay()
    numpy.testing.assert_allclose(sum, matrix.sum(1), rtol=1e-6)
    assert graph.result("sum")[0] is sum
    graph.bind_result("sum", None)
    graph.replay()
    assert graph.result("sum")[0] is not sum and (graph.result("sum")[0] == sum).all()
    other = numpy.zeros(5, "f4")
    graph.list_binding("sum", [(5,)]).bind([other.ctypes.data])
    graph.replay()
    assert (other == sum).all()


def test_strided_rows(sums):
    graph = sums.graph()
    cube = arrays((4, 6, 8))[0]
    parts = [cube[0, :, 2:7], cube[:, :, :3], cube[1:2, :, :1], cube[2]]
    graph.bind_list("x", parts)
    graph.replay()
    for result, part in zip(graph.result("sum"), parts):
        numpy.testing.assert_allclose(result, part.sum(-1).ravel(), rtol=1e-5, atol=1e-6)


def test_empty_lists_and_members(sums):
    graph = sums.graph()
    graph.bind_list("x", [numpy.ones((0, 3), "f4"), numpy.ones((3, 0), "f4"), numpy.ones((1, 1), "f4")])
    graph.replay()
    assert [result.tolist() for result in graph.result("sum")] == [[], [0, 0, 0], [1]]
    graph.bind_list("x", [])
    graph.replay()
    assert graph.result("sum") == []


def test_the_graph_keeps_its_arrays(sums):
    graph = sums.graph()
    array = arrays((5, 3))[0]
    alive = weakref.ref(array)
    graph.bind_list("x", [array])
    del array
    gc.collect()
    graph.replay()
    assert alive() is not None
    graph.bind_list("x", arrays((2, 2)))
    gc.collect()
    assert alive() is None


def test_addresses_that_did_not_change_are_not_bound_again(sums):
    graph = sums.graph()
    first, second = arrays((5, 3), (5, 3))
    binding = graph.list_binding("x", [(5, 3)])
    assert binding.bind([first.ctypes.data])
    graph.replay()
    before = heddle.statistics()
    assert not binding.bind([first.ctypes.data])
    graph.replay()
    assert heddle.statistics()["prepares"] == before["prepares"]
    # The addresses may be written in place.
    binding.addresses[0] = second.ctypes.data
    assert binding.bind() and not binding.bind()
    graph.replay()
    assert heddle.statistics()["rebindings"] == before["rebindings"] + 1
    numpy.testing.assert_allclose(graph.result("sum")[0], second.sum(1), rtol=1e-6)
    # After another binding of the same name, the old one is bound again.
    graph.bind_list("x", [first])
    assert binding.bind([second.ctypes.data])
    graph.replay()
    numpy.testing.assert_allclose(graph.result("sum")[0], second.sum(1), rtol=1e-6)


def test_a_failed_binding_is_not_remembered(sums):
    graph = sums.graph()
    array = arrays((5, 3))[0]
    binding = graph.list_binding("x", [(5, 3)], dtype="f64")
    for _ in range(2):
        with pytest.raises(heddle.BadInput, match="expected dtype f32, found f64"):
            binding.bind([array.ctypes.data])


def test_the_host_time_of_a_binding(sums):
    """Binding 478 new addresses takes microseconds in Python; the bound allows for a busy machine."""
    graph = sums.graph()
    memory = numpy.ones(478 * 4, "f4")
    binding = graph.list_binding("x", [(2, 2)] * 478)
    addresses = [memory.ctypes.data + 16 * k for k in range(478)]
    binding.bind(addresses)
    times = []
    for _ in range(200):
        begin = time.perf_counter()
        binding.bind(addresses)
        times.append(time.perf_counter() - begin)
    assert min(times) < 100e-6


def test_memory(sgd):
    memory = heddle.Memory(sgd, 1024)
    assert memory.address % 256 == 0 and memory.nbytes == 1024
    values = arrays((16,))[0]
    memory.write(values, 512)
    found = numpy.empty(16, "f4")
    memory.read(found, 512)
    assert (found == values).all()
    memory.write(numpy.empty(0))
    assert heddle.Memory(sgd, 0).nbytes == 0


def test_threads_take_turns(sgd):
    param = numpy.zeros(1000, "f4")
    graph = sgd.graph()
    graph.bind_list("param", [param])
    graph.bind_list("grad", [numpy.ones(1000, "f4")])
    graph.bind_list("momentum_buffer", [numpy.zeros(1000, "f4")])
    graph.set_scalar("lr", 1)
    graph.set_scalar("momentum", 0)
    threads = [threading.Thread(target=lambda: [graph.replay() for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (param == -400).all()


def test_graphs_are_freed(sums):
    graph = sums.graph()
    alive = weakref.ref(graph)
    graph.bind_list("x", arrays((5, 3)))
    graph.list_binding("x", [(5, 3)]).bind([8])
    del graph
    gc.collect()
    assert alive() is None


def test_texts():
    assert heddle.emit("sgd").startswith("//") or "__global__" in heddle.emit("sgd")
    assert json.loads(heddle.emit("sgd", "plan"))["name"] == "sgd"
    explained = heddle.explain("adamw", shapes=[(1000, 1000), (10,)], json=True)
    assert explained["bytes_per_element"] == 28 and explained["members"] == 2 and explained["elements"] == 1000010
    assert "28.0 B per element" in heddle.explain("adamw", arch="sm_90")
    report = heddle.doctor()
    assert report["version"] == heddle.__version__ and report["compiler"]["ok"]
    assert pathlib.Path(report["library"]["path"]).name == "libheddle.so"
    counters = heddle.statistics()
    assert counters["replays"] > 0 and all(isinstance(value, int) for value in counters.values())
    assert sys.getrefcount(counters) < 10


def test_plans_of_the_cuda_target_need_a_gpu_only_to_run():
    plan = heddle.emit("sgd", "plan", arch="sm_90")
    with pytest.raises(heddle.BadInput, match="expected a program compiled for the cpu target"):
        heddle.load_plan(plan, target="cpu")


def test_numbers_of_numpy(sgd):
    """Counts, offsets, addresses, streams and values may be scalars of NumPy."""
    graph = sgd.graph()
    param, grad, momentum = arrays((3,), (3,), (3,))
    expected = param - numpy.float32(0.5) * (grad + numpy.float32(0.9) * momentum)
    graph.bind_list("param", [param])
    graph.bind_list("grad", [grad])
    graph.bind_list("momentum_buffer", [momentum])
    graph.set_scalar("lr", numpy.float32(0.5))
    graph.prepare(numpy.int64(0))
    graph.replay(numpy.int32(0))
    numpy.testing.assert_allclose(param, expected, rtol=1e-6)
    assert graph.measure(numpy.int64(2), numpy.int64(2)) > 0
    memory = heddle.Memory(sgd, numpy.int64(64))
    memory.write(param, numpy.int64(8))
    read = numpy.zeros(3, "f4")
    memory.read(read, numpy.uint8(8))
    assert (read == param).all()
    for bad in (8.0, True, "8", None, -8, 1 << 63):
        with pytest.raises(heddle.BadInput, match="^offset: expected an integer from 0"):
            memory.read(read, bad)
        with pytest.raises(heddle.BadInput, match="^nbytes: expected an integer from 0"):
            heddle.Memory(sgd, bad)


def test_a_scalar_that_is_bound_again_is_read_after_the_next_step():
    """Until then, the library would read the array before, which nothing keeps alive."""
    graph = heddle.compile("sgd:lr=0.5", target="cpu").graph()
    graph.bind_list("param", [numpy.ones(3, numpy.float32)])
    graph.bind_list("grad", [numpy.ones(3, numpy.float32)])
    graph.bind_scalar("lr", numpy.array([0.2]))
    graph.replay()
    assert graph.read_scalar("lr") == 0.2
    for again, value in ((None, 0.5), (numpy.array([0.3]), 0.3)):
        graph.bind_scalar("lr", again)
        with pytest.raises(heddle.BadInput, match=r"'lr': expected prepare\(\) or replay\(\) after it was bound again"):
            graph.read_scalar("lr")
        graph.prepare()
        assert graph.read_scalar("lr") == value
