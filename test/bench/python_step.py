#!/usr/bin/env python3
"""Measures `step()` of heddle.optim.AdamW in Python against torch's, on one GPU, in one run.

    python_step.py [--models A,B] [--shapes FILE] [--repeat N] [--json FILE] [--no-torch] [--no-first]

For each model, with gradients that are the same tensors in every step, and with other tensors in every step:

    host     microseconds until step() returns: median of N steps, of which none waits for the device
    wall     microseconds per step of 20 steps, from the first call until the device has finished; median of 9 samples

The rows are heddle, torch fused, torch foreach, and torch fused in a captured graph (whose gradients cannot be other
tensors). `replay` is the device time of one replay of heddle's graph, without Python: the time that the wall time is
compared with. `first` has the first step of a fresh process, with an empty and with a filled cache of kernels, and the
time of `import heddle`. The heading has the GPU and the versions.
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
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS, SAMPLES = 20, 9
MODELS = "dcgan,resnet50,vit_base_patch16_224,ghostnet_100,bert-large,xglm-564m,gpt2-xl"

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


def host_time(torch, step, before, repeat):
    times = []
    for index in range(repeat):
        before(index)
        if index % 10 == 0:  # the queue of the device must not become full
            torch.cuda.synchronize()
        start = time.perf_counter_ns()
        step()
        times.append((time.perf_counter_ns() - start) / 1e3)
    torch.cuda.synchronize()
    return statistics.median(times)


def wall_time(torch, step, before):
    times = []
    for sample in range(SAMPLES):
        torch.cuda.synchronize()
        spent = 0.0
        start = time.perf_counter_ns()
        for index in range(STEPS):
            assigned = time.perf_counter_ns()
            before(index)
            spent += time.perf_counter_ns() - assigned
            step()
        torch.cuda.synchronize()
        times.append((time.perf_counter_ns() - start - spent) / 1e3 / STEPS)
    return statistics.median(times)


def as_graph(torch, step):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(torch, shapes, options):
    import heddle.optim

    generator = torch.Generator("cuda").manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(shape, device="cuda", generator=generator)) for shape in shapes]
    gradients = [
        [torch.randn(shape, device="cuda", generator=generator) for shape in shapes] for _ in range(3)
    ]

    def same(index):
        pass

    def other(index):
        for param, gradient in zip(params, gradients[index % 3]):
            param.grad = gradient

    other(0)
    rows = {}
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
        row = {"host_same": host_time(torch, step, same, options.repeat), "wall_same": wall_time(torch, step, same)}
        if name != "torch_fused_graph":
            for index in range(3):
                other(index)
                step()
            row["host_new"] = host_time(torch, step, other, options.repeat)
            row["wall_new"] = wall_time(torch, step, other)
        if name == "heddle":
            row["replay"] = optimizer._parts[False][0].graph.measure() * 1e6
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--shapes", default=str(ROOT / "examples/shapes/models.json"))
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--json")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--no-first", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "python"))
    import torch

    if not torch.cuda.is_available():
        sys.exit("python_step.py: error: no GPU found")
    import heddle
    from heddle import _fast

    models = json.loads(pathlib.Path(options.shapes).read_text())
    report = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
              "heddle": heddle.__version__, "native_reader": _fast.NATIVE, "models": {}}
    print(f"{report['gpu']}, torch {report['torch']} (CUDA {report['cuda']}), heddle {report['heddle']}, "
          f"native reader: {report['native_reader']}\n")
    print(f"{'model':22} {'tensors':>7}  {'':18} {'host same':>10} {'host new':>10} {'wall same':>10} {'wall new':>10} "
          f"{'replay':>8}  [us]")
    for model in options.models.split(","):
        shapes = models[model]
        rows = measure(torch, shapes, options)
        report["models"][model] = rows
        for name, row in rows.items():
            cells = " ".join(f"{row[key]:10.1f}" if key in row else f"{'-':>10}"
                             for key in ("host_same", "host_new", "wall_same", "wall_new"))
            replay = f"{row['replay']:8.1f}" if "replay" in row else f"{'-':>8}"
            print(f"{model:22} {len(shapes):7}  {name:18} {cells} {replay}", flush=True)
    if not options.no_first:
        report["first"] = first_steps(models["resnet50"])
        for name, row in report["first"].items():
            print(f"first step, {name}: {row['first_step_ms']:.1f} ms, {row['compilations']} compilations, "
                  f"import heddle: {row['import_ms']:.1f} ms")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
