"""`heddle run --data` and `--fill`: arrays of numpy.savez as arguments, and an error for every array that does not fit."""

import io
import json
import pathlib
import random
import re
import struct
import subprocess
import zipfile
import zlib

import numpy
import pytest

import heddle

#: Beside the library of a build or an installation.
TOOL = pathlib.Path(heddle.doctor()["library"]["path"]).parents[1] / "bin" / "heddle"

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="needs the tool heddle beside the library")

AXPY = """
!mats = !foreach.list<tensor<?x?xELEMENT>>
!cols = !foreach.list<tensor<?xELEMENT>>
!each = !foreach.list<tensor<ELEMENT>>
func.func @scale(%x: !mats, %w: !cols, %s: !each {foreach.initial = 1.0 : ELEMENT},
                 %lr: tensor<f64> {foreach.default = 0.5 : f64}) -> (!mats, !each) {
  %y = foreach.map (%x = %x[i, j] as f64 : !mats, %w = %w[j] as f64 : !cols, %s = %s as f64 : !each,
                    %lr = %lr : tensor<f64>) -> !mats {
    %a = arith.mulf %x, %w : f64
    %b = arith.mulf %a, %s : f64
    %c = arith.mulf %b, %lr : f64
    foreach.yield %c : f64
  }
  %sum = foreach.reduce add along member (%y = %y as f64 : !mats) -> !each {
    foreach.yield %y : f64
  }
  return %y, %sum : !mats, !each
}
"""


@pytest.fixture
def run(tmp_path):
    """Runs AXPY over the arrays of a file; returns the code, and the report or the error."""

    def call(data, *words, element="f32", program=None):
        source = tmp_path / "program.mlir"
        source.write_text(program or AXPY.replace("ELEMENT", element))
        path = tmp_path / "data.npz"
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            numpy.savez(path, **data)
        done = subprocess.run(
            [TOOL, "run", source, "--target", "cpu", "--steps", "1", "--data", path, "--check", "--json", *words],
            capture_output=True, text=True, timeout=100, errors="replace")
        return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr

    return call


def array(*shape, kind="f4"):
    return numpy.random.default_rng(5).standard_normal(shape).astype(kind)


def good():
    return {"x": array(3, 4), "w": array(4)}


# ---- arrays that fit ----


@pytest.mark.parametrize("kind", ["f8", "f4", "f2"])
def test_results_are_those_of_numpy(run, kind):
    x, w, s = array(3, 4, kind=kind), array(4, kind=kind), array(1, kind=kind)
    code, report = run({"x": x, "w": w, "s": s, "lr": numpy.float64(0.25)},
                       element={"f8": "f64", "f4": "f32", "f2": "f16"}[kind])
    assert code == 0, report
    y = (x.astype("f8") * w.astype("f8") * float(s[0]) * 0.25).astype(kind)
    total = y.astype("f8").sum()
    assert report["parameters"] == 12 and report["members"] == 1
    assert report["check"]["results"][0]["checked"] == 12
    shown = report["results"]
    assert [result["elements"] for result in shown] == [12, 1]
    # The checksum of y is that of a run over the same numbers; a changed number changes it.
    assert run({"x": x, "w": w, "s": s, "lr": numpy.float64(0.25)},
               element={"f8": "f64", "f4": "f32", "f2": "f16"}[kind])[1]["results"] == shown
    w[1] += 1
    assert run({"x": x, "w": w, "s": s, "lr": numpy.float64(0.25)},
               element={"f8": "f64", "f4": "f32", "f2": "f16"}[kind])[1]["results"] != shown
    assert numpy.isfinite(total)


def test_text_shows_the_numbers(run, tmp_path):
    numpy.savez(tmp_path / "two.npz", **{"x.0": numpy.float32([[1, 2]]), "x.1": numpy.float32([[5], [7]]),
                                         "w.0": numpy.float32([10, 100]), "w.1": numpy.float32([2]),
                                         "s": numpy.float32([1, 3])})
    (tmp_path / "program.mlir").write_text(AXPY.replace("ELEMENT", "f32"))
    out = subprocess.run([TOOL, "run", tmp_path / "program.mlir", "--target", "cpu", "--steps", "2", "--data",
                          tmp_path / "two.npz", "--check"], capture_output=True, text=True, timeout=100).stdout
    # y = x w s lr, with lr = 0.5.
    assert re.search(r"y +f32 +2 +4 +5 100 15 21\n", out), out
    assert re.search(r"sum +f32 +2 +2 +105 36\n", out), out
    assert "two.npz: 2 members, 4 elements" in out
    assert "check passed" in out


def test_shapes_are_collapsed(run):
    code, report = run({"x": array(2, 3, 4), "w": array(2, 2)})
    assert code == 0, report
    assert report["results"][0]["elements"] == 24


def test_bfloat16(run):
    program = """
!vecs = !foreach.list<tensor<?xbf16>>
func.func @copy(%x: !vecs) -> !vecs {
  %y = foreach.map (%x = %x as f32 : !vecs) -> !vecs {
    %two = arith.constant 2.0 : f32
    %y = arith.mulf %x, %two : f32
    foreach.yield %y : f32
  }
  return %y : !vecs
}
"""
    numbers = numpy.float32([1.5, -2, 0.25, 3])
    bits = (numbers.view("u4") >> 16).astype("u2").view("V2")
    reports = [run({"x": x}, program=program) for x in (numbers, bits)]
    assert reports[0][0] == reports[1][0] == 0, reports
    assert reports[0][1]["results"] == reports[1][1]["results"]


def test_integers_and_flags(run):
    program = """
!vecs = !foreach.list<tensor<?xi64>>
!flags = !foreach.list<tensor<?xi1>>
func.func @choose(%x: !vecs, %f: !flags) -> !vecs {
  %y = foreach.map (%x = %x : !vecs, %f = %f : !flags) -> !vecs {
    %zero = arith.constant 0 : i64
    %y = arith.select %f, %x, %zero : i64
    foreach.yield %y : i64
  }
  return %y : !vecs
}
"""
    x, f = numpy.arange(5) * 2**50, numpy.array([True, False, True, False, True])
    assert run({"x": x, "f": f}, program=program)[0] == 0
    for value in (2**53 + 1, -(2**53) - 1, 2**63 - 1):
        code, error = run({"x": numpy.array([2**54, value]), "f": f[:2]}, program=program)
        assert code == 2 and "array 'x': expected integers that double precision can hold" in error
        assert f", found {value} as element 1\n" in error
    assert run({"x": numpy.array([-(2**63)]), "f": f[:1]}, program=program)[0] == 0


def test_integers_of_scalars(run):
    """A scalar is set as a number in double precision."""
    program = """
!vecs = !foreach.list<tensor<?xi64>>
func.func @add(%x: !vecs, %n: tensor<i64>) -> !vecs {
  %y = foreach.map (%x = %x : !vecs, %n = %n : tensor<i64>) -> !vecs {
    %y = arith.addi %x, %n : i64
    foreach.yield %y : i64
  }
  return %y : !vecs
}
"""
    assert run({"x": numpy.arange(3), "n": numpy.int64(2**53)}, program=program)[0] == 0
    code, error = run({"x": numpy.arange(3), "n": numpy.int64(2**53 + 1)}, program=program)
    assert code == 2 and error.endswith("array 'n': expected integers that double precision can hold, found 9007199254740993\n")


def test_a_scalar_that_is_nan(run, tmp_path):
    x = array(2, 3)
    numpy.savez(tmp_path / "nan.npz", x=x, w=x[0], lr=numpy.nan)
    (tmp_path / "nan.mlir").write_text(AXPY.replace("ELEMENT", "f32"))
    words = [TOOL, "run", "nan.mlir", "--target", "cpu", "--data", "nan.npz", "--check"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "\nscalar argument 'lr' is NaN\ncheck failed\n" in done.stdout


def test_fill_takes_the_place_of_arrays(run):
    code, report = run({"x": array(3, 4)}, "--fill", "w=uniform:2")
    assert code == 0, report


def test_archives_of_zip64(run, tmp_path):
    """Sizes and offsets in the further fields of large archives."""
    buffer = io.BytesIO()
    numpy.savez(buffer, **good())
    data = bytearray(buffer.getvalue())
    end = data.rindex(b"PK\5\6")
    entries, size, offset = struct.unpack_from("<HII", data, end + 10)
    directory = bytearray()
    place = offset
    for _ in range(entries):
        entry = data[place:place + 46]
        packed, plain = struct.unpack_from("<II", entry, 20)
        name, extra, comment = struct.unpack_from("<HHH", entry, 28)
        header = struct.unpack_from("<I", entry, 42)[0]
        struct.pack_into("<II", entry, 20, 0xFFFFFFFF, 0xFFFFFFFF)
        struct.pack_into("<H", entry, 30, 28)
        struct.pack_into("<I", entry, 42, 0xFFFFFFFF)
        directory += entry + data[place + 46:place + 46 + name]
        directory += struct.pack("<HHQQQ", 1, 24, plain, packed, header)
        place += 46 + name + extra + comment
    end64 = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, entries, entries, len(directory), offset)
    locator = struct.pack("<IIQI", 0x07064B50, 0, offset + len(directory), 1)
    last = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    code, report = run(bytes(data[:offset] + directory + end64 + locator + last))
    assert code == 0, report


def test_sums_that_overflow_in_one_order_are_no_false_alarm(run):
    """Neighbours cancel, but a block may add elements of the same sign first. In a loop, perturbed evaluations decide."""
    program = """
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @product(%A: !mats, %x0: !vecs, %limit: tensor<i32> {foreach.default = 1 : i32}) -> (!vecs, tensor<i32>) {
  %x, %iterations = foreach.while (%x = %x0 : !vecs) upto %limit -> (!vecs, tensor<i32>) {
    %y = foreach.reduce add along j (%a = %A[i, j] : !mats, %x = %x[j] : !vecs) -> !vecs {
      %ax = arith.mulf %a, %x : f32
      foreach.yield %ax : f32
    }
    %more = foreach.map () -> tensor<i1> {
      %true = arith.constant true
      foreach.yield %true : i1
    }
    foreach.yield %y while %more : !vecs while tensor<i1>
  }
  return %x, %iterations : !vecs, tensor<i32>
}
"""
    matrix, ones = array(64, 64), numpy.ones(64, "f4")
    matrix[7] = numpy.float32(3e38) * (-1) ** numpy.arange(64)
    code, report = run({"A": matrix, "x0": ones}, program=program)
    assert code == 0, report
    # The row itself is still checked where no part can overflow.
    assert report["check"]["results"][0]["checked"] == 63
    matrix[7] /= 1e3
    code, report = run({"A": matrix, "x0": ones}, program=program)
    assert code == 0 and report["check"]["results"][0]["checked"] == 64


# ---- arrays that do not fit ----


def replaced(**changes):
    arrays = good()
    for name, value in changes.items():
        arrays[name.replace("__", ".")] = value
    return {name: value for name, value in arrays.items() if value is not None}


@pytest.mark.parametrize("data, message", [
    (replaced(w=None), r"list 'w', which has no initial value, found none: add 'w.0' and so on, or choose"),
    (replaced(weight=array(4)), r"no argument for the array 'weight'\s.*Arguments: x, w, s, lr"),
    (replaced(lrr=numpy.float64(1)), r"no argument for the array 'lrr'; did you mean 'lr'\?"),
    (replaced(w=array(4, kind="f8")), r"array 'w': expected f32 as in list 'w', found f64: convert it with"),
    (replaced(w=array(4, kind=">f4")), r"array 'w': its bytes are in big-endian order"),
    (replaced(w=array(4, kind="c8")), r"array 'w': expected float64.*found the NumPy type '<c8'"),
    (replaced(w=numpy.array(["a"])), r"found the NumPy type '<U1'"),
    (replaced(w=array(5)), r"list 'w', member 0: expected 4 elements, .* found 5"),
    (replaced(w=array(4).reshape(2, 2), x=numpy.asfortranarray(array(3, 4))), r"array 'x': its order is column-major"),
    (replaced(s=array(2)), r"list 's': expected 1 member, as in list '.', found 2"),
    (replaced(s=array(2, 2)), r"array 's': expected one value for each member.*found shape \(2, 2\)"),
    (replaced(w=None, w__0=array(4), w__2=array(4)), r"list 'w': expected arrays for members 0 to 2, found no 'w.1'"),
    (replaced(w__0=array(4)), r"list 'w': expected one array for member 0, found another one"),
    (replaced(w=None, w__00=array(4)), r"no argument for the array 'w.00'"),
    (replaced(w=None, w__99999999=array(4)), r"array 'w.99999999': expected at most 1048576 members"),
    (replaced(lr=array(1, kind="f8")), r"array 'lr': expected one number, shape \(\), .* found f64 of shape \(1,\)"),
    (replaced(lr__0=numpy.float64(1)), r"argument 'lr' is a scalar, which has no members"),
    (replaced(w=numpy.zeros(4, [("a", "f4")])), r"array 'w': expected a header with one numerical type"),
    ({"lr": numpy.float64(1)}, r"expected arrays for the lists of the program, found none"),
    ({}, r"expected arrays for the lists of the program, found none"),
])
def test_errors_name_the_array(run, data, message):
    code, error = run(data)
    assert code == 2, error
    assert re.search(message, error, re.S), error
    assert "data.npz" in error


def test_compressed_files_are_refused(run):
    buffer = io.BytesIO()
    numpy.savez_compressed(buffer, x=numpy.zeros((1000, 1000), "f4"), w=array(1000))
    code, error = run(buffer.getvalue())
    assert code == 2 and "array 'x.npy' is compressed: write the file with numpy.savez, not with" in error


def test_python_objects_are_refused(run):
    buffer = io.BytesIO()
    numpy.savez(buffer, x=numpy.array([{"a": 1}], dtype=object), w=array(4))
    code, error = run(buffer.getvalue())
    assert code == 2 and "array 'x': it holds Python objects, which are refused" in error


def test_arrays_that_share_bytes_are_refused(run):
    """A small file of many large arrays."""
    content = io.BytesIO()
    numpy.save(content, numpy.zeros(100000, "f4"))
    content = content.getvalue()
    header = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 0, 0, 0, zlib.crc32(content), len(content), len(content),
                         0, 0)
    directory = b"".join(
        struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 0, 0, 0, zlib.crc32(content), len(content),
                    len(content), 7, 0, 0, 0, 0, 0, 0) + b"%03d.npy" % k for k in range(1000))
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1000, 1000, len(directory), len(header + content), 0)
    code, error = run(header + content + directory + end)
    assert code == 2 and "arrays overlap" in error


def test_other_files_are_refused(run, tmp_path):
    for data in (b"", b"PK", b"not a zip archive" * 10, b"PK\5\6" + b"\0" * 17, b"PK\5\6" + b"\xff" * 18):
        code, error = run(data)
        assert code == 2 and "expected a zip archive of arrays, as numpy.savez writes it" in error, error
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readme.txt", "text")
    code, error = run(buffer.getvalue())
    assert code == 2 and "expected arrays only (.npy), found 'readme.txt'" in error
    for path in (tmp_path, tmp_path / "missing.npz", "/dev/zero"):
        done = subprocess.run([TOOL, "run", "sgd", "--target", "cpu", "--data", path], capture_output=True, text=True)
        assert done.returncode == 2 and f"cannot read data file '{path}'" in done.stderr


def test_changed_files_end_in_errors(run):
    """Damaged files give results or errors, never a crash."""
    buffer = io.BytesIO()
    numpy.savez(buffer, **good())
    data = buffer.getvalue()
    random.seed(7)
    fates = {0: 0, 2: 0}
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(random.randint(1, 3)):
            changed[random.randrange(len(changed))] = random.randrange(256)
        if random.random() < 0.3:
            del changed[random.randrange(len(changed)):]
        code, error = run(bytes(changed))
        assert code in fates, error
        fates[code] += 1
    assert fates[2] > 20


# ---- options ----


def test_options_do_not_contradict(run):
    for words, message in [
        (["--shapes", "models.json"], "options '--data' and '--shapes' cannot be combined"),
        (["--fill", "w=normal"], "list 'w' is in the data file"),
        (["--fill", "z=normal"], "option '--fill': the program has no list argument 'z'"),
        (["--fill", "w=gauss"], "option '--fill' expects NAME=KIND with one of normal, uniform"),
        (["--fill", "w=normal:x"], "expects NAME=KIND:FACTOR with a finite number as FACTOR"),
        (["--fill", "w=normal", "--fill", "w=spd"], "option '--fill' names 'w' twice"),
    ]:
        code, error = run(good(), *words)
        assert code == 2 and message in error, error
    code, error = run({**good(), "lr": numpy.float64(1)}, "--set", "lr=2")
    assert code == 2 and "scalar 'lr' is set by '--set' and by the data file" in error


def test_matrices_on_request_are_square(tmp_path):
    (tmp_path / "program.mlir").write_text(AXPY.replace("ELEMENT", "f32"))
    (tmp_path / "shapes.json").write_text('{"square": [[6, 6], [1, 1], [2, 2, 4]], "wide": [[6, 6], [6, 7]]}')

    def fill(model, kind):
        return subprocess.run([TOOL, "run", tmp_path / "program.mlir", "--target", "cpu", "--check", "--shapes",
                               f"{tmp_path / 'shapes.json'}:{model}", "--fill", kind], capture_output=True, text=True)

    assert fill("square", "x=spd").returncode == 0
    error = fill("wide", "x=spd")
    assert error.returncode == 2 and "list 'x', member 1: expected a square matrix, found 6 x 7" in error.stderr
    error = fill("wide", "w=distances")
    assert "list 'w', member 0: expected a list of matrices, found one of rank 1" in error.stderr
    assert fill("wide", "x=distances").returncode == 0
