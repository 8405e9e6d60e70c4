"""The command line of tools/dev: help names every command, and a usage error has its own exit code."""

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
def test_usage_errors_exit_with_2(arguments):
    result = dev(*arguments)
    assert result.returncode == 2 and not result.stdout and result.stderr
