#!/usr/bin/env python3
"""The cost of a training step over several ranks with the backend "nccl" on simulated CUDA devices,
beside the same step with gloo on the CPU, in one run.

    distributed.py [--ranks N] [--chunks N] [--steps N] [--json FILE]

Gloo, gloo again (other processes: the difference is the noise) and nccl take turns, one chunk of
steps at a time, so that whatever else the machine does meets all of them. The table has each one's
20th percentile of its chunks in ms a step, and the ratio to gloo's. The rows "alone" are the same
model in one process and without DDP or FSDP: how much of the ratio is not the group's. Below the
table are the growth of memory in --steps steps of DDP after as many, and the largest difference of
the losses on 1, 2 and 4 devices. Exit status 1: a bound does not hold.

The Python that runs this has torch. COMPAT_SHIM_LIBRARY is the shim's library for that torch, as
`runner prepare suites/conformance --python PYTHON` names it.
"""

import argparse
import collections
import json
import os
import pathlib
import socket
import sys
import time

from child import Child, memory_mb

# The name of a group, and whether its devices are simulated.
GROUPS = {"gloo": False, "gloo again": False, "nccl": True}
WAYS = ("ddp", "fsdp", "fsdp2")
WIDTHS = (64, 256)
BOUND = 1.3  # maximum ratio to gloo's time for a step, in a group
STEPS_A_CHUNK = 10
GROWTH_MB = 10.0
LOSS_STEPS = 10
LOSSES_DIFFER = 1e-5


def step_of(way, width, device, rank, ranks):
    """A function that trains one batch, the ranks' parts together, and answers this rank's loss."""
    import torch
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer
    layers = [layer(width, 4, 2 * width, dropout=0.0, batch_first=True) for _ in range(2)]
    model = nn.Sequential(nn.Embedding(100, width), *layers, nn.Linear(width, 100)).to(device)
    if way == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    elif way == "fsdp":
        model = FullyShardedDataParallel(
            model, auto_wrap_policy=ModuleWrapPolicy({layer}), device_id=torch.device(device)
        )
    elif way == "fsdp2":
        mesh = init_device_mesh(torch.device(device).type, (ranks,))
        for each in layers:
            fully_shard(each, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randint(0, 100, (8, 33)).chunk(ranks)[rank].to(device)

    def step():
        loss = nn.functional.cross_entropy(model(data[:, :-1]).flatten(0, 1), data[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def child(simulated, rank, ranks, port):
    """Answers each line `WAY WIDTH STEPS` with seconds a step, memory in MB and the last losses."""
    import torch

    torch.set_num_threads(1)
    device = f"cuda:{rank}" if simulated else "cpu"
    if simulated:
        torch.cuda.set_device(rank)
    torch.distributed.init_process_group(
        "nccl" if simulated else "gloo",
        init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks,
    )  # fmt: skip
    steps = {}
    for line in sys.stdin:
        way, width, count = line.split()
        if (way, width) not in steps:
            steps[way, width] = step_of(way, int(width), device, rank, ranks)
        begin = time.perf_counter()
        losses = collections.deque(maxlen=LOSS_STEPS)
        for _ in range(int(count)):
            losses.append(steps[way, width]().detach())
        seconds = (time.perf_counter() - begin) / int(count)
        print(json.dumps([seconds, memory_mb(), [loss.item() for loss in losses]]), flush=True)
    torch.distributed.destroy_process_group()


class Group:
    def __init__(self, simulated, ranks):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        shim = None
        if simulated:
            shim = {
                "TORCHDEVICE_SIMULATE": "cuda", "TORCHDEVICE_DEVICES": str(ranks),
                "TORCHDEVICE_MODE": "none", "TORCHDEVICE_SUMMARY": "off",
            }  # fmt: skip
        self.ranks = [
            Child([__file__, "--child", str(int(simulated)), str(rank), str(ranks), str(port)], shim)
            for rank in range(ranks)
        ]

    def train(self, model, steps):
        """Seconds a step of the slowest rank, the largest memory, and the ranks' mean losses."""
        for rank in self.ranks:
            rank.tell(f"{model} {steps}")
        seconds, memory, losses = zip(*(rank.answer() for rank in self.ranks), strict=True)
        means = [sum(each) / len(each) for each in zip(*losses, strict=True)]
        return max(seconds), max(memory), means

    def close(self):
        for rank in self.ranks:
            rank.process.stdin.close()
        for rank in self.ranks:
            rank.process.wait()


def compare_steps(ranks, way, chunks, bound=None):
    """Prints a row for each width; answers {model: the row's numbers}."""
    groups = {name: Group(simulated, ranks) for name, simulated in GROUPS.items()}
    told = {}
    for model in (f"{way} {width}" for width in WIDTHS):
        seen = {name: [] for name in groups}
        for group in groups.values():
            group.train(model, 20)
        for _ in range(chunks):
            for name, group in groups.items():
                seen[name].append(group.train(model, STEPS_A_CHUNK)[0])
        ms = {name: sorted(times)[len(times) // 5] * 1e3 for name, times in seen.items()}
        ratios = {name: value / ms["gloo"] for name, value in ms.items()}
        holds = bound is None or ratios["nccl"] <= bound
        told[model] = {"ms": ms, "ratio": ratios, "bound": bound, "holds": holds}
        cells = [f"{value:.2f} (x{ratios[name]:.2f})" for name, value in ms.items()]
        verdict = "" if bound is None else f"x{bound}: {'holds' if holds else 'DOES NOT HOLD'}"
        print(f"| {model} | {' | '.join(cells)} | {verdict} |", flush=True)
    for group in groups.values():
        group.close()
    return told


def growth(ranks, steps):
    """The growth of a rank's memory in `steps` of DDP, in MB, after the same number of steps
    before: torch's own caches fill in those, with gloo as with nccl."""
    group = Group(True, ranks)
    first = group.train("ddp 64", steps)[1]
    grown = group.train("ddp 64", steps)[1] - first
    group.close()
    return grown


def largest_difference():
    """The largest difference of the losses on 1, 2 and 4 devices, over all ways."""
    trained = {}
    for ranks in (1, 2, 4):
        group = Group(True, ranks)
        for way in WAYS:
            trained[ranks, way] = group.train(f"{way} 64", LOSS_STEPS)[2]
        group.close()
    one = trained[1, "ddp"]
    return max(abs(a - b) for losses in trained.values() for a, b in zip(losses, one, strict=True))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--chunks", type=int, default=40, help="chunks a group and model")
    parser.add_argument("--steps", type=int, default=1000, help="steps over which memory is watched")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--child", nargs=4, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        simulated, *rest = options.child
        return child(bool(simulated), *rest)
    if "COMPAT_SHIM_LIBRARY" not in os.environ:
        sys.exit("COMPAT_SHIM_LIBRARY is not set")
    load = os.getloadavg()[0]
    told = {"load_before": load, "ranks": options.ranks, "models": {}}
    print("| ms a step | " + " | ".join(GROUPS) + " | bound |")
    print("|---|" + "---|" * (len(GROUPS) + 1))
    for way in WAYS:
        told["models"].update(compare_steps(options.ranks, way, options.chunks, BOUND))
    told["models"].update(compare_steps(1, "alone", options.chunks))
    checks = {
        f"memory over {options.steps} steps of DDP, MB": (growth(options.ranks, options.steps), GROWTH_MB),
        "largest difference of losses on 1, 2 and 4 devices": (largest_difference(), LOSSES_DIFFER),
    }
    for name, (value, bound) in checks.items():
        print(f"{name}: {value:.2g}; at most {bound:g}: {'holds' if value <= bound else 'DOES NOT HOLD'}")
    print(f"load: {load:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores")
    if options.json:
        told["checks"] = {name: {"value": v, "bound": b} for name, (v, b) in checks.items()}
        pathlib.Path(options.json).write_text(json.dumps(told, indent=1) + "\n")
    rows = all(row["holds"] for row in told["models"].values())
    sys.exit(0 if rows and all(value <= bound for value, bound in checks.values()) else 1)


if __name__ == "__main__":
    main()
