#!/usr/bin/env python3
"""An optimizer of your own in five lines: Lion.

    python3 examples/python/custom_rule.py

Prints the program and its cost, steps NumPy arrays on the cpu target, compares them with the formula in double, and, if
PyTorch is installed, trains a small network. Exit code 1 if a result is wrong.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys

import numpy

import heddle


@heddle.rule
def lion(p, g, m, *, lr=1e-4, b1=0.9, b2=0.99, wd=0.0):
    u = heddle.sign(b1 * m + (1 - b1) * g)
    return p * (1 - lr * wd) - lr * u, b2 * m + (1 - b2) * g


def steps_of_numpy_arrays():
    """Ten steps with a learning rate that changes; returns the largest error."""
    generator = numpy.random.default_rng(0)
    shapes = [(300, 40), (40,), (7, 3, 2)]
    params = [generator.standard_normal(shape).astype("f4") for shape in shapes]
    moments = [numpy.zeros_like(param) for param in params]
    expected = [param.astype("f8") for param in params], [moment.astype("f8") for moment in moments]

    graph = lion.compile(target="cpu", wd=0.1).graph()
    graph.bind_list("param", params)
    graph.bind_list("m", moments)
    for step in range(10):
        lr = 0.01 / (step + 1)
        grads = [generator.standard_normal(shape).astype("f4") for shape in shapes]
        graph.bind_list("grad", grads)
        graph.set_scalar("lr", lr)  # compiles nothing
        graph.replay()
        for p, m, g in zip(*expected, grads):
            u = numpy.sign(0.9 * m + 0.1 * g)
            p[...] = p * (1 - lr * 0.1) - lr * u
            m[...] = 0.99 * m + 0.01 * g
    return max(abs(param - p).max() for param, p in zip(params, expected[0]))


def train_with_torch():
    """The loss before and after training a small network."""
    import torch

    torch.manual_seed(0)
    data, target = torch.randn(256, 10), torch.randn(256, 1)
    model = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimizer = lion(model.parameters(), lr=3e-3, wd=0.01)
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = (model(data) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[0], losses[-1]


def main():
    print(lion.mlir())
    print(lion.explain(shapes=[(4096, 4096)]))
    error = steps_of_numpy_arrays()
    print(f"largest error of the parameters after 10 steps: {error:.1e}")
    good = error < 1e-5  # ten roundings of values up to 4
    try:
        before, after = train_with_torch()
        print(f"loss of the network before and after 200 steps: {before:.2f}, {after:.2f}")
        good = good and after < 0.5 * before
    except ImportError:
        print("PyTorch is not installed: no network was trained")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
