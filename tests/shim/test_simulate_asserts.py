"""Tests what simulated devices do where a kernel's assertion fails (an index out of range, a probability
that is none), and with numbers that an integer cannot hold."""

import json

import pytest

from conftest import ON_DEVICE, SHIM, SIMULATED, older_than

SETUP = """
import os
def f(*sizes): return torch.full(sizes, 0.5, device=d)
def t(*values): return torch.tensor(values, device=d)
def many(value, *sizes): return torch.full(sizes, value, device=d)
"""
# Each fails an assertion of CUDA's kernels, and no check of its host code.
ASSERTED = """
f(4)[t(5)]; f(4)[t(-5)]; f(4)[t(5).int()]; f(2, 3)[t(0), t(3)]; f(4).index_put_((t(5),), f(1))
f(4).index_put_((t(5),), f(1), accumulate=True); f(4).__setitem__(t(5), 1.0); torch.ops.aten._unsafe_index(f(4), [t(5)])
f(4).index_select(0, t(5)); f(4).index_select(0, t(-1)); f(4, 4).index_select(1, t(5)); f(4).gather(0, t(5))
f(4).gather(0, t(-1)); torch.take_along_dim(f(4), t(5)); f(4).scatter(0, t(5), f(1)); f(4).scatter(0, t(5), 1.0)
f(4).scatter_add(0, t(5), f(1)); f(4, 4).scatter_add(0, many(5, 1, 4), f(1, 4)); f(4).scatter_reduce(0, t(5), f(1), "amax")
f(4).scatter_(0, t(5), f(1), reduce="multiply"); f(4).index_add(0, t(5), f(1)); f(4, 4).index_add(0, t(5), f(1, 4))
f(4).index_copy(0, t(5), f(1)); f(4).index_fill(0, t(5), 1.0); f(4, 4).index_fill_(0, t(-5), 1.0)
f(4).index_reduce(0, t(5), f(1), "prod"); f(4).take(t(5)); f(4).put_(t(5), f(1)); f(2, 2).put(t(-9), f(1))
F.embedding(t(5), f(4, 3)); F.embedding(t(-1), f(4, 3)); F.embedding(t(5), f(4, 3), max_norm=1.0)
F.embedding_bag(t(5)[None], f(4, 3)); F.embedding_bag(t(5)[None], f(4, 3), mode="max")
F.nll_loss(f(2, 3), t(0, 5)); F.nll_loss(f(2, 3), t(0, -1), reduction="none"); F.nll_loss(f(1, 3, 2, 2), many(5, 1, 2, 2))
F.cross_entropy(f(2, 3), t(0, 5)); F.cross_entropy(f(2, 3), t(0, 5), label_smoothing=0.1)
torch.ops.aten.nll_loss_backward(f(), f(2, 3), t(0, 5), None, 1, -100, f()); F.multi_margin_loss(f(2, 3), t(0, 5))
F.multilabel_margin_loss(f(1, 3), t(0, 5, -1)[None]); F.one_hot(t(0, 5), 3); F.one_hot(t(0, -1), 3)
torch.multinomial(t(1.0, -1.0), 1); torch.multinomial(t(0.0, 0.0), 1); torch.multinomial(t(1.0, -1.0), 4, True)
torch.multinomial(many(0.0, 2, 3), 2, True); torch.distributions.Categorical(probs=t(-1.0, 2.0), validate_args=False).sample()
torch.bernoulli(t(2.0)); f(2).bernoulli_(t(2.0, 2.0)); F.binary_cross_entropy(t(2.0), t(0.0)); torch.poisson(t(-1.0))
F.max_unpool1d(f(1, 1, 2), many(9, 1, 1, 2), 2); F.max_unpool2d(f(1, 1, 2, 2), many(99, 1, 1, 2, 2), 2)
F.max_unpool3d(f(1, 1, 2, 2, 2), many(999, 1, 1, 2, 2, 2), 2); f(4).masked_scatter_(many(True, 4), f(2))
torch.repeat_interleave(t(1, 3), output_size=9); torch.repeat_interleave(f(2), t(-1, 3), output_size=2)
many(1.0, 4, 4).to_sparse().index_select(0, t(9)); many(1.0, 4, 4).to_sparse().index_select(1, t(-9))
torch._assert_async(t(False)); torch.ops.aten._assert_async.msg(t(False), "so")
torch.sparse_csr_tensor(t(0, 5), t(9), f(1), (1, 2), check_invariants=True)
""".replace("\n", ";").split(";")
ASSERTED = [each.strip() for each in ASSERTED if each.strip()]
# Checks of CUDA's host code itself.
CHECKED = """
f(4)[many(True, 3)]; IndexError; The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [4] at index 0
f(0)[t(0)]; IndexError; index is out of bounds for dimension with size 0
f(0).take(t(0)); IndexError; take(): tried to take from an empty tensor
f(4).gather(1, t(0)); IndexError; Dimension out of range (expected to be in range of [-1, 0], but got 1)
torch.bincount(t(-1)); RuntimeError; bincount only supports 1-d non-negative integral inputs.
torch.normal(f(2), t(-1.0, 1.0)); RuntimeError; normal expects all elements of std >= 0.0
torch.repeat_interleave(f(2), t(-1, 2)); RuntimeError; repeats can not be negative
torch.repeat_interleave(t(-1, 2)); RuntimeError; repeats can not be negative
""".strip().splitlines()


def test_an_assertion_of_cuda_ends_the_use_of_the_device(warm_child):
    """Each call in a process of its own, which is forked before the device is used."""
    ran = warm_child(
        f"""
import torch
from torch.nn import functional as F
d = "cuda"
def raised(call, *args, **kwargs):
    try: call(*args, **kwargs)
    except Exception as error: return [type(error).__name__, str(error)]
{SETUP}
import json
answers = []
for call in {ASSERTED!r}:
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, json.dumps([raised(eval, call, globals()), raised(f, 2)]).encode())
        os._exit(0)
    os.wait()
    answers.append(json.loads(os.read(read, 1 << 16)))
    os.close(read), os.close(write)
print(json.dumps(answers))
""",
        env=SIMULATED["cuda"],
    )
    search = (
        "Search for `cudaErrorAssert' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html"
        " for more information.\n"
    )
    text = (
        "CUDA error: device-side assert triggered\n" + ("" if older_than("2.9") else search)
        + "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below"
        " might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with"
        " `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )  # fmt: skip
    wrong = {call: answer for call, answer in zip(ASSERTED, ran.answer) if answer != [["AcceleratorError", text]] * 2}
    assert wrong == {}
    assert "Assertion on the simulated device failed: index 5 is out of bounds for dimension 0 with size 4" in ran.stderr


def test_what_a_lost_device_still_does(on_cuda):
    ran = on_cuda(
        """
x, host = torch.ones(4, device="cuda"), torch.ones(2)
event, stream = torch.cuda.Event(enable_timing=True), torch.cuda.Stream()
event.record(); torch.cuda.synchronize()
loss = F.nll_loss(x[None].log_softmax(1).requires_grad_(), torch.tensor([2], device="cuda"))
raised(lambda: x[torch.tensor([9], device="cuda")])
def counted():
    from compat_shim import state
    state.take_kernel_counts()
    raised(torch.empty, 2, device="cuda")
    return sum(state.take_kernel_counts().values())
def kind(call, *args, **kwargs):
    error = raised(call, *args, **kwargs)
    return error and [error[0], error[1].partition("\\n")[0]]
print(json.dumps([[kind(call) for call in (lambda: x + 1, x.cpu, lambda: x.copy_(host[0]), lambda: str(x), loss.backward,
    lambda: host.cuda(), torch.cuda.synchronize, lambda: torch.empty(2, device="cuda"), lambda: x.sum().item(),
    event.record, event.query, event.synchronize, event.wait, lambda: event.elapsed_time(event), stream.query,
    stream.synchronize, lambda: stream.wait_event(event), lambda: stream.wait_stream(torch.cuda.current_stream()),
    stream.record_event, torch.accelerator.synchronize, torch.cuda.mem_get_info, torch.cuda.empty_cache)],
    kind(lambda: host + 1), x.shape[0], torch.cuda.is_available(), str(x.device), torch.cuda.memory_allocated() > 0,
    kind(lambda: torch.cuda.Event()), torch.cuda.current_device(), counted()]))
"""
    )
    refused, *kept, counted = ran.answer
    assert refused == [["AcceleratorError", "CUDA error: device-side assert triggered"]] * 22
    assert kept == [None, 4, True, "cuda:0", True, None, 0]
    assert counted > 0, "whose call a lost device refuses has used the device"


def test_what_host_code_checks_is_no_assertion(on_cuda):
    rows = [row.split("; ", 2) for row in CHECKED]
    ran = on_cuda(
        SETUP.replace("device=d", 'device="cuda"')
        + f"print(json.dumps([[raised(eval, call, globals()) for call in {[row[0] for row in rows]!r}],"
        " raised(lambda: f(2).cpu())]))"
    )
    assert ran.answer == [[row[1:] for row in rows], None]


@pytest.mark.skipif(older_than("2.10"), reason="kernels of older versions check nothing")
def test_kernels_of_mps_report_an_index(warm_child):
    """The device goes on. Checks that its kernels lack give the CPU's error."""
    ran = warm_child(
        ON_DEVICE.format(device="mps") + SETUP
        + 'print(json.dumps([raised(lambda: f(4)[t(5)]), raised(f(4).index_put_, (t(5),), f(1)),'
        " raised(f(4).gather, 0, t(5)), f(2).tolist()]))",
        env=SIMULATED["mps"],
    )  # fmt: skip
    index = ["AcceleratorError", "index 5 is out of bounds for dimension 0 with size 4"]
    assert ran.answer == [index, index, ["RuntimeError", index[1]], [0.5, 0.5]]


def test_a_process_that_keeps_going_has_the_error_of_the_cpu(on_cuda):
    ran = on_cuda(
        'x = torch.ones(4, device="cuda")\n'
        'print(json.dumps([raised(lambda: x[torch.tensor([9], device="cuda")]), raised(x.cpu)]))',
        TORCHDEVICE_KEEP_GOING="on",
    )
    assert ran.answer == [["IndexError", "index 9 is out of bounds for dimension 0 with size 4"], None]


def test_every_assertion_of_the_rules_names_ops_that_a_call_uses():
    rules = json.loads((SHIM / "simulate" / "cuda_refusals.json").read_text())
    calls = " ".join(ASSERTED)
    used = {"_embedding_bag": "embedding_bag", "_validate_compressed_sparse_indices": "check_invariants"}
    for section in rules["asserts"]:
        for rule in section["rules"]:
            for op in rule["ops"]:
                name = op.partition(".")[0].removesuffix("_backward").removesuffix("_forward_only").removesuffix("_forward")
                name = used.get(name, name.removeprefix("_").removesuffix("_impl_").removesuffix("_"))
                name = {"index": "f(4)[t(5)]", "embedding_renorm": "max_norm", "nll_loss2d": "F.nll_loss(f(1, 3, 2, 2)",
                        "multilabel_margin_loss": "multilabel", "unsafe_index_put": "index_put"}.get(name, name)
                assert name in calls, op


def test_numbers_beyond_an_integer_are_the_nearest_on_cuda(on_cuda):
    ran = on_cuda(
        """
inf, nan = float("inf"), float("nan")
x = torch.tensor([3e9, -3e9, inf, -inf, nan, 1.9], device="cuda")
big = torch.tensor([1e19, -1e19, 2.5], dtype=torch.float64, device="cuda")
out = torch.zeros(6, dtype=torch.int32, device="cuda"); out.copy_(x)
print(json.dumps([x.int().tolist(), out.tolist(), x.half().int()[2:5].tolist(), big.long().tolist(), big.int().tolist(),
                  x[5:].long().tolist(), x[:0].int().tolist(), x.t().expand(2, 6).int()[1].tolist()]))
"""
    )
    top, low = 2**31 - 1, -(2**31)
    ints = [top, low, top, low, 0, 1]
    assert ran.answer == [
        ints, ints, [top, low, 0], [2**63 - 1, -(2**63), 2], [top, low, 2], [1], [], ints
    ]  # fmt: skip
