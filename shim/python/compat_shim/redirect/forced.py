"""Mode `full` on an accelerator: patches functions that reach neither the dispatcher nor the hooks
and need host memory of a tensor that the user believes is on the CPU."""

from ..patching import patch
from . import host_callers


def prepare(library, package):
    """`package`: torch's folder."""
    library.set_host_callers(host_callers.paths(package))


def apply(torch, library, redirection, accelerator):
    """`accelerator`: the type of the host's device."""
    _numpy()
    _views()
    _between_processes(torch, accelerator)
    _lengths(torch)
    _load(redirection)
    _pinned(library)


def _on_host(tensor):
    return tensor if tensor.device.type == "cpu" else tensor.cpu()  # of ours: is not redirected


def _numpy():
    """A tensor that was asked for on the CPU has NumPy's view of its memory; here a copy."""

    def of_a_copy(numpy):
        def to_numpy(self, *args, **kwargs):
            tensor = self if self.requires_grad else _on_host(self)
            return numpy(tensor, *args, **kwargs)

        return to_numpy

    patch("torch.Tensor", "numpy", of_a_copy)


def _views():
    """Tensors over existing memory, whose functions take no device: they keep sharing it."""

    def over_host_memory(make):
        def called_by_us(*args, **kwargs):
            return make(*args, **kwargs)  # is not redirected

        return called_by_us

    for name in ("from_numpy", "frombuffer"):
        patch("torch", name, over_host_memory)


def _between_processes(torch, accelerator):
    """Tensors that a worker sends go through shared memory, which the device lacks."""
    from multiprocessing.reduction import ForkingPickler

    reduce = torch.multiprocessing.reductions.reduce_tensor

    def reduce_tensor(tensor):
        where = tensor.device  # to us, the one it is on
        if where.type != accelerator:
            return reduce(tensor)
        return _received, (str(where), *reduce(_on_host(tensor.detach())))

    for type_, reducer in list(ForkingPickler._extra_reducers.items()):
        if reducer is reduce:
            ForkingPickler.register(type_, reduce_tensor)


def _received(where, build, parts):
    return build(*parts).to(where)


def _lengths(torch):
    """The lengths of packed sequences, which the op takes from the host alone."""

    def with_host_lengths(pack):
        def pack_padded_sequence(input, lengths, *args, **kwargs):
            if isinstance(lengths, torch.Tensor):
                lengths = _on_host(lengths)
            return pack(input, lengths, *args, **kwargs)

        return pack_padded_sequence

    patch("torch.nn.utils.rnn", "pack_padded_sequence", with_host_lengths)


def _load(redirection):
    """torch.load() to the CPU, and to where the tensors were when they were saved."""

    def forced(choose):
        def _get_restore_location(map_location):
            if map_location is None or str(map_location) == "cpu":
                map_location = redirection.force("torch.load")
            return choose(map_location)

        return _get_restore_location

    patch("torch.serialization", "_get_restore_location", forced)


def _pinned(library):
    """pin_memory() of a tensor that is on the device already."""

    def where_it_is(pin):
        def pin_memory(self, *args, **kwargs):
            if self.device.type == "cpu":
                return pin(self, *args, **kwargs)
            library.note("stub", "torch.Tensor.pin_memory")
            return self

        return pin_memory

    patch("torch.Tensor", "pin_memory", where_it_is)
