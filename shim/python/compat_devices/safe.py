"""device_safe: calls again after a device error, with what the error's class asks for.

    @device_safe                            a function or a module; also device_safe(torch.load)(path)
    def step(model, x): ...

    for attempt in device_safe():           a block
        with attempt:
            y = model(attempt(x))

    with device_safe(): ...                 names and logs the error; a block cannot run again

Which recovery follows which error is decided in C++ (shim/devices/recovery.h). Errors of other kinds
pass through untouched, and so does everything with COMPAT_RECOVERY=off. Not for coroutines and
generators, whose errors come after the call.
"""

import functools
import gc
import inspect
import time
import traceback

import torch
from torch.utils import _pytree

from .classification import classify, in_one_line
from .manager import DeviceManager
from .native import RecoveryPlan, library
from .placing import Placing


class CannotJoin(Exception):
    """The results of parts of a batch are not tensors that can be concatenated."""


class Recovery:
    """Of one call: from its first device error to a result, or to the first error again."""

    def __init__(self, options, error, found):
        self.first, self._found = error, found
        self._options = options
        self._manager = options.manager
        self._plan = RecoveryPlan(options.tries, self._manager.chain())

    def next(self, error, found, facts):
        """The placement of the next attempt; None: there is none."""
        log = self._manager.log
        log.add("error", in_one_line(error).encode("utf-8", "replace"), facts.devices[0] if facts.devices else "",
                error_class=found.error_class, rule=found.rule)
        step = self._plan.next(found.error_class, facts)
        if step is None:
            return None
        begun, released = time.perf_counter(), None
        if found.error_class == "out_of_memory" or step.action == "clear_caches":
            # The frames of the errors hold the tensors that did not fit.
            for held in (self.first, error):
                traceback.clear_frames(held.__traceback__)
            gc.collect()
        if step.action == "clear_caches":
            released = self._manager.free_memory()
        log.add("recovery", step.what, step.placement.device, why=self._options.name, error_class=found.error_class,
                rule=found.rule, bytes=released, seconds=time.perf_counter() - begun)
        return step.placement

    def attach(self, error):
        """Say in the error what was tried."""
        tried = list(self._plan.taken)
        _attach(error, self._found, self._options.name, tried, "tried: " + ", ".join(tried) if tried else "nothing could be tried")
        return error


def _attach(error, found, name, tried, words):
    try:
        error.recovery = tried
    except AttributeError:  # of a type with slots
        return
    if hasattr(error, "add_note"):  # Python 3.11
        error.add_note(f"{name}: {found.error_class} (rule {found.rule}); {words}")


class Call:
    """A function with its arguments, which can be called otherwise than it was."""

    def __init__(self, function, args, kwargs, batch):
        self._function, self._args, self._kwargs = function, args, kwargs
        self._batch = batch
        owner = getattr(function, "__self__", None)
        self._module = function if isinstance(function, torch.nn.Module) else owner if isinstance(owner, torch.nn.Module) else None
        self._bound = self._bind()

    def _bind(self):
        called = self._function.forward if isinstance(self._function, torch.nn.Module) else self._function
        try:
            bound = inspect.signature(called).bind(*self._args, **self._kwargs)
        except (TypeError, ValueError):  # builtins without a signature
            return None
        bound.apply_defaults()
        return bound

    def _argument(self, name):
        return self._bound.arguments.get(name) if self._bound else None

    def facts(self, manager, placement):
        """Of the call with this placement, None: as it was written."""
        placing = Placing(manager, placement)
        placing.look_at((self._args, self._kwargs, self._module))
        device = self._argument("device")
        if isinstance(device, (str, torch.device)) and not placing.devices:
            placing.saw(placement.device if placement and placement.device else device)
        facts = placing.facts()
        dtype = self._argument("dtype")
        facts.takes_dtype = isinstance(dtype, torch.dtype) and dtype.is_floating_point and dtype != torch.float32
        facts.takes_map_location = bool(self._bound) and "map_location" in self._bound.arguments
        batch = self._argument(self._batch)
        if isinstance(batch, torch.Tensor):
            facts.batch = batch.shape[0] if batch.dim() else None
        elif isinstance(batch, int) and not isinstance(batch, bool):
            facts.batch = batch
        return facts

    def run(self, manager, placement):
        whole = self._argument(self._batch)
        if placement.batch is None or not isinstance(whole, torch.Tensor):
            return self._run(manager, placement, {self._batch: placement.batch} if placement.batch else {})
        return joined([self._run(manager, placement, {self._batch: part}) for part in whole.split(placement.batch)])

    def _run(self, manager, placement, replaced):
        if placement.device and isinstance(self._argument("device"), (str, torch.device)):
            replaced["device"] = placement.device
        if placement.dtype and isinstance(self._argument("dtype"), torch.dtype):
            replaced["dtype"] = torch.float32
        if placement.map_location:
            replaced["map_location"] = placement.map_location
        args, kwargs = self._args, self._kwargs
        if replaced:
            bound = inspect.BoundArguments(self._bound.signature, dict(self._bound.arguments, **replaced))
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
    same = all(spec == specs[0] for spec in specs)
    if not same or not all(isinstance(leaf, torch.Tensor) and leaf.dim() for part in leaves for leaf in part):
        raise CannotJoin
    return _pytree.tree_unflatten([torch.cat(column) for column in zip(*leaves)], specs[0])


class Attempt:
    """One pass of `for attempt in device_safe()`, a context manager. `attempt(value)` is the value where
    the recovery wants it; the other methods answer what to use in place of what is wanted."""

    def __init__(self, loop, number, placement):
        self._loop, self._placement = loop, placement
        self.number = number
        self._placing = Placing(loop.manager, placement)
        self._facts = self._placing.facts()

    def __call__(self, value):
        return self._placing.place(value)

    def device(self, wanted):
        device = torch.device(self._placement.device if self._placement and self._placement.device else wanted)
        self._placing.saw(device)
        return device

    def dtype(self, wanted):
        if wanted.is_floating_point and self._placement and self._placement.dtype:
            return torch.float32
        self._facts.takes_dtype |= wanted.is_floating_point and wanted != torch.float32
        return wanted

    def batch(self, wanted):
        size = min(wanted, self._placement.batch) if self._placement and self._placement.batch else wanted
        self._facts.batch = size
        return size

    def map_location(self):
        self._facts.takes_map_location = True
        return (self._placement.map_location or None) if self._placement else None

    def facts(self):
        self._facts.devices = self._placing.devices
        self._facts.has_other_floats = self._placing.has_other_floats
        return self._facts

    def __enter__(self):
        self._placing.run_factories_there()
        return self

    def __exit__(self, _type, error, _traceback):
        facts = self.facts()
        self._placing.close(keep_buffers=error is None)
        return self._loop.ended(error, facts)


class Loop:
    """The passes of `for attempt in device_safe()`."""

    def __init__(self, options):
        self._options = options
        self.manager = options.manager
        self._recovery = None
        self._next = Attempt(self, 1, None)

    def __iter__(self):
        while self._next is not None:
            attempt, self._next = self._next, None
            yield attempt

    def ended(self, error, facts):
        """Whether the error is dealt with, as `__exit__` answers it."""
        found = self._options.class_of(error) if error is not None else None
        if found is None:
            return False
        recovery = self._recovery = self._recovery or Recovery(self._options, error, found)
        placement = recovery.next(error, found, facts)
        if placement is None:
            recovery.attach(recovery.first)
            if recovery.first is error:
                return False
            raise recovery.first from recovery.first.__cause__  # not because of the later error
        self._next = Attempt(self, len(recovery._plan.taken) + 1, placement)
        return True


class DeviceSafe:
    """What device_safe() returns: a decorator, a context manager, and an iterable of attempts."""

    def __init__(self, tries, batch, name, manager):
        self.tries, self.batch, self.name = tries, batch, name
        self.manager = manager if manager is not None else DeviceManager.instance()
        RecoveryPlan(tries, [])  # refuses a bad number now

    def class_of(self, error):
        """The error's class, if it may be recovered from here."""
        if not isinstance(error, Exception) or hasattr(error, "recovery") or not self.manager.settings.recovery:
            return None
        return classify(error)

    def __call__(self, function):
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"device_safe cannot call {function.__name__} again: it is a coroutine or a generator; "
                            "use `for attempt in device_safe():` inside it")

        def safe(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except Exception as error:
                found = self.class_of(error)
                if found is None:
                    raise
                first = error
            return self._call_again(Call(function, args, kwargs, self.batch), first, found)

        return functools.update_wrapper(safe, function, updated=() if isinstance(function, torch.nn.Module) else ("__dict__",))

    def _call_again(self, call, error, found):
        recovery, placement = Recovery(self, error, found), None
        try:
            while True:
                placement = recovery.next(error, found, call.facts(self.manager, placement))
                if placement is None:
                    raise recovery.attach(recovery.first)
                try:
                    return call.run(self.manager, placement)
                except CannotJoin:
                    raise recovery.attach(recovery.first) from None
                except Exception as again:
                    found = self.class_of(again)
                    if found is None:
                        raise
                    error = again
        finally:
            del recovery, error  # they refer to this frame

    def __iter__(self):
        return iter(Loop(self))

    def __enter__(self):
        return self

    def __exit__(self, _type, error, _traceback):
        found = self.class_of(error) if error is not None else None
        if found is not None:
            self.manager.log.add("error", in_one_line(error).encode("utf-8", "replace"), error_class=found.error_class, rule=found.rule)
            _attach(error, found, self.name, [], "a block cannot run again, use `for attempt in device_safe():`")
        return False


def device_safe(function=None, *, tries=library.DEFAULT_TRIES, batch="batch_size", name=None, manager=None):
    """`tries`: recoveries at most. `batch`: the parameter that is the size of a batch (an int), or a
    batch (a tensor, whose parts' results are concatenated). `name`: in notes and in the log."""
    if function is None:
        return DeviceSafe(tries, batch, name or "device_safe", manager)
    label = name or getattr(function, "__qualname__", type(function).__name__)
    return DeviceSafe(tries, batch, label, manager)(function)
