"""python -m heddle run --check: the results against the reference interpreter, by the rules of the tool `heddle run`."""

import json
import pathlib
import subprocess

import numpy
import pytest

import heddle
from heddle import _reference
from heddle.__main__ import main

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(heddle.doctor()["library"]["path"]).parents[1] / "bin" / "heddle"
SMALL = ["--shapes", str(ROOT / "test/cli/Inputs/shapes.json") + ":small"]


def check(capsys, *arguments):
    code = main(["run", *arguments, "--target", "cpu", "--check", "--json"])
    found = json.loads(capsys.readouterr().out)["check"]
    assert code == (0 if found["holds"] else 1)
    return found


@pytest.mark.parametrize(
    "arguments",
    (
        ["adamw", "--steps", "10"],
        ["clip_by_global_norm+adamw:dtype=f32/bf16"],
        ["sgd:dtype=f16,momentum=0.9", "--seed", "3"],
        ["prodigy:weight_decay=0.1", "--steps", "6"],
        ["global_norm"],
        ["sinkhorn:dtype=bf16", "--fill", "C=distances"],
        [str(ROOT / "test/cli/Inputs/chaos.mlir"), "--steps", "1", "--set", "limit=30"],
    ),
    ids=lambda arguments: pathlib.Path(arguments[0]).name,
)
def test_correct_runs_pass(arguments, capsys):
    found = check(capsys, *arguments, *SMALL)
    assert found["holds"] and any(each["checked"] for each in found["results"])


def test_a_wrong_result_fails(capsys, monkeypatch):
    """The interpreter has a slightly other learning rate."""
    real = _reference.Reference.set_scalar
    monkeypatch.setattr(
        _reference.Reference, "set_scalar", lambda self, name, value: real(self, name, value * (1 + 1e-3 * (name == "lr")))
    )
    found = check(capsys, "sgd", *SMALL)
    assert not found["holds"] and found["results"][0]["outside"] > 0 and float(found["results"][0]["largest_share"]) > 1
    assert main(["run", "sgd", "--target", "cpu", "--check", *SMALL]) == 1
    shown = capsys.readouterr().out
    assert "FAILED" in shown and "outside of the range; the first is element" in shown
    assert shown.endswith("check failed\n")


def test_results_of_which_the_check_says_little(tmp_path, capsys):
    file = tmp_path / "data.npz"
    notes = {
        numpy.nan: ["'param': 8 of 8 elements NaN, as expected", "'param': no element could be checked"],
        0.5: ["'param': all elements are equal, so the check says little"],
    }
    for value, lines in notes.items():
        numpy.savez(file, param=numpy.full(8, value, "f4"), grad=numpy.zeros(8, "f4"))
        assert main(["run", "sgd", "--target", "cpu", "--check", "--data", str(file)]) == 1
        shown = capsys.readouterr().out
        assert "UNCHECKED" in shown and all(line in shown for line in lines)
        assert ("all elements are equal" in shown) == (value == 0.5) and "is NaN\n" not in shown
        assert main(["run", "sgd", "--target", "cpu", "--check", "--allow-unchecked", "--data", str(file)]) == 0
        assert capsys.readouterr().out.endswith("check passed\n")


@pytest.mark.parametrize("shape", ((0,), (0, 3)))
@pytest.mark.parametrize("program", ("sgd", "adamw"))
def test_a_check_that_compares_nothing(program, shape, tmp_path, capsys):
    """It fails, and never says that it passed. The step counters of adamw say nothing about its vectors."""
    file = tmp_path / "data.npz"
    numpy.savez(file, param=numpy.zeros(shape, "f4"), grad=numpy.zeros(shape, "f4"))
    arguments = [program, "--data", str(file)]
    assert main(["run", *arguments, "--target", "cpu", "--check"]) == 1
    shown = capsys.readouterr().out
    assert "empty" in shown and "check passed" not in shown
    assert shown.endswith("check failed: nothing was compared, because the results are empty (--allow-unchecked accepts this)\n")
    assert main(["run", *arguments, "--target", "cpu", "--check", "--allow-unchecked"]) == 0
    shown = capsys.readouterr().out
    assert "check passed" not in shown and shown.endswith("nothing was compared\n")
    found = check(capsys, *arguments)
    assert found["nothing_compared"] and not found["holds"]


def test_an_empty_member_among_others(tmp_path, capsys):
    file = tmp_path / "shapes.json"
    file.write_text('{"some": [[0, 3], [4]]}')
    found = check(capsys, "adamw", "--shapes", str(file))
    assert found["holds"] and not found["nothing_compared"]


def test_a_scalar_that_is_nan(capsys):
    assert main(["run", "sgd", "--target", "cpu", "--check", "--set", "lr=nan", *SMALL]) == 1
    assert capsys.readouterr().out.endswith("\nscalar argument 'lr' is NaN\ncheck failed\n")


@pytest.mark.parametrize("program", ("adamw:zero_grad=true", "unscale+clip_by_global_norm+adamw:zero_grad=true"))
def test_gradients_that_the_program_sets_to_zero(program, capsys):
    """They are new in each step, and their result is 0 as the program says."""
    found = check(capsys, program, *SMALL)
    grad = next(each for each in found["results"] if each["name"] == "grad")
    assert found["holds"] and grad["constant"] and grad["holds"] and grad["checked"] == grad["elements"]

    def param(steps, *more):
        assert main(["run", *more, "--steps", steps, "--target", "cpu", "--json", *SMALL]) == 0
        return next(each for each in json.loads(capsys.readouterr().out)["results"] if each["name"] == "param")["checksum"]

    assert param("3", program) == param("3", program.split(":")[0]) != param("1", program)


def test_a_result_that_is_constant_by_chance_fails(tmp_path, capsys):
    file = tmp_path / "zero.mlir"
    file.write_text("""
!list = !foreach.list<tensor<?xf32>>
func.func @zero(%x: !list {foreach.donate = 0 : i64}) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %zero = arith.constant 0.0 : f32
    %y = arith.mulf %x, %zero : f32
    %a = math.absf %y : f32
    foreach.yield %a : f32
  }
  return %y : !list
}
""")
    found = check(capsys, str(file), *SMALL)
    assert not found["holds"] and found["results"][0]["constant"]


def test_lists_without_members_or_elements(tmp_path, capsys):
    shapes = tmp_path / "shapes.json"
    shapes.write_text('{"none": [], "empty": [[0], [3, 0]]}')
    for model in ("none", "empty"):
        found = check(capsys, "adamw", "--shapes", f"{shapes}:{model}")
        assert found["nothing_compared"] and not found["holds"]
        assert all(each["holds"] for each in found["results"])


@pytest.mark.skipif(not TOOL.exists(), reason="no tool was built")
@pytest.mark.parametrize("program", ("adamw:dtype=bf16", "sinkhorn"))
def test_the_tool_finds_the_same(program, tmp_path, capsys):
    """On data of a file, which both take as they are."""
    generator = numpy.random.default_rng(0)
    file = tmp_path / "data.npz"
    if program == "sinkhorn":
        arrays = dict(C=generator.random((9, 7), "f4"), a=numpy.full(9, 1 / 9, "f4"), b=numpy.full(7, 1 / 7, "f4"))
    else:
        arrays = {name: generator.standard_normal(100).astype("f4") for name in ("param", "grad")}
    numpy.savez(file, **arrays)
    arguments = [program, "--data", str(file), "--steps", "1"]
    ours = check(capsys, *arguments)
    tool = subprocess.run([TOOL, "run", *arguments, "--target", "cpu", "--check", "--json"], capture_output=True, text=True)
    theirs = json.loads(tool.stdout)["check"]
    assert ours["holds"] == theirs["holds"]
    for one, other in zip(ours["results"], theirs["results"]):
        for key in ("name", "elements", "checked", "constant", "holds", "outside", "unknown", "not_numbers"):
            assert one[key] == other[key], (one, other)
        for key in ("rms_error_ulp", "largest_share"):
            assert one[key] == pytest.approx(other[key], rel=1e-6, abs=1e-9), (one, other)
