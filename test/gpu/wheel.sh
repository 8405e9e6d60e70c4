#!/usr/bin/env bash
# Checks the wheel of build/dist on a GPU machine: `test/gpu/wheel.sh [PYTHON]`, about a minute. The Python needs NumPy;
# with torch, the script also checks its tensors on the GPU and measures how long a step reads 580 parameters.
#
# Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -eu
python="${1:-python3}"
root="$(cd "$(dirname "$0")/../.." && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
"$python" -m zipfile -e "$root"/build/dist/heddle-*.whl "$folder"
export PYTHONPATH="$folder" HEDDLE_CACHE_DIR="$folder/cache"
unset HEDDLE_LIBRARY
cd "$folder"
"$python" -m heddle doctor
"$python" - <<'END'
import time, numpy, heddle
from heddle import _fast
print("heddle", heddle.__version__, "extension", _fast.NATIVE)
begin = time.perf_counter()
executable = heddle.compile("adamw")
print(f"cold compilation of adamw for {executable.arch}: {time.perf_counter() - begin:.3f} s")
try:
    import torch
except ImportError:
    raise SystemExit("no torch: done")
print("torch", torch.__version__)
param, grad = torch.tensor([1., 2., 3.], device="cuda"), torch.tensor([1., 0., -2.], device="cuda")
graph = heddle.compile("sgd:lr=0.5").graph()
graph.bind_list("param", [param]); graph.bind_list("grad", [grad])
graph.replay(torch.cuda.current_stream())
assert param.tolist() == [.5, 2, 4], param
params = [torch.nn.Parameter(torch.zeros(16, 16, device="cuda")) for _ in range(580)]
api = _fast.exchange_api(torch.Tensor)
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    assert _fast.stream(api, 0) == side.cuda_stream
expected, own, grads = _fast.layouts(params, api), bytearray(8 * 580), bytearray(8 * 580)
def best(function, prepare, n=100):
    times = []
    for _ in range(n):
        prepare()
        begin = time.perf_counter(); result = function(); times.append(time.perf_counter() - begin)
    return min(times) * 1e6, result
def fresh():
    for one in params:
        one.grad = torch.empty_like(one)
same, _ = best(lambda: _fast.addresses(params, api, own, expected), lambda: None)
fresh()
kept, changed = best(lambda: _fast.gradients(params, api, grads, expected), lambda: None)
assert changed == 0 and numpy.frombuffer(grads, "i8").tolist() == [one.grad.data_ptr() for one in params]
new, changed = best(lambda: _fast.gradients(params, api, grads, expected), fresh)
print(f"580 parameters: {same:.1f} us; their gradients: {kept:.1f} us if kept, {new:.1f} us if new")
END
echo "the wheel works"
