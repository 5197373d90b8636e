"""Tests which device requests end on, by what torch reaches, and what a program is told of it."""

import sys
import types

import pytest
import torch

from conftest import CUDA_HARDWARE, SHIM, older_than

sys.path.insert(0, str(SHIM / "python"))
from compat_shim import hosts, patching, summary  # noqa: E402
from compat_shim.cuda import names  # noqa: E402

CUDA = {"_cuda_getDeviceCount": lambda: pytest.fail("a driver was asked")}
MPS = {"_has_mps": True, "_mps_is_available": lambda: True}
XPU = {"_xpu_getDeviceCount": lambda: 1}


@pytest.mark.parametrize(
    "native, files, visible, host",
    [
        ({}, [], None, "cpu"),
        ({}, ["nvidia0"], None, "cpu"),
        (CUDA, [], None, "cpu"),
        (CUDA, ["nvidia0", "nvidia1"], None, "cuda"),
        (CUDA, ["nvidia0"], "0", "cuda"),
        (CUDA, ["nvidia0"], "", "cpu"),
        (CUDA, ["nvidia0"], "-1", "cpu"),
        (CUDA, ["nvidiactl"], None, "cpu"),
        (MPS, [], None, "mps"),
        ({**MPS, "_mps_is_available": lambda: False}, [], None, "cpu"),
        (XPU, [], None, "xpu"),
        ({"_xpu_getDeviceCount": lambda: 0}, [], None, "cpu"),
    ],
)
def test_the_host_is_what_torch_reaches(native, files, visible, host, tmp_path, monkeypatch):
    for name in files:
        (tmp_path / name).touch()
    monkeypatch.setattr(hosts, "_DEVICE_FILES", (str(tmp_path / "nvidia[0-9]*"),))
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert hosts.found(types.SimpleNamespace(**native)) == host


def test_a_host_with_cuda_gets_what_is_asked_of_mps(starting_child):
    ran = starting_child(
        """
import json, torch
x, y = torch.ones(2, 2, device="mps"), torch.ones(2, 2, device="cuda:1")
with torch.autocast("mps", dtype=torch.float16):
    product = torch.mm(x, x)
with torch.autocast("cuda", dtype=torch.bfloat16):
    own = torch.mm(x, x)
print(json.dumps([str(each.device) for each in (x, y, product)]
    + [str(product.dtype), str(own.dtype), torch.is_autocast_enabled("cuda")]))
""",
        env=CUDA_HARDWARE,
    )
    assert ran.answer == [
        "cuda:0", "cuda:1", "cuda:0", "torch.float16", "torch.bfloat16", False,
    ]
    assert {(e["from"], e["to"]) for e in ran.devices(kind="redirect")} == {("mps", "cuda")}
    (session,) = [line for line in ran.record if line["event"] == "session"]
    assert (session["host"], session["simulated"]) == ("cuda", None)


def test_torch_mps_answers_on_a_host_without_mps(warm_child):
    ran = warm_child(
        """
import json, torch
x = torch.ones(256, device="mps")
start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
start.record(); torch.mps.synchronize(); torch.mps.empty_cache(); end.record(); end.synchronize()
torch.mps.manual_seed(3); a = torch.mps.get_rng_state(); torch.mps.set_rng_state(a)
torch.mps.set_per_process_memory_fraction(0.5)
print(json.dumps([
    str(x.device), torch.backends.mps.is_available(), torch.mps.device_count(),
    torch.mps.current_allocated_memory() >= 1024, torch.mps.driver_allocated_memory() >= 1024,
    torch.mps.recommended_max_memory() > 1 << 20, start.elapsed_time(end) >= 0, end.query()]))
"""
    )
    assert ran.answer == ["cpu", False, 0, True, True, True, True, True]
    (synchronize,) = ran.devices(op="torch.mps.synchronize")
    assert (synchronize["kind"], synchronize["from"], synchronize["to"]) == ("redirect", "mps", "cpu")


STREAMS = """
first, stream = torch.mps.default_stream(), torch.mps.Stream()
with torch.mps.stream(stream):
    inside = torch.mps.current_stream() == stream
    y = torch.ones(2, device="mps") + 1
stream.synchronize(); torch.mps.default_stream().synchronize()
event = torch.mps.Event(); event.record(); event.synchronize()
with stream as entered: within = entered is stream and torch.mps.current_stream() == stream
stream.wait_event(stream.record_event()); stream.wait_stream(first)
try:
    with stream: event.record()
except NotImplementedError as error: off_default = str(error)  # torch's own Python
print(json.dumps([
    off_default, within, stream.is_capturing(), inside, torch.mps.current_stream() == first, stream == first, stream.query(), y.tolist()]))
"""
STREAMS_ANSWER = ["Non-default streams are not yet supported.", True, False, True, True, False, True, [2, 2]]
needs_streams = pytest.mark.skipif(
    not hasattr(torch.mps, "Stream"), reason="torch.mps has streams from torch 2.15 on"
)


@needs_streams
@pytest.mark.parametrize("early", [True, False])
def test_streams_of_torch_mps_answer_on_a_host_without_mps(child, early):
    late = "import os; del os.environ['ACTIVATE_TORCH_DEVICE']\nimport torch\nos.environ['ACTIVATE_TORCH_DEVICE'] = '1'\nimport TorchDevice\n"
    ran = child(("" if early else late) + "import json, torch\n" + STREAMS)
    assert ran.answer == STREAMS_ANSWER
    assert {"torch.mps.Stream", "torch.mps.current_stream", "torch.mps.set_stream"} <= {
        line["op"] for line in ran.devices(kind="redirect")
    }


@pytest.mark.parametrize("simulated", [None, "mps"])
def test_streams_of_mps_have_the_names_of_a_build_for_macos(warm_child, simulated):
    names = ["_MPSStreamBase", "_mps_setStream", "_mps_getCurrentStream"]
    ran = warm_child(
        f"import json, torch\nprint(json.dumps([hasattr(torch._C, name) for name in {names}]))",
        env={"TORCHDEVICE_SIMULATE": simulated},
    )
    since_214, since_215 = not older_than("2.14"), not older_than("2.15")
    assert ran.answer == [since_214, since_214, since_215]


def test_an_event_of_torch_mps_may_outlive_the_program(child):
    ran = child("import torch\ndef holding_the_module(): pass\nevent = torch.mps.Event()")
    assert (ran.returncode, ran.stderr) == (0, "")


@needs_streams
def test_streams_of_simulated_mps(warm_child):
    ran = warm_child("import json, torch\n" + STREAMS, env={"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none"})
    assert ran.answer == STREAMS_ANSWER


def test_a_cpu_build_keeps_its_names():
    """A CPU build's own names are not removed; names that torch's Python adds to a build without
    CUDA are not among them."""
    if torch.version.cuda:
        pytest.skip("this torch has CUDA")
    own = {
        name
        for name, value in vars(torch._C).items()
        if getattr(value, "__module__", None) not in ("torch._utils", "torch.cuda.gds")
    }
    native = types.ModuleType("torch._C")
    vars(native).update({name: getattr(torch._C, name) for name in own})
    names.remove(native)
    assert own - set(vars(native)) == set()


PROGRAM = """
import subprocess, sys, torch
def ones(): return torch.ones(2, device="cuda")
for _ in range(3): ones()
torch.zeros(2, device="cuda")
try: torch.cuda.CUDAGraph()
except NotImplementedError: pass
if len(sys.argv) == 1: subprocess.run([sys.executable, __file__, "child"], check=True)
"""
LINE = (
    "compat_shim: 4 requests redirected at 2 places, 1 call refused at 1 place; "
    "TORCHDEVICE_RECORD=FILE writes them down"
)


@pytest.mark.parametrize(
    "env, lines",
    [
        ({}, [LINE]),
        ({"TORCHDEVICE_SUMMARY": "off"}, []),
        ({"TORCHDEVICE_RECORD": "record.jsonl"}, []),
    ],
)
def test_a_program_ends_with_one_line_where_nobody_else_reports(child, env, lines):
    ran = child(PROGRAM, env={"TORCHDEVICE_RECORD": None, **env})
    assert ran.returncode == 0
    assert [line for line in ran.stderr.splitlines() if "compat_shim" in line] == lines


def test_what_a_torch_lacks_is_left_out_and_named(monkeypatch):
    module = types.ModuleType("a_torch")
    module.Kind = type("Kind", (), {"ask": lambda self: 1})
    monkeypatch.setitem(sys.modules, "a_torch", module)
    monkeypatch.setattr(patching, "missing", [])
    for owner, name in (("a_torch.Kind", "ask"), ("a_torch.Kind", "gone"), ("a_torch.old", "ask")):
        patching.patch(owner, name, lambda original: lambda self: original(self) + 1)
    assert module.Kind().ask() == 2
    assert patching.missing == ["a_torch.Kind.gone", "a_torch.old.ask"]


def test_no_function_is_missing_from_this_torch(started_child):
    (session,) = [line for line in started_child.record if line["event"] == "session"]
    assert "missing" not in session


def test_the_line_of_a_program_that_asked_for_nothing():
    assert summary.line([]) == "no request was redirected"
