"""torch.mps on a host without MPS: each function of torch._C that it calls answers as torch.cuda's
does there, or is refused."""

import functools
import itertools
from typing import Callable, NamedTuple

from .. import mps_only, refusal

_CUDA_TYPE = 1  # c10::DeviceType::CUDA


class Answer(NamedTuple):
    symbol: str  # the public name that calls it, without "torch."
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
        "mps.current_allocated_memory", lambda cuda: cuda.memory_allocated()
    ),
    "_mps_deviceSynchronize": Answer("mps.synchronize", lambda cuda: cuda.synchronize()),
    "_mps_driverAllocatedMemory": Answer(
        "mps.driver_allocated_memory", lambda cuda: cuda.memory_reserved()
    ),
    "_mps_emptyCache": Answer("mps.empty_cache", lambda cuda: cuda.empty_cache()),
    "_mps_get_default_generator": Answer("mps.manual_seed", _generator),
    "_mps_recommendedMaxMemory": Answer(
        "mps.recommended_max_memory", lambda cuda: cuda.mem_get_info()[1]
    ),
    "_mps_setMemoryFraction": Answer(
        "mps.set_per_process_memory_fraction",
        lambda cuda, fraction: cuda.set_per_process_memory_fraction(min(fraction, 1.0)),
    ),
    "_mps_acquireEvent": Answer("mps.Event", _acquire),
    "_mps_recordEvent": Answer("mps.Event.record", lambda cuda, number: _events[number].record()),
    "_mps_waitForEvent": Answer("mps.Event.wait", lambda cuda, number: _events[number].wait()),
    "_mps_queryEvent": Answer("mps.Event.query", lambda cuda, number: _events[number].query()),
    "_mps_synchronizeEvent": Answer(
        "mps.Event.synchronize", lambda cuda, number: _events[number].synchronize()
    ),
    "_mps_elapsedTimeOfEvents": Answer(
        "mps.Event.elapsed_time",
        lambda cuda, start, end: _events[start].elapsed_time(_events[end]),
    ),
    "_mps_profilerStartTrace": Answer("mps.profiler.start", lambda cuda, *args: None),
    "_mps_profilerStopTrace": Answer("mps.profiler.stop", lambda cuda: None),
    "_mps_is_on_macos_or_newer": Answer(
        "backends.mps.is_macos_or_newer", lambda cuda, major, minor: False
    ),
    # A CPU build lacks these.
    "_mps_get_name": Answer("backends.mps.get_name", lambda cuda: cuda.get_device_name()),
    "_mps_get_core_count": Answer(
        "backends.mps.get_core_count",
        lambda cuda: cuda.get_device_properties().multi_processor_count,
    ),
}

STREAMS = {
    "_mps_getCurrentStream": Answer("mps.current_stream", lambda cuda: cuda.current_stream()),
    "_mps_setStream": Answer(
        "mps.set_stream", lambda cuda, stream: cuda.set_stream(_as_cuda(cuda, stream))
    ),
}
# Members of torch.Stream that speak of the object itself. The others ask MPS.
_OWN = ("device", "device_index", "device_type", "stream_id")


def fill(native, library, redirection):
    """`native`: torch._C. Its own functions raise without MPS."""
    for name, answer in ANSWERS.items():
        setattr(native, name, _redirected(name, answer, redirection))
    # Also while Python ends, when nothing can be imported.
    native._mps_releaseEvent = lambda number: _events.pop(number, None)
    mps_only.without_metal(native, functools.partial(refusal.refuse, library))
    streams = {name: _redirected(name, answer, redirection) for name, answer in STREAMS.items()}
    streams["_MPSStreamBase"] = _stream_base(native, redirection)
    mps_only.add_streams(native, streams)


def _stream_base(native, redirection):
    new = Answer("mps.Stream", lambda cuda: cuda.Stream().stream_id)
    base = mps_only.stream_base(native.Stream, _redirected("Stream", new, redirection))
    for name, member in vars(native.Stream).items():
        if not name.startswith("_") and name not in _OWN:
            asks = _redirected(name, Answer(f"mps.Stream.{name}", _of_twin(name)), redirection)
            setattr(base, name, asks if callable(member) else property(asks))
    base.__enter__, base.__exit__ = _enter, _exit
    return base


def _of_twin(name):
    """The member of the streams of torch.cuda with the numbers of these."""

    def ask(cuda, *streams):
        twin, *others = [_as_cuda(cuda, each) if hasattr(each, "stream_id") else each for each in streams]
        member = getattr(twin, name)
        return member(*others) if callable(member) else member

    return ask


def _enter(stream):
    import torch

    vars(stream).setdefault("_before", []).append(torch.mps.current_stream())
    torch.mps.set_stream(stream)
    return stream


def _exit(stream, *error):
    import torch

    torch.mps.set_stream(stream._before.pop())


def _redirected(name, answer, redirection):
    symbol = "torch." + answer.symbol

    def redirected(*args):
        import torch

        redirection.redirect(symbol, "mps")
        return answer.function(torch.cuda, *args)

    redirected.__name__ = redirected.__qualname__ = name
    return redirected
