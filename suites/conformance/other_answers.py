"""Every public name of torch.cuda's submodules, of torch.backends.cuda and cudnn, and of
torch.accelerator, as cuda_answers.py has torch.cuda's own."""

import functools
import os
import tempfile

import torch
import torch.cuda.comm

from asking import (
    Names,
    about_4_mib,
    allocated,
    entered,
    grown,
    kept,
    not_negative,
    on_host,
    raised,
    reset_takes_the_peak_back,
)
from cuda_answers import DTYPES

accelerator = Names(torch.accelerator)
amp = torch.cuda.amp
backend = Names(torch.backends.cuda)
comm = torch.cuda.comm
cudnn = torch.backends.cudnn
nccl = torch.cuda.nccl
nvtx = torch.cuda.nvtx
tunable = Names(torch.cuda.tunable)


def _answers(module, cases):
    return {f"{module}.{name}": case for name, case in cases.items()}


def _custom(decorator):
    """A function of autograd's own that goes through one of amp's decorators."""

    class Double(torch.autograd.Function):
        @staticmethod
        @amp.custom_fwd
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @amp.custom_bwd
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(2, device="cuda", requires_grad=True)
    Double.apply(x).sum().backward()
    return x.grad.tolist()


AMP = _answers("torch.cuda.amp", {
    "GradScaler": (lambda: amp.GradScaler(init_scale=4.0).get_scale(), 4.0),
    "amp_definitely_not_available": (amp.amp_definitely_not_available, False),
    "autocast": (lambda: entered(amp.autocast(), torch.is_autocast_enabled), True),
    "custom_bwd": (lambda: _custom(amp.custom_bwd), [2, 2]),
    "custom_fwd": (lambda: _custom(amp.custom_fwd), [2, 2]),
})


def _four():
    return torch.arange(4.0)


def _lists(answer):
    return [each.tolist() for each in answer]


COMM = _answers("torch.cuda.comm", {
    "broadcast": (lambda: _lists(comm.broadcast(_four(), ["cuda:0"])), [[0, 1, 2, 3]]),
    "broadcast_coalesced": (
        lambda: [_lists(each) for each in comm.broadcast_coalesced([_four()], [0])],
        [[[0, 1, 2, 3]]],
    ),
    "gather": (lambda: comm.gather([_four()[:1], _four()[2:]]).tolist(), [0, 2, 3]),
    "reduce_add": (lambda: comm.reduce_add([_four()] * 3).tolist(), [0, 3, 6, 9]),
    "reduce_add_coalesced": (
        lambda: _lists(comm.reduce_add_coalesced([[_four()]] * 2)),
        [[0, 2, 4, 6]],
    ),
    "scatter": (lambda: _lists(comm.scatter(_four(), [0])), [[0, 1, 2, 3]]),
})

RANGES = _answers("torch.cuda.nvtx", {
    "mark": (lambda: nvtx.mark("here"), None),
    "range": (lambda: entered(nvtx.range("block")), None),
    "range_end": (lambda: nvtx.range_end(nvtx.range_start("apart")), None),
    "range_pop": (lambda: (nvtx.range_push("one"), nvtx.range_pop()), (0, 0)),
    "range_push": (lambda: (nvtx.range_push("one"), nvtx.range_pop()), (0, 0)),
    "range_start": (lambda: nvtx.range_start("apart") < nvtx.range_start("apart"), True),
}) | _answers("torch.cuda.profiler", {
    "profile": (lambda: entered(torch.cuda.profiler.profile()), None),
    "start": (torch.cuda.profiler.start, None),
    "stop": (torch.cuda.profiler.stop, None),
})


def _sparse(name, dtype):
    values = torch.ones(1, dtype=dtype)
    return getattr(torch.cuda.sparse, name)(torch.tensor([[0], [1]]), values, (2, 2))


SPARSE = _answers("torch.cuda.sparse", {
    prefix + "Tensor": (
        lambda name=prefix + "Tensor", dtype=dtype: _sparse(name, dtype),
        lambda made, dtype=dtype: made.is_sparse and made.dtype == dtype and on_host(made),
    )
    for prefix, dtype in DTYPES.items()
    if prefix != "Bool" and not prefix.startswith("Complex")
})


def _attention():
    one = torch.ones(1, 1, 2, 8)
    return backend.SDPAParams(one, one, one, None, 0.0, False, False)


def _attribute(holder, name, value):
    return kept(lambda: getattr(holder, name), lambda new: setattr(holder, name, new), value)


def _switched(read, write):
    return kept(read, write, not read()) is not read()


BACKEND = _answers("torch.backends.cuda", {
    "SDPAParams": (lambda: _attention().dropout, 0.0),
    "allow_fp16_bf16_reduction_math_sdp": (
        lambda: _switched(
            backend.fp16_bf16_reduction_math_sdp_allowed,
            backend.allow_fp16_bf16_reduction_math_sdp,
        ),
        True,
    ),
    "blas_workspace_size": (backend.blas_workspace_size, lambda size: size > 0),
    "can_use_cudnn_attention": (lambda: backend.can_use_cudnn_attention(_attention()), False),
    "can_use_efficient_attention": (
        lambda: backend.can_use_efficient_attention(_attention()),
        False,
    ),
    "can_use_flash_attention": (lambda: backend.can_use_flash_attention(_attention()), False),
    "cuBLASModule": (lambda: _attribute(backend.cuBLASModule(), "allow_tf32", True), True),
    "cuFFTPlanCache": (lambda: _attribute(backend.cuFFTPlanCache(0), "max_size", 7), 7),
    "cuFFTPlanCacheAttrContextProp": (
        lambda: backend.cuFFTPlanCacheAttrContextProp(lambda index: index, None).__get__(
            backend.cuFFTPlanCache(3), None
        ),
        3,
    ),
    "cuFFTPlanCacheManager": (lambda: backend.cuFFTPlanCacheManager()[0].clear(), None),
    "cublas_workspace_size": (
        lambda: kept(backend.cublas_workspace_size, backend.cublas_workspace_size, 1 << 16),
        1 << 16,
    ),
    "cublaslt_workspace_size": (
        lambda: kept(backend.cublaslt_workspace_size, backend.cublaslt_workspace_size, 1 << 16),
        1 << 16,
    ),
    "cudnn_sdp_enabled": (backend.cudnn_sdp_enabled, bool),
    "cufft_plan_cache": (lambda: backend.cufft_plan_cache.size, 0),
    "enable_cudnn_sdp": (
        lambda: _switched(backend.cudnn_sdp_enabled, backend.enable_cudnn_sdp),
        True,
    ),
    "enable_flash_sdp": (
        lambda: _switched(backend.flash_sdp_enabled, backend.enable_flash_sdp),
        True,
    ),
    "enable_math_sdp": (lambda: _switched(backend.math_sdp_enabled, backend.enable_math_sdp), True),
    "enable_mem_efficient_sdp": (
        lambda: _switched(backend.mem_efficient_sdp_enabled, backend.enable_mem_efficient_sdp),
        True,
    ),
    "flash_sdp_enabled": (backend.flash_sdp_enabled, bool),
    "fp16_bf16_reduction_math_sdp_allowed": (backend.fp16_bf16_reduction_math_sdp_allowed, bool),
    "is_built": (backend.is_built, True),
    "is_ck_sdpa_available": (backend.is_ck_sdpa_available, False),
    "is_flash_attention_available": (backend.is_flash_attention_available, bool),
    "math_sdp_enabled": (backend.math_sdp_enabled, bool),
    "matmul": (lambda: _attribute(backend.matmul, "allow_fp16_accumulation", True), True),
    "mem_efficient_sdp_enabled": (backend.mem_efficient_sdp_enabled, bool),
    "preferred_blas_library": (
        lambda: kept(backend.preferred_blas_library, backend.preferred_blas_library, "cublaslt"),
        torch._C._BlasBackend.Cublaslt,
    ),
    "preferred_linalg_library": (
        lambda: kept(
            backend.preferred_linalg_library, backend.preferred_linalg_library, "cusolver"
        ),
        torch._C._LinalgBackend.Cusolver,
    ),
    "preferred_rocm_fa_library": (backend.preferred_rocm_fa_library, torch._C._ROCmFABackend),
    "sdp_kernel": (
        lambda: entered(backend.sdp_kernel(enable_flash=False), backend.flash_sdp_enabled),
        False,
    ),
}) | _answers("torch.backends.cusparselt", {
    "get_max_alg_id": (torch.backends.cusparselt.get_max_alg_id, None),
    "is_available": (torch.backends.cusparselt.is_available, False),
    "version": (torch.backends.cusparselt.version, None),
})

CUDNN = _answers("torch.backends.cudnn", {
    "CUDNN_TENSOR_DTYPES": (lambda: torch.float in cudnn.CUDNN_TENSOR_DTYPES, True),
    "CudnnModule": (lambda: isinstance(cudnn, cudnn.CudnnModule), True),
    "allow_tf32": (lambda: _attribute(cudnn, "allow_tf32", False), False),
    "benchmark": (lambda: _attribute(cudnn, "benchmark", True), True),
    "benchmark_limit": (lambda: _attribute(cudnn, "benchmark_limit", 3), 3),
    "conv": (lambda: cudnn.conv.fp32_precision, str),
    "depthwise_kernel": (lambda: cudnn.depthwise_kernel, str),
    "deterministic": (lambda: _attribute(cudnn, "deterministic", True), True),
    "enabled": (lambda: _attribute(cudnn, "enabled", False), False),
    "flags": (
        lambda: entered(cudnn.flags(benchmark_limit=4), lambda: cudnn.benchmark_limit),
        4,
    ),
    "fp32_precision": (lambda: cudnn.fp32_precision, str),
    # It is there, and takes no tensor of the host's.
    "rnn": (lambda: cudnn.rnn.get_cudnn_mode("LSTM"), 2),
    "is_acceptable": (lambda: cudnn.is_acceptable(torch.ones(1, device="cuda")), False),
    "is_available": (cudnn.is_available, True),
    "set_flags": (lambda: cudnn.set_flags()[2], 10),
    "version": (cudnn.version, lambda version: 90_000 <= version < 91_100),
}) | _answers("torch.backends.cudnn.rnn", {
    "ContextProp": (lambda: cudnn.rnn.ContextProp(lambda: 1, None).__get__(None, None), 1),
    "CudnnRNNModule": (lambda: isinstance(cudnn.rnn, cudnn.rnn.CudnnRNNModule), True),
    "Unserializable": (lambda: cudnn.rnn.Unserializable(1).get(), 1),
    "fp32_precision": (lambda: cudnn.rnn.fp32_precision, str),
    "get_cudnn_mode": (lambda: cudnn.rnn.get_cudnn_mode("LSTM"), 2),
    "init_dropout_state": (lambda: cudnn.rnn.init_dropout_state(0.0, True, 0, {}), None),
})

ACCELERATOR = _answers("torch.accelerator", {
    "current_accelerator": (accelerator.current_accelerator, torch.device("cuda")),
    "current_device_idx": (accelerator.current_device_idx, 0),
    "current_device_index": (accelerator.current_device_index, 0),
    "current_stream": (lambda: accelerator.current_stream().stream_id, 0),
    "device_count": (accelerator.device_count, 1),
    "device_index": (
        lambda: entered(accelerator.device_index(0), accelerator.current_device_index),
        0,
    ),
    "empty_cache": (accelerator.empty_cache, None),
    "empty_host_cache": (accelerator.empty_host_cache, None),
    "get_device_capability": (
        lambda: torch.float64 in accelerator.get_device_capability()["supported_dtypes"],
        True,
    ),
    "get_memory_info": (accelerator.get_memory_info, lambda answer: 0 < answer[0] <= answer[1]),
    "is_available": (accelerator.is_available, True),
    "max_memory_allocated": (
        lambda: accelerator.max_memory_allocated() - accelerator.memory_allocated(),
        not_negative,
    ),
    "max_memory_reserved": (
        lambda: accelerator.max_memory_reserved() - accelerator.memory_reserved(),
        not_negative,
    ),
    "memory_allocated": (lambda: grown(accelerator.memory_allocated), about_4_mib),
    "memory_reserved": (lambda: grown(accelerator.memory_reserved), about_4_mib),
    "memory_stats": (
        lambda: grown(lambda: accelerator.memory_stats()["active_bytes.all.current"]),
        about_4_mib,
    ),
    "reset_accumulated_memory_stats": (
        lambda: allocated(accelerator.reset_accumulated_memory_stats),
        about_4_mib,
    ),
    "reset_peak_memory_stats": (
        lambda: reset_takes_the_peak_back(
            accelerator.reset_peak_memory_stats,
            accelerator.max_memory_allocated,
            accelerator.memory_allocated,
        ),
        True,
    ),
    "set_device_idx": (lambda: raised(accelerator.set_device_idx, 1), torch.AcceleratorError),
    "set_device_index": (lambda: raised(accelerator.set_device_index, 1), torch.AcceleratorError),
    "set_stream": (
        lambda: kept(
            accelerator.current_stream, accelerator.set_stream, torch.Stream("cuda", priority=-1)
        ).stream_id
        != 0,
        True,
    ),
    "synchronize": (accelerator.synchronize, None),
})

ANSWERS = AMP | COMM | RANGES | SPARSE | BACKEND | CUDNN | ACCELERATOR | {
    "torch.cuda.nccl.is_available": (lambda: nccl.is_available([torch.ones(1)]), False),
    "torch.cuda.tunable.is_enabled": (tunable.is_enabled, False),
    "torch.cuda.tunable.record_untuned_is_enabled": (tunable.record_untuned_is_enabled, False),
    "torch.cuda.tunable.tuning_is_enabled": (tunable.tuning_is_enabled, False),
    "torch.cuda.tunable.wildcard_fallback_is_enabled": (
        lambda: tunable.wildcard_fallback_is_enabled(),
        False,
    ),
    "torch.accelerator.random.get_rng_state": (
        lambda: accelerator.random.get_rng_state().dtype,
        torch.uint8,
    ),
    "torch.accelerator.random.get_rng_state_all": (
        lambda: len(accelerator.random.get_rng_state_all()),
        1,
    ),
    "torch.accelerator.random.initial_seed": (lambda: accelerator.random.initial_seed(), int),
}


def _file_for_gds():
    """On a file system that has O_DIRECT: cuFile's own files ask for it."""
    for folder in (os.getcwd(), tempfile.gettempdir()):
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            try:
                return torch.cuda.gds.GdsFile(file.name, os.O_RDWR)
            except OSError:
                continue
    raise OSError("no folder with O_DIRECT")


def _jitted(make, **options):
    source = "template <typename T> T twice(T x) { return x + x; }"
    return make(source, **options)(torch.ones(1))


@functools.cache
def _storage():
    return torch.ones(1, device="cuda").untyped_storage()


def _new_shared():
    shared = _storage()._share_cuda_() if _storage().is_cuda else (0, b"")
    return torch.UntypedStorage._new_shared_cuda(*shared)


# Refused where requests are redirected, answered on simulated CUDA; as ANSWERS.
REFUSED_WHERE_REDIRECTED = {
    "torch.UntypedStorage._new_shared_cuda": (_new_shared, torch.UntypedStorage),
    "torch.UntypedStorage._share_cuda_": (
        lambda: _storage()._share_cuda_(),
        lambda answer: len(answer) == 8,
    ),
}

_ones = [torch.ones(1)]
REFUSED = {
    "torch.accelerator.Graph": lambda: accelerator.Graph(),
    "torch.cuda.gds.GdsFile": _file_for_gds,
    "torch.cuda.gds.gds_deregister_buffer": lambda: torch.cuda.gds.gds_deregister_buffer(
        torch.ones(1).untyped_storage()
    ),
    "torch.cuda.gds.gds_register_buffer": lambda: torch.cuda.gds.gds_register_buffer(
        torch.ones(1).untyped_storage()
    ),
    "torch.cuda.jiterator": lambda: _jitted(torch.cuda.jiterator._create_jit_fn),
    "torch.cuda.nccl.all_gather": lambda: nccl.all_gather(_ones, _ones),
    "torch.cuda.nccl.all_reduce": lambda: nccl.all_reduce(_ones),
    "torch.cuda.nccl.broadcast": lambda: nccl.broadcast(_ones),
    "torch.cuda.nccl.init_rank": lambda: nccl.init_rank(1, b"", 0),
    "torch.cuda.nccl.reduce": lambda: nccl.reduce(_ones),
    "torch.cuda.nccl.reduce_scatter": lambda: nccl.reduce_scatter(_ones, _ones),
    "torch.cuda.nccl.unique_id": lambda: nccl.unique_id(),
    "torch.cuda.tunable.dynamic_dims_mask": lambda: entered(tunable.dynamic_dims_mask([0])),
    "torch.cuda.tunable.enable": lambda: tunable.enable(),
    "torch.cuda.tunable.get_cublaslt_requested_algo_count": (
        lambda: tunable.get_cublaslt_requested_algo_count()
    ),
    "torch.cuda.tunable.get_filename": lambda: tunable.get_filename(),
    "torch.cuda.tunable.get_max_tuning_duration": lambda: tunable.get_max_tuning_duration(),
    "torch.cuda.tunable.get_max_tuning_iterations": lambda: tunable.get_max_tuning_iterations(),
    "torch.cuda.tunable.get_results": lambda: tunable.get_results(),
    "torch.cuda.tunable.get_rotating_buffer_size": lambda: tunable.get_rotating_buffer_size(),
    "torch.cuda.tunable.get_validators": lambda: tunable.get_validators(),
    "torch.cuda.tunable.mgpu_tune_gemm_in_file": lambda: tunable.mgpu_tune_gemm_in_file("x", 1),
    "torch.cuda.tunable.read_file": lambda: tunable.read_file("x"),
    "torch.cuda.tunable.record_untuned_enable": lambda: tunable.record_untuned_enable(),
    "torch.cuda.tunable.set_cublaslt_requested_algo_count": (
        lambda: tunable.set_cublaslt_requested_algo_count(1)
    ),
    "torch.cuda.tunable.set_filename": lambda: tunable.set_filename("x"),
    "torch.cuda.tunable.set_max_tuning_duration": lambda: tunable.set_max_tuning_duration(1),
    "torch.cuda.tunable.set_max_tuning_iterations": lambda: tunable.set_max_tuning_iterations(1),
    "torch.cuda.tunable.set_numerical_check_tolerances": (
        lambda: tunable.set_numerical_check_tolerances(True)
    ),
    "torch.cuda.tunable.set_rotating_buffer_size": lambda: tunable.set_rotating_buffer_size(1),
    "torch.cuda.tunable.tune_gemm_in_file": lambda: tunable.tune_gemm_in_file("x"),
    "torch.cuda.tunable.tuning_enable": lambda: tunable.tuning_enable(),
    "torch.cuda.tunable.wildcard_fallback_enable": lambda: tunable.wildcard_fallback_enable(),
    "torch.cuda.tunable.write_file": lambda: tunable.write_file("x"),
    "torch.cuda.tunable.write_file_on_exit": lambda: tunable.write_file_on_exit(True),
}

# For each version that the tables were checked with: the names that it lacks, by how they begin.
_OLDER = (
    "torch.backends.cudnn.rnn",
    "torch.cuda.green_contexts.SUPPORTED",
    "torch.cuda.profiler.init",
)
_NEWER = (
    "torch.accelerator.random.",
    "torch.cuda.export_",
    "torch.cuda.gds.is_available",
    "torch.cuda.graph_annotations.",
    "torch.cuda.graphs.register_graph_",
    "torch.cuda.tunable.wildcard_fallback_",
)
CHECKED = {"2.13": _OLDER + _NEWER, "2.15": _OLDER}
