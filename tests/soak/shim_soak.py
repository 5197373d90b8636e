"""shim_soak.py PYTHON: 10,000,000 redirections from one site, then 100,000 code objects made by
exec, each in a process of its own: exact counts, and memory that does not grow with them.

PYTHON has torch; COMPAT_SHIM_LIBRARY names the shim built for it. Prints one line a soak and ends
with 1 where one is out of bounds. tests/shim/test_recording.py does the same with small numbers.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ACTIVATE = pathlib.Path(__file__).resolve().parents[2] / "shim" / "python" / "activate"
# Allowed growth after the warm-up, for what malloc keeps. One byte for each redirection would be
# 10 MB.
ALLOWED_BYTES = 4 << 20

COMMON = """
import gc, json, os, time, torch, compat_shim.state
library = compat_shim.state.library
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
def soak(run, warm_up, count):
    run(warm_up)
    before, began = resident(), time.perf_counter()
    run(count - warm_up)
    seconds = time.perf_counter() - began
    grown = resident() - before
    print(json.dumps({"grown": grown, "sites": library.site_count(), "seconds": seconds}))
"""
SOAKS = {
    "redirections from one site": (
        10_000_000,
        """
def run(n):
    for _ in range(n): torch.zeros(1, device="cuda")
""",
    ),
    "code objects made by exec": (
        100_000,
        """
def run(n):
    for _ in range(n): exec(compile("torch.zeros(1, device='cuda')", "<made>", "exec"))
""",
    ),
}


def main(python):
    good = True
    for name, (count, run) in SOAKS.items():
        with tempfile.TemporaryDirectory() as folder:
            record = pathlib.Path(folder) / "record"
            environ = {
                **os.environ,
                "ACTIVATE_TORCH_DEVICE": "1",
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": str(ACTIVATE),
                "TORCHDEVICE_RECORD": str(record),
            }
            script = f"{COMMON}{run}soak(run, {count // 10}, {count})"
            done = subprocess.run(
                [python, "-c", script], env=environ, stdout=subprocess.PIPE, text=True, check=True
            )
            answer = json.loads(done.stdout)
            lines = [json.loads(line) for line in record.read_text().splitlines()]
        counted = sum(line["count"] for line in lines if line["event"] == "device")
        fine = counted == count and answer["grown"] <= ALLOWED_BYTES and answer["sites"] <= 1
        good = good and fine
        print(
            f"{name}: {count:,} asked, {counted:,} counted, {answer['sites']} sites in memory, "
            f"{answer['grown'] / 1024:,.0f} KiB grown after the first tenth, "
            f"{answer['seconds']:.1f} s: {'good' if fine else 'OUT OF BOUNDS'}"
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
