"""Sharded parameters (FSDP2, DTensor): gloo on CPUs, NCCL on several GPUs."""

import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()


def on(kind, processes):
    """A device, and a number of processes of which each one has a device."""
    is_missing = kind == "cuda" and torch.cuda.device_count() < processes
    skip = pytest.mark.skipif(is_missing, reason=f"needs {'two' if processes == 2 else 'four'} GPUs")
    return pytest.param(kind, processes, marks=skip)


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")
@pytest.mark.parametrize("kind, count", [on(kind, count) for count in (2, 4) for kind in ("cpu", "cuda")])
def test_processes(kind, count, tmp_path):
    worker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "optim_sharded_worker.py")
    path = os.pathsep.join(entry for entry in sys.path if entry)
    # Each process says where it is: a container may have no name in its network.
    env = {**os.environ, "PYTHONPATH": path, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "HEDDLE_THREADS": "2"}
    if kind == "cpu":
        # With a GPU in sight, DTensor.full_tensor() of torch 2.11 crashes on the CPU in such processes, without heddle.
        env["CUDA_VISIBLE_DEVICES"] = ""
    processes = [
        subprocess.Popen([sys.executable, "-X", "faulthandler", worker, str(rank), str(count), str(tmp_path), kind], env=env,
                         text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for rank in range(count)
    ]
    try:
        outputs = [process.communicate(timeout=300)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, output in zip(processes, outputs):
        assert process.returncode == 0 and "passed" in output, output
