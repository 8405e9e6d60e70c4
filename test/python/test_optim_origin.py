"""Loaded state of another class is refused; that of torch's class of the same name is not, whatever its version."""

import copy
import os
import pathlib
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle.optim  # noqa: E402
from heddle.optim._table import SPECS  # noqa: E402

#: All of PyTorch's classes that heddle has, and those that it does not have.
NAMES = (*support.TORCH_NAMES, "SparseAdam")
OTHERS = ("Adafactor", "LBFGS", "Muon")
#: The entries of a group in PyTorch 1.4, which later versions only add to.
OLDEST = {
    "SGD": "lr momentum dampening weight_decay nesterov",
    "Adam": "lr betas eps weight_decay amsgrad",
    "AdamW": "lr betas eps weight_decay amsgrad",
    "Adadelta": "lr rho eps weight_decay",
    "Adagrad": "lr lr_decay eps weight_decay initial_accumulator_value",
    "Adamax": "lr betas eps weight_decay",
    "ASGD": "lr lambd alpha t0 weight_decay",
    "NAdam": "lr betas eps weight_decay momentum_decay",
    "RAdam": "lr betas eps weight_decay",
    "RMSprop": "lr momentum alpha eps centered weight_decay",
    "Rprop": "lr etas step_sizes",
    "SparseAdam": "lr betas eps",
}


def made(name, package=torch.optim, *, steps=1, groups=1):
    """An optimizer that has stepped."""
    params = [torch.nn.Parameter(torch.ones(3, 2)) for _ in range(groups)]
    settings = {"momentum": 0.9} if name in ("SGD", "RMSprop", "LARS") else {}
    optimizer = getattr(package, name)([{"params": [param]} for param in params], lr=0.1, **settings)
    for param in params:
        gradient = torch.ones(3, 2)
        param.grad = gradient.to_sparse() if name == "SparseAdam" and package is torch.optim else gradient
    for _ in range(steps):
        optimizer.step(*([lambda: sum((param * param).sum() for param in params)] if name == "LBFGS" else []))
    for param in params:
        param.grad = torch.ones(3, 2)
    return optimizer


def is_same(source, target):
    return source == target or {source, target} == {"Adam", "AdamW"}


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("target", NAMES)
def test_every_pair_of_classes(target, steps):
    """Of torch's and of heddle's classes."""
    for package, names in ((torch.optim, (*NAMES, *OTHERS)), (heddle.optim, SPECS)):
        for source in names:
            if not steps and (source, target) == ("Adamax", "RAdam"):
                continue  # the entries of Adamax are those of RAdam in PyTorch 2.0, and there is no state
            state = made(source, package, steps=steps).state_dict()
            optimizer = made(target, heddle.optim, steps=0)
            before = copy.deepcopy(optimizer.state_dict())
            if is_same(source, target):
                optimizer.load_state_dict(state)
                optimizer.step()
                continue
            with pytest.raises(heddle.BadInput, match=f"^state_dict: expected (groups|the state) of {target}, with "):
                optimizer.load_state_dict(state)
            assert optimizer.state_dict() == before, "nothing is written"


@pytest.mark.parametrize("target", sorted(set(SPECS) - set(NAMES)))
def test_classes_that_torch_does_not_have(target):
    for package, names in ((torch.optim, NAMES), (heddle.optim, SPECS)):
        for source in names:
            state, optimizer = made(source, package).state_dict(), made(target, heddle.optim, steps=0)
            try:
                optimizer.load_state_dict(state)
            except heddle.BadInput:
                assert source != target
                continue
            assert source == target


@pytest.mark.parametrize("name", NAMES)
def test_old_checkpoints(name):
    state = made(name).state_dict()
    kept = {"params", *OLDEST[name].split()}
    assert kept <= set(state["param_groups"][0])
    state["param_groups"] = [{key: value for key, value in group.items() if key in kept} for group in state["param_groups"]]
    optimizer = made(name, heddle.optim, steps=0)
    optimizer.load_state_dict(state)
    optimizer.step()


def test_messages():
    optimizer = made("Adam", heddle.optim, steps=0)
    with pytest.raises(heddle.BadInput) as caught:
        optimizer.load_state_dict(made("SGD").state_dict())
    assert str(caught.value) == (
        "state_dict: expected groups of Adam, with 'amsgrad', 'betas', 'eps', 'lr', 'weight_decay', found groups like those of "
        "SGD, with 'dampening', 'lr', 'momentum', 'nesterov', 'weight_decay', without 'amsgrad', 'betas', 'eps'. Load it into an "
        "optimizer of the class that has saved it"
    )
    assert isinstance(caught.value, ValueError)
    page = pathlib.Path(__file__).parents[2] / "docs" / "optim.md"
    if page.exists():  # not in the bundle for a GPU
        assert f"heddle.errors.BadInput: {caught.value}\n" in page.read_text()
    state = made("Adamax").state_dict()
    adamax = {**state, "param_groups": made("ADOPT", heddle.optim).state_dict()["param_groups"]}
    for target, missing in (("AdaBelief", "exp_avg_var"), ("ADOPT", "exp_avg_sq"), ("LaProp", "exp_avg_lr_1"),
                            ("NovoGrad", "exp_avg_sq")):
        for loaded in (state, adamax) if target == "ADOPT" else (state,):
            with pytest.raises(heddle.BadInput, match=f"expected the state of {target}, with .*'{missing}'.*, found state with "
                                                      "'exp_avg', 'exp_inf', 'step'"):
                made(target, heddle.optim).load_state_dict(loaded)
    with pytest.raises(heddle.BadInput, match="expected the state of RAdam, with 'exp_avg', 'exp_avg_sq', 'step', found state "
                                              "with 'exp_avg', 'exp_inf', 'step'"):
        made("RAdam", heddle.optim).load_state_dict(state)


@pytest.mark.parametrize("name", ["Adam", "SparseAdam", "Rprop", "SGD"])
def test_entries_of_the_caller(name):
    """Schedulers and callers add entries, also such as other classes have."""
    optimizer, other = made(name, heddle.optim, groups=2), made(name, groups=2)
    torch.optim.lr_scheduler.ExponentialLR(other, 0.5)
    for place, group in enumerate(other.param_groups):
        group.update(layer="first", momentum=0.5, dampening=0.1, alpha=place)
    other.param_groups[1]["weight_decay"] = 0.0
    optimizer.load_state_dict(other.state_dict())
    assert optimizer.param_groups[1]["layer"] == "first" and optimizer.param_groups[1]["initial_lr"] == 0.1
    optimizer.step()


def test_entries_that_this_optimizer_has_too():
    """Groups of SparseAdam with a weight decay are not taken for those of RAdam if this optimizer has it as well."""
    state = made("SparseAdam", heddle.optim)
    state.param_groups[0]["weight_decay"] = 0.0
    optimizer = made("SparseAdam", heddle.optim)
    with pytest.raises(heddle.BadInput, match="found groups like those of"):
        optimizer.load_state_dict(state.state_dict())
    optimizer.param_groups[0]["weight_decay"] = 0.0
    optimizer.load_state_dict(state.state_dict())


def test_hooks_subclasses_and_chains():
    """A hook may rename entries; subclasses and chained optimizers are checked as their class is."""

    class Mine(heddle.optim.AdamW):
        pass

    state = made("SGD").state_dict()
    for optimizer in (Mine([torch.nn.Parameter(torch.ones(3, 2))]),
                      heddle.optim.chain(clip_grad_norm=1.0, ema=0.9, optimizer=made("AdamW", heddle.optim))):
        with pytest.raises(heddle.BadInput, match="expected groups of AdamW"):
            optimizer.load_state_dict(state)
        optimizer.load_state_dict(optimizer.state_dict())
    optimizer = made("AdamW", heddle.optim)
    optimizer.register_load_state_dict_pre_hook(lambda self, loaded: made("AdamW").state_dict())
    optimizer.load_state_dict(state)


def test_rules_keep_their_own_way():
    """A rule may gain a hyperparameter; its checkpoints then have its default."""

    @heddle.rule
    def old(p, g, *, lr=0.5):
        return p - lr * g

    @heddle.rule
    def new(p, g, *, lr=0.25, momentum_decay=2.0):
        return p - lr * momentum_decay * g

    param = torch.nn.Parameter(torch.ones(2))
    param.grad = torch.ones(2)
    optimizer = new([param])
    optimizer.load_state_dict(old([param]).state_dict())
    optimizer.step()
    assert param.tolist() == [0, 0]


@pytest.mark.parametrize("name, option, key", [
    ("RMSprop", {"momentum": 0.9}, "momentum_buffer"), ("RMSprop", {"centered": True}, "grad_avg"),
    ("Adam", {"amsgrad": True}, "max_exp_avg_sq"), ("AdaBelief", {"amsgrad": True}, "max_exp_avg_var"),
    ("LaProp", {"centered": True}, "exp_mean_avg_beta2"), ("NovoGrad", {"amsgrad": True}, "max_exp_avg_sq"),
])
def test_state_that_lacks_the_entry_of_an_option(name, option, key):
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    optimizer = getattr(heddle.optim, name)([param], lr=0.1, **option)
    optimizer.step()
    saved = optimizer.state_dict()
    before = optimizer.state[param][key].clone()
    lacking = {**saved, "state": {0: {each: value for each, value in saved["state"][0].items() if each != key}}}
    with pytest.raises(heddle.BadInput, match=f"^state_dict: expected '{key}' in the state of parameter 0, because its group"):
        optimizer.load_state_dict(lacking)
    assert torch.equal(optimizer.state[param][key], before)
    optimizer.load_state_dict(saved)
    optimizer.step()


def test_an_option_that_is_turned_on_later():
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    optimizer = heddle.optim.RMSprop([param], lr=0.1)
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.param_groups[0]["momentum"] = 0.9
    optimizer.step()
    assert "momentum_buffer" in optimizer.state[param]
