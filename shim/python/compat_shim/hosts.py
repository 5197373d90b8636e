"""Finds the accelerator that torch can reach in this process: by what is there now, and not by what
torch was built with. It asks no driver, which may take seconds, prints warnings, and breaks CUDA in
processes that are forked later.

`python hosts.py` prints it for the runner, and imports torch only where there may be one.
"""

import glob
import importlib.util
import os
import sys

# Files of a driver: NVIDIA's, of Linux under Windows, of its embedded boards, and AMD's.
_DEVICE_FILES = ("/dev/nvidia[0-9]*", "/dev/dxg", "/dev/nvhost-gpu", "/dev/kfd")
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


def found(native):
    """The type of the accelerator, or "cpu". `native`: torch._C."""
    if getattr(native, "_has_mps", False) and native._mps_is_available():
        return "mps"
    if has_cuda(native) and _cuda_is_there():
        return "cuda"
    count = getattr(native, "_xpu_getDeviceCount", None)
    if count is not None and count() > 0:
        return "xpu"
    return "cpu"


def has_cuda(native):
    """Whether torch was built with CUDA (or ROCm)."""
    return hasattr(native, "_cuda_getDeviceCount")


def _may_have_one():
    """Whether this torch was built with an accelerator, by its libraries."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    library = os.path.join(os.path.dirname(spec.origin), "lib", "libtorch_{}.*")
    kinds = [kind for kind in ("cuda", "hip", "xpu") if glob.glob(library.format(kind))]
    return sys.platform == "darwin" or "xpu" in kinds or (kinds and _cuda_is_there())


def _cuda_is_there():
    hidden = any(os.environ.get(name, "0").strip() in ("", "-1") for name in _VISIBLE)
    return not hidden and any(glob.glob(pattern) for pattern in _DEVICE_FILES)


def main():
    if not _may_have_one():
        return "cpu"
    import torch

    return found(torch._C)


if __name__ == "__main__":
    print(main(), end="")
