"""Simulated CUDA devices as Python sees them: torch's own torch.cuda, over devices that are there."""

import functools
import os

from .. import importing, patching, refusal
from ..cuda import names, process_groups, python_side
from ..cuda.devices import Devices, Memory, Model, visible
from . import between_processes, memory, nccl

MEMORY = 16 << 30  # bytes of each device, where the host has them
# The question about each kernel of attention, and its number in torch.nn.attention.SDPBackend.
ATTENTION = {
    "_can_use_flash_attention": 1,
    "_can_use_mem_efficient_attention": 2,
    "_can_use_cudnn_attention": 3,
}


class Device:
    """The steps that make a torch have simulated CUDA devices."""

    def __init__(self, library, simulator, settings):
        self._library, self._simulator, self._settings = library, simulator, settings
        self._devices = SimulatedCuda(library, simulator, settings)

    def prepare(self, native, commit):
        names.fill(native, self._library, self._devices)

    def finish(self, torch):
        self._devices.install()
        python_side.apply(torch, self._library, self._devices)
        _array_interface()
        importing.after("torch.distributed._symmetric_memory", _without_symmetric_memory)
        between_processes.apply(torch, self._simulator)
        _resized_storages(torch, self._simulator)
        # TorchScript's fuser would compile for the GPU, which a build with CUDA can.
        torch._C._jit_override_can_fuse_on_gpu(False)
        if torch.distributed.is_available() and not nccl.install(torch, self._library, self._settings):
            process_groups.apply(torch, functools.partial(self._library.note, "stub"))
        _report_assertions(self._simulator)
        _wait_for_the_device(self._simulator)
        # Between devices that NCCL does not connect, as where two tensors are on one device.
        torch.cuda.nccl.is_available = lambda tensors: False


# Beside what asks through the device's guard (simulate/simulate.cc).
_ASKS_THE_DEVICE = (
    ("torch._C", "_cuda_emptyCache"),
    ("torch._C._cudart", "cudaMemGetInfo"),
    ("torch._C._CudaEventBase", "elapsed_time"),
)


def _report_assertions(simulator):
    """After a kernel's assertion failed, whatever asks the device says so."""

    def checked(original):
        def asking(*args, **kwargs):
            simulator.check_not_lost()
            return original(*args, **kwargs)

        return asking

    for owner, name in _ASKS_THE_DEVICE:
        patching.patch(owner, name, checked)


def _wait_for_the_device(simulator):
    def synchronizing(wait_for_collectives):
        def synchronize():
            wait_for_collectives()
            simulator.synchronize_device()

        return synchronize

    patching.patch("torch._C", "_cuda_synchronize", synchronizing)


def _resized_storages(torch, simulator):
    """UntypedStorage.resize_, by which fully sharded modules free what they gathered: a CPU build
    says that it was built without CUDA."""

    def with_cuda(resize):
        def resize_(self, size):
            if self.device.type != "cuda":
                return resize(self, size)
            held = torch.empty(0, dtype=torch.uint8, device=self.device).set_(self)
            simulator.resize_storage(held, size)
            return self

        return resize_

    patching.patch("torch.UntypedStorage", "resize_", with_cuda)


def _array_interface():
    """The attribute from which other libraries' kernels read a CUDA tensor's address."""
    name = "__cuda_array_interface__"

    def refused(original):
        def interface(self):
            if self.is_cuda:
                refusal.not_simulated(
                    f"torch.Tensor.{name}",
                    "the memory of a simulated device is the host's, which no CUDA kernel can read",
                    "tensor.cpu() has numpy's interface",
                )
            return original.fget(self)

        return property(interface)

    patching.patch("torch.Tensor", name, refused)


def _without_symmetric_memory(module):
    def refused(name):
        def refusing(*args, **kwargs):
            refusal.not_simulated(
                f"{module.__name__}.{name}",
                "CUDA's driver maps the memory of one GPU for the others",
                "torch.distributed has collectives",
            )

        return lambda original: refusing

    for name in ("empty", "rendezvous", "set_backend"):
        patching.patch(module.__name__, name, refused(name))


def _begin():
    """Initialise CUDA at the first question, as torch's C++ side does, or raise its error."""
    import torch

    torch.cuda._lazy_init()


class SimulatedCuda(Devices):
    """cuda:0 and up, each with memory of its own. They are there from `install` on."""

    where = "cuda:0"

    def __init__(self, library, simulator, settings):
        self.model = Model("Simulated CUDA GPU", settings.capability, 108, 0, 164 << 10, 40 << 20)
        self._simulator = simulator
        self._asked = settings.devices
        self._total = memory.of_each(library, settings, settings.devices, MEMORY)
        self._fractions = {}
        self._initialized = self._forked = False

    def install(self):
        """As many as are visible; where none is, CUDA answers that it has no devices."""
        devices = visible(self._asked)
        if devices > 0:
            self._simulator.simulate_cuda(devices, *self.model.capability)
        for index in range(devices):
            self._simulator.set_device_limit(index, self._total)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def holds(self, tensor):
        return tensor.device.type == "cuda"

    def count(self):
        return self._simulator.device_count()

    def current(self):
        _begin()
        return self._simulator.current_device()

    def check(self, index):
        if index >= 0:
            _begin()
            self._simulator.check_index(index)
        return index >= 0

    def exchange(self, index):
        return self._simulator.exchange_device(index) if self.check(index) else -1

    def has_context(self, index):
        return self._simulator.has_context(index)

    def make_context(self, index):
        self._simulator.make_context(index)

    def place(self, index):
        return f"cuda:{index}" if self.check(index) else None

    def reaches(self, one, other):
        return self.check(one) and self.check(other) and one != other

    def generators(self):
        return tuple(self._simulator.default_generators())

    def memory(self, index):
        bytes, blocks, limit = self._simulator.device_memory(index)
        free = max(0, min(self._total, limit) - bytes.current)
        return Memory(bytes, blocks, self._total, free)

    def reset_peak(self, index):
        self._simulator.reset_device_peak(index)

    def reset_accumulated(self, index):
        self._simulator.reset_device_accumulated(index)

    def stream(self, index):
        return self._simulator.current_stream(index)

    def set_stream(self, index, stream):
        self._simulator.exchange_device(index)
        self._simulator.exchange_stream(index, stream)

    def initialized(self):
        self._initialized = True

    def in_bad_fork(self):
        return self._forked

    def functions(self):
        """Functions that only affect a device with memory of its own, and those by which
        torch.backends.cuda asks about attention."""
        return {
            **{name: self._can_use(kernel) for name, kernel in ATTENTION.items()},
            "_is_flash_attention_available": lambda: True,
            "_cuda_getMemoryFraction": self._fraction,
            "_cuda_setMemoryFraction": self._set_fraction,
            "_cuda_ipc_collect": getattr(self._simulator, "collect_sent", lambda: None),
        }

    def _can_use(self, kernel):
        return lambda call, debug=False: self._simulator.can_use_attention(kernel, call, debug)

    def _fraction(self, index):
        self.check(index)
        return self._fractions.get(index, 1.0)

    def _set_fraction(self, fraction, index):
        self.check(index)
        self._fractions[index] = fraction
        self._simulator.set_device_limit(index, int(self._total * fraction))

    def _after_fork(self):
        """A CUDA context does not survive a fork: the child's first use raises torch's own error.
        """
        if self._initialized:
            self._forked = True
            self._simulator.needs_init_again()
