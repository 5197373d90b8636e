"""The differences between devices for the shim's Python, one row each: a twin of shim/policy/device_kind.h.
Code asks this table for a fact instead of comparing names. It knows no torch."""

from typing import NamedTuple


class DeviceKind(NamedTuple):
    word: str  # as torch names it; empty: any other device
    is_accelerator: bool = True
    serves_cuda: bool = False  # code for CUDA finds what it asks for
    serves_mps: bool = False  # torch.mps finds what it asks for
    can_be_hidden: bool = False  # from torch, by CUDA_VISIBLE_DEVICES
    is_found: bool = False  # by hosts.py, so that naming it where it is not is an error
    simulated: int = 0  # how many there are where it is simulated
    is_mac: bool = False  # its host is one: code asks it for CUDA as it does on Macs


KINDS = (
    DeviceKind("cpu", is_accelerator=False, can_be_hidden=True),  # there is nothing to hide
    DeviceKind("mps", serves_mps=True, is_found=True, simulated=1, is_mac=True),
    DeviceKind("cuda", serves_cuda=True, can_be_hidden=True, is_found=True, simulated=2),
    DeviceKind("xpu", is_found=True),
    DeviceKind("tpu"),
    DeviceKind(""),
)
SIMULATED = tuple(kind.word for kind in KINDS if kind.simulated)


def of(device):
    """The row of a type of device; the last one is of any other."""
    return next((kind for kind in KINDS if kind.word == device), KINDS[-1])
