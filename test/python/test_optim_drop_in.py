"""Changes between steps that torch.optim follows: replaced memory, parameters, options, and frozen parameters.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy
import pytest

torch = pytest.importorskip("torch")

import heddle.optim

CLASSES = (heddle.optim, torch.optim)


def both(check):
    """Returns the results of `check` with heddle's and with PyTorch's optimizers, which must agree."""
    ours, theirs = (check(module) for module in CLASSES)
    for found, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_state_whose_tensors_get_other_memory():
    def check(module):
        param = torch.nn.Parameter(torch.linspace(-1, 1, 1000))
        optimizer = module.SGD([param], lr=0.1, momentum=0.9)
        kept = []
        for step in range(6):
            param.grad = torch.full((1000,), 1.0 + step)
            optimizer.step()
            buffer = optimizer.state[param]["momentum_buffer"]
            kept.append(buffer.data)
            buffer.data = torch.zeros(1000) if step == 2 else buffer.data.clone()
        return param.detach(), optimizer.state[param]["momentum_buffer"], *kept

    both(check)


def test_state_that_is_replaced_is_not_kept_alive():
    import weakref

    param = torch.nn.Parameter(torch.ones(10))
    optimizer = heddle.optim.AdamW([param])
    param.grad = torch.ones(10)
    optimizer.step()
    old = weakref.ref(optimizer.state[param]["exp_avg"])
    optimizer.state[param]["exp_avg"] = torch.zeros(10)
    assert old() is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_a_parameter_whose_order_in_memory_changes(dtype):
    def check(module):
        param = torch.nn.Parameter(torch.arange(6.0).to(dtype).reshape(2, 3))
        optimizer = module.AdamW([param], lr=0.1)
        column = torch.arange(6.0).to(dtype).reshape(3, 2).t()
        param.grad = column
        optimizer.step()
        param.data = param.data.t().contiguous().t()
        param.grad = column.contiguous()
        optimizer.step()
        param.data = param.data.contiguous()
        param.grad = column
        optimizer.step()
        return param.detach(), optimizer.state[param]["exp_avg"]

    both(check)


def test_a_parameter_of_one_element_that_is_replaced():
    def check(module):
        first = torch.nn.Parameter(torch.tensor(0.5))
        optimizer = module.AdamW([first], lr=0.1)
        first.grad = torch.ones(())
        optimizer.step()
        second = torch.nn.Parameter(first.detach().clone())
        optimizer.param_groups[0]["params"][0] = second
        second.grad = torch.ones(())
        optimizer.step()
        return first.detach(), second.detach()

    both(check)


def test_frozen_parameters_of_any_type():
    def check(module):
        frozen = [
            torch.nn.Parameter(torch.ones(4, dtype=torch.uint8), requires_grad=False),
            torch.nn.Parameter(torch.ones(4, dtype=torch.int32), requires_grad=False),
            torch.nn.Parameter(torch.ones(4, device="meta")),
        ]
        param = torch.nn.Parameter(torch.ones(4))
        optimizer = module.AdamW([*frozen, param], lr=0.1)
        for _ in range(3):
            param.grad = torch.ones(4)
            optimizer.step()
        return (param.detach(),)

    both(check)


def test_options_that_change_in_place():
    def check(module):
        param = torch.nn.Parameter(torch.ones(4))
        decay = torch.tensor(0.0)
        optimizer = module.SGD([param], lr=0.1, weight_decay=decay)
        for step in range(3):
            param.grad = torch.ones(4)
            decay.fill_(0.5 * step)
            optimizer.step()
        return (param.detach(),)

    both(check)
    param, lr = torch.nn.Parameter(torch.ones(1)), numpy.array(0.5)
    optimizer = heddle.optim.SGD([param], lr=lr)
    for _ in range(2):
        param.grad = torch.ones(1)
        optimizer.step()
        lr *= 0.5
    assert param.item() == 0.25


@pytest.mark.parametrize("arguments", [((), {}), ((lambda: 1.0,), {}), ((), {"closure": lambda: 1.0})])
def test_hooks_see_the_arguments_as_given(arguments):
    args, kwargs = arguments
    seen = []
    for module in CLASSES:
        param = torch.nn.Parameter(torch.ones(1))
        optimizer = module.SGD([param])
        optimizer.register_step_pre_hook(lambda self, args, kwargs: seen.append((args[1:], kwargs)))
        optimizer.step(*args, **kwargs)
    assert seen[0] == seen[1] == (args, kwargs)


def test_functions_need_their_state():
    param, grad = torch.ones(2), torch.ones(2)
    options = dict(amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.0, eps=1e-8, maximize=False)
    with pytest.raises(heddle.BadInput, match="'exp_avg_sq'"):
        heddle.optim.functional.adamw([param], [grad], [torch.zeros(2)], [], [], [torch.zeros(())], **options)
    assert (param == 1).all()


@pytest.mark.parametrize("name, state", [("ASGD", "eta"), ("Rprop", "step_size"), ("Adagrad", "sum")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_initial_state_is_that_of_the_group(name, state, dtype):
    """The value of each group, a number or a tensor, as of the first step; the groups share a launch."""

    def check(module):
        params = [torch.nn.Parameter(torch.linspace(-1, 1, 5).to(dtype)) for _ in range(3)]
        rates = (0.5, 0.25, torch.tensor(0.125, dtype=torch.float64))
        groups = [{"params": [param], "lr": rate} for param, rate in zip(params, rates)]
        # torch's Adagrad makes its state with the optimizer, from the argument.
        rest = {"initial_accumulator_value": 0.375} if name == "Adagrad" else {}
        optimizer = getattr(module, name)(groups, foreach=False, **rest)
        optimizer.param_groups[0]["lr"] = 1.0
        for step in range(4):
            for param in params:
                param.grad = torch.linspace(0.5, step - 1.5, 5).to(dtype) * (1 if dtype == torch.float32 else 1 - 2j)
            optimizer.step()
        if module is heddle.optim:
            assert len(optimizer._parts[False]) == 1
        return [*(param.detach() for param in params), *(optimizer.state[param][state] for param in params)]

    both(check)


def test_optimizers_that_heddle_does_not_have():
    with pytest.raises(AttributeError, match=r"no attribute 'LBFGS'; it has SGD, Adam, AdamW, .*heddle\.rule"):
        heddle.optim.LBFGS
    with pytest.raises(AttributeError, match=r"heddle\.rule, or use torch\.optim\.LBFGS$"):
        heddle.optim.LBFGS
    with pytest.raises(AttributeError, match=r"no attribute 'Lamb'; .*heddle\.rule$"):
        heddle.optim.Lamb


def test_modules_of_torch_optim():
    """After `import heddle.optim as optim` in place of `import torch.optim as optim`."""
    from heddle.optim import lr_scheduler
    from heddle.optim.lr_scheduler import StepLR

    assert lr_scheduler is heddle.optim.lr_scheduler is torch.optim.lr_scheduler and StepLR is lr_scheduler.StepLR
    assert heddle.optim.swa_utils is torch.optim.swa_utils
    assert {"functional", "lr_scheduler", "swa_utils"} < set(dir(heddle.optim))
