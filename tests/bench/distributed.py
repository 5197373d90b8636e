#!/usr/bin/env python3
"""What a training step over several ranks costs with the backend "nccl" on simulated CUDA devices,
beside the same step with gloo on the CPU, in one run.

    distributed.py [--ranks N] [--chunks N] [--steps N] [--json FILE]

Gloo, gloo again (other processes: the difference is the noise) and nccl take turns, one chunk of
steps at a time, so that whatever else the machine does meets all of them. The table has each one's
20th percentile of its chunks in ms a step, and the ratio to gloo's. "1 process" is the same model
without a group, simulated beside plain: what of the ratio is not the group's. Then nccl trains DDP
for --steps more, and the table says what its memory grew by; and 1, 2 and 4 devices train from the
same seed, whose losses must be equal. Exit status 1: a bound does not hold.

The Python that runs this has torch. COMPAT_SHIM_LIBRARY is the shim's library for that torch, as
`runner prepare suites/conformance --python PYTHON` names it.
"""

import argparse
import json
import os
import pathlib
import socket
import sys
import time

from child import Child

# The name of a group, and whether its devices are simulated.
GROUPS = {"gloo": False, "gloo again": False, "nccl": True}
# Way and width of the transformer; at most so many times gloo's step.
MODELS = {f"{way} {width}": 1.3 for way in ("ddp", "fsdp", "fsdp2") for width in (64, 256)}
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
    """Answers each line `WAY WIDTH STEPS` with seconds a step, memory in MB and the losses."""
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
        losses = [steps[way, width]().detach() for _ in range(int(count))]
        seconds = (time.perf_counter() - begin) / int(count)
        status = pathlib.Path("/proc/self/status").read_text()
        memory = int(status.split("VmRSS:")[1].split()[0]) / 1024
        losses = [loss.item() for loss in losses[:LOSS_STEPS]]
        print(json.dumps([seconds, memory, losses]), flush=True)
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
            rank.process.stdin.write(f"{model} {steps}\n")
        seconds, memory, losses = zip(*(rank.answer() for rank in self.ranks), strict=True)
        means = [sum(each) / len(each) for each in zip(*losses, strict=True)]
        return max(seconds), max(memory), means

    def close(self):
        for rank in self.ranks:
            rank.process.stdin.close()
        for rank in self.ranks:
            rank.process.wait()


def percentile(times):
    return sorted(times)[len(times) // 5] * 1e3


def compare_steps(groups, alone, chunks):
    """Prints the table; answers {model: its row's numbers}."""
    print("| ms a step | " + " | ".join(groups) + " | 1 process | bound |")
    print("|---|" + "---|" * (len(groups) + 2))
    told = {}
    for model, bound in MODELS.items():
        single = f"plain {model.split()[1]}"
        seen = {name: [] for name in groups}
        simulated, plain = [], []
        for group in (*groups.values(), *alone):
            group.train(single if group in alone else model, 20)
        for _ in range(chunks):
            for name, group in groups.items():
                seen[name].append(group.train(model, STEPS_A_CHUNK)[0])
            for group, times in zip(alone, (plain, simulated), strict=True):
                times.append(group.train(single, STEPS_A_CHUNK)[0])
        ms = {name: percentile(times) for name, times in seen.items()}
        ratios = {name: value / ms["gloo"] for name, value in ms.items()}
        kernels = percentile(simulated) / percentile(plain)
        holds = ratios["nccl"] <= bound
        told[model] = {"ms": ms, "ratio": ratios, "1 process": kernels, "bound": bound, "holds": holds}
        cells = [f"{value:.2f} (x{ratios[name]:.2f})" for name, value in ms.items()]
        verdict = f"x{bound}: {'holds' if holds else 'DOES NOT HOLD'}"
        print(f"| {model} | {' | '.join(cells)} | x{kernels:.2f} | {verdict} |", flush=True)
    return told


def largest_difference():
    """Of the losses on 1, 2 and 4 devices, over all ways."""
    trained = {}
    for ranks in (1, 2, 4):
        group = Group(True, ranks)
        for way in ("ddp", "fsdp", "fsdp2"):
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
    groups = {name: Group(simulated, options.ranks) for name, simulated in GROUPS.items()}
    alone = [Group(simulated, 1) for simulated in (False, True)]
    told = {"load_before": load, "ranks": options.ranks}
    told["models"] = compare_steps(groups, alone, options.chunks)
    first = groups["nccl"].train("ddp 64", 5)[1]
    grown = groups["nccl"].train("ddp 64", options.steps)[1] - first
    for group in (*groups.values(), *alone):
        group.close()
    differ = largest_difference()
    checks = {
        f"memory over {options.steps} steps of DDP, MB": (grown, GROWTH_MB),
        "largest difference of losses on 1, 2 and 4 devices": (differ, LOSSES_DIFFER),
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
