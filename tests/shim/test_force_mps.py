"""Tests mode `full` on a simulated Mac: requests for the CPU or no device go to the accelerator,
and programs still work. tests/sweep/host_callers.py shows which rows they need."""

import pytest

from conftest import older_than
from machinery import cases

ON_MPS = {
    "TORCHDEVICE_SIMULATE": "mps",
    "TORCHDEVICE_MODE": "full",
    "PYTORCH_ENABLE_MPS_FALLBACK": "1",
}


@pytest.fixture
def on_mps(warm_child):
    def run(script, **env):
        return warm_child("import json, torch\nfrom torch import nn\n" + script, env={**ON_MPS, **env})

    return run


def test_requests_for_the_cpu_go_to_the_device(on_mps):
    ran = on_mps(
        """
def place(x): return str(x.device)
def f(x): return x + torch.ones(2)
print(json.dumps([place(each) for each in (
    torch.ones(2), torch.tensor([1.0]), torch.ones(2, device="cpu"), torch.ones(2, device="cuda"),
    torch.ones(2).cpu(), torch.ones(2).to("cpu"), torch.as_tensor([1.0]), torch.arange(3),
    nn.Linear(1, 1).weight, nn.Linear(1, 1).to("cpu").weight, torch.rand(2), torch.eye(2),
    torch.compile(f, backend="aot_eager")(torch.zeros(2)),
    torch.rand(2, generator=torch.Generator("cuda")),
    torch.rand(2, generator=torch.Generator()), torch.frombuffer(bytearray(4), dtype=torch.float32),
    torch.ones(2, device="meta"),
    torch.ones(2, device="cpu:-1"), torch.ones(2), torch.ones(2, device="cuda"))]))
"""
    )
    assert ran.answer == ["mps:0"] * 14 + ["cpu", "cpu", "meta"] + ["cpu"] * 3
    # One for each process: the compiler of torch 2.8 starts one.
    sessions = [line for line in ran.record if line["event"] == "session"]
    told = {(each["mode"], each["host"], each["masquerade"]) for each in sessions}
    assert told == {("full", "mps", False)}
    assert {(e["op"], e["from"], e["to"]) for e in ran.devices(kind="redirect")} >= {
        ("aten::ones", "cpu", "mps:0"), ("torch.tensor", "cpu", "mps:0"), ("aten::ones", "cuda", "mps:0"),
        ("aten::to.dtype_layout", "cpu", "mps:0"),
    }


def test_missing_operators_are_refused_by_name(on_mps):
    ran = on_mps(
        """
errors = []
for call in (lambda: torch.ones(2, dtype=torch.float64), lambda: torch.tensor([1.0], dtype=torch.float64)):
    try: call()
    except TypeError as error: errors.append(str(error))
print(json.dumps(errors))
"""
    )
    assert len(ran.answer) == 2
    assert all(error.startswith("Cannot convert a MPS Tensor to float64") for error in ran.answer)


def test_pinned_memory_is_the_macs(on_mps):
    """Before torch 2.14 a Mac has none (test_simulated_memory.py)."""
    ran = on_mps(
        """
x = torch.ones(2).pin_memory()
made = torch.empty(2, pin_memory=True)
print(json.dumps([str(x.device), str(made.device), made.is_pinned()]))
"""
    )
    assert ran.answer == ["mps:0", *(["mps:0", False] if older_than("2.14") else ["cpu", True])]
    assert [e["op"] for e in ran.devices(kind="stub")] == ["torch.Tensor.pin_memory"]


GROUPS = ("everyday", "compiling", "tracing", "transforms", "objects")
# Cases that use float64, or return the device of tensors.
NOT_ON_A_MAC = {
    ("tracing", "aot_export"),
    ("tracing", "dispatch_mode"),
    ("tracing", "fake_tensors"),
    ("tracing", "fake_tensors_of_symbolic_shape"),
    ("transforms", "gradcheck"),
    ("objects", "module_moves"),
}


@pytest.mark.parametrize("group", GROUPS)
def test_programs_give_the_same_results_in_mode_full(machinery, plain, group):
    without, under = plain(group).answer, machinery(group, "cuda", ON_MPS).answer
    differ = {name: under[name] for name in cases(group) if under[name] != without[name]}
    expected = {name for of, name in NOT_ON_A_MAC if of == group}
    if group == "everyday" and older_than("2.13"):  # a worker's batch is in host memory
        expected.add("batches_of_workers")
    assert set(differ) == expected, differ
    assert not any("raised" in answer for answer in without.values())
