"""Trains a small model with DistributedDataParallel: written for GPUs, one a rank."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
torch.manual_seed(0)

model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
model = DistributedDataParallel(model, device_ids=[rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
data = torch.randn(20, 64, 64)  # the same on all ranks, of which each takes its share

for batch in data:
    mine = batch.chunk(dist.get_world_size())[rank].cuda()
    loss = nn.functional.cross_entropy(model(mine), mine.argmax(1) % 10)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

dist.all_reduce(loss, dist.ReduceOp.AVG)
if rank == 0:
    print(f"{dist.get_backend()}, {dist.get_world_size()} ranks: loss {loss.item():.4f}")
dist.destroy_process_group()
