"""shim.py's child: times a chunk of calls for each line [variant, op, calls] that it reads, and
answers µs a call."""

import contextlib
import json
import os
import sys
import time

SHIM = os.environ.get("ACTIVATE_TORCH_DEVICE") == "1"
activation_s = 0.0

if SHIM:
    from compat_shim import activation

    def timed(function):
        def run(*args):
            global activation_s
            begin = time.perf_counter()
            result = function(*args)
            activation_s += time.perf_counter() - begin
            return result

        return run

    activation.prepare = timed(activation.prepare)
    activation.finish = timed(activation.finish)

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


def is_cuda(value):
    if isinstance(value, str):
        return value == "cuda" or value.startswith("cuda:")
    return isinstance(value, torch.device) and value.type == "cuda"


def redirected(function, args, kwargs):
    if is_cuda(kwargs.get("device")):
        kwargs = {**kwargs, "device": "cpu"}
    for position, arg in enumerate(args):
        if is_cuda(arg):
            args = (*args[:position], "cpu", *args[position + 1 :])
    return function(*args, **kwargs)


class FunctionMode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return redirected(function, args, kwargs or {})


class DispatchMode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return redirected(function, args, kwargs or {})


MODES = {
    "nothing": contextlib.nullcontext,
    "function mode": FunctionMode,
    "dispatch mode": DispatchMode,
}


def calls_for(device):
    """Every op, as it is where "cuda" is called `device`."""
    x = torch.ones(1)
    small = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(small.parameters(), lr=1e-3)
    data, target = torch.ones(4, 8), torch.zeros(4, 1)

    def step():
        optimizer.zero_grad()
        loss = (small(data.to(device)) - target.to(device)).square().mean()
        loss.backward()
        optimizer.step()

    return {
        "add": lambda: x + x,
        "size": lambda: x.size(),
        "empty": lambda: torch.empty(2),
        "zeros": lambda: torch.zeros(2),
        "randn": lambda: torch.randn(2),
        "tensor": lambda: torch.tensor(1.0),
        'empty(device="cuda")': lambda: torch.empty(2, device=device),
        "to(same)": lambda: x.to("cpu"),
        "to(float64)": lambda: x.to(torch.float64),
        'Module.to("cuda")': lambda: small.to(device),
        "training step": step,
    }


def time_chunk(call, calls):
    for _ in range(calls // 5 + 1):
        call()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls * 1e6


def main():
    torch.set_num_threads(1)
    # A TorchDispatchMode comes after torch's own check that there is a CUDA to speak of.
    by_device = {device: calls_for(device) for device in (["cuda"] if SHIM else ["cpu", "cuda"])}
    device_of = {"nothing": "cuda" if SHIM else "cpu", "function mode": "cuda", "dispatch mode": "cpu"}
    start = {"torch": torch.__version__, "activation_ms": activation_s * 1e3}
    print(json.dumps(start), flush=True)
    for line in sys.stdin:
        variant, op, calls = json.loads(line)
        with MODES[variant]():
            print(json.dumps(time_chunk(by_device[device_of[variant]][op], calls)), flush=True)


if __name__ == "__main__":
    main()
