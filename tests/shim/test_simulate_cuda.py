"""Tests simulated CUDA devices in child processes: tensors on cuda:0 and cuda:1, the answers of
torch.cuda, and that what works on a GPU works here. Values are the CPU's."""

import json

import pytest

from conftest import SHIM


@pytest.fixture
def on_cuda(child):
    """Runs a script with two simulated CUDA devices; its last line of output is JSON."""

    def run(script, **env):
        return child(
            "import copy, io, json, os, pickle, threading, warnings, torch\n"
            "from torch import nn\nfrom torch.nn import functional as F\n"
            "warnings.simplefilter('ignore')\n"
            "def equal(a, b, tolerance=1e-5): return torch.allclose(a.cpu(), b.cpu(), atol=tolerance)\n"
            "def raised(call, *args, **kwargs):\n"
            "    try: call(*args, **kwargs)\n"
            "    except Exception as error: return [type(error).__name__, str(error)]\n" + script,
            env={"TORCHDEVICE_SIMULATE": "cuda", **env},
        )

    return run


def test_tensors_report_the_simulated_devices(on_cuda):
    ran = on_cuda(
        """
before = torch.cuda.is_initialized()
x = torch.ones(2, device="cuda")
y = torch.ones(2, device="cuda:1")
print(json.dumps([
    before, torch.cuda.is_initialized(), torch.cuda.is_available(), torch.cuda.device_count(),
    x.is_cuda, str(x.device), x.get_device(), y.get_device(), x.type(),
    isinstance(x, torch.cuda.FloatTensor), isinstance(torch.ones(2), torch.cuda.FloatTensor),
    x.cuda() is x, x.to("cuda:0") is x, torch.cuda.FloatTensor(2, 3).is_cuda,
    x.double().dtype == torch.float64, torch.cuda.get_device_name(1),
    list(torch.cuda.get_device_capability()), torch.cuda.get_arch_list(), torch.version.cuda,
    torch.backends.cudnn.is_available(), torch.cuda.can_device_access_peer(0, 1),
    str(torch.accelerator.current_accelerator()), raised(x.numpy)[0]]))
"""
    )
    assert ran.answer == [
        False, True, True, 2, True, "cuda:0", 0, 1, "torch.cuda.FloatTensor", True, False, True,
        True, True, True, "Simulated CUDA GPU", [8, 0], ["sm_80"], "12.6", True, True, "cuda",
        "TypeError",
    ]
    (session,) = [line for line in ran.record if line["event"] == "session"]
    assert (session["host"], session["simulated"]) == ("cuda", "cuda")
    assert ran.devices() == [], "nothing is redirected where the device is there"


def test_device_use_of_a_test_is_counted(on_cuda):
    ran = on_cuda(
        """
import compat_shim
x, host = torch.ones(2, device="cuda"), torch.ones(2)
for name, call in [("nothing", lambda: host + 1), ("made", lambda: torch.empty(2, device="cuda")),
                   ("moved", lambda: host.to("cuda")), ("fetched", lambda: x.cpu()),
                   ("computed", lambda: x + x)]:
    compat_shim.begin_test(name)
    call()
    compat_shim.end_test()
print("null")
"""
    )
    kernels = {line["test"]: line["kernels"]["cuda"] for line in ran.record if line["event"] == "test"}
    assert {name for name, count in kernels.items() if count > 0} == {"made", "moved", "fetched", "computed"}
    assert len(kernels) == 5


@pytest.mark.parametrize(
    "env, devices",
    [
        ({"TORCHDEVICE_DEVICES": "8"}, 8),
        ({"TORCHDEVICE_DEVICES": "1"}, 1),
        ({"CUDA_VISIBLE_DEVICES": "1"}, 1),
        ({"CUDA_VISIBLE_DEVICES": ""}, 0),
    ],
)
def test_the_number_of_devices_can_be_set(on_cuda, env, devices):
    ran = on_cuda(
        """
print(json.dumps([torch.cuda.device_count(), torch.cuda.is_available(),
                  raised(torch.ones, 1, device=f"cuda:{torch.cuda.device_count()}")[:1],
                  raised(torch.cuda.set_device, torch.cuda.device_count())]))
""",
        **env,
    )
    count, available, outside, chosen = ran.answer
    assert (count, available) == (devices, devices > 0)
    if devices == 0:
        assert chosen == ["RuntimeError", "No CUDA GPUs are available"]
    else:
        assert outside == ["AcceleratorError"] and chosen[0] == "AcceleratorError"
        assert chosen[1].startswith("CUDA error: invalid device ordinal")


def test_each_thread_has_its_current_device(on_cuda):
    ran = on_cuda(
        """
with torch.cuda.device(1):
    x = torch.ones(2, device="cuda")
    inside = torch.cuda.current_device()
    seen = []
    other = threading.Thread(target=lambda: seen.append(torch.zeros(1).cuda().get_device()))
    other.start(), other.join()
with torch.cuda.device_of(x):
    of_tensor = torch.cuda.current_device()
torch.cuda.set_device(1)
chosen = torch.zeros(1).cuda().get_device()
torch.set_default_device("cuda:1")
layer = nn.Linear(2, 2).weight.get_device()
torch.set_default_device(None)
y = torch.empty(2, device="cuda:0").copy_(x * 3)
print(json.dumps([x.get_device(), inside, seen, of_tensor, chosen, layer, y.get_device(), y.tolist(),
    [each.get_device() for each in torch._foreach_add([x, y], 1)]]))
"""
    )
    assert ran.answer == [1, 1, [0], 1, 1, 1, 0, [3.0, 3.0], [1, 0]]


MIXED = """
a = {"cpu": torch.ones(2), "cuda": torch.ones(2, device="cuda"), "one": torch.ones(2, device="cuda:1")}
print(json.dumps({
    "add": raised(torch.add, a["cuda"], a["cpu"]), "two": raised(torch.add, a["one"], a["cuda"]),
    "linear": raised(nn.Linear(2, 2).cuda(), torch.ones(1, 2)),
    "embedding": raised(F.embedding, torch.tensor([0]), torch.ones(2, 2, device="cuda")),
    "index": raised(lambda: torch.ones(3)[torch.tensor([0], device="cuda")]),
    "conv": raised(F.conv1d, torch.ones(1, 1, 3), torch.ones(1, 1, 1, device="cuda")),
    "scalar": raised(torch.add, a["cuda"], torch.tensor(1.0)),
    "generator": raised(torch.randn, 2, device="cuda", generator=torch.Generator()),
    "histogram": raised(torch.histogram, a["cuda"], 3)}))
"""


def test_mixing_devices_raises_cudas_error(on_cuda):
    answer = on_cuda(MIXED).answer
    two = "Expected all tensors to be on the same device, but found at least two devices, "
    assert answer["add"] == ["RuntimeError", two + "cuda:0 and cpu!"]
    assert answer["two"] == ["RuntimeError", two + "cuda:1 and cuda:0!"]
    assert "(when checking argument in method wrapper_CUDA_addmm)" in answer["linear"][1]
    assert "wrapper_CUDA__index_select" in answer["embedding"][1]
    assert answer["index"][1].startswith("indices should be either on cpu")
    assert answer["conv"][1] == (
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same"
    )
    assert answer["scalar"] is None, "a number in a CPU tensor may be anywhere"
    assert answer["generator"][1] == (
        "Expected a 'cuda' device type for generator but found 'cpu'"
    )
    assert answer["histogram"][0] == "NotImplementedError"
    assert "with arguments from the 'CUDA' backend" in answer["histogram"][1]


def test_models_train_as_on_the_cpu(on_cuda):
    """Each optimizer in each variant, a network over two devices, and DataParallel."""
    ran = on_cuda(
        """
import torch.cuda.comm
x, y = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
def trained(model, device, make, **options):
    model = model.to(device)
    optimizer = make(model.parameters(), lr=0.01, **options)
    for _ in range(3):
        def loss():
            optimizer.zero_grad()
            value = F.cross_entropy(model(x.to(device)), y.to(device))
            value.backward()
            return value
        optimizer.step(loss)
    return list(model.parameters())
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3))
unequal = []
for name, forms in {"SGD": "foreach fused", "Adam": "foreach fused capturable", "AdamW": "fused",
                    "RMSprop": "foreach", "Adagrad": "foreach", "NAdam": "capturable",
                    "LBFGS": ""}.items():
    make = getattr(torch.optim, name)
    expected = trained(copy.deepcopy(model), "cpu", make)
    for options in [{}] + [{form: True} for form in forms.split()]:
        found = trained(copy.deepcopy(model), "cuda:1", make, **options)
        if not all(equal(a, b, 1e-4) and b.get_device() == 1 for a, b in zip(expected, found)):
            unequal.append([name, options])
model(x).sum().backward()
first, second = copy.deepcopy(model[:2]).cuda(0), copy.deepcopy(model[2:]).cuda(1)
first.zero_grad(), second.zero_grad()
second(first(x.cuda()).to("cuda:1")).sum().backward()
parts = equal(first[0].weight.grad, model[0].weight.grad) and second[1].weight.grad.get_device() == 1
both = nn.DataParallel(copy.deepcopy(model).cuda())
both.zero_grad()
output = both(x.cuda())
output.sum().backward()
print(json.dumps([unequal, parts, equal(output, model(x)), output.get_device(),
    equal(both.module[0].weight.grad, model[0].weight.grad),
    [each.device.index for each in torch.cuda.comm.broadcast(x.cuda(), [0, 1])],
    equal(torch.cuda.comm.reduce_add([x.cuda(0), x.cuda(1)], 1), 2 * x)]))
"""
    )
    assert ran.answer == [[], True, True, 0, True, [0, 1], True]


def test_layers_compute_what_the_cpu_computes(on_cuda):
    """Forward and backward, input and parameters."""
    ran = on_cuda(
        """
torch.manual_seed(0)
cases = {}
for kind in (nn.LSTM, nn.GRU, nn.RNN):
    for options in ({}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False}):
        cases[f"{kind.__name__} {options}"] = kind(3, 5, **options), torch.randn(2, 4, 3)
cases["LSTM projected"] = nn.LSTM(3, 5, proj_size=2), torch.randn(2, 4, 3)
cases["LSTM double"] = nn.LSTM(3, 5).double(), torch.randn(2, 4, 3).double()
for kind, shape in ((nn.Conv1d, (2, 3, 9)), (nn.Conv2d, (2, 3, 9, 9)), (nn.Conv3d, (2, 3, 5, 5, 5)),
                    (nn.ConvTranspose2d, (2, 3, 9, 9))):
    cases[kind.__name__] = kind(3, 4, 3), torch.randn(shape)
cases["encoder"] = nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True), torch.randn(2, 5, 16)
cases["norm"] = nn.Sequential(nn.BatchNorm2d(3), nn.MaxPool2d(2), nn.GroupNorm(3, 3)), torch.randn(2, 3, 8, 8)
unequal = []
for name, (layer, x) in cases.items():
    results = []
    for device in ("cpu", "cuda"):
        module, given = copy.deepcopy(layer).to(device), x.to(device, copy=True).requires_grad_()
        output = module(given)
        output = output[0] if isinstance(output, tuple) else output
        output.pow(2).sum().backward()
        results.append([output, given.grad, *(p.grad for p in module.parameters())])
    if not all(equal(a, b, 1e-4) and b.is_cuda for a, b in zip(*results)):
        unequal.append(name)
lstm = nn.LSTM(3, 5).cuda()
with torch.autocast("cuda", dtype=torch.float16):
    dtype = lstm(torch.randn(2, 4, 3, device="cuda"))[0].dtype
fused = type(lstm(torch.randn(2, 4, 3, device="cuda"))[0].grad_fn).__name__
packed = nn.utils.rnn.pack_padded_sequence(torch.randn(4, 2, 3, device="cuda"), torch.tensor([4, 2]))
second = torch.autograd.gradgradcheck(
    lambda x: nn.LSTM(2, 2).cuda().double()(x)[0] * 0 + x.sin().sum(),
    (torch.randn(2, 1, 2, device="cuda", dtype=torch.double, requires_grad=True),))
print(json.dumps([unequal, str(dtype), "Layer" in fused, lstm(packed)[0].data.is_cuda, second]))
"""
    )
    assert ran.answer == [[], "torch.float16", True, True, True]


def test_kernels_that_only_cuda_has_are_computed(on_cuda):
    ran = on_cuda(
        """
a, b = torch.randn(3, 4).half(), torch.randn(4, 5).half()
A, B = a.cuda(), b.cuda()
wide = a.float() @ b.float()
out = torch.empty(3, 5, device="cuda")
torch.mm(A, B, out_dtype=torch.float32, out=out)
products = [
    torch.mm(A, B, out_dtype=torch.float32), out,
    torch.bmm(A[None], B[None], out_dtype=torch.float32)[0],
    torch.addmm(torch.zeros(5).half().cuda(), A, B, out_dtype=torch.float32),
    torch.baddbmm(torch.zeros(1, 3, 5).half().cuda(), A[None], B[None], out_dtype=torch.float32)[0],
]
x = torch.randn(8).half()
X = torch.fft.rfft(x.cuda())
lu = []
for shape in ((3, 3), (2, 4, 3), (3, 5)):
    matrix = torch.randn(shape, dtype=torch.float64) + 4 * torch.eye(*shape[-2:])
    none, lower, upper = torch.linalg.lu(matrix.cuda(), pivot=False)
    factors, pivots, info = torch.linalg.lu_factor_ex(matrix.cuda(), pivot=False)
    permutation, pivoted, rest = torch.linalg.lu(matrix.cuda())
    lu.append(none.numel() == 0 and equal(lower @ upper, matrix) and not info.any()
              and equal(permutation @ pivoted @ rest, matrix) and equal(factors.triu()[..., :upper.shape[-2], :], upper))
print(json.dumps([
    [p.dtype == torch.float32 and equal(p, wide) for p in products],
    raised(torch.mm, A.float(), B.float(), out_dtype=torch.float64)[1],
    str(X.dtype), equal(X.to(torch.complex64), torch.fft.rfft(x.float()), 2e-2),
    str(torch.fft.irfft(X).dtype), equal(torch.fft.irfft(X).float(), x.float(), 1e-2),
    lu, torch.linalg.lu_factor_ex(torch.zeros(2, 2, device="cuda"), pivot=False).info.item(),
    str(F.softmax(A, -1, dtype=torch.float32).dtype)]))
"""
    )
    assert ran.answer == [
        [True] * 5, "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs",
        "torch.complex32", True, "torch.float16", True, [True] * 3, 1, "torch.float32",
    ]


def test_autocast_casts_as_on_cuda(on_cuda):
    ran = on_cuda(
        """
answers = []
for dtype in (torch.float16, torch.bfloat16):
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 3)).cuda()
    optimizer, scaler = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cuda")
    with torch.autocast("cuda", dtype=dtype):
        h = model(torch.randn(2, 1, 4, 4, device="cuda"))
        loss = F.cross_entropy(h, torch.tensor([0, 2], device="cuda"))
        kinds = [h.dtype == dtype, str(h.softmax(-1).dtype), str(loss.dtype)]
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer), scaler.step(optimizer), scaler.update()
    answers.append(kinds + [str(model[0].weight.grad.dtype)])
print(json.dumps([answers, (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32,
                  torch.cuda.is_bf16_supported()]))
"""
    )
    kinds = [True, "torch.float32", "torch.float32", "torch.float32"]
    assert ran.answer == [[kinds, kinds], True, True]


def test_streams_events_and_pinned_memory_work(on_cuda):
    ran = on_cuda(
        """
s, t = torch.cuda.Stream(), torch.cuda.Stream(device=1)
default = torch.cuda.default_stream()
with torch.cuda.stream(s):
    inside, seen = torch.cuda.current_stream() == s, []
    other = threading.Thread(target=lambda: seen.append(torch.cuda.current_stream() == default))
    other.start(), other.join()
    torch.ones(2, device="cuda").record_stream(s)
with torch.cuda.stream(t):
    on_one = [torch.cuda.current_device(), torch.cuda.current_stream(1) == t]
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record(), torch.randn(64, 64, device="cuda").mm(torch.randn(64, 64, device="cuda")), end.record()
torch.cuda.current_stream().wait_stream(s)
pinned = torch.ones(4).pin_memory()
batches = [batch.is_pinned() for workers in (0, 2) for (batch,) in torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.randn(8, 2)), 4, pin_memory=True, num_workers=workers)]
print(json.dumps([inside, seen, on_one, torch.cuda.current_stream() == default, s != default,
    t.device.index, start.elapsed_time(end) > 0, torch.ones(1).is_pinned(), pinned.is_pinned(),
    torch.empty(3, pin_memory=True).is_pinned(), pinned.cuda(non_blocking=True).is_pinned(),
    batches, raised(torch.ones(2, device="cuda").pin_memory)[0]]))
"""
    )
    assert ran.answer == [
        True, [True], [1, True], True, True, 1, True, False, True, True, False, [True] * 4,
        "RuntimeError",
    ]


def test_memory_is_counted_by_device_and_limited(on_cuda):
    ran = on_cuda(
        """
a, b = torch.cuda.memory_allocated(0), torch.cuda.memory_allocated(1)
x = torch.empty(1 << 20, device="cuda:1")
taken = [torch.cuda.memory_allocated(0) - a, torch.cuda.memory_allocated(1) - b]
torch.cuda.reset_peak_memory_stats(1)
y = x + 1
del y
peak = torch.cuda.max_memory_allocated(1) - b
v = torch.empty(100, device="cuda")
w = v.view(10, 10)[2:]
small = torch.cuda.memory_allocated(0) - a
free, total = torch.cuda.mem_get_info(1)
torch.cuda.set_per_process_memory_fraction(0.5, 1)
print(json.dumps([taken, peak, small, total - free == taken[1] + b, total == 16 << 30,
    raised(torch.empty, 20 << 30, device="cuda", dtype=torch.uint8),
    raised(torch.empty, 9 << 30, device="cuda:1", dtype=torch.uint8)[0],
    torch.cuda.memory_stats(1)["allocated_bytes.all.current"] - b,
    getattr(torch.accelerator, "memory_allocated", torch.cuda.memory_allocated)(1) - b, torch.cuda.utilization(1) >= 0,
    "GPU:1" in torch.cuda.list_gpu_processes(1)]))
""",
        TORCHDEVICE_DEVICE_MEMORY="16G",
    )
    (zero, one), peak, small, whole, total, refused, half, stats, accelerator, *others = ran.answer
    assert (zero, one, peak, small) == (0, 4 << 20, 8 << 20, 512)
    assert whole and total and all(others)
    assert refused[0] == half == "OutOfMemoryError"
    assert refused[1].startswith("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total")
    assert stats == accelerator == 4 << 20


def test_each_device_has_its_own_random_generator(on_cuda):
    ran = on_cuda(
        """
torch.manual_seed(0)
expected = torch.rand(4)
torch.manual_seed(0)
F.dropout(torch.ones(100, device="cuda")), torch.randn(5, device="cuda:1")
untouched = torch.equal(expected, torch.rand(4))
generator = torch.Generator(device="cuda").manual_seed(3)
one = torch.randn(3, device="cuda", generator=generator)
again = torch.randn(3, device="cuda", generator=generator.manual_seed(3))
state = torch.cuda.get_rng_state(1)
drawn = torch.rand(3, device="cuda:1")
torch.cuda.set_rng_state(state, 1)
redrawn = torch.rand(3, device="cuda:1")
torch.cuda.manual_seed_all(5)
both = [torch.rand(3, device=f"cuda:{i}").cpu() for i in range(2)]
with torch.random.fork_rng(devices=[0]):
    inside = torch.rand(3, device="cuda")
after = torch.rand(3, device="cuda")
mean = F.dropout(torch.ones(10000, device="cuda")).mean().item()
print(json.dumps([untouched, torch.equal(one, again), state.numel(), torch.equal(*both),
    torch.equal(inside, after), torch.equal(drawn, redrawn), abs(mean - 1) < 0.05,
    len(torch.cuda.default_generators), torch.cuda.initial_seed()]))
"""
    )
    assert ran.answer == [True, True, 16, True, True, True, True, 2, 5]


def test_saving_loading_and_copying_keep_the_device(on_cuda):
    ran = on_cuda(
        """
file = io.BytesIO()
torch.save({"a": torch.ones(2, device="cuda:1"), "p": nn.Parameter(torch.ones(2, device="cuda"))}, file)
found = []
for where in (None, "cpu", "cuda:0", {"cuda:1": "cuda:0"}):
    file.seek(0)
    found.append(torch.load(file, map_location=where)["a"].get_device())
x = torch.arange(3.0, device="cuda:1")
storage = torch.UntypedStorage(4, device="cuda:1")
scripted = torch.jit.script(nn.Linear(2, 2).cuda())
program = io.BytesIO()
torch.jit.save(scripted, program)
program.seek(0)
with torch.cuda.device(1):
    shared = torch.from_dlpack(x)
print(json.dumps([found, pickle.loads(pickle.dumps(x)).get_device(), copy.deepcopy(x).tolist(),
    storage.device.index, x.untyped_storage().nbytes(), shared.get_device(), shared.tolist(),
    str(next(torch.jit.load(program, map_location="cuda:1").parameters()).device),
    raised(getattr, x, "__cuda_array_interface__"), hasattr(x.cpu(), "__cuda_array_interface__")]))
"""
    )
    *answers, interface, of_cpu = ran.answer
    assert answers == [
        [1, -1, 0, 0], 1, [0.0, 1.0, 2.0], 1, 12, 1, [0.0, 1.0, 2.0], "cuda:1",
    ]
    assert interface[0] == "NotImplementedError" and "is the host's" in interface[1]
    assert of_cpu is False
    (refusal,) = ran.devices(kind="refusal")
    assert refusal["op"] == "torch.Tensor.__cuda_array_interface__"


def test_sparse_and_other_layouts_work(on_cuda):
    ran = on_cuda(
        """
i = torch.tensor([[0, 1, 1], [2, 0, 2]])
v = torch.tensor([3.0, 4, 5])
s = torch.sparse_coo_tensor(i, v, (2, 3))
S = torch.sparse_coo_tensor(i.cuda(), v.cuda().requires_grad_(), (2, 3))
torch.sparse.mm(S, torch.ones(3, 2, device="cuda")).sum().backward()
dense = torch.tensor([[0, 1.0], [2, 3]])
csr = dense.cuda().to_sparse_csr()
nested = torch.nested.nested_tensor([torch.ones(2, 3, device="cuda"), torch.ones(4, 3, device="cuda")])
q = torch.quantize_per_tensor(torch.arange(3.0, device="cuda"), 0.5, 0, torch.qint8)
embedding = nn.Embedding(4, 3, sparse=True).cuda()
embedding(torch.tensor([1, 2], device="cuda")).sum().backward()
torch.optim.SparseAdam(embedding.parameters()).step()
print(json.dumps([
    S.is_cuda and S.is_sparse, equal((S.detach() + S.detach()).coalesce().to_dense(), (s + s).to_dense()),
    S.cpu().is_sparse, embedding.weight.grad.is_sparse and embedding.weight.grad.is_cuda,
    csr.layout == torch.sparse_csr and csr.is_cuda, equal(csr @ torch.eye(2, device="cuda"), dense),
    equal(dense.cuda().to_sparse_csc().to_dense(), dense), nested.is_cuda,
    list(nested.to_padded_tensor(0.0).shape), [list(t.shape) for t in nested.cpu().unbind()],
    q.is_cuda and q.is_quantized, q.cpu().dequantize().tolist(), q.cpu().cuda().q_scale()]))
"""
    )
    assert ran.answer == [
        True, True, True, True, True, True, True, True, [2, 4, 3], [[2, 3], [4, 3]], True,
        [0.0, 1.0, 2.0], 0.5,
    ]


def test_compilers_and_transforms_work_or_are_refused(on_cuda):
    """Inductor is refused for the device's tensors only."""
    ran = on_cuda(
        """
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
f = lambda x, w: (x @ w).sin().sum()
x, w = torch.randn(3, 3, device="cuda"), torch.randn(3, 3, device="cuda", requires_grad=True)
compiled = []
for backend in ("eager", "aot_eager", "aot_eager_decomp_partition"):
    torch._dynamo.reset()
    w.grad = None
    result = torch.compile(f, backend=backend, fullgraph=True)(x, w)
    result.backward()
    compiled.append(equal(result, f(x.cpu(), w.cpu())) and w.grad.is_cuda)
traced = make_fx(lambda x: F.softmax(x * 2, -1) + torch.ones(3, device="cuda"), tracing_mode="symbolic")(x)
with FakeTensorMode():
    fake = nn.LSTM(2, 2, device="cuda")(torch.ones(1, 1, 2, device="cuda"))[0]
    mixed = raised(lambda: torch.ones(2, device="cuda") + torch.ones(2))
hessian = torch.func.hessian(lambda r: (r ** 3).sum())(x[0])
torch._dynamo.reset()
inductor = raised(torch.compile(torch.sin), x)
exported = torch.export.export(nn.Linear(2, 2).cuda(), (torch.ones(1, 2, device="cuda"),))
checked = torch.autograd.gradcheck(torch.nn.functional.linear, [
    torch.randn(2, 2, device="cuda", dtype=torch.double, requires_grad=True) for _ in range(2)])
print(json.dumps([compiled, equal(traced(x), F.softmax(x * 2, -1) + 1), str(fake.device), mixed[0],
    equal(hessian, (6 * x[0]).diag(), 1e-4), inductor, checked]))
"""
    )
    compiled, traced, fake, mixed, hessian, (kind, text), checked = ran.answer
    assert compiled == [True] * 3 and traced and hessian and checked
    assert fake == "cuda:0" and mixed in ("FakeTensorDeviceMismatchError", "RuntimeError")
    assert "NotImplementedError: torch._inductor is not simulated: Inductor writes kernels" in text


def test_gpu_only_features_are_refused(on_cuda):
    ran = on_cuda(
        """
refused = [raised(torch.cuda.CUDAGraph), raised(torch.cuda.MemPool),
           raised(torch.cuda._compile_kernel, "", "f"), raised(torch.cuda.nccl.version)]
torch.cuda.nvtx.range_push("a"), torch.cuda.nvtx.range_pop()
with torch.profiler.profile(activities=list(torch.profiler.supported_activities())) as profile:
    torch.ones(2, device="cuda") + 1
print(json.dumps([refused, any("add" in event.key for event in profile.key_averages())]))
"""
    )
    refused, profiled = ran.answer
    assert profiled and all(
        kind == "NotImplementedError" and "is not available on this device" in text
        for kind, text in refused
    )
    assert len(ran.devices(kind="refusal")) == 4


FORKS = """
def in_child(call):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, json.dumps(raised(call)).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    return json.loads(os.read(read, 10000))
before = in_child(lambda: torch.ones(1, device="cuda"))
torch.ones(1, device="cuda")
after = [in_child(call) for call in (lambda: torch.ones(1, device="cuda"),
    lambda: torch.cuda.set_device(0), lambda: torch.ones(2) + 1)]
print(json.dumps([before, after]))
"""


def test_cuda_cannot_be_used_after_a_fork(on_cuda):
    before, (made, chosen, on_cpu) = on_cuda(FORKS).answer
    assert before is None and on_cpu is None
    for kind, text in (made, chosen):
        assert kind == "RuntimeError"
        assert text.startswith("Cannot re-initialize CUDA in forked subprocess")


def test_the_default_tensor_type_can_be_cuda(on_cuda):
    ran = on_cuda(
        """
torch.set_default_tensor_type("torch.cuda.DoubleTensor")
made = torch.ones(1)
torch.set_default_tensor_type(torch.FloatTensor)
print(json.dumps([made.type(), torch.ones(1).type()]))
"""
    )
    assert ran.answer == ["torch.cuda.DoubleTensor", "torch.FloatTensor"]


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_program_that_ends_right_after_a_backward_ends_cleanly(child, device):
    script = f"""
import torch
x = torch.randn(8, 8, device="{device}", requires_grad=True)
(x @ x).sum().backward()
print("0")
"""
    for _ in range(5):
        ran = child(script, env={"TORCHDEVICE_SIMULATE": device})
        assert (ran.returncode, ran.stderr) == (0, "")


def test_devices_are_simulated_if_torch_is_imported_first(child):
    script = """
import torch
assert not torch.cuda.is_available()
import TorchDevice, json
x = torch.ones(2, device="cuda:1")
with torch.cuda.stream(torch.cuda.Stream(device=1)):
    event = torch.cuda.Event()
    event.record()
print(json.dumps([str(x.device), torch.cuda.device_count(), event.device.index,
                  isinstance(x, torch.cuda.FloatTensor)]))
"""
    env = {"TORCHDEVICE_SIMULATE": "cuda", "PYTHONPATH": str(SHIM / "python")}
    assert child(script, env=env).answer == ["cuda:1", 2, 1, True]


def test_integers_strings_and_torchscript_name_the_devices(on_cuda):
    ran = on_cuda(
        """
x = torch.ones(2)
@torch.jit.script
def script(x: torch.Tensor, d: torch.device):
    y = x.to("cuda:1")
    return y, x.cuda(), torch.zeros([2], device=d), y.device.type == "cuda", y.device == torch.device("cuda:1")
def inside(index):
    with torch.device(index): return torch.ones(1)
made = [x.to(0), x.cuda(1), x.to(torch.device(1)), torch.ones(1, device=1), x.new_ones(1, device=0),
        nn.Linear(1, 1).to(1).weight, nn.Linear(1, 1).cuda(1).weight, inside(1)]
y, z, w, named, equal = script(x, torch.device(1))
print(json.dumps([
    [str(each.device) for each in made + [y, z, w]], named, equal, y.device == "cuda:1", y.device in ("cuda:1",),
    str(torch.Generator(device=1).device), [raised(call)[0] for call in (
        lambda: x.to(3), lambda: x.cuda(3), lambda: torch.ones(1, device=3))]]))
"""
    )
    places, named, equal, as_string, within, generator, errors = ran.answer
    assert [place[-1] for place in places] == list("01110111101")
    assert all(place.startswith("cuda:") for place in places)
    assert (named, equal, as_string, within, generator) == (True, True, False, False, "cuda:1")
    assert errors == ["AcceleratorError"] * 3


def test_storages_are_resized(on_cuda):
    ran = on_cuda(
        """
x = torch.arange(4.0, device="cuda:1")
storage, before = x.untyped_storage(), torch.cuda.memory_allocated(1)
y = x + 1
sizes = [storage.resize_(0).nbytes(), torch.cuda.memory_allocated(1) - before]
grown = storage.resize_(16).nbytes()
x.copy_(y)
print(json.dumps([sizes, grown, x.tolist(), str(storage.device), y.untyped_storage().resize_(8).nbytes(),
                  y[:2].tolist()]))
"""
    )
    assert ran.answer == [[0, 0], 16, [1, 2, 3, 4], "cuda:1", 8, [1, 2]]


def test_extensions_with_cuda_sources_are_refused_and_launchers_find_devices(on_cuda):
    ran = on_cuda(
        """
from torch.utils import _triton, cpp_extension
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
print(json.dumps([
    raised(cpp_extension.CUDAExtension, "one", ["one.cu"]),
    raised(cpp_extension.load_inline, "one", "", cuda_sources="void f() {}", build_directory="."),
    torch.cuda.is_available(), torch.cuda.device_count(), _triton.has_triton(),
    torch.cuda.memory_allocated(torch.device("cuda", 1)),
    torch.distributed.is_nccl_available() == hasattr(torch._C._distributed_c10d, "ProcessGroupNCCL")]))
""",
    )
    extension, inline, *asked = ran.answer
    for (kind, text), symbol in ((extension, "CUDAExtension"), (inline, "load")):
        assert kind == "NotImplementedError"
        assert text.startswith(f"torch.utils.cpp_extension.{symbol} is not available on this device: a CUDA kernel")
    assert asked == [True, 2, False, 0, True]


DTYPES = """
i(2, 2) @ i(2, 2); "addmm_cuda" not implemented for 'Long'
torch.addmm(i(2, 2), i(2, 2), i(2, 2)); "addmm_cuda" not implemented for 'Long'
F.linear(i(1, 2), i(3, 2), i(3)); "addmm_cuda" not implemented for 'Long'
torch.bmm(i(1, 2, 2), i(1, 2, 2)); "baddbmm_cuda" not implemented for 'Long'
torch.mv(i(2, 2), i(2)); "addmv_impl_cuda" not implemented for 'Long'
torch.dot(i(2), i(2)); "dot" not implemented for 'Long'
torch.vdot(i(2), i(2)); "dot" not implemented for 'Long'
F.conv2d(i(1, 1, 3, 3), i(1, 1, 2, 2)); getCudnnDataTypeFromScalarType() not supported for Long
torch.cdist(h(2, 2), h(2, 2)); "cdist_cuda" not implemented for 'Half'
torch.linalg.cholesky(eye); "cholesky_cusolver" not implemented for 'Half'
torch.linalg.svd(eye); "svd_cuda_gesvdjBatched" not implemented for 'Half'
torch.linalg.qr(eye); "geqrf_cuda" not implemented for 'Half'
torch.geqrf(eye); "geqrf_cuda" not implemented for 'Half'
torch.linalg.lu(eye); "lu_factor_cusolver" not implemented for 'Half'
torch.linalg.lu_factor(eye); "lu_factor_cusolver" not implemented for 'Half'
torch.linalg.solve(eye, eye); "lu_factor_cusolver" not implemented for 'Half'
torch.linalg.det(eye); "lu_factor_cusolver" not implemented for 'Half'
torch.linalg.eigh(eye); "linalg_eigh_cuda" not implemented for 'Half'
torch.linalg.householder_product(eye, eye[0]); "orgqr_cuda" not implemented for 'Half'
torch.ormqr(eye, eye[0], eye); "orgmr_cuda" not implemented for 'Half'
torch.linalg.solve_triangular(eye, eye, upper=True); "triangular_solve_cuda" not implemented for 'Half'
torch.triangular_solve(eye, eye); "triangular_solve_cuda" not implemented for 'Half'
torch.histc(h(3)); HalfTensor is not supported
torch.special.bessel_j0(h(2)); "bessel_j0_cuda" not implemented for 'Half'
torch.special.zeta(h(2), h(2)); "zeta_cuda" not implemented for 'Half'
torch.special.erfcx(b(2)); "erfcx_cuda" not implemented for 'BFloat16'
torch.cholesky_solve(eye, eye); "cholesky_cuda_potrs" not implemented for 'Half'
F.softmax(i(2), 0); "host_softmax" not implemented for 'Long'
F.log_softmax(i(2), 0); "host_softmax" not implemented for 'Long'
torch.gcd(f(2), f(2)); "gcd_cuda" not implemented for 'Float'
torch.histc(h(3) > 0); "histc" not implemented for 'Bool'
F.layer_norm(h(2, 2), [2], f(2)); expected scalar type Half but found Float
F.layer_norm(f(2, 2), [2], f(2), h(2)); expected scalar type Float but found Half
""".strip().splitlines()
COMPUTED = """
torch.cdist(h(30, 2), h(30, 2)); F.layer_norm(h(2, 2), [2], h(2), h(2)); torch.histc(i(3)); h(2, 2) @ h(2, 2)
torch.special.zeta(h(2), f(2)); torch.special.bessel_j0(h(0)); torch.gcd(i(2), i(2) > 0); torch.remainder(i(2) > 0, i(2))
i(2, 0) @ i(0, 2); torch.linalg.lu(f(2, 2) + 1); torch.linalg.svd(f(2, 2)); F.conv2d(h(1, 1, 3, 3), h(1, 1, 2, 2))
"""


def test_dtypes_that_cudas_kernels_lack_are_refused(on_cuda):
    rows = [row.split("; ", 1) for row in DTYPES]
    calls = [call for call, _ in rows]
    ran = on_cuda(
        f"""
def t(dtype): return lambda *sizes: torch.ones(sizes, dtype=dtype, device="cuda")
i, h, f, b = t(torch.int64), t(torch.float16), t(torch.float32), t(torch.bfloat16)
eye = torch.eye(2, device="cuda", dtype=torch.float16)
answers = [raised(eval, call, globals()) for call in {calls!r}]
print(json.dumps([answers, [raised(eval, call.strip(), globals())
    for call in {COMPUTED.replace(chr(10), ";")!r}.split(";") if call.strip()]]))
"""
    )
    refused, computed = ran.answer
    expected = [
        ["NotImplementedError" if "not implemented for" in text else "RuntimeError", text] for _, text in rows
    ]
    assert refused == expected
    assert computed == [None] * 12
    assert sum(event["count"] for event in ran.devices(kind="refusal")) == len(rows)


def test_every_rule_of_cuda_is_met_by_a_call():
    rules = json.loads((SHIM / "simulate" / "cuda_refusals.json").read_text())
    said = "\n".join(DTYPES)
    for section in rules["refusals"]:
        for rule in section["rules"]:
            assert f'"{rule["dispatch"]}"' in said if "dispatch" in rule else rule["text"].split("{")[0] in said
