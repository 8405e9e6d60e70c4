"""heddle.optim.functional against the functions of torch.optim."""

import importlib
import inspect
import os
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle  # noqa: E402
from heddle.optim import functional  # noqa: E402

DEVICES = pytest.mark.parametrize("device", support.devices())
ADAM = dict(amsgrad=True, beta1=0.8, beta2=0.99, lr=0.1, weight_decay=0.01, eps=1e-8, maximize=False)
SGD = dict(weight_decay=0.01, momentum=0.9, lr=0.1, dampening=0.3, nesterov=False, maximize=False)


def theirs(name):
    module = "_functional" if name == "sparse_adam" else name
    return getattr(importlib.import_module(f"torch.optim.{module}"), name)


def tensors(device, seed):
    return [param.detach() for param in support.parameters(device, seed=seed)]


def test_functions_of_every_optimizer_of_torch():
    assert set(functional.FUNCTIONS) >= {name.lower() for name in support.TORCH_NAMES}


@pytest.mark.parametrize("name", [*(name.lower() for name in support.TORCH_NAMES), "sparse_adam"])
def test_arguments(name):
    """The names of all arguments, the order of those by position, and the defaults."""
    ours, known = (inspect.signature(each).parameters for each in (getattr(functional, name), theirs(name)))
    by_position = inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert [each.name for each in ours.values() if each.kind is by_position] == [
        each.name for each in known.values() if each.kind is by_position
    ]
    assert {each.name: (each.kind, each.default) for each in ours.values()} == {
        each.name: (each.kind, each.default) for each in known.values()
    }


@DEVICES
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_adam(name, device):
    ours = [tensors(device, seed) for seed in (1, 2)]
    others = [[tensor.clone() for tensor in each] for each in ours]
    states = [[[torch.zeros_like(tensor) for tensor in ours[0]] for _ in range(3)] for _ in range(2)]
    steps = [[torch.zeros((), device=device) for _ in ours[0]] for _ in range(2)]
    for _ in range(3):
        getattr(functional, name)(*ours, *states[0], steps[0], **ADAM)
        theirs(name)(*others, *states[1], steps[1], foreach=False, **ADAM)
    for left, right in zip((ours[0], *states[0], steps[0]), (others[0], *states[1], steps[1])):
        for tensor, other in zip(left, right):
            torch.testing.assert_close(tensor, other, **support.tolerance(torch.float32))
    assert all(tensor.grad is None for tensor in ours[0])


#: For each function: the lists of state with their values before the first step, and the arguments by keyword.
STEPS = {
    "adadelta": ([0.0, 0.0], dict(lr=0.5, rho=0.75, eps=1e-6, weight_decay=0.01, maximize=False)),
    "adagrad": ([0.25], dict(lr=0.1, weight_decay=0.01, lr_decay=0.1, eps=1e-10, maximize=True)),
    "adamax": ([0.0, 0.0], dict(eps=1e-8, beta1=0.8, beta2=0.99, lr=0.1, weight_decay=0.01)),
    # The caller chooses the first rate and weight, which a class would take from the learning rate.
    "asgd": ([0.0, [0.5], [0.375]], dict(lambd=0.1, lr=0.1, t0=1, alpha=0.75, weight_decay=0.01, maximize=True)),
    "nadam": ([0.0, 0.0, [1.0]],
              dict(beta1=0.8, beta2=0.99, lr=0.1, weight_decay=0.01, momentum_decay=0.1, eps=1e-8,
                   decoupled_weight_decay=True)),
    "radam": ([0.0, 0.0], dict(beta1=0.8, beta2=0.9, lr=0.1, weight_decay=0.01, eps=1e-8)),
    "rmsprop": ([0.0, 0.0, 0.0],
                dict(lr=0.1, alpha=0.9, eps=1e-8, weight_decay=0.01, momentum=0.9, centered=True)),
    "rprop": ([0.0, 0.125], dict(step_size_min=1e-6, step_size_max=0.5, etaminus=0.5, etaplus=1.5)),
}


@DEVICES
@pytest.mark.parametrize("name", STEPS)
def test_step(name, device):
    """Six steps, some with gradients of the other sign, and with a parameter that has none."""
    initial, options = STEPS[name]
    params = [tensors(device, 1) for _ in range(2)]
    states = [[[torch.full((), value[0], device=device) if isinstance(value, list) else torch.full_like(param, value)
                for param in params[0]] for value in initial] for _ in range(2)]
    steps = [[torch.zeros((), device=device) for _ in params[0]] for _ in range(2)]
    for step in range(6):
        grads = [grad * (-1) ** (step // 2) for grad in tensors(device, 2 + step % 3)]
        getattr(functional, name)(params[0], grads, *states[0], steps[0], **options)
        rest = {} if name == "adagrad" else {"has_complex": False}
        theirs(name)(params[1], grads, *states[1], steps[1], foreach=False, **rest, **options)
    for left, right in zip((params[0], *states[0], steps[0]), (params[1], *states[1], steps[1]), strict=True):
        for tensor, other in zip(left, right, strict=True):
            torch.testing.assert_close(tensor, other, **support.tolerance(torch.float32))


@DEVICES
@pytest.mark.parametrize("as_tensors", [False, True])
def test_sparse_adam(as_tensors, device):
    """Dense gradients against sparse ones; the numbers of the steps are only read, as by PyTorch's function."""
    options = dict(eps=1e-3, beta1=0.75, beta2=0.875, lr=0.05, maximize=True)
    params = [tensors(device, 1) for _ in range(2)]
    params = [[param for param in each if param.dim()] for each in params]  # PyTorch's takes none without dimensions
    states = [[[torch.zeros_like(param) for param in params[0]] for _ in range(2)] for _ in range(2)]
    for step in range(1, 5):
        steps = [torch.tensor(float(step), device=device) if as_tensors else step for _ in params[0]]
        grads = [torch.where(grad > 0.3, grad, 0 * grad) for grad in tensors(device, 1 + step) if grad.dim()]
        functional.sparse_adam(params[0], grads, *states[0], steps, **options)
        assert all(count == step for count in steps)
        theirs("sparse_adam")(params[1], [grad.to_sparse() for grad in grads], *states[1], [step] * len(grads), **options)
    for left, right in zip((params[0], *states[0]), (params[1], *states[1]), strict=True):
        for tensor, other in zip(left, right, strict=True):
            torch.testing.assert_close(tensor, other, **support.tolerance(torch.float32))
    lists = [[torch.ones(3)] for _ in range(4)]
    for wrong, found in ((0, "0"), ("1", "'1'"), (torch.ones(2), "tensor")):
        with pytest.raises(heddle.BadInput, match=rf"^sparse_adam: state_steps\[0\]: expected the number .*, found {found}"):
            functional.sparse_adam(*lists, [wrong], **options)
    with pytest.raises(heddle.BadInput, match=r"^sparse_adam: grads\[0\]: expected a dense tensor, found layout"):
        functional.sparse_adam(lists[0], [lists[1][0].to_sparse()], *lists[2:], [1], **options)
    assert all(torch.equal(each[0], torch.ones(3)) for each in lists)


def test_lion():
    params, grads, means = [torch.ones(3)], [torch.tensor([1.0, -2.0, 0.0])], [torch.zeros(3)]
    functional.lion(params, grads, means, lr=0.5, beta1=0.75, beta2=0.5, weight_decay=0.5, maximize=False)
    torch.testing.assert_close(params[0], torch.tensor([0.25, 1.25, 0.75]))
    torch.testing.assert_close(means[0], torch.tensor([0.5, -1.0, 0.0]))
    # PyTorch has no such function: the arguments have the defaults of the class.
    functional.lion(params, grads, means, lr=0.5)
    torch.testing.assert_close(params[0], torch.tensor([-0.25, 1.75, 0.75]))


def test_lists_that_the_options_do_not_need():
    params, grads, squares, steps = [torch.ones(3)], [torch.ones(3)], [torch.zeros(3)], [torch.zeros(())]
    options = dict(lr=0.1, alpha=0.75, eps=0.0, weight_decay=0, momentum=0, centered=False)
    functional.rmsprop(params, grads, squares, [], [], steps, **options)
    torch.testing.assert_close(params[0], torch.full((3,), 0.8))
    with pytest.raises(heddle.BadInput, match="expected 1 tensors of state 'grad_avg', found 0"):
        functional.rmsprop(params, grads, squares, [], [], steps, **{**options, "centered": True})


@DEVICES
def test_sgd_creates_its_state(device):
    ours = [tensors(device, seed) for seed in (1, 2)]
    others = [[tensor.clone() for tensor in each] for each in ours]
    buffers = [[None] * len(ours[0]) for _ in range(2)]
    for _ in range(3):
        functional.sgd(*ours, buffers[0], **SGD)
        theirs("sgd")(*others, buffers[1], foreach=False, **SGD)
    for left, right in zip((ours[0], buffers[0]), (others[0], buffers[1])):
        for tensor, other in zip(left, right):
            torch.testing.assert_close(tensor, other, **support.tolerance(torch.float32))


@DEVICES
def test_lists_of_other_tensors(device):
    """A function keeps nothing of a call, and serves lists of other shapes in turn."""
    import gc
    import weakref

    plain = dict(SGD, momentum=0, dampening=0, weight_decay=0)
    for shapes in ([(3,), (4, 2)], [(5,)], [(3,), (4, 2)]):
        params = [torch.ones(shape, device=device) for shape in shapes]
        functional.sgd(params, [torch.ones_like(param) for param in params], [], **plain)
        for param in params:
            torch.testing.assert_close(param, torch.full_like(param, 0.9))
        dead = [weakref.ref(param.untyped_storage()) for param in params]
        gc.collect()
        assert all(each() is not None for each in dead)
        del params, param
        gc.collect()
        assert all(each() is None for each in dead)


def test_scaling():
    params = [torch.zeros(3)]
    plain = dict(SGD, momentum=0, dampening=0, weight_decay=0)
    for found, expected in ((1.0, 0.0), (0.0, -0.2)):
        functional.sgd(params, [torch.full((3,), 8.0)], [], grad_scale=torch.tensor(4.0), found_inf=torch.tensor(found), **plain)
        torch.testing.assert_close(params[0], torch.full((3,), expected))


def test_mistakes():
    params = [torch.zeros(3)]
    with pytest.raises(heddle.BadInput, match=r"gradient 0: expected shape \(3,\) and dtype torch.float32 on cpu, found \(4,\)"):
        functional.sgd(params, [torch.zeros(4)], [None], **SGD)
    with pytest.raises(heddle.BadInput, match="expected 1 gradients, found 0"):
        functional.sgd(params, [], [None], **SGD)
    with pytest.raises(heddle.BadInput, match="expected 1 tensors of state 'exp_avg_sq', found 2"):
        functional.adam(params, params, params, params * 2, [], [torch.zeros(())], **dict(ADAM, amsgrad=False))
    with pytest.raises(heddle.BadInput, match=r"^sgd: params\[0\]: expected a tensor, found float"):
        functional.sgd([1.0], params, [None], **SGD)
    with pytest.raises(heddle.BadInput, match=r"^sgd: d_p_list\[0\]: expected a tensor or None, found ndarray"):
        functional.sgd(params, [params[0].numpy()], [None], **SGD)
    lists = [[torch.zeros(3)] for _ in range(4)]
    with pytest.raises(heddle.BadInput, match=r"^adam: state_steps\[0\]: expected a tensor, found int"):
        functional.adam(*lists, [], [1], **dict(ADAM, amsgrad=False))
    memory = torch.zeros(4)
    with pytest.raises(heddle.BadInput, match=r"^parameter 'params\[1\]': .* overlap with parameter 'params\[0\]'"):
        functional.sgd([memory[:3], memory[2:]], [torch.ones(3), torch.ones(2)], [None] * 2, **SGD)
    assert not memory.any()
    with pytest.raises(RuntimeError, match="sparse"):
        functional.sgd(params, params, [None], True, **SGD)


def test_a_tuple_cannot_take_state():
    params = [torch.ones(3)]
    with pytest.raises(heddle.BadInput, match=r"^sgd: momentum_buffer_list: expected a list, so .* params\[0\], found tuple"):
        functional.sgd(params, [torch.ones(3)], (None,), **SGD)
    torch.testing.assert_close(params[0], torch.ones(3), rtol=0, atol=0)  # nothing is written
    plain = dict(SGD, momentum=0, dampening=0, nesterov=False)
    for unneeded in ((None,), (torch.ones(3),)):
        functional.sgd(params, [torch.ones(3)], unneeded, **plain)
    functional.sgd(params, [None], (None,), **SGD)
    functional.sgd(params, [torch.ones(3)], (torch.ones(3),), **SGD)


class Number:
    """A hyperparameter that calls a function when it is read for the first time."""

    def __init__(self, value, action):
        self.value, self.action = value, action

    def __float__(self):
        action, self.action = self.action, lambda: None
        action()
        return self.value


CHANGES = {
    "pop": list.pop,
    "clear": list.clear,
    "append": lambda members: members.append(torch.ones(2)),
    "replace": lambda members: members.__setitem__(0, torch.ones_like(members[0])),
    "None": lambda members: members.__setitem__(1, None),
    "text": lambda members: members.__setitem__(1, "x"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("entry", ["lr", "eps", "beta1"])
def test_a_hyperparameter_that_changes_a_list(entry, place, change):
    """The step has the members of the lists as they were given."""
    options = {**ADAM, "amsgrad": False}
    ours = [[torch.ones(3), torch.ones(4)] for _ in range(2)]
    ours += [[torch.zeros(3), torch.zeros(4)] for _ in range(2)] + [[torch.tensor(0.0), torch.tensor(0)]]  # an int counter
    others = [[tensor.clone().float() for tensor in each] for each in ours]
    given = [list(each) for each in ours]
    action = Number(options[entry], lambda: CHANGES[change](given[place]))
    functional.adamw(*given[:4], [], given[4], **{**options, entry: action})
    theirs("adamw")(*others[:4], [], others[4], foreach=False, **options)
    for left, right in zip(ours, others):
        torch.testing.assert_close([each.float() for each in left], right)
    assert [list(map(id, left)) == list(map(id, right)) for left, right in zip(given, ours)].count(False) == 1


@pytest.mark.parametrize("change, expected", [
    (list.pop, [None]), (list.clear, []), (lambda members: members.append(None), [None, None, None]),
    (lambda members: members.__setitem__(0, "x"), ["x", None]),
])
def test_a_hyperparameter_that_changes_a_list_for_new_state(change, expected):
    """A place that is not as it was stays as it is; the others get their state."""
    params, buffers = [torch.ones(3), torch.ones(4)], [None, None]
    lr = Number(0.5, lambda: change(buffers))
    functional.sgd(params, [torch.ones(3), torch.ones(4)], buffers, **{**SGD, "lr": lr, "weight_decay": 0})
    assert all(torch.equal(param, torch.full_like(param, 0.5)) for param in params)
    assert len(buffers) == len(expected)
    for place, (found, value) in enumerate(zip(buffers, expected)):
        assert found == "x" if value == "x" else place == 2 or torch.equal(found, torch.ones_like(params[place]))


def test_a_hyperparameter_that_calls_the_function():
    """Each call has its own tensors."""
    outer, inner = [torch.ones(3)], [torch.full((3,), 2.0)]

    def call(params, lr):
        functional.sgd(params, [torch.ones(3)], [None], **{**SGD, "lr": lr, "weight_decay": 0})

    thread = threading.Thread(target=call, args=(outer, Number(0.5, lambda: call(inner, 0.25))), daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert outer[0].tolist() == [0.5] * 3 and inner[0].tolist() == [1.75] * 3


def test_a_child_forked_during_calls_of_other_threads():
    """One thread is inside of a function, another compiles. Both keep a lock that nobody unlocks in the child."""
    code = """
import os, signal, sys, threading, torch, heddle
from heddle.optim import functional, _programs

settings = dict(weight_decay=0, momentum=0, dampening=0, nesterov=False, maximize=False)
forked, calling, compiling = threading.Event(), threading.Event(), threading.Event()

class SlowNumber:
    def __float__(self):
        calling.set()
        forked.wait()
        return 0.5

def call(lr):
    param = torch.ones(3)
    functional.sgd([param], [torch.ones(3)], [None], lr=lr, **settings)
    return param[0].item()

def compile(*arguments, **keywords):
    compiling.set()
    forked.wait()
    return compile_now(*arguments, **keywords)

def step():
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    heddle.optim.SGD([param], lr=0.5, momentum=0.9).step()
    return param[0].item()

call(0.5)
compile_now = _programs._executable.compile
threads = [threading.Thread(target=call, args=(SlowNumber(),)), threading.Thread(target=step)]
threads[0].start()
calling.wait()
_programs._executable.compile = compile
threads[1].start()
compiling.wait()
_programs._executable.compile = compile_now
child = os.fork()
if not child:
    signal.alarm(60)
    print(call(0.5), step(), flush=True)
    os._exit(0)
forked.set()
for thread in threads:
    thread.join()
print(os.waitpid(child, 0)[1], call(0.5), step())
"""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    result = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, text=True,
                            capture_output=True, timeout=300)
    assert result.stdout == "0.5 0.5\n0 0.5 0.5\n", result.stdout + result.stderr
