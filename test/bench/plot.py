#!/usr/bin/env python3
"""plot.py BENCH.json OUT.svg|OUT.png: plots time / floor by model, one subplot per optimizer, or by Sinkhorn problem.

BENCH.json is the output of `heddle bench --json`, peers_torch.py or peers_sinkhorn_torch.py. Needs matplotlib
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


def subplots_of(report):
    """Returns [(title, models or problems, [(label, colour, marker, ratios)])]; a ratio without a time is None."""
    if report.get("benchmark") == "sinkhorn":
        rows = report["rows"]
        lines = [(label, colour, marker, [row[key] / row["floor_ms"] if key in row else None for row in rows])
                 for key, label, colour, marker in SOLVES if any(key in row for row in rows)]
        return [(f"Sinkhorn, {report['conditions']['iterations']} iterations", [row["problem"] for row in rows], lines)]
    result = []
    for optimizer, title in TITLES.items():
        rows = sorted((row for row in report["rows"] if row["optimizer"] == optimizer), key=lambda row: row["parameters"])
        if not rows:
            continue
        models = [f"{row['model']}\n{row['parameters'] / 1e6:.3g} M" for row in rows]
        lines = [(label, colour, marker, [row[key] / row["floor_us"] if key in row else None for row in rows])
                 for key, label, colour, marker in SERIES if any(key in row for row in rows)]
        result.append((title, models, lines))
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
