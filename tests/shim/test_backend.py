"""Tests a backend outside torch as the host's accelerator: PrivateUse1 under the name npu
(backend/npu.cc), found by torch as an installed backend is."""

import functools
import os
import pathlib
import subprocess

import pytest

from conftest import ACTIVATE, kept_folder

BACKEND = pathlib.Path(__file__).parent / "backend"


def built():
    """The backend's library, compiled once for each torch."""
    torch = pathlib.Path(pytest.importorskip("torch").__file__).parent
    source, compiler = BACKEND / "npu.cc", ["c++", "-std=c++20", "-shared", "-fPIC"]
    made_of = [*compiler, str(torch), (torch / "version.py").read_text(), source.read_text()]
    library = kept_folder("npu", "\n".join(made_of)) / "npu.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        new = library.with_suffix(f".{os.getpid()}")
        command = [*compiler, "-isystem", torch / "include", source, "-o", new]
        command += ["-L", torch / "lib", "-ltorch_cpu", "-lc10"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        new.rename(library)
    return library


@pytest.fixture(scope="module")
def npu(tmp_path_factory):
    """The environment of a script on a host with the backend."""
    library = built()
    folder = tmp_path_factory.mktemp("npu")
    installed = folder / "npu_backend-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: npu-backend\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[torch.backends]\nnpu = npu_backend:load\n")
    path = os.pathsep.join(map(str, (ACTIVATE, BACKEND, folder)))
    return {"PYTHONPATH": path, "NPU_LIBRARY": str(library), "TORCHDEVICE_HOST": "npu"}


@pytest.fixture
def on_npu(warm_child, npu):
    return functools.partial(warm_child, env=npu)


def test_requests_for_cuda_and_mps_end_on_the_backend(on_npu):
    ran = on_npu(
        """
import json, torch
place = torch._C.TensorBase.device.__get__
x = torch.randn(2, 3, device="cuda")
y = torch.ones(2, 3, device="mps")
print(json.dumps([
    str(x.device), str(place(x)), str(place(y)), x.is_cuda, x.is_npu, x.type(), repr(x)[-16:],
    x.to(0) is x, x.cuda() is x, torch.ones(2).is_cuda, torch.cuda.is_available(),
    torch.cuda.get_device_name(), torch.cuda.mem_get_info()[1] > 1 << 20]))
"""
    )
    assert ran.answer == [
        "cuda:0", "npu:0", "npu:0", True, False, "torch.cuda.FloatTensor", "device='cuda:0')",
        True, True, False, True, "npu (as CUDA)", True,
    ]
    (session,) = [line for line in ran.record if line["event"] == "session"]
    assert (session["host"], session["masquerade"]) == ("npu", True)
    assert [(e["from"], e["to"]) for e in ran.devices(op="aten::randn")] == [("cuda", "npu:0")]
    assert [(e["from"], e["to"]) for e in ran.devices(op="aten::ones")] == [("mps", "npu:0")]


def test_a_training_step_stays_on_the_backend(on_npu):
    ran = on_npu(
        """
import json, torch
place = torch._C.TensorBase.device.__get__
module = torch.nn.Linear(3, 2).cuda()
optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
before = module.weight.detach().clone()
with torch.autocast("cuda", dtype=torch.bfloat16):
    product = torch.mm(torch.ones(4, 3, device="cuda"), before.T)
module(torch.ones(4, 3, device="cuda")).sum().backward()
optimizer.step()
torch.cuda.synchronize()
print(json.dumps([str(place(module.weight)), str(place(module.weight.grad)),
    (before - module.weight).tolist(), str(product.dtype), torch.is_autocast_enabled("npu")]))
"""
    )
    weight, grad, step, dtype, left_on = ran.answer
    assert (weight, grad, dtype, left_on) == ("npu:0", "npu:0", "torch.bfloat16", False)
    assert step == [pytest.approx([4, 4, 4])] * 2


def test_the_generator_is_the_backends(on_npu):
    ran = on_npu(
        """
import json, torch
torch.cuda.manual_seed(3)
state = torch.cuda.get_rng_state()
torch.cuda.manual_seed(4)
torch.cuda.set_rng_state(state)
print(json.dumps([torch.cuda.initial_seed(), str(torch.Generator("cuda").device)]))
"""
    )
    assert ran.answer == [3, "npu:0"]


def test_a_backend_without_hooks_is_refused(late_child):
    """A backend that has a name and nothing else, as torch itself lets one register."""
    ran = late_child(
        """
import torch
torch.utils.rename_privateuse1_backend("npu")
import TorchDevice
""",
        env={"TORCHDEVICE_HOST": "npu"},
    )
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: TORCHDEVICE_HOST=npu: ") and "Hooks" in last


def test_a_backend_that_is_not_named_is_pointed_out(late_child):
    ran = late_child(
        """
import json, torch
torch.utils.rename_privateuse1_backend("npu")
import TorchDevice
print(json.dumps(str(torch.ones(2, device="cuda").device)))
"""
    )
    assert ran.answer == "cpu"
    assert "TORCHDEVICE_HOST=npu redirects them to the backend npu" in ran.stderr
