"""Decays of at most 0.5 of the mean of gradients, as generative adversarial networks use: the mean is that of torch's lerp.

PyTorch rounds the decay to float32, so its means differ by some units of 2^-24.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402

CLASSES = ["Adam", "AdamW", "NAdam", "RAdam", "Adamax"]


def means(make, gradients, betas=()):
    """`exp_avg` after a step with each gradient; `betas[k]`, if given, holds from step k on."""
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = make([param])
    found = []
    for k, gradient in enumerate(gradients):
        if k < len(betas):
            optimizer.param_groups[0]["betas"] = betas[k]
        param.grad = torch.full_like(param, gradient)
        optimizer.step()
        found.append(optimizer.state[param]["exp_avg"].clone())
    return found


@pytest.mark.parametrize("beta1", [0.0, 0.1, 0.5, 0.50001, 0.9])
@pytest.mark.parametrize("name", CLASSES)
def test_large_gradients_leave_nothing_of_their_rounding(name, beta1):
    gradients = [1e5, 1e-3, -3.0]
    ours, theirs = (
        means(lambda params: getattr(module, name)(params, betas=(beta1, 0.5)), gradients)
        for module in (heddle.optim, torch.optim)
    )
    for mean, expected in zip(ours, theirs):
        torch.testing.assert_close(mean, expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", CLASSES)
def test_a_decay_may_become_small_and_large_again(name):
    betas = [(0.9, 0.5), (0.0, 0.5), (0.3, 0.5), (0.9, 0.5)]
    ours, theirs = (
        means(getattr(module, name), [1e5, 1e-3, 2.0, 5.0], betas) for module in (heddle.optim, torch.optim)
    )
    for mean, expected in zip(ours, theirs):
        torch.testing.assert_close(mean, expected, rtol=1e-6, atol=0)


def test_groups_with_small_and_large_decays_share_a_program():
    values = []
    for module in (heddle.optim, torch.optim):
        params = [torch.nn.Parameter(torch.ones(4)) for _ in range(2)]
        optimizer = module.AdamW([{"params": params[:1], "betas": (0.0, 0.5)}, {"params": params[1:]}])
        for gradient in (1e5, 1e-3):
            for param in params:
                param.grad = torch.full_like(param, gradient)
            optimizer.step()
        values.append([optimizer.state[param]["exp_avg"] for param in params])
        copied = copy.deepcopy(optimizer)
        copied.step()
    for mean, expected in zip(*values):
        torch.testing.assert_close(mean, expected, rtol=1e-6, atol=0)


def test_adopt_takes_the_gradient_itself_without_a_decay():
    param = torch.nn.Parameter(torch.ones(2, dtype=torch.float32))
    optimizer = heddle.optim.ADOPT([param], betas=(0.0, 0.9999), clip=False)
    for gradient in (1.0, 1e6, 1e-2):
        param.grad = torch.full_like(param, gradient)
        before = optimizer.state[param]["exp_avg_sq"].clone() if optimizer.state[param] else None
        optimizer.step()
    expected = param.grad / before.sqrt()
    torch.testing.assert_close(optimizer.state[param]["exp_avg"], expected, rtol=1e-6, atol=0)


def test_the_program_for_larger_decays_stays_as_it_is():
    text = heddle.emit("adamw", "foreach")
    assert "is_near" not in text
    assert heddle.emit("adamw:beta1=0.8", "foreach").count("is_near") == 0
    assert "is_near" in heddle.emit("adamw:beta1=0.5", "foreach")
