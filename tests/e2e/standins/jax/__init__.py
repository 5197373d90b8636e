"""Plays JAX with a TPU of two cores, as far as device_probes.py asks it. numpy computes."""

import types

import failing
import numpy as _numpy

failing.fail_as_asked("JAX")
__version__ = "0.99.0"


def _tpu(index):
    return types.SimpleNamespace(platform="tpu", id=index, device_kind="TPU v5 lite", process_index=0,
                                 memory_stats=lambda: {"bytes_limit": 16 << 30, "bytes_in_use": 1 << 30})


def devices():
    return [_tpu(0), _tpu(1), types.SimpleNamespace(platform="cpu", id=0)]


def device_put(array, device):
    assert device.platform == "tpu"
    return array


def _full(shape, value, dtype):
    return _numpy.full(shape, value, {"bfloat16": "float32"}.get(dtype, dtype))


numpy = types.SimpleNamespace(full=_full, sum=_numpy.sum, matmul=_numpy.matmul)
