"""torch.distributed over gloo: one process, and two real ones."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn

from .harness import data, set_weights


def _in_group(rank, world, folder, body, device):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world
    )
    try:
        answer = body(rank, device)
    finally:
        dist.destroy_process_group()
    torch.save(answer, f"{folder}/answer-{rank}")


def _group(world, body, device):
    """The result of each rank of a group."""
    with tempfile.TemporaryDirectory() as folder:
        if world == 1:
            _in_group(0, 1, folder, body, device)
        else:
            multiprocessing.start_processes(
                _in_group, (world, folder, body, device), nprocs=world, start_method="fork"
            )
        return [torch.load(f"{folder}/answer-{rank}") for rank in range(world)]


def _network(device):
    return set_weights(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))).to(device)


def _collectives(rank, device):
    x = data(4).to(device) * (rank + 1)
    dist.all_reduce(x)
    sent = torch.full((2,), float(rank), device=device)
    dist.broadcast(sent, 0)
    gathered = [torch.zeros(1, device=device) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, torch.full((1,), float(rank), device=device))
    dist.barrier()
    return [x, sent, *gathered]


def _data_parallel(rank, device):
    net = _network(device)
    ids = [0] if device == "cuda" else None
    wrapped = nn.parallel.DistributedDataParallel(net, device_ids=ids)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        wrapped((data(4, 3) * (1 + rank + step)).to(device)).pow(2).mean().backward()
        optimizer.step()
    return [p.grad for p in net.parameters()] + [p.detach() for p in net.parameters()]


def _synchronized_buffers(rank, device):
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    wrapped = nn.parallel.DistributedDataParallel(set_weights(net).to(device))
    for _ in range(2):
        wrapped((data(4, 3) * (rank + 1)).to(device)).sum().backward()
    return [buffer for buffer in net.buffers()]


def _sharded(rank, device):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device, (dist.get_world_size(),))
    net = _network(device)
    for layer in net:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    net((data(4, 3) * (rank + 1)).to(device)).pow(2).mean().backward()
    return [p.grad.full_tensor() for p in net.parameters()]


def _wholly_sharded(rank, device):
    from torch.distributed.fsdp import FullyShardedDataParallel

    where = 0 if device == "cuda" else torch.device(device)
    net = FullyShardedDataParallel(_network(device), device_id=where)
    net((data(4, 3) * (rank + 1)).to(device)).pow(2).mean().backward()
    return [p.grad for p in net.parameters()]


def _dtensors(rank, device):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor, ones

    mesh = init_device_mesh(device, (dist.get_world_size(),))
    rows = distribute_tensor(data(4, 3).to(device), mesh, [Shard(0)])
    weights = distribute_tensor(data(3, 2).to(device), mesh, [Replicate()])
    made = ones(4, 2, device_mesh=mesh, placements=[Shard(0)])
    return [(rows @ weights + made).full_tensor(), rows.to_local()]


def collectives_alone(device):
    return _group(1, _collectives, device)


def collectives_of_two(device):
    return _group(2, _collectives, device)


def data_parallel_alone(device):
    return _group(1, _data_parallel, device)


def data_parallel_of_two(device):
    return _group(2, _data_parallel, device)


def buffers_of_two(device):
    return _group(2, _synchronized_buffers, device)


def sharded_of_two(device):
    return _group(2, _sharded, device)


def wholly_sharded_of_two(device):
    return _group(2, _wholly_sharded, device)


def dtensors_of_two(device):
    return _group(2, _dtensors, device)


def plain_data_parallel(device):
    return nn.DataParallel(_network(device))(data(4, 3).to(device))
