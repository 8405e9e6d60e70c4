"""Optimizers whose chain is gone are as they were before it: part of an earlier chain, or alone."""

import copy
import gc

import pytest

import optim_support as support

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from optim_chains import MEMBERS, SHAPES, Pair, made, stepped  # noqa: E402

optim = heddle.optim


def two():
    """Two optimizers, of which the second one clips and averages, and copies with the same parameters and gradients."""
    lists = [support.parameters(shapes=SHAPES, seed=place) for place in range(2)]
    others = [support.copies(params) for params in lists]

    def build(lists):
        clipped = optim.chain(clip_grad_norm=0.5, ema=0.9, optimizer=optim.AdamW(lists[1], lr=0.1))
        return [optim.SGD(lists[0], lr=0.1, momentum=0.9), clipped]

    return lists, build(lists), others, build(others)


def assert_alone(lists, members, others, alone):
    """The optimizers have the same steps as those that were never in a chain."""
    for step in range(3):
        support.set_gradients([*lists[0], *lists[1]], [*others[0], *others[1]], step)
        for one, other in zip(members, alone):
            norm, wanted = one.step(), other.step()
            assert (norm is None) == (wanted is None)
    for params, copied in zip(lists, others):
        support.assert_same_params(params, copied, rtol=0, atol=0)
    for param, copied in zip(lists[0], others[0]):
        assert members[0].state[param].keys() == alone[0].state[copied].keys()
    for param, copied in zip(lists[1], others[1]):
        assert torch.equal(members[1].state[param]["ema"], alone[1].state[copied]["ema"])


def test_optimizers_of_a_chain_that_nobody_keeps_are_as_before():
    lists, members, others, alone = two()
    optim.chain(clip_grad_norm=1e-3, accumulation=2, zero_grad=True, optimizer=members)
    assert [each.clip_grad_norm for each in members] == [None, 0.5]
    assert_alone(lists, members, others, alone)


def test_what_was_added_alone_counts_as_before():
    """Also by a call that found the chain gone."""
    lists, members, others, alone = two()
    optim.chain(ema=0.5, optimizer=members)
    members[1].clip_grad_norm = 0.25
    alone[1].clip_grad_norm = 0.25
    optim.chain(zero_grad=True, optimizer=members)
    assert_alone(lists, members, others, alone)


def test_a_chain_is_gone_after_its_steps():
    """Its average stays in the state of the optimizers, but no step continues it."""
    lists = [support.parameters(shapes=SHAPES[:2]), support.parameters(shapes=SHAPES[:2], seed=1)]
    chained = made(lists, ema=0.5, zero_grad=True)
    members = chained.optimizers
    stepped(lists, chained, 2)
    averages = [copy.deepcopy(each.state[param]["ema"]) for each, params in zip(members, lists) for param in params]
    del chained
    support.set_gradients([*lists[0], *lists[1]], step=2)
    for each in members:
        assert each.step() is None
    found = [each.state[param]["ema"] for each, params in zip(members, lists) for param in params]
    support.assert_same_params(found, averages, rtol=0, atol=0)
    assert all(param.grad.any() for params in lists for param in params)  # which no step sets to zero
    optim.chain(ema=0.5, optimizer=members[0]).step()
    for param, average in zip(lists[0], averages):
        torch.testing.assert_close(members[0].state[param]["ema"], (average + param.detach()) / 2)


@pytest.mark.parametrize("count", [1, 2])
def test_a_state_dictionary_has_no_average_of_skipped_steps_only(count):
    """Of a chain that is gone, and of a call of `chain` that a later one has replaced."""
    lists = [support.parameters(shapes=SHAPES[:2], seed=place) for place in range(count)]
    members = [optim.AdamW(params) for params in lists]
    chained = optim.chain(ema=0.5, optimizer=members if count > 1 else members[0])
    support.set_gradients([param for params in lists for param in params])
    chained.grad_scale, chained.found_inf = torch.ones(()), torch.ones(())
    chained.step()
    del chained.grad_scale, chained.found_inf, chained
    if count == 1:
        optim.chain(optimizer=members[0])
    assert members[0].clip_grad_norm is None
    for each in members:
        assert all("ema" not in state for state in each.state_dict()["state"].values())
        assert all("ema" not in state for state in copy.deepcopy(each).state.values())


def test_an_earlier_chain_steps_its_optimizers_again():
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    pair.run(2)
    later = optim.chain(ema=0.5, zero_grad=True, clip_grad_norm=0.1, optimizer=pair.members)
    with pytest.raises(heddle.BadInput, match=r"^step: expected optimizers\[0\] \(SGD\) in this chain, found it in a later one"):
        pair.chain.step()
    del later
    pair.run(2, 2)  # also compares the norm
    pair.compare()
    assert all("ema" not in pair.chain.state[param] for param in pair.params)
    with pytest.raises(heddle.BadInput, match=r"^step: expected an optimizer that is in no chain, found optimizers\[0\] of"):
        pair.members[0].step()
    assert all(each._lock is pair.chain._lock for each in pair.members)


def test_an_earlier_chain_of_which_a_later_one_has_one_optimizer():
    """It steps again when that one is gone."""
    pair = Pair(*MEMBERS["three"], clip_grad_norm=1.0)
    pair.run(1)
    others = [optim.Lion(support.parameters(shapes=SHAPES, seed=9)), optim.Lion(support.parameters(shapes=SHAPES, seed=8))]
    later = optim.chain(optimizer=[others[0], pair.members[1]])
    latest = optim.chain(optimizer=[others[1], pair.members[1]])
    for param in pair.params:
        param.grad = None
    chains = [later, latest]
    del later, latest
    while chains:
        with pytest.raises(heddle.BadInput, match=r"^step: expected optimizers\[1\] \(RMSprop\) in this chain"):
            pair.chain.step()
        assert chains[-1].step() is None
        chains.pop()
    pair.run(2, 1)
    pair.compare()


def test_a_chain_that_takes_its_optimizers_back():
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    later = optim.chain(ema=0.5, optimizer=pair.members)
    assert optim.chain(clip_grad_norm=1.0, optimizer=pair.chain) is pair.chain
    with pytest.raises(heddle.BadInput, match="^step: .* in a later one"):
        later.step()
    pair.run(2)
    pair.chain = None
    assert later.step() is None
    assert all("ema" in later.state[param] for param in pair.params)


def test_a_refused_chain_leaves_the_optimizers_alone():
    """The error comes after the check of each optimizer, from parameters that two of them have."""
    lists, members, others, alone = two()
    with pytest.raises(heddle.BadInput, match="expected it in one optimizer"):
        optim.chain(optimizer=[*members, optim.Lion(lists[0])])
    assert_alone(lists, members, others, alone)


def test_copies_of_one_optimizer_are_in_no_chain():
    lists, members, others, alone = two()
    chained = optim.chain(clip_grad_norm=1e-3, zero_grad=True, optimizer=members)
    copies = copy.deepcopy(members)
    assert [each.clip_grad_norm for each in copies] == [None, 0.5] and chained
    copied = [[param for group in each.param_groups for param in group["params"]] for each in copies]
    assert_alone(copied, copies, others, alone)


def test_a_load_after_the_chain_is_gone():
    """The first call may be any other one than a step."""
    lists, members, others, alone = two()
    optim.chain(accumulation=4, optimizer=members)
    for one, other in zip(members, alone):
        one.load_state_dict(other.state_dict())
    assert_alone(lists, members, others, alone)


def test_a_chain_in_a_cycle_of_references_lives_until_the_next_collection():
    pair = Pair(*MEMBERS["sgd-adamw"], clip_grad_norm=1.0)
    pair.chain.itself = pair.chain
    members = pair.members
    pair.chain = None
    gc.collect()
    support.set_gradients(pair.params)
    for each in members:
        assert each.step() is None
