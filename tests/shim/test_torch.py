"""Tests torch under the shim: profiler, late ops, ops without a device, the conformance suite."""

import re
import runpy

import pytest

from conftest import LEFT_OUT, ROOT, in_folder


def test_the_profiler_profiles_without_noise(warm_child, tmp_path):
    ran = warm_child(
        """
import json, sys, torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
def work():
    with record_function("stage"):
        return (torch.ones(2, device="cuda") * 2).sum().item()
both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
ready = []
def on_ready(p): ready.append(sorted({e.key for e in p.key_averages()} & {"stage", "aten::ones"}))
with profile(activities=both, record_shapes=True, profile_memory=True) as one:
    work()
one.export_chrome_trace(sys.argv[0] + ".json")
with profile(activities=[ProfilerActivity.CUDA]) as two: work()
with profile(schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=on_ready) as three:
    for _ in range(4): work(); three.step()
with torch.autograd.profiler.profile(use_device="cuda") as four: work()
with torch.autograd.profiler.emit_nvtx(record_shapes=True): work()
with torch.cuda.nvtx.range("range"): work()
table = one.key_averages().table(sort_by="cuda_time_total", row_limit=5)
trace = json.load(open(sys.argv[0] + ".json"))
print(json.dumps([
    [any("ones" in e.key for e in p.key_averages()) for p in (one, two, four)], ready,
    "stage" in {event.get("name") for event in trace["traceEvents"]},
    "Self CPU time total" in table]))
"""
    )
    assert ran.answer == [[True, True, True], [["aten::ones", "stage"]], True, True]
    # torch itself prints a message for each profile, and in a build with CUDA that there is no GPU;
    # before 2.13 also, once, that its library for profiles of a GPU has none, and a warning.
    own = re.compile(
        r"USDT:|ERROR:.* DeviceProperties.cpp:\d+\] gpuGetDeviceCount failed"
        r"|(WARNING|INFO):.* init.cpp:\d+\] .*(CUPTI|cbapi)"
        r"|.*profiler.py:\d+: UserWarning: Warning: Profiler clears events|  _warn_once\("
    )
    assert [line for line in ran.stderr.splitlines() if not own.match(line)] == []


def test_a_late_registered_op_is_redirected_through_its_calls(warm_child):
    """The op's own Device argument reaches its kernel unchanged."""
    ran = warm_child(
        """
import json, torch
library = torch.library.Library("late", "DEF")
library.define("made(int n, *, Device device) -> Tensor")
seen = []
def made(n, *, device):
    seen.append(str(device))
    return torch.ones(n, device=device)
library.impl("made", made, "CompositeImplicitAutograd")
x = torch.ops.late.made(3, device="cuda:0")
print(json.dumps([x.device.type, seen]))
"""
    )
    assert ran.answer == ["cpu", ["cuda:0"]]
    assert [(e["op"], e["line"]) for e in ran.devices()] == [("aten::ones", 8)]


def test_ops_without_a_device_are_unchanged(warm_child):
    script = """
import json, torch
torch.manual_seed(0)
x = torch.randn(64, 64)
y = torch.linalg.qr(x).R.sum() + torch.fft.fft(x).abs().sum() + torch.nn.functional.gelu(x).sum()
y = y + x.to(x).sum() + torch.sort(x).values[0, 0] + torch.einsum("ij,jk->", x, x)
print(json.dumps(float(y)))
"""
    active = warm_child(script)
    assert active.answer == warm_child(script, active=False).answer
    assert active.devices() == []


def test_cuda_visible_devices_is_respected(warm_child):
    script = """
import json, torch
try:
    name = torch.cuda.get_device_name()[-9:]
except RuntimeError as error:
    name = str(error)
print(json.dumps([torch.cuda.is_available(), torch.cuda.device_count(), name]))
"""
    none = [False, 0, "No CUDA GPUs are available"]
    for visible, expected in (("", none), ("-1", none), ("0", [True, 1, "(as CUDA)"])):
        assert warm_child(script, env={"CUDA_VISIBLE_DEVICES": visible}).answer == expected


@pytest.mark.parametrize("active", [True, False])
def test_the_conformance_suite_passes_or_skips(warm_child, active):
    """All tests pass under the shim; without it, each is skipped with a reason."""
    script = in_folder(ROOT / "suites" / "conformance") + """
import io, json, unittest
loader = unittest.TestLoader()
found = loader.discover("tests", top_level_dir=".")
collected = found.countTestCases()  # testsRun: without skipped tests in Python 3.12.1
outcome = unittest.TextTestRunner(stream=io.StringIO()).run(found)
print(json.dumps({
    "not imported": loader.errors,
    "collected": collected,
    "bad": [f"{test}: {text}" for test, text in outcome.failures + outcome.errors],
    "skipped": len(outcome.skipped),
    "reasons": sorted({reason for _, reason in outcome.skipped}),
}))
"""
    answer = warm_child(script, active=active).answer
    assert answer["not imported"] == [] and answer["bad"] == []
    assert answer["collected"] >= 100
    assert active or answer["skipped"] == answer["collected"]
    reasons = [reason for reason in answer["reasons"] if not LEFT_OUT.match(reason)]
    assert reasons == ([] if active else ["the shim is not active in this process"])


@pytest.mark.parametrize(
    ("name", "definitions"),
    [
        ("v4_gcc_libstdcpp_cxxabi1018", 'PYBIND11_COMPILER_TYPE="_gcc";PYBIND11_BUILD_ABI="_cxxabi1018"'),
        ("v5_clang_libcpp_cxxabi1002", 'PYBIND11_COMPILER_TYPE="_clang";PYBIND11_BUILD_ABI="_cxxabi1002"'),
        ("v11_system_libstdcpp_gxx_abi_1xxx_use_cxx11_abi_1", ""),
    ],
)
def test_the_build_names_the_compiler_as_torchs_pybind11_does(tmp_path, name, definitions):
    library = tmp_path / "lib/libtorch_python.so"
    library.parent.mkdir()
    library.write_bytes(f"\0__pybind11_internals_{name}__\0".encode())
    ask = runpy.run_path(str(ROOT / "shim/ask_python.py"))
    assert ask["pybind11_definitions"](str(tmp_path)) == definitions
