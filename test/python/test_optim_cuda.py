"""What only a GPU shows: capture into the caller's CUDA graph, streams, waits, memory, forked children."""

import os
import subprocess
import sys
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import optim_support as support  # noqa: E402

torch = support.torch_or_skip()

if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

import heddle  # noqa: E402
import heddle.optim  # noqa: E402

NAMES = pytest.mark.parametrize("name", support.NAMES)
OPTIONS = {
    "SGD": dict(lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": dict(lr=0.1, amsgrad=True),
    "AdamW": dict(lr=0.1),
}


class Captured:
    """A training step in a CUDA graph, as in torch's documentation: forward, backward, step."""

    def __init__(self, params, optimizer, *, warm_up=True, unused=()):
        self.params, self.optimizer = params, optimizer
        self.data = [torch.zeros_like(param) for param in params]
        used = [place for place in range(len(params)) if place not in unused]

        def train():
            optimizer.zero_grad(set_to_none=True)
            sum((params[place] * self.data[place]).sum() for place in used).backward()
            return optimizer.step()

        if warm_up:
            # With data of zeros, and kept values, the warm-up has no effect.
            before = [param.detach().clone() for param in params]
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                train()
            torch.cuda.current_stream().wait_stream(stream)
            with torch.no_grad():
                for param, old in zip(params, before):
                    param.copy_(old)
            # The state as before the first step. Adagrad's sum and others start at 0.
            lr = optimizer.param_groups[0]["lr"]
            initial = {"mu": 1.0, "mu_product": 1.0, "eta": lr, "step_size": lr}
            for state in optimizer.state.values():
                for key, value in state.items():
                    value.fill_(initial.get(key, 0.0))
        optimizer.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.returned = train()

    def step(self, step):
        """A replay; the gradients are the data."""
        generator = torch.Generator().manual_seed(100 + step)
        for param, data in zip(self.params, self.data):
            data.copy_(torch.randn(param.shape, generator=generator, dtype=torch.float64).to(data))
        self.graph.replay()


def test_capture_of_a_gradient_in_the_memory_of_its_parameter():
    """Each replay reads a copy of the gradient, which is the parameter before the step."""
    param = torch.nn.Parameter(torch.ones(3000, device="cuda"))
    other = torch.nn.Parameter(torch.ones(7, device="cuda"))
    optimizer = heddle.optim.SGD([param, other], lr=0.5)
    param.grad, other.grad = param.detach(), torch.ones(7, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert (param == 0.125).all() and (other == -0.5).all()


@pytest.mark.parametrize("name", support.TORCH_NAMES)
@pytest.mark.parametrize("warm_up", [True, False])
def test_capture(name, warm_up):
    """A captured step; without a warm-up, the capture itself creates the state, and replays do not reset it."""
    params = support.parameters("cuda")
    ours, theirs, others = support.pair(name, params, **OPTIONS.get(name, {"lr": 0.1}))
    captured = Captured(params, ours, warm_up=warm_up)
    for step in range(5):
        captured.step(step)
        support.set_gradients(others, step=step)
        theirs.step()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
    support.assert_same_state(ours, theirs, **support.tolerance(torch.float32))


def test_steps_outside_do_not_change_a_captured_graph():
    """Eager steps with other gradients and captured steps take turns on the same state."""
    params = support.parameters("cuda")
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    captured = Captured(params, ours)
    for step in range(6):
        if step % 2:
            captured.step(step)
            support.set_gradients(others, step=step)
        else:
            support.set_gradients(params, others, step=step)
            ours.step()
        theirs.step()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


@NAMES
def test_hyperparameters_do_not_freeze(name):
    """lr, betas, eps and weight decay of a captured step change between replays."""
    options = {**OPTIONS[name], "weight_decay": 0.01}
    params = support.parameters("cuda")
    ours, theirs, others = support.pair(name, params, **options)
    captured = Captured(params, ours)
    changes = [{}, dict(lr=0.3), dict(weight_decay=0.5)]
    changes += [dict(momentum=0.5)] if name == "SGD" else [dict(betas=(0.5, 0.6)), dict(eps=0.1)]
    for step, change in enumerate(changes):
        for optimizer in (ours, theirs):
            optimizer.param_groups[0].update(change)
        ours.push_hyperparameters()
        captured.step(step)
        support.set_gradients(others, step=step)
        theirs.step()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


def test_parameters_without_gradient_at_capture_are_reported():
    params = support.parameters("cuda")
    optimizer = heddle.optim.AdamW(params, lr=0.1)
    with pytest.warns(UserWarning, match="2 of 7 parameters have no gradient while the step is captured"):
        captured = Captured(params, optimizer, unused=(1, 3))
    before = [param.detach().clone() for param in params]
    captured.step(0)
    changed = [not torch.equal(old, param) for old, param in zip(before, params)]
    assert changed == [True, False, True, False, False, True, True]  # the fifth has no elements


def test_state_loaded_after_a_capture():
    """The captured graph uses the loaded values."""
    params = support.parameters("cuda")
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    captured = Captured(params, ours)
    support.run(ours, theirs, params, others, 3)
    ours.load_state_dict(state_dict=theirs.state_dict())
    captured.step(7)
    support.set_gradients(others, step=7)
    theirs.step()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


def test_capture_with_clipping_and_copies():
    """The norm of a captured step, and gradients that need a copy in each replay."""
    params = support.parameters("cuda", shapes=[(4, 5), (3,)])
    params.append(torch.nn.Parameter(torch.randn(10, 5, 2, device="cuda")[..., 0]))
    others = support.copies(params)
    ours = heddle.optim.chain(clip_grad_norm=0.5, optimizer=heddle.optim.AdamW(params, lr=0.1))
    theirs = torch.optim.AdamW(others, lr=0.1, foreach=False)
    captured = Captured(params, ours)
    for step in range(3):
        captured.step(step)
        support.set_gradients(others, step=step)
        norm = torch.nn.utils.clip_grad_norm_(others, 0.5)
        theirs.step()
        torch.testing.assert_close(captured.returned.float(), norm)
    support.assert_same_params(params, others, rtol=2e-5, atol=2e-6)


@NAMES
def test_two_streams(name):
    """Steps on two streams in turn, ordered by events."""
    params = support.parameters("cuda")
    ours, theirs, others = support.pair(name, params, **OPTIONS[name])
    streams = [torch.cuda.Stream() for _ in range(2)]
    for step in range(6):
        stream = streams[step % 2]
        stream.wait_stream(streams[1 - step % 2])
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            support.set_gradients(params, others, step)
            ours.step()
            theirs.step()
    torch.cuda.synchronize()
    support.assert_same_params(params, others, **support.tolerance(torch.float32))


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_no_step_waits(groups):
    """Neither schedulers, nor GradScaler, nor clipping, nor a rate on the device waits for the device."""
    params = support.parameters("cuda", shapes=[(64, 64)] * 6)
    split = [dict(params=params[place::groups], lr=0.1 / (place + 1)) for place in range(groups)]
    optimizer = heddle.optim.chain(clip_grad_norm=1.0, optimizer=heddle.optim.AdamW(split))
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    scale, found = torch.tensor(4.0, device="cuda"), torch.tensor(0.0, device="cuda")
    rate = torch.tensor(0.1, device="cuda")

    def step(scaled, scheduled=True):
        for param in params:
            param.grad = torch.ones_like(param)
        if scaled:
            optimizer.grad_scale, optimizer.found_inf = scale, found
        optimizer.step()
        optimizer.grad_scale = optimizer.found_inf = None
        if scheduled:
            schedule.step()

    for scaled in (False, True, False, True):
        step(scaled)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for scaled in (False, True, False, True):
            step(scaled)
        optimizer.param_groups[0]["lr"] = rate
        for _ in range(2):
            step(False, scheduled=False)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_memory():
    """No device memory beyond the state and tables, which do not grow with the number of elements."""
    def used(size):
        params = [torch.nn.Parameter(torch.zeros(size, device="cuda")) for _ in range(4)]
        for param in params:
            param.grad = torch.ones_like(param)
        torch.cuda.synchronize()
        before = torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved()
        tensors = torch.cuda.memory_allocated()
        optimizer = heddle.optim.AdamW(params)
        optimizer.step()
        torch.cuda.synchronize()
        state = torch.cuda.memory_allocated() - tensors
        other = before - (torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved())
        return state, other

    def free():
        torch.cuda.synchronize()
        return torch.cuda.mem_get_info()[0]

    used(1 << 20)
    # The numbers are those of the device, which other processes may use, too.
    for _ in range(20):
        before = free()
        time.sleep(0.2)
        if free() != before:
            continue
        state, other = used(1 << 24)
        after = free()
        time.sleep(0.2)
        if free() == after:
            break
    else:
        pytest.skip("other processes allocate memory of the device")
    expected = 4 * 2 * 4 * (1 << 24)
    assert expected <= state <= expected + (1 << 20)
    assert other <= 64 << 20


def test_first_step_from_the_cache():
    params = support.parameters("cuda")
    for _ in range(2):
        optimizer = heddle.optim.AdamW(params)
        support.set_gradients(params)
        before = support.compilations()
        optimizer.step()
    assert support.compilations() == before


def test_new_gradients_compile_and_allocate_nothing():
    params = support.parameters("cuda")
    optimizer = heddle.optim.AdamW(params)
    for step in range(3):
        support.set_gradients(params, step=step)
        optimizer.step()
    before = heddle.statistics()
    for step in range(10):
        kept = [param.grad for param in params]
        support.set_gradients(params, step=step)
        optimizer.step()
        del kept
    after = heddle.statistics()
    for counter in ("compilations", "allocations", "graph_instantiations", "module_loads", "table_expansions"):
        assert after[counter] == before[counter], counter


def test_forked_child():
    """A step in a child of fork() is a clear error, and the child ends normally."""
    program = """
import os, sys, torch, heddle, heddle.optim
param = torch.nn.Parameter(torch.ones(4, device="cuda"))
param.grad = torch.ones_like(param)
optimizer = heddle.optim.SGD([param], lr=0.1)
optimizer.step()
torch.cuda.synchronize()
child = os.fork()
if child == 0:
    try:
        optimizer.step()
    except heddle.Error as error:
        print("refused:", error, flush=True)
        os._exit(0)
    os._exit(1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    result = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, text=True,
                            capture_output=True, timeout=300)
    assert result.returncode == 0 and "refused:" in result.stdout, result.stdout + result.stderr


def test_second_gpu():
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    params = [*support.parameters("cuda:0"), *support.parameters("cuda:1", seed=3)]
    ours, theirs, others = support.pair("AdamW", params, lr=0.1)
    support.run(ours, theirs, params, others, 4)
    support.assert_same_params(params, others, **support.tolerance(torch.float32))
