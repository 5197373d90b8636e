#!/usr/bin/env python3
"""Compares PyTorch's own samples under the shim on "cuda" with plain CPU, bit by bit.

    sweep.py [--every N | --sample N] [NAME…]   NAME: a glob on entries, "ops/nn.functional.*", "export/*"

The samples are those of torch.testing._internal (op_db, module_db, optim_db, hop_db), float32,
forward and backward. The ops of both databases also run traced, exported and transformed
(transforms.py); these entries must be named: "*" is all. Each half runs in children of its own (child.py); what came out is compared here: inputs,
outputs, gradients, errors. exceptions.json lists what may differ, each with its reason; the sweep
fails on any other difference, and on an exception that is no longer one.

The Python that runs this has torch, numpy and expecttest. COMPAT_SHIM_LIBRARY is the shim's library
for that torch, as `runner prepare suites/conformance --python PYTHON` names it.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLAIN = ("ops/*", "modules/*", "optims/*", "hops/*")
PARTS = ("inputs", "error", "outputs", "gradients")
EXCEPTIONS = json.loads((HERE / "exceptions.json").read_text())


def environment(shim):
    ours = ("ACTIVATE_", "COMPAT_", "TORCHDEVICE_", "TORCH_ALLOW", "PYTHON", "CUDA_")
    environ = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    # Some samples come in the order of a set.
    environ.update(OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
    environ.update({k: v for k, v in os.environ.items() if k == "PYTHONPATH"})
    if shim:
        paths = [str(ROOT / "shim/python/activate"), os.environ.get("PYTHONPATH", "")]
        environ.update(
            PYTHONPATH=os.pathsep.join(p for p in paths if p),
            ACTIVATE_TORCH_DEVICE="1",
            COMPAT_SHIM_LIBRARY=os.environ["COMPAT_SHIM_LIBRARY"],
            TORCHDEVICE_MODE="missing",
        )
    return environ


def names(globs, every, sample):
    script = "import child; print('\\n'.join(name for name, _, _ in child.entries()))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=HERE, env=environment(False), text=True,
        stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    found = done.stdout.split()
    assert len(set(found)) == len(found), "two entries of one name"
    globs = globs or PLAIN
    found = [name for name in found if any(fnmatch.fnmatchcase(name, g) for g in globs)]
    if sample:
        found = random.Random(0).sample(found, min(sample, len(found)))
    return found[::every]


def half(shim, wanted, folder):
    """{name: result}. An entry whose child process died has that as its result."""
    told, left, attempt = {}, wanted, 0
    while left:
        attempt += 1
        out = pathlib.Path(folder) / f"{'shim' if shim else 'plain'}-{attempt}.jsonl"
        done = subprocess.run(
            [sys.executable, str(HERE / "child.py"), str(out), *left], env=environment(shim),
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        for line in out.read_text().splitlines() if out.exists() else ():
            entry = json.loads(line)
            told[entry["entry"]] = entry
        left = [name for name in wanted if name not in told]
        if left:
            told[left[0]] = {"entry": left[0], "samples": [], "error": f"died: {done.returncode}"}
            left = left[1:]
    return told


def compare(plain, shim):
    """{part: how many samples differ in it}, and the first difference in words."""
    differs, first = collections.Counter(), None
    if len(plain["samples"]) != len(shim["samples"]):
        differs["inputs"] += 1
        first = (len(plain["samples"]), len(shim["samples"]))
    for number, (a, b) in enumerate(zip(plain["samples"], shim["samples"])):
        part = next((part for part in PARTS if a.get(part) != b.get(part)), None)
        if part:
            differs[part] += 1
            first = first or (f"sample {number}", *one_difference(a.get(part), b.get(part)))
    return differs, first


def one_difference(a, b):
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next((x, y) for x, y in zip(a, b) if x != y)
    return a, b


def judge(wanted, plain, shim, exceptions):
    """(lines about differences, lines about counts)"""
    wrong, count, unasked = [], collections.Counter(), []
    for name in wanted:
        a, b = plain[name], shim[name]
        wrong += [f"broke off: {name}: {half['error']}" for half in (a, b) if "error" in half]
        differs, first = compare(a, b)
        found = [each for names, each in exceptions.items() if fnmatch.fnmatchcase(name, names)]
        expected = {part for each in found for part in each["differs"]}
        if differs.keys() - expected:
            wrong.append(f"differs: {name}: {dict(differs)} of {len(a['samples'])}: {first}")
        wrong += [f"no longer differs in {part}: {name}" for part in expected - differs.keys()]
        ran = [sample for sample in a["samples"] if "error" not in sample]
        count["entries"] += 1
        count["entries equal in every sample"] += not differs
        count["exceptions"] += bool(expected)
        count["samples"] += len(a["samples"])
        count["samples that run on plain CPU"] += len(ran)
        count["samples with gradients"] += sum(s["gradients"] != ["None"] for s in ran)
        count["requests redirected"] += b.get("redirected", 0)
        if not b.get("redirected"):
            unasked.append(name)
    if not count["requests redirected"]:
        wrong.append("no request was redirected: nothing was shown")
    told = [f"{number} {what}" for what, number in count.items()]
    return wrong, told + [f"no request in: {', '.join(unasked) or 'none'}"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--every", type=int, default=1, help="each Nth entry only")
    parser.add_argument("--sample", type=int, help="as many entries, the same ones each time")
    parser.add_argument("--keep", help="folder for what the children wrote")
    options = parser.parse_args()
    if "COMPAT_SHIM_LIBRARY" not in os.environ:
        sys.exit("COMPAT_SHIM_LIBRARY is not set")
    wanted = names(options.names, options.every, options.sample)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        with concurrent.futures.ThreadPoolExecutor() as pool:
            plain, shim = pool.map(lambda on: half(on, wanted, folder), (False, True))
    wrong, told = judge(wanted, plain, shim, EXCEPTIONS)
    print("\n".join(wrong + told))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
