#!/usr/bin/env python3
"""Compares torch with `heddle bench rows`, in one run on one machine.

Measures torch.softmax and torch.sum over the same matrices, eagerly and in a CUDA graph, and torch.optim.Adafactor over
the same parameters, which cannot be captured. Merges the times into the rows of heddle's report.

    peers_rows_torch.py [--heddle PATH] [--shapes FILE] [--models A,B | --sizes A,B] [--programs A,B] [--dtype A,B]
                        [--json FILE] [--markdown FILE] [--heddle-json FILE] [--no-torch]

--heddle-json reads an earlier report instead of running heddle; the times are then not from one run. --markdown writes
the tables; if the file has the lines <!-- rows measured --> and <!-- end of rows measured -->, only the text between
them is replaced.

All times are device times: 20 back-to-back steps between two events, median of 9 samples after one warm-up. If the host
is slower than the device, the time includes the idle time of the device.
"""

import argparse
import gc
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from heddle_report import measure_heddle  # noqa: E402
from peers_torch import ROOT, conditions_line, element_type, require_torch, write_markdown  # noqa: E402
from sizes import shapes_of  # noqa: E402
from stopwatch import as_graph, device_time  # noqa: E402

FORMS = ("torch_graph", "torch")
BEGIN, END = "<!-- rows measured -->", "<!-- end of rows measured -->"


def make_step(torch, program, shapes, dtype):
    """Returns a function that runs `program` once over all members."""
    if program == "adafactor":
        params = [(torch.randn(shape, device="cuda", dtype=dtype) * 0.02).requires_grad_(True) for shape in shapes]
        for param in params:
            param.grad = torch.randn_like(param)
        return torch.optim.Adafactor(params, lr=1e-2, foreach=True).step
    # As heddle: all leading dimensions form the rows, and sums are in f32 or f64.
    members = [torch.randn(shape, device="cuda", dtype=dtype) for shape in shapes]
    members = [x.reshape(-1, x.shape[-1]) if x.dim() else x.reshape(1, 1) for x in members]
    real = torch.float64 if dtype == torch.float64 else torch.float32
    compute = {"row_softmax": lambda x: torch.softmax(x, 1), "row_sums": lambda x: torch.sum(x, 1, dtype=real),
               "column_sums": lambda x: torch.sum(x, 0, dtype=real)}[program]
    return lambda: [compute(x) for x in members]


def measure_torch(torch, rows, models):
    """Adds torch's times in microseconds to `rows`, or the error of a form that failed."""
    for row in rows:
        name = row["input"]
        shapes = models[name] if name in models else shapes_of(name)
        for form in FORMS:
            captured = form.endswith("_graph")
            if captured and row["program"] == "adafactor":
                continue
            try:
                step = make_step(torch, row["program"], shapes, element_type(torch, row["dtype"]))
                row[form + "_us"] = device_time(torch, as_graph(torch, step) if captured else step)
                row[form + "_ratio"] = row[form + "_us"] / row["floor_us"]
            except Exception as error:  # noqa: BLE001, continue with the other forms
                row[form + "_error"] = f"{type(error).__name__}: {error}"[:200]
            step = None
            gc.collect()
            torch.cuda.empty_cache()
        print(f"{row['program']} of {name} in {row['dtype']}: " + ", ".join(
            f"{form} {row[form + '_us']:.1f} us" if form + "_us" in row else f"{form} not measured" for form in FORMS),
            file=sys.stderr, flush=True)
    return {"torch": torch.__version__, "torch_cuda": torch.version.cuda}


COLUMNS = (("heddle", "heddle_us"), ("by hand", "handwritten_us"), ("torch in a graph", "torch_graph_us"), ("torch", "torch_us"))


def tables(report):
    """Returns the report as Markdown: a table per program, with times in microseconds and ratios to the floor."""
    lines = [conditions_line(report["conditions"]), ""]
    for program in dict.fromkeys(row["program"] for row in report["rows"]):
        rows = [row for row in report["rows"] if row["program"] == program]
        columns = [column for column in COLUMNS if any(column[1] in row for row in rows)]
        lines += [
            f"**{program}**, microseconds (times the floor)", "",
            "| input | type | members | MB | floor | " + " | ".join(title for title, _ in columns) + " |",
            "|---|---|---|---|---|" + "---|" * len(columns),
        ]
        for row in rows:
            floor = row["floor_us"]
            cells = [f"{row[key]:.1f} ({row[key] / floor:.2f}x)" if key in row else "" for _, key in columns]
            lines.append(f"| {row['input']} | {row['dtype']} | {row['members']} | {row['bytes'] / 1e6:.1f} | {floor:.1f} | "
                         + " | ".join(cells) + " |")
        lines.append("")
    failures = [f"* {row['program']} of {row['input']} in {row['dtype']}: {failure}"
                for row in report["rows"] for failure in row["failures"]]
    if failures:
        lines += ["Not measured:", "", *failures, ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=os.environ.get("HEDDLE", str(ROOT / "build" / "bin" / "heddle")))
    for option in ("shapes", "models", "sizes", "programs", "dtype", "json", "markdown", "heddle-json"):
        parser.add_argument(f"--{option}")
    parser.add_argument("--no-torch", action="store_true")
    arguments = parser.parse_args()

    if not arguments.no_torch:
        torch = require_torch("peers_rows_torch.py")
    if arguments.heddle_json:
        with open(arguments.heddle_json) as file:
            report = json.load(file)
    else:
        report = measure_heddle(arguments, ["rows"], ("shapes", "models", "sizes", "programs", "dtype"))
    if not arguments.no_torch:
        with open(arguments.shapes or ROOT / "examples" / "shapes" / "models.json") as file:
            report["conditions"].update(measure_torch(torch, report["rows"], json.load(file)))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
    if arguments.markdown:
        write_markdown(arguments.markdown, tables(report), BEGIN, END)
    if not arguments.json and not arguments.markdown:
        print(tables(report))


if __name__ == "__main__":
    main()
