"""Run by opinfo.py in a process with a simulated device: child.py TASK DTYPES LIMIT OUTPUT DONE.

Appends a line of JSON a case, an op with a dtype: first that it begins, then what came of it. Cases
before the DONE-th are passed over, so that a process that dies can be followed by another."""

import itertools
import json
import os
import sys
import time
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

DEVICE = os.environ["TORCHDEVICE_SIMULATE"]
SECONDS = 6  # a case, over all its samples
# Kernels that are compiled for CUDA while the program runs: no other device has them.
LEFT_OUT = ("jiterator",)


def cases(dtypes, device):
    for op in op_db:
        if op.name.startswith(LEFT_OUT):
            continue
        for dtype in dtypes:
            if device is None or dtype in op.supported_dtypes(device):
                yield op, dtype


def samples(op, dtype, device, limit, requires_grad=False):
    begun = time.monotonic()
    given = op.sample_inputs(device, dtype, requires_grad=requires_grad)
    for sample in itertools.islice(given, limit):
        yield sample
        if time.monotonic() - begun > SECONDS:
            return


def describe(error):
    return f"{type(error).__name__}: {error}"[:600]


def call(op, sample, device, dtypes=None):
    """On the device that the sample is on; on the CPU with a copy, of other dtypes where they say so."""
    given = (sample.input, list(sample.args), sample.kwargs)
    if device == "cpu":
        given = moved(given, "cpu", dtypes)
    # Its sample puts a tensor on the device that the op wants on the host, whatever the device.
    if op.name == "tensor_split" and isinstance(given[1][0], torch.Tensor):
        given[1][0] = given[1][0].cpu()
    return op(given[0], *given[1], **given[2])


def reference(op, sample, dtype, result):
    """The result with which upstream's suite compares, or why there is none. It is computed on the
    CPU. If that has no kernel for the dtype, it is computed in float32, which counts for half
    precision, Bool and histc alone."""
    try:
        return call(op, sample, "cpu"), None
    except NotImplementedError as caught:
        refusal = describe(caught)
    except Exception as caught:
        return None, describe(caught)
    if not isinstance(result, torch.Tensor):
        return None, refusal
    try:
        wide = call(op, sample, "cpu", {dtype: torch.float32})
    except Exception as caught:
        return None, describe(caught)
    cast_back = dtype in (torch.float16, torch.bfloat16, torch.bool) or op.name == "histc"
    if cast_back:
        return None, None
    return None, None if wide.dtype == result.dtype else refusal


# Absolute and relative, by a sample's dtype: what upstream's suite grants half precision in many ops is
# granted in all. Else torch.testing's own.
TOLERANCES = {torch.float16: (2e-2, 1e-2), torch.bfloat16: (5e-2, 5e-2)}
SEEDS = range(11, 16)


def equals(expected, actual, dtype):
    atol, rtol = TOLERANCES.get(dtype, (None, None))
    try:
        for one, other in zip(list(flat(expected)), list(flat(actual)), strict=True):
            torch.testing.assert_close(other.cpu(), one, atol=atol, rtol=rtol, equal_nan=True)
    except (AssertionError, ValueError):
        return False
    return True


def value_differs(op, sample, dtype, expected, result):
    """Whether the device's result is not the CPU's, of an op whose result no seed changes."""
    if expected is None or equals(expected, result, dtype):
        return False
    others = (with_other_numbers(seed, lambda: call(op, sample, "cpu")) for seed in SEEDS)
    return all(equals(expected, other, dtype) for other in others)


def predict(op, dtype, limit):
    """Whether the op takes samples that are made on the device, as upstream's own suite makes them; and
    where it does, whether that suite has anything to compare its result with, and it is equal."""
    row = {"samples": 0, "error": None, "cpu_error": None, "value": False}
    try:
        for sample in samples(op, dtype, "mps:0", limit):
            row["samples"] += 1
            result = call(op, sample, "mps")
            expected, missing = reference(op, sample, dtype, result)
            row["cpu_error"] = row["cpu_error"] or missing
            row["value"] = row["value"] or value_differs(op, sample, dtype, expected, result)
    except Exception as caught:
        row["error"], row["samples"] = describe(caught), max(row["samples"], 1)
    return row


def made_or_cast(op, dtype, device, limit):
    """Samples of the dtype; where making one needs what no device has of it, float32's, cast."""
    made = []
    try:
        for sample in samples(op, dtype, device, limit):
            made.append((sample.input, sample.args, sample.kwargs))
        return made
    except Exception:
        made = []
    for sample in samples(op, torch.float32, "cpu", limit):
        given = (sample.input, sample.args, sample.kwargs)
        made.append(moved(given, device, {torch.float32: dtype}))
    return made


def asks_for(sample, dtype):
    """Whether a sample has a tensor of the dtype, or names it. Samples of torch._scaled_mm are float8 for
    every dtype, and those of broadcast_shapes have no tensor."""
    input, args, kwargs = sample
    given = [input, list(args), kwargs]
    return kwargs.get("dtype") == dtype or any(each.dtype == dtype for each in flat(given))


def dtypes(op, dtype, limit):
    """Whether the device takes the dtype, and whether OpInfo's list has it."""
    row = {"samples": 0, "error": None, "listed": dtype in op.supported_dtypes(DEVICE)}
    try:
        given = made_or_cast(op, dtype, DEVICE, limit)
    except Exception:
        return row
    given = [sample for sample in given if asks_for(sample, dtype)]
    try:
        for input, args, kwargs in given:
            row["samples"] += 1
            args = list(args)
            if op.name == "tensor_split" and isinstance(args[0], torch.Tensor):
                args[0] = args[0].cpu()
            op(input, *args, **kwargs)
    except Exception as caught:
        row["error"] = describe(caught)
    return row


def flat(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from flat(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from flat(each)


def moved(value, device, dtypes=None):
    """The same on the device: tensors, and the device where an argument is one."""
    if isinstance(value, torch.Tensor):
        copy = value.detach().clone().to(device)
        if dtypes and value.dtype in dtypes:
            copy = copy.to(dtypes[value.dtype])
        return copy.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        made = [moved(each, device, dtypes) for each in value]
        return made if isinstance(value, list) else type(value)(made)
    if isinstance(value, dict):
        return {name: moved(each, device, dtypes) for name, each in value.items()}
    if isinstance(value, (str, torch.device)) and str(value).split(":")[0] in ("cpu", DEVICE):
        return device
    return value


def run(op, sample, device, backward):
    torch.manual_seed(7)
    given = moved((sample.input, sample.args, sample.kwargs), device)
    results = op(given[0], *given[1], **given[2])
    results = list(flat(results))
    if not backward:
        return results
    parts = [each for each in results if each.requires_grad]
    leaves = [each for each in flat(given) if each.requires_grad]
    if not parts or not leaves:
        return []
    total = sum(torch.view_as_real(each).sum() if each.is_complex() else each.sum() for each in parts)
    return list(torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True))


def difference(expected, actual):
    if len(expected) != len(actual):
        return f"{len(actual)} results, not {len(expected)}"
    for one, other in zip(expected, actual):
        try:
            if one.layout != torch.strided:
                one, other = one.to_dense(), other.to_dense()
            torch.testing.assert_close(other.cpu(), one, rtol=1e-4, atol=1e-5, equal_nan=True)
        except AssertionError as error:
            return " ".join(str(error).split())[:200]
    return None


def values(op, dtype, limit, backward=False):
    """Compared with the CPU: equal, random, refused, differs or nothing to compare."""
    if backward and not op.supports_autograd:
        return {"state": "nothing"}
    state, count = "nothing", 0
    try:
        for sample in samples(op, dtype, "cpu", limit, requires_grad=backward):
            try:
                expected = run(op, sample, "cpu", backward)
            except Exception:
                continue  # not a sample that the CPU takes with gradients
            if not expected:
                continue
            count += 1
            torch.rand(3)
            random = difference(expected, with_other_numbers(SEEDS[0], lambda: run(op, sample, "cpu", backward))) is not None
            try:
                actual = run(op, sample, DEVICE, backward)
            except (NotImplementedError, RuntimeError, TypeError) as error:
                return {"state": "refused", "why": describe(error), "samples": count}
            if random:
                state = "random"
                if [each.shape for each in expected] != [each.shape for each in actual]:
                    return {"state": "differs", "why": "shapes of random results", "samples": count}
                continue
            why = difference(expected, actual)
            if why:
                return {"state": "differs", "why": why, "samples": count}
            if state == "nothing":
                state = "equal"
    except Exception as error:
        return {"state": "differs", "why": describe(error), "samples": count}
    return {"state": state, "samples": count}


def with_other_numbers(other, work):
    """Runs `work` with random numbers of another seed, though OpInfo's wrappers set one. If its
    results change, it draws some."""
    seed, torch.manual_seed = torch.manual_seed, lambda _: None
    try:
        seed(other)
        return work()
    finally:
        torch.manual_seed = seed


def gradients(op, dtype, limit):
    return values(op, dtype, limit, backward=True)


TASKS = {
    "predict": (predict, "mps"),
    "dtypes": (dtypes, None),
    "values": (values, "cpu"),
    "gradients": (gradients, "cpu"),
}


def main():
    task, dtypes, limit, output, done = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    work, device = TASKS[task]
    chosen = [getattr(torch, name) for name in dtypes.split(",")]
    with open(output, "a", encoding="utf-8", buffering=1) as file:
        for op, dtype in itertools.islice(cases(chosen, device), int(done), None):
            case = {"op": op.name + op.variant_test_name, "dtype": str(dtype).split(".")[1]}
            file.write(json.dumps({**case, "begins": True}) + "\n")
            file.write(json.dumps({**case, **work(op, dtype, int(limit))}) + "\n")


if __name__ == "__main__":
    main()
