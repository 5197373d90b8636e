"""Keeps the garbage collector away from torch's import, and calls functions after it: before any
code of the suite can use torch, and after torch has documented its own methods.

torch's import makes some 170,000 objects that live until the process ends. Looking through them is
a third of the time that a process with torch takes, at the import, at each full collection and at
the end. docs/design/0003-warm-start.md says what a suite could see of it.

Not here: what is done after the import (random_stream.py, default_dtype.py).
"""

from _compat_harness import own_builtins as __builtins__

import gc
import importlib.util
import sys
from _thread import _local

_effects = []
_tests_run = None


def watch_import(tests_run):
    """Call this before the suite's first line. `tests_run()`: whether torch is imported by a test;
    objects of that test must stay what the collector frees."""
    global _tests_run
    if _tests_run is None:
        sys.meta_path.insert(0, _Finder())
    _tests_run = tests_run


def once_torch_is_imported(effect):
    """At once if it is imported already."""
    if "torch" in sys.modules:
        effect()
    else:
        _effects.append(effect)


class _Finder:
    """Finds torch as it is found without this. Stays until torch is imported: a suite may ask for
    it (`importlib.util.find_spec`) before it imports it."""

    def __init__(self):
        self._this_thread = _local()

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or getattr(self._this_thread, "asks", False):
            return None
        self._this_thread.asks = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._this_thread.asks = False
        if hasattr(spec and spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    """Wraps the loader that was found, which may be one of many modules."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        enabled = gc.isenabled()
        gc.disable()
        try:
            self._loader.exec_module(module)
            if enabled and not _tests_run():
                gc.freeze()
        finally:
            if enabled:
                gc.enable()
        sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder) is not _Finder]
        for effect in _effects:
            effect()
