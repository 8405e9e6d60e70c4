"""Texts of programs live no longer than the rules that they were written for."""

import gc
import weakref

import pytest

import optim_support as support

torch = support.torch_or_skip()

import heddle  # noqa: E402
import heddle.optim  # noqa: E402
from optim_chains import SHAPES  # noqa: E402

optim = heddle.optim


def temporary(number):
    @heddle.rule
    def rule(p, g, m=0.0, *, lr=0.1):
        m = number * m + g
        return p - lr * m, m

    return rule


@pytest.mark.parametrize("added", [{}, {"accumulation": 3}], ids=str)
@pytest.mark.parametrize("is_first", [True, False])
def test_chains_with_many_rules(is_first, added):
    """The standard optimizer beside the rule lives as long as the process."""
    specs, counts = [], []
    for number in range(6):
        rule = temporary(number / 8)
        members = [rule(support.parameters(shapes=SHAPES[:1])), optim.Lion(support.parameters(shapes=SHAPES[:1], seed=1))]
        chained = optim.chain(optimizer=members if is_first else members[::-1], **added)
        support.set_gradients([param for group in chained.param_groups for param in group["params"]])
        chained.step()
        specs.append(weakref.ref(members[0].spec))
        lion = members[1].spec
        del rule, members, chained
        gc.collect()
        counts.append(len(lion._texts))
    assert [spec() for spec in specs] == [None] * len(specs)
    # The last one is there until the next text is written.
    assert sum(each() is None for key in lion._texts for _, each in key[1:]) <= 1
    assert counts[-1] <= counts[0]
