"""How the answers of torch.cuda differ from those on a machine with a GPU. Data for the page
docs/reference/torch-cuda.md: cuda_answers.py and other_answers.py say what is answered and what is
refused, the shim's tables what has no effect.

(names, how redirected, how on simulated CUDA); None: the same.
"""

_DONE = "nothing to do: work has ended when its call returns"
_NUMBERS = "the numbers are not Philox's"
_NO_GRAPH = "registered; no graph is captured"
_NO_KERNELS = "nothing is annotated"
_COMPLETE = "an event of another process is complete"
_STREAMS = "ordered as on CUDA; calls return when work has ended"

TYPES = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()

ROWS = (
    (
        [f"torch.cuda.{name}Tensor" for name in TYPES]
        + [f"torch.cuda.{name}Storage" for name in (*TYPES, "ComplexDouble", "ComplexFloat")],
        "made on the device where requests end",
        None,
    ),
    (
        [f"torch.cuda.sparse.{name}Tensor" for name in TYPES if name != "Bool"],
        "made on the device where requests end",
        None,
    ),
    (["torch.cuda.device_count"], "1", "2, or TORCHDEVICE_DEVICES"),
    (["torch.cuda.can_device_access_peer"], "one device", None),
    (
        ["torch.cuda.get_device_name", "torch.cuda.get_device_properties"],
        "the host's, “… (as CUDA)”",
        "“Simulated CUDA GPU”",
    ),
    (
        [
            "torch.cuda.get_device_capability",
            "torch.cuda.get_arch_list",
            "torch.cuda.get_gencode_flags",
            "torch.cuda.is_tf32_supported",
        ],
        "of capability 7.0",
        "of capability 8.0",
    ),
    (["torch.cuda.has_magma"], "False", "False"),
    (["torch.cuda.cudart"], "memory and profiler; the rest is refused", "memory and profiler; the rest is refused"),
    (["torch.cuda.synchronize", "torch.cuda.empty_cache"], _DONE, _DONE),
    (["torch.cuda.ipc_collect"], _DONE, None),
    (["torch.cuda.Event.ipc_handle", "torch.cuda.Event.from_ipc_handle"], _COMPLETE, _COMPLETE),
    (
        [
            f"torch.cuda.{name}"
            for name in (
                "Event Stream StreamContext current_stream default_stream set_stream stream".split()
            )
        ],
        _STREAMS,
        _STREAMS,
    ),
    (
        ["torch.cuda.ExternalStream", "torch.cuda.get_stream_from_external"],
        "streams of torch alone",
        "streams of torch alone",
    ),
    (
        [
            f"torch.cuda.{name}"
            for name in (
                "default_generators get_rng_state get_rng_state_all set_rng_state set_rng_state_all "
                "initial_seed manual_seed manual_seed_all seed seed_all".split()
            )
        ],
        _NUMBERS,
        _NUMBERS,
    ),
    (
        [
            f"torch.cuda.{name}"
            for name in (
                "memory_allocated max_memory_allocated memory_reserved max_memory_reserved "
                "memory_cached max_memory_cached memory_stats memory_stats_as_nested_dict "
                "memory_summary reset_accumulated_memory_stats reset_max_memory_allocated "
                "reset_max_memory_cached reset_peak_memory_stats".split()
            )
        ],
        "of all the device's tensors, the CPU's on a CPU host; nothing is cached",
        "nothing is cached",
    ),
    (["torch.cuda.memory_snapshot"], "empty", "empty"),
    (
        ["torch.cuda.mem_get_info", "torch.cuda.device_memory_used"],
        "the machine's or its control group's",
        None,
    ),
    (
        ["torch.cuda.caching_allocator_enable", "torch.cuda.caching_allocator_disabled"],
        "stored; nothing is cached",
        "stored; nothing is cached",
    ),
    (["torch.cuda.set_per_process_memory_fraction"], "stored, no effect", None),
    (["torch.cuda.list_gpu_processes"], "this process", "this process"),
    (
        ["torch.cuda.utilization", "torch.cuda.clock_rate", "torch.cuda.temperature"],
        "the host's; refused where it has none",
        "the host's; refused where it has none",
    ),
    (["torch.cuda.export_dot", "torch.cuda.export_graph_data"], _NO_GRAPH, _NO_GRAPH),
    (
        [
            f"torch.cuda.graphs.register_graph_{event}_hook"
            for event in (
                "capture_end capture_start destroy instantiate replay_end replay_start".split()
            )
        ],
        _NO_GRAPH,
        _NO_GRAPH,
    ),
    (
        [
            f"torch.cuda.graph_annotations.{name}"
            for name in (
                "clear_kernel_annotations dump_kernel_py_stacks get_kernel_annotations "
                "get_kernel_py_stacks is_available mark_kernels".split()
            )
        ],
        _NO_KERNELS,
        _NO_KERNELS,
    ),
    (["torch.cuda.gds.is_available", "torch.cuda.nccl.is_available"], "False", "False"),
    (["torch.cuda.nccl.version"], "refused: NCCL connects CUDA devices", "(2, 27, 5)"),
    (
        [
            f"torch.cuda.tunable.{name}"
            for name in (
                "is_enabled record_untuned_is_enabled tuning_is_enabled "
                "wildcard_fallback_is_enabled".split()
            )
        ],
        "False",
        "False",
    ),
    (
        ["torch.cuda.amp.autocast"],
        "ops that only the CPU's list has compute in float32",
        None,
    ),
    (
        [
            f"torch.cuda.comm.{name}"
            for name in (
                "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter".split()
            )
        ],
        "over one device",
        None,
    ),
    (
        [
            f"torch.cuda.nvtx.{name}"
            for name in "mark range range_end range_pop range_push range_start".split()
        ],
        "ranges nest; nothing is profiled",
        "ranges nest; nothing is profiled",
    ),
    (
        [f"torch.cuda.profiler.{name}" for name in ("profile", "start", "stop")],
        "nothing is profiled",
        "nothing is profiled",
    ),
)

DIFFERS = {name: how for names, *how in ROWS for name in names}
