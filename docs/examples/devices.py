"""Chooses a device, moves tensors there, and recovers from device errors.

PYTHONPATH is the folder that `runner prepare` prints as shim:. docs/guide/device-library.md explains
each part.
"""

import torch
from compat_devices import DeviceLog, DeviceManager, device_safe

manager = DeviceManager.instance()
log = DeviceLog.instance()
log.enable()

choice = manager.best()
print(f"device: {choice.device.device} ({choice.why})")
print(f"dtype: {manager.recommended_dtype(choice).torch_dtype}")
print(f"batch: {manager.batch(8, choice).size}")

x = torch.ones(2, 2, requires_grad=True)
batch = manager.ensure_device({"x": x, "weight": torch.ones(2, 2, dtype=torch.float16)})


@device_safe
def product(x, weight):
    return x @ weight  # of two dtypes, which no device can do


product(**batch).sum().backward()
print("recovered:", [event.what for event in log.events() if event.kind == "recovery"])
print("gradient:", x.grad.tolist(), "weight still", batch["weight"].dtype)


@device_safe
def mistaken():
    raise ValueError("an error of the program's own")


try:
    mistaken()
except ValueError as error:
    print(f"passed through: {type(error).__name__}: {error}")

for event in log.events():
    print(event.number, event.kind, event.what, event.device)
