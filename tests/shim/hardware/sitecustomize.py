"""Gives torch a device before the shim looks for one: the simulator in the place of hardware.
Nothing tells redirection that the device is simulated (conftest.py's `on_mps`).
COMPAT_HARDWARE: mps (default) or cuda, with which tests/gpu/run.sh is tried without a GPU."""

import os

from compat_shim import hosts, importing, library, settings
from compat_shim.simulate import devices

_activate = dict(importing._actions)
_kept = []
_hardware = os.environ.get("COMPAT_HARDWARE", "mps")
if _hardware == "cuda":
    hosts._cuda_is_there = lambda: True  # no driver's files are there


def _native_loaded(native):
    from torch import version

    common = library.load(
        os.environ["COMPAT_SHIM_LIBRARY"], version.__version__, version.git_version
    )
    simulator = library.beside(common, "_compat_simulate")
    asked = settings.read("cpu", {**os.environ, "TORCHDEVICE_SIMULATE": _hardware, "TORCHDEVICE_HOST": ""})
    device = devices.device(common, simulator, asked)
    device.prepare(native, version.git_version)
    _kept.append((device, simulator))
    _activate["torch._C"](native)


def _torch_loaded(torch):
    for device, simulator in _kept:
        device.finish(torch)
        devices.finish(torch, simulator)
    _activate["torch"](torch)


importing.watch({"torch._C": _native_loaded, "torch": _torch_loaded})
