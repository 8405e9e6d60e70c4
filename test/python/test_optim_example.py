"""examples/python/train_resnet.py learns, with the losses of torch.optim.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib.util
import pathlib
import sys

import pytest

torch = pytest.importorskip("torch")

PATH = pathlib.Path(__file__).parents[2] / "examples" / "python" / "train_resnet.py"


def test_train_resnet(monkeypatch, capsys, tmp_path):
    spec = importlib.util.spec_from_file_location("train_resnet", PATH)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    arguments = ["train_resnet.py", "--steps", "40"]
    plot = tmp_path / "losses.png"
    if importlib.util.find_spec("matplotlib"):
        arguments += ["--plot", str(plot)]
    monkeypatch.setattr(sys, "argv", arguments)
    example.main()
    printed = capsys.readouterr().out
    first, last = (float(word) for word in printed.splitlines()[0].split(": ")[1].split(" -> "))
    assert last < 0.5 * first
    for line, limit in zip(printed.splitlines()[2:], (1e-6, 1e-6), strict=True):
        assert float(line.split(": ")[1]) < limit, printed
    assert plot.exists() == ("--plot" in arguments)
