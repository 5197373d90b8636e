"""Prints the devices that one framework finds, as one line of JSON like device-probe's (docs/reference/file-formats.md).

    device_probes.py pytorch | tensorflow | jax

It may hang or crash with the framework: `runner devices` gives each a process and a time limit. `pytorch` is for
simulated devices, which a process without the shim does not have; device-probe finds real ones.
"""
import functools
import json
import sys


def device(place, kind, **facts):
    return {"device": place, "type": kind, "name": None, "memory_total": None, "memory_free": None,
            "capability": None, "dtypes": {}, **facts}


def tried(calls):
    """Whether each dtype's call gives what is due: (name, call, due)."""
    found = {}
    for name, call, due in calls:
        try:
            got = float(call())
            found[name] = {"works": got == due, "why": None if got == due else f"gave {got}, not {due}"}
        except Exception as error:
            found[name] = {"works": False, "why": str(error).partition("\n")[0]}
    return found


def pytorch():
    import compat_devices
    import torch

    manager = compat_devices.DeviceManager()
    found = [device(each.device, each.type, name=each.name or None, memory_total=each.memory_total,
                    memory_free=each.memory_free, capability=each.capability or None,
                    dtypes={dtype.name: {"works": dtype.works, "why": dtype.why or None} for dtype in each.dtypes})
             for each in manager.devices()]
    failed = [{"asked": asked, "why": why} for asked, why in manager.failed()]
    return {"version": torch.__version__, "devices": found, "failed": failed}


def tensorflow():
    import tensorflow

    def product(gpu, dtype):
        with tensorflow.device(gpu.name.replace("physical_device:", "")):
            half = tensorflow.fill([8, 8], tensorflow.constant(0.5, dtype))
            return tensorflow.reduce_sum(tensorflow.matmul(half, half))

    found = []
    for index, gpu in enumerate(tensorflow.config.list_physical_devices("GPU")):
        details = tensorflow.config.experimental.get_device_details(gpu)
        capability = details.get("compute_capability")
        found.append(device(f"cuda:{index}", "cuda", name=details.get("device_name"),
                            capability=capability and ".".join(map(str, capability)),
                            dtypes=tried((name, functools.partial(product, gpu, dtype), 128.0)
                                         for name, dtype in (("fp32", tensorflow.float32), ("fp16", tensorflow.float16),
                                                             ("bf16", tensorflow.bfloat16))),
                            metadata={"tensorflow": gpu.name}))
    return {"version": tensorflow.__version__, "devices": found}


def jax():
    import jax
    from jax import numpy

    def product(tpu, dtype):
        half = jax.device_put(numpy.full((8, 8), 0.5, dtype), tpu)
        return numpy.sum(numpy.matmul(half, half))

    def integers(tpu):
        return numpy.sum(2 * jax.device_put(numpy.full((8,), 3, "int8"), tpu), dtype="int32")

    found = []
    for tpu in jax.devices():
        if tpu.platform != "tpu":
            continue
        memory = tpu.memory_stats() or {}
        total, used = memory.get("bytes_limit"), memory.get("bytes_in_use", 0)
        found.append(device(f"tpu:{tpu.id}", "tpu", name=tpu.device_kind, memory_total=total,
                            memory_free=None if total is None else total - used,
                            dtypes=tried([(name, functools.partial(product, tpu, dtype), 128.0)
                                          for name, dtype in (("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16"))]
                                         + [("int8", functools.partial(integers, tpu), 48.0)]),
                            metadata={"platform": tpu.platform, "process_index": tpu.process_index}))
    return {"version": jax.__version__, "devices": found}


def main(probe):
    answer = {"pytorch": pytorch, "tensorflow": tensorflow, "jax": jax}[probe]()
    # Frameworks print to stdout, too, some without a newline.
    sys.stdout.write("\n" + json.dumps({"format": 1, "failed": [], **answer}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
