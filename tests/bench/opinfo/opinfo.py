#!/usr/bin/env python3
"""How well a simulated MPS device predicts what a Mac refuses, and whether a simulated device's values
are the CPU's.

    opinfo.py predict [--dtypes LIST] [--samples N] [--json FILE]
    opinfo.py dtypes [--dtypes LIST] [--samples N] [--json FILE]
    opinfo.py values | gradients [--device mps|cuda] [--dtypes LIST] [--samples N] [--json FILE]
    opinfo.py score FILE

All from the installed torch: its OpInfo samples, run on the simulated device, and its lists of what
its own suite expects to fail on a Mac (torch.testing._internal.common_mps, and OpInfo's decorators for
TestConsistency). This suite compares a Mac with the CPU: a case is listed where the Mac refuses,
where the CPU does and there is nothing to compare with, and where values differ. `predict` holds
the two against each other in tables of Markdown: for all of these; for the device alone; and for
what the device refuses with a text of MPS's. `values` and `gradients` compare
samples with the CPU, float32 where nothing else is said. `dtypes` runs samples of each dtype on simulated
CUDA and compares what is refused with OpInfo's dtypesIfCUDA. `score` prints the tables of an earlier run's FILE.

The lists are the truth that is measured with: no rule of the simulation may come from them.

The Python that runs this has torch and expecttest. COMPAT_SHIM_LIBRARY is the shim's library for that
torch, as `runner prepare suites/conformance --python PYTHON` names it.
"""

import argparse
import ast
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))

from child import simulated  # noqa: E402

DTYPES = "float32,float16,bfloat16,int64,int32,int16,int8,uint8,bool,complex64"
DEFAULTS = {
    "predict": DTYPES,
    "dtypes": "float16,bfloat16,float32,float64,int64,int32,uint8,bool,complex64",
}
RESTARTS = 20


def run(task, device, dtypes, limit):
    """Every case's line; one that its process did not outlive is an error of its own."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "cases"
        for _ in range(RESTARTS):
            command = [sys.executable, str(HERE / "child.py"), task, dtypes, str(limit), str(output)]
            done = subprocess.run([*command, str(len(rows))], env=simulated(device))
            lines = [json.loads(line) for line in output.read_text().splitlines()]
            rows += [line for line in lines if "begins" not in line]
            output.unlink()
            if done.returncode == 0:
                return rows
            if not lines or "begins" not in lines[-1]:
                sys.exit(f"{task}: exit {done.returncode} outside any case")
            died = f"the process ended with {done.returncode}"
            rows.append({**lines[-1], "samples": 1, "error": died, "state": "differs", "why": died})
    sys.exit(f"{task}: more than {RESTARTS} processes died")


def lists():
    """The names of common_mps.py that are tables of their own, whichever function they are in."""
    import torch
    from torch.testing._internal import common_mps

    found = {}
    for node in ast.walk(ast.parse(pathlib.Path(common_mps.__file__).read_text())):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if (
            isinstance(target, ast.Name)
            and target.id.isupper()
            and isinstance(node.value, (ast.Dict, ast.Set))
        ):
            value = compile(ast.Expression(node.value), common_mps.__file__, "eval")
            found.setdefault(target.id, eval(value, {"torch": torch}))
    return found


class Truth:
    """Upstream's expectation for an op and a dtype: True, it fails; False; None, it is not run."""

    def __init__(self):
        import torch
        from torch.testing._internal.common_methods_invocations import op_db

        self.torch = torch
        self.lists = lists()
        self.ops = {op.name + op.variant_test_name: op for op in op_db}

    def listed(self, name, op, dtype):
        table = self.lists[name]
        return op in table and (table[op] is None or dtype in table[op])

    def decorated(self, op, dtype):
        said = None
        for each in self.ops[op].decorators:
            active = getattr(each, "is_active", None)
            if not active or not active("TestConsistency", "test_output_match", "mps", dtype, {}):
                continue
            if any(mark is unittest.expectedFailure for mark in each.decorators):
                return "fails"
            if any("skip" in getattr(mark, "__qualname__", "") for mark in each.decorators):
                said = "skipped"
        return said

    def __call__(self, op, dtype_name):
        dtype = getattr(self.torch, dtype_name)
        decorated = self.decorated(op, dtype)
        unrun = ("SKIPLIST", "EMPTY_OPS_SKIPLIST", "UNDEFINED_XFAILLIST")
        if decorated == "skipped" or any(self.listed(name, op, dtype) for name in unrun):
            return None
        return (
            decorated == "fails"
            or self.listed("UNIMPLEMENTED_XFAILLIST", op, dtype)
            or self.listed("ON_MPS_XFAILLIST", op, dtype)
            or dtype.is_complex
            and self.lacks_complex(op)
        )

    def lacks_complex(self, op):
        """Up to torch 2.14 the suite lists the ops that have complex numbers; from 2.15 on those that
        have none."""
        if "UNSUPPORTED_COMPLEX_OPS" in self.lists:
            return op in self.lists["UNSUPPORTED_COMPLEX_OPS"]
        return op not in self.lists["SUPPORTED_COMPLEX_OPS"]


def mps_texts():
    """A pattern that tells an error of the device from one of the CPU's kernel below it."""
    rules = json.loads((ROOT / "shim/simulate/mps_refusals.json").read_text())
    found = [rule for section in rules["refusals"] for rule in section["rules"]]
    texts = [re.escape(rule["text"]) for rule in found if "text" in rule]
    texts = [re.sub(r"\\\{\w+\\\}", ".*", text) for text in texts]
    return re.compile("|".join(["MPS", "Failed to create function state object", *texts]))


def table(rows, fails):
    truth = Truth()
    figures = collections.defaultdict(collections.Counter)
    wrong = []
    for row in rows:
        expected = truth(row["op"], row["dtype"]) if row["samples"] else None
        if expected is None:
            continue
        said = fails(row)
        kind = ("tn", "fn")[expected] if not said else ("fp", "tp")[expected]
        figures[row["dtype"]][kind] += 1
        figures["all"][kind] += 1
        if kind in ("fp", "fn"):
            wrong.append((kind, row))
    return figures, wrong


def rate(part, whole):
    return f"{part / whole:.3f}" if whole else "–"


def print_figures(figures):
    print("| dtype | precision | recall | hits | false alarms | misses | rightly silent |")
    print("|---|---|---|---|---|---|---|")
    for dtype, count in sorted(figures.items(), key=lambda each: each[0] == "all"):
        hits, alarms, misses = count["tp"], count["fp"], count["fn"]
        print(
            f"| {dtype} | {rate(hits, hits + alarms)} | {rate(hits, hits + misses)} "
            f"| {hits} | {alarms} | {misses} | {count['tn']} |"
        )


def print_prediction(rows, detail):
    known = mps_texts()

    def has_no_text(row):
        """The device computes: what fails is that the result is not the CPU's, or that there is none."""
        return not row["error"] and (row["cpu_error"] or row["value"])

    comparable = [row for row in rows if not has_no_text(row)]

    def device_says_so(row):
        return bool(row["error"] and known.search(row["error"]))

    readings = (
        (
            "The lists' test fails: the device refuses, there is nothing to compare with, or values differ",
            rows,
            lambda row: bool(row["error"] or row["cpu_error"] or row["value"]),
        ),
        ("The device refuses", rows, lambda row: bool(row["error"])),
        ("The device refuses with a text of MPS's", rows, device_says_so),
        ("The same, where there is something to compare with, and it is equal", comparable, device_says_so),
    )
    for title, chosen, fails in readings:
        figures, wrong = table(chosen, fails)
        print(f"\n{title}\n")
        print_figures(figures)
        if detail:
            for kind, row in sorted(wrong, key=lambda each: (each[0], each[1]["op"])):
                print(f"{kind} {row['op']} {row['dtype']} {(row['error'] or '')[:100]} {'value' * row['value']}")


def print_dtypes(rows):
    figures = collections.defaultdict(collections.Counter)
    for row in rows:
        if row["samples"]:
            kind = ("tp", "fp")[row["listed"]] if row["error"] else ("fn", "tn")[row["listed"]]
            figures[row["dtype"]][kind] += 1
            figures["all"][kind] += 1
    print_figures(figures)


def print_values(rows):
    count = collections.Counter(row["state"] for row in rows)
    compared = count["equal"] + count["random"] + count["differs"]
    print(f"\n{compared} ops compared: {count['equal']} equal, {count['random']} random, of equal shape,")
    print(f"{count['differs']} not; {count['refused']} refused, {count['nothing']} with nothing to compare")
    print(f"\nequal or random: {rate(count['equal'] + count['random'], compared)}\n")
    for state in ("differs", "refused"):
        for row in rows:
            if row["state"] == state:
                print(f"- {state}: {row['op']}: {row['why'][:160]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("task", choices=("predict", "dtypes", "values", "gradients", "score"))
    parser.add_argument("file", nargs="?", help="of an earlier run, for score")
    parser.add_argument("--device", choices=("mps", "cuda"), default="mps", help="of values, gradients")
    parser.add_argument("--dtypes", default=None)
    parser.add_argument("--samples", type=int, default=200, help="at most, a case")
    parser.add_argument("--json", help="where the cases go, one a line")
    parser.add_argument("--detail", action="store_true", help="each case that the lists see otherwise")
    options = parser.parse_args()
    if options.task == "score":
        lines = pathlib.Path(options.file).read_text().splitlines()
        rows = [json.loads(line) for line in lines]
    else:
        if options.task == "dtypes":
            options.device = "cuda"
        dtypes = options.dtypes or DEFAULTS.get(options.task, "float32")
        if options.task == "predict" and options.device != "mps":
            parser.error("upstream lists what it expects to fail for mps alone")
        rows = run(options.task, options.device, dtypes, options.samples)
        if options.json:
            pathlib.Path(options.json).write_text("".join(json.dumps(row) + "\n" for row in rows))
    if "state" in rows[0]:
        print_values(rows)
    elif "listed" in rows[0]:
        print_dtypes(rows)
    else:
        print_prediction(rows, options.detail)


if __name__ == "__main__":
    main()
