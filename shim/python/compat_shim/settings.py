"""The environment variables of docs/reference/shim.md, read once at activation."""

import os
import re
import sys
from typing import NamedTuple, Optional

from . import device_kinds, versions

NONE = "none"  # a simulated device alone
MODES = ("missing", "full", NONE)
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
SWITCH = ("on", "off")
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}  # as shifts
# Releases of macOS that a simulated Mac can have: a number alone is its last release.
MACOS = {
    "14": (14, 8),
    "15": (15, 7),
    "26": (26, 4),
    "27": (27, 0),
    "14.0": (14, 0),
    "15.0": (15, 0),
    "26.0": (26, 0),
    "27.0": (27, 0),
}
START_METHODS = ("spawn", "fork")  # of processes, on a simulated Mac; its Python has spawn
# Numbers of simulated CUDA devices; simulate/accelerator.h has the same maximum.
DEVICES = tuple(map(str, range(1, 9)))
CAPABILITY = re.compile(r"([5-9]|1[0-2])\.(\d)")


FAULTS = ("exit", "hang", "slow", "drop")


class Fault(NamedTuple):
    """A fault in a rank's call of a collective."""

    rank: int
    call: int  # of the process, from 1
    kind: str
    seconds: float  # of slow
    restart: int  # of torchrun's; 0: the first start


class Settings(NamedTuple):
    mode: str
    host: str
    log_level: str
    library: Optional[str]
    record: Optional[str]
    test: Optional[str]  # that started this process
    simulate: Optional[str]
    devices: int
    capability: tuple  # of simulated CUDA devices: major, minor
    processes: int  # that run at once and share the host's memory
    device_memory: Optional[int]  # bytes of each; None: what the host can spare
    macos: tuple  # of a simulated Mac: major, minor
    masquerade: bool
    summary: bool
    default_device: bool
    keep_going: bool
    faults: tuple  # of Fault

    @property
    def kind(self):
        return device_kinds.of(self.host)

    @property
    def redirects(self):
        return self.mode != NONE

    @property
    def forces(self):
        """Requests for the CPU, or without a device, go to the accelerator as well."""
        return self.mode == "full" and self.kind.is_accelerator

    @property
    def default_target(self):
        """The device type for requests without a device; None: torch's own default."""
        if not self.default_device or self.forces or not self.kind.is_accelerator:
            return None
        return self.host

    @property
    def pretends(self):
        """There is no CUDA of torch's own that is used: all its answers are ours."""
        return not self.kind.serves_cuda or self.simulate is not None


def asked_for(environ=os.environ):
    """Whether the shim is asked for in this process."""
    return environ.get("ACTIVATE_TORCH_DEVICE") == "1"


def _is_fork_server():
    """Whether this is multiprocessing's: the test that started it is not the only one it serves."""
    return any("multiprocessing.forkserver import" in word for word in sys.orig_argv)


def read(found_host, environ=os.environ):
    """The settings of this process; `found_host` is what torch itself can reach."""
    simulate = _word(environ, "TORCHDEVICE_SIMULATE", device_kinds.SIMULATED, None)
    if simulate and not device_kinds.of(found_host).can_be_hidden:
        raise ImportError(
            f"TORCHDEVICE_SIMULATE={simulate}: this torch has {found_host} of its own; a device is "
            "simulated on a host without one"
        )
    if simulate and environ.get("TORCHDEVICE_HOST"):
        raise ImportError(
            f"TORCHDEVICE_HOST={environ['TORCHDEVICE_HOST']}: unset it, a simulated device "
            f"(TORCHDEVICE_SIMULATE={simulate}) is the host"
        )
    host = simulate or _host(environ, found_host)
    mode = _word(environ, "TORCHDEVICE_MODE", MODES, _default_mode(host, simulate, environ))
    if mode == NONE and not simulate:
        raise ImportError(
            f"TORCHDEVICE_MODE={NONE} is for a simulated device (TORCHDEVICE_SIMULATE); unset "
            "ACTIVATE_TORCH_DEVICE to run without the shim"
        )
    if simulate and device_kinds.of(simulate).serves_cuda:
        mode = NONE  # what code for CUDA asks for is there
    kind = device_kinds.of(host)
    return Settings(
        mode=mode,
        host=host,
        log_level=_word(environ, "TORCHDEVICE_LOG_LEVEL", LOG_LEVELS, "WARNING"),
        library=environ.get("COMPAT_SHIM_LIBRARY") or None,
        record=environ.get("TORCHDEVICE_RECORD") or None,
        test=None if _is_fork_server() else environ.get("TORCHDEVICE_TEST") or None,
        simulate=simulate,
        devices=int(_word(environ, "TORCHDEVICE_DEVICES", DEVICES, "2")),
        capability=_capability(environ),
        processes=_count(environ, "TORCHDEVICE_PROCESSES"),
        device_memory=_size(environ, "TORCHDEVICE_DEVICE_MEMORY"),
        macos=_macos(environ, simulate),
        masquerade=kind.is_accelerator
        and not kind.serves_cuda
        and mode != NONE
        and _word(environ, "TORCHDEVICE_MASQUERADE", SWITCH, "on" if mode == "missing" else "off")
        == "on",
        summary=_word(environ, "TORCHDEVICE_SUMMARY", SWITCH, "on") == "on",
        default_device=_word(environ, "TORCHDEVICE_DEFAULT_DEVICE", SWITCH, "off") == "on",
        keep_going=simulate is not None
        and _word(environ, "TORCHDEVICE_KEEP_GOING", SWITCH, "off") == "on",
        faults=_faults(environ),
    )


class Mac(NamedTuple):
    """A simulated Mac's properties beside its device, which programs without torch see, too."""

    macos: tuple  # major, minor
    start_method: str  # of processes
    alike: bool  # Python, too, says that this is a Mac


def mac(environ=os.environ):
    return Mac(
        macos=MACOS[_word(environ, "TORCHDEVICE_MACOS", MACOS, "26")],
        start_method=_word(environ, "TORCHDEVICE_START_METHOD", START_METHODS, "spawn"),
        alike=_word(environ, "TORCHDEVICE_MAC_LIKE", SWITCH, "off") == "on",
    )


def _capability(environ):
    value = environ.get("TORCHDEVICE_CAPABILITY") or "8.0"
    capability = CAPABILITY.fullmatch(value)
    if not capability:
        raise ImportError(f"TORCHDEVICE_CAPABILITY={value}: must be a compute capability, such as 9.0")
    return int(capability[1]), int(capability[2])


def _macos(environ, simulate):
    found = mac(environ).macos
    if simulate and device_kinds.of(simulate).is_mac and found < (15, 0) and versions.at_least((2, 15)):
        raise ImportError(
            f"TORCHDEVICE_MACOS={environ['TORCHDEVICE_MACOS']}: from torch 2.15 on, MPS needs "
            "macOS 15 or newer"
        )
    return found


def _default_mode(host, simulate, environ):
    if environ.get("TORCH_ALLOW_REDIRECTS", "").lower() in ("1", "true", "yes"):
        return "full"
    on_a_mac = device_kinds.of(host).is_mac and (simulate or sys.platform == "darwin")
    return "missing" if on_a_mac else "full"


def _host(environ, found):
    """Where redirected requests end. A backend that registers itself later can only be named."""
    asked = environ.get("TORCHDEVICE_HOST") or found
    if device_kinds.of(asked).is_found and asked != found:
        raise ImportError(f"TORCHDEVICE_HOST={asked}: torch reaches {found} in this process")
    return asked


def _faults(environ):
    """Faults from text as "rank=1,call=20,kind=exit", with ";" between several."""
    asked = environ.get("TORCHDEVICE_FAULT", "")
    return tuple(_fault(each.strip()) for each in asked.split(";") if each.strip())


def _fault(text):
    given = dict(part.strip().partition("=")[::2] for part in text.split(","))
    kind, _, delay = given.pop("kind", "").partition(":")
    milliseconds = re.fullmatch(r"(\d+)ms", delay)
    numbers = {"restart": "0", **given}
    if (
        kind not in FAULTS
        or (kind == "slow") != bool(milliseconds)
        or set(numbers) != {"rank", "call", "restart"}
        or not all(value.isdecimal() for value in numbers.values())
        or int(numbers["call"]) == 0
    ):
        raise ImportError(
            f"TORCHDEVICE_FAULT={text}: must be rank=1,call=20,kind=KIND, where KIND is exit, hang, "
            "slow:200ms or drop and call counts from 1; restart=1 is torchrun's first restart"
        )
    seconds = int(milliseconds[1]) / 1000 if milliseconds else 0.0
    return Fault(int(numbers["rank"]), int(numbers["call"]), kind, seconds, int(numbers["restart"]))


def _count(environ, name):
    value = environ.get(name) or "1"
    if not (value.isdecimal() and int(value) > 0):
        raise ImportError(f"{name}={value}: must be a number above zero")
    return int(value)


def _size(environ, name):
    """Bytes of "8G", "512M", "8GiB" or a plain number."""
    value = environ.get(name)
    if not value:
        return None
    size = re.fullmatch(r"(\d+)(?:([KMGT])(?:i?B)?)?", value.strip(), re.IGNORECASE)
    if not size or int(size[1]) == 0:
        raise ImportError(f"{name}={value}: must be a size, such as 8G or 512M")
    return int(size[1]) << _UNITS[(size[2] or "").upper()]


def _word(environ, name, allowed, otherwise):
    value = environ.get(name) or otherwise
    if value is not None and value not in allowed:
        raise ImportError(f"{name}={value}: must be one of {', '.join(allowed)}")
    return value
