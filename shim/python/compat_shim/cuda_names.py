"""The names that torch._C has in a CUDA build and lacks in a CPU build, each with its answer.

Data first: NOTHING, ANSWERS and REFUSED are tables of names; what needs code is in `_actions`.
Every name gets a function object of its own, since dynamo registers handlers by identity.
"""

import os
import types

from . import device, streams

# Called for an effect that the host has anyway, or has no use for.
NOTHING = (
    "_cuda_attach_out_of_memory_observer",
    "_cuda_clearCublasWorkspaces",
    "_cuda_cudaCachingAllocator_enable",
    "_cuda_emptyCache",
    "_cuda_ipc_collect",
    "_cuda_record_memory_history",
    "_cuda_record_memory_history_legacy",
    "_cuda_resetAccumulatedHostMemoryStats",
    "_cuda_resetAccumulatedMemoryStats",
    "_cuda_resetCublasLtWorkspaceSize",
    "_cuda_resetCublasWorkspaceSize",
    "_cuda_resetPeakHostMemoryStats",
    "_cuda_set_sync_debug_mode",
    "_cuda_setCublasLtWorkspaceSize",
    "_cuda_setCublasWorkspaceSize",
    "_cuda_setMemoryFraction",
    "_cuda_setMemoryMetadata",
    "_cuda_set_cudnn_benchmark_limit",
    "_cuda_sleep",
    "_cuda_synchronize",
    "_cudnn_set_conv_benchmark_empty_cache",
    "_host_emptyCache",
)

# Sizes in bytes. 12060 is CUDA 12.6.
ANSWERS = {
    "_cuda_cudaCachingAllocator_is_enabled": True,
    "_cuda_getAllocatorBackend": "native",
    "_cuda_getArchFlags": "sm_70",
    "_cuda_getCompiledVersion": 12060,
    "_cuda_getCublasLtWorkspaceSize": 0,
    "_cuda_getCublasWorkspaceSize": 0,
    "_cuda_getCurrentRawStream": 0,
    "_cuda_getDevice": 0,
    "_cuda_getMemoryFraction": 1.0,
    "_cuda_getMemoryMetadata": "",
    "_cuda_get_conv_benchmark_empty_cache": False,
    "_cuda_get_cudnn_benchmark_limit": 10,
    "_cuda_get_sync_debug_mode": 0,
    "_cuda_hasPrimaryContext": True,
    "_cuda_isCurrentStreamCapturing": False,
    "_cuda_isHistoryEnabled": False,
    "_cuda_isInBadFork": False,
    "_cuda_record_untuned_is_enabled": False,
    "_cuda_tunableop_is_enabled": False,
    "_cuda_tunableop_tuning_is_enabled": False,
}

# What only a CUDA device can do: why not, and what does the same here.
_RAW = "there is no CUDA memory or handle to point to"
_ALLOCATOR = "tensors are in host memory, which torch's CPU allocator owns"
_ONE_DEVICE = "one device is shown"
_TUNING = "CPU kernels are not chosen by TunableOp"
_GRAPH = "CPU ops run as they are called and cannot be captured; call the function itself"
REFUSED = {
    "_broadcast": _ONE_DEVICE,
    "_broadcast_coalesced": _ONE_DEVICE,
    "_broadcast_out": _ONE_DEVICE,
    "_cuda_allocationTraceback": _ALLOCATOR,
    "_cuda_beginAllocateCurrentStreamToPool": _ALLOCATOR,
    "_cuda_beginAllocateCurrentThreadToPool": _ALLOCATOR,
    "_cuda_beginAllocateToPool": _ALLOCATOR,
    "_cuda_changeCurrentAllocator": _ALLOCATOR,
    "_cuda_checkPoolLiveAllocations": _ALLOCATOR,
    "_cuda_cudaCachingAllocator_raw_alloc": _RAW,
    "_cuda_cudaCachingAllocator_raw_delete": _RAW,
    "_cuda_cudaHostAllocator": _RAW,
    "_cuda_customAllocator": _ALLOCATOR,
    "_cuda_endAllocateToPool": _ALLOCATOR,
    "_cuda_getAllocator": _ALLOCATOR,
    "_cuda_getCheckpointState": _ALLOCATOR,
    "_cuda_getCurrentBlasHandle": _RAW,
    "_cuda_getCurrentSolverHandle": _RAW,
    "_cuda_getStreamFromExternal": _RAW,
    "_cuda_jiterator_compile_and_launch_kernel": "CUDA source cannot be compiled for the host; "
    "write the function with torch ops",
    "_cuda_record_untuned_enable": _TUNING,
    "_cuda_releasePool": _ALLOCATOR,
    "_cuda_setCheckpointPoolState": _ALLOCATOR,
    "_cuda_tunableop_enable": _TUNING,
    "_cuda_tunableop_get_filename": _TUNING,
    "_cuda_tunableop_get_max_tuning_duration": _TUNING,
    "_cuda_tunableop_get_max_tuning_iterations": _TUNING,
    "_cuda_tunableop_get_results": _TUNING,
    "_cuda_tunableop_get_rotating_buffer_size": _TUNING,
    "_cuda_tunableop_get_validators": _TUNING,
    "_cuda_tunableop_read_file": _TUNING,
    "_cuda_tunableop_set_filename": _TUNING,
    "_cuda_tunableop_set_max_tuning_duration": _TUNING,
    "_cuda_tunableop_set_max_tuning_iterations": _TUNING,
    "_cuda_tunableop_set_numerical_check_tolerances": _TUNING,
    "_cuda_tunableop_set_rotating_buffer_size": _TUNING,
    "_cuda_tunableop_tuning_enable": _TUNING,
    "_gather": _ONE_DEVICE,
    "_gather_out": _ONE_DEVICE,
    "_graph_pool_handle": _GRAPH,
    "_scatter": _ONE_DEVICE,
    "_scatter_out": _ONE_DEVICE,
    # Inductor's CUDA graph trees import these; without CUDA graphs nothing calls them.
    "_construct_CUDA_Tensor_From_Storage_And_Metadata": _GRAPH,
    "_construct_storage_from_data_pointer": _GRAPH,
    "_free_And_Remove_DeleterFn": _GRAPH,
    "_has_Standard_Deleter": _GRAPH,
    "_map_Storage_Refs": _GRAPH,
    "_set_storage_access_error_msg": _GRAPH,
    "_set_storage_data_ptr_access_error_msg": _GRAPH,
    "_storage_Use_Count": _GRAPH,
    "_tensors_data_ptrs_at_indices_equal": _GRAPH,
    # Static launchers of compiled CUDA kernels.
    "_StaticCudaLauncher": _RAW,
}
REFUSED_CLASSES = {
    "_CUDAGraph": _GRAPH,
    "_CUDAGreenContext": "the host's cores are not partitioned by CUDA",
    "_MemPool": _ALLOCATOR,
    "_cuda_CUDAAllocator": _ALLOCATOR,
    "_cuda_CUDAAllocator_AllocatorState": _ALLOCATOR,
}

# What torch's modules bind as they are imported, for a torch that came before us:
# (module, its name, torch._C's name), and the modules whose classes have bases from torch._C.
BOUND_AT_IMPORT = (
    ("torch.cuda", "_CudaDeviceProperties", "_CudaDeviceProperties"),
    ("torch.cuda", "_cudart", "_cudart"),
    ("torch.cuda", "_exchange_device", "_cuda_exchangeDevice"),
    ("torch.cuda", "_is_in_bad_fork", "_cuda_isInBadFork"),
    ("torch.cuda", "_maybe_exchange_device", "_cuda_maybeExchangeDevice"),
    ("torch.cuda.nvtx", "_nvtx", "_nvtx"),
)
BUILT_AT_IMPORT = ("torch.cuda.streams", "torch.cuda.graphs")


def fill(native, library):
    """Give `native`, which is torch._C, every name of the tables."""
    names = {name: _answer(name, None) for name in NOTHING}
    names.update((name, _answer(name, value)) for name, value in ANSWERS.items())
    names.update((name, _refusal(library, name, why)) for name, why in REFUSED.items())
    names.update((name, _refused_class(library, name, why)) for name, why in REFUSED_CLASSES.items())
    names.update(_actions(native, library))
    for name, value in names.items():
        setattr(native, name, value)
    native._has_cuda = True


def _answer(name, value):
    def answer(*args, **kwargs):
        return value

    answer.__name__ = answer.__qualname__ = name
    return answer


def _message(name, why):
    return f"torch._C.{name} has no counterpart on this device: {why} [symbol: {name}]"


def _refusal(library, name, why):
    def refuse(*args, **kwargs):
        library.note("refusal", "torch._C." + name)
        raise NotImplementedError(_message(name, why))

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


def _refused_class(library, name, why):
    refuse = _refusal(library, name, why)

    def __new__(cls, *args, **kwargs):
        refuse()

    return type(name, (), {"__new__": __new__, "__module__": "torch._C"})


def _actions(native, library):
    properties = device.Properties(library)

    def device_count():
        # As the driver does: an empty list, or one that begins with a bad entry, shows none.
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return 0 if visible is not None and not visible.split(",")[0].strip().isdigit() else 1

    def initialize():
        import torch

        if device_count() == 0:
            raise RuntimeError("No CUDA GPUs are available")
        torch.cuda.default_generators = (library.default_generator(),)
        torch.cuda._get_device_properties = native._get_device_properties

    return {
        "_CudaDeviceProperties": device.Properties,
        "_CudaEventBase": streams.event_base(library),
        "_CudaStreamBase": streams.stream_base(native.Stream, library),
        "_cuda_canDeviceAccessPeer": lambda one, other: one == other,
        "_cuda_exchangeDevice": lambda index: 0 if device.check_index(index) else -1,
        "_cuda_getCurrentStream": lambda index: (library.current_stream(), 0, device.CUDA_TYPE),
        "_cuda_getDefaultStream": lambda index: (0, 0, device.CUDA_TYPE),
        "_cuda_getDeviceCount": device_count,
        "_cuda_hostMemoryStats": lambda: {},
        "_cuda_init": initialize,
        "_cuda_maybeExchangeDevice": lambda index: 0 if device.check_index(index) else -1,
        "_cuda_memorySnapshot": lambda *args: {
            "segments": [],
            "device_traces": [],
            "allocator_settings": {},
        },
        "_cuda_memoryStats": lambda index: device.memory_stats(library),
        "_cuda_resetPeakMemoryStats": lambda index: library.reset_peak_memory(),
        "_cuda_setDevice": lambda index: device.check_index(index) and None,
        "_cuda_setStream": lambda stream_id, device_index, device_type: (
            library.exchange_stream(stream_id) and None
        ),
        "_cudart": device.Runtime(library, _refusal),
        "_get_device_properties": lambda index: properties,
        "_nvtx": types.SimpleNamespace(**streams.nvtx_ranges()),
    }
