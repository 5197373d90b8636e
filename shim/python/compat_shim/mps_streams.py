"""Streams of torch.mps, from torch 2.15 on: the names of torch._C that only macOS has."""

SINCE = (2, 15)
_MPS_TYPE = 13  # c10::DeviceType::MPS


def stream_base(torch_stream, new_stream):
    """The base of torch.mps.Stream. `new_stream()` returns the number of a stream that is not yet
    in use."""

    class _MPSStreamBase(torch_stream):
        def __new__(cls, *, stream_id=None):
            if stream_id is None:
                stream_id = new_stream()
            return torch_stream.__new__(
                cls, stream_id=stream_id, device_index=0, device_type=_MPS_TYPE
            )

        def __init__(self, *args, **kwargs):
            pass

    return _MPSStreamBase
