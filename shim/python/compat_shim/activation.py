"""The steps of activation, in order: the host, the libraries, the simulated device, redirection, the
record. `prepare` runs when torch._C is loaded and torch.cuda has not been, `finish` when torch is
complete."""

import contextlib
import functools
import importlib.util
import os
import sys
import threading

from . import appending, default_device, hosts, library, patching, record, settings, state, summary
from .cuda import names, tables
from .redirect.redirection import Redirection
from .simulate import devices as simulated_devices
from .simulate import races

# Held during activation. Its holder imports nothing that another activation could be importing.
_activating = threading.RLock()


def prepare(native):
    """Load the libraries and give torch._C what the devices of this process need."""
    global _settings, _simulated, _redirection
    if state.library is not None:
        return
    from torch import version

    _settings = settings.read(hosts.found(native))
    common = library.load(_settings.library, version.__version__, version.git_version)
    prefixes = _internal_prefixes(version)
    common.configure(prefixes, _settings.log_level)
    if _settings.pretends and hosts.has_cuda(native):
        names.remove(native)
    _simulated = _redirection = None
    if _settings.simulate:
        state.simulator = library.beside(common, "_compat_simulate")
        _simulated = simulated_devices.device(common, state.simulator, _settings)
        if _settings.keep_going:
            state.simulator.keep_going()
        _simulated.prepare(native, version.git_version)
    if _settings.redirects:
        state.redirection = library.beside(common, "_compat_redirect")
        torch_folder = os.path.dirname(version.__file__)
        _redirection = Redirection(common, state.redirection, _settings, torch_folder, prefixes)
        _redirection.prepare(native)
    if _simulated:
        state.take_kernel_counts = state.simulator.take_kernel_counts
    elif _settings.kind.is_accelerator:
        state.take_kernel_counts = state.redirection.take_kernel_counts
    state.library = common


def finish(torch):
    """Redirect from here on."""
    with _activating:
        if not state.finished:
            _finish(torch)


def _finish(torch):
    torch.version = sys.modules["torch.version"]  # older torch lacks it after an import that failed
    _check_backend(torch)
    if _simulated:
        _simulated.finish(torch)
        simulated_devices.finish(torch, state.simulator)
        if _settings.keep_going:
            simulated_devices.let_numpy_read(state.library, state.simulator.simulated())
        if _settings.kind.serves_cuda:
            races.follow(state.simulator, _internal_prefixes(torch.version))
    if _redirection:
        _redirection.finish(torch)
    if _settings.default_target:
        patching.missing += default_device.apply(torch, state.library, _settings.default_target)
    _follow_processes()
    record.start(_settings.record, _session(torch), _settings.test)
    if _settings.summary and not _settings.record:
        summary.print_at_exit()
    state.finished = True


def _check_backend(torch):
    """A backend outside torch registers its device while torch is imported, and `prepare` is before
    that: requests go there if its name was given."""
    name = torch._C._get_privateuse1_backend_name()
    registered = name if name != "privateuseone" else None
    known = _settings.kind.is_found or not _settings.kind.is_accelerator
    if not known and _settings.host != registered:
        raise ImportError(f"TORCHDEVICE_HOST={_settings.host}: torch has no such device")
    if registered and _settings.host == registered:
        try:
            torch.Generator(device=registered)
        except RuntimeError as error:
            raise ImportError(f"TORCHDEVICE_HOST={registered}: {error}") from None
    if registered and not _settings.kind.is_accelerator:
        appending.say(
            f"compat_shim: requests end on the CPU; TORCHDEVICE_HOST={registered} redirects them to "
            f"the backend {registered}\n"
        )


def activate_late(torch):
    """Both steps where torch was imported first: what it bound without CUDA is bound again."""
    with _activating:
        if not state.finished:
            prepare(torch._C)
            if _settings.pretends and (_redirection or _settings.kind.serves_cuda):
                _bind_again(torch)
            if "torch.mps.streams" in sys.modules and _mps_is_ours():
                _build_again("torch.mps.streams", torch.mps)
            finish(torch)
            _tell_the_compiler()


def _tell_the_compiler():
    """Dynamo knows functions of torch as objects, which it listed when it was imported."""
    rules = sys.modules.get("torch._dynamo.trace_rules")
    traced = sys.modules.get("torch._dynamo.variables.torch")
    if rules is None or traced is None:
        return
    rules.clear_lru_cache()
    traced.TorchInGraphFunctionVariable._get_handlers.cache_clear()
    for listed in [each for each in vars(traced).values() if isinstance(each, dict)]:
        listed.update({ours: listed[original] for original, ours in patching.replaced if original in listed})


def _mps_is_ours():
    return (_settings.simulate if _settings.kind.serves_mps else _redirection) is not None


def _bind_again(torch):
    for module_name, name, native_name in tables.BOUND_AT_IMPORT:
        setattr(importlib.import_module(module_name), name, getattr(torch._C, native_name))
    for module_name in tables.BUILT_AT_IMPORT:
        # Torch 2.8 has no torch.cuda.green_contexts.
        if module_name in sys.modules or importlib.util.find_spec(module_name):
            _build_again(module_name, torch.cuda)


def _build_again(module_name, package):
    module = _run_again(module_name)
    for name, value in list(vars(package).items()):
        if getattr(value, "__module__", None) == module_name:
            setattr(package, name, getattr(module, name))


def _run_again(module_name):
    """Some modules of torch.backends show an object in their place, and keep it."""
    shown = importlib.import_module(module_name)
    module = sys.modules[module_name] = getattr(shown, "m", shown)
    fresh = importlib.reload(module)
    if shown is not module:
        shown.__class__ = type(fresh)
        sys.modules[module_name] = shown
    return module


def _internal_prefixes(version):
    """Files whose lines are never the caller: torch's, ours, the test framework's (which prints and
    compares the tests' tensors), the modules that wrap functions of torch (typing_extensions, contextlib),
    and code without a file."""
    torch_folder = os.path.dirname(version.__file__)
    beside = (os.path.join(os.path.dirname(torch_folder), name) for name in ("_pytest", "pluggy"))
    unittest = os.path.join(os.path.dirname(os.__file__), "unittest")
    folders = (torch_folder, os.path.dirname(__file__), *beside, unittest)
    wrappers = [os.path.join(os.path.dirname(torch_folder), "typing_extensions.py"), contextlib.__file__]
    return [folder + os.sep for folder in folders] + [*wrappers, "<frozen ", "<eval_with_key>", "<torch_"]


def _session(torch):
    from . import __version__

    return {
        "shim": __version__,
        "torch": torch.__version__,
        "host": _settings.host,
        "mode": _settings.mode,
        "simulated": _settings.simulate,
        "masquerade": _settings.masquerade,
        **({"default_device": _settings.default_target} if _settings.default_target else {}),
        **({"keep_going": True} if _settings.keep_going else {}),
        **({"missing": patching.missing} if patching.missing else {}),
    }


def _flushing(leave):
    @functools.wraps(leave)
    def flush_and_leave(*args, **kwargs):
        try:
            record.end_process()
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
