"""Every optimizer fits a convex problem and a small network: examples/python/every_optimizer.py."""

import importlib.util
import os
import pathlib
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

support.torch_or_skip()

from heddle.optim._table import SPECS  # noqa: E402

PATH = pathlib.Path(__file__).parents[2] / "examples" / "python" / "every_optimizer.py"
_file = importlib.util.spec_from_file_location("every_optimizer", PATH)
example = importlib.util.module_from_spec(_file)
_file.loader.exec_module(example)


@pytest.mark.parametrize("name", SPECS)
def test_least_squares(name):
    first, last = example.fit(name, example.least_squares)
    assert last < 0.02 * first


@pytest.mark.parametrize("name", SPECS)
def test_network(name):
    first, last = example.fit(name, example.rings)
    assert last < 0.3 * first


def test_the_example_prints_every_optimizer(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["every_optimizer.py", "--steps", "2"])
    example.main()
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["optimizer", *SPECS]
