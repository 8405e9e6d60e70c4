"""docs/reference/optimizers.md: its formulas, executed, are those of the references; its numbers are those of explain."""

import pathlib
import re
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from optimizer_references import REFERENCES, single  # noqa: E402

PAGE = (ROOT / "docs" / "reference" / "optimizers.md").read_text()


def formula_of(name):
    return re.search(rf"^## {name}\n.*?^```\n(.*?)^```", PAGE, re.S | re.M)[1].splitlines()


def as_python(line):
    return line.replace("^", "**").replace("'", "_after")


@pytest.mark.parametrize("name", REFERENCES)
def test_formula(name):
    formula, states, options = REFERENCES[name]
    # Options that the page's formula has: numbers are other than 0, flags have their defaults.
    o = {key: values[0] if isinstance(values[0], bool) else values[-1] for key, values in options.items()}
    o = {"decoupled": False, "amsgrad": False, "centered": False, **o}
    rng = np.random.default_rng(3)
    one = ("eta", "mu", "mu_product")
    x = {key: 0.5 if key in one else rng.random(50) for key in ("param", *states)}
    for t in (1, 9):
        grad = rng.standard_normal(50)
        names = {**o, **x, "t": t, "grad": grad, "single": single, "where": np.where, "sqrt": np.sqrt, "abs": np.abs, "sign": np.sign,
                 "max": np.maximum, "min": np.minimum}
        exec("\n".join(map(as_python, formula_of(name))), names)
        formula(x, grad, t, o)
        for key, value in x.items():
            if f"{key}_after" in names:
                np.testing.assert_allclose(names[f"{key}_after"], value, rtol=1e-6, err_msg=key)
        assert "param_after" in names


def test_numbers():
    heddle = pytest.importorskip("heddle")
    rows = re.findall(r"^\| \[`(\w+)`\]\(#\w+\) \| [^|]* \| (\d+) \| (\d+) \| (\d+) \|", PAGE, re.M)
    assert {row[0] for row in rows} >= set(REFERENCES)
    for name, *numbers in rows:
        about = heddle.explain(name, json=True, arch="sm_90")
        assert [str(about[key]) for key in ("bytes_per_element", "sweeps", "launches")] == numbers, name


def test_numbers_of_the_guide():
    """The table of docs/optim.md: bytes for each element of the parameters, and sweeps."""
    heddle = pytest.importorskip("heddle")
    table = (ROOT / "docs" / "optim.md").read_text().split("| class | program |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `\w+`.* \| (`.*`) \| (\d+)(.*) \|$", table, re.M)
    assert {name for names, *_ in rows for name in re.findall(r"\w+", names)} >= set(REFERENCES)
    words = {1: "", 2: ", in two sweeps", 3: ", in three sweeps"}
    for names, number, rest in rows:
        for name in re.findall(r"\w+", names):
            about = heddle.explain(name, json=True, arch="sm_90")
            assert about["bytes_per_element"] == int(number) and rest.startswith(words[about["sweeps"]]), name
            for option, value, more in re.findall(r"with(out)? (?:`(\w+)`|momentum) (\d+)", rest):
                if value:
                    settings = {"max_grad_norm": "max_grad_norm=1"}.get(value, f"{value}=true")
                else:
                    settings = "momentum=0" if option else "momentum=0.9"
                found = heddle.explain(f"{name}:{settings}", json=True, arch="sm_90")["bytes_per_element"]
                assert found == int(more), (name, settings)
