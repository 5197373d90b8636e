"""Patches modules right after the suite has imported them (clients.py has the patches)."""

import sys
from _thread import _local

_patches = {}  # module → function that patches it


def watch_imports(endpoint):
    from compat_hub import clients

    _patches.update(clients.patches(endpoint))
    for name in list(_patches):
        if name in sys.modules:
            _patch(sys.modules[name], name)
    sys.meta_path.insert(0, _Finder())


def _patch(module, name):
    """A version of a client that has other names keeps its own way."""
    patch = _patches.pop(name, None)
    if patch is not None:
        try:
            patch(module)
        except AttributeError:
            pass


class _Finder:
    """Finds modules as they are found without this."""

    def __init__(self):
        self._this_thread = _local()

    def find_spec(self, name, path=None, target=None):
        if name not in _patches or getattr(self._this_thread, "asks", False):
            return None
        self._this_thread.asks = True
        try:
            spec = None
            for finder in sys.meta_path:
                if finder is not self and hasattr(finder, "find_spec"):
                    spec = finder.find_spec(name, path, target)
                    if spec is not None:
                        break
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
        self._loader.exec_module(module)
        _patch(module, module.__name__)
