"""Prints the devices that one framework finds, as one line of JSON like device-probe's (docs/reference/file-formats.md).

    device_probes.py pytorch | tensorflow | jax

It may hang or crash with the framework: `runner devices` gives each a process and a time limit. `pytorch` is for
simulated devices, which a process without the shim does not have; device-probe finds real ones.
"""
import json
import sys


def device(name, kind, **facts):
    return {"device": name, "type": kind, "name": None, "memory_total": None, "memory_free": None,
            "capability": None, "dtypes": {}, **facts}


def pytorch():
    import compat_devices

    return compat_devices.report()


def tensorflow():
    import tensorflow

    found = []
    for index, gpu in enumerate(tensorflow.config.list_physical_devices("GPU")):
        details = tensorflow.config.experimental.get_device_details(gpu)
        capability = details.get("compute_capability")
        found.append(device(f"cuda:{index}", "cuda", name=details.get("device_name"),
                            capability=capability and ".".join(map(str, capability)),
                            metadata={"tensorflow": gpu.name}))
    return {"version": tensorflow.__version__, "devices": found}


def jax():
    import jax

    found = []
    for tpu in jax.devices():
        if tpu.platform != "tpu":
            continue
        memory = tpu.memory_stats() or {}
        total, used = memory.get("bytes_limit"), memory.get("bytes_in_use", 0)
        found.append(device(f"tpu:{tpu.id}", "tpu", name=tpu.device_kind, memory_total=total,
                            memory_free=None if total is None else total - used,
                            metadata={"platform": tpu.platform, "process_index": tpu.process_index}))
    return {"version": jax.__version__, "devices": found}


def main(probe):
    answer = {"pytorch": pytorch, "tensorflow": tensorflow, "jax": jax}[probe]()
    # Frameworks print to stdout, too, some without a newline.
    sys.stdout.write("\n" + json.dumps({"format": 1, "failed": [], **answer}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
