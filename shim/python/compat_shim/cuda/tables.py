"""The names that torch._C has in a CUDA build and lacks in a CPU build, and what each answers.

Data only; names.py makes the functions. A name stands in one table: DONE, CONSTANTS, SETTINGS,
STUBS, REFUSED, REFUSED_CLASSES, or in names.py's own actions. Sizes are in bytes.
"""

from typing import NamedTuple, Optional

# Nothing to do: work has ended when its call returns, nothing is cached.
DONE = (
    "_cuda_clearCublasWorkspaces",
    "_cuda_emptyCache",
    "_cuda_ipc_collect",
    "_cuda_lock_mutex",
    "_cuda_synchronize",
    "_cuda_unlock_mutex",
    "_cudnn_clear_dropout_state",
    "_host_emptyCache",
)

# These versions fit each other and capability 7.0. CUDA 12.6 is the last whose builds of torch have
# sm_70; cuDNN 9.11 is the first that refuses such devices.
CUDA_VERSION = "12.6"
CUDNN_VERSION = (9, 10, 2)

CONSTANTS = {
    "_cuda_getAllocatorBackend": "native",
    "_cuda_getCompiledVersion": 12060,
    "_cuda_getHipblasltVersion": None,
    "_cuda_memoryMetadataSupported": False,
    "_cuda_isCurrentStreamCapturing": False,
    "_cuda_isHistoryEnabled": False,
    "_cuda_record_untuned_is_enabled": False,
    "_cuda_tunableop_is_enabled": False,
    "_cuda_tunableop_tuning_is_enabled": False,
    "_cuda_tunableop_wildcard_fallback_is_enabled": False,
}

# Names that torch does not have in all versions, and the first that has each.
SINCE = {
    "_cuda_getHipblasltVersion": (2, 11),
    "_cudnn_clear_dropout_state": (2, 14),
    "num_oom_rejections": (2, 12),  # a statistic of memory
}

# Names of these tables that a CPU build has too, and the first version in which it has each.
CPU_BUILD_HAS = {
    "_construct_storage_from_data_pointer": (2, 8),
    "_set_storage_data_ptr_access_error_msg": (2, 14),
    "_storage_Use_Count": (2, 8),
}

# A CPU build's values for names by which a build with CUDA describes itself: constants, and
# functions that would ask the driver.
CPU_BUILD = dict.fromkeys(("_has_cuda", "_has_cudnn", "_has_cusparselt", "_has_magma"), False)
CPU_BUILD_ANSWERS = {
    "_can_use_cudnn_attention": False,
    "_can_use_flash_attention": False,
    "_can_use_mem_efficient_attention": False,
}


class Setting(NamedTuple):
    """A value that is stored and returned. `stub`: on CUDA setting it has an effect that it lacks
    here, so it is recorded under this symbol."""

    get: str
    set: str
    default: object
    reset: Optional[str] = None
    stub: Optional[str] = None


SETTINGS = (
    Setting("_cuda_cudaCachingAllocator_is_enabled", "_cuda_cudaCachingAllocator_enable", True),
    Setting("_cuda_getMemoryMetadata", "_cuda_setMemoryMetadata", ""),
    Setting("_cuda_get_conv_benchmark_empty_cache", "_cudnn_set_conv_benchmark_empty_cache", True),
    Setting("_cuda_get_cudnn_benchmark_limit", "_cuda_set_cudnn_benchmark_limit", 10),
    Setting(
        "_cuda_getCublasWorkspaceSize",
        "_cuda_setCublasWorkspaceSize",
        2 * (4 << 20) + 8 * (16 << 10),
        reset="_cuda_resetCublasWorkspaceSize",
    ),
    Setting(
        "_cuda_getCublasLtWorkspaceSize",
        "_cuda_setCublasLtWorkspaceSize",
        1 << 20,
        reset="_cuda_resetCublasLtWorkspaceSize",
    ),
    Setting(
        "_cuda_getMemoryFraction",
        "_cuda_setMemoryFraction",
        1.0,
        stub="torch.cuda.set_per_process_memory_fraction",
    ),
    Setting(
        "_cuda_get_sync_debug_mode",
        "_cuda_set_sync_debug_mode",
        0,
        stub="torch.cuda.set_sync_debug_mode",
    ),
)

# Answered without the effect that a program may expect; recorded under these symbols.
STUBS = {
    "_cuda_cudaCachingAllocator_set_allocator_settings": (
        "torch.cuda.memory._set_allocator_settings"
    ),
    "_cuda_attach_out_of_memory_observer": "torch._C._cuda_attach_out_of_memory_observer",
    "_cuda_record_memory_history": "torch.cuda.memory._record_memory_history",
    "_cuda_record_memory_history_legacy": "torch.cuda.memory._record_memory_history",
}


class Refusal(NamedTuple):
    """Functions of CUDA devices alone. `names`: torch._C's name → the public one that calls it."""

    names: dict
    why: str
    instead: Optional[str] = None


def _internal(*names):
    """Names that only torch's own Python calls: the symbol is torch._C's."""
    return {name: "torch._C." + name for name in names}


_NO_ALLOCATOR = "tensors are in host memory, which torch's CPU allocator owns"
_NO_HANDLE = "there is no CUDA memory or handle to point to"
_GRAPH = Refusal(
    {
        "_CUDAGraph": "torch.cuda.CUDAGraph",
        "_graph_pool_handle": "torch.cuda.graph_pool_handle",
        # CUDA graph trees of inductor, which run where tensors are on CUDA.
        **_internal(
            "_construct_CUDA_Tensor_From_Storage_And_Metadata",
            "_construct_storage_from_data_pointer",
            "_free_And_Remove_DeleterFn",
            "_has_Standard_Deleter",
            "_map_Storage_Refs",
            "_set_storage_access_error_msg",
            "_set_storage_data_ptr_access_error_msg",
            "_storage_Use_Count",
            "_tensors_data_ptrs_at_indices_equal",
        ),
    },
    "ops run as they are called and cannot be captured",
    "call the function itself",
)
_POOL = Refusal(
    {
        "_MemPool": "torch.cuda.MemPool",
        **_internal(
            "_cuda_beginAllocateCurrentThreadToPool",
            "_cuda_beginAllocateCurrentStreamToPool",
            "_cuda_beginAllocateToPool",
            "_cuda_checkPoolLiveAllocations",
            "_cuda_endAllocateToPool",
            "_cuda_getCheckpointState",
            "_cuda_releasePool",
            "_cuda_setCheckpointPoolState",
        ),
    },
    _NO_ALLOCATOR,
    "allocate without a pool",
)
_GREEN_CONTEXT = Refusal(
    {"_CUDAGreenContext": "torch.cuda.GreenContext"},
    "the host's cores are not partitioned by CUDA",
    "torch.set_num_threads bounds them",
)
_ALLOCATOR = Refusal(
    {
        "_cuda_CUDAAllocator": "torch.cuda.memory._CUDAAllocator",
        "_cuda_cudaHostAllocator": "torch.cuda.memory._host_allocator",
        "_cuda_getAllocator": "torch.cuda.memory._get_current_allocator",
        **_internal(
            "_cuda_CUDAAllocator_AllocatorState",
            "_cuda_changeCurrentAllocator",
            "_cuda_customAllocator",
        ),
    },
    _NO_ALLOCATOR,
)

REFUSED_CLASSES = {
    "_CUDAGraph": (_GRAPH, ()),
    "_CUDAGreenContext": (_GREEN_CONTEXT, ("create", "max_workqueue_concurrency")),
    "_MemPool": (_POOL, ()),
    "_cuda_CUDAAllocator": (_ALLOCATOR, ()),
    "_cuda_CUDAAllocator_AllocatorState": (_ALLOCATOR, ()),
}

_NO_TUNING = "the host's kernels are not chosen by TunableOp"
_TUNABLE = {"_cuda_record_untuned_enable": "torch.cuda.tunable.record_untuned_enable"}
_TUNABLE.update(
    ("_cuda_tunableop_" + name, "torch.cuda.tunable." + name)
    for name in (
        "enable",
        "get_cublaslt_requested_algo_count",
        "get_filename",
        "get_max_tuning_duration",
        "get_max_tuning_iterations",
        "get_results",
        "get_rotating_buffer_size",
        "get_validators",
        "read_file",
        "set_cublaslt_requested_algo_count",
        "set_filename",
        "set_max_tuning_duration",
        "set_max_tuning_iterations",
        "set_numerical_check_tolerances",
        "set_rotating_buffer_size",
        "tuning_enable",
        "wildcard_fallback_enable",
        "write_file",
        "write_file_on_exit",
    )
)
_TUNABLE.update(
    ("_cuda_tunableop_" + name, "torch.cuda.tunable.dynamic_dims_mask")
    for name in ("push_dynamic_dims_mask", "pop_dynamic_dims_mask")
)
_TUNABLE.update(_internal("_cuda_tunableop_clear_all"))

REFUSED = (
    _GRAPH,
    _POOL,
    _GREEN_CONTEXT,
    _ALLOCATOR,
    Refusal(
        {
            "_cuda_allocationTraceback": "torch.cuda.memory._allocation_traceback",
            "_cuda_cudaCachingAllocator_raw_alloc": "torch.cuda.caching_allocator_alloc",
            "_cuda_cudaCachingAllocator_raw_delete": "torch.cuda.caching_allocator_delete",
            **_internal("_cuda_annotateMemory"),
            "_cuda_getCurrentBlasHandle": "torch.cuda.current_blas_handle",
            "_cuda_getCurrentSolverHandle": "torch.cuda.current_solver_handle",
        },
        _NO_HANDLE,
    ),
    Refusal(
        {
            "_cuda_jiterator_compile_and_launch_kernel": "torch.cuda.jiterator",
            **_internal(
                "_FastCudaLauncher",
                "_StaticCudaLauncher",
                "_cuda_busy_wait_for_flag",
                "_cuda_clear_flag",
            ),
        },
        "CUDA kernels do not run on the host",
        "write the function with torch ops and torch.compile it",
    ),
    Refusal(_TUNABLE, _NO_TUNING),
    Refusal(
        {
            **{
                "_nccl_" + name: "torch.cuda.nccl." + name
                for name in (
                    "all_gather",
                    "all_reduce",
                    "broadcast",
                    "init_rank",
                    "reduce",
                    "reduce_scatter",
                    "unique_id",
                    "version",
                )
            },
            "_nccl_version_suffix": "torch.cuda.nccl.version",
        },
        "NCCL connects CUDA devices",
        "torch.distributed has the backend gloo",
    ),
    Refusal(
        {
            "_gds_register_buffer": "torch.cuda.gds.gds_register_buffer",
            "_gds_deregister_buffer": "torch.cuda.gds.gds_deregister_buffer",
            "_gds_register_handle": "torch.cuda.gds.GdsFile",
            **_internal("_gds_deregister_handle", "_gds_load_storage", "_gds_save_storage"),
        },
        "GPUDirect Storage moves data between files and CUDA memory",
        "torch.save, torch.load and UntypedStorage.from_file use host memory",
    ),
)

# Public Python functions that reach torch._C late, or another library first: refused at their
# beginning.
REFUSED_IN_PYTHON = (
    Refusal(
        {
            ("torch.cuda.graphs", "graph.__init__"): "torch.cuda.graph",
            ("torch.cuda.graphs", "make_graphed_callables"): "torch.cuda.make_graphed_callables",
            ("torch.accelerator.graphs", "Graph.__new__"): "torch.accelerator.Graph",
        },
        _GRAPH.why,
        _GRAPH.instead,
    ),
    Refusal(
        {
            ("torch.cuda.tunable", "tune_gemm_in_file"): "torch.cuda.tunable.tune_gemm_in_file",
            ("torch.cuda.tunable", "mgpu_tune_gemm_in_file"): (
                "torch.cuda.tunable.mgpu_tune_gemm_in_file"
            ),
        },
        _NO_TUNING,
    ),
    Refusal(
        {
            ("torch.storage", "UntypedStorage._new_shared_cuda"): (
                "torch.UntypedStorage._new_shared_cuda"
            ),
            ("torch.storage", "UntypedStorage._share_cuda_"): "torch.UntypedStorage._share_cuda_",
        },
        "CUDA memory is shared by handles of its driver",
        "torch.multiprocessing shares tensors in host memory",
    ),
    # torch 2.15 has them in Python, and asks the driver.
    Refusal(
        {
            ("torch.cuda.green_contexts", "GreenContext.__init__"): "torch.cuda.GreenContext",
            ("torch.cuda.green_contexts", "GreenContext.create"): "torch.cuda.GreenContext.create",
            ("torch.cuda.green_contexts", "GreenContext.max_workqueue_concurrency"): (
                "torch.cuda.GreenContext.max_workqueue_concurrency"
            ),
            ("torch.cuda.green_contexts", "GreenContext.split"): "torch.cuda.GreenContext.split",
            ("torch.cuda.green_contexts", "SMPartition.__init__"): (
                "torch.cuda.green_contexts.SMPartition"
            ),
            ("torch.cuda.green_contexts", "SMPartition.from_device"): (
                "torch.cuda.green_contexts.SMPartition.from_device"
            ),
            ("torch.cuda.green_contexts", "get_num_locality_domains"): (
                "torch.cuda.green_contexts.get_num_locality_domains"
            ),
            ("torch.cuda.green_contexts", "is_localization_supported"): (
                "torch.cuda.green_contexts.is_localization_supported"
            ),
        },
        _GREEN_CONTEXT.why,
        _GREEN_CONTEXT.instead,
    ),
    Refusal(
        {("torch.cuda.memory", "use_mem_pool"): "torch.cuda.use_mem_pool"},
        _POOL.why,
        _POOL.instead,
    ),
    Refusal(
        {
            ("torch.cuda.memory", "CUDAPluggableAllocator.__init__"): (
                "torch.cuda.CUDAPluggableAllocator"
            ),
            ("torch.cuda.memory", "change_current_allocator"): (
                "torch.cuda.change_current_allocator"
            ),
        },
        _ALLOCATOR.why,
    ),
    Refusal(
        {("torch.cuda", "_compile_kernel"): "torch.cuda._compile_kernel"},
        "CUDA kernels do not run on the host",
        "write the function with torch ops and torch.compile it",
    ),
)

# Names that torch's modules bind at import, for a torch imported before us:
BOUND_AT_IMPORT = (
    ("torch.cuda", "_CudaDeviceProperties", "_CudaDeviceProperties"),
    ("torch.cuda", "_cudart", "_cudart"),
    ("torch.cuda", "_exchange_device", "_cuda_exchangeDevice"),
    ("torch.cuda", "_is_in_bad_fork", "_cuda_isInBadFork"),
    ("torch.cuda", "_maybe_exchange_device", "_cuda_maybeExchangeDevice"),
    ("torch.cuda", "has_magma", "_has_magma"),
    ("torch.cuda.nvtx", "_nvtx", "_nvtx"),
)
BUILT_AT_IMPORT = (
    "torch.cuda.streams",
    "torch.cuda.graphs",
    "torch.cuda.green_contexts",
    "torch.cuda.memory",
    "torch.backends.cudnn.rnn",
    "torch.backends.cudnn",
    "torch.backends.cusparselt",
)
