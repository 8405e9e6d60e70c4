#!/usr/bin/env python3
"""plot_overview.py PAGE.md OUT.svg|OUT.png: draws the plot of the README from the tables of docs/benchmarks.md.

Left: an AdamW step, as time over the floor, in heddle and in torch (fused, in a CUDA graph). Right: a Sinkhorn solve in
milliseconds, in heddle, torch.compile in a CUDA graph, OTT-JAX and TorchGW, with the floor if the matrix fits no cache.
The numbers are read from the page, so the plot and the tables agree. Needs matplotlib (`tools/dev setup --plots`).
"""

import re
import sys

STEPS = (  # column of the table, label, colour
    ("heddle, lr set every step", "heddle", "#0b6e4f"),
    ("torch fused in a graph", "torch fused in a CUDA graph", "#c8553d"),
)
SOLVES = (
    ("heddle", "heddle", "#0b6e4f"),
    ("torch.compile in a graph", "torch.compile in a CUDA graph", "#c8553d"),
    ("OTT-JAX", "OTT-JAX", "#5b8e7d"),
    ("TorchGW", "TorchGW", "#8e6c8a"),
)


def table_after(page, title):
    """Returns the rows of the first table after the line that begins with `title`, as dictionaries by column."""
    lines = iter(page.splitlines())
    for line in lines:
        if line.startswith(title):
            break
    else:
        raise ValueError(f"expected a table '{title}', found none")
    rows = []
    for line in lines:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    if len(rows) < 3:
        raise ValueError(f"expected rows in the table '{title}', found none")
    return [dict(zip(rows[0], row)) for row in rows[2:]]


def time(cell):
    """Returns the time of a cell: 12.004 for '12.004 (1.07x)'."""
    return float(cell.split()[0])


def ratio(cell):
    """Returns the ratio of a cell: 1.07 for '12.004 (1.07x)'."""
    return float(re.search(r"\(([\d.]+)x\)", cell).group(1))


def steps_of(page):
    """Returns ([model and its parameters], {column: ratios to the floor})."""
    rows = table_after(page, "**AdamW")
    name = next(iter(rows[0]))
    models = [re.sub(r" \(.*, (.*)\)", r"\n\1", row[name]).replace("_", "\n", 1) for row in rows]
    return models, {column: [ratio(row[column]) for row in rows] for column, _, _ in STEPS}


def solves_of(page):
    """Returns ([problem], {column: milliseconds}, [floor or None]) of the float32 problems."""
    rows = [row for row in table_after(page, "**100 iterations**") if row["problem"].endswith("f32")]
    problems = [row["problem"].removesuffix(" f32").replace("x", " x\n") for row in rows]
    floors = [time(row["floor"]) if row["fits"] == "memory" else None for row in rows]
    return problems, {column: [time(row[column]) for row in rows] for column, _, _ in SOLVES}, floors


def bars(axis, names, series, values):
    width = 0.8 / len(series)
    for number, (column, label, colour) in enumerate(series):
        offset = (number - (len(series) - 1) / 2) * width
        axis.bar([k + offset for k in range(len(names))], values[column], width, label=label, color=colour)
    axis.set_xticks(range(len(names)), names, fontsize=7)
    axis.set_axisbelow(True)
    axis.grid(True, axis="y", alpha=0.3)


def draw(page, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullFormatter

    matplotlib.rcParams.update({"svg.hashsalt": "heddle", "svg.fonttype": "none"})  # reproducible files
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 4.2))

    models, ratios = steps_of(page)
    bars(left, models, STEPS, ratios)
    left.axhline(1, color="black", linewidth=1, linestyle="--", label="floor: bytes / copy bandwidth")
    left.set_title("One AdamW step, float32: time / floor", fontsize=10)
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    left.legend(fontsize=8, frameon=False)

    problems, times, floors = solves_of(page)
    bars(right, problems, SOLVES, times)
    for k, floor in enumerate(floors):
        if floor is not None:
            right.plot([k - 0.45, k + 0.45], [floor, floor], color="black", linewidth=1, linestyle="--",
                       label=None if any(floors[:k]) else "floor: one read of the matrix per iteration")
    right.set_title("100 Sinkhorn iterations, float32: milliseconds", fontsize=10)
    right.set_yscale("log")
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    right.yaxis.set_minor_formatter(NullFormatter())
    right.legend(fontsize=8, frameon=False)

    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    try:
        draw(page, sys.argv[2])
    except ImportError as error:
        sys.exit(f"plot_overview.py: {error}; 'tools/dev setup --plots' installs it")
    except (KeyError, ValueError) as error:
        sys.exit(f"plot_overview.py: {sys.argv[1]}: {error}")


if __name__ == "__main__":
    main()
