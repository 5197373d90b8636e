"""The environment variables of docs/shim.md, read once at activation."""

import os
import sys
from typing import NamedTuple, Optional

MODES = ("missing", "full")
HOSTS = ("mps", "cuda", "cpu")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
SIMULATED = ("mps", "cuda")
# Of simulated CUDA; the library's simulate/accelerator.h has as many.
DEVICES = tuple(map(str, range(1, 9)))


class Settings(NamedTuple):
    mode: str
    host: str
    log_level: str
    library: Optional[str]
    record: Optional[str]
    simulate: Optional[str]
    devices: int


def asked_for(environ=os.environ):
    """Whether anything at all is to happen in this process."""
    return environ.get("ACTIVATE_TORCH_DEVICE") == "1"


def read(found_host, environ=os.environ):
    """The settings of this process; `found_host` is what torch itself can reach."""
    simulate = _word(environ, "TORCHDEVICE_SIMULATE", SIMULATED, None)
    if simulate and found_host != "cpu":
        raise ImportError(
            f"TORCHDEVICE_SIMULATE={simulate}: this torch has {found_host} of its own; a device is "
            "simulated with a CPU build of torch"
        )
    host = _word(environ, "TORCHDEVICE_HOST", HOSTS, simulate or found_host)
    return Settings(
        mode=_word(environ, "TORCHDEVICE_MODE", MODES, _default_mode(host, environ)),
        host=host,
        log_level=_word(environ, "TORCHDEVICE_LOG_LEVEL", LOG_LEVELS, "WARNING"),
        library=environ.get("COMPAT_SHIM_LIBRARY") or None,
        record=environ.get("TORCHDEVICE_RECORD") or None,
        simulate=simulate,
        devices=int(_word(environ, "TORCHDEVICE_DEVICES", DEVICES, "2")),
    )


def _default_mode(host, environ):
    if environ.get("TORCH_ALLOW_REDIRECTS", "").lower() in ("1", "true", "yes"):
        return "full"
    return "missing" if sys.platform == "darwin" and host == "mps" else "full"


def _word(environ, name, allowed, otherwise):
    value = environ.get(name) or otherwise
    if value is not None and value not in allowed:
        raise ImportError(f"{name}={value}: must be one of {', '.join(allowed)}")
    return value
