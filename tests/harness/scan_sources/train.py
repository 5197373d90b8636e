"""Trains a small model on CUDA. This docstring names torch.cuda.Stream and "cuda"."""
import argparse
import os

import torch
import torch.backends.cudnn as cudnn
import torch.distributed as dist
from torch import cuda as c
from torch import nn
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader

os.environ["CUDA_VISIBLE_DEVICES"] = "0"
cudnn.benchmark = True
torch.backends.cuda.matmul.allow_tf32 = True


def parse():
    parser = argparse.ArgumentParser(description="cuda")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    return parser.parse_args()


def seed_all(seed):
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


class Prefetcher:
    """Copies on a stream of its own."""

    def __init__(self, loader):
        self.loader = loader
        self.stream = c.Stream()
        self.done = torch.cuda.Event(enable_timing=True)

    def __iter__(self):
        for batch in self.loader:
            with torch.cuda.stream(self.stream):
                batch = batch.cuda(non_blocking=True)
            torch.cuda.current_stream().wait_stream(self.stream)
            yield batch


def worker(rank, size):
    dist.init_process_group(backend="nccl", rank=rank, world_size=size)
    torch.cuda.set_device(rank)
    device = torch.device(f"cuda:{rank}")
    return torch.device("cuda", rank) if device is None else device


def train(model, data, epochs=1, device="cuda"):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.DataParallel(model).cuda()
    loader = DataLoader(data, batch_size=4, pin_memory=True)
    scaler = GradScaler()
    for _ in range(epochs):
        for batch in Prefetcher(loader):
            with autocast():
                loss = model(batch.to("cuda")).sum()
            scaler.scale(loss).backward()
            noise = torch.randn(
                3,
                device="cuda",
            )
            target = torch.zeros(3).cuda()
            if loss.is_cuda and noise.device == torch.device("cuda:0"):
                torch.cuda.synchronize()
            print("cuda", torch.cuda.max_memory_allocated(), target)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.memory.empty_cache()
    return graph


def report(x):
    # torch.cuda.get_device_name() in a comment
    if x.device.type == "cuda":
        return torch.cuda.get_device_name()
    if not torch.cuda.is_available():
        return None
    torch.cuda.nvtx.range_push("cuda")
    return torch.load("model.pt", map_location="cuda:0")
