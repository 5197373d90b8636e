"""Prints what the build must know of the Python that will load the shim, as CMake's set() commands.

CMakeLists.txt runs it with that Python. It does not import torch, which takes seconds: the folder
and the version file are enough. The runner names the folder in COMPAT_TORCH_FOLDER, since it knows
the PYTHONPATH with which the shim will be loaded. Otherwise it is the torch that this Python finds.
COMPAT_PYTHON_INCLUDE names other headers of Python, for another system (tests/cross/shim.sh).
"""

import glob
import importlib.util
import mmap
import os
import re
import runpy
import sysconfig


def find_torch():
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise SystemExit("no torch in this Python: " + os.path.realpath(os.sys.executable))
    return os.path.dirname(spec.origin)


def pybind11_definitions(torch):
    """How the build names the compiler to pybind11. Modules share the types of torch if they name the
    same one. pybind11 2 names the compiler's kind and version; pybind11 3, from torch 2.9 on, what
    all compilers of a system have in common, and needs no definition."""
    for path in glob.glob(os.path.join(torch, "lib", "libtorch_python.*")):
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            found = re.search(rb"__pybind11_internals_v\d+(_[a-z]+)_lib[a-z]+(_cxxabi\d+)__", text)
            if found:
                kind, version = (part.decode() for part in found.groups())
                return f'PYBIND11_COMPILER_TYPE="{kind}";PYBIND11_BUILD_ABI="{version}"'
    return ""


def main():
    torch = os.environ.get("COMPAT_TORCH_FOLDER") or find_torch()
    version = runpy.run_path(os.path.join(torch, "version.py"))
    answers = {
        "TORCH_DIR": torch,
        "TORCH_VERSION": str(version["__version__"]),
        "TORCH_GIT": str(version["git_version"]),
        "PYBIND11_DEFINITIONS": pybind11_definitions(torch),
        "PYTHON_INCLUDE": os.environ.get("COMPAT_PYTHON_INCLUDE") or sysconfig.get_path("include"),
        "PYTHON_ABI": sysconfig.get_config_var("SOABI"),
        "PYTHON_SUFFIX": sysconfig.get_config_var("EXT_SUFFIX"),
    }
    for name, value in answers.items():
        print(f"set({name} [==[{value}]==])")


if __name__ == "__main__":
    main()
