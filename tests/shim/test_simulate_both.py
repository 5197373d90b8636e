"""Tests what both simulated devices do alike, in child processes: TorchScript, indices and values on
other devices, integer division, memory."""

import pytest

DEVICES = {"mps": {"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none"},
           "cuda": {"TORCHDEVICE_SIMULATE": "cuda"}}  # fmt: skip
SETUP = """
import json, sys, torch
from torch.nn import functional as F
d = {device!r}
here = torch.ones(1, device=d).device
def on(values, dtype=None): return torch.tensor(values, dtype=dtype, device=d)
def raised(call, *args, **kwargs):
    try: call(*args, **kwargs)
    except Exception as error: return [type(error).__name__, str(error)]
"""


@pytest.fixture(params=DEVICES)
def on_device(request, child):
    """Runs a script with a simulated device `d`; its last line of output is JSON. `on_device.name` is
    "mps" or "cuda"."""

    def run(script, **env):
        return child(SETUP.format(device=request.param) + script, env={**DEVICES[request.param], **env})

    run.name = request.param
    return run


def test_torchscript_indexes_with_tensors(on_device):
    """The interpreter's lists of indices have refined types, or lack the optional one."""
    ran = on_device(
        """
def masked(x, i, v): return x[x > 2]
def taken(x, i, v): return x[:, i]
def assigned(x, i, v):
    x = x.clone(); x[x > 2] = v; return x
def added(x, i, v): return x.clone().index_put_([i], v, accumulate=True)
def half(x, i, v): return x.half().index_put([i], v.half(), accumulate=True)
def joined(x, i, v): return torch.cat([x, x + 1]).sum()
def einsum(x, i, v): return torch.einsum("ij,kj->ik", [x, x])
arguments = on([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), on([0, 1]), on(7.0)
answers = {}
for function in (masked, taken, assigned, added, half, joined, einsum):
    scripted = torch.jit.script(function)
    for _ in range(3):
        one = scripted(*arguments)
    two = torch.jit.trace(function, arguments)(*arguments)
    expected = function(*arguments)
    answers[function.__name__] = torch.equal(one, expected) and torch.equal(two, expected)
print(json.dumps(answers))
"""
    )
    assert len(ran.answer) == 7 and all(ran.answer.values()), ran.answer
