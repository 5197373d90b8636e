"""A simulated accelerator as Python meets it: what torch's Python side asks of the device beyond the
dispatcher and the hooks, and how a process with one ends. The device itself is the library's
(simulate/accelerator.h)."""

import array
import atexit
import functools
import os

DEVICES = ("mps", "cuda")
MPS_NAME = "Simulated Apple GPU"
MPS_CORES = 10
MACOS = (15, 0)  # what torch.backends.mps.is_macos_or_newer answers for


def prepare(native, library, simulate, commit):
    """torch._C is there, torch.cuda and torch.mps are not: give the process its device."""
    _PREPARE[simulate](native, library, commit)


def finish(torch, library, simulate):
    """torch is complete."""
    library.install_drawing()
    _storages(torch, simulate)
    # Registered first, so that it runs last: after what the program does at its own exit.
    atexit.register(library.wait_for_autograd)


def _prepare_mps(native, library, commit):
    # As MPSFallback.mm reads it: any number but 0.
    fallback = os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK", "0")
    library.simulate_mps(
        fallback=fallback.strip() not in ("", "0"),
        commit=commit,
        macos_major=MACOS[0],
        macos_minor=MACOS[1],
    )
    native._has_mps = True
    native._mps_get_name = lambda: MPS_NAME
    native._mps_get_core_count = lambda: MPS_CORES


_PREPARE = {"mps": _prepare_mps}


def _storages(torch, simulate):
    """torch.UntypedStorage(n, device="mps"), and with it torch.load, deepcopy and pickle: the type
    itself knows the devices that torch was built with."""
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
