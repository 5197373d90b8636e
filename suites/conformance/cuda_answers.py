"""Every public name of torch.cuda: how it is called and what it must answer. Data for
tests/test_names.py, like other_answers.py.

name → (call, expected). `expected` is the answer's type, a test of the answer, or the answer.
"""

import os
import tempfile

import torch

from asking import (
    Names,
    about_4_mib,
    allocated,
    at_least,
    entered,
    fresh_seed,
    grown,
    kept,
    not_negative,
    on_host,
    pinned,
    raised,
    reproduced,
    reset_takes_the_peak_back,
    seeded,
)

DTYPES = {
    "BFloat16": torch.bfloat16,
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "ComplexDouble": torch.complex128,
    "ComplexFloat": torch.complex64,
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Short": torch.int16,
}

cuda = Names(torch.cuda)


def _of_type(name, dtype):
    return lambda: getattr(cuda, name)(2), lambda made: made.dtype == dtype and on_host(made)


def _event_handle():
    return cuda.Event(interprocess=True).ipc_handle()


def _own_stream():
    return cuda.Stream().cuda_stream


LEGACY = {
    prefix + kind: _of_type(prefix + kind, dtype)
    for prefix, dtype in DTYPES.items()
    for kind in ("Storage", "Tensor")
    if kind == "Storage" or not prefix.startswith("Complex")
}

ONE_DEVICE = {
    "can_device_access_peer": (lambda: cuda.can_device_access_peer(0, 0), bool),
    "current_device": (cuda.current_device, 0),
    "device": (lambda: entered(cuda.device(0)), None),
    "device_count": (cuda.device_count, 1),
    "device_of": (lambda: entered(cuda.device_of(torch.ones(1))), None),
    "get_arch_list": (cuda.get_arch_list, ["sm_70"]),
    "get_device_capability": (cuda.get_device_capability, (7, 0)),
    "get_device_name": (cuda.get_device_name, lambda name: name.endswith(" (as CUDA)")),
    "get_device_properties": (
        cuda.get_device_properties,
        lambda found: type(found) is torch._C._CudaDeviceProperties and found.total_memory > 0,
    ),
    "get_gencode_flags": (cuda.get_gencode_flags, "-gencode compute=compute_70,code=sm_70"),
    "has_half": (lambda: cuda.has_half, True),
    "has_magma": (lambda: cuda.has_magma, False),
    "init": (cuda.init, None),
    "ipc_collect": (cuda.ipc_collect, None),
    "is_available": (cuda.is_available, True),
    "is_bf16_supported": (cuda.is_bf16_supported, True),
    "is_current_stream_capturing": (cuda.is_current_stream_capturing, False),
    "is_initialized": (cuda.is_initialized, True),
    "is_tf32_supported": (cuda.is_tf32_supported, False),
    "set_device": (lambda: cuda.set_device("cuda:0"), None),
    "synchronize": (cuda.synchronize, None),
}

ERRORS = {
    "CudaError": (lambda: str(cuda.CudaError(2)), "CUDA error 2 (2)"),
    "DeferredCudaCallError": (lambda: issubclass(cuda.DeferredCudaCallError, Exception), True),
    "check_error": (lambda: raised(cuda.check_error, 2), cuda.CudaError),
    "cudaStatus": (lambda: cuda.cudaStatus.SUCCESS, 0),
    "cudart": (lambda: cuda.cudart().cudaProfilerStart(), 0),
    "get_sync_debug_mode": (cuda.get_sync_debug_mode, 0),
    "set_sync_debug_mode": (
        lambda: kept(cuda.get_sync_debug_mode, cuda.set_sync_debug_mode, "warn"),
        1,
    ),
}

STREAMS = {
    "Event": (lambda: cuda.Event().query(), True),
    "Event.from_ipc_handle": (
        lambda: cuda.Event.from_ipc_handle(0, _event_handle()).query(),
        True,
    ),
    "Event.ipc_handle": (lambda: len(_event_handle()), 64),
    "ExternalStream": (lambda: cuda.ExternalStream(_own_stream()).query(), True),
    "Stream": (lambda: cuda.Stream().device, torch.device("cuda", 0)),
    "StreamContext": (lambda: entered(cuda.StreamContext(None)), None),
    "current_stream": (lambda: cuda.current_stream().cuda_stream, 0),
    "default_stream": (lambda: cuda.default_stream().cuda_stream, 0),
    "get_stream_from_external": (
        lambda: cuda.get_stream_from_external(_own_stream()).device,
        torch.device("cuda", 0),
    ),
    "set_stream": (
        lambda: kept(cuda.current_stream, cuda.set_stream, cuda.Stream(priority=-1)).priority,
        -1,
    ),
    "stream": (
        lambda: entered(cuda.stream(cuda.Stream()), cuda.current_stream) != cuda.default_stream(),
        True,
    ),
}

RANDOM = {
    "default_generators": (
        lambda: [generator.initial_seed() for generator in cuda.default_generators],
        lambda seeds: seeds == [cuda.initial_seed()],
    ),
    "get_rng_state": (lambda: cuda.get_rng_state().dtype, torch.uint8),
    "get_rng_state_all": (lambda: len(cuda.get_rng_state_all()), 1),
    "initial_seed": (cuda.initial_seed, int),
    "manual_seed": (lambda: seeded(cuda.manual_seed, 5), 5),
    "manual_seed_all": (lambda: seeded(cuda.manual_seed_all, 6), 6),
    "seed": (lambda: fresh_seed(cuda.seed), True),
    "seed_all": (lambda: fresh_seed(cuda.seed_all), True),
    "set_rng_state": (lambda: reproduced(cuda.get_rng_state, cuda.set_rng_state), True),
    "set_rng_state_all": (
        lambda: reproduced(cuda.get_rng_state_all, cuda.set_rng_state_all),
        True,
    ),
}


def _allocator_enabled():
    return torch._C._cuda_cudaCachingAllocator_is_enabled()


_peak = (cuda.max_memory_allocated, cuda.memory_allocated)
MEMORY = {
    "caching_allocator_disabled": (
        lambda: entered(cuda.caching_allocator_disabled(), _allocator_enabled),
        False,
    ),
    "caching_allocator_enable": (
        lambda: kept(_allocator_enabled, cuda.caching_allocator_enable, False),
        False,
    ),
    "empty_cache": (cuda.empty_cache, None),
    "get_allocator_backend": (cuda.get_allocator_backend, "native"),
    "get_per_process_memory_fraction": (cuda.get_per_process_memory_fraction, 1.0),
    "host_memory_stats": (lambda: pinned("active_bytes.current"), 4 << 20),
    "host_memory_stats_as_nested_dict": (
        lambda: cuda.host_memory_stats_as_nested_dict()["active_bytes"]["current"],
        not_negative,
    ),
    "max_memory_allocated": (
        lambda: cuda.max_memory_allocated() - cuda.memory_allocated(),
        not_negative,
    ),
    "max_memory_cached": (lambda: cuda.max_memory_cached() - cuda.memory_cached(), not_negative),
    "max_memory_reserved": (
        lambda: cuda.max_memory_reserved() - cuda.memory_reserved(),
        not_negative,
    ),
    "mem_get_info": (cuda.mem_get_info, lambda answer: 0 < answer[0] <= answer[1]),
    "memory_allocated": (lambda: grown(cuda.memory_allocated), about_4_mib),
    "memory_cached": (lambda: grown(cuda.memory_cached), about_4_mib),
    "memory_reserved": (lambda: grown(cuda.memory_reserved), about_4_mib),
    "memory_snapshot": (cuda.memory_snapshot, []),
    "memory_stats": (
        lambda: grown(lambda: cuda.memory_stats()["active_bytes.all.current"]),
        about_4_mib,
    ),
    "memory_stats_as_nested_dict": (
        lambda: grown(lambda: cuda.memory_stats_as_nested_dict()["allocation"]["all"]["current"]),
        1,
    ),
    "memory_summary": (cuda.memory_summary, lambda text: "PyTorch CUDA memory summary" in text),
    "reset_accumulated_host_memory_stats": (
        lambda: pinned("num_host_alloc", cuda.reset_accumulated_host_memory_stats),
        1,
    ),
    "reset_accumulated_memory_stats": (
        lambda: allocated(cuda.reset_accumulated_memory_stats),
        about_4_mib,
    ),
    "reset_max_memory_allocated": (
        lambda: reset_takes_the_peak_back(cuda.reset_max_memory_allocated, *_peak),
        True,
    ),
    "reset_max_memory_cached": (
        lambda: reset_takes_the_peak_back(cuda.reset_max_memory_cached, *_peak),
        True,
    ),
    "reset_peak_host_memory_stats": (
        lambda: pinned("active_bytes.peak", cuda.reset_peak_host_memory_stats),
        4 << 20,
    ),
    "reset_peak_memory_stats": (
        lambda: reset_takes_the_peak_back(cuda.reset_peak_memory_stats, *_peak),
        True,
    ),
    "set_per_process_memory_fraction": (
        lambda: kept(
            cuda.get_per_process_memory_fraction, cuda.set_per_process_memory_fraction, 0.5
        ),
        0.5,
    ),
}

MANAGEMENT = {
    "device_memory_used": (
        cuda.device_memory_used,
        lambda used: 0 < used <= cuda.get_device_properties(0).total_memory,
    ),
    "list_gpu_processes": (cuda.list_gpu_processes, lambda text: str(os.getpid()) in text),
    "utilization": (cuda.utilization, lambda percent: 0 <= percent <= 100),
}

# Registrations for graphs are kept, though no graph can be captured. The rest are names of other
# submodules.
GRAPHS = {
    "green_contexts.SUPPORTED": (lambda: cuda.green_contexts.SUPPORTED, bool),
    "export_dot": (lambda: callable(cuda.export_dot("graph.dot")), True),
    "export_graph_data": (lambda: callable(cuda.export_graph_data("graph.pickle")), True),
    # Dropped by CUDA 12: torch itself says so.
    "profiler.init": (lambda: raised(cuda.profiler.init, "file"), AssertionError),
    "gds.is_available": (lambda: cuda.gds.is_available(), False),
    "graph_annotations.clear_kernel_annotations": (
        lambda: cuda.graph_annotations.clear_kernel_annotations(),
        None,
    ),
    "graph_annotations.dump_kernel_py_stacks": (
        lambda: cuda.graph_annotations.dump_kernel_py_stacks(tempfile.mkstemp()[1]),
        None,
    ),
    "graph_annotations.get_kernel_annotations": (
        lambda: len(cuda.graph_annotations.get_kernel_annotations()),
        0,
    ),
    "graph_annotations.get_kernel_py_stacks": (
        lambda: len(cuda.graph_annotations.get_kernel_py_stacks()),
        0,
    ),
    "graph_annotations.is_available": (lambda: cuda.graph_annotations.is_available(), False),
    "graph_annotations.mark_kernels": (
        lambda: entered(cuda.graph_annotations.mark_kernels("here")),
        lambda _: True,
    ),
    **{
        f"graphs.register_graph_{event}_hook": (
            lambda name=f"register_graph_{event}_hook": getattr(cuda.graphs, name)(print).remove(),
            None,
        )
        for event in (
            "capture_end",
            "capture_start",
            "destroy",
            "instantiate",
            "replay_end",
            "replay_start",
        )
    },
}

ANSWERS = {
    "torch.cuda." + name: case
    for table in (LEGACY, ONE_DEVICE, ERRORS, STREAMS, RANDOM, MEMORY, MANAGEMENT, GRAPHS)
    for name, case in table.items()
}

# Answered where the host has a figure, else refused.
WHERE_THE_HOST_SAYS = {
    "torch.cuda.nccl.version": (lambda: cuda.nccl.version(), tuple),
    "torch.cuda.clock_rate": (cuda.clock_rate, at_least(1)),
    "torch.cuda.temperature": (cuda.temperature, at_least(1)),
}

# name → call; the symbol is the name.
REFUSED = {
    "torch.cuda." + name: call
    for name, call in {
        "CUDAGraph": lambda: cuda.CUDAGraph(),
        "CUDAPluggableAllocator": lambda: cuda.CUDAPluggableAllocator("no.so", "take", "give"),
        "GreenContext": lambda: cuda.GreenContext(),
        "GreenContext.create": lambda: cuda.GreenContext.create(num_sms=1),
        "MemPool": lambda: cuda.MemPool(),
        "_compile_kernel": lambda: cuda._compile_kernel("", "name"),
        "caching_allocator_alloc": lambda: cuda.caching_allocator_alloc(1024),
        "caching_allocator_delete": lambda: cuda.caching_allocator_delete(1024),
        "change_current_allocator": lambda: cuda.change_current_allocator(None),
        "cudart().cudaHostRegister": lambda: cuda.cudart().cudaHostRegister(0, 0, 0),
        "cudart().cudaHostUnregister": lambda: cuda.cudart().cudaHostUnregister(0),
        "cudart().cudaStreamCreate": lambda: cuda.cudart().cudaStreamCreate(0),
        "cudart().cudaStreamDestroy": lambda: cuda.cudart().cudaStreamDestroy(0),
        "current_blas_handle": lambda: cuda.current_blas_handle(),
        "current_solver_handle": lambda: cuda.current_solver_handle(),
        "graph": lambda: cuda.graph(None),
        "graph_pool_handle": lambda: cuda.graph_pool_handle(),
        "make_graphed_callables": lambda: cuda.make_graphed_callables(lambda x: x, ()),
        "green_contexts.SMPartition": lambda: cuda.green_contexts.SMPartition(),
        "green_contexts.get_num_locality_domains": (
            lambda: cuda.green_contexts.get_num_locality_domains()
        ),
        "green_contexts.is_localization_supported": (
            lambda: cuda.green_contexts.is_localization_supported()
        ),
        "memory_usage": lambda: cuda.memory_usage(),
        "power_draw": lambda: cuda.power_draw(),
        "use_mem_pool": lambda: entered(cuda.use_mem_pool(None)),
    }.items()
}
