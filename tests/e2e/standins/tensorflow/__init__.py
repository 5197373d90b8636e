"""Plays TensorFlow with a GPU that has no bfloat16, as far as device_probes.py asks it."""

import contextlib
import types

import failing

failing.fail_as_asked("TENSORFLOW")
__version__ = "2.99.0"
float32, float16, bfloat16 = "float32", "float16", "bfloat16"
GPU = types.SimpleNamespace(name="/physical_device:GPU:0")
config = types.SimpleNamespace(
    list_physical_devices=lambda kind: [GPU] if kind == "GPU" else [],
    experimental=types.SimpleNamespace(
        get_device_details=lambda gpu: {"device_name": "NVIDIA A100", "compute_capability": (8, 0)}),
)


def device(name):
    assert name == "/GPU:0"
    return contextlib.nullcontext()


def constant(value, dtype):
    if dtype == bfloat16:
        raise ValueError("bfloat16 is not supported\nby this stand-in")
    return value


def fill(shape, value):
    return [[value] * shape[1] for _ in range(shape[0])]


def matmul(one, other):
    return [[sum(a * b for a, b in zip(row, column)) for column in zip(*other)] for row in one]


def reduce_sum(rows):
    return sum(map(sum, rows))
