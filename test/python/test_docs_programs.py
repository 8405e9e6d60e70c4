"""The programs, commands and Python snippets of docs/writing-programs.md, as a reader would run them: a block of IR is the
file that the paragraph before it names, and the output of a command is as shown, where `...` stands for any lines."""

import pathlib
import re
import subprocess
import sys

import pytest

import heddle

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(heddle.doctor()["library"]["path"]).parents[1] / "bin" / "heddle"
PAGE = (ROOT / "docs" / "writing-programs.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```\n\$ heddle (.*)\n((?:.*\n)*?)```$", PAGE, re.M)

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="needs the tool heddle beside the library")


@pytest.fixture
def folder(tmp_path):
    """A folder with the programs of the page, and the shapes that its commands name."""
    programs = re.findall(r"^`(\w+\.mlir)`:\n\n```mlir\n(.*?)^```$", PAGE, re.M | re.S)
    assert len(programs) >= 4
    for name, text in programs:
        (tmp_path / name).write_text(text)
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # the commands are for a checkout
    return tmp_path


def test_every_block_is_tested():
    fences = re.findall(r"^```(\w*)$", PAGE, re.M)[::2]
    assert len(COMMANDS) == fences.count("") and len(COMMANDS) >= 6
    assert set(fences) == {"", "mlir", "python"}


@pytest.mark.parametrize("command, shown", COMMANDS, ids=[command for command, _ in COMMANDS])
def test_command(command, shown, folder):
    done = subprocess.run([TOOL, *command.split()], cwd=folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line + "\n") for line in shown.splitlines())
    assert re.fullmatch(pattern, done.stdout), done.stdout


def test_python(folder):
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S))
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == re.findall(r"^print\(.*\)  # (.*)$", code, re.M)
