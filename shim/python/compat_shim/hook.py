"""Acts on `import torch` twice: when torch._C is loaded and not yet used, and when torch is
complete (activation.py). Imports nothing heavy itself, because it runs in every process of an
activated tree."""

import atexit
import importlib
import os
import sys

from . import appending, fork_servers, importing, settings, state
from .simulate import mac


def install():
    """Have torch redirected as it is imported, or now where it already is. Once a process."""
    if not settings.asked_for() or state.finished:
        return
    if importing.watch({"torch._C": _native_loaded, "torch": _torch_loaded}):
        # Exit handlers run in reverse order: ours runs after the program's.
        atexit.register(_at_exit)
        say_that_we_watch()
        mac.install()
        fork_servers.install()
    if "torch" in sys.modules:
        _activate_late()


def deactivate():
    """Always refused: torch keeps the kernels, hooks and names it was given."""
    raise RuntimeError(
        "the shim stays for the life of the process: torch keeps what it was given; start a "
        "process without ACTIVATE_TORCH_DEVICE=1 to run without it"
    )


def _activate_late():
    # If another thread is importing torch, this waits until torch is complete. By then that import
    # has activated, or it began too early for the finder.
    torch = importlib.import_module("torch")
    if state.finished:
        return
    if getattr(torch.__spec__, "_initializing", False):
        if state.library is None:
            raise ImportError("torch itself is importing TorchDevice: import it before torch")
        return  # the import that is going on will end in _torch_loaded
    from . import activation

    activation.activate_late(torch)


def _at_exit():
    record = sys.modules.get(f"{__package__}.record")
    if record is not None:
        record.end_process()


def say_that_we_watch():
    """A process that never imports torch touches no device, and its record says that we looked."""
    record = os.environ.get("TORCHDEVICE_RECORD")
    if record:
        # Before the working directory can change; child processes write there too.
        record = os.environ["TORCHDEVICE_RECORD"] = os.path.abspath(record)
        appending.append(record, b'{"event": "watch", "format": 1, "pid": %d}\n' % os.getpid())


def _native_loaded(module):
    from . import activation

    try:
        activation.prepare(module)
    except ImportError as refusal:
        # torch is half loaded, and a program that catches this may import it again.
        state.refusal = refusal
        raise


def _torch_loaded(module):
    from . import activation

    activation.finish(module)
