"""Steps read the memory of the state only after somebody has read or loaded the state."""

import collections
import copy
import operator
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

import heddle.optim  # noqa: E402


def stepped():
    params = [torch.nn.Parameter(torch.ones(size)) for size in (3, 5, 70)]
    optimizer = heddle.optim.AdamW(params, lr=0.1)
    support.set_gradients(params)
    optimizer.step()
    return params, optimizer


READS_OF_STATE = {
    "[]": lambda state: state["exp_avg"],
    "get": lambda state: state.get("exp_avg"),
    "items": lambda state: dict(list(state.items()))["exp_avg"],
    "values": lambda state: list(state.values())[1],
    "dict": lambda state: dict(state)["exp_avg"],
    "**": lambda state: {**state}["exp_avg"],
    "call": lambda state: (lambda **values: values)(**state)["exp_avg"],
    "update": lambda state: collections.OrderedDict(state)["exp_avg"],
    "|": lambda state: (state | {})["exp_avg"],
    "reversed |": lambda state: ({} | state)["exp_avg"],
    "copy": lambda state: state.copy()["exp_avg"],
    "copy.copy": lambda state: copy.copy(state)["exp_avg"],
    "itemgetter": operator.itemgetter("exp_avg"),
    "setdefault": lambda state: state.setdefault("exp_avg"),
}


@pytest.mark.parametrize("read", READS_OF_STATE.values(), ids=READS_OF_STATE)
def test_state_that_was_read_may_get_other_memory(read):
    """Steps check the memory of the state from the first time that somebody could have changed it."""
    params, optimizer = stepped()
    assert not optimizer.state.changes.is_shared
    kept = read(optimizer.state[params[0]])
    kept.data = torch.full_like(kept, 3.0)
    for param in params:
        param.grad = torch.zeros_like(param)
    optimizer.step()
    torch.testing.assert_close(kept, torch.full_like(kept, 3.0 * 0.9))


def test_state_that_nobody_has_read_is_not_checked(monkeypatch):
    from heddle import _fast

    params, optimizer = stepped()
    monkeypatch.setattr(_fast, "addresses", lambda *arguments: pytest.fail("state was read"))
    for step in range(3):
        support.set_gradients(params, step=step)
        optimizer.step()
    monkeypatch.undo()
    params[0].grad = None
    optimizer.step()
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
    optimizer.step()
    assert not optimizer.state.changes.is_shared


def test_loaded_state_is_checked():
    params, optimizer = stepped()
    loaded = heddle.optim.AdamW(params)
    loaded.load_state_dict(optimizer.state_dict())
    loaded.step()
    assert loaded.state.changes.is_shared
