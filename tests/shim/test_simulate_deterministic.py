"""Tests deterministic mode on simulated devices: what torch raises or warns for, and that memory is
filled. The behaviour of CUDA's host code was seen with tests/sweep/cuda_dtypes' stubs of CUDA's
libraries."""

import json

import pytest

from conftest import SHIM, older_than

# f: floats that need a gradient, i: zeros as indices. `back(call)` is the backward pass of a call that was
# made before the mode was on.
SETUP = """
import warnings
def f(*sizes): return torch.full(sizes, 0.5, device=d, requires_grad=True)
def p(*sizes): return f(*sizes).detach()
def i(*sizes): return torch.zeros(sizes, dtype=torch.int64, device=d)
def back(call):
    torch.use_deterministic_algorithms(False); result = call(); torch.use_deterministic_algorithms(True)
    (result[0] if isinstance(result, tuple) else result).sum().backward()
def bag(mode): return F.embedding_bag(i(2, 2), f(4, 3), mode=mode)
def ctc(): return F.ctc_loss(f(5, 1, 4).log_softmax(2), i(1, 2) + 1, torch.tensor([5]), torch.tensor([2]))
def up(mode, *sizes, **how): return F.interpolate(f(*sizes), scale_factor=2.0, mode=mode, **how)
def of(call):
    torch.use_deterministic_algorithms(True)
    error = raised(eval, call, globals())
    torch.use_deterministic_algorithms(False)
    return error and error[1].partition(" does not have a deterministic implementation, but you set ")[0]
"""
RAISES = """
torch.histc(p(4), bins=4); _histc_cuda with floating point input
torch.bincount(i(4), weights=p(4)); _bincount_cuda
torch.bincount(i(4), weights=i(4)); _bincount_cuda
p(4, 4).median(0); median CUDA with indices output
i(4, 4).median(0); median CUDA with indices output
p(4, 4).nanmedian(0); median CUDA with indices output
p(4).put_(i(2), p(2)); put_
p(4).put_(i(2), p(2), accumulate=True); put_
p(4).put(i(2), p(2)); put_
back(lambda: f(4).take(i(2))); put_
p(4).index_reduce(0, i(2), p(2), "prod"); index_reduce_cuda
i(4).index_reduce_(0, i(2), i(2), "amax"); index_reduce_cuda
p(4).scatter(0, i(4), p(4), reduce="multiply"); scatter_reduce_cuda_kernel
p(4).scatter_(0, i(4), p(4), reduce="multiply"); scatter_reduce_cuda_kernel
p(4, 4).scatter_reduce(0, i(4, 4), p(4, 4), "prod"); scatter_reduce_cuda_prod_
back(lambda: F.grid_sample(f(1, 1, 4, 4), f(1, 2, 2, 2), align_corners=False)); grid_sampler_2d_backward_cuda
back(lambda: F.grid_sample(f(1, 1, 4, 4, 4), f(1, 2, 2, 2, 3), align_corners=False)); grid_sampler_3d_backward_cuda
back(ctc); ctc_loss_backward_gpu
F.max_unpool1d(p(1, 1, 2), i(1, 1, 2), 2); max_unpooling2d_forward_out
F.max_unpool2d(p(1, 1, 2, 2), i(1, 1, 2, 2), 2); max_unpooling2d_forward_out
F.max_unpool3d(p(1, 1, 2, 2, 2), i(1, 1, 2, 2, 2), 2); max_unpooling3d_forward_out
F.nll_loss(f(1, 3, 4, 4), i(1, 4, 4)); nll_loss2d_forward_out_cuda_template
F.cross_entropy(f(1, 3, 4, 4), i(1, 4, 4), reduction="sum"); nll_loss2d_forward_out_cuda_template
back(lambda: F.pad(f(1, 1, 4), (1, 1), "reflect")); reflection_pad1d_backward_out_cuda
back(lambda: F.pad(f(1, 1, 4, 4, 4), (1, 1) * 3, "reflect")); reflection_pad3d_backward_out_cuda
back(lambda: F.pad(f(1, 1, 4), (1, 1), "replicate")); replication_pad1d_backward_cuda
back(lambda: F.pad(f(1, 1, 4, 4), (1, 1) * 2, "replicate")); replication_pad2d_backward_cuda
back(lambda: F.pad(f(1, 1, 4, 4, 4), (1, 1) * 3, "replicate")); replication_pad3d_backward_cuda
back(lambda: up("linear", 1, 1, 4)); upsample_linear1d_backward_out_cuda
back(lambda: up("bilinear", 1, 1, 4, 4)); upsample_bilinear2d_backward_out_cuda
back(lambda: up("bilinear", 1, 1, 4, 4, antialias=True)); upsample_bilinear2d_aa_backward_out_cuda
back(lambda: up("bicubic", 1, 1, 4, 4)); upsample_bicubic2d_backward_out_cuda
back(lambda: up("bicubic", 1, 1, 4, 4, antialias=True)); upsample_bicubic2d_aa_backward_out_cuda
back(lambda: up("trilinear", 1, 1, 4, 4, 4)); upsample_trilinear3d_backward_out_cuda
back(lambda: up("area", 1, 1, 4, 4)); adaptive_avg_pool2d_backward_cuda
back(lambda: F.adaptive_avg_pool1d(f(1, 1, 4), 2)); adaptive_avg_pool2d_backward_cuda
back(lambda: F.adaptive_avg_pool2d(f(1, 1, 4, 4), 3)); adaptive_avg_pool2d_backward_cuda
back(lambda: F.adaptive_avg_pool3d(f(1, 1, 4, 4, 4), 2)); adaptive_avg_pool3d_backward_cuda
back(lambda: F.adaptive_max_pool1d(f(1, 1, 4), 2)); adaptive_max_pool2d_backward_cuda
back(lambda: F.adaptive_max_pool2d(f(1, 1, 4, 4), 1)); adaptive_max_pool2d_backward_cuda
back(lambda: F.avg_pool3d(f(1, 1, 4, 4, 4), 2)); avg_pool3d_backward_cuda
back(lambda: F.max_pool3d(f(1, 1, 4, 4, 4), 2)); max_pool3d_with_indices_backward_cuda
back(lambda: F.fractional_max_pool2d(f(1, 1, 4, 4), 2, output_size=2)); fractional_max_pool2d_backward_cuda
back(lambda: F.fractional_max_pool3d(f(1, 1, 4, 4, 4), 2, output_size=2)); fractional_max_pool3d_backward_cuda
back(lambda: bag("max")); embedding_bag_backward_cuda_max
torch.ops.aten.replication_pad2d_backward.grad_input(p(1, 6, 6), p(1, 4, 4), [1, 1, 1, 1], grad_input=p(1, 4, 4)); replication_pad2d_backward_out_cuda
torch.ops.aten.max_pool3d_with_indices_backward.grad_input(p(1, 2, 2, 2), p(1, 4, 4, 4), [2] * 3, [2] * 3, [0] * 3, [1] * 3, False, i(1, 2, 2, 2), grad_input=p(1, 4, 4, 4)); max_pool3d_with_indices_backward_out_cuda
torch.ops.aten.adaptive_avg_pool3d_backward.grad_input(p(1, 2, 2, 2), p(1, 4, 4, 4), grad_input=p(1, 4, 4, 4)); adaptive_avg_pool3d_backward_out_cuda
""".strip().splitlines()
RETURNS = """
torch.histc(i(4), bins=4); torch.bincount(i(4)); p(4).median(); p(4, 4).mode(0); p(4).index_put((i(2),), p(2))
p(4).index_put((i(2),), p(2), accumulate=True); back(lambda: f(4)[i(2)]); p(4).index_add(0, i(2), p(2))
p(4).index_copy(0, i(2), p(2)); back(lambda: f(4).index_select(0, i(2))); back(lambda: f(4, 4).gather(0, i(2, 4)))
p(4).scatter(0, i(4), p(4)); p(4).scatter_add(0, i(4), p(4)); p(4, 4).scatter(0, i(4, 4), p(4, 4), reduce="add")
p(4).scatter(0, i(4), 1.0, reduce="multiply"); p(4).scatter_reduce(0, i(4), p(4), "sum")
p(4).scatter_reduce(0, i(4), p(4), "mean"); p(4).scatter_reduce(0, i(4), p(4), "amax")
p(4).scatter_reduce(0, i(0), p(0), "prod"); p(4, 4).cumsum(0); F.nll_loss(f(2, 3), i(2)); ctc()
F.nll_loss(f(1, 3, 4, 4), i(1, 4, 4), reduction="none"); back(lambda: F.pad(f(1, 1, 4, 4), (1, 1) * 2, "reflect"))
back(lambda: up("nearest", 1, 1, 4, 4)); back(lambda: F.adaptive_avg_pool2d(f(1, 1, 4, 4), 1)); back(lambda: bag("sum"))
back(lambda: F.adaptive_max_pool3d(f(1, 1, 4, 4, 4), 2)); back(lambda: F.max_pool2d(f(1, 1, 4, 4), 2))
p(4, 4) @ p(4, 4); F.grid_sample(f(1, 1, 4, 4), f(1, 2, 2, 2), align_corners=False); back(lambda: F.conv2d(f(1, 1, 4, 4), f(1, 1, 2, 2)))
F.pad(f(1, 1, 4, 4), (1, 1) * 2, "replicate").sum().backward()
""".replace("\n", ";").split(";")
RETURNS = [each.strip() for each in RETURNS if each.strip()]
MPS = """
p(4, 4).kthvalue(1); kthvalue MPS
p(4).index_reduce(0, i(2), p(2), "amax"); index_reduce_mps
p(4).index_put((i(2),), p(2), accumulate=True); index_put_with_accumulate_mps
""".strip().splitlines()


@pytest.fixture
def on_cuda_device(warm_child):
    from conftest import ON_DEVICE, SIMULATED

    return lambda script: warm_child(ON_DEVICE.format(device="cuda") + SETUP + script, env=SIMULATED["cuda"])


@pytest.mark.skipif(older_than("2.12"), reason="the rows are those of torch 2.12 and later")
def test_what_cuda_does_in_no_fixed_order_raises(on_cuda_device):
    rows = [row.rsplit("; ", 1) for row in RAISES]
    ran = on_cuda_device(
        f"print(json.dumps([[of(call) for call in {[call for call, _ in rows]!r}], [of(call) for call in {RETURNS!r}]]))"
    )
    raised, returned = ran.answer
    assert raised == [name for _, name in rows]
    assert returned == [None] * len(RETURNS)


@pytest.mark.skipif(older_than("2.13"), reason="the rows are those of torch 2.13")
def test_what_mps_does_in_no_fixed_order_raises(warm_child):
    from conftest import ON_DEVICE, SIMULATED

    rows = [row.rsplit("; ", 1) for row in MPS]
    script = f"print(json.dumps([of(call) for call in {[call for call, _ in rows]!r}]))"
    ran = warm_child(ON_DEVICE.format(device="mps") + SETUP + script, env=SIMULATED["mps"])
    assert ran.answer == [name for _, name in rows]


def test_every_alert_of_the_rules_is_met_by_a_row():
    said = {row.rsplit("; ", 1)[1] for row in RAISES + MPS}
    for device in ("cuda", "mps"):
        rules = json.loads((SHIM / "simulate" / f"{device}_refusals.json").read_text())
        for rule in (rule for section in rules["alerts"] for rule in section["rules"]):
            # Those of other versions than this page's have no row.
            if "until" in rule or rule.get("since", "") > rules["version"]:
                continue
            for op in rule["ops"]:
                text = rule["alert"].replace("{op}", op.partition(".")[0])
                assert {text.replace("{out}", out) for out in ("", "_out")} & said, rule


def test_warnings_in_place_of_errors(on_cuda_device):
    """Once for each call, with torch's text; a process that keeps going goes on."""
    ran = on_cuda_device(
        """
torch.use_deterministic_algorithms(True, warn_only=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for call in (lambda: torch.histc(p(4), bins=4), lambda: p(4).put_(i(2), p(2)),
                 lambda: p(4).put_(i(2), p(2), accumulate=True), lambda: p(4, 4).median(0)): call()
print(json.dumps([str(each.message).partition(".")[0] for each in caught]))
"""
    )
    text = (
        " does not have a deterministic implementation, but you set"
        " 'torch"
    )  # fmt: skip
    names = ["_histc_cuda with floating point input", "put_", "put_", "median CUDA with indices output"]
    assert ran.answer == [name + text for name in names]
    assert ran.devices(kind="refusal") == []


def test_new_memory_is_filled(on_device):
    ran = on_device(
        """
torch.use_deterministic_algorithms(True)
def made(dtype):
    like = torch.zeros(3, dtype=dtype, device=d)
    grown = torch.zeros(1, dtype=dtype, device=d)
    yield from (torch.empty(3, dtype=dtype, device=d), torch.empty_like(like), like.new_empty(3),
                torch.empty_strided((3,), (1,), dtype=dtype, device=d),
                torch.empty_permuted((3,), (0,), dtype=dtype, device=d), like.new_empty_strided((3,), (1,)),
                torch.empty(0, dtype=dtype, device=d).resize_(3), grown.resize_(4)[1:])
def is_filled(tensor):
    host = tensor.cpu()
    if host.is_floating_point() or host.is_complex(): return bool(host.isnan().all())
    most = True if host.dtype == torch.bool else torch.iinfo(host.dtype).max
    return host.tolist() == [most] * 3
dtypes = [torch.float16, torch.bfloat16, torch.float32, torch.complex64, torch.bool, torch.uint8, torch.int8,
          torch.int16, torch.int32, torch.int64] + ([torch.float64, torch.complex128] if d == "cuda" else [])
left = [[str(dtype), k] for dtype in dtypes for k, tensor in enumerate(made(dtype)) if not is_filled(tensor)]
torch.empty(0, device=d), torch.empty((2, 0), device=d)
zero = torch.zeros(3, device=d).tolist()
torch.utils.deterministic.fill_uninitialized_memory = False
x = torch.zeros(1 << 16, device=d); x.resize_(8); x.resize_(1 << 16)
print(json.dumps([left, zero, bool(x.isnan().any())]))
"""
    )
    assert ran.answer == [[], [0.0] * 3, False]
