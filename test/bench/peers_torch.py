#!/usr/bin/env python3
"""Compares torch's optimizers with `heddle bench optimizers`, in one run on one machine.

Measures torch.optim's AdamW, SGD with momentum and clip_grad_norm_ + AdamW over the same parameter shapes in three
forms, or with --tail everything after the gradients of a training step (`heddle bench tail`): foreach, fused, and fused in a CUDA graph. Of the other optimizers that --optimizers names, it measures foreach, also
in a CUDA graph, if torch has them. Merges the times into the rows of heddle's report.

    peers_torch.py [--heddle PATH] [--shapes FILE] [--models A,B | --sizes A,B] [--optimizers A,B] [--dtype A,B]
                   [--zeros] [--tail] [--json FILE] [--markdown FILE] [--heddle-json FILE] [--no-torch]

--heddle-json reads an earlier report instead of running heddle; the times are then not from one run. --markdown writes
the tables; if the file has the lines <!-- measured --> and <!-- end of measured -->, only the text between them is
replaced. With --dtype or --zeros, it is one table of all element types, and the lines are <!-- types measured --> and
<!-- end of types measured -->.

All times are device times per step: 20 back-to-back steps between two events, median of 9 samples after one warm-up. If
the host is slower than the device, the time includes the idle time of the device.
"""

import argparse
import gc
import json
import math
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from heddle_report import measure_heddle  # noqa: E402
from sizes import shapes_of  # noqa: E402
from stopwatch import as_graph, device_time  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMS = ("torch_foreach", "torch_fused", "torch_fused_graph")
#: torch's classes of the optimizers that have no fused kernel, or none that a graph can capture.
FOREACH_CLASSES = {name.lower(): name for name in ("Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop",
                                                   "Rprop")}
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
TYPES_BEGIN, TYPES_END = "<!-- types measured -->", "<!-- end of types measured -->"


# --- torch ------------------------------------------------------------------------------------------------------------


def forms_of(optimizer):
    """The forms in which torch has an optimizer."""
    if optimizer not in FOREACH_CLASSES:
        return FORMS if optimizer in TITLES else ()
    # A step of Adagrad reads its counters on the host.
    return ("torch_foreach",) if optimizer == "adagrad" else ("torch_foreach", "torch_foreach_graph")


def make_step(torch, optimizer, form, params):
    """Returns a function that runs one step of `optimizer` in `form`."""
    if optimizer in FOREACH_CLASSES:
        captured = {"capturable": True} if form.endswith("_graph") else {}
        step = getattr(torch.optim, FOREACH_CLASSES[optimizer])(params, foreach=True, **captured).step
        return as_graph(torch, step) if captured else step
    how = {"foreach": True} if form == "torch_foreach" else {"fused": True}
    captured = form.endswith("_graph")
    if optimizer == "sgd":
        # The learning rate is on the device, as for the other optimizers.
        rate = torch.tensor(1e-3, device="cuda") if captured else 1e-3
        step = torch.optim.SGD(params, lr=rate, momentum=0.9, **how).step
    else:
        adamw = torch.optim.AdamW(params, lr=1e-3, weight_decay=1e-2, capturable=captured, **how)
        step = adamw.step
    if optimizer == "tail":
        step = make_tail(torch, params, adamw, how)
    if optimizer == "clip_adamw":
        update = step

        def step():
            torch.nn.utils.clip_grad_norm_(params, 1.0, foreach=True)
            update()

    return as_graph(torch, step) if captured else step


def make_tail(torch, params, adamw, how):
    """A step with the kernels of GradScaler, clip_grad_norm_, AdamW, AveragedModel and zero_grad(set_to_none=False)."""
    grads = [param.grad for param in params]
    averages = [param.detach().clone() for param in params]
    scale, found = torch.tensor(65536.0, device="cuda"), torch.zeros((), device="cuda")
    tracker = torch.zeros((), dtype=torch.int32, device="cuda")
    if "fused" in how:
        adamw.grad_scale, adamw.found_inf = None, found

    def step():
        found.zero_()
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, scale.double().reciprocal().float())
        torch.nn.utils.clip_grad_norm_(params, 1.0, foreach=True)
        # The foreach form has no way to skip a step on the device: GradScaler waits for the host.
        if "fused" in how or not found.item():
            adamw.step()
            torch._foreach_lerp_(averages, [param.detach() for param in params], 1e-3)
        torch._foreach_zero_(grads)
        torch._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 2000)

    return step


def element_type(torch, name):
    """The type of the name; None if torch's optimizers have no such combination, as for "bf16/f32"."""
    return {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}.get(name)


def measure_torch(rows, shapes, zeros=False):
    """Adds torch's times in microseconds to `rows`, or the error of a form that failed."""
    import torch

    made, params = None, []
    for row in rows:
        model, name = row["model"], row.get("dtype", "f32")
        dtype = element_type(torch, name)
        if dtype is None:
            continue
        if (model, name) != made:
            params.clear()
            gc.collect()
            torch.cuda.empty_cache()
            made = model, name
            # As in heddle's benchmark: small gradients vanish in second moments of f16.
            deviation = 0 if zeros else 1 if name == "f16" else 1e-3
            for shape in shapes[model] if model in shapes else shapes_of(model):
                param = (torch.randn(shape, device="cuda", dtype=dtype) * 0.02).requires_grad_(True)
                param.grad = torch.randn_like(param) * deviation
                params.append(param)
        for form in forms_of(row["optimizer"]):
            try:
                row[form + "_us"] = device_time(torch, make_step(torch, row["optimizer"], form, params))
            except Exception as error:  # noqa: BLE001, continue with the other forms
                row[form + "_error"] = f"{type(error).__name__}: {error}"[:200]
            gc.collect()
            torch.cuda.empty_cache()
        print(f"{row['optimizer']} on {model} in {name}: " + ", ".join(
            f"{form[6:]} {row[form + '_us']:.1f} us" if form + "_us" in row else f"{form[6:]} failed"
            for form in forms_of(row["optimizer"])),
            file=sys.stderr, flush=True)
    return {"torch": torch.__version__, "torch_cuda": torch.version.cuda}


# --- heddle -----------------------------------------------------------------------------------------------------------


# --- tables -----------------------------------------------------------------------------------------------------------

TITLES = {
    "adamw": "AdamW, float32",
    "sgd": "SGD with momentum, float32",
    "clip_adamw": "clip by global norm + AdamW, float32",
    "tail": "unscale + check + clip by global norm + AdamW + average + zero, float32",
}


def title_of(optimizer):
    return TITLES.get(optimizer) or f"{FOREACH_CLASSES.get(optimizer, optimizer)}, float32"


COLUMNS = (
    ("heddle", "heddle_us"),
    ("heddle, lr set every step", "heddle_set_lr_us"),
    ("by hand", "handwritten_us"),
    ("multi-tensor-apply by hand", "multi_tensor_apply_us"),
    ("torch fused in a graph", "torch_fused_graph_us"),
    ("torch fused", "torch_fused_us"),
    ("torch foreach", "torch_foreach_us"),
    ("torch foreach in a graph", "torch_foreach_graph_us"),
)


def parameters(count):
    return f"{count / 1e6:.1f} M" if count < 1e9 else f"{count / 1e9:.2f} G"


def tables(report):
    """Returns the report as Markdown: a table per optimizer, with times in microseconds and ratios to the floor."""
    lines = [conditions_line(report["conditions"]), ""]
    found = {row["optimizer"] for row in report["rows"]}
    for optimizer in [*filter(found.__contains__, TITLES), *sorted(found - set(TITLES))]:
        title = title_of(optimizer)
        rows = [row for row in report["rows"] if row["optimizer"] == optimizer]
        columns = [column for column in COLUMNS if any(column[1] in row for row in rows)]
        lines += [
            f"**{title}** ({rows[0]['bytes_per_parameter']} bytes per parameter), microseconds per step (times the floor)",
            "",
            "| model (tensors, parameters) | floor | " + " | ".join(title for title, _ in columns) + " | heddle / by hand |",
            "|---|" + "---|" * (len(columns) + 2),
        ]
        for row in rows:
            floor = row["floor_us"]
            cells = [f"{row[key]:.1f} ({row[key] / floor:.3f}x)" if key in row else "" for _, key in columns]
            lines.append(
                f"| {row['model']} ({row['tensors']}, {parameters(row['parameters'])}) | {floor:.1f} | "
                + " | ".join(cells) + (f" | {row['heddle_us'] / row['handwritten_us']:.3f} |"
                                       if "handwritten_us" in row else " |  |"))
        lines.append("")
    lines += ["| program | compiled cold | warm |", "|---|---|---|"]
    lines += [f"| `{time['program']}` | {time['cold_ms']:.0f} ms | {time['warm_ms']:.1f} ms |" for time in report["compile"]]
    host = max(row["heddle_host_us"] for row in report["rows"])
    rises = report["rises_when_changing"]
    lines += [
        "",
        f"Host time of one replay: at most {host:.1f} us. Compilations / graph instantiations caused by a change of "
        + ", ".join(f"{change}: {rises[change]['compilations']} / {rises[change]['graph_instantiations']}"
                    for change in sorted(rises)) + ".",
    ]
    return "\n".join(lines) + "\n"


def type_table(report):
    """Returns the report as one Markdown table of all element types, with times in microseconds."""
    rows = report["rows"]
    columns = [column for column in COLUMNS if any(column[1] in row for row in rows)]
    zeros = ", zeros" if report["conditions"].get("gradients") == "zero" else ""
    lines = [
        conditions_line(report["conditions"]), "", "Microseconds per step (times the floor)", "",
        "| program | model (tensors, parameters) | types | bytes per parameter | floor | "
        + " | ".join(title for title, _ in columns) + " |",
        "|---|---|---|" + "---|" * (len(columns) + 2),
    ]
    for row in rows:
        floor = row["floor_us"]
        cells = [f"{row[key]:.1f} ({row[key] / floor:.3f}x)" if key in row else "" for _, key in columns]
        lines.append(
            f"| {title_of(row['optimizer']).removesuffix(', float32')} "
            f"| {row['model']} ({row['tensors']}, {parameters(row['parameters'])}) | {row['dtype']}{zeros} "
            f"| {row['bytes_per_parameter']} | {floor:.1f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write_markdown(path, text, begin=BEGIN, end=END):
    """Replaces the text between the marks, or the whole file if it has no marks."""
    path = pathlib.Path(path)
    before = path.read_text() if path.exists() else ""
    if begin in before and end in before:
        head, rest = before.split(begin, 1)
        tail = rest.split(end, 1)[1]
        text = f"{head}{begin}\n{text}{end}{tail}"
    path.write_text(text)


def conditions_line(where):
    """Returns GPU, versions and copy bandwidth as Markdown."""
    gpu = where["gpu"]
    return (f"{gpu if gpu.startswith('NVIDIA') else 'NVIDIA ' + gpu}, driver {where.get('driver') or 'unknown'}, "
            f"CUDA {where['cuda']}, NVRTC {where['nvrtc']}"
            + (f", torch {where['torch']}" if "torch" in where else "")
            + f"; copy bandwidth {where['copy_bytes_per_second'] / 1e12:.3f} TB/s, measured in the same run.")


def require_torch(script):
    try:
        import torch
    except ImportError:
        sys.exit(f"{script}: torch is not installed; install it, or pass --no-torch to measure heddle only")
    if not torch.cuda.is_available():
        sys.exit(f"{script}: torch finds no GPU; pass --no-torch to measure heddle only")
    return torch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=os.environ.get("HEDDLE", str(ROOT / "build" / "bin" / "heddle")))
    parser.add_argument("--shapes")
    parser.add_argument("--models")
    parser.add_argument("--sizes")
    parser.add_argument("--optimizers")
    parser.add_argument("--dtype")
    parser.add_argument("--zeros", action="store_true")
    parser.add_argument("--tail", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--heddle-json")
    parser.add_argument("--no-torch", action="store_true")
    arguments = parser.parse_args()
    if arguments.tail and arguments.optimizers:
        parser.error("--tail and --optimizers cannot be combined")

    if not arguments.no_torch:
        torch = require_torch("peers_torch.py")
    # heddle runs first, because torch does not free all memory, and large models need it.
    if arguments.heddle_json:
        with open(arguments.heddle_json) as file:
            report = json.load(file)
    else:
        words = ["tail" if arguments.tail else "optimizers"] + (["--zeros"] if arguments.zeros else [])
        report = measure_heddle(arguments, words, ("shapes", "models", "sizes", "optimizers", "dtype"))
    if not arguments.no_torch:
        with open(arguments.shapes or ROOT / "examples" / "shapes" / "models.json") as file:
            shapes = json.load(file)
        # Measure all optimizers of a model in sequence.
        report["rows"].sort(key=lambda row: row["parameters"])
        zeros = report["conditions"].get("gradients") == "zero"
        report["conditions"].update(measure_torch(report["rows"], shapes, zeros))
    for row in report["rows"]:
        for form in (*FORMS, "torch_foreach_graph"):
            if form + "_us" in row:
                row[form + "_ratio"] = row[form + "_us"] / row["floor_us"]
                assert math.isfinite(row[form + "_ratio"])
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
    by_type = arguments.dtype or arguments.zeros
    text = type_table(report) if by_type else tables(report)
    if arguments.markdown:
        write_markdown(arguments.markdown, text, *((TYPES_BEGIN, TYPES_END) if by_type else (BEGIN, END)))
    if not arguments.json and not arguments.markdown:
        print(text)


if __name__ == "__main__":
    main()
