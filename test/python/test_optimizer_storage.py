"""The options `state`, `rounding` and `master` of standard optimizers, on the cpu target and in every executor, against
NumPy: random rounding, parameters in two halves, and parameters that are copies."""

import math
import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

import heddle

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import philox  # noqa: E402
from test_optimizer_references import RUNNER, run  # noqa: E402

BF16 = ml_dtypes.bfloat16
TYPES = {"f32": np.float32, "f16": np.float16, "bf16": BF16}
SIZES = (7, 0, 1, 33, 4099)


class Optimizer:
    """A standard program on the cpu target, with its lists."""

    def __init__(self, text, params, *, offsets=None, blocks=None, seed=0):
        executable = heddle.compile(text, target="cpu")
        self.graph = executable.graph()
        initial = executable.initial_values()
        self.lists = {}
        for name, info in executable.arguments.items():
            if not info.is_list:
                continue
            kind = TYPES.get(info.dtype) or np.dtype({"i16": "i2", "i64": "i8", "f64": "f8"}[info.dtype])
            members = []
            for place, param in enumerate(params):
                shape = param.shape if info.rank else ()
                offset = offsets[place] if offsets and info.rank else 0
                array = np.zeros(math.prod(shape) + offset, kind)[offset:].reshape(shape)
                if name in ("param", "master_param"):
                    array[...] = param
                elif name == "first_block":
                    array[...] = blocks[place] if blocks else 1000 * place
                else:
                    array[...] = initial.get(name, 0)
                members.append(array)
            self.lists[name] = members
            self.graph.bind_list(name, members)
        if "seed" in executable.arguments:
            self.graph.set_scalar("seed", seed)

    def step(self, grads):
        for bound, grad in zip(self.lists["grad"], grads):
            bound[...] = grad
        self.graph.replay()

    def masters(self):
        if "master_param" in self.lists:
            return self.lists["master_param"]
        highs = (param.astype(np.float32).view(np.int32) for param in self.lists["param"])
        return [(high + low).view(np.float32) for high, low in zip(highs, self.lists["param_low"])]


def gradients(rng, special=False):
    """Gradients that are the same in bf16 and f32."""
    members = [rng.standard_normal(size).astype(BF16) for size in SIZES]
    if special:
        members[3][:9] = [0, -0.0, 1e-40, -1e-40, 1e30, -1e30, np.inf, -np.inf, np.nan]
    return members


def parameters():
    rng = np.random.default_rng(3)
    return [rng.standard_normal(size).astype(BF16).astype(np.float32) for size in SIZES]


def same(left, right):
    return all(np.array_equal(np.float32(a).view("i4"), np.float32(b).view("i4")) or
               np.array_equal(np.float32(a), np.float32(b), equal_nan=True) for a, b in zip(left, right, strict=True))


PROGRAMS = {
    "adamw": "", "sgd": "momentum=0.9,", "lion": "weight_decay=0.1,", "adan": "", "lamb": "", "lars": "", "novograd": "",
    "radam": "", "adamax": "cautious=true,", "adopt": "", "asgd": "", "rprop": "", "adagrad": "", "sgd_schedule_free": "",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("master", ["split", "f32"])
def test_masters_are_exact(name, master):
    """100 steps with bf16 parameters have the bits of f32 parameters."""
    options = PROGRAMS[name]
    plain = Optimizer(f"{name}:{options}dtype=f32", parameters())
    other = Optimizer(f"{name}:{options}dtype=bf16,state=f32,master={master}", parameters())
    rng = np.random.default_rng(1)
    for step in range(100):
        grads = gradients(rng, special=step >= 60)
        plain.step(grads)
        other.step(grads)
        assert same(plain.lists["param"], other.masters()), step
        for key in set(plain.lists) & set(other.lists) - {"param", "grad"}:
            assert same(plain.lists[key], other.lists[key]), (step, key)
        if master == "f32":
            assert same([p.astype(BF16) for p in plain.lists["param"]], other.lists["param"]), step
        else:
            for exact, high in zip(plain.lists["param"], other.lists["param"]):
                with np.errstate(all="ignore"):
                    distance = np.abs(exact - np.float32(high))
                    unit = np.spacing(np.maximum(np.abs(exact), np.float32(2**-126))) * 2.0**16
                    finite = np.isfinite(exact) & np.isfinite(np.float32(high))
                    assert np.all(distance[finite] <= unit[finite] / 2)
                    assert np.array_equal(np.isnan(exact), np.isnan(np.float32(high)))


def sgd_step(dtype, params, buffers, grads, step, blocks, seed, lr=0.25, mu=0.75):
    """SGD with momentum in NumPy: f32 arithmetic, then random rounding."""
    for place, (param, buffer, grad) in enumerate(zip(params, buffers, grads)):
        wide = np.float32(mu) * buffer + np.float32(grad)
        moved = param - np.float32(lr) * wide
        for draw, (to, value) in enumerate(((param, moved), (buffer, wide))):
            bits = philox.bits16(seed, draw << 32 | step, blocks[place], len(param))
            to[...] = philox.rounded_to(dtype, value, bits)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("offsets", [None, (1, 0, 0, 3, 5)])
def test_random_rounding_is_that_of_numpy(dtype, offsets):
    blocks, seed = [11, 7, 2**33, 5, 123456], 2**52 + 977
    text = f"sgd:momentum=0.75,lr=0.25,dtype={dtype},rounding=stochastic"
    optimizer = Optimizer(text, parameters(), offsets=offsets, blocks=blocks, seed=seed)
    params = [np.float32(p) for p in optimizer.lists["param"]]
    buffers = [np.zeros_like(p) for p in params]
    rng = np.random.default_rng(5)
    for step in range(20):
        grads = [np.float32(g.astype(TYPES[dtype])) for g in gradients(rng, special=step >= 15)]
        optimizer.step(grads)
        with np.errstate(all="ignore"):
            sgd_step(dtype, params, buffers, grads, step, blocks, seed)
        assert same(params, optimizer.lists["param"]), step
        assert same(buffers, optimizer.lists["momentum_buffer"]), step


def test_philox_agrees_with_published_vectors():
    """Vectors of the authors' library Random123."""
    pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    for counter, key, words in (
        ((0,) * 4, (0, 0), (0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48)),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662)),
        (pi, (0xA4093822, 0x299F31D0), (0x4DFCCABA, 0x190A87F0, 0xC47362BA, 0xB6B5242A)),
    ):
        assert tuple(philox.philox(counter, key)) == words


@pytest.mark.skipif(not RUNNER.exists(), reason="needs a build of heddle_run_everywhere")
@pytest.mark.parametrize("options", [
    "dtype=bf16,rounding=stochastic",
    "dtype=f16,state=bf16,rounding=stochastic",
    "dtype=bf16,state=f32,master=split",
    "dtype=bf16,state=bf16,master=f32,rounding=stochastic",
])
@pytest.mark.parametrize("name", ["adamw", "lamb"])
def test_every_executor_has_the_same_bits(name, options, tmp_path):
    text = heddle.emit(f"{name}:{options}", "foreach")
    executable = heddle.compile(f"{name}:{options}", target="cpu")
    initial = executable.initial_values()
    first = {"lists": {}, "scalars": {}}
    for key, info in executable.arguments.items():
        if not info.is_list:
            first["scalars"][key] = float(info.default or 0)
        elif key != "grad":
            first["lists"][key] = [
                param if key in ("param", "master_param")
                else np.full(param.shape if info.rank else (), 17 * place if key == "first_block" else initial.get(key, 0.0))
                for place, param in enumerate(parameters())
            ]
    rng = np.random.default_rng(9)
    grads = [[np.float32(g) for g in gradients(rng)] for _ in range(4)]
    results = run(tmp_path, text, first, grads)
    del results["interpreter"]  # it computes in double
    expected = results.pop("cpu")
    assert len(results) >= 2
    for executor, found in results.items():
        assert found == expected, executor


def test_states_of_16_bits_are_unbiased():
    """The mean over seeds is within 4 standard deviations, in every element, and most of them are not exact."""
    seeds, size = 500, 64
    grad = (1 + np.arange(size) / size + 2.0**-12).astype(np.float32)
    total = np.zeros(size)
    for seed in range(seeds):
        optimizer = Optimizer("sgd:momentum=0.5,dtype=f32,state=bf16,rounding=stochastic", [np.zeros(size)], seed=seed)
        optimizer.step([grad])
        total += np.float32(optimizer.lists["momentum_buffer"][0])
    unit = 2.0**-7
    share = grad / unit % 1
    deviation = unit * np.sqrt(share * (1 - share) / seeds)
    assert np.all(np.abs(total / seeds - grad) <= 4 * deviation + 1e-9)
    assert np.count_nonzero(total / seeds != grad) > size / 2


def test_random_numbers_do_not_depend_on_the_list():
    """A tensor has the same bits at any place of any list, and as two shards."""
    text = "adamw:dtype=bf16,rounding=stochastic"
    rng = np.random.default_rng(2)
    params, grads = parameters(), [gradients(rng) for _ in range(3)]
    blocks = [10 * place for place in range(len(params))]
    whole = Optimizer(text, params, blocks=blocks, seed=3)
    back = Optimizer(text, params[::-1], blocks=blocks[::-1], seed=3)
    half = 2048
    shards = Optimizer(text, [params[4][half:], params[4][:half]], offsets=(3, 0), seed=3,
                       blocks=[blocks[4] + half // 8, blocks[4]])
    again = Optimizer(text, params, blocks=blocks, seed=4)
    for step in grads:
        whole.step(step)
        again.step(step)
        back.step(step[::-1])
        shards.step([step[4][half:], step[4][:half]])
    for key in ("param", "exp_avg", "exp_avg_sq"):
        assert same(whole.lists[key], back.lists[key][::-1])
        assert same([whole.lists[key][4]], [np.concatenate(shards.lists[key][::-1])])
        assert not same(whole.lists[key], again.lists[key])


def test_all_members_are_in_one_launch():
    for options in ("rounding=stochastic", "master=split,state=f32", "master=f32,state=f32"):
        text = heddle.compile(f"adamw:dtype=f32/bf16,{options}", target="cpu").explain()
        assert "1 kernel" in text


@pytest.mark.parametrize("options, most", [("", None), ("rounding=stochastic", 0.05), ("state=f32,master=split", 0.01)])
def test_convergence_where_nearest_stalls(options, most):
    """The square of the distance to a minimum. With a small rate, steps are below half a unit of bf16."""
    target = np.linspace(1, 2, 256).astype(np.float32)
    text = f"sgd:lr=0.001,dtype=bf16{options and ','}{options}"
    optimizer = Optimizer(text, [np.full(256, 1.5)], seed=1)
    for _ in range(4000):
        optimizer.step([np.float32(optimizer.lists["param"][0]) - target])
    error = np.sqrt(np.mean((np.float32(optimizer.lists["param"][0]) - target) ** 2))
    if most is None:
        assert error > 0.2
    else:
        assert error < most


@pytest.mark.parametrize("options, message", [
    ("master=split", r"option 'master=split'.*expected dtype bf16.*found dtype=f32"),
    ("master=split,dtype=bf16/f16", r"option 'master=split'.*found dtype=bf16/f16"),
    ("master=f32,dtype=f32/f64", r"option 'master=f32'.*found dtype=f32/f64"),
    ("rounding=stochastic", r"option 'rounding=stochastic'.*found dtype=f32,state=param,master=none"),
    ("rounding=stochastic,dtype=bf16,master=split,state=f32", r"option 'rounding=stochastic'.*state=f32,master=split"),
    ("rounding=up", r"option 'rounding' of 'adamw' expects one of nearest, stochastic, found 'up'"),
])
def test_contradicting_options(options, message):
    with pytest.raises(heddle.BadInput, match=message):
        heddle.emit(f"adamw:{options}", "foreach")
