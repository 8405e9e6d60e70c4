"""What the tests of heddle.optim share: PyTorch, devices, models and comparisons.

A test module starts with `torch = support.torch_or_skip()`, so that it is skipped where PyTorch is missing.
"""

import copy

import pytest

try:
    import torch
except ImportError:
    torch = None

#: The optimizers that every test of heddle.optim runs.
NAMES = ("SGD", "Adam", "AdamW")
#: All that PyTorch has, too.
TORCH_NAMES = (*NAMES, "Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")


def torch_or_skip():
    if torch is None:
        pytest.skip("needs PyTorch: tools/dev setup --torch", allow_module_level=True)
    return torch


def devices():
    """The devices on which every test runs: the CPU, and the GPU if there is one."""
    return ["cpu"] if torch is None or not torch.cuda.is_available() else ["cpu", "cuda"]


def heddle_class(name):
    import heddle.optim

    return getattr(heddle.optim, name)


SHAPES = ((3, 4), (7,), (), (2, 3, 4, 5), (0,), (1,), (1500,))


def parameters(device="cpu", dtype=None, shapes=SHAPES, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype or torch.float32))
        for shape in shapes
    ]


def copies(params):
    return [torch.nn.Parameter(param.detach().clone(memory_format=torch.preserve_format)) for param in params]


def set_gradients(params, others=(), step=0, skip=()):
    """Gives the same random gradients to both lists; those in `skip` have none."""
    generator = torch.Generator().manual_seed(100 + step)
    for place, param in enumerate(params):
        drawn = torch.randn(param.shape, generator=generator, dtype=torch.complex128 if param.is_complex() else torch.float64)
        for each in (param, *(others[place : place + 1])):
            each.grad = None if place in skip else drawn.to(each.device, each.dtype).clone()


def tolerance(dtype, steps=10):
    real = torch.empty((), dtype=dtype).real.dtype if dtype.is_complex else dtype
    unit = torch.finfo(real).eps
    return dict(rtol=16 * unit * steps, atol=4 * unit * steps)


def assert_same_state(ours, theirs, **options):
    """Compares the state dictionaries of two optimizers: keys, shapes, element types and values."""
    left, right = ours.state_dict()["state"], theirs.state_dict()["state"]
    assert left.keys() == right.keys()
    for index in right:
        assert left[index].keys() == right[index].keys()
        for key, value in right[index].items():
            found = left[index][key]
            assert found.shape == value.shape and found.dtype == value.dtype, key
            torch.testing.assert_close(found, value.to(found.device), **options)


def assert_same_params(ours, theirs, **options):
    for left, right in zip(ours, theirs):
        torch.testing.assert_close(left.detach(), right.detach().to(left.device), **options)


def pair(name, params, **options):
    """heddle's optimizer over `params`, and torch's loop over copies of them."""
    others = copies(params)
    theirs = getattr(torch.optim, name)(others, **{"foreach": False, **copy.deepcopy(options)})
    return heddle_class(name)(params, **options), theirs, others


def run(ours, theirs, params, others, steps, first=0, skip=lambda step: ()):
    for step in range(first, first + steps):
        set_gradients(params, others, step, skip(step))
        ours.step()
        theirs.step()


def compilations():
    import heddle

    return heddle.statistics()["compilations"]
