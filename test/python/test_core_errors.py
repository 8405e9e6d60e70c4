"""Every mistake that the C interface reports is an exception with its text, and nothing is written."""

import copy
import ctypes
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest

import heddle
from heddle import _library

SUMS = """
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
    return heddle.compile("sgd:momentum=0.9", target="cpu")


def bound(sgd, shapes=((3, 2), (5,))):
    """A graph of SGD with momentum over ones, and its arrays by name."""
    graph = sgd.graph()
    lists = {name: [numpy.ones(shape, "f4") for shape in shapes] for name in ("param", "grad", "momentum_buffer")}
    for name, arrays in lists.items():
        graph.bind_list(name, arrays)
    return graph, lists


def test_the_classes():
    assert issubclass(heddle.BadInput, ValueError) and issubclass(heddle.BadInput, heddle.Error)
    assert issubclass(heddle.Unavailable, heddle.Error) and issubclass(heddle.Failed, heddle.Error)


@pytest.mark.parametrize("program, text", [
    ("weave", "weave"),
    ("sgd:speed=2", "speed"),
    ("sgd:momentum=fast", "momentum"),
    ("/nowhere/rule.mlir", "/nowhere/rule.mlir"),
    ("module {", "expected"),
    ("", "program"),
    ("sgd\0", "null character"),
    (7, "expected a path, the text of a module, or the name of a standard program, found int"),
])
def test_programs(program, text):
    for function in (lambda: heddle.compile(program, target="cpu"), lambda: heddle.emit(program, "foreach"),
                     lambda: heddle.explain(program)):
        with pytest.raises(heddle.BadInput, match=text):
            function()


def test_options():
    for target, arch, text in [("tpu", None, "tpu"), ("cuda", "sm_9", "sm_9"), ("cuda", "fast", "fast"),
                               ("cpu\0", None, "target: expected text without null"), (3, None, "expected a string")]:
        with pytest.raises(heddle.BadInput, match=text):
            heddle.compile("sgd", target=target, arch=arch)
    with pytest.raises(heddle.BadInput, match="stage: expected .* found 'weft'"):
        heddle.emit("sgd", "weft")
    with pytest.raises(heddle.BadInput):
        heddle.explain("sgd", shapes=[[-1]])
    with pytest.raises(heddle.BadInput, match="shapes"):
        heddle.explain("sgd", shapes=3)
    with pytest.raises(heddle.BadInput):
        heddle.load_plan("{}")
    with pytest.raises(heddle.BadInput, match="plan: expected a string"):
        heddle.load_plan({})


def test_no_gpu_is_unavailable(tmp_path):
    code = """
        import heddle
        for function in (lambda: heddle.compile("sgd", target="cuda"), heddle.compile("sgd", arch="sm_90").graph):
            try:
                function()
            except heddle.Unavailable as error:
                print(error)
        """
    result = in_new_process(code, HEDDLE_CUDA_DRIVER="/nowhere/libcuda.so.1")
    lines = [line for line in result.stdout.splitlines() if "libcuda" in line]
    assert len(lines) == 2, result.stderr


def in_new_process(code, **environment):
    path = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment, "PYTHONPATH": path})


def test_names(sgd):
    graph, _ = bound(sgd)
    one = [numpy.ones(3, "f4")]
    with pytest.raises(heddle.BadInput, match="argument 'weight': the program has no such argument; it has param, grad"):
        graph.bind_list("weight", one)
    with pytest.raises(heddle.BadInput, match="result 'grad': the program has no such result"):
        graph.bind_result("grad", one)
    with pytest.raises(heddle.BadInput, match="result 'norm'"):
        graph.result("norm")
    with pytest.raises(heddle.BadInput, match="^list 'weight': the program has no such list or result; its lists are "
                       "param, grad(, .*)?, its results param(, .*)?$"):
        graph.list_binding("weight", [(3,)])
    for function in (lambda: graph.set_scalar("speed", 1.0), lambda: graph.read_scalar("speed"),
                     lambda: graph.bind_scalar("speed", numpy.ones(1)), lambda: graph.set_inactive("speed", [True]),
                     lambda: graph.set_scalar("s\0peed", 1.0), lambda: graph.bind_scalar("param", numpy.ones(1, "f4")),
                     lambda: graph.bind_list("lr", [numpy.ones(1)]), lambda: graph.set_scalar("param", 1.0)):
        with pytest.raises(heddle.BadInput):
            function()


def test_arrays(sgd):
    graph, lists = bound(sgd)
    readonly = numpy.ones(5, "f4")
    readonly.setflags(write=False)
    graph.bind_list("grad", [lists["grad"][0], readonly])  # the program only reads it
    for arrays, text in [
        ([numpy.ones(3)], "argument 'param', member 0: expected dtype f32, found f64"),
        ([numpy.ones(3, "f4"), numpy.ones(3, "c8")], "argument 'param', member 1: dtype: expected one of .*complex64"),
        ([numpy.ones(3, "u1")], "uint8"),
        ([numpy.ones(3, ">f4")], "another byte order"),
        ([numpy.ones((4, 4), "f4").T[1:]], "expected a dense array in the order of C"),
        ([readonly], "member 0: expected an array that can be written"),
        ([[1.0, 2.0]], "expected an array .*, found list"),
        ([None], "found NoneType"),
        (numpy.float32(1), "expected a sequence of arrays, found float32"),
        (numpy.ones(3, "f4"), "expected a sequence with one array for each member, found one ndarray: put it in a list"),
        ("param", "expected a sequence of arrays, found str"),
    ]:
        with pytest.raises(heddle.BadInput, match=text):
            graph.bind_list("param", arrays)
    graph.replay()  # the earlier bindings still hold
    assert (lists["param"][0] < 1).all()


def test_mistakes_over_several_lists(sgd):
    graph, lists = bound(sgd)
    good = lists["grad"]
    for arrays, text in [
        (good[:1], "expected 2 members"),
        ([good[0], numpy.ones(4, "f4")], "argument 'grad', member 1: expected 5 elements"),
        ([good[0], lists["param"][1]], "found an overlap with"),
    ]:
        graph.bind_list("grad", arrays)
        for function in (graph.prepare, graph.replay):
            with pytest.raises(heddle.BadInput, match=text):
                function()
        assert (lists["param"][0] == 1).all() and (lists["momentum_buffer"][1] == 1).all()
    graph.bind_list("grad", good)
    with pytest.raises(heddle.BadInput, match="argument 'grad': expected a mask of 2 members, as bound, found 1"):
        graph.set_inactive("grad", [True])
    graph.replay()
    with pytest.raises(heddle.BadInput, match="expected a sequence of booleans"):
        graph.set_inactive("grad", 3)
    graph.set_inactive("grad", None)
    graph.replay()


class Opaque:
    """No number."""


@pytest.mark.parametrize("executable", (None, "sgd", 5, heddle.compile))
def test_memory_of_no_executable(executable):
    with pytest.raises(heddle.BadInput, match="executable: expected an Executable, from heddle.compile, found"):
        heddle.Memory(executable, 5)


def test_numbers(sgd):
    """No entry drops the high bits of an integer, as ctypes does, or lets an exception of Python through."""
    graph, memory = sgd.graph(), heddle.Memory(sgd, 64)
    one, grad = numpy.ones(1, "f4"), graph.list_binding("grad", [(4,), (5,)])
    huge = 10**400
    for call, text in [
        (lambda bad: graph.set_scalar("lr", bad), "argument 'lr': expected a number"),
        (lambda bad: graph.measure(bad), "replays: expected an integer from 1 to 2^31 - 1"),
        (lambda bad: graph.measure(1, bad), "samples: expected an integer from 1 to 2^31 - 1"),
        (lambda bad: graph.list_binding("grad", [(bad,)]), "'grad': expected one sequence of integers below 2^63"),
        (lambda bad: graph.list_binding("grad", [(3,)], strides=[bad]), "'grad': expected one sequence of integers"),
        (lambda bad: grad.bind([bad, bad]), "'grad': expected 2 addresses, one integer below 2^64"),
        (lambda bad: heddle.Memory(sgd, bad), "nbytes: expected an integer from 0 to 2^63 - 1"),
        (lambda bad: memory.write(one, bad), "offset: expected an integer from 0 to 2^63 - 1"),
        (lambda bad: memory.read(one, bad), "offset: expected an integer from 0 to 2^63 - 1"),
        (lambda bad: heddle.explain("sgd", shapes=[[bad]]), "shapes"),
    ]:
        for bad in (huge, -huge, "1", None, Opaque(), numpy.ones(2), 1j):
            with pytest.raises(heddle.BadInput) as raised:
                call(bad)
            assert str(raised.value).startswith(text) and len(str(raised.value)) < 600
    for call in (graph.replay, graph.prepare, graph.synchronize, lambda bad: graph.set_scalar("lr", 1, bad)):
        for bad in (huge, 2**64, -1):
            with pytest.raises(heddle.BadInput, match="stream: expected a handle from 0 to 2\\^64 - 1, found"):
                call(bad)
    for bad in (2**63, 2**64, 0.5):
        with pytest.raises(heddle.BadInput):
            graph.list_binding("grad", [(bad,)])
    for bad in ("10", [numpy.ones(2)], 5):
        with pytest.raises(heddle.BadInput, match="'grad': expected a sequence of booleans, found"):
            graph.set_inactive("grad", bad)
    for bad in ([], numpy.ones(2), 3, "x" * 100000):
        with pytest.raises(heddle.BadInput) as raised:
            graph.set_scalar(bad, 1)
        assert len(str(raised.value)) < 400


def test_programs_of_another_kind():
    @heddle.rule
    def descend(p, g, *, lr=0.1):
        return p - lr * g

    for program, text in [
        (descend, "found Rule: call its method compile"),
        (lambda p, g: p, r"found function: for a rule, heddle.rule\(function\).compile\(\)"),
        (b"sgd", "found bytes$"),
        (Opaque, "found type$"),
        ("", "found an empty text"),
        (" \n", "found blanks only"),
        ("\ud800", r"program: expected text that UTF-8 can hold, found U\+D800 at position 0"),
    ]:
        for call in (heddle.compile, heddle.explain, heddle.emit):
            with pytest.raises(heddle.BadInput, match=text):
                call(program)


def test_unbound_arguments(sgd):
    graph = sgd.graph()
    with pytest.raises(heddle.BadInput, match="param"):
        graph.replay()
    with pytest.raises(heddle.BadInput):
        graph.result("param")


def test_addresses(sgd):
    graph, lists = bound(sgd)
    binding = graph.list_binding("grad", [(3, 2), (5,)])
    for addresses in ([1], [1, 2, 3], ["a", "b"], [1.5, 2], 7):
        with pytest.raises(heddle.BadInput, match="'grad': expected 2 addresses"):
            binding.bind(addresses)
    binding.bind([lists["grad"][0].ctypes.data, 0])
    with pytest.raises(heddle.BadInput, match="argument 'grad', member 1: expected an address, found null"):
        graph.replay()
    for shapes, strides in [([3], None), ([("a",)], None), ([(3,)], [1, 2]), ([(3,)], ["a"]), (5, None)]:
        with pytest.raises(heddle.BadInput, match="'grad': expected one sequence of integers"):
            graph.list_binding("grad", shapes, strides=strides)
    with pytest.raises(heddle.BadInput, match="expected dtype f32, found f64"):
        graph.list_binding("grad", [(3, 2), (5,)], dtype="f64").bind([1, 2])
    for shapes, strides, found in (([(-3, 2), (5,)], None, -3), ([(3, 2), (5,)], [0, -1], -1)):
        with pytest.raises(heddle.BadInput, match=f"^'grad': expected extents and strides of at least 0, found {found} in"):
            graph.list_binding("grad", shapes, strides=strides)
    assert (lists["param"][0] == 1).all()


def test_strides():
    graph = heddle.compile(SUMS, target="cpu").graph()
    matrix = numpy.arange(40, dtype="f4").reshape(5, 8)
    for array, text in [(matrix[:, ::2], "expected rows of contiguous elements"),
                        (matrix.T, "expected rows of contiguous elements"),
                        (matrix[::-1], "expected rows that do not overlap")]:
        with pytest.raises(heddle.BadInput, match=text):
            graph.bind_list("x", [array])
    cube = numpy.ones((4, 6, 8), "f4")
    with pytest.raises(heddle.BadInput, match="expected one stride for all rows"):
        graph.bind_list("x", [cube[:, :3, :5]])
    binding = graph.list_binding("x", [(5, 3)], strides=[2])
    binding.bind([matrix.ctypes.data])
    with pytest.raises(heddle.BadInput, match="row stride of at least 3"):
        graph.replay()


def test_scalars(sgd):
    graph, _ = bound(sgd)
    for value in ("fast", None, [1.0], numpy.ones(2)):
        with pytest.raises(heddle.BadInput, match="argument 'lr': expected a number"):
            graph.set_scalar("lr", value)
    for array, text in [(numpy.ones(2), "expected an array of one element"), (numpy.ones(1, "f4"), "dtype"),
                        (0.5, "found float")]:
        with pytest.raises(heddle.BadInput, match=text):
            graph.bind_scalar("lr", array)
    for stream in ("fast", 0.5):
        with pytest.raises(heddle.BadInput, match="stream: expected a CUDA stream"):
            graph.replay(stream)
    with pytest.raises(heddle.BadInput):
        graph.measure(-1, 3)


def test_devices(sgd):
    with pytest.raises(heddle.BadInput, match="device: expected None for the cpu target"):
        sgd.graph(device=0)


def test_memory(sgd):
    for size in (-1, 1 << 62, 1 << 80, 1.5):
        with pytest.raises(heddle.BadInput):
            heddle.Memory(sgd, size)
    memory = heddle.Memory(sgd, 16)
    for offset in (4, -4, 1.5, 1 << 62):
        with pytest.raises(heddle.BadInput):
            memory.write(numpy.ones(4, "f4"), offset)
    with pytest.raises(heddle.BadInput, match="expected a dense array"):
        memory.write(numpy.ones((4, 4), "f4")[:, 0])
    for copy in (memory.write, memory.read):
        with pytest.raises(heddle.BadInput, match="^array: expected at most the 12 bytes of .* behind offset 4, found 16$"):
            copy(numpy.ones(4, "f4"), 4)
        with pytest.raises(heddle.BadInput, match="^array: expected an array .*, found float"):
            copy(1.0)


def test_closed_graphs(sgd):
    graph, lists = bound(sgd)
    binding = graph.list_binding("grad", [(3, 2), (5,)])
    graph.close()
    graph.close()
    assert graph.closed
    for function in (graph.replay, graph.prepare, graph.synchronize, lambda: graph.set_scalar("lr", 1.0),
                     lambda: graph.bind_list("grad", lists["grad"]), lambda: graph.result("param"),
                     lambda: graph.read_scalar("lr"), graph.measure, lambda: binding.bind([8, 8]),
                     lambda: graph.set_inactive("grad", None), lambda: graph.bind_result("param", None),
                     lambda: graph.list_binding("grad", [(3, 2), (5,)])):
        with pytest.raises(heddle.BadInput, match="the graph is closed"):
            function()


def test_handles_are_neither_copied_nor_pickled(sgd):
    for handle in (sgd, sgd.graph()):
        for function in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                function(handle)


def test_errors_belong_to_their_thread(sgd):
    messages = {}

    def fail(name):
        for _ in range(50):
            try:
                heddle.compile(name, target="cpu")
            except heddle.BadInput as error:
                messages.setdefault(name, set()).add(name in str(error))

    threads = [threading.Thread(target=fail, args=(f"weave{k}",)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(messages) == 4 and all(found == {True} for found in messages.values())


def test_a_null_handle_is_no_crash():
    """Every function of the table takes null in place of each handle, array and text."""
    lib = _library.library()
    for name, (result, arguments) in _library.SIGNATURES.items():
        empty = [None if kind in (ctypes.c_void_p, ctypes.c_char_p) or hasattr(kind, "contents") else 0
                 for kind in arguments]
        status = getattr(lib, name)(*empty)
        if result is ctypes.c_int and name not in ("heddle_statistic_name",):
            assert status == 2, name


# --- fork and exit ----------------------------------------------------------------------------------------------------


def test_graphs_of_the_cpu_target_work_in_a_child(sgd):
    code = """
        import os, numpy, heddle
        param, grad = numpy.ones(100_000, "f4"), numpy.ones(100_000, "f4")
        graph = heddle.compile("sgd:lr=0.5", target="cpu").graph()
        graph.bind_list("param", [param]); graph.bind_list("grad", [grad])
        graph.replay()
        child = os.fork()
        graph.replay()
        assert (param == 0).all()
        if child:
            assert os.waitpid(child, 0)[1] == 0
            print("ok")
        """
    result = in_new_process(code)
    assert result.stdout == "ok\n", result.stderr


def test_a_lock_of_another_thread_does_not_stop_a_child():
    """A child forked while another thread loads the library loads it, too."""
    code = """
        import os, signal, threading, heddle
        from heddle import _library
        loading, forked = threading.Event(), threading.Event()
        path_of = _library.library_path
        def slow_path():
            loading.set()
            forked.wait()
            return path_of()
        _library.library_path = slow_path
        thread = threading.Thread(target=_library.library)
        thread.start()
        loading.wait()
        child = os.fork()
        if not child:
            signal.alarm(60)
            _library.library_path = path_of
            print(heddle.compile("sgd:lr=0.5", target="cpu").target, flush=True)
            os._exit(0)
        forked.set()
        thread.join()
        print(os.waitpid(child, 0)[1])
        """
    result = in_new_process(code)
    assert result.stdout == "cpu\n0\n", result.stdout + result.stderr


def test_a_graph_that_another_thread_used_during_a_fork():
    """It may be half changed. The child gets an error, as does a child of the child. Other graphs work."""
    code = """
        import os, signal, threading, numpy, heddle
        executable = heddle.compile("sgd:lr=0.5", target="cpu")
        param, grad = numpy.ones(10, "f4"), numpy.ones(10, "f4")
        used, unused = executable.graph(), executable.graph()
        for graph in (used, unused):
            graph.bind_list("param", [param]); graph.bind_list("grad", [grad])
        using, forked = threading.Event(), threading.Event()
        def use():
            replay = used._replay
            def slow_replay(*arguments):
                using.set()
                forked.wait()
                return replay(*arguments)
            used._replay = slow_replay
            used.replay()
        def attempt(name):
            try:
                used.replay()
            except heddle.BadInput as error:
                print(name, error, flush=True)
            unused.replay()
            print(name, param[0], flush=True)
        thread = threading.Thread(target=use)
        thread.start()
        using.wait()
        child = os.fork()
        if not child:
            signal.alarm(60)
            attempt("child")
            grandchild = os.fork()
            if not grandchild:
                signal.alarm(60)
                attempt("grandchild")
                os._exit(0)
            code = os.waitpid(grandchild, 0)[1]
            used.close(); unused.close()
            os._exit(code != 0)
        forked.set()
        thread.join()
        print("parent", param[0], os.waitpid(child, 0)[1])
        """
    result = in_new_process(code)
    message = "graph: another thread was using it when this process was forked, so it may be half changed; create another one in the child"
    assert sorted(result.stdout.splitlines()) == sorted([
        f"child {message}", "child 0.5", f"grandchild {message}", "grandchild 0.0", "parent 0.5 0",
    ]) and not result.stderr, result.stdout + result.stderr


def stand_in_driver():
    path = pathlib.Path(_library.library_path()).parent / "libheddle_stand_in_driver.so"
    if not path.exists():
        pytest.skip("the stand-in driver is not built")
    return {"HEDDLE_CUDA_DRIVER": str(path), "HEDDLE_STAND_IN_KERNELS": "any"}


def test_graphs_of_the_cuda_target_are_refused_in_a_child():
    code = """
        import os, numpy, heddle
        executable = heddle.compile("sgd:lr=0.5", target="cuda")
        graph = executable.graph()
        memory = heddle.Memory(executable, 256)
        def bind():
            for name in ("param", "grad"):
                graph.list_binding(name, [(10,)]).bind([memory.address + 128 * (name == "grad")])
        bind()
        child = os.fork()
        if child:
            memory.write(numpy.ones(4, "f4"))
            print("child", os.waitpid(child, 0)[1])
        else:
            for name, function in [("bind", bind), ("replay", graph.replay), ("prepare", graph.prepare),
                                   ("set", lambda: graph.set_scalar("lr", 1.0)),
                                   ("write", lambda: memory.write(numpy.ones(4, "f4"))), ("graph", executable.graph)]:
                try:
                    function()
                except heddle.Error as error:
                    print(name, type(error).__name__, f"process {os.getppid()}" in str(error), flush=True)
        """
    result = in_new_process(code, **stand_in_driver())
    lines = result.stdout.splitlines()
    # A binding only stores addresses.
    assert lines == [*(f"{name} BadInput True" for name in ("replay", "prepare", "set", "write")),
                     "graph Unavailable False", "child 0"], result.stdout + result.stderr


def test_gpus_are_chosen_by_ordinal():
    code = """
        import heddle
        executable = heddle.compile("sgd:lr=0.5", target="cuda")
        print(executable.target, executable.graph().device, executable.graph(device=0).device)
        for device in (7, -1, "gpu"):
            try:
                executable.graph(device=device)
            except heddle.BadInput as error:
                print(error)
        try:
            executable.graph().bind_list("param", [__import__("numpy").ones(3, "f4")])
        except heddle.BadInput as error:
            print(error)
        """
    result = in_new_process(code, **stand_in_driver())
    lines = result.stdout.splitlines()
    assert lines[0] == "cuda cuda:0 cuda:0", result.stdout + result.stderr
    assert lines[1].startswith("device: expected the ordinal of one of ") and lines[1].endswith("found 7")
    assert lines[3] == "device: expected the ordinal of a GPU, found 'gpu'"
    assert lines[4] == "argument 'param', member 0: expected memory of cuda:0, found cpu"


def test_a_graph_that_another_thread_freed():
    """After the finalizer of a graph, a thread that uses the graph gets an error."""
    graph = heddle.compile("sgd:lr=0.5", target="cpu").graph()
    assert not graph.closed
    graph._finalizer()
    assert graph.closed
    with pytest.raises(heddle.BadInput, match="the graph is closed"):
        graph.replay()


def test_objects_live_until_the_process_ends():
    """An exit handler that was registered before the first object of heddle runs after all finalizers."""
    result = in_new_process("""
        import array, atexit, heddle
        def last():
            print(not graph.closed, len(executable.plan) > 2, memory.address != 0)
            memory.write(array.array("i", [1, 2]))
            executable.graph()
        atexit.register(last)
        executable = heddle.compile("sgd:lr=0.5", target="cpu")
        graph, memory = executable.graph(), heddle.Memory(executable, 8)
        """)
    assert result.returncode == 0 and result.stdout == "True True True\n", result.stderr


def test_a_graph_that_is_created_while_the_interpreter_ends():
    result = in_new_process("""
        import builtins, heddle
        executable = heddle.compile("sgd:lr=0.5", target="cpu")
        class Late:
            def __del__(self):
                print(executable.graph() is not None)
        builtins.late = late = Late()
        late.itself = late
        """)
    assert result.returncode == 0 and result.stdout == "True\n", result.stderr


@pytest.mark.parametrize("ending", ["", "import sys; sys.exit(0)", "del graph, executable", "del executable",
                                    "graph.close()", "import gc; graph.loop = graph; del graph; gc.collect()"])
def test_the_end_of_the_interpreter(ending):
    code = f"""
        import numpy, heddle, threading
        executable = heddle.compile("sgd:lr=0.5", target="cpu")
        graph = executable.graph()
        param = numpy.ones(1000, "f4")
        graph.bind_list("param", [param]); graph.bind_list("grad", [param.copy()])
        graph.replay()
        def forever(graph=graph):
            try:
                while True:
                    graph.replay()
            except heddle.BadInput:
                pass
        if {not ending}:
            threading.Thread(target=forever, daemon=True).start()
        {ending}
        """
    for _ in range(1 if ending else 20):  # the thread and the end of the process race
        result = in_new_process(code)
        assert result.returncode == 0 and not result.stderr, result.stderr
