#!/usr/bin/env python3
"""Compares Sinkhorn in torch, TorchGW and OTT-JAX with `heddle bench sinkhorn`, in one run on one machine.

Measures 100 iterations of the formula (two logsumexps) in three forms: eager, compiled by torch.compile, and compiled
in a CUDA graph. Also measures TorchGW and OTT-JAX if they are installed. Merges the times into the rows of heddle's
report.

    peers_sinkhorn_torch.py [--heddle PATH] [--quick] [--shapes FILE] [--problems "5001x6001 f32,..."] [--seconds N]
                            [--lists | --sizes A,B] [--dtype A,B]
                            [--json FILE] [--markdown FILE] [--heddle-json FILE] [--no-torch]

--problems selects the problems of the peers; heddle measures all. --seconds limits the time of the peers; forms that
are not measured by then are skipped. --heddle-json reads an earlier report instead of running heddle; the times are then
not from one run. --markdown writes the tables; if the file has the lines <!-- sinkhorn measured --> and
<!-- end of sinkhorn measured -->, only the text between them is replaced. With --lists or --sizes, the problems are
lists, each solved at once; peers solve lists of equal problems only, as one batch, and the lines are
<!-- sinkhorn lists measured --> and <!-- end of sinkhorn lists measured -->.

All times but OTT-JAX's are device times per solve: back-to-back solves of about 30 ms, at most 20, between two events;
median of 5 samples after one warm-up. If the host is slower than the device, the time includes the idle time of the
device. OTT-JAX is measured in wall-clock time.
"""

import argparse
import gc
import json
import math
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from heddle_report import measure_heddle  # noqa: E402
from peers_torch import ROOT, conditions_line, require_torch, write_markdown  # noqa: E402
from sizes import shapes_of  # noqa: E402
from stopwatch import as_graph  # noqa: E402

SAMPLES, EPS = 5, 0.05
FORMS = ("torch_compile_graph", "torch_compile", "torch_eager", "torchgw", "ott_jax")
BEGIN, END = "<!-- sinkhorn measured -->", "<!-- end of sinkhorn measured -->"
LISTS_BEGIN, LISTS_END = "<!-- sinkhorn lists measured -->", "<!-- end of sinkhorn lists measured -->"


class Skipped(Exception):
    """The reason why a form was not measured."""


# --- peers ------------------------------------------------------------------------------------------------------------


def time_solves(torch, solve):
    """Returns the device time of one solve in milliseconds."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def sample(solves):
        begin.record()
        for _ in range(solves):
            solve()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / solves

    solve()  # compiles
    solves = min(20, max(1, int(30 / max(sample(1), 1e-3))))
    return statistics.median([sample(solves) for _ in range(SAMPLES)])


def iteration(torch):
    """An iteration of one problem, or of a batch of problems in the first dimension."""

    def iterate(kernel, log_a, log_b, v):
        u = log_a - torch.logsumexp(kernel + v[..., None, :], -1)
        return u, log_b - torch.logsumexp(kernel + u[..., None], -2)

    return iterate


def name_of(row):
    return row["problem"] if "problem" in row else f"{row['list']} {row['dtype']}"


def extents_of(row):
    """Rows and columns; of a list, the number of problems before them."""
    if "problem" in row:
        return row["rows"], row["columns"]
    shapes = shapes_of(row["list"])
    if any(shape != shapes[0] for shape in shapes):
        raise Skipped("solves equal problems only")
    return len(shapes), *shapes[0]


class Torch:
    """A problem, or a batch of them, on the device and its solvers."""

    def __init__(self, torch, row, iterations):
        self.torch, self.iterations = torch, iterations
        dtype = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}[row["dtype"]]
        compute = torch.float64 if dtype == torch.float64 else torch.float32
        *batch, rows, columns = extents_of(row)
        self.kernel = torch.rand(*batch, rows, columns, device="cuda", dtype=dtype).mul_(-1 / EPS)
        self.log_a = torch.full((*batch, rows), -math.log(rows), device="cuda", dtype=compute)
        self.log_b = torch.full((*batch, columns), -math.log(columns), device="cuda", dtype=compute)

    def loop(self, iterate):
        def solve():
            v = self.torch.zeros_like(self.log_b)
            for _ in range(self.iterations):
                u, v = iterate(self.kernel, self.log_a, self.log_b, v)
            return u, v

        return solve

    def solve(self, form):
        torch = self.torch
        if form == "torch_eager":
            return self.loop(iteration(torch))
        if form.startswith("torch_compile"):
            solve = self.loop(torch.compile(iteration(torch), dynamic=False))
            return as_graph(torch, solve) if form.endswith("_graph") else solve
        if self.kernel.dim() != 2:
            raise Skipped("solves one problem at a time")
        if self.kernel.dtype not in (torch.float32, torch.float64):
            raise Skipped("measured in f32 and f64 only")
        try:
            from torchgw._triton_sinkhorn import triton_sinkhorn_loop
        except ImportError as error:
            raise Skipped(f"torchgw cannot be imported: {error}") from error
        weights = self.log_a.exp()
        return lambda: triton_sinkhorn_loop(
            self.kernel, self.log_a, self.log_b, 1.0, self.iterations, 0.0, 10, weights)


def time_ott(row, iterations):
    """Returns the wall-clock time of one solve of OTT-JAX in milliseconds."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # share the GPU with torch
    try:
        import jax
        from ott.geometry import geometry
        from ott.problems.linear import linear_problem
        from ott.solvers.linear import sinkhorn
    except ImportError as error:
        raise Skipped(f"ott cannot be imported: {error}") from error
    if row["dtype"] != "f32":
        raise Skipped("measured in f32 only")
    solver = sinkhorn.Sinkhorn(threshold=-1.0, min_iterations=iterations, max_iterations=iterations,
                               inner_iterations=iterations, implicit_diff=None)

    def solve_one(costs):
        out = solver(linear_problem.LinearProblem(geometry.Geometry(cost_matrix=costs, epsilon=EPS)))
        return out.f, out.g

    extents = extents_of(row)
    solve = jax.jit(solve_one if len(extents) == 2 else jax.vmap(solve_one))
    costs = jax.random.uniform(jax.random.PRNGKey(0), extents)
    times = []
    for _ in range(SAMPLES + 1):
        begin = time.perf_counter()
        jax.block_until_ready(solve(costs))
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times[1:])


def measure_peers(torch, report, problems, seconds, save):
    """Adds the peers' times in milliseconds to the rows, or the reason why a form was not measured."""
    rows, iterations = report["rows"], report["conditions"]["iterations"]
    report["conditions"].update({"torch": torch.__version__, "torch_cuda": torch.version.cuda})
    deadline = time.monotonic() + seconds
    said = set()
    for row in sorted(rows, key=lambda row: row["elements"] if "list" in row else row["rows"] * row["columns"]):
        if problems and name_of(row) not in problems:
            continue
        problem = None
        for form in FORMS:
            try:
                if time.monotonic() > deadline:
                    raise Skipped(f"time limit of {seconds} s reached")
                if form == "ott_jax":
                    problem = None
                    gc.collect()
                    torch.cuda.empty_cache()
                    row[form + "_ms"] = time_ott(row, iterations)
                else:
                    problem = problem or Torch(torch, row, iterations)
                    row[form + "_ms"] = time_solves(torch, problem.solve(form))
            except Skipped as reason:
                row[form + "_skipped"] = str(reason)
                if (form, str(reason)) not in said:
                    said.add((form, str(reason)))
                    print(f"{form}: {reason}", file=sys.stderr, flush=True)
            except Exception as error:  # noqa: BLE001, continue with the other forms
                row[form + "_error"] = f"{type(error).__name__}: {error}"[:200]
            gc.collect()
            torch.cuda.empty_cache()
        torch._dynamo.reset()  # the next problem needs other kernels
        print(f"{name_of(row)}: " + ", ".join(
            f"{form} {row[form + '_ms']:.2f} ms" for form in FORMS if form + "_ms" in row)
            + "".join(f", {form} failed: {row[form + '_error']}" for form in FORMS if form + "_error" in row),
            file=sys.stderr, flush=True)
        save()


# --- heddle -----------------------------------------------------------------------------------------------------------


# --- tables -----------------------------------------------------------------------------------------------------------

COLUMNS = (
    ("heddle", "heddle_ms"),
    ("loop", "heddle_loop_ms"),
    ("by hand", "handwritten_ms"),
    ("torch.compile in a graph", "torch_compile_graph_ms"),
    ("torch.compile", "torch_compile_ms"),
    ("torch eager", "torch_eager_ms"),
    ("TorchGW", "torchgw_ms"),
    ("OTT-JAX", "ott_jax_ms"),
)


def tables(report):
    """Returns the report as Markdown: times in milliseconds with ratios to the floor, then the other measurements."""
    where, rows = report["conditions"], report["rows"]
    columns = [column for column in COLUMNS if any(column[1] in row for row in rows)]

    def cell(row, key, text):
        return text.format(row[key]) if key in row else ""

    def cells(*texts):
        return "| " + " | ".join(texts) + " |"

    lines = [
        conditions_line(where),
        "",
        f"**{where['iterations']} iterations**, milliseconds per solve (times the floor)",
        "",
        cells("problem", "fits", "floor", *(title for title, _ in columns), "heddle / by hand", "loop / by hand"),
        "|---|---|" + "---|" * (len(columns) + 3),
    ]
    for row in rows:
        floor = row["floor_ms"]
        lines.append(cells(
            row["problem"], row["fits"], f"{floor:.3f}",
            *(f"{row[key]:.3f} ({row[key] / floor:.2f}x)" if key in row else "" for _, key in columns),
            cell(row, "heddle_over_handwritten", "{:.3f}"), cell(row, "heddle_loop_over_handwritten", "{:.3f}")))
    lines += [
        "",
        cells("problem", "iterations/s", "B per element and iteration", f"stops below {where['stop_tolerance']:g}",
              "transport plan",
              "program compiled cold", "size class cold", "difference", "same bits"),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        stops = ""
        if "stop_iterations" in row:
            stops = f"after {row['stop_iterations']}, {row['stop_ms']:.3f} ms" + ("" if row["stop_converged"] else ", not reached")
        plan = f"{row['plan_ms']:.3f} ms ({row['plan_ratio']:.2f}x)" if "plan_ms" in row else ""
        lines.append(cells(
            row["problem"], cell(row, "heddle_iterations_per_second", "{:.0f}"),
            cell(row, "heddle_bytes_per_element_and_iteration", "{:.2f}"), stops, plan,
            cell(row, "compile_program_ms", "{:.0f} ms"), cell(row, "compile_class_ms", "{:.0f} ms"),
            cell(row, "difference_from_handwritten", "{:.1e}"),
            {True: "yes", False: "no"}.get(row.get("same_bits_every_replay"), "")))
    lines += ["", cells("problem", "size class", "by hand"), "|---|---|---|"]
    lines += [cells(row["problem"], row.get("panels", "no panel schedule"), row.get("handwritten_class", "")) for row in rows]
    failures = [f"* {row['problem']}: {failure}" for row in rows for failure in row["failures"]]
    if failures:
        lines += ["", "Not measured:", "", *failures]
    return "\n".join(lines) + "\n"


def list_table(report):
    """Returns a report of lists as Markdown: times in milliseconds with ratios to the floor."""
    where, rows = report["conditions"], report["rows"]
    columns = [column for column in COLUMNS if any(column[1] in row for row in rows)]
    lines = [
        conditions_line(where),
        "",
        f"**{where['iterations']} iterations of every problem**, milliseconds per solve of a list (times the floor)",
        "",
        "| list | problems | floor | " + " | ".join(title for title, _ in columns) + " | heddle / by hand | same bits |",
        "|---|---|---|" + "---|" * (len(columns) + 2),
    ]
    for row in rows:
        cells = [f"{row[key]:.3f} ({row[key] / row['floor_ms']:.2f}x)" if key in row else "" for _, key in columns]
        over = f"{row['heddle_over_handwritten']:.3f}" if "heddle_over_handwritten" in row else ""
        same = {True: "yes", False: "no"}.get(row.get("same_bits_every_replay"), "")
        lines.append(f"| {name_of(row)} | {row['problems']} | {row['floor_ms']:.3f} | " + " | ".join(cells)
                     + f" | {over} | {same} |")
    failures = [f"* {name_of(row)}: {failure}" for row in rows for failure in row["failures"]]
    if failures:
        lines += ["", "Not measured:", "", *failures]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=os.environ.get("HEDDLE", str(ROOT / "build" / "bin" / "heddle")))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--shapes")
    parser.add_argument("--lists", action="store_true")
    parser.add_argument("--sizes")
    parser.add_argument("--dtype")
    parser.add_argument("--problems")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--heddle-json")
    parser.add_argument("--no-torch", action="store_true")
    arguments = parser.parse_args()

    if not arguments.no_torch:
        torch = require_torch("peers_sinkhorn_torch.py")
    if arguments.heddle_json:
        with open(arguments.heddle_json) as file:
            report = json.load(file)
    else:
        flags = [f"--{flag}" for flag in ("quick", "lists") if getattr(arguments, flag)]
        report = measure_heddle(arguments, ["sinkhorn", *flags], ("shapes", "sizes", "dtype"))
    problems = [name.strip() for name in (arguments.problems or "").split(",") if name.strip()]
    known = [name_of(row) for row in report["rows"]]
    are_lists = report.get("benchmark") == "sinkhorn lists"
    table, marks = (list_table, (LISTS_BEGIN, LISTS_END)) if are_lists else (tables, (BEGIN, END))
    for name in problems:
        if name not in known:
            sys.exit(f"peers_sinkhorn_torch.py: there is no problem '{name}'; expected one of {', '.join(known)}")

    def save():
        for row in report["rows"]:
            for form in FORMS:
                if form + "_ms" in row:
                    row[form + "_ratio"] = row[form + "_ms"] / row["floor_ms"]
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
        if arguments.markdown:
            write_markdown(arguments.markdown, table(report), *marks)

    if not arguments.no_torch:
        measure_peers(torch, report, problems, arguments.seconds, save)
    save()
    if not arguments.json and not arguments.markdown:
        print(table(report))


if __name__ == "__main__":
    main()
