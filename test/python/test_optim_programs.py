"""What optimizers keep of programs and executables after they are gone."""

import gc
import weakref

import pytest

torch = pytest.importorskip("torch")

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from heddle.optim import _programs  # noqa: E402
from heddle.optim._spec import KEPT  # noqa: E402


class Owned:
    """Something that a rule holds."""

    rate = 0.5


def stepped(make):
    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    optimizer = make([param])
    optimizer.step()
    return param, optimizer


def rule_with(rate, owned=None):
    def rule(p, g, *, lr=1.0):
        return p - lr * (rate if owned is None else owned.rate) * g

    return heddle.rule(rule)


def test_a_rule_is_freed_with_what_it_holds():
    owned = Owned()
    param, optimizer = stepped(rule_with(None, owned))
    assert param.tolist() == [0.5] * 3
    gone = weakref.ref(owned)
    del owned, optimizer
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("options", [{"zero_grad": True}, {"ema": 0.5}, {"accumulation": 2}, {"clip_grad_value": 1.0}], ids=str)
def test_the_text_of_a_chain_is_written_once(options, monkeypatch):
    def make(params):
        return heddle.optim.chain(optimizer=heddle.optim.AdamW(params), **options)

    param, optimizer = stepped(make)
    spec, texts = optimizer.spec, len(optimizer.spec._texts)
    for _ in range(2):
        optimizer.load_state_dict(optimizer.state_dict())
        param.grad = torch.ones(3)
        optimizer.step()
        assert stepped(make)[1].spec is optimizer.spec is spec
    assert len(spec._texts) == texts > 0


def test_descriptions_of_chains_are_bounded():
    """A process may make optimizers with any number of options."""
    spec, param, first = heddle.optim.Lion.spec, torch.nn.Parameter(torch.ones(3)), None
    for number in range(2 * KEPT):
        optimizer = heddle.optim.chain(accumulation=number + 2, optimizer=heddle.optim.Lion([param]))
        first = first or weakref.ref(optimizer.spec)
    assert spec._extended.cache_info().currsize == KEPT
    last = weakref.ref(optimizer.spec)
    assert heddle.optim.chain(accumulation=2 * KEPT + 1, optimizer=heddle.optim.Lion([param])).spec is last()
    gc.collect()
    assert first() is None


def test_texts_of_programs_are_bounded():
    spec = heddle.optim.Lion.spec
    options = {"state_dtype": "bf16", "rounding": "stochastic"}
    for seed in range(KEPT + 6):
        stepped(lambda params, seed=seed: heddle.optim.Lion(params, seed=seed, **options))
    assert len(spec._texts) == KEPT


def test_as_many_executables_are_kept(monkeypatch):
    """Those that were used last. An optimizer keeps its own."""
    monkeypatch.setattr(_programs, "EXECUTABLES", 3)
    monkeypatch.setattr(_programs, "_executables", type(_programs._executables)())
    first, optimizer = stepped(rule_with(0.0625))
    others = [stepped(rule_with(rate))[0].tolist() for rate in (0.125, 0.25)]
    assert others == [[0.875] * 3, [0.75] * 3]
    kept = list(_programs._executables)
    stepped(rule_with(0.0625))
    assert list(_programs._executables) == [*kept[1:], kept[0]]
    for rate in (0.5, 1.0):
        stepped(rule_with(rate))
    assert len(_programs._executables) == 3 and list(_programs._executables)[0] == kept[0]
    gone = weakref.ref(list(_programs._executables.values())[-1])
    for rate in (0.125, 0.25, 0.75):
        stepped(rule_with(rate))
    gc.collect()
    assert gone() is None
    optimizer.step()
    assert first.tolist() == [0.875] * 3
