#!/usr/bin/env python3
"""The cost of a training step on a simulated device, beside the same step on the CPU, in one run.

    training.py [--chunks N] [--steps N] [--json FILE]

The CPU, the CPU again (another process: the difference is the noise), simulated MPS and simulated
CUDA take turns, one chunk of steps at a time, so that whatever else the machine does meets all of
them. The table has each one's 5th percentile of its chunks in ms a step, and the ratio to the CPU's.
Then every process trains the encoder for --steps more, and the table says what its memory grew by.
Exit status 1: a bound does not hold.

The Python that runs this has torch. COMPAT_SHIM_LIBRARY is the shim's library for that torch, as
`runner prepare suites/conformance --python PYTHON` names it.
"""

import argparse
import json
import os
import pathlib
import sys
import time

from child import Child, memory_mb

DEVICES = {"cpu": None, "cpu again": None, "mps": "mps", "cuda": "cuda"}
STEPS_A_CHUNK = 5
# At most so many times the CPU's step; the others have no bound.
BOUNDS = {"encoder": 1.3, "lstm": 1.6}
MODELS = ("mlp", "cnn", "lstm", "encoder")
GROWTH_MB = 2.0


def child(device):
    """Answers each line `MODEL STEPS` with the seconds a step and the process's memory in MB."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    lstm = nn.LSTM(32, 32)
    made = {
        "mlp": (nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), (32, 64)),
        "cnn": (
            nn.Sequential(
                nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3),
                nn.Flatten(), nn.Linear(16 * 12 * 12, 5),
            ),
            (8, 3, 16, 16),
        ),
        "lstm": (lstm, (10, 8, 32)),
        "encoder": (nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True), (4, 32, 64)),
    }  # fmt: skip

    def step_of(model, shape):
        model.to(device)
        data = torch.randn(shape).to(device)
        optimizer = torch.optim.Adam(model.parameters())

        def step():
            optimizer.zero_grad()
            result = model(data)
            (result[0] if model is lstm else result).square().mean().backward()
            optimizer.step()

        return step

    steps = {name: step_of(*made[name]) for name in MODELS}
    for step in steps.values():
        for _ in range(20):
            step()
    for line in sys.stdin:
        name, count = line.split()
        begin = time.perf_counter()
        for _ in range(int(count)):
            steps[name]()
        seconds = (time.perf_counter() - begin) / int(count)
        print(json.dumps([seconds, memory_mb()]), flush=True)


def started(simulate):
    shim = simulate and {"TORCHDEVICE_SIMULATE": simulate, "TORCHDEVICE_MODE": "none"}
    return Child([__file__, "--child", simulate or "cpu"], shim)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=100, help="chunks a device and model")
    parser.add_argument("--steps", type=int, default=3000, help="steps over which memory is watched")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child)
    if "COMPAT_SHIM_LIBRARY" not in os.environ:
        sys.exit("COMPAT_SHIM_LIBRARY is not set")
    load = os.getloadavg()[0]
    children = {name: started(simulate) for name, simulate in DEVICES.items()}
    holds = True
    told = {"load_before": load, "steps": options.steps, "models": {}, "growth_mb": {}}
    print("| ms a step | " + " | ".join(DEVICES) + " | bound |")
    print("|---|" + "---|" * (len(DEVICES) + 1))
    for model in MODELS:
        seen = {name: [] for name in children}
        for _ in range(options.chunks):
            for name, process in children.items():
                seen[name].append(process.ask(f"{model} {STEPS_A_CHUNK}")[0])
        ms = {name: sorted(times)[len(times) // 20] * 1e3 for name, times in seen.items()}
        ratios = {name: value / ms["cpu"] for name, value in ms.items()}
        bound = BOUNDS.get(model)
        good = bound is None or max(ratios["mps"], ratios["cuda"]) <= bound
        holds = holds and good
        told["models"][model] = {"ms": ms, "ratio": ratios, "bound": bound, "holds": good}
        cells = [f"{value:.2f} (x{ratios[name]:.2f})" for name, value in ms.items()]
        verdict = "" if bound is None else f"x{bound}: {'holds' if good else 'DOES NOT HOLD'}"
        print(f"| {model} | {' | '.join(cells)} | {verdict} |", flush=True)
    for name, process in children.items():
        first = process.ask("encoder 100")[1]
        told["growth_mb"][name] = process.ask(f"encoder {options.steps}")[1] - first
        process.close()
    good = all(grown <= GROWTH_MB for grown in told["growth_mb"].values())
    holds = holds and good
    grown = ", ".join(f"{name} {value:+.1f} MB" for name, value in told["growth_mb"].items())
    print(
        f"memory over {options.steps} steps of the encoder: {grown}; at most {GROWTH_MB:.0f} MB:"
        f" {'holds' if good else 'DOES NOT HOLD'}"
    )
    print(f"load: {load:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(told, indent=1) + "\n")
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
