"""The command line of tools/dev: help names every command, and a usage error has its own exit code."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def dev(*arguments):
    return subprocess.run([ROOT / "tools" / "dev", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=dict(os.environ, TERM="dumb"))


def test_help_names_every_command():
    result = dev("--help")
    assert result.returncode == 0 and not result.stderr
    for command in ("setup", "build", "test", "demo", "lint", "format", "fuzz", "sanitize", "docs",
                    "gpu-bundle", "clean"):
        assert f"\n  {command}" in result.stdout


@pytest.mark.parametrize("arguments", [(), ("weave",), ("clean", "everything"), ("docs", "--all"), ("lint", "--tidier"),
                                       ("fuzz", "everything"), ("fuzz", "plan", "long"), ("fuzz", "1", "2"),
                                       ("sanitize", "plan")])
def test_usage_errors_exit_with_2(arguments):
    result = dev(*arguments)
    assert result.returncode == 2 and not result.stdout and result.stderr


def test_the_wheel_is_tested_with_every_python_example_of_the_readme(tmp_path):
    readme = (ROOT / "README.md").read_text()
    names = re.findall(r"<!-- example (\w+\.py) -->\n```python\n", readme)
    assert len(names) == readme.count("```python\n")
    steps = re.search(r"^test_wheel\(\).*?^}$", (ROOT / "tools" / "dev").read_text(), re.M | re.S)[0]
    assert set(re.findall(r"\w+\.py", " ".join(re.findall(r"examples\+?=\(.*?\)", steps)))) == set(names)
    for name in names:
        subprocess.run([sys.executable, ROOT / "test" / "cli" / "Inputs" / "readme_example.py", ROOT / "README.md", name,
                        tmp_path], check=True)
    assert "heddle.optim.AdamW(" in (tmp_path / "train.py").read_text()
