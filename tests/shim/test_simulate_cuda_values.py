"""Tests that what runs on a GPU runs on simulated CUDA devices, in child processes. Values are the
CPU's."""

import pytest

from conftest import older_than


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
# cuDNN's have no second gradients (test_simulate_cuda_conditions.py).
torch.backends.cudnn.enabled = False
fused = type(lstm(torch.randn(2, 4, 3, device="cuda"))[0].grad_fn).__name__
packed = nn.utils.rnn.pack_padded_sequence(torch.randn(4, 2, 3, device="cuda"), torch.tensor([4, 2]))
second = torch.autograd.gradgradcheck(
    lambda x: nn.LSTM(2, 2).cuda().double()(x)[0] * 0 + x.sin().sum(),
    (torch.randn(2, 1, 2, device="cuda", dtype=torch.double, requires_grad=True),))
print(json.dumps([unequal, str(dtype), "Layer" in fused, lstm(packed)[0].data.is_cuda, second]))
"""
    )
    assert ran.answer == [[], "torch.float16", True, True, True]


def test_what_only_a_build_for_cuda_has_a_kernel_for_is_computed_by_its_parts(late_child):
    """The CPU has RMSNorm as a composite op alone, and no kernel of a build for CUDA is ever called."""
    if older_than("2.9"):
        pytest.skip("RMSNorm is no op of its own in this torch")
    ran = late_child(
        """
import copy, json, torch
from torch import nn
def of_the_build(*args, **kwargs): raise AssertionError("a kernel of the build ran")
build = torch.library.Library("aten", "IMPL")
for name, key in (("empty.memory_format", "CUDA"), ("_fused_rms_norm", "CUDA"), ("_fused_rms_norm", "SparseCUDA")):
    build.impl(name, of_the_build, key)
import TorchDevice
equal = []
for layer in (nn.RMSNorm(5), nn.RMSNorm(5, elementwise_affine=False)):
    results, x = [], torch.randn(3, 5)
    for device in ("cpu", "cuda"):
        module, given = copy.deepcopy(layer).to(device), x.to(device, copy=True).requires_grad_()
        output = module(given)
        output.pow(2).sum().backward()
        results.append([output, given.grad, *(p.grad for p in module.parameters())])
    equal += [torch.allclose(a, b.cpu(), atol=1e-6) and b.is_cuda for a, b in zip(*results)]
try:
    with torch.inference_mode():
        torch.ops.aten._fused_rms_norm(torch.eye(5, device="cuda").to_sparse(), [5], None, 1e-5)
except NotImplementedError as error: equal.append("is not simulated" in str(error))
print(json.dumps(equal))
""",
        env={"TORCHDEVICE_SIMULATE": "cuda"},
    )
    assert ran.answer == [True] * 6


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


def test_attention_of_nested_tensors_in_any_layout(on_cuda):
    ran = on_cuda(
        """
def attend(dtype, strided, trains, device="cuda"):
    parts = [torch.randn(length, 4, 8, device=device, dtype=dtype) for length in (3, 5)]
    wanted = [F.scaled_dot_product_attention(*[part.transpose(0, 1)[None]] * 3)[0] for part in parts]
    if not strided: parts = [part.transpose(0, 1).contiguous() for part in parts]
    leaf = torch.nested.nested_tensor(parts, requires_grad=trains)
    q = leaf.transpose(1, 2) if strided else leaf
    out = F.scaled_dot_product_attention(q, q, q)
    if trains: torch.nested.to_padded_tensor(out, 0.0).sum().backward()
    return all(torch.allclose(a, b, atol=1e-2) for a, b in zip(out.unbind(), wanted)) and (leaf.grad is not None) == trains
half, single = torch.float16, torch.float32
meta = torch.empty(1, 2, 4, 8, dtype=half, device="cuda")
with torch._subclasses.FakeTensorMode() as fake:
    chosen = torch._fused_sdp_choice(*[fake.from_tensor(meta)] * 3)
print(json.dumps([[attend(*case) for case in (
    (half, True, False), (half, True, True), (half, False, True), (single, True, False), (single, False, True),
    (single, False, True, "cpu"))],
    raised(attend, single, True, True)[1], raised(attend, single, True, False, "cpu")[1], chosen, torch._fused_sdp_choice(*[meta] * 3)]))
"""
    )
    # The efficient kernel does not train with nested tensors: CUDA takes the formula then, too. A fake tensor is of
    # the device meta where it is asked which kernel it would take, in a CUDA build of torch 2.14.1 as here.
    contiguous = "scaled_dot_product_attention: If inputs are nested tensors they must be contiguous"
    assert ran.answer == [[True] * 6, contiguous, contiguous, 0, 1]


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


@pytest.mark.skipif(older_than("2.15"), reason="torch has _scaled_addmm from 2.15 on")
def test_a_scaled_product_is_added_to_a_matrix_and_rounded_once(on_cuda):
    ran = on_cuda(
        """
x, y = (torch.randn(32, 64).to(torch.float8_e4m3fn) for _ in "xy")
scales = {"tensor": (torch.tensor(0.5), torch.tensor(0.25), 0), "row": (torch.rand(32, 1), torch.rand(1, 32), 1)}
c = torch.randn(32, 32)
wrong, alone = [], []
for name, (a, b, recipe) in scales.items():
    product = (x.float() * a) @ (y.t().float() * b)
    for dtype in (torch.float, torch.half, torch.bfloat16):
        for beta, alpha in ((1, 1), (0.5, 2), (0, 1)):
            added = c.cuda().to(dtype) if beta else torch.full((32, 32), float("nan"), device="cuda", dtype=dtype)
            given = (x.cuda(), y.t().cuda(), [a.cuda()], [recipe], [0], [b.cuda()], [recipe], [0])
            if recipe: given = (x.cuda(), y.cuda().t(), *given[2:])
            numbers = {"beta": beta, "alpha": alpha}
            new = torch._scaled_addmm(added, *given, **numbers)
            out = torch.ops.aten._scaled_addmm.out(added, *given, **numbers, out=torch.empty(0, device="cuda", dtype=dtype))
            inside = torch.ops.aten._scaled_addmm_(added.clone(), *given, **numbers)
            expected = alpha * product + (beta * c.to(dtype).float() if beta else 0)
            for each in (new, out, inside):
                if each.dtype != dtype or not torch.allclose(each.cpu().float(), expected.to(dtype).float(), atol=1e-4, rtol=1e-2 if dtype != torch.float else 1e-4):
                    wrong.append([name, str(dtype), beta])
print(json.dumps(wrong))
""",
        TORCHDEVICE_CAPABILITY="9.0",
    )
    assert ran.answer == []


@pytest.mark.skipif(older_than("2.14"), reason="CUDA's FFT takes no bfloat16 before torch 2.14")
def test_ffts_of_bfloat16_are_complex64_and_of_bcomplex32_keep_its_parts(on_cuda):
    ran = on_cuda(
        """
x = torch.arange(6.0).bfloat16()
half = torch.ones(4, dtype=torch.complex64).to(torch.bcomplex32).cuda()
print(json.dumps([
    str(torch.fft.rfft(x.cuda()).dtype), torch.equal(torch.fft.fft(x.cuda()).cpu(), torch.fft.fft(x.float())),
    str(torch.fft.fft(half).dtype), torch.fft.fft(half).to(torch.complex64).real.tolist(),
    str(torch.fft.irfft(half[:3]).dtype)]))
"""
    )
    assert ran.answer == ["torch.complex64", True, "torch.bcomplex32", [4, 0, 0, 0], "torch.bfloat16"]
