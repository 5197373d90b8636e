"""torch.cuda.comm: torch._C's functions, and the Python that checks where its tensors are. A
missing device raises CUDA's error, as everywhere."""


def functions(devices):
    def at(index):
        return "cpu" if index == -1 else devices.place(index)

    def _broadcast(tensor, where):
        return [tensor.to(at(index)) for index in where]

    def _broadcast_out(tensor, out):
        for each in out:
            each.copy_(tensor)
        return list(out)

    def _broadcast_coalesced(tensors, where, buffer_size):
        return [[tensor.to(at(index)) for tensor in tensors] for index in where]

    def _scatter(tensor, where, chunk_sizes=None, dim=0, streams=None):
        if chunk_sizes is None:
            chunks = tensor.chunk(len(where), dim)
        else:
            chunks = tensor.split(chunk_sizes, dim)
        return [chunk.to(at(index)) for chunk, index in zip(chunks, where)]

    def _scatter_out(tensor, out, dim=0, streams=None):
        chunks = tensor.split([each.size(dim) for each in out], dim)
        for each, chunk in zip(out, chunks):
            each.copy_(chunk)
        return list(out)

    def _gather(tensors, dim, destination=None):
        import torch

        place = at(devices.current() if destination is None else destination)
        return torch.cat([each.to(place) for each in tensors], dim)

    def _gather_out(tensors, out, dim):
        import torch

        return out.copy_(torch.cat([each.to(out.device) for each in tensors], dim))

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


def reduce_add(devices):
    """torch's own refuses tensors on the CPU, where all of the host's are."""

    def reduce_add(inputs, destination=None):
        from torch._utils import _get_device_index

        devices.check(_get_device_index(destination, optional=True))
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

    return reduce_add
