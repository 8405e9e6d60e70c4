"""python -m heddle run: arrays of a data file, and the kinds of numbers of --fill, as in the tool `heddle run`."""

import io
import json
import pathlib
import subprocess
import zipfile

import numpy
import pytest

import heddle
from heddle.__main__ import main
from heddle._contents import KINDS, Filling

TOOL = pathlib.Path(heddle.doctor()["library"]["path"]).parents[1] / "bin" / "heddle"

CHANGED = """
!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!each = !foreach.list<tensor<f32>>
func.func @changed(%x: !list, %h: !half, %s: !list {foreach.initial = 3.0 : f32}, %t: !each, %n: tensor<f64>) -> !list {
  %y = foreach.map (%x = %x : !list, %h = %h as f32 : !half, %s = %s : !list, %t = %t : !each, %n = %n as f32 : tensor<f64>)
      -> !list {
    %a = arith.mulf %x, %t : f32
    %b = arith.addf %a, %h : f32
    %c = arith.addf %b, %s : f32
    %y = arith.addf %c, %n : f32
    foreach.yield %y : f32
  }
  return %y : !list
}
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "changed.mlir").write_text(CHANGED)
    return tmp_path


def run(capsys, *arguments):
    assert main(["run", *arguments, "--target", "cpu", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def arrays(**changes):
    x = numpy.arange(5, dtype="f4")
    given = {"x.0": x, "x.1": x.reshape(1, 5)[:, :1], "h.0": x / 4, "h.1": x[:1], "t": numpy.float32([2, 3]), "n": 0.5}
    given.update({name.replace("_", "."): array for name, array in changes.items()})
    return {name: array for name, array in given.items() if array is not None}


def test_arrays(program, capsys):
    numpy.savez("data.npz", **arrays())
    report = run(capsys, "changed.mlir", "--data", "data.npz", "--steps", "2")
    assert (report["model"], report["members"], report["parameters"]) == ("data file", 2, 6)
    # Files hold bf16 as float32, or as the two bytes of ml_dtypes.
    x = numpy.float32([1, 2])
    for half in (x / 4, (x / 4).astype(pytest.importorskip("ml_dtypes").bfloat16)):
        numpy.savez("one.npz", x=x, h=half, t=numpy.float32(2), n=0.5)
        report = run(capsys, "changed.mlir", "--data", "one.npz")
        assert report["results"][0]["values"] == [5.75, 8.0]  # s has its initial value, 3


@pytest.mark.skipif(not TOOL.exists(), reason="needs the tool heddle beside the library")
def test_the_tool_computes_the_same(program, capsys):
    """Few values are printed by both, so they are compared."""
    x = numpy.float32([[1, 2, 3, 4]])
    numpy.savez("data.npz", **{"x": x, "h": x, "t": numpy.float32(2), "s": x, "n": 1.0})
    values = run(capsys, "changed.mlir", "--data", "data.npz")["results"][0]["values"]
    assert values == [5.0, 9.0, 13.0, 17.0]
    tool = subprocess.run([TOOL, "run", "changed.mlir", "--data", "data.npz", "--target", "cpu"], capture_output=True,
                          text=True)
    assert tool.returncode == 0 and tool.stdout.rstrip().endswith("5 9 13 17")


@pytest.mark.parametrize(("changes", "text"), [
    ({"q": numpy.float32([1])}, "the program has no argument for the array 'q'\nArguments: x, h, s, t, n."),
    ({"x_0": numpy.zeros(5)}, "list 'x': expected arrays of f32, found one of float64: use array.astype"),
    ({"h_0": numpy.zeros(5, "f2")}, "list 'h': expected arrays of bf16, found one of float16: store bf16 as float32"),
    ({"x_0": None}, "list 'x': expected arrays for members 0 to 1, found no 'x.0'"),
    ({"x_1": None}, "expected 1 member, as in list 'x', found 2"),
    ({"t": numpy.zeros((2, 1), "f4")}, "array 't': expected one value for each member, shape (members,)"),
    ({"n": numpy.zeros(2)}, "array 'n': expected one number, shape (), for the scalar argument, found float64"),
    ({"n_0": numpy.zeros(())}, "array 'n.0': expected one number, shape (), for the scalar argument"),
    ({"n": numpy.int64(2**53 + 1)}, "array 'n': expected integers that double precision can hold, found 9007199254740993\n"),
    ({"n": numpy.uint64(2**64 - 1)}, "array 'n': expected integers that double precision can hold, found 18446744073709551615\n"),
    ({"h_0": numpy.zeros(4, "f4")}, "argument 'h', member 0: expected 5 elements as in argument 'x', found 4"),
    ({"h_0": None, "h_1": None}, "expected arrays for list 'h', which has no initial value, found none: add 'h.0'"),
])
def test_arrays_that_do_not_fit(program, capsys, changes, text):
    numpy.savez("data.npz", **arrays(**changes))
    assert main(["run", "changed.mlir", "--data", "data.npz", "--target", "cpu"]) == 2
    found = capsys.readouterr()
    assert not found.out and found.err.startswith("heddle: error: data file 'data.npz': ") and text in found.err


@pytest.mark.parametrize(("content", "text"), [
    (b"", "expected a file of numpy.savez (.npz) without Python objects, found another one"),
    (b"text", "expected a file of numpy.savez (.npz) without Python objects, found another one"),
    (None, "No such file or directory"),
])
def test_files_that_are_no_data(program, capsys, content, text):
    if content is not None:
        pathlib.Path("data.npz").write_bytes(content)
    assert main(["run", "changed.mlir", "--data", "data.npz", "--target", "cpu"]) == 2
    assert text in capsys.readouterr().err
    numpy.save("one.npy", numpy.zeros(3))
    assert main(["run", "changed.mlir", "--data", "one.npy", "--target", "cpu"]) == 2
    assert "found one array: use numpy.savez(FILE, NAME=array)" in capsys.readouterr().err
    numpy.savez("objects.npz", x=numpy.array([{}], dtype=object))
    assert main(["run", "changed.mlir", "--data", "objects.npz", "--target", "cpu"]) == 2
    assert "without Python objects" in capsys.readouterr().err


def test_an_array_that_claims_more_than_there_is(program, capsys):
    """Its header says 2^60 elements."""
    header = io.BytesIO()
    numpy.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 60,)})
    with zipfile.ZipFile("data.npz", "w") as file:
        file.writestr("x.npy", header.getvalue())
    assert main(["run", "changed.mlir", "--data", "data.npz", "--target", "cpu"]) == 2
    found = capsys.readouterr().err
    assert "data file 'data.npz': array 'x': expected an array that fits into memory, found another one" in found


@pytest.mark.parametrize(("arguments", "text"), [
    (["--data", "data.npz", "--shapes", "shapes.json"], "options '--data' and '--shapes': expected one of them"),
    (["--data", "data.npz", "--set", "n=1"], "scalar 'n' is set by '--set' and by the data file 'data.npz'"),
    (["--data", "data.npz", "--fill", "x=normal"], "list 'x' is in the data file 'data.npz' and in '--fill'"),
    (["--fill", "q=normal"], "option '--fill': the program has no list argument 'q'\nList arguments: x, h, s, t."),
    (["--fill", "x=spd"], "option '--fill', list 'x', member 0: expected a list of matrices, found one of rank 1"),
    (["--fill", "x=normal", "--fill", "x=uniform"], "option '--fill' names 'x' twice"),
])
def test_options_that_do_not_fit(program, capsys, arguments, text):
    numpy.savez("data.npz", **arrays())
    pathlib.Path("shapes.json").write_text('{"m": [[4]]}')
    assert main(["run", "changed.mlir", "--target", "cpu", *arguments]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("text", ["x", "x=", "x=gauss", "=normal", "x=normal:", "x=normal:inf", "x=normal:much"])
def test_fillings_that_are_none(program, capsys, text):
    with pytest.raises(SystemExit) as ended:
        main(["run", "changed.mlir", "--fill", text])
    error = capsys.readouterr().err
    assert ended.value.code == 2 and f"found '{text}'" in error
    assert ("which has no name before '='" in error) == text.startswith("=")


def test_a_setting_without_a_name(program, capsys):
    with pytest.raises(SystemExit):
        main(["run", "changed.mlir", "--set", "=1"])
    assert "expected NAME=VALUE, found '=1', which has no name before '='" in capsys.readouterr().err


def test_integers_of_lists(program, capsys):
    """The run is exact, but the reference interpreter computes in double precision."""
    (program / "add.mlir").write_text("""
!list = !foreach.list<tensor<?xi64>>
func.func @add(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %y = arith.addi %x, %x : i64
    foreach.yield %y : i64
  }
  return %y : !list
}
""")
    numpy.savez("data.npz", **{"x.0": numpy.array([2**54, 3])})
    assert run(capsys, "add.mlir", "--data", "data.npz", "--check")["check"]["holds"]
    numpy.savez("data.npz", **{"x.0": numpy.array([2**54, 2**54 + 1])})
    assert main(["run", "add.mlir", "--data", "data.npz", "--target", "cpu"]) == 2
    assert f"array 'x.0': expected integers that double precision can hold, found {2**54 + 1} as element 1\n" in (
        capsys.readouterr().err
    )


def test_kinds():
    generator = numpy.random.default_rng(0)
    drawn = {kind: Filling(kind, 1).draw(generator, (40, 40)) for kind in KINDS}
    assert abs(drawn["normal"].std() - 1) < 0.1 and abs(drawn["normal"].mean()) < 0.1
    assert 0 <= drawn["uniform"].min() < 0.1 < 0.9 < drawn["uniform"].max() < 1
    assert drawn["weights"].min() > 0 and numpy.isclose(drawn["weights"].sum(), 1)
    assert numpy.isclose(numpy.exp(drawn["log_weights"]).sum(), 1)
    values = numpy.linalg.eigvalsh(drawn["spd"])
    assert numpy.array_equal(drawn["spd"], drawn["spd"].T) and 0.5 < values.min() < values.max() < 11
    assert 0 <= drawn["distances"].min() < drawn["distances"].max() <= 2 and numpy.linalg.matrix_rank(drawn["distances"]) == 4
    assert (drawn["constant"] == 1).all() and (Filling("constant", -2).draw(generator, (3,)) == -2).all()
    for kind in KINDS:
        assert Filling(kind, 2).draw(generator, (0, 0)).shape == (0, 0)


def test_filled_inputs_are_new_in_each_step(program, capsys):
    once = run(capsys, "changed.mlir", "--fill", "h=uniform", "--fill", "x=constant:2", "--steps", "1")["results"]
    again = run(capsys, "changed.mlir", "--fill", "h=uniform", "--fill", "x=constant:2", "--steps", "2")["results"]
    same = run(capsys, "changed.mlir", "--fill", "h=constant", "--fill", "x=constant:2", "--steps", "1")["results"]
    still = run(capsys, "changed.mlir", "--fill", "h=constant", "--fill", "x=constant:2", "--steps", "2")["results"]
    assert once != again and same == still
