"""One process of test_optim_sharded.py: optim_sharded_worker.py RANK WORLD FILE DEVICE.

It trains a sharded model with heddle's AdamW and with torch's, clips by the global norm, and compares both. Four processes
form a mesh of two dimensions.
"""

import copy
import os
import sys
from unittest import mock

sys.path.insert(0, os.path.dirname(__file__))

import optim_support as support  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor  # noqa: E402
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module  # noqa: E402

import heddle.optim  # noqa: E402


def full(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def compare(ours, theirs, left, right):
    for param, other in zip(left, right):
        torch.testing.assert_close(full(param.detach()), full(other.detach()), rtol=2e-5, atol=2e-6)
        state, known = ours.state[param], theirs.state[other]
        assert state.keys() == known.keys(), (state.keys(), known.keys())
        for key, value in known.items():
            assert type(state[key]) is type(value) and state[key].shape == value.shape, key
            torch.testing.assert_close(full(state[key]), full(value).to(full(state[key]).device), rtol=2e-5, atol=2e-6)


def train(rank, model, x, name):
    """A model under fully_shard. One parameter has fewer rows than there are processes: a shard is empty."""
    other = copy.deepcopy(model)
    for each in (model, other):
        for layer in each:
            fully_shard(layer)
        fully_shard(each)
    options = dict(lr=0.1, momentum=0.9) if name == "SGD" else dict(lr=0.1)
    ours = heddle.optim.chain(
        clip_grad_norm=0.3, optimizer=support.heddle_class(name)(model.parameters(), **options)
    )
    theirs = getattr(torch.optim, name)(other.parameters(), foreach=False, **options)
    for step in range(4):
        losses = []
        for each, optimizer in ((model, ours), (other, theirs)):
            optimizer.zero_grad()
            loss = (each(x + step) ** 2).mean()
            loss.backward()
            losses.append(loss.detach())
            if optimizer is theirs:
                norm = torch.nn.utils.clip_grad_norm_(other.parameters(), 0.3)
                optimizer.step()
            else:
                # Once for each dimension of the mesh, by the host: no graph contains it.
                with mock.patch.object(dist, "all_reduce", side_effect=dist.all_reduce) as reduce:
                    found = optimizer.step()
                assert reduce.call_count == 1
        torch.testing.assert_close(losses[0], losses[1])
        torch.testing.assert_close(found.float().cpu(), full(norm).cpu(), rtol=1e-5, atol=0)
    assert any(param._local_tensor.numel() == 0 for param in model.parameters()) == (rank > 0)
    compare(ours, theirs, list(model.parameters()), list(other.parameters()))


def returns_at_once(device, mesh):
    """With NCCL, no process waits on the host: a step returns while the GPU still does what was asked of it before."""
    params = [torch.nn.Parameter(distribute_tensor(torch.ones(6, 3, device=device), mesh, [Shard(0)])) for _ in range(3)]
    optimizer = heddle.optim.chain(clip_grad_norm=0.5, optimizer=heddle.optim.AdamW(params, lr=0.1))
    for param in params:
        param.grad = distribute_tensor(torch.ones(6, 3, device=device), mesh, [Shard(0)])
    for _ in range(3):  # the first steps compile, capture and connect
        optimizer.step()
    torch.cuda.synchronize()
    before = torch.cuda.Event()
    torch.cuda._sleep(2_000_000_000)  # cycles: a second
    before.record()
    norm = optimizer.step()
    assert not before.query(), "the step has waited for the GPU"
    torch.testing.assert_close(norm.item(), 54.0**0.5, rtol=1e-6, atol=0)


def mixed(device, mesh):
    """Shards, replicas and plain tensors in one optimizer; some without gradient."""
    torch.manual_seed(1)
    drawn = [torch.randn(5, 3, device=device) for _ in range(4)]
    gradients = [torch.randn(5, 3, device=device) for _ in range(4)]

    def spread(tensors):
        placements = ([Shard(0)], [Shard(1)], [Replicate()])
        return [distribute_tensor(tensor, mesh, each) for tensor, each in zip(tensors, placements)] + tensors[3:]

    lists = [[torch.nn.Parameter(tensor.clone()) for tensor in spread(drawn)] for _ in range(2)]
    plain = [torch.nn.Parameter(tensor.clone()) for tensor in drawn]
    ours = heddle.optim.chain(clip_grad_norm=0.5, optimizer=heddle.optim.AdamW(lists[0], lr=0.1))
    theirs = torch.optim.AdamW(plain, lr=0.1, foreach=False)
    for step in range(3):
        for place, (left, right, gradient) in enumerate(zip(lists[0], plain, spread(gradients))):
            left.grad = None if step == place else gradient
            right.grad = None if step == place else gradients[place].clone()
        torch.testing.assert_close(ours.step(), torch.nn.utils.clip_grad_norm_(plain, 0.5).double(), rtol=1e-5, atol=0)
        theirs.step()
    for left, right in zip(lists[0], plain):
        torch.testing.assert_close(full(left.detach()), right.detach(), rtol=2e-5, atol=2e-6)


def skipped(rank, device, mesh):
    """A gradient that is not finite in the shard of one process skips the step of all."""
    for clip in (None, 0.5):
        params = [torch.nn.Parameter(distribute_tensor(torch.ones(6, 3, device=device), mesh, [each]))
                  for each in (Shard(0), Replicate())]
        sgd = heddle.optim.SGD(params, lr=0.5)
        optimizer = heddle.optim.chain(check_finite=True, clip_grad_norm=clip, optimizer=sgd)
        for value in (1.0, float("nan"), 1.0):
            before = [full(param.detach()).clone() for param in params]
            for param in params:
                param.grad = distribute_tensor(torch.ones(6, 3, device=device), mesh, param.placements)
            if rank == 1:
                params[0].grad._local_tensor[0, 0] = value
            norm = optimizer.step()
            for param, old in zip(params, before):
                assert torch.equal(full(param.detach()), old) == (value != 1)
            assert (norm is None) == (clip is None)


def reductions(device, mesh):
    """A rule that reduces over tensors refuses shards before anything is written; replicas are whole tensors."""
    for placement in (Shard(0), Replicate()):
        param = torch.nn.Parameter(distribute_tensor(torch.ones(4, 3, device=device), mesh, [placement]))
        param.grad = distribute_tensor(torch.ones(4, 3, device=device), mesh, [placement])
        optimizer = heddle.optim.Adan([param], lr=0.5, weight_decay=1, max_grad_norm=0.1)
        if placement.is_replicate():
            optimizer.step()
            continue
        try:
            optimizer.step()
        except heddle.errors.BadInput as error:
            assert "Adan" in str(error) and "sharded" in str(error), error
        else:
            raise AssertionError("expected BadInput")
        assert not optimizer.state[param] and (full(param.detach()) == 1).all()


def checkpoint(device, folder):
    """A sharded state is saved by torch's AdamW and loaded by heddle's, and the reverse."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict

    def make(kind):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 5).to(device)
        fully_shard(model)
        return model, kind(model.parameters(), lr=0.1)

    def step(model, optimizer):
        optimizer.zero_grad()
        model(torch.ones(2, 4, device=device)).sum().backward()
        optimizer.step()

    kinds = (heddle.optim.AdamW, torch.optim.AdamW)
    for turn, (source, target) in enumerate((kinds, kinds[::-1])):
        model, optimizer = make(source)
        step(model, optimizer)
        path = os.path.join(folder, str(turn))
        dcp.save({"optimizer": get_optimizer_state_dict(model, optimizer)}, checkpoint_id=path)
        other, loaded = make(target)
        state = get_optimizer_state_dict(other, loaded)
        dcp.load({"optimizer": state}, checkpoint_id=path)
        set_optimizer_state_dict(other, loaded, state)
        with torch.no_grad():
            for left, right in zip(other.parameters(), model.parameters()):
                left.copy_(right)
        step(model, optimizer)
        step(other, loaded)
        for left, right in zip(other.parameters(), model.parameters()):
            torch.testing.assert_close(full(left.detach()), full(right.detach()), rtol=2e-5, atol=2e-6)


def wrong_shards(device, mesh):
    """A load refuses state that is distributed in another way, before anything is written."""
    param = torch.nn.Parameter(distribute_tensor(torch.ones(4, 3, device=device), mesh, [Shard(0)]))
    param.grad = distribute_tensor(torch.ones(4, 3, device=device), mesh, [Shard(0)])
    optimizer = heddle.optim.AdamW([param])
    optimizer.step()
    known = dict(optimizer.state[param])
    loaded = optimizer.state_dict()
    replica = distribute_tensor(torch.zeros(4, 3, device=device), mesh, [Replicate()])
    loaded["state"] = {0: {**known, "exp_avg": replica}}
    try:
        optimizer.load_state_dict(loaded)
    except heddle.errors.BadInput as error:
        assert "state_dict['state'][0]['exp_avg']: expected a shard of shape (2, 3), found (4, 3)" in str(error)
    else:
        raise AssertionError("expected BadInput")
    assert all(value is known[key] for key, value in optimizer.state[param].items())


def rounding(device, mesh):
    """Random numbers do not depend on the number of processes if shards start at multiples of 8 elements."""
    generator = torch.Generator().manual_seed(1)
    values, gradients = (
        [torch.randn(shape, generator=generator).to(device, torch.bfloat16) for shape in ((16, 8), (7, 16), (64,))]
        for _ in range(2)
    )
    whole = [torch.nn.Parameter(value.clone()) for value in values]
    shards = [torch.nn.Parameter(distribute_tensor(value.clone(), mesh, [Shard(0)])) for value in values]
    for params in (whole, shards):
        optimizer = heddle.optim.AdamW(params, lr=0.1, rounding="stochastic", seed=3)
        for _ in range(3):
            for param, grad in zip(params, gradients):
                param.grad = grad.clone() if params is whole else distribute_tensor(grad.clone(), mesh, [Shard(0)])
            optimizer.step()
    for param, shard in zip(whole, shards):
        assert torch.equal(param, full(shard))


def plane(device, kind):
    """A mesh of two dimensions, against torch's AdamW with the whole gradients.

    "fsdp and tp": shards over both dimensions; "hsdp": shards over one, replicas over the other; "tp": shards over one.
    """
    mesh = init_device_mesh(device.type, (2, 2), mesh_dim_names=("data", "tensor"))
    torch.manual_seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Linear(6, 5)).to(device)
    plain = [torch.nn.Parameter(param.detach().clone()) for param in model.parameters()]
    if kind != "hsdp":
        parallelize_module(model, mesh["tensor"], {"0": ColwiseParallel(), "1": RowwiseParallel()})
    if kind != "tp":
        fully_shard(model, mesh=mesh if kind == "hsdp" else mesh["data"])
    params = list(model.parameters())
    ours = heddle.optim.chain(clip_grad_norm=0.1, optimizer=heddle.optim.AdamW(params, lr=0.1))
    theirs = torch.optim.AdamW(plain, lr=0.1, foreach=False)
    for step in range(3):
        ours.zero_grad()
        # Processes of one tensor-parallel group have the same data.
        x = torch.ones(3, 4, device=device) * (step + 1 + (0 if kind == "tp" else mesh.get_local_rank("data")))
        model(x).square().mean().backward()
        for param, whole in zip(params, plain):
            whole.grad = full(param.grad).clone()
        norm = torch.nn.utils.clip_grad_norm_(plain, 0.1)
        torch.testing.assert_close(ours.step().float(), norm, rtol=1e-5, atol=0)
        theirs.step()
    for param, whole in zip(params, plain):
        torch.testing.assert_close(full(param.detach()), whole.detach(), rtol=2e-5, atol=2e-6)
    if kind == "tp":
        return
    try:
        rule = heddle.optim.LAMB(params, lr=0.1)
        rule.step()
    except heddle.errors.BadInput as error:
        assert "LAMB" in str(error) and "sharded" in str(error), error
    else:
        raise AssertionError("expected BadInput")


def line(rank, world, device, folder):
    """A mesh of one dimension."""
    mesh = init_device_mesh(device.type, (world,))
    for name in ("AdamW", "SGD"):
        torch.manual_seed(0)
        layers = [torch.nn.Linear(4, 7), torch.nn.Linear(7, 3), torch.nn.Linear(3, 1)]
        train(rank, torch.nn.Sequential(*layers).to(device), torch.ones(2, 4, device=device) * (rank + 1), name)
    if device.type == "cuda":
        returns_at_once(device, mesh)
    mixed(device, mesh)
    skipped(rank, device, mesh)
    reductions(device, mesh)
    wrong_shards(device, mesh)
    rounding(device, mesh)
    checkpoint(device, folder)


def main():
    rank, world, folder, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    if kind == "cuda":
        torch.cuda.set_device(rank)
    device = torch.device(kind, rank if kind == "cuda" else None)
    dist.init_process_group(
        "nccl" if kind == "cuda" else "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=world
    )
    if world == 4:
        for each in ("fsdp and tp", "hsdp", "tp"):
            plane(device, each)
    else:
        line(rank, world, device, folder)
    dist.barrier()
    dist.destroy_process_group()
    print("passed", flush=True)
    # Without destructors of libraries: a thread that torch.distributed leaves may then still run, which ends the process
    # by std::terminate in some runs.
    os._exit(0)


if __name__ == "__main__":
    main()
