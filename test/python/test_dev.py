"""The command line of tools/dev: it teaches, and a wrong one is told apart from a failure."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def dev(*arguments):
    return subprocess.run([ROOT / "tools" / "dev", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=dict(os.environ, TERM="dumb"))


def test_help_names_every_command():
    result = dev("--help")
    assert result.returncode == 0 and not result.stderr
    for command in ("setup", "build", "test", "demo", "lint", "format", "docs", "gpu-bundle", "clean"):
        assert f"\n  {command}" in result.stdout


@pytest.mark.parametrize("arguments", [(), ("weave",), ("clean", "everything"), ("docs", "--all"), ("lint", "--tidier")])
def test_a_wrong_command_line_is_said_to_be_one(arguments):
    result = dev(*arguments)
    assert result.returncode == 2 and not result.stdout and result.stderr
