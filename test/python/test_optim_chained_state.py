"""The state of a chain of several optimizers: copies, state dictionaries, and loads that fail."""

import copy
import math
import pickle

import pytest

import optim_support as support

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from optim_chains import MEMBERS, SHAPES, Pair, assert_same_bytes, lists_of, made, stepped  # noqa: E402
from test_interruptions import Timeout, interrupted, lines_in  # noqa: E402

optim = heddle.optim
DEVICES = pytest.mark.parametrize("device", support.devices())


@DEVICES
@pytest.mark.parametrize("how", ["state_dict", "torch.save", "deepcopy", "pickle"])
def test_copies_and_checkpoints_continue(how, device, tmp_path):
    lists = [support.parameters(device, None, SHAPES), support.parameters(device, torch.bfloat16, SHAPES, seed=1)]
    first = made(lists, ema=0.5)
    stepped(lists, first, 3)
    if how in ("state_dict", "torch.save"):
        others = [support.copies(params) for params in lists]
        second = made(others, ema=0.5)
        state = copy.deepcopy(first.state_dict())
        if how == "torch.save":
            torch.save(state, tmp_path / "state")
            state = torch.load(tmp_path / "state", weights_only=True)
        second.load_state_dict(state)
    else:
        second = copy.deepcopy(first) if how == "deepcopy" else pickle.loads(pickle.dumps(first))
        others = lists_of(second)
        assert type(second) is optim.ChainedOptimizer and second.clip_grad_norm == 0.5
    assert_same_bytes(first, second)
    stepped(lists, first, 3, 3)
    stepped(others, second, 3, 3)
    assert_same_bytes(first, second)
    with pytest.raises(heddle.BadInput, match="^step: expected an optimizer that is in no chain"):
        second.optimizers[0].step()


def test_the_state_dictionary_is_that_of_all_groups():
    """Parameters have the numbers that one optimizer with all groups would give them."""
    lists = [support.parameters(shapes=SHAPES), support.parameters(shapes=SHAPES, seed=1)]
    chained = made(lists)
    stepped(lists, chained, 2)
    found = chained.state_dict()
    assert [group["params"] for group in found["param_groups"]] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert set(found["state"]) == set(range(10)) and all(type(each) is dict for each in found["state"].values())
    for place, each in enumerate(chained.optimizers):
        own = each.state_dict()["state"]
        for number, state in own.items():
            assert all(found["state"][5 * place + number][key] is value for key, value in state.items())
    # What one optimizer has saved alone is loaded into that one.
    alone = optim.AdamW(support.copies(lists[1]), lr=0.3)
    alone.load_state_dict(chained.optimizers[1].state_dict())
    chained.optimizers[1].load_state_dict(alone.state_dict())
    stepped(lists, chained, 1, 2)
    assert chained.state[lists[1][0]]["step"].item() == 3


def test_the_state_of_all_is_a_dictionary():
    lists = [support.parameters(shapes=SHAPES[:2]), support.parameters(shapes=SHAPES[:2], seed=1)]
    chained = made(lists)
    stepped(lists, chained, 1)
    (first, second), (third, _) = lists
    assert list(chained.state) == [*lists[0], *lists[1]] and len(chained.state) == 4 and first in chained.state
    assert chained.state[third] is chained.optimizers[1].state[third]
    assert chained.state.get(torch.ones(1)) is None
    with pytest.raises(KeyError):
        chained.state[torch.ones(1)]
    chained.state[first]["momentum_buffer"] = torch.full_like(first, 3.0)
    chained.state[third] = {}
    del chained.state[second]
    first.grad.zero_()
    before = first.detach().clone()
    chained.clip_grad_norm = math.inf
    chained.step()
    torch.testing.assert_close(first.detach(), before - 0.1 * 0.9 * 3.0)
    assert chained.state[third]["step"].item() == 1
    torch.testing.assert_close(chained.state[second]["momentum_buffer"], second.grad)
    chained.state = {}
    chained.step()
    assert chained.state[third]["step"].item() == 1


@pytest.mark.parametrize("change, message", [
    (lambda state: state["param_groups"].pop(), r"^state_dict: expected 2 parameter groups \(1 of SGD, 1 of AdamW\), found 1"),
    (lambda state: state["param_groups"].reverse(), r"^optimizers\[0\] \(SGD\): state_dict: expected groups of SGD, .* found groups like those of Adam"),
    (lambda state: state["param_groups"][1]["params"].pop(), r"groups of AdamW with \[5\] parameters, found \[4\]"),
    (lambda state: state["state"][7].pop("exp_avg"), ""),
])
def test_nothing_is_loaded_if_one_optimizer_does_not_fit(change, message):
    lists = [support.parameters(shapes=SHAPES), support.parameters(shapes=SHAPES, seed=1)]
    chained = made(lists)
    stepped(lists, chained, 2)
    state = copy.deepcopy(chained.state_dict())
    other_lists = [support.copies(params) for params in lists]
    other = made(other_lists)
    stepped(other_lists, other, 1, 5)
    before = copy.deepcopy(other)
    change(state)
    if message:
        with pytest.raises(heddle.BadInput, match=message):
            other.load_state_dict(state)
        assert_same_bytes(other, before)
    stepped(other_lists, other, 1, 6)


def test_hooks_of_state_dictionaries():
    lists = [support.parameters(shapes=SHAPES), support.parameters(shapes=SHAPES, seed=1)]
    chained = made(lists)
    stepped(lists, chained, 1)
    calls = []
    chained.register_state_dict_post_hook(lambda optimizer, state: {**state, "mine": 1})
    chained.register_load_state_dict_pre_hook(lambda optimizer, state: calls.append(state.pop("mine")))
    chained.register_load_state_dict_post_hook(lambda optimizer: calls.append(2))
    chained.load_state_dict(chained.state_dict())
    assert calls == [1, 2]


def _loadable():
    """A chain that has stepped, and its state before the last step."""
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    pair.run(1)
    saved = copy.deepcopy(pair.chain.state_dict())
    pair.run(1, 1)
    return pair, saved, len(pair.members[0].param_groups[0]["params"])


@pytest.mark.parametrize("damage", [
    lambda saved, first: saved["param_groups"][1].update(mine=(each for each in ())),
    lambda saved, first: saved["state"][first].update(exp_avg=torch.empty(saved["state"][first]["exp_avg"].shape, device="meta")),
    lambda saved, first: saved["state"][first].update(mine=torch.empty(2, device="meta")),
])
def test_nothing_is_loaded_if_pytorch_cannot_copy_it(damage):
    pair, saved, first = _loadable()
    damage(saved, first)
    before = copy.deepcopy(pair.chain.state_dict())
    with pytest.raises((TypeError, NotImplementedError, heddle.BadInput)):
        pair.chain.load_state_dict(saved)
    assert repr(pair.chain.state_dict()) == repr(before)


def test_a_load_calls_the_hooks_of_the_chain_only():
    pair, saved, first = _loadable()
    calls = []
    for each in (pair.chain, *pair.members):
        each.register_load_state_dict_pre_hook(lambda owner, _: calls.append(("before", owner)))
        each.register_load_state_dict_post_hook(lambda owner: calls.append(("after", owner)))
    pair.chain.load_state_dict(saved)
    assert calls == [("before", pair.chain), ("after", pair.chain)]
    pair.members[0].load_state_dict(pair.members[0].state_dict())
    assert calls[2:] == [("before", pair.members[0]), ("after", pair.members[0])]


def test_state_of_no_parameter_is_loaded():
    pair, saved, _ = _loadable()
    saved["state"]["mine"] = {"x": 1}
    pair.chain.load_state_dict(saved)
    assert pair.chain.optimizers[0].state["mine"] == {"x": 1}


@pytest.mark.parametrize("entry, value, message", [
    ("params", lambda keys: [*keys[:-1], [1]], r"\['params'\]\[4\]: expected a key of the state, such as a number, found \[1\]$"),
    ("param_names", lambda keys: 3, r"\['param_names'\]: expected a list of names, found 3$"),
])
def test_nothing_is_loaded_with_numbers_or_names_that_are_none(entry, value, message):
    pair, saved, _ = _loadable()
    saved["param_groups"][1][entry] = value(saved["param_groups"][1]["params"])
    before = copy.deepcopy(pair.chain.state_dict())
    with pytest.raises(heddle.BadInput, match=r"^state_dict\['param_groups'\]\[1\]" + message):
        pair.chain.load_state_dict(saved)
    assert repr(pair.chain.state_dict()) == repr(before)


def test_a_load_converts_each_value_once(monkeypatch):
    pair, saved, _ = _loadable()
    convert, calls = torch.optim.Optimizer._process_value_according_to_param_policy, []

    def counted(*arguments, **keywords):
        calls.append(arguments)
        return convert(*arguments, **keywords)

    monkeypatch.setattr(torch.optim.Optimizer, "_process_value_according_to_param_policy", staticmethod(counted))
    pair.chain.load_state_dict(saved)
    assert len(calls) == sum(len(state) for state in saved["state"].values())


def test_a_load_of_all_optimizers_is_done_or_not_done():
    """An exception of a signal handler comes before anything is loaded, or after all of it."""
    def contents():
        groups = [group["lr"] for group in chained.param_groups]
        return groups, [(key, value.tolist()) for params in lists for param in params
                        for key, value in sorted(chained.state[param].items())]

    lists = [support.parameters(dtype=torch.bfloat16, shapes=((3,),), seed=place) for place in range(2)]
    chained = optim.chain(optimizer=[optim.SGD(lists[0], lr=0.1, momentum=0.9, master="f32", state_dtype=torch.float32),
                                     optim.AdamW(lists[1], lr=0.1)])
    loads, wanted = [], []
    for step in range(2):
        stepped(lists, chained, 1, step)
        for group in chained.param_groups:
            group["lr"] *= 0.5
        saved = copy.deepcopy(chained.state_dict())
        loads.append(lambda saved=saved: chained.load_state_dict(copy.deepcopy(saved)))
        wanted.append(contents())
    loads[0]()
    assert contents() == wanted[0] != wanted[1]
    lines, seen = lines_in(loads[1]), set()
    for line in range(1, lines + 1):
        loads[0]()
        _, error = interrupted(loads[1], line)
        assert type(error) is Timeout or line > lines - 20
        assert contents() in wanted, line
        seen.add(contents() == wanted[1])
    assert seen == {False, True}
