#!/usr/bin/env python3
"""Measures what the device library costs where nothing goes wrong: a call through device_safe (bound:
2 µs), and a call of the manager with the log off and on. Needs COMPAT_SHIM_LIBRARY and a quiet machine."""

import argparse
import os
import statistics
import sys
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--calls", type=int, default=200_000)
parser.add_argument("--rounds", type=int, default=9)
options = parser.parse_args()
if "COMPAT_SHIM_LIBRARY" not in os.environ:
    parser.error("set COMPAT_SHIM_LIBRARY to what `runner prepare` prints as shim:")
sys.path.insert(0, os.path.dirname(os.environ["COMPAT_SHIM_LIBRARY"]))

import torch  # noqa: E402
from compat_devices import DeviceLog, DeviceManager, device_safe  # noqa: E402

manager, log = DeviceManager(device="cpu"), DeviceLog.instance()
x = torch.ones(1)


def nothing(x):
    return x


def add(x):
    return x + 1


def seconds(call):
    """For one call with x, in the fastest of the rounds."""
    best = []
    for _ in range(options.rounds):
        begun = time.perf_counter()
        for _ in range(options.calls):
            call(x)
        best.append((time.perf_counter() - begun) / options.calls)
    return min(best), statistics.median(best)


def line(name, call):
    fastest, median = seconds(call)
    print(f"{name:48} {fastest * 1e6:8.3f} µs   (median {median * 1e6:.3f})")
    return fastest


plain = line("a function", nothing)
safe = line("the same through device_safe", device_safe(nothing))
line("x + 1", add)
line("x + 1 through device_safe", device_safe(add))
log.disable()
never = line("ensure_device, log never on", manager.ensure_device)
log.enable()
line("ensure_device, log on", manager.ensure_device)
log.disable()
off = line("ensure_device, log off again", manager.ensure_device)
converted = torch.ones(1, dtype=torch.float64)
x = converted
line("ensure_dtype that converts, log off", lambda x: manager.ensure_dtype(x, "fp32"))
line("x.to(torch.float32)", lambda x: x.to(torch.float32))
log.enable()
line("ensure_dtype that converts, log on", lambda x: manager.ensure_dtype(x, "fp32"))
log.disable()
overhead = safe - plain
print(f"overhead of device_safe: {overhead * 1e6:.3f} µs a call (bound 2 µs)")
sys.exit(overhead > 2e-6)
