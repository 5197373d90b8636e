"""The CUDA device that requests name and that is not there: the host, or its accelerator."""

import os
import platform
from typing import NamedTuple

from ..cuda.devices import Devices, Memory, Model, visible

_INVALID_DEVICE = 101  # cudaErrorInvalidDevice


def host_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


class _OneDevice(Devices):
    """cuda:0, at which requests end elsewhere."""

    def __init__(self, redirection, name, cores):
        self._redirection = redirection
        self.model = Model(f"{name} (as CUDA)", (7, 0), cores, 1, 96 << 10, 6 << 20)

    def count(self):
        return visible(1)

    def current(self):
        return 0

    def check(self, index):
        if index > 0:
            from torch import AcceleratorError  # as for every error of the CUDA runtime

            error = AcceleratorError(
                f"CUDA error: invalid device ordinal ({index}; one device is shown, cuda:0)"
            )
            error.error_code = _INVALID_DEVICE
            raise error
        return index == 0

    def exchange(self, index):
        return 0 if self.check(index) else -1

    def place(self, index):
        return "cuda" if self.check(index) else None

    def redirect(self, symbol, device):
        return self._redirection.redirect(symbol, device)

    def stream(self, index):
        return self._redirection.current_stream()

    def set_stream(self, index, stream):
        self._redirection.exchange_stream(stream)


class HostAsCuda(_OneDevice):
    """A CPU tensor carries no mark that it was asked for on CUDA."""

    where = "cpu"

    def __init__(self, library, redirection):
        super().__init__(redirection, host_name(), os.cpu_count() or 1)
        self._library = library

    def holds(self, tensor):
        return tensor.device.type == "cpu"

    def generators(self):
        return (self._redirection.default_generator(),)

    def memory(self, index):
        free, total = self._library.host_memory()
        return Memory(*self._redirection.tensor_memory(), total, free)

    def reset_peak(self, index):
        self._redirection.reset_peak_memory()

    def reset_accumulated(self, index):
        self._redirection.reset_accumulated_memory()


class Figure(NamedTuple):
    current: int = 0
    peak: int = 0
    allocated: int = 0
    freed: int = 0


class AcceleratorAsCuda(_OneDevice):
    """A tensor on the host's accelerator is one that would be on CUDA. All that is asked of the
    accelerator, torch itself answers."""

    def __init__(self, library, redirection, type):
        """`type`: as the user named it; a backend outside torch gives torch its name later."""
        from torch import _C as native

        self._native = native
        self._library = library
        self._type = type
        self.where = f"{self._type}:0"
        self._peak = 0  # where torch keeps none: of what was seen
        super().__init__(redirection, *self._name_and_cores())

    def _name_and_cores(self):
        name = getattr(self._native, f"_{self._type}_get_name", None)
        cores = getattr(self._native, f"_{self._type}_get_core_count", None)
        return (name() if name else self._type), (cores() if cores else os.cpu_count() or 1)

    def holds(self, tensor):
        return tensor.device.type == self._type

    def generators(self):
        return (self._redirection.accelerator_generator(),)

    def memory(self, index):
        bytes, blocks = self._statistics()
        total = self._total()
        return Memory(bytes, blocks, total, max(0, total - bytes.current))

    def _statistics(self):
        """Bytes and blocks in use. torch.accelerator has them where the accelerator's allocator
        counts; elsewhere its own module has the bytes alone."""
        import torch

        if self._counts():
            stats = self._native._accelerator_getDeviceStats(0)
            return tuple(Figure(**stats[name]["all"]) for name in ("allocated_bytes", "allocation"))
        module = torch.get_device_module(self._type)
        used = getattr(module, "current_allocated_memory", lambda: 0)()
        self._peak = max(self._peak, used)
        return Figure(used, self._peak, used), Figure()

    def _total(self):
        """The memory of the device, from whatever says it; of the host if nothing does."""
        import torch

        module = torch.get_device_module(self._type)
        if limit := getattr(module, "recommended_max_memory", None):
            return limit()
        for ask in (
            getattr(module, "mem_get_info", None),
            getattr(torch.accelerator, "get_memory_info", None),
        ):
            try:
                if ask:
                    return ask(0)[1]
            except RuntimeError:  # the accelerator's allocator does not count
                pass
        return self._library.host_memory()[1]

    def _counts(self):
        initialized = getattr(self._native, "_accelerator_isAllocatorInitialized", None)
        try:
            return initialized is not None and initialized()
        except RuntimeError:  # the accelerator's allocator does not count
            return False

    def reset_peak(self, index):
        if self._counts():
            self._native._accelerator_resetPeakStats(0)
        self._peak = 0

    def reset_accumulated(self, index):
        if self._counts():
            self._native._accelerator_resetAccumulatedStats(0)
