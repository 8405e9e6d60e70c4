"""tools/python_reference.py writes signatures, overloads, classes and docstrings of a package without importing it."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

PACKAGE = {
    "__init__.py": '''
"""A package.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
"""
from ._inner import Thing, twice
from . import _table
#: All squares.
SQUARES: dict[int, int] = {n: n * n for n in range(9)}
#: The answer
#: to all.
ANSWER = 42
made = _table.make("made")
__all__ = ["Thing", "twice", "ANSWER", "SQUARES", "made"]
''',
    "_inner.py": '''
import nothing_of_this_name
from typing import overload
@overload
def twice(x: int, /) -> int: ...
@overload
def twice(x: str, /) -> str: ...
def twice(x, /):
    """Twice ``x``.

    Args:
        x: a number
            or a text.

    Raises:
        TypeError: another type.
    """
class Thing(Exception):
    """A thing.

    Args:
        size: its size.
    """
    #: How it is called.
    name: str
    _secret: int
    def __init__(self, size: int, *, wide: bool = False) -> None: ...
    @property
    def size(self) -> int:
        """Its size."""
    def grow(self, *by, **options):
        """Grows."""
    def _hide(self): ...
''',
    "_table.py": "def make(name): ...\n",
    "part/__init__.py": '"""A part."""\nfrom .._inner import Thing\n__all__ = ["Thing"]\n',
    "part/more.py": '"""More of it."""\ndef public(): ...\ndef _private(): ...\n',
}

PAGE = """# heddle

<!-- Written by tools/python_reference.py from the docstrings. -->

A package.

## `ANSWER`

```python
ANSWER = 42
```

The answer to all.

## `SQUARES`

```python
SQUARES: dict[int, int]
```

All squares.

## `Thing`

```python
class Thing(Exception)
```

A thing.

*Args*

* `size`: its size.

* `name: str`  How it is called.

### `Thing`

```python
Thing(size: int, *, wide: bool = False) -> None
```

### `Thing.size`

```python
Thing.size: int  # property
```

Its size.

### `Thing.grow`

```python
Thing.grow(*by, **options)
```

Grows.

## `made`

```python
made = _table.make('made')
```

## `twice`

```python
twice(x: int, /) -> int
twice(x: str, /) -> str
```

Twice `x`.

*Args*

* `x`: a number
  or a text.

*Raises*

* `TypeError`: another type.
"""


def test_a_package(tmp_path):
    for name, text in PACKAGE.items():
        path = tmp_path / "heddle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip())
    out = tmp_path / "out"
    out.mkdir()
    (out / "removed.md").touch()
    subprocess.run([sys.executable, str(ROOT / "tools" / "python_reference.py"), str(tmp_path / "heddle"), str(out)],
                   check=True)
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md", "heddle.md", "heddle.part.md", "heddle.part.more.md"]
    assert (out / "heddle.md").read_text() == PAGE
    assert "class Thing(Exception)" in (out / "heddle.part.md").read_text()
    assert "| [heddle.part.more](heddle.part.more.md) | More of it. |" in (out / "README.md").read_text()
    assert "_private" not in (out / "heddle.part.more.md").read_text()


def test_optimizers_of_the_table(tmp_path):
    """The classes that heddle.optim makes of its table have sections, though no source defines them."""
    subprocess.run([sys.executable, str(ROOT / "tools" / "python_reference.py"), str(ROOT / "python" / "heddle"),
                    str(tmp_path)], check=True)
    page = (tmp_path / "heddle.optim.md").read_text()
    for name in ("SGD", "Adam", "AdamW"):
        assert f"\n## `{name}`\n" in page and f"\nclass {name}(\n    params,\n    lr=0.001," in page
        methods = "Its methods are those of [`Optimizer`](#optimizer) and of `torch.optim.Optimizer`."
        assert methods in page.split(f"\n## `{name}`\n")[1].split("\n## ")[0]
    assert "`amsgrad`: whether to divide by the largest mean of squares so far." in page


def test_functions_of_the_table(tmp_path):
    """So have the functions of heddle.optim.functional, with every argument described."""
    subprocess.run([sys.executable, str(ROOT / "tools" / "python_reference.py"), str(ROOT / "python" / "heddle"),
                    str(tmp_path)], check=True)
    page = (tmp_path / "heddle.optim.functional.md").read_text()
    assert "\n## `adam`\n\n```python\nadam(\n    params,\n    grads,\n    exp_avgs,\n" in page
    for name in ("sgd", "adam", "adamw"):
        section = page.split(f"\n## `{name}`\n")[1].split("\n## ")[0]
        arguments = re.findall(r"^    (\w+)", section.split("```")[1], re.M)
        described = section.split("*Args*")[1].split("*Raises*")[0]
        assert arguments and arguments == re.findall(r"^\* `(\w+)`: .", described, re.M)


def test_rules_and_functions_of_lists(tmp_path):
    """The names that heddle imports only when they are used have sections, too."""
    subprocess.run([sys.executable, str(ROOT / "tools" / "python_reference.py"), str(ROOT / "python" / "heddle"),
                    str(tmp_path)], check=True)
    rules = re.findall(r"^## `(\w+)`$", (tmp_path / "heddle.rule.md").read_text(), re.M)
    source = (ROOT / "python" / "heddle" / "__init__.py").read_text()
    functions = re.search(r'_FUNCTIONS = \((.*?)\)', source, re.S)[1].replace('"', " ").split()
    assert rules == ["rule", "Rule", "Value", *sorted(functions)]
    page = (tmp_path / "heddle.optim.functional.md").read_text()
    assert "\nadamw(\n    params,\n    grads,\n    exp_avgs,\n" in page and "    *,\n    lr,\n    beta1,\n" in page
    assert "## `sgd`" in page and "## `adam`" in page
