"""The command line of the Python package: ``python -m heddle doctor | explain | run | emit``.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys

from . import _shapes, inspection
from ._contents import KINDS, Filling
from ._output import write_file
from ._values import counted
from .errors import BadInput, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._check import ResultCheck

_PROGRAM = """PROGRAM is one of
  a .mlir file, or '-' for the text of a module on standard input
  a standard program with options:  adamw:amsgrad=true,weight_decay=0.1
  several of them, joined by '+':   clip_by_global_norm+adamw
A name that does not exist prints the list of the standard programs."""

_SHAPES = """A shapes file is {"MODEL": [[dim, ...], ...]}. Each shape becomes one member of every list of the program:
flattened for lists of rank 1, with its leading dimensions collapsed into rows for lists of rank 2."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m heddle",
        description="Programs over lists of tensors, such as optimizer steps and Sinkhorn solvers, compiled to a few\n"
        "fused kernels.",
        epilog="""examples:
  python -m heddle doctor                      is there a GPU, a driver, a compiler?
  python -m heddle explain adamw               kernels, bytes per element, and the reasons
  python -m heddle run adamw                   run three steps on random data
  python -m heddle emit adamw --stage foreach  the program itself, to change it

exit codes: 0 success, 1 a failure, 2 bad usage or bad input""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def add(name: str, summary: str, details: str, *, program: bool = True) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=details,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.register("action", None, _Value)  # of options that name no action
        if program:
            command.add_argument("program", metavar="PROGRAM", help="a file, '-', or a standard program (see below)")
        return command

    command = add(
        "doctor",
        "check the driver, the GPUs, NVRTC and the disk cache",
        """For each missing part, the output says how to get it. Without a GPU, programs run on the cpu target; explain,
emit and compilation for a named architecture work, too. The exit code is 1 only if no program can run.""",
        program=False,
    )
    command.add_argument("--json", action=_Flag, help="print JSON")

    command = add(
        "explain",
        "show the kernels of a program, the bytes they move, and the decisions of the compiler",
        f"""{_PROGRAM}

{_SHAPES}

examples:
  python -m heddle explain clip_by_global_norm+adamw
  python -m heddle explain rule.mlir --shapes models.json:resnet50 --json""",
    )
    command.add_argument("--shapes", metavar="FILE[:MODEL]", help="shapes of the members (default: one of 1000 x 1000)")
    command.add_argument("--arch", metavar="sm_90", help="architecture (default: that of the GPU, or sm_90)")
    command.add_argument("--json", action=_Flag, help="print JSON")

    command = add(
        "run",
        "run steps of a program on random data, and print times and checksums",
        f"""{_PROGRAM}

{_SHAPES}

Data: inputs (gradients, costs) have a standard deviation of 1 and are new in every step; parameters one of 0.02; state
starts with the value that the program names, or at 0; weights of transport problems have a sum of 1. Scalars have the
value of --set, else their default, else 1 (8 for integers). The same seed gives the same data on every machine. The
tool `heddle run` draws other data.

--check compares all results with a reference interpreter, which evaluates the program in double precision before any
pass. An element must be in its range: its values in all evaluations whose operations are within their documented
accuracy. A result that is NaN or one number throughout, which is no constant of the program, is no success, and nor are
results without elements, unless --allow-unchecked is given.

--data takes arrays from a file of numpy.savez: NAME.0, NAME.1, ... are the members of list NAME; NAME is its only
member, all members of a list of one value each, or a scalar. --fill chooses the numbers of a list, times FACTOR:
normal, uniform (between 0 and 1), weights (a sum of 1 in each member), log_weights, spd (symmetric positive definite
matrices), distances (squared, of points in the unit square), constant (1).

The time per step is the device time of one replay; on the cpu target, the median time of the steps.

examples:
  python -m heddle run adamw --steps 10 --set lr=0.01
  python -m heddle run sinkhorn --data problems.npz
  python -m heddle run sinkhorn --fill C=distances
  python -m heddle run sinkhorn:normalize=true --shapes problems.json:square --target cpu""",
    )
    command.add_argument("--target", choices=("cuda", "cpu"), help="default: cuda if there is a GPU, else cpu")
    command.add_argument("--shapes", metavar="FILE[:MODEL]", help="shapes of the members (default: ten small tensors)")
    command.add_argument("--steps", type=_integer(1), default=3, metavar="N", help="number of steps (default: 3)")
    command.add_argument("--seed", type=_integer(0), default=0, metavar="N", help="seed of the data (default: 0)")
    command.add_argument(
        "--set", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="set a scalar; repeatable"
    )
    command.add_argument("--check", action=_Flag, help="compare the results with the reference interpreter")
    command.add_argument(
        "--allow-unchecked", action=_Flag, help="accept results of which the check says little"
    )
    command.add_argument("--data", metavar="FILE.npz", help="take lists and scalars from a file of numpy.savez")
    command.add_argument(
        "--fill",
        type=_filling,
        action="append",
        default=[],
        metavar="NAME=KIND[:FACTOR]",
        help="the numbers of a list; repeatable",
    )
    command.add_argument("--json", action=_Flag, help="print JSON")

    command = add(
        "emit",
        "print a program at a stage of its compilation",
        f"""{_PROGRAM}

stages: foreach (the program as foreach IR), fused (sweeps and schedules), cuda (CUDA C++), plan (JSON), ptx and cubin
(both need NVRTC). No stage needs a GPU.

examples:
  python -m heddle emit adamw --stage foreach > rule.mlir
  python -m heddle emit rule.mlir --stage cubin --arch sm_90 -o rule.cubin""",
    )
    command.add_argument("--stage", choices=inspection.STAGES, default="cuda", help="default: cuda")
    command.add_argument("--arch", metavar="sm_90", help="architecture (default: that of the GPU, or sm_90)")
    command.add_argument("-o", dest="output", metavar="FILE", help="write FILE instead of standard output")
    return parser


def _check_digits(text: str) -> None:
    """Refuses what Python reads as a number and the command of C++ does not: ``1_000``, and digits of other scripts.

    Raises:
        ValueError: it is so.
    """
    if "_" in text or not text.isascii():
        raise ValueError


def _integer(least: int) -> Any:
    most = (1 << 63) - 1

    def read(text: str) -> int:
        try:
            _check_digits(text)
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"expected an integer from {least} to 2^63 - 1, found '{text}'")
        return value

    return read


class _Value(argparse.Action):
    """An option with a value, which is given once."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if option_string is not None and getattr(namespace, self.dest) is not self.default:
            raise argparse.ArgumentError(self, "given twice: give it once")
        setattr(namespace, self.dest, values)


class _Flag(argparse.Action):
    """An option without a value, which is given once."""

    def __init__(self, option_strings: Any, dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=False, help=help)

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if getattr(namespace, self.dest):
            raise argparse.ArgumentError(self, "given twice: give it once")
        setattr(namespace, self.dest, True)


def _named(text: str, form: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if text.startswith("="):
        raise argparse.ArgumentTypeError(f"expected {form}, found '{text}', which has no name before '='")
    return name, value


def _setting(text: str) -> tuple[str, float]:
    name, value = _named(text, "NAME=VALUE")
    try:
        _check_digits(value)
        number = float(value)
        isinteger = value.lstrip("+-").isdecimal()
        if (isinteger and number != int(value)) or (math.isinf(number) and any(map(str.isdigit, value))):
            raise ValueError
        return name, number
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"expected NAME=VALUE with a numeric VALUE that double precision can hold, found '{text}'"
        ) from None


def _filling(text: str) -> tuple[str, Filling]:
    name, choice = _named(text, "NAME=KIND")
    kind, colon, factor = choice.partition(":")
    if kind not in KINDS:
        raise argparse.ArgumentTypeError(f"expected NAME=KIND with one of {', '.join(KINDS)}, found '{text}'")
    try:
        _check_digits(factor)
        number = float(factor) if colon else 1.0
        if not math.isfinite(number):
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected NAME=KIND:FACTOR with a finite number as FACTOR, found '{text}'"
        ) from None
    return name, Filling(kind, number)


def _fillings(fillings: list[tuple[str, Filling]]) -> dict[str, Filling]:
    chosen: dict[str, Filling] = {}
    for name, filling in fillings:
        if name in chosen:
            raise BadInput(f"option '--fill' names '{name}' twice: give it once")
        chosen[name] = filling
    return chosen


def _settings(settings: list[tuple[str, float]]) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, value in settings:
        if name in values:
            raise BadInput(f"option '--set' sets '{name}' twice: give it once")
        values[name] = value
    return values


def _program(argument: str) -> str:
    if argument != "-":
        return argument
    # The library reports bytes that are not UTF-8, and takes text with a line break for a module.
    return os.fsdecode(sys.stdin.buffer.read()) + "\n"


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, sort_keys=True))


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in (2, 3) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


# ----------------------------------------------------------------------------------------------------------------------
# Commands
# ----------------------------------------------------------------------------------------------------------------------


def _doctor(options: argparse.Namespace) -> int:
    report = inspection.doctor()
    if options.json:
        _print_json(report)
    else:

        def line(part: str, found: dict[str, Any], text: str) -> None:
            state, content = ("ok", text) if found.get("ok") else ("missing", found.get("problem", "unknown"))
            print(f"{state:7} {part:8} {content}")

        driver, nvrtc, cache = report["driver"], report["nvrtc"], report["cache"]
        line("heddle", {"ok": True}, f"{report['version']}, {report['library']['path']}")
        line("driver", driver, f"CUDA {driver.get('version')}, {driver.get('path')}")
        for device in report["devices"]:
            memory = device["memory_bytes"] / 2**30
            line(f"GPU {device['ordinal']}", {"ok": True}, f"{device['name']}, {device['arch']}, {memory:.1f} GiB")
        if not report["devices"]:
            line("GPU", {"problem": "no GPU found; programs run on the cpu target"}, "")
        line("NVRTC", nvrtc, f"{nvrtc.get('version')}, {nvrtc.get('path')}")
        line("cache", cache, f"{cache['directory']}, {cache['bytes'] / 2**20:.1f} MiB used")
        line("compiler", report["compiler"], "targets cuda and cpu")
        for problem in report["environment_errors"].values():
            print(f"{'wrong':7} {'setting':8} {problem}")
        for name, value in sorted(report["environment"].items()):
            print(f"{'':7} {name}={value}")
    return 0 if report["compiler"]["ok"] and not report["environment_errors"] else 1


def _explain(options: argparse.Namespace) -> int:
    shapes = None if options.shapes is None else _shapes.read_shapes(options.shapes)[1]
    program = _program(options.program)
    if options.json:
        _print_json(inspection.explain(program, shapes=shapes, arch=options.arch, json=True))
    else:
        print(inspection.explain(program, shapes=shapes, arch=options.arch).rstrip("\n"))
    return 0


def _run(options: argparse.Namespace) -> int:
    from ._run import run

    model, shapes, origin = "built-in", _shapes.BUILT_IN, "built-in model"
    if options.data is not None:
        if options.shapes is not None:
            raise BadInput("options '--data' and '--shapes': expected one of them, as the arrays have shapes")
        model, origin = "data file", f"data file '{options.data}'"
    if options.shapes is not None:
        model, shapes = _shapes.read_shapes(options.shapes)
        origin = f"shapes file '{options.shapes}', model '{model}'"
    report = run(
        _program(options.program),
        shapes,
        origin=origin,
        target=options.target,
        steps=options.steps,
        seed=options.seed,
        scalars=_settings(options.set),
        data=options.data,
        fill=_fillings(options.fill),
        check=options.check,
    )
    report["model"] = model
    checks, nan_scalars = report.pop("checks", []), report.pop("nan_scalars", [])
    holds = all(check.holds(options.allow_unchecked) for check in checks)
    if options.check:
        from ._check import compare_nothing

        nothing = compare_nothing(checks)
        holds = holds and (options.allow_unchecked or not nothing)
        report["check"] = {"holds": holds, "nothing_compared": nothing, "results": [_described(check, options) for check in checks]}
    if options.json:
        _print_json(report)
        return 0 if holds else 1
    print(f"program        {report['program']}")
    print(f"target         {report['target']}" + ("" if report["target"] == "cpu" else f", {report['arch']}"))
    print(f"model          {model}: {report['members']:,} members, {report['parameters']:,} elements")
    print(f"steps          {report['steps']}, seed {report['seed']}")
    print(f"compile time   {report['compile_ms']:.2f} ms")
    sweeps = "1 sweep" if report["sweeps"] == 1 else f"{report['sweeps']} sweeps"
    print(f"launches       {report['launches']} per step, {sweeps}")
    print(f"traffic        {report['bytes_per_element']:.1f} B per element")
    print(f"time per step  {report['step_us']:.1f} us\n")
    rows: list[tuple[str, ...]] = [("result", "dtype", "members", "elements", "checksum or values")]
    for result in report["results"]:
        shown = result["checksum"] + (f", {result['not_numbers']:,} NaN" if result["not_numbers"] else "")
        if "values" in result:
            shown = " ".join(f"{value:.9g}" for value in result["values"])
        rows.append(
            (result["name"], result["dtype"], f"{result['members']:,}", f"{result['elements']:,}", shown)
        )
    print(_table(rows))
    if options.check:
        _print_checks(checks, nan_scalars, report["check"], options)
    return 0 if holds else 1


def _described(check: ResultCheck, options: argparse.Namespace) -> dict[str, Any]:
    def finite(value: float) -> float | str:
        return value if math.isfinite(value) else str(value)

    return {
        "name": check.name,
        "elements": check.elements,
        "checked": check.checked,
        "constant": check.is_constant,
        "holds": check.holds(options.allow_unchecked),
        "rms_error_ulp": finite(check.rms_error),
        "largest_share": finite(check.largest_share),
        "outside": check.outside,
        "unknown": check.unknown,
        "not_numbers": check.not_numbers,
    }


def _print_checks(checks: list[ResultCheck], nan_scalars: list[str], found: dict[str, Any], options: argparse.Namespace) -> None:
    print(f"\nerrors against the reference interpreter, after {counted(options.steps, 'step')}")
    rows: list[tuple[str, ...]] = [("result", "check", "checked elements", "RMS error", "largest share of a range")]
    for check in checks:
        checked = f"{check.checked:,} of {check.elements:,}"
        verdict = check.verdict(options.allow_unchecked)
        rows.append((check.name, verdict, checked, f"{check.rms_error:.2f} ulp", f"{check.largest_share:.2f}"))
    print(_table(rows))
    for check in checks:
        for note in check.notes():
            print(note)
    if any(check.not_numbers for check in checks):
        for name in nan_scalars:
            print(f"scalar argument '{name}' is NaN")
    if not found["nothing_compared"]:
        print("check passed" if found["holds"] else "check failed")
    elif found["holds"]:
        print("nothing was compared")
    else:
        print("check failed: nothing was compared, because the results are empty (--allow-unchecked accepts this)")


def _emit(options: argparse.Namespace) -> int:
    emitted = inspection.emit(_program(options.program), options.stage, arch=options.arch)
    content = emitted if isinstance(emitted, bytes) else emitted.encode()
    if options.output is None or options.output == "-":
        if isinstance(emitted, bytes) and sys.stdout.isatty():
            raise BadInput("a cubin is no text: write it into a file with -o FILE")
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return 0
    try:
        write_file(options.output, content)
    except OSError as error:
        raise Error(f"cannot write '{options.output}': {error.strerror}") from None
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Runs a command, and returns the exit code: 0 success, 1 a failure, 2 bad usage or bad input."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.version:
            from ._library import version

            print(version())
            return 0
        if options.command is None:
            parser.print_help(sys.stderr)
            return 2
        code = {"doctor": _doctor, "explain": _explain, "run": _run, "emit": _emit}[options.command](options)
        sys.stdout.flush()
        return code
    except BadInput as error:
        print(f"heddle: error: {error}", file=sys.stderr)
        return 2
    except Error as error:
        print(f"heddle: error: {error}", file=sys.stderr)
        return 1
    except MemoryError:
        print("heddle: error: out of memory", file=sys.stderr)
        return 1
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # the reader of the output has ended
            print(f"heddle: error: cannot write standard output: {error.strerror}", file=sys.stderr)
        # Python writes the rest of the output when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
