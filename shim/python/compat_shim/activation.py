"""The steps of activation, in order: the host, the library, torch._C, kernels, threads, remedies.

`prepare` runs when torch._C is loaded and torch.cuda has not been: torch.cuda's own Python then
finds the names of a CUDA build and stays as it is. `finish` runs when torch is complete.
"""

import functools
import importlib
import os
import sys
import threading

from . import (
    cuda_devices,
    cuda_names,
    cuda_tables,
    distributed,
    forced,
    library,
    masquerade,
    record,
    remedies,
    settings,
    simulated,
    state,
)

# C types that take a device and call no kernel, and C functions that ask for one device several
# times.
MADE_FOR_A_DEVICE = ("device", "Event", "Generator", "Stream")
MADE_OF_PARTS = (
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
)

# Which devices torch.cuda describes, by host.
_AS_CUDA = {"cpu": cuda_devices.HostAsCuda, "mps": cuda_devices.MpsAsCuda}

# Held during activation. Its holder imports nothing that another activation could be importing.
_activating = threading.RLock()


def prepare(native):
    """Load the library and give torch._C what a CUDA build has."""
    global _settings, _host
    if state.library is not None:
        return
    from torch import version

    found = _found_host(native)
    _settings = settings.read(found)
    for host in (found, _settings.host):
        if host != "cpu" and not _settings.simulate:
            raise ImportError(
                f"the shim redirects on a CPU host, and this one has {host}: run without it"
            )
    state.redirects = _settings.redirects
    state.library = library.load(_settings.library, version.__version__, version.git_version)
    # Under this policy nothing is redirected, because what code asks for exists.
    policy = _settings.mode if _settings.redirects else "missing"
    state.library.configure(
        _settings.host, policy, _internal_prefixes(version), _settings.log_level
    )
    if _settings.simulate:
        simulated.prepare(native, state.library, _settings, version.git_version)
    if _settings.redirects:
        if _settings.forces:
            forced.prepare(state.library, os.path.dirname(version.__file__))
        _host = _AS_CUDA[_settings.host](state.library)
        cuda_names.fill(native, state.library, _host)


def finish(torch):
    """Redirect from here on."""
    with _activating:
        if not state.finished:
            _finish(torch)


def _finish(torch):
    if _settings.simulate:
        simulated.finish(torch, state.library)
    if _settings.redirects:
        _redirect(torch)
    else:
        state.library.install_drawing()
    _follow_processes()
    record.start(_settings.record, _session(torch))
    state.finished = True


def _redirect(torch):
    state.library.install(
        [getattr(torch, name) for name in MADE_FOR_A_DEVICE],
        [getattr(torch, name) for name in MADE_OF_PARTS if hasattr(torch, name)],
    )
    state.library.include_this_thread(True)
    _follow_threads()
    remedies.apply(torch, state.library, _host)
    distributed.apply(torch, state.library)
    if _settings.host != "cpu":
        remedies.for_accelerator(torch)
    if _settings.forces:
        forced.apply(torch, state.library, _host)
    if _settings.masquerade:
        masquerade.apply(torch, _internal_prefixes(torch.version))
    if torch.cuda.is_available():
        torch.cuda.init()


def activate_late(torch):
    """Both steps where torch was imported first: what it bound without CUDA is bound again."""
    with _activating:
        if not state.finished:
            prepare(torch._C)
            if _settings.redirects or _settings.simulate == "cuda":
                _bind_again(torch)
            finish(torch)


def _bind_again(torch):
    for module_name, name, native_name in cuda_tables.BOUND_AT_IMPORT:
        setattr(importlib.import_module(module_name), name, getattr(torch._C, native_name))
    for module_name in cuda_tables.BUILT_AT_IMPORT:
        module = _run_again(module_name)
        for name, value in list(vars(torch.cuda).items()):
            if getattr(value, "__module__", None) == module_name:
                setattr(torch.cuda, name, getattr(module, name))


def _run_again(module_name):
    """Some modules of torch.backends show an object in their place, and keep it."""
    shown = importlib.import_module(module_name)
    module = sys.modules[module_name] = getattr(shown, "m", shown)
    fresh = importlib.reload(module)
    if shown is not module:
        shown.__class__ = type(fresh)
        sys.modules[module_name] = shown
    return module


def _found_host(native):
    if getattr(native, "_has_mps", False) and native._mps_is_available():
        return "mps"
    # A build with CUDA keeps its own torch.cuda, with a device or without one.
    return "cuda" if hasattr(native, "_cuda_getDeviceCount") else "cpu"


def _internal_prefixes(version):
    """Files whose lines are never the caller: torch's, ours, and code without a file."""
    folders = (os.path.dirname(version.__file__), os.path.dirname(__file__))
    return [folder + os.sep for folder in folders] + ["<frozen ", "<eval_with_key>", "<torch_"]


def _session(torch):
    from . import __version__

    return {
        "shim": __version__,
        "torch": torch.__version__,
        "host": _settings.host,
        "mode": _settings.mode,
        "simulated": _settings.simulate,
        "masquerade": _settings.masquerade,
    }


def _follow_threads():
    """A thread starts with its own dispatch keys."""
    include = state.library.include_this_thread
    bootstrap = threading.Thread._bootstrap_inner

    @functools.wraps(bootstrap)
    def _bootstrap_inner(self):
        include(True)
        bootstrap(self)

    threading.Thread._bootstrap_inner = _bootstrap_inner


def _flushing(leave):
    @functools.wraps(leave)
    def flush_and_leave(*args, **kwargs):
        try:
            record.flush()
        finally:  # nothing may keep a forked worker in its parent's code
            leave(*args, **kwargs)

    return flush_and_leave


def _follow_processes():
    """Write the counts at every orderly end of a process. Forked workers of multiprocessing end
    with os._exit, without exit handlers; the other exec functions call these two."""
    for name in ("_exit", "execv", "execve"):
        setattr(os, name, _flushing(getattr(os, name)))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=record.after_fork_in_child)
