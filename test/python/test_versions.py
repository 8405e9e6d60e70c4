"""The version counters by which autograd notices changes in place: the extension increments them as torch does."""

import os
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

import heddle.optim  # noqa: E402
from heddle import _fast, _torch_samples  # noqa: E402
from heddle.optim._torch import mark_changed  # noqa: E402

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


@native
@pytest.mark.parametrize("sequence", (tuple, list))
def test_which_tensors_are_left_to_torch(sequence):
    tensors = [make(kind) for kind in KINDS]
    left = _fast.count_changes(sequence(tensors), _fast.exchange_api(torch.Tensor))
    kinds = [kind for kind, tensor in zip(KINDS, tensors) if any(tensor is one for one in left)]
    assert set(kinds) == {"sparse", "subclass", "parameter of a subclass", "inference", "inference parameter"}
    assert _fast.count_changes([3, None], _fast.exchange_api(torch.Tensor)) == [3, None]
    with pytest.raises(TypeError, match="tensors: expected a list or tuple, found int"):
        _fast.count_changes(3, _fast.exchange_api(torch.Tensor))


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
