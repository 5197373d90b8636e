"""Tests, in child processes, what simulated CUDA devices refuse: features that need a GPU, and dtypes
that CUDA's kernels lack."""

import json
import re

from conftest import ROOT, SHIM, older_than

# As the diagnosis knows it (parsers/diagnosis/rules.json).
NOT_SIMULATED = re.compile(r"\S+ is not simulated: [^;]+; \S")


def test_features_of_a_gpu_say_that_they_are_not_simulated(on_cuda):
    """One text for what a GPU has, and no refusal in the record, which is what a device lacks."""
    ran = on_cuda(
        """
import importlib.util
import torch.distributed._symmetric_memory as symmetric
half = torch.ones(32, 64, device="cuda", dtype=torch.float16)
lengths = torch.tensor([0, 4], dtype=torch.int32, device="cuda")
refused = [raised(*call) for call in (
    (torch.cuda.CUDAGraph,), (torch.cuda.graph, None), (torch.cuda.MemPool,),
    (torch.cuda._compile_kernel, "", "f"), (torch.cuda.nccl.unique_id,), (torch.cuda.tunable.enable, True),
    (symmetric.empty, 4), (torch.ops.symm_mem.one_shot_all_reduce, half, "sum", "0"),
    (torch.sparse.to_sparse_semi_structured, half), (torch._scaled_grouped_mm, *[half] * 4),
    (torch.ops.aten._scaled_dot_product_cudnn_attention, *[half.view(1, 1, 32, 64)] * 3, None, False),
    (torch.ops.aten._cslt_compress, half), (torch.ops.aten.cudnn_convolution_relu, half, half, None, [1], [0], [1], 1),
    (torch.ops.aten._flash_attention_forward, half, half, half, None, None, 4, 4, 0.0, False, False),
    (torch.sparse.spsolve, torch.eye(2, device="cuda").to_sparse_csr(), torch.ones(2, device="cuda")),
)]
if importlib.util.find_spec("torch.nn.attention.varlen"):
    from torch.nn.attention.varlen import varlen_attn
    refused.append(raised(varlen_attn, *[half.view(4, 8, 64)] * 3, lengths, lengths, 4, 4))
if hasattr(torch.ops.aten, "_cudnn_attention_forward_no_dropout_inplace"):
    refused.append(raised(torch.ops.aten._cudnn_attention_forward_no_dropout_inplace, *[half] * 4, lengths, lengths, 4, 4))
torch.cuda.nvtx.range_push("a"), torch.cuda.nvtx.range_pop()
with torch.profiler.profile(activities=list(torch.profiler.supported_activities())) as profile:
    torch.ones(2, device="cuda") + 1
print(json.dumps([refused, any("add" in event.key for event in profile.key_averages())]))
"""
    )
    refused, profiled = ran.answer
    assert profiled and len(refused) == 17 - older_than("2.10") - older_than("2.15")
    assert [each for each in refused if each[0] != "NotImplementedError" or not NOT_SIMULATED.match(each[1])] == []
    assert ran.devices(kind="refusal") == []


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
        assert text.startswith(f"torch.utils.cpp_extension.{symbol} is not simulated: a CUDA kernel")
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
torch.sparse.mm(h(2, 2).to_sparse(), h(2, 2)); "addmm_sparse_cuda" not implemented for 'Half'
torch.sparse.addmm(b(2, 2), b(2, 2).to_sparse(), b(2, 2)); "addmm_sparse_cuda" not implemented for 'BFloat16'
torch.hspmm(h(2, 2).to_sparse(), h(2, 2)); "addmm_sparse_cuda" not implemented for 'Half'
torch.repeat_interleave(f(2), -i(2)); repeats can not be negative
h(2, 2).to_sparse() @ h(2); "addmm_sparse_cuda" not implemented for 'Half'
torch.bmm(h(1, 2, 2).to_sparse(), h(1, 2, 2)); "bmm_sparse_cuda" not implemented for 'Half'
torch.histc(f(3) * float("nan")); range of [nan, nan] is not finite
torch.histc(f(3) / 0); range of [inf, inf] is not finite
torch.poisson(torch.ones(2), generator=g); CUDA_tensor_apply2: Expected tensors to have CUDA DeviceType, but got tensors with type cpu and cpu
torch._C._nn.rrelu_with_noise(torch.ones(2), torch.ones(2), generator=g); Tensor for argument #1 'self' is on CPU, Tensor for argument #2 'noise' is on CPU, but expected it to be on GPU (while checking arguments for rrelu_with_noise_out_cuda)
""".strip().splitlines()
BEFORE_2_9 = """
torch.sort(f(2).to(torch.complex64)); Sort currently does not support complex dtypes on CUDA.
torch.sort(f(2).to(torch.complex32)); "sortKeyValueInplace" not implemented for 'ComplexHalf'
""".strip().splitlines()
if older_than("2.9"):
    DTYPES += BEFORE_2_9
COMPUTED = """
torch.cdist(h(30, 2), h(30, 2)); F.layer_norm(h(2, 2), [2], h(2), h(2)); torch.histc(i(3)); h(2, 2) @ h(2, 2)
torch.special.zeta(h(2), f(2)); torch.special.bessel_j0(h(0)); torch.gcd(i(2), i(2) > 0); torch.remainder(i(2) > 0, i(2))
i(2, 0) @ i(0, 2); torch.linalg.lu(f(2, 2) + 1); torch.linalg.svd(f(2, 2)); torch.histc(f(3) / 0, min=0, max=1)
torch.sparse.mm(f(2, 2).to_sparse(), f(2, 2)); torch.sparse.mm((h(2, 2) * 0).to_sparse(), h(2, 2)); F.conv2d(h(1, 1, 3, 3), h(1, 1, 2, 2))
"""


def test_dtypes_that_cudas_kernels_lack_are_refused(on_cuda):
    rows = [row.split("; ", 1) for row in DTYPES]
    calls = [call for call, _ in rows]
    ran = on_cuda(
        f"""
def t(dtype): return lambda *sizes: torch.ones(sizes, dtype=dtype, device="cuda")
i, h, f, b = t(torch.int64), t(torch.float16), t(torch.float32), t(torch.bfloat16)
eye = torch.eye(2, device="cuda", dtype=torch.float16)
g = torch.Generator("cuda")
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
    assert computed == [None] * 15
    # The program's errors, which a device with the kernel reports: no refusals of the device.
    checked = [text for _, text in rows if text.endswith(("is not finite", "can not be negative"))]
    assert len(checked) == 3
    assert sum(event["count"] for event in ran.devices(kind="refusal")) == len(rows) - len(checked)


NAMES = """
t(torch.uint16)(2) + 1; "ufunc_add_CUDA" not implemented for 'UInt16'
t(torch.uint16)(2) - 1; "ufunc_add_CUDA" not implemented for 'UInt16'
t(torch.uint16)(2) * 2; "mul_cuda" not implemented for 'UInt16'
t(torch.uint16)(2) << 1; "lshift_cuda" not implemented for 'UInt16'
t(torch.uint16)(2).clamp(0, 1); "clamp_scalar_cuda" not implemented for 'UInt16'
t(torch.uint16)(2) > 0; "compare_cuda" not implemented for 'UInt16'
t(torch.float8_e5m2)(2) + 1; "ufunc_add_CUDA" not implemented for 'Float8_e5m2'
t(torch.float8_e5m2)(2).neg(); "neg_cuda" not implemented for 'Float8_e5m2'
torch.bitwise_left_shift(f(2), h(2)); "lshift_cuda" not implemented for 'Float'
""".strip().splitlines()


def test_refusals_name_the_kernel_as_its_source_does(on_cuda):
    rows = [row.split("; ", 1) for row in NAMES]
    ran = on_cuda(
        f"""
def t(dtype): return lambda *sizes: torch.ones(sizes, device="cuda").to(dtype)
h, f = t(torch.float16), t(torch.float32)
print(json.dumps([raised(eval, call, globals()) for call in {[call for call, _ in rows]!r}]))
"""
    )
    assert ran.answer == [["NotImplementedError", text] for _, text in rows]


def test_every_rule_of_cuda_is_met_by_a_call():
    rules = json.loads((SHIM / "simulate" / "cuda_refusals.json").read_text())
    answers = json.loads((ROOT / "tests/shim/cuda_calls.json").read_text())
    said = "\n".join([*DTYPES, *BEFORE_2_9, *(str(text) for since in answers.values() for calls in since.values() for text in calls.values())])

    def text(rule):
        if "dispatch" in rule:
            return f'"{rule["dispatch"]}"'
        return rule["expected"] if "expected" in rule else max(re.split(r"\{[^{}]*\}", rule["text"]), key=len)

    unmet = [rule for section in rules["refusals"] for rule in section["rules"] if text(rule) not in said]
    assert unmet == []
