"""DeviceManager: the C++ one, for nested tensors, numpy arrays, torch.device and torch.dtype."""

import threading

import torch
from torch.utils import _pytree

from . import tpu
from .log import DeviceLog
from .native import DTYPE_NAMES, DTYPES, Choice, DeviceCapabilities, Requirements, library
from .settings import resolve_settings


def device_name(device):
    """"cuda:0" of a string, torch.device, Choice or DeviceCapabilities; None is ""."""
    if device is None:
        return ""
    if isinstance(device, Choice):
        device = device.device
    return device.device if isinstance(device, DeviceCapabilities) else str(device)


def dtype_name(dtype):
    if dtype is None or isinstance(dtype, str):
        return dtype or ""
    return DTYPE_NAMES.get(dtype, str(dtype))


def _describe(device):
    """(name, capability) of an accelerator that torch's Python knows better than LibTorch does."""
    if not device.startswith("cuda"):
        return "", ""
    properties = torch.cuda.get_device_properties(device)
    return properties.name, f"{properties.major}.{properties.minor}"


def _is_array(value):
    return type(value).__module__ == "numpy" and hasattr(value, "__array_interface__")


def _as_tensor(array):
    """A tensor over the array's memory, or over a copy if that is read-only."""
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _as_array(tensor):
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:  # numpy has none
        tensor = tensor.float()
    return tensor.cpu().numpy()


class DeviceManager(library.DeviceManager):
    """The devices of this process. `DeviceManager.instance()` has the settings of the environment;
    arguments are settings by name, and `settings_file` is the path of a JSON file."""

    _instance = None
    _lock = threading.Lock()

    def __init__(self, *, settings_file=None, **arguments):
        super().__init__(resolve_settings(arguments, settings_file), _describe)
        for device in tpu.find(self.settings):
            self.add(device)

    @classmethod
    def instance(cls):
        with cls._lock:
            if cls._instance is None:
                cls._instance = cls()
            return cls._instance

    @property
    def log(self):
        return DeviceLog.instance()

    def best(self, prefer=None):
        return super().best(device_name(prefer))

    def capabilities(self, device=None):
        return super().capabilities(device_name(device))

    def recommended_dtype(self, device=None):
        return super().recommended_dtype(device_name(device))

    def batch(self, base, device=None, sample_bytes=0):
        return super().batch(base, device_name(device), sample_bytes)

    def validate(self, requirements=None, device=None, **fields):
        """`requirements`: Requirements, or its fields by name."""
        return super().validate(requirements or Requirements(**fields), device_name(device))

    def memory(self, device=None):
        return super().memory(device_name(device))

    def free_memory(self, device=None):
        return super().free_memory(device_name(device))

    def ensure_device(self, tensors, device=None):
        """`tensors` on one device: a tensor, a numpy array (which becomes a tensor), or any nested
        tuples, lists and dicts of them. Other values are returned unchanged. An array of float64,
        numpy's default, becomes float32 where the device has no float64."""
        name, move = device_name(device), super().ensure_device

        def of_array(tensor):
            if tensor.dtype != torch.float64 or self.capabilities(name).supports("fp64"):
                return tensor
            return tensor.float()

        return self._each(tensors, lambda tensor: move(tensor, name), of_array)

    def ensure_dtype(self, tensors, dtype=None):
        """The floating-point tensors of `tensors` in one dtype; else as ensure_device."""
        name, convert = dtype_name(dtype), super().ensure_dtype
        return self._each(tensors, lambda tensor: convert(tensor, name))

    def to_numpy(self, tensors):
        """The same with numpy arrays for tensors: on the CPU, without gradient, fp32 for bf16."""
        def array(leaf):
            return _as_array(leaf) if isinstance(leaf, torch.Tensor) else leaf

        return _pytree.tree_map(array, tensors)

    @staticmethod
    def _each(tensors, change, of_array=lambda tensor: tensor):
        if isinstance(tensors, torch.Tensor):
            return change(tensors)

        def changed(leaf):
            if isinstance(leaf, torch.nn.Module):
                raise TypeError("a module is changed in place: call its method to(device)")
            if _is_array(leaf):
                leaf = of_array(_as_tensor(leaf))
            return change(leaf) if isinstance(leaf, torch.Tensor) else leaf

        return _pytree.tree_map(changed, tensors)


__all__ = ["DTYPES", "DeviceManager", "device_name", "dtype_name"]
