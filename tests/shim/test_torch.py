"""torch's own machinery under the shim gives what it gives without."""

import os

import pytest

from conftest import ACTIVATE, ROOT


def test_compiled_functions(child):
    ran = child(
        """
import json, torch
def f(x):
    y = torch.ones(3, device="cuda") + x.to("cuda")
    return (y * torch.arange(3, device=torch.device("cuda", 0))).sum()
x = torch.ones(3)
result = {}
for backend in ("eager", "aot_eager"):
    for fullgraph in (False, True):
        torch._dynamo.reset()
        compiled = torch.compile(f, backend=backend, fullgraph=fullgraph)
        result[f"{backend} {fullgraph}"] = [float(f(x)), float(compiled(x))]
leaf = torch.ones(3, requires_grad=True)
torch.compile(f, backend="aot_eager")(leaf).backward()
result["grad"] = leaf.grad.tolist()
def cast(x):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return x @ x
result["cast"] = str(torch.compile(cast, backend="aot_eager")(torch.ones(2, 2)).dtype)
print(json.dumps(result))
"""
    )
    answer = ran.answer
    assert answer.pop("grad") == [0, 1, 2]
    assert answer.pop("cast") == "torch.bfloat16"
    assert len(answer) == 4 and all(pair == [6.0, 6.0] for pair in answer.values())


def test_transforms_and_tracers(child):
    ran = child(
        """
import json, torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
def f(x): return (x.to("cuda") * torch.full((3,), 2.0, device="cuda")).sum()
x = torch.ones(3)
class M(torch.nn.Module):
    def forward(self, x): return f(x)
result = {
    "vmap": torch.vmap(f)(torch.ones(2, 3)).tolist(),
    "grad": torch.func.grad(f)(x).tolist(),
    "functionalize": float(torch.func.functionalize(f)(x)),
    "make_fx": [float(make_fx(f, tracing_mode=mode)(x)(x)) for mode in ("real", "fake", "symbolic")],
    "trace": float(torch.jit.trace(f, x)(x)),
    "script": float(torch.jit.script(f)(x)),
    "export": float(torch.export.export(M(), (x,)).module()(x)),
}
with FakeTensorMode():
    result["fake"] = str(torch.empty(2, device="cuda").device.type)
print(json.dumps(result))
"""
    )
    assert ran.answer == {
        "vmap": [6, 6],
        "grad": [2, 2, 2],
        "functionalize": 6,
        "make_fx": [6, 6, 6],
        "trace": 6,
        "script": 6,
        "export": 6,
        "fake": "cpu",
    }


def test_backward_in_main_in_threads_and_after_a_fork(child):
    ran = child(
        """
import json, os, torch
from concurrent.futures import ThreadPoolExecutor
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, grad): return grad * torch.full((2,), 2.0, device="cuda")
def run():
    x = torch.ones(2, device="cuda", requires_grad=True)
    Twice.apply(x).sum().backward()
    return x.grad.tolist()
result = [run()]
with ThreadPoolExecutor(2) as pool: result += list(pool.map(lambda _: run(), range(2)))
pid = os.fork()
if pid == 0: os._exit(0 if run() == [2.0, 2.0] else 3)
result.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(json.dumps(result))
"""
    )
    assert ran.answer == [[2, 2], [2, 2], [2, 2], 0]


def test_the_profiler_profiles_without_noise(child):
    ran = child(
        """
import json, torch
from torch.profiler import profile, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as one:
    torch.ones(2, device="cuda")
with torch.autograd.profiler.profile(use_device="cuda") as two:
    torch.ones(2, device="cuda")
one.key_averages().table(sort_by="cuda_time_total")
print(json.dumps([any("ones" in e.key for e in p.key_averages()) for p in (one, two)]))
"""
    )
    assert ran.answer == [True, True]
    assert "Failed to record" not in ran.stderr


def test_ops_without_a_device_are_left_as_they_are(child):
    script = """
import json, torch
torch.manual_seed(0)
x = torch.randn(64, 64)
y = torch.linalg.qr(x).R.sum() + torch.fft.fft(x).abs().sum() + torch.nn.functional.gelu(x).sum()
y = y + x.to(x).sum() + torch.sort(x).values[0, 0] + torch.einsum("ij,jk->", x, x)
print(json.dumps(float(y)))
"""
    active = child(script)
    assert active.answer == child(script, active=False).answer
    assert active.devices() == []


def test_visible_devices_are_heeded(child):
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
        assert child(script, env={"CUDA_VISIBLE_DEVICES": visible}).answer == expected


@pytest.mark.parametrize("active", [True, False])
def test_the_conformance_suite(child, active):
    """Passes whole under the shim; without it every test says why it is skipped."""
    suite = ROOT / "suites" / "conformance"
    script = """
import io, json, unittest
loader = unittest.TestLoader()
found = loader.discover("tests", top_level_dir=".")
outcome = unittest.TextTestRunner(stream=io.StringIO()).run(found)
print(json.dumps({
    "not imported": loader.errors,
    "run": outcome.testsRun,
    "bad": [f"{test}: {text}" for test, text in outcome.failures + outcome.errors],
    "skipped": len(outcome.skipped),
    "reasons": sorted({reason for _, reason in outcome.skipped}),
}))
"""
    path = os.pathsep.join([str(ACTIVATE), str(suite)])
    answer = child(script, active=active, cwd=suite, env={"PYTHONPATH": path}).answer
    assert answer["not imported"] == [] and answer["bad"] == []
    assert answer["run"] >= 100
    assert answer["skipped"] == (0 if active else answer["run"])
    assert answer["reasons"] == ([] if active else ["the shim is not active in this process"])
