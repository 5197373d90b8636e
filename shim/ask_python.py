"""Prints what the build must know of the Python that will load the shim, as CMake's set() commands.

CMakeLists.txt runs it with that Python. It does not import torch, which takes seconds: the folder
and the version file are enough. The runner names the folder in COMPAT_TORCH_FOLDER, since it knows
the PYTHONPATH with which the shim will be loaded. Otherwise it is the torch that this Python finds.
COMPAT_PYTHON_INCLUDE names other headers of Python, for another system (tests/cross/shim.sh).
"""

import importlib.util
import os
import runpy
import sysconfig


def find_torch():
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise SystemExit("no torch in this Python: " + os.path.realpath(os.sys.executable))
    return os.path.dirname(spec.origin)


def main():
    torch = os.environ.get("COMPAT_TORCH_FOLDER") or find_torch()
    version = runpy.run_path(os.path.join(torch, "version.py"))
    answers = {
        "TORCH_DIR": torch,
        "TORCH_VERSION": str(version["__version__"]),
        "TORCH_GIT": str(version["git_version"]),
        "PYTHON_INCLUDE": os.environ.get("COMPAT_PYTHON_INCLUDE") or sysconfig.get_path("include"),
        "PYTHON_ABI": sysconfig.get_config_var("SOABI"),
        "PYTHON_SUFFIX": sysconfig.get_config_var("EXT_SUFFIX"),
    }
    for name, value in answers.items():
        print(f"set({name} [==[{value}]==])")


if __name__ == "__main__":
    main()
