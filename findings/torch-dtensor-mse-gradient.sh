#!/usr/bin/env bash
# torch 2.13.0: the gradient of mse_loss of a sharded DTensor is too large by the number of ranks:
# twice the right one on 2 ranks. The loss itself is right if all ranks have as many rows, so
# nothing shows, but a learning rate is not what it says. With uneven shards, 5 rows on 2 ranks, the
# loss is wrong too. The same holds for smooth_l1_loss, huber_loss, soft_margin_loss and
# binary_cross_entropy. Written with Tensor.mean the same loss is right, and so is l1_loss, which is
# made of it. No error, no warning. torch 2.15.0 does the same.
#
# Seen, on the CPU, Python 3.11:
#   4 rows, mse_loss: plain 2.250, gradient 1.250; sharded 2.250, gradient 2.500
#   4 rows, the same by mean: plain 2.250, gradient 1.250; sharded 2.250, gradient 1.250
#   4 rows, l1_loss: plain 1.250, gradient 0.250; sharded 1.250, gradient 0.250
#   4 rows, huber_loss: plain 0.812, gradient 0.250; sharded 0.812, gradient 0.500
#   5 rows, mse_loss: plain 4.250, gradient 1.400; sharded 5.083, gradient 3.500
#   5 rows, the same by mean: plain 4.250, gradient 1.400; sharded 4.250, gradient 1.400
#   5 rows, l1_loss: plain 1.700, gradient 0.200; sharded 1.700, gradient 0.200
#   5 rows, huber_loss: plain 1.250, gradient 0.200; sharded 1.458, gradient 0.500
#
# Exits with 1 if that changes. Needs python3 (3.11 to 3.13) and the space of a torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile torch==2.13.0 numpy==2.3.5

cat > "$folder/program.py" <<'PROGRAM'
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

LOSSES = {
    "mse_loss": F.mse_loss,
    "the same by mean": lambda x, target: ((x - target) ** 2).mean(),
    "l1_loss": F.l1_loss,
    "huber_loss": F.huber_loss,
}


def loss_and_gradient(loss, x, target):
    x.requires_grad_()
    value = loss(x, target)
    value.backward()
    return value.detach(), x.grad


def work(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    for rows in (4, 5):
        for name, loss in LOSSES.items():
            tensors = torch.arange(float(rows))[:, None], torch.full((rows, 1), 0.5)
            shards = [distribute_tensor(tensor, mesh, [Shard(0)]) for tensor in tensors]
            plain = loss_and_gradient(loss, *tensors)
            sharded = [tensor.full_tensor() for tensor in loss_and_gradient(loss, *shards)]
            if rank == 0:
                words = [f"{value:.3f}, gradient {gradient[-1].item():.3f}" for value, gradient in (plain, sharded)]
                print(f"{rows} rows, {name}: plain {words[0]}; sharded {words[1]}")
    dist.destroy_process_group()


if __name__ == "__main__":
    store = os.path.join(os.path.dirname(os.path.abspath(__file__)), "store")
    torch.multiprocessing.spawn(work, (store,), 2)
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
