"""Every program of test/programs against its formula in NumPy: in the interpreter, on the cpu target (fused and not), and
as executed CUDA source. `heddle run --check` must pass in every element type."""

import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import heddle

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "test" / "programs"
TOOLS = pathlib.Path(heddle.doctor()["library"]["path"]).parents[1] / "bin"
RUNNER = TOOLS / "heddle_run_everywhere"

sys.path.insert(0, str(PROGRAMS))

from formulas import FORMULAS  # noqa: E402

pytestmark = pytest.mark.skipif(not RUNNER.exists(), reason="needs a build of heddle_run_everywhere")


class Argument:
    """An argument of the function in the text of a program."""

    def __init__(self, name, kind, attributes, aliases):
        kind = aliases.get(kind, kind)
        self.name, self.rank, self.is_list = name, kind.count("?"), "foreach.list" in kind
        numbers = dict(re.findall(r"foreach\.(\w+) = (\S+) :", attributes))
        self.donate = int(numbers["donate"]) if "donate" in numbers else None
        self.initial = float(numbers["initial"]) if "initial" in numbers else None
        self.default = float(numbers["default"]) if "default" in numbers else None


def arguments_of(text):
    aliases = dict(re.findall(r"^(!\w+) = (.*)$", text, re.M))
    head = re.search(r"func\.func @(\w+)\((.*?)\) -> (.*?) \{$", text, re.S | re.M)
    found = re.findall(r"%(\w+): (![\w.<>?]+|!\w+|tensor<\w+>)((?: \{[^}]*\})?)", head[2])
    counts = ["i32" in aliases.get(kind, kind) for kind in re.findall(r"![\w.<>?]+|tensor<\w+>", head[3])]
    return head[1], [Argument(*argument, aliases) for argument in found], counts


def draw(argument, about, rng, made, shape):
    """The numbers of one member, which f32 can hold."""
    if argument.rank == 0:
        extents = ()
    elif argument.rank == 1 and any(a.rank == 2 for a in about.arguments):
        extents = (shape[1],) if argument.name in about.formula.columns else (shape[0],)
    else:
        extents = shape if argument.rank == 2 else (int(np.prod(shape)),)
    if argument.name in about.formula.data:
        numbers = about.formula.data[argument.name](rng, extents, made)
    elif argument.initial is not None:
        numbers = np.full(extents, argument.initial)
    else:
        numbers = rng.standard_normal(extents)
    return np.float64(np.float32(numbers))


class Subject:
    """A program, its formula and its inputs."""

    def __init__(self, path):
        self.text = path.read_text()
        self.path = path
        self.name, self.arguments, self.counts = arguments_of(self.text)
        self.formula = FORMULAS[self.name]
        rng = np.random.default_rng(len(self.name))
        self.scalars = {a.name: self.formula.scalars.get(a.name, a.default)
                        for a in self.arguments if not a.is_list}
        self.inputs = []  # for each step: {list: its members}
        for step in range(self.formula.steps):
            members = []
            for shape in self.formula.shapes:
                made = {}
                for argument in self.arguments:
                    if argument.is_list and (step == 0 or (argument.donate is None and argument.initial is None)):
                        made[argument.name] = draw(argument, self, rng, made, shape)
                members.append(made)
            self.inputs.append({name: [member[name] for member in members] for name in members[0]})

    def run(self):
        """The results of every executor and step."""
        steps = [{"lists": {name: [[list(member.shape), member.ravel().tolist()] for member in members]
                            for name, members in step.items()},
                  "scalars": self.scalars if number == 0 else {}} for number, step in enumerate(self.inputs)]
        done = subprocess.run([RUNNER, self.path], input=json.dumps({"steps": steps}), capture_output=True, text=True,
                              timeout=600)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return json.loads(done.stdout)

    def expected(self):
        """The results of the formula after every step: for each result, one array or None for each member."""
        state = {}
        for step in self.inputs:
            state.update(step)
            count = len(self.formula.shapes)
            if self.formula.whole:
                results = [list(result) for result in self.formula.function(**state, **self.scalars)]
            else:
                members = [self.formula.function(**{name: values[k].copy() for name, values in state.items()},
                                                 **self.scalars) for k in range(count)]
                results = [list(result) for result in zip(*members, strict=True)]
            yield results
            for argument in self.arguments:
                if argument.donate is not None:
                    state[argument.name] = [np.float64(np.float32(value)) for value in results[argument.donate]]


def errors(subject, results):
    """The largest error of each executor in units of the RMS value, and of integers the largest difference."""
    largest = {}
    for step, wanted in enumerate(subject.expected()):
        for executor, steps in results.items():
            for is_count, found, exact in zip(subject.counts, steps[step], wanted, strict=True):
                for one, other in zip(found, exact, strict=True):
                    if other is None:
                        continue
                    one, other = np.float64(one), np.float64(other).ravel()
                    assert one.shape == other.shape
                    assert np.isfinite(other).all(), "the formula gives no number"
                    # Loops may stop one iteration earlier or later.
                    scale = max(np.sqrt((other**2).mean()), 1e-30)
                    distance = np.abs(one - other).max()
                    error = 0 if is_count and distance <= 1 else distance / scale
                    largest[executor] = max(largest.get(executor, 0), error)
    return largest


def test_every_program_has_a_formula():
    assert {path.stem for path in PROGRAMS.glob("*.mlir")} == set(FORMULAS)
    assert len(FORMULAS) >= 30


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_program(name):
    subject = Subject(PROGRAMS / f"{name}.mlir")
    results = subject.run()
    assert {"interpreter", "cpu", "cpu, not fused"} < set(results), "the CUDA source did not run"
    found = errors(subject, results)
    for executor, error in found.items():
        allowed = subject.formula.exact if executor == "interpreter" else subject.formula.tolerance
        assert error <= allowed, (executor, error)


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_check_has_no_false_alarm(name, tmp_path):
    about, text = FORMULAS[name], (PROGRAMS / f"{name}.mlir").read_text()
    (tmp_path / "shapes.json").write_text(json.dumps({"shapes": about.shapes}))
    words = [word for fill in about.fill for word in ("--fill", fill)]
    for element, real in ("f32", "f32"), ("bf16", "f32"), ("f64", "f64"):
        declared = text.replace("!element = f32", f"!element = {element}").replace("!real    = f32", f"!real    = {real}")
        if element != "f32" and declared == text:
            continue  # the program is of one type
        (tmp_path / "program.mlir").write_text(declared)
        done = subprocess.run([TOOLS / "heddle", "run", tmp_path / "program.mlir", "--target", "cpu", "--check", "--shapes",
                               tmp_path / "shapes.json", *words], capture_output=True, text=True)
        assert done.returncode == 0, element + done.stdout + done.stderr


@pytest.mark.parametrize("name, before, after", [
    ("adabelief", "%s1_4 = arith.addf", "%s1_4 = arith.subf"),
    ("sm3", "foreach.reduce max along i", "foreach.reduce min along i"),
    ("layer_norm", "%w = %weight[j]", "%w = %bias[j]"),
])
def test_wrong_programs_are_found(name, before, after, tmp_path):
    text = (PROGRAMS / f"{name}.mlir").read_text()
    assert text.count(before) == 1
    (tmp_path / "wrong.mlir").write_text(text.replace(before, after))
    subject = Subject(tmp_path / "wrong.mlir")
    found = errors(subject, subject.run())
    assert all(error > subject.formula.tolerance for error in found.values()), found
