"""Tests the default device (TORCHDEVICE_DEFAULT_DEVICE) against torch.set_default_device itself."""

import json

import pytest

EXPRESSIONS = (
    "torch.arange(3)",
    "torch.as_tensor([1])",
    "torch.as_tensor(on_host)",
    "torch.asarray([1.0])",
    "torch.asarray(on_host)",
    "torch.empty(2)",
    "torch.empty_like(on_host)",
    "torch.empty_strided((2,), (1,))",
    "torch.eye(2)",
    "torch.fft.fftfreq(4)",
    "torch.frombuffer(bytearray(8), dtype=torch.float32)",
    "torch.from_numpy(array)",
    "torch.full((2,), 1.0)",
    "torch.Generator()",
    "torch.hann_window(3)",
    "torch.linspace(0, 1, 2)",
    "torch.nn.Linear(2, 2).weight",
    "torch.nn.Linear(2, 2).double().weight",
    "torch.nested.nested_tensor([on_host])",
    "torch.ones(2, device='cpu')",
    "torch.ones(2, device=None)",
    "torch.randint(0, 3, (2,))",
    "torch.randn(2)",
    "torch.randperm(4)",
    "torch.scalar_tensor(1.0)",
    "torch.sparse_coo_tensor(torch.zeros(1, 1, dtype=torch.int64), torch.ones(1), (1,))",
    "torch.sparse_coo_tensor([[0]], [1.0], (1,))",
    "torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1))",
    "torch.tensor(1.0)",
    "torch.tensor(array)",
    "torch.tensor(on_host)",
    "torch.tensor([1.0], device='cpu')",
    "torch.tensor([1.0], device=None)",
    "torch.tensor([[1, 2], [3, on_host[0]]])",
    "torch.Tensor(2, 3)",
    "torch.FloatTensor(2)",
    "torch.tril_indices(2, 2)",
    "torch.zeros(2)",
    "on_host.new_zeros(2)",
    "on_host + torch.zeros(2)",
    "on_host * torch.tensor(2.0)",
    "torch.cat([torch.zeros(2), on_host])",
    "under('cpu', lambda: torch.zeros(1))",
    "under('meta', lambda: torch.tensor([1.0]))",
    "under('cpu', torch.get_default_device)",
    "torch.get_default_device()",
    "torch.jit.script(add)(torch.ones(2))",
    "torch.compile(add, backend='eager')(torch.ones(2))",
)
SCRIPT = """
import json, sys, warnings
import numpy
import torch
warnings.simplefilter("ignore")
if {by_torch}:
    torch.set_default_device({device!r})
def add(x):
    return x + torch.zeros(2, device=x.device)
def under(device, make):
    with torch.device(device):
        return make()
on_host = torch.ones(2, device="cpu")
array = numpy.ones(2, dtype="float32")
answers = {{}}
for expression in {expressions!r}:
    try:
        answer = eval(expression)
        answers[expression] = str(getattr(answer, "device", answer))
    except Exception as error:
        answers[expression] = type(error).__name__
print(json.dumps(answers))
"""


def device(name):
    return {"TORCHDEVICE_SIMULATE": name, "TORCHDEVICE_MODE": "none"}


@pytest.mark.parametrize("name", ["mps", "cuda"])
def test_it_means_what_torch_means(name, warm_child):
    def answers(by_torch, env):
        script = SCRIPT.format(by_torch=by_torch, device=name, expressions=EXPRESSIONS)
        return warm_child(script, env={**device(name), **env}).answer

    ours = answers(False, {"TORCHDEVICE_DEFAULT_DEVICE": "on"})
    assert ours == answers(True, {})
    assert ours["torch.zeros(2)"] == f"{name}:0"
    assert ours["torch.ones(2, device='cpu')"] == "cpu"


def test_every_thread_and_process_has_it(warm_child):
    ran = warm_child(
        """
import json, multiprocessing, subprocess, sys, threading
import torch
from torch.utils.data import DataLoader, TensorDataset

def made():
    return str(torch.zeros(1).device), str(torch.tensor(1.0).device)

def send(pipe):
    pipe.send(made())

def forked():
    ours, theirs = multiprocessing.Pipe()
    multiprocessing.get_context("fork").Process(target=send, args=(theirs,)).start()
    return ours.recv()

child = forked()  # before the first use of MPS, which a process forked later has lost
found = []
thread = threading.Thread(target=lambda: found.append(made()))
thread.start()
thread.join()
started = subprocess.run([sys.executable, "-c", "import torch; print(torch.zeros(1).device)"],
                         capture_output=True, text=True).stdout.strip()
loader = DataLoader(TensorDataset(torch.arange(6.0)), batch_size=3, shuffle=True)
print(json.dumps([found[0], child, started, [str(batch.device) for batch, in loader]]))
""",
        env={**device("mps"), "TORCHDEVICE_DEFAULT_DEVICE": "on"},
    )
    assert ran.answer == [["mps:0"] * 2, ["mps:0"] * 2, "mps:0", ["mps:0"] * 2]
    assert [line["default_device"] for line in ran.record if line["event"] == "session"][:1] == ["mps"]


def test_torch_sets_another_one_and_takes_it_back(warm_child):
    ran = warm_child(
        """
import json, torch
answers = []
for device in ("cpu", "meta", None):
    torch.set_default_device(device)
    answers += [str(torch.zeros(1).device), str(torch.tensor([1.0]).device)]
print(json.dumps(answers))
""",
        env={**device("cuda"), "TORCHDEVICE_DEFAULT_DEVICE": "on"},
    )
    assert ran.answer == ["cpu", "cpu", "meta", "meta", "cuda:0", "cuda:0"]


def test_the_host_keeps_torchs_own_default(warm_child):
    script = "import json, torch; print(json.dumps(str(torch.zeros(1).device)))"
    ran = warm_child(script, env={"TORCHDEVICE_DEFAULT_DEVICE": "on"})
    assert ran.answer == "cpu"
    assert "default_device" not in json.dumps(ran.record)
