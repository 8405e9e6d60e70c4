"""examples/python/custom_rule.py runs, and docs/rule.md shows what the code does."""

import pathlib
import re
import subprocess
import sys

import pytest

import heddle

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "rule.md").read_text()


def test_the_example():
    result = subprocess.run([sys.executable, str(ROOT / "examples" / "python" / "custom_rule.py")],
                            capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "func.func @lion(" in result.stdout and "1 launch per step" in result.stdout
    assert "largest error" in result.stdout


def test_the_rule_of_the_page(tmp_path):
    """Lion, as the page and the docstring of heddle.rule have it, is that of the example."""
    code = re.search(r"```python\n(.*?)```", PAGE, re.S)[1]
    path = tmp_path / "page.py"
    path.write_text(code)
    scope = {}
    exec(compile(code, str(path), "exec"), scope)
    assert scope["lion"].explain(json=True)["bytes_per_element"] == 20
    indented = code.split("import heddle\n\n")[1].replace("\n", "\n        ").rstrip()
    assert indented in heddle.rule.__doc__
    assert code.split("import heddle\n\n")[1] in (ROOT / "examples" / "python" / "custom_rule.py").read_text()


def test_the_page_names_all_functions():
    table = PAGE.split("## Functions")[1].split("## Mistakes")[0]
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", table))))
    assert set(heddle._FUNCTIONS.split()) <= words


def test_the_message_of_the_page(tmp_path):
    message = " ".join(PAGE.split("```\nrule.py:5: ")[1].split("\n```")[0].split())
    path = tmp_path / "rule.py"
    path.write_text("import heddle\n\n@heddle.rule\ndef rule(p, g, *, lr=0.1, wd=0.0):\n    if wd:\n"
                    "        p = p * (1 - lr * wd)\n    return p - lr * g\n")
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    with pytest.raises(heddle.BadInput) as caught:
        scope["rule"].mlir()
    assert str(caught.value) == f"{path}:5: {message}"


def test_precomputed_scalars():
    """What the page says about hyperparameters that change in every step."""

    @heddle.rule
    def in_double(p, g, *, lr=0.1, b1=0.9):
        return p - lr / (1 - b1 ** heddle.step()) * g

    @heddle.rule
    def in_elements(p, g, *, lr=0.1, b1=0.9):
        return p - heddle.element(lr) / (1 - b1 ** heddle.step()) * g

    @heddle.rule
    def product(p, g, *, lr=0.1, b1=0.9):
        return p - lr * (1 / (1 - b1 ** heddle.step())) * g

    def operands(rule):
        found = re.search(r"fused\.precompute \(([^)]*)\)", rule.emit("fused"))
        return set(re.findall(r"= %(\w+)", found[1]))

    assert any(name.startswith("lr") for name in operands(in_double))
    assert not any(name.startswith("lr") for name in operands(in_elements) | operands(product))
