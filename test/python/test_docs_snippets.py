"""Every Python snippet of the written pages runs as it is printed, after the snippets above it on the same page."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

MODEL = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
def give_gradients():
    for param in model.parameters():
        param.grad = torch.ones_like(param)
give_gradients()
"""
PROBLEM = """
import numpy
M = cost = numpy.random.default_rng(0).random((5, 4))
a, b = numpy.full(5, 0.2), numpy.full(4, 0.25)
"""
LISTS = """
params, grads, exp_avgs, exp_avg_sqs = ([torch.ones(3), torch.ones(2, 2)] for _ in range(4))
state_steps = [torch.tensor(0.0), torch.tensor(0.0)]
"""
# One process, so that fully_shard has a mesh.
GROUP = """
import tempfile, torch.distributed
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
"""

#: What a page's reader has: the code before its first snippet, and whether this is PyTorch.
GIVEN = {
    "README.md": ("import heddle, heddle.optim, heddle.ot\n" + MODEL + PROBLEM, True),
    "docs/optim.md": (MODEL + LISTS + GROUP, True),
    "docs/ot.md": (PROBLEM, False),
    "docs/python.md": ("", False),
    "docs/rule.md": ("", False),
}


def snippets(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)


def test_every_page_with_snippets_is_tested():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    names = [str(page.relative_to(ROOT)) for page in pages if snippets(page.relative_to(ROOT))]
    assert sorted(GIVEN) == sorted(names)


@pytest.mark.parametrize("page", sorted(GIVEN))
def test_page(page, tmp_path):
    before, needs_torch = GIVEN[page]
    if needs_torch and importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch: tools/dev setup --torch")
    code = "\n".join(snippets(page))
    script = tmp_path / "page.py"
    # Nothing may stay behind that only ends with the process, such as threads of a process group.
    script.write_text(f"{before}\n{code}\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n", encoding="utf-8")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    printed = re.findall(r"^print\(.*\)  # (.*)$", code, re.M)
    assert run.stdout.splitlines() == printed
