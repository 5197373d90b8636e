"""torch.cuda.comm between one device and itself: torch._C's functions, and the Python that asks
where its tensors are. A device that is not there is CUDA's error, as everywhere."""

from .device import check_index


def _at(index):
    return "cpu" if index == -1 else "cuda" if check_index(index) else None


def _broadcast(tensor, devices):
    return [tensor.to(_at(index)) for index in devices]


def _broadcast_out(tensor, out):
    for each in out:
        each.copy_(tensor)
    return list(out)


def _broadcast_coalesced(tensors, devices, buffer_size):
    return [[tensor.to(_at(index)) for tensor in tensors] for index in devices]


def _scatter(tensor, devices, chunk_sizes=None, dim=0, streams=None):
    if chunk_sizes is None:
        chunks = tensor.chunk(len(devices), dim)
    else:
        chunks = tensor.split(chunk_sizes, dim)
    return [chunk.to(_at(index)) for chunk, index in zip(chunks, devices)]


def _scatter_out(tensor, out, dim=0, streams=None):
    chunks = tensor.split([each.size(dim) for each in out], dim)
    for each, chunk in zip(out, chunks):
        each.copy_(chunk)
    return list(out)


def _gather(tensors, dim, destination=None):
    import torch

    return torch.cat(tensors, dim).to(_at(0 if destination is None else destination))


def _gather_out(tensors, out, dim):
    import torch

    return out.copy_(torch.cat(tensors, dim))


def functions():
    return {
        function.__name__: function
        for function in (
            _broadcast,
            _broadcast_out,
            _broadcast_coalesced,
            _scatter,
            _scatter_out,
            _gather,
            _gather_out,
        )
    }


def reduce_add(inputs, destination=None):
    """The sum of `inputs`. torch's own refuses tensors on the CPU, where all of ours are."""
    from torch._utils import _get_device_index

    check_index(_get_device_index(destination, optional=True))
    size = inputs[0].size()
    for position, each in enumerate(inputs):
        if each.size() != size:
            raise ValueError(
                f"input {position} has invalid size: got {'x'.join(map(str, each.size()))}, "
                f"but expected {'x'.join(map(str, size))}"
            )
    if len(inputs) == 1:
        return inputs[0]
    result = inputs[0] + inputs[1]
    for each in inputs[2:]:
        result.add_(each)
    return result
