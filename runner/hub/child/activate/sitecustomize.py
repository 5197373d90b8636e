"""Early on PYTHONPATH of the tests' processes where their run has a hub: installs the hook, then
runs the sitecustomize that it hides, which is one further back on the path: the shim's own one
looks for another from the front."""

import os
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))


def _load(name, finder, places):
    spec = finder.find_spec(name, places)
    if spec is None or spec.loader is None:
        return None
    module = type(sys)(name)
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    module.__package__ = spec.parent
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _run():
    finder = next((f for f in sys.meta_path if getattr(f, "__name__", "") == "PathFinder"), None)
    if finder is None:
        return
    if os.environ.get("COMPAT_HUB_ENDPOINT"):
        # By its folder: sys.path stays as the suite knows it.
        hub = _load("compat_hub", finder, [os.path.dirname(_HERE)])
        if hub is not None:
            hub.install()
    places = [os.path.realpath(path or ".") for path in sys.path]
    if _HERE in places:
        _load("sitecustomize", finder, sys.path[places.index(_HERE) + 1 :])


_run()
