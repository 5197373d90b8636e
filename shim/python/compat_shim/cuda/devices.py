"""The CUDA devices of a process, as torch._C's functions ask for them."""

from typing import NamedTuple


class Model(NamedTuple):
    """A device's own part of torch.cuda.get_device_properties(). Sizes are in bytes."""

    name: str
    capability: tuple
    cores: int
    integrated: int
    shared_memory: int  # of a multiprocessor
    cache: int


class Memory(NamedTuple):
    """One device's memory, in bytes. `bytes` and `blocks` have current, peak, allocated, freed."""

    bytes: object
    blocks: object
    total: int
    free: int


class Devices:
    """Which devices there are, and what they answer. Subclasses have a `model`, and say `where`
    tensors of the first device are."""

    def count(self):
        """Devices that CUDA_VISIBLE_DEVICES shows."""
        raise NotImplementedError

    def current(self):
        """Index of this thread's device."""
        raise NotImplementedError

    def check(self, index):
        """True if the device exists, False for a negative index (which asks for no change), else
        CUDA's error."""
        raise NotImplementedError

    def exchange(self, index):
        """Make a device current; returns the index before, or -1 for a negative index."""
        raise NotImplementedError

    def has_context(self, index):
        """Whether a program has used the device, so that its driver holds a context there."""
        return True

    def make_context(self, index):
        pass

    def place(self, index):
        """Where collectives put a tensor for this device; None leaves it where it is."""
        raise NotImplementedError

    def redirect(self, symbol, device):
        """Where a function outside the dispatcher puts what it is asked to make on `device`."""
        return device

    def holds(self, tensor):
        """Whether a tensor counts as one on CUDA."""
        raise NotImplementedError

    def generators(self):
        raise NotImplementedError

    def memory(self, index):
        """As Memory."""
        raise NotImplementedError

    def reset_peak(self, index):
        raise NotImplementedError

    def reset_accumulated(self, index):
        raise NotImplementedError

    def stream(self, index):
        """Number of this thread's current stream."""
        raise NotImplementedError

    def set_stream(self, index, stream):
        raise NotImplementedError

    def reaches(self, one, other):
        """Whether one device has access to another's memory."""
        return False

    def initialized(self):
        """CUDA has been initialised."""

    def in_bad_fork(self):
        """Whether this process was forked from one that had initialised CUDA."""
        return False

    def functions(self):
        """Functions of torch._C that only these devices have, by name."""
        return {}


def visible(devices):
    """How many of `devices` there are: torch reads CUDA_VISIBLE_DEVICES as the driver does."""
    import torch

    return min(devices, len(torch.cuda._parse_visible_devices()))
