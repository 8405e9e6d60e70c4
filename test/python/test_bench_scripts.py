"""The tables and plots that test/bench makes out of a report of `heddle bench optimizers`."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"


def load(name):
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


peers_torch, plot = load("peers_torch"), load("plot")


@pytest.fixture
def report():
    def row(optimizer, model, floor):
        return {"optimizer": optimizer, "model": model, "tensors": 3, "parameters": int(floor * 1e6),
                "bytes_per_parameter": 28, "floor_us": floor, "heddle_us": floor * 1.1, "heddle_set_lr_us": floor * 1.2,
                "handwritten_us": floor * 1.05, "heddle_host_us": 1.5}

    rows = [row("adamw", "small", 20.0), row("adamw", "large", 2000.0), row("sgd", "small", 15.0)]
    rows[0]["torch_fused_us"] = 80.0
    return {"conditions": {"gpu": "H200", "driver": "580", "cuda": "13.0", "nvrtc": "13.0",
                           "copy_bytes_per_second": 4.2e12},
            "rows": rows, "compile": [{"program": "adamw", "cold_ms": 300.0, "warm_ms": 2.0}],
            "rises_when_changing": {"model": {"compilations": 0, "graph_instantiations": 0}}}


def test_tables_hold_every_row_and_only_known_columns(report):
    text = peers_torch.tables(report)
    assert "| small (3, 20.0 M) | 20.0 | 22.0 (1.100x) |" in text
    assert "| large (3, 2.00 G) |" in text
    assert "80.0 (4.000x)" in text
    assert "torch foreach" not in text and "multi-tensor-apply" not in text
    assert "300 ms" in text and "model: 0 / 0" in text
    for line in text.splitlines():
        if line.startswith("| small"):
            header = [other for other in text.splitlines() if other.startswith("| model")]
            assert line.count("|") in {other.count("|") for other in header}


def test_markdown_replaces_only_what_is_marked(tmp_path, report):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{peers_torch.BEGIN}\nold\n{peers_torch.END}\nafter\n")
    peers_torch.write_markdown(page, "new\n")
    assert page.read_text() == f"before\n{peers_torch.BEGIN}\nnew\n{peers_torch.END}\nafter\n"
    peers_torch.write_markdown(tmp_path / "other.md", "whole\n")
    assert (tmp_path / "other.md").read_text() == "whole\n"


def test_panels_are_ordered_by_size_and_leave_gaps(report):
    panels = plot.panels(report)
    assert [title for title, _, _ in panels] == ["AdamW", "SGD with momentum"]
    _, models, lines = panels[0]
    assert models[0].startswith("small") and models[1].startswith("large")
    torch = next(line for line in lines if line[0] == "torch fused")
    assert torch[3] == [4.0, None]


def test_drawing(tmp_path, report):
    pytest.importorskip("matplotlib")
    plot.draw(report, str(tmp_path / "plot.svg"))
    first = (tmp_path / "plot.svg").read_bytes()
    plot.draw(report, str(tmp_path / "plot.svg"))
    assert first.startswith(b"<?xml") and first == (tmp_path / "plot.svg").read_bytes()


def test_usage_errors():
    for command in ([BENCH / "plot.py"], [BENCH / "plot.py", "--help"]):
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
        assert done.returncode != 0 and "BENCH.json" in done.stderr
