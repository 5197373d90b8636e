"""Tests a simulated MPS device in child processes: tensors on it, its refusals and their messages,
and that what works on a Mac works here. Values are the CPU's."""

import pytest

from conftest import older_than


@pytest.fixture
def on_mps(warm_child):
    """Runs a script with a simulated MPS device; its last line of output is JSON."""

    def run(script, **env):
        return warm_child(
            "import json, torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
            "def equal(a, b, tolerance=1e-4): return torch.allclose(a.cpu(), b, atol=tolerance)\n"
            "def raised(call, *args, **kwargs):\n"
            "    try: call(*args, **kwargs)\n"
            "    except Exception as error: return [type(error).__name__, str(error)]\n" + script,
            env={"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none", **env},
        )

    return run


def test_tensors_report_the_simulated_device(on_mps):
    ran = on_mps(
        """
x = torch.randn(3, 4, device="mps")
print(json.dumps([
    torch.backends.mps.is_available(), torch.backends.mps.is_built(), torch.mps.device_count(),
    str(torch.accelerator.current_accelerator()), torch.cuda.is_available(),
    torch.backends.mps.is_macos_or_newer(15, 0), torch.backends.mps.is_macos_or_newer(16, 0),
    str(x.device), x.is_mps, x.is_cpu, "device='mps:0'" in repr(x), (x @ x.t()).device.type,
    torch.equal(x.cpu().to("mps").cpu(), x.cpu()), x.sum().item() == x.cpu().sum().item(),
    raised(x.numpy)]))
"""
    )
    assert ran.answer[:-1] == [
        True, True, 1, "mps", False, True, False, "mps:0", True, False, True, "mps", True, True,
    ]
    assert ran.answer[-1][0] == "TypeError" and "mps:0 device type tensor" in ran.answer[-1][1]
    (session,) = [line for line in ran.record if line["event"] == "session"]
    assert (session["host"], session["simulated"]) == ("mps", "mps")


def test_a_macs_refusals_have_the_macs_messages(on_mps):
    ran = on_mps(
        """
x = torch.ones(2, 2, device="mps")
double = "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64"
routes = [
    raised(torch.ones, 2, dtype=torch.float64, device="mps"), raised(x.double),
    raised(torch.ones(2, dtype=torch.float64).to, "mps"), raised(x.to, torch.float64),
    raised(torch.tensor, [1.0], dtype=torch.float64, device="mps"),
    raised(nn.Linear(2, 2).double().to, "mps"), raised(torch.empty_like, x, dtype=torch.float64),
]
print(json.dumps([
    [error == "TypeError" and text.startswith(double) for error, text in routes],
    raised(torch.add, x, torch.ones(2, 2)), raised(torch.ones, [1] * 17, device="mps"),
    raised(torch.ones(2, device="mps").to, torch.float8_e5m2),
    raised(nn.Conv2d(1, 1, 1).to("mps"), torch.ones(1, 1, 2, 2)),
    raised(nn.LSTM(2, 4, proj_size=3).to("mps"), torch.ones(1, 1, 2, device="mps"))]))
"""
    )
    doubles, mixed, dimensions, float8, conv, projections = ran.answer
    assert doubles == [True] * 7
    assert mixed == ["RuntimeError", "Expected all tensors to be on the same device, but found at "
                     "least two devices, mps:0 and cpu!"]
    assert dimensions[1].startswith("MPS supports tensors with dimensions <= 16")
    assert float8[0] == "TypeError" and "does not have support for that dtype" in float8[1]
    assert conv == ["RuntimeError", "slow_conv2d_forward_mps: input(device='cpu') and weight(device=mps:0')  must be on the same device"]
    # The record names a dtype without tensors as the refusal does.
    assert sum(event["count"] for event in ran.devices(kind="refusal", op="float64")) == len(doubles)
    (refused,) = ran.devices(kind="refusal", op="Float8_e5m2")
    assert (refused["from"], refused["to"], refused["count"]) == ("mps:0", "cpu", 1)
    assert projections == ["RuntimeError",
                           "LSTM with projections is not currently supported with MPS."]
    assert [e["count"] for e in ran.devices(kind="refusal", op="aten::_lstm_mps")] == [1]


def test_dtypes_and_dimensions_without_kernels_are_refused(on_mps):
    """Tensors of such dtypes can be moved and viewed; kernels do not take them."""
    ran = on_mps(
        """
double = torch.ones(2, dtype=torch.complex128).to("mps")
many = torch.ones(1, device="mps").view([1] * 17)
print(json.dumps([str(double.dtype), double.cpu().real.sum().item(),
    [raised(torch.ones, 2, dtype=dtype, device="mps") for dtype in (torch.complex128, torch.float8_e5m2)],
    raised(lambda: double * double), raised(many.add, 1), raised(many.clone), many[0].dim()]))
"""
    )
    dtype, total, made, product, added, cloned, dimensions = ran.answer
    assert (dtype, total, dimensions) == ("torch.complex128", 2.0, 16)
    assert made == [["RuntimeError", f"Undefined type {name}"] for name in ("ComplexDouble", "Float8_e5m2")]
    assert product == made[0]
    assert added == cloned == ["RuntimeError", "MPS supports tensors with dimensions <= 16, but got 17."]


def test_an_exported_program_with_attention_can_be_decomposed(on_mps):
    ran = on_mps(
        """
class Attends(nn.Module):
    def forward(self, q): return F.scaled_dot_product_attention(q, q, q, is_causal=True)
def decomposed(q):
    exported = torch.export.export(Attends(), (q,)).run_decompositions()
    return torch.allclose(exported.module()(q), Attends()(q), atol=1e-6)  # another order of the same sums
q = torch.randn(2, 2, 4, 8)
print(json.dumps([decomposed(q), decomposed(q.to("mps"))]))
"""
    )
    assert ran.answer == [True, True]


def test_attention_without_gradients_has_a_kernel_of_its_own(on_mps):
    """It refuses dropout, as a model in training under no_grad meets it; the formula does not."""
    if older_than("2.13"):
        pytest.skip("this torch ignores dropout there")
    ran = on_mps(
        """
q = torch.randn(2, 3, 4, 8, device="mps")
wanted = q.clone().requires_grad_()
layer = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True).to("mps")
attend = F.scaled_dot_product_attention
with torch.no_grad():
    refused = raised(layer, torch.ones(2, 3, 8, device="mps"))
attend(wanted, q, q, dropout_p=0.5).sum().backward()
mask = torch.rand(4, 4) > 0.3
print(json.dumps([refused, raised(attend, q, q, q, dropout_p=0.5), wanted.grad is not None,
    equal(attend(q, q, q, attn_mask=mask.to("mps")), attend(*3 * [q.cpu()], attn_mask=mask)),
    equal(attend(q, q[:, :1], q[:, :1], enable_gqa=True), attend(q.cpu(), *2 * [q[:, :1].cpu()], enable_gqa=True))]))
"""
    )
    text = ["NotImplementedError", "scaled_dot_product_attention for MPS does not support dropout."]
    assert ran.answer == [text, text, True, True, True]
    op = "aten::_scaled_dot_product_attention_math_for_mps"
    assert sum(event["count"] for event in ran.devices(kind="refusal", op=op)) == 2


def test_an_lstm_checks_state_sizes_except_in_an_export(on_mps):
    if older_than("2.10"):
        pytest.skip("this torch cannot export an LSTM")
    ran = on_mps(
        """
lstm = nn.LSTM(4, 6).to("mps")
other = torch.zeros(1, 9, 6, device="mps")
x = torch.randn(5, 2, 4, device="mps")
sizes = {1: torch.export.Dim("batch")}
exported = torch.export.export(lstm, (x,), dynamic_shapes=(sizes,))
print(json.dumps([raised(torch.lstm, x, (other, other), list(lstm.parameters()), True, 1, 0.0,
    False, False, False), list(exported.module()(torch.randn(5, 7, 4, device="mps"))[0].shape)]))
"""
    )
    (error, text), shape = ran.answer
    assert error == "RuntimeError" and "must match the size" in text
    assert shape == [5, 7, 6]


# No version of torch has a kernel of MPS for it.
MISSING = """
x = torch.zeros(3, device="mps")
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    answers = [raised(torch.special.airy_ai, x), raised(torch.special.airy_ai, x)]
values = None if answers[0] else torch.special.airy_ai(x).round(decimals=3).tolist()
print(json.dumps([answers, values, [str(each.message) for each in told]]))
"""


def test_an_op_without_a_kernel_is_refused_and_recorded(on_mps):
    ran = on_mps(MISSING, PYTORCH_ENABLE_MPS_FALLBACK="0")
    (first, second), values, told = ran.answer
    assert first == second and values is None and told == []
    assert first[0] == "NotImplementedError"
    assert first[1].startswith(
        "The operator 'aten::special_airy_ai.out' is not currently implemented for the MPS device."
    )
    assert "PYTORCH_ENABLE_MPS_FALLBACK=1" in first[1]
    events = ran.devices(kind="refusal", op="aten::special_airy_ai.out")
    assert {(e["from"], e["to"], e["line"]) for e in events} == {("mps:0", "cpu", 6)}
    assert sum(event["count"] for event in events) == 2


def test_fallback_runs_the_op_on_the_cpu_and_counts_each_call(on_mps):
    ran = on_mps(MISSING, PYTORCH_ENABLE_MPS_FALLBACK="1")
    answers, values, told = ran.answer
    assert answers == [None, None] and values == pytest.approx([0.355] * 3)
    # torch warns about the first op only; the record has all of them.
    assert len(told) == 1 and "will fall back to run on the CPU" in told[0]
    events = ran.devices(kind="fallback", op="aten::special_airy_ai.out")
    assert sum(event["count"] for event in events) == 3


def test_training_gives_the_cpus_results(on_mps):
    ran = on_mps(
        """
import copy
def trained(model, device, make, batches):
    optimizer = make(model.to(device).parameters())
    for inputs, labels in batches:
        optimizer.zero_grad()
        F.cross_entropy(model(inputs.to(device)), labels.to(device)).backward()
        optimizer.step()
    return [p.detach().cpu() for p in model.parameters()]
torch.manual_seed(0)
cnn = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                    nn.Linear(36, 3))
batches = [(torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 0])) for _ in range(3)]
makers = {"SGD": lambda p: torch.optim.SGD(p, lr=.1, momentum=.9),
    "Adam": torch.optim.Adam, "foreach": lambda p: torch.optim.Adam(p, foreach=True),
    "fused": lambda p: torch.optim.AdamW(p, fused=True),
    "RMSprop": torch.optim.RMSprop, "Adagrad": torch.optim.Adagrad}
same = {}
for name, make in makers.items():
    one, two = copy.deepcopy(cnn), copy.deepcopy(cnn)
    pairs = zip(trained(one, "cpu", make, batches), trained(two, "mps", make, batches))
    same[name] = all(torch.allclose(a, b, atol=1e-3) for a, b in pairs)
def gradients(module, *inputs, device):
    module = copy.deepcopy(module).to(device)
    inputs = [i.detach().to(device).requires_grad_() for i in inputs]
    out = module(*inputs)
    (out[0] if isinstance(out, tuple) else out).square().sum().backward()
    return [t.grad.cpu() for t in [*inputs, *module.parameters()]]
sequence = torch.randn(5, 2, 4)
layers = {"lstm": (nn.LSTM(4, 6, 2), sequence), "gru": (nn.GRU(4, 6), sequence),
    "both ways": (nn.LSTM(4, 6, 2, bidirectional=True, batch_first=True, bias=False), sequence),
    "rnn": (nn.RNN(4, 6, bidirectional=True), sequence),
    "encoder": (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), sequence),
    "conv1d": (nn.Conv1d(2, 3, 3), torch.randn(2, 2, 9)),
    "conv3d": (nn.Conv3d(2, 3, 2), torch.randn(1, 2, 4, 4, 4)),
    "transposed": (nn.ConvTranspose2d(2, 3, 2), torch.randn(1, 2, 4, 4)),
    "norm": (nn.LayerNorm(4), sequence)}
for name, (layer, *inputs) in layers.items():
    pairs = zip(gradients(layer, *inputs, device="cpu"), gradients(layer, *inputs, device="mps"))
    same[name] = all(torch.allclose(a, b, atol=1e-3) for a, b in pairs)
q = torch.randn(2, 2, 4, 8)
same["attention"] = equal(F.scaled_dot_product_attention(q.to("mps"), q.to("mps"), q.to("mps"),
    is_causal=True), F.scaled_dot_product_attention(q, q, q, is_causal=True))
print(json.dumps(same))
"""
    )
    assert ran.answer and all(ran.answer.values()), ran.answer


def test_views_writes_dtypes_and_layouts_work(on_mps):
    ran = on_mps(
        """
x = torch.arange(12.0, device="mps").reshape(3, 4)
view = x[1:, ::2]
view.mul_(10)
out = torch.empty(0, device="mps")
torch.add(x, 1, out=out)
complex_ = torch.fft.fft(torch.arange(4.0, device="mps"))
sparse = torch.eye(3).to_sparse().to("mps")
halves = torch.rand(8, device="mps", dtype=torch.float16)
results = {
    "view": view._base is x._base and x.cpu()[1].tolist() == [40.0, 5.0, 60.0, 7.0],
    "out": out.device.type == "mps" and torch.equal(out.cpu(), x.cpu() + 1),
    "resized": x.clone().resize_(20).untyped_storage().nbytes() >= 80,
    "indexed": x[torch.tensor([0, 2])].shape == (2, 4) and x[x > 5].device.type == "mps",
    "written": bool((x.clone().index_put_((torch.tensor([0]),), torch.tensor(1.0))[0] == 1).all()),
    "complex": complex_.dtype is torch.complex64 and equal(complex_.real, torch.fft.fft(
        torch.arange(4.0)).real) and complex_.conj().imag.device.type == "mps",
    "sparse": raised(torch.mm, sparse, x[:, :3]) or (sparse.is_sparse and sparse.is_mps
        and equal((sparse @ x[:, :3]), x.cpu()[:, :3])),
    "half": torch.special.i0(halves).dtype is torch.float16,
    "functorch": equal(torch.func.hessian(lambda v: (v ** 3).sum())(x[0]),
        torch.func.hessian(lambda v: (v ** 3).sum())(x[0].cpu()), 1e-2),
    "vmap": torch.func.vmap(torch.dot)(x, x).device.type == "mps",
}
print(json.dumps(results))
"""
    )
    if older_than("2.10"):  # before, MPS had no product with a sparse matrix
        assert ran.answer.pop("sparse")[0] == "NotImplementedError"
    assert ran.answer and all(ran.answer.values()), ran.answer


def test_tensors_can_be_saved_loaded_copied_and_sent(on_mps):
    ran = on_mps(
        """
import copy, io, pickle
from torch.utils.data import DataLoader, TensorDataset
x = torch.arange(4.0, device="mps")
buffer = io.BytesIO(); torch.save({"x": x}, buffer)
def load(**kwargs):
    buffer.seek(0)
    return torch.load(buffer, **kwargs)["x"]
loader = DataLoader(TensorDataset(torch.arange(6.0)), batch_size=2, num_workers=1, multiprocessing_context="fork")
traced = torch.jit.trace(nn.Conv2d(1, 1, 1).to("mps"), torch.ones(1, 1, 2, 2, device="mps"))
scripted = torch.jit.script(nn.Linear(2, 2).to("mps"))
compiled = torch.compile(lambda v: v.sin() + 1, backend="aot_eager")
exported = torch.export.export(nn.Linear(2, 2).to("mps"), (torch.ones(1, 2, device="mps"),))
print(json.dumps([
    load().device.type, load(map_location="cpu").device.type, copy.deepcopy(x).device.type,
    pickle.loads(pickle.dumps(x)).device.type, x.untyped_storage().device.type,
    sum(batch[0].to("mps").sum().item() for batch in loader),
    traced(torch.ones(1, 1, 2, 2, device="mps")).device.type,
    scripted(torch.ones(1, 2, device="mps")).device.type, compiled(x).device.type,
    exported.module()(torch.ones(1, 2, device="mps")).device.type]))
"""
    )
    assert ran.answer == ["mps", "cpu", "mps", "mps", "mps", 15.0, "mps", "mps", "mps", "mps"]


def test_the_devices_random_numbers_do_not_affect_the_cpus(on_mps):
    ran = on_mps(
        """
def draws():
    return [torch.rand(4, device="mps"), torch.randn(4, device="mps"), torch.randperm(9, device="mps"),
            F.dropout(torch.ones(50, device="mps")), torch.empty(4, device="mps").exponential_()]
torch.manual_seed(3); first = draws()
torch.manual_seed(3); again = draws()
torch.mps.manual_seed(4); other = draws()
torch.manual_seed(5); before = torch.rand(4)
torch.manual_seed(5); draws(); after = torch.rand(4)
generator = torch.Generator("mps").manual_seed(1)
state = torch.mps.get_rng_state()
one = torch.rand(4, device="mps"); torch.mps.set_rng_state(state); two = torch.rand(4, device="mps")
print(json.dumps([
    [torch.equal(a, b) for a, b in zip(first, again)],
    [torch.equal(a, b) for a, b in zip(first, other)], torch.equal(before, after),
    torch.rand(2, device="mps", generator=generator).device.type, torch.equal(one, two),
    raised(torch.rand, 2, device="mps", generator=torch.Generator())[1]]))
"""
    )
    same, different, cpu_alone, drawn, restored, refused = ran.answer
    assert same == [True] * 5 and different == [False] * 5 and cpu_alone and restored
    assert drawn == "mps" and "Expected a 'mps' device type for generator but found 'cpu'" in refused


def test_memory_is_counted_and_freed(on_mps):
    ran = on_mps(
        """
import gc
start = torch.mps.current_allocated_memory()
x = torch.empty(1 << 20, device="mps")
grown = torch.mps.current_allocated_memory() - start
del x
model = nn.Linear(32, 32).to("mps")
optimizer = torch.optim.Adam(model.parameters())
levels = []
for step in range(200):
    optimizer.zero_grad(); model(torch.ones(4, 32, device="mps")).sum().backward(); optimizer.step()
    levels.append(torch.mps.current_allocated_memory())
del model, optimizer; gc.collect()
print(json.dumps([grown, len(set(levels[5:])), torch.mps.current_allocated_memory() - start]))
"""
    )
    assert ran.answer == [4 << 20, 1, 0]


def test_threads_and_processes_work(on_mps):
    ran = on_mps(
        """
import threading
def work(results):
    for _ in range(10):
        x = torch.randn(8, 8, device="mps", requires_grad=True)
        (x @ x).sum().backward()
    results.append(x.grad.device.type)
results = []
threads = [threading.Thread(target=work, args=(results,)) for _ in range(4)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(json.dumps(results))
"""
    )
    assert ran.answer == ["mps"] * 4


def test_what_needs_metal_or_a_dtype_that_a_mac_lacks_is_answered_so(on_mps):
    ran = on_mps(
        """
dtypes = None
if hasattr(torch.accelerator, "get_device_capability"):
    try: dtypes = sorted(map(str, torch.accelerator.get_device_capability()["supported_dtypes"]))
    except RuntimeError as error: dtypes = str(error)
print(json.dumps([raised(torch.mps.compile_shader, "kernel void f() {}"),
    torch.mps.profiler.is_metal_capture_enabled(), dtypes]))
"""
    )
    shader, capturing, dtypes = ran.answer
    assert shader == ["NotImplementedError", "torch.mps.compile_shader is not simulated: Metal runs "
                      "on a Mac's GPU alone; run this part on a Mac"]  # fmt: skip
    assert capturing is False
    assert ran.devices(kind="refusal") == [], "a Mac has it"
    if older_than("2.10"):
        assert dtypes is None
    elif older_than("2.12"):
        assert dtypes == "Backend doesn't support getting device capabilities."
    else:
        names = "bfloat16 bool complex32 complex64 float16 float32 int16 int32 int64 int8 uint16 uint32 uint64 uint8".split()
        names += [] if older_than("2.15") else ["float8_e4m3fn"]
        assert dtypes == sorted(f"torch.{name}" for name in names)


ENDINGS = 20


def test_scripts_that_end_after_a_backward_exit_cleanly(on_mps):
    """Autograd's threads still use Python after the program's last line."""
    script = """
x = torch.randn(64, 64, device="mps", requires_grad=True)
(x @ x).sigmoid().sum().backward()
print("true")
"""
    assert [on_mps(script).returncode for _ in range(ENDINGS)] == [0] * ENDINGS


def test_a_torch_that_has_mps_is_refused(starting_child):
    ran = starting_child(
        """
import importlib.machinery, sys
class Faked:
    def find_spec(self, name, path=None, target=None):
        if name != "torch._C": return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module
        def exec_module(module):
            load(module)
            module._has_mps, module._mps_is_available = True, lambda: True
        spec.loader.exec_module = exec_module
        return spec
sys.meta_path.insert(1, Faked())
import torch
""",
        env={"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none"},
    )
    assert ran.returncode == 1
    assert "this torch has mps of its own" in ran.stderr.strip().splitlines()[-1]
