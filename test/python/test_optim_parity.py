"""heddle's optimizers against torch's loops over tensors, in every configuration of torch's own tests."""

import copy
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()
pytest.importorskip("expecttest", reason="needs expecttest: tools/dev setup --torch")

from torch.testing._internal.common_optimizers import optim_db  # noqa: E402

CONFIGURATIONS = [
    pytest.param(info.optim_cls.__name__, configuration.kwargs, id=f"{info.optim_cls.__name__}-{configuration.desc}")
    for info in optim_db
    if info.optim_cls.__name__ in support.TORCH_NAMES
    for configuration in info.optim_inputs_func(device="cuda")  # those of "cpu", and capturable ones
]


def in_double(kwargs):
    """Tensors as hyperparameters, in float64: in float32, torch rounds what it computes of them."""
    def convert(value):
        if isinstance(value, torch.Tensor):
            return value.double()
        return tuple(map(convert, value)) if isinstance(value, tuple) else value

    return {key: convert(value) for key, value in copy.deepcopy(kwargs).items()}


def test_there_are_configurations_of_every_optimizer():
    assert {each.values[0] for each in CONFIGURATIONS} == set(support.TORCH_NAMES)
    assert len(CONFIGURATIONS) > 15


@pytest.mark.parametrize("device", support.devices())
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("name, kwargs", CONFIGURATIONS)
def test_configuration(name, kwargs, dtype, device):
    """Parameters and state after 7 and after 100 steps."""
    params = support.parameters(device, dtype)
    ours, theirs, others = support.pair(name, params, **in_double(kwargs))
    # A capturable step of torch computes with the number of the step in float32, and is refused on the CPU.
    for group in theirs.param_groups:
        if "capturable" in group:
            group["capturable"] = False
    done = 0
    for steps in (7, 100):
        support.run(ours, theirs, params, others, steps - done, done)
        done = steps
        support.assert_same_params(params, others, **support.tolerance(dtype, steps))
        support.assert_same_state(ours, theirs, **support.tolerance(dtype, steps))


@pytest.mark.parametrize("name", support.TORCH_NAMES)
def test_errors_of_torch(name):
    """What torch's tests expect a constructor to refuse."""
    info = next(each for each in optim_db if each.optim_cls.__name__ == name)
    tested = 0
    for error in info.optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given = error.optimizer_error_input
        expects = pytest.warns if issubclass(error.error_type, Warning) else pytest.raises
        params = support.parameters() if given.params is None else given.params
        with expects(error.error_type, match=error.error_regex):
            support.heddle_class(name)(params, **given.kwargs)
        tested += 1
    assert tested


@pytest.mark.parametrize("name", support.TORCH_NAMES)
def test_signature(name):
    import inspect

    added = support.heddle_class(name).spec.added
    ours = inspect.signature(support.heddle_class(name).__init__).parameters
    assert all(ours[each].kind is inspect.Parameter.KEYWORD_ONLY for each in added)
    theirs = inspect.signature(getattr(torch.optim, name).__init__).parameters
    assert [(each.name, each.kind, each.default) for each in ours.values() if each.name not in added] == [
        (each.name, each.kind, each.default) for each in theirs.values()
    ]
    params = support.parameters()
    assert support.heddle_class(name)(params).defaults == getattr(torch.optim, name)(params).defaults
