"""Devices: what each can do, which to use, and calls that recover from device errors.

docs/guide/device-library.md shows how to use it; docs/reference/device-library.md has every name.
The work is done by the C++ library compat::devices, which has the same names.
"""

from .native import (
    ERROR_CLASSES,
    Batch,
    Choice,
    DeviceCapabilities,
    DtypeChoice,
    DtypeSupport,
    Fit,
    LogEvent,
    Memory,
    Requirements,
    SettingError,
    Settings,
)
from .classification import Classification, classify, recovery_of
from .log import DeviceLog
from .manager import DeviceManager
from .safe import Attempt, device_safe
from .settings import resolve_settings

__all__ = [
    "ERROR_CLASSES",
    "Attempt",
    "Batch",
    "Choice",
    "Classification",
    "DeviceCapabilities",
    "DeviceLog",
    "DeviceManager",
    "DtypeChoice",
    "DtypeSupport",
    "Fit",
    "LogEvent",
    "Memory",
    "Requirements",
    "SettingError",
    "Settings",
    "classify",
    "device_safe",
    "recovery_of",
    "resolve_settings",
]
