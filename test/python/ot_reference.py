"""An independent solver of entropic transport in double precision, in the log domain, for the tests of heddle.ot.

It uses alternating maximization of the dual with SciPy-free NumPy, and evaluates the primal objective from the plan.
"""

import numpy


def log_sum_exp(x, axis):
    most = x.max(axis=axis, keepdims=True)
    most = numpy.where(numpy.isfinite(most), most, 0)
    with numpy.errstate(divide="ignore"):
        return (numpy.log(numpy.exp(x - most).sum(axis=axis, keepdims=True)) + most).squeeze(axis)


def plan_of(M, a, b, eps, rho_a=None, rho_b=None, entropy=False, iterations=3000):
    """The transport plan, from a long run of plain iterations."""
    M, a, b = (numpy.asarray(x, dtype="f8") for x in (M, a, b))
    with numpy.errstate(divide="ignore"):
        log_a, log_b = numpy.log(a), numpy.log(b)
    kernel = -M / eps
    # P = exp(log_r + u + kernel + v + log_c): the reference measure is a b^T, or 1.
    log_r, log_c = (numpy.zeros_like(a), numpy.zeros_like(b)) if entropy else (log_a, log_b)
    u, v = numpy.zeros_like(a), numpy.zeros_like(b)
    with numpy.errstate(invalid="ignore"):
        for _ in range(iterations):
            for axis, log_w, log_mine, log_other, rho in ((1, log_a, log_r, log_c, rho_a), (0, log_b, log_c, log_r, rho_b)):
                other = v if axis else u
                terms = kernel + (other + log_other if axis else (other + log_other)[:, None])
                tau = 1 if rho is None else rho / (rho + eps)
                updated = tau * (log_w - log_mine - log_sum_exp(terms, axis))
                updated = numpy.where(numpy.isneginf(log_w), -numpy.inf, updated)
                if axis:
                    u = updated
                else:
                    v = updated
        return numpy.nan_to_num(numpy.exp((u + log_r)[:, None] + kernel + (v + log_c)), nan=0.0)


def kl(p, q):
    """sum p log(p / q) - p + q."""
    with numpy.errstate(divide="ignore", invalid="ignore"):
        terms = numpy.where(p > 0, p * numpy.log(p / q), 0)
    return (terms - p + q).sum()


def value_linear(M, plan):
    return (plan * numpy.where(plan > 0, M, 0)).sum()


def primal(M, a, b, plan, eps, rho_a=None, rho_b=None, entropy=False):
    """The objective of `OTResult.value`, from the transport plan."""
    M, a, b = (numpy.asarray(x, dtype="f8") for x in (M, a, b))
    total = value_linear(M, plan)
    if entropy:
        with numpy.errstate(divide="ignore", invalid="ignore"):
            total += eps * numpy.where(plan > 0, plan * numpy.log(plan), 0).sum()
        if rho_a is not None or rho_b is not None:
            total -= eps * plan.sum()
    else:
        total += eps * kl(plan, numpy.outer(a, b))
    if rho_a is not None:
        total += rho_a * kl(plan.sum(1), a)
    if rho_b is not None:
        total += rho_b * kl(plan.sum(0), b)
    return total


def problem(n, m, seed=0, dtype="f8", mass=1.0):
    """Random costs in [0, 1), and random weights of sum `mass`."""
    generator = numpy.random.default_rng(seed)
    M = generator.random((n, m)).astype(dtype)
    a, b = generator.random(n) + 0.1, generator.random(m) + 0.1
    return M, (mass * a / a.sum()).astype(dtype), (mass * b / b.sum()).astype(dtype)
