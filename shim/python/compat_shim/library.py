"""Finds, checks and loads the native libraries: the common one, which COMPAT_SHIM_LIBRARY names, and
those beside it."""

import importlib.machinery
import importlib.util
import os
import re
import sys

NAME = "_compat_shim"
# As sysconfig's SOABI, without the milliseconds that it takes to read Python's Makefile.
_SOABI = importlib.machinery.EXTENSION_SUFFIXES[0].split(".")[1]
_BEGINNING = b"compat_shim built for {"
_BUILT_FOR = re.compile(_BEGINNING + rb"torch=([^;]*);git=([^;]*);python=([^}]*)\}")


def load(path, torch_version, torch_git):
    """The common library at `path`, or an ImportError that names what it was built for and what is here."""
    if "t" in sys.abiflags:
        raise ImportError(
            f"the shim does not work in a free-threaded Python ({sys.executable}): use a build with "
            "the GIL, or unset ACTIVATE_TORCH_DEVICE to run without the shim"
        )
    if path is None:
        raise ImportError(
            "ACTIVATE_TORCH_DEVICE=1 needs COMPAT_SHIM_LIBRARY, the path of the library built for "
            "this torch (docs/reference/shim.md); unset ACTIVATE_TORCH_DEVICE to run without the shim"
        )
    check(path, (torch_version, torch_git, _SOABI))
    return _loaded(NAME, path)


def beside(library, name):
    """The library `name` of the same build, in the folder of the common one.

    Raises ModuleNotFoundError if the build has none."""
    folder, file = os.path.split(library.__file__)
    path = os.path.join(folder, file.replace(NAME, name, 1))
    if not os.path.exists(path):
        raise ModuleNotFoundError(f"{path} is missing", name=name)
    return _loaded(name, path)


def _loaded(name, path):
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def check(path, here):
    """Refuse a library for another torch or Python, before any of its code runs."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ImportError(f"COMPAT_SHIM_LIBRARY: {error}") from None
    # Searched as bytes first: a pattern is slow on megabytes.
    begins = content.find(_BEGINNING)
    found = _BUILT_FOR.match(content, begins) if begins >= 0 else None
    if found is None:
        raise ImportError(f"COMPAT_SHIM_LIBRARY={path} is not the shim's library")
    built_for = tuple(part.decode() for part in found.groups())
    if built_for != here:
        raise ImportError(
            f"the shim's library {path} was built for {_name(built_for)}, but this is "
            f"{_name(here)}; build it for this torch, or run without the shim"
        )


def _name(triple):
    return "torch {} (git {}) and Python {}".format(*triple)
