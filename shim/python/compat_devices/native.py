"""Loads _compat_devices, the C++ library: from the folder of the shim's library in a process that
the runner started, else from beside this package."""

import importlib.machinery
import importlib.util
import os
import sys

import torch  # first: it loads the libraries that ours is linked with

NAME = "_compat_devices"
_SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]


def _folders():
    shim = os.environ.get("COMPAT_SHIM_LIBRARY")
    if shim:
        yield os.path.dirname(shim)
    yield os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _load():
    tried = [os.path.join(folder, NAME + _SUFFIX) for folder in _folders()]
    path = next(filter(os.path.exists, tried), None)
    if path is None:
        raise ImportError(
            f"compat_devices needs its C++ library, and there is none at {' or '.join(tried)}: "
            "set PYTHONPATH to the folder of what `runner prepare` prints as shim:, or "
            "COMPAT_SHIM_LIBRARY to that file"
        )
    loader = importlib.machinery.ExtensionFileLoader(NAME, path)
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    advice = f"this is torch {torch.__version__}; build it for this torch"
    try:
        loader.exec_module(module)
    except ImportError as error:
        raise ImportError(f"{path}: {error}; {advice}") from None
    version, git, _ = module.built_for
    if (version, git) != (torch.__version__, torch.version.git_version):
        raise ImportError(f"{path} was built for torch {version} (git {git}), and {advice}")
    return module


def _hide_from_the_record():
    """In a process with the shim, a request is recorded at the line that called us."""
    state = sys.modules.get("compat_shim.state")
    if state is not None and state.library is not None:
        state.library.add_internal_prefix(os.path.dirname(os.path.abspath(__file__)) + os.sep)


library = _load()
sys.modules.setdefault(NAME, library)
_hide_from_the_record()

Batch = library.Batch
CallFacts = library.CallFacts
Choice = library.Choice
DeviceCapabilities = library.DeviceCapabilities
DtypeChoice = library.DtypeChoice
DtypeSupport = library.DtypeSupport
ERROR_CLASSES = tuple(library.ERROR_CLASSES)
Fit = library.Fit
LogEvent = library.LogEvent
Memory = library.Memory
Placement = library.Placement
RecoveryPlan = library.RecoveryPlan
Requirements = library.Requirements
SettingError = library.SettingError
Settings = library.Settings

DTYPES = {
    "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "fp64": torch.float64,
    "int8": torch.int8,
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
DtypeChoice.torch_dtype = property(lambda self: DTYPES[self.dtype])
