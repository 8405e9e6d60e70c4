"""The type hints of the Python package are complete and correct, by mypy's strict rules."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check_types(tmp_path, *arguments):
    pytest.importorskip("mypy")
    path = os.pathsep.join([str(ROOT / "python"), *(entry for entry in sys.path if entry)])
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), *arguments],
                          capture_output=True, text=True, timeout=600, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": path, "MYPYPATH": str(ROOT / "python")})


def test_the_package(tmp_path):
    result = check_types(tmp_path, "--python-version", "3.10", str(ROOT / "python" / "heddle"))
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_program_of_a_user(tmp_path):
    """The results of overloaded functions have the types that their arguments choose."""
    program = tmp_path / "program.py"
    program.write_text("""
import heddle
executable = heddle.compile("sgd", target="cpu")
graph: heddle.Graph = executable.graph()
source: str = heddle.emit("sgd", "cuda")
cubin: bytes = heddle.emit("sgd", "cubin")
launches: int = heddle.explain("sgd", json=True)["launches"]
text: str = heddle.explain("sgd")
wrong: bytes = heddle.emit("sgd", "cuda")
graph.replay("fast", "slow")
""")
    result = check_types(tmp_path, str(program))
    found = [line.split(": error:")[0].rsplit(":", 1)[1] for line in result.stdout.splitlines() if ": error:" in line]
    assert found == ["9", "10"], result.stdout + result.stderr
