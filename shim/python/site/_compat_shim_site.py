"""Does the work of activate/sitecustomize.py in environments that the runner makes, if Python is
started with -E, -s or -I and reads no PYTHONPATH. compat_shim.pth imports it at every start. The
environment may be used without the runner, so it does nothing and prints nothing, unless the shim
is asked for and COMPAT_SHIM_PYTHON names a folder that has it."""

import os
import sys


def _activate():
    folder = os.environ.get("COMPAT_SHIM_PYTHON", "")
    hook = os.path.join(folder, "compat_shim", "hook.py")
    if os.environ.get("ACTIVATE_TORCH_DEVICE") != "1" or not os.path.isabs(folder):
        return
    if not os.path.isfile(hook):
        return
    # Where sitecustomize.py comes after us it finds both done.
    folder = os.path.realpath(folder)
    if folder not in sys.path:
        sys.path.append(folder)
    import compat_shim.hook

    compat_shim.hook.install()


_activate()
