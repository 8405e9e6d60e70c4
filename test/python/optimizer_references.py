"""One step of each optimizer in NumPy, written from PyTorch's documentation, for `test_optimizer_references.py`.

`x` has the arrays of one tensor by the names of the program, and is changed in place; `t` is the number of the step, `o`
has the options. The gradient `g` has its final sign. Values of a whole tensor are rounded to float32, as they are stored.
"""

import numpy as np


def single(value):
    return float(np.float32(value))


def decayed(x, g, o):
    """The gradient with L2 regularization; with `decoupled`, the parameter decays."""
    if o["decoupled"]:
        x["param"] = x["param"] * (1 - o["lr"] * o["weight_decay"])
        return g
    return g + o["weight_decay"] * x["param"] if o["weight_decay"] else g


def adadelta(x, g, t, o):
    g = decayed(x, g, o)
    x["square_avg"] = o["rho"] * x["square_avg"] + (1 - o["rho"]) * g * g
    delta = np.sqrt(x["acc_delta"] + o["eps"]) / np.sqrt(x["square_avg"] + o["eps"]) * g
    x["acc_delta"] = o["rho"] * x["acc_delta"] + (1 - o["rho"]) * delta * delta
    x["param"] = x["param"] - o["lr"] * delta


def adagrad(x, g, t, o):
    g = decayed(x, g, o)
    x["sum"] = x["sum"] + g * g
    x["param"] = x["param"] - o["lr"] / (1 + (t - 1) * o["lr_decay"]) * (g / (np.sqrt(x["sum"]) + o["eps"]))


def moments(x, g, o):
    x["exp_avg"] = x["exp_avg"] + (1 - o["beta1"]) * (g - x["exp_avg"])
    x["exp_avg_sq"] = o["beta2"] * x["exp_avg_sq"] + (1 - o["beta2"]) * g * g


def adam(x, g, t, o):
    g = decayed(x, g, o)
    moments(x, g, o)
    v = x["exp_avg_sq"]
    if o["amsgrad"]:
        v = x["max_exp_avg_sq"] = np.maximum(x["max_exp_avg_sq"], v)
    denom = np.sqrt(v) / np.sqrt(1 - o["beta2"] ** t) + o["eps"]
    x["param"] = x["param"] - o["lr"] / (1 - o["beta1"] ** t) * (x["exp_avg"] / denom)


def adamax(x, g, t, o):
    g = decayed(x, g, o)
    x["exp_avg"] = x["exp_avg"] + (1 - o["beta1"]) * (g - x["exp_avg"])
    x["exp_inf"] = np.maximum(o["beta2"] * x["exp_inf"], np.abs(g) + o["eps"])
    x["param"] = x["param"] - o["lr"] / (1 - o["beta1"] ** t) * (x["exp_avg"] / x["exp_inf"])


def asgd(x, g, t, o):
    g = decayed(x, g, o)
    x["param"] = x["param"] * (1 - o["lambd"] * x["eta"]) - x["eta"] * g
    x["ax"] = x["param"] if x["mu"] == 1 else x["ax"] + (x["param"] - x["ax"]) * x["mu"]
    x["eta"] = single(o["lr"] / (1 + o["lambd"] * o["lr"] * t) ** o["alpha"])
    x["mu"] = single(1 / max(1, t - o["t0"]))


def lion(x, g, t, o):
    x["param"] = x["param"] * (1 - o["lr"] * o["weight_decay"])
    x["param"] = x["param"] - o["lr"] * np.sign(o["beta1"] * x["exp_avg"] + (1 - o["beta1"]) * g)
    x["exp_avg"] = o["beta2"] * x["exp_avg"] + (1 - o["beta2"]) * g


def nadam(x, g, t, o):
    g = decayed(x, g, o)
    mu, following = (o["beta1"] * (1 - 0.5 * 0.96 ** (step * o["momentum_decay"])) for step in (t, t + 1))
    product = x["mu_product"] = single(x["mu_product"] * single(mu))
    moments(x, g, o)
    denom = np.sqrt(x["exp_avg_sq"] / (1 - o["beta2"] ** t)) + o["eps"]
    x["param"] = x["param"] - o["lr"] * (1 - mu) / (1 - product) * (g / denom)
    x["param"] = x["param"] - o["lr"] * following / (1 - product * following) * (x["exp_avg"] / denom)


def radam(x, g, t, o):
    g = decayed(x, g, o)
    moments(x, g, o)
    corrected = x["exp_avg"] / (1 - o["beta1"] ** t)
    power = o["beta2"] ** t
    largest = 2 / (1 - o["beta2"]) - 1
    length = largest - 2 * t * power / (1 - power)
    if length > 5:
        rect = ((length - 4) * (length - 2) * largest / ((largest - 4) * (largest - 2) * length)) ** 0.5
        adaptive = (1 - power) ** 0.5 / (np.sqrt(x["exp_avg_sq"]) + o["eps"])
        x["param"] = x["param"] - corrected * o["lr"] * adaptive * rect
    else:
        x["param"] = x["param"] - corrected * o["lr"]


def rmsprop(x, g, t, o):
    g = decayed(x, g, o)
    x["square_avg"] = o["alpha"] * x["square_avg"] + (1 - o["alpha"]) * g * g
    second = x["square_avg"]
    if o["centered"]:
        x["grad_avg"] = x["grad_avg"] + (1 - o["alpha"]) * (g - x["grad_avg"])
        second = second - x["grad_avg"] * x["grad_avg"]
    change = g / (np.sqrt(second) + o["eps"])
    if o["momentum"]:
        change = x["momentum_buffer"] = o["momentum"] * x["momentum_buffer"] + change
    x["param"] = x["param"] - o["lr"] * change


def rprop(x, g, t, o):
    with np.errstate(under="ignore"):
        product = g * x["prev"]
    factor = np.where(product > 0, o["etaplus"], np.where(product < 0, o["etaminus"], 1)).astype(g.dtype)
    x["step_size"] = np.clip(x["step_size"] * factor, o["step_size_min"], o["step_size_max"]).astype(g.dtype)
    g = np.where(product < 0, g.dtype.type(0), g)
    x["param"] = x["param"] - np.where(g > 0, x["step_size"], np.where(g < 0, -x["step_size"], 0))
    x["prev"] = g


#: For each program: its formula, the initial values of its state, and what its options may be.
REFERENCES = {
    "adadelta": (adadelta, {"square_avg": 0, "acc_delta": 0},
                 {"lr": [1.0], "rho": [0.9, 0.75], "eps": [1e-6], "weight_decay": [0, 0.1]}),
    "adagrad": (adagrad, {"sum": 0},
                {"lr": [0.1], "lr_decay": [0, 0.125], "eps": [1e-10], "weight_decay": [0, 0.1]}),
    "adam": (adam, {"exp_avg": 0, "exp_avg_sq": 0, "max_exp_avg_sq": 0},
             {"lr": [0.05], "beta1": [0.9], "beta2": [0.999], "eps": [1e-8], "weight_decay": [0, 0.1],
              "decoupled": [False, True], "amsgrad": [False, True]}),
    "adamax": (adamax, {"exp_avg": 0, "exp_inf": 0},
               {"lr": [0.05], "beta1": [0.9, 0.75], "beta2": [0.999], "eps": [1e-8], "weight_decay": [0, 0.1]}),
    "asgd": (asgd, {"ax": 0, "eta": "lr", "mu": 1},
             {"lr": [0.05], "lambd": [1e-4, 0.25], "alpha": [0.75], "t0": [1e6, 20], "weight_decay": [0, 0.1]}),
    "lion": (lion, {"exp_avg": 0}, {"lr": [0.01], "beta1": [0.9], "beta2": [0.99], "weight_decay": [0, 0.1]}),
    "nadam": (nadam, {"exp_avg": 0, "exp_avg_sq": 0, "mu_product": 1},
              {"lr": [0.05], "beta1": [0.9], "beta2": [0.999], "eps": [1e-8], "weight_decay": [0, 0.1],
               "momentum_decay": [4e-3, 0.5], "decoupled": [False, True]}),
    "radam": (radam, {"exp_avg": 0, "exp_avg_sq": 0},
              {"lr": [0.05], "beta1": [0.9], "beta2": [0.999, 0.5], "eps": [1e-8], "weight_decay": [0, 0.1],
               "decoupled": [False, True]}),
    "rmsprop": (rmsprop, {"square_avg": 0, "grad_avg": 0, "momentum_buffer": 0},
                {"lr": [0.01], "alpha": [0.9], "eps": [1e-3], "weight_decay": [0, 0.1], "momentum": [0, 0.8],
                 "centered": [False, True]}),
    "rprop": (rprop, {"prev": 0, "step_size": "lr"},
              {"lr": [0.05], "etaminus": [0.5], "etaplus": [1.2, 1.5], "step_size_min": [1e-6], "step_size_max": [50, 0.2]}),
}
