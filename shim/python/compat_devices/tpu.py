"""TPUs, which torch does not know: found through JAX, only where something points to one, since
importing JAX takes seconds. They are reported and may be chosen; no tensor of torch goes there."""

import importlib.util
import os

from .native import DeviceCapabilities, DtypeSupport

_VARIABLES = ("TPU_NAME", "TPU_ZONE", "TPU_ACCELERATOR_TYPE")
_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "int8": "int8"}


def _may_be_here(settings):
    asked_for = settings.prefer == "tpu" or settings.device.startswith("tpu")
    return asked_for or any(map(os.environ.get, _VARIABLES)) or os.path.exists("/dev/accel0")


def _support(jax, device, name, dtype):
    try:
        ones = jax.device_put(jax.numpy.ones((8, 8), dtype=dtype), device)
        total = float((ones + ones).sum())
        return DtypeSupport(name, total == 128, "" if total == 128 else f"gave {total}, not 128.0")
    except Exception as error:
        return DtypeSupport(name, False, str(error).partition("\n")[0])


def find(settings):
    """Capabilities of the TPUs that JAX finds; none where a TPU is not allowed."""
    if not settings.allow_tpu or not _may_be_here(settings):
        return []
    if importlib.util.find_spec("jax") is None:
        return []
    import jax

    try:
        devices = jax.devices("tpu")
    except RuntimeError:  # JAX has no TPU here
        return []
    found = []
    for device in devices:
        stats = (device.memory_stats() if hasattr(device, "memory_stats") else None) or {}
        total, used = stats.get("bytes_limit"), stats.get("bytes_in_use")
        dtypes = [_support(jax, device, name, dtype) for name, dtype in _DTYPES.items()]
        free = total - used if total is not None and used is not None else None
        found.append(DeviceCapabilities(f"tpu:{device.id}", dtypes, device.device_kind, total, free))
    return found
