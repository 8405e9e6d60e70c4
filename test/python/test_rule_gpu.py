"""Rules on a GPU: the bits of the cpu target where operations are exact, and those of the library."""

import pathlib
import sys

import numpy
import pytest

import heddle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import test_rule_integers as integers  # noqa: E402
import test_rule_library as library  # noqa: E402
import test_rule_optimizers as optimizers  # noqa: E402
from rule_runs import SHAPES, arrays, run, run_on_gpu  # noqa: E402

if not heddle.doctor()["devices"]:
    pytest.skip("there is no GPU", allow_module_level=True)


@pytest.mark.parametrize("form", library.FORMS)
def test_bits_of_the_library(form):
    dtypes = library.settings_of(form).get("dtype", "f32").split("/")
    suffixes = [""] if len(dtypes) == 1 else [f"_{dtype}" for dtype in dtypes]
    params = {f"param{suffix}": arrays(1, dtype) for suffix, dtype in zip(suffixes, dtypes)}
    gradients = [{f"grad{suffix}": arrays(seed, dtype, scale=3.0) for suffix, dtype in zip(suffixes, dtypes)}
                 for seed in range(2, 9)]
    for rule, standard, settings in library.pairs(form):
        found = run_on_gpu(rule.compile(target="cuda", **settings), params, gradients)
        wanted = run_on_gpu(heddle.compile(standard, target="cuda"), params, gradients)
        for name in wanted:
            for one, other in zip(found[name], wanted[name]):
                assert one.tobytes() == other.tobytes(), (standard, name)


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("name", optimizers.CASES)
def test_formulas(name, groups):
    """Each published optimizer, near the cpu target."""
    rule, _, settings, _, _ = optimizers.CASES[name]
    params, gradients = {"param": arrays(1)}, [{"grad": arrays(seed)} for seed in range(2, 2 + optimizers.STEPS)]
    found = run_on_gpu(rule.compile(target="cuda", groups=groups, **settings), params, gradients)
    wanted = run(rule.compile(target="cpu", groups=groups, **settings), params, gradients)
    assert len(found["param"]) == len(SHAPES)
    for key in wanted:
        for one, other in zip(found[key], wanted[key]):
            numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("part", range(4))
def test_integers(part, dtype):
    """Positions, extents, positions of extremes, integer arithmetic and bits, against their formulas."""
    names, states, rule = integers.together(part)
    params, gradients = integers.inputs(dtype)
    found = run_on_gpu(rule.compile(target="cuda", dtype=dtype), {"param": params}, [{"grad": gradients}])
    for name, state in zip(names, states, strict=True):
        integers.compare(name, dtype, found[state], "GPU")
