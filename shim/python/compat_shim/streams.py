"""Streams, events and ranges. On the host every op has ended when its call returns: a stream is its
name, an event is the moment it was recorded."""

import itertools
import time

from .device import CUDA_TYPE


def stream_base(torch_stream, library):
    """The base of torch.cuda.Stream: as in a CUDA build a torch.Stream, which ops accept."""

    class _CudaStreamBase(torch_stream):
        def __new__(
            cls, priority=0, stream_id=None, device_index=0, device_type=CUDA_TYPE, stream_ptr=0
        ):
            if stream_id is None:
                stream_id = library.new_stream()
            stream = torch_stream.__new__(
                cls, stream_id=stream_id, device_index=0, device_type=CUDA_TYPE
            )
            stream._priority = priority
            return stream

        def __init__(self, *args, **kwargs):
            pass

        @property
        def cuda_stream(self):
            return self.stream_id

        @property
        def priority(self):
            return self._priority

        @staticmethod
        def priority_range():
            return (0, -1)

        def query(self):
            return True

        def synchronize(self):
            pass

    return _CudaStreamBase


def event_base(library):
    """The base of torch.cuda.Event."""

    class _CudaEventBase:
        def __new__(
            cls, enable_timing=False, blocking=False, interprocess=False, external=False
        ):
            event = super().__new__(cls)
            event.enable_timing = enable_timing
            event._moment = None
            return event

        def __init__(self, *args, **kwargs):
            pass

        cuda_event = 0

        def record(self, stream=None):
            self._moment = time.perf_counter()

        def wait(self, stream=None):
            pass

        def query(self):
            return True

        def synchronize(self):
            pass

        def elapsed_time(self, end):
            if not (self.enable_timing and end.enable_timing):
                raise ValueError(
                    "Both events must be created with argument 'enable_timing=True'."
                )
            if self._moment is None or end._moment is None:
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            return (end._moment - self._moment) * 1e3

        def ipc_handle(self):
            library.note("refusal", "torch.cuda.Event.ipc_handle")
            raise NotImplementedError(
                "torch.cuda.Event.ipc_handle has no counterpart on this device: an event is known "
                "to its own process only [symbol: _CudaEventBase.ipc_handle]"
            )

    return _CudaEventBase


def nvtx_ranges():
    """torch._C._nvtx: names for a profiler that is not there, with depths and handles kept."""
    handles = itertools.count(1)
    depth = 0

    def push(message):
        nonlocal depth
        depth += 1
        return depth - 1

    def pop():
        nonlocal depth
        depth = max(0, depth - 1)
        return depth

    return {
        "rangePushA": push,
        "rangePop": pop,
        "rangeStartA": lambda message: next(handles),
        "rangeEnd": lambda handle: None,
        "markA": lambda message: None,
        "deviceRangeStart": lambda message, stream: next(handles),
        "deviceRangeEnd": lambda handle, stream: None,
    }
