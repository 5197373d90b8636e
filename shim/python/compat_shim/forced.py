"""Mode `full` on an accelerator: patches functions that reach neither the dispatcher nor the hooks
and need host memory of a tensor that the user believes is on the CPU."""

import functools
import sys

from . import host_callers


def prepare(library, package):
    """`package`: torch's folder."""
    library.set_host_callers(host_callers.paths(package))


def apply(torch, library, devices):
    _numpy(torch)
    _views(torch)
    _between_processes(torch, devices)
    _lengths(torch)
    _load(torch, library)
    _pinned(torch, library)


def _on_host(tensor):
    return tensor if tensor.device.type == "cpu" else tensor.cpu()  # of ours: is not redirected


def _numpy(torch):
    """A tensor that was asked for on the CPU has NumPy's view of its memory; here a copy."""
    numpy = torch.Tensor.numpy

    @functools.wraps(numpy)
    def to_numpy(self, *args, **kwargs):
        return numpy(self, *args, **kwargs) if self.requires_grad else numpy(
            _on_host(self), *args, **kwargs
        )

    torch.Tensor.numpy = to_numpy


def _views(torch):
    """Tensors over existing memory, whose functions take no device: they keep sharing it."""
    for name in ("from_numpy", "frombuffer"):
        make = getattr(torch, name)

        def over_host_memory(*args, _make=make, **kwargs):
            return _make(*args, **kwargs)  # called by us: is not redirected

        setattr(torch, name, functools.wraps(make)(over_host_memory))


def _between_processes(torch, devices):
    """What a worker sends goes through shared memory, which the device has none of."""
    from multiprocessing.reduction import ForkingPickler

    reduce = torch.multiprocessing.reductions.reduce_tensor

    def reduce_tensor(tensor):
        if not devices.holds(tensor):
            return reduce(tensor)
        return _received, (devices.where, *reduce(_on_host(tensor.detach())))

    for type_, reducer in list(ForkingPickler._extra_reducers.items()):
        if reducer is reduce:
            ForkingPickler.register(type_, reduce_tensor)


def _received(where, build, parts):
    return build(*parts).to(where)


def _lengths(torch):
    """The lengths of packed sequences, which the op takes from the host alone."""
    rnn = sys.modules["torch.nn.utils.rnn"]
    pack = rnn.pack_padded_sequence

    @functools.wraps(pack)
    def pack_padded_sequence(input, lengths, *args, **kwargs):
        if isinstance(lengths, torch.Tensor):
            lengths = _on_host(lengths)
        return pack(input, lengths, *args, **kwargs)

    rnn.pack_padded_sequence = pack_padded_sequence


def _load(torch, library):
    """torch.load() to the CPU, and to where the tensors were when they were saved."""
    choose = torch.serialization._get_restore_location

    @functools.wraps(choose)
    def _get_restore_location(map_location):
        if map_location is None or str(map_location) == "cpu":
            map_location = library.force("torch.load")
        return choose(map_location)

    torch.serialization._get_restore_location = _get_restore_location


def _pinned(torch, library):
    """pin_memory() of a tensor that is on the device already."""
    pin = torch.Tensor.pin_memory

    @functools.wraps(pin)
    def pin_memory(self, *args, **kwargs):
        if self.device.type == "cpu":
            return pin(self, *args, **kwargs)
        library.note("stub", "torch.Tensor.pin_memory")
        return self

    torch.Tensor.pin_memory = pin_memory
