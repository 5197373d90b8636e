"""A CUDA device as Python sees it: properties, memory, the runtime module. devices.py says which
devices exist."""

import types

from .. import refusal, versions
from .tables import CUDNN_VERSION, SINCE

CUDA_TYPE = 1  # c10::DeviceType::CUDA
CLOCK_RATE = 1_000_000  # kHz

# Each statistic and the library's figure for it.
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
_COUNTERS = (
    "num_alloc_retries",
    "num_device_alloc",
    "num_device_free",
    "num_oom_rejections",
    "num_ooms",
)


class Properties:
    """As torch.cuda.get_device_properties() returns it. Memory in bytes, clocks in kHz."""

    def __init__(self, devices, index):
        model = devices.model
        self.name = model.name
        self.major, self.minor = model.capability
        self.total_memory = devices.memory(index).total
        self.multi_processor_count = model.cores
        self.is_integrated = model.integrated
        self.is_multi_gpu_board = 0
        self.warp_size = 32
        self.max_threads_per_block = 1024
        self.max_threads_per_multi_processor = 2048
        self.regs_per_multiprocessor = 65536
        self.shared_memory_per_block = 48 << 10
        self.shared_memory_per_block_optin = model.shared_memory
        self.shared_memory_per_multiprocessor = model.shared_memory
        self.L2_cache_size = model.cache
        self.clock_rate = self.memory_clock_rate = CLOCK_RATE
        self.memory_bus_width = 64
        self.pci_bus_id = index
        self.pci_device_id = self.pci_domain_id = 0
        self.uuid = f"00000000-0000-0000-0000-{index:012d}"
        self.gcnArchName = ""

    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count})"
        )


def memory_stats(memory):
    """The caching allocator's statistics. Memory of tensors counts as allocated, active and
    reserved; nothing is cached."""
    none = dict.fromkeys(_COUNTED, 0)
    stats = {}
    for name, source in _STATS.items():
        figure = getattr(memory, source) if source else None
        used = {key: getattr(figure, key) for key in none} if figure else none
        stats[name] = {"all": dict(used), "small_pool": dict(none), "large_pool": dict(used)}
    stats.update(
        {name: 0 for name in _COUNTERS if versions.at_least(SINCE.get(name, (0, 0)))}
    )
    stats.update(max_split_size=-1, num_sync_all_streams=0)
    stats.update(oversize_allocations=dict(none), oversize_segments=dict(none))
    return stats


def host_memory_stats(library):
    """CUDA's statistics of pinned memory. Allocation times are not measured."""
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

    def __init__(self, library, devices):
        self._library = library
        self._devices = devices
        for name in ("cudaHostRegister", "cudaHostUnregister"):
            self._refuse(name, "no CUDA runtime locks pages", "tensor.pin_memory()")
        for name in ("cudaStreamCreate", "cudaStreamDestroy"):
            self._refuse(name, "there is no CUDA stream to point to", "torch.cuda.Stream")

    def _refuse(self, name, why, instead):
        symbol = f"torch.cuda.cudart().{name}"
        setattr(self, name, refusal.function(self._library, name, symbol, why, f"use {instead}"))

    def cudaMemGetInfo(self, index):
        index = index if self._devices.check(index) else 0
        self._devices.make_context(index)
        memory = self._devices.memory(index)
        return memory.free, memory.total

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
