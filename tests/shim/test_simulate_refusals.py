"""Tests the rules for calls that MPS refuses although it has the op (mps_refusals.json): each rule
refuses a real call with its message. Also tests dtypes that only the CPU lacks."""

import importlib
import importlib.metadata
import json
import re

import pytest

from conftest import SHIM, older_than

TORCH = importlib.metadata.version("torch")
RULES = json.loads((SHIM / "simulate" / "mps_refusals.json").read_text())
NO_KERNEL = "is not currently implemented for the MPS device"
MISSING = "Failed to create function state object for: "

# Expressions that the version refuses from which the rules were read, at least one for each rule.
# `t(dtype, *sizes)` is a tensor of ones on the device.
CALLS = """
t(f32, 2, 2) @ torch.ones(2, 2)
torch.ones(2, 2) @ t(f32, 2, 2)
torch.addmm(torch.ones(2, 2), t(f32, 2, 2), t(f32, 2, 2))
torch.addmm(t(f32, 2, 2), torch.ones(2, 2), t(f32, 2, 2))
torch.addmm(t(f32, 2, 2), t(f32, 2, 2), torch.ones(2, 2))
torch.bmm(t(f32, 1, 2, 2), torch.ones(1, 2, 2))
torch.bmm(torch.ones(1, 2, 2), t(f32, 1, 2, 2))
F.linear(torch.ones(1, 2), t(f32, 3, 2))
F.linear(t(f32, 1, 2), torch.ones(3, 2))
F.linear(t(f32, 1, 2), t(f32, 3, 2), torch.ones(3))
F.embedding(z(i64, 2), torch.ones(3, 2))
F.embedding(torch.zeros(2, dtype=i64), t(f32, 3, 2))
F.layer_norm(t(f32, 2, 2), [2], torch.ones(2))
torch.linalg.det(t(c64, 2, 2))
torch.linalg.lu(t(f32, 2, 2), pivot=False)
torch.addr(t(i64, 2, 2), t(i64, 2), t(i64, 2))
torch.linalg.lu_factor(t(c64, 2, 2))
torch.linalg.lu_factor(t(f32, 2, 2), pivot=False)
torch.linalg.solve(t(c64, 2, 2), t(c64, 2, 2))
torch.linalg.inv(t(c64, 2, 2))
torch.addmm(t(c64, 2, 2), t(c64, 2, 2), t(c64, 2, 2), alpha=2j)
torch.addr(t(c64, 2, 2), t(c64, 2), t(c64, 2), beta=2j)
torch.linalg.solve_triangular(t(c64, 2, 2), t(c64, 2, 2), upper=True)
torch.linalg.solve_triangular(t(f32, 2, 2), t(c64, 2, 2), upper=True)
torch.triangular_solve(t(c64, 2, 2), t(c64, 2, 2))
torch.linalg.qr(t(c64, 2, 2))
torch.linalg.qr(t(f16, 2, 2))
torch.linalg.det(t(f16, 2, 2))
torch.linalg.solve(t(bf16, 2, 2), t(bf16, 2, 2))
torch.linalg.solve_triangular(t(f16, 2, 2), t(f16, 2, 2), upper=True)
torch.cholesky_inverse(t(c64, 2, 2))
torch.cholesky_inverse(t(f16, 2, 2))
torch.cholesky_solve(t(f16, 2, 2), t(f16, 2, 2))
torch.linalg.lu_solve(t(f16, 2, 2), t(i32, 2), t(f16, 2, 2))
t(bool_, 2, 2) @ t(bool_, 2, 2)
torch.addmm(t(bool_, 2, 2), t(bool_, 2, 2), t(bool_, 2, 2))
torch.bmm(t(bool_, 1, 2, 2), t(bool_, 1, 2, 2))
torch.bmm(t(f32, 1, 2, 2), t(i64, 1, 2, 2))
torch.baddbmm(t(f32, 2, 0, 1), t(f32, 2, 0, 3), t(f32, 2, 3, 1))
torch.addbmm(t(f16, 2, 1), t(f16, 2, 2, 0), t(f16, 2, 0, 1))
torch.baddbmm(t(bool_, 1, 2, 2), t(bool_, 1, 2, 2), t(bool_, 1, 2, 2))
torch.addbmm(t(bool_, 2, 2), t(bool_, 1, 2, 2), t(bool_, 1, 2, 2))
F.linear(t(i64, 1, 2), t(i64, 3, 2))
F.linear(t(f32, 1, 2), t(i64, 3, 2))
F.linear(t(f32, 1, 2), t(f32, 3, 2), t(i64, 3))
F.conv2d(t(i64, 1, 1, 3, 3), t(i64, 1, 1, 2, 2))
F.conv_transpose3d(t(f16, 1, 1, 2, 2, 2), t(f16, 1, 1, 2, 2, 2))
F.adaptive_avg_pool2d(t(f32, 1, 1, 7, 6), (3, 2))
F.adaptive_avg_pool1d(t(f32, 1, 1, 7), 3)
F.adaptive_avg_pool2d(t(f32, 1, 1, 3, 3), (4, 4))
F.adaptive_max_pool2d(t(f32, 1, 1, 3, 7), (4, 4))
F.adaptive_avg_pool2d(t(f32, 1, 1, 3, 7), (4, 4))
torch.ops.aten.max_pool3d_with_indices_backward(t(i32, 1, 1, 1, 1), t(i32, 1, 2, 2, 2), 2, 2, 0, 1, False, t(i64, 1, 1, 1, 1))
torch.ops.aten.avg_pool3d_backward(t(i32, 1, 1, 1, 1), t(i32, 1, 2, 2, 2), 2, 2, 0, False, True, None)
torch.ops.aten.max_pool2d_with_indices(t(c64, 1, 2, 2), 2)
torch.ops.aten.avg_pool2d(t(c64, 1, 2, 2), 2)
t(i64, 3).index_reduce(0, z(i64, 1), t(i64, 1), "prod")
t(c64, 3).index_reduce(0, z(i64, 1), t(c64, 1), "prod")
t(bool_, 3).index_reduce(0, z(i64, 1), t(bool_, 1), "amax")
t(i64, 3).scatter_reduce(0, z(i64, 1), t(i64, 1), "prod")
t(i64, 3).scatter(0, z(i64, 1), t(i64, 1), reduce="multiply")
t(i64, 2, 3).t().scatter_reduce_(0, z(i64, 1, 1), t(i64, 1, 1), "amin")
t(bool_, 3).scatter_reduce(0, z(i64, 1), t(bool_, 1), "mean")
F.silu(t(c64, 2))
F.silu(t(i64, 2))
F.silu(t(i64, 2), inplace=True)
F.relu(t(c64, 2))
F.log_softmax(t(i64, 2), 0)
F.log_softmax(t(c64, 2), 0)
F.log_softmax(t(bool_, 2), 0)
F.softplus(t(i64, 2))
F.mish(t(c64, 2))
F.softmax(t(i64, 2), 0)
torch.ops.aten._softmax(t(f16, 2), 0, True)
torch.round(t(i64, 2), decimals=1)
t(bool_, 2).pow(True)
torch.frac(t(i64, 2))
torch.lerp(t(i32, 2), t(i32, 2), t(i32, 2))
torch.renorm(t(c64, 2, 2), 2, 0, 1)
F.fold(t(c64, 1, 4, 1), (2, 2), (2, 2))
F.interpolate(t(u8, 1, 1, 2, 2), scale_factor=2, mode="bicubic")
torch.ops.aten.upsample_linear1d(t(u8, 1, 1, 2), [4], False)
F.interpolate(t(u8, 1, 1, 4, 4), size=2, mode="bilinear", antialias=True)
F.interpolate(t(u8, 1, 1, 4, 4), size=2, mode="bicubic", antialias=True)
F.interpolate(t(c64, 1, 1, 2, 2), scale_factor=2, mode="nearest")
torch.ops.aten.native_batch_norm(t(i64, 2, 1), None, None, None, None, True, 0.1, 1e-5)
torch.ops.aten.native_batch_norm(t(c64, 2, 1), None, None, None, None, True, 0.1, 1e-5)
torch.native_layer_norm(t(i64, 2, 2), [2], None, None, 1e-5)
F.huber_loss(t(i64, 2), t(i64, 2))
F.huber_loss(t(c64, 2), t(c64, 2))
F.mse_loss(t(i64, 2), t(i64, 2))
F.nll_loss(t(c64, 2, 2), z(i64, 2))
torch.ops.aten.grid_sampler_2d(t(c64, 1, 1, 2, 2), t(c64, 1, 2, 2, 2), 0, 0, False)
torch.ops.aten.grid_sampler_2d_backward(t(c64, 1, 1, 2, 2), t(c64, 1, 1, 2, 2), t(c64, 1, 2, 2, 2), 0, 0, False, [True, True])
torch.nan_to_num(t(c64, 2))
t(c64, 2).nan_to_num_()
torch.native_dropout(t(i64, 2), 0.5, True)
torch.histogram(t(f16, 4), 2)
torch.ops.aten._fft_r2c(t(bf16, 4), [0], 0, True)
torch.ops.aten._fft_c2r(t(f32, 4), [0], 0, 4)
torch.bincount(t(bool_, 2))
t(i64, 2).normal_()
t(c64, 2).random_()
torch.ops.aten.grid_sampler_3d_backward(t(f32, 1, 1, 1, 1, 1), t(f32, 1, 1, 1, 1, 1), t(f32, 1, 1, 1, 1, 3), 2, 0, False, [True, True])
torch.sparse.mm(torch.eye(2, device="mps").to_sparse(), torch.eye(2, device="mps").half().to_sparse())
torch._sparse_sparse_matmul(t(f32, 2, 2).to_sparse(1), t(f32, 2, 2).to_sparse())
torch.linalg.lu_solve(t(c64, 2, 2), torch.ones(2, dtype=i32, device="mps"), t(c64, 2, 2))
F.glu(t(i64, 2), 0)
t(bool_, 2).round()
F.interpolate(t(c64, 1, 1, 2), scale_factor=2, mode="nearest")
F.interpolate(t(c64, 1, 1, 2), scale_factor=2, mode="nearest-exact")
F.interpolate(t(c64, 1, 1, 2, 2), scale_factor=2, mode="nearest-exact")
F.smooth_l1_loss(t(i64, 2), t(i64, 2))
t(u16, 2) * t(u16, 2)
t(u16, 2) / t(u16, 2)
torch.div(t(u16, 2), t(u16, 2), out=t(f32, 2))
torch.copysign(t(u16, 2), t(u16, 2))
torch.atan2(t(u16, 2), t(u16, 2))
torch.xlogy(t(u16, 2), t(u16, 2))
t(u16, 2) & t(u16, 2)
t(u16, 2) | t(u16, 2)
t(u16, 2) ^ t(u16, 2)
t(u16, 2) == t(u16, 2)
t(u16, 2) != t(u16, 2)
F.scaled_dot_product_attention(*3 * [t(i64, 1, 1, 2, 8)])
F.scaled_dot_product_attention(*3 * [t(f32, 1, 1, 2, 8)], dropout_p=0.5)
F.gelu(t(i64, 2))
F.hardshrink(t(i64, 2))
F.elu(t(i64, 2))
t(bool_, 2).abs()
torch.special.i1(t(c64, 2))
torch.atan2(t(c64, 2), t(c64, 2))
torch.hypot(t(i64, 2), t(i64, 2))
torch.igamma(t(i64, 2), t(i64, 2))
t(c64, 2) < t(c64, 2)
torch.nextafter(t(i64, 2), t(i64, 2))
torch.special.zeta(t(c64, 2), t(c64, 2))
torch.gcd(t(f32, 2), t(f32, 2))
torch.bitwise_left_shift(t(f32, 2), t(f32, 2))
torch.linalg.cross(t(bool_, 3), t(bool_, 3))
t(c64, 2).cummax(0)
t(c64, 2).cummin(0)
t(c64, 2, 2).cummax(0)
t(c64, 2, 2).cummin(0)
t(i64, 2).logcumsumexp(0)
t(i64, 2, 2).logcumsumexp(0)
F.unfold(t(i64, 1, 1, 2, 2), 2)
F.max_unpool2d(t(c64, 1, 1, 1, 1), z(i64, 1, 1, 1, 1), 2)
torch.native_layer_norm(t(i32, 2, 2), [2], None, None, 1e-5)
t(bool_, 2).geometric_(0.5)
torch.eye(3, device="mps").to_sparse().index_select(0, z(i64, 1, 1))
torch.eye(3, device="mps").to_sparse().index_select(1, z(i32, 1))
torch.zeros(0, 3, device="mps").to_sparse().index_select(0, z(i64, 1))
torch.eye(3, device="mps").to_sparse().index_select(0, 3 * t(i64, 1))
torch.eye(3, device="mps").to_sparse().index_select(-1, -4 * t(i64, 1))
torch.histc(t(f32, 2) * float("nan"), 4)
torch._standard_gamma(torch.ones(2), generator=torch.Generator("mps"))
torch.randperm(4, generator=torch.Generator("mps"))
torch.randperm(4, device="mps", generator=torch.Generator())
torch.mm(t(f32, 2, 2), t(f16, 2, 2))
torch.baddbmm(torch.ones(1, 2, 2), t(f32, 1, 2, 2), t(f32, 1, 2, 2))
torch.baddbmm(t(f32, 1, 2, 2), torch.ones(1, 2, 2), t(f32, 1, 2, 2))
torch.addbmm(t(f32, 2, 2), t(f32, 1, 2, 2), torch.ones(1, 2, 2))
torch.dot(torch.ones(2), t(f32, 2))
torch.vdot(t(c64, 2), torch.ones(2, dtype=c64))
t(f32, 2, 2) @ torch.ones(2)
torch.ones(2, 2) @ t(f32, 2)
torch.addmv(torch.ones(2), t(f32, 2, 2), t(f32, 2))
F.linear(t(f32, 1, 3), t(f32, 4, 5))
F.conv2d(torch.ones(1, 1, 3, 3), t(f32, 1, 1, 2, 2))
torch.isin(t(f32, 2), torch.ones(2))
t(f32, 2).masked_fill(torch.ones(2, dtype=bool_), 0)
t(f32, 2).masked_fill(t(u8, 2), 0)
t(f32, 2).masked_scatter(t(i64, 2), t(f32, 2))
torch.repeat_interleave(t(f32, 2), t(u8, 2))
F.nll_loss(torch.ones(2, 2), z(i64, 2))
F.cross_entropy(t(f32, 2, 2), torch.zeros(2, dtype=i64))
F.cross_entropy(t(f32, 2, 2), z(i64, 2), torch.ones(2))
F.binary_cross_entropy(torch.ones(2), t(f32, 2))
F.binary_cross_entropy(t(f32, 2), torch.ones(2))
F.binary_cross_entropy(t(f32, 2), t(f32, 2), torch.ones(2))
F.grid_sample(t(f32, 1, 1, 2, 2), torch.ones(1, 2, 2, 2))
F.grid_sample(t(f16, 1, 1, 2, 2), t(f32, 1, 2, 2, 2))
F.grid_sample(t(f16, 1, 1, 2, 2, 2), t(f32, 1, 2, 2, 2, 3))
""".strip().splitlines()
# Functions of TensorIterator, whose kernels MPS has for no unsigned dtype but uint8.
UNSIGNED = """
acos asin atan cos cosh erf erfc erfinv exp exp2 expm1 i0 log log10 log1p log2 rsqrt sigmoid sin sinc sinh sqrt tan tanh reciprocal digamma lgamma
""".split()
CALLS += [f"t(u16, 2).{name}()" for name in UNSIGNED]

# Those that only other versions refuse.
OTHERS = """
torch.addmm(t(i64, 2, 2), t(i64, 2, 2), t(i64, 2, 2))
torch.baddbmm(t(i64, 1, 2, 2), t(i64, 1, 2, 2), t(i64, 1, 2, 2))
torch.geqrf(t(c64, 2, 2))
torch.linalg.cholesky(torch.eye(2, dtype=f16, device="mps"))
torch.linalg.svd(t(f16, 2, 2))
torch.linalg.solve_triangular(t(f32, 2, 2), t(f32, 2, 2), upper=True, out=torch.ones(2, 2))
torch.linalg.solve_triangular(t(f32, 2, 2), t(f32, 2, 2), upper=True, out=t(c64, 2, 2))
torch._compute_linear_combination(t(i64, 2, 2), t(i64, 2, 2))
torch.logaddexp2(t(i64, 2), t(i64, 2))
torch.addcmul(t(bool_, 2), t(bool_, 2), t(bool_, 2))
torch.unique(t(c64, 2))
torch.unique_consecutive(t(u16, 2))
F.linear(t(c64, 1, 2), t(c64, 3, 2))
F.adaptive_max_pool2d(t(c64, 1, 1, 4, 4), (2, 2))
torch.ops.aten.adaptive_max_pool2d_backward(t(c64, 1, 1, 1), t(c64, 1, 2, 2), z(i64, 1, 1, 1))
torch.ops.aten.huber_loss_backward(t(f32, 2), t(f32, 2), t(f16, 2), 0, 1.0)
t(c64, 3).index_fill_(0, z(i64, 1), 1)
t(c64, 3).nonzero()
torch.nonzero(t(c64, 3), out=t(i64, 0, 1))
t(i64, 3).scatter_reduce(0, z(i64, 1), t(i64, 1), "amax")
t(c64, 3).amax()
torch.var(t(i64, 2))
torch.normal(t(c64, 2), t(f32, 2))
t(c64, 3).scatter(0, z(i64, 1), t(c64, 1))
t(c64, 3).gather(0, z(i64, 1))
F.mish(t(i32, 2))
F.softplus(t(i32, 2))
F.log_softmax(t(i32, 2), 0)
torch.ops.aten._log_softmax(t(f16, 2), 0, True)
t(bool_, 2).ceil()
t(bool_, 2).floor()
t(bool_, 2).trunc()
t(c64, 2).cumsum(0)
torch.ops.aten.native_batch_norm(t(i32, 2, 1), None, None, None, None, True, 0.1, 1e-5)
F.nll_loss(t(i32, 2, 2), z(i64, 2))
torch.linalg.vector_norm(t(c64, 2))
torch.nansum(t(c64, 2))
torch.median(t(bool_, 2))
torch.kthvalue(t(c64, 2), 1)
torch.kthvalue(t(bool_, 2), 1)
t(c64, 2).repeat(2)
t(c64, 2).bernoulli_(0.5)
torch.logspace(0, 1, 2, dtype=i64, device="mps")
scaled(t(f32, 16, 16), f8(16, 16))
scaled(f8(16, 16), t(f32, 16, 16))
scaled(f8(16, 16), f8(16, 16), out=i32)
scaled(f8(16, 16), f8(16, 16), swizzle=1)
scaled(f8(16, 16), f8(16, 16), recipe=(0, 1))
scaled(f8(16, 16), f8(16, 16), t(f32, 2, 16).t(), t(f32, 1, 16), recipe=(1, 1))
scaled(f8(16, 16), f8(16, 16), t(f32, 16, 1), t(f32, 16, 2).t(), recipe=(1, 1))
scaled(f8(16, 16), f8(16, 16), t(f32, 8, 1), t(f32, 1, 16), recipe=(1, 1))
scaled(f8(16, 16), f8(16, 16), bias=t(f16, 16), out=f32)
scaled(f8(16, 16), f8(16, 16), bias=t(f32, 16))
scaled(f8(16, 16), f8(16, 16), bias=t(f16, 16))
scaled(f8(16, 16), f8(16, 16), bias=t(bf16, 16), out=f16)
scaled(f8(16, 8), f8(8, 16))
scaled(f8(16, 32)[:, 1:17], f8(16, 16))
scaled(f8(16, 16), f8(16, 32)[:, 1:17])
torch.ops.aten.grid_sampler_3d(t(f32, 1, 1, 1, 1, 1), t(f32, 1, 1, 1, 1, 3), 1, 0, False)
torch.baddbmm(t(f32, 1, 2, 2), t(f32, 1, 2, 2), t(f16, 1, 2, 2))
torch.addbmm(t(f16, 2, 2), t(f32, 1, 2, 2), t(f32, 1, 2, 2))
torch.addbmm(t(f32, 2, 2), t(f32, 1, 2, 2), t(f32, 1, 2, 2), out=t(f16, 2, 2))
torch._int_mm(t(f32, 2, 2), t(i8, 2, 2))
torch._int_mm(t(i8, 2, 2), t(f32, 2, 2))
torch._int_mm(t(i8, 2, 2), t(i8, 2, 2), out=t(f32, 2, 2))
torch.nan_to_num(f8(2))
F.ctc_loss(t(f32, 4, 1, 3), t(i64, 1, 2), torch.tensor([4]), torch.tensor([-1]))
F.ctc_loss(t(f32, 4, 1, 3), t(i64, 1, 2), torch.tensor([5]), torch.tensor([2]))
torch.linspace(0, 1, 2, dtype=u16, device="mps")
torch.linspace(0, 1, 2, dtype=torch.complex32, device="mps")
""".strip().splitlines()

# Without float8, making its tensors is refused before the calls are.
if older_than("2.15"):
    OTHERS = [call for call in OTHERS if "f8(" not in call]
# Texts that the simulation gives without a rule in older versions: a missing kernel's, or the CPU's.
WITHOUT_RULE = {"2.15": r"addbmm\(.*f16", "2.14": "logaddexp2|linspace.*u16"}
for version, calls in WITHOUT_RULE.items():
    if older_than(version):
        OTHERS = [call for call in OTHERS if not re.search(calls, call)]

SETUP = """
import json, torch
from torch.nn import functional as F
f32, f16, bf16, c64, bool_ = torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.bool
i8, u8, u16, i32, i64 = torch.int8, torch.uint8, torch.uint16, torch.int32, torch.int64
def t(dtype, *sizes): return torch.ones(sizes, dtype=dtype, device="mps")
def z(dtype, *sizes): return torch.zeros(sizes, dtype=dtype, device="mps")
def f8(*sizes): return t(f32, *sizes).to(torch.float8_e4m3fn)
def scaled(a, b, one=None, other=None, recipe=(0, 0), bias=None, out=bf16, swizzle=0):
    scales = [[t(f32) if each is None else each] for each in (one, other)]
    return torch._scaled_mm_v2(a, b, scales[0], [recipe[0]], [swizzle], scales[1], [recipe[1]], [swizzle], bias, out)
"""


@pytest.fixture
def on_mps(warm_child):
    def run(script, **env):
        return warm_child(SETUP + script, env={"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none", **env})

    return run


def pattern(rule):
    text = re.escape(rule["text"] if "text" in rule else MISSING + rule["kernel"])
    return re.compile(re.sub(r"\\\{[^{}]+\\\}", lambda _: r"[\w:\[\], -]+", text))


def minor(version):
    return int(version.split(".")[1])


def holding(version):
    """The rules that hold in a version of torch 2, on the newest macOS."""
    return [
        rule
        for section in RULES["refusals"]
        for rule in section["rules"]
        if minor(rule.get("since", "2.0")) <= minor(version) < minor(rule.get("until", "2.999"))
        and "macos_until" not in rule
    ]


def test_rules_hold_in_the_versions_that_they_name():
    said = {
        version: {rule.get("text", rule.get("kernel")) for rule in holding(version)}
        for version in ("2.8", "2.12", "2.13", "2.15")
    }
    assert all("MPS device does not support addr for non-float input" in each for each in said.values())
    for text, versions in {
        "linalg_qr: MPS currently supports float32 only": ["2.12", "2.13"],
        "GELU is only implemented for floating types": ["2.8", "2.12"],
        "lerp_tensor_dense_{metal}": ["2.12", "2.13"],
        "col2im_kernel_{metal}": ["2.8", "2.12"],
        "col2im_kernel_{metal}_u32": ["2.13", "2.15"],
        "nll_loss is not implemented for {dtype} on MPS": ["2.15"],
    }.items():
        assert [version for version in said if text in said[version]] == versions, text


def test_every_rule_refuses_a_call_with_its_message_and_is_counted(on_mps):
    ran = on_mps(
        f"""
answers = []
for call in {CALLS + OTHERS!r}:
    try:
        eval(call)
        answers.append([None, None])
    except Exception as error:
        answers.append([type(error).__name__, str(error)])
print(json.dumps(answers))
"""
    )
    version = TORCH
    rules = holding(version)
    answers = dict(zip(CALLS + OTHERS, ran.answer))
    every = [pattern(rule) for section in RULES["refusals"] for rule in section["rules"]]
    held = [pattern(rule) for rule in rules]
    said = {text: kind for kind, text in answers.values() if text}
    said = {text: kind for text, kind in said.items() if any(each.fullmatch(text) for each in every)}
    # A missing kernel is named without a rule, too.
    foreign = [
        text
        for text in said
        if not text.startswith(MISSING) and not any(each.fullmatch(text) for each in held)
    ]
    assert foreign == []
    said = {text: kind for text, kind in said.items() if any(each.fullmatch(text) for each in held)}
    unmet = [
        rule
        for rule in rules
        if not any(
            pattern(rule).fullmatch(text) and kind == rule.get("error", "RuntimeError")
            for text, kind in said.items()
        )
    ]
    assert unmet == []
    if minor(version) == minor(RULES["version"]):
        assert [call for call, (_, text) in answers.items() if text in said] == CALLS
    counted = sum(line["count"] for line in ran.devices(kind="refusal"))
    missing = [text for _, text in answers.values() if NO_KERNEL in (text or "")]
    # A kernel's check of its arguments is the program's error and no refusal.
    checks = [pattern(rule) for rule in rules if "requires" in rule and "dtypes" not in rule]
    refused = [
        text for _, text in answers.values() if text in said and not any(check.fullmatch(text) for check in checks)
    ]
    assert checks and "aten::histc" not in {line["op"] for line in ran.devices(kind="refusal")}
    # A missing kernel that the CPU's error led to is not counted, and other versions have some.
    assert counted <= len(refused) + len(missing)
    if minor(version) == minor(RULES["version"]):
        assert counted == len(refused) + len(missing)


# Calls that depend on macOS, and the first release of macOS that takes them.
ON_OLD_MACOS = {
    "F.conv1d(t(f32, 1, 1, 70000), t(f32, 1, 1, 1))": "15.1",
    "F.conv_transpose1d(t(f32, 1, 1, 70000), t(f32, 1, 1, 1))": "15.1",
    "torch.autograd.grad(F.conv1d(large, t(f32, 1, 1, 1), stride=2).sum(), large)": "14",
    "torch.autograd.grad(F.conv_transpose1d(small, t(f32, 1, 1, 2), stride=2).sum(), small)": "14",
    "torch.ops.aten.convolution_backward(large, large, t(f32, 1, 1, 1), None, [1], [0], [1], False, [0], 1, "
    "[True, False, False])": "15.1",
    "t(i64, 3).scatter_reduce(0, z(i64, 1), t(i64, 1), 'amin')": "15",
    "torch.bmm(t(f32, 1).expand(1, 70000, 1), t(f32, 1).expand(1, 1, 70000))": "15",
}


@pytest.mark.parametrize("macos", ["14", "15.0", "15"])
def test_what_depends_on_macos_is_refused_on_those_before(on_mps, macos):
    version = minor(TORCH)
    if version < 13:
        pytest.skip("older torch refuses other calls")
    if version >= 15 and macos == "14":
        pytest.skip("this torch has no MPS on macOS 14")
    ran = on_mps(
        f"""
large = t(f32, 1, 1, 70000).requires_grad_()
small = t(f32, 1, 1, 40000).requires_grad_()
refused = []
for call in {[call for call in ON_OLD_MACOS if macos == "14" or "bmm" not in call]!r}:
    try: eval(call)
    except (RuntimeError, NotImplementedError): refused.append(call)
print(json.dumps([refused, torch.backends.mps.is_macos_or_newer(15, 0)]))
""",
        TORCHDEVICE_MACOS=macos,
    )
    here = {"14": (14, 8), "15.0": (15, 0), "15": (15, 7)}[macos]
    first = {"14": (14, 0), "15": (15, 0), "15.1": (15, 1)}
    expected = [call for call, since in ON_OLD_MACOS.items() if here < first[since]]
    assert ran.answer == [expected, here >= (15, 0)]
    assert sum(event["count"] for event in ran.devices(kind="refusal")) == len(expected)


@pytest.mark.parametrize("newest", [(2, 14), (2, 15)])
def test_macos_14_has_no_mps_from_torch_2_15_on(monkeypatch, newest):
    monkeypatch.syspath_prepend(SHIM / "python")
    settings = importlib.import_module("compat_shim.settings")
    monkeypatch.setattr(settings.versions, "at_least", lambda version: version <= newest)
    environ = {"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MACOS": "14"}
    if newest < (2, 15):
        assert settings.read("cpu", environ).macos == (14, 8)
    else:
        with pytest.raises(ImportError, match="TORCHDEVICE_MACOS=14: .* needs macOS 15"):
            settings.read("cpu", environ)
    assert settings.read("cpu", {**environ, "TORCHDEVICE_MACOS": "15.0"}).macos == (15, 0)


def test_fallback_does_not_apply_to_ops_with_a_kernel(on_mps):
    script = """
try: F.linear(t(i64, 1, 2), t(i64, 3, 2))
except RuntimeError as error: print(json.dumps(str(error)))
"""
    assert on_mps(script, PYTORCH_ENABLE_MPS_FALLBACK="1").answer == (
        "MPS device does not support linear for non-float inputs"
    )


def test_what_runs_on_the_cpu_takes_only_dtypes_of_the_cpu(on_mps):
    ran = on_mps(
        """
import warnings
warnings.simplefilter("ignore")
try: torch.ormqr(t(f16, 2, 2), t(f16, 2), t(f16, 2, 2))
except NotImplementedError as error: text = str(error)
print(json.dumps([text, torch.ormqr(t(f32, 2, 2), t(f32, 2), t(f32, 2, 2)).device.type]))
""",
        PYTORCH_ENABLE_MPS_FALLBACK="1",
    )
    assert ran.answer == ["\"ormqr_cpu\" not implemented for 'Half'", "mps"]


def test_calls_outside_the_rules_are_not_refused(on_mps):
    script = """
t(i64, 3).scatter_reduce(0, z(i64, 1), t(i64, 1), "sum")
t(i32, 3).scatter_reduce(0, z(i64, 1), t(i32, 1), "prod")
t(i64, 2, 3).t().scatter_reduce(0, z(i64, 1, 1), t(i64, 1, 1), "amin")
t(i64, 3).scatter_reduce_(0, z(i64, 1), t(i64, 1), "amax")
torch.renorm(torch.empty(0, 2, dtype=c64, device="mps"), 2, 0, 1)
F.conv_transpose2d(t(f16, 1, 1, 2, 2), t(f16, 1, 1, 2, 2))
F.conv2d(t(c64, 1, 1, 3, 3), t(c64, 1, 1, 2, 2))
F.adaptive_avg_pool2d(t(f32, 1, 1, 6, 4), (3, 2))
F.adaptive_avg_pool2d(t(f32, 1, 1, 3, 2), (6, 4))
F.adaptive_avg_pool2d(t(f32, 1, 1, 7, 5), 1)
F.adaptive_max_pool2d(t(f32, 1, 1, 7, 5), (3, 2))
torch.round(t(i64, 2), decimals=0)
torch.lerp(t(i32, 2), t(i32, 2), 0.5)
torch.hypot(t(i64, 2), t(f32, 2))
torch.igamma(t(i64, 2), t(f32, 2))
torch.logaddexp2(t(i64, 2), t(f32, 2))
torch.addcmul(t(bool_, 2), t(bool_, 2), t(f32, 2))
t(u16, 2) * t(f32, 2)
t(u16, 2) * 0.5
torch.unique_consecutive(t(u16, 2), dim=0)
torch.linalg.svd(t(f16, 0, 2))
F.fold(t(f32, 1, 4, 1), (2, 2), (2, 2))
sparse = torch.eye(3, device="mps").to_sparse()
assert sparse.index_select(0, torch.tensor([2, -3], device="mps")).to_dense().tolist() == [[0, 0, 1], [1, 0, 0]]
assert sparse.index_select(0, z(i64, 0)).shape == (0, 3)
assert torch.eye(3, device="mps").to_sparse(1).index_select(1, 2 * t(i64, 1)).to_dense().tolist() == [[0], [0], [1]]
assert torch.histc(t(f32, 2) * float("nan"), 4, 0, 1).tolist() == [0, 0, 0, 0]
print(json.dumps(True))
"""
    if minor(TORCH) < 9:
        script = re.sub(r".*(igamma|sparse).*\n", "", script)
    if minor(TORCH) < 13:
        script = re.sub(r't\(i64.*"am(in|ax)"\)\n', "", script)
    ran = on_mps(script)
    assert ran.answer is True
    assert ran.devices(kind="refusal") == []


# Calls that MPS computes in some versions of torch only: from the first, before the second.
COMPUTED = {
    "unpooled": ("2.9", "2.999"),
    "kth": ("2.9", "2.14"),
    "floor": ("2.0", "2.15"),
    "relu": ("2.0", "2.15"),
    "loss": ("2.0", "2.15"),
    "product": ("2.0", "2.15"),
}


def test_dtypes_that_only_the_cpu_lacks_are_computed(on_mps):
    """Expected values are written out, because no CPU kernel computes them."""
    version = minor(TORCH)
    refused = {
        name
        for name, (since, until) in COMPUTED.items()
        if not minor(since) <= version < minor(until)
    }
    script = """
def on(values, dtype=None): return torch.tensor(values, dtype=dtype, device="mps")
grid = torch.arange(16, dtype=i32, device="mps").view(1, 1, 4, 4)
best, places = F.max_pool2d(grid, 2, return_indices=True)
answers = {
    "remainder": on([True, False]).remainder(on([True, True])),
    "power": on([True, False]) ** on([False, True]),
    "floor": on([True, False]).floor(),
    "dot": t(bool_, 256).dot(t(bool_, 256)),
    "trace": torch.trace(t(bool_, 3, 3)),
    "largest": best,
    "unpooled": F.max_unpool2d(best, places, 2).sum(),
    "mean": F.avg_pool2d(grid, 2),
    "padded": F.pad(on([[[True, False, False]]]), (1, 1), mode="reflect"),
    "kth": on([True, False, True]).kthvalue(1)[0],
    "histogram": torch.histc(on([1, 2, 2]), bins=2),
    "relu": F.relu(on([True, False])),
    "linspace": torch.linspace(0, 1, 3, dtype=bool_, device="mps"),
    "loss": F.nll_loss(on([[1, 2], [3, 4]], i32), on([1, 0])),
    "threshold": F.threshold(on([True, False]), 0, 1),
    "product": torch.addcmul(on([False, False]), on([True, False]), on([True, True])),
}
print(json.dumps({name: [str(each.dtype), each.device.type, each.tolist()] for name, each in answers.items()}))
"""
    for name in refused:
        script = re.sub(f'    "{name}": .*\n', "", script)
    ran = on_mps(script)
    boolean, whole = ("torch.bool", "mps"), ("torch.int32", "mps")
    expected = {
        "remainder": (*boolean, [False, False]),
        "power": (*boolean, [True, False]),
        "floor": (*boolean, [True, False]),
        "dot": (*boolean, True),
        "trace": ("torch.int64", "mps", 3),
        "largest": (*whole, [[[[5, 7], [13, 15]]]]),
        "unpooled": ("torch.int64", "mps", 40),
        "mean": (*whole, [[[[2, 4], [10, 12]]]]),
        "padded": (*boolean, [[[False, True, False, False, False]]]),
        "kth": (*boolean, False),
        "histogram": ("torch.int64", "mps", [1, 2]),
        "relu": (*boolean, [True, False]),
        "linspace": (*boolean, [False, True, True]),
        "loss": (*whole, -2),
        "threshold": (*boolean, [True, True]),
        "product": (*boolean, [True, False]),
    }
    assert {name: tuple(each) for name, each in ran.answer.items()} == {
        name: each for name, each in expected.items() if name not in refused
    }


def test_complex_dropout_and_half_polar_are_computed(on_mps):
    ran = on_mps(
        """
import warnings; warnings.simplefilter("ignore")
kept = F.dropout(t(c64, 100)).real.unique().tolist()
turned = torch.polar(t(f16, 2), z(f16, 2))
spectrum = torch.ops.aten._fft_r2c(t(f16, 4), [0], 0, True)
print(json.dumps([kept, str(turned.dtype), turned.cpu().to(c64).real.tolist(), str(spectrum.dtype)]))
"""
    )
    assert ran.answer == [[0.0, 2.0], "torch.complex32", [1.0, 1.0], "torch.complex32"]
    assert "discards the imaginary part" not in ran.stderr


def test_a_dtype_that_no_kernel_has_is_refused_as_metal_names_the_kernel(on_mps):
    if minor(TORCH) < 12:
        pytest.skip("older torch names other kernels")
    kernels = {
        "torch.bucketize(t(c64, 2), t(c64, 2), out_int32=True)": "searchsorted_float2_int",
        "t(torch.uint32, 2) + t(torch.uint32, 2)": "add_dense_uint_uint",
    }
    if older_than("2.14"):  # later ones have texts of their own for these, which are rules
        kernels |= {
            "t(c64, 2).cummax(0)": "cummax_innermost_float2",
            "t(c64, 2, 2).cummin(0)": "cummin_outer_float2",
            "torch.logaddexp2(t(c64, 3, 1), t(c64, 2))": "logaddexp2_strided_float2_float2",
            "torch.linalg.cross(t(bool_, 3), t(bool_, 3))": "cross_dense_bool",
        }
    ran = on_mps(
        f"""
answers = []
for call in {list(kernels)!r}:
    try:
        eval(call)
        answers.append(None)
    except RuntimeError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""
    )
    assert ran.answer == [MISSING + kernel for kernel in kernels.values()]


def test_copies_to_the_host_are_refused_as_a_mac_does(on_mps):
    version = TORCH
    ran = on_mps(
        """
answers = {}
def copied(name, target, source):
    try:
        target.copy_(source)
        answers[name] = target.tolist()
    except Exception as error:
        answers[name] = [type(error).__name__, str(error).split(": ")[-1].split(". ")[-1]]
def host(dtype): return torch.zeros(6, dtype=dtype)
copied("float64", host(torch.float64), t(f32, 6))
copied("float64 of int64", host(torch.float64), t(i64, 6))
copied("unaligned", host(bool_)[1:4], t(bool_, 3))
copied("aligned", host(bool_)[4:6], t(bool_, 2))
copied("strided", host(bool_)[1::2], t(bool_, 3))
copied("nothing", host(bool_)[1:1], t(bool_, 0))
print(json.dumps(answers))
"""
    )
    expected = {
        "float64": ["TypeError", "Please use float32 instead."],
        "float64 of int64": [1.0] * 6,
        "unaligned": ["RuntimeError", "Unaligned blit request"],
        "aligned": [True] * 2,
        "strided": [True] * 3,
        "nothing": [],
    }
    if minor(version) >= 14:
        expected["float64"] = [1.0] * 6
    assert ran.answer == expected
