"""Prints what the build must know of the Python that will load the shim, as CMake's set() commands.

Run by CMakeLists.txt with that Python. Does not import torch: its folder and its version file are
enough, and importing takes seconds.
"""

import importlib.util
import os
import runpy
import sysconfig


def main():
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise SystemExit("no torch in this Python: " + os.path.realpath(os.sys.executable))
    torch = os.path.dirname(spec.origin)
    version = runpy.run_path(os.path.join(torch, "version.py"))
    answers = {
        "TORCH_DIR": torch,
        "TORCH_VERSION": str(version["__version__"]),
        "TORCH_GIT": str(version["git_version"]),
        "PYTHON_INCLUDE": sysconfig.get_path("include"),
        "PYTHON_ABI": sysconfig.get_config_var("SOABI"),
        "PYTHON_SUFFIX": sysconfig.get_config_var("EXT_SUFFIX"),
    }
    for name, value in answers.items():
        print(f"set({name} [==[{value}]==])")


if __name__ == "__main__":
    main()
