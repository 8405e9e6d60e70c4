"""python -m heddle: its commands, its exit codes, and its help. Shapes of lists agree with those of `heddle run`."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

import heddle
from heddle import _shapes

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBLEMS = ROOT / "examples" / "shapes" / "problems.json"


def heddle_command(*arguments, **options):
    path = os.pathsep.join([entry for entry in sys.path if entry])
    environment = {**os.environ, "PYTHONPATH": path, **options.pop("environment", {})}
    return subprocess.run([sys.executable, "-m", "heddle", *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, env=environment, **{"stdin": subprocess.DEVNULL, **options})


def succeeds(*arguments, **options):
    result = heddle_command(*arguments, **options)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return result.stdout


@pytest.mark.parametrize("shape, code, text", [
    ([2**40 * 256], 2, "[1]: expected lists of at most 2^48 bytes, found 1125899906842880 bytes in list 'param'"),
    ([2**44], 1, ": allocating "),
    ([0, 2**63], 2, "[1]: expected a shape of at most 2^48 elements, found [0, 9223372036854775808]"),
    ([1, "a"], 2, "[1]: expected a shape, [dim, ...], with dimensions that are integers of at least 0, found [1, 'a']"),
])
def test_shapes_that_are_too_large(tmp_path, shape, code, text):
    """The message names the file, the list and the member."""
    file = tmp_path / "shapes.json"
    file.write_text(json.dumps({"m": [[4], shape]}))
    result = heddle_command("run", "sgd", "--target", "cpu", "--shapes", file)
    assert result.returncode == code
    assert f"shapes file '{file}', model 'm'{text}" in result.stderr


def test_help_teaches():
    for arguments in ([], ["doctor"], ["explain"], ["run"], ["emit"]):
        text = succeeds(*arguments, "--help")
        assert text.startswith("usage: python -m heddle") and len(text.splitlines()) > 8
        assert "examples:" in text or arguments == ["doctor"]
    assert succeeds("--version").strip() == heddle.__version__


@pytest.mark.parametrize("arguments, text", [
    ([], "usage: python -m heddle"),
    (["weave"], "invalid choice: 'weave'"),
    (["run"], "PROGRAM"),
    (["run", "weave"], "there is no program 'weave'. The standard programs are ada"),
    (["run", "sgd", "--steps", "0"], "expected an integer from 1 to 2^63 - 1, found '0'"),
    (["run", "sgd", "--steps", "few"], "expected an integer from 1 to 2^63 - 1, found 'few'"),
    (["run", "sgd", "--steps", "1_0"], "expected an integer from 1 to 2^63 - 1, found '1_0'"),
    (["run", "sgd", "--seed", "-1"], "expected an integer from 0"),
    (["run", "sgd", "--seed", str(1 << 63)], "expected an integer from 0"),
    (["run", "sgd", "--set", "lr=1_0"], "expected NAME=VALUE with a numeric VALUE"),
    (["run", "sgd", "--set", "lr=\u0663"], "expected NAME=VALUE with a numeric VALUE"),
    (["run", "sgd", "--fill", "grad=normal:1_0"], "expected NAME=KIND:FACTOR with a finite number"),
    (["run", "sgd", "--check", "--check"], "argument --check: given twice: give it once"),
    (["run", "sgd", "--steps", "1", "--steps", "2"], "argument --steps: given twice: give it once"),
    (["run", "sgd", "--set", "lr=1", "--set", "lr=2"], "option '--set' sets 'lr' twice: give it once"),
    (["emit", "-"], "expected the name of a standard program ('heddle emit --help' lists them), the path of a .mlir file"),
    (["run", "sgd", "--set", "lr"], "expected NAME=VALUE with a numeric VALUE that double precision can hold, found 'lr'"),
    (["run", "sgd", "--set", "lr=9007199254740993"], "that double precision can hold, found 'lr=9007199254740993'"),
    (["run", "sgd", "--set", "lr=1e999"], "that double precision can hold, found 'lr=1e999'"),
    (["run", "sgd", "--target", "cpu", "--set", "speed=1"],
     "the program has no scalar argument 'speed'\nScalar arguments: lr."),
    (["run", "sgd", "--shapes", "/nowhere.json"], "shapes file '/nowhere.json': No such file"),
    (["explain", "sgd", "--shapes", f"{PROBLEMS}:triangle"], "has no model 'triangle'\nModels: "),
    (["explain", "sgd", "--shapes", PROBLEMS], "models; choose one with"),
    (["explain", "sgd", "--shapes", ROOT / "README.md"], "is not valid JSON"),
    (["emit", "sgd", "--stage", "weft"], "invalid choice: 'weft'"),
])
def test_bad_usage_exits_with_2(arguments, text):
    result = heddle_command(*arguments)
    assert result.returncode == 2 and text in result.stderr and not result.stdout, result.stderr


def test_failures_exit_with_1(tmp_path):
    result = heddle_command("emit", "sgd", "-o", tmp_path / "missing" / "file")
    assert result.returncode == 1 and "cannot write" in result.stderr
    result = heddle_command("doctor", environment={"HEDDLE_LIBRARY": "/nowhere"})
    assert result.returncode == 1 and "HEDDLE_LIBRARY: expected" in result.stderr


def test_output_files(tmp_path):
    source = succeeds("emit", "sgd")
    file, link = tmp_path / "sgd.cu", tmp_path / "link.cu"
    file.write_text("old")
    file.chmod(0o600)
    link.symlink_to(file.name)
    succeeds("emit", "sgd", "-o", link)
    assert link.is_symlink() and file.read_text() == source and file.stat().st_mode & 0o777 == 0o600
    # Descriptors are written where they are. Links such as /dev/stdout are not replaced.
    output = tmp_path / "stdout"
    output.symlink_to("/proc/self/fd/1")
    for path in (output, "/dev/fd/1", "/proc/self/fd/1"):
        assert succeeds("emit", "sgd", "-o", path) == source
    assert output.is_symlink()
    succeeds("emit", "sgd", "-o", "/dev/null")
    result = heddle_command("emit", "sgd", "-o", "/dev/full")
    assert result.returncode == 1 and "cannot write '/dev/full': No space left on device" in result.stderr
    result = heddle_command("emit", "sgd", "-o", tmp_path)
    assert result.returncode == 1 and "Is a directory" in result.stderr
    assert sorted(os.listdir(tmp_path)) == ["link.cu", "sgd.cu", "stdout"]


@pytest.mark.parametrize("arguments", [["emit", "sgd"], ["explain", "sgd"], ["doctor"], ["doctor", "--json"],
                                       ["run", "sgd", "--target", "cpu"]], ids=str)
def test_output_that_cannot_be_written(arguments):
    path = os.pathsep.join([entry for entry in sys.path if entry])
    with open("/dev/full", "wb") as full:
        result = subprocess.run([sys.executable, "-m", "heddle", *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PYTHONPATH": path})
    assert result.returncode == 1
    assert result.stderr == "heddle: error: cannot write standard output: No space left on device\n"


def test_each_model_has_one_name(tmp_path):
    file = tmp_path / "shapes.json"
    file.write_text('{"a": [[2]], "b": [[3]], "a": [[4]]}')
    result = heddle_command("run", "sgd", "--shapes", f"{file}:a")
    assert result.returncode == 2 and "expected each key of an object once, found 'a' twice" in result.stderr


def test_doctor():
    text = succeeds("doctor")
    assert text.startswith("ok      heddle   " + heddle.__version__) and "compiler" in text
    assert json.loads(succeeds("doctor", "--json"))["version"] == heddle.__version__


def test_explain():
    assert succeeds("explain", "adamw") == heddle.explain("adamw")
    report = json.loads(succeeds("explain", "adamw", "--shapes", f"{ROOT}/examples/shapes/models.json:resnet50", "--json"))
    assert report["members"] == 161 and report["bytes_per_element"] == 28


def test_emit(tmp_path):
    text = succeeds("emit", "adamw", "--stage", "foreach")
    assert text == heddle.emit("adamw", "foreach")
    path = tmp_path / "rule.mlir"
    succeeds("emit", "adamw", "--stage", "foreach", "-o", path)
    assert path.read_text() == text
    assert succeeds("emit", path, "--stage", "fused") == heddle.emit("adamw", "fused")
    assert succeeds("emit", "-", "--stage", "fused", stdin=open(path)) == heddle.emit("adamw", "fused")


def test_run_prints_a_table():
    text = succeeds("run", "sgd:momentum=0.9", "--target", "cpu", "--set", "lr=0.5")
    for line in ("target         cpu", "model          built-in: 10 members, 43,503 elements", "steps          3, seed 0",
                 "launches       1 per step, 1 sweep"):
        assert line in text.splitlines()
    assert [line.split()[0] for line in text.splitlines()[-3:]] == ["result", "param", "momentum_buffer"]


def run(*arguments):
    return json.loads(succeeds("run", *arguments, "--target", "cpu", "--json"))


def test_run_depends_on_the_seed_and_the_steps():
    first, again, other = run("adamw"), run("adamw"), run("adamw", "--seed", "1")
    checksums = [[result["checksum"] for result in report["results"]] for report in (first, again, other)]
    assert checksums[0] == checksums[1] and checksums[0] != checksums[2]
    assert run("adamw", "--steps", "4")["results"][0]["checksum"] != checksums[0][0]
    assert run("adamw", "--set", "lr=0.5")["results"][0]["checksum"] != checksums[0][0]
    assert first["step_us"] > 0 and first["compile_ms"] > 0 and first["steps"] == 3


def test_run_computes_the_program():
    """One step of SGD on the data of the seed, computed here."""
    shapes = _shapes.BUILT_IN
    report = run("sgd", "--steps", "1", "--seed", "5", "--set", "lr=0.5")
    sizes = [int(numpy.prod(shape)) for shape in shapes]
    lists = []
    for number, deviation in ((0, 0.02), (1, 1)):
        generator = numpy.random.default_rng([5, 0, number])
        lists.append([generator.standard_normal((size,), numpy.float32) * deviation for size in sizes])
    import hashlib

    digest = hashlib.blake2b(digest_size=8)
    for param, grad in zip(*lists):
        digest.update((param.astype("f4") - numpy.float32(0.5) * grad.astype("f4")).tobytes())
    assert report["results"][0]["checksum"] == digest.hexdigest()


def test_few_values_are_printed(tmp_path):
    shapes = tmp_path / "shapes.json"
    shapes.write_text('{"one": [[3]]}')
    report = run("sgd", "--shapes", shapes)
    assert report["model"] == "one" and len(report["results"][0]["values"]) == 3
    assert run("global_norm", "--shapes", shapes)["results"][0]["values"][0] > 0


def test_default_weights_have_equal_masses():
    results = {result["name"]: result for result in run("sinkhorn", "--steps", "1", "--set", "limit=3")["results"]}
    assert results["u"]["not_numbers"] == results["v"]["not_numbers"] == 0


@pytest.mark.parametrize("program, shapes", [
    ("adamw", None),
    ("clip_by_global_norm+adamw:dtype=bf16/f32", None),
    ("sinkhorn:normalize=true,outputs=potentials/plan/cost/projection,points=3", f"{PROBLEMS}:square"),
    ("sinkhorn:normalize=true,anneal=list", f"{PROBLEMS}:ragged"),
    (ROOT / "examples" / "sinkhorn" / "sinkhorn.mlir", f"{PROBLEMS}:ragged"),
])
def test_shapes_agree_with_the_tool(program, shapes):
    tool = pathlib.Path(heddle.doctor()["library"]["path"]).parents[1] / "bin" / "heddle"
    if not tool.exists():
        pytest.skip("the tool heddle is not built")
    if "bf16" in str(program):
        pytest.importorskip("ml_dtypes")
    options = ["--steps", "1", "--set", "limit=3"] if "sinkhorn" in str(program) else ["--steps", "1"]
    options += [] if shapes is None else ["--shapes", shapes]
    ours = run(program, *options)
    theirs = json.loads(subprocess.run([tool, "run", program, "--target", "cpu", "--json", *options], check=True,
                                       capture_output=True, text=True).stdout)
    for name in ("program", "target", "arch", "model", "members", "parameters", "launches", "sweeps", "steps", "seed",
                 "bytes_per_element"):
        assert ours[name] == theirs[name], name
    for one, other in zip(ours["results"], theirs["results"], strict=True):
        for name in ("name", "dtype", "members", "elements"):
            assert one[name] == other[name]
        assert one["not_numbers"] == other.get("not_numbers", 0) == 0
