"""The list of parameter groups of a chain: PyTorch reads it, and a change that no optimizer would see is an error."""

import copy
import pickle

import pytest

import optim_support as support

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from optim_chains import SHAPES, made, stepped  # noqa: E402

optim = heddle.optim


def chain(**added):
    lists = [support.parameters(shapes=SHAPES[:2]), support.parameters(shapes=SHAPES[:2], seed=1)]
    return made(lists, **added), lists


NEW = {"params": [torch.nn.Parameter(torch.ones(3))]}


def assign(groups):
    groups[0] = NEW


def delete(groups):
    del groups[0]


def add(groups):
    groups += [NEW]


@pytest.mark.parametrize("name, change", [
    ("append", lambda groups: groups.append(NEW)), ("extend", lambda groups: groups.extend([NEW])),
    ("insert", lambda groups: groups.insert(0, NEW)), ("pop", lambda groups: groups.pop()),
    ("remove", lambda groups: groups.remove(groups[0])), ("clear", lambda groups: groups.clear()),
    ("reverse", lambda groups: groups.reverse()), ("sort", lambda groups: groups.sort(key=len)),
    ("__setitem__", assign), ("__delitem__", delete), ("__iadd__", add),
])
def test_a_change_of_the_list_is_an_error(name, change):
    chained, _ = chain()
    before = list(chained.param_groups)
    message = rf"^param_groups.{name}: expected one optimizer that the group is for, found a chain with optimizers\[0\] \(SGD\), " \
        r"optimizers\[1\] \(AdamW\); call add_param_group of one of these$"
    with pytest.raises(heddle.BadInput, match=message):
        change(chained.param_groups)
    assert len(before) == len(chained.param_groups) == 2
    assert all(one is other for one, other in zip(before, chained.param_groups))


def test_another_list_is_an_error():
    chained, _ = chain()
    with pytest.raises(heddle.BadInput, match="^param_groups: expected one optimizer that the group is for"):
        chained.param_groups = [NEW]


def test_it_is_a_list_with_the_groups_of_the_optimizers():
    chained, _ = chain()
    groups = chained.param_groups
    assert isinstance(groups, list) and len(groups) == 2
    assert groups[0] is chained.optimizers[0].param_groups[0] and groups[-1] is chained.optimizers[1].param_groups[0]
    groups[1]["lr"] = 0.25
    assert chained.optimizers[1].param_groups[0]["lr"] == 0.25
    chained.optimizers[0].add_param_group(NEW)
    assert len(chained.param_groups) == 3 and chained.param_groups[1]["params"] == NEW["params"]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, list, lambda groups: groups[:], lambda groups: groups.copy(),
                                       lambda groups: pickle.loads(pickle.dumps(groups)), lambda groups: groups + []])
def test_copies_are_plain_lists(duplicate):
    chained, _ = chain()
    found = duplicate(chained.param_groups)
    assert type(found) is list and [group["lr"] for group in found] == [0.1, 0.1]
    found.append(NEW)


SCHEDULERS = {
    "StepLR": lambda each: torch.optim.lr_scheduler.StepLR(each, 1, 0.5),
    "LambdaLR": lambda each: torch.optim.lr_scheduler.LambdaLR(each, [lambda step: 1 / (1 + step)] * 2),
    "CosineAnnealingLR": lambda each: torch.optim.lr_scheduler.CosineAnnealingLR(each, 4),
    "OneCycleLR": lambda each: torch.optim.lr_scheduler.OneCycleLR(each, 0.5, 10, cycle_momentum=False),
    "SequentialLR": lambda each: torch.optim.lr_scheduler.SequentialLR(
        each, [torch.optim.lr_scheduler.ConstantLR(each, 0.5), torch.optim.lr_scheduler.ExponentialLR(each, 0.5)], [2]),
    "ReduceLROnPlateau": lambda each: torch.optim.lr_scheduler.ReduceLROnPlateau(each, patience=0),
    "SWALR": lambda each: torch.optim.swa_utils.SWALR(each, 0.05, anneal_epochs=2),
}


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_change_the_groups(name):
    """As those of PyTorch's optimizer with the same groups."""
    chained, lists = chain()
    other = torch.optim.SGD([{"params": support.copies(params)} for params in lists], lr=0.1)
    schedulers = [SCHEDULERS[name](each) for each in (chained, other)]
    for step in range(4):
        stepped(lists, chained, 1, step)
        for each in schedulers:
            each.step(*([1.0] if name == "ReduceLROnPlateau" else []))
        assert [group["lr"] for group in chained.param_groups] == [group["lr"] for group in other.param_groups]
    assert chained.param_groups[0]["lr"] != 0.1
    schedulers[0].load_state_dict(schedulers[0].state_dict())


def test_what_pytorch_does_with_an_optimizer():
    chained, lists = chain()
    stepped(lists, chained, 1)
    state = chained.state_dict()
    assert type(state["param_groups"]) is list and [group["params"] for group in state["param_groups"]] == [[0, 1], [2, 3]]
    chained.load_state_dict(copy.deepcopy(state))
    assert "Parameter Group 1" in repr(chained)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(torch.ones(()))
    scaler.unscale_(chained)
    assert torch.isfinite(torch.nn.utils.clip_grad_norm_([param for group in chained.param_groups for param in group["params"]], 1))
    scaler.step(chained)
    scaler.update()
    chained.zero_grad()
    assert all(param.grad is None for params in lists for param in params)


def test_distributed_checkpoints_read_the_groups():
    api = pytest.importorskip("torch.distributed.checkpoint.state_dict")
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 2))
    chained = optim.chain(optimizer=[optim.SGD(model[0].parameters(), lr=0.1, momentum=0.9), optim.AdamW(model[1].parameters())])
    model(torch.ones(1, 3)).sum().backward()
    chained.step()
    found = api.get_optimizer_state_dict(model, chained)
    assert set(found["state"]) == {"0.weight", "0.bias", "1.weight", "1.bias"}
    before = copy.deepcopy(found)
    for state in found["state"].values():
        for value in state.values():
            value.zero_()
    api.set_optimizer_state_dict(model, chained, before)
    assert torch.equal(chained.state[model[1].weight]["exp_avg"], before["state"]["1.weight"]["exp_avg"])
