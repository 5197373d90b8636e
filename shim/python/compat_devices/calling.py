"""A call that can be made otherwise than it was written: its tensors and modules elsewhere, its
parameters `device`, `dtype`, `map_location` and batch set to what a recovery wants."""

import inspect

import torch
from torch.utils import _pytree

from .placing import Placing, is_other_float


class CannotJoin(Exception):
    """The results of parts of a batch are not tensors that can be concatenated."""


class Call:
    """A function with its arguments. `batch` is the name of the parameter that is the batch."""

    def __init__(self, function, args, kwargs, batch):
        self._function, self._args, self._kwargs = function, args, kwargs
        self._batch = batch
        owner = function
        if not isinstance(function, torch.nn.Module):
            owner = getattr(function, "__self__", None)
        self._module = owner if isinstance(owner, torch.nn.Module) else None
        self._bound = self._bind()

    def _bind(self):
        called = self._function
        if isinstance(called, torch.nn.Module):
            called = called.forward
        try:
            bound = inspect.signature(called).bind(*self._args, **self._kwargs)
        except (TypeError, ValueError):  # builtins without a signature
            return None
        bound.apply_defaults()
        return bound

    def _argument(self, name):
        return self._bound.arguments.get(name) if self._bound else None

    def facts(self, manager, placement):
        """The CallFacts of the call that was made with this placement."""
        placing = Placing(manager, placement)
        placing.look_at((self._args, self._kwargs, self._module))
        device = self._argument("device")
        if isinstance(device, (str, torch.device)) and not placing.devices:
            placing.saw(placement.device or device)
        facts = placing.facts()
        facts.takes_dtype = is_other_float(self._argument("dtype"))
        facts.takes_map_location = bool(self._bound) and "map_location" in self._bound.arguments
        batch = self._argument(self._batch)
        if isinstance(batch, torch.Tensor):
            facts.batch = batch.shape[0] if batch.dim() else None
        elif isinstance(batch, int) and not isinstance(batch, bool):
            facts.batch = batch
        return facts

    def run(self, manager, placement):
        """The result of the call with this placement. Raises CannotJoin."""
        if placement.batch is None:
            return self._run(manager, placement, {})
        whole = self._argument(self._batch)
        if not isinstance(whole, torch.Tensor):
            return self._run(manager, placement, {self._batch: placement.batch})
        parts = whole.split(placement.batch)
        return joined([self._run(manager, placement, {self._batch: part}) for part in parts])

    def _run(self, manager, placement, replaced):
        if placement.device and isinstance(self._argument("device"), (str, torch.device)):
            replaced["device"] = placement.device
        if placement.dtype and is_other_float(self._argument("dtype")):
            replaced["dtype"] = torch.float32
        if placement.map_location:
            replaced["map_location"] = placement.map_location
        args, kwargs = self._args, self._kwargs
        if replaced:
            arguments = {**self._bound.arguments, **replaced}
            bound = inspect.BoundArguments(self._bound.signature, arguments)
            args, kwargs = bound.args, bound.kwargs
        placing = Placing(manager, placement)
        done = False
        try:
            args, kwargs, _ = placing.place((args, kwargs, self._module))
            placing.run_factories_there()
            result = self._function(*args, **kwargs)
            done = True
            return result
        finally:
            placing.close(keep_buffers=done)


def joined(parts):
    """One result of the results for parts of a batch: their tensors, concatenated."""
    leaves, specs = zip(*map(_pytree.tree_flatten, parts))
    alike = all(spec == specs[0] for spec in specs)
    tensors = [isinstance(leaf, torch.Tensor) and leaf.dim() > 0 for part in leaves for leaf in part]
    if not alike or not all(tensors):
        raise CannotJoin
    return _pytree.tree_unflatten([torch.cat(column) for column in zip(*leaves)], specs[0])
