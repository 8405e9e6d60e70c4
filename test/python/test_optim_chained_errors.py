"""Errors of a chain of several optimizers name the optimizer, and number groups within it. They leave all as it was."""

import copy

import pytest

import optim_support as support

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from optim_chains import SHAPES  # noqa: E402
from test_interruptions import Timeout, interrupted, lines_in  # noqa: E402

optim = heddle.optim


def schedule_free():
    """A chain with two optimizers whose parameters of evaluation are an average, after a step."""
    lists = [support.parameters(shapes=SHAPES, seed=place) for place in range(3)]
    chained = optim.chain(optimizer=[optim.SGDScheduleFree(lists[0], lr=0.1), optim.SGD(lists[1], lr=0.1),
                                     optim.AdamWScheduleFree(lists[2], lr=0.1)])
    support.set_gradients([param for params in lists for param in params])
    chained.step()
    return chained, lists


def values(lists):
    return [param.detach().clone() for params in lists for param in params]


def modes(chained):
    return [group.get("train_mode") for group in chained.param_groups]


@pytest.mark.parametrize("to_training", [False, True])
def test_no_mode_changes_if_the_state_of_one_optimizer_is_damaged(to_training):
    chained, lists = schedule_free()
    there, back = (chained.train, chained.eval) if to_training else (chained.eval, chained.train)
    back()
    state = chained.state[lists[2][1]]
    kept, state["z"] = state["z"], torch.zeros(77)
    before = values(lists)
    with pytest.raises(heddle.BadInput, match=r"^optimizers\[2\] \(AdamWScheduleFree\): state 'z' of parameter 1 of group 0: expected"):
        there()
    support.assert_same_params(values(lists), before, rtol=0, atol=0)
    assert modes(chained) == [not to_training, None, not to_training]
    state["z"] = kept
    there()
    assert modes(chained) == [to_training, None, to_training]


def test_the_modes_of_all_optimizers_change_or_none():
    """An exception of a signal handler comes before the first parameter moves, or after the last one."""
    chained, lists = schedule_free()
    training = values(lists)
    chained.eval()
    evaluation = values(lists)
    chained.train()
    seen = set()
    for line in range(1, lines_in(chained.eval) + 1):
        chained.train()
        error = interrupted(chained.eval, line)[1]
        assert type(error) is Timeout
        found = modes(chained)
        assert found in ([True, None, True], [False, None, False]), line
        support.assert_same_params(values(lists), training if found[0] else evaluation, rtol=1e-6, atol=1e-6)
        seen.add(found[0])
    assert seen == {False, True}


def test_a_chain_that_was_replaced_changes_the_modes_of_its_optimizers():
    """They are in two later chains, whose locks differ."""
    chained, lists = schedule_free()
    more = [support.parameters(shapes=SHAPES, seed=place) for place in (5, 6)]
    later = [optim.chain(optimizer=[chained.optimizers[place], optim.SGD(params)]) for place, params in zip((0, 2), more)]
    chained.eval()
    assert modes(chained) == [False, None, False] and len(later) == 2


def grouped(*optimizers):
    """A chain of optimizers with two groups each, whose gradients are there."""
    made, params = [], []
    for place, make in enumerate(optimizers):
        own = support.parameters(shapes=SHAPES[:2], seed=place)
        made.append(make([{"params": [param]} for param in own]))
        params += own
    chained = optim.chain(clip_grad_norm=1.0, optimizer=made)
    support.set_gradients(params)
    return chained, params


WRONG = {
    "gradient": (lambda group, param, state: setattr(param.grad, "data", torch.zeros(77)),
                 "gradient of parameter 0 of group 1: expected shape"),
    "sparse": (lambda group, param, state: setattr(param, "grad", torch.ones(param.shape).to_sparse()),
               "heddle.optim.chain does not support sparse gradients: parameter 0 of group 1 has"),
    "state": (lambda group, param, state: state.update(exp_avg=torch.zeros(77)),
              "state 'exp_avg' of parameter 0 of group 1: expected a tensor of shape"),
    "counter": (lambda group, param, state: state.update(step="three"), "state 'step' of parameter 0 of group 1: expected a number"),
    "missing": (lambda group, param, state: state.pop("exp_avg"), "state 'exp_avg' of parameter 0 of group 1: expected a tensor"),
    "number": (lambda group, param, state: group.update(lr="fast"), "lr: expected a number"),
    "option": (lambda group, param, state: group.update(amsgrad=torch.ones(2)), "amsgrad: expected True or False"),
    "entry": (lambda group, param, state: group.pop("lr"), r"param_groups\[1\]: expected an entry 'lr'"),
    "params": (lambda group, param, state: group.update(params=3), "params: expected a list of tensors in group 1, found 3"),
    "memory": (lambda group, param, state: setattr(param, "data", param.data.to(torch.int32).to(torch.float64)),
               "parameter 0 of group 1: expected dtype torch.float32 as in earlier steps"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_of_a_step(name):
    chained, params = grouped(optim.SGD, optim.AdamW)
    chained.step()
    change, message = WRONG[name]
    change(chained.param_groups[3], params[3], chained.state[params[3]])
    with pytest.raises((heddle.BadInput, RuntimeError, TypeError), match=r"^optimizers\[1\] \(AdamW\): " + message):
        chained.step()


@pytest.mark.parametrize("name", WRONG)
def test_an_optimizer_alone_names_no_place(name):
    params = support.parameters(shapes=SHAPES[:2])
    optimizer = optim.AdamW([{"params": [param]} for param in params])
    support.set_gradients(params)
    optimizer.step()
    change, message = WRONG[name]
    change(optimizer.param_groups[1], params[1], optimizer.state[params[1]])
    with pytest.raises((heddle.BadInput, RuntimeError, TypeError), match="^" + message.replace("chain", "AdamW")):
        optimizer.step()


def test_names_of_parameters():
    params = support.parameters(shapes=SHAPES[:2])
    chained = optim.chain(optimizer=[optim.SGD([("first", params[0])]), optim.Lion([("second", params[1])])])
    support.set_gradients(params)
    params[1].grad.data = torch.zeros(77)
    with pytest.raises(heddle.BadInput, match=r"^optimizers\[1\] \(Lion\): gradient of parameter 'second': expected shape"):
        chained.step()


def test_a_gradient_in_the_memory_of_another_parameter():
    """The runtime finds this one, and names two of the tensors."""
    memory = torch.zeros(8)
    params = [torch.nn.Parameter(memory[:5]), torch.nn.Parameter(memory[4:])]
    chained = optim.chain(optimizer=[optim.SGD([{"params": []}, {"params": params[:1]}]), optim.Lion(params[1:])])
    support.set_gradients(params)
    with pytest.raises(heddle.BadInput) as caught:
        chained.step()
    assert "optimizers[0] (SGD): parameter 0 of group 1" in str(caught.value)
    assert "optimizers[1] (Lion): parameter 0 of group 0" in str(caught.value)


def test_errors_of_loads_and_of_exact_parameters():
    chained, params = grouped(optim.SGD, optim.AdamW)
    chained.step()
    loaded = copy.deepcopy(chained.state_dict())
    loaded["state"][3]["exp_avg"] = torch.zeros(SHAPES[1], dtype=torch.int32)
    with pytest.raises(heddle.BadInput, match=r"^optimizers\[1\] \(AdamW\): state 'exp_avg' of parameter 0 of group 1: expected dtype"):
        chained.load_state_dict(loaded)
    params[3].data = params[3].data.to(torch.complex64)
    with pytest.raises(heddle.BadInput, match=r"^optimizers\[1\] \(AdamW\): optimizer: expected real parameters, .* in group 1"):
        optim.masters(chained)
