"""The optimizers of the library against their formulas in NumPy; for PyTorch's own, see test_optim_parity.py, too."""

import inspect
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import numpy  # noqa: E402
from optim_formulas import CONTRADICTIONS, FORMULAS, SUMS, pairwise  # noqa: E402

import heddle.optim  # noqa: E402

CASES = [
    pytest.param(name, options, id=f"{name}-{k}")
    for name, (_, values) in FORMULAS.items()
    for k, options in enumerate(pairwise({**values, "maximize": [True]}, CONTRADICTIONS.get(name)))
]


def numbers(tensor):
    return tensor.detach().double().cpu().numpy()


def expected(name, params, options, gradients):
    """The parameters and states after a step with each entry of `gradients`, in double.

    Args:
        options: those of all parameters, or a list with the options of each.
    """
    formula, _ = FORMULAS[name]
    each = [dict(options)] * len(params) if isinstance(options, dict) else options
    signs = [-1 if options.get("maximize") else 1 for options in each]
    each = [{key: value for key, value in options.items() if key != "maximize"} for options in each]
    arrays = [numbers(param) for param in params]
    states, steps = [{} for _ in arrays], [0] * len(arrays)
    for grads in gradients:
        grads = [None if grad is None else sign * numbers(grad) for sign, grad in zip(signs, grads)]
        extra = {}
        if "whole" in inspect.signature(formula).parameters:
            squares = sum(numpy.sum(grad**2) for grad in grads if grad is not None)
            extra["whole"] = lambda squares=squares: numpy.sqrt(squares)
        if name in SUMS:
            stepped = [k for k, grad in enumerate(grads) if grad is not None]
            extra["sums"] = sum(SUMS[name](arrays[k], grads[k], states[k], **each[k]) for k in stepped)
        for k, grad in enumerate(grads):
            if grad is not None:
                steps[k] += 1
                arrays[k] = formula(steps[k], arrays[k], grad, states[k], **each[k], **extra)
    return arrays, states


def random_gradients(params, steps):
    found = []
    for step in range(steps):
        support.set_gradients(params, step=step, skip=(1,) if step % 3 == 1 else ())
        found.append([None if param.grad is None else param.grad.clone() for param in params])
    return found


def step_with(optimizer, params, gradients):
    for grads in gradients:
        for param, grad in zip(params, grads):
            param.grad = None if grad is None else grad.clone()
        optimizer.step()


def assert_matches(optimizer, params, arrays, states, **close):
    for param, array, state in zip(params, arrays, states):
        assert set(optimizer.state[param]) - {"step"} == set(state) - {"step"}
        pairs = [(param, array), *((optimizer.state[param][key], value) for key, value in state.items())]
        for found, value in pairs:
            value = torch.from_numpy(numpy.asarray(value))
            # One value for each tensor is in single precision.
            least = support.tolerance(torch.float32, 30) if found.dtype != param.dtype else {}
            torch.testing.assert_close(found.detach().cpu().double(), value, **{**close, **least})


@pytest.mark.parametrize("device", support.devices())
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("name, options", CASES)
def test_formula(name, options, dtype, device):
    """Every two values of two options, 100 steps."""
    params = support.parameters(device, dtype)
    gradients = random_gradients(params, 100)
    arrays, states = expected(name, params, options, gradients)
    optimizer = getattr(heddle.optim, name)(params, **options)
    step_with(optimizer, params, gradients)
    in_single = dtype == torch.float32 or any(not numpy.ndim(value) for value in states[0].values())
    close = support.tolerance(torch.float32 if in_single else dtype, 100)
    assert_matches(optimizer, params, arrays, states, **close)


#: Zeros, denormal numbers, squares that vanish or overflow, and what is no number.
EXTREMES = (0.0, -0.0, 5e-324, -1e-310, 1e-170, 1e-30, -1.0, 1e30, -1e160, 1e300, float("inf"), -float("inf"), float("nan"))


@pytest.mark.parametrize("name, options", CASES)
def test_extreme_gradients(name, options):
    """100 steps in double in which an element, or a whole parameter, has extreme gradients for some steps."""
    shapes = ((len(EXTREMES),), (len(EXTREMES),), (3,), (5,), (1,))
    params = support.parameters("cpu", torch.float64, shapes)
    gradients = random_gradients(params, 100)
    for step, grads in enumerate(gradients):
        if step % 10 < 2 and grads[0] is not None:
            finite = torch.tensor(EXTREMES, dtype=torch.float64)
            grads[0] = torch.where(finite.isfinite() | torch.tensor(step > 50), finite, grads[0])
        grads[2].zero_()
        grads[3].mul_(1e-308)
        grads[4].mul_(1e120)
    with numpy.errstate(all="ignore"):
        arrays, states = expected(name, params, options, gradients)
    optimizer = getattr(heddle.optim, name)(params, **options)
    step_with(optimizer, params, gradients)
    assert_matches(optimizer, params, arrays, states, rtol=1e-4, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("name", FORMULAS)
def test_groups_and_loaded_state(name):
    """Groups with other rates, and a run that continues from a loaded state, take one launch with the same bits."""
    whole, parts = support.parameters(), support.parameters()
    gradients = random_gradients(support.parameters(), 8)
    rates = (0.25, 0.0 if name == "Prodigy" else 0.125)  # Prodigy has one rate, or 0

    def make(params):
        return getattr(heddle.optim, name)([{"params": params[:3], "lr": rates[0]}, {"params": params[3:], "lr": rates[1]}])

    first = make(whole)
    step_with(first, whole, gradients)
    second = make(parts)
    step_with(second, parts, gradients[:4])
    third = make(parts)
    third.load_state_dict(second.state_dict())
    step_with(third, parts, gradients[4:])
    for one, other in zip(whole, parts):
        assert torch.equal(one, other)
    options = [{"lr": rates[0]}] * 3 + [{"lr": rates[1]}] * (len(whole) - 3)
    arrays, states = expected(name, support.parameters(), options, gradients)
    assert_matches(first, whole, arrays, states, rtol=1e-4, atol=1e-5)


def test_a_norm_of_all_gradients_needs_one_launch():
    params = support.parameters()
    optimizer = heddle.optim.Adan(
        [{"params": params[:3]}, {"params": params[3:], "no_prox": True}], weight_decay=0.1, max_grad_norm=1.0
    )
    with pytest.raises(heddle.errors.BadInput, match="Adan: expected one launch for all parameters, found 2"):
        step_with(optimizer, params, random_gradients(support.parameters(), 1))
    assert all(torch.equal(*pair) for pair in zip(params, support.parameters())) and not any(optimizer.state.values())
    optimizer.param_groups[0]["no_prox"] = True
    step_with(optimizer, params, random_gradients(support.parameters(), 1))


@pytest.mark.parametrize("name", FORMULAS)
def test_every_option_is_tested(name):
    """Every argument of a class has other values in `FORMULAS`, is there for compatibility, or in test_optim_storage.py."""
    spec = getattr(heddle.optim, name).spec
    storage = {"state_dtype", "rounding", "master", "seed"}
    assert set(spec.defaults) - set(spec.ignored) - {"maximize"} - storage == set(FORMULAS[name][1])
    assert "a hyperparameter of the rule" not in spec.doc


@pytest.mark.parametrize("name", FORMULAS)
def test_mistakes(name):
    make = getattr(heddle.optim, name)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        make(support.parameters(), lr=-1)
    if "weight_decay" in make.spec.defaults:
        with pytest.raises(ValueError, match="Invalid weight_decay value: -1"):
            make(support.parameters(), weight_decay=-1)


def test_dense_gradients_step_as_sparse_ones():
    """`SparseAdam` against PyTorch's class, whose gradients have only the elements that are not 0."""
    ours, theirs = support.parameters("cpu", torch.float64), support.parameters("cpu", torch.float64)
    options = dict(lr=0.05, betas=(0.75, 0.875), eps=1e-3)
    optimizer, reference = heddle.optim.SparseAdam(ours, **options), torch.optim.SparseAdam(theirs, **options)
    for grads in random_gradients(ours, 20):
        for one, other, grad in zip(ours, theirs, grads):
            one.grad = other.grad = None
            if grad is not None and grad.dim():  # PyTorch's class does not step numbers
                one.grad = torch.where(grad > 0.3, grad, torch.zeros_like(grad))
                other.grad = one.grad.to_sparse()
        optimizer.step()
        reference.step()
    for one, other in zip(ours, theirs):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    assert not torch.equal(ours[0], support.parameters("cpu", torch.float64)[0])
    ours[0].grad = ours[0].detach().to_sparse()
    with pytest.raises((RuntimeError, heddle.errors.BadInput), match="sparse"):
        optimizer.step()


def test_groups_of_which_one_has_a_schedule():
    """None is a hyperparameter that is left out, also beside groups that have it."""
    params = support.parameters()
    gradients = random_gradients(params, 6)
    groups = [{"params": params[:3]}, {"params": params[3:], "alpha_warmup": 4, "beta3_warmup": 3}]
    optimizer = heddle.optim.AdEMAMix(groups, lr=0.1)
    step_with(optimizer, params, gradients)
    options = [dict(lr=0.1)] * 3 + [dict(lr=0.1, alpha_warmup=4, beta3_warmup=3)] * (len(params) - 3)
    arrays, states = expected("AdEMAMix", support.parameters(), options, gradients)
    assert_matches(optimizer, params, arrays, states, **support.tolerance(torch.float32, 6))


def test_groups_of_which_one_has_no_weight_decay():
    """LAMB's rates are for tensors with a decay, and a norm of 0 leaves the clipping out, in each group."""
    params = support.parameters()
    gradients = random_gradients(params, 6)
    others = dict(weight_decay=0.0, max_grad_norm=0.0)
    optimizer = heddle.optim.LAMB([{"params": params[:3]}, {"params": params[3:], **others}], lr=0.1)
    step_with(optimizer, params, gradients)
    options = [dict(lr=0.1)] * 3 + [dict(lr=0.1, **others)] * (len(params) - 3)
    arrays, states = expected("LAMB", support.parameters(), options, gradients)
    assert_matches(optimizer, params, arrays, states, **support.tolerance(torch.float32, 6))


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_cautious_is_an_entry_only_if_it_was_given(name):
    """State moves to PyTorch's optimizers and back; the option may be set between two steps, for one group."""
    import copy

    params = support.parameters()
    gradients = random_gradients(params, 6)
    options = dict(momentum=0.5) if name == "SGD" else {}
    optimizer = getattr(heddle.optim, name)([{"params": params[:3]}, {"params": params[3:]}], lr=0.1, **options)
    step_with(optimizer, params, gradients[:3])
    theirs = getattr(torch.optim, name)([{"params": params[:3]}, {"params": params[3:]}], lr=0.1, **options)
    groups = [sorted(group) for group in optimizer.state_dict()["param_groups"]]
    assert groups == [sorted(group) for group in theirs.state_dict()["param_groups"]]
    optimizer.param_groups[1]["cautious"] = True
    copied = copy.deepcopy(optimizer)
    step_with(optimizer, params, gradients[3:])
    assert [group["cautious"] for group in optimizer.param_groups] == [False, True]
    step_with(copied, [param for group in copied.param_groups for param in group["params"]], gradients[3:])
    start = support.parameters()
    arrays, states = expected(name, start, dict(lr=0.1, **options), gradients)
    assert_matches(optimizer, params[:3], arrays[:3], states[:3], **support.tolerance(torch.float32, 6))
    ours, others = (sum((group["params"] for group in each.param_groups), []) for each in (optimizer, copied))
    assert all(map(torch.equal, ours, others))
    whole = getattr(heddle.optim, name)(start, lr=0.1, **options)
    step_with(whole, start, gradients[:3])
    whole.param_groups[0]["cautious"] = True
    step_with(whole, start, gradients[3:])
    assert all(map(torch.equal, params[3:], start[3:])) and not torch.equal(params[0], start[0])
    with pytest.raises(TypeError, match="cautious: expected True or False"):
        getattr(heddle.optim, name)(start, cautious=torch.ones(2), **options)


class _Refusing:
    """A number that refuses to be compared, as decimal.Decimal("nan") does."""

    def __float__(self):
        return float("nan")

    def __le__(self, other):
        raise ArithmeticError("refused")

    __lt__ = __ge__ = __gt__ = __le__


#: Values of a hyperparameter that are no finite real numbers in memory.
NO_NUMBERS = (
    "abc",
    1j,
    10**400,
    [1.0],
    _Refusing(),
    torch.tensor(1j),
    torch.empty((), device="meta"),
    torch.tensor([0.5]).to_sparse(),
)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_hyperparameter_that_is_no_number_is_named(name):
    """By the constructor, or by the step if it is set later. A first step that is refused leaves no state."""
    spec = getattr(heddle.optim, name).spec
    entries = [key for key, value in spec.defaults.items() if type(value) in (int, float, type(None))]
    for entry in set(entries) - set(spec.ignored):
        for value in NO_NUMBERS:
            if isinstance(value, _Refusing) and entry not in spec.checked:
                continue  # NaN is a number
            with pytest.raises((ValueError, TypeError), match={"lr": "lr|learning rate", "eps": "eps"}.get(entry, entry)):
                getattr(heddle.optim, name)(support.parameters(), **{entry: value})
        params = support.parameters()
        optimizer = getattr(heddle.optim, name)(params)
        optimizer.param_groups[0][entry] = torch.tensor(1j)
        support.set_gradients(params)
        with pytest.raises((heddle.errors.BadInput, TypeError), match=entry):
            optimizer.step()
        assert all(torch.equal(*pair) for pair in zip(params, support.parameters())) and not any(optimizer.state.values())


@pytest.mark.parametrize("name, entry", [("Adagrad", "initial_accumulator_value"), ("Yogi", "initial_accumulator"), ("Rprop", "lr")])
def test_initial_values(name, entry):
    """A number of any library, and one that the type of the state cannot hold."""
    import fractions

    make = getattr(heddle.optim, name)
    both = support.parameters(), support.parameters()
    for params, value in zip(both, (0.5, fractions.Fraction(1, 2))):
        support.set_gradients(params)
        make(params, **{entry: value}).step()
    assert all(map(torch.equal, *both))
    params = support.parameters(shapes=((3,),))
    for value in (1e308, 2**140):
        optimizer = make(params, **{entry: value})
        support.set_gradients(params)
        with pytest.raises(heddle.errors.BadInput, match=f"{entry}: expected a number that torch.float32 can hold"):
            optimizer.step()
        assert not any(optimizer.state.values())


def test_adan_takes_fused_as_its_authors_class_does():
    both = support.parameters(), support.parameters()
    for params, fused in zip(both, (False, True)):
        support.set_gradients(params)
        heddle.optim.Adan(params, fused=fused).step()
    assert all(map(torch.equal, *both))
