"""The version counters by which autograd notices changes in place: the extension increments them as torch does."""

import os
import subprocess
import sys
import threading

import numpy
import pytest

torch = pytest.importorskip("torch")

import heddle.optim  # noqa: E402
import heddle.ot  # noqa: E402
from heddle import _fast, _fast_fallback, _torch_samples  # noqa: E402
from heddle.optim._torch import mark_changed, mark_gradients_changed  # noqa: E402

native = pytest.mark.skipif(not _fast.NATIVE, reason="no extension was built")


class Derived(torch.Tensor):
    pass


def make(kind):
    plain = torch.ones(2, 3)
    with torch.inference_mode(kind.startswith("inference")):
        return {
            "tensor": lambda: plain,
            "parameter": lambda: torch.nn.Parameter(plain),
            "changed before": lambda: plain.add_(1).mul_(2),
            "complex": lambda: torch.ones(3, dtype=torch.complex64),
            "bf16": lambda: torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16)),
            "view": lambda: plain[1:].T,
            "lazy negation": lambda: plain._neg_view(),
            "empty": lambda: torch.ones(0, 3),
            "number": lambda: torch.tensor(1.0),
            "high rank": lambda: torch.ones(1, 2, 1, 2, 1, 2, 1),
            "meta": lambda: torch.ones(3, device="meta"),
            "sparse": lambda: plain.to_sparse(),
            "subclass": lambda: plain.as_subclass(Derived),
            "parameter of a subclass": lambda: torch.nn.Parameter(plain.as_subclass(Derived)),
            "inference": lambda: torch.ones(3),
            "inference parameter": lambda: torch.nn.Parameter(torch.ones(3)),
        }[kind]()


KINDS = ("tensor", "parameter", "changed before", "complex", "bf16", "view", "lazy negation", "empty", "number",
         "high rank", "meta", "sparse", "subclass", "parameter of a subclass", "inference", "inference parameter")


def versions(tensors):
    return [None if tensor.is_inference() else tensor._version for tensor in tensors]


@pytest.mark.parametrize("sequence", (tuple, list))
def test_counters_are_those_of_torchs_function(sequence):
    """Every kind of tensor, alone and among the others, several times, and in more than one batch."""
    ours, theirs = ([make(kind) for kind in KINDS for _ in range(3)] for _ in range(2))
    for _ in range(2):
        mark_changed(sequence(ours))
        torch.autograd.graph.increment_version(theirs)
        assert versions(ours) == versions(theirs)
    for one, other in zip(ours, theirs):
        mark_changed(sequence([one]))
        torch.autograd.graph.increment_version([other])
    assert versions(ours) == versions(theirs)
    mark_changed(sequence([]))
    mark_changed(sequence([None, ours[0], None]))
    assert ours[0]._version == theirs[0]._version + 1


@native
@pytest.mark.parametrize("sequence", (tuple, list))
def test_which_tensors_are_left_to_torch(sequence):
    tensors = [make(kind) for kind in KINDS]
    left = _fast.count_changes(sequence(tensors), _fast.exchange_api(torch.Tensor))
    kinds = [kind for kind, tensor in zip(KINDS, tensors) if any(tensor is one for one in left)]
    assert set(kinds) == {"sparse", "subclass", "parameter of a subclass", "inference", "inference parameter"}
    assert _fast.count_changes([3, None], _fast.exchange_api(torch.Tensor)) == [3]
    with pytest.raises(TypeError, match="tensors: expected a list or tuple, found int"):
        _fast.count_changes(3, _fast.exchange_api(torch.Tensor))


def with_gradients():
    """Parameters of every kind that can have a gradient, and some without one."""
    params = []
    for kind in KINDS:
        param = make(kind)
        if kind.startswith("inference") or kind in ("sparse", "lazy negation"):
            continue
        param = param.detach().requires_grad_() if not param.requires_grad else param
        param.grad = torch.zeros_like(param)
        params += [param, torch.nn.Parameter(torch.ones(3))]
    derived = torch.nn.Parameter(torch.ones(3))
    derived.grad = torch.zeros(3).as_subclass(Derived)
    sparse = torch.nn.Parameter(torch.ones(3))
    sparse.grad = torch.ones(3).to_sparse()
    return (params + [derived, sparse]) * 2


@pytest.mark.parametrize("sequence", (tuple, list))
def test_gradients_are_counted_as_torchs_function_does(sequence):
    ours, theirs = with_gradients(), with_gradients()
    mark_gradients_changed(sequence(ours))
    torch.autograd.graph.increment_version([param.grad for param in theirs if param.grad is not None])
    found = [[param.grad._version for param in params if param.grad is not None] for params in (ours, theirs)]
    assert found[0] == found[1] and min(found[0]) > 0
    assert versions(ours) == versions(theirs)
    mark_gradients_changed(sequence([]))


@native
@pytest.mark.parametrize("sequence", (tuple, list))
def test_which_gradients_are_left_to_torch(sequence):
    params = with_gradients()
    left = _fast.count_gradient_changes(sequence(params), _fast.exchange_api(torch.Tensor))
    kinds = {(type(tensor), tensor.layout) for tensor in left}
    assert kinds == {(Derived, torch.strided), (torch.Tensor, torch.sparse_coo)}
    assert _fast.count_gradient_changes([None], _fast.exchange_api(torch.Tensor)) == []
    with pytest.raises(AttributeError, match="grad"):
        _fast.count_gradient_changes(sequence([3]), _fast.exchange_api(torch.Tensor))
    with pytest.raises(TypeError, match="params: expected a list or tuple, found int"):
        _fast.count_gradient_changes(3, _fast.exchange_api(torch.Tensor))


@pytest.mark.parametrize("module", (_fast, _fast_fallback))
def test_without_a_table_all_gradients_are_left(module):
    params = with_gradients()
    left = module.count_gradient_changes(params, 0)
    expected = [param.grad for param in params if param.grad is not None]
    assert len(left) == len(expected) and all(one is other for one, other in zip(left, expected))
    assert module.count_gradient_changes([None], 0) == module.count_changes([None], 0) == []


def test_tensors_that_share_a_counter_count_together():
    base = torch.ones(4)
    view, apart = base[1:], base.data
    mark_changed((base, view, view.detach()))
    assert (base._version, view._version, apart._version) == (3, 3, 0)


def test_tensors_of_functional_transformations():
    """Within torch.func, the objects of the class Tensor are wrappers."""
    def function(x):
        before = x._version
        mark_changed((x,))
        assert x._version == before + 1
        return (x * 2).sum()

    assert torch.func.grad(function)(torch.ones(3)).tolist() == [2, 2, 2]
    torch.func.vmap(function)(torch.ones(3, 2))


def test_no_count_of_several_threads_is_lost():
    tensor = torch.ones(3)
    tensors = (tensor,) * 100

    def count():
        for _ in range(200):
            mark_changed(tensors)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tensor._version == 4 * 200 * 100


def test_samples_differ():
    """Their counters are shared and not, there and not, and have several versions."""
    samples = _torch_samples.versions()
    numbers = [number for _, number in samples]
    assert 0 in numbers and 1 < max(map(numbers.count, numbers)) < len(set(numbers))
    assert len({tensor._version for tensor, number in samples if number}) > 3


@native
@pytest.mark.parametrize("change", ("", "(found[0][0], 99)", "(found[-1][0], 99)", "(found[3][0], 3)"))
def test_another_version_of_torch_counts_by_its_function(change):
    """If the counter of one sample is other than expected, torch's function counts."""
    program = (
        "import torch; from heddle import _fast, _torch_samples; real = _torch_samples.versions\n"
        f"def versions():\n    found = real()\n    return found + [{change}]\n"
        "_torch_samples.versions = versions\n"
        "from heddle.optim._torch import mark_changed\n"
        "tensor = torch.ones(3); mark_changed([tensor])\n"
        "print(tensor._version, len(_fast.count_changes([tensor], _fast.exchange_api(torch.Tensor))))"
    )
    path = os.pathsep.join(entry for entry in sys.path if entry)
    result = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, text=True,
                            capture_output=True)
    assert result.stdout.split() == ["1", "1" if change else "0"], result.stderr


@pytest.mark.parametrize("kind", ("plain", "bf16", "complex", "empty", "subclass", "no gradient", "strided"))
def test_a_step_counts_as_a_step_of_torch(kind):
    """SGD is one operation in torch, too. A parameter with gaps is copied, and the copy counts once more."""
    def make_param():
        value = {"strided": lambda: torch.ones(8, 6)[::2, 1:4], "bf16": lambda: torch.ones(5, dtype=torch.bfloat16),
                 "complex": lambda: torch.ones(5, dtype=torch.complex64), "empty": lambda: torch.ones(0),
                 "subclass": lambda: torch.ones(5).as_subclass(Derived)}.get(kind, lambda: torch.ones(5))()
        param = torch.nn.Parameter(value)
        param.grad = None if kind == "no gradient" else torch.ones_like(param)
        return param

    ours, theirs, other = make_param(), make_param(), torch.nn.Parameter(torch.ones(3))
    other.grad = torch.ones(3)
    optimizer = heddle.optim.SGD([ours, other], lr=0.1)
    reference = torch.optim.SGD([theirs], lr=0.1)
    for step in range(1, 4):
        optimizer.step()
        reference.step()
        assert ours._version == (2 * step if kind == "strided" else theirs._version)
        assert other._version == step


def test_backward_after_a_step_is_torchs_error():
    messages = []
    for package in (heddle.optim, torch.optim):
        param = torch.nn.Parameter(torch.ones(3))
        square = (param * param).sum()
        param.grad = torch.ones(3)
        package.SGD([param], lr=0.1).step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
            square.backward()
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


# --- tensors other than parameters --------------------------------------------------------------------------------------


def chained(**arguments):
    """An optimizer after two steps, and its parameter. The caller has read its state."""
    param = torch.nn.Parameter(torch.rand(4, 5))
    param.grad = torch.ones(4, 5)
    optimizer = heddle.optim.chain(optimizer=heddle.optim.SGD([param], lr=0.1), **arguments)
    optimizer.step()
    optimizer.state_dict()
    optimizer.step()
    return optimizer, param


def the_average(optimizer, param):
    return optimizer.state[param]["ema"]


def the_gradient(optimizer, param):
    return param.grad


@pytest.mark.parametrize("arguments, written", (({"ema": 0.5}, the_average), ({"zero_grad": True}, the_gradient)))
def test_what_a_chain_writes_is_counted(arguments, written):
    """A backward pass through its earlier values is an error, and results of a solve that are asked for later are, too."""
    optimizer, param = chained(**arguments)
    factor = torch.ones(4, 5, requires_grad=True)
    loss = (written(optimizer, param) * factor).sum()
    result = heddle.ot.solve(written(optimizer, param), reg=0.5)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with pytest.raises(heddle.BadInput, match="changed in place"):
        result.plan


def test_a_chain_counts_what_it_writes_only():
    """Gradients that are read only, averages of parameters without a gradient, and each change once."""
    optimizer, param = chained(ema=0.5)
    average, gradient = the_average(optimizer, param), param.grad
    versions = average._version, gradient._version
    optimizer.step()
    assert (average._version, gradient._version) == (versions[0] + 1, versions[1])
    param.grad = None
    optimizer.step()
    assert average._version == versions[0] + 1
    optimizer.state[param]["ema"] = other = average.clone()
    param.grad = torch.ones(4, 5)
    optimizer.step()
    assert (average._version, other._version) == (versions[0] + 1, 1)


@pytest.mark.parametrize("kind", ("plain", "strided", "several"))
def test_zeroed_gradients_of_copied_parameters_are_counted(kind):
    params = [torch.nn.Parameter(torch.ones(8, 6)[::2] if kind == "strided" else torch.ones(4, 6))]
    if kind == "several":
        params.append(torch.nn.Parameter(torch.ones(8, 6)[::2]))
    optimizer = heddle.optim.chain(zero_grad=True, optimizer=heddle.optim.SGD(params, lr=0.1))
    for step in range(1, 4):
        for param in params:
            param.grad = torch.ones_like(param)
        optimizer.step()
        assert all(param.grad._version > 0 and not param.grad.any() for param in params)


def lists_of(name, amsgrad=False):
    """The arguments of a function of optim.functional after its parameters and gradients, and those by keyword."""
    def zeros():
        return [torch.zeros(3)]

    count = [torch.zeros(())]
    if name == "sgd":
        return [zeros()], dict(weight_decay=0, momentum=0.9, lr=0.1, dampening=0, nesterov=False, maximize=False)
    if name == "adamw":
        return [zeros(), zeros(), zeros() if amsgrad else [], count], dict(
            amsgrad=amsgrad, beta1=0.9, beta2=0.9, lr=0.1, weight_decay=0, eps=1e-8, maximize=False)
    return [zeros(), [torch.ones(3)], count], dict(
        step_size_min=1e-6, step_size_max=50, etaminus=0.5, etaplus=1.2, maximize=False, foreach=False)


@pytest.mark.parametrize("name, options", (("sgd", {}), ("adamw", {}), ("adamw", {"amsgrad": True}), ("rprop", {})))
def test_the_functions_count_the_state_that_torchs_functions_count(name, options):
    counted = []
    for package in (heddle.optim.functional, sys.modules[f"torch.optim.{name}"]):
        lists, arguments = lists_of(name, **options)
        lists = [[torch.ones(3)], [torch.full((3,), 2.0)], *lists]
        state = torch.ones(3, requires_grad=True)
        # Autograd saves the state.
        loss = (lists[2][0] * state).sum()
        before = [[tensor._version for tensor in each] for each in lists]
        getattr(package, name)(*lists, **arguments)
        counted.append([[tensor._version > old for tensor, old in zip(*pair)] for pair in zip(lists, before)])
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
    counted[1][1] = [False]  # torch's function of rprop writes and restores the gradient
    assert counted[0] == counted[1]


def bound_graph(params, grads):
    graph = heddle.compile("sgd:lr=0.5", target="cpu").graph()
    graph.bind_list("param", params)
    graph.bind_list("grad", grads)
    return graph


def test_a_replay_counts_the_tensors_that_it_writes():
    param, grad = torch.ones(3, requires_grad=True), torch.ones(3)
    square = (param * param).sum()
    graph = bound_graph([param], [grad])
    graph.prepare()
    assert param._version == 0
    graph.replay()
    assert (param._version, grad._version) == (1, 0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.backward()
    version = param._version
    graph.measure(replays=2, samples=1)
    assert param._version > version and grad._version == 0
    # A tensor that is not bound any more, and one that is bound in its place.
    version, other = param._version, torch.ones(3)
    graph.bind_list("param", [other])
    graph.replay()
    assert (param._version, other._version) == (version, 1)
    graph.bind_list("param", [numpy.ones(3, "f4")])
    graph.replay()
    assert other._version == 1
    # A view shares the counter of its tensor.
    base = torch.ones(6)
    graph.bind_list("param", [heddle.arrays.view(base[:3])])
    graph.replay()
    assert base._version == 1


def test_a_replay_that_fails_counts_nothing():
    param = torch.ones(3)
    graph = bound_graph([param], [torch.ones(4)])
    with pytest.raises(heddle.BadInput):
        graph.replay()
    assert param._version == 0


def test_a_replay_counts_results_but_no_scalars_that_it_reads():
    graph = heddle.compile("clip_by_global_norm+sgd", target="cpu").graph()
    param, grad = torch.ones(3), torch.ones(3)
    norm, lr = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    graph.bind_list("param", [param])
    graph.bind_list("grad", [grad])
    graph.bind_result("norm", [norm])
    graph.bind_scalar("lr", lr)
    graph.replay()
    assert [tensor._version for tensor in (param, grad, norm, lr)] == [1, 0, 1, 0]
    graph.bind_result("norm", None)
    graph.replay()
    assert [tensor._version for tensor in (param, grad, norm, lr)] == [2, 0, 1, 0]


def test_a_solve_notices_a_replay():
    M = torch.rand(5, 6)
    result = heddle.ot.solve(M, reg=0.5)
    bound_graph([M], [torch.ones(5, 6)]).replay()
    with pytest.raises(heddle.BadInput, match="changed in place"):
        result.plan


def test_a_read_of_memory_is_counted():
    memory = heddle.Memory(heddle.compile("sgd", target="cpu"), 12)
    memory.write(numpy.ones(3, "f4"))
    factor, tensor = torch.ones(3, requires_grad=True), torch.zeros(3)
    loss = (tensor * factor).sum()
    memory.read(tensor)
    assert tensor.tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
