"""Tests CUDA code on a simulated MPS device: requests for CUDA are redirected to it (mode
`missing`), and tensors report a CUDA device to code outside torch."""

import json

import pytest

from conftest import MPS
from machinery import cases

BEGINNING = """
import io, json, torch
from torch import nn
def raised(call, *args, **kwargs):
    try: call(*args, **kwargs)
    except Exception as error: return [type(error).__name__, str(error)]
"""


@pytest.fixture(params=MPS)
def on_mps(warm_child, request):
    """Runs a script on a Mac that is simulated, or that the shim takes for real; its last line of
    output is JSON."""

    def run(script, **env):
        return warm_child(
            BEGINNING + script,
            env={"TORCHDEVICE_MODE": "missing", **MPS[request.param], **env},
        )

    run.simulated = "mps" if request.param == "simulated" else None

    return run


TENSOR = """
x = torch.randn(2, 3, device="cuda")
print(json.dumps([
    str(x.device), x.is_cuda, x.is_mps, x.get_device(), x.type(), isinstance(x, torch.cuda.FloatTensor),
    isinstance(x, torch.cuda.HalfTensor), repr(x)[-16:], x.device == torch.device("cuda:0"),
    torch.zeros(2, device=x.device).is_cuda, x.to(0) is x, x.cuda() is x, x.new_ones(2).is_cuda,
    nn.Linear(3, 2).cuda().weight.is_cuda, torch.ones(2).is_cuda, str(torch.ones(2).device),
    torch._C.TensorBase.device.__get__(x).type]))
"""


def test_a_tensor_reports_a_cuda_device(on_mps):
    ran = on_mps(TENSOR)
    assert ran.answer == [
        "cuda:0", True, False, 0, "torch.cuda.FloatTensor", True, False, "device='cuda:0')",
        True, True, True, True, True, True, False, "cpu", "mps",
    ]
    (session,) = [line for line in ran.record if line["event"] == "session"]
    assert session["masquerade"] is True
    assert (session["host"], session["mode"]) == ("mps", "missing")
    assert session["simulated"] == on_mps.simulated
    randn = ran.devices(op="aten::randn")
    assert [(e["kind"], e["from"], e["to"], e["count"]) for e in randn] == [
        ("redirect", "cuda", "mps:0", 1)
    ]


@pytest.mark.parametrize("masquerade", ["on", "off"])
def test_integers_are_cuda_devices(on_mps, masquerade):
    ran = on_mps(
        """
x = torch.ones(2)
def inside(index):
    with torch.device(index): return torch.ones(1)
print(json.dumps([str(torch._C.TensorBase.device.__get__(made)) for made in (
    x.to(0), x.to(3), x.to(device=0), x.cuda(0), x.cuda(1), x.cuda(device=1), x.cuda(torch.device(0)),
    x.to(torch.device(0)), x.new_ones(1, device=0), torch.ones(1, device=0), torch.tensor(1.0, device=1),
    nn.Linear(1, 1).to(0).weight, nn.Linear(1, 1).cuda(1).weight, inside(0))]))
""",
        TORCHDEVICE_MASQUERADE=masquerade,
    )
    assert ran.answer == ["mps:0"] * 14


def test_without_the_masquerade_a_tensor_reports_mps(on_mps):
    ran = on_mps(TENSOR, TORCHDEVICE_MASQUERADE="off")
    assert ran.answer[:7] == ["mps:0", False, True, 0, "torch.mps.FloatTensor", True, False]
    (session,) = [line for line in ran.record if line["event"] == "session"]
    assert session["masquerade"] is False


@pytest.mark.parametrize(
    "line",
    [
        'torch.device("mps")',
        'torch.zeros(1, device="mps")',
        'torch.zeros(1, device="mps:0")',
        'torch.zeros(1).to("mps")',
        'nn.Linear(2, 2, device="mps")',
        'nn.Linear(2, 2).to("mps")',
        'nn.Linear(2, 2).to("mps:0")',
        'torch.set_default_device("mps")',
        "torch.zeros(1, device=torch.accelerator.current_accelerator())",
        "torch.zeros(1).to(torch.accelerator.current_accelerator())",
        "nn.Linear(2, 2).to(torch.accelerator.current_accelerator())",
        *(
            f'torch.compile(lambda x: {traced}, backend="eager")(x)'
            for traced in (
                'torch.zeros(1, device="mps")',
                'torch.zeros(1, device=torch.device("mps"))',
                'x.cpu().to("mps:0")',
                "torch.zeros(1, device=torch.accelerator.current_accelerator())",
            )
        ),
    ],
)
def test_to_code_that_names_mps_tensors_answer_as_they_are(line, on_mps):
    script = f'''
import json, torch
from torch import nn
x = torch.ones(2, device="cuda")
layer = nn.LSTM(2, 2, batch_first=True).cuda()
attention = nn.MultiheadAttention(4, 2, device="cuda")
query = torch.rand(3, 1, 4, device="cuda", requires_grad=True)
optimizer = torch.optim.Adam(attention.parameters())
with torch.autocast("cuda", dtype=torch.float16):
    loss = attention(query, query, query)[0].sum() + layer(x.expand(1, 3, 2))[0].sum()
loss.backward()
optimizer.step()
before = [str(x.device), str(loss.device), x.is_cuda, x.is_mps]
y = {line}
print(json.dumps([before, [str(x.device), x.is_cuda, x.is_mps, x.type()]]))
'''
    before, after = on_mps(script).answer
    assert before == ["cuda:0", "cuda:0", True, False]
    assert after == ["mps:0", False, True, "torch.mps.FloatTensor"]


@pytest.mark.parametrize("on_mps", ["simulated"], indirect=True)
def test_mode_none_redirects_nothing(on_mps):
    ran = on_mps(
        "print(json.dumps([torch.cuda.is_available(), torch.ones(2, device='mps').is_mps,"
        " raised(torch.ones, 2, device='cuda')]))",
        TORCHDEVICE_MODE="none",
    )
    available, on_the_mac, error = ran.answer
    assert (available, on_the_mac) == (False, True)
    assert error == ["AssertionError", "Torch not compiled with CUDA enabled"]


def test_the_limits_of_mps_apply_to_cuda_code(on_mps):
    ran = on_mps(
        """
x = torch.ones(2, device="cuda")
print(json.dumps([
    raised(torch.ones, 2, dtype=torch.float64, device="cuda"), raised(torch.add, x, torch.ones(2)),
    raised(torch.special.airy_ai, x), raised(x.numpy),
    raised(torch.cuda.set_device, 1)]))
""",
        PYTORCH_ENABLE_MPS_FALLBACK="0",
    )
    double, mixed, missing, numpy, ordinal = ran.answer
    assert double[0] == "TypeError" and double[1].startswith("Cannot convert a MPS Tensor to float64")
    assert mixed[1].endswith("at least two devices, mps:0 and cpu!")
    assert missing[0] == "NotImplementedError"
    assert "'aten::special_airy_ai.out' is not currently implemented for the MPS" in missing[1]
    assert numpy[0] == "TypeError" and "mps:0 device type tensor" in numpy[1]
    assert ordinal[0] == "AcceleratorError"


def test_fallbacks_to_the_cpu_are_counted_where_they_are_called(on_mps):
    ran = on_mps(
        """
x = torch.zeros(3, device="cuda")
for _ in range(3): values = torch.special.airy_ai(x)
print(json.dumps([values.is_cuda, values.tolist()]))
""",
        PYTORCH_ENABLE_MPS_FALLBACK="1",
    )
    assert ran.answer == [True, pytest.approx([0.355028] * 3)]
    (event,) = ran.devices(kind="fallback")
    assert (event["op"], event["line"], event["count"]) == ("aten::special_airy_ai.out", 9, 3)
    assert (event["from"], event["to"]) == ("mps:0", "cpu")


def test_torch_cuda_describes_the_mps_device(on_mps):
    ran = on_mps(
        """
before = torch.cuda.memory_allocated()
x = torch.zeros(1 << 20, device="cuda")
taken = torch.cuda.memory_allocated() - before
torch.cuda.manual_seed(5); a = torch.rand(4, device="cuda")
torch.cuda.manual_seed(5); again = torch.equal(a, torch.rand(4, device="cuda"))
torch.manual_seed(5); a = torch.rand(4, device="cuda")
torch.manual_seed(5); again = again and torch.equal(a, torch.rand(4, device="cuda"))
own = torch.Generator("cuda").manual_seed(5)
drawn = torch.rand(4, device="cuda", generator=own).is_cuda
stream, event, later = torch.cuda.Stream(), *(torch.cuda.Event(enable_timing=True) for _ in range(2))
event.record()
with torch.cuda.stream(stream):
    y = x + 1
y.record_stream(stream)
later.record(); torch.cuda.synchronize()
torch.set_default_device("cuda"); default = str(torch.ones(2).device); torch.set_default_device(None)
print(json.dumps([
    torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.get_device_name(), taken,
    again, drawn, event.elapsed_time(later) >= 0, default,
    str(torch.accelerator.current_accelerator()), torch.backends.mps.is_available(),
    torch.cuda.FloatTensor(2).is_cuda, torch.cuda.get_rng_state().numel(),
    torch.cuda.FloatTensor(x[:2]).is_cuda, torch.cuda.FloatTensor(x[:2].storage()).numel()]))
"""
    )
    assert ran.answer == [
        True, 1, "Simulated Apple GPU (as CUDA)", 4 << 20, True, True, True, "cuda:0", "mps",
        True, True, 16, True, 1 << 20,
    ]


def test_a_program_for_cuda_trains(on_mps):
    ran = on_mps(
        """
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
model = nn.DataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).cuda())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, capturable=True)
scaler = torch.amp.GradScaler("cuda")
x, y = torch.randn(64, 8), torch.randn(64, 1)
losses, dtypes = [], set()
for _ in range(20):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        out = checkpoint(model, x.cuda(non_blocking=True), use_reentrant=False)
        dtypes.add(str(out.dtype))
        loss = nn.functional.mse_loss(out.float(), y.cuda())
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())
file = io.BytesIO()
torch.save(model.state_dict(), file)
places = []
for where in ("cuda:0", "cpu", None):
    file.seek(0)
    places.append(str(torch.load(file, map_location=where)["module.0.weight"].device))
print(json.dumps([losses[-1] < losses[0], sorted(dtypes), places]))
"""
    )
    assert ran.answer == [True, ["torch.float16"], ["cuda:0", "cpu", "cuda:0"]]


def test_the_cpu_override_uses_the_cpus_generator(on_mps):
    ran = on_mps(
        """
torch.zeros(1, device="cpu:-1")
torch.manual_seed(3); x = torch.rand(3, device="cuda")
torch.manual_seed(3); print(json.dumps([str(x.device), torch.equal(x, torch.rand(3))]))
"""
    )
    assert ran.answer == ["cpu", True]


GROUPS = ("compiling", "tracing", "transforms", "objects")
# Cases that fail on any Mac: they mix host and device tensors in one op, use float64, or return the
# device of a tensor.
NOT_ON_A_MAC = {
    ("tracing", "aot_export"),
    ("tracing", "dispatch_mode"),
    ("tracing", "fake_tensors"),
    ("tracing", "fake_tensors_of_symbolic_shape"),
    ("tracing", "jit_freeze_save_load"),
    ("transforms", "gradcheck"),
    ("transforms", "saved_tensor_hooks"),
    ("objects", "module_moves"),
}


@pytest.mark.parametrize("group", GROUPS)
def test_machinery_cases_give_the_cpus_results(machinery, plain, group):
    env = {**MPS["simulated"], "TORCHDEVICE_MODE": "missing", "PYTORCH_ENABLE_MPS_FALLBACK": "1"}
    without, under = plain(group).answer, machinery(group, "cuda", env).answer
    differ = {name: under[name] for name in cases(group) if under[name] != without[name]}
    assert set(differ) == {name for of, name in NOT_ON_A_MAC if of == group}, json.dumps(differ, indent=1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile_does_not_end_the_masquerade(backend, on_mps):
    ran = on_mps(
        """
from torch._dynamo import graph_break
def steps(x, model):
    y = model(x) * 2
    graph_break()
    return y + torch.ones(2, device="cuda")
model = nn.Linear(2, 2).cuda()
x = torch.ones(2, device="cuda")
for compiled in (steps, lambda x, model: steps(x, model).sin()):
    y = torch.compile(compiled, backend=BACKEND)(x, model)
    y.sum().backward()
z = torch.compile(model, backend=BACKEND)(x)
model.compile(backend=BACKEND)
w = model(x)
print(json.dumps([str(each.device) for each in (x, y, z, w, model.weight.grad)]))
""".replace("BACKEND", repr(backend))
    )
    assert ran.answer == ["cuda:0"] * 5


@pytest.mark.parametrize("on_mps", ["simulated"], indirect=True)
def test_the_compiler_may_call_its_tensors_methods_with_keywords(on_mps):
    """torch has no kernel of while_loop for MPS, which it finds out after such a call."""
    ran = on_mps(
        """
from torch._higher_order_ops import while_loop
def loop(x): return while_loop(lambda y: y.sum() < 9, lambda y: (y + 1,), (x,))
found = raised(torch.compile(loop, backend="eager"), torch.ones(2, device="cuda"))
print(json.dumps(found and found[1]))
"""
    )
    assert "TypeError" not in (ran.answer or "")


def test_code_that_inductor_writes_does_not_end_the_masquerade(warm_child, tmp_path):
    ran = warm_child(
        """
import json, torch
from torch._inductor.codecache import PyCodeCache
x = torch.ones(2, device="cuda")
made, seen = PyCodeCache.load(
    "import torch\\n"
    "def call(x):\\n"
    "    return torch.empty_strided((2,), (1,), device='mps'), x.device.type\\n"
).call(x)
print(json.dumps([str(x.device), str(made.device), seen]))
""",
        env={"TORCHDEVICE_SIMULATE": "mps", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")},
    )
    assert ran.answer == ["cuda:0", "cuda:0", "mps"]


def test_compiled_code_has_is_cuda_and_is_told_of_the_device(warm_child):
    ran = warm_child(
        """
import json, torch
@torch.compile(backend="eager")
def branches(x):
    return x + (1 if x.is_cuda else 0) + (10 if x.device.type == "cuda" else 0)
x = torch.zeros(1, device="cuda")
print(json.dumps([branches(x).item(), branches(x).item()]))
""",
        env={"TORCHDEVICE_SIMULATE": "mps"},
    )
    assert ran.answer == [1.0, 1.0]
    assert ran.stderr.count("compiled code sees mps:0, not cuda:0") == 1
