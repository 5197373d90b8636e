"""First on PYTHONPATH of a redirected process: installs the import hook, then runs the
sitecustomize that it hides. Without ACTIVATE_TORCH_DEVICE=1 it only does the latter."""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))


def _activate():
    # Last, so that nothing of the suite is hidden. An environment's .pth may have done it already.
    if os.path.dirname(_HERE) not in sys.path:
        sys.path.append(os.path.dirname(_HERE))
    import compat_shim.hook

    compat_shim.hook.install()


def _hand_over():
    others = [path for path in sys.path if os.path.realpath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("ACTIVATE_TORCH_DEVICE") == "1":
    _activate()
_hand_over()
