#!/usr/bin/env python3
"""plot.py BENCH.json OUT.svg|OUT.png: plots time / floor by model, one subplot per optimizer, by Sinkhorn problem, or
by matrix, one subplot per program.

BENCH.json is the output of `heddle bench --json` or of one of the peers' scripts in this folder. Needs matplotlib
(`tools/dev setup --plots`).
"""

import json
import sys

SERIES = (  # key of the time, label, colour, marker
    ("heddle_us", "heddle", "#0b6e4f", "o"),
    ("handwritten_us", "by hand", "#444444", "x"),
    ("multi_tensor_apply_us", "multi-tensor-apply by hand", "#999999", "+"),
    ("torch_fused_graph_us", "torch fused in a graph", "#c8553d", "s"),
    ("torch_fused_us", "torch fused", "#e09f3e", "^"),
    ("torch_foreach_us", "torch foreach", "#7d84b2", "v"),
    ("torch_graph_us", "torch in a graph", "#c8553d", "s"),
    ("torch_us", "torch", "#e09f3e", "^"),
)
SOLVES = (
    ("heddle_ms", "heddle", "#0b6e4f", "o"),
    ("handwritten_ms", "by hand", "#444444", "x"),
    ("torch_compile_graph_ms", "torch.compile in a graph", "#c8553d", "s"),
    ("torch_compile_ms", "torch.compile", "#e09f3e", "^"),
    ("torch_eager_ms", "torch eager", "#7d84b2", "v"),
    ("torchgw_ms", "TorchGW", "#8e6c8a", "D"),
    ("ott_jax_ms", "OTT-JAX", "#5b8e7d", "P"),
)
TITLES = {"adamw": "AdamW", "sgd": "SGD with momentum", "clip_adamw": "clip + AdamW"}


def lines_of(rows, series, floor):
    """Returns [(label, colour, marker, ratios)]; a ratio without a time is None."""
    return [(label, colour, marker, [row[key] / row[floor] if key in row else None for row in rows])
            for key, label, colour, marker in series if any(key in row for row in rows)]


def subplots_of(report):
    """Returns [(title, models or problems, lines)], one for each optimizer or program and element type."""
    rows = report["rows"]
    if report.get("benchmark", "").startswith("sinkhorn"):
        names = [row["problem"] if "problem" in row else f"{row['list']} {row['dtype']}" for row in rows]
        title = f"Sinkhorn, {report['conditions']['iterations']} iterations"
        return [(title, names, lines_of(rows, SOLVES, "floor_ms"))]
    groups = {}
    for row in rows:
        title = row["program"] if "input" in row else TITLES[row["optimizer"]]
        dtype = row.get("dtype", "f32")
        groups.setdefault(title if dtype == "f32" else f"{title}, {dtype}", []).append(row)
    result = []
    for title, rows in groups.items():
        if "input" in rows[0]:
            names = [row["input"] for row in rows]
        else:
            rows = sorted(rows, key=lambda row: row["parameters"])
            names = [f"{row['model']}\n{row['parameters'] / 1e6:.3g} M" for row in rows]
        result.append((title, names, lines_of(rows, SERIES, "floor_us")))
    return result


def draw(report, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullFormatter

    matplotlib.rcParams.update({"svg.hashsalt": "heddle", "svg.fonttype": "none"})  # reproducible files
    drawn = subplots_of(report)
    figure, axes = pyplot.subplots(1, len(drawn), figsize=(max(5.2 * len(drawn), 8), 4.4), sharey=True, squeeze=False)
    for axis, (title, models, lines) in zip(axes[0], drawn):
        for label, colour, marker, ratios in lines:
            axis.plot(range(len(models)), [ratio if ratio else float("nan") for ratio in ratios], label=label,
                      color=colour, marker=marker, linewidth=2 if label == "heddle" else 1)
        axis.axhline(1, color="black", linewidth=0.8, linestyle=":")
        axis.set_yscale("log", base=2)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_xticks(range(len(models)), models, rotation=45, ha="right", fontsize=8)
        axis.set_title(title)
        axis.grid(True, axis="y", alpha=0.3)
    axes[0][0].set_ylabel("time / floor")
    where = report["conditions"]
    figure.suptitle(f"{where['gpu']}, copy {where['copy_bytes_per_second'] / 1e12:.2f} TB/s", fontsize=9)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=6, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        report = json.load(file)
    try:
        draw(report, sys.argv[2])
    except ImportError as error:
        sys.exit(f"plot.py: {error}; 'tools/dev setup --plots' installs it")


if __name__ == "__main__":
    main()
