#!/usr/bin/env python3
"""Compares torch.compile with `heddle bench programs test/programs`, in one run on one machine.

The elementwise optimizers of test/programs have formulas in NumPy (test/programs/formulas.py). This script gives the same
formulas PyTorch's functions, compiles them with torch.compile, and replays them as a CUDA graph. Merges the times into
the rows of heddle's report.

    peers_programs_torch.py [--heddle PATH] [--programs A,B] [--sizes A,B | --models A,B] [--dtype A,B]
                            [--json FILE] [--markdown FILE] [--heddle-json FILE] [--no-torch]

torch's form has advantages: the step counter and all scalars are constants of its kernels, and it does not count steps.
It compiles one function over all members, so few large members (default: --sizes 24x10000x1000) compile in seconds.

--heddle-json reads an earlier report instead of running heddle; the times are then not from one run. --markdown writes
the table; if the file has the lines <!-- programs measured --> and <!-- end of programs measured -->, only the text
between them is replaced. All times are device times, measured as in peers_rows_torch.py.
"""

import argparse
import gc
import inspect
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from heddle_report import measure_heddle  # noqa: E402
from peers_torch import ROOT, conditions_line, element_type, require_torch, write_markdown  # noqa: E402
from sizes import shapes_of  # noqa: E402
from stopwatch import as_graph, device_time  # noqa: E402

FOLDER = ROOT / "test" / "programs"
ELEMENTWISE = ("adabelief", "adadelta", "adagrad", "adamax", "adan", "ademamix", "adopt", "laprop", "lion", "nadam", "radam",
               "rmsprop", "rprop", "schedule_free_sgd", "sophia", "yogi")
BEGIN, END = "<!-- programs measured -->", "<!-- end of programs measured -->"
STEPS_BEFORE = 100  # the constant step counter


class TorchAsNumpy:
    """The functions of NumPy that the formulas of ELEMENTWISE use."""

    def __init__(self, torch):
        self.sqrt, self.sign, self.abs, self.clip, self.where = (
            torch.sqrt, torch.sign, torch.abs, torch.clamp, torch.where)
        self.maximum = lambda a, b: torch.maximum(a, b) if torch.is_tensor(b) else torch.clamp(a, min=b)


def make_step(torch, name, shapes, dtype):
    """Returns a function that runs one step of the formula `name` over all members, compiled."""
    import formulas

    formulas.np = TorchAsNumpy(torch)
    function = formulas.FORMULAS[name].function
    text = (FOLDER / f"{name}.mlir").read_text()
    donated = {argument: int(result) for argument, result in
               re.findall(r"%(\w+): [^,{]*\{foreach\.donate = (\d+)", text)}
    defaults = {argument: float(value) for argument, value in
                re.findall(r"%(\w+): [^,{]*\{foreach\.default = (\S+) :", text)}
    counters = {"step": float(STEPS_BEFORE), "product": 0.5}  # lists of one number per member
    real = torch.float64 if dtype == torch.float64 else torch.float32
    names = list(inspect.signature(function).parameters)
    lists = [argument for argument in names if argument not in defaults and argument not in counters]
    members = [{argument: torch.rand(shape, device="cuda", dtype=dtype) for argument in lists} for shape in shapes]

    def step(members):
        new = []  # the lists of results that replace no argument
        for member in members:
            values = [member[a].to(real) if a in member else counters.get(a, defaults.get(a)) for a in names]
            results = function(*values)
            for argument in lists:
                if argument in donated:
                    member[argument].copy_(results[donated[argument]])
            new += [result.to(dtype) for place, result in enumerate(results)
                    if torch.is_tensor(result) and place not in donated.values()]
        return new

    compiled = torch.compile(step, fullgraph=True, dynamic=False)
    with torch.no_grad():
        compiled(members)
    return torch.no_grad()(lambda: compiled(members))


def measure_torch(torch, rows, models):
    """Adds torch's times in microseconds to `rows`, or the error that occurred."""
    sys.path.insert(0, str(FOLDER))
    for row in rows:
        if row["program"] not in ELEMENTWISE or "heddle_us" not in row:
            continue
        shapes = models[row["input"]] if row["input"] in models else shapes_of(row["input"])
        try:
            torch._dynamo.reset()
            step = make_step(torch, row["program"], shapes, element_type(torch, row["dtype"]))
            row["torch_compile_us"] = device_time(torch, as_graph(torch, step))
            row["torch_compile_ratio"] = row["torch_compile_us"] / row["floor_us"]
        except Exception as error:  # noqa: BLE001, continue with the other programs
            row["torch_compile_error"] = f"{type(error).__name__}: {error}"[:200]
        step = None
        gc.collect()
        torch.cuda.empty_cache()
        print(f"{row['program']} in {row['dtype']}: torch.compile "
              + (f"{row['torch_compile_us']:.1f} us" if "torch_compile_us" in row else row["torch_compile_error"]),
              file=sys.stderr, flush=True)
    return {"torch": torch.__version__, "torch_cuda": torch.version.cuda}


def table(report):
    """Returns the report as Markdown: times in microseconds and ratios to the floor."""
    rows = report["rows"]
    lines = [conditions_line(report["conditions"]), "",
             "| program | input | type | B per element | floor, us | heddle | torch.compile in a graph |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = [f"{row[key]:.0f} ({row[key] / row['floor_us']:.3f}x)" if key in row else ""
                 for key in ("heddle_us", "torch_compile_us")]
        lines.append(f"| {row['program']} | {row['input']} | {row['dtype']} | {row['bytes'] / row['elements']:.0f} | "
                     f"{row['floor_us']:.0f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=os.environ.get("HEDDLE", str(ROOT / "build" / "bin" / "heddle")))
    parser.add_argument("--programs", default=",".join(ELEMENTWISE))
    parser.add_argument("--sizes", default="24x10000x1000")
    parser.add_argument("--dtype", default="f32,bf16")
    for option in ("models", "json", "markdown", "heddle-json"):
        parser.add_argument(f"--{option}")
    parser.add_argument("--no-torch", action="store_true")
    arguments = parser.parse_args()

    if not arguments.no_torch:
        torch = require_torch("peers_programs_torch.py")
    if arguments.heddle_json:
        with open(arguments.heddle_json) as file:
            report = json.load(file)
    else:
        lists = "models" if arguments.models else "sizes"
        report = measure_heddle(arguments, ["programs", str(FOLDER)], ("programs", lists, "dtype"))
    if not arguments.no_torch:
        with open(ROOT / "examples" / "shapes" / "models.json") as file:
            report["conditions"].update(measure_torch(torch, report["rows"], json.load(file)))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
    if arguments.markdown:
        write_markdown(arguments.markdown, table(report), BEGIN, END)
    if not arguments.json and not arguments.markdown:
        print(table(report))


if __name__ == "__main__":
    main()
