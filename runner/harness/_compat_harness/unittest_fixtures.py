"""The set-up and tear-down of classes and modules under unittest, observed while they run.

Not here: reporting them (unittest_driver.py).
"""

from _compat_harness import own_builtins as __builtins__

import sys
import unittest

from _compat_harness.recorder import Outcome

_PHASES = {
    "setUpModule": "module_setup",
    "setUpClass": "class_setup",
    "tearDownClass": "class_teardown",
    "tearDownModule": "module_teardown",
}


class Fixture:
    """A running set-up or tear-down of a class or module, and its outcomes."""

    def __init__(self, kind, owner):
        self.phase, self._owner = _PHASES[kind], owner
        self.outcomes = []
        if isinstance(owner, type):
            self.tail = "%s::<%s>" % (owner.__qualname__, kind)
            self.name = "%s (%s.%s)" % (kind, owner.__module__, owner.__qualname__)
            self.function = attribute(owner, kind)
            base = getattr(unittest.TestCase, kind)
            if getattr(self.function, "__func__", None) is base.__func__:
                self.function = None  # inherited from TestCase: does nothing
        else:
            self.tail, self.name = "<%s>" % kind, "%s (%s)" % (kind, owner)
            self.function = attribute(sys.modules.get(owner), kind)

    def covers(self, test):
        cls = type(test)
        return (cls if isinstance(self._owner, type) else cls.__module__) == self._owner

    def fail(self, describer, state, exception, tb, text=None):
        failure = describer.failure(exception, tb, self.phase, text)
        self.outcomes.append(Outcome(state, self.phase, None, failure))


class _Observed:
    """Mixed into each suite: tells the listener which class or module fixture runs. unittest
    reports only failed fixtures, and only as text."""

    def _handleModuleFixture(self, test, result):
        listener = getattr(result, "listener", None)
        module = type(test).__module__
        if listener is None or module == self._get_previous_module(result):
            return super()._handleModuleFixture(test, result)
        with listener.fixture("setUpModule", module, test):
            return super()._handleModuleFixture(test, result)

    def _handleClassSetUp(self, test, result):
        listener = getattr(result, "listener", None)
        cls = type(test)
        if (
            listener is None
            or cls == result._previousTestClass
            or result._moduleSetUpFailed
            or is_skipped(cls)
        ):
            return super()._handleClassSetUp(test, result)
        with listener.fixture("setUpClass", cls, test):
            return super()._handleClassSetUp(test, result)

    def _tearDownPreviousClass(self, test, result):
        listener = getattr(result, "listener", None)
        cls = result._previousTestClass
        if (
            listener is None
            or cls is None
            or cls == type(test)
            or getattr(cls, "_classSetupFailed", False)
            or result._moduleSetUpFailed
            or is_skipped(cls)
        ):
            return super()._tearDownPreviousClass(test, result)
        with listener.fixture("tearDownClass", cls):
            return super()._tearDownPreviousClass(test, result)

    def _handleModuleTearDown(self, result):
        listener = getattr(result, "listener", None)
        module = self._get_previous_module(result)
        if listener is None or module is None or result._moduleSetUpFailed:
            return super()._handleModuleTearDown(result)
        with listener.fixture("tearDownModule", module):
            return super()._handleModuleTearDown(result)


_observed_classes = {}


def observed(cls):
    if issubclass(cls, _Observed):
        return cls
    if cls not in _observed_classes:
        names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
        _observed_classes[cls] = type(cls.__name__, (_Observed, cls), names)
    return _observed_classes[cls]


# Access to the suite's objects, which may raise.


def attribute(owner, name):
    try:
        return getattr(owner, name, None)
    except Exception:
        return None


def is_skipped(decorated):
    return bool(attribute(decorated, "__unittest_skip__"))
