"""The Python side of a simulated accelerator: what torch's Python asks beyond dispatcher and hooks,
and how such a process ends. The device itself is in the library (simulate/accelerator.h)."""

import array
import atexit
import functools
import os
import sys

from . import cuda_devices, cuda_names, refusal, remedies
from .hook import LOWERING

MPS_NAME = "Simulated Apple GPU"
MPS_CORES = 10
MACOS = (15, 0)  # what torch.backends.mps.is_macos_or_newer answers for


def prepare(native, library, settings, commit):
    """torch._C is there, torch.cuda and torch.mps are not: give it what the device's build has."""
    global _device
    _device = _KINDS[settings.simulate](library, settings, commit)
    _device.prepare(native)


def finish(torch, library):
    """torch is complete."""
    _device.finish(torch)
    _storages(torch, library.simulated())
    if LOWERING in sys.modules:
        refuse_lowering(sys.modules[LOWERING], library)
    # Registered first, so that it runs last, after the program's own exit handlers.
    atexit.register(library.wait_for_autograd)


class _Mps:
    def __init__(self, library, settings, commit):
        self._library = library
        self._commit = commit

    def prepare(self, native):
        # As MPSFallback.mm reads it: any number but 0.
        fallback = os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK", "0")
        self._library.simulate_mps(
            fallback=fallback.strip() not in ("", "0"),
            commit=self._commit,
            macos_major=MACOS[0],
            macos_minor=MACOS[1],
        )
        native._has_mps = True
        native._mps_get_name = lambda: MPS_NAME
        native._mps_get_core_count = lambda: MPS_CORES

    def finish(self, torch):
        pass


class _Cuda:
    def __init__(self, library, settings, commit):
        self._library = library
        self._devices = cuda_devices.SimulatedCuda(library, settings.devices)

    def prepare(self, native):
        cuda_names.fill(native, self._library, self._devices)

    def finish(self, torch):
        self._devices.install()
        remedies.for_any(torch, self._library, self._devices)
        remedies.for_simulated(torch, self._library)


_KINDS = {"mps": _Mps, "cuda": _Cuda}


def _storages(torch, simulate):
    """torch.UntypedStorage(n, device="mps"), and with it torch.load, deepcopy and pickle: the type
    itself knows only devices that torch was built with."""
    create = torch.UntypedStorage.__new__

    @functools.wraps(create)
    def __new__(cls, *args, device=None, **kwargs):
        if device is None or torch.device(device).type != simulate:
            return create(cls, *args, **kwargs, **({} if device is None else {"device": device}))
        wanted = args[0] if args else kwargs.get("size", 0)
        if isinstance(wanted, int):
            return torch.empty(wanted, dtype=torch.uint8, device=device).untyped_storage()
        content = torch.frombuffer(array.array("B", wanted), dtype=torch.uint8)
        return content.to(device).untyped_storage()

    torch.UntypedStorage.__new__ = staticmethod(__new__)


def refuse_lowering(module, library):
    """Refuses torch.compile with Inductor at the first tensor of the device. hook.py calls this if
    Inductor is imported after us, as the first such call does."""
    simulate = library.simulated()
    graph = module.GraphLowering
    add = graph.add_device_info

    @functools.wraps(add)
    def add_device_info(self, device):
        if device.type == simulate:
            refusal.not_simulated(
                "torch._inductor",
                f"Inductor writes kernels for {simulate}, which a simulated device cannot run",
                'torch.compile has the backends "eager" and "aot_eager"',
            )
        add(self, device)

    graph.add_device_info = add_device_info
