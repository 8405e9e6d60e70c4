"""The tables and plots that the scripts in test/bench make from a report of `heddle bench`."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"


sys.path.insert(0, str(BENCH))


def load(name):
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


peers_torch, peers_sinkhorn, plot = load("peers_torch"), load("peers_sinkhorn_torch"), load("plot")
stopwatch, sizes = load("stopwatch"), load("sizes")


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


def test_markdown_replaces_only_the_marked_part(tmp_path, report):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{peers_torch.BEGIN}\nold\n{peers_torch.END}\nafter\n")
    peers_torch.write_markdown(page, "new\n")
    assert page.read_text() == f"before\n{peers_torch.BEGIN}\nnew\n{peers_torch.END}\nafter\n"
    peers_torch.write_markdown(tmp_path / "other.md", "whole\n")
    assert (tmp_path / "other.md").read_text() == "whole\n"


def test_types_are_rows_of_one_table(tmp_path, report):
    for row, (dtype, size) in zip(report["rows"], (("bf16", 14), ("bf16/f32", 22), ("f64", 40))):
        row.update(dtype=dtype, bytes_per_parameter=size)
    text = peers_torch.type_table(report)
    assert "| AdamW | small (3, 20.0 M) | bf16 | 14 | 20.0 | 22.0 (1.100x) |" in text
    assert "| AdamW | large (3, 2.00 G) | bf16/f32 | 22 |" in text and "| SGD with momentum | small" in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    report["conditions"]["gradients"] = "zero"
    assert "| bf16, zeros |" in peers_torch.type_table(report)

    known, page = tmp_path / "heddle.json", tmp_path / "page.md"
    known.write_text(json.dumps(report))
    page.write_text(f"{peers_torch.BEGIN}\nkept\n{peers_torch.END}\n{peers_torch.TYPES_BEGIN}\nstale\n{peers_torch.TYPES_END}\n")
    command = [sys.executable, BENCH / "peers_torch.py", "--no-torch", "--heddle-json", known, "--markdown", page, "--zeros"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "kept" in page.read_text() and "stale" not in page.read_text() and "bf16/f32, zeros" in page.read_text()


def test_a_model_without_a_handwritten_kernel_has_a_gap(report):
    del report["rows"][2]["handwritten_us"]
    for text in (peers_torch.tables(report), peers_torch.type_table({**report, "rows": [
            {**row, "dtype": "f32"} for row in report["rows"]]})):
        for block in text.split("\n\n"):
            if block.startswith("| "):
                assert len({line.count("|") for line in block.splitlines()}) == 1


def test_an_optimizer_that_is_not_measured_by_default(report):
    row = {**report["rows"][2], "optimizer": "nadam", "torch_foreach_graph_us": 45.0}
    del row["handwritten_us"]
    text = peers_torch.tables({**report, "rows": [*report["rows"], row, {**row, "optimizer": "lamb"}]})
    assert text.index("**SGD with momentum") < text.index("**NAdam, float32**") > text.index("**lamb, float32**")
    assert "torch foreach in a graph" in text and "45.0 (3.000x)" in text
    assert "| NAdam | small" in peers_torch.type_table({**report, "rows": [{**row, "dtype": "f32"}]})


def test_forms_of_torch():
    torch = pytest.importorskip("torch")
    assert peers_torch.forms_of("adamw") == peers_torch.FORMS and peers_torch.forms_of("lamb") == ()
    for optimizer in peers_torch.FOREACH_CLASSES:
        assert "torch_foreach" in peers_torch.forms_of(optimizer)
        params = [torch.ones(3, requires_grad=True) for _ in range(2)]
        for param in params:
            param.grad = torch.ones(3)
        peers_torch.make_step(torch, optimizer, "torch_foreach", params)()
        assert (params[0] < 1).all()


def test_torch_solves_a_batch_as_it_solves_each_problem():
    torch = pytest.importorskip("torch")
    kernel = torch.rand(3, 5, 4, dtype=torch.float64) / -peers_sinkhorn.EPS
    log_a, log_b = torch.full((3, 5), 0.2).log().double(), torch.full((3, 4), 0.25).log().double()
    iterate = peers_sinkhorn.iteration(torch)
    u, v = iterate(kernel, log_a, log_b, torch.zeros_like(log_b))
    for k in range(3):
        for batch, one in zip((u, v), iterate(kernel[k], log_a[k], log_b[k], torch.zeros_like(log_b[k]))):
            assert torch.allclose(batch[k], one, rtol=1e-14)
    assert torch.allclose((u[..., None] + kernel + v[:, None, :]).exp().sum(-2), log_b.exp())


def test_sizes():
    assert sizes.shapes_of("4096x3") == [[4096, 3]]
    assert sizes.shapes_of("2x5x7+1x3") == [[5, 7], [5, 7], [1, 3]]
    uneven = sizes.shapes_of("256x17..401x2..3")
    assert len(uneven) == 256 and {columns for _, columns in uneven} == {2, 3}
    assert min(rows for rows, _ in uneven) < 40 and max(rows for rows, _ in uneven) in range(380, 402)


@pytest.fixture
def sinkhorn_report():
    def row(problem, floor, **known):
        rows, columns = problem.split()[0].split("x")
        return {"problem": problem, "rows": int(rows), "columns": int(columns), "dtype": problem.split()[1],
                "fits": "memory", "floor_ms": floor, "failures": [], **known}

    measured = {"heddle_ms": 3.3, "heddle_loop_ms": 3.24, "handwritten_ms": 3.2, "heddle_over_handwritten": 3.3 / 3.2,
                "heddle_loop_over_handwritten": 3.24 / 3.2, "heddle_iterations_per_second": 1e5 / 3.3,
                "heddle_bytes_per_element_and_iteration": 4.4, "stop_iterations": 9, "stop_ms": 0.3, "stop_converged": True,
                "plan_ms": 0.24, "plan_ratio": 1.07, "compile_program_ms": 900.0, "compile_class_ms": 500.0,
                "difference_from_handwritten": 2e-6, "same_bits_every_replay": True, "panels": "512 threads",
                "handwritten_class": "512x12"}
    return {"conditions": {"gpu": "H200", "cuda": "13.0", "nvrtc": "13.0", "copy_bytes_per_second": 4.2e12,
                           "iterations": 100, "stop_tolerance": 1e-4},
            "rows": [row("5001x6001 f32", 3.0, torch_compile_ms=38.5, **measured),
                     row("5001x6001 f64", 6.0, failures=["timing: too hot"])]}


def test_sinkhorn_tables_leave_gaps_and_give_reasons(sinkhorn_report):
    text = peers_sinkhorn.tables(sinkhorn_report)
    assert "| 5001x6001 f32 | memory | 3.000 | 3.300 (1.10x) | 3.240 (1.08x) | 3.200 (1.07x) | 38.500 (12.83x) |" in text
    assert "| 5001x6001 f64 | memory | 6.000 |  |  |  |  |  |  |" in text
    assert "torch eager" not in text and "TorchGW" not in text
    assert "after 9, 0.300 ms |" in text and "0.240 ms (1.07x)" in text and "| 500 ms | 2.0e-06 | yes |" in text
    assert "* 5001x6001 f64: timing: too hot" in text
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("| ")]
    assert len(tables) == 3
    for table in tables:
        assert len({line.count("|") for line in table}) == 1


def test_sinkhorn_problems_are_one_panel(sinkhorn_report):
    (title, problems, lines), = plot.subplots_of({"benchmark": "sinkhorn", **sinkhorn_report})
    assert title == "Sinkhorn, 100 iterations" and problems == ["5001x6001 f32", "5001x6001 f64"]
    assert [label for label, *_ in lines] == ["heddle", "by hand", "torch.compile"]
    assert lines[0][3] == [pytest.approx(1.1), None]


def test_sinkhorn_peers_need_known_problems(tmp_path, sinkhorn_report):
    known = tmp_path / "heddle.json"
    known.write_text(json.dumps(sinkhorn_report))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{peers_sinkhorn.BEGIN}\nstale\n{peers_sinkhorn.END}\n{peers_torch.BEGIN}\nkept\n{peers_torch.END}\n")
    command = [sys.executable, BENCH / "peers_sinkhorn_torch.py", "--no-torch", "--heddle-json", known, "--markdown", page]
    done = subprocess.run([*command, "--problems", "5001x6001 f16"], capture_output=True, text=True)
    assert done.returncode == 1 and "there is no problem '5001x6001 f16'" in done.stderr and "stale" in page.read_text()
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "stale" not in page.read_text() and "kept" in page.read_text() and "5001x6001 f64" in page.read_text()


def test_panels_are_ordered_by_size_and_leave_gaps(report):
    panels = plot.subplots_of(report)
    assert [title for title, _, _ in panels] == ["AdamW", "SGD with momentum"]
    _, models, lines = panels[0]
    assert models[0].startswith("small") and models[1].startswith("large")
    torch = next(line for line in lines if line[0] == "torch fused")
    assert torch[3] == [4.0, None]


def test_every_type_program_and_list_has_a_place(report):
    for row, dtype in zip(report["rows"], ("bf16", "bf16", "f32")):
        row["dtype"] = dtype
    assert [title for title, _, _ in plot.subplots_of(report)] == ["AdamW, bf16", "SGD with momentum"]
    rows = [{"program": program, "input": "40x3", "dtype": "f32", "floor_us": 2.0, "heddle_us": 3.0, "torch_graph_us": 5.0}
            for program in ("row_sums", "adafactor")]
    panels = plot.subplots_of({"benchmark": "rows", "rows": rows})
    assert [panel[:2] for panel in panels] == [("row_sums", ["40x3"]), ("adafactor", ["40x3"])]
    assert [(label, ratios) for label, _, _, ratios in panels[0][2]] == [("heddle", [1.5]), ("torch in a graph", [2.5])]
    lists = [{"list": "3x4x5", "dtype": "f64", "floor_ms": 2.0, "heddle_ms": 3.0}]
    (_, names, lines), = plot.subplots_of({"benchmark": "sinkhorn lists", "conditions": {"iterations": 100}, "rows": lists})
    assert names == ["3x4x5 f64"] and lines[0][3] == [1.5]


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


def test_the_pieces_of_a_step(tmp_path):
    """python_step.py works without a GPU, too. Its pieces are those of heddle.optim today, and take most of a step."""
    pytest.importorskip("torch")
    script, out = BENCH / "python_step.py", tmp_path / "steps.json"
    command = [sys.executable, script, "--cpu", "--counts", "3,40", "--repeat", "12", "--json", out]
    result = subprocess.run(command, text=True, capture_output=True)
    assert result.returncode == 0, result.stderr
    assert "tensors  gradients" in result.stdout and "     40  new " in result.stdout
    report = json.loads(out.read_text())["pieces"]
    for rows in report.values():
        assert rows["same"]["bind"] == 0 < rows["new"]["bind"]
        for row in rows.values():
            pieces = sum(row[piece] for piece in ("groups", "read", "state", "bind", "replay"))
            assert 0 < row["best"] <= row["step"] and row["pieces"] / 4 < pieces < 4 * row["pieces"]


def test_python_step_writes_its_tables_into_a_page(tmp_path):
    times = {"wall_same": 40.0, "wall_new": 50.0, "host_same": 20.0, "host_new": 30.0, "replay": 39.0, "assign": 6.0,
             "tensors": 272}
    pieces = dict.fromkeys(("step", "best", "groups", "read", "state", "bind", "replay"), 1.0)
    report = {"gpu": "a GPU", "cuda": "13.0", "torch": "2.11", "models": {"ghostnet_100": {"heddle": times}},
              "pieces": {"580": {"same": pieces}},
              "first": {"cold": {"first_step_ms": 400, "compilations": 1, "import_ms": 20}}}
    page, source = tmp_path / "page.md", tmp_path / "report.json"
    page.write_text("before\n<!-- python steps -->\nold\n<!-- end of python steps -->\nafter\n")
    source.write_text(json.dumps(report))
    command = [sys.executable, BENCH / "python_step.py", "--from-json", source]
    assert "--from-json needs --markdown" in subprocess.run(command, text=True, capture_output=True).stderr
    subprocess.run([*command, "--markdown", page], check=True)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| ghostnet_100 (272) | 39.0 | 40.0 | 50.0 | 6.0 | 20.0 | 30.0 |" in text
    assert "| empty cache | 400 | 1 | 20 |" in text


def test_a_piece_does_not_count_the_pieces_in_it():
    import types

    clock = iter(range(0, 10**9, 1000))
    functions = types.SimpleNamespace(inner=lambda: 1, outer=lambda: functions.inner() + functions.inner())
    pieces = stopwatch.Pieces()
    pieces.watch("inner", functions, "inner")
    pieces.watch("outer", functions, "outer")
    before, stopwatch.time = stopwatch.time, types.SimpleNamespace(perf_counter_ns=lambda: next(clock))
    try:
        step = pieces.step(lambda: functions.outer())
        step()
        step()
    finally:
        stopwatch.time = before
    # The clock advances by 1 us at each look: 2 in each inner call, and 5 in the outer one.
    assert pieces.times == {"inner": [2.0, 2.0], "outer": [3.0, 3.0]}
