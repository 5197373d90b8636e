#!/usr/bin/env python3
"""Runs a script on four simulated CUDA devices with a random fault in each run, and says how it ended.

    tests/soak/collective_faults.py [--runs 200] [--seed 1]    needs COMPAT_SHIM_LIBRARY

Each run is torchrun with four ranks, groups of two and of four, and a time-out of 5 s. Exits with 1
if a run outlives its bound, leaves a process behind, or ends in a way that nothing on its output
names.
"""

import argparse
import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT = 5  # of the group, seconds
BOUND = 60  # of a run: start, time-out, torchrun's own grace of 30 s
SCRIPT = f"""
import datetime, os, torch, torch.distributed as dist
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds={TIMEOUT}))
pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 32).cuda(), device_ids=[rank])
for step in range(10):
    model(torch.ones(4, 32, device="cuda")).sum().backward()
    dist.all_reduce(torch.ones(3, device="cuda"), group=pairs[rank // 2])
    dist.all_gather([torch.empty(2, device="cuda") for _ in range(4)], torch.ones(2, device="cuda"))
    if rank % 2 == 0: dist.send(torch.ones(2, device="cuda"), rank + 1)
    else: dist.recv(torch.ones(2, device="cuda"), rank - 1)
dist.barrier()
torch.cuda.synchronize()
print("complete", flush=True)
dist.destroy_process_group()
"""
# Texts that name an end; the first that is found counts.
ENDS = {
    "deadlock": "Deadlock: these ranks wait for each other",
    "mismatch": "Collectives do not match",
    "time-out": "Watchdog caught collective operation timeout",
    "peer lost": "ncclRemoteError",
    "exit": "exits in its call",
}


def processes_with(mark):
    """Those whose environment has the mark."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environ = (folder / "environ").read_bytes()
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in environ and state != "Z":
            found.append(int(folder.name))
    return found


def run_once(number, fault, script):
    """(how it ended, what is wrong with that)"""
    mark = f"COMPAT_FAULT_SOAK={os.getpid()}-{number}"
    name, value = mark.split("=")
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "shim/python/activate"),
        "ACTIVATE_TORCH_DEVICE": "1",
        "TORCHDEVICE_SIMULATE": "cuda",
        "TORCHDEVICE_DEVICES": "4",
        "TORCHDEVICE_FAULT": fault,
        "OMP_NUM_THREADS": "1",
        name: value,
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4", "--standalone", script]
    began = time.monotonic()
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=BOUND)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        for left in processes_with(mark):
            os.kill(left, 9)
        return "hang", f"no end after {BOUND} s: {process.communicate()[0][-2000:]}"
    took = time.monotonic() - began
    time.sleep(0.2)
    if left := processes_with(mark):
        for each in left:
            os.kill(each, 9)
        return "orphan", f"{len(left)} processes left"
    if output.count("complete") == 4 and process.returncode == 0:
        return "complete", None
    end = next((end for end, words in ENDS.items() if words in output), None)
    if end is None or process.returncode == 0:
        errors = "\n".join(line for line in output.splitlines() if "Error" in line)
        return "unnamed", f"exit code {process.returncode} after {took:.0f} s: {errors[:2000]}\n{output[-2000:]}"
    return end, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    ends, bad = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "script.py")
        script.write_text(SCRIPT)
        for number in range(asked.runs):
            kind = draw.choice(["exit", "hang", "slow:300ms", "drop"])
            fault = f"rank={draw.randrange(4)},call={draw.randrange(1, 45)},kind={kind}"
            end, wrong = run_once(number, fault, str(script))
            ends[f"{kind.partition(':')[0]}: {end}"] += 1
            if wrong:
                bad += 1
                print(f"{fault}: {end}: {wrong}", flush=True)
    for end, count in sorted(ends.items()):
        print(f"{count:5} {end}")
    print(f"{asked.runs} runs, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
