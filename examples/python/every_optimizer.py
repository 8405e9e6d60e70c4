#!/usr/bin/env python3
"""Fits a convex problem and a small network with every optimizer of `heddle.optim`, and prints their losses.

    every_optimizer.py [--steps N] [NAME...]

The problems are least squares, and two rings of points, which no plane separates.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse

import torch

import heddle.optim

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


def least_squares():
    """A linear model, and its loss."""
    torch.manual_seed(0)
    inputs = torch.randn(64, 10)
    targets = inputs @ torch.randn(10, 3) + 0.5
    model = torch.nn.Linear(10, 3)
    return model, lambda: ((model(inputs) - targets) ** 2).mean()


def rings():
    """A network of two layers, and its loss."""
    torch.manual_seed(0)
    angles, labels = torch.rand(128) * 6.28, torch.arange(128) % 2
    inputs = torch.stack([angles.cos(), angles.sin()], 1) * (1 + labels[:, None])
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    return model, lambda: torch.nn.functional.cross_entropy(model(inputs), labels)


def fit(name, problem, steps=300):
    """The losses before and after the steps."""
    model, loss = problem()
    optimizer = getattr(heddle.optim, name)(model.parameters(), **OPTIONS.get(name, dict(lr=0.05)))
    # A schedule-free optimizer evaluates an average of the parameters.
    has_modes = hasattr(optimizer, "eval") and hasattr(optimizer, "train")
    if has_modes:
        optimizer.train()
    first = loss().item()
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    if has_modes:
        optimizer.eval()
    return first, loss().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("names", nargs="*", metavar="NAME", default=[])
    options = parser.parse_args()
    classes = {name: getattr(heddle.optim, name) for name in heddle.optim.__all__}
    names = [name for name, each in classes.items() if isinstance(each, type) and hasattr(each, "spec")]
    print(f"{'optimizer':18}{'least squares':>22}{'two rings':>22}")
    for name in options.names or names:
        cells = ["{:.4f} -> {:.4f}".format(*fit(name, problem, options.steps)) for problem in (least_squares, rings)]
        print(f"{name:18}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
