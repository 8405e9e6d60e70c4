"""The errors that docstrings of heddle.optim and heddle.ot list under `Raises` are those that calls raise."""

import inspect
import os
import sys

import numpy
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle.optim  # noqa: E402
import heddle.ot  # noqa: E402
from heddle.optim import functional  # noqa: E402

AdamW, ScheduleFree = heddle.optim.AdamW, heddle.optim.AdamWScheduleFree
M = numpy.ones((3, 4))


def made(make=AdamW, dtype=torch.float32, **options):
    param = torch.nn.Parameter(torch.ones(3, dtype=dtype))
    param.grad = torch.ones_like(param)
    return make([param], **options)


def changed(optimizer, **entries):
    optimizer.param_groups[0].update(entries)
    return optimizer


def with_scale(optimizer):
    optimizer.grad_scale = torch.ones(2)
    return optimizer


def with_sparse_gradient(optimizer):
    optimizer.param_groups[0]["params"][0].grad = torch.ones(3).to_sparse()
    return optimizer


def with_wrong_average(optimizer):
    optimizer.step()
    optimizer.state[optimizer.param_groups[0]["params"][0]]["z"] = torch.ones(2)
    return optimizer


def evaluated(optimizer):
    optimizer.step()
    optimizer.eval()
    return optimizer


def solved(costs=M):
    return heddle.ot.solve(costs, reg=1.0)


def solved_and_changed():
    costs = torch.ones(3, 4, dtype=torch.float64)
    result = solved(costs)
    costs.add_(1)
    return result


def solved_with_gradient():
    return solved(torch.ones(3, 4, dtype=torch.float64, requires_grad=True))


def adamw(grad, **options):
    ones = [torch.ones(3)]
    arguments = dict(amsgrad=False, beta1=0.9, beta2=0.9, lr=0.1, weight_decay=0, eps=1e-8, maximize=False, **options)
    functional.adamw(ones, [grad], [torch.ones(3)], [torch.ones(3)], [], [torch.tensor(0.0)], **arguments)


BAD, SHARED = heddle.BadInput, torch.nn.Parameter(torch.ones(3))
base, result = heddle.optim.Optimizer, heddle.ot.OTResult
ERRORS = [
    (AdamW, ValueError, lambda: made(lr=-1)),
    (AdamW, ValueError, lambda: made(master="split")),
    (AdamW, ValueError, lambda: AdamW([])),
    (AdamW, ValueError, lambda: AdamW([torch.ones(3, requires_grad=True) * 2])),
    (AdamW, ValueError, lambda: AdamW([{"params": [SHARED]}, {"params": [SHARED]}])),
    (AdamW, TypeError, lambda: made(lrr=1)),
    (AdamW, TypeError, lambda: made(lr="x")),
    (AdamW, TypeError, lambda: AdamW([1])),
    (base.add_param_group, ValueError, lambda: made().add_param_group({"params": [SHARED], "lr": -1})),
    (base.add_param_group, ValueError, lambda: AdamW([SHARED]).add_param_group({"params": [SHARED]})),
    (base.add_param_group, ValueError, lambda: made().add_param_group({"params": [("name", SHARED)]})),
    (base.add_param_group, ValueError, lambda: made().add_param_group({"params": [SHARED], "master": "split"})),
    (base.add_param_group, TypeError, lambda: made().add_param_group([SHARED])),
    (base.add_param_group, TypeError, lambda: made().add_param_group({"params": [1]})),
    (base.add_param_group, KeyError, lambda: made().add_param_group({"lr": 1})),
    (base.load_state_dict, BAD, lambda: made().load_state_dict({})),
    (base.load_state_dict, ValueError, lambda: made().load_state_dict({"state": {}, "param_groups": []})),
    (base.clip_grad_norm, BAD, lambda: setattr(made(), "clip_grad_norm", -1)),
    (base.step, BAD, lambda: changed(made(), lr="x").step()),
    (base.step, BAD, lambda: changed(made(), params=3).step()),
    (base.step, BAD, lambda: with_scale(made()).step()),
    (base.step, RuntimeError, lambda: with_sparse_gradient(made()).step()),
    (base.step, RuntimeError, lambda: evaluated(made(ScheduleFree)).step()),
    (ScheduleFree.eval, BAD, lambda: with_wrong_average(made(ScheduleFree)).eval()),
    (heddle.optim.masters, BAD, lambda: heddle.optim.masters(3)),
    (heddle.optim.masters, BAD, lambda: heddle.optim.masters(made(dtype=torch.complex64))),
    (heddle.optim.load_masters, BAD, lambda: heddle.optim.load_masters(3, [])),
    (heddle.optim.load_masters, BAD, lambda: heddle.optim.load_masters(made(), None)),
    (heddle.optim.load_masters, BAD, lambda: heddle.optim.load_masters(made(), [])),
    (heddle.optim.float32_state_dict, BAD, lambda: heddle.optim.float32_state_dict(3)),
    (functional.adamw, BAD, lambda: adamw(torch.ones(2))),
    (functional.adamw, BAD, lambda: adamw(torch.ones(3).to_sparse())),
    (functional.adamw, TypeError, lambda: adamw(torch.ones(3), beta3=1)),
    (heddle.ot.sinkhorn, BAD, lambda: heddle.ot.sinkhorn(M, eps=-1)),
    (heddle.ot.sinkhorn, TypeError, lambda: heddle.ot.sinkhorn(M, None, None, 1)),
    (heddle.ot.sinkhorn, TypeError, lambda: heddle.ot.sinkhorn(M, reg=1)),
    (heddle.ot.solve, BAD, lambda: heddle.ot.solve(M)),
    (heddle.ot.solve, BAD, lambda: heddle.ot.solve(M, reg=0)),
    (heddle.ot.solve, BAD, lambda: heddle.ot.solve(M, reg=1, n_threads=0)),
    (heddle.ot.solve, TypeError, lambda: heddle.ot.solve(reg=1)),
    (heddle.ot.solve_batch, BAD, lambda: heddle.ot.solve_batch(M[None], 1, method="proximal")),
    (heddle.ot.solve_batch, TypeError, lambda: heddle.ot.solve_batch(M[None], 1, eps=1)),
    (result, BAD, lambda: solved_and_changed().value),
    (result, heddle.Unavailable, lambda: solved_with_gradient().plan.sum().backward()),
    (result, AttributeError, lambda: solved().lazy_plan),
    (result.product, BAD, lambda: solved().product(M)),
    (result.product, BAD, lambda: solved().product(numpy.ones((4, 65)))),
    (result.product, BAD, lambda: solved().product(numpy.ones((4, 2), "c8"))),
    (result.projection, BAD, lambda: solved_and_changed().projection(torch.ones(4, 2, dtype=torch.float64))),
    (result.check, heddle.ot.NotSolved, lambda: heddle.ot.solve(numpy.eye(3), reg=1e-3, max_iter=0).check()),
]


@pytest.mark.parametrize("documented, error, call", ERRORS, ids=lambda each: getattr(each, "__name__", ""))
def test_an_error_is_documented(documented, error, call):
    _, _, listed = inspect.getdoc(documented).partition("Raises:")
    names = [name.strip() for line in listed.splitlines() if ": " in line for name in line.partition(": ")[0].split(",")]
    assert error.__name__ in names
    with pytest.raises(error):
        call()
