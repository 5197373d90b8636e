"""Calls a function once torch is imported: before any code of the suite can use it, and after torch
has documented its own methods. Not here: what is done then (random_stream.py, default_dtype.py)."""

from _compat_harness import own_builtins as __builtins__

import importlib.util
import sys


def once_torch_is_imported(effect):
    """At once if it is imported already."""
    if "torch" in sys.modules:
        effect()
    else:
        sys.meta_path.insert(0, _Finder(effect))


class _Finder:
    """Finds torch as it is found without this, and calls `effect` at the end of its import."""

    def __init__(self, effect):
        self._effect = effect

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = getattr(spec and spec.loader, "exec_module", None)
        if execute is not None:

            def exec_module(module):
                execute(module)
                self._effect()

            spec.loader.exec_module = exec_module
        return spec
