"""The passes of `for attempt in device_safe()`, and the recovery from one error to the next pass,
which a repeated call uses too."""

import gc
import time
import traceback

import torch

from .classification import in_one_line
from .native import Placement, RecoveryPlan
from .placing import Placing, is_other_float

AS_WRITTEN = Placement()


def log_error(log, error, found, device=""):
    text = in_one_line(error).encode("utf-8", "replace")
    log.add("error", text, device, error_class=found.error_class, rule=found.rule)


def attach(error, found, name, tried, words):
    """Say in the error what was tried."""
    try:
        error.recovery = tried
    except AttributeError:  # of a type with slots
        return
    if hasattr(error, "add_note"):  # Python 3.11
        error.add_note(f"{name}: {found.error_class} (rule {found.rule}); {words}")


class Recovery:
    """Recovers one call or block, up to a result or its first device error again."""

    def __init__(self, options, error, found):
        self.first, self._found = error, found
        self._name = options.name
        self._manager = options.manager
        self._plan = RecoveryPlan(options.tries, self._manager.chain())

    @property
    def count(self):
        return len(self._plan.taken)

    def next(self, error, found, facts):
        """The placement of the next attempt; None: there is none."""
        log = self._manager.log
        log_error(log, error, found, facts.devices[0] if facts.devices else "")
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
        log.add(
            "recovery", step.what, step.placement.device, why=self._name, bytes=released,
            error_class=found.error_class, rule=found.rule, seconds=time.perf_counter() - begun,
        )
        return step.placement

    def given_up(self):
        """The first error, which says what was tried."""
        tried = list(self._plan.taken)
        words = "tried: " + ", ".join(tried) if tried else "nothing could be tried"
        attach(self.first, self._found, self._name, tried, words)
        return self.first


class Attempt:
    """One pass, a context manager. `attempt(value)` is the value where the recovery wants it; the
    other methods answer what to use in place of what is wanted."""

    def __init__(self, loop, number, placement):
        self._loop, self._placement = loop, placement
        self.number = number
        self._placing = Placing(loop.manager, placement)
        self._facts = self._placing.facts()

    def __call__(self, value):
        return self._placing.place(value)

    def device(self, wanted):
        device = torch.device(self._placement.device or wanted)
        self._placing.saw(device)
        return device

    def dtype(self, wanted):
        if is_other_float(wanted) and self._placement.dtype:
            return torch.float32
        self._facts.takes_dtype |= is_other_float(wanted)
        return wanted

    def batch(self, wanted):
        self._facts.batch = min(wanted, self._placement.batch or wanted)
        return self._facts.batch

    def map_location(self):
        self._facts.takes_map_location = True
        return self._placement.map_location or None

    def __enter__(self):
        self._placing.run_factories_there()
        return self

    def __exit__(self, _type, error, _traceback):
        self._facts.devices = self._placing.devices
        self._facts.has_other_floats = self._placing.has_other_floats
        self._placing.close(keep_buffers=error is None)
        return error is not None and self._loop.is_dealt_with(error, self._facts)


class Loop:
    """An iterable of attempts: one more after each that ended in an error with a recovery."""

    def __init__(self, options):
        self._options = options
        self.manager = options.manager
        self._recovery = None
        self._next = Attempt(self, 1, AS_WRITTEN)

    def __iter__(self):
        while self._next is not None:
            attempt, self._next = self._next, None
            yield attempt

    def is_dealt_with(self, error, facts):
        """Whether another attempt follows. Raises the first error where no further one helps."""
        found = self._options.class_of(error)
        if found is None:
            return False
        recovery = self._recovery = self._recovery or Recovery(self._options, error, found)
        placement = recovery.next(error, found, facts)
        if placement is not None:
            self._next = Attempt(self, recovery.count + 1, placement)
            return True
        first = recovery.given_up()
        if first is error:
            return False
        raise first from first.__cause__  # not because of the later error
