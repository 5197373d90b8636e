"""Tests simulated CUDA devices in child processes: tensors on cuda:0 and cuda:1 and the answers of
torch.cuda."""

import pytest


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
    torch.utils.data.TensorDataset(torch.randn(8, 2)), 4, pin_memory=True, num_workers=workers,
    multiprocessing_context="fork" if workers else None)]
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
    assert ran.devices(kind="refusal") == []


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
import os, sys, torch
for _ in range(5):
    pid = os.fork()
    if pid == 0: break
    assert os.waitpid(pid, 0)[1] == 0
x = torch.randn(8, 8, device="{device}", requires_grad=True)
(x @ x).sum().backward()
"""
    ran = child(script, env={"TORCHDEVICE_SIMULATE": device})
    assert (ran.returncode, ran.stderr) == (0, "")


def test_devices_are_simulated_if_torch_is_imported_first(late_child):
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
    assert late_child(script, env={"TORCHDEVICE_SIMULATE": "cuda"}).answer == ["cuda:1", 2, 1, True]


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


def test_attention_has_the_strides_of_the_fused_kernels(on_cuda):
    """So that out.transpose(1, 2).view(batch, sequence, -1) works where it works on CUDA."""
    ran = on_cuda(
        """
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attend
def strides(dtype):
    q = torch.randn(2, 6, 4, 8, device="cuda", dtype=dtype).transpose(1, 2)
    return attend(q, q, q).stride()
answers = [strides(torch.float32), strides(torch.float16), strides(torch.float64)]
for backend in (SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION):
    with sdpa_kernel(backend):
        answers.append(strides(torch.float32))
print(json.dumps(answers))
"""
    )
    fused, plain = [192, 8, 32, 1], [192, 48, 8, 1]
    assert ran.answer == [fused, fused, plain, plain, fused]


def test_attention_takes_what_fused_kernels_get_from_above(on_cuda):
    """Heads that flash attention wants padded, jagged tensors, and a mask of another dtype."""
    ran = on_cuda(
        """
import warnings
from torch.nn.functional import scaled_dot_product_attention as attend
answers = []
for width, dtype in ((63, torch.float16), (100, torch.bfloat16), (1, torch.float16)):
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 5, width).to(dtype) for _ in range(3))
    q, k, v = [[each.to(device).requires_grad_() for device in ("cuda", "cpu")] for each in (q, k, v)]
    for options in ({}, {"is_causal": True}, {"scale": 0.5}):
        ours, cpu = (attend(q[i], k[i], v[i], **options) for i in (0, 1))
        of_ours, of_cpu = (torch.autograd.grad(out.float().sum(), (q[i], k[i], v[i])) for i, out in ((0, ours), (1, cpu)))
        answers.append([torch.allclose(x.cpu().float(), y.float(), atol=3e-2) for x, y in ((ours, cpu), *zip(of_ours, of_cpu))])
x = torch.ones(2, 3, 40, device="cuda", dtype=torch.float16)
heads = torch.nn.MultiheadAttention(40, 4, device="cuda", dtype=torch.float16)
answers.append(list(heads(x, x, x, need_weights=False)[0].shape))

parts = [torch.randn(2, 2, 8), torch.randn(4, 2, 8)]
def jagged(device):
    nested = torch.nested.nested_tensor([part.to(device) for part in parts], layout=torch.jagged).transpose(1, 2)
    return [each.cpu() for each in attend(nested, nested, nested).transpose(1, 2).unbind()]
answers.append([torch.allclose(ours, cpu, atol=1e-5) for ours, cpu in zip(jagged("cuda"), jagged("cpu"))])

q = torch.randn(1, 1, 8, 64, device="cuda", dtype=torch.float16, requires_grad=True)
try: attend(q, q, q, attn_mask=torch.zeros(8, 8, device="cuda"))
except RuntimeError as error: answers.append(str(error).splitlines()[0])
torch.use_deterministic_algorithms(True, warn_only=True)
for dtype in (torch.float16, torch.float32):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        attend(*[q.to(dtype)] * 3).sum().backward()
    answers.append([str(each.message).split(" To ")[0] for each in said if "defaults to" in str(each.message)])
print(json.dumps(answers))
"""
    )
    assert ran.answer == [[True] * 4] * 9 + [
        [2, 3, 40],
        [True, True],
        "invalid dtype for bias - should match query's dtype",
        ["Flash Attention defaults to a non-deterministic algorithm."],
        ["Memory Efficient attention defaults to a non-deterministic algorithm."],
    ]


def test_nansum_takes_complex_numbers_and_an_offset_is_a_multiple_of_four(on_cuda):
    ran = on_cuda(
        """
nan = float("nan")
x = torch.tensor([[1 + 2j, complex(nan, 1)], [3j, 1]], device="cuda")
answers = [str(x.nansum().item()), [str(value) for value in x.nansum(1).tolist()]]
y = torch.tensor([1.0, nan, 2.0], device="cuda")
answers += [y.nansum().item(), str(y.half().nansum(dtype=torch.float64).dtype), torch.tensor([1, 2], device="cuda").nansum().item()]
generator = torch.Generator("cuda")
generator.set_offset(8)
try: generator.set_offset(3)
except RuntimeError as error: answers.append(str(error).splitlines()[0])
print(json.dumps([*answers, generator.get_offset()]))
"""
    )
    assert ran.answer == [
        "(2+5j)", ["(1+2j)", "(1+3j)"], 3.0, "torch.float64", 3, "offset must be a multiple of 4", 8
    ]  # fmt: skip


def test_attention_is_the_fused_kernel_where_cuda_takes_it(on_cuda):
    """With the CPU's values, the gradient's name of CUDA, and no gradient of the gradient."""
    ran = on_cuda(
        """
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attend
mask = torch.tensor([[True, True, False], [False] * 3, [True] * 3])
def results(device, width, **options):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 4, 3, width).to(device).requires_grad_() for _ in range(3))
    out = attend(q, k, v, **options)
    grads = torch.autograd.grad(out.sin().sum(), (q, k, v))
    return [each.cpu() for each in (out, *grads)], out.grad_fn.name()
any_kernel = [SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION]
def compared(width, on=lambda device: mask.to(device), kernels=any_kernel):
    cpu, _ = results("cpu", width, attn_mask=on("cpu"))
    with sdpa_kernel(kernels):
        cuda, name = results("cuda", width, attn_mask=on("cuda"))
    return all(torch.allclose(*pair, atol=1e-6) for pair in zip(cpu, cuda)), name
answers = [compared(8), compared(8, lambda device: None), compared(6)]
answers.append(compared(8, kernels=SDPBackend.EFFICIENT_ATTENTION))
q = torch.randn(2, 4, 3, 8, device="cuda", requires_grad=True)
bias = torch.zeros(3, 3, device="cuda", requires_grad=True)
grad, = torch.autograd.grad(attend(q, q, q, attn_mask=bias).sum(), bias, create_graph=True)
answers.append(list(grad.shape))
grad, = torch.autograd.grad(attend(q, q, q).sum(), q, create_graph=True)
try:
    grad.sum().backward()
except RuntimeError as error:
    answers.append(str(error))
with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
    try:
        attend(*3 * [torch.randn(2, 4, 3, 6, device="cuda")])
    except RuntimeError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""
    )
    efficient = [True, "ScaledDotProductEfficientAttentionBackward0"]
    assert ran.answer[:2] == [efficient, efficient]
    assert ran.answer[2][0] and ran.answer[2] != efficient
    assert ran.answer[3:5] == [efficient, [3, 3]]
    assert ran.answer[5].startswith(
        "derivative for aten::_scaled_dot_product_efficient_attention_backward is not implemented"
    )
    assert ran.answer[6].startswith("No available kernel. Aborting execution.")


def test_hashes_of_tensors_are_those_of_their_bytes(on_cuda):
    """Object collectives log them with TORCH_DISTRIBUTED_DEBUG."""
    ran = on_cuda(
        """
import torch.distributed
hashed = torch._C._distributed_c10d._hash_tensors
x = torch.arange(4, device="cuda")
print(json.dumps([hashed([x]) == hashed([x.cpu()]), hashed([x]) == hashed([x + 1])]))
"""
    )
    assert ran.answer == [True, False]
