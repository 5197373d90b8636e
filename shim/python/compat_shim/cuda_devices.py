"""The CUDA devices of this process, as torch._C's new functions see them.

HostAsCuda shows the host as one device whose tensors are on the CPU. MpsAsCuda shows its MPS
device, where tensors are. SimulatedCuda has real CUDA devices (simulate/accelerator.h). What they
share is in cuda_names.py and device.py.
"""

import os
import platform
from typing import NamedTuple

_INVALID_DEVICE = 101  # cudaErrorInvalidDevice


class Model(NamedTuple):
    """What torch.cuda.get_device_properties() tells apart. Sizes are in bytes."""

    name: str
    capability: tuple
    cores: int
    integrated: int
    shared_memory: int  # of a multiprocessor
    cache: int


def host_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _visible(devices):
    """torch reads CUDA_VISIBLE_DEVICES as the driver does."""
    import torch

    return min(devices, len(torch.cuda._parse_visible_devices()))


def _memory(library, index, total):
    """Of a device that is simulated; `total` in bytes."""
    figures = library.device_memory(index)
    current = figures["bytes"].current
    return {
        "current": current,
        "peak": figures["bytes"].peak,
        "bytes": figures["bytes"],
        "blocks": figures["blocks"],
        "total": total,
        "free": max(0, min(total, figures["limit"]) - current),
    }


class _OneDevice:
    """cuda:0, at which requests end elsewhere."""

    def __init__(self, library, name, cores):
        self._library = library
        self.model = Model(f"{name} (as CUDA)", (7, 0), cores, 1, 96 << 10, 6 << 20)

    def count(self):
        return _visible(1)

    def current(self):
        return 0

    def check(self, index):
        """True for cuda:0, False for a negative index (which asks for no change), else CUDA's
        error."""
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
        """Where collectives put a tensor for this device; None leaves it where it is."""
        return "cuda" if self.check(index) else None

    def reaches(self, one, other):
        return False

    def stream(self, index):
        return self._library.current_stream()

    def set_stream(self, index, stream):
        self._library.exchange_stream(stream)

    def initialized(self):
        pass

    def in_bad_fork(self):
        return False

    def functions(self):
        return {}


class HostAsCuda(_OneDevice):
    """A CPU tensor carries no mark that it was asked for on CUDA."""

    where = "cpu"

    def __init__(self, library):
        super().__init__(library, host_name(), os.cpu_count() or 1)

    def holds(self, tensor):
        return tensor.device.type == "cpu"

    def generators(self):
        return (self._library.default_generator(),)

    def memory(self, index):
        return self._library.memory()

    def reset_peak(self, index):
        self._library.reset_peak_memory()

    def reset_accumulated(self, index):
        self._library.reset_accumulated_memory()


class MpsAsCuda(_OneDevice):
    """A tensor on the MPS device is one that would be on CUDA."""

    where = "mps:0"

    def __init__(self, library):
        from torch import _C as native

        super().__init__(library, native._mps_get_name(), native._mps_get_core_count())

    def holds(self, tensor):
        return tensor.device.type == "mps"

    def generators(self):
        return tuple(self._library.default_generators())

    def memory(self, index):
        return _memory(self._library, index, self._library.memory()["total"])

    def reset_peak(self, index):
        self._library.reset_device_peak(index)

    def reset_accumulated(self, index):
        self._library.reset_device_accumulated(index)


def _begin():
    """Initialise CUDA at the first question, as torch's C++ side does, or raise its error."""
    import torch

    torch.cuda._lazy_init()


class SimulatedCuda:
    """cuda:0 and up, each with memory of its own. They are there from `install` on."""

    where = "cuda:0"
    total = 16 << 30  # bytes of memory on each
    model = Model("Simulated CUDA GPU", (8, 0), 108, 0, 164 << 10, 40 << 20)

    def __init__(self, library, devices):
        self._library = library
        self._asked = devices
        self._fractions = {}
        self._initialized = self._forked = False

    def install(self):
        """As many as are visible; where none is, CUDA answers that it has no devices."""
        devices = _visible(self._asked)
        if devices > 0:
            self._library.simulate_cuda(devices)
        for index in range(devices):
            self._library.set_device_limit(index, self.total)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def holds(self, tensor):
        return tensor.device.type == "cuda"

    def count(self):
        return self._library.device_count()

    def current(self):
        _begin()
        return self._library.current_device()

    def check(self, index):
        """False for a negative index, which asks for no change."""
        if index >= 0:
            _begin()
            self._library.check_index(index)
        return index >= 0

    def exchange(self, index):
        return self._library.exchange_device(index) if self.check(index) else -1

    def place(self, index):
        return f"cuda:{index}" if self.check(index) else None

    def reaches(self, one, other):
        return self.check(one) and self.check(other) and one != other

    def generators(self):
        return tuple(self._library.default_generators())

    def memory(self, index):
        return _memory(self._library, index, self.total)

    def reset_peak(self, index):
        self._library.reset_device_peak(index)

    def reset_accumulated(self, index):
        self._library.reset_device_accumulated(index)

    def stream(self, index):
        return self._library.device_stream(index)

    def set_stream(self, index, stream):
        self._library.exchange_device(index)
        self._library.set_device_stream(index, stream)

    def initialized(self):
        self._initialized = True

    def in_bad_fork(self):
        return self._forked

    def functions(self):
        """What has an effect on devices with memory of their own, and none on the host."""
        return {
            "_cuda_getMemoryFraction": self._fraction,
            "_cuda_setMemoryFraction": self._set_fraction,
        }

    def _fraction(self, index):
        self.check(index)
        return self._fractions.get(index, 1.0)

    def _set_fraction(self, fraction, index):
        self.check(index)
        self._fractions[index] = fraction
        self._library.set_device_limit(index, int(self.total * fraction))

    def _after_fork(self):
        """A CUDA context does not survive a fork: the child's first use raises torch's own error.
        """
        if self._initialized:
            self._forked = True
            self._library.needs_init_again()
