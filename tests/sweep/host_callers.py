#!/usr/bin/env python3
"""Shows which callers inside torch need host memory in mode `full`: removes each row of
compat_shim/redirect/host_callers.py once and lists the cases of tests/shim/machinery that break.

    host_callers.py [GROUP…]         default: everyday, objects, tracing

Runs on a simulated Mac, compared with the same cases without the shim. Exits with 1 if nothing
breaks without some row. COMPAT_SHIM_LIBRARY is the shim's library for the torch of this Python.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "shim/python"))
from compat_shim.redirect.host_callers import HOST_CALLERS  # noqa: E402

GROUPS = ("everyday", "objects", "tracing")
SCRIPT = """
import sys
sys.path[:0] = [{tests!r}, {shim!r}]
if {active}:
    from compat_shim import hook
    from compat_shim.redirect import host_callers
    rows = host_callers.HOST_CALLERS
    host_callers.HOST_CALLERS = rows[:{out}] + rows[{out} + 1:] if {out} >= 0 else rows
    hook.install()
from machinery import harness
if __name__ == "__main__":
    harness.run({group!r}, "cuda" if {active} else "cpu")
"""


def answers(group, active, out=-1):
    script = SCRIPT.format(
        tests=str(ROOT / "tests/shim"), shim=str(ROOT / "shim/python"), active=active, out=out, group=group
    )
    environ = dict(os.environ, OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    if active:
        environ.update(
            ACTIVATE_TORCH_DEVICE="1",
            TORCHDEVICE_SIMULATE="mps",
            TORCHDEVICE_MODE="full",
            PYTORCH_ENABLE_MPS_FALLBACK="1",
        )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], env=environ, capture_output=True, text=True, timeout=600
    )
    if done.returncode != 0:
        return {"(the process)": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout.splitlines()[-1])


def main():
    groups = sys.argv[1:] or GROUPS
    plain = {group: answers(group, False) for group in groups}

    def broken(out):
        return {
            f"{group}.{name}"
            for group in groups
            for name, answer in answers(group, True, out).items()
            if answer != plain[group].get(name)
        }

    always = broken(-1)
    print("with all rows:", ", ".join(sorted(always)) or "nothing breaks")
    torch_folder = pathlib.Path(importlib.util.find_spec("torch").origin).parent
    unneeded = 0
    for index, row in enumerate(HOST_CALLERS):
        path = torch_folder / row.file
        if row.function and row.function not in path.read_text():
            print(f"{row.file}: this torch has no {row.function}")
            continue
        without = sorted(broken(index) - always)
        unneeded += not without
        print(f"without {row.file}{row.function}: {', '.join(without) or 'nothing breaks'}", flush=True)
    return 1 if unneeded else 0


if __name__ == "__main__":
    sys.exit(main())
