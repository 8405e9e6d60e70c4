"""The optimizers that PyTorch does not have, as formulas in NumPy: one step of one parameter.

    formula(t, p, g, state, **options)      # the new parameter; `state` is replaced in place

Each is written from its paper and its authors' code, in double precision. `t` is 1 in the first step of the parameter.
Whatever a formula needs of all gradients (`whole`) is a function of theirs, and what it needs of all parameters (`sums`)
is the sum of what `SUMS` computes for each.
"""

import numpy as np


def _zeros(state, p, *names, value=0.0):
    for name in names:
        state.setdefault(name, np.full_like(p, value))
    return [state[name] for name in names]


def _single(value):
    """One value for each tensor is kept in single precision, whatever the type of the parameter."""
    return np.asarray(value).astype(np.float32).astype(np.float64)


def _norm(x):
    return np.sqrt(np.sum(x * x))


def _decayed(g, p, weight_decay):
    """Without a decay, the parameter is not read: it may be infinite."""
    return g + weight_decay * p if weight_decay else g


def _careful(update, g, cautious):
    """The cautious form of an update."""
    if not cautious:
        return update
    agrees = update * g > 0
    return update * (agrees / np.maximum(np.sum(agrees) / max(agrees.size, 1), 1e-3))


def sgd(t, p, g, state, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, cautious=False):
    g = _decayed(g, p, weight_decay)
    if momentum:
        buffer = state["momentum_buffer"] = g if t == 1 else momentum * state["momentum_buffer"] + (1 - dampening) * g
        g = _careful(g + momentum * buffer if nesterov else buffer, g, cautious)
    return p - lr * g


def _lerp(start, end, weight):
    """The formula of `torch.lerp`."""
    return start + weight * (end - start) if weight < 0.5 else end - (1 - weight) * (end - start)


def adamw(t, p, g, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, cautious=False,
          decoupled_weight_decay=True):
    mean, square = _zeros(state, p, "exp_avg", "exp_avg_sq")
    if decoupled_weight_decay:
        p = p * (1 - lr * weight_decay)
    else:
        g = _decayed(g, p, weight_decay)
    mean = state["exp_avg"] = _lerp(mean, g, 1 - betas[0])
    square = state["exp_avg_sq"] = betas[1] * square + (1 - betas[1]) * g * g
    if amsgrad:
        square = state["max_exp_avg_sq"] = np.maximum(_zeros(state, p, "max_exp_avg_sq")[0], square)
    mean = _careful(mean, g, cautious) / (1 - betas[0] ** t)
    return p - lr * mean / (np.sqrt(square) / np.sqrt(1 - betas[1] ** t) + eps)


def adam(t, p, g, state, weight_decay=0, decoupled_weight_decay=False, **options):
    return adamw(t, p, g, state, weight_decay=weight_decay, decoupled_weight_decay=decoupled_weight_decay, **options)


def adamax(t, p, g, state, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, cautious=False):
    mean, most = _zeros(state, p, "exp_avg", "exp_inf")
    g = _decayed(g, p, weight_decay)
    mean = state["exp_avg"] = _lerp(mean, g, 1 - betas[0])
    most = state["exp_inf"] = np.maximum(betas[1] * most, np.abs(g) + eps)
    return p - lr / (1 - betas[0] ** t) * (_careful(mean, g, cautious) / most)


def sparse_adam(t, p, g, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    mean, square = _zeros(state, p, "exp_avg", "exp_avg_sq")
    moves = ~(g == 0)
    state["exp_avg"] = np.where(moves, mean + (1 - betas[0]) * (g - mean), mean)
    state["exp_avg_sq"] = np.where(moves, square + (1 - betas[1]) * (g * g - square), square)
    rate = lr * np.sqrt(1 - betas[1] ** t) / (1 - betas[0] ** t)
    return np.where(moves, p - rate * state["exp_avg"] / (np.sqrt(state["exp_avg_sq"]) + eps), p)


def _decayed_moments(p, g, state, lr, betas, weight_decay, decoupled_weight_decay):
    """The parameter and gradient after the weight decay, and both moments."""
    mean, square = _zeros(state, p, "exp_avg", "exp_avg_sq")
    if decoupled_weight_decay:
        p = p * (1 - lr * weight_decay)
    else:
        g = _decayed(g, p, weight_decay)
    mean = state["exp_avg"] = _lerp(mean, g, 1 - betas[0])
    square = state["exp_avg_sq"] = betas[1] * square + (1 - betas[1]) * g * g
    return p, g, mean, square


def nadam(t, p, g, state, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
          decoupled_weight_decay=False, cautious=False):
    p, g, mean, square = _decayed_moments(p, g, state, lr, betas, weight_decay, decoupled_weight_decay)
    mu, following = (betas[0] * (1 - 0.5 * 0.96 ** (k * momentum_decay)) for k in (t, t + 1))
    product = state["mu_product"] = _single(state.get("mu_product", 1.0) * _single(mu))
    denominator = np.sqrt(square / (1 - betas[1] ** t)) + eps
    update = (1 - mu) / (1 - product) * g + following / (1 - product * following) * mean
    return p - lr * _careful(update, g, cautious) / denominator


def radam(t, p, g, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False,
          cautious=False):
    p, g, mean, square = _decayed_moments(p, g, state, lr, betas, weight_decay, decoupled_weight_decay)
    mean, c2 = _careful(mean, g, cautious) / (1 - betas[0] ** t), 1 - betas[1] ** t
    most = 2 / (1 - betas[1]) - 1
    length = most - 2 * t * betas[1] ** t / c2
    if length <= 5:
        return p - lr * mean
    factor = np.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
    return p - lr * mean * (factor * np.sqrt(c2) / (np.sqrt(square) + eps))


def rmsprop(t, p, g, state, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, cautious=False):
    g = _decayed(g, p, weight_decay)
    square = state["square_avg"] = alpha * _zeros(state, p, "square_avg")[0] + (1 - alpha) * g * g
    if centered:
        (mean,) = _zeros(state, p, "grad_avg")
        mean = state["grad_avg"] = mean + (1 - alpha) * (g - mean)
        square = square - mean * mean
    update = g / (np.sqrt(square) + eps)
    if momentum:
        update = state["momentum_buffer"] = momentum * _zeros(state, p, "momentum_buffer")[0] + update
        update = _careful(update, g, cautious)
    return p - lr * update


def lion(t, p, g, state, lr=1e-4, betas=(0.9, 0.99), weight_decay=0, cautious=False):
    (mean,) = _zeros(state, p, "exp_avg")
    update = _careful(np.sign(betas[0] * mean + (1 - betas[0]) * g), g, cautious)
    p = p * (1 - lr * weight_decay) - lr * update
    state["exp_avg"] = betas[1] * mean + (1 - betas[1]) * g
    return p


def adabelief(t, p, g, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-16, weight_decay=0, amsgrad=False,
              weight_decouple=True, fixed_decay=False, rectify=True, degenerated_to_sgd=True, cautious=False):
    b1, b2 = betas
    mean, variance = _zeros(state, p, "exp_avg", "exp_avg_var")
    if weight_decouple:
        p = p * (1 - weight_decay * (1 if fixed_decay else lr))
    else:
        g = _decayed(g, p, weight_decay)
    mean = state["exp_avg"] = b1 * mean + (1 - b1) * g
    variance = state["exp_avg_var"] = b2 * variance + (1 - b2) * (g - mean) ** 2 + eps
    used = variance
    if amsgrad:
        used = state["max_exp_avg_var"] = np.maximum(_zeros(state, p, "max_exp_avg_var")[0], variance)
    mean = _careful(mean, g, cautious)
    c1, c2 = 1 - b1**t, 1 - b2**t
    if not rectify:
        return p - lr / c1 * mean / (np.sqrt(used) / np.sqrt(c2) + eps)
    most = 2 / (1 - b2) - 1
    length = most - 2 * t * b2**t / c2
    if length >= 5:
        factor = np.sqrt(c2 * (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
        return p - lr * factor / c1 * mean / (np.sqrt(variance) + eps)
    return p - lr / c1 * mean if degenerated_to_sgd else p


def adan(t, p, g, state, lr=1e-3, betas=(0.98, 0.92, 0.99), eps=1e-8, weight_decay=0, max_grad_norm=0, no_prox=False,
         cautious=False, whole=None):
    b1, b2, b3 = betas
    if max_grad_norm > 0:
        g = g * min(max_grad_norm / (whole() + eps), 1)
    mean, change, square = _zeros(state, p, "exp_avg", "exp_avg_diff", "exp_avg_sq")
    difference = g + state["neg_pre_grad"] if t > 1 else np.zeros_like(g)
    mean = state["exp_avg"] = b1 * mean + (1 - b1) * g
    change = state["exp_avg_diff"] = b2 * change + (1 - b2) * difference
    square = state["exp_avg_sq"] = b3 * square + (1 - b3) * (g + b2 * difference) ** 2
    state["neg_pre_grad"] = -g
    denominator = np.sqrt(square) / np.sqrt(1 - b3**t) + eps
    mean = _careful(mean, g, cautious)
    if no_prox:
        p = p * (1 - lr * weight_decay)
    p = p - lr * (mean / (1 - b1**t) + b2 * change / (1 - b2**t)) / denominator
    return p if no_prox else p / (1 + lr * weight_decay)


def yogi(t, p, g, state, lr=1e-2, betas=(0.9, 0.999), eps=1e-3, initial_accumulator=1e-6, weight_decay=0,
         cautious=False):
    b1, b2 = betas
    mean, square = _zeros(state, p, "exp_avg", "exp_avg_sq", value=initial_accumulator)
    g = _decayed(g, p, weight_decay)
    mean = state["exp_avg"] = b1 * mean + (1 - b1) * g
    square = state["exp_avg_sq"] = square - (1 - b2) * np.sign(square - g * g) * (g * g)
    return p - lr / (1 - b1**t) * _careful(mean, g, cautious) / (np.sqrt(square / (1 - b2**t)) + eps)


def adopt(t, p, g, state, lr=1e-3, betas=(0.9, 0.9999), eps=1e-6, clip=True, weight_decay=0, decouple=False,
          cautious=False):
    b1, b2 = betas
    mean, square = _zeros(state, p, "exp_avg", "exp_avg_sq")
    if not decouple:
        g = _decayed(g, p, weight_decay)
    if t == 1:
        state["exp_avg_sq"] = g * g
        return p
    if decouple:
        p = p * (1 - lr * weight_decay)
    scaled = g / np.maximum(np.sqrt(square), eps)
    if clip:
        scaled = np.clip(scaled, -((t - 1) ** 0.25), (t - 1) ** 0.25)
    mean = state["exp_avg"] = _lerp(mean, scaled, 1 - b1)
    state["exp_avg_sq"] = b2 * square + (1 - b2) * g * g
    return p - lr * _careful(mean, g, cautious)


def ademamix(t, p, g, state, lr=1e-3, betas=(0.9, 0.999, 0.9999), alpha=2.0, beta3_warmup=None, alpha_warmup=None,
             eps=1e-8, weight_decay=0, cautious=False):
    b1, b2, b3 = betas
    fast, slow, square = _zeros(state, p, "exp_avg_fast", "exp_avg_slow", "exp_avg_sq")
    if alpha_warmup and t < alpha_warmup:
        alpha = alpha * t / alpha_warmup
    if beta3_warmup and t < beta3_warmup:
        halving = [np.log(0.5) / np.log(each + 1e-8) - 1 for each in (b1, b3)]
        b3 = 0.5 ** (1 / (halving[0] + (halving[1] - halving[0]) * t / beta3_warmup + 1))
    fast = state["exp_avg_fast"] = b1 * fast + (1 - b1) * g
    slow = state["exp_avg_slow"] = b3 * slow + (1 - b3) * g
    square = state["exp_avg_sq"] = b2 * square + (1 - b2) * g * g
    update = (fast / (1 - b1**t) + alpha * slow) / (np.sqrt(square) / np.sqrt(1 - b2**t) + eps)
    return p - lr * _decayed(_careful(update, g, cautious), p, weight_decay)


def laprop(t, p, g, state, lr=4e-4, betas=(0.9, 0.999), eps=1e-15, weight_decay=0, amsgrad=False, centered=False,
           cautious=False):
    b1, b2 = betas
    mean, square = _zeros(state, p, "exp_avg", "exp_avg_sq")
    rates = b1 * state.get("exp_avg_lr_1", np.zeros(())) + (1 - b1) * lr
    state["exp_avg_lr_1"] = _single(rates)
    square = state["exp_avg_sq"] = b2 * square + (1 - b2) * g * g
    is_centered = centered and t > 10
    if centered:
        (first,) = _zeros(state, p, "exp_mean_avg_beta2")
        first = state["exp_mean_avg_beta2"] = b2 * first + (1 - b2) * g
        square = square - first**2 if is_centered else square
    if amsgrad:
        (most,) = _zeros(state, p, "max_exp_avg_sq")
        if is_centered or not centered:
            square = state["max_exp_avg_sq"] = np.maximum(most, square)
    mean = state["exp_avg"] = b1 * mean + (1 - b1) * lr * g / (np.sqrt(square / (1 - b2**t)) + eps)
    mean = _careful(mean, g, cautious)
    return (p - mean / (rates / lr if lr else 1)) * (1 - weight_decay)


def lars(t, p, g, state, lr=0.1, momentum=0.9, dampening=0, weight_decay=0, nesterov=False, trust_coefficient=1e-3,
         eps=1e-8, clip=False, cautious=False):
    size, slope = _norm(p), _norm(g)
    if size != 0 and slope != 0:
        rate = trust_coefficient * size / (slope + weight_decay * size + eps)
        g = _decayed(g, p, weight_decay) * (np.minimum(rate / lr, 1) if clip else rate)
    if momentum:
        buffer = state["momentum_buffer"] = g if t == 1 else momentum * state["momentum_buffer"] + (1 - dampening) * g
        g = _careful(g + momentum * buffer if nesterov else buffer, g, cautious)
    return p - lr * g


def novograd(t, p, g, state, lr=1e-3, betas=(0.95, 0.98), eps=1e-8, weight_decay=0, grad_averaging=False, amsgrad=False,
             cautious=False):
    b1, b2 = betas
    (mean,) = _zeros(state, p, "exp_avg")
    before, square = state.get("exp_avg_sq", np.zeros(())), _norm(g) ** 2
    square = square if before == 0 else b2 * before + (1 - b2) * square
    state["exp_avg_sq"] = _single(square)
    if amsgrad:
        square = np.maximum(state.get("max_exp_avg_sq", 0.0), square)
        state["max_exp_avg_sq"] = _single(square)
    g = _decayed(g / (np.sqrt(square) + eps), p, weight_decay)
    mean = state["exp_avg"] = b1 * mean + g * (1 - b1 if grad_averaging else 1)
    return p - lr * _careful(mean, g, cautious)


def lamb(t, p, g, state, lr=1e-3, bias_correction=True, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, adam_w_mode=True,
         grad_averaging=True, max_grad_norm=1.0, use_nvlamb=False, cautious=False, whole=None):
    b1, b2 = betas
    mean, square = _zeros(state, p, "exp_avg", "exp_avg_sq")
    if max_grad_norm > 0 and whole() > max_grad_norm:
        g = g / (whole() / max_grad_norm)
    if not adam_w_mode:
        g = _decayed(g, p, weight_decay)
    mean = state["exp_avg"] = b1 * mean + (1 - b1 if grad_averaging else 1) * g
    square = state["exp_avg_sq"] = b2 * square + (1 - b2) * g * g
    c1, c2 = (1 - b1**t, 1 - b2**t) if bias_correction else (1, 1)
    update = mean / c1 / (np.sqrt(square / c2) + eps)
    update = _careful(update, g, cautious)
    if adam_w_mode:
        update = _decayed(update, p, weight_decay)
    size, length = _norm(p), _norm(update)
    if (weight_decay or use_nvlamb) and size != 0 and length != 0:
        lr = lr * (size / length)
    return p - lr * update


def _prodigy_sums(p, g, state, lr=1.0, betas=(0.9, 0.999), beta3=None, weight_decay=0, decouple=True,
                  use_bias_correction=False, safeguard_warmup=False, d0=1e-6, **_):
    """What a parameter adds to both sums over all parameters, from which the estimate follows. Moves the state `s`."""
    if not decouple:
        g = _decayed(g, p, weight_decay)
    (s,) = _zeros(state, p, "s")
    start, d, k = state.setdefault("p0", p.copy()), state.setdefault("d", _single(d0)), state.setdefault("step", 0.0)
    rate = d * lr
    if use_bias_correction:
        rate = rate * np.sqrt(1 - betas[1] ** (k + 1)) / (1 - betas[0] ** (k + 1))
    if not lr > 0:
        return np.zeros(2)
    decay = np.sqrt(betas[1]) if beta3 is None else beta3
    state["s"] = decay * s + d / d0 * (d if safeguard_warmup else rate) * g
    return np.array([d / d0 * rate * np.sum(g * (start - p)), np.sum(np.abs(state["s"]))])


def prodigy(t, p, g, state, lr=1.0, betas=(0.9, 0.999), beta3=None, eps=1e-8, weight_decay=0, decouple=True,
            use_bias_correction=False, safeguard_warmup=False, d0=1e-6, d_coef=1.0, growth_rate=np.inf, cautious=False,
            sums=None):
    b1, b2 = betas
    mean, square = _zeros(state, p, "exp_avg", "exp_avg_sq")
    d, k, most = state["d"], state["step"], state.setdefault("d_max", _single(d0))
    numerator = state.setdefault("d_numerator", np.zeros(()))
    if not decouple:
        g = _decayed(g, p, weight_decay)
    if lr > 0:
        mean = state["exp_avg"] = b1 * mean + d * (1 - b1) * g
        square = state["exp_avg_sq"] = b2 * square + d * d * (1 - b2) * g * g
    change, length = sums
    if length == 0:
        return p
    rate = d * lr
    if use_bias_correction:
        rate = rate * np.sqrt(1 - b2 ** (k + 1)) / (1 - b1 ** (k + 1))
    decay = np.sqrt(b2) if beta3 is None else beta3
    numerator = numerator * decay + change
    hat = d_coef * numerator / length
    after = hat if d == _single(d0) and hat > d else d
    most = hat if hat > most else most
    after = min(most, after * growth_rate)
    state.update(d=_single(after), d_max=_single(most), d_numerator=_single(numerator), step=k + 1)
    if decouple and weight_decay:
        p = p - weight_decay * rate * p
    update = _careful(mean if b1 else after * g, g, cautious)
    return p - rate * update / (np.sqrt(square) + after * eps)


def _schedule_free(t, p, update, state, lr, share, warmup_steps, r, weight_lr_power):
    """Both sequences of a schedule-free optimizer. The parameter is p = share * average + (1 - share) * z."""
    z = state.get("z", p)
    lr = lr * min(1, t / warmup_steps) if warmup_steps else lr
    most = max(lr, float(state.get("lr_max", -1.0)))
    weight = t**r * most**weight_lr_power
    total = float(state.get("weight_sum", 0.0)) + weight
    newest = weight / total if total else 0.0
    average = (p - (1 - share) * z) / share
    z = z - lr * update
    average = (1 - newest) * average + newest * z
    state.update(z=z, lr_max=_single(most), weight_sum=_single(total))
    return share * average + (1 - share) * z


def sgd_schedule_free(t, p, g, state, lr=1.0, momentum=0.9, weight_decay=0, warmup_steps=0, r=0.0, weight_lr_power=2.0):
    return _schedule_free(t, p, _decayed(g, p, weight_decay), state, lr, momentum, warmup_steps, r, weight_lr_power)


def adamw_schedule_free(t, p, g, state, lr=0.0025, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, warmup_steps=0, r=0.0,
                        weight_lr_power=2.0):
    square = state["exp_avg_sq"] = betas[1] * _zeros(state, p, "exp_avg_sq")[0] + (1 - betas[1]) * g * g
    update = _decayed(g / (np.sqrt(square / (1 - betas[1] ** t)) + eps), p, weight_decay)
    return _schedule_free(t, p, update, state, lr, betas[0], warmup_steps, r, weight_lr_power)


_ADAM = dict(lr=[0.01], betas=[(0.75, 0.875)], eps=[1e-3], weight_decay=[0.1], amsgrad=[True])
#: The formula of one step, and for each option of the class values other than the default.
FORMULAS = {
    "SGD": (sgd, dict(lr=[0.01], momentum=[0.5, 0.9], dampening=[0.25], weight_decay=[0.1], nesterov=[True])),
    "Adam": (adam, {**_ADAM, "decoupled_weight_decay": [True]}),
    "AdamW": (adamw, _ADAM),
    "Adamax": (adamax, dict(lr=[0.01], betas=[(0.75, 0.875)], eps=[1e-3], weight_decay=[0.1])),
    "NAdam": (
        nadam,
        dict(lr=[0.01], betas=[(0.75, 0.875)], eps=[1e-3], weight_decay=[0.1], momentum_decay=[0.1],
             decoupled_weight_decay=[True]),
    ),
    "RAdam": (
        radam,
        dict(lr=[0.01], betas=[(0.75, 0.875), (0.25, 0.5)], eps=[1e-3], weight_decay=[0.1], decoupled_weight_decay=[True]),
    ),
    "RMSprop": (
        rmsprop,
        dict(lr=[0.001], alpha=[0.75], eps=[1e-3], weight_decay=[0.1], momentum=[0.5, 0.9], centered=[True]),
    ),
    "Lion": (lion, dict(lr=[0.01], betas=[(0.75, 0.875)], weight_decay=[0.5])),
    "AdaBelief": (
        adabelief,
        dict(lr=[0.01], betas=[(0.75, 0.875), (0.25, 0.5)], eps=[1e-3], weight_decay=[0.1], amsgrad=[True],
             weight_decouple=[False], fixed_decay=[True], rectify=[False], degenerated_to_sgd=[False]),
    ),
    "Adan": (
        adan,
        dict(lr=[0.01], betas=[(0.75, 0.5, 0.875)], eps=[1e-3], weight_decay=[0.1], max_grad_norm=[0.5, 1e6],
             no_prox=[True]),
    ),
    "Yogi": (
        yogi,
        dict(lr=[0.1], betas=[(0.75, 0.875)], eps=[1e-2], initial_accumulator=[0.0, 0.5], weight_decay=[0.1]),
    ),
    "ADOPT": (
        adopt,
        dict(lr=[0.01], betas=[(0.75, 0.875)], eps=[0.5], clip=[False], weight_decay=[0.1], decouple=[True]),
    ),
    "AdEMAMix": (
        ademamix,
        dict(lr=[0.01], betas=[(0.75, 0.875, 0.96875)], alpha=[5.0, 0.0], beta3_warmup=[20], alpha_warmup=[200, 10],
             eps=[1e-3], weight_decay=[0.1]),
    ),
    "LaProp": (
        laprop,
        dict(lr=[0.01], betas=[(0.75, 0.875)], eps=[1e-3], weight_decay=[0.01], amsgrad=[True], centered=[True]),
    ),
    "LARS": (
        lars,
        dict(lr=[0.01], momentum=[0.5], dampening=[0.25], weight_decay=[0.1], nesterov=[True],
             trust_coefficient=[0.02], eps=[0.1], clip=[True]),
    ),
    "NovoGrad": (
        novograd,
        dict(lr=[0.01], betas=[(0.75, 0.875)], eps=[0.1], weight_decay=[0.1], grad_averaging=[True], amsgrad=[True]),
    ),
    "LAMB": (
        lamb,
        dict(lr=[0.01], bias_correction=[False], betas=[(0.75, 0.875)], eps=[1e-3], weight_decay=[0.1, 0],
             adam_w_mode=[False], grad_averaging=[False], max_grad_norm=[0, 1e6], use_nvlamb=[True]),
    ),
}
FORMULAS["Prodigy"] = (
    prodigy,
    dict(lr=[0.5], betas=[(0.75, 0.875), (0.0, 0.875)], beta3=[0.5], eps=[1e-3], weight_decay=[0.1], decouple=[False],
         use_bias_correction=[True], safeguard_warmup=[True], d0=[1e-3], d_coef=[0.5], growth_rate=[1.05]),
)
#: What one parameter adds to sums over all parameters, which the formula then takes as `sums`.
SUMS = {"Prodigy": _prodigy_sums}

for _, _values in FORMULAS.values():
    _values["cautious"] = [True]
FORMULAS["SparseAdam"] = (sparse_adam, dict(lr=[0.01], betas=[(0.75, 0.875)], eps=[1e-3]))
_AVERAGE = dict(weight_decay=[0.1], warmup_steps=[20], r=[1.0, 0.5], weight_lr_power=[0.0, 1.5])
FORMULAS["SGDScheduleFree"] = (sgd_schedule_free, dict(lr=[0.01], momentum=[0.5], **_AVERAGE))
FORMULAS["AdamWScheduleFree"] = (
    adamw_schedule_free,
    dict(lr=[0.01], betas=[(0.75, 0.875)], eps=[1e-3], **_AVERAGE),
)


def _needs_momentum(options, default=0):
    """Options of momentum without momentum, and Nesterov momentum with dampening."""
    wanted = any(options.get(name) for name in ("nesterov", "dampening", "cautious"))
    return (wanted and not options.get("momentum", default)) or (options.get("nesterov") and options.get("dampening"))


#: Options that a constructor refuses together, or that have no effect together.
CONTRADICTIONS = {
    "SGD": _needs_momentum,
    "RMSprop": _needs_momentum,
    "AdaBelief": lambda options: options.get("fixed_decay") and options.get("weight_decouple") is False,
    "LARS": lambda options: _needs_momentum(options, default=0.9),
}


def pairwise(values, contradict=None):
    """Sets of options such that any two values of two options are in one set; the first set has only defaults.

    Values that `contradict` each other are in no set.
    """
    choices = {name: [None, *range(len(each))] for name, each in values.items()}

    def named(each):
        return {name: values[name][index] for name, index in each.items() if index is not None}

    def is_allowed(each):
        return not (contradict and contradict(named(dict(each))))

    # Two values alone may need a third: they are allowed if some further value allows them.
    def is_possible(pair):
        return any(
            is_allowed({**dict(pair), name: index}) for name in choices if name not in dict(pair) for index in choices[name]
        )

    left = {
        pair
        for a in choices for b in choices if a < b for i in choices[a] for j in choices[b]
        if is_possible(pair := frozenset({(a, i), (b, j)}))
    }
    found = [dict.fromkeys(choices)]
    while True:
        left -= {pair for pair in left if all(found[-1][name] == index for name, index in pair)}
        if not left:
            break
        chosen = dict(min(left, key=lambda pair: sorted(map(str, pair))))
        for name in choices:
            if name not in chosen:
                def gain(index):
                    if not is_allowed({**chosen, name: index}):
                        return -1
                    return sum(frozenset({(name, index), other}) in left for other in chosen.items())

                chosen[name] = max(choices[name], key=gain)
        found.append(chosen)
    return list(map(named, found))
