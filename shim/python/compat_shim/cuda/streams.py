"""The bases of torch.cuda.Stream and torch.cuda.Event: torch.Stream and torch.Event, as in a CUDA
build. The native guard keeps each thread's current stream and times the events.

On the host every op has ended when its call returns. A stream is only a number, an event the time
when it was recorded.
"""

from .. import refusal
from .properties import CUDA_TYPE

_EXTERNAL = "the pointer belongs to a CUDA stream of another library"
# Every event has this handle: another process's event is complete, as this process's own are.
_EVENT_HANDLE = bytes(64)
LOWEST, HIGHEST = 0, -1  # priorities


def known_stream(library, pointer):
    """The stream whose `cuda_stream` is `pointer`: ours have their number there."""
    if not library.is_stream(pointer):
        refusal.refuse(library, "torch.cuda.ExternalStream", _EXTERNAL, "use torch.cuda.Stream")
    return pointer


def stream_base(torch_stream, library, devices):
    class _CudaStreamBase(torch_stream):
        def __new__(
            cls, priority=0, stream_id=0, device_index=0, device_type=0, stream_ptr=0
        ):
            if stream_ptr:
                stream_id = known_stream(library, stream_ptr)
            elif not (stream_id or device_index or device_type):
                return torch_stream.__new__(
                    cls, device=f"cuda:{devices.current()}", priority=priority
                )
            return torch_stream.__new__(
                cls, stream_id=stream_id, device_index=device_index, device_type=CUDA_TYPE
            )

        def __init__(self, *args, **kwargs):
            pass

        @property
        def cuda_stream(self):
            return self.stream_id

        @property
        def priority(self):
            return library.stream_priority(self.stream_id)

        @staticmethod
        def priority_range():
            return LOWEST, HIGHEST

    return _CudaStreamBase


def event_base(torch_event, library):
    class _CudaEventBase(torch_event):
        def __new__(
            cls, enable_timing=False, blocking=False, interprocess=False, external=False
        ):
            event = torch_event.__new__(
                cls,
                device="cuda",
                enable_timing=enable_timing,
                blocking=blocking,
                interprocess=interprocess,
            )
            event._timed, event._interprocess = enable_timing, interprocess
            return event

        def __init__(self, *args, **kwargs):
            pass

        @property
        def cuda_event(self):
            return self.event_id

        @property
        def device(self):
            return super().device if self.event_id else None

        def elapsed_time(self, end):
            if not isinstance(end, _CudaEventBase):
                raise TypeError(f"expected a torch.cuda.Event, not {type(end).__name__}")
            if not (self._timed and end._timed):
                raise ValueError(
                    "Both events must be created with argument 'enable_timing=True'."
                )
            if not (self.event_id and end.event_id):
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            return library.elapsed_ms(self.event_id, end.event_id)

        def ipc_handle(self):
            if not self._interprocess:
                raise _accelerator_error()("CUDA error: invalid resource handle")
            if not self.event_id:
                self.record()
            return _EVENT_HANDLE

        @classmethod
        def from_ipc_handle(cls, device, handle):
            import torch

            if len(handle) != len(_EVENT_HANDLE):
                raise RuntimeError(
                    "cudaIpcEventHandle_t expects byte-like object of size "
                    f"{len(_EVENT_HANDLE)}, but got {len(handle)}"
                )
            event = cls(interprocess=True)
            event.record(torch.cuda.current_stream(device))
            return event

    return _CudaEventBase


def _accelerator_error():
    """Since torch 2.8; before, CUDA's errors were RuntimeErrors."""
    import torch

    return getattr(torch, "AcceleratorError", RuntimeError)
