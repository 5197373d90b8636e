"""The Python of the backend npu (npu.cc). torch finds it as an installed backend, by its entry point,
and loads it at the end of `import torch`."""

import os
import types

import torch


def load():
    torch.ops.load_library(os.environ["NPU_LIBRARY"])
    torch.utils.rename_privateuse1_backend("npu")
    device = types.ModuleType("torch.npu")
    device.is_available = lambda: True
    device.device_count = lambda: 1
    device.current_device = lambda: 0
    device._is_in_bad_fork = lambda: False
    device.manual_seed_all = lambda seed: None
    device.get_amp_supported_dtype = lambda: [torch.float16, torch.bfloat16]
    torch._register_device_module("npu", device)
    torch.utils.generate_methods_for_privateuse1_backend()
