"""Every optimizer fits a convex problem and a small network."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle.optim  # noqa: E402
from heddle.optim._table import SPECS  # noqa: E402

#: Options with which 300 steps suffice; the rate is 0.05 otherwise.
OPTIONS = {
    "SGD": dict(lr=0.05, momentum=0.9),
    "Adadelta": dict(lr=10.0, rho=0.9),
    "Adagrad": dict(lr=0.5),
    "ASGD": dict(lr=0.3, lambd=0),
    "RMSprop": dict(lr=0.01, alpha=0.9),
    "Rprop": dict(lr=0.01),
    "Lion": dict(lr=0.01),
    "LARS": dict(lr=1.0, trust_coefficient=0.01),
    "LAMB": dict(lr=0.02),
    "LaProp": dict(lr=0.02),
    "NovoGrad": dict(lr=0.02),
    "Prodigy": dict(lr=1.0),
    "SGDScheduleFree": dict(lr=1.0),
}


def fit(name, model, loss_of):
    optimizer = getattr(heddle.optim, name)(model.parameters(), **OPTIONS.get(name, dict(lr=0.05)))
    has_modes = hasattr(optimizer, "eval") and hasattr(optimizer, "train")
    if has_modes:
        optimizer.train()
    first = loss_of(model).item()
    for _ in range(300):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    if has_modes:
        optimizer.eval()
    return loss_of(model).item() / first


@pytest.mark.parametrize("name", SPECS)
def test_least_squares(name):
    torch.manual_seed(0)
    inputs = torch.randn(64, 10)
    targets = inputs @ torch.randn(10, 3) + 0.5
    model = torch.nn.Linear(10, 3)
    assert fit(name, model, lambda model: ((model(inputs) - targets) ** 2).mean()) < 0.02


@pytest.mark.parametrize("name", SPECS)
def test_network(name):
    """Two rings, which no plane separates."""
    torch.manual_seed(0)
    angles, labels = torch.rand(128) * 6.28, torch.arange(128) % 2
    inputs = torch.stack([angles.cos(), angles.sin()], 1) * (1 + labels[:, None])
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    assert fit(name, model, lambda model: torch.nn.functional.cross_entropy(model(inputs), labels)) < 0.3
