"""Acts on `import torch` twice: when torch._C is loaded and not yet used, and when torch is
complete. Imports nothing heavy itself, because it runs in every process of an activated tree.

Several threads may import torch, or activate, at once. Python's lock on each module lets one of
them act. Nothing here waits for an import while it holds a lock of its own.
"""

import atexit
import importlib
import os
import sys
import threading

from . import appending, settings, state

# Imported late, if at all.
SHARDING = "torch.distributed.fsdp.fully_sharded_data_parallel"
LOWERING = "torch._inductor.graph"

_lock = threading.Lock()  # around looking whether the finder is there, and putting it there


class _Finder:
    """Lets the other finders find torch, and adds to what its loaders do."""

    def __init__(self, actions):
        self._actions = actions
        self._this_thread = threading.local()

    def find_spec(self, name, path=None, target=None):
        action = self._actions.get(name)
        # Another finder may call all finders too.
        if action is None or getattr(self._this_thread, "asks", False):
            return None
        self._this_thread.asks = True
        try:
            return self._find(name, path, target, action)
        finally:
            self._this_thread.asks = False

    def _find(self, name, path, target, action):
        if state.refusal is not None:
            raise ImportError(*state.refusal.args)
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec and finder is not self else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _ActingLoader(spec.loader, action)
                return spec
        return None


class _ActingLoader:
    """Wraps another loader and acts after it. It does not modify the loader, which many modules may
    share (as pytest's rewriting loader)."""

    def __init__(self, loader, action):
        self._loader = loader
        self._action = action

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # From here on the module behaves as without us.
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._action(module)


def install():
    """Have torch redirected as it is imported, or now where it already is. Once a process."""
    if not settings.asked_for() or state.finished:
        return
    with _lock:
        watching = any(isinstance(finder, _Finder) for finder in sys.meta_path)
        if not watching:
            sys.meta_path.insert(0, _Finder(_ACTIONS))
    if not watching:
        # Exit handlers run in reverse order: ours runs after the program's.
        atexit.register(_at_exit)
        say_that_we_watch()
    if "torch" in sys.modules:
        _activate_late()


def deactivate():
    """Always refused: torch keeps the kernels, hooks and names it was given."""
    raise RuntimeError(
        "the shim stays for the life of the process: torch keeps what it was given; start a "
        "process without ACTIVATE_TORCH_DEVICE=1 to run without it"
    )


def _activate_late():
    # If another thread is importing torch, this waits until torch is complete. That import has then
    # activated, or it began too early for the finder.
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
        record.flush()


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


def _sharding_loaded(module):
    from . import distributed

    if state.redirects:
        distributed.sharded(module, state.library)


def _lowering_loaded(module):
    from . import simulated

    if state.library.simulated() is not None:
        simulated.refuse_lowering(module, state.library)


_ACTIONS = {
    "torch._C": _native_loaded,
    "torch": _torch_loaded,
    SHARDING: _sharding_loaded,
    LOWERING: _lowering_loaded,
}
