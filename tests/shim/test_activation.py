"""Tests when the shim activates in a process, and when it does not."""

import os
import pathlib
import re
import shutil
import sys
import textwrap

import pytest

from conftest import ACTIVATE, SHIM

VERSION = re.search(r'^__version__ = "(.+)"$', (SHIM / "python/compat_shim/__init__.py").read_text(), re.M)[1]

CUDA_WORKS = """
import json, sys, torch
print(json.dumps([torch.cuda.is_available(), torch.ones(2, device="cuda").device.type]))
"""


def test_a_program_written_for_cuda_runs_unedited(started_child):
    assert started_child.answer == [True, "cpu"]


def test_without_the_variable_nothing_is_redirected(starting_child):
    script = """
import json, sys, threading, torch
try:
    torch.ones(2, device="cuda")
    raised = None
except (AssertionError, RuntimeError) as error:  # of a CPU build, and of one with CUDA
    raised = type(error).__name__
print(json.dumps({
    "shim": [name for name in sys.modules if name.startswith(("compat_shim", "_compat_shim"))],
    "finders": [type(finder).__module__ for finder in sys.meta_path],
    "available": torch.cuda.is_available(),
    "pretended": torch._C._has_cuda and torch.version.cuda is None,
    "thread": threading.Thread._bootstrap_inner.__qualname__,
    "raised": raised,
}))
"""
    for value in (None, "0", "true"):
        ran = starting_child(script, active=False, env={"ACTIVATE_TORCH_DEVICE": value})
        answer = ran.answer
        assert answer["shim"] == [] and "compat_shim.importing" not in answer["finders"]
        assert (answer["available"], answer["pretended"]) == (False, False)
        assert answer["thread"] == "Thread._bootstrap_inner"
        assert answer["raised"] in ("AssertionError", "RuntimeError")
        assert ran.record == []


def test_the_shim_does_not_import_torch(starting_child):
    ran = starting_child("import json, sys; print(json.dumps(sorted(n for n in sys.modules if 'torch' in n)))")
    assert ran.answer == []
    assert [line["event"] for line in ran.record] == ["watch"]


def test_a_python_without_torch_is_not_affected(starting_child):
    python = os.path.realpath(sys._base_executable)
    script = """
import importlib.util, json, compat_shim
compat_shim.begin_test("a"); compat_shim.end_test()
print(json.dumps([importlib.util.find_spec("torch") is None, compat_shim.active(), compat_shim.sites()]))
"""
    answer = starting_child(script, python=python).answer
    if not answer[0]:
        pytest.skip("the base interpreter has a torch of its own")
    assert answer == [True, False, []]


def test_importing_torchdevice_without_torch_is_harmless(starting_child):
    python = os.path.realpath(sys._base_executable)
    script = "import json, TorchDevice; print(json.dumps(TorchDevice.__version__))"
    assert starting_child(script, python=python).answer == VERSION


@pytest.mark.parametrize("active", [True, False])
def test_another_sitecustomize_still_runs(starting_child, tmp_path, active):
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import sys; sys.other_ran = __file__\n")
    path = os.pathsep.join([str(ACTIVATE), str(other)])
    script = """
import json, sys, torch
print(json.dumps([sys.other_ran, sys.modules["sitecustomize"].__file__, torch.cuda.is_available()]))
"""
    expected = str(other / "sitecustomize.py")
    answer = starting_child(script, active=active, env={"PYTHONPATH": path}).answer
    assert answer == [expected, expected, active]


@pytest.mark.parametrize("framework", ["unittest", "pytest"])
def test_the_shim_works_under_test_frameworks(starting_child, tmp_path, framework):
    (tmp_path / "test_cuda.py").write_text(
        textwrap.dedent(
            """
            import unittest, torch

            class CudaTest(unittest.TestCase):
                @unittest.skipUnless(torch.cuda.is_available(), "no CUDA")
                def test_device(self):
                    self.assertEqual(torch.ones(2, device="cuda").tolist(), [1, 1])
            """
        )
    )
    ran = starting_child("", argv=["-m", framework, "-v", "test_cuda.py"])
    output = ran.stdout + ran.stderr
    assert ran.returncode == 0, output
    assert ("1 passed" in output) if framework == "pytest" else ("Ran 1 test" in output)
    assert "skipped" not in output
    (event,) = ran.devices(op="aten::ones")
    assert (event["file"], event["line"]) == (str(tmp_path / "test_cuda.py"), 7)


@pytest.mark.parametrize("first, second", [("torch", "TorchDevice"), ("TorchDevice", "torch")])
def test_torchdevice_works_before_and_after_torch(late_child, starting_child, first, second):
    script = f"""
import {first}
import {second}
import json, torch
with torch.cuda.stream(torch.cuda.Stream()) as context:
    event = torch.cuda.Event(enable_timing=True)
    event.record()
TorchDevice.apply_patches()
print(json.dumps([
    TorchDevice.__version__, str(TorchDevice.get_default_device()), torch.cuda.is_available(),
    torch.ones(2, device="cuda").device.type, torch.cuda.mem_get_info()[1] > 0,
    torch.cuda.get_device_properties(0).major, torch.cuda.nvtx.range_push("a"),
    isinstance(torch.cuda.Stream(), torch.Stream)]))
"""
    if first == "torch":
        answer = late_child(script).answer
    else:
        answer = starting_child(script, env={"PYTHONPATH": str(SHIM / "python")}).answer
    assert answer == [VERSION, "cpu", True, "cpu", True, 7, 0, True]


def test_a_late_activation_is_known_to_the_compiler(late_child):
    script = """
import json, torch, torch._dynamo
@torch.compile(backend="eager", fullgraph=True)
def asks(x):
    return x + 1 if torch.cuda.is_available() else x
before = asks(torch.zeros(1)).item()
import TorchDevice
torch._dynamo.reset()
x = torch.zeros(1)
print(json.dumps([before, asks(x).item(), torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)).item()]))
"""
    answer = late_child(script).answer
    assert answer == [0.0, 1.0, 1.0]


def test_torchdevice_does_nothing_without_the_variable(late_child):
    script = """
import json, torch, TorchDevice
TorchDevice.apply_patches()
print(json.dumps([torch.cuda.is_available(), str(TorchDevice.get_default_device())]))
"""
    ran = late_child(script, active=False)
    assert ran.answer == [False, "cpu"]


def test_a_second_activation_changes_nothing(warm_child):
    script = """
import json, threading, torch, TorchDevice
from compat_shim import hook
before = (threading.Thread._bootstrap_inner, torch.autocast.__enter__, torch.cuda.Stream)
hook.install()
after = (threading.Thread._bootstrap_inner, torch.autocast.__enter__, torch.cuda.Stream)
torch.ones(2, device="cuda")
import compat_shim
print(json.dumps([before == after, sum(site["count"] for site in compat_shim.sites())]))
"""
    ran = warm_child(script)
    assert ran.answer == [True, 1]
    assert [line["event"] for line in ran.record].count("session") == 1


def test_subprocesses_of_a_test_are_redirected_too(warm_child):
    script = """
import json, subprocess, sys, torch
code = "import torch; print(torch.zeros(1, device='cuda').device)"
print(json.dumps(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout))
"""
    ran = warm_child(script)
    assert ran.answer == "cpu\n"
    sessions = [line["pid"] for line in ran.record if line["event"] == "session"]
    assert len(sessions) == len(set(sessions)) == 2
    (event,) = ran.devices(op="aten::zeros")
    assert event["pid"] == sessions[1] and event["file"] == "<string>"


def test_the_library_is_not_tied_to_where_it_was_built(warm_child, library, tmp_path):
    for part in pathlib.Path(library).parent.glob("_compat_*.so"):
        shutil.copy(part, tmp_path)
    moved = tmp_path / pathlib.Path(library).name
    for simulated, device in ((None, "cpu"), ("mps", "mps")):
        env = {"COMPAT_SHIM_LIBRARY": str(moved), "TORCHDEVICE_SIMULATE": simulated}
        assert warm_child(CUDA_WORKS, env={**env, "TORCHDEVICE_MASQUERADE": "off"}).answer == [True, device]


def test_the_record_starts_with_a_session_line(started_child):
    import torch

    watch, session, asked = started_child.record
    assert asked["event"] == "device"
    assert watch == {"event": "watch", "format": 1, "pid": session["pid"]}
    session = dict(session)
    pid = session.pop("pid")
    assert isinstance(pid, int)
    assert session == {
        "event": "session",
        "format": 1,
        "shim": VERSION,
        "torch": torch.__version__,
        "host": "cpu",
        "mode": "missing",
        "simulated": None,
        "masquerade": False,
    }


@pytest.mark.parametrize(
    "env, mode",
    [
        ({"TORCHDEVICE_MODE": None}, "full"),
        ({"TORCHDEVICE_MODE": "full"}, "full"),
        ({"TORCHDEVICE_MODE": None, "TORCH_ALLOW_REDIRECTS": "true"}, "full"),
        ({"TORCHDEVICE_MODE": "missing", "TORCH_ALLOW_REDIRECTS": "true"}, "missing"),
    ],
)
def test_which_mode_applies(warm_child, env, mode):
    ran = warm_child(CUDA_WORKS, env=env)
    assert ran.answer == [True, "cpu"]
    assert ran.record[1]["mode"] == mode


REFUSALS = {
    "no library": ({"COMPAT_SHIM_LIBRARY": None}, "needs COMPAT_SHIM_LIBRARY"),
    "a library that is not there": ({"COMPAT_SHIM_LIBRARY": "/nowhere.so"}, "/nowhere.so"),
    "a file that is no library": ({"COMPAT_SHIM_LIBRARY": __file__}, "is not the shim's library"),
    "an unknown mode": ({"TORCHDEVICE_MODE": "some"}, "must be one of missing, full, none"),
    "nothing to do": ({"TORCHDEVICE_MODE": "none"}, "is for a simulated device"),
    "an unknown level": ({"TORCHDEVICE_LOG_LEVEL": "LOUD"}, "must be one of DEBUG, INFO"),
    "no device to simulate": ({"TORCHDEVICE_SIMULATE": "xpu"}, "must be one of mps, cuda"),
    "too many devices": (
        {"TORCHDEVICE_SIMULATE": "cuda", "TORCHDEVICE_DEVICES": "9"},
        "TORCHDEVICE_DEVICES=9: must be one of 1, 2",
    ),
    "a host that is not there": ({"TORCHDEVICE_HOST": "mps"}, "torch reaches cpu in this process"),
    "a host that nobody registers": ({"TORCHDEVICE_HOST": "npu"}, "torch has no such device"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refused_activation_prints_one_line(starting_child, case):
    env, message = REFUSALS[case]
    ran = starting_child(CUDA_WORKS, env=env)
    assert ran.returncode == 1
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ") and message in last


@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_a_device_is_simulated(starting_child, device):
    script = f"""
import json, torch
print(json.dumps(str(torch.ones(2, device="{device}").device)))
"""
    ran = starting_child(script, env={"TORCHDEVICE_SIMULATE": device, "TORCHDEVICE_MODE": "none"})
    assert ran.answer == f"{device}:0"
    assert ran.record[1]["simulated"] == device and ran.record[1]["host"] == device


@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_simulation_is_refused_if_torch_has_mps(starting_child, device):
    """Sets flags of torch._C, before torch reads them, as on a Mac."""
    script = """
from compat_shim import importing
act = importing._actions["torch._C"]
def with_flags(module):
    module._has_mps, module._mps_is_available = True, lambda: True
    act(module)
importing._actions["torch._C"] = with_flags
import torch
"""
    ran = starting_child(script, env={"TORCHDEVICE_SIMULATE": device})
    assert ran.returncode == 1
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ") and "this torch has mps of its own" in last


def test_a_second_import_of_torch_raises_the_same_refusal(starting_child):
    script = """
import json
messages = []
for _ in range(3):
    try:
        import torch
    except ImportError as error:
        messages.append(str(error))
print(json.dumps(messages))
"""
    messages = starting_child(script, env={"COMPAT_SHIM_LIBRARY": "/nowhere.so"}).answer
    assert len(messages) == 3 and len(set(messages)) == 1


def test_a_library_for_another_torch_is_refused_naming_both_versions(starting_child, foreign_library):
    import torch

    ran = starting_child(CUDA_WORKS, env={"COMPAT_SHIM_LIBRARY": foreign_library})
    assert ran.returncode == 1
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    for part in ("9.9.9+elsewhere", torch.__version__, torch.version.git_version):
        assert part in last
    assert [line["event"] for line in ran.record] == ["watch"]


def test_a_python_without_the_gil_is_refused_before_a_library_is_looked_for(starting_child):
    script = 'import sys; sys.abiflags = "t"' + CUDA_WORKS  # as a free-threaded Python has it
    ran = starting_child(script, env={"COMPAT_SHIM_LIBRARY": None})
    assert ran.returncode == 1
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ") and "free-threaded" in last and sys.executable in last
