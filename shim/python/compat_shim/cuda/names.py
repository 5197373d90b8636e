"""Gives torch._C the names of a CUDA build, so that torch.cuda's own Python stays unmodified.

tables.py has the answers; this file has those that need code. Every name gets its own function
object, because dynamo registers handlers by identity.
"""

import itertools
import sys
import threading
import time
import types

from .. import refusal, versions
from . import collectives, properties, streams, tables


def fill(native, library, devices):
    """Give `native`, which is torch._C, every name of the tables."""
    names = {name: _constant(name, None) for name in tables.DONE}
    names.update((name, _constant(name, value)) for name, value in tables.CONSTANTS.items())
    names.update(
        (name, _stub(library, name, symbol)) for name, symbol in tables.STUBS.items()
    )
    for setting in tables.SETTINGS:
        names.update(_stored(library, setting))
    for refused in tables.REFUSED:
        for name, symbol in refused.names.items():
            names[name] = refusal.function(library, name, symbol, refused.why, refused.instead)
    for name, (refused, statics) in tables.REFUSED_CLASSES.items():
        names[name] = refusal.a_class(
            library, name, refused.names[name], refused.why, refused.instead, statics
        )
    names.update(_actions(native, library, devices))
    names.update(collectives.functions(devices))
    names.update(devices.functions())
    for name, value in names.items():
        if versions.at_least(tables.SINCE.get(name, (0, 0))):
            setattr(native, name, value)
    native._has_cuda = native._has_cudnn = True
    native._has_gds = True  # until torch.cuda.gds is imported: its functions are refused, and there


# Names that a CPU build's torch._C lacks, also in versions that the tables do not cover.
_PREFIXES = ("_cuda_", "_cudart", "_cudnn", "_cusparselt", "_gds_", "_nccl_", "_nvtx")
_CLASSES = ("_CudaDeviceProperties", "_CudaEventBase", "_CudaStreamBase", "_get_device_properties")


def remove(native):
    """Make a `native` with CUDA like that of a CPU build."""
    listed = {*tables.REFUSED_CLASSES, *_CLASSES}
    for refused in tables.REFUSED:
        listed.update(refused.names)
    listed -= {name for name, since in tables.CPU_BUILD_HAS.items() if versions.at_least(since)}
    for name in list(vars(native)):
        if name.startswith(_PREFIXES) or name in listed:
            delattr(native, name)
            sys.modules.pop(f"{native.__name__}.{name}", None)  # `from torch._C import` looks there
    for name, value in tables.CPU_BUILD.items():
        setattr(native, name, value)
    for name, value in tables.CPU_BUILD_ANSWERS.items():
        setattr(native, name, _constant(name, value))


def _constant(name, value):
    def answer(*args, **kwargs):
        return value

    answer.__name__ = answer.__qualname__ = name
    return answer


def _stub(library, name, symbol):
    def stub(*args, **kwargs):
        library.note("stub", symbol)

    stub.__name__ = stub.__qualname__ = name
    return stub


def _stored(library, setting):
    stored = setting.default

    def get(*args):
        return stored

    def set_(value, *args):
        nonlocal stored
        if setting.stub:
            library.note("stub", setting.stub)
        stored = value

    def reset():
        nonlocal stored
        stored = setting.default

    functions = {setting.get: get, setting.set: set_}
    if setting.reset:
        functions[setting.reset] = reset
    for name, function in functions.items():
        function.__name__ = function.__qualname__ = name
    return functions


def _actions(native, library, devices):
    of_index = {}

    def properties_of(index):
        if index not in of_index:
            of_index[index] = properties.Properties(devices, index)
        return of_index[index]

    def initialize():
        import torch

        if devices.count() == 0:
            raise RuntimeError("No CUDA GPUs are available")
        torch.cuda.default_generators = devices.generators()
        torch.cuda._get_device_properties = native._get_device_properties
        devices.initialized()

    def set_device(index):
        """CUDA makes the context of the device, also of the current one."""
        if devices.check(index):
            devices.exchange(index)
            devices.make_context(index)

    def exchange_device(index):
        before = devices.exchange(index)
        if before not in (-1, index):
            devices.make_context(index)
        return before

    def of_device(answer):
        """A question about one device, which must be there."""

        def ask(index=0):
            return answer(index if devices.check(index) else devices.current())

        return ask

    def stream_of(stream):
        return of_device(lambda index: (stream(index), index, properties.CUDA_TYPE))

    def sleep(cycles):
        time.sleep(cycles / (properties.CLOCK_RATE * 1e3))

    return {
        "_CudaDeviceProperties": properties.Properties,
        "_CudaEventBase": streams.event_base(native.Event, library),
        "_CudaStreamBase": streams.stream_base(native.Stream, library, devices),
        "_cuda_canDeviceAccessPeer": lambda one, other: devices.reaches(one, other),
        "_cuda_exchangeDevice": exchange_device,
        "_cuda_getArchFlags": lambda: "sm_{}{}".format(*devices.model.capability),
        "_cuda_getCurrentRawStream": of_device(devices.stream),
        "_cuda_getCurrentStream": stream_of(devices.stream),
        "_cuda_getDefaultStream": stream_of(lambda index: 0),
        "_cuda_getDevice": lambda: devices.current(),
        "_cuda_getDeviceCount": lambda: devices.count(),
        "_cuda_getStreamFromExternal": lambda pointer, index: stream_of(
            lambda _: streams.known_stream(library, pointer)
        )(index),
        "_cuda_hasPrimaryContext": lambda index: devices.has_context(index),
        "_cuda_hostMemoryStats": lambda: properties.host_memory_stats(library),
        "_cuda_init": initialize,
        "_cuda_isInBadFork": lambda: devices.in_bad_fork(),
        "_cuda_maybeExchangeDevice": lambda index: devices.exchange(index),
        "_cuda_memorySnapshot": lambda *args: {
            "segments": [],
            "device_traces": [],
            "allocator_settings": {},
        },
        "_cuda_memoryStats": of_device(
            lambda index: properties.memory_stats(devices.memory(index))
        ),
        "_cuda_resetAccumulatedHostMemoryStats": lambda *args: library.reset_accumulated_pinned(),
        "_cuda_resetAccumulatedMemoryStats": of_device(devices.reset_accumulated),
        "_cuda_resetPeakHostMemoryStats": lambda *args: library.reset_peak_pinned(),
        "_cuda_resetPeakMemoryStats": of_device(devices.reset_peak),
        "_cuda_setDevice": set_device,
        "_cuda_setStream": lambda stream_id, device_index, device_type: devices.set_stream(
            device_index, stream_id
        ),
        "_cuda_sleep": sleep,
        "_cudart": properties.Runtime(library, devices),
        "_cudnn": properties.cudnn(),
        "_get_device_properties": of_device(properties_of),
        "_nvtx": types.SimpleNamespace(**_ranges()),
    }


def _ranges():
    """torch._C._nvtx: names for a profiler that is not there, with depths and handles kept."""
    handles = itertools.count(1)
    of_thread = threading.local()

    def push(message):
        depth = getattr(of_thread, "depth", 0)
        of_thread.depth = depth + 1
        return depth

    def pop():
        of_thread.depth = getattr(of_thread, "depth", 0) - 1
        if of_thread.depth < 0:  # as NVTX answers where no range is open
            of_thread.depth = 0
            return -2
        return of_thread.depth

    return {
        "rangePushA": push,
        "rangePop": pop,
        "rangeStartA": lambda message: next(handles),
        "rangeEnd": lambda handle: None,
        "markA": lambda message: None,
        "deviceRangeStart": lambda message, stream: next(handles),
        "deviceRangeEnd": lambda handle, stream: None,
    }
