"""The formula of each program of this folder in NumPy, written from the paper and not from the program.

A formula has the arguments of the program's function: the arrays of one member in float64, and scalars. It returns the
results in their order. `@formula` adds the numbers that a test needs.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import numpy as np

SMALL = [(7,), (1,), (300,), (33, 9), (1025,)]
MATRICES = [(5, 7), (1, 9), (33, 40), (12, 300)]
SQUARE = [(5, 5), (2, 2), (40, 40), (65, 65)]


@dataclasses.dataclass
class Formula:
    """What a test does with a program: the shapes of members, the data of arguments, and the errors it allows."""

    function: Callable[..., Any]
    shapes: list[tuple[int, ...]]
    #: arguments whose members are vectors of columns; the other vectors of a program of matrices are of rows
    columns: tuple[str, ...] = ()
    #: data of arguments: a function of a generator, a shape, and the arrays of the arguments before it
    data: dict[str, Callable[..., Any]] = dataclasses.field(default_factory=dict)
    #: other values of scalars than their defaults
    scalars: dict[str, float] = dataclasses.field(default_factory=dict)
    steps: int = 3
    #: the largest error in units of the RMS value: of the interpreter, and in f32
    exact: float = 2e-6
    tolerance: float = 3e-5
    #: contents of lists for `heddle run --check`, whose data is not that of this file
    fill: tuple[str, ...] = ()
    #: whether the function has the arrays of all members, as lists
    whole: bool = False


FORMULAS: dict[str, Formula] = {}


def formula(shapes=None, **options):
    def register(function):
        FORMULAS[function.__name__] = Formula(function, SMALL if shapes is None else shapes, **options)
        return function

    return register


def positive_definite(rng, shape, made):
    factor = rng.standard_normal(shape)
    return factor @ factor.T / shape[0] + np.eye(shape[0])


def positive(rng, shape, made):
    return rng.random(shape) + 0.1


def probabilities(rng, shape, made):
    drawn = rng.random(shape) + 0.1
    return drawn / drawn.sum()


# ---- optimizers of elements ----


@formula()
def adabelief(param, grad, mean, belief, step, lr, beta1, beta2, eps):
    t = step + 1
    mean = beta1 * mean + (1 - beta1) * grad
    belief = beta2 * belief + (1 - beta2) * (grad - mean) ** 2 + eps
    denominator = np.sqrt(belief / (1 - beta2**t)) + eps
    return param - lr * mean / (1 - beta1**t) / denominator, mean, belief, t


@formula()
def adopt(param, grad, mean, square, step, lr, beta1, beta2, eps):
    if step == 0:
        return param, mean, grad**2, step + 1
    normed = grad / np.maximum(np.sqrt(square), eps)
    mean = beta1 * mean + (1 - beta1) * np.clip(normed, -(step**0.25), step**0.25)
    return param - lr * mean, mean, beta2 * square + (1 - beta2) * grad**2, step + 1


@formula()
def ademamix(param, grad, fast, slow, square, step, lr, beta1, beta2, beta3, alpha, eps, decay):
    t = step + 1
    fast = beta1 * fast + (1 - beta1) * grad
    slow = beta3 * slow + (1 - beta3) * grad
    square = beta2 * square + (1 - beta2) * grad**2
    update = (fast / (1 - beta1**t) + alpha * slow) / (np.sqrt(square / (1 - beta2**t)) + eps)
    return param - lr * (update + decay * param), fast, slow, square, t


@formula()
def adan(param, grad, mean, change, square, previous, step, lr, beta1, beta2, beta3, eps, decay):
    difference = grad - previous if step > 0 else 0 * grad
    mean += beta1 * (grad - mean)
    change += beta2 * (difference - change)
    square += beta3 * ((grad + (1 - beta2) * difference) ** 2 - square)
    update = (mean + (1 - beta2) * change) / (np.sqrt(square) + eps)
    return (param - lr * update) / (1 + lr * decay), mean, change, square, grad, step + 1


@formula()
def yogi(param, grad, mean, square, lr, beta1, beta2, eps):
    mean = beta1 * mean + (1 - beta1) * grad
    square = square - (1 - beta2) * np.sign(square - grad**2) * grad**2
    return param - lr * mean / (np.sqrt(square) + eps), mean, square


@formula()
def laprop(param, grad, mean, square, step, lr, beta1, beta2, eps):
    t = step + 1
    square = beta2 * square + (1 - beta2) * grad**2
    mean = beta1 * mean + (1 - beta1) * grad / (np.sqrt(square / (1 - beta2**t)) + eps)
    return param - lr * mean / (1 - beta1**t), mean, square, t


@formula()
def lion(param, grad, mean, lr, beta1, beta2, decay):
    update = np.sign(beta1 * mean + (1 - beta1) * grad)
    return (1 - lr * decay) * param - lr * update, beta2 * mean + (1 - beta2) * grad


@formula()
def cautious_lion(param, grad, mean, lr, beta1, beta2):
    update = np.sign(beta1 * mean + (1 - beta1) * grad)
    mask = (update * grad > 0).astype(float)
    update = update * mask / max(mask.mean(), 1e-3)
    return param - lr * update, beta2 * mean + (1 - beta2) * grad


@formula()
def mars(param, grad, previous, mean, square, step, lr, beta1, beta2, gamma, eps, decay):
    t = step + 1
    corrected = grad + gamma * beta1 / (1 - beta1) * (grad - previous)
    norm = np.linalg.norm(corrected)
    corrected = corrected / norm if norm > 1 else corrected
    mean = beta1 * mean + (1 - beta1) * corrected
    square = beta2 * square + (1 - beta2) * corrected**2
    update = mean / (1 - beta1**t) / (np.sqrt(square / (1 - beta2**t)) + eps)
    return param - lr * (update + decay * param), grad, mean, square, t


@formula()
def lars(param, grad, velocity, lr, momentum, eta, decay, eps):
    norm = np.linalg.norm(param)
    rate = eta * norm / (np.linalg.norm(grad) + decay * norm + eps)
    velocity = momentum * velocity + lr * rate * (grad + decay * param)
    return param - velocity, velocity


@formula()
def sign_trust(param, grad, mean, lr, beta):
    mean = beta * mean + (1 - beta) * grad
    direction = np.sign(mean)
    trust = np.linalg.norm(param) / max(np.linalg.norm(direction), 1)
    return param - lr * trust * direction, mean


@formula()
def lamb(param, grad, mean, square, step, lr, beta1, beta2, eps, decay):
    t = step + 1
    mean = beta1 * mean + (1 - beta1) * grad
    square = beta2 * square + (1 - beta2) * grad**2
    update = mean / (1 - beta1**t) / (np.sqrt(square / (1 - beta2**t)) + eps) + decay * param
    sizes = np.linalg.norm(param), np.linalg.norm(update)
    trust = sizes[0] / sizes[1] if min(sizes) > 0 else 1.0
    return param - lr * trust * update, mean, square, t


@formula()
def novograd(param, grad, mean, square, step, lr, beta1, beta2, eps, decay):
    norm2 = np.sum(grad**2)
    square = norm2 if step == 0 else beta2 * square + (1 - beta2) * norm2
    mean = beta1 * mean + grad / (np.sqrt(square) + eps) + decay * param
    return param - lr * mean, mean, square, step + 1


@formula()
def adamax(param, grad, mean, most, step, lr, beta1, beta2, eps):
    mean = beta1 * mean + (1 - beta1) * grad
    most = np.maximum(beta2 * most, np.abs(grad) + eps)
    return param - lr / (1 - beta1 ** (step + 1)) * mean / most, mean, most, step + 1


@formula()
def nadam(param, grad, mean, square, step, product, lr, beta1, beta2, eps):
    t = step + 1
    mu, following = (beta1 * (1 - 0.5 * 0.96 ** (0.004 * k)) for k in (t, t + 1))
    product = product * mu
    mean = beta1 * mean + (1 - beta1) * grad
    square = beta2 * square + (1 - beta2) * grad**2
    denominator = np.sqrt(square / (1 - beta2**t)) + eps
    param = param - lr * (1 - mu) / (1 - product) * grad / denominator
    param = param - lr * following / (1 - product * following) * mean / denominator
    return param, mean, square, t, product


@formula(steps=9)
def radam(param, grad, mean, square, step, lr, beta1, beta2, eps):
    t = step + 1
    mean = beta1 * mean + (1 - beta1) * grad
    square = beta2 * square + (1 - beta2) * grad**2
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * t * beta2**t / (1 - beta2**t)
    corrected = mean / (1 - beta1**t)
    if length > 5:
        rectification = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
        corrected = corrected * rectification * (1 - beta2**t) ** 0.5 / (np.sqrt(square) + eps)
    return param - lr * corrected, mean, square, t


# The variance is a difference of squares, so it loses digits.
@formula(tolerance=1e-4)
def rmsprop(param, grad, square, mean, buffer, lr, alpha, momentum, eps):
    square = alpha * square + (1 - alpha) * grad**2
    mean = alpha * mean + (1 - alpha) * grad
    variance = np.maximum(square - mean**2, 0)
    buffer = momentum * buffer + grad / (np.sqrt(variance) + eps)
    return param - lr * buffer, square, mean, buffer


@formula(steps=5)
def rprop(param, grad, previous, size, shrink, grow, least, most):
    agreement = np.sign(grad * previous)
    size = np.clip(np.where(agreement > 0, size * grow, np.where(agreement < 0, size * shrink, size)), least, most)
    grad = np.where(agreement < 0, 0, grad)
    return param - np.sign(grad) * size, grad, size


@formula()
def adadelta(param, grad, square, moves, lr, rho, eps):
    square = rho * square + (1 - rho) * grad**2
    move = np.sqrt((moves + eps) / (square + eps)) * grad
    return param - lr * move, square, rho * moves + (1 - rho) * move**2


@formula()
def adagrad(param, grad, sum, step, lr, decay, eps):
    sum = sum + grad**2
    return param - lr / (1 + step * decay) * grad / (np.sqrt(sum) + eps), sum, step + 1


@formula()
def sophia(param, grad, estimate, mean, hessian, lr, beta1, beta2, gamma, eps, decay):
    mean = beta1 * mean + (1 - beta1) * grad
    hessian = beta2 * hessian + (1 - beta2) * estimate
    ratio = mean / np.maximum(gamma * hessian, eps)
    return param * (1 - lr * decay) - lr * np.clip(ratio, -1, 1), mean, hessian


@formula()
def schedule_free_sgd(fast, average, grad, step, lr, beta):
    t = step + 1
    fast = fast - lr * grad
    average = (1 - 1 / t) * average + fast / t
    return fast, average, (1 - beta) * fast + beta * average, t


@formula(whole=True)
def clipped_momentum(param, grad, velocity, lr, momentum, most):
    norm = np.sqrt(sum(np.sum(g**2) for g in grad))
    velocity = [momentum * v + g * min(1, most / norm) for v, g in zip(velocity, grad)]
    return [p - lr * v for p, v in zip(param, velocity)], velocity, [norm]


# ---- optimizers of matrices ----


@formula(MATRICES, columns=("column",))
def adafactor(param, grad, row, column, lr, beta, eps):
    square = grad**2 + eps
    row = beta * row + (1 - beta) * square.mean(axis=1)
    column = beta * column + (1 - beta) * square.mean(axis=0)
    update = grad / np.sqrt(np.outer(row, column) / row.mean())
    return param - lr * update / max(1, np.sqrt((update**2).mean())), row, column


@formula(MATRICES)
def adam_mini(param, grad, mean, square, step, lr, beta1, beta2, eps):
    t = step + 1
    mean = beta1 * mean + (1 - beta1) * grad
    square = beta2 * square + (1 - beta2) * (grad**2).mean(axis=1)
    denominator = np.sqrt(square / (1 - beta2**t)) + eps
    return param - lr * mean / (1 - beta1**t) / denominator[:, None], mean, square, t


@formula(MATRICES, columns=("column",))
def sm3(param, grad, row, column, lr, eps):
    square = np.minimum(row[:, None], column) + grad**2
    return param - lr * grad / (np.sqrt(square) + eps), square.max(axis=1), square.max(axis=0)


# ---- normalizations ----


@formula(MATRICES, columns=("weight", "bias"), steps=1)
def layer_norm(x, weight, bias, eps):
    return ((x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + eps) * weight + bias,)


@formula(MATRICES, columns=("weight",), steps=1)
def rms_norm(x, weight, eps):
    return (x / np.sqrt((x**2).mean(axis=1, keepdims=True) + eps) * weight,)


@formula(MATRICES, steps=1, exact=5e-6)
def softmax(x, temperature):
    power = np.exp(x / temperature)
    return (power / power.sum(axis=1, keepdims=True),)


@formula(MATRICES, steps=1)
def log_softmax(x, target):
    y = np.log(np.exp(x) / np.exp(x).sum(axis=1, keepdims=True))
    return y, -(target * y).sum(axis=1).mean()


@formula(MATRICES, columns=("column_scale", "column_shift", "column_mean", "column_var"))
def batch_norm(x, column_scale, column_shift, column_mean, column_var, momentum, eps):
    mean, variance = x.mean(axis=0), x.var(axis=0)
    unbiased = x.var(axis=0, ddof=1) if len(x) > 1 else 0 * variance
    y = (x - mean) / np.sqrt(variance + eps) * column_scale + column_shift
    return (y, (1 - momentum) * column_mean + momentum * mean,
            (1 - momentum) * column_var + momentum * unbiased)


@formula(MATRICES, steps=1)
def weight_norm(v, g):
    return (g[:, None] * v / np.linalg.norm(v, axis=1, keepdims=True),)


# ---- statistics ----


@formula([(5, 7), (33, 40), (300, 12)], steps=1)
def column_moments(x):
    mean = x.mean(axis=0)
    second, third, fourth = (((x - mean) ** k).mean(axis=0) for k in (2, 3, 4))
    return mean, second, third / second**1.5, fourth / second**2 - 3


@formula(MATRICES, steps=1)
def cosine_similarity(x, y, eps):
    sizes = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    cosine = np.einsum("ij,ij->i", x, y) / np.maximum(sizes, eps)
    return cosine, cosine.mean()


@formula([(5, 7), (33, 40), (300, 12)], steps=1)
def winsorized_mean(x, k):
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    return mean, np.clip(x, mean - k * deviation, mean + k * deviation).mean(axis=0)


@formula(steps=1)
def huber_location(x, k, tol, limit):
    location, change, iterations = x.mean(), np.inf, 0
    while change > tol and iterations < limit:
        distance = np.abs(x - location)
        weights = np.where(distance <= k, 1, k / np.maximum(distance, k))
        change = abs(location - (location := np.average(x, weights=weights)))
        iterations += 1
    return location, iterations


@formula(MATRICES, columns=("column_weight",), data={
    "label": lambda rng, shape, made: rng.integers(0, 2, shape).astype(float),
    "column_weight": lambda rng, shape, made: rng.standard_normal(shape) / 10})
def logistic_regression(X, label, column_weight, lr, l2):
    probability = 1 / (1 + np.exp(-X @ column_weight))
    loss = -np.mean(label * np.log(probability) + (1 - label) * np.log(1 - probability))
    gradient = X.T @ (probability - label) / len(X) + l2 * column_weight
    return column_weight - lr * gradient, loss


@formula(MATRICES, columns=("column_norm",), data={"column_norm": positive}, steps=1)
def kmeans_assignment(P, column_norm):
    # The squared distance of a point from a centroid, without the norm of the point.
    distance = column_norm - 2 * P
    return -distance.min(axis=1), distance.argmin(axis=1)


# ---- solvers ----


@formula(SQUARE, data={"A": positive_definite}, fill=("A=spd",), steps=1, tolerance=5e-3, exact=5e-3)
def power_iteration(A, x0, tol, limit):
    x, value, iterations, more = x0 / np.linalg.norm(x0), 0.0, 0, True
    while more and iterations < limit:
        image = A @ x
        value, before = x @ image, value
        x = image / np.linalg.norm(image)
        more = abs(value - before) > tol * abs(value)
        iterations += 1
    return x, value, iterations


@formula(SQUARE, data={"A": positive_definite}, fill=("A=spd",), steps=2, tolerance=1e-3, exact=1e-3)
def conjugate_gradients(A, b, tol, limit):
    # The solution; the test allows what the tolerance leaves.
    residual = None
    x, r, p, iterations = np.zeros_like(b), b, b, 0
    while residual is None or (residual > tol**2 * (b @ b) and iterations < limit):
        step = (r @ r) / (p @ A @ p)
        x = x + step * p
        r, before = b - A @ x, r @ r
        residual = r @ r
        p = r + residual / before * p
        iterations += 1
    assert np.linalg.norm(x - np.linalg.solve(A, b)) < 1e-3 * np.linalg.norm(x)
    return x, None, iterations


@formula(SQUARE, data={"A": lambda rng, shape, made: positive_definite(rng, shape, made) / 8 + np.eye(shape[0]),
                       "diagonal": lambda rng, shape, made: np.diag(made["A"])},
         fill=("A=spd", "diagonal=constant:6"), steps=1, tolerance=2e-4, exact=2e-4)
def jacobi(A, diagonal, b, weight, tol, limit):
    x, change, iterations = np.zeros_like(b), np.inf, 0
    rest = A - np.diag(diagonal)
    while change > tol and iterations < limit:
        following = (1 - weight) * x + weight * (b - rest @ x) / diagonal
        change = np.abs(following - x).max()
        x = following
        iterations += 1
    assert np.allclose(x, np.linalg.solve(A, b), atol=1e-3)
    return x, None, iterations


@formula(MATRICES, columns=("column0",), steps=1, tolerance=1e-3, exact=1e-3)
def ruiz_scaling(A, row0, column0, tol, limit):
    left, right, error, iterations = row0, column0, np.inf, 0
    while error > tol and iterations < limit:
        scaled = np.abs(np.diag(left) @ A @ np.diag(right))
        rows, columns = scaled.max(axis=1), scaled.max(axis=0)
        error = max(np.abs(1 - rows).max(), np.abs(1 - columns).max())
        left, right = left / np.sqrt(rows), right / np.sqrt(columns)
        iterations += 1
    return left, right, error, iterations


@formula(MATRICES, columns=("b",), data={"C": positive, "a": probabilities, "b": probabilities}, steps=1,
         tolerance=1e-3, exact=1e-3)
def sinkhorn_knopp(C, a, b, eps, tol, limit):
    kernel = np.exp(-C / eps)
    left, right, error, iterations = a, np.ones_like(b), np.inf, 0
    while error > tol and iterations < limit:
        error = np.abs(left * (kernel @ right) - a).sum()
        left = a / (kernel @ right)
        right = b / (kernel.T @ left)
        iterations += 1
    assert np.allclose((left[:, None] * kernel * right).sum(axis=0), b)
    return left, right, None, iterations


@formula(MATRICES, columns=("c0",), data={"r0": positive, "c0": positive}, steps=1, whole=True)
def matrix_scaling(C, r0, c0, n):
    rows, columns = [], []
    for cost, left, right in zip(C, r0, c0):
        kernel = np.exp(-cost)
        for _ in range(int(n)):
            left = 1 / (kernel @ right)
            right = 1 / (kernel.T @ left)
        rows.append(left)
        columns.append(right)
    return rows, columns, [n]


@formula(steps=1)
def newton_root(x, tol, limit):
    return np.cbrt(x), None


@formula(steps=1, exact=1e-5)
def simplex_projection(x, limit):
    # By sorting (Held et al.), and not by bisection.
    falling = np.sort(x)[::-1]
    thresholds = (np.cumsum(falling) - 1) / np.arange(1, len(x) + 1)
    threshold = thresholds[np.nonzero(falling > thresholds)[0][-1]]
    return np.maximum(x - threshold, 0), threshold
