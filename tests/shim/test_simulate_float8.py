"""Tests float8 on simulated MPS: from torch 2.15 on tensors have float8_e4m3fn, and a few kernels take
it."""

import pytest

from conftest import SIMULATED, older_than

has_float8 = pytest.mark.skipif(older_than("2.15"), reason="MPS has float8 from torch 2.15 on")

SETUP = """
import json, sys, torch
from torch.nn import functional as F
def values(device, f8):
    i = torch.tensor([1, 0], device=device)
    x = (torch.arange(24.0).reshape(4, 6) - 9).to(device).to(f8)
    mask = torch.tensor([True, False, True, False], device=device)
    put, filled = x.clone(), x.clone()
    put[i] = x[2:]; filled[mask] = 3
    return [
        x, x.half(), x.int(), torch.ones(2, dtype=f8, device=device), torch.zeros(2, dtype=f8, device=device), x[i], x[mask],
        x[:, i], x.t().contiguous(), x.flip(1), x.gather(0, i[None]), x.scatter(0, i[None], x[2:]), put, filled,
        x.masked_fill(mask[:, None], 2), torch.cat([x, x]), F.pad(x, (1, 1)), x == x[0], x != 2, x.isnan(), x.roll(1),
        F.embedding(i, x), torch.eye(2, dtype=f8, device=device), x.permute(1, 0), torch.tensor(torch.equal(x, x), device=device),
    ]
def products(device):
    x = (torch.arange(512.0) % 7).reshape(16, 32).to(device).to(torch.float8_e4m3fn)
    one, y = torch.tensor(2.0, device=device), torch.eye(32, dtype=torch.float8_e4m3fn, device=device)
    tensorwise, rowwise = F.ScalingType.TensorWise, F.ScalingType.RowWise
    rows, columns = torch.full((16, 1), 2.0, device=device), torch.ones(1, 32, device=device)
    return [
        F.scaled_mm(x, y, one, tensorwise, one, tensorwise, output_dtype=torch.bfloat16),
        F.scaled_mm(x, y, rows, rowwise, columns, rowwise, bias=columns[0].half(), output_dtype=torch.half),
    ]
def raised(call):
    try: call()
    except Exception as error: return [type(error).__name__, str(error)]
"""


@has_float8
def test_tensors_of_float8_have_the_cpus_values(warm_child):
    ran = warm_child(
        SETUP
        + """
# The CPU's kernels take less of float8; half precision holds the same small integers.
here = [*values("mps", torch.float8_e4m3fn), *products("mps")]
there = [*values("cpu", torch.half), *products("cpu")]
dtypes = torch.accelerator.get_device_capability()["supported_dtypes"]
print(json.dumps([
    [i for i, (a, b) in enumerate(zip(here, there))
     if a.device.type != "mps" or not torch.equal(a.cpu().float(), b.float())],
    [a.dtype is torch.float8_e4m3fn for a in (here[0], *here[3:12])],
    torch.float8_e4m3fn in dtypes, torch.float8_e5m2 in dtypes, repr(here[0][0, :2])]))
""",
        env=SIMULATED["mps"],
    )
    assert ran.answer == [[], [True] * 10, True, False, "tensor([-9., -8.], device='mps:0', dtype=torch.float8_e4m3fn)"]
    assert ran.devices(kind="refusal") == []


REFUSED = {
    "x + x": "Failed to create function state object for: add_dense_float8_e4m3fn_float8_e4m3fn",
    "x.abs()": "Failed to create function state object for: abs_dense_float8_e4m3fn_float8_e4m3fn",
    "x @ x": "Failed to create function state object for: matmul_float8_e4m3fn",
    "torch.where(x == x, x, x)": "Failed to create function state object for: where_dense_float8_e4m3fn_bool",
    "x.sum()": "Trying to convert Float8_e4m3fn to the MPS backend but it does not have support for that dtype.",
    "F.linear(x, x)": "Trying to convert Float8_e4m3fn to the MPS backend but it does not have support for that dtype.",
}


@has_float8
def test_other_kernels_refuse_float8_and_are_counted(warm_child):
    script = SETUP + f"""
x = torch.ones(2, 2, device="mps").to(torch.float8_e4m3fn)
print(json.dumps([raised(lambda: eval(call)) for call in {list(REFUSED)!r}]))
"""
    ran = warm_child(script, env=SIMULATED["mps"])
    assert [text for _, text in ran.answer] == list(REFUSED.values())
    assert {kind for kind, text in ran.answer if text.startswith("Trying")} == {"TypeError"}
    assert sum(line["count"] for line in ran.devices(kind="refusal")) == len(REFUSED)


@pytest.mark.skipif(not older_than("2.15"), reason="MPS has float8 from torch 2.15 on")
def test_older_torch_has_no_float8_on_mps(warm_child):
    script = SETUP + 'print(json.dumps(raised(lambda: torch.ones(2, device="mps").to(torch.float8_e4m3fn))))'
    kind, text = warm_child(script, env=SIMULATED["mps"]).answer
    assert (kind, text) == (
        "TypeError", "Trying to convert Float8_e4m3fn to the MPS backend but it does not have support for that dtype."
    )
