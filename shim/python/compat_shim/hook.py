"""Acts on `import torch`: once when torch._C is there and nothing has looked at it yet, once when
torch is complete. Imports nothing heavy itself, since it is in every process of an activated tree.
"""

import os
import sys

from . import settings, state


class _Finder:
    """Lets the other finders find torch, and adds to what its loaders do."""

    def __init__(self, actions):
        self._actions = actions

    def find_spec(self, name, path=None, target=None):
        action = self._actions.get(name)
        if action is None:
            return None
        if state.refusal is not None:
            raise ImportError(*state.refusal.args)
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec and finder is not self else None
            if spec is not None:
                if spec.loader is not None:
                    _act_after(spec.loader, action)
                return spec
        return None


def _act_after(loader, action):
    exec_module = loader.exec_module

    def exec_and_act(module):
        del loader.exec_module  # the instance's, which is this function
        exec_module(module)
        action(module)

    loader.exec_module = exec_and_act


def install():
    """Have torch redirected as it is imported, or now where it already is. Once a process."""
    if not settings.asked_for() or state.finished:
        return
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    torch = sys.modules.get("torch")
    if torch is not None:
        from . import activation

        activation.activate_late(torch)
        return
    sys.meta_path.insert(0, _Finder({"torch._C": _native_loaded, "torch": _torch_loaded}))
    _say_that_we_watch()


def _say_that_we_watch():
    """A process that never imports torch touches no device, and its record says that we looked."""
    record = os.environ.get("TORCHDEVICE_RECORD")
    if not record:
        return
    try:
        file = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(file, b'{"event": "watch", "format": 1, "pid": %d}\n' % os.getpid())
        finally:
            os.close(file)
    except OSError:
        pass  # as for every line of the record: the program itself goes on


def _native_loaded(module):
    from . import activation

    try:
        activation.prepare(module)
    except ImportError as refusal:
        # Half of torch is loaded, and a program that catches this may ask for torch again.
        state.refusal = refusal
        raise


def _torch_loaded(module):
    from . import activation

    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    activation.finish(module)
