"""Names of torch._C that only macOS has, by which torch.mps works: streams, and Metal."""

from . import versions

# The torch from which on each name of streams is there. torch.mps uses them from 2.15 on.
STREAM_NAMES = {"_MPSStreamBase": (2, 14), "_mps_setStream": (2, 14), "_mps_getCurrentStream": (2, 15)}
_MPS_TYPE = 13  # c10::DeviceType::MPS

# Functions that need Metal, and the public name that calls each.
NEEDS_METAL = {
    "_mps_compileShader": "torch.mps.compile_shader",
    "_mps_loadMetalllib": "torch.mps.load_metallib",
    "_mps_loadMetallibFromPath": "torch.mps.load_metallib",
    "_mps_host_alias_storage": "torch.mps._host_alias_storage",
    "_mps_startCapture": "torch.mps.profiler.metal_capture",
}
_NO_METAL = ("Metal runs on a Mac's GPU alone", "run this part on a Mac")


def without_metal(native, refuse):
    """`refuse(symbol, why, instead)` raises."""

    def refused(name, symbol):
        def refusing(*args, **kwargs):
            refuse(symbol, *_NO_METAL)

        refusing.__name__ = refusing.__qualname__ = name
        return refusing

    for name, symbol in NEEDS_METAL.items():
        setattr(native, name, refused(name, symbol))
    native._mps_stopCapture = lambda: None
    native._mps_isCapturing = lambda: False
    native._mps_isCaptureEnabled = lambda: False


def add_streams(native, names):
    """`names`: each of STREAM_NAMES → what it is."""
    for name, value in names.items():
        if versions.at_least(STREAM_NAMES[name]):
            setattr(native, name, value)


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
