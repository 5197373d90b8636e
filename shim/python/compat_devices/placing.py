"""Tensors and modules of a call, brought where a recovery wants them. Nothing of the caller's is
changed: tensors are copied, and a module has copies of its parameters while the attempt runs."""

import contextlib
import warnings

import torch
from torch.nn.utils import stateless
from torch.utils import _pytree

from .native import CallFacts


def is_other_float(dtype):
    """Whether it is a floating-point dtype that fp32 may replace."""
    return isinstance(dtype, torch.dtype) and dtype.is_floating_point and dtype != torch.float32


def tensors_of(module):
    """Parameters and buffers by name; shared ones under each of their names."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def is_changed(copy, original):
    """Whether the call changed `copy`, which was the original, rounded. Its version does not tell:
    batch_norm leaves it, and inference tensors have none."""
    if original.is_meta or original.layout is not torch.strided:
        return True
    return not torch.equal(copy.to(original.device), original.to(copy.dtype))


class Placing:
    """One attempt's values: `place` moves them where `placement` wants them, `facts` describes
    those seen. Closing it gives modules their own parameters back."""

    def __init__(self, manager, placement):
        self._manager = manager
        self._placement = placement
        self._copies = {}  # by id of the original, which is kept alive beside its copy
        self._modules = {}
        self._stack = contextlib.ExitStack()
        self.devices = []
        self.has_other_floats = False

    def facts(self):
        facts = CallFacts()
        facts.devices = self.devices
        facts.has_other_floats = self.has_other_floats
        return facts

    def saw(self, device):
        name = str(device)
        if not name.startswith("meta") and name not in self.devices:
            self.devices = self.devices + [name]

    def look_at(self, value):
        """As `place`, for what it sees: nothing is moved."""
        for leaf in _pytree.tree_leaves(value):
            if isinstance(leaf, torch.nn.Module):
                for _, tensor in tensors_of(leaf):
                    self._saw_tensor(tensor)
            elif isinstance(leaf, torch.Tensor):
                self._saw_tensor(leaf)

    def place(self, value):
        """`value` with its tensors and modules placed."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        return _pytree.tree_map(self._leaf, value)

    def run_factories_there(self):
        """Until it is closed, new tensors are made on the placement's device by default."""
        if self._placement.device:
            self._stack.enter_context(torch.device(self._placement.device))

    def close(self, keep_buffers):
        """`keep_buffers`: write what the call changed in copies of buffers to the originals."""
        self._stack.close()
        if keep_buffers:
            for original, copy in self._buffers():
                with torch.inference_mode(original.is_inference()), torch.no_grad():
                    if is_changed(copy, original):
                        original.copy_(copy)
        self._copies.clear()
        self._modules.clear()

    def _leaf(self, leaf):
        if isinstance(leaf, torch.nn.Module):
            return self._module(leaf)
        return self._tensor(leaf) if isinstance(leaf, torch.Tensor) else leaf

    def _tensor(self, tensor):
        if id(tensor) not in self._copies:
            self._copies[id(tensor)] = (tensor, self._moved(tensor))
        return self._copies[id(tensor)][1]

    def _moved(self, tensor):
        result, placement = tensor, self._placement
        if placement.device:
            result = self._manager.ensure_device(result, placement.device)
        if placement.dtype:
            result = self._manager.ensure_dtype(result, placement.dtype)
        self._saw_tensor(tensor)
        return result

    def _saw_tensor(self, tensor):
        """As it is in this attempt."""
        here = tensor.device
        self.saw(here if here.type == "meta" else self._placement.device or here)
        self.has_other_floats |= not self._placement.dtype and is_other_float(tensor.dtype)

    def _module(self, module):
        if id(module) in self._modules:
            return module
        copies = {name: self._tensor(tensor) for name, tensor in tensors_of(module)}
        buffers = [
            (buffer, copies[name])
            for name, buffer in module.named_buffers() if copies[name] is not buffer
        ]
        self._modules[id(module)] = (module, buffers)
        if any(copies[name] is not tensor for name, tensor in tensors_of(module)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                self._stack.enter_context(stateless._reparametrize_module(module, copies))
        return module

    def _buffers(self):
        for _, buffers in self._modules.values():
            yield from buffers
