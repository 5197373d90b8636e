#!/usr/bin/env python3
"""Runs PyTorch's own samples through TorchScript on a simulated device.

    scripted.py mps|cuda [--every N] [--samples N] [NAME…]     NAME: a glob on names of op_db

Each op's first samples (float32) are traced and scripted, and run three times, because the interpreter
specialises its graph after the first run. The results must equal those of the op itself on the device.
Left out are ops that the device refuses without TorchScript, and those that TorchScript refuses on
plain CPU. Exits with 1 on a difference.

The Python that runs this has torch, numpy and expecttest. COMPAT_SHIM_LIBRARY is the shim's library
for that torch, as `runner prepare suites/conformance --python PYTHON` names it.
"""

import argparse
import collections
import fnmatch
import itertools
import os
import pathlib
import subprocess
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

from child import simulated  # noqa: E402

RUNS = 3
CHILD = "COMPAT_SCRIPTED_CHILD"


def moved(value, device):
    import torch
    from torch.utils import _pytree as pytree

    def move(leaf):
        if isinstance(leaf, torch.Tensor):
            return leaf.detach().clone().to(device)
        return torch.device(device) if isinstance(leaf, torch.device) else leaf

    return pytree.tree_map(move, value)


def ways(op):
    """Each way to run a sample through TorchScript: how(args, kwargs) makes a function to call."""
    import torch
    from torch.testing._internal import jit_metaprogramming_utils as utils

    def traced(args, kwargs):
        function, inputs = utils.partial_apply_nontensors(op, args, kwargs)
        made = torch.jit.trace(function, inputs.all_tensors, check_trace=False)
        return lambda: made(*inputs.all_tensors)

    def scripted(args, kwargs):
        function, tensors = utils.gen_script_fn_and_args(op.name, "function", *args, **kwargs)
        return lambda: function(*tensors)

    return {"traced": traced, "scripted": scripted}


def results(make, given, device):
    import torch

    call = make(*moved(given, device))
    for _ in range(RUNS):
        torch.manual_seed(7)
        result = call()
    return result


def difference(make, op, given, device):
    """None; "left out"; or what is wrong, in words."""
    import torch

    def check(where):
        expected = results(lambda args, kwargs: lambda: op(*args, **kwargs), given, where)
        return lambda: torch.testing.assert_close(
            results(make, given, where), expected, equal_nan=True
        )

    try:
        compare = check(device)
        check("cpu")()
    except Exception:
        return "left out"
    try:
        compare()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:200]}"
    return None


def samples(op, count):
    import torch

    given = op.sample_inputs("cpu", torch.float32, requires_grad=False)
    for sample in itertools.islice(given, count):
        yield (sample.input, *sample.args), dict(sample.kwargs)


def child(device, options):
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    counts, wrong = collections.Counter(), []
    chosen = [op for op in op_db if torch.float32 in op.supported_dtypes("cpu")]
    if options.names:
        chosen = [op for op in chosen if any(fnmatch.fnmatchcase(op.name, g) for g in options.names)]
    for op in chosen[:: options.every]:
        if op.name.startswith(("empty", "new_empty")):
            continue  # whose values are whatever was there
        for given in samples(op, options.samples):
            for how, make in ways(op).items():
                found = difference(make, op, given, device)
                counts["left out" if found == "left out" else how] += 1
                if found and found != "left out":
                    wrong.append(f"{op.name}{op.variant_test_name and '.' + op.variant_test_name} {how}: {found}")
    print("\n".join(dict.fromkeys(wrong)))
    print(*(f"{number} {what}" for what, number in counts.items()), sep="\n")
    return 1 if wrong or not counts["traced"] or not counts["scripted"] else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("device", choices=("mps", "cuda"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--every", type=int, default=1, help="each Nth op only")
    parser.add_argument("--samples", type=int, default=3, help="of each op, at most")
    options = parser.parse_args()
    if os.environ.get(CHILD):
        sys.exit(child(options.device, options))
    if "COMPAT_SHIM_LIBRARY" not in os.environ:
        sys.exit("COMPAT_SHIM_LIBRARY is not set")
    command = [sys.executable, *sys.argv]
    sys.exit(subprocess.run(command, env=simulated(options.device, **{CHILD: options.device})).returncode)


if __name__ == "__main__":
    main()
