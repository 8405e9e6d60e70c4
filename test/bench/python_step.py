#!/usr/bin/env python3
"""Measures `step()` of heddle.optim.AdamW in Python against torch's, on one GPU, in one run.

    python_step.py [--models A,B] [--shapes FILE] [--counts M,N] [--repeat N] [--no-torch] [--no-first]
                   [--json FILE] [--markdown FILE]
    python_step.py --cpu [--counts M,N] [--repeat N] [--json FILE]
    python_step.py --from-json FILE --markdown FILE

The first table has the host time of step() for lists of small tensors, and the time of its pieces: to compare the
parameter groups with those of the last step, to read the memory of parameters and gradients, and that of the state (if
somebody has read the state before), to bind those that changed, and to replay. Each number is a median of N steps, and `best` the smallest time of a step. The
clock of the pieces adds a microsecond to `pieces`, but not to `step`. --cpu prints only this table, for the cpu target,
whose replay is the step itself.

Then, for each model, with gradients that are the same tensors in every step, and with other tensors in every step:

    host     microseconds until step() returns: median of N steps, of which none waits for the device
    wall     microseconds per step of 20 steps, from the first call until the device has finished; median of 9 samples.
             With other gradients, they contain the time in which the script assigns the gradients (`assign`).

The rows are heddle, torch fused, torch foreach, and torch fused in a captured graph (whose gradients cannot be other
tensors). `replay` is the device time of one replay of heddle's graph, without Python: the time that the wall time is
compared with. `first` has the first step of a fresh process, with an empty and with a filled cache of kernels, and the
time of `import heddle`. The heading has the GPU and the versions.

--markdown writes the tables between the lines <!-- python steps --> and <!-- end of python steps --> of a page.
--from-json takes them from an earlier report instead of measuring.
"""

import argparse
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from peers_torch import write_markdown  # noqa: E402
from stopwatch import Pieces, as_graph, host_times, wall_time  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = "213,478,580"
SMALL = ((64, 3, 3, 3), (64,), (64,), (32, 64), (32,))
BEGIN, END = "<!-- python steps -->", "<!-- end of python steps -->"
MODELS = "dcgan,mobilenetv3_large_100,ghostnet_100,resnet50,vit_base_patch16_224,bert-large,xglm-564m,llama-1b,gpt2-xl"

FIRST = """
import json, sys, time
start = time.perf_counter()
import heddle
imported = time.perf_counter() - start
import torch
import heddle.optim
shapes = json.loads(sys.argv[1])
params = [torch.nn.Parameter(torch.zeros(shape, device="cuda")) for shape in shapes]
for param in params:
    param.grad = torch.ones_like(param)
torch.cuda.synchronize()
optimizer = heddle.optim.AdamW(params)
start = time.perf_counter()
optimizer.step()
torch.cuda.synchronize()
first = time.perf_counter() - start
print(json.dumps({"import_ms": imported * 1e3, "first_step_ms": first * 1e3,
                  "compilations": heddle.statistics()["compilations"]}))
"""


def same(index):
    pass


def draw(torch, shapes, device):
    """Parameters, and a function that gives them other gradients in every step."""
    generator = torch.Generator(device).manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(shape, device=device, generator=generator)) for shape in shapes]
    gradients = [
        [torch.randn(shape, device=device, generator=generator) for shape in shapes] for _ in range(3)
    ]

    def other(index):
        for param, gradient in zip(params, gradients[index % 3]):
            param.grad = gradient

    return params, other


def watch(optimizer):
    """Measures the pieces of the steps of an optimizer that has one part."""
    from heddle import _fast

    pieces, part = Pieces(), optimizer._parts[False][0]
    pieces.watch("groups", optimizer, "_groups_are_as_before")
    pieces.watch("read", _fast, "pairs")
    pieces.watch("state", part.shares[0].state, "has_moved")
    pieces.watch("bind", part, "_gather_changes")
    pieces.watch("replay", part.graph, "_replay_unless_collected")
    return pieces, part


def measure_pieces(torch, count, device, repeat):
    """The host time of a step of `count` small tensors, and of its pieces."""
    import heddle.optim
    from heddle import _fast

    params, other = draw(torch, [SMALL[index % len(SMALL)] for index in range(count)], device)
    rows = {}
    for name, before in (("same", same), ("new", other), ("new, state read", other)):
        other(0)
        optimizer = heddle.optim.AdamW(params, lr=1e-5)
        for index in range(3):
            before(index)
            optimizer.step()
        if name == "new, state read":
            for state in optimizer.state.values():
                state["step"]
        times = host_times(torch, optimizer.step, before, repeat)
        function = _fast.pairs
        pieces, part = watch(optimizer)
        row = {"step": statistics.median(times), "best": min(times)}
        row["pieces"] = statistics.median(host_times(torch, pieces.step(optimizer.step), before, repeat))
        _fast.pairs = function
        row.update((piece, statistics.median(spent)) for piece, spent in pieces.times.items())
        row["reader"] = _fast.reader(_fast.exchange_api(torch.Tensor))
        rows[name] = row
    return rows


def print_pieces(torch, counts, device, repeat):
    columns = ("step", "best", "pieces", "groups", "read", "state", "bind", "replay")
    print(f"{'tensors':>7}  {'gradients':15}" + "".join(f"{column:>9}" for column in columns) + "  [us]  reader")
    report = {}
    for count in counts:
        report[count] = measure_pieces(torch, count, device, repeat)
        for name, row in report[count].items():
            cells = "".join(f"{row[column]:9.1f}" for column in columns)
            print(f"{count:7}  {name:15}{cells}        {row['reader']}", flush=True)
    print()
    return report


def measure(torch, shapes, options, device="cuda"):
    import heddle.optim

    params, other = draw(torch, shapes, device)
    other(0)
    rows = {}
    assign = wall_time(torch, lambda: None, other)
    forms = {"heddle": lambda: heddle.optim.AdamW(params, lr=1e-5)}
    if not options.no_torch:
        forms["torch_fused"] = lambda: torch.optim.AdamW(params, lr=1e-5, fused=True)
        forms["torch_foreach"] = lambda: torch.optim.AdamW(params, lr=1e-5, foreach=True)
        forms["torch_fused_graph"] = lambda: torch.optim.AdamW(params, lr=1e-5, fused=True, capturable=True)
    for name, make in forms.items():
        other(0)
        optimizer = make()
        step = optimizer.step
        if name == "torch_fused_graph":
            step = as_graph(torch, step)
        for index in range(3):
            step()
        row = {"host_same": statistics.median(host_times(torch, step, same, options.repeat)),
               "wall_same": wall_time(torch, step, same)}
        if name != "torch_fused_graph":
            for index in range(3):
                other(index)
                step()
            row["host_new"] = statistics.median(host_times(torch, step, other, options.repeat))
            row["wall_new"] = wall_time(torch, step, other)
        if name == "heddle":
            row["replay"] = optimizer._parts[False][0].graph.measure() * 1e6
            row["assign"] = assign
        rows[name] = row
        del optimizer, step
        gc.collect()
        torch.cuda.empty_cache()
    return rows


def first_steps(shapes):
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cold", "warm"):
            path = os.pathsep.join([str(ROOT / "python"), *(entry for entry in sys.path if entry)])
            result = subprocess.run([sys.executable, "-c", FIRST, json.dumps(shapes)], text=True, capture_output=True,
                                    env={**os.environ, "HEDDLE_CACHE_DIR": folder, "PYTHONPATH": path})
            if result.returncode:
                sys.exit(result.stdout + result.stderr)
            rows[name] = json.loads(result.stdout)
    return rows


# --- the page ---------------------------------------------------------------------------------------------------------


def model_tables(report):
    """The time of steps in Markdown. The ratio to the replay is what Python adds to the device."""
    lines = [f"{report['gpu']}, CUDA {report['cuda']}, torch {report['torch']}; microseconds per step of AdamW.", "",
             "| model (tensors) | replay | wall same | wall new | assign | host same | host new | torch fused in a graph: wall "
             "| torch fused: wall same, new | torch foreach: wall same, new |", "|---|---|---|---|---|---|---|---|---|---|"]
    for model, rows in report["models"].items():
        heddle = rows["heddle"]
        cells = [f"{heddle['replay']:.1f}"]
        cells += [f"{heddle[key]:.1f}" for key in ("wall_same", "wall_new", "assign", "host_same", "host_new")]
        cells.append(f"{rows['torch_fused_graph']['wall_same']:.1f}" if "torch_fused_graph" in rows else "")
        for form in ("torch_fused", "torch_foreach"):
            cells.append(f"{rows[form]['wall_same']:.1f}, {rows[form]['wall_new']:.1f}" if form in rows else "")
        lines.append(f"| {model} ({heddle['tensors']}) | " + " | ".join(cells) + " |")
    return lines + [""]


def piece_table(report):
    columns = ("step", "best", "groups", "read", "state", "bind", "replay")
    lines = ["| small tensors | gradients | " + " | ".join(columns) + " |", "|---|---|" + "---|" * len(columns)]
    for count, rows in report["pieces"].items():
        for name, row in rows.items():
            lines.append(f"| {count} | {name} | " + " | ".join(f"{row[column]:.1f}" for column in columns) + " |")
    return lines + [""]


def first_table(report):
    lines = ["| first step of a process, resnet50 | ms | compilations | `import heddle`, ms |", "|---|---|---|---|"]
    for name, row in report["first"].items():
        cache = "empty cache" if name == "cold" else "filled cache"
        lines.append(f"| {cache} | {row['first_step_ms']:.0f} | {row['compilations']} | {row['import_ms']:.0f} |")
    return lines


def tables(report):
    """Returns the report as Markdown."""
    lines = model_tables(report) + piece_table(report) + (first_table(report) if "first" in report else [])
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--shapes", default=str(ROOT / "examples/shapes/models.json"))
    parser.add_argument("--counts", default=COUNTS)
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--from-json")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--no-first", action="store_true")
    options = parser.parse_args()
    if options.from_json:
        if not options.markdown:
            parser.error("--from-json needs --markdown, the page that the tables go to")
        write_markdown(options.markdown, tables(json.loads(pathlib.Path(options.from_json).read_text())), BEGIN, END)
        return
    if options.cpu and options.markdown:
        parser.error("--markdown needs the times of a GPU; leave out --cpu")
    sys.path.insert(0, str(ROOT / "python"))
    import torch

    if not options.cpu and not torch.cuda.is_available():
        sys.exit("python_step.py: error: no GPU found; --cpu measures the cpu target")
    import heddle

    models = json.loads(pathlib.Path(options.shapes).read_text())
    gpu = "the cpu target" if options.cpu else torch.cuda.get_device_name()
    report = {"gpu": gpu, "torch": torch.__version__, "cuda": torch.version.cuda, "heddle": heddle.__version__,
              "models": {}}
    print(f"{gpu}, torch {report['torch']} (CUDA {report['cuda']}), heddle {report['heddle']}\n")
    counts = [int(count) for count in options.counts.split(",")]
    report["pieces"] = print_pieces(torch, counts, "cpu" if options.cpu else "cuda", options.repeat)
    if not options.cpu:
        print_models(torch, models, options, report)
    save(report, options)
    if options.markdown:
        write_markdown(options.markdown, tables(report), BEGIN, END)


def save(report, options):
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=2) + "\n")


def print_models(torch, models, options, report):
    print(f"{'model':22} {'tensors':>7}  {'':18} {'host same':>10} {'host new':>10} {'wall same':>10} {'wall new':>10} "
          f"{'replay':>8}  [us]")
    for model in options.models.split(","):
        shapes = models[model]
        rows = measure(torch, shapes, options)
        rows["heddle"]["tensors"] = len(shapes)
        report["models"][model] = rows
        for name, row in rows.items():
            cells = " ".join(f"{row[key]:10.1f}" if key in row else f"{'-':>10}"
                             for key in ("host_same", "host_new", "wall_same", "wall_new"))
            replay = f"{row['replay']:8.1f}" if "replay" in row else f"{'-':>8}"
            print(f"{model:22} {len(shapes):7}  {name:18} {cells} {replay}", flush=True)
        save(report, options)
    if not options.no_first:
        report["first"] = first_steps(models["resnet50"])
        for name, row in report["first"].items():
            print(f"first step, {name}: {row['first_step_ms']:.1f} ms, {row['compilations']} compilations, "
                  f"import heddle: {row['import_ms']:.1f} ms")


if __name__ == "__main__":
    main()
