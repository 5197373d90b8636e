"""Trains a small transformer with fully_shard (FSDP 2): written for GPUs, one a rank."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
torch.manual_seed(0)

layers = [nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True) for _ in range(2)]
model = nn.Sequential(nn.Embedding(100, 64), *layers, nn.Linear(64, 100)).cuda()
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for layer in layers:
    fully_shard(layer, mp_policy=policy)
fully_shard(model, mp_policy=policy)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = torch.randint(0, 100, (20, 8, 17))

for batch in data:
    mine = batch.chunk(dist.get_world_size())[rank].cuda()
    logits = model(mine[:, :-1]).float()
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), mine[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

dist.all_reduce(loss, dist.ReduceOp.AVG)
if rank == 0:
    print(f"{dist.get_backend()}, {dist.get_world_size()} ranks: loss {loss.item():.2f}")
dist.destroy_process_group()
