"""device_safe: calls again after a device error, with what the error's class asks for.

    @device_safe                            a function or a module; also device_safe(torch.load)(path)
    def step(model, x): ...

    for attempt in device_safe():           a block
        with attempt:
            y = model(attempt(x))

    with device_safe(): ...                 names and logs the error; a block cannot run again

Which recovery follows which error is decided in C++ (shim/devices/recovery.h). Other errors pass
through untouched, and so does everything with COMPAT_RECOVERY=off. Not for coroutines and generators,
whose errors come after the call.
"""

import functools
import inspect

import torch

from .attempts import AS_WRITTEN, Attempt, Loop, Recovery, attach, log_error
from .calling import Call, CannotJoin
from .classification import classify
from .manager import DeviceManager
from .native import RecoveryPlan, library

_ENDS_LATER = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


class DeviceSafe:
    """The result of device_safe(): a decorator, a context manager, and an iterable of attempts."""

    def __init__(self, tries, batch, name, manager):
        self.tries, self.batch, self.name = tries, batch, name
        self.manager = manager if manager is not None else DeviceManager.instance()
        RecoveryPlan(tries, [])  # refuses a bad number now

    def class_of(self, error):
        """The error's class, if it may be recovered from here."""
        if not isinstance(error, Exception) or hasattr(error, "recovery"):  # of an inner call
            return None
        return classify(error) if self.manager.settings.recovery else None

    def __call__(self, function):
        if any(ends_later(function) for ends_later in _ENDS_LATER):
            raise TypeError(
                f"device_safe cannot call {function.__name__} again, which is a coroutine or a "
                "generator: use `for attempt in device_safe():` inside it"
            )

        def safe(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except Exception as error:
                found = self.class_of(error)
                if found is None:
                    raise
                first = error
            return self._call_again(Call(function, args, kwargs, self.batch), first, found)

        own = () if isinstance(function, torch.nn.Module) else ("__dict__",)
        return functools.update_wrapper(safe, function, updated=own)

    def _call_again(self, call, error, found):
        recovery, placement = Recovery(self, error, found), AS_WRITTEN
        try:
            while True:
                facts = call.facts(self.manager, placement)
                placement = recovery.next(error, found, facts)
                if placement is None:
                    break
                try:
                    return call.run(self.manager, placement)
                except CannotJoin:
                    break
                except Exception as again:
                    found = self.class_of(again)
                    if found is None:
                        raise
                    error = again
            # Outside of `except`, which would change its context.
            raise recovery.given_up()
        finally:
            del recovery, error  # they refer to this frame

    def __iter__(self):
        return iter(Loop(self))

    def __enter__(self):
        return self

    def __exit__(self, _type, error, _traceback):
        found = self.class_of(error)
        if found is not None:
            log_error(self.manager.log, error, found)
            words = "a block cannot run again, use `for attempt in device_safe():`"
            attach(error, found, self.name, [], words)
        return False


def device_safe(
    function=None, *, tries=library.DEFAULT_TRIES, batch="batch_size", name=None, manager=None
):
    """`tries`: recoveries at most. `batch`: the parameter that is the size of a batch (an int), or a
    batch (a tensor, whose parts' results are concatenated). `name`: in notes and in the log."""
    if function is None:
        return DeviceSafe(tries, batch, name or "device_safe", manager)
    label = name or getattr(function, "__qualname__", type(function).__name__)
    return DeviceSafe(tries, batch, label, manager)(function)


__all__ = ["Attempt", "device_safe"]
