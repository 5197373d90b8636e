"""Functions that the cases share, and how a group is run."""

import importlib
import json
import sys

import torch

from . import cases


def data(*shape):
    """Values in [-1, 1], no two alike."""
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).sin().reshape(shape)


def set_weights(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(data(*parameter.shape))
    return module


def encoded(value):
    """As JSON that two processes can compare bit by bit; where a tensor lies is left out."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        value = value.to_dense() if value.layout != torch.strided else value
        numbers = torch.view_as_real(value) if value.is_complex() else value
        return [str(value.dtype), list(value.shape), encoded(numbers.flatten().tolist())]
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): encoded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [encoded(part) for part in value]
    if value is None or isinstance(value, (str, int)):
        return value
    raise TypeError(f"a case returned {type(value)}")


def run(group, device):
    """Every case of the group, each as a test of its own to the shim; the answers as one line."""
    module = importlib.import_module(f"machinery.{group}")
    shim = sys.modules.get("compat_shim")
    answers = {}
    for name in cases(group):
        if shim:
            shim.begin_test(name)
        torch.manual_seed(0)
        try:
            answers[name] = {"returned": encoded(getattr(module, name)(device))}
        except ModuleNotFoundError as error:
            answers[name] = {"missing": error.name}
        except Exception as error:
            answers[name] = {"raised": f"{type(error).__name__}: {error}"}
        if shim:
            shim.end_test()
    print(json.dumps(answers))
