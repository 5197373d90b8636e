#!/usr/bin/env python3
"""The cost of the shim's default device for a call that makes a tensor and names no device.

    default_device.py [--rounds N] [--chunks N]

Three processes with a simulated Mac take turns, a chunk of calls at a time: one has no default
device, and its calls name the Mac's; one has the shim's (TORCHDEVICE_DEFAULT_DEVICE); one has that of
torch.set_default_device. A round has fresh processes and gives each the 5th percentile of its chunks;
the table has the median of the rounds, in µs a call. The last row names the CPU in all three. Exit
status 1: the shim adds more than the bound.

The Python that runs this has torch. COMPAT_SHIM_LIBRARY is the shim's library for that torch, as
`runner prepare suites/conformance --python PYTHON` names it.
"""

import argparse
import os
import statistics
import sys
import time

from child import Child

LIMIT_US = 0.3
CALLS = 200  # a chunk
OPS = ("empty(2)", "zeros(2)", "randn(2)", "arange(3)", "tensor(1.0)", 'empty(2, device="cpu")')
WAYS = ("named", "shim", "torch")


def child(way):
    import torch

    torch.set_num_threads(1)
    if way == "torch":
        torch.set_default_device("mps")
    device = torch.device("mps")
    for line in sys.stdin:
        op = line.strip()
        named = way == "named" and "device" not in op
        call = eval(f"lambda: torch.{op[:-1]}, device=device)" if named else f"lambda: torch.{op}", locals())
        for _ in range(CALLS // 5):
            call()
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        print((time.perf_counter() - begin) / CALLS * 1e6, flush=True)


def one_round(chunks):
    """{op: {way: µs a call}}"""
    shim = {"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none", "TORCHDEVICE_SUMMARY": "off"}
    children = {
        way: Child([__file__, "--child", way], {**shim, "TORCHDEVICE_DEFAULT_DEVICE": "on"} if way == "shim" else shim)
        for way in WAYS
    }
    figures = {}
    for op in OPS:
        seen = {way: [] for way in WAYS}
        for _ in range(chunks):
            for way, process in children.items():
                seen[way].append(process.ask(op))
        figures[op] = {way: sorted(times)[len(times) // 20] for way, times in seen.items()}
    for process in children.values():
        process.close()
    return figures


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--chunks", type=int, default=200, help="chunks a way, op and round")
    parser.add_argument("--child", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child)
    if "COMPAT_SHIM_LIBRARY" not in os.environ:
        sys.exit("COMPAT_SHIM_LIBRARY is not set")
    rounds = [one_round(options.chunks) for _ in range(options.rounds)]
    holds = True
    print(f"| call | device named | shim | added (bound {LIMIT_US}) | set_default_device, added |")
    print("|---|---|---|---|---|")
    for op in OPS:
        us = {way: statistics.median(r[op][way] for r in rounds) for way in WAYS}
        added = {way: statistics.median(r[op][way] - r[op]["named"] for r in rounds) for way in WAYS}
        holds = holds and added["shim"] <= LIMIT_US
        print(f"| {op} | {us['named']:.2f} | {us['shim']:.2f} | {added['shim']:+.2f} | {added['torch']:+.2f} |")
    print(f"load: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores; {'holds' if holds else 'DOES NOT HOLD'}")
    sys.exit(not holds)


if __name__ == "__main__":
    main()
