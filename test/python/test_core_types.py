"""The type hints of the Python package are complete and correct, by mypy's strict rules."""

import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


PROGRAM = """
import heddle
executable = heddle.compile("sgd", target="cpu")
graph: heddle.Graph = executable.graph()
source: str = heddle.emit("sgd", "cuda")
cubin: bytes = heddle.emit("sgd", "cubin")
launches: int = heddle.explain("sgd", json=True)["launches"]
text: str = heddle.explain("sgd")
wrong: bytes = heddle.emit("sgd", "cuda")
graph.replay("fast", "slow")
"""


#: The types of PyTorch that those of heddle.optim mention: the test is the same, and as fast, without PyTorch.
TORCH = {
    "__init__.pyi": "from . import nn as nn, optim as optim\n"
    "class Tensor: ...\nclass dtype: ...\nbfloat16: dtype\n",
    "nn/__init__.pyi": "import torch\nclass Parameter(torch.Tensor): ...\n",
    "optim/__init__.pyi": "from typing import Any, Callable\n"
    "class Optimizer:\n"
    "    param_groups: list[dict[str, Any]]\n"
    "    state: dict[Any, Any]\n"
    "    def __init__(self, params: Any, defaults: dict[str, Any]) -> None: ...\n"
    "    def state_dict(self) -> dict[str, Any]: ...\n"
    "    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...\n"
    "    def step(self, closure: Callable[[], float] | None = None) -> float | None: ...\n"
    "    def zero_grad(self, set_to_none: bool = True) -> None: ...\n",
    "py.typed": "",
}

#: A line with `# no` has an error.
USES = """
from collections.abc import Iterator
import torch
import heddle
import heddle.optim
import heddle.ot
from heddle.optim import functional

def uses(params: Iterator[torch.nn.Parameter], tensors: list[torch.Tensor], named: list[tuple[str, torch.Tensor]]) -> None:
    adamw: heddle.optim.AdamW = heddle.optim.AdamW(params, lr=1e-3, betas=(0.9, 0.95), state_dtype=torch.bfloat16)
    heddle.optim.SGD([{"params": tensors, "lr": 0.1}], 0.1, 0.9, maximize=True)
    heddle.optim.Prodigy(named, beta3=None, growth_rate=2, rounding="stochastic", master="split")
    heddle.optim.AdamWScheduleFree(tensors, lr=torch.Tensor()).eval()
    torchs: torch.optim.Optimizer = adamw
    keys: list[str] = list(adamw.param_groups[0])
    adamw.step()
    adamw.load_state_dict(adamw.state_dict())
    chained: heddle.optim.AdamW = heddle.optim.chain(clip_grad_norm=1.0, schedule="constant", optimizer=adamw)
    chained.clip_grad_norm = None
    several: heddle.optim.ChainedOptimizer = heddle.optim.chain(ema=0.9, optimizer=[adamw, heddle.optim.SGD(params)])
    several.optimizers[0].add_param_group({"params": tensors})
    several.load_state_dict(several.state_dict())
    heddle.optim.AdamW(params, lrr=1)  # no
    heddle.optim.Adam(params, lr="x")  # no
    heddle.optim.AdamW(params, betas=(0.9, 0.95, 0.99))  # no
    heddle.optim.AdamW(params, rounding="up")  # no
    heddle.optim.SGD(params, 0.1, 0.9, 0, 0, False, True)  # no
    heddle.optim.SGD(params).eval()  # no
    heddle.optim.Nope  # no
    heddle.optim.chain(optimizer=torchs)  # no
    heddle.optim.chain(optimizer=[adamw, torchs])  # no
    adamw.steps()  # no

class Mine(heddle.optim.AdamW):
    def zero_grad(self, set_to_none: bool = True) -> None:
        super().zero_grad(set_to_none=False)

def functions(tensors: list[torch.Tensor]) -> None:
    Mine(tensors, lr=1.0)
    functional.adamw(tensors, [None], tensors, tensors, [], tensors, amsgrad=False, beta1=0.9, beta2=0.99, lr=0.1,
                     weight_decay=0, eps=1e-8, maximize=False)
    functional.lion(tensors, tensors, tensors, lr=torch.Tensor())
    functional.sparse_adam(tensors, tensors, tensors, tensors, [1, 2], maximize=False, beta1=0.9, beta2=0.9, lr=1, eps=1)
    heddle.optim.functional.FUNCTIONS["adamw"]
    functional.adamw(tensors, tensors)  # no
    functional.lion(tensors, tensors, tensors, beta3=0.1)  # no
    functional.lion(3, tensors, tensors)  # no
    functional.lionn  # no

@heddle.rule
def lion(p: heddle.Value, g: heddle.Value, *, lr: float = 0.1) -> heddle.Value:
    return p - lr * heddle.sign(g)

class Wrong(lion):  # no
    pass

def others(tensors: list[torch.Tensor], costs: object) -> None:
    lion(tensors, lr=0.1).zero_grad()
    made: type[heddle.optim.Optimizer] = lion.optimizer_class
    lion(tensors).nope()  # no
    if isinstance(costs, lion.optimizer_class):
        costs.zero_grad()
        costs.nope()  # no
    isinstance(costs, lion)  # no
    result = heddle.ot.solve(costs, None, None, 0.1, order="v", anneal="geometric", normalize=True, outputs=["plan"])
    result.check().plan, result.potentials[0], result.product(costs)
    heddle.ot.solve_batch(costs, 0.1, unbalanced=1.0, compute="f32").n_iter
    heddle.ot.sinkhorn(costs, eps=[0.1, 0.2], convention="ott")
    heddle.ot.solve(costs, rg=0.1)  # no
    heddle.ot.solve(costs, reg=0.1, order="w")  # no
    heddle.ot.solve_batch(costs, 0.1, grad="autodiff")  # no
    heddle.ot.sinkhorn(costs, reg=0.1)  # no
    heddle.ot.emd  # no
    result.lazy_plan  # no
    heddle.nope  # no
    version: str = heddle.__version__
    heddle.arrays.view(costs).shape[0] + 1
"""


def snippet_of_the_page():
    """What docs/rule.md tells users of type checkers to write."""
    snippets = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "rule.md").read_text(), re.M | re.S)
    return next(each for each in snippets if "TYPE_CHECKING" in each)


#: The class of that snippet is an optimizer.
OF_THE_PAGE = """
def uses_of_the_page(tensors: list[torch.Tensor]) -> bool:
    Chosen(tensors, lr=1.0).nope()  # no
    return is_lion(Chosen(tensors, lr=1.0))
"""


def errors_of(tmp_path, programs, *roots):
    """The places of mypy's errors in the package and in programs."""
    path = os.pathsep.join([str(ROOT / "python"), *(entry for entry in sys.path if entry)])
    result = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir",
                             str(tmp_path / "cache"), str(ROOT / "python" / "heddle"), *map(str, programs)],
                            capture_output=True, text=True, timeout=600, cwd=tmp_path,
                            env={**os.environ, "PYTHONPATH": path,
                                 "MYPYPATH": os.pathsep.join(map(str, (*roots, ROOT / "python")))})
    errors = [line for line in result.stdout.splitlines() if ": error:" in line]
    return [line.split(": error:")[0] for line in errors], result.stdout + result.stderr


def test_the_package_and_a_program_of_a_user(tmp_path):
    """The only errors are those in the last two lines of the program, with the PyTorch that is there or without one."""
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    errors, output = errors_of(tmp_path, [program])
    assert errors == ["program.py:9", "program.py:10"], output


def test_optimizers_functions_and_solves(tmp_path):
    """Classes and functions that are made of a table have types, too."""
    pytest.importorskip("mypy")
    for name, text in TORCH.items():
        path = tmp_path / "stubs" / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    program = tmp_path / "uses.py"
    text = USES + snippet_of_the_page().replace("Mine", "Chosen") + OF_THE_PAGE
    program.write_text(text)
    errors, output = errors_of(tmp_path, [program], tmp_path / "stubs")
    errors = list(dict.fromkeys(each for each in errors if each.startswith("uses.py")))  # a line may have several
    wanted = [f"uses.py:{line}" for line, text in enumerate(text.splitlines(), 1) if text.endswith("# no")]
    assert errors == wanted, output


def test_stubs_are_those_of_the_table(tmp_path):
    """`tools/dev docs` writes them again."""
    subprocess.run([sys.executable, str(ROOT / "tools" / "python_stubs.py"), str(ROOT / "python" / "heddle"), str(tmp_path)],
                   check=True, timeout=60)
    for name in ("__init__.pyi", "functional.pyi"):
        assert (tmp_path / name).read_text() == (ROOT / "python" / "heddle" / "optim" / name).read_text(), name


def test_stubs_have_the_names_of_the_modules():
    """The stub of a module lists what the module has, with the arguments of its classes and functions."""
    pytest.importorskip("torch")
    import heddle.optim
    from heddle.optim import functional

    for module, name in ((heddle.optim, "__init__.pyi"), (functional, "functional.pyi")):
        tree = ast.parse((ROOT / "python" / "heddle" / "optim" / name).read_text())
        public = next(ast.literal_eval(node.value) for node in tree.body
                      if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
        assert sorted(public) == sorted(module.__all__)
        assert set(module.__all__) <= set(dir(module)) and not [each for each in dir(module) if each.startswith("_")]
        found = {}
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = next(each for each in node.body if isinstance(each, ast.FunctionDef))
            elif isinstance(node, ast.FunctionDef):
                found[node.name] = node
        for name, stub in found.items():
            arguments = [each.arg for each in (*stub.args.args, *stub.args.kwonlyargs) if each.arg != "self"]
            assert arguments == list(inspect.signature(getattr(module, name)).parameters), name
