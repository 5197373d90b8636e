#!/usr/bin/env python3
"""The cost of the shim, beside the cost of the same in Python, all in one run.

    shim.py [--rounds N] [--chunks N] [--json FILE]

Five variants take turns, one chunk of calls at a time, so that whatever else the machine does meets
all of them: nothing, nothing again (in another process: the difference is the noise), the shim, a
TorchFunctionMode and a TorchDispatchMode that send CUDA to the CPU. A round has fresh processes and
gives each variant the 5th percentile of its chunks; the table has the median of the rounds, in µs a
call. "cuda" is "cpu" to nothing and to the dispatch mode, which torch asks too late to have it
otherwise. The shim records, with file and line. Exit status 1: a bound does not hold.

The Python that runs this has torch. COMPAT_SHIM_LIBRARY is the shim's library for that torch, as
`runner prepare suites/conformance --python PYTHON` names it.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

from child import Child

VARIANTS = ("nothing", "again", "shim", "function mode", "dispatch mode")

# The most that the shim may add, in µs; 0.05 can be told from nothing on a quiet machine.
FREE, FACTORY, UNBOUND = "no Device argument: +0", "factory: +0.6 µs", ""
LIMITS = {FREE: 0.05, FACTORY: 0.6}
# Name, calls a chunk, bound. The calls are in shim_child.py, under the same names.
OPS = (
    ("add", 100, FREE),
    ("size", 400, FREE),
    ("empty", 100, FACTORY),
    ("zeros", 100, FACTORY),
    ("randn", 100, FACTORY),
    ("tensor", 100, FACTORY),
    ('empty(device="cuda")', 100, FACTORY),
    ("to(same)", 200, UNBOUND),
    ("to(float64)", 100, UNBOUND),
    ('Module.to("cuda")', 20, UNBOUND),
    ("training step", 5, UNBOUND),
)
ACTIVATION_MS = 15.0


def one_round(chunks):
    """{op: {variant: µs a call}}, and the start figures of the child that has the shim."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [str(pathlib.Path(__file__).with_name("shim_child.py"))]
        record = os.path.join(folder, "record.jsonl")
        settings = {"TORCHDEVICE_MODE": "missing", "TORCHDEVICE_RECORD": record}
        children, starts = [], []
        for shim in (None, None, settings):  # each activates alone
            children.append(Child(argv, shim))
            starts.append(children[-1].answer())
        plain, again, shim = children
        turns = (
            ("nothing", plain, "nothing"),
            ("again", again, "nothing"),
            ("shim", shim, "nothing"),
            ("function mode", plain, "function mode"),
            ("dispatch mode", plain, "dispatch mode"),
        )
        figures = {}
        for op, calls, _ in OPS:
            seen = {variant: [] for variant in VARIANTS}
            for _ in range(chunks):
                for name, child, variant in turns:
                    seen[name].append(child.ask(json.dumps([variant, op, calls])))
            figures[op] = {
                name: sorted(times)[len(times) // 20] for name, times in seen.items()
            }
        for child in children:
            child.close()
        return figures, starts[-1]


def row(op, bound, rounds):
    # Differences within a round, where all variants saw the same machine.
    added = {
        name: statistics.median(r[op][name] - r[op]["nothing"] for r in rounds)
        for name in VARIANTS[1:]
    }
    noise = max(abs(r[op]["again"] - r[op]["nothing"]) for r in rounds)
    limit = LIMITS.get(bound)
    us = {name: statistics.median(r[op][name] for r in rounds) for name in VARIANTS}
    return {
        "op": op,
        "us": us,
        "added_us": added,
        "ratio": {name: us[name] / us["nothing"] for name in added},
        "noise_us": noise,
        "bound": bound,
        "holds": None if limit is None else added["shim"] <= limit,
    }


def table(rows):
    yield "| op | nothing | shim | added | ratio | noise | function mode | dispatch mode | bound |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for r in rows:
        us, added = r["us"], r["added_us"]
        modes = [f"{us[mode]:.2f} ({added[mode]:+.2f})" for mode in VARIANTS[3:]]
        verdict = {None: "", True: ": holds", False: ": DOES NOT HOLD"}[r["holds"]]
        cells = [r["op"], f"{us['nothing']:.2f}", f"{us['shim']:.2f}", f"{added['shim']:+.2f}"]
        cells += [f"{r['ratio']['shim']:.2f}", f"±{r['noise_us']:.2f}", *modes]
        yield f"| {' | '.join(cells)} | {r['bound']}{verdict} |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--chunks", type=int, default=200, help="chunks a variant, op and round")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if "COMPAT_SHIM_LIBRARY" not in os.environ:
        sys.exit("COMPAT_SHIM_LIBRARY is not set")
    before = os.getloadavg()
    rounds, starts = zip(*(one_round(options.chunks) for _ in range(options.rounds)))
    rows = [row(op, bound, rounds) for op, _, bound in OPS]
    activation = {
        "added_to_import_ms": statistics.median(s["activation_ms"] for s in starts),
        "slowest_ms": max(s["activation_ms"] for s in starts),
        "bound_ms": ACTIVATION_MS,
    }
    activation["holds"] = activation["added_to_import_ms"] <= ACTIVATION_MS
    print("\n".join(table(rows)))
    print(
        f"activation: {activation['added_to_import_ms']:.1f} ms of import torch (slowest"
        f" {activation['slowest_ms']:.1f}), bound {ACTIVATION_MS:.0f} ms:"
        f" {'holds' if activation['holds'] else 'DOES NOT HOLD'}"
    )
    print(f"load: {before[0]:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores")
    if options.json:
        told = {"rounds": options.rounds, "chunks": options.chunks, "load_before": before[0]}
        told.update(torch=starts[0]["torch"], rows=rows, activation=activation)
        pathlib.Path(options.json).write_text(json.dumps(told, indent=1) + "\n")
    sys.exit(0 if activation["holds"] and all(r["holds"] is not False for r in rows) else 1)


if __name__ == "__main__":
    main()
