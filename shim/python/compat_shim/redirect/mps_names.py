"""torch.mps on a host without MPS: each function of torch._C that it calls answers as torch.cuda's
does there."""

import itertools
from typing import Callable, NamedTuple

from .. import mps_streams, versions

_CUDA_TYPE = 1  # c10::DeviceType::CUDA


class Answer(NamedTuple):
    symbol: str  # the public name that calls it
    function: Callable  # of torch.cuda and the arguments


def _generator(cuda):
    cuda.init()
    return cuda.default_generators[cuda.current_device()]


# torch.mps.Event knows its event by a number.
_events = {}
_numbers = itertools.count(1)


def _acquire(cuda, timed):
    number = next(_numbers)
    _events[number] = cuda.Event(enable_timing=timed)
    return number


def _as_cuda(cuda, stream):
    """The stream of torch.cuda with the number of a stream of torch.mps."""
    return cuda.Stream(
        stream_id=stream.stream_id, device_index=cuda.current_device(), device_type=_CUDA_TYPE
    )


ANSWERS = {
    "_mps_currentAllocatedMemory": Answer(
        "current_allocated_memory", lambda cuda: cuda.memory_allocated()
    ),
    "_mps_deviceSynchronize": Answer("synchronize", lambda cuda: cuda.synchronize()),
    "_mps_driverAllocatedMemory": Answer(
        "driver_allocated_memory", lambda cuda: cuda.memory_reserved()
    ),
    "_mps_emptyCache": Answer("empty_cache", lambda cuda: cuda.empty_cache()),
    "_mps_get_default_generator": Answer("manual_seed", _generator),
    "_mps_recommendedMaxMemory": Answer(
        "recommended_max_memory", lambda cuda: cuda.mem_get_info()[1]
    ),
    "_mps_setMemoryFraction": Answer(
        "set_per_process_memory_fraction",
        lambda cuda, fraction: cuda.set_per_process_memory_fraction(min(fraction, 1.0)),
    ),
    "_mps_acquireEvent": Answer("Event", _acquire),
    "_mps_releaseEvent": Answer("Event", lambda cuda, number: _events.pop(number, None)),
    "_mps_recordEvent": Answer("Event.record", lambda cuda, number: _events[number].record()),
    "_mps_waitForEvent": Answer("Event.wait", lambda cuda, number: _events[number].wait()),
    "_mps_queryEvent": Answer("Event.query", lambda cuda, number: _events[number].query()),
    "_mps_synchronizeEvent": Answer(
        "Event.synchronize", lambda cuda, number: _events[number].synchronize()
    ),
    "_mps_elapsedTimeOfEvents": Answer(
        "Event.elapsed_time",
        lambda cuda, start, end: _events[start].elapsed_time(_events[end]),
    ),
}

STREAMS = {
    "_mps_getCurrentStream": Answer("current_stream", lambda cuda: cuda.current_stream()),
    "_mps_setStream": Answer(
        "set_stream", lambda cuda, stream: cuda.set_stream(_as_cuda(cuda, stream))
    ),
}
# Methods that _MPSStreamBase has of torch.Stream, which asks MPS.
_METHODS = {
    "query": lambda cuda, stream: _as_cuda(cuda, stream).query(),
    "synchronize": lambda cuda, stream: _as_cuda(cuda, stream).synchronize(),
    "wait_stream": lambda cuda, stream, other: _as_cuda(cuda, stream).wait_stream(
        _as_cuda(cuda, other)
    ),
}


def fill(native, redirection):
    """`native`: torch._C. Its own functions raise without MPS."""
    for name, answer in ANSWERS.items():
        if hasattr(native, name):
            setattr(native, name, _redirected(name, answer, redirection))
    if versions.at_least(mps_streams.SINCE):
        for name, answer in STREAMS.items():
            setattr(native, name, _redirected(name, answer, redirection))
        native._MPSStreamBase = _stream_base(native, redirection)


def _stream_base(native, redirection):
    new = Answer("Stream", lambda cuda: cuda.Stream().stream_id)
    base = mps_streams.stream_base(native.Stream, _redirected("Stream", new, redirection))
    for name, function in _METHODS.items():
        answer = Answer(f"Stream.{name}", function)
        setattr(base, name, _redirected(name, answer, redirection))
    return base


def _redirected(name, answer, redirection):
    symbol = "torch.mps." + answer.symbol

    def redirected(*args):
        import torch

        redirection.redirect(symbol, "mps")
        return answer.function(torch.cuda, *args)

    redirected.__name__ = redirected.__qualname__ = name
    return redirected
