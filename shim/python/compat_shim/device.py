"""The pretended CUDA device as Python asks about it: properties, memory, the runtime module."""

import os
import platform
import types

from . import refusal
from .cuda_tables import CUDNN_VERSION

CUDA_TYPE = 1  # c10::DeviceType::CUDA
CAPABILITY = (7, 0)

# Each statistic, and which figure of the library's it is.
_STATS = {
    "active_bytes": "bytes",
    "allocated_bytes": "bytes",
    "inactive_split_bytes": None,
    "requested_bytes": "bytes",
    "reserved_bytes": "bytes",
    "active": "blocks",
    "allocation": "blocks",
    "inactive_split": None,
    "segment": "blocks",
}
_COUNTED = ("current", "peak", "allocated", "freed")
_COUNTERS = ("num_alloc_retries", "num_device_alloc", "num_device_free", "num_ooms")


def check_index(index):
    """True for cuda:0, False for a negative index (which asks for no change), else CUDA's error."""
    if index > 0:
        from torch import AcceleratorError  # as for every error of the CUDA runtime

        error = AcceleratorError(
            f"CUDA error: invalid device ordinal ({index}; one device is shown, cuda:0)"
        )
        error.error_code = 101  # cudaErrorInvalidDevice
        raise error
    return index == 0


def host_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


class Properties:
    """As torch.cuda.get_device_properties() returns it. Memory in bytes, clocks in kHz."""

    def __init__(self, library):
        self.name = f"{host_name()} (as CUDA)"
        self.major, self.minor = CAPABILITY
        self.total_memory = library.memory()["total"]
        self.multi_processor_count = os.cpu_count() or 1
        self.is_integrated = 1
        self.is_multi_gpu_board = 0
        self.warp_size = 32
        self.max_threads_per_block = 1024
        self.max_threads_per_multi_processor = 2048
        self.regs_per_multiprocessor = 65536
        self.shared_memory_per_block = 48 << 10
        self.shared_memory_per_block_optin = 96 << 10
        self.shared_memory_per_multiprocessor = 96 << 10
        self.L2_cache_size = 6 << 20
        self.clock_rate = self.memory_clock_rate = 1_000_000
        self.memory_bus_width = 64
        self.pci_bus_id = self.pci_device_id = self.pci_domain_id = 0
        self.uuid = "00000000-0000-0000-0000-000000000000"
        self.gcnArchName = ""

    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count})"
        )


def memory_stats(library):
    """In the shape of the caching allocator's statistics. What CPU tensors take is allocated, in
    use and reserved; nothing is cached."""
    memory = library.memory()
    none = dict.fromkeys(_COUNTED, 0)
    stats = {}
    for name, source in _STATS.items():
        figure = memory[source] if source else None
        used = {key: getattr(figure, key) for key in none} if figure else none
        stats[name] = {"all": dict(used), "small_pool": dict(none), "large_pool": dict(used)}
    stats.update(dict.fromkeys(_COUNTERS, 0))
    stats.update(max_split_size=-1, num_sync_all_streams=0)
    stats.update(oversize_allocations=dict(none), oversize_segments=dict(none))
    return stats


def host_memory_stats(library):
    """Of pinned memory, in the shape of CUDA's. Taking it costs what all memory costs, and is not
    timed."""
    sizes, blocks = (
        {key: getattr(figure, key) for key in _COUNTED} for figure in library.pinned_memory()
    )
    untimed = dict.fromkeys(("total", "max", "min", "count", "avg"), 0)
    return {
        "allocations": dict(blocks),
        "allocated_bytes": dict(sizes),
        "active_requests": dict(blocks),
        "active_bytes": dict(sizes),
        "host_alloc_time": dict(untimed),
        "host_free_time": dict(untimed),
        "num_host_alloc": blocks["allocated"],
        "num_host_free": blocks["freed"],
    }


class Runtime:
    """torch.cuda.cudart(): what can be answered is, the rest of the module is refused by name."""

    class cudaError(int):
        success = 0

    def __init__(self, library):
        self._library = library
        for name in ("cudaHostRegister", "cudaHostUnregister"):
            self._refuse(name, "no CUDA runtime locks pages", "tensor.pin_memory()")
        for name in ("cudaStreamCreate", "cudaStreamDestroy"):
            self._refuse(name, "there is no CUDA stream to point to", "torch.cuda.Stream")

    def _refuse(self, name, why, instead):
        symbol = f"torch.cuda.cudart().{name}"
        setattr(self, name, refusal.function(self._library, name, symbol, why, f"use {instead}"))

    def cudaMemGetInfo(self, index):
        check_index(index)
        memory = self._library.memory()
        return memory["free"], memory["total"]

    def cudaGetErrorString(self, code):
        return "no error" if code == 0 else f"CUDA error {int(code)}"

    def cudaProfilerStart(self):
        return 0

    def cudaProfilerStop(self):
        return 0


def cudnn():
    """torch._C._cudnn, for torch.backends.cudnn to find the version it asks for."""
    major, minor, patch = CUDNN_VERSION
    return types.SimpleNamespace(
        is_cuda=True,
        getCompileVersion=lambda: CUDNN_VERSION,
        getRuntimeVersion=lambda: CUDNN_VERSION,
        getVersionInt=lambda: major * 10_000 + minor * 100 + patch,
        RNNMode=types.SimpleNamespace(rnn_relu=0, rnn_tanh=1, lstm=2, gru=3),
    )
