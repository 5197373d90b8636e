"""Acts when a module has been imported. Imports nothing heavy itself, because it runs in every
process of an activated tree.

Several threads may import a module at once. Python's lock on each module lets one of them act.
Nothing here waits for an import while it holds a lock of its own.
"""

import sys
import threading

from . import state

_actions = {}  # module name → what to do with the module
_lock = threading.Lock()  # around looking whether the finder is there, and putting it there


def watch(actions):
    """Act after these modules' imports to come. True the first time in a process."""
    _actions.update(actions)
    with _lock:
        watching = any(isinstance(finder, _Finder) for finder in sys.meta_path)
        if not watching:
            sys.meta_path.insert(0, _Finder())
    return not watching


def after(name, action):
    """Act on a module: now if it is imported, else when it is."""
    if name in sys.modules:
        action(sys.modules[name])
    else:
        watch({name: action})


class _Finder:
    """Lets the other finders find a module, and adds to what its loader does."""

    def __init__(self):
        self._this_thread = threading.local()

    def find_spec(self, name, path=None, target=None):
        action = _actions.get(name)
        # Another finder may call all finders too.
        if action is None or getattr(self._this_thread, "asks", False):
            return None
        self._this_thread.asks = True
        try:
            return self._find(name, path, target, action)
        finally:
            self._this_thread.asks = False

    def _find(self, name, path, target, action):
        if state.refusal is not None:
            raise ImportError(*state.refusal.args)
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec and finder is not self else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _ActingLoader(spec.loader, action)
                return spec
        return None


class _ActingLoader:
    """Wraps another loader and acts after it. It does not modify the loader, which many modules may
    share (as pytest's rewriting loader)."""

    def __init__(self, loader, action):
        self._loader = loader
        self._action = action

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # From here on the module behaves as without us.
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._action(module)
