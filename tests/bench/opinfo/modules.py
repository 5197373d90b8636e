#!/usr/bin/env python3
"""How well simulated MPS predicts on which modules of torch.nn torch's own suite fails on a Mac.

    modules.py [--dtypes LIST] [--json FILE] [--detail]

The modules and their inputs are torch's (torch.testing._internal.common_modules); so is the truth: what its
decorators skip for MPS alone or expect to fail there, by test. A test that they skip on every device is not
run. The tests are done here as upstream's test_modules.py does them: `test_forward` calls the module and
compares with its reference, if it has one, `test_non_contiguous_tensors` compares results and gradients of strided
inputs with those of contiguous ones, `test_memory_format` moves module and input to channels_last and
looks at the format of the result. Every result is compared with the CPU's as well.

No rule of the simulation may come from these lists. COMPAT_SHIM_LIBRARY is set as for opinfo.py.
"""

import argparse
import collections
import copy
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import opinfo

DTYPES = "float32,float16"
SECONDS = 3  # a test, over all its inputs
TESTS = ("test_forward", "test_non_contiguous_tensors", "test_memory_format")
LIMITS = {"float32": (1e-4, 1e-4), "float16": (5e-2, 5e-2), "bfloat16": (5e-2, 5e-2)}


def active(info, test, dtype, training):
    """The decorators of a test, each with whether it is for MPS alone."""
    for each in info.decorators:
        if each.is_active("TestModule", test, "mps", dtype, {"training": training}):
            for mark in each.decorators:
                name = getattr(mark, "__qualname__", type(mark).__qualname__)
                yield mark, name, each.device_type == "mps" or "MPS" in name


def fails_on_a_mac(info, test, dtype, training):
    """True; False; None: the test is not run."""
    run = False
    for _, name, only_here in active(info, test, dtype, training):
        if ("skip" in name or "expectedFailure" in name) and only_here:
            return True
        if "skip" in name:
            run = None
    return run


class Trial:
    """One module with one dtype and mode."""

    def __init__(self, torch, info, dtype, training):
        self.torch, self.info, self.dtype, self.training = torch, info, dtype, training
        self.limits = dict(zip(("rtol", "atol"), LIMITS[str(dtype).split(".")[1]]))

    def inputs(self, gradients=False, device="mps"):
        given = self.info.module_inputs_func(
            self.info, device=device, dtype=self.dtype, requires_grad=gradients, training=self.training
        )
        begun = time.monotonic()
        for each in given:
            if each.forward_input is not None:
                yield each
            if time.monotonic() - begun > SECONDS:  # references are loops in Python
                return

    def module(self, each, device):
        self.torch.manual_seed(7)
        made = each.constructor_input
        module = self.info.module_cls(*made.args, **made.kwargs).to("cpu", self.dtype)
        return module.to(device).train(self.training)

    def mapped(self, value, change):
        if isinstance(value, self.torch.Tensor):
            return change(value)
        if isinstance(value, (list, tuple)):
            return type(value)(self.mapped(item, change) for item in value)
        if isinstance(value, dict):
            return {name: self.mapped(item, change) for name, item in value.items()}
        return value

    def call(self, module, each, device, change=lambda tensor: tensor):
        given, named = self.arguments(each, device, change)
        self.torch.manual_seed(7)
        return module(*given, **named)

    def arguments(self, each, device, change=lambda tensor: tensor):
        def place(tensor):
            moved = change(tensor.detach().clone().to(device)).detach()
            return moved.requires_grad_(tensor.requires_grad)

        return tuple(self.mapped(part, place) for part in (each.forward_input.args, each.forward_input.kwargs))

    def limits_of(self, test):
        """Those of upstream's assertEqual, where the list has none of its own."""
        for mark, _, _ in active(self.info, test, self.dtype, self.training):
            if self.dtype in getattr(mark, "d", ()):
                return {"atol": mark.d[self.dtype].atol, "rtol": mark.d[self.dtype].rtol}
        return {"atol": None, "rtol": None}

    def flat(self, value):
        return [each for each in self.torch.utils._pytree.tree_leaves(value)
                if isinstance(each, self.torch.Tensor)]

    def same(self, one, other, limits=None):
        for ours, theirs in zip(self.flat(one), self.flat(other), strict=True):
            if ours.is_nested or theirs.is_nested:
                continue
            self.torch.testing.assert_close(ours.cpu(), theirs.cpu(), equal_nan=True, **(limits or self.limits))

    def test_forward(self):
        for each in self.inputs():
            module = self.module(each, "mps")
            result = self.call(module, each, "mps")
            if each.reference_fn is not None:
                given, named = self.arguments(each, "mps")
                expected = each.reference_fn(module, *given, **named)
                self.same(result, expected, self.limits_of("test_forward"))

    def test_non_contiguous_tensors(self):
        torch = self.torch

        def strided(tensor):
            if tensor.dim() == 0 or tensor.is_nested or tensor.is_sparse:
                return tensor
            return torch.repeat_interleave(tensor, 2, dim=-1)[..., ::2]

        def with_gradients(each, change):
            module = self.module(each, "mps")
            result = self.call(module, each, "mps", change)
            wanted = [part for part in self.flat(result) if part.requires_grad]
            if wanted:
                torch.autograd.backward(wanted, [torch.ones_like(part) for part in wanted])
            return result, [p.grad for p in module.parameters() if p.grad is not None]

        for each in self.inputs(gradients=True):
            self.same(with_gradients(each, lambda t: t), with_gradients(each, strided))

    def test_memory_format(self):
        torch = self.torch
        formats = {4: torch.channels_last, 5: torch.channels_last_3d}
        for each in self.inputs():
            module = self.module(each, "mps")
            self.call(module, each, "mps")  # a lazy one has no parameters before
            dims = max((t.dim() for t in self.flat(each.forward_input.args)), default=0)
            parameters = (part.dim() for part in module.parameters())
            if dims not in formats or max(parameters, default=dims) > dims:  # without a batch
                continue
            if not self.info.module_memformat_affects_out:
                continue
            format = formats[dims]
            module = module.to(memory_format=format)
            last = lambda tensor: tensor.to(memory_format=format) if tensor.dim() == dims else tensor
            for part in self.flat(self.call(module, each, "mps", last)):
                assert part.dim() != dims or part.is_contiguous(memory_format=format), "format of the result"

    def equals_the_cpu(self):
        for each in self.inputs(device="cpu"):
            module = self.module(each, "mps")
            result = self.call(module, each, "mps")
            here = copy.deepcopy(module).to("cpu")  # with a lazy one's parameters
            try:
                expected = self.call(here, each, "cpu")
            except NotImplementedError:  # the CPU has no kernel for half precision
                continue
            self.same(result, expected)


def run_here(dtypes, output):
    import torch
    import torch.utils._pytree
    from torch.testing._internal.common_modules import module_db

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for info, name in itertools.product(module_db, dtypes.split(",")):
        dtype = getattr(torch, name)
        if dtype not in info.supported_dtypes("mps"):
            continue
        for training in (True, False) if info.train_and_eval_differ else (True,):
            trial = Trial(torch, info, dtype, training)
            for test in (*TESTS, "equals_the_cpu"):
                truth = fails_on_a_mac(info, test, dtype, training) if test in TESTS else False
                error = None
                try:
                    getattr(trial, test)()
                except Exception as caught:
                    error = f"{type(caught).__name__}: {caught}"[:300]
                row = {"module": info.name, "dtype": name, "training": training, "test": test,
                       "fails": truth, "error": error}
                output.write(json.dumps(row) + "\n")


def print_scores(rows, detail):
    print("| test | dtype | precision | recall | hits | false alarms | misses | rightly silent | not run |")
    print("|---|---|---|---|---|---|---|---|---|")
    for test, dtype in itertools.product(TESTS, [*DTYPES.split(","), "all"]):
        chosen = [row for row in rows if row["test"] == test and dtype in ("all", row["dtype"])]
        kinds = collections.Counter(
            (bool(row["error"]), row["fails"]) for row in chosen if row["fails"] is not None
        )
        hits, alarms = kinds[True, True], kinds[True, False]
        misses, silent = kinds[False, True], kinds[False, False]
        print(f"| {test} | {dtype} | {opinfo.rate(hits, hits + alarms)} | {opinfo.rate(hits, hits + misses)} "
              f"| {hits} | {alarms} | {misses} | {silent} | {len(chosen) - sum(kinds.values())} |")
    compared = [row for row in rows if row["test"] == "equals_the_cpu"]
    equal = sum(not row["error"] for row in compared)
    print(f"\n{equal} of {len(compared)} modules give the CPU's results")
    for row in rows if detail else ():
        if bool(row["error"]) != bool(row["fails"]):
            print(row["module"], row["dtype"], row["training"], row["test"], row["fails"], row["error"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dtypes", default=DTYPES)
    parser.add_argument("--json", help="where the cases go, one a line")
    parser.add_argument("--detail", action="store_true", help="each case that the lists see otherwise")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        with open(options.child, "w", encoding="utf-8", buffering=1) as output:
            return run_here(options.dtypes, output)
    with tempfile.TemporaryDirectory() as folder:
        output = options.json or os.path.join(folder, "cases")
        command = [sys.executable, __file__, "--dtypes", options.dtypes, "--child", output]
        subprocess.run(command, env=opinfo.simulated("mps"), check=True)
        lines = pathlib.Path(output).read_text(encoding="utf-8").splitlines()
    print_scores([json.loads(line) for line in lines], options.detail)


if __name__ == "__main__":
    main()
