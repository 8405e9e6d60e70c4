"""Tensors without memory, and other tensors and objects that a caller has damaged, are errors in every call.

PyTorch reads a tensor at address 0 after ``untyped_storage().resize_(0)``, and the process ends.
"""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle.optim  # noqa: E402
from heddle import BadInput  # noqa: E402
from heddle._values import short  # noqa: E402

AVERAGES = pytest.mark.parametrize("name", ["SGDScheduleFree", "AdamWScheduleFree"])
MODES = pytest.mark.parametrize("mode", ["eval", "train"])


def freed(tensor):
    tensor.untyped_storage().resize_(0)
    return tensor


def parameter(count=3, dtype=torch.float32):
    param = torch.nn.Parameter(torch.ones(count, dtype=dtype))
    param.grad = torch.ones_like(param)
    return param


def stepped(name, params, **options):
    optimizer = getattr(heddle.optim, name)(params, **{"lr": 0.1, **options})
    optimizer.step()
    optimizer.step()
    return optimizer


def test_messages_do_not_read_tensors_without_memory():
    tensor = freed(torch.ones(2))
    assert short(tensor) == "a tensor of shape (2,) and dtype torch.float32 without memory"
    for value in ([tensor], {"x": (1, [tensor])}, (tensor,)):
        assert short(value) == f"{type(value).__name__} with a tensor of shape (2,) without memory"
    loop = [1]
    loop.append(loop)
    assert short(loop) == "[1, [...]]" and short(None) == "None" and short([None]) == "[None]"
    assert short(torch.ones(2)) == "tensor([1., 1.])" and short(torch._efficientzerotensor((2,))) == "tensor([0., 0.])"
    optimizer = heddle.optim.AdamW([parameter()])
    with pytest.raises(BadInput, match="clip_grad_norm: expected a number of at least 0 or None, found a tensor of shape"):
        heddle.optim.chain(clip_grad_norm=freed(torch.tensor(1.0)), optimizer=optimizer)
