"""The plot of the README, which test/bench/plot_overview.py draws from the tables of docs/benchmarks.md."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("plot_overview", ROOT / "test" / "bench" / "plot_overview.py")
overview = importlib.util.module_from_spec(spec)
spec.loader.exec_module(overview)

PAGE = """
**AdamW, float32** (28 bytes per parameter)

| model (tensors, parameters) | heddle, lr set every step | torch fused in a graph |
|---|---|---|
| small_net (3, 1.5 M) | 11.0 (1.100x) | 20.0 (2.000x) |

**100 iterations**, milliseconds

| problem | fits | floor | heddle | torch.compile in a graph | TorchGW | OTT-JAX |
|---|---|---|---|---|---|---|
| 5x6 f32 | L2 | 0.1 | 0.2 (2.00x) | 0.3 (3.00x) | 0.4 (4.00x) | 0.5 (5.00x) |
| 50x60 f32 | memory | 1.0 | 1.2 (1.20x) | 3.0 (3.00x) | 4.0 (4.00x) | 5.0 (5.00x) |
| 50x60 f64 | memory | 2.0 | 2.2 (1.10x) | 6.0 (3.00x) | 8.0 (4.00x) | |
"""


def test_reads_the_ratios_of_steps():
    assert overview.steps_of(PAGE) == (
        ["small\nnet\n1.5 M"], {"heddle, lr set every step": [1.1], "torch fused in a graph": [2.0]})


def test_reads_the_times_of_float32_solves():
    problems, times, floors = overview.solves_of(PAGE)
    assert problems == ["5 x\n6", "50 x\n60"] and floors == [None, 1.0]
    assert times["heddle"] == [0.2, 1.2] and times["OTT-JAX"] == [0.5, 5.0] and times["TorchGW"] == [0.4, 4.0]


def test_names_a_table_that_is_missing():
    with pytest.raises(ValueError, match="AdamW"):
        overview.steps_of("no table here")


def test_reads_the_page_of_this_tree():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    models, ratios = overview.steps_of(page)
    assert len(models) == len(ratios["torch fused in a graph"]) > 0
    assert len(overview.solves_of(page)[0]) > 0
