"""The type hints of the Python package are complete and correct, by mypy's strict rules."""

import os
import pathlib
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


def test_the_package_and_a_program_of_a_user(tmp_path):
    """The only errors are those in the last two lines of the program."""
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    path = os.pathsep.join([str(ROOT / "python"), *(entry for entry in sys.path if entry)])
    result = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir",
                             str(tmp_path / "cache"), str(ROOT / "python" / "heddle"), str(program)],
                            capture_output=True, text=True, timeout=600, cwd=tmp_path,
                            env={**os.environ, "PYTHONPATH": path, "MYPYPATH": str(ROOT / "python")})
    errors = [line for line in result.stdout.splitlines() if ": error:" in line]
    assert [line.split(": error:")[0] for line in errors] == ["program.py:9", "program.py:10"], (
        result.stdout + result.stderr)
